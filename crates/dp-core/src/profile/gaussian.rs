//! The Gaussian mechanism, once and in steps (Balle & Wang 2018). Proof: `docs/proofs/gaussian.md`.

use super::kind::{Kind, MANY, SHIFT, count, ratio};
use super::kinds::{GaussianStep, Profile, RowChange, covariance_sensitivity};
use super::pld::Merged;
use super::rule::{all_gaussian, at_least, on_grid, scale};
use super::solve::{least_scale_from, positive, refuse_pure, rough_mu};
use crate::adjacency::Adjacency;
use crate::budget::Budget;
use crate::error::{Result, rejected};
use crate::noise::NoiseLaw;
use crate::numeric::float::{added, square_of};
use crate::numeric::quadrature::panel_6;
use crate::numeric::{ln_normal_cdf, ln_normal_pdf, mills_ratio, mills_slope};
use crate::quantity::{L2Sensitivity, NoiseScale, NormBound};

/// Largest `eps/mu` that is told from larger ones. Delta falls in eps; beyond, squares would overflow.
const FARTHEST: f64 = 1e100;

/// ln of `Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)`, and a bound on its error.
///
/// With `a = eps/mu - mu/2`, `b = a + mu` and Mills' ratio M this is `phi(a) (M(a) - M(b))`,
/// and where the two are close, the integral over `[a, b]` of the slope of M: nothing cancels.
///
/// The error is proven for mu from 1e-130 to `2^46`, also where mu and epsilon are off by `2^-51` of themselves, together;
/// `eps/mu` beyond 1e100 counts as 1e100, for which the value is an upper one.
pub(crate) fn ln_delta(mu: f64, epsilon: f64) -> (f64, f64) {
    if mu == 0.0 {
        return (f64::NEG_INFINITY, 0.0);
    }
    let (ratio, half) = (epsilon / mu, 0.5 * mu);
    let ratio = if ratio > FARTHEST { FARTHEST } else { ratio };
    let (a, b) = (ratio - half, ratio + half);
    // Where b is large and a is not, the rounding of a alone is more than 2e-13.
    let error = 2e-13_f64.max(1e-15 * b) + 1e-15 * a.abs() * b;
    let value = if mu < 0.5 {
        let [integral] = panel_6(ratio, half, |x| [mills_slope(x)]);
        ln_normal_pdf(a) + integral.max(f64::MIN_POSITIVE).ln()
    } else if a < 0.0 {
        let lost = ln_normal_cdf(a).exp() + ln_normal_pdf(a).exp() * mills_ratio(b);
        (-lost).ln_1p()
    } else {
        // Far out the two may be the same number: no delta is zero.
        ln_normal_pdf(a) + (mills_ratio(a) - mills_ratio(b)).max(f64::MIN_POSITIVE).ln()
    };
    (value, error)
}

/// An upper bound.
pub(super) fn ln_gaussian(mu: f64, epsilon: f64) -> f64 {
    let (value, error) = ln_delta(mu, epsilon);
    value + error
}

/// [`Profile::Gaussian`].
pub(super) struct Gaussian {
    pub(super) sensitivity: L2Sensitivity,
    pub(super) sigma: NoiseScale,
}

impl Gaussian {
    fn mu(&self) -> f64 {
        self.sensitivity.get() / self.sigma.get()
    }
}

impl Kind for Gaussian {
    fn ln_delta(&self, epsilon: f64) -> f64 {
        ln_gaussian(self.mu(), epsilon)
    }

    fn check_limits(&self) -> Result<()> {
        ratio(SHIFT, self.mu())
    }

    fn compose(&self, runs: u64, all: &mut Merged) {
        all.gaussian(self.mu(), runs as f64);
    }

    fn given_by(&self, noise: &NoiseLaw, adjacency: Adjacency) -> Result<bool> {
        let Self { sensitivity, sigma } = *self;
        match noise {
            NoiseLaw::RoundedGaussian { sigma: stated, grid } => {
                scale("noise.sigma", *stated, sigma)?;
                on_grid(sensitivity.get(), *grid)?;
            }
            // Normalised to sensitivity one: each step's own sensitivity is its public matrix's.
            NoiseLaw::Several { laws } if sensitivity.get() == 1.0 && all_gaussian(laws) => {}
            NoiseLaw::SymmetricGaussian { sigma: stated, grid } => {
                scale("noise.sigma", *stated, sigma)?;
                on_grid(sensitivity.get(), *grid)?;
                let Some((bound, change)) = row_change(adjacency) else { return Ok(false) };
                let least = covariance_sensitivity(bound, change);
                at_least("sensitivity", sensitivity.get(), least)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The bound and the change of an adjacency about one row that comes, goes or is replaced.
fn row_change(adjacency: Adjacency) -> Option<(NormBound, RowChange)> {
    match adjacency {
        Adjacency::AddRemoveRow { bound } | Adjacency::ZeroRow { bound } => {
            Some((bound, RowChange::AddRemove))
        }
        Adjacency::ReplaceRow { bound } => Some((bound, RowChange::Replace)),
        _ => None,
    }
}

/// [`Profile::GaussianComposition`].
pub(super) struct Steps<'a>(pub(super) &'a [GaussianStep]);

/// Most Gaussian steps.
const STEPS: u64 = 1 << 12;

fn mu(step: &GaussianStep) -> f64 {
    step.sensitivity.get() / step.sigma.get()
}

impl Kind for Steps<'_> {
    fn ln_delta(&self, epsilon: f64) -> f64 {
        let square = |s: &GaussianStep| s.times as f64 * square_of(mu(s));
        ln_gaussian(added(self.0.iter().map(square).sum(), self.0.len()).sqrt(), epsilon)
    }

    fn check_limits(&self) -> Result<()> {
        count("steps", self.0.len() as u64, STEPS)?;
        self.0.iter().try_for_each(|s| {
            count("times", s.times, MANY)?;
            ratio(SHIFT, mu(s))
        })
    }

    fn compose(&self, runs: u64, all: &mut Merged) {
        for s in self.0.iter().filter(|s| s.times > 0) {
            all.gaussian(mu(s), runs as f64 * s.times as f64);
        }
    }

    fn given_by(&self, noise: &NoiseLaw, _: Adjacency) -> Result<bool> {
        let steps = self.0;
        match noise {
            NoiseLaw::RoundedGaussian { sigma: stated, grid } => {
                steps.iter().try_for_each(|s| {
                    scale("noise.sigma", *stated, s.sigma)?;
                    on_grid(s.sensitivity.get(), *grid)
                })?;
            }
            NoiseLaw::Several { laws } => {
                if steps.len() != laws.len() {
                    let text = "not one law for each step of the profile";
                    return Err(rejected("noise.laws", text));
                }
                for (step, law) in steps.iter().zip(laws) {
                    let (NoiseLaw::RoundedGaussian { sigma, grid }
                    | NoiseLaw::SymmetricGaussian { sigma, grid }) = law
                    else {
                        return Ok(false);
                    };
                    scale("noise.laws.sigma", *sigma, step.sigma)?;
                    on_grid(step.sensitivity.get(), *grid)?;
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The least sigma of the Gaussian mechanism (exact, Balle & Wang 2018).
///
/// # Errors
/// [`crate::Error::Calibration`] when delta is zero.
pub fn gaussian(budget: Budget, sensitivity: L2Sensitivity) -> Result<NoiseScale> {
    refuse_pure("gaussian", budget)?;
    let guess = sensitivity.get() / rough_mu(budget);
    least_scale_from("gaussian", budget, guess, |sigma| Profile::Gaussian { sensitivity, sigma })
}

/// The least sigma of `times` Gaussian steps of the same sensitivity (exact).
///
/// # Errors
/// [`crate::Error::Calibration`] when delta is zero, [`crate::Error::InvalidParameter`] when `times` is.
pub fn gaussian_steps(
    budget: Budget,
    sensitivity: L2Sensitivity,
    times: u64,
) -> Result<NoiseScale> {
    refuse_pure("gaussian steps", budget)?;
    positive("times", times)?;
    let guess = sensitivity.get() * (times as f64).sqrt() / rough_mu(budget);
    least_scale_from("gaussian steps", budget, guess, |sigma| Profile::GaussianComposition {
        steps: vec![GaussianStep { sensitivity, sigma, times }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Epsilon;
    use crate::profile::PrivacyProfile;

    /// Where a is near zero and mu is large, an error of 2e-13 was too small: ln delta was stated below the truth.
    #[test]
    fn ratios_of_thousands_are_not_below_the_truth() {
        for (mu, epsilon, truth) in [
            (8_706.153_888_739_438, 37_898_539.108_849_86, -0.691_530_171_225_280_1),
            (95_319.125_918_173_43, 4_542_867_873.962_631, -0.693_080_722_442_247),
        ] {
            let (value, error) = ln_delta(mu, epsilon);
            assert!(value + error >= truth && value - error <= truth, "{mu}: {value} {error}");
            assert!(value + 2e-13 + 1e-15 * (epsilon / mu - 0.5 * mu).abs() * mu < truth);
        }
    }

    /// However large epsilon is: its logarithm is a number.
    #[test]
    fn delta_is_never_zero() {
        for (mu, epsilon) in [
            (1e-130, 1e-30),
            (1e-100, 1.0),
            (1e-100, f64::MAX),
            (1e-30, 1e100),
            (0.499, 1e200),
            (0.5, 1e15),
            (1.0, 1e16),
            (1.0, 1e155),
            (3.0, f64::MAX),
            (1e6, 1e30),
            (1e6, f64::MAX),
            (6e13, f64::MAX),
        ] {
            let ln = ln_gaussian(mu, epsilon);
            assert!(ln.is_finite() && ln < -1e20, "{mu} {epsilon}: {ln}");
            // delta <= phi(a) M(a) <= e^(-a^2/2) from a = 1 on.
            let a = (epsilon / mu).min(FARTHEST) - 0.5 * mu;
            assert!(ln <= -0.499 * a * a && ln >= -0.501 * a * a, "{mu} {epsilon}: {ln}");
        }
    }

    /// A bound whose square underflows moves something all the same.
    #[test]
    fn squares_of_bounds_do_not_vanish() {
        let (bound, sigma) = (NormBound::new(1.5e-162).unwrap(), NoiseScale::new(5e-324).unwrap());
        for change in [RowChange::AddRemove, RowChange::Replace] {
            assert!(covariance_sensitivity(bound, change) >= f64::MIN_POSITIVE);
            let profile = Profile::SymmetricGaussian { bound, sigma, change };
            assert!(profile.check_limits().is_err());
            assert!(profile.log_delta(Epsilon::new(0.1).unwrap()).get() > -1.0);
        }
    }

    /// Of several laws nothing is known but that they are Gaussian: the profile is that of sensitivity one.
    #[test]
    fn several_laws_are_gaussian_and_of_sensitivity_one() {
        let (sigma, grid) = (NoiseScale::new(3.0).unwrap(), crate::noise::Grid::new(-20).unwrap());
        let normal = NoiseLaw::RoundedGaussian { sigma, grid };
        let others = [NoiseLaw::None, NoiseLaw::SymmetricGaussian { sigma, grid }];
        let given = |sensitivity: f64, laws: &[NoiseLaw]| {
            let sensitivity = L2Sensitivity::new(sensitivity).unwrap();
            let noise = NoiseLaw::Several { laws: laws.to_vec() };
            Gaussian { sensitivity, sigma }.given_by(&noise, Adjacency::AnyInput).unwrap()
        };
        assert!(given(1.0, &[normal.clone(), normal.clone()]));
        assert!(!given(2.0, core::slice::from_ref(&normal)));
        for other in others {
            assert!(!given(1.0, &[normal.clone(), other]));
        }
    }
}
