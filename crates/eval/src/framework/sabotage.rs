//! Breaking the experiments on purpose: a claim that nothing can break says nothing.
//!
//! The mechanisms of the libraries are never touched. The experiments hand budgets, families, rows, answers and
//! solvers through the functions of this module, which return them as they are unless the crate is built with
//! the feature `sabotage` and one of them is switched on for the process.

use super::Context;
use crate::error::Result;
use dp_core::{Budget, Epsilon, L2Sensitivity, calibrate};
use sketch::RowsView;
use sketch::projection::Family;
use sketch::rows::CsrView;
use sketch::signs::FlipRule;
use sketch::vectors::System;

mod which;

pub use which::Sabotage;

/// The three wrong amounts of noise.
pub(crate) const NOISE: [Sabotage; 3] =
    [Sabotage::NoNoise, Sabotage::HalfNoise, Sabotage::DoubleNoise];
/// The three wrong kinds of answers.
pub(crate) const ANSWERS: [Sabotage; 3] =
    [Sabotage::ConstantAnswers, Sabotage::RandomAnswers, Sabotage::DataIgnored];

#[cfg(feature = "sabotage")]
mod switch {
    use super::which::Sabotage;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Position in [`Sabotage::ALL`] plus one; zero when nothing is broken.
    static ACTIVE: AtomicUsize = AtomicUsize::new(0);
    /// One bit a sabotage that somebody asked for.
    static ASKED: AtomicUsize = AtomicUsize::new(0);

    fn place(which: Sabotage) -> usize {
        Sabotage::ALL.iter().position(|s| *s == which).expect("listed")
    }

    /// Whether this one is switched on; remembers that somebody asked.
    pub(super) fn is(which: Sabotage) -> bool {
        let place = place(which);
        ASKED.fetch_or(1 << place, Ordering::Relaxed);
        ACTIVE.load(Ordering::Relaxed) == place + 1
    }

    /// Runs `work`, broken or not: what it returns, and the sabotages that could have reached it.
    pub(crate) fn during<T>(
        which: Option<Sabotage>,
        work: impl FnOnce() -> T,
    ) -> (T, Vec<Sabotage>) {
        ASKED.store(0, Ordering::Relaxed);
        ACTIVE.store(which.map_or(0, |s| place(s) + 1), Ordering::Relaxed);
        let found = work();
        ACTIVE.store(0, Ordering::Relaxed);
        let asked = ASKED.load(Ordering::Relaxed);
        (found, Sabotage::ALL.into_iter().filter(|s| asked >> place(*s) & 1 == 1).collect())
    }
}

#[cfg(feature = "sabotage")]
pub(crate) use switch::during;

#[cfg(feature = "sabotage")]
fn is(which: Sabotage) -> bool {
    switch::is(which)
}

#[cfg(not(feature = "sabotage"))]
const fn is(_: Sabotage) -> bool {
    false
}

/// Epsilon without noise worth speaking of, that every calibration still takes.
const NO_NOISE: f64 = 500.0;

/// The factor by which noise is wrong; `None` when it is right.
fn factor() -> Option<f64> {
    // Both are asked for, so that a plain run knows what can reach it.
    match (is(Sabotage::HalfNoise), is(Sabotage::DoubleNoise)) {
        (true, _) => Some(0.5),
        (_, true) => Some(2.0),
        _ => None,
    }
}

/// The budget that a mechanism spends.
///
/// # Errors
/// Those of a calibration.
pub(crate) fn spent(budget: Budget) -> Result<Budget> {
    let with = |epsilon: f64| -> Result<Budget> {
        Ok(Budget { epsilon: Epsilon::new(epsilon)?, ..budget })
    };
    let (epsilon, factor) = (budget.epsilon.get(), factor());
    if is(Sabotage::NoNoise) {
        return with(epsilon.max(NO_NOISE));
    }
    let Some(factor) = factor else { return Ok(budget) };
    if budget.delta.get() == 0.0 {
        return with(epsilon / factor);
    }
    let sigma = |e: f64| -> Result<f64> {
        Ok(calibrate::gaussian(with(e)?, L2Sensitivity::new(1.0)?)?.get())
    };
    let wanted = factor * sigma(epsilon)?;
    let (mut low, mut high) = (epsilon / 50.0, epsilon * 50.0);
    for _ in 0..40 {
        let middle = (low * high).sqrt();
        *(if sigma(middle)? > wanted { &mut low } else { &mut high }) = middle;
    }
    with(high)
}

/// The same where a mechanism refuses an epsilon above `most`, or draws slowly there.
///
/// # Errors
/// Those of a calibration.
pub(crate) fn spent_within(budget: Budget, most: f64) -> Result<Budget> {
    let spent = spent(budget)?;
    Ok(Budget { epsilon: Epsilon::new(spent.epsilon.get().min(most))?, ..spent })
}

/// The budget that a published rule spends.
///
/// # Errors
/// Those of a calibration.
pub(crate) fn published(budget: Budget) -> Result<Budget> {
    if is(Sabotage::PublishedDoubled) {
        let epsilon = Epsilon::new(0.5 * budget.epsilon.get())?;
        return Ok(Budget { epsilon, ..budget });
    }
    Ok(budget)
}

/// A noise scale that an experiment sets itself.
#[must_use]
pub(crate) fn scale(sigma: f64) -> f64 {
    let factor = factor();
    if is(Sabotage::NoNoise) { sigma * 1e-3 } else { factor.map_or(sigma, |f| f * sigma) }
}

/// The family of a projection.
#[must_use]
pub(crate) fn family(named: Family) -> Family {
    if !is(Sabotage::OtherFamily) {
        return named;
    }
    match named {
        Family::Oporp => Family::Rademacher,
        Family::Rademacher => Family::Oporp,
        Family::Gaussian => Family::VerySparse,
        _ => Family::Gaussian,
    }
}

/// The system of a release.
#[must_use]
pub(crate) fn system(named: System) -> System {
    if !is(Sabotage::OtherFamily) {
        return named;
    }
    match named {
        System::DpOporp => System::DpRpGOptB,
        System::DpRpGOptB => System::DpOporp,
        other => other,
    }
}

/// The rows that a mechanism sees.
///
/// # Errors
/// Those of `work`.
pub(crate) fn with_rows<T>(
    rows: RowsView<'_>,
    work: impl FnOnce(RowsView<'_>) -> Result<T>,
) -> Result<T> {
    if !is(Sabotage::DataIgnored) {
        return work(rows);
    }
    let offsets = vec![0; rows.n() + 1];
    let empty = CsrView { offsets: &offsets, columns: &[], values: &[] };
    work(RowsView::csr(rows.n(), rows.d(), empty)?)
}

/// Values that an experiment feeds to a mechanism.
#[must_use]
pub(crate) fn data(values: Vec<f64>) -> Vec<f64> {
    if is(Sabotage::DataIgnored) { vec![0.0; values.len()] } else { values }
}

/// Whether sets are replaced by one another.
#[must_use]
pub(crate) fn ignores_data() -> bool {
    is(Sabotage::DataIgnored)
}

/// The rule by which signs are turned.
#[must_use]
pub(crate) fn rule(named: FlipRule) -> FlipRule {
    // Asked where there are optimal flips only.
    if named == FlipRule::OptimalSmooth && is(Sabotage::OptimalAsPublished) {
        FlipRule::PublishedSmooth
    } else {
        named
    }
}

/// Whether noise is put on a coarse grid.
#[must_use]
pub(crate) fn coarsens() -> bool {
    is(Sabotage::CoarseNoise)
}

/// Ranked answers of a search among `n` rows.
#[must_use]
pub(crate) fn answers(found: Vec<Vec<usize>>, n: usize) -> Vec<Vec<usize>> {
    let random = is(Sabotage::RandomAnswers);
    if is(Sabotage::ConstantAnswers) {
        return found.iter().map(|list| (0..list.len()).collect()).collect();
    }
    if random {
        let draw = |q: usize, i: usize| {
            Context::number("random answer", (q * 8192 + i) as u64) as usize % n
        };
        let of = |(q, list): (usize, &Vec<usize>)| (0..list.len()).map(|i| draw(q, i)).collect();
        return found.iter().enumerate().map(of).collect();
    }
    found
}

/// One number that was asked for: an estimate, an accuracy, an error's square root.
#[must_use]
pub(crate) fn answer(found: f64, constant: f64, part: &str, number: u64) -> f64 {
    let random = is(Sabotage::RandomAnswers);
    if is(Sabotage::ConstantAnswers) {
        return constant;
    }
    if random {
        let share = (Context::number(part, number) >> 11) as f64 / (1u64 << 53) as f64;
        return 2.0 * share * constant;
    }
    found
}

/// What a solver found, or a constant in its place.
///
/// # Errors
/// Those of `solve`.
pub(crate) fn solved<T>(
    solve: impl FnOnce() -> Result<T>,
    constant: impl FnOnce() -> T,
) -> Result<T> {
    if is(Sabotage::SolverConstant) { Ok(constant()) } else { solve() }
}

/// A number that a plan predicts.
#[must_use]
pub(crate) fn predicted(value: f64) -> f64 {
    if is(Sabotage::PredictionsHalved) { 0.5 * value } else { value }
}

/// What a plan compares, its choice first.
#[must_use]
pub(crate) fn chosen<T>(mut best_first: Vec<T>) -> Vec<T> {
    if is(Sabotage::ChoiceReversed) {
        best_first.reverse();
    }
    best_first
}

/// The distortion that a histogram prunes by.
#[must_use]
pub(crate) fn distortion(rho: f64) -> f64 {
    if is(Sabotage::CheckpointsDropped) { 0.999_999 } else { rho }
}

/// The window that a histogram's oldest checkpoint covers: without the ones between, up to twice as much.
#[must_use]
pub(crate) fn covered(window: u64) -> u64 {
    if is(Sabotage::CheckpointsDropped) { 2 * window } else { window }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_broken_unless_asked() -> Result<()> {
        let budget = Budget::new(1.0, 1e-6)?;
        assert_eq!(spent(budget)?, budget);
        assert_eq!(published(budget)?, budget);
        assert_eq!(family(Family::Oporp), Family::Oporp);
        assert_eq!(answers(vec![vec![3, 1]], 9), [[3, 1]]);
        assert_eq!((scale(2.0), distortion(0.2)), (2.0, 0.2));
        Ok(())
    }

    #[cfg(feature = "sabotage")]
    #[test]
    fn each_switch_reaches_its_seam() -> Result<()> {
        let budget = Budget::new(1.0, 1e-6)?;
        let sigma = |b: Budget| -> Result<f64> {
            Ok(calibrate::gaussian(b, L2Sensitivity::new(1.0)?)?.get())
        };
        let (broken, asked) = during(Some(Sabotage::HalfNoise), || spent(budget));
        assert!(asked.contains(&Sabotage::DoubleNoise) || asked.contains(&Sabotage::HalfNoise));
        assert!((sigma(broken?)? / sigma(budget)? - 0.5).abs() < 1e-6);
        let (same, asked) = during(Some(Sabotage::DataIgnored), || spent(budget));
        assert!(!asked.contains(&Sabotage::DataIgnored) && same? == budget);
        Ok(())
    }
}
