//! The private projection: Z = X P + noise.

use super::noise::SketchNoise;
use super::sketch::{PrivateSketch, SketchRelease};
use crate::error::{Error, Result};
use crate::projection::SharedProjection;
use crate::rows::{NORM_SLACK, RowsView};
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::noise::{AdditiveNoise, GaussianNoise, Grid, LaplaceNoise};
use dp_core::{
    Adjacency, Bound, Budget, Certificate, Guarantee, L1Sensitivity, L2Sensitivity, NoiseRng,
    NoiseScale, Profile, Release, calibrate,
};

/// Rows that share noise streams: releasing in blocks of any size gives the same numbers
/// because values are collected into blocks of this many rows before noise is added.
pub const BLOCK_ROWS: usize = 4096;

/// Z = X P + noise, published together with P (Kenthapadi et al. 2013, Algorithm 1; Li & Li 2023).
///
/// # Privacy
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
}

/// l2 and l1 sensitivity of x -> x P, before rounding, and the coordinates it can touch.
struct Shift {
    l2: f64,
    l1: f64,
    touched: usize,
}

fn shift(projection: &SharedProjection, adjacency: Adjacency) -> Result<Shift> {
    let k = projection.spec().k();
    let up = 1.0 + 4.0 * f64::EPSILON;
    let whole_row = |norm: f64| -> Result<Shift> {
        let l2 = norm * projection.spectral_norm_bound()? * up;
        Ok(Shift { l2, l1: l2 * (k as f64).sqrt() * up, touched: k })
    };
    match adjacency {
        Adjacency::Attribute { beta } => Ok(Shift {
            l2: beta.get() * projection.max_row_l2() * up,
            l1: beta.get() * projection.max_row_l1() * up,
            touched: projection.touched_by_one_attribute(),
        }),
        Adjacency::RowShift { l2 } => whole_row(l2.get()),
        Adjacency::ReplaceRow { bound } => whole_row(2.0 * bound.get() * (1.0 + 2.0 * NORM_SLACK)),
        other => Err(Error::invalid(
            "adjacency",
            other,
            "attribute, row shift or replaced row for a release with one output row per input row",
        )),
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
        let shift = shift(&projection, adjacency)?;
        let range = projection.output_range(bound);
        let exact = L2Sensitivity::new(shift.l2)?;
        let start = calibrate::gaussian(budget, exact)?;
        let grid = Grid::choose(start, Bound::new(range.magnitude)?)?;
        let sensitivity = grid.inflate_l2(exact, shift.touched, range.error)?;
        let sigma = calibrate::gaussian(budget, sensitivity)?;
        let profile = Profile::Gaussian { sensitivity, sigma };
        let theorem = "docs/proofs/private-projection.md, theorem 1 (realised calibration)";
        let guarantee = Guarantee::proven(adjacency, budget, profile, theorem)?;
        let noise = SketchNoise::Gaussian(GaussianNoise::new(sigma, grid));
        Ok(Self { projection, bound, noise, guarantee, mechanism: "private projection" })
    }

    /// Laplace noise of scale `l1 sensitivity / epsilon`: pure differential privacy.
    ///
    /// # Errors
    /// As [`PrivateProjection::gaussian`]; the budget's delta must be zero.
    pub fn laplace(
        projection: SharedProjection,
        adjacency: Adjacency,
        bound: Bound,
        budget: Budget,
    ) -> Result<Self> {
        if budget.delta.get() > 0.0 {
            return Err(Error::invalid("delta", budget.delta, "{0} for Laplace noise"));
        }
        let shift = shift(&projection, adjacency)?;
        let range = projection.output_range(bound);
        let exact = L1Sensitivity::new(shift.l1)?;
        let scale = |s: L1Sensitivity| {
            NoiseScale::new(s.get() / budget.epsilon.get() * (1.0 + 4.0 * f64::EPSILON))
        };
        let grid = Grid::choose(scale(exact)?, Bound::new(range.magnitude)?)?;
        let sensitivity = grid.inflate_l1(exact, shift.touched, range.error)?;
        let scale = scale(sensitivity)?;
        let profile = Profile::Laplace { sensitivity, scale };
        let theorem = "docs/proofs/private-projection.md, theorem 2 (Laplace)";
        let guarantee = Guarantee::proven(adjacency, budget, profile, theorem)?;
        let noise = SketchNoise::Laplace(LaplaceNoise::new(scale, grid));
        Ok(Self { projection, bound, noise, guarantee, mechanism: "private projection (Laplace)" })
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
        let spec = self.projection.spec();
        let k = spec.k();
        let generator = rng.kind();
        let mut values = vec![0.0; rows.n() * k];
        for (block, out) in values.chunks_mut(BLOCK_ROWS * k).enumerate() {
            let first = block * BLOCK_ROWS;
            self.project_block(rows.slice(first..first + out.len() / k), out)?;
            self.noise.add_to(rng, out);
        }
        let sketch = PrivateSketch::new(spec, self.noise.law(), values)?;
        let certificate = self.certificate(rows.n(), generator);
        Ok(Release::certified(sketch, certificate))
    }

    /// Checks and projects rows, without noise.
    pub(crate) fn project_block(&self, rows: RowsView<'_>, out: &mut [f64]) -> Result<()> {
        rows.check_bound(self.bound)?;
        if let Adjacency::ReplaceRow { bound } = self.guarantee.adjacency() {
            rows.check_norms(bound)?;
        }
        self.projection.apply(rows, out)
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
        let statement = Statement {
            mechanism: self.mechanism.into(),
            noise: self.noise.law(),
            generator,
            public,
        };
        Certificate::new(statement, self.guarantee.clone())
    }
}
