//! Limits at fixed Renyi orders, with the largest losses set aside (`docs/proofs/filters.md`).

use dp_core::accounting::{Event, FilterRule, Ledger, Method, Pld, epsilon};
use dp_core::profile::RowChange;
use dp_core::*;

fn scale(x: f64) -> NoiseScale {
    NoiseScale::new(x).unwrap()
}

fn adjacency() -> Adjacency {
    Adjacency::AddRemoveRow { bound: NormBound::new(1.0).unwrap() }
}

/// One of each kind, about equally noisy.
fn kinds() -> Vec<Profile> {
    let bound = NormBound::new(1.0).unwrap();
    let change = RowChange::AddRemove;
    let (l2, l1) = (L2Sensitivity::new(1.0).unwrap(), L1Sensitivity::new(1.0).unwrap());
    let keep = Probability::new(1.0 / (1.0 + (-0.05_f64).exp())).unwrap();
    vec![
        Profile::Gaussian { sensitivity: l2, sigma: scale(30.0) },
        Profile::Laplace { sensitivity: l1, scale: LaplaceScale::new(25.0).unwrap() },
        Profile::RandomizedResponse { bits: 1, keep },
        Profile::JlMechanism { rows: 10, bound, lift: scale(9.0), change },
        Profile::Wishart { dim: 5, dof: 400, bound, scale: scale(1.5), change },
        Profile::ChiMixtureGaussian { k: 16, entry_shift: l2, sigma: scale(120.0), later_mu: 0.0 },
    ]
}

/// A declared mechanism that keeps epsilon at the delta that it really gives.
fn declared(profile: &Profile, epsilon: f64) -> Guarantee {
    let given = profile.log_delta(Epsilon::new(epsilon).unwrap()).delta();
    let budget = Budget::new(epsilon, given * (1.0 + 1e-9)).unwrap();
    Guarantee::declared(adjacency(), budget, profile.clone(), "a test", "a session").unwrap()
}

/// The epsilon at which each run counts with the share of delta.
fn at_share(profile: &Profile, share: f64) -> Guarantee {
    let epsilon = profile.epsilon(Delta::new(share).unwrap()).unwrap();
    declared(profile, epsilon.get())
}

/// Whether a limit lets all of them through, one after the other.
fn passes(limit: Budget, rule: FilterRule, runs: &[(Guarantee, u64)]) -> bool {
    let mut ledger = Ledger::with_limit(adjacency(), limit, rule);
    runs.iter().all(|(guarantee, n)| ledger.spend_accepting_claim(guarantee, *n, "run").is_ok())
}

/// The least limit on epsilon at delta 1e-6 that lets all of them through.
fn least(rule: FilterRule, runs: &[(Guarantee, u64)]) -> f64 {
    let (mut low, mut high) = (0.0, 200.0);
    for _ in 0..14 {
        let mid = 0.5 * (low + high);
        let limit = Budget::new(mid, 1e-6).unwrap();
        if passes(limit, rule, runs) { high = mid } else { low = mid }
    }
    high
}

#[test]
fn a_session_of_200_mixed_releases_is_cheaper_than_by_sums() {
    let runs: Vec<_> = kinds().iter().map(|p| (at_share(p, 1e-6 / 205.0), 34)).collect();
    let basic = least(FilterRule::Basic, &runs);
    let renyi = least(FilterRule::Renyi, &runs);
    let events: Vec<_> = kinds().into_iter().map(|p| Event::new(p, 34).unwrap()).collect();
    let planned = epsilon(&events, Delta::new(1e-6).unwrap(), Method::Pld).unwrap();
    println!("204 runs: basic {basic:.2}, Renyi filter {renyi:.2}, planned (PLD) {planned:?}");
    // Never below what the very same runs lose when they are planned, and far below the sum.
    assert!(renyi >= planned.lower.unwrap_or(Epsilon::ZERO).get());
    assert!(renyi < 0.5 * basic && renyi < 1.5 * planned.upper.get());
    // The rules of rho and mu know no such mechanisms.
    for rule in [FilterRule::Zcdp, FilterRule::Gdp] {
        assert!(!passes(Budget::new(200.0, 1e-6).unwrap(), rule, &runs));
    }
}

/// A filter is sound for plans too: what it lets through keeps the limit by the exact composition.
#[test]
fn what_the_filter_lets_through_keeps_its_limit() {
    for (i, profile) in kinds().into_iter().enumerate() {
        for (e, d) in [(0.5, 1e-3), (2.0, 1e-6), (6.0, 1e-9)] {
            let limit = Budget::new(e, d).unwrap();
            let run = at_share(&profile, 1e-9);
            let (mut low, mut high) = (0_u64, 4096);
            while high - low > 1 {
                let mid = low.midpoint(high);
                let fits = passes(limit, FilterRule::Renyi, &[(run.clone(), mid)]);
                if fits { low = mid } else { high = mid }
            }
            if low == 0 {
                continue;
            }
            let event = Event::new(profile.clone(), low).unwrap();
            let exact = Pld::new([&event]).log_delta(limit.epsilon);
            assert!(exact.upper <= limit.delta.ln(), "{i}: {low} runs at {e}, {d}");
            // And not by refusing everything: eight times as many runs lose more than the limit.
            let event = Event::new(profile.clone(), 8 * low + 8).unwrap();
            let exact = Pld::new([&event]).log_delta(limit.epsilon);
            assert!(exact.upper > limit.delta.ln(), "{i}: {low} runs at {e}, {d}");
        }
    }
}

/// The rule as the proof page states it, worked out here for Gaussians, whose divergence of order `1 + s` is
/// `(1 + s) rho`: half of delta in three parts, one for each of the orders `s/3`, `s` and `3 s`. The filter lets
/// through as many runs, and not one more.
#[test]
fn the_orders_and_their_parts_of_delta_are_those_of_the_page() {
    let rho = 0.5 / (30.0 * 30.0);
    for (e, d) in [(0.5, 1e-3), (2.0, 1e-6), (6.0, 1e-9)] {
        let ln_part = f64::ln(d / 6.0);
        // Canonne, Kamath, Steinke 2020, proposition 12, without the divergence.
        let turned = |s: f64| (s / (1.0 + s)).ln() - (ln_part + (1.0 + s).ln()) / s;
        let allowed = |s: f64| (e - turned(s)) / ((1.0 + s) * rho);
        let best = (-40..=80)
            .map(|i| (0.125 * f64::from(i)).exp2())
            .max_by(|a, b| allowed(*a).total_cmp(&allowed(*b)))
            .unwrap();
        let orders = [best / 3.0, best, 3.0 * best];
        let most = orders.map(allowed).into_iter().fold(0.0, f64::max).floor() as u64;
        let run = at_share(&kinds()[0], 1e-9);
        let limit = Budget::new(e, d).unwrap();
        assert!(most > 3, "{most}");
        assert!(passes(limit, FilterRule::Renyi, &[(run.clone(), most)]), "{e} {d}: {most}");
        assert!(!passes(limit, FilterRule::Renyi, &[(run, most + 1)]), "{e} {d}: {most}");
    }
}

/// The infinite part of Wishart noise adds up: a limit whose delta has room for a few releases refuses more.
#[test]
fn infinite_losses_add_up_in_delta() {
    let bound = NormBound::new(1.0).unwrap();
    let change = RowChange::AddRemove;
    // An empty direction with probability about 3e-4.
    let profile = Profile::Wishart { dim: 2, dof: 12, bound, scale: scale(0.4), change };
    let alone = profile.log_delta(Epsilon::new(1e3).unwrap()).delta();
    assert!((1e-6..1e-2).contains(&alone), "{alone:e}");
    let run = declared(&profile, 50.0);
    let limit = |runs: f64| Budget::new(1e4, 2.0 * runs * alone * 1.001).unwrap();
    for n in [1, 3, 9] {
        // Half of the limit's delta may be set aside.
        assert!(passes(limit(n as f64), FilterRule::Renyi, &[(run.clone(), n)]), "{n}");
        assert!(!passes(limit(n as f64 - 0.1), FilterRule::Renyi, &[(run.clone(), n)]), "{n}");
    }
}

/// No finite order and nothing that can be set aside: refused, not approximated.
#[test]
fn laws_that_are_not_known_are_refused() {
    let bound = NormBound::new(1.0).unwrap();
    let change = RowChange::Replace;
    let profile = Profile::Wishart { dim: 5, dof: 400, bound, scale: scale(3.0), change };
    let budget = Budget::new(40.0, 0.5).unwrap();
    let replace = Adjacency::ReplaceRow { bound };
    let run = Guarantee::declared(replace, budget, profile, "a test", "a session").unwrap();
    let mut ledger =
        Ledger::with_limit(replace, Budget::new(50.0, 1e-3).unwrap(), FilterRule::Renyi);
    let error = ledger.spend_accepting_claim(&run, 1, "x").unwrap_err();
    assert!(matches!(error, Error::Calibration { .. }), "{error}");
    assert_eq!(ledger.entries().len(), 0);
    // No delta, nothing to convert with.
    let pure = Budget::new(50.0, 0.0).unwrap();
    assert!(!passes(pure, FilterRule::Renyi, &[(declared(&kinds()[0], 1.0), 1)]));
}
