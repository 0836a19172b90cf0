//! Profiles, upper and lower ends, against the balls of `tools/reference/profile_vectors.py`: another language, other formulas.

use dp_core::accounting::{Event, Pld};
use dp_core::profile::CoordinateProfile;
use dp_core::{Epsilon, PrivacyProfile, Profile};
use serde_json::{Map, Value};
use std::path::Path;

/// A column of a row in place of each `$i`.
fn filled(template: &Value, row: &[Value]) -> Value {
    let of = |v: &Value| filled(v, row);
    match template {
        Value::String(text) => match text.strip_prefix('$') {
            Some(i) => row[i.parse::<usize>().unwrap()].clone(),
            None => template.clone(),
        },
        Value::Array(values) => values.iter().map(of).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(k, v)| (k.clone(), of(v))).collect::<Map<_, _>>())
        }
        _ => template.clone(),
    }
}

/// How many columns a profile takes.
fn columns(template: &Value) -> usize {
    match template {
        Value::String(text) => {
            text.strip_prefix('$').map_or(0, |i| i.parse::<usize>().unwrap() + 1)
        }
        Value::Array(values) => values.iter().map(columns).max().unwrap_or(0),
        Value::Object(fields) => fields.values().map(columns).max().unwrap_or(0),
        _ => 0,
    }
}

/// One row: a profile, an epsilon, and what is true there.
struct Row {
    profile: Profile,
    epsilon: Epsilon,
    /// ln delta is below the sum by less than 2^-59; none where delta is zero.
    truth: Option<(f64, f64)>,
    /// How much more it is at an epsilon a little smaller.
    near: f64,
    text: String,
}

impl Row {
    /// How much is said above the truth.
    fn above(&self, said: f64) -> f64 {
        match self.truth {
            // The difference of two near numbers is exact.
            Some((high, low)) => (said - high) - low,
            // Delta falls by at most what epsilon grows, so it may be this at an epsilon a little smaller.
            None => said - (self.epsilon.get() * 2f64.powi(-47)).ln(),
        }
    }

    /// What errors are measured by.
    fn size(&self) -> f64 {
        self.truth.map_or(1.0, |(high, _)| high.abs().max(1.0))
    }
}

fn rows(text: &str) -> Vec<Row> {
    let mut lines = text.lines();
    let head: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let template = &head["columns"];
    let width = columns(template);
    let row = |line: &str| {
        let values: Vec<Value> = serde_json::from_str(line).unwrap();
        let at = |i: usize| values.get(i).and_then(Value::as_f64);
        let profile: Profile = serde_json::from_value(filled(template, &values)).unwrap();
        profile.check_limits().unwrap();
        let epsilon = at(width).unwrap();
        Row {
            profile,
            epsilon: if epsilon == 0.0 { Epsilon::ZERO } else { Epsilon::new(epsilon).unwrap() },
            truth: at(width + 1).map(|high| (high, at(width + 2).unwrap())),
            near: at(width + 3).unwrap_or(0.0),
            text: line.to_owned(),
        }
    };
    lines.map(row).collect()
}

/// How many files there are.
const KINDS: usize = 29;

/// The kinds with their rows.
fn kinds() -> Vec<(String, Vec<Row>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/second_opinion");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let kind = |file: std::path::PathBuf| {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        (name, rows(&std::fs::read_to_string(file).unwrap()))
    };
    files.into_iter().map(kind).collect()
}

/// Runs of these are composed on a grid of losses: how near the upper end is, the bracket says.
fn on_a_grid(profile: &Profile) -> bool {
    matches!(profile, Profile::Repeated { profile, times: 2.. }
        if matches!(**profile, Profile::PureDp { .. } | Profile::Staircase { .. }))
}

/// Beside 1e-10: of a group, of the logarithm of the number of steps, which is at most epsilon; of coordinates that
/// move by hundreds of noise scales, what a Gaussian's own bound adds.
fn allowed(row: &Row) -> f64 {
    let more = match row.profile {
        Profile::Group { .. } => 1e-13 * row.epsilon.get(),
        // 1e-15 a b of the largest term.
        Profile::BinomialMixture {
            trials,
            coordinate: CoordinateProfile::Gaussian { shift, sigma },
            ..
        } => 2.5e-16 * trials as f64 * (shift.get() / sigma.get()).powi(2),
        _ => 0.0,
    };
    1e-10 + more / row.size()
}

/// From its own epsilon on, the delta that a foreign guarantee states: its logarithm to nearest.
fn as_stated(profile: &Profile, epsilon: Epsilon, said: f64) -> bool {
    matches!(*profile, Profile::ApproximateDp { epsilon: own, delta } if epsilon >= own && said == delta.ln().get())
}

/// Never below the truth; above it by at most 1e-10 of delta, or of ln delta where that is larger, at this epsilon or at one smaller by
/// `2^-47` of itself.
#[test]
fn upper_ends_are_above_and_near() {
    let mut wrong = Vec::new();
    let all = kinds();
    assert_eq!(all.len(), KINDS);
    for (name, rows) in all {
        assert!(rows.len() >= if name == "wishart-replaced" { 30 } else { 1000 }, "{name}");
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for row in &rows {
            let said = row.profile.log_delta(row.epsilon).get();
            if as_stated(&row.profile, row.epsilon, said) {
                continue;
            }
            let above = row.above(said);
            let over = (above - row.near) / row.size();
            most = most.max(over);
            let low = row.truth.is_some() && above < 0.0;
            if row.truth.is_some() {
                least = least.min(above / row.size());
            }
            if low || !on_a_grid(&row.profile) && over > allowed(row) {
                wrong.push(format!("{name}: {above:e} above the truth: {}", row.text));
            }
        }
        println!("{name}: {} rows, {least:.1e} to {most:.1e} above the truth", rows.len());
    }
    assert!(wrong.is_empty(), "{}: {:#?}", wrong.len(), &wrong[..wrong.len().min(100)]);
}

/// The bracket of the numerical composition of one run: the lower end, where there is one, is never above the truth, the upper end never below.
/// One row of a hundred.
#[test]
fn brackets_of_one_run_hold_the_truth() {
    let (mut wrong, mut below) = (Vec::new(), 0);
    for (name, rows) in kinds() {
        for row in rows.iter().step_by(100) {
            let Some((high, low)) = row.truth else { continue };
            let event = Event::once(row.profile.clone());
            let found = Pld::new([&event]).log_delta(row.epsilon);
            // What group privacy gives is an upper bound and no curve of a pair, so that a composition may know better.
            let exact = !matches!(row.profile, Profile::Group { .. });
            if exact && row.above(found.upper.get()) < 0.0 {
                wrong.push(format!("{name}: upper end below the truth: {}", row.text));
            }
            let Some(lower) = found.lower else { continue };
            below += u32::from(lower.get() > f64::NEG_INFINITY);
            // The stored sum is above the truth by less than 2^-59.
            if row.above(lower.get()) > 2f64.powi(-58) * row.size() {
                wrong.push(format!("{name}: {lower} above {high:e} + {low:e}: {}", row.text));
            }
        }
    }
    println!("{below} lower ends");
    assert!(below > 100, "{below}");
    assert!(wrong.is_empty(), "{}: {:#?}", wrong.len(), &wrong[..wrong.len().min(100)]);
}
