//! The secret of one release.

use crate::certificate::hex;
use crate::error::{Error, Result};
use crate::noise::NoiseRng;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A keyed hash under construction.
pub(super) type Keyed = Hmac<Sha256>;

/// What a derived value is for: two purposes never share an input of the keyed hash.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    Id,
    Manifest,
    Part,
    Content,
    Seed,
    Block,
    Sums,
    Terms,
}

impl Purpose {
    const fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Manifest => "manifest",
            Self::Part => "part",
            Self::Content => "content",
            Self::Seed => "seed",
            Self::Block => "block",
            Self::Sums => "sums",
            Self::Terms => "terms",
        }
    }
}

/// 256 secret bits for one manifest and one published output.
///
/// Not `Clone`, not serialisable, never printed, wiped on drop. It lives in a file that only its owner reads
/// ([`KeyFile`](super::KeyFile)), or in an environment variable of the worker; never in what an engine ships or logs.
///
/// ```compile_fail,E0599
/// let key = dp_core::parts::ReleaseKey::draw().unwrap();
/// let copy = key.clone();
/// ```
#[derive(ZeroizeOnDrop)]
pub struct ReleaseKey {
    key: [u8; 32],
}

impl ReleaseKey {
    /// A key from the operating system.
    ///
    /// # Errors
    /// [`Error::Entropy`] when the system gives no randomness.
    pub fn draw() -> Result<Self> {
        let mut made = Self { key: [0; 32] };
        getrandom::fill(&mut made.key).map_err(|e| Error::Entropy(e.to_string()))?;
        Ok(made)
    }

    /// A key from its 64 hexadecimal digits.
    ///
    /// # Errors
    /// [`Error::File`] for anything else; the text is not repeated.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = || Error::file("release key", "is not 64 lower-case hexadecimal digits");
        let digits = text.trim_end().as_bytes();
        let mut made = Self { key: [0; 32] };
        if digits.len() != 64 {
            return Err(wrong());
        }
        for (byte, pair) in made.key.iter_mut().zip(digits.as_chunks::<2>().0) {
            let half = |digit: u8| match digit {
                b'0'..=b'9' => Ok(digit - b'0'),
                b'a'..=b'f' => Ok(digit - b'a' + 10),
                _ => Err(wrong()),
            };
            *byte = half(pair[0])? << 4 | half(pair[1])?;
        }
        if made.key == [0; 32] {
            return Err(Error::file("release key", "is zero: it was destroyed, or never drawn"));
        }
        Ok(made)
    }

    /// A key from an environment variable, which must not be one that an engine is configured by: those are logged.
    ///
    /// # Errors
    /// A variable that is not set, and as [`ReleaseKey::parse`].
    pub fn from_environment(variable: &str) -> Result<Self> {
        let Ok(mut text) = std::env::var(variable) else {
            let reason = format!("the environment variable {variable} is not set");
            return Err(Error::file("release key", reason));
        };
        let made = Self::parse(&text);
        text.zeroize();
        made
    }

    /// The hexadecimal digits, for the key's file.
    pub(super) fn digits(&self) -> zeroize::Zeroizing<String> {
        hex(&self.key).into()
    }

    /// The public number of the one release that this key is for.
    #[must_use]
    pub fn id(&self) -> String {
        hex(&self.derive(Purpose::Id, &[])[..16])
    }

    /// A keyed hash of `purpose`; what follows is its input.
    pub(super) fn begin(&self, purpose: Purpose) -> Keyed {
        let mut keyed = Keyed::new_from_slice(&self.key).expect("any length is a key");
        extend(&mut keyed, b"dps parts 1");
        extend(&mut keyed, purpose.name().as_bytes());
        keyed
    }

    /// 256 bits for a purpose and an input, which nobody without the key can tell from random ones.
    pub(super) fn derive(&self, purpose: Purpose, input: &[&[u8]]) -> [u8; 32] {
        let mut keyed = self.begin(purpose);
        input.iter().for_each(|part| extend(&mut keyed, part));
        keyed.finalize().into_bytes().into()
    }

    /// A generator of noise for a purpose and an input: two of them share no stream.
    pub(super) fn noise(&self, purpose: Purpose, input: &[&[u8]]) -> NoiseRng {
        let mut derived = self.derive(purpose, input);
        let made = NoiseRng::of_release_key(derived);
        derived.zeroize();
        made
    }

    /// Noise for a release of no rows, from which [`Terms`](super::Terms) are read. It is never published.
    #[must_use]
    pub fn noise_of_terms(&self) -> NoiseRng {
        self.noise(Purpose::Terms, &[])
    }
}

/// Adds one part of an input, whose end is clear.
pub(super) fn extend(keyed: &mut Keyed, part: &[u8]) {
    keyed.update(&(part.len() as u64).to_le_bytes());
    keyed.update(part);
}

impl core::fmt::Debug for ReleaseKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("ReleaseKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_values_are_the_keyed_hash_of_their_parts() {
        // Python: hmac.new(bytes(range(32)), b"".join(len(p).to_bytes(8, "little") + p for p in parts),
        // "sha256").hexdigest() with parts = [b"dps parts 1", b"block", b"a", b"bc"].
        let key: String = (0..32).map(|i| format!("{i:02x}")).collect();
        let key = ReleaseKey::parse(&key).unwrap();
        let derived = hex(&key.derive(Purpose::Block, &[b"a", b"bc"]));
        assert_eq!(derived, "b5a7749f91dc3165072ba2e6f4de230eaee76f78912ba87d0713498c8d547b21");
        // Where a part ends is part of the input.
        assert_ne!(
            key.derive(Purpose::Block, &[b"ab", b"c"]),
            key.derive(Purpose::Block, &[b"a", b"bc"])
        );
        assert_ne!(key.derive(Purpose::Sums, &[b"a"]), key.derive(Purpose::Block, &[b"a"]));
        assert_eq!(format!("{key:?}"), "ReleaseKey(..)");
    }

    #[test]
    fn what_is_no_key_is_refused_and_not_repeated() {
        for text in ["", "00", &"0".repeat(64), &"g".repeat(64), &"A".repeat(64), &"1".repeat(65)] {
            let error = ReleaseKey::parse(text).unwrap_err().to_string();
            assert!(text.is_empty() || !error.contains(text) || text == "00", "{error}");
        }
        assert!(ReleaseKey::from_environment("DPS_NO_SUCH_VARIABLE").is_err());
    }
}
