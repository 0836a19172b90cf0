//! What the factor of a sketch needs of many numbers at a time, the same bits however wide the instructions are.

use zeroize::Zeroizing;

/// The sum of absolute values, in four lanes.
#[inline(always)]
pub(in crate::noise) fn absolute_sum(row: &[f64]) -> f64 {
    let (fours, rest) = row.as_chunks::<4>();
    let mut lanes = [0.0; 4];
    for four in fours {
        for (lane, x) in lanes.iter_mut().zip(four) {
            *lane += x.abs();
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().map(|x| x.abs()).sum::<f64>()
}

/// A d x d matrix by columns instead of rows: in tiles, so that neither side leaves the cache.
pub(super) fn transposed(matrix: &[f64], d: usize) -> Zeroizing<Vec<f64>> {
    const TILE: usize = 16;
    let mut out = Zeroizing::new(vec![0.0; d * d]);
    for top in (0..d).step_by(TILE) {
        for left in (0..d).step_by(TILE) {
            for i in top..d.min(top + TILE) {
                for j in left..d.min(left + TILE) {
                    out[j * d + i] = matrix[i * d + j];
                }
            }
        }
    }
    out
}

/// The nearest integer of a number below `2^53`, halves away from zero.
#[inline(always)]
pub(super) fn nearest_integer(x: f64) -> i64 {
    let n = x as i64;
    let rest = x - n as f64;
    n + i64::from(rest >= 0.5) - i64::from(rest <= -0.5)
}

/// Most columns for [`split_products`]: twice as many products of numbers up to `2^26` add up to at most `2^62`.
const MOST_SPLIT: usize = 1 << 9;

/// The lower triangle of `L L^T`, row by row, for a lower triangular L of integers up to `2^52`, exactly: each as
/// `high 2^26 + low` in numbers of 32 bits, whose products are those that processors take many of at a time.
#[inline(always)]
pub(super) fn split_products(n: &[i64], d: usize) -> Option<Zeroizing<Vec<i128>>> {
    if d > MOST_SPLIT {
        return None;
    }
    const SIDE: usize = 8;
    // By columns, so that eight entries of a row of the product are summed side by side.
    let wide = d.next_multiple_of(SIDE);
    let [mut high, mut low] = [(); 2].map(|()| Zeroizing::new(vec![0i32; d * wide]));
    for j in 0..d {
        for (k, n) in n[j * d..=j * d + j].iter().enumerate() {
            (high[k * wide + j], low[k * wide + j]) =
                ((n >> 26) as i32, (n & ((1 << 26) - 1)) as i32);
        }
    }
    let mut out = Zeroizing::new(Vec::with_capacity(d * (d + 1) / 2));
    for i in 0..d {
        for first in (0..=i).step_by(SIDE) {
            let last = i.min(first + SIDE - 1);
            let [mut top, mut middle, mut bottom] = [[0i64; SIDE]; 3];
            for (high, low) in high.chunks(wide).zip(low.chunks(wide)).take(last + 1) {
                let (a, c) = (i64::from(high[i]), i64::from(low[i]));
                let (high, low) = (&high[first..first + SIDE], &low[first..first + SIDE]);
                for l in 0..SIDE {
                    let (b, e) = (i64::from(high[l]), i64::from(low[l]));
                    top[l] += a * b;
                    middle[l] += a * e + c * b;
                    bottom[l] += c * e;
                }
            }
            for l in 0..=last - first {
                let (top, middle) = (i128::from(top[l]) << 52, i128::from(middle[l]) << 26);
                out.push(top + middle + i128::from(bottom[l]));
            }
        }
    }
    Some(out)
}
