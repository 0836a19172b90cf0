//! Release files: round trip, streaming, golden bytes, damage.

use dp_core::Certificate;
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{self as file, Kind, read_summary};
use dp_core::{Adjacency, Budget, EntryBound, FreshSeed, NoiseRng, PublicSeed, Release, Shift};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use sketch::Result;
use sketch::projection::{Family, ProjectionSpec};
use sketch::rows::RowsView;
use sketch::vectors::{
    AveragedProjection, Element, OpenSketch, PrivateProjection, PrivateSketch, ReleaseWriter,
};
use std::path::Path;

fn decode(bytes: &[u8]) -> Result<Release<PrivateSketch>> {
    file::decode::<PrivateSketch, Certificate>(bytes)
}

fn encode(release: &Release<PrivateSketch>, element: Element) -> Result<Vec<u8>> {
    file::encode_as(release, element.kind())
}

fn read_release(path: &Path) -> Result<Release<PrivateSketch>> {
    file::load(path)
}

fn mechanism(d: usize, k: usize) -> PrivateProjection {
    let p = ProjectionSpec::new(Family::Oporp, d, k, PublicSeed::new(3)).unwrap().build();
    let adjacency = Adjacency::Attribute { beta: Shift::new(1.0).unwrap() };
    let budget = Budget::new(1.0, 1e-6).unwrap();
    PrivateProjection::gaussian(p, adjacency, EntryBound::new(1.0).unwrap(), budget).unwrap()
}

fn data(n: usize, d: usize) -> Vec<f64> {
    (0..n * d).map(|i| (i % 7) as f64 / 7.0).collect()
}

fn release(n: usize) -> Release<PrivateSketch> {
    let x = data(n, 6);
    let mut rng = NoiseRng::deterministic_not_private(4);
    mechanism(6, 4).release(RowsView::f64(n, 6, &x).unwrap(), &mut rng).unwrap()
}

#[test]
fn files_come_back_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.release");
    for n in [0, 1, 9] {
        let release = release(n);
        file::write(&path, &release).unwrap();
        assert_eq!(read_release(&path).unwrap().map(|p| p), release);
        let bytes = encode(&release, Element::Compact).unwrap();
        let compact = decode(&bytes).unwrap();
        assert_eq!(file::encode(&compact).unwrap(), bytes, "what was compact stays so");
        let error = encode(&compact, Element::F64).unwrap_err().to_string();
        assert!(error.contains("coarse grid"), "{error}");
        let NoiseLaw::RoundedGaussian { sigma, .. } = *compact.payload().noise() else { panic!() };
        for (a, b) in compact.payload().values().iter().zip(release.payload().values()) {
            assert!((a - b).abs() <= sigma.get() / 16.0);
        }
        let narrow = decode(&encode(&release, Element::F32).unwrap()).unwrap();
        assert_eq!(&narrow.certificate().clone().of_post_processing(), release.certificate());
        for (a, b) in narrow.payload().values().iter().zip(release.payload().values()) {
            assert_eq!(*a, f64::from(*b as f32));
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file stays");
}

#[test]
fn streaming_gives_the_bits_of_one_release() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.release");
    let (n, d, k) = (9001, 6, 4);
    let (x, m) = (data(n, d), mechanism(d, k));
    let mut rng = NoiseRng::deterministic_not_private(8);
    let whole = m.release(RowsView::f64(n, d, &x).unwrap(), &mut rng).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(8);
    let mut writer = ReleaseWriter::create(&path, &m, Element::F64, &mut rng).unwrap();
    let mut rest = &x[..];
    for step in [1, 4095, 2, 700].iter().cycle() {
        let rows = (*step).min(rest.len() / d);
        writer.push(RowsView::f64(rows, d, &rest[..rows * d]).unwrap()).unwrap();
        rest = &rest[rows * d..];
        if rest.is_empty() {
            break;
        }
    }
    let written = writer.finish().unwrap();
    assert_eq!(written.rows, n);
    let summary = read_summary(&path).unwrap();
    assert_eq!((summary.kind, summary.rows, summary.columns), (Kind::Sketch64, 9001, 4));
    assert_eq!(summary.certificate.private().unwrap(), written.certificate);
    assert_eq!(read_release(&path).unwrap().map(|p| p), whole);
    // On a coarse grid too, where blocks are cut in the same places.
    let mut rng = NoiseRng::deterministic_not_private(8);
    let mut writer = ReleaseWriter::create(&path, &m, Element::Compact, &mut rng).unwrap();
    for part in x.chunks(701 * d) {
        writer.push(RowsView::f64(part.len() / d, d, part).unwrap()).unwrap();
    }
    writer.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let numbers = n * k;
    assert!(bytes == encode(&whole, Element::Compact).unwrap() && bytes.len() < numbers + 4096);
    // No rows, in every form.
    let none = m.release(RowsView::f64(0, d, &[]).unwrap(), &mut rng).unwrap();
    for element in [Element::F64, Element::F32, Element::Compact] {
        ReleaseWriter::create(&path, &m, element, &mut rng).unwrap().finish().unwrap();
        assert!(std::fs::read(&path).unwrap() == encode(&none, element).unwrap(), "{element:?}");
    }
    // In memory, in the same portions and in others.
    for portion in [700, 4096, n] {
        let mut rng = NoiseRng::deterministic_not_private(8);
        let mut open = OpenSketch::new(&m, &mut rng);
        open.reserve(if portion == n { usize::MAX } else { portion });
        for part in x.chunks(portion * d) {
            open.push(RowsView::f64(part.len() / d, d, part).unwrap()).unwrap();
        }
        assert_eq!(open.close().unwrap(), whole, "{portion}");
    }
    // After a portion that is refused nothing comes out.
    let mut open = OpenSketch::new(&m, &mut rng);
    open.push(RowsView::f64(2, d, &x[..2 * d]).unwrap()).unwrap();
    let wide = [9.0; 6];
    assert!(open.push(RowsView::f64(1, d, &wide).unwrap()).is_err());
    assert!(open.push(RowsView::f64(2, d, &x[..2 * d]).unwrap()).is_err());
    assert!(open.close().is_err());
    // A writer that is dropped leaves nothing.
    let other = folder.path().join("c.release");
    drop(ReleaseWriter::create(&other, &m, Element::F64, &mut rng).unwrap());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn streaming_a_fresh_projection_gives_the_bits_of_one_release() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fresh.release");
    let (n, d, k) = (5000, 6, 4);
    let (x, one) = (data(n, d), EntryBound::new(1.0).unwrap());
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let shift = Adjacency::RowShift { l2: Shift::new(1.0).unwrap() };
    let m = AveragedProjection::gaussian(d, k, shift, one, budget).unwrap();
    let seed = || FreshSeed::reproducible_not_private(8);
    let rows = RowsView::f64(n, d, &x).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(8);
    let whole = m.clone().release(seed(), rows, &mut rng).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(8);
    let mut open = m.clone().open(seed(), &mut rng).unwrap();
    open.push(rows).unwrap();
    assert_eq!(open.close().unwrap(), whole);
    let mut rng = NoiseRng::deterministic_not_private(8);
    let mut writer = m.writer(&path, Element::F64, seed(), &mut rng).unwrap();
    for first in (0..n).step_by(700) {
        writer.push(rows.slice(first..n.min(first + 700))).unwrap();
    }
    let written = writer.finish().unwrap().certificate;
    assert_eq!(written.of_post_processing(), *whole.certificate());
    assert_eq!(read_release(&path).unwrap().map(|p| p), whole);
}

#[test]
fn a_file_of_another_kind_is_named() {
    let bytes = encode(&release(2), Element::F32).unwrap();
    let other = file::decode::<sketch::signs::SignCodes, Certificate>(&bytes).unwrap_err();
    assert!(other.to_string().contains("sketch (f32), not signs"), "{other}");
    let error = file::encode_as(&release(2), Kind::Signs).unwrap_err().to_string();
    assert!(error.contains("signs does not hold this release"), "{error}");
}

/// Seals bytes whose content was altered with a new checksum.
fn reseal(bytes: &mut [u8]) {
    let end = bytes.len() - 40;
    let length = u64::from_le_bytes(bytes[end..end + 8].try_into().unwrap());
    let Some(from) = (end as u64).checked_sub(length).filter(|from| *from >= 16) else { return };
    let from = from as usize;
    let hash = Sha256::new_with_prefix(&bytes[..16]).chain_update(Sha256::digest(&bytes[16..from]));
    let sum = hash.chain_update(&bytes[from..end + 8]).finalize();
    bytes[end + 8..].copy_from_slice(&sum);
}

#[test]
fn every_altered_part_is_named() {
    let good = encode(&release(3), Element::F64).unwrap();
    let part = |bytes: &[u8]| decode(bytes).unwrap_err().to_string();
    let mut bad = good.clone();
    bad[0] ^= 1;
    assert!(part(&bad).contains("magic"));
    let mut bad = good.clone();
    bad[8] = 9;
    assert!(part(&bad).contains("version 9 is of a later version"));
    let mut bad = good.clone();
    bad[20] ^= 1;
    assert!(part(&bad).contains("checksum"));
    assert!(part(&good[..good.len() - 1]).contains("trailer"));
    assert!(part(&good[..20]).contains("length"));
    let mut bad = good.clone();
    let start = bad.windows(10).position(|w| w == b"\"seed\":3},").unwrap();
    bad[start + 7] = b'4';
    reseal(&mut bad);
    assert!(part(&bad).contains("fingerprint"), "{}", part(&bad));
    let mut bad = good.clone();
    let end = bad.len() - 40;
    bad[end..end + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(part(&bad).contains("trailer"));
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(decode(&bytes).is_err());
    }

    #[test]
    fn altered_files_never_panic(
        at in any::<prop::sample::Index>(), value in any::<u8>(), cut in any::<prop::sample::Index>(),
        compact in any::<bool>(),
    ) {
        let element = if compact { Element::Compact } else { Element::F32 };
        let mut bytes = encode(&release(2), element).unwrap();
        let i = at.index(bytes.len());
        bytes[i] = value;
        reseal(&mut bytes);
        let _ = decode(&bytes);
        let mut short = bytes[..56 + cut.index(bytes.len() - 56)].to_vec();
        short[..16].copy_from_slice(&bytes[..16]);
        reseal(&mut short);
        prop_assert!(decode(&short).is_err() || short.len() == bytes.len());
    }
}
