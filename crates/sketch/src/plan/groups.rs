//! Whether groups of attributes help a search, and how many.

use crate::error::{Error, Result};
use crate::projection::{Family, Groups, ProjectionSpec, PublicMoments, project};
use crate::rows::RowsView;
use crate::trial::{Trial, exponential};
use crate::vectors::Posterior;
use dp_core::{PublicGenerator, PublicSeed};

/// What a search by cosine finds when one value of a row is protected: with signed groups of attributes, ranked by posterior
/// means, and with random bins. Both are tried among public rows, with simulated noise, so that groups are taken where they help
/// and nowhere else: attributes that do not move together (embeddings in a rotated basis) are better left to chance.
///
/// ```
/// use dp_core::PublicSeed;
/// use sketch::RowsView;
/// use sketch::plan::GroupPlan;
///
/// // Public rows of 32 numbers; eight at a time are nearly one.
/// let number = |i: usize| ((i / 8 * 2654435761) % 1009) as f64 / 1009.0 + 0.01 * (i % 8) as f64;
/// let public: Vec<f64> = (0..200 * 32).map(number).collect();
/// let plan = GroupPlan::of_sample(RowsView::f64(200, 32, &public)?, 0.1)?;
/// assert!(plan.grouped > plan.random && plan.groups.k() < 32);
/// assert_eq!(plan.projection(PublicSeed::new(1))?, plan.groups.spec());
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct GroupPlan {
    /// The best groups that were tried.
    pub groups: Groups,
    /// The share of the likest hundredth of rows that they find among five times as many.
    pub grouped: f64,
    /// The best number of random bins that was tried.
    pub bins: usize,
    /// The share that these find.
    pub random: f64,
}

/// Fewest and most public rows: likenesses of half of all pairs are held.
const SAMPLE: core::ops::RangeInclusive<usize> = 64..=1 << 12;

impl GroupPlan {
    /// For rows of which these are a public sample, and noise of this variance on every released number. Groups are made of one
    /// half of the rows and tried among the other; those that are given are of the same number, from all rows.
    ///
    /// # Errors
    /// Fewer than 64 or more than 4096 rows; a variance that is not positive; as [`PublicMoments::of_sample`].
    pub fn of_sample(rows: RowsView<'_>, noise_variance: f64) -> Result<Self> {
        if !SAMPLE.contains(&rows.n()) {
            return Err(Error::invalid("rows of a public sample", rows.n(), "[64, 4096]"));
        }
        if !(noise_variance.is_finite() && noise_variance > 0.0) {
            return Err(Error::invalid("noise variance", noise_variance, "(0, inf)"));
        }
        let d = rows.d();
        let half = |odd: usize| {
            let mut values = vec![0.0; (rows.n() + 1 - odd) / 2 * d];
            let each = values.chunks_exact_mut(d).enumerate();
            each.for_each(|(i, row)| rows.copy_row(2 * i + odd, row));
            values
        };
        let (known, tried) = (half(0), half(1));
        let moments = PublicMoments::of_sample(RowsView::f64(known.len() / d, d, &known)?)?;
        let (trial, view) = (Trial::of_rows(&tried, d), RowsView::f64(tried.len() / d, d, &tried)?);
        let noisy = |spec: ProjectionSpec| -> Result<Vec<f64>> {
            let mut draw = PublicSeed::new(spec.k() as u64).generator(STREAM);
            let mut sums = project(spec.build().as_ref(), view)?;
            sums.iter_mut().for_each(|x| *x += laplace(&mut draw, noise_variance));
            Ok(sums)
        };
        let (mut at, mut grouped) = (0, -1.0);
        for (i, groups) in Groups::candidates(&moments)?.into_iter().enumerate() {
            let posterior = Posterior::new(groups, &moments)?;
            let found = trial.found(posterior.of_sums(&noisy(groups.spec())?, noise_variance)?, d);
            if found > grouped {
                (at, grouped) = (i, found);
            }
        }
        let (mut bins, mut random) = (1, -1.0);
        let sizes = (0..).map(|i| 1usize << i).take_while(|k| *k < d).chain([d]);
        for k in sizes {
            let spec = ProjectionSpec::new(Family::Oporp, d, k, PublicSeed::new(0))?;
            let found = trial.found(noisy(spec)?, k);
            if found > random {
                (bins, random) = (k, found);
            }
        }
        let groups = Groups::candidates(&PublicMoments::of_sample(rows)?)?[at];
        Ok(Self { groups, grouped, bins, random })
    }

    /// The projection that finds more: the groups, or random bins of this seed.
    ///
    /// # Errors
    /// Never for a plan of [`GroupPlan::of_sample`].
    pub fn projection(&self, seed: PublicSeed) -> Result<ProjectionSpec> {
        if self.grouped >= self.random {
            return Ok(self.groups.spec());
        }
        ProjectionSpec::new(Family::Oporp, self.groups.d(), self.bins, seed)
    }
}

/// Stream of the public generator that simulated noise comes from.
const STREAM: u64 = 0x6770;

/// Laplace noise of this variance that hides nothing.
fn laplace(draw: &mut PublicGenerator, variance: f64) -> f64 {
    (0.5 * variance).sqrt() * (exponential(draw) - exponential(draw))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::Rng;

    fn normal(draw: &mut PublicGenerator) -> f64 {
        (0..12).map(|_| (draw.next_u64() >> 11) as f64 * 2f64.powi(-53)).sum::<f64>() - 6.0
    }

    /// Rows of eight hidden numbers, each in eight attributes; and the same rows in a rotated basis.
    fn rows(n: usize, rotated: bool) -> Vec<f64> {
        let d = 64;
        let mut draw = PublicSeed::new(8).generator(1);
        let rotation = |a: usize, b: usize| {
            // Hadamard, of 64 rows.
            if (a & b).count_ones().is_multiple_of(2) { 0.125 } else { -0.125 }
        };
        let mut out = Vec::new();
        for _ in 0..n {
            let hidden: Vec<f64> = (0..8).map(|_| normal(&mut draw)).collect();
            let plain: Vec<f64> = (0..d).map(|j| hidden[j / 8] + 0.1 * normal(&mut draw)).collect();
            match rotated {
                false => out.extend(plain),
                true => out.extend((0..d).map(|a| {
                    plain.iter().enumerate().map(|(b, x)| rotation(a, b) * x).sum::<f64>()
                })),
            }
        }
        out
    }

    #[test]
    fn groups_are_taken_where_attributes_move_together() {
        let plain = rows(400, false);
        let plan = GroupPlan::of_sample(RowsView::f64(400, 64, &plain).unwrap(), 8.0).unwrap();
        // Sizes near that of the truth find as much.
        assert!((8..=16).contains(&plan.groups.k()), "{plan:?}");
        assert!(plan.grouped > plan.random + 0.2, "{plan:?}");
        assert_eq!(plan.projection(PublicSeed::new(2)).unwrap(), plan.groups.spec());
    }

    /// Whichever is named finds more among the tried rows, and is the projection.
    #[test]
    fn the_projection_is_the_one_that_finds_more() {
        let turned = rows(400, true);
        for variance in [1e-4, 0.5, 8.0] {
            let view = RowsView::f64(400, 64, &turned).unwrap();
            let plan = GroupPlan::of_sample(view, variance).unwrap();
            let spec = plan.projection(PublicSeed::new(2)).unwrap();
            let grouped = matches!(spec.family(), Family::Grouped { .. });
            assert_eq!(grouped, plan.grouped >= plan.random, "{plan:?}");
            assert_eq!(spec.d(), 64);
        }
    }

    #[test]
    fn samples_that_cannot_be_halved_are_refused() {
        let few = rows(63, false);
        let of = |n: usize, d: usize, v: f64| {
            GroupPlan::of_sample(RowsView::f64(n, d, &few[..n * d]).unwrap(), v)
        };
        assert!(of(63, 64, 1.0).is_err());
        for variance in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(of(64, 63, variance).is_err());
        }
        // One attribute, and rows that are all equal.
        assert!(of(64, 1, 1.0).is_ok());
        let equal = vec![0.5; 64 * 4];
        assert!(GroupPlan::of_sample(RowsView::f64(64, 4, &equal).unwrap(), 1.0).is_err());
    }
}
