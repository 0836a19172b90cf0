//! What is stated of an error is at least what `docs/proofs/exact-rounding.md` proves, term by term.

use super::tests::{grid, source};
use super::watched::stated;
use super::*;
use crate::noise::TruncatedNormal;
use dashu_int::{IBig, UBig};

/// Bits that begin with these words in sample 0, and are those of a stream elsewhere.
struct Begins<'a>(&'a [u64], Source);

impl Bits for Begins<'_> {
    fn word(&self, sample: u64, index: u64) -> u64 {
        match self.0.get(index as usize).filter(|_| sample == 0) {
            Some(word) => *word,
            None => self.1.word(sample, index),
        }
    }
}

#[test]
fn an_inner_product_meets_so_many_roundings() {
    for (n, roundings) in [(0, 8.0), (3, 8.0), (4, 9.0), (7, 9.0), (8, 10.0), (400, 108.0)] {
        assert_eq!(dot_error(n), roundings * U, "{n}");
    }
}

#[test]
fn a_chi_states_the_error_of_its_squares() {
    let normals = Normals::new();
    for i in 0..400 {
        let (bits, dof) = (source(91, i), [1, 2, 5, 32][i as usize % 4]);
        let chi = Chi::draw(Path::Fast, &normals, &bits, dof, 0);
        let z: Vec<f64> = (0..dof).map(|j| normals.approximate(&bits, j).abs()).collect();
        let (m, squares) = (dof as f64, z.iter().map(|z| z * z).sum::<f64>());
        let error =
            z.iter().map(|z| 2.0 * z * ETA + ETA * ETA).sum::<f64>() + (m + 1.0) * U * squares;
        let (root, found) = chi.approximate(&normals, &bits);
        let least = error / root + 2.0 * U * root;
        assert!(found >= least * (1.0 - 1e-12), "{dof}: {found:e}, {least:e}");
        assert!(found <= least * (1.0 + 1e-12));
    }
}

/// Beyond -12.06 the root is negative, and there is no such chi: however unlikely, it is rejected.
#[test]
fn a_chi_below_zero_is_rejected() {
    for word in [4, 40] {
        let bits = Begins(&[1, word], source(92, 0));
        let z = Normals::new().approximate(&bits, 0);
        assert!(z < -12.1, "{z}");
        for path in [Path::Fast, Path::Exact] {
            assert!(Chi::draw(path, &Normals::new(), &bits, 33, 0).at > 0, "{path:?}");
        }
    }
}

#[test]
fn a_truncated_draw_states_its_error() {
    let normals = Normals::new();
    for threshold in [-11.0, -3.0, -0.4, 0.0, 1.0, 6.0] {
        let law = TruncatedNormal::new(threshold, grid(-20)).unwrap();
        for i in 0..80 {
            let bits = source(93, i);
            let (x, error) = law.approximate(&normals, &bits, 0);
            // Farther out one ball is rounded. Below zero the digits of the complement are lost; the draw is minus the quantile of it.
            let rest = libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
            let least = if x >= 0.0 { 2.0 * ETA } else { 2.0 * ETA + 16.0 * U / rest };
            if x.abs() < 6.0 && bits.word(0, 0) >= 1 << 55 {
                assert!(error >= least * (1.0 - 1e-6), "{x}: {error:e}, {least:e}");
            }
            stated();
            law.steps(Path::Watched, &bits);
            let [[at, said]] = stated()[..] else { panic!("one number") };
            let per_step = 2f64.powi(20);
            assert_eq!(at, x * per_step);
            assert!(said >= (error + 2.0 * U * x.abs()) * per_step * (1.0 - 1e-12), "{x}");
        }
    }
}

/// Quantiles of 16 digits, from another language.
#[test]
fn quantiles_are_known_where_the_table_is() {
    let normals = Normals::new();
    for (tail, z) in [
        (0.5, 0.674_489_750_196_081_7),
        (0.05, 1.959_963_984_540_054),
        (1e-9, 6.109_410_204_869_397),
        (0.999, 0.001_253_314_465_432_554_5),
    ] {
        let found = normals.quantile(tail);
        assert!((found - z).abs() < 1e-13, "{tail}: {found}");
    }
    assert!(normals.quantile(2f64.powi(-33)).is_nan());
}

/// Wide balls hold what their ends give.
#[test]
fn wide_balls_hold_all_results() {
    let bits = 60;
    let unit = |n: i64| IBig::from(n) << bits;
    for (mid, rad) in [(10i64, 9i64), (3, 1), (100, 99), (7, 0)] {
        let ball = Ball::new(unit(mid), UBig::from(rad as u64) << bits, bits);
        let inverse = ball.reciprocal().unwrap().ends();
        for x in [mid - rad, mid, mid + rad] {
            // low <= 2^bits / x <= high.
            assert!(
                &inverse.0 * x <= unit(1) && unit(1) <= &inverse.1 * x,
                "1/{x} of {mid}, {rad}"
            );
        }
        for (other, width) in [(5i64, 4i64), (-20, 1), (2, 6), (1000, 0)] {
            let product = ball.mul(&Ball::new(unit(other), UBig::from(width as u64) << bits, bits));
            let (low, high) = product.ends();
            for x in [mid - rad, mid + rad] {
                for y in [other - width, other + width] {
                    assert!(low <= unit(x * y) && unit(x * y) <= high, "{x} {y}");
                }
            }
        }
    }
}

/// From the middle to where no draw comes, and beyond the 5.7 up to which the bits beyond those asked for are enough.
#[test]
fn balls_of_64_bits_hold_the_number() {
    let held = |coarse: Ball, fine: Ball, widest: u64| {
        let ((low, high), (from, to)) = (coarse.ends(), fine.ends());
        assert!(&high - &low <= IBig::from(widest), "{low} to {high}");
        assert!(low << 256 <= from && to <= high << 256);
    };
    for zeros in 0..64 {
        for i in 0..8 {
            let first = [source(83, i).word(0, 0) >> zeros];
            let bits = Begins(&first, source(83, i));
            held(enclose(&bits, 0, 64), enclose(&bits, 0, 320), 4);
        }
    }
    let normals = Normals::new();
    for dof in [1, 7, 32, 33, 1000, 1 << 40] {
        for i in 0..8 {
            let bits = source(84, i);
            let chi = Chi::draw(Path::Exact, &normals, &bits, dof, 0);
            let [coarse, fine] = [64, 320].map(|b| chi.enclose(&bits, b).expect("enclosed"));
            held(coarse, fine, 1 << 28);
        }
    }
}
