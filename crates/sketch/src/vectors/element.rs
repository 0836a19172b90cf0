//! How the numbers of a file are stored.

use super::compact::coarse;
use super::noise::SketchNoise;
use super::sketch::PrivateSketch;
use crate::error::{Error, Result};
use dp_core::noise::AdditiveNoise;
use dp_core::release_file::Kind;

/// How numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Element {
    /// All bits of the release.
    F64,
    /// Rounded to the nearest `f32` after the noise was added (post-processing): half the size. Refused
    /// where that rounding would not be negligible beside the noise
    /// ([`super::PrivateProjection::check_element`]).
    F32,
    /// Rounded after the noise was added (post-processing) to a grid of at most an eighth of the noise's scale, and
    /// packed: 6 to 8 bits a number where noise prevails. Estimates and intervals count the rounding. Gaussian and
    /// Laplace noise only; the grid follows from the stated law (`docs/proofs/grid.md`).
    Compact,
}

impl Element {
    /// The kind of file.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::F64 => Kind::Sketch64,
            Self::F32 => Kind::Sketch32,
            Self::Compact => Kind::SketchCompact,
        }
    }

    /// Bytes of a number that is stored whole.
    pub(super) fn bytes(self) -> usize {
        if self == Self::F32 { 4 } else { 8 }
    }

    /// Refuses numbers up to `largest` whose rounding is not negligible: more than 1/256 of the
    /// standard deviation of the noise, or beyond the range of `f32`. Below that it adds at most 2^-16
    /// of the noise's variance: docs/proofs/private-projection.md, "Streams, files, threads".
    ///
    /// # Errors
    /// An invalid element.
    fn check_range(self, largest: f64, noise_variance: f64) -> Result<()> {
        const ROUNDING: f64 = 1.0 / (1 << 24) as f64;
        let fits =
            largest <= f64::from(f32::MAX) && largest * ROUNDING <= noise_variance.sqrt() / 256.0;
        // Below the normal range of f32 the rounding is absolute.
        if self != Self::F32 || fits && noise_variance.sqrt() >= f64::from(f32::MIN_POSITIVE) {
            return Ok(());
        }
        let allowed =
            "f64 for this mechanism: f32 would round by more than 1/256 of the noise, or overflow";
        Err(Error::invalid("element", "f32", allowed))
    }

    /// For a mechanism whose projected rows are at most `magnitude` in absolute value; noise beyond 64
    /// standard deviations is not reckoned with.
    pub(crate) fn check_mechanism(self, magnitude: f64, noise: SketchNoise) -> Result<()> {
        if self == Self::Compact {
            coarse(&noise.law())?;
        }
        let variance = noise.variance();
        self.check_range(magnitude + 64.0 * variance.sqrt(), variance)
    }

    /// For a finished release.
    pub(crate) fn check_release(self, sketch: &PrivateSketch) -> Result<()> {
        let largest = sketch.values().iter().fold(0f64, |m, v| m.max(v.abs()));
        self.check_range(largest, sketch.noise_variance())
    }
}
