//! Signs in release files.

use super::bits::PackedBits;
use super::codes::{SignCodes, sign_parameters};
use crate::error::{Error, Result};
use crate::pieced::Pieced;
use crate::projection::ProjectionSpec;
use crate::written::check_stated;
use dp_core::certificate::Statement;
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{
    CertificateClass, InParts, Kind, Opened, Payload, Summary, Writer, fingerprint, to_json,
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
        let form = Form::of(&opened.summary)?;
        opened.check_length(form.rows.checked_mul(form.bits.div_ceil(8)))?;
        form.codes(opened.payload)
    }
}

/// What a file of signs says of its payload, checked.
#[derive(Debug)]
pub struct Form {
    projections: Vec<ProjectionSpec>,
    noise: NoiseLaw,
    rows: usize,
    bits: usize,
}

impl Form {
    fn of(summary: &Summary) -> Result<Self> {
        let rejected = |part, reason: &str| Error::from(dp_core::Error::file(part, reason));
        let projections: Vec<ProjectionSpec> = summary.parameters()?;
        let (rows, bits) = summary.shape()?;
        let Some(first) = projections.first() else {
            return Err(rejected("parameters", "no projection"));
        };
        if projections.iter().any(|p| p.d() != first.d()) {
            return Err(rejected("parameters", "projections of different d"));
        }
        if projections.iter().map(|p| p.k()).sum::<usize>() != bits {
            return Err(rejected("shape", "bits differ from the projections'"));
        }
        summary.check_fingerprint(&fingerprint(&projections))?;
        summary.check_public(&sign_parameters(&projections, rows))?;
        let noise = summary.certificate.statement().noise.clone();
        let fits = match summary.kind {
            Kind::Signs => {
                matches!(noise, NoiseLaw::BitFlip { .. } | NoiseLaw::SmoothBitFlip { .. })
            }
            Kind::IndividualSigns => matches!(noise, NoiseLaw::DataDependent { .. }),
            _ => noise == NoiseLaw::None,
        };
        if fits {
            Ok(Self { projections, noise, rows, bits })
        } else {
            Err(rejected("noise law", "not one of this kind of signs"))
        }
    }

    pub(crate) fn projections(&self) -> &[ProjectionSpec] {
        &self.projections
    }

    /// The signs of whole rows.
    fn codes(&self, bytes: &[u8]) -> Result<SignCodes> {
        let row = self.bits.div_ceil(8);
        let rows = bytes.len() / row;
        let mut words = Vec::with_capacity(rows * self.bits.div_ceil(64));
        for row in bytes.chunks_exact(row) {
            words.extend(row.chunks(8).map(|bytes| {
                let mut word = [0; 8];
                word[..bytes.len()].copy_from_slice(bytes);
                u64::from_le_bytes(word)
            }));
        }
        let bits = PackedBits::new(rows, self.bits, words)?;
        Ok(SignCodes::new(self.projections.clone(), self.noise.clone(), bits))
    }
}

impl Pieced for SignCodes {
    type Form = Form;

    fn form(summary: &Summary) -> Result<Form> {
        Form::of(summary)
    }

    fn numbers(form: &Form) -> usize {
        form.bits.div_ceil(64)
    }

    fn piece(form: &mut Form, file: &mut InParts, rows: usize) -> Result<Self> {
        let mut bytes = vec![0; rows * form.bits.div_ceil(8)];
        file.read(&mut bytes)?;
        form.codes(&bytes)
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
