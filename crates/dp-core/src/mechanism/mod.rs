//! The one way from a sensitivity to noise with its guarantee.
//!
//! A [`Statistic`] says what one change of the input can do to a vector of numbers. [`Calibrated`]
//! chooses the grid, adds the rounding to the sensitivity, calibrates, and holds the noise
//! together with the guarantee that this noise then gives: nobody pairs a profile with other noise.
//! What the guarantee rests on is its [`Basis`]. [`PrivateVector`] is the mechanism for numbers that
//! the caller computed. Proof page: `docs/proofs/mechanism.md`.
//!
//! ```
//! use dp_core::mechanism::{Basis, Mechanism, PrivateVector, Statistic};
//! use dp_core::noise::LaplaceNoise;
//! use dp_core::{Adjacency, Budget, EntryBound, L1Sensitivity, NoiseRng, NormBound};
//!
//! // A histogram: one person is one row, a one in one category.
//! let counts = [120.0, 33.0, 7.0];
//! let person = Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? };
//! let statistic = Statistic::new(person, L1Sensitivity::new(1.0)?, counts.len(), EntryBound::new(1e6)?);
//! let basis = Basis::declared("the survey's team", "a person is in one category");
//! let mechanism = PrivateVector::<LaplaceNoise>::calibrate((statistic, basis), Budget::new(1.0, 0.0)?)?;
//! let release = mechanism.release(&counts, &mut NoiseRng::from_os()?)?;
//!
//! // Declared, not proven: the library did not see how the numbers were computed.
//! assert!(release.certificate().verify_consistency().is_ok());
//! assert!(release.certificate().verify().is_err());
//! # Ok::<(), dp_core::Error>(())
//! ```

#[doc(hidden)]
pub mod author;
mod authority;
mod basis;
mod calibrated;
mod contract;
mod sealed;
mod statistic;
mod vector;

pub use basis::Basis;
pub use calibrated::{Calibrated, GridNoise};
pub use contract::{Mechanism, Prediction, Progress};
pub use statistic::{Sensitivity, Statistic};
pub use vector::PrivateVector;
