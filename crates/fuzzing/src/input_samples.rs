//! Small valid inputs of the command line, one or more a format.

use crate::sample::{Failure, Sample};
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Float64Array, ListArray, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use std::sync::Arc;

/// Three rows of an identifier and two numbers, one of them missing.
fn table() -> Result<RecordBatch, Failure> {
    let ids: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "z"]));
    let a: ArrayRef = Arc::new(Float64Array::from(vec![0.5, -1.0, 2.0]));
    let b: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), None, Some(0.25)]));
    Ok(RecordBatch::try_from_iter([("id", ids), ("a", a), ("b", b)])?)
}

/// Two lists of three numbers.
fn lists() -> Result<RecordBatch, Failure> {
    let rows = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]].map(|row| Some(row.map(Some)));
    let column: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(rows));
    Ok(RecordBatch::try_from_iter([("vector", column)])?)
}

fn parquet(batch: &RecordBatch) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None)?;
    writer.write(batch)?;
    writer.close()?;
    Ok(bytes)
}

fn arrow_file(batch: &RecordBatch) -> Result<Vec<u8>, Failure> {
    let mut writer = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema())?;
    writer.write(batch)?;
    Ok(writer.into_inner()?)
}

fn arrow_stream(batch: &RecordBatch) -> Result<Vec<u8>, Failure> {
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema())?;
    writer.write(batch)?;
    Ok(writer.into_inner()?)
}

/// An array of two rows of three numbers.
fn npy() -> Vec<u8> {
    let mut header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".to_owned();
    header.extend(std::iter::repeat_n(' ', 117 - header.len()));
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    (0..6u8).for_each(|i| bytes.extend((0.5 * f32::from(i)).to_le_bytes()));
    bytes
}

/// All of them.
///
/// # Errors
/// When a writer refuses: never.
pub(crate) fn inputs() -> Result<Vec<Sample>, Failure> {
    let idx = [0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6];
    let quoted = "id,a,b\n\"x, 1\",0.5,-1e3\n\"y\"\"2\",NA,.25\n";
    Ok(vec![
        Sample::new("cli_csv", "plain.csv", "a,b\n1,2.5\n-3e-1, 4 \n"),
        Sample::new("cli_csv", "quoted.csv", quoted),
        Sample::new("cli_csv", "tabs.tsv", "x\t1\t2\r\ny\t\t4\r\n"),
        Sample::new("cli_npy", "f4.npy", npy()),
        Sample::new("cli_idx", "plain.idx", idx),
        Sample::new("cli_svmlight", "two-rows.txt", "1 1:0.5 7:-2 # a\n\n-1 qid:3 3:1e-3\n"),
        Sample::new("cli_parquet", "table.parquet", parquet(&table()?)?),
        Sample::new("cli_parquet", "lists.parquet", parquet(&lists()?)?),
        Sample::new("cli_arrow", "table.arrow", arrow_file(&table()?)?),
        Sample::new("cli_arrow", "lists.arrows", arrow_stream(&lists()?)?),
        Sample::new("cli_sets", "sets.txt", "u1,milk, bread\nu2,milk\n"),
    ])
}
