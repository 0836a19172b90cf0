//! Private signs beside the dense Gaussian private projection of the same rows. Limits:
//! memory bandwidth (OPORP reads every value once) and exact flips a second; the group `limits`
//! measures each alone (those of the dense projection are in `projections`). Run with
//! `RAYON_NUM_THREADS` 1 and 2.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dp_core::noise::{Bernoulli, BernoulliTable};
use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, Probability, PublicSeed, Shift};
use rand_core::Rng;
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec};
use sketch::signs::{FlipRule, PrivateSigns, SignSketch};
use sketch::vectors::PrivateProjection;
use std::hint::black_box;

const N: usize = 60_000;
const D: usize = 784;
const K: usize = 256;

fn release(c: &mut Criterion) {
    let mut rng = PublicSeed::new(1).generator(0);
    let values: Vec<f64> = (0..N * D).map(|_| f64::from(rng.next_u32()) / 2f64.powi(32)).collect();
    let rows = RowsView::f64(N, D, &values).expect("finite");
    let one = EntryBound::new(1.0).expect("positive");
    let adjacency = Adjacency::Attribute { beta: Shift::new(1.0).expect("positive") };
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

fn limits(c: &mut Criterion) {
    let values = vec![0.5; N * D];
    let rows = RowsView::f64(N, D, &values).expect("finite");
    let one = EntryBound::new(1.0).expect("positive");
    let mut group = c.benchmark_group("limits");
    group.sample_size(10);
    group.throughput(Throughput::Bytes((N * D * 8) as u64));
    group.bench_function(format!("read/{N}/{D}"), |b| {
        b.iter(|| rows.check_bound(one).expect("inside"));
    });
    let stream = || NoiseRng::deterministic_not_private(1).stream();
    let mut words = vec![0u64; N * K / 64];
    group.throughput(Throughput::Elements((N * K) as u64));
    let flips = Bernoulli::new(Probability::new(0.007).expect("valid"));
    group.bench_function(format!("equal-flips/{N}/{K}"), |b| {
        let mut stream = stream();
        b.iter(|| flips.flip_packed(&mut stream, black_box(&mut words), N * K));
    });
    // Twenty laws in turn, as the levels of smooth flips.
    let laws: Vec<_> =
        (1..=20).map(|l| Probability::new(0.5 / f64::from(l)).expect("valid")).collect();
    let table = BernoulliTable::new(&laws);
    let which: Vec<u16> = (0..N * K).map(|i| (i % 20) as u16).collect();
    group.bench_function(format!("smooth-flips/{N}/{K}"), |b| {
        let mut stream = stream();
        b.iter(|| table.flip_each(&mut stream, black_box(&mut words), &which));
    });
    group.finish();
}

criterion_group!(benches, release, limits);
criterion_main!(benches);
