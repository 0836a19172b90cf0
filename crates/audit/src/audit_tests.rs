//! The audit itself: its false-alarm rate, its power, and that it does not depend on threads.

use crate::confidence::{Count, epsilon_bound};
use crate::run::{Verdict, audit};
use crate::subject::{Draw, Side, Subject, budget_of, gaussian_ratio, laplace_ratio, lowest_bit};
use crate::{Finding, Role, Settings};
use dp_core::authority;
use dp_core::calibrate::{Acceptance, PublishedRule, PublishedSetting};
use dp_core::noise::{AdditiveNoise, Grid};
use dp_core::{
    Adjacency, Budget, Epsilon, L1Sensitivity, L2Sensitivity, LaplaceScale, NoiseScale,
    PrivacyProfile, Shift, calibrate,
};
use eval::Effort;
use rand_core::Rng;

const SETTINGS: Settings = Settings { effort: Effort::Quick, seed: 7 };
/// Numbers of one call of the samplers below.
const BATCH: usize = 64;

/// One number, 0 or 1, under noise whose scale is `factor` times the calibrated one.
fn laplace(factor: f64) -> Subject {
    let claim = Budget::new(1.0, 0.0).unwrap();
    let calibrated = calibrate::laplace(claim, L1Sensitivity::new(1.0).unwrap()).unwrap().get();
    let scale = LaplaceScale::new(factor * calibrated).unwrap();
    let noise = authority!().laplace(scale, Grid::new(-30).unwrap()).unwrap();
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let mut values = vec![*side.of(&0.0, &1.0); BATCH];
        noise.add_block(&mut draw.noise().stream(), &mut values).unwrap();
        out.extend(values);
        Ok(())
    };
    Subject::new("Laplace", "test", claim, "0 and 1", 1, sample)
        .batched(BATCH)
        .likelihood(move |z| laplace_ratio(z, &[0.0], &[1.0], calibrated))
}

fn gaussian(factor: f64) -> Subject {
    let claim = Budget::new(1.0, 1e-2).unwrap();
    let calibrated = calibrate::gaussian(claim, L2Sensitivity::new(1.0).unwrap()).unwrap().get();
    let sigma = NoiseScale::new(factor * calibrated).unwrap();
    let noise = authority!().gaussian(sigma, Grid::new(-30).unwrap()).unwrap();
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let mut values = vec![*side.of(&0.0, &1.0); BATCH];
        noise.add_block(&mut draw.noise().stream(), &mut values).unwrap();
        out.extend(values);
        Ok(())
    };
    Subject::new("Gaussian", "test", claim, "0 and 1", 1, sample)
        .batched(BATCH)
        .likelihood(move |z| gaussian_ratio(z, &[0.0], &[1.0], calibrated))
}

#[test]
fn healthy_noise_is_not_accused_and_less_noise_is() {
    // False alarms: 1e-6 in all, by construction. Power: noise x 0.7.
    for (healthy, weak) in [(laplace(1.0), laplace(0.7)), (gaussian(1.0), gaussian(0.7))] {
        let healthy = audit(&healthy.with_runs(100_000), SETTINGS, 4).unwrap();
        assert_eq!(healthy.verdict, Verdict::Consistent);
        assert!(healthy.tightness() > 0.7, "{}", healthy.tightness());
        let weak = audit(&weak.with_runs(100_000), SETTINGS, 4).unwrap();
        assert_eq!(weak.verdict, Verdict::Accused, "{}", weak.epsilon);
    }
}

#[test]
fn a_certificate_is_held_to_its_own_profile() {
    // A rule that adds more noise than its claim needs: its certificate says how much it gives.
    let claim = Budget::new(1.0, 1e-2).unwrap();
    let sensitivity = L2Sensitivity::new(1.0).unwrap();
    let made = PublishedRule::KenthapadiLemma1
        .calibrate(claim, PublishedSetting::Shift { sensitivity }, Acceptance::RequireTarget)
        .unwrap();
    let guarantee = made.guarantee(Adjacency::RowShift { l2: Shift::new(1.0).unwrap() }).unwrap();
    let factor = made.scale().get() / calibrate::gaussian(claim, sensitivity).unwrap().get();
    let honest = gaussian(factor).with_runs(200_000).under(&guarantee).unwrap();
    let exact = honest.exact.unwrap();
    let at_exact = made.profile().log_delta(Epsilon::new(exact).unwrap()).delta();
    assert!(exact < 0.6 && (0.99e-2..=1e-2).contains(&at_exact), "{exact} {at_exact}");
    let honest = audit(&honest, SETTINGS, 4).unwrap();
    assert_eq!(honest.verdict, Verdict::Consistent);
    assert!(honest.tightness() > 0.5, "{}", honest.tightness());
    // Less noise than the certificate states, within the claim all the same.
    let less = gaussian(1.0).with_runs(200_000).under(&guarantee).unwrap();
    let less = audit(&less, SETTINGS, 4).unwrap();
    assert!(less.epsilon < 1.0, "{}", less.epsilon);
    assert_eq!(less.verdict, Verdict::Accused, "{}", less.epsilon);
}

#[test]
fn the_bound_falls_with_more_noise() {
    let found = |factor| audit(&laplace(factor), SETTINGS, 4).unwrap().epsilon;
    let (less, same, more) = (found(0.7), found(1.0), found(1.3));
    assert!(less > 1.15 * same && same > 1.15 * more, "{less} {same} {more}");
}

#[test]
fn learned_testers_do_without_the_density() {
    let mut blind = laplace(0.5).with_runs(40_000);
    blind.scores.clear();
    let finding = audit(&blind, SETTINGS, 4).unwrap();
    assert_eq!(finding.verdict, Verdict::Accused, "{} {}", finding.tester, finding.epsilon);
}

#[test]
fn a_subject_without_any_difference_gives_zero() {
    let claim = Budget::new(1.0, 0.0).unwrap();
    let sample = |_: Side, draw: &Draw, out: &mut Vec<f64>| {
        let noise =
            authority!().laplace(LaplaceScale::new(1.0).unwrap(), Grid::new(-30).unwrap()).unwrap();
        let mut values = vec![0.0; BATCH];
        noise.add_block(&mut draw.noise().stream(), &mut values).unwrap();
        out.extend(values);
        Ok(())
    };
    let subject = Subject::new("same", "test", claim, "equal inputs", 1, sample).batched(BATCH);
    let finding = audit(&subject, SETTINGS, 4).unwrap();
    assert!(finding.epsilon < 0.05, "{}", finding.epsilon);
}

/// The claim is the truth here (a response that meets its epsilon with equality), so the bound is
/// above the claim exactly when a limit is wrong: at most twice the alarm rate of one limit.
#[test]
fn the_false_alarm_rate_is_the_stated_one() {
    let (runs, trials) = (2_000u64, 4_000u64);
    let keep = 1.0 / (1.0 + (-1f64).exp());
    // One limit's alarm: 0.02, so at most 160 alarms of 4,000 are expected; more than 240 have
    // probability below 1e-9 (binomial tail at 0.04).
    let ln_alarm = 0.02f64.ln();
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 * 2f64.powi(-53)
    };
    let (mut alarms, mut wider) = (0, 0);
    for _ in 0..trials {
        let mut hits = |p: f64| (0..runs).filter(|_| uniform() < p).count() as u64;
        let (often, seldom) =
            (Count { hits: hits(keep), runs }, Count { hits: hits(1.0 - keep), runs });
        let bound = |ln| epsilon_bound(often.lower(ln), seldom.upper(ln), dp_core::Delta::ZERO);
        alarms += u64::from(bound(ln_alarm) > 1.0);
        // Rates instead of limits: an audit that forgot its confidence bounds.
        let naive = epsilon_bound(often.rate(), seldom.rate(), dp_core::Delta::ZERO);
        wider += u64::from(naive > 1.0);
    }
    assert!(alarms <= 240, "{alarms} alarms of {trials}");
    assert!(wider > trials / 3, "the simulation can alarm: {wider} of {trials}");
}

#[test]
fn findings_do_not_depend_on_the_number_of_threads() {
    let run = |threads: usize| -> Finding {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| audit(&gaussian(1.0).with_runs(10_000), SETTINGS, 4).unwrap())
    };
    let (one, eight) = (run(1), run(8));
    assert_eq!((one.often, one.seldom, one.event), (eight.often, eight.seldom, eight.event));
    assert_eq!(one.tester, eight.tester);
}

#[test]
fn equal_seeds_give_equal_findings_and_others_other_counts() {
    let at = |seed| audit(&laplace(1.0), Settings { seed, ..SETTINGS }, 4).unwrap();
    let (a, b, c) = (at(1), at(1), at(2));
    assert_eq!((a.often, a.seldom), (b.often, b.seldom));
    assert_ne!((a.often, a.seldom), (c.often, c.seldom));
}

/// The list of twins follows the list of mechanisms.
#[test]
fn every_mechanism_has_a_twin_that_truly_breaks_its_claim() {
    let all = crate::everything().unwrap();
    let names: Vec<&str> = all.iter().map(|s| s.name.as_str()).collect();
    for (i, name) in names.iter().enumerate() {
        assert!(!name.is_empty() && !names[..i].contains(name), "{name} twice");
    }
    let mechanisms: Vec<&Subject> = all.iter().filter(|s| s.role == Role::Mechanism).collect();
    assert!(mechanisms.len() > 80, "{}", mechanisms.len());
    for mechanism in mechanisms {
        let twin = all.iter().find(|t| {
            matches!(t.role, Role::Twin { .. })
                && t.name.starts_with(&format!("{}: ", mechanism.name))
        });
        let twin = twin.unwrap_or_else(|| panic!("{} has no twin", mechanism.name));
        let truth = twin.truth.expect("what a weaker mechanism gives is computed");
        assert!(truth >= 1.25 * mechanism.held_to(), "{}: {truth}", twin.name);
        assert_eq!((twin.claim, twin.exact), (mechanism.claim, mechanism.exact));
    }
}

/// Runs of each input where every mechanism is asked: few, as there are many mechanisms, and far fewer than the audit's own.
const RUNS: usize = 1_500;

/// Every mechanism of the quick audit with noise between half and twice its own, and so with another certificate: none states less than the audit finds.
/// Half of it would be found out for a tenth of them.
#[test]
fn no_certificate_is_below_what_is_found_at_random_parameters() {
    let mut random = Draw(41).noise().stream();
    let mut unit = || (random.next_u64() >> 11) as f64 * 2f64.powi(-53);
    let all = crate::mechanisms::all().unwrap();
    let wanted = |s: &&Subject| s.role == Role::Mechanism && s.form == Effort::Quick;
    let mut subjects = Vec::new();
    for subject in all.iter().filter(wanted) {
        let Some(weaker) = &subject.weaker else { continue };
        let built = weaker(2f64.powf(2.0 * unit() - 1.0)).unwrap();
        // What its certificate's profile gives; where it has none, its claim, or what the pair is known to give if that is more.
        let Budget { epsilon, delta } = built.claim;
        let known = built.truth.unwrap_or(0.0).max(epsilon.get());
        let claim = Budget::new(built.exact.unwrap_or(known), delta.get()).unwrap();
        let name = format!("{} at {claim}", subject.name);
        let runs = RUNS.min(subject.runs);
        subjects.push(Subject { name, claim, exact: None, truth: None, runs, ..built });
    }
    let mut half = 0;
    for subject in &subjects {
        let finding = audit(subject, SETTINGS, subjects.len()).unwrap();
        assert_eq!(finding.verdict, Verdict::Consistent, "{}: {}", subject.name, finding.epsilon);
        half += usize::from(finding.epsilon > 0.5 * subject.claim.epsilon.get());
    }
    println!("{} mechanisms, of {half} at least half was found", subjects.len());
    assert!(subjects.len() > 100 && 10 * half >= subjects.len(), "{half} of {}", subjects.len());
}

#[test]
fn a_mechanism_without_a_weaker_form_is_refused() {
    assert!(crate::twins::weakened(&[laplace(1.0)]).is_err());
    let built = laplace(1.0).giving(1.0).weaker_by(|share| Ok(laplace(share).giving(1.0 / share)));
    let twin = crate::twins::weakened(&[built]).unwrap().remove(0);
    assert!((twin.truth.unwrap() - 1.0 / 0.7).abs() < 1e-12 && twin.held_to() == 1.0);
    assert_eq!(audit(&twin.with_runs(40_000), SETTINGS, 4).unwrap().verdict, Verdict::Caught);
    // A pair that shows half of the claim: the first share that breaks it, not 0.7 of the noise.
    let half = laplace(1.0).weaker_by(|share| Ok(laplace(share).giving(0.5 / share)));
    let twin = half.weakened().unwrap();
    assert!(twin.name.ends_with("0.4 of its noise"), "{}", twin.name);
    let never = laplace(1.0).weaker_by(|_| Ok(laplace(1.0).giving(0.5)));
    assert!(never.weakened().is_err());
}

#[test]
fn the_budget_of_a_noise_gives_that_noise() {
    let claim = Budget::new(1.0, 1e-2).unwrap();
    let one = L2Sensitivity::new(1.0).unwrap();
    let noise = |budget| Ok(calibrate::gaussian(budget, one)?.get());
    let target = 0.7 * noise(claim).unwrap();
    let budget = budget_of(claim, target, noise).unwrap();
    assert!((noise(budget).unwrap() / target - 1.0).abs() < 1e-3);
    assert!(budget_of(claim, 0.5, |_| Ok(1.0)).is_err());
}

#[test]
fn the_lowest_bit_of_a_number() {
    for (x, bit) in [(1.0, 0), (3.0, 0), (12.0, 2), (-0.375, -3), (5e-324, -1074), (0.0, 1024)] {
        assert_eq!(lowest_bit(x), bit, "{x}");
    }
    assert_eq!(lowest_bit(2f64.powi(-40) * 6.0), -39);
}

/// What is seen outside a claim is counted apart, and refutes nothing.
#[test]
fn roles_are_counted_apart() {
    let settings = Settings { effort: Effort::Quick, seed: 3 };
    let summary = crate::run(settings, &["published streams".into()], |_| ()).unwrap();
    assert!(summary.findings.iter().all(|f| f.verdict == Verdict::Outside));
    assert!(summary.last_line().starts_with("0 mechanisms: none accused; 0 broken twins"));
    let line = summary.claims_line();
    assert!(line.contains("0 refuted; 5 seen outside their claim: 5 give more"), "{line}");
    assert!(summary.markdown().contains("## Outside their claim"));
}
