//! Set signatures in release files.

use super::neighbours::SetNeighbours;
use super::noisy::{NOISY, NoisyBits, NoisyFacts, noisy_parameters, noisy_profile};
use super::packed;
use super::response::{HASH_MODEL, hash_model, symbol_profile};
use super::secure::SymbolShape;
use super::signature::{Scheme, SignatureMatrix};
use super::symbols::{PrivateSymbols, SymbolFacts};
use crate::error::{Error, Result};
use crate::written::check_stated;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{
    AnyCertificate, CertificateClass, Kind, Opened, Payload, Writer, fingerprint, numbers_f64,
    to_json,
};
use dp_core::{Adjacency, Profile};
use std::io::Write;

impl Payload for PrivateSymbols {
    type Error = Error;

    fn kinds(class: CertificateClass) -> &'static [Kind] {
        match class {
            CertificateClass::Private => &[Kind::Symbols],
            _ => &[],
        }
    }

    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.scheme().slots)
    }

    fn fingerprint(&self) -> String {
        fingerprint(&(self.scheme(), self.coding()))
    }

    fn parameters(&self) -> Result<String> {
        Ok(to_json(self.facts())?)
    }

    fn check_statement(&self, statement: &Statement) -> Result<()> {
        let law = NoiseLaw::KaryResponse { alphabet: self.alphabet(), keep: self.keep() };
        let public = self.scheme().public_parameters(self.rows());
        check_stated(statement, &public, |noise| *noise == law)
    }

    fn write<W: Write>(&self, out: &mut Writer<W>) -> Result<()> {
        let width = packed::width(self.alphabet());
        let mut bytes = Vec::new();
        for row in self.symbols().chunks_exact(self.scheme().slots) {
            bytes.clear();
            packed::pack_row(row, width, &mut bytes);
            out.payload(&bytes)?;
        }
        Ok(())
    }

    fn read(opened: &Opened<'_>) -> Result<Self> {
        let facts: SymbolFacts = opened.summary.parameters()?;
        let (rows, slots) = opened.summary.shape()?;
        check_slots(&facts.scheme, slots)?;
        let width = packed::width(facts.alphabet);
        let row = packed::row_bytes(slots, width);
        opened.check_length(row.and_then(|row| rows.checked_mul(row)))?;
        opened.summary.check_fingerprint(&fingerprint(&(&facts.scheme, facts.coding)))?;
        opened.summary.check_public(&facts.scheme.public_parameters(rows))?;
        opened
            .summary
            .check_noise(&NoiseLaw::KaryResponse { alphabet: facts.alphabet, keep: facts.keep })?;
        check_guarantee(opened, |mechanism, adjacency| {
            symbol_profile(mechanism, &facts, adjacency)
        })?;
        let mut symbols = Vec::with_capacity(rows * slots);
        for row in opened.payload.chunks_exact(row.unwrap_or(1)) {
            packed::unpack_row(row, (slots, width), facts.alphabet, &mut symbols)
                .ok_or_else(|| rejected("payload", "a symbol is outside the alphabet"))?;
        }
        Ok(Self::new(facts, symbols))
    }
}

impl Payload for NoisyBits {
    type Error = Error;

    fn kinds(class: CertificateClass) -> &'static [Kind] {
        match class {
            CertificateClass::Private => &[Kind::NoisyMinHash],
            _ => &[],
        }
    }

    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.scheme().slots)
    }

    fn fingerprint(&self) -> String {
        fingerprint(self.scheme())
    }

    fn parameters(&self) -> Result<String> {
        Ok(to_json(&self.facts())?)
    }

    fn check_statement(&self, statement: &Statement) -> Result<()> {
        let public = noisy_parameters(self.scheme(), self.concatenation(), self.rows());
        let scale = self.scale();
        check_stated(
            statement,
            &public,
            |noise| matches!(noise, NoiseLaw::RoundedLaplace { scale: stated, .. } if *stated == scale),
        )
    }

    fn write<W: Write>(&self, out: &mut Writer<W>) -> Result<()> {
        Ok(out.payload_f64(self.values())?)
    }

    fn read(opened: &Opened<'_>) -> Result<Self> {
        let NoisyFacts { scheme, concatenation, scale } = opened.summary.parameters()?;
        let (rows, slots) = opened.summary.shape()?;
        check_slots(&scheme, slots)?;
        SymbolShape::new(slots, concatenation, 2)?;
        if scheme.sketch != format!("secure-minhash/K={concatenation}/B=2") {
            return Err(rejected("parameters", "the concatenation is not the scheme's"));
        }
        opened.check_length(rows.checked_mul(slots).and_then(|n| n.checked_mul(8)))?;
        opened.summary.check_fingerprint(&fingerprint(&scheme))?;
        opened.summary.check_public(&noisy_parameters(&scheme, concatenation, rows))?;
        match &opened.summary.certificate.statement().noise {
            NoiseLaw::RoundedLaplace { scale: stated, .. } if *stated == scale => {}
            _ => return Err(rejected("noise law", "differs from the certificate's")),
        }
        check_guarantee(opened, |mechanism, adjacency| match (mechanism, adjacency) {
            (NOISY, Adjacency::SetItems { alpha, min_size }) => {
                let neighbours = SetNeighbours::new(alpha, min_size)?;
                noisy_profile(slots, concatenation, neighbours, scale).map(Some)
            }
            _ => Ok(None),
        })?;
        Ok(Self::new(scheme, concatenation, scale, numbers_f64(opened.payload)?))
    }
}

impl Payload for SignatureMatrix {
    type Error = Error;

    fn kinds(class: CertificateClass) -> &'static [Kind] {
        match class {
            CertificateClass::None => &[Kind::PlainSignatures],
            _ => &[],
        }
    }

    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.scheme().slots)
    }

    fn fingerprint(&self) -> String {
        fingerprint(self.scheme())
    }

    fn parameters(&self) -> Result<String> {
        Ok(to_json(self.scheme())?)
    }

    fn check_statement(&self, statement: &Statement) -> Result<()> {
        let public = self.scheme().public_parameters(self.rows());
        check_stated(statement, &public, |noise| *noise == NoiseLaw::None)
    }

    fn write<W: Write>(&self, out: &mut Writer<W>) -> Result<()> {
        let mut bytes = Vec::new();
        for i in 0..self.rows() {
            bytes.clear();
            self.row(i).iter().for_each(|v| bytes.extend_from_slice(&v.to_le_bytes()));
            out.payload(&bytes)?;
        }
        Ok(())
    }

    fn read(opened: &Opened<'_>) -> Result<Self> {
        let scheme: Scheme = opened.summary.parameters()?;
        let (rows, slots) = opened.summary.shape()?;
        check_slots(&scheme, slots)?;
        opened.check_length(rows.checked_mul(slots).and_then(|n| n.checked_mul(4)))?;
        opened.summary.check_fingerprint(&fingerprint(&scheme))?;
        opened.summary.check_public(&scheme.public_parameters(rows))?;
        opened.summary.check_noise(&NoiseLaw::None)?;
        let word = |b: &[u8]| u32::from_le_bytes(b.try_into().expect("four bytes"));
        Ok(Self::new(scheme, opened.payload.chunks_exact(4).map(word).collect()))
    }
}

/// The certificate states again what follows from the payload's public parameters: mechanism and
/// adjacency give the profile, and the profile says what is assumed of the hash functions.
fn check_guarantee(
    opened: &Opened<'_>,
    expected: impl Fn(&str, Adjacency) -> Result<Option<Profile>>,
) -> Result<()> {
    let AnyCertificate::Private(certificate) = &opened.summary.certificate else {
        return Err(rejected("certificate", "is not one of differential privacy"));
    };
    let guarantee = certificate.guarantee();
    let mechanism = &certificate.statement().mechanism;
    let Some(expected) = expected(mechanism, guarantee.adjacency())? else {
        return Err(rejected(
            "certificate",
            "no such mechanism with this adjacency makes this payload",
        ));
    };
    let agrees = match (guarantee.profile(), &expected) {
        (
            Some(Profile::BinomialMixture { trials, probability, coordinate }),
            Profile::BinomialMixture { trials: t, probability: p, coordinate: c },
        ) => {
            // The probability goes through elementary functions, which differ between machines.
            let close = (probability.get() / p.get() - 1.0).abs() <= 1e-12;
            trials == t && coordinate == c && close
        }
        (stated, expected) => stated == Some(expected),
    };
    if !agrees {
        return Err(rejected(
            "certificate",
            "states another profile than the payload's parameters give",
        ));
    }
    let model = PublicParameters::from([(HASH_MODEL.to_owned(), hash_model(guarantee).into())]);
    Ok(opened.summary.check_public(&model)?)
}

fn check_slots(scheme: &Scheme, slots: usize) -> Result<()> {
    if slots == 0 || scheme.slots != slots {
        return Err(rejected("shape", "slots differ from the scheme's, or are none"));
    }
    Ok(())
}

fn rejected(part: &'static str, reason: &str) -> Error {
    dp_core::Error::file(part, reason).into()
}
