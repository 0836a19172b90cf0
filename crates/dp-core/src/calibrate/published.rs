//! The papers' own rules, by name, each with the delta it really gives.

use crate::budget::{Budget, Delta, LogDelta};
use crate::error::{Error, Result};
use crate::profile::gaussian::gaussian;
use crate::profile::solve::{positive, refuse_pure};
use crate::profile::{PrivacyProfile, Profile, RowChange};
use crate::quantity::{L2Sensitivity, NoiseScale, NormBound};
use serde::{Deserialize, Serialize};

/// A published calibration rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PublishedRule {
    /// sigma = D sqrt(2 ln(1.25/delta)) / epsilon, epsilon < 1.
    DworkRothClassic,
    /// sigma = D sqrt(2 (ln(1/(2 delta)) + epsilon)) / epsilon, delta < 1/2.
    KenthapadiTheorem1,
    /// sigma = D (sqrt(l) + sqrt(l + epsilon)) / (sqrt 2 epsilon), l = ln(1/(2 delta)): what
    /// the proof of Lemma 1 gives.
    KenthapadiLemma1,
    /// sigma = 4 D sqrt(ln(1/delta)) / epsilon for a Gaussian projection, whatever is drawn.
    KenthapadiLemma2,
    /// Exact Gaussian noise at delta/2 for a tail bound, at delta/2, on the row norms of
    /// a Gaussian projection.
    AnalyticDpRpG,
    /// rho = c sqrt(ln(1.25/delta)) / epsilon: a factor sqrt 2 short of what it claims.
    HardtRothTheorem26,
    /// rho = (2/epsilon) sqrt(2 k ln(4k/delta)), epsilon < 1.
    HardtRothRangeFinder,
    /// rho = (2/epsilon) sqrt(8 k ln(4k/delta) ln(2/delta)), in units of each column's largest entry;
    /// epsilon < 1.
    HardtRothProjection,
    /// w^2 = 4 B^2 (sqrt(2 r ln(4/delta)) + ln(4/delta)) / epsilon.
    SheffetJl,
    /// nu = d + 28 ln(4/delta) / epsilon^2 with scale B^2.
    SheffetWishart,
}

/// What a rule is applied to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum PublishedSetting {
    /// Gaussian noise on a value of known l2 sensitivity.
    Shift {
        /// The sensitivity.
        sensitivity: L2Sensitivity,
    },
    /// Gaussian noise after a `features x columns` projection with N(0, 1/columns) entries.
    GaussianProjection {
        /// Rows of the projection.
        features: u64,
        /// Columns of the projection.
        columns: u64,
        /// Largest change of one attribute.
        shift: L2Sensitivity,
    },
    /// Gaussian noise after a projection with `columns` columns of N(0, 1) entries.
    RangeFinder {
        /// Columns of the projection.
        columns: u64,
        /// l2 norm of the row's change.
        shift: L2Sensitivity,
    },
    /// Gaussian noise on `W^T A`, row i in units of the largest entry of column i of W.
    LowRankProjection {
        /// Columns of W.
        columns: u64,
        /// Largest l2 norm of a row of W in these units, times that of the row's change:
        /// at most `sqrt(columns)` of it.
        sensitivity: L2Sensitivity,
    },
    /// The Johnson-Lindenstrauss mechanism, one row added or removed.
    Jl {
        /// Rows of the sketch.
        rows: u64,
        /// Bound on a data row's l2 norm.
        bound: NormBound,
    },
    /// The Wishart mechanism, one row added or removed.
    Wishart {
        /// Columns of the data.
        dim: u64,
        /// Bound on a data row's l2 norm.
        bound: NormBound,
    },
}

/// What to do with a rule whose true delta is above its claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acceptance {
    /// Refuse it with [`Error::RuleMissesBudget`].
    RequireTarget,
    /// Use it; the certificate states the true delta.
    AcceptTrueDelta,
}

/// What a rule prescribes, and what that really gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedCalibration {
    rule: PublishedRule,
    claimed: Budget,
    profile: Profile,
}

impl PublishedCalibration {
    /// The rule.
    #[must_use]
    pub(crate) fn rule(&self) -> PublishedRule {
        self.rule
    }

    /// What the rule claims.
    #[must_use]
    pub(crate) fn claimed(&self) -> Budget {
        self.claimed
    }

    /// The true profile of the noise it prescribes.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The true delta at the claimed epsilon.
    #[must_use]
    pub fn true_delta(&self) -> LogDelta {
        self.profile.log_delta(self.claimed.epsilon)
    }

    /// The prescribed sigma or rho, lift w, or Wishart scale.
    #[must_use]
    pub fn scale(&self) -> NoiseScale {
        match self.profile {
            Profile::JlMechanism { lift, .. } => lift,
            Profile::Wishart { scale, .. } => scale,
            Profile::Gaussian { sigma, .. } | Profile::ChiMixtureGaussian { sigma, .. } => sigma,
            _ => unreachable!("rules prescribe these profiles only"),
        }
    }

    /// The prescribed degrees of freedom, for the Wishart rule.
    #[must_use]
    pub fn dof(&self) -> Option<u64> {
        match self.profile {
            Profile::Wishart { dof, .. } => Some(dof),
            _ => None,
        }
    }
}

impl PublishedRule {
    /// Every rule.
    pub const ALL: [Self; 10] = [
        Self::DworkRothClassic,
        Self::KenthapadiTheorem1,
        Self::KenthapadiLemma1,
        Self::KenthapadiLemma2,
        Self::AnalyticDpRpG,
        Self::HardtRothTheorem26,
        Self::HardtRothRangeFinder,
        Self::HardtRothProjection,
        Self::SheffetJl,
        Self::SheffetWishart,
    ];

    /// The name it is asked for by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DworkRothClassic => "dwork-roth-classic",
            Self::KenthapadiTheorem1 => "kenthapadi-theorem1",
            Self::KenthapadiLemma1 => "kenthapadi-lemma1",
            Self::KenthapadiLemma2 => "kenthapadi-lemma2",
            Self::AnalyticDpRpG => "analytic-dp-rp-g",
            Self::HardtRothTheorem26 => "hardt-roth-theorem26",
            Self::HardtRothRangeFinder => "hardt-roth-range-finder",
            Self::HardtRothProjection => "hardt-roth-projection",
            Self::SheffetJl => "sheffet-jl",
            Self::SheffetWishart => "sheffet-wishart",
        }
    }

    /// Paper and place.
    #[must_use]
    pub const fn source(self) -> &'static str {
        match self {
            Self::DworkRothClassic => "Dwork & Roth 2014, Theorem A.1",
            Self::KenthapadiTheorem1 => "Kenthapadi et al. 2013, Theorem 1",
            Self::KenthapadiLemma1 => "Kenthapadi et al. 2013, proof of Lemma 1",
            Self::KenthapadiLemma2 => "Kenthapadi et al. 2013, Lemma 2",
            Self::AnalyticDpRpG => "Li & Li 2023, Theorem 3.4",
            Self::HardtRothTheorem26 => "Hardt & Roth 2012, Theorem 2.6",
            Self::HardtRothRangeFinder => "Hardt & Roth 2012, Figure 2",
            Self::HardtRothProjection => "Hardt & Roth 2012, Figure 3",
            Self::SheffetJl => "Sheffet 2019, Johnson-Lindenstrauss mechanism",
            Self::SheffetWishart => "Sheffet 2019, Wishart mechanism",
        }
    }

    /// What to know before using it.
    #[must_use]
    pub const fn caveat(self) -> &'static str {
        match self {
            Self::HardtRothTheorem26 => {
                "a factor sqrt 2 is missing: the true delta is above the claim"
            }
            _ => "not tight: the exact calibration needs less noise",
        }
    }

    /// What the rule prescribes for the budget.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] outside the rule's own preconditions,
    /// [`Error::Mismatch`] for a setting that is not the rule's, and
    /// [`Error::RuleMissesBudget`] when the true delta is above the claim, unless accepted.
    pub fn calibrate(
        self,
        budget: Budget,
        setting: PublishedSetting,
        acceptance: Acceptance,
    ) -> Result<PublishedCalibration> {
        refuse_pure(self.name(), budget)?;
        let profile = self.prescribe(budget, setting)?;
        let calibration = PublishedCalibration { rule: self, claimed: budget, profile };
        let true_delta = calibration.true_delta();
        if acceptance == Acceptance::RequireTarget && true_delta > budget.delta.ln() {
            return Err(Error::RuleMissesBudget { rule: self.name(), claimed: budget, true_delta });
        }
        Ok(calibration)
    }

    fn prescribe(self, budget: Budget, setting: PublishedSetting) -> Result<Profile> {
        use PublishedSetting as Setting;
        let (e, delta) = (budget.epsilon.get(), budget.delta.get());
        let require = |ok: bool, name, value: f64, allowed: &str| {
            if ok { Ok(()) } else { Err(Error::invalid(name, value, allowed)) }
        };
        match (self, setting) {
            (
                Self::DworkRothClassic
                | Self::KenthapadiTheorem1
                | Self::KenthapadiLemma1
                | Self::HardtRothTheorem26,
                Setting::Shift { sensitivity },
            ) => {
                let factor = match self {
                    Self::DworkRothClassic => {
                        require(e < 1.0, "epsilon of this rule", e, "(0, 1)")?;
                        (2.0 * (1.25 / delta).ln()).sqrt() / e
                    }
                    Self::HardtRothTheorem26 => (1.25 / delta).ln().sqrt() / e,
                    _ => {
                        require(delta < 0.5, "delta of this rule", delta, "(0, 0.5)")?;
                        let l = (0.5 / delta).ln();
                        if self == Self::KenthapadiTheorem1 {
                            (2.0 * (l + e)).sqrt() / e
                        } else {
                            (l.sqrt() + (l + e).sqrt()) / (core::f64::consts::SQRT_2 * e)
                        }
                    }
                };
                let sigma = NoiseScale::new(sensitivity.get() * factor)?;
                Ok(Profile::Gaussian { sensitivity, sigma })
            }
            (
                Self::KenthapadiLemma2 | Self::AnalyticDpRpG,
                Setting::GaussianProjection { features, columns, shift },
            ) => {
                let (k, d) = (columns as f64, features as f64);
                positive("columns", columns)?;
                positive("features", features)?;
                let sigma = if self == Self::KenthapadiLemma2 {
                    require(e < (1.0 / delta).ln(), "epsilon of this rule", e, "(0, ln(1/delta))")?;
                    let least = 2.0 * (d.ln() + (2.0 / delta).ln());
                    require(k > least, "columns of this rule", k, "(2 (ln d + ln(2/delta)), inf)")?;
                    NoiseScale::new(4.0 * shift.get() * (1.0 / delta).ln().sqrt() / e)?
                } else {
                    let half = Delta::new(0.5 * delta)?;
                    let l = (d / half.get()).ln();
                    let norm = ((k + 2.0 * (k * l).sqrt() + 2.0 * l) / k).sqrt();
                    let sensitivity = L2Sensitivity::new(shift.get() * norm)?;
                    gaussian(Budget { epsilon: budget.epsilon, delta: half }, sensitivity)?
                };
                let entry_shift = L2Sensitivity::new(shift.get() / k.sqrt())?;
                Ok(Profile::ChiMixtureGaussian { k: columns, entry_shift, sigma, later_mu: 0.0 })
            }
            (Self::HardtRothRangeFinder, Setting::RangeFinder { columns, shift }) => {
                positive("columns", columns)?;
                require(e < 1.0, "epsilon of this rule", e, "(0, 1)")?;
                let k = columns as f64;
                let rho = 2.0 / e * (2.0 * k * (4.0 * k / delta).ln()).sqrt();
                let sigma = NoiseScale::new(shift.get() * rho)?;
                Ok(Profile::ChiMixtureGaussian {
                    k: columns,
                    entry_shift: shift,
                    sigma,
                    later_mu: 0.0,
                })
            }
            (Self::HardtRothProjection, Setting::LowRankProjection { columns, sensitivity }) => {
                positive("columns", columns)?;
                require(e < 1.0, "epsilon of this rule", e, "(0, 1)")?;
                let k = columns as f64;
                let rho = 2.0 / e * (8.0 * k * (4.0 * k / delta).ln() * (2.0 / delta).ln()).sqrt();
                Ok(Profile::Gaussian { sensitivity, sigma: NoiseScale::new(rho)? })
            }
            (Self::SheffetJl, Setting::Jl { rows, bound }) => {
                positive("rows", rows)?;
                let l = (4.0 / delta).ln();
                let square = 4.0 * ((2.0 * rows as f64 * l).sqrt() + l) / e;
                let lift = NoiseScale::new(bound.get() * square.sqrt())?;
                Ok(Profile::JlMechanism { rows, bound, lift, change: RowChange::AddRemove })
            }
            (Self::SheffetWishart, Setting::Wishart { dim, bound }) => {
                positive("dim", dim)?;
                let extra = (28.0 * (4.0 / delta).ln() / (e * e)).ceil().max(2.0);
                require(extra < 9e15, "epsilon of this rule", e, "(1e-7, inf)")?;
                let scale = NoiseScale::new(bound.get() * bound.get())?;
                let most = u64::MAX - extra as u64;
                if dim > most {
                    return Err(Error::invalid("dim", dim, format!("[1, {most}] for this rule")));
                }
                let dof = dim + extra as u64;
                Ok(Profile::Wishart { dim, dof, bound, scale, change: RowChange::AddRemove })
            }
            (rule, setting) => Err(Error::Mismatch {
                what: "published rule and setting",
                left: rule.name().to_owned(),
                right: format!("{setting:?}"),
            }),
        }
    }
}

impl core::fmt::Display for PublishedRule {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

impl core::str::FromStr for PublishedRule {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|rule| rule.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::invalid("published rule", name, names)
        })
    }
}
