//! What an experiment is given.

use crate::data::{self, Points};
use crate::effort::Effort;
use crate::error::Result;
use dp_core::{FreshSeed, NoiseRng, PublicSeed};
use std::path::PathBuf;

/// A user's own data; the embedded samples serve where a field is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// Images, IDX.
    pub images: Option<PathBuf>,
    /// Their labels, IDX.
    pub labels: Option<PathBuf>,
    /// Folder of further data sets, by their published file names.
    pub data: Option<PathBuf>,
}

/// Told how far an experiment is.
pub trait Progress: Sync {
    /// An experiment announces how many steps it will take.
    fn begin(&self, steps: u64);
    /// One step is done.
    fn step(&self);
}

/// Reports to nobody.
pub struct Quiet;

impl Progress for Quiet {
    fn begin(&self, _steps: u64) {}
    fn step(&self) {}
}

/// What an experiment is given: effort, seed, data and somebody to report progress to.
pub struct Context<'a> {
    /// How much work to do.
    pub effort: Effort,
    /// Every random number of the experiment follows from it.
    pub seed: u64,
    /// A user's own data.
    pub sources: Sources,
    /// Told about progress.
    pub progress: &'a dyn Progress,
}

impl<'a> Context<'a> {
    /// Quick effort, seed 1, embedded data, no progress: for tests.
    #[must_use]
    pub fn quick() -> Context<'static> {
        Context { effort: Effort::Quick, seed: 1, sources: Sources::default(), progress: &Quiet }
    }

    /// `quick` or `full`, by effort.
    #[must_use]
    pub(crate) fn pick<T>(&self, quick: T, full: T) -> T {
        match self.effort {
            Effort::Quick => quick,
            Effort::Full => full,
        }
    }

    /// The number from which repetition `repetition` of the part named `part` draws
    /// everything: equal inputs give equal numbers, different ones unrelated numbers.
    #[must_use]
    pub(crate) fn sub_seed(&self, part: &str, repetition: u64) -> u64 {
        derive(self.seed, part, repetition)
    }

    /// The number from which synthetic data are drawn; it follows from the seed of the run too.
    #[must_use]
    pub(crate) fn data_seed(&self, part: &str, number: u64) -> u64 {
        derive(self.seed, &format!("data of {part}"), number)
    }

    /// A number that is the same in all runs: for choices that are no data.
    #[must_use]
    pub(crate) fn number(part: &str, number: u64) -> u64 {
        derive(1, part, number)
    }

    /// A reusable public seed for this part and repetition.
    #[must_use]
    pub(crate) fn public_seed(&self, part: &str, repetition: u64) -> PublicSeed {
        PublicSeed::new(self.sub_seed(part, repetition))
    }

    /// A stand-in for a fresh public seed, reproducible and therefore not private.
    #[must_use]
    pub(crate) fn fresh_seed(&self, part: &str, repetition: u64) -> FreshSeed {
        FreshSeed::reproducible_not_private(self.sub_seed(part, repetition))
    }

    /// A noise generator, reproducible and therefore not private.
    #[must_use]
    pub(crate) fn noise(&self, part: &str, repetition: u64) -> NoiseRng {
        let seed = self.sub_seed(&format!("noise of {part}"), repetition);
        NoiseRng::deterministic_not_private(seed)
    }

    /// The user's images, or the embedded digits.
    ///
    /// # Errors
    /// As [`data::images`].
    pub(crate) fn images(&self) -> Result<Points> {
        match &self.sources.images {
            Some(path) => data::images(path, self.sources.labels.as_deref()),
            None => Ok(data::digits()),
        }
    }
}

fn derive(seed: u64, part: &str, number: u64) -> u64 {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    hash.update(number.to_le_bytes());
    hash.update(part.as_bytes());
    u64::from_le_bytes(hash.finalize()[..8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_seeds_differ_in_every_argument() {
        let a = Context::quick();
        let b = Context { seed: 2, ..Context::quick() };
        let seeds =
            [a.sub_seed("x", 0), a.sub_seed("x", 1), a.sub_seed("y", 0), b.sub_seed("x", 0)];
        for i in 0..seeds.len() {
            assert_eq!(
                seeds[i],
                [&a, &a, &a, &b][i].sub_seed(["x", "x", "y", "x"][i], [0, 1, 0, 0][i])
            );
            assert!(seeds[..i].iter().all(|&s| s != seeds[i]));
        }
    }

    #[test]
    fn missing_images_are_named() {
        let sources = Sources { images: Some("no/such/file".into()), ..Sources::default() };
        let context = Context { sources, ..Context::quick() };
        assert!(context.images().unwrap_err().to_string().starts_with("no/such/file: "));
    }
}
