//! Reading: nothing is believed before it is checked.

use super::codec::{self, Trailer};
use super::writer::Element;
use super::{FORMAT, MAGIC, PREFIX, SUFFIX};
use crate::error::{Error, Result};
use crate::private::{PrivateSketch, SketchRelease};
use crate::projection::ProjectionSpec;
use dp_core::certificate::PublicValue;
use dp_core::noise::NoiseLaw;
use dp_core::{Certificate, Release};
use sha2::{Digest, Sha256};
use std::path::Path;

fn rejected(part: &'static str, reason: impl Into<String>) -> Error {
    Error::File { part, reason: reason.into() }
}

/// Reads and checks a release file: magic, version, checksum, shape, fingerprint,
/// certificate, and that certificate and payload speak of the same projection and noise.
///
/// # Errors
/// [`Error::Io`], or [`Error::File`] naming the part that does not hold.
pub fn read_release(path: &Path) -> Result<SketchRelease> {
    decode(&std::fs::read(path)?)
}

/// As [`read_release`] for bytes in memory. Arbitrary bytes give an error, never a panic.
///
/// # Errors
/// [`Error::File`] naming the part that does not hold.
pub fn decode(bytes: &[u8]) -> Result<SketchRelease> {
    if bytes.len() < PREFIX + SUFFIX {
        return Err(rejected("length", "shorter than the smallest release file"));
    }
    if bytes[..8] != MAGIC {
        return Err(rejected("magic", "not a release file"));
    }
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    match word(8) {
        FORMAT => {}
        other => return Err(rejected("version", format!("{other} is not known, only {FORMAT}"))),
    }
    let element = match word(12) {
        0 => Element::F64,
        1 => Element::F32,
        other => return Err(rejected("element kind", format!("{other} is not known"))),
    };
    let (content, checksum) = bytes.split_at(bytes.len() - 32);
    if Sha256::digest(content)[..] != *checksum {
        return Err(rejected("checksum", "the file was damaged or altered"));
    }
    let (content, length) = content.split_at(content.len() - 8);
    let length = u64::from_le_bytes(length.try_into().expect("eight bytes"));
    let body = &content[PREFIX..];
    let start = usize::try_from(length)
        .ok()
        .and_then(|length| body.len().checked_sub(length))
        .ok_or_else(|| rejected("trailer", "longer than the file"))?;
    let (payload, trailer) = body.split_at(start);
    build(payload, element, &codec::from_bytes(trailer)?)
}

fn build(payload: &[u8], element: Element, trailer: &Trailer) -> Result<SketchRelease> {
    let json = |part| move |e: serde_json::Error| rejected(part, e.to_string());
    let spec: ProjectionSpec =
        serde_json::from_str(&trailer.projection).map_err(json("projection"))?;
    let noise: NoiseLaw = serde_json::from_str(&trailer.noise).map_err(json("noise law"))?;
    let certificate = Certificate::from_json(&trailer.certificate)?;
    if trailer.columns != spec.k() as u64 {
        return Err(rejected("shape", "columns differ from the projection's"));
    }
    let width = if element == Element::F64 { 8 } else { 4 };
    let expected = trailer.rows.checked_mul(trailer.columns).and_then(|n| n.checked_mul(width));
    if expected != Some(payload.len() as u64) {
        return Err(rejected("shape", "the payload does not have the stated number of rows"));
    }
    if trailer.fingerprint != spec.fingerprint() {
        return Err(rejected("fingerprint", "does not belong to the stated projection"));
    }
    let statement = certificate.statement();
    if statement.noise != noise {
        return Err(rejected("noise law", "differs from the certificate's"));
    }
    let mut public = spec.public_parameters();
    public.insert("n".into(), PublicValue::Integer(trailer.rows));
    for (name, value) in &public {
        if statement.public.get(name) != Some(value) {
            return Err(rejected("certificate", format!("states another {name} than the file")));
        }
    }
    let values: Vec<f64> = match element {
        Element::F64 => payload
            .chunks_exact(8)
            .map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes")))
            .collect(),
        Element::F32 => payload
            .chunks_exact(4)
            .map(|b| f64::from(f32::from_le_bytes(b.try_into().expect("four bytes"))))
            .collect(),
    };
    if values.iter().any(|v| !v.is_finite()) {
        return Err(rejected("payload", "holds a value that is not finite"));
    }
    Ok(Release::certified(PrivateSketch::new(spec, noise, values)?, certificate))
}
