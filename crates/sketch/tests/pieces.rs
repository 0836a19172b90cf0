//! Search in release files that are read a piece at a time.

use dp_core::certificate::Trust;
use dp_core::release_file::{self as file, InParts, Kind, RowIds, Trailer, Writer};
use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, PublicSeed, Release, Shift};
use sketch::pieces::Pieces;
use sketch::projection::{Family, ProjectionSpec};
use sketch::rows::RowsView;
use sketch::search::{HammingIndex, Neighbours, Queries, Score, SketchIndex};
use sketch::signs::{FlipRule, PrivateSigns, SignCodes, SignQueries, SignSketch};
use sketch::vectors::{Element, PrivateProjection, PrivateSketch};
use sketch::{Error, Result};
use std::path::Path;
use std::sync::Arc;

const D: usize = 64;
/// Of 64 numbers a piece has 32,640 rows.
const N: usize = 70_000;

fn rows(n: usize, salt: usize) -> Vec<f64> {
    (0..n * D).map(|i| ((i * 7919 + i / D * 31 + salt) % 101) as f64 / 50.0 - 1.0).collect()
}

fn view(values: &[f64]) -> RowsView<'_> {
    RowsView::f64(values.len() / D, D, values).unwrap()
}

fn release(n: usize, budget: Budget) -> Release<PrivateSketch> {
    let spec = ProjectionSpec::new(Family::Identity, D, D, PublicSeed::new(0)).unwrap();
    let adjacency = Adjacency::Attribute { beta: Shift::new(2.0).unwrap() };
    let one = EntryBound::new(1.0).unwrap();
    let mechanism = PrivateProjection::gaussian(spec.build(), adjacency, one, budget).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(4);
    mechanism.release(view(&rows(n, 0)), &mut rng).unwrap()
}

fn search(
    path: &Path,
    queries: &[f64],
    score: Score,
    count: usize,
) -> Result<(Neighbours<f64>, Option<Arc<RowIds>>)> {
    let pieces = Pieces::<PrivateSketch>::of(InParts::open(path)?, &Trust::none())?;
    pieces.nearest(view(queries), score, count)
}

#[test]
fn sketches_are_found_as_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.release");
    let queries = rows(7, 13);
    let whole = release(N, Budget::new(8.0, 1e-6).unwrap());
    for element in [Element::F64, Element::F32, Element::Compact] {
        std::fs::write(&path, file::encode_as(&whole, element.kind()).unwrap()).unwrap();
        let held: Release<PrivateSketch> = file::load(&path).unwrap();
        let items = held.payload();
        let projection = items.projection().build();
        let pieces = Pieces::<PrivateSketch>::of(InParts::open(&path).unwrap(), &Trust::none());
        let (summary, report) = pieces.unwrap().verify_use().unwrap();
        assert_eq!(
            (summary.kind, report),
            (element.kind(), sketch::verify_consistency(&held).unwrap())
        );
        let exact = PrivateSketch::exact(projection.as_ref(), view(&queries)).unwrap();
        for score in [Score::Cosine, Score::InnerProduct, Score::SquaredDistance] {
            for count in [1, 50] {
                let index = SketchIndex::new(items, score).unwrap();
                let expected = index.top_k(&Queries::all(&exact), count).unwrap();
                let (found, ids) = search(&path, &queries, score, count).unwrap();
                assert_eq!(found, expected, "{element:?} {score:?} {count}");
                assert!(ids.is_none());
                let beyond = |q| expected.indices(q).iter().any(|&row| row > 40_000);
                assert!(
                    count == 1 || (0..7).any(beyond),
                    "no row of a later piece: a test of nothing"
                );
            }
        }
    }
}

#[test]
fn few_rows_and_none_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.release");
    for n in [0, 1, 3] {
        let mut ids = RowIds::default();
        (0..n).try_for_each(|row| ids.push(&format!("row {row}"))).unwrap();
        let ids = (n > 0).then(|| Arc::new(ids));
        let whole = release(n, Budget::new(8.0, 1e-6).unwrap()).named(ids.clone());
        for element in [Element::F64, Element::Compact] {
            std::fs::write(&path, file::encode_as(&whole, element.kind()).unwrap()).unwrap();
            let (found, names) = search(&path, &rows(2, 1), Score::Cosine, 5).unwrap();
            assert_eq!((found.n(), found.k(), names), (2, n, ids.clone()), "{element:?}");
            assert_eq!(search(&path, &[], Score::Cosine, 5).unwrap().0.n(), 0);
            assert!(search(&path, &rows(2, 1), Score::Cosine, 0).is_err());
            let narrow = RowsView::f64(1, D - 1, &[0.5; D - 1]).unwrap();
            let file = InParts::open(&path).unwrap();
            let pieces = Pieces::<PrivateSketch>::of(file, &Trust::none()).unwrap();
            assert!(pieces.nearest(narrow, Score::Cosine, 1).is_err());
        }
    }
}

#[test]
fn signs_are_found_as_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.release");
    // Of 1,024 bits a piece has 130,560 rows.
    let n = 140_000;
    let values: Vec<f32> = rows(n, 0).iter().map(|&x| x as f32).collect();
    let sketch = SignSketch::repeated(Family::Oporp, D, 1024, 16, PublicSeed::new(3)).unwrap();
    let adjacency = Adjacency::Attribute { beta: Shift::new(2.0).unwrap() };
    let (one, budget) = (EntryBound::new(1.0).unwrap(), Budget::new(40.0, 0.0).unwrap());
    let signs = PrivateSigns::new(sketch, FlipRule::OptimalSmooth, adjacency, one, budget).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(5);
    let held = signs.release(RowsView::f32(n, D, &values).unwrap(), &mut rng).unwrap();
    file::write(&path, &held).unwrap();
    let queries = rows(3, 13);
    let exact = SignQueries::exact(&held, view(&queries)).unwrap();
    let expected = HammingIndex::new(held.payload()).unwrap().top_k_exact(&exact, 200).unwrap();
    let pieces = Pieces::<SignCodes>::of(InParts::open(&path).unwrap(), &Trust::none()).unwrap();
    let (found, _) = pieces.nearest(view(&queries), 200).unwrap();
    assert_eq!(found, expected);
    assert!((0..3).any(|q| found.indices(q).iter().any(|&row| row > 130_560)));
    let sketches = Pieces::<PrivateSketch>::of(InParts::open(&path).unwrap(), &Trust::none());
    assert!(sketches.unwrap_err().to_string().contains("the file holds signs"));
}

/// A file that says it holds these numbers, sealed by whoever wrote it.
fn sealed(
    whole: &Release<PrivateSketch>,
    kind: Kind,
    write: impl Fn(&mut Writer<Vec<u8>>),
) -> Vec<u8> {
    let stated = file::encode_as(whole, kind).unwrap();
    let stated = file::open(&stated).unwrap().summary;
    let (shape, certificate) = (stated.shape().unwrap(), stated.certificate.private().unwrap());
    let trailer = Trailer::new(
        shape,
        stated.fingerprint,
        &stated.parameters,
        certificate.of_post_processing(),
    )
    .unwrap();
    let mut out = Writer::begin(Vec::new(), kind).unwrap();
    write(&mut out);
    out.end(trailer).unwrap().0
}

#[test]
fn nothing_is_found_in_what_does_not_hold() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.release");
    let whole = release(N, Budget::new(8.0, 1e-6).unwrap());
    let values = whole.payload().values();
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let piecewise = search(&path, &rows(2, 1), Score::Cosine, 5).expect_err("refused");
        let verified = InParts::open(&path)
            .map_err(Error::from)
            .and_then(|file| Pieces::<PrivateSketch>::of(file, &Trust::none())?.verify_use());
        assert!(verified.is_err(), "{piecewise}");
        // And where it is read whole.
        let held = file::load::<PrivateSketch, dp_core::Certificate>(&path);
        let held = held.and_then(|held| sketch::verify(&held).map(drop));
        assert!(held.is_err(), "{piecewise}");
        piecewise.to_string()
    };
    // Every part of a file, the last piece and the trailer too.
    let good = file::encode(&whole).unwrap();
    for at in [3, 12, 20, good.len() / 2, good.len() - 2000, good.len() - 45, good.len() - 1] {
        let mut bytes = good.clone();
        bytes[at] ^= 64;
        refused(&bytes);
    }
    refused(&good[..good.len() - 1]);
    // Rows too few and too many, and a last row without noise that is nowhere on the grid.
    let k = D;
    let sealed64 =
        |values: &[f64]| sealed(&whole, Kind::Sketch64, |out| out.payload_f64(values).unwrap());
    let size = "the payload does not have the stated size";
    assert!(refused(&sealed64(&values[..values.len() - k])).contains(size));
    assert!(
        refused(&sealed64(&values.iter().chain(&values[..k]).copied().collect::<Vec<_>>()))
            .contains(size)
    );
    let mut off = values.to_vec();
    off[values.len() - 1] = 0.1;
    assert!(refused(&sealed64(&off)).contains("grid"));
    off[values.len() - 1] = f64::NAN;
    assert!(refused(&sealed64(&off)).contains("finite"));
    // A whole piece without noise, where the others have enough for all.
    let mut quiet = values.to_vec();
    quiet[40_000 * k..].fill(0.0);
    std::fs::write(&path, sealed64(&quiet)).unwrap();
    let error = search(&path, &rows(2, 1), Score::Cosine, 5).unwrap_err().to_string();
    assert!(error.contains("vary less"), "{error}");
    // Blocks of more rows than the file says, the last of them whole in the last piece.
    let blocks = file::encode_as(&whole, Kind::SketchCompact).unwrap();
    let blocks = file::open(&blocks).unwrap().payload.to_vec();
    let more = [2u32, 8, 0].map(u32::to_le_bytes).concat();
    let more = [&more[..], &[7; 2 * D]].concat();
    let rows = "the blocks hold another number of rows";
    for extra in [[&more[..], &blocks].concat(), [&blocks[..], &more].concat()] {
        let bytes = sealed(&whole, Kind::SketchCompact, |out| out.payload(&extra).unwrap());
        let error = refused(&bytes);
        assert!(error.contains(rows) || error.contains("the stated size"), "{error}");
    }
    // Blocks that say they are larger than the file, and blocks of too few rows in all.
    for header in [[1u32, 32, u32::MAX], [1, 32, 64], [1024, 32, 0], [0, 8, 0], [1, 8, 0]] {
        let bytes = header.map(u32::to_le_bytes).concat();
        let bytes = sealed(&whole, Kind::SketchCompact, |out| {
            out.payload(&bytes).unwrap();
            out.payload(&[7; 64]).unwrap();
        });
        refused(&bytes);
    }
}
