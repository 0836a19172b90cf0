//! What is rounded here is rounded against whoever spends.

use super::basic::{Share, split};
use super::renyi::{best, zcdp_epsilon};
use super::{Foreign, Ledger, Stated, gdp};
use crate::certificate::{Certificate, PublicParameters, Statement};
use crate::noise::{GeneratorKind, Grid, NoiseLaw};
use crate::profile::RowChange;
use crate::profile::{Event, PrivacyProfile, Profile};
use crate::{
    Adjacency, Budget, Delta, Epsilon, L2Sensitivity, NoiseScale, NormBound, Probability, Shift,
};

fn delta(x: f64) -> Delta {
    Delta::new(x).unwrap()
}

fn gaussian(mu: f64) -> Event {
    let sensitivity = L2Sensitivity::new(mu).unwrap();
    Event::once(Profile::Gaussian { sensitivity, sigma: NoiseScale::new(1.0).unwrap() })
}

fn pure(epsilon: f64) -> Event {
    Event::once(Profile::PureDp { epsilon: Epsilon::new(epsilon).unwrap() })
}

#[test]
fn a_sum_of_rhos_is_rounded_up() {
    for rho in [0.3, 30.0, 1e3] {
        let ln = delta(1e-6).ln().get();
        let exactly = best(|s| rho * (1.0 + s), ln);
        let above = zcdp_epsilon(rho, delta(1e-6)) - exactly;
        assert!(above > 0.9e-12 * rho && above < 1e-11 * exactly, "{rho}: {above:e}");
    }
    assert_eq!(zcdp_epsilon(0.0, delta(1e-6)), 0.0);
}

/// `2 Phi^-1(e/(1 + e))` to 25 digits, from another language; below 1e-5 the line through the origin lies above the curve.
#[test]
fn the_mu_of_a_pure_run_is_rounded_up() {
    let mu = |epsilon: f64| gdp::square(&pure(epsilon)).unwrap().sqrt();
    let above = mu(1.0) / 1.232_035_385_344_901 - 1.0;
    assert!(above > 0.5e-10 && above < 2e-10, "{above:e}");
    for epsilon in [1e-9, 0.9e-5] {
        let above = mu(epsilon) / (std::f64::consts::FRAC_PI_2.sqrt() * epsilon) - 1.0;
        assert!(above > 0.5e-12 && above < 2e-12, "{epsilon}: {above:e}");
    }
    // On both sides of where the line takes over.
    let (below, beyond) = (mu(1e-5 * (1.0 - 1e-9)), mu(1e-5 * (1.0 + 1e-9)));
    assert!((beyond / below - 1.0).abs() < 1e-8, "{below:e} {beyond:e}");
}

#[test]
fn a_sum_of_squares_is_rounded_up() {
    for mu in [0.1, 1.0, 40.0] {
        let found = gdp::gdp(&[gaussian(mu)], delta(1e-6)).unwrap();
        let exactly = gaussian(mu).profile().epsilon(delta(1e-6)).unwrap();
        assert!(found.upper > exactly, "{mu}");
        assert!(found.upper.get() < exactly.get() * (1.0 + 1e-9));
        assert!(found.lower.unwrap() < exactly, "{mu}");
    }
}

/// One pure run takes no share of delta, and what is not pure all of it or half; what is left is what nobody took.
#[test]
fn shares_of_delta_are_taken_once() {
    let keep = Probability::new(0.6).unwrap();
    let bits = |bits| Event::once(Profile::RandomizedResponse { bits, keep });
    let all = delta(1e-6);
    for share in [Share::All, Share::Half] {
        let (parts, left) = split(&[bits(1), pure(0.3)], all, share, true).unwrap();
        assert_eq!((parts.len(), left), (2, 1e-6));
        assert!((parts[0].epsilon / 1.5f64.ln() - 1.0).abs() < 1e-12 && parts[0].runs == 1.0);
        let (parts, left) = split(&[bits(2)], all, share, false).unwrap();
        assert_eq!((parts[0].runs, left), (2.0, 1e-6));
        let taken = if share == Share::All { 1e-6 } else { 5e-7 };
        for (events, whole) in [(vec![bits(2)], true), (vec![gaussian(1.0), pure(0.3)], false)] {
            let (parts, left) = split(&events, all, share, whole).unwrap();
            assert!((left - (1e-6 - taken)).abs() < 1e-18, "{left:e}");
            let alone = events[0].profile().epsilon(delta(taken)).unwrap().get();
            assert!((parts[0].epsilon / alone - 1.0).abs() < 1e-3 && parts[0].runs == 1.0);
        }
    }
}

/// Four events are bounded narrowly, five quickly.
#[test]
fn few_events_are_bounded_narrowly() {
    let replaced = |dof| Profile::Wishart {
        dim: 8,
        dof,
        bound: NormBound::new(1.0).unwrap(),
        scale: NoiseScale::new(4.0).unwrap(),
        change: RowChange::Replace,
    };
    for (n, many) in [(4, false), (5, true)] {
        let events: Vec<Event> = (0..n).map(|i| Event::once(replaced(200 + i))).collect();
        let shares = [1.0, 0.5].map(|part| delta(part * 1e-6 / n as f64 * (1.0 - 1e-12)));
        let [narrow, quick] = [false, true].map(|many| {
            let one = |event: &Event| event.epsilons(shares, many)[0].clone().unwrap().get();
            events.iter().map(one).collect::<Vec<_>>()
        });
        assert_ne!(narrow, quick);
        let (parts, _) = split(&events, delta(1e-6), Share::All, true).unwrap();
        let found: Vec<f64> = parts.iter().map(|part| part.epsilon).collect();
        assert_eq!(found, if many { quick } else { narrow });
    }
}

/// The delta of a claim of a release that is not entered yet is lost too, in what is told of all.
#[test]
fn a_release_besides_a_ledger_brings_its_delta() {
    let adjacency = Adjacency::RowShift { l2: Shift::new(1.0).unwrap() };
    let author = crate::authority!();
    let claim = |delta: f64| {
        let budget = Budget::new(0.5, delta).unwrap();
        let claim = author.published(adjacency, budget, None, "a rule", "a paper", "none").unwrap();
        let grid = Grid::new(-30).unwrap();
        let noise = NoiseLaw::RoundedGaussian { sigma: NoiseScale::new(1.0).unwrap(), grid };
        let (generator, public) = (GeneratorKind::OsChacha12, PublicParameters::new());
        author.certificate(Statement { mechanism: "one".into(), noise, generator, public }, claim)
    };
    let (first, besides) = (claim(0.125), claim(0.25));
    let mut ledger = Ledger::new(adjacency);
    let lost = |ledger: &Ledger, besides: Option<&Certificate>| match Foreign::of_ledger_and(
        ledger, besides,
    )
    .unwrap()
    .stated
    {
        Stated::LossDistribution { ways, .. } => ways[0].infinite,
        other => panic!("{other:?}"),
    };
    let near = |found: f64, expected: f64| found >= expected && found < expected + 1e-6;
    assert!(near(lost(&ledger, Some(&besides)), 0.25));
    ledger.spend_accepting_claim(first.guarantee(), 1, "first").unwrap();
    assert!(near(lost(&ledger, None), 0.125));
    assert!(near(lost(&ledger, Some(&besides)), 0.375));
}
