//! Counts of public groups with integer Laplace noise.

use super::item_groups::ItemGroups;
use super::items::ItemSet;
use super::neighbours::SetNeighbours;
use super::noisy_counts::{COUNTS, NoisyCounts, WHOLE};
use super::writer::{SetMechanism, SetSource};
use crate::author::AUTHOR;
use crate::error::{Error, Result};
use core::ops::ControlFlow;
use dp_core::mechanism::{Calibrated, Mechanism, Prediction, Progress, author};
use dp_core::noise::{DiscreteLaplace, GeneratorKind, NoiseRng, VALUES_PER_STREAM};
use dp_core::release_file::{Kind, Payload, Trailer, Writer};
use dp_core::{Budget, Certificate, Delta, Guarantee, LaplaceScale, Profile, Release, Theorem};
use rayon::prelude::*;

/// How many items of each public group every set has, with integer Laplace noise on every count.
///
/// An item is in one group: sets that differ in `alpha` items differ by `alpha` in the sum of their counts, for **every**
/// grouping, so the noise does not grow with the number of groups. Where groups hold what sets have in common the counts say
/// far more of likeness than bins of chance do.
///
/// # Privacy
/// `SetItems { alpha, 1 }`, one set of the release, of any size; pure, whatever delta is allowed.
///
/// # References
/// `docs/proofs/group-counts.md`; Ghosh, Roughgarden and Sundararajan 2009 (integer Laplace noise).
///
/// ```
/// use dp_core::{Budget, NoiseRng};
/// use sketch::search::{CountIndex, Queries};
/// use sketch::sets::{GroupCounts, ItemGroups, ItemSet, NoisyCounts};
///
/// let words = |list: &str| ItemSet::from_words(list.split(' '));
/// let groups = ItemGroups::new(&[words("ant bee wasp fly")?, words("oak elm ash yew")?])?;
/// let sets = [words("ant bee wasp")?, words("oak elm yew stone")?, words("bee fly")?];
/// // One item of one set may be added or removed.
/// let mechanism = GroupCounts::calibrate(groups, 1, Budget::new(4.0, 0.0)?)?;
/// let release = mechanism.release(&sets, &mut NoiseRng::from_os()?)?;
/// let insects = release.payload().count(0, 0)?;
/// assert!((insects.value - 3.0).abs() < 60.0 && insects.standard_error < 1.0);
/// // The query is not released: it carries no noise.
/// let query = NoisyCounts::exact(release.payload(), &[words("wasp fly")?]);
/// assert_eq!(CountIndex::new(release.payload())?.top_k(&Queries::all(&query), 2)?.k(), 2);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct GroupCounts {
    groups: ItemGroups,
    scale: LaplaceScale,
    calibrated: Calibrated<DiscreteLaplace>,
}

/// The least scale for this many items: `alpha / scale <= epsilon` for the very `f64`.
pub(super) fn noise_scale(alpha: u64, budget: Budget) -> Result<LaplaceScale> {
    SetNeighbours::new(alpha, 1)?;
    Ok(LaplaceScale::new((alpha as f64 / budget.epsilon.get()).next_up())?)
}

impl GroupCounts {
    /// The least noise for the budget's epsilon; delta is not spent.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] unless `alpha` is in `[1, 2^32]`, and `alpha / epsilon` in `[2^-10, 2^40]`.
    pub fn calibrate(groups: ItemGroups, alpha: u64, budget: Budget) -> Result<Self> {
        let neighbours = SetNeighbours::new(alpha, 1)?;
        let scale = noise_scale(alpha, budget)?;
        let noise = DiscreteLaplace::new(scale)?;
        let pure = Budget { delta: Delta::ZERO, ..budget };
        let (basis, profile) =
            (AUTHOR.theorem(Theorem::GroupCounts), Profile::PureDp { epsilon: budget.epsilon });
        let calibrated = AUTHOR.calibrated(neighbours.adjacency(), pure, basis, profile, noise)?;
        Ok(Self { groups, scale, calibrated })
    }

    /// The guarantee.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    /// Counts and releases.
    ///
    /// # Errors
    /// [`Error::Core`] when the noise law refuses its parameters (it does not after `calibrate`).
    pub fn release(&self, sets: &[ItemSet], rng: &mut NoiseRng) -> Result<Release<NoisyCounts>> {
        Mechanism::release(self, sets, rng)
    }

    /// Counts that were made with this noise.
    fn counts(&self, values: Vec<f64>) -> NoisyCounts {
        NoisyCounts::new(self.groups.clone(), Some(self.scale), values)
    }

    fn noisy(&self, counts: &[u32], rng: &mut NoiseRng) -> Vec<f64> {
        let mut values = vec![0.0; counts.len()];
        let streams = rng.reserve(counts.len().div_ceil(VALUES_PER_STREAM) as u64);
        let noise = self.calibrated.noise();
        let blocks =
            values.par_chunks_mut(VALUES_PER_STREAM).zip(counts.par_chunks(VALUES_PER_STREAM));
        blocks.zip(streams).for_each(|((out, counts), mut stream)| {
            for (out, count) in out.iter_mut().zip(counts) {
                let sum = i64::from(*count).saturating_add(noise.sample(&mut stream));
                // Whole in double precision: cut off, of what is published.
                *out = sum.clamp(-WHOLE, WHOLE) as f64;
            }
        });
        values
    }

    fn certificate(&self, sets: usize, generator: GeneratorKind) -> Certificate {
        let public = NoisyCounts::public(&self.groups, sets);
        self.calibrated.certificate(COUNTS, public, generator)
    }
}

/// Values between two questions to the hook: whole noise streams.
const PART: usize = 64 * VALUES_PER_STREAM;

impl author::Sealed for GroupCounts {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl SetMechanism for GroupCounts {
    type Seed = ();
    const KIND: Kind = Kind::GroupCounts;

    fn drawn(&self, (): ()) -> Result<Box<dyn SetSource + '_>> {
        Ok(Box::new(self))
    }
}

impl Mechanism for GroupCounts {
    /// The groups, and in how many items neighbouring sets may differ.
    type Config = (ItemGroups, u64);
    type Input<'a> = &'a [ItemSet];
    type Output = Release<NoisyCounts>;
    type Facts = ();
    type Error = Error;

    fn calibrate((groups, alpha): Self::Config, budget: Budget) -> Result<Self> {
        Self::calibrate(groups, alpha, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    fn predict(&self, (): ()) -> Result<Prediction> {
        Ok(Prediction::new("a count of a group", self.counts(Vec::new()).error()))
    }

    fn release_watched(
        &self,
        sets: &[ItemSet],
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<NoisyCounts>> {
        let generator = rng.kind();
        let counts = self.groups.counts(sets);
        let (mut values, total) = (Vec::new(), counts.len().div_ceil(PART) as u64);
        for (part, counts) in counts.chunks(PART).enumerate() {
            Progress::new(part as u64, total).ask(hook)?;
            values.extend(self.noisy(counts, rng));
        }
        Ok(Release::certified(self.counts(values), self.certificate(sets.len(), generator)))
    }
}

impl SetSource for &GroupCounts {
    fn slots(&self, sets: &[ItemSet]) -> Result<Vec<u32>> {
        Ok(self.groups.counts(sets))
    }

    fn whole(&self, held: usize) -> usize {
        held / VALUES_PER_STREAM * VALUES_PER_STREAM
    }

    fn put(&self, held: Vec<u32>, rng: &mut NoiseRng, out: &mut Writer) -> Result<()> {
        Ok(out.payload_f64(&self.noisy(&held, rng))?)
    }

    fn trailer(&self, sets: usize, generator: GeneratorKind) -> Result<Trailer> {
        let none = self.counts(Vec::new());
        let certificate = self.certificate(sets, generator);
        let shape = (sets, self.groups.k());
        Ok(Trailer::new(shape, none.fingerprint(), &none.parameters()?, certificate)?)
    }
}
