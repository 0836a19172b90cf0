//! `dps verify`: what can be computed again, and what cannot.

use super::attest::SignerOptions;
use super::content::Content;
use super::mapped::with_map_of;
use super::trust::TrustOptions;
use super::worth::{class_name, facts};
use super::{loaded, recheck};
use crate::error::Result;
use crate::output::Record;
use clap::Args;
use dp_core::Certificate;
use dp_core::certificate::{Requirements, Statement};
use dp_core::release_file::AnyCertificate;
use linalg_dp::verify::{Finding, Report};
use sketch::verify::FALSE_ALARM;
use std::path::PathBuf;

/// What a signature fills.
const AUTHORSHIP: &str = "authorship";
/// What it leaves open.
const SIGNED: &str = "signer: whose key it is, that nobody else had it, and when it signed";

/// Options of `dps verify`.
#[derive(Args)]
pub(crate) struct Verify {
    /// A release file, or a certificate (JSON); `-` reads standard input.
    file: PathBuf,
    #[command(flatten)]
    trust: TrustOptions,
    #[command(flatten)]
    signer: SignerOptions,
    /// What must be promised at least, as in `epsilon<=1,delta<=1e-6,adjacency=attribute`; also `beta>=`,
    /// `l2>=`, `bound>=`, `alpha>=`, `rows>=`, `min_size<=`, `provenance=proven`, `generator=os`.
    #[arg(long, value_name = "CLAUSES")]
    require: Option<Requirements>,
}

impl Verify {
    pub(crate) fn run(&self) -> Result<Record> {
        let (mut content, trust) = (Content::open(&self.file)?, self.trust.get());
        if self.signer.asked() {
            content = content.held()?;
        }
        let record = Record::new().text("verdict", "holds together");
        let mut record = self.signer.check_release(record, &self.file, &content)?;
        let (certificate, report) = if content.is_release()? {
            let (summary, report) = loaded::examined(&content, &trust)?;
            record = facts(record, &summary)?;
            if report.payload == Finding::Agrees {
                let text = format!(
                    "values lie on the stated grid, and vary no less than the stated noise (false \
                     alarm at most {FALSE_ALARM:e})"
                );
                record = record.text("payload", text);
            }
            (summary.certificate, report)
        } else {
            let certificate = content.certificate()?;
            record = with_map_of(record, certificate.statement())?;
            let again = recheck::certificate(&certificate, &trust)?;
            let none = Finding::NotChecked("there is none beside a certificate");
            let report = Report::new(again, none);
            report.require(&certificate, &trust)?;
            (certificate, report)
        };
        for exception in trust.check(&certificate)? {
            record = record.text("accepted by name", exception.fault());
        }
        if let Some(requirements) = &self.require {
            requirements.check(&certificate)?;
            record = record.text("promises", requirements.to_string());
        }
        record = record.text("guarantee", class_name(&certificate));
        if let AnyCertificate::Private(certificate) = &certificate {
            record = promise(record, certificate);
        }
        if report.sensitivity == Finding::Agrees {
            let text = "computed again from the public parameters: agrees";
            record = record.text("sensitivity", text);
        }
        let mut gaps = gaps(&report, certificate.statement());
        if self.signer.asked() {
            gaps.retain(|gap| !gap.starts_with(AUTHORSHIP));
            gaps.push(SIGNED.to_owned());
        }
        let gaps = gaps.iter().map(|gap| Record::new().text("not checked", gap)).collect();
        Ok(record.table("not checked", gaps))
    }
}

/// All that was not checked.
pub(super) fn gaps(report: &Report, statement: &Statement) -> Vec<String> {
    let found = [gap("payload", report.payload), gap("sensitivity", report.sensitivity)];
    found.into_iter().flatten().chain(always(statement)).collect()
}

/// What was not checked, and why.
fn gap(what: &str, found: Finding) -> Option<String> {
    match found {
        Finding::Agrees => None,
        Finding::NotChecked(why) | Finding::NothingStated(why) => Some(format!("{what}: {why}")),
        _ => Some(what.to_owned()),
    }
}

/// What no reader can compute.
fn always(statement: &Statement) -> Vec<String> {
    let names: Vec<&str> = statement.public.keys().map(String::as_str).collect();
    let mut gaps = vec![
        format!(
            "{AUTHORSHIP}: no signature was checked, so whoever can write the file can write another"
        ),
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
