//! Search on handwritten digits when one pixel is protected (beta 1, delta 0): random bins, squares of pixels, and
//! groups from a public sample; Laplace and staircase noise. Prints the share of the first ten answers that are
//! among the fifty nearest by the exact cosine: mean and standard error over repetitions.
//!
//! `cargo run --release -p sketch --example groups -- train-images-idx3-ubyte 5`
//!
//! Of each shuffle of the first 5,000 pictures 1,000 are queries, 3,000 the database, 1,000 the public sample: rows that
//! are set aside, and whose privacy is given up.

use dp_core::mechanism::Mechanism;
use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, PublicSeed, Shift};
use rand_core::Rng;
use sketch::RowsView;
use sketch::projection::{Family, Groups, ProjectionSpec, PublicMoments};
use sketch::search::{Neighbours, Queries, Score, SketchIndex};
use sketch::vectors::{NoiseKind, Posterior, PrivateProjection, PrivateSketch, ProjectionConfig};
use std::collections::BTreeMap;
use std::error::Error;

const PIXELS: usize = 784;
const QUERIES: usize = 1000;
const DATABASE: usize = 3000;

type Run<T> = Result<T, Box<dyn Error>>;
/// Method and epsilon to precisions.
type Table = BTreeMap<(String, String), Vec<f64>>;

fn main() -> Run<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("the path of an IDX file of 28 x 28 pictures is missing")?;
    let repetitions: u64 = arguments.next().map_or(Ok(5), |n| n.parse())?;
    let bytes = std::fs::read(path)?;
    let pictures: Vec<f64> =
        bytes.get(16..).ok_or("no IDX file")?.iter().map(|&b| f64::from(b) / 255.0).collect();
    let mut table = Table::new();
    for repetition in 0..repetitions {
        run(&pictures[..5000 * PIXELS], repetition, &mut table)?;
    }
    for ((method, epsilon), found) in table {
        let n = found.len() as f64;
        let mean = found.iter().sum::<f64>() / n;
        let square: f64 = found.iter().map(|x| (x - mean).powi(2)).sum();
        println!(
            "{method:44} epsilon {epsilon:4} {mean:.3} +- {:.3}",
            (square / (n - 1.0) / n).sqrt()
        );
    }
    Ok(())
}

/// Queries and database as they are, released and searched in every way.
fn run(pictures: &[f64], repetition: u64, table: &mut Table) -> Run<()> {
    let mut bits = PublicSeed::new(1000 + repetition).generator(0);
    let mut order: Vec<usize> = (0..5000).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, (bits.next_u64() % (i as u64 + 1)) as usize);
    }
    let take = |of: &[usize]| -> Vec<f64> {
        of.iter().flat_map(|i| &pictures[i * PIXELS..][..PIXELS]).copied().collect()
    };
    let queries = take(&order[..QUERIES]);
    let database = take(&order[QUERIES..QUERIES + DATABASE]);
    let sample = take(&order[QUERIES + DATABASE..]);
    let moments = PublicMoments::of_sample(RowsView::f64(1000, PIXELS, &sample)?)?;
    let plain = ProjectionSpec::new(Family::Identity, PIXELS, PIXELS, PublicSeed::new(0))?.build();
    let exact = |x: &[f64]| -> Run<PrivateSketch> {
        Ok(PrivateSketch::exact(&*plain, RowsView::f64(x.len() / PIXELS, PIXELS, x)?)?)
    };
    let (exact_queries, exact_database) = (exact(&queries)?, exact(&database)?);
    let index = SketchIndex::new(&exact_database, Score::Cosine)?;
    let truth = index.top_k(&Queries::all(&exact_queries), 50)?;
    let mut rng = NoiseRng::deterministic_not_private(repetition);
    for (epsilon, sizes) in [(0.5, [8, 16, 32]), (1.0, [16, 32, 64]), (2.0, [64, 128, 256])] {
        let budget = Budget::new(epsilon, 0.0)?;
        for (noise, name) in [(NoiseKind::Laplace, "Laplace"), (NoiseKind::Staircase, "staircase")]
        {
            let mut put = |method: String, found: &Neighbours<f64>| {
                let key = (format!("{method}, {name}"), format!("{epsilon}"));
                table.entry(key).or_default().push(precision(found, &truth));
            };
            let mut release = |spec: ProjectionSpec| -> Run<[PrivateSketch; 2]> {
                let made = PrivateProjection::calibrate(config(spec, noise)?, budget)?;
                let mut of = |x: &[f64]| -> Run<PrivateSketch> {
                    let rows = RowsView::f64(x.len() / PIXELS, PIXELS, x)?;
                    Ok(made.release(rows, &mut rng)?.into_parts().0)
                };
                Ok([of(&queries)?, of(&database)?])
            };
            for k in sizes {
                let seed = PublicSeed::new(repetition);
                let [q, d] = release(ProjectionSpec::new(Family::Oporp, PIXELS, k, seed)?)?;
                let index = SketchIndex::new(&d, Score::Cosine)?;
                put(format!("random bins, k {k}"), &index.top_k(&Queries::all(&q), 10)?);
            }
            let [q, d] = release(Groups::grid((28, 28), 4)?.spec())?;
            let all = Queries::all(&q);
            let index = SketchIndex::new(&d, Score::Cosine)?;
            put("squares of 4 x 4".into(), &index.top_k(&all, 10)?);
            let index = SketchIndex::denoised(&d, Score::Cosine)?;
            put("squares of 4 x 4, denoised".into(), &index.top_k(&all, 10)?);
            let groups = Groups::of(&moments, d.noise_variance())?;
            let [q, d] = release(groups.spec())?;
            let posterior = Posterior::new(groups, &moments)?;
            let all = Queries::all(&q);
            let index = SketchIndex::new(&d, Score::Cosine)?;
            put("groups of a public sample".into(), &index.top_k(&all, 10)?);
            let index = SketchIndex::posterior(&d, &posterior, Score::Cosine)?;
            put("groups of a public sample, posterior".into(), &index.top_k(&all, 10)?);
        }
    }
    Ok(())
}

fn config(spec: ProjectionSpec, noise: NoiseKind) -> Run<ProjectionConfig> {
    let adjacency = Adjacency::Attribute { beta: Shift::new(1.0)? };
    Ok(ProjectionConfig {
        projection: spec.build(),
        adjacency,
        bound: EntryBound::new(1.0)?,
        noise,
    })
}

/// The share of the first ten answers that are among the nearest.
fn precision(found: &Neighbours<f64>, truth: &Neighbours<f64>) -> f64 {
    let hits =
        |q: usize| found.indices(q)[..10].iter().filter(|i| truth.indices(q).contains(i)).count();
    (0..QUERIES).map(hits).sum::<usize>() as f64 / (10 * QUERIES) as f64
}
