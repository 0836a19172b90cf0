//! The private projection: bits, bounds, estimates.

use dp_core::{Adjacency, Bound, Budget, NoiseRng, PublicSeed};
use sketch::private::{Pairs, PrivateProjection};
use sketch::projection::{Family, ProjectionSpec};
use sketch::rows::RowsView;
use sketch::search::{Score, top_k};

fn bound(x: f64) -> Bound {
    Bound::new(x).unwrap()
}

fn mechanism(family: Family, d: usize, k: usize, epsilon: f64) -> PrivateProjection {
    let p = ProjectionSpec::new(family, d, k, PublicSeed::new(3)).unwrap().build();
    let adjacency = Adjacency::Attribute { beta: bound(1.0) };
    let budget = Budget::new(epsilon, 1e-6).unwrap();
    PrivateProjection::gaussian(p, adjacency, bound(1.0), budget).unwrap()
}

fn data(n: usize, d: usize) -> Vec<f64> {
    (0..n * d).map(|i| ((i * 2_654_435_761) % 1009) as f64 / 504.5 - 1.0).collect()
}

#[test]
fn threads_do_not_change_a_bit() {
    let (n, d, k) = (5000, 60, 24);
    let x = data(n, d);
    for family in [Family::Gaussian, Family::Rademacher, Family::Oporp] {
        let m = mechanism(family, d, k, 1.0);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut rng = NoiseRng::deterministic_not_private(9);
                m.release(RowsView::f64(n, d, &x).unwrap(), &mut rng).unwrap()
            })
        };
        let one = run(1);
        assert_eq!(one, run(2), "{family:?}");
        assert_eq!(one, run(8), "{family:?}");
    }
}

#[test]
fn values_outside_the_bound_are_refused_without_being_named() {
    let m = mechanism(Family::Oporp, 4, 2, 1.0);
    let mut rng = NoiseRng::deterministic_not_private(1);
    let x = [0.0, 0.5, 0.25, 0.125, 0.0, 0.0, 1.5, 0.0];
    let error = m.release(RowsView::f64(2, 4, &x).unwrap(), &mut rng).unwrap_err().to_string();
    assert!(error.contains("row 1, column 2") && !error.contains("1.5"), "{error}");
}

#[test]
fn near_rows_are_found_and_estimated() {
    let (n, d, k) = (60, 2000, 256);
    let mut x = data(n, d);
    let (head, tail) = x.split_at_mut(d);
    tail[..d].iter_mut().zip(&*head).for_each(|(t, h)| *t = 0.98 * h);
    let m = mechanism(Family::Oporp, d, k, 8.0);
    let mut rng = NoiseRng::deterministic_not_private(2);
    let release = m.release(RowsView::f64(n, d, &x).unwrap(), &mut rng).unwrap();
    let hits = top_k(&release, &release, 0, 2, Score::Cosine).unwrap();
    assert_eq!([hits[0].row, hits[1].row], [0, 1]);
    let pairs = Pairs::within(&release);
    let exact: f64 = (0..d).map(|i| (x[i] - x[3 * d + i]).powi(2)).sum();
    let got = pairs.squared_distance(0, 3).unwrap();
    assert!((got.value - exact).abs() < 5.0 * got.standard_error, "{got:?} {exact}");
    let cosine = pairs.cosine(0, 1).unwrap();
    assert!((cosine.value - 1.0).abs() < 5.0 * cosine.standard_error + 1e-3, "{cosine:?}");
    release.certificate().verify_consistency().unwrap();
}
