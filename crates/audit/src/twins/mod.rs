//! The zoo of broken twins: each is a healthy mechanism with exactly one defect, audited with the
//! pair and the testers of its original. One that is not caught means that the audit is blind.
//!
//! Every mechanism has one of its own, which adds 0.7 of its noise ([`weakened`]); the others have
//! the defects that have been made, or nearly.

pub(crate) mod certificate;
mod compose;
mod groups;
mod hashing;
mod letters;
mod noise;
mod parts;
mod release;
mod stream;
mod wishart;

use super::subject::{Role, Subject};
use eval::Result;

/// Every twin that is sampled; [`certificate::edit_all`] is the one that is not.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn all() -> Result<Vec<Subject>> {
    let families = [
        noise::twins()?,
        release::twins()?,
        letters::twins()?,
        hashing::twins()?,
        stream::twins()?,
        parts::twins()?,
        compose::twins()?,
        groups::twins()?,
        wishart::twins()?,
    ];
    Ok(families.into_iter().flatten().collect())
}

/// Mechanisms that are audited beside the twins because a tester could take them for broken.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn controls() -> Result<Vec<Subject>> {
    let mut all = vec![letters::rounded_down()?, release::stated_error()?];
    all.extend(parts::healthy()?);
    Ok(all)
}

/// The twin of each mechanism that adds less noise: 0.7 of it, or the first lesser share that truly
/// breaks what the mechanism is held to.
///
/// # Errors
/// A mechanism that states no weaker form.
pub(crate) fn weakened(mechanisms: &[Subject]) -> Result<Vec<Subject>> {
    let own = mechanisms.iter().filter(|s| s.role == Role::Mechanism);
    own.map(Subject::weakened).collect()
}
