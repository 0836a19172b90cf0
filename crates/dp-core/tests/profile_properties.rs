//! Properties over the whole range: epsilon 1e-6 to 1e3, delta 1e-300 to 0.5.

use dp_core::calibrate;
use dp_core::mechanism::{Basis, Calibrated, Statistic};
use dp_core::noise::{GaussianNoise, LaplaceNoise};
use dp_core::profile::{CoordinateProfile, GaussianStep, RowChange};
use dp_core::{
    Adjacency, Budget, Delta, EntryBound, Epsilon, L1Sensitivity, L2Sensitivity, LaplaceScale,
    NoiseScale, NormBound, PrivacyProfile, Probability, Profile, Shift,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn b_of(scale: NoiseScale) -> LaplaceScale {
    LaplaceScale::new(scale.get()).unwrap()
}

fn unit() -> L2Sensitivity {
    L2Sensitivity::new(1.0).unwrap()
}

fn one<B: TryFrom<f64, Error = dp_core::Error>>() -> B {
    B::try_from(1.0).unwrap()
}

fn any_budget() -> impl Strategy<Value = Budget> {
    ((1e-6f64).ln()..(1e3f64).ln(), (1e-300f64).ln()..(0.5f64).ln())
        .prop_map(|(e, d)| Budget::new(e.exp(), d.exp()).unwrap())
}

fn any_change() -> impl Strategy<Value = RowChange> {
    prop_oneof![Just(RowChange::AddRemove), Just(RowChange::Replace)]
}

/// A family of profiles with one noise parameter: the larger, the less delta.
#[derive(Debug, Clone, Copy)]
struct Family {
    kind: u8,
    n: u64,
    p: f64,
    change: RowChange,
}

fn any_family() -> impl Strategy<Value = Family> {
    (0u8..11, 1u64..400, 0.0f64..1.0, any_change()).prop_map(|(kind, n, p, change)| Family {
        kind,
        n,
        p,
        change,
    })
}

impl Family {
    fn at(self, s: f64) -> Profile {
        let Self { kind, n, p, change } = self;
        let scale = NoiseScale::new(s).unwrap();
        let keep = |letters: u64| {
            Probability::new(1.0 / (1.0 + (letters - 1) as f64 * (-1.0 / s).exp())).unwrap()
        };
        match kind {
            0 => Profile::Gaussian { sensitivity: unit(), sigma: scale },
            1 => Profile::GaussianComposition {
                steps: vec![GaussianStep { sensitivity: unit(), sigma: scale, times: n }],
            },
            2 => Profile::Laplace {
                sensitivity: L1Sensitivity::new(1.0).unwrap(),
                scale: b_of(scale),
            },
            3 => Profile::PureDp { epsilon: Epsilon::new(1.0 / s).unwrap() },
            4 => Profile::RandomizedResponse { bits: n, keep: keep(2) },
            5 => Profile::KaryResponse { responses: n.min(40), alphabet: n + 1, keep: keep(n + 1) },
            6 => Profile::ChiMixtureGaussian {
                k: n,
                entry_shift: unit(),
                sigma: scale,
                later_mu: if p < 0.5 { 0.0 } else { p / s },
            },
            7 => Profile::JlMechanism { rows: n, bound: one(), lift: scale, change },
            8 => Profile::Wishart { dim: 7, dof: 8 + n, bound: one(), scale, change },
            9 => Profile::SymmetricGaussian { bound: one(), sigma: scale, change },
            _ => Profile::BinomialMixture {
                trials: n.min(60),
                probability: Probability::new(p).unwrap(),
                coordinate: CoordinateProfile::RandomizedResponse { keep: keep(2) },
            },
        }
    }
}

/// What every kernel states: no more than this above the true ln delta, with room for ulps.
const ERROR: f64 = 1e-10;

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, rng_seed: RngSeed::Fixed(20), ..ProptestConfig::default() })]

    /// Never NaN, in [0, 1], falling in epsilon and in the noise, over forty decades of it.
    #[test]
    fn profiles_are_monotone(
        family in any_family(),
        noise in (1e-8f64).ln()..(1e12f64).ln(),
        epsilon in (1e-6f64).ln()..(1e3f64).ln(),
        more in 0.0f64..1.0,
    ) {
        let at = |s: f64, e: f64| {
            family.at(s.exp()).log_delta(Epsilon::new(e.exp()).unwrap()).get()
        };
        let base = at(noise, epsilon);
        prop_assert!(base <= 0.0, "{family:?}: {base}");
        let slack = match base {
            f64::NEG_INFINITY => 0.0,
            // Below e^-1e7 the kernels promise a safe answer, not a sharp one.
            ..-1e7 => 1e-3 * base.abs(),
            _ => ERROR + 1e-11 * base.abs(),
        };
        prop_assert!(at(noise + more, epsilon) <= base + slack, "{family:?}: more noise");
        prop_assert!(at(noise, epsilon + more) <= base + slack, "{family:?}: more epsilon");
    }

    /// A guarantee is never cheaper under an adjacency that allows more: a larger shift, more rows of a user, a row replaced for
    /// one that comes or goes, a shift of a row for one of its attributes.
    #[test]
    fn a_larger_adjacency_is_never_cheaper(
        spent in 0.1f64..8.0, own in 0.2f64..2.0, less in 0.1f64..1.0, rows in 1u64..6,
        epsilon in (1e-3f64).ln()..(30f64).ln(), laplace in any::<bool>(),
    ) {
        let bound = |x: f64| NormBound::new(x).unwrap();
        let shift = |x: f64| Shift::new(x).unwrap();
        let given = |own: Adjacency| {
            let budget = Budget::new(spent, if laplace { 0.0 } else { 1e-5 }).unwrap();
            let basis = Basis::declared("a test", "the sensitivity is one");
            let all = EntryBound::new(1e6).unwrap();
            if laplace {
                let sums = Statistic::new(own, L1Sensitivity::new(1.0).unwrap(), 3, all);
                let noise = Calibrated::<LaplaceNoise>::calibrate(sums, budget, basis);
                noise.unwrap().guarantee().clone()
            } else {
                let sums = Statistic::new(own, unit(), 3, all);
                let noise = Calibrated::<GaussianNoise>::calibrate(sums, budget, basis);
                noise.unwrap().guarantee().clone()
            }
        };
        // What is claimed for its own adjacency, and ever larger ones.
        let chains = [
            vec![
                Adjacency::AddRemoveRow { bound: bound(own * less) },
                Adjacency::AddRemoveRow { bound: bound(own) },
                Adjacency::AddRemoveRow { bound: bound(own) }.of_user(rows).unwrap(),
                Adjacency::AddRemoveRow { bound: bound(own) }.of_user(rows + 1).unwrap(),
            ],
            vec![
                Adjacency::AddRemoveRow { bound: bound(own) },
                Adjacency::ReplaceRow { bound: bound(own) },
                Adjacency::ReplaceRow { bound: bound(own) }.of_user(rows).unwrap(),
            ],
            vec![
                Adjacency::Attribute { beta: shift(own * less) },
                Adjacency::Attribute { beta: shift(own) },
                Adjacency::RowShift { l2: shift(own) },
                Adjacency::RowShift { l2: shift(own * (1.0 + rows as f64)) },
            ],
        ];
        let mut compared = 0;
        for chain in chains {
            let at = Epsilon::new(epsilon.exp()).unwrap();
            for own in &chain {
                let given = given(*own);
                let deltas: Vec<f64> = chain
                    .iter()
                    // Some are no number of the guarantee's own changes: refused, so not cheaper.
                    .filter_map(|wanted| given.profile_under(*wanted).ok().flatten())
                    .map(|profile| profile.log_delta(at).get())
                    .collect();
                compared += deltas.len() - 1;
                for pair in deltas.windows(2) {
                    let slack = ERROR + 1e-11 * pair[0].abs();
                    let rises = pair[1] >= pair[0] - slack || pair[0] == pair[1];
                    prop_assert!(rises, "{own:?}: {deltas:?}");
                }
            }
        }
        prop_assert!(compared >= 16, "{compared}");
    }

    /// No finite certificate claims nothing: a delta of zero is given only where the loss is bounded.
    #[test]
    fn unbounded_losses_never_give_zero(budget in any_budget(), noise in 0.1f64..100.0) {
        let sigma = NoiseScale::new(noise).unwrap();
        let value = Profile::Gaussian { sensitivity: unit(), sigma }.log_delta(budget.epsilon).get();
        prop_assert!(value.is_finite());
    }

    /// Calibrated noise holds, and a part in 1e9 less does not.
    #[test]
    fn gaussian_calibration_is_tight(budget in any_budget()) {
        let sigma = calibrate::gaussian(budget, unit()).unwrap();
        tight(budget, sigma, |sigma| Profile::Gaussian { sensitivity: unit(), sigma })?;
    }

    /// epsilon(delta) inverts delta(epsilon), on the safe side.
    #[test]
    fn epsilon_round_trips(budget in any_budget()) {
        let sigma = calibrate::gaussian(budget, unit()).unwrap();
        let profile = Profile::Gaussian { sensitivity: unit(), sigma };
        let epsilon = profile.epsilon(budget.delta).unwrap();
        prop_assert!(profile.log_delta(epsilon) <= budget.delta.ln());
        prop_assert!(epsilon.get() <= budget.epsilon.get() * (1.0 + 1e-9));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, rng_seed: RngSeed::Fixed(20), ..ProptestConfig::default() })]

    #[test]
    fn other_calibrations_are_tight(budget in any_budget(), n in 1u64..200, p in 0.01f64..1.0, change in any_change()) {
        let chi = calibrate::chi_mixture_gaussian(budget, n, unit(), 0.0).unwrap();
        tight(budget, chi, |sigma| Profile::ChiMixtureGaussian { k: n, entry_shift: unit(), sigma, later_mu: 0.0 })?;
        let lift = calibrate::jl_lift(budget, n, one(), change).unwrap();
        tight(budget, lift, |lift| Profile::JlMechanism { rows: n, bound: one(), lift, change })?;
        let add = RowChange::AddRemove;
        let scale = calibrate::wishart_scale(budget, 3, n + 4, one(), add).unwrap();
        tight(budget, scale, |scale| Profile::Wishart { dim: 3, dof: n + 4, bound: one(), scale, change: add })?;
        let sigma = calibrate::symmetric_gaussian(budget, one(), change).unwrap();
        tight(budget, sigma, |sigma| Profile::SymmetricGaussian { bound: one(), sigma, change })?;
        let l1 = L1Sensitivity::new(1.0).unwrap();
        let laplace = calibrate::laplace(budget, l1).unwrap();
        tight(budget, NoiseScale::new(laplace.get()).unwrap(), |scale| Profile::Laplace { sensitivity: l1, scale: b_of(scale) })?;
        let keep = calibrate::randomized_response(budget, n).unwrap();
        tight_keep(budget, keep, |keep| Profile::RandomizedResponse { bits: n, keep })?;
        let n = n.min(40);
        let keep = calibrate::kary_response(budget, n, 17).unwrap();
        tight_keep(budget, keep, |keep| Profile::KaryResponse { responses: n, alphabet: 17, keep })?;
        let p = Probability::new(p).unwrap();
        let keep = calibrate::binomial_mixture_rr(budget, n, p).unwrap();
        tight_keep(budget, keep, |keep| Profile::BinomialMixture {
            trials: n, probability: p, coordinate: CoordinateProfile::RandomizedResponse { keep },
        })?;
    }
}

fn tight(
    budget: Budget,
    found: NoiseScale,
    family: impl Fn(NoiseScale) -> Profile,
) -> Result<(), TestCaseError> {
    let ln = |s: f64| family(NoiseScale::new(s).unwrap()).log_delta(budget.epsilon);
    let target = budget.delta.ln();
    prop_assert!(ln(found.get()) <= target, "{:?} misses {budget}", family(found));
    prop_assert!(
        ln(found.get() * (1.0 - 1e-9)) > target,
        "{:?} is loose for {budget}",
        family(found)
    );
    Ok(())
}

/// Less noise by a part in 1e9 of the flip probability, or of the distance from a fair
/// coin, or by a few units in the last place where those are finer than `f64`.
fn tight_keep(
    budget: Budget,
    keep: Probability,
    family: impl Fn(Probability) -> Profile,
) -> Result<(), TestCaseError> {
    let ln = |p: f64| family(Probability::new(p).unwrap()).log_delta(budget.epsilon);
    let target = budget.delta.ln();
    prop_assert!(ln(keep.get()) <= target, "{:?} misses {budget}", family(keep));
    let step = (1e-9 * (1.0 - keep.get())).max(4.0 * f64::EPSILON);
    let less = (keep.get() + step).min(1.0);
    prop_assert!(ln(less) > target, "{:?} is loose for {budget}", family(keep));
    Ok(())
}

/// Pure differential privacy: delta zero means zero.
#[test]
fn pure_budgets() {
    let l1 = L1Sensitivity::new(3.0).unwrap();
    for e in [1e-6, 0.01, 1.0, 7.0, 30.0] {
        let epsilon = Epsilon::new(e).unwrap();
        let budget = Budget::pure(epsilon);
        let scale = calibrate::laplace(budget, l1).unwrap();
        assert!((scale.get() * e / 3.0 - 1.0).abs() < 1e-11);
        let zero = |p: Profile| p.log_delta(epsilon) == dp_core::LogDelta::ZERO_DELTA;
        assert!(zero(Profile::Laplace { sensitivity: l1, scale }));
        let keep = calibrate::randomized_response(budget, 5).unwrap();
        assert!(zero(Profile::RandomizedResponse { bits: 5, keep }));
        assert!(!zero(Profile::RandomizedResponse { bits: 6, keep }));
        let loss = (keep.get() / (1.0 - keep.get())).ln();
        assert!(loss <= e / 5.0 && loss > e / 5.0 * (1.0 - 1e-8), "{loss} for {e}");
        let keep = calibrate::kary_response(budget, 2, 10).unwrap();
        assert!(zero(Profile::KaryResponse { responses: 2, alphabet: 10, keep }));
        let back = Profile::Laplace { sensitivity: l1, scale }.epsilon(Delta::ZERO).unwrap();
        assert!(back.get() <= e * (1.0 + 1e-10), "{back}");
        for failed in [
            calibrate::gaussian(budget, unit()),
            calibrate::jl_lift(budget, 3, one(), RowChange::Replace),
        ] {
            assert!(failed.unwrap_err().to_string().contains("delta must be above zero"));
        }
    }
}

/// Several Laplace coordinates are dominated by one: the profile of two coordinates, by
/// quadrature over the first, stays below that of one coordinate moved by the sum.
#[test]
fn one_laplace_coordinate_is_the_worst() {
    for (m1, m2, e) in [(0.5, 0.5, 0.3), (1.0, 0.2, 0.9), (2.0, 1.5, 3.0), (0.1, 0.05, 0.01)] {
        // Loss of the first coordinate at x (density of Lap(0, 1)), then the second's profile.
        let n = 400_000;
        let (low, width) = (-40.0f64, 80.0 / f64::from(n));
        let two: f64 = (0..n)
            .map(|i| {
                let x = low + (f64::from(i) + 0.5) * width;
                let loss = (x - m1).abs() - x.abs();
                let rest: f64 = e - loss;
                // The hockey stick of one Laplace at any order, also below -m2.
                let delta = if rest >= m2 {
                    0.0
                } else if rest <= -m2 {
                    1.0 - rest.exp()
                } else {
                    1.0 - ((rest - m2) / 2.0).exp()
                };
                0.5 * (-x.abs()).exp() * delta * width
            })
            .sum();
        let profile = Profile::Laplace {
            sensitivity: L1Sensitivity::new(m1 + m2).unwrap(),
            scale: LaplaceScale::new(1.0).unwrap(),
        };
        let one = profile.log_delta(Epsilon::new(e).unwrap()).delta();
        assert!(two < one && two > 0.3 * one, "{two} against {one} at {m1} {m2} {e}");
    }
}

/// A composition of a projection step with a later Gaussian step: the limits are right.
#[test]
fn later_steps_only_add() {
    let epsilon = Epsilon::new(1.0).unwrap();
    let mixture = |later_mu| Profile::ChiMixtureGaussian {
        k: 30,
        entry_shift: unit(),
        sigma: NoiseScale::new(40.0).unwrap(),
        later_mu,
    };
    let plain = mixture(0.0).log_delta(epsilon).get();
    let gaussian = Profile::Gaussian { sensitivity: unit(), sigma: NoiseScale::new(4.0).unwrap() };
    let later = gaussian.log_delta(epsilon).get();
    let both = mixture(0.25).log_delta(epsilon).get();
    assert!(both > plain && both > later);
    assert!(mixture(1e-9).log_delta(epsilon).get() >= plain - 1e-11);
    for bad in [f64::NAN, -1.0, f64::INFINITY] {
        assert_eq!(mixture(bad).log_delta(epsilon).get(), 0.0);
    }
}

/// One peer's analytic Gaussian is 2e12 times over its target at (1, 1e-30), and 6e4 times
/// at (50, 1e-10); going through zCDP costs 2 to 50 percent more noise. The exact sigmas.
#[test]
fn where_others_go_wrong() {
    for (e, d, sigma, zcdp) in [
        (1.0, 1e-30, 11.0831029490, 11.289_371),
        (50.0, 1e-10, 0.180294222942, 0.185146),
        (1.0, 1e-12, 6.55782206746, 6.823080),
        (0.001, 1e-9, 4122.62973203, 4430.5095),
        (0.0001, 1e-3, 380.237656246, 572.3459),
        (100.0, 1e-6, 0.0978372239744, 0.1004573),
    ] {
        let found = calibrate::gaussian(Budget::new(e, d).unwrap(), unit()).unwrap().get();
        assert!((found / sigma - 1.0).abs() < 5e-12, "{found} against {sigma}");
        assert!(zcdp / found > 1.015, "{}", zcdp / found);
    }
}
