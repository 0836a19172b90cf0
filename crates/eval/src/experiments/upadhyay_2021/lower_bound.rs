//! A sentence of two reports.

/// What the report says about the paper's lower bound.
pub(super) const LOWER_BOUND: &str = "Paper 5, appendix E: any sliding-window algorithm for low-rank approximation needs space \
    linear in the dimension even with additive error, and Hardt and Roth's reduction gives an additive error of order \
    sqrt(k)/epsilon for PCA; nothing here contradicts either: every schedule keeps d x d matrices.";
