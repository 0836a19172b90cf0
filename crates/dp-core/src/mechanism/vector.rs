//! Noise on numbers that the caller computed.

use super::authority::Seal;
use super::basis::Basis;
use super::calibrated::{Calibrated, GridNoise};
use super::contract::{Mechanism, Prediction, Progress};
use super::sealed::Sealed;
use super::statistic::Statistic;
use crate::budget::Budget;
use crate::certificate::PublicParameters;
use crate::error::{Error, Result};
use crate::guarantee::Guarantee;
use crate::noise::{AdditiveNoise, NoiseRng, VALUES_PER_STREAM};
use crate::release::Release;
use core::ops::ControlFlow;
use zeroize::Zeroize;

/// A vector of numbers that the caller computed (counts, sums), with Gaussian or Laplace noise.
///
/// # Privacy
/// The [`Statistic`] is at the caller's word: adjacent inputs must move the exact numbers by no
/// more than its sensitivity, and the computed ones in no more than its coordinates. So the guarantee is declared. Everything
/// after that word (grid, rounding, calibration, sampling) is exact, and numbers beyond the
/// statistic's magnitude are refused.
///
/// ```
/// use dp_core::accounting::Ledger;
/// use dp_core::mechanism::{Basis, Mechanism, PrivateVector, Statistic};
/// use dp_core::noise::GaussianNoise;
/// use dp_core::{Adjacency, Budget, EntryBound, L2Sensitivity, NoiseRng, NormBound};
///
/// // The sum of rows of two numbers in [0, 1]: a row has norm sqrt 2 at most.
/// let bound = NormBound::new(2f64.sqrt())?;
/// let row = Adjacency::AddRemoveRow { bound };
/// let statistic = Statistic::new(row, L2Sensitivity::new(bound.get())?, 2, EntryBound::new(1e9)?);
/// let basis = Basis::declared("the analyst", "each number is cut to [0, 1]");
/// let mechanism = PrivateVector::<GaussianNoise>::calibrate((statistic, basis), Budget::new(1.0, 1e-6)?)?;
///
/// // What is declared enters a ledger by name.
/// let mut ledger = Ledger::new(row);
/// ledger.spend_accepting_claim(mechanism.guarantee(), 1, "sums")?;
/// let release = mechanism.release(&[512.25, 377.5], &mut NoiseRng::from_os()?)?;
/// assert_eq!(release.payload().len(), 2);
/// # Ok::<(), dp_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PrivateVector<N: GridNoise> {
    statistic: Statistic<N::Sensitivity>,
    calibrated: Calibrated<N>,
}

impl<N: GridNoise> Sealed for PrivateVector<N> {
    const SEAL: Seal<Self> = crate::authority!().seal();
}

impl<N: GridNoise> PrivateVector<N> {
    /// The noise with its guarantee.
    #[must_use]
    pub fn calibrated(&self) -> &Calibrated<N> {
        &self.calibrated
    }

    /// The statistic as it was declared.
    #[must_use]
    pub fn statistic(&self) -> &Statistic<N::Sensitivity> {
        &self.statistic
    }

    fn check(&self, values: &[f64]) -> Result<()> {
        let length = self.statistic.length();
        if values.len() != length {
            let allowed = format!("{length}, as the statistic says");
            return Err(Error::invalid("how many numbers", values.len(), allowed));
        }
        let most = self.statistic.magnitude().get() + self.statistic.error();
        // NaN compares false.
        if values.iter().all(|v| v.abs() <= most) {
            if N::WHOLE && values.iter().any(|v| v.fract() != 0.0) {
                let allowed =
                    "whole numbers under this noise: Gaussian and Laplace noise take others";
                return Err(Error::invalid("numbers to release", "one of them", allowed));
            }
            Ok(())
        } else {
            let allowed = format!("[-{most}, {most}], as the statistic says");
            Err(Error::invalid("numbers to release", "one of them", allowed))
        }
    }

    fn public(&self) -> PublicParameters {
        let s = &self.statistic;
        [
            ("numbers".to_owned(), s.length().into()),
            ("numbers one change moves".to_owned(), s.coordinates().into()),
            ("largest number".to_owned(), s.magnitude().get().into()),
            ("computation error".to_owned(), s.error().into()),
        ]
        .into()
    }
}

/// Values between two questions to the hook.
const PART: usize = 64 * VALUES_PER_STREAM;

impl<N: GridNoise> Mechanism for PrivateVector<N> {
    type Config = (Statistic<N::Sensitivity>, Basis);
    type Input<'a> = &'a [f64];
    type Output = Release<Vec<f64>>;
    type Facts = ();
    type Error = Error;

    fn calibrate((statistic, basis): Self::Config, budget: Budget) -> Result<Self> {
        Ok(Self { statistic, calibrated: Calibrated::calibrate(statistic, budget, basis)? })
    }

    fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    fn predict(&self, (): ()) -> Result<Prediction> {
        Ok(Prediction::new("one number", self.calibrated.noise().deviation()))
    }

    fn release_watched(
        &self,
        values: &[f64],
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<Vec<f64>>> {
        self.check(values)?;
        let mut noisy = values.to_vec();
        let total = noisy.len().div_ceil(PART) as u64;
        let parts = noisy.chunks_mut(PART).enumerate();
        let done = parts.map(|(i, part)| {
            Progress::new(i as u64, total).ask(hook)?;
            self.calibrated.add_to(rng, part)
        });
        if let Err(error) = done.collect::<Result<()>>() {
            // What has no noise yet is private.
            noisy.zeroize();
            return Err(error);
        }
        let certificate = self.calibrated.certificate(N::NAME, self.public(), rng.kind());
        Ok(Release::certified(noisy, certificate))
    }
}
