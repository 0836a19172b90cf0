//! Sums of private groups: the moments along the direction that one value moves, the sum that it moves, and its sign.

use super::common::bound;
use crate::subject::{Draw, Side, Subject};
use dp_core::noise::NoiseLaw;
use dp_core::{Adjacency, Budget, Probability};
use eval::Result;
use linalg_dp::groups::{GroupSums, GroupsConfig, PrivateGroups};
use sketch::RowsView;

const FAMILY: &str = "private groups";
/// Columns.
const D: usize = 5;
/// The largest value, and the norm of rows.
const ENTRY: f64 = 0.5;

/// Two rows of five numbers: the first column of one goes from its bound to the opposite, beside others as long as the norm
/// allows; that moves the moments most.
pub(crate) struct Pair {
    pub(crate) made: PrivateGroups,
    sides: [Vec<f64>; 2],
    /// Exact moments, with the constant.
    exact: [Vec<f64>; 2],
    /// How far they are apart.
    pub(crate) distance: f64,
}

impl Pair {
    pub(crate) fn new(budget: Budget) -> Result<Self> {
        let made = PrivateGroups::calibrate(
            GroupsConfig {
                d: D,
                adjacency: Adjacency::Attribute { beta: bound(2.0 * ENTRY)? },
                bound: bound(ENTRY)?,
                norm: bound(1.0)?,
                share: Probability::new(0.25)?,
            },
            budget,
        )?;
        // 7/16 of the norm follows every row.
        let constant = 0.4375;
        let rest = ((1.0 - ENTRY * ENTRY) / 4.0).sqrt();
        let side = |first: f64| {
            let mut rows = vec![rest; D];
            rows[0] = first;
            rows.extend([0.0, -rest, -rest, -rest, -rest]);
            rows
        };
        let sides = [side(-ENTRY), side(ENTRY)];
        let moments = |rows: &Vec<f64>| {
            let with = |row: &[f64]| [row, &[constant]].concat();
            let rows: Vec<Vec<f64>> = rows.chunks(D).map(with).collect();
            let entry = |e: usize| rows.iter().map(|r| r[e / (D + 1)] * r[e % (D + 1)]).sum();
            (0..(D + 1) * (D + 1)).map(entry).collect::<Vec<f64>>()
        };
        let exact = [moments(&sides[0]), moments(&sides[1])];
        let square = |(a, b): (&f64, &f64)| (a - b) * (a - b);
        let distance = exact[0].iter().zip(&exact[1]).map(square).sum::<f64>().sqrt();
        Ok(Self { made, sides, exact, distance })
    }

    pub(crate) fn rows(&self, side: Side) -> &[f64] {
        side.of(self.sides[0].as_slice(), self.sides[1].as_slice())
    }

    pub(crate) fn release(&self, side: Side, draw: &Draw) -> Result<GroupSums> {
        let rows = RowsView::f64(2, D, self.rows(side))?;
        Ok(self.made.release(rows, &mut draw.noise())?.into_parts().0)
    }

    /// Where the moments are between the two exact ones, zero and one: all that they tell.
    pub(crate) fn between(&self, moments: &[f64]) -> f64 {
        let terms = moments.iter().zip(&self.exact[0]).zip(&self.exact[1]);
        terms.map(|((x, l), r)| (x - l) * (r - l)).sum::<f64>() / self.distance.powi(2)
    }

    /// Moments, sum and sign as they are seen, and the likelihood ratio of all.
    pub(crate) fn observe(&self, at: f64, released: &GroupSums, out: &mut Vec<f64>) {
        let sums = released.sums();
        let signed = sums.projection().groups().map_or(&[][..], |groups| groups.signed());
        let (group, sign) = (signed[0].unsigned_abs() as usize - 1, f64::from(signed[0].signum()));
        let seen = sums.values()[group];
        let exact = |side: Side| -> f64 {
            let row = self.rows(side)[..D].iter().zip(signed);
            let own = row.filter(|(_, g)| g.unsigned_abs() as usize == group + 1);
            own.map(|(x, g)| f64::from(g.signum()) * x).sum()
        };
        let (left, right) = (exact(Side::Left), exact(Side::Right));
        let share = self.distance / self.made.sigma().get();
        let of_moments = (at - 0.5) * share * share;
        let of_sums = stairs(sums.noise(), seen - left) - stairs(sums.noise(), seen - right);
        out.extend([at, sign * (seen - 0.5 * (left + right)), sign, of_moments + of_sums]);
    }
}

/// Minus the logarithm of the staircase's probability, but for a constant.
fn stairs(law: &NoiseLaw, noise: f64) -> f64 {
    let NoiseLaw::Staircase { epsilon, width, inner, grid } = law else { return f64::NAN };
    let steps = (noise.abs() / grid.spacing()).round() - *inner as f64;
    if steps < 0.0 { 0.0 } else { epsilon.get() * (1.0 + (steps / *width as f64).floor()) }
}

/// Where both steps tell so much that counting sees it, with a delta that counting can reach.
pub(crate) fn claim() -> Result<Budget> {
    Ok(Budget::new(3.0, 0.1)?)
}

pub(crate) fn pair(budget: Budget) -> Result<Subject> {
    let pair = Pair::new(budget)?;
    let guarantee = pair.made.guarantee().clone();
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let released = pair.release(side, draw)?;
        let at = pair.between(&released.noisy_moments());
        pair.observe(at, &released, out);
        Ok(())
    };
    let words = "two rows; one value goes from its bound to the opposite, beside others as long as the norm allows";
    Ok(Subject::new("private groups", FAMILY, budget, words, 4, sample)
        .under(&guarantee)?
        .seeing(3)
        .with_runs(20_000)
        .likelihood(|x| x[3]))
}

/// The audits.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subjects() -> Result<Vec<Subject>> {
    let noise = |budget: Budget| -> Result<f64> { Ok(Pair::new(budget)?.made.sigma().get()) };
    Ok(vec![Subject::built(claim()?, noise, pair)?])
}
