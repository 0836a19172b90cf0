//! What plans predict is what releases err by.

use dp_core::{Adjacency, Budget, FreshSeed, NoiseRng, NormBound, Shift};
use linalg_dp::analysis::{Regression, Ridge, pca, regression};
use linalg_dp::covariance::{CovarianceMechanism, GaussianCovariance};
use linalg_dp::low_rank::{InputPerturbation, Pfp, PfpOptions, Setting};
use linalg_dp::newton::{NewtonConfig, PrivateNewton};
use linalg_dp::plan::{
    CovarianceMethod, CovarianceTask, LowRankMethod, LowRankTask, RegressionMethod, RegressionTask,
    plan_covariance, plan_direction, plan_low_rank, plan_regression, plan_window,
};
use linalg_dp::window::{StreamConfig, WindowMechanism};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use sketch::RowsView;

fn normal(rng: &mut impl Rng) -> f64 {
    let mut uniform = || (rng.next_u64() >> 11) as f64 * 2f64.powi(-53);
    (-2.0 * (1.0 - uniform()).ln()).sqrt() * (core::f64::consts::TAU * uniform()).cos()
}

/// Rows of norm at most one whose columns have these scales.
fn rows(n: usize, scales: &[f64], seed: u64) -> Vec<f64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let one = |_| {
        let row: Vec<f64> = scales.iter().map(|s| s * normal(&mut rng)).collect();
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt().max(1.0);
        row.into_iter().map(move |x| x / norm)
    };
    (0..n).flat_map(one).collect()
}

fn second_moments(rows: &[f64], d: usize) -> Vec<f64> {
    let mut sums = vec![0.0; d * d];
    for row in rows.chunks_exact(d) {
        sums.iter_mut().enumerate().for_each(|(e, s)| *s += row[e / d] * row[e % d]);
    }
    sums
}

/// The first eigenvector, by powers.
fn strongest(matrix: &[f64], d: usize) -> Vec<f64> {
    let mut v = vec![1.0; d];
    for _ in 0..200 {
        let image: Vec<f64> = matrix
            .chunks_exact(d)
            .map(|row| row.iter().zip(&v).map(|(a, b)| a * b).sum())
            .collect();
        let norm = image.iter().map(|x| x * x).sum::<f64>().sqrt();
        v = image.into_iter().map(|x| x / norm).collect();
    }
    v
}

const DRAWS: usize = 120;

/// Of 120 draws 108 are expected within a range of nine in ten. All noise is known: these are the same draws always.
fn covered(name: &str, errors: &[f64], low: f64, high: f64) {
    let inside = errors.iter().filter(|e| (low..=high).contains(*e)).count();
    println!("{name}: {inside} of {} in [{low:.4}, {high:.4}]", errors.len());
    assert!(inside * 100 >= errors.len() * 85, "{name}: {inside}");
}

#[test]
fn covariances_err_as_planned() {
    for (d, spread, epsilon) in [(1, 1.0, 1.0), (4, 0.5, 0.3), (12, 1.0, 2.0), (20, 0.2, 8.0)] {
        let scales: Vec<f64> = (0..d).map(|j| 0.3 * f64::powi(spread, j)).collect();
        let data = rows(500, &scales, d as u64);
        let exact = second_moments(&data, d as usize);
        let (dim, budget) = (d as usize, Budget::new(epsilon, 1e-6).unwrap());
        let adjacency = Adjacency::AddRemoveRow { bound: NormBound::new(1.0).unwrap() };
        let task = CovarianceTask { dim, adjacency, budget };
        let plans = plan_covariance(&task).unwrap();
        assert!(plans.windows(2).all(|w| w[0].error <= w[1].error));
        let mut rng = NoiseRng::deterministic_not_private(d as u64);
        for plan in &plans {
            let mechanism: Box<dyn CovarianceMechanism> = match plan.method {
                CovarianceMethod::Gaussian => {
                    Box::new(GaussianCovariance::calibrate(dim, adjacency, budget).unwrap())
                }
                CovarianceMethod::Moments => {
                    Box::new(GaussianCovariance::calibrate_moments(dim, adjacency, budget).unwrap())
                }
                _ => unreachable!(),
            };
            let error = |_| {
                let release = mechanism.release(&data, &mut rng).unwrap();
                let found = release.payload().unbiased();
                let square = |e: usize| (found[(e / dim, e % dim)] - exact[e]).powi(2);
                (0..dim * dim).map(square).sum::<f64>().sqrt()
            };
            let errors: Vec<f64> = (0..DRAWS).map(error).collect();
            covered(&format!("d {d}, {:?}", plan.method), &errors, plan.low, plan.high);
        }
    }
}

#[test]
fn the_strongest_direction_turns_as_planned() {
    for (d, n, epsilon) in [(2, 2000, 1.0), (10, 3000, 1.0), (40, 4000, 1.0), (40, 20_000, 0.5)] {
        let scales: Vec<f64> = (0..d).map(|j| if j == 0 { 0.4 } else { 0.05 }).collect();
        let data = rows(n, &scales, 7);
        let exact = second_moments(&data, d);
        let truth = strongest(&exact, d);
        let (dim, budget) = (d, Budget::new(epsilon, 1e-6).unwrap());
        let adjacency = Adjacency::ReplaceRow { bound: NormBound::new(1.0).unwrap() };
        let task = CovarianceTask { dim, adjacency, budget };
        let plan = plan_direction(&task, &vec![exact[0] - exact[d + 1]; d - 1]).unwrap();
        let mechanism = GaussianCovariance::calibrate(dim, adjacency, budget).unwrap();
        let mut rng = NoiseRng::deterministic_not_private(d as u64);
        let error = |_| {
            let release = mechanism.release(&data, &mut rng).unwrap();
            let found = pca(&release, 1).unwrap();
            let found = found.payload().directions();
            1.0 - (0..d).map(|j| found[(j, 0)] * truth[j]).sum::<f64>().powi(2)
        };
        let errors: Vec<f64> = (0..DRAWS).map(error).collect();
        covered(&format!("d {d}, n {n}"), &errors, plan.low, plan.high);
        assert!(plan.high <= 1.0);
    }
    // A gap in which nothing is seen.
    let bound = NormBound::new(1.0).unwrap();
    let task = CovarianceTask {
        dim: 100,
        adjacency: Adjacency::ReplaceRow { bound },
        budget: Budget::new(1.0, 1e-6).unwrap(),
    };
    assert_eq!(plan_direction(&task, &[1.0; 99]).unwrap().error, 1.0);
    for bad in [[0.0; 99], [f64::NAN; 99]] {
        assert!(plan_direction(&task, &bad).is_err());
    }
    assert!(plan_direction(&task, &[1.0; 98]).is_err());
    let one = CovarianceTask { dim: 1, ..task };
    assert_eq!(plan_direction(&one, &[]).unwrap().high, 0.0);
}

#[test]
fn low_rank_approximations_err_as_planned() {
    for (m, n, strength, epsilon, first) in [
        (100, 4000, 10.0, 1.0, "find"),
        (60, 60, 1000.0, 8.0, "input"),
        (100, 4000, 0.01, 0.5, "nothing"),
    ] {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let rank = 3;
        let left: Vec<f64> = (0..m * rank).map(|_| strength * normal(&mut rng)).collect();
        let right: Vec<f64> = (0..n * rank).map(|_| normal(&mut rng)).collect();
        let entry = |e: usize| -> f64 {
            (0..rank).map(|l| left[e / n * rank + l] * right[e % n * rank + l]).sum()
        };
        let data: Vec<f64> = (0..m * n).map(entry).collect();
        let norm = data.iter().map(|x| x * x).sum::<f64>().sqrt();
        let (shift, row_bound) = (Shift::new(1.0).unwrap(), NormBound::new(1e6).unwrap());
        let budget = Budget::new(epsilon, 1e-6).unwrap();
        let task = LowRankTask { shape: (m, n), rank, shift, row_bound, norm, budget };
        let plans = plan_low_rank(&task).unwrap();
        let a = RowsView::f64(m, n, &data).unwrap();
        let setting = Setting::recommended((m, n), rank, shift, row_bound).unwrap();
        let mut rng = NoiseRng::deterministic_not_private(4);
        for plan in &plans {
            let mut error = |i| match plan.method {
                LowRankMethod::FindAndProject { columns } => {
                    assert_eq!(columns, setting.k());
                    let pfp = Pfp::calibrate(setting, budget, PfpOptions::default()).unwrap();
                    let seed = FreshSeed::reproducible_not_private(i);
                    let release = pfp.release(&a, seed, &mut rng).unwrap();
                    release.payload().shrunk().unwrap().distance(&a).unwrap()
                }
                LowRankMethod::InputPerturbation => {
                    let input = InputPerturbation::calibrate(setting, budget).unwrap();
                    input.release(&a, &mut rng).unwrap().payload().distance(&a).unwrap()
                }
                _ => norm,
            };
            let errors: Vec<f64> = (0..20).map(&mut error).collect();
            let (low, high) = (plan.low * (1.0 - 1e-12), plan.high * (1.0 + 1e-12));
            covered(&format!("{m} x {n}, {:?}", plan.method), &errors, low, high);
        }
        let best = match plans[0].method {
            LowRankMethod::FindAndProject { .. } => "find",
            LowRankMethod::InputPerturbation => "input",
            _ => "nothing",
        };
        assert_eq!(best, first);
    }
}

/// Orthogonal features of equal strength, y = sum .1 x_j and a rest.
#[test]
fn regressions_err_as_planned() {
    let (d, n) = (20, 4000);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
    let (feature, rest) = (0.15, 0.05);
    let one = |_| {
        let x: Vec<f64> = (0..d).map(|_| feature * normal(&mut rng)).collect();
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt().max(1.0);
        let x: Vec<f64> = x.iter().map(|x| x / norm).collect();
        let y = 0.1 * x.iter().sum::<f64>() + rest * normal(&mut rng);
        x.into_iter().chain([y])
    };
    let data: Vec<f64> = (0..n).flat_map(one).collect();
    let exact = second_moments(&data, d + 1);
    let exact = faer::Mat::from_fn(d + 1, d + 1, |i, j| exact[i * (d + 1) + j]);
    let best = regression(exact.as_ref(), d, Ridge::Fixed { lambda: 0.0 }).unwrap();
    let one = NormBound::new(1.0).unwrap();
    let adjacency = Adjacency::AddRemoveRow { bound: one };
    let budget = Budget::new(2.0, 1e-6).unwrap();
    let label_bound = NormBound::new(0.5).unwrap();
    let spectrum = vec![feature * feature; d];
    let explained = 0.1 * feature * (d as f64).sqrt();
    let task = RegressionTask {
        rows: n as u64,
        adjacency,
        label_bound,
        spectrum: &spectrum,
        explained,
        residual: rest,
        budget,
    };
    let plans = plan_regression(&task).unwrap();
    assert_eq!(plans[0].method, RegressionMethod::Newton);
    let config = NewtonConfig { features: d, adjacency, label_bound, intercept: false };
    let newton = PrivateNewton::calibrate(config, budget).unwrap();
    let both = NormBound::new(1f64.hypot(0.5)).unwrap();
    let longer = Adjacency::AddRemoveRow { bound: both };
    let sums = GaussianCovariance::calibrate(d + 1, longer, budget).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(12);
    for plan in &plans[..2] {
        let error = |_| {
            let found = match plan.method {
                RegressionMethod::Newton => {
                    newton.release(&data, &mut rng).unwrap().payload().coefficients().to_vec()
                }
                _ => {
                    let release = sums.release(&data, &mut rng).unwrap();
                    Regression::of(release.payload(), d).unwrap().coefficients().to_vec()
                }
            };
            let off: Vec<f64> = (0..d).map(|i| found[i] - best[(i, 0)]).collect();
            let along = |i: usize| (0..d).map(|j| exact[(i, j)] * off[j]).sum::<f64>();
            ((0..d).map(|i| off[i] * along(i)).sum::<f64>() / n as f64).sqrt()
        };
        let errors: Vec<f64> = (0..60).map(error).collect();
        covered(&format!("{:?}", plan.method), &errors, plan.low, plan.high);
        // Half or twice of it is noticed.
        let inside = |by: f64| {
            errors.iter().filter(|e| (by * plan.low..=by * plan.high).contains(*e)).count()
        };
        assert!(inside(0.5) < 30 && inside(2.0) < 30, "{} {}", inside(0.5), inside(2.0));
    }
    for bad in [
        RegressionTask { rows: 0, ..task },
        RegressionTask { spectrum: &[], ..task },
        RegressionTask { spectrum: &[1.0; 257], ..task },
        RegressionTask { spectrum: &[0.1, 0.0], ..task },
        RegressionTask { explained: f64::NAN, ..task },
        RegressionTask { residual: 0.0, ..task },
    ] {
        assert!(plan_regression(&bad).is_err(), "{bad:?}");
    }
    // The smallest and the largest that are taken.
    for spectrum in [vec![0.1], vec![1e-300; 2], vec![1e-3; 256]] {
        let plans = plan_regression(&RegressionTask { spectrum: &spectrum, ..task }).unwrap();
        assert!(plans.iter().all(|p| p.low <= p.error && p.error <= p.high), "{plans:?}");
    }
}

#[test]
fn windows_err_as_planned() {
    let d = 5;
    let bound = NormBound::new(1.0).unwrap();
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let config = StreamConfig::new(d, 64, Adjacency::ZeroRow { bound }, budget);
    let config = StreamConfig { block: 4, ..config };
    let plans = plan_window(&config, Some(40)).unwrap();
    assert_eq!(plans.len(), 3);
    let data = rows(4 * 40, &vec![0.3; d], 5);
    let mut rng = NoiseRng::deterministic_not_private(9);
    for plan in &plans {
        let config = StreamConfig { schedule: plan.method, ..config };
        let mechanism = WindowMechanism::calibrate(config).unwrap();
        let mut errors = Vec::new();
        for _ in 0..6 {
            let mut stream = mechanism.stream(&mut rng);
            for (tick, block) in data.chunks_exact(4 * d).enumerate() {
                stream.push(block).unwrap();
                if tick < 16 {
                    continue;
                }
                let exact = second_moments(&data[(tick + 1 - 16) * 4 * d..(tick + 1) * 4 * d], d);
                let found = stream.release().unwrap().payload().covariance().unbiased();
                let square = |e: usize| (found[(e / d, e % d)] - exact[e]).powi(2);
                errors.push((0..d * d).map(square).sum::<f64>().sqrt());
            }
        }
        covered(&format!("{:?}", plan.method), &errors, plan.low, plan.high);
    }
}
