//! Rows a second into a private sliding window, against the cost of the sums of products alone.
//!
//! Limits, blocks of 256 rows in one thread: `triangle` is the lower triangle of the Gram matrix by the fastest product of
//! matrices at hand, `d^2 / 2` multiplications a row; `square` the whole matrix, twice as many. `noise` is that of one
//! block beside it: each block needs `d^2 / 2` exact samples. The others clip, sum in exact integers, add the noise
//! of a block every 256 rows and keep the schedule's own sums. One thread everywhere: `RAYON_NUM_THREADS=1`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dp_core::{Adjacency, Budget, NoiseRng, NormBound};
use faer::linalg::matmul::triangular::{self, BlockStructure};
use linalg_dp::covariance::GaussianCovariance;
use linalg_dp::window::{
    BlockNoise, Keep, Pace, PruneRule, Schedule, StreamConfig, WindowMechanism,
};
use std::hint::black_box;

const ROWS: usize = 2048;
const BLOCK: u64 = 256;

fn rows(d: usize) -> Vec<f64> {
    (0..ROWS * d).map(|i| ((i * 7919 % 1009) as f64 / 504.5 - 1.0) / (d as f64).sqrt()).collect()
}

fn config(d: usize, schedule: Schedule) -> StreamConfig {
    StreamConfig {
        dim: d,
        window: 4 * BLOCK,
        block: BLOCK,
        pace: Pace::Rows,
        adjacency: Adjacency::ZeroRow { bound: NormBound::new(1.0).expect("positive") },
        budget: Budget::new(1.0, 1e-6).expect("valid"),
        schedule,
    }
}

fn window(c: &mut Criterion) {
    let histogram = Keep::Histogram { rho: 0.2, rule: PruneRule::UpdateApprox };
    let schedules = [
        ("block", Schedule::Block { noise: BlockNoise::SymmetricGaussian, keep: Keep::Blocks }),
        ("histogram", Schedule::Block { noise: BlockNoise::SymmetricGaussian, keep: histogram }),
        ("tree", Schedule::Tree { noise: BlockNoise::SymmetricGaussian }),
        ("factorised", Schedule::Factorised { horizon: 1 << 16 }),
    ];
    let mut group = c.benchmark_group("window");
    group.sample_size(10).throughput(Throughput::Elements(ROWS as u64));
    for d in [10usize, 100, 500] {
        let data = rows(d);
        let mut gram = faer::Mat::<f64>::zeros(d, d);
        for (name, lower) in [("triangle", true), ("square", false)] {
            group.bench_function(BenchmarkId::new(name, d), |b| {
                b.iter(|| {
                    for block in data.chunks(BLOCK as usize * d) {
                        let a = faer::MatRef::from_row_major_slice(block, block.len() / d, d);
                        let whole = BlockStructure::Rectangular;
                        let shape = if lower { BlockStructure::TriangularLower } else { whole };
                        let (out, seq) = (gram.as_mut(), faer::Par::Seq);
                        let replace = faer::Accum::Replace;
                        triangular::matmul(
                            out,
                            shape,
                            replace,
                            a.transpose(),
                            whole,
                            a,
                            whole,
                            1.0,
                            seq,
                        );
                    }
                    black_box(&gram);
                });
            });
        }
        let adjacency = config(d, schedules[0].1).adjacency;
        let budget = config(d, schedules[0].1).budget;
        let alone = GaussianCovariance::calibrate(d, adjacency, budget).expect("calibrates");
        let mut rng = NoiseRng::deterministic_not_private(2);
        group.bench_function(BenchmarkId::new("noise", d), |b| {
            b.iter(|| {
                for _ in 0..ROWS as u64 / BLOCK {
                    black_box(alone.release(&[], &mut rng).expect("no rows are rows"));
                }
            });
        });
        for (name, schedule) in schedules {
            let mechanism = WindowMechanism::calibrate(config(d, schedule)).expect("calibrates");
            group.bench_function(BenchmarkId::new(name, d), |b| {
                b.iter_batched(
                    || mechanism.stream(NoiseRng::deterministic_not_private(1)),
                    |mut stream| stream.push(black_box(&data)).expect("accepted"),
                    criterion::BatchSize::LargeInput,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, window);
criterion_main!(benches);
