//! Where a loss law is cut off.

/// What to cut off: masses of P beyond the grid on either side, and losses above `most`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) most: f64,
}
