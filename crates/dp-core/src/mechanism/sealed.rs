//! Traits that are implemented in this project only.

use crate::noise::{
    AdditiveNoise, GaussianNoise, LaplaceNoise, NoiseLaw, SymmetricGaussian, WishartNoise,
};
use crate::quantity::{L1Sensitivity, L2Sensitivity};

/// Implemented by what a reader of the documentation cannot implement.
pub trait Sealed {}

impl Sealed for GaussianNoise {}
impl Sealed for LaplaceNoise {}
impl Sealed for L1Sensitivity {}
impl Sealed for L2Sensitivity {}

/// Noise whose law a certificate can state.
pub trait Law {
    /// The law.
    fn noise_law(&self) -> NoiseLaw;
}

impl<N: AdditiveNoise> Law for N {
    fn noise_law(&self) -> NoiseLaw {
        self.law()
    }
}

impl Law for SymmetricGaussian {
    fn noise_law(&self) -> NoiseLaw {
        self.law()
    }
}

impl Law for WishartNoise {
    fn noise_law(&self) -> NoiseLaw {
        self.law()
    }
}
