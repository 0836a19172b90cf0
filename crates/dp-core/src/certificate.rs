//! The statement that travels with a release and that anyone can check.
//!
//! [`Certificate::verify`] recomputes everything that follows from something else
//! in the certificate: the delta from the profile's parameters, the profile's
//! parameters from the noise law, the sensitivity from the adjacency where the
//! mechanism fixes it, the digest from all fields. It shows that the certificate
//! is *consistent*. It cannot show that the release was really made that way, nor
//! who wrote it: it is not a signature, and a forger who invents a whole
//! consistent certificate of another mechanism is not caught. Sign the JSON text
//! where origin matters. Proof page: `docs/proofs/certificate.md`.

mod consistency;

use crate::error::{Error, Result};
use crate::guarantee::{Guarantee, log_slack, rejected};
use crate::noise::{GeneratorKind, NoiseLaw};
use crate::profile::Profile;
use crate::seed::SeedOrigin;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Version of the certificate's layout.
pub const CERTIFICATE_FORMAT: u32 = 1;

/// A public parameter of a mechanism (shapes, seeds, bounds).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PublicValue {
    /// A whole number.
    Integer(u64),
    /// A real number.
    Real(f64),
    /// A word.
    Text(String),
}

impl From<u64> for PublicValue {
    fn from(value: u64) -> Self {
        Self::Integer(value)
    }
}
impl From<usize> for PublicValue {
    fn from(value: usize) -> Self {
        Self::Integer(value as u64)
    }
}
impl From<f64> for PublicValue {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}
impl From<&str> for PublicValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}
impl From<String> for PublicValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

/// Named public parameters, in a fixed order.
pub type PublicParameters = BTreeMap<String, PublicValue>;

/// What every certificate states besides its guarantee.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Name of the mechanism.
    pub mechanism: String,
    /// The noise that was added.
    pub noise: NoiseLaw,
    /// The generator the noise came from.
    pub generator: GeneratorKind,
    /// Public parameters: shapes, seeds, bounds.
    pub public: PublicParameters,
}

/// The certificate of a differentially private release.
///
/// Reading one back ([`Certificate::from_json`] or serde) verifies it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawCertificate")]
pub struct Certificate {
    format: u32,
    library: String,
    #[serde(flatten)]
    statement: Statement,
    guarantee: Guarantee,
    /// ln of the delta really given; absent when no profile is known.
    #[serde(serialize_with = "log_delta::serialize")]
    ln_true_delta: Option<f64>,
    digest: String,
}

/// The fields in the order they are written (serde's `flatten` cannot refuse
/// unknown fields, so the statement's are repeated).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCertificate {
    format: u32,
    library: String,
    mechanism: String,
    noise: NoiseLaw,
    generator: GeneratorKind,
    public: PublicParameters,
    guarantee: Guarantee,
    #[serde(deserialize_with = "log_delta::deserialize")]
    ln_true_delta: Option<f64>,
    digest: String,
}

impl TryFrom<RawCertificate> for Certificate {
    type Error = Error;
    fn try_from(raw: RawCertificate) -> Result<Self> {
        let RawCertificate { mechanism, noise, generator, public, .. } = raw;
        let certificate = Self {
            format: raw.format,
            library: raw.library,
            statement: Statement { mechanism, noise, generator, public },
            guarantee: raw.guarantee,
            ln_true_delta: raw.ln_true_delta,
            digest: raw.digest,
        };
        certificate.verify()?;
        Ok(certificate)
    }
}

/// ln delta in JSON: a number, `"-inf"` for delta zero, `null` when unknown.
mod log_delta {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Form {
        Number(f64),
        Word(String),
    }

    pub(super) fn serialize<S: Serializer>(v: &Option<f64>, s: S) -> Result<S::Ok, S::Error> {
        v.map(|v| if v.is_finite() { Form::Number(v) } else { Form::Word("-inf".into()) })
            .serialize(s)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(d: D) -> Result<Option<f64>, D::Error> {
        match Option::<Form>::deserialize(d)? {
            None => Ok(None),
            Some(Form::Number(v)) => Ok(Some(v)),
            Some(Form::Word(w)) if w == "-inf" => Ok(Some(f64::NEG_INFINITY)),
            Some(Form::Word(w)) => Err(D::Error::custom(format!("ln_true_delta: {w}"))),
        }
    }
}

impl Certificate {
    /// Writes the certificate of a release. For authors of mechanisms.
    #[must_use]
    pub fn new(statement: Statement, guarantee: Guarantee) -> Self {
        let mut certificate = Self {
            format: CERTIFICATE_FORMAT,
            library: concat!("dp-core ", env!("CARGO_PKG_VERSION")).to_owned(),
            statement,
            ln_true_delta: guarantee.true_delta().map(|d| d.get()),
            guarantee,
            digest: String::new(),
        };
        certificate.digest = certificate.compute_digest();
        certificate
    }

    /// Mechanism, noise law, generator and public parameters.
    #[must_use]
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// The guarantee.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// ln of the delta that is really given at the budget's epsilon, where known.
    #[must_use]
    pub fn ln_true_delta(&self) -> Option<f64> {
        self.ln_true_delta
    }

    /// Recomputes everything that follows from something else in the certificate.
    ///
    /// Checked: format version; digest over all fields; delta from the profile, and
    /// the budget against it (a published rule accepted by name may miss it, and then
    /// says so); the profile's parameters against the noise law; the sensitivity
    /// against the adjacency where the mechanism fixes it; public parameters finite.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] naming the first field that does not agree.
    pub fn verify(&self) -> Result<()> {
        if self.format != CERTIFICATE_FORMAT {
            return Err(rejected(
                "format",
                format!("version {} is not {CERTIFICATE_FORMAT}", self.format),
            ));
        }
        if self.digest != self.compute_digest() {
            return Err(rejected(
                "digest",
                "a field was altered after the certificate was written",
            ));
        }
        check_public(&self.statement.public)?;
        self.guarantee.verify()?;
        let recomputed = self.guarantee.true_delta().map(|d| d.get());
        let agrees = match (self.ln_true_delta, recomputed) {
            (None, None) => true,
            (Some(a), Some(b)) => a == b || (a - b).abs() <= log_slack(b),
            _ => false,
        };
        if !agrees {
            return Err(rejected(
                "ln_true_delta",
                format!("states {:?}, the profile gives {recomputed:?}", self.ln_true_delta),
            ));
        }
        if let Some(profile) = self.guarantee.profile() {
            consistency::check(self.guarantee.adjacency(), profile, &self.statement.noise)?;
        }
        Ok(())
    }

    /// Refuses a release whose randomness somebody could know: its noise came from a number, or
    /// its profile averages over a seed that is not stated to be the operating system's.
    ///
    /// Such a certificate verifies (it states what was done), but its guarantee does not hold.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`].
    pub fn require_secret_randomness(&self) -> Result<()> {
        let Statement { generator, public, .. } = &self.statement;
        match generator {
            GeneratorKind::OsChacha12 => {}
            GeneratorKind::DeterministicNotPrivate => {
                return Err(rejected(
                    "generator",
                    "the noise came from a known number: not private, so it enters no ledger",
                ));
            }
        }
        let averaged = self.guarantee.profile().is_some_and(Profile::needs_fresh_seed);
        // A number of 64 bits is not the seed of an average.
        let short = |(name, value): (&String, &PublicValue)| {
            name.ends_with("seed") && matches!(value, PublicValue::Integer(_))
        };
        if averaged && public.iter().any(short) {
            return Err(rejected(
                "public",
                "the guarantee averages over a seed, which must have 256 bits: it enters no ledger",
            ));
        }
        let origin = public.get(SeedOrigin::KEY);
        let fresh = PublicValue::from(SeedOrigin::OperatingSystem.name());
        match origin {
            Some(origin) if *origin == fresh => Ok(()),
            None if !averaged => Ok(()),
            _ => Err(rejected(
                "public",
                format!(
                    "the guarantee needs a fresh seed, and {:?} is not stated to be the operating \
                     system: it enters no ledger",
                    SeedOrigin::KEY
                ),
            )),
        }
    }

    /// Reads and verifies a certificate.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] when the text is not a certificate or does not verify.
    pub fn from_json(text: &str) -> Result<Self> {
        parse(text)
    }

    /// JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("certificates have string keys only")
    }

    fn compute_digest(&self) -> String {
        digest(&Self { digest: String::new(), ..self.clone() })
    }
}

/// SHA-256 of the compact JSON text, in hexadecimal.
fn digest(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("certificates have string keys only");
    Sha256::digest(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect()
}

fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| rejected("text", e.to_string()))
}

/// JSON cannot carry a number that is not finite, so it could not be read back.
fn check_public(public: &PublicParameters) -> Result<()> {
    let bad = public.iter().find(|(_, v)| matches!(v, PublicValue::Real(x) if !x.is_finite()));
    match bad {
        None => Ok(()),
        Some((name, _)) => Err(rejected("public", format!("{name} is not finite"))),
    }
}

mod weak;
pub use weak::{IndividualCertificate, NoGuarantee};
