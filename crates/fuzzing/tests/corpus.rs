//! Runs every body over its committed corpus and over damaged forms of it, and checks that every
//! target has its file, its corpus and its body.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Damaged forms of each file.
const ROUGH: usize = 300;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{folder:?}: {e}"));
    let stem = |p: PathBuf| p.file_stem().expect("a name").to_string_lossy().into_owned();
    entries.map(|e| stem(e.expect("readable").path())).collect()
}

#[test]
fn every_target_has_its_file_and_its_corpus() {
    let bodies: BTreeSet<String> = fuzzing::TARGETS.iter().map(|t| t.0.to_owned()).collect();
    assert_eq!(names(&fuzz().join("fuzz_targets")), bodies, "fuzz_targets against the bodies");
    assert_eq!(names(&fuzz().join("corpus")), bodies, "corpus against the bodies");
    let manifest = std::fs::read_to_string(fuzz().join("Cargo.toml")).expect("a manifest");
    for name in &bodies {
        let source = fuzz().join(format!("fuzz_targets/{name}.rs"));
        let source = std::fs::read_to_string(source).expect("a target");
        assert!(
            source.contains(&format!("fuzzing::run(\"{name}\", data)")),
            "{name} calls its body"
        );
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is in the manifest");
    }
}

#[test]
fn the_corpus_and_damaged_forms_of_it_break_no_promise() {
    for (name, body) in fuzzing::TARGETS {
        let mut files = 0;
        let folder = fuzz().join("corpus").join(name);
        for entry in std::fs::read_dir(&folder).expect("a corpus") {
            let data = std::fs::read(entry.expect("readable").path()).expect("readable");
            body(&data);
            // Some truncations and flips, spread over the file.
            for i in (0..data.len()).step_by(data.len() / 16 + 1) {
                body(&data[..i]);
                let mut flipped = data.clone();
                flipped[i] ^= 1 << (i % 8);
                body(&flipped);
            }
            files += 1;
        }
        assert!(files > 0, "{name} has inputs");
    }
}

/// Numbers and words of certificates, guarantees, ledgers and expenses, taken to their edges: behind
/// the digests, which the bodies of the latter set right.
#[test]
fn what_evaluates_survives_extreme_numbers() {
    let samples = fuzzing::samples().expect("samples");
    let mut mutator = fuzzing::Mutator::new(7);
    for (name, body) in fuzzing::TARGETS {
        if !["certificate", "guarantee", "ledger"].contains(&name) {
            continue;
        }
        let fresh = samples.iter().filter(|s| s.target == name);
        let seeds: Vec<Vec<u8>> = fresh.map(|s| s.bytes.clone()).collect();
        seeds.iter().for_each(|seed| body(seed));
        for _ in 0..ROUGH {
            body(&mutator.mutated(&seeds));
        }
    }
}

/// Several bytes at once, copies and cuts: what single flips do not reach.
#[test]
fn readers_of_the_command_line_survive_rough_handling() {
    let mut state = 1u64;
    let mut below = |n: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(state >> 11) * n as u128) >> 53) as usize
    };
    for (name, body) in fuzzing::TARGETS.into_iter().filter(|(name, _)| name.starts_with("cli_")) {
        let folder = fuzz().join("corpus").join(name);
        for entry in std::fs::read_dir(&folder).expect("a corpus") {
            let original = std::fs::read(entry.expect("readable").path()).expect("readable");
            for _ in 0..ROUGH {
                let mut data = original.clone();
                for _ in 0..=below(4) {
                    let at = below(data.len());
                    match below(5) {
                        0 => data[at] = below(256) as u8,
                        1 => data[at] ^= 1 << below(8),
                        2 => data.truncate(at + 1),
                        3 => {
                            // Lengths are four bytes, often.
                            let word = [0u32, 1, 0x7fff_ffff, 0xffff_ffff, 0x1000][below(5)];
                            let end = data.len().min(at + 4);
                            data[at..end].copy_from_slice(&word.to_le_bytes()[..end - at]);
                        }
                        _ => {
                            let from = below(data.len());
                            let part = data[from..data.len().min(from + 16)].to_vec();
                            data.splice(at..at, part);
                        }
                    }
                }
                body(&data);
            }
        }
    }
}
