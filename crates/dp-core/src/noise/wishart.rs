//! Wishart noise for covariance mechanisms.

use super::chi_square::{ChiSquare, standard_normal};
use super::law::{AdditiveNoise, NoiseLaw};
use super::rng::NoiseRng;
use crate::error::{Error, Result};
use crate::quantity::NoiseScale;
use rayon::prelude::*;

/// A Wishart matrix `W_d(dof, scale I)`, by Bartlett's decomposition: `scale L L^T`, L lower
/// triangular, `L_ii^2 ~ chi2(dof - i)`, `L_ij ~ N(0, 1)` below the diagonal.
///
/// **Idealised**: the entries of L are accurate to about `2^-40` and the product is
/// ordinary floating point. The law of the real matrix is what the privacy profile
/// speaks of; unlike [`super::GaussianNoise`] the sampled matrix is not an exact
/// rounding of it. Round the release to a [`super::Grid`] far coarser than that error
/// so that its low bits carry nothing (see `docs/THREAT_MODEL.md`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WishartNoise {
    dim: usize,
    dof: u64,
    scale: NoiseScale,
}

impl WishartNoise {
    /// The law of `d x d` Wishart matrices of mean `dof scale I`.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] unless `dim >= 1` and `dof` is in `[dim, 2^40]`.
    pub fn new(dim: usize, dof: u64, scale: NoiseScale) -> Result<Self> {
        if dim == 0 {
            return Err(Error::invalid("dimension", dim, "[1, inf)"));
        }
        if !(dim as u64..=1 << 40).contains(&dof) {
            return Err(Error::invalid("degrees of freedom", dof, format!("[{dim}, 2^40]")));
        }
        Ok(Self { dim, dof, scale })
    }

    /// The law, for the certificate.
    #[must_use]
    pub fn law(&self) -> NoiseLaw {
        NoiseLaw::Wishart { dof: self.dof, scale: self.scale }
    }

    /// Draws a matrix into `out`, row-major `d x d`, exactly symmetric.
    ///
    /// One noise stream per row of L, rows in parallel; the result does not depend on
    /// the number of threads. Costs `d^3 / 3` multiplications.
    ///
    /// # Panics
    /// When `out` does not have `d^2` entries.
    pub fn sample(&self, rng: &mut NoiseRng, out: &mut [f64]) {
        let d = self.dim;
        assert_eq!(out.len(), d * d, "a {d} x {d} matrix");
        let streams = rng.reserve(d as u64);
        let normal = standard_normal();
        let mut factor = zeroize::Zeroizing::new(vec![0.0; d * d]);
        factor.par_chunks_mut(d).zip(streams).enumerate().for_each(|(i, (row, mut stream))| {
            let stream = &mut stream;
            normal.fill_block(stream, &mut row[..i]);
            let chi = ChiSquare::new(self.dof - i as u64).expect("dof >= dim > i");
            row[i] = chi.sample(stream).sqrt();
        });
        let scale = self.scale.get();
        out.par_chunks_mut(d).enumerate().for_each(|(i, row)| {
            for (j, entry) in row[..=i].iter_mut().enumerate() {
                let (a, b) = (&factor[i * d..i * d + j + 1], &factor[j * d..j * d + j + 1]);
                *entry = scale * dot(a, b);
            }
        });
        super::symmetric::mirror_lower(out, d);
    }
}

/// Inner product in four fixed lanes.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 4];
    let (quads_a, rest_a) = a.as_chunks::<4>();
    let (quads_b, rest_b) = b.as_chunks::<4>();
    for (x, y) in quads_a.iter().zip(quads_b) {
        for l in 0..4 {
            lanes[l] += x[l] * y[l];
        }
    }
    let rest: f64 = rest_a.iter().zip(rest_b).map(|(x, y)| x * y).sum();
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}
