//! The tests of this crate as one program: each that is linked by itself takes seconds to build.
//! `tests/NAME.rs` is the module `NAME`; `ledger` starts itself again and `long_ledgers` counts the allocations of
//! its process, so that they are programs of their own.

#![allow(missing_docs)]

#[path = "support/guide.rs"]
mod guide;
#[path = "support/named.rs"]
mod named;
#[path = "support/planned.rs"]
mod planned;
mod support;

mod accepted;
mod append;
mod attack;
mod attest;
mod averaged;
mod bounded;
mod calibrate;
mod choices;
mod columns;
mod disjoint;
mod explain;
mod export;
mod formats;
mod groups;
mod guides;
mod habits;
mod ids;
mod interrupted;
mod journeys;
mod kills;
mod limits;
mod mapped_ledgers;
mod mistakes;
mod page;
mod pairs;
mod parts;
mod payloads;
mod plans;
mod preprocessing;
mod private_groups;
mod regression;
mod release;
mod require;
mod set_tables;
mod sets;
mod several;
mod silence;
mod streams;
mod verify;
mod whole_rows;
mod window;
mod window_kills;
