//! Public randomness: seeds that are published with a release.

use crate::error::{Error, Result};
use crate::public::PublicValue;
use chacha20::ChaCha12Rng;
use core::convert::Infallible;
use rand_core::{Rng, SeedableRng, TryRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// A public seed: a number of 64 bits, or the 256 bits of a [`FreshSeed`] that was used up.
///
/// A number is shared in advance or used again: realised calibration only. Either may be
/// printed, stored and published; it never feeds noise. As text and in files a number is a
/// number, and 256 bits are 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "PublicValue", into = "PublicValue")]
pub struct PublicSeed(Form);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Form {
    Number(u64),
    Drawn([u8; 32]),
}

impl PublicSeed {
    /// Wraps a number the caller chose.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(Form::Number(seed))
    }

    /// Draws a number from the operating system.
    ///
    /// # Errors
    /// [`Error::Entropy`] when the system gives none.
    pub fn draw() -> Result<Self> {
        getrandom::u64().map(Self::new).map_err(|e| Error::Entropy(e.to_string()))
    }

    /// How many bits it has: 64, or 256 when it was a [`FreshSeed`].
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self.0 {
            Form::Number(_) => 64,
            Form::Drawn(_) => 256,
        }
    }

    /// Another seed of as many bits, for a second family of functions under the same seed.
    #[must_use]
    pub fn offset(self, by: u64) -> Self {
        Self(match self.0 {
            Form::Number(seed) => Form::Number(seed ^ by),
            Form::Drawn(mut key) => {
                key.iter_mut().zip(by.to_le_bytes()).for_each(|(k, b)| *k ^= b);
                Form::Drawn(key)
            }
        })
    }

    /// The generator of stream `stream` under this seed.
    ///
    /// Streams of one seed, and equal streams of different seeds, are unrelated. A number gives
    /// Xoshiro256++: both numbers pass through SplitMix64's finaliser before they meet. 256 bits
    /// are the key of ChaCha12, and the stream is its nonce ([`FreshSeed::MODEL`]).
    #[must_use]
    pub fn generator(self, stream: u64) -> PublicGenerator {
        PublicGenerator(match self.0 {
            Form::Number(seed) => Expansion::Fast(Xoshiro256PlusPlus::seed_from_u64(
                mix(seed) ^ mix(stream.wrapping_add(GOLDEN)),
            )),
            Form::Drawn(key) => {
                let mut cipher = ChaCha12Rng::from_seed(key);
                cipher.set_stream(stream);
                Expansion::Cipher(Box::new(cipher))
            }
        })
    }
}

impl core::fmt::Display for PublicSeed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            Form::Number(seed) => write!(f, "{seed}"),
            Form::Drawn(key) => key.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

/// Reads what `Display` writes.
impl core::str::FromStr for PublicSeed {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        text.parse().map_or_else(|_| PublicValue::from(text), PublicValue::Integer).try_into()
    }
}

impl From<PublicSeed> for PublicValue {
    fn from(seed: PublicSeed) -> Self {
        match seed.0 {
            Form::Number(number) => Self::Integer(number),
            Form::Drawn(_) => Self::Text(seed.to_string()),
        }
    }
}

impl TryFrom<PublicValue> for PublicSeed {
    type Error = Error;
    fn try_from(value: PublicValue) -> Result<Self> {
        match value {
            PublicValue::Integer(number) => Ok(Self::new(number)),
            PublicValue::Real(other) => Err(not_a_seed(other)),
            PublicValue::Text(text) => {
                let mut key = [0; 32];
                for (byte, digits) in key.iter_mut().zip(text.as_bytes().as_chunks::<2>().0) {
                    let digits = core::str::from_utf8(digits).map_err(|_| not_a_seed(&text))?;
                    *byte = u8::from_str_radix(digits, 16).map_err(|_| not_a_seed(&text))?;
                }
                let seed = Self(Form::Drawn(key));
                // One way to write it: neither capitals nor signs nor more digits.
                if seed.to_string() == text { Ok(seed) } else { Err(not_a_seed(text)) }
            }
        }
    }
}

fn not_a_seed(value: impl ToString) -> Error {
    Error::invalid("public seed", value, "[0, 2^64), or 64 lower-case hexadecimal digits")
}

/// One stream of a [`PublicSeed`].
#[derive(Debug)]
pub struct PublicGenerator(Expansion);

#[derive(Debug)]
enum Expansion {
    Fast(Xoshiro256PlusPlus),
    Cipher(Box<ChaCha12Rng>),
}

impl TryRng for PublicGenerator {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(match &mut self.0 {
            Expansion::Fast(rng) => rng.next_u32(),
            Expansion::Cipher(rng) => rng.next_u32(),
        })
    }
    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(match &mut self.0 {
            Expansion::Fast(rng) => rng.next_u64(),
            Expansion::Cipher(rng) => rng.next_u64(),
        })
    }
    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        match &mut self.0 {
            Expansion::Fast(rng) => rng.fill_bytes(dst),
            Expansion::Cipher(rng) => rng.fill_bytes(dst),
        }
        Ok(())
    }
}

/// 256 bits that nobody knew when the data was fixed: averaged calibration is allowed.
///
/// Only [`FreshSeed::draw`] makes one, from the operating system, and using it up
/// ([`FreshSeed::publish`]) turns it into an ordinary [`PublicSeed`]. It is not printed.
pub struct FreshSeed {
    key: [u8; 32],
    origin: SeedOrigin,
}

impl core::fmt::Debug for FreshSeed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FreshSeed").field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// Where a [`FreshSeed`] came from: averaged guarantees rest on it, so certificates state it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
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
    /// What averaged guarantees take for granted of the expansion of a seed, besides that the
    /// operating system's 256 bits are uniform.
    pub const MODEL: &str = "what is drawn from the seed is an ideal random function of 256 bits";

    /// The public parameter under which certificates of averages state [`FreshSeed::MODEL`].
    pub const MODEL_KEY: &str = "seed model";

    /// The least delta an averaged guarantee may state, 2^-64, unless it is zero for every seed:
    /// see `docs/proofs/averaged-calibration.md`, "Seeds".
    pub const LEAST_DELTA: f64 = 1.0 / 18_446_744_073_709_551_616.0;

    /// Draws a seed from the operating system.
    ///
    /// # Errors
    /// [`Error::Entropy`] when the system gives none.
    pub fn draw() -> Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|e| Error::Entropy(e.to_string()))?;
        Ok(Self { key, origin: SeedOrigin::OperatingSystem })
    }

    /// A "fresh" seed for reproducible experiments. It is **not** fresh: whoever
    /// knows the number could have chosen the data against it.
    #[must_use]
    pub fn reproducible_not_private(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Self { key, origin: SeedOrigin::ReproducibleNotPrivate }
    }

    /// A seed that was derived from a release key, 256 bits of the operating system that were drawn for one release.
    pub(crate) fn of_release_key(key: [u8; 32]) -> Self {
        Self { key, origin: SeedOrigin::OperatingSystem }
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
        PublicSeed(Form::Drawn(self.key))
    }
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64's finaliser (Steele, Lea, Flood 2014).
const fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
