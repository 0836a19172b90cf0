//! Budgets, exact privacy profiles, calibration, accounting and noise for differential privacy.
//!
//! Everything here works on numbers and slices; matrices and data sets live in the crates above.
//!
//! | to | see |
//! | --- | --- |
//! | name a budget, a bound, a sensitivity, a noise scale | [`budget`], [`quantity`] |
//! | say which inputs are protected against each other | [`Adjacency`] |
//! | know delta at every epsilon | [`profile`] |
//! | find the least noise; use a published rule by name | [`calibrate`] |
//! | add calibrated noise to your own numbers | [`mechanism`] |
//! | draw noise that is safe in floating point | [`noise`], [`NoiseRng`] |
//! | add up what a data set has paid | [`accounting`] |
//! | say what an attacker learns at most | [`explain`] |
//! | state a guarantee, and check another's | [`Guarantee`], [`Certificate`] |
//! | publish a value with its certificate, store it | [`Release`], [`release_file`] |
//! | make one release on several machines | [`parts`] |
//!
//! ```
//! use dp_core::mechanism::{Basis, Calibrated, Statistic};
//! use dp_core::noise::{AdditiveNoise, GaussianNoise};
//! use dp_core::{
//!     Adjacency, Budget, EntryBound, Epsilon, L2Sensitivity, NoiseRng, NormBound, PrivacyProfile,
//! };
//!
//! // Two sums up to 1000, which a row of norm 1 moves by 1 in all, in l2 norm. They are rounded to a
//! // public grid before the noise; the guarantee counts that.
//! let row = Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? };
//! let sums = Statistic::new(row, L2Sensitivity::new(1.0)?, 2, EntryBound::new(1000.0)?);
//! let basis = Basis::declared("who computed them", "every row is clipped to norm 1");
//! let budget = Budget::new(1.0, 1e-6)?;
//! let noise = Calibrated::<GaussianNoise>::calibrate(sums, budget, basis)?;
//! assert!((noise.noise().sigma().get() - 4.2247).abs() < 1e-4);
//! let mut values = [12.5, -3.0];
//! noise.add_to(&mut NoiseRng::from_os()?, &mut values)?;
//!
//! // The guarantee is a function: the same noise at another epsilon.
//! let profile = noise.guarantee().profile().expect("noise on a grid has one");
//! assert!(profile.log_delta(budget.epsilon) <= budget.delta.ln());
//! assert!(profile.log_delta(Epsilon::new(2.0)?).delta() < 1e-16);
//! # Ok::<(), dp_core::Error>(())
//! ```

pub mod accounting;
pub mod adjacency;
pub mod calibrate;
pub mod certificate;
pub mod disk;
pub mod explain;
pub mod guarantee;
pub mod ledger_file;
pub mod mechanism;
pub mod noise;
pub mod numeric;
pub mod output;
pub mod parts;
pub mod profile;
pub mod public;
pub mod quantity;
#[cfg(test)]
mod reference;
pub mod release;
pub mod release_file;
mod row_ids;
pub mod seed;
pub mod text;
pub mod theorem;
pub mod unfinished;

/// Epsilon, delta and their pair, where they are defined with the other numbers.
pub mod budget {
    pub use crate::quantity::{Budget, Delta, Epsilon, LogDelta};
}

/// The one error type of this crate, where it is defined with the numbers that it is about.
pub mod error {
    pub use crate::quantity::{Error, Result};
    pub(crate) use crate::quantity::{log_slack, rejected};
}

pub use adjacency::{Adjacency, OneChange};
pub use certificate::{Certificate, IndividualCertificate, NoGuarantee, PublicValue};
pub use guarantee::{Claim, Guarantee, Provenance};
pub use noise::NoiseRng;
pub use profile::{PrivacyProfile, Profile};
pub use quantity::{
    Budget, Delta, EntryBound, Epsilon, Error, L1Sensitivity, L2Sensitivity, LaplaceScale,
    LogDelta, NoiseScale, NormBound, Probability, Result, Shift, SquaredNorm,
};
pub use release::Release;
pub use seed::{FreshSeed, PublicGenerator, PublicSeed, SeedOrigin};
pub use theorem::Theorem;
