//! The sensitivity of a release, computed again from its public parameters.
//!
//! Whatever is needed and missing, or not of its type, is a refusal.

use super::finding::Finding;
use crate::bounded::BoundedFacts;
use crate::error::Result;
use crate::projection::{Cost, Family, ProjectionSpec};
use crate::sets::{Coding, CountFacts, NoisyFacts, SetNeighbours, SymbolFacts, SymbolShape};
use crate::signs::{FreshConfig, NormFloor, SignSketch};
use crate::vectors::{AveragedProjection, PrivateProjection, SketchNoise};
use dp_core::certificate::{PublicParameters, Trust};
use dp_core::noise::{AdditiveNoise, NoiseLaw};
use dp_core::{
    Adjacency, Certificate, EntryBound, Guarantee, NormBound, Profile, Provenance, PublicValue,
    SeedOrigin, Theorem,
};

/// Relative room for other versions of elementary functions.
const ROOM: f64 = 1e-9;

pub(super) const PUBLISHED: Finding =
    Finding::NotChecked("it is a published claim, which is not computed again");

/// Why a projection was not drawn.
const LONG: Finding =
    Finding::NotChecked("drawing its projection again takes long, which must be allowed");

/// Why groups and given matrices were not looked at.
const CHOSEN: Finding = Finding::NotChecked(
    "a certificate holds a digest of its groups or its matrix; they are in the release",
);

/// How much may be spent on drawing a projection again.
#[derive(Debug, Clone, Copy)]
pub struct Work(Option<Cost>);

/// Under a second on one core, and well below 64 MiB.
const SOON: Cost = Cost { steps: 67_108_864.0, bytes: 50_331_648.0 };

impl Work {
    pub(super) fn allowed(trust: &Trust) -> Self {
        Self((!trust.is_patient()).then_some(SOON))
    }

    fn allows(self, cost: Cost) -> bool {
        self.0.is_none_or(|most| cost.steps <= most.steps && cost.bytes <= most.bytes)
    }
}

/// Refuses what a certificate states of itself.
fn rejected<T>(field: &'static str, reason: impl core::fmt::Display) -> Result<T> {
    Err(dp_core::Error::CertificateRejected { field, reason: reason.to_string() }.into())
}

/// Whether it is a published claim of which nothing can be computed again. One about the noise of a
/// given projection states that projection's sensitivity, as a proven one does.
fn claim_alone(guarantee: &Guarantee) -> bool {
    matches!(guarantee.provenance(), Provenance::Published { .. })
        && !matches!(
            guarantee.profile(),
            Some(Profile::Gaussian { .. } | Profile::Laplace { .. } | Profile::Staircase { .. })
        )
}

/// What the certificate of a projection states.
const PROJECTION: [&str; 3] = ["projection", "projection seed", "largest entry"];

/// A certificate alone: what names a projection must agree with it.
pub(super) fn alone(certificate: &Certificate, work: Work) -> Result<Option<Finding>> {
    let guarantee = certificate.guarantee();
    if claim_alone(guarantee) {
        return Ok(Some(PUBLISHED));
    }
    let public = &certificate.statement().public;
    match guarantee.profile() {
        Some(Profile::BinomialMixture { .. }) if public.contains_key("least norm") => {
            let spec = ProjectionSpec::from_public_parameters(public)?;
            flipped_bits(certificate, &[spec]).map(Some)
        }
        Some(
            Profile::Gaussian { .. }
            | Profile::Laplace { .. }
            | Profile::Staircase { .. }
            | Profile::ChiMixtureGaussian { .. },
        ) if PROJECTION.iter().any(|name| public.contains_key(*name)) => {
            projected(certificate, None, work).map(Some)
        }
        _ => Ok(None),
    }
}

/// Draws the projection a certificate names and compares the sensitivity its guarantee rests on.
/// Groups and given matrices, of which it names a digest alone, are `held` in the release.
pub(super) fn projected(
    certificate: &Certificate,
    held: Option<ProjectionSpec>,
    work: Work,
) -> Result<Finding> {
    let (statement, guarantee) = (certificate.statement(), certificate.guarantee());
    if claim_alone(guarantee) {
        return Ok(PUBLISHED);
    }
    let chosen = ["grouped", "given"]
        .iter()
        .any(|name| statement.public.get("projection") == Some(&PublicValue::from(*name)));
    let spec = match held {
        Some(spec) if chosen => {
            let stated = |(name, value)| statement.public.get(name) == Some(value);
            if !spec.public_parameters().iter().all(stated) {
                return rejected("projection", "the release holds other groups or another matrix");
            }
            spec
        }
        None if chosen => return Ok(CHOSEN),
        _ => ProjectionSpec::from_public_parameters(&statement.public)?,
    };
    let Some(PublicValue::Real(bound)) = statement.public.get("largest entry") else {
        return rejected("largest entry", "it states none, from which its sensitivity follows");
    };
    let bound = EntryBound::new(*bound)?;
    let (adjacency, budget) = (guarantee.adjacency(), guarantee.budget());
    if shift(guarantee).is_some() {
        return averaged(certificate, spec, bound);
    }
    let cost = match adjacency.each() {
        Adjacency::Attribute { .. } => spec.cost_of_rows(),
        _ => spec.cost_of_spectrum(),
    };
    if !work.allows(cost) {
        return Ok(LONG);
    }
    let of = |guarantee: &Guarantee| match guarantee.profile() {
        Some(Profile::Gaussian { sensitivity, .. }) => Some(sensitivity.get()),
        Some(Profile::Laplace { sensitivity, .. } | Profile::Staircase { sensitivity, .. }) => {
            Some(sensitivity.get())
        }
        _ => None,
    };
    let again = match guarantee.profile() {
        Some(Profile::Laplace { .. }) => {
            PrivateProjection::laplace(spec.build(), adjacency, bound, budget)
        }
        Some(Profile::Staircase { .. }) => {
            PrivateProjection::staircase(spec.build(), adjacency, bound, budget)
        }
        _ => PrivateProjection::gaussian(spec.build(), adjacency, bound, budget),
    }?;
    let (Some(stated), Some(needed)) = (of(guarantee), of(again.guarantee())) else {
        return rejected("profile", "is not one of a projection");
    };
    // What rounding adds, on the grid that is stated.
    let touched = match adjacency.each() {
        Adjacency::Attribute { .. } => again.projection().touched_by_one_attribute(),
        _ => spec.k(),
    };
    let touched = touched as f64 * adjacency.rows() as f64;
    let numbers = match guarantee.profile() {
        Some(Profile::Gaussian { .. }) => touched.sqrt(),
        _ => touched,
    };
    let needed = needed + numbers * coarser(&statement.noise, again.noise());
    if stated >= needed * (1.0 - ROOM) {
        return Ok(Finding::Agrees);
    }
    rejected(
        "profile",
        format!(
            "states sensitivity {stated}, but the projection of this seed has {needed} under this \
             adjacency"
        ),
    )
}

/// As [`projected`] for a projection drawn at release, from the sizes that are public: what a
/// change shifts at most, and what rounding adds.
fn averaged(certificate: &Certificate, spec: ProjectionSpec, bound: EntryBound) -> Result<Finding> {
    let (statement, guarantee) = (certificate.statement(), certificate.guarantee());
    check_fresh(&spec, &statement.public)?;
    let (d, k) = (spec.d(), spec.k());
    let (adjacency, budget) = (guarantee.adjacency(), guarantee.budget());
    let again = AveragedProjection::gaussian(d, k, adjacency, bound, budget)?;
    let (Some(stated), Some(mut needed)) = (shift(guarantee), shift(again.guarantee())) else {
        return rejected("profile", "is not one of a projection");
    };
    needed.2 += AveragedProjection::rounding(k, coarser(&statement.noise, again.noise()));
    if stated.0 == k as u64
        && stated.1 >= needed.1 * (1.0 - ROOM)
        && stated.2 >= needed.2 * (1.0 - ROOM)
    {
        return Ok(Finding::Agrees);
    }
    rejected(
        "profile",
        format!(
            "states a shift of {} and {} of rounding in {} columns, but these sizes have {} and {} in \
             {k} under this adjacency",
            stated.1, stated.2, stated.0, needed.1, needed.2
        ),
    )
}

/// By how much the steps of a stated grid are wider than those of noise that was calibrated again.
fn coarser(stated: &NoiseLaw, again: SketchNoise) -> f64 {
    let grid = match stated {
        NoiseLaw::RoundedGaussian { grid, .. }
        | NoiseLaw::RoundedLaplace { grid, .. }
        | NoiseLaw::Staircase { grid, .. } => *grid,
        _ => again.grid(),
    };
    grid.spacing() - again.grid().spacing()
}

/// Refuses a guarantee averaged over a projection that is not Gaussian, not drawn at release, or drawn
/// from fewer than 256 bits.
fn check_fresh(spec: &ProjectionSpec, public: &PublicParameters) -> Result<()> {
    let gaussian = spec.family() == Family::Gaussian;
    if gaussian && public.contains_key(SeedOrigin::KEY) && spec.seed().bits() == 256 {
        return Ok(());
    }
    rejected(
        "projection",
        "the guarantee is averaged over it, and it is not a fresh Gaussian one of a 256-bit seed",
    )
}

/// Columns, shift of an entry and rounding that an averaged profile counts.
fn shift(guarantee: &Guarantee) -> Option<(u64, f64, f64)> {
    match guarantee.profile()? {
        Profile::ChiMixtureGaussian { k, entry_shift, sigma, later_mu } => {
            Some((*k, entry_shift.get(), later_mu * sigma.get()))
        }
        _ => None,
    }
}

/// As [`projected`] for signs: how many bits one attribute can touch, or how likely it flips one of
/// a fresh projection.
pub(super) fn signs(
    certificate: &Certificate,
    specs: &[ProjectionSpec],
    work: Work,
) -> Result<Finding> {
    let guarantee = certificate.guarantee();
    if claim_alone(guarantee) {
        return Ok(PUBLISHED);
    }
    match guarantee.profile() {
        Some(Profile::BinomialMixture { .. }) => flipped_bits(certificate, specs),
        Some(Profile::RandomizedResponse { bits, .. }) => {
            let cost = |sum: Cost, spec: &ProjectionSpec| sum.and(spec.cost_of_rows());
            if !work.allows(specs.iter().fold(Cost::default(), cost)) {
                return Ok(LONG);
            }
            let sketch = SignSketch::new(specs.iter().map(|spec| spec.build()).collect())?;
            let adjacency = guarantee.adjacency();
            let one = sketch.touched_by_one_attribute() as u64;
            let touched = one.saturating_mul(adjacency.rows());
            if !matches!(adjacency.each(), Adjacency::Attribute { .. }) {
                return rejected("adjacency", "signs protect single attributes, and it is another");
            }
            if *bits >= touched {
                return Ok(Finding::Agrees);
            }
            let reason = format!("counts {bits} bits, but one unit touches {touched}");
            rejected("profile", reason)
        }
        _ => rejected("profile", "is not one of signs"),
    }
}

fn flipped_bits(certificate: &Certificate, specs: &[ProjectionSpec]) -> Result<Finding> {
    let (statement, guarantee) = (certificate.statement(), certificate.guarantee());
    let ([spec], Some(PublicValue::Real(least)), Some(PublicValue::Integer(lifted))) =
        (specs, statement.public.get("least norm"), statement.public.get("lifted"))
    else {
        return rejected("least norm", "no least norm of rows is stated");
    };
    check_fresh(spec, &statement.public)?;
    let least = NormBound::new(*least)?;
    let (floor, d) = match lifted {
        0 => (NormFloor::Promised(least), spec.d()),
        _ => (NormFloor::Lifted(least), spec.d().saturating_sub(1)),
    };
    let (bits, adjacency) = (spec.k(), guarantee.adjacency());
    // The bound of the values does not enter the profile.
    let config = FreshConfig { d, bits, floor, bound: least.of_entries(), adjacency };
    let Some(stated) = changed(guarantee) else {
        return rejected("profile", "is not one of signs");
    };
    compare("bits", stated, (bits as u64, config.one_pair()?.get()))
}

/// As [`projected`] for set signatures: how many symbols a change can touch, or how likely it changes
/// one under fresh hash functions.
pub(super) fn symbols(certificate: &Certificate, facts: &SymbolFacts) -> Result<Finding> {
    let (statement, guarantee) = (certificate.statement(), certificate.guarantee());
    if claim_alone(guarantee) {
        return Ok(PUBLISHED);
    }
    let of_bins = guarantee.provenance().theorem().map(|t| t == Theorem::OnePermutation);
    if of_bins.is_some_and(|of_bins| of_bins != matches!(facts.coding, Coding::Bins)) {
        return rejected("guarantee.provenance", "its theorem is about another coding");
    }
    let slots = facts.scheme.slots as u64;
    let touched = match (facts.coding, guarantee.adjacency().each()) {
        (Coding::Bins, Adjacency::SetItems { alpha, .. }) => alpha.min(slots),
        _ => slots,
    };
    let touched = touched.saturating_mul(guarantee.adjacency().rows());
    let (stated, needed) = match guarantee.profile() {
        Some(Profile::KaryResponse { responses, .. }) => ((*responses, 1.0), (touched, 1.0)),
        Some(Profile::RandomizedResponse { bits, .. }) => ((*bits, 1.0), (touched, 1.0)),
        Some(Profile::BinomialMixture { .. }) => {
            let Adjacency::SetItems { alpha, min_size } = guarantee.adjacency() else {
                return rejected("profile", "is not one of these signatures");
            };
            if !statement.public.contains_key(SeedOrigin::KEY) {
                let reason = "the guarantee is averaged over hash functions that are not fresh";
                return rejected(SeedOrigin::KEY, reason);
            }
            let neighbours = SetNeighbours::new(alpha, min_size)?;
            let (trials, differ) = match facts.coding {
                Coding::Hashed { concatenation } => {
                    let symbols = u32::try_from(facts.alphabet).unwrap_or(u32::MAX);
                    let shape = SymbolShape::new(facts.scheme.slots, concatenation, symbols)?;
                    let (minima, letters) = (shape.concatenation(), shape.alphabet());
                    (slots, neighbours.differ_probability(minima, u64::from(letters))?)
                }
                Coding::Bins => neighbours.seen_in_bins(slots)?,
            };
            (changed(guarantee).unwrap_or((0, 0.0)), (trials, differ.get()))
        }
        _ => return rejected("profile", "is not one of set signatures"),
    };
    compare("symbols", stated, needed)
}

/// As [`symbols`] for bits with Laplace noise: the claim is the paper's, the profile is exact.
pub(super) fn noisy_bits(certificate: &Certificate, facts: &NoisyFacts) -> Result<Finding> {
    let guarantee = certificate.guarantee();
    let Adjacency::SetItems { alpha, min_size } = guarantee.adjacency() else {
        return rejected("adjacency", "noisy bits protect items of sets, and it is another");
    };
    if !certificate.statement().public.contains_key(SeedOrigin::KEY) {
        let reason = "the guarantee is averaged over hash functions that are not fresh";
        return rejected(SeedOrigin::KEY, reason);
    }
    let differ = SetNeighbours::new(alpha, min_size)?.differ_probability(facts.concatenation, 2)?;
    match changed(guarantee) {
        Some(stated) => compare("bits", stated, (facts.scheme.slots as u64, differ.get())),
        None => rejected("profile", "is not one of noisy bits"),
    }
}

/// As [`symbols`] for values of a range: none can change by more than its width.
pub(super) fn bounded(certificate: &Certificate, facts: &BoundedFacts) -> Result<Finding> {
    let (width, guarantee) = (facts.range()?.width(), certificate.guarantee());
    let (each, rows) = (guarantee.adjacency().each(), guarantee.adjacency().rows());
    match each {
        Adjacency::Attribute { beta } if width <= beta.get() => {}
        Adjacency::Attribute { beta } => {
            let reason = format!("speaks of changes up to {beta}, but the range is {width} wide");
            return rejected("adjacency", reason);
        }
        _ => return rejected("adjacency", "bounded values protect one attribute of one row"),
    }
    match guarantee.profile() {
        Some(Profile::KaryResponse { responses, .. }) if *responses >= rows => Ok(Finding::Agrees),
        None if claim_alone(guarantee) => Ok(PUBLISHED),
        _ => rejected("profile", "is not one of bounded values"),
    }
}

/// As [`symbols`] for counts of groups: an item is in one, whatever the groups are.
pub(super) fn counts(certificate: &Certificate, facts: &CountFacts) -> Result<Finding> {
    let guarantee = certificate.guarantee();
    let Adjacency::SetItems { alpha, .. } = guarantee.adjacency() else {
        return rejected("adjacency", "counts of groups protect items of sets, and it is another");
    };
    let least = alpha as f64 / facts.scale.get();
    match guarantee.profile() {
        Some(Profile::PureDp { epsilon }) if epsilon.get() >= least * (1.0 - ROOM) => {
            Ok(Finding::Agrees)
        }
        Some(Profile::PureDp { epsilon }) => {
            let reason =
                format!("states {epsilon}, but {alpha} items move counts by {least} scales");
            rejected("profile", reason)
        }
        None if claim_alone(guarantee) => Ok(PUBLISHED),
        _ => rejected("profile", "is not one of counts"),
    }
}

fn compare(what: &str, stated: (u64, f64), needed: (u64, f64)) -> Result<Finding> {
    if stated.0 >= needed.0 && stated.1 >= needed.1 * (1.0 - ROOM) {
        return Ok(Finding::Agrees);
    }
    rejected(
        "profile",
        format!(
            "counts {} {what} that change with probability {}, but there are {} with {}",
            stated.0, stated.1, needed.0, needed.1
        ),
    )
}

/// Coordinates, and how likely each changes, that a mixture counts.
fn changed(guarantee: &Guarantee) -> Option<(u64, f64)> {
    match guarantee.profile()? {
        Profile::BinomialMixture { trials, probability, .. } => Some((*trials, probability.get())),
        _ => None,
    }
}
