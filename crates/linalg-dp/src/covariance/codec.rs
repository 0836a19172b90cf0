//! Release files of covariances: the matrix, d x d, then for the JL mechanism its sketch, r x d, or for moments
//! the d + 1 sums; `f64`, row-major.

use super::names;
use super::release::{CONSTANT, CovarianceNoise, JlSketch, PrivateCovariance, ROWS, Sums};
use crate::error::{Error, Result};
use dp_core::certificate::Statement;
use dp_core::release_file::{
    CertificateClass, Kind, Opened, Payload, Writer, fingerprint, numbers_f64, to_json,
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
    /// The constant of the sums, when there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    constant: Option<f64>,
    pub(crate) noise: CovarianceNoise,
}

impl CovarianceFacts {
    pub(crate) fn of(covariance: &PrivateCovariance) -> Self {
        Self {
            dim: covariance.dim(),
            sketch_rows: covariance.sketch().map(|s| s.matrix().nrows()),
            constant: covariance.sums().map(Sums::constant),
            noise: covariance.noise(),
        }
    }

    pub(crate) fn has_sums(&self) -> bool {
        self.constant.is_some()
    }

    /// Checks the payload's shape and takes it over; the noise is the caller's to check.
    pub(crate) fn take(&self, opened: &Opened<'_>) -> Result<PrivateCovariance> {
        let (rows, columns) = opened.summary.shape()?;
        let d = self.dim;
        if d == 0 || (rows, columns) != (d, d) {
            return Err(Error::rejected("shape", "not d x d"));
        }
        let sums = self.constant.map_or(0, |_| d + 1);
        let numbers = self.sketch_rows.unwrap_or(0).checked_add(d).and_then(|n| n.checked_mul(d));
        let numbers = numbers.and_then(|n| n.checked_add(sums));
        opened.check_length(numbers.and_then(|n| n.checked_mul(8)))?;
        let mut values = numbers_f64(opened.payload)?;
        let sums = values.split_off(values.len() - sums);
        let sketch = values.split_off(d * d);
        if values.iter().chain(&sketch).chain(&sums).any(|v| !v.is_finite()) {
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
        let sums = self.constant.map(|c| Sums::new(c, sums));
        Ok(PrivateCovariance::new(d, values, sketch, self.noise).with_sums(sums))
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
    if let Some(sums) = c.sums() {
        out.payload_f64(sums.values())?;
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

    fn check_statement(&self, statement: &Statement) -> Result<()> {
        let public = &statement.public;
        if CovarianceNoise::of(&statement.noise) != Some(self.noise()) {
            return Err(Error::rejected("noise law", "differs from the certificate's"));
        }
        if public.get("d") != Some(&PublicValue::from(self.dim())) {
            return Err(Error::rejected("d", "differs from the certificate's"));
        }
        let constant = self.sums().map(|sums| PublicValue::from(sums.constant()));
        if public.get(CONSTANT) != constant.as_ref() {
            return Err(Error::rejected("constant", "differs from the certificate's"));
        }
        names::of(statement)?;
        match (public.get(ROWS), self.sums()) {
            (None, _) => Ok(()),
            (Some(PublicValue::Integer(rows)), Some(sums))
                if sums.agree_with(*rows, self.noise()) =>
            {
                Ok(())
            }
            _ => Err(Error::rejected("rows", "are not those that the sums were taken of")),
        }
    }

    fn write<W: Write>(&self, out: &mut Writer<W>) -> Result<()> {
        put_covariance(self, out)
    }

    fn read(opened: &Opened<'_>) -> Result<Self> {
        let facts: CovarianceFacts = opened.summary.parameters()?;
        opened.summary.check_fingerprint(&fingerprint(&facts))?;
        let jl = matches!(facts.noise, CovarianceNoise::JlSketch { .. });
        if jl != facts.sketch_rows.is_some() {
            return Err(Error::rejected("parameters", "the JL mechanism publishes its sketch"));
        }
        let gaussian = matches!(facts.noise, CovarianceNoise::SymmetricGaussian { .. });
        if facts.constant.is_some() && !gaussian {
            return Err(Error::rejected("parameters", "sums come with symmetric Gaussian noise"));
        }
        let covariance = facts.take(opened)?;
        covariance.check_statement(opened.summary.certificate.statement())?;
        Ok(covariance)
    }
}
