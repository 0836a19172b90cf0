//! The structure of a workspace, read from its sources: which module uses which, which crate depends on
//! which, and how much of it is public.
//!
//! Two rules, stated in `docs/ARCHITECTURE.md`:
//!
//! 1. **No knot.** In every folder, the modules beside each other use each other without a cycle. A module
//!    stands for all that is below it, and what the folder's own file (`lib.rs`, `mod.rs`) defines counts
//!    as one more module beside them. A re-export is a signpost and no use: whoever follows it uses the
//!    module where the item is defined. Code of tests does not count.
//! 2. **Every edge between crates is drawn** in the table of the page, dependencies of tests included, and
//!    nothing is drawn that is not there.
//!
//! Methods are called without naming a module, so they are not seen; paths are, in macros too.

mod crates;
mod knots;
mod modules;
mod names;
mod report;
#[cfg(test)]
mod rules_tests;
mod surface;

pub use report::Report;

/// Result of reading sources.
pub type Result<T> = core::result::Result<T, Box<dyn std::error::Error>>;
