//! The tests of this crate as one program: each that is linked by itself takes seconds to build.
//! `tests/NAME.rs` is the module `NAME`; `memory` measures its process, so it is a program of its own.

#![allow(missing_docs)]

mod bounded;
mod categories;
mod columns;
mod coverage;
mod distances;
mod estimators;
mod format_page;
mod fresh_rows;
mod given_matrices;
mod group_counts;
mod groups;
mod parts;
mod pieces;
mod predictions;
mod projections;
mod release_file;
mod release_kinds;
mod rows;
mod seed_origin;
mod sensitivity;
mod set_files;
mod set_search;
mod sign_rows;
mod signs;
mod signs_coverage;
mod smooth_coverage;
mod staircase;
mod systems;
mod threads;
mod units;
mod users;
mod vectors;
mod verify;
