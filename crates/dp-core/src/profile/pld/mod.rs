//! Numerical composition: discretised loss laws, tilted and convolved by FFT.
//!
//! The answer is a bracket. Its upper end is sound; its lower end says how much of
//! the upper one is the arithmetic's, not the mechanisms'. Both hold for the worst
//! adjacent pair of each profile and for the order "the same change in every run".
//! Proof page: `docs/proofs/composition-pld.md`.

mod chi;
mod composition;
mod convolve;
mod cut;
mod discretise;
mod envelope;
mod law;
mod mixing;
mod moments;
mod panels;
mod parts;
mod table;
mod upper;

pub(super) use chi::{ChiKind, ChiLoss};
pub use composition::{Bracket, Pld, Width};
pub(super) use law::Law as LossLaw;
pub(crate) use moments::Aside;
pub(super) use parts::{FREEDOM, LEAST, Merged};
pub(crate) use upper::{Upper, Way};
