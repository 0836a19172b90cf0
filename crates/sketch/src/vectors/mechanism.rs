//! The private projection: Z = X P + noise.

use super::element::Element;
use super::noise::SketchNoise;
use super::sketch::{PrivateSketch, SketchRelease};
use crate::error::{Error, Result};
use crate::projection::{OutputRange, SharedProjection, output_len, project_checked};
use crate::rows::{NORM_SLACK, RowsView, block_rows, pass_rows};
use dp_core::calibrate::published::PublishedRule;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::noise::{AdditiveNoise, GaussianNoise, Grid, LaplaceNoise};
use dp_core::{
    Adjacency, Bound, Budget, Certificate, Guarantee, L1Sensitivity, L2Sensitivity, NoiseRng,
    NoiseScale, Profile, Release, SeedOrigin, calibrate,
};
use rayon::prelude::*;

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
/// must see to it that P was drawn independently of nothing but its public seed (it may be
/// known to everybody, and be used again) and that the declared bounds hold for every
/// possible data set: a refusal reveals that they do not.
#[derive(Debug, Clone)]
pub struct PrivateProjection {
    projection: SharedProjection,
    bound: Bound,
    noise: SketchNoise,
    guarantee: Guarantee,
    mechanism: &'static str,
    seed_origin: Option<SeedOrigin>,
}

/// The adjacencies these mechanisms know.
pub(super) const ADJACENCIES: &str =
    "attribute, row shift or replaced row for a release with one output row per input row";

/// A projection with its exact sensitivities, before noise is chosen.
pub(super) struct Parts {
    projection: SharedProjection,
    bound: Bound,
    range: OutputRange,
    adjacency: Option<Adjacency>,
    l2: f64,
    l1: f64,
    touched: usize,
}

impl Parts {
    pub(super) fn new(
        projection: SharedProjection,
        adjacency: Adjacency,
        bound: Bound,
    ) -> Result<Self> {
        let up = 1.0 + 4.0 * f64::EPSILON;
        let mut parts = Self::without_sensitivity(projection, bound);
        let whole_row = |norm: f64| -> Result<[f64; 2]> {
            let l2 = norm * parts.projection.spectral_norm_bound()? * up;
            Ok([l2, l2 * (parts.touched as f64).sqrt() * up])
        };
        [parts.l2, parts.l1] = match adjacency {
            Adjacency::Attribute { beta } => {
                parts.touched = parts.projection.touched_by_one_attribute();
                let scale = beta.get() * up;
                [scale * parts.projection.max_row_l2(), scale * parts.projection.max_row_l1()]
            }
            Adjacency::RowShift { l2 } => whole_row(l2.get())?,
            Adjacency::ReplaceRow { bound } => {
                whole_row(2.0 * bound.get() * (1.0 + 2.0 * NORM_SLACK))?
            }
            other => return Err(Error::invalid("adjacency", other, ADJACENCIES)),
        };
        parts.adjacency = Some(adjacency);
        Ok(parts)
    }

    /// For mechanisms whose privacy does not rest on the realised sensitivity.
    pub(super) fn without_sensitivity(projection: SharedProjection, bound: Bound) -> Self {
        let range = projection.output_range(bound);
        let touched = projection.spec().k();
        Self { projection, bound, range, adjacency: None, l2: 0.0, l1: 0.0, touched }
    }

    pub(super) fn projection(&self) -> &SharedProjection {
        &self.projection
    }

    /// The l2 sensitivity before rounding.
    pub(super) fn l2(&self) -> f64 {
        self.l2
    }

    fn adjacency(&self) -> Adjacency {
        self.adjacency.expect("parts made with an adjacency")
    }

    /// Grid and l2 sensitivity including rounding, for noise of about this scale.
    pub(super) fn on_grid(&self, start: NoiseScale) -> Result<(Grid, L2Sensitivity)> {
        let grid = Grid::choose(start, Bound::new(self.range.magnitude)?)?;
        let exact = L2Sensitivity::new(self.l2)?;
        Ok((grid, grid.inflate_l2(exact, self.touched, self.range.error)?))
    }

    /// Gaussian noise with sigma given by `rule` from the sensitivity.
    pub(super) fn gaussian(
        self,
        budget: Budget,
        published: Option<PublishedRule>,
        rule: impl Fn(L2Sensitivity) -> Result<NoiseScale>,
    ) -> Result<PrivateProjection> {
        let (grid, sensitivity) = self.on_grid(rule(L2Sensitivity::new(self.l2)?)?)?;
        let sigma = rule(sensitivity)?;
        let profile = Profile::Gaussian { sensitivity, sigma };
        let adjacency = self.adjacency();
        let guarantee = match published {
            None => {
                let theorem = dp_core::Theorem::ProjectionGaussian;
                Guarantee::proven(adjacency, budget, profile, theorem)?
            }
            Some(rule) => {
                let profile = Some(profile);
                let (name, source) = (rule.name(), rule.source());
                Guarantee::published(adjacency, budget, profile, name, source, rule.caveat())?
            }
        };
        let noise = SketchNoise::Gaussian(GaussianNoise::new(sigma, grid)?);
        Ok(PrivateProjection::assemble(self, noise, guarantee, "private projection"))
    }

    fn laplace(self, budget: Budget) -> Result<PrivateProjection> {
        let exact = L1Sensitivity::new(self.l1)?;
        let start = calibrate::laplace(budget, exact)?;
        let grid = Grid::choose(start, Bound::new(self.range.magnitude)?)?;
        let sensitivity = grid.inflate_l1(exact, self.touched, self.range.error)?;
        let scale = calibrate::laplace(budget, sensitivity)?;
        let profile = Profile::Laplace { sensitivity, scale };
        let theorem = dp_core::Theorem::ProjectionLaplace;
        let guarantee = Guarantee::proven(self.adjacency(), budget, profile, theorem)?;
        let noise = SketchNoise::Laplace(LaplaceNoise::new(scale, grid)?);
        Ok(PrivateProjection::assemble(self, noise, guarantee, "private projection (Laplace)"))
    }
}

impl PrivateProjection {
    /// Gaussian noise of the least scale that meets the budget for this very P (exact
    /// realised calibration). `bound` is the largest absolute value of an entry of X.
    ///
    /// # Errors
    /// A calibration that fails (delta = 0), an adjacency with another shape of output, or
    /// a bound so large that no grid carries the sums.
    pub fn gaussian(
        projection: SharedProjection,
        adjacency: Adjacency,
        bound: Bound,
        budget: Budget,
    ) -> Result<Self> {
        Parts::new(projection, adjacency, bound)?
            .gaussian(budget, None, |s| Ok(calibrate::gaussian(budget, s)?))
    }

    /// Laplace noise of scale `l1 sensitivity / epsilon`: pure differential privacy for a
    /// budget of delta zero (and slightly less noise for a positive delta).
    ///
    /// # Errors
    /// As [`PrivateProjection::gaussian`].
    pub fn laplace(
        projection: SharedProjection,
        adjacency: Adjacency,
        bound: Bound,
        budget: Budget,
    ) -> Result<Self> {
        Parts::new(projection, adjacency, bound)?.laplace(budget)
    }

    pub(super) fn assemble(
        parts: Parts,
        noise: SketchNoise,
        guarantee: Guarantee,
        mechanism: &'static str,
    ) -> Self {
        let Parts { projection, bound, .. } = parts;
        Self { projection, bound, noise, guarantee, mechanism, seed_origin: None }
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
        &self.projection
    }

    /// The noise.
    #[must_use]
    pub fn noise(&self) -> SketchNoise {
        self.noise
    }

    /// Refuses an element of a file whose rounding is not negligible beside the noise for the
    /// largest numbers that this mechanism can release. Ask before a budget is spent; the
    /// writers ask too.
    ///
    /// # Errors
    /// An invalid element.
    pub fn check_element(&self, element: Element) -> Result<()> {
        let magnitude = self.projection.output_range(self.bound).magnitude;
        element.check_mechanism(magnitude, self.noise)
    }

    /// The guarantee every release of this mechanism carries.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Releases n rows.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows of another d, [`Error::OutOfRange`] or
    /// [`Error::NormOutOfRange`] for rows outside the declared bounds.
    pub fn release(&self, rows: RowsView<'_>, rng: &mut NoiseRng) -> Result<SketchRelease> {
        let generator = rng.kind();
        let sketch = self.release_sketch(rows, rng)?;
        Ok(Release::certified(sketch, self.certificate(rows.n(), generator)))
    }

    /// The payload of a release.
    pub(super) fn release_sketch(
        &self,
        rows: RowsView<'_>,
        rng: &mut NoiseRng,
    ) -> Result<PrivateSketch> {
        let spec = self.projection.spec();
        let mut values = vec![0.0; output_len(spec, rows.n())?];
        self.release_into(rows, &mut values, rng)?;
        PrivateSketch::new(spec, self.noise.law(), values)
    }

    /// Checks, projects and adds noise. One noise stream for [`block_rows`] rows; where P need not
    /// be generated again for every block, a block is finished while it is in the cache.
    pub(crate) fn release_into(
        &self,
        rows: RowsView<'_>,
        out: &mut [f64],
        rng: &mut NoiseRng,
    ) -> Result<()> {
        let k = self.projection.spec().k();
        let step = block_rows(k);
        let part = |from: usize, out: &[f64]| rows.slice(from..from + out.len() / k);
        if self.projection.is_cheap_for_few_rows() {
            let streams = rng.reserve(rows.n().div_ceil(step) as u64);
            let done: Vec<Result<()>> = out
                .par_chunks_mut(step * k)
                .zip(streams)
                .enumerate()
                .map(|(i, (out, mut stream))| {
                    let rows = part(i * step, out);
                    self.project_block(rows, out).map_err(|e| e.offset_row(i * step))?;
                    Ok(self.noise.add_block(&mut stream, out)?)
                })
                .collect();
            return done.into_iter().collect();
        }
        let pass = pass_rows(k);
        for (p, out) in out.chunks_mut(pass * k).enumerate() {
            let rows = part(p * pass, out);
            self.project_block(rows, out).map_err(|e| e.offset_row(p * pass))?;
            self.add_noise(out, rng)?;
        }
        Ok(())
    }

    /// Adds noise to projected rows, one stream for [`block_rows`] rows.
    pub(crate) fn add_noise(&self, values: &mut [f64], rng: &mut NoiseRng) -> Result<()> {
        let block = block_rows(self.projection.spec().k()) * self.projection.spec().k();
        let streams = rng.reserve(values.len().div_ceil(block) as u64);
        let blocks = values.par_chunks_mut(block).zip(streams);
        Ok(blocks.try_for_each(|(out, mut stream)| self.noise.add_block(&mut stream, out))?)
    }

    /// Checks and projects rows, without noise. After an error `out` holds no row's projection.
    pub(crate) fn project_block(&self, rows: RowsView<'_>, out: &mut [f64]) -> Result<()> {
        let check = |rows: RowsView<'_>| {
            rows.check_bound(self.bound)?;
            match self.guarantee.adjacency() {
                Adjacency::ReplaceRow { bound } => rows.check_norms(bound),
                _ => Ok(()),
            }
        };
        let few = self.projection.is_cheap_for_few_rows();
        project_checked(rows, out, few, |rows, out| self.projection.apply(rows, out), check)
    }

    /// The certificate of a release of n rows.
    pub(crate) fn certificate(
        &self,
        n: usize,
        generator: dp_core::noise::GeneratorKind,
    ) -> Certificate {
        let mut public: PublicParameters = self.projection.spec().public_parameters();
        public.insert("n".into(), n.into());
        public.insert("largest entry".into(), self.bound.get().into());
        if let Some(origin) = self.seed_origin {
            public.insert(SeedOrigin::KEY.into(), origin.name().into());
        }
        let statement = Statement {
            mechanism: self.mechanism.into(),
            noise: self.noise.law(),
            generator,
            public,
        };
        Certificate::new(statement, self.guarantee.clone())
    }
}
