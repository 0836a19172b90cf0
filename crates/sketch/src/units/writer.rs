//! Unit vectors to a file as rows come.

use super::codec::Parameters;
use super::mechanism::PrivateUnits;
use crate::error::Result;
use crate::row_writer::RowMechanism;
use crate::rows::RowsView;
use core::ops::ControlFlow;
use dp_core::NoiseRng;
use dp_core::noise::GeneratorKind;
use dp_core::release_file::{Kind, Trailer, Writer, to_json};

impl RowMechanism for PrivateUnits {
    type Number = f64;
    const KIND: Kind = Kind::UnitVectors;

    fn append(&self, rows: RowsView<'_>, block: &mut Vec<f64>, rng: &mut NoiseRng) -> Result<()> {
        self.release_into(rows, block, rng, &mut |_| ControlFlow::Continue(()))
    }

    fn put(block: &[f64], out: &mut Writer) -> Result<()> {
        Ok(out.payload_f32(block)?)
    }

    fn trailer(&self, rows: usize, generator: GeneratorKind) -> Result<Trailer> {
        let certificate = self.certificate(rows, generator);
        let directions = self.directions();
        let (projection, lengths) = (directions.projection.spec(), directions.lengths);
        let parameters = to_json(&Parameters { projection, lengths })?;
        let shape = (rows, directions.width());
        Ok(Trailer::new(shape, projection.fingerprint(), &parameters, certificate)?)
    }
}
