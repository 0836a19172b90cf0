//! Bodies of the fuzz targets: one function a decoder or reader.
//!
//! A body takes arbitrary bytes and panics when the code under test breaks a promise: it must
//! never panic, and what it accepts must be written back to the same bytes or values. The targets in
//! `fuzz/` call [`run`] with their name; `tests/corpus.rs` runs them over the committed corpus, so that
//! they stay correct without a fuzzer.
//!
//! Checksums and digests would stop a fuzzer at the door: bodies seal their input first.

mod certificates;
mod command_line;
mod input_samples;
mod journals;
mod ledgers;
mod mutation;
mod readers;
mod releases;
mod sample;
mod samples;

use certificates::{certificate, guarantee, ledger};
use command_line::{cli_arrow, cli_csv, cli_idx, cli_npy, cli_parquet, cli_sets, cli_svmlight};
use journals::journal;
use readers::{idx, item_sets, libsvm, packages};
use releases::{
    release_container, release_matrices, release_sets, release_signs, release_sketch, release_units,
};

pub use mutation::Mutator;
pub use releases::{forged, packed, repacked, rewritten, sealed, trailer};
pub use sample::{Failure, Sample};
pub use samples::{releases, samples};

/// What runs on the bytes of one target.
type Body = fn(&[u8]);

/// Every target by name, with its body: the name of its file in `fuzz/fuzz_targets` and of its folder in
/// `fuzz/corpus`.
pub const TARGETS: [(&str, Body); 21] = [
    ("certificate", certificate),
    ("cli_arrow", cli_arrow),
    ("cli_csv", cli_csv),
    ("cli_idx", cli_idx),
    ("cli_npy", cli_npy),
    ("cli_parquet", cli_parquet),
    ("cli_sets", cli_sets),
    ("cli_svmlight", cli_svmlight),
    ("guarantee", guarantee),
    ("idx", idx),
    ("item_sets", item_sets),
    ("journal", journal),
    ("ledger", ledger),
    ("libsvm", libsvm),
    ("packages", packages),
    ("release_container", release_container),
    ("release_matrices", release_matrices),
    ("release_sets", release_sets),
    ("release_signs", release_signs),
    ("release_sketch", release_sketch),
    ("release_units", release_units),
];

/// Runs the body of a target.
///
/// # Panics
/// When the code under test breaks a promise, or no target has that name.
pub fn run(target: &str, data: &[u8]) {
    let named = TARGETS.iter().find(|(name, _)| *name == target);
    named.unwrap_or_else(|| panic!("no target {target}")).1(data);
}
