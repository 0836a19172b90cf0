//! Every file we write against what can happen to it: a disk that is full after any number of bytes, a
//! writer killed on the way, truncation at every length, a flip at every byte, another version,
//! another seed, another fingerprint. Never a wrong answer, never half a file.

use dp_core::output::{self, Access};
use dp_core::release_file::{FORMAT, Kind, Summary, Trailer, Writer, open};
use dp_core::{Adjacency, Budget, NoiseRng, NormBound};
use fuzzing::releases;
use linalg_dp::window::{BlockNoise, Keep, Pace, Schedule, StreamConfig, WindowMechanism};
use proptest::prelude::*;
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A disk with room for so many bytes.
struct Disk {
    room: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(self.room);
        self.room -= taken;
        if taken == 0 && !bytes.is_empty() {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_disk_full_at_any_byte_is_an_error() {
    for sample in releases().unwrap() {
        let opened = open(&sample.bytes).unwrap();
        let s = &opened.summary;
        let shape = (s.rows as usize, s.columns as usize);
        let trailer =
            Trailer::new(shape, s.fingerprint.clone(), &s.parameters, s.certificate.clone());
        let trailer = trailer.unwrap();
        let attempt = |room: usize| {
            let mut out = Writer::begin(Disk { room }, s.kind)?;
            out.payload(opened.payload)?;
            out.end(trailer.clone())
        };
        for room in 0..sample.bytes.len() {
            let error = attempt(room).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("could not be read or written"), "{error}");
        }
        assert_eq!(attempt(sample.bytes.len()).unwrap().0.room, 0, "with room it is written");
    }
}

#[test]
fn truncated_and_flipped_releases_are_refused() {
    for sample in releases().unwrap() {
        let good = &sample.bytes;
        for length in 0..good.len() {
            assert!(fuzzing::rewritten(&good[..length]).is_err(), "{} at {length}", sample.name);
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            assert!(fuzzing::rewritten(&bad).is_err(), "{} flipped at {at}", sample.name);
        }
        let mut longer = good.clone();
        longer.push(0);
        assert!(fuzzing::rewritten(&longer).is_err(), "{} with a byte more", sample.name);
    }
}

#[test]
fn other_versions_kinds_seeds_and_fingerprints_are_refused_by_name() {
    for sample in releases().unwrap() {
        let refused = |bytes: Vec<u8>| fuzzing::rewritten(&bytes).unwrap_err().to_string();
        for (version, remedy) in [(1, "release again"), (FORMAT + 1, "a later version")] {
            let mut bad = sample.bytes.clone();
            bad[8..12].copy_from_slice(&version.to_le_bytes());
            let error = refused(bad);
            let named = error.contains(&format!("version {version}")) && error.contains(remedy);
            assert!(named, "{}: {error}", sample.name);
        }
        let mut bad = sample.bytes.clone();
        bad[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        let error = refused(bad);
        assert!(error.contains("kind"), "{}: {error}", sample.name);
        let opened = open(&sample.bytes).unwrap();
        let s = &opened.summary;
        let shape = (s.rows, s.columns);
        let sealed = |(rows, columns): (u64, u64), fingerprint: &str, parameters: &str| {
            let (fingerprint, parameters) = (fingerprint.to_owned(), parameters.to_owned());
            let other = Summary { rows, columns, fingerprint, parameters, ..s.clone() };
            fuzzing::packed(&other, opened.payload).unwrap()
        };
        let same = sealed(shape, &s.fingerprint, &s.parameters);
        assert_eq!(same, sample.bytes, "{}: the seal itself changes nothing", sample.name);
        assert_eq!(fuzzing::rewritten(&same).unwrap(), sample.bytes, "{}", sample.name);
        let error = refused(sealed(shape, "0123456789abcdef", &s.parameters));
        assert!(error.contains("fingerprint"), "{}: {error}", sample.name);
        for (rows, columns) in [(0, 1), (1, 0), (1, 1)] {
            let other = (shape.0 + rows, shape.1 + columns);
            let error = refused(sealed(other, &s.fingerprint, &s.parameters));
            assert!(error.contains("rejected"), "{}: {error}", sample.name);
        }
        // Another seed, a number or digits in quotes, where the parameters hold one.
        if let Some(at) = s.parameters.find("\"seed\":") {
            let mut other = s.parameters.clone();
            match other[at + 7..].strip_prefix('"') {
                None => other.insert(at + 7, '1'),
                Some(digits) => {
                    let digit = if digits.starts_with('1') { "2" } else { "1" };
                    other.replace_range(at + 8..at + 9, digit);
                }
            }
            let error = refused(sealed(shape, &s.fingerprint, &other));
            // Groups and given matrices draw nothing: their seed is zero.
            let named = error.contains("fingerprint") || error.contains("seed of groups");
            assert!(named, "{}: {error}", sample.name);
        }
    }
}

/// Which file a child writes.
const KIND: &str = "FAULTS_KIND";
/// Where.
const PATH: &str = "FAULTS_PATH";
const KINDS: [&str; 3] = ["release", "text", "journal"];

fn config() -> StreamConfig {
    let noise = BlockNoise::SymmetricGaussian;
    StreamConfig {
        dim: 12,
        window: 40,
        block: 10,
        pace: Pace::Rows,
        adjacency: Adjacency::ZeroRow { bound: NormBound::new(1.0).unwrap() },
        budget: Budget::new(2.0, 1e-5).unwrap(),
        schedule: Schedule::Block { noise, keep: Keep::Blocks },
    }
}

/// A release file of about 60 KiB of payload, the same every time.
fn write_release(path: &Path) -> dp_core::Result<()> {
    let sample = &releases().expect("mechanisms accept")[0];
    let opened = open(&sample.bytes).expect("valid");
    let s = opened.summary;
    let mut out = Writer::create(path, Kind::Sketch64)?;
    for _ in 0..600 {
        out.payload(&[7; 100])?;
    }
    let certificate = s.certificate.private()?.of_post_processing();
    out.commit(Trailer::new((3, 4), s.fingerprint, &s.parameters, certificate)?)?;
    Ok(())
}

/// What a child does: writes the new content where the old one is.
fn write_new(kind: &str, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    match kind {
        "release" => Ok(write_release(path)?),
        "text" => Ok(output::write(path, "new ".repeat(10_000).as_bytes(), Access::Shared)?),
        _ => {
            let rng = NoiseRng::deterministic_not_private(2);
            let mut stream = WindowMechanism::resume(path, rng)?;
            stream.push(&[0.1; 12 * 10])?;
            Ok(())
        }
    }
}

/// Not a test of its own: what the children of the next one run.
#[test]
fn child() {
    let (Ok(kind), Ok(path)) = (std::env::var(KIND), std::env::var(PATH)) else { return };
    if let Err(error) = write_new(&kind, Path::new(&path)) {
        eprintln!("{error}");
        std::process::exit(3);
    }
}

/// Runs [`child`] under a limit on file sizes, in blocks of 512 bytes. The system then either kills it in
/// the middle of a write or, when the signal is ignored, fails the write.
fn run_child(kind: &str, path: &Path, blocks: u32, signal: &str) -> std::process::ExitStatus {
    let program = std::env::current_exe().unwrap();
    Command::new("sh")
        .arg("-c")
        .arg(format!("{signal} ulimit -f {blocks}; exec \"$0\" --exact faults::child --nocapture"))
        .arg(program)
        .env(KIND, kind)
        .env(PATH, path)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap()
}

fn begin(kind: &str, path: &Path) -> Vec<u8> {
    if path.exists() {
        std::fs::remove_file(path).unwrap();
    }
    if kind == "journal" {
        let rng = NoiseRng::deterministic_not_private(1);
        let mechanism = WindowMechanism::calibrate(config()).unwrap();
        let mut stream = mechanism.stream_with_journal(path, "", rng).unwrap();
        stream.push(&[0.1; 12 * 20]).unwrap();
    } else {
        output::write(path, b"the old content", Access::Shared).unwrap();
    }
    std::fs::read(path).unwrap()
}

#[cfg(unix)]
#[test]
fn a_full_disk_or_a_killed_writer_leaves_the_old_content_or_the_new() {
    let folder = tempfile::tempdir().unwrap();
    for kind in KINDS {
        let path: PathBuf = folder.path().join(kind);
        begin(kind, &path);
        write_new(kind, &path).unwrap();
        let new = std::fs::read(&path).unwrap();
        let whole = (new.len() / 512 + 2) as u32;
        for signal in ["", "trap '' XFSZ;"] {
            let mut outcomes = HashMap::new();
            for blocks in [0, 1, 2, whole / 4, whole / 2, whole - 2, whole + 2000] {
                let old = begin(kind, &path);
                let status = run_child(kind, &path, blocks, signal);
                let found = std::fs::read(&path).unwrap();
                assert!(found == old || found == new, "{kind}: neither old nor new at {blocks}");
                assert_eq!(status.success(), found == new, "{kind} at {blocks}: {status}");
                *outcomes.entry(status.success()).or_insert(0) += 1;
                if kind == "journal" {
                    let rng = NoiseRng::deterministic_not_private(2);
                    let stream = WindowMechanism::resume(&path, rng).unwrap();
                    let closed = stream.blocks_closed();
                    assert_eq!(closed, if found == new { 3 } else { 2 });
                }
            }
            assert!(outcomes[&false] >= 5 && outcomes[&true] >= 1, "{kind}: {outcomes:?}");
        }
        // The next writer removes what the killed ones left.
        begin(kind, &path);
        write_new(kind, &path).unwrap();
        let left = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name());
        let left: Vec<_> = left.filter(|n| n.to_string_lossy().contains(".partial")).collect();
        assert!(left.is_empty(), "{kind}: {left:?}");
    }
}

#[test]
fn damaged_journals_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let good = begin("journal", &path);
    let refused = |bytes: &[u8]| {
        let rng = NoiseRng::deterministic_not_private(2);
        WindowMechanism::from_journal(bytes, rng).is_err()
    };
    for length in 0..good.len() {
        assert!(refused(&good[..length]), "cut at {length}");
    }
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        assert!(refused(&bad), "flipped at {at}");
    }
    for bad in junk(&good) {
        assert!(refused(&bad), "{} bytes for {}", bad.len(), good.len());
    }
}

/// A file with junk in its place, put in between, or after it.
fn junk(good: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let trials = (0..300usize).flat_map(move |i| {
        let (at, length) = (i * 7919 % good.len(), 1 + i % 40);
        let junk: Vec<u8> = (0..length).map(|j| (i * 31 + j * 17 + 33) as u8 & 0x7f).collect();
        let (before, after) = good.split_at(at);
        let rest = &after[length.min(after.len())..];
        [[before, &junk, after].concat(), [before, &junk, rest].concat(), [good, &junk].concat()]
    });
    trials.filter(move |bad| bad != good)
}

#[test]
fn damaged_certificates_are_refused() {
    use dp_core::Certificate;
    for sample in releases().unwrap() {
        let text = open(&sample.bytes).unwrap().summary.certificate.to_json();
        let read = dp_core::release_file::AnyCertificate::from_json;
        let good = read(&text).unwrap();
        for length in 0..text.len() {
            assert!(read(&text[..length]).is_err(), "{} cut at {length}", sample.name);
        }
        for at in 0..text.len() {
            let mut bad = text.clone().into_bytes();
            bad[at] ^= 1;
            let Ok(bad) = String::from_utf8(bad) else { continue };
            // A space that became another kind of space is the same certificate.
            assert!(read(&bad).map_or(true, |c| c == good), "{} flipped at {at}", sample.name);
        }
        for bad in junk(text.as_bytes()).filter_map(|bad| String::from_utf8(bad).ok()) {
            assert!(read(&bad).map_or(true, |c| c == good), "{}: {bad}", sample.name);
        }
        assert!(Certificate::from_json("").is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn arbitrary_bytes_break_no_promise(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        fuzzing::TARGETS.iter().for_each(|(_, body)| body(&bytes));
    }
}
