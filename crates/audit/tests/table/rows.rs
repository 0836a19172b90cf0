//! The table of mechanisms.

use dp_core::Theorem;

/// Where the command line offers a mechanism.
pub(crate) enum Command {
    /// A file of `crates/cli/src/commands` that calls it.
    In(&'static str),
    /// Nowhere, for this reason.
    None(&'static str),
}
use Command::{In, None};

/// Whether a mechanism says its error before it runs.
pub(crate) enum Prediction {
    /// It implements `dp_core::mechanism::Mechanism`, whose `predict` has no default.
    Trait,
    /// It does not, for this reason.
    No(&'static str),
}
use Prediction::{No, Trait};

pub(crate) struct Row {
    /// The type, and the file that defines it.
    pub(crate) name: &'static str,
    pub(crate) file: &'static str,
    /// Its theorems; none for what is declared, published, or no differential privacy.
    pub(crate) theorems: &'static [Theorem],
    /// Its page in `docs/proofs`.
    pub(crate) page: &'static str,
    /// Audits, by name.
    pub(crate) audits: &'static [&'static str],
    pub(crate) command: Command,
    /// Its class in the Python package; several mechanisms may share one.
    pub(crate) python: &'static str,
    /// A test that its stated errors hold: file and name.
    pub(crate) coverage: (&'static str, &'static str),
    pub(crate) prediction: Prediction,
}

const PAIRS: &str = "it answers for all pairs at once, which a release of rows does for less";
const NUMBERS: &str = "its input are numbers that a program computes";
const STREAMS: &str = "a stream is a program that runs on; files are finished";

const INDIVIDUAL: &str = "the trait's guarantee is differential privacy, which it does not give: its certificate is of another type";
const BY_RANGE: &str =
    "its noise follows the entries of the range that was drawn, so no public fact gives the error";

pub(crate) const TABLE: [Row; 26] = [
    Row {
        name: "PrivateVector",
        file: "dp-core/src/mechanism/vector.rs",
        theorems: &[],
        page: "mechanism.md",
        audits: &["declared sums", "declared counts"],
        command: None(NUMBERS),
        python: "Numbers",
        coverage: ("dp-core/tests/mechanism.rs", "same_numbers_as_by_hand"),
        prediction: Trait,
    },
    Row {
        name: "PrivateProjection",
        file: "sketch/src/vectors/mechanism.rs",
        theorems: &[
            Theorem::ProjectionGaussian,
            Theorem::ProjectionLaplace,
            Theorem::ProjectionStaircase,
        ],
        page: "private-projection.md",
        audits: &[
            "DP-OPORP",
            "DP-OPORP-L",
            "OPORP, staircase, epsilon 1",
            "OPORP, staircase, epsilon 3",
            "signed groups, staircase",
            "Gaussian projection, row shift",
        ],
        command: In("release/sketch.rs"),
        python: "Vectors",
        coverage: ("sketch/tests/coverage.rs", "intervals_cover_under_gaussian_projections"),
        prediction: Trait,
    },
    Row {
        name: "AveragedProjection",
        file: "sketch/src/vectors/averaged.rs",
        theorems: &[Theorem::ProjectionFresh],
        page: "averaged-calibration.md",
        audits: &["DP-RP-G-OPT, averaged", "averaged, row shift"],
        command: In("release/sketch.rs"),
        python: "Vectors",
        coverage: ("sketch/tests/coverage.rs", "averaged_releases_state_intervals_that_cover"),
        prediction: Trait,
    },
    Row {
        name: "MultiScale",
        file: "sketch/src/vectors/multi_scale.rs",
        theorems: &[Theorem::ProjectionMultiScale],
        page: "private-projection.md",
        audits: &["multi-scale OPORP, 2 and 4 columns"],
        command: In("plan.rs"),
        python: "MultiScale",
        coverage: ("sketch/tests/coverage.rs", "multi_scale_intervals_cover"),
        prediction: Trait,
    },
    Row {
        name: "PrivateSigns",
        file: "sketch/src/signs/mechanism.rs",
        theorems: &[Theorem::SignsTouched],
        page: "sign-flips.md",
        audits: &["DP-SignRP, randomized-response", "DP-SignOPORP t = 2, optimal-smooth"],
        command: In("release/signs.rs"),
        python: "Signs",
        coverage: (
            "sketch/tests/signs_coverage.rs",
            "differing_bits_are_covered_for_every_family_and_row",
        ),
        prediction: Trait,
    },
    Row {
        name: "FreshSigns",
        file: "sketch/src/signs/fresh.rs",
        theorems: &[Theorem::SignsFresh],
        page: "sign-flips.md",
        audits: &["fresh signs, exact mixture"],
        command: In("release/signs.rs"),
        python: "Signs",
        coverage: (
            "sketch/tests/signs_coverage.rs",
            "angles_and_cosines_are_covered_over_fresh_projections",
        ),
        prediction: Trait,
    },
    Row {
        name: "IndividualSigns",
        file: "sketch/src/signs/individual.rs",
        theorems: &[],
        page: "sign-flips.md",
        audits: &["iDP-SignRP-G", "iDP-SignRP-RR"],
        command: In("release/signs.rs"),
        python: "IndividualSigns",
        coverage: (
            "sketch/tests/signs_coverage.rs",
            "differing_bits_are_covered_for_every_family_and_row",
        ),
        prediction: No(INDIVIDUAL),
    },
    Row {
        name: "PrivateUnits",
        file: "sketch/src/units/mechanism.rs",
        theorems: &[Theorem::UnitVectors],
        page: "unit-vectors.md",
        audits: &["PrivUnitG", "ProjUnit, OPORP"],
        command: In("release/units.rs"),
        python: "Units",
        coverage: ("sketch/tests/units.rs", "estimates_err_as_stated_and_intervals_cover"),
        prediction: Trait,
    },
    Row {
        name: "NoiseAddition",
        file: "sketch/src/distances/noise_addition.rs",
        theorems: &[Theorem::NoisyDistances],
        page: "noise-addition.md",
        audits: &["NoiseAddition"],
        command: None(PAIRS),
        python: "Distances",
        coverage: ("sketch/tests/distances.rs", "intervals_of_distances_cover_and_stay_in_range"),
        prediction: Trait,
    },
    Row {
        name: "RandomizedResponse",
        file: "sketch/src/distances/randomized_response.rs",
        theorems: &[Theorem::BitResponse],
        page: "noise-addition.md",
        audits: &["RandomizedResponse"],
        command: None(PAIRS),
        python: "Bits",
        coverage: ("sketch/tests/distances.rs", "intervals_of_distances_cover_and_stay_in_range"),
        prediction: Trait,
    },
    Row {
        name: "MixtureResponse",
        file: "sketch/src/sets/mixture.rs",
        theorems: &[Theorem::MinHashMixture],
        page: "minhash-mixture.md",
        audits: &["MinHash with mixture response"],
        command: In("release/minhash.rs"),
        python: "Sets",
        coverage: ("sketch/src/sets/coverage_tests.rs", "intervals_of_hashed_minima_cover"),
        prediction: Trait,
    },
    Row {
        name: "BucketPrivMin",
        file: "sketch/src/sets/buckets.rs",
        theorems: &[Theorem::BucketResponse],
        page: "bucket-response.md",
        audits: &["Bucket PrivMin"],
        command: In("release/minhash.rs"),
        python: "Sets",
        coverage: ("sketch/src/sets/coverage_tests.rs", "intervals_of_hashed_minima_cover"),
        prediction: Trait,
    },
    Row {
        name: "BinResponse",
        file: "sketch/src/sets/bin_response.rs",
        theorems: &[Theorem::OnePermutation],
        page: "one-permutation.md",
        audits: &["one-permutation bins, k-ary response", "occupancy bits"],
        command: In("release/minhash.rs"),
        python: "Sets",
        coverage: ("sketch/src/sets/coverage_tests.rs", "intervals_of_bins_cover"),
        prediction: Trait,
    },
    Row {
        name: "NoisySecureMinHash",
        file: "sketch/src/sets/noisy.rs",
        theorems: &[],
        page: "noisy-secure-minhash.md",
        audits: &["noisy secure MinHash, published"],
        command: None("a published claim, for comparison"),
        python: "Sets",
        coverage: ("sketch/src/sets/coverage_tests.rs", "intervals_of_noisy_bits_cover"),
        prediction: Trait,
    },
    Row {
        name: "RangeFinder",
        file: "linalg-dp/src/low_rank/range.rs",
        theorems: &[Theorem::RangeFinder],
        page: "range-finder.md",
        audits: &["range finder, exact"],
        command: None("a range alone answers nothing that a low-rank release does not"),
        python: "LowRank",
        coverage: ("linalg-dp/tests/low_rank.rs", "range_finder_matches_the_reference_rho"),
        prediction: Trait,
    },
    Row {
        name: "BasisProjection",
        file: "linalg-dp/src/low_rank/project.rs",
        theorems: &[Theorem::PublicBasis],
        page: "pfp.md",
        audits: &[
            "projection on a basis, isotropic",
            "projection on a basis, least trace",
            "projection on a basis, equal rows",
        ],
        command: None("its public basis comes from a program"),
        python: "Basis",
        coverage: (
            "linalg-dp/tests/coverage.rs",
            "a_low_rank_release_has_the_noise_that_it_states",
        ),
        prediction: Trait,
    },
    Row {
        name: "Pfp",
        file: "linalg-dp/src/low_rank/pfp.rs",
        theorems: &[Theorem::FindAndProject],
        page: "pfp.md",
        audits: &["find and project, exact", "find and project, exact, a strong row"],
        command: In("release/low_rank.rs"),
        python: "LowRank",
        coverage: (
            "linalg-dp/tests/coverage.rs",
            "a_low_rank_release_has_the_noise_that_it_states",
        ),
        prediction: Trait,
    },
    Row {
        name: "PublishedPfp",
        file: "linalg-dp/src/low_rank/published.rs",
        theorems: &[],
        page: "pfp.md",
        audits: &["find and project, published"],
        command: None("a published claim, for comparison"),
        python: "LowRank",
        coverage: ("linalg-dp/tests/low_rank.rs", "prototype_numbers_are_reproduced_and_beaten"),
        prediction: No(BY_RANGE),
    },
    Row {
        name: "InputPerturbation",
        file: "linalg-dp/src/low_rank/baseline.rs",
        theorems: &[Theorem::GaussianOnRows],
        page: "gaussian.md",
        audits: &["input perturbation"],
        command: None("the identity projection of `dps release sketch` is the same release"),
        python: "LowRank",
        coverage: ("linalg-dp/tests/low_rank.rs", "baselines_and_coherence"),
        prediction: Trait,
    },
    Row {
        name: "GaussianCovariance",
        file: "linalg-dp/src/covariance/gaussian.rs",
        theorems: &[Theorem::CovarianceGaussian],
        page: "covariance.md",
        audits: &[
            "symmetric Gaussian",
            "symmetric Gaussian, replaced row",
            "moments",
            "moments, replaced row",
        ],
        command: In("release/covariance.rs"),
        python: "Covariance",
        coverage: ("linalg-dp/tests/coverage.rs", "spectral_errors_of_gaussian_covariances_hold"),
        prediction: Trait,
    },
    Row {
        name: "WishartCovariance",
        file: "linalg-dp/src/covariance/wishart.rs",
        theorems: &[Theorem::CovarianceWishart],
        page: "covariance.md",
        audits: &["Wishart", "Wishart, replaced row"],
        command: None(
            "symmetric Gaussian noise is smaller at every shape, and eigenvalues can be cut at zero",
        ),
        python: "Covariance",
        coverage: ("linalg-dp/tests/covariance.rs", "errors_are_as_advertised"),
        prediction: Trait,
    },
    Row {
        name: "JlCovariance",
        file: "linalg-dp/src/covariance/jl.rs",
        theorems: &[Theorem::CovarianceJl],
        page: "covariance.md",
        audits: &["Johnson-Lindenstrauss", "Johnson-Lindenstrauss, replaced row"],
        command: In("release/covariance.rs"),
        python: "Covariance",
        coverage: ("linalg-dp/tests/coverage.rs", "errors_of_sketches_hold_at_any_number_of_rows"),
        prediction: Trait,
    },
    Row {
        name: "NoisyPower",
        file: "linalg-dp/src/covariance/noisy_power.rs",
        theorems: &[Theorem::NoisyPowerMethod],
        page: "noisy-power-method.md",
        audits: &["noisy power method, d = 100", "noisy power method, d = 2, two passes"],
        command: None("principal components come from a covariance release, which answers more"),
        python: "Directions",
        coverage: (
            "linalg-dp/tests/coverage.rs",
            "strengths_of_the_power_method_are_as_near_as_stated",
        ),
        prediction: Trait,
    },
    Row {
        name: "QuantileCovariance",
        file: "linalg-dp/src/covariance/quantile.rs",
        theorems: &[Theorem::CovarianceOfChosenBound],
        page: "covariance.md",
        audits: &["chosen bound", "chosen bound, replaced row"],
        command: In("release/covariance.rs"),
        python: "Covariance",
        coverage: ("linalg-dp/tests/quantile.rs", "the_matrix_carries_the_noise_that_is_stated"),
        prediction: Trait,
    },
    Row {
        name: "PrivateNewton",
        file: "linalg-dp/src/newton/mechanism.rs",
        theorems: &[Theorem::PrivateNewton],
        page: "private-newton.md",
        audits: &["private Newton", "private Newton, replaced row"],
        command: In("release/regression.rs"),
        python: "Newton",
        coverage: ("linalg-dp/tests/newton.rs", "gradients_carry_the_noise_that_is_stated"),
        prediction: Trait,
    },
    Row {
        name: "WindowMechanism",
        file: "linalg-dp/src/window/mechanism.rs",
        theorems: &[Theorem::SlidingWindow],
        page: "sliding-window.md",
        audits: &[
            "blocks, symmetric Gaussian",
            "tree, symmetric Gaussian",
            "factorised",
            "decayed",
        ],
        command: None(STREAMS),
        python: "Window",
        coverage: (
            "linalg-dp/tests/window.rs",
            "every_schedule_is_unbiased_and_its_stated_noise_is_true",
        ),
        prediction: Trait,
    },
];
