//! Budget files: marks and hashes made anew, so that a fuzzer comes past them.

use crate::Failure;
use crate::sample::hex;
use dp_core::accounting::Ledger;
use dp_core::certificate::canonical;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const MAGIC: &str = "dps-ledger 3\n";

/// The file of these lines, which come without their hashes.
fn file<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let (mut head, mut lines, mut all) = (String::new(), 0, Vec::new());
    for text in texts {
        head = hex(&Sha256::new().chain_update(&head).chain_update(text).finalize());
        all.extend([head.as_bytes(), b" ", text, b"\n"].concat());
        lines += 1;
    }
    let said = format!("mark {lines:016x} {head}");
    let mark = format!("{said} {}\n", &hex(&Sha256::digest(&said))[..16]);
    [MAGIC.as_bytes(), mark.as_bytes(), mark.as_bytes(), &all].concat()
}

/// A budget file whose marks and hashes are those of its lines; none where it does not begin as one.
pub(crate) fn sealed(data: &[u8]) -> Option<Vec<u8>> {
    // After the marks; a line's hash and the space after it.
    let lines = data.strip_prefix(MAGIC.as_bytes())?.split(|byte| *byte == b'\n').skip(2);
    let texts = lines.filter_map(|line| line.get(65..));
    Some(file(texts))
}

/// Payments of every kind, and what becomes of a reservation.
pub(crate) fn sample(ledger: &Ledger) -> Result<Vec<u8>, Failure> {
    let value = serde_json::to_value(ledger)?;
    let mut cost = value["entries"][0].clone();
    let label = cost.as_object_mut().and_then(|entry| entry.remove("label"));
    let payment = |id: &str, released: bool| {
        json!({"certificate": "c".repeat(64), "cost": cost, "id": id, "label": label,
            "path": if released { json!("/releases/a.dps") } else { Value::Null }, "payload": null,
            "replaces": null, "time": 1_700_000_000})
    };
    // As older versions wrote them, but for the last.
    let mut located = payment(&"5".repeat(32), true);
    located["folder"] = json!([1, 2, 3]);
    located["replaces"] = json!([1, 2, 3, 4, 5]);
    let id = |digit: &str| digit.repeat(32);
    let header = json!({"adjacency": value["adjacency"], "converted": null, "data": "users",
        "filter": value["filter"], "format": 3, "id": id("0"), "time": 1_700_000_000});
    let step = |digit: &str| json!({"id": id(digit)});
    let committed = |digit: &str| json!({"file": [1, 2], "id": id(digit)});
    let lines = [
        ("ledger", header),
        ("spend", payment(&id("1"), false)),
        ("record", payment(&id("2"), false)),
        ("reserve", payment(&id("3"), true)),
        ("commit", committed("3")),
        ("close", step("3")),
        ("reserve", payment(&id("4"), true)),
        ("void", step("4")),
        ("close", step("4")),
        ("reserve", located),
        ("commit", committed("5")),
    ];
    let texts: Vec<String> =
        lines.iter().map(|(word, body)| format!("{word} {}", canonical(body))).collect();
    Ok(file(texts.iter().map(String::as_bytes)))
}
