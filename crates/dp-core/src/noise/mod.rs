//! Noise: the secret generator, the public grid, and the laws.
//!
//! Exact laws: [`GaussianNoise`], [`LaplaceNoise`] (rounded to a [`Grid`]), [`Bernoulli`],
//! [`BernoulliTable`], [`KaryResponse`], [`Categorical`], [`Geometric`], [`DiscreteLaplace`], [`DiscreteGaussian`],
//! [`SymmetricGaussian`]. Idealised (floating point): [`ChiSquare`], [`WishartNoise`].

mod bernoulli;
mod bernoulli_table;
mod categorical;
mod chi_square;
mod discrete;
mod exact;
mod gaussian;
mod geometric;
mod grid;
mod kary;
mod laplace;
mod law;
mod rng;
mod rounded;
mod simd;
mod symmetric;
mod wishart;

pub use bernoulli::Bernoulli;
pub use bernoulli_table::BernoulliTable;
pub use categorical::Categorical;
pub use chi_square::ChiSquare;
pub use discrete::{DiscreteGaussian, DiscreteLaplace};
pub use gaussian::GaussianNoise;
pub use geometric::Geometric;
pub use grid::Grid;
pub use kary::{KaryResponse, Symbol};
pub use laplace::LaplaceNoise;
pub use law::{AdditiveNoise, NoiseLaw, VALUES_PER_STREAM};
pub use rng::{GeneratorKind, NoiseRng, NoiseStream, NoiseStreams};
pub use symmetric::SymmetricGaussian;
pub use wishart::WishartNoise;
