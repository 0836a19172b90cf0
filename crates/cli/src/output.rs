//! What a command prints: named values, as text or as one JSON object.

use serde_json::value::RawValue;
use std::fmt::Write;

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// A line a value.
    Text,
    /// One JSON object on one line.
    Json,
}

/// Named values in order. Numbers carry 17 significant digits: they read back as the same `f64`.
#[derive(Debug, Default)]
pub(crate) struct Record {
    fields: Vec<(String, Box<RawValue>)>,
}

impl Record {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a real number.
    pub(crate) fn number(self, name: &str, value: f64) -> Self {
        let text = if value.is_finite() { seventeen(value) } else { "null".into() };
        self.raw(name, text)
    }

    /// Adds a whole number.
    pub(crate) fn integer(self, name: &str, value: u64) -> Self {
        self.raw(name, value.to_string())
    }

    /// Adds a text.
    pub(crate) fn text(self, name: &str, value: impl AsRef<str>) -> Self {
        let text = serde_json::to_string(value.as_ref()).expect("strings serialise");
        self.raw(name, text)
    }

    /// Adds a JSON value as it stands.
    pub(crate) fn json(self, name: &str, value: &serde_json::Value) -> Self {
        self.raw(name, value.to_string())
    }

    fn raw(mut self, name: &str, json: String) -> Self {
        let value = RawValue::from_string(json).expect("valid JSON");
        self.fields.push((name.to_owned(), value));
        self
    }

    /// The text to print, with its line end.
    pub(crate) fn render(&self, format: Format) -> String {
        match format {
            Format::Json => {
                let fields: Vec<String> = self
                    .fields
                    .iter()
                    .map(|(name, value)| {
                        let name = serde_json::to_string(name).expect("strings serialise");
                        format!("{name}: {}", value.get())
                    })
                    .collect();
                format!("{{{}}}\n", fields.join(", "))
            }
            Format::Text => {
                let width = self.fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
                let mut out = String::new();
                for (name, value) in &self.fields {
                    let plain = serde_json::from_str::<String>(value.get());
                    let shown = plain.unwrap_or_else(|_| value.get().to_owned());
                    let _ = writeln!(out, "{name:width$}  {shown}");
                }
                out
            }
        }
    }
}

/// 17 significant digits, in plain notation where that is short.
fn seventeen(value: f64) -> String {
    let scientific = format!("{value:.16e}");
    let exponent: i32 =
        scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    if value == 0.0 {
        "0.0".into()
    } else if (-5..=15).contains(&exponent) {
        format!("{value:.*}", (16 - exponent).max(1) as usize)
    } else {
        scientific
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_unchanged() {
        for value in
            [4.224_678_889_326_835, 1e-300, 0.1, 1.0 / 3.0, 1e15, 123_456.789, 5e-324, 1e300, -2.5]
        {
            let text = seventeen(value);
            assert_eq!(text.parse::<f64>().expect("a number"), value, "{text}");
            serde_json::from_str::<f64>(&text).expect("JSON");
        }
        assert_eq!(seventeen(0.5), "0.50000000000000000");
        assert_eq!(seventeen(1e-7), "9.9999999999999995e-8");
    }

    #[test]
    fn records_are_one_object_or_lines() {
        let record = Record::new().number("sigma", 2.5).text("rule", "a \"b\"").integer("k", 3);
        let json: serde_json::Value =
            serde_json::from_str(&record.render(Format::Json)).expect("JSON");
        assert_eq!(json["sigma"], 2.5);
        assert_eq!(json["rule"], "a \"b\"");
        assert_eq!(record.render(Format::Text).lines().count(), 3);
        assert!(record.render(Format::Text).contains("rule   a \"b\"\n"));
    }
}
