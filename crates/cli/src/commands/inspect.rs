//! `dps inspect` and `dps verify`: of release files and of certificates.

use super::loaded::Loaded;
use super::recheck::{self, Recheck};
use crate::error::{Error, Result};
use crate::output::Record;
use clap::Args;
use dp_core::Certificate;
use dp_core::release_file::{AnyCertificate, CertificateClass, MAGIC, Summary, read_summary};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Most bytes of a certificate.
const LONGEST: u64 = 1 << 24;

/// What is said of a sensitivity that was computed again.
const AGREES: &str = "computed again from the public seed: agrees";

/// Options of `dps inspect`.
#[derive(Args)]
pub(crate) struct Inspect {
    /// A release file, or a certificate (JSON).
    file: PathBuf,
    /// Print the certificate alone, as JSON.
    #[arg(long)]
    certificate: bool,
}

/// Options of `dps verify`.
#[derive(Args)]
pub(crate) struct Verify {
    /// A release file, or a certificate (JSON).
    file: PathBuf,
}

/// Whether a file begins as release files do.
pub(crate) fn is_release(path: &Path) -> Result<bool> {
    let mut start = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
    let read = file.take(MAGIC.len() as u64).read_to_end(&mut start);
    read.map_err(|e| Error::io(path, e))?;
    Ok(start == MAGIC)
}

fn read_text(path: &Path) -> Result<String> {
    let neither =
        || Error::Refused(format!("{}: neither a release nor a certificate", path.display()));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|e| Error::io(path, e))?;
    if bytes.len() as u64 > LONGEST {
        return Err(neither());
    }
    String::from_utf8(bytes).map_err(|_| neither())
}

/// What a release file says about itself, checked.
pub(crate) fn open(path: &Path) -> Result<Summary> {
    if !is_release(path)? {
        return Err(Error::Refused(format!("{}: not a release file", path.display())));
    }
    Ok(read_summary(path)?)
}

/// The verified certificate of a release file or of a JSON text.
pub(crate) fn read_certificate(path: &Path) -> Result<AnyCertificate> {
    if is_release(path)? {
        return Ok(open(path)?.certificate);
    }
    let text = read_text(path)?;
    let classes = [CertificateClass::Private, CertificateClass::Individual, CertificateClass::None];
    let mut first = None;
    for class in classes {
        match AnyCertificate::from_json(class, &text) {
            Ok(certificate) => return Ok(certificate),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.map_or_else(|| Error::Refused("no certificate".into()), Error::from))
}

fn class_name(certificate: &AnyCertificate) -> &'static str {
    match certificate.class() {
        CertificateClass::Private => "differential privacy",
        CertificateClass::Individual => {
            "individual differential privacy: no differential privacy, never composes with it"
        }
        _ => "no guarantee of any kind",
    }
}

impl Inspect {
    pub(crate) fn run(&self) -> Result<Record> {
        let path = &self.file;
        let record = Record::new().text("file", path.display().to_string());
        if is_release(path)? {
            let summary = open(path)?;
            if self.certificate {
                crate::output::print(&(summary.certificate.to_json() + "\n"));
                return Ok(Record::silent());
            }
            let text = summary.certificate.to_json();
            let record = facts(record, &summary);
            let verdict = format!("holds together ({})", class_name(&summary.certificate));
            return Ok(fields(record, &text)?.text("verification", verdict));
        }
        let text = read_text(path)?;
        if self.certificate {
            crate::output::print(&(read_certificate(path)?.to_json() + "\n"));
            return Ok(Record::silent());
        }
        let record = fields(record, &text)?;
        let verdict = match read_certificate(path) {
            Ok(certificate) => format!("holds together ({})", class_name(&certificate)),
            Err(error) => format!("does NOT hold together: {error}"),
        };
        Ok(record.text("verification", verdict))
    }
}

fn fields(mut record: Record, certificate: &str) -> Result<Record> {
    let value: serde_json::Value = serde_json::from_str(certificate)
        .map_err(|e| Error::Refused(format!("not a certificate: {e}")))?;
    for (name, value) in value.as_object().into_iter().flatten() {
        record = record.json(name, value);
    }
    Ok(record)
}

/// What a release file says besides its certificate.
fn facts(record: Record, summary: &Summary) -> Record {
    record
        .text("kind", summary.kind.name())
        .integer("rows", summary.rows)
        .integer("columns", summary.columns)
        .text("fingerprint", &summary.fingerprint)
}

impl Verify {
    pub(crate) fn run(&self) -> Result<Record> {
        let mut record = Record::new().text("verdict", "holds together");
        if is_release(&self.file)? {
            let summary = open(&self.file)?;
            record = facts(record, &summary);
            // Understanding the payload checks it against its parameters and the certificate.
            if let Loaded::Signs(release) = Loaded::read(&self.file)?
                && let Recheck::Agrees = recheck::signs(&release)?
            {
                record = record.text("sensitivity", AGREES);
            }
        }
        let certificate = read_certificate(&self.file)?;
        record = record.text("guarantee", class_name(&certificate));
        if let AnyCertificate::Private(certificate) = &certificate {
            record = promise(record, certificate);
            if let Recheck::Agrees = recheck::sensitivity(certificate)? {
                record = record.text("sensitivity", AGREES);
            }
        }
        Ok(record)
    }
}

fn promise(record: Record, certificate: &Certificate) -> Record {
    let guarantee = certificate.guarantee();
    let generator = serde_json::to_value(certificate.statement().generator).unwrap_or_default();
    let record = record
        .text("mechanism", &certificate.statement().mechanism)
        .text("adjacency", guarantee.adjacency().to_string())
        .number("epsilon", guarantee.budget().epsilon.get())
        .number("delta", guarantee.budget().delta.get())
        .json("noise generator", &generator);
    match guarantee.true_delta() {
        Some(delta) => record.number("true_delta", delta.delta()),
        None => record,
    }
}
