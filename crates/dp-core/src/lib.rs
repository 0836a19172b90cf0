//! Budgets, exact privacy profiles, calibration, accounting and noise for
//! differential privacy.
//!
//! Everything here works on numbers and slices; matrices and data sets live in
//! the crates above.

pub mod accounting;
pub mod adjacency;
pub mod atomic_file;
pub mod budget;
pub mod calibrate;
pub mod certificate;
pub mod error;
pub mod guarantee;
pub mod noise;
pub mod profile;
pub mod quantity;
pub mod release;
pub mod release_file;
pub mod seed;
pub mod special;

pub use adjacency::Adjacency;
pub use budget::{Budget, Delta, Epsilon, LogDelta};
pub use certificate::{Certificate, IndividualCertificate, NoGuarantee, PublicValue};
pub use error::{Error, Result};
pub use guarantee::{Claim, Guarantee, Provenance};
pub use noise::NoiseRng;
pub use profile::{PrivacyProfile, Profile};
pub use quantity::{Bound, L1Sensitivity, L2Sensitivity, NoiseScale, Probability};
pub use release::Release;
pub use seed::{FreshSeed, PublicSeed, SeedOrigin};
