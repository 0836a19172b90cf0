//! Ledgers at their edges: counts, deltas that are nearly too much, and what is said of entries.

use dp_core::accounting::{Event, FilterRule, Foreign, Ledger, Method, Stated, epsilon};
use dp_core::profile::RowChange;
use dp_core::*;

fn row() -> Adjacency {
    Adjacency::RowShift { l2: Shift::new(1.0).unwrap() }
}

fn delta(x: f64) -> Delta {
    Delta::new(x).unwrap()
}

fn scale(x: f64) -> NoiseScale {
    NoiseScale::new(x).unwrap()
}

fn gaussian(mu: f64, sigma: f64) -> Profile {
    Profile::Gaussian { sensitivity: L2Sensitivity::new(mu).unwrap(), sigma: scale(sigma) }
}

fn pure(epsilon: f64) -> Profile {
    Profile::PureDp { epsilon: Epsilon::new(epsilon).unwrap() }
}

fn stated(profile: Profile, epsilon: f64, delta: f64) -> Guarantee {
    let budget = Budget::new(epsilon, delta).unwrap();
    Guarantee::declared(row(), budget, profile, "somebody", "a test").unwrap()
}

fn claim(epsilon: f64, delta: f64) -> Guarantee {
    let budget = Budget::new(epsilon, delta).unwrap();
    authority!().published(row(), budget, None, "rule", "paper", "one release").unwrap()
}

fn limited(epsilon: f64, delta: f64, rule: FilterRule) -> Ledger {
    Ledger::with_limit(row(), Budget::new(epsilon, delta).unwrap(), rule)
}

fn would_spend(refused: Result<()>) -> Budget {
    match refused.unwrap_err() {
        Error::BudgetExceeded { would_spend, .. } => would_spend,
        other => panic!("{other}"),
    }
}

#[test]
fn no_more_than_two_to_the_forty_runs_are_counted() {
    let once = stated(pure(1e-15), 1e-15, 0.0);
    let mut ledger = Ledger::new(row());
    ledger.spend_accepting_claim(&once, (1 << 40) - 1, "most").unwrap();
    ledger.spend_accepting_claim(&once, 1, "the last").unwrap();
    let refused = ledger.spend_accepting_claim(&once, 1, "too many").unwrap_err();
    assert!(refused.to_string().contains("[0, 2^40]"), "{refused}");
    assert_eq!(ledger.entries().len(), 2);
    // Nor do more fit under a limit, whatever it is.
    let mut ledger = limited(10.0, 1e-6, FilterRule::Basic);
    ledger.spend_accepting_claim(&once, 3, "three").unwrap();
    assert_eq!(ledger.more(None, FilterRule::Basic).unwrap(), ((1 << 40) - 3) / 3);
    let mut ledger = limited(10.0, 1e-6, FilterRule::Basic);
    ledger.spend_accepting_claim(&once, 1 << 39, "half").unwrap();
    assert_eq!(ledger.more(None, FilterRule::Basic).unwrap(), 1);
    ledger.spend_accepting_claim(&once, 1 << 39, "half").unwrap();
    assert_eq!(ledger.more(None, FilterRule::Basic).unwrap(), 0);
}

#[test]
fn how_many_more_depends_on_the_rule_that_is_asked() {
    let mut ledger = limited(3.0, 1e-6, FilterRule::Basic);
    ledger.spend_accepting_claim(&stated(pure(0.01), 0.01, 0.0), 1, "a day").unwrap();
    assert_eq!(ledger.more(None, FilterRule::Basic).unwrap(), 299);
    for rule in [FilterRule::Zcdp, FilterRule::Gdp] {
        let more = ledger.more(None, rule).unwrap();
        assert!(more > 1000, "{rule:?}: {more}");
        let mut other = limited(3.0, 1e-6, rule);
        let day = stated(pure(0.01), 0.01, 0.0);
        other.spend_accepting_claim(&day, more + 1, "days").unwrap();
        assert!(other.spend_accepting_claim(&day, 1, "one more").is_err());
    }
}

#[test]
fn entries_taken_at_their_word_are_named() {
    let mut ledger = Ledger::new(row());
    assert_eq!(ledger.at_their_word(), None);
    for n in 1..=9 {
        let guarantee = stated(pure(0.1), 0.1, 0.0);
        ledger.spend_accepting_claim(&guarantee, 1, &*format!("release {n}")).unwrap();
        let said = ledger.at_their_word().unwrap();
        assert!(said.starts_with(&format!("{n} of the entries are declared")), "{said}");
        assert_eq!(said.contains(", and others"), n == 9, "{said}");
        assert!(said.contains("release 1"), "{said}");
    }
    let refused = ledger.spend(&stated(pure(0.1), 0.1, 0.0), 1, "not by name").unwrap_err();
    assert!(refused.to_string().contains("declared by somebody"), "{refused}");
    let refused = ledger.spend(&claim(0.1, 0.0), 1, "not by name").unwrap_err();
    assert!(refused.to_string().contains("without a profile"), "{refused}");
}

/// A claim that a profile misses counts with the delta that the profile gives.
#[test]
fn a_missed_claim_counts_with_its_true_delta() {
    for (profile, claimed) in [(gaussian(1.0, 1.0), 1e-9), (gaussian(200.0, 1.0), 1e-9)] {
        let budget = Budget::new(1.0, claimed).unwrap();
        let gives = profile.log_delta(budget.epsilon).delta();
        let missed = authority!()
            .published_accepting_true_delta(row(), budget, profile, "paper", "none")
            .unwrap();
        let mut ledger = Ledger::new(row());
        ledger.spend_accepting_claim(&missed, 1, "missed").unwrap();
        let counted = ledger.entries()[0].budget().delta.get();
        assert!(counted > 1e-2 && counted < 1.0, "{counted}");
        assert!((counted / gives - 1.0).abs() < 1e-9, "{counted} for {gives}");
    }
}

#[test]
fn what_a_refused_run_would_have_spent_is_told() {
    // More than delta can be.
    let mut ledger = limited(10.0, 0.5, FilterRule::Basic);
    ledger.spend_accepting_claim(&claim(0.1, 0.4), 1, "a").unwrap();
    let spent = would_spend(ledger.spend_accepting_claim(&claim(0.1, 0.4), 2, "b"));
    assert!((spent.epsilon.get() - 0.3).abs() < 1e-12 && spent.delta.get() > 1.0 - 1e-12);
}

/// Entries of different cost stand for themselves in a limit by Renyi divergences.
#[test]
fn a_limit_by_renyi_counts_each_kind() {
    let (small, large) = (stated(pure(0.01), 0.01, 0.0), stated(pure(0.9), 0.9, 0.0));
    let mut alone = limited(9.0, 1e-6, FilterRule::Renyi);
    alone.spend_accepting_claim(&large, 1, "large").unwrap();
    let more = alone.more(None, FilterRule::Renyi).unwrap();
    assert!((1..100).contains(&more), "{more}");
    let mut mixed = limited(9.0, 1e-6, FilterRule::Renyi);
    mixed.spend_accepting_claim(&small, 1, "small").unwrap();
    assert!(mixed.spend_accepting_claim(&large, more + 2, "large").is_err());
    mixed.spend_accepting_claim(&large, more, "large").unwrap();
}

/// An average over seeds leaves out a share of them: no limit below that holds.
#[test]
fn a_limit_below_the_share_of_seeds_takes_no_average() {
    let averaged = Profile::ChiMixtureGaussian {
        k: 16,
        entry_shift: L2Sensitivity::new(0.01).unwrap(),
        sigma: scale(10.0),
        later_mu: 0.0,
    };
    let run = stated(averaged, 0.5, 1e-10);
    for (delta, fits) in [(1e-18, true), (1e-30, false)] {
        let mut ledger = limited(1.0, delta, FilterRule::Renyi);
        let spent = ledger.spend_accepting_claim(&run, 1, "run");
        let below = matches!(spent, Err(Error::BudgetExceeded { .. }));
        assert_eq!((spent.is_ok(), below), (fits, !fits), "{delta}");
    }
}

/// A sum of squares that is a hair beyond what the limit's delta allows is refused: there is room for rounding on one side only.
#[test]
fn a_limit_by_squares_leaves_room_on_the_safe_side() {
    let epsilon = Epsilon::new(30.0).unwrap();
    let allowed = gaussian(1.0, 1.0).log_delta(epsilon).delta();
    assert!(allowed > 1e-200);
    for (mu, fits) in [(1.0 - 1e-10, true), (1.0, false), (1.0 - 1e-13, false)] {
        let mut ledger = limited(30.0, allowed, FilterRule::Gdp);
        let run = stated(gaussian(mu, 1.0), 30.0, allowed * (1.0 + 1e-9));
        assert_eq!(ledger.spend_accepting_claim(&run, 1, "run").is_ok(), fits, "{mu}");
    }
}

#[test]
fn claims_leave_what_they_do_not_take_of_delta() {
    let mut ledger = Ledger::new(row());
    ledger.spend_accepting_claim(&claim(0.5, 1e-6), 1, "claim").unwrap();
    for (asked, answered) in [(1.0 + 5e-13, false), (1.0, false), (1.0 + 1e-9, true)] {
        let found = ledger.epsilon(delta(1e-6 * asked), Method::Basic);
        assert_eq!(found.is_ok(), answered, "{asked}: {found:?}");
    }
}

#[test]
fn an_average_over_seeds_has_a_least_delta() {
    let least = FreshSeed::LEAST_DELTA;
    let averaged = Profile::ChiMixtureGaussian {
        k: 16,
        entry_shift: L2Sensitivity::new(1.0).unwrap(),
        sigma: scale(1.0),
        later_mu: 0.0,
    };
    let mut ledger = Ledger::new(row());
    let given = averaged.log_delta(Epsilon::new(1.0).unwrap()).delta() * (1.0 + 1e-9);
    ledger.spend_accepting_claim(&stated(averaged, 1.0, given), 1, "averaged").unwrap();
    let asked = |d: f64| ledger.epsilon(delta(d), Method::Pld);
    assert!(asked(least).is_ok() && asked(1e-6).is_ok());
    let refused = asked(least * 0.999).unwrap_err();
    assert!(refused.to_string().contains("averages over a seed"), "{refused}");
    // Nothing is pure here, which is another reason.
    let refused = asked(0.0).unwrap_err();
    assert!(!refused.to_string().contains("averages over a seed"), "{refused}");
    // Others have none.
    let mut ledger = Ledger::new(row());
    let run = gaussian(1.0, 1.0);
    let given = run.log_delta(Epsilon::new(1.0).unwrap()).delta() * (1.0 + 1e-9);
    ledger.spend_accepting_claim(&stated(run, 1.0, given), 1, "exact").unwrap();
    assert!(ledger.epsilon(delta(least * 1e-3), Method::Pld).is_ok());
}

/// What a claim accepted by name may lose stands in a composition that is handed on, on top of the rest.
#[test]
fn a_claims_delta_is_handed_on() {
    let keep = Probability::new(0.75).unwrap();
    let response = Profile::RandomizedResponse { bits: 1, keep };
    let handed = |claimed: f64| {
        let mut ledger = Ledger::new(row());
        ledger.spend_accepting_claim(&stated(response.clone(), 2.0, 0.0), 1, "bit").unwrap();
        ledger.spend_accepting_claim(&claim(1e-9, claimed), 1, "claim").unwrap();
        match Foreign::of_ledger(&ledger).unwrap().stated {
            Stated::LossDistribution { ways, .. } => ways[0].clone(),
            other => panic!("{other:?}"),
        }
    };
    let (alone, with) = (handed(0.0), handed(0.125));
    assert!(alone.infinite < 1e-9, "{}", alone.infinite);
    assert!(with.infinite - alone.infinite > 0.125 && with.infinite < 0.1251, "{}", with.infinite);
    let scaled: Vec<f64> = alone.masses.iter().map(|p| p * 0.875).collect();
    assert_eq!(with.masses, scaled);
    // Beside Gaussian runs too, which alone are one number.
    let mut ledger = Ledger::new(row());
    let run = gaussian(1.0, 2.0);
    let given = run.log_delta(Epsilon::new(1.0).unwrap()).delta() * (1.0 + 1e-9);
    ledger.spend_accepting_claim(&stated(run.clone(), 1.0, given), 1, "run").unwrap();
    assert!(matches!(Foreign::of_ledger(&ledger).unwrap().stated, Stated::GaussianDp { .. }));
    ledger.spend_accepting_claim(&claim(1e-9, 0.125), 1, "claim").unwrap();
    let Stated::LossDistribution { ways, .. } = Foreign::of_ledger(&ledger).unwrap().stated else {
        panic!("a claim's delta is lost")
    };
    assert!(ways[0].infinite >= 0.125);
    // One run is told in units of its noise.
    let Stated::GaussianDp { mu } = Foreign::of(&stated(run, 1.0, given)).unwrap().stated else {
        panic!("Gaussian")
    };
    assert!((mu - 0.5).abs() < 1e-12 && mu >= 0.5, "{mu}");
}

/// As long as may be is read, and no longer.
#[test]
fn a_guarantee_from_elsewhere_has_a_longest_text() {
    let text = Foreign::new(row(), Stated::Zcdp { rho: 0.1 }, "them", "a test").to_json();
    let padded = |length: usize| format!("{text}{}", " ".repeat(length - text.len()));
    assert!(Foreign::from_json(&padded(1 << 20)).is_ok());
    let refused = Foreign::from_json(&padded((1 << 20) + 1)).unwrap_err();
    assert!(refused.to_string().contains("longer than"), "{refused}");
}

/// The least of both sums, and pure runs at their own epsilon.
#[test]
fn basic_composition_takes_what_costs_less() {
    let keep = Probability::new(0.6).unwrap();
    let bits = |n| Event::once(Profile::RandomizedResponse { bits: n, keep });
    let at =
        |events: &[Event], d: f64| epsilon(events, delta(d), Method::Basic).unwrap().upper.get();
    let one = 1.5f64.ln();
    assert!((at(&[bits(1)], 0.1) / one - 1.0).abs() < 1e-9);
    // Beside a Gaussian run a share of a tiny delta costs more than it saves.
    let run = Event::once(gaussian(1.0, 1.0));
    let alone = at(std::slice::from_ref(&run), 1e-12);
    let both = at(&[run, bits(2)], 1e-12);
    assert!((both / (alone + 2.0 * one) - 1.0).abs() < 1e-6, "{both}");
}

/// The numbers of `docs/LIMITATIONS.md`: a bound, and a wide one where epsilon is small.
#[test]
fn several_wishart_runs_are_counted_dearly_and_not_cheaply() {
    let once = Profile::Wishart {
        dim: 2,
        dof: 6,
        bound: NormBound::new(1.0).unwrap(),
        scale: scale(40.0),
        change: RowChange::Replace,
    };
    let runs = Profile::Repeated { profile: Box::new(once), times: 3 };
    let own = runs.epsilon(delta(1e-2)).unwrap().get();
    assert!((own - 0.011).abs() < 5e-4, "{own}");
    let events = [Event::once(runs)];
    for (method, counted) in [(Method::Basic, 0.048), (Method::Pld, 0.041)] {
        let found = epsilon(&events, delta(1e-2), method).unwrap().upper.get();
        assert!(found >= own && (found - counted).abs() < 5e-4, "{method:?}: {found}");
    }
}
