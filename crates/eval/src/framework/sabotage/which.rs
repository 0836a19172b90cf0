//! The ways to break the experiments.

use serde::Serialize;

/// One way to break the experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sabotage {
    /// Mechanisms spend epsilon 500, whatever was asked for.
    NoNoise,
    /// Mechanisms spend the budget whose Gaussian noise is half as large.
    HalfNoise,
    /// Mechanisms spend the budget whose Gaussian noise is twice as large.
    DoubleNoise,
    /// Every question gets the same answer.
    ConstantAnswers,
    /// Answers are drawn at random.
    RandomAnswers,
    /// Mechanisms see zeros, or somebody else's set, instead of the data.
    DataIgnored,
    /// Another family of projections than the one named.
    OtherFamily,
    /// Published rules spend half of their epsilon: about twice their noise.
    PublishedDoubled,
    /// Histograms keep almost no checkpoint.
    CheckpointsDropped,
    /// Solvers (PCA, regression, low rank) return a constant.
    SolverConstant,
    /// Noise is a multiple of 2^-10: lower bits are those of the data.
    CoarseNoise,
    /// Optimal flips are the published smooth ones.
    OptimalAsPublished,
    /// Plans predict half of what they should.
    PredictionsHalved,
    /// Plans choose what they think worst.
    ChoiceReversed,
}

impl Sabotage {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 14] = [
        Self::NoNoise,
        Self::HalfNoise,
        Self::DoubleNoise,
        Self::ConstantAnswers,
        Self::RandomAnswers,
        Self::DataIgnored,
        Self::OtherFamily,
        Self::PublishedDoubled,
        Self::CheckpointsDropped,
        Self::SolverConstant,
        Self::CoarseNoise,
        Self::OptimalAsPublished,
        Self::PredictionsHalved,
        Self::ChoiceReversed,
    ];

    /// Name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoNoise => "no noise",
            Self::HalfNoise => "half noise",
            Self::DoubleNoise => "double noise",
            Self::ConstantAnswers => "constant answers",
            Self::RandomAnswers => "random answers",
            Self::DataIgnored => "data ignored",
            Self::OtherFamily => "other family",
            Self::PublishedDoubled => "published doubled",
            Self::CheckpointsDropped => "checkpoints dropped",
            Self::SolverConstant => "solver constant",
            Self::CoarseNoise => "coarse noise",
            Self::OptimalAsPublished => "optimal as published",
            Self::PredictionsHalved => "predictions halved",
            Self::ChoiceReversed => "choice reversed",
        }
    }
}
