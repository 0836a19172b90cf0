//! Symmetric Gaussian noise on sums of several blocks, and the factorised schedules.

use super::config::{Row, Schedule, StreamConfig};
use super::factorisation::Factorisation;
use crate::author::AUTHOR;
use crate::covariance::{ExactGram, OpenGram, RowClip};
use crate::error::{Error, Result};
use crate::products::check_grid;
use dp_core::mechanism::{Calibrated, Statistic};
use dp_core::noise::{NoiseLaw, SymmetricGaussian};
use dp_core::profile::covariance_sensitivity;
use dp_core::{
    EntryBound, Guarantee, L2Sensitivity, NoiseRng, NoiseScale, Profile, Theorem, calibrate,
};
use faer::{Mat, MatRef};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The calibrated noise of a sum schedule.
#[derive(Debug, Clone)]
pub(super) struct SumNoise {
    pub(super) sigma: NoiseScale,
    calibrated: Calibrated<SymmetricGaussian>,
}

impl SumNoise {
    /// Calibrates: `factor` times one block's sensitivity, values of at most `reach`, computed with
    /// an error of at most `error`, in `outputs` matrices of the stream.
    pub(super) fn calibrate(config: &StreamConfig, row: Row, plan: Plan) -> Result<Self> {
        let exact = covariance_sensitivity(row.bound, row.change);
        let joint = L2Sensitivity::new((exact * plan.factor).next_up())?;
        let numbers = ((config.dim * config.dim) as u64).saturating_mul(plan.outputs);
        let numbers = usize::try_from(numbers)
            .map_err(|_| Error::invalid("horizon", plan.outputs, "fewer blocks"))?;
        let reach = EntryBound::new(plan.reach)?;
        let statistic =
            Statistic::new(config.adjacency, joint, numbers, reach).computed_within(plan.error)?;
        let rough = calibrate::gaussian(config.budget, joint)?;
        let (grid, sensitivity) = statistic.on_grid(rough)?;
        let sigma = calibrate::gaussian(config.budget, sensitivity)?;
        check_grid(sigma, grid)?;
        let calibrated = AUTHOR.calibrated(
            config.adjacency,
            config.budget,
            AUTHOR.theorem(Theorem::SlidingWindow),
            Profile::Gaussian { sensitivity, sigma },
            AUTHOR.symmetric(config.dim, sigma, grid)?,
        )?;
        Ok(Self { sigma, calibrated })
    }

    /// The joint guarantee of all noisy sums.
    pub(super) fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    /// The root mean square of the Frobenius norm of one noise matrix.
    pub(super) fn expected_error(&self, dim: usize) -> f64 {
        let d = dim as f64;
        self.sigma.get() * (d * (d + 1.0) / 2.0).sqrt()
    }

    /// The law of one noise matrix.
    pub(super) fn law(&self) -> NoiseLaw {
        self.calibrated.noise().law()
    }

    /// Rounds the lower triangle (row-major) to the grid, adds noise and mirrors it.
    pub(super) fn privatise(&self, values: &mut [f64], rng: &mut NoiseRng) -> Result<()> {
        Ok(self.calibrated.noise().add_to(rng, values)?)
    }
}

/// What the noise must cover: see [`SumNoise::calibrate`].
pub(super) struct Plan {
    pub(super) factor: f64,
    pub(super) reach: f64,
    pub(super) error: f64,
    pub(super) outputs: u64,
}

/// The factorised schedules.
#[derive(Debug)]
pub(super) struct Factorised {
    dim: usize,
    pub(super) noise: SumNoise,
    factorisation: Factorisation,
    /// Exact running sum `(A X)_j`. Private.
    running: Running,
    /// `(C X)_j` of the last blocks, newest first, row-major: the lower triangle. Private.
    exact: VecDeque<Vec<f64>>,
    /// `(C X)_j + Z_j`, newest first. Released.
    noisy: VecDeque<Vec<f64>>,
    /// Room for a block's sum: that of the last one that left the window. Private.
    spare: Option<ExactGram>,
}

/// What a journal keeps of factorised sums.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SumsState {
    total: Vec<i128>,
    blocks: Vec<Vec<i128>>,
    decayed: Vec<f64>,
    exact: Vec<Vec<f64>>,
    noisy: Vec<Vec<f64>>,
}

impl SumsState {
    /// Numbers in a sum.
    pub(super) fn numbers(&self) -> usize {
        self.total.len().max(self.decayed.len())
    }
}

/// How the exact workload sum is kept.
#[derive(Debug)]
enum Running {
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
        let factorisation = Factorisation::kept(workload, horizon)?;
        let block = config.block as f64 * bound.get() * bound.get() * 1.01;
        let plan = Plan {
            factor: factorisation.column_norm(),
            reach: block * factorisation.strategy_l1(),
            error: factorisation.rounding_error(block),
            outputs: horizon,
        };
        let noise = SumNoise::calibrate(config, row, plan)?;
        Ok(Self::with_noise(config, clip, noise, factorisation))
    }

    fn with_noise(
        config: &StreamConfig,
        clip: RowClip,
        noise: SumNoise,
        factorisation: Factorisation,
    ) -> Self {
        let running = match config.schedule {
            Schedule::Decayed { decay, .. } => {
                Running::Decayed { decay, total: vec![0.0; config.dim * config.dim] }
            }
            _ => Running::Sliding { total: ExactGram::new(clip), blocks: VecDeque::new() },
        };
        let (exact, noisy) = (VecDeque::new(), VecDeque::new());
        Self { dim: config.dim, noise, factorisation, running, exact, noisy, spare: None }
    }

    /// The same noise, and no block yet.
    pub(super) fn restarted(&self, config: &StreamConfig, clip: RowClip) -> Self {
        Self::with_noise(config, clip, self.noise.clone(), self.factorisation.clone())
    }

    /// What a journal keeps of it.
    pub(super) fn snapshot(&self) -> SumsState {
        let (total, blocks, decayed) = match &self.running {
            Running::Sliding { total, blocks } => (
                total.totals().to_vec(),
                blocks.iter().map(|g| g.totals().to_vec()).collect(),
                Vec::new(),
            ),
            Running::Decayed { total, .. } => (Vec::new(), Vec::new(), total.clone()),
        };
        let entries = |queue: &VecDeque<Vec<f64>>| queue.iter().cloned().collect();
        let (exact, noisy) = (entries(&self.exact), entries(&self.noisy));
        SumsState { total, blocks, decayed, exact, noisy }
    }

    /// Puts back what [`Factorised::snapshot`] gave.
    pub(super) fn restore(&mut self, state: SumsState, clip: RowClip) -> Result<()> {
        let SumsState { total, blocks, decayed, exact, noisy } = state;
        let size = self.dim * self.dim;
        if exact.iter().chain(&noisy).any(|v| v.len() != size) {
            return Err(Error::corrupt("its sums have another shape"));
        }
        match &mut self.running {
            Running::Sliding { total: running, blocks: kept } => {
                running.set_totals(total)?;
                for totals in blocks {
                    let mut gram = ExactGram::new(clip);
                    gram.set_totals(totals)?;
                    kept.push_back(gram);
                }
            }
            Running::Decayed { total: running, .. } => {
                if decayed.len() != size {
                    return Err(Error::corrupt("its sums have another shape"));
                }
                *running = decayed;
            }
        }
        (self.exact, self.noisy) = (exact.into(), noisy.into());
        Ok(())
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
        open: &mut OpenGram,
        window_blocks: u64,
        rng: &mut NoiseRng,
    ) -> Result<()> {
        let d = self.dim;
        let (mut value, left) = self.running.advance(open.take(self.spare.take()), window_blocks);
        self.spare = left;
        let taps = self.factorisation.noise_taps();
        // Row after row, so that a row stays in the cache until all past ones are taken from it.
        for (i, row) in value.chunks_mut(d).enumerate() {
            for (tap, past) in taps[1..].iter().zip(&self.exact) {
                row[..=i].iter_mut().zip(&past[i * d..]).for_each(|(v, p)| *v -= tap * p);
            }
        }
        // What no tap reaches any more gives its room to the newest.
        let last = if self.noisy.len() < taps.len() { None } else { self.noisy.pop_back() };
        let mut noisy = last.unwrap_or_default();
        noisy.clear();
        noisy.extend_from_slice(&value);
        // The leading tap is one.
        self.noise.privatise(&mut noisy, rng)?;
        for (queue, entry) in [(&mut self.exact, value), (&mut self.noisy, noisy)] {
            queue.push_front(entry);
            queue.truncate(taps.len());
        }
        Ok(())
    }

    /// The expected error of a window, once as many blocks have closed as noise is remembered of.
    pub(super) fn expected_error(&self) -> f64 {
        let squares: f64 = self.factorisation.noise_taps().iter().map(|tap| tap * tap).sum();
        squares.sqrt() * self.noise.expected_error(self.dim)
    }

    /// `(B Y)_j` for the newest block, and the standard deviation of its noise over sigma.
    pub(super) fn sum(&self) -> (Mat<f64>, f64) {
        let d = self.dim;
        let mut total = vec![0.0; d * d];
        let mut variance = 0.0;
        for (tap, y) in self.factorisation.noise_taps().iter().zip(&self.noisy) {
            variance += tap * tap;
            total.iter_mut().zip(y).for_each(|(t, y)| *t += tap * y);
        }
        (MatRef::from_row_major_slice(&total, d, d).to_owned(), variance.sqrt())
    }
}

impl Running {
    /// The lower triangle of the newest sum, and the block that has left it.
    fn advance(&mut self, block: ExactGram, window_blocks: u64) -> (Vec<f64>, Option<ExactGram>) {
        match self {
            Self::Sliding { total, blocks } => {
                total.add(&block);
                blocks.push_back(block);
                let over = blocks.len() as u64 > window_blocks;
                let left = if over { blocks.pop_front() } else { None };
                left.iter().for_each(|oldest| total.subtract(oldest));
                (total.lower_values(), left)
            }
            Self::Decayed { decay, total } => {
                for (t, x) in total.iter_mut().zip(block.lower_values()) {
                    *t = *decay * *t + x;
                }
                (total.clone(), Some(block))
            }
        }
    }
}
