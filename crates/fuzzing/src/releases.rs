//! Release files: the container, and each kind behind a right checksum.

use crate::certificates::evaluated;
use dp_core::release_file::{
    ClassOfCertificate, Kind, MAGIC, Opened, Payload, Trailer, Writer, decode, encode_as, open,
};
use dp_core::{Certificate, IndividualCertificate, NoGuarantee, Probability, Release};
use linalg_dp::covariance::PrivateCovariance;
use linalg_dp::low_rank::{PrivateLowRank, Range};
use linalg_dp::window::WindowCovariance;
use sha2::{Digest, Sha256};
use sketch::sets::{NoisyBits, PrivateSymbols, SignatureMatrix};
use sketch::signs::{SignCodes, SignPairs};
use sketch::vectors::{Pairs, PrivateSketch};

/// The container: bytes as they are, and sealed. What opens is written back to the same bytes.
pub fn release_container(data: &[u8]) {
    for bytes in [data.to_vec(), sealed(data)] {
        let Ok(opened) = open(&bytes) else { continue };
        let Opened { summary, payload } = opened;
        let mut out = Writer::begin(Vec::new(), summary.kind).expect("memory");
        out.payload(payload).expect("memory");
        let shape = (summary.rows as usize, summary.columns as usize);
        let trailer =
            Trailer::new(shape, summary.fingerprint, summary.parameters, &summary.certificate);
        let again = out.end(&trailer.expect("was read")).expect("memory");
        let reopened = open(&again).expect("what was written opens");
        assert_eq!((reopened.payload, reopened.summary.kind), (payload, summary.kind));
        assert_eq!(reopened.summary.certificate, summary.certificate);
    }
}

/// The bytes that the release in a file is written back to, whatever its kind.
///
/// # Errors
/// When the file is refused.
pub fn rewritten(bytes: &[u8]) -> Result<Vec<u8>, crate::samples::Failure> {
    let kind = open(bytes)?.summary.kind;
    Ok(match kind {
        Kind::Sketch64 | Kind::Sketch32 => {
            encode_as(&decode::<PrivateSketch, Certificate>(bytes)?, kind)?
        }
        Kind::Signs => encode_as(&decode::<SignCodes, Certificate>(bytes)?, kind)?,
        Kind::IndividualSigns => {
            encode_as(&decode::<SignCodes, IndividualCertificate>(bytes)?, kind)?
        }
        Kind::PlainSigns => encode_as(&decode::<SignCodes, NoGuarantee>(bytes)?, kind)?,
        Kind::Symbols => encode_as(&decode::<PrivateSymbols, Certificate>(bytes)?, kind)?,
        Kind::NoisyMinHash => encode_as(&decode::<NoisyBits, Certificate>(bytes)?, kind)?,
        Kind::PlainSignatures => encode_as(&decode::<SignatureMatrix, NoGuarantee>(bytes)?, kind)?,
        Kind::Covariance => encode_as(&decode::<PrivateCovariance, Certificate>(bytes)?, kind)?,
        Kind::LowRank => encode_as(&decode::<PrivateLowRank, Certificate>(bytes)?, kind)?,
        Kind::Range => encode_as(&decode::<Range, Certificate>(bytes)?, kind)?,
        Kind::Window => encode_as(&decode::<WindowCovariance, Certificate>(bytes)?, kind)?,
        other => return Err(format!("no reader for {}", other.name()).into()),
    })
}

/// Real-valued sketches.
pub fn release_sketch(data: &[u8]) {
    kind::<PrivateSketch, Certificate>(data, |release| {
        evaluated(release.certificate());
        let rows = release.payload().n();
        if rows >= 2 {
            let pairs = Pairs::within(release);
            let _ = (pairs.squared_distance(0, 1), pairs.inner_product(0, 1), pairs.cosine(0, 1));
        }
    });
}

/// Signs of all classes.
pub fn release_signs(data: &[u8]) {
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
pub fn release_sets(data: &[u8]) {
    kind::<PrivateSymbols, Certificate>(data, |release| evaluated(release.certificate()));
    kind::<NoisyBits, Certificate>(data, |release| evaluated(release.certificate()));
    kind::<SignatureMatrix, NoGuarantee>(data, |_| {});
}

/// Covariances, low-rank approximations, range sketches, windows.
pub fn release_matrices(data: &[u8]) {
    kind::<PrivateCovariance, Certificate>(data, |release| {
        evaluated(release.certificate());
        let covariance = release.payload();
        let failure = Probability::new(0.05).expect("a probability");
        let _ = (covariance.unbiased(), covariance.spectral_error(failure));
        let _ = covariance.positive();
    });
    kind::<PrivateLowRank, Certificate>(data, |release| evaluated(release.certificate()));
    kind::<Range, Certificate>(data, |release| evaluated(release.certificate()));
    kind::<WindowCovariance, Certificate>(data, |release| evaluated(release.certificate()));
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

/// Magic, version, a known kind and the checksum set right.
fn sealed(data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    if bytes.len() < 56 {
        return bytes;
    }
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&1u32.to_le_bytes());
    let word = u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
    let kind = Kind::ALL[word as usize % Kind::ALL.len()];
    bytes[12..16].copy_from_slice(&kind.code().to_le_bytes());
    let end = bytes.len() - 32;
    let sum = Sha256::digest(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum);
    bytes
}

/// A valid file with another payload of the same length: its first byte moved to the end, so that
/// every place holds another value behind a trailer that holds together.
fn rotated(data: &[u8]) -> Vec<u8> {
    let sealed = sealed(data);
    let Ok(opened) = open(&sealed) else { return sealed };
    let Some((head, rest)) = opened.payload.split_first() else { return sealed };
    let mut payload = rest.to_vec();
    payload.push(*head);
    let Opened { summary, .. } = opened;
    let mut out = Writer::begin(Vec::new(), summary.kind).expect("memory");
    out.payload(&payload).expect("memory");
    let shape = (summary.rows as usize, summary.columns as usize);
    let trailer =
        Trailer::new(shape, summary.fingerprint, summary.parameters, &summary.certificate);
    out.end(&trailer.expect("was read")).expect("memory")
}
