//! Columns side by side that nobody looked at before they are pushed: the bits of rows, and refusals that name the place.

use dp_core::{Adjacency, Budget, FreshSeed, NoiseRng, PublicSeed};
use sketch::projection::{Family, ProjectionSpec, Sampling};
use sketch::rows::{Incoming, RowsView};
use sketch::signs::{FlipRule, FreshConfig, FreshSigns, NormFloor, PrivateSigns, SignSketch};
use sketch::vectors::{Element, OpenSketch, PrivateProjection, ReleaseWriter};
use sketch::{Error, Result};

fn positive<B: TryFrom<f64, Error = dp_core::Error>>(x: f64) -> B {
    B::try_from(x).unwrap()
}

/// Full mantissas: another order of additions would show.
fn data(n: usize, d: usize) -> Vec<f64> {
    (0..n * d).map(|i| ((i * 7919 % 10_007) as f64).sin()).collect()
}

fn beside(x: &[f64], d: usize) -> Vec<f64> {
    let n = x.len() / d;
    (0..n * d).map(|at| x[at % n * d + at / n]).collect()
}

fn one_attribute() -> Adjacency {
    Adjacency::Attribute { beta: positive(1.0) }
}

fn projection(family: Family, d: usize, k: usize, adjacency: Adjacency) -> PrivateProjection {
    let p = ProjectionSpec::new(family, d, k, PublicSeed::new(3)).unwrap().build();
    let budget = Budget::new(1.0, 1e-6).unwrap();
    PrivateProjection::gaussian(p, adjacency, positive(1.0), budget).unwrap()
}

fn signs(family: Family, d: usize, bits: usize, repetitions: usize) -> PrivateSigns {
    let sketch = SignSketch::repeated(family, d, bits, repetitions, PublicSeed::new(3)).unwrap();
    let (rule, budget) = (FlipRule::OptimalSmooth, Budget::new(4.0, 0.0).unwrap());
    PrivateSigns::new(sketch, rule, one_attribute(), positive(1.0), budget).unwrap()
}

fn noise() -> NoiseRng {
    NoiseRng::deterministic_not_private(8)
}

/// Hands all rows on, some at a time: slices do not start at the first row, and the last one is short.
fn portions(
    n: usize,
    columns: &[&[f64]],
    size: usize,
    mut push: impl FnMut(Incoming<'_>) -> Result<()>,
) {
    let all = Incoming::columns(n, columns).unwrap();
    for first in (0..n).step_by(size) {
        push(all.slice(first..n.min(first + size))).unwrap();
    }
}

#[test]
fn projected_columns_have_the_bits_of_rows() {
    let whole_row = Adjacency::ReplaceRow { bound: positive(100.0) };
    let srht = Family::Srht { sampling: Sampling::WithoutReplacement };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("columns.release");
    for (family, n, d, k, adjacency) in [
        (Family::Oporp, 9000, 37, 11, one_attribute()),
        (Family::Oporp, 300, 530, 9, whole_row),
        (Family::SparseJl { nonzeros: 3 }, 700, 21, 9, one_attribute()),
        (Family::Gaussian, 4500, 19, 5, whole_row),
        (srht, 300, 37, 8, one_attribute()),
        // Parts of P are made anew for every pass.
        (Family::Rademacher, 300, 2100, 600, one_attribute()),
    ] {
        let (m, x) = (projection(family, d, k, adjacency), data(n, d));
        let whole = m.release(RowsView::f64(n, d, &x).unwrap(), &mut noise()).unwrap();
        let columns = beside(&x, d);
        let columns: Vec<&[f64]> = columns.chunks_exact(n).collect();
        for size in [77, 4099, n] {
            let mut rng = noise();
            let mut open = OpenSketch::new(&m, &mut rng);
            portions(n, &columns, size, |rows| open.push(rows));
            assert!(open.close().unwrap() == whole, "{family:?} by {size}");
            let mut rng = noise();
            let mut writer = ReleaseWriter::create(&path, &m, Element::F64, &mut rng).unwrap();
            portions(n, &columns, size, |rows| writer.push(rows));
            writer.finish().unwrap();
            let bytes = dp_core::release_file::encode(&whole).unwrap();
            assert!(std::fs::read(&path).unwrap() == bytes, "{family:?} by {size}, written");
        }
    }
}

#[test]
fn signs_of_columns_have_the_bits_of_rows() {
    for (family, n, d, bits, repetitions) in [
        (Family::Oporp, 4500, 37, 11, 1),
        (Family::Oporp, 2100, 530, 30, 2),
        (Family::Gaussian, 2100, 19, 5, 1),
        (Family::Rademacher, 300, 2100, 600, 1),
    ] {
        let (m, x) = (signs(family, d, bits, repetitions), data(n, d));
        let whole = m.release(RowsView::f64(n, d, &x).unwrap(), &mut noise()).unwrap();
        let columns = beside(&x, d);
        let columns: Vec<&[f64]> = columns.chunks_exact(n).collect();
        for size in [77, 2050, n] {
            let mut rng = noise();
            let mut open = m.open(&mut rng);
            portions(n, &columns, size, |rows| open.push(rows));
            assert!(open.close().unwrap() == whole, "{family:?} by {size}");
        }
    }
    let (n, d) = (2100, 13);
    let x = data(n, d);
    let columns = beside(&x, d);
    let columns: Vec<&[f64]> = columns.chunks_exact(n).collect();
    for floor in [NormFloor::Promised(positive(1e-3)), NormFloor::Lifted(positive(2.0))] {
        let adjacency = Adjacency::Attribute { beta: positive(0.1) };
        let config = FreshConfig { d, bits: 7, floor, bound: positive(1.0), adjacency };
        let m = FreshSigns::exact(config, Budget::new(4.0, 1e-6).unwrap()).unwrap();
        let seed = || FreshSeed::reproducible_not_private(5);
        let rows = RowsView::f64(n, d, &x).unwrap();
        let whole = m.release(rows, seed(), &mut noise()).unwrap();
        for size in [77, n] {
            let mut rng = noise();
            let mut open = m.open(seed(), &mut rng).unwrap();
            portions(n, &columns, size, |rows| open.push(rows));
            assert!(open.close().unwrap() == whole, "{floor:?} by {size}");
        }
    }
}

/// The place that an error names, and whether the number there is finite.
fn place(error: &Error) -> (usize, usize, bool) {
    match error {
        Error::NotFinite { row, column } => (*row, *column, false),
        Error::OutOfRange { row, column, .. } => (*row, *column, true),
        other => panic!("{other}"),
    }
}

#[test]
fn numbers_that_are_refused_are_named_and_nothing_comes_out() {
    let (n, d) = (5000, 37);
    let mut columns: Vec<Vec<f64>> = beside(&data(n, d), d).chunks(n).map(Vec::from).collect();
    let (oporp, gaussian) = (
        projection(Family::Oporp, d, 11, one_attribute()),
        projection(Family::Gaussian, d, 5, one_attribute()),
    );
    let bits = signs(Family::Oporp, d, 11, 1);
    for (row, column) in [(0, 36), (63, 0), (64, 7), (2047, 8), (2048, 1), (4321, 20), (4999, 3)] {
        for value in [f64::NAN, f64::NEG_INFINITY, -1.5] {
            let kept = columns[column][row];
            // Neither a later row nor a later column is the first.
            columns[0][n - 1] = f64::NAN;
            columns[d - 1][row] = 7.0;
            columns[column][row] = value;
            let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
            let all = Incoming::columns(n, &slices).unwrap();
            for size in [n, 2100, 1000] {
                let (good, last) = (row / size * size, n.min(row / size * size + size));
                let (good, bad) = (all.slice(0..good), all.slice(good..last));
                let first = if row == n - 1 { 0 } else { column };
                let finite = value.is_finite() && first == column;
                let expected = (row - good.n(), first, finite);
                for m in [&oporp, &gaussian] {
                    let mut rng = noise();
                    let mut open = OpenSketch::new(m, &mut rng);
                    open.push(good).unwrap();
                    assert_eq!(place(&open.push(bad).unwrap_err()), expected, "{size}");
                    assert!(open.push(good).is_err() && open.close().is_err());
                }
                let mut rng = noise();
                let mut open = bits.open(&mut rng);
                open.push(good).unwrap();
                assert_eq!(place(&open.push(bad).unwrap_err()), expected, "{size}, signs");
                assert!(open.push(good).is_err() && open.close().is_err());
            }
            columns[column][row] = kept;
            columns[d - 1][row] = 0.0;
            columns[0][n - 1] = 0.0;
        }
    }
}

#[test]
fn columns_of_another_shape_are_refused_before_a_number_is_read() {
    let (x, short) = ([f64::NAN; 4], [0.0; 3]);
    assert!(matches!(Incoming::columns(4, &[&x, &short]), Err(Error::Length { found: 3, .. })));
    assert!(Incoming::columns(4, &[]).unwrap_err().to_string().starts_with("d = 0"));
    let columns: [&[f64]; 3] = [&x, &x, &x];
    let rows = Incoming::columns(4, &columns).unwrap();
    assert_eq!((rows.n(), rows.d(), rows.slice(1..3).n()), (4, 3, 2));
    assert!(!format!("{rows:?}").contains("NaN"));
    let (m, s) = (projection(Family::Oporp, 6, 2, one_attribute()), signs(Family::Oporp, 6, 2, 1));
    let mut rng = noise();
    let refused = OpenSketch::new(&m, &mut rng).push(rows).unwrap_err();
    assert!(matches!(refused, Error::Shape { expected: 6, found: 3, .. }));
    let refused = s.open(&mut rng).push(rows).unwrap_err();
    assert!(matches!(refused, Error::Shape { expected: 6, found: 3, .. }));
    assert!(matches!(rows.check(), Err(Error::NotFinite { row: 0, column: 0 })));
}
