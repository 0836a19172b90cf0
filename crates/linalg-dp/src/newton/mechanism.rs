//! The mechanism: shares of the budget, steps, and their release.

use super::release::NewtonRegression;
use super::step::NewtonStep;
use super::sums::{Rows, STEPS, counts};
use super::system::System;
use crate::author::AUTHOR;
use crate::covariance::{
    CONSTANT, CovarianceNoise, GaussianCovariance, MAX_SHIFT, PrivateCovariance, RowClip,
    answerable, longer_rows, name_features, rescale, unit_change,
};
use crate::error::{Error, Result};
use crate::products::check_grid;
use crate::sizes::Sizes;
use core::ops::ControlFlow;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::mechanism::{Mechanism, Prediction, Progress, author};
use dp_core::noise::{AdditiveNoise, GaussianNoise, Grid, NoiseLaw, SymmetricGaussian};
use dp_core::profile::GaussianStep;
use dp_core::{
    Adjacency, Budget, Guarantee, L2Sensitivity, NoiseRng, NoiseScale, NormBound, Profile,
    PublicValue, Release, Theorem, calibrate,
};

const NAME: &str = "regression by private Newton steps";
/// Newton steps.
pub(crate) const TIMES: usize = 4;
/// Shares of mu squared: the Gram matrix, all counts of residuals; the gradients have the rest.
const GRAM: f64 = 0.3;
const COUNTS: f64 = 0.05;
/// The share of residuals that a clip lets through, and how many public sizes there are for it.
pub(super) const WITHIN: f64 = 0.9;
pub(super) const SIZES: usize = 24;

/// What [`PrivateNewton`] needs to know beside the budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NewtonConfig {
    /// Number of features of a row.
    pub features: usize,
    /// What is protected. Its bound is on the norm of a row's features (longer ones are scaled to it); the target
    /// may be any number.
    pub adjacency: Adjacency,
    /// About the largest size of a target: residuals of the first step are clipped to it.
    pub label_bound: NormBound,
    /// Whether there is an intercept: every row of features is followed by a public constant, at 1.19 times the noise
    /// of the matrix and 1.09 times that of gradients (1.33 times where a row becomes zero).
    pub intercept: bool,
}

/// Coefficients of a linear regression: four Newton steps on clipped residuals, preconditioned by
/// a Gram matrix that is released once and denoised; and a last one with all gradients, each moved to the last
/// coefficients by that matrix and weighted by its noise, which asks nothing more of the rows.
///
/// # Privacy
/// The Gram matrix (a share .3 of mu squared), four sums `sum clip(theta . x - y, c) x` (.65) and, before each but the
/// first, counts of the residuals on a public grid of sizes (.05), from which c is taken: the least size that nine
/// tenths are within. Each is a Gaussian mechanism of known sensitivity, whatever was published before: they compose
/// exactly, under adaptive choice, to one Gaussian mechanism. All of them are in one certificate.
///
/// The rows must be at hand, and each release spends the whole budget for one target column.
///
/// # References
/// Proof and rule, which is this project's: `docs/proofs/private-newton.md`. Private optimisation by second-order steps:
/// Ganesh, Haghifam, Steinke & Thakurta 2023.
///
/// ```
/// use dp_core::mechanism::Mechanism;
/// use dp_core::{Adjacency, Budget, NoiseRng, NormBound};
/// use linalg_dp::newton::{NewtonConfig, PrivateNewton};
///
/// // y = .5 x_1, rows [x_1, x_2, y].
/// let rows: Vec<f64> = (0..40_000).flat_map(|i| {
///     let (a, b) = ((0.1 * i as f64).sin() * 0.7, (0.37 * i as f64).cos() * 0.7);
///     [a, b, 0.5 * a]
/// }).collect();
/// let adjacency = Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? };
/// let label_bound = NormBound::new(1.0)?;
/// let config = NewtonConfig { features: 2, adjacency, label_bound, intercept: false };
/// let mechanism = <PrivateNewton as Mechanism>::calibrate(config, Budget::new(1.0, 1e-6)?)?;
/// let release = mechanism.release(&rows, &mut NoiseRng::from_os()?)?;
/// let found = release.payload().coefficients();
/// assert!((found[0] - 0.5).abs() < 0.02 && found[1].abs() < 0.02);
/// # Ok::<(), linalg_dp::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PrivateNewton {
    clip: RowClip,
    label_bound: f64,
    sizes: Sizes,
    gram: SymmetricGaussian,
    gram_grid: Grid,
    gram_sigma: NoiseScale,
    gradient: GaussianNoise,
    counts: GaussianNoise,
    guarantee: Guarantee,
    names: PublicParameters,
}

/// What one change moves a gradient over its clip by, and counts by. Where a row of features becomes zero, with its
/// constant c left, its part of a gradient goes from `k [x, c]` to `k' [0, c]`. Those of a user's rows add up.
pub(crate) fn moves(clip: &RowClip, adjacency: Adjacency) -> (f64, f64) {
    let b = clip.certified_bound().get();
    let one = match adjacency.each() {
        Adjacency::AddRemoveRow { .. } => (b, 1.0),
        // A row of zeros has a residual too.
        Adjacency::ZeroRow { .. } => {
            let constant = f64::from(clip.constant_units()) * 2f64.powi(clip.exponent());
            let both = if constant > 0.0 { b.hypot(3f64.sqrt() * constant) } else { b };
            (both * (1.0 + 4.0 * f64::EPSILON), core::f64::consts::SQRT_2)
        }
        _ => (2.0 * b, core::f64::consts::SQRT_2),
    };
    match adjacency.rows() as f64 {
        1.0 => one,
        rows => {
            let rows = rows * (1.0 + 4.0 * f64::EPSILON);
            (rows * one.0, rows * one.1)
        }
    }
}

/// What is paid for a gradient over its clip whose noise has this grid: its own move, and rounding to a grid that is
/// coarser than the sums are.
pub(crate) fn paid_gradient(clip: &RowClip, adjacency: Adjacency, grid: Grid) -> Result<f64> {
    let exact = L2Sensitivity::new(moves(clip, adjacency).0)?;
    let own = clip.exponent() - STEPS;
    if grid.exponent() == own {
        return Ok(exact.get());
    }
    Ok(grid.inflate_l2(exact, clip.columns(), 0.0)?.get())
}

impl PrivateNewton {
    /// The least noise for the budget.
    ///
    /// # Errors
    /// A budget with delta = 0, an adjacency that does not protect rows, or a number of features or a bound outside its
    /// range.
    pub fn calibrate(config: NewtonConfig, budget: Budget) -> Result<Self> {
        let NewtonConfig { features, adjacency, label_bound, intercept } = config;
        let (bound, change, rows) = unit_change(adjacency, NAME)?;
        if features == 0 {
            let allowed = "[1, 2^20]: of rows without their target";
            return Err(Error::invalid("features", features, allowed));
        }
        answerable("label_bound", label_bound.get())?;
        let clip = RowClip::new(features, bound)?.check_powers()?.check_room()?;
        let clip = if intercept { clip.followed_by(clip.constant_for_means())? } else { clip };
        let whole = 1.0 / calibrate::gaussian(budget, L2Sensitivity::new(1.0)?)?.get();
        // A hair less, for the roundings of the scales below.
        let mu = |share: f64| whole * share.sqrt() * (1.0 - 1e-12);
        let (of_gradient, of_counts) = moves(&clip, adjacency);
        let scale = |sensitivity: f64, share: f64| NoiseScale::new(sensitivity / mu(share));

        let (gram, gram_grid) = GaussianCovariance::step(&clip, (change, rows), mu(GRAM))?;
        let each = (1.0 - GRAM - COUNTS) / TIMES as f64;
        let own = clip.exponent() - STEPS;
        let rough = scale(of_gradient, each)?;
        let grid = Grid::new(own.max(rough.get().log2().floor() as i32 - 30))?;
        if grid.exponent() - own > MAX_SHIFT {
            return Err(Error::invalid("noise of a gradient", rough, "below 2^100 units of it"));
        }
        let paid = L2Sensitivity::new(paid_gradient(&clip, adjacency, grid)?)?;
        let gradient = GaussianStep {
            sensitivity: paid,
            sigma: scale(paid.get(), each)?,
            times: TIMES as u64,
        };
        check_grid(gradient.sigma, grid)?;
        let of = |step: &GaussianStep, grid| AUTHOR.gaussian(step.sigma, grid);
        let gradient_noise = of(&gradient, grid)?;

        let rounds = TIMES - 1;
        let counts = GaussianStep {
            sensitivity: L2Sensitivity::new(of_counts)?,
            sigma: scale(of_counts, COUNTS / rounds as f64)?,
            times: rounds as u64,
        };
        // Counts are multiples of it.
        let grid = Grid::new((counts.sigma.get().log2().floor() as i32 - 30).min(0))?;
        check_grid(counts.sigma, grid)?;
        let counts_noise = of(&counts, grid)?;

        let gram_sigma = gram.sigma;
        let symmetric = AUTHOR.symmetric(clip.columns(), gram_sigma, gram_grid)?;
        let profile = Profile::GaussianComposition { steps: vec![gram, gradient, counts] };
        let guarantee = AUTHOR.proven(adjacency, budget, profile, Theorem::PrivateNewton)?;
        Ok(Self {
            clip,
            label_bound: label_bound.get(),
            sizes: Sizes::new(label_bound.get(), SIZES, 0.0),
            gram: symmetric,
            gram_grid,
            gram_sigma,
            gradient: gradient_noise,
            counts: counts_noise,
            guarantee,
            names: PublicParameters::new(),
        })
    }

    /// Names the features, and last the target: certificates state them, so they become public
    /// ([`crate::covariance::column_names`] gives those of the features, the parameter `target` the other).
    ///
    /// # Errors
    /// [`Error::Core`] unless there are d + 1 different names of 1 to 256 bytes without control characters.
    pub fn name_columns(&mut self, names: &[String]) -> Result<()> {
        self.names = name_features(names, self.clip.dim())?;
        Ok(())
    }

    /// What one release promises.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Standard deviation of an entry of a gradient whose residuals are clipped to one.
    #[must_use]
    pub fn gradient_sigma(&self) -> NoiseScale {
        self.gradient.sigma()
    }

    /// Runs the steps on rows `[x | y]` (row-major, n x (d + 1), the target last).
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::NotFinite`], [`Error::Numerical`].
    pub fn release(&self, rows: &[f64], rng: &mut NoiseRng) -> Result<Release<NewtonRegression>> {
        let d = self.clip.columns();
        let rows = Rows::new(self.clip, rows)?;
        let gram = self.release_gram(&rows, rng)?;
        let system = System::of(&gram)?;
        let sigma = self.gradient.sigma();
        let (mut theta, mut steps) = (vec![0.0; d], Vec::with_capacity(TIMES));
        for step in 0..TIMES {
            let residuals = rows.residuals(&theta);
            let clip = match step {
                0 => self.label_bound,
                _ => self.released_clip(&residuals, rng),
            };
            let gradient = self.released_gradient(&rows, &residuals, clip, rng);
            theta = system.stepped(step, &theta, (clip, &gradient), sigma);
            steps.push(NewtonStep { clip, gradient, coefficients: theta.clone() });
        }
        let constant = f64::from(self.clip.constant_units()) * 2f64.powi(self.clip.exponent());
        let constant = Some(constant).filter(|c| *c > 0.0);
        let mut public: PublicParameters = [
            longer_rows(),
            ("d".to_owned(), PublicValue::from(self.clip.dim())),
            ("label_bound".to_owned(), PublicValue::from(self.label_bound)),
        ]
        .into();
        public.extend(constant.map(|c| (CONSTANT.to_owned(), PublicValue::from(c))));
        public.extend(self.names.clone());
        let (mechanism, noise, generator) = (NAME.into(), self.law(), rng.kind());
        let statement = Statement { mechanism, noise, generator, public };
        let payload = NewtonRegression::of((self.clip.dim(), constant), steps, gram, sigma)?;
        Ok(Release::certified(payload, AUTHOR.certificate(statement, self.guarantee.clone())))
    }

    /// Standard deviation of an entry of the matrix on the diagonal.
    pub(super) fn gram_sigma(&self) -> NoiseScale {
        self.gram_sigma
    }

    /// The public sizes that residuals are clipped to; the last is the bound of targets.
    pub(super) fn thresholds(&self) -> &[f64] {
        self.sizes.thresholds()
    }

    fn law(&self) -> NoiseLaw {
        let laws = vec![self.gram.law(), self.gradient.law(), self.counts.law()];
        NoiseLaw::Several { laws }
    }

    fn release_gram(&self, rows: &Rows, rng: &mut NoiseRng) -> Result<PrivateCovariance> {
        let d = self.clip.columns();
        let mut gram = rows.gram()?;
        let mut noise = vec![0.0; d * d];
        self.gram.fill(rng, &mut noise);
        let values = gram.sum().release(self.gram_grid.exponent(), &noise);
        let law = CovarianceNoise::SymmetricGaussian { sigma: self.gram_sigma };
        Ok(PrivateCovariance::new(d, values, None, law))
    }

    /// `sum clip(residual) x` over the clip, with its noise.
    fn released_gradient(
        &self,
        rows: &Rows,
        residuals: &[f64],
        clip: f64,
        rng: &mut NoiseRng,
    ) -> Vec<f64> {
        let mut noise = vec![0.0; self.clip.columns()];
        self.gradient.fill(rng, &mut noise);
        let grid = self.gradient.grid();
        let (shift, step) = (grid.exponent() - self.clip.exponent() + STEPS, grid.spacing());
        let noisy = |(total, noise): (i128, &f64)| {
            (rescale(total, shift) + (noise / step) as i128) as f64 * step
        };
        rows.gradient(residuals, clip).into_iter().zip(&noise).map(noisy).collect()
    }

    fn released_clip(&self, residuals: &[f64], rng: &mut NoiseRng) -> f64 {
        let counts = counts(residuals, &self.sizes);
        let mut noise = vec![0.0; counts.len()];
        self.counts.fill(rng, &mut noise);
        let noisy: Vec<f64> = counts.iter().zip(&noise).map(|(c, n)| *c as f64 + n).collect();
        self.sizes.thresholds()[self.sizes.quantile(&noisy, WITHIN, 0.0)]
    }
}

impl author::Sealed for PrivateNewton {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for PrivateNewton {
    type Config = NewtonConfig;
    /// Rows `[x | y]`.
    type Input<'a> = &'a [f64];
    type Output = Release<NewtonRegression>;
    type Facts = ();
    type Error = Error;

    fn calibrate(config: NewtonConfig, budget: Budget) -> Result<Self> {
        Self::calibrate(config, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        Self::guarantee(self)
    }

    fn predict(&self, (): ()) -> Result<Prediction> {
        let noise = self.label_bound * self.gradient.sigma().get();
        let of = "the first gradient, in Euclidean norm";
        Ok(Prediction::new(of, noise * (self.clip.columns() as f64).sqrt()))
    }

    fn release_watched(
        &self,
        rows: &[f64],
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Self::Output> {
        Progress::new(0, 1).ask(hook)?;
        self.release(rows, rng)
    }
}
