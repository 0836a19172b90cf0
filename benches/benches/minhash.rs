//! Set sketches: 2,000 sets of mean size 180 into 128 slots, and all-pairs agreement.
//!
//! The first run prints the error of every sketch beside its time. One thread: set
//! `RAYON_NUM_THREADS=1`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dp_core::PublicSeed;
use rand_core::Rng;
use rayon::prelude::*;
use sketch::sets::{
    DenseOnePermutation, FastSimilarity, ItemSet, MinHash, OnePermutation, SetSketch,
    bin_similarity,
};
use std::hint::black_box;

const SETS: usize = 2_000;
const SLOTS: usize = 128;

/// 1,000 pairs of sets of 20 to 1,000 items, log-normal with mean near 180; each pair
/// shares a uniform fraction.
fn sets() -> Vec<ItemSet> {
    let mut rng = PublicSeed::new(6).generator(0);
    let mut unit = move || ((rng.next_u64() >> 11) as f64 + 0.5) * 2f64.powi(-53);
    let mut items = PublicSeed::new(6).generator(1);
    let mut sets = Vec::with_capacity(SETS);
    for _ in 0..SETS / 2 {
        let normal = (-2.0 * unit().ln()).sqrt() * (core::f64::consts::TAU * unit()).cos();
        let size = (4.86 + 0.87 * normal).exp().clamp(20.0, 1000.0) as usize;
        let universe: Vec<u64> = (0..2 * size).map(|_| items.next_u64() >> 33).collect();
        let common = (unit() * size as f64) as usize;
        let first = universe[..size].to_vec();
        let second = [&universe[..common], &universe[size..2 * size - common]].concat();
        sets.push(ItemSet::new(first).expect("not empty"));
        sets.push(ItemSet::new(second).expect("not empty"));
    }
    sets
}

/// Root mean square error and bias over the 1,000 pairs.
fn error(sketch: &impl SetSketch, sets: &[ItemSet]) -> (f64, f64) {
    let m = sketch.sketch(sets);
    let errors: Vec<f64> = (0..SETS)
        .step_by(2)
        .map(|i| {
            let bare = m.scheme().sketch == "one-permutation";
            let found =
                if bare { bin_similarity(m.row(i), m.row(i + 1)) } else { m.agreement(i, i + 1) };
            found - sets[i].jaccard(&sets[i + 1])
        })
        .collect();
    let n = errors.len() as f64;
    ((errors.iter().map(|e| e * e).sum::<f64>() / n).sqrt(), errors.iter().sum::<f64>() / n)
}

fn one<S: SetSketch>(c: &mut Criterion, name: &str, sketch: &S, sets: &[ItemSet]) {
    let (rmse, bias) = error(sketch, sets);
    eprintln!("{name}: RMSE {rmse:.4}, bias {bias:+.4}");
    let mut group = c.benchmark_group(format!("sketch/{name}"));
    group.throughput(Throughput::Elements(SETS as u64));
    group.bench_function(format!("{SETS}/180/{SLOTS}"), |b| {
        b.iter(|| sketch.sketch(black_box(sets)))
    });
    group.finish();
}

fn benches(c: &mut Criterion) {
    let (sets, seed) = (sets(), PublicSeed::new(42));
    let fast = FastSimilarity::new(SLOTS, seed).expect("slots");
    one(c, "fast-similarity", &fast, &sets);
    one(c, "one-permutation-dense", &DenseOnePermutation::new(SLOTS, seed).expect("bins"), &sets);
    one(c, "one-permutation", &OnePermutation::new(SLOTS, seed).expect("bins"), &sets);
    one(c, "minhash", &MinHash::new(SLOTS, seed).expect("slots"), &sets);

    // One product and one minimum an item, once or for every slot.
    let mut group = c.benchmark_group("limits");
    group.throughput(Throughput::Elements(SETS as u64));
    for times in [1, SLOTS] {
        let factors: Vec<u64> = (0..times as u64).map(|i| 2 * i + 0x9e37_79b9_7f4a_7c15).collect();
        let least = |set: &ItemSet, factor: u64| {
            set.items().iter().map(|item| item.wrapping_mul(factor)).min()
        };
        let all = |set: &ItemSet| {
            factors.iter().fold(0, |sum: u64, &f| sum.wrapping_add(least(set, f).unwrap_or(0)))
        };
        group.bench_function(format!("mix/{SETS}/180/{times}"), |b| {
            b.iter(|| sets.par_iter().map(all).reduce(|| 0, u64::wrapping_add));
        });
    }
    group.finish();

    let m = fast.sketch(&sets);
    let mut group = c.benchmark_group("all-pairs");
    group.throughput(Throughput::Elements((SETS * SETS) as u64));
    group.bench_function(format!("{SETS}/{SETS}/{SLOTS}"), |b| {
        b.iter(|| m.all_matches(black_box(&m)))
    });
    group.finish();
}

criterion_group! {
    name = minhash;
    config = Criterion::default().sample_size(20);
    targets = benches
}
criterion_main!(minhash);
