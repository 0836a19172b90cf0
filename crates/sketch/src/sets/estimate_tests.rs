//! Bias, variance and coverage of the estimators, by simulation of the true laws.

use super::estimate::*;
use crate::estimate::Interval;
use dp_core::{Probability, PublicSeed};
use rand_core::Rng;

fn p(value: f64) -> Probability {
    Probability::new(value).expect("probability")
}

/// `repetitions` draws of the number of agreeing positions, position by position: a shared
/// minimum (J^K), bucket collisions, and two k-ary responses.
fn simulate(
    (l, k, b, keep): (usize, usize, u64, f64),
    j: f64,
    repetitions: usize,
    seed: u64,
) -> Vec<u32> {
    let mut rng = PublicSeed::new(seed).generator(0);
    let mut unit = move || (rng.next_u64() >> 11) as f64 * 2f64.powi(-53);
    let mut below = {
        let mut rng = PublicSeed::new(seed).generator(1);
        move |n: u64| ((u128::from(rng.next_u64()) * u128::from(n)) >> 64) as u64
    };
    (0..repetitions)
        .map(|_| {
            let mut agree = 0;
            for _ in 0..l {
                let x = below(b);
                let y = if (0..k).all(|_| unit() < j) { x } else { below(b) };
                let mut respond = |s: u64| {
                    if unit() < keep { s } else { (s + 1 + below(b - 1)) % b }
                };
                agree += u32::from(respond(x) == respond(y));
            }
            agree
        })
        .collect()
}

fn mean_and_se(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

const SHAPES: [(usize, usize, u64, f64); 5] =
    [(100, 1, 2, 0.8), (100, 1, 3, 0.6), (50, 1, 16, 0.9), (100, 2, 2, 0.9), (64, 3, 8, 1.0)];

/// 10,000 draws, 5.5 standard errors (false alarms below 4e-8 a check).
#[test]
fn power_is_unbiased_with_the_stated_error() {
    for (i, shape) in SHAPES.into_iter().enumerate() {
        let law = CollisionLaw::new(shape.0, shape.1, shape.2, p(shape.3)).expect("law");
        for j in [0.0, 0.1, 0.5, 0.9] {
            let draws = simulate(shape, j, 10_000, 100 + i as u64);
            let s = j.powi(shape.1 as i32);
            let (mean, se) = mean_and_se(draws.iter().map(|&c| law.power(c).value));
            assert!((mean - s).abs() < 5.5 * se, "{shape:?} at {j}: {mean} against {s}");
            let (stated, _) =
                mean_and_se(draws.iter().map(|&c| law.power(c).standard_error.powi(2)));
            let true_variance = se * se * 10_000.0;
            // The longer arm of a discrete and skewed interval: above the variance, by little
            // where the count is close to normal.
            let rate = law.agree(j);
            let normal = shape.0 as f64 * rate * (1.0 - rate) > 15.0;
            let ratio = stated / true_variance;
            let most = if normal { 1.6 } else { 4.0 };
            assert!((0.95..most).contains(&ratio), "{shape:?} at {j}: {stated} {true_variance}");
        }
    }
}

/// The published estimator is off by far more than its standard error; ours is not (above).
#[test]
fn published_bucket_estimator_is_biased() {
    for (b, keep, j) in [(2u64, 0.8, 0.05), (2, 0.8, 0.5), (3, 0.6, 0.2), (4, 0.9, 0.0)] {
        let draws = simulate((100, 1, b, keep), j, 10_000, 9);
        let (mean, se) = mean_and_se(draws.iter().map(|&c| published_bucket(c, 100, b, p(keep))));
        assert!((mean - j).abs() > 0.05, "B = {b}: {mean} against {j}");
        assert!((mean - j).abs() > 50.0 * se);
        let law = CollisionLaw::new(100, 1, b, p(keep)).expect("law");
        let (ours, se) = mean_and_se(draws.iter().map(|&c| law.jaccard(c).value));
        assert!((ours - j).abs() < 5.5 * se, "B = {b}: {ours} against {j}");
    }
}

/// The corrected root has at most a third of the plain root's bias where the signal is clear.
#[test]
fn correcting_the_root_removes_most_of_its_bias() {
    let shape = (400, 3, 16, 0.95);
    let law = CollisionLaw::new(shape.0, shape.1, shape.2, p(shape.3)).expect("law");
    let j = 0.5;
    let draws = simulate(shape, j, 60_000, 4);
    let (plain, _) = mean_and_se(draws.iter().map(|&c| law.root(c).value));
    let (corrected, se) = mean_and_se(draws.iter().map(|&c| law.jaccard(c).value));
    assert!(plain < j - 10.0 * se, "the plain root is biased: {plain}");
    assert!((corrected - j).abs() < (plain - j).abs() / 3.0, "{corrected} {plain}");
    let stated = law.standard_error_at(j);
    assert!((se * 60_000f64.sqrt() / stated - 1.0).abs() < 0.1, "{stated}");
}

/// Coverage at least the level: 4,000 draws; a true coverage of 0.95 falls below 0.93
/// with probability under 1e-8. Intervals shrunk to 0.7 of their width are caught.
#[test]
fn intervals_cover() {
    for shape in SHAPES {
        let law = CollisionLaw::new(shape.0, shape.1, shape.2, p(shape.3)).expect("law");
        for j in [0.1, 0.6] {
            let draws = simulate(shape, j, 4_000, 17);
            let (mut covered, mut shrunk) = (0, 0);
            for &c in &draws {
                let Interval { low, high } = law.interval(c, p(0.95));
                covered += u32::from(low <= j && j <= high);
                let (mid, half) = (0.5 * (low + high), 0.35 * (high - low));
                shrunk += u32::from(mid - half <= j && j <= mid + half);
            }
            assert!(covered > 3_720, "{shape:?} at {j}: {covered} of 4000");
            // Where an end is clamped the interval is wider than needed: power is asked inside.
            let clamped = law.standard_error_at(j) > 0.1 || j < 0.5;
            assert!(clamped || shrunk < 3_720, "{shape:?} at {j}: no power, {shrunk}");
        }
    }
}

#[test]
fn clopper_pearson_against_known_limits() {
    // R: binom.test(7, 20)$conf.int = 0.1539092 0.5921885
    let (low, high) = clopper_pearson(7, 20, 0.025);
    assert!((low - 0.153_909_2).abs() < 1e-6 && (high - 0.592_188_5).abs() < 1e-6, "{low} {high}");
    assert_eq!(clopper_pearson(0, 5, 0.025).0, 0.0);
    assert_eq!(clopper_pearson(5, 5, 0.025).1, 1.0);
}

#[test]
fn useless_laws_are_refused() {
    let error = CollisionLaw::new(100, 1, 4, p(0.25)).expect_err("no signal").to_string();
    assert!(error.contains("keep probability = 0.25"), "{error}");
    assert!(CollisionLaw::new(0, 1, 2, p(0.9)).is_err_and(|e| e.to_string().contains("0 x 1 x 2")));
}
