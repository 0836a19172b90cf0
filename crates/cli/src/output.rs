//! What a command prints: named values, as text or as one JSON object.

use dp_core::text::{printable, printable_json};
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whether standard output holds a release, and words go to standard error.
static ASIDE: AtomicBool = AtomicBool::new(false);

/// From here on standard output is for a release only.
pub(crate) fn set_aside() {
    ASIDE.store(true, Ordering::Relaxed);
}

/// Writes to standard output; a reader that went away (`dps ... | head`) is no error.
pub(crate) fn print(text: &str) -> ExitCode {
    if ASIDE.load(Ordering::Relaxed) {
        // Whoever closed standard error does not want to know.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        return ExitCode::SUCCESS;
    }
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            complain(&format!("standard output: {e}"));
            ExitCode::from(3)
        }
        _ => ExitCode::SUCCESS,
    }
}

/// A line on standard error, whose words may be those of a file or of a path; whoever closed it, or has no
/// room for it, does not want to know.
pub(crate) fn complain(text: &str) {
    if let Some(warning) = text.strip_prefix("warning: ") {
        warned().push(warning.to_owned());
    }
    let _ = writeln!(std::io::stderr().lock(), "dps: {}", printable(text));
}

/// A line below the one before, in the same way.
pub(crate) fn complain_below(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "  {}", printable(text));
}

/// Warnings of this run: JSON repeats them inside, for programs that do not read standard error.
static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn warned() -> MutexGuard<'static, Vec<String>> {
    WARNINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Seconds since 1970 as a date and time of day in UTC (Hinnant's civil calendar).
pub(crate) fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let (day, month) = (
        day_of_year - (153 * shifted + 2) / 5 + 1,
        if shifted < 10 { shifted + 3 } else { shifted - 9 },
    );
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// A line a value.
    Text,
    /// One JSON object on one line.
    Json,
}

/// Named values in order. Numbers carry 17 significant digits: they read back as the same `f64`. In JSON names are in
/// snake case, and whole numbers that not every reader holds exactly (2^53 and above: seeds) are texts.
#[derive(Debug, Default)]
pub(crate) struct Record {
    fields: Vec<(String, Box<RawValue>)>,
    tables: Vec<(String, Vec<Record>)>,
    silent: bool,
}

impl Record {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Nothing: the command has printed already.
    pub(crate) fn silent() -> Self {
        Self { silent: true, ..Self::default() }
    }

    /// Adds a list of names.
    pub(crate) fn names(self, name: &str, list: &[String]) -> Self {
        self.json(name, &list.into())
    }

    /// Adds a real number.
    pub(crate) fn number(self, name: &str, value: f64) -> Self {
        let text = if value.is_finite() { seventeen(value) } else { "null".into() };
        self.raw(name, text)
    }

    /// Adds a whole number.
    pub(crate) fn integer(self, name: &str, value: u64) -> Self {
        self.json(name, &value.into())
    }

    /// Adds a text.
    pub(crate) fn text(self, name: &str, value: impl AsRef<str>) -> Self {
        let text = serde_json::to_string(value.as_ref()).expect("strings serialise");
        self.raw(name, text)
    }

    /// Adds a list of records of equal fields: an array in JSON, a table in text.
    pub(crate) fn table(mut self, name: &str, rows: Vec<Record>) -> Self {
        self.tables.push((name.to_owned(), rows));
        self
    }

    /// Adds a JSON value as it stands.
    pub(crate) fn json(self, name: &str, value: &serde_json::Value) -> Self {
        self.raw(name, exact(value).to_string())
    }

    /// For programs, what this run warned of.
    pub(crate) fn with_warnings(self, format: Format) -> Self {
        let warnings = warned();
        if format == Format::Text || warnings.is_empty() {
            return self;
        }
        self.names("warnings", &warnings)
    }

    /// The fields and tables of another record after its own.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.fields.extend(other.fields);
        self.tables.extend(other.tables);
        self
    }

    fn raw(mut self, name: &str, json: String) -> Self {
        let value = RawValue::from_string(json).expect("valid JSON");
        self.fields.push((name.to_owned(), value));
        self
    }

    /// The text to print, with its line end.
    pub(crate) fn render(&self, format: Format) -> String {
        match format {
            _ if self.silent => String::new(),
            Format::Json => printable_json(&self.object()).into_owned() + "\n",
            Format::Text => {
                let mut lines = Vec::new();
                for (name, value) in &self.fields {
                    flatten(printable(name).into_owned(), &parsed(value), &mut lines);
                }
                let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
                let mut out = String::new();
                for (name, value) in &lines {
                    let _ = writeln!(out, "{name:width$}  {value}");
                }
                for (_, rows) in &self.tables {
                    out += &text_table(rows);
                }
                out
            }
        }
    }

    fn object(&self) -> String {
        let quoted = |name: &str| serde_json::to_string(&snake(name)).expect("strings serialise");
        let fields = self.fields.iter().map(|(name, v)| format!("{}: {}", quoted(name), v.get()));
        let tables = self.tables.iter().map(|(name, rows)| {
            let rows: Vec<String> = rows.iter().map(Self::object).collect();
            format!("{}: [{}]", quoted(name), rows.join(", "))
        });
        format!("{{{}}}", fields.chain(tables).collect::<Vec<_>>().join(", "))
    }
}

/// A name as programs like them: `not checked` is `not_checked`.
fn snake(name: &str) -> String {
    let parts = name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("_")
}

/// A value whose whole numbers of 2^53 and above are texts of their digits.
fn exact(value: &Value) -> Value {
    match value {
        Value::Number(n) if n.as_u64().is_some_and(|n| n >= 1 << 53) => n.to_string().into(),
        Value::Array(list) => list.iter().map(exact).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), exact(value))).collect()
        }
        other => other.clone(),
    }
}

fn parsed(value: &RawValue) -> Value {
    serde_json::from_str(value.get()).expect("valid JSON")
}

/// Names of a list that a person is shown.
const MOST_NAMES: usize = 100;

/// A value as a person reads it: numbers in the shortest form that reads back as the same.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => printable(text).into_owned(),
        Value::Array(list) if !list.is_empty() && list.iter().all(Value::is_string) => {
            let some: Vec<String> = list.iter().take(MOST_NAMES).map(plain).collect();
            let more = list.len() - some.len();
            let more = if more > 0 {
                format!(", and {more} more (--json lists them)")
            } else {
                String::new()
            };
            some.join(", ") + &more
        }
        Value::Number(number) if number.is_f64() => {
            number.as_f64().map_or_else(|| number.to_string(), |x| format!("{x:?}"))
        }
        other => printable(&other.to_string()).into_owned(),
    }
}

/// A line a value: those of objects under the names that lead to them.
fn flatten(name: String, value: &Value, lines: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                flatten(format!("{name}.{}", printable(key)), value, lines);
            }
        }
        value => lines.push((name, plain(value))),
    }
}

/// Columns padded to equal width, under their names; six digits.
fn text_table(rows: &[Record]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let short = |value: &RawValue| match value.get().parse::<f64>() {
        Ok(x) if value.get().contains(['.', 'e']) => Short(x).to_string(),
        _ => plain(&parsed(value)),
    };
    let mut lines = vec![first.fields.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()];
    lines.extend(rows.iter().map(|row| row.fields.iter().map(|(_, v)| short(v)).collect()));
    let columns = first.fields.len();
    let width = |c: usize| lines.iter().filter_map(|l| l.get(c)).map(|t| t.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|c| width(c).unwrap_or(0)).collect();
    let mut out = String::new();
    for line in &lines {
        let cells: Vec<String> =
            line.iter().zip(&widths).map(|(cell, &w)| format!("{cell:w$}")).collect();
        let _ = writeln!(out, "{}", cells.join("  ").trim_end());
    }
    out
}

/// Six significant digits.
struct Short(f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let magnitude = self.0.abs();
        if magnitude == 0.0 || (1e-3..1e6).contains(&magnitude) {
            let before = if magnitude < 1.0 { 1 } else { magnitude.log10() as usize + 1 };
            write!(f, "{:.*}", 7usize.saturating_sub(before), self.0)
        } else {
            write!(f, "{:.4e}", self.0)
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

    #[test]
    fn programs_read_snake_case_and_whole_seeds() {
        let seed = (1_u64 << 53) + 1;
        let record = Record::new().integer("projection seed", seed).integer("k", (1 << 53) - 1);
        let record = record.json("public", &serde_json::json!({"seed": [seed, 0.1]}));
        let record = record.table("not checked", vec![Record::new().text("noise, or who", "x")]);
        let json: Value = serde_json::from_str(&record.render(Format::Json)).expect("JSON");
        let expected = serde_json::json!({
            "projection_seed": "9007199254740993",
            "k": 9_007_199_254_740_991_u64,
            "public": {"seed": ["9007199254740993", 0.1]},
            "not_checked": [{"noise_or_who": "x"}],
        });
        assert_eq!(json, expected);
        assert!(record.render(Format::Text).contains("projection seed  9007199254740993\n"));
    }

    #[test]
    fn people_read_short_numbers_and_no_braces() {
        let certificate = serde_json::json!({"budget": {"delta": 1e-6, "rows": 3}, "list": [1, 2]});
        let record = Record::new().number("epsilon", 8.0).number("delta", 1e-7);
        let record = record.json("certificate", &certificate).json("seed", &u64::MAX.into());
        let text = record.render(Format::Text);
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        let expected = [
            ["epsilon", "8.0"],
            ["delta", "1e-7"],
            ["certificate.budget.delta", "1e-6"],
            ["certificate.budget.rows", "3"],
            ["certificate.list", "[1,2]"],
            ["seed", "18446744073709551615"],
        ];
        assert_eq!(lines, expected.map(Vec::from));
    }

    #[test]
    fn tables_are_arrays_or_columns() {
        let row = |k, x| Record::new().integer("k", k).number("error", x);
        let record = Record::new().table("rows", vec![row(1, 0.5), row(200, 1.25e-9)]);
        let json: serde_json::Value =
            serde_json::from_str(&record.render(Format::Json)).expect("JSON");
        assert_eq!(json["rows"][1]["k"], 200);
        assert_eq!(record.render(Format::Text), "k    error\n1    0.500000\n200  1.2500e-9\n");
    }
}
