//! Rows on their way into a mechanism that takes them in portions.

use crate::columns::Columns;
use crate::error::{Error, Result};
use crate::rows::{RowsView, side_by_side};
use core::ops::Range;
use dp_core::EntryBound;

/// A view, or columns side by side that are checked where they are read: once, a few rows at a time, while the cache holds
/// them. Nothing but [`Incoming::check`] and [`Incoming::lay`], which check them, leads to the numbers. `Debug` shows the shape only.
#[derive(Debug, Clone, Copy)]
pub struct Incoming<'a>(Kind<'a>);

#[derive(Debug, Clone, Copy)]
enum Kind<'a> {
    /// Where a bound stands, no number is beyond it.
    View(RowsView<'a>, Option<EntryBound>),
    /// Where a bound stands, rows are checked by it when they are laid.
    Unread(Columns<'a>, Option<EntryBound>),
}

impl<'a> From<RowsView<'a>> for Incoming<'a> {
    fn from(view: RowsView<'a>) -> Self {
        Self(Kind::View(view, None))
    }
}

impl<'a> Incoming<'a> {
    /// Columns as [`RowsView::columns`] takes them, not read yet.
    ///
    /// # Errors
    /// [`Error::Length`] for columns of different lengths, or an invalid d.
    pub fn columns(n: usize, columns: &'a [&'a [f64]]) -> Result<Self> {
        Ok(Self(Kind::Unread(side_by_side(n, columns)?, None)))
    }

    fn shape(&self) -> (usize, usize) {
        match &self.0 {
            Kind::View(view, _) => (view.n(), view.d()),
            Kind::Unread(columns, _) => columns.shape(),
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn n(&self) -> usize {
        self.shape().0
    }

    /// Number of features.
    #[must_use]
    pub fn d(&self) -> usize {
        self.shape().1
    }

    /// The rows of a range, without copying.
    ///
    /// # Panics
    /// When the range leaves the rows.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> Self {
        assert!(rows.start <= rows.end && rows.end <= self.n(), "row range inside the rows");
        Self(match &self.0 {
            Kind::View(view, known) => Kind::View(view.slice(rows), *known),
            Kind::Unread(columns, bound) => Kind::Unread(columns.slice(rows), *bound),
        })
    }

    /// The view, where it is one: its numbers are known to be finite.
    #[must_use]
    pub fn view(&self) -> Option<RowsView<'a>> {
        match &self.0 {
            Kind::View(view, _) => Some(*view),
            Kind::Unread(..) => None,
        }
    }

    /// The same rows; columns that are not read yet are checked by this bound when they are laid.
    pub(crate) fn within(self, bound: EntryBound) -> Self {
        match self.0 {
            Kind::View(..) => self,
            Kind::Unread(columns, _) => Self(Kind::Unread(columns, Some(bound))),
        }
    }

    /// Copies the rows to `out`, one after the other, where every number of columns is checked on its way.
    ///
    /// # Errors
    /// [`Error::NotFinite`], naming the first such value's place.
    ///
    /// # Panics
    /// Unless there is room for n rows of d numbers.
    pub fn lay<'r>(&self, out: &'r mut [f64]) -> Result<Incoming<'r>> {
        let (n, d) = self.shape();
        assert_eq!(out.len(), n * d, "room for all rows");
        let known = match &self.0 {
            Kind::View(view, known) => {
                view.copy_block(0, 0, d, out);
                *known
            }
            Kind::Unread(columns, bound) => {
                if !columns.copy(0, (0, d), out, bound.map_or(f64::MAX, EntryBound::get)) {
                    // Names the place.
                    RowsView::checked(*columns, *bound)?;
                }
                *bound
            }
        };
        Ok(Incoming(Kind::View(RowsView::laid(n, d, out), known)))
    }

    /// The view: every number is finite.
    ///
    /// # Errors
    /// [`Error::NotFinite`].
    pub fn check(self) -> Result<RowsView<'a>> {
        match self.0 {
            Kind::View(view, _) => Ok(view),
            Kind::Unread(columns, _) => RowsView::checked(columns, None),
        }
    }

    /// The view: every number is finite and at most `bound`.
    ///
    /// # Errors
    /// [`Error::NotFinite`] or [`Error::OutOfRange`], naming the first such value's place.
    pub(crate) fn check_bound(self, bound: EntryBound) -> Result<RowsView<'a>> {
        match self.0 {
            Kind::View(view, Some(known)) if known.get() <= bound.get() => Ok(view),
            Kind::View(view, _) => view.check_bound(bound).map(|()| view),
            Kind::Unread(columns, _) => RowsView::checked(columns, Some(bound)),
        }
    }

    /// Refuses rows of another d.
    ///
    /// # Errors
    /// [`Error::Shape`].
    pub(crate) fn check_features(&self, d: usize) -> Result<()> {
        if self.d() == d {
            return Ok(());
        }
        Err(Error::Shape { what: "d of the rows", expected: d, found: self.d() })
    }
}
