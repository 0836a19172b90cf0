//! The papers' own algorithms without a proof that covers them: run beside the library's mechanisms, by
//! experiments, audit and tests.
//!
//! [`PublishedStream`], [`SlidingPrivPca`] and [`SlidingPrivConstrainedPcp`] are paper 5's sliding-window
//! algorithms as published. PrivUnit on the sphere stands beside the library's unit vectors in the experiments.

#[cfg(feature = "experiments")]
mod priv_unit;
mod window;
mod window_pca;

#[cfg(feature = "experiments")]
pub(crate) use priv_unit::PrivUnit;
pub use window::{CAVEAT, PublishedAlgorithm, PublishedConfig, PublishedStream};
pub use window_pca::{SlidingPrivConstrainedPcp, SlidingPrivPca};
