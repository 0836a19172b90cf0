//! Individual differential privacy, against its own claim and as differential privacy.

use super::common::{bound, gaussian_budget, gaussian_noise, pure_budget, pure_noise, repeated};
use super::signs::{epsilon_of, values};
use crate::subject::{Draw, Side, Subject};
use dp_core::numeric::ln_normal_cdf;
use dp_core::{Adjacency, Budget, PublicSeed};
use eval::Result;
use sketch::RowsView;
use sketch::projection::Family;
use sketch::signs::{IndividualNoise, IndividualSigns, SignSketch};

/// Family name in the table.
pub(crate) const FAMILY: &str = "individual DP";
/// Rows of one release, each an independent run on the same row.
const BATCH: usize = 64;

fn subject(
    name: &str,
    noise: IndividualNoise,
    claim: Budget,
    pair: &str,
    (family, rows): (Family, [Vec<f64>; 2]),
) -> Result<Subject> {
    let d = rows[0].len();
    let sketch = SignSketch::single(family, d, d, PublicSeed::new(1))?;
    let adjacency = Adjacency::Attribute { beta: bound(1.0)? };
    let made = IndividualSigns::new(sketch, noise, adjacency, bound(6.0)?, claim)?;
    // The signs that the two rows have where nothing is randomised.
    let clean = values(made.sketch(), &rows[0])?;
    let moved = values(made.sketch(), &rows[1])?;
    let (left, right) = (repeated(&rows[0], BATCH), repeated(&rows[1], BATCH));
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = RowsView::f64(BATCH, d, side.of(&left, &right))?;
        let release = made.release(rows, &mut draw.noise())?;
        let codes = release.payload().bits();
        for row in 0..BATCH {
            out.extend((0..d).map(|j| f64::from(u8::from(codes.get(row, j)))));
        }
        Ok(())
    };
    Ok(Subject::new(name, FAMILY, claim, pair, d, sample)
        .batched(BATCH)
        .of_letters()
        .with_runs(40_000)
        // Values that move alike under like noise: the ratio rises with the number of signs.
        .score("signs that follow", move |x| {
            let one = |((x, a), b): ((&f64, &f64), &f64)| (x - 0.5) * (b - a).signum();
            x.iter().zip(&clean).zip(&moved).map(one).sum()
        }))
}

/// The family's audits.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subjects() -> Result<Vec<Subject>> {
    let mut all = Vec::new();
    let gaussian = gaussian_budget()?;
    let pure = pure_budget()?;
    for (word, noise, claim) in [
        ("iDP-SignRP-G", IndividualNoise::Gaussian, gaussian),
        ("iDP-SignRP-RR", IndividualNoise::RandomizedResponse, pure),
    ] {
        // The same signs are in reach on both sides: the noise is that of one data set. One sign
        // of noise at zero says little of a Gaussian's tail: sixteen that move together say more.
        let (family, bits, others) = match noise {
            IndividualNoise::Gaussian => (Family::Rademacher, 16, 0.0),
            IndividualNoise::RandomizedResponse => (Family::Identity, 3, 5.0),
        };
        let row = move |first: f64| {
            let mut row = vec![others; bits];
            row[0] = first;
            row
        };
        let own = "neighbours with the same signs in reach: what the individual claim speaks of";
        let build = move |budget: Budget| {
            // All sixteen signs follow the one number, each through noise for all of them.
            let truth = match noise {
                IndividualNoise::Gaussian => {
                    let up = ln_normal_cdf(0.5 / gaussian_noise(budget)? / (bits as f64).sqrt());
                    epsilon_of_alike(up.exp(), bits, budget.delta.get())
                }
                IndividualNoise::RandomizedResponse => budget.epsilon.get(),
            };
            Ok(subject(word, noise, budget, own, (family, [row(-0.5), row(0.5)]))?.giving(truth))
        };
        let scale = move |budget| match noise {
            IndividualNoise::Gaussian => gaussian_noise(budget),
            IndividualNoise::RandomizedResponse => pure_noise(budget),
        };
        all.push(Subject::built(claim, scale, build)?.twin_with_runs(200_000));
        // A neighbour whose sign is within reach, while this one's is not and stays exact.
        let across = [vec![1.2, 5.0, 5.0], vec![0.2, 5.0, 5.0]];
        let whole = "a neighbour across the border of reach: what differential privacy would need";
        let name = format!("{word}, read as DP");
        all.push(
            subject(&name, noise, claim, whole, (Family::Identity, across))?
                .claimed_by("nobody: individual DP is not DP"),
        );
    }
    Ok(all)
}

/// The epsilon of `bits` bits that are one with probability `up` on one side and `1 - up` on the other.
fn epsilon_of_alike(up: f64, bits: usize, delta: f64) -> f64 {
    let (mut choose, mut outcomes) = (1.0, Vec::new());
    for ones in 0..=bits {
        let of = |p: f64| choose * p.powi(ones as i32) * (1.0 - p).powi((bits - ones) as i32);
        outcomes.push((of(up), of(1.0 - up)));
        choose *= (bits - ones) as f64 / (ones + 1) as f64;
    }
    epsilon_of(&outcomes, delta)
}
