//! What verification takes at the writer's word.

use super::Certificate;
use super::preprocessing::Preprocessing;
use crate::guarantee::{Guarantee, Provenance};
use crate::noise::NoiseLaw;
use crate::profile::Profile;
use crate::seed::SeedOrigin;

/// Something in a certificate that does not follow from the rest of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unchecked {
    /// The field.
    pub field: &'static str,
    /// What was not recomputed, and who could.
    pub what: &'static str,
}

impl core::fmt::Display for Unchecked {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: {}", self.field, self.what)
    }
}

impl Certificate {
    /// What [`Certificate::verify`] did not recompute, because it does not follow from the
    /// certificate: no claim goes beyond it.
    #[must_use]
    pub fn unchecked(&self) -> Vec<Unchecked> {
        let mut list = Vec::new();
        let mut add = |field, what| list.push(Unchecked { field, what });
        add("payload", "that it was made this way; nothing here is signed");
        add("mechanism", "the mechanism that ran, and so which theorem it is about");
        add("generator", "as the writer states it");
        let public = &self.statement().public;
        if !public.is_empty() {
            add(
                "public",
                "shapes, bounds and seeds; whoever has the data's format can compare them",
            );
        }
        if public.contains_key(Preprocessing::KEY) {
            add(
                "public.preprocessing",
                "that the rows were mapped so, by constants that do not follow from them",
            );
        }
        if public.contains_key(SeedOrigin::KEY) {
            add("public.seed origin", "that the seed was drawn when the data was fixed");
        }
        if has_grid(&self.statement().noise) {
            add("noise.grid", "that the payload lies on it; whoever holds the payload can look");
        }
        of_guarantee(self.guarantee(), &self.statement().noise, &mut add);
        list
    }
}

fn of_guarantee(
    guarantee: &Guarantee,
    noise: &NoiseLaw,
    add: &mut impl FnMut(&'static str, &'static str),
) {
    match guarantee.provenance() {
        Provenance::Proven { .. } => {}
        Provenance::Published { .. } => {
            add("guarantee.provenance", "what the paper claims of this mechanism");
        }
        Provenance::Declared { .. } => {
            let what = "declared: that the mechanism has this profile under this adjacency";
            add("guarantee.provenance", what);
        }
    }
    match guarantee.profile() {
        Some(profile) => of_profile(profile, noise, add),
        None => add("guarantee.budget", "no profile is known: nothing was recomputed"),
    }
}

fn of_profile(
    profile: &Profile,
    noise: &NoiseLaw,
    add: &mut impl FnMut(&'static str, &'static str),
) {
    const MATRIX: &str = "beyond the least value that the adjacency fixes; follows from the seed or the public matrix";
    const SCALED: &str = "later steps are scaled by public matrices, from which they follow";
    if matches!(noise, NoiseLaw::SmoothBitFlip { .. }) {
        add("noise.rule", "a name");
    }
    match profile {
        Profile::Gaussian { .. } => {
            add("guarantee.profile.sensitivity", MATRIX);
            if matches!(noise, NoiseLaw::Several { .. }) {
                add("guarantee.profile.sigma", SCALED);
                add("noise.laws", SCALED);
            }
        }
        Profile::GaussianComposition { .. } => {
            add("guarantee.profile.steps.sensitivity", MATRIX);
            add("guarantee.profile.steps.times", "how often a step was taken");
        }
        Profile::Staircase { .. } => {
            add("guarantee.profile.sensitivity", MATRIX);
            add("guarantee.profile.sensitivity", "that one change moves one number alone");
        }
        Profile::Laplace { .. } => add("guarantee.profile.sensitivity", MATRIX),
        Profile::DiscreteLaplace { .. } => {
            add("guarantee.profile.moves", "by how much one change moves the whole numbers");
        }
        Profile::DiscreteGaussian { .. } => {
            add("guarantee.profile.moves", "by how much one change moves the number");
            add("guarantee.profile.moves", "that one change moves one number alone");
        }
        Profile::PureDp { .. } => {
            add("guarantee.profile.epsilon", "beyond that of one bit, letter, step or cap");
        }
        Profile::GaussianAndPure { .. } => {
            add(
                "guarantee.profile.sensitivity",
                "follows from the public bounds of rows; whoever knows the formula can compare",
            );
            add("guarantee.profile.epsilon", "that one change moves one number alone");
        }
        Profile::RandomizedResponse { .. } => {
            add("guarantee.profile.bits", "how many bits one change touches");
        }
        Profile::KaryResponse { .. } => {
            add("guarantee.profile.responses", "how many letters one change touches");
        }
        Profile::ChiMixtureGaussian { .. } => {
            add("guarantee.profile.k", "columns of the projection");
            add("guarantee.profile.entry_shift", MATRIX);
            add("guarantee.profile.later_mu", "rounding, and what a later step adds");
            if matches!(noise, NoiseLaw::Several { .. }) {
                add("noise.laws", SCALED);
            }
        }
        Profile::BinomialMixture { .. } => {
            add("guarantee.profile.trials", "coordinates of the release");
            let what = "beyond the least value that the adjacency fixes, where it fixes one";
            add("guarantee.profile.probability", what);
        }
        Profile::Wishart { .. } => add("guarantee.profile.dim", "columns of the data"),
        Profile::Repeated { profile, .. } | Profile::Group { profile, .. } => {
            of_profile(profile, noise, add);
        }
        Profile::Zcdp { .. } if matches!(noise, NoiseLaw::DiscreteGaussian { .. }) => {
            add("guarantee.profile.rho", "by how much one change moves the whole numbers");
            add("noise.sigma", "beyond what whole numbers that move by one take");
        }
        Profile::ApproximateDp { .. } | Profile::Zcdp { .. } | Profile::LossDistribution { .. } => {
            add("guarantee.profile", "as whoever declares it states it");
        }
        // Tied to noise law and adjacency in every parameter.
        Profile::JlMechanism { .. } | Profile::SymmetricGaussian { .. } => {}
    }
}

fn has_grid(noise: &NoiseLaw) -> bool {
    match noise {
        NoiseLaw::RoundedGaussian { .. }
        | NoiseLaw::RoundedLaplace { .. }
        | NoiseLaw::Staircase { .. }
        | NoiseLaw::SymmetricGaussian { .. }
        | NoiseLaw::UnitCap { .. } => true,
        NoiseLaw::Several { laws } => laws.iter().any(has_grid),
        _ => false,
    }
}
