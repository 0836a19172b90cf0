//! The one error type of this crate.

/// Result of a fallible operation of this crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// What a caller can get wrong. Messages name the parameter, its value and the
/// allowed range; for data they name the place, never the value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter, a calibration or a certificate was refused by `dp-core`.
    #[error(transparent)]
    Core(#[from] dp_core::Error),
    /// A buffer does not have the length its shape asks for.
    #[error("{what} has length {found}, but its shape asks for {expected}")]
    Length {
        /// Which buffer.
        what: &'static str,
        /// Length the shape asks for.
        expected: usize,
        /// Length it has.
        found: usize,
    },
    /// Two shapes that must agree do not.
    #[error("{what} is {found}, but {expected} is needed")]
    Shape {
        /// What does not agree.
        what: &'static str,
        /// What is needed.
        expected: usize,
        /// What was given.
        found: usize,
    },
    /// The data holds a NaN or an infinity.
    #[error("the value at row {row}, column {column} is not finite")]
    NotFinite {
        /// Row of the value.
        row: usize,
        /// Column of the value.
        column: usize,
    },
    /// The data holds a value outside the declared range.
    #[error(
        "the value at row {row}, column {column} is outside the declared range [-{bound}, {bound}]"
    )]
    OutOfRange {
        /// Row of the value.
        row: usize,
        /// Column of the value.
        column: usize,
        /// The declared bound on absolute values.
        bound: dp_core::EntryBound,
    },
    /// An entry, zero where nothing is stored, lies outside the declared interval.
    #[error(
        "the entry at row {row}, column {column} (zero where a sparse row or a bit stores nothing) \
         is outside the declared range [{low}, {high}]: declare a range that holds every entry"
    )]
    OutOfInterval {
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        column: usize,
        /// Least allowed value.
        low: f64,
        /// Largest allowed value.
        high: f64,
    },
    /// A value is no whole number, where it names a category.
    #[error("the value at row {row}, column {column} is not a whole number, as categories are")]
    NotWhole {
        /// Row of the value.
        row: usize,
        /// Column of the value.
        column: usize,
    },
    /// A value is neither 0 nor 1, where it is a bit.
    #[error("the value at row {row}, column {column} is no bit: it must be 0 or 1")]
    NotBit {
        /// Row of the value.
        row: usize,
        /// Column of the value.
        column: usize,
    },
    /// The l2 norm of a row is outside the declared range.
    #[error("the l2 norm of row {row} is outside the declared range [0, {bound}]")]
    NormOutOfRange {
        /// The row.
        row: usize,
        /// The declared bound on the norm.
        bound: dp_core::NormBound,
    },
    /// The l2 norm of a row is below the promised floor.
    #[error("the l2 norm of row {row} is below the promised floor {floor}")]
    NormTooSmall {
        /// The row.
        row: usize,
        /// The promised least norm.
        floor: dp_core::NormBound,
    },
    /// Sparse rows do not hold together.
    #[error("sparse rows are malformed at row {row}: {reason}")]
    Sparse {
        /// The row.
        row: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An index points outside a release or a data set.
    #[error("{what} {index} does not exist: there are {len}")]
    Index {
        /// What was indexed.
        what: &'static str,
        /// The index.
        index: usize,
        /// How many there are.
        len: usize,
    },
    /// A set has fewer items than its guarantee needs.
    #[error("set {row} has fewer items than the minimum size {min_size} that the guarantee needs")]
    SetTooSmall {
        /// Which set.
        row: usize,
        /// The minimum size.
        min_size: u64,
    },
    /// Two releases were made with different public parameters.
    #[error("{what} do not agree: {left} against {right}")]
    Incompatible {
        /// What does not agree.
        what: &'static str,
        /// One side.
        left: String,
        /// The other side.
        right: String,
    },
    /// A quantity has no estimate on this release.
    #[error("{what} cannot be estimated: {reason}")]
    Undefined {
        /// What was asked for.
        what: &'static str,
        /// Why there is no answer.
        reason: &'static str,
    },
}

impl Error {
    /// The same error for rows that start at `first` in the caller's data.
    #[must_use]
    pub fn offset_row(mut self, first: usize) -> Self {
        if let Self::NotFinite { row, .. }
        | Self::OutOfRange { row, .. }
        | Self::OutOfInterval { row, .. }
        | Self::NotWhole { row, .. }
        | Self::NotBit { row, .. }
        | Self::NormOutOfRange { row, .. }
        | Self::NormTooSmall { row, .. }
        | Self::SetTooSmall { row, .. }
        | Self::Sparse { row, .. } = &mut self
        {
            *row += first;
        }
        self
    }

    /// Shorthand for an invalid parameter.
    pub fn invalid(name: &'static str, value: impl ToString, allowed: impl Into<String>) -> Self {
        Self::Core(dp_core::Error::invalid(name, value, allowed))
    }
}
