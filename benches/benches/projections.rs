//! Projections and their private releases: `op/n/d/k`, bytes of input as throughput.
//!
//! Limits: dense matrices are bound by the GEMM rate (2 n d k operations), OPORP and count-sketch
//! by reading the input once, every release by exact noise (n k samples). The group `limits`
//! measures each of the three alone at the same shape: the distance of a release from its limit
//! is its time over the sum of those it cannot avoid.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dp_core::noise::AdditiveNoise;
use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, NormBound, PublicSeed, Shift};
use sketch::projection::{Family, ProjectionSpec, Sampling};
use sketch::rows::{CsrView, RowsView};
use sketch::units::{PrivateUnits, UnitsConfig};
use sketch::vectors::PrivateProjection;
use std::hint::black_box;

const FAMILIES: [Family; 5] = [
    Family::Gaussian,
    Family::Rademacher,
    Family::Srht { sampling: Sampling::WithoutReplacement },
    Family::Oporp,
    Family::VerySparse,
];

fn uniform(i: usize) -> f64 {
    (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as f64 / 2f64.powi(64)
}

fn mechanism(family: Family, d: usize, k: usize) -> PrivateProjection {
    let p = ProjectionSpec::new(family, d, k, PublicSeed::new(1)).unwrap().build();
    let one = EntryBound::new(1.0).unwrap();
    let budget = Budget::new(1.0, 1e-6).unwrap();
    PrivateProjection::gaussian(
        p,
        Adjacency::Attribute { beta: Shift::new(1.0).expect("positive") },
        one,
        budget,
    )
    .unwrap()
}

fn dense(c: &mut Criterion) {
    let (n, d, k) = (60_000, 784, 256);
    let x: Vec<f64> = (0..n * d).map(uniform).collect();
    let rows = RowsView::f64(n, d, &x).unwrap();
    let mut out = vec![0.0; n * k];
    let mut group = c.benchmark_group("dense-f64");
    group.sample_size(10).throughput(Throughput::Bytes((n * d * 8) as u64));
    for family in FAMILIES {
        let m = mechanism(family, d, k);
        let name = m.projection().spec().name();
        let id = |op: &str| BenchmarkId::new(format!("{name}-{op}"), format!("{n}/{d}/{k}"));
        group.bench_function(id("project"), |b| {
            b.iter(|| m.projection().apply(rows, black_box(&mut out)).unwrap());
        });
        group.bench_function(id("release"), |b| {
            let mut rng = NoiseRng::deterministic_not_private(1);
            b.iter(|| black_box(m.release(rows, &mut rng).unwrap()));
        });
    }
    group.finish();
    let narrow: Vec<f32> = x[..n * 128].iter().map(|&v| v as f32).collect();
    let rows = RowsView::f32(n, 128, &narrow).unwrap();
    let m = mechanism(Family::Rademacher, 128, 64);
    let mut group = c.benchmark_group("dense-f32");
    group.sample_size(10).throughput(Throughput::Bytes((n * 128 * 4) as u64));
    group.bench_function(BenchmarkId::new("rademacher-release", format!("{n}/128/64")), |b| {
        let mut rng = NoiseRng::deterministic_not_private(1);
        b.iter(|| black_box(m.release(rows, &mut rng).unwrap()));
    });
    group.finish();
}

fn limits(c: &mut Criterion) {
    let (n, d, k) = (60_000, 784, 256);
    let x: Vec<f64> = (0..n * d).map(uniform).collect();
    let rows = RowsView::f64(n, d, &x).unwrap();
    let mut out = vec![0.0; n * k];
    let mut group = c.benchmark_group("limits");
    group.sample_size(10);
    group.throughput(Throughput::Bytes((n * d * 8) as u64));
    let one = EntryBound::new(1.0).unwrap();
    group.bench_function(format!("read/{n}/{d}"), |b| b.iter(|| rows.check_bound(one).unwrap()));
    let p: Vec<f64> = (0..d * k).map(uniform).collect();
    let p = faer::MatRef::from_row_major_slice(&p, d, k);
    let left = faer::MatRef::from_row_major_slice(&x, n, d);
    group.throughput(Throughput::Elements((2 * n * d * k) as u64));
    group.bench_function(format!("gemm/{n}/{d}/{k}"), |b| {
        b.iter(|| {
            let out = faer::MatMut::from_row_major_slice_mut(black_box(&mut out), n, k);
            let parallel = faer::Par::rayon(0);
            faer::linalg::matmul::matmul(out, faer::Accum::Replace, left, p, 1.0, parallel);
        });
    });
    let noise = mechanism(Family::Oporp, d, k).noise();
    group.throughput(Throughput::Elements((n * k) as u64));
    group.bench_function(format!("noise/{n}/{k}"), |b| {
        let mut rng = NoiseRng::deterministic_not_private(1);
        b.iter(|| noise.add_to(&mut rng, black_box(&mut out)).unwrap());
    });
    group.finish();
}

fn sparse(c: &mut Criterion) {
    // A tenth of the rows of the side-by-side run: the rate an entry is what is compared.
    let (n, d, k, entries) = (1_000, 250_000, 256, 3_700);
    let offsets: Vec<usize> = (0..=n).map(|i| i * entries).collect();
    let columns: Vec<u32> = (0..n)
        .flat_map(|i| (0..entries).map(move |j| (j * 67 + (i * 31 + j * j) % 67) as u32))
        .collect();
    let values: Vec<f64> = (0..n * entries).map(uniform).collect();
    let csr = CsrView { offsets: &offsets, columns: &columns, values: &values };
    let rows = RowsView::csr(n, d, csr).unwrap();
    let mut out = vec![0.0; n * k];
    let mut group = c.benchmark_group("sparse-csr");
    group.sample_size(10).throughput(Throughput::Elements((n * entries) as u64));
    let one = EntryBound::new(1.0).unwrap();
    group.bench_function(format!("read/{n}/{d}"), |b| b.iter(|| rows.check_bound(one).unwrap()));
    for family in [Family::Oporp, Family::SparseJl { nonzeros: 4 }, Family::Rademacher] {
        let p = ProjectionSpec::new(family, d, k, PublicSeed::new(1)).unwrap().build();
        let name = p.spec().name();
        group.bench_function(
            BenchmarkId::new(format!("{name}-project"), format!("{n}/{d}/{k}")),
            |b| {
                b.iter(|| p.apply(rows, black_box(&mut out)).unwrap());
            },
        );
    }
    group.finish();
}

/// Whole rows: unit vectors beside rounded Gaussian noise on the same numbers.
fn whole_rows(c: &mut Criterion) {
    let (n, d) = (100_000, 384);
    let x: Vec<f64> = (0..n * d).map(|i| (uniform(i) - 0.5) / 12.0).collect();
    let rows = RowsView::f64(n, d, &x).unwrap();
    let bound = NormBound::new(1.0).unwrap();
    let adjacency = Adjacency::ReplaceRow { bound };
    let spec = ProjectionSpec::new(Family::Identity, d, d, PublicSeed::new(1)).unwrap();
    let (one, budget) = (EntryBound::new(1.0).unwrap(), Budget::new(8.0, 1e-6).unwrap());
    let gauss = PrivateProjection::gaussian(spec.build(), adjacency, one, budget).unwrap();
    let config = UnitsConfig { projection: spec.build(), adjacency, lengths: None };
    let units = PrivateUnits::new(config, budget).unwrap();
    let mut group = c.benchmark_group("whole-rows");
    group.sample_size(10).throughput(Throughput::Elements((n * d) as u64));
    group.bench_function(BenchmarkId::new("gaussian", format!("{n}/{d}")), |b| {
        let mut rng = NoiseRng::deterministic_not_private(1);
        b.iter(|| black_box(gauss.release(rows, &mut rng).unwrap()));
    });
    group.bench_function(BenchmarkId::new("units", format!("{n}/{d}")), |b| {
        let mut rng = NoiseRng::deterministic_not_private(1);
        b.iter(|| black_box(units.release(rows, &mut rng).unwrap()));
    });
    group.finish();
}

criterion_group!(benches, limits, dense, sparse, whole_rows);
criterion_main!(benches);
