//! What floating point states of a number, held against its enclosure.

use super::tests::{gram, grid, scale, source, streams};
use super::{Ball, Path, Target};
use crate::noise::gram_rows::rows_per_stream;
use crate::noise::{ChiSquare, GramRows, HalfSpaceNormal, TruncatedNormal, WishartNoise};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Mutex;

thread_local! {
    /// Numbers and bounds of their errors that were stated since the last number was settled.
    static ONE: RefCell<Vec<[f64; 2]>> = const { RefCell::new(Vec::new()) };
    /// The same of a vector, to be settled in its order.
    static MANY: RefCell<VecDeque<[f64; 2]>> = const { RefCell::new(VecDeque::new()) };
    /// All that was stated since this was asked last.
    static STATED: RefCell<Vec<[f64; 2]>> = const { RefCell::new(Vec::new()) };
}

/// Errors as shares of their bounds.
static SHARES: Mutex<Vec<f64>> = Mutex::new(Vec::new());

pub(super) fn one(x: f64, error: f64) {
    ONE.with_borrow_mut(|stated| stated.push([x, error]));
    STATED.with_borrow_mut(|stated| stated.push([x, error]));
}

pub(super) fn many(x: f64, error: f64) {
    MANY.with_borrow_mut(|stated| stated.push_back([x, error]));
    STATED.with_borrow_mut(|stated| stated.push([x, error]));
}

/// Fails where the number lies outside of what was stated of it.
pub(super) fn hold(enclose: impl Fn(usize) -> Option<Ball>) {
    let mut stated = ONE.take();
    stated.extend(MANY.with_borrow_mut(VecDeque::pop_front));
    for [x, error] in stated.into_iter().filter(|[x, _]| !x.is_nan()) {
        let bits = 256;
        let away = enclose(bits).expect("enclosed").sub(&Ball::float(x, bits)).magnitude();
        let away = Ball::new(away.into(), 0u8.into(), bits).to_f64();
        assert!(away <= error * (1.0 + 1e-12), "{x}: {away} away, {error} stated");
        SHARES.lock().unwrap().push(away / error);
    }
}

/// Numbers and bounds of their errors that this thread stated since it asked last.
pub(in crate::noise) fn stated() -> Vec<[f64; 2]> {
    STATED.take()
}

/// How many were held since this was asked last, and the largest share.
fn largest() -> (usize, f64) {
    let shares = core::mem::take(&mut *SHARES.lock().unwrap());
    (shares.len(), shares.iter().fold(0.0, |a, b| a.max(*b)))
}

/// Every bound that a number is rounded by holds the number, and the largest error of a setting is at least a hundredth of its bound: far wider
/// ones would leave to exact integers what need not be.
#[test]
fn stated_errors_hold_and_are_near() {
    let watched = Path::Watched;
    let held = |what: &str| {
        let (count, share) = largest();
        assert!(count > 50 && share >= 0.01, "{what}: {count} held, {share}");
        println!("{what}: {count} held, the largest {share} of its bound");
    };
    for dof in [1, 2, 7, 32, 33, 70_001, 1 << 40] {
        let law = ChiSquare::new(dof, grid(-20)).unwrap();
        for i in 0..60 {
            law.steps(watched, &source(85, i));
        }
        held(&format!("chi-square, {dof}"));
    }
    for threshold in [-11.0, -1.0, 0.0, 1.25, 4.5, 7.0, 12.0] {
        let law = TruncatedNormal::new(threshold, grid(-20)).unwrap();
        for i in 0..60 {
            law.steps(watched, &source(86, i));
        }
        held(&format!("truncated at {threshold}"));
    }
    for (dim, dof, size, exponent) in [
        (1, 1, 1.0, -30),
        (2, 2, 0.3, -40),
        (9, 9, 1.0, -36),
        (7, 1 << 40, 1.0, -16),
        (5, 60, 1e9, 0),
    ] {
        let law = WishartNoise::new(dim, dof, scale(size)).unwrap().on(grid(exponent));
        let zero = vec![0; dim * dim];
        for i in 0..(100 / (dim * dim) as u64 + 2) {
            law.steps(watched, streams(87, 100 * i, dim as u64), &zero, exponent);
        }
        held(&format!("Wishart, {dim}, {dof}"));
    }
    // Totals far finer than the grid, and noise far below it: what is rounded is the totals' part.
    let (dim, fine) = (4, 60);
    let law = WishartNoise::new(dim, 9, scale(1e-4)).unwrap().on(grid(0));
    let totals = gram(dim, 12, 50);
    for i in 0..20 {
        law.steps(watched, streams(90, 100 * i, dim as u64), &totals, -fine);
    }
    held("Wishart beside fine totals");
    for (dim, rows, of, shift, exponent, lift) in [
        (1, 40, 9, 0, -20, 0.7),
        (3, 20, 1, 0, -16, 10.0),
        (4, 15, 6, 60, -40, 1e-3),
        (13, 5, 10, 0, -40, 3e-4),
        (9, 6, 6, 0, -40, 3e-9),
        // What the factor leaves out is far above rounding.
        (9, 6, 6, 0, -40, 1e-6),
        (9, 6, 6, 0, -40, 3e-7),
    ] {
        let totals = gram(dim, of, shift);
        let law = GramRows::new(rows, scale(lift)).unwrap();
        let target = Target { dim, totals: &totals, exponent, lift };
        let streams = streams(88, 0, rows.div_ceil(rows_per_stream(dim)) as u64);
        law.steps(watched, streams, target).unwrap();
        held(&format!("rows of a Gram matrix, {dim}, {lift}"));
    }
    for threshold in [-6.0, 0.0, 2.5, 7.0] {
        let law = HalfSpaceNormal::new(threshold, grid(-20)).unwrap();
        for direction in [vec![1i64], vec![3, -4, 12], vec![1, 0, -(1 << 40)], vec![7; 9]] {
            for i in 0..6 {
                law.lean(&source(89, i), &direction).steps(watched);
            }
        }
        held(&format!("half-space, {threshold}"));
    }
}
