//! Writes large files of rows, times their parsers alone, and compares `dps release` with them.
//!
//! ```text
//! cargo build --release --package dps
//! cargo run --release --package dps --example rows -- write FILE ROWS COLUMNS
//! cargo run --release --package dps --example rows -- parse FILE
//! cargo run --release --package dps --example rows -- compare FILE K [RUNS]
//! ```
//!
//! The format follows from the name: `.csv` (six decimals), `.f32.npy` (f32), `.npy` (f64),
//! `.parquet` (f64, snappy). `parse` reads every number with the format's crate and does nothing else.
//!
//! `compare` runs three things in turn, five times each by default, and prints the least wall and CPU time of
//! each and the most memory: that parser; the reader of `dps` alone (`--dry-run`: every row is read,
//! decoded, checked to be finite and within its bound, and dropped); and `dps release sketch -k K`.
//! It reads its clocks from `/proc`, so it runs on Linux.

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

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
        let numbers = numbers.take(rows * columns);
        if path.ends_with(".f32.npy") {
            let options = npyz::WriteOptions::<f32>::new().default_dtype();
            let mut writer = options.shape(&shape).writer(out).begin_nd()?;
            writer.extend(numbers.map(|v| v as f32))?;
            return Ok(writer.finish()?);
        }
        let options = npyz::WriteOptions::<f64>::new().default_dtype();
        let mut writer = options.shape(&shape).writer(out).begin_nd()?;
        writer.extend(numbers)?;
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
    if path.ends_with(".f32.npy") {
        let array = npyz::NpyFile::new(BufReader::new(file))?;
        for value in array.data::<f32>().map_err(|e| e.to_string())? {
            sum += f64::from(value?);
        }
    } else if path.ends_with(".npy") {
        let array = npyz::NpyFile::new(BufReader::new(file))?;
        for value in array.data::<f64>().map_err(|e| e.to_string())? {
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

/// What a run took.
#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    cpu: f64,
    megabytes: f64,
}

/// CPU time of all processes this one has waited for, user and system, in seconds.
fn children() -> Result<f64, Box<dyn Error>> {
    // Words 16 and 17 of the file; the name of the process, the second, may hold spaces.
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let words = text.rsplit(')').next().ok_or("no end of the name")?.split_whitespace();
    let ticks: Vec<f64> = words.skip(13).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / 100.0)
}

fn run(command: &mut Command) -> Result<Cost, Box<dyn Error>> {
    let (before, start) = (children()?, Instant::now());
    let mut child = command.stdout(Stdio::null()).spawn()?;
    let mut megabytes: f64 = 0.0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
        let status = status.unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse::<f64>().ok());
        megabytes = megabytes.max(peak.unwrap_or(0.0) / 1e3);
        std::thread::sleep(Duration::from_millis(2));
    };
    if !status.success() {
        return Err(format!("{command:?}: {status}").into());
    }
    Ok(Cost { wall: start.elapsed().as_secs_f64(), cpu: children()? - before, megabytes })
}

fn compare(path: &str, k: &str, runs: usize) -> Result<(), Box<dyn Error>> {
    let this = std::env::current_exe()?;
    let dps = this.ancestors().nth(2).ok_or("a target folder")?.join("dps");
    let out = PathBuf::from(format!("{path}.dps"));
    let release = |more: &[&str]| {
        let options = "--adjacency attribute --beta 2 --bound 1 --epsilon 1 --delta 1e-6 --force";
        let mut command = Command::new(&dps);
        command.args(["release", "sketch", path, "-k", k, "--out"]).arg(&out);
        command.args(options.split(' ')).args(more);
        command
    };
    let mut parser = Command::new(&this);
    parser.args(["parse", path]);
    let mut commands = [parser, release(&["--dry-run"]), release(&[])];
    let mut least = [Cost { wall: f64::MAX, cpu: f64::MAX, megabytes: 0.0 }; 3];
    for _ in 0..runs {
        for (least, command) in least.iter_mut().zip(&mut commands) {
            let found = run(command)?;
            least.wall = least.wall.min(found.wall);
            least.cpu = least.cpu.min(found.cpu);
            least.megabytes = least.megabytes.max(found.megabytes);
        }
    }
    std::fs::remove_file(out)?;
    println!("{path}, {:.2} GB, k = {k}", std::fs::metadata(path)?.len() as f64 / 1e9);
    let release = least[2];
    for (name, Cost { wall, cpu, megabytes }) in
        ["the format's crate alone", "the reader of dps alone", "release"].iter().zip(least)
    {
        println!(
            "{name:26} wall {wall:6.2} s (ratio {:.2})  CPU {cpu:6.2} s (ratio {:.2})  {megabytes:4.0} MB",
            wall / release.wall,
            cpu / release.cpu,
        );
    }
    Ok(())
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
        ["compare", path, k] => compare(path, k, 5),
        ["compare", path, k, runs] => compare(path, k, runs.parse()?),
        _ => Err("write FILE ROWS COLUMNS, parse FILE, or compare FILE K [RUNS]".into()),
    }
}
