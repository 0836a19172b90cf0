//! k-ary randomised response.

use super::exact::{below, bernoulli};
use super::law::NoiseLaw;
use super::rng::NoiseStream;
use crate::error::{Error, Result};
use crate::quantity::Probability;

mod sealed {
    pub trait Sealed {}
}

/// Unsigned integers that can hold a letter of an alphabet.
pub trait Symbol: Copy + sealed::Sealed {
    /// Largest letter that fits.
    const LARGEST: u64;
    /// As a `u64`.
    fn to_u64(self) -> u64;
    /// From a `u64` of at most [`Symbol::LARGEST`].
    fn from_u64(letter: u64) -> Self;
}

macro_rules! symbols {
    ($($t:ty),*) => {$(
        impl sealed::Sealed for $t {}
        impl Symbol for $t {
            const LARGEST: u64 = <$t>::MAX as u64;
            fn to_u64(self) -> u64 {
                u64::from(self)
            }
            fn from_u64(letter: u64) -> Self {
                letter as $t
            }
        }
    )*};
}
symbols!(u8, u16, u32, u64);

/// Keeps a letter of `0..alphabet` with probability `keep`, else replaces it by
/// another letter chosen uniformly: exact for the dyadic rational `keep`.
///
/// Every other letter appears with probability `(1 - keep) / (alphabet - 1)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KaryResponse {
    alphabet: u64,
    keep: Probability,
}

impl KaryResponse {
    /// The response over `0..alphabet` that keeps with probability `keep`.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] unless the alphabet has at least 2 letters.
    pub fn new(alphabet: u64, keep: Probability) -> Result<Self> {
        if alphabet < 2 {
            return Err(Error::invalid("alphabet", alphabet, "[2, 2^64)"));
        }
        Ok(Self { alphabet, keep })
    }

    /// Number of letters.
    #[must_use]
    pub fn alphabet(&self) -> u64 {
        self.alphabet
    }

    /// Probability of keeping.
    #[must_use]
    pub fn keep(&self) -> Probability {
        self.keep
    }

    /// The law, for the certificate.
    #[must_use]
    pub fn law(&self) -> NoiseLaw {
        NoiseLaw::KaryResponse { alphabet: self.alphabet, keep: self.keep }
    }

    /// The response to one letter; a value outside the alphabet is first reduced modulo it.
    pub fn respond(&self, stream: &mut NoiseStream, letter: u64) -> u64 {
        let letter = letter % self.alphabet;
        if bernoulli(stream, self.keep.get()) {
            return letter;
        }
        let other = below(stream, self.alphabet - 1);
        other + u64::from(other >= letter)
    }

    /// Replaces every value by its response.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when the integer type cannot hold the alphabet.
    pub fn apply<T: Symbol>(&self, stream: &mut NoiseStream, values: &mut [T]) -> Result<()> {
        if self.alphabet - 1 > T::LARGEST {
            return Err(Error::invalid(
                "alphabet",
                self.alphabet,
                format!("[2, {}] for this integer type", u128::from(T::LARGEST) + 1),
            ));
        }
        for value in values {
            *value = T::from_u64(self.respond(stream, value.to_u64()));
        }
        Ok(())
    }
}
