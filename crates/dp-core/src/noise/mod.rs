//! Noise: the secret generator, the public grid, and the laws.
//!
//! Every law is exact: [`GaussianNoise`], [`LaplaceNoise`], [`StaircaseNoise`], [`ChiSquare`], [`TruncatedNormal`], [`HalfSpaceNormal`], [`UnitCap`], [`WishartNoise`],
//! [`GramRows`] (real samples rounded to a [`Grid`]), [`Bernoulli`],
//! [`BernoulliTable`], [`KaryResponse`], [`Categorical`], [`Geometric`], [`DiscreteLaplace`], [`DiscreteGaussian`],
//! [`SymmetricGaussian`].

mod bernoulli;
mod bernoulli_table;
#[cfg(test)]
mod bounds;
mod categorical;
mod chi_square;
mod discrete;
mod exact;
mod gaussian;
mod geometric;
mod gram_rows;
mod grid;
mod half_space;
mod kary;
mod kernel;
mod laplace;
mod law;
mod moments;
mod rng;
mod rounded;
mod simd;
mod staircase;
mod symmetric;
mod truncated;
mod unit_cap;
mod wide;
mod wishart;
mod ziv;

pub use bernoulli::Bernoulli;
pub use bernoulli_table::BernoulliTable;
pub use categorical::Categorical;
pub use chi_square::ChiSquare;
pub use discrete::{DiscreteGaussian, DiscreteLaplace};
pub use gaussian::GaussianNoise;
pub use geometric::Geometric;
pub use gram_rows::GramRows;
pub use grid::Grid;
pub use half_space::HalfSpaceNormal;
pub use kary::{KaryResponse, Symbol};
pub use laplace::LaplaceNoise;
pub use law::{AdditiveNoise, NoiseLaw, VALUES_PER_STREAM};
pub use rng::{GeneratorKind, NoiseRng, NoiseStream, NoiseStreams};
pub(crate) use staircase::{Shape, check_epsilon, steps};
pub use staircase::{StaircaseNoise, StaircaseScale};
pub use symmetric::SymmetricGaussian;
pub use truncated::TruncatedNormal;
pub use unit_cap::UnitCap;
pub(crate) use unit_cap::cap_epsilon;
pub use wishart::WishartNoise;
