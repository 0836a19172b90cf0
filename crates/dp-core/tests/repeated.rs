//! One mechanism run several times: the composed profile against independent computations.

use dp_core::accounting::{Event, Pld};
use dp_core::profile::RowChange;
use dp_core::{Budget, Epsilon, L2Sensitivity, NoiseScale, PrivacyProfile, Profile, calibrate};

fn one<B: TryFrom<f64, Error = dp_core::Error>>() -> B {
    B::try_from(1.0).unwrap()
}

fn scale(s: f64) -> NoiseScale {
    NoiseScale::new(s).unwrap()
}

fn wishart(dim: u64, dof: u64, s: f64, change: RowChange) -> Profile {
    Profile::Wishart { dim, dof, bound: one(), scale: scale(s), change }
}

fn repeated(profile: Profile, times: u64) -> Profile {
    Profile::Repeated { profile: Box::new(profile), times }
}

fn delta(profile: &Profile, epsilon: f64) -> f64 {
    profile.log_delta(Epsilon::new(epsilon).unwrap()).delta()
}

/// `(dim, dof, scale, epsilon, runs, delta from below, delta from above)`. Two runs: the integral
/// of the one-run profile over the other run's loss, by scipy 1.16 `quad` to 1e-9. More: the loss
/// of a run rounded down and up to a grid of `2e-4 / runs`, and the n-th power of its numpy FFT
/// in floating point. Direction: the row removed in every run, here always the worse one.
const REFERENCE: [(u64, u64, f64, f64, u64, f64, f64); 6] = [
    (10, 60, 1.0, 1.0, 2, 9.086_815_204_0e-7, 9.086_815_204_0e-7),
    (4, 40, 2.0, 0.5, 2, 8.047_689_766_3e-6, 8.047_689_766_3e-6),
    (3, 10, 6.0, 0.5, 2, 5.718_985_916_3e-4, 5.718_985_916_3e-4),
    (10, 60, 1.0, 1.0, 4, 1.363_060e-5, 1.365_954e-5),
    (4, 40, 2.0, 0.5, 7, 3.869_962e-4, 3.879_892e-4),
    (20, 200, 0.6, 1.0, 5, 4.940_356e-7, 4.957_605e-7),
];

#[test]
fn composed_wishart_runs_agree_with_independent_convolutions() {
    for (dim, dof, s, epsilon, times, below, above) in REFERENCE {
        let found = delta(&repeated(wishart(dim, dof, s, RowChange::AddRemove), times), epsilon);
        // Never below the truth; above it by the grid's 5e-4 of epsilon (a slope of about 15 in
        // ln delta at most here).
        assert!(found >= below * (1.0 - 1e-8), "{dim} {dof} {times}: {found} below {below}");
        assert!(found <= above * 1.01, "{dim} {dof} {times}: {found} above {above}");
        // Broken twins: one run forgotten, and a single run.
        for fewer in [times - 1, 1] {
            let less = delta(&repeated(wishart(dim, dof, s, RowChange::AddRemove), fewer), epsilon);
            assert!(less < 0.9 * below, "{fewer} of {times} runs must show");
        }
    }
}

/// Runs whose losses add up to one of a known kind have its exact profile: within the bracket of the numerical
/// composition of as many events.
#[test]
fn runs_whose_losses_add_up_have_the_exact_profile() {
    let l2 = L2Sensitivity::new(1.0).unwrap();
    let keep = |p: f64| dp_core::Probability::new(p).unwrap();
    let jl = |change| Profile::JlMechanism { rows: 20, bound: one(), lift: scale(8.0), change };
    let covariance =
        |change| Profile::SymmetricGaussian { bound: one(), sigma: scale(9.0), change };
    let mixture = |later_mu| Profile::ChiMixtureGaussian {
        k: 16,
        entry_shift: l2,
        sigma: scale(30.0),
        later_mu,
    };
    let runs = [
        (jl(RowChange::AddRemove), 0.7),
        (jl(RowChange::Replace), 0.7),
        (covariance(RowChange::AddRemove), 1.0),
        (covariance(RowChange::Replace), 1.0),
        (Profile::Gaussian { sensitivity: l2, sigma: scale(6.0) }, 1.0),
        (mixture(0.0), 0.8),
        (mixture(0.1), 0.8),
        (Profile::RandomizedResponse { bits: 40, keep: keep(0.55) }, 0.6),
        (Profile::KaryResponse { responses: 40, alphabet: 5, keep: keep(0.25) }, 0.6),
    ];
    for (once, epsilon) in runs {
        for times in [2u64, 10, 40] {
            let at = Epsilon::new(epsilon).unwrap();
            let numerical = Pld::new([&Event::new(once.clone(), times).unwrap()]).log_delta(at);
            let exact = repeated(once.clone(), times).log_delta(at).get();
            let (low, high) = (numerical.lower.unwrap().get(), numerical.upper.get());
            let name = format!("{once:?} x {times}: {low} <= {exact} <= {high}");
            assert!(exact <= high + 1e-9 && exact >= low - 1e-9, "{name}");
            assert!(high - low < 0.01 * (1.0 + low.abs()), "{name}");
            // Broken twin: one run forgotten.
            assert!(repeated(once.clone(), times - 1).log_delta(at).get() < low, "{name}");
        }
    }
}

/// The numerical composition knew nothing of so many responses but the sum of their losses.
#[test]
fn many_responses_lose_less_than_the_sum_of_their_losses() {
    let keep = dp_core::Probability::new(0.501).unwrap();
    let times = 1000;
    let all = repeated(Profile::RandomizedResponse { bits: 5, keep }, times);
    let same = Profile::RandomizedResponse { bits: 5 * times, keep };
    let delta = dp_core::Delta::new(1e-9).unwrap();
    let (found, exact) = (all.epsilon(delta).unwrap().get(), same.epsilon(delta).unwrap().get());
    assert!((found / exact - 1.0).abs() < 1e-9 && found < 1.7, "{found} {exact}");
}

#[test]
fn a_replaced_row_costs_more_than_one_removed_and_less_than_two_removed_one_after_the_other() {
    for times in [1u64, 4] {
        let at = |change, epsilon| delta(&repeated(wishart(8, 80, 1.5, change), times), epsilon);
        let (single, double) = (at(RowChange::AddRemove, 0.8), at(RowChange::Replace, 0.8));
        let half = at(RowChange::AddRemove, 0.4);
        // One run of orthogonal rows is not two runs.
        let least = if times > 1 { 2.0 } else { 1.2 };
        assert!(double > least * single, "{times}: {double} against {single}");
        assert!(double <= half * (1.0 + 0.4f64.exp()) * 1.01, "{times}: {double}, halves {half}");
    }
}

#[test]
fn calibration_meets_the_budget_for_all_runs_and_for_no_more() {
    let budget = Budget::new(1.0, 1e-6).unwrap();
    for change in [RowChange::AddRemove, RowChange::Replace] {
        for (dof, times) in [(30u64, 2u64), (60, 7), (400, 5)] {
            let s = calibrate::wishart_scale_repeated(budget, 20, dof, one(), change, times)
                .unwrap()
                .get();
            let at = |s: f64, times| delta(&repeated(wishart(20, dof, s, change), times), 1.0);
            assert!(at(s, times) <= 1e-6);
            assert!(at(s * (1.0 - 1e-4), times) > 1e-6, "{dof} {times}: {s} is not the least");
            assert!(at(s, times + 1) > 1e-6, "one more run must break the budget");
            // A broken twin that forgets the runs.
            let single = calibrate::wishart_scale(budget, 20, dof, one(), change).unwrap().get();
            assert!(at(single, times) > 1e-6, "noise for one run must not do for {times}");
        }
    }
}

#[test]
fn delta_falls_with_the_scale_however_heavy_the_tail() {
    // Few degrees of freedom: a loss without moments, where a tilted sum is at its worst.
    for (dof, times) in [(24u64, 3u64), (60, 7), (200, 11)] {
        let mut last = f64::INFINITY;
        for i in 0..10 {
            let s = 0.5 * 2.3f64.powi(i);
            let profile = repeated(wishart(20, dof, s, RowChange::AddRemove), times);
            let found = profile.log_delta(Epsilon::new(1.0).unwrap()).get();
            assert!(found <= last + 1e-6, "{dof} {times} at {s}: {found} after {last}");
            // One run alone is a lower bound.
            let one = wishart(20, dof, s, RowChange::AddRemove);
            let least = one.log_delta(Epsilon::new(1.0).unwrap()).get();
            assert!(found >= least - 1e-9, "{dof} {times} at {s}: {found} below {least}");
            last = found;
        }
    }
}

#[test]
fn degenerate_counts_are_safe() {
    let once = wishart(4, 40, 2.0, RowChange::AddRemove);
    // No runs at all: nothing was released, so nothing is claimed.
    assert_eq!(delta(&repeated(once.clone(), 0), 0.5), 1.0);
    assert_eq!(delta(&repeated(once.clone(), 1), 0.5), delta(&once, 0.5));
    assert_eq!(delta(&repeated(once.clone(), u64::MAX), 0.5), 1.0);
    // Nested: the counts multiply.
    let (nested, flat) = (repeated(repeated(once.clone(), 2), 3), repeated(once, 6));
    let (a, b) = (delta(&nested, 0.5), delta(&flat, 0.5));
    assert!((a / b - 1.0).abs() < 1e-6, "{a} {b}");
}

#[test]
fn each_order_of_a_replaced_row_has_its_own_split() {
    // With sums made for halves alone the scales are 1.76187 and 2.58494.
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let change = RowChange::Replace;
    for (dim, dof, times, most) in [(20u64, 60u64, 2u64, 1.66), (10, 40, 3, 2.40)] {
        let found = calibrate::wishart_scale_repeated(budget, dim, dof, one(), change, times);
        let found = found.unwrap().get();
        assert!(found < most, "{dim} {dof} {times}: {found}");
    }
}
