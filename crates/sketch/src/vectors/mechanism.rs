//! The private projection: Z = X P + noise.

use super::element::Element;
use super::noise::{NoiseKind, SketchNoise};
use super::pairs::predict_distance;
use super::projector::{Hook, Projector};
use super::sketch::PrivateSketch;
use crate::author::AUTHOR;
use crate::error::{Error, Result};
use crate::projection::SharedProjection;
use crate::rows::{Incoming, RowsView};
use core::ops::ControlFlow;
use dp_core::certificate::PublicParameters;
use dp_core::mechanism::{Calibrated, Mechanism, Prediction, author};
use dp_core::noise::{
    AdditiveNoise, GaussianNoise, GeneratorKind, LaplaceNoise, NoiseLaw, StaircaseNoise,
};
use dp_core::{
    Adjacency, Budget, Certificate, EntryBound, Guarantee, NoiseRng, Release, SeedOrigin, Theorem,
};

/// Z = X P + noise, published together with P (Kenthapadi et al. 2013, Algorithm 1; Li & Li 2023).
///
/// # Privacy
/// What is protected is what the adjacency says may change: under `Attribute{beta}` one value of one row by
/// beta (any value within `bound`: beta is twice the bound), not the row; under `RowShift{l2}` one
/// row by a shift of this norm; under `ReplaceRow{bound}` a whole row of norm at most the bound.
///
/// The noise is calibrated to the exact sensitivity of this very P, enlarged by the
/// rounding of values to the release's grid and by a rigorous bound on floating-point
/// error. `Attribute`: beta times the largest row norm of P. `RowShift`, `ReplaceRow`:
/// the norm of the shift times a certified bound on the spectral norm of P. The caller
/// must see to it that P was drawn from its public seed without a look at the data (it may be
/// known to everybody, and be used again) and that the declared bounds hold for every
/// possible data set: a refusal reveals that they do not.
///
/// # References
/// Kenthapadi, Korolova, Mironov, Mishra 2013, *Privacy via the Johnson-Lindenstrauss transform*,
/// algorithm 1 and theorem 1; Li and Li 2023, *Differential privacy with random projections and sign random
/// projections*, theorem 3.5; Geng and Viswanath 2016, *The optimal noise-adding mechanism in differential privacy*;
/// proofs: `docs/proofs/private-projection.md`, theorems 1 and 2, and `docs/proofs/staircase.md`.
///
/// ```
/// use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, NormBound, PublicSeed};
/// use sketch::RowsView;
/// use sketch::projection::{Family, ProjectionSpec};
/// use sketch::vectors::{Pairs, PrivateProjection};
///
/// // Two rows of norm at most 1, either of which may become any other.
/// let rows = RowsView::f64(2, 3, &[0.6, 0.0, 0.8, 0.0, 0.6, 0.8])?;
/// let (one, norm) = (EntryBound::new(1.0)?, NormBound::new(1.0)?);
/// let projection = ProjectionSpec::new(Family::Gaussian, 3, 2, PublicSeed::new(7))?.build();
/// let any_row = Adjacency::ReplaceRow { bound: norm };
/// let mechanism = PrivateProjection::gaussian(projection, any_row, one, Budget::new(1.0, 1e-6)?)?;
/// let release = mechanism.release(rows, &mut NoiseRng::from_os()?)?;
/// assert!(Pairs::within(&release).squared_distance(0, 1)?.standard_error > 1.0);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PrivateProjection {
    rows: Projector,
    calibrated: Calibrated<SketchNoise>,
    mechanism: &'static str,
    seed_origin: Option<SeedOrigin>,
}

/// What a [`PrivateProjection`] is calibrated for.
#[derive(Debug, Clone)]
pub struct ProjectionConfig {
    /// The projection.
    pub projection: SharedProjection,
    /// What may change: an attribute, a shift of a row, or a whole row; or so many rows of a user, each of them so
    /// (Gaussian noise grows with the root of their number, Laplace noise with it).
    pub adjacency: Adjacency,
    /// Largest absolute value of an entry of the rows.
    pub bound: EntryBound,
    /// The law of the noise.
    pub noise: NoiseKind,
}

impl PrivateProjection {
    /// The noise, of those that can meet the budget for this projection and adjacency, that predicts the least
    /// error of a squared distance of zero: a choice that depends on public facts alone.
    ///
    /// # Errors
    /// As [`PrivateProjection::laplace`], when no noise can.
    pub fn of_least_error(
        projection: SharedProjection,
        adjacency: Adjacency,
        bound: EntryBound,
        budget: Budget,
    ) -> Result<Self> {
        let made = |noise| {
            let projection = projection.clone();
            Self::calibrate(ProjectionConfig { projection, adjacency, bound, noise }, budget)
        };
        let mut best = made(NoiseKind::Laplace)?;
        for other in [NoiseKind::Gaussian, NoiseKind::Staircase].map(made).into_iter().flatten() {
            if other.predict(0.0)?.root_mean_square < best.predict(0.0)?.root_mean_square {
                best = other;
            }
        }
        Ok(best)
    }

    /// Gaussian noise of the least scale that meets the budget for this very P (exact
    /// realised calibration). `bound` is the largest absolute value of an entry of X.
    ///
    /// # Errors
    /// A calibration that fails (delta = 0), an adjacency with another shape of output, or
    /// a bound so large that no grid carries the sums.
    pub fn gaussian(
        projection: SharedProjection,
        adjacency: Adjacency,
        bound: EntryBound,
        budget: Budget,
    ) -> Result<Self> {
        let rows = Projector::new(projection, adjacency, bound);
        let basis = AUTHOR.theorem(Theorem::ProjectionGaussian);
        let calibrated = Calibrated::<GaussianNoise>::calibrate(rows.l2()?, budget, basis)?;
        Self::of_gaussian(rows, calibrated)
    }

    /// Laplace noise of scale `l1 sensitivity / epsilon`: pure differential privacy for a
    /// budget of delta zero (and slightly less noise for a positive delta).
    ///
    /// # Errors
    /// As [`PrivateProjection::gaussian`].
    pub fn laplace(
        projection: SharedProjection,
        adjacency: Adjacency,
        bound: EntryBound,
        budget: Budget,
    ) -> Result<Self> {
        let rows = Projector::new(projection, adjacency, bound);
        let basis = AUTHOR.theorem(Theorem::ProjectionLaplace);
        let calibrated = Calibrated::<LaplaceNoise>::calibrate(rows.l1()?, budget, basis)?;
        let calibrated = AUTHOR.recast(calibrated, SketchNoise::Laplace)?;
        Ok(Self::of(rows, calibrated, "private projection (Laplace)"))
    }

    /// Staircase noise of the least variance (Geng, Viswanath 2016): as pure as Laplace noise and with less
    /// variance, 4 % at epsilon 1, a third at 3, two thirds at 5.
    ///
    /// # Errors
    /// As [`PrivateProjection::gaussian`]; a projection of which one value moves several numbers, or another
    /// adjacency than `Attribute`; an epsilon outside of `[1/32, 20]`.
    pub fn staircase(
        projection: SharedProjection,
        adjacency: Adjacency,
        bound: EntryBound,
        budget: Budget,
    ) -> Result<Self> {
        if !matches!(adjacency, Adjacency::Attribute { .. }) {
            let allowed =
                "attribute for staircase noise: Laplace and Gaussian noise take whole rows";
            return Err(Error::invalid("adjacency", adjacency, allowed));
        }
        let rows = Projector::new(projection, adjacency, bound);
        let basis = AUTHOR.theorem(Theorem::ProjectionStaircase);
        let calibrated = Calibrated::<StaircaseNoise>::calibrate(rows.l1()?, budget, basis)?;
        let calibrated = AUTHOR.recast(calibrated, SketchNoise::Staircase)?;
        Ok(Self::of(rows, calibrated, "private projection (staircase)"))
    }

    pub(super) fn of_gaussian(
        rows: Projector,
        calibrated: Calibrated<GaussianNoise>,
    ) -> Result<Self> {
        let calibrated = AUTHOR.recast(calibrated, SketchNoise::Gaussian)?;
        Ok(Self::of(rows, calibrated, "private projection"))
    }

    pub(super) fn of(
        rows: Projector,
        calibrated: Calibrated<SketchNoise>,
        mechanism: &'static str,
    ) -> Self {
        Self { rows, calibrated, mechanism, seed_origin: None }
    }

    pub(super) fn named(self, mechanism: &'static str) -> Self {
        Self { mechanism, ..self }
    }

    /// States where the fresh seed of the projection came from.
    pub(super) fn drawn_from(self, origin: SeedOrigin) -> Self {
        Self { seed_origin: Some(origin), ..self }
    }

    /// The projection.
    #[must_use]
    pub fn projection(&self) -> &SharedProjection {
        self.rows.projection()
    }

    /// The noise.
    #[must_use]
    pub fn noise(&self) -> SketchNoise {
        *self.calibrated.noise()
    }

    /// Refuses an element of a file whose rounding is not negligible beside the noise for the
    /// largest numbers that this mechanism can release. Ask before a budget is spent; the
    /// writers ask too.
    ///
    /// # Errors
    /// An invalid element.
    pub fn check_element(&self, element: Element) -> Result<()> {
        element.check_mechanism(self.rows.magnitude(), self.noise())
    }

    /// The guarantee every release of this mechanism carries.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    /// Releases n rows.
    ///
    /// # Errors
    /// [`crate::Error::Shape`] for rows of another d, [`crate::Error::OutOfRange`] or
    /// [`crate::Error::NormOutOfRange`] for rows outside the declared bounds.
    pub fn release(
        &self,
        rows: RowsView<'_>,
        rng: &mut NoiseRng,
    ) -> Result<Release<PrivateSketch>> {
        Mechanism::release(self, rows, rng)
    }

    /// The law of the noise.
    pub(super) fn law(&self) -> NoiseLaw {
        self.calibrated.law()
    }

    /// Checks, projects and adds noise: whole blocks of rows.
    pub(crate) fn release_into(
        &self,
        rows: Incoming<'_>,
        out: &mut [f64],
        rng: &mut NoiseRng,
    ) -> Result<()> {
        let on = &mut |_| ControlFlow::Continue(());
        self.rows.release_into(rows, out, &self.calibrated, rng, on)
    }

    /// Adds noise to projected rows.
    pub(crate) fn add_noise(&self, values: &mut [f64], rng: &mut NoiseRng) -> Result<()> {
        self.rows.add_noise(values, &self.calibrated, rng)
    }

    /// Checks and projects rows, without noise. After an error `out` holds no row's projection.
    pub(crate) fn project_block(&self, rows: Incoming<'_>, out: &mut [f64]) -> Result<()> {
        self.rows.project_block(rows, out)
    }

    /// The certificate of a release of n rows.
    pub(crate) fn certificate(&self, n: usize, generator: GeneratorKind) -> Certificate {
        let mut public: PublicParameters = self.projection().spec().public_parameters();
        public.insert("n".into(), n.into());
        public.insert("largest entry".into(), self.rows.bound().get().into());
        if let Some(origin) = self.seed_origin {
            public.insert(SeedOrigin::KEY.into(), origin.name().into());
        }
        self.calibrated.certificate(self.mechanism, public, generator)
    }
}

impl author::Sealed for PrivateProjection {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for PrivateProjection {
    type Config = ProjectionConfig;
    type Input<'a> = RowsView<'a>;
    type Output = Release<PrivateSketch>;
    /// A squared distance of two rows.
    type Facts = f64;
    type Error = crate::Error;

    fn calibrate(config: ProjectionConfig, budget: Budget) -> Result<Self> {
        let ProjectionConfig { projection, adjacency, bound, noise } = config;
        match noise {
            NoiseKind::Gaussian => Self::gaussian(projection, adjacency, bound, budget),
            NoiseKind::Laplace => Self::laplace(projection, adjacency, bound, budget),
            NoiseKind::Staircase => Self::staircase(projection, adjacency, bound, budget),
        }
    }

    fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    fn predict(&self, squared_distance: f64) -> Result<Prediction> {
        predict_distance(&[(self.projection().spec(), self.calibrated.law())], squared_distance)
    }

    fn release_watched(
        &self,
        rows: RowsView<'_>,
        rng: &mut NoiseRng,
        hook: &mut Hook<'_>,
    ) -> Result<Release<PrivateSketch>> {
        let generator = rng.kind();
        let mut values = self.rows.output(rows.n())?;
        self.rows.release_into(rows.into(), &mut values, &self.calibrated, rng, hook)?;
        let spec = self.projection().spec();
        let sketch = PrivateSketch::new(spec, self.law(), values)?;
        Ok(Release::certified(sketch, self.certificate(rows.n(), generator)))
    }
}
