//! Release files: the container, and each kind behind a right checksum.

use crate::certificates::evaluated;
use crate::sample::{Failure, hex};
use dp_core::certificate::canonical;
use dp_core::release_file::{
    ClassOfCertificate, FORMAT, Kind, MAGIC, Payload, Summary, Trailer, Writer, decode, encode_as,
    open,
};
use dp_core::{Certificate, IndividualCertificate, NoGuarantee, Probability, Release};
use linalg_dp::analysis::{Regression, denoised, pca};
use linalg_dp::covariance::PrivateCovariance;
use linalg_dp::groups::GroupSums;
use linalg_dp::low_rank::{PrivateLowRank, Range as RangeSketch};
use linalg_dp::newton::NewtonRegression;
use linalg_dp::window::WindowCovariance;
use serde_json::Value;
use sha2::{Digest, Sha256};
use sketch::bounded::{BoundedPairs, BoundedValues};
use sketch::search::{BoundedIndex, CountIndex, Queries, Score};
use sketch::sets::{NoisyBits, NoisyCounts, PrivateSymbols, SignatureMatrix};
use sketch::signs::{SignCodes, SignPairs};
use sketch::units::{UnitPairs, UnitVectors};
use sketch::vectors::{Pairs, Posterior, PrivateSketch};
use std::ops::Range;

/// The container: bytes as they are, and sealed. What opens is written back to the same bytes.
pub(crate) fn release_container(data: &[u8]) {
    for bytes in [data.to_vec(), sealed(data)] {
        let Ok(opened) = open(&bytes) else { continue };
        let again = packed(&opened.summary, opened.payload).expect("was read");
        assert!(again == bytes, "one content has one file");
    }
}

/// The bytes that the release in a file is written back to, whatever its kind.
///
/// # Errors
/// When the file is refused.
pub fn rewritten(bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let kind = open(bytes)?.summary.kind;
    Ok(match kind {
        Kind::Sketch64 | Kind::Sketch32 | Kind::SketchCompact => {
            encode_as(&decode::<PrivateSketch, Certificate>(bytes)?, kind)?
        }
        Kind::UnitVectors => encode_as(&decode::<UnitVectors, Certificate>(bytes)?, kind)?,
        Kind::BoundedValues => encode_as(&decode::<BoundedValues, Certificate>(bytes)?, kind)?,
        Kind::Signs => encode_as(&decode::<SignCodes, Certificate>(bytes)?, kind)?,
        Kind::IndividualSigns => {
            encode_as(&decode::<SignCodes, IndividualCertificate>(bytes)?, kind)?
        }
        Kind::PlainSigns => encode_as(&decode::<SignCodes, NoGuarantee>(bytes)?, kind)?,
        Kind::Symbols => encode_as(&decode::<PrivateSymbols, Certificate>(bytes)?, kind)?,
        Kind::NoisyMinHash => encode_as(&decode::<NoisyBits, Certificate>(bytes)?, kind)?,
        Kind::GroupCounts => encode_as(&decode::<NoisyCounts, Certificate>(bytes)?, kind)?,
        Kind::PlainSignatures => encode_as(&decode::<SignatureMatrix, NoGuarantee>(bytes)?, kind)?,
        Kind::Covariance => encode_as(&decode::<PrivateCovariance, Certificate>(bytes)?, kind)?,
        Kind::LowRank => encode_as(&decode::<PrivateLowRank, Certificate>(bytes)?, kind)?,
        Kind::Range => encode_as(&decode::<RangeSketch, Certificate>(bytes)?, kind)?,
        Kind::Regression => encode_as(&decode::<NewtonRegression, Certificate>(bytes)?, kind)?,
        Kind::PrivateGroups => encode_as(&decode::<GroupSums, Certificate>(bytes)?, kind)?,
        Kind::Window => encode_as(&decode::<WindowCovariance, Certificate>(bytes)?, kind)?,
        other => return Err(format!("no reader for {}", other.name()).into()),
    })
}

/// Real-valued sketches.
pub(crate) fn release_sketch(data: &[u8]) {
    kind::<PrivateSketch, Certificate>(data, |release| {
        evaluated(release.certificate());
        let rows = release.payload().n();
        if rows >= 2 {
            let pairs = Pairs::within(release);
            let _ = (pairs.squared_distance(0, 1), pairs.inner_product(0, 1), pairs.cosine(0, 1));
        }
    });
}

/// Unit vectors, and values of a range.
pub(crate) fn release_units(data: &[u8]) {
    kind::<UnitVectors, Certificate>(data, |release| {
        evaluated(release.certificate());
        let pairs = UnitPairs::within(release);
        let confidence = Probability::new(0.9).expect("a probability");
        let _ = (pairs.cosine_interval(0, 1, confidence), pairs.squared_distance(0, 1));
    });
    kind::<BoundedValues, Certificate>(data, |release| {
        evaluated(release.certificate());
        let pairs = BoundedPairs::within(release);
        let confidence = Probability::new(0.9).expect("a probability");
        let _ = pairs.inner_product_interval(0, 1, confidence);
        let _ = pairs.squared_distance_interval(0, 1, confidence);
        let _ = BoundedIndex::denoised(release.payload(), Score::Cosine);
    });
}

/// Signs of all classes.
pub(crate) fn release_signs(data: &[u8]) {
    kind::<SignCodes, Certificate>(data, |release| {
        evaluated(release.certificate());
        if let Ok(pairs) = SignPairs::between(release, release) {
            let _ = (pairs.hamming(0, 1), pairs.cosine(0, 1), pairs.angle(0, 0));
        }
    });
    kind::<SignCodes, IndividualCertificate>(data, |_| {});
    kind::<SignCodes, NoGuarantee>(data, |_| {});
}

/// Set signatures.
pub(crate) fn release_sets(data: &[u8]) {
    kind::<PrivateSymbols, Certificate>(data, |release| evaluated(release.certificate()));
    kind::<NoisyBits, Certificate>(data, |release| evaluated(release.certificate()));
    kind::<NoisyCounts, Certificate>(data, |release| {
        evaluated(release.certificate());
        let counts = release.payload();
        let _ = counts.count_interval(0, 0, Probability::new(0.9).expect("a probability"));
        let _ = CountIndex::new(counts).map(|index| index.top_k(&Queries::all(counts), 1));
    });
    kind::<SignatureMatrix, NoGuarantee>(data, |_| {});
}

/// Covariances, low-rank approximations, range sketches, windows, regressions, sums of private groups.
pub(crate) fn release_matrices(data: &[u8]) {
    kind::<PrivateCovariance, Certificate>(data, |release| {
        evaluated(release.certificate());
        let covariance = release.payload();
        let failure = Probability::new(0.05).expect("a probability");
        let _ = (covariance.unbiased(), covariance.spectral_error(failure));
        let _ = covariance.positive();
        if let Ok(found) = denoised(covariance) {
            assert!(found.values().iter().all(|v| *v >= 0.0), "an eigenvalue below zero");
            let _ = (found.matrix(), found.typical_error(), found.error(failure));
        }
        if let Ok(found) = pca(release, 1) {
            let found = found.payload();
            let _ = (found.typical_subspace_error(), found.explained_ranges(failure));
        }
        let _ = Regression::of(covariance, 0).map(|found| found.ranges(failure));
    });
    kind::<PrivateLowRank, Certificate>(data, |release| evaluated(release.certificate()));
    kind::<RangeSketch, Certificate>(data, |release| evaluated(release.certificate()));
    kind::<WindowCovariance, Certificate>(data, |release| evaluated(release.certificate()));
    kind::<NewtonRegression, Certificate>(data, |release| {
        evaluated(release.certificate());
        let failure = Probability::new(0.05).expect("a probability");
        let found = release.payload();
        let _ = (found.ranges(failure), found.intercept_range(failure));
    });
    kind::<GroupSums, Certificate>(data, |release| {
        evaluated(release.certificate());
        let sums = release.payload().sums();
        let groups = sums.projection().groups().expect("sums of groups");
        if let Ok(moments) = release.payload().moments() {
            let posterior = Posterior::new(groups, &moments).expect("of these columns");
            let _ = posterior.rows(sums);
        }
    });
}

/// What is accepted answers, and is written back to bytes that decode to the same.
fn kind<T, C>(data: &[u8], each: impl Fn(&Release<T, C>))
where
    T: Payload + PartialEq + core::fmt::Debug,
    T::Error: core::fmt::Debug,
    C: ClassOfCertificate + PartialEq + core::fmt::Debug,
{
    for bytes in [sealed(data), rotated(data)] {
        let Ok(release) = decode::<T, C>(&bytes) else { continue };
        each(&release);
        let kind = open(&bytes).expect("it was decoded").summary.kind;
        let again = encode_as(&release, kind).expect("what was read can be written");
        assert_eq!(decode::<T, C>(&again).expect("what was written can be read"), release);
    }
}

/// A file made of what another says of itself and a payload.
///
/// # Errors
/// When the payload is not the one that the certificate was written for.
pub fn packed(summary: &Summary, payload: &[u8]) -> dp_core::Result<Vec<u8>> {
    let Summary { kind, rows, columns, fingerprint, parameters, certificate, .. } = summary.clone();
    let shape = (rows as usize, columns as usize);
    let trailer = Trailer::new(shape, fingerprint, &parameters, certificate)?;
    let mut out = Writer::begin(Vec::new(), kind)?;
    out.payload(payload)?;
    Ok(out.end(trailer)?.0)
}

/// Magic, version, a known kind and the checksum set right.
#[must_use]
pub fn sealed(data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    if bytes.len() < 56 {
        return bytes;
    }
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    let word = u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
    let kind = Kind::ALL[word as usize % Kind::ALL.len()];
    bytes[12..16].copy_from_slice(&kind.code().to_le_bytes());
    if let Some((payload, trailer)) = places(&bytes) {
        seal(&mut bytes, payload, trailer);
    }
    bytes
}

/// Where payload and trailer are, when the stated length fits.
fn places(bytes: &[u8]) -> Option<(Range<usize>, Range<usize>)> {
    let end = bytes.len().checked_sub(40).filter(|end| *end >= 16)?;
    let length = u64::from_le_bytes(bytes[end..end + 8].try_into().ok()?);
    let from = end.checked_sub(usize::try_from(length).ok()?).filter(|from| *from >= 16)?;
    Some((16..from, from..end))
}

/// Sets the checksum right: of everything, with the payload's hash in its place.
fn seal(bytes: &mut [u8], payload: Range<usize>, trailer: Range<usize>) {
    let end = bytes.len() - 32;
    let hash = Sha256::new_with_prefix(&bytes[..16]).chain_update(Sha256::digest(&bytes[payload]));
    let sum = hash.chain_update(&bytes[trailer.start..end]).finalize();
    bytes[end..].copy_from_slice(&sum);
}

/// The fields of a file's trailer.
///
/// # Errors
/// When it is not a release file.
pub fn trailer(bytes: &[u8]) -> Result<Value, Failure> {
    let (_, trailer) = places(bytes).ok_or("not a release file")?;
    Ok(serde_json::from_slice(&bytes[trailer])?)
}

/// The file with another payload and trailer, and the checksum set right.
fn assembled(bytes: &[u8], payload: &[u8], trailer: &Value) -> Vec<u8> {
    let trailer = canonical(trailer).into_bytes();
    let length = (trailer.len() as u64).to_le_bytes();
    let mut out = [&bytes[..16], payload, &trailer, &length, &[0; 32]].concat();
    let from = 16 + payload.len();
    seal(&mut out, 16..from, from..from + trailer.len());
    out
}

/// The file with another trailer and the checksum set right, but no digest in it.
///
/// # Errors
/// When it is not a release file.
pub fn repacked(bytes: &[u8], trailer: &Value) -> Result<Vec<u8>, Failure> {
    let (payload, _) = places(bytes).ok_or("not a release file")?;
    Ok(assembled(bytes, &bytes[payload], trailer))
}

/// The file with an edit of its payload and of the fields of its trailer, and every hash, digest and checksum
/// set right again, as a forger would: only what the numbers say of each other can tell.
///
/// # Errors
/// When it is not a release file.
pub fn forged(
    bytes: &[u8],
    edit: impl FnOnce(&mut Vec<u8>, &mut Value),
) -> Result<Vec<u8>, Failure> {
    let (payload, _) = places(bytes).ok_or("not a release file")?;
    let (mut payload, mut fields) = (bytes[payload].to_vec(), trailer(bytes)?);
    edit(&mut payload, &mut fields);
    if let Some(stated) = fields.get_mut("certificate").and_then(Value::as_object_mut) {
        stated.insert("payload".into(), hex(&Sha256::digest(&payload)).into());
        stated.remove("digest");
        let digest = hex(&Sha256::digest(canonical(&*stated)));
        stated.insert("digest".into(), digest.into());
    }
    Ok(assembled(bytes, &payload, &fields))
}

/// A valid file with another payload of the same length: its first byte moved to the end, so that
/// every place holds another value behind a trailer that holds together.
fn rotated(data: &[u8]) -> Vec<u8> {
    let sealed = sealed(data);
    let moved = forged(&sealed, |payload, _| {
        if !payload.is_empty() {
            payload.rotate_left(1);
        }
    });
    moved.unwrap_or(sealed)
}
