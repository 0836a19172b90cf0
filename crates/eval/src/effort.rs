//! The two forms of experiments and of audits.

/// How much work an experiment or an audit may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Seconds: fewer repetitions, queries or points; the same claims.
    Quick,
    /// Minutes: sizes and repetitions of the paper, as far as the data allows.
    Full,
}
