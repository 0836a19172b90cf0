//! The published cells.

use super::law::{BoundedLaw, CellLaw};
use crate::distances::ValueRange;
use crate::error::{Error, Result};
use crate::joined::{alike, joinable};
use dp_core::Budget;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::noise::NoiseLaw;

/// The largest end of a range: fourth powers stay far inside of double precision.
pub(super) const MOST: f64 = 1e60;

/// Refuses ranges whose estimates would leave double precision.
pub(super) fn in_range(range: ValueRange) -> Result<ValueRange> {
    if range.width() >= 1e-60 && range.largest() <= MOST {
        return Ok(range);
    }
    let (low, high) = range.ends();
    let allowed = "[-1e60, 1e60] and at least 1e-60 wide: scale the values";
    Err(Error::invalid("range", format!("[{low:e}, {high:e}]"), allowed))
}

/// n rows of d cells, with the public facts that estimators need.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundedValues {
    d: usize,
    range: ValueRange,
    law: CellLaw,
    /// Whether every value that went in was one of the categories, which the release states.
    categories: bool,
    cells: Vec<u8>,
}

/// The name under which releases of categories state how many there are.
const CATEGORIES: &str = "categories";

impl BoundedValues {
    pub(super) fn new(
        d: usize,
        range: ValueRange,
        law: CellLaw,
        categories: bool,
        cells: Vec<u8>,
    ) -> Result<Self> {
        if d == 0 || !cells.len().is_multiple_of(d) {
            return Err(Error::Shape { what: "cells", expected: d, found: cells.len() });
        }
        match cells.iter().position(|&cell| usize::from(cell) >= law.values().len()) {
            Some(at) => {
                let allowed = format!("below {}", law.values().len());
                Err(Error::invalid("cell", format!("row {}, column {}", at / d, at % d), allowed))
            }
            None => Ok(Self { d, range, law, categories, cells }),
        }
    }

    /// The rows of several releases that were made alike, one after the other: what is asked of them all is asked of these.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for another d, range or law, and for one release given twice; [`dp_core::Error::InvalidParameter`] for none.
    pub fn joined(parts: &[&Self]) -> Result<Self> {
        let first = joinable(parts, Self::eq)?;
        parts.iter().try_for_each(|part| first.check_comparable(part))?;
        let cells = parts.iter().flat_map(|part| &part.cells).copied().collect();
        let categories = parts.iter().all(|part| part.categories);
        Self::new(first.d, first.range, first.law.clone(), categories, cells)
    }

    /// Number of rows.
    #[must_use]
    pub fn n(&self) -> usize {
        self.cells.len() / self.d
    }

    /// Values of a row.
    #[must_use]
    pub fn d(&self) -> usize {
        self.d
    }

    /// The declared range of every value.
    #[must_use]
    pub fn range(&self) -> ValueRange {
        self.range
    }

    /// All rows, one after the other: unbiased for the values that went in, and mostly outside of their range.
    #[must_use]
    pub fn values(&self) -> Vec<f64> {
        self.cells.iter().map(|&cell| self.value(cell)).collect()
    }

    /// The cell of a value: of categories and bits, the answer.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub fn answer(&self, row: usize, column: usize) -> Result<u8> {
        let len = self.d;
        self.row(row)?.get(column).copied().ok_or(Error::Index {
            what: "column",
            index: column,
            len,
        })
    }

    /// The law of the noise.
    pub(super) fn noise(&self) -> NoiseLaw {
        self.law.noise()
    }

    /// Whether every value that went in was a category. Earlier releases do not state it: false.
    #[must_use]
    pub fn is_of_categories(&self) -> bool {
        self.categories
    }

    /// A law that makes releases like this one at a budget, of a user with up to so many rows.
    ///
    /// # Errors
    /// A budget that no law has.
    pub fn made_by(&self, budget: Budget, rows: u64) -> Result<BoundedLaw> {
        let (letters, offsets) =
            (self.law.values().len() as u64 / self.law.offsets(), self.law.offsets());
        Ok(match (letters, offsets) {
            _ if self.categories => BoundedLaw::Categories(letters),
            (2, 1) => BoundedLaw::OneBit,
            (letters, 1) if (letters, 1) != CellLaw::best(budget.epsilon.get() / rows as f64)? => {
                BoundedLaw::Categories(letters)
            }
            _ => BoundedLaw::LeastError,
        })
    }

    /// The mean variance of the values, estimated from the release: for a denoised ranking.
    pub(crate) fn mean_variance(&self) -> f64 {
        let (v, q) = (self.law.values(), self.law.squares());
        let one = |&cell: &u8| v[usize::from(cell)].powi(2) - q[usize::from(cell)];
        let sum: f64 = self.cells.iter().map(one).sum();
        let width = self.range.width();
        (sum / self.cells.len().max(1) as f64).max(0.0) * width * width
    }

    pub(super) fn law(&self) -> &CellLaw {
        &self.law
    }

    pub(super) fn cells(&self) -> &[u8] {
        &self.cells
    }

    /// The value that a cell stands for.
    pub(super) fn value(&self, cell: u8) -> f64 {
        let (low, _) = self.range.ends();
        self.range.width().mul_add(self.law.values()[usize::from(cell)], low)
    }

    /// The cells of a row.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub(super) fn row(&self, index: usize) -> Result<&[u8]> {
        let row = self.cells.chunks_exact(self.d).nth(index);
        row.ok_or(Error::Index { what: "row", index, len: self.n() })
    }

    pub(super) fn public(
        range: ValueRange,
        law: &CellLaw,
        categories: bool,
        (n, d): (usize, usize),
    ) -> PublicParameters {
        let (low, high) = range.ends();
        let mut public = PublicParameters::from([
            ("n".to_owned(), n.into()),
            ("d".to_owned(), d.into()),
            ("lowest entry".to_owned(), low.into()),
            ("highest entry".to_owned(), high.into()),
            ("offsets".to_owned(), law.offsets().into()),
        ]);
        if categories {
            public.insert(CATEGORIES.to_owned(), law.values().len().into());
        }
        public
    }

    /// Whether a certificate states categories of this range and law.
    ///
    /// # Errors
    /// Others than the law has, or another range than theirs.
    pub(super) fn stated(statement: &Statement, range: ValueRange, law: &CellLaw) -> Result<bool> {
        if !statement.public.contains_key(CATEGORIES) {
            return Ok(false);
        }
        let letters = law.values().len() as u64;
        if BoundedLaw::Categories(letters).shape(range)? != Some((letters, law.offsets())) {
            let reason = "states categories, which have no offsets";
            return Err(dp_core::Error::file("certificate", reason).into());
        }
        Ok(true)
    }

    /// Whether two releases have the same columns, range and law.
    ///
    /// # Errors
    /// [`Error::Incompatible`].
    pub fn check_comparable(&self, other: &Self) -> Result<()> {
        alike("numbers of a row", &self.d, &other.d)?;
        alike("ranges", &self.range, &other.range)?;
        alike("offsets", &self.law.offsets(), &other.law.offsets())?;
        alike("responses", &self.law.noise(), &other.law.noise())
    }
}
