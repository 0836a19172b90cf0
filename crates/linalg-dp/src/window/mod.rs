//! Private second moments of the last `W` rows of a stream (paper 5).
//!
//! [`WindowMechanism`] is calibrated once and opens any number of streams ([`PrivateStream`]): rows are cut into blocks at public times,
//! every block is privatised once, and each release is post-processing, so that **one** certificate
//! covers the whole stream. [`Schedule`] chooses how:
//!
//! | schedule | noise of a window of `m` blocks, over that of one block | matrices kept | answers |
//! | --- | --- | --- | --- |
//! | `Block` | `sqrt m` | `m`, or a histogram: fewer, see [`Keep`] | any set of blocks |
//! | `Tree` | `sqrt(log2 m + 1)` times `sqrt` of the nodes used, at most `2 log2 m` (1 where m is 1) | about `2 m + log2 m` | any range of blocks |
//! | `Factorised` | below `1.01 + 0.46 ln m` | `5 m + 1` | the one sliding sum |
//!
//! A matrix has `8 d^2` bytes; exact sums of whole numbers, `log2 m + 1` of a tree and `m + 1` of `Factorised`, have `16 d^2`.
//!
//! The paper's own algorithms are not proven; the experiments of this project run them beside these. Proofs: `docs/proofs/sliding-window.md`.

mod blocks;
mod codec;
mod config;
mod engine;
mod factorisation;
mod histogram;
mod inputs;
mod journal;
mod loewner;
mod mechanism;
mod release;
mod stream;
mod sums;
mod tree;

pub(crate) use tree::{nodes, nodes_of_windows};

pub use config::{BlockNoise, Keep, Pace, Schedule, StreamConfig};
pub use factorisation::{Factorisation, Workload};
pub use histogram::{Checkpoint, PruneRule, SpectralHistogram};
pub use mechanism::WindowMechanism;
pub use release::{WindowCovariance, WindowSpan};
pub use stream::PrivateStream;
