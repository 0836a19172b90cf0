//! What a release of Python holds, and its file.

use crate::error::{Fault, Result};
use dp_core::output::Output;
use dp_core::parts::Terms;
use dp_core::{release::Release as Certified, release_file};
use linalg_dp::any::AnyRelease;
use linalg_dp::covariance::PowerDirections;
use linalg_dp::low_rank::LowRank;
use sketch::distances::{DistanceTable, FlippedBits};
use sketch::vectors::PrivateSketch;

/// A release of whatever kind; the last ones have no file.
pub(crate) enum Held {
    Any(Box<AnyRelease>),
    Numbers(Certified<Vec<f64>>),
    Directions(Certified<PowerDirections>),
    Factors(Certified<LowRank>),
    Distances(Certified<DistanceTable>),
    Bits(Certified<FlippedBits>),
    Scales(Certified<Vec<PrivateSketch>>),
}

impl From<AnyRelease> for Held {
    fn from(release: AnyRelease) -> Self {
        Self::Any(Box::new(release))
    }
}

macro_rules! each_kind {
    ($release:expr, $r:ident => $body:expr) => {
        match $release {
            AnyRelease::Sketch($r) => $body,
            AnyRelease::Units($r) => $body,
            AnyRelease::Bounded($r) => $body,
            AnyRelease::Signs($r) => $body,
            AnyRelease::IndividualSigns($r) => $body,
            AnyRelease::PlainSigns($r) => $body,
            AnyRelease::Symbols($r) => $body,
            AnyRelease::NoisyBits($r) => $body,
            AnyRelease::Counts($r) => $body,
            AnyRelease::PlainSignatures($r) => $body,
            AnyRelease::Covariance($r) => $body,
            AnyRelease::LowRank($r) => $body,
            AnyRelease::Range($r) => $body,
            AnyRelease::Window($r) => $body,
            AnyRelease::Regression($r) => $body,
            AnyRelease::Groups($r) => $body,
            _ => return Err(Fault::Data("a release of a kind that is not known here".into())),
        }
    };
}

impl Held {
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        match self {
            Self::Any(release) => Ok(each_kind!(&**release, r => release_file::encode(r)?)),
            _ => Err(Fault::Data("no file holds such a release".into())),
        }
    }

    /// The numbers of a block of this many rows, on these terms.
    pub(crate) fn block(&self, terms: &Terms, rows: u64) -> Result<Vec<u8>> {
        match self {
            Self::Any(release) => Ok(each_kind!(&**release, r => terms.block(r, rows)?)),
            _ => Err(Fault::Data("no file holds such a release".into())),
        }
    }

    pub(crate) fn write(&self, output: Output) -> Result<()> {
        match self {
            Self::Any(release) => each_kind!(&**release, r => release_file::write(output, r)?),
            _ => return Err(Fault::Data("no file holds such a release".into())),
        }
        Ok(())
    }
}
