//! The errors that the special functions of the normal law state, held against ball arithmetic over their whole range
//! (`tools/reference/special_bounds.py`).

use super::{erfcx, ln_normal_cdf, mills_ratio, mills_slope};
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
