//! Several sketch sizes at once: short distances from small k, long ones from large k.

use super::interval::{Law, Miss};
use super::mechanism::{Parts, PrivateProjection};
use super::noise::SketchNoise;
use super::pairs::{Pairs, largest_norm, length, length_interval};
use super::sketch::PrivateSketch;
use crate::error::{Error, Result};
use crate::estimate::{Estimate, Interval};
use crate::projection::SharedProjection;
use crate::rows::RowsView;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::noise::{AdditiveNoise, GaussianNoise, NoiseLaw};
use dp_core::{
    Adjacency, Bound, Budget, Certificate, Guarantee, L2Sensitivity, NoiseRng, NoiseScale,
    Probability, Profile, Release, calibrate,
};
use rayon::prelude::*;

/// Private projections of several sizes, each with its share of one budget
/// (Kenthapadi et al. 2013, section 3.2.2, last paragraph).
///
/// # Privacy
/// Scale i has noise `sigma_i = r D_i/(mu sqrt(w_i))`, D_i its own sensitivity, with shares w_i
/// summing to one. The joint release is one Gaussian mechanism: a change moves it by
/// `sqrt(sum (D_i(change)/sigma_i)^2)`. For `Attribute` that is taken for every attribute j, and
/// `r^2 = max over j of sum w_i (D_ij/D_i)^2`, at most one: exact, not a composition bound. For whole
/// rows r = 1, an upper bound.
#[derive(Debug, Clone)]
pub struct MultiScale {
    scales: Vec<PrivateProjection>,
    bound: Bound,
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
                return Err(Error::invalid("projection seed", seed, "a different one each scale"));
            }
        }
        let d = projections[0].spec().d();
        if let Some(other) = projections.iter().find(|p| p.spec().d() != d) {
            let found = other.spec().d();
            return Err(Error::Shape { what: "d of a scale", expected: d, found });
        }
        let total: f64 = shares.iter().sum();
        let one = L2Sensitivity::new(1.0)?;
        let unit = calibrate::gaussian(budget, one)?;
        let parts = projections
            .into_iter()
            .zip(shares)
            .map(|(p, share)| Ok((share / total, Parts::new(p, adjacency, bound)?)))
            .collect::<Result<Vec<_>>>()?;
        let joint = joint_change(d, &parts, adjacency);
        // Noise of scale i per unit of its sensitivity, for a joint change of this size.
        let factor = |joint: f64, share: f64| unit.get() * joint / share.sqrt() * (1.0 + 1e-12);
        let mut on_grids = Vec::new();
        let mut rounding = 0.0;
        for (share, parts) in &parts {
            let start = NoiseScale::new(parts.l2() * factor(joint, *share))?;
            let (grid, sensitivity) = parts.on_grid(start)?;
            rounding += share * ((sensitivity.get() - parts.l2()) / sensitivity.get()).powi(2);
            on_grids.push((grid, sensitivity));
        }
        // Rounding: (D_ij + e)/(D_i + e) <= D_ij/D_i + e/(D_i + e), and the triangle inequality.
        let joint = joint + rounding.sqrt() * (1.0 + 1e-12);
        let mut pending = Vec::new();
        for ((share, parts), (grid, sensitivity)) in parts.into_iter().zip(on_grids) {
            let sigma = NoiseScale::new(sensitivity.get() * factor(joint, share))?;
            pending.push((parts, SketchNoise::Gaussian(GaussianNoise::new(sigma, grid)?)));
        }
        let theorem = dp_core::Theorem::ProjectionMultiScale;
        let profile = Profile::Gaussian { sensitivity: one, sigma: unit };
        let guarantee = Guarantee::proven(adjacency, budget, profile, theorem)?;
        let mut scales = Vec::new();
        for (parts, noise) in pending {
            let name = "one scale of a multi-scale projection";
            scales.push(PrivateProjection::assemble(parts, noise, guarantee.clone(), name));
        }
        Ok(Self { scales, bound, guarantee })
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
        public.insert("largest entry".into(), self.bound.get().into());
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

/// `max over j of sqrt(sum_i w_i (D_ij / D_i)^2)`, rounded up: what one attribute j can change at all
/// scales together, each measured by its own largest change D_i. For whole rows the sum of the
/// largest changes, one.
fn joint_change(d: usize, parts: &[(f64, Parts)], adjacency: Adjacency) -> f64 {
    let shares: f64 = parts.iter().map(|(w, _)| w).sum();
    let one_row =
        |p: &Parts, j| p.projection().row_l2(j).map_or(1.0, |x| x / p.projection().max_row_l2());
    let alike = parts.iter().all(|(_, p)| p.projection().row_l2(0).is_none());
    let largest = match adjacency {
        Adjacency::Attribute { .. } if !alike => (0..d)
            .into_par_iter()
            .map(|j| parts.iter().map(|(w, p)| w * one_row(p, j).powi(2)).sum())
            .reduce(|| 0.0, f64::max),
        _ => shares,
    };
    largest.sqrt() * (1.0 + 1e-12)
}

/// Squared distance from all scales, weighted by their inverse variances at a distance the
/// caller expects. Weights do not look at the noise, so the estimate stays unbiased.
///
/// # Errors
/// [`Error::Index`] for a row that does not exist, or as [`Pairs::squared_distance`].
pub fn multi_scale_squared_distance(
    release: &MultiScaleRelease,
    i: usize,
    j: usize,
    expected_squared_distance: Bound,
) -> Result<Estimate> {
    let (sum, law) = weighted(release, i, j, expected_squared_distance)?;
    if i == j {
        return Ok(Estimate { value: 0.0, standard_error: 0.0 });
    }
    Ok(length(sum, &law))
}

/// Confidence interval of that squared distance, as [`Pairs::squared_distance_interval`]: the
/// weighted sum is compared with the scaled chi-square law of its mean and variance.
///
/// # Errors
/// As [`multi_scale_squared_distance`], or a confidence outside `(0, 1)`.
pub fn multi_scale_squared_distance_interval(
    release: &MultiScaleRelease,
    i: usize,
    j: usize,
    expected_squared_distance: Bound,
    confidence: Probability,
) -> Result<Interval> {
    let miss = Miss::of(confidence)?;
    let (sum, law) = weighted(release, i, j, expected_squared_distance)?;
    if i == j {
        return Ok(Interval { low: 0.0, high: 0.0 });
    }
    let d = release.payload().first().map_or(1, |sketch| sketch.projection().d());
    let largest = 2.0 * largest_norm(release.certificate(), d);
    Ok(length_interval(sum, &law, largest, miss))
}

/// The weighted sum of squared differences over the scales, and its law.
fn weighted(
    release: &MultiScaleRelease,
    i: usize,
    j: usize,
    expected: Bound,
) -> Result<(f64, Law)> {
    let mut scales = Vec::new();
    for sketch in release.payload() {
        let pairs = Pairs::of_sketch(sketch, f64::INFINITY);
        let weight = pairs.squared_distance_variance(expected.get()).recip();
        scales.push((weight, pairs.sum_of_squared_differences(i, j)?, pairs.distance_law()));
    }
    let total: f64 = scales.iter().map(|(weight, ..)| weight).sum();
    let mut parts = scales.into_iter().map(|(weight, sum, law)| {
        let w = weight / total;
        let form = law.form.map(|x| w * w * x);
        (w * sum, Law { floor: w * law.floor, form, ..law })
    });
    let none = Error::Undefined { what: "a distance", reason: "the release has no scales" };
    let first = parts.next().ok_or(none)?;
    Ok(parts.fold(first, |(sum, law), (next, other)| {
        let form = core::array::from_fn(|c| law.form[c] + other.form[c]);
        let tails = law.tails.worse(other.tails);
        (sum + next, Law { floor: law.floor + other.floor, form, tails, ..law })
    }))
}
