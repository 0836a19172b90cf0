//! Which two inputs must be hard to tell apart, what one unit is, and which guarantees imply which.
//!
//! Proofs: `docs/proofs/adjacency.md`.

use crate::budget::{Budget, Delta};
use crate::error::{Error, Result};
use crate::quantity::{EntryBound, NormBound, Shift};
use serde::{Deserialize, Serialize};

/// Defines the changes of one row or set twice: alone, and as those of a user.
macro_rules! changes {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),* }),* $(,)?) => {
        /// The pairs of inputs a guarantee speaks of: what one unit is, and how it may change.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        #[non_exhaustive]
        pub enum Adjacency {
            $($(#[$doc])* $name { $($(#[$field_doc])* $field: $type),* },)*
            /// One set or row of the release becomes any other (full local differential privacy of each
            /// of them). Not any two releases: two sets that change together lose twice epsilon.
            #[doc(alias = "local differential privacy")]
            AnyInput,
            /// Up to `rows` rows (or sets) of one user change, each of them as `each` says.
            User {
                /// Most rows of one user.
                rows: UserRows,
                /// How each of them may change.
                each: OneChange,
            },
        }

        /// The change of one row or set: an [`Adjacency`] whose unit is not a user.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        #[non_exhaustive]
        pub enum OneChange {
            $($(#[$doc])* $name { $($(#[$field_doc])* $field: $type),* },)*
            /// One set or row becomes any other.
            AnyInput,
        }

        impl From<OneChange> for Adjacency {
            fn from(change: OneChange) -> Self {
                match change {
                    $(OneChange::$name { $($field),* } => Self::$name { $($field),* },)*
                    OneChange::AnyInput => Self::AnyInput,
                }
            }
        }

        impl TryFrom<Adjacency> for OneChange {
            type Error = Error;
            fn try_from(adjacency: Adjacency) -> Result<Self> {
                match adjacency {
                    $(Adjacency::$name { $($field),* } => Ok(Self::$name { $($field),* }),)*
                    Adjacency::AnyInput => Ok(Self::AnyInput),
                    Adjacency::User { .. } => {
                        Err(Error::invalid("adjacency", adjacency, "the change of one row or set"))
                    }
                }
            }
        }
    };
}

changes! {
    /// One coordinate of one row changes by at most `beta`.
    Attribute {
        /// Largest change of the coordinate.
        beta: Shift
    },
    /// One row changes by a vector of l2 norm at most `l2`.
    RowShift {
        /// Largest l2 norm of the change.
        l2: Shift
    },
    /// One row of l2 norm at most `bound` is added or removed.
    AddRemoveRow {
        /// Largest l2 norm of a row.
        bound: NormBound
    },
    /// One row of l2 norm at most `bound` is replaced by a row of zeros, or a row of zeros by it; it
    /// keeps its place. The number and the order of the rows are public: weaker than
    /// `AddRemoveRow`, under which a stream's later rows move up.
    #[doc(alias = "REPLACE_SPECIAL")]
    #[doc(alias = "zero-out")]
    ZeroRow {
        /// Largest l2 norm of a row.
        bound: NormBound
    },
    /// One row of l2 norm at most `bound` becomes another such row.
    ReplaceRow {
        /// Largest l2 norm of a row.
        bound: NormBound
    },
    /// One item set of the release becomes another, both of at least `min_size` items, with symmetric
    /// difference at most `alpha`. The number of sets is public.
    SetItems {
        /// Largest symmetric difference.
        alpha: u64,
        /// Least size of a set.
        min_size: u64
    },
}

/// Most rows of one user: two at least, for a user of one row is that row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct UserRows(u64);

impl UserRows {
    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl TryFrom<u64> for UserRows {
    type Error = Error;
    fn try_from(rows: u64) -> Result<Self> {
        if (2..=MOST_STEPS).contains(&rows) {
            Ok(Self(rows))
        } else {
            Err(Error::invalid("rows of a user", rows, "[2, 2^20]"))
        }
    }
}

impl From<UserRows> for u64 {
    fn from(rows: UserRows) -> Self {
        rows.0
    }
}

/// Most steps from one neighbour to another that are counted.
const MOST_STEPS: u64 = 1 << 20;

/// How a change that one adjacency allows is made of changes that another allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Steps {
    /// Steps of the same rows, one after the other.
    pub(crate) each: u64,
    /// Groups of rows, each with its steps.
    pub(crate) groups: u64,
}

impl Steps {
    /// An (epsilon, delta) of one step as that of all: group privacy.
    pub(crate) fn of_claim(self, budget: Budget) -> Result<Budget> {
        let size = self.each * self.groups;
        if size == 1 {
            return Ok(budget);
        }
        let (epsilon, up) = (budget.epsilon.get(), 1.0 + 1e-12);
        let all = epsilon * size as f64 * up;
        if budget.delta == Delta::ZERO {
            return Budget::new(all, 0.0);
        }
        // The sum of e^(i epsilon) over the steps: no less than their number, nor than its last term, which is no number where epsilon
        // is large.
        let last = (all - epsilon).exp();
        let sum = if last.is_finite() { all.exp_m1() / epsilon.exp_m1() } else { last };
        Budget::new(all, budget.delta.get() * sum.max(last).max(size as f64) * up)
    }
}

/// How it is decided which part of a partition a row goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Partition {
    /// By the unit: all rows of a unit are in one part, whatever its data is (its own identifier
    /// decides, not its answers).
    ByUnit,
    /// By something of the row that no change alters: a key that stays with it. Its place in the
    /// order is such a key only where rows are neither added nor removed. A user's rows are then spread over parts, and
    /// no user has more of them, in all parts together, than the unit says.
    ByRow,
    /// By what the row says, where the unit is rows that are added or removed: a row that changes may leave one part and enter
    /// another, and both tell how many rows they have.
    ByContent,
}

impl Partition {
    /// How many parts the change of one unit can touch.
    #[must_use]
    pub fn parts_touched(self, adjacency: Adjacency) -> u64 {
        if self == Self::ByUnit { 1 } else { adjacency.rows() }
    }

    /// Refuses parts in which the change of a unit is none that the unit speaks of: where a row that changes moves from part to part,
    /// each of the two has a row less or more.
    pub(crate) fn check(self, unit: Adjacency) -> Result<()> {
        let moves =
            self == Self::ByContent && !matches!(unit.each(), Adjacency::AddRemoveRow { .. });
        if moves {
            let allowed = "by the unit or by row: a row that changes may move between parts that are made by content, and what each part \
                           tells of its number of rows no noise hides; by content in a ledger whose unit is rows that are added or removed";
            return Err(crate::Error::invalid(
                "partition",
                format!("by content, where {unit}"),
                allowed,
            ));
        }
        Ok(())
    }
}

impl Adjacency {
    /// One coordinate of one row becomes any other value of `[-bound, bound]`: `Attribute` with
    /// `beta = 2 bound`.
    ///
    /// # Errors
    /// [`crate::Error::InvalidParameter`] when `2 bound` is not finite.
    pub fn any_value_within(bound: EntryBound) -> Result<Self> {
        Ok(Self::Attribute { beta: Shift::new(2.0 * bound.get())? })
    }

    /// At most `count` coordinates of one row change, each by at most `beta`: a shift of the row by
    /// `beta sqrt(count)` covers them.
    ///
    /// # Errors
    /// [`crate::Error::InvalidParameter`] when `count` is zero or the shift is not finite.
    pub fn attributes(beta: Shift, count: u64) -> Result<Self> {
        if count == 1 {
            return Ok(Self::Attribute { beta });
        }
        let up = 1.0 + 4.0 * f64::EPSILON;
        Ok(Self::RowShift { l2: Shift::new(beta.get() * (count as f64).sqrt() * up)? })
    }

    /// The unit is a user with at most `rows` rows (or sets), each of which may change as this
    /// adjacency says. Whoever keeps the first `m` rows of a user who may have more, where rows are added or removed, needs
    /// `2 m`: a row that comes in may put another out.
    ///
    /// ```
    /// use dp_core::{Adjacency, NormBound};
    ///
    /// let visit = Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? };
    /// let patient = visit.of_user(5)?;
    /// assert_eq!(patient.rows(), 5);
    /// // What hides five rows hides one, and not the other way round.
    /// assert!(patient.implies(&visit) && !visit.implies(&patient));
    /// # Ok::<(), dp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::InvalidParameter`] unless `rows` is in `[1, 2^20]`, or when this is a user's already.
    pub fn of_user(self, rows: u64) -> Result<Self> {
        let each = OneChange::try_from(self)?;
        if rows == 1 { Ok(self) } else { Ok(Self::User { rows: rows.try_into()?, each }) }
    }

    /// Most rows (or sets) that one unit has.
    #[must_use]
    pub fn rows(&self) -> u64 {
        match self {
            Self::User { rows, .. } => rows.get(),
            _ => 1,
        }
    }

    /// How each of them may change.
    #[must_use]
    pub fn each(&self) -> Self {
        match *self {
            Self::User { each, .. } => each.into(),
            other => other,
        }
    }

    /// The unit as a guarantee under `by` sees it: where that hides how far a row is shifted, a replaced row is shifted by
    /// twice its bound, and a zeroed one by its bound.
    pub(crate) fn seen_by(self, by: Self) -> Result<Self> {
        let l2 = match (by.each(), self.each()) {
            // Doubling is exact, or infinite.
            (Self::RowShift { .. }, Self::ReplaceRow { bound }) => 2.0 * bound.get(),
            (Self::RowShift { .. }, Self::ZeroRow { bound }) => bound.get(),
            _ => return Ok(self),
        };
        Self::RowShift { l2: Shift::new(l2)? }.of_user(self.rows())
    }

    /// Whether every pair of inputs that `other` speaks of is one that this adjacency speaks of, so
    /// that a guarantee under this one holds under `other` as it is.
    ///
    /// A larger bound implies a smaller one; a shift of a row one of its attributes, and a replaced
    /// row within half of it; a replaced row a zeroed one; more rows of a user fewer. Adding and removing
    /// rows implies neither replacing nor zeroing them: that takes two steps.
    #[must_use]
    pub fn implies(&self, other: &Self) -> bool {
        self.steps_to(other) == Some(Steps { each: 1, groups: 1 })
    }

    /// How many changes of this adjacency make one of `other`; `None` when no number of them does, or
    /// more than 2^20.
    pub(crate) fn steps_to(&self, other: &Self) -> Option<Steps> {
        let other = other.seen_by(*self).ok()?;
        let each = one_row(self.each(), other.each())?;
        let groups = other.rows().div_ceil(self.rows());
        let total = each.checked_mul(groups).filter(|&total| total <= MOST_STEPS);
        total.map(|_| Steps { each, groups })
    }
}

/// Steps as `by` allows from any row to any neighbour as `to` allows.
fn one_row(by: Adjacency, to: Adjacency) -> Option<u64> {
    use Adjacency as A;
    let within = |least: NormBound, steps: u64, most: NormBound| (least <= most).then_some(steps);
    match (by, to) {
        (A::Attribute { beta: by }, A::Attribute { beta: to })
        | (A::RowShift { l2: by }, A::Attribute { beta: to } | A::RowShift { l2: to }) => {
            parts(to.get(), by.get())
        }
        (A::AddRemoveRow { bound: by }, A::AddRemoveRow { bound: to })
        | (A::ZeroRow { bound: by }, A::ZeroRow { bound: to })
        | (A::ReplaceRow { bound: by }, A::ReplaceRow { bound: to } | A::ZeroRow { bound: to }) => {
            within(to, 1, by)
        }
        // Out and in again; to zero and away from it.
        (A::AddRemoveRow { bound: by }, A::ReplaceRow { bound: to } | A::ZeroRow { bound: to })
        | (A::ZeroRow { bound: by }, A::ReplaceRow { bound: to }) => within(to, 2, by),
        (A::SetItems { alpha, min_size }, A::SetItems { alpha: changed, min_size: smallest })
            if smallest >= min_size =>
        {
            match (alpha, changed) {
                (_, 0) => Some(1),
                (0, _) => None,
                _ => Some(changed.div_ceil(alpha)),
            }
        }
        (A::AnyInput, A::AnyInput | A::SetItems { .. }) => Some(1),
        _ => None,
    }
}

/// The least whole number of steps of length `by` that go as far as `to`.
fn parts(to: f64, by: f64) -> Option<u64> {
    let quotient = (to / by).ceil();
    if quotient.is_nan() || quotient > MOST_STEPS as f64 {
        return None;
    }
    // The quotient was rounded: one more step where the product, exactly, is short.
    let short = quotient.mul_add(by, -to) < 0.0;
    Some(quotient as u64 + u64::from(short))
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
            Self::AnyInput => write!(f, "one set or row of the release becomes any other"),
            Self::User { rows, each } => {
                write!(f, "up to {} times for one user: {}", rows.get(), Self::from(*each))
            }
        }
    }
}
