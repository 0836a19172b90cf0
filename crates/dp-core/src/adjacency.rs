//! Which two inputs must be hard to tell apart.

use crate::error::Result;
use crate::quantity::Bound;
use serde::{Deserialize, Serialize};

/// The pairs of inputs a guarantee speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Adjacency {
    /// One coordinate of one row changes by at most `beta`.
    Attribute {
        /// Largest change of the coordinate.
        beta: Bound,
    },
    /// One row changes by a vector of l2 norm at most `l2`.
    RowShift {
        /// Largest l2 norm of the change.
        l2: Bound,
    },
    /// One row of l2 norm at most `bound` is added or removed.
    AddRemoveRow {
        /// Largest l2 norm of a row.
        bound: Bound,
    },
    /// One row of l2 norm at most `bound` is replaced by a row of zeros, or a row of zeros by it; it
    /// keeps its place. The number and the order of the rows are public: weaker than
    /// `AddRemoveRow`, under which a stream's later rows move up.
    ZeroRow {
        /// Largest l2 norm of a row.
        bound: Bound,
    },
    /// One row of l2 norm at most `bound` becomes another such row.
    ReplaceRow {
        /// Largest l2 norm of a row.
        bound: Bound,
    },
    /// One item set of the release becomes another, both of at least `min_size` items, with symmetric
    /// difference at most `alpha`. The number of sets is public.
    SetItems {
        /// Largest symmetric difference.
        alpha: u64,
        /// Least size of a set.
        min_size: u64,
    },
    /// One set of the release becomes any other set (full local differential privacy of each set). Not
    /// any two releases: two sets that change together lose twice epsilon.
    AnyInput,
}

impl Adjacency {
    /// One coordinate of one row becomes any other value of `[-bound, bound]`: `Attribute` with
    /// `beta = 2 bound`.
    ///
    /// # Errors
    /// [`crate::Error::InvalidParameter`] when `2 bound` is not finite.
    pub fn any_value_within(bound: Bound) -> Result<Self> {
        Ok(Self::Attribute { beta: Bound::new(2.0 * bound.get())? })
    }
}

impl core::fmt::Display for Adjacency {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Attribute { beta } => write!(f, "one attribute changes by at most {beta}"),
            Self::RowShift { l2 } => write!(f, "one row shifts by l2 norm at most {l2}"),
            Self::AddRemoveRow { bound } => {
                write!(f, "one row of norm at most {bound} is added or removed")
            }
            Self::ZeroRow { bound } => write!(
                f,
                "one row of norm at most {bound} is replaced by zero; the number and order of \
                 rows are public"
            ),
            Self::ReplaceRow { bound } => write!(f, "one row of norm at most {bound} is replaced"),
            Self::SetItems { alpha, min_size } => {
                write!(
                    f,
                    "one set of the release becomes another, both of at least {min_size} items, \
                     with at most {alpha} items in only one of the two"
                )
            }
            Self::AnyInput => write!(f, "one set of the release becomes any other set"),
        }
    }
}
