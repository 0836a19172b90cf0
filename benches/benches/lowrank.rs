//! Low-rank approximation of 2,000 x 20,000, rank 20 plus noise, k = 20 + 10: the private range finder and
//! projection beside the non-private randomised decomposition they replace.
//!
//! Limits: a product of 2.4 GFLOP and one pass over 320 MB, twice with the projection; the group `limits` makes one. One
//! thread: set `RAYON_NUM_THREADS=1`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dp_core::{Budget, FreshSeed, NoiseRng, NormBound, PublicSeed, Shift};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use linalg_dp::low_rank::{
    BasisProjection, Pfp, PfpOptions, PublicBasis, RangeFinder, Setting, Spread, optimal_shape,
    randomized_svd,
};
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec};
use std::hint::black_box;

const M: usize = 2000;
const N: usize = 20_000;
const RANK: usize = 20;
const EXTRA: usize = 10;

/// Rank 20 with falling singular values plus noise of deviation 0.5, as in the peers' script.
fn matrix() -> Vec<f64> {
    let normals = |seed: u64, rows: usize, columns: usize| {
        let law = ProjectionSpec::new(Family::Gaussian, rows, columns, PublicSeed::new(seed))
            .expect("shape")
            .build();
        let mut out = vec![0.0; rows * columns];
        for (i, row) in out.chunks_mut(columns).enumerate() {
            law.row(i, row);
            row.iter_mut().for_each(|x| *x *= (columns as f64).sqrt());
        }
        out
    };
    let (left, right) = (normals(1, M, RANK), normals(2, N, RANK));
    let mut a = normals(3, M, 64).repeat(N.div_ceil(64));
    a.truncate(M * N);
    for (i, row) in a.chunks_mut(N).enumerate() {
        let u: Vec<f64> = (0..RANK)
            .map(|l| left[i * RANK + l] * (20.0 - 18.0 * l as f64 / 19.0) / 60.0)
            .collect();
        for (j, x) in row.iter_mut().enumerate() {
            let v = &right[j * RANK..(j + 1) * RANK];
            *x = 0.5 * *x + u.iter().zip(v).map(|(a, b)| a * b).sum::<f64>();
        }
    }
    a
}

fn benches(c: &mut Criterion) {
    let data = matrix();
    let a = RowsView::f64(M, N, &data).expect("finite");
    let unit = Shift::new(1.0).expect("positive");
    let setting = Setting::new((M, N), RANK, EXTRA, unit, NormBound::new(1e4).expect("positive"))
        .expect("valid setting");
    let budget = Budget::new(1.0, 1e-6).expect("valid budget");
    let mut rng = NoiseRng::deterministic_not_private(1);
    let seed = || FreshSeed::reproducible_not_private(7);
    let finder = RangeFinder::calibrate(setting, budget).expect("calibrates");
    let range = finder.release(&a, seed(), &mut rng).expect("releases");
    let basis = range.payload().basis().expect("full rank");
    let public = PublicBasis::from_range(&range).expect("full rank");
    let id = format!("{M}/{N}/{}", RANK + EXTRA);
    let mut group = c.benchmark_group("lowrank");
    group.sample_size(10).throughput(Throughput::Elements((M * N) as u64));
    group.bench_function(format!("randomized-svd-not-private/{id}"), |b| {
        b.iter(|| randomized_svd(black_box(&a), RANK, EXTRA, 0, PublicSeed::new(7)).expect("runs"))
    });
    group.bench_function(format!("range-finder/{id}"), |b| {
        b.iter(|| finder.release(black_box(&a), seed(), &mut rng).expect("releases"))
    });
    let projection =
        BasisProjection::calibrate(setting, budget, Spread::Isotropic).expect("calibrates");
    group.bench_function(format!("projection/{id}"), |b| {
        b.iter(|| projection.release(black_box(&a), &public, &mut rng).expect("releases"))
    });
    group.bench_function(format!("range-finder-and-projection/{id}"), |b| {
        b.iter(|| {
            let range = finder.release(black_box(&a), seed(), &mut rng).expect("releases");
            let basis = PublicBasis::from_range(&range).expect("full rank");
            projection.release(black_box(&a), &basis, &mut rng).expect("releases")
        })
    });
    let pfp = Pfp::calibrate(setting, budget, PfpOptions::default()).expect("calibrates");
    group.bench_function(format!("pfp/{id}"), |b| {
        b.iter(|| pfp.release(black_box(&a), seed(), &mut rng).expect("releases"))
    });
    group.finish();
    let mut group = c.benchmark_group("limits");
    group.sample_size(10);
    let thin = vec![0.5; N * (RANK + EXTRA)];
    let mut out = Mat::<f64>::zeros(M, RANK + EXTRA);
    group.bench_function(format!("product/{id}"), |b| {
        let wide = MatRef::from_row_major_slice(&data, M, N);
        let thin = MatRef::from_column_major_slice(&thin, N, RANK + EXTRA);
        b.iter(|| matmul(out.as_mut(), Accum::Replace, wide, thin, 1.0, Par::rayon(0)));
    });
    group.finish();
    let mut group = c.benchmark_group("lowrank-small");
    group.sample_size(10);
    group.bench_function(format!("optimal-shape/{M}/{}", RANK + EXTRA), |b| {
        b.iter(|| optimal_shape(black_box(basis.as_ref()), Default::default()).expect("converges"))
    });
    group.bench_function("pfp-calibrate", |b| {
        b.iter(|| Pfp::calibrate(setting, black_box(budget), PfpOptions::default()))
    });
    group.finish();
}

criterion_group!(group, benches);
criterion_main!(group);
