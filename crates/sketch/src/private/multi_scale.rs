//! Several sketch sizes at once: short distances from small k, long ones from large k.

use super::estimate::{Estimate, Pairs};
use super::mechanism::{Parts, PrivateProjection};
use super::noise::SketchNoise;
use super::sketch::PrivateSketch;
use crate::error::{Error, Result};
use crate::projection::SharedProjection;
use crate::rows::RowsView;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::noise::{AdditiveNoise, GaussianNoise, NoiseLaw};
use dp_core::{
    Adjacency, Bound, Budget, Certificate, Guarantee, L2Sensitivity, NoiseRng, NoiseScale, Profile,
    Release, calibrate,
};

/// Private projections of several sizes, each with its share of one budget
/// (Kenthapadi et al. 2013, section 3.2.2, last paragraph).
///
/// # Privacy
/// Scale i has noise sigma_i = D_i/(mu sqrt(w_i)) with shares w_i summing to one. The joint
/// release is one Gaussian mechanism with mu^2 = sum (D_i/sigma_i)^2: exact, not a composition bound.
#[derive(Debug, Clone)]
pub struct MultiScale {
    scales: Vec<PrivateProjection>,
    guarantee: Guarantee,
}

/// A multi-scale release: one sketch a scale, one certificate.
pub type MultiScaleRelease = Release<Vec<PrivateSketch>>;

impl MultiScale {
    /// Calibrates the scales together. `shares` are positive weights, one a projection.
    ///
    /// # Errors
    /// No scales, two scales with one seed (their errors would be correlated), not one
    /// positive share each, or as [`PrivateProjection::gaussian`].
    pub fn gaussian(
        projections: Vec<SharedProjection>,
        shares: &[f64],
        adjacency: Adjacency,
        bound: Bound,
        budget: Budget,
    ) -> Result<Self> {
        if projections.is_empty() || shares.len() != projections.len() {
            let found = shares.len();
            return Err(Error::Shape { what: "shares", expected: projections.len().max(1), found });
        }
        if let Some(bad) = shares.iter().find(|w| !(w.is_finite() && **w > 0.0)) {
            return Err(Error::invalid("share", bad, "(0, inf)"));
        }
        for (i, p) in projections.iter().enumerate() {
            let seed = p.spec().seed();
            if projections[..i].iter().any(|q| q.spec().seed() == seed) {
                return Err(Error::invalid(
                    "projection seed",
                    seed.get(),
                    "a different one each scale",
                ));
            }
        }
        let total: f64 = shares.iter().sum();
        let one = L2Sensitivity::new(1.0)?;
        let unit = calibrate::gaussian(budget, one)?;
        let mut scales = Vec::new();
        let mut mu_squared = 0.0;
        let mut pending = Vec::new();
        for (projection, share) in projections.into_iter().zip(shares) {
            let parts = Parts::new(projection, adjacency, bound)?;
            // Slightly more noise than the exact share, so that rounding of the sum stays inside.
            let factor = unit.get() / (share / total).sqrt() * (1.0 + 1e-12);
            let scale = |s: L2Sensitivity| NoiseScale::new(s.get() * factor);
            let (grid, sensitivity) = parts.on_grid(scale(parts.on_grid(unit)?.1)?)?;
            let sigma = scale(sensitivity)?;
            mu_squared += (sensitivity.get() / sigma.get()).powi(2);
            pending.push((parts, SketchNoise::Gaussian(GaussianNoise::new(sigma, grid)?)));
        }
        let sigma = NoiseScale::new(1.0 / (mu_squared.sqrt() * (1.0 + 4.0 * f64::EPSILON)))?;
        let theorem = dp_core::Theorem::ProjectionMultiScale;
        let profile = Profile::Gaussian { sensitivity: one, sigma };
        let guarantee = Guarantee::proven(adjacency, budget, profile, theorem)?;
        for (parts, noise) in pending {
            let name = "one scale of a multi-scale projection";
            scales.push(PrivateProjection::assemble(parts, noise, guarantee.clone(), name));
        }
        Ok(Self { scales, guarantee })
    }

    /// The noise of each scale.
    #[must_use]
    pub fn noises(&self) -> Vec<SketchNoise> {
        self.scales.iter().map(PrivateProjection::noise).collect()
    }

    /// The guarantee of all scales together.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Releases n rows at every scale.
    ///
    /// # Errors
    /// As [`PrivateProjection::release`].
    pub fn release(&self, rows: RowsView<'_>, rng: &mut NoiseRng) -> Result<MultiScaleRelease> {
        let generator = rng.kind();
        let mut public = PublicParameters::new();
        let (mut sketches, mut laws) = (Vec::new(), Vec::new());
        for (i, scale) in self.scales.iter().enumerate() {
            let sketch = scale.release_sketch(rows, rng)?;
            for (name, value) in sketch.projection().public_parameters() {
                public.insert(format!("scale {i}: {name}"), value);
            }
            laws.push(scale.noise().law());
            sketches.push(sketch);
        }
        public.insert("n".into(), rows.n().into());
        let statement = Statement {
            mechanism: "multi-scale private projection".into(),
            noise: NoiseLaw::Several { laws },
            generator,
            public,
        };
        let certificate = Certificate::new(statement, self.guarantee.clone());
        Ok(Release::certified(sketches, certificate))
    }
}

/// Squared distance from all scales, weighted by their inverse variances at a distance the
/// caller expects. Weights do not look at the noise, so the estimate stays unbiased.
///
/// # Errors
/// [`Error::Index`] for a row that does not exist, or an expected distance that is not positive.
pub fn multi_scale_squared_distance(
    release: &MultiScaleRelease,
    i: usize,
    j: usize,
    expected_squared_distance: Bound,
) -> Result<Estimate> {
    let (mut sum, mut weights, mut variance) = (0.0, 0.0, 0.0);
    for sketch in release.payload() {
        let pairs = Pairs::of_sketches(sketch, sketch);
        let weight = 1.0 / pairs.squared_distance_variance(expected_squared_distance.get());
        let one = pairs.squared_distance(i, j)?;
        sum += weight * one.value;
        variance += (weight * one.standard_error).powi(2);
        weights += weight;
    }
    Ok(Estimate { value: sum / weights, standard_error: variance.sqrt() / weights })
}
