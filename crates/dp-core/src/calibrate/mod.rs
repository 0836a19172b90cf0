//! The least noise for a budget.
//!
//! Every function returns a parameter whose profile meets the budget when evaluated
//! again, and which misses it when moved by one part in 1e9 towards less noise
//! (probabilities: or by one unit in their last place, where that is coarser).

pub mod published;

use crate::budget::{Budget, Epsilon};
use crate::error::{Error, Result};
use crate::numeric::root;
use crate::profile::response::Letter;
use crate::profile::{CoordinateProfile, GaussianStep, PrivacyProfile, Profile, RowChange};
use crate::quantity::{Bound, L1Sensitivity, L2Sensitivity, LaplaceScale, NoiseScale, Probability};

pub use published::{Acceptance, PublishedCalibration, PublishedRule, PublishedSetting};

/// The least scale at which `family(scale)` meets the budget; delta must fall as
/// the scale grows. Safe side: the returned scale meets it.
///
/// # Errors
/// [`Error::Calibration`] when no scale in `[1e-250, 1e250]` does.
pub fn least_scale(
    name: &'static str,
    budget: Budget,
    family: impl Fn(NoiseScale) -> Profile,
) -> Result<NoiseScale> {
    least_scale_from(name, budget, 1.0, family)
}

fn least_scale_from(
    name: &'static str,
    budget: Budget,
    guess: f64,
    family: impl Fn(NoiseScale) -> Profile,
) -> Result<NoiseScale> {
    let ln_delta =
        |s: f64| NoiseScale::new(s).map_or(0.0, |s| family(s).log_delta(budget.epsilon).get());
    NoiseScale::new(root::least(name, budget, guess, ln_delta)?)
}

/// Unbounded losses cannot meet a delta of zero.
fn refuse_pure(name: &'static str, budget: Budget) -> Result<()> {
    if budget.delta.get() > 0.0 {
        return Ok(());
    }
    let reason = "its privacy loss is unbounded: delta must be above zero".into();
    Err(Error::Calibration { family: name, budget, reason })
}

/// About the largest mu of a Gaussian that meets the budget: a starting point.
fn rough_mu(budget: Budget) -> f64 {
    let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
    // The tail Phi(-z) = delta, z from its logarithm; then mu^2/2 + z mu = epsilon.
    let y = -2.0 * delta.ln();
    let z = if y > 3.0 { (y - (y + 1.0).ln() - 1.0).max(0.1).sqrt() } else { 0.1 };
    let mu = 2.0 * epsilon / (z + (z * z + 2.0 * epsilon).sqrt());
    mu.max(2.0 * delta)
}

/// The least sigma of the Gaussian mechanism (exact, Balle & Wang 2018).
///
/// # Errors
/// [`Error::Calibration`] when delta is zero.
pub fn gaussian(budget: Budget, sensitivity: L2Sensitivity) -> Result<NoiseScale> {
    refuse_pure("gaussian", budget)?;
    let guess = sensitivity.get() / rough_mu(budget);
    least_scale_from("gaussian", budget, guess, |sigma| Profile::Gaussian { sensitivity, sigma })
}

/// The least sigma of `times` Gaussian steps of the same sensitivity (exact).
///
/// # Errors
/// [`Error::Calibration`] when delta is zero, [`Error::InvalidParameter`] when `times` is.
pub fn gaussian_steps(
    budget: Budget,
    sensitivity: L2Sensitivity,
    times: u64,
) -> Result<NoiseScale> {
    refuse_pure("gaussian steps", budget)?;
    positive("times", times)?;
    let guess = sensitivity.get() * (times as f64).sqrt() / rough_mu(budget);
    least_scale_from("gaussian steps", budget, guess, |sigma| Profile::GaussianComposition {
        steps: vec![GaussianStep { sensitivity, sigma, times }],
    })
}

/// The least scale of the Laplace mechanism: `D/epsilon` for delta zero, else
/// `D / (epsilon - 2 ln(1 - delta))`.
///
/// # Errors
/// [`Error::InvalidParameter`] when the scale leaves the range of `f64`.
pub fn laplace(budget: Budget, sensitivity: L1Sensitivity) -> Result<LaplaceScale> {
    let mu = budget.epsilon.get() - 2.0 * (-budget.delta.get()).ln_1p();
    let holds = |scale: LaplaceScale| {
        Profile::Laplace { sensitivity, scale }.log_delta(budget.epsilon) <= budget.delta.ln()
    };
    // A few parts in 1e14, then checked.
    let mut scale = sensitivity.get() / mu;
    for _ in 0..60 {
        let candidate = LaplaceScale::new(scale)?;
        if holds(candidate) {
            return Ok(candidate);
        }
        scale *= 1.0 + 2e-12;
    }
    solver_failed("laplace", budget)
}

fn solver_failed<T>(family: &'static str, budget: Budget) -> Result<T> {
    Err(Error::Calibration { family, budget, reason: "the solver did not converge".into() })
}

/// The largest probability of keeping each of `bits` bits that may all differ.
///
/// # Errors
/// [`Error::InvalidParameter`] when `bits` is zero.
pub fn randomized_response(budget: Budget, bits: u64) -> Result<Probability> {
    positive("bits", bits)?;
    largest_keep("randomized response", budget, 2, |keep| Profile::RandomizedResponse {
        bits,
        keep,
    })
}

/// The largest probability of keeping each of `responses` letters that may all differ.
///
/// # Errors
/// [`Error::InvalidParameter`] when `responses` is zero or the alphabet has fewer than two letters.
pub fn kary_response(budget: Budget, responses: u64, alphabet: u64) -> Result<Probability> {
    positive("responses", responses)?;
    largest_keep("k-ary response", budget, alphabet, |keep| Profile::KaryResponse {
        responses,
        alphabet,
        keep,
    })
}

/// The largest probability of keeping a bit when the number of differing bits is
/// `Bin(trials, probability)` over fresh public hash functions.
///
/// # Errors
/// [`Error::InvalidParameter`] when `trials` or `probability` is zero.
pub fn binomial_mixture_rr(
    budget: Budget,
    trials: u64,
    probability: Probability,
) -> Result<Probability> {
    check_mixture(trials, probability)?;
    largest_keep("binomial mixture of bits", budget, 2, |keep| Profile::BinomialMixture {
        trials,
        probability,
        coordinate: CoordinateProfile::RandomizedResponse { keep },
    })
}

/// As [`binomial_mixture_rr`] for letters of an alphabet.
///
/// # Errors
/// [`Error::InvalidParameter`] when `trials` or `probability` is zero or the alphabet
/// has fewer than two letters.
pub fn binomial_mixture_kary(
    budget: Budget,
    trials: u64,
    probability: Probability,
    alphabet: u64,
) -> Result<Probability> {
    check_mixture(trials, probability)?;
    largest_keep("binomial mixture of letters", budget, alphabet, |keep| Profile::BinomialMixture {
        trials,
        probability,
        coordinate: CoordinateProfile::KaryResponse { alphabet, keep },
    })
}

/// The least sigma when the number of coordinates that move by `shift` is
/// `Bin(trials, probability)` over fresh public hash functions.
///
/// # Errors
/// [`Error::InvalidParameter`] when `trials` or `probability` is zero;
/// [`Error::Calibration`] when delta is zero.
pub fn binomial_mixture_gaussian(
    budget: Budget,
    trials: u64,
    probability: Probability,
    shift: L2Sensitivity,
) -> Result<NoiseScale> {
    check_mixture(trials, probability)?;
    refuse_pure("binomial mixture of Gaussians", budget)?;
    let count = (trials as f64 * probability.get()).max(1.0);
    let guess = shift.get() * count.sqrt() / rough_mu(budget);
    least_scale_from("binomial mixture of Gaussians", budget, guess, |sigma| {
        Profile::BinomialMixture {
            trials,
            probability,
            coordinate: CoordinateProfile::Gaussian { shift, sigma },
        }
    })
}

/// The least sigma after a fresh public Gaussian projection with `k` columns, averaged
/// over it, given a later Gaussian step of parameter `later_mu` (zero for none).
///
/// # Errors
/// [`Error::InvalidParameter`] when `k` is zero or `later_mu` negative or not finite;
/// [`Error::Calibration`] when delta is zero or the later step alone exceeds the budget.
pub fn chi_mixture_gaussian(
    budget: Budget,
    k: u64,
    entry_shift: L2Sensitivity,
    later_mu: f64,
) -> Result<NoiseScale> {
    refuse_pure("chi-mixture Gaussian", budget)?;
    positive("k", k)?;
    if !(later_mu.is_finite() && later_mu >= 0.0) {
        return Err(Error::invalid("later mu", later_mu, "[0, inf)"));
    }
    let room =
        (rough_mu(budget).powi(2) - later_mu * later_mu).max(1e-3 * rough_mu(budget).powi(2));
    let guess = entry_shift.get() * (k as f64).sqrt() / room.sqrt();
    least_scale_from("chi-mixture Gaussian", budget, guess, |sigma| Profile::ChiMixtureGaussian {
        k,
        entry_shift,
        sigma,
        later_mu,
    })
}

/// The least lift w of the Johnson-Lindenstrauss mechanism.
///
/// # Errors
/// [`Error::InvalidParameter`] when `rows` is zero; [`Error::Calibration`] when delta is.
pub fn jl_lift(budget: Budget, rows: u64, bound: Bound, change: RowChange) -> Result<NoiseScale> {
    refuse_pure("jl mechanism", budget)?;
    positive("rows", rows)?;
    let guess = bound.get() * ((rows as f64).sqrt() / rough_mu(budget)).sqrt();
    least_scale_from("jl mechanism", budget, guess, |lift| Profile::JlMechanism {
        rows,
        bound,
        lift,
        change,
    })
}

/// The least scale s of the Wishart mechanism `W_dim(dof, s I)`.
///
/// # Errors
/// [`Error::InvalidParameter`] unless `dof > dim + 1`; [`Error::Calibration`] when delta is zero.
pub fn wishart_scale(
    budget: Budget,
    dim: u64,
    dof: u64,
    bound: Bound,
    change: RowChange,
) -> Result<NoiseScale> {
    refuse_pure("wishart", budget)?;
    positive("dim", dim)?;
    if dof <= dim.saturating_add(1) {
        return Err(Error::invalid("dof", dof, format!("({}, inf)", dim.saturating_add(1))));
    }
    let guess = bound.get() * bound.get() / budget.epsilon.get().sqrt();
    least_scale_from("wishart", budget, guess, |scale| Profile::Wishart {
        dim,
        dof,
        bound,
        scale,
        change,
    })
}

/// The least scale s of `times` runs of the Wishart mechanism on the same data, composed
/// numerically ([`Profile::Repeated`]).
///
/// # Errors
/// As [`wishart_scale`]; [`Error::InvalidParameter`] when `times` is zero.
pub fn wishart_scale_repeated(
    budget: Budget,
    dim: u64,
    dof: u64,
    bound: Bound,
    change: RowChange,
    times: u64,
) -> Result<NoiseScale> {
    positive("times", times)?;
    // As many runs cost about as much as one at epsilon over the root.
    let each = budget.epsilon.get() / (times as f64).sqrt();
    let single = Budget { epsilon: Epsilon::new(each)?, delta: budget.delta };
    let guess = wishart_scale(single, dim, dof, bound, change)?;
    least_scale_from("repeated wishart", budget, guess.get(), |scale| {
        let once = Profile::Wishart { dim, dof, bound, scale, change };
        Profile::Repeated { profile: Box::new(once), times }
    })
}

/// The least degrees of freedom of the Wishart mechanism at a given scale; above `dim + 1`.
///
/// # Errors
/// [`Error::Calibration`] when delta is zero or 2^40 degrees above `dim` do not suffice.
pub fn wishart_dof(
    budget: Budget,
    dim: u64,
    scale: NoiseScale,
    bound: Bound,
    change: RowChange,
) -> Result<u64> {
    refuse_pure("wishart", budget)?;
    positive("dim", dim)?;
    let least = dim.saturating_add(2);
    root::least_integer(least, least.saturating_add(1 << 40), |dof| {
        Profile::Wishart { dim, dof, bound, scale, change }.log_delta(budget.epsilon)
            <= budget.delta.ln()
    })
    .ok_or_else(|| Error::Calibration {
        family: "wishart",
        budget,
        reason: "no degrees of freedom up to 2^40 above the dimension meet it at this scale".into(),
    })
}

/// The least standard deviation on the diagonal of symmetric Gaussian noise on `A^T A`.
///
/// # Errors
/// [`Error::Calibration`] when delta is zero.
pub fn symmetric_gaussian(budget: Budget, bound: Bound, change: RowChange) -> Result<NoiseScale> {
    refuse_pure("symmetric gaussian", budget)?;
    let guess = crate::profile::covariance_sensitivity(bound, change) / rough_mu(budget);
    least_scale_from("symmetric gaussian", budget, guess, |sigma| Profile::SymmetricGaussian {
        bound,
        sigma,
        change,
    })
}

fn positive(name: &'static str, value: u64) -> Result<()> {
    if value > 0 { Ok(()) } else { Err(Error::invalid(name, value, "[1, inf)")) }
}

fn check_mixture(trials: u64, probability: Probability) -> Result<()> {
    positive("trials", trials)?;
    if probability.get() > 0.0 {
        Ok(())
    } else {
        Err(Error::invalid("probability", probability, "(0, 1]"))
    }
}

/// The largest `f64` above `1/alphabet` at which the family meets the budget.
fn largest_keep(
    name: &'static str,
    budget: Budget,
    alphabet: u64,
    family: impl Fn(Probability) -> Profile,
) -> Result<Probability> {
    if alphabet < 2 {
        return Err(Error::invalid("alphabet", alphabet, "[2, inf)"));
    }
    let delta = budget.delta.ln();
    let ln_delta =
        |p: f64| Probability::new(p).map_or(0.0, |p| family(p).log_delta(budget.epsilon).get());
    // The noise is one over the loss of a letter.
    let others = (alphabet - 1) as f64;
    let keep = |noise: f64| 1.0 / (1.0 + others * (-1.0 / noise).exp());
    let guess = 1.0 / budget.epsilon.get().clamp(1e-6, 30.0);
    let noise = root::least(name, budget, guess, |noise| ln_delta(keep(noise)))?;
    let mut p = keep(noise);
    for _ in 0..64 {
        if ln_delta(p) <= delta.get() {
            return Probability::new(p);
        }
        p = p.next_down();
    }
    solver_failed(name, budget)
}

/// The epsilon of one letter of [`Profile::KaryResponse`] kept with this probability,
/// rounded up: `ln(keep (alphabet - 1) / (1 - keep))`.
///
/// # Errors
/// [`Error::InvalidParameter`] unless `keep` is in `(1/alphabet, 1)`.
pub fn response_epsilon(alphabet: u64, keep: Probability) -> Result<Epsilon> {
    let kept = |l: &Letter| l.high == keep.get() && l.loss.is_finite() && l.loss > 0.0;
    match Letter::keeping(alphabet, keep).filter(kept) {
        Some(letter) => Epsilon::new(letter.loss * (1.0 + 8.0 * f64::EPSILON)),
        None => Err(Error::invalid("keep probability", keep, "(1/alphabet, 1)")),
    }
}
