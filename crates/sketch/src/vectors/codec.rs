//! Real-valued sketches in release files.

use super::element::Element;
use super::sketch::PrivateSketch;
use crate::error::Error;
use crate::projection::ProjectionSpec;
use crate::written::check_stated;
use dp_core::certificate::Statement;
use dp_core::release_file::{CertificateClass, Kind, Opened, Payload, Writer, to_json};
use std::io::Write;

impl Payload for PrivateSketch {
    type Error = Error;

    fn kinds(class: CertificateClass) -> &'static [Kind] {
        match class {
            CertificateClass::Private => &[Kind::Sketch64, Kind::Sketch32],
            _ => &[],
        }
    }

    fn shape(&self) -> (usize, usize) {
        (self.n(), self.k())
    }

    fn fingerprint(&self) -> String {
        self.projection().fingerprint()
    }

    fn parameters(&self) -> Result<String, Error> {
        Ok(to_json(&self.projection())?)
    }

    fn check_statement(&self, statement: &Statement) -> Result<(), Error> {
        let mut public = self.projection().public_parameters();
        public.insert("n".into(), self.n().into());
        check_stated(statement, &public, |noise| noise == self.noise())
    }

    fn write<W: Write>(&self, out: &mut Writer<W>) -> Result<(), Error> {
        if out.kind() == Kind::Sketch32 {
            Element::F32.check_release(self)?;
        }
        put(out, self.values())
    }

    fn read(opened: &Opened<'_>) -> Result<Self, Error> {
        let spec: ProjectionSpec = opened.parameters()?;
        let (rows, columns) = opened.shape()?;
        if columns != spec.k() {
            let reason = "columns differ from the projection's";
            return Err(dp_core::Error::file("shape", reason).into());
        }
        let width = if opened.summary.kind == Kind::Sketch32 { 4 } else { 8 };
        opened.check_length(rows.checked_mul(columns).and_then(|n| n.checked_mul(width)))?;
        opened.check_fingerprint(&spec.fingerprint())?;
        let mut public = spec.public_parameters();
        public.insert("n".into(), rows.into());
        opened.check_public(&public)?;
        let values = if width == 4 { opened.payload_f32() } else { opened.payload_f64() }?;
        let noise = opened.summary.certificate.statement().noise.clone();
        let sketch = Self::new(spec, noise, values)?;
        if width == 4 {
            Element::F32.check_release(&sketch)?;
        }
        Ok(sketch)
    }
}

/// Adds numbers in the form of the writer's kind.
pub(super) fn put<W: Write>(out: &mut Writer<W>, values: &[f64]) -> Result<(), Error> {
    Ok(match out.kind() {
        Kind::Sketch32 => out.payload_f32(values),
        _ => out.payload_f64(values),
    }?)
}
