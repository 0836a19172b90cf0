//! Golden bytes: the committed files of every kind are decoded, compared with the release made afresh,
//! and written back bit for bit. They were written by `examples/write_corpus.rs` with the
//! deterministic test generator, which their certificates state.

use dp_core::certificate::{Exception, Trust};
use dp_core::noise::GeneratorKind;
use dp_core::release_file::{Kind, open, read_summary};
use fuzzing::{Sample, releases};
use linalg_dp::any::AnyRelease;
use linalg_dp::verify::Finding;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

fn path(sample: &Sample) -> PathBuf {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    corpus.join(sample.target).join(&sample.name)
}

fn numbers(payload: &[u8]) -> Vec<f64> {
    payload.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn golden_files_of_every_kind_are_read_and_written_back() {
    let mut kinds = HashSet::new();
    for sample in releases().unwrap() {
        let bytes = std::fs::read(path(&sample)).unwrap();
        let name = &sample.name;
        assert!(fuzzing::rewritten(&bytes).unwrap() == bytes, "{name} is written back");
        let (old, new) = (open(&bytes).unwrap(), open(&sample.bytes).unwrap());
        kinds.insert(old.summary.kind);
        assert_eq!(read_summary(&path(&sample)).unwrap(), old.summary);
        let statement = old.summary.certificate.statement();
        assert_eq!(statement.generator, GeneratorKind::DeterministicNotPrivate, "{name}");
        if sample.target == "release_matrices" {
            // Matrix products may differ in their last bits from processor to processor.
            let (a, b) = (numbers(old.payload), numbers(new.payload));
            let size = a.iter().fold(0.0f64, |m, v| m.max(v.abs()));
            assert_eq!(a.len(), b.len(), "{name}");
            assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= 1e-9 * size), "{name}");
            assert_eq!(statement.public, new.summary.certificate.statement().public, "{name}");
        } else {
            assert!(bytes == sample.bytes, "{name} is made as it was");
        }
    }
    assert_eq!(kinds, HashSet::from(Kind::ALL), "every kind has a golden file");
}

/// What earlier versions wrote, the oldest first.
const EARLIER: [(&str, &[&str]); 2] = [
    ("tests/old", &["bins.dps", "symbols.dps", "fresh.dps", "smooth.dps"]),
    (
        "tests/old/2",
        &[
            "bins.dps",
            "jl-replaced.dps",
            "jl.dps",
            "low-rank.dps",
            "noisy.dps",
            "range.dps",
            "sketch-fresh.dps",
            "symbols.dps",
            "window-jl.dps",
            "wishart.dps",
        ],
    ),
];

/// What an earlier version wrote is read, verified and written back as it is: a margin that a later version leaves for rounding
/// refuses no certificate from before it.
#[test]
fn files_of_earlier_versions_are_read_and_verified() {
    let samples = releases().unwrap();
    let trust = Trust::none().and(Exception::TestNoise).and(Exception::Published);
    for (folder, names) in EARLIER {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for &name in names {
            let bytes = std::fs::read(folder.join(name)).unwrap();
            let today = samples.iter().find(|sample| sample.name == name).unwrap();
            assert!(bytes != today.bytes, "{name}: nothing has changed since");
            let (summary, release) = AnyRelease::decode(&bytes).unwrap();
            let report = release.verify(&trust).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!matches!(report.sensitivity, Finding::NotChecked(_)), "{name}");
            assert!(fuzzing::rewritten(&bytes).unwrap() == bytes, "{name} is written back");
            let now = open(&today.bytes).unwrap();
            if today.target == "release_matrices" {
                // A scale in its last digits, and so the noise and what states the scale.
                continue;
            }
            assert_eq!(open(&bytes).unwrap().payload, now.payload, "{name}: the same noise");
            let [then, now] = [&summary, &now.summary].map(|s| s.certificate.statement());
            // Nothing that was stated is stated otherwise; more may be.
            let kept = then.public.iter().all(|(name, value)| now.public.get(name) == Some(value));
            assert!(kept, "{name}");
        }
    }
}
