//! One release or search of a stated size: `scale CASE N D K NONZEROS` prints its median time in seconds and the bytes that it needs
//! beside its input. Without arguments the cases, one a line, with the sizes that each depends on.

use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, NormBound, PublicSeed, Shift};
use linalg_dp::covariance::GaussianCovariance;
use rand_core::Rng;
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec, Sampling};
use sketch::rows::CsrView;
use sketch::search::{HammingIndex, Queries, Score, SketchIndex};
use sketch::signs::{FlipRule, PrivateSigns, SignSketch};
use sketch::vectors::PrivateProjection;
use std::hint::black_box;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[derive(Clone, Copy)]
struct Sizes {
    n: usize,
    d: usize,
    k: usize,
    nonzeros: usize,
}

type Case = (&'static str, &'static str, fn(Sizes) -> Outcome<Measured>);

/// Queries of a search.
const ASKED: usize = 1000;
/// Runs of a case, at least, and the time that all take, at least.
const RUNS: usize = 5;
const TIME: Duration = Duration::from_millis(500);

const CASES: [Case; 8] = [
    ("Gaussian projection", "n d k", |sizes| dense(sizes, Family::Gaussian)),
    ("SRHT", "n d k", |sizes| {
        dense(sizes, Family::Srht { sampling: Sampling::WithoutReplacement })
    }),
    ("OPORP", "n d k", |sizes| dense(sizes, Family::Oporp)),
    ("OPORP of sparse rows", "n d k nonzeros", sparse),
    ("signs", "n d k", |sizes| {
        let (values, signs) = (rows(sizes.n, sizes.d), signs(sizes)?);
        let view = RowsView::f64(sizes.n, sizes.d, &values)?;
        measured(|| {
            black_box(signs.release(view, &mut NoiseRng::from_os()?)?);
            Ok(())
        })
    }),
    ("covariance", "n d", |sizes| {
        let person = Adjacency::ReplaceRow { bound: NormBound::new(1.0)? };
        let mechanism = GaussianCovariance::calibrate(sizes.d, person, Budget::new(1.0, 1e-6)?)?;
        let values = rows(sizes.n, sizes.d);
        measured(|| {
            black_box(mechanism.release(&values, &mut NoiseRng::from_os()?)?);
            Ok(())
        })
    }),
    ("Hamming search", "n k", |sizes| {
        let values = rows(sizes.n, sizes.d);
        let view = RowsView::f64(sizes.n, sizes.d, &values)?;
        let release = signs(sizes)?.release(view, &mut NoiseRng::from_os()?)?;
        let (codes, asked) = (release.payload(), asked(sizes.n));
        measured(|| {
            let found = HammingIndex::new(codes)?.top_k(&Queries::rows(codes, &asked)?, 10)?;
            black_box(found);
            Ok(())
        })
    }),
    ("cosine search", "n k", |sizes| {
        let values = rows(sizes.n, sizes.d);
        let view = RowsView::f64(sizes.n, sizes.d, &values)?;
        let release = projected(sizes, Family::Oporp)?.release(view, &mut NoiseRng::from_os()?)?;
        let (items, asked) = (release.payload(), asked(sizes.n));
        measured(|| {
            let queries = Queries::rows(items, &asked)?;
            black_box(SketchIndex::new(items, Score::Cosine)?.top_k(&queries, 10)?);
            Ok(())
        })
    }),
];

fn asked(n: usize) -> Vec<usize> {
    (0..n.min(ASKED)).collect()
}

fn rows(n: usize, d: usize) -> Vec<f64> {
    let mut rng = PublicSeed::new(1).generator(0);
    (0..n * d).map(|_| f64::from(rng.next_u32()) / 2f64.powi(32)).collect()
}

/// One value of one row.
fn one_value() -> Outcome<(Adjacency, EntryBound)> {
    Ok((Adjacency::Attribute { beta: Shift::new(1.0)? }, EntryBound::new(1.0)?))
}

fn projected(Sizes { d, k, .. }: Sizes, family: Family) -> Outcome<PrivateProjection> {
    let (adjacency, one) = one_value()?;
    let projection = ProjectionSpec::new(family, d, k, PublicSeed::new(2))?.build();
    Ok(PrivateProjection::gaussian(projection, adjacency, one, Budget::new(1.0, 1e-6)?)?)
}

fn signs(Sizes { d, k, .. }: Sizes) -> Outcome<PrivateSigns> {
    let (adjacency, one) = one_value()?;
    let sketch = SignSketch::single(Family::Oporp, d, k, PublicSeed::new(2))?;
    Ok(PrivateSigns::new(sketch, FlipRule::OptimalSmooth, adjacency, one, Budget::new(8.0, 0.0)?)?)
}

fn dense(sizes: Sizes, family: Family) -> Outcome<Measured> {
    let (mechanism, values) = (projected(sizes, family)?, rows(sizes.n, sizes.d));
    let view = RowsView::f64(sizes.n, sizes.d, &values)?;
    measured(|| {
        black_box(mechanism.release(view, &mut NoiseRng::from_os()?)?);
        Ok(())
    })
}

fn sparse(sizes: Sizes) -> Outcome<Measured> {
    let Sizes { n, d, nonzeros, .. } = sizes;
    let (mechanism, values) = (projected(sizes, Family::Oporp)?, rows(n, nonzeros));
    let offsets: Vec<usize> = (0..=n).map(|row| row * nonzeros).collect();
    // Evenly over the features, shifted from row to row.
    let step = (d / nonzeros).max(1);
    let columns: Vec<u32> =
        (0..n * nonzeros).map(|at| (at % nonzeros * step + at / nonzeros % step) as u32).collect();
    let parts = CsrView { offsets: &offsets, columns: &columns, values: &values };
    let view = RowsView::csr(n, d, parts)?;
    measured(|| {
        black_box(mechanism.release(view, &mut NoiseRng::from_os()?)?);
        Ok(())
    })
}

/// Median time of a run in seconds, and the bytes that the first one needs.
type Measured = (f64, u64);

fn measured(mut run: impl FnMut() -> Outcome<()>) -> Outcome<Measured> {
    // Forgets the peak so far.
    std::fs::write("/proc/self/clear_refs", "5")?;
    let before = memory("VmRSS:")?;
    run()?;
    let needed = memory("VmHWM:")?.saturating_sub(before);
    let (begin, mut times) = (Instant::now(), Vec::new());
    while times.len() < RUNS || begin.elapsed() < TIME {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok((times[times.len() / 2], needed))
}

/// Bytes, of a line of `/proc/self/status`.
fn memory(name: &str) -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line")?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(1024 * kibibytes)
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, sizes)) = arguments.split_first() else {
        CASES.iter().for_each(|(name, sizes, _)| println!("{name}: {sizes}"));
        return Ok(());
    };
    let sizes: Vec<usize> = sizes.iter().map(|s| s.parse()).collect::<Result<_, _>>()?;
    let [n, d, k, nonzeros] = sizes[..] else {
        return Err("usage: scale CASE N D K NONZEROS".into());
    };
    let found = CASES.iter().find(|(known, ..)| known == name);
    let (.., case) = found.ok_or_else(|| format!("no case is called {name:?}"))?;
    let (seconds, bytes) = case(Sizes { n, d, k, nonzeros })?;
    println!("{seconds} {bytes}");
    Ok(())
}
