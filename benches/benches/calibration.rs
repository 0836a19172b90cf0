//! Calibrations and profiles: ids `op/family/epsilon/delta`.
//!
//! Beside `benches/peers/bench_4_calibration.py`, on the same budgets.

#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use dp_core::calibrate;
use dp_core::profile::RowChange;
use dp_core::{
    Budget, Delta, L2Sensitivity, NoiseScale, NormBound, PrivacyProfile, Probability, Profile,
};
use std::hint::black_box;

const BUDGETS: [(f64, f64); 14] = [
    (0.0001, 1e-3),
    (0.001, 1e-9),
    (0.01, 1e-6),
    (0.1, 1e-5),
    (0.5, 1e-5),
    (1.0, 1e-5),
    (1.0, 1e-6),
    (1.0, 1e-12),
    (1.0, 1e-30),
    (2.0, 1e-5),
    (5.0, 1e-3),
    (10.0, 1e-6),
    (50.0, 1e-10),
    (100.0, 1e-6),
];

fn gaussian(c: &mut Criterion) {
    let shift = L2Sensitivity::new(1.0).unwrap();
    for (epsilon, delta) in BUDGETS {
        let budget = Budget::new(epsilon, delta).unwrap();
        c.bench_function(&format!("calibrate/gaussian/{epsilon}/{delta:e}"), |b| {
            b.iter(|| calibrate::gaussian(black_box(budget), shift).unwrap());
        });
        // What every calibration needs twice: a scale that is enough, and one that is not.
        let sigma = calibrate::gaussian(budget, shift).unwrap();
        let profile = Profile::Gaussian { sensitivity: shift, sigma };
        c.bench_function(&format!("log-delta/gaussian/{epsilon}/{delta:e}"), |b| {
            b.iter(|| profile.log_delta(black_box(budget.epsilon)));
        });
    }
    let profile = Profile::Gaussian { sensitivity: shift, sigma: NoiseScale::new(4.0).unwrap() };
    c.bench_function("epsilon/gaussian/1/1e-6", |b| {
        let delta = Delta::new(1e-6).unwrap();
        b.iter(|| profile.epsilon(black_box(delta)).unwrap());
    });
}

fn families(c: &mut Criterion) {
    let budget = black_box(Budget::new(1.0, 1e-6).unwrap());
    let shift = L2Sensitivity::new(1.0).unwrap();
    let one = NormBound::new(1.0).unwrap();
    let half = Probability::new(0.005).unwrap();
    c.bench_function("calibrate/randomized-response-256/1/1e-6", |b| {
        b.iter(|| calibrate::randomized_response(budget, 256).unwrap());
    });
    c.bench_function("calibrate/binomial-mixture-100/1/1e-6", |b| {
        b.iter(|| calibrate::binomial_mixture_rr(budget, 100, half).unwrap());
    });
    c.bench_function("calibrate/chi-mixture-64/1/1e-6", |b| {
        b.iter(|| calibrate::chi_mixture_gaussian(budget, 64, shift, 0.0).unwrap());
    });
    for (name, change) in [("add-remove", RowChange::AddRemove), ("replace", RowChange::Replace)] {
        c.bench_function(&format!("calibrate/jl-100-{name}/1/1e-6"), |b| {
            b.iter(|| calibrate::jl_lift(budget, 100, one, change).unwrap());
        });
        c.bench_function(&format!("calibrate/wishart-100-421-{name}/1/1e-6"), |b| {
            b.iter(|| calibrate::wishart_scale(budget, 100, 421, one, change).unwrap());
        });
    }
}

criterion_group!(benches, gaussian, families);
criterion_main!(benches);
