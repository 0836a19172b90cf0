//! Rows a second into a private sliding window, against the cost of the rank-one updates alone.
//!
//! Limit: a row of length d costs `d^2` multiplications to enter a Gram matrix; the `gram` case
//! is that product alone (blocks of 256 rows, one thread), the others add clipping, exact
//! integer sums, the noise of a block every 256 rows and the schedule's own sums.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dp_core::{Adjacency, Budget, NoiseRng, NormBound};
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
        group.bench_function(BenchmarkId::new("gram", d), |b| {
            b.iter(|| {
                for block in data.chunks(BLOCK as usize * d) {
                    let a = faer::MatRef::from_row_major_slice(block, block.len() / d, d);
                    let mut gram = faer::Mat::<f64>::zeros(d, d);
                    faer::linalg::matmul::matmul(
                        gram.as_mut(),
                        faer::Accum::Replace,
                        a.transpose(),
                        a,
                        1.0,
                        faer::Par::Seq,
                    );
                    black_box(gram);
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
