//! The errors that the special functions state, held against ball arithmetic over their whole range: of the normal law
//! (`tools/reference/special_bounds.py`), and of the parts of the binomial and chi-square laws (`tools/reference/binomial_bounds.py`).

use super::binomial::ln_pmf;
use super::gamma::{deviance, stirling_error};
use super::{erfcx, ln_chi_square_cdf, ln_chi_square_sf, ln_normal_cdf, mills_ratio, mills_slope};
use crate::noise::NoiseRng;
use crate::reference::{ask, hex};
use rand_core::Rng;
use serde_json::{Value, json};

/// Name, function, the least and the largest argument asked for, and the error that is stated.
type Stated = (&'static str, fn(f64) -> f64, f64, f64, f64);

const STATED: [Stated; 5] = [
    ("erfcx", erfcx, -5.0, 1e6, 1e-15),
    ("mills_ratio", mills_ratio, -5.0, 1e6, 6e-15),
    ("mills_ratio from 0", mills_ratio, 0.0, 1e6, 1.2e-15),
    ("mills_slope", mills_slope, -5.0, 1e4, 2.5e-14),
    ("ln_normal_cdf", ln_normal_cdf, -1e6, 37.0, 1e-15),
];

/// The bound that is proven for the program's text is within what is stated and above half of it; and what was compiled
/// answers within the bound, at 3,000 arguments.
#[test]
fn stated_errors_hold_over_the_whole_range() {
    let mut pick = NoiseRng::deterministic_not_private(77).stream();
    let mut answers = Vec::new();
    for (name, function, low, high, _) in STATED {
        for i in 0..600 {
            let unit = (pick.next_u64() >> 11) as f64 * 2f64.powi(-53);
            let (near, far) = (low.max(-6.0), if high > 100.0 { high } else { -low });
            let x = match i % 3 {
                0 => near + unit * (high.min(12.0) - near),
                1 => (20.0 + 20.0 * unit).min(high),
                _ => (far.ln() * unit).exp() * if low < -100.0 { -1.0 } else { 1.0 },
            };
            answers.push(json!([name, hex(x), hex(function(x))]));
        }
    }
    let question = json!({"answers": answers}).to_string();
    let Some(found) = ask("special_bounds.py", "flint", &question) else { return };
    let number = |of: &Value| of.as_f64().unwrap();
    for (name, .., stated) in STATED {
        let (bound, worst) = (number(&found["bounds"][name]), number(&found["worst"][name]));
        println!("{name}: {bound:.2e} within {stated:.1e}; answers used {worst:.2} of it");
        assert!(bound <= stated, "{name}: {bound:e} above {stated:e}");
        assert!(bound > 0.5 * stated, "{name}: half of {stated:e} would do as well");
        assert!(worst <= 1.0 && worst > 0.1, "{name}: {worst} of the bound");
    }
}

/// What is stated of the saddle-point forms and of their parts: absolute, and beside it relative.
const FORMS: [(&str, f64, f64); 5] = [
    ("stirling_error", 9e-15, 0.0),
    ("deviance", 0.0, 1.2e-15),
    ("ln_pmf", 1e-14, 1.5e-15),
    ("ln_chi_square_cdf", 1e-12, 2e-15),
    ("ln_chi_square_sf", 1e-12, 2e-15),
];

/// The bounds of the parts, proven for the program's text over all arguments, are within what is stated and above half of it; and what
/// was compiled answers within what is stated, at 2,040 arguments.
#[test]
fn saddle_point_forms_are_as_close_as_stated() {
    let mut pick = NoiseRng::deterministic_not_private(78).stream();
    let mut unit = || (pick.next_u64() >> 11) as f64 * 2f64.powi(-53);
    let mut answers = Vec::new();
    for i in 0..500 {
        let n = if i % 2 == 0 { (1 + i / 8) as f64 } else { 0.5 + 16.0 * unit() };
        answers.push(json!(["stirling_error", [hex(n)], hex(stirling_error(n))]));
        let x = (1.0 + 35.0 * unit()).exp();
        let spread = [0.01, 0.5, 1.3, 200.0][i % 4];
        let m = x * (spread * (2.0 * unit() - 1.0)).exp();
        if x != m {
            answers.push(json!(["deviance", [hex(x), hex(m)], hex(deviance(x, m))]));
        }
        let n = 2f64.powf(1.0 + 52.0 * unit()).floor();
        let p = if i % 3 == 0 { unit().max(1e-9) } else { (-300.0 * unit() * unit()).exp() * 0.9 };
        let (mean, deviation) = (n * p, (n * p * (1.0 - p)).sqrt());
        let j = match i % 4 {
            0 => (n * unit()).floor(),
            1 => (mean * (2.0 + 3.0 * unit())).floor(),
            _ => (mean + 60.0 * (unit() - 0.5) * deviation).floor(),
        };
        let j = j.clamp(0.0, n);
        let value = ln_pmf(n as u64, p, 1.0 - p, j as u64);
        answers.push(json!(["ln_pmf", [hex(n), hex(p), hex(j)], hex(value)]));
    }
    for _ in 0..270 {
        let k = (9.0 * unit()).exp().floor();
        let x = (k * (2.5 * (unit() - 0.5)).exp()).max(1e-3);
        for (name, value) in [
            ("ln_chi_square_cdf", ln_chi_square_cdf(k, x)),
            ("ln_chi_square_sf", ln_chi_square_sf(k, x)),
        ] {
            if value < -1e-290 {
                answers.push(json!([name, [hex(k), hex(x)], hex(value)]));
            }
        }
    }
    let stated: serde_json::Map<String, Value> =
        FORMS.iter().map(|(name, c, r)| ((*name).to_owned(), json!([c, r]))).collect();
    let question = json!({"answers": answers, "stated": stated}).to_string();
    let Some(found) = ask("binomial_bounds.py", "flint", &question) else { return };
    let number = |of: &Value| of.as_f64().unwrap();
    for (name, limit) in
        [("stirling_error", 9e-15), ("stirling_error of three", 6.5e-15), ("deviance", 1.2e-15)]
    {
        let bound = number(&found["bounds"][name]);
        println!("{name}: {bound:.2e} within {limit:.1e}");
        assert!(bound <= limit, "{name}: {bound:e} above {limit:e}");
        assert!(bound > 0.5 * limit, "{name}: half of {limit:e} would do as well");
    }
    // P(a, a + 1)/Q(a, a + 1), by which a complement's error is at most larger.
    let odds: Vec<f64> =
        found["odds"].as_array().unwrap().iter().map(|row| number(&row[1])).collect();
    assert!(
        odds.iter().zip([12.0, 7.0, 4.3, 3.0, 2.3]).all(|(odds, most)| *odds <= most),
        "{odds:?}"
    );
    for (name, ..) in FORMS {
        let worst = number(&found["worst"][name]);
        println!("{name}: answers used {worst:.3} of what is stated");
        assert!(worst <= 1.0 && worst > 0.005, "{name}: {worst} of what is stated");
    }
}
