//! Public parameters of mechanisms, as they come from Python.

use linalg_dp::window::Schedule;
use serde::Deserialize;
use sketch::projection::Family;
use sketch::sets::ItemGroups;
use sketch::vectors::NoiseKind;

/// Public parameters, by the mechanism's name.
#[derive(Deserialize)]
#[serde(tag = "mechanism", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Config {
    Projection {
        d: usize,
        k: usize,
        family: Family,
        bound: f64,
        noise: Noise,
        seed: Option<u64>,
    },
    AveragedProjection {
        d: usize,
        k: usize,
        bound: f64,
    },
    MultiScale {
        d: usize,
        scales: Vec<Scale>,
        bound: f64,
    },
    Signs {
        d: usize,
        bits: usize,
        family: Family,
        bound: f64,
        repetitions: usize,
        flips: Flips,
        seed: Option<u64>,
    },
    FreshSigns {
        d: usize,
        bits: usize,
        bound: f64,
        least_norm: Option<f64>,
        lift: Option<f64>,
    },
    IndividualSigns {
        d: usize,
        bits: usize,
        family: Family,
        bound: f64,
        repetitions: usize,
        gaussian: bool,
        seed: Option<u64>,
    },
    PrivateGroups {
        d: usize,
        bound: f64,
        row_norm: Option<f64>,
        moments_share: f64,
    },
    Units {
        d: usize,
        k: usize,
        family: Family,
        lengths: Option<f64>,
        seed: Option<u64>,
    },
    Bounded {
        d: usize,
        low: f64,
        high: f64,
        one_bit: bool,
        categories: Option<u64>,
    },
    Bins {
        bins: usize,
        symbols: u32,
        seed: Option<u64>,
        #[serde(default)]
        fresh: bool,
    },
    Mixture {
        positions: usize,
        concatenation: usize,
        symbols: u32,
    },
    Buckets {
        positions: usize,
        concatenation: usize,
        symbols: u32,
        seed: Option<u64>,
    },
    NoisyMinHash {
        positions: usize,
        concatenation: usize,
        accept_true_delta: bool,
    },
    Counts {
        groups: ItemGroups,
    },
    GaussianCovariance {
        d: usize,
        means: bool,
        within: Option<f64>,
    },
    WishartCovariance {
        d: usize,
        dof: Option<u64>,
    },
    JlCovariance {
        d: usize,
        sketch_rows: usize,
    },
    Newton {
        d: usize,
        label_bound: f64,
        intercept: bool,
    },
    Directions {
        d: usize,
        k: usize,
        iterations: usize,
        seed: Option<u64>,
    },
    LowRank {
        n: usize,
        d: usize,
        rank: usize,
        /// What is recommended where none is named.
        oversampling: Option<usize>,
        row_bound: f64,
        method: Finding,
    },
    Basis {
        n: usize,
        d: usize,
        k: usize,
        basis: Vec<f64>,
        reason: String,
        row_bound: f64,
        isotropic: bool,
    },
    Window {
        d: usize,
        window: u64,
        block: Option<u64>,
        clock: bool,
        schedule: Option<Schedule>,
    },
    Numbers {
        length: usize,
        sensitivity: f64,
        largest: f64,
        touched: usize,
        noise: NumberNoise,
        by: String,
        reason: String,
    },
    Distances {
        n: usize,
        d: usize,
        low: f64,
        high: f64,
    },
    Bits {
        d: usize,
    },
}

/// One projection of a mechanism of several.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scale {
    pub(crate) k: usize,
    pub(crate) family: Family,
    pub(crate) share: f64,
    pub(crate) seed: Option<u64>,
}

/// Noise on numbers that a program computed.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NumberNoise {
    Gaussian,
    Laplace,
    DiscreteGaussian,
    DiscreteLaplace,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Noise {
    Gaussian,
    Laplace,
    Staircase,
}

impl Noise {
    pub(crate) fn kind(&self) -> NoiseKind {
        match self {
            Self::Gaussian => NoiseKind::Gaussian,
            Self::Laplace => NoiseKind::Laplace,
            Self::Staircase => NoiseKind::Staircase,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Flips {
    Optimal,
    Smooth,
    Response,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Finding {
    FindAndProject,
    RangeFinder,
    InputPerturbation,
    Published,
}
