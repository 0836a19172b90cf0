//! Noise: samples and bits a second, with the ChaCha stream beneath them as the floor.
#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dp_core::authority;
use dp_core::noise::{
    AdditiveNoise, Bernoulli, BernoulliTable, DiscreteGaussian, Grid, KaryResponse, NoiseRng,
    StaircaseScale,
};
use dp_core::{Epsilon, L1Sensitivity, LaplaceScale, NoiseScale, Probability};
use rand_core::Rng;
use std::hint::black_box;

const N: usize = 1 << 16;

fn stream() -> dp_core::noise::NoiseStream {
    NoiseRng::deterministic_not_private(1).stream()
}

fn real(c: &mut Criterion) {
    let mut group = c.benchmark_group("noise");
    group.throughput(Throughput::Elements(N as u64));
    let scale = NoiseScale::new(1.7).unwrap();
    let grid = Grid::new(-30).unwrap();
    let (gaussian, laplace) = (
        authority!().gaussian(scale, grid).unwrap(),
        authority!().laplace(LaplaceScale::new(scale.get()).unwrap(), grid).unwrap(),
    );
    let (mut out, mut s) = (vec![0.0; N], stream());
    let mut bytes = vec![0u8; 8 * N];
    group.bench_function(format!("chacha12-floor/{N}"), |b| b.iter(|| s.fill_bytes(&mut bytes)));
    group.bench_function(format!("gaussian/{N}"), |b| {
        b.iter(|| gaussian.add_block(&mut s, black_box(&mut out)))
    });
    group.bench_function(format!("laplace/{N}"), |b| {
        b.iter(|| laplace.add_block(&mut s, black_box(&mut out)))
    });
    for epsilon in [0.05, 1.0, 5.0] {
        let epsilon = Epsilon::new(epsilon).unwrap();
        let one = L1Sensitivity::new(1.7).unwrap();
        let scale = StaircaseScale::new(epsilon, one).unwrap();
        let staircase = authority!().staircase(scale, grid).unwrap();
        group.bench_function(format!("staircase/{N}/{epsilon}"), |b| {
            b.iter(|| staircase.add_block(&mut s, black_box(&mut out)))
        });
    }
    // So fine a grid that every second sample needs exact arithmetic.
    let exact =
        authority!().gaussian(NoiseScale::new(1.0).unwrap(), Grid::new(-46).unwrap()).unwrap();
    group.throughput(Throughput::Elements(1024));
    group.bench_function("gaussian-half-exact/1024", |b| {
        b.iter(|| exact.add_block(&mut s, black_box(&mut out[..1024])))
    });
    group.throughput(Throughput::Elements(N as u64));
    let mut rng = NoiseRng::deterministic_not_private(2);
    group.bench_function(format!("gaussian-parallel/{N}"), |b| {
        b.iter(|| gaussian.add_to(&mut rng, black_box(&mut out)).unwrap())
    });
    let mut single = vec![0f32; N];
    group.bench_function(format!("gaussian-f32-parallel/{N}"), |b| {
        b.iter(|| gaussian.add_to_f32(&mut rng, black_box(&mut single)).unwrap())
    });
    group.finish();
}

fn discrete(c: &mut Criterion) {
    let mut group = c.benchmark_group("noise");
    let mut s = stream();
    let mut words = vec![0u64; N / 64];
    group.throughput(Throughput::Elements(N as u64));
    for p in [0.5, 0.268_941_421_369_995_1, 1e-3] {
        let law = Bernoulli::new(Probability::new(p).unwrap());
        group.bench_function(format!("bernoulli-bits/{N}/{p:.3}"), |b| {
            b.iter(|| law.flip_packed(&mut s, black_box(&mut words), N))
        });
    }
    let table = BernoulliTable::new(&[0.5, 0.3, 0.2].map(|p| Probability::new(p).unwrap()));
    let which: Vec<u16> = (0..N).map(|i| (i % 3) as u16).collect();
    group.bench_function(format!("flip-each/{N}"), |b| {
        b.iter(|| table.flip_each(&mut s, black_box(&mut words), &which))
    });
    let response = KaryResponse::new(100, Probability::new(0.6).unwrap()).unwrap();
    let mut letters = vec![3u32; N];
    group.bench_function(format!("kary-response/{N}"), |b| {
        b.iter(|| response.apply(&mut s, black_box(&mut letters)))
    });
    let law = DiscreteGaussian::new(NoiseScale::new(20.0).unwrap()).unwrap();
    let mut integers = vec![0i64; 1024];
    group.throughput(Throughput::Elements(1024));
    let mut bytes = vec![0u8; 8 * 1024];
    group.bench_function("chacha12-floor/1024", |b| b.iter(|| s.fill_bytes(&mut bytes)));
    group.bench_function("discrete-gaussian/1024/20", |b| {
        b.iter(|| law.add_block(&mut s, black_box(&mut integers)))
    });
    let mut rng = NoiseRng::deterministic_not_private(3);
    let law = authority!().wishart(128, 170, NoiseScale::new(1.0).unwrap()).unwrap();
    group.throughput(Throughput::Elements(128 * 128));
    group.bench_function("wishart/128", |b| b.iter(|| law.draw(&mut rng).unwrap()));
    group.finish();
}

criterion_group!(benches, real, discrete);
criterion_main!(benches);
