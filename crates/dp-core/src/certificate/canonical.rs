//! The one text of a value: what digests are taken of, and what release files hold.

use crate::error::Error;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The canonical text of a value, which other languages can write: JSON without white space, keys in
/// the order of their bytes, strings as UTF-8 with only `"`, `\` and control characters escaped, whole
/// numbers in digits, reals in the fewest digits that read back the same (`1.0`, `1e-06`, `1e+16`: exponents
/// below -4 and from 16 on). `docs/FORMAT.md` says it rule by rule.
///
/// # Panics
/// When the value cannot be written as JSON (maps with keys that are not strings).
#[must_use]
pub fn canonical(value: &impl Serialize) -> String {
    text(&serde_json::to_value(value).expect("string keys only"))
}

fn text(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => *out += &value.to_string(),
        Value::Number(number) => match number.as_f64() {
            Some(real) if number.is_f64() => *out += &decimal(real),
            _ => *out += &number.to_string(),
        },
        Value::Array(items) => {
            let mut before = '[';
            for item in items {
                out.push(core::mem::replace(&mut before, ','));
                write(item, out);
            }
            *out += if items.is_empty() { "[]" } else { "]" };
        }
        Value::Object(map) => {
            // The map's own order depends on how the JSON library was built.
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            let mut before = '{';
            for (key, value) in fields {
                out.push(core::mem::replace(&mut before, ','));
                *out += &Value::from(key.as_str()).to_string();
                out.push(':');
                write(value, out);
            }
            *out += if map.is_empty() { "{}" } else { "}" };
        }
    }
}

/// A real as Python's `repr` writes it.
fn decimal(x: f64) -> String {
    let scientific = format!("{x:e}");
    let (digits, exponent) = scientific.split_once('e').expect("an exponent");
    let exponent: i32 = exponent.parse().expect("a number");
    if (-4..16).contains(&exponent) {
        // Always with a point: a real reads back as a real.
        return format!("{x:?}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

/// SHA-256 in hexadecimal, of a value's canonical text; of an object without its field `digest`.
pub(crate) fn digest(value: &impl Serialize) -> String {
    let mut value = serde_json::to_value(value).expect("string keys only");
    if let Value::Object(map) = &mut value {
        map.remove("digest");
    }
    hex(&Sha256::digest(text(&value)))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    let mut text = String::with_capacity(2 * bytes.len());
    text.extend(bytes.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]));
    text
}

/// SHA-256 of a payload's bytes as they stand in a release file. As text, 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PayloadHash([u8; 32]);

impl PayloadHash {
    /// The hash of a whole payload.
    #[must_use]
    pub fn of(payload: &[u8]) -> Self {
        Self::finish(Sha256::new_with_prefix(payload))
    }

    pub(crate) fn finish(hash: Sha256) -> Self {
        Self(hash.finalize().into())
    }

    /// Its bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl core::fmt::Display for PayloadHash {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl core::fmt::Debug for PayloadHash {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Display::fmt(self, f)
    }
}

impl core::str::FromStr for PayloadHash {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        let refused = || Error::invalid("payload hash", text, "64 hexadecimal digits, no capitals");
        let mut hash = [0; 32];
        for (byte, digits) in hash.iter_mut().zip(text.as_bytes().as_chunks::<2>().0) {
            let digits = core::str::from_utf8(digits).map_err(|_| refused())?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| refused())?;
        }
        // One way to write it: neither capitals nor signs nor more digits.
        if hex(&hash) == text { Ok(Self(hash)) } else { Err(refused()) }
    }
}

impl TryFrom<String> for PayloadHash {
    type Error = Error;
    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<PayloadHash> for String {
    fn from(hash: PayloadHash) -> Self {
        hash.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Expected texts from Python 3.11: `json.dumps(x, sort_keys=True, separators=(",", ":"),
    /// ensure_ascii=False)`.
    #[test]
    fn the_text_is_what_python_writes() {
        for (value, text) in [
            (json!({"b": [1, -2, 1.0], "a": {}, "B": []}), r#"{"B":[],"a":{},"b":[1,-2,1.0]}"#),
            (json!([0.0, -0.0, 0.1, 1e-4, 0.000123]), "[0.0,-0.0,0.1,0.0001,0.000123]"),
            (json!([1e-5, 1.5e-7, 5e-324, -1e-300]), "[1e-05,1.5e-07,5e-324,-1e-300]"),
            (
                json!([1e15, 123456789012345680.0, 1e16]),
                "[1000000000000000.0,1.2345678901234568e+17,1e+16]",
            ),
            (json!([f64::MAX, 9007199254740993.0]), "[1.7976931348623157e+308,9007199254740992.0]"),
            (
                json!([u64::MAX, i64::MIN, null, true]),
                "[18446744073709551615,-9223372036854775808,null,true]",
            ),
            (
                json!("\"\\/\n\t\u{1}\u{7f}\u{e9}\u{1f600}"),
                "\"\\\"\\\\/\\n\\t\\u0001\u{7f}\u{e9}\u{1f600}\"",
            ),
            (
                json!({"\u{e9}": 1, "z": 2, "\u{1f600}": 3, "\u{ffff}": 4}),
                "{\"z\":2,\"\u{e9}\":1,\"\u{ffff}\":4,\"\u{1f600}\":3}",
            ),
        ] {
            assert_eq!(canonical(&value), text);
            let back: Value = serde_json::from_str(text).unwrap();
            assert_eq!(canonical(&back), text, "and it reads back as itself");
        }
    }

    #[test]
    fn a_payload_hash_has_one_text() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let hash = PayloadHash::of(b"");
        assert_eq!(hash.to_string(), empty);
        assert_eq!(empty.parse::<PayloadHash>().unwrap(), hash);
        let more = format!("{empty}00");
        for bad in
            [&empty[1..], &empty[2..], &more, &empty.to_uppercase(), &empty.replace("e3", "+3")]
        {
            assert!(bad.parse::<PayloadHash>().is_err(), "{bad}");
        }
    }
}
