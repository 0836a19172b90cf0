//! Integer noise on whole numbers. Proof: `docs/proofs/integer-noise.md`.

use super::kind::{Kind, SHIFT, count, ratio};
use super::kinds::{PrivacyProfile, Profile};
use super::pld::Merged;
use super::response::compose_response;
use super::rule::scale;
use super::solve::{least_scale_from, positive, refuse_pure, rough_mu, solver_failed};
use crate::adjacency::Adjacency;
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::noise::NoiseLaw;
use crate::numeric::{LN_SQRT_2PI, above, root};
use crate::quantity::{LaplaceScale, NoiseScale};

/// Most whole steps: sums of counts stay exact.
const STEPS: u64 = 1 << 51;
/// Smallest and largest sigma whose profile is summed up, and the scales that the samplers take at least.
const SIGMAS: (f64, f64) = (1.0 / 1024.0, 16384.0);
/// Losses up, epsilon down: what three roundings take.
const ROOM: f64 = 8.0 * f64::EPSILON;

/// [`Profile::DiscreteLaplace`].
pub(super) struct IntegerLaplace {
    pub(super) moves: u64,
    pub(super) scale: LaplaceScale,
}

impl IntegerLaplace {
    /// The loss of one step.
    fn step(&self) -> f64 {
        1.0 / self.scale.get()
    }
}

impl Kind for IntegerLaplace {
    /// `(1 - e^(eps - (D - t)/b) + a (1 - a^t)) / (1 + a)`, t the largest number of steps below `(D - eps b)/2`: no term is
    /// negative.
    fn ln_delta(&self, epsilon: f64) -> f64 {
        let (moves, step) = (self.moves as f64, self.step());
        let loss = step * (1.0 + ROOM);
        if epsilon >= moves * loss {
            return f64::NEG_INFINITY;
        }
        let steps = ((0.5 * (moves - epsilon / loss)).ceil() - 1.0).max(0.0);
        let a = (-step).exp();
        // Up: the last step that is counted was found to tell more than it costs at `loss`, not at a smaller one.
        let most = -(epsilon - ((moves - steps) * loss).next_up()).exp_m1();
        let less = a * -(-steps * step).exp_m1();
        above((most.max(0.0) + less).ln() - a.ln_1p())
    }

    fn check_limits(&self) -> Result<()> {
        count("moves", self.moves, STEPS)?;
        ratio(SHIFT, self.moves as f64 / self.scale.get())
    }

    fn compose(&self, runs: u64, all: &mut Merged) {
        if self.moves == 1 {
            // One randomised response.
            let a = (-self.step()).exp();
            return compose_response(all, 1.0 / (1.0 + a), a / (1.0 + a), self.step(), runs.into());
        }
        all.envelope(Profile::DiscreteLaplace { moves: self.moves, scale: self.scale }, runs);
    }

    fn given_by(&self, noise: &NoiseLaw, _: Adjacency) -> Result<bool> {
        let NoiseLaw::DiscreteLaplace { scale: stated } = noise else { return Ok(false) };
        scale("noise.scale", *stated, self.scale)?;
        Ok(true)
    }
}

/// [`Profile::DiscreteGaussian`].
pub(super) struct IntegerGaussian {
    pub(super) moves: u64,
    pub(super) sigma: NoiseScale,
}

/// ln of the sum of `exp(-x^2/(2 sigma^2))` over the integers.
fn ln_whole(sigma: f64) -> f64 {
    if sigma >= 1.0 {
        // Poisson's sum: the next term is e^-78.
        let wave = (-2.0 * (core::f64::consts::PI * sigma).powi(2)).exp();
        return sigma.ln() + LN_SQRT_2PI + (2.0 * wave).ln_1p();
    }
    let term = |k: i32| (-0.5 * (f64::from(k) / sigma).powi(2)).exp();
    (2.0 * (1..=12).map(term).sum::<f64>()).ln_1p()
}

impl IntegerGaussian {
    /// The sum over the x whose loss `D (2x + D)/(2 sigma^2)` is above epsilon of `Pr[x] (1 - e^(eps - loss))`.
    fn summed(&self, epsilon: f64) -> f64 {
        let (moves, sigma) = (self.moves as f64, self.sigma.get());
        let (square, epsilon) = (sigma * sigma, epsilon * (1.0 - ROOM));
        let excess = |x: f64| {
            let loss = moves * (2.0 * x + moves) / (2.0 * square);
            loss * (1.0 + ROOM) - epsilon
        };
        let from = epsilon * square / moves - 0.5 * moves;
        if from > 1e15 {
            // Pr[X > x] is at most exp(-x^2/(2 sigma^2)).
            return (-0.5 * (from / sigma).powi(2) * (1.0 - 1e-12)).max(f64::MIN);
        }
        let mut start = from.floor() - 1.0;
        while excess(start) <= 0.0 {
            start += 1.0;
        }
        // In units of the probability of the first.
        let mut sum = 0.0;
        let far = -(12.0 * sigma).ceil() - 2.0;
        if start < far {
            start = far;
            sum = 1.0 + sigma;
        }
        let mut terms = 0.0;
        loop {
            let x = start + terms;
            let share = (-terms * (2.0 * start + terms) / (2.0 * square)).exp();
            sum += share * -(-excess(x)).exp_m1();
            terms += 1.0;
            if x > 0.0 && share < 1e-22 * sum {
                // All others together: each falls by more than the one before.
                sum += share / -(-(2.0 * x + 1.0) / (2.0 * square)).exp_m1();
                break;
            }
        }
        let ln = sum.ln() - 0.5 * (start / sigma).powi(2) - ln_whole(sigma);
        ln + 1e-12 + terms * f64::EPSILON + 2e-15 * ln.abs()
    }
}

impl Kind for IntegerGaussian {
    fn ln_delta(&self, epsilon: f64) -> f64 {
        if self.check_limits().is_err() {
            return 0.0;
        }
        self.summed(epsilon)
    }

    fn check_limits(&self) -> Result<()> {
        count("moves", self.moves, STEPS)?;
        let sigma = self.sigma.get();
        if !(SIGMAS.0..=SIGMAS.1).contains(&sigma) {
            let allowed = "[2^-10, 2^14]: Gaussian noise on a grid takes more";
            return Err(Error::invalid("sigma of integer noise", sigma, allowed));
        }
        ratio(SHIFT, self.moves as f64 / sigma)
    }

    fn compose(&self, runs: u64, all: &mut Merged) {
        all.envelope(Profile::DiscreteGaussian { moves: self.moves, sigma: self.sigma }, runs);
    }

    fn given_by(&self, noise: &NoiseLaw, _: Adjacency) -> Result<bool> {
        let NoiseLaw::DiscreteGaussian { sigma } = noise else { return Ok(false) };
        scale("noise.sigma", *sigma, self.sigma)?;
        Ok(true)
    }
}

/// The least scale of integer Laplace noise on whole numbers that one change moves by `moves` in all (l1).
///
/// # Errors
/// [`Error::InvalidParameter`] when `moves` is zero or the scale leaves the range of `f64`.
pub fn discrete_laplace(budget: Budget, moves: u64) -> Result<LaplaceScale> {
    const FAMILY: &str = "discrete Laplace";
    positive("moves", moves)?;
    let first = moves as f64 / budget.epsilon.get();
    let family = |scale| Profile::DiscreteLaplace { moves, scale };
    let mut scale = match budget.delta.get() {
        0.0 => first,
        _ => root::least(FAMILY, budget, first, |s| {
            LaplaceScale::new(s).map_or(0.0, |s| family(s).log_delta(budget.epsilon).get())
        })?,
    }
    .max(SIGMAS.0);
    for _ in 0..60 {
        let candidate = LaplaceScale::new(scale)?;
        if family(candidate).log_delta(budget.epsilon) <= budget.delta.ln() {
            return Ok(candidate);
        }
        scale *= 1.0 + 1e-14;
    }
    solver_failed(FAMILY, budget)
}

/// The least sigma of integer Gaussian noise on **one** whole number that one change moves by `moves`: exact.
///
/// # Errors
/// [`Error::Calibration`] for delta zero, and for more noise than 2^14: Gaussian noise on a grid takes that.
/// [`Error::InvalidParameter`] when `moves` is zero.
pub fn discrete_gaussian(budget: Budget, moves: u64) -> Result<NoiseScale> {
    const FAMILY: &str = "discrete Gaussian";
    positive("moves", moves)?;
    refuse_pure(FAMILY, budget)?;
    let family = |sigma| Profile::DiscreteGaussian { moves, sigma };
    let guess = (moves as f64 / rough_mu(budget)).max(SIGMAS.0);
    let beyond = |_| Error::Calibration {
        family: FAMILY,
        budget,
        reason: "sigma would be above 2^14: Gaussian noise on a grid takes that".into(),
    };
    let meets = |sigma| family(sigma).log_delta(budget.epsilon) <= budget.delta.ln();
    let [least, most] = [NoiseScale::new(SIGMAS.0)?, NoiseScale::new(SIGMAS.1)?];
    if meets(least) {
        return Ok(least);
    }
    // A search from so far beyond would not come back; where the guess is within it is cheaper than the sum at the most.
    if guess > SIGMAS.1 && !meets(most) {
        return Err(beyond(()));
    }
    least_scale_from(FAMILY, budget, guess.min(SIGMAS.1), family).map_err(|_| beyond(()))
}

/// The rho of integer Gaussian noise on whole numbers that one change moves by the root of `square` in l2, rounded up.
pub(crate) fn concentrated_rho(square: f64, sigma: NoiseScale) -> f64 {
    0.5 * square / (sigma.get() * sigma.get()) * (1.0 + ROOM)
}

/// The least sigma of [`concentrated_rho`] for a budget.
pub(crate) fn concentrated_sigma(budget: Budget, square: f64) -> Result<NoiseScale> {
    const FAMILY: &str = "discrete Gaussian on several numbers";
    refuse_pure(FAMILY, budget)?;
    let guess = (square.sqrt() / rough_mu(budget)).max(SIGMAS.0);
    let family = |sigma| Profile::Zcdp { rho: concentrated_rho(square, sigma) };
    let sigma = least_scale_from(FAMILY, budget, guess, family)?;
    NoiseScale::new(sigma.get().max(SIGMAS.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loss that rounding puts on epsilon, though it is above it: the sum over all losses by another language, at 60 digits.
    #[test]
    fn losses_that_are_rounded_count_from_above() {
        let law = IntegerGaussian { moves: 2508, sigma: NoiseScale::new(1.3).unwrap() };
        let found = law.ln_delta(2_009_368.047_337_277_8);
        let truth = -2_982.217_006_332_165_4;
        assert!(found >= truth && found < truth + 5.0, "{found}");
    }

    /// As much noise as there may be is not refused, however far from it the search begins.
    #[test]
    fn the_most_noise_is_not_refused() {
        let budget = Budget::new(6.262_048_598_969_584e-5, 6.459_397_385_416_565e-6).unwrap();
        let sigma = discrete_gaussian(budget, 1).unwrap();
        assert!(sigma.get() > 14_000.0 && sigma.get() <= SIGMAS.1, "{}", sigma.get());
        let meets = |sigma: f64| {
            let law = IntegerGaussian { moves: 1, sigma: NoiseScale::new(sigma).unwrap() };
            law.ln_delta(budget.epsilon.get()) <= budget.delta.ln().get()
        };
        assert!(meets(sigma.get()) && !meets(sigma.get() * (1.0 - 1e-6)));
        for moves in [2, 1 << 20, 1 << 50] {
            let refused = discrete_gaussian(budget, moves).unwrap_err();
            assert!(refused.to_string().contains("above 2^14"), "{refused}");
        }
    }

    /// Far out the tail is that of the density.
    #[test]
    fn far_out_the_tail_is_gaussian() {
        let law = IntegerGaussian { moves: 1, sigma: NoiseScale::new(16_384.0).unwrap() };
        for epsilon in [1e8, 3e9] {
            let truth = -0.5 * (epsilon * 16_384.0f64).powi(2);
            let found = law.ln_delta(epsilon) / truth;
            assert!((1.0 - 1e-9..=1.0).contains(&found), "{epsilon}: {found}");
        }
    }
}
