//! Writes large files of rows, and times their parsers alone, for the speed of `dps release`.
//!
//! ```text
//! cargo run --release --package dps --example rows -- write FILE ROWS COLUMNS
//! cargo run --release --package dps --example rows -- parse FILE
//! ```
//!
//! The format follows from the name: `.csv` (six decimals), `.npy` (f64), `.parquet` (f64, snappy).
//! `parse` reads every number with the format's crate and does nothing else.

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::sync::Arc;
use std::time::Instant;

/// Numbers in [-1, 1) with six decimals, from a fixed sequence.
struct Numbers(u64);

impl Iterator for Numbers {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some(((self.0 >> 33) % 2_000_000) as f64 / 1e6 - 1.0)
    }
}

fn write(path: &str, rows: usize, columns: usize) -> Result<(), Box<dyn Error>> {
    let mut numbers = Numbers(1);
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    if path.ends_with(".npy") {
        use npyz::WriterBuilder;
        let shape = [rows as u64, columns as u64];
        let mut writer =
            npyz::WriteOptions::new().default_dtype().shape(&shape).writer(out).begin_nd()?;
        writer.extend(numbers.take(rows * columns))?;
        return Ok(writer.finish()?);
    }
    if path.ends_with(".parquet") {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(65_536))
            .build();
        let mut writer = None;
        for first in (0..rows).step_by(65_536) {
            let n = 65_536.min(rows - first);
            let mut batch: Vec<Vec<f64>> = vec![Vec::with_capacity(n); columns];
            for _ in 0..n {
                batch.iter_mut().for_each(|column| column.extend(numbers.next()));
            }
            let columns = batch.into_iter().enumerate();
            let batch = RecordBatch::try_from_iter(
                columns
                    .map(|(j, c)| (format!("a{j}"), Arc::new(Float64Array::from(c)) as ArrayRef)),
            )?;
            let writer = match &mut writer {
                Some(writer) => writer,
                none => none.insert(ArrowWriter::try_new(
                    out.get_ref().try_clone()?,
                    batch.schema(),
                    Some(properties.clone()),
                )?),
            };
            writer.write(&batch)?;
        }
        writer.map(ArrowWriter::close).transpose()?;
        return Ok(());
    }
    for j in 0..columns {
        write!(out, "{}a{j}", if j > 0 { "," } else { "" })?;
    }
    for _ in 0..rows {
        for j in 0..columns {
            let separator = if j > 0 { "," } else { "\n" };
            write!(out, "{separator}{:.6}", numbers.next().unwrap_or(0.0))?;
        }
    }
    Ok(writeln!(out)?)
}

fn parse(path: &str) -> Result<f64, Box<dyn Error>> {
    let file = File::open(path)?;
    let mut sum = 0.0;
    if path.ends_with(".npy") {
        for value in
            npyz::NpyFile::new(BufReader::new(file))?.data::<f64>().map_err(|e| e.to_string())?
        {
            sum += value?;
        }
    } else if path.ends_with(".parquet") {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
        for batch in builder.with_batch_size(4096).build()? {
            for column in batch?.columns() {
                let column = column.as_any().downcast_ref::<Float64Array>().ok_or("not f64")?;
                sum += column.values().iter().sum::<f64>();
            }
        }
    } else {
        let mut reader = csv::Reader::from_reader(BufReader::new(file));
        let mut record = csv::ByteRecord::new();
        while reader.read_byte_record(&mut record)? {
            for cell in &record {
                sum += fast_float2::parse::<f64, _>(cell)?;
            }
        }
    }
    Ok(sum)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["write", path, rows, columns] => write(path, rows.parse()?, columns.parse()?),
        ["parse", path] => {
            let start = Instant::now();
            let sum = parse(path)?;
            let (seconds, bytes) =
                (start.elapsed().as_secs_f64(), File::open(path)?.metadata()?.len());
            println!("{seconds:.2} s, {:.0} MB/s (sum {sum})", bytes as f64 / seconds / 1e6);
            Ok(())
        }
        _ => Err("write FILE ROWS COLUMNS, or parse FILE".into()),
    }
}
