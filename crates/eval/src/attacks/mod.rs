//! Attacks on one release by somebody who has the truth beside it: what a real attacker would have learnt.
//!
//! Every attack is measured three times: on the release, by somebody who has no release, and by somebody who has the clean data
//! in its place. Where the secret lies inside the adjacency, the exact bound on every attack stands beside it
//! ([`dp_core::explain`]); where it does not, the certificate does not speak of it, and that is said. The results are made
//! from the truth: they are **not private**, and not to be published.
//!
//! | attack | of | takes |
//! | --- | --- | --- |
//! | [`on_vectors`] | rows, labels, one value, one row | posterior mean, learned linear inversion, nearest public row, likelihood ratio, low bits, a clock |
//! | [`on_links`] | the same row in two releases | nearest posterior means |
//! | [`on_units`], [`on_signs`] | labels, one value, one row | nearest public rows, likelihood ratio |
//! | [`on_covariance`] | presence of a row | likelihood ratio; favour over public rows |
//! | [`on_sets`] | presence of items in a set | likelihood ratio |

mod codes;
mod covariance;
mod linear;
mod measured;
mod neighbour;
mod probes;
mod rows;
mod sets;

pub use codes::{on_signs, on_units};
pub use covariance::on_covariance;
#[cfg(feature = "experiments")]
pub(crate) use covariance::on_presence;
#[cfg(feature = "experiments")]
pub(crate) use linear::Prior;
pub use measured::{Attack, Measured};
#[cfg(feature = "experiments")]
pub(crate) use rows::{on_changes, on_labels};
pub use rows::{on_links, on_vectors};
pub use sets::on_sets;
