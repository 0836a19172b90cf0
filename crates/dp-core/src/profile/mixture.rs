//! A binomial number of differing coordinates. Proof: `docs/proofs/mixtures.md`.

use super::curve::{Curve, Near};
use super::gaussian::ln_gaussian;
use super::kind::{Kind, SHIFT, TRIALS, count, letters, ratio};
use super::kinds::{CoordinateProfile, Profile};
use super::laplace::ln_laplace;
use super::pld::{LEAST, LossLaw, Merged};
use super::response::{
    Bit, Letter, bit_given_by, compose_letters, compose_response, letter_given_by,
};
use super::rule::{on_grid, scale};
use super::solve::{largest_keep, positive};
use super::sum::{Likely, ln_mixture};
use crate::adjacency::Adjacency;
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::noise::NoiseLaw;
use crate::numeric::float::square_of;
use crate::quantity::Probability;

/// [`Profile::BinomialMixture`].
pub(super) struct Mixture {
    pub(super) trials: u64,
    pub(super) probability: Probability,
    pub(super) coordinate: CoordinateProfile,
}

/// A smaller probability counts as this one, which is above it: no product of it is subnormal.
const SMALLEST: f64 = 1e-290;

impl Mixture {
    fn probability(&self) -> f64 {
        let p = self.probability.get();
        if p > 0.0 { p.max(SMALLEST) } else { p }
    }
}

/// Of a delta, what is so much less in its logarithm may be left out.
const UNLIKELY: f64 = 30.0;

impl Kind for Mixture {
    fn ln_delta(&self, epsilon: f64) -> f64 {
        let (trials, p) = (self.trials, self.probability());
        match self.coordinate {
            CoordinateProfile::RandomizedResponse { keep } => {
                Bit::keeping(keep).ln_mixture(trials, p, epsilon)
            }
            CoordinateProfile::KaryResponse { alphabet, keep } => {
                Letter::keeping(alphabet, keep).map_or(0.0, |l| l.ln_mixture(trials, p, epsilon))
            }
            CoordinateProfile::Gaussian { shift, sigma } => {
                let mu = shift.get() / sigma.get();
                ln_mixture(trials, p, |m| ln_gaussian(mu * (m as f64).sqrt(), epsilon))
            }
            CoordinateProfile::Laplace { shift, scale } => {
                let mu = shift.get() / scale.get();
                ln_mixture(trials, p, |m| ln_laplace(mu * m as f64, epsilon))
            }
        }
    }

    /// Each epsilon takes a sum over all likely numbers, whose probabilities are the same.
    fn curve(&self, near: Near) -> Option<Curve> {
        let p = self.probability();
        if !near.many || self.trials == 0 || p == 0.0 {
            return None;
        }
        let ln_delta: Box<dyn Fn(u64, f64) -> f64> = match self.coordinate {
            CoordinateProfile::Gaussian { shift, sigma } => {
                let mu = shift.get() / sigma.get();
                Box::new(move |m, epsilon| ln_gaussian(mu * (m as f64).sqrt(), epsilon))
            }
            CoordinateProfile::Laplace { shift, scale } => {
                let mu = shift.get() / scale.get();
                Box::new(move |m, epsilon| ln_laplace(mu * m as f64, epsilon))
            }
            _ => return None,
        };
        // What is left out counts as lost.
        let least = near.delta.ln().get() - UNLIKELY;
        let likely = Likely::new(self.trials, p, least);
        let bound = move |epsilon| likely.ln_mixture(|m| ln_delta(m, epsilon));
        Some(Curve { near: 1.0, bound: Box::new(bound) })
    }

    fn check_limits(&self) -> Result<()> {
        count("trials", self.trials, TRIALS)?;
        if self.probability.get() == 0.0 {
            return Err(Error::invalid("probability", self.probability, "(0, 1]"));
        }
        match self.coordinate {
            CoordinateProfile::RandomizedResponse { .. } => Ok(()),
            CoordinateProfile::KaryResponse { alphabet, .. } => letters(alphabet),
            CoordinateProfile::Gaussian { shift, sigma } => ratio(SHIFT, shift.get() / sigma.get()),
            CoordinateProfile::Laplace { shift, scale } => ratio(SHIFT, shift.get() / scale.get()),
        }
    }

    fn compose(&self, runs: u64, all: &mut Merged) {
        let Self { trials, probability, coordinate } = *self;
        let p = probability.get();
        let n = u128::from(runs) * u128::from(trials);
        if p == 0.0 || trials == 0 {
            return;
        }
        match coordinate {
            CoordinateProfile::RandomizedResponse { keep } => {
                let Bit { high, low, loss } = Bit::keeping(keep);
                compose_response(all, p * high, p * low, loss, n);
            }
            CoordinateProfile::KaryResponse { alphabet, keep } => {
                compose_letters(all, alphabet, keep, p, n);
            }
            CoordinateProfile::Gaussian { shift, sigma } => {
                let mu = (shift.get() / sigma.get()).max(LEAST);
                all.law(LossLaw::SparseGaussian { p, mu }, n, square_of(mu));
            }
            CoordinateProfile::Laplace { .. } => {
                all.envelope(Profile::BinomialMixture { trials, probability, coordinate }, runs);
            }
        }
    }

    fn given_by(&self, noise: &NoiseLaw, _: Adjacency) -> Result<bool> {
        match (self.coordinate, noise) {
            (
                CoordinateProfile::Laplace { shift, scale: b },
                NoiseLaw::RoundedLaplace { scale: stated, grid },
            ) => {
                scale("noise.scale", *stated, b)?;
                on_grid(shift.get(), *grid)?;
                Ok(true)
            }
            (
                CoordinateProfile::Gaussian { shift, sigma },
                NoiseLaw::RoundedGaussian { sigma: stated, grid },
            ) => {
                scale("noise.sigma", *stated, sigma)?;
                on_grid(shift.get(), *grid)?;
                Ok(true)
            }
            (CoordinateProfile::RandomizedResponse { keep }, _) => bit_given_by(keep, noise),
            (CoordinateProfile::KaryResponse { alphabet, keep }, _) => {
                letter_given_by(alphabet, keep, noise)
            }
            _ => Ok(false),
        }
    }
}

fn check_mixture(trials: u64, probability: Probability) -> Result<()> {
    positive("trials", trials)?;
    if probability.get() > 0.0 {
        Ok(())
    } else {
        Err(Error::invalid("probability", probability, "(0, 1]"))
    }
}

/// The largest probability of keeping a bit when the number of differing bits is
/// `Bin(trials, probability)` over fresh public hash functions.
///
/// # Errors
/// [`Error::InvalidParameter`] when `trials` or `probability` is zero.
pub fn binomial_mixture_rr(
    budget: Budget,
    trials: u64,
    probability: Probability,
) -> Result<Probability> {
    check_mixture(trials, probability)?;
    largest_keep("binomial mixture of bits", budget, 2, |keep| Profile::BinomialMixture {
        trials,
        probability,
        coordinate: CoordinateProfile::RandomizedResponse { keep },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Delta;
    use crate::numeric::ln_sum_exp;
    use crate::quantity::{L1Sensitivity, L2Sensitivity, LaplaceScale, NoiseScale};

    fn mixture(trials: u64, probability: f64, coordinate: CoordinateProfile) -> Mixture {
        Mixture { trials, probability: Probability::new(probability).unwrap(), coordinate }
    }

    fn coordinates() -> [CoordinateProfile; 4] {
        let keep = Probability::new(0.75).unwrap();
        let shift = L1Sensitivity::new(1.0).unwrap();
        [
            CoordinateProfile::Gaussian {
                shift: L2Sensitivity::new(1.0).unwrap(),
                sigma: NoiseScale::new(3.0).unwrap(),
            },
            CoordinateProfile::Laplace { shift, scale: LaplaceScale::new(5.0).unwrap() },
            CoordinateProfile::RandomizedResponse { keep },
            CoordinateProfile::KaryResponse { alphabet: 5, keep },
        ]
    }

    /// Where no coordinate can differ nothing is lost.
    #[test]
    fn a_probability_of_zero_loses_nothing() {
        for coordinate in coordinates() {
            let ln = |p: f64| mixture(20, p, coordinate).ln_delta(0.5);
            assert_eq!(ln(0.0), f64::NEG_INFINITY, "{coordinate:?}");
            assert!(ln(1e-300).is_finite(), "{coordinate:?}");
        }
    }

    /// Of many profiles those whose every term is a formula are asked by the likely numbers: above the sum, by what is left
    /// out. Of few, and where nothing can differ, there is no curve.
    #[test]
    fn of_many_mixtures_the_likely_numbers_bound_the_sum() {
        let near = |many| Near { delta: Delta::new(1e-6).unwrap(), many };
        for coordinate in coordinates() {
            let this = mixture(40, 0.1, coordinate);
            assert!(this.curve(near(false)).is_none());
            assert!(mixture(0, 0.1, coordinate).curve(near(true)).is_none());
            assert!(mixture(40, 0.0, coordinate).curve(near(true)).is_none());
            let Some(curve) = this.curve(near(true)) else {
                let walks = matches!(
                    coordinate,
                    CoordinateProfile::RandomizedResponse { .. }
                        | CoordinateProfile::KaryResponse { .. }
                );
                assert!(walks, "{coordinate:?}");
                continue;
            };
            for epsilon in [0.1, 1.0, 3.0, 6.0] {
                let (exact, found) = (this.ln_delta(epsilon), curve.ln_delta(epsilon));
                let left = ln_sum_exp(exact, 1e-6f64.ln() - UNLIKELY + 2f64.ln()) + 1e-9;
                assert!((exact - 1e-11..=left).contains(&found), "{epsilon}: {found} {exact}");
            }
        }
    }
}
