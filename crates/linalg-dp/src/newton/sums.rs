//! What the steps need of the rows, in exact integers: each row's part is a fixed function of that row and of what
//! was published before.

use crate::covariance::{OpenGram, RowClip};
use crate::error::{Error, Result};
use crate::sizes::Sizes;
use rayon::prelude::*;

/// log2 of the steps of a clipped residual.
pub(super) const STEPS: i32 = 20;
/// Rows of a part.
const PART: usize = 1024;

/// Clipped rows in units, beside their targets. Private.
pub(super) struct Rows {
    clip: RowClip,
    features: Vec<f64>,
    targets: Vec<f64>,
}

impl Rows {
    /// From rows `[x | y]`, row-major.
    pub(super) fn new(clip: RowClip, rows: &[f64]) -> Result<Self> {
        let (d, columns) = (clip.dim(), clip.columns());
        if !rows.len().is_multiple_of(d + 1) {
            let expected = format!("a multiple of d + 1 = {}", d + 1);
            return Err(Error::shape("rows", format!("{} values", rows.len()), expected));
        }
        let mut features = vec![0.0; rows.len() / (d + 1) * columns];
        let mut targets = Vec::with_capacity(rows.len() / (d + 1));
        for (row, out) in rows.chunks(d + 1).zip(features.chunks_mut(columns)) {
            clip.quantise(&row[..d], out)?;
            if !row[d].is_finite() {
                return Err(Error::NotFinite { what: "a target" });
            }
            targets.push(row[d]);
        }
        Ok(Self { clip, features, targets })
    }

    /// The exact Gram matrix of the rows that gradients are of.
    pub(super) fn gram(&self) -> Result<OpenGram> {
        let unit = 2f64.powi(self.clip.exponent());
        let rows = self.features.chunks(self.clip.columns());
        let rows: Vec<f64> =
            rows.flat_map(|row| &row[..self.clip.dim()]).map(|q| q * unit).collect();
        let mut gram = OpenGram::new(self.clip.of_clipped());
        gram.push(&rows)?;
        Ok(gram)
    }

    /// `theta . x - y` of every row: what one is does not depend on the others. Each adds one product after the other, so that eight
    /// are made side by side.
    pub(super) fn residuals(&self, theta: &[f64]) -> Vec<f64> {
        const SIDE: usize = 8;
        let (d, unit) = (self.clip.columns(), 2f64.powi(self.clip.exponent()));
        // The targets, until theirs is known.
        let mut all = self.targets.clone();
        let side = |(all, rows): (&mut [f64], &[f64])| {
            let mut dots = [0.0; SIDE];
            for (k, t) in theta.iter().enumerate() {
                dots.iter_mut().zip(rows.chunks_exact(d)).for_each(|(dot, row)| *dot += row[k] * t);
            }
            all.iter_mut().zip(dots).for_each(|(y, dot)| *y = dot * unit - *y);
        };
        all.par_chunks_mut(PART).zip(self.features.par_chunks(PART * d)).for_each(|(all, rows)| {
            all.chunks_mut(SIDE).zip(rows.chunks(SIDE * d)).for_each(side);
        });
        all
    }

    /// `sum clip(residual, -clip, clip) x`, in units of `clip 2^-20` times the unit of the rows. A clipped residual is
    /// rounded towards zero, so that no row's part is longer than clip times the row.
    pub(super) fn gradient(&self, residuals: &[f64], clip: f64) -> Vec<i128> {
        let d = self.clip.columns();
        let scale = 2f64.powi(STEPS);
        let parts: Vec<Vec<i64>> = (0..self.targets.len().div_ceil(PART))
            .into_par_iter()
            .map(|part| {
                // Whole numbers of at most 2^51: a share has 20 bits, a number 21, a part 1024 rows.
                let mut sum = vec![0.0; d];
                let rows = part * PART..((part + 1) * PART).min(self.targets.len());
                let features = self.features[rows.start * d..].chunks_exact(d);
                for (residual, row) in residuals[rows].iter().zip(features) {
                    let share = (residual / clip).clamp(-1.0, 1.0);
                    // A residual that is no number counts as zero.
                    let k = ((share * scale).trunc() as i64) as f64;
                    sum.iter_mut().zip(row).for_each(|(s, q)| *s += k * q);
                }
                sum.into_iter().map(|s| s as i64).collect()
            })
            .collect();
        let mut total = vec![0i128; d];
        for part in parts {
            total.iter_mut().zip(part).for_each(|(t, s)| *t += i128::from(s));
        }
        total
    }
}

/// The sizes of residuals, counted.
pub(super) fn counts(residuals: &[f64], sizes: &Sizes) -> Vec<u64> {
    sizes.counts(residuals.iter().map(|r| r.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_core::{Adjacency, NormBound};

    fn rows(values: &[f64], d: usize) -> Rows {
        Rows::new(clip(d, false), values).unwrap()
    }

    fn clip(d: usize, intercept: bool) -> RowClip {
        let clip = RowClip::new(d, NormBound::new(1.0).unwrap()).unwrap();
        if intercept { clip.followed_by(clip.constant_for_means()).unwrap() } else { clip }
    }

    /// With a constant behind every row: what each adjacency is said to move a gradient by, against pairs.
    #[test]
    fn intercepts_are_paid_for() {
        let clip = clip(2, true);
        let unit = 2f64.powi(clip.exponent() - STEPS);
        let bound = NormBound::new(1.0).unwrap();
        let part = |row: &[f64; 3], theta: &[f64; 3]| -> Vec<f64> {
            let rows = Rows::new(clip, row).unwrap();
            rows.gradient(&rows.residuals(theta), 0.3).iter().map(|g| *g as f64 * unit).collect()
        };
        let list =
            [[1.0, 0.0, 9.0], [1.0, 0.0, -9.0], [0.0, -7.0, 1e300], [0.1, 0.2, 0.0], [0.0; 3]];
        let mut worst = [0.0f64; 3];
        // The last lets a row of zeros have a residual as large as the clip, of either sign.
        for theta in
            [[0.0; 3], [0.3, -0.7, 0.1], [1e300, 0.0, -1e300], [0.0, 0.0, 50.0], [0.0, 0.0, -50.0]]
        {
            for a in &list {
                let ga = part(a, &theta);
                worst[0] = worst[0].max(norm(ga.iter().copied()));
                let zero = part(&[0.0; 3], &theta);
                worst[1] = worst[1].max(norm(ga.iter().zip(&zero).map(|(a, b)| a - b)));
                for b in &list {
                    let gb = part(b, &theta);
                    worst[2] = worst[2].max(norm(ga.iter().zip(&gb).map(|(a, b)| a - b)));
                }
            }
        }
        let all = [
            Adjacency::AddRemoveRow { bound },
            Adjacency::ZeroRow { bound },
            Adjacency::ReplaceRow { bound },
        ];
        for (worst, adjacency) in worst.into_iter().zip(all) {
            let counted = super::super::moves(&clip, adjacency).0;
            assert!(worst <= counted && worst > 0.999 * counted, "{adjacency}: {worst} {counted}");
        }
    }

    /// All parts of one row: gradient in units of clip times the bound, counts.
    fn part(row: &[f64], theta: &[f64], clip: f64) -> (Vec<f64>, Vec<f64>) {
        let rows = rows(row, row.len() - 1);
        let unit = 2f64.powi(rows.clip.exponent() - STEPS);
        let residuals = rows.residuals(theta);
        let gradient = rows.gradient(&residuals, clip).iter().map(|g| *g as f64 * unit).collect();
        let counts =
            counts(&residuals, &Sizes::new(1.0, 24, 0.0)).iter().map(|c| *c as f64).collect();
        (gradient, counts)
    }

    fn norm(values: impl Iterator<Item = f64>) -> f64 {
        values.map(|v| v * v).sum::<f64>().sqrt()
    }

    /// One row more, less, another, or zero: gradients move by the bound (twice it), counts by one (root two).
    #[test]
    fn no_row_moves_the_sums_by_more_than_is_counted() {
        let list: [[f64; 3]; 7] = [
            [1.0, 0.0, 5.0],
            [1.0, 0.0, -5.0],
            [0.6, 0.8, 0.3],
            [40.0, -30.0, 1e300],
            [-1e200, 1e200, 0.01],
            [1e-300, 0.0, 0.2],
            [0.0, 0.0, 0.0],
        ];
        let bound = rows(&[0.0; 3], 2).clip.certified_bound().get();
        let mut worst = [0.0f64; 4];
        for theta in [[0.0, 0.0], [0.3, -0.7], [1e9, 1e9], [1e300, -1e300], [f64::INFINITY, 0.0]] {
            for clip in [1.0, 0.3, 1e-3] {
                for a in &list {
                    let (ga, ca) = part(a, &theta, clip);
                    worst[0] = worst[0].max(norm(ga.iter().copied()));
                    worst[1] = worst[1].max(norm(ca.iter().copied()));
                    for b in &list {
                        let (gb, cb) = part(b, &theta, clip);
                        worst[2] = worst[2].max(norm(ga.iter().zip(&gb).map(|(a, b)| a - b)));
                        worst[3] = worst[3].max(norm(ca.iter().zip(&cb).map(|(a, b)| a - b)));
                    }
                }
            }
        }
        let counted = [bound, 1.0, 2.0 * bound, core::f64::consts::SQRT_2];
        for (worst, counted) in worst.iter().zip(counted) {
            assert!(*worst <= counted && *worst > 0.999 * counted, "{worst} of {counted}");
        }
    }

    /// A row that rounding has made longer than the bound is one row, in the matrix as in gradients.
    #[test]
    fn the_matrix_is_of_the_rows_that_gradients_are_of() {
        for clip in [clip(5, false), clip(5, true)] {
            let d = clip.columns();
            let values: Vec<f64> =
                (0..6 * 400).map(|i| ((i * 7919) % 1009) as f64 - 500.0).collect();
            let rows = Rows::new(clip, &values).unwrap();
            let longer = |q: &[f64]| {
                let square: f64 = q[..5].iter().map(|x| x * x).sum();
                square.sqrt() * 2f64.powi(clip.exponent()) > 1.0
            };
            assert!(rows.features.chunks(d).filter(|q| longer(q)).count() > 50);
            let mut gram = rows.gram().unwrap();
            for e in (0..d * d).filter(|e| e % d <= e / d) {
                let exact: i128 =
                    rows.features.chunks(d).map(|q| (q[e / d] * q[e % d]) as i128).sum();
                assert_eq!(gram.sum().totals()[e], exact, "{e}");
            }
        }
    }

    #[test]
    fn a_row_s_part_does_not_depend_on_its_place() {
        let one = [0.31, -0.52, 0.7];
        let other = [0.9, 0.1, -0.4];
        let theta = [0.123, 0.456];
        let gradient = |values: &[f64]| {
            let rows = rows(values, 2);
            rows.gradient(&rows.residuals(&theta), 0.5)
        };
        let alone = gradient(&one);
        for before in [0, 1, 1023, 1024, 3000] {
            let filler = other.repeat(before);
            let rest = gradient(&filler);
            let all = gradient(&[filler, one.to_vec()].concat());
            assert!(all.iter().zip(&rest).zip(&alone).all(|((a, r), o)| a - r == *o), "{before}");
        }
    }
}
