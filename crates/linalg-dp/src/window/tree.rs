//! The tree schedule: one private matrix a node of a binary tree over the blocks.

use super::blocks::of_sum;
use super::config::{BlockNoise, Row, StreamConfig};
use super::sums::{Plan, SumNoise};
use crate::author::AUTHOR;
use crate::covariance::{
    CovarianceMechanism, CovarianceNoise, ExactGram, JlCovariance, OpenGram, RowClip,
    WishartCovariance, WishartShape,
};
use crate::error::{Error, Result};
use dp_core::noise::NoiseLaw;
use dp_core::profile::RowChange;
use dp_core::{
    Adjacency, Budget, Epsilon, Guarantee, NoiseRng, Profile, SquaredNorm, Theorem, calibrate,
};
use faer::{Mat, MatRef};
use serde::{Deserialize, Serialize};

/// A private node: the sum of `2^level` blocks, the first being `index 2^level`.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Node {
    level: u32,
    index: u64,
    /// Row-major, the mean of the noise removed.
    values: Vec<f64>,
}

/// What a journal keeps of a tree.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TreeState {
    open: Vec<Vec<i128>>,
    nodes: Vec<Node>,
}

impl TreeState {
    /// Numbers in a level's exact sum, where all levels of such a window have one.
    pub(super) fn numbers(&self, window_blocks: u64) -> Option<usize> {
        let numbers = self.open.first()?.len();
        let levels = tree_levels(window_blocks) as usize;
        (self.open.len() == levels && self.open.iter().all(|sum| sum.len() == numbers))
            .then_some(numbers)
    }
}

impl Node {
    fn first(&self) -> u64 {
        self.index << self.level
    }

    fn end(&self) -> u64 {
        (self.index + 1) << self.level
    }
}

/// How a node is privatised. The budget is met by as many nodes as there are levels.
#[derive(Clone)]
enum NodeNoise {
    Gaussian(SumNoise),
    Wishart(WishartCovariance),
    Sketch(JlCovariance),
}

impl NodeNoise {
    /// The sum with its noise, the mean of the noise included.
    fn privatise(&self, sum: &ExactGram, rng: &mut NoiseRng) -> Result<Vec<f64>> {
        Ok(match self {
            Self::Gaussian(noise) => {
                let mut values = sum.lower_values();
                noise.privatise(&mut values, rng)?;
                values
            }
            Self::Wishart(mechanism) => mechanism.draw(sum, rng)?,
            Self::Sketch(mechanism) => mechanism.draw(sum, rng)?.1,
        })
    }
}

/// The exact sums of the nodes being filled, by level, and that of the open block. Private.
struct Filling {
    levels: Vec<ExactGram>,
    block: OpenGram,
}

impl Filling {
    /// Nodes with nothing in them.
    fn empty(levels: u32, clip: RowClip) -> Self {
        let levels = (0..levels).map(|_| ExactGram::new(clip)).collect();
        Self { levels, block: OpenGram::new(clip) }
    }
}

/// The tree schedule.
pub(super) struct Tree {
    dim: usize,
    window_blocks: u64,
    levels: u32,
    noise: NodeNoise,
    guarantee: Guarantee,
    filling: Filling,
    /// Private nodes that a window may still need.
    nodes: Vec<Node>,
}

/// Levels of the tree: each block is in this many nodes.
fn tree_levels(window_blocks: u64) -> u32 {
    window_blocks.max(1).ilog2() + 1
}

/// How many nodes of a tree of so many levels hold these blocks.
pub(crate) fn nodes(levels: u32, first: u64, end: u64) -> u64 {
    let (mut at, mut count) = (first, 0);
    while at < end {
        let fits = |level: &u32| at.is_multiple_of(1 << level) && 1 << level <= end - at;
        at += 1 << (0..levels).rev().find(fits).unwrap_or(0);
        count += 1;
    }
    count
}

/// Fewest nodes that a window of so many blocks is made of, their mean over its places, and most.
pub(crate) fn nodes_of_windows(window_blocks: u64) -> (f64, f64, f64) {
    let levels = tree_levels(window_blocks);
    let period = 1u64 << (levels - 1);
    let ends = (0..period).step_by((period >> 12 | 1) as usize);
    let counts = ends.map(|first| nodes(levels, first, first + window_blocks) as f64);
    let (least, sum, most, count) = counts.fold((f64::MAX, 0.0, 0.0f64, 0.0), |at, n| {
        (at.0.min(n), at.1 + n, at.2.max(n), at.3 + 1.0)
    });
    (least, sum / count, most)
}

impl Tree {
    pub(super) fn new(
        config: &StreamConfig,
        noise: BlockNoise,
        clip: RowClip,
        row: Row,
    ) -> Result<Self> {
        let window_blocks = config.window_blocks()?;
        let levels = tree_levels(window_blocks);
        let (noise, guarantee) = match noise {
            BlockNoise::SymmetricGaussian => gaussian(config, row, levels)?,
            BlockNoise::Wishart => wishart(config, row, levels)?,
            BlockNoise::JohnsonLindenstrauss { rows } => sketch(config, row, levels, rows)?,
        };
        let filling = Filling::empty(levels, clip);
        let dim = config.dim;
        Ok(Self { dim, window_blocks, levels, noise, guarantee, filling, nodes: Vec::new() })
    }

    /// The same noise, and no block yet.
    pub(super) fn restarted(&self, clip: RowClip) -> Self {
        let (noise, guarantee) = (self.noise.clone(), self.guarantee.clone());
        let filling = Filling::empty(self.levels, clip);
        Self { noise, guarantee, filling, nodes: Vec::new(), ..*self }
    }

    pub(super) fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The noise of one node.
    pub(super) fn node_noise(&self) -> CovarianceNoise {
        match &self.noise {
            NodeNoise::Gaussian(noise) => CovarianceNoise::SymmetricGaussian { sigma: noise.sigma },
            NodeNoise::Wishart(m) => CovarianceNoise::Wishart { dof: m.dof(), scale: m.scale() },
            NodeNoise::Sketch(m) => {
                CovarianceNoise::JlSketch { rows: m.rows() as u64, lift: m.lift() }
            }
        }
    }

    /// The expected error of a full window whose rows have this total squared norm, over where it ends.
    pub(super) fn expected_error(&self, trace: SquaredNorm) -> f64 {
        let mean = nodes_of_windows(self.window_blocks).1;
        match &self.noise {
            NodeNoise::Gaussian(noise) => mean.sqrt() * noise.expected_error(self.dim),
            NodeNoise::Wishart(m) => of_sum(|t| m.expected_frobenius_error(t), trace, mean),
            NodeNoise::Sketch(m) => of_sum(|t| m.expected_frobenius_error(t), trace, mean),
        }
    }

    /// What a row meets: the law of a node, in every level. (The profile of Gaussian nodes is that
    /// of their joint sensitivity, so their one law stands for all.)
    pub(super) fn law(&self) -> NoiseLaw {
        let law = match &self.noise {
            NodeNoise::Gaussian(noise) => return noise.law(),
            NodeNoise::Wishart(m) => m.law(),
            NodeNoise::Sketch(m) => m.law(),
        };
        NoiseLaw::Several { laws: vec![law; self.levels as usize] }
    }

    /// Matrices held.
    pub(super) fn matrices(&self) -> usize {
        self.levels as usize + self.nodes.len()
    }

    pub(super) fn push(&mut self, rows: &[f64]) -> Result<()> {
        self.filling.block.push(rows)
    }

    pub(super) fn close(&mut self, index: u64, rng: &mut NoiseRng) -> Result<()> {
        let (d, offset) = (self.dim, self.node_noise().mean());
        let Filling { levels, block } = &mut self.filling;
        let closed = block.sum();
        for (level, sum) in (0u32..).zip(levels) {
            sum.add(closed);
            if (index + 1).is_multiple_of(1 << level) {
                let mut values = self.noise.privatise(sum, rng)?;
                (0..d).for_each(|i| values[i * d + i] -= offset);
                sum.clear();
                self.nodes.push(Node { level, index: index >> level, values });
            }
        }
        block.clear();
        let oldest = (index + 1).saturating_sub(self.window_blocks);
        self.nodes.retain(|n| n.first() >= oldest);
        Ok(())
    }

    /// The unbiased sum over blocks `first..end` and how many nodes it took.
    pub(super) fn sum(&self, first: u64, end: u64) -> (Mat<f64>, u64) {
        let d = self.dim;
        let mut total = vec![0.0; d * d];
        let nodes = self.cover(first, end).expect("every closed block has its leaf");
        for node in &nodes {
            total.iter_mut().zip(&node.values).for_each(|(t, x)| *t += x);
        }
        (MatRef::from_row_major_slice(&total, d, d).to_owned(), nodes.len() as u64)
    }

    /// The fewest nodes that hold these blocks; none when a block is in no node.
    fn cover(&self, first: u64, end: u64) -> Option<Vec<&Node>> {
        let (mut at, mut cover) = (first, Vec::new());
        while at < end {
            let fits = |n: &&Node| n.first() == at && n.end() <= end;
            let node = self.nodes.iter().filter(fits).max_by_key(|n| n.level)?;
            cover.push(node);
            at = node.end();
        }
        Some(cover)
    }

    /// What a journal keeps of it.
    pub(super) fn snapshot(&self) -> TreeState {
        let open = self.filling.levels.iter().map(|g| g.totals().to_vec()).collect();
        TreeState { open, nodes: self.nodes.clone() }
    }

    /// Puts back what [`Tree::snapshot`] gave after `closed` blocks.
    pub(super) fn restore(&mut self, state: TreeState, closed: u64) -> Result<()> {
        let TreeState { open, nodes } = state;
        let (d, levels) = (self.dim, &mut self.filling.levels);
        if open.len() != levels.len() || nodes.iter().any(|n| n.values.len() != d * d) {
            return Err(Error::corrupt("its tree has another shape"));
        }
        let inside = |n: &Node| {
            let end = n.index.checked_add(1).zip(1u64.checked_shl(n.level));
            end.and_then(|(i, width)| i.checked_mul(width)).is_some_and(|e| e <= closed)
        };
        if !nodes.iter().all(inside) {
            return Err(Error::corrupt("a node lies in the future"));
        }
        for (gram, totals) in levels.iter_mut().zip(open) {
            gram.set_totals(totals)?;
        }
        self.nodes = nodes;
        if self.cover(closed.saturating_sub(self.window_blocks), closed).is_none() {
            return Err(Error::corrupt("a block of the window is in no node"));
        }
        Ok(())
    }
}

/// One Gaussian mechanism on all levels together: `sqrt(levels)` times a block's sensitivity.
fn gaussian(config: &StreamConfig, row: Row, levels: u32) -> Result<(NodeNoise, Guarantee)> {
    let square = row.bound.get() * row.bound.get();
    let plan = Plan {
        factor: f64::from(levels).sqrt().next_up(),
        reach: config.window as f64 * square * 1.01,
        // The sums are exact integers; only the conversion to f64 rounds.
        error: config.window as f64 * square * f64::EPSILON,
        outputs: u64::from(levels),
    };
    let noise = SumNoise::calibrate(config, row, plan)?;
    let guarantee = noise.guarantee().clone();
    Ok((NodeNoise::Gaussian(noise), guarantee))
}

/// `levels` Wishart mechanisms, composed numerically.
fn wishart(config: &StreamConfig, row: Row, levels: u32) -> Result<(NodeNoise, Guarantee)> {
    let StreamConfig { dim, adjacency, budget, .. } = *config;
    let (d, times, Row { bound, change }) = (dim as u64, u64::from(levels), row);
    // The shape is a free choice: the one that is best for a single matrix of about the noise
    // that these will have. The scale is then the least that composes to the budget.
    let steps = times as f64 * if change == RowChange::Replace { 2.0 } else { 1.0 };
    let epsilon = Epsilon::new(budget.epsilon.get() / steps.sqrt())?;
    let single = WishartCovariance::calibrate(
        dim,
        Adjacency::AddRemoveRow { bound },
        Budget { epsilon, ..budget },
        WishartShape::LeastSpectralNorm,
    )?;
    let dof = single.dof();
    let scale = calibrate::wishart_scale_repeated(budget, d, dof, bound, change, times)?;
    let once = Profile::Wishart { dim: d, dof, bound, scale, change };
    let profile = Profile::Repeated { profile: Box::new(once), times };
    let guarantee = AUTHOR.proven(adjacency, budget, profile, Theorem::SlidingWindow)?;
    let mechanism = WishartCovariance::with_noise(dim, adjacency, budget, dof, scale)?;
    Ok((NodeNoise::Wishart(mechanism), guarantee))
}

/// `levels` sketches of `rows` rows are one sketch of `levels rows` rows, exactly.
fn sketch(
    config: &StreamConfig,
    row: Row,
    levels: u32,
    rows: u64,
) -> Result<(NodeNoise, Guarantee)> {
    let StreamConfig { dim, adjacency, budget, .. } = *config;
    let Row { bound, change } = row;
    let all = rows.saturating_mul(u64::from(levels));
    let lift = calibrate::jl_lift(budget, all, bound, change)?;
    let profile = Profile::JlMechanism { rows: all, bound, lift, change };
    let guarantee = AUTHOR.proven(adjacency, budget, profile, Theorem::SlidingWindow)?;
    let rows =
        usize::try_from(rows).map_err(|_| Error::invalid("sketch rows", rows, "[1, 2^32]"))?;
    let mechanism = JlCovariance::with_lift(dim, rows, adjacency, budget, lift)?;
    Ok((NodeNoise::Sketch(mechanism), guarantee))
}
