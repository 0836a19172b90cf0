//! How long a release and a search take without Python: what `tools/python/speed.py` compares with.
//!
//! `timed n d k repetitions` prints the least seconds of a release from f64 rows and of a search of 100 rows.

use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, PublicSeed, Shift};
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec};
use sketch::search::{Queries, Score, SketchIndex};
use sketch::vectors::PrivateProjection;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<usize> =
        std::env::args().skip(1).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let &[n, d, k, repetitions] = &numbers[..] else { return Err("n d k repetitions".into()) };
    let rows: Vec<f64> = (0..n * d).map(|i| ((i * 7919) % 2003) as f64 / 1001.0 - 1.0).collect();
    let projection = ProjectionSpec::new(Family::Oporp, d, k, PublicSeed::new(7))?.build();
    let one_value = Adjacency::Attribute { beta: Shift::new(1.0)? };
    let (bound, budget) = (EntryBound::new(1.0)?, Budget::new(8.0, 1e-6)?);
    let mechanism = PrivateProjection::gaussian(projection, one_value, bound, budget)?;
    let (mut releases, mut searches) = (f64::INFINITY, f64::INFINITY);
    let queries: Vec<usize> = (0..100.min(n)).collect();
    for _ in 0..repetitions {
        let start = Instant::now();
        let view = RowsView::f64(n, d, &rows)?;
        let release = mechanism.release(view, &mut NoiseRng::from_os()?)?;
        releases = releases.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let index = SketchIndex::new(release.payload(), Score::Cosine)?;
        index.top_k(&Queries::rows(release.payload(), &queries)?, 10)?;
        searches = searches.min(start.elapsed().as_secs_f64());
    }
    println!("{releases} {searches}");
    Ok(())
}
