//! The mechanism: shares of the budget, steps, and their release.

use super::sums::{Rows, STEPS};
use crate::author::AUTHOR;
use crate::covariance::{
    CovarianceNoise, ExactGram, GaussianCovariance, MAX_SHIFT, PrivateCovariance, RowClip,
    longer_rows, rescale, row_change,
};
use crate::dense;
use crate::error::{Error, Result};
use crate::products::check_grid;
use crate::sizes::Sizes;
use core::ops::ControlFlow;
use dp_core::certificate::Statement;
use dp_core::mechanism::{Mechanism, Prediction, Progress, author};
use dp_core::noise::{AdditiveNoise, GaussianNoise, Grid, NoiseLaw, SymmetricGaussian};
use dp_core::profile::{GaussianStep, RowChange};
use dp_core::{
    Adjacency, Budget, Guarantee, L2Sensitivity, NoiseRng, NoiseScale, NormBound, Profile,
    PublicValue, Release, Theorem, calibrate,
};

const NAME: &str = "regression by private Newton steps";
/// Newton steps.
const TIMES: usize = 4;
/// Shares of mu squared: the Gram matrix, all counts of residuals; the gradients have the rest.
const GRAM: f64 = 0.3;
const COUNTS: f64 = 0.05;
/// The share of residuals that a clip lets through, and how many public sizes there are for it.
const WITHIN: f64 = 0.9;
const SIZES: usize = 24;

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
}

/// Coefficients of a linear regression, without intercept: four Newton steps on clipped residuals, preconditioned by
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
/// let config = NewtonConfig { features: 2, adjacency, label_bound: NormBound::new(1.0)? };
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
}

/// What [`PrivateNewton`] publishes: all that its guarantee is about, but for the noisy counts.
#[derive(Debug, Clone)]
pub struct NewtonRegression {
    coefficients: Vec<f64>,
    steps: Vec<NewtonStep>,
    gram: PrivateCovariance,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct NewtonStep {
    /// What residuals were clipped to.
    pub clip: f64,
    /// The noisy `sum clip(theta . x - y) x`.
    pub gradient: Vec<f64>,
    /// The coefficients after it.
    pub coefficients: Vec<f64>,
}

impl NewtonRegression {
    /// A coefficient for each feature: those of the last step, moved once more by all gradients.
    #[must_use]
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// All steps, in their order.
    #[must_use]
    pub fn steps(&self) -> &[NewtonStep] {
        &self.steps
    }

    /// The released second moments of the features.
    #[must_use]
    pub fn gram(&self) -> &PrivateCovariance {
        &self.gram
    }
}

/// What one change moves a gradient over c B by, and counts by.
fn moves(adjacency: Adjacency, change: RowChange) -> (f64, f64) {
    match (adjacency, change) {
        (_, RowChange::Replace) => (2.0, core::f64::consts::SQRT_2),
        // A row of zeros has a residual too.
        (Adjacency::ZeroRow { .. }, _) => (1.0, core::f64::consts::SQRT_2),
        _ => (1.0, 1.0),
    }
}

impl PrivateNewton {
    /// The least noise for the budget.
    ///
    /// # Errors
    /// A budget with delta = 0, an adjacency that does not protect rows, or a number of features or a bound outside its
    /// range.
    pub fn calibrate(config: NewtonConfig, budget: Budget) -> Result<Self> {
        let NewtonConfig { features, adjacency, label_bound } = config;
        let (bound, change) = row_change(adjacency, NAME)?;
        let clip = RowClip::new(features, bound)?;
        let whole = 1.0 / calibrate::gaussian(budget, L2Sensitivity::new(1.0)?)?.get();
        // A hair less, for the roundings of the scales below.
        let mu = |share: f64| whole * share.sqrt() * (1.0 - 1e-12);
        let (of_gradient, of_counts) = moves(adjacency, change);
        let scale = |sensitivity: f64, share: f64| NoiseScale::new(sensitivity / mu(share));
        let b = clip.certified_bound();

        let (gram, gram_grid) = GaussianCovariance::step(&clip, change, mu(GRAM))?;
        let each = (1.0 - GRAM - COUNTS) / TIMES as f64;
        let own = clip.exponent() - STEPS;
        let exact = L2Sensitivity::new(of_gradient * b.get())?;
        let rough = scale(exact.get(), each)?;
        let grid = Grid::new(own.max(rough.get().log2().floor() as i32 - 30))?;
        if grid.exponent() - own > MAX_SHIFT {
            return Err(Error::invalid("noise of a gradient", rough, "below 2^100 units of it"));
        }
        let paid =
            if grid.exponent() == own { exact } else { grid.inflate_l2(exact, features, 0.0)? };
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
        let symmetric = AUTHOR.symmetric(features, gram_sigma, gram_grid)?;
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
        })
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
    /// [`Error::Shape`], [`Error::NotFinite`], [`Error::Numerical`]; sums beyond the range of the noise's grid.
    pub fn release(&self, rows: &[f64], rng: &mut NoiseRng) -> Result<Release<NewtonRegression>> {
        let d = self.clip.dim();
        let rows = Rows::new(self.clip, rows)?;
        let gram = self.release_gram(&rows, rng)?;
        let system = System::of(&gram)?;
        let (mut theta, mut steps) = (vec![0.0; d], Vec::with_capacity(TIMES));
        for step in 0..TIMES {
            let clip = match step {
                0 => self.label_bound,
                _ => self.released_clip(&rows, &theta, rng),
            };
            let gradient = self.released_gradient(&rows, &theta, clip, rng);
            let noise = clip * self.gradient.sigma().get();
            let ridge = match step {
                0 => system.level + 0.5 * noise * (d as f64).sqrt(),
                _ => 0.5 * (system.level + noise),
            };
            let back = system.solve(&gradient, ridge);
            theta.iter_mut().zip(back).for_each(|(t, b)| *t -= b);
            steps.push(NewtonStep { clip, gradient, coefficients: theta.clone() });
        }
        let statement = Statement {
            mechanism: NAME.into(),
            noise: self.law(),
            generator: rng.kind(),
            public: [
                longer_rows(),
                ("d".to_owned(), PublicValue::from(d)),
                ("label_bound".to_owned(), PublicValue::from(self.label_bound)),
            ]
            .into(),
        };
        let coefficients = system.refined(&steps, self.gradient.sigma());
        let payload = NewtonRegression { coefficients, steps, gram };
        Ok(Release::certified(payload, AUTHOR.certificate(statement, self.guarantee.clone())))
    }

    fn law(&self) -> NoiseLaw {
        let laws = vec![self.gram.law(), self.gradient.law(), self.counts.law()];
        NoiseLaw::Several { laws }
    }

    fn release_gram(&self, rows: &Rows, rng: &mut NoiseRng) -> Result<PrivateCovariance> {
        let d = self.clip.dim();
        let mut gram = ExactGram::new(self.clip);
        gram.push(&rows.features())?;
        let mut noise = vec![0.0; d * d];
        self.gram.fill(rng, &mut noise);
        let unit = 1.0 / self.gram_grid.spacing();
        let values = gram.release(self.gram_grid.exponent(), |i, j| unit * noise[i * d + j]);
        let law = CovarianceNoise::SymmetricGaussian { sigma: self.gram_sigma };
        Ok(PrivateCovariance::new(d, values, None, law))
    }

    /// `sum clip(residual) x` with its noise; the noise is that of a clip of one, times the clip.
    fn released_gradient(
        &self,
        rows: &Rows,
        theta: &[f64],
        clip: f64,
        rng: &mut NoiseRng,
    ) -> Vec<f64> {
        let mut noise = vec![0.0; theta.len()];
        self.gradient.fill(rng, &mut noise);
        let grid = self.gradient.grid();
        let (shift, step) = (grid.exponent() - self.clip.exponent() + STEPS, grid.spacing());
        let noisy = |(total, noise): (i128, &f64)| {
            clip * ((rescale(total, shift) + (noise / step) as i128) as f64 * step)
        };
        rows.gradient(theta, clip).into_iter().zip(&noise).map(noisy).collect()
    }

    fn released_clip(&self, rows: &Rows, theta: &[f64], rng: &mut NoiseRng) -> f64 {
        let counts = rows.counts(theta, &self.sizes);
        let mut noise = vec![0.0; counts.len()];
        self.counts.fill(rng, &mut noise);
        let noisy: Vec<f64> = counts.iter().zip(&noise).map(|(c, n)| *c as f64 + n).collect();
        self.sizes.thresholds()[self.sizes.quantile(&noisy, WITHIN, 0.0)]
    }
}

/// The released Gram matrix, in its eigenvectors.
struct System {
    vectors: faer::Mat<f64>,
    /// Denoised: at least that of a flat rest.
    values: Vec<f64>,
    /// What gradients are moved by: as released where an eigenvalue stands out, half denoised elsewhere.
    moves: Vec<f64>,
    /// Half of the noise's spectral radius.
    level: f64,
    sigma: f64,
}

impl System {
    fn of(gram: &PrivateCovariance) -> Result<Self> {
        let CovarianceNoise::SymmetricGaussian { sigma } = gram.noise() else {
            return Err(Error::Unusable { what: "matrix", reason: "another noise" });
        };
        let d = gram.dim();
        let sigma = sigma.get();
        let level = sigma * (0.5 * d as f64).sqrt();
        let eigen = dense::symmetric_eigen(gram.raw())?;
        // Above twice the level an eigenvalue stands out, and noise has lifted it from this one.
        let stands_out = |w: &f64| (w * w - 4.0 * level * level).max(0.0).sqrt();
        let found: Vec<f64> = eigen
            .values
            .iter()
            .map(|w| if *w > 2.0 * level { stands_out(w) } else { 0.0 })
            .collect();
        let (trace, kept) = (eigen.values.iter().sum::<f64>(), found.iter().sum::<f64>());
        let hidden = found.iter().filter(|f| **f == 0.0).count().max(1);
        let rest = (trace - kept).max(0.0) / hidden as f64;
        let values = found.iter().map(|f| f.max(rest)).collect();
        let between = |(w, f): (&f64, &f64)| if *f > 0.0 { *w } else { 0.5 * (w + rest) };
        let moves = eigen.values.iter().zip(&found).map(between).collect();
        Ok(Self { vectors: eigen.vectors, values, moves, level, sigma })
    }

    /// A vector in the eigenvectors, each part changed, and back.
    fn changed(&self, right: &[f64], change: impl Fn(usize, f64) -> f64) -> Vec<f64> {
        let (v, d) = (&self.vectors, right.len());
        let along = |j: usize| (0..d).map(|i| v[(i, j)] * right[i]).sum::<f64>();
        let turned: Vec<f64> = (0..d).map(|j| change(j, along(j))).collect();
        (0..d).map(|i| (0..d).map(|j| v[(i, j)] * turned[j]).sum()).collect()
    }

    fn solve(&self, right: &[f64], ridge: f64) -> Vec<f64> {
        self.changed(right, |j, x| x / (self.values[j] + ridge))
    }

    /// One more step, by the mean of all gradients as they would be at the last coefficients, weighted by the noise of
    /// each: its own, and that of the matrix times the way.
    fn refined(&self, steps: &[NewtonStep], noise: NoiseScale) -> Vec<f64> {
        let Some(last) = steps.last().map(|step| &step.coefficients) else { return Vec::new() };
        let origin = vec![0.0; last.len()];
        let places = core::iter::once(&origin).chain(steps.iter().map(|s| &s.coefficients));
        let (mut mean, mut weights) = (vec![0.0; last.len()], 0.0);
        for (step, place) in steps.iter().zip(places) {
            let way: Vec<f64> = last.iter().zip(place).map(|(a, b)| a - b).collect();
            let moved = self.changed(&way, |j, x| self.moves[j] * x);
            let length = way.iter().map(|w| w * w).sum::<f64>();
            let variance = (step.clip * noise.get()).powi(2) + 0.5 * self.sigma.powi(2) * length;
            for ((m, g), h) in mean.iter_mut().zip(&step.gradient).zip(moved) {
                *m += (g + h) / variance;
            }
            weights += 1.0 / variance;
        }
        mean.iter_mut().for_each(|m| *m /= weights);
        let back = self.solve(&mean, self.level + (1.0 / weights).sqrt());
        let refined: Vec<f64> = last.iter().zip(back).map(|(t, b)| t - b).collect();
        // Squares beyond the range of floating point say nothing.
        if refined.iter().all(|t| t.is_finite()) { refined } else { last.clone() }
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
        Ok(Prediction::new(of, noise * (self.clip.dim() as f64).sqrt()))
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
