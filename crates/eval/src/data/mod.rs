//! Readers of data sets, and the samples embedded in this crate.
//!
//! Sources and licences of the embedded samples: `crates/eval/data/SOURCES.md`.

#[cfg(feature = "experiments")]
mod embeddings;
mod item_sets;
mod libsvm;
mod obtain;
mod packages;
#[cfg(feature = "experiments")]
mod photographs;
mod points;
#[cfg(feature = "experiments")]
mod stand_ins;

pub use item_sets::{SetRule, package_sets, parse_user_items};
pub use libsvm::read_libsvm;
pub use obtain::Obtainable;
pub use packages::parse_packages;
pub use points::{Points, digits, images};

#[cfg(feature = "experiments")]
pub(crate) use {
    embeddings::package_embeddings,
    item_sets::{ItemSets, lastfm, movielens},
    libsvm::{SparseRows, grams, read_libsvm_file},
    packages::{Package, packages},
    photographs::photograph_patches,
    points::{Split, shuffle},
    stand_ins::StandIn,
};
