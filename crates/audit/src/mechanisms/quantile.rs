//! A covariance whose bound is chosen: counts that decide between two bounds, and the matrix for either.

use super::common::{bound, gaussian_budget};
use super::covariance::FAMILY;
use crate::subject::{Draw, Side, Subject, lowest_bit};
use dp_core::mechanism::Mechanism as _;
use dp_core::{Adjacency, Budget, Probability, PublicValue, SquaredNorm};
use eval::Result;
use linalg_dp::covariance::{CovarianceNoise, QuantileConfig, QuantileCovariance};

/// Rows of either length that both sides have: one more decides between two bounds where counts have no noise.
const EACH: usize = 1000;

/// Two columns: rows along the first, of the bound's length and as many of the threshold before; and one more of the
/// bound's length, or in place of a shorter one along the second.
fn chosen(adjacency: Adjacency, budget: Budget) -> Result<Subject> {
    let made = mechanism(adjacency, budget)?;
    let guarantee = made.guarantee().clone();
    let replaced = matches!(adjacency, Adjacency::ReplaceRow { .. });
    let short = (-0.25f64).exp2();
    let both = [[short, 0.0].repeat(EACH), [1.0, 0.0].repeat(EACH)].concat();
    let left = if replaced { [both.clone(), vec![0.0, short]].concat() } else { both.clone() };
    let right = [both, vec![1.0, 0.0]].concat();
    // Every row lies along an axis.
    let exact = |rows: &[f64], bound: f64, axis: usize| {
        rows.chunks(2).map(|row| row[axis].min(bound).powi(2)).sum::<f64>()
    };
    let sides = [left.clone(), right.clone()];
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = side.of(sides[0].as_slice(), sides[1].as_slice());
        let release = made.release(rows, &mut draw.noise())?;
        let chosen = match release.certificate().statement().public.get("chosen bound") {
            Some(PublicValue::Real(bound)) => *bound,
            _ => 0.0,
        };
        let sigma = match release.payload().noise() {
            CovarianceNoise::SymmetricGaussian { sigma } => sigma.get(),
            _ => f64::NAN,
        };
        out.push(chosen);
        let (mut ratio, mut bits) = (0.0, f64::INFINITY);
        for axis in 0..2 {
            let seen = release.payload().raw()[(axis, axis)];
            let (l, r) = (exact(&left, chosen, axis), exact(&right, chosen, axis));
            // In units of the noise, so that all bounds are seen alike.
            out.push((seen - 0.5 * (l + r)) / sigma);
            ratio += ((seen - l).powi(2) - (seen - r).powi(2)) / (2.0 * sigma * sigma);
            bits = bits.min(f64::from(lowest_bit(seen)));
        }
        out.extend([ratio, bits]);
        Ok(())
    };
    let name = if replaced { "chosen bound, replaced row" } else { "chosen bound" };
    let pair = "rows of two lengths, and one more of the longer, or for a shorter one across";
    Ok(Subject::new(name, FAMILY, budget, pair, 5, sample)
        .under(&guarantee)?
        .seeing(3)
        .with_runs(20_000)
        .likelihood(|x| x[3])
        .score("low bits", |x| x[4]))
}

fn mechanism(adjacency: Adjacency, budget: Budget) -> Result<QuantileCovariance> {
    let config = QuantileConfig { dim: 2, adjacency, within: Probability::new(0.5)?, means: false };
    Ok(QuantileCovariance::calibrate(config, budget)?)
}

/// The audits.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subjects() -> Result<Vec<Subject>> {
    let claim = gaussian_budget()?;
    let bound = bound(1.0)?;
    // Sigma of the matrix at the adjacency's bound: every other scale goes with it.
    let noise = |adjacency: Adjacency, budget: Budget| -> Result<f64> {
        Ok(mechanism(adjacency, budget)?.predict(SquaredNorm::new(1.0)?)?.root_mean_square)
    };
    let of = |adjacency: Adjacency| -> Result<Subject> {
        let built =
            Subject::built(claim, move |b| noise(adjacency, b), move |b| chosen(adjacency, b))?;
        let built = built.twin_with_runs(200_000);
        // Its twins take minutes: one is enough for the quick form.
        Ok(if matches!(adjacency, Adjacency::AddRemoveRow { .. }) {
            built.twin_only_in_full()
        } else {
            built
        })
    };
    [Adjacency::AddRemoveRow { bound }, Adjacency::ReplaceRow { bound }]
        .into_iter()
        .map(of)
        .collect()
}
