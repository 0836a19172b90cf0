//! Guarantees made elsewhere: what a ledger makes of them, and what it hands on.

use dp_core::accounting::{Event, Filter, FilterRule, Foreign, Ledger, Method, Pld, Stated};
use dp_core::profile::CoordinateProfile;
use dp_core::{
    Adjacency, Budget, Delta, Epsilon, Guarantee, L1Sensitivity, L2Sensitivity, LaplaceScale,
    NoiseScale, PrivacyProfile, Probability, Profile, Provenance, Shift, Theorem, authority,
};

fn row() -> Adjacency {
    serde_json::from_str(r#"{"kind": "add-remove-row", "bound": 1.0}"#).unwrap()
}

fn delta(x: f64) -> Delta {
    Delta::new(x).unwrap()
}

fn foreign(stated: &str) -> dp_core::Result<Foreign> {
    Foreign::from_json(&format!(
        r#"{{"form": "dp-guarantee/1", "adjacency": {{"kind": "add-remove-row", "bound": 1.0}},
            "declared by": "them", "reason": "a test", "guarantee": {stated}}}"#
    ))
}

fn declared(profile: Profile, epsilon: f64) -> Guarantee {
    let epsilon = Epsilon::new(epsilon).unwrap();
    let delta = Delta::new(profile.log_delta(epsilon).delta() * 1.001).unwrap();
    Guarantee::declared(row(), Budget { epsilon, delta }, profile, "a test", "its noise").unwrap()
}

/// Rhos that were declared add up in a limit by rho: 0.1 and 0.1 are 0.2, which at delta 1e-6 is epsilon 3.13106
/// (Canonne, Kamath, Steinke 2020, proposition 12, by a search over orders in another language).
#[test]
fn declared_rhos_add_up_in_a_limit_by_rho() {
    let run = foreign(r#"{"kind": "zcdp", "rho": 0.1}"#).unwrap().guarantee(Some(delta(1e-6)));
    let run = run.unwrap();
    for (limit, fits) in [(3.1311, true), (3.1310, false)] {
        let limit = Budget::new(limit, 1e-6).unwrap();
        let mut ledger = Ledger::with_limit(row(), limit, FilterRule::Zcdp);
        ledger.spend_accepting_claim(&run, 1, "theirs").unwrap();
        assert_eq!(ledger.spend_accepting_claim(&run, 1, "theirs").is_ok(), fits);
    }
}

#[test]
fn stated_guarantees_enter_as_declared() {
    for (stated, at) in [
        (r#"{"kind": "approximate-dp", "epsilon": 0.5, "delta": 1e-7}"#, None),
        (r#"{"kind": "approximate-dp", "epsilon": 0.5, "delta": 0.0}"#, None),
        (r#"{"kind": "zcdp", "rho": 0.1}"#, Some(1e-6)),
        (r#"{"kind": "gaussian-dp", "mu": 0.4}"#, Some(1e-6)),
        (
            r#"{"kind": "loss-distribution", "step": 0.25,
                "ways": [{"first": -1, "masses": [0.3, 0.3, 0.39], "infinite": 0.01}]}"#,
            Some(0.02),
        ),
    ] {
        let read = foreign(stated).unwrap();
        assert_eq!(Foreign::from_json(&read.to_json()).unwrap(), read);
        let guarantee = read.guarantee(at.map(delta)).unwrap();
        let by = matches!(guarantee.provenance(), Provenance::Declared { by, .. } if by == "them");
        assert!(by, "{stated}");
        let pure = matches!(guarantee.profile(), Some(Profile::PureDp { .. }));
        assert_eq!(pure, stated.contains(r#""delta": 0.0"#), "{stated}");
        // The other way of stating a delta is refused.
        assert!(
            read.guarantee(if at.is_some() { None } else { Some(delta(1e-6)) }).is_err(),
            "{stated}"
        );
        let mut ledger = Ledger::new(row());
        assert!(ledger.spend(&guarantee, 2, "theirs").is_err(), "not without accepting the word");
        ledger.spend_accepting_claim(&guarantee, 2, "theirs").unwrap();
        let budget = guarantee.budget();
        let twice = 2.0 * budget.epsilon.get() * 1.01;
        let both = delta((2.0 * budget.delta.get()).max(1e-5));
        for method in [Method::Basic, Method::Pld] {
            let found = ledger.epsilon(both, method).unwrap().upper.get();
            assert!(found <= twice, "{stated} by {method:?}: {found} above {twice}");
        }
        // An own accountant's statement comes back as it was.
        assert_eq!(Foreign::of(&guarantee).unwrap().stated, read.stated);
    }
}

/// Rhos add up: by zCDP, by Renyi divergences, and under a limit.
#[test]
fn concentrated_guarantees_compose_as_such() {
    let guarantee =
        foreign(r#"{"kind": "zcdp", "rho": 0.02}"#).unwrap().guarantee(Some(delta(1e-6)));
    let mut ledger = Ledger::new(row());
    ledger.spend_accepting_claim(&guarantee.unwrap(), 50, "theirs").unwrap();
    let one =
        foreign(r#"{"kind": "zcdp", "rho": 1.0}"#).unwrap().guarantee(Some(delta(1e-6))).unwrap();
    for method in [Method::Zcdp, Method::Rdp, Method::Pld] {
        let found = ledger.epsilon(delta(1e-6), method).unwrap().upper.get();
        let expected = one.budget().epsilon.get();
        // Between its points an envelope is a chord.
        assert!((found / expected - 1.0).abs() < 0.02, "{method:?}: {found} for {expected}");
    }
    // Different ones add up too.
    let mut mixed = Ledger::new(row());
    for (rho, runs) in [(0.02, 25), (0.05, 6), (0.1, 2)] {
        let text = format!(r#"{{"kind": "zcdp", "rho": {rho}}}"#);
        let guarantee = foreign(&text).unwrap().guarantee(Some(delta(1e-6))).unwrap();
        mixed.spend_accepting_claim(&guarantee, runs, "theirs").unwrap();
    }
    let found = mixed.epsilon(delta(1e-6), Method::Pld).unwrap().upper.get();
    assert!((found / one.budget().epsilon.get() - 1.0).abs() < 0.02, "{found}");
    let limit = Budget::new(4.0, 1e-6).unwrap();
    let mut limited = Ledger::with_limit(row(), limit, FilterRule::Zcdp);
    assert!(matches!(limited.filter(), Some(Filter { .. })));
    let rho = |rho: f64| foreign(&format!(r#"{{"kind": "zcdp", "rho": {rho}}}"#)).unwrap();
    let small = rho(0.1).guarantee(Some(delta(1e-6))).unwrap();
    limited.spend_accepting_claim(&small, 2, "theirs").unwrap();
    assert!(limited.spend_accepting_claim(&small, 10, "theirs").is_err());
}

/// What is handed on is never below the composition and near it, and comes back as the same.
#[test]
fn a_composition_is_handed_on_from_above() {
    let keep = Probability::new(0.75).unwrap();
    let coordinate = CoordinateProfile::RandomizedResponse { keep };
    let (l1, scale) = (L1Sensitivity::new(1.0).unwrap(), LaplaceScale::new(2.0).unwrap());
    let profiles = [
        Profile::Laplace { sensitivity: l1, scale },
        Profile::RandomizedResponse { bits: 3, keep },
        Profile::BinomialMixture {
            trials: 5,
            probability: Probability::new(0.1).unwrap(),
            coordinate,
        },
        Profile::ApproximateDp { epsilon: Epsilon::new(0.3).unwrap(), delta: delta(1e-8) },
    ];
    let mut ledger = Ledger::new(row());
    for profile in profiles {
        let guarantee = declared(profile, 0.4);
        ledger.spend_accepting_claim(&guarantee, 2, "theirs").unwrap();
    }
    let handed = Foreign::of_ledger(&ledger).unwrap();
    assert!(handed.to_json().len() < 1 << 19, "{}", handed.to_json().len());
    let back = Foreign::from_json(&handed.to_json()).unwrap();
    let events: Vec<Event> = ledger.entries().iter().map(|e| e.event().clone()).collect();
    for target in [1e-3, 1e-5, 1e-7] {
        let exact = Pld::new(&events).epsilon(delta(target)).unwrap().upper.get();
        let found = back.guarantee(Some(delta(target))).unwrap().budget().epsilon.get();
        assert!(
            found >= exact * (1.0 - 1e-4) && found <= exact * 1.01,
            "{target}: {found} for {exact}"
        );
    }
    // Gaussian steps are one.
    let mut ledger = Ledger::new(row());
    let (sensitivity, sigma) = (L2Sensitivity::new(1.0).unwrap(), NoiseScale::new(5.0).unwrap());
    ledger
        .spend_accepting_claim(&declared(Profile::Gaussian { sensitivity, sigma }, 0.5), 4, "x")
        .unwrap();
    let Stated::GaussianDp { mu } = Foreign::of_ledger(&ledger).unwrap().stated else {
        panic!("Gaussian")
    };
    assert!((mu - 0.4).abs() < 1e-12 && mu >= 0.4, "{mu}");
}

/// Other programs know neither where noise comes from nor what a change was before the rows were mapped.
#[test]
fn releases_are_handed_on_as_they_are_counted_here() {
    use dp_core::certificate::preprocessing::{ColumnMap, Preprocessing};
    use dp_core::certificate::{PublicParameters, Statement};
    use dp_core::noise::{GeneratorKind, Grid, NoiseLaw};
    let beta = |beta| Adjacency::Attribute { beta: Shift::new(beta).unwrap() };
    let sigma = NoiseScale::new(4.0).unwrap();
    let grid = Grid::new(-30).unwrap();
    let sensitivity = L2Sensitivity::new(1.0).unwrap();
    let profile = Profile::Gaussian { sensitivity, sigma };
    let budget = Budget::new(1.0, 0.1).unwrap();
    let guarantee =
        authority!().proven(beta(1.0), budget, profile, Theorem::ProjectionGaussian).unwrap();
    let release = |generator, scale: Option<f64>| {
        let mut public = PublicParameters::from([("d".to_owned(), 2_u64.into())]);
        if let Some(scale) = scale {
            let default =
                ColumnMap { low: None, high: None, shift: None, scale: Some(scale), missing: None };
            let map = Preprocessing { columns: vec![], d: 2, default };
            public.insert(Preprocessing::KEY.into(), map.text().into());
        }
        let noise = NoiseLaw::RoundedGaussian { sigma, grid };
        let statement = Statement { mechanism: "a test".into(), noise, generator, public };
        let certificate = authority!().certificate(statement, guarantee.clone());
        Guarantee::try_from(&certificate).and_then(|guarantee| Foreign::of(&guarantee))
    };
    let secret = GeneratorKind::OsChacha12;
    assert_eq!(release(secret, None).unwrap(), Foreign::of(&guarantee).unwrap());
    let known = release(GeneratorKind::DeterministicNotPrivate, None).unwrap_err();
    assert!(known.to_string().contains("known number"), "{known}");
    let error = release(secret, Some(100.0)).unwrap_err().to_string();
    assert!(error.contains("100") && error.contains("ledger record"), "{error}");
    // A map that makes no change larger.
    assert_eq!(release(secret, Some(0.5)).unwrap(), Foreign::of(&guarantee).unwrap());
}

/// The delta of a group whose factor is no number is no delta.
#[test]
fn claims_of_large_epsilon_are_not_counted_as_one_step() {
    let beta = |beta| Adjacency::Attribute { beta: Shift::new(beta).unwrap() };
    let claim = |epsilon| {
        let budget = Budget::new(epsilon, 1e-6).unwrap();
        authority!().published(beta(1.0), budget, None, "a rule", "a paper", "none").unwrap()
    };
    for epsilon in [14.0, 300.0, 355.0, 500.0, 709.0, 710.0, 1e4, 1e6] {
        let mut ledger = Ledger::new(beta(2.0));
        let refused = ledger.spend_accepting_claim(&claim(epsilon), 1, "a claim");
        assert!(refused.is_err(), "{epsilon}: 1e-6 (1 + e^{epsilon}) is above one");
    }
    // Two steps: delta (1 + e^epsilon), and twice delta where epsilon is next to nothing.
    for (epsilon, expected) in [(2.0f64, 1e-6 * (1.0 + 2f64.exp())), (1e-99, 2e-6)] {
        let mut ledger = Ledger::new(beta(2.0));
        ledger.spend_accepting_claim(&claim(epsilon), 1, "a claim").unwrap();
        let at = |share: f64| ledger.epsilon(delta(expected * share), Method::Basic);
        assert!(at(1.0 - 1e-6).is_err() && at(1.0 + 1e-6).is_ok(), "{epsilon}");
    }
}

#[test]
fn malformed_guarantees_are_refused() {
    for bad in [
        r#"{"kind": "approximate-dp", "epsilon": 0.5, "delta": 1.0}"#,
        r#"{"kind": "approximate-dp", "epsilon": -1, "delta": 0}"#,
        r#"{"kind": "zcdp", "rho": 0}"#,
        r#"{"kind": "zcdp", "rho": 1e7}"#,
        r#"{"kind": "gaussian-dp", "mu": -1}"#,
        r#"{"kind": "renyi", "order": 2, "epsilon": 1}"#,
        r#"{"kind": "loss-distribution", "step": 0.1, "ways": []}"#,
        r#"{"kind": "loss-distribution", "step": 1e9, "ways": [{"first": 0, "masses": [1], "infinite": 0}]}"#,
        r#"{"kind": "loss-distribution", "step": 0.1, "ways": [{"first": 9007199254740993, "masses": [1.0], "infinite": 0.0}]}"#,
        r#"{"kind": "loss-distribution", "step": 0.1, "ways": [{"first": 0, "masses": [0.9, 0.2], "infinite": 0.0}]}"#,
        // Losses of no two laws: a sign that somebody forgot.
        r#"{"kind": "loss-distribution", "step": 1.0, "ways": [{"first": -5, "masses": [0.9, 0.0, 0.0, 0.0, 0.0, 0.1], "infinite": 0.0}]}"#,
        r#"{"kind": "loss-distribution", "step": 1.0, "ways": [{"first": -9000, "masses": [1e-300], "infinite": 1.0}]}"#,
    ] {
        assert!(foreign(bad).is_err(), "{bad}");
    }
    let cells = vec!["1e-9"; (1 << 14) + 1].join(",");
    let long = format!(
        r#"{{"kind": "loss-distribution", "step": 0.1, "ways": [{{"first": 0, "masses": [{cells}], "infinite": 1.0}}]}}"#
    );
    assert!(foreign(&long).is_err());
    assert!(Foreign::from_json(&" ".repeat((1 << 20) + 1)).is_err());
}
