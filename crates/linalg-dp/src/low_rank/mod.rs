//! Private low-rank approximation of an m x n matrix whose rows may shift (Hardt & Roth 2012).
//!
//! [`Pfp`] is the mechanism to use; [`RangeFinder`] and [`BasisProjection`] are its two steps
//! on their own, [`PublishedPfp`] the paper's version with the delta it really gives.
//!
//! ```
//! use dp_core::{Budget, FreshSeed, NoiseRng, NormBound, Shift};
//! use linalg_dp::low_rank::{
//!     BasisProjection, InputPerturbation, Pfp, PfpOptions, PublicBasis, RangeFinder, Setting, Spread,
//! };
//! use sketch::RowsView;
//!
//! // 12 x 8, of rank 2. One row may move by 1; no row is longer than 10.
//! let a: Vec<f64> = (0..96).map(|i| f64::from((i / 8 % 2 + 1) * (i % 8 % 3))).collect();
//! let a = RowsView::f64(12, 8, &a)?;
//! let setting = Setting::new((12, 8), 2, 2, Shift::new(1.0)?, NormBound::new(10.0)?)?;
//! let (budget, rng) = (Budget::new(4.0, 1e-6)?, &mut NoiseRng::from_os()?);
//!
//! // Find a basis and project on it, under one guarantee.
//! let both = Pfp::calibrate(setting, budget, PfpOptions::default())?;
//! let release = both.release(&a, FreshSeed::draw()?, rng)?;
//! assert_eq!(release.payload().shrunk()?.shape(), (12, 8));
//!
//! // The steps alone: a released range is a public basis.
//! let range = RangeFinder::calibrate(setting, budget)?.release(&a, FreshSeed::draw()?, rng)?;
//! let basis = PublicBasis::from_range(&range)?;
//! let project = BasisProjection::calibrate(setting, budget, Spread::LeastTrace)?;
//! assert_eq!(project.release(&a, &basis, rng)?.payload().factors().shape(), (12, 8));
//!
//! // What both are compared with: noise on every entry.
//! let noisy = InputPerturbation::calibrate(setting, budget)?.release(&a, rng)?;
//! assert_eq!(noisy.payload().shape(), (12, 8));
//! # Ok::<(), linalg_dp::Error>(())
//! ```

mod baseline;
mod code;
mod codec;
mod coherence;
mod factors;
mod pfp;
mod project;
mod published;
mod range;
mod setting;
mod shape;
mod shrink;

pub use baseline::{InputPerturbation, randomized_svd, singular_values, truncated_svd};
pub use code::Spread;
pub use coherence::{c_coherence, mu0_exact, mu0_from_sketch};
pub use factors::LowRank;
pub use pfp::{Kept, Pfp, PfpOptions, Pruning, Split};
pub use project::{BasisProjection, PrivateLowRank, PublicBasis};
pub use published::PublishedPfp;
pub use range::{Range, RangeFinder};
pub use setting::Setting;
pub use shape::{NoiseShape, ShapeTarget, optimal_shape};
pub use shrink::shrink_value;
