//! Ledgers, methods and limits.

use dp_core::accounting::{Event, FilterRule, Ledger, Method, Pld, Width, epsilon};
use dp_core::authority;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::noise::{GeneratorKind, Grid, NoiseLaw};
use dp_core::*;
use proptest::prelude::*;

fn scale(x: f64) -> NoiseScale {
    NoiseScale::new(x).unwrap()
}

fn gaussian(sigma: f64) -> Profile {
    Profile::Gaussian { sensitivity: L2Sensitivity::new(1.0).unwrap(), sigma: scale(sigma) }
}

fn laplace(b: f64) -> Profile {
    Profile::Laplace {
        sensitivity: L1Sensitivity::new(1.0).unwrap(),
        scale: LaplaceScale::new(b).unwrap(),
    }
}

fn response(eps0: f64) -> Profile {
    let keep = Probability::new(1.0 / (1.0 + (-eps0).exp())).unwrap();
    Profile::RandomizedResponse { bits: 1, keep }
}

fn row(bound: f64) -> Adjacency {
    Adjacency::RowShift { l2: Shift::new(bound).unwrap() }
}

fn delta(x: f64) -> Delta {
    Delta::new(x).unwrap()
}

fn proven(profile: Profile, epsilon: f64) -> Guarantee {
    let ln = profile.log_delta(Epsilon::new(epsilon).unwrap());
    let budget = Budget::new(epsilon, (ln.delta() * (1.0 + 1e-9)).min(0.999)).unwrap();
    let theorem = match profile {
        Profile::Laplace { .. } => Theorem::ProjectionLaplace,
        Profile::ChiMixtureGaussian { .. } => Theorem::ProjectionFresh,
        _ => Theorem::ProjectionGaussian,
    };
    authority!().proven(row(1.0), budget, profile, theorem).unwrap()
}

fn upper(events: &[Event], method: Method) -> f64 {
    epsilon(events, delta(1e-6), method).unwrap().upper.get()
}

#[test]
fn methods_stand_in_the_order_their_knowledge_allows() {
    let events = [Event::new(gaussian(20.0), 1000).unwrap()];
    let exact = 8.30622504995;
    let gdp = epsilon(&events, delta(1e-6), Method::Gdp).unwrap();
    assert!((gdp.upper.get() / exact - 1.0).abs() < 1e-8 && gdp.lower.unwrap() <= gdp.upper);
    let (pld, rdp, zcdp) =
        (upper(&events, Method::Pld), upper(&events, Method::Rdp), upper(&events, Method::Zcdp));
    // A peer's Renyi accountant, with a fixed list of orders, answers 8.8468744.
    assert!(exact <= pld * (1.0 + 1e-9) && pld < rdp && rdp <= 8.8468744 * (1.0 + 1e-6), "{rdp}");
    assert!((rdp / zcdp - 1.0).abs() < 1e-6);
    assert!(upper(&events, Method::OptimalPure) > rdp);
    assert!(upper(&events, Method::Advanced) > upper(&events, Method::OptimalPure));
    assert!(upper(&events, Method::Basic) > upper(&events, Method::OptimalPure));
}

/// Shares of delta add up to no more than it: of runs that are nothing below a delta each, all are refused where they would need a
/// little more than there is.
#[test]
fn shares_of_delta_add_up_to_no_more() {
    let known = Profile::ApproximateDp { epsilon: Epsilon::new(1.0).unwrap(), delta: delta(1e-6) };
    for runs in [1, 3, 7] {
        let events = [Event::new(known.clone(), runs).unwrap()];
        let at = |share: f64| epsilon(&events, delta(runs as f64 * 1e-6 * share), Method::Basic);
        let (enough, less) = (at(1.0 + 1e-9).unwrap().upper.get(), at(1.0 - 3e-13));
        assert!((enough / runs as f64 - 1.0).abs() < 1e-9, "{runs}: {enough}");
        assert!(
            less.as_ref().is_ok_and(|e| e.upper.get() > 2.0 * enough) || less.is_err(),
            "{less:?}"
        );
    }
}

#[test]
fn responses_compose_by_count_as_they_do_one_by_one() {
    // A peer's accountant ignores the count here: 0.1001 instead of 8.339.
    let truth = 8.33903451379;
    let counted = [Event::new(response(0.1), 256).unwrap()];
    let single = vec![Event::once(response(0.1)); 256];
    for events in [&counted[..], &single[..]] {
        let b = epsilon(events, delta(1e-6), Method::Pld).unwrap();
        assert!(b.lower.unwrap().get() <= truth * (1.0 + 1e-11));
        assert!((b.upper.get() / truth - 1.0).abs() < 1e-9, "{b:?}");
        // Optimal composition of pure mechanisms is exact for responses.
        let kov = upper(events, Method::OptimalPure);
        assert!((kov / truth - 1.0).abs() < 1e-9, "{kov}");
        for method in Method::ALL {
            assert!(upper(events, method) >= truth * (1.0 - 1e-9), "{method:?}");
        }
    }
}

#[test]
fn conversion_through_zcdp_costs_noise() {
    // Sigma for sensitivity 1: exact, and what conversion through zCDP needs.
    for (eps, d, exact, peer) in [
        (0.0001, 1e-3, 380.237656246, 572.345974576),
        (0.1, 1e-5, 30.749566132, 33.9816293592),
        (1.0, 1e-6, 4.22467888933, 4.53087711704),
        (100.0, 1e-6, 0.0978372239744, 0.100457355791),
    ] {
        let at = |sigma: f64, method| {
            let events = [Event::once(gaussian(sigma))];
            epsilon(&events, delta(d), method).unwrap().upper.get()
        };
        assert!((at(exact, Method::Pld) - eps).abs() < 1e-4 * eps + 1e-6);
        assert!((at(exact, Method::Gdp) / eps - 1.0).abs() < 1e-8);
        assert!(at(exact, Method::Zcdp) > eps * 1.01, "zCDP is lossy at {eps}");
        // The peer's sigma is what our own conversion finds as well.
        assert!((at(peer, Method::Zcdp) / eps - 1.0).abs() < 1e-3, "{}", at(peer, Method::Zcdp));
    }
}

#[test]
fn ledgers_check_before_they_change() {
    let mut ledger = Ledger::new(row(1.0));
    let guarantee = proven(gaussian(4.0), 1.0);
    ledger.spend(&guarantee, 3, "projection").unwrap();
    let before = serde_json::to_string(&ledger).unwrap();
    let theorem = Theorem::ProjectionGaussian;
    let attribute = Adjacency::Attribute { beta: Shift::new(2.0).unwrap() };
    let other = authority!().proven(attribute, guarantee.budget(), gaussian(4.0), theorem).unwrap();
    assert!(matches!(ledger.spend(&other, 1, "x"), Err(Error::Mismatch { .. })));
    assert!(ledger.spend(&guarantee, 0, "x").is_err());
    let claim = authority!()
        .published(
            row(1.0),
            Budget::new(0.5, 1e-7).unwrap(),
            None,
            "rule",
            "paper",
            "the proof covers one release",
        )
        .unwrap();
    assert!(ledger.spend(&claim, 1, "x").is_err());
    assert_eq!(serde_json::to_string(&ledger).unwrap(), before);
    let alone = ledger.epsilon(delta(1e-6), Method::Pld).unwrap();
    ledger.spend_accepting_claim(&claim, 1, "window").unwrap();
    let with = ledger.epsilon(delta(1e-6), Method::Pld).unwrap();
    assert_eq!(with.lower, None);
    assert!(with.upper > alone.upper);
    assert!(ledger.epsilon(delta(1e-8), Method::Pld).is_err(), "the claim alone has 1e-7");
    let text = ledger.to_string();
    assert!(text.contains("3 x projection") && text.contains("accepted by name"), "{text}");
}

/// Twenty different events are composed as narrowly as one, more of them in wider cells: from above all the same.
#[test]
fn many_different_events_are_composed_in_wider_cells() {
    let event = |i: u32| Event::new(laplace(30.0 + f64::from(i)), 1).unwrap();
    let (at, mut events) = (delta(1e-6), (0..20).map(event).collect::<Vec<_>>());
    let found = |events: &[Event]| epsilon(events, at, Method::Pld).unwrap();
    assert_eq!(found(&events), Pld::new(&events).epsilon(at).unwrap());
    events.push(event(20));
    let narrow = Pld::new(&events);
    let wide = narrow.clone().with_width(Width::new(1e-4).unwrap()).epsilon(at).unwrap();
    assert_eq!(found(&events), wide);
    let (wide, narrow) = (wide.upper.get(), narrow.epsilon(at).unwrap().upper.get());
    assert!(wide != narrow && (wide / narrow - 1.0).abs() < 1e-3, "{wide}, {narrow}");
}

#[test]
fn ledgers_survive_json_and_refuse_altered_ones() {
    let mut ledger =
        Ledger::with_limit(row(1.0), Budget::new(3.0, 1e-5).unwrap(), FilterRule::Zcdp);
    ledger.spend(&proven(gaussian(8.0), 0.5), 4, "a").unwrap();
    ledger.spend(&proven(laplace(20.0), 0.02), 2, "b").unwrap();
    let text = serde_json::to_string(&ledger).unwrap();
    assert_eq!(serde_json::from_str::<Ledger>(&text).unwrap(), ledger);
    let less_noise = text.replace("\"sigma\":8.0", "\"sigma\":4.0");
    assert_ne!(less_noise, text);
    assert!(serde_json::from_str::<Ledger>(&less_noise).is_err());
    let more_runs = text.replace("\"count\":4", "\"count\":4000");
    assert_ne!(more_runs, text);
    assert!(serde_json::from_str::<Ledger>(&more_runs).is_err());
    // Entries cleared, one taken out, two exchanged, the limit raised, the digest gone.
    let whole: serde_json::Value = serde_json::from_str(&text).unwrap();
    let edited = |edit: &dyn Fn(&mut serde_json::Value)| {
        let mut value = whole.clone();
        edit(&mut value);
        assert_ne!(value, whole);
        let refused = serde_json::from_str::<Ledger>(&value.to_string());
        assert!(refused.is_err(), "{value}");
    };
    let entries = |v: &mut serde_json::Value, f: &dyn Fn(&mut Vec<serde_json::Value>)| {
        f(v["entries"].as_array_mut().unwrap());
    };
    edited(&|v| entries(v, &|list| list.clear()));
    edited(&|v| entries(v, &|list| drop(list.pop())));
    edited(&|v| entries(v, &|list| list.swap(0, 1)));
    edited(&|v| v["filter"]["limit"]["epsilon"] = 30.0.into());
    edited(&|v| v["filter"] = serde_json::Value::Null);
    edited(&|v| drop(v.as_object_mut().unwrap().remove("digest")));
    let none = text.replace("\"count\":4", "\"count\":0");
    assert!(serde_json::from_str::<Ledger>(&none).is_err());
}

#[test]
fn a_limit_refuses_the_run_that_would_pass_it() {
    let limit = Budget::new(2.0, 1e-5).unwrap();
    let mut counts = Vec::new();
    for rule in [FilterRule::Basic, FilterRule::Zcdp, FilterRule::Gdp] {
        let mut ledger = Ledger::with_limit(row(1.0), limit, rule);
        let guarantee = proven(gaussian(30.0), 0.15);
        let mut runs = 0;
        let error = loop {
            match ledger.spend(&guarantee, 1, "run") {
                Ok(()) => runs += 1,
                Err(error) => break error,
            }
            assert!(runs < 10_000);
        };
        assert!(matches!(error, Error::BudgetExceeded { .. }), "{error}");
        assert_eq!(ledger.entries().len(), runs);
        let spent = ledger.epsilon(limit.delta, Method::Pld).unwrap();
        assert!(spent.lower.unwrap() <= limit.epsilon, "{rule:?}");
        counts.push(runs);
    }
    // Each rule knows more than the one before.
    assert!(counts[0] < counts[1] && counts[1] < counts[2], "{counts:?}");
}

fn certificate(sigma: f64, guarantee: Guarantee, generator: GeneratorKind) -> Certificate {
    let noise = NoiseLaw::RoundedGaussian { sigma: scale(sigma), grid: Grid::new(-30).unwrap() };
    let public = PublicParameters::new();
    let statement = Statement { mechanism: "projection".into(), noise, generator, public };
    authority!().certificate(statement, guarantee)
}

#[test]
fn refused_certificates_do_not_enter() {
    let mut ledger = Ledger::new(row(1.0));
    let wrong = certificate(3.0, proven(gaussian(4.0), 1.0), GeneratorKind::OsChacha12);
    assert!(matches!(ledger.add(&wrong, "wrong"), Err(Error::CertificateRejected { .. })));
    assert!(ledger.entries().is_empty());
    let right = certificate(4.0, proven(gaussian(4.0), 1.0), GeneratorKind::OsChacha12);
    ledger.add(&right, "projection").unwrap();
    assert_eq!(ledger.entries()[0].label(), "projection");
}

/// Noise that anyone can subtract, or an average over a seed somebody knew, is no expense that
/// holds: such certificates verify, and are refused.
#[test]
fn known_randomness_does_not_enter() {
    let chi = Profile::ChiMixtureGaussian {
        k: 6,
        entry_shift: L2Sensitivity::new(0.42).unwrap(),
        sigma: scale(4.0),
        later_mu: 0.0,
    };
    let (system, known) = (SeedOrigin::OperatingSystem, SeedOrigin::ReproducibleNotPrivate);
    let (os, test) = (GeneratorKind::OsChacha12, GeneratorKind::DeterministicNotPrivate);
    for (profile, generator, origin, refused) in [
        (gaussian(4.0), os, None, None),
        (gaussian(4.0), test, None, Some("generator")),
        (chi.clone(), os, Some(system.name()), None),
        (chi.clone(), test, Some(system.name()), Some("generator")),
        (chi.clone(), os, Some(known.name()), Some("seed origin")),
        (chi.clone(), os, Some("the operating system, trust me"), Some("seed origin")),
        (chi, os, None, Some("seed origin")),
    ] {
        let mut public = PublicParameters::new();
        if let Some(origin) = origin {
            public.insert(SeedOrigin::KEY.into(), origin.into());
        }
        let noise = NoiseLaw::RoundedGaussian { sigma: scale(4.0), grid: Grid::new(-30).unwrap() };
        let statement = Statement { mechanism: "projection".into(), noise, generator, public };
        let certificate = authority!().certificate(statement, proven(profile, 1.0));
        certificate.verify_consistency().unwrap();
        assert_eq!(certificate.verify().is_ok(), refused.is_none());
        let mut ledger = Ledger::new(row(1.0));
        match (ledger.add(&certificate, "projection"), refused) {
            (Ok(()), None) => assert_eq!(ledger.entries().len(), 1),
            (Err(Error::CertificateRejected { field, reason }), Some(word)) => {
                assert!(field == word || reason.contains(word), "{field}: {reason}");
                assert!(ledger.entries().is_empty());
            }
            (found, _) => panic!("{generator:?}, {origin:?}: {found:?}"),
        }
    }
}

/// A limit is for what comes: what has happened is entered, and counts from then on.
#[test]
fn what_has_happened_is_entered_even_past_the_limit() {
    use dp_core::accounting::Standing;
    let limit = Budget::new(1.5, 1e-5).unwrap();
    let mut ledger = Ledger::with_limit(row(1.0), limit, FilterRule::Basic);
    let guarantee = authority!()
        .proven(
            row(1.0),
            Budget::new(1.0, 1e-6).unwrap(),
            gaussian(4.3),
            Theorem::ProjectionGaussian,
        )
        .unwrap();
    let release = certificate(4.3, guarantee.clone(), GeneratorKind::OsChacha12);
    assert_eq!(ledger.record(&release, "first").unwrap(), Standing::Kept);
    for label in ["second", "third"] {
        let standing = ledger.record(&release, label).unwrap();
        assert!(matches!(standing, Standing::Passed(Error::BudgetExceeded { .. })), "{standing:?}");
    }
    assert_eq!(ledger.entries().len(), 3);
    assert!(ledger.spend(&guarantee, 1, "fourth").is_err());
    assert!(ledger.add(&release, "again").is_err());
    // It survives its file, although the limit is passed.
    let text = serde_json::to_string(&ledger).unwrap();
    assert_eq!(serde_json::from_str::<Ledger>(&text).unwrap(), ledger);
    // Releases nobody can count are not recorded either.
    let known = certificate(4.3, guarantee, GeneratorKind::DeterministicNotPrivate);
    assert!(ledger.record(&known, "known").is_err());
    assert_eq!(ledger.entries().len(), 3);
}

/// What is declared is taken by name only.
#[test]
fn what_is_not_proven_enters_by_name_only() {
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let declared =
        Guarantee::declared(row(1.0), budget, gaussian(4.3), "the caller", "own sum").unwrap();
    let mut ledger = Ledger::new(row(1.0));
    let release = certificate(4.3, declared.clone(), GeneratorKind::OsChacha12);
    release.verify_consistency().unwrap();
    let error = release.verify().unwrap_err().to_string();
    assert!(error.contains("guarantee.provenance"), "{error}");
    let error = ledger.spend(&declared, 1, "x").unwrap_err().to_string();
    assert!(error.contains("by name"), "{error}");
    assert!(ledger.add(&release, "again").is_err());
    let before = ledger.entries().len();
    ledger.spend_accepting_claim(&declared, 1, "x").unwrap();
    assert_eq!(ledger.entries().len(), before + 1);
    assert!(ledger.entries()[before].label().contains("by name"));
    let text = serde_json::to_string(&ledger).unwrap();
    assert_eq!(serde_json::from_str::<Ledger>(&text).unwrap(), ledger);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// What was released in another order, or entered run by run, costs the same by every method: to rounding, but for those
    /// that compose losses on a grid, whose lines depend on what comes first.
    #[test]
    fn composition_commutes(
        sigma in 2.0..40.0_f64, b in 3.0..40.0_f64, eps0 in 0.01..0.5_f64,
        runs in 2u64..20, exponent in -12.0..-2.0_f64, turn in 0usize..4,
    ) {
        let d = delta(10f64.powf(exponent));
        let event = |profile, n| Event::new(profile, n).unwrap();
        let list = [
            event(gaussian(sigma), runs),
            event(laplace(b), 1),
            event(response(eps0), runs),
            event(gaussian(2.0 * sigma), 3),
        ];
        let mut others = list.clone();
        others.rotate_left(turn);
        others[1..].reverse();
        let mut one_by_one = list[1..].to_vec();
        one_by_one.extend((0..runs).map(|_| event(gaussian(sigma), 1)));
        for method in Method::ALL {
            let answer = epsilon(&list, d, method).unwrap().upper.get();
            let on_a_grid = matches!(method, Method::Pld | Method::OptimalPure);
            let near = if on_a_grid { 2e-3 * answer + 1e-6 } else { 1e-9 * answer };
            for other in [others.as_slice(), &one_by_one] {
                let other = epsilon(other, d, method).unwrap().upper.get();
                prop_assert!((other - answer).abs() <= near, "{:?}: {} and {}", method, answer, other);
            }
        }
    }

    /// No method goes below the numerical bracket's lower end, and more runs cost more.
    #[test]
    fn no_method_is_below_the_truth(
        sigma in 2.0..40.0_f64, b in 3.0..40.0_f64, eps0 in 0.01..0.5_f64,
        runs in 1u64..40, exponent in -12.0..-2.0_f64,
    ) {
        let d = delta(10f64.powf(exponent));
        let list = |n| [
            Event::new(gaussian(sigma), n).unwrap(),
            Event::new(laplace(b), n).unwrap(),
            Event::new(response(eps0), n).unwrap(),
        ];
        // Laplace noise is exact in one coordinate alone, so the bracket is of the others.
        let exact = [list(runs)[0].clone(), list(runs)[2].clone()];
        let bracket = epsilon(&exact, d, Method::Pld).unwrap();
        let low = bracket.lower.unwrap();
        prop_assert!(low <= bracket.upper);
        prop_assert!(bracket.upper.get() <= low.get() * 1.002 + 1e-6, "{bracket:?}");
        let back = Pld::new(&exact).log_delta(bracket.upper);
        prop_assert!(back.lower.unwrap() <= d.ln());
        let bracket = epsilon(&list(runs), d, Method::Pld).unwrap();
        prop_assert_eq!(bracket.lower, None);
        let low = Epsilon::new((bracket.upper.get() - 1e-6) / 1.002).unwrap_or(Epsilon::ZERO);
        for method in Method::ALL {
            let answer = epsilon(&list(runs), d, method).unwrap().upper;
            prop_assert!(answer >= low, "{:?}: {} < {}", method, answer, low);
        }
        let more = epsilon(&list(runs + 1), d, Method::Pld).unwrap();
        prop_assert!(more.upper >= low);
    }
}
