//! Private Newton: excess risk by rule, the noise of what is published, certificates, thread counts, refusals.

use dp_core::mechanism::Mechanism;
use dp_core::{Adjacency, Budget, NoiseRng, NormBound, Profile};
use faer::{Mat, MatRef};
use linalg_dp::Error;
use linalg_dp::analysis::{Regression, Ridge, regression};
use linalg_dp::covariance::GaussianCovariance;
use linalg_dp::dense::product;
use linalg_dp::newton::{NewtonConfig, PrivateNewton};
use rows::adjacencies;
use support::Draws;

#[path = "support/data.rs"]
mod data;
#[path = "support/rows.rs"]
mod rows;
mod support;

fn made(features: usize, adjacency: Adjacency, epsilon: f64) -> PrivateNewton {
    let config = NewtonConfig { features, adjacency, label_bound: NormBound::new(1.0).unwrap() };
    PrivateNewton::calibrate(config, Budget::new(epsilon, 1e-6).unwrap()).unwrap()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    0.5 * (values[(values.len() - 1) / 2] + values[values.len() / 2])
}

/// Excess risk over that of predicting zero, eigenvalues 1/i, d 50, n 20,000, medians of 256 data sets; and that of
/// [`Regression::of`] at the same budget, of the first 32. Everything is by the rule of the mechanism.
#[test]
fn the_excess_risk_is_that_of_the_page() {
    let (n, d) = (20_000, 50);
    let budgets = [(0.3, 0.025), (1.0, 0.0045), (3.0, 0.0006)];
    let mechanisms = budgets.map(|(epsilon, _)| made(d, adjacencies(1.0)[0], epsilon));
    // Rows with their target have norm root two at most.
    let sums = budgets.map(|(epsilon, _)| {
        let budget = Budget::new(epsilon, 1e-6).unwrap();
        GaussianCovariance::calibrate(d + 1, adjacencies(2f64.sqrt())[0], budget).unwrap()
    });
    let mut found = [const { [const { Vec::new() }; 2] }; 3];
    for set in 0..256 {
        let rows = data::spectrum(n, d, 1.0, &mut Draws::new(900 + set));
        let at = MatRef::from_row_major_slice(&rows, n, d + 1);
        let gram = product(at.transpose(), at);
        let seconds = Mat::from_fn(d, d, |i, j| gram[(i, j)]);
        let best = regression(gram.as_ref(), d, Ridge::Fixed { lambda: 0.0 }).unwrap();
        let risk = |x: &Mat<f64>| {
            product(x.transpose(), product(seconds.as_ref(), x.as_ref()).as_ref())[(0, 0)]
        };
        let null = risk(&best);
        let excess =
            |theta: &[f64]| risk(&Mat::from_fn(d, 1, |i, _| theta[i] - best[(i, 0)])) / null;
        for ((found, mechanism), sums) in found.iter_mut().zip(&mechanisms).zip(&sums) {
            let mut rng = NoiseRng::deterministic_not_private(set);
            let release = mechanism.release(&rows, &mut rng).unwrap();
            found[0].push(excess(release.payload().coefficients()));
            if set < 32 {
                let release = sums.release(&rows, &mut rng).unwrap();
                let line = Regression::of(release.payload(), d).unwrap();
                found[1].push(excess(line.coefficients()));
            }
        }
    }
    let found = found.map(|both| both.map(median));
    println!("excess risk over null at epsilon .3, 1, 3, Newton and sums: {found:?}");
    for ([newton, sums], (epsilon, most)) in found.into_iter().zip(budgets) {
        assert!(newton <= most, "epsilon {epsilon}: {newton} above {most}");
        assert!(newton <= 0.25 * sums, "epsilon {epsilon}: {newton}, sums {sums}");
    }
}

/// On rows that are zero gradients are noise alone, and so is the Gram matrix.
#[test]
fn gradients_carry_the_noise_that_is_stated() {
    let d = 4;
    for adjacency in adjacencies(2.0) {
        let mechanism = made(d, adjacency, 1.0);
        let sigma = mechanism.gradient_sigma().get();
        let (mut squares, mut count, mut clips) = (0.0, 0.0, [0; 2]);
        for draw in 0..1500 {
            let mut rng = NoiseRng::deterministic_not_private(draw);
            let release = mechanism.release(&[0.0; 50], &mut rng).unwrap();
            for step in release.payload().steps() {
                squares +=
                    step.gradient.iter().map(|g| (g / step.clip / sigma).powi(2)).sum::<f64>();
                count += d as f64;
                clips[usize::from(step.clip < 1.0)] += 1;
            }
        }
        // A standard error of .009; a twin with .95 of the noise would miss.
        let found = squares / count;
        assert!((found - 1.0).abs() < 0.045, "{found}");
        assert!(clips[0] >= 1500 && clips[1] > 0, "{clips:?}");
    }
}

#[test]
fn the_certificate_says_what_was_composed() {
    for adjacency in adjacencies(1.0) {
        let mechanism = made(3, adjacency, 1.0);
        let rows: Vec<f64> = (0..400).map(|i| ((i * 37 % 101) as f64 / 50.0 - 1.0) * 0.4).collect();
        let release = mechanism.release(&rows, &mut NoiseRng::from_os().unwrap()).unwrap();
        release.certificate().verify().unwrap();
        let guarantee = release.certificate().guarantee();
        let Some(Profile::GaussianComposition { steps }) = guarantee.profile() else { panic!() };
        let mu = |i: usize| {
            steps[i].times as f64 * (steps[i].sensitivity.get() / steps[i].sigma.get()).powi(2)
        };
        let whole = mu(0) + mu(1) + mu(2);
        for (i, share) in [0.3, 0.65, 0.05].into_iter().enumerate() {
            assert!((mu(i) / whole - share).abs() < 1e-9, "{i}");
        }
        // Nothing is left over: one Gaussian covariance at the same budget has the same mu.
        let budget = Budget::new(1.0, 1e-6).unwrap();
        let alone = GaussianCovariance::calibrate(3, adjacency, budget).unwrap();
        let Some(Profile::SymmetricGaussian { bound, sigma, change }) = alone.guarantee().profile()
        else {
            panic!()
        };
        let one = dp_core::profile::covariance_sensitivity(*bound, *change) / sigma.get();
        assert!((whole.sqrt() / one - 1.0).abs() < 1e-9, "{whole} {one}");
        assert_eq!(release.payload().steps().len(), 4);
        assert_eq!(release.payload().gram().dim(), 3);
    }
}

#[test]
fn threads_and_blocks_change_nothing() {
    let rows = data::spectrum(3000, 6, 1.0, &mut Draws::new(3));
    let mechanism = made(6, adjacencies(1.0)[0], 1.0);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut rng = NoiseRng::deterministic_not_private(5);
            let release = Mechanism::release(&mechanism, &rows, &mut rng).unwrap();
            release.payload().coefficients().to_vec()
        })
    };
    assert_eq!(run(1), run(8));
}

#[test]
fn refusals() {
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let label_bound = NormBound::new(1.0).unwrap();
    let config = |features, adjacency| NewtonConfig { features, adjacency, label_bound };
    let [add, ..] = adjacencies(1.0);
    assert!(PrivateNewton::calibrate(config(0, add), budget).is_err());
    assert!(PrivateNewton::calibrate(config(2, Adjacency::AnyInput), budget).is_err());
    assert!(PrivateNewton::calibrate(config(2, add), Budget::new(1.0, 0.0).unwrap()).is_err());
    let mechanism = made(2, add, 1.0);
    let mut rng = NoiseRng::deterministic_not_private(1);
    let short = mechanism.release(&[0.5; 5], &mut rng);
    assert!(matches!(short, Err(Error::Shape { .. })));
    for bad in [[0.1, f64::NAN, 0.3], [0.1, 0.2, f64::INFINITY]] {
        assert!(matches!(mechanism.release(&bad, &mut rng), Err(Error::NotFinite { .. })));
    }
    // Absurd budgets and bounds either work or are refused by name.
    for epsilon in [1e-9, 1e-3, 50.0, 1e4] {
        for b in [1e-100, 1e-9, 1e9, 1e100] {
            for adjacency in adjacencies(b) {
                let Ok(budget) = Budget::new(epsilon, 1e-6) else { continue };
                if let Ok(mechanism) = PrivateNewton::calibrate(config(2, adjacency), budget) {
                    let release =
                        mechanism.release(&[b, 0.0, 1e300, 0.0, -b, -1e300], &mut rng).unwrap();
                    assert!(
                        release.payload().coefficients().iter().all(|t| t.is_finite()),
                        "{epsilon} {b}"
                    );
                    release.certificate().verify_consistency().unwrap();
                }
            }
        }
    }
}
