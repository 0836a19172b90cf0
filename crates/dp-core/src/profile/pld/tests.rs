//! The bracket against exact answers (`composition_epsilon.json`: 60-digit bisection,
//! exact binomial sum, contour integral).

use super::*;
use crate::profile::pld::law::Law;
use crate::profile::{CoordinateProfile, PrivacyProfile, Profile, RowChange};
use crate::quantity::{
    L1Sensitivity, L2Sensitivity, LaplaceScale, NoiseScale, NormBound, Probability,
};

fn gaussian(sigma: f64) -> Profile {
    let sensitivity = L2Sensitivity::new(1.0).unwrap();
    Profile::Gaussian { sensitivity, sigma: NoiseScale::new(sigma).unwrap() }
}

fn laplace(b: f64) -> Profile {
    let sensitivity = L1Sensitivity::new(1.0).unwrap();
    Profile::Laplace { sensitivity, scale: LaplaceScale::new(b).unwrap() }
}

fn response(eps0: f64, bits: u64) -> Profile {
    let keep = Probability::new(1.0 / (1.0 + (-eps0).exp())).unwrap();
    Profile::RandomizedResponse { bits, keep }
}

fn events(list: &[(Profile, u64)]) -> Vec<Event> {
    list.iter().map(|(p, n)| Event::new(p.clone(), *n).unwrap()).collect()
}

/// Where all losses are infinite, no tilt makes anything of them.
#[test]
fn a_measure_without_finite_losses_has_no_moments() {
    let measure = discretise::Measure { first: -1, p: vec![0.0; 3], p_infinite: 1.0 };
    assert_eq!(measure.cumulant(0.1, 2.0).value, f64::NEG_INFINITY);
    assert_eq!(measure.ln_moment_above(0.1, 2.0), f64::NEG_INFINITY);
}

/// Gaussian noise of other releases joins a mixture, and is part of how large its losses may be.
#[test]
fn a_mixture_that_gaussians_make_too_large_is_certain() {
    let certain = |sigma: f64| {
        let mixture = Profile::ChiMixtureGaussian {
            k: 10,
            entry_shift: L2Sensitivity::new(1.0).unwrap(),
            sigma: NoiseScale::new(1.0).unwrap(),
            later_mu: 0.0,
        };
        let pld = Pld::new(&events(&[(mixture, 1), (gaussian(sigma), 1)]));
        pld.parts.iter().any(|(source, _)| *source == Source::Law(Law::Certain))
    };
    // mu^2 of 40,000 and of 160,000, where 100,000 is the most.
    assert!(!certain(1.0 / 200.0) && certain(1.0 / 400.0));
}

/// The composition without any exact merging.
fn unmerged(list: &[(Profile, u64)]) -> Pld {
    let parts = parts::unmerged(&events(list));
    Pld { parts, above_only: false, width: Width::default(), bulks: Arc::default() }
}

/// The lower end of laws, also where the profile is only an upper bound on its mechanism.
fn merged(list: &[(Profile, u64)]) -> Pld {
    let pld = Pld::new(&events(list));
    let above_only = pld.parts.iter().any(|(s, _)| matches!(s, Source::Envelope(_)));
    Pld { above_only, ..pld }
}

fn delta(x: f64) -> Delta {
    Delta::new(x).unwrap()
}

/// The bracket, after checking that it holds `truth` (known to 1e-11) and is narrow.
fn check(name: &str, pld: &Pld, d: f64, truth: f64, width: f64) {
    let b = pld.epsilon(delta(d)).unwrap();
    let (low, high) = (b.lower.unwrap().get(), b.upper.get());
    println!("{name}: [{low:.9}, {high:.9}] truth {truth:.9} width {:.1e}", high / low - 1.0);
    assert!(low <= truth * (1.0 + 1e-11), "{name}: {low} > {truth}");
    assert!(high >= truth * (1.0 - 1e-11), "{name}: {high} < {truth}");
    assert!(high - low <= width * truth, "{name}: {low} to {high}");
}

#[test]
fn the_bracket_holds_the_exact_compositions() {
    let g = [(gaussian(20.0), 1000)];
    let r = [(response(0.1, 1), 256)];
    let x = [(gaussian(30.0), 500), (laplace(20.0), 200)];
    for (name, list, truth) in [
        ("1000 Gaussians", &g[..], 8.30622504995),
        ("256 responses", &r[..], 8.33903451379),
        ("500 Gaussians, 200 Laplace", &x[..], 5.00510333352),
    ] {
        check(name, &merged(list), 1e-6, truth, 1e-4);
        check(name, &unmerged(list), 1e-6, truth, 1e-4);
    }
}

#[test]
fn ten_thousand_fold_compositions_agree_with_closed_forms() {
    let one = gaussian(100.0);
    let all = Profile::Gaussian {
        sensitivity: L2Sensitivity::new(1.0).unwrap(),
        sigma: NoiseScale::new(1.0).unwrap(),
    };
    for d in [1e-3, 1e-6, 1e-12, 1e-50, 1e-300] {
        let truth = all.epsilon(delta(d)).unwrap().get();
        check("10,000 Gaussians", &unmerged(&[(one.clone(), 10_000)]), d, truth, 1e-4);
    }
    let bits = response(0.01, 1);
    let all = response(0.01, 10_000);
    for d in [1e-3, 1e-6, 1e-12] {
        let truth = all.epsilon(delta(d)).unwrap().get();
        check("10,000 responses", &merged(&[(bits.clone(), 10_000)]), d, truth, 1e-4);
        check("10,000 responses", &unmerged(&[(bits.clone(), 10_000)]), d, truth, 1e-4);
    }
}

fn jl(rows: u64, change: RowChange) -> Profile {
    let (bound, lift) = (NormBound::new(1.0).unwrap(), NoiseScale::new(12.0).unwrap());
    Profile::JlMechanism { rows, bound, lift, change }
}

fn wishart(change: RowChange) -> Profile {
    let (bound, scale) = (NormBound::new(1.0).unwrap(), NoiseScale::new(1.0).unwrap());
    Profile::Wishart { dim: 10, dof: 60, bound, scale, change }
}

fn flips(trials: u64) -> Profile {
    Profile::BinomialMixture {
        trials,
        probability: Probability::new(0.1).unwrap(),
        coordinate: CoordinateProfile::RandomizedResponse { keep: Probability::new(0.6).unwrap() },
    }
}

#[test]
fn single_mechanisms_agree_with_their_exact_profiles() {
    let chi = Profile::ChiMixtureGaussian {
        k: 5,
        entry_shift: L2Sensitivity::new(1.0).unwrap(),
        sigma: NoiseScale::new(8.0).unwrap(),
        later_mu: 0.1,
    };
    let kary =
        Profile::KaryResponse { responses: 40, alphabet: 8, keep: Probability::new(0.2).unwrap() };
    let sparse = Profile::BinomialMixture {
        trials: 30,
        probability: Probability::new(0.2).unwrap(),
        coordinate: CoordinateProfile::Gaussian {
            shift: L2Sensitivity::new(1.0).unwrap(),
            sigma: NoiseScale::new(4.0).unwrap(),
        },
    };
    let list = [
        gaussian(0.7),
        laplace(0.8),
        response(0.3, 17),
        kary,
        chi,
        jl(30, RowChange::AddRemove),
        jl(30, RowChange::Replace),
        wishart(RowChange::AddRemove),
        flips(100),
        sparse,
    ];
    for profile in list {
        for d in [1e-3, 1e-7] {
            let Ok(truth) = profile.epsilon(delta(d)) else { continue };
            if truth.get() < 1e-3 {
                continue;
            }
            // The profiles are upper bounds with a slack of their own.
            let b = merged(&[(profile.clone(), 1)]).epsilon(delta(d)).unwrap();
            let (low, high, truth) = (b.lower.unwrap().get(), b.upper.get(), truth.get());
            println!("{profile:?} {d:e}: {low} {high} {truth}");
            assert!(low <= truth * (1.0 + 1e-8), "{profile:?} at {d:e}: {low} > {truth}");
            assert!(high >= truth * (1.0 - 1e-8), "{profile:?} at {d:e}: {high} < {truth}");
            assert!(high - low <= 2e-4 * truth, "{profile:?} at {d:e}: {low} to {high}");
        }
    }
}

/// Where delta is large epsilon lies within the bulk. (Heavy tails, as those of Wishart noise, have wider brackets there.)
#[test]
fn the_lower_end_is_tight_at_large_deltas_too() {
    let jl = |change| {
        let (bound, lift) = (NormBound::new(1.0).unwrap(), NoiseScale::new(2.0).unwrap());
        Profile::JlMechanism { rows: 30, bound, lift, change }
    };
    let chi = Profile::ChiMixtureGaussian {
        k: 5,
        entry_shift: L2Sensitivity::new(1.0).unwrap(),
        sigma: NoiseScale::new(0.8).unwrap(),
        later_mu: 0.1,
    };
    let all = gaussian(20.0 / 1000f64.sqrt());
    for d in [1e-2, 0.1, 0.3, 0.5, 0.8] {
        let single =
            [gaussian(0.3), response(0.5, 17), jl(RowChange::AddRemove), chi.clone(), laplace(0.3)];
        for profile in single {
            let truth = profile.epsilon(delta(d)).unwrap().get();
            let pld = merged(&[(profile.clone(), 1)]);
            let Bracket { lower, upper } = pld.epsilon(delta(d)).unwrap();
            let (low, high) = (lower.unwrap().get(), upper.get());
            println!("{d} {profile:?}: {low:.6} {truth:.6} {high:.6}");
            if truth < 1e-3 {
                assert!(low <= truth.max(1e-9) && high <= 2e-3, "{profile:?} {d}: {low} to {high}");
                continue;
            }
            assert!(low <= truth * (1.0 + 1e-8) && high >= truth * (1.0 - 1e-8), "{profile:?} {d}");
            assert!(high - low <= 1e-3 * truth.max(0.1), "{profile:?} {d}: {low} to {high}");
        }
        let truth = all.epsilon(delta(d)).unwrap().get();
        // At 0.8 it is zero.
        if truth > 1e-3 {
            check("1000 Gaussians", &unmerged(&[(gaussian(20.0), 1000)]), d, truth, 1e-3);
        }
        let mixed = [(gaussian(8.0), 100), (laplace(10.0), 40), (response(0.1, 1), 60)];
        let b = merged(&mixed).epsilon(delta(d)).unwrap();
        let (low, high) = (b.lower.unwrap().get(), b.upper.get());
        println!("{d} mixed: {low:.6} {high:.6}");
        assert!(high - low <= 1e-3 * high.max(0.1), "{d}: {low} to {high}");
    }
}

#[test]
fn a_mixed_composition_has_a_narrow_bracket() {
    let list = [
        (jl(30, RowChange::AddRemove), 3),
        (wishart(RowChange::AddRemove), 2),
        (flips(100), 5),
        (laplace(30.0), 10),
        (gaussian(10.0), 4),
    ];
    let pld = merged(&list);
    let b = pld.epsilon(delta(1e-6)).unwrap();
    let (low, high) = (b.lower.unwrap(), b.upper);
    println!("mixed: {low} {high}");
    assert!(high.get() / low.get() - 1.0 < 1e-4, "{low} to {high}");
    // Back through delta: the two questions must agree.
    let d = pld.log_delta(high);
    let target = 1e-6_f64.ln();
    assert!(d.lower.unwrap().get() <= target && d.upper.get() >= target - 0.01, "{d:?}");
    // Sound against each mechanism alone, and against the sum of splits.
    let alone = merged(&list[..1]).epsilon(delta(1e-6)).unwrap();
    assert!(alone.upper <= high);
}

#[test]
fn an_upper_bound_alone_gives_no_lower_end() {
    let profile = wishart(RowChange::Replace);
    let b = merged(&[(profile.clone(), 1)]).epsilon(delta(1e-6)).unwrap();
    let truth = profile.epsilon(delta(1e-6)).unwrap().get();
    assert_eq!(b.lower, None);
    assert!(
        b.upper.get() >= truth * (1.0 - 1e-8) && b.upper.get() <= truth * 1.01,
        "{b:?} {truth}"
    );
    let twice = merged(&[(profile, 2)]).epsilon(delta(1e-6)).unwrap();
    assert!(twice.upper.get() > truth && twice.upper.get() < 2.0 * truth);
}

#[test]
fn pure_mechanisms_at_delta_zero_add_up() {
    let b = merged(&[(laplace(2.0), 3), (response(0.25, 4), 1)]).epsilon(Delta::ZERO).unwrap();
    assert!((b.upper.get() - 2.5).abs() < 1e-12 && b.upper.get() >= 2.5, "{b:?}");
    let error = merged(&[(gaussian(1.0), 1)]).epsilon(Delta::ZERO).unwrap_err();
    assert!(error.to_string().contains("no finite epsilon"), "{error}");
}

#[test]
fn the_convolution_equals_a_direct_sum() {
    let law = Law::Laplace { mu: 0.3 };
    let h = 0.02;
    let s = discretise::sandwich(&law, h, Cut { low: 1e-15, high: 1e-15, most: f64::INFINITY });
    let mut direct = vec![1.0];
    for _ in 0..5 {
        let mut next = vec![0.0; direct.len() + s.above.p.len() - 1];
        for (i, a) in direct.iter().enumerate() {
            s.above.p.iter().enumerate().for_each(|(j, b)| next[i + j] += a * b);
        }
        direct = next;
    }
    for t in [0.0_f64, 1.0, 20.0] {
        let sum = TiltedSum::new(&[(&s.above, 5)], h, t.max(1e-3), 1 << 20);
        for i in 0..60 {
            let eps = f64::from(i) * 0.025;
            let exact: f64 = direct
                .iter()
                .enumerate()
                .map(|(i, p)| {
                    let x = (5 * s.above.first + i as i64) as f64 * h;
                    p * (-(eps - x).exp_m1()).max(0.0)
                })
                .sum();
            let (low, high) = (sum.ln_delta_below(eps).exp(), sum.ln_delta_above(eps).exp());
            assert!(low <= exact * (1.0 + 1e-12) && high >= exact * (1.0 - 1e-12), "{t} {eps}");
            let near = |x: f64| (x - exact).abs() <= 1e-8 * exact + 1e-12;
            // Far below its tilt a sum is sound, but not tight.
            let tight = t < 10.0 || eps > 1.2;
            assert!(!tight || near(low) && near(high), "{t} {eps}: {low} {exact} {high}");
        }
    }
}

/// One step of integer Laplace noise is one randomised response: of many, the bracket holds the binomial sum.
#[test]
fn integer_laplace_noise_of_one_step_is_a_response() {
    let scale = LaplaceScale::new(4.0).unwrap();
    let list = [(Profile::DiscreteLaplace { moves: 1, scale }, 64)];
    for d in [1e-3, 1e-6, 1e-9] {
        let truth = response(0.25, 64).epsilon(delta(d)).unwrap().get();
        check("64 integers", &merged(&list), d, truth, 1e-4);
    }
}

/// Four bits kept with probability 3/4 lose up to 4 ln 3, and with a delta of 1e-60 that to fifty digits.
#[test]
fn the_sum_of_the_largest_losses_is_not_rounded_down() {
    let keep = Probability::new(0.75).unwrap();
    let pld = merged(&[(Profile::RandomizedResponse { bits: 4, keep }, 1)]);
    for d in [1e-60, 0.0] {
        let upper = pld.epsilon(delta(d)).unwrap().upper.get();
        let most = 4.0 * 3f64.ln();
        assert!(upper >= most && upper <= most * (1.0 + 1e-12), "{d}: {upper} {most}");
    }
}

/// Both are asked: a law that is its own reverse, and nothing known from above only.
#[test]
fn a_pair_is_reached_both_ways_where_the_law_is_exact_and_symmetric() {
    let both = |profile: Profile| Pld::new(&events(&[(profile, 1)])).is_reached_both_ways();
    assert!(both(gaussian(1.0)) && both(response(0.3, 4)));
    assert!(!both(jl(30, RowChange::AddRemove)) && !both(wishart(RowChange::AddRemove)));
    assert!(!both(laplace(1.0)) && !both(wishart(RowChange::Replace)));
}

/// Each node of a mixture counts as a cell wherever its law has one: with losses far apart, and close together.
#[test]
fn the_least_step_makes_as_many_cells_as_are_allowed() {
    let cut = Cut { low: 1e-12, high: 1e-12, most: f64::INFINITY };
    for (k, scale) in [(3, 1e-3), (64, 1.0)] {
        let mixture = Profile::ChiMixtureGaussian {
            k,
            entry_shift: L2Sensitivity::new(scale).unwrap(),
            sigma: NoiseScale::new(1.0).unwrap(),
            later_mu: 0.0,
        };
        let parts = Pld::new(&events(&[(mixture, 1), (response(1.0, 8), 1)])).parts;
        let cells = |(source, _): &(Source, u64)| match source {
            Source::Law(law) => {
                let (low, high) = law.range(cut.low, cut.high);
                (high - low) * law.nodes(cut).list.len().max(1) as f64
            }
            Source::Envelope(_) => 0.0,
        };
        let all: f64 = parts.iter().map(cells).sum();
        let least = least_step(&parts, cut, 1000.0);
        assert!(parts.len() == 2 && (1000.0 * least / all - 1.0).abs() < 1e-12, "{least} {all}");
    }
}

/// At least the distance of the ends, and at least either of them.
#[test]
fn the_reach_of_losses_is_at_least_their_distance() {
    for (low, high) in [(-2.0, 3.0), (-3.0, 2.0), (1.0, 4.0), (-5.0, -1.0)] {
        let least = f64::max(high - low, f64::max(f64::abs(low), f64::abs(high)));
        assert_eq!(farther(low, high), least);
    }
}

/// A mechanism that is run once is composed as the mechanism.
#[test]
fn one_run_is_composed_as_the_mechanism() {
    for profile in [wishart(RowChange::Replace), wishart(RowChange::AddRemove), gaussian(2.0)] {
        let once = Profile::Repeated { profile: Box::new(profile.clone()), times: 1 };
        let parts = |profile| Pld::new(&events(&[(profile, 3)])).parts;
        assert_eq!(parts(once), parts(profile));
    }
}

/// What is cut off costs e^-21 of delta, or of what delta is expected to be there where none is known, over all runs.
#[test]
fn cuts_cost_a_billionth_of_delta() {
    let at = Cumulant { value: -3.0, mean: 4.0, variance: 1.0 };
    for (ln_delta, t, runs, of) in [
        (-10.0, 2.0, 1.0, -10.0),
        (-10.0, 2.0, 1000.0, -10.0),
        // -3 - 4 t, where delta is hardly known.
        (-70.0, 20.0, 10.0, -83.0),
        (-100.0, 20.0, 10.0, -100.0),
    ] {
        let Cut { low, high, most } = cut(ln_delta, at, t, runs);
        let expected = f64::exp(of - 21.0) / runs;
        assert!((high / expected - 1.0).abs() < 1e-12, "{ln_delta}: {high:e}, {expected:e}");
        assert_eq!((low, most), (1e-14 / runs, f64::INFINITY));
    }
}
