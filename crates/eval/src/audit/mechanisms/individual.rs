//! Individual differential privacy, against its own claim and as differential privacy.

use super::{bound, repeated};
use crate::audit::subject::{Draw, Side, Subject};
use crate::error::Result;
use dp_core::{Adjacency, Budget, PublicSeed};
use sketch::RowsView;
use sketch::projection::Family;
use sketch::sign::{IndividualNoise, IndividualSigns, SignSketch};

/// Family name in the table.
pub const FAMILY: &str = "individual DP";
/// Rows of one release, each an independent run on the same row.
const BATCH: usize = 64;

fn subject(
    name: &str,
    noise: IndividualNoise,
    claim: Budget,
    pair: &str,
    [left, right]: [[f64; 3]; 2],
) -> Result<Subject> {
    let sketch = SignSketch::single(Family::Identity, 3, 3, PublicSeed::new(1))?;
    let adjacency = Adjacency::Attribute { beta: bound(1.0)? };
    let made = IndividualSigns::new(sketch, noise, adjacency, bound(6.0)?, claim)?;
    let (left, right) = (repeated(&left, BATCH), repeated(&right, BATCH));
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = RowsView::f64(BATCH, 3, side.of(&left, &right))?;
        let release = made.release(rows, &mut draw.noise())?;
        let bits = release.payload().bits();
        for row in 0..BATCH {
            out.extend((0..3).map(|j| f64::from(u8::from(bits.get(row, j)))));
        }
        Ok(())
    };
    Ok(Subject::new(name, FAMILY, claim, pair, 3, sample)
        .batched(BATCH)
        .of_letters()
        .with_runs(30_000)
        .score("first bit", |x| x[0]))
}

/// The family's audits.
///
/// # Errors
/// A calibration that fails.
pub fn subjects() -> Result<Vec<Subject>> {
    let mut all = Vec::new();
    let gaussian = Budget::new(1.0, 1e-2)?;
    let pure = Budget::new(1.0, 0.0)?;
    for (word, noise, claim) in [
        ("iDP-SignRP-G", IndividualNoise::Gaussian, gaussian),
        ("iDP-SignRP-RR", IndividualNoise::RandomizedResponse, pure),
    ] {
        // The same signs are in reach on both sides: the noise is that of one data set.
        let inside = [[-0.5, 5.0, 5.0], [0.5, 5.0, 5.0]];
        let own = "neighbours with the same signs in reach: what the individual claim speaks of";
        all.push(subject(word, noise, claim, own, inside)?);
        // A neighbour whose sign is within reach, while this one's is not and stays exact.
        let across = [[1.2, 5.0, 5.0], [0.2, 5.0, 5.0]];
        let whole = "a neighbour across the border of reach: what differential privacy would need";
        all.push(
            subject(&format!("{word}, read as DP"), noise, claim, whole, across)?
                .claimed_by("nobody: individual DP is not DP"),
        );
    }
    Ok(all)
}
