//! Matrices of the paper's figures 2 and 7 to 9: the library's families, and uniform entries, which it does not
//! offer.

use crate::error::Result;
use crate::framework::sabotage;
use dp_core::PublicSeed;
use rand_core::Rng;
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec, SharedProjection, project};

/// Where the entries of a matrix come from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Entries {
    /// A family of the library.
    Of(Family),
    /// Independent, uniform on `[-sqrt(3/k), sqrt(3/k)]`: variance `1/k`, as all the others.
    Uniform,
}

impl Entries {
    /// Draws a d x k matrix.
    ///
    /// # Errors
    /// Those of [`ProjectionSpec::new`].
    pub(super) fn draw(self, d: usize, k: usize, seed: PublicSeed) -> Result<Matrix> {
        match self {
            Self::Of(family) => {
                Ok(Matrix::Of(ProjectionSpec::new(sabotage::family(family), d, k, seed)?.build()))
            }
            // Any family of the library is another one.
            Self::Uniform if sabotage::family(Family::Oporp) != Family::Oporp => {
                Self::Of(Family::Oporp).draw(d, k, seed)
            }
            Self::Uniform => {
                let mut rng = seed.generator(0);
                let scale = (3.0 / k as f64).sqrt();
                let mut entry = || scale * ((rng.next_u64() >> 11) as f64 * 2f64.powi(-52) - 1.0);
                Ok(Matrix::Uniform { k, entries: (0..d * k).map(|_| entry()).collect() })
            }
        }
    }
}

/// A matrix that was drawn.
pub(super) enum Matrix {
    /// From the library.
    Of(SharedProjection),
    /// Row after row.
    Uniform { k: usize, entries: Vec<f64> },
}

impl Matrix {
    /// Writes one row of the matrix into `out`.
    pub(super) fn row(&self, i: usize, out: &mut [f64]) {
        match self {
            Self::Of(projection) => projection.row(i, out),
            Self::Uniform { k, entries } => out.copy_from_slice(&entries[i * k..(i + 1) * k]),
        }
    }

    /// Largest l2 and l1 norm of a row.
    pub(super) fn norms(&self) -> [f64; 2] {
        match self {
            Self::Of(projection) => [projection.max_row_l2(), projection.max_row_l1()],
            Self::Uniform { k, entries } => {
                let most = |of: fn(f64) -> f64| {
                    let sums = entries.chunks_exact(*k).map(|row| row.iter().map(|&w| of(w)).sum());
                    sums.fold(0.0f64, f64::max)
                };
                [most(|w| w * w).sqrt(), most(f64::abs)]
            }
        }
    }

    /// The projection of one row of data.
    ///
    /// # Errors
    /// Those of [`project`].
    pub(super) fn project(&self, data: &[f64]) -> Result<Vec<f64>> {
        Ok(match self {
            Self::Of(projection) => {
                project(projection.as_ref(), RowsView::f64(1, data.len(), data)?)?
            }
            Self::Uniform { k, entries } => {
                let mut out = vec![0.0; *k];
                for (x, row) in data.iter().zip(entries.chunks_exact(*k)) {
                    out.iter_mut().zip(row).for_each(|(o, w)| *o += x * w);
                }
                out
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_entries_have_their_variance_and_range() -> Result<()> {
        let (d, k) = (400, 12);
        let drawn = Entries::Uniform.draw(d, k, PublicSeed::new(3))?;
        let (mut row, mut all) = (vec![0.0; k], Vec::new());
        for i in 0..d {
            drawn.row(i, &mut row);
            all.extend_from_slice(&row);
        }
        assert!(all.iter().all(|w| w.abs() <= 0.5));
        // Squares of a uniform number on [-1/2, 1/2]: mean 1/12, variance 1/180; five standard errors.
        let mean = all.iter().map(|w| w * w).sum::<f64>() / all.len() as f64;
        assert!((mean - 1.0 / 12.0).abs() < 5.0 * (1.0 / 180.0 / all.len() as f64).sqrt());
        let mut unit = vec![0.0; d];
        unit[7] = 1.0;
        drawn.row(7, &mut row);
        assert_eq!(drawn.project(&unit)?, row);
        let norm = row.iter().map(|w| w * w).sum::<f64>().sqrt();
        assert!(drawn.norms()[0] >= norm && drawn.norms()[1] >= norm);
        Ok(())
    }
}
