//! What a search looks for.

use crate::error::{Error, Result};
use crate::sets::{NoisyCounts, PrivateSymbols};
use crate::signs::SignCodes;
use crate::vectors::PrivateSketch;
use std::borrow::Cow;

/// Rows of a release that a search looks for. A type of its own: a database in the place of the
/// queries does not compile.
///
/// ```compile_fail,E0308
/// use sketch::search::HammingIndex;
/// use sketch::signs::SignCodes;
///
/// fn swapped(database: &SignCodes, queries: &SignCodes) -> sketch::Result<()> {
///     HammingIndex::new(queries)?.top_k(database, 10)?;
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Queries<'a, T> {
    of: &'a T,
    /// All when there are none.
    rows: Option<&'a [usize]>,
}

/// A payload whose rows can be looked for.
pub trait Searchable: sealed::Rows {}
impl Searchable for PrivateSketch {}
impl Searchable for SignCodes {}
impl Searchable for PrivateSymbols {}
impl Searchable for NoisyCounts {}

mod sealed {
    /// Something with numbered rows.
    pub trait Rows {
        /// How many there are.
        fn rows(&self) -> usize;
    }
}

impl sealed::Rows for PrivateSketch {
    fn rows(&self) -> usize {
        self.n()
    }
}

impl sealed::Rows for SignCodes {
    fn rows(&self) -> usize {
        self.bits().n()
    }
}

impl sealed::Rows for PrivateSymbols {
    fn rows(&self) -> usize {
        self.rows()
    }
}

impl sealed::Rows for NoisyCounts {
    fn rows(&self) -> usize {
        self.rows()
    }
}

impl<'a, T: Searchable> Queries<'a, T> {
    /// All rows.
    #[must_use]
    pub fn all(of: &'a T) -> Self {
        Self { of, rows: None }
    }

    /// These rows, in this order.
    ///
    /// # Errors
    /// [`Error::Index`] for a missing row.
    pub fn rows(of: &'a T, rows: &'a [usize]) -> Result<Self> {
        let n = of.rows();
        match rows.iter().find(|&&row| row >= n) {
            Some(&index) => Err(Error::Index { what: "row", index, len: n }),
            None => Ok(Self { of, rows: Some(rows) }),
        }
    }
}

impl<'a> Queries<'a, PrivateSketch> {
    pub(super) fn sketch(&self) -> &'a PrivateSketch {
        self.of
    }

    /// Which rows; all when there are none.
    pub(super) fn chosen(&self) -> Option<&'a [usize]> {
        self.rows
    }

    /// The numbers, row after row.
    pub(super) fn values(&self) -> Cow<'a, [f64]> {
        numbers((self.of.values(), self.of.k()), self.rows)
    }
}

impl<'a> Queries<'a, SignCodes> {
    /// The signs of these rows alone.
    pub(super) fn signs(&self) -> Result<Cow<'a, SignCodes>> {
        Ok(match self.rows {
            None => Cow::Borrowed(self.of),
            Some(rows) => Cow::Owned(self.of.select(rows)?),
        })
    }
}

impl<'a> Queries<'a, PrivateSymbols> {
    /// What they were made by, and the symbols of these rows, row after row.
    pub(super) fn symbols(&self) -> (&'a PrivateSymbols, Cow<'a, [u16]>) {
        let symbols = match self.rows {
            None => Cow::Borrowed(self.of.symbols()),
            Some(rows) => {
                rows.iter().flat_map(|&row| self.of.row_unchecked(row)).copied().collect()
            }
        };
        (self.of, symbols)
    }
}

impl<'a> Queries<'a, NoisyCounts> {
    /// What they were made by, and the counts of these rows, row after row.
    pub(super) fn counts(&self) -> (&'a NoisyCounts, Cow<'a, [f64]>) {
        (self.of, numbers((self.of.values(), self.of.k()), self.rows))
    }
}

/// These rows of k numbers.
fn numbers<'a>((all, k): (&'a [f64], usize), rows: Option<&[usize]>) -> Cow<'a, [f64]> {
    match rows {
        None => Cow::Borrowed(all),
        Some(rows) => rows.iter().flat_map(|row| &all[row * k..(row + 1) * k]).copied().collect(),
    }
}
