//! Noise: the secret generator, the public grid, and the laws.

mod gaussian;
mod grid;
mod laplace;
mod law;
mod rng;

pub use gaussian::GaussianNoise;
pub use grid::Grid;
pub use laplace::LaplaceNoise;
pub use law::{AdditiveNoise, NoiseLaw};
pub use rng::{GeneratorKind, NoiseRng, NoiseStream, NoiseStreams};
