//! For authors of this project's mechanisms; no part of the public interface.
//!
//! Rust has no visibility between "this crate" and "everybody", so what the sibling crates need is
//! public and hidden from the documentation. Whoever calls these states that a theorem's
//! conditions hold: the arguments must be those of its proof page.

use super::basis::Basis;
use super::calibrated::{Calibrated, GridNoise};
pub use super::sealed::{Law, Sealed};
use super::statistic::Statistic;
use crate::adjacency::Adjacency;
use crate::budget::Budget;
use crate::calibrate::PublishedRule;
use crate::error::Result;
use crate::guarantee::{Guarantee, Provenance};
use crate::noise::{GaussianNoise, Grid, LaplaceNoise, SymmetricGaussian};
use crate::profile::Profile;
use crate::quantity::{LaplaceScale, NoiseScale};
use crate::theorem::Theorem;

/// A theorem about the very numbers that leave.
#[must_use]
pub fn theorem(theorem: Theorem) -> Basis {
    Basis::of(Provenance::Proven { theorem }, "proven guarantee")
}

/// A paper's rule.
#[must_use]
pub fn published(rule: PublishedRule) -> Basis {
    let (source, caveat) = (rule.source().to_owned(), rule.caveat().to_owned());
    Basis::of(Provenance::Published { source, caveat }, rule.name())
}

/// The guarantee of noise that is not additive (bits, categories), or that follows from a public
/// matrix which is not known yet.
///
/// # Errors
/// As [`Guarantee::proven`].
pub fn guarantee(
    adjacency: Adjacency,
    budget: Budget,
    basis: Basis,
    profile: Profile,
) -> Result<Guarantee> {
    basis.guarantee(adjacency, budget, profile)
}

/// Gaussian noise whose scale follows from a theorem, for [`calibrated`] and [`guarantee`].
///
/// # Errors
/// A grid that is too coarse for it ([`Grid::check_scale`]).
pub fn gaussian(sigma: NoiseScale, grid: Grid) -> Result<GaussianNoise> {
    GaussianNoise::new(sigma, grid)
}

/// As [`gaussian`], of the Laplace law.
///
/// # Errors
/// As [`gaussian`].
pub fn laplace(scale: LaplaceScale, grid: Grid) -> Result<LaplaceNoise> {
    LaplaceNoise::new(scale, grid)
}

/// As [`gaussian`], of symmetric matrices.
///
/// # Errors
/// As [`gaussian`], and for dimension zero.
pub fn symmetric(dim: usize, sigma: NoiseScale, grid: Grid) -> Result<SymmetricGaussian> {
    SymmetricGaussian::new(dim, sigma, grid)
}

/// As [`Calibrated::calibrate`], with the scale that `rule` gives for a sensitivity.
///
/// # Errors
/// The rule's; [`crate::Error::RuleMissesBudget`] when what it gives misses the budget; otherwise as
/// [`Calibrated::calibrate`].
pub fn calibrate_by<N: GridNoise>(
    statistic: Statistic<N::Sensitivity>,
    budget: Budget,
    basis: Basis,
    rule: impl Fn(N::Sensitivity) -> Result<N::Scale>,
) -> Result<Calibrated<N>> {
    Calibrated::by_rule(statistic, budget, basis, rule)
}

/// Noise whose profile is not that of one shift (an average over projections, several steps,
/// a symmetric matrix): held against each other by the rules that certificates are read with.
///
/// # Errors
/// [`crate::Error::CertificateRejected`] when this noise is not known to give this profile under this
/// adjacency; otherwise as [`crate::Guarantee::proven`].
pub fn calibrated<N: Law>(
    adjacency: Adjacency,
    budget: Budget,
    basis: Basis,
    profile: Profile,
    noise: N,
) -> Result<Calibrated<N>> {
    Calibrated::of_profile(adjacency, budget, basis, profile, noise)
}

/// The same noise as another type, one that holds either of two laws.
///
/// # Errors
/// [`crate::Error::Mismatch`] when it is not the same law.
pub fn recast<N: Law, M: Law>(
    calibrated: Calibrated<N>,
    into: impl FnOnce(N) -> M,
) -> Result<Calibrated<M>> {
    calibrated.recast(into)
}
