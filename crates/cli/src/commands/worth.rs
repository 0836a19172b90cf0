//! What a certificate is worth, and what a release file says besides it.

use super::mapped::with_map_of;
use crate::error::Result;
use crate::output::Record;
use dp_core::Provenance;
use dp_core::certificate::Exception;
use dp_core::release_file::{AnyCertificate, Summary};

pub(super) fn class_name(certificate: &AnyCertificate) -> &'static str {
    match certificate {
        AnyCertificate::Private(certificate) => basis(certificate.guarantee().provenance()),
        AnyCertificate::Individual(_) => {
            "individual differential privacy: no differential privacy, never composes with it"
        }
        AnyCertificate::None(_) => "no guarantee of any kind",
    }
}

/// What a guarantee is worth.
pub(super) fn basis(provenance: &Provenance) -> &'static str {
    match provenance {
        Provenance::Proven { .. } => "differential privacy",
        Provenance::Published { .. } => {
            "a published claim of differential privacy, not proven here"
        }
        Provenance::Declared { .. } => "differential privacy as its writer declares it, not proven",
    }
}

/// What stands against believing the certificate, one point each.
pub(super) fn doubts(certificate: &AnyCertificate) -> Vec<String> {
    let doubt = |exception: Exception| match exception {
        Exception::TestNoise => {
            format!("{}: none of its numbers holds against whoever does", exception.fault())
        }
        exception => format!("{}: its numbers are no better than that", exception.fault()),
    };
    certificate.exceptions().into_iter().map(doubt).collect()
}

/// What is said of names of rows.
pub(super) const IDS: &str = "public, and not protected";

/// What a release file says besides its certificate.
pub(super) fn facts(record: Record, summary: &Summary) -> Result<Record> {
    let record = match summary.ids {
        Some(_) => record.text("ids of rows", IDS),
        None => record,
    };
    let record = with_map_of(record, summary.certificate.statement())?;
    Ok(record
        .text("kind", summary.kind.name())
        .integer("rows", summary.rows)
        .integer("columns", summary.columns)
        .text("fingerprint", &summary.fingerprint))
}
