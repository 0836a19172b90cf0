//! Releases that questions are asked of.

use super::content::Content;
use super::mapped::with_map;
use crate::error::{Error, Result, shown};
use crate::output::Record;
use dp_core::certificate::Trust;
use dp_core::certificate::preprocessing::Preprocessing;
use dp_core::release_file::{InParts, Kind, Summary};
pub(crate) use linalg_dp::any::AnyRelease;
use linalg_dp::verify::Report;
use sketch::pieces::Pieces;
use sketch::signs::SignCodes;
use sketch::vectors::PrivateSketch;
use std::path::{Path, PathBuf};

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

/// What came of the check of a file, and what it says of itself: of sketches and signs in memory of a few rows.
pub(crate) fn examined(content: &Content, trust: &Trust) -> Result<(Summary, Report)> {
    // What is wrong with a file is said where it is read whole.
    if let Content::File(path) = content
        && let Ok(file) = InParts::open(path)
    {
        match file.summary().kind {
            Kind::Sketch64 | Kind::Sketch32 | Kind::SketchCompact => {
                return Ok(Pieces::<PrivateSketch>::of(file, trust)?.verify_use()?);
            }
            Kind::Signs | Kind::IndividualSigns | Kind::PlainSigns => {
                return Ok(Pieces::<SignCodes>::of(file, trust)?.verify_use()?);
            }
            _ => {}
        }
    }
    checked(content, trust).map(|(_, summary, report)| (summary, report))
}

/// Several releases that are asked as one, and where the rows of each begin; none of them is the other side.
pub(crate) fn read_all_of(
    paths: &[PathBuf],
    other: Option<&AnyRelease>,
    trust: &Trust,
) -> Result<(AnyRelease, Files)> {
    let (mut releases, mut files, mut rows) = (Vec::new(), Vec::new(), 0);
    for path in paths {
        let read = checked(&Content::open(path)?, trust);
        let (release, summary, _) = read.map_err(|error| match error.status() {
            1 if paths.len() > 1 => Error::Refused(format!("{}: {error}", shown(path))),
            _ => error,
        })?;
        if paths.len() > 1 && other.is_some_and(|other| release.is_copy_of(other)) {
            return Err(Error::Refused(format!(
                "{} is on both sides, and its noise with it: name its rows by their numbers or ids among those of all",
                shown(path)
            )));
        }
        let mut beside = other.into_iter().chain(releases.first());
        beside
            .try_for_each(|other| release.mapped_alike(other))
            .map_err(|error| Error::Refused(format!("{}: {error}", shown(path))))?;
        files.push((rows, shown(path)));
        rows += usize::try_from(summary.rows).unwrap_or(usize::MAX);
        releases.push(release);
    }
    let joined = AnyRelease::joined(releases).map_err(|error| {
        let named: Vec<&str> = files.iter().map(|(_, name)| name.as_str()).collect();
        Error::Refused(format!("{}: {error}", named.join(", ")))
    })?;
    Ok((joined, Files(files)))
}

/// What became of the values of its rows before anything else.
pub(super) fn mapped(release: &AnyRelease) -> Result<Option<Preprocessing>> {
    Ok(Preprocessing::stated(&release.certificate().statement().public)?)
}

/// An answer in the units of the release.
pub(super) fn in_units(release: &AnyRelease, record: Record) -> Result<Record> {
    Ok(with_map(record, mapped(release)?.as_ref()))
}

/// Which rows are of which file: where it begins, and its name.
#[derive(Default)]
pub(crate) struct Files(Vec<(usize, String)>);

impl Files {
    /// A record with the file that a row is of, where there are several.
    pub(crate) fn of(&self, record: Record, row: usize) -> Record {
        match self.0.iter().rev().find(|(first, _)| *first <= row) {
            Some((_, name)) if self.0.len() > 1 => record.text("release", name),
            _ => record,
        }
    }
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
            Self::Units(release) => Some(release.payload().n()),
            Self::Bounded(release) => Some(release.payload().n()),
            Self::Symbols(release) => Some(release.payload().rows()),
            _ => Some(self.signs()?.bits().n()),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Sketch(_) => "a real-valued sketch",
            Self::Units(_) => "unit vectors",
            Self::Bounded(_) => "bounded values",
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
            Self::Groups(_) => "sums of private groups",
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
