//! Releases many synthetic f32 rows to a file in bounded memory, and prints rate and peak memory.
//!
//! `cargo run --release -p sketch --example release_to_file -- [rows] [path]`

use dp_core::{Adjacency, Bound, Budget, NoiseRng, PublicSeed};
use sketch::private::PrivateProjection;
use sketch::projection::{Family, ProjectionSpec};
use sketch::release_file::{Element, ReleaseWriter};
use sketch::rows::RowsView;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let n: usize = arguments.next().map_or(Ok(1_000_000), |a| a.parse())?;
    let path = arguments.next().unwrap_or_else(|| "synthetic.release".into());
    let (d, k, batch) = (128, 64, 8192);

    let projection = ProjectionSpec::new(Family::Rademacher, d, k, PublicSeed::new(1))?.build();
    let adjacency = Adjacency::Attribute { beta: Bound::new(1.0)? };
    let budget = Budget::new(1.0, 1e-6)?;
    let mechanism = PrivateProjection::gaussian(projection, adjacency, Bound::new(1.0)?, budget)?;

    let mut rng = NoiseRng::from_os()?;
    let mut writer = ReleaseWriter::create(path.as_ref(), &mechanism, Element::F32, &mut rng)?;
    let mut rows = vec![0f32; batch * d];
    let (begin, mut state) = (Instant::now(), 1u64);
    let mut left = n;
    while left > 0 {
        for v in &mut rows {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *v = (state >> 40) as f32 / (1u32 << 24) as f32;
        }
        let take = left.min(batch);
        writer.push(RowsView::f32(take, d, &rows[..take * d])?)?;
        left -= take;
    }
    let written = writer.finish()?;
    let seconds = begin.elapsed().as_secs_f64();
    println!("{} rows in {seconds:.2} s: {:.0} rows/s", written.rows, n as f64 / seconds);
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        status.lines().filter(|l| l.starts_with("VmHWM")).for_each(|l| println!("{l}"));
    }
    Ok(())
}
