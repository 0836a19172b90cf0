//! Bounded values to a file as rows come.

use super::codec::BoundedFacts;
use super::mechanism::PrivateBounded;
use crate::error::Result;
use crate::row_writer::RowMechanism;
use crate::rows::RowsView;
use core::ops::ControlFlow;
use dp_core::NoiseRng;
use dp_core::noise::GeneratorKind;
use dp_core::release_file::{Kind, Trailer, Writer, to_json};

impl RowMechanism for PrivateBounded {
    type Number = u8;
    const KIND: Kind = Kind::BoundedValues;

    fn append(&self, rows: RowsView<'_>, block: &mut Vec<u8>, rng: &mut NoiseRng) -> Result<()> {
        self.release_into(rows, block, rng, &mut |_| ControlFlow::Continue(()))
    }

    fn put(block: &[u8], out: &mut Writer) -> Result<()> {
        Ok(out.payload(block)?)
    }

    fn trailer(&self, rows: usize, generator: GeneratorKind) -> Result<Trailer> {
        let certificate = self.certificate(rows, generator);
        let config = self.config();
        let facts = BoundedFacts::new(config.range, self.law());
        let shape = (rows, config.d);
        Ok(Trailer::new(shape, facts.fingerprint(), &to_json(&facts)?, certificate)?)
    }
}
