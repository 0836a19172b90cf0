//! Releases of any kind, read back.

use super::content::Content;
use super::recheck;
use crate::error::{Error, Result};
use dp_core::release_file::{Kind, Summary};
use dp_core::{IndividualCertificate, Release};
use linalg_dp::covariance::PrivateCovariance;
use linalg_dp::low_rank::{PrivateLowRank, Range};
use linalg_dp::window::WindowCovariance;
use sketch::sets::{NoisyBits, PrivateSymbols};
use sketch::signs::SignCodes;
use sketch::vectors::PrivateSketch;
use sketch::verify::{Finding, Report, verify_consistency};
use std::path::Path;

/// A release of one of the kinds that commands answer from.
pub(crate) enum Loaded {
    Sketch(Release<PrivateSketch>),
    Signs(Release<SignCodes>),
    IndividualSigns(Release<SignCodes, IndividualCertificate>),
    Symbols(Release<PrivateSymbols>),
    NoisyBits(dp_core::Release<NoisyBits>),
    Covariance(dp_core::Release<PrivateCovariance>),
    LowRank(dp_core::Release<PrivateLowRank>),
    Range(dp_core::Release<Range>),
    Window(dp_core::Release<WindowCovariance>),
    /// Another kind, by name: its container holds together.
    Other(&'static str),
}

impl Loaded {
    /// Reads a release file; every part of it is checked, and its sensitivity computed again.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        Ok(Self::checked(&Content::open(path)?)?.0)
    }

    /// As [`Loaded::read`], with what the file says of itself and what came of the check.
    pub(crate) fn checked(content: &Content) -> Result<(Self, Summary, Report)> {
        let summary = content.summary()?;
        let loaded = match summary.kind {
            Kind::Sketch64 | Kind::Sketch32 => Self::Sketch(content.load()?),
            Kind::Signs => Self::Signs(content.load()?),
            Kind::IndividualSigns => Self::IndividualSigns(content.load()?),
            Kind::Symbols => Self::Symbols(content.load()?),
            Kind::Covariance => Self::Covariance(content.load()?),
            Kind::LowRank => Self::LowRank(content.load()?),
            Kind::NoisyMinHash => Self::NoisyBits(content.load()?),
            Kind::Range => Self::Range(content.load()?),
            Kind::Window => Self::Window(content.load()?),
            // Questions of these kinds have no command.
            other => Self::Other(other.name()),
        };
        let report = loaded.check(&summary)?;
        Ok((loaded, summary, report))
    }

    /// What the libraries compute again, payload included.
    fn check(&self, summary: &Summary) -> Result<Report> {
        Ok(match self {
            Self::Sketch(release) => verify_consistency(release)?,
            Self::Signs(release) => verify_consistency(release)?,
            Self::IndividualSigns(release) => verify_consistency(release)?,
            Self::Symbols(release) => verify_consistency(release)?,
            Self::NoisyBits(release) => verify_consistency(release)?,
            Self::Covariance(release) => linalg_dp::verify::verify_consistency(release)?,
            Self::LowRank(release) => linalg_dp::verify::verify_consistency(release)?,
            Self::Range(release) => linalg_dp::verify::verify_consistency(release)?,
            Self::Window(release) => linalg_dp::verify::verify_consistency(release)?,
            Self::Other(_) => {
                let noise = "whether its values carry the stated noise";
                Report::new(recheck::summary(summary)?, Finding::NotChecked(noise))
            }
        })
    }

    /// What it holds.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Sketch(_) => "a real-valued sketch",
            Self::Signs(_) => "signs",
            Self::IndividualSigns(_) => "signs (individual differential privacy)",
            Self::Symbols(_) => "set signatures",
            Self::NoisyBits(_) => Kind::NoisyMinHash.name(),
            Self::Covariance(_) => "a covariance",
            Self::LowRank(_) => "a low-rank approximation",
            Self::Range(_) => Kind::Range.name(),
            Self::Window(_) => Kind::Window.name(),
            Self::Other(name) => name,
        }
    }

    /// The signs, under either guarantee.
    pub(crate) fn signs(&self) -> Option<&SignCodes> {
        match self {
            Self::Signs(release) => Some(release.payload()),
            Self::IndividualSigns(release) => Some(release.payload()),
            _ => None,
        }
    }

    /// As [`Loaded::cannot`] for a question about two releases, which may be of two kinds.
    pub(crate) fn cannot_beside(&self, other: &Self, what: &str) -> Error {
        if self.name() == other.name() {
            return self.cannot(what);
        }
        let kinds = [self.name(), other.name()].join(" and ");
        Error::usage(format!("{what} needs two releases of one kind, not {kinds}"))
    }

    /// Refusal of a question that this kind does not answer.
    pub(crate) fn cannot(&self, what: &str) -> Error {
        Error::usage(format!("{what} cannot be read from {}", self.name()))
    }
}
