//! Composition by privacy loss distributions: both ends of the bracket.

use super::convolve::{Cumulant, TiltedSum};
use super::cut::Cut;
use super::discretise::{self, Measure};
use super::parts::{self, Parts, Source};
use crate::budget::{Budget, Delta, Epsilon, LogDelta};
use crate::error::{Error, Result};
use crate::numeric::root::{Middle, bisect};
use crate::profile::event::Event;
use crate::quantity::quantity;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

/// An interval that holds the exact answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bracket<T> {
    /// The exact answer is not below this; `None` when nothing is known.
    pub lower: Option<T>,
    /// The exact answer is not above this: the sound end.
    pub upper: T,
}

quantity!(
    /// Width aimed at, relative to epsilon. The bracket returned says what was reached.
    Width, "relative width", "[1e-8, 0.1]", |x| (1e-8..=0.1).contains(&x)
);

impl Default for Width {
    /// 2e-5.
    fn default() -> Self {
        Self(2e-5)
    }
}

/// Most steps of a window: 2^22 (64 MiB of sums).
const LARGEST: usize = 1 << 22;

/// Most steps of the windows of all laws together: each law is transformed in a window of its own, so more than
/// [`WORK`]/[`LARGEST`] different ones get shorter windows, coarser steps and wider brackets.
const WORK: usize = 1 << 24;

/// Most steps of a window for as many laws: a power of two.
fn largest(laws: usize) -> usize {
    let each = WORK / laws.next_power_of_two();
    each.clamp(1 << 14, LARGEST)
}

/// Most cells of all laws together, each node of a mixture counting as one: 2^20. With windows of
/// [`LARGEST`] no composition takes half a gigabyte; where that is too few, brackets are wider.
const CELLS: f64 = 1_048_576.0;

/// Largest tilt, in standard deviations of the sum: tails of a Gaussian sum of mass `e^-700` need 38.
const STEEPEST: f64 = 1e3;

/// The composition of some events as one loss law.
///
/// The events may be chosen adaptively, each profile holding whatever came before
/// (dominating pairs compose: Zhu, Dong, Wang 2022, theorem 10).
#[derive(Debug, Clone)]
pub struct Pld {
    pub(super) parts: Parts,
    /// Some profile is an upper bound on its mechanism, or was not computed.
    above_only: bool,
    pub(super) width: Width,
    /// Where the bulk of each direction's sum lies, once it was asked.
    pub(super) bulks: Arc<[OnceLock<Cumulant>; 2]>,
}

/// So many events are many.
const MANY: usize = 100;
/// Of more laws than these the coarse copies are coarser.
const SEVERAL: usize = 20;

/// What to solve for.
#[derive(Clone, Copy)]
enum Target {
    LnDelta(f64),
    Epsilon(f64),
}

/// The grid, the tilt, and the epsilon they were chosen for.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) h: f64,
    pub(super) t: f64,
    pub(super) cut: Cut,
}

impl Pld {
    /// The composition of `events`.
    #[must_use]
    pub fn new<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let (parts, above_only) = parts::merge(events, 1);
        Self { parts, above_only, width: Width::default(), bulks: Arc::default() }
    }

    /// The composition of one event of many, each of which is composed on its own: quicker, and wider.
    pub(crate) fn one_of_many(event: &Event, width: Width) -> Self {
        let (parts, above_only) = parts::merge([event], MANY);
        Self { parts, above_only, width, bulks: Arc::default() }
    }

    /// Sets the width aimed at.
    #[must_use]
    pub fn with_width(mut self, width: Width) -> Self {
        (self.width, self.bulks) = (width, Arc::default());
        self
    }

    /// The epsilon at `delta`. The lower end is absent where a profile is only an upper bound on
    /// its mechanism: a pure epsilon, Laplace noise (exact in one coordinate alone), a row
    /// replaced under Wishart noise. Where there is one it speaks of the worst pair of each
    /// profile as stated; a mechanism may give away less than its profile.
    ///
    /// # Errors
    /// [`Error::Calibration`] when no finite epsilon reaches `delta` (some mechanism
    /// fails outright with more than this probability, or delta is zero and a loss is
    /// unbounded), or when the losses or counts are too large to be composed.
    pub fn epsilon(&self, delta: Delta) -> Result<Bracket<Epsilon>> {
        let none = || Error::Calibration {
            family: "composition",
            budget: Budget { epsilon: Epsilon::ZERO, delta },
            reason: "no finite epsilon reaches this delta, or losses above 1e9 or more than 2^40 \
                     runs are to be composed"
                .into(),
        };
        if self.parts.is_empty() {
            return Ok(Bracket { lower: Some(Epsilon::ZERO), upper: Epsilon::ZERO });
        }
        let pure = self.pure_bound();
        let target = delta.ln().get();
        if target == f64::NEG_INFINITY {
            let pure = pure.ok_or_else(none)?;
            let exact = (!self.above_only).then(|| epsilon(pure * (1.0 - 1e-13)));
            return Ok(Bracket { lower: exact, upper: epsilon(pure * (1.0 + 1e-13)) });
        }
        let (mut lower, mut upper) = (Some(0.0_f64), 0.0_f64);
        for parts in self.directions() {
            let plan = self.plan(&parts, Target::LnDelta(target));
            let (below, above) = sums(&parts, plan, self.above_only);
            let pad = padding(&parts, plan);
            let found = above.epsilon_above(target);
            upper = upper.max(found.map_or(f64::INFINITY, |e| e + pad));
            lower = match (lower, below) {
                (Some(l), Some(b)) => Some(l.max(b.epsilon_below(target) - pad)),
                _ => None,
            };
        }
        if let Some(pure) = pure {
            upper = upper.min(pure * (1.0 + 1e-13));
        }
        if upper.is_infinite() {
            return Err(none());
        }
        Ok(Bracket { lower: lower.map(epsilon), upper: epsilon(upper) })
    }

    /// ln delta at `epsilon`.
    #[must_use]
    pub fn log_delta(&self, epsilon: Epsilon) -> Bracket<LogDelta> {
        let e = epsilon.get();
        let (mut lower, mut upper) = (Some(f64::NEG_INFINITY), f64::NEG_INFINITY);
        if !self.parts.is_empty() {
            for parts in self.directions() {
                if parts::ceiling(&parts).is_some_and(|most| e >= most) {
                    continue;
                }
                let plan = self.plan(&parts, Target::Epsilon(e));
                let (below, above) = sums(&parts, plan, self.above_only);
                let pad = padding(&parts, plan);
                upper = upper.max(above.ln_delta_above((e - pad).max(0.0)));
                lower = match (lower, below) {
                    (Some(l), Some(b)) => Some(l.max(b.ln_delta_below(e + pad))),
                    _ => None,
                };
            }
            if self.pure_bound().is_some_and(|pure| e >= pure * (1.0 + 1e-13)) {
                (lower, upper) = (lower.map(|_| f64::NEG_INFINITY), f64::NEG_INFINITY);
            }
        }
        Bracket { lower: lower.map(LogDelta::saturating), upper: LogDelta::saturating(upper) }
    }

    /// Whether the profiles are those of pairs of inputs, each as easy to see in one direction as in the other.
    pub(crate) fn is_reached_both_ways(&self) -> bool {
        !self.above_only && self.is_one_way()
    }

    /// Whether both directions of the change have one bound.
    pub(crate) fn is_one_way(&self) -> bool {
        self.directions().len() == 1
    }

    /// Sum of the largest losses, when all are bounded.
    fn pure_bound(&self) -> Option<f64> {
        Some(self.pure_runs()?.iter().map(|(loss, runs)| loss * runs).sum())
    }

    /// Everything as independent runs of bounded loss, where it is that: the loss, not rounded
    /// up, and the number of runs.
    pub(crate) fn pure_runs(&self) -> Option<Vec<(f64, f64)>> {
        let runs = |(source, n): &(Source, u64)| match source {
            Source::Law(law) => law.pure_runs().map(|(loss, runs)| (loss, runs * *n as f64)),
            Source::Envelope(_) => None,
        };
        self.parts.iter().map(runs).collect()
    }

    /// The same change in every run, forwards and (where that differs) backwards.
    pub(super) fn directions(&self) -> Vec<Parts> {
        let reversed: Parts = self
            .parts
            .iter()
            .map(|(source, n)| match source {
                Source::Law(law) => (Source::Law(law.reversed()), *n),
                Source::Envelope(_) => (source.clone(), *n),
            })
            .collect();
        if reversed == self.parts { vec![reversed] } else { vec![self.parts.clone(), reversed] }
    }

    /// Chooses tilt and grid from coarse copies of the laws. Only the width and the
    /// time depend on the choice, never the soundness.
    fn plan(&self, parts: &Parts, target: Target) -> Plan {
        let runs: f64 = parts.iter().map(|(_, n)| *n as f64).sum();
        let ln_delta = match target {
            Target::LnDelta(d) => d,
            Target::Epsilon(_) => -60.0,
        };
        let high = (ln_delta - 12.0).exp().max(1e-290) / runs;
        let rough = Cut { low: 1e-12, high, most: f64::INFINITY };
        let pieces = if parts.len() > SEVERAL { 64.0 } else { 256.0 };
        let coarse: Vec<(Measure, f64, u64)> = parts
            .par_iter()
            .map(|(source, n)| {
                let h = source.coarse_step(rough, pieces);
                (source.above(h, rough), h, *n)
            })
            .collect();
        let sum = |t: f64| {
            coarse.iter().fold(Cumulant::default(), |sum, (m, h, n)| {
                let (c, n) = (m.cumulant(*h, t), *n as f64);
                Cumulant {
                    value: sum.value + n * c.value,
                    mean: sum.mean + n * c.mean,
                    variance: sum.variance + n * c.variance,
                }
            })
        };
        let beyond = |t: f64| {
            let c = sum(t);
            match target {
                // Saddle point: delta is about e^(K - t K') / ((1 + t) (1 + t sqrt(2 pi K''))).
                Target::LnDelta(d) => {
                    let spread = 1.0 + t * (core::f64::consts::TAU * c.variance).sqrt();
                    c.value - t * c.mean - (t.ln_1p() + spread.ln()) < d
                }
                Target::Epsilon(e) => c.mean > e,
            }
        };
        // Near the largest loss the saddle point runs away, and would ask for ever finer grids.
        let steepest = STEEPEST / sum(0.0).variance.sqrt().max(1e-9);
        let range = (1e-3, steepest.clamp(1.0, 1e5));
        let (_, t) = bisect(range, Middle::Geometric, (28, 0.0), beyond);
        let at = sum(t);
        let plan = |h: f64| Plan { h, t, cut: cut(ln_delta, at, t, runs) };
        // Each run with a density adds about h^2/2 between the two variances, and so
        // (t/2) h^2/2 to epsilon; so does an atom off the grid, or worse.
        let anchors: Vec<(f64, u64)> =
            parts.iter().filter_map(|(s, n)| Some((s.anchor()?, *n))).collect();
        let several = anchors.iter().any(|(step, _)| *step != anchors[0].0);
        let exact = |s: &Source| !several && s.is_discrete();
        let rough_runs: f64 = parts.iter().filter(|(s, _)| !exact(s)).map(|(_, n)| *n as f64).sum();
        let width = self.width.get() * at.mean.max(0.01);
        // The slope of ln delta: the tilt, or within the bulk what one deviation changes.
        let slope = t.max(at.variance.sqrt().recip().min(STEEPEST));
        let mut h = 1.6 * (width / (slope * rough_runs.max(1e-9))).sqrt();
        for (source, n) in parts.iter().filter(|(s, _)| !exact(s)) {
            // Losses far below the step add at most `h` times their extent to the variance.
            let extent = source.extent(rough);
            h = h.min((extent / 64.0).max(0.1 * width / (slope * *n as f64 * extent)));
        }
        h = align(h, &anchors);
        let window = 20.0 * at.variance.sqrt() / largest(parts.len()) as f64;
        let least = least_step(parts, plan(h).cut, CELLS);
        plan(h.max(window).max(least))
    }
}

/// The least step of at most `cells` cells, whose grid points are exact enough as numbers.
pub(super) fn least_step(parts: &Parts, cut: Cut, cells: f64) -> f64 {
    let extent: f64 = parts.iter().map(|(s, _)| s.extent(cut) * s.nodes(cut)).sum();
    (extent / cells).max(reach(parts, cut) * 2f64.powi(-50)).max(1e-9)
}

/// Largest sum of losses on the grid, in absolute value.
fn reach(parts: &Parts, cut: Cut) -> f64 {
    parts.iter().map(|(s, n)| *n as f64 * s.reach(cut)).sum()
}

/// The step of at most `h` that brings the atoms of all anchors closest to the grid: a
/// whole fraction of the first anchor.
fn align(h: f64, anchors: &[(f64, u64)]) -> f64 {
    let Some(&(first, _)) = anchors.iter().max_by_key(|(_, n)| *n) else { return h };
    let least = (first / h).ceil().max(1.0);
    if anchors.iter().all(|(step, _)| *step == first) {
        return first / least;
    }
    let misfit = |pieces: f64| {
        anchors
            .iter()
            .map(|&(step, n)| {
                // Just above a grid point is best: the largest atom is rounded down.
                let position = step / first * pieces;
                n as f64 * (position - (position + 1e-9).floor()).abs() / pieces
            })
            .sum::<f64>()
    };
    let most = least + least.min(4000.0);
    let (mut best, mut at) = (f64::INFINITY, least);
    let mut pieces = least;
    while pieces <= most {
        let found = misfit(pieces);
        if found < best {
            (best, at) = (found, pieces);
        }
        pieces += 1.0;
    }
    first / at
}

/// Cuts that cost 1e-9 of delta.
fn cut(ln_delta: f64, at: Cumulant, t: f64, runs: f64) -> Cut {
    let expected = if ln_delta > -60.0 { ln_delta } else { at.value - t * at.mean };
    let high = (ln_delta.min(expected) - 21.0).exp().max(1e-300) / runs;
    Cut { low: 1e-14 / runs, high, most: f64::INFINITY }
}

/// Both sums, the lower one where it is known.
fn sums(parts: &Parts, plan: Plan, above_only: bool) -> (Option<TiltedSum>, TiltedSum) {
    let Plan { h, t, cut } = plan;
    let both = parts.par_iter().map(|(source, n)| match source {
        Source::Law(law) if !above_only => {
            let s = discretise::sandwich(law, h, cut);
            (Some((s.below, *n)), (s.above, *n))
        }
        _ => (None, (source.above(h, cut), *n)),
    });
    let (below, above): (Vec<_>, Vec<_>) = both.collect();
    let sum = |list: &[(Measure, u64)]| {
        let parts: Vec<(&Measure, u64)> = list.iter().map(|(m, n)| (m, *n)).collect();
        TiltedSum::new(&parts, h, t, largest(parts.len()))
    };
    // Of no part at all both sums are that of nothing.
    let below: Option<Vec<_>> = below.into_iter().collect();
    (below.filter(|_| !above_only).map(|b| sum(&b)), sum(&above))
}

/// Losses and grid points are rounded, and atoms to them ([`discretise`]): a few ulps of the
/// largest loss per run.
pub(super) fn padding(parts: &Parts, plan: Plan) -> f64 {
    let runs: f64 = parts.iter().map(|(_, n)| *n as f64).sum();
    (reach(parts, plan.cut) + runs * plan.h) * 2e-14 + 1e-13
}

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap_or(Epsilon::ZERO)
}

fn extent(low: f64, high: f64) -> f64 {
    (high - low).max(1e-9)
}

fn farther(low: f64, high: f64) -> f64 {
    low.abs().max(high.abs()).max(high - low)
}

impl Source {
    pub(super) fn above(&self, h: f64, cut: Cut) -> Measure {
        match self {
            Self::Law(law) => discretise::upper(law, h, cut),
            Self::Envelope(e) => e.above(h, cut),
        }
    }

    /// The ends of the losses that matter.
    fn ends(&self, cut: Cut) -> (f64, f64) {
        match self {
            Self::Law(law) => {
                let (low, high) = law.range(cut.low, cut.high);
                (low, high.min(cut.most).max(low))
            }
            Self::Envelope(e) => (-e.reach(cut.high), e.reach(cut.high)),
        }
    }

    /// Distance between them.
    pub(super) fn extent(&self, cut: Cut) -> f64 {
        let (low, high) = self.ends(cut);
        extent(low, high)
    }

    /// A step of about `pieces` cells.
    pub(super) fn coarse_step(&self, cut: Cut, pieces: f64) -> f64 {
        let (low, high) = self.ends(cut);
        (extent(low, high) / pieces).max(farther(low, high) * 2f64.powi(-50))
    }

    /// The one farther from zero; at least the distance.
    pub(super) fn reach(&self, cut: Cut) -> f64 {
        let (low, high) = self.ends(cut);
        farther(low, high)
    }

    /// Nodes of each cell.
    fn nodes(&self, cut: Cut) -> f64 {
        match self {
            Self::Law(law) => (law.nodes(cut).list.len() as f64).max(1.0),
            Self::Envelope(_) => 1.0,
        }
    }

    fn anchor(&self) -> Option<f64> {
        match self {
            Self::Law(law) => law.anchor(),
            Self::Envelope(_) => None,
        }
    }

    fn is_discrete(&self) -> bool {
        matches!(self, Self::Law(law) if law.is_discrete())
    }
}
