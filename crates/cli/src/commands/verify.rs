//! `dps verify`: what can be computed again, and what cannot.

use super::content::Content;
use super::inspect::{class_name, facts};
use super::loaded::Loaded;
use super::recheck;
use crate::error::{Error, Result};
use crate::output::Record;
use clap::{Args, ValueEnum};
use dp_core::Certificate;
use dp_core::Provenance;
use dp_core::certificate::Statement;
use dp_core::noise::GeneratorKind;
use dp_core::release_file::AnyCertificate;
use sketch::verify::{FALSE_ALARM, Finding};
use std::path::PathBuf;

/// Options of `dps verify`.
#[derive(Args)]
pub(crate) struct Verify {
    /// A release file, or a certificate (JSON); `-` reads standard input.
    file: PathBuf,
    /// Let a release pass that is not proven differential privacy with secret noise, for this reason.
    #[arg(long, value_enum, value_delimiter = ',')]
    accept: Vec<Exception>,
}

/// What is refused unless it is accepted by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Exception {
    /// Noise or a projection from a generator that anyone can run again.
    TestNoise,
    /// Individual differential privacy, which is not differential privacy.
    Individual,
    /// A claim of a paper that is not proven here.
    Published,
    /// The word of whoever wrote the certificate.
    Declared,
    /// No guarantee of any kind.
    NoGuarantee,
}

impl Exception {
    /// Name of the option's value, and what is wrong.
    fn words(self) -> [&'static str; 2] {
        match self {
            Self::TestNoise => {
                ["test-noise", "its randomness is from a generator that anyone can run again"]
            }
            Self::Individual => ["individual", "it is not differential privacy"],
            Self::Published => ["published", "its guarantee is a published claim, not proven here"],
            Self::Declared => {
                ["declared", "its guarantee is declared by whoever wrote it, not proven"]
            }
            Self::NoGuarantee => ["no-guarantee", "it has no guarantee of any kind"],
        }
    }
}

impl Verify {
    pub(crate) fn run(&self) -> Result<Record> {
        let content = Content::open(&self.file)?;
        let mut record = Record::new().text("verdict", "holds together");
        let mut gaps: Vec<String> = Vec::new();
        let (certificate, again) = if content.is_release()? {
            let (_, summary, report) = Loaded::checked(&content)?;
            record = facts(record, &summary);
            match report.payload {
                Finding::Agrees => {
                    let text = format!(
                        "values lie on the stated grid, and vary no less than the stated noise (false \
                         alarm at most {FALSE_ALARM:e})"
                    );
                    record = record.text("payload", text);
                }
                found => gaps.extend(gap("payload", found)),
            }
            (summary.certificate, report.sensitivity)
        } else {
            gaps.push("payload: there is none beside a certificate".into());
            let certificate = content.certificate()?;
            let again = match &certificate {
                AnyCertificate::Private(certificate) => recheck::certificate(certificate)?,
                _ => Finding::NotChecked("it gives no differential privacy"),
            };
            (certificate, again)
        };
        for exception in exceptions(&certificate) {
            let [name, wrong] = exception.words();
            if !self.accept.contains(&exception) {
                return Err(Error::Refused(format!(
                    "not accepted: {wrong}. What it states of itself holds together; --accept {name} lets \
                     it pass"
                )));
            }
            record = record.text("accepted by name", wrong);
        }
        record = record.text("guarantee", class_name(&certificate));
        if let AnyCertificate::Private(certificate) = &certificate {
            record = promise(record, certificate);
        }
        if again == Finding::Agrees {
            let text = "computed again from the public parameters: agrees";
            record = record.text("sensitivity", text);
        }
        gaps.extend(gap("sensitivity", again));
        gaps.extend(always(certificate.statement()));
        let gaps = gaps.iter().map(|gap| Record::new().text("not checked", gap)).collect();
        Ok(record.table("not checked", gaps))
    }
}

/// What was not checked, and why.
fn gap(what: &str, found: Finding) -> Option<String> {
    match found {
        Finding::Agrees => None,
        Finding::NotChecked(why) => Some(format!("{what}: {why}")),
        _ => Some(what.to_owned()),
    }
}

/// What a certificate needs to be accepted for.
fn exceptions(certificate: &AnyCertificate) -> Vec<Exception> {
    let mut found = Vec::new();
    let known = match certificate {
        AnyCertificate::None(_) => return vec![Exception::NoGuarantee],
        AnyCertificate::Individual(certificate) => {
            found.push(Exception::Individual);
            certificate.statement.generator != GeneratorKind::OsChacha12
        }
        AnyCertificate::Private(certificate) => {
            match certificate.guarantee().provenance() {
                Provenance::Proven { .. } => {}
                Provenance::Published { .. } => found.push(Exception::Published),
                Provenance::Declared { .. } => found.push(Exception::Declared),
            }
            certificate.require_secret_randomness().is_err()
        }
    };
    if known {
        found.push(Exception::TestNoise);
    }
    found
}

/// What no reader can compute.
fn always(statement: &Statement) -> Vec<String> {
    let names: Vec<&str> = statement.public.keys().map(String::as_str).collect();
    let mut gaps = vec![
        "authorship: nothing is signed, so whoever can write the file can write another".to_owned(),
        "noise: who drew it, that nobody kept it, and that it was drawn once".into(),
        "data: that they are within the declared bounds, and what is one row in them".into(),
    ];
    if !names.is_empty() {
        gaps.push(format!("public parameters that nothing else fixes, among {}", names.join(", ")));
    }
    gaps
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
