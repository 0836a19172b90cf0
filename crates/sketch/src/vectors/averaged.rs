//! Averaged calibration: a Gaussian projection that nobody knew when the data was fixed.

use super::element::Element;
use super::mechanism::{ADJACENCIES, Parts, PrivateProjection};
use super::noise::SketchNoise;
use super::sketch::SketchRelease;
use super::writer::ReleaseWriter;
use crate::error::{Error, Result};
use crate::projection::{Family, Gaussian, Projection, ProjectionSpec};
use crate::rows::{NORM_SLACK, RowsView};
use dp_core::noise::{GaussianNoise, Grid};
use dp_core::{
    Adjacency, Bound, Budget, FreshSeed, Guarantee, L2Sensitivity, NoiseRng, NoiseScale, Profile,
    PublicSeed, calibrate,
};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// Z = X P + noise with P drawn afresh, calibrated to the expectation over P of the exact
/// profile: no worst row of P to pay for, and for whole rows no spectral norm.
///
/// The privacy profile is `E_q[delta_gauss(eps; mu = D sqrt(q/k)/sigma)]`, q ~ chi2_k, for a
/// shift of norm D: exact, see docs/proofs/private-projection.md, theorem 3. A release uses
/// up the mechanism and a [`FreshSeed`]; both are needed for the theorem. A clone saves the
/// calibration only: its release needs a seed of its own, and spends the budget again.
#[derive(Debug, Clone)]
pub struct AveragedProjection {
    spec: ProjectionSpec,
    bound: Bound,
    noise: SketchNoise,
    guarantee: Guarantee,
}

/// The part of the shift that pays for rounding: `(a + b)^2 <= (1 + t) a^2 + (1 + 1/t) b^2`.
const T: f64 = 1.0 / (1 << 20) as f64;

impl AveragedProjection {
    /// The least Gaussian noise that meets the budget on average over P.
    ///
    /// # Errors
    /// As [`PrivateProjection::gaussian`].
    pub fn gaussian(
        d: usize,
        k: usize,
        adjacency: Adjacency,
        bound: Bound,
        budget: Budget,
    ) -> Result<Self> {
        let spec = ProjectionSpec::new(Family::Gaussian, d, k, PublicSeed::new(0))?;
        let norm = match adjacency {
            Adjacency::Attribute { beta } => beta.get(),
            Adjacency::RowShift { l2 } => l2.get(),
            Adjacency::ReplaceRow { bound } => 2.0 * bound.get() * (1.0 + 2.0 * NORM_SLACK),
            other => return Err(Error::invalid("adjacency", other, ADJACENCIES)),
        };
        // Holds for every seed: it uses the largest entry the generator can make.
        let range = Gaussian::from_spec(spec).output_range(bound);
        let up = 1.0 + 8.0 * f64::EPSILON;
        let entry = |shift: f64| L2Sensitivity::new(shift / (k as f64).sqrt() * up);
        let profile = |entry_shift, later: f64| {
            move |sigma: NoiseScale| Profile::ChiMixtureGaussian {
                k: k as u64,
                entry_shift,
                sigma,
                later_mu: later / sigma.get(),
            }
        };
        let start = calibrate::chi_mixture_gaussian(budget, k as u64, entry(norm)?, 0.0)?;
        let grid = Grid::choose(start, Bound::new(range.magnitude)?)?;
        // The rounding alone: the inflation of a sensitivity, minus that sensitivity.
        let rounding = (k as f64).sqrt() * (grid.spacing() + 2.0 * range.error) * up;
        let family =
            profile(entry(norm * (1.0 + T).sqrt())?, rounding * (1.0 + 1.0 / T).sqrt() * up);
        let sigma = calibrate::least_scale("fresh projection", budget, family)?;
        let theorem = dp_core::Theorem::ProjectionFresh;
        let guarantee = Guarantee::proven(adjacency, budget, family(sigma), theorem)?;
        let noise = SketchNoise::Gaussian(GaussianNoise::new(sigma, grid)?);
        Ok(Self { spec, bound, noise, guarantee })
    }

    /// The noise.
    #[must_use]
    pub fn noise(&self) -> SketchNoise {
        self.noise
    }

    /// As [`PrivateProjection::check_element`].
    ///
    /// # Errors
    /// An invalid element.
    pub fn check_element(&self, element: Element) -> Result<()> {
        let magnitude = Gaussian::from_spec(self.spec).output_range(self.bound).magnitude;
        element.check_mechanism(magnitude, self.noise)
    }

    /// The guarantee of the release.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
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
    ) -> Result<SketchRelease> {
        self.draw(fresh)?.release(rows, rng)
    }

    /// As [`AveragedProjection::release`] to a file, for rows that come in batches: see
    /// [`ReleaseWriter`].
    ///
    /// # Errors
    /// As [`ReleaseWriter::create`].
    pub fn writer<'r>(
        self,
        path: &Path,
        element: Element,
        fresh: FreshSeed,
        rng: &'r mut NoiseRng,
    ) -> Result<ReleaseWriter<'static, 'r>> {
        ReleaseWriter::of(path, Cow::Owned(self.draw(fresh)?), element, rng)
    }

    /// The mechanism for the P of this seed; it must release once.
    fn draw(self, fresh: FreshSeed) -> Result<PrivateProjection> {
        let (d, k) = (self.spec.d(), self.spec.k());
        let origin = fresh.origin();
        let projection = Arc::new(Gaussian::new(d, k, fresh.publish())?);
        let name = "private projection, fresh";
        let parts = Parts::without_sensitivity(projection, self.bound);
        let drawn = PrivateProjection::assemble(parts, self.noise, self.guarantee, name);
        Ok(drawn.drawn_from(origin))
    }
}
