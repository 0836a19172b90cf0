//! Releases that are asked together.

use crate::error::{Error, Result};

/// The first of several releases of which none is another's copy.
pub(crate) fn joinable<'a, T>(parts: &[&'a T], copy: impl Fn(&T, &T) -> bool) -> Result<&'a T> {
    for (i, part) in parts.iter().enumerate() {
        if let Some(j) = parts[..i].iter().position(|other| copy(other, part)) {
            let [left, right] = [j, i].map(|at| format!("number {}", at + 1));
            return Err(differ(
                "releases (they are one: its rows would be found twice)",
                left,
                right,
            ));
        }
    }
    parts.first().copied().ok_or_else(|| Error::invalid("releases", 0, "[1, inf)"))
}

/// Why releases are not asked together.
pub(crate) fn differ(what: &'static str, left: String, right: String) -> Error {
    Error::Incompatible { what, left, right }
}
