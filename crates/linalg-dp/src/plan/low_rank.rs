//! Which low-rank approximation errs least.

use super::{Planned, ordered};
use crate::error::{Error, Result};
use crate::low_rank::{InputPerturbation, Pfp, PfpOptions, Setting};
use dp_core::{Budget, NormBound, Shift};

/// What is to be approximated, and what is known of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LowRankTask {
    /// Rows m and columns n.
    pub shape: (usize, usize),
    /// Rank r of the approximation.
    pub rank: usize,
    /// What a row may move by.
    pub shift: Shift,
    /// Longest norm of a row.
    pub row_bound: NormBound,
    /// Frobenius norm of the matrix, about: what publishing nothing errs by.
    pub norm: f64,
    /// Budget of the release.
    pub budget: Budget,
}

/// A way of releasing a low-rank approximation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LowRankMethod {
    /// [`Pfp`] with its default options and the recommended number of columns.
    FindAndProject {
        /// Columns k of the sketch.
        columns: usize,
    },
    /// Noise on every entry, cut to the rank.
    InputPerturbation,
    /// The zero matrix: no budget is spent.
    Nothing,
}

/// What the formulas themselves may be off by: a share of the error.
const OFF: f64 = 0.03;

/// The error in Frobenius norm on a matrix of exact rank r with rows of equal weight, best first.
///
/// Find and project, shrunk, by its own prediction, at most the norm of the matrix; input perturbation by the law of a cut matrix in
/// white noise: `sigma sqrt(r (m + n - r))` where all r directions stand far out of the noise, and more than the norm of the
/// matrix where none does, since nothing shrinks it. Ranges are those of `r (m + n - r)` normal numbers, and of `r (k - r)`, as many as what
/// the sketch misses is made of, and 3 per cent for the formulas. A few heavy rows make find and project err by up
/// to 2.3 times as much (`docs/proofs/pfp.md`), which the range does not cover: input perturbation does not care.
///
/// # References
/// Gavish & Donoho 2014 and 2017, of the singular values and vectors of a matrix in white noise.
///
/// # Errors
/// As [`Setting::new`] and [`Pfp::calibrate`]; a norm that is not positive.
pub fn plan_low_rank(task: &LowRankTask) -> Result<Vec<Planned<LowRankMethod>>> {
    let LowRankTask { shape: (m, n), rank, shift, row_bound, norm, budget } = *task;
    if !(norm.is_finite() && norm > 0.0) {
        return Err(Error::invalid("norm of the matrix", norm, "(0, inf)"));
    }
    let setting = Setting::recommended((m, n), rank, shift, row_bound)?;
    let found = Pfp::calibrate(setting, budget, PfpOptions::default())?.predicted_error();
    let sigma = InputPerturbation::calibrate(setting, budget)?.sigma().get();
    let plan = |method, error: f64, numbers: usize| {
        let plan = Planned::of_normals(method, error, numbers as f64);
        Planned { low: plan.low * (1.0 - OFF), high: plan.high * (1.0 + OFF), ..plan }
    };
    let shrunk = |plan: Planned<_>| Planned {
        error: plan.error.min(norm),
        low: plan.low.min(norm),
        high: plan.high.min(norm),
        ..plan
    };
    let (columns, free) = (setting.k(), rank * (m + n - rank));
    let nothing = Planned { method: LowRankMethod::Nothing, error: norm, low: norm, high: norm };
    // At equal errors, what costs nothing comes first.
    Ok(ordered(vec![
        nothing,
        shrunk(plan(
            LowRankMethod::FindAndProject { columns },
            found,
            rank * setting.oversampling(),
        )),
        plan(LowRankMethod::InputPerturbation, sigma * cut((m, n), rank, norm / sigma), free),
    ]))
}

/// The error of the first r singular values and vectors of a matrix of rank r and this norm, with equal singular values, in white noise
/// of deviation one.
fn cut((m, n): (usize, usize), rank: usize, norm: f64) -> f64 {
    let (r, m, n) = (rank as f64, m as f64, n as f64);
    let s = norm * norm / r;
    if s * s <= m * n {
        return (r * (s + (m.sqrt() + n.sqrt()).powi(2))).sqrt();
    }
    let seen = (s + m) * (s + n) / s;
    let cosines = (s * s - m * n) / ((s + m) * (s + n)).sqrt() / s;
    // The r directions themselves are counted once.
    let once = (m + n - r) / (m + n);
    (r * once * (s + seen - 2.0 * (s * seen).sqrt() * cosines).max(0.0)).sqrt()
}
