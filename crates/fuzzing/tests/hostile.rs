//! Releases and guarantees that ask for much: each ends in an error, or in an answer, in a bounded time and in bounded
//! memory. One test in one process, because the allocator and the clock are the process's.

#[path = "support/bounded.rs"]
mod bounded;

use bounded::{bounded, processor_time};
use dp_core::Guarantee;
use fuzzing::{Sample, releases};
use linalg_dp::any::AnyRelease;
use linalg_dp::verify::Trust;
use serde_json::{Value, json};

/// Values at which something may go wrong, whole and real.
const WHOLE: [u64; 13] = [
    0,
    1,
    2,
    1 << 10,
    1 << 12,
    1 << 16,
    1 << 20,
    1 << 24,
    1 << 31,
    (1 << 32) - 1,
    1 << 40,
    1 << 53,
    u64::MAX,
];
const REAL: [f64; 12] =
    [0.0, -1.0, 5e-324, 1e-300, 1e-100, 1e-22, 1e-9, 0.5, 1.0, 1e6, 1e100, f64::MAX];

fn leaves(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(k, v)| {
            leaves(v, &format!("{at}/{}", k.replace('~', "~0").replace('/', "~1")), out)
        }),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, v)| leaves(v, &format!("{at}/{i}"), out));
        }
        Value::Number(_) => out.push(at.to_owned()),
        _ => {}
    }
}

/// Other numbers of the same type.
fn others(number: &Value) -> Vec<Value> {
    if number.is_u64() { WHOLE.map(Value::from).to_vec() } else { REAL.map(Value::from).to_vec() }
}

/// Reads and checks a release as every reader does.
fn used(bytes: &[u8]) -> Result<(), String> {
    let (_, release) = AnyRelease::decode(bytes).map_err(|e| e.to_string())?;
    release.verify_use(&Trust::none()).map(drop).map_err(|e| e.to_string())
}

/// A file whose numbers are all written again: certificate, parameters and shape, alone and together where
/// they have one name, with everything sealed and the fingerprint set right.
fn edited_releases(sample: &Sample) {
    let trailer = fuzzing::trailer(&sample.bytes).unwrap();
    let mut paths = Vec::new();
    leaves(&trailer, "", &mut paths);
    for path in &paths {
        for new in others(trailer.pointer(path).unwrap()) {
            let name = path.rsplit('/').next().unwrap();
            for together in [false, true] {
                let edit = |payload: &mut Vec<u8>, fields: &mut Value| {
                    for other in &paths {
                        if other == path || together && other.ends_with(&format!("/{name}")) {
                            *fields.pointer_mut(other).unwrap() = new.clone();
                        }
                    }
                    if together {
                        // No row at all: nothing to hold against the columns.
                        payload.clear();
                        fields["rows"] = json!(0);
                        fields["certificate"]["public"]["n"] = json!(0);
                        if name == "k" {
                            fields["columns"] = new.clone();
                        }
                    }
                    let parameters = fields["parameters"].clone();
                    fields["fingerprint"] = dp_core::release_file::fingerprint(&parameters).into();
                };
                let bytes = fuzzing::forged(&sample.bytes, edit).unwrap();
                let what = format!("{} with {path} = {new} ({together})", sample.name);
                let _ = bounded(&what, || used(&bytes));
            }
        }
    }
}

/// Profiles at the ends of their limits.
fn profiles() -> Vec<Value> {
    let mut all = Vec::new();
    for keep in [0.500_000_1, 0.75, 0.999_999] {
        for bits in [1u64, 1 << 24] {
            all.push(json!({"kind": "randomized-response", "bits": bits, "keep": keep}));
        }
        for (n, alphabet) in [(1u64 << 20, 2u64), (1 << 20, 1 << 32), (1, 1 << 32)] {
            let response = json!({"kind": "kary-response", "alphabet": alphabet, "keep": keep});
            let mut whole = response.clone();
            whole["responses"] = json!(n);
            all.push(whole);
            for probability in [1e-300, 1e-6, 0.5, 1.0] {
                let coordinates = [
                    response.clone(),
                    json!({"kind": "randomized-response", "keep": keep}),
                    json!({"kind": "gaussian", "shift": 1.0, "sigma": 1e-6}),
                    json!({"kind": "gaussian", "shift": 1e-6, "sigma": 1.0}),
                    json!({"kind": "laplace", "shift": 1e-9, "scale": 1.0}),
                    json!({"kind": "laplace", "shift": 1e6, "scale": 1.0}),
                ];
                for coordinate in coordinates {
                    all.push(
                        json!({"kind": "binomial-mixture", "trials": n, "probability": probability,
                        "coordinate": coordinate}),
                    );
                }
            }
        }
    }
    let mass = 1.0 / f64::from(1 << 14);
    for (first, step) in [(-(1i64 << 13), 1e-6), (-(1 << 13), 1.0), (0, 0.5)] {
        let way = json!({"first": first, "masses": vec![mass; 1 << 14], "infinite": 0.0});
        all.push(json!({"kind": "loss-distribution", "step": step, "ways": [way.clone(), way]}));
    }
    for delta in [1e-300, 0.5] {
        all.push(json!({"kind": "approximate-dp", "epsilon": 1e6, "delta": delta}));
        all.push(json!({"kind": "approximate-dp", "epsilon": 1e-100, "delta": delta}));
    }
    for ratio in [1e-100f64, 1e-12, 1e-3, 1.0, 1e3, 1e6] {
        all.push(json!({"kind": "gaussian", "sensitivity": ratio, "sigma": 1.0}));
        all.push(json!({"kind": "laplace", "sensitivity": ratio, "scale": 1.0}));
        all.push(json!({"kind": "pure-dp", "epsilon": ratio}));
        all.push(json!({"kind": "zcdp", "rho": ratio}));
        let step = json!({"sensitivity": ratio, "sigma": 1.0, "times": 1u64 << 40});
        all.push(json!({"kind": "gaussian-composition", "steps": vec![step; 1 << 12]}));
        for change in ["add-remove", "replace"] {
            all.push(json!({"kind": "symmetric-gaussian", "bound": ratio.sqrt(), "sigma": 1.0,
                "change": change}));
            for rows in [1u64, 1000, 1 << 24, 1 << 40] {
                all.push(json!({"kind": "jl-mechanism", "rows": rows, "bound": ratio, "lift": 1.0,
                    "change": change}));
            }
            for (dim, dof) in [(1u64, 3u64), (1, 1 << 40), ((1 << 40) - 2, 1 << 40), (1000, 1100)] {
                all.push(
                    json!({"kind": "wishart", "dim": dim, "dof": dof, "bound": ratio, "scale": 1.0,
                    "change": change}),
                );
            }
        }
        for k in [1u64, 1000, 1 << 24, 1 << 40] {
            for later in [0.0, 1.0, 1e6] {
                all.push(json!({"kind": "chi-mixture-gaussian", "k": k, "entry_shift": ratio,
                    "sigma": 1.0, "later_mu": later}));
            }
        }
    }
    all
}

/// As they are at two budgets, composed as often as is allowed, and as a group.
fn wrapped(profile: &Value) -> [(Value, f64, f64); 4] {
    let repeated = json!({"kind": "repeated", "profile": profile, "times": 1 << 10});
    let group = json!({"kind": "group", "profile": profile, "size": 1 << 20});
    [
        (profile.clone(), 1.0, 1e-6),
        (profile.clone(), 1e-6, 1e-300),
        (repeated, 1e-6, 1e-300),
        (group, 1.0, 1e-6),
    ]
}

fn edited_guarantees() {
    for (profile, epsilon, delta) in profiles().iter().flat_map(wrapped) {
        let replaced = profile.to_string().contains("\"replace\"");
        let kind = if replaced { "replace-row" } else { "add-remove-row" };
        let guarantee = json!({
            "adjacency": {"kind": kind, "bound": 1e-100},
            "budget": {"epsilon": epsilon, "delta": delta},
            "profile": profile,
            "claim": "met",
            "provenance": {"kind": "declared", "by": "nobody", "reason": "none"},
        });
        let text: String = profile.to_string().chars().take(300).collect();
        let what = format!("{text} at {epsilon}, {delta}");
        let _ = bounded(&what, || serde_json::from_value::<Guarantee>(guarantee));
    }
}

#[test]
fn small_files_ask_for_little() {
    if processor_time().is_none() {
        eprintln!("SKIPPED: the time that hostile files take: this system does not tell it");
    }
    let samples = releases().unwrap();
    edited_guarantees();
    samples.iter().for_each(edited_releases);
}
