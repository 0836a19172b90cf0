//! `dps inspect`: of release files and of certificates.

use super::content::Content;
use super::mapped::with_map_of;
use super::worth::{class_name, facts};
use super::{recheck, sheet};
use crate::error::{Error, Result};
use crate::output::{Record, print};
use clap::Args;
use dp_core::Guarantee;
use dp_core::accounting::Foreign;
use dp_core::certificate::Trust;
use dp_core::release_file::AnyCertificate;
use dp_core::text::{json_fault, printable_json};
use linalg_dp::verify::Finding;
use std::path::PathBuf;

/// Options of `dps inspect`.
#[derive(Args)]
pub(crate) struct Inspect {
    /// A release file, or a certificate (JSON); `-` reads standard input.
    file: PathBuf,
    /// Print the certificate alone, as JSON.
    #[arg(long)]
    certificate: bool,
    /// Print the guarantee alone, in the JSON form that other accountants read: (epsilon, delta), Gaussian,
    /// or a privacy loss distribution.
    #[arg(long, conflicts_with = "certificate")]
    guarantee: bool,
    /// Write one page (HTML) instead, for whoever must sign the release off: what is protected, how strongly, what
    /// an attacker learns at most, how large the error is, what nobody checked. A file that is there stays.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["certificate", "guarantee"])]
    html: Option<PathBuf>,
}

impl Inspect {
    pub(crate) fn run(&self) -> Result<Record> {
        let content = Content::open(&self.file)?;
        if let Some(path) = &self.html {
            return sheet::write(&content, path);
        }
        if self.guarantee {
            let certificate = content.certificate()?.private()?;
            let guarantee = Guarantee::try_from(&certificate)?;
            print(&printable_json(&(Foreign::of(&guarantee)?.to_json() + "\n")));
            return Ok(Record::silent());
        }
        let record = Record::new().text("file", content.name());
        if content.is_release()? {
            let summary = content.summary()?;
            if self.certificate {
                print(&printable_json(&(summary.certificate.to_json() + "\n")));
                return Ok(Record::silent());
            }
            let text = summary.certificate.to_json();
            let record = facts(record, &summary)?;
            let verdict = verdict(&summary.certificate, recheck::summary(&summary, &Trust::none()));
            return Ok(fields(record, &text)?.text("verification", verdict));
        }
        let text = content.text()?;
        if self.certificate {
            print(&printable_json(&(content.certificate()?.to_json() + "\n")));
            return Ok(Record::silent());
        }
        let mut record = fields(record, &text)?;
        let verdict = match content.certificate() {
            Ok(certificate) => {
                record = with_map_of(record, certificate.statement())?;
                let again = recheck::certificate(&certificate, &Trust::none());
                verdict(&certificate, again)
            }
            Err(error) => format!("does NOT hold together: {error}"),
        };
        Ok(record.text("verification", verdict))
    }
}

/// What holds, and that `dps verify` looks further.
fn verdict(certificate: &AnyCertificate, again: Result<Finding>) -> String {
    match again {
        Ok(Finding::NotChecked(why)) => format!(
            "the certificate holds together by itself, but the sensitivity that it states was NOT computed \
             again: {why}; dps verify looks further"
        ),
        Ok(_) => format!(
            "the certificate holds together ({}); dps verify checks the payload too",
            class_name(certificate)
        ),
        Err(error) => format!("does NOT hold together: {error}"),
    }
}

fn fields(mut record: Record, certificate: &str) -> Result<Record> {
    let value: serde_json::Value = serde_json::from_str(certificate)
        .map_err(|e| Error::Refused(format!("not a certificate: {}", json_fault(&e))))?;
    // What is no certificate may be anything, and is not shown.
    if !["format", "class", "digest"].iter().all(|name| value.get(name).is_some()) {
        return Err(Error::Refused("not a certificate".into()));
    }
    for (name, value) in value.as_object().into_iter().flatten() {
        record = record.json(name, value);
    }
    Ok(record)
}
