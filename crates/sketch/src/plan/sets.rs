//! Choosing the mechanism and its shape by predicted recall.

use crate::error::{Error, Result};
use crate::estimate::{upper_quantile, upper_tail};
use crate::sets::{BinLaw, BinResponse, CollisionLaw, MixtureResponse, SetNeighbours, SymbolShape};
use dp_core::Budget;
use rayon::prelude::*;

/// What a plan makes best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Aim {
    /// The predicted share of near sets among those returned.
    Recall,
    /// The predicted standard error of the estimate at similarity `near`.
    Error,
}

/// What a search is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchGoal {
    /// Typical size of a set.
    pub size: f64,
    /// Similarity of a neighbour worth finding.
    pub near: f64,
    /// Standard deviation of the similarity of those neighbours.
    pub near_deviation: f64,
    /// Similarity of an arbitrary other set.
    pub far: f64,
    /// Standard deviation of the similarity of those others.
    pub far_deviation: f64,
    /// Share of all sets that a search returns.
    pub returned: f64,
    /// Most positions (or bins) of a signature.
    pub positions: usize,
    /// What to make best.
    pub aim: Aim,
}

impl SearchGoal {
    fn check(&self) -> Result<()> {
        let named = [
            ("typical set size", self.size, self.size >= 1.0 && self.size.is_finite(), "[1, inf)"),
            ("similarity far", self.far, (0.0..1.0).contains(&self.far), "[0, 1)"),
            ("similarity near", self.near, self.near > self.far && self.near < 1.0, "(far, 1)"),
            (
                "deviation of similarity near",
                self.near_deviation,
                (0.0..=1.0).contains(&self.near_deviation),
                "[0, 1]",
            ),
            (
                "deviation of similarity far",
                self.far_deviation,
                (0.0..=1.0).contains(&self.far_deviation),
                "[0, 1]",
            ),
            ("returned share", self.returned, self.returned > 0.0 && self.returned < 1.0, "(0, 1)"),
        ];
        for (name, value, ok, allowed) in named {
            if !ok {
                return Err(Error::invalid(name, value, allowed));
            }
        }
        if self.positions == 0 {
            return Err(Error::invalid("positions", 0, "[1, inf)"));
        }
        Ok(())
    }

    /// Probability that a near set is among those returned, scores taken as normal and as linear in the similarity:
    /// the threshold is the far scores' upper quantile.
    fn recall(&self, near: Moments, far: Moments) -> f64 {
        let slope = (near.mean - far.mean) / (self.near - self.far);
        let spread = far.deviation.hypot(slope * self.far_deviation);
        let threshold = far.mean + spread * upper_quantile(self.returned);
        let spread = near.deviation.hypot(slope * self.near_deviation);
        upper_tail((threshold - near.mean) / spread.max(1e-12))
    }

    /// What estimates from bins, of similarity `near`, err by that have this standard error, once they are moved into [0, 1].
    fn clamped(&self, standard_error: f64) -> f64 {
        // The mean of (x - c)^2 over x beyond c, for a normal x about zero, and what is cut off.
        let beyond = |c: f64| {
            let (u, s) = (c / standard_error, standard_error);
            let density = (-0.5 * u * u).exp() / core::f64::consts::TAU.sqrt();
            // x^2 becomes c^2 from c on.
            s * s * (u * density + (1.0 - u * u) * upper_tail(u))
        };
        if standard_error.is_nan() || standard_error <= 0.0 {
            return standard_error;
        }
        let cut = beyond(self.near) + beyond(1.0 - self.near);
        (standard_error.powi(2) - cut).max(0.0).sqrt()
    }
}

/// A calibrated mechanism.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SetMethod {
    /// One-permutation bins, with their number and their values.
    Bins {
        /// The mechanism.
        mechanism: BinResponse,
        /// Bins.
        bins: usize,
        /// Symbols of a full bin.
        values: u32,
    },
    /// Hashed minima.
    Mixture {
        /// The mechanism.
        mechanism: MixtureResponse,
        /// Its shape.
        shape: SymbolShape,
    },
}

/// A mechanism and what it is expected to find.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SetPlan {
    /// The mechanism.
    pub choice: SetMethod,
    /// Predicted share of near sets among those returned.
    pub recall: f64,
    /// Nine in ten measured shares are predicted to be in this range: a fifth to either side.
    pub recall_range: (f64, f64),
    /// Predicted standard error of the estimate at similarity `near`.
    pub standard_error: f64,
    /// Nine in ten measured standard errors are predicted to be in this range: sets of other sizes err by a tenth less or a seventh more.
    pub error_range: (f64, f64),
}

impl SetPlan {
    fn new(choice: SetMethod, recall: f64, (standard_error, high): (f64, f64)) -> Self {
        Self {
            choice,
            recall,
            recall_range: (0.8 * recall, (1.2 * recall).min(1.0)),
            standard_error,
            error_range: (0.9 * standard_error, high.max(1.15 * standard_error)),
        }
    }

    /// What one-permutation bins of so many values are expected to find.
    ///
    /// # Errors
    /// As [`plan_sets`].
    pub fn bins(
        goal: &SearchGoal,
        neighbours: SetNeighbours,
        budget: Budget,
        (bins, values): (usize, u32),
    ) -> Result<Self> {
        goal.check()?;
        let mechanism = BinResponse::calibrate(bins, values, neighbours.alpha(), budget)?;
        let law = BinLaw::new(bins, u64::from(values), mechanism.response().keep())?;
        let weights = law.likelihood_weights(goal.size, goal.near, goal.far);
        let moments = |j| {
            let p = law.outcome_probabilities(goal.size, j);
            Moments::of_sum(bins, p.iter().copied().zip(weights))
        };
        let recall = goal.recall(moments(goal.near), moments(goal.far));
        let standard_error = law.standard_error_at(goal.size, goal.near);
        // What bins tell is a ratio of noisy numbers, moved into [0, 1]: its tails are longer than a normal law's.
        let error = (goal.clamped(standard_error), 1.1 * standard_error.min(0.65));
        Ok(Self::new(SetMethod::Bins { mechanism, bins, values }, recall, error))
    }

    /// What hashed minima of this shape are expected to find.
    ///
    /// # Errors
    /// As [`plan_sets`].
    pub fn mixture(
        goal: &SearchGoal,
        neighbours: SetNeighbours,
        budget: Budget,
        shape: SymbolShape,
    ) -> Result<Self> {
        goal.check()?;
        let mechanism = MixtureResponse::calibrate(shape, neighbours, budget)?;
        let (positions, keep) = (shape.positions(), mechanism.response().keep());
        let alphabet = u64::from(shape.alphabet());
        let law = CollisionLaw::new(positions, shape.concatenation(), alphabet, keep)?;
        let moments =
            |j| Moments::of_sum(positions, [(law.agree(j), 1.0), (1.0 - law.agree(j), 0.0)]);
        let recall = goal.recall(moments(goal.near), moments(goal.far));
        let standard_error = law.standard_error_at(goal.near);
        Ok(Self::new(SetMethod::Mixture { mechanism, shape }, recall, (standard_error, 0.0)))
    }
}

/// Many shapes of [`BinResponse`] and [`MixtureResponse`] at a budget, by predicted recall or error, best first.
///
/// Everything the choice depends on is public: it costs no privacy.
///
/// # Errors
/// [`dp_core::Error::InvalidParameter`] for a goal that makes no sense; [`Error::Core`] when no shape meets the budget.
pub fn plan_sets(
    goal: SearchGoal,
    neighbours: SetNeighbours,
    budget: Budget,
) -> Result<Vec<SetPlan>> {
    goal.check()?;
    let alphabets = [2u32, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256];
    let mut shapes = Vec::new();
    for divisor in [1, 2, 4, 8] {
        let positions = (goal.positions / divisor).max(1);
        // No minima together: bins.
        let of = |alphabet| [0, 1, 2].map(|minima| (positions, minima, alphabet));
        shapes.extend(alphabets.into_iter().flat_map(of));
    }
    let plan = |shape: (usize, usize, u32)| match shape {
        (bins, 0, values) => SetPlan::bins(&goal, neighbours, budget, (bins, values)),
        (positions, minima, alphabet) => {
            let shape = SymbolShape::new(positions, minima, alphabet)?;
            SetPlan::mixture(&goal, neighbours, budget, shape)
        }
    };
    let tried: Vec<_> = shapes.into_par_iter().map(plan).collect();
    let (met, failed): (Vec<_>, Vec<_>) = tried.into_iter().partition(Result::is_ok);
    let mut plans = met.into_iter().collect::<Result<Vec<_>>>()?;
    if let (true, Some(Err(error))) = (plans.is_empty(), failed.into_iter().next_back()) {
        return Err(error);
    }
    plans.sort_by(|a, b| match goal.aim {
        Aim::Recall => b.recall.total_cmp(&a.recall),
        Aim::Error => a.standard_error.total_cmp(&b.standard_error),
    });
    Ok(plans)
}

/// Mean and standard deviation of a score.
#[derive(Debug, Clone, Copy)]
struct Moments {
    mean: f64,
    deviation: f64,
}

impl Moments {
    /// Of the sum of `n` independent weights, given as (probability, weight).
    fn of_sum(n: usize, law: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let (mean, square) =
            law.into_iter().fold((0.0, 0.0), |(m, s), (p, w)| (m + p * w, s + p * w * w));
        let n = n as f64;
        Self { mean: n * mean, deviation: (n * (square - mean * mean).max(0.0)).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOAL: SearchGoal = SearchGoal {
        size: 31.0,
        near: 0.28,
        near_deviation: 0.0,
        far: 0.04,
        far_deviation: 0.0,
        returned: 0.034,
        positions: 100,
        aim: Aim::Recall,
    };

    fn planned(epsilon: f64, delta: f64, alpha: u64, min_size: u64) -> SetPlan {
        let n = SetNeighbours::new(alpha, min_size).expect("neighbours");
        let budget = Budget::new(epsilon, delta).expect("budget");
        plan_sets(GOAL, n, budget).expect("plan").remove(0)
    }

    #[test]
    fn more_budget_is_predicted_to_find_more_with_larger_alphabets() {
        let plans = [1.0, 2.0, 4.0, 8.0].map(|e| planned(e, 0.0, 1, 20));
        assert!(plans.windows(2).all(|w| w[0].recall < w[1].recall));
        let values = plans.map(|p| match p.choice {
            SetMethod::Bins { values, .. } => values,
            SetMethod::Mixture { .. } => 0,
        });
        assert!(values[0] == 2 && values[3] >= 16, "{values:?}");
    }

    #[test]
    fn bins_win_for_one_item() {
        assert!(matches!(planned(4.0, 1e-4, 1, 20).choice, SetMethod::Bins { bins: 100, .. }));
    }

    /// Aiming at the error never gives a larger one than aiming at recall.
    #[test]
    fn each_aim_is_best_at_its_own() {
        let n = SetNeighbours::new(1, 20).expect("neighbours");
        for epsilon in [2.0, 6.0] {
            let budget = Budget::new(epsilon, 0.0).expect("budget");
            let found = plan_sets(GOAL, n, budget).expect("plan").remove(0);
            let goal = SearchGoal { aim: Aim::Error, ..GOAL };
            let exact = plan_sets(goal, n, budget).expect("plan").remove(0);
            assert!(exact.standard_error <= found.standard_error && exact.recall <= found.recall);
            assert!(exact.standard_error > 0.0 && exact.standard_error < 0.5);
        }
    }

    #[test]
    fn senseless_goals_are_named() {
        let n = SetNeighbours::new(1, 20).expect("neighbours");
        let goal = SearchGoal { near: 0.01, ..GOAL };
        let error =
            plan_sets(goal, n, Budget::new(1.0, 0.0).expect("budget")).expect_err("near < far");
        assert!(error.to_string().contains("similarity near = 0.01"), "{error}");
    }

    #[test]
    fn normal_quantile_by_table() {
        assert!((upper_quantile(0.025) - 1.959_963_985).abs() < 1e-8);
    }
}
