//! Published algorithms and rules: what they claim, and what they really give.

use super::bound;
use crate::audit::subject::{Draw, Side, Subject};
use crate::error::Result;
use dp_core::calibrate::{Acceptance, PublishedRule, PublishedSetting};
use dp_core::{Budget, L2Sensitivity};
use linalg_dp::window::{PublishedAlgorithm, PublishedConfig, PublishedStream};

/// Family name in the table.
pub const FAMILY: &str = "published streams";

/// A published stream of three rows (d = 1); the last row is there or not, and two
/// successive releases are seen.
fn stream(name: &str, algorithm: PublishedAlgorithm) -> Result<Subject> {
    let claimed = Budget::new(1.0, 1e-2)?;
    let config =
        PublishedConfig { dim: 1, window: 6, rho: 0.5, bound: bound(1.0)?, claimed, algorithm };
    let sides = [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]];
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let mut rng = draw.noise();
        let mut stream = PublishedStream::new(config)?;
        let mut seen = Vec::new();
        for row in side.of(&sides[0], &sides[1]) {
            stream.push(&[*row], &mut rng)?;
            let release = stream.release(&rng)?;
            seen.push(release.payload().1[(0, 0)]);
        }
        out.extend([seen[2] - seen[1], seen[1]]);
        Ok(())
    };
    let pair = "the newest row is zero or one; two successive releases are seen";
    Ok(Subject::new(name, FAMILY, claimed, pair, 2, sample)
        .with_runs(1_500)
        .score("releases differ", |x| f64::from(u8::from(x[0].abs() > 1e-9)))
        .claimed_by("published; provenance `Published`"))
}

/// The family's audits.
///
/// # Errors
/// A configuration that is refused.
pub fn subjects() -> Result<Vec<Subject>> {
    Ok(vec![
        stream("Sliding-Priv", PublishedAlgorithm::SlidingPriv)?,
        stream("Sliding-Priv-Approx", PublishedAlgorithm::SlidingPrivApprox { sketch_rows: 4 })?,
        stream("Sliding-Priv-PCP", PublishedAlgorithm::SlidingPrivPcp { rank: 1 })?,
    ])
}

/// A published rule at one budget.
#[derive(Debug, Clone)]
pub struct RuleRow {
    /// The rule.
    pub rule: PublishedRule,
    /// What it is asked for.
    pub claimed: Budget,
    /// The delta its noise really gives at the claimed epsilon, by the exact profile.
    pub true_delta: f64,
}

impl RuleRow {
    /// Whether the claim holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.true_delta <= self.claimed.delta.get()
    }
}

/// Every rule at some budgets; budgets outside a rule's own preconditions are left out.
///
/// # Errors
/// Never: the settings are valid.
pub fn rules() -> Result<Vec<RuleRow>> {
    let one = L2Sensitivity::new(1.0)?;
    let mut rows = Vec::new();
    for rule in PublishedRule::ALL {
        let setting = match rule {
            PublishedRule::KenthapadiLemma2 | PublishedRule::AnalyticDpRpG => {
                PublishedSetting::GaussianProjection { features: 100, columns: 64, shift: one }
            }
            PublishedRule::HardtRothRangeFinder => {
                PublishedSetting::RangeFinder { columns: 10, shift: one }
            }
            PublishedRule::HardtRothProjection => PublishedSetting::LowRankProjection {
                columns: 10,
                sensitivity: L2Sensitivity::new(10f64.sqrt())?,
            },
            PublishedRule::SheffetJl => PublishedSetting::Jl { rows: 50, bound: bound(1.0)? },
            PublishedRule::SheffetWishart => {
                PublishedSetting::Wishart { dim: 10, bound: bound(1.0)? }
            }
            _ => PublishedSetting::Shift { sensitivity: one },
        };
        for (epsilon, delta) in [(0.5, 1e-6), (1.0, 1e-6), (4.0, 1e-2), (8.0, 1e-6)] {
            let claimed = Budget::new(epsilon, delta)?;
            if let Ok(made) = rule.calibrate(claimed, setting, Acceptance::AcceptTrueDelta) {
                rows.push(RuleRow { rule, claimed, true_delta: made.true_delta().delta() });
            }
        }
    }
    Ok(rows)
}
