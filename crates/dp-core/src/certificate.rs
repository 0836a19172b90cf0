//! The statement that travels with a release and that anyone can check.
//!
//! [`Certificate::verify`] recomputes everything that follows from something else in the
//! certificate (the delta from the profile's parameters, the profile's parameters from the noise law,
//! the least sensitivity from adjacency and theorem; reading one, the digest from all fields) and refuses what is
//! not proven or whose randomness somebody could know. It shows that the certificate is
//! *consistent*; [`Certificate::unchecked`] lists what it took at the writer's word. It
//! is not a signature: a forger who invents a whole consistent certificate of another mechanism is
//! not caught. Where origin matters, sign the release file (`dps attest`); readers check it with `dps verify --signer KEY`.
//! Proof page: `docs/proofs/certificate.md`; every field, for readers in other languages: `docs/FORMAT.md`.

mod any;
mod canonical;
mod consistency;
mod header;
pub mod preprocessing;
mod require;
mod trust;
mod unchecked;
mod weak;

pub use crate::public::{PublicParameters, PublicValue};
pub use any::{AnyCertificate, ClassOfCertificate};
pub use canonical::{PayloadHash, canonical};
pub use require::Requirements;
pub use trust::{Exception, Trust};
pub use unchecked::Unchecked;
pub use weak::{IndividualCertificate, NoGuarantee};

pub use header::{CERTIFICATE_FORMAT, CertificateClass, Statement};

pub(crate) use canonical::{digest, hex};
pub(crate) use header::other_version;

use crate::error::{Error, Result};
use crate::error::{log_slack, rejected};
use crate::guarantee::{Claim, Guarantee, Provenance, RawGuarantee};
use crate::noise::{GeneratorKind, NoiseLaw};
use crate::profile::Profile;
use crate::seed::{FreshSeed, SeedOrigin};
use crate::text::printable;
use preprocessing::Preprocessing;
use serde::{Deserialize, Serialize, Serializer};

/// The certificate of a differentially private release.
///
/// Reading one back ([`Certificate::from_json`] or serde) checks that it is consistent
/// ([`Certificate::verify_consistency`]); what stands on it calls [`Certificate::verify`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "RawCertificate")]
pub struct Certificate {
    class: CertificateClass,
    format: u32,
    library: String,
    statement: Statement,
    guarantee: Guarantee,
    /// ln of the delta really given; absent when no profile is known.
    ln_true_delta: Option<f64>,
    /// Of the release file it stands in; absent until there is one.
    payload: Option<PayloadHash>,
}

impl Serialize for Certificate {
    fn serialize<S: Serializer>(&self, to: S) -> core::result::Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written<F> {
            #[serde(flatten)]
            fields: F,
            digest: String,
        }
        Written { fields: self.fields(), digest: self.digest() }.serialize(to)
    }
}

/// The fields as they are written (serde's `flatten` cannot refuse
/// unknown fields, so the statement's are repeated). Nothing of it is evaluated yet.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCertificate {
    class: CertificateClass,
    format: u32,
    library: String,
    mechanism: String,
    noise: NoiseLaw,
    generator: GeneratorKind,
    #[serde(deserialize_with = "crate::public::each_once")]
    public: PublicParameters,
    guarantee: RawGuarantee,
    #[serde(serialize_with = "log_delta::serialize", deserialize_with = "log_delta::deserialize")]
    ln_true_delta: Option<f64>,
    #[serde(deserialize_with = "header::stated")]
    payload: Option<PayloadHash>,
    digest: String,
}

impl TryFrom<RawCertificate> for Certificate {
    type Error = Error;
    fn try_from(raw: RawCertificate) -> Result<Self> {
        header::check_header(raw.format, raw.class, CertificateClass::Private)?;
        header::check_digest(&raw.digest, &digest(&raw))?;
        let RawCertificate { mechanism, noise, generator, public, .. } = raw;
        let certificate = Self {
            class: raw.class,
            format: raw.format,
            library: raw.library,
            statement: Statement { mechanism, noise, generator, public },
            guarantee: raw.guarantee.try_into()?,
            ln_true_delta: raw.ln_true_delta,
            payload: raw.payload,
        };
        // And nothing was lost on the way: what is written again has the digest that was read.
        header::check_digest(&raw.digest, &certificate.digest())?;
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
    /// model in which that holds ([`FreshSeed::MODEL`]).
    pub(crate) fn new(mut statement: Statement, guarantee: Guarantee) -> Self {
        if averages(&guarantee) {
            statement.public.insert(FreshSeed::MODEL_KEY.into(), FreshSeed::MODEL.into());
        }
        Self {
            class: CertificateClass::Private,
            format: CERTIFICATE_FORMAT,
            library: concat!("dp-core ", env!("CARGO_PKG_VERSION")).to_owned(),
            statement,
            ln_true_delta: guarantee.true_delta().map(|d| d.get()),
            guarantee,
            payload: None,
        }
    }

    /// The certificate of a mechanism that is not this library's, for a guarantee that somebody
    /// [declares](Guarantee::declared).
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] for a guarantee that is not a declared one: it speaks of noise that
    /// the library drew, and the library writes its certificate; or when noise and profile do not agree.
    pub fn declared(statement: Statement, guarantee: Guarantee) -> Result<Self> {
        let Provenance::Declared { .. } = guarantee.provenance() else {
            return Err(rejected(
                "guarantee.provenance",
                "is not a declared one: releases carry those",
            ));
        };
        let certificate = Self::new(statement, guarantee);
        certificate.check_fields()?;
        Ok(certificate)
    }

    /// All that is written but the digest, which is of these.
    fn fields(&self) -> impl Serialize + '_ {
        #[derive(Serialize)]
        struct Fields<'a> {
            class: CertificateClass,
            format: u32,
            library: &'a str,
            #[serde(flatten)]
            statement: &'a Statement,
            guarantee: &'a Guarantee,
            #[serde(serialize_with = "log_delta::serialize")]
            ln_true_delta: Option<f64>,
            payload: Option<PayloadHash>,
        }
        let Self { class, format, library, statement, guarantee, ln_true_delta, payload } = self;
        let (class, format, ln_true_delta, payload) = (*class, *format, *ln_true_delta, *payload);
        Fields { class, format, library, statement, guarantee, ln_true_delta, payload }
    }

    /// The certificate of a release file with this payload, and of no other.
    ///
    /// # Errors
    /// [`Error::File`] when it is that of another payload already.
    pub(crate) fn bound_to(mut self, payload: PayloadHash) -> Result<Self> {
        header::bind(&mut self.payload, payload)?;
        Ok(self)
    }

    /// The same certificate for the one output of a release key, that of whose parts this is.
    pub(crate) fn of_output(mut self) -> Self {
        self.statement.generator = GeneratorKind::ReleaseKeyChacha12;
        Self { payload: None, ..self }
    }

    /// The same certificate for a release of another number of rows, which its public parameter `name` counts.
    pub(crate) fn with_count(mut self, name: &str, rows: u64) -> Self {
        self.statement.public.insert(name.to_owned(), rows.into());
        Self { payload: None, ..self }
    }

    /// The same certificate for rows that were mapped first.
    pub(crate) fn of_mapped(mut self, preprocessing: &Preprocessing) -> Result<Self> {
        let text = preprocessing.text();
        self.statement.public.insert(Preprocessing::KEY.to_owned(), text.into());
        header::check_statement(&self.statement.noise, &self.statement.public, self.class)?;
        Ok(self)
    }

    /// The same certificate for something computed from the release (a rounded payload, part of it):
    /// post-processing keeps the guarantee. It is of no payload until it stands in a file.
    #[must_use]
    pub fn of_post_processing(self) -> Self {
        Self { payload: None, ..self }
    }

    /// The hash of the payload it stands beside in a release file; none outside of one.
    #[must_use]
    pub fn payload_hash(&self) -> Option<PayloadHash> {
        self.payload
    }

    /// SHA-256 of the [canonical text](canonical()) without this field, in hexadecimal.
    #[must_use]
    pub fn digest(&self) -> String {
        digest(&self.fields())
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
            Provenance::Published { .. } if self.guarantee.claim() == Claim::Met => return Ok(()),
            Provenance::Published { .. } => {
                "a published claim that its profile misses, or that has none"
            }
            Provenance::Declared { .. } => "declared, not proven",
        };
        let text = format!("{standing}: take it by name (verify_consistency), or not at all");
        Err(rejected("guarantee.provenance", text))
    }

    /// Recomputes everything that follows from something else in the certificate, whatever its
    /// guarantee is worth: a certificate of known noise, a declared guarantee and a missed claim
    /// pass, because each says what it is.
    ///
    /// Checked: format version; the limits of the profile's parameters
    /// ([`Profile::check_limits`]); delta from the profile, and the budget against it; the
    /// theorem against adjacency and profile, with the least sensitivity or probability where it
    /// fixes one; the profile's parameters against the noise law; the noise's grid against its scale and
    /// the sensitivity; public parameters finite.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] naming the first field that does not agree.
    pub fn verify_consistency(&self) -> Result<()> {
        header::check_header(self.format, self.class, CertificateClass::Private)?;
        self.guarantee.verify()?;
        self.check_fields()
    }

    /// What is checked beyond the guarantee.
    fn check_fields(&self) -> Result<()> {
        let Statement { noise, public, .. } = &self.statement;
        header::check_statement(noise, public, CertificateClass::Private)?;
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
        consistency::check_pace(self.guarantee.adjacency(), public)?;
        consistency::check_pure(&self.guarantee, noise)?;
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
            GeneratorKind::OsChacha12 | GeneratorKind::ReleaseKeyChacha12 => {}
            GeneratorKind::DeterministicNotPrivate => {
                return Err(rejected(
                    "generator",
                    "the noise came from a known number: not private",
                ));
            }
            GeneratorKind::ReleaseKeyPart => {
                return Err(rejected(
                    "generator",
                    "the noise can be drawn again from a release key: this is a part, and only the output that the parts are merged \
                     into is a release",
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

    /// Reads a certificate, in any layout of JSON, and checks that it is consistent
    /// ([`Certificate::verify_consistency`]).
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] when the text is not a certificate, is longer than a
    /// megabyte, is of another version, or is not consistent.
    pub fn from_json(text: &str) -> Result<Self> {
        header::parse(text, CertificateClass::Private)
    }

    /// JSON text, indented for people.
    #[must_use]
    pub fn to_json(&self) -> String {
        header::indented(self)
    }
}

impl core::str::FromStr for Certificate {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        Self::from_json(text)
    }
}

impl core::fmt::Display for Certificate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Statement { mechanism, generator, .. } = &self.statement;
        writeln!(f, "{}: {}", printable(mechanism), self.guarantee.budget())?;
        writeln!(f, "neighbours: {}", self.guarantee.adjacency())?;
        match self.guarantee.provenance() {
            Provenance::Proven { theorem } => writeln!(f, "proven: {theorem}")?,
            Provenance::Published { source, caveat } => {
                let (source, caveat) = (printable(source), printable(caveat));
                writeln!(f, "published, not proven: {source}; {caveat}")?;
            }
            Provenance::Declared { by, reason } => {
                writeln!(f, "declared by {}: {}", printable(by), printable(reason))?;
            }
        }
        if let Some(delta) = self.guarantee.true_delta() {
            writeln!(f, "delta really given: {delta}")?;
        }
        f.write_str("generator: ")?;
        generator.serialize(f)
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
