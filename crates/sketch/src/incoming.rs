//! Rows on their way into a mechanism that takes them in portions.

use crate::columns::Columns;
use crate::error::{Error, Result};
use crate::rows::{RowsView, side_by_side};
use core::ops::Range;
use dp_core::EntryBound;

/// A view, or columns side by side that are checked where they are read: once, a few rows at a time, while the cache holds
/// them. Nothing but [`Incoming::check`] leads to the numbers. `Debug` shows the shape only.
#[derive(Debug, Clone, Copy)]
pub struct Incoming<'a>(Kind<'a>);

#[derive(Debug, Clone, Copy)]
enum Kind<'a> {
    View(RowsView<'a>),
    Unread(Columns<'a>),
}

impl<'a> From<RowsView<'a>> for Incoming<'a> {
    fn from(view: RowsView<'a>) -> Self {
        Self(Kind::View(view))
    }
}

impl<'a> Incoming<'a> {
    /// Columns as [`RowsView::columns`] takes them, not read yet.
    ///
    /// # Errors
    /// [`Error::Length`] for columns of different lengths, or an invalid d.
    pub fn columns(n: usize, columns: &'a [&'a [f64]]) -> Result<Self> {
        Ok(Self(Kind::Unread(side_by_side(n, columns)?)))
    }

    fn shape(&self) -> (usize, usize) {
        match &self.0 {
            Kind::View(view) => (view.n(), view.d()),
            Kind::Unread(columns) => columns.shape(),
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
            Kind::View(view) => Kind::View(view.slice(rows)),
            Kind::Unread(columns) => Kind::Unread(columns.slice(rows)),
        })
    }

    /// The same rows, columns that are not read yet copied to `room`: those of a table begin at the same places of their
    /// pages, so that they would drive each other out of the cache before they are read again.
    pub(crate) fn gathered<'r>(
        &self,
        room: &'r mut Vec<f64>,
        slices: &'r mut Vec<&'r [f64]>,
    ) -> Incoming<'r>
    where
        'a: 'r,
    {
        let Kind::Unread(columns) = &self.0 else { return *self };
        let (n, d) = columns.shape();
        room.clear();
        room.reserve_exact(n * d);
        (0..d).for_each(|c| room.extend_from_slice(columns.column(c)));
        slices.extend(room.chunks_exact(n.max(1)));
        Incoming(Kind::Unread(Columns::new(n, slices)))
    }

    /// The view: every number is finite.
    ///
    /// # Errors
    /// [`Error::NotFinite`].
    pub fn check(self) -> Result<RowsView<'a>> {
        match self.0 {
            Kind::View(view) => Ok(view),
            Kind::Unread(columns) => RowsView::checked(columns, None),
        }
    }

    /// The view: every number is finite and at most `bound`.
    ///
    /// # Errors
    /// [`Error::NotFinite`] or [`Error::OutOfRange`], naming the first such value's place.
    pub(crate) fn check_bound(self, bound: EntryBound) -> Result<RowsView<'a>> {
        match self.0 {
            Kind::View(view) => view.check_bound(bound).map(|()| view),
            Kind::Unread(columns) => RowsView::checked(columns, Some(bound)),
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
