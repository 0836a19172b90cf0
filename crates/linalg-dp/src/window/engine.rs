//! The schedules behind one door: rows in, sums out, state to and from a journal.

use super::blocks::{Blocks, BlocksState};
use super::config::{Row, Schedule, StreamConfig};
use super::sums::{Factorised, SumNoise, SumsState};
use super::tree::{Tree, TreeState};
use crate::covariance::{CovarianceNoise, OpenGram, RowClip};
use crate::error::{Error, Result};
use dp_core::noise::NoiseLaw;
use dp_core::{Guarantee, NoiseRng, NoiseScale, SquaredNorm};
use faer::Mat;
use serde::{Deserialize, Serialize};

/// The schedule at work.
pub(super) enum Engine {
    Blocks(Box<Blocks>),
    Tree(Box<Tree>),
    Factorised { sums: Box<Factorised>, open: OpenGram, clip: RowClip },
}

/// What a window's release consists of, without the stream's parameters.
pub(super) struct WindowSum {
    /// The unbiased estimate.
    pub(super) matrix: Mat<f64>,
    /// First block covered.
    pub(super) first: u64,
    /// The noise in it.
    pub(super) noise: CovarianceNoise,
    /// The law that a row meets.
    pub(super) law: NoiseLaw,
}

/// What a journal keeps of a schedule.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    Blocks(BlocksState),
    Tree(TreeState),
    Factorised(SumsState),
}

impl State {
    /// Checks that the sums of a stream are there before memory for them is taken.
    pub(super) fn check_size(&self, config: &StreamConfig) -> Result<()> {
        let fits = match self {
            Self::Blocks(_) => matches!(config.schedule, Schedule::Block { .. }),
            Self::Tree(_) => matches!(config.schedule, Schedule::Tree { .. }),
            Self::Factorised(_) => {
                matches!(config.schedule, Schedule::Factorised { .. } | Schedule::Decayed { .. })
            }
        };
        if !fits {
            return Err(Error::corrupt("its state belongs to another schedule"));
        }
        let sums = match self {
            Self::Blocks(state) if state.numbers().is_none() => return Ok(()),
            Self::Blocks(state) => state.numbers(),
            Self::Tree(state) => state.numbers(config.window_blocks()?),
            Self::Factorised(state) => Some(state.numbers()),
        };
        if config.dim.checked_mul(config.dim) == sums {
            Ok(())
        } else {
            Err(Error::corrupt("its sums have another shape"))
        }
    }
}

impl Engine {
    /// Calibrates the schedule, with what all its releases together promise.
    pub(super) fn new(config: &StreamConfig, clip: RowClip, row: Row) -> Result<(Self, Guarantee)> {
        Ok(match config.schedule {
            Schedule::Block { noise, keep } => {
                let blocks = Blocks::new(config, noise, keep)?;
                let guarantee = blocks.guarantee().clone();
                (Self::Blocks(Box::new(blocks)), guarantee)
            }
            Schedule::Tree { noise } => {
                let tree = Tree::new(config, noise, clip, row)?;
                let guarantee = tree.guarantee().clone();
                (Self::Tree(Box::new(tree)), guarantee)
            }
            Schedule::Factorised { .. } | Schedule::Decayed { .. } => {
                let sums = Factorised::new(config, clip, row)?;
                let guarantee = sums.noise.guarantee().clone();
                (
                    Self::Factorised { sums: Box::new(sums), open: OpenGram::new(clip), clip },
                    guarantee,
                )
            }
        })
    }

    /// The same noise, and no block yet.
    pub(super) fn restarted(&self, config: &StreamConfig, clip: RowClip) -> Self {
        match (self, config.schedule) {
            (Self::Blocks(blocks), Schedule::Block { keep, .. }) => {
                Self::Blocks(Box::new(blocks.restarted(config, keep)))
            }
            (Self::Tree(tree), _) => Self::Tree(Box::new(tree.restarted(clip))),
            (Self::Factorised { sums, .. }, _) => Self::Factorised {
                sums: Box::new(sums.restarted(config, clip)),
                open: OpenGram::new(clip),
                clip,
            },
            (Self::Blocks(_), _) => unreachable!("blocks come from a schedule of blocks"),
        }
    }

    /// Matrices held.
    pub(super) fn matrices(&self) -> usize {
        match self {
            Self::Blocks(blocks) => blocks.matrices(),
            Self::Tree(tree) => tree.matrices(),
            Self::Factorised { sums, .. } => sums.matrices(),
        }
    }

    /// The expected error of a full window whose rows have this total squared norm.
    pub(super) fn expected_error(&self, trace: SquaredNorm) -> f64 {
        match self {
            Self::Blocks(blocks) => blocks.expected_error(trace),
            Self::Tree(tree) => tree.expected_error(trace),
            Self::Factorised { sums, .. } => sums.expected_error(),
        }
    }

    /// Adds rows to the open block.
    pub(super) fn push(&mut self, rows: &[f64]) -> Result<()> {
        match self {
            Self::Blocks(blocks) => blocks.push(rows),
            Self::Tree(tree) => tree.push(rows),
            Self::Factorised { open, .. } => open.push(rows),
        }
    }

    /// Ends block `index`.
    pub(super) fn close(
        &mut self,
        index: u64,
        window_blocks: u64,
        rng: &mut NoiseRng,
    ) -> Result<()> {
        match self {
            Self::Blocks(blocks) => blocks.close(index, rng),
            Self::Tree(tree) => tree.close(index, rng),
            Self::Factorised { sums, open, .. } => sums.close(open, window_blocks, rng),
        }
    }

    /// The window that ends with the last of `closed` blocks.
    pub(super) fn window(&self, config: &StreamConfig, closed: u64) -> Result<WindowSum> {
        let window_first = closed.saturating_sub(config.window_blocks()?);
        Ok(match self {
            Self::Blocks(blocks) => {
                let (matrix, first) = blocks.sum(closed);
                let (statement, one, _) = blocks
                    .described
                    .as_ref()
                    .ok_or(Error::Unusable { what: "stream", reason: "no block has closed yet" })?;
                let noise = scale_noise(*one, closed - first)?;
                WindowSum { matrix, first, noise, law: statement.noise.clone() }
            }
            Self::Tree(tree) => {
                let (matrix, nodes) = tree.sum(window_first, closed);
                let noise = scale_noise(tree.node_noise(), nodes)?;
                WindowSum { matrix, first: window_first, noise, law: tree.law() }
            }
            Self::Factorised { sums, .. } => {
                let (matrix, factor) = sums.sum();
                let first = match config.schedule {
                    Schedule::Decayed { .. } => 0,
                    _ => window_first,
                };
                let noise = gaussian(&sums.noise, factor)?;
                WindowSum { matrix, first, noise, law: sums.noise.law() }
            }
        })
    }

    /// What a journal keeps of it.
    pub(super) fn snapshot(&self) -> State {
        match self {
            Self::Blocks(blocks) => State::Blocks(blocks.snapshot()),
            Self::Tree(tree) => State::Tree(tree.snapshot()),
            Self::Factorised { sums, .. } => State::Factorised(sums.snapshot()),
        }
    }

    /// Puts back what [`Engine::snapshot`] gave after `closed` blocks.
    pub(super) fn restore(&mut self, state: State, closed: u64) -> Result<()> {
        match (self, state) {
            (Self::Blocks(blocks), State::Blocks(state)) => blocks.restore(state, closed),
            (Self::Tree(tree), State::Tree(state)) => tree.restore(state, closed),
            (Self::Factorised { sums, clip, .. }, State::Factorised(state)) => {
                sums.restore(state, *clip)
            }
            _ => Err(Error::corrupt("its state belongs to another schedule")),
        }
    }
}

fn gaussian(noise: &SumNoise, factor: f64) -> Result<CovarianceNoise> {
    let sigma = NoiseScale::new(noise.sigma.get() * factor.max(f64::MIN_POSITIVE))?;
    Ok(CovarianceNoise::SymmetricGaussian { sigma })
}

/// The law of the sum of `count` independent noises.
fn scale_noise(one: CovarianceNoise, count: u64) -> Result<CovarianceNoise> {
    let root = (count.max(1) as f64).sqrt();
    Ok(match one {
        CovarianceNoise::SymmetricGaussian { sigma } => {
            CovarianceNoise::SymmetricGaussian { sigma: NoiseScale::new(sigma.get() * root)? }
        }
        CovarianceNoise::Wishart { dof, scale } => {
            CovarianceNoise::Wishart { dof: dof * count.max(1), scale }
        }
        // The sum of the lifts: sqrt(m) w stands for m w^2.
        CovarianceNoise::JlSketch { rows, lift } => {
            CovarianceNoise::JlSketch { rows, lift: NoiseScale::new(lift.get() * root)? }
        }
    })
}
