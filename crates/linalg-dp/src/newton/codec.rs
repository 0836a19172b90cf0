//! Release files of regressions: coefficients; of each step its clip, its gradient and the coefficients after it; the
//! matrix; `f64`.

use super::mechanism::{SIZES, TIMES};
use super::release::NewtonRegression;
use super::step::NewtonStep;
use crate::covariance::{CONSTANT, CovarianceNoise, PrivateCovariance, check_features};
use crate::error::{Error, Result};
use crate::sizes::Sizes;
use dp_core::certificate::Statement;
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{
    CertificateClass, Kind, Opened, Payload, Writer, fingerprint, numbers_f64, to_json,
};
use dp_core::{NoiseScale, PublicValue};
use serde::{Deserialize, Serialize};
use std::io::Write;

/// Room for other versions of the power of two that the sizes of residuals are made with.
const ROOM: f64 = 1e-12;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    features: usize,
    /// What every row is followed by, where there is an intercept.
    constant: Option<f64>,
}

impl Facts {
    fn of(regression: &NewtonRegression) -> Self {
        let (features, constant) = regression.shape();
        Self { features, constant }
    }

    fn columns(&self) -> Option<usize> {
        self.features.checked_add(usize::from(self.constant.is_some()))
    }
}

/// Numbers of a payload of so many columns.
fn numbers(columns: usize) -> Option<usize> {
    let matrix = columns.checked_mul(columns)?;
    let steps = columns.checked_mul(2)?.checked_add(1)?.checked_mul(TIMES)?;
    matrix.checked_add(steps)?.checked_add(columns)
}

/// Scales of the noise of the matrix and of gradients of unit clip.
pub(super) fn scales(law: &NoiseLaw) -> Result<(CovarianceNoise, NoiseScale)> {
    if let NoiseLaw::Several { laws } = law
        && let [
            NoiseLaw::SymmetricGaussian { sigma, .. },
            NoiseLaw::RoundedGaussian { sigma: of_gradient, .. },
            NoiseLaw::RoundedGaussian { .. },
        ] = laws[..]
    {
        return Ok((CovarianceNoise::SymmetricGaussian { sigma }, of_gradient));
    }
    Err(Error::rejected("noise law", "not that of a matrix, gradients and counts"))
}

impl Payload for NewtonRegression {
    type Error = Error;

    fn kinds(class: CertificateClass) -> &'static [Kind] {
        if class == CertificateClass::Private { &[Kind::Regression] } else { &[] }
    }

    fn shape(&self) -> (usize, usize) {
        (1, self.raw().len())
    }

    fn fingerprint(&self) -> String {
        fingerprint(&Facts::of(self))
    }

    fn parameters(&self) -> Result<String> {
        Ok(to_json(&Facts::of(self))?)
    }

    fn check_statement(&self, statement: &Statement) -> Result<()> {
        let public = &statement.public;
        let facts = Facts::of(self);
        if scales(&statement.noise)? != (self.gram().noise(), self.sigma()) {
            return Err(Error::rejected("noise law", "differs from the certificate's"));
        }
        if public.get("d") != Some(&PublicValue::from(facts.features)) {
            return Err(Error::rejected("d", "differs from the certificate's"));
        }
        if public.get(CONSTANT) != facts.constant.map(PublicValue::from).as_ref() {
            return Err(Error::rejected("constant", "differs from the certificate's"));
        }
        let Some(PublicValue::Real(label_bound)) = public.get("label_bound") else {
            return Err(Error::rejected("label_bound", "missing, or of another type"));
        };
        let sizes = Sizes::new(*label_bound, SIZES, 0.0);
        let near = |clip: f64, size: f64| (clip / size - 1.0).abs() <= ROOM;
        for (t, step) in self.steps().iter().enumerate() {
            let allowed =
                if t == 0 { core::slice::from_ref(label_bound) } else { sizes.thresholds() };
            if !allowed.iter().any(|size| near(step.clip, *size)) {
                return Err(Error::rejected("payload", "residuals clipped to no public size"));
            }
        }
        check_features(statement)
    }

    fn write<W: Write>(&self, out: &mut Writer<W>) -> Result<()> {
        out.payload_f64(self.raw())?;
        for NewtonStep { clip, gradient, coefficients } in self.steps() {
            for values in [core::slice::from_ref(clip), gradient, coefficients] {
                out.payload_f64(values)?;
            }
        }
        Ok(out.payload_f64(self.gram().values())?)
    }

    fn read(opened: &Opened<'_>) -> Result<Self> {
        let facts: Facts = opened.summary.parameters()?;
        let columns = facts.columns().filter(|_| facts.features > 0);
        let Some(d) =
            columns.filter(|d| opened.summary.shape().is_ok_and(|shape| shape == (1, *d)))
        else {
            return Err(Error::rejected("shape", "not one coefficient for each column"));
        };
        opened.check_length(numbers(d).and_then(|n| n.checked_mul(8)))?;
        opened.summary.check_fingerprint(&fingerprint(&facts))?;
        let values = numbers_f64(opened.payload)?;
        if values.iter().any(|v| !v.is_finite()) {
            return Err(Error::rejected("payload", "holds a value that is not finite"));
        }
        let (coefficients, rest) = values.split_at(d);
        let (steps, matrix) = rest.split_at(TIMES * (2 * d + 1));
        let step = |part: &[f64]| NewtonStep {
            clip: part[0],
            gradient: part[1..=d].to_vec(),
            coefficients: part[d + 1..].to_vec(),
        };
        let steps = steps.chunks(2 * d + 1).map(step).collect();
        if (0..d).any(|i| (0..i).any(|j| matrix[i * d + j] != matrix[j * d + i])) {
            return Err(Error::rejected("payload", "not a symmetric matrix"));
        }
        let statement = opened.summary.certificate.statement();
        let (noise, sigma) = scales(&statement.noise)?;
        let gram = PrivateCovariance::new(d, matrix.to_vec(), None, noise);
        let shape = (facts.features, facts.constant);
        let found = Self::of(shape, steps, gram, sigma)?;
        found.check_statement(statement)?;
        found.stating(coefficients.to_vec())
    }
}
