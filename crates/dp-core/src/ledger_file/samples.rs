//! What the tests of ledgers pay for.

use crate::adjacency::Adjacency;
use crate::budget::Budget;
use crate::certificate::{Certificate, PayloadHash, PublicParameters, Statement};
use crate::noise::{GeneratorKind, Grid, NoiseLaw};
use crate::profile::Profile;
use crate::quantity::{L1Sensitivity, LaplaceScale, Shift};
use crate::theorem::Theorem;

pub(crate) fn adjacency() -> Adjacency {
    Adjacency::RowShift { l2: Shift::new(1.0).unwrap() }
}

/// Of Laplace noise at epsilon 1, for a payload of these bytes.
pub(crate) fn certificate(payload: &[u8]) -> Certificate {
    certificate_of(payload, 1.0, GeneratorKind::OsChacha12)
}

/// As [`certificate`], at another epsilon or with noise from elsewhere.
pub(crate) fn certificate_of(payload: &[u8], epsilon: f64, by: GeneratorKind) -> Certificate {
    let scale = LaplaceScale::new((1.0 + 1e-9) / epsilon).unwrap();
    let profile = Profile::Laplace { sensitivity: L1Sensitivity::new(1.0).unwrap(), scale };
    let budget = Budget::new(epsilon, 0.0).unwrap();
    let theorem = Theorem::ProjectionLaplace;
    let author = crate::authority!();
    let guarantee = author.proven(adjacency(), budget, profile, theorem).unwrap();
    let statement = Statement {
        mechanism: "test".into(),
        noise: NoiseLaw::RoundedLaplace { scale, grid: Grid::new(-30).unwrap() },
        generator: by,
        public: PublicParameters::new(),
    };
    author.certificate(statement, guarantee).bound_to(PayloadHash::of(payload)).unwrap()
}
