//! Real-valued sketches in release files.

use super::compact::{coarse, pack, unpack};
use super::element::Element;
use super::sketch::PrivateSketch;
use crate::error::Error;
use crate::projection::ProjectionSpec;
use crate::written::check_stated;
use dp_core::certificate::Statement;
use dp_core::noise::{Grid, NoiseLaw};
use dp_core::release_file::{CertificateClass, Kind, Opened, Payload, Writer, to_json};
use dp_core::text::json_fault;
use serde::{Deserialize, Serialize};
use std::io::Write;

/// Parameters of a compact file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Compact {
    projection: ProjectionSpec,
    /// The coarse grid, which follows from the noise law.
    grid: Grid,
}

/// The public parameters of a sketch of this projection and noise in a file.
pub(super) fn parameters_in(
    kind: Kind,
    projection: ProjectionSpec,
    noise: &NoiseLaw,
) -> Result<String, Error> {
    Ok(match kind {
        Kind::SketchCompact => to_json(&Compact { projection, grid: coarse(noise)? }),
        _ => to_json(&projection),
    }?)
}

impl PrivateSketch {
    /// The projection that the public parameters of a file of this kind state.
    pub(crate) fn stated_projection(kind: Kind, parameters: &str) -> Result<ProjectionSpec, Error> {
        let read = match kind {
            Kind::SketchCompact => {
                serde_json::from_str::<Compact>(parameters).map(|c| c.projection)
            }
            _ => serde_json::from_str(parameters),
        };
        read.map_err(|e| dp_core::Error::file("parameters", json_fault(&e)).into())
    }
}

impl Payload for PrivateSketch {
    type Error = Error;

    fn kinds(class: CertificateClass) -> &'static [Kind] {
        match class {
            CertificateClass::Private => &[Kind::Sketch64, Kind::Sketch32, Kind::SketchCompact],
            _ => &[],
        }
    }

    fn kind(&self, class: CertificateClass) -> Option<Kind> {
        let kinds = Self::kinds(class);
        let compact =
            kinds.iter().find(|k| self.rounding().is_some() && **k == Kind::SketchCompact);
        compact.or(kinds.first()).copied()
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

    fn parameters_in(&self, kind: Kind) -> Result<String, Error> {
        if self.rounding().is_some() && kind != Kind::SketchCompact {
            let reason =
                "a release that was rounded to a coarse grid is stored as a compact sketch";
            return Err(dp_core::Error::file("kind", reason).into());
        }
        parameters_in(kind, self.projection(), self.noise())
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
        put(out, self.values(), (self.k(), self.noise()))
    }

    fn read(opened: &Opened<'_>) -> Result<Self, Error> {
        let kind = opened.summary.kind;
        let (spec, stated) = match kind {
            Kind::SketchCompact => {
                let Compact { projection, grid } = opened.parameters()?;
                (projection, Some(grid))
            }
            _ => (opened.parameters()?, None),
        };
        let (rows, columns) = opened.shape()?;
        if columns != spec.k() {
            let reason = "columns differ from the projection's";
            return Err(dp_core::Error::file("shape", reason).into());
        }
        let width = if kind == Kind::Sketch32 { 4 } else { 8 };
        if stated.is_none() {
            opened.check_length(rows.checked_mul(columns).and_then(|n| n.checked_mul(width)))?;
        }
        opened.check_fingerprint(&spec.fingerprint())?;
        let mut public = spec.public_parameters();
        public.insert("n".into(), rows.into());
        opened.check_public(&public)?;
        let noise = opened.summary.certificate.statement().noise.clone();
        if let Some(grid) = stated {
            if coarse(&noise)? != grid {
                let reason = "is not the one that follows from the noise";
                return Err(dp_core::Error::file("grid", reason).into());
            }
            let values = unpack(opened.payload, (rows, columns), grid)?;
            return Ok(Self::new(spec, noise, values)?.rounded_to(grid));
        }
        let values = if width == 4 { opened.payload_f32() } else { opened.payload_f64() }?;
        let sketch = Self::new(spec, noise, values)?;
        if width == 4 {
            Element::F32.check_release(&sketch)?;
        }
        Ok(sketch)
    }
}

/// Adds rows of k numbers with noise of this law, in the form of the writer's kind.
pub(super) fn put<W: Write>(
    out: &mut Writer<W>,
    values: &[f64],
    (k, noise): (usize, &NoiseLaw),
) -> Result<(), Error> {
    match out.kind() {
        Kind::Sketch32 => out.payload_f32(values)?,
        Kind::SketchCompact => pack(values, k, coarse(noise)?, |bytes| Ok(out.payload(bytes)?))?,
        _ => out.payload_f64(values)?,
    }
    Ok(())
}
