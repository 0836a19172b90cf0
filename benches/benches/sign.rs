//! Private signs beside the dense Gaussian private projection of the same rows. Limits:
//! memory bandwidth (OPORP reads every value once), random words a second (flips), GEMM
//! rate (dense projection). Run with `RAYON_NUM_THREADS` 1 and 2.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dp_core::{Adjacency, Bound, Budget, NoiseRng, PublicSeed};
use rand_core::Rng;
use sketch::RowsView;
use sketch::private::PrivateProjection;
use sketch::projection::{Family, ProjectionSpec};
use sketch::sign::{FlipRule, PrivateSigns, SignSketch};
use std::hint::black_box;

const N: usize = 60_000;
const D: usize = 784;
const K: usize = 256;

fn release(c: &mut Criterion) {
    let mut rng = PublicSeed::new(1).generator(0);
    let values: Vec<f64> = (0..N * D).map(|_| f64::from(rng.next_u32()) / 2f64.powi(32)).collect();
    let rows = RowsView::f64(N, D, &values).expect("finite");
    let one = Bound::new(1.0).expect("positive");
    let adjacency = Adjacency::Attribute { beta: one };
    let seed = PublicSeed::new(2);
    let mut noise = NoiseRng::deterministic_not_private(3);
    let mut group = c.benchmark_group("release");
    group.sample_size(10).throughput(Throughput::Elements(N as u64));
    let pure = Budget::new(5.0, 0.0).expect("valid");
    for (rule, t) in [
        (FlipRule::RandomizedResponse, 1),
        (FlipRule::OptimalSmooth, 1),
        (FlipRule::OptimalSmooth, 4),
    ] {
        let sketch = SignSketch::repeated(Family::Oporp, D, K, t, seed).expect("valid");
        let signs = PrivateSigns::new(sketch, rule, adjacency, one, pure).expect("calibrates");
        group.bench_function(format!("sign_oporp_{}_t{t}/{N}/{D}/{K}", rule.name()), |b| {
            b.iter(|| black_box(signs.release(rows, &mut noise).expect("releases")));
        });
    }
    let budget = Budget::new(5.0, 1e-6).expect("valid");
    let dense = ProjectionSpec::new(Family::Gaussian, D, K, seed).expect("valid").build();
    let dense = PrivateProjection::gaussian(dense, adjacency, one, budget).expect("calibrates");
    group.bench_function(format!("dense_gaussian/{N}/{D}/{K}"), |b| {
        b.iter(|| black_box(dense.release(rows, &mut noise).expect("releases")));
    });
    group.finish();
}

criterion_group!(benches, release);
criterion_main!(benches);
