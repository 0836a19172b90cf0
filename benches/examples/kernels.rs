//! Small fixed pieces of work whose instructions `cargo xtask bench --instructions` counts: `kernels NAME TIMES`; without arguments
//! the names, one a line.

use dp_core::noise::{AdditiveNoise, BernoulliTable, Grid};
use dp_core::{
    Adjacency, Budget, EntryBound, LaplaceScale, NoiseRng, NoiseScale, NormBound, Probability,
    PublicSeed, Shift, authority,
};
use linalg_dp::covariance::{
    CovarianceMechanism, GaussianCovariance, WishartCovariance, WishartShape,
};
use rand_core::Rng;
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec, Sampling};
use sketch::search::{HammingIndex, Queries, Score, SketchIndex};
use sketch::sets::{FastSimilarity, ItemSet, MinHash, SetSketch};
use sketch::signs::{FlipRule, PrivateSigns, SignSketch};
use sketch::vectors::{Element, PrivateProjection};
use std::hint::black_box;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

type Kernel = (&'static str, fn() -> Outcome<()>);

const N: usize = 512;
const D: usize = 128;
const K: usize = 64;

fn rows(n: usize, d: usize) -> Vec<f64> {
    let mut rng = PublicSeed::new(1).generator(0);
    (0..n * d).map(|_| f64::from(rng.next_u32()) / 2f64.powi(32) / d as f64).collect()
}

fn noise() -> NoiseRng {
    NoiseRng::deterministic_not_private(3)
}

fn any_value() -> Outcome<(Adjacency, EntryBound)> {
    Ok((Adjacency::Attribute { beta: Shift::new(2.0)? }, EntryBound::new(1.0)?))
}

fn projection(family: Family) -> Outcome<PrivateProjection> {
    let (adjacency, one) = any_value()?;
    let projection = ProjectionSpec::new(family, D, K, PublicSeed::new(2))?.build();
    Ok(PrivateProjection::gaussian(projection, adjacency, one, Budget::new(1.0, 1e-6)?)?)
}

fn released(family: Family) -> Outcome<()> {
    let values = rows(N, D);
    black_box(projection(family)?.release(RowsView::f64(N, D, &values)?, &mut noise())?);
    Ok(())
}

fn covariance(mechanism: &dyn CovarianceMechanism) -> Outcome<()> {
    black_box(mechanism.release(&rows(N, 64), &mut noise())?);
    Ok(())
}

fn covered() -> Outcome<(Adjacency, Budget)> {
    Ok((Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? }, Budget::new(1.0, 1e-6)?))
}

fn sketched(sketch: &impl SetSketch) -> Outcome<()> {
    let sets: Result<Vec<_>, _> =
        (0..64u64).map(|s| ItemSet::new((0..180).map(|i| s * 90 + i).collect())).collect();
    black_box(sketch.sketch(&sets?));
    Ok(())
}

fn signs() -> Outcome<PrivateSigns> {
    let (adjacency, one) = any_value()?;
    let sketch = SignSketch::repeated(Family::Oporp, D, 256, 4, PublicSeed::new(2))?;
    Ok(PrivateSigns::new(sketch, FlipRule::OptimalSmooth, adjacency, one, Budget::new(8.0, 0.0)?)?)
}

const KERNELS: [Kernel; 14] = [
    ("gaussian noise", || {
        let law = authority!().gaussian(NoiseScale::new(1.7)?, Grid::new(-30)?)?;
        Ok(law.add_block(&mut noise().stream(), black_box(&mut vec![0.0; 1 << 15]))?)
    }),
    ("laplace noise", || {
        let law = authority!().laplace(LaplaceScale::new(1.7)?, Grid::new(-30)?)?;
        Ok(law.add_block(&mut noise().stream(), black_box(&mut vec![0.0; 1 << 15]))?)
    }),
    ("bit flips", || {
        let levels: Result<Vec<_>, _> =
            (1..9).map(|i| Probability::new(f64::from(i) / 17.0)).collect();
        let which: Vec<u16> = (0..1 << 14).map(|i| i % 8).collect();
        let mut words = vec![0; which.len() / 64];
        BernoulliTable::new(&levels?).flip_each(&mut noise().stream(), &mut words, &which);
        black_box(words);
        Ok(())
    }),
    ("gaussian projection", || released(Family::Gaussian)),
    ("srht projection", || released(Family::Srht { sampling: Sampling::WithoutReplacement })),
    ("oporp projection", || released(Family::Oporp)),
    ("signs", || {
        black_box(signs()?.release(RowsView::f64(N, D, &rows(N, D))?, &mut noise())?);
        Ok(())
    }),
    ("hamming search", || {
        let release = signs()?.release(RowsView::f64(N, D, &rows(N, D))?, &mut noise())?;
        let codes = release.payload();
        black_box(HammingIndex::new(codes)?.top_k(&Queries::all(codes), 10)?);
        Ok(())
    }),
    ("cosine search", || {
        let release =
            projection(Family::Oporp)?.release(RowsView::f64(N, D, &rows(N, D))?, &mut noise())?;
        let items = release.payload();
        black_box(SketchIndex::new(items, Score::Cosine)?.top_k(&Queries::all(items), 10)?);
        Ok(())
    }),
    ("compact file", || {
        let release =
            projection(Family::Oporp)?.release(RowsView::f64(N, D, &rows(N, D))?, &mut noise())?;
        black_box(dp_core::release_file::encode_as(&release, Element::Compact.kind())?);
        Ok(())
    }),
    ("gaussian covariance", || {
        let (adjacency, budget) = covered()?;
        covariance(&GaussianCovariance::calibrate(64, adjacency, budget)?)
    }),
    ("wishart covariance", || {
        let (adjacency, budget) = covered()?;
        let shape = WishartShape::LeastSpectralNorm;
        covariance(&WishartCovariance::calibrate(64, adjacency, budget, shape)?)
    }),
    ("minhash", || sketched(&MinHash::new(128, PublicSeed::new(4))?)),
    ("fast similarity sketch", || sketched(&FastSimilarity::new(128, PublicSeed::new(4))?)),
];

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, times] = arguments.as_slice() else {
        KERNELS.iter().for_each(|(name, _)| println!("{name}"));
        return Ok(());
    };
    let found = KERNELS.iter().find(|(known, _)| known == name);
    let (_, kernel) = found.ok_or_else(|| format!("no kernel is called {name:?}"))?;
    (0..times.parse::<u32>()?).try_for_each(|_| kernel())
}
