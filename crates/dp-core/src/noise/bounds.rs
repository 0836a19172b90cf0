//! The error constants of the tables, held against ball arithmetic on every piece (`tools/reference/bounds.py`).

use super::kernel::{Table, Tail};
use super::staircase::described;
use crate::reference::{ask, hex, parsed};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn table(tail: Tail) -> Value {
    let Table { rows, first_error, second_error } = Table::of(tail);
    let rows: Vec<_> = rows.iter().map(|row| row.map(hex)).collect();
    json!({"rows": rows, "first": hex(*first_error), "second": hex(*second_error)})
}

fn question() -> Value {
    json!({
        "tables": {"gaussian": table(Tail::Gaussian), "laplace": table(Tail::Laplace)},
        "staircase": described(hex),
    })
}

/// Of every constant: the bound that is proven for what is compiled, and what is declared.
fn found(question: &Value) -> Option<BTreeMap<String, [f64; 2]>> {
    let found = ask("bounds.py", "flint", &question.to_string())?;
    let found: BTreeMap<String, [f64; 2]> = serde_json::from_value(found).unwrap();
    assert_eq!(found.len(), 6, "{found:?}");
    Some(found)
}

/// Every bound is within its constant. A constant of the quantiles halved would be noticed; those of the stairs cover all
/// shapes (docs/proofs/staircase.md), of which the test asks for 146.
#[test]
fn every_piece_of_every_table_is_within_its_constant() {
    let Some(found) = found(&question()) else { return };
    for (name, [bound, declared]) in found {
        println!("{name}: 2^{:.3} within 2^{:.3}", bound.log2(), declared.log2());
        assert!(bound <= declared, "{name}: {bound:e} above {declared:e}");
        let halved = bound <= 0.5 * declared;
        assert_eq!(halved, name == "staircase", "{name}: {bound:e} and half of {declared:e}");
    }
}

/// One coefficient off by a little, in one row of a thousand or one cell of thousands, is noticed.
#[test]
fn a_piece_that_is_wrong_is_noticed() {
    let off = |value: &mut Value, by: f64| {
        let x = parsed(value.as_str().unwrap());
        *value = json!(hex(x * (1.0 + by)));
    };
    let mut wrong = question();
    off(&mut wrong["tables"]["gaussian"]["rows"][700][1], 2f64.powi(-38));
    off(&mut wrong["tables"]["laplace"]["rows"][1023][0], 2f64.powi(-38));
    off(&mut wrong["staircase"]["shapes"][77]["cells"][100]["slope"][1], 2f64.powi(-41));
    let Some(found) = found(&wrong) else { return };
    let beyond = |name: &str| found[name][0] > found[name][1];
    assert!(beyond("gaussian second") && !beyond("gaussian first"), "{found:?}");
    assert!(beyond("laplace first") && beyond("laplace second"), "{found:?}");
    assert!(beyond("staircase"), "{found:?}");
}
