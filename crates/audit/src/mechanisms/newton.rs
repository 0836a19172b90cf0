//! Regression by private Newton steps: the Gram matrix and every gradient are seen.

use super::common::{bound, gaussian_budget};
use crate::subject::{Draw, Side, Subject};
use dp_core::{Adjacency, Budget, L2Sensitivity, PrivacyProfile, Profile};
use eval::Result;
use linalg_dp::covariance::CovarianceNoise;
use linalg_dp::newton::{NewtonConfig, PrivateNewton};

const FAMILY: &str = "regression";
/// A target so far away that every residual is clipped.
const FAR: f64 = -1e6;

fn config(adjacency: Adjacency) -> Result<NewtonConfig> {
    Ok(NewtonConfig { features: 1, adjacency, label_bound: bound(1.0)?, intercept: false })
}

/// One feature: a row of the bound's length on top of nothing, or in place of its opposite.
fn steps(adjacency: Adjacency, budget: Budget) -> Result<Subject> {
    let made = PrivateNewton::calibrate(config(adjacency)?, budget)?;
    let (guarantee, made_sigma) = (made.guarantee().clone(), made.gradient_sigma());
    let sigma = made_sigma.get();
    let replaced = matches!(adjacency, Adjacency::ReplaceRow { .. });
    let left = if replaced { vec![-1.0, FAR] } else { vec![] };
    let right = vec![1.0, FAR];
    // What both exact matrices are, and every gradient over its clip.
    let (grams, gradients) =
        if replaced { ([1.0, 1.0], [-1.0, 1.0]) } else { ([0.0, 1.0], [0.0, 1.0]) };
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = side.of(left.as_slice(), right.as_slice());
        let release = made.release(rows, &mut draw.noise())?;
        let ratio = |seen: f64, [l, r]: [f64; 2], sigma: f64| {
            ((seen - l).powi(2) - (seen - r).powi(2)) / (2.0 * sigma * sigma)
        };
        let gram = release.payload().gram();
        let CovarianceNoise::SymmetricGaussian { sigma: of_gram } = gram.noise() else {
            return Ok(());
        };
        let seen = gram.raw()[(0, 0)];
        let mut all = ratio(seen, grams, of_gram.get());
        out.push(seen);
        for step in release.payload().steps() {
            let seen = step.gradient[0];
            all += ratio(seen, gradients, sigma);
            out.push(seen);
        }
        out.push(all);
        Ok(())
    };
    let name = if replaced { "private Newton, replaced row" } else { "private Newton" };
    let pair = "one feature, a target far away: a row on top of nothing, or for its opposite";
    let subject = Subject::new(name, FAMILY, budget, pair, 6, sample)
        .under(&guarantee)?
        .seeing(5)
        .with_runs(20_000)
        .likelihood(|x| x[5]);
    // Four gradients that move by twice the bound.
    let seen = Profile::Gaussian { sensitivity: L2Sensitivity::new(4.0)?, sigma: made_sigma };
    let most = PrivacyProfile::epsilon(&seen, budget.delta)?.get();
    Ok(if replaced {
        subject.giving(most).with_slack(
            "where gradients move most the Gram matrix does not move, and the counts are not seen",
        )
    } else {
        subject
    })
}

/// The audits.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subjects() -> Result<Vec<Subject>> {
    let claim = gaussian_budget()?;
    let bound = bound(1.0)?;
    let noise = move |adjacency: Adjacency, budget: Budget| -> Result<f64> {
        Ok(PrivateNewton::calibrate(config(adjacency)?, budget)?.gradient_sigma().get())
    };
    let mut all = Vec::new();
    for adjacency in [Adjacency::AddRemoveRow { bound }, Adjacency::ReplaceRow { bound }] {
        let built =
            Subject::built(claim, move |b| noise(adjacency, b), move |b| steps(adjacency, b))?;
        // Less of a replaced row is seen.
        let replaced = matches!(adjacency, Adjacency::ReplaceRow { .. });
        all.push(built.twin_with_runs(if replaced { 200_000 } else { 60_000 }));
    }
    Ok(all)
}
