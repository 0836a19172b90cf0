//! Exact privacy profiles.
//!
//! Each is evaluated as an upper bound on its true value, above it by no more than the
//! error its kernel states (1e-10 relative or less), down to deltas far below the
//! least positive `f64`. Proofs: `docs/proofs/`.

mod chi_mixture;
mod evaluate;
pub(crate) mod event;
mod gaussian;
mod group;
mod jl;
mod kinds;
mod laplace;
mod limits;
mod mixture;
pub mod pld;
mod repeated;
pub(crate) mod response;
mod wishart;

pub use event::Event;
pub(crate) use gaussian::{added, square_of};
pub(crate) use group::Meeting;
pub use kinds::{
    CoordinateProfile, GaussianStep, PrivacyProfile, Profile, RowChange, covariance_sensitivity,
};
