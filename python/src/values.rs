//! Adjacencies, profiles and guarantees as their JSON text; least noise; composition.

use crate::error::{Fault, Result};
use crate::run::work;
use dp_core::accounting::{Foreign, Ledger, Method};
use dp_core::certificate::Certificate;
use dp_core::profile::RowChange;
use dp_core::{
    Adjacency, Budget, Delta, Epsilon, Guarantee, L1Sensitivity, L2Sensitivity, NormBound,
    PrivacyProfile, Profile, calibrate,
};
use pyo3::prelude::*;
use serde_json::Value;

/// A value from its JSON text.
pub(crate) fn parsed<T: serde::de::DeserializeOwned>(what: &'static str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| {
        // The rest says where in the text, which the caller never saw.
        let words = e.to_string();
        let reason = words.split(" at line ").next().unwrap_or_default();
        if let Some((part, allowed)) = reason.split_once(" is not allowed: must be in ") {
            return Fault::invalid(what, part, allowed);
        }
        // Python writes numbers that are not finite as words, which JSON does not have.
        let before = text.get(..e.column().saturating_sub(1)).filter(|_| e.is_syntax());
        if let Some(name) = before.and_then(|before| before.rsplit('"').nth(1)) {
            return Fault::invalid(what, format!("{name} = NaN or infinity"), "finite numbers");
        }
        Fault::invalid(what, reason, "a value whose parts are in their ranges")
    })
}

pub(crate) fn adjacency(text: &str) -> Result<Adjacency> {
    parsed("adjacency", text)
}

fn to_text(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Fault::invalid("value", e, "what JSON can say"))
}

/// How an adjacency reads, for people; refuses one that is not allowed.
#[pyfunction]
pub(crate) fn describe_adjacency(text: &str) -> Result<String> {
    Ok(adjacency(text)?.to_string())
}

fn profile(text: &str) -> Result<Profile> {
    let profile: Profile = parsed("profile", text)?;
    profile.check_limits()?;
    Ok(profile)
}

/// `(delta, ln delta)` of a profile at an epsilon.
#[pyfunction]
pub(crate) fn profile_delta(py: Python<'_>, text: &str, epsilon: f64) -> Result<(f64, f64)> {
    let (profile, epsilon) = (profile(text)?, Epsilon::new(epsilon)?);
    let found = work(py, || profile.log_delta(epsilon));
    Ok((found.delta(), found.get()))
}

/// The least epsilon of a profile at a delta.
#[pyfunction]
pub(crate) fn profile_epsilon(py: Python<'_>, text: &str, delta: f64) -> Result<f64> {
    let (profile, delta) = (profile(text)?, Delta::new(delta)?);
    Ok(work(py, || profile.epsilon(delta))?.get())
}

fn change(replace: bool) -> RowChange {
    if replace { RowChange::Replace } else { RowChange::AddRemove }
}

/// The least noise of a family: its profile as JSON, calibrated to the budget.
#[pyfunction]
#[pyo3(signature = (family, epsilon, delta, *, size=1.0, count=1, other=0, replace=false))]
#[allow(clippy::too_many_arguments)] // one signature for every family: the Python side names them
pub(crate) fn least_noise(
    py: Python<'_>,
    family: &str,
    epsilon: f64,
    delta: f64,
    size: f64,
    count: u64,
    other: u64,
    replace: bool,
) -> Result<String> {
    let budget = Budget::new(epsilon, delta)?;
    let calibrated = || -> Result<Profile> {
        Ok(match family {
            "gaussian" => {
                let sensitivity = L2Sensitivity::new(size)?;
                let sigma = calibrate::gaussian(budget, sensitivity)?;
                Profile::Gaussian { sensitivity, sigma }
            }
            "laplace" => {
                let sensitivity = L1Sensitivity::new(size)?;
                let scale = calibrate::laplace(budget, sensitivity)?;
                Profile::Laplace { sensitivity, scale }
            }
            "discrete-gaussian" => {
                let sigma = calibrate::discrete_gaussian(budget, count)?;
                Profile::DiscreteGaussian { moves: count, sigma }
            }
            "discrete-laplace" => {
                let scale = calibrate::discrete_laplace(budget, count)?;
                Profile::DiscreteLaplace { moves: count, scale }
            }
            "randomized-response" => {
                let keep = calibrate::randomized_response(budget, count)?;
                Profile::RandomizedResponse { bits: count, keep }
            }
            "kary-response" => {
                let keep = calibrate::kary_response(budget, count, other)?;
                Profile::KaryResponse { responses: count, alphabet: other, keep }
            }
            "gaussian-projection" => {
                let entry_shift = L2Sensitivity::new(size / (count as f64).sqrt())?;
                let sigma = calibrate::chi_mixture_gaussian(budget, count, entry_shift, 0.0)?;
                Profile::ChiMixtureGaussian { k: count, entry_shift, sigma, later_mu: 0.0 }
            }
            "range-finder" => {
                let entry_shift = L2Sensitivity::new(size)?;
                let sigma = calibrate::chi_mixture_gaussian(budget, count, entry_shift, 0.0)?;
                Profile::ChiMixtureGaussian { k: count, entry_shift, sigma, later_mu: 0.0 }
            }
            "jl-mechanism" => {
                let (bound, change) = (NormBound::new(size)?, change(replace));
                let lift = calibrate::jl_lift(budget, count, bound, change)?;
                Profile::JlMechanism { rows: count, bound, lift, change }
            }
            "wishart" => {
                let (bound, change) = (NormBound::new(size)?, change(replace));
                let scale = calibrate::wishart_scale(budget, count, other, bound, change)?;
                Profile::Wishart { dim: count, dof: other, bound, scale, change }
            }
            "symmetric-gaussian" => {
                let (bound, change) = (NormBound::new(size)?, change(replace));
                let sigma = calibrate::symmetric_gaussian(budget, bound, change)?;
                Profile::SymmetricGaussian { bound, sigma, change }
            }
            other => return Err(Fault::invalid("family", other, "the families of dps.calibrate")),
        })
    };
    to_text(&work(py, calibrated)?)
}

/// A guarantee at somebody's word, as JSON.
#[pyfunction]
pub(crate) fn declare(
    py: Python<'_>,
    by_adjacency: &str,
    epsilon: f64,
    delta: f64,
    of_profile: &str,
    by: &str,
    reason: &str,
) -> Result<String> {
    let (adjacency, profile) = (adjacency(by_adjacency)?, profile(of_profile)?);
    let budget = Budget::new(epsilon, delta)?;
    let made = work(py, || Guarantee::declared(adjacency, budget, profile, by, reason))?;
    to_text(&made)
}

pub(crate) fn guarantee(text: &str) -> Result<Guarantee> {
    parsed("guarantee", text)
}

pub(crate) fn guarantee_text(guarantee: &Guarantee) -> Result<String> {
    to_text(guarantee)
}

fn method(name: &str) -> Result<Method> {
    parsed("method", &Value::from(name).to_string())
}

/// Least and most of the epsilon of all runs together at a delta, by a method.
#[pyfunction]
pub(crate) fn compose(
    py: Python<'_>,
    runs: Vec<(String, u64)>,
    delta: f64,
    by_method: &str,
) -> Result<(Option<f64>, f64)> {
    let (delta, method) = (Delta::new(delta)?, method(by_method)?);
    work(py, || {
        let ledger = ledger_of(&runs)?;
        let found = ledger.epsilon(delta, method)?;
        Ok((found.lower.map(Epsilon::get), found.upper.get()))
    })
}

fn ledger_of(runs: &[(String, u64)]) -> Result<Ledger> {
    let Some((first, _)) = runs.first() else {
        return Err(Fault::invalid("runs", 0, "[1, inf)"));
    };
    let mut ledger = Ledger::new(guarantee(first)?.adjacency());
    for (text, count) in runs {
        ledger.spend_accepting_claim(&guarantee(text)?, *count, "a run")?;
    }
    Ok(ledger)
}

/// A guarantee in the form that other accountants read; of a release where its certificate is given.
#[pyfunction]
#[pyo3(signature = (text, certificate=None))]
pub(crate) fn to_exchange(py: Python<'_>, text: &str, certificate: Option<&str>) -> Result<String> {
    let foreign = match certificate {
        None => {
            let guarantee = guarantee(text)?;
            work(py, || Foreign::of(&guarantee))?
        }
        Some(certificate) => {
            let guarantee = Guarantee::try_from(&Certificate::from_json(certificate)?)?;
            work(py, || Foreign::of(&guarantee))?
        }
    };
    Ok(foreign.to_json())
}

/// The guarantee of a release, as JSON, for what counts guarantees and knows no release: refused of what other programs know not.
#[pyfunction]
pub(crate) fn counted(certificate: &str) -> Result<String> {
    let certificate = Certificate::from_json(certificate)?;
    to_text(&Guarantee::try_from(&certificate)?)
}

/// A guarantee, as JSON, from the form of other accountants.
#[pyfunction]
#[pyo3(signature = (text, delta=None))]
pub(crate) fn from_exchange(py: Python<'_>, text: &str, delta: Option<f64>) -> Result<String> {
    let foreign = Foreign::from_json(text)?;
    let delta = delta.map(Delta::new).transpose()?;
    to_text(&work(py, || foreign.guarantee(delta))?)
}

/// Limits of a rate, each wrong with probability at most `alarm` (Clopper and Pearson).
#[pyfunction]
pub(crate) fn rate_limits(hits: u64, runs: u64, alarm: f64) -> Result<(f64, f64)> {
    use dp_core::numeric::{ln_binomial_cdf, ln_binomial_sf};
    if runs == 0 || hits > runs {
        return Err(Fault::invalid("hits", hits, "[0, runs] of at least one run"));
    }
    if !(alarm > 0.0 && alarm < 1.0) {
        return Err(Fault::invalid("alarm", alarm, "(0, 1)"));
    }
    let bracket = |past: &dyn Fn(f64) -> bool| {
        (0..120).fold((0.0, 1.0), |(low, high), _| {
            let mid = 0.5 * (low + high);
            if past(mid) { (low, mid) } else { (mid, high) }
        })
    };
    let low = match hits {
        0 => 0.0,
        _ => bracket(&|p| ln_binomial_sf(runs, p, hits - 1) > alarm.ln()).0,
    };
    let high = if hits == runs {
        1.0
    } else {
        bracket(&|p| ln_binomial_cdf(runs, p, hits) < alarm.ln()).1
    };
    Ok((low, high))
}
