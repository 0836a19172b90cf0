//! Search over counts of groups.

use super::dense::DenseIndex;
use super::hits::{Neighbours, Score};
use super::queries::Queries;
use crate::error::{Error, Result};
use crate::projection::{Groups, PublicMoments};
use crate::rows::RowsView;
use crate::sets::NoisyCounts;
use crate::vectors::Posterior;
use std::borrow::Cow;

/// A release of counts of groups laid out for searching, by rows of a release or by exact queries.
///
/// The score is the cosine of rows less what all have in common; both may pass through the posterior mean first, each
/// with its own noise. It ranks: counts of chosen groups estimate no similarity.
#[derive(Debug, Clone)]
pub struct CountIndex<'a> {
    items: &'a NoisyCounts,
    index: DenseIndex<'a, f64>,
    centre: Centre,
}

/// What rows are compared without, and by what they are guessed.
#[derive(Debug, Clone)]
enum Centre {
    Means(Vec<f64>),
    Moments(Box<PublicMoments>),
}

impl<'a> CountIndex<'a> {
    /// By the counts as they are, less their means over the release.
    ///
    /// # Errors
    /// More than 2^32 - 1 rows.
    pub fn new(items: &'a NoisyCounts) -> Result<Self> {
        let (rows, k) = (items.rows().max(1) as f64, items.k());
        let mut means = vec![0.0; k];
        for row in items.values().chunks_exact(k) {
            means.iter_mut().zip(row).for_each(|(mean, value)| *mean += value / rows);
        }
        Self::about(items, Centre::Means(means))
    }

    /// By the best linear guess of every row, from the mean and covariance of `known`: exact counts of public sets
    /// ([`NoisyCounts::exact`]), or the release itself, whose noise is known and taken off. It costs no budget.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for counts of other groups; fewer than two rows, or rows of which nothing but noise is left;
    /// more than 2^13 groups.
    pub fn posterior(items: &'a NoisyCounts, known: &NoisyCounts) -> Result<Self> {
        check(items, known)?;
        let rows = RowsView::f64(known.rows(), known.k(), known.values())?;
        let moments = PublicMoments::of_noisy(rows, known.variance())?;
        Self::about(items, Centre::Moments(Box::new(moments)))
    }

    fn about(items: &'a NoisyCounts, centre: Centre) -> Result<Self> {
        let values = centre.seen(items, items.values().to_vec())?;
        let index = DenseIndex::new(items.k(), Cow::Owned(values), Score::Cosine)?;
        Ok(Self { items, index, centre })
    }

    /// The `count` best rows for each query, in the order (score falling, row rising).
    ///
    /// # Errors
    /// [`Error::Incompatible`] for queries of other groups, an invalid `count` (zero).
    pub fn top_k(
        &self,
        queries: &Queries<'_, NoisyCounts>,
        count: usize,
    ) -> Result<Neighbours<f64>> {
        let (of, values) = queries.counts();
        check(self.items, of)?;
        self.index.top_k(&self.centre.seen(of, values.into_owned())?, count)
    }
}

impl Centre {
    /// Rows of these counts as they are compared.
    fn seen(&self, of: &NoisyCounts, mut values: Vec<f64>) -> Result<Vec<f64>> {
        match self {
            Self::Means(means) => {
                for row in values.chunks_exact_mut(means.len()) {
                    row.iter_mut().zip(means).for_each(|(value, mean)| *value -= mean);
                }
                Ok(values)
            }
            Self::Moments(moments) => {
                // Every count is a group of its own.
                let each: Vec<i32> = (1..=of.k() as i32).collect();
                Posterior::new(Groups::new(&each)?, moments)?.centred(&values, of.variance())
            }
        }
    }
}

fn check(left: &NoisyCounts, right: &NoisyCounts) -> Result<()> {
    if left.groups() == right.groups() {
        return Ok(());
    }
    let [left, right] = [left, right].map(|counts| format!("{:?}", counts.groups()));
    Err(Error::Incompatible { what: "groups of items", left, right })
}
