//! `dps verify` refuses certificates that were made to look better.

use crate::support;
use crate::support::{Room, csv, numbers, signed_again, text};
use serde_json::Value;

/// Releases of every kind, and the certificates in them.
fn certificates(room: &Room) -> Vec<(String, String)> {
    room.write("users.csv", csv(&numbers(60, 8), 8));
    let sets: String = (0..30)
        .map(|i| (0..9).map(|w| format!("w{} ", i * 4 + w)).collect::<String>() + "\n")
        .collect();
    room.write("sets.txt", sets);
    let attribute = "--adjacency attribute --beta 0.5 --bound 1 --epsilon 1";
    let row = "--adjacency replace-row --norm-bound 4 --epsilon 1 --delta 1e-6";
    let mut found = Vec::new();
    for kind in [
        format!("sketch users.csv -k 4 --seed 5 {attribute} --delta 1e-6"),
        format!("sketch users.csv -k 4 --seed 5 --family gaussian {attribute} --delta 1e-6"),
        format!("sketch users.csv -k 4 --seed 5 --noise laplace {attribute} --delta 0"),
        format!("sketch users.csv -k 4 --calibration averaged {attribute} --delta 1e-6"),
        format!("signs users.csv -k 8 --flips response {attribute} --delta 1e-6"),
        format!("signs users.csv -k 8 --calibration averaged --lift 2 {attribute} --delta 1e-6"),
        format!("signs users.csv -k 8 --repetitions 4 {attribute} --delta 0"),
        "minhash sets.txt -k 8 --adjacency set-items --alpha 2 --min-size 3 --epsilon 1 --delta 1e-6".into(),
        "minhash sets.txt -k 8 --mechanism mixture --adjacency set-items --alpha 2 --min-size 3 \
         --epsilon 1 --delta 1e-6"
            .into(),
        "minhash sets.txt -k 5 --mechanism bins --fresh --adjacency set-items --alpha 2 --min-size 7 \
         --epsilon 1 --delta 1e-6"
            .into(),
        format!("covariance users.csv {row}"),
        format!("covariance users.csv --noise jl --sketch-rows 30 {row}"),
        "low-rank users.csv --rank 2 --oversampling 2 --row-bound 4 --adjacency row-shift --shift 1 \
         --epsilon 1 --delta 1e-6"
            .into(),
    ] {
        room.json(&format!("release {kind} --out r.dps --force"));
        let printed = room.run("inspect r.dps --certificate");
        assert!(printed.status.success(), "{}", text(&printed));
        let certificate = String::from_utf8(printed.stdout).expect("text");
        room.write("c.json", &certificate);
        // What is not in a certificate must be believed, or looked up in the release.
        let told = room.run("verify c.json");
        let alone = kind.starts_with("sketch") || kind.starts_with("covariance") || kind.contains("lift 2");
        if !alone {
            assert!(text(&told).contains("--accept sensitivity"), "{kind}: {}", text(&told));
        }
        assert_eq!(told.status.success(), alone, "{kind}: {}", text(&told));
        let verdict = room.json("verify c.json --accept sensitivity");
        assert_eq!(verdict["verdict"], "holds together", "{kind}");
        found.push((kind, certificate));
    }
    found
}

/// Whether `dps verify` refuses a text, with the status that says so.
fn refused(room: &Room, text: &str) -> bool {
    room.write("forged.json", text);
    let output = room.run("verify forged.json --accept sensitivity");
    match output.status.code() {
        Some(0) => false,
        Some(1 | 2) => true,
        other => panic!("status {other:?}: {}", support::text(&output)),
    }
}

/// Paths of all leaves.
fn leaves(value: &Value, at: &mut Vec<String>, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(k, v)| {
            at.push(k.clone());
            leaves(v, at, out);
            at.pop();
        }),
        Value::Array(list) => list.iter().enumerate().for_each(|(i, v)| {
            at.push(i.to_string());
            leaves(v, at, out);
            at.pop();
        }),
        _ => out.push(format!("/{}", at.join("/"))),
    }
}

/// Every leaf of every certificate changed, in several ways.
#[test]
fn any_changed_field_is_refused() {
    let room = Room::new();
    let mut changes = 0;
    for (kind, certificate) in certificates(&room) {
        let value: Value = serde_json::from_str(&certificate).expect("JSON");
        let mut paths = Vec::new();
        leaves(&value, &mut Vec::new(), &mut paths);
        assert!(paths.len() >= 15, "{kind}: {paths:?}");
        for path in paths {
            let old = value.pointer(&path).expect("exists").clone();
            let new: Vec<Value> = match &old {
                Value::Number(n) if n.is_u64() => {
                    let n = n.as_u64().expect("whole");
                    [n / 2, n.wrapping_add(1), n.wrapping_mul(3)].map(Value::from).to_vec()
                }
                Value::Number(n) => {
                    let x = n.as_f64().expect("real");
                    [x * 0.5, x * 1.001, -x].map(Value::from).to_vec()
                }
                Value::String(s) => vec![format!("{s} ").into(), "x".into()],
                _ => vec![0.5.into()],
            };
            for new in new.into_iter().filter(|new| *new != old) {
                let mut forged = value.clone();
                *forged.pointer_mut(&path).expect("exists") = new.clone();
                assert!(refused(&room, &forged.to_string()), "{kind}: {path} from {old} to {new}");
                changes += 1;
            }
        }
    }
    assert!(changes > 400, "{changes}");
}

/// The numbers that say how private a release is, improved by someone who computes the digest
/// again: each follows from something else, so each is caught.
#[test]
fn better_numbers_are_refused_even_with_a_new_digest() {
    let room = Room::new();
    let mut caught = 0;
    for (kind, certificate) in certificates(&room) {
        let same = signed_again(&certificate);
        assert!(!refused(&room, &same), "{kind}: the digest is computed as the library does");
        let value: Value = serde_json::from_str(&same).expect("JSON");
        for (path, factor) in [
            ("guarantee/budget/epsilon", 0.5),
            ("guarantee/budget/epsilon", 0.99),
            ("guarantee/budget/delta", 0.5),
            ("noise/sigma", 1.01),
            ("noise/scale", 1.01),
            ("noise/lift", 1.01),
            ("noise/dof", 2.0),
            ("noise/keep", 0.9),
            ("guarantee/profile/sigma", 1.01),
            ("guarantee/profile/scale", 1.01),
            ("guarantee/profile/lift", 1.01),
            ("guarantee/profile/dof", 2.0),
            ("guarantee/profile/keep", 0.9),
            ("guarantee/profile/sensitivity", 0.5),
            ("guarantee/profile/bound", 0.5),
            ("guarantee/profile/responses", 0.5),
            ("guarantee/profile/bits", 0.5),
            ("guarantee/profile/trials", 0.5),
            ("guarantee/profile/probability", 0.5),
            ("ln_true_delta", 1.1),
        ] {
            let path = format!("/{path}");
            // Fewer responses at delta 0 change no number that is claimed at this epsilon.
            let counts = path.ends_with("bits") || path.ends_with("responses");
            if counts && kind.contains("--delta 0") {
                continue;
            }
            let mut forged = value.clone();
            let Some(place) = forged.pointer_mut(&path) else { continue };
            let new = match (place.as_u64(), place.as_f64()) {
                (Some(n), _) if n > 1 => Value::from((n as f64 * factor) as u64),
                (None, Some(x)) if x != 0.0 => Value::from(x * factor),
                _ => continue,
            };
            let old = core::mem::replace(place, new.clone());
            let forged = signed_again(&forged.to_string());
            assert!(refused(&room, &forged), "{kind}: {path} from {old} to {new}");
            caught += 1;
        }
    }
    assert!(caught > 60, "{caught}");
}

/// The sensitivity follows from the seed: a sketch whose certificate claims the adjacency of
/// twice the change is caught, though all its numbers agree with each other.
#[test]
fn a_wider_adjacency_is_refused() {
    let room = Room::new();
    let mut caught = 0;
    for (kind, certificate) in certificates(&room) {
        let same = signed_again(&certificate);
        if !kind.starts_with("sketch") {
            continue;
        }
        let forged = signed_again(&same.replacen("\"beta\":0.5", "\"beta\":1.0", 1));
        assert_ne!(forged, same);
        assert!(refused(&room, &forged), "{kind}");
        caught += 1;
    }
    assert_eq!(caught, 4);
}
