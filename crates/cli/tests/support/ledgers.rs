//! Ledgers of any length, in the layout of the library.

use dp_core::accounting::FilterRule;
use dp_core::certificate::canonical;
use dp_core::ledger_file::BudgetFile;
use dp_core::{Adjacency, Budget, Delta, Epsilon, Guarantee, PrivacyProfile, Profile};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::Path;

/// Families of mechanisms of which a ledger is made, and the rules that count them.
pub(crate) const FAMILIES: [(&str, &[FilterRule]); 20] = [
    ("gaussian", &[FilterRule::Basic, FilterRule::Zcdp, FilterRule::Gdp, FilterRule::Renyi]),
    ("laplace", &[FilterRule::Basic, FilterRule::Zcdp, FilterRule::Gdp, FilterRule::Renyi]),
    ("response", &[FilterRule::Basic, FilterRule::Zcdp, FilterRule::Gdp, FilterRule::Renyi]),
    ("mixture", &[FilterRule::Basic, FilterRule::Renyi]),
    ("covariance", &[FilterRule::Basic, FilterRule::Renyi]),
    ("every", &[FilterRule::Basic, FilterRule::Renyi]),
    ("repeated", &[FilterRule::Basic]),
    ("group", &[FilterRule::Basic]),
    ("replaced-wishart", &[FilterRule::Basic]),
    ("repeated-replaced-wishart", &[FilterRule::Basic]),
    ("repeated-gaussians", &[FilterRule::Basic]),
    ("repeated-laplaces", &[FilterRule::Basic]),
    ("repeated-zcdp", &[FilterRule::Basic]),
    ("staircase", &[FilterRule::Basic]),
    ("jl-replaced", &[FilterRule::Basic]),
    ("chi", &[FilterRule::Basic]),
    ("big-laplaces", &[FilterRule::Basic]),
    ("big-letters", &[FilterRule::Basic]),
    ("big-bits", &[FilterRule::Basic]),
    ("gaussian-parts", &[FilterRule::Basic, FilterRule::Gdp, FilterRule::Renyi]),
];

/// The `i`th mechanism of a family: every one is another, and a thousand runs of it lose little.
fn profile(family: &str, i: usize) -> Value {
    let x = 1.0 + i as f64 / 37.0;
    let keep = 0.5 + 0.001 * x;
    match family {
        "gaussian" => json!({"kind": "gaussian", "sensitivity": 1.0, "sigma": 900.0 * x}),
        "laplace" => match i % 2 {
            0 => json!({"kind": "laplace", "sensitivity": 1.0, "scale": 700.0 * x}),
            _ => json!({"kind": "pure-dp", "epsilon": 0.001 * x}),
        },
        "response" => match i % 2 {
            0 => json!({"kind": "randomized-response", "bits": 1 + i % 7, "keep": keep}),
            _ => json!({"kind": "kary-response", "responses": 1 + i % 5, "alphabet": 2 + i,
                "keep": 1.002 / (2 + i) as f64}),
        },
        "mixture" => match i % 3 {
            0 => json!({"kind": "binomial-mixture", "trials": 64 + i, "probability": 0.002,
                "coordinate": {"kind": "randomized-response", "keep": keep}}),
            1 => json!({"kind": "binomial-mixture", "trials": 64 + i, "probability": 0.002,
                "coordinate": {"kind": "gaussian", "shift": 1.0, "sigma": 900.0 * x}}),
            _ => json!({"kind": "chi-mixture-gaussian", "k": 16 + i, "entry_shift": 0.1,
                "sigma": 900.0 * x, "later_mu": 0.0}),
        },
        "covariance" => match i % 3 {
            0 => json!({"kind": "jl-mechanism", "rows": 50 + i, "bound": 1.0, "lift": 300.0 * x,
                "change": "add-remove"}),
            1 => {
                json!({"kind": "wishart", "dim": 8, "dof": 200 + i, "bound": 1.0, "scale": 900.0 * x,
                "change": "add-remove"})
            }
            _ => json!({"kind": "symmetric-gaussian", "bound": 1.0, "sigma": 900.0 * x,
                "change": "add-remove"}),
        },
        "replaced-wishart" => json!({"kind": "wishart", "dim": 8, "dof": 200 + i, "bound": 1.0,
            "scale": 900.0 * x, "change": "replace"}),
        "gaussians" | "laplaces" => {
            let coordinate = match family {
                "gaussians" => json!({"kind": "gaussian", "shift": 1.0, "sigma": 90.0 * x}),
                _ => json!({"kind": "laplace", "shift": 1.0, "scale": 70.0 * x}),
            };
            json!({"kind": "binomial-mixture", "trials": 64 + i, "probability": 0.02,
                "coordinate": coordinate})
        }
        "staircase" => {
            json!({"kind": "staircase", "sensitivity": 1.0, "epsilon": 0.04 * x, "inner": 300 + i, "grid": -10})
        }
        "jl-replaced" => {
            json!({"kind": "jl-mechanism", "rows": 50 + i, "bound": 1.0, "lift": 300.0 * x,
                "change": "replace"})
        }
        "chi" => json!({"kind": "chi-mixture-gaussian", "k": 16 + i, "entry_shift": 0.1,
                "sigma": 90.0 * x, "later_mu": 0.01}),
        "big-laplaces" => {
            json!({"kind": "binomial-mixture", "trials": 65536 - i, "probability": 0.02,
                "coordinate": {"kind": "laplace", "shift": 1.0, "scale": 7000.0 * x}})
        }
        "big-letters" => {
            json!({"kind": "binomial-mixture", "trials": 65536 - i, "probability": 0.002,
                "coordinate": {"kind": "kary-response", "alphabet": 4 + i, "keep": 1.01 / (4 + i) as f64}})
        }
        "big-bits" => {
            json!({"kind": "randomized-response", "bits": (1 << 24) - i, "keep": 0.5 + 1e-6 * x})
        }
        "zcdp" => json!({"kind": "zcdp", "rho": 1e-6 * x}),
        "repeated" => json!({"kind": "repeated", "profile": one_of_several(i), "times": 12}),
        "group" => match i % 5 {
            4 => json!({"kind": "group", "profile": profile("repeated", i), "size": 3}),
            _ => json!({"kind": "group", "profile": one_of_several(i), "size": 3}),
        },
        "every" => match i % 7 {
            5 => json!({"kind": "zcdp", "rho": 1e-6 * x}),
            6 => json!({"kind": "approximate-dp", "epsilon": 0.001 * x, "delta": 1e-12}),
            family => profile(FAMILIES[family].0, i),
        },
        _ => match family.strip_prefix("repeated-") {
            Some(one) => json!({"kind": "repeated", "profile": profile(one, i), "times": 12}),
            None => unreachable!("{family}"),
        },
    }
}

/// A mechanism several runs of which, or several changes, are a composition.
fn one_of_several(i: usize) -> Value {
    let x = 1.0 + i as f64 / 37.0;
    match i % 4 {
        0 => json!({"kind": "wishart", "dim": 8, "dof": 200 + i, "bound": 1.0, "scale": 90.0 * x,
            "change": "add-remove"}),
        1 => json!({"kind": "binomial-mixture", "trials": 64 + i, "probability": 0.02,
            "coordinate": {"kind": "gaussian", "shift": 1.0, "sigma": 90.0 * x}}),
        2 => json!({"kind": "laplace", "sensitivity": 1.0, "scale": 70.0 * x}),
        _ => json!({"kind": "zcdp", "rho": 1e-6 * x}),
    }
}

/// A guarantee of that mechanism.
pub(crate) fn guarantee(family: &str, i: usize) -> Guarantee {
    match family {
        // The least epsilon would take many compositions.
        _ if ["group", "replaced-wishart"].contains(&family)
            || family.starts_with("big")
            || family.starts_with("repeated") =>
        {
            let budget = Budget::new(20.0, 1e-9).expect("valid");
            let profile = serde_json::from_value(profile(family, i)).expect("a profile");
            Guarantee::declared(of(family), budget, profile, "nobody", "a test")
                .expect("consistent")
        }
        _ => declared_of(profile(family, i), of(family)),
    }
}

/// A guarantee of any mechanism, declared by nobody.
pub(crate) fn declared(profile: Value) -> Guarantee {
    declared_of(profile, adjacency())
}

fn declared_of(profile: Value, adjacency: Adjacency) -> Guarantee {
    let profile: Profile = serde_json::from_value(profile).expect("a profile");
    let delta = Delta::new(1e-9).expect("valid");
    let epsilon = profile.epsilon(delta).expect("finite");
    let epsilon = Epsilon::new(epsilon.get().max(1e-6) * 1.01).expect("positive");
    let budget = Budget { epsilon, delta };
    Guarantee::declared(adjacency, budget, profile, "nobody", "a test").expect("consistent")
}

pub(crate) fn adjacency() -> Adjacency {
    serde_json::from_value(json!({"kind": "add-remove-row", "bound": 1.0})).expect("valid")
}

/// The inputs that a family protects.
fn of(family: &str) -> Adjacency {
    match family.contains("replaced") {
        true => {
            serde_json::from_value(json!({"kind": "replace-row", "bound": 1.0})).expect("valid")
        }
        false => adjacency(),
    }
}

/// Writes a ledger of `entries` releases, of a hundred guarantees in turn: what the library writes of them, again and
/// again under other numbers, each reserved, committed and closed; `FAMILY-parts` are of a thousand parts in turn.
pub(crate) fn write(path: &Path, family: &str, rule: FilterRule, entries: usize) {
    let parts = family.ends_with("-parts");
    let family = family.trim_end_matches("-parts");
    let limit = Budget::new(1e6, 1e-2).expect("valid");
    let mut lines = Vec::new();
    for i in 0..entries.min(100) {
        // Each for itself: a ledger of all that came before would be read a hundred times.
        let _ = std::fs::remove_file(path);
        BudgetFile::create(path, "users", of(family), limit, rule).expect("created");
        let label = format!("a release of the survey (number-{i}.dps)");
        let done = BudgetFile::declare(path, &guarantee(family, i), 1, &label);
        if rule == FilterRule::Renyi && done.is_err() {
            // Of some mechanisms this rule knows nothing.
            continue;
        }
        done.expect("within the limit");
        let text = std::fs::read_to_string(path).expect("a ledger");
        // Two marks, then lines that begin with their hash.
        lines.extend(text.lines().skip(3 + lines.len().min(1)).map(|line| line[65..].to_owned()));
    }
    let (first, payments) = (&lines[0], &lines[1..]);
    let mut head = String::new();
    let releases = (0..entries).flat_map(|i| released(&payments[i % payments.len()], i, parts));
    let mut all = String::new();
    for line in std::iter::once(first.clone()).chain(releases) {
        head = hex(&Sha256::new().chain_update(&head).chain_update(&line).finalize());
        all += &format!("{head} {line}\n");
    }
    let said = format!("mark {:016x} {head}", 3 * entries + 1);
    let mark = format!("{said} {}\n", &hex(&Sha256::digest(&said))[..16]);
    std::fs::write(path, format!("dps-ledger 3\n{mark}{mark}{all}")).expect("written");
}

/// The lines of a release, from those of a payment of another kind.
fn released(spend: &str, i: usize, parts: bool) -> [String; 3] {
    let body = spend.strip_prefix("spend ").expect("a payment");
    let mut payment: Value = serde_json::from_str(body).expect("JSON");
    let hash = |what: &str| hex(&Sha256::digest(format!("{what} {i}")));
    let id = &hash("id")[..32];
    payment["id"] = id.into();
    payment["certificate"] = hash("certificate").into();
    payment["payload"] = hash("payload").into();
    payment["path"] = format!("/home/somebody/releases/of/the/survey/number-{i}.dps").into();
    if parts {
        let name = format!("part-{}", i % 1009);
        payment["part"] = json!({"by": "by-row", "name": name, "partition": "regions"});
    }
    [
        format!("reserve {}", canonical(&payment)),
        format!("commit {}", json!({"file": [64_768, 1_000_000 + i], "id": id})),
        format!("close {}", json!({"id": id})),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
