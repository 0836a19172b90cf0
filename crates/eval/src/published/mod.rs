//! The papers' own algorithms without a proof that covers them, and a baseline that is not private: run beside
//! the library's mechanisms, by experiments, audit and tests.
//!
//! [`PublishedStream`], [`SlidingPrivPca`] and [`SlidingPrivConstrainedPcp`] are paper 5's sliding-window
//! algorithms as published; [`ExactWindow`] keeps all rows and can release once. PrivUnit on
//! the sphere stands beside the library's unit vectors in the experiments.

mod exact_window;
#[cfg(feature = "experiments")]
mod priv_unit;
mod window;
mod window_pca;

pub use exact_window::ExactWindow;
#[cfg(feature = "experiments")]
pub(crate) use priv_unit::PrivUnit;
pub use window::{CAVEAT, PublishedAlgorithm, PublishedConfig, PublishedStream};
pub use window_pca::{ChosenProjection, SlidingPrivConstrainedPcp, SlidingPrivPca};
