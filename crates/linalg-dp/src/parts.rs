//! Parts of whatever release, put together.
//!
//! ```
//! use dp_core::parts::{Block, ContentHash, Inputs, KeyFile, Manifest, PartWriter, PinnedFile};
//! use dp_core::parts::{ReleaseKey, Terms};
//! use dp_core::release_file::encode;
//! use dp_core::{Adjacency, Budget, NoiseRng, NormBound};
//! use linalg_dp::covariance::{CovarianceMechanism, GaussianCovariance};
//! # use std::error::Error;
//! # fn main() -> Result<(), Box<dyn Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = |name: &str| folder.path().join(name);
//! # std::fs::write(path("rows"), "wherever they lie")?;
//! let adjacency = Adjacency::ReplaceRow { bound: NormBound::new(1.0)? };
//! let mechanism = GaussianCovariance::calibrate(2, adjacency, Budget::new(1.0, 1e-6)?)?;
//! let rows = [[0.6, 0.8], [0.0, 0.5]];
//!
//! // The driver: two blocks of one row, a key, a manifest. Here a ledger is charged.
//! let blocks = vec![Block::new(0, None, 0, 1), Block::new(0, None, 1, 1)];
//! let inputs = Inputs { files: vec![PinnedFile::of(&path("rows"))?], blocks };
//! let key = ReleaseKey::draw()?;
//! let nothing = mechanism.release(&[], &mut key.noise_of_terms())?;
//! let manifest = Manifest::new(&key, inputs, Terms::of(&encode(&nothing)?)?, None)?;
//! KeyFile::create(&path("key"), &key)?;
//!
//! // A worker: the exact sums of its block.
//! for (index, row) in rows.iter().enumerate() {
//!     let mut unused = NoiseRng::from_os()?;
//!     let mut sums = mechanism.stream(&mut unused);
//!     sums.push(row)?;
//!     let name = path(&format!("{index}.part"));
//!     let mut part = PartWriter::create(&name, &manifest, &key, index..index + 1)?;
//!     part.push(&ContentHash::new(&key, index).rows(1, 2, row), &[])?;
//!     part.sums(&sums.sums())?;
//!     part.finish()?;
//! }
//!
//! // The driver again: every part once, one noise, one output, and the key is gone.
//! let file = KeyFile::open(&path("key"))?;
//! let to = linalg_dp::parts::output(&path("out.dps"), &file)?;
//! let parts = [path("1.part"), path("0.part")];
//! let certificate = linalg_dp::parts::publish(&manifest, file, &parts, to)?;
//! certificate.verify()?;
//! assert!(KeyFile::read(&path("key")).is_err());
//! # Ok(())
//! # }
//! ```

use crate::covariance::{CovarianceMechanism, GaussianCovariance, column_names};
use crate::error::Result;
use dp_core::Certificate;
use dp_core::certificate::preprocessing::Preprocessing;
use dp_core::output::{Existing, Output};
use dp_core::parts::{KeyFile, Manifest, Parts, Terms};
use dp_core::release_file::{Kind, encode, read_summary};
use std::path::Path;

/// Refuses, before anything is paid, what could not be put together: of covariances all but symmetric Gaussian ones of a given
/// bound.
///
/// # Errors
/// [`crate::Error::Core`] for the certificate of anything else.
pub fn check(terms: &Terms) -> Result<()> {
    match terms.kind() {
        Kind::Covariance => GaussianCovariance::of_certificate(terms.certificate()).map(drop),
        _ => Ok(()),
    }
}

/// Opens the output of a merge. Nothing is written over, except the output of this very key by itself: a merge that was killed
/// can be run again.
///
/// # Errors
/// [`dp_core::Error::Io`], also for a file that exists.
pub fn output(path: &Path, key: &KeyFile) -> Result<Output> {
    let there = path.exists().then(|| read_summary(path).ok()).flatten();
    let there = there.and_then(|summary| summary.certificate.payload_hash());
    let own = there.is_some_and(|hash| key.output() == Some(&hash.to_string()));
    let existing = if own { Existing::Replace } else { Existing::Keep };
    Ok(Output::create(path, existing)?)
}

/// Publishes the one release of a manifest, from all of its parts in whatever order, and destroys its key.
///
/// Rows are put one after the other. Sums are added exactly, and get their one noise here.
///
/// # Errors
/// As [`Parts::open`], [`Parts::publish`] and [`KeyFile::publish`]. Nothing is published then.
pub fn publish<P: AsRef<Path>>(
    manifest: &Manifest,
    key: KeyFile,
    parts: &[P],
    to: Output,
) -> Result<Certificate> {
    let parts = Parts::open(manifest, parts)?;
    if manifest.terms().kind() != Kind::Covariance {
        return Ok(parts.publish(key, to)?);
    }
    let stated = manifest.terms().certificate();
    let mechanism = GaussianCovariance::of_certificate(stated)?;
    let mut rng = parts.noise(key.key());
    let mut stream = mechanism.stream(&mut rng);
    if let Some(names) = column_names(stated)? {
        stream.name_columns(&names)?;
    }
    parts.sums(key.key(), |bytes| stream.add_sums(bytes))?;
    let mut release = stream.finish()?;
    if let Some(preprocessing) = Preprocessing::stated(&stated.statement().public)? {
        release = release.of_mapped(&preprocessing)?;
    }
    Ok(key.publish(manifest, to, &encode(&release)?)?)
}
