//! The noisy power method: what it publishes, and all its products.

use super::common::{bound, gaussian_budget, gaussian_noise};
use super::covariance::FAMILY;
use crate::subject::{Draw, Side, Subject, gaussian_ratio};
use dp_core::authority;
use dp_core::noise::{AdditiveNoise, Grid};
use dp_core::{Adjacency, Budget, L2Sensitivity, NoiseScale, PrivacyProfile, Profile, PublicSeed};
use eval::Result;
use linalg_dp::covariance::NoisyPower;
use sketch::projection::{Family, ProjectionSpec};

fn adjacency() -> Result<Adjacency> {
    Ok(Adjacency::AddRemoveRow { bound: bound(1.0)? })
}

/// The power method on rows along its public start, as published: the strength is the last product.
fn published(name: &str, dim: usize, passes: usize, claim: Budget) -> Result<Subject> {
    let made = NoisyPower::calibrate(dim, 1, passes, adjacency()?, claim)?;
    let (start, row) = along_first(dim)?;
    // Many rows where there are several passes, so that the first turns the iterate but little.
    let base = if passes == 1 { 30 } else { BASE as usize };
    let (left, right) = (row.repeat(base), row.repeat(base + 1));
    let truth = PrivacyProfile::epsilon(
        &Profile::Gaussian { sensitivity: L2Sensitivity::new(1.0)?, sigma: made.sigma() },
        claim.delta,
    )?;
    let guarantee = made.guarantee().clone();
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = side.of(left.as_slice(), right.as_slice());
        let release = made.release(rows, start, &mut draw.noise())?;
        let payload = release.payload();
        let (s, u) = (payload.strengths()[0], payload.directions());
        out.push(s * row.iter().enumerate().map(|(i, x)| x * u[(i, 0)]).sum::<f64>().abs());
        Ok(())
    };
    let pair = "one more row along the public start, which the rows follow";
    Ok(Subject::new(name, FAMILY, claim, pair, 1, sample)
        .under(&guarantee)?
        .giving(truth.get())
        .with_runs(20_000)
        .score("likelihood ratio", |x| x[0]))
}

/// A public start near the first axis, where the first product shows the most; and that start.
fn along_first(dim: usize) -> Result<(PublicSeed, Vec<f64>)> {
    let mut best = (PublicSeed::new(0), vec![1.0]);
    let mut most = -1.0;
    for seed in (0..300).map(PublicSeed::new) {
        let law = ProjectionSpec::new(Family::Gaussian, dim, 1, seed)?.build();
        let entry = |i: usize| {
            let mut x = [0.0];
            law.row(i, &mut x);
            x[0]
        };
        let x: Vec<f64> = (0..dim).map(entry).collect();
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        if x[0].abs() / norm > most {
            most = x[0].abs() / norm;
            best = (seed, x.iter().map(|x| x / norm).collect());
        }
    }
    Ok(best)
}

/// Columns, passes and base rows of the audit of all products.
pub(crate) const DIM: usize = 2;
/// Passes over the data.
pub(crate) const PASSES: usize = 2;
/// Many rows, so that no pass turns the iterate by much.
const BASE: f64 = 400.0;

/// All products of the power method, each with noise of this scale; the composition accounts for all of
/// them, whatever is published.
///
/// # Errors
/// A scale that no grid fits.
pub(crate) fn products(
    sigma: NoiseScale,
) -> Result<impl Fn(Side, &Draw, &mut Vec<f64>) -> Result<()> + Send + Sync + 'static> {
    let noise = authority!().gaussian(sigma, Grid::new(-40)?)?;
    let start = along_first(DIM)?.1;
    Ok(move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let mut rng = draw.noise();
        let strength = [BASE, BASE + 1.0];
        let (mut x, mut ratio) = (start.clone(), 0.0);
        for _ in 0..PASSES {
            // A^T A = strength e1 e1^T.
            let clean = strength.map(|s| [s * x[0], 0.0]);
            let mut y = *side.of(&clean[0], &clean[1]);
            noise.add_to(&mut rng, &mut y)?;
            ratio += gaussian_ratio(&y, &clean[0], &clean[1], sigma.get());
            let norm = y[0].hypot(y[1]);
            x = y.iter().map(|y| y / norm).collect();
            out.extend(y);
        }
        out.push(ratio);
        Ok(())
    })
}

/// The audit of all products at a budget.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn all_products(claim: Budget) -> Result<Subject> {
    let made = NoisyPower::calibrate(DIM, 1, PASSES, adjacency()?, claim)?;
    let name = "noisy power method, d = 2, both products of two passes";
    let pair = "one more row along the top direction; every product is seen";
    let width = PASSES * DIM + 1;
    Ok(Subject::new(name, FAMILY, claim, pair, width, products(made.sigma())?)
        .under(made.guarantee())?
        .seeing(PASSES * DIM)
        .with_runs(20_000)
        .likelihood(|x| x[PASSES * DIM]))
}

/// The audits.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subjects() -> Result<Vec<Subject>> {
    let claim = gaussian_budget()?;
    let one = |budget| published("noisy power method, d = 1", 1, 1, budget);
    let many = |budget| published("noisy power method, d = 100", 100, 1, budget);
    let last = |budget| published("noisy power method, d = 2, two passes", 2, 2, budget);
    Ok(vec![
        Subject::built(claim, gaussian_noise, one)?.twin_with_runs(60_000),
        Subject::built(claim, gaussian_noise, many)?
            .with_runs(4_000)
            .in_full(32)
            .twin_only_in_full(),
        Subject::built(claim, gaussian_noise, last)?.in_full(24).twin_only_in_full().with_slack(
            "the budget covers both products; only the last one is published, so the most that a \
             tester can see is one product's shift: 0.63 at this delta",
        ),
        Subject::built(claim, gaussian_noise, all_products)?.twin_with_runs(80_000),
    ])
}
