//! The private projection on a public basis: `W^T A` plus noise.

use super::code::{Code, Spread};
use super::coherence::largest_row_norm;
use super::factors::LowRank;
use super::range::{Range, RangeFacts};
use super::setting::Setting;
use super::shrink;
use crate::author::AUTHOR;
use crate::dense;
use crate::error::{Error, Result};
use crate::products;
use core::ops::ControlFlow;
use dp_core::certificate::Statement;
use dp_core::mechanism::{Mechanism, Prediction, Progress, Sensitivity, Statistic, author};
use dp_core::noise::{AdditiveNoise, GeneratorKind, Grid, NoiseLaw};
use dp_core::{
    Adjacency, Budget, EntryBound, Guarantee, L2Sensitivity, NoiseRng, NoiseScale, Profile,
    PublicSeed, PublicValue, Release, Theorem, calibrate,
};
use faer::{Mat, MatRef};
use sketch::projection::OutputRange;
use sketch::rows::RowsView;

/// Releases `M A` for an M made of a public W ([`Spread`]).
///
/// # Shapes
/// A is m x n, W m x k, M k x m, the coefficients k x n.
///
/// # Privacy
/// `RowShift`: row i of A moves `M A` by `m_i (shift)`, of Frobenius norm `||m_i|| D`; a
/// Gaussian mechanism whose sensitivity is the largest norm of a column of M.
///
/// # References
/// Hardt & Roth 2012, Figure 3, whose noise is tens of times larger. Proof:
/// `docs/proofs/pfp.md`.
///
/// ```
/// use dp_core::{Budget, NoiseRng, NormBound, Shift};
/// use linalg_dp::low_rank::{BasisProjection, PublicBasis, Setting, Spread};
/// use sketch::rows::RowsView;
///
/// let (m, n) = (20, 50);
/// let data: Vec<f64> = (0..m * n).map(|i| (i % n) as f64 * 4.0).collect();
/// let a = RowsView::f64(m, n, &data)?;
/// // One row may shift by norm 1; rows longer than 1000 are scaled to it.
/// let setting = Setting::new((m, n), 1, 3, Shift::new(1.0)?, NormBound::new(1000.0)?)?;
/// let budget = Budget::new(1.0, 1e-6)?;
/// let mechanism = BasisProjection::calibrate(setting, budget, Spread::default())?;
/// let average = faer::Mat::from_fn(m, 1, |_, _| 1.0 / (m as f64).sqrt());
/// let basis = PublicBasis::declared(average, "the average of the rows")?;
/// let release = mechanism.release(&a, &basis, &mut NoiseRng::from_os()?)?;
/// assert_eq!(release.payload().factors().shape(), (m, n));
/// # Ok::<(), linalg_dp::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BasisProjection {
    setting: Setting,
    mu: f64,
    spread: Spread,
    guarantee: Guarantee,
}

impl BasisProjection {
    /// The least noise for the budget.
    ///
    /// # Errors
    /// A budget with delta = 0.
    pub fn calibrate(setting: Setting, budget: Budget, spread: Spread) -> Result<Self> {
        let unit = L2Sensitivity::new(1.0)?;
        let sigma = calibrate::gaussian(budget, unit)?;
        let profile = Profile::Gaussian { sensitivity: unit, sigma };
        let guarantee =
            AUTHOR.proven(setting.adjacency(), budget, profile, Theorem::PublicBasis)?;
        Ok(Self { setting, mu: 1.0 / sigma.get(), spread, guarantee })
    }

    /// What one release promises.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Releases the approximation: `M A` plus noise, decoded to the range of W.
    ///
    /// # Errors
    /// [`Error::Shape`] unless A is m x n and W has m rows; [`Error::NotFinite`];
    /// [`Error::Numerical`].
    pub fn release(
        &self,
        a: &RowsView<'_>,
        basis: &PublicBasis,
        rng: &mut NoiseRng,
    ) -> Result<Release<PrivateLowRank>> {
        let step = ProjectionStep::new(&self.setting, basis.matrix(), self.mu, self.spread, None)?;
        let payload = step.release(&self.setting, a, None, rng)?;
        let mut public = self.setting.public(PublicSeed::new(0));
        public.remove("seed");
        public.insert("basis_columns".into(), PublicValue::from(basis.matrix().ncols()));
        public.insert("basis_source".into(), basis.source.clone().into());
        let statement = Statement {
            mechanism: "projection on a public basis".into(),
            // The profile is scaled to sensitivity one; this is the noise of the public basis.
            noise: NoiseLaw::Several { laws: vec![step.law()] },
            generator: basis.generator.map_or(rng.kind(), |g| g.weaker(rng.kind())),
            public,
        };
        Ok(Release::certified(payload, AUTHOR.certificate(statement, self.guarantee.clone())))
    }
}

/// A basis W, m x k, that may be published: the projection on it is released with W itself.
///
/// The guarantee of [`BasisProjection`] covers `W^T A`, **not W**. A basis computed from the data,
/// its singular vectors say, is not public: use that of a [`super::RangeFinder`] release, or
/// [`super::Pfp`], which pays for both.
#[derive(Debug, Clone, PartialEq)]
pub struct PublicBasis {
    matrix: Mat<f64>,
    source: String,
    /// What drew the noise that makes it public.
    generator: Option<GeneratorKind>,
}

impl PublicBasis {
    /// The basis of a range finder's release, already paid for; the certificate names that release's
    /// mechanism, budget and seed.
    ///
    /// # Errors
    /// [`Error::Numerical`].
    pub fn from_range(release: &Release<Range>) -> Result<Self> {
        let certificate = release.certificate();
        let (range, guarantee) = (release.payload(), certificate.guarantee());
        let source = format!(
            "release of {} under {}, {}, seed {}",
            certificate.statement().mechanism,
            guarantee.adjacency(),
            guarantee.budget(),
            range.seed(),
        );
        let generator = Some(certificate.statement().generator);
        Ok(Self { matrix: range.basis()?, source, generator })
    }

    /// A basis that the caller declares to be public, with the reason ("axes of the survey's public
    /// codebook"), which enters the certificate as the caller's word.
    ///
    /// # Errors
    /// [`Error::Core`] for a reason without a letter or of more than 200 characters; [`Error::NotFinite`].
    pub fn declared(matrix: Mat<f64>, reason: &str) -> Result<Self> {
        if !reason.chars().any(char::is_alphabetic) || reason.chars().count() > 200 {
            return Err(Error::invalid("reason", reason.len(), "1 to 200 characters that say why"));
        }
        dense::all_finite(matrix.as_ref(), "the basis")?;
        let source = format!("declared public by the caller: {reason}");
        Ok(Self { matrix, source, generator: None })
    }

    /// W, m x k.
    #[must_use]
    pub fn matrix(&self) -> MatRef<'_, f64> {
        self.matrix.as_ref()
    }

    /// Why it is public, as the certificate states it.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// A private low-rank approximation with the law of its noise: everything below reads the
/// release only.
#[derive(Debug, Clone, PartialEq)]
pub struct PrivateLowRank {
    factors: LowRank,
    /// E^T, m x k row-major: coefficients are `E A + Z`.
    encoder: Vec<f64>,
    range: Option<Range>,
}

impl PrivateLowRank {
    /// Left factor, coefficients, encoder, range sketch.
    pub(super) fn arrays(&self) -> [&[f64]; 4] {
        let range = self.range.as_ref().map_or(&[][..], Range::values);
        let factors = &self.factors;
        [factors.left_slice(), factors.coefficient_slice(), &self.encoder, range]
    }

    /// Back from [`PrivateLowRank::arrays`] and what is public about them.
    pub(super) fn from_arrays(
        shape: (usize, usize, usize),
        range: Option<RangeFacts>,
        [left, coefficients, encoder, sketch]: [Vec<f64>; 4],
    ) -> Result<Self> {
        let range = range.map(|facts| Range::from_facts(facts, sketch));
        Ok(Self { factors: LowRank::new(shape, left, coefficients)?, encoder, range })
    }

    /// The mu of the projection step, from the encoder: what Gaussian noise of this scale and grid leaves of a
    /// shift.
    pub(crate) fn projection_mu(
        &self,
        setting: &Setting,
        sigma: NoiseScale,
        grid: Grid,
    ) -> Result<f64> {
        let (n, d) = self.factors.shape();
        if (n, d) != (setting.m(), setting.n()) {
            let (found, expected) = (format!("{n} x {d}"), (setting.m(), setting.n()));
            return Err(Error::shape("matrix", found, format!("{} x {}", expected.0, expected.1)));
        }
        dense::all_finite(self.encoder(), "the encoder")?;
        let white = self.encoder().transpose() * faer::Scale(sigma.get());
        let exact = setting.shift() * largest_row_norm(white.as_ref());
        let cost = Arithmetic::new(setting, white.norm_l2(), white.ncols());
        Ok(cost.paid_on(grid, exact)? / sigma.get())
    }

    /// The approximation as released, `L (E A + Z)`.
    #[must_use]
    pub fn factors(&self) -> &LowRank {
        &self.factors
    }

    /// The public E, k x m: the released coefficients are `E A + Z` with Z of N(0, 1) entries.
    #[must_use]
    pub fn encoder(&self) -> MatRef<'_, f64> {
        let (m, k) = (self.factors.shape().0, self.factors.rank());
        MatRef::from_row_major_slice(&self.encoder, m, k).transpose()
    }

    /// The released sketch of the range finder, where there was one.
    #[must_use]
    pub fn range(&self) -> Option<&Range> {
        self.range.as_ref()
    }

    /// Root mean square Frobenius norm of the noise in [`PrivateLowRank::factors`]: `sqrt n ||L||_F`.
    #[must_use]
    pub fn noise_frobenius(&self) -> f64 {
        (self.factors.shape().1 as f64).sqrt() * self.factors.left().norm_l2()
    }

    /// The approximation with its singular values shrunk to the known noise level: by
    /// Gavish and Donoho's optimal shrinker, in coordinates where the noise is white.
    /// Pure noise becomes zero.
    ///
    /// # Errors
    /// [`Error::Numerical`].
    pub fn shrunk(&self) -> Result<LowRank> {
        let k = self.factors.rank();
        if k == 0 {
            return Ok(self.factors.clone());
        }
        // Coefficients E A + Z: the noise is white already.
        let (matrix, kept) = shrink::shrinker(self.factors.coefficient_slice(), k)?;
        if kept == 0 {
            let (m, n) = self.factors.shape();
            return Ok(LowRank::zero(m, n));
        }
        Ok(self.factors.recombined(matrix.as_ref()))
    }
}

/// What rounding and floating point add to the sensitivity of a product `W^T A`.
struct Arithmetic {
    adjacency: Adjacency,
    /// Frobenius bound on the computed product's error.
    error: f64,
    /// Largest absolute value of an entry.
    magnitude: f64,
    entries: usize,
}

impl Arithmetic {
    /// For a left factor of Frobenius norm `norm` and `k` columns:
    /// `||fl(W^T A) - W^T A||_F <= gamma ||W||_F ||A||_F`, `||A||_F <= sqrt m` row bounds;
    /// n + 64 more roundings for the rows' factors.
    fn new(setting: &Setting, norm: f64, k: usize) -> Self {
        let magnitude = norm * (setting.m() as f64).sqrt() * setting.row_bound();
        let error = OutputRange::of_sum(setting.m(), setting.n() + 64, magnitude).error;
        Self { adjacency: setting.adjacency(), error, magnitude, entries: setting.n() * k }
    }

    /// For any left factor with entries at most 1.
    fn worst(setting: &Setting) -> Self {
        Self::new(setting, ((setting.m() * setting.k()) as f64).sqrt(), setting.k())
    }

    /// The grid for noise `sigma` and the sensitivity with everything paid.
    fn pay(&self, exact: f64, sigma: NoiseScale) -> Result<(Grid, f64)> {
        let (grid, rounded) = self.statistic(exact)?.on_grid(sigma)?;
        Ok((grid, self.with_error(rounded)))
    }

    /// As [`Arithmetic::pay`], on a grid that was chosen before.
    fn paid_on(&self, grid: Grid, exact: f64) -> Result<f64> {
        let statistic = self.statistic(exact)?;
        let rounded = statistic.sensitivity().on_grid(grid, statistic.coordinates(), 0.0)?;
        Ok(self.with_error(rounded))
    }

    fn statistic(&self, exact: f64) -> Result<Statistic<L2Sensitivity>> {
        let (sensitivity, bound) = (L2Sensitivity::new(exact)?, self.magnitude.max(exact));
        Ok(Statistic::new(self.adjacency, sensitivity, self.entries, EntryBound::new(bound)?))
    }

    /// The error of the product is one of its Frobenius norm, not of each entry.
    fn with_error(&self, rounded: L2Sensitivity) -> f64 {
        (rounded.get() + 2.0 * self.error) * (1.0 + 1e-14)
    }
}

/// The projection step with its noise fixed: what both the plain and the composed mechanism run.
pub(super) struct ProjectionStep {
    /// M^T, m x k: what A is multiplied by.
    encoder: Mat<f64>,
    /// m x k: what the coefficients `M A + sigma Z` are multiplied by.
    decoder: Mat<f64>,
    sigma: NoiseScale,
    grid: Grid,
}

impl ProjectionStep {
    /// Scales noise so that the step, for this public W, is Gaussian of parameter exactly
    /// `mu` (or a hair less). `missed` is about the energy of each row of A outside W, where it is known.
    pub(super) fn new(
        setting: &Setting,
        basis: MatRef<'_, f64>,
        mu: f64,
        spread: Spread,
        missed: Option<&[f64]>,
    ) -> Result<Self> {
        if basis.nrows() != setting.m() || basis.ncols() == 0 {
            let found = format!("{} x {}", basis.nrows(), basis.ncols());
            return Err(Error::shape("basis W", found, format!("{} x k", setting.m())));
        }
        let code = Code::choose(basis, spread, (setting.n() as f64, setting.shift() / mu), missed)?;
        let white = code.encoder;
        // Exact sensitivity of this very matrix; the norm's own rounding is below 1e-12.
        let exact = setting.shift() * largest_row_norm(white.as_ref());
        let cost = Arithmetic::new(setting, white.norm_l2(), white.ncols());
        let rough = NoiseScale::new(exact / mu)?;
        let (grid, paid) = cost.pay(exact * (1.0 + 1e-12), rough)?;
        // The final sigma is larger than the rough one the grid was chosen for: finer is safe.
        let sigma = NoiseScale::new((paid / mu).next_up())?;
        products::check_grid(sigma, grid)?;
        Ok(Self { encoder: white, decoder: code.decoder, sigma, grid })
    }

    /// The published noise: `N(0, (alpha_l rho)^2)` on row l of `W^T A`, alpha_l the largest
    /// entry of W's column l.
    pub(super) fn by_largest_entries(
        setting: &Setting,
        basis: &Mat<f64>,
        sigma: NoiseScale,
    ) -> Result<Self> {
        let k = basis.ncols();
        let alpha: Vec<f64> = (0..k).map(|l| basis.col(l).norm_max()).collect();
        let inverse = |l: usize| if alpha[l] > 0.0 { 1.0 / alpha[l] } else { 0.0 };
        let scaled = |by: &dyn Fn(usize) -> f64| {
            Mat::from_fn(basis.nrows(), k, |i, l| basis[(i, l)] * by(l))
        };
        let cost = Arithmetic::worst(setting);
        let (grid, _) = cost.pay(setting.shift() * (k as f64).sqrt(), sigma)?;
        Ok(Self { encoder: scaled(&inverse), decoder: scaled(&|l| alpha[l]), sigma, grid })
    }

    /// mu of [`ProjectionStep::by_largest_entries`] for the worst W.
    pub(super) fn worst_mu(setting: &Setting, sigma: NoiseScale) -> Result<f64> {
        let exact = setting.shift() * (setting.k() as f64).sqrt() * (1.0 + 1e-12);
        Ok((Arithmetic::worst(setting).pay(exact, sigma)?.1 / sigma.get()).next_up())
    }

    pub(super) fn law(&self) -> NoiseLaw {
        NoiseLaw::RoundedGaussian { sigma: self.sigma, grid: self.grid }
    }

    pub(super) fn release(
        &self,
        setting: &Setting,
        a: &RowsView<'_>,
        range: Option<Range>,
        rng: &mut NoiseRng,
    ) -> Result<PrivateLowRank> {
        setting.check(a)?;
        let factors = setting.clip_factors(a)?;
        let (m, n, k) = (setting.m(), setting.n(), self.encoder.ncols());
        let left = Mat::from_fn(m, k, |i, j| self.encoder[(i, j)] * factors[i]);
        let mut coefficients = products::transposed_times(a, left.as_ref());
        AUTHOR.gaussian(self.sigma, self.grid)?.add_to(rng, &mut coefficients)?;
        // Both over sigma, which the left factor takes: white noise of unit variance.
        let s = self.sigma.get();
        coefficients.iter_mut().for_each(|c| *c /= s);
        let flat = |matrix: &Mat<f64>, by: f64| -> Vec<f64> {
            (0..m * k).map(|i| matrix[(i / k, i % k)] * by).collect()
        };
        Ok(PrivateLowRank {
            factors: LowRank::new((m, n, k), flat(&self.decoder, s), coefficients)?,
            encoder: flat(&self.encoder, 1.0 / s),
            range,
        })
    }
}

impl author::Sealed for BasisProjection {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for BasisProjection {
    type Config = (Setting, Spread);
    type Input<'a> = (RowsView<'a>, &'a PublicBasis);
    type Output = Release<PrivateLowRank>;
    /// The basis that will be projected on.
    type Facts = PublicBasis;
    type Error = Error;

    fn calibrate(config: Self::Config, budget: Budget) -> Result<Self> {
        let (setting, spread) = config;
        Self::calibrate(setting, budget, spread)
    }

    fn guarantee(&self) -> &Guarantee {
        Self::guarantee(self)
    }

    fn predict(&self, basis: PublicBasis) -> Result<Prediction> {
        let step = ProjectionStep::new(&self.setting, basis.matrix(), self.mu, self.spread, None)?;
        let decoded = step.decoder.norm_l2() * step.sigma.get();
        let of = "the projection in Frobenius norm";
        Ok(Prediction::new(of, (self.setting.n() as f64).sqrt() * decoded))
    }

    fn release_watched(
        &self,
        input: Self::Input<'_>,
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Self::Output> {
        Progress::new(0, 1).ask(hook)?;
        let (a, basis) = input;
        self.release(&a, basis, rng)
    }
}
