//! What every check of a release says and asks.

use crate::error::Result;
use dp_core::certificate::PublicParameters;
use dp_core::{Certificate, PublicValue};
use sketch::verify::{Finding, Trust};

/// Relative room for other versions of elementary functions.
pub(super) const ROOM: f64 = 1e-9;

/// No check of this kind of noise is known.
pub(super) const NOISE: Finding = Finding::NotChecked("whether its values carry the stated noise");

/// Numbers that lie where they must; how far they vary is not compared.
pub(super) const GRID_ONLY: Finding =
    Finding::NotChecked("how much its values vary; they lie on the grid of the stated noise");

/// What follows from the public facts of a payload.
pub trait Checks {
    /// Compares the sensitivity that a certificate counts with that of the public parameters.
    fn sensitivity(&self, certificate: &Certificate, trust: &Trust) -> Result<Finding>;

    /// Compares the numbers with the noise that they are said to carry.
    fn noise(&self, _: &Certificate, _: &Trust) -> Result<Finding> {
        Ok(NOISE)
    }
}

pub(super) fn rejected<T>(reason: impl Into<String>) -> Result<T> {
    Err(dp_core::Error::CertificateRejected { field: "sensitivity", reason: reason.into() }.into())
}

pub(super) fn at_least(what: &str, stated: f64, needed: f64, room: f64) -> Result<Finding> {
    if stated >= needed * (1.0 - room) {
        return Ok(Finding::Agrees);
    }
    rejected(format!("the profile states {what} {stated}, but the public parameters give {needed}"))
}

pub(super) fn whole(public: &PublicParameters, name: &str) -> Result<u64> {
    match public.get(name) {
        Some(PublicValue::Integer(value)) => Ok(*value),
        _ => rejected(format!("its parameter {name} is missing or of another type")),
    }
}

pub(super) fn size(public: &PublicParameters, name: &str) -> Result<usize> {
    usize::try_from(whole(public, name)?).or_else(|_| rejected(format!("{name} is too large")))
}
