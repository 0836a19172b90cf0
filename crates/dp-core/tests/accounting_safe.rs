//! Answers stay on the safe side, and in bounds, where numbers are tiny, huge or many.

use dp_core::accounting::{Event, FilterRule, Ledger, Method, Pld, epsilon};
use dp_core::authority;
use dp_core::profile::{CoordinateProfile, GaussianStep, RowChange};
use dp_core::*;

fn scale(x: f64) -> NoiseScale {
    NoiseScale::new(x).unwrap()
}

fn delta(x: f64) -> Delta {
    Delta::new(x).unwrap()
}

fn pure(x: f64) -> Profile {
    Profile::PureDp { epsilon: Epsilon::new(x).unwrap() }
}

fn laplace(b: f64) -> Profile {
    Profile::Laplace {
        sensitivity: L1Sensitivity::new(1.0).unwrap(),
        scale: LaplaceScale::new(b).unwrap(),
    }
}

fn gaussian(sensitivity: f64, sigma: f64) -> Profile {
    let sensitivity = L2Sensitivity::new(sensitivity).unwrap();
    Profile::Gaussian { sensitivity, sigma: scale(sigma) }
}

fn bits(bits: u64, keep: f64) -> Profile {
    Profile::RandomizedResponse { bits, keep: Probability::new(keep).unwrap() }
}

fn letters(responses: u64, alphabet: u64, keep: f64) -> Profile {
    Profile::KaryResponse { responses, alphabet, keep: Probability::new(keep).unwrap() }
}

fn flips(trials: u64, probability: f64, keep: f64) -> Profile {
    Profile::BinomialMixture {
        trials,
        probability: Probability::new(probability).unwrap(),
        coordinate: CoordinateProfile::RandomizedResponse { keep: Probability::new(keep).unwrap() },
    }
}

fn chi(k: u64, scale_: f64) -> Profile {
    let entry_shift = L2Sensitivity::new(scale_).unwrap();
    Profile::ChiMixtureGaussian { k, entry_shift, sigma: scale(1.0), later_mu: 0.0 }
}

fn times(profile: Profile, n: u64) -> Event {
    Event::new(profile, n).unwrap()
}

fn upper(events: &[Event], d: f64, method: Method) -> f64 {
    epsilon(events, delta(d), method).unwrap().upper.get()
}

fn row() -> Adjacency {
    Adjacency::RowShift { l2: Shift::new(1.0).unwrap() }
}

/// A claim that its profile meets: ledgers take it as they take a proven one.
fn met(budget: Budget, profile: Profile) -> Guarantee {
    authority!().published(row(), budget, Some(profile), "a rule", "this test", "").unwrap()
}

#[test]
fn at_delta_zero_pure_losses_add_up_however_many() {
    for (each, n) in [(0.01, 10_000u64), (0.001, 1_000_000), (2e-4, 4096), (1e-16, 1 << 40)] {
        let keep = 1.0 / (1.0 + f64::exp(-each));
        let p = Probability::new(keep).unwrap().get();
        let bit = ((2.0 * p - 1.0) / (1.0 - p)).ln_1p();
        for (events, truth) in [
            ([times(pure(each), n)], each * n as f64),
            ([times(bits(1, keep), n)], bit * n as f64),
            // As many in one event as its limit allows.
            ([times(bits(n.min(1 << 24), keep), n.div_ceil(1 << 24))], bit * n as f64),
        ] {
            for method in [Method::Pld, Method::Basic, Method::OptimalPure] {
                let found = upper(&events, 0.0, method);
                assert!(found >= truth && found <= truth * (1.0 + 1e-9), "{method:?}: {found}");
            }
        }
    }
}

#[test]
fn a_sign_release_costs_its_whole_budget_at_delta_zero() {
    let budget = Budget::new(1.0, 0.0).unwrap();
    let keep = calibrate::randomized_response(budget, 4096).unwrap();
    let profile = Profile::RandomizedResponse { bits: 4096, keep };
    let guarantee = met(budget, profile);
    let mut ledger = Ledger::new(row());
    ledger.spend(&guarantee, 1, "signs").unwrap();
    for method in [Method::Pld, Method::Basic, Method::OptimalPure] {
        let found = ledger.epsilon(Delta::ZERO, method).unwrap();
        assert!((found.upper.get() - 1.0).abs() < 1e-9, "{method:?}: {found:?}");
        assert!(found.lower.is_none_or(|l| l <= found.upper && l.get() > 1.0 - 1e-9));
    }
}

#[test]
fn chi_mixtures_keep_their_tails() {
    // The one-run profile is computed another way, by a rule that refines until it agrees.
    for (k, s) in [(1u64, 1.0), (1, 0.3), (5, 0.5), (64, 0.1)] {
        for ln_delta in [-14.0, -55.0, -80.0, -300.0, -600.0] {
            let d = delta(f64::exp(ln_delta));
            let truth = chi(k, s).epsilon(d).unwrap().get();
            let found = Pld::new([&times(chi(k, s), 1)]).epsilon(d).unwrap();
            let (low, high) = (found.lower.unwrap().get(), found.upper.get());
            assert!(high >= truth * (1.0 - 1e-8), "{k} {s} {ln_delta}: {high} below {truth}");
            assert!(low <= truth * (1.0 + 1e-8), "{k} {s} {ln_delta}: {low} above {truth}");
            assert!(high - low <= 1e-2 * truth, "{k} {s} {ln_delta}: {low} to {high}");
        }
    }
}

#[test]
fn tiny_losses_are_not_lost() {
    // Epsilon of a letter without cancellation: `B keep - 1` is exact in a fused step.
    for (alphabet, budget) in [(7u64, 1e-9), (3, 1e-12), (1000, 1e-6)] {
        let b = Budget::new(budget, 0.0).unwrap();
        let keep = calibrate::kary_response(b, 1, alphabet).unwrap();
        let p = keep.get();
        let loss = ((alphabet as f64).mul_add(p, -1.0) / (1.0 - p)).ln_1p();
        assert!(loss <= budget && loss > 0.0, "{alphabet}: {loss:e} over {budget:e}");
        let stated = calibrate::response_epsilon(alphabet, keep).unwrap().get();
        assert!(stated >= loss && stated <= loss * (1.0 + 1e-12), "{stated:e} for {loss:e}");
    }
    let events = [times(pure(1e-16), 1 << 40)];
    assert!(upper(&events, 0.0, Method::Pld) >= 1e-16 * 2f64.powi(40));
    // Responses of loss l, n of them: nearly a Gaussian of mu = l sqrt n.
    for (each, n, d) in [(1e-16, 1u64 << 40, 1e-12), (1e-9, 1 << 40, 1e-6)] {
        let mu = each * (n as f64).sqrt();
        let truth = gaussian(mu, 1.0).epsilon(delta(d)).unwrap().get();
        for method in [Method::Pld, Method::Rdp, Method::Gdp, Method::Zcdp, Method::Advanced] {
            let found = upper(&[times(pure(each), n)], d, method);
            assert!(found >= truth * 0.999, "{method:?} {each:e}: {found:e} below {truth:e}");
        }
    }
    // Nothing is free: a shift that underflows has no finite epsilon at delta zero all the same.
    for profile in [gaussian(1e-99, 1.0), gaussian(1e200, 1e299), chi(1, 1e-99)] {
        assert!(epsilon(&[times(profile, 1)], Delta::ZERO, Method::Pld).is_err());
    }
    assert!(Event::new(gaussian(1e-300, 1e300), 1).is_err(), "a shift that is lost");
}

#[test]
fn squares_add_up_from_above() {
    let sum = |mu: f64, n: usize| {
        let step = |times| GaussianStep {
            sensitivity: L2Sensitivity::new(mu).unwrap(),
            sigma: scale(1.0),
            times,
        };
        let many = Profile::GaussianComposition { steps: vec![step(1); n] };
        let once = Profile::GaussianComposition { steps: vec![step(n as u64)] };
        let at = Epsilon::new(30.0).unwrap();
        (many.log_delta(at).get(), once.log_delta(at).get())
    };
    for i in 1..20 {
        let (many, once) = sum(1e-3 + 1.3e-4 * f64::from(i), 200_000);
        assert!(many >= once - 1e-11 * once.abs().max(1.0), "{i}: {many} below {once}");
    }
}

#[test]
fn only_exact_profiles_have_a_lower_end() {
    let lower = |events: &[Event]| {
        let pld = Pld::new(events);
        let at_zero = pld.epsilon(Delta::ZERO).ok().and_then(|b| b.lower);
        let lower = pld.epsilon(delta(1e-6)).unwrap().lower;
        let back = pld.log_delta(Epsilon::new(0.5).unwrap()).lower;
        assert!(lower.is_some() == back.is_some() && (lower.is_some() || at_zero.is_none()));
        lower.is_some()
    };
    let exact = [times(gaussian(1.0, 5.0), 3), times(bits(9, 0.6), 1), times(chi(3, 0.2), 1)];
    assert!(lower(&exact));
    let sparse = Profile::BinomialMixture {
        trials: 9,
        probability: Probability::new(0.1).unwrap(),
        coordinate: CoordinateProfile::Laplace {
            shift: L1Sensitivity::new(1.0).unwrap(),
            scale: LaplaceScale::new(3.0).unwrap(),
        },
    };
    // Upper bounds on what they stand for: a pure epsilon, several coordinates.
    for bound in [pure(0.7), laplace(1.0), sparse] {
        assert!(!lower(&[times(bound.clone(), 1)]), "{bound:?}");
        assert!(!lower(&[exact[0].clone(), times(bound, 2)]));
    }
}

#[test]
fn bits_and_letters_are_charged_one_by_one() {
    let loss = (0.55f64 / 0.45).ln();
    for profile in [bits(256, 0.55), letters(256, 2, 0.55), flips(256, 1.0, 0.55)] {
        let events = [times(profile.clone(), 1)];
        let pld = upper(&events, 1e-6, Method::Pld);
        // As one run of 256 losses: 51.4, 285 and 1586.
        for (method, most) in [(Method::Basic, 20.0), (Method::Gdp, 27.5), (Method::Zcdp, 22.5)] {
            let found = upper(&events, 1e-6, method);
            assert!(found >= pld * (1.0 - 1e-9) && found < most, "{method:?}: {found}, {pld}");
        }
        for method in [Method::Advanced, Method::OptimalPure, Method::Gdp, Method::Zcdp] {
            let (one, all) =
                (upper(&events, 1e-6, method), upper(&[times(bits(1, 0.55), 256)], 1e-6, method));
            assert!((one / all - 1.0).abs() < 1e-9, "{method:?}: {one} as one, {all} as many");
        }
    }
    // Exactly: n l^2 / 2, and the advanced formula.
    let (n, ln) = (256.0, -(1e-6f64).ln());
    let advanced = (2.0 * ln * n * loss * loss).sqrt() + n * loss * loss.exp_m1();
    let found = upper(&[times(bits(64, 0.55), 4)], 1e-6, Method::Advanced);
    assert!((found / advanced - 1.0).abs() < 1e-9, "{found} for {advanced}");
}

#[test]
fn advanced_composition_of_different_runs_is_its_formula() {
    let events = [times(pure(0.1), 100), times(pure(0.03), 400)];
    for d in [1e-6, 1e-3] {
        let squares: f64 = 100.0 * 0.01 + 400.0 * 9e-4;
        let means = 10.0 * 0.1f64.exp_m1() + 12.0 * 0.03f64.exp_m1();
        let truth = (-2.0 * f64::ln(d) * squares).sqrt() + means;
        let found = upper(&events, d, Method::Advanced);
        assert!((found / truth - 1.0).abs() < 1e-9, "{found} for {truth}");
    }
}

fn claim(e: f64, d: f64) -> Guarantee {
    authority!()
        .published(row(), Budget::new(e, d).unwrap(), None, "rule", "paper", "one release")
        .unwrap()
}

#[test]
fn a_limit_counts_the_deltas_of_accepted_claims() {
    for rule in [FilterRule::Zcdp, FilterRule::Gdp, FilterRule::Basic] {
        let mut ledger = Ledger::with_limit(row(), Budget::new(1.0, 1e-6).unwrap(), rule);
        let error = ledger.spend_accepting_claim(&claim(0.1, 0.5), 1, "window").unwrap_err();
        match rule {
            FilterRule::Basic => assert!(matches!(error, Error::BudgetExceeded { .. })),
            _ => assert!(error.to_string().contains("Basic"), "{error}"),
        }
        assert!(ledger.entries().is_empty());
        // A pure claim is a pure mechanism, and enters by any rule.
        ledger.spend_accepting_claim(&claim(0.1, 0.0), 1, "window").unwrap();
        // A ledger that holds such a claim does not load.
        let text = serde_json::to_string(&ledger).unwrap();
        let altered = text.replace("\"delta\":0.0}", "\"delta\":0.5}");
        assert_ne!(altered, text);
        assert!(serde_json::from_str::<Ledger>(&altered).is_err());
    }
}

#[test]
fn the_basic_limit_adds_up_epsilons_and_deltas() {
    let limited = |e, d| Ledger::with_limit(row(), Budget::new(e, d).unwrap(), FilterRule::Basic);
    // Delta alone is passed by the third, with plenty of epsilon left.
    let mut ledger = limited(10.0, 1e-6);
    ledger.spend_accepting_claim(&claim(0.1, 4e-7), 1, "a").unwrap();
    ledger.spend_accepting_claim(&claim(0.2, 5e-7), 1, "b").unwrap();
    match ledger.spend_accepting_claim(&claim(0.4, 2e-7), 2, "c").unwrap_err() {
        Error::BudgetExceeded { would_spend: Budget { epsilon, delta }, .. } => {
            assert!((epsilon.get() - 1.1).abs() < 1e-12, "{epsilon}");
            assert!((delta.get() - 1.3e-6).abs() < 1e-15, "{delta}");
        }
        other => panic!("{other}"),
    }
    assert_eq!(ledger.entries().len(), 2);
    ledger.spend_accepting_claim(&claim(0.1, 1e-7), 1, "c").unwrap();
    // Epsilon alone.
    let mut ledger = limited(1.0, 0.5);
    ledger.spend_accepting_claim(&claim(0.4, 1e-7), 2, "a").unwrap();
    assert!(ledger.spend_accepting_claim(&claim(0.3, 1e-7), 1, "b").is_err());
    ledger.spend_accepting_claim(&claim(0.2, 1e-7), 1, "b").unwrap();
}

#[test]
fn limits_take_signs_and_letters() {
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let signs = calibrate::randomized_response(budget, 4096).unwrap();
    let symbols = calibrate::kary_response(budget, 100, 4).unwrap();
    let p = Probability::new(0.05).unwrap();
    let minima = calibrate::binomial_mixture_rr(budget, 100, p).unwrap();
    for (profile, limit) in [
        (bits(4096, signs.get()), 2.0),
        (letters(100, 4, symbols.get()), 4.0),
        (flips(100, 0.05, minima.get()), 60.0),
    ] {
        for rule in [FilterRule::Basic, FilterRule::Zcdp, FilterRule::Gdp] {
            let limit = Budget::new(limit, 1e-6).unwrap();
            let guarantee = met(budget, profile.clone());
            let mut ledger = Ledger::with_limit(row(), limit, rule);
            let entered = ledger.spend(&guarantee, 1, "release");
            assert!(entered.is_ok(), "{rule:?} {profile:?}: {entered:?}");
            // Still a limit.
            let more = ledger.spend(&guarantee, 4000, "release");
            assert!(matches!(more, Err(Error::BudgetExceeded { .. })), "{rule:?}: {more:?}");
        }
    }
}

#[test]
fn counts_do_not_wrap() {
    for profile in [letters(1 << 63, 4, 0.9), bits(u64::MAX, 0.9)] {
        assert!(Event::new(profile.clone(), 1).is_err(), "{profile:?}");
    }
    // Products of 2^56 and 2^64, in sums.
    let once = times(letters(1 << 16, 4, 0.9), 1 << 40);
    let bits = times(bits(1 << 24, 0.9), 1 << 40);
    for events in [vec![once.clone(); 16], vec![once; 64], vec![bits; 3]] {
        let pld = Pld::new(&events);
        assert!(pld.epsilon(delta(1e-6)).is_err());
        let d = pld.log_delta(Epsilon::new(1.0).unwrap());
        assert_eq!((d.lower, d.upper.get()), (None, 0.0));
        for method in [Method::Rdp, Method::Gdp, Method::Zcdp] {
            if let Ok(found) = epsilon(&events, delta(1e-6), method) {
                assert!(found.upper.get() > 1e18, "{method:?}: {found:?}");
            }
        }
    }
    let most = vec![times(pure(0.1), 1 << 40); 3];
    assert!(upper(&most, 0.0, Method::Basic) >= 0.1 * 3.0 * 2f64.powi(40));
}

/// Parameters that a file may hold: answers or errors, in bounded memory, and never below a
/// part of what is asked.
#[test]
fn absurd_parameters_are_answered_in_bounds() {
    let wishart = |s: f64, dof, change| Profile::Wishart {
        dim: 3,
        dof,
        bound: NormBound::new(1.0).unwrap(),
        scale: scale(s),
        change,
    };
    let jl = |rows, lift| Profile::JlMechanism {
        rows,
        bound: NormBound::new(1.0).unwrap(),
        lift: scale(lift),
        change: RowChange::Replace,
    };
    let refused = [
        laplace(1e-8),
        laplace(1e-300),
        laplace(1e300),
        gaussian(1e300, 1e-300),
        chi(1 << 60, 1e-12),
        pure(1e300),
        pure(5e-324),
        bits(1 << 50, 0.500_001),
        letters(1 << 40, u64::MAX, 0.3),
        letters(3, 1 << 60, 1e-300),
        flips(1 << 40, 1e-300, 0.9),
        jl(1 << 62, 1e-9),
        jl(1 << 20, 1e150),
        wishart(1e-300, 60, RowChange::AddRemove),
        wishart(1e300, u64::MAX, RowChange::AddRemove),
    ];
    for profile in refused {
        assert!(Event::new(profile.clone(), 1).is_err(), "{profile:?}");
    }
    let absurd = [
        laplace(1e-6),
        laplace(1e99),
        gaussian(1e5, 1.0),
        chi(1, 1e3),
        chi(1 << 40, 1e-12),
        chi(1, 10.0),
        pure(1e4),
        pure(1e-99),
        bits(1 << 20, 0.500_001),
        bits(10, 0.9999),
        bits(7, 1.0),
        letters(1 << 16, 1 << 32, 0.3),
        letters(3, 1 << 32, 1e-300),
        flips(1 << 16, 1e-300, 0.9),
        jl(1 << 40, 1e-5),
        jl(1 << 20, 1e90),
        wishart(1e-11, 60, RowChange::AddRemove),
        wishart(1e150, 1 << 40, RowChange::AddRemove),
        wishart(1e-3, 60, RowChange::AddRemove),
    ];
    for profile in absurd {
        let list = [times(gaussian(1.0, 20.0), 1), times(profile.clone(), 2), times(pure(1e-5), 1)];
        for events in [&list[1..2], &list[..]] {
            let pld = Pld::new(events);
            if let Ok(found) = pld.epsilon(delta(1e-6)) {
                assert!(found.lower.is_none_or(|l| l <= found.upper), "{profile:?}: {found:?}");
                // At least what Gaussian alone costs.
                let least = if events.len() > 1 { 0.18 } else { 0.0 };
                assert!(found.upper.get() >= least, "{profile:?}: {found:?}");
            }
            let d = pld.log_delta(Epsilon::new(1.0).unwrap());
            assert!(d.lower.is_none_or(|l| l <= d.upper), "{profile:?}: {d:?}");
        }
        let twice = Profile::Repeated { profile: Box::new(profile.clone()), times: 2 };
        let [one, two] = [&profile, &twice].map(|p| p.log_delta(Epsilon::new(1.0).unwrap()).get());
        // Zero (delta is one) where a profile is not computed.
        let safe = one == 0.0 || two >= one - 1e-6 * one.abs().min(1.0);
        assert!(safe, "{profile:?}: {two} for two, {one} for one");
    }
}

#[test]
fn a_ledger_of_large_and_tiny_epsilons_is_answered() {
    for tiny in [1e-4, 1e-5, 1e-9] {
        let events = [times(laplace(1.0), 3), times(laplace(1.0 / tiny), 1)];
        let found = upper(&events, 1e-6, Method::Pld);
        let alone = upper(&events[..1], 1e-6, Method::Pld);
        assert!(found >= alone * (1.0 - 1e-4) && found <= alone * 1.01 + tiny, "{found} {alone}");
    }
    // A loss of 1e6, on a grid of bounded size.
    let found = upper(&[times(laplace(1e-6), 1)], 1e-6, Method::Pld);
    assert!((found / 1e6 - 1.0).abs() < 1e-5, "{found}");
}
