//! What came of the checks.

/// What came of one check that did not refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// It was computed again, and agrees.
    Agrees,
    /// It could not be, and why.
    NotChecked(&'static str),
}

/// What was checked of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The sensitivity that the guarantee rests on, from the public parameters.
    pub sensitivity: Finding,
    /// Whether the payload can carry the stated noise.
    pub payload: Finding,
}

impl Report {
    /// Both findings.
    #[must_use]
    pub const fn new(sensitivity: Finding, payload: Finding) -> Self {
        Self { sensitivity, payload }
    }
}
