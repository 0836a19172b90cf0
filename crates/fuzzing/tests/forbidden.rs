//! What the format forbids, under right digests and checksums: both verifiers refuse it.

use crate::verifier::{judged, library_accepts};
use dp_core::certificate::{AnyCertificate, canonical};
use dp_core::release_file::{fingerprint, open};
use dp_core::{Epsilon, PrivacyProfile, Profile, Theorem};
use fuzzing::{Sample, releases};
use serde_json::{Value, json};

/// The trailer with one place changed; nothing where there is no such place, or nothing changes.
fn with(trailer: &Value, path: &str, new: impl FnOnce(&mut Value)) -> Option<Value> {
    let mut edited = trailer.clone();
    new(edited.pointer_mut(path)?);
    (edited != *trailer).then_some(edited)
}

/// The first whole real becomes a whole number: another value, of another digest.
fn whole(value: &mut Value) -> bool {
    match value {
        Value::Number(number) if number.is_f64() => {
            let real = number.as_f64().unwrap();
            let is_whole = real >= 1.0 && real.fract() == 0.0 && real < 1e15;
            if is_whole {
                *value = json!(real as u64);
            }
            is_whole
        }
        Value::Array(items) => items.iter_mut().any(whole),
        Value::Object(fields) => fields.values_mut().any(whole),
        _ => false,
    }
}

fn forbidden(trailer: &Value) -> Vec<(String, Value)> {
    let mut edits: Vec<(String, Value)> = Vec::new();
    let mut add = |what: &str, edited: Option<Value>| {
        edits.extend(edited.map(|edited| (what.to_owned(), edited)));
    };
    let provenance = "/certificate/guarantee/provenance";
    for theorem in Theorem::ALL {
        let swapped = with(trailer, &format!("{provenance}/theorem"), |t| {
            *t = json!(theorem.to_string());
        });
        add(&format!("under {theorem}"), swapped);
    }
    for path in ["/certificate/guarantee", "/certificate/noise", "/parameters"] {
        add(
            &format!("a whole number for a real in {path}"),
            with(trailer, path, |v| {
                let _ = whole(v);
            }),
        );
    }
    let more = |v: &mut Value| {
        if let Value::Object(fields) = v {
            fields.insert("zzz".to_owned(), json!(5.0));
        }
    };
    for path in [
        "/parameters/family",
        "/parameters/projection/family",
        "/parameters/coding",
        "/certificate/noise",
        "/certificate/guarantee/adjacency",
        "/certificate/guarantee/profile",
        provenance,
    ] {
        add(&format!("a field more in {path}"), with(trailer, path, more));
    }
    for path in ["/parameters/family/kind", "/parameters/projection/family/kind"] {
        add("an unknown family", with(trailer, path, |v| *v = json!("magic")));
    }
    let of_data = json!({"kind": "data-dependent", "rule": "what the rows say"});
    if trailer.pointer("/certificate/class") != Some(&json!("individual")) {
        let listed = json!({"kind": "several", "laws": [of_data]});
        add("noise of the data", with(trailer, "/certificate/noise", |v| *v = of_data));
        add("noise of the data in a list", with(trailer, "/certificate/noise", |v| *v = listed));
    }
    if trailer.pointer("/certificate/class") != Some(&json!("private")) {
        // One of as many columns as the rest says, where it says so: the class alone forbids it.
        let d = trailer.pointer("/certificate/public/d").cloned().unwrap_or(json!(9));
        let map = json!({"columns": [], "d": d, "default": {"scale": 2.0}});
        let map = canonical(&map);
        add(
            "a map of values",
            with(trailer, "/certificate/public", |v| v["preprocessing"] = json!(map)),
        );
        add("no reason", with(trailer, "/certificate/reason", |v| *v = json!(" ")));
    }
    edits
}

#[test]
fn what_the_format_forbids_is_refused_by_both() {
    let mut files = Vec::new();
    for Sample { name, bytes, .. } in releases().unwrap() {
        let trailer = fuzzing::trailer(&bytes).unwrap();
        for (what, edited) in forbidden(&trailer) {
            let forged = fuzzing::forged(&bytes, |_, fields| *fields = edited).unwrap();
            assert!(!library_accepts(&forged), "{name}: {what}");
            files.push((format!("{name}: {what}"), forged));
        }
    }
    assert!(files.len() > 800, "{}", files.len());
    judged(&[], &files);
}

/// A forgery whose certificate holds together by itself, delta and all: only what its file says of it can tell.
fn consistent(bytes: &[u8], edit: impl FnOnce(&mut Vec<u8>, &mut Value)) -> Vec<u8> {
    let forged = fuzzing::forged(bytes, |payload, fields| {
        edit(payload, fields);
        let certificate = &mut fields["certificate"];
        let guarantee = &certificate["guarantee"];
        let profile: Profile = serde_json::from_value(guarantee["profile"].clone()).unwrap();
        let epsilon = Epsilon::new(guarantee["budget"]["epsilon"].as_f64().unwrap()).unwrap();
        let ln = profile.log_delta(epsilon).get();
        certificate["ln_true_delta"] = if ln.is_finite() { json!(ln) } else { json!("-inf") };
    });
    let forged = forged.unwrap();
    open(&forged).unwrap();
    forged
}

fn times(value: &mut Value, factor: f64) {
    *value = json!(value.as_f64().unwrap() * factor);
}

/// Staircase noise that pays for the l1 norm of a row, on numbers that move together.
fn staircases(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let families = [
        (json!({"kind": "gaussian"}), json!({})),
        (json!({"kind": "rademacher"}), json!({})),
        (json!({"kind": "achlioptas"}), json!({})),
        (json!({"kind": "very-sparse"}), json!({})),
        (json!({"kind": "sparse-jl", "nonzeros": 2}), json!({"nonzeros": 2})),
        (json!({"kind": "hashed-copies", "copies": 2}), json!({"nonzeros": 2})),
        (
            json!({"kind": "srht", "sampling": "without-replacement"}),
            json!({"sampling": "without-replacement"}),
        ),
    ];
    let forged = families.map(|(family, stated)| {
        let name = family["kind"].as_str().unwrap().to_owned();
        let forged = consistent(bytes, |_, fields| {
            fields["parameters"]["family"] = family;
            fields["fingerprint"] = json!(fingerprint(&fields["parameters"]));
            let certificate = &mut fields["certificate"];
            certificate["public"]["projection"] = json!(name);
            let public = certificate["public"].as_object_mut().unwrap();
            public.extend(stated.as_object().unwrap().clone());
            let profile = &mut certificate["guarantee"]["profile"];
            times(&mut profile["sensitivity"], 40.0);
            let step = 2f64.powi(profile["grid"].as_i64().unwrap() as i32);
            let width = (profile["sensitivity"].as_f64().unwrap() / step).floor();
            certificate["noise"]["width"] = json!(width as u64);
        });
        (format!("staircase noise on {name}"), forged)
    });
    forged.into()
}

/// A grid as coarse as noise of this scale may have, with numbers on it, and nothing paid for it.
fn coarser(bytes: &[u8]) -> Vec<u8> {
    consistent(bytes, |payload, fields| {
        let noise = &mut fields["certificate"]["noise"];
        let scale = noise.get("sigma").or_else(|| noise.get("scale")).unwrap().as_f64().unwrap();
        let grid = scale.log2().floor() as i32 - 9;
        noise["grid"] = json!(grid);
        let step = 2f64.powi(grid);
        for place in payload.as_chunks_mut().0 {
            *place = ((f64::from_le_bytes(*place) / step).round() * step).to_le_bytes();
        }
    })
}

/// Edits of one sample, by its name: what profile and release say of each other, and of how the mechanism ran.
fn contradictions(name: &str, bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let one = |what: &str, path: &str, edit: &dyn Fn(&mut Value)| {
        let forged =
            consistent(bytes, |_, fields| edit(fields.pointer_mut(path).expect("such a place")));
        (what.to_owned(), forged)
    };
    let profile = "/certificate/guarantee/profile";
    let public = "/certificate/public";
    let more_columns = |p: &mut Value| {
        let k = p["k"].as_f64().unwrap();
        times(&mut p["entry_shift"], (k / 4096.0).sqrt());
        p["k"] = json!(4096);
    };
    let mechanism = || one("another mechanism", "/certificate/mechanism", &|m| *m = json!("mine"));
    let model = || {
        one("another model of the hash functions", public, &|p| p["hash model"] = json!("ideal"))
    };
    let layout = || {
        one("a schedule in another layout", public, &|p| {
            let schedule: Value = serde_json::from_str(p["schedule"].as_str().unwrap()).unwrap();
            p["schedule"] = json!(serde_json::to_string_pretty(&schedule).unwrap());
        })
    };
    let grid = || ("a coarser grid".to_owned(), coarser(bytes));
    let windows = || {
        let moved = consistent(bytes, |_, fields| {
            for end in ["/certificate/public/end_row", "/parameters/span/end_row"] {
                let end = fields.pointer_mut(end).expect("such a place");
                *end = json!(end.as_u64().unwrap() + 1);
            }
        });
        let pace = |p: &mut Value| p["pace"] = json!("ROWS");
        let none = |p: &mut Value| drop(p.as_object_mut().unwrap().remove("pace"));
        let (other, none) = (one("another pace", public, &pace), one("no pace", public, &none));
        [other, none, ("a row more than its blocks have".to_owned(), moved)]
    };
    let found = match name {
        "sketch-staircase.dps" => staircases(bytes),
        "sketch-f64.dps" | "sketch-laplace.dps" => vec![
            grid(),
            one("no bound of entries", public, &|p| {
                p.as_object_mut().unwrap().remove("largest entry");
            }),
        ],
        "sketch-fresh.dps" => vec![grid(), one("more columns", profile, &more_columns)],
        "range.dps" | "low-rank.dps" => vec![
            one("more columns", profile, &more_columns),
            one("another n", public, &|p| p["n"] = json!(2)),
            one("no bound of rows", public, &|p| p["row_bound"] = json!(1e30)),
        ],
        "signs.dps" => vec![
            one("one bit", profile, &|p| p["bits"] = json!(1)),
            one("another seed behind the first", public, &|p| p["projection seed 2"] = json!(0)),
        ],
        "smooth.dps" => vec![one("one bit", profile, &|p| p["bits"] = json!(1))],
        "fresh.dps" => vec![
            one("seldom", profile, &|p| times(&mut p["probability"], 0.5)),
            one("long rows", public, &|p| times(&mut p["least norm"], 0.1)),
        ],
        "symbols.dps" | "noisy.dps" => vec![mechanism(), model()],
        "bins.dps" | "occupancy.dps" | "buckets.dps" => {
            let more = |p: &mut Value| p["responses"] = json!(p["responses"].as_u64().unwrap() + 1);
            let forged = consistent(bytes, |_, fields| {
                more(&mut fields["certificate"]["guarantee"]["profile"]);
                times(&mut fields["certificate"]["guarantee"]["budget"]["epsilon"], 3.0);
            });
            vec![mechanism(), model(), ("one response more".to_owned(), forged)]
        }
        "gaussian.dps" | "moments.dps" | "window-blocks.dps" => vec![grid()],
        "window.dps" => vec![
            layout(),
            grid(),
            one("no noise in the schedule", public, &|p| {
                p["schedule"] = json!(r#"{"kind":"tree"}"#);
            }),
        ],
        "window-jl.dps" => vec![layout()],
        "window-factorised.dps" => vec![
            layout(),
            grid(),
            one("one step", "/certificate/guarantee", &|g| {
                g["profile"]["sensitivity"] = json!(1.001);
            }),
        ],
        _ => Vec::new(),
    };
    let of_window = name.starts_with("window").then(windows);
    found.into_iter().chain(of_window.into_iter().flatten()).collect()
}

#[test]
fn what_file_and_certificate_contradict_each_other_in_is_refused_by_both() {
    let (mut files, mut names) = (Vec::new(), 0);
    for Sample { name, bytes, .. } in releases().unwrap() {
        let forged = contradictions(&name, &bytes);
        names += usize::from(!forged.is_empty());
        for (what, forged) in forged {
            assert!(!library_accepts(&forged), "{name}: {what}");
            files.push((format!("{name}: {what}"), forged));
        }
    }
    assert_eq!(names, 20);
    judged(&[], &files);
}

/// The ranges of a cap are those of its law, whatever the certificate says of privacy.
#[test]
fn caps_outside_of_their_range_are_no_noise() {
    let samples = releases().unwrap();
    let plain = samples.iter().find(|sample| sample.name == "plain.dps").unwrap();
    let (mut honest, mut edited) = (Vec::new(), Vec::new());
    for (threshold, inside, fits) in [
        (1.0, 0.5, true),
        (50.0, 0.5, false),
        (-1.0, 0.9, false),
        (1.0, 0.1, false),
        (1.0, 1.0, false),
    ] {
        let law = json!({"kind": "unit-cap", "threshold": threshold, "inside": inside, "grid": -9});
        let forged =
            fuzzing::forged(&plain.bytes, |_, fields| fields["certificate"]["noise"] = law);
        let text = canonical(&fuzzing::trailer(&forged.unwrap()).unwrap()["certificate"]);
        assert_eq!(AnyCertificate::from_json(&text).is_ok(), fits, "{threshold} {inside}");
        let file = (format!("{threshold} {inside}"), text.into_bytes());
        if fits { honest.push(file) } else { edited.push(file) }
    }
    judged(&honest, &edited);
}
