//! Public randomness: seeds that are published with a release.

use crate::error::{Error, Result};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// A seed shared in advance or used again: realised calibration only.
///
/// It may be printed, stored and published; it never feeds noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PublicSeed(u64);

impl PublicSeed {
    /// Wraps a number the caller chose.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The generator of stream `stream` under this seed.
    ///
    /// Streams of one seed, and equal streams of different seeds, are unrelated:
    /// both numbers pass through SplitMix64's finaliser before they meet.
    #[must_use]
    pub fn generator(self, stream: u64) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(mix(self.0) ^ mix(stream.wrapping_add(GOLDEN)))
    }
}

/// A seed that nobody knew when the data was fixed: averaged calibration is allowed.
///
/// Only [`FreshSeed::draw`] makes one, from the operating system, and using it up
/// ([`FreshSeed::publish`]) turns it into an ordinary [`PublicSeed`].
#[derive(Debug)]
pub struct FreshSeed {
    seed: u64,
    origin: SeedOrigin,
}

/// Where a [`FreshSeed`] came from: averaged guarantees rest on it, so certificates state it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeedOrigin {
    /// Drawn from the operating system at release.
    OperatingSystem,
    /// A number somebody knew: the averaged guarantee does **not** hold.
    ReproducibleNotPrivate,
}

impl SeedOrigin {
    /// The public parameter under which certificates state the origin.
    pub const KEY: &'static str = "seed origin";

    /// The words certificates use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OperatingSystem => "operating system",
            Self::ReproducibleNotPrivate => "reproducible, not private",
        }
    }
}

impl FreshSeed {
    /// Draws a seed from the operating system.
    ///
    /// # Errors
    /// [`Error::Entropy`] when the system gives none.
    pub fn draw() -> Result<Self> {
        getrandom::u64()
            .map(|seed| Self { seed, origin: SeedOrigin::OperatingSystem })
            .map_err(|e| Error::Entropy(e.to_string()))
    }

    /// A "fresh" seed for reproducible experiments. It is **not** fresh: whoever
    /// knows the number could have chosen the data against it.
    #[must_use]
    pub const fn reproducible_not_private(seed: u64) -> Self {
        Self { seed, origin: SeedOrigin::ReproducibleNotPrivate }
    }

    /// Where it came from.
    #[must_use]
    pub const fn origin(&self) -> SeedOrigin {
        self.origin
    }

    /// Ends the seed's freshness: what remains is published with the release, beside the
    /// [`SeedOrigin`] (read it first).
    #[must_use]
    pub fn publish(self) -> PublicSeed {
        PublicSeed(self.seed)
    }
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64's finaliser (Steele, Lea, Flood 2014).
const fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
