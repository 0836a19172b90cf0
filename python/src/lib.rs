//! The compiled part of the Python package `dps`: thin, since validation and privacy live in the libraries.
//!
//! Adjacencies, profiles, guarantees and parameters cross the border as their JSON text, arrays without a copy,
//! and errors as exceptions of `dps.errors`.

mod answers;
mod config;
mod error;
mod explain;
mod groups;
mod held;
mod kinds;
mod ledger;
mod mechanism;
mod parts;
mod payer;
mod plan;
mod promise;
mod release;
mod rows;
mod run;
mod search;
mod stream;
mod values;

use pyo3::prelude::*;

/// The compiled part of `dps`.
#[pymodule]
fn _dps(module: &Bound<'_, PyModule>) -> PyResult<()> {
    run::at_home();
    module.add_class::<mechanism::Mechanism>()?;
    module.add_class::<release::Release>()?;
    module.add_class::<stream::Stream>()?;
    module.add_class::<payer::Payer>()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    values::register(module)?;
    explain::register(module)?;
    groups::register(module)?;
    plan::register(module)?;
    parts::register(module)?;
    ledger::register(module)
}
