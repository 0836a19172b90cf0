//! The Rust side of `python/bench/speed.py`: one task a line on standard input, its seconds on standard output.

use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, NormBound, PublicSeed, Shift};
use linalg_dp::covariance::GaussianCovariance;
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec};
use sketch::search::{HammingIndex, Queries, Score, SketchIndex};
use sketch::signs::{FlipRule, PrivateSigns, SignSketch};
use sketch::vectors::PrivateProjection;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;

type Result<T> = core::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let sizes: Vec<usize> =
        std::env::args().skip(1).map(|a| a.parse()).collect::<core::result::Result<_, _>>()?;
    let [n, d, k] = sizes[..] else {
        return Err("usage: python_twin ROWS FEATURES NUMBERS".into());
    };
    let values: Vec<f64> = (0..n * d).map(|i| (i % 509) as f64 / 508.0 - 0.5).collect();
    // Whoever has numbers makes a view of them first, which finds those that are not finite.
    let rows = || RowsView::f64(n, d, &values);
    let (one, budget) = (EntryBound::new(1.0)?, Budget::new(8.0, 1e-6)?);
    let attribute = Adjacency::Attribute { beta: Shift::new(1.0)? };
    let projection = |family| -> Result<_> {
        let projection = ProjectionSpec::new(family, d, k, PublicSeed::new(3))?.build();
        Ok(PrivateProjection::gaussian(projection, attribute, one, budget)?)
    };
    let (oporp, gaussian) = (projection(Family::Oporp)?, projection(Family::Gaussian)?);
    let sketch = SignSketch::single(Family::Oporp, d, k, PublicSeed::new(3))?;
    let pure = Budget::new(8.0, 0.0)?;
    let signs = PrivateSigns::new(sketch, FlipRule::OptimalSmooth, attribute, one, pure)?;
    let person = Adjacency::ReplaceRow { bound: NormBound::new(100.0)? };
    let covariance = GaussianCovariance::calibrate(d, person, budget)?;
    let mut rng = NoiseRng::from_os()?;
    let (vectors, bits) = (oporp.release(rows()?, &mut rng)?, signs.release(rows()?, &mut rng)?);
    let asked: Vec<usize> = (0..n.min(500)).collect();
    let mut answers = std::io::stdout().lock();
    for task in std::io::stdin().lock().lines() {
        let begin = Instant::now();
        match task?.as_str() {
            "oporp" => drop(black_box(oporp.release(rows()?, &mut NoiseRng::from_os()?)?)),
            "gaussian" => drop(black_box(gaussian.release(rows()?, &mut NoiseRng::from_os()?)?)),
            "signs" => drop(black_box(signs.release(rows()?, &mut NoiseRng::from_os()?)?)),
            "covariance" => {
                drop(black_box(covariance.release(&values, &mut NoiseRng::from_os()?)?));
            }
            "search" => {
                let index = SketchIndex::new(vectors.payload(), Score::Cosine)?;
                let queries = Queries::rows(vectors.payload(), &asked)?;
                drop(black_box(index.top_k(&queries, 10)?));
            }
            "hamming" => {
                let index = HammingIndex::new(bits.payload())?;
                drop(black_box(index.top_k(&Queries::rows(bits.payload(), &asked)?, 10)?));
            }
            other => return Err(format!("no task is called {other:?}").into()),
        }
        writeln!(answers, "{}", begin.elapsed().as_secs_f64())?;
        answers.flush()?;
    }
    Ok(())
}
