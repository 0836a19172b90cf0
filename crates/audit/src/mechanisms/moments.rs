//! Sums and second moments released together.

use super::common::{bound, gaussian_budget};
use super::covariance::{FAMILY, Symmetric, observe};
use crate::subject::{Draw, Side, Subject, lowest_bit};
use dp_core::{Adjacency, Budget};
use eval::Result;
use linalg_dp::covariance::GaussianCovariance;

/// Sums and second moments together, two columns: a row on top of nothing, or replaced by one at the angle of the
/// largest change, `<x, y> = -c^2`.
fn moments(adjacency: Adjacency, budget: Budget) -> Result<Subject> {
    const C: f64 = 0.4375;
    let made = GaussianCovariance::calibrate_moments(2, adjacency, budget)?;
    let (guarantee, sigma) = (made.guarantee().clone(), made.sigma().get());
    let replaced = matches!(adjacency, Adjacency::ReplaceRow { .. });
    let other = vec![-C * C, (1.0 - C.powi(4)).sqrt()];
    let sides = [if replaced { other } else { vec![] }, vec![1.0, 0.0]];
    // Coordinates in which the noise is isotropic: `a_11, a_22, c^2 n`, then those off the diagonal times root 2.
    let isotropic = |seconds: [f64; 3], sums: [f64; 3]| {
        let root = core::f64::consts::SQRT_2;
        [seconds[0], seconds[1], sums[2], root * seconds[2], root * sums[0], root * sums[1]]
    };
    let exact = |rows: &[f64]| {
        let m = Symmetric::gram(rows);
        let sum = |i: usize| C * rows.chunks_exact(2).map(|r| r[i]).sum::<f64>();
        isotropic([m.a, m.b, m.c], [sum(0), sum(1), C * C * (rows.len() / 2) as f64])
    };
    let [left, right] = [&sides[0], &sides[1]].map(|rows| exact(rows));
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = side.of(sides[0].as_slice(), sides[1].as_slice());
        let release = made.release(rows, &mut draw.noise())?;
        let mut seconds = Vec::new();
        observe(release.payload(), &mut seconds);
        let sums = release.payload().sums().map_or(&[0.0; 3][..], |s| s.values());
        let of = |v: &[f64]| [v[0], v[1], v[2]];
        out.extend(isotropic(of(&seconds), of(sums)));
        let lowest = seconds.iter().chain(sums).map(|x| lowest_bit(*x)).min();
        out.push(lowest.map_or(0.0, f64::from));
        Ok(())
    };
    let square =
        |x: &[f64], m: &[f64; 6]| x.iter().zip(m).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let word = if replaced { "moments, replaced row" } else { "moments" };
    let pair = "a row on top of nothing, or in place of one at the angle of the largest change";
    Ok(Subject::new(word, FAMILY, budget, pair, 7, sample)
        .under(&guarantee)?
        .seeing(6)
        .with_runs(20_000)
        .score("low bits", |x| x[6])
        .likelihood(move |x| (square(x, &left) - square(x, &right)) / (2.0 * sigma * sigma)))
}

/// The audits of moments.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subjects() -> Result<Vec<Subject>> {
    let (claim, bound) = (gaussian_budget()?, bound(1.0)?);
    let both = [Adjacency::AddRemoveRow { bound }, Adjacency::ReplaceRow { bound }];
    let made = both.map(|adjacency| {
        let noise =
            move |b| Ok(GaussianCovariance::calibrate_moments(2, adjacency, b)?.sigma().get());
        let built = Subject::built(claim, noise, move |b| moments(adjacency, b))?;
        Ok(built.twin_with_runs(60_000))
    });
    made.into_iter().collect()
}
