//! A row against an orthogonal one under Wishart noise. Proof: `docs/proofs/wishart-orthogonal.md`.

use super::wishart_row::OneRow;
use crate::numeric::float::floor_log2;
use crate::numeric::gamma::{deviance, ln_poisson_kernel};
use crate::numeric::root::{Middle, bisect};
use core::f64::consts::TAU;

/// What either rule may miss is about `e^-29` of the whole.
const MISSED: f64 = 30.0;
/// Terms, and what lies beyond the last of them, that are below `1e-13` of the largest are taken from above.
const SMALL: f64 = 1e-13;
/// Most expectations of one sum.
const MOST: u32 = 20_000;
/// A larger q counts, on the safe side: so near to h no panels are needed.
const NEAREST: f64 = 1e-25;

/// One row replaced: the worst of a row added, a row removed, and a row replaced by an orthogonal one, which
/// takes two dimensions. An upper bound on ln delta.
pub(super) fn ln_delta_replace(row: OneRow, epsilon: f64, dim: u64) -> f64 {
    let one = row.ln_delta_add_remove(epsilon);
    if dim < 2 {
        return one;
    }
    let two = Orthogonal::new(row, epsilon).ln_delta();
    one.max(two.unwrap_or_else(|| row.ln_delta_in_two_steps(epsilon, 0.5)))
}

/// `E[(1 - e^(eps - L))_+]`, `L = -a ln((1 + t/p) (1 - h/q))`, `h = t / cosh^2 v`, over independent `p ~ chi2_(2a + 3)`,
/// `q ~ chi2_(2a + 2)` and a normal `sqrt(p + t) tanh v`.
///
/// Given p and v it is the expectation of a row removed. The trapezoidal rule over v and over `u = ln p` converges
/// geometrically, as the integrand is analytic in strips. What it misses, and what lies beyond its ends, is bounded and added.
pub(super) struct Orthogonal {
    row: OneRow,
    /// `e^(eps/a) - 1`, and eps/a.
    grown: f64,
    x: f64,
    /// `a + 3/2`.
    half: f64,
    constant: f64,
    /// ln of a bound on the expectation at any p and v.
    most: f64,
}

/// What is common to all v.
struct Point {
    p: f64,
    /// ln of the density of u, from above.
    density: f64,
    /// By how much the greatest q that counts is above h, over h, from above.
    odds: f64,
    /// ln of the expectation at v = 0, which is the largest.
    first: f64,
}

impl Orthogonal {
    pub(super) fn new(row: OneRow, epsilon: f64) -> Self {
        let OneRow { a, t, .. } = row;
        let (x, half) = (epsilon / a, a + 1.5);
        let constant = half.ln() + ln_poisson_kernel(half, half);
        let largest = 0.5 * t / -(-x).exp_m1();
        let rare = if largest < a { deviance(a, largest) } else { 0.0 };
        let most = t.ln().min(0.0) - rare * (1.0 - 1e-14) + 1e-3;
        Self { row, grown: x.exp_m1(), x, half, constant, most }
    }

    /// An upper bound; none where a sum would take too long.
    pub(super) fn ln_delta(&self) -> Option<f64> {
        let (at, top) = self.peak();
        let above = self.most - top + 0.5 * self.half.ln();
        // Where p is that large the expectations are not proven.
        if above.is_nan() || above > (100.0 * (1.0 + self.row.a)).min(1e3) {
            return None;
        }
        let step = Step::new(2.0 * self.half, 0.0, above.max(0.0));
        let missed = (self.most + step.missed - top).exp() / step.width;
        let mut sum = Sum { of: self, top, total: missed, asked: 0 };
        let centre = (at / step.width).round();
        for (mut i, direction) in [(centre, 1.0), (centre - 1.0, -1.0)] {
            while !sum.row(step.width * i, step.width, direction)? {
                i += direction;
            }
        }
        // Of the expectations, and of what is the same for all terms.
        Some(top + (step.width * sum.total).ln() + 3e-11 + 4e-15 * top.abs())
    }

    fn point(&self, u: f64) -> Point {
        let p = u.exp();
        let off = deviance(self.half, 0.5 * p);
        // Of p, and of the deviance.
        let rounding = f64::EPSILON * (self.half - 0.5 * p).abs() + 4e-15 * off;
        // The safe side: not below the true p.
        let ratio = self.row.t / (p * (1.0 + 4.0 * f64::EPSILON));
        let odds = self.grown * (1.0 + ratio) + ratio;
        let odds = (1.0 + (12.0 + 4.0 * self.x.min(1e3)) * f64::EPSILON) / odds;
        let odds = odds.max(NEAREST);
        let first = self.mean(odds, 1.0);
        Point { p, density: self.constant - off + rounding, odds, first }
    }

    /// ln of the expectation at `h = share t`.
    fn mean(&self, odds: f64, share: f64) -> f64 {
        // A larger h is on the safe side.
        let h = self.row.t * share * (1.0 + 8.0 * f64::EPSILON);
        self.row.ln_mean(h, h * odds)
    }

    /// About where the integrand over u is largest, for v = 0, and its logarithm.
    fn peak(&self) -> (f64, f64) {
        let mut best = (f64::NAN, f64::NEG_INFINITY);
        for i in 0..400 {
            let u = (2.0 * self.half).ln() + 0.5 * f64::from(i) / self.half.sqrt();
            let point = self.point(u);
            if point.density + self.most < best.1 {
                break;
            }
            if point.density + point.first > best.1 {
                best = (u, point.density + point.first);
            }
        }
        best
    }
}

/// The steps of a trapezoidal rule, and ln of a bound on what it misses.
struct Step {
    width: f64,
    missed: f64,
}

impl Step {
    /// For an integrand whose integral on the lines `Im = +-y` is at most `cos^(-first) y e^(second tan^2 y / 2)` times a known
    /// bound: what is missed is to be about `e^-(above + 29)` of that bound.
    fn new(first: f64, second: f64, above: f64) -> Self {
        let aim = above + MISSED;
        let x = aim / (first + second);
        // tan y, where the bound is about least for the step that it takes.
        let reached = |t: f64| {
            let (y, square) = (t.atan(), t * t);
            first * (t * y - 0.5 * square.ln_1p())
                + second * (t * (1.0 + square) * y - 0.5 * square)
        };
        let range = (0.0, (2.0 * x).sqrt() + 0.5 * x);
        let t = bisect(range, Middle::Arithmetic, (12, 0.0), |t| reached(t) >= aim).1;
        let most = TAU / (t * (first + second * (1.0 + t * t)));
        // Three digits: multiples are not rounded.
        let unit = 2f64.powi(floor_log2(most) - 2);
        let width = (most / unit).floor() * unit;
        let grows = 0.5 * first * (t * t).ln_1p() + 0.5 * second * t * t;
        Self { width, missed: 1.0 + grows - TAU / width * t.atan() }
    }
}

/// The sum over u, in units of `e^top` and of a step.
struct Sum<'a> {
    of: &'a Orthogonal,
    top: f64,
    total: f64,
    asked: u32,
}

impl Sum<'_> {
    /// Adds what belongs to this u; whether all that lies beyond it was added, too. None when it takes too long.
    fn row(&mut self, u: f64, width: f64, direction: f64) -> Option<bool> {
        let point = self.of.point(u);
        self.asked += 1;
        let all = (point.density + point.first - self.top).exp();
        self.total += if all < SMALL { all } else { self.over_v(&point)? };
        // All further points together, by the slope of the density here.
        let falls = direction * (0.5 * point.p - self.of.half);
        let largest = if direction > 0.0 { self.of.most } else { point.first };
        let rest = (point.density + largest - self.top).exp() / (falls * (1.0 - 1e-9) * width);
        let last = falls > 0.0 && rest < SMALL * self.total.max(1.0);
        if last {
            self.total += rest;
        }
        (self.asked < MOST).then_some(last)
    }

    /// The integral over v at one u.
    fn over_v(&mut self, point: &Point) -> Option<f64> {
        let Orthogonal { row, .. } = self.of;
        let size = point.p + row.t;
        let step = Step::new(2.0 * row.a + 4.0, size, 0.0);
        let scale = point.density + 0.5 * (size / TAU).ln() - self.top;
        let (mut sum, mut i) = (0.5 * (scale + point.first).exp(), 1.0);
        loop {
            let v = step.width * i;
            let e = (-2.0 * v).exp();
            let share = 4.0 * e / ((1.0 + e) * (1.0 + e));
            let tanh = -(-2.0 * v).exp_m1() / (1.0 + e);
            let exponent = 0.5 * size * tanh * tanh * (1.0 - 4e-15);
            self.asked += 1;
            let term = share * (scale + self.of.mean(point.odds, share) - exponent).exp();
            sum += term;
            // The expectation falls, so the rest is at most the normal law's.
            let rest = term * (1.0 / (size * tanh * share)).min(1.0);
            if rest < SMALL {
                return Some(2.0 * (step.width * sum + rest) / (1.0 - step.missed.exp()));
            }
            if self.asked > MOST {
                return None;
            }
            i += 1.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Degrees of freedom in three dimensions, t and epsilon.
    const CASES: [(u64, f64, f64); 4] =
        [(8, 0.6, 0.5), (60, 1.0, 1.0), (400, 20.0, 3.0), (3000, 40.0, 1.0)];

    fn orthogonal((dof, t, epsilon): (u64, f64, f64)) -> Orthogonal {
        Orthogonal::new(OneRow::new(3, dof, t).unwrap(), epsilon)
    }

    /// No u has an integrand that is larger by more than the steps of the search allow.
    #[test]
    fn the_peak_is_about_the_largest() {
        for case in CASES {
            let of = orthogonal(case);
            let (_, top) = of.peak();
            for i in 0..1000 {
                let u = (2.0 * of.half).ln() + 0.02 * f64::from(i) / of.half.sqrt();
                let point = of.point(u);
                let found = point.density + point.first;
                assert!(found <= top + 0.2, "{case:?} {i}: {found} {top}");
            }
        }
    }

    /// What a last row adds is above all terms from it on, taken at v = 0 where they are largest.
    #[test]
    fn beyond_the_last_row_lies_less_than_is_added() {
        for case in CASES {
            let of = orthogonal(case);
            let (at, top) = of.peak();
            let width = 2f64.powi(floor_log2(0.1 / of.half));
            for direction in [1.0, -1.0] {
                let (mut i, stride) = ((at / width).round(), (0.1 / width).ceil());
                let total = loop {
                    let mut sum = Sum { of: &of, top, total: 0.0, asked: 0 };
                    if sum.row(width * i, width, direction).unwrap() {
                        break sum.total;
                    }
                    i += direction * stride;
                };
                let term = |j: u32| {
                    let point = of.point(width * (i + direction * f64::from(j)));
                    (point.density + point.first - top).exp()
                };
                let least: f64 = (0..300).map(term).sum();
                assert!(total >= least * (1.0 - 1e-9), "{case:?} {direction}: {total:e} {least:e}");
            }
        }
    }

    /// The page raises the density by 36 u of the deviance and by `2 u |s - p/2|`, seen in the mean over many places.
    #[test]
    fn the_density_is_raised_by_its_roundings() {
        let unit = 0.5 * f64::EPSILON;
        for case in CASES {
            let of = orthogonal(case);
            let (mut raised, mut stated) = (0.0, 0.0);
            for i in 0..500 {
                let u = (of.half * (200.0 + 0.037 * f64::from(i))).ln();
                let p = u.exp();
                let off = deviance(of.half, 0.5 * p);
                raised += of.point(u).density - (of.constant - off);
                stated += 36.0 * unit * off + 2.0 * unit * (of.half - 0.5 * p).abs();
            }
            assert!(raised >= 0.99 * stated, "{case:?}: {raised:e} {stated:e}");
        }
    }
}
