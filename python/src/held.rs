//! What a release of Python holds, and its file.

use crate::error::{Fault, Result};
use dp_core::output::{Existing, Output};
use dp_core::parts::Terms;
use dp_core::release_file::{self, MAGIC};
use dp_core::{Error, release::Release as Certified};
use linalg_dp::any::AnyRelease;
use linalg_dp::covariance::PowerDirections;
use linalg_dp::low_rank::LowRank;
use sketch::distances::{DistanceTable, FlippedBits};
use sketch::vectors::PrivateSketch;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

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

/// Nor does what cannot be read.
fn begins_as_a_release(path: &Path) -> bool {
    let mut first = [0; MAGIC.len()];
    path.is_file()
        && File::open(path).is_ok_and(|mut file| file.read_exact(&mut first).is_ok())
        && first == MAGIC
}

/// Where a release is written: never over what is no release, which may be a ledger or the data.
pub(crate) fn output(path: &Path, replace: bool) -> Result<Output> {
    let refused = |reason: &str| {
        let what = path.display().to_string();
        Err(Error::Io { what, kind: ErrorKind::AlreadyExists, reason: reason.to_owned() }.into())
    };
    if path.exists() && !begins_as_a_release(path) {
        return refused(
            "it exists and is no release; it might be the data or a ledger, and is never written over",
        );
    }
    if path.exists() && !replace {
        return refused("it exists: replace=True writes over a release, or name another file");
    }
    let existing = if replace { Existing::Replace } else { Existing::Keep };
    Ok(Output::create(path, existing)?)
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
