//! Golden bytes: the committed files of every kind are decoded, compared with the release made afresh,
//! and written back bit for bit. They were written by `examples/write_corpus.rs` with the
//! deterministic test generator, which their certificates state.

use dp_core::noise::GeneratorKind;
use dp_core::release_file::{Kind, open, read_summary};
use fuzzing::{Sample, releases};
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
