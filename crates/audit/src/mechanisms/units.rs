//! Unit vectors: any two rows, here two that point away from each other.

use super::common::{pure_budget, pure_noise};
use super::projection::BATCH;
use crate::subject::{Draw, Side, Subject};
use dp_core::noise::NoiseLaw;
use dp_core::{Adjacency, Budget, PublicSeed};
use eval::Result;
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec};
use sketch::units::{PrivateUnits, UnitsConfig};

/// Family name in the table.
pub(crate) const FAMILY: &str = "unit vectors";

const PAIR: &str = "a row and its opposite, whose caps do not meet";

/// Rows of k numbers, after a projection from twice as many for ProjUnit.
fn unit(name: &'static str, family: Family, d: usize, k: usize, claim: Budget) -> Result<Subject> {
    let projection = ProjectionSpec::new(family, d, k, PublicSeed::new(81))?.build();
    let row: Vec<f64> = (0..d).map(|i| if i % 3 == 0 { 0.7 } else { -0.1 * i as f64 }).collect();
    let mut image = vec![0.0; k];
    projection.apply(RowsView::f64(1, d, &row)?, &mut image)?;
    let norm = image.iter().map(|x| x * x).sum::<f64>().sqrt();
    let config = UnitsConfig { projection, adjacency: Adjacency::AnyInput, lengths: None };
    let made = PrivateUnits::new(config, claim)?;
    let NoiseLaw::UnitCap { threshold, .. } = made.noise().law() else {
        return Err(dp_core::Error::file("noise law", "not that of unit vectors").into());
    };
    let guarantee = made.guarantee().clone();
    let (left, right) =
        (row.repeat(BATCH), row.repeat(BATCH).iter().map(|x| -x).collect::<Vec<_>>());
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = RowsView::f64(BATCH, d, side.of(&left, &right))?;
        out.extend_from_slice(made.release(rows, &mut draw.noise())?.payload().values());
        Ok(())
    };
    let epsilon = claim.epsilon.get();
    Ok(Subject::new(name, FAMILY, claim, PAIR, k, sample)
        .batched(BATCH)
        .under(&guarantee)?
        .with_runs(40_000)
        // The likelihood ratio has three values.
        .likelihood(move |z| {
            let along = z.iter().zip(&image).map(|(z, u)| z * u).sum::<f64>() / norm;
            if along.abs() < threshold { 0.0 } else { -along.signum() * epsilon }
        }))
}

/// The family's audits.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subjects() -> Result<Vec<Subject>> {
    Ok(vec![
        Subject::built(pure_budget()?, pure_noise, |claim| {
            unit("PrivUnitG", Family::Identity, 3, 3, claim)
        })?,
        Subject::built(pure_budget()?, pure_noise, |claim| {
            unit("ProjUnit, OPORP", Family::Oporp, 12, 4, claim)
        })?,
    ])
}
