//! Private low-rank approximation.

use super::{bound, gaussian_budget, search_rng};
use crate::audit::search::worst_direction;
use crate::audit::subject::{Draw, Side, Subject, gaussian_ratio};
use crate::error::Result;
use dp_core::{Budget, NoiseRng, PublicSeed};
use faer::linalg::solvers::Solve;
use faer::{Mat, MatRef};
use linalg_dp::low_rank::{
    BasisProjection, InputPerturbation, Pfp, PfpOptions, PrivateLowRank, Pruning, PublicBasis,
    PublishedPfp, RangeFinder, Setting, Spread,
};
use sketch::RowsView;
use sketch::projection::{Gaussian, project};

/// Family name in the table.
pub const FAMILY: &str = "low rank";

const M: usize = 4;
const N: usize = 3;
const K: usize = 3;

fn setting(row_bound: f64) -> Result<Setting> {
    Ok(Setting::new((M, N), 1, 2, bound(1.0)?, bound(row_bound)?)?)
}

/// A matrix of zeros but for one row.
fn only(row: usize, values: &[f64]) -> Vec<f64> {
    let mut a = vec![0.0; M * N];
    a[row * N..(row + 1) * N].copy_from_slice(values);
    a
}

/// Half a unit step of row `row` on either side of zero.
fn halves(row: usize, direction: &[f64]) -> [Vec<f64>; 2] {
    let half = |s: f64| only(row, &direction.iter().map(|x| 0.5 * s * x).collect::<Vec<_>>());
    [half(-1.0), half(1.0)]
}

fn view(a: &[f64]) -> Result<RowsView<'_>> {
    Ok(RowsView::f64(M, N, a)?)
}

/// `ln ratio` of the range finder's noisy product, given the published seed.
fn range_ratio(
    y: MatRef<'_, f64>,
    seed: PublicSeed,
    sigma: f64,
    sides: &[Vec<f64>; 2],
) -> Result<f64> {
    let omega = Gaussian::new(N, K, seed)?;
    let clean = |a: &[f64]| -> Result<Vec<f64>> { Ok(project(&omega, view(a)?)?) };
    let flat: Vec<f64> = (0..M * K).map(|i| y[(i / K, i % K)]).collect();
    Ok(gaussian_ratio(&flat, &clean(&sides[0])?, &clean(&sides[1])?, sigma))
}

fn range_finder() -> Result<Subject> {
    let claim = gaussian_budget()?;
    let made = RangeFinder::calibrate(setting(1.0)?, claim)?;
    let guarantee = made.guarantee().clone();
    let sides = halves(2, &[0.6, 0.0, 0.8]);
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let a = side.of(&sides[0], &sides[1]);
        let release = made.release(&view(a)?, draw.fresh(), &mut draw.noise())?;
        let range = release.payload();
        let y = range.sketch();
        out.extend((0..M * K).map(|i| y[(i / K, i % K)]));
        out.push(range_ratio(y, range.seed(), range.sigma().get(), &sides)?);
        Ok(())
    };
    let pair = "any row and direction: the matrix drawn is rotation invariant";
    Ok(Subject::new("range finder, exact", FAMILY, claim, pair, M * K + 1, sample)
        .under(&guarantee)?
        .seeing(M * K)
        .with_runs(8_000)
        .likelihood(|x| x[M * K]))
}

/// `root^-1 W^T A` of a released projection: the mean of its coefficients.
fn coefficients(low_rank: &PrivateLowRank, a: &[f64]) -> Mat<f64> {
    let w = low_rank.basis();
    let a = MatRef::from_row_major_slice(a, M, N);
    low_rank.noise_root().partial_piv_lu().solve(w.transpose() * a)
}

fn projection_ratio(low_rank: &PrivateLowRank, sides: &[Vec<f64>; 2]) -> f64 {
    let seen = low_rank.factors().coefficients();
    let square = |a: &[f64]| (seen - coefficients(low_rank, a)).norm_l2().powi(2);
    0.5 * (square(&sides[0]) - square(&sides[1]))
}

fn basis_projection(spread: Spread, name: &str) -> Result<Subject> {
    let claim = gaussian_budget()?;
    let made = BasisProjection::calibrate(setting(1.0)?, claim, spread)?;
    let guarantee = made.guarantee().clone();
    let w = Mat::from_fn(M, 2, |i, j| [[0.9, 0.1], [0.3, -0.5], [0.3, 0.8], [0.1, 0.3]][i][j]);
    let w = PublicBasis::declared(w, "fixed in this audit")?;
    // The row and the direction that move the coefficients most, by search.
    let zero = vec![0.0; M * N];
    let mut rng = NoiseRng::deterministic_not_private(1);
    let probe = made.release(&view(&zero)?, &w, &mut rng)?.into_parts().0;
    let mut best = (0, vec![], 0.0);
    for row in 0..M {
        let moved = |v: &[f64]| coefficients(&probe, &only(row, v)).norm_l2();
        let (v, found) = worst_direction(N, 1.0, &mut search_rng(31), moved);
        if found > best.2 {
            best = (row, v, found);
        }
    }
    let sides = halves(best.0, &best.1);
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let a = side.of(&sides[0], &sides[1]);
        let release = made.release(&view(a)?, &w, &mut draw.noise())?;
        let payload = release.payload();
        let seen = payload.factors().coefficients();
        out.extend((0..2 * N).map(|i| seen[(i % 2, i / 2)]));
        out.push(projection_ratio(payload, &sides));
        Ok(())
    };
    let pair = "row and direction by search on the coefficients' shift";
    Ok(Subject::new(name, FAMILY, claim, pair, 2 * N + 1, sample)
        .under(&guarantee)?
        .seeing(2 * N)
        .with_runs(10_000)
        .likelihood(|x| x[2 * N]))
}

/// Observes both steps of a release: the ratio first, then the noisy product.
fn both_steps(payload: &PrivateLowRank, sides: &[Vec<f64>; 2], out: &mut Vec<f64>) -> Result<()> {
    let mut ratio = projection_ratio(payload, sides);
    if let Some(range) = payload.range() {
        ratio += range_ratio(range.sketch(), range.seed(), range.sigma().get(), sides)?;
        out.extend((0..M * K).map(|i| range.sketch()[(i / K, i % K)]));
    }
    out.push(ratio);
    Ok(())
}

fn pfp() -> Result<Subject> {
    let claim = gaussian_budget()?;
    let made = Pfp::calibrate(setting(1.0)?, claim, PfpOptions::default())?;
    let guarantee = made.guarantee().clone();
    let sides = halves(1, &[1.0, 0.0, 0.0]);
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let a = side.of(&sides[0], &sides[1]);
        let release = made.release(&view(a)?, draw.fresh(), &mut draw.noise())?;
        both_steps(release.payload(), &sides, out)
    };
    let pair = "one row shifts; both steps are seen, with the matrix and the basis";
    Ok(Subject::new("find and project, exact", FAMILY, claim, pair, M * K + 1, sample)
        .under(&guarantee)?
        .seeing(M * K)
        .with_runs(4_000)
        .likelihood(|x| x[M * K]))
}

fn published_pfp() -> Result<Subject> {
    let claim = Budget::new(1.0, 1e-2)?;
    let made = PublishedPfp::new(setting(1.0)?, claim, Pruning::None)?;
    let guarantee = made.guarantee().clone();
    let sides = halves(1, &[1.0, 0.0, 0.0]);
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let a = side.of(&sides[0], &sides[1]);
        let release = made.release(&view(a)?, draw.fresh(), &mut draw.noise())?;
        both_steps(release.payload(), &sides, out)
    };
    let pair = "one row shifts; both steps are seen, with the matrix and the basis";
    Ok(Subject::new("find and project, published", FAMILY, claim, pair, M * K + 1, sample)
        .under(&guarantee)?
        .seeing(M * K)
        .with_runs(2_000)
        // Both steps add noise for tail bounds: there is little to find, in many runs.
        .in_full(1000)
        .likelihood(|x| x[M * K]))
}

fn input_perturbation() -> Result<Subject> {
    let claim = gaussian_budget()?;
    let made = InputPerturbation::calibrate(setting(41.0)?, claim)?;
    let guarantee = made.guarantee().clone();
    // A strong row: the best approximation of rank one keeps what happens along it.
    let sides = [only(1, &[40.0, 0.0, 0.0]), only(1, &[41.0, 0.0, 0.0])];
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let a = side.of(&sides[0], &sides[1]);
        let release = made.release(&view(a)?, &mut draw.noise())?;
        out.extend((0..N).map(|j| release.payload().entry(1, j)));
        Ok(())
    };
    let pair = "a strong row grows by one along itself";
    Ok(Subject::new("input perturbation", FAMILY, claim, pair, N, sample)
        .under(&guarantee)?
        .with_runs(20_000)
        .score("likelihood ratio", |x| x[0]))
}

/// The family's audits.
///
/// # Errors
/// A calibration that fails.
pub fn subjects() -> Result<Vec<Subject>> {
    Ok(vec![
        range_finder()?,
        basis_projection(Spread::Isotropic, "projection on a basis, isotropic")?,
        basis_projection(Spread::LeastTrace, "projection on a basis, least trace")?,
        pfp()?,
        published_pfp()?,
        input_perturbation()?,
    ])
}
