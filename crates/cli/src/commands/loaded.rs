//! Releases that questions are asked of.

use super::content::Content;
use crate::error::{Error, Result};
use dp_core::certificate::Trust;
use dp_core::release_file::Summary;
pub(crate) use linalg_dp::any::AnyRelease;
use linalg_dp::verify::Report;
use sketch::signs::SignCodes;
use std::path::Path;

/// Reads a release file for whoever computes with it; every part of it is checked, and its sensitivity
/// computed again.
pub(crate) fn read(path: &Path, trust: &Trust) -> Result<AnyRelease> {
    Ok(checked(&Content::open(path)?, trust)?.0)
}

/// As [`read`], with what the file says of itself and what came of the check.
pub(crate) fn checked(content: &Content, trust: &Trust) -> Result<(AnyRelease, Summary, Report)> {
    let (summary, release) = AnyRelease::decode(&content.release()?)?;
    let report = release.verify_use(trust)?;
    Ok((release, summary, report))
}

/// What questions need to know of a release.
pub(crate) trait Asked {
    /// What it holds.
    fn name(&self) -> &'static str;

    /// The signs, under either guarantee.
    fn signs(&self) -> Option<&SignCodes>;

    /// How many rows it holds, where rows are compared.
    fn rows(&self) -> Option<usize>;

    /// As [`Asked::cannot`] for a question about two releases, which may be of two kinds.
    fn cannot_beside(&self, other: &Self, what: &str) -> Error;

    /// Refusal of a question that this kind does not answer.
    fn cannot(&self, what: &str) -> Error;
}

impl Asked for AnyRelease {
    fn rows(&self) -> Option<usize> {
        match self {
            Self::Sketch(release) => Some(release.payload().n()),
            Self::Symbols(release) => Some(release.payload().rows()),
            _ => Some(self.signs()?.bits().n()),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Sketch(_) => "a real-valued sketch",
            Self::Units(_) => "unit vectors",
            Self::Signs(_) => "signs",
            Self::IndividualSigns(_) => "signs (individual differential privacy)",
            Self::PlainSigns(_) => "signs (no guarantee)",
            Self::Symbols(_) => "set signatures",
            Self::NoisyBits(_) => "noisy MinHash bits",
            Self::Counts(_) => "counts of groups",
            Self::PlainSignatures(_) => "set signatures (no guarantee)",
            Self::Covariance(_) => "a covariance",
            Self::LowRank(_) => "a low-rank approximation",
            Self::Range(_) => "a range sketch",
            Self::Window(_) => "a sliding-window covariance",
            Self::Regression(_) => "a regression",
            _ => "a release",
        }
    }

    fn signs(&self) -> Option<&SignCodes> {
        match self {
            Self::Signs(release) => Some(release.payload()),
            Self::IndividualSigns(release) => Some(release.payload()),
            _ => None,
        }
    }

    fn cannot_beside(&self, other: &Self, what: &str) -> Error {
        if self.name() == other.name() {
            return self.cannot(what);
        }
        let kinds = [self.name(), other.name()].join(" and ");
        Error::usage(format!("{what} needs two releases of one kind, not {kinds}"))
    }

    fn cannot(&self, what: &str) -> Error {
        Error::usage(format!("{what} cannot be read from {}", self.name()))
    }
}
