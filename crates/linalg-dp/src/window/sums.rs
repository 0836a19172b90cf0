//! Schedules with symmetric Gaussian noise on sums of several blocks: tree and factorised.

use super::config::{Schedule, StreamConfig};
use super::factorisation::Factorisation;
use crate::covariance::{ExactGram, RowClip, frobenius_sensitivity};
use crate::error::{Error, Result};
use dp_core::noise::{Grid, SymmetricGaussian};
use dp_core::profile::RowChange;
use dp_core::{Bound, L2Sensitivity, NoiseRng, NoiseScale, calibrate};
use faer::Mat;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The calibrated noise of a sum schedule.
#[derive(Debug, Clone)]
pub(super) struct SumNoise {
    pub(super) sigma: NoiseScale,
    pub(super) sensitivity: L2Sensitivity,
    pub(super) grid: Grid,
}

impl SumNoise {
    /// Calibrates: `factor` times one block's sensitivity, values of at most `reach`, computed with
    /// an error of at most `error`, in `outputs` matrices of the stream.
    fn calibrate(config: &StreamConfig, row: Row, plan: Plan) -> Result<Self> {
        let exact = frobenius_sensitivity(row.bound, row.change)?;
        let joint = L2Sensitivity::new((exact.get() * plan.factor).next_up())?;
        let rough = calibrate::gaussian(config.budget, joint)?;
        let grid = Grid::choose(rough, Bound::new(plan.reach)?)?;
        let coordinates = (config.dim * config.dim) as u64;
        let coordinates = usize::try_from(coordinates.saturating_mul(plan.outputs))
            .map_err(|_| Error::invalid("horizon", plan.outputs, "fewer blocks"))?;
        let sensitivity = grid.inflate_l2(joint, coordinates, plan.error)?;
        let sigma = calibrate::gaussian(config.budget, sensitivity)?;
        Ok(Self { sigma, sensitivity, grid })
    }

    /// Rounds to the grid and adds noise.
    fn privatise(&self, exact: Vec<f64>, dim: usize, rng: &mut NoiseRng) -> Result<Mat<f64>> {
        let mut values = exact;
        SymmetricGaussian::new(dim, self.sigma, self.grid)?.add_to(rng, &mut values);
        Ok(Mat::from_fn(dim, dim, |i, j| values[i * dim + j]))
    }
}

/// How a row may change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) bound: Bound,
    pub(super) change: RowChange,
}

struct Plan {
    factor: f64,
    reach: f64,
    error: f64,
    outputs: u64,
}

/// A private node of the tree: the sum of `2^level` blocks, the first being `index 2^level`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Node {
    pub(super) level: u32,
    pub(super) index: u64,
    pub(super) values: Vec<f64>,
}

impl Node {
    fn first(&self) -> u64 {
        self.index << self.level
    }

    fn end(&self) -> u64 {
        (self.index + 1) << self.level
    }
}

/// The tree schedule.
#[derive(Debug)]
pub(super) struct Tree {
    dim: usize,
    window_blocks: u64,
    pub(super) noise: SumNoise,
    /// Exact sums of the nodes being filled, by level. Private.
    pub(super) open: Vec<ExactGram>,
    /// Private nodes that a window may still need.
    pub(super) nodes: Vec<Node>,
}

/// Levels of the tree: each block is in this many nodes.
pub(super) fn tree_levels(window_blocks: u64) -> u32 {
    window_blocks.max(1).ilog2() + 1
}

impl Tree {
    pub(super) fn new(config: &StreamConfig, clip: RowClip, row: Row) -> Result<Self> {
        let bound = row.bound;
        let window_blocks = config.window_blocks()?;
        let levels = tree_levels(window_blocks);
        let plan = Plan {
            factor: f64::from(levels).sqrt().next_up(),
            reach: config.window as f64 * bound.get() * bound.get() * 1.01,
            // The sums are exact integers; only the conversion to f64 rounds.
            error: config.window as f64 * bound.get() * bound.get() * f64::EPSILON,
            outputs: u64::from(levels),
        };
        let noise = SumNoise::calibrate(config, row, plan)?;
        let open = (0..levels).map(|_| ExactGram::new(clip)).collect();
        Ok(Self { dim: config.dim, window_blocks, noise, open, nodes: Vec::new() })
    }

    pub(super) fn close(
        &mut self,
        block: &ExactGram,
        index: u64,
        rng: &mut NoiseRng,
    ) -> Result<()> {
        for level in 0..self.open.len() {
            self.open[level].add(block);
            if (index + 1).is_multiple_of(1 << level) {
                let exact = self.open[level].to_values();
                let noisy = self.noise.privatise(exact, self.dim, rng)?;
                let values =
                    (0..self.dim * self.dim).map(|e| noisy[(e / self.dim, e % self.dim)]).collect();
                self.nodes.push(Node { level: level as u32, index: index >> level, values });
                self.open[level].clear();
            }
        }
        let oldest = (index + 1).saturating_sub(self.window_blocks);
        self.nodes.retain(|n| n.first() >= oldest);
        Ok(())
    }

    /// The sum over blocks `first..end` and how many nodes it took.
    pub(super) fn sum(&self, first: u64, end: u64) -> (Mat<f64>, u64) {
        let mut total = Mat::<f64>::zeros(self.dim, self.dim);
        let (mut at, mut used) = (first, 0);
        while at < end {
            let node = self
                .nodes
                .iter()
                .filter(|n| n.first() == at && n.end() <= end)
                .max_by_key(|n| n.level)
                .expect("every closed block has its leaf");
            for j in 0..self.dim {
                for i in 0..self.dim {
                    total[(i, j)] += node.values[i * self.dim + j];
                }
            }
            (at, used) = (node.end(), used + 1);
        }
        (total, used)
    }
}

/// The factorised schedules.
#[derive(Debug)]
pub(super) struct Factorised {
    dim: usize,
    pub(super) noise: SumNoise,
    pub(super) factorisation: Factorisation,
    /// Exact running sum `(A X)_j`. Private.
    pub(super) running: Running,
    /// `(C X)_j` of the last blocks, newest first. Private.
    pub(super) exact: VecDeque<Vec<f64>>,
    /// `(C X)_j + Z_j`, newest first. Released.
    pub(super) noisy: VecDeque<Vec<f64>>,
}

/// How the exact workload sum is kept.
#[derive(Debug)]
pub(super) enum Running {
    /// Integer sum of the window and its blocks, oldest first.
    Sliding { total: ExactGram, blocks: VecDeque<ExactGram> },
    /// Real decayed sum.
    Decayed { decay: f64, total: Vec<f64> },
}

impl Factorised {
    pub(super) fn new(config: &StreamConfig, clip: RowClip, row: Row) -> Result<Self> {
        let bound = row.bound;
        let (workload, horizon) = config
            .workload()?
            .ok_or_else(|| Error::invalid("schedule", "not factorised", "factorised or decayed"))?;
        let factorisation = Factorisation::new(workload, horizon, config.window_blocks()?)?;
        let block = config.block as f64 * bound.get() * bound.get() * 1.01;
        let plan = Plan {
            factor: factorisation.column_norm(),
            reach: block * factorisation.strategy_l1(),
            error: factorisation.rounding_error(block),
            outputs: horizon,
        };
        let noise = SumNoise::calibrate(config, row, plan)?;
        let running = match config.schedule {
            Schedule::Decayed { decay, .. } => {
                Running::Decayed { decay, total: vec![0.0; config.dim * config.dim] }
            }
            _ => Running::Sliding { total: ExactGram::new(clip), blocks: VecDeque::new() },
        };
        Ok(Self {
            dim: config.dim,
            noise,
            factorisation,
            running,
            exact: VecDeque::new(),
            noisy: VecDeque::new(),
        })
    }

    /// Matrices held.
    pub(super) fn matrices(&self) -> usize {
        let running = match &self.running {
            Running::Sliding { blocks, .. } => 1 + blocks.len(),
            Running::Decayed { .. } => 1,
        };
        running + self.exact.len() + self.noisy.len()
    }

    pub(super) fn close(
        &mut self,
        block: ExactGram,
        index: u64,
        window_blocks: u64,
        rng: &mut NoiseRng,
    ) -> Result<()> {
        if index >= self.factorisation.horizon() {
            let allowed = format!("at most the horizon, {}", self.factorisation.horizon());
            return Err(Error::invalid("blocks", index + 1, allowed));
        }
        let mut value = self.running.advance(block, window_blocks);
        let taps = self.factorisation.noise_taps();
        for (tap, past) in taps[1..].iter().zip(&self.exact) {
            value.iter_mut().zip(past).for_each(|(v, p)| *v -= tap * p);
        }
        // The leading tap is one.
        let noisy = self.noise.privatise(value.clone(), self.dim, rng)?;
        let released = (0..value.len()).map(|e| noisy[(e / self.dim, e % self.dim)]).collect();
        for (queue, entry) in [(&mut self.exact, value), (&mut self.noisy, released)] {
            queue.push_front(entry);
            queue.truncate(taps.len());
        }
        Ok(())
    }

    /// `(B Y)_j` for the newest block, and the standard deviation of its noise over sigma.
    pub(super) fn sum(&self) -> (Mat<f64>, f64) {
        let mut total = Mat::<f64>::zeros(self.dim, self.dim);
        let mut variance = 0.0;
        for (tap, y) in self.factorisation.noise_taps().iter().zip(&self.noisy) {
            variance += tap * tap;
            for j in 0..self.dim {
                for i in 0..self.dim {
                    total[(i, j)] += tap * y[i * self.dim + j];
                }
            }
        }
        (total, variance.sqrt())
    }
}

impl Running {
    fn advance(&mut self, block: ExactGram, window_blocks: u64) -> Vec<f64> {
        match self {
            Self::Sliding { total, blocks } => {
                total.add(&block);
                blocks.push_back(block);
                if blocks.len() as u64 > window_blocks
                    && let Some(oldest) = blocks.pop_front()
                {
                    total.subtract(&oldest);
                }
                total.to_values()
            }
            Self::Decayed { decay, total } => {
                for (t, x) in total.iter_mut().zip(block.to_values()) {
                    *t = *decay * *t + x;
                }
                total.clone()
            }
        }
    }
}
