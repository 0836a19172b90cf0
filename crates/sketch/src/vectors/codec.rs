//! Real-valued sketches in release files.

use super::compact::{coarse, pack, unpack, unpack_next};
use super::element::Element;
use super::sketch::PrivateSketch;
use crate::error::Error;
use crate::pieced::Pieced;
use crate::projection::ProjectionSpec;
use crate::written::check_stated;
use dp_core::certificate::Statement;
use dp_core::noise::{Grid, NoiseLaw};
use dp_core::release_file::{
    CertificateClass, InParts, Kind, Opened, Payload, Summary, Writer, numbers_f32, numbers_f64,
    to_json,
};
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
    pub(crate) fn stated_projection(summary: &Summary) -> Result<ProjectionSpec, Error> {
        Ok(match summary.kind {
            Kind::SketchCompact => summary.parameters::<Compact>()?.projection,
            _ => summary.parameters()?,
        })
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
        let form = Form::of(&opened.summary)?;
        let (rows, k) = (form.rows, form.projection.k());
        let values = match form.stored {
            Stored::Compact(grid) => unpack(opened.payload, (rows, k), grid)?,
            Stored::Whole(element) => {
                let bytes = element.bytes();
                opened.check_length(rows.checked_mul(k).and_then(|n| n.checked_mul(bytes)))?;
                match element {
                    Element::F32 => numbers_f32(opened.payload)?,
                    _ => numbers_f64(opened.payload)?,
                }
            }
        };
        form.sketch(values)
    }
}

/// How a file of a sketch holds its numbers.
#[derive(Debug, Clone, Copy)]
enum Stored {
    /// Each whole.
    Whole(Element),
    /// Packed multiples of this grid.
    Compact(Grid),
}

/// What a file of a sketch says of its payload, checked.
#[derive(Debug)]
pub struct Form {
    projection: ProjectionSpec,
    noise: NoiseLaw,
    stored: Stored,
    rows: usize,
    /// Of blocks that were read whole: numbers of rows that were not asked for yet.
    held: Vec<f64>,
}

impl Form {
    fn of(summary: &Summary) -> Result<Self, Error> {
        let fault = |part, reason| Err(dp_core::Error::file(part, reason).into());
        let noise = summary.certificate.statement().noise.clone();
        let (projection, stored) = match summary.kind {
            Kind::SketchCompact => {
                let Compact { projection, grid } = summary.parameters()?;
                if coarse(&noise)? != grid {
                    return fault("grid", "is not the one that follows from the noise");
                }
                (projection, Stored::Compact(grid))
            }
            Kind::Sketch32 => (summary.parameters()?, Stored::Whole(Element::F32)),
            _ => (summary.parameters()?, Stored::Whole(Element::F64)),
        };
        let (rows, columns) = summary.shape()?;
        if columns != projection.k() {
            return fault("shape", "columns differ from the projection's");
        }
        summary.check_fingerprint(&projection.fingerprint())?;
        let mut public = projection.public_parameters();
        public.insert("n".into(), rows.into());
        summary.check_public(&public)?;
        Ok(Self { projection, noise, stored, rows, held: Vec::new() })
    }

    pub(crate) fn projection(&self) -> ProjectionSpec {
        self.projection
    }

    /// Some of its numbers.
    fn sketch(&self, values: Vec<f64>) -> Result<PrivateSketch, Error> {
        let sketch = PrivateSketch::new(self.projection, self.noise.clone(), values)?;
        Ok(match self.stored {
            Stored::Compact(grid) => sketch.rounded_to(grid),
            Stored::Whole(element) => {
                element.check_release(&sketch)?;
                sketch
            }
        })
    }
}

impl Pieced for PrivateSketch {
    type Form = Form;

    fn form(summary: &Summary) -> Result<Form, Error> {
        Form::of(summary)
    }

    fn numbers(form: &Form) -> usize {
        form.projection.k()
    }

    fn piece(form: &mut Form, file: &mut InParts, rows: usize) -> Result<Self, Error> {
        let count = rows * form.projection.k();
        let values = match form.stored {
            Stored::Compact(grid) => {
                let mut values = core::mem::take(&mut form.held);
                while values.len() < count {
                    unpack_next(file, form.projection.k(), grid, &mut values)?;
                }
                form.held = values.split_off(count);
                if rows == 0 && !form.held.is_empty() {
                    let reason = "the blocks hold another number of rows";
                    return Err(dp_core::Error::file("shape", reason).into());
                }
                values
            }
            Stored::Whole(element) => {
                let mut bytes = vec![0; count * element.bytes()];
                file.read(&mut bytes)?;
                if element == Element::F32 { numbers_f32(&bytes) } else { numbers_f64(&bytes) }?
            }
        };
        form.sketch(values)
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
