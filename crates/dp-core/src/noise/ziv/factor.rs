//! A square root of an exact symmetric matrix: what turns independent normals into rows of a given covariance.

use super::{Ball, Bits, ETA, Normals, Path, Source, U, dot, dot_error, enclose, nearest, settle};
use crate::noise::exact::decompose;
use crate::noise::grid::floor_log2;
use dashu_base::{SquareRoot, UnsignedAbs};
use dashu_int::{IBig, UBig};
use zeroize::Zeroizing;

/// `S = L L^T + (w/2)^2 (I + F)`, exactly: S = T 2^e + w^2 I with integers T, L a lower triangular matrix of
/// integers times a power of two, found by Cholesky's method, and F small.
///
/// With g and h vectors of independent standard normals, `L g + (w/2) (I + F)^(1/2) h` is a draw of N(0, S). Private.
pub(in crate::noise) struct Factor {
    dim: usize,
    half_lift: f64,
    lower: Lower,
    /// L, column-major, each entry within one part in `2^53`.
    columns: Zeroizing<Vec<f64>>,
    /// The sum of absolute values of each row of L, and its norm.
    sizes: Vec<(f64, f64)>,
    rest: Rest,
}

/// L in units of `2^unit`, row-major.
struct Lower {
    entries: Vec<IBig>,
    unit: i64,
}

/// F: exactly, `numerators 2^exponent / denominator` (the lower triangle, row by row), and in floating point.
struct Rest {
    numerators: Vec<IBig>,
    exponent: i64,
    denominator: u128,
    /// Row-major, within four parts in `2^53`.
    rounded: Zeroizing<Vec<f64>>,
    /// No row of F has a larger sum of absolute values.
    spread: f64,
}

/// The matrix S: the totals T (row-major), their exponent, and w.
#[derive(Clone, Copy)]
pub(in crate::noise) struct Target<'a> {
    pub(in crate::noise) dim: usize,
    pub(in crate::noise) totals: &'a [i128],
    pub(in crate::noise) exponent: i32,
    pub(in crate::noise) lift: f64,
}

impl Target<'_> {
    /// w as `mantissa 2^exponent`.
    fn lift_parts(&self) -> (u64, i64) {
        let (mantissa, exponent) = decompose(self.lift);
        (mantissa, i64::from(exponent))
    }

    /// F for an L given by the integers `products(i, j)` of `L L^T` in units of `2^(2 unit)`.
    fn rest(&self, unit: i64, products: impl Fn(usize, usize) -> IBig) -> Rest {
        let d = self.dim;
        let (mantissa, lift_exponent) = self.lift_parts();
        let denominator = u128::from(mantissa) * u128::from(mantissa);
        let own = i64::from(self.exponent);
        let base = own.min(2 * unit).min(2 * lift_exponent);
        // F = (4 (T 2^e - L L^T) + 3 w^2 I) / w^2.
        let corner = IBig::from(3 * denominator) << (2 * lift_exponent - base) as usize;
        let exponent = base - 2 * lift_exponent;
        let (of_total, of_product) = ((own - base + 2) as usize, (2 * unit - base + 2) as usize);
        // The same in 128 bits, where nothing overflows.
        let narrow = |total: i128, product: &IBig, corner: &IBig| {
            let shifted = |n: i128, by: usize| {
                let room = n.unsigned_abs().leading_zeros() as usize;
                (room > by + 2).then(|| n << by)
            };
            let product = shifted(i128::try_from(product).ok()?, of_product)?;
            let corner = shifted(i128::try_from(corner).ok()?, 0)?;
            Some(IBig::from(shifted(total, of_total)? - product + corner))
        };
        let mut numerators = Vec::with_capacity(d * (d + 1) / 2);
        let mut rounded = Zeroizing::new(vec![0.0; d * d]);
        for i in 0..d {
            for j in 0..=i {
                let (total, product) = (self.totals[i * d + j], products(i, j));
                let corner = if i == j { &corner } else { &IBig::ZERO };
                let n = narrow(total, &product, corner).unwrap_or_else(|| {
                    (IBig::from(total) << of_total) - (product << of_product) + corner
                });
                let value = super::ball::scaled(&n, exponent) / denominator as f64;
                rounded[i * d + j] = value;
                rounded[j * d + i] = value;
                numerators.push(n);
            }
        }
        let sum = |row: &[f64]| row.iter().map(|x| x.abs()).sum::<f64>();
        // NaN must not be lost.
        let larger = |a: f64, b: f64| if a.is_nan() || b <= a { a } else { b };
        let spread = 1.001 * rounded.chunks(d).map(sum).fold(0.0, larger);
        Rest { numerators, exponent, denominator, rounded, spread }
    }
}

/// The largest spread of F at which the quadratic term of its root is below what is worth computing.
const SMALL: f64 = 1.0 / (1u64 << 24) as f64;

impl Factor {
    /// None when the totals are not positive semi-definite.
    pub(in crate::noise) fn new(target: Target<'_>) -> Option<Self> {
        let mut found = fast(target).filter(|(_, rest)| rest.spread <= SMALL);
        // The first of these is enough for every sum of squares: its errors are far below the lift.
        for guard in [40, 80, 160] {
            let again = || exact(target, guard).filter(|(_, rest)| rest.spread <= SMALL);
            found = found.or_else(again);
        }
        let (lower, rest) = found?;
        let d = target.dim;
        let mut rounded = Zeroizing::new(vec![0.0; d * d]);
        for (i, (row, entries)) in rounded.chunks_mut(d).zip(lower.entries.chunks(d)).enumerate() {
            for (x, n) in row[..=i].iter_mut().zip(entries) {
                *x = super::ball::scaled(n, lower.unit);
            }
        }
        let size = |row: &[f64]| {
            let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            (row.iter().map(|x| x.abs()).sum(), norm)
        };
        let sizes = rounded.chunks(d).map(size).collect();
        let entry = |i| rounded[i % d * d + i / d];
        let columns = Zeroizing::new((0..d * d).map(entry).collect::<Vec<_>>());
        Some(Self { dim: d, half_lift: 0.5 * target.lift, lower, columns, sizes, rest })
    }

    /// L in integers, and their unit.
    #[cfg(test)]
    pub(super) fn parts(&self) -> (&[IBig], i64) {
        (&self.lower.entries, self.lower.unit)
    }

    #[cfg(test)]
    pub(super) fn spread(&self) -> f64 {
        self.rest.spread
    }

    /// One row of N(0, S), its numbers rounded to multiples of `2^grid`, in steps, at the end of `out`: the d samples
    /// of the source from `first` on are g, the next d are h.
    #[inline(always)]
    pub(in crate::noise) fn row(
        &self,
        path: Path,
        normals: &Normals,
        source: &Source,
        first: usize,
        grid: i32,
        out: &mut Vec<i128>,
    ) {
        let d = self.dim;
        let mut both = Zeroizing::new(vec![0.0; 2 * d]);
        normals.fill(source, first as u64, &mut both);
        let (g, h) = both.split_at(d);
        let norm = g.iter().map(|x| x * x).sum::<f64>().sqrt();
        let products = self.lower_times(g);
        // A NaN is in every number of the row, which is then left to exact integers.
        let most = h.iter().fold(0.0f64, |a, x| a.max(x.abs())) + ETA;
        let (phi, per_step) = (self.rest.spread, 2f64.powi(-grid));
        // What h adds to the error, over w/2: its own, the terms of the root left out, and rounding; F times h is
        // computed only where its bound leaves the rounding open.
        let tail = ETA * (1.0 + phi)
            + 0.13 * phi * phi * most
            + phi * most * dot_error(d)
            + 8.0 * U * most;
        let without = tail + 0.5 * phi * most;
        for (j, (&(sum, length), product)) in self.sizes.iter().zip(products.iter()).enumerate() {
            let rounded = |x: f64, tail: f64| {
                let error = ETA * sum
                    + (dot_error(j + 1) + 2.0 * U) * length * norm
                    + self.half_lift * tail
                    + 2.0 * U * x.abs();
                nearest(path, x * per_step, error * per_step)
            };
            let x = product + self.half_lift * h[j];
            let with_rest = || {
                let f = &self.rest.rounded[j * d..(j + 1) * d];
                rounded(x + self.half_lift * (0.5 * dot(f, h)), tail)
            };
            out.push(rounded(x, without).or_else(with_rest).unwrap_or_else(|| {
                settle(|bits| Some(self.enclose(source, first, j, grid, bits)))
            }));
        }
    }

    /// `L g`, four columns at a time: no term of number j meets more than `j/4 + 6` roundings, fewer than those
    /// of [`dot_error`].
    #[inline(always)]
    fn lower_times(&self, g: &[f64]) -> Zeroizing<Vec<f64>> {
        let d = self.dim;
        let mut sums = Zeroizing::new(vec![0.0; d]);
        let (fours, last) = g.as_chunks::<4>();
        let (columns, last_columns) = self.columns.split_at(fours.len() * 4 * d);
        for (b, (g, l)) in fours.iter().zip(columns.chunks(4 * d)).enumerate() {
            // Above its diagonal L is zero.
            let below = |k: usize| &l[k * d + 4 * b..(k + 1) * d];
            let entries = below(0).iter().zip(below(1)).zip(below(2)).zip(below(3));
            for (sum, (((l0, l1), l2), l3)) in sums[4 * b..].iter_mut().zip(entries) {
                *sum += (l0 * g[0] + l1 * g[1]) + (l2 * g[2] + l3 * g[3]);
            }
        }
        for (g, l) in last.iter().zip(last_columns.chunks(d)) {
            sums.iter_mut().zip(l).for_each(|(sum, l)| *sum += l * g);
        }
        sums
    }

    /// Number j of a row, in steps of `2^grid`.
    fn enclose(&self, source: &impl Bits, first: usize, j: usize, grid: i32, bits: usize) -> Ball {
        let d = self.dim;
        let grid = i64::from(grid);
        let mut sum = Ball::integer(0, bits);
        for k in 0..=j {
            let l = &self.lower.entries[j * d + k];
            let term =
                enclose(source, (first + k) as u64, bits).times(l).shift(self.lower.unit - grid);
            sum = sum.add(&term);
        }
        let mut rest = Ball::integer(0, bits);
        for (k, m) in self.rest.root_row(d, j, bits).iter().enumerate() {
            rest = rest.add(&m.mul(&enclose(source, (first + d + k) as u64, bits)));
        }
        let (mantissa, exponent) = decompose(self.half_lift);
        sum.add(&rest.times(&IBig::from(mantissa)).shift(i64::from(exponent) - grid))
    }
}

impl Rest {
    /// Row j of `(I + F)^(1/2) = sum binom(1/2, t) F^t`.
    fn root_row(&self, d: usize, j: usize, bits: usize) -> Vec<Ball> {
        let denominator = UBig::from(self.denominator);
        let entry = |n: &IBig| Ball::dyadic(n.clone(), self.exponent, bits).over(&denominator);
        let f: Vec<Ball> = self.numerators.iter().map(entry).collect();
        let at = |i: usize, k: usize| &f[i.max(k) * (i.max(k) + 1) / 2 + i.min(k)];
        let unit = |k| Ball::integer(i32::from(k == j), bits);
        let mut term: Vec<Ball> = (0..d).map(unit).collect();
        let mut sum = term.clone();
        for t in 1i64.. {
            let next = |i: usize| {
                let zero = Ball::integer(0, bits);
                let product = (0..d).fold(zero, |s, k| s.add(&at(i, k).mul(&term[k])));
                product.times(&IBig::from(3 - 2 * t)).over(&UBig::from(2 * t as u64))
            };
            term = (0..d).map(next).collect();
            sum.iter_mut().zip(&term).for_each(|(s, x)| *s = s.add(x));
            let largest = term.iter().map(Ball::magnitude).max().unwrap_or(UBig::ZERO);
            if largest <= UBig::from(d) << 8 {
                // Each further term is at most half of the one before.
                let left = Ball::new(IBig::ZERO, largest, bits);
                return sum.iter().map(|s| s.add(&left)).collect();
            }
        }
        unreachable!("the terms shrink")
    }
}

/// Cholesky's method in floating point, its factor rounded to 52 bits below its largest entry.
fn fast(target: Target<'_>) -> Option<(Lower, Rest)> {
    let d = target.dim;
    let (unit, shift) = (2f64.powi(target.exponent), 0.75 * target.lift * target.lift);
    let mut l = Zeroizing::new(vec![0.0; d * d]);
    for i in 0..d {
        for j in 0..=i {
            let (above, row) = l.split_at_mut(i * d);
            let total = target.totals[i * d + j] as f64 * unit;
            if i == j {
                let left = total + shift - dot(&row[..i], &row[..i]);
                if left.is_nan() || left <= 0.0 {
                    return None;
                }
                row[i] = left.sqrt();
            } else {
                row[j] = (total - dot(&row[..j], &above[j * d..j * d + j])) / above[j * d + j];
            }
        }
    }
    let largest = l.iter().fold(0.0f64, |a, x| a.max(x.abs()));
    let unit = i64::from(floor_log2(largest) - 51);
    let per_unit = 2f64.powi(-unit as i32);
    let integer = |x: &f64| if *x == 0.0 { 0 } else { (x * per_unit).round() as i64 };
    let n = Zeroizing::new(l.iter().map(integer).collect::<Vec<_>>());
    // Below 2^53 each, and at most 2^20 terms.
    let products = |i: usize, j: usize| {
        let (a, b) = (&n[i * d..=i * d + j], &n[j * d..=j * d + j]);
        IBig::from(a.iter().zip(b).map(|(a, b)| i128::from(*a) * i128::from(*b)).sum::<i128>())
    };
    let rest = target.rest(unit, products);
    Some((Lower { entries: n.iter().map(|n| IBig::from(*n)).collect(), unit }, rest))
}

/// Cholesky's method in exact integers, in units far enough below the lift.
fn exact(target: Target<'_>, guard: i64) -> Option<(Lower, Rest)> {
    let d = target.dim;
    let (mantissa, lift_exponent) = target.lift_parts();
    let lift_power = lift_exponent + 63 - i64::from(mantissa.leading_zeros());
    let largest = (0..d).map(|i| target.totals[i * d + i].unsigned_abs()).max().unwrap_or(0);
    let data_power =
        (i64::from(target.exponent) + 128 - i64::from(largest.leading_zeros())) / 2 + 1;
    let dim_power = i64::from(usize::BITS - d.leading_zeros());
    let unit = 2 * lift_power - data_power.max(lift_power) - guard - 2 * dim_power;
    // S - (w/2)^2 I in units of 2^(2 unit).
    let scale = |n: IBig, power: i64| {
        let by = power.unsigned_abs() as usize;
        if power >= 0 { n << by } else { n >> by }
    };
    let square = IBig::from(3 * u128::from(mantissa) * u128::from(mantissa));
    let lift = scale(square, 2 * lift_exponent - 2 - 2 * unit);
    let mut l = vec![IBig::ZERO; d * d];
    let product = |a: &[IBig], b: &[IBig]| a.iter().zip(b).fold(IBig::ZERO, |s, (a, b)| s + a * b);
    for i in 0..d {
        for j in 0..=i {
            let (above, row) = l.split_at_mut(i * d);
            let total = IBig::from(target.totals[i * d + j]);
            let total = scale(total, i64::from(target.exponent) - 2 * unit);
            if i == j {
                let left = total + &lift - product(&row[..i], &row[..i]);
                if left <= IBig::ZERO {
                    return None;
                }
                row[i] = IBig::from(left.unsigned_abs().sqrt());
            } else {
                let below = &above[j * d..=j * d + j];
                let left = total - product(&row[..j], &below[..j]);
                row[j] = left / &below[j];
            }
        }
    }
    let rest = target.rest(unit, |i, j| product(&l[i * d..=i * d + j], &l[j * d..=j * d + j]));
    Some((Lower { entries: l, unit }, rest))
}
