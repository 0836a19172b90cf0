//! Rows released in parts, by the library alone.

use dp_core::output::{Existing, Output};
use dp_core::parts::{
    Block, Content, ContentHash, Inputs, KeyFile, Manifest, PartWriter, Parts, PinnedFile,
    ReleaseKey, Terms,
};
use dp_core::release_file::{RowIds, decode, encode};
use dp_core::{Adjacency, Budget, EntryBound, PublicSeed, Release, Shift};
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec};
use sketch::vectors::{PrivateProjection, PrivateSketch};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const D: usize = 4;
/// Rows of a block; the last one of six has fewer.
const ROWS: usize = 50;
const LAST: usize = 7;

fn mechanism(epsilon: f64) -> PrivateProjection {
    let projection = ProjectionSpec::new(Family::Identity, D, D, PublicSeed::new(1)).unwrap();
    let adjacency = Adjacency::Attribute { beta: Shift::new(1.0).unwrap() };
    let (one, budget) = (EntryBound::new(1.0).unwrap(), Budget::new(epsilon, 1e-6).unwrap());
    PrivateProjection::gaussian(projection.build(), adjacency, one, budget).unwrap()
}

fn terms(mechanism: &PrivateProjection, key: &ReleaseKey) -> Terms {
    let rows = RowsView::f64(0, D, &[]).unwrap();
    let empty = mechanism.release(rows, &mut key.noise_of_terms()).unwrap();
    Terms::of(&encode(&empty).unwrap()).unwrap()
}

/// Equal rows in six blocks.
fn rows(index: usize) -> Vec<f64> {
    vec![0.25; D * if index == 5 { LAST } else { ROWS }]
}

fn content(key: &ReleaseKey, index: usize, rows: &[f64]) -> Content {
    ContentHash::new(key, index).rows(rows.len() / D, D, rows)
}

struct Room {
    folder: tempfile::TempDir,
    key: ReleaseKey,
    mechanism: PrivateProjection,
    inputs: Inputs,
}

impl Room {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("rows"), "whatever").unwrap();
        let file = PinnedFile::of(&folder.path().join("rows")).unwrap();
        let key = ReleaseKey::draw().unwrap();
        let block = |index: usize| {
            let rows = rows(index);
            let first = (index % 3 * ROWS) as u64;
            let made = Block::new(0, Some(index as u64 / 3), first, (rows.len() / D) as u64);
            made.pinned(content(&key, index, &rows))
        };
        let inputs = Inputs { files: vec![file], blocks: (0..6).map(block).collect() };
        Self { folder, key, mechanism: mechanism(1.0), inputs }
    }

    fn manifest(&self) -> Manifest {
        let terms = terms(&self.mechanism, &self.key);
        Manifest::new(&self.key, self.inputs.clone(), terms, None).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn part(&self, manifest: &Manifest, blocks: core::ops::Range<usize>) -> PathBuf {
        let path = self.path(&format!("{}-{}.part", blocks.start, blocks.end));
        let mut part = PartWriter::create(&path, manifest, &self.key, blocks).unwrap();
        while let Some(index) = part.next() {
            let rows = rows(index);
            let content = content(&self.key, index, &rows);
            let mut rng = manifest.noise(&self.key, index, &content).unwrap();
            let view = RowsView::f64(rows.len() / D, D, &rows).unwrap();
            let release = self.mechanism.release(view, &mut rng).unwrap();
            part.push(&content, &manifest.terms().block(&release, view.n() as u64).unwrap())
                .unwrap();
        }
        part.finish().unwrap();
        path
    }

    fn merge(&self, manifest: &Manifest, parts: &[PathBuf], out: &str) -> dp_core::Result<Vec<u8>> {
        let key = self.path("key");
        let _ = std::fs::remove_file(&key);
        KeyFile::create(&key, &self.key)?;
        let to = Output::create(&self.path(out), Existing::Keep)?;
        Parts::open(manifest, parts)?.publish(KeyFile::open(&key)?, to)?;
        assert!(KeyFile::open(&key).is_err(), "the key is destroyed");
        Ok(std::fs::read(self.path(out)).unwrap())
    }
}

#[test]
fn equal_rows_of_all_blocks_have_noises_of_their_own() {
    let room = Room::new();
    let manifest = room.manifest();
    let parts =
        [room.part(&manifest, 4..6), room.part(&manifest, 0..1), room.part(&manifest, 1..4)];
    let bytes = room.merge(&manifest, &parts, "out").unwrap();
    let release: Release<PrivateSketch> = decode(&bytes).unwrap();
    assert_eq!(release.payload().n(), 5 * ROWS + LAST);
    let mut values = release.payload().values().to_vec();
    values.sort_by(f64::total_cmp);
    assert!(values.windows(2).all(|pair| pair[0] < pair[1]), "a noise is there twice");
    release.certificate().verify().unwrap();
    release.certificate().require_secret_randomness().unwrap();
    // The noise has the deviation that is stated: 1028 values, within 8 standard errors.
    let sigma = release.payload().noise_variance().sqrt();
    let squares: f64 = values.iter().map(|v| ((v - 0.25) / sigma).powi(2)).sum();
    let n = values.len() as f64;
    assert!((squares / n - 1.0).abs() < 8.0 * (2.0 / n).sqrt(), "{}", squares / n);
}

#[test]
fn noise_is_a_function_of_key_manifest_block_and_content() {
    let room = Room::new();
    let manifest = room.manifest();
    type First = dp_core::Result<f64>;
    let first = |manifest: &Manifest, key: &ReleaseKey, index: usize, of: &[f64]| -> First {
        let content = content(key, index, of);
        let mut rng = manifest.noise(key, index, &content)?;
        let view = RowsView::f64(1, D, &[0.0; D]).unwrap();
        Ok(room.mechanism.release(view, &mut rng).unwrap().payload().values()[0])
    };
    let own = first(&manifest, &room.key, 0, &rows(0)).unwrap();
    assert_eq!(first(&room.manifest(), &room.key, 0, &rows(0)).unwrap(), own);
    assert_ne!(first(&manifest, &room.key, 1, &rows(1)).unwrap(), own);
    // Rows that are pinned admit no others; where they are not, others have other noise.
    let mut other = rows(0);
    other[3] = 0.5;
    let refused = first(&manifest, &room.key, 0, &other).unwrap_err().to_string();
    assert!(refused.contains("block 0 changed"), "{refused}");
    let mut open = room.inputs.clone();
    let bare = |b: &Block| Block::new(b.file, b.group, b.first, b.rows);
    open.blocks = open.blocks.iter().map(bare).collect();
    let terms_of = |epsilon| terms(&mechanism(epsilon), &room.key);
    let open = Manifest::new(&room.key, open, terms_of(1.0), None).unwrap();
    let (a, b) = (first(&open, &room.key, 0, &rows(0)), first(&open, &room.key, 0, &other));
    assert!(a.unwrap() != b.unwrap());
    // Another calibration, other inputs, another key.
    let wider = Manifest::new(&room.key, room.inputs.clone(), terms_of(2.0), None).unwrap();
    assert_ne!(first(&wider, &room.key, 0, &rows(0)).unwrap(), own);
    let other = Room::new();
    assert_ne!(first(&other.manifest(), &other.key, 0, &rows(0)).unwrap(), own);
    assert!(Manifest::parse(&manifest.text(), &other.key).is_err());
    assert_eq!(Manifest::parse(&manifest.text(), &room.key).unwrap(), manifest);
    assert!(first(&manifest, &room.key, 6, &rows(0)).is_err());
}

#[test]
fn blocks_that_overlap_or_leave_gaps_are_no_manifest() {
    let room = Room::new();
    let of = |blocks: Vec<Block>| {
        let inputs = Inputs { files: room.inputs.files.clone(), blocks };
        Manifest::new(&room.key, inputs, terms(&room.mechanism, &room.key), None).is_ok()
    };
    let block = |file, group, first, rows| Block::new(file, group, first, rows);
    assert!(of(vec![block(0, None, 0, 5), block(0, None, 5, 1)]));
    assert!(of(vec![block(0, Some(0), 0, 5), block(0, Some(3), 0, 1)]));
    for wrong in [
        vec![],
        vec![block(0, None, 0, 0)],
        vec![block(0, None, 1, 5)],
        vec![block(1, None, 0, 5)],
        vec![block(0, None, 0, 5), block(0, None, 4, 5)],
        vec![block(0, None, 0, 5), block(0, None, 0, 5)],
        vec![block(0, None, 0, 5), block(0, None, 6, 5)],
        vec![block(0, Some(1), 0, 5), block(0, Some(0), 0, 5)],
        vec![block(0, Some(0), 0, 5), block(0, Some(1), 2, 5)],
        vec![block(0, None, 0, u64::MAX), block(0, None, u64::MAX, 1)],
    ] {
        assert!(!of(wrong.clone()), "{wrong:?}");
    }
}

#[test]
fn altered_manifests_are_refused() {
    let room = Room::new();
    let text = room.manifest().text();
    let parse = |text: &str| Manifest::parse(text, &room.key);
    for (from, to) in [
        ("\"rows\":50", "\"rows\":49"),
        ("\"format\":1", "\"format\":2"),
        ("\"file\":0", "\"file\":1"),
        ("\"epsilon\":1.0", "\"epsilon\":2.0"),
        ("\"reserved\":null", "\"reserved\":{\"charge\":\"a\",\"ledger\":\"b\"}"),
        ("\"bytes\":8", "\"bytes\":9"),
    ] {
        assert!(text.contains(from), "{from}");
        assert!(parse(&text.replacen(from, to, 1)).is_err(), "{from}");
    }
    for cut in [0, 1, 10, text.len() / 2, text.len() - 1] {
        assert!(parse(&text[..cut]).is_err());
    }
    assert!(parse(&text).is_ok());
}

#[test]
fn what_was_not_made_for_a_block_is_no_part_of_it() {
    let room = Room::new();
    let manifest = room.manifest();
    let rows = rows(0);
    let content = content(&room.key, 0, &rows);
    let view = RowsView::f64(ROWS, D, &rows).unwrap();
    let terms = manifest.terms();
    // From the file of a release or from the release itself, the same.
    let block = |mechanism: &PrivateProjection, rng: &mut dp_core::NoiseRng, rows: usize| {
        let release = mechanism.release(view, rng).unwrap();
        let bytes = encode(&release).unwrap();
        let of_file = terms.payload(&bytes, rows as u64).map(<[u8]>::to_vec);
        let of_release = terms.block(&release, rows as u64);
        let of_release = of_release.map_err(|e| e.to_string());
        assert_eq!(of_release, of_file.map_err(|e| e.to_string()));
        of_release
    };
    let noise = || manifest.noise(&room.key, 0, &content).unwrap();
    let right = block(&room.mechanism, &mut noise(), ROWS).unwrap();
    assert_eq!(right.len(), 8 * D * ROWS);
    assert!(block(&room.mechanism, &mut noise(), ROWS - 1).is_err());
    // Noise of the system, another calibration.
    let mut system = dp_core::NoiseRng::from_os().unwrap();
    assert!(block(&room.mechanism, &mut system, ROWS).is_err());
    assert!(block(&mechanism(2.0), &mut noise(), ROWS).is_err());
    // The release of a file, its certificate beside other numbers, and rows with names: none was made for the block.
    let made = || room.mechanism.release(view, &mut noise()).unwrap();
    let read: Release<PrivateSketch> = decode(&encode(&made()).unwrap()).unwrap();
    assert!(terms.payload(&encode(&read).unwrap(), ROWS as u64).is_ok());
    let other = room.mechanism.release(view, &mut system).unwrap().into_parts().0;
    let resealed = Release::certified(other, read.certificate().clone());
    let mut names = RowIds::default();
    (0..ROWS).for_each(|i| names.push(&i.to_string()).unwrap());
    let named = made().named(Some(Arc::new(names)));
    for (what, release) in [("read", read), ("resealed", resealed), ("named", named)] {
        assert!(terms.block(&release, ROWS as u64).is_err(), "{what}");
    }
    assert!(terms.block(&made(), ROWS as u64).is_ok());
    // The same noise on the same rows under two scales gives the rows away: by itself neither is a release.
    for (mechanism, epsilon) in [(&room.mechanism, 1.0), (&mechanism(2.0), 2.0)] {
        let mut rng = manifest.noise(&room.key, 0, &content).unwrap();
        let alone = mechanism.release(view, &mut rng).unwrap();
        let refused = alone.certificate().verify().unwrap_err().to_string();
        assert!(
            refused.contains("only the output that the parts are merged into"),
            "{epsilon}: {refused}"
        );
        let any = dp_core::certificate::AnyCertificate::Private(alone.certificate().clone());
        assert!(!any.exceptions().is_empty());
    }
    // A part that lacks a block, or has one too many.
    let path: &Path = &room.path("short");
    let part = PartWriter::create(path, &manifest, &room.key, 0..1).unwrap();
    assert!(part.finish().is_err() && !path.exists());
    let mut part = PartWriter::create(path, &manifest, &room.key, 0..1).unwrap();
    part.push(&content, &right).unwrap();
    assert!(part.push(&content, &[]).is_err());
    assert!(PartWriter::create(path, &manifest, &room.key, 5..7).is_err());
}
