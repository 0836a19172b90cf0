//! The real-valued systems of Li & Li (2023) under their own names.

use super::mechanism::PrivateProjection;
use crate::error::{Error, Result};
use crate::projection::{Family, ProjectionSpec};
use dp_core::calibrate::published::PublishedRule;
use dp_core::{Adjacency, Budget, EntryBound, PublicSeed, Shift};

/// A system of Li & Li (2023), adjacency `Attribute`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum System {
    /// Raw-data-G-OPT: no projection, exact Gaussian noise. Uses k = d.
    RawDataGOpt,
    /// DP-RP-G (algorithm 1, theorem 3.1).
    DpRpG,
    /// Analytic DP-RP-G (theorem 3.4).
    AnalyticDpRpG,
    /// DP-RP-G-OPT (theorem 3.5): exact realised calibration.
    DpRpGOpt,
    /// DP-RP-L (algorithm 2): Laplace noise on the realised l1 sensitivity; pure.
    DpRpL,
    /// DP-RP-G-OPT-B (algorithm 3): Rademacher projection, exact Gaussian noise.
    DpRpGOptB,
    /// DP-OPORP (algorithm 5): exact Gaussian noise.
    DpOporp,
    /// DP-OPORP with Laplace noise (ours): pure.
    DpOporpLaplace,
}

impl core::fmt::Display for System {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

impl core::str::FromStr for System {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|one| one.name() == name)
            .ok_or_else(|| Error::invalid("system", name, Self::ALL.map(Self::name).join(", ")))
    }
}

impl System {
    /// All systems, in the paper's order.
    pub const ALL: [Self; 8] = [
        Self::RawDataGOpt,
        Self::DpRpG,
        Self::AnalyticDpRpG,
        Self::DpRpGOpt,
        Self::DpRpL,
        Self::DpRpGOptB,
        Self::DpOporp,
        Self::DpOporpLaplace,
    ];

    /// The paper's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RawDataGOpt => "Raw-data-G-OPT",
            Self::DpRpG => "DP-RP-G",
            Self::AnalyticDpRpG => "Analytic DP-RP-G",
            Self::DpRpGOpt => "DP-RP-G-OPT",
            Self::DpRpL => "DP-RP-L",
            Self::DpRpGOptB => "DP-RP-G-OPT-B",
            Self::DpOporp => "DP-OPORP",
            Self::DpOporpLaplace => "DP-OPORP-L",
        }
    }

    /// Whether the system is purely differentially private (its budget has delta zero).
    #[must_use]
    pub fn is_pure(self) -> bool {
        matches!(self, Self::DpRpL | Self::DpOporpLaplace)
    }

    /// The family of its projection.
    #[must_use]
    pub fn family(self) -> Family {
        match self {
            Self::RawDataGOpt => Family::Identity,
            Self::DpRpG | Self::AnalyticDpRpG | Self::DpRpGOpt | Self::DpRpL => Family::Gaussian,
            Self::DpRpGOptB => Family::Rademacher,
            Self::DpOporp | Self::DpOporpLaplace => Family::Oporp,
        }
    }

    /// Builds the calibrated mechanism. Pure systems spend only the epsilon of the budget.
    ///
    /// # Errors
    /// As [`PrivateProjection::gaussian`] and [`PrivateProjection::published`].
    pub fn mechanism(
        self,
        d: usize,
        k: usize,
        seed: PublicSeed,
        beta: Shift,
        bound: EntryBound,
        budget: Budget,
    ) -> Result<PrivateProjection> {
        let k = if self == Self::RawDataGOpt { d } else { k };
        let projection = ProjectionSpec::new(self.family(), d, k, seed)?.build();
        let adjacency = Adjacency::Attribute { beta };
        let published =
            |rule| PrivateProjection::published(projection.clone(), rule, beta, bound, budget);
        let made = match self {
            Self::DpRpG => published(PublishedRule::KenthapadiTheorem1),
            Self::AnalyticDpRpG => published(PublishedRule::AnalyticDpRpG),
            _ if self.is_pure() => {
                let pure = Budget::pure(budget.epsilon);
                PrivateProjection::laplace(projection, adjacency, bound, pure)
            }
            _ => PrivateProjection::gaussian(projection, adjacency, bound, budget),
        }?;
        Ok(made.named(self.name()))
    }
}
