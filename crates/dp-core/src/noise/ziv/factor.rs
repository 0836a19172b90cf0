//! A square root of an exact symmetric matrix: what turns independent normals into rows of a given covariance.

use super::ball::{halves, scaled};
use super::lanes::{absolute_sum, nearest_integer, split_products, transposed};
use super::{Ball, Bits, ETA, Normals, Path, Source, U, dot, dot_error, enclose, nearest, settle};
use crate::noise::exact::decompose;
use crate::noise::grid::floor_log2;
use crate::noise::symmetric::mirror_lower;
use crate::noise::wide::{Work, widest};
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

/// Exact integers: as wide as it takes.
enum Integers {
    /// All of them below `2^126`.
    Narrow(Zeroizing<Vec<i128>>),
    Wide(Vec<IBig>),
}

impl Integers {
    fn at(&self, i: usize) -> IBig {
        match self {
            Self::Narrow(all) => all[i].into(),
            Self::Wide(all) => all[i].clone(),
        }
    }

    /// Number i times `2^power`, as [`scaled`].
    #[inline(always)]
    fn rounded(&self, i: usize, power: i64) -> f64 {
        match self {
            Self::Narrow(all) => {
                let [half, rest] = halves(power);
                super::to_f64(all[i]) * half * rest
            }
            Self::Wide(all) => scaled(&all[i], power),
        }
    }
}

/// L in units of `2^unit`, row-major.
struct Lower {
    entries: Integers,
    unit: i64,
}

/// F: exactly, `numerators 2^exponent / denominator` (the lower triangle, row by row), and in floating point.
struct Rest {
    numerators: Integers,
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
        let scale = Scale::of(self, unit);
        let corner = IBig::from(scale.corner) << scale.by[2];
        let mut numerators = Vec::with_capacity(self.dim * (self.dim + 1) / 2);
        for i in 0..self.dim {
            for j in 0..=i {
                let (total, product) = (self.totals[i * self.dim + j], products(i, j));
                let corner = if i == j { &corner } else { &IBig::ZERO };
                let n = (IBig::from(total) << scale.by[0]) - (product << scale.by[1]) + corner;
                numerators.push(n);
            }
        }
        scale.rest(self.dim, Integers::Wide(numerators))
    }

    /// As [`Target::rest`] for products (the lower triangle, row by row) below `2^126`, where no number needs more
    /// than 128 bits.
    #[inline(always)]
    fn narrow_rest(&self, unit: i64, products: &[i128]) -> Option<Rest> {
        let scale = Scale::of(self, unit);
        // Three such numbers add up to less than 2^126.
        let shifted = |n: i128, by: usize| {
            let room = n.unsigned_abs().leading_zeros() as usize;
            (room > by.saturating_add(3)).then(|| n << by)
        };
        let corner = shifted(i128::try_from(scale.corner).ok()?, scale.by[2])?;
        let mut numerators = Zeroizing::new(Vec::with_capacity(products.len()));
        let mut fits = true;
        let rows = self.totals.chunks(self.dim).enumerate();
        let totals =
            rows.flat_map(|(i, row)| row[..=i].iter().enumerate().map(move |(j, t)| (i == j, t)));
        for ((diagonal, total), product) in totals.zip(products) {
            let (total, product) = (shifted(*total, scale.by[0]), shifted(*product, scale.by[1]));
            fits &= total.is_some() && product.is_some();
            let rest = total.unwrap_or(0) - product.unwrap_or(0);
            numerators.push(rest + if diagonal { corner } else { 0 });
        }
        fits.then(|| scale.rest(self.dim, Integers::Narrow(numerators)))
    }
}

/// `F = (4 (T 2^e - L L^T) + 3 w^2 I) / w^2` in integers.
struct Scale {
    /// `3 m^2` for `w = m 2^l`.
    corner: u128,
    /// By how many bits a total, a product and the corner are shifted.
    by: [usize; 3],
    /// What the shifted numbers have as their unit, over `2^(2 l)`.
    exponent: i64,
    denominator: u128,
}

impl Scale {
    fn of(target: &Target<'_>, unit: i64) -> Self {
        let (mantissa, lift_exponent) = target.lift_parts();
        let denominator = u128::from(mantissa) * u128::from(mantissa);
        let own = i64::from(target.exponent);
        let base = own.min(2 * unit).min(2 * lift_exponent);
        let by = [own - base + 2, 2 * unit - base + 2, 2 * lift_exponent - base];
        Self {
            corner: 3 * denominator,
            by: by.map(|by| by as usize),
            exponent: base - 2 * lift_exponent,
            denominator,
        }
    }

    #[inline(always)]
    fn rest(self, d: usize, numerators: Integers) -> Rest {
        let Self { exponent, denominator, .. } = self;
        let mut rounded = Zeroizing::new(vec![0.0; d * d]);
        let over = denominator as f64;
        for (i, row) in rounded.chunks_mut(d).enumerate() {
            for (j, x) in row[..=i].iter_mut().enumerate() {
                *x = numerators.rounded(i * (i + 1) / 2 + j, exponent) / over;
            }
        }
        mirror_lower(&mut rounded, d);
        // NaN must not be lost.
        let larger = |a: f64, b: f64| if a.is_nan() || b <= a { a } else { b };
        let spread = 1.001 * rounded.chunks(d).map(absolute_sum).fold(0.0, larger);
        Rest { numerators, exponent, denominator, rounded, spread }
    }
}

/// The largest spread of F at which the quadratic term of its root is below what is worth computing.
const SMALL: f64 = 1.0 / (1u64 << 24) as f64;

impl Factor {
    /// None when the totals are not positive semi-definite.
    pub(in crate::noise) fn new(target: Target<'_>) -> Option<Self> {
        widest(target)
    }

    #[inline(always)]
    fn of(target: Target<'_>) -> Option<Self> {
        let mut found = fast(target).filter(|(_, rest)| rest.spread <= SMALL);
        // The first of these is enough for every sum of squares: its errors are far below the lift.
        for guard in [40, 80, 160] {
            let again = || exact(target, guard).filter(|(_, rest)| rest.spread <= SMALL);
            found = found.or_else(again);
        }
        let (lower, rest) = found?;
        let d = target.dim;
        let mut rounded = Zeroizing::new(vec![0.0; d * d]);
        for (i, row) in rounded.chunks_mut(d).enumerate() {
            for (j, x) in row[..=i].iter_mut().enumerate() {
                *x = lower.entries.rounded(i * d + j, lower.unit);
            }
        }
        let size = |row: &[f64]| (absolute_sum(row), dot(row, row).sqrt());
        let sizes = rounded.chunks(d).map(size).collect();
        let columns = transposed(&rounded, d);
        Some(Self { dim: d, half_lift: 0.5 * target.lift, lower, columns, sizes, rest })
    }

    /// L in integers, and their unit.
    #[cfg(test)]
    pub(super) fn parts(&self) -> (Vec<IBig>, i64) {
        let entries = (0..self.dim * self.dim).map(|i| self.lower.entries.at(i));
        (entries.collect(), self.lower.unit)
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
        let larger = |a: f64, x: &f64| if x.is_nan() { *x } else { a.max(x.abs()) };
        let most = h.iter().fold(0.0, |a: f64, x| if a.is_nan() { a } else { larger(a, x) }) + ETA;
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
            let l = self.lower.entries.at(j * d + k);
            let term =
                enclose(source, (first + k) as u64, bits).times(&l).shift(self.lower.unit - grid);
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
        let entry = |i| Ball::dyadic(self.numerators.at(i), self.exponent, bits).over(&denominator);
        let f: Vec<Ball> = (0..d * (d + 1) / 2).map(entry).collect();
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
            // Rounding alone leaves at most 3 d + 6.
            if largest <= UBig::from(4 * d + 16) {
                // Each further term is at most half of the one before.
                let left = Ball::new(IBig::ZERO, largest, bits);
                return sum.iter().map(|s| s.add(&left)).collect();
            }
        }
        unreachable!("the terms shrink")
    }
}

impl Work for Target<'_> {
    type Output = Option<Factor>;

    #[inline(always)]
    fn run(self) -> Option<Factor> {
        Factor::of(self)
    }
}

/// Cholesky's method in floating point, its factor rounded to 52 bits below its largest entry.
#[inline(always)]
fn fast(target: Target<'_>) -> Option<(Lower, Rest)> {
    let d = target.dim;
    let (unit, shift) = (2f64.powi(target.exponent), 0.75 * target.lift * target.lift);
    let mut l = Zeroizing::new(vec![0.0; d * d]);
    let total = |i: usize, j: usize| super::to_f64(target.totals[i * d + j]) * unit;
    // Column after column, so that no entry waits for the one beside it.
    for j in 0..d {
        let (above, below) = l.split_at_mut((j + 1) * d);
        let row = &mut above[j * d..];
        let left = total(j, j) + shift - dot(&row[..j], &row[..j]);
        if left.is_nan() || left <= 0.0 {
            return None;
        }
        row[j] = left.sqrt();
        for (i, other) in (j + 1..).zip(below.chunks_mut(d)) {
            other[j] = (total(i, j) - dot(&other[..j], &row[..j])) / row[j];
        }
    }
    let largest = l.iter().fold(0.0f64, |a, x| a.max(x.abs()));
    let unit = i64::from(floor_log2(largest) - 51);
    let per_unit = 2f64.powi(-unit as i32);
    // Neither may have overflowed.
    let most = largest * per_unit;
    if most.is_nan() || most > 2f64.powi(52) {
        return None;
    }
    let n = Zeroizing::new(l.iter().map(|x| nearest_integer(x * per_unit)).collect::<Vec<_>>());
    let rest = match split_products(&n, d) {
        Some(products) => target.narrow_rest(unit, &products),
        None => None,
    };
    let rest = rest.unwrap_or_else(|| {
        // Below 2^53 each, and at most 2^20 terms.
        target.rest(unit, |i, j| {
            let (a, b) = (&n[i * d..=i * d + j], &n[j * d..=j * d + j]);
            let terms = a.iter().zip(b).map(|(a, b)| i128::from(*a) * i128::from(*b));
            IBig::from(terms.sum::<i128>())
        })
    });
    let entries = Zeroizing::new(n.iter().map(|n| i128::from(*n)).collect());
    Some((Lower { entries: Integers::Narrow(entries), unit }, rest))
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
    Some((Lower { entries: Integers::Wide(l), unit }, rest))
}

#[cfg(test)]
#[path = "factor_tests.rs"]
mod tests;
