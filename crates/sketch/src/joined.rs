//! Releases that are asked together.

use crate::error::{Error, Result};
use core::fmt::Debug;

/// The first of several releases of which none is another's copy.
pub(crate) fn joinable<'a, T>(parts: &[&'a T], copy: impl Fn(&T, &T) -> bool) -> Result<&'a T> {
    for (i, part) in parts.iter().enumerate() {
        if let Some(j) = parts[..i].iter().position(|other| copy(other, part)) {
            let [left, right] = [j, i].map(|at| format!("number {}", at + 1));
            let what = "releases (they are one: its rows would be found twice)";
            return Err(Error::Incompatible { what, left, right });
        }
    }
    parts.first().copied().ok_or_else(|| Error::invalid("releases", 0, "[1, inf)"))
}

/// Refuses releases that differ in this.
pub(crate) fn alike<V: PartialEq + Debug>(what: &'static str, left: &V, right: &V) -> Result<()> {
    if left == right {
        return Ok(());
    }
    Err(Error::Incompatible { what, left: format!("{left:?}"), right: format!("{right:?}") })
}
