//! Attacks on one release by somebody who has the truth beside it: what a real attacker would have learnt.
//!
//! Every attack is measured three times: on the release, by somebody who has no release, and by somebody who has the clean data
//! in its place. Where the secret lies inside the adjacency, the exact bound on every attack stands beside it
//! ([`dp_core::explain`]); where it does not, the certificate does not speak of it, and that is said. The results are made
//! from the truth: they are **not private**, and not to be published.
//!
//! | attack | of | takes |
//! | --- | --- | --- |
//! | [`on_vectors`] | rows, labels, one value, one row | posterior mean, learned linear inversion, nearest public row, likelihood ratio |
//! | [`on_covariance`] | presence of a row | likelihood ratio, with and without the other rows |
//! | [`on_sets`] | presence of items in a set | likelihood ratio |

mod covariance;
mod linear;
mod measured;
mod rows;
mod sets;

pub use covariance::on_covariance;
pub use measured::{Attack, Measured};
pub use rows::on_vectors;
pub use sets::on_sets;
