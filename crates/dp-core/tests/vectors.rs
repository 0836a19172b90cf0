//! Profiles and calibrations against 40-digit values: within 1e-9 relative, never on
//! the unsafe side. Each file says how its numbers were made.

use dp_core::calibrate::{self};
use dp_core::profile::{CoordinateProfile, RowChange};
use dp_core::{Budget, Epsilon, L2Sensitivity, NoiseScale, PrivacyProfile, Probability, Profile};
use serde_json::Value;

fn rows(text: &str) -> Vec<Value> {
    let value: Value = serde_json::from_str(text).unwrap();
    let rows = value["rows"].as_array().unwrap().clone();
    assert!(!rows.is_empty());
    rows
}

fn number(row: &Value, key: &str) -> f64 {
    match &row[key] {
        Value::String(s) => s.parse().unwrap(),
        other => other.as_f64().unwrap_or_else(|| panic!("{key} missing in {row}")),
    }
}

fn count(row: &Value, key: &str) -> u64 {
    row[key].as_u64().unwrap()
}

fn budget(row: &Value) -> Budget {
    Budget::new(number(row, "eps"), number(row, "delta")).unwrap()
}

/// `got` is at least `expected`, by at most 1e-9 relative (and the expected value's own digits).
fn above_within(got: f64, expected: f64, what: &Value) {
    let relative = got / expected - 1.0;
    assert!(
        (-1e-15..1e-9).contains(&relative),
        "{got:e} against {expected:e}: {relative:e} {what}"
    );
}

fn epsilon(row: &Value) -> Epsilon {
    let e = number(row, "eps");
    if e == 0.0 { Epsilon::ZERO } else { Epsilon::new(e).unwrap() }
}

fn unit_shift() -> L2Sensitivity {
    L2Sensitivity::new(1.0).unwrap()
}

fn one<B: TryFrom<f64, Error = dp_core::Error>>() -> B {
    B::try_from(1.0).unwrap()
}

#[test]
fn gaussian_delta() {
    for row in rows(include_str!("vectors/gaussian_delta.json")) {
        let sensitivity = L2Sensitivity::new(number(&row, "mu")).unwrap();
        let sigma = NoiseScale::new(1.0).unwrap();
        let got = Profile::Gaussian { sensitivity, sigma }.log_delta(epsilon(&row)).delta();
        above_within(got, number(&row, "delta"), &row);
    }
}

#[test]
fn gaussian_sigma() {
    for row in rows(include_str!("vectors/gaussian_sigma.json")) {
        let sigma = calibrate::gaussian(budget(&row), unit_shift()).unwrap();
        above_within(sigma.get(), number(&row, "sigma"), &row);
    }
}

#[test]
fn range_finder_rho() {
    for row in rows(include_str!("vectors/range_finder_rho.json")) {
        let k = count(&row, "k");
        let rho = calibrate::chi_mixture_gaussian(budget(&row), k, unit_shift(), 0.0).unwrap();
        above_within(rho.get(), number(&row, "rho"), &row);
    }
}

#[test]
fn jl_lift() {
    for row in rows(include_str!("vectors/jl_w2.json")) {
        for (change, key) in
            [(RowChange::AddRemove, "w2_add_remove"), (RowChange::Replace, "w2_replace")]
        {
            let w = calibrate::jl_lift(budget(&row), count(&row, "r"), one(), change).unwrap();
            above_within(w.get().powi(2), number(&row, key), &row);
        }
    }
}

#[test]
fn wishart_scale() {
    for row in rows(include_str!("vectors/wishart_scale.json")) {
        let (d, nu) = (count(&row, "d"), count(&row, "nu"));
        let s = calibrate::wishart_scale(budget(&row), d, nu, one(), RowChange::AddRemove).unwrap();
        above_within(s.get(), number(&row, "s_over_B2"), &row);
    }
}

/// The nearest keep probability to `e^eps0 / (1 + e^eps0)`; its rounding moves delta by
/// less than 1e-13 relative.
fn keep(eps0: f64) -> Probability {
    Probability::new(1.0 / (1.0 + (-eps0).exp())).unwrap()
}

#[test]
fn randomized_response_delta() {
    for row in rows(include_str!("vectors/rr_delta.json")) {
        let profile = Profile::RandomizedResponse {
            bits: count(&row, "n"),
            keep: keep(number(&row, "eps0")),
        };
        above_within(profile.log_delta(epsilon(&row)).delta(), number(&row, "delta"), &row);
    }
}

#[test]
fn binomial_mixture_delta() {
    for row in rows(include_str!("vectors/rr_binomial_mixture_delta.json")) {
        let profile = Profile::BinomialMixture {
            trials: count(&row, "n"),
            probability: Probability::new(number(&row, "p")).unwrap(),
            coordinate: CoordinateProfile::RandomizedResponse { keep: keep(number(&row, "eps0")) },
        };
        above_within(profile.log_delta(epsilon(&row)).delta(), number(&row, "delta"), &row);
    }
}
