//! The tests of this crate as one program: each that is linked by itself takes seconds to build.
//! `tests/NAME.rs` is the module `NAME`; `fork` forks its process, so it is a program of its own.

#![allow(missing_docs)]

#[path = "support/certificates.rs"]
mod certificates;
mod support;

mod accounting;
mod accounting_edges;
mod accounting_safe;
mod adjacency;
mod beyond_curves;
mod certificate;
mod certificate_rules;
mod exchange;
mod explain;
mod format_page;
mod guarantee;
mod integer_noise;
mod ledger_parts;
mod mapped_units;
mod mechanism;
mod mechanism_facts;
mod noise_discrete;
mod noise_exact;
mod noise_generators;
mod noise_grid;
mod noise_rounded;
mod noise_staircase;
mod profile_direct;
mod profile_monte_carlo;
mod profile_properties;
mod published;
mod reference;
mod renyi_filter;
mod repeated;
mod second_opinion;
mod seeds;
mod sign_levels;
mod textbook;
mod vectors;
