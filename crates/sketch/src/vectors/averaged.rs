//! Averaged calibration: a Gaussian projection that nobody knew when the data was fixed.

use super::element::Element;
use super::mechanism::PrivateProjection;
use super::noise::SketchNoise;
use super::open::OpenSketch;
use super::pairs::predict_distance;
use super::projector::{Hook, Projector, norm_of_change};
use super::sketch::PrivateSketch;
use super::writer::ReleaseWriter;
use crate::author::AUTHOR;
use crate::error::Result;
use crate::projection::{Family, Gaussian, Projection, ProjectionSpec};
use crate::rows::RowsView;
use dp_core::mechanism::{Calibrated, Mechanism, Prediction, author};
use dp_core::noise::AdditiveNoise;
use dp_core::output::Destination;
use dp_core::{
    Adjacency, Budget, EntryBound, FreshSeed, Guarantee, L2Sensitivity, NoiseRng, NoiseScale,
    Profile, PublicSeed, Release, Theorem, calibrate,
};
use std::borrow::Cow;
use std::sync::Arc;

/// Z = X P + noise with P drawn afresh, calibrated to the expectation over P of the exact
/// profile: no worst row of P to pay for, and for whole rows no spectral norm.
///
/// The privacy profile is `E_q[delta_gauss(eps; mu = D sqrt(q/k)/sigma)]`, q ~ chi2_k, for a
/// shift of norm D: exact, see docs/proofs/private-projection.md, theorem 3. A release uses
/// up the mechanism and a [`FreshSeed`]; both are needed for the theorem. A clone saves the
/// calibration only: its release needs a seed of its own, and spends the budget again.
///
/// ```
/// use dp_core::{Adjacency, Budget, EntryBound, FreshSeed, NoiseRng, NormBound};
/// use sketch::RowsView;
/// use sketch::vectors::AveragedProjection;
///
/// let rows = RowsView::f64(2, 3, &[0.6, 0.0, 0.8, 0.0, 0.6, 0.8])?;
/// let (one, norm) = (EntryBound::new(1.0)?, NormBound::new(1.0)?);
/// let any_row = Adjacency::ReplaceRow { bound: norm };
/// let mechanism = AveragedProjection::gaussian(3, 2, any_row, one, Budget::new(1.0, 1e-6)?)?;
/// // The seed is drawn after the rows are fixed, and published with the release.
/// let release = mechanism.release(FreshSeed::draw()?, rows, &mut NoiseRng::from_os()?)?;
/// assert_eq!(release.payload().n(), 2);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct AveragedProjection {
    spec: ProjectionSpec,
    bound: EntryBound,
    calibrated: Calibrated<SketchNoise>,
}

/// The part of the shift that pays for rounding: `(a + b)^2 <= (1 + t) a^2 + (1 + 1/t) b^2`.
const T: f64 = 1.0 / (1 << 20) as f64;

/// Covers the rounding of a few products.
const UP: f64 = 1.0 + 8.0 * f64::EPSILON;

impl AveragedProjection {
    /// The least Gaussian noise that meets the budget on average over P.
    ///
    /// # Errors
    /// As [`PrivateProjection::gaussian`].
    pub fn gaussian(
        d: usize,
        k: usize,
        adjacency: Adjacency,
        bound: EntryBound,
        budget: Budget,
    ) -> Result<Self> {
        let spec = ProjectionSpec::new(Family::Gaussian, d, k, PublicSeed::new(0))?;
        let norm = norm_of_change(adjacency)?;
        // Holds for every seed: it uses the largest entry the generator can make.
        let any: Arc<dyn Projection> = Arc::new(Gaussian::from_spec(spec));
        let error = any.output_range(bound).error;
        let entry = |shift: f64| L2Sensitivity::new(shift / (k as f64).sqrt() * UP);
        let profile = |entry_shift, later: f64| {
            move |sigma: NoiseScale| Profile::ChiMixtureGaussian {
                k: k as u64,
                entry_shift,
                sigma,
                later_mu: later / sigma.get(),
            }
        };
        let start = calibrate::chi_mixture_gaussian(budget, k as u64, entry(norm)?, 0.0)?;
        let statistic = Projector::new(any, adjacency, bound).statistic(entry(norm)?, k)?;
        let (grid, _) = statistic.on_grid(start)?;
        // The rounding alone, which moves the output after P has: theorem 3 counts it apart.
        let rounding = Self::rounding(k, grid.spacing() + 2.0 * error);
        let family = profile(entry(norm * (1.0 + T).sqrt())?, rounding);
        let sigma = calibrate::least_scale("fresh projection", budget, family)?;
        let noise = SketchNoise::Gaussian(AUTHOR.gaussian(sigma, grid)?);
        let basis = AUTHOR.theorem(Theorem::ProjectionFresh);
        let calibrated = AUTHOR.calibrated(adjacency, budget, basis, family(sigma), noise)?;
        Ok(Self { spec, bound, calibrated })
    }

    /// What k numbers that may differ by `each` more than the projection moves them count as a step that follows.
    pub(crate) fn rounding(k: usize, each: f64) -> f64 {
        (k as f64).sqrt() * each * UP * (1.0 + 1.0 / T).sqrt() * UP
    }

    /// The noise.
    #[must_use]
    pub fn noise(&self) -> SketchNoise {
        *self.calibrated.noise()
    }

    /// As [`PrivateProjection::check_element`].
    ///
    /// # Errors
    /// An invalid element.
    pub fn check_element(&self, element: Element) -> Result<()> {
        let magnitude = Gaussian::from_spec(self.spec).output_range(self.bound).magnitude;
        element.check_mechanism(magnitude, self.noise())
    }

    /// The guarantee of the release.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    /// Draws P from the fresh seed, releases n rows, and publishes the seed with them.
    ///
    /// # Errors
    /// As [`PrivateProjection::release`].
    pub fn release(
        self,
        fresh: FreshSeed,
        rows: RowsView<'_>,
        rng: &mut NoiseRng,
    ) -> Result<Release<PrivateSketch>> {
        self.draw(fresh)?.release(rows, rng)
    }

    /// As [`AveragedProjection::release`], for rows that come in portions.
    ///
    /// # Errors
    /// A projection that cannot be drawn.
    pub fn open<'r>(
        self,
        fresh: FreshSeed,
        rng: &'r mut NoiseRng,
    ) -> Result<OpenSketch<'static, 'r>> {
        Ok(OpenSketch::of(Cow::Owned(self.draw(fresh)?), rng))
    }

    /// As [`AveragedProjection::release`] to a file, for rows that come in batches: see
    /// [`ReleaseWriter`].
    ///
    /// # Errors
    /// As [`ReleaseWriter::create`].
    pub fn writer<'r>(
        self,
        to: impl Destination,
        element: Element,
        fresh: FreshSeed,
        rng: &'r mut NoiseRng,
    ) -> Result<ReleaseWriter<'static, 'r>> {
        ReleaseWriter::of(to, Cow::Owned(self.draw(fresh)?), element, rng)
    }

    /// The mechanism for the P of this seed; it must release once.
    fn draw(self, fresh: FreshSeed) -> Result<PrivateProjection> {
        let (d, k) = (self.spec.d(), self.spec.k());
        let origin = fresh.origin();
        let projection = Arc::new(Gaussian::new(d, k, fresh.publish())?);
        let rows = Projector::new(projection, self.guarantee().adjacency(), self.bound);
        let drawn = PrivateProjection::of(rows, self.calibrated, "private projection, fresh");
        Ok(drawn.drawn_from(origin))
    }
}

impl author::Sealed for AveragedProjection {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for AveragedProjection {
    /// Features of a row, numbers of a sketch, what may change, and the largest absolute value of an entry of the rows.
    type Config = (usize, usize, Adjacency, EntryBound);
    /// Rows, and a seed that was drawn after they were fixed.
    type Input<'a> = (FreshSeed, RowsView<'a>);
    type Output = Release<PrivateSketch>;
    /// A squared distance of two rows.
    type Facts = f64;
    type Error = crate::Error;

    fn calibrate((d, k, adjacency, bound): Self::Config, budget: Budget) -> Result<Self> {
        Self::gaussian(d, k, adjacency, bound, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    fn predict(&self, squared_distance: f64) -> Result<Prediction> {
        predict_distance(&[(self.spec, self.calibrated.law())], squared_distance)
    }

    fn release_watched(
        &self,
        (fresh, rows): (FreshSeed, RowsView<'_>),
        rng: &mut NoiseRng,
        hook: &mut Hook<'_>,
    ) -> Result<Release<PrivateSketch>> {
        self.clone().draw(fresh)?.release_watched(rows, rng, hook)
    }
}
