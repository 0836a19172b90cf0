//! Covariances whose bound is chosen: the choice, what is composed, the noise, files and forgeries.

use crate::rows::adjacencies;
use crate::support::Draws;
use dp_core::certificate::Statement;
use dp_core::mechanism::Mechanism;
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{decode, encode};
use dp_core::{
    Adjacency, Budget, Certificate, Guarantee, NoiseRng, Probability, Profile, PublicValue,
    Release, SquaredNorm, Theorem, authority,
};
use linalg_dp::Error;
use linalg_dp::analysis::{Moments, pca};
use linalg_dp::covariance::{
    CovarianceNoise, GaussianCovariance, PrivateCovariance, QuantileConfig, QuantileCovariance,
};
use linalg_dp::verify::{verify, verify_consistency};

fn config(dim: usize, adjacency: Adjacency, within: f64) -> QuantileConfig {
    let within = Probability::new(within).unwrap();
    QuantileConfig { dim, adjacency, within, means: false }
}

fn made(config: QuantileConfig, epsilon: f64) -> QuantileCovariance {
    QuantileCovariance::calibrate(config, Budget::new(epsilon, 1e-6).unwrap()).unwrap()
}

fn chosen(release: &Release<PrivateCovariance>) -> f64 {
    match release.certificate().statement().public.get("chosen bound") {
        Some(PublicValue::Real(bound)) => *bound,
        other => panic!("{other:?}"),
    }
}

/// Rows of norms from 0 to 2, evenly spread, in random directions.
fn rows(n: usize, d: usize) -> Vec<f64> {
    let mut draws = Draws::new(n as u64);
    let mut rows = Vec::new();
    for _ in 0..n {
        let raw: Vec<f64> = (0..d).map(|_| draws.normal()).collect();
        let norm = raw.iter().map(|v| v * v).sum::<f64>().sqrt();
        let length = 2.0 * draws.uniform();
        rows.extend(raw.iter().map(|v| v / norm * length));
    }
    rows
}

/// The candidates are a fourth of an octave apart: the least above the quantile, or the one before or after where noise
/// decides. A bound of 15,000 times the rows' length costs little.
#[test]
fn the_bound_is_the_quantile_asked_for() {
    let rows = rows(40_000, 3);
    for adjacency in adjacencies(3e4) {
        for within in [0.5, 0.9, 0.97] {
            let mechanism = made(config(3, adjacency, within), 1.0);
            let mut found = Vec::new();
            for draw in 0..40 {
                let mut rng = NoiseRng::deterministic_not_private(draw);
                found.push(chosen(&mechanism.release(&rows, &mut rng).unwrap()));
            }
            let truth = 2.0 * within;
            // Never too small; too large where noise ends the search early.
            let near = found.iter().filter(|b| **b <= truth * 1.42).count();
            let least = found.iter().all(|b| *b >= truth * 0.84);
            assert!(near >= 34 && least, "{within}: {found:?}");
        }
        let mechanism = made(config(3, adjacency, 0.9), 1.0);
        // Where noise hides how long rows are the bound is near the largest, as a rule.
        for few in [&rows[..600], &[]] {
            let near = (0..40).filter(|draw| {
                let mut rng = NoiseRng::deterministic_not_private(*draw);
                chosen(&mechanism.release(few, &mut rng).unwrap()) > 8e3
            });
            let near = near.count();
            assert!(near >= 30, "{near} of 40");
        }
    }
}

/// Counts have a tenth of mu, the covariance .995 of it; together no more than one Gaussian covariance.
#[test]
fn the_certificate_says_what_was_composed() {
    let rows = rows(40_000, 3);
    for adjacency in adjacencies(1e3) {
        let mechanism = made(config(3, adjacency, 0.9), 1.0);
        let release = mechanism.release(&rows, &mut NoiseRng::from_os().unwrap()).unwrap();
        verify(&release).unwrap();
        let guarantee = release.certificate().guarantee();
        assert_eq!(guarantee.budget(), mechanism.guarantee().budget());
        let Some(Profile::GaussianComposition { steps }) = guarantee.profile() else { panic!() };
        let mu = |i: usize| steps[i].sensitivity.get() / steps[i].sigma.get();
        let whole = mu(0).hypot(mu(1));
        assert!((mu(1) / whole - 0.1).abs() < 1e-9, "{}", mu(1) / whole);
        let moved = if matches!(adjacency, Adjacency::AddRemoveRow { .. }) { 1.0 } else { 2.0 };
        assert!((steps[1].sensitivity.get().powi(2) - moved).abs() < 1e-12);
        let budget = Budget::new(1.0, 1e-6).unwrap();
        let alone = GaussianCovariance::calibrate(3, adjacency, budget).unwrap();
        let Some(Profile::SymmetricGaussian { bound, sigma, change }) = alone.guarantee().profile()
        else {
            panic!()
        };
        let one = dp_core::profile::covariance_sensitivity(*bound, *change) / sigma.get();
        assert!((whole / one - 1.0).abs() < 1e-9 && whole <= one, "{whole} {one}");
        // What is chosen is what is paid: the noise is in proportion to the square of the bound.
        let CovarianceNoise::SymmetricGaussian { sigma } = release.payload().noise() else {
            panic!()
        };
        let share = sigma.get() / alone.sigma().get() * (1e3 / chosen(&release)).powi(2);
        assert!((share - 1.0 / 0.99f64.sqrt()).abs() < 1e-4, "{share}");
        let most = mechanism.predict(SquaredNorm::new(1.0).unwrap()).unwrap().root_mean_square;
        assert!(
            most > 1e3 * release.payload().spectral_error(Probability::new(0.05).unwrap()).unwrap()
        );
    }
}

/// Rows of two neighbouring thresholds: the smaller is chosen where the noisy difference of their numbers says so, less
/// twice the deviation of the two counts beyond it. All 65 counts enter the difference, which follows the normal law.
#[test]
fn counts_carry_the_noise_that_is_stated() {
    let mechanism = made(config(1, adjacencies(1.0)[0], 0.5), 1.0);
    let Some(Profile::GaussianComposition { steps }) = mechanism.guarantee().profile() else {
        panic!()
    };
    let sigma = steps[1].sigma.get();
    for (gap, expected) in [(-1.0, 0.158_655), (0.0, 0.5), (1.0, 0.841_345)] {
        let each = 4000i64;
        let gap = (sigma * (gap * 65f64.sqrt() + 2.0 * 2f64.sqrt())).round() as i64;
        let rows =
            [vec![(-0.25f64).exp2(); (each + gap) as usize], vec![1.0; each as usize]].concat();
        let draws = 10_000;
        let small = (0..draws).filter(|draw| {
            let mut rng = NoiseRng::deterministic_not_private(*draw);
            chosen(&mechanism.release(&rows, &mut rng).unwrap()) < 0.9
        });
        let share = small.count() as f64 / draws as f64;
        // Standard errors .0037 and .005; at .9 of the noise .133 instead of .159.
        assert!((share - expected).abs() < 0.017, "{gap}: {share}");
    }
}

#[test]
fn the_matrix_carries_the_noise_that_is_stated() {
    let rows = rows(20_000, 2);
    let mechanism = made(config(2, adjacencies(50.0)[0], 0.9), 3.0);
    let (mut squares, mut count) = (0.0, 0.0);
    for draw in 0..3000u64 {
        let release =
            mechanism.release(&rows, &mut NoiseRng::deterministic_not_private(draw)).unwrap();
        let bound = chosen(&release);
        let mut exact = [0.0; 3];
        for row in rows.chunks(2) {
            let factor = (bound / row[0].hypot(row[1])).min(1.0);
            let (a, b) = (row[0] * factor, row[1] * factor);
            exact.iter_mut().zip([a * a, b * b, a * b]).for_each(|(e, x)| *e += x);
        }
        let CovarianceNoise::SymmetricGaussian { sigma } = release.payload().noise() else {
            panic!()
        };
        let raw = release.payload().raw();
        let off = [
            raw[(0, 0)] - exact[0],
            raw[(1, 1)] - exact[1],
            (raw[(1, 0)] - exact[2]) * 2f64.sqrt(),
        ];
        squares += off.iter().map(|x| (x / sigma.get()).powi(2)).sum::<f64>();
        count += 3.0;
    }
    // A standard error of .015: a twin of .95 of the noise would miss.
    assert!((squares / count - 1.0).abs() < 0.05, "{}", squares / count);
}

#[test]
fn means_and_components_are_read_as_from_any_release() {
    let n = 60_000;
    let mut draws = Draws::new(4);
    let rows: Vec<f64> =
        (0..n).flat_map(|_| [3.0 + 0.5 * draws.normal(), 2.0 * draws.normal()]).collect();
    for adjacency in adjacencies(1e4) {
        let config = QuantileConfig { means: true, ..config(2, adjacency, 0.97) };
        let release = made(config, 2.0).release(&rows, &mut NoiseRng::from_os().unwrap()).unwrap();
        verify(&release).unwrap();
        let moments = Moments::of(&release).unwrap();
        assert!((moments.means()[0] - 3.0).abs() < 0.1, "{:?}", moments.means());
        let failure = Probability::new(0.05).unwrap();
        let (low, high) = moments.mean_ranges(failure).unwrap()[0];
        assert!(low < 3.02 && high > 2.9 && high < chosen(&release));
        assert!(pca(&release, 1).unwrap().payload().directions()[(0, 0)].abs() > 0.9);
    }
}

#[test]
fn files_state_the_choice_and_forged_ones_are_refused() {
    let rows = rows(20_000, 2);
    let mechanism = made(config(2, adjacencies(100.0)[1], 0.9), 2.0);
    let mut norms = mechanism.norms(NoiseRng::from_os().unwrap());
    rows.chunks(7 * 2).for_each(|part| norms.push(part).unwrap());
    let mut stream = norms.choose();
    rows.chunks(9 * 2).for_each(|part| stream.push(part).unwrap());
    let release = stream.finish().unwrap();
    verify(&release).unwrap();
    let again = decode::<PrivateCovariance, Certificate>(&encode(&release).unwrap()).unwrap();
    assert_eq!(again.payload(), release.payload());
    verify(&again).unwrap();

    let forged = |change: &dyn Fn(&mut Statement), guarantee: Guarantee| {
        let mut statement = release.certificate().statement().clone();
        change(&mut statement);
        let certificate = authority!().certificate(statement, guarantee);
        let forged = Release::certified(release.payload().clone(), certificate);
        verify_consistency(&forged).map(drop).map_err(|e| e.to_string())
    };
    let own = || release.certificate().guarantee().clone();
    assert!(forged(&|_| (), own()).is_ok());
    let bound = |b: PublicValue| {
        move |s: &mut Statement| drop(s.public.insert("chosen bound".into(), b.clone()))
    };
    // A larger bound than the noise is for; none; above the adjacency's; no number.
    for b in [
        PublicValue::from(chosen(&release) * 1.01),
        PublicValue::from(101.0),
        PublicValue::from(0.0),
        PublicValue::from(-1.0),
        PublicValue::from(3u64),
        "1".into(),
    ] {
        assert!(forged(&bound(b.clone()), own()).is_err(), "{b:?}");
    }
    assert!(forged(&|s| drop(s.public.remove("chosen bound")), own()).is_err());
    // A profile without the counts, or with fewer of them.
    let Some(Profile::GaussianComposition { steps }) = own().profile().cloned() else { panic!() };
    let proven = |profile: Profile, theorem: Theorem| {
        authority!().proven(own().adjacency(), own().budget(), profile, theorem)
    };
    let free = proven(
        Profile::GaussianComposition { steps: vec![steps[0]] },
        Theorem::CovarianceOfChosenBound,
    );
    assert!(free.is_err());
    let mut cheap = steps.clone();
    cheap[1].sensitivity = dp_core::L2Sensitivity::new(1.0).unwrap();
    let cheap = Profile::GaussianComposition { steps: cheap };
    assert!(proven(cheap.clone(), Theorem::CovarianceOfChosenBound).is_err());
    // The same at somebody's word, or under a theorem that asks nothing of counts: what is stated of the matrix agrees.
    let word = Guarantee::declared(own().adjacency(), own().budget(), cheap.clone(), "me", "why");
    assert!(forged(&|_| (), word.unwrap()).is_err());
    let own_steps = Profile::GaussianComposition { steps: steps.clone() };
    let word = Guarantee::declared(own().adjacency(), own().budget(), own_steps, "me", "why");
    assert!(forged(&|_| (), word.unwrap()).is_ok());
    // Another law beside the matrix's.
    let law = |s: &mut Statement| {
        let NoiseLaw::Several { laws } = &mut s.noise else { panic!() };
        laws.swap(0, 1);
    };
    assert!(forged(&law, own()).is_err());
}

/// A theorem that speaks of such steps, and is about other releases: what it leaves open of counts nothing else would check. (That such
/// files are not read either is asked of every kind in `fuzzing`.)
#[test]
fn the_theorem_of_another_release_is_refused() {
    // All as long as a row may be: so is the bound that is chosen.
    let small = [0.06, 0.08].repeat(2_000);
    let mechanism = made(config(2, adjacencies(0.1)[1], 0.9), 2.0);
    let mut norms = mechanism.norms(NoiseRng::from_os().unwrap());
    norms.push(&small).unwrap();
    let mut stream = norms.choose();
    stream.push(&small).unwrap();
    let release = stream.finish().unwrap();
    let own = release.certificate().guarantee().clone();
    let other = Theorem::NoisyPowerMethod;
    let other = authority!()
        .proven(own.adjacency(), own.budget(), own.profile().cloned().unwrap(), other)
        .unwrap();
    let statement = release.certificate().statement().clone();
    let certificate = authority!().certificate(statement, other);
    let forged = Release::certified(release.payload().clone(), certificate);
    let refused = encode(&forged).unwrap_err().to_string();
    assert!(refused.contains("not about covariance"), "{refused}");
}

/// The number of rows that moments state is held against the adjacency and the released count.
#[test]
fn stated_rows_are_those_that_were_counted() {
    let rows = rows(5_000, 2);
    let [add, replace, _] = adjacencies(2.0);
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let release = |adjacency| {
        let mechanism = GaussianCovariance::calibrate_moments(2, adjacency, budget).unwrap();
        mechanism.release(&rows, &mut NoiseRng::from_os().unwrap()).unwrap()
    };
    let stating = |release: &Release<PrivateCovariance>, rows: PublicValue| {
        let mut statement = release.certificate().statement().clone();
        statement.public.insert("rows".into(), rows);
        let guarantee = release.certificate().guarantee().clone();
        let certificate = authority!().certificate(statement, guarantee);
        let forged = Release::certified(release.payload().clone(), certificate);
        let bytes = encode(&forged);
        let read = bytes.and_then(|b| decode::<PrivateCovariance, Certificate>(&b)).is_ok();
        (verify_consistency(&forged).is_ok(), read)
    };
    let known = release(replace);
    assert_eq!(stating(&known, PublicValue::from(5_000u64)), (true, true));
    for forged in [
        PublicValue::from(4_000u64),
        PublicValue::from(6_000u64),
        PublicValue::from(5e3),
        "5000".into(),
    ] {
        assert_eq!(stating(&known, forged.clone()), (false, false), "{forged:?}");
    }
    // Presence is what is protected: nobody may state it, right or wrong.
    assert!(!stating(&release(add), PublicValue::from(5_000u64)).0);
    let alone = GaussianCovariance::calibrate(2, replace, budget).unwrap();
    let alone = alone.release(&rows, &mut NoiseRng::from_os().unwrap()).unwrap();
    assert_eq!(stating(&alone, PublicValue::from(5_000u64)), (false, false));
}

#[test]
fn refusals() {
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let [add, ..] = adjacencies(1.0);
    for within in [0.0, 0.49, 0.9991, 1.0] {
        assert!(QuantileCovariance::calibrate(config(2, add, within), budget).is_err());
    }
    // Means are told where intervals of them are numbers: candidates end there, and the largest may not lie beyond.
    let means = |b| adjacencies(b).map(|a| QuantileConfig { means: true, ..config(2, a, 0.9) });
    for config in [1e40, 1e-42].into_iter().flat_map(means) {
        let refused = QuantileCovariance::calibrate(config, budget).unwrap_err().to_string();
        assert!(refused.contains("bound") && refused.contains("2^-100"), "{refused}");
    }
    for config in means(1e-29) {
        let mut rng = NoiseRng::deterministic_not_private(1);
        let rows = [1e-40, 0.0].repeat(100_000);
        let release = made(config, 1.0).release(&rows, &mut rng).unwrap();
        assert!(chosen(&release) >= 2f64.powi(-100));
        let moments = Moments::of(&release).unwrap();
        let ranges = moments.mean_ranges(Probability::new(0.05).unwrap()).unwrap();
        assert!(ranges.iter().all(|(low, high)| low < high), "{ranges:?}");
    }
    let pure = Budget::new(1.0, 0.0).unwrap();
    assert!(QuantileCovariance::calibrate(config(2, add, 0.9), pure).is_err());
    assert!(QuantileCovariance::calibrate(config(0, add, 0.9), budget).is_err());
    assert!(QuantileCovariance::calibrate(config(2, Adjacency::AnyInput, 0.9), budget).is_err());
    let mechanism = made(config(2, add, 0.9), 1.0);
    let mut rng = NoiseRng::deterministic_not_private(1);
    assert!(matches!(mechanism.release(&[0.5; 5], &mut rng), Err(Error::Shape { .. })));
    for bad in [f64::NAN, f64::INFINITY] {
        let refused = mechanism.release(&[0.5, bad], &mut rng);
        assert!(matches!(refused, Err(Error::NotFinite { .. })));
    }
    // Absurd budgets and bounds either work or are refused by name.
    for epsilon in [1e-9, 1e-3, 50.0, 1e4] {
        for b in [1e-120, 1e-100, 1e-9, 1e9, 1e100, 2e120] {
            for adjacency in adjacencies(b) {
                let budget = Budget::new(epsilon, 1e-6).unwrap();
                let Ok(mechanism) =
                    QuantileCovariance::calibrate(config(2, adjacency, 0.9), budget)
                else {
                    continue;
                };
                let input = [b, 0.0, 1e300, 1e300, 5e-324, 0.0, 0.0, 0.0];
                let release = mechanism.release(&input, &mut rng).unwrap();
                verify_consistency(&release).unwrap();
            }
        }
    }
}
