//! Release files of low-rank approximations and range sketches; all numbers are `f64`, row-major.

use super::project::PrivateLowRank;
use super::range::{Range, RangeFacts};
use crate::error::{Error, Result};
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{
    CertificateClass, Kind, Opened, Payload, Writer, fingerprint, numbers_f64, to_json,
};
use dp_core::{PublicValue, SeedOrigin};
use serde::{Deserialize, Serialize};
use std::io::Write;

impl RangeFacts {
    /// Numbers of the sketch.
    fn numbers(&self) -> Option<usize> {
        self.m.checked_mul(self.k)
    }

    /// Checks what the certificate states.
    fn check(&self, opened: &Opened<'_>) -> Result<()> {
        let public = [
            ("m".to_owned(), PublicValue::from(self.m)),
            ("seed".to_owned(), self.seed.into()),
            (SeedOrigin::KEY.to_owned(), self.origin.name().into()),
        ];
        opened.summary.check_public(&public.into())?;
        let stated = &opened.summary.certificate.statement().public;
        let part = |name| match stated.get(name) {
            Some(PublicValue::Integer(value)) => *value,
            _ => 0,
        };
        if part("rank").checked_add(part("oversampling")) != Some(self.k as u64) || self.k == 0 {
            return Err(Error::rejected("certificate", "states another k than the file"));
        }
        Ok(())
    }

    /// Whether a law is that of this sketch.
    fn has_law(&self, law: &NoiseLaw) -> bool {
        matches!(law, NoiseLaw::RoundedGaussian { sigma, .. } if *sigma == self.sigma)
    }
}

impl Payload for Range {
    type Error = Error;

    fn kinds(class: CertificateClass) -> &'static [Kind] {
        if class == CertificateClass::Private { &[Kind::Range] } else { &[] }
    }

    fn shape(&self) -> (usize, usize) {
        self.sketch().shape()
    }

    fn fingerprint(&self) -> String {
        fingerprint(&self.facts())
    }

    fn parameters(&self) -> Result<String> {
        Ok(to_json(&self.facts())?)
    }

    fn write<W: Write>(&self, out: &mut Writer<W>) -> Result<()> {
        Ok(out.payload_f64(self.values())?)
    }

    fn read(opened: &Opened<'_>) -> Result<Self> {
        let facts: RangeFacts = opened.summary.parameters()?;
        if opened.summary.shape()? != (facts.m, facts.k) {
            return Err(Error::rejected("shape", "not m x k"));
        }
        opened.check_length(facts.numbers().and_then(|n| n.checked_mul(8)))?;
        opened.summary.check_fingerprint(&fingerprint(&facts))?;
        facts.check(opened)?;
        if !facts.has_law(&opened.summary.certificate.statement().noise) {
            return Err(Error::rejected("noise law", "differs from the certificate's"));
        }
        Ok(Self::from_facts(facts, numbers_f64(opened.payload)?))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LowRankFacts {
    m: usize,
    n: usize,
    k: usize,
    range: Option<RangeFacts>,
}

impl LowRankFacts {
    fn of(approximation: &PrivateLowRank) -> Self {
        let factors = approximation.factors();
        let (m, n) = factors.shape();
        Self { m, n, k: factors.rank(), range: approximation.range().map(Range::facts) }
    }

    /// Numbers of left factor, coefficients, encoder and range sketch.
    fn numbers(&self) -> Option<[usize; 4]> {
        let left = self.m.checked_mul(self.k)?;
        let range = self.range.as_ref().map_or(Some(0), RangeFacts::numbers)?;
        Some([left, self.n.checked_mul(self.k)?, left, range])
    }
}

impl Payload for PrivateLowRank {
    type Error = Error;

    fn kinds(class: CertificateClass) -> &'static [Kind] {
        if class == CertificateClass::Private { &[Kind::LowRank] } else { &[] }
    }

    fn shape(&self) -> (usize, usize) {
        self.factors().shape()
    }

    fn fingerprint(&self) -> String {
        fingerprint(&LowRankFacts::of(self))
    }

    fn parameters(&self) -> Result<String> {
        Ok(to_json(&LowRankFacts::of(self))?)
    }

    fn write<W: Write>(&self, out: &mut Writer<W>) -> Result<()> {
        for values in self.arrays() {
            out.payload_f64(values)?;
        }
        Ok(())
    }

    fn read(opened: &Opened<'_>) -> Result<Self> {
        let facts: LowRankFacts = opened.summary.parameters()?;
        let LowRankFacts { m, n, k, .. } = facts;
        if opened.summary.shape()? != (m, n) || k == 0 {
            return Err(Error::rejected("shape", "not m x n, or of no rank"));
        }
        let numbers = facts.numbers();
        let total = numbers.and_then(|n| n.iter().try_fold(0usize, |a, b| a.checked_add(*b)));
        opened.check_length(total.and_then(|n| n.checked_mul(8)))?;
        opened.summary.check_fingerprint(&fingerprint(&facts))?;
        opened
            .summary
            .check_public(&[("m", m), ("n", n)].map(|(s, v)| (s.to_owned(), v.into())).into())?;
        let law = &opened.summary.certificate.statement().noise;
        let laws: &[NoiseLaw] = match law {
            NoiseLaw::Several { laws } => laws,
            other => core::slice::from_ref(other),
        };
        match (&facts.range, laws) {
            (Some(range), [first, NoiseLaw::RoundedGaussian { .. }]) if range.has_law(first) => {
                range.check(opened)?;
            }
            (None, [NoiseLaw::RoundedGaussian { .. }]) => {}
            _ => return Err(Error::rejected("noise law", "differs from the certificate's")),
        }
        let mut rest = numbers_f64(opened.payload)?;
        let mut arrays = Vec::new();
        for count in numbers.unwrap_or_default() {
            let later = rest.split_off(count);
            arrays.push(core::mem::replace(&mut rest, later));
        }
        let arrays: [Vec<f64>; 4] = arrays.try_into().expect("four arrays");
        Self::from_arrays((m, n, k), facts.range, arrays)
    }
}
