//! The tree schedule: one private matrix a node of a binary tree over the blocks.

use super::config::{BlockNoise, Row, StreamConfig};
use super::sums::{Plan, SumNoise};
use crate::covariance::{
    Accumulator, CovarianceNoise, ExactGram, JL_GAP, JlCovariance, OpenSketch, RowClip,
    wishart_refused,
};
use crate::error::{Error, Result};
use dp_core::noise::NoiseLaw;
use dp_core::{Guarantee, NoiseRng, Profile, calibrate};
use faer::Mat;
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
    #[serde(default)]
    sketches: Vec<Vec<f64>>,
}

impl TreeState {
    /// Numbers in a level's exact sum; none where sketches take their place.
    pub(super) fn numbers(&self) -> Option<usize> {
        self.open.first().map(Vec::len)
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
    Sketch(JlCovariance),
}

impl NodeNoise {
    /// Nodes with nothing in them.
    fn filling(&self, levels: u32, clip: RowClip) -> Filling {
        match self {
            Self::Sketch(_) => {
                Filling::Sketches((0..levels).map(|_| LevelSketch::Resting(Vec::new())).collect())
            }
            _ => Filling::Sums {
                levels: (0..levels).map(|_| ExactGram::new(clip)).collect(),
                block: ExactGram::new(clip),
            },
        }
    }
}

/// The nodes being filled. Private.
enum Filling {
    /// Exact sums by level, and that of the open block.
    Sums { levels: Vec<ExactGram>, block: ExactGram },
    /// A sketch a level.
    Sketches(Vec<LevelSketch>),
}

/// The sketch of a level's open node.
enum LevelSketch {
    /// Not opened since the node began or the journal was read: what is in it so far, if anything.
    Resting(Vec<f64>),
    Open(Box<OpenSketch>),
}

impl LevelSketch {
    fn opened(&mut self, mechanism: &JlCovariance, rng: &mut NoiseRng) -> Result<&mut OpenSketch> {
        if let Self::Resting(values) = self {
            let mut sketch = mechanism.open_sketch(rng);
            if !values.is_empty() {
                sketch.set_values(values)?;
            }
            *self = Self::Open(Box::new(sketch));
        }
        match self {
            Self::Open(sketch) => Ok(sketch),
            Self::Resting(_) => unreachable!("opened above"),
        }
    }

    fn values(&self) -> Vec<f64> {
        match self {
            Self::Resting(values) => values.clone(),
            Self::Open(sketch) => sketch.values(),
        }
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
            BlockNoise::Wishart => return Err(wishart_refused()),
            BlockNoise::JohnsonLindenstrauss { rows } => sketch(config, row, levels, rows)?,
        };
        let filling = noise.filling(levels, clip);
        let dim = config.dim;
        Ok(Self { dim, window_blocks, levels, noise, guarantee, filling, nodes: Vec::new() })
    }

    /// The same noise, and no block yet.
    pub(super) fn restarted(&self, clip: RowClip) -> Self {
        let (noise, guarantee) = (self.noise.clone(), self.guarantee.clone());
        let filling = noise.filling(self.levels, clip);
        Self { noise, guarantee, filling, nodes: Vec::new(), ..*self }
    }

    pub(super) fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The noise of one node.
    pub(super) fn node_noise(&self) -> CovarianceNoise {
        match &self.noise {
            NodeNoise::Gaussian(noise) => CovarianceNoise::SymmetricGaussian { sigma: noise.sigma },
            NodeNoise::Sketch(m) => {
                CovarianceNoise::JlSketch { rows: m.rows() as u64, lift: m.lift() }
            }
        }
    }

    /// What a row meets: the law of a node, in every level. (The profile of Gaussian nodes is that
    /// of their joint sensitivity, so their one law stands for all.)
    pub(super) fn law(&self) -> NoiseLaw {
        match &self.noise {
            NodeNoise::Gaussian(noise) => noise.law(),
            NodeNoise::Sketch(m) => {
                let law = NoiseLaw::JlSketch { rows: m.rows() as u64, lift: m.lift() };
                NoiseLaw::Several { laws: vec![law; self.levels as usize] }
            }
        }
    }

    /// Matrices held.
    pub(super) fn matrices(&self) -> usize {
        self.levels as usize + self.nodes.len()
    }

    pub(super) fn push(&mut self, rows: &[f64], rng: &mut NoiseRng) -> Result<()> {
        match (&mut self.filling, &self.noise) {
            (Filling::Sums { block, .. }, _) => block.push(rows),
            (Filling::Sketches(levels), NodeNoise::Sketch(mechanism)) => {
                levels.iter_mut().try_for_each(|level| level.opened(mechanism, rng)?.push(rows))
            }
            _ => unreachable!("sketches are filled by the mechanism of sketches"),
        }
    }

    pub(super) fn close(&mut self, index: u64, rng: &mut NoiseRng) -> Result<()> {
        for level in 0..self.levels {
            let full = (index + 1).is_multiple_of(1 << level);
            let Some(values) = self.close_level(level as usize, full, rng)? else { continue };
            self.nodes.push(Node { level, index: index >> level, values });
        }
        if let Filling::Sums { block, .. } = &mut self.filling {
            block.clear();
        }
        let oldest = (index + 1).saturating_sub(self.window_blocks);
        self.nodes.retain(|n| n.first() >= oldest);
        Ok(())
    }

    /// Adds the block to a level; its private matrix, mean removed, when the node is full.
    fn close_level(
        &mut self,
        level: usize,
        full: bool,
        rng: &mut NoiseRng,
    ) -> Result<Option<Vec<f64>>> {
        let d = self.dim;
        let raw = match (&mut self.filling, &self.noise) {
            (Filling::Sums { levels, block }, noise) => {
                let sum = &mut levels[level];
                sum.add(block);
                if !full {
                    return Ok(None);
                }
                let raw = match noise {
                    NodeNoise::Gaussian(noise) => {
                        let noisy = noise.privatise(sum.to_values(), d, rng)?;
                        (0..d * d).map(|e| noisy[(e / d, e % d)]).collect()
                    }
                    NodeNoise::Sketch(_) => unreachable!("sketches are not summed"),
                };
                sum.clear();
                raw
            }
            (Filling::Sketches(levels), NodeNoise::Sketch(mechanism)) => {
                let sketch = levels[level].opened(mechanism, rng)?;
                if !full {
                    sketch.flush();
                    return Ok(None);
                }
                let (_, raw) = sketch.publish(rng)?;
                levels[level] = LevelSketch::Resting(Vec::new());
                raw
            }
            _ => unreachable!("sketches are filled by the mechanism of sketches"),
        };
        let mut values: Vec<f64> = raw;
        let offset = self.node_noise().mean();
        (0..d).for_each(|i| values[i * d + i] -= offset);
        Ok(Some(values))
    }

    /// The unbiased sum over blocks `first..end` and how many nodes it took.
    pub(super) fn sum(&self, first: u64, end: u64) -> (Mat<f64>, u64) {
        let mut total = Mat::<f64>::zeros(self.dim, self.dim);
        let nodes = self.cover(first, end).expect("every closed block has its leaf");
        for node in &nodes {
            for j in 0..self.dim {
                for i in 0..self.dim {
                    total[(i, j)] += node.values[i * self.dim + j];
                }
            }
        }
        (total, nodes.len() as u64)
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
        let (open, sketches) = match &self.filling {
            Filling::Sums { levels, .. } => {
                (levels.iter().map(|g| g.totals().to_vec()).collect(), Vec::new())
            }
            Filling::Sketches(levels) => {
                (Vec::new(), levels.iter().map(LevelSketch::values).collect())
            }
        };
        TreeState { open, nodes: self.nodes.clone(), sketches }
    }

    /// Puts back what [`Tree::snapshot`] gave after `closed` blocks. Later rows meet fresh columns
    /// of the sketches' R.
    pub(super) fn restore(&mut self, state: TreeState, closed: u64) -> Result<()> {
        let TreeState { open, nodes, sketches } = state;
        let d = self.dim;
        let shape = || Error::corrupt("its tree has another shape");
        let (sums, levels, size) = match (&self.filling, &self.noise) {
            (Filling::Sums { levels, .. }, _) => (levels.len(), 0, 0),
            (Filling::Sketches(levels), NodeNoise::Sketch(m)) => (0, levels.len(), m.rows() * d),
            _ => unreachable!("sketches are filled by the mechanism of sketches"),
        };
        // A sketch is empty before its node's first row.
        let fits = |v: &Vec<f64>| v.is_empty() || v.len() == size;
        if open.len() != sums
            || nodes.iter().any(|n| n.values.len() != d * d)
            || sketches.len() != levels
            || !sketches.iter().all(fits)
        {
            return Err(shape());
        }
        let inside = |n: &Node| {
            let end = n.index.checked_add(1).zip(1u64.checked_shl(n.level));
            end.and_then(|(i, width)| i.checked_mul(width)).is_some_and(|e| e <= closed)
        };
        if !nodes.iter().all(inside) {
            return Err(Error::corrupt("a node lies in the future"));
        }
        match &mut self.filling {
            Filling::Sums { levels, .. } => {
                for (gram, totals) in levels.iter_mut().zip(open) {
                    gram.set_totals(totals)?;
                }
            }
            Filling::Sketches(levels) => {
                *levels = sketches.into_iter().map(LevelSketch::Resting).collect();
            }
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
    let guarantee = noise.guarantee(config)?;
    Ok((NodeNoise::Gaussian(noise), guarantee))
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
    let guarantee =
        Guarantee::idealised(adjacency, budget, profile, dp_core::Theorem::SlidingWindow, JL_GAP)?;
    let rows =
        usize::try_from(rows).map_err(|_| Error::invalid("sketch rows", rows, "[1, 2^32]"))?;
    let mechanism = JlCovariance::with_lift(dim, rows, adjacency, budget, lift)?;
    Ok((NodeNoise::Sketch(mechanism), guarantee))
}
