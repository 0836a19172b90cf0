//! Rows become a private sketch that anyone may search: nobody can tell one value of one row.

use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, Probability, PublicSeed, Shift};
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec};
use sketch::search::{Queries, Score, SketchIndex};
use sketch::vectors::{Pairs, PrivateProjection};

pub(crate) fn main() -> sketch::Result<()> {
    // 40 rows of 16 values in [0, 1]; every tenth is nearly the same.
    let (n, d, k) = (40, 16, 8);
    let rows: Vec<f64> = (0..n * d).map(|i| f64::from(i / d % 10 == i % d)).collect();

    // One value of one row may become any other: it moves by at most 1.
    let (one, adjacency) = (EntryBound::new(1.0)?, Adjacency::Attribute { beta: Shift::new(1.0)? });
    let projection = ProjectionSpec::new(Family::Oporp, d as usize, k, PublicSeed::new(7))?.build();
    let budget = Budget::new(8.0, 1e-6)?;
    let mechanism = PrivateProjection::gaussian(projection, adjacency, one, budget)?;
    let rows = RowsView::f64(n as usize, d as usize, &rows)?;
    let release = mechanism.release(rows, &mut NoiseRng::from_os()?)?;

    // Whoever gets the release checks it, and answers from it alone.
    sketch::verify(&release)?;
    let pairs = Pairs::within(&release);
    let far = pairs.squared_distance(0, 1)?;
    let inside = pairs.squared_distance_interval(0, 1, Probability::new(0.95)?)?;
    let index = SketchIndex::new(release.payload(), Score::Cosine)?;
    let nearest = index.top_k(&Queries::rows(release.payload(), &[0])?, 3)?;
    println!("row 0 to row 1: {} +- {}, in {inside:?}", far.value, far.standard_error);
    println!("nearest to row 0: {:?}", nearest.indices(0));
    Ok(())
}
