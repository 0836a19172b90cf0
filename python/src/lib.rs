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

/// The compiled part: JSON texts, arrays and exceptions cross here. Use `dps` itself.
#[pyo3::pymodule]
mod _dps {
    #[pymodule_export]
    use crate::explain::{explain, preprocessing};
    #[pymodule_export]
    use crate::groups::{groups_of, groups_of_grid, groups_of_items};
    #[pymodule_export]
    use crate::ledger::{
        ledger_add, ledger_check, ledger_create, ledger_declare, ledger_export, ledger_record,
        ledger_show,
    };
    #[pymodule_export]
    use crate::mechanism::Mechanism;
    #[pymodule_export]
    use crate::parts::{Parts, parts_fit, parts_merge, parts_plan, parts_published};
    #[pymodule_export]
    use crate::payer::Payer;
    #[pymodule_export]
    use crate::plan::{distance_plans, epsilon_of_error, set_plan};
    #[pymodule_export]
    use crate::release::Release;
    #[pymodule_export]
    use crate::run::at_home;
    #[pymodule_export]
    use crate::stream::Stream;
    #[pymodule_export]
    use crate::values::{
        compose, counted, declare, describe_adjacency, from_exchange, least_noise, profile_delta,
        profile_epsilon, rate_limits, to_exchange,
    };

    #[pymodule_export]
    #[allow(non_upper_case_globals)] // as Python names it
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
