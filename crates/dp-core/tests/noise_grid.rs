//! The grid: exact rounding, safe sensitivities, no overflow.
#![allow(missing_docs)]

use dp_core::noise::{AdditiveNoise, GaussianNoise, Grid, LaplaceNoise};
use dp_core::{Bound, L1Sensitivity, L2Sensitivity, NoiseRng, NoiseScale};
use proptest::prelude::*;

fn scale(s: f64) -> NoiseScale {
    NoiseScale::new(s).unwrap()
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
        match Grid::choose(scale(s), Bound::new(bound).unwrap()) {
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
    let bound = |b: f64| Bound::new(b).unwrap();
    assert!(GaussianNoise::for_bound(scale(1.0), bound(1e13)).is_err());
    assert!(LaplaceNoise::for_bound(scale(1.0), bound(1e13)).is_err());
    assert!(Grid::choose(scale(1e300), bound(1.0)).is_err());
    assert!(Grid::choose(scale(1e-300), bound(1.0)).is_err());
    assert_eq!(GaussianNoise::for_bound(scale(1.0), bound(1.0)).unwrap().grid().exponent(), -30);
    assert_eq!(Grid::choose(scale(1e-320), bound(1e-320)).ok(), None);
}

#[test]
fn every_output_is_a_finite_point_of_the_grid_whatever_goes_in() {
    let inputs = [0.0, -0.0, 1e300, -1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -1e-300];
    let mut rng = NoiseRng::deterministic_not_private(5);
    for (s, exponent) in [(1.0, -30), (1.0, -60), (1e280, 960), (1e-290, -960), (1e-10, 5)] {
        let grid = Grid::new(exponent).unwrap();
        let laws: [&dyn AdditiveNoise; 2] =
            [&GaussianNoise::new(scale(s), grid), &LaplaceNoise::new(scale(s), grid)];
        for law in laws {
            let mut values = inputs.repeat(3);
            law.add_to(&mut rng, &mut values);
            for v in values {
                let steps = v / grid.spacing();
                assert!(steps.fract() == 0.0 && steps.abs() <= 2f64.powi(52), "{v}");
                assert!(v != 0.0 || v.is_sign_positive());
            }
        }
    }
}
