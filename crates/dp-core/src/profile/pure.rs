//! Pure differential privacy, the worst case of its epsilon. Proof: `docs/proofs/randomized-response.md`.

use super::kind::{Kind, ratio};
use super::pld::Merged;
use super::rule::at_least;
use crate::adjacency::Adjacency;
use crate::budget::Epsilon;
use crate::error::{Result, rejected};
use crate::noise::{NoiseLaw, cap_epsilon};
use crate::numeric::{above, ln_one_minus_exp};

/// ln of the pure mechanism's `(e^pure - e^eps) / (1 + e^pure)`.
fn ln_pure(pure: f64, epsilon: f64) -> f64 {
    if epsilon >= pure {
        f64::NEG_INFINITY
    } else {
        above(ln_one_minus_exp(epsilon - pure) - (-pure).exp().ln_1p())
    }
}

/// [`super::Profile::PureDp`].
pub(super) struct Pure {
    pub(super) epsilon: Epsilon,
}

impl Kind for Pure {
    fn ln_delta(&self, epsilon: f64) -> f64 {
        ln_pure(self.epsilon.get(), epsilon)
    }

    fn check_limits(&self) -> Result<()> {
        ratio("pure epsilon", self.epsilon.get())
    }

    fn compose(&self, runs: u64, all: &mut Merged) {
        let epsilon = self.epsilon.get();
        all.only_from_above();
        all.bits(1.0 / (1.0 + epsilon.exp()), epsilon, runs.into());
    }

    fn given_by(&self, noise: &NoiseLaw, adjacency: Adjacency) -> Result<bool> {
        let least = match noise {
            NoiseLaw::SmoothBitFlip { epsilon: bit, .. } => bit.get(),
            NoiseLaw::BitFlip { keep } => (keep.get() / (1.0 - keep.get())).ln().abs(),
            NoiseLaw::KaryResponse { alphabet, keep } => {
                let other = (1.0 - keep.get()) / alphabet.saturating_sub(1).max(1) as f64;
                (keep.get() / other).ln().abs()
            }
            // A whole number moves by one at least. Its Laplace profile would not do: one step of
            // integer noise is one randomised response, the worst that is pure.
            NoiseLaw::DiscreteLaplace { scale } => 1.0 / scale.get(),
            NoiseLaw::UnitCap { threshold, inside, .. } => {
                let one = cap_epsilon(*threshold, *inside);
                // Every row of a user has a vector of its own.
                one.map_err(|e| rejected("noise", e.to_string()))? * adjacency.rows() as f64
            }
            _ => return Ok(false),
        };
        at_least("guarantee.profile.epsilon", self.epsilon.get(), least)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::{LaplaceScale, Probability};

    /// Each noise has an epsilon in closed form, below which the profile is refused.
    #[test]
    fn the_epsilon_is_at_least_that_of_the_noise() {
        let keep = |p: f64| Probability::new(p).unwrap();
        let epsilon = Epsilon::new(0.5).unwrap();
        for (noise, least) in [
            (NoiseLaw::BitFlip { keep: keep(0.75) }, 3f64.ln()),
            (NoiseLaw::BitFlip { keep: keep(0.25) }, 3f64.ln()),
            (NoiseLaw::KaryResponse { alphabet: 5, keep: keep(0.5) }, 4f64.ln()),
            (NoiseLaw::SmoothBitFlip { epsilon, rule: String::new() }, 0.5),
            (NoiseLaw::DiscreteLaplace { scale: LaplaceScale::new(4.0).unwrap() }, 0.25),
        ] {
            let given = |epsilon: f64| {
                let epsilon = Epsilon::new(epsilon).unwrap();
                Pure { epsilon }.given_by(&noise, Adjacency::AnyInput)
            };
            assert!(given(least).unwrap() && given(2.0 * least).unwrap(), "{noise:?}");
            assert!(given(least * (1.0 - 1e-9)).is_err(), "{noise:?}");
        }
    }
}
