//! Runs the binary in a folder of its own.

#![allow(dead_code)] // every test file uses its part

use dp_core::certificate::canonical;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A temporary folder and `dps` run in it.
pub(crate) struct Room {
    folder: TempDir,
}

impl Room {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), bytes).expect("written");
        self.path(name)
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("exists")
    }

    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dps"));
        command.args(arguments.split_whitespace()).current_dir(self.folder.path());
        command
    }

    pub(crate) fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().expect("the binary runs")
    }

    /// Runs with these bytes on standard input.
    pub(crate) fn pipe(&self, arguments: &str, input: &[u8]) -> Output {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let mut stdin = child.stdin.take().expect("piped");
        let input = input.to_vec();
        // A process that refuses early closes its end.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().expect("ends");
        writer.join().expect("ends");
        output
    }

    /// Runs with `--json`, which must succeed.
    pub(crate) fn json(&self, arguments: &str) -> Value {
        let output = self.run(&format!("{arguments} --json"));
        assert!(output.status.success(), "{arguments}: {}", text(&output));
        serde_json::from_slice(&output.stdout).expect("one JSON object")
    }

    /// Runs, must fail with this status and these words on standard error, and must leave no
    /// release behind.
    pub(crate) fn refuses(&self, arguments: &str, status: i32, words: &[&str]) {
        let output = self.run(arguments);
        let all = text(&output);
        assert_eq!(output.status.code(), Some(status), "{arguments}: {all}");
        for word in words {
            assert!(all.contains(word), "{arguments}: no {word:?} in: {all}");
        }
        assert!(output.stdout.is_empty(), "{arguments}: {all}");
        assert!(!self.path("refused.dps").exists(), "{arguments}: a release was left");
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Everything a run printed.
pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// n x d numbers in [-1, 1] with two decimals.
pub(crate) fn numbers(n: usize, d: usize) -> Vec<f64> {
    (0..n * d).map(|i| ((i * 7919 + i * i * 31) % 201) as f64 / 100.0 - 1.0).collect()
}

/// CSV text with a header `a0,a1,...`.
pub(crate) fn csv(values: &[f64], d: usize) -> String {
    let header: Vec<String> = (0..d).map(|j| format!("a{j}")).collect();
    let mut out = header.join(",") + "\n";
    for row in values.chunks(d) {
        let row: Vec<String> = row.iter().map(f64::to_string).collect();
        out += &(row.join(",") + "\n");
    }
    out
}

/// A number of a JSON object.
pub(crate) fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or_else(|| panic!("{name} in {value}"))
}

/// The certificate with the digest that its fields have.
pub(crate) fn signed_again(certificate: &str) -> String {
    let mut value: Value = serde_json::from_str(certificate).expect("JSON");
    value.as_object_mut().expect("an object").remove("digest");
    let digest = Sha256::digest(canonical(&value));
    value["digest"] = digest.iter().map(|b| format!("{b:02x}")).collect::<String>().into();
    canonical(&value)
}

/// A release file with an edit of its payload, and every hash, digest and checksum set right again:
/// what a forger writes who knows the format.
pub(crate) fn forged(file: &[u8], edit: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let end = file.len() - 40;
    let length = u64::from_le_bytes(file[end..end + 8].try_into().expect("eight bytes"));
    let (mut payload, trailer) = (file[16..end].to_vec(), end - length as usize);
    payload.truncate(trailer - 16);
    edit(&mut payload);
    let hash = Sha256::digest(&payload);
    let mut fields: Value = serde_json::from_slice(&file[trailer..end]).expect("JSON");
    let certificate = &mut fields["certificate"];
    certificate["payload"] = hash.iter().map(|b| format!("{b:02x}")).collect::<String>().into();
    *certificate = serde_json::from_str(&signed_again(&certificate.to_string())).expect("JSON");
    let mut rest = canonical(&fields).into_bytes();
    rest.extend((rest.len() as u64).to_le_bytes());
    let sum = Sha256::new().chain_update(&file[..16]).chain_update(hash).chain_update(&rest);
    [&file[..16], &payload, &rest, &sum.finalize()].concat()
}
