//! Defects of how a release is made: range checks, grids, generators, stated errors.

use crate::mechanisms::common::{bound, gaussian_budget, gaussian_noise};
use crate::mechanisms::covariance::{Along, Law};
use crate::mechanisms::pairwise;
use crate::mechanisms::projection::Rowwise;
use crate::search::RowPair;
use crate::subject::{Draw, Side, Subject, gaussian_ratio};
use dp_core::authority;
use dp_core::noise::{AdditiveNoise, Grid};
use dp_core::{Adjacency, Budget, NoiseRng, NoiseScale, PublicSeed};
use eval::Result;
use linalg_dp::covariance::{CovarianceMechanism, GaussianCovariance};
use sketch::RowsView;
use sketch::distances::{NoiseAddition, ValueRange};
use sketch::projection::{Family, ProjectionSpec};
use sketch::vectors::PrivateProjection;
use std::sync::Arc;

/// A range check that skips what is not stored: an absent entry is zero, outside of `[4, 5]`, and
/// the distance to it moves by nine where the noise accounts for one.
fn excluded_zero() -> Result<Subject> {
    let claim = gaussian_budget()?;
    let adjacency = Adjacency::Attribute { beta: bound(1.0)? };
    let made = NoiseAddition::new(2, 1, ValueRange::new(4.0, 5.0)?, adjacency, claim)?;
    let (noise, guarantee) = (made.noise(), made.guarantee().clone());
    let sigma = noise.sigma().get();
    let stored = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = [*side.of(&5.0, &4.0), 4.0];
        let release = made.release(RowsView::f64(2, 1, &rows)?, &mut draw.noise())?;
        out.extend_from_slice(release.payload().values());
        Ok(())
    };
    let pair = "two rows of one entry in [4, 5], the first moves by one";
    let original = Subject::new("", pairwise::FAMILY, claim, pair, 1, stored)
        .under(&guarantee)?
        .with_runs(20_000)
        .likelihood(move |z| gaussian_ratio(z, &[1.0], &[0.0], sigma));
    let absent = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        // The second row has no entry.
        let mut distance = [*side.of(&25.0, &16.0)];
        noise.add_to(&mut draw.noise(), &mut distance)?;
        out.extend(distance);
        Ok(())
    };
    Ok(original.twin("range check that skips absent entries", absent))
}

/// Rounding to a grid far coarser than the noise: neighbours one apart fall a spacing apart.
fn coarse_grid() -> Result<Subject> {
    let claim = gaussian_budget()?;
    let projection = ProjectionSpec::new(Family::Identity, 1, 1, PublicSeed::new(1))?.build();
    let adjacency = Adjacency::Attribute { beta: bound(1.0)? };
    let made = PrivateProjection::gaussian(projection, adjacency, bound(1e6)?, claim)?;
    let rows = RowPair { left: vec![524_288.0], right: vec![524_289.0] };
    let rowwise = Rowwise { mechanism: Arc::new(made), rows };
    let pair = "524288 and 524289";
    let original = rowwise.subject("", pair)?.batched(1).with_runs(20_000);
    let noise = authority!().gaussian(NoiseScale::new(rowwise.scale())?, Grid::new(-20)?)?;
    let spacing = 2f64.powi(20);
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let value: f64 = *side.of(&524_288.0, &524_289.0);
        let mut z = [0.0];
        noise.fill(&mut draw.noise(), &mut z);
        let steps = (value / spacing).round_ties_even() + (z[0] / spacing).round_ties_even();
        out.push(steps * spacing);
        Ok(())
    };
    Ok(original.twin("grid coarser than the noise", sample))
}

/// A sketch whose secret matrix comes from a generator that everybody knows, whatever the
/// certificate says of the one that closed it.
fn known_generator() -> Result<Subject> {
    let (along, claim) = (Along::PLAIN, gaussian_budget()?);
    let original = along.subject(Law::Jl(4), claim)?.with_runs(4_000);
    let (made, noise) = Law::Jl(4).made(along.dim, along.adjacency()?, claim)?;
    let sides = along.sides();
    let sample = move |side: Side, _: &Draw, out: &mut Vec<f64>| {
        let rows = side.of(sides[0].as_slice(), sides[1].as_slice());
        let release = made.release(rows, &mut NoiseRng::deterministic_not_private(7))?;
        along.observe(release.payload().raw(), noise, out);
        Ok(())
    };
    Ok(original.twin("noise from a known generator", sample))
}

/// Blocks of the sums below.
const BLOCKS: usize = 4;

/// Errors of a sum of four private covariances of nothing, in units of what is stated for them: on
/// the other side stands the stated law, and the claim is that nobody can tell them apart.
fn errors(budget: Budget, cut: bool) -> Result<Subject> {
    let adjacency = Adjacency::AddRemoveRow { bound: bound(1.0)? };
    let stated = GaussianCovariance::calibrate(1, adjacency, gaussian_budget()?)?.sigma().get();
    let made = GaussianCovariance::calibrate(1, adjacency, budget)?;
    let law = authority!().gaussian(NoiseScale::new(1.0)?, Grid::new(-40)?)?;
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let mut rng = draw.noise();
        if side == Side::Right {
            let mut z = [0.0];
            law.fill(&mut rng, &mut z);
            out.extend(z);
            return Ok(());
        }
        let mut sum = 0.0;
        for _ in 0..BLOCKS {
            let block = made.release(&[], &mut rng)?.payload().raw()[(0, 0)];
            sum += if cut { block.max(0.0) } else { block };
        }
        out.push(sum / (stated * (BLOCKS as f64).sqrt()));
        Ok(())
    };
    let pair = "the error of a sum of four covariances of nothing, and the law stated for it";
    let claim = Budget::new(0.05, 0.0)?;
    let family = crate::mechanisms::covariance::FAMILY;
    Ok(Subject::new("stated error of a sum of covariances", family, claim, pair, 1, sample)
        .with_runs(40_000)
        .score("size", |x| x[0].abs()))
}

/// The error of a sum is the one stated. Audited beside the twins, and never accused.
///
/// # Errors
/// A calibration that fails.
pub(super) fn stated_error() -> Result<Subject> {
    let weaker = |share: f64| {
        let claim = gaussian_budget()?;
        let own = gaussian_noise(claim)?;
        let budget = crate::subject::budget_of(claim, share * own, gaussian_noise)?;
        // At zero the densities are in the ratio of the deviations.
        Ok(errors(budget, false)?.giving(-share.ln()))
    };
    Ok(errors(gaussian_budget()?, false)?.weaker_by(weaker))
}

/// Each block cut to what a covariance can be, then the sum: biased, under the error of an unbiased one.
fn biased_sum() -> Result<Subject> {
    let budget = gaussian_budget()?;
    let cut = errors(budget, true)?;
    let original = errors(budget, false)?;
    let sample = cut.sample.clone();
    Ok(original
        .twin("biased sum under a stated error", move |side, draw, out| sample(side, draw, out)))
}

/// Twins of releases.
pub(super) fn twins() -> Result<Vec<Subject>> {
    Ok(vec![excluded_zero()?, coarse_grid()?, known_generator()?, biased_sum()?])
}
