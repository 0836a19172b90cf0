//! Files of rows and of sets, read in blocks: one reader a format, without a command line.
//!
//! | format | rows |
//! | --- | --- |
//! | CSV, any delimiter | one row a line; parsed in parallel |
//! | NPY | an array of two dimensions, row after row |
//! | Parquet (feature `parquet`), Arrow IPC (feature `arrow`) | one column a feature, or one column of lists |
//! | svmlight | sparse rows, the number of features declared |
//! | IDX | unsigned bytes |
//!
//! Memory holds a few blocks, whatever the size of the file. What a file declares of itself is believed
//! only as far as its bytes go. Errors name the column and the rule that does not hold; they never show
//! a value, and the number of the row only in [`DataError::record`], for the owner of the file.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("people.csv");
//! std::fs::write(&path, "id,age,income\n1,34,0.5\n2,51,0.75\n")?;
//!
//! let file = readers::RowsFile { leave_out: vec!["id".into()], ..readers::RowsFile::new(&path) };
//! let mut input = file.open()?;
//! assert_eq!(input.columns.as_deref(), Some(&["age".into(), "income".into()][..]));
//! while let Some(block) = input.rows.next(readers::Block::default())? {
//!     let rows = block.view(input.rows.d())?;
//!     assert_eq!((rows.n(), rows.d()), (2, 2));
//! }
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "arrow")]
mod arrow_footer;
#[cfg(feature = "arrow")]
mod arrow_frames;
mod block;
mod bounds;
#[cfg(any(feature = "arrow", feature = "parquet"))]
mod column_ids;
#[cfg(any(feature = "arrow", feature = "parquet"))]
mod column_numbers;
#[cfg(any(feature = "arrow", feature = "parquet"))]
mod columnar;
mod columns;
mod csv;
pub mod error;
mod gaps;
#[cfg(any(feature = "arrow", feature = "parquet"))]
mod guarded;
mod idx;
mod items;
#[cfg(any(feature = "arrow", feature = "parquet"))]
mod joined;
mod mapped;
mod npy;
mod open;
mod options;
#[cfg(feature = "parquet")]
mod parquet_footer;
#[cfg(feature = "parquet")]
mod parquet_pages;
mod prefetch;
#[cfg(any(feature = "arrow", feature = "parquet"))]
mod set_columns;
mod set_json;
mod set_lines;
mod set_options;
mod set_table;
mod several;
mod source;
mod svmlight;
#[cfg(test)]
mod tests;
#[cfg(feature = "parquet")]
mod thrift;

pub use block::{Block, Input, Values};
pub use bounds::{Limits, OutsideBounds};
pub use error::{DataError, Error, Result, shown};
pub use items::SetReader;
pub use options::{ColumnRules, FileFormat, IdColumn, Missing, RowsFile, Users};
pub use prefetch::Prefetch;
pub use set_options::{SetFormat, SetsFile};
pub use several::open_all;
pub use source::{Meter, is_stream};
pub use svmlight::svmlight_row;
