//! For authors of this project's mechanisms; no part of the public interface.
//!
//! Everything here takes an [`Authority`], which only the packages of this project have. Whoever uses
//! one states that a theorem's conditions hold: the arguments must be those of its proof page.

pub use super::authority::{Authority, Seal};
use super::basis::Basis;
use super::calibrated::{Calibrated, GridNoise};
pub use super::sealed::{Law, Sealed};
use super::statistic::Statistic;
use crate::adjacency::Adjacency;
use crate::budget::{Budget, Epsilon};
use crate::calibrate::PublishedRule;
use crate::certificate::{Certificate, Statement};
use crate::error::Result;
use crate::guarantee::{Guarantee, Provenance};
use crate::noise::{
    GaussianNoise, GramRows, Grid, LaplaceNoise, StaircaseNoise, StaircaseScale, SymmetricGaussian,
    UnitCap, WishartNoise,
};
use crate::profile::Profile;
use crate::quantity::{LaplaceScale, NoiseScale};
use crate::theorem::Theorem;

/// What a guarantee rests on.
impl Authority {
    /// A theorem about the very numbers that leave.
    #[must_use]
    pub fn theorem(self, theorem: Theorem) -> Basis {
        Basis::of(Provenance::Proven { theorem }, "proven guarantee")
    }

    /// A paper's rule.
    #[must_use]
    pub fn rule(self, rule: PublishedRule) -> Basis {
        let (source, caveat) = (rule.source().to_owned(), rule.caveat().to_owned());
        Basis::of(Provenance::Published { source, caveat }, rule.name())
    }
}

/// Guarantees of noise that is not additive (bits, categories), or that follow from a public matrix
/// which is not known yet.
impl Authority {
    /// A proven guarantee: `theorem` speaks of `profile` under `adjacency`, and the profile at the
    /// budget's epsilon is at most its delta.
    ///
    /// # Errors
    /// As [`Guarantee::declared`], where [`crate::Error::CertificateRejected`] is also for a theorem that
    /// does not speak of this profile under this adjacency, and [`crate::Error::InvalidParameter`] for a
    /// profile that averages over a fresh seed with a delta below [`crate::FreshSeed::LEAST_DELTA`], or, with
    /// the least noise that meets the budget, where one parameter is to blame (the textbook's `1/epsilon`
    /// and `e^epsilon/(1 + e^epsilon)` are an ulp short).
    pub fn proven(
        self,
        adjacency: Adjacency,
        budget: Budget,
        profile: Profile,
        theorem: Theorem,
    ) -> Result<Guarantee> {
        self.theorem(theorem).guarantee(adjacency, budget, profile)
    }

    /// A published rule whose true profile is known and meets the claim, or is not known.
    ///
    /// # Errors
    /// [`crate::Error::RuleMissesBudget`], with the true delta, when it does not; otherwise as
    /// [`Guarantee::declared`].
    pub fn published(
        self,
        adjacency: Adjacency,
        claimed: Budget,
        profile: Option<Profile>,
        rule: &'static str,
        source: impl Into<String>,
        caveat: impl Into<String>,
    ) -> Result<Guarantee> {
        let provenance = Provenance::Published { source: source.into(), caveat: caveat.into() };
        Guarantee::meeting(adjacency, claimed, profile, rule, provenance)
    }

    /// A published rule accepted by name although it may miss its claim; the
    /// certificate states the delta that is really given.
    ///
    /// # Errors
    /// [`crate::Error::CertificateRejected`] for a profile about another change of a row;
    /// [`crate::Error::InvalidParameter`] for a parameter that no mechanism has.
    pub fn published_accepting_true_delta(
        self,
        adjacency: Adjacency,
        claimed: Budget,
        profile: Profile,
        source: impl Into<String>,
        caveat: impl Into<String>,
    ) -> Result<Guarantee> {
        let provenance = Provenance::Published { source: source.into(), caveat: caveat.into() };
        Guarantee::accepting_true_delta(adjacency, claimed, profile, provenance)
    }

    /// The certificate of a release of such a mechanism.
    #[must_use]
    pub fn certificate(self, statement: Statement, guarantee: Guarantee) -> Certificate {
        Certificate::new(statement, guarantee)
    }
}

/// Noise of a scale that follows from a theorem.
impl Authority {
    /// Gaussian noise, for [`Authority::calibrated`].
    ///
    /// # Errors
    /// A grid whose spacing is above `2^-9` of the scale.
    pub fn gaussian(self, sigma: NoiseScale, grid: Grid) -> Result<GaussianNoise> {
        GaussianNoise::new(sigma, grid)
    }

    /// As [`Authority::gaussian`], of the Laplace law.
    ///
    /// # Errors
    /// As [`Authority::gaussian`].
    pub fn laplace(self, scale: LaplaceScale, grid: Grid) -> Result<LaplaceNoise> {
        LaplaceNoise::new(scale, grid)
    }

    /// As [`Authority::gaussian`], of the staircase of least variance.
    ///
    /// # Errors
    /// As [`Authority::gaussian`], and for a sensitivity below a step of the grid or above 2^45 of them.
    pub fn staircase(self, scale: StaircaseScale, grid: Grid) -> Result<StaircaseNoise> {
        scale.on(grid)
    }

    /// As [`Authority::gaussian`], of symmetric matrices.
    ///
    /// # Errors
    /// As [`Authority::gaussian`], and for dimension zero.
    pub fn symmetric(self, dim: usize, sigma: NoiseScale, grid: Grid) -> Result<SymmetricGaussian> {
        SymmetricGaussian::new(dim, sigma, grid)
    }

    /// The law of `d x d` Wishart matrices of mean `dof scale I`.
    ///
    /// # Errors
    /// [`crate::Error::InvalidParameter`] unless `dim` is in `[1, 2^20]` and `dof` in `[dim, 2^40]`, and for a scale
    /// so large or small that no grid suits it.
    pub fn wishart(self, dim: usize, dof: u64, scale: NoiseScale) -> Result<WishartNoise> {
        WishartNoise::new(dim, dof, scale)
    }

    /// `rows` rows of a Gaussian law over the lift w, on a grid of about `2^-24` of it.
    ///
    /// # Errors
    /// [`crate::Error::InvalidParameter`] for no rows, or a lift so large or small that there is no such grid.
    pub fn gram_rows(self, rows: usize, lift: NoiseScale) -> Result<GramRows> {
        GramRows::new(rows, lift)
    }

    /// Caps of least variance around directions, for a pure epsilon.
    ///
    /// # Errors
    /// [`crate::Error::InvalidParameter`] unless epsilon is in `[2^-20, 64]`.
    pub fn unit_cap(self, epsilon: Epsilon) -> Result<UnitCap> {
        UnitCap::of_epsilon(epsilon)
    }

    /// As [`Calibrated::calibrate`], with the scale that `rule` gives for a sensitivity.
    ///
    /// # Errors
    /// The rule's; [`crate::Error::RuleMissesBudget`] when what it gives misses the budget; otherwise as
    /// [`Calibrated::calibrate`].
    pub fn calibrate_by<N: GridNoise>(
        self,
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
    /// adjacency; otherwise as [`Authority::proven`].
    pub fn calibrated<N: Law>(
        self,
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
        self,
        calibrated: Calibrated<N>,
        into: impl FnOnce(N) -> M,
    ) -> Result<Calibrated<M>> {
        calibrated.recast(into)
    }
}
