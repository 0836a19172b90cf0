//! Programs in another language that tests ask, and numbers for them.

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};

/// What a script of `tools/reference` answers; nothing where there is no Python with those modules, which is said.
pub(crate) fn ask(script: &str, modules: &str, question: &str) -> Option<Value> {
    let found = Command::new("python3").args(["-c", &format!("import {modules}")]).output();
    if !found.is_ok_and(|out| out.status.success()) {
        // Straight to the terminal: the test's own output is shown only when it fails.
        let text = format!("NOT RUN: tools/reference/{script} (no python3 with {modules} here)");
        let _ = writeln!(std::io::stderr(), "{text}");
        return None;
    }
    let path = format!("{}/../../tools/reference/{script}", env!("CARGO_MANIFEST_DIR"));
    let mut child = Command::new("python3")
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(question.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{script} failed");
    Some(serde_json::from_slice(&out.stdout).unwrap())
}

/// A number in hexadecimal, as other languages read it.
pub(crate) fn hex(x: f64) -> String {
    let (mantissa, exponent) = (x.abs().to_bits() & ((1 << 52) - 1), x.abs().to_bits() >> 52);
    let sign = if x < 0.0 { "-" } else { "" };
    assert!(x == 0.0 || exponent > 0, "no subnormal number is in a table");
    let lead = u8::from(exponent > 0);
    format!("{sign}0x{lead}.{mantissa:013x}p{}", exponent as i64 - 1023)
}

/// What [`hex`] wrote.
pub(crate) fn parsed(text: &str) -> f64 {
    let (sign, digits) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
    let (mantissa, exponent) = digits[4..].split_once('p').unwrap();
    let fraction = u64::from_str_radix(mantissa, 16).unwrap() as f64 * 2f64.powi(-52);
    let lead = f64::from(u8::from(digits.as_bytes()[2] == b'1'));
    sign * (lead + fraction) * 2f64.powi(exponent.parse().unwrap())
}
