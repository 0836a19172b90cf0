//! The grid: exact rounding, safe sensitivities, no overflow.

use dp_core::authority;
use dp_core::mechanism::{Basis, Calibrated, Statistic};
use dp_core::noise::{AdditiveNoise, GaussianNoise, Grid, LaplaceNoise};
use dp_core::{
    Adjacency, Budget, EntryBound, L1Sensitivity, L2Sensitivity, LaplaceScale, NoiseRng,
    NoiseScale, NormBound, PrivacyProfile, Profile, calibrate,
};
use proptest::prelude::*;

fn scale(s: f64) -> NoiseScale {
    NoiseScale::new(s).unwrap()
}

fn b(s: f64) -> LaplaceScale {
    LaplaceScale::new(s).unwrap()
}

fn row() -> Adjacency {
    Adjacency::AddRemoveRow { bound: NormBound::new(1.0).unwrap() }
}

fn gaussian(
    budget: Budget,
    exact: L2Sensitivity,
    bound: EntryBound,
    count: usize,
) -> dp_core::Result<Calibrated<GaussianNoise>> {
    let basis = Basis::declared("the tests", "a pair of inputs");
    Calibrated::calibrate(Statistic::new(row(), exact, count, bound), budget, basis)
}

fn laplace(
    budget: Budget,
    exact: L1Sensitivity,
    bound: EntryBound,
    count: usize,
) -> dp_core::Result<Calibrated<LaplaceNoise>> {
    let basis = Basis::declared("the tests", "a pair of inputs");
    Calibrated::calibrate(Statistic::new(row(), exact, count, bound), budget, basis)
}

#[test]
fn rounding_is_to_the_nearest_point_ties_to_even_and_zero_has_no_sign() {
    let grid = Grid::new(-2).unwrap();
    let table = [
        (0.3, 0.25),
        (0.125, 0.0),
        (0.375, 0.5),
        (-0.125, 0.0),
        (-0.1, 0.0),
        (-0.0, 0.0),
        (-5e-324, 0.0),
        (1e300, 1e300),
        (f64::MAX, f64::MAX),
    ];
    for (x, r) in table {
        assert_eq!(grid.round(x).to_bits(), f64::to_bits(r), "{x}");
    }
    for exponent in [-960, 0, 960] {
        let grid = Grid::new(exponent).unwrap();
        for x in [f64::MAX, f64::MIN_POSITIVE, 5e-324, -1e-300, -1e300] {
            let r = grid.round(x);
            assert!(r.is_finite() && (r != 0.0 || r.is_sign_positive()));
        }
    }
    assert!(Grid::new(961).is_err() && Grid::new(-961).is_err());
}

proptest! {
    #[test]
    fn rounding_moves_by_half_a_step_at_most(x in -1e9f64..1e9, exponent in -40i32..20) {
        let grid = Grid::new(exponent).unwrap();
        let r = grid.round(x);
        prop_assert!((r - x).abs() <= grid.spacing() / 2.0);
        prop_assert_eq!(grid.round(r).to_bits(), r.to_bits());
        prop_assert_eq!((r / grid.spacing()).fract(), 0.0);
    }

    #[test]
    fn chosen_grids_hold_the_data_and_the_noise(log_s in -900.0f64..900.0, ratio in -60.0f64..45.0) {
        let (s, bound) = (log_s.exp2(), (log_s + ratio).exp2());
        match Grid::choose(scale(s), EntryBound::new(bound).unwrap()) {
            Ok(grid) => {
                let steps = (bound + 1024.0 * s) / grid.spacing();
                prop_assert!(steps <= 2f64.powi(51));
                prop_assert!(grid.spacing() <= s * 2f64.powi(-10));
                prop_assert!(ratio > 19.0 || grid.spacing() <= s * 2f64.powi(-30));
                prop_assert!(grid.spacing() > s * 2f64.powi(-32));
            }
            Err(_) => prop_assert!(ratio > 40.0),
        }
    }

    #[test]
    fn rounded_vectors_stay_within_the_inflated_sensitivity(
        pairs in prop::collection::vec((-3.0f64..3.0, -0.1f64..0.1), 1..8),
        exponent in -8i32..-1,
    ) {
        let grid = Grid::new(exponent).unwrap();
        let distance = |p: i32, f: &dyn Fn(f64, f64) -> f64| -> f64 {
            pairs.iter().map(|&(x, d)| f(x, x + d).abs().powi(p)).sum()
        };
        let (l1, l2) = (distance(1, &|x, y| x - y), distance(2, &|x, y| x - y).sqrt());
        prop_assume!(l2 > 1e-9);
        let rounded = |x: f64, y: f64| grid.round(x) - grid.round(y);
        // 1e-12 covers this test's own arithmetic.
        let error = 1e-12;
        let inflated = grid.inflate_l2(L2Sensitivity::new(l2).unwrap(), pairs.len(), error).unwrap();
        prop_assert!(distance(2, &rounded).sqrt() <= inflated.get());
        let inflated = grid.inflate_l1(L1Sensitivity::new(l1).unwrap(), pairs.len(), error).unwrap();
        prop_assert!(distance(1, &rounded) <= inflated.get());
    }
}

#[test]
fn inflation_is_close_to_what_can_happen_and_never_rounds_down() {
    // Two values a hair apart on both sides of a tie move by a whole step.
    let grid = Grid::new(0).unwrap();
    let (x, y) = (0.5f64.next_down(), 0.5f64.next_up());
    let exact = L2Sensitivity::new(y - x).unwrap();
    let inflated = grid.inflate_l2(exact, 1, 0.0).unwrap().get();
    let moved = (grid.round(y) - grid.round(x)).abs();
    assert!(moved <= inflated && moved > 0.999 * inflated);
    // The formulas: the square root of the coordinates, a step and twice the error in each.
    let eighth = Grid::new(-3).unwrap();
    let l2 = eighth.inflate_l2(L2Sensitivity::new(1.0).unwrap(), 9, 0.25).unwrap().get();
    let l1 = eighth.inflate_l1(L1Sensitivity::new(1.0).unwrap(), 9, 0.25).unwrap().get();
    for (found, expected) in [(l2, 1.0 + 3.0 * 0.625), (l1, 1.0 + 9.0 * 0.625)] {
        assert!(found >= expected && found < expected * (1.0 + 1e-13), "{found}, {expected}");
    }
    // A step far below the sensitivity's ulp still counts.
    let tiny = Grid::new(-200).unwrap();
    let one = L2Sensitivity::new(1.0).unwrap();
    assert!(tiny.inflate_l2(one, 1, 0.0).unwrap().get() > 1.0);
    assert!(tiny.inflate_l1(L1Sensitivity::new(1.0).unwrap(), 1, 0.0).unwrap().get() > 1.0);
    assert!(tiny.inflate_l2(one, 1, -1.0).is_err());
    assert!(tiny.inflate_l2(one, 1, f64::NAN).is_err());
}

#[test]
fn grids_that_cannot_hold_the_sums_are_refused_when_configured() {
    let bound = |b: f64| EntryBound::new(b).unwrap();
    assert!(Grid::choose(scale(1.0), bound(1e13)).is_err());
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let (l2, l1) = (L2Sensitivity::new(1.0).unwrap(), L1Sensitivity::new(1.0).unwrap());
    assert!(gaussian(budget, l2, bound(1e14), 1).is_err());
    assert!(laplace(budget, l1, bound(1e14), 1).is_err());
    assert!(Grid::choose(scale(1e300), bound(1.0)).is_err());
    assert!(Grid::choose(scale(1e-300), bound(1.0)).is_err());
    assert_eq!(Grid::choose(scale(1.0), bound(1.0)).unwrap().exponent(), -30);
    assert_eq!(Grid::choose(scale(1e-320), bound(1e-320)).ok(), None);
}

/// On a coarser grid points a hair apart may round to points whole noise scales apart.
#[test]
fn a_grid_coarser_than_the_noise_allows_is_refused() {
    for (s, exponent, fine) in [
        (1.0, -9, true),
        (1.0, -8, false),
        (1.0, 0, false),
        (4.2, 20, false),
        (1.0f64.next_down(), -9, false),
        (2f64.powi(9), 0, true),
        (1e-10, 5, false),
        (1e280, 960, false),
        (5e-324, -960, false),
    ] {
        let grid = Grid::new(exponent).unwrap();
        assert_eq!(authority!().gaussian(scale(s), grid).is_ok(), fine, "{s}, {exponent}");
        assert_eq!(authority!().laplace(b(s), grid).is_ok(), fine);
        // Off its diagonal symmetric noise is smaller by sqrt 2.
        let symmetric = authority!().symmetric(2, scale(s), grid);
        assert_eq!(symmetric.is_ok(), grid.spacing() <= s * 2f64.powi(-9) / 2f64.sqrt());
    }
}

/// What the documented recipe certifies is what the worst pair on the grid gives: a million
/// values of which each may round the other way, at the largest bound that a grid carries.
#[test]
fn the_recipe_pays_for_the_rounding_of_a_million_values() {
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let (count, bound) = (1_000_000, EntryBound::new(4e12).unwrap());
    let exact = L2Sensitivity::new(1.0).unwrap();
    let made = gaussian(budget, exact, bound, count).unwrap();
    let (noise, profile) = (made.noise(), made.guarantee().profile().unwrap());
    let g = noise.grid().spacing();
    // Every value moves by 1/1000, from just below a tie to above it, so by a step at least.
    let (x, y) = (0.5 * g - 5e-4, 0.5 * g + 5e-4);
    let moved = (noise.grid().round(y) - noise.grid().round(x)) * (count as f64).sqrt();
    assert!(moved > 1.5, "the rounding matters here: {moved}");
    let sigma = noise.sigma();
    let &Profile::Gaussian { sensitivity, sigma: stated } = profile else { panic!() };
    assert!(moved <= sensitivity.get() && stated == sigma);
    let real = Profile::Gaussian { sensitivity: L2Sensitivity::new(moved).unwrap(), sigma };
    assert!(real.log_delta(budget.epsilon) <= budget.delta.ln());
    // Without it the same pair has an epsilon well above the certified one.
    let bare = calibrate::gaussian(budget, exact).unwrap();
    let bare = Profile::Gaussian { sensitivity: L2Sensitivity::new(moved).unwrap(), sigma: bare };
    assert!(bare.epsilon(budget.delta).unwrap().get() > 1.5);

    let exact = L1Sensitivity::new(1.0).unwrap();
    let pure = Budget::new(1.0, 0.0).unwrap();
    let made = laplace(pure, exact, EntryBound::new(1e12).unwrap(), 1000).unwrap();
    let (noise, profile) = (made.noise(), made.guarantee().profile().unwrap());
    let g = noise.grid().spacing();
    let (x, y) = (0.5 * g - 5e-4, 0.5 * g + 5e-4);
    let moved = (noise.grid().round(y) - noise.grid().round(x)) * 1000.0;
    let &Profile::Laplace { sensitivity, scale } = profile else { panic!() };
    assert!(moved <= sensitivity.get() && moved / scale.get() <= 1.0 && scale == noise.scale());
}

/// What cannot be noised exactly is refused, and nothing is changed.
#[test]
fn values_that_no_grid_carries_are_refused() {
    let grid = Grid::new(-30).unwrap();
    let most = 2f64.powi(21);
    let mut rng = NoiseRng::deterministic_not_private(5);
    let noise = authority!().gaussian(scale(1.0), grid).unwrap();
    let laplace = authority!().laplace(b(1.0), grid).unwrap();
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, most.next_up()] {
        let mut values = vec![0.25; 10_000];
        values[9_000] = bad;
        for law in [&noise as &dyn AdditiveNoise, &laplace] {
            let mut single: Vec<f32> = values.iter().map(|&v| v as f32).collect();
            let text = law.add_to(&mut rng, &mut values).unwrap_err().to_string();
            assert!(law.add_block(&mut rng.stream(), &mut values).is_err());
            assert!(!text.contains("0.25") && !text.contains("NaN") && !text.contains("9000"));
            assert!(values.iter().enumerate().all(|(i, &v)| (v == 0.25) == (i != 9_000)));
            let fits = single[9_000].abs() <= most as f32;
            if !fits {
                assert!(law.add_to_f32(&mut rng, &mut single).is_err());
                assert!(law.add_block_f32(&mut rng.stream(), &mut single).is_err());
                assert!(single.iter().enumerate().all(|(i, &v)| (v == 0.25) == (i != 9_000)));
            }
        }
        let mut matrix = [0.0, 7.0, bad, 0.0];
        let symmetric = authority!().symmetric(2, scale(1.0), grid).unwrap();
        assert!(symmetric.add_to(&mut rng, &mut matrix).is_err());
        assert_eq!((matrix[0], matrix[1], matrix[3]), (0.0, 7.0, 0.0));
    }
    // The bound itself is fine, and the upper triangle is not looked at.
    noise.add_to(&mut rng, &mut [most, -most, 0.0]).unwrap();
    let symmetric = authority!().symmetric(2, scale(1.0), grid).unwrap();
    symmetric.add_to(&mut rng, &mut [0.0, f64::NAN, 0.0, 0.0]).unwrap();
    noise.add_to(&mut rng, &mut []).unwrap();
}

#[test]
fn every_output_is_a_finite_point_of_the_grid_whatever_goes_in() {
    let mut rng = NoiseRng::deterministic_not_private(5);
    let (large, small) = (2f64.powi(969), 2f64.powi(-951));
    for (s, exponent) in [(1.0, -30), (1.0, -60), (large, 960), (small, -960)] {
        let grid = Grid::new(exponent).unwrap();
        let most = 2f64.powi(51) * grid.spacing();
        let inputs = [0.0, -0.0, most, -most, -1e-300, 5e-324, 0.49 * grid.spacing()];
        let inputs = inputs.map(|x| if x.abs() <= most { x } else { 0.0 });
        let (gaussian, laplace) =
            (authority!().gaussian(scale(s), grid), authority!().laplace(b(s), grid));
        let laws: [&dyn AdditiveNoise; 2] = [&gaussian.unwrap(), &laplace.unwrap()];
        for law in laws {
            let mut values = inputs.repeat(3);
            law.add_to(&mut rng, &mut values).unwrap();
            for v in values {
                let steps = v / grid.spacing();
                assert!(steps.fract() == 0.0 && steps.abs() <= 2f64.powi(52), "{v}");
                assert!(v != 0.0 || v.is_sign_positive());
            }
        }
    }
}
