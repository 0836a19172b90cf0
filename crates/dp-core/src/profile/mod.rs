//! Exact privacy profiles.
//!
//! Each is evaluated as an upper bound on its true value, above it by no more than the
//! error its kernel states: 1e-10 of delta, or of ln delta where that is larger, at this epsilon or at one
//! smaller by `2^-47` of itself (losses are rounded up, and delta falls to zero at the largest one). This holds down to
//! deltas far below the least positive `f64`. A group's is above by `1e-13 epsilon` more, that of Gaussian noise by
//! `5e-15 mu`, mu the ratio of what moves to the noise, that of a sketch or Wishart noise of more than 2^18 rows or degrees of
//! freedom by `4e-14 sqrt(k) (1 + sqrt(-ln delta))`. Proofs: `docs/proofs/`.

#[cfg(test)]
mod bounds;
pub(crate) mod chi_mixture;
mod curve;
pub(crate) mod declared;
mod evaluate;
pub(crate) mod event;
pub(crate) mod gaussian;
pub(crate) mod gaussian_and_pure;
mod group;
pub(crate) mod integer;
pub(crate) mod jl;
mod kind;
mod kinds;
pub(crate) mod laplace;
pub(crate) mod mixture;
pub mod pld;
mod pure;
pub(crate) mod repeated;
pub(crate) mod response;
mod rule;
mod scope;
pub(crate) mod solve;
pub(crate) mod staircase;
mod sum;
pub(crate) mod symmetric;
pub(crate) mod wishart;
mod wishart_replaced;
mod wishart_row;

pub use event::Event;
pub(crate) use group::Meeting;
pub use kinds::{
    CoordinateProfile, GaussianStep, LossWay, PrivacyProfile, Profile, RowChange,
    covariance_sensitivity,
};
