//! Traits that are implemented in this project only.

use super::authority::Seal;
use crate::noise::{
    AdditiveNoise, DiscreteGaussian, DiscreteLaplace, GaussianNoise, LaplaceNoise, NoiseLaw,
    StaircaseNoise, SymmetricGaussian, UnitCap, WishartNoise,
};
use crate::quantity::{L1Sensitivity, L2Sensitivity};

/// Implemented by what a reader of the documentation cannot implement.
pub trait Sealed: Sized {
    /// What only an author has for this type.
    #[doc(hidden)]
    const SEAL: Seal<Self>;
}

impl Sealed for GaussianNoise {
    const SEAL: Seal<Self> = crate::authority!().seal();
}
impl Sealed for LaplaceNoise {
    const SEAL: Seal<Self> = crate::authority!().seal();
}
impl Sealed for StaircaseNoise {
    const SEAL: Seal<Self> = crate::authority!().seal();
}
impl Sealed for DiscreteLaplace {
    const SEAL: Seal<Self> = crate::authority!().seal();
}
impl Sealed for DiscreteGaussian {
    const SEAL: Seal<Self> = crate::authority!().seal();
}
impl Sealed for L1Sensitivity {
    const SEAL: Seal<Self> = crate::authority!().seal();
}
impl Sealed for L2Sensitivity {
    const SEAL: Seal<Self> = crate::authority!().seal();
}

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

impl Law for UnitCap {
    fn noise_law(&self) -> NoiseLaw {
        self.law()
    }
}
