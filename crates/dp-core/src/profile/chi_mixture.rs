//! Fresh public Gaussian projection, then Gaussian noise. Proof: `docs/proofs/averaged-calibration.md`.

use super::gaussian;
use super::kind::{Kind, MANY, RATIOS, SHIFT, count, ratio};
use super::kinds::Profile;
use super::pld::{LEAST, Merged};
use super::rule::{all_gaussian, on_grid, scale};
use super::solve::{least_scale_from, positive, refuse_pure, rough_mu};
use crate::adjacency::Adjacency;
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::noise::NoiseLaw;
use crate::numeric::float::floor_log2;
use crate::numeric::gamma::{deviance, ln_poisson_kernel};
use crate::numeric::ln_normal_pdf;
use crate::numeric::root::{Middle, bisect};
use crate::quantity::{L2Sensitivity, NoiseScale};
use core::f64::consts::TAU;

/// Scales up, so that no mu computed from them is below the true one.
const UP: f64 = 1.0 + 4.0 * f64::EPSILON;
/// Most points of one sum: where it takes more, the bound from the moments is said.
const POINTS: f64 = 5e4;
/// Below it no sum is tried.
const LEAST_TOP: f64 = -1e12;
/// Above it none either: steps of so narrow an integrand are not told apart.
const MOST_GROWTH: f64 = 1e22;
/// What is left out of a sum, at either end or between its points, is below this share of it, and added.
const LEFT_OUT: f64 = 1e-15;

/// `ln E[delta_gauss(eps; sqrt(scale^2 q + later^2))]`, `q ~ chi2_k`: an upper bound.
///
/// The integrand over `u = ln q` is analytic in a strip, so the trapezoidal rule converges geometrically in the number
/// of points. What it misses, and what lies beyond its last points, is bounded and added.
pub(super) fn ln_delta(k: u64, scale: f64, later: f64, epsilon: f64) -> f64 {
    let known = |x: f64| (0.0..1e120).contains(&x);
    if !known(scale) || !known(later) {
        return 0.0;
    }
    let a = 0.5 * k as f64;
    let constant = a.ln() + ln_poisson_kernel(a, a);
    // A larger scale is on the safe side; of a smaller one the square would lose digits.
    let (scale, later) = ((scale * UP).max(1e-120), later * UP);
    let mean = Mean { a, constant, scale, later, epsilon };
    let Some(peak) = mean.peak() else { return 0.0 };
    let about = mean.at(peak);
    let (z, bound) = mean.by_moments(&about);
    let growth = mean.growth(z);
    let summed = about.ln > LEAST_TOP && growth < MOST_GROWTH;
    if !summed {
        return bound;
    }
    // A power of two, and points at its multiples: none of them is rounded.
    let mut step = 2f64.powi(floor_log2((0.55 / growth.sqrt()).min(0.25)));
    for _ in 0..6 {
        let centre = (peak / step).round() * step;
        let top = mean.at(centre).ln;
        let Some((sum, points)) = mean.sum(centre, top, step) else { return bound };
        let missed = (mean.ln_missed(step, growth, z, bound) - top).exp() / step;
        if missed < LEFT_OUT * sum {
            let ln = (step * (sum + missed)).ln();
            let rounding = 1e-12 + points * f64::EPSILON + 6e-16 * (top.abs() + ln.abs());
            return (top + ln + rounding).min(bound);
        }
        step *= 0.5;
    }
    bound
}

/// The mean of `delta_gauss(eps; mu)` over `mu^2 = scale^2 q + later^2`, `q ~ chi2_(2a)`.
struct Mean {
    a: f64,
    constant: f64,
    scale: f64,
    later: f64,
    epsilon: f64,
}

/// The integrand at one `u = ln q`.
struct Point {
    /// Its logarithm, from above.
    ln: f64,
    /// The slope of its logarithm.
    slope: f64,
    /// The logarithm of the density of u alone.
    density: f64,
    q: f64,
    mu: f64,
}

impl Mean {
    fn at(&self, u: f64) -> Point {
        let q = u.exp();
        let first = self.scale * self.scale * q;
        let mu = (first + self.later * self.later).sqrt();
        let (delta, error) = gaussian::ln_delta(mu, self.epsilon);
        let off = deviance(self.a, 0.5 * q);
        let density = self.constant - off;
        // d ln(delta) / d ln(mu) = mu phi(a) / delta, about a b far out, where the logarithms have no digit left of it.
        let (ratio, half) = (self.epsilon / mu, 0.5 * mu);
        let (low, high) = (ratio - half, ratio + half);
        let steep = match delta < -1e8 {
            true => low * high,
            false => (mu.ln() + ln_normal_pdf(low) - delta).exp(),
        };
        let slope = self.a - 0.5 * q + steep * 0.5 * first / (mu * mu);
        // Of q, of the deviance, and of the sums.
        let rounding = 3e-16 * slope.abs() + 4e-15 * off + 4e-16 * delta.abs();
        Point { ln: density + delta + (error + rounding), slope, density, q, mu }
    }

    /// Both `e^(y^2 growth/2)` and the integrand's curvature at its peak are about this.
    fn growth(&self, z: f64) -> f64 {
        self.a + 0.5 + self.epsilon * (z + 0.5)
    }

    /// The u where the slope changes sign, to a part of the integrand's width.
    fn peak(&self) -> Option<f64> {
        let rises = |u: f64| self.at(u).slope > 0.0;
        let mut high = (2.0 * self.a + 200.0).ln() + 1.0;
        while rises(high) {
            high += 1.0;
            if high > 700.0 {
                return None;
            }
        }
        let last = (60, 0.01 / self.a.sqrt());
        let (low, high) = bisect((-90.0, high), Middle::Arithmetic, last, |u| !rises(u));
        // The density's width may be much larger.
        let (z, _) = self.by_moments(&self.at(0.5 * (low + high)));
        let last = (60, 0.2 / self.growth(z).sqrt());
        let (low, high) = bisect((low, high), Middle::Arithmetic, last, |u| !rises(u));
        Some(0.5 * (low + high))
    }

    /// `scale^2 z (1 + z)`.
    fn taken(&self, z: f64) -> f64 {
        self.scale * z * (self.scale * (1.0 + z))
    }

    /// The z that says most about this mu in `delta <= e^(mu^2 z (1 + z)/2 - z eps)`.
    fn tilt(&self, mu: f64) -> f64 {
        (self.epsilon / (mu * mu) - 0.5).max(0.0)
    }

    /// A z that says much about the mean, and the logarithm of the bound that it gives:
    /// `(1 - scale^2 z (1 + z))^(-a) e^(later^2 z (1 + z)/2 - z eps)`, times the root of the mean of `mu^2/(2 pi)` where
    /// that is below one.
    fn by_moments(&self, about: &Point) -> (f64, f64) {
        let most = (1.0 - self.a / about.q).max(0.0) / (self.scale * self.scale);
        let largest = 2.0 * most / (1.0 + (1.0 + 4.0 * most).sqrt());
        let z = self.tilt(about.mu).min(largest * (1.0 - 1e-12));
        let taken = self.taken(z);
        let room = 1.0 - taken;
        let later = self.later * z * (self.later * (1.0 + z));
        let square = 2.0 * self.a * self.scale * self.scale / room + self.later * self.later;
        let ln = 0.5 * later - self.a * (-taken).ln_1p() - z * self.epsilon
            + (0.5 * (square / TAU).ln()).min(0.0);
        let rounding = 1e-12 + 1e-14 * (self.a * taken / room + later + z * self.epsilon);
        let bound = ln + rounding;
        (z, if bound.is_nan() { 0.0 } else { bound.clamp(f64::MIN, 0.0) })
    }

    /// The integrand's sum over all multiples of `step`, from above and in units of `e^top`, and the number of points
    /// that were seen; none when they are too many.
    fn sum(&self, centre: f64, top: f64, step: f64) -> Option<(f64, f64)> {
        let (mut total, mut points) = (0.0, 0.0);
        for (first, direction) in [(0.0, 1.0), (-1.0, -1.0)] {
            let mut at = first;
            loop {
                let point = self.at(centre + step * at);
                let term = (point.ln - top).exp();
                total += term;
                points += 1.0;
                if term < LEFT_OUT * total {
                    let rest = (self.ln_beyond(&point, direction, step) - top).exp();
                    if rest < LEFT_OUT * total {
                        total += rest;
                        break;
                    }
                }
                if points > POINTS {
                    return None;
                }
                at += direction;
            }
        }
        Some((total, points))
    }

    /// Above the logarithm of the sum over all points beyond this one, `step` apart; infinite where nothing is known.
    fn ln_beyond(&self, from: &Point, direction: f64, step: f64) -> f64 {
        let &Point { q, mu, density, .. } = from;
        let taken = self.taken(self.tilt(mu));
        let falls = 0.5 * q * (1.0 - taken) - self.a;
        let falls = if direction > 0.0 { falls - 0.5 } else { self.a.min(-falls) };
        let falls = falls - 1e-14 * (self.a + q * (1.0 + taken));
        if falls > 0.0 {
            let at = (self.epsilon / mu - 0.5 * mu).max(0.0);
            let delta = (0.5 * (mu * mu / TAU).ln()).min(0.0) - 0.5 * at * at;
            density + delta + 0.1 - (falls * step).ln()
        } else {
            f64::INFINITY
        }
    }

    /// Above the logarithm of the trapezoidal rule's error, by the integrand on the lines `Im u = +-y`.
    fn ln_missed(&self, step: f64, growth: f64, z: f64, bound: f64) -> f64 {
        // tan y, near where the bound is least.
        let t = TAU / (step * growth);
        let (y, root) = (t.atan(), (1.0 + t * t).sqrt());
        // ln(1/cos y), and 1 - cos y.
        let (ln, less) = (0.5 * (t * t).ln_1p(), t * t / (root * (1.0 + root)));
        bound + 1.7 - TAU / step * y + (self.a + 0.5) * ln + self.epsilon * (z + 0.5) * less
    }
}

/// [`Profile::ChiMixtureGaussian`].
pub(super) struct ChiMixture {
    pub(super) k: u64,
    pub(super) entry_shift: L2Sensitivity,
    pub(super) sigma: NoiseScale,
    pub(super) later_mu: f64,
}

impl ChiMixture {
    fn is_known(&self) -> bool {
        self.k >= 1 && self.later_mu.is_finite() && self.later_mu >= 0.0
    }
}

impl Kind for ChiMixture {
    fn ln_delta(&self, epsilon: f64) -> f64 {
        let shift = self.entry_shift.get() / self.sigma.get();
        if self.is_known() { ln_delta(self.k, shift, self.later_mu, epsilon) } else { 0.0 }
    }

    fn check_limits(&self) -> Result<()> {
        count("k", self.k, MANY)?;
        if !(0.0..=RATIOS.1).contains(&self.later_mu) {
            return Err(Error::invalid("later_mu", self.later_mu, "[0, 1e6]"));
        }
        ratio(SHIFT, self.entry_shift.get() / self.sigma.get())
    }

    fn compose(&self, runs: u64, all: &mut Merged) {
        if !self.is_known() {
            return all.unknown();
        }
        let (scale, runs) = (self.entry_shift.get() / self.sigma.get(), runs as f64);
        all.mixture(scale.max(LEAST), runs * self.k as f64);
        if self.later_mu > 0.0 {
            all.gaussian(self.later_mu, runs);
        }
    }

    fn given_by(&self, noise: &NoiseLaw, _: Adjacency) -> Result<bool> {
        match noise {
            NoiseLaw::RoundedGaussian { sigma, grid } => {
                scale("noise.sigma", *sigma, self.sigma)?;
                on_grid(self.entry_shift.get() + self.later_mu * self.sigma.get(), *grid)?;
                Ok(true)
            }
            NoiseLaw::Several { laws } => match laws.as_slice() {
                // The later steps' sensitivities are public matrices: only their kind is known.
                [NoiseLaw::RoundedGaussian { sigma, .. }, later @ ..] if all_gaussian(later) => {
                    scale("noise.laws.sigma", *sigma, self.sigma)?;
                    Ok(true)
                }
                _ => Ok(false),
            },
            _ => Ok(false),
        }
    }
}

/// The least sigma after a fresh public Gaussian projection with `k` columns, averaged
/// over it, given a later Gaussian step of parameter `later_mu` (zero for none).
///
/// # Errors
/// [`Error::InvalidParameter`] when `k` is zero or `later_mu` negative or not finite;
/// [`Error::Calibration`] when delta is zero or the later step alone exceeds the budget.
pub fn chi_mixture_gaussian(
    budget: Budget,
    k: u64,
    entry_shift: L2Sensitivity,
    later_mu: f64,
) -> Result<NoiseScale> {
    refuse_pure("chi-mixture Gaussian", budget)?;
    positive("k", k)?;
    if !(later_mu.is_finite() && later_mu >= 0.0) {
        return Err(Error::invalid("later mu", later_mu, "[0, inf)"));
    }
    let room =
        (rough_mu(budget).powi(2) - later_mu * later_mu).max(1e-3 * rough_mu(budget).powi(2));
    let guess = entry_shift.get() * (k as f64).sqrt() / room.sqrt();
    least_scale_from("chi-mixture Gaussian", budget, guess, |sigma| Profile::ChiMixtureGaussian {
        k,
        entry_shift,
        sigma,
        later_mu,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns, scale, later mu, epsilon: small and large, in the tail and out of it.
    const CASES: [(u64, f64, f64, f64); 10] = [
        (1, 0.3, 0.0, 0.0),
        (1, 0.24, 0.0, 1.0),
        (3, 0.05, 0.2, 1.0),
        (64, 0.02, 0.0, 1.0),
        (1000, 0.004, 0.0, 0.5),
        (20, 1e-3, 0.24, 1.0),
        (10_000, 0.4, 0.0, 1000.0),
        (64, 1.0, 0.5, 30.0),
        (1, 1000.0, 0.0, 100.0),
        (2, 30.0, 0.0, 1000.0),
    ];

    /// A mean, its peak, what the moments say there, and the growth.
    fn parts(case: (u64, f64, f64, f64)) -> (Mean, f64, (f64, f64), f64) {
        let (k, scale, later, epsilon) = case;
        let a = 0.5 * k as f64;
        let constant = a.ln() + ln_poisson_kernel(a, a);
        let mean = Mean { a, constant, scale, later, epsilon };
        let peak = mean.peak().unwrap();
        let moments = mean.by_moments(&mean.at(peak));
        let growth = mean.growth(moments.0);
        (mean, peak, moments, growth)
    }

    /// Steps that are far too long are off by less than is said, and that is less than a hundred thousandth of the
    /// integral where the step is what is taken at first.
    #[test]
    fn a_long_step_misses_less_than_is_said() {
        for case in CASES {
            let (mean, peak, (z, bound), growth) = parts(case);
            let top = mean.at(peak).ln;
            let integral =
                |step: f64, by: f64| step * mean.sum(peak + by * step, top, step).unwrap().0;
            let fine = integral(0.05 / growth.sqrt(), 0.0);
            let mut off_most = 0.0f64;
            for steps in [0.5, 1.0, 2.0, 3.0, 4.0, 6.0] {
                let step = steps / growth.sqrt();
                let missed = (mean.ln_missed(step, growth, z, bound) - top).exp() / fine;
                assert!(steps > 0.5 || missed < 1e-5, "{case:?}: {missed:e}");
                for by in [0.0, 0.25, 0.5] {
                    let off = (integral(step, by) / fine - 1.0).abs();
                    assert!(off <= missed + 1e-12, "{case:?} {steps} {by}: {off:e} {missed:e}");
                    off_most = off_most.max(off);
                }
            }
            // Something was missed.
            assert!(off_most > 1e-4, "{case:?}: {off_most:e}");
        }
    }

    /// From any point on, to either side: all that lies beyond has less than is said.
    #[test]
    fn beyond_a_point_lies_less_than_is_said() {
        let mut seen = 0;
        for case in CASES {
            let (mean, peak, _, growth) = parts(case);
            let step = 0.3 / growth.sqrt();
            for direction in [1.0, -1.0] {
                for first in (1..60).step_by(3) {
                    let at = |i: i32| peak + direction * step * f64::from(first + i);
                    let said = mean.ln_beyond(&mean.at(at(0)), direction, step);
                    if said.is_infinite() {
                        continue;
                    }
                    let share = |i: i32| (mean.at(at(i)).ln - said).exp();
                    let beyond: f64 = (1..4000).map(share).take_while(|&x| x > 1e-30).sum();
                    assert!(beyond <= 1.0, "{case:?} {direction} {first}: {beyond}");
                    seen += 1;
                }
            }
        }
        assert!(seen > 100, "{seen}");
    }

    /// The bound from the moments: above the mean, and by a few units.
    #[test]
    fn the_moments_say_a_little_more() {
        for case in CASES {
            let (k, scale, later, epsilon) = case;
            let said = ln_delta(k, scale, later, epsilon);
            let (_, bound) = parts(case).2;
            assert!(said <= bound && bound < said + 4.0, "{case:?}: {said} {bound}");
        }
        // So many points would be needed: not below the later step alone, whose delta it nearly is.
        let (later, _) = gaussian::ln_delta(1.0, 1000.0);
        let said = ln_delta(1, 1e-12, 1.0, 1000.0);
        assert!(later <= said && said < later + 20.0, "{said} {later}");
        // No sum at all.
        let said = ln_delta(1000, 1e-13, 0.0, 1.0);
        assert!((-1e13..-0.9999e13).contains(&said), "{said}");
        for (scale, later) in [(f64::NAN, 0.0), (f64::INFINITY, 0.0), (1.0, f64::NAN), (1.0, 1e121)]
        {
            assert_eq!(ln_delta(3, scale, later, 1.0), 0.0);
        }
    }

    /// Where no sum is made, once stated below the truth: by 1064 and by many orders of magnitude.
    #[test]
    fn the_deepest_tails_are_not_below_the_truth() {
        for (k, scale, truth) in [(1, 1e-8, -100_000_038.7), (1000, 1e-12, -1.000_001e12)] {
            let said = ln_delta(k, scale, 0.0, 1.0);
            assert!(said >= truth && said < 0.999 * truth, "{k} {scale}: {said}");
        }
    }

    /// The theorem's bound on the lines `Im u = +-y`, with lemma 1 for the integral at `g eps`.
    #[test]
    fn a_step_misses_what_the_lines_say() {
        for case in CASES {
            let (mean, _, (z, bound), growth) = parts(case);
            for steps in [0.5, 0.2] {
                let step = steps / growth.sqrt();
                let y = (TAU / (step * growth)).atan();
                let (g, epsilon) = (y.cos(), case.3);
                let x = TAU / step * y;
                let wraps = 2f64.ln() - x - (-(-x).exp()).ln_1p();
                let modulus = (1.0 - g) * epsilon * (z + 0.5) - (mean.a + 0.5) * g.ln();
                let above = mean.ln_missed(step, growth, z, bound) - (wraps + modulus + bound);
                assert!((0.0..1.1).contains(&above), "{case:?} {steps}: {above}");
            }
        }
    }

    /// Against differences, also so far out that the logarithms have no digit left of it.
    #[test]
    fn the_slope_is_that_of_the_integrand() {
        for case in CASES.into_iter().chain([(1, 1e-8, 0.0, 1.0), (3, 1e-7, 1e-7, 1.0)]) {
            let (mean, peak, _, growth) = parts(case);
            for by in [-2.0, -0.7, 0.0, 0.4] {
                let (u, step) = (peak + by, 1e-4);
                let rise = (mean.at(u + step).ln - mean.at(u - step).ln) / (2.0 * step);
                let off = (mean.at(u).slope - rise).abs();
                assert!(off < 1e-5 * (growth + rise.abs()), "{case:?} {by}: {off:e} {rise:e}");
            }
        }
    }

    /// On either side of the peak the slope has its sign within a fifth of the integrand's width.
    #[test]
    fn the_peak_is_known_to_a_part_of_the_width() {
        for case in CASES.into_iter().chain([(1, 1e-8, 0.0, 1.0)]) {
            let (mean, peak, _, growth) = parts(case);
            let near = 0.2 / growth.sqrt();
            assert!(mean.at(peak - near).slope > 0.0, "{case:?}");
            assert!(mean.at(peak + near).slope < 0.0, "{case:?}");
        }
    }
}
