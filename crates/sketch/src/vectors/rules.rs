//! The papers' own calibration rules for the private projection.

use super::mechanism::PrivateProjection;
use super::projector::Projector;
use crate::author::AUTHOR;
use crate::error::{Error, Result};
use crate::projection::{Family, SharedProjection};
use dp_core::calibrate::published::{Acceptance, PublishedRule, PublishedSetting};
use dp_core::{Adjacency, Budget, EntryBound, L2Sensitivity, Shift};

impl PrivateProjection {
    /// Gaussian noise by a published rule, adjacency `Attribute{beta}`: theorem 1 and lemma 1
    /// (realised sensitivity), lemma 2 and Analytic DP-RP-G (Gaussian P, sigma independent of P).
    /// The certificate states the delta that this very P and this sigma really give.
    ///
    /// # Errors
    /// A precondition of the rule, or [`dp_core::Error::RuleMissesBudget`] when the delta really
    /// given is larger than claimed (a rule that holds with high probability over P may have
    /// drawn a bad one).
    pub fn published(
        projection: SharedProjection,
        rule: PublishedRule,
        beta: Shift,
        bound: EntryBound,
        budget: Budget,
    ) -> Result<Self> {
        let spec = projection.spec();
        let over_draws =
            matches!(rule, PublishedRule::KenthapadiLemma2 | PublishedRule::AnalyticDpRpG);
        if over_draws && spec.family() != Family::Gaussian {
            return Err(Error::invalid("projection", spec.name(), "gaussian for this rule"));
        }
        let rows = Projector::new(projection, Adjacency::Attribute { beta }, bound);
        let shift = L2Sensitivity::new(beta.get())?;
        let scale = |sensitivity| {
            let setting = if over_draws {
                let (features, columns) = (spec.d() as u64, spec.k() as u64);
                PublishedSetting::GaussianProjection { features, columns, shift }
            } else {
                PublishedSetting::Shift { sensitivity }
            };
            Ok(rule.calibrate(budget, setting, Acceptance::RequireTarget)?.scale())
        };
        let basis = AUTHOR.rule(rule);
        Self::of_gaussian(rows.clone(), AUTHOR.calibrate_by(rows.l2()?, budget, basis, scale)?)
    }
}
