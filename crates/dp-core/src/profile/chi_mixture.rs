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
use crate::numeric::gamma::{deviance, ln_poisson_kernel};
use crate::numeric::ln_normal_pdf;
use crate::numeric::root::{Middle, bisect};
use crate::quantity::{L2Sensitivity, NoiseScale};

/// `ln E[delta_gauss(eps; sqrt(scale^2 q + later^2))]`, `q ~ chi2_k`: an upper bound.
///
/// The integrand over `u = ln q` is analytic in a strip and falls exponentially on
/// both sides, so the trapezoidal rule converges geometrically in the number of points.
fn ln_delta(k: u64, scale: f64, later: f64, epsilon: f64) -> f64 {
    let a = 0.5 * k as f64;
    let constant = a.ln() + ln_poisson_kernel(a, a);
    let parts = |u: f64| {
        let q = u.exp();
        let first = scale * scale * q;
        let mu = (first + later * later).sqrt();
        let (delta, error) = gaussian::ln_delta(mu, epsilon);
        let ln = constant - deviance(a, 0.5 * q) + delta;
        // d ln(delta) / d ln(mu) = mu phi(a) / delta.
        let at = epsilon / mu - 0.5 * mu;
        let slope = (mu.ln() + ln_normal_pdf(at) - delta).exp() * 0.5 * first / (mu * mu);
        (ln, a - 0.5 * q + slope, error)
    };
    // The peak: where the slope changes sign, to a hundredth of the peak's width.
    let mut high = (2.0 * a + 200.0).ln() + 1.0;
    while parts(high).1 > 0.0 {
        high += 1.0;
        if high > 700.0 {
            return 0.0;
        }
    }
    let rises = |u: f64| parts(u).1 > 0.0;
    let last = (60, 0.01 / a.sqrt());
    let (low, high) = bisect((-90.0, high), Middle::Arithmetic, last, |u| !rises(u));
    let peak = 0.5 * (low + high);
    let (top, _, error) = parts(peak);
    // Beyond any use rounding hides the shape: the integral is below e^5 of its largest value.
    let hidden = || top * (1.0 - 2e-12) + 5.0;
    if top < -1e12 {
        return hidden();
    }
    let nudge = 0.05 / a.sqrt().max(1.0);
    let curvature = (parts(peak - nudge).1 - parts(peak + nudge).1) / (2.0 * nudge);
    let mut step = (0.5 / curvature.max(1e-6).sqrt()).min(0.25);
    for _ in 0..6 {
        let sum = |offset: f64| {
            let mut total = 0.0;
            for direction in [1.0, -1.0] {
                let mut at = if direction > 0.0 { offset } else { offset - 1.0 };
                loop {
                    let term = (parts(peak + 2.0 * step * at).0 - top).exp();
                    total += term;
                    if term < 1e-19 * total || at.abs() > 1e5 {
                        break;
                    }
                    at += direction;
                }
            }
            total
        };
        let (even, odd) = (sum(0.0), sum(0.5));
        if (even - odd).abs() < (1e-8 - 1e-14 * top) * even {
            // Halving the step squares the error: 1e-16 of the sum.
            // The points' own rounding moves the integrand by its slope, some sqrt(a) of it: of so many columns more than the rest.
            let points = 2e-16 * a.sqrt() * (peak.abs() + 2.0);
            return top + (step * (even + odd)).ln() + error + points.max(1e-12);
        }
        step *= 0.5;
    }
    if top < -1e6 { hidden() } else { 0.0 }
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
