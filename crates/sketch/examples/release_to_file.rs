//! Releases many f32 rows from one file to another in bounded memory, and prints rate and peak memory.
//!
//! `cargo run --release -p sketch --example release_to_file -- [rows] [output] [input] [k]`
//!
//! The input holds rows of 128 little-endian f32; where it does not exist it is written first, with
//! synthetic numbers in [0, 1).

use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, PublicSeed, Shift};
use sketch::projection::{Family, ProjectionSpec};
use sketch::rows::RowsView;
use sketch::vectors::PrivateProjection;
use sketch::vectors::{Element, ReleaseWriter};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::time::Instant;

const D: usize = 128;
const BATCH: usize = 8192;

fn write_synthetic(path: &Path, n: usize) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    let mut state = 1u64;
    for first in (0..n).step_by(BATCH) {
        let count = BATCH.min(n - first) * D;
        let bytes: Vec<u8> = (0..count)
            .flat_map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                ((state >> 40) as f32 / (1u32 << 24) as f32).to_le_bytes()
            })
            .collect();
        file.write_all(&bytes)?;
    }
    file.sync_all()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let n: usize = arguments.next().map_or(Ok(1_000_000), |a| a.parse())?;
    let output = arguments.next().unwrap_or_else(|| "synthetic.release".into());
    let input = arguments.next().unwrap_or_else(|| "synthetic.f32".into());
    let k: usize = arguments.next().map_or(Ok(32), |a| a.parse())?;
    if !Path::new(&input).exists() {
        write_synthetic(input.as_ref(), n)?;
    }

    let projection = ProjectionSpec::new(Family::Rademacher, D, k, PublicSeed::new(1))?.build();
    // Protected is one value of one row, not the row: entries are at most 1 in absolute value, so a value
    // that becomes any other changes by at most 2.
    let adjacency = Adjacency::Attribute { beta: Shift::new(2.0)? };
    let budget = Budget::new(1.0, 1e-6)?;
    let mechanism =
        PrivateProjection::gaussian(projection, adjacency, EntryBound::new(1.0)?, budget)?;

    let mut rng = NoiseRng::from_os()?;
    let begin = Instant::now();
    let mut file = File::open(&input)?;
    let mut writer = ReleaseWriter::create(&output, &mechanism, Element::F32, &mut rng)?;
    let (mut bytes, mut rows) = (vec![0u8; BATCH * D * 4], vec![0f32; BATCH * D]);
    let (mut left, mut reading) = (n, 0.0);
    while left > 0 {
        let take = left.min(BATCH);
        let start = Instant::now();
        file.read_exact(&mut bytes[..take * D * 4])?;
        reading += start.elapsed().as_secs_f64();
        for (v, b) in rows.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *v = f32::from_le_bytes(*b);
        }
        writer.push(RowsView::f32(take, D, &rows[..take * D])?)?;
        left -= take;
    }
    let written = writer.finish()?;
    let seconds = begin.elapsed().as_secs_f64();
    let rate = |work: usize| work as f64 / seconds;
    println!("{} rows in {seconds:.2} s: {:.0} rows/s", written.rows, rate(n));
    println!("{:.0} MB/s in ({reading:.2} s of it waiting for the input)", rate(n * D * 4) / 1e6);
    println!("{:.1} GFLOP/s of products, noise and files included", rate(2 * n * D * k) / 1e9);
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        status.lines().filter(|l| l.starts_with("VmHWM")).for_each(|l| println!("{l}"));
    }
    Ok(())
}
