//! PrivUnitG and ProjUnit.

use super::direction::Directions;
use super::moments::CapMoments;
use super::release::UnitVectors;
use crate::author::AUTHOR;
use crate::error::{Error, Result};
use crate::projection::{Family, SharedProjection};
use crate::rows::{RowsView, pass_rows};
use core::ops::ControlFlow;
use dp_core::mechanism::{Calibrated, Mechanism, Prediction, Progress, author};
use dp_core::noise::{GeneratorKind, UnitCap};
use dp_core::{
    Adjacency, Budget, Certificate, Delta, Epsilon, Guarantee, NoiseRng, NormBound, Profile,
    Release, Theorem,
};
use rayon::prelude::*;

/// Whole rows by their directions, each leaning towards the true one (PrivUnitG); after a public projection, ProjUnit.
///
/// # Privacy
/// Purely epsilon-differentially private for any two rows: `ReplaceRow` and what it implies, and `AnyInput`, where a
/// row becomes any other without a bound. delta is 0 whatever the budget's is. The number of rows is public.
/// Of a row only its direction is shown, or with [`UnitsConfig::lengths`] the row itself, of norm at most a
/// bound. Rows of zeros have no direction: they get a public one.
///
/// # Error
/// Variance `1/m^2` a coordinate of the unit vector, in every dimension: 6.33 at epsilon 1, 0.435 at 4, 0.133 at 8, 0.048 at
/// 16; ten to thirteen times less than Gaussian noise at delta 1e-6. A cosine of two rows of k numbers has a
/// standard error of about `sqrt(k)/m^2`: below epsilon 4 nothing can be found by it.
///
/// # References
/// Bhowmick et al. 2018; Asi, Feldman and Talwar 2022; Asi et al. 2023 (ProjUnit). Proof: `docs/proofs/unit-vectors.md`.
///
/// ```
/// use dp_core::{Adjacency, Budget, NoiseRng, Probability, PublicSeed};
/// use sketch::RowsView;
/// use sketch::projection::{Family, ProjectionSpec};
/// use sketch::units::{PrivateUnits, UnitPairs, UnitsConfig};
///
/// let rows = RowsView::f64(2, 4, &[0.9, 0.1, 0.0, 0.8, 0.2, 0.1, 0.0, 0.7])?;
/// let projection = ProjectionSpec::new(Family::Oporp, 4, 2, PublicSeed::new(7))?.build();
/// // Any row may become any other: all of a row is protected.
/// let config = UnitsConfig { projection, adjacency: Adjacency::AnyInput, lengths: None };
/// let mechanism = PrivateUnits::new(config, Budget::new(12.0, 0.0)?)?;
/// let release = mechanism.release(rows, &mut NoiseRng::from_os()?)?;
/// let pairs = UnitPairs::within(&release);
/// let cosine = pairs.cosine(0, 1)?;
/// let interval = pairs.cosine_interval(0, 1, Probability::new(0.95)?)?;
/// assert!(cosine.standard_error < 0.5 && interval.low >= -1.0);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PrivateUnits {
    directions: Directions,
    calibrated: Calibrated<UnitCap>,
    moments: CapMoments,
}

/// What a [`PrivateUnits`] is calibrated for.
#[derive(Debug, Clone)]
pub struct UnitsConfig {
    /// The projection before the direction is taken; the identity for the rows themselves.
    pub projection: SharedProjection,
    /// What may change: `Attribute`, `RowShift`, `ReplaceRow` or `AnyInput`, all at the same price; or m rows of a user, each of
    /// them so, at m times that price.
    pub adjacency: Adjacency,
    /// Keeps the lengths of rows of norm at most this, in one more number; with the identity only.
    pub lengths: Option<NormBound>,
}

impl PrivateUnits {
    /// The law of least variance for the budget's epsilon.
    ///
    /// # Errors
    /// An epsilon outside `[2^-20, 64]`; another adjacency; over `2^20 - 1` numbers a row; lengths beside a projection.
    pub fn new(config: UnitsConfig, budget: Budget) -> Result<Self> {
        let UnitsConfig { projection, adjacency, lengths } = config;
        let directions = Directions { projection, lengths };
        let spec = directions.projection.spec();
        if lengths.is_some() && spec.family() != Family::Identity {
            let allowed = "identity: a projection changes lengths";
            return Err(Error::invalid(
                "projection of rows whose lengths are kept",
                spec.name(),
                allowed,
            ));
        }
        if directions.width() >= 1 << 20 {
            return Err(Error::invalid(
                "numbers of a unit vector",
                directions.width(),
                "[1, 2^20)",
            ));
        }
        if !matches!(
            adjacency.each(),
            Adjacency::Attribute { .. }
                | Adjacency::RowShift { .. }
                | Adjacency::ReplaceRow { .. }
                | Adjacency::AnyInput
        ) {
            let allowed = "attribute, row shift, replaced row or any input";
            return Err(Error::invalid("adjacency", adjacency, allowed));
        }
        // Each row of a user loses as much; down, lest the product be above the budget.
        let each = match adjacency.rows() {
            1 => budget.epsilon,
            rows => Epsilon::new((budget.epsilon.get() / rows as f64).next_down())?,
        };
        let noise = AUTHOR.unit_cap(each)?;
        let moments = CapMoments::of(&noise.law())?;
        let pure = Budget { delta: Delta::ZERO, ..budget };
        let basis = AUTHOR.theorem(Theorem::UnitVectors);
        let profile = Profile::PureDp { epsilon: budget.epsilon };
        let calibrated = AUTHOR.calibrated(adjacency, pure, basis, profile, noise)?;
        Ok(Self { directions, calibrated, moments })
    }

    /// The projection.
    #[must_use]
    pub fn projection(&self) -> &SharedProjection {
        &self.directions.projection
    }

    /// The noise.
    #[must_use]
    pub fn noise(&self) -> &UnitCap {
        self.calibrated.noise()
    }

    /// Variance a number of a released row over [`UnitVectors::mean`], when rows have length one.
    #[must_use]
    pub fn variance(&self) -> f64 {
        self.moments.variance()
    }

    /// Releases n rows.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows of another d, [`Error::NormOutOfRange`] for rows beyond a declared norm.
    pub fn release(&self, rows: RowsView<'_>, rng: &mut NoiseRng) -> Result<Release<UnitVectors>> {
        Mechanism::release(self, rows, rng)
    }

    /// The guarantee every release of this mechanism carries.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    pub(super) fn directions(&self) -> &Directions {
        &self.directions
    }

    /// Checks rows and releases them, one stream a row.
    pub(super) fn release_into(
        &self,
        rows: RowsView<'_>,
        out: &mut Vec<f64>,
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<()> {
        let (d, width) = (self.projection().spec().d(), self.directions.width());
        if rows.d() != d {
            return Err(Error::Shape { what: "d of the rows", expected: d, found: rows.d() });
        }
        // All rows before the first stream: nothing is drawn for what is refused.
        if let Adjacency::ReplaceRow { bound } = self.guarantee().adjacency().each() {
            rows.check_norms(bound)?;
        }
        if let Some(bound) = self.directions.lengths {
            rows.check_norms(bound)?;
        }
        let step = pass_rows(width.max(d));
        let total = rows.n().div_ceil(step) as u64;
        let start = out.len();
        out.resize(start + rows.n() * width, 0.0);
        for (part, out) in out[start..].chunks_mut(step * width).enumerate() {
            Progress::new(part as u64, total).ask(hook)?;
            let count = out.len() / width;
            let directions = self.directions.of(rows.slice(part * step..part * step + count))?;
            let streams = rng.reserve(count as u64);
            let noise = self.calibrated.noise();
            out.par_chunks_mut(width).zip(directions.par_chunks(width)).zip(streams).try_for_each(
                |((out, direction), stream)| -> Result<()> {
                    // Single precision holds every number up to 16, and a further rounding is of the published.
                    let drawn = noise.draw(stream, direction)?;
                    out.iter_mut().zip(drawn).for_each(|(o, v)| *o = f64::from(v as f32));
                    Ok(())
                },
            )?;
        }
        Ok(())
    }

    /// The certificate of a release of n rows.
    pub(super) fn certificate(&self, n: usize, generator: GeneratorKind) -> Certificate {
        let Directions { projection, lengths } = &self.directions;
        let public = UnitVectors::public(projection.spec(), *lengths, n);
        self.calibrated.certificate("unit vectors (PrivUnitG)", public, generator)
    }
}

/// [`PrivateUnits::variance`] at an epsilon.
pub(crate) fn variance_at(epsilon: Epsilon) -> Result<f64> {
    Ok(CapMoments::of(&AUTHOR.unit_cap(epsilon)?.law())?.variance())
}

impl author::Sealed for PrivateUnits {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for PrivateUnits {
    type Config = UnitsConfig;
    type Input<'a> = RowsView<'a>;
    type Output = Release<UnitVectors>;
    /// The cosine of two rows.
    type Facts = f64;
    type Error = Error;

    fn calibrate(config: UnitsConfig, budget: Budget) -> Result<Self> {
        Self::new(config, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    fn predict(&self, cosine: f64) -> Result<Prediction> {
        if !(-1.0..=1.0).contains(&cosine) {
            return Err(Error::invalid("cosine", cosine, "[-1, 1]"));
        }
        let (k, m) = (self.directions.width() as f64, self.moments.mean);
        let variance = self.moments.product(&self.moments, k, (1.0, 1.0), cosine);
        Ok(Prediction::new("a cosine of two unit vectors", variance.sqrt() / (m * m)))
    }

    fn release_watched(
        &self,
        rows: RowsView<'_>,
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<UnitVectors>> {
        let (generator, mut values) = (rng.kind(), Vec::new());
        self.release_into(rows, &mut values, rng, hook)?;
        let Directions { projection, lengths } = &self.directions;
        let law = self.noise().law();
        let vectors = UnitVectors::new(projection.spec(), *lengths, law, values)?;
        Ok(Release::certified(vectors, self.certificate(rows.n(), generator)))
    }
}
