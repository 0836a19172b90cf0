//! Data sets, metrics, and the experiments of the papers.
//!
//! An experiment is library code: it takes a [`framework::Context`], and returns a
//! [`framework::Report`] of figures, tables and checked claims. [`experiments::all`]
//! lists them, [`framework::run`] runs them, [`render`] writes them to disk.

pub mod attacks;
#[cfg(feature = "experiments")]
mod baselines;
pub mod data;
mod effort;
pub mod error;
#[cfg(feature = "experiments")]
pub mod experiments;
#[cfg(feature = "experiments")]
pub mod framework;
#[cfg(feature = "experiments")]
mod learning;
pub mod metrics;
pub mod published;
#[cfg(feature = "experiments")]
pub mod render;
mod table;

pub use effort::Effort;
pub use error::{Error, Result};
pub use table::{Table, markdown_table};

/// The example of the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
