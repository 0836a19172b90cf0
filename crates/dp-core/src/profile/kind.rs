//! What every kind of profile knows of itself.

use super::curve::{Curve, Near};
use super::pld::Merged;
use crate::adjacency::Adjacency;
use crate::budget::LogDelta;
use crate::error::{Error, Result};
use crate::noise::NoiseLaw;

/// One kind of profile, with its parameters. All that is known of a kind is in its file.
pub(super) trait Kind {
    /// ln delta, unchecked: NaN and values above zero are left to the caller.
    fn ln_delta(&self, epsilon: f64) -> f64;

    /// Whether ln delta is at most `most`: where there are several bounds, as many are computed as that takes.
    fn holds(&self, epsilon: f64, most: f64) -> bool {
        LogDelta::saturating(self.ln_delta(epsilon)).get() <= most
    }

    /// The same as a curve, where one evaluation costs as much as a composition.
    fn curve(&self, _near: Near) -> Option<Curve> {
        None
    }

    /// Refuses a parameter outside its range.
    fn check_limits(&self) -> Result<()>;

    /// Adds the losses of this many runs to a composition.
    fn compose(&self, runs: u64, all: &mut Merged);

    /// Whether this noise gives the profile under the adjacency: refused where a parameter
    /// disagrees, `false` where no rule speaks of the pair.
    fn given_by(&self, noise: &NoiseLaw, adjacency: Adjacency) -> Result<bool>;
}

/// Most runs of a step, rows of a sketch, degrees of freedom.
pub(super) const MANY: u64 = 1 << 40;
/// Most responses and trials: the terms of their sums are sums themselves, and a ledger asks for some hundred of them.
pub(super) const TRIALS: u64 = 1 << 16;
/// Most letters of an alphabet.
const LETTERS: u64 = 1 << 32;
/// Smallest and largest ratio of what moves to the noise scale.
pub(super) const RATIOS: (f64, f64) = (1e-100, 1e6);

/// The name of a ratio, for errors.
pub(super) const SHIFT: &str = "sensitivity over the noise scale";
/// The name of a ratio, for errors.
pub(super) const ROW: &str = "row bound over the noise scale";

pub(super) fn count(name: &'static str, value: u64, most: u64) -> Result<()> {
    match value {
        v if (1..=most).contains(&v) => Ok(()),
        v => Err(Error::invalid(name, v, format!("[1, {most}]"))),
    }
}

pub(super) fn ratio(name: &'static str, value: f64) -> Result<()> {
    match value {
        v if (RATIOS.0..=RATIOS.1).contains(&v) => Ok(()),
        v => Err(Error::invalid(name, format!("{v:e}"), "[1e-100, 1e6]")),
    }
}

pub(super) fn letters(value: u64) -> Result<()> {
    match value {
        v if (2..=LETTERS).contains(&v) => Ok(()),
        v => Err(Error::invalid("alphabet", v, "[2, 2^32]")),
    }
}
