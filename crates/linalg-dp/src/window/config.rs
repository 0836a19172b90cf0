//! What a private stream is: dimension, window, blocks, schedule, noise, budget.

use super::factorisation::Workload;
use super::histogram::PruneRule;
use crate::covariance::row_change;
use crate::error::{Error, Result};
use dp_core::profile::RowChange;
use dp_core::{Adjacency, Budget, NormBound};
use serde::{Deserialize, Serialize};

/// How private blocks are made into private windows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Schedule {
    /// One private matrix a block; a window is the sum of its blocks.
    Block {
        /// The noise of a block.
        noise: BlockNoise,
        /// Whether old blocks are merged.
        keep: Keep,
    },
    /// One private matrix a node of a binary tree over blocks: a row is in
    /// `floor(log2 m) + 1` of them, and the budget covers all.
    Tree {
        /// The noise of a node.
        #[serde(default)]
        noise: BlockNoise,
    },
    /// Correlated symmetric Gaussian noise for sliding sums ([`super::Factorisation`]).
    Factorised {
        /// Most blocks of the stream.
        horizon: u64,
    },
    /// Correlated symmetric Gaussian noise for exponentially decayed sums: a release is
    /// the sum over all blocks, the one `j` blocks ago with weight `decay^j`.
    Decayed {
        /// Weight of the block before.
        decay: f64,
        /// Most blocks of the stream.
        horizon: u64,
    },
}

/// The noise of a private block, or of a node of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum BlockNoise {
    /// Symmetric Gaussian: least error.
    #[default]
    SymmetricGaussian,
    /// Wishart: keeps blocks positive definite.
    Wishart,
    /// Johnson-Lindenstrauss sketch of this many rows: relative error.
    JohnsonLindenstrauss {
        /// Rows of the sketch.
        rows: u64,
    },
}

/// What is kept of the private blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Keep {
    /// All blocks of the window.
    Blocks,
    /// A spectral histogram of suffix sums of the private blocks: fewer matrices, and a release may
    /// cover more blocks than the window. With X the unbiased estimates over the blocks covered
    /// and over the window, and c, c' the public means of the noise in them,
    /// `(1 - rho) (X_cov + c I) <= X_W + c' I` in Loewner order (JL blocks; for symmetric Gaussian blocks
    /// it holds for the sums of the blocks with negative eigenvalues set to zero, which decide what is
    /// kept; what is released is the plain sum). Where the noise is large against the data, as it
    /// is in few blocks, that does **not** keep the data covered near the window's.
    Histogram {
        /// Distortion, in `(0, 1)`.
        rho: f64,
        /// Pruning rule.
        rule: PruneRule,
    },
}

/// When a block ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// After every `block` rows. What is protected is the content of a row, not that it came: one
    /// row fewer moves every later row into other blocks, so `AddRemoveRow` is refused and
    /// `ZeroRow` takes its place.
    #[default]
    Rows,
    /// When the caller's clock says so ([`super::PrivateStream::tick`]), with at most `block` rows
    /// in between (the guarantee is among streams that keep to this). A row more or less moves no
    /// other row into another block, so `AddRemoveRow` protects that a row came, too.
    Clock,
}

impl Pace {
    /// The word for it in certificates.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Clock => "clock",
        }
    }
}

/// A private stream's public parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamConfig {
    /// Length d of a row.
    pub dim: usize,
    /// Rows (under [`Pace::Clock`]: places for rows) in the window, W.
    pub window: u64,
    /// Rows (or places) in a block, b; divides the window.
    pub block: u64,
    /// When a block ends.
    pub pace: Pace,
    /// `ZeroRow` (the row of one time step becomes zero), `ReplaceRow`, or, under [`Pace::Clock`]
    /// only, `AddRemoveRow`.
    pub adjacency: Adjacency,
    /// Budget of the whole stream: every release together.
    pub budget: Budget,
    /// Schedule and noise.
    pub schedule: Schedule,
}

impl StreamConfig {
    /// The last `window` rows of length `dim`, with what every stream can do without a further
    /// choice: blocks are counted in rows, 16 or more of them in a window (where its divisors allow it), and the
    /// noise is that of a Gaussian tree. Each is a field to change.
    #[must_use]
    pub fn new(dim: usize, window: u64, adjacency: Adjacency, budget: Budget) -> Self {
        // The largest divisor up to a sixteenth.
        let most = (window / 16).clamp(1, 1 << 20);
        let block = (1..=most).rev().find(|b| window.is_multiple_of(*b)).unwrap_or(1);
        let schedule = Schedule::Tree { noise: BlockNoise::SymmetricGaussian };
        Self { dim, window, block, pace: Pace::Rows, adjacency, budget, schedule }
    }

    /// Blocks in a window, `m = W / b`.
    ///
    /// # Errors
    /// [`Error::Core`] when a size is zero or the block does not divide the window.
    pub fn window_blocks(&self) -> Result<u64> {
        if self.dim == 0 {
            return Err(Error::invalid("dim", self.dim, "[1, inf)"));
        }
        if self.window == 0 {
            return Err(Error::invalid("window", self.window, "[1, inf)"));
        }
        if self.block == 0 || !self.window.is_multiple_of(self.block) {
            let allowed = format!("the divisors of the window, {}", self.window);
            return Err(Error::invalid("block", self.block, allowed));
        }
        Ok(self.window / self.block)
    }

    /// Most blocks of the stream: the schedule's horizon, and what 64 bits can count the rows of.
    pub(crate) fn most_blocks(&self) -> u64 {
        let counted = u64::MAX / self.block.max(1);
        match self.schedule {
            Schedule::Factorised { horizon } | Schedule::Decayed { horizon, .. } => {
                horizon.min(counted)
            }
            _ => counted,
        }
    }

    /// The protected row.
    ///
    /// # Errors
    /// [`Error::NotProven`] for an adjacency that this pace cannot protect.
    pub(super) fn row(&self, mechanism: &'static str) -> Result<Row> {
        let (bound, change) = row_change(self.adjacency, mechanism)?;
        match (self.pace, self.adjacency) {
            (Pace::Rows, Adjacency::AddRemoveRow { .. }) => {
                Err(row_moves(mechanism, self.adjacency))
            }
            _ => Ok(Row { bound, change }),
        }
    }

    /// The workload of a factorised schedule.
    pub(crate) fn workload(&self) -> Result<Option<(Workload, u64)>> {
        let blocks = self.window_blocks()?;
        Ok(match self.schedule {
            Schedule::Factorised { horizon } => Some((Workload::Sliding { blocks }, horizon)),
            Schedule::Decayed { decay, horizon } => Some((Workload::Decayed { decay }, horizon)),
            _ => None,
        })
    }
}

/// How a row may change, and what a clipped and rounded one is not longer than.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) bound: NormBound,
    pub(super) change: RowChange,
}

/// Refusal of `AddRemoveRow` where places are counted in rows.
fn row_moves(mechanism: &'static str, adjacency: Adjacency) -> Error {
    Error::NotProven {
        mechanism,
        adjacency: adjacency.to_string(),
        instead: "where rows are counted, one row fewer moves every later row: protect that \
                  a row becomes zero (zero-row; the number of rows is public), or let a clock end blocks",
    }
}
