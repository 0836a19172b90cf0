//! Published algorithms and rules: what they claim, and what they really give.

use super::common::bound;
use crate::subject::{Draw, Side, Subject};
use dp_core::calibrate::{Acceptance, PublishedRule, PublishedSetting};
use dp_core::{Budget, L2Sensitivity, NoiseRng};
use eval::Result;
use eval::published::{
    PublishedAlgorithm, PublishedConfig, PublishedStream, SlidingPrivConstrainedPcp, SlidingPrivPca,
};
use faer::Mat;

/// Family name in the table.
pub(crate) const FAMILY: &str = "published streams";

/// What an algorithm shows after each row.
type Show = Box<dyn Fn(&[[f64; 2]; 3], &mut NoiseRng) -> Result<Vec<f64>> + Send + Sync>;

/// The audit of a published stream of three rows (d = 2): the last row is there or not, and two
/// successive releases of `width` numbers are seen.
fn stream(name: &str, claimed: Budget, width: usize, show: Show) -> Subject {
    let start = [[1.0, 0.0], [0.6, 0.8]];
    let sides = [[0.0, 0.0], [0.0, 1.0]].map(|last| [start[0], start[1], last]);
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let seen = show(side.of(&sides[0], &sides[1]), &mut draw.noise())?;
        let [_, before, after] = [0, 1, 2].map(|time| &seen[time * width..(time + 1) * width]);
        out.extend(after.iter().zip(before).map(|(a, b)| a - b));
        out.extend_from_slice(before);
        Ok(())
    };
    let pair = "the newest row is zero or one; two successive releases are seen";
    Subject::new(name, FAMILY, claimed, pair, 2 * width, sample)
        .with_runs(1_500)
        .score("releases differ", move |x| {
            f64::from(u8::from(x[..width].iter().any(|change| change.abs() > 1e-9)))
        })
        .outside("one release, at the end of the stream")
}

/// The family's audits.
///
/// # Errors
/// A configuration that is refused.
pub(crate) fn subjects() -> Result<Vec<Subject>> {
    let claimed = Budget::new(1.0, 1e-2)?;
    let of = |algorithm| -> Result<PublishedConfig> {
        let bound = bound(1.0)?;
        Ok(PublishedConfig { dim: 2, window: 6, rho: 0.5, bound, claimed, algorithm })
    };
    let mut all = Vec::new();
    for (name, algorithm) in [
        ("Sliding-Priv", PublishedAlgorithm::SlidingPriv),
        ("Sliding-Priv-Approx", PublishedAlgorithm::SlidingPrivApprox { sketch_rows: 4 }),
        ("Sliding-Priv-PCP", PublishedAlgorithm::SlidingPrivPcp { rank: 1 }),
    ] {
        let config = of(algorithm)?;
        let show: Show = Box::new(move |rows, rng| {
            let mut stream = PublishedStream::new(config)?;
            let mut seen = Vec::new();
            for row in rows {
                stream.push(row, rng)?;
                let matrix = stream.release()?.into_parts().0.1;
                seen.extend([matrix[(0, 0)], matrix[(1, 1)], matrix[(1, 0)]]);
            }
            Ok(seen)
        });
        all.push(stream(name, claimed, 3, show));
    }
    let config = of(PublishedAlgorithm::SlidingPrivPcp { rank: 1 })?;
    let show: Show = Box::new(move |rows, rng| {
        let mut stream = SlidingPrivPca::new(config)?;
        let mut seen = Vec::new();
        for row in rows {
            stream.push(row, rng)?;
            let basis = stream.release()?.into_parts().0.1;
            seen.extend([basis[(0, 0)], basis[(1, 0)]]);
        }
        Ok(seen)
    });
    all.push(stream("Sliding-Priv-PCA", claimed, 2, show));
    let axes = [0, 1].map(|axis| Mat::from_fn(2, 1, |i, _| f64::from(u8::from(i == axis))));
    let show: Show = Box::new(move |rows, rng| {
        let mut stream = SlidingPrivConstrainedPcp::new(config, axes.to_vec())?;
        let mut seen = Vec::new();
        for row in rows {
            stream.push(row, rng)?;
            let chosen = stream.release()?.into_parts().0;
            seen.extend([chosen.index as f64, chosen.cost]);
        }
        Ok(seen)
    });
    all.push(stream("Sliding-Priv-Constrained-PCP", claimed, 2, show));
    Ok(all)
}

/// A published rule at one budget.
#[derive(Debug, Clone)]
pub(crate) struct RuleRow {
    /// The rule.
    pub(crate) rule: PublishedRule,
    /// What it is asked for.
    pub(crate) claimed: Budget,
    /// The delta its noise really gives at the claimed epsilon, by the exact profile.
    pub(crate) true_delta: f64,
}

impl RuleRow {
    /// Whether the claim holds.
    #[must_use]
    pub(crate) fn holds(&self) -> bool {
        self.true_delta <= self.claimed.delta.get()
    }
}

/// Every rule at some budgets; budgets outside a rule's own preconditions are left out.
///
/// # Errors
/// Never: the settings are valid.
pub(crate) fn rules() -> Result<Vec<RuleRow>> {
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
            // Hardt & Roth state their figures for epsilon at most 1.
            if matches!(
                rule,
                PublishedRule::HardtRothRangeFinder | PublishedRule::HardtRothProjection
            ) && epsilon > 1.0
            {
                continue;
            }
            if let Ok(made) = rule.calibrate(claimed, setting, Acceptance::AcceptTrueDelta) {
                rows.push(RuleRow { rule, claimed, true_delta: made.true_delta().delta() });
            }
        }
    }
    Ok(rows)
}
