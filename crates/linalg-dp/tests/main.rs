//! The tests of this crate as one program: each that is linked by itself takes seconds to build.
//! `tests/NAME.rs` is the module `NAME`.

#![allow(missing_docs)]

#[path = "support/data.rs"]
mod data;
#[path = "support/rows.rs"]
mod rows;
mod support;

mod covariance;
mod coverage;
mod denoise;
mod exact_noise;
mod generators;
mod groups;
mod histogram;
mod low_rank;
mod low_rank_errors;
mod moments;
mod newton;
mod plan;
mod quantile;
mod refusals;
mod regression;
mod release_file;
mod users;
mod verify;
mod window;
mod window_predictions;
mod window_replay;
mod window_restart;
mod window_tree;
