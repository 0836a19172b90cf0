//! The private range finder: `Y = A Omega + N(0, rho^2)`.

use super::setting::Setting;
use crate::author::AUTHOR;
use crate::dense;
use crate::error::{Error, Result};
use crate::products::check_grid;
use core::ops::ControlFlow;
use dp_core::certificate::PublicParameters;
use dp_core::mechanism::{Calibrated, Mechanism, Prediction, Progress, Statistic, author};
use dp_core::noise::{AdditiveNoise, GaussianNoise, Grid};
use dp_core::{
    Budget, EntryBound, FreshSeed, Guarantee, L2Sensitivity, NoiseRng, NoiseScale, Profile,
    PublicSeed, Release, SeedOrigin, Theorem, calibrate,
};
use faer::{Mat, MatRef};
use serde::{Deserialize, Serialize};
use sketch::projection::{Family, OutputRange, ProjectionSpec};
use sketch::rows::RowsView;

/// The range finder, calibrated by averaging over its fresh public Omega.
///
/// # Shapes
/// A is m x n, Omega n x k, the release Y m x k.
///
/// # Privacy
/// `RowShift`: the shifted row's image has norm `D chi_k`, so the profile is exactly the chi
/// mixture of Gaussian profiles. Omega must be fresh ([`FreshSeed`]).
///
/// # References
/// Hardt & Roth 2012, Figure 2, whose noise is 1.4 to 4.7 times larger, by k and budget. Proof:
/// `docs/proofs/range-finder.md`.
///
/// # Deviations
/// Omega has entries of variance 1/k (the sketch crate's Gaussian projection), which scales
/// Y and rho together by `1 / sqrt k`; [`Range::rho`] is in the paper's units.
///
/// ```
/// use dp_core::{Budget, FreshSeed, NoiseRng, NormBound, Shift};
/// use linalg_dp::low_rank::{RangeFinder, Setting};
/// use sketch::rows::RowsView;
///
/// let (m, n) = (20, 50);
/// let data: Vec<f64> = (0..m * n).map(|i| (i % n) as f64 * 4.0).collect();
/// let a = RowsView::f64(m, n, &data)?;
/// // One row may shift by norm 1; rows longer than 1000 are scaled to it.
/// let setting = Setting::new((m, n), 1, 3, Shift::new(1.0)?, NormBound::new(1000.0)?)?;
/// let budget = Budget::new(1.0, 1e-6)?;
/// let mechanism = RangeFinder::calibrate(setting, budget)?;
/// let release = mechanism.release(&a, FreshSeed::draw()?, &mut NoiseRng::from_os()?)?;
/// assert_eq!(release.payload().basis()?.shape(), (m, 4));
/// # Ok::<(), linalg_dp::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RangeFinder {
    setting: Setting,
    noise: RangeNoise,
    calibrated: Calibrated<GaussianNoise>,
}

impl RangeFinder {
    /// The least noise for the budget.
    ///
    /// # Errors
    /// A budget with delta = 0; a shape or bound outside its range.
    pub fn calibrate(setting: Setting, budget: Budget) -> Result<Self> {
        let noise = RangeNoise::calibrate(&setting, budget, 0.0)?;
        let calibrated = AUTHOR.calibrated(
            setting.adjacency(),
            budget,
            AUTHOR.theorem(Theorem::RangeFinder),
            noise.profile(&setting, 0.0)?,
            noise.law()?,
        )?;
        Ok(Self { setting, noise, calibrated })
    }

    /// What one release promises.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    /// Standard deviation rho of the noise on `A Omega`, Omega of N(0, 1) entries.
    #[must_use]
    pub fn rho(&self) -> f64 {
        self.noise.sigma.get() * (self.setting.k() as f64).sqrt()
    }

    /// Draws Omega, releases Y.
    ///
    /// # Errors
    /// [`Error::Shape`] unless A is m x n; [`crate::Error::NotFinite`].
    pub fn release(
        &self,
        a: &RowsView<'_>,
        seed: FreshSeed,
        rng: &mut NoiseRng,
    ) -> Result<Release<Range>> {
        let range = self.noise.release(&self.setting, a, seed, rng)?;
        let name = "range finder (Hardt-Roth, exact)";
        let certificate =
            self.calibrated.certificate(name, range.public(&self.setting), rng.kind());
        Ok(Release::certified(range, certificate))
    }
}

/// The released Y and what is public about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    m: usize,
    k: usize,
    /// Row-major, over sqrt k.
    values: Vec<f64>,
    /// Noise per entry of `values`.
    sigma: NoiseScale,
    seed: PublicSeed,
    origin: SeedOrigin,
}

/// What is public of a [`Range`] besides its numbers.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RangeFacts {
    pub(super) m: usize,
    pub(super) k: usize,
    pub(super) sigma: NoiseScale,
    pub(super) seed: PublicSeed,
    pub(super) origin: SeedOrigin,
}

impl Range {
    /// `Y / sqrt k`, m x k: noise of standard deviation [`Range::sigma`] a entry.
    #[must_use]
    pub fn sketch(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.values, self.m, self.k)
    }

    /// Standard deviation of the noise in an entry of [`Range::sketch`].
    #[must_use]
    pub fn sigma(&self) -> NoiseScale {
        self.sigma
    }

    /// What is public about it besides its numbers.
    pub(super) fn facts(&self) -> RangeFacts {
        let Self { m, k, sigma, seed, origin, .. } = *self;
        RangeFacts { m, k, sigma, seed, origin }
    }

    /// The sketch, row after row.
    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Back from both.
    pub(super) fn from_facts(facts: RangeFacts, values: Vec<f64>) -> Self {
        let RangeFacts { m, k, sigma, seed, origin } = facts;
        Self { m, k, values, sigma, seed, origin }
    }

    /// The public parameters of the release: the seed, its origin, and what the profile takes
    /// Omega's law to be.
    pub(super) fn public(&self, setting: &Setting) -> PublicParameters {
        let mut public = setting.public(self.seed);
        public
            .insert("law of Omega".to_owned(), "real Gaussian, drawn from 53-bit uniforms".into());
        public.insert(SeedOrigin::KEY.to_owned(), self.origin.name().into());
        public
    }

    /// The published seed of Omega.
    #[must_use]
    pub fn seed(&self) -> PublicSeed {
        self.seed
    }

    /// rho, in units of `A Omega` with Omega of N(0, 1) entries.
    #[must_use]
    pub fn rho(&self) -> f64 {
        self.sigma.get() * (self.k as f64).sqrt()
    }

    /// The published W: an orthonormal basis of Y's range, m x k.
    ///
    /// # Errors
    /// [`Error::Numerical`].
    pub fn basis(&self) -> Result<Mat<f64>> {
        dense::orthonormal_basis(self.sketch())
    }

    /// Left singular vectors and values of the sketch, strongest first.
    ///
    /// # Errors
    /// [`Error::Numerical`].
    pub fn spectrum(&self) -> Result<(Mat<f64>, Vec<f64>)> {
        let svd = dense::thin_svd(self.sketch())?;
        Ok((svd.u, svd.s))
    }

    /// Estimates of `||u_l^T A||^2` for the left singular vectors u_l of the sketch, from its singular values
    /// `y_l`: with `t = y_l / sigma` and `x^2 = (t^2 - m - k + sqrt((t^2 - m - k)^2 - 4 m k)) / 2` they are
    /// `sigma^2 (x^4 - m k) / (x^2 + m)`, zero up to the edge `sqrt m + sqrt k` of pure noise.
    ///
    /// The vectors follow the noise: `y_l^2 - m sigma^2`, right for a direction fixed beforehand, errs upwards.
    /// This is unbiased as m and k grow at a fixed ratio with the rank fixed.
    ///
    /// # References
    /// Benaych-Georges & Nadakuditi 2012, "The singular values and vectors of low rank perturbations of large
    /// rectangular random matrices", theorems 2.8 and 2.9.
    #[must_use]
    pub fn energies(&self, singular: &[f64]) -> Vec<f64> {
        let (m, k, noise) = (self.m as f64, self.k as f64, self.sigma.get().powi(2));
        let energy = |y: &f64| {
            let above = y * y / noise - m - k;
            let square = 0.5 * (above + (above * above - 4.0 * m * k).max(0.0).sqrt());
            // At the edge both terms of the numerator are m k.
            if above > 0.0 {
                noise * (square * square - m * k).max(0.0) / (square + m)
            } else {
                0.0
            }
        };
        singular.iter().map(energy).collect()
    }
}

/// Noise of the first step, with the arithmetic it must pay for.
#[derive(Debug, Clone, Copy)]
pub(super) struct RangeNoise {
    pub(super) sigma: NoiseScale,
    grid: Grid,
}

impl RangeNoise {
    /// The least sigma such that this step followed by a Gaussian step of `later_mu` meets the budget.
    pub(super) fn calibrate(setting: &Setting, budget: Budget, later_mu: f64) -> Result<Self> {
        let k = setting.k() as u64;
        let entry = setting.shift() / (k as f64).sqrt();
        let find = |entry: f64, later_mu: f64| -> Result<NoiseScale> {
            let entry_shift = L2Sensitivity::new(entry.next_up())?;
            Ok(calibrate::chi_mixture_gaussian(budget, k, entry_shift, later_mu)?)
        };
        let rough = find(entry, later_mu)?;
        // On the grid of the rough sigma, more noise never needs more slack.
        let rough = Self::with_sigma(setting, rough)?;
        let (slack_entry, slack_mu) = rough.paid(setting)?;
        let sigma = find(slack_entry, later_mu.hypot(slack_mu).next_up())?;
        check_grid(sigma, rough.grid)?;
        Ok(Self { sigma, ..rough })
    }

    /// Noise of this scale, on the grid that suits it.
    pub(super) fn with_sigma(setting: &Setting, sigma: NoiseScale) -> Result<Self> {
        let (k, output) = (setting.k(), output(setting));
        let exact = L2Sensitivity::new(setting.shift())?;
        let numbers = setting.m().saturating_mul(k);
        let bound = EntryBound::new(output.magnitude)?;
        let statistic = Statistic::new(setting.adjacency(), exact, numbers, bound).touching(k);
        // What rounding adds enters the mixture as a Gaussian step: see `paid`.
        let (grid, _) = statistic.on_grid(sigma)?;
        Ok(Self { sigma, grid })
    }

    /// The profile with arithmetic paid for, when a Gaussian step of `later_mu` follows.
    pub(super) fn profile(&self, setting: &Setting, later_mu: f64) -> Result<Profile> {
        let (entry, mu) = self.paid(setting)?;
        Ok(Profile::ChiMixtureGaussian {
            k: setting.k() as u64,
            entry_shift: L2Sensitivity::new(entry)?,
            sigma: self.sigma,
            later_mu: later_mu.hypot(mu).next_up(),
        })
    }

    /// Entry shift and extra mu that cover rounding to the grid and floating point.
    ///
    /// The released row moves by at most `c D sqrt q + t` with t the slack; and
    /// `(x + t)^2 <= (1 + eta) x^2 + (1 + 1/eta) t^2` for every eta > 0.
    fn paid(&self, setting: &Setting) -> Result<(f64, f64)> {
        let k = setting.k() as f64;
        let t = k.sqrt() * (self.grid.spacing() + 2.0 * output(setting).error) * (1.0 + 1e-12);
        let entry = setting.shift() / k.sqrt();
        let eta = (t / (entry * k.sqrt())).clamp(1e-15, 1.0);
        let mu = t * (1.0 + 1.0 / eta).sqrt() / self.sigma.get();
        Ok((entry * (1.0 + eta).sqrt() * (1.0 + 1e-14), mu * (1.0 + 1e-12)))
    }

    pub(super) fn law(&self) -> Result<GaussianNoise> {
        Ok(AUTHOR.gaussian(self.sigma, self.grid)?)
    }

    /// Computes and releases Y.
    pub(super) fn release(
        &self,
        setting: &Setting,
        a: &RowsView<'_>,
        seed: FreshSeed,
        rng: &mut NoiseRng,
    ) -> Result<Range> {
        setting.check(a)?;
        let factors = setting.clip_factors(a)?;
        let origin = seed.origin();
        let seed = seed.publish();
        let (m, k) = (setting.m(), setting.k());
        let omega = ProjectionSpec::new(Family::Gaussian, setting.n(), k, seed)?.build();
        let mut values = vec![0.0; m * k];
        omega.apply(*a, &mut values)?;
        for (row, f) in values.chunks_mut(k).zip(&factors) {
            row.iter_mut().for_each(|x| *x *= f);
        }
        self.law()?.add_to(rng, &mut values)?;
        Ok(Range { m, k, values, sigma: self.sigma, seed, origin })
    }
}

impl Setting {
    /// The profile of a range sketch with this noise, when a Gaussian step of `later_mu` follows.
    pub(crate) fn range_profile(
        &self,
        sigma: NoiseScale,
        grid: Grid,
        later_mu: f64,
    ) -> Result<Profile> {
        RangeNoise { sigma, grid }.profile(self, later_mu)
    }
}

/// No entry of the sketch crate's Gaussian matrix (before its 1/sqrt k) is larger.
const LARGEST_ENTRY: f64 = 12.01;

/// The largest entry of a computed `A Omega / sqrt k`, and a bound on its floating-point error.
///
/// A column of Omega / sqrt k has norm at most `12.01 sqrt(n / k)`, whatever the seed.
fn output(setting: &Setting) -> OutputRange {
    let (n, k) = (setting.n() as f64, setting.k() as f64);
    let column = LARGEST_ENTRY * (n / k).sqrt();
    OutputRange::of_sum(setting.n(), setting.n() + 64, setting.row_bound() * column)
}

impl author::Sealed for RangeFinder {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for RangeFinder {
    type Config = Setting;
    type Input<'a> = (RowsView<'a>, FreshSeed);
    type Output = Release<Range>;
    type Facts = ();
    type Error = Error;

    fn calibrate(config: Self::Config, budget: Budget) -> Result<Self> {
        Self::calibrate(config, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        Self::guarantee(self)
    }

    fn predict(&self, (): ()) -> Result<Prediction> {
        let numbers = (self.setting.m() * self.setting.k()) as f64;
        let of = "the sketch A Omega in Frobenius norm";
        Ok(Prediction::new(of, self.rho() * numbers.sqrt()))
    }

    fn release_watched(
        &self,
        input: Self::Input<'_>,
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Self::Output> {
        Progress::new(0, 1).ask(hook)?;
        let (a, seed) = input;
        self.release(&a, seed, rng)
    }
}
