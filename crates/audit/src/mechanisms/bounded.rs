//! Bounded values: the two ends of the range, whose windows of cells do not meet.

use super::common::{pure_budget, pure_noise};
use super::projection::BATCH;
use crate::subject::{Draw, Side, Subject};
use dp_core::{Budget, Shift};
use eval::Result;
use sketch::RowsView;
use sketch::bounded::{BoundedConfig, BoundedLaw, PrivateBounded};
use sketch::distances::ValueRange;

/// Family name in the table.
pub(crate) const FAMILY: &str = "bounded values";

/// Values of a row; the first of them changes.
const D: usize = 2;

fn bounded(name: &'static str, one_bit: bool, claim: Budget) -> Result<Subject> {
    let config = BoundedConfig {
        d: D,
        range: ValueRange::new(-1.0, 3.0)?,
        beta: Shift::new(4.0)?,
        law: if one_bit { BoundedLaw::OneBit } else { BoundedLaw::LeastError },
        clip: false,
    };
    let made = PrivateBounded::new(config, claim)?;
    let guarantee = made.guarantee().clone();
    let (left, right) = ([-1.0, 0.5].repeat(BATCH), [3.0, 0.5].repeat(BATCH));
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = RowsView::f64(BATCH, D, side.of(&left, &right))?;
        out.extend(made.release(rows, &mut draw.noise())?.payload().values());
        Ok(())
    };
    let pair = "a value at one end of the range and at the other";
    Ok(Subject::new(name, FAMILY, claim, pair, D, sample)
        .batched(BATCH)
        .under(&guarantee)?
        .of_letters()
        .with_runs(40_000)
        // The likelihood ratio rises with the value.
        .likelihood(|z| z[0]))
}

/// One of five categories, and another; the other column stays.
fn categories(claim: Budget) -> Result<Subject> {
    let config = BoundedConfig {
        d: D,
        range: ValueRange::new(0.0, 4.0)?,
        beta: Shift::new(4.0)?,
        law: BoundedLaw::Categories(5),
        clip: false,
    };
    let made = PrivateBounded::new(config, claim)?;
    let guarantee = made.guarantee().clone();
    let (left, right) = ([3.0, 2.0].repeat(BATCH), [1.0, 2.0].repeat(BATCH));
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = RowsView::f64(BATCH, D, side.of(&left, &right))?;
        let released = made.release(rows, &mut draw.noise())?;
        // The categories answered, whatever their values stand for.
        let answers = (0..BATCH * D).map(|at| released.payload().answer(at / D, at % D));
        for answer in answers {
            out.push(f64::from(answer?));
        }
        Ok(())
    };
    let pair = "one category and another";
    Ok(Subject::new("categories, five", FAMILY, claim, pair, D, sample)
        .batched(BATCH)
        .under(&guarantee)?
        .of_letters()
        .with_runs(40_000)
        .likelihood(|z| f64::from(u8::from(z[0] == 1.0)) - f64::from(u8::from(z[0] == 3.0))))
}

/// The law that epsilon 3 asks for: three letters at three offsets.
pub(crate) fn nine_cells(claim: Budget) -> Result<Subject> {
    bounded("bounded values, nine cells", false, claim)
}

/// The family's audits.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subjects() -> Result<Vec<Subject>> {
    let three = Budget::new(3.0, 0.0)?;
    Ok(vec![
        Subject::built(pure_budget()?, pure_noise, |claim| {
            bounded("bounded values, one bit", true, claim)
        })?,
        Subject::built(three, pure_noise, nine_cells)?,
        Subject::built(pure_budget()?, pure_noise, categories)?,
    ])
}
