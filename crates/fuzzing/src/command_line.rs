//! Readers of the command line: files of rows and of sets, as `dps release` takes them.

use dps_cli::reading::{Shape, rows, sets};
use std::io::Write;

/// Features that are declared where the format does not say them.
const FEATURES: &str = "9";

/// CSV, with and without a first line of names.
pub fn cli_csv(data: &[u8]) {
    read(data, &["--format", "csv"]);
    read(data, &["--format", "csv", "--no-header", "--missing", "zero"]);
    read(data, &["--format", "csv", "--delimiter", "tab", "--columns", "2-3", "--id", "1"]);
}

/// NPY.
pub fn cli_npy(data: &[u8]) {
    if let Some(shape) = read(data, &["--format", "npy"]) {
        backed(data, shape);
    }
}

/// IDX.
pub fn cli_idx(data: &[u8]) {
    if let Some(shape) = read(data, &["--format", "idx", "--divide", "255"]) {
        backed(data, shape);
    }
}

/// svmlight.
pub fn cli_svmlight(data: &[u8]) {
    if let Some(shape) = read(data, &["--format", "svmlight", "--features", FEATURES]) {
        assert_eq!(shape.columns, 9);
    }
}

/// Parquet.
pub fn cli_parquet(data: &[u8]) {
    read(data, &["--format", "parquet"]);
    read(data, &["--format", "parquet", "--id", "1", "--missing", "zero"]);
}

/// Arrow IPC, file or stream.
pub fn cli_arrow(data: &[u8]) {
    read(data, &["--format", "arrow"]);
    read(data, &["--format", "arrow", "--id", "1", "--missing", "zero"]);
}

/// Item sets.
pub fn cli_sets(data: &[u8]) {
    for options in [&[][..], &["--separator", ",", "--id-first"]] {
        checked(data, |path| sets(&[&[path], options].concat()));
    }
}

fn read(data: &[u8], options: &[&str]) -> Option<Shape> {
    checked(data, |path| rows(&[&[path], options].concat()))
}

/// A file that is refused is named, or the option that would help is.
fn checked(data: &[u8], reader: impl FnOnce(&str) -> Result<Shape, String>) -> Option<Shape> {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(data).expect("room for a small file");
    let path = file.path().to_str().expect("a UTF-8 path");
    match reader(path) {
        Ok(shape) => Some(shape),
        Err(text) => {
            let says = text.contains(path) || text.contains("--") || text.contains("no column");
            assert!(says, "the refusal names neither the file nor an option: {text}");
            None
        }
    }
}

/// Numbers that were handed out were in the file.
fn backed(data: &[u8], shape: Shape) {
    let gzip = data.starts_with(&[0x1f, 0x8b]);
    let numbers = shape.rows as u128 * shape.columns as u128;
    assert!(gzip || numbers <= data.len() as u128, "{shape:?}");
}
