//! Unit vectors in release files.

use super::release::UnitVectors;
use crate::error::Error;
use crate::projection::ProjectionSpec;
use crate::written::check_stated;
use dp_core::NormBound;
use dp_core::certificate::Statement;
use dp_core::release_file::{
    CertificateClass, Kind, Opened, Payload, Writer, numbers_f32, to_json,
};
use serde::{Deserialize, Serialize};
use std::io::Write;

/// All that is not in the payload.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    pub(super) projection: ProjectionSpec,
    pub(super) lengths: Option<NormBound>,
}

impl Payload for UnitVectors {
    type Error = Error;

    fn kinds(class: CertificateClass) -> &'static [Kind] {
        match class {
            CertificateClass::Private => &[Kind::UnitVectors],
            _ => &[],
        }
    }

    fn shape(&self) -> (usize, usize) {
        (self.n(), self.width())
    }

    fn fingerprint(&self) -> String {
        self.projection().fingerprint()
    }

    fn parameters(&self) -> Result<String, Error> {
        let (projection, lengths) = (self.projection(), self.lengths());
        Ok(to_json(&Parameters { projection, lengths })?)
    }

    fn check_statement(&self, statement: &Statement) -> Result<(), Error> {
        let public = Self::public(self.projection(), self.lengths(), self.n());
        check_stated(statement, &public, |noise| noise == self.noise())
    }

    fn write<W: Write>(&self, out: &mut Writer<W>) -> Result<(), Error> {
        Ok(out.payload_f32(self.values())?)
    }

    fn read(opened: &Opened<'_>) -> Result<Self, Error> {
        let Parameters { projection, lengths } = opened.summary.parameters()?;
        let (rows, columns) = opened.summary.shape()?;
        if columns != projection.k() + usize::from(lengths.is_some()) {
            let reason = "columns differ from the projection's";
            return Err(dp_core::Error::file("shape", reason).into());
        }
        opened.check_length(rows.checked_mul(columns).and_then(|n| n.checked_mul(4)))?;
        opened.summary.check_fingerprint(&projection.fingerprint())?;
        opened.summary.check_public(&Self::public(projection, lengths, rows))?;
        let noise = opened.summary.certificate.statement().noise.clone();
        Self::new(projection, lengths, noise, numbers_f32(opened.payload)?)
    }
}
