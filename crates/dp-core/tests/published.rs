//! The papers' rules: what they prescribe, and what it really gives.

use dp_core::calibrate::{self, Acceptance, PublishedRule, PublishedSetting};
use dp_core::profile::{Profile, RowChange};
use dp_core::{Adjacency, Budget, Error, L2Sensitivity, Provenance};

fn unit() -> L2Sensitivity {
    L2Sensitivity::new(1.0).unwrap()
}

fn one<B: TryFrom<f64, Error = dp_core::Error>>() -> B {
    B::try_from(1.0).unwrap()
}

fn shift() -> PublishedSetting {
    PublishedSetting::Shift { sensitivity: unit() }
}

/// Hardt & Roth, Theorem 2.6: sqrt 2 short.
#[test]
fn hardt_roth_theorem_26_misses_its_claim() {
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let rule = PublishedRule::HardtRothTheorem26;
    let refused = rule.calibrate(budget, shift(), Acceptance::RequireTarget).unwrap_err();
    let Error::RuleMissesBudget { true_delta, .. } = &refused else { panic!("{refused}") };
    assert!((true_delta.delta() / 9.3e-6 - 1.0).abs() < 0.01, "{true_delta}");
    assert!(refused.to_string().contains("9.3"), "{refused}");

    let accepted = rule.calibrate(budget, shift(), Acceptance::AcceptTrueDelta).unwrap();
    println!("{rule} claims {budget}; its true delta is {}", accepted.true_delta());
    assert!((accepted.scale().get() - (1.25e6f64).ln().sqrt()).abs() < 1e-12);
    let guarantee = accepted.guarantee(Adjacency::RowShift { l2: one() }).unwrap();
    assert_eq!(guarantee.true_delta().unwrap(), *true_delta);
    let Provenance::Published { caveat, .. } = guarantee.provenance() else { panic!() };
    assert!(caveat.contains("sqrt 2"), "{caveat}");
}

/// What each rule's formula gives by another program, where no two of its parameters have the same effect; how wide epsilon and
/// delta may be, to the end itself.
#[test]
fn each_rule_is_its_formula() {
    let budget = Budget::new(0.7, 1e-5).unwrap();
    let (sensitivity, bound) = (L2Sensitivity::new(3.0).unwrap(), 1.5.try_into().unwrap());
    let value = PublishedSetting::Shift { sensitivity };
    let projection =
        PublishedSetting::GaussianProjection { features: 30, columns: 40, shift: sensitivity };
    let finder = PublishedSetting::RangeFinder { columns: 17, shift: sensitivity };
    let low_rank = PublishedSetting::LowRankProjection { columns: 17, sensitivity };
    let accept = Acceptance::AcceptTrueDelta;
    for (rule, setting, expected) in [
        (PublishedRule::DworkRothClassic, value, 20.763_451_125_451_67),
        (PublishedRule::HardtRothTheorem26, value, 14.681_977_091_642_327),
        (PublishedRule::KenthapadiTheorem1, value, 20.571_230_610_128_108),
        (PublishedRule::KenthapadiLemma1, value, 20.253_830_329_590_585),
        (PublishedRule::KenthapadiLemma2, projection, 58.166_917_923_558_1),
        (PublishedRule::HardtRothRangeFinder, finder, 198.239_693_096_251_9),
        (PublishedRule::HardtRothProjection, low_rank, 461.729_191_896_427_2),
        (PublishedRule::SheffetJl, PublishedSetting::Jl { rows: 23, bound }, 21.886_870_667_076_51),
        (PublishedRule::SheffetWishart, PublishedSetting::Wishart { dim: 6, bound }, 2.25),
    ] {
        let found = rule.calibrate(budget, setting, accept).unwrap();
        assert!((found.scale().get() / expected - 1.0).abs() < 1e-14, "{rule}: {}", found.scale());
        let freedom = matches!(rule, PublishedRule::SheffetWishart).then_some(6 + 738);
        assert_eq!(found.dof(), freedom);
        let stated = serde_json::to_value(&found).unwrap();
        assert_eq!(stated["rule"], serde_json::to_value(rule).unwrap());
        assert_eq!(stated["claimed"], serde_json::to_value(budget).unwrap());
    }
    // Exact noise for the norm that a tail bound gives, each at half of delta.
    let half = Budget::new(0.7, 5e-6).unwrap();
    let norm = L2Sensitivity::new(5.221_770_476_603_755).unwrap();
    let analytic = PublishedRule::AnalyticDpRpG.calibrate(budget, projection, accept).unwrap();
    let exact = calibrate::gaussian(half, norm).unwrap();
    assert!((analytic.scale().get() / exact.get() - 1.0).abs() < 1e-11);
    let Profile::ChiMixtureGaussian { k, entry_shift, sigma, later_mu } = analytic.profile() else {
        panic!("{:?}", analytic.profile())
    };
    assert_eq!((*k, *sigma, *later_mu), (40, analytic.scale(), 0.0));
    assert!((entry_shift.get() / 0.474_341_649_025_256_9 - 1.0).abs() < 1e-15);

    let refused = |rule: PublishedRule, setting, epsilon, delta| {
        let budget = Budget::new(epsilon, delta).unwrap();
        rule.calibrate(budget, setting, accept).unwrap_err().to_string()
    };
    let classic = refused(PublishedRule::DworkRothClassic, value, 1.0, 1e-5);
    assert!(classic.contains("(0, 1)"), "{classic}");
    for rule in [PublishedRule::KenthapadiTheorem1, PublishedRule::KenthapadiLemma1] {
        let wide = refused(rule, value, 0.7, 0.5);
        assert!(wide.contains("(0, 0.5)"), "{wide}");
    }
    let lemma = refused(PublishedRule::KenthapadiLemma2, projection, 10.0, (-10f64).exp());
    assert!(lemma.contains("ln(1/delta)"), "{lemma}");
    let few =
        PublishedSetting::GaussianProjection { features: 30, columns: 31, shift: sensitivity };
    let few = refused(PublishedRule::KenthapadiLemma2, few, 0.7, 1e-5);
    assert!(few.contains("ln d + ln(2/delta)"), "{few}");
    let none =
        PublishedSetting::GaussianProjection { features: 0, columns: 40, shift: sensitivity };
    assert!(refused(PublishedRule::AnalyticDpRpG, none, 0.7, 1e-5).contains("features"));
    let tiny = PublishedSetting::Wishart { dim: 6, bound };
    assert!(refused(PublishedRule::SheffetWishart, tiny, 1e-7, 1e-5).contains("epsilon"));
}

/// Every other rule meets its claim, and the exact calibration needs no more noise.
#[test]
fn the_other_rules_are_safe_and_loose() {
    for (epsilon, delta) in [(0.1, 1e-6), (0.9, 1e-6), (0.5, 1e-3)] {
        let budget = Budget::new(epsilon, delta).unwrap();
        let exact = calibrate::gaussian(budget, unit()).unwrap().get();
        for rule in [
            PublishedRule::DworkRothClassic,
            PublishedRule::KenthapadiTheorem1,
            PublishedRule::KenthapadiLemma1,
        ] {
            let published = rule.calibrate(budget, shift(), Acceptance::RequireTarget).unwrap();
            let ratio = published.scale().get() / exact;
            assert!((1.0..2.0).contains(&ratio), "{rule} at {budget}: {ratio}");
        }
        let columns = 64;
        let projection =
            PublishedSetting::GaussianProjection { features: 784, columns, shift: unit() };
        let entry = L2Sensitivity::new(1.0 / 8.0).unwrap();
        let averaged = calibrate::chi_mixture_gaussian(budget, columns, entry, 0.0).unwrap().get();
        for rule in [PublishedRule::KenthapadiLemma2, PublishedRule::AnalyticDpRpG] {
            let published = rule.calibrate(budget, projection, Acceptance::RequireTarget).unwrap();
            assert!(published.scale().get() > 1.1 * averaged, "{rule} at {budget}");
        }
        let low_rank = PublishedSetting::LowRankProjection {
            columns: 20,
            sensitivity: L2Sensitivity::new(20f64.sqrt()).unwrap(),
        };
        let rule = PublishedRule::HardtRothProjection;
        let published = rule.calibrate(budget, low_rank, Acceptance::RequireTarget).unwrap();
        assert!(published.scale().get() > 10.0 * exact * 20f64.sqrt());
    }
}

/// The gains PRIVACY's section on calibration promises.
#[test]
fn gains_of_exact_calibration() {
    let require = Acceptance::RequireTarget;
    for (columns, epsilon) in [(20, 0.99), (64, 0.99), (256, 0.1)] {
        let budget = Budget::new(epsilon, 1e-6).unwrap();
        let setting = PublishedSetting::RangeFinder { columns, shift: unit() };
        let published = PublishedRule::HardtRothRangeFinder.calibrate(budget, setting, require);
        let exact = calibrate::chi_mixture_gaussian(budget, columns, unit(), 0.0).unwrap();
        let ratio = published.unwrap().scale().get() / exact.get();
        assert!((2.1..3.55).contains(&ratio), "range finder, {columns} columns: {ratio}");
    }
    for (rows, epsilon) in [(20, 1.0), (100, 1.0), (500, 1.0), (100, 0.1)] {
        let budget = Budget::new(epsilon, 1e-6).unwrap();
        let setting = PublishedSetting::Jl { rows, bound: one() };
        let published = PublishedRule::SheffetJl.calibrate(budget, setting, require).unwrap();
        let exact = calibrate::jl_lift(budget, rows, one(), RowChange::AddRemove).unwrap();
        let ratio = (published.scale().get() / exact.get()).powi(2);
        assert!((6.5..9.5).contains(&ratio), "jl, {rows} rows: {ratio}");
    }
    for (epsilon, gain) in [(1.0, 10.0), (0.1, 40.0)] {
        let budget = Budget::new(epsilon, 1e-6).unwrap();
        let setting = PublishedSetting::Wishart { dim: 10, bound: one() };
        let published = PublishedRule::SheffetWishart.calibrate(budget, setting, require).unwrap();
        let scale = published.scale();
        let exact = calibrate::wishart_dof(budget, 10, scale, one(), RowChange::AddRemove).unwrap();
        let ratio = (published.dof().unwrap() - 10) as f64 / (exact - 10) as f64;
        assert!(ratio > gain, "wishart at {epsilon}: {ratio}");
        if epsilon == 1.0 {
            assert_eq!((published.dof().unwrap() - 10, exact - 10), (426, 42));
        }
    }
}

#[test]
fn rules_keep_their_preconditions_and_names() {
    let require = Acceptance::RequireTarget;
    let wide = Budget::new(1.5, 1e-6).unwrap();
    let classic = PublishedRule::DworkRothClassic.calibrate(wide, shift(), require).unwrap_err();
    assert!(classic.to_string().contains("(0, 1)"), "{classic}");
    let sure = Budget::new(0.5, 0.6).unwrap();
    let theorem = PublishedRule::KenthapadiTheorem1.calibrate(sure, shift(), require).unwrap_err();
    assert!(theorem.to_string().contains("(0, 0.5)"), "{theorem}");
    let narrow = PublishedSetting::GaussianProjection { features: 100, columns: 5, shift: unit() };
    let lemma = PublishedRule::KenthapadiLemma2.calibrate(wide, narrow, require).unwrap_err();
    assert!(lemma.to_string().contains("columns"), "{lemma}");
    // Hardt & Roth's figures 2 and 3 take privacy parameters in (0, 1).
    let accept = Acceptance::AcceptTrueDelta;
    let finder = PublishedSetting::RangeFinder { columns: 10, shift: unit() };
    let project = PublishedSetting::LowRankProjection { columns: 10, sensitivity: unit() };
    for (rule, setting) in [
        (PublishedRule::HardtRothRangeFinder, finder),
        (PublishedRule::HardtRothProjection, project),
    ] {
        for epsilon in [1.0, 4.0, 8.0] {
            let budget = Budget::new(epsilon, 1e-6).unwrap();
            let figure = rule.calibrate(budget, setting, accept).unwrap_err();
            assert!(figure.to_string().contains("(0, 1)"), "{figure}");
        }
        rule.calibrate(Budget::new(0.99, 1e-6).unwrap(), setting, require).unwrap();
    }
    // The degrees of freedom of the rule do not fit beside such a dimension.
    let tall = PublishedSetting::Wishart { dim: u64::MAX - 425, bound: one() };
    let unit_budget = Budget::new(1.0, 1e-6).unwrap();
    let dof = PublishedRule::SheffetWishart.calibrate(unit_budget, tall, accept).unwrap_err();
    assert!(dof.to_string().contains("dim"), "{dof}");
    let last = PublishedSetting::Wishart { dim: u64::MAX - 426, bound: one() };
    let last = PublishedRule::SheffetWishart.calibrate(unit_budget, last, accept).unwrap();
    assert_eq!(last.dof(), Some(u64::MAX));
    let wrong = PublishedRule::SheffetJl.calibrate(wide, shift(), require).unwrap_err();
    assert!(matches!(wrong, Error::Mismatch { .. }), "{wrong}");
    for rule in PublishedRule::ALL {
        assert_eq!(rule.name().parse::<PublishedRule>().unwrap(), rule);
        assert_eq!(serde_json::to_string(&rule).unwrap(), format!("\"{rule}\""));
        let (name, source) = (rule.name(), rule.source());
        let paper = match name.split('-').next().unwrap() {
            "dwork" => "Dwork & Roth 2014, ",
            "kenthapadi" => "Kenthapadi et al. 2013, ",
            "analytic" => "Li & Li 2023, ",
            "hardt" => "Hardt & Roth 2012, ",
            _ => "Sheffet 2019, ",
        };
        assert!(source.starts_with(paper) && source.len() > paper.len(), "{name}: {source}");
    }
    let unknown = "folklore".parse::<PublishedRule>().unwrap_err();
    assert!(unknown.to_string().contains("sheffet-wishart"), "{unknown}");
}

/// A precondition that is an open interval refuses its very end.
#[test]
fn the_ends_of_what_a_rule_takes_are_refused() {
    let accept = Acceptance::AcceptTrueDelta;
    // One attribute: more than 2 ln(2/delta) columns.
    let ends = (10..60).filter_map(|columns: u32| {
        let delta = 2.0 * (-0.5 * f64::from(columns)).exp();
        (2.0 * (2.0 / delta).ln() == f64::from(columns)).then_some((columns.into(), delta))
    });
    let mut met = 0;
    for (columns, delta) in ends {
        let setting =
            |columns| PublishedSetting::GaussianProjection { features: 1, columns, shift: unit() };
        let budget = Budget::new(0.5, delta).unwrap();
        let at =
            |columns| PublishedRule::KenthapadiLemma2.calibrate(budget, setting(columns), accept);
        assert!(at(columns).is_err() && at(columns + 1).is_ok(), "{columns}");
        met += 1;
    }
    assert!(met > 3);
    // 28 ln(4/delta)/eps^2 degrees of freedom above the dimension: fewer than 9e15.
    let (delta, setting) = (1e-4_f64, PublishedSetting::Wishart { dim: 6, bound: one() });
    let extra = |e: f64| (28.0 * (4.0 / delta).ln() / (e * e)).ceil();
    let mut epsilon = (28.0 * (4.0 / delta).ln() / 9.000_000_000_001e15).sqrt();
    while extra(epsilon) > 9e15 {
        epsilon = epsilon.next_up();
    }
    assert_eq!(extra(epsilon), 9e15);
    let at = |epsilon| {
        let budget = Budget::new(epsilon, delta).unwrap();
        PublishedRule::SheffetWishart.calibrate(budget, setting, accept)
    };
    assert!(at(epsilon).is_err() && at(epsilon.next_up()).is_ok());
}
