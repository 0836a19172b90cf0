//! The block schedule: one private matrix a block.

use super::config::{BlockNoise, Keep, StreamConfig};
use super::histogram::{Checkpoint, SpectralHistogram};
use crate::covariance::{
    CovarianceMechanism, CovarianceNoise, GaussianCovariance, JlCovariance, OpenGram,
    WishartCovariance, WishartShape, stated,
};
use crate::error::{Error, Result};
use dp_core::certificate::Statement;
use dp_core::{Guarantee, NoiseRng, Release, SquaredNorm};
use faer::{Mat, MatRef};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

/// Private blocks and what is kept of them.
pub(super) struct Blocks {
    mechanism: Arc<dyn CovarianceMechanism>,
    /// The open block, once a row or its end came: a journal alone says how large it is. Private.
    open: Option<OpenGram>,
    window_blocks: u64,
    kept: Kept,
    /// What the mechanism wrote about its first block: noise law and parameters.
    pub(super) described: Option<(Statement, CovarianceNoise, f64)>,
}

/// Private matrices, bias removed.
#[derive(Debug)]
enum Kept {
    /// The window's blocks, oldest first, as `(index, unbiased matrix)`, row-major.
    Blocks(VecDeque<(u64, Vec<f64>)>),
    /// Suffix sums of positive semidefinite blocks.
    Histogram {
        /// Of the blocks as released (JL, Wishart), or with their negative eigenvalues set to zero
        /// (Gaussian): for the Loewner order, which decides what is kept.
        histogram: SpectralHistogram,
        /// The checkpoints' sums of the blocks as released, where those of the histogram are not:
        /// what a release shows. Setting eigenvalues to zero block by block would add up to a bias.
        plain: Vec<(u64, Mat<f64>)>,
    },
}

/// What a journal keeps of blocks.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlocksState {
    described: Option<(Statement, CovarianceNoise, f64)>,
    matrices: Vec<(u64, Vec<f64>)>,
    /// Of a histogram of Gaussian blocks: the sums as released, a checkpoint each.
    plain: Vec<(u64, Vec<f64>)>,
}

impl BlocksState {
    /// Numbers of a matrix, where it holds one.
    pub(super) fn numbers(&self) -> Option<usize> {
        self.matrices.first().map(|(_, values)| values.len())
    }
}

impl Blocks {
    pub(super) fn new(config: &StreamConfig, noise: BlockNoise, keep: Keep) -> Result<Self> {
        let StreamConfig { dim, adjacency, budget, .. } = *config;
        let mechanism: Arc<dyn CovarianceMechanism> = match noise {
            BlockNoise::SymmetricGaussian => {
                Arc::new(GaussianCovariance::calibrate(dim, adjacency, budget)?)
            }
            BlockNoise::Wishart => {
                let shape = WishartShape::LeastSpectralNorm;
                Arc::new(WishartCovariance::calibrate(dim, adjacency, budget, shape)?)
            }
            BlockNoise::JohnsonLindenstrauss { rows } => {
                Arc::new(JlCovariance::calibrate(dim, rows as usize, adjacency, budget)?)
            }
        };
        Self::with_mechanism(config, mechanism, keep)
    }

    fn with_mechanism(
        config: &StreamConfig,
        mechanism: Arc<dyn CovarianceMechanism>,
        keep: Keep,
    ) -> Result<Self> {
        let window_blocks = config.window_blocks()?;
        let kept = match keep {
            Keep::Blocks => Kept::Blocks(VecDeque::new()),
            Keep::Histogram { rho, rule } => {
                let histogram = SpectralHistogram::new(config.dim, rho, rule)?;
                Kept::Histogram { histogram, plain: Vec::new() }
            }
        };
        Ok(Self { mechanism, open: None, window_blocks, kept, described: None })
    }

    /// The same mechanism, and no block yet.
    pub(super) fn restarted(&self, config: &StreamConfig, keep: Keep) -> Self {
        Self::with_mechanism(config, self.mechanism.clone(), keep)
            .expect("its sizes were checked when it was calibrated")
    }

    pub(super) fn guarantee(&self) -> &Guarantee {
        self.mechanism.guarantee()
    }

    fn open(&mut self) -> &mut OpenGram {
        self.open.get_or_insert_with(|| OpenGram::new(self.mechanism.row_clip()))
    }

    pub(super) fn push(&mut self, rows: &[f64]) -> Result<()> {
        self.open().push(rows)
    }

    pub(super) fn close(&mut self, index: u64, rng: &mut NoiseRng) -> Result<()> {
        let public = stated(self.mechanism.dim());
        let mechanism = self.mechanism.clone();
        let open = self.open();
        let release: Release<_> = mechanism.privatise(open.sum(), public, rng)?;
        open.clear();
        let (payload, certificate) = release.into_parts();
        if self.described.is_none() {
            let statement = certificate.statement().clone();
            self.described = Some((statement, payload.noise(), payload.offset()));
        }
        let oldest = (index + 1).saturating_sub(self.window_blocks);
        match &mut self.kept {
            Kept::Blocks(blocks) => {
                let (d, offset) = (payload.dim(), payload.offset());
                let mut values = payload.into_values();
                (0..d).for_each(|i| values[i * d + i] -= offset);
                blocks.retain(|(i, _)| *i >= oldest);
                blocks.push_back((index, values));
            }
            Kept::Histogram { histogram, plain } => match payload.noise() {
                CovarianceNoise::SymmetricGaussian { .. } => {
                    histogram.push(index, payload.positive()?.as_ref(), oldest)?;
                    plain.iter_mut().for_each(|(_, sum)| *sum += payload.raw());
                    plain.push((index, payload.raw().to_owned()));
                    let kept = histogram.checkpoints();
                    plain.retain(|(start, _)| kept.iter().any(|c| c.start == *start));
                }
                _ => histogram.push(index, payload.raw(), oldest)?,
            },
        }
        Ok(())
    }

    /// The expected error of a full window whose rows have this total squared norm.
    pub(super) fn expected_error(&self, trace: SquaredNorm) -> f64 {
        let of = |trace| self.mechanism.expected_frobenius_error(trace);
        of_sum(of, trace, self.window_blocks as f64)
    }

    /// The window's sum, the first block it covers, and how many it covers.
    pub(super) fn sum(&self, closed: u64) -> (Mat<f64>, u64) {
        let dim = self.mechanism.dim();
        match &self.kept {
            Kept::Blocks(blocks) => {
                let mut total = vec![0.0; dim * dim];
                for (_, block) in blocks {
                    total.iter_mut().zip(block).for_each(|(t, x)| *t += x);
                }
                let total = MatRef::from_row_major_slice(&total, dim, dim).to_owned();
                (total, blocks.front().map_or(closed, |(i, _)| *i))
            }
            Kept::Histogram { histogram, plain } => {
                let Some(first) = histogram.checkpoints().first() else {
                    return (Mat::zeros(dim, dim), closed);
                };
                let mut total = plain.first().map_or(&first.matrix, |(_, sum)| sum).clone();
                let offset = self.described.as_ref().map_or(0.0, |(_, _, offset)| *offset);
                let covered = (closed - first.start) as f64;
                (0..dim).for_each(|i| total[(i, i)] -= offset * covered);
                (total, first.start)
            }
        }
    }

    /// What a journal keeps of it.
    pub(super) fn snapshot(&self) -> BlocksState {
        let d = self.mechanism.dim();
        let numbers = |m: &Mat<f64>| (0..d * d).map(|e| m[(e / d, e % d)]).collect();
        let (matrices, plain) = match &self.kept {
            Kept::Blocks(kept) => (kept.iter().cloned().collect(), vec![]),
            Kept::Histogram { histogram, plain } => (
                histogram.checkpoints().iter().map(|c| (c.start, numbers(&c.matrix))).collect(),
                plain.iter().map(|(i, m)| (*i, numbers(m))).collect(),
            ),
        };
        BlocksState { described: self.described.clone(), matrices, plain }
    }

    /// Puts back what [`Blocks::snapshot`] gave after `closed` blocks.
    pub(super) fn restore(&mut self, state: BlocksState, closed: u64) -> Result<()> {
        let BlocksState { described, matrices, plain: sums } = state;
        let d = self.mechanism.dim();
        if matrices.iter().chain(&sums).any(|(_, values)| values.len() != d * d) {
            return Err(Error::corrupt("a matrix has another size"));
        }
        if matrices.iter().any(|(i, _)| *i >= closed) {
            return Err(Error::corrupt("a block lies in the future"));
        }
        let starts = |of: &[(u64, Vec<f64>)]| of.iter().map(|(i, _)| *i).collect::<Vec<_>>();
        let expected = if self.keeps_plain_sums() { starts(&matrices) } else { Vec::new() };
        if starts(&sums) != expected {
            return Err(Error::corrupt("its sums are not those of its checkpoints"));
        }
        self.described = described;
        let load = |(start, values): (u64, Vec<f64>)| {
            (start, MatRef::from_row_major_slice(&values, d, d).to_owned())
        };
        match &mut self.kept {
            Kept::Blocks(kept) => *kept = matrices.into(),
            Kept::Histogram { histogram, plain } => {
                *plain = sums.into_iter().map(load).collect();
                let loaded = matrices.into_iter().map(load);
                let checkpoints =
                    loaded.map(|(start, matrix)| Checkpoint { start, matrix }).collect();
                histogram.restore(checkpoints, closed.checked_sub(1));
            }
        }
        Ok(())
    }

    /// Whether the histogram's own sums are not what is released.
    fn keeps_plain_sums(&self) -> bool {
        let gaussian = matches!(
            self.mechanism.guarantee().profile(),
            Some(dp_core::Profile::SymmetricGaussian { .. })
        );
        gaussian && matches!(self.kept, Kept::Histogram { .. })
    }

    /// Matrices held.
    pub(super) fn matrices(&self) -> usize {
        match &self.kept {
            Kept::Blocks(blocks) => blocks.len(),
            Kept::Histogram { histogram, plain } => histogram.checkpoints().len() + plain.len(),
        }
    }
}

/// The root mean square error of a sum of `count` independent matrices, of which one has all the rows: where the
/// noise grows with the data, no other division of them has more.
pub(super) fn of_sum(of: impl Fn(SquaredNorm) -> f64, trace: SquaredNorm, count: f64) -> f64 {
    let empty = SquaredNorm::new(f64::MIN_POSITIVE).expect("positive");
    (of(trace).powi(2) + (count - 1.0).max(0.0) * of(empty).powi(2)).sqrt()
}
