//! Samplers that the library refuses. **Nothing made here is private**: for experiments on what a mechanism
//! would cost, and for the audit, which shows why it is refused.

use crate::error::Result;
use dp_core::noise::WishartNoise;
use dp_core::profile::RowChange;
use dp_core::{Adjacency, Bound, Budget, Epsilon, NoiseRng, NoiseScale, calibrate};
use faer::Mat;
use linalg_dp::covariance::{CovarianceMechanism, RowClip, WishartCovariance, WishartShape};

/// A Wishart matrix, from the floating-point sampler. Its factor lies on a lattice.
///
/// # Errors
/// Degrees of freedom below the dimension.
pub fn wishart_noise(
    dim: usize,
    dof: u64,
    scale: NoiseScale,
    rng: &mut NoiseRng,
) -> Result<Mat<f64>> {
    let mut values = vec![0.0; dim * dim];
    WishartNoise::new(dim, dof, scale)?.sample(rng, &mut values);
    Ok(Mat::from_fn(dim, dim, |i, j| values[i * dim + j]))
}

/// `A^T A` plus Wishart noise, mean included, as the library used to release it: exact integers plus the
/// noise rounded to their grid. **Not private**: the low bits show whether a row is there.
///
/// # Errors
/// Rows that are not whole or not finite.
pub fn wishart_release(
    mechanism: &WishartCovariance,
    bound: Bound,
    rows: &[f64],
    rng: &mut NoiseRng,
) -> Result<Mat<f64>> {
    let d = mechanism.dim();
    let clip = RowClip::new(d, bound)?;
    let mut total = vec![0i128; d * d];
    let mut q = vec![0.0; d];
    for row in rows.chunks_exact(d) {
        clip.quantise(row, &mut q)?;
        for (e, sum) in total.iter_mut().enumerate() {
            *sum += (q[e / d] as i128) * (q[e % d] as i128);
        }
    }
    let noise = wishart_noise(d, mechanism.dof(), mechanism.scale(), rng)?;
    let unit = 2f64.powi(2 * clip.exponent());
    Ok(Mat::from_fn(d, d, |i, j| {
        let (i, j) = (i.max(j), i.min(j));
        let steps = (noise[(i, j)] / unit).round_ties_even() as i128;
        (total[i * d + j] + steps) as f64 * unit
    }))
}

/// Degrees of freedom and scale of Wishart nodes of which a row of norm at most `bound`, added or removed, is in
/// `levels`: the shape that is best for one matrix of about that noise, the scale by composition.
///
/// # Errors
/// A calibration that fails.
pub fn wishart_nodes(
    dim: usize,
    bound: Bound,
    budget: Budget,
    levels: u64,
) -> Result<(u64, NoiseScale)> {
    let epsilon = Epsilon::new(budget.epsilon.get() / (levels as f64).sqrt())?;
    let single = WishartCovariance::calibrate(
        dim,
        Adjacency::AddRemoveRow { bound },
        Budget { epsilon, ..budget },
        WishartShape::LeastSpectralNorm,
    )?;
    let (change, dof) = (RowChange::AddRemove, single.dof());
    let scale = calibrate::wishart_scale_repeated(budget, dim as u64, dof, bound, change, levels)?;
    Ok((dof, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The attack: both candidates for the exact first column are subtracted; under the right one
    /// `N_i0 / (s L_00)` lies on the lattice of the factor's entries, `2^-40`.
    fn distance_to_lattice(column: &[f64], scale: f64) -> f64 {
        if column[0] <= 0.0 {
            return 1.0;
        }
        let first = (column[0] / scale).sqrt();
        let steps = column[1..].iter().map(|x| x / (scale * first) * 2f64.powi(40));
        steps.map(|x| (x - x.round()).abs()).sum::<f64>() / (column.len() - 1) as f64
    }

    fn targets(d: usize) -> Vec<f64> {
        let row: Vec<f64> = (0..d).map(|j| ((j * 37 + 11) % 101) as f64 - 50.0).collect();
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        row.iter().map(|x| (x / norm * 2f64.powi(20)).round() / 2f64.powi(20) * 0.5).collect()
    }

    #[test]
    fn low_bits_show_the_row_where_the_library_refuses() -> Result<()> {
        let bound = Bound::new(1.0)?;
        // Whoever guesses is right 70 times of 100 with probability 4e-5; here all are right.
        let (d, trials) = (100, 100);
        let budget = Budget::new(1.0, 1e-6)?;
        let adjacency = Adjacency::AddRemoveRow { bound };
        let made =
            WishartCovariance::calibrate(d, adjacency, budget, WishartShape::LeastSpectralNorm)?;
        let target = targets(d);
        let exact = |present: bool, i: usize| if present { target[0] * target[i] } else { 0.0 };
        let mut right = 0;
        for trial in 0..trials {
            let mut rng = NoiseRng::deterministic_not_private(trial);
            let present = trial % 2 == 0;
            let rows: &[f64] = if present { &target } else { &[] };
            let release = wishart_release(&made, bound, rows, &mut rng)?;
            let distance = |guess: bool| {
                let column: Vec<f64> = (0..d).map(|i| release[(i, 0)] - exact(guess, i)).collect();
                distance_to_lattice(&column, made.scale().get())
            };
            right += i32::from((distance(true) < distance(false)) == present);
            // The library gives the attacker nothing to look at.
            let refused = made.release(rows, &mut rng);
            assert!(matches!(refused, Err(linalg_dp::Error::Unusable { .. })));
        }
        assert!(right >= 95, "{right} of {trials}");
        Ok(())
    }
}
