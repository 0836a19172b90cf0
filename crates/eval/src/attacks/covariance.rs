//! Attacks on released covariances.

use super::measured::{Attack, Measured, Secret};
use crate::data::Points;
use crate::error::{Error, Result};
use dp_core::{Adjacency, Release};
use faer::{Mat, MatRef};
use linalg_dp::covariance::PrivateCovariance;
use linalg_dp::dense::product;

/// Whether rows are in the data: as many rows of the truth, which are, as public rows, which are not.
///
/// Rows longer than the bound of the adjacency are shortened to it, as the release did. All guesses share the noise of
/// the one release; the interval counts as many independent guesses as their directions are worth.
///
/// # Errors
/// [`Error::InvalidParameter`] where the columns do not go together, or there are no rows.
pub fn on_covariance(
    release: &Release<PrivateCovariance>,
    truth: &Points,
    public: &Points,
) -> Result<Vec<Attack>> {
    let (matrix, guarantee) = (release.payload(), release.certificate().guarantee());
    let d = matrix.dim();
    for (name, rows) in [("columns of the truth", truth), ("columns of the public rows", public)] {
        if rows.d() != d || rows.n() == 0 {
            let allowed = format!("some rows of {d} columns, as in the release");
            return Err(Error::invalid(name, format!("{} x {}", rows.n(), rows.d()), allowed));
        }
    }
    let bound = match guarantee.adjacency().each() {
        Adjacency::AddRemoveRow { bound }
        | Adjacency::ZeroRow { bound }
        | Adjacency::ReplaceRow { bound } => bound.get(),
        _ => f64::INFINITY,
    };
    let (members, others) = (clipped(truth, bound), clipped(public, bound));
    let released = matrix.unbiased();
    let clean = product(members.transpose(), members.as_ref());
    // As many of either; zero rows are nowhere.
    let count = members.nrows().min(others.nrows());
    let there = |rows: &Mat<f64>| -> Vec<usize> {
        (0..count).filter(|&i| rows.row(i).squared_norm_l2() > 0.0).collect()
    };
    let (inside, outside) = (there(&members), there(&others));
    let tests = inside.len() + outside.len();
    if tests == 0 {
        return Err(Error::invalid("rows", "all zero", "some that are not zero"));
    }
    let row = |t: usize| match inside.get(t) {
        Some(&i) => members.row(i),
        None => others.row(outside[t - inside.len()]),
    };
    // Of length one: the form of a released matrix, over the row's squared length.
    let units = Mat::from_fn(tests, d, |t, j| row(t)[j] / row(t).norm_l2());
    let forms = |matrix: MatRef<'_, f64>| -> Vec<f64> {
        let seen = product(units.as_ref(), matrix);
        let form = |t: usize| (0..d).map(|j| seen[(t, j)] * units[(t, j)]).sum::<f64>();
        (0..tests).map(form).collect()
    };
    let member = |t: usize| t < inside.len();

    // Who knows all other rows looks at what is left, in the direction of the row.
    let rest = forms((&released - &clean).as_ref());
    let hits = (0..tests).filter(|&t| {
        let left = rest[t] / row(t).squared_norm_l2() + if member(t) { 1.0 } else { 0.0 };
        (left > 0.5) == member(t)
    });
    let share = hits.count() as f64 / tests as f64;
    // Guesses are as dependent as their statistics, at most: tests squared over the sum of all correlations.
    let together = product(units.transpose(), units.as_ref()).squared_norm_l2();
    let worth = (tests as f64 * tests as f64 / together.max(1.0)).min(tests as f64);
    let (exact, says) = Secret::Inside.bound(guarantee);
    let informed = Attack {
        name: "presence of a row: likelihood ratio",
        knows: "all other rows",
        measure: "right guesses",
        release: Measured::share(share * worth, worth),
        without: 0.5,
        clean: 1.0,
        bound: exact,
        says: says.clone(),
    };

    // Who knows public rows alone looks for rows that the release favours over the public ones.
    let scale = members.nrows() as f64 / others.nrows() as f64;
    let usual = product(others.transpose(), others.as_ref()) * faer::Scale(scale);
    let by_score = |matrix: &Mat<f64>| {
        let scores = forms((matrix - &usual).as_ref());
        let mut order: Vec<usize> = (0..tests).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        let right =
            order.iter().enumerate().filter(|&(place, &t)| (place < inside.len()) == member(t));
        right.count() as f64 / tests as f64
    };
    let share = by_score(&released);
    let outsider = Attack {
        name: "presence of a row: favoured over public rows",
        knows: "public rows",
        release: Measured::share(share * worth, worth),
        clean: by_score(&clean),
        says,
        ..informed.clone()
    };
    Ok(vec![informed, outsider])
}

/// Rows no longer than the bound.
fn clipped(rows: &Points, bound: f64) -> Mat<f64> {
    let factor = |i: usize| {
        let norm = rows.row(i).iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm > bound { bound / norm } else { 1.0 }
    };
    let factors: Vec<f64> = (0..rows.n()).map(factor).collect();
    Mat::from_fn(rows.n(), rows.d(), |i, j| rows.row(i)[j] * factors[i])
}
