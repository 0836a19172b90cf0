//! What tables hold.

use dp_core::release_file::RowIds;

/// What stands in the cells of a table.
pub(super) trait Cell: npyz::AutoSerialize + Copy {
    /// Its type in columns.
    #[cfg(any(feature = "arrow", feature = "parquet"))]
    type Column: arrow_array::types::ArrowPrimitiveType<Native = Self>;

    /// As text from which it reads back unchanged.
    fn text(self) -> String;
}

macro_rules! cell {
    ($type:ty, $column:ident, $format:literal) => {
        impl Cell for $type {
            #[cfg(any(feature = "arrow", feature = "parquet"))]
            type Column = arrow_array::types::$column;

            fn text(self) -> String {
                format!($format, self)
            }
        }
    };
}

cell!(f64, Float64Type, "{:e}");
cell!(i8, Int8Type, "{}");
cell!(u8, UInt8Type, "{}");
cell!(u16, UInt16Type, "{}");

/// Rows of so many cells, and what is said about them by name.
pub(super) struct Table<'a, T> {
    pub(super) width: usize,
    pub(super) cells: &'a [T],
    pub(super) about: Vec<(String, String)>,
    /// What the rows are called.
    pub(super) ids: Option<&'a RowIds>,
    /// What the columns are called.
    pub(super) names: Option<Vec<String>>,
}
