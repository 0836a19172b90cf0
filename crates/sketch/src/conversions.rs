//! Rows from arrays of other crates, and releases as such arrays.

use crate::vectors::PrivateSketch;
use faer::MatRef;

/// The entries of a matrix row after row, as [`crate::RowsView`] reads them. faer stores column after column:
/// this copies.
///
/// ```
/// use sketch::RowsView;
///
/// let matrix = faer::mat![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
/// let values = sketch::row_major(matrix.as_ref());
/// let rows = RowsView::f64(matrix.nrows(), matrix.ncols(), &values)?;
/// assert_eq!(values, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// # Ok::<(), sketch::Error>(())
/// ```
#[must_use]
pub fn row_major(matrix: MatRef<'_, f64>) -> Vec<f64> {
    let entries = (0..matrix.nrows()).flat_map(|i| (0..matrix.ncols()).map(move |j| (i, j)));
    entries.map(|at| matrix[at]).collect()
}

/// The noisy rows as an n x k matrix, without copying.
impl<'a> From<&'a PrivateSketch> for MatRef<'a, f64> {
    fn from(sketch: &'a PrivateSketch) -> Self {
        MatRef::from_row_major_slice(sketch.values(), sketch.n(), sketch.k())
    }
}

#[cfg(feature = "ndarray")]
mod arrays {
    use crate::error::{Error, Result};
    use crate::rows::RowsView;
    use crate::vectors::PrivateSketch;
    use ndarray::ArrayView2;

    /// Dense rows of an array in standard layout, without copying.
    ///
    /// ```
    /// use sketch::RowsView;
    ///
    /// let array = ndarray::arr2(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// let rows = RowsView::try_from(array.view())?;
    /// assert_eq!((rows.n(), rows.d()), (2, 3));
    /// // The transpose is stored column after column: it must be copied first.
    /// assert!(RowsView::try_from(array.t()).is_err());
    /// # Ok::<(), sketch::Error>(())
    /// ```
    impl<'a> TryFrom<ArrayView2<'a, f64>> for RowsView<'a> {
        type Error = Error;

        fn try_from(array: ArrayView2<'a, f64>) -> Result<Self> {
            let (n, d) = array.dim();
            Self::f64(n, d, slice(&array)?)
        }
    }

    /// As for `f64`.
    impl<'a> TryFrom<ArrayView2<'a, f32>> for RowsView<'a> {
        type Error = Error;

        fn try_from(array: ArrayView2<'a, f32>) -> Result<Self> {
            let (n, d) = array.dim();
            Self::f32(n, d, slice(&array)?)
        }
    }

    fn slice<'a, T>(array: &ArrayView2<'a, T>) -> Result<&'a [T]> {
        array.to_slice().ok_or_else(|| {
            let allowed = "row after row (standard layout): copy it with as_standard_layout first";
            Error::invalid("layout of the array", "another order", allowed)
        })
    }

    /// The noisy rows as an n x k array, without copying.
    impl<'a> From<&'a PrivateSketch> for ArrayView2<'a, f64> {
        fn from(sketch: &'a PrivateSketch) -> Self {
            Self::from_shape((sketch.n(), sketch.k()), sketch.values()).expect("whole rows")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::{Family, ProjectionSpec};
    use dp_core::PublicSeed;
    use dp_core::noise::NoiseLaw;

    fn sketch() -> PrivateSketch {
        let spec = ProjectionSpec::new(Family::Oporp, 5, 3, PublicSeed::new(1)).expect("valid");
        let values = (0..6u8).map(f64::from).collect();
        PrivateSketch::new(spec, NoiseLaw::None, values).expect("whole rows")
    }

    #[test]
    fn sketches_are_matrices_row_by_row() {
        let sketch = sketch();
        let matrix = MatRef::from(&sketch);
        assert_eq!((matrix.nrows(), matrix.ncols(), matrix[(1, 0)]), (2, 3, 3.0));
        assert_eq!(row_major(matrix), sketch.values());
    }

    #[cfg(feature = "ndarray")]
    #[test]
    fn arrays_are_rows_only_in_standard_layout() {
        use crate::rows::RowsView;
        let sketch = sketch();
        let array = ndarray::ArrayView2::from(&sketch);
        let rows = RowsView::try_from(array).expect("standard layout");
        let mut row = [0.0; 3];
        rows.copy_row(1, &mut row);
        assert_eq!(row, [3.0, 4.0, 5.0]);
        let error = RowsView::try_from(array.t()).expect_err("transposed").to_string();
        assert!(error.contains("layout of the array"), "{error}");
        let bad = ndarray::arr2(&[[f32::NAN, 1.0]]);
        assert!(RowsView::try_from(bad.view()).is_err());
    }
}
