//! `dps inspect` and `dps verify`.

use crate::error::{Error, Result};
use crate::output::Record;
use clap::Args;
use dp_core::{Certificate, IndividualCertificate, NoGuarantee};
use std::path::PathBuf;

/// Options of `dps inspect`.
#[derive(Args)]
pub(crate) struct Inspect {
    /// A certificate (JSON).
    file: PathBuf,
}

/// Options of `dps verify`.
#[derive(Args)]
pub(crate) struct Verify {
    /// A certificate (JSON).
    file: PathBuf,
}

fn read(path: &PathBuf) -> Result<String> {
    std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.clone(), source })
}

impl Inspect {
    pub(crate) fn run(&self) -> Result<Record> {
        let text = read(&self.file)?;
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|e| {
            Error::Usage(format!("{}: not a certificate: {e}", self.file.display()))
        })?;
        let mut record = Record::new().text("file", self.file.display().to_string());
        for (name, value) in value.as_object().into_iter().flatten() {
            record = record.json(name, value);
        }
        let verdict = match check(&text) {
            Ok(kind) => format!("holds together ({kind})"),
            Err(error) => format!("does NOT hold together: {error}"),
        };
        Ok(record.text("verification", verdict))
    }
}

impl Verify {
    pub(crate) fn run(&self) -> Result<Record> {
        let text = read(&self.file)?;
        let kind = check(&text)?;
        let mut record = Record::new().text("verdict", "holds together").text("kind", kind);
        if let Ok(certificate) = Certificate::from_json(&text) {
            let guarantee = certificate.guarantee();
            record = record
                .text("mechanism", &certificate.statement().mechanism)
                .text("adjacency", guarantee.adjacency().to_string())
                .number("epsilon", guarantee.budget().epsilon.get())
                .number("delta", guarantee.budget().delta.get());
            if let Some(true_delta) = guarantee.true_delta() {
                record = record.number("true_delta", true_delta.delta());
            }
        }
        Ok(record)
    }
}

/// Verifies a certificate of any kind and says which it is.
fn check(text: &str) -> Result<&'static str> {
    let differential = match Certificate::from_json(text) {
        Ok(_) => return Ok("differential privacy"),
        Err(error) => error,
    };
    if IndividualCertificate::from_json(text).is_ok() {
        return Ok(
            "individual differential privacy: no differential privacy, never composes with it",
        );
    }
    if NoGuarantee::from_json(text).is_ok() {
        return Ok("no guarantee of any kind");
    }
    Err(differential.into())
}
