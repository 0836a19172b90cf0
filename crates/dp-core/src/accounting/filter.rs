//! Limits that hold even when every next mechanism is chosen from earlier answers.
//!
//! Soundness, and which theorem each rule rests on: `docs/proofs/filters.md`.

use super::gdp;
use super::renyi::{FixedOrders, rho, unsupported, zcdp_epsilon};
use crate::budget::{Budget, Delta, Epsilon, LogDelta};
use crate::error::{Error, Result};
use crate::profile::Event;
use crate::profile::PrivacyProfile;
use crate::seed::FreshSeed;
use serde::{Deserialize, Serialize};

/// What a filter adds up. PLD is not among them: its composition theorem needs each
/// run's profile to be fixed in advance, and a filter must allow it to depend on
/// earlier answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FilterRule {
    /// Sums of the stated epsilons and deltas (Rogers, Roth, Ullman, Vadhan 2016).
    Basic,
    /// Sum of rho (Feldman, Zrnic 2021; Whitehouse, Ramdas, Rogers, Wu 2023).
    Zcdp,
    /// Sum of mu^2 (Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2023).
    Gdp,
    /// Sums of Renyi divergences at three orders that the limit fixes; where one is infinite the
    /// largest losses are set aside, in delta. Every mechanism whose loss law is known:
    /// also Johnson-Lindenstrauss, Wishart and mixtures.
    Renyi,
}

/// A limit and the rule by which it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// What may be spent in all.
    pub limit: Budget,
    /// How it is counted.
    pub rule: FilterRule,
}

/// One planned or past expense.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expense<'a> {
    pub(super) event: &'a Event,
    /// Entries of this event.
    pub(super) times: u64,
    /// The (epsilon, delta) each run gives.
    pub(super) budget: Budget,
    /// What each run may lose beyond its profile: the delta of a claim accepted by name.
    pub(super) beyond: Delta,
}

impl Expense<'_> {
    /// Runs of all entries.
    pub(super) fn runs(&self) -> f64 {
        self.event.count() as f64 * self.times as f64
    }
}

impl Filter {
    /// Whether these expenses together keep the limit.
    ///
    /// # Errors
    /// [`Error::BudgetExceeded`] when they do not, as an average over a seed does below a delta of
    /// [`FreshSeed::LEAST_DELTA`]; [`Error::Calibration`] when the rule
    /// has no finite cost for some event; [`Error::InvalidParameter`] for a claim with a delta
    /// under a rule that adds up no deltas.
    pub(super) fn check<'a>(
        &self,
        expenses: impl Iterator<Item = Expense<'a>> + Clone,
    ) -> Result<()> {
        let Budget { epsilon, delta } = self.limit;
        let spent = |e: f64, d: f64| Error::BudgetExceeded {
            would_spend: Budget {
                epsilon: Epsilon::new(e).unwrap_or(Epsilon::ZERO),
                delta: Delta::new(d.min(1.0 - f64::EPSILON)).unwrap_or(Delta::ZERO),
            },
            limit: self.limit,
        };
        let sum = |cost: &dyn Fn(&Event) -> Option<f64>, name| {
            let costs = expenses.clone().map(|x| Some(cost(x.event)? * x.runs()));
            costs.sum::<Option<f64>>().ok_or_else(|| unsupported(name, delta))
        };
        // Sums round to nearest: leave room for it.
        let room = 1.0 + 1e-12;
        let claim = expenses.clone().find(|x| x.beyond > Delta::ZERO);
        if let (Some(claim), true) = (claim, self.rule != FilterRule::Basic) {
            return Err(Error::InvalidParameter {
                name: "delta of an accepted claim",
                value: claim.beyond.to_string(),
                allowed: format!(
                    "[0, 0] under a limit by {:?}: a limit by Basic adds up deltas",
                    self.rule
                ),
            });
        }
        match self.rule {
            FilterRule::Basic => {
                let (e, d) = expenses.clone().fold((0.0, 0.0), |(e, d), x| {
                    let runs = x.runs();
                    (e + runs * x.budget.epsilon.get(), d + runs * x.budget.delta.get())
                });
                let keeps = e <= epsilon.get() * room && d <= delta.get() * room;
                if keeps { Ok(()) } else { Err(spent(e, d)) }
            }
            FilterRule::Zcdp => {
                let total = sum(&rho, "zCDP filter")?;
                let e = zcdp_epsilon(total, delta);
                if e <= epsilon.get() { Ok(()) } else { Err(spent(e, delta.get())) }
            }
            FilterRule::Renyi => {
                let averaged = expenses.clone().any(|x| x.event.profile().needs_fresh_seed());
                if averaged && delta.get() < FreshSeed::LEAST_DELTA {
                    return Err(spent(epsilon.get(), FreshSeed::LEAST_DELTA));
                }
                // Equal entries cost their time once.
                let mut kinds: Vec<(&Event, f64)> = Vec::new();
                for x in expenses.clone() {
                    match kinds.iter_mut().find(|(event, _)| *event == x.event) {
                        Some((_, times)) => *times += x.times as f64,
                        None => kinds.push((x.event, x.times as f64)),
                    }
                }
                let mut orders = FixedOrders::new(self.limit);
                for (event, times) in kinds {
                    let known = orders.add(event, times);
                    known.ok_or_else(|| unsupported("Renyi filter", delta))?;
                }
                let (e, aside) = orders.epsilon();
                if e <= epsilon.get() && aside <= orders.most_aside() {
                    Ok(())
                } else if aside > orders.most_aside() {
                    Err(spent(e, aside + delta.get() - orders.most_aside()))
                } else {
                    Err(spent(e, delta.get()))
                }
            }
            FilterRule::Gdp => {
                let total = sum(&gdp::square, "GDP filter")?;
                if total == 0.0 {
                    return Ok(());
                }
                let profile = gdp::profile(total * room)?;
                let true_delta: LogDelta = profile.log_delta(epsilon);
                if true_delta <= delta.ln() {
                    Ok(())
                } else {
                    Err(spent(profile.epsilon(delta)?.get(), delta.get()))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Profile, RowChange};
    use crate::{NoiseScale, NormBound};

    /// By Renyi divergences half of delta may be set aside: what is set aside beyond it is told, or else the epsilon.
    #[test]
    fn what_is_set_aside_beyond_half_of_delta_is_told() {
        let limit = Budget::new(1.0, 1e-6).unwrap();
        let check = |profile: Profile, times: u64| {
            let event = Event::once(profile);
            let expense = Expense { event: &event, times, budget: limit, beyond: Delta::ZERO };
            match (Filter { limit, rule: FilterRule::Renyi }).check([expense].into_iter()) {
                Err(Error::BudgetExceeded { would_spend, .. }) => would_spend,
                other => panic!("{other:?}"),
            }
        };
        let (bound, scale) = (NormBound::new(1.0).unwrap(), NoiseScale::new(1.5).unwrap());
        let wishart =
            Profile::Wishart { dim: 5, dof: 400, bound, scale, change: RowChange::AddRemove };
        let told = check(wishart.clone(), 1 << 14);
        let mut orders = FixedOrders::new(limit);
        orders.add(&Event::once(wishart), 16384.0).unwrap();
        let aside = orders.epsilon().1;
        assert!(aside > 1e-6, "{aside}");
        assert!((told.delta.get() / (aside + 5e-7) - 1.0).abs() < 1e-12, "{}", told.delta);
        let told = check(Profile::PureDp { epsilon: Epsilon::new(3.0).unwrap() }, 1);
        assert_eq!(told.delta.get(), 1e-6);
        assert!(told.epsilon.get() > 1.0, "{}", told.epsilon);
    }
}
