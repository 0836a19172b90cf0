//! Bounded values in release files.

use super::law::CellLaw;
use super::mechanism::BOUNDED;
use super::release::{BoundedValues, in_range};
use crate::distances::ValueRange;
use crate::error::{Error, Result};
use crate::written::check_stated;
use dp_core::certificate::Statement;
use dp_core::noise::{KaryResponse, NoiseLaw};
use dp_core::release_file::{
    CertificateClass, Kind, Opened, Payload, Writer, fingerprint, to_json,
};
use serde::{Deserialize, Serialize};
use std::io::Write;

/// All that is not in the payload, nor in the noise law.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BoundedFacts {
    low: f64,
    high: f64,
    offsets: u64,
}

impl BoundedFacts {
    pub(super) fn new(range: ValueRange, law: &CellLaw) -> Self {
        let (low, high) = range.ends();
        Self { low, high, offsets: law.offsets() }
    }

    /// The range of every value.
    pub(crate) fn range(&self) -> Result<ValueRange> {
        in_range(ValueRange::new(self.low, self.high)?)
    }

    /// Digest of what makes releases comparable, but for the response.
    pub(super) fn fingerprint(&self) -> String {
        fingerprint(self)
    }
}

impl BoundedValues {
    pub(crate) fn facts(&self) -> BoundedFacts {
        BoundedFacts::new(self.range(), self.law())
    }
}

impl Payload for BoundedValues {
    type Error = Error;

    fn kinds(class: CertificateClass) -> &'static [Kind] {
        match class {
            CertificateClass::Private => &[Kind::BoundedValues],
            _ => &[],
        }
    }

    fn shape(&self) -> (usize, usize) {
        (self.n(), self.d())
    }

    fn fingerprint(&self) -> String {
        self.facts().fingerprint()
    }

    fn parameters(&self) -> Result<String> {
        Ok(to_json(&self.facts())?)
    }

    fn check_statement(&self, statement: &Statement) -> Result<()> {
        let categories = Self::stated(statement, self.range(), self.law())?;
        if categories != self.is_of_categories() {
            let reason = "states categories, or none, unlike the release";
            return Err(dp_core::Error::file("certificate", reason).into());
        }
        let public = Self::public(self.range(), self.law(), categories, self.shape());
        check_stated(statement, &public, |noise| *noise == self.noise())
    }

    fn write<W: Write>(&self, out: &mut Writer<W>) -> Result<()> {
        Ok(out.payload(self.cells())?)
    }

    fn read(opened: &Opened<'_>) -> Result<Self> {
        let rejected = |part, reason| Error::from(dp_core::Error::file(part, reason));
        let facts: BoundedFacts = opened.summary.parameters()?;
        let (rows, columns) = opened.summary.shape()?;
        opened.check_length(rows.checked_mul(columns))?;
        opened.summary.check_fingerprint(&facts.fingerprint())?;
        let statement = opened.summary.certificate.statement();
        if statement.mechanism != BOUNDED {
            return Err(rejected("certificate", "no such mechanism makes this payload"));
        }
        let NoiseLaw::KaryResponse { alphabet, keep } = statement.noise else {
            return Err(rejected("noise law", "not that of bounded values"));
        };
        let (range, response) = (facts.range()?, KaryResponse::new(alphabet, keep)?);
        let law = CellLaw::new(response, facts.offsets)?;
        let categories = Self::stated(statement, range, &law)?;
        opened.summary.check_public(&Self::public(range, &law, categories, (rows, columns)))?;
        Self::new(columns, range, law, categories, opened.payload.to_vec())
    }
}
