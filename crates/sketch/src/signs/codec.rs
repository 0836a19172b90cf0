//! Signs in release files.

use super::bits::PackedBits;
use super::codes::{SignCodes, sign_parameters};
use crate::error::{Error, Result};
use crate::projection::ProjectionSpec;
use crate::written::check_stated;
use dp_core::certificate::Statement;
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{
    CertificateClass, Kind, Opened, Payload, Writer, fingerprint, to_json,
};
use std::io::Write;

impl Payload for SignCodes {
    type Error = Error;

    fn kinds(class: CertificateClass) -> &'static [Kind] {
        match class {
            CertificateClass::Private => &[Kind::Signs],
            CertificateClass::Individual => &[Kind::IndividualSigns],
            CertificateClass::None => &[Kind::PlainSigns],
        }
    }

    fn shape(&self) -> (usize, usize) {
        (self.bits().n(), self.bits().bits())
    }

    fn fingerprint(&self) -> String {
        fingerprint(&self.projections())
    }

    fn parameters(&self) -> Result<String> {
        Ok(to_json(&self.projections())?)
    }

    fn check_statement(&self, statement: &Statement) -> Result<()> {
        let public = sign_parameters(self.projections(), self.bits().n());
        check_stated(statement, &public, |noise| noise == self.noise())
    }

    fn write<W: Write>(&self, out: &mut Writer<W>) -> Result<()> {
        put(out, self.bits().bits(), self.bits().words())
    }

    fn read(opened: &Opened<'_>) -> Result<Self> {
        let rejected = |part, reason: &str| Error::from(dp_core::Error::file(part, reason));
        let projections: Vec<ProjectionSpec> = opened.parameters()?;
        let (rows, bits) = opened.shape()?;
        let Some(first) = projections.first() else {
            return Err(rejected("parameters", "no projection"));
        };
        if projections.iter().any(|p| p.d() != first.d()) {
            return Err(rejected("parameters", "projections of different d"));
        }
        if projections.iter().map(|p| p.k()).sum::<usize>() != bits {
            return Err(rejected("shape", "bits differ from the projections'"));
        }
        let row = bits.div_ceil(8);
        opened.check_length(rows.checked_mul(row))?;
        opened.check_fingerprint(&fingerprint(&projections))?;
        opened.check_public(&sign_parameters(&projections, rows))?;
        let noise = opened.summary.certificate.statement().noise.clone();
        let fits = match opened.summary.kind {
            Kind::Signs => {
                matches!(noise, NoiseLaw::BitFlip { .. } | NoiseLaw::SmoothBitFlip { .. })
            }
            Kind::IndividualSigns => matches!(noise, NoiseLaw::DataDependent { .. }),
            _ => noise == NoiseLaw::None,
        };
        if !fits {
            return Err(rejected("noise law", "not one of this kind of signs"));
        }
        let mut words = Vec::with_capacity(rows * bits.div_ceil(64));
        for row in opened.payload.chunks_exact(row) {
            words.extend(row.chunks(8).map(|bytes| {
                let mut word = [0; 8];
                word[..bytes.len()].copy_from_slice(bytes);
                u64::from_le_bytes(word)
            }));
        }
        Ok(Self::new(projections, noise, PackedBits::new(rows, bits, words)?))
    }
}

/// Adds rows of packed words, each cut to whole bytes.
pub(super) fn put<W: Write>(out: &mut Writer<W>, bits: usize, words: &[u64]) -> Result<()> {
    let (width, row) = (bits.div_ceil(64), bits.div_ceil(8));
    let mut bytes = Vec::with_capacity(row + 8);
    for words in words.chunks_exact(width) {
        bytes.clear();
        words.iter().for_each(|w| bytes.extend_from_slice(&w.to_le_bytes()));
        out.payload(&bytes[..row])?;
    }
    Ok(())
}
