//! Release files of covariances: the matrix, d x d, and for the JL mechanism its sketch, r x d; `f64`, row-major.

use super::release::{CovarianceNoise, JlSketch, PrivateCovariance};
use crate::error::{Error, Result};
use dp_core::release_file::{
    CertificateClass, Kind, Opened, Payload, Writer, fingerprint, to_json,
};
use dp_core::{NoiseScale, PublicValue};
use serde::{Deserialize, Serialize};
use std::io::Write;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CovarianceFacts {
    pub(crate) dim: usize,
    /// Rows of the sketch, when there is one.
    sketch_rows: Option<usize>,
    pub(crate) noise: CovarianceNoise,
}

impl CovarianceFacts {
    pub(crate) fn of(covariance: &PrivateCovariance) -> Self {
        Self {
            dim: covariance.dim(),
            sketch_rows: covariance.sketch().map(|s| s.matrix().nrows()),
            noise: covariance.noise(),
        }
    }

    /// Checks the payload's shape and takes it over; the noise is the caller's to check.
    pub(crate) fn take(&self, opened: &Opened<'_>) -> Result<PrivateCovariance> {
        let (rows, columns) = opened.shape()?;
        let d = self.dim;
        if d == 0 || (rows, columns) != (d, d) {
            return Err(Error::rejected("shape", "not d x d"));
        }
        let numbers = self.sketch_rows.unwrap_or(0).checked_add(d).and_then(|n| n.checked_mul(d));
        opened.check_length(numbers.and_then(|n| n.checked_mul(8)))?;
        let mut values = opened.payload_f64()?;
        let sketch = values.split_off(d * d);
        if values.iter().chain(&sketch).any(|v| !v.is_finite()) {
            return Err(Error::rejected("payload", "holds a value that is not finite"));
        }
        let largest = values.iter().fold(0.0f64, |a, v| a.max(v.abs()));
        let differ = |i: usize, j: usize| (values[i * d + j] - values[j * d + i]).abs();
        if (0..d).any(|i| (0..i).any(|j| differ(i, j) > 1e-9 * largest)) {
            return Err(Error::rejected("payload", "not a symmetric matrix"));
        }
        let sketch = self.sketch_rows.map(|rows| JlSketch::new(rows, d, sketch));
        if let Some(sketch) = &sketch {
            let rows = sketch.matrix().nrows();
            let law = CovarianceNoise::JlSketch { rows: rows as u64, lift: self.lift()? };
            if law != self.noise || !sketch.agrees_with(&values) {
                return Err(Error::rejected("payload", "the covariance is not that of its sketch"));
            }
        }
        Ok(PrivateCovariance::new(d, values, sketch, self.noise))
    }

    fn lift(&self) -> Result<NoiseScale> {
        match self.noise {
            CovarianceNoise::JlSketch { lift, .. } => Ok(lift),
            _ => Err(Error::rejected("parameters", "a sketch without the JL mechanism's noise")),
        }
    }
}

/// Writes the matrix and its sketch.
pub(crate) fn put_covariance<W: Write>(c: &PrivateCovariance, out: &mut Writer<W>) -> Result<()> {
    out.payload_f64(c.values())?;
    if let Some(sketch) = c.sketch() {
        out.payload_f64(sketch.values())?;
    }
    Ok(())
}

impl Payload for PrivateCovariance {
    type Error = Error;

    fn kinds(class: CertificateClass) -> &'static [Kind] {
        if class == CertificateClass::Private { &[Kind::Covariance] } else { &[] }
    }

    fn shape(&self) -> (usize, usize) {
        (self.dim(), self.dim())
    }

    fn fingerprint(&self) -> String {
        fingerprint(&CovarianceFacts::of(self))
    }

    fn parameters(&self) -> Result<String> {
        Ok(to_json(&CovarianceFacts::of(self))?)
    }

    fn write<W: Write>(&self, out: &mut Writer<W>) -> Result<()> {
        put_covariance(self, out)
    }

    fn read(opened: &Opened<'_>) -> Result<Self> {
        let facts: CovarianceFacts = opened.parameters()?;
        opened.check_fingerprint(&fingerprint(&facts))?;
        opened.check_public(&[("d".to_owned(), PublicValue::from(facts.dim))].into())?;
        let law = CovarianceNoise::of(&opened.summary.certificate.statement().noise);
        if law != Some(facts.noise) {
            return Err(Error::rejected("noise law", "differs from the certificate's"));
        }
        let jl = matches!(facts.noise, CovarianceNoise::JlSketch { .. });
        if jl != facts.sketch_rows.is_some() {
            return Err(Error::rejected("parameters", "the JL mechanism publishes its sketch"));
        }
        facts.take(opened)
    }
}
