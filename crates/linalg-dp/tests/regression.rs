//! Regression from a release: excess risk against the ridge before, and coverage of every interval.

use crate::data;
use crate::support::Draws;
use dp_core::{Adjacency, Budget, NoiseRng, NormBound, Probability};
use faer::{Mat, MatRef};
use linalg_dp::analysis::{Regression, Ridge, regression};
use linalg_dp::covariance::{
    CovarianceMechanism, GaussianCovariance, JlCovariance, WishartCovariance, WishartShape,
};
use linalg_dp::dense::{product, symmetric_eigen};

/// Rows `[x | y]` and the bound on their norm.
struct Data {
    rows: Vec<f64>,
    columns: usize,
    bound: f64,
}

/// `x` Gaussian with falling scales down to `cond^-1/2`, `y = x beta + .3 e`; divided by the 95 % quantile of the
/// norms, clipped to norm 1.
fn conditioned(n: usize, p: usize, cond: f64, draws: &mut Draws) -> Data {
    let scale: Vec<f64> = (0..p).map(|j| cond.powf(-0.5 * j as f64 / (p - 1) as f64)).collect();
    let raw: Vec<f64> = scale.iter().map(|s| draws.normal() / s).collect();
    let size = raw.iter().zip(&scale).map(|(b, s)| (b * s).powi(2)).sum::<f64>().sqrt();
    let mut rows = Vec::with_capacity(n * (p + 1));
    for _ in 0..n {
        let x: Vec<f64> = scale.iter().map(|s| s * draws.normal()).collect();
        let y: f64 = x.iter().zip(&raw).map(|(x, b)| x * b / size).sum();
        rows.extend(x);
        rows.push(y + 0.3 * draws.normal());
    }
    let norm = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut norms: Vec<f64> = rows.chunks(p + 1).map(norm).collect();
    norms.sort_by(f64::total_cmp);
    let quantile = norms[n * 95 / 100];
    for row in rows.chunks_mut(p + 1) {
        let factor = 1.0 / norm(row).max(quantile);
        row.iter_mut().for_each(|x| *x *= factor);
    }
    Data { rows, columns: p + 1, bound: 1.0 }
}

/// [`data::spectrum`], whose rows have norm root two at most.
fn spectrum(n: usize, p: usize, power: f64, draws: &mut Draws) -> Data {
    Data { rows: data::spectrum(n, p, power, draws), columns: p + 1, bound: 2f64.sqrt() }
}

impl Data {
    fn mechanism(&self, epsilon: f64) -> GaussianCovariance {
        let adjacency = Adjacency::AddRemoveRow { bound: NormBound::new(self.bound).unwrap() };
        let budget = Budget::new(epsilon, 1e-6).unwrap();
        GaussianCovariance::calibrate(self.columns, adjacency, budget).unwrap()
    }

    fn gram(&self) -> Mat<f64> {
        let a =
            MatRef::from_row_major_slice(&self.rows, self.rows.len() / self.columns, self.columns);
        product(a.transpose(), a)
    }
}

/// `(x - best)^T G (x - best)`.
fn excess(gram: &Mat<f64>, best: &Mat<f64>, found: &[f64]) -> f64 {
    let p = found.len();
    let gap: Vec<f64> = (0..p).map(|i| found[i] - best[(i, 0)]).collect();
    (0..p).map(|i| (0..p).map(|j| gap[i] * gram[(i, j)] * gap[j]).sum::<f64>()).sum()
}

#[test]
fn the_risk_is_at_most_half_of_what_it_was() {
    let mut ratios = Vec::new();
    let mut ask = |name: &str, data: &Data, epsilon: f64| {
        let draws = if data.rows.len() > 4_000_000 { 3 } else { 8 };
        let (gram, p) = (data.gram(), data.columns - 1);
        let best = regression(gram.as_ref(), p, Ridge::Fixed { lambda: 0.0 }).unwrap();
        let mechanism = data.mechanism(epsilon);
        let mut rng = NoiseRng::deterministic_not_private(5);
        let (mut before, mut now) = (0.0, 0.0);
        for _ in 0..draws {
            let release = mechanism.release(&data.rows, &mut rng).unwrap();
            let c = release.payload();
            let sd = mechanism.sigma().get();
            let old = regression(c.raw(), p, Ridge::NoiseLevel { sd }).unwrap();
            let old: Vec<f64> = (0..p).map(|i| old[(i, 0)]).collect();
            before += excess(&gram, &best, &old);
            let found = Regression::of(c, p).unwrap();
            now += excess(&gram, &best, found.coefficients());
        }
        println!("{name}, epsilon {epsilon}: {:.3}", now / before);
        ratios.push(now / before);
    };
    let mut draws = Draws::new(31);
    for (n, p, epsilon, cond) in [
        (10_000, 20, 1.0, 1.0),
        (10_000, 20, 0.3, 1.0),
        (10_000, 50, 1.0, 1.0),
        (10_000, 20, 1.0, 10.0),
        (100_000, 20, 1.0, 10.0),
        (2_000, 20, 1.0, 1.0),
    ] {
        let data = conditioned(n, p, cond, &mut draws);
        ask(&format!("n {n}, p {p}, condition {cond}"), &data, epsilon);
    }
    for power in [0.0, 1.0] {
        for (n, p) in [(5_000, 20), (20_000, 50), (100_000, 50)] {
            let data = spectrum(n, p, power, &mut draws);
            for epsilon in [0.3, 1.0, 3.0] {
                ask(&format!("n {n}, p {p}, eigenvalues i^-{power}"), &data, epsilon);
            }
        }
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    println!("mean {mean}");
    assert!(ratios.len() == 24 && mean <= 0.5, "{mean}");
    assert!(ratios.iter().all(|r| *r <= 1.1), "{ratios:?}");
}

/// The ridge solution on exact sums, in the directions of the ridge.
fn estimand(gram: &Mat<f64>, found: &Regression) -> Vec<f64> {
    let p = found.coefficients().len();
    let eigen = symmetric_eigen(found.ridge()).unwrap();
    let s = eigen.vectors.subcols(0, found.directions());
    let whole = Mat::from_fn(p, p, |i, j| gram[(i, j)] + found.ridge()[(i, j)]);
    let inner = product(s.transpose(), product(whole.as_ref(), s).as_ref());
    let cross = product(s.transpose(), gram.get(..p, p..));
    let k = found.directions();
    let system = Mat::from_fn(k + 1, k + 1, |i, j| match (i < k, j < k) {
        (true, true) => inner[(i, j)],
        (true, false) => cross[(i, 0)],
        (false, true) => cross[(j, 0)],
        (false, false) => 0.0,
    });
    let y = regression(system.as_ref(), k, Ridge::Fixed { lambda: 0.0 }).unwrap();
    (0..p).map(|i| (0..k).map(|j| s[(i, j)] * y[(j, 0)]).sum()).collect()
}

#[test]
fn every_interval_covers_what_it_is_for() {
    let mut draws = Draws::new(32);
    let cases = [
        (conditioned(10_000, 20, 10.0, &mut draws), 1.0),
        (spectrum(5_000, 20, 1.0, &mut draws), 0.3),
        (spectrum(5_000, 20, 1.0, &mut draws), 3.0),
        (spectrum(20_000, 50, 0.0, &mut draws), 3.0),
        (spectrum(20_000, 50, 1.0, &mut draws), 0.3),
    ];
    for (at, (data, epsilon)) in cases.iter().enumerate() {
        let (gram, p) = (data.gram(), data.columns - 1);
        let mechanism = data.mechanism(*epsilon);
        let mut rng = NoiseRng::deterministic_not_private(6);
        let releases = 300;
        let (mut hits, mut short) = (vec![0u32; p], 0);
        for _ in 0..releases {
            let release = mechanism.release(&data.rows, &mut rng).unwrap();
            let found = Regression::of(release.payload(), p).unwrap();
            let exact = estimand(&gram, &found);
            let ranges = found.ranges(Probability::new(0.05).unwrap()).unwrap();
            for (((low, high), x), hit) in ranges.iter().zip(&exact).zip(&mut hits) {
                *hit += u32::from(low <= x && x <= high);
                // Power: intervals of .4 of the width must be seen to fail.
                short += u32::from((x - 0.5 * (low + high)).abs() <= 0.2 * (high - low));
            }
        }
        let share = |hits: u32| f64::from(hits) / f64::from(releases);
        let least = hits.iter().map(|h| share(*h)).fold(1.0, f64::min);
        let mean = hits.iter().map(|h| share(*h)).sum::<f64>() / p as f64;
        let short = share(short) / p as f64;
        println!("case {at}: mean {mean:.3}, least {least:.3}, short {short:.3}");
        assert!(least >= 0.93 && short < 0.93, "case {at}: {least} {short}");
    }
}

#[test]
fn few_rows_no_rows_and_wrong_columns() {
    let adjacency = Adjacency::AddRemoveRow { bound: NormBound::new(1.0).unwrap() };
    let budget = Budget::new(1.0, 1e-6).unwrap();
    for d in [2, 3, 30] {
        let made = GaussianCovariance::calibrate(d, adjacency, budget).unwrap();
        for data in [vec![], vec![0.0; 4 * d], vec![0.1; d], vec![0.1; 5000 * d]] {
            let mut rng = NoiseRng::deterministic_not_private(1);
            let release = made.release(&data, &mut rng).unwrap();
            for target in [0, d - 1] {
                let found = Regression::of(release.payload(), target).unwrap();
                assert_eq!(found.coefficients().len(), d - 1);
                assert!(found.coefficients().iter().all(|x| x.is_finite()));
                let ranges = found.ranges(Probability::new(0.05).unwrap()).unwrap();
                assert!(ranges.iter().all(|(low, high)| low <= high && high.is_finite()));
            }
            assert!(Regression::of(release.payload(), d).is_err());
        }
    }
    let mut rng = NoiseRng::deterministic_not_private(1);
    let one = GaussianCovariance::calibrate(1, adjacency, budget).unwrap();
    assert!(Regression::of(one.release(&[], &mut rng).unwrap().payload(), 0).is_err());
    let shape = WishartShape::LeastSpectralNorm;
    let others: [Box<dyn CovarianceMechanism>; 2] = [
        Box::new(WishartCovariance::calibrate(3, adjacency, budget, shape).unwrap()),
        Box::new(JlCovariance::calibrate(3, 9, adjacency, budget).unwrap()),
    ];
    for m in others {
        let release = m.release(&[], &mut rng).unwrap();
        let refused = Regression::of(release.payload(), 0).unwrap_err().to_string();
        assert!(refused.contains("symmetric Gaussian"), "{refused}");
    }
}
