//! Private Newton: excess risk by rule, intervals, intercepts, files, the noise of what is published, certificates, thread counts, refusals.

use crate::data;
use crate::rows::adjacencies;
use crate::support::Draws;
use dp_core::certificate::Statement;
use dp_core::mechanism::Mechanism;
use dp_core::release_file::{decode, encode};
use dp_core::{
    Adjacency, Budget, Certificate, Guarantee, L2Sensitivity, NoiseRng, NormBound, Probability,
    Profile, PublicValue, Release, Theorem, authority,
};
use faer::{Mat, MatRef};
use linalg_dp::Error;
use linalg_dp::analysis::{Regression, Ridge, regression};
use linalg_dp::covariance::{CovarianceNoise, GaussianCovariance, column_names};
use linalg_dp::dense::{product, symmetric_eigen};
use linalg_dp::newton::{NewtonConfig, NewtonRegression, PrivateNewton};
use linalg_dp::verify::{Finding, verify, verify_consistency};

fn made(features: usize, adjacency: Adjacency, epsilon: f64) -> PrivateNewton {
    made_with(features, adjacency, epsilon, false)
}

fn made_with(
    features: usize,
    adjacency: Adjacency,
    epsilon: f64,
    intercept: bool,
) -> PrivateNewton {
    let label_bound = NormBound::new(1.0).unwrap();
    let config = NewtonConfig { features, adjacency, label_bound, intercept };
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
                squares += step.gradient.iter().map(|g| (g / sigma).powi(2)).sum::<f64>();
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
    let config =
        |features, adjacency| NewtonConfig { features, adjacency, label_bound, intercept: true };
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

/// The coefficients that the steps of a release come to without noise in their gradients, from the rows: written from
/// the page, not from the code.
fn without_noise(
    release: &Release<NewtonRegression>,
    rows: &[f64],
    d: usize,
    sigma: f64,
    c: Option<f64>,
) -> Vec<f64> {
    let found = release.payload();
    let CovarianceNoise::SymmetricGaussian { sigma: s } = found.gram().noise() else { panic!() };
    let (width, s) = (d + usize::from(c.is_some()), s.get());
    let t = s * (width as f64 / 2.0).sqrt();
    let eigen = symmetric_eigen(found.gram().raw()).unwrap();
    let out: Vec<Option<f64>> =
        eigen.values.iter().map(|w| (*w > 2.0 * t).then(|| (w * w - 4.0 * t * t).sqrt())).collect();
    let left = eigen.values.iter().sum::<f64>() - out.iter().flatten().sum::<f64>();
    let rest = left.max(0.0) / out.iter().filter(|o| o.is_none()).count().max(1) as f64;
    let denoised: Vec<f64> = out.iter().map(|o| o.unwrap_or(0.0).max(rest)).collect();
    let moves: Vec<f64> =
        out.iter().zip(&eigen.values).map(|(o, w)| o.map_or(0.5 * (w + rest), |_| *w)).collect();
    let v = eigen.vectors;
    let turned = |x: &[f64]| -> Vec<f64> {
        (0..width).map(|j| (0..width).map(|i| v[(i, j)] * x[i]).sum()).collect()
    };
    let feature = |row: &[f64], i: usize| if i < d { row[i] } else { c.unwrap_or(0.0) };
    let gradient = |theta: &[f64], clip: f64| -> Vec<f64> {
        let plain: Vec<f64> =
            (0..width).map(|i| (0..width).map(|j| v[(i, j)] * theta[j]).sum()).collect();
        let mut sum = vec![0.0; width];
        for row in rows.chunks(d + 1) {
            let r = (0..width).map(|i| feature(row, i) * plain[i]).sum::<f64>() - row[d];
            let r = r.clamp(-clip, clip);
            (0..width).for_each(|i| sum[i] += r * feature(row, i));
        }
        turned(&sum)
    };
    // Everything in the eigenvectors.
    let released: Vec<Vec<f64>> = core::iter::once(vec![0.0; width])
        .chain(found.steps().iter().map(|step| step.coefficients.clone()))
        .collect();
    let (mut path, mut sums) = (vec![vec![0.0; width]], Vec::new());
    for (step, one) in found.steps().iter().enumerate() {
        let g = gradient(&path[step], one.clip);
        let noise = one.clip * sigma;
        let ridge =
            if step == 0 { t + noise * (width as f64).sqrt() / 2.0 } else { (t + noise) / 2.0 };
        let next = (0..width).map(|j| path[step][j] - g[j] / (denoised[j] + ridge)).collect();
        path.push(next);
        sums.push(g);
    }
    let weights: Vec<f64> = found
        .steps()
        .iter()
        .zip(&released)
        .map(|(one, place)| {
            let way = place.iter().zip(&released[4]).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
            1.0 / ((one.clip * sigma).powi(2) + s * s * way / 2.0)
        })
        .collect();
    let all = weights.iter().sum::<f64>();
    let last: Vec<f64> = (0..width)
        .map(|j| {
            let part = |i: usize| sums[i][j] + moves[j] * (path[4][j] - path[i][j]);
            let mean = (0..4).map(|i| weights[i] * part(i)).sum::<f64>() / all;
            path[4][j] - mean / (denoised[j] + t + all.sqrt().recip())
        })
        .collect();
    (0..width).map(|i| (0..width).map(|j| v[(i, j)] * last[j]).sum()).collect()
}

/// How often the interval of each coefficient, and of the intercept, holds what it is for; an interval of half the
/// width does not.
#[test]
fn intervals_hold_the_coefficients_without_noise() {
    let failure = Probability::new(0.05).unwrap();
    let (mut narrow, mut all) = (0, 0);
    for (n, d, power, epsilon, intercept, adjacency) in [
        (2_000, 5, 1.0, 1.0, false, 0),
        (2_000, 5, 0.0, 0.3, true, 2),
        (5_000, 20, 1.0, 1.0, true, 1),
        (5_000, 20, 1.0, 3.0, true, 0),
        (5_000, 50, 1.0, 3.0, false, 0),
    ] {
        let rows = data::spectrum(n, d, power, &mut Draws::new(31 + d as u64));
        let mechanism = made_with(d, adjacencies(1.0)[adjacency], epsilon, intercept);
        let sigma = mechanism.gradient_sigma().get();
        let draws = 120;
        let mut covered = vec![0; d + usize::from(intercept)];
        for draw in 0..draws {
            let mut rng = NoiseRng::deterministic_not_private(7000 + draw);
            let release = mechanism.release(&rows, &mut rng).unwrap();
            let found = release.payload();
            let c = match release.certificate().statement().public.get("constant") {
                Some(PublicValue::Real(c)) => Some(*c),
                _ => None,
            };
            assert_eq!(c.is_some(), intercept);
            let mut truth = without_noise(&release, &rows, d, sigma, c);
            truth.iter_mut().skip(d).for_each(|t| *t *= c.unwrap());
            let mut ranges = found.ranges(failure).unwrap();
            ranges.extend(found.intercept_range(failure).unwrap());
            assert_eq!(ranges.len(), covered.len());
            for ((count, (low, high)), truth) in covered.iter_mut().zip(ranges).zip(truth) {
                *count += usize::from(low <= truth && truth <= high);
                narrow += usize::from((0.5 * (low + high) - truth).abs() <= 0.25 * (high - low));
                all += 1;
            }
        }
        let least = *covered.iter().min().unwrap() as f64 / draws as f64;
        let mean = covered.iter().sum::<usize>() as f64 / (draws as usize * covered.len()) as f64;
        println!("n {n}, d {d}, 1/i^{power}, epsilon {epsilon}: least {least}, mean {mean}");
        assert!(least >= 0.93, "{n} {d} {epsilon}: {covered:?}");
    }
    assert!((narrow as f64) < 0.9 * all as f64, "{narrow} of {all}");
}

/// The intercept is found, and nothing else is moved by it.
#[test]
fn intercepts_are_found() {
    let rows = data::spectrum(40_000, 3, 0.0, &mut Draws::new(8));
    let moved: Vec<f64> = rows.chunks(4).flat_map(|r| [r[0], r[1], r[2], r[3] + 0.3]).collect();
    for adjacency in adjacencies(1.0) {
        let run = |rows: &[f64], intercept| {
            let mut rng = NoiseRng::deterministic_not_private(5);
            let mechanism = made_with(3, adjacency, 3.0, intercept);
            let release = mechanism.release(rows, &mut rng).unwrap();
            verify_consistency(&release).unwrap();
            (release.payload().coefficients().to_vec(), release.payload().intercept())
        };
        let (plain, none) = run(&rows, false);
        let (found, intercept) = run(&moved, true);
        assert!(none.is_none() && (intercept.unwrap() - 0.3).abs() < 0.02, "{intercept:?}");
        assert!(found.iter().zip(&plain).all(|(a, b)| (a - b).abs() < 0.05), "{found:?} {plain:?}");
    }
}

/// Files give the same release; what a forger states of the rows, the constant or the steps is computed again.
#[test]
fn files_are_read_back_and_forged_statements_refused() {
    let rows = data::spectrum(3_000, 2, 0.0, &mut Draws::new(8));
    let mut mechanism = made_with(2, adjacencies(1.0)[2], 1.0, true);
    mechanism.name_columns(&["a", "b", "y"].map(str::to_owned)).unwrap();
    assert!(mechanism.name_columns(&["a", "b"].map(str::to_owned)).is_err());
    assert!(mechanism.name_columns(&["a", "b", "a"].map(str::to_owned)).is_err());
    let release = mechanism.release(&rows, &mut NoiseRng::from_os().unwrap()).unwrap();
    let report = verify(&release).unwrap();
    assert_eq!((report.sensitivity, report.payload), (Finding::Agrees, Finding::Agrees));
    let bytes = encode(&release).unwrap();
    let again = decode::<NewtonRegression, Certificate>(&bytes).unwrap();
    assert_eq!(again.payload(), release.payload());
    assert_eq!(column_names(again.certificate()).unwrap().unwrap(), ["a", "b"]);

    let own = release.certificate().guarantee();
    let forged = |change: &dyn Fn(&mut Statement), guarantee: Guarantee| {
        let mut statement = release.certificate().statement().clone();
        change(&mut statement);
        let certificate = authority!().certificate(statement, guarantee);
        let forged = Release::certified(release.payload().clone(), certificate);
        let read = encode(&forged).and_then(|b| decode::<NewtonRegression, Certificate>(&b));
        verify_consistency(&forged).is_ok() && read.is_ok()
    };
    assert!(forged(&|_| (), own.clone()));
    for (name, value) in [
        ("d", PublicValue::from(1u64)),
        ("d", PublicValue::from(3u64)),
        ("constant", 0.5.into()),
        ("constant", PublicValue::from(1u64)),
        ("label_bound", 2.0.into()),
        ("label_bound", f64::NAN.into()),
        ("label_bound", PublicValue::from(1u64)),
        ("target", "a".into()),
        ("target", PublicValue::from(1u64)),
        ("columns", "[\"a\"]".into()),
    ] {
        let change = |s: &mut Statement| drop(s.public.insert(name.into(), value.clone()));
        assert!(!forged(&change, own.clone()), "{name} {value:?}");
    }
    for name in ["d", "constant", "label_bound", "target", "columns"] {
        assert!(!forged(&|s| drop(s.public.remove(name)), own.clone()), "{name}");
    }
    // Steps that count less than the rows, with their constant, can move; fewer of them.
    let Some(Profile::GaussianComposition { steps }) = own.profile() else { panic!() };
    for cheaper in 0..3 {
        for fewer in [false, true] {
            let mut steps = steps.clone();
            let step = &mut steps[cheaper];
            if fewer {
                step.times -= u64::from(cheaper > 0);
            } else {
                let least = [1.000_01, 1.000_01, 2f64.sqrt()][cheaper];
                step.sensitivity = L2Sensitivity::new(least).unwrap();
            }
            let profile = Profile::GaussianComposition { steps };
            let theorem = Theorem::PrivateNewton;
            let guarantee =
                authority!().proven(own.adjacency(), own.budget(), profile, theorem).unwrap();
            let as_it_was = fewer && cheaper == 0 || !fewer && cheaper == 2;
            assert_eq!(forged(&|_| (), guarantee), as_it_was, "{cheaper} {fewer}");
        }
    }
}
