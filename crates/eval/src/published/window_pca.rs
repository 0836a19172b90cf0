//! Two more of paper 5's algorithms by name: `Sliding-Priv-PCA` and `Sliding-Priv-Constrained-PCP`.

use super::window::{PublishedAlgorithm, PublishedConfig, PublishedStream};
use crate::error::{Error, Result};
use dp_core::{NoiseRng, Release};
use faer::{Mat, MatRef};
use linalg_dp::analysis::{best_projection, projection_cost};
use linalg_dp::dense::symmetric_eigen;
use linalg_dp::window::WindowSpan;

/// `Sliding-Priv-PCA` (paper 5, algorithm 4, theorem 6): the leading eigenvectors of the
/// release of `Sliding-Priv-PCP`.
///
/// # Privacy
/// Post-processing of that release, and no better founded: provenance `Published`, see
/// [`super::CAVEAT`]. The proven way is [`linalg_dp::analysis::pca`] of a [`linalg_dp::window::PrivateStream`].
#[derive(Debug)]
pub struct SlidingPrivPca {
    stream: PublishedStream,
    rank: usize,
}

impl SlidingPrivPca {
    /// Sets the algorithm up.
    ///
    /// # Errors
    /// Unless `config.algorithm` is [`PublishedAlgorithm::SlidingPrivPcp`]; as
    /// [`PublishedStream::new`].
    pub fn new(config: PublishedConfig) -> Result<Self> {
        let rank = pcp_rank(&config)?;
        Ok(Self { stream: PublishedStream::new(config)?, rank })
    }

    /// One arrival.
    ///
    /// # Errors
    /// As [`PublishedStream::push`].
    pub fn push(&mut self, row: &[f64], rng: &mut NoiseRng) -> Result<()> {
        self.stream.push(row, rng)
    }

    /// Orthonormal basis (d x rank) of the window's principal directions, the strongest first.
    ///
    /// # Errors
    /// As [`PublishedStream::release`]; an eigendecomposition that fails.
    pub fn release(&self) -> Result<Release<(WindowSpan, Mat<f64>)>> {
        let release = self.stream.release_named("published Sliding-Priv-PCA")?;
        let basis = {
            let eigen = symmetric_eigen(release.payload().1.as_ref())?;
            eigen.vectors.get(.., ..self.rank).to_owned()
        };
        Ok(release.map(|(span, _)| (span, basis)))
    }
}

/// What [`SlidingPrivConstrainedPcp`] chose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChosenProjection {
    /// The rows covered.
    pub span: WindowSpan,
    /// Index in the set given.
    pub index: usize,
    /// Its projection cost on the released matrix.
    pub cost: f64,
}

/// `Sliding-Priv-Constrained-PCP` (paper 5, algorithm 5, theorem 7): of a public set of rank-k
/// projections, the one of least projection cost on the release of `Sliding-Priv-PCP`.
///
/// # Privacy
/// As [`SlidingPrivPca`]. The proven way is [`best_projection`] on a [`linalg_dp::window::PrivateStream`].
#[derive(Debug)]
pub struct SlidingPrivConstrainedPcp {
    stream: PublishedStream,
    set: Vec<Mat<f64>>,
}

impl SlidingPrivConstrainedPcp {
    /// Sets the algorithm up for `set`, orthonormal bases of shape d x rank.
    ///
    /// # Errors
    /// As [`SlidingPrivPca::new`]; a basis of another shape or that is not orthonormal; an empty set.
    pub fn new(config: PublishedConfig, set: Vec<Mat<f64>>) -> Result<Self> {
        let rank = pcp_rank(&config)?;
        let stream = PublishedStream::new(config)?;
        if set.is_empty() {
            return Err(Error::invalid("set of projections", "empty", "at least one"));
        }
        let zero = Mat::<f64>::zeros(config.dim, config.dim);
        for basis in &set {
            if basis.ncols() != rank {
                return Err(Error::invalid("columns of a basis", basis.ncols(), rank.to_string()));
            }
            projection_cost(zero.as_ref(), basis.as_ref())?;
        }
        Ok(Self { stream, set })
    }

    /// One arrival.
    ///
    /// # Errors
    /// As [`PublishedStream::push`].
    pub fn push(&mut self, row: &[f64], rng: &mut NoiseRng) -> Result<()> {
        self.stream.push(row, rng)
    }

    /// The projection of least cost.
    ///
    /// # Errors
    /// As [`PublishedStream::release`].
    pub fn release(&self) -> Result<Release<ChosenProjection>> {
        let release = self.stream.release_named("published Sliding-Priv-Constrained-PCP")?;
        let bases: Vec<MatRef<'_, f64>> = self.set.iter().map(Mat::as_ref).collect();
        let (index, cost) = best_projection(release.payload().1.as_ref(), &bases)?;
        Ok(release.map(|(span, _)| ChosenProjection { span, index, cost }))
    }
}

fn pcp_rank(config: &PublishedConfig) -> Result<usize> {
    match config.algorithm {
        PublishedAlgorithm::SlidingPrivPcp { rank } => Ok(rank),
        other => Err(Error::invalid("algorithm", format!("{other:?}"), "SlidingPrivPcp { rank }")),
    }
}
