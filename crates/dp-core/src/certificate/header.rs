//! What certificates of every class have in common.

use super::canonical::{PayloadHash, canonical};
use super::consistency::check_law;
use super::preprocessing::Preprocessing;
use crate::error::{Error, Result, rejected};
use crate::noise::{GeneratorKind, NoiseLaw};
use crate::public::{PublicParameters, PublicValue};
use crate::text::json_fault;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Version of the certificate's layout.
pub const CERTIFICATE_FORMAT: u32 = 4;

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

/// What kind of certificate a release has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CertificateClass {
    /// Differential privacy.
    Private,
    /// Individual differential privacy only.
    Individual,
    /// No guarantee at all.
    None,
}

impl core::fmt::Display for CertificateClass {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.serialize(f)
    }
}

/// Longest text of a certificate, in bytes.
const LONGEST: usize = 1 << 20;

/// The class that a text states, once it is known to be of this version: everything else of another
/// version may be of another form.
pub(super) fn class_of(text: &str) -> Result<CertificateClass> {
    #[derive(Deserialize)]
    struct Version {
        format: Option<u64>,
    }
    #[derive(Deserialize)]
    struct Class {
        class: CertificateClass,
    }
    if text.len() > LONGEST {
        return Err(rejected("text", format!("{} bytes, the most is {LONGEST}", text.len())));
    }
    let Version { format } = from_text(text)?;
    check_format(format)?;
    from_text(text).map(|Class { class }| class)
}

pub(super) fn from_text<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| rejected("text", json_fault(&e)))
}

/// A whole certificate: what stands there is what it is taken for. A number written otherwise, or a field that the reader passes over, is
/// under another digest.
pub(super) fn whole<T: DeserializeOwned + Serialize>(text: &str) -> Result<T> {
    let found: T = from_text(text)?;
    if canonical(&from_text::<Value>(text)?) == canonical(&found) {
        return Ok(found);
    }
    Err(rejected("text", "a field, or a number, is not as the certificate would be written"))
}

fn check_format(found: Option<u64>) -> Result<()> {
    other_version(found, CERTIFICATE_FORMAT, "release again with this version")
        .map_or(Ok(()), |reason| Err(rejected("format", reason)))
}

/// Why something of another version than `known` cannot be read, and what to do; nothing for `known`.
pub(crate) fn other_version(found: Option<u64>, known: u32, remedy: &str) -> Option<String> {
    match found {
        Some(found) if found == u64::from(known) => None,
        Some(found) if found > u64::from(known) => Some(format!(
            "version {found} is of a later version of this library, which must read it: this one reads \
             {known}"
        )),
        found => {
            let found = found.map_or("no version".to_owned(), |v| format!("version {v}"));
            Some(format!(
                "{found} is stated, as by an earlier version of this library; this one reads {known}: \
                 {remedy}"
            ))
        }
    }
}

/// Reads a certificate of this class.
pub(super) fn parse<T: DeserializeOwned + Serialize>(
    text: &str,
    class: CertificateClass,
) -> Result<T> {
    let stated = class_of(text)?;
    if stated == class { whole(text) } else { Err(other_class(stated, class)) }
}

fn other_class(stated: CertificateClass, wanted: CertificateClass) -> Error {
    rejected("class", format!("{stated}, not {wanted}"))
}

pub(super) fn check_header(
    format: u32,
    stated: CertificateClass,
    class: CertificateClass,
) -> Result<()> {
    check_format(Some(format.into()))?;
    if stated == class { Ok(()) } else { Err(other_class(stated, class)) }
}

/// JSON text for people.
pub(super) fn indented(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("certificates have string keys only")
}

/// Makes a payload the one that a certificate stands beside.
pub(super) fn bind(bound: &mut Option<PayloadHash>, payload: PayloadHash) -> Result<()> {
    match bound {
        Some(other) if *other != payload => Err(Error::file(
            "certificate",
            "it was written for another payload; for one computed from that release it is \
             Certificate::of_post_processing",
        )),
        _ => {
            *bound = Some(payload);
            Ok(())
        }
    }
}

/// An optional field that must be there, perhaps as `null`.
pub(super) fn stated<'d, D: serde::Deserializer<'d>, T: Deserialize<'d>>(
    d: D,
) -> Result<Option<T>, D::Error> {
    Option::deserialize(d)
}

/// What the laws and public parameters of every class must be: laws as [`check_law`] says, noise that depends on the data where the
/// guarantee is individual, maps of values where there is differential privacy, and finite numbers (JSON carries no others).
pub(super) fn check_statement(
    noise: &NoiseLaw,
    public: &PublicParameters,
    class: CertificateClass,
) -> Result<()> {
    check_law(noise)?;
    let laws = match noise {
        NoiseLaw::Several { laws } => laws.as_slice(),
        one => core::slice::from_ref(one),
    };
    let of_data = laws.iter().any(|law| matches!(law, NoiseLaw::DataDependent { .. }));
    if of_data && class != CertificateClass::Individual {
        let text =
            format!("it depends on the data, which only individual guarantees do, not {class}");
        return Err(rejected("noise", text));
    }
    if public.contains_key(Preprocessing::KEY) && class != CertificateClass::Private {
        let text = format!("{:?} is stated, which only private releases do", Preprocessing::KEY);
        return Err(rejected("public", text));
    }
    let bad = public.iter().find(|(_, v)| matches!(v, PublicValue::Real(x) if !x.is_finite()));
    if let Some((name, _)) = bad {
        return Err(rejected("public", format!("{name} is not finite")));
    }
    Preprocessing::stated(public)
        .map_or_else(|e| Err(rejected("public", e.to_string())), |_| Ok(()))
}

pub(super) fn check_digest(stated: &str, computed: &str) -> Result<()> {
    if stated == computed {
        Ok(())
    } else {
        Err(rejected("digest", "a field was altered after the certificate was written"))
    }
}
