//! Special functions and profiles against the values of `tools/reference/profiles.py`.

use dp_core::numeric as f;
use dp_core::profile::{CoordinateProfile, RowChange};
use dp_core::{
    Epsilon, L2Sensitivity, NoiseScale, NormBound, PrivacyProfile, Probability, Profile,
};
use serde_json::Value;

fn rows(text: &str) -> Vec<Value> {
    let value: Value = serde_json::from_str(text).unwrap();
    value["rows"].as_array().unwrap().clone()
}

fn number(value: &Value) -> f64 {
    match value {
        Value::String(s) => s.parse().unwrap(),
        other => other.as_f64().unwrap(),
    }
}

/// The value of a special function, and whether its error counts relatively.
fn special(name: &str, args: &[f64]) -> (f64, bool) {
    let whole = |i: usize| args[i] as u64;
    match name {
        "erfcx" => (f::erfcx(args[0]), true),
        "mills_ratio" => (f::mills_ratio(args[0]), true),
        "mills_slope" => (f::mills_slope(args[0]), true),
        "ln_normal_cdf" => (f::ln_normal_cdf(args[0]), false),
        "ln_chi_square_cdf" => (f::ln_chi_square_cdf(args[0], args[1]), false),
        "ln_chi_square_sf" => (f::ln_chi_square_sf(args[0], args[1]), false),
        "ln_binomial_pmf" => (f::ln_binomial_pmf(whole(0), args[1], whole(2)), false),
        "ln_binomial_cdf" => (f::ln_binomial_cdf(whole(0), args[1], whole(2)), false),
        "ln_binomial_sf" => (f::ln_binomial_sf(whole(0), args[1], whole(2)), false),
        other => panic!("unknown function {other}"),
    }
}

/// Linear functions: relative error at most 1e-13. Logarithms: absolute error at most
/// 1e-12, or four ulps where an ulp is larger.
#[test]
fn special_functions() {
    let rows = rows(include_str!("vectors/special.json"));
    assert!(rows.len() > 250);
    let mut worst: std::collections::BTreeMap<String, (f64, String)> = Default::default();
    for row in &rows {
        let args: Vec<f64> = row["args"].as_array().unwrap().iter().map(number).collect();
        let expected = number(&row["value"]);
        let name = row["f"].as_str().unwrap();
        let (got, linear) = special(name, &args);
        let error = if linear {
            (got / expected - 1.0).abs() / 1e-13
        } else {
            // Near zero a logarithm of a cdf is held to relative accuracy as well.
            (got - expected).abs() / (1e-12 * expected.abs().min(1.0)).max(9e-16 * expected.abs())
        };
        let entry = worst.entry(name.to_owned()).or_default();
        if error.is_nan() || error > entry.0 {
            *entry = (error, format!("{got:e} {row}"));
        }
    }
    println!("worst error over its limit, by function: {worst:#?}");
    for (name, (error, at)) in worst {
        assert!(error <= 1.0, "{name}: {error} times the limit at {at}");
    }
}

/// The worst arguments of a random search: within what the proof page states, which is no
/// more than four times the worst found.
#[test]
fn special_functions_at_the_worst_arguments_found() {
    let stated = [
        ("erfcx", 1e-15),
        ("mills_ratio", 4e-15),
        ("mills_slope", 9e-15),
        ("ln_normal_cdf", 2e-12),
        ("ln_chi_square", 9e-13),
        ("ln_binomial", 2e-13),
    ];
    let mut worst: std::collections::BTreeMap<String, f64> = Default::default();
    for row in rows(include_str!("vectors/special_search.json")) {
        let args: Vec<f64> = row["args"].as_array().unwrap().iter().map(number).collect();
        let (name, expected) = (row["f"].as_str().unwrap(), number(&row["value"]));
        let (got, linear) = special(name, &args);
        let error = if linear { (got / expected - 1.0).abs() } else { (got - expected).abs() };
        let (family, _) = stated.iter().find(|(family, _)| name.starts_with(family)).unwrap();
        let entry = worst.entry((*family).to_owned()).or_default();
        *entry = entry.max(error);
    }
    println!("{worst:?}");
    for (family, limit) in stated {
        let error = worst[family];
        assert!(error <= limit && limit <= 4.0 * error, "{family}: {error:e}, {limit:e}");
    }
}

/// The error of a binomial probability does not grow with the number of trials.
#[test]
fn binomials_of_many_trials_keep_their_digits() {
    let rows = rows(include_str!("vectors/large_binomials.json"));
    assert_eq!(rows.len(), 24);
    for row in &rows {
        let at = |name: &str| number(&row[name]);
        let got = f::ln_binomial_pmf(at("trials") as u64, at("p"), at("j") as u64);
        let error = (got - at("value")).abs();
        assert!(error <= 1e-14 + 2e-15 * at("value").abs(), "{error:e} at {row}");
    }
}

/// With 10^6 trials and more the profile of a mixture stays above its true value, and near.
#[test]
fn mixtures_of_many_trials_are_never_below() {
    let rows = rows(include_str!("vectors/large_mixtures.json"));
    assert!(rows.len() >= 12);
    for row in &rows {
        let at = |name: &str| number(&row[name]);
        let mixture = Profile::BinomialMixture {
            trials: at("trials") as u64,
            probability: Probability::new(at("p")).unwrap(),
            coordinate: CoordinateProfile::Gaussian {
                shift: L2Sensitivity::new(at("mu")).unwrap(),
                sigma: scale(1.0),
            },
        };
        let over = mixture.log_delta(Epsilon::new(at("eps")).unwrap()).get() - at("ln_delta");
        assert!((0.0..5e-11).contains(&over), "{over:e} over {row}");
    }
}

fn scale(x: f64) -> NoiseScale {
    NoiseScale::new(x).unwrap()
}

/// The profile of a row, with parameters that reproduce the row's numbers exactly.
fn profile(kind: &str, args: &[f64]) -> Profile {
    let whole = |i: usize| args[i] as u64;
    let shift = |i: usize| L2Sensitivity::new(args[i]).unwrap();
    let chance = |i: usize| Probability::new(args[i]).unwrap();
    let one = NormBound::new(1.0).unwrap();
    let jl = |change| Profile::JlMechanism {
        rows: whole(0),
        bound: one,
        lift: scale(args[1].powf(-0.5)),
        change,
    };
    let wishart = |change| Profile::Wishart {
        dim: whole(0),
        dof: whole(1),
        bound: one,
        scale: scale(1.0 / args[2]),
        change,
    };
    let mixture = |coordinate| Profile::BinomialMixture {
        trials: whole(0),
        probability: chance(1),
        coordinate,
    };
    match kind {
        "gaussian" => Profile::Gaussian { sensitivity: shift(0), sigma: scale(1.0) },
        "chi-mixture" => Profile::ChiMixtureGaussian {
            k: whole(0),
            entry_shift: shift(1),
            sigma: scale(1.0),
            later_mu: args[2],
        },
        "jl-add-remove" => jl(RowChange::AddRemove),
        "jl-replace" => jl(RowChange::Replace),
        "wishart" => wishart(RowChange::AddRemove),
        "wishart-replace" => wishart(RowChange::Replace),
        "response" => Profile::RandomizedResponse { bits: whole(0), keep: chance(1) },
        "letters" => {
            Profile::KaryResponse { responses: whole(0), alphabet: whole(1), keep: chance(2) }
        }
        "response-mixture" => mixture(CoordinateProfile::RandomizedResponse { keep: chance(2) }),
        "gaussian-mixture" => {
            mixture(CoordinateProfile::Gaussian { shift: shift(2), sigma: scale(1.0) })
        }
        "letters-mixture" => {
            mixture(CoordinateProfile::KaryResponse { alphabet: whole(2), keep: chance(3) })
        }
        other => panic!("unknown profile {other}"),
    }
}

/// ln delta is at least the true value (to 60 digits), by at most 1e-10 (1e-9 demanded).
#[test]
fn profiles() {
    let rows = rows(include_str!("vectors/profiles.json"));
    assert!(rows.len() > 130);
    let mut worst: std::collections::BTreeMap<String, (f64, f64)> = Default::default();
    let mut wrong = Vec::new();
    for row in &rows {
        let args: Vec<f64> = row["args"].as_array().unwrap().iter().map(number).collect();
        let kind = row["kind"].as_str().unwrap();
        let e = number(&row["eps"]);
        let e = if e == 0.0 { Epsilon::ZERO } else { Epsilon::new(e).unwrap() };
        let expected = number(&row["ln_delta"]);
        let above = profile(kind, &args).log_delta(e).get() - expected;
        let range = worst.entry(kind.to_owned()).or_insert((f64::INFINITY, f64::NEG_INFINITY));
        *range = (range.0.min(above), range.1.max(above));
        // The last digit of `expected` as an f64 is all that may be missing.
        let ulp = 2.0 * f64::EPSILON * expected.abs();
        if !(-ulp..=1e-10).contains(&above) {
            wrong.push(format!("{above:e}: {row}"));
        }
    }
    println!("ln delta above the true value, least and most, by profile: {worst:#?}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
