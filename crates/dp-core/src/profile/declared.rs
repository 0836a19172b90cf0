//! Guarantees of other people's mechanisms, of which no more is known than what they state. Proof:
//! `docs/proofs/composition-pld.md`, section 2.3 (a profile known from above).

use super::kind::{Kind, count, ratio};
use super::kinds::{LossWay, Profile};
use super::pld::Merged;
use super::rule::at_least;
use crate::adjacency::Adjacency;
use crate::budget::{Delta, Epsilon};
use crate::error::{Error, Result};
use crate::noise::NoiseLaw;
use crate::numeric::{above, ln_one_minus_exp, ln_sum_exp};

/// [`Profile::ApproximateDp`].
pub(super) struct Approximate {
    pub(super) epsilon: Epsilon,
    pub(super) delta: Delta,
}

impl Kind for Approximate {
    /// The worst that is (epsilon, delta): with probability delta everything is lost, else one
    /// randomised response (Kairouz, Oh, Viswanath 2015).
    fn ln_delta(&self, epsilon: f64) -> f64 {
        let (pure, delta) = (self.epsilon.get(), self.delta.get());
        if epsilon >= pure {
            return delta.ln();
        }
        let response = ln_one_minus_exp(epsilon - pure) - (-pure).exp().ln_1p();
        above(ln_sum_exp(delta.ln(), (-delta).ln_1p() + response))
    }

    fn check_limits(&self) -> Result<()> {
        ratio("epsilon", self.epsilon.get())
    }

    fn compose(&self, runs: u64, all: &mut Merged) {
        let Self { epsilon, delta } = *self;
        all.envelope(Profile::ApproximateDp { epsilon, delta }, runs);
    }

    fn given_by(&self, _: &NoiseLaw, _: Adjacency) -> Result<bool> {
        Ok(false)
    }
}

/// [`Profile::Zcdp`].
pub(super) struct Concentrated {
    pub(super) rho: f64,
}

impl Kind for Concentrated {
    /// `s ((1 + s) rho - eps) + s ln s - (1 + s) ln(1 + s)` for the order `1 + s` (Canonne, Kamath, Steinke
    /// 2020, proposition 12): every order is a bound; the best is searched.
    fn ln_delta(&self, epsilon: f64) -> f64 {
        let rho = self.rho * (1.0 + 1e-12);
        let at = |ln_s: f64| {
            let s = ln_s.exp();
            // ln(s/(1+s)) s - ln(1+s), nothing of which cancels.
            s * ((1.0 + s) * rho - epsilon) - s * (1.0 / s).ln_1p() - s.ln_1p()
        };
        // Near (eps - rho) / (2 rho); the slope is monotone in s.
        let (mut low, mut high) = (-40.0_f64, 250.0_f64);
        for _ in 0..120 {
            let (a, b) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
            if at(a) < at(b) { high = b } else { low = a }
        }
        at(0.5 * (low + high)).min(0.0) + 1e-12
    }

    fn check_limits(&self) -> Result<()> {
        ratio("rho", self.rho)
    }

    fn compose(&self, runs: u64, all: &mut Merged) {
        all.concentrated(self.rho, runs as f64);
    }

    /// Of integer Gaussian noise: `integer-noise.md`, theorem 3. A whole number moves by one at least.
    fn given_by(&self, noise: &NoiseLaw, _: Adjacency) -> Result<bool> {
        let NoiseLaw::DiscreteGaussian { sigma } = noise else { return Ok(false) };
        at_least("guarantee.profile.rho", self.rho, 0.5 / sigma.get().powi(2))?;
        Ok(true)
    }
}

/// [`Profile::LossDistribution`].
pub(super) struct Losses<'a> {
    pub(super) step: f64,
    pub(super) ways: &'a [LossWay],
}

/// Most cells of a way: a certificate or a ledger's line stays below a megabyte.
pub(crate) const CELLS: u64 = 1 << 14;
/// Largest loss.
const LARGEST: f64 = 1e4;

impl LossWay {
    /// What is lost altogether: the infinite loss, and whatever is missing of a whole but for the
    /// rounding of the masses and of their sum.
    fn lost(&self) -> f64 {
        let rounding = self.masses.len() as f64 * f64::EPSILON;
        self.infinite.max(1.0 - self.masses.iter().sum::<f64>() - rounding)
    }

    fn ln_delta(&self, step: f64, epsilon: f64) -> f64 {
        let excess = |(i, &p): (usize, &f64)| {
            let loss = (self.first as f64 + i as f64) * step * (1.0 + 1e-15);
            if loss > epsilon { p * -(epsilon - loss).exp_m1() } else { 0.0 }
        };
        let sum: f64 = self.masses.iter().enumerate().map(excess).sum();
        (self.lost() + sum).ln() + 1e-11
    }

    fn check(&self, step: f64) -> Result<()> {
        let refused = |value: f64, allowed: &str| Err(Error::invalid("losses", value, allowed));
        count("cells", self.masses.len() as u64, CELLS)?;
        let last = self.first as f64 + self.masses.len() as f64;
        let most = (self.first as f64).abs().max(last.abs()) * step;
        if most > LARGEST {
            return refused(most, "at most 1e4");
        }
        if let Some(bad) = self.masses.iter().find(|p| !(0.0..=1.0).contains(*p)) {
            return refused(*bad, "probabilities");
        }
        if !(0.0..=1.0).contains(&self.infinite) {
            return refused(self.infinite, "a probability of an infinite loss");
        }
        let total = self.infinite + self.masses.iter().sum::<f64>();
        if total > 1.0 + 1e-6 {
            return refused(total, "probabilities that add up to one at most");
        }
        Ok(())
    }

    /// Refuses losses that no two laws have, as of a sign that somebody forgot. What is lost by one law is what the other has less:
    /// `p e^-loss` are its probabilities, but for what was rounded up.
    pub(crate) fn check_likely(&self, step: f64) -> Result<()> {
        let loss = |i: usize| (self.first as f64 + i as f64) * step;
        let likely = self.masses.iter().enumerate().filter(|(_, p)| **p > 0.0);
        let other: f64 = likely.map(|(i, p)| p * (-loss(i)).exp()).sum();
        if other > 1.0 + 1e-6 {
            let allowed = "losses of two laws: masses times e^-loss add up to one at most";
            return Err(Error::invalid("losses", other, allowed));
        }
        Ok(())
    }
}

impl Kind for Losses<'_> {
    fn ln_delta(&self, epsilon: f64) -> f64 {
        let each = self.ways.iter().map(|way| way.ln_delta(self.step, epsilon));
        each.fold(f64::NEG_INFINITY, f64::max).min(0.0)
    }

    fn check_limits(&self) -> Result<()> {
        if !(1e-6..=10.0).contains(&self.step) {
            return Err(Error::invalid("step of the losses", self.step, "[1e-6, 10]"));
        }
        count("ways of a change", self.ways.len() as u64, 2)?;
        self.ways.iter().try_for_each(|way| way.check(self.step))
    }

    fn compose(&self, runs: u64, all: &mut Merged) {
        let (step, ways) = (self.step, self.ways.to_vec());
        all.envelope(Profile::LossDistribution { step, ways }, runs);
    }

    fn given_by(&self, _: &NoiseLaw, _: Adjacency) -> Result<bool> {
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against `exp(eps/2)` of the closed forms: (1, 1e-5) loses 1e-5 at 1 and (e - 1)/(e + 1) at 0; a Gaussian
    /// of mu is mu^2/2-concentrated, and the bound is never below its profile and near it.
    #[test]
    fn stated_guarantees_are_their_own_profiles() {
        let at = |profile: &Profile, e: f64| profile.ln_delta(e).exp();
        let pair = Profile::ApproximateDp {
            epsilon: Epsilon::new(1.0).unwrap(),
            delta: Delta::new(1e-5).unwrap(),
        };
        assert!((at(&pair, 1.0) / 1e-5 - 1.0).abs() < 1e-9);
        assert!((at(&pair, 0.0) - (0.5f64.tanh() * (1.0 - 1e-5) + 1e-5)).abs() < 1e-12);
        for mu in [0.01, 0.3, 2.0] {
            let zcdp = Profile::Zcdp { rho: 0.5 * mu * mu };
            for e in [0.2, 1.0, 3.0, 8.0] {
                let (bound, exact) =
                    (zcdp.ln_delta(mu * e), super::super::gaussian::ln_delta(mu, mu * e).0);
                assert!(bound >= exact && bound <= exact + 6.0, "{mu} {e}: {bound} {exact}");
            }
        }
        let losses = |infinite: f64, masses: &[f64]| Profile::LossDistribution {
            step: 0.5,
            ways: vec![LossWay { first: -1, masses: masses.to_vec(), infinite }],
        };
        // Losses -0.5, 0, 0.5, 1.
        let table = losses(0.01, &[0.29, 0.2, 0.3, 0.2]);
        table.check_limits().unwrap();
        let exact = 0.01 + 0.2 * (1.0 - (-0.25f64).exp());
        assert!((at(&table, 0.75) / exact - 1.0).abs() < 1e-9);
        // What is missing is lost.
        assert!(at(&losses(0.0, &[0.5, 0.2]), 5.0) > 0.299);
        assert!(at(&losses(0.0, &[0.5, 0.5 - 1e-12]), 5.0) > 0.99e-12);
        for bad in [losses(0.5, &[0.6]), losses(0.0, &[-0.1]), losses(2.0, &[]), losses(0.0, &[])] {
            assert!(bad.check_limits().is_err(), "{bad:?}");
        }
    }
}
