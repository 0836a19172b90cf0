//! The statement that travels with a release and that anyone can check.
//!
//! [`Certificate::verify`] recomputes everything that follows from something else in the
//! certificate (the delta from the profile's parameters, the profile's parameters from the noise law,
//! the least sensitivity from adjacency and theorem, the digest from all fields) and refuses what is
//! not proven or whose randomness somebody could know. It shows that the certificate is
//! *consistent*; [`Certificate::unchecked`] lists what it took at the writer's word. It
//! is not a signature: a forger who invents a whole consistent certificate of another mechanism is
//! not caught. Sign the JSON text where origin matters. Proof page: `docs/proofs/certificate.md`.

mod consistency;
mod unchecked;

use crate::error::{Error, Result};
use crate::guarantee::{Claim, Guarantee, Provenance, RawGuarantee, log_slack, rejected};
use crate::noise::{GeneratorKind, NoiseLaw};
use crate::profile::Profile;
use crate::seed::{FreshSeed, SeedOrigin};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Version of the certificate's layout.
pub const CERTIFICATE_FORMAT: u32 = 2;

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
/// Reading one back ([`Certificate::from_json`] or serde) checks that it is consistent
/// ([`Certificate::verify_consistency`]); what stands on it calls [`Certificate::verify`].
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
/// unknown fields, so the statement's are repeated). Nothing of it is evaluated yet.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCertificate {
    format: u32,
    library: String,
    mechanism: String,
    noise: NoiseLaw,
    generator: GeneratorKind,
    public: PublicParameters,
    guarantee: RawGuarantee,
    #[serde(serialize_with = "log_delta::serialize", deserialize_with = "log_delta::deserialize")]
    ln_true_delta: Option<f64>,
    digest: String,
}

impl TryFrom<RawCertificate> for Certificate {
    type Error = Error;
    fn try_from(mut raw: RawCertificate) -> Result<Self> {
        check_format(raw.format)?;
        let stated = core::mem::take(&mut raw.digest);
        weak::check_digest(&stated, &digest(&raw))?;
        let RawCertificate { mechanism, noise, generator, public, .. } = raw;
        let certificate = Self {
            format: raw.format,
            library: raw.library,
            statement: Statement { mechanism, noise, generator, public },
            guarantee: raw.guarantee.try_into()?,
            ln_true_delta: raw.ln_true_delta,
            digest: stated,
        };
        certificate.check_fields()?;
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
    /// Writes the certificate of a release; where the profile averages over a fresh seed it adds the
    /// model in which that holds ([`FreshSeed::MODEL`]). For authors of mechanisms.
    #[must_use]
    pub fn new(mut statement: Statement, guarantee: Guarantee) -> Self {
        if averages(&guarantee) {
            statement.public.insert(FreshSeed::MODEL_KEY.into(), FreshSeed::MODEL.into());
        }
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

    /// What whoever trusts a release asks: that the certificate is consistent
    /// ([`Certificate::verify_consistency`]), that its guarantee is proven or a published claim that its
    /// exact profile meets, and that nobody could know the randomness
    /// ([`Certificate::require_secret_randomness`]).
    ///
    /// [`Certificate::unchecked`] lists what even this takes at the writer's word.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] naming the first field that does not agree.
    pub fn verify(&self) -> Result<()> {
        self.verify_consistency()?;
        self.require_secret_randomness()?;
        let standing = match self.guarantee.provenance() {
            Provenance::Proven { .. } => return Ok(()),
            Provenance::Published { .. }
                if self.guarantee.claim() == Claim::Met
                    && !self.guarantee.profile().is_some_and(Profile::is_of_an_ideal_law) =>
            {
                return Ok(());
            }
            Provenance::Published { .. } => {
                "a published claim that its profile misses, that has none, or that is about an ideal law"
            }
            Provenance::Idealised { .. } => "proven of an ideal law, not of these numbers",
            Provenance::Declared { .. } => "declared, not proven",
        };
        let text = format!("{standing}: take it by name (verify_consistency), or not at all");
        Err(rejected("guarantee.provenance", text))
    }

    /// Recomputes everything that follows from something else in the certificate, whatever its
    /// guarantee is worth: a certificate of known noise, a declared guarantee and a missed claim
    /// pass, because each says what it is.
    ///
    /// Checked: format version; digest over all fields; the limits of the profile's parameters
    /// ([`Profile::check_limits`]); delta from the profile, and the budget against it; the
    /// theorem against adjacency and profile, with the least sensitivity or probability where it
    /// fixes one; the profile's parameters against the noise law; the noise's grid against its scale and
    /// the sensitivity; public parameters finite.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] naming the first field that does not agree.
    pub fn verify_consistency(&self) -> Result<()> {
        check_format(self.format)?;
        weak::check_digest(&self.digest, &self.compute_digest())?;
        self.guarantee.verify()?;
        self.check_fields()
    }

    /// What is checked beyond digest and guarantee.
    fn check_fields(&self) -> Result<()> {
        let Statement { noise, public, .. } = &self.statement;
        check_public(public)?;
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
        let model = public.get(FreshSeed::MODEL_KEY);
        if averages(&self.guarantee) && model != Some(&FreshSeed::MODEL.into()) {
            return Err(rejected(
                "public",
                format!("an average over a seed must state the {:?}", FreshSeed::MODEL_KEY),
            ));
        }
        consistency::check_law(noise)?;
        consistency::check_pace(self.guarantee.adjacency(), public)?;
        match self.guarantee.profile() {
            Some(profile) => consistency::check(self.guarantee.adjacency(), profile, noise),
            None => Ok(()),
        }
    }

    /// Refuses a release whose randomness somebody could know: its noise came from a number, or
    /// its profile averages over a seed that is not stated to be the operating system's.
    ///
    /// Such a certificate is consistent (it states what was done), but its guarantee does not hold.
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
                    "the noise came from a known number: not private",
                ));
            }
        }
        let averaged = averages(&self.guarantee);
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
                     system",
                    SeedOrigin::KEY
                ),
            )),
        }
    }

    /// Reads a certificate and checks that it is consistent ([`Certificate::verify_consistency`]).
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] when the text is not a certificate, is longer than a
    /// megabyte, or is not consistent.
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

/// Whether this noise is known to give this profile under this adjacency.
pub(crate) fn check_pair(
    adjacency: crate::Adjacency,
    profile: &Profile,
    noise: &NoiseLaw,
) -> Result<()> {
    consistency::check_law(noise)?;
    consistency::check(adjacency, profile, noise)
}

/// Whether the guarantee averages over a fresh seed.
fn averages(guarantee: &Guarantee) -> bool {
    guarantee.profile().is_some_and(Profile::needs_fresh_seed)
}

/// SHA-256 of the compact JSON text, in hexadecimal.
fn digest(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("certificates have string keys only");
    Sha256::digest(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect()
}

/// Longest text of a certificate, in bytes.
const LONGEST: usize = 1 << 20;

fn check_format(format: u32) -> Result<()> {
    if format == CERTIFICATE_FORMAT {
        Ok(())
    } else {
        Err(rejected("format", format!("version {format} is not {CERTIFICATE_FORMAT}")))
    }
}

fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    if text.len() > LONGEST {
        return Err(rejected("text", format!("{} bytes, the most is {LONGEST}", text.len())));
    }
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
pub use unchecked::Unchecked;
pub use weak::{IndividualCertificate, NoGuarantee};
