//! Release files of sums of private groups: the sums, n x k; then the moments, a triangle of (d + 1)(d + 2)/2; `f64`.

use super::release::{GroupSums, NoisyMoments, triangle_of};
use crate::covariance::CONSTANT;
use crate::error::{Error, Result};
use dp_core::certificate::Statement;
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{
    CertificateClass, Kind, Opened, Payload, Writer, numbers_f64, to_json,
};
use dp_core::{NoiseScale, PublicValue};
use serde::{Deserialize, Serialize};
use sketch::projection::{Family, ProjectionSpec};
use sketch::vectors::PrivateSketch;
use std::io::Write;

/// Parameters of a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Facts {
    pub(crate) projection: ProjectionSpec,
    constant: f64,
}

/// The scale of the noise of the moments, and the law of that of the sums.
pub(super) fn laws(law: &NoiseLaw) -> Result<(NoiseScale, &NoiseLaw)> {
    if let NoiseLaw::Several { laws } = law
        && let [NoiseLaw::SymmetricGaussian { sigma, .. }, sums @ NoiseLaw::Staircase { .. }] =
            &laws[..]
    {
        return Ok((*sigma, sums));
    }
    Err(Error::rejected("noise law", "not that of moments and sums of groups"))
}

impl Payload for GroupSums {
    type Error = Error;

    fn kinds(class: CertificateClass) -> &'static [Kind] {
        if class == CertificateClass::Private { &[Kind::PrivateGroups] } else { &[] }
    }

    fn shape(&self) -> (usize, usize) {
        (self.sums().n(), self.sums().k())
    }

    fn fingerprint(&self) -> String {
        self.sums().projection().fingerprint()
    }

    fn parameters(&self) -> Result<String> {
        let projection = self.sums().projection();
        Ok(to_json(&Facts { projection, constant: self.noisy().constant })?)
    }

    fn check_statement(&self, statement: &Statement) -> Result<()> {
        let public = &statement.public;
        if laws(&statement.noise)? != (self.noisy().sigma, self.sums().noise()) {
            return Err(Error::rejected("noise law", "differs from the certificate's"));
        }
        let mut stated = self.sums().projection().public_parameters();
        stated.insert("n".into(), self.sums().n().into());
        stated.insert(CONSTANT.into(), PublicValue::from(self.noisy().constant));
        match stated.iter().find(|(name, value)| public.get(*name) != Some(value)) {
            None => Ok(()),
            Some((name, _)) => {
                let reason = format!("{name} differs from the certificate's");
                Err(Error::rejected("public", &reason))
            }
        }
    }

    fn write<W: Write>(&self, out: &mut Writer<W>) -> Result<()> {
        out.payload_f64(self.sums().values())?;
        Ok(out.payload_f64(&self.noisy().triangle)?)
    }

    fn read(opened: &Opened<'_>) -> Result<Self> {
        let Facts { projection, constant } = opened.summary.parameters()?;
        let (rows, columns) = opened.summary.shape()?;
        if columns != projection.k() || !matches!(projection.family(), Family::Grouped { .. }) {
            return Err(Error::rejected("shape", "not a sum for each of its groups"));
        }
        if !(constant.is_finite() && constant > 0.0 && rows > 0) {
            return Err(Error::rejected("parameters", "no rows, or a constant that is none"));
        }
        let sums = rows.checked_mul(columns);
        let numbers = sums.and_then(|n| n.checked_add(triangle_of(projection.d())?));
        opened.check_length(numbers.and_then(|n| n.checked_mul(8)))?;
        opened.summary.check_fingerprint(&projection.fingerprint())?;
        let mut values = numbers_f64(opened.payload)?;
        let triangle = values.split_off(rows * columns);
        if triangle.iter().any(|v| !v.is_finite()) {
            return Err(Error::rejected("payload", "holds a value that is not finite"));
        }
        let statement = opened.summary.certificate.statement();
        let (sigma, law) = laws(&statement.noise)?;
        let sums = PrivateSketch::new(projection, law.clone(), values)?;
        let found = Self::new(sums, NoisyMoments { constant, sigma, triangle });
        found.check_statement(statement)?;
        Ok(found)
    }
}
