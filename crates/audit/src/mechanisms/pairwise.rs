//! Noise on distances and flipped bits.

use super::common::{
    bound, gaussian_budget, gaussian_noise, pure_budget, pure_noise, repeated, search_rng,
};
use crate::search::{below, worst};
use crate::subject::{Draw, Side, Subject, gaussian_ratio};
use dp_core::{Adjacency, Budget};
use eval::Result;
use sketch::RowsView;
use sketch::distances::{NoiseAddition, RandomizedResponse, ValueRange};

/// Family name in the table.
pub(crate) const FAMILY: &str = "pairwise";
/// Rows of one release, each an independent run on the same row.
const BATCH: usize = 64;

/// Squared distances of all pairs of four rows of three bits.
fn distances(rows: &[f64]) -> Vec<f64> {
    let row = |i: usize| &rows[3 * i..3 * i + 3];
    let pairs = (0..4).flat_map(|i| (i + 1..4).map(move |j| (i, j)));
    pairs.map(|(i, j)| row(i).iter().zip(row(j)).map(|(a, b)| (a - b).powi(2)).sum()).collect()
}

fn noise_addition(budget: Budget) -> Result<Subject> {
    let adjacency = Adjacency::Attribute { beta: bound(1.0)? };
    let made = NoiseAddition::new(4, 3, ValueRange::BITS, adjacency, budget)?;
    // All bits, one of which is flipped.
    let table = |bits: u32| (0..12).map(|i| f64::from(bits >> i & 1)).collect::<Vec<f64>>();
    let moved = |&(bits, i): &(u32, usize)| {
        let (a, b) = (distances(&table(bits)), distances(&table(bits ^ 1 << i)));
        a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
    };
    let candidates = (0..12).map(|i| (0u32, i));
    let change = |&(bits, i): &(u32, usize), rng: &mut _| {
        if below(rng, 2) == 0 { (bits ^ 1 << below(rng, 12), i) } else { (bits, below(rng, 12)) }
    };
    let ((bits, i), _) = worst(candidates, 2000, &mut search_rng(12), change, moved);
    let (left, right) = (table(bits), table(bits ^ 1 << i));
    let (a, b) = (distances(&left), distances(&right));
    let (sigma, guarantee) = (made.noise().sigma().get(), made.guarantee().clone());
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = RowsView::f64(4, 3, side.of(&left, &right))?;
        out.extend_from_slice(made.release(rows, &mut draw.noise())?.payload().values());
        Ok(())
    };
    let pair = "4 rows of 3 bits, one bit flipped: search over all tables";
    Ok(Subject::new("NoiseAddition", FAMILY, budget, pair, 6, sample)
        .under(&guarantee)?
        .with_runs(40_000)
        .likelihood(move |z| gaussian_ratio(z, &a, &b, sigma)))
}

fn randomized_response(claim: Budget) -> Result<Subject> {
    let made = RandomizedResponse::new(3, claim.epsilon)?;
    let guarantee = made.guarantee().clone();
    let (left, right) = (repeated(&[0.0, 0.0, 1.0], BATCH), repeated(&[0.0, 1.0, 1.0], BATCH));
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = RowsView::f64(BATCH, 3, side.of(&left, &right))?;
        let release = made.release(rows, &mut draw.noise())?;
        for row in 0..BATCH {
            let word = release.payload().row(row)?[0];
            out.extend((0..3).map(|j| (word >> j & 1) as f64));
        }
        Ok(())
    };
    let pair = "the second of three bits; bits are flipped alike and apart";
    Ok(Subject::new("RandomizedResponse", FAMILY, claim, pair, 3, sample)
        .under(&guarantee)?
        .batched(BATCH)
        .of_letters()
        .likelihood(|x| x[1]))
}

/// The family's audits.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subjects() -> Result<Vec<Subject>> {
    Ok(vec![
        Subject::built(gaussian_budget()?, gaussian_noise, noise_addition)?,
        Subject::built(pure_budget()?, pure_noise, randomized_response)?,
    ])
}
