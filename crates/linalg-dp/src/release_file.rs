//! Release files of this crate: covariances, low-rank approximations, range sketches, windows.
//!
//! The container is [`dp_core::release_file`]: its `write`, `load`, `encode` and `decode` take every
//! release below. All numbers are `f64`, row-major.
//!
//! | release | kind | payload |
//! | --- | --- | --- |
//! | [`PrivateCovariance`] | `Covariance` | the matrix, d x d; for the JL mechanism its sketch, r x d |
//! | [`PrivateLowRank`] | `LowRank` | left factor, coefficients (transposed), basis, noise root, range sketch |
//! | [`Range`] | `Range` | the sketch over sqrt k, m x k |
//! | [`WindowCovariance`] | `Window` | as a covariance |

use crate::covariance::{CovarianceNoise, JlSketch, PrivateCovariance, wishart_refused};
use crate::error::{Error, Result};
use crate::low_rank::{PrivateLowRank, Range};
use crate::window::{WindowCovariance, WindowSpan};
use dp_core::certificate::PublicParameters;
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{
    CertificateClass, Kind, Opened, Payload, Writer, fingerprint, to_json,
};
use dp_core::{NoiseScale, PublicSeed, PublicValue, SeedOrigin};
use serde::{Deserialize, Serialize};
use std::io::Write;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CovarianceFacts {
    dim: usize,
    /// Rows of the sketch, when there is one.
    sketch_rows: Option<usize>,
    noise: CovarianceNoise,
}

impl CovarianceFacts {
    fn of(covariance: &PrivateCovariance) -> Self {
        Self {
            dim: covariance.dim(),
            sketch_rows: covariance.sketch().map(|s| s.matrix().nrows()),
            noise: covariance.noise(),
        }
    }

    /// Checks the payload's shape and takes it over; the noise is the caller's to check.
    fn take(&self, opened: &Opened<'_>) -> Result<PrivateCovariance> {
        let (rows, columns) = opened.shape()?;
        let d = self.dim;
        if d == 0 || (rows, columns) != (d, d) {
            return Err(rejected("shape", "not d x d"));
        }
        let numbers = self.sketch_rows.unwrap_or(0).checked_add(d).and_then(|n| n.checked_mul(d));
        opened.check_length(numbers.and_then(|n| n.checked_mul(8)))?;
        let mut values = opened.payload_f64()?;
        if matches!(self.noise, CovarianceNoise::Wishart { .. }) {
            return Err(wishart_refused());
        }
        let sketch = values.split_off(d * d);
        if values.iter().chain(&sketch).any(|v| !v.is_finite()) {
            return Err(rejected("payload", "holds a value that is not finite"));
        }
        let largest = values.iter().fold(0.0f64, |a, v| a.max(v.abs()));
        let differ = |i: usize, j: usize| (values[i * d + j] - values[j * d + i]).abs();
        if (0..d).any(|i| (0..i).any(|j| differ(i, j) > 1e-9 * largest)) {
            return Err(rejected("payload", "not a symmetric matrix"));
        }
        let sketch = self.sketch_rows.map(|rows| JlSketch::new(rows, d, sketch));
        if let Some(sketch) = &sketch {
            let rows = sketch.matrix().nrows();
            let law = CovarianceNoise::JlSketch { rows: rows as u64, lift: self.lift()? };
            if law != self.noise || !sketch.agrees_with(&values) {
                return Err(rejected("payload", "the covariance is not that of its sketch"));
            }
        }
        Ok(PrivateCovariance::new(d, values, sketch, self.noise))
    }

    fn lift(&self) -> Result<NoiseScale> {
        match self.noise {
            CovarianceNoise::JlSketch { lift, .. } => Ok(lift),
            _ => Err(rejected("parameters", "a sketch without the JL mechanism's noise")),
        }
    }
}

fn put_covariance<W: Write>(c: &PrivateCovariance, out: &mut Writer<W>) -> Result<()> {
    out.payload_f64(c.values())?;
    if let Some(sketch) = c.sketch() {
        out.payload_f64(sketch.values())?;
    }
    Ok(())
}

fn private(class: CertificateClass, kind: &'static [Kind]) -> &'static [Kind] {
    if class == CertificateClass::Private { kind } else { &[] }
}

impl Payload for PrivateCovariance {
    type Error = Error;

    fn kinds(class: CertificateClass) -> &'static [Kind] {
        private(class, &[Kind::Covariance])
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
            return Err(rejected("noise law", "differs from the certificate's"));
        }
        let jl = matches!(facts.noise, CovarianceNoise::JlSketch { .. });
        if jl != facts.sketch_rows.is_some() {
            return Err(rejected("parameters", "the JL mechanism publishes its sketch"));
        }
        facts.take(opened)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WindowFacts {
    span: WindowSpan,
    blocks: u64,
    covariance: CovarianceFacts,
}

impl WindowFacts {
    fn of(window: &WindowCovariance) -> Self {
        Self {
            span: window.span(),
            blocks: window.blocks(),
            covariance: CovarianceFacts::of(window.covariance()),
        }
    }
}

/// What every certificate of a window states about what was released.
pub(crate) fn window_parameters(
    span: WindowSpan,
    blocks: u64,
    dim: usize,
    noise: CovarianceNoise,
) -> Result<PublicParameters> {
    Ok([
        ("d", PublicValue::from(dim)),
        ("first_row", span.first_row.into()),
        ("end_row", span.end_row.into()),
        ("blocks", blocks.into()),
        ("release noise", to_json(&noise)?.into()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into())
}

impl Payload for WindowCovariance {
    type Error = Error;

    fn kinds(class: CertificateClass) -> &'static [Kind] {
        private(class, &[Kind::Window])
    }

    fn shape(&self) -> (usize, usize) {
        (self.covariance().dim(), self.covariance().dim())
    }

    fn fingerprint(&self) -> String {
        fingerprint(&WindowFacts::of(self))
    }

    fn parameters(&self) -> Result<String> {
        Ok(to_json(&WindowFacts::of(self))?)
    }

    fn write<W: Write>(&self, out: &mut Writer<W>) -> Result<()> {
        put_covariance(self.covariance(), out)
    }

    fn read(opened: &Opened<'_>) -> Result<Self> {
        let facts: WindowFacts = opened.parameters()?;
        opened.check_fingerprint(&fingerprint(&facts))?;
        let WindowFacts { span, blocks, covariance } = facts;
        if matches!(covariance.noise, CovarianceNoise::Wishart { .. }) {
            return Err(wishart_refused());
        }
        opened.check_public(&window_parameters(span, blocks, covariance.dim, covariance.noise)?)?;
        let stated = &opened.summary.certificate.statement().noise;
        // A tree states the law of a node once a level.
        let node = match stated {
            NoiseLaw::Several { laws } if laws.iter().all(|law| *law == laws[0]) => laws.first(),
            _ => None,
        };
        let law = CovarianceNoise::of(node.unwrap_or(stated));
        if blocks == 0 || !law.is_some_and(|law| covariance.noise.is_a_sum_of(law, blocks)) {
            return Err(rejected("noise law", "is not that of blocks with the certificate's"));
        }
        if span.first_row > span.end_row {
            return Err(rejected("parameters", "the window ends before it begins"));
        }
        Ok(Self::new(span, blocks, covariance.take(opened)?))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RangeFacts {
    pub(crate) m: usize,
    pub(crate) k: usize,
    pub(crate) sigma: NoiseScale,
    pub(crate) seed: PublicSeed,
    pub(crate) origin: SeedOrigin,
}

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
        opened.check_public(&public.into())?;
        let stated = &opened.summary.certificate.statement().public;
        let part = |name| match stated.get(name) {
            Some(PublicValue::Integer(value)) => *value,
            _ => 0,
        };
        if part("rank").checked_add(part("oversampling")) != Some(self.k as u64) || self.k == 0 {
            return Err(rejected("certificate", "states another k than the file"));
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
        private(class, &[Kind::Range])
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
        let facts: RangeFacts = opened.parameters()?;
        if opened.shape()? != (facts.m, facts.k) {
            return Err(rejected("shape", "not m x k"));
        }
        opened.check_length(facts.numbers().and_then(|n| n.checked_mul(8)))?;
        opened.check_fingerprint(&fingerprint(&facts))?;
        facts.check(opened)?;
        if !facts.has_law(&opened.summary.certificate.statement().noise) {
            return Err(rejected("noise law", "differs from the certificate's"));
        }
        Ok(Self::from_facts(facts, opened.payload_f64()?))
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

    /// Numbers of left factor, coefficients, basis, noise root and range sketch.
    fn numbers(&self) -> Option<[usize; 5]> {
        let (left, root) = (self.m.checked_mul(self.k)?, self.k.checked_mul(self.k)?);
        let range = self.range.as_ref().map_or(Some(0), RangeFacts::numbers)?;
        Some([left, self.n.checked_mul(self.k)?, left, root, range])
    }
}

impl Payload for PrivateLowRank {
    type Error = Error;

    fn kinds(class: CertificateClass) -> &'static [Kind] {
        private(class, &[Kind::LowRank])
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
        let facts: LowRankFacts = opened.parameters()?;
        let LowRankFacts { m, n, k, .. } = facts;
        if opened.shape()? != (m, n) || k == 0 {
            return Err(rejected("shape", "not m x n, or of no rank"));
        }
        let numbers = facts.numbers();
        let total = numbers.and_then(|n| n.iter().try_fold(0usize, |a, b| a.checked_add(*b)));
        opened.check_length(total.and_then(|n| n.checked_mul(8)))?;
        opened.check_fingerprint(&fingerprint(&facts))?;
        opened.check_public(&[("m", m), ("n", n)].map(|(s, v)| (s.to_owned(), v.into())).into())?;
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
            _ => return Err(rejected("noise law", "differs from the certificate's")),
        }
        let mut rest = opened.payload_f64()?;
        let mut arrays = Vec::new();
        for count in numbers.unwrap_or_default() {
            let later = rest.split_off(count);
            arrays.push(core::mem::replace(&mut rest, later));
        }
        let arrays: [Vec<f64>; 5] = arrays.try_into().expect("five arrays");
        let read = Self::from_arrays((m, n, k), facts.range, arrays)?;
        if read.is_consistent() {
            Ok(read)
        } else {
            Err(rejected("payload", "the left factor is not the basis times the noise root"))
        }
    }
}

fn rejected(part: &'static str, reason: &str) -> Error {
    dp_core::Error::file(part, reason).into()
}
