//! From the name of a projection to the projection.

use super::apply::SharedProjection;
use super::generator::{Achlioptas, Gaussian, Given, Rademacher};
use super::identity::Identity;
use super::oporp::Oporp;
use super::sparse_signs::SparseSigns;
use super::spec::{Family, ProjectionSpec};
use super::srht::Srht;
use std::sync::Arc;

impl ProjectionSpec {
    /// Draws the projection.
    #[must_use]
    pub fn build(self) -> SharedProjection {
        match self.family() {
            Family::Gaussian => Arc::new(Gaussian::from_spec(self)),
            Family::Rademacher => Arc::new(Rademacher::from_spec(self)),
            Family::Identity => Arc::new(Identity::from_spec(self)),
            Family::Achlioptas => Arc::new(Achlioptas::from_spec(self)),
            Family::Given { .. } => Arc::new(Given::from_spec(self)),
            Family::Srht { sampling } => Arc::new(Srht::from_spec(self, sampling)),
            Family::Oporp => Arc::new(Oporp::from_spec(self)),
            Family::VerySparse
            | Family::SparseJl { .. }
            | Family::HashedCopies { .. }
            | Family::Grouped { .. }
            | Family::CountSketch => Arc::new(SparseSigns::from_spec(self)),
        }
    }
}
