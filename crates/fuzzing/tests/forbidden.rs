//! What the format forbids, under right digests and checksums: both verifiers refuse it.

use crate::verifier::{judged, library_accepts};
use dp_core::Theorem;
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
        let map = r#"{"columns":[],"d":9,"default":{"high":null,"low":null,"missing":null,"scale":2.0,"shift":null}}"#;
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
