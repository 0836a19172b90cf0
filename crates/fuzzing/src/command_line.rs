//! Readers of files of rows and of sets.

use readers::FileFormat::{Arrow, Csv, Idx, Npy, Parquet, Svmlight};
use readers::{Block, Error, FileFormat, Missing, RowsFile, SetsFile};
use std::io::Write;
use std::path::Path;

/// Features that are declared where the format does not say them.
const FEATURES: usize = 9;

/// What a file held: rows (or sets), and numbers in a row (or the most items in a set).
#[derive(Debug)]
struct Shape {
    rows: usize,
    columns: usize,
}

fn of(format: FileFormat) -> RowsFile {
    RowsFile { format: Some(format), ..RowsFile::new("") }
}

/// As [`of`], without the first column; missing values are zero.
fn partly(format: FileFormat) -> RowsFile {
    RowsFile { leave_out: vec!["1".into()], missing: Missing::Zero, ..of(format) }
}

/// CSV, with and without a first line of names.
pub(crate) fn cli_csv(data: &[u8]) {
    read(data, of(Csv));
    read(data, RowsFile { header: Some(false), missing: Missing::Zero, ..of(Csv) });
    let (delimiter, columns) = (Some("tab".into()), vec!["2-3".into()]);
    read(data, RowsFile { delimiter, columns, leave_out: vec!["1".into()], ..of(Csv) });
}

/// NPY.
pub(crate) fn cli_npy(data: &[u8]) {
    if let Some(shape) = read(data, of(Npy)) {
        backed(data, &shape);
    }
}

/// IDX.
pub(crate) fn cli_idx(data: &[u8]) {
    if let Some(shape) = read(data, RowsFile { divide: 255.0, ..of(Idx) }) {
        backed(data, &shape);
    }
}

/// svmlight.
pub(crate) fn cli_svmlight(data: &[u8]) {
    if let Some(shape) = read(data, RowsFile { features: Some(FEATURES), ..of(Svmlight) }) {
        assert_eq!(shape.columns, FEATURES);
    }
}

/// Parquet.
pub(crate) fn cli_parquet(data: &[u8]) {
    read(data, of(Parquet));
    read(data, partly(Parquet));
}

/// Arrow IPC, file or stream.
pub(crate) fn cli_arrow(data: &[u8]) {
    read(data, of(Arrow));
    read(data, partly(Arrow));
}

/// Item sets.
pub(crate) fn cli_sets(data: &[u8]) {
    for (separator, id_first) in [(None, false), (Some(",".to_owned()), true)] {
        checked(data, |path| {
            let file = SetsFile { separator, id_first, ..SetsFile::new(path) };
            let mut reader = file.open()?;
            let mut shape = Shape { rows: 0, columns: 0 };
            loop {
                let sets = reader.next()?;
                if sets.is_empty() {
                    return Ok(shape);
                }
                shape.rows += sets.len();
                shape.columns = sets.iter().map(|s| s.len()).fold(shape.columns, usize::max);
            }
        });
    }
}

fn read(data: &[u8], options: RowsFile) -> Option<Shape> {
    checked(data, |path| {
        let mut rows = RowsFile { path: path.to_owned(), ..options }.open()?.rows;
        let mut shape = Shape { rows: 0, columns: rows.d() };
        let mut used = Block::default();
        while let Some(block) = rows.next(used)? {
            assert!(block.n > 0, "blocks hold rows");
            let view = block.view(shape.columns).expect("readers hand out whole, finite rows");
            shape.rows += view.n();
            used = block;
        }
        Ok(shape)
    })
}

/// A file that is refused is named, or the option that would help is.
fn checked(data: &[u8], reader: impl FnOnce(&Path) -> Result<Shape, Error>) -> Option<Shape> {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(data).expect("room for a small file");
    match reader(file.path()) {
        Ok(shape) => Some(shape),
        Err(error) => {
            let text = error.to_string();
            let path = file.path().to_str().expect("a UTF-8 path");
            let says = text.contains(path) || text.contains('`') || text.contains("no column");
            assert!(says, "the refusal names neither the file nor an option: {text}");
            None
        }
    }
}

/// Numbers that were handed out were in the file.
fn backed(data: &[u8], shape: &Shape) {
    let gzip = data.starts_with(&[0x1f, 0x8b]);
    let numbers = shape.rows as u128 * shape.columns as u128;
    assert!(gzip || numbers <= data.len() as u128, "{shape:?}");
}
