//! Noise and its guarantee in one object.

use super::authority::Authority;
use super::basis::Basis;
use super::sealed::{Law, Sealed};
use super::statistic::{Sensitivity, Statistic};
use crate::budget::Budget;
use crate::calibrate;
use crate::certificate::{Certificate, PublicParameters, Statement};
use crate::error::{Error, Result};
use crate::guarantee::Guarantee;
use crate::noise::{
    AdditiveNoise, DiscreteGaussian, DiscreteLaplace, GaussianNoise, GeneratorKind, Grid,
    LaplaceNoise, NoiseLaw, NoiseStream, StaircaseNoise, StaircaseScale,
};
use crate::profile::Profile;
use crate::profile::integer::{concentrated_rho, concentrated_sigma};
use crate::quantity::{L1Sensitivity, L2Sensitivity, LaplaceScale, NoiseScale, Scale};

/// A noise law on a grid that is calibrated to a sensitivity: [`GaussianNoise`], [`LaplaceNoise`] or, for a change of one
/// number, [`StaircaseNoise`]; for whole numbers, [`DiscreteGaussian`] and [`DiscreteLaplace`].
pub trait GridNoise: AdditiveNoise + Sealed + Sized {
    /// The norm it hides.
    type Sensitivity: Sensitivity;
    /// Its scale.
    type Scale: Scale;
    /// Its name in certificates.
    const NAME: &'static str;
    /// How many numbers one change may move at most.
    const COORDINATES: usize = usize::MAX;
    /// Whether it is for whole numbers alone, on which nothing is rounded.
    const WHOLE: bool = false;

    /// The least scale for a budget, when one change moves at most so many numbers.
    ///
    /// # Errors
    /// A budget that no scale meets.
    fn least_scale(
        budget: Budget,
        sensitivity: Self::Sensitivity,
        coordinates: usize,
    ) -> Result<Self::Scale>;

    /// The profile of this noise on numbers of this sensitivity, of which one change moves at most so many.
    fn profile(&self, sensitivity: Self::Sensitivity, coordinates: usize) -> Profile;

    /// The standard deviation of a sample.
    fn deviation(&self) -> f64;

    #[doc(hidden)]
    fn of_scale(author: Authority, scale: Self::Scale, grid: Grid) -> Result<Self>;
}

impl GridNoise for GaussianNoise {
    type Sensitivity = L2Sensitivity;
    type Scale = NoiseScale;
    const NAME: &'static str = "Gaussian noise on a vector";

    fn least_scale(budget: Budget, sensitivity: L2Sensitivity, _: usize) -> Result<NoiseScale> {
        calibrate::gaussian(budget, sensitivity)
    }

    fn profile(&self, sensitivity: L2Sensitivity, _: usize) -> Profile {
        Profile::Gaussian { sensitivity, sigma: self.sigma() }
    }

    fn deviation(&self) -> f64 {
        self.sigma().get()
    }

    fn of_scale(_: Authority, scale: NoiseScale, grid: Grid) -> Result<Self> {
        Self::new(scale, grid)
    }
}

impl GridNoise for LaplaceNoise {
    type Sensitivity = L1Sensitivity;
    type Scale = LaplaceScale;
    const NAME: &'static str = "Laplace noise on a vector";

    fn least_scale(budget: Budget, sensitivity: L1Sensitivity, _: usize) -> Result<LaplaceScale> {
        calibrate::laplace(budget, sensitivity)
    }

    fn profile(&self, sensitivity: L1Sensitivity, _: usize) -> Profile {
        Profile::Laplace { sensitivity, scale: self.scale() }
    }

    fn deviation(&self) -> f64 {
        core::f64::consts::SQRT_2 * self.scale().get()
    }

    fn of_scale(_: Authority, scale: LaplaceScale, grid: Grid) -> Result<Self> {
        Self::new(scale, grid)
    }
}

impl GridNoise for StaircaseNoise {
    type Sensitivity = L1Sensitivity;
    type Scale = StaircaseScale;
    const NAME: &'static str = "staircase noise on a vector";
    const COORDINATES: usize = 1;

    fn least_scale(budget: Budget, sensitivity: L1Sensitivity, _: usize) -> Result<StaircaseScale> {
        StaircaseScale::new(calibrate::staircase(budget)?, sensitivity)
    }

    fn profile(&self, sensitivity: L1Sensitivity, _: usize) -> Profile {
        let (epsilon, inner, grid) = (self.epsilon(), self.inner(), self.grid());
        Profile::Staircase { sensitivity, epsilon, inner, grid }
    }

    fn deviation(&self) -> f64 {
        self.variance().sqrt()
    }

    fn of_scale(_: Authority, scale: StaircaseScale, grid: Grid) -> Result<Self> {
        scale.on(grid)
    }
}

impl GridNoise for DiscreteLaplace {
    type Sensitivity = L1Sensitivity;
    type Scale = LaplaceScale;
    const NAME: &'static str = "discrete Laplace noise on a vector";
    const WHOLE: bool = true;

    fn least_scale(budget: Budget, sensitivity: L1Sensitivity, _: usize) -> Result<LaplaceScale> {
        calibrate::discrete_laplace(budget, sensitivity.get() as u64)
    }

    fn profile(&self, sensitivity: L1Sensitivity, _: usize) -> Profile {
        Profile::DiscreteLaplace { moves: sensitivity.get() as u64, scale: self.scale() }
    }

    fn deviation(&self) -> f64 {
        self.law().moments().map_or(0.0, |[variance, _]| variance.sqrt())
    }

    fn of_scale(_: Authority, scale: LaplaceScale, _: Grid) -> Result<Self> {
        Self::new(scale)
    }
}

/// By how much one number moves, when all move by this in l2.
fn one_number(sensitivity: L2Sensitivity) -> u64 {
    // A root that was rounded down.
    (sensitivity.get() * (1.0 + 1e-12)) as u64
}

/// The square of what whole numbers move by, a whole number.
fn squared(sensitivity: L2Sensitivity) -> f64 {
    (sensitivity.get() * sensitivity.get()).round()
}

/// Of one number exact; of several by the concentration of each (`docs/proofs/integer-noise.md`).
impl GridNoise for DiscreteGaussian {
    type Sensitivity = L2Sensitivity;
    type Scale = NoiseScale;
    const NAME: &'static str = "discrete Gaussian noise on a vector";
    const WHOLE: bool = true;

    fn least_scale(
        budget: Budget,
        sensitivity: L2Sensitivity,
        coordinates: usize,
    ) -> Result<NoiseScale> {
        match coordinates {
            0 | 1 => calibrate::discrete_gaussian(budget, one_number(sensitivity)),
            _ => concentrated_sigma(budget, squared(sensitivity)),
        }
    }

    fn profile(&self, sensitivity: L2Sensitivity, coordinates: usize) -> Profile {
        let sigma = self.sigma();
        match coordinates {
            0 | 1 => Profile::DiscreteGaussian { moves: one_number(sensitivity), sigma },
            _ => Profile::Zcdp { rho: concentrated_rho(squared(sensitivity), sigma) },
        }
    }

    fn deviation(&self) -> f64 {
        self.law().moments().map_or(0.0, |[variance, _]| variance.sqrt())
    }

    fn of_scale(_: Authority, scale: NoiseScale, _: Grid) -> Result<Self> {
        Self::new(scale)
    }
}

/// Noise, and the guarantee that a release with this very noise has.
///
/// The two are made together and cannot be taken apart and put together otherwise:
///
/// ```compile_fail,E0451
/// use dp_core::{Guarantee, mechanism::Calibrated, noise::GaussianNoise};
///
/// fn pair(noise: GaussianNoise, guarantee: Guarantee) -> Calibrated<GaussianNoise> {
///     Calibrated { noise, guarantee }
/// }
/// ```
///
/// while one call makes both:
///
/// ```
/// use dp_core::mechanism::{Basis, Calibrated, Statistic};
/// use dp_core::noise::{AdditiveNoise, GaussianNoise};
/// use dp_core::{Adjacency, Budget, EntryBound, L2Sensitivity, NoiseRng, NormBound};
///
/// // Sums of rows of norm 1 at most, of which one may be added or removed.
/// let row = Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? };
/// let sums = Statistic::new(row, L2Sensitivity::new(1.0)?, 3, EntryBound::new(1e6)?);
/// let basis = Basis::declared("the author of this page", "rows are clipped to norm 1");
/// let noise = Calibrated::<GaussianNoise>::calibrate(sums, Budget::new(1.0, 1e-6)?, basis)?;
/// let mut values = [12.5, 400.25, -7.0];
/// noise.add_to(&mut NoiseRng::from_os()?, &mut values)?;
/// assert!((noise.noise().sigma().get() - 4.2247).abs() < 1e-4);
/// assert!(noise.guarantee().verify().is_ok());
/// # Ok::<(), dp_core::Error>(())
/// ```
///
/// # References
/// Mironov 2012 (why values are rounded to a public grid before noise); `docs/proofs/mechanism.md`.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrated<N> {
    noise: N,
    guarantee: Guarantee,
}

impl<N: GridNoise> Calibrated<N> {
    /// The least noise that meets the budget for this statistic: calibrated to the exact
    /// sensitivity first, which fixes the grid; then to the sensitivity of numbers on that grid.
    ///
    /// # Errors
    /// A budget that no noise of this law meets; [`crate::Error::InvalidParameter`] when no grid keeps the
    /// sums exact ([`Grid::choose`]), or the basis is empty words.
    pub fn calibrate(
        statistic: Statistic<N::Sensitivity>,
        budget: Budget,
        basis: Basis,
    ) -> Result<Self> {
        Self::by_rule(statistic, budget, basis, |s| {
            N::least_scale(budget, s, statistic.coordinates())
        })
    }

    pub(super) fn by_rule(
        statistic: Statistic<N::Sensitivity>,
        budget: Budget,
        basis: Basis,
        rule: impl Fn(N::Sensitivity) -> Result<N::Scale>,
    ) -> Result<Self> {
        if statistic.coordinates() > N::COORDINATES {
            let allowed =
                format!("at most {} for this noise: Laplace noise takes more", N::COORDINATES);
            let moved = statistic.coordinates();
            return Err(Error::invalid("numbers that one change moves", moved, allowed));
        }
        let (grid, sensitivity) = match N::WHOLE {
            true => (Grid::WHOLE, statistic.whole()?),
            false => statistic.on_grid(rule(statistic.sensitivity())?)?,
        };
        let noise = N::of_scale(crate::authority!(), rule(sensitivity)?, grid)?;
        let profile = noise.profile(sensitivity, statistic.coordinates());
        Self::of_profile(statistic.adjacency(), budget, basis, profile, noise)
    }
}

impl<N: Law> Calibrated<N> {
    pub(super) fn of_profile(
        adjacency: crate::Adjacency,
        budget: Budget,
        basis: Basis,
        profile: Profile,
        noise: N,
    ) -> Result<Self> {
        crate::certificate::check_pair(adjacency, &profile, &noise.noise_law())?;
        Ok(Self { guarantee: basis.guarantee(adjacency, budget, profile)?, noise })
    }
}

impl<N> Calibrated<N> {
    /// The noise.
    #[must_use]
    pub fn noise(&self) -> &N {
        &self.noise
    }

    /// What a release with this noise promises.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }
}

impl<N: Law> Calibrated<N> {
    pub(super) fn recast<M: Law>(self, into: impl FnOnce(N) -> M) -> Result<Calibrated<M>> {
        let law = self.noise.noise_law();
        let noise = into(self.noise);
        if noise.noise_law() == law {
            return Ok(Calibrated { noise, guarantee: self.guarantee });
        }
        let (left, right) = (format!("{law:?}"), format!("{:?}", noise.noise_law()));
        Err(Error::Mismatch { what: "noise and its other type", left, right })
    }

    /// The certificate of a release whose noise this is, drawn by this kind of generator.
    #[must_use]
    pub fn certificate(
        &self,
        mechanism: &str,
        public: PublicParameters,
        generator: GeneratorKind,
    ) -> Certificate {
        let (mechanism, noise) = (mechanism.to_owned(), self.noise.noise_law());
        Certificate::new(Statement { mechanism, noise, generator, public }, self.guarantee.clone())
    }
}

impl<N: AdditiveNoise> AdditiveNoise for Calibrated<N> {
    fn law(&self) -> NoiseLaw {
        self.noise.law()
    }

    fn grid(&self) -> Grid {
        self.noise.grid()
    }

    fn add_block(&self, stream: &mut NoiseStream, values: &mut [f64]) -> Result<()> {
        self.noise.add_block(stream, values)
    }

    fn add_checked(&self, stream: &mut NoiseStream, values: &mut [f64]) -> Result<()> {
        self.noise.add_checked(stream, values)
    }
}
