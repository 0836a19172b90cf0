//! What an attacker learns at most: against closed forms of 40 digits (mpmath: `ncdf(inv(1 - a) - mu)`), and against
//! the best test found by listing every outcome.

use dp_core::explain::{Explanation, Questions, TradeOff};
use dp_core::mechanism::{Basis, Mechanism, PrivateVector, Statistic};
use dp_core::noise::GaussianNoise;
use dp_core::{
    Adjacency, Budget, Delta, EntryBound, Epsilon, Guarantee, L1Sensitivity, L2Sensitivity,
    LaplaceScale, NoiseRng, NoiseScale, NormBound, PrivacyProfile, Probability, Profile, Shift,
};

fn p(x: f64) -> Probability {
    Probability::new(x).unwrap()
}

fn gaussian(mu: f64) -> Profile {
    let sensitivity = L2Sensitivity::new(mu).unwrap();
    Profile::Gaussian { sensitivity, sigma: NoiseScale::new(1.0).unwrap() }
}

fn laplace(mu: f64) -> Profile {
    let sensitivity = L1Sensitivity::new(mu).unwrap();
    Profile::Laplace { sensitivity, scale: LaplaceScale::new(1.0).unwrap() }
}

fn bits(n: u64, keep: f64) -> Profile {
    Profile::RandomizedResponse { bits: n, keep: p(keep) }
}

#[test]
fn the_curve_of_a_gaussian_is_the_known_one() {
    let known = [
        (0.1, 0.0001, 0.999_852_137_599_34),
        (0.1, 0.01, 0.987_004_555_453_85),
        (0.1, 0.05, 0.938_809_163_786_65),
        (0.1, 0.5, 0.460_172_162_722_97),
        (0.1, 0.9, 0.083_554_717_190_60),
        (1.0, 0.0001, 0.996_726_182_764_97),
        (1.0, 0.01, 0.907_637_751_926_30),
        (1.0, 0.05, 0.740_488_977_158_55),
        (1.0, 0.5, 0.158_655_253_931_45),
        (1.0, 0.9, 0.011_257_914_512_60),
        (3.0, 0.0001, 0.763_934_618_849_59),
        (3.0, 0.01, 0.250_266_252_533_20),
        (3.0, 0.05, 0.087_685_463_249_70),
        (3.0, 0.5, 0.001_349_898_031_63),
        (3.0, 0.9, 9.27973516407562e-6),
    ];
    for (mu, alpha, missed) in known {
        let found = TradeOff::new(&gaussian(mu)).unwrap().missed_alarms(p(alpha));
        assert!(found <= missed + 1e-12 && missed - found < 1e-9, "{mu} {alpha}: {found} {missed}");
    }
    assert!(TradeOff::new(&gaussian(1.0)).unwrap().is_reached());
    // 2 Phi(mu / 2) - 1 at mu 1.
    let gain = TradeOff::new(&gaussian(1.0)).unwrap().advantage();
    assert!((gain - 0.382_924_922_548_026).abs() < 1e-12, "{gain}");
}

/// Laplace noise of scale 1 against a shift of mu, one coordinate: three pieces.
#[test]
fn the_curve_of_laplace_noise_is_the_known_one() {
    for mu in [0.2, 1.0, 4.0] {
        let best = TradeOff::new(&laplace(mu)).unwrap();
        let half = 0.5 * f64::exp(-mu);
        for alpha in [1e-4, 1e-3, 0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.95] {
            let missed = if alpha < half {
                1.0 - alpha * mu.exp()
            } else if alpha <= 0.5 {
                half / (2.0 * alpha)
            } else {
                (1.0 - alpha) * f64::exp(-mu)
            };
            let found = best.missed_alarms(p(alpha));
            assert!(
                found <= missed + 1e-12 && missed - found < 1e-9,
                "{mu} {alpha}: {found} {missed}"
            );
        }
    }
}

/// Every outcome of a few kept bits: its probability under either input.
fn outcomes(n: u32, keep: f64) -> Vec<(f64, f64)> {
    let each = |same: u32| {
        let (same, other) = (same as i32, (n - same) as i32);
        keep.powi(same) * (1.0 - keep).powi(other)
    };
    (0..1u32 << n).map(|o| (each(o.count_ones()), each(n - o.count_ones()))).collect()
}

/// The best test of this level (Neyman and Pearson), by adding outcomes from the likeliest ratio down.
fn best_test(outcomes: &[(f64, f64)], alpha: f64) -> f64 {
    let mut sorted = outcomes.to_vec();
    sorted.sort_by(|a, b| (b.1 * a.0).total_cmp(&(a.1 * b.0)));
    let (mut left, mut missed) = (alpha, 1.0);
    for (null, other) in sorted {
        let share = (left / null).min(1.0);
        missed -= share * other;
        left -= share * null;
        if left <= 0.0 {
            break;
        }
    }
    missed
}

#[test]
fn the_curve_of_kept_bits_is_that_of_the_best_test() {
    for (n, keep) in [(1, 0.75), (3, 0.6), (5, 0.9), (8, 0.55)] {
        let best = TradeOff::new(&bits(n.into(), keep)).unwrap();
        let list = outcomes(n, keep);
        assert!(best.is_reached());
        for alpha in [1e-3, 0.01, 0.05, 0.1, 0.25, 0.4, 0.5, 0.8, 1.0] {
            let (found, missed) = (best.missed_alarms(p(alpha)), best_test(&list, alpha));
            assert!((found - missed).abs() < 1e-9 && found <= missed + 1e-12, "{n} {keep} {alpha}");
        }
        for prior in [0.5, 0.3, 0.05, 0.9] {
            let right: f64 = list.iter().map(|o| (prior * o.0).max((1.0 - prior) * o.1)).sum();
            let found = best.right_guesses(p(prior));
            assert!((found - right).abs() < 1e-12 && found >= right - 1e-15, "{n} {keep} {prior}");
        }
        // Beliefs pass their ends with the stated probability at most, and the ends are worth something.
        for (prior, failing) in [(0.5, 0.01), (0.1, 0.2), (0.9, 1e-6)] {
            let belief = best.belief(p(prior), p(failing));
            let after = |o: &(f64, f64)| prior * o.1 / (prior * o.1 + (1.0 - prior) * o.0);
            for law in [|o: &(f64, f64)| o.0, |o: &(f64, f64)| o.1] {
                let above = list.iter().filter(|o| after(o) > belief.at_most + 1e-12);
                let below = list.iter().filter(|o| after(o) < belief.at_least - 1e-12);
                let passed = above.map(law).sum::<f64>().max(below.map(law).sum());
                assert!(passed <= failing, "{n} {keep} {prior}: {passed}");
            }
            let pure = f64::from(n) * (keep / (1.0 - keep)).ln();
            let most = prior * pure.exp() / (1.0 - prior + prior * pure.exp());
            assert!(belief.at_most <= most + 1e-9 && belief.at_most > prior, "{belief:?} {most}");
        }
    }
}

/// Back from the curve: delta(e) is the largest 1 - e^e a - f(a) over a.
#[test]
fn the_curve_gives_its_profile_back() {
    let jl = Profile::JlMechanism {
        rows: 20,
        bound: NormBound::new(1.0).unwrap(),
        lift: NoiseScale::new(4.0).unwrap(),
        change: dp_core::profile::RowChange::AddRemove,
    };
    let pair = Profile::ApproximateDp {
        epsilon: Epsilon::new(1.0).unwrap(),
        delta: Delta::new(0.01).unwrap(),
    };
    let pure = Profile::PureDp { epsilon: Epsilon::new(0.7).unwrap() };
    for profile in [gaussian(0.3), gaussian(2.0), laplace(1.5), bits(4, 0.7), jl, pair, pure] {
        let best = TradeOff::new(&profile).unwrap();
        for e in [0.0, 0.1, 0.5, 1.0, 2.0] {
            let epsilon = Epsilon::new(e).unwrap_or(Epsilon::ZERO);
            let gain = |a: f64| 1.0 - e.exp() * a - best.missed_alarms(p(a));
            // Concave in a: thirds.
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..90 {
                let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
                if gain(a) < gain(b) { low = a } else { high = b }
            }
            let (back, delta) = (gain(low), profile.log_delta(epsilon).delta());
            assert!((back - delta).abs() < 1e-9, "{profile:?} at {e}: {back} and {delta}");
        }
    }
}

#[test]
fn ends_are_what_they_must_be() {
    for profile in
        [gaussian(1e-6), gaussian(1e3), laplace(1e-6), laplace(600.0), bits(1 << 20, 0.9)]
    {
        let best = TradeOff::new(&profile).unwrap();
        for (alpha, at_most) in [(0.0, 1.0), (1.0, 0.0), (0.5, 0.5)] {
            let missed = best.missed_alarms(p(alpha));
            assert!((0.0..=at_most).contains(&missed), "{profile:?} {alpha} {missed}");
        }
        for prior in [0.0, 1e-300, 1e-12, 0.5, 1.0] {
            let right = best.right_guesses(p(prior));
            assert!(right >= prior.max(1.0 - prior) && right <= 1.0, "{profile:?} {prior} {right}");
            for failing in [0.0, 1e-300, 1e-3, 1.0] {
                let belief = best.belief(p(prior), p(failing));
                let inside = belief.at_least <= prior && prior <= belief.at_most;
                assert!(
                    inside && belief.at_most <= 1.0,
                    "{profile:?} {prior} {failing} {belief:?}"
                );
            }
        }
    }
    // With nothing allowed to fail, only pure guarantees bound a belief.
    assert_eq!(TradeOff::new(&gaussian(1.0)).unwrap().belief(p(0.5), p(0.0)).at_most, 1.0);
    let pure = Profile::PureDp { epsilon: Epsilon::new(1.0).unwrap() };
    let belief = TradeOff::new(&pure).unwrap().belief(p(0.5), p(0.0));
    assert!((belief.at_most - 0.731_058_578_630_004_9).abs() < 1e-9, "{belief:?}");
    assert!((belief.at_least - 0.268_941_421_369_995_1).abs() < 1e-9, "{belief:?}");
}

#[test]
fn several_changes_and_a_ledger_add_up() {
    let adjacency = Adjacency::Attribute { beta: Shift::new(1.0).unwrap() };
    let budget = Budget::new(10.0, 1e-6).unwrap();
    let declared = |mu: f64| {
        Guarantee::declared(adjacency, budget, gaussian(mu), "a test", "a formula").unwrap()
    };
    let asked = Questions::new(&[0.5], 1e-3).unwrap();
    let one = Explanation::of(&declared(0.3), &asked).unwrap();
    assert!((one.several[0].1 - TradeOff::new(&gaussian(0.6)).unwrap().advantage()).abs() < 1e-9);
    let mut ledger = dp_core::accounting::Ledger::new(adjacency);
    ledger.spend_accepting_claim(&declared(0.4), 1, "before").unwrap();
    // 0.3, 0.4, 0.5: two runs together are one of the hypotenuse.
    // The other is a release that is not entered yet.
    let sums = Statistic::new(
        adjacency,
        L2Sensitivity::new(1.0).unwrap(),
        3,
        EntryBound::new(10.0).unwrap(),
    );
    let basis = Basis::declared("a test", "a change moves one number by one");
    let noise =
        PrivateVector::<GaussianNoise>::calibrate((sums, basis), Budget::new(1.0, 1e-3).unwrap());
    let mut rng = NoiseRng::from_os().unwrap();
    let release = noise.unwrap().release(&[0.0; 3], &mut rng).unwrap();
    let Some(Profile::Gaussian { sensitivity, sigma }) =
        release.certificate().guarantee().profile()
    else {
        panic!("{:?}", release.certificate())
    };
    let mu = sensitivity.get() / sigma.get();
    let both = one.with_ledger(&ledger, Some(release.certificate()), &asked).unwrap();
    let all = both.with_ledger.unwrap();
    let known = TradeOff::new(&gaussian(mu.hypot(0.4))).unwrap();
    assert!((all.advantage - known.advantage()).abs() < 1e-9);
    assert!((all.alarms[3].missed_at_least - known.missed_alarms(p(0.05))).abs() < 1e-9);
    assert!(all.advantage > both.alone.advantage);
    let empty = dp_core::accounting::Ledger::new(adjacency);
    let other = Explanation::of(&declared(0.3), &asked).unwrap();
    assert!(other.with_ledger(&empty, None, &asked).is_err());
}

/// A loss that has no largest value is never below one for certain, however small the probability: not even where it is no number of
/// 64 bits any more.
#[test]
fn only_bounded_losses_are_certain() {
    let half = p(0.5);
    let sure = |profile: &Profile| TradeOff::new(profile).unwrap().belief(half, p(0.0)).at_most;
    assert_eq!(sure(&gaussian(0.12)), 1.0);
    let epsilon = 1.5f64;
    let pure = Profile::PureDp { epsilon: Epsilon::new(epsilon).unwrap() };
    let expected = epsilon.exp() / (1.0 + epsilon.exp());
    assert!((sure(&pure) - expected).abs() < 1e-9);
    // With any probability of failing there is a bound.
    let some = TradeOff::new(&gaussian(0.12)).unwrap().belief(half, p(1e-300)).at_most;
    assert!(some < 1.0);
}
