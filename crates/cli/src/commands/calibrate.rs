//! `dps calibrate`.

use crate::error::{Error, Result, no_effect};
use crate::output::Record;
use clap::{Args, Subcommand, ValueEnum};
use dp_core::calibrate::published::{
    Acceptance, PublishedCalibration, PublishedRule, PublishedSetting,
};
use dp_core::profile::RowChange;
use dp_core::{
    Budget, L1Sensitivity, L2Sensitivity, NormBound, PrivacyProfile, Profile, calibrate,
};

/// Options of `dps calibrate`.
#[derive(Args)]
pub(crate) struct Calibrate {
    #[command(subcommand)]
    mechanism: Mechanism,
    /// Epsilon, in (0, inf).
    #[arg(long, global = true)]
    epsilon: Option<f64>,
    /// Delta, in [0, 1); 0 asks for pure differential privacy.
    #[arg(long, global = true)]
    delta: Option<f64>,
    /// Use a published rule, by name, instead of the exact calibration.
    #[arg(long, global = true, value_parser = rule)]
    rule: Option<PublishedRule>,
    /// Use the rule even when the delta it truly gives is above the one asked for.
    #[arg(long, global = true, requires = "rule")]
    accept_true_delta: bool,
}

/// How a row may change.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum RowAdjacency {
    /// One row is added or removed.
    AddRemove,
    /// One row is replaced by another within the bound.
    Replace,
}

impl From<RowAdjacency> for RowChange {
    fn from(adjacency: RowAdjacency) -> Self {
        match adjacency {
            RowAdjacency::AddRemove => Self::AddRemove,
            RowAdjacency::Replace => Self::Replace,
        }
    }
}

#[derive(Subcommand)]
enum Mechanism {
    /// Gaussian noise: sigma for an l2 sensitivity.
    Gaussian {
        /// l2 sensitivity.
        #[arg(long, default_value_t = 1.0)]
        sensitivity: f64,
    },
    /// Laplace noise: scale b for an l1 sensitivity.
    Laplace {
        /// l1 sensitivity.
        #[arg(long, default_value_t = 1.0)]
        sensitivity: f64,
    },
    /// Integer Gaussian noise on one whole number: sigma.
    DiscreteGaussian {
        /// By how much one change moves the number.
        #[arg(long, default_value_t = 1)]
        moves: u64,
    },
    /// Integer Laplace noise on whole numbers: scale b.
    DiscreteLaplace {
        /// By how much one change moves the numbers in all (l1).
        #[arg(long, default_value_t = 1)]
        moves: u64,
    },
    /// Randomised response on bits that may all differ: keep probability.
    RandomizedResponse {
        /// Number of bits, at most 2^24, as a certificate states.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
        bits: u64,
    },
    /// Randomised response over an alphabet: keep probability.
    KaryResponse {
        /// Size of the alphabet.
        #[arg(long)]
        alphabet: u64,
        /// Number of responses that may all differ, at most 2^16, as a certificate states.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1 << 16))]
        responses: u64,
    },
    /// Private range finder `A Omega + N(0, rho^2)`, Omega fresh n x k standard normal: rho.
    RangeFinder {
        /// Columns of Omega.
        #[arg(long)]
        k: u64,
        /// l2 norm of the change of one row.
        #[arg(long, default_value_t = 1.0)]
        sensitivity: f64,
    },
    /// Private projection with a fresh Gaussian matrix of entries N(0, 1/k): sigma.
    GaussianProjection {
        /// Sketch size.
        #[arg(long)]
        k: u64,
        /// Features (only published rules need it).
        #[arg(long)]
        features: Option<u64>,
        /// l2 norm of the change of the row.
        #[arg(long, default_value_t = 1.0)]
        sensitivity: f64,
    },
    /// Johnson-Lindenstrauss mechanism: the squared lift w^2.
    Jl {
        /// Rows of the sketch.
        #[arg(long)]
        rows: u64,
        /// How a row may change.
        #[arg(long, value_enum, default_value_t = RowAdjacency::AddRemove)]
        adjacency: RowAdjacency,
        /// Bound on a row's l2 norm.
        #[arg(long, default_value_t = 1.0)]
        bound: f64,
    },
    /// Wishart mechanism: the scale for given degrees of freedom.
    Wishart {
        /// Columns of the data.
        #[arg(long)]
        dim: u64,
        /// Degrees of freedom, above dim + 1 (a published rule prescribes its own).
        #[arg(long)]
        dof: Option<u64>,
        /// How a row may change.
        #[arg(long, value_enum, default_value_t = RowAdjacency::AddRemove)]
        adjacency: RowAdjacency,
        /// Bound on a row's l2 norm.
        #[arg(long, default_value_t = 1.0)]
        bound: f64,
    },
    /// Symmetric Gaussian noise on a covariance matrix: sigma of a diagonal entry.
    SymmetricGaussian {
        /// How a row may change.
        #[arg(long, value_enum, default_value_t = RowAdjacency::AddRemove)]
        adjacency: RowAdjacency,
        /// Bound on a row's l2 norm.
        #[arg(long, default_value_t = 1.0)]
        bound: f64,
    },
}

fn rule(text: &str) -> std::result::Result<PublishedRule, String> {
    text.parse().map_err(|_| {
        let names: Vec<&str> = PublishedRule::ALL.iter().map(|r| r.name()).collect();
        format!("no such rule; the rules are {}", names.join(", "))
    })
}

impl Calibrate {
    pub(crate) fn run(&self) -> Result<Record> {
        let missing = |name: &str| Error::Usage(format!("--{name} is required"));
        let epsilon = self.epsilon.ok_or_else(|| missing("epsilon"))?;
        // Pure differential privacy must be asked for, not fallen into.
        let delta = self.delta.ok_or_else(|| missing("delta (0 for pure differential privacy)"))?;
        let budget = Budget::new(epsilon, delta)?;
        match self.rule {
            Some(rule) => self.published(rule, budget),
            None => self.exact(budget),
        }
    }

    fn exact(&self, budget: Budget) -> Result<Record> {
        let record = Record::new();
        let (record, profile) = match self.mechanism {
            Mechanism::Gaussian { sensitivity } => {
                let sensitivity = L2Sensitivity::new(sensitivity)?;
                let sigma = calibrate::gaussian(budget, sensitivity)?;
                (record.number("sigma", sigma.get()), Profile::Gaussian { sensitivity, sigma })
            }
            Mechanism::Laplace { sensitivity } => {
                let sensitivity = L1Sensitivity::new(sensitivity)?;
                let scale = calibrate::laplace(budget, sensitivity)?;
                (record.number("scale", scale.get()), Profile::Laplace { sensitivity, scale })
            }
            Mechanism::DiscreteGaussian { moves } => {
                let sigma = calibrate::discrete_gaussian(budget, moves)?;
                (record.number("sigma", sigma.get()), Profile::DiscreteGaussian { moves, sigma })
            }
            Mechanism::DiscreteLaplace { moves } => {
                let scale = calibrate::discrete_laplace(budget, moves)?;
                (record.number("scale", scale.get()), Profile::DiscreteLaplace { moves, scale })
            }
            Mechanism::RandomizedResponse { bits } => {
                let keep = calibrate::randomized_response(budget, bits)?;
                let each = calibrate::response_epsilon(2, keep)?;
                let record =
                    record.number("keep", keep.get()).number("epsilon_per_bit", each.get());
                (record, Profile::RandomizedResponse { bits, keep })
            }
            Mechanism::KaryResponse { alphabet, responses } => {
                let keep = calibrate::kary_response(budget, responses, alphabet)?;
                let each = calibrate::response_epsilon(alphabet, keep)?;
                let record =
                    record.number("keep", keep.get()).number("epsilon_per_response", each.get());
                (record, Profile::KaryResponse { responses, alphabet, keep })
            }
            Mechanism::RangeFinder { k, sensitivity } => {
                let entry_shift = L2Sensitivity::new(sensitivity)?;
                let sigma = calibrate::chi_mixture_gaussian(budget, k, entry_shift, 0.0)?;
                let record = record.number("rho", sigma.get()).number("sigma", sigma.get());
                (record, Profile::ChiMixtureGaussian { k, entry_shift, sigma, later_mu: 0.0 })
            }
            Mechanism::GaussianProjection { k, features, sensitivity } => {
                no_effect("--features", features.as_ref(), "the exact profile needs only --k")?;
                let entry_shift = L2Sensitivity::new(sensitivity / (k as f64).sqrt())?;
                let sigma = calibrate::chi_mixture_gaussian(budget, k, entry_shift, 0.0)?;
                let record = record.number("sigma", sigma.get());
                (record, Profile::ChiMixtureGaussian { k, entry_shift, sigma, later_mu: 0.0 })
            }
            Mechanism::Jl { rows, adjacency, bound } => {
                let (bound, change) = (NormBound::new(bound)?, RowChange::from(adjacency));
                let lift = calibrate::jl_lift(budget, rows, bound, change)?;
                let record = record.number("w2", lift.get() * lift.get()).number("w", lift.get());
                (record, Profile::JlMechanism { rows, bound, lift, change })
            }
            Mechanism::Wishart { dim, dof, adjacency, bound } => {
                let dof = dof.ok_or_else(|| Error::Usage("--dof is required".into()))?;
                let (bound, change) = (NormBound::new(bound)?, RowChange::from(adjacency));
                let scale = calibrate::wishart_scale(budget, dim, dof, bound, change)?;
                let record = record.number("scale", scale.get()).integer("dof", dof);
                (record, Profile::Wishart { dim, dof, bound, scale, change })
            }
            Mechanism::SymmetricGaussian { adjacency, bound } => {
                let (bound, change) = (NormBound::new(bound)?, RowChange::from(adjacency));
                let sigma = calibrate::symmetric_gaussian(budget, bound, change)?;
                let record = record.number("sigma", sigma.get());
                (record, Profile::SymmetricGaussian { bound, sigma, change })
            }
        };
        let true_delta = profile.log_delta(budget.epsilon);
        Ok(finish(record, budget).number("true_delta", true_delta.delta()).text("rule", "exact"))
    }

    fn published(&self, rule: PublishedRule, budget: Budget) -> Result<Record> {
        let acceptance = if self.accept_true_delta {
            Acceptance::AcceptTrueDelta
        } else {
            Acceptance::RequireTarget
        };
        let setting = self.setting(rule)?;
        let calibration = rule.calibrate(budget, setting, acceptance)?;
        let record = finish(parameters(&calibration), budget)
            .number("true_delta", calibration.true_delta().delta())
            .text("rule", rule.name())
            .text("source", rule.source())
            .text("caveat", rule.caveat());
        Ok(record)
    }

    /// What the rule is applied to.
    fn setting(&self, rule: PublishedRule) -> Result<PublishedSetting> {
        Ok(match self.mechanism {
            Mechanism::Gaussian { sensitivity } => {
                PublishedSetting::Shift { sensitivity: L2Sensitivity::new(sensitivity)? }
            }
            Mechanism::RangeFinder { k, sensitivity } => PublishedSetting::RangeFinder {
                columns: k,
                shift: L2Sensitivity::new(sensitivity)?,
            },
            Mechanism::GaussianProjection { k, features, sensitivity } => {
                let features =
                    features.ok_or_else(|| Error::Usage("--features is required".into()))?;
                let shift = L2Sensitivity::new(sensitivity)?;
                PublishedSetting::GaussianProjection { features, columns: k, shift }
            }
            Mechanism::Jl { rows, adjacency: RowAdjacency::AddRemove, bound } => {
                PublishedSetting::Jl { rows, bound: NormBound::new(bound)? }
            }
            Mechanism::Wishart { dim, dof, adjacency: RowAdjacency::AddRemove, bound } => {
                if dof.is_some() {
                    return Err(Error::Usage(
                        "--dof: the rule prescribes the degrees of freedom".into(),
                    ));
                }
                PublishedSetting::Wishart { dim, bound: NormBound::new(bound)? }
            }
            _ => {
                let name = rule.name();
                return Err(Error::Usage(format!(
                    "the rule {name} does not speak of this mechanism or adjacency"
                )));
            }
        })
    }
}

fn parameters(calibration: &PublishedCalibration) -> Record {
    let scale = calibration.scale().get();
    let record = Record::new();
    match calibration.profile() {
        Profile::JlMechanism { .. } => record.number("w2", scale * scale).number("w", scale),
        Profile::Wishart { dof, .. } => record.number("scale", scale).integer("dof", *dof),
        Profile::ChiMixtureGaussian { .. } => record.number("rho", scale).number("sigma", scale),
        _ => record.number("sigma", scale),
    }
}

fn finish(record: Record, budget: Budget) -> Record {
    record.number("epsilon", budget.epsilon.get()).number("delta", budget.delta.get())
}
