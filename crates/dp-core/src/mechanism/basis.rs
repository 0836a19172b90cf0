//! What a guarantee rests on.

use crate::adjacency::Adjacency;
use crate::budget::Budget;
use crate::error::Result;
use crate::guarantee::{Guarantee, Provenance};
use crate::profile::Profile;

/// What a guarantee rests on: a theorem of this library, a paper's rule, or somebody's word.
///
/// Callers have one constructor: theorems and published rules speak of the mechanisms that the
/// library runs itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Basis {
    provenance: Provenance,
    /// For errors.
    name: &'static str,
}

impl Basis {
    /// The word of `by` that the statistic is what it is said to be, and why: `reason`.
    ///
    /// The certificate states both, and is never taken for a proven one.
    #[must_use]
    pub fn declared(by: impl Into<String>, reason: impl Into<String>) -> Self {
        let (by, reason) = (by.into(), reason.into());
        Self::of(Provenance::Declared { by, reason }, "declared guarantee")
    }

    pub(super) fn of(provenance: Provenance, name: &'static str) -> Self {
        Self { provenance, name }
    }

    /// The guarantee that rests on it.
    pub(super) fn guarantee(
        self,
        adjacency: Adjacency,
        budget: Budget,
        profile: Profile,
    ) -> Result<Guarantee> {
        Guarantee::meeting(adjacency, budget, Some(profile), self.name, self.provenance)
    }
}
