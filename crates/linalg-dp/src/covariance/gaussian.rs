//! The symmetric Gaussian mechanism ("Analyze Gauss", Frobenius-isotropic form).

use super::clip::{RowClip, as_one_row, leaves_rows_public, unit_change};
use super::gram::{ExactGram, noise_grid};
use super::mechanism::{CovarianceMechanism, Privatises, prediction, release_watched};
use super::release::{CHOSEN, CONSTANT, CovarianceNoise, PrivateCovariance, ROWS, Sums};
use crate::author::AUTHOR;
use crate::error::{Error, Result};
use crate::products::check_grid;
use core::ops::ControlFlow;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::mechanism::{Calibrated, Mechanism, Prediction, Progress, author};
use dp_core::noise::{Grid, NoiseLaw, SymmetricGaussian};
use dp_core::profile::{GaussianStep, RowChange, covariance_sensitivity};
use dp_core::{
    Adjacency, Budget, Certificate, Guarantee, L2Sensitivity, NoiseRng, NoiseScale, NormBound,
    Profile, PublicValue, Release, SquaredNorm, Theorem, calibrate,
};

const NAME: &str = "symmetric Gaussian covariance";

/// Releases `A^T A + N`, N symmetric, isotropic in the Frobenius geometry: standard
/// deviation sigma on the diagonal and `sigma / sqrt 2` off it.
///
/// # Privacy
/// The Frobenius sensitivity is `B^2` when a row of norm at most B is added or removed and
/// `sqrt 2 B^2` when it is replaced: a Gaussian mechanism of exactly that sensitivity. Of a user with up to m such rows it is
/// m times as much, which equal rows attain.
///
/// # References
/// Dwork, Talwar, Thakurta, Zhang 2014 (Algorithm 1); it uses sigma off the diagonal
/// too, twice the variance for nothing. Proof: `docs/proofs/covariance.md`.
///
/// ```
/// use dp_core::mechanism::Mechanism;
/// use dp_core::{Adjacency, Budget, NoiseRng, NormBound, SquaredNorm};
/// use linalg_dp::covariance::GaussianCovariance;
///
/// let adjacency = Adjacency::ReplaceRow { bound: NormBound::new(1.0)? };
/// let budget = Budget::new(1.0, 1e-6)?;
/// let mechanism = <GaussianCovariance as Mechanism>::calibrate((2, adjacency), budget)?;
/// // The error is known before any row is.
/// let expected = mechanism.predict(SquaredNorm::new(1000.0)?)?.root_mean_square;
/// let release = mechanism.release(&[0.6, 0.8].repeat(1000), &mut NoiseRng::from_os()?)?;
/// assert!((release.payload().unbiased()[(0, 0)] - 360.0).abs() < 6.0 * expected);
/// # Ok::<(), linalg_dp::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct GaussianCovariance {
    clip: RowClip,
    sigma: NoiseScale,
    grid: Grid,
    noise: Noise,
}

/// The noise, and what its release promises.
#[derive(Debug, Clone)]
enum Noise {
    Alone(Calibrated<SymmetricGaussian>),
    /// After the bound was chosen.
    AfterChoice {
        noise: SymmetricGaussian,
        guarantee: Guarantee,
        choice: Choice,
    },
}

/// How a bound was chosen: part of what is composed.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    /// Counts of norms.
    pub(super) step: GaussianStep,
    /// Their noise.
    pub(super) law: NoiseLaw,
    /// The share of all rows that were to be within.
    pub(super) share: f64,
}

impl GaussianCovariance {
    /// The least sigma for the budget.
    ///
    /// # Errors
    /// A budget with delta = 0, an adjacency that does not protect rows, or a dimension
    /// or bound outside its range.
    pub fn calibrate(dim: usize, adjacency: Adjacency, budget: Budget) -> Result<Self> {
        Self::calibrate_clip(RowClip::new(dim, unit_change(adjacency, NAME)?.0)?, adjacency, budget)
    }

    /// The least sigma for a release of sums and second moments together: [`PrivateCovariance::sums`], from which
    /// [`crate::analysis::Moments`] reads means, deviations, correlations and the centred matrix.
    ///
    /// Every row is followed by a public constant c, 7/16 of the bound B: what is released is the covariance of
    /// `[x, c]`, whose rows have norm at most `sqrt(B^2 + c^2)`. So sigma is 1.19 times that of
    /// [`GaussianCovariance::calibrate`], where two releases would cost 1.41 times and more.
    ///
    /// # Errors
    /// As [`GaussianCovariance::calibrate`].
    pub fn calibrate_moments(dim: usize, adjacency: Adjacency, budget: Budget) -> Result<Self> {
        let clip = RowClip::new(dim, unit_change(adjacency, NAME)?.0)?.check_powers()?;
        Self::calibrate_clip(clip.followed_by(clip.constant_for_means())?, adjacency, budget)
    }

    fn calibrate_clip(clip: RowClip, adjacency: Adjacency, budget: Budget) -> Result<Self> {
        let (_, change, rows) = unit_change(adjacency, NAME)?;
        let bound = as_one_row(clip.check_room()?.certified_bound(), rows)?;
        // The final sigma is a hair larger than the one the grid is chosen for: finer is safe.
        let grid = noise_grid(&clip, calibrate::symmetric_gaussian(budget, bound, change)?)?;
        let paid = Self::paid_bound(&clip, rows, grid)?;
        let sigma = calibrate::symmetric_gaussian(budget, paid, change)?;
        Self::with_grid(clip, adjacency, budget, sigma, grid)
    }

    /// A step of the given mu in a composition, and its grid.
    pub(crate) fn step(
        clip: &RowClip,
        (change, rows): (RowChange, u64),
        mu: f64,
    ) -> Result<(GaussianStep, Grid)> {
        let scale = |bound| NoiseScale::new(covariance_sensitivity(bound, change) / mu);
        let grid = noise_grid(clip, scale(as_one_row(clip.certified_bound(), rows)?)?)?;
        let paid = Self::paid_bound(clip, rows, grid)?;
        let sensitivity = L2Sensitivity::new(covariance_sensitivity(paid, change))?;
        let sigma = scale(paid)?;
        check_grid(sigma, grid)?;
        Ok((GaussianStep { sensitivity, sigma, times: 1 }, grid))
    }

    /// A given sigma (for compositions calibrated elsewhere), checked against the budget.
    ///
    /// # Errors
    /// As [`GaussianCovariance::calibrate`]; also when sigma misses the budget.
    pub fn with_sigma(
        dim: usize,
        adjacency: Adjacency,
        budget: Budget,
        sigma: NoiseScale,
    ) -> Result<Self> {
        let clip = RowClip::new(dim, unit_change(adjacency, NAME)?.0)?.check_room()?;
        Self::with_grid(clip, adjacency, budget, sigma, noise_grid(&clip, sigma)?)
    }

    fn with_grid(
        clip: RowClip,
        adjacency: Adjacency,
        budget: Budget,
        sigma: NoiseScale,
        grid: Grid,
    ) -> Result<Self> {
        check_grid(sigma, grid)?;
        let (_, change, rows) = unit_change(adjacency, NAME)?;
        let bound = Self::paid_bound(&clip, rows, grid)?;
        let profile = Profile::SymmetricGaussian { bound, sigma, change };
        let calibrated = AUTHOR.calibrated(
            adjacency,
            budget,
            AUTHOR.theorem(Theorem::CovarianceGaussian),
            profile,
            AUTHOR.symmetric(clip.columns(), sigma, grid)?,
        )?;
        Ok(Self { clip, sigma, grid, noise: Noise::Alone(calibrated) })
    }

    /// The second of two steps: for rows of a bound that the first has chosen, below that of the adjacency.
    pub(super) fn after(
        choice: Choice,
        clip: RowClip,
        mu: f64,
        adjacency: Adjacency,
        budget: Budget,
    ) -> Result<Self> {
        let (_, change, rows) = unit_change(adjacency, NAME)?;
        let (own, grid) = Self::step(&clip, (change, rows), mu)?;
        let sigma = own.sigma;
        let noise = AUTHOR.symmetric(clip.columns(), sigma, grid)?;
        let profile = Profile::GaussianComposition { steps: vec![own, choice.step] };
        let theorem = Theorem::CovarianceOfChosenBound;
        let guarantee = AUTHOR.proven(adjacency, budget, profile, theorem)?;
        Ok(Self { clip, sigma, grid, noise: Noise::AfterChoice { noise, guarantee, choice } })
    }

    /// The bound of one row that moves the totals as far as so many rows of a unit do, with clipping and the rounding of the
    /// totals to the grid paid: totals that differ by D differ by at most `D + d g` once rounded, and both sensitivities grow at
    /// least as the square of the bound.
    pub(crate) fn paid_bound(clip: &RowClip, rows: u64, grid: Grid) -> Result<NormBound> {
        let bound = as_one_row(clip.certified_bound(), rows)?;
        if grid.exponent() == 2 * clip.exponent() {
            return Ok(bound);
        }
        let square = L2Sensitivity::new((bound.get() * bound.get()).next_up())?;
        let paid = grid.inflate_l2(square, clip.columns() * clip.columns(), 0.0)?;
        Ok(NormBound::new(paid.get().sqrt() * (1.0 + 2.0 * f64::EPSILON))?)
    }

    /// The mechanism that makes releases with such a certificate, so that parts can be put together where nobody says again
    /// what was asked for.
    ///
    /// # Errors
    /// [`Error::Core`] for the certificate of anything else than symmetric Gaussian noise on rows of a given bound.
    pub(crate) fn of_certificate(certificate: &Certificate) -> Result<Self> {
        let (statement, guarantee) = (certificate.statement(), certificate.guarantee());
        let dim = match statement.public.get("d") {
            Some(PublicValue::Integer(d)) if statement.mechanism == NAME => usize::try_from(*d),
            _ => return Err(Error::rejected("mechanism", "not a symmetric Gaussian covariance")),
        };
        let dim = dim.map_err(|_| Error::rejected("d", "does not fit in memory"))?;
        let (adjacency, budget) = (guarantee.adjacency(), guarantee.budget());
        let made = match statement.public.contains_key(CONSTANT) {
            true => Self::calibrate_moments(dim, adjacency, budget)?,
            false => Self::calibrate(dim, adjacency, budget)?,
        };
        if made.guarantee() == guarantee {
            return Ok(made);
        }
        Err(Error::rejected("guarantee", "not that of a bound which is given"))
    }

    /// Standard deviation of a diagonal entry of the noise.
    #[must_use]
    pub fn sigma(&self) -> NoiseScale {
        self.sigma
    }
}

impl GaussianCovariance {
    /// What one release promises.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        match &self.noise {
            Noise::Alone(calibrated) => calibrated.guarantee(),
            Noise::AfterChoice { guarantee, .. } => guarantee,
        }
    }

    /// Releases the covariance of `rows` (row-major, n x d).
    ///
    /// # Errors
    /// As [`super::CovarianceStream::push`] and [`super::CovarianceStream::finish`].
    pub fn release(&self, rows: &[f64], rng: &mut NoiseRng) -> Result<Release<PrivateCovariance>> {
        Mechanism::release(self, rows, rng)
    }
}

impl CovarianceMechanism for GaussianCovariance {
    fn dim(&self) -> usize {
        self.clip.dim()
    }

    fn expected_frobenius_error(&self, _trace: SquaredNorm) -> f64 {
        let d = self.clip.dim() as f64;
        self.sigma.get() * (0.5 * d * (d + 1.0)).sqrt()
    }
}

impl Privatises for GaussianCovariance {
    fn promise(&self) -> &Guarantee {
        self.guarantee()
    }

    fn row_clip(&self) -> RowClip {
        self.clip
    }

    fn as_dyn(&self) -> &dyn Privatises {
        self
    }

    fn privatise(
        &self,
        gram: &ExactGram,
        mut public: PublicParameters,
        rng: &mut NoiseRng,
    ) -> Result<Release<PrivateCovariance>> {
        let (dim, columns) = (self.dim(), self.clip.columns());
        let mut noise = vec![0.0; columns * columns];
        let law = match &self.noise {
            Noise::Alone(calibrated) => calibrated.noise(),
            Noise::AfterChoice { noise, .. } => noise,
        };
        law.fill(rng, &mut noise);
        let all = gram.release(self.grid.exponent(), &noise);
        let (values, sums) = if columns > dim {
            let units = f64::from(self.clip.constant_units());
            let constant = units * 2f64.powi(self.clip.exponent());
            let sums = Sums::new(constant, all[dim * columns..].to_vec());
            (
                all.chunks(columns).take(dim).flat_map(|row| &row[..dim]).copied().collect(),
                Some(sums),
            )
        } else {
            (all, None)
        };
        if let Some(sums) = &sums {
            public.insert(CONSTANT.to_owned(), PublicValue::from(sums.constant()));
            let known = leaves_rows_public(self.guarantee().adjacency());
            if let (true, Some(rows)) = (known, gram.rows()) {
                public.insert(ROWS.to_owned(), PublicValue::from(rows));
            }
        }
        let certificate = match &self.noise {
            Noise::Alone(calibrated) => calibrated.certificate(NAME, public, rng.kind()),
            Noise::AfterChoice { noise, guarantee, choice } => {
                public.insert(CHOSEN.to_owned(), PublicValue::from(self.clip.bound()));
                public.insert("quantile".to_owned(), PublicValue::from(choice.share));
                let noise = NoiseLaw::Several { laws: vec![noise.law(), choice.law.clone()] };
                let (mechanism, generator) = (NAME.to_owned(), rng.kind());
                let statement = Statement { mechanism, noise, generator, public };
                AUTHOR.certificate(statement, guarantee.clone())
            }
        };
        let noise = CovarianceNoise::SymmetricGaussian { sigma: self.sigma };
        let payload = PrivateCovariance::new(dim, values, None, noise).with_sums(sums);
        Ok(Release::certified(payload, certificate))
    }
}

impl author::Sealed for GaussianCovariance {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for GaussianCovariance {
    /// Length d of a row, adjacency.
    type Config = (usize, Adjacency);
    type Input<'a> = &'a [f64];
    type Output = Release<PrivateCovariance>;
    /// A bound on the total squared norm of the rows.
    type Facts = SquaredNorm;
    type Error = Error;

    fn calibrate(config: Self::Config, budget: Budget) -> Result<Self> {
        let (dim, adjacency) = config;
        Self::calibrate(dim, adjacency, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        self.guarantee()
    }

    fn predict(&self, trace: SquaredNorm) -> Result<Prediction> {
        Ok(prediction(self, trace))
    }

    fn release_watched(
        &self,
        rows: &[f64],
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<PrivateCovariance>> {
        release_watched(self, rows, rng, hook)
    }
}
