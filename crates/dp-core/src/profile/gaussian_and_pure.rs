//! A Gaussian step, and one of pure differential privacy that may depend on it. Proof: `docs/proofs/signed-groups.md`.

use super::gaussian::ln_gaussian;
use super::kind::{Kind, SHIFT, ratio};
use super::kinds::Profile;
use super::pld::Merged;
use super::rule::{at_least, on_grid, scale};
use super::solve::{least_scale_from, refuse_pure, rough_mu};
use crate::adjacency::Adjacency;
use crate::budget::{Budget, Epsilon};
use crate::error::{Error, Result};
use crate::noise::NoiseLaw;
use crate::numeric::{above, ln_one_minus_exp, ln_sum_exp};
use crate::quantity::{L2Sensitivity, NoiseScale};

/// An upper bound on ln of the Gaussian's delta at an epsilon of either sign: `delta(-x) = 1 - e^-x + e^-x delta(x)`.
fn ln_signed(mu: f64, epsilon: f64) -> f64 {
    if epsilon >= 0.0 {
        return ln_gaussian(mu, epsilon);
    }
    above(ln_sum_exp(ln_one_minus_exp(epsilon), epsilon + ln_gaussian(mu, -epsilon)))
}

/// [`Profile::GaussianAndPure`].
pub(super) struct GaussianAndPure {
    pub(super) sensitivity: L2Sensitivity,
    pub(super) sigma: NoiseScale,
    pub(super) epsilon: Epsilon,
}

impl GaussianAndPure {
    fn mu(&self) -> f64 {
        self.sensitivity.get() / self.sigma.get()
    }
}

impl Kind for GaussianAndPure {
    /// One randomised response is the worst that is pure: its loss is `e` with probability `1/(1 + e^-e)`, else `-e`.
    fn ln_delta(&self, epsilon: f64) -> f64 {
        let (mu, pure) = (self.mu(), self.epsilon.get());
        let told = ln_signed(mu, epsilon - pure) - (-pure).exp().ln_1p();
        let not = ln_signed(mu, epsilon + pure) - pure - (-pure).exp().ln_1p();
        above(ln_sum_exp(told, not))
    }

    fn check_limits(&self) -> Result<()> {
        ratio(SHIFT, self.mu())?;
        ratio("pure epsilon", self.epsilon.get())
    }

    fn compose(&self, runs: u64, all: &mut Merged) {
        let epsilon = self.epsilon.get();
        all.gaussian(self.mu(), runs as f64);
        all.only_from_above();
        all.bits(1.0 / (1.0 + epsilon.exp()), epsilon, runs.into());
    }

    fn given_by(&self, noise: &NoiseLaw, _: Adjacency) -> Result<bool> {
        let NoiseLaw::Several { laws } = noise else { return Ok(false) };
        let [NoiseLaw::SymmetricGaussian { sigma, grid }, NoiseLaw::Staircase { epsilon, .. }] =
            &laws[..]
        else {
            return Ok(false);
        };
        scale("noise.laws.sigma", *sigma, self.sigma)?;
        on_grid(self.sensitivity.get(), *grid)?;
        at_least("guarantee.profile.epsilon", self.epsilon.get(), epsilon.get())?;
        Ok(true)
    }
}

/// The least sigma of a Gaussian step beside a step of this pure epsilon, within one budget (exact for the worst
/// step that is pure).
///
/// # Errors
/// [`Error::Calibration`] when delta is zero; [`Error::InvalidParameter`] unless the pure epsilon is below the budget's.
pub fn gaussian_and_pure(
    budget: Budget,
    sensitivity: L2Sensitivity,
    epsilon: Epsilon,
) -> Result<NoiseScale> {
    const NAME: &str = "gaussian and pure";
    refuse_pure(NAME, budget)?;
    let left = budget.epsilon.get() - epsilon.get();
    if left.is_nan() || left <= 0.0 {
        let allowed = format!("(0, {}): the budget's is for both steps", budget.epsilon);
        return Err(Error::invalid("pure epsilon", epsilon, allowed));
    }
    let rest = Budget { epsilon: Epsilon::new(left)?, delta: budget.delta };
    let guess = sensitivity.get() / rough_mu(rest);
    let family = |sigma| Profile::GaussianAndPure { sensitivity, sigma, epsilon };
    least_scale_from(NAME, budget, guess, family)
}

#[cfg(test)]
mod tests {
    use super::super::{PrivacyProfile, pld::Pld};
    use super::*;
    use crate::accounting::Event;

    fn profile(mu: f64, epsilon: f64) -> Profile {
        Profile::GaussianAndPure {
            sensitivity: L2Sensitivity::new(mu).unwrap(),
            sigma: NoiseScale::new(1.0).unwrap(),
            epsilon: Epsilon::new(epsilon).unwrap(),
        }
    }

    fn at(profile: &Profile, epsilon: f64) -> f64 {
        profile.log_delta(Epsilon::new(epsilon).unwrap()).delta()
    }

    /// By a sum over outputs: the response tells or does not, and a fine grid of the Gaussian's outputs.
    #[test]
    fn delta_is_that_of_the_pair_of_outputs() {
        for (mu, pure) in [(0.2, 0.75), (1.0, 0.5), (3.0, 2.0), (0.05, 0.01)] {
            let p = profile(mu, pure);
            for epsilon in [1e-9, 0.3, pure, 1.0, 1.5 * pure + 0.1] {
                let (steps, mut sum) = (200_000, 0.0);
                for i in 0..steps {
                    let x = -12.0 + 24.0 * (f64::from(i) + 0.5) / f64::from(steps);
                    let density = |m: f64| (-0.5 * (x - m) * (x - m)).exp();
                    let norm = 24.0 / f64::from(steps) / (2.0 * core::f64::consts::PI).sqrt();
                    let (a, b) = (pure.exp() / (1.0 + pure.exp()), 1.0 / (1.0 + pure.exp()));
                    for (here, there) in [(a, b), (b, a)] {
                        let more = here * density(mu) - epsilon.exp() * there * density(0.0);
                        sum += norm * more.max(0.0);
                    }
                }
                let found = at(&p, epsilon);
                // Beyond twelve deviations the grid has nothing.
                let off = (found - sum).abs();
                assert!(off < 1e-6 * sum + 1e-30, "{mu} {pure} {epsilon}: {found} {sum}");
            }
        }
    }

    /// Below basic composition, above either step, and what the numerical composition of the two says.
    #[test]
    fn it_is_the_composition_of_its_steps() {
        let (mu, pure) = (0.25, 0.75);
        let both = profile(mu, pure);
        let gaussian = Profile::Gaussian {
            sensitivity: L2Sensitivity::new(mu).unwrap(),
            sigma: NoiseScale::new(1.0).unwrap(),
        };
        let alone = Profile::PureDp { epsilon: Epsilon::new(pure).unwrap() };
        for epsilon in [0.2, 0.8, 1.2] {
            let found = at(&both, epsilon);
            assert!(found > at(&gaussian, epsilon) && found > at(&alone, epsilon));
            if epsilon > pure {
                assert!(found < at(&gaussian, epsilon - pure));
            }
            let steps = [gaussian.clone(), alone.clone()].map(|p| Event::new(p, 1).unwrap());
            for events in [&steps[..], &[Event::new(both.clone(), 1).unwrap()]] {
                let upper = Pld::new(events).log_delta(Epsilon::new(epsilon).unwrap()).upper;
                assert!(upper.delta() >= found * (1.0 - 1e-9), "{epsilon}: {upper:?} {found}");
                assert!(upper.delta() <= found * 1.01, "{epsilon}: {upper:?} {found}");
            }
        }
    }

    #[test]
    fn the_least_sigma_meets_the_budget() {
        for (epsilon, delta, pure) in [(1.0, 1e-6, 0.75), (0.5, 1e-9, 0.25), (8.0, 1e-5, 6.0)] {
            let budget = Budget::new(epsilon, delta).unwrap();
            let (one, pure) = (L2Sensitivity::new(1.0).unwrap(), Epsilon::new(pure).unwrap());
            let sigma = gaussian_and_pure(budget, one, pure).unwrap();
            let of = |sigma: f64| Profile::GaussianAndPure {
                sensitivity: one,
                sigma: NoiseScale::new(sigma).unwrap(),
                epsilon: pure,
            };
            assert!(of(sigma.get()).log_delta(budget.epsilon) <= budget.delta.ln());
            assert!(of(sigma.get() * (1.0 - 1e-8)).log_delta(budget.epsilon) > budget.delta.ln());
        }
        let one = L2Sensitivity::new(1.0).unwrap();
        for (epsilon, delta, pure) in [(1.0, 0.0, 0.5), (1.0, 1e-6, 1.0), (1.0, 1e-6, 2.0)] {
            let budget = Budget::new(epsilon, delta).unwrap();
            assert!(gaussian_and_pure(budget, one, Epsilon::new(pure).unwrap()).is_err());
        }
    }

    /// Both laws are held against the profile: the Gaussian's sigma, and an epsilon of the staircase that is not larger.
    #[test]
    fn a_symmetric_gaussian_and_a_staircase_give_it() {
        let grid = crate::noise::Grid::new(-20).unwrap();
        let given = |sigma: f64, epsilon: f64| {
            let sigma = NoiseScale::new(sigma).unwrap();
            let epsilon = Epsilon::new(epsilon).unwrap();
            let stairs = NoiseLaw::Staircase { epsilon, width: 8, inner: 3, grid };
            let laws = vec![NoiseLaw::SymmetricGaussian { sigma, grid }, stairs];
            let this = GaussianAndPure {
                sensitivity: L2Sensitivity::new(0.5).unwrap(),
                sigma: NoiseScale::new(2.0).unwrap(),
                epsilon: Epsilon::new(0.7).unwrap(),
            };
            this.given_by(&NoiseLaw::Several { laws }, Adjacency::AnyInput)
        };
        assert!(given(2.0, 0.7).unwrap() && given(2.0, 0.3).unwrap());
        assert!(given(1.9, 0.7).is_err() && given(2.0, 0.71).is_err());
    }
}
