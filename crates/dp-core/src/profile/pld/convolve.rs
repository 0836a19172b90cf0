//! Many-fold convolution of tilted measures by FFT, with its error paid for.
//!
//! Soundness: `docs/proofs/composition-pld.md`, section 4.

use super::discretise::Measure;
use crate::numeric::root::{Middle, bisect};
use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use std::sync::{Arc, LazyLock, Mutex};

/// Twiddle factors are kept between calls.
static PLANS: LazyLock<Mutex<RealFftPlanner<f64>>> =
    LazyLock::new(|| Mutex::new(RealFftPlanner::new()));

type Plans = (Arc<dyn RealToComplex<f64>>, Arc<dyn ComplexToReal<f64>>);

fn plans(size: usize) -> Plans {
    let mut planner = PLANS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    (planner.plan_fft_forward(size), planner.plan_fft_inverse(size))
}

/// Unit roundoff.
const U: f64 = 0.5 * f64::EPSILON;
/// Most cells of a block: two roundings a product stay within what `relative` counts for a sum.
const BLOCK: usize = 16;
/// Exponents below this are not worth an exponential, which underflows slowly.
const VANISHES: f64 = -700.0;

/// ln E e^(tL), its first and second derivative in t.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cumulant {
    pub(super) value: f64,
    pub(super) mean: f64,
    pub(super) variance: f64,
}

impl Measure {
    /// Natural logarithm of `sum p e^(t x)` and its derivatives.
    pub(super) fn cumulant(&self, h: f64, t: f64) -> Cumulant {
        let x = |i: usize| (self.first + i as i64) as f64 * h;
        let some = |p: &&f64| **p > 0.0;
        let Some(first) = self.p.iter().position(|p| some(&p)) else {
            return Cumulant { value: f64::NEG_INFINITY, ..Cumulant::default() };
        };
        let last = self.p.iter().rposition(|p| some(&p)).unwrap_or(first);
        // The largest exponent on the support, so that nothing overflows.
        let top = self.top(h, t, first, last);
        let (mut s0, mut s1, mut s2) = (0.0, 0.0, 0.0);
        // One exponential a block of cells, over which it changes by at most a factor of e.
        let (ratio, block) = ((t * h).exp(), ((t * h).abs().recip() as usize).clamp(1, BLOCK));
        for start in (first..=last).step_by(block) {
            let exponent = t * x(start) - top;
            // Beside the largest term this is nothing.
            if exponent < VANISHES {
                continue;
            }
            let mut growth = exponent.exp();
            for (i, &p) in self.p.iter().enumerate().take(last + 1).skip(start).take(block) {
                let w = p * growth;
                s0 += w;
                s1 += w * x(i);
                s2 += w * x(i) * x(i);
                growth *= ratio;
            }
        }
        let mean = s1 / s0;
        Cumulant { value: top + s0.ln(), mean, variance: (s2 / s0 - mean * mean).max(0.0) }
    }

    /// `ln sum p e^(t x)`, from above.
    pub(super) fn ln_moment_above(&self, h: f64, t: f64) -> f64 {
        let reach = |i: i64| (t * i as f64 * h).abs();
        let steepest = reach(self.first).max(reach(self.first + self.span())).max(1.0);
        let value = self.cumulant(h, t).value;
        if value == f64::NEG_INFINITY {
            return value;
        }
        value + U * (2.0 * self.p.len() as f64 + 16.0 + 4.0 * steepest + 4.0 * value.abs())
    }

    /// max of t x + ln p over a sample of the support (exactness is not needed).
    fn top(&self, h: f64, t: f64, first: usize, last: usize) -> f64 {
        let stride = ((last - first) / 64).max(1);
        (first..=last)
            .step_by(stride)
            .chain([last])
            .filter(|&i| self.p[i] > 0.0)
            .map(|i| t * (self.first + i as i64) as f64 * h + self.p[i].ln())
            .fold(f64::NEG_INFINITY, f64::max)
    }

    /// Number of grid steps between the first and last mass.
    fn span(&self) -> i64 {
        self.p.len() as i64 - 1
    }
}

/// The sum of independent losses, tilted by `e^(t x)` and normalised.
///
/// Its true masses are `w`, up to an error of l2 norm `noise` and masses `beyond_low`,
/// `beyond_high` that lie outside the window and wrap around into it.
pub(super) struct TiltedSum {
    h: f64,
    t: f64,
    first: i64,
    /// Backward sums `sum_i w_i e^(-t (x_i - x_j))`, and with t + 1.
    tails: Vec<(f64, f64)>,
    /// Mean of the tilted sum, and its standard deviation.
    mean: f64,
    deviation: f64,
    /// ln of the normaliser.
    scale: f64,
    noise: f64,
    beyond_low: f64,
    beyond_high: f64,
    relative: f64,
    infinite: f64,
}

/// A power of two steps that holds the sum, but for tails of mass about `e^-30`.
struct Window {
    first: i64,
    size: usize,
    beyond_low: f64,
    beyond_high: f64,
}

/// ln of the mass allowed outside the window.
const OUTSIDE: f64 = -30.0;

fn total(parts: &[(&Measure, u64)], h: f64, t: f64) -> Cumulant {
    parts.iter().fold(Cumulant::default(), |sum, &(m, n)| {
        let c = m.cumulant(h, t);
        let n = n as f64;
        Cumulant {
            value: sum.value + n * c.value,
            mean: sum.mean + n * c.mean,
            variance: sum.variance + n * c.variance,
        }
    })
}

/// Least Chernoff bound found on ln of the tilted mass beyond `x` (on `side` = +1 or -1).
fn chernoff(parts: &[(&Measure, u64)], h: f64, t: f64, at: Cumulant, x: f64, side: f64) -> f64 {
    let guess = (x - at.mean).abs() / at.variance.max(h * h);
    let least = |factors: [f64; 3]| {
        let bound = |f: f64| {
            let s = side * f * guess;
            total(parts, h, t + s).value - at.value - s * x
        };
        factors.into_iter().map(bound).fold(0.0, f64::min)
    };
    let found = least([0.6, 1.0, 1.7]);
    // A sum with a heavier tail than a Gaussian one wants a smaller tilt.
    if found > OUTSIDE { found.min(least([0.1, 0.2, 0.35])) } else { found }
}

fn window(parts: &[(&Measure, u64)], h: f64, t: f64, at: Cumulant, largest: usize) -> Window {
    // The step keeps sums of losses below 2^51 of it; their spans may be longer.
    let runs = |i: i64, n: u64| i128::from(i) * i128::from(n);
    let support_first: i128 = parts.iter().map(|(m, n)| runs(m.first, *n)).sum();
    let support = parts.iter().map(|(m, n)| runs(m.span(), *n)).sum::<i128>() + 1;
    let mut reach = (7.8 * at.variance.sqrt()).max(12.0 / t) + 8.0 * h;
    loop {
        let size = ((2.0 * reach / h).min(largest as f64) as usize + 2).next_power_of_two();
        let size = size.min(largest);
        if support <= size as i128 {
            let size = (support as usize).next_power_of_two();
            let first = support_first as i64;
            return Window { first, size, beyond_low: 0.0, beyond_high: 0.0 };
        }
        let half = 0.5 * (size as f64 - 2.0) * h;
        let (low, high) = (at.mean - half, at.mean + half);
        let (out_low, out_high) =
            (chernoff(parts, h, t, at, low, -1.0), chernoff(parts, h, t, at, high, 1.0));
        if out_low.max(out_high) <= OUTSIDE || size >= largest {
            return Window {
                first: (low / h).floor() as i64,
                size,
                beyond_low: out_low.exp(),
                beyond_high: out_high.exp(),
            };
        }
        reach *= 1.4;
    }
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}

impl TiltedSum {
    /// The `count`-fold sums of the parts together, tilted by `t >= 0`, in a window of
    /// at most `largest` steps.
    pub(super) fn new(parts: &[(&Measure, u64)], h: f64, t: f64, largest: usize) -> Self {
        #[cfg(test)]
        crate::numeric::binomial::terms::add();
        let at = total(parts, h, t);
        let window = window(parts, h, t, at, largest);
        let size = window.size.max(2);
        let (forward, inverse) = plans(size);
        let levels = size.ilog2() as f64 + 2.0;
        let fft = 32.0 * U * levels;
        let mut product = vec![Complex::new(1.0, 0.0); size / 2 + 1];
        let mut spectrum = forward.make_output_vec();
        let mut scratch = forward.make_scratch_vec();
        let mut buffer = vec![0.0; size];
        let (mut noise, mut relative, mut folds) = (0.0, 1e-12, 0.0);
        for &(measure, n) in parts {
            let value = measure.cumulant(h, t).value;
            buffer.fill(0.0);
            let mut steepest: f64 = 1.0;
            for (i, &p) in measure.p.iter().enumerate().filter(|(_, p)| **p > 0.0) {
                let index = measure.first + i as i64;
                let exponent = t * index as f64 * h - value;
                steepest = steepest.max(exponent.abs());
                if exponent > VANISHES {
                    buffer[index.rem_euclid(size as i64) as usize] += p * exponent.exp();
                }
            }
            let n = n as f64;
            noise += n * fft * norm(&buffer);
            folds += n;
            relative += n * U * (2.0 * measure.p.len() as f64 + 16.0 + 4.0 * steepest);
            forward
                .process_with_scratch(&mut buffer, &mut spectrum, &mut scratch)
                .expect("buffers come from the plan");
            multiply(&mut product, &spectrum, n as u64);
        }
        // The inverse wants exactly real ends.
        product[0].im = 0.0;
        product[size / 2].im = 0.0;
        let mut masses = inverse.make_output_vec();
        inverse.process(&mut product, &mut masses).expect("buffers come from the plan");
        let shrink = 1.0 / size as f64;
        masses.iter_mut().for_each(|w| *w *= shrink);
        masses.rotate_left(window.first.rem_euclid(size as i64) as usize);
        noise = 1.05 * noise + (4.0 * folds * U + fft) * norm(&masses) + 1e-30;
        let finite: f64 = parts.iter().map(|(m, n)| *n as f64 * (-m.p_infinite).ln_1p()).sum();
        Self {
            h,
            t,
            first: window.first,
            tails: backward(&masses, h, t),
            mean: at.mean,
            deviation: at.variance.sqrt(),
            scale: at.value,
            noise,
            beyond_low: window.beyond_low,
            beyond_high: window.beyond_high,
            relative,
            infinite: -finite.exp_m1(),
        }
    }

    /// Grid loss of index `j` of the window.
    fn x(&self, j: usize) -> f64 {
        (self.first + j as i64) as f64 * self.h
    }

    /// The sum and the l2 norm bound of its weights, both over `e^(scale - t eps)`.
    fn raw(&self, eps: f64) -> (f64, f64) {
        let next = ((eps / self.h).floor() as i64).saturating_add(1);
        let from = next.saturating_sub(self.first).max(0) as usize;
        let t = self.t;
        let Some(&(a, b)) = self.tails.get(from) else { return (0.0, 0.0) };
        let x = self.x(from);
        let sum = (-t * (x - eps)).exp() * (a - (eps - x).exp() * b);
        (sum, 1e-13 * (a.abs() + b.abs()))
    }

    /// l2 norm of the weights `e^(-t y) (1 - e^-y)` on the grid: integral plus one maximum.
    fn weight_norm(&self) -> f64 {
        let t = self.t;
        let most = self.largest_weight();
        let integral = 1.0 / (t * (2.0 * t + 1.0) * (2.0 * t + 2.0));
        let by_count = self.tails.len() as f64 * most * most;
        (integral / self.h + most * most).min(by_count).sqrt()
    }

    /// Largest weight: `(t/(1+t))^t / (1+t)`.
    fn largest_weight(&self) -> f64 {
        let t = self.t;
        if t > 0.0 { (-t * (1.0 / t).ln_1p()).exp() / (1.0 + t) } else { 1.0 }
    }

    /// An upper bound on ln delta(eps).
    pub(super) fn ln_delta_above(&self, eps: f64) -> f64 {
        let (sum, rounding) = self.raw(eps);
        let end = self.x(self.tails.len());
        let missed = if eps < self.x(0) { self.beyond_low } else { 0.0 };
        let beyond = missed + self.beyond_high * (-self.t * (end - eps).max(0.0)).exp();
        let value = sum.max(0.0) + rounding + self.noise * self.weight_norm() + beyond;
        let finite = (self.scale - self.t * eps) + value.ln() + self.relative;
        crate::numeric::ln_sum_exp(finite, (self.infinite * (1.0 + 1e-12)).ln()).min(0.0)
    }

    /// A lower bound on ln delta(eps).
    pub(super) fn ln_delta_below(&self, eps: f64) -> f64 {
        let (sum, rounding) = self.raw(eps);
        let lost = (self.beyond_low + self.beyond_high) * self.largest_weight();
        let value = (sum - rounding - self.noise * self.weight_norm() - lost).max(0.0);
        let finite = (self.scale - self.t * eps) + value.ln() - self.relative;
        crate::numeric::ln_sum_exp(finite, (self.infinite * (1.0 - 1e-12)).ln()).min(0.0)
    }

    /// The least epsilon of the window with `ln_delta_above` at most `target`, if any.
    pub(super) fn epsilon_above(&self, target: f64) -> Option<f64> {
        let (first, last) = (self.x(0).max(0.0), self.x(self.tails.len()).max(0.0));
        let holds = |e: f64| self.ln_delta_above(e) <= target;
        if holds(first) {
            return Some(first);
        }
        holds(last).then(|| first_of(first, last, holds))
    }

    /// An epsilon with `ln_delta_below` above `target`, as large as found; zero at worst.
    pub(super) fn epsilon_below(&self, target: f64) -> f64 {
        let holds = |e: f64| self.ln_delta_below(e) <= target;
        // The bound is tight near the tilted mean only, so the search starts there, in steps of the
        // weights' length or, where they are longer, the sum's own.
        let least = self.x(0).max(0.0);
        let ladder = |step: f64| {
            (0..80)
                .map(move |i| self.mean - step * (1.2_f64.powi(i) - 1.0))
                .take_while(move |&e| e >= least)
        };
        let start = ladder(0.3 / self.t.max(1e-3))
            .chain(ladder(0.3 * self.deviation))
            .chain([least])
            .find(|&e| !holds(e));
        start.map_or(0.0, |e| {
            let last = self.x(self.tails.len());
            // Half an ulp lower: the bisection returns where the bound holds.
            first_of(e, last, holds) * (1.0 - 2.0 * U)
        })
    }
}

/// The first point found from which `holds`; it does not at `low`, it does at `high`.
fn first_of(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    bisect((low, high), Middle::Arithmetic, (100, 0.0), holds).1
}

fn backward(masses: &[f64], h: f64, t: f64) -> Vec<(f64, f64)> {
    let (r0, r1) = ((-t * h).exp(), (-(t + 1.0) * h).exp());
    let mut tails = vec![(0.0, 0.0); masses.len()];
    let (mut a, mut b) = (0.0, 0.0);
    for (tail, &w) in tails.iter_mut().zip(masses).rev() {
        a = w + r0 * a;
        b = w + r1 * b;
        *tail = (a, b);
    }
    tails
}

/// `e^-180`.
const LEAST: f64 = 6.7e-79;

/// `product *= spectrum^n`; what is below e^-90 in absolute value becomes zero, before or after (a
/// spectrum is at most one, so this is far below the noise already paid for).
fn multiply(product: &mut [Complex<f64>], spectrum: &[Complex<f64>], n: u64) {
    let least = (-180.0 / n as f64).exp();
    for (out, &z) in product.iter_mut().zip(spectrum) {
        // Most are zero after a few parts.
        if out.norm_sqr() < LEAST {
            *out = Complex::new(0.0, 0.0);
            continue;
        }
        if z.norm_sqr() < least {
            *out = Complex::new(0.0, 0.0);
            continue;
        }
        let (mut base, mut left) = (z, n);
        while left > 0 {
            if left & 1 == 1 {
                *out *= base;
            }
            base *= base;
            left >>= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{cut::Cut, discretise, law::Law};
    use super::*;
    use crate::profile::gaussian;

    const CUT: Cut = Cut { low: 1e-40, high: 1e-300, most: f64::INFINITY };

    /// Of normal sums the best tilt says `-z^2/2`, whatever their variance.
    #[test]
    fn chernoff_of_normal_sums_is_the_square_of_the_deviations() {
        for (mu, h, t) in [(0.1, 1e-3, 1.0), (1.0, 0.02, 0.5), (0.01, 1e-4, 3.0)] {
            let measure = discretise::upper(&Law::Gaussian { mu }, h, CUT);
            let parts = [(&measure, 4)];
            let at = total(&parts, h, t);
            for (z, side) in [(6.0, 1.0), (6.0, -1.0), (9.0, 1.0)] {
                let x = at.mean + side * z * at.variance.sqrt();
                let off = chernoff(&parts, h, t, at, x, side) / (-0.5 * z * z) - 1.0;
                assert!(off.abs() < 0.02, "{mu} {z} {side}: {off}");
            }
        }
    }

    /// The weights beyond the middle fall by `e^-12` within the window.
    #[test]
    fn a_window_holds_twelve_lengths_of_the_weights() {
        let h = 0.01;
        let measure = discretise::upper(&Law::Gaussian { mu: 0.1 }, h, CUT);
        for t in [0.3, 0.5, 1.0, 4.0] {
            let parts = [(&measure, 100)];
            let at = total(&parts, h, t);
            let window = window(&parts, h, t, at, 1 << 22);
            assert!(0.5 * window.size as f64 * h >= 12.0 / t, "{t}: {}", window.size);
            assert!(window.beyond_low.max(window.beyond_high) <= OUTSIDE.exp());
        }
    }

    /// What lies above a window that is too short counts with its largest weight: near the window's end, and beyond it, the bound
    /// is above the profile of the Gaussian that all steps are together.
    #[test]
    fn what_lies_above_the_window_is_paid_for() {
        let h = 0.05;
        let measure = discretise::upper(&Law::Gaussian { mu: 1.0 }, h, CUT);
        for t in [0.7, 3.0, 10.0] {
            let sum = TiltedSum::new(&[(&measure, 4)], h, t, 64);
            assert!(sum.beyond_high > 0.1);
            for i in 0..100 {
                let eps = (sum.x(0) + 0.07 * f64::from(i)).max(0.0);
                let (truth, found) = (gaussian::ln_delta(2.0, eps).0, sum.ln_delta_above(eps));
                assert!(found >= truth - 1e-9, "{t} {eps}: {found} {truth}");
            }
        }
    }

    /// Beyond the window of a sum that fits into it nothing is left but what rounding may have made: by Cauchy's inequality the
    /// noise times the norm of the weights.
    #[test]
    fn the_noise_counts_with_the_norm_of_the_weights() {
        let h = 0.02;
        let measure = discretise::upper(&Law::Laplace { mu: 1.0 }, h, CUT);
        for t in [1e-3, 1.0, 20.0] {
            let sum = TiltedSum::new(&[(&measure, 5)], h, t, 1 << 20);
            let weight = |j: usize| {
                let y = h * j as f64;
                ((-t * y).exp() * -(-y).exp_m1()).powi(2)
            };
            let norm = (1..=sum.tails.len()).map(weight).sum::<f64>().sqrt();
            let eps = sum.x(sum.tails.len() + 1);
            let said = sum.ln_delta_above(eps) - (sum.scale - t * eps) - sum.noise.ln();
            let above = said - norm.ln();
            assert!((0.0..0.5).contains(&above), "{t}: {said} {norm}");
        }
    }
}
