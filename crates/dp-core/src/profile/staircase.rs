//! The staircase mechanism. Proof: `docs/proofs/staircase.md`.

use super::kind::Kind;
use super::pld::Merged;
use super::response::compose_response;
use super::rule::{close, whole};
use crate::adjacency::Adjacency;
use crate::budget::{Budget, Epsilon};
use crate::error::{Error, Result};
use crate::noise::{Grid, NoiseLaw, Shape, check_epsilon, steps};
use crate::numeric::{above, ln_one_minus_exp};
use crate::quantity::L1Sensitivity;

/// [`super::Profile::Staircase`].
pub(super) struct Staircase {
    pub(super) sensitivity: L1Sensitivity,
    pub(super) epsilon: Epsilon,
    pub(super) inner: u64,
    pub(super) grid: Grid,
}

impl Staircase {
    fn shape(&self) -> Result<Shape> {
        Shape::new(self.epsilon, steps(self.sensitivity, self.grid)?, self.inner)
    }
}

impl Kind for Staircase {
    fn ln_delta(&self, epsilon: f64) -> f64 {
        let Ok(shape) = self.shape() else { return 0.0 };
        let most = self.epsilon.get();
        if epsilon >= most {
            return f64::NEG_INFINITY;
        }
        above(shape.telling().ln() + ln_one_minus_exp(epsilon - most))
    }

    fn check_limits(&self) -> Result<()> {
        self.shape().map(drop)
    }

    /// The loss is epsilon, minus epsilon or nothing: a response.
    fn compose(&self, runs: u64, all: &mut Merged) {
        let Ok(shape) = self.shape() else { return all.unknown() };
        let (high, loss) = (shape.telling(), self.epsilon.get());
        compose_response(all, high, high * (-loss).exp(), loss, runs.into());
    }

    fn given_by(&self, noise: &NoiseLaw, _: Adjacency) -> Result<bool> {
        let NoiseLaw::Staircase { epsilon, width, inner, grid } = noise else { return Ok(false) };
        let shape = self.shape()?;
        close("noise.epsilon", epsilon.get(), shape.epsilon.get(), 0.0)?;
        whole("noise.width", *width, shape.width)?;
        whole("noise.inner", *inner, shape.inner)?;
        close("noise.grid", grid.spacing(), self.grid.spacing(), 0.0)?;
        Ok(true)
    }
}

/// The largest epsilon of staircase noise for a budget, whatever the sensitivity: the budget's for delta
/// zero, else `epsilon - ln(1 - delta)` (a little less than delta allows: the noise tells with a probability
/// below one).
///
/// # Errors
/// [`Error::Calibration`] unless it is in `[1/32, 20]`.
pub fn staircase(budget: Budget) -> Result<Epsilon> {
    let more = -(-budget.delta.get()).ln_1p() * (1.0 - 1e-12);
    let epsilon = Epsilon::new(budget.epsilon.get() + more)?;
    check_epsilon(epsilon).map_err(|e| Error::Calibration {
        family: "staircase",
        budget,
        reason: e.to_string(),
    })?;
    Ok(epsilon)
}

#[cfg(test)]
mod tests {
    use super::super::{PrivacyProfile, Profile, pld::Pld};
    use super::*;
    use crate::accounting::Event;
    use crate::quantity::Delta;

    fn profile(epsilon: f64, sensitivity: f64, inner: u64, grid: i32) -> Profile {
        Profile::Staircase {
            sensitivity: L1Sensitivity::new(sensitivity).unwrap(),
            epsilon: Epsilon::new(epsilon).unwrap(),
            inner,
            grid: Grid::new(grid).unwrap(),
        }
    }

    /// 40-digit sums over the law of `tools/reference/staircase.py`, which knows nothing of this formula.
    #[test]
    fn delta_is_that_of_sums_over_the_law() {
        for (epsilon, width, inner, at, delta) in VECTORS {
            let p = profile(epsilon, width as f64, inner, 0);
            let found = p.log_delta(Epsilon::new(at).unwrap()).get();
            assert!(found >= delta.ln() - 1e-14, "{p:?} {at}: {} {delta}", found.exp());
            assert!(found <= delta.ln() + 1e-12, "{p:?} {at}: {} {delta}", found.exp());
        }
    }

    const VECTORS: [(f64, u64, u64, f64, f64); 21] = [
        (0.5, 6, 3, 0.03125, 0.226921715648093),
        (0.5, 6, 3, 0.25, 0.134133514050038),
        (0.5, 6, 3, 0.46875, 0.0186567313978047),
        (1.0, 10, 4, 0.0625, 0.418437182733185),
        (1.0, 10, 4, 0.5, 0.270617562326249),
        (1.0, 10, 4, 0.9375, 0.0416700555073902),
        (1.0, 10, 9, 0.0625, 0.336061935424867),
        (1.0, 10, 9, 0.5, 0.217342687285296),
        (1.0, 10, 9, 0.9375, 0.033466718735664),
        (1.0, 1, 1, 0.0625, 0.444771925808152),
        (1.0, 1, 1, 0.5, 0.287649136644968),
        (1.0, 1, 1, 0.9375, 0.0442926001831258),
        (2.5, 7, 2, 0.15625, 0.770940052941346),
        (2.5, 7, 2, 1.25, 0.608453543218429),
        (2.5, 7, 2, 2.34375, 0.12335843009957),
        (8.0, 9, 1, 0.5, 0.996446532609293),
        (8.0, 9, 1, 4.0, 0.978737302050335),
        (8.0, 9, 1, 7.5, 0.392288128249742),
        (0.25, 5, 2, 0.015625, 0.112669951300375),
        (0.25, 5, 2, 0.125, 0.0633645645172783),
        (0.25, 5, 2, 0.234375, 0.00836043082460649),
    ];

    #[test]
    fn pure_from_its_epsilon_on() {
        let p = profile(1.5, 7.9, 3, 0);
        let at = |e: f64| p.log_delta(Epsilon::new(e).unwrap()).delta();
        assert_eq!(at(1.5), 0.0);
        assert!(at(1.5f64.next_down()) > 0.0);
        // Seven steps, not eight; in other units the same.
        let same = profile(1.5, 7.0 * 4.0, 3, 2);
        assert_eq!(at(0.3), same.log_delta(Epsilon::new(0.3).unwrap()).delta());
    }

    #[test]
    fn hostile_parameters_are_refused_and_tell_all() {
        for p in [
            profile(1e-3, 9.0, 3, 0),
            profile(1.0, 0.5, 1, 0),
            profile(1.0, 9.0, 10, 0),
            profile(1.0, 9.0, 0, 0),
            profile(1.0, 1e300, 3, -960),
            profile(1.0, 5e-324, 3, 960),
        ] {
            assert!(p.check_limits().is_err(), "{p:?}");
            assert_eq!(p.log_delta(Epsilon::new(0.1).unwrap()).get(), 0.0, "{p:?}");
        }
    }

    /// Two runs by hand: the loss is the sum of two of three values.
    #[test]
    fn composes_as_a_response() {
        let p = profile(1.0, 10.0, 4, 0);
        let event = Event::new(p.clone(), 2).unwrap();
        let composed = Pld::new([&event]);
        let mass = p.log_delta(Epsilon::ZERO).delta() / -(-1f64).exp_m1();
        let (high, low) = (mass, mass * (-1f64).exp());
        for at in [0.3, 1.0, 1.7] {
            let none = 1.0 - high - low;
            let more = |loss: f64| (1.0 - (at - loss).exp()).max(0.0);
            let two = high * high * more(2.0) + 2.0 * high * none * more(1.0);
            let found = composed.log_delta(Epsilon::new(at).unwrap());
            let (lower, upper) = (found.lower.unwrap().delta(), found.upper.delta());
            assert!(lower <= two * (1.0 + 1e-9) && two <= upper * (1.0 + 1e-9), "{at}");
            assert!(upper <= 1.01 * two, "{at}: {upper} {two}");
        }
        assert!(composed.epsilon(Delta::ZERO).unwrap().upper.get() <= 2.0 + 1e-9);
    }

    #[test]
    fn budgets_are_met() {
        for (epsilon, delta) in [(1.0, 0.0), (0.5, 1e-6), (3.0, 0.2), (0.01, 0.1)] {
            let budget = Budget::new(epsilon, delta).unwrap();
            let p = profile(staircase(budget).unwrap().get(), 1000.0, 400, 0);
            assert!(p.log_delta(budget.epsilon) <= budget.delta.ln(), "{budget}");
            // Not far from what delta allows.
            assert!(delta == 0.0 || p.log_delta(budget.epsilon).delta() >= 0.5 * delta, "{budget}");
        }
        for (epsilon, delta) in [(0.03, 0.0), (20.5, 0.0), (1e-3, 1e-6)] {
            assert!(staircase(Budget::new(epsilon, delta).unwrap()).is_err());
        }
    }
}
