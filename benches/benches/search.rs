//! Exhaustive search over releases. Limits: popcounts a second (Hamming: four words a pair at 256
//! bits), GEMM rate (inner product); the group `limits` counts, or multiplies, the same and keeps
//! nothing. Run with `RAYON_NUM_THREADS` 1 and 2.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dp_core::PublicSeed;
use dp_core::noise::NoiseLaw;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rand_core::Rng;
use rayon::prelude::*;
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec};
use sketch::search::{HammingIndex, Queries, Score, SketchIndex};
use sketch::signs::{SignCodes, SignSketch};
use sketch::vectors::PrivateSketch;
use std::hint::black_box;

const ITEMS: usize = 60_000;
const QUERIES: usize = 10_000;
const TOP: usize = 50;

/// Signs of random rows: one row's attribute a bit, so all bits are independent coins.
fn codes(n: usize, bits: usize, stream: u64) -> SignCodes {
    let values = vectors(n, bits, 2 + stream);
    let rows = RowsView::f32(n, bits, &values).expect("finite");
    let seed = PublicSeed::new(9);
    let sketch = SignSketch::single(Family::Oporp, bits, bits, seed).expect("valid");
    sketch.simhash(rows).expect("signs").payload().clone()
}

fn vectors(n: usize, dim: usize, stream: u64) -> Vec<f32> {
    let mut rng = PublicSeed::new(10).generator(stream);
    (0..n * dim).map(|_| (rng.next_u32() as i32) as f32 / 2f32.powi(31)).collect()
}

fn hamming(c: &mut Criterion) {
    let mut group = c.benchmark_group("hamming_top50");
    group.sample_size(10);
    for bits in [256, 512] {
        let index = HammingIndex::new(&codes(ITEMS, bits, 0)).expect("fits");
        for n in [1, QUERIES] {
            let queries = codes(n, bits, 1);
            group.throughput(Throughput::Elements(n as u64));
            group.bench_function(format!("{n}x{ITEMS}/{bits}"), |b| {
                b.iter(|| black_box(index.top_k(&Queries::all(&queries), TOP).expect("valid")));
            });
        }
    }
    group.finish();
}

fn inner_product(c: &mut Criterion) {
    let mut group = c.benchmark_group("inner_product_top50");
    group.sample_size(10);
    let plain = |values: Vec<f32>| {
        let spec = ProjectionSpec::new(Family::Identity, 256, 256, PublicSeed::new(0));
        let values = values.into_iter().map(f64::from).collect();
        PrivateSketch::new(spec.expect("valid"), NoiseLaw::None, values).expect("finite")
    };
    let (items, queries) = (plain(vectors(ITEMS, 256, 0)), plain(vectors(QUERIES, 256, 1)));
    let index = SketchIndex::rounded(&items, Score::InnerProduct).expect("valid");
    group.throughput(Throughput::Elements(QUERIES as u64));
    group.bench_function(format!("{QUERIES}x{ITEMS}/256"), |b| {
        b.iter(|| black_box(index.top_k(&Queries::all(&queries), TOP).expect("valid")));
    });
    group.finish();
}

fn limits(c: &mut Criterion) {
    const DIM: usize = 256;
    // Blocks of products that stay in the cache.
    const BLOCK: (usize, usize) = (256, 2048);
    let (items, queries) = (vectors(ITEMS, DIM, 0), vectors(QUERIES, DIM, 1));
    let mut out = vec![0.0f32; BLOCK.0 * BLOCK.1];
    let mut group = c.benchmark_group("limits");
    group.sample_size(10).throughput(Throughput::Elements(QUERIES as u64));
    group.bench_function(format!("gemm/{QUERIES}x{ITEMS}/{DIM}"), |b| {
        b.iter(|| {
            for queries in queries.chunks(BLOCK.0 * DIM) {
                for items in items.chunks(BLOCK.1 * DIM) {
                    let (m, n) = (queries.len() / DIM, items.len() / DIM);
                    let left = MatRef::from_row_major_slice(queries, m, DIM);
                    let right = MatRef::from_row_major_slice(items, n, DIM).transpose();
                    let out = MatMut::from_row_major_slice_mut(&mut out[..m * n], m, n);
                    matmul(out, Accum::Replace, left, right, 1.0, Par::rayon(0));
                }
                black_box(&mut out);
            }
        });
    });
    let words = |n: usize, stream: u64| {
        let mut rng = PublicSeed::new(11).generator(stream);
        (0..n).map(|_| [(); DIM / 64].map(|()| rng.next_u64())).collect::<Vec<_>>()
    };
    let items = words(ITEMS, 0);
    for n in [1, QUERIES] {
        let queries = words(n, 1);
        group.throughput(Throughput::Elements(n as u64));
        group.bench_function(format!("popcount/{n}x{ITEMS}/{DIM}"), |b| {
            b.iter(|| queries.par_iter().map(|query| differing(query, &items)).sum::<u64>());
        });
    }
    group.finish();
}

/// Bits in which a query and all items differ.
fn differing<const WORDS: usize>(query: &[u64; WORDS], items: &[[u64; WORDS]]) -> u64 {
    let differ = |item: &[u64; WORDS]| -> u64 {
        item.iter().zip(query).map(|(a, b)| u64::from((a ^ b).count_ones())).sum()
    };
    pulp::Arch::new().dispatch(|| items.iter().map(differ).sum())
}

criterion_group!(benches, hamming, inner_product, limits);
criterion_main!(benches);
