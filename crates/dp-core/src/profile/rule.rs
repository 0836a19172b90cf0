//! How a profile's parameters are held against those of a noise law.

use crate::error::{Result, rejected};
use crate::noise::{Grid, NoiseLaw};
use crate::quantity::{Probability, Scale};

/// Relative room for two ways of computing one number.
const SLACK: f64 = 1e-12;

/// Outputs that differ at all differ by a step of the grid, so no sensitivity is below it.
pub(super) fn on_grid(sensitivity: f64, grid: Grid) -> Result<()> {
    at_least("sensitivity on the noise's grid", sensitivity, grid.spacing())
}

pub(super) fn all_gaussian(laws: &[NoiseLaw]) -> bool {
    !laws.is_empty() && laws.iter().all(|l| matches!(l, NoiseLaw::RoundedGaussian { .. }))
}

pub(super) fn close(field: &'static str, stated: f64, expected: f64, slack: f64) -> Result<()> {
    if (stated - expected).abs() <= slack * expected.abs() {
        Ok(())
    } else {
        Err(rejected(field, format!("the noise law states {stated}, the profile {expected}")))
    }
}

pub(super) fn scale<S: Scale>(field: &'static str, stated: S, expected: S) -> Result<()> {
    close(field, stated.into(), expected.into(), SLACK)
}

pub(super) fn probability(stated: Probability, expected: Probability) -> Result<()> {
    // The very number of the sampler: no room.
    close("noise.keep", stated.get(), expected.get(), 0.0)
}

pub(super) fn whole(field: &'static str, stated: u64, expected: u64) -> Result<()> {
    if stated == expected {
        Ok(())
    } else {
        Err(rejected(field, format!("the noise law states {stated}, the profile {expected}")))
    }
}

pub(super) fn at_least(field: &'static str, stated: f64, least: f64) -> Result<()> {
    if stated >= least * (1.0 - SLACK) {
        Ok(())
    } else {
        Err(rejected(field, format!("states {stated}, must be at least {least}")))
    }
}
