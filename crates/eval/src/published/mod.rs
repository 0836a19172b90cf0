//! The papers' own algorithms without a proof that covers them, and a baseline that is not private: run beside
//! the library's mechanisms, by experiments, audit and tests.
//!
//! [`PublishedStream`], [`SlidingPrivPca`] and [`SlidingPrivConstrainedPcp`] are paper 5's sliding-window
//! algorithms as published; [`ExactWindow`] keeps all rows and can release once.

mod exact_window;
mod window;
mod window_pca;

pub use exact_window::ExactWindow;
pub use window::{CAVEAT, PublishedAlgorithm, PublishedConfig, PublishedStream};
pub use window_pca::{ChosenProjection, SlidingPrivConstrainedPcp, SlidingPrivPca};
