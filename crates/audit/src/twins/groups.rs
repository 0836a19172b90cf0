//! Private groups whose moments are not paid for.

use crate::mechanisms::groups::{Pair, claim, pair};
use crate::subject::{Draw, Side, Subject};
use eval::Result;
use sketch::RowsView;
use sketch::projection::{Groups, PublicMoments};

/// Noise of the moments for what a value moves by itself, as if no other stood beside it in its row.
fn without_the_norm() -> Result<Subject> {
    let budget = claim()?;
    let made = Pair::new(budget)?;
    // A value within a half moves its own square by a quarter.
    let share = 0.25 / made.distance;
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let released = made.release(side, draw)?;
        let own = *side.of(&0.0, &1.0);
        let at = own + share * (made.between(&released.noisy_moments()) - own);
        made.observe(at, &released, out);
        Ok(())
    };
    Ok(pair(budget)?.twin("moments paid without the norm of rows", sample))
}

/// Groups of the exact covariance, beside moments that carry their noise.
fn exact_groups() -> Result<Subject> {
    let budget = claim()?;
    let made = Pair::new(budget)?;
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let released = made.release(side, draw)?;
        made.observe(made.between(&released.noisy_moments()), &released, out);
        let rows = made.rows(side);
        let d = rows.len() / 2;
        let exact = PublicMoments::of_sample(RowsView::f64(2, d, rows)?)?;
        // The sign that the first column has beside the others.
        let groups = Groups::of(&exact, 1e3)?;
        let [first, second] = [groups.signed()[0], groups.signed()[1]];
        out[2] = f64::from(first.signum() * second.signum());
        Ok(())
    };
    let twin = pair(budget)?.twin("groups made of the exact covariance", sample);
    Ok(twin.score("sign", |x| x[2]))
}

/// The twins.
///
/// # Errors
/// A calibration that fails.
pub(super) fn twins() -> Result<Vec<Subject>> {
    Ok(vec![without_the_norm()?, exact_groups()?])
}
