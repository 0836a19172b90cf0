//! The file of `--preprocess`: what becomes of values before anything else.

use crate::error::{Error, Result};
use dp_core::certificate::preprocessing::ColumnMap;
use readers::ColumnRules;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use toml::{Table, Value};

/// Longest file.
const MOST: u64 = 1 << 20;
/// Whole numbers beyond are not all numbers of 64 bits.
const EXACT: u64 = 1 << 53;

/// Reads the file; no message repeats what stands in it but its keys and numbers.
pub(crate) fn read(path: &Path) -> Result<ColumnRules> {
    let name = path.display();
    let wrong = |words: String| Error::usage(format!("{name}: {words}"));
    let mut text = String::new();
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    let read = file.take(MOST + 1).read_to_string(&mut text).map_err(|e| Error::io(path, e))?;
    if read as u64 > MOST {
        return Err(wrong("longer than 1 MiB: give most columns one map, [default]".into()));
    }
    let table: Table = text.parse().map_err(|e: toml::de::Error| {
        let at = e.span().map_or(0, |span| text[..span.start.min(text.len())].lines().count().max(1));
        wrong(format!("not TOML (line {at}); it holds tables [default] and [columns.NAME], and lines such as low = 0"))
    })?;
    let mut rules = ColumnRules::default();
    for (key, value) in &table {
        match (key.as_str(), value) {
            ("default", Value::Table(map)) => {
                rules.default = column(map, "default").map_err(wrong)?
            }
            ("columns", Value::Table(columns)) => {
                for (name, value) in columns {
                    let of = format!("columns.{name:?}");
                    let Value::Table(map) = value else {
                        return Err(wrong(format!(
                            "{of} is no table: write [{of}] and its keys below"
                        )));
                    };
                    rules.columns.insert(name.clone(), column(map, &of).map_err(wrong)?);
                }
            }
            _ => {
                return Err(wrong(format!(
                    "unknown key {key:?}: it holds [default] and [columns.NAME]"
                )));
            }
        }
    }
    if rules == ColumnRules::default() {
        return Err(wrong("it maps nothing: say a key below [default] or [columns.NAME], or leave --preprocess out".into()));
    }
    Ok(rules)
}

fn column(table: &Table, of: &str) -> core::result::Result<ColumnMap, String> {
    let mut map = ColumnMap::default();
    for (key, value) in table {
        let place = match key.as_str() {
            "low" => &mut map.low,
            "high" => &mut map.high,
            "shift" => &mut map.shift,
            "scale" => &mut map.scale,
            "missing" => &mut map.missing,
            _ => {
                return Err(format!(
                    "unknown key {of}.{key:?}: a column has low, high, shift, scale and missing"
                ));
            }
        };
        let number = match value {
            Value::Float(x) => *x,
            Value::Integer(x) if x.unsigned_abs() <= EXACT => *x as f64,
            Value::Integer(x) => {
                return Err(format!(
                    "{of}.{key} = {x}: whole numbers go up to 2^53; write it with a point"
                ));
            }
            _ => {
                return Err(format!(
                    "{of}.{key} is no number: write it without quotes, as in {key} = 0.5"
                ));
            }
        };
        // Minus zero is zero.
        *place = Some(number + 0.0);
    }
    map.check().map_err(|e| format!("{of}: {e}"))?;
    Ok(map)
}
