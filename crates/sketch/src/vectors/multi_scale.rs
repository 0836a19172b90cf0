//! Several sketch sizes at once: short distances from small k, long ones from large k.

use super::interval::{Law, Miss};
use super::noise::SketchNoise;
use super::pairs::{Pairs, largest_norm, length, length_interval, predict_distance};
use super::projector::{Hook, Projector};
use super::sketch::PrivateSketch;
use crate::author::AUTHOR;
use crate::error::{Error, Result};
use crate::estimate::{Estimate, Interval};
use crate::projection::SharedProjection;
use crate::rows::RowsView;
use dp_core::certificate::PublicParameters;
use dp_core::mechanism::{Calibrated, Mechanism, Prediction, Statistic, author};
use dp_core::noise::{AdditiveNoise, NoiseLaw};
use dp_core::{
    Adjacency, Budget, EntryBound, Guarantee, L2Sensitivity, NoiseRng, NoiseScale, Probability,
    Profile, Release, SquaredNorm, Theorem, calibrate,
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
///
/// ```
/// use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, PublicSeed, Shift, SquaredNorm};
/// use sketch::RowsView;
/// use sketch::projection::{Family, ProjectionSpec};
/// use sketch::vectors::{MultiScale, multi_scale_squared_distance};
///
/// let rows = RowsView::f64(2, 4, &[0.9, 0.1, 0.0, 0.8, 0.2, 0.1, 0.0, 0.7])?;
/// let (one, any_value) = (EntryBound::new(1.0)?, Adjacency::Attribute { beta: Shift::new(2.0)? });
/// let size = |k, seed| ProjectionSpec::new(Family::Oporp, 4, k, PublicSeed::new(seed));
/// let scales = vec![size(1, 7)?.build(), size(4, 8)?.build()];
/// let budget = Budget::new(1.0, 1e-6)?;
/// let mechanism = MultiScale::gaussian(scales, &[0.5, 0.5], any_value, one, budget)?;
/// let release = mechanism.release(rows, &mut NoiseRng::from_os()?)?;
/// // Weights do not look at the noise: they are best for the distance that is expected.
/// let expected = SquaredNorm::new(0.5)?;
/// assert!(multi_scale_squared_distance(&release, 0, 1, expected)?.standard_error > 0.0);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct MultiScale {
    scales: Vec<Projector>,
    calibrated: Calibrated<Noises>,
}

/// The noise of every scale.
#[derive(Debug, Clone)]
struct Noises(Vec<SketchNoise>);

impl author::Law for Noises {
    fn noise_law(&self) -> NoiseLaw {
        NoiseLaw::Several { laws: self.0.iter().map(AdditiveNoise::law).collect() }
    }
}

/// A scale with its share of the budget and its own largest change.
type Scale = (f64, Projector, Statistic<L2Sensitivity>);

impl MultiScale {
    /// Calibrates the scales together. `shares` are positive weights, one a projection.
    ///
    /// # Errors
    /// No scales, two scales with one seed (their errors would be correlated), not one
    /// positive share each, or as [`super::PrivateProjection::gaussian`].
    pub fn gaussian(
        projections: Vec<SharedProjection>,
        shares: &[f64],
        adjacency: Adjacency,
        bound: EntryBound,
        budget: Budget,
    ) -> Result<Self> {
        let d = check_scales(&projections, shares)?;
        let total: f64 = shares.iter().sum();
        let one = L2Sensitivity::new(1.0)?;
        let unit = calibrate::gaussian(budget, one)?;
        let scales = projections
            .into_iter()
            .zip(shares)
            .map(|(projection, share)| {
                let rows = Projector::new(projection, adjacency, bound);
                let statistic = rows.l2()?;
                Ok((share / total, rows, statistic))
            })
            .collect::<Result<Vec<Scale>>>()?;
        let joint = joint_change(d, &scales, adjacency);
        // Noise of scale i per unit of its sensitivity, for a joint change of this size.
        let factor = |joint: f64, share: f64| unit.get() * joint / share.sqrt() * (1.0 + 1e-12);
        let mut on_grids = Vec::new();
        let mut rounding = 0.0;
        for (share, _, statistic) in &scales {
            let exact = statistic.sensitivity().get();
            let start = NoiseScale::new(exact * factor(joint, *share))?;
            let (grid, sensitivity) = statistic.on_grid(start)?;
            rounding += share * ((sensitivity.get() - exact) / sensitivity.get()).powi(2);
            on_grids.push((grid, sensitivity));
        }
        // Rounding: (D_ij + e)/(D_i + e) <= D_ij/D_i + e/(D_i + e), and the triangle inequality.
        let joint = joint + rounding.sqrt() * (1.0 + 1e-12);
        let mut noises = Vec::new();
        for ((share, ..), (grid, sensitivity)) in scales.iter().zip(on_grids) {
            let sigma = NoiseScale::new(sensitivity.get() * factor(joint, *share))?;
            noises.push(SketchNoise::Gaussian(AUTHOR.gaussian(sigma, grid)?));
        }
        let basis = AUTHOR.theorem(Theorem::ProjectionMultiScale);
        let profile = Profile::Gaussian { sensitivity: one, sigma: unit };
        let noises = Noises(noises);
        let calibrated = AUTHOR.calibrated(adjacency, budget, basis, profile, noises)?;
        Ok(Self { scales: scales.into_iter().map(|(_, rows, _)| rows).collect(), calibrated })
    }

    /// The noise of each scale.
    #[must_use]
    pub fn noises(&self) -> &[SketchNoise] {
        &self.calibrated.noise().0
    }

    /// The guarantee of all scales together.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    /// Releases n rows at every scale.
    ///
    /// # Errors
    /// As [`super::PrivateProjection::release`].
    pub fn release(
        &self,
        rows: RowsView<'_>,
        rng: &mut NoiseRng,
    ) -> Result<Release<Vec<PrivateSketch>>> {
        Mechanism::release(self, rows, rng)
    }
}

impl author::Sealed for MultiScale {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for MultiScale {
    /// Projections of the same rows, of different seeds; positive weights, one a projection; what may change; and the
    /// largest absolute value of an entry of the rows.
    type Config = (Vec<SharedProjection>, Vec<f64>, Adjacency, EntryBound);
    type Input<'a> = RowsView<'a>;
    type Output = Release<Vec<PrivateSketch>>;
    /// A squared distance of two rows.
    type Facts = f64;
    type Error = Error;

    fn calibrate(config: Self::Config, budget: Budget) -> Result<Self> {
        let (projections, shares, adjacency, bound) = config;
        Self::gaussian(projections, &shares, adjacency, bound, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    fn predict(&self, squared_distance: f64) -> Result<Prediction> {
        let scales = self.scales.iter().zip(self.noises());
        let scales: Vec<_> =
            scales.map(|(rows, noise)| (rows.projection().spec(), noise.law())).collect();
        predict_distance(&scales, squared_distance)
    }

    fn release_watched(
        &self,
        rows: RowsView<'_>,
        rng: &mut NoiseRng,
        hook: &mut Hook<'_>,
    ) -> Result<Release<Vec<PrivateSketch>>> {
        let generator = rng.kind();
        let (mut public, mut sketches) = (PublicParameters::new(), Vec::new());
        for (i, (scale, noise)) in self.scales.iter().zip(self.noises()).enumerate() {
            let mut values = scale.output(rows.n())?;
            scale.release_into(rows.into(), &mut values, noise, rng, hook)?;
            let spec = scale.projection().spec();
            for (name, value) in spec.public_parameters() {
                public.insert(format!("scale {i}: {name}"), value);
            }
            sketches.push(PrivateSketch::new(spec, noise.law(), values)?);
        }
        public.insert("n".into(), rows.n().into());
        let bound = self.scales.first().map(Projector::bound);
        public.extend(bound.map(|bound| ("largest entry".into(), bound.get().into())));
        let name = "multi-scale private projection";
        Ok(Release::certified(sketches, self.calibrated.certificate(name, public, generator)))
    }
}

/// Refuses scales that do not go together; their number of features.
fn check_scales(projections: &[SharedProjection], shares: &[f64]) -> Result<usize> {
    let Some(first) = projections.first().filter(|_| shares.len() == projections.len()) else {
        let (expected, found) = (projections.len().max(1), shares.len());
        return Err(Error::Shape { what: "shares", expected, found });
    };
    if let Some(bad) = shares.iter().find(|w| !(w.is_finite() && **w > 0.0)) {
        return Err(Error::invalid("share", bad, "(0, inf)"));
    }
    for (i, p) in projections.iter().enumerate() {
        let seed = p.spec().seed();
        if projections[..i].iter().any(|q| q.spec().seed() == seed) {
            return Err(Error::invalid("projection seed", seed, "a different one each scale"));
        }
    }
    let d = first.spec().d();
    if let Some(other) = projections.iter().find(|p| p.spec().d() != d) {
        let found = other.spec().d();
        return Err(Error::Shape { what: "d of a scale", expected: d, found });
    }
    Ok(d)
}

/// `max over j of sqrt(sum_i w_i (D_ij / D_i)^2)`, rounded up: what one attribute j can change at all
/// scales together, each measured by its own largest change D_i. For whole rows the sum of the
/// largest changes, one.
fn joint_change(d: usize, scales: &[Scale], adjacency: Adjacency) -> f64 {
    let shares: f64 = scales.iter().map(|(w, ..)| w).sum();
    let one_row = |p: &Projector, j| {
        p.projection().row_l2(j).map_or(1.0, |x| x / p.projection().max_row_l2())
    };
    let alike = scales.iter().all(|(_, p, _)| p.projection().row_l2(0).is_none());
    let largest = match adjacency {
        Adjacency::Attribute { .. } if !alike => (0..d)
            .into_par_iter()
            .map(|j| scales.iter().map(|(w, p, _)| w * one_row(p, j).powi(2)).sum())
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
    release: &Release<Vec<PrivateSketch>>,
    i: usize,
    j: usize,
    expected_squared_distance: SquaredNorm,
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
    release: &Release<Vec<PrivateSketch>>,
    i: usize,
    j: usize,
    expected_squared_distance: SquaredNorm,
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
    release: &Release<Vec<PrivateSketch>>,
    i: usize,
    j: usize,
    expected: SquaredNorm,
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
