//! Baselines: input perturbation (private) and truncated decompositions (not private).

use super::coherence::check_rank;
use super::factors::LowRank;
use super::setting::Setting;
use crate::author::AUTHOR;
use crate::dense;
use crate::error::{Error, Result};
use crate::products;
use core::ops::ControlFlow;
use dp_core::certificate::PublicParameters;
use dp_core::mechanism::{Calibrated, Mechanism, Prediction, Progress, Statistic, author};
use dp_core::noise::{AdditiveNoise, GaussianNoise};
use dp_core::{
    Budget, EntryBound, Guarantee, L2Sensitivity, NoiseRng, NoiseScale, Profile, PublicSeed,
    Release, Theorem, calibrate,
};
use faer::MatRef;
use sketch::projection::{Family, ProjectionSpec};
use sketch::rows::RowsView;

/// Input perturbation ("randomised response"): every entry of A gets Gaussian noise; a
/// truncated decomposition follows as post-processing.
///
/// # Privacy
/// `RowShift`: the whole matrix moves by the shift.
///
/// # References
/// Hardt & Roth 2012, section 1; exact Gaussian calibration.
///
/// ```
/// use dp_core::{Budget, NoiseRng, NormBound, Shift};
/// use linalg_dp::low_rank::{InputPerturbation, Setting};
/// use sketch::rows::RowsView;
///
/// let (m, n) = (20, 50);
/// let data: Vec<f64> = (0..m * n).map(|i| (i % n) as f64 * 4.0).collect();
/// let a = RowsView::f64(m, n, &data)?;
/// // One row may shift by norm 1; rows longer than 1000 are scaled to it.
/// let setting = Setting::new((m, n), 1, 3, Shift::new(1.0)?, NormBound::new(1000.0)?)?;
/// let budget = Budget::new(1.0, 1e-6)?;
/// let mechanism = InputPerturbation::calibrate(setting, budget)?;
/// let release = mechanism.release(&a, &mut NoiseRng::from_os()?)?;
/// assert_eq!(release.payload().rank(), 1);
/// # Ok::<(), linalg_dp::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct InputPerturbation {
    setting: Setting,
    noise: Calibrated<GaussianNoise>,
}

impl InputPerturbation {
    /// The least noise for the budget.
    ///
    /// # Errors
    /// A budget with delta = 0.
    pub fn calibrate(setting: Setting, budget: Budget) -> Result<Self> {
        let exact = L2Sensitivity::new(setting.shift())?;
        let (adjacency, bound) =
            (setting.adjacency(), EntryBound::new(setting.row_bound() * 1.001)?);
        let numbers = setting.m().saturating_mul(setting.n());
        // Only the row that shifts can round differently.
        let statistic = Statistic::new(adjacency, exact, numbers, bound).touching(setting.n());
        let (grid, rounded) = statistic.on_grid(calibrate::gaussian(budget, exact)?)?;
        let clip_error = setting.row_bound() * (setting.n() as f64 + 16.0) * f64::EPSILON;
        let sensitivity = L2Sensitivity::new((rounded.get() + 2.0 * clip_error).next_up())?;
        let sigma = calibrate::gaussian(budget, sensitivity)?;
        products::check_grid(sigma, grid)?;
        let profile = Profile::Gaussian { sensitivity, sigma };
        let basis = AUTHOR.theorem(Theorem::GaussianOnRows);
        let noise = AUTHOR.gaussian(sigma, grid)?;
        Ok(Self { setting, noise: AUTHOR.calibrated(adjacency, budget, basis, profile, noise)? })
    }

    /// Standard deviation of an entry's noise.
    #[must_use]
    pub fn sigma(&self) -> NoiseScale {
        self.noise.noise().sigma()
    }

    /// What one release promises.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        self.noise.guarantee()
    }

    /// Releases the best approximation of the noisy matrix of the setting's rank. Needs a
    /// dense copy of A: that is this method's nature.
    ///
    /// # Errors
    /// [`Error::Shape`] unless A is m x n; [`Error::NotFinite`]; [`Error::Numerical`].
    pub fn release(&self, a: &RowsView<'_>, rng: &mut NoiseRng) -> Result<Release<LowRank>> {
        let setting = &self.setting;
        setting.check(a)?;
        let factors = setting.clip_factors(a)?;
        let (m, n) = (setting.m(), setting.n());
        let mut noisy = vec![0.0; m * n];
        for ((i, row), f) in noisy.chunks_mut(n).enumerate().zip(&factors) {
            a.copy_row(i, row);
            row.iter_mut().for_each(|x| *x *= f);
        }
        self.noise.add_to(rng, &mut noisy)?;
        let view = RowsView::f64(m, n, &noisy)?;
        let payload = truncated_svd(&view, setting.rank())?;
        let mut public: PublicParameters = setting.public(PublicSeed::new(0));
        public.remove("seed");
        let certificate = self.noise.certificate("input perturbation", public, rng.kind());
        Ok(Release::certified(payload, certificate))
    }
}

/// The best rank-`rank` approximation of A, **not private**.
///
/// Through the eigenvectors of `A A^T` (m x m): singular values below about 1e-8 of the largest
/// are not resolved.
///
/// # Errors
/// `rank` outside `[1, min(m, n)]`; [`Error::NotFinite`]; [`Error::Numerical`].
pub fn truncated_svd(a: &RowsView<'_>, rank: usize) -> Result<LowRank> {
    check_rank(a, rank)?;
    let eigen = dense::symmetric_eigen(products::row_gram(a).as_ref())?;
    project_on(a, eigen.vectors.get(.., ..rank))
}

/// The singular values of A, falling, **not private**; as accurate as [`truncated_svd`].
///
/// # Errors
/// As [`truncated_svd`].
pub fn singular_values(a: &RowsView<'_>) -> Result<Vec<f64>> {
    let eigen = dense::symmetric_eigen(products::row_gram(a).as_ref())?;
    Ok(eigen.values.iter().take(a.d()).map(|x| x.max(0.0).sqrt()).collect())
}

/// Randomised rank-`rank` approximation, **not private**: a Gaussian sketch of
/// `rank + oversampling` columns, power iterations with re-orthonormalisation, and a
/// projection cut to the rank.
///
/// # Errors
/// As [`truncated_svd`], also for `rank + oversampling > min(m, n)`.
///
/// # References
/// Halko, Martinsson, Tropp 2011, algorithms 4.4 and 5.1.
pub fn randomized_svd(
    a: &RowsView<'_>,
    rank: usize,
    oversampling: usize,
    power_iterations: usize,
    seed: PublicSeed,
) -> Result<LowRank> {
    check_rank(a, rank)?;
    let k = rank.saturating_add(oversampling);
    check_rank(a, k)?;
    let (m, n) = (a.n(), a.d());
    let omega = ProjectionSpec::new(Family::Gaussian, n, k, seed)?.build();
    let mut y = vec![0.0; m * k];
    omega.apply(*a, &mut y)?;
    let mut basis = dense::orthonormal_basis(MatRef::from_row_major_slice(&y, m, k))?;
    for _ in 0..power_iterations {
        let z = products::transposed_times(a, basis.as_ref());
        let z = dense::orthonormal_basis(MatRef::from_row_major_slice(&z, n, k))?;
        basis = dense::orthonormal_basis(products::times(a, z.as_ref()).as_ref())?;
    }
    let wide = products::transposed_times(a, basis.as_ref());
    let coefficients = MatRef::from_row_major_slice(&wide, n, k);
    let gram = dense::product(coefficients.transpose(), coefficients);
    let eigen = dense::symmetric_eigen(gram.as_ref())?;
    let rotation = eigen.vectors.get(.., ..rank);
    let left = dense::product(basis.as_ref(), rotation);
    let right = dense::product(coefficients, rotation);
    from_mats(left.as_ref(), right.as_ref())
}

fn project_on(a: &RowsView<'_>, basis: MatRef<'_, f64>) -> Result<LowRank> {
    let coefficients = products::transposed_times(a, basis);
    let (m, k) = basis.shape();
    let left = (0..m * k).map(|i| basis[(i / k, i % k)]).collect();
    LowRank::new((m, a.d(), k), left, coefficients)
}

fn from_mats(left: MatRef<'_, f64>, right: MatRef<'_, f64>) -> Result<LowRank> {
    let k = left.ncols();
    let flat = |x: MatRef<'_, f64>| (0..x.nrows() * k).map(|i| x[(i / k, i % k)]).collect();
    LowRank::new((left.nrows(), right.nrows(), k), flat(left), flat(right))
}

impl author::Sealed for InputPerturbation {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for InputPerturbation {
    type Config = Setting;
    type Input<'a> = RowsView<'a>;
    type Output = Release<LowRank>;
    type Facts = ();
    type Error = Error;

    fn calibrate(config: Self::Config, budget: Budget) -> Result<Self> {
        Self::calibrate(config, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        Self::guarantee(self)
    }

    fn predict(&self, (): ()) -> Result<Prediction> {
        let numbers = (self.setting.m() * self.setting.n()) as f64;
        let of = "the perturbed matrix in Frobenius norm, before it is cut to the rank";
        Ok(Prediction::new(of, self.sigma().get() * numbers.sqrt()))
    }

    fn release_watched(
        &self,
        input: Self::Input<'_>,
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Self::Output> {
        Progress::new(0, 1).ask(hook)?;
        self.release(&input, rng)
    }
}
