//! Readers of data sets, and the samples embedded in this crate.
//!
//! Sources and licences of the embedded samples: `crates/eval/data/SOURCES.md`.

mod embeddings;
mod item_sets;
mod libsvm;
mod obtain;
mod packages;
mod photographs;
mod points;
mod stand_ins;

pub use embeddings::package_embeddings;
pub use item_sets::{ItemSets, SetRule, lastfm, movielens, package_sets, parse_user_items};
pub use libsvm::{SparseRows, grams, read_libsvm, read_libsvm_file};
pub use obtain::Obtainable;
pub use packages::{Package, packages, parse_packages};
pub use photographs::photograph_patches;
#[cfg(feature = "experiments")]
pub(crate) use points::shuffle;
pub use points::{Points, Split, digits, images};
pub use stand_ins::StandIn;
