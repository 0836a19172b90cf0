//! Views of rows: norms at the ends of double precision, shapes, what `Debug` shows.

use dp_core::{Adjacency, Budget, NoiseRng, NormBound, PublicSeed};
use sketch::Error;
use sketch::projection::{Family, ProjectionSpec};
use sketch::rows::{CsrView, RowsView};
use sketch::vectors::PrivateProjection;

fn bound<B: TryFrom<f64, Error = dp_core::Error>>(x: f64) -> B {
    B::try_from(x).unwrap()
}

#[test]
fn norms_are_checked_where_squares_underflow_or_overflow() {
    // (entries, norm): squares below and above the range, subnormal entries, a mixture of all.
    for (row, norm) in [
        (vec![1e-163], 1e-163),
        (vec![3e-200, 4e-200], 5e-200),
        (vec![3e200, -4e200], 5e200),
        (vec![1e-320, 1e-320], 1.414e-320),
        (vec![5e-324], 5e-324),
        (vec![3e-100, 1e-300, 4e-100], 5e-100),
        (vec![f64::MAX], f64::MAX),
        (vec![0.6, 0.8], 1.0),
    ] {
        let d = row.len();
        let columns: Vec<u32> = (0..d as u32).collect();
        let csr = CsrView { offsets: &[0, d], columns: &columns, values: &row };
        for view in [RowsView::f64(1, d, &row).unwrap(), RowsView::csr(1, d, csr).unwrap()] {
            for (factor, inside) in [(0.5, false), (0.99, false), (1.01, true), (2.0, true)] {
                let limit = norm * factor;
                // Subnormal limits are coarse, and there is none beyond the largest number.
                if limit.is_finite() && (limit > 1e-300 || factor == 0.5 || factor == 2.0) {
                    let Ok(limit) = NormBound::new(limit) else { continue };
                    assert_eq!(view.check_norms(limit).is_ok(), inside, "{row:?} {factor}");
                }
            }
        }
    }
    let zeros = [0.0; 4];
    assert!(RowsView::f64(2, 2, &zeros).unwrap().check_norms(bound(1e-308)).is_ok());
}

#[test]
fn a_row_far_above_a_tiny_norm_bound_is_refused() {
    // Ten million times the bound; its square is zero in double precision.
    let p = ProjectionSpec::new(Family::Identity, 1, 1, PublicSeed::new(1)).unwrap().build();
    let (tiny, budget) = (bound::<NormBound>(1e-170), Budget::new(1.0, 1e-6).unwrap());
    let adjacency = Adjacency::ReplaceRow { bound: tiny };
    let m = PrivateProjection::gaussian(p, adjacency, bound(1e-163), budget).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(1);
    let error = m.release(RowsView::f64(1, 1, &[1e-163]).unwrap(), &mut rng).unwrap_err();
    assert!(matches!(error, Error::NormOutOfRange { row: 0, .. }), "{error}");
    m.release(RowsView::f64(1, 1, &[1e-170]).unwrap(), &mut rng).unwrap();
}

#[test]
fn norms_of_millions_of_small_entries_are_not_lost() {
    // After the first entry every square is below half an ulp of the sum: a plain running sum stays
    // at one, while the norm is 1 + 1.8e-9, beyond what the sensitivity allows for.
    let d = 1 << 25;
    let mut row = vec![1.05e-8f32; d];
    row[0] = 1.0;
    let exact = (1.0 + (d - 1) as f64 * f64::from(row[1]).powi(2)).sqrt();
    assert!(f64::from(row[1]).powi(2) < 0.5 * f64::EPSILON && exact > 1.0 + 1.8e-9);
    let view = RowsView::f32(1, d, &row).unwrap();
    assert!(view.check_norms(bound(exact / (1.0 + 1.2e-9))).is_err());
    assert!(view.check_norms(bound(exact)).is_ok());
}

#[test]
fn impossible_shapes_are_refused() {
    let csr = CsrView { offsets: &[], columns: &[], values: &[] };
    let error = RowsView::csr(usize::MAX, 3, csr).unwrap_err().to_string();
    assert!(
        error.starts_with("n ") || error.contains("invalid n") || error.contains("n ="),
        "{error}"
    );
    assert!(RowsView::csr(0, 3, csr).is_err());
    assert!(RowsView::f64(usize::MAX, 2, &[]).is_err());
    assert!(RowsView::bits(usize::MAX, 65, &[]).is_err());
}

#[test]
fn exchanged_shapes_are_refused_by_the_mechanism() {
    let p = ProjectionSpec::new(Family::Oporp, 4, 2, PublicSeed::new(1)).unwrap().build();
    let adjacency = Adjacency::RowShift { l2: bound(1.0) };
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let m = PrivateProjection::gaussian(p, adjacency, bound(1.0), budget).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(1);
    for (n, d) in [(4, 3), (1, 12), (12, 1)] {
        let error = m.release(RowsView::f64(n, d, &[0.5; 12]).unwrap(), &mut rng).unwrap_err();
        assert!(matches!(error, Error::Shape { expected: 4, .. }), "{error}");
    }
}

#[test]
fn debug_shows_no_private_number() {
    let secret = [123.5, -77.25];
    let csr = CsrView { offsets: &[0, 1, 2], columns: &[1, 41], values: &secret };
    let views = [
        RowsView::f64(1, 2, &secret).unwrap(),
        RowsView::f32(1, 2, &[123.5, -77.25]).unwrap(),
        RowsView::u8(1, 2, &[123, 77]).unwrap(),
        RowsView::bits(1, 9, &[123]).unwrap(),
        RowsView::csr(2, 42, csr).unwrap(),
    ];
    for view in views {
        let shown = format!("{view:?} {view:#?} {:?} {csr:?}", view.storage());
        assert!(shown.contains("RowsView"), "{shown}");
        assert!(
            !shown.contains("123") && !shown.contains("77") && !shown.contains("41"),
            "{shown}"
        );
    }
}
