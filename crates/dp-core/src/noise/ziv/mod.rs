//! Exact rounding of real samples by Ziv's strategy.
//!
//! A real sample (an entry of a Wishart matrix, a number of a Johnson-Lindenstrauss sketch, a truncated normal)
//! is a function of normals and uniforms, each of them an infinite string of random bits. What is
//! released is that real number rounded to the nearest point of a public grid. First the number is
//! computed in floating point with a proven bound on the error; when the bound leaves one
//! grid point only, that is the answer. Else the same bits, as many more of them as
//! it takes, are evaluated in exact integers with an enclosure, until one point is left.
//! Proof: `docs/proofs/exact-rounding.md`.

mod ball;
mod bits;
#[cfg(test)]
mod bounds_tests;
mod chi;
mod factor;
mod lanes;
mod normal;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(in crate::noise) mod watched;

pub(super) use ball::Ball;
pub(super) use bits::{Bits, Source, uniform};
pub(super) use chi::Chi;
pub(super) use factor::{Factor, Target};
pub(super) use lanes::absolute_sum;
pub(super) use normal::{ETA, Normals, enclose, quantile};

/// Half the distance of 1 from the next `f64`.
pub(super) const U: f64 = f64::EPSILON / 2.0;

/// Which way a sample is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Path {
    /// Floating point where its error bound decides.
    Fast,
    /// Exact integers always: for tests.
    #[cfg_attr(not(test), expect(dead_code))]
    Exact,
    /// The same, and what floating point states is held against them.
    #[cfg(test)]
    Watched,
}

/// The integer nearest to every real within `error` of `x`, if there is one; none for NaN.
#[inline]
pub(super) fn nearest(path: Path, x: f64, error: f64) -> Option<i128> {
    #[cfg(test)]
    if path == Path::Watched {
        watched::one(x, error);
    }
    let n = x.round_ties_even();
    // The bound was computed with rounding too, by far less than one part in a hundred.
    let limit = (0.5 - 1.01 * error).next_down();
    let integer = || if n.abs() < 2f64.powi(62) { i128::from(n as i64) } else { n as i128 };
    (path == Path::Fast && (x - n).abs() <= limit).then(integer)
}

/// [`nearest`] for many numbers at a time: the integer as a float, NaN where there is none.
#[inline(always)]
pub(super) fn decided(path: Path, x: f64, error: f64) -> f64 {
    #[cfg(test)]
    if path == Path::Watched {
        watched::many(x, error);
    }
    // Zero has no sign, as that of an integer: it would tell more of x than the step.
    let n = x.round_ties_even() + 0.0;
    // The two roundings of the limit are below the last number.
    let limit = 0.5 - 1.01 * error - f64::EPSILON;
    if path == Path::Fast && (x - n).abs() <= limit { n } else { f64::NAN }
}

/// `n as f64`, without the detour of wide integers where it is short.
pub(super) fn to_f64(n: i128) -> f64 {
    i64::try_from(n).map_or(n as f64, |n| n as f64)
}

/// The integer nearest to a real that `enclose` encloses at any precision (half upwards).
pub(super) fn settle(enclose: impl Fn(usize) -> Option<Ball>) -> i128 {
    #[cfg(test)]
    watched::hold(&enclose);
    first_decided(|bits| enclose(bits)?.nearest())
}

/// The first answer at 64 bits, which nearly always do, and twice as many each time.
pub(super) fn first_decided<T>(answer: impl Fn(usize) -> Option<T>) -> T {
    (6..).find_map(|power| answer(1 << power)).expect("with as many bits as it takes")
}

/// Inner product in four fixed lanes: its error is at most [`dot_error`] times the product of
/// the norms.
#[inline(always)]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 4];
    let (quads_a, rest_a) = a.as_chunks::<4>();
    let (quads_b, rest_b) = b.as_chunks::<4>();
    for (x, y) in quads_a.iter().zip(quads_b) {
        for l in 0..4 {
            lanes[l] += x[l] * y[l];
        }
    }
    let rest: f64 = rest_a.iter().zip(rest_b).map(|(x, y)| x * y).sum();
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}

/// The relative error of [`dot`] on `n` terms: no term meets more than `n/4 + 7` roundings.
pub(super) fn dot_error(n: usize) -> f64 {
    ((n / 4) as f64 + 8.0) * U
}
