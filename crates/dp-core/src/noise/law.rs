//! Noise laws as data, and what additive noise can do.

use super::grid::Grid;
use super::rng::{NoiseRng, NoiseStream};
use crate::error::Result;
use crate::quantity::{LaplaceScale, NoiseScale, Probability};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

/// The law of the noise in a release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum NoiseLaw {
    /// No noise (releases without a guarantee).
    None,
    /// A real Gaussian rounded to a grid.
    RoundedGaussian {
        /// Standard deviation.
        sigma: NoiseScale,
        /// Grid (exponent of two).
        grid: Grid,
    },
    /// A real Laplace rounded to a grid.
    RoundedLaplace {
        /// Scale b.
        scale: LaplaceScale,
        /// Grid (exponent of two).
        grid: Grid,
    },
    /// A staircase on the integers, in steps of a grid.
    Staircase {
        /// How much less likely each step of the stair is.
        epsilon: crate::Epsilon,
        /// Steps of the grid in a step of the stair.
        width: u64,
        /// Steps of the grid in half of the first one.
        inner: u64,
        /// Grid (exponent of two).
        grid: Grid,
    },
    /// Integer Gaussian (Canonne, Kamath, Steinke 2020).
    DiscreteGaussian {
        /// Parameter sigma.
        sigma: NoiseScale,
    },
    /// Integer Laplace.
    DiscreteLaplace {
        /// Scale b.
        scale: LaplaceScale,
    },
    /// Every bit is kept with this probability.
    BitFlip {
        /// Probability of keeping.
        keep: Probability,
    },
    /// Every bit is kept with a probability that depends on its distance from a flip.
    SmoothBitFlip {
        /// Per-bit epsilon.
        epsilon: crate::Epsilon,
        /// Name of the flip rule.
        rule: String,
    },
    /// Every value is kept with this probability, else replaced by another of the alphabet.
    KaryResponse {
        /// Size of the alphabet.
        alphabet: u64,
        /// Probability of keeping.
        keep: Probability,
    },
    /// A Wishart matrix.
    Wishart {
        /// Degrees of freedom.
        dof: u64,
        /// Scale of the identity.
        scale: NoiseScale,
        /// Grid of the noisy matrix (exponent of two).
        grid: Grid,
    },
    /// A symmetric Gaussian matrix, isotropic in the Frobenius geometry.
    SymmetricGaussian {
        /// Standard deviation of a diagonal entry.
        sigma: NoiseScale,
        /// Grid (exponent of two).
        grid: Grid,
    },
    /// A Johnson-Lindenstrauss sketch of the data over `lift` times the identity.
    JlSketch {
        /// Rows of the sketch.
        rows: u64,
        /// The lift w.
        lift: NoiseScale,
        /// Grid of the sketch (exponent of two).
        grid: Grid,
    },
    /// A normal vector in or outside of a cap around the direction of a row.
    UnitCap {
        /// The cap: `<V, u> >= threshold`.
        threshold: f64,
        /// Probability of the cap: the very `f64` of the sampler.
        inside: Probability,
        /// Grid (exponent of two).
        grid: Grid,
    },
    /// The parameters depend on the data and are kept secret (individual privacy only).
    DataDependent {
        /// What was done.
        rule: String,
    },
    /// Several laws, one after the other.
    Several {
        /// The laws.
        laws: Vec<NoiseLaw>,
    },
}

/// Number of samples that share one noise stream in whole-slice operations: calls on
/// consecutive pieces of multiples of this many values give the same as one call on the whole.
pub const VALUES_PER_STREAM: usize = 4096;

/// Below so many samples of one operation no other threads are woken: that takes as long as the samples.
pub(super) const FEW: usize = 1 << 15;

/// Number of samples whose words are drawn together.
pub(crate) const CHUNK: usize = 512;

/// Independent noise added to numbers on a grid.
pub trait AdditiveNoise: Sync {
    /// The law, for the certificate.
    fn law(&self) -> NoiseLaw;

    /// The grid the sums live on.
    fn grid(&self) -> Grid;

    /// Rounds each value to the grid and adds a fresh sample, using one stream.
    ///
    /// This is also the way to add noise to a matrix that does not fit in memory: one
    /// stream of one [`NoiseRng::reserve`] for each block of rows. Calls on consecutive
    /// pieces give the same as one call on the whole when all pieces but the last are
    /// multiples of 512 values.
    ///
    /// # Errors
    /// [`crate::Error::InvalidParameter`] for a value that is not finite or beyond `2^51` steps of
    /// the grid; nothing is changed then.
    fn add_block(&self, stream: &mut NoiseStream, values: &mut [f64]) -> Result<()>;

    /// As [`AdditiveNoise::add_block`] on a whole slice: blocks of 4096 values, one
    /// stream each, in parallel; the result does not depend on the number of threads.
    ///
    /// # Errors
    /// As [`AdditiveNoise::add_block`].
    fn add_to(&self, rng: &mut NoiseRng, values: &mut [f64]) -> Result<()> {
        self.grid().check_values(values)?;
        let streams = rng.reserve(values.len().div_ceil(VALUES_PER_STREAM) as u64);
        values
            .par_chunks_mut(VALUES_PER_STREAM)
            .zip(streams)
            .try_for_each(|(block, mut stream)| self.add_checked(&mut stream, block))
    }

    /// As [`AdditiveNoise::add_block`], of values that were checked already.
    #[doc(hidden)]
    fn add_checked(&self, stream: &mut NoiseStream, values: &mut [f64]) -> Result<()> {
        self.add_block(stream, values)
    }

    /// As [`AdditiveNoise::add_block`] on `f32`: each value becomes the exact sum of its
    /// grid point and its noise, an `f64`, and only that sum is rounded to `f32`
    /// (post-processing). Same noise as `add_block` on the same values in `f64`.
    ///
    /// # Errors
    /// As [`AdditiveNoise::add_block`].
    fn add_block_f32(&self, stream: &mut NoiseStream, values: &mut [f32]) -> Result<()> {
        self.grid().check_values(values)?;
        let mut buffer = [0f64; CHUNK];
        for chunk in values.chunks_mut(CHUNK) {
            let wide = &mut buffer[..chunk.len()];
            wide.iter_mut().zip(&*chunk).for_each(|(w, &v)| *w = f64::from(v));
            self.add_checked(stream, wide)?;
            chunk.iter_mut().zip(wide).for_each(|(v, w)| *v = *w as f32);
        }
        buffer[..values.len().min(CHUNK)].zeroize();
        Ok(())
    }

    /// As [`AdditiveNoise::add_to`] on `f32`, by [`AdditiveNoise::add_block_f32`].
    ///
    /// # Errors
    /// As [`AdditiveNoise::add_block`].
    fn add_to_f32(&self, rng: &mut NoiseRng, values: &mut [f32]) -> Result<()> {
        self.grid().check_values(values)?;
        let streams = rng.reserve(values.len().div_ceil(VALUES_PER_STREAM) as u64);
        values
            .par_chunks_mut(VALUES_PER_STREAM)
            .zip(streams)
            .try_for_each(|(block, mut stream)| self.add_block_f32(&mut stream, block))
    }

    /// Fills a slice with samples.
    fn fill(&self, rng: &mut NoiseRng, out: &mut [f64]) {
        out.fill(0.0);
        self.add_to(rng, out).expect("zero is a point of every grid");
    }

    /// Fills a slice with samples, using one stream.
    fn fill_block(&self, stream: &mut NoiseStream, out: &mut [f64]) {
        out.fill(0.0);
        self.add_block(stream, out).expect("zero is a point of every grid");
    }
}
