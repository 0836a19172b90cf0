//! Compositions: ids `op/problem`.
//!
//! Beside `benches/peers/bench_5_accounting.py`, on the same problems at delta 1e-6.
//! The bracket's relative width is printed once for each problem. `unmerged` problems
//! have no exact shortcut, so the convolution itself is timed.

#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dp_core::accounting::{Event, Pld, Width};
use dp_core::profile::RowChange;
use dp_core::{
    Delta, L1Sensitivity, L2Sensitivity, LaplaceScale, NoiseScale, NormBound, Probability, Profile,
};
use std::hint::black_box;

fn gaussian(sigma: f64) -> Profile {
    let sensitivity = L2Sensitivity::new(1.0).unwrap();
    Profile::Gaussian { sensitivity, sigma: NoiseScale::new(sigma).unwrap() }
}

fn laplace(b: f64) -> Profile {
    let sensitivity = L1Sensitivity::new(1.0).unwrap();
    Profile::Laplace { sensitivity, scale: LaplaceScale::new(b).unwrap() }
}

fn response(eps0: f64) -> Profile {
    let keep = Probability::new(1.0 / (1.0 + (-eps0).exp())).unwrap();
    Profile::RandomizedResponse { bits: 1, keep }
}

fn jl() -> Profile {
    let (bound, lift) = (NormBound::new(1.0).unwrap(), NoiseScale::new(12.0).unwrap());
    Profile::JlMechanism { rows: 30, bound, lift, change: RowChange::AddRemove }
}

fn wishart() -> Profile {
    let (bound, scale) = (NormBound::new(1.0).unwrap(), NoiseScale::new(1.0).unwrap());
    Profile::Wishart { dim: 10, dof: 60, bound, scale, change: RowChange::AddRemove }
}

fn compositions(c: &mut Criterion) {
    let event = |p, n| Event::new(p, n).unwrap();
    let problems = [
        ("gauss1000", vec![event(gaussian(20.0), 1000)]),
        ("rr256", vec![event(response(0.1), 256)]),
        ("gauss500-laplace200", vec![event(gaussian(30.0), 500), event(laplace(20.0), 200)]),
        ("laplace10000-unmerged", vec![event(laplace(100.0), 10_000)]),
        (
            "jl3-wishart20-gauss4",
            vec![event(jl(), 3), event(wishart(), 20), event(gaussian(10.0), 4)],
        ),
    ];
    let delta = Delta::new(1e-6).unwrap();
    let mut group = c.benchmark_group("epsilon");
    group.throughput(Throughput::Elements(1));
    for (name, events) in problems {
        for width in [2e-5, 1e-3] {
            let width = Width::new(width).unwrap();
            let answer = || Pld::new(black_box(&events)).with_width(width).epsilon(delta).unwrap();
            let b = answer();
            let high = b.upper.get();
            match b.lower.map(dp_core::Epsilon::get) {
                Some(low) => eprintln!(
                    "epsilon/{name}/{width}: [{low:.9}, {high:.9}], width {:.1e}",
                    high / low - 1.0
                ),
                None => eprintln!("epsilon/{name}/{width}: at most {high:.9}"),
            }
            group.bench_function(format!("{name}/{width}"), |bench| bench.iter(answer));
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = compositions
}
criterion_main!(benches);
