//! What becomes of values before anything else, in words.

use crate::output::Record;
use dp_core::certificate::preprocessing::{ColumnMap, Preprocessing};

/// What numbers are about.
const UNITS: &str = "of values after the preprocessing: bounds, beta, shifts, estimates and errors";

/// Says what became of values, and that everything else is about what came of them.
pub(crate) fn with_map(record: Record, stated: Option<&Preprocessing>) -> Record {
    match stated {
        Some(stated) => record.names("preprocessing", &in_words(stated)).text("units", UNITS),
        None => record,
    }
}

/// What becomes of the columns, in words, one after the other.
fn in_words(preprocessing: &Preprocessing) -> Vec<String> {
    let own = preprocessing
        .columns
        .iter()
        .map(|c| format!("{} (column {}): {}", c.name, c.at, words(&c.map)));
    let rest = preprocessing.d - preprocessing.columns.len() as u64;
    let default = (rest > 0).then(|| format!("{rest} others: {}", words(&preprocessing.default)));
    own.chain(default).collect()
}

fn words(map: &ColumnMap) -> String {
    let mut words = Vec::new();
    words.extend(map.missing.map(|x| format!("missing is {x:?}")));
    match (map.low, map.high) {
        (None, None) => {}
        (low, high) => {
            let [low, high] = [low, high].map(|x| x.map_or("any".into(), |x| format!("{x:?}")));
            words.push(format!("moved to [{low}, {high}]"));
        }
    }
    words.extend(map.shift.map(|x| format!("less {x:?}")));
    words.extend(map.scale.map(|x| format!("times {x:?}")));
    if let (Some(low), Some(high)) =
        (map.low.and_then(|x| map.apply(x)), map.high.and_then(|x| map.apply(x)))
    {
        let (low, high) = (low.min(high), low.max(high));
        words.push(format!(
            "so within [{low:?}, {high:?}], and a change is at most {:?}",
            high - low
        ));
    }
    if words.is_empty() { "as it stands".into() } else { words.join(", ") }
}
