//! A response on every value of a declared range.

use super::law::{BoundedLaw, CellLaw};
use super::release::{BoundedValues, MOST, in_range};
use crate::author::AUTHOR;
use crate::distances::ValueRange;
use crate::error::{Error, Result};
use crate::rows::{RowsView, pass_rows};
use core::ops::ControlFlow;
use dp_core::mechanism::{Calibrated, Mechanism, Prediction, Progress, author};
use dp_core::noise::{GeneratorKind, NoiseLaw};
use dp_core::{
    Adjacency, Budget, Certificate, Guarantee, NoiseRng, Profile, Release, Shift, Theorem,
};
use rayon::prelude::*;

/// Name of the mechanism in certificates.
pub(super) const BOUNDED: &str = "bounded-values";

/// Every value of a declared range by itself: rounded at random to a grid, cut into a few letters at a random offset, and
/// answered by a randomised response. A byte a value.
///
/// With one offset and two letters this is the one-bit law of Duchi, Jordan and Wainwright; with many offsets it is the piecewise law of Wang et al. on a grid. Letters
/// and offsets are chosen for the least variance that any value has at most.
///
/// # Privacy
/// `Attribute { beta }` with `beta` at least the width of the range: one value of one row becomes any other of the range. With delta zero it is pure.
///
/// # Error
/// Variance of a value over the squared width, the largest of any value: 1.17 / .0947 / .0183 at epsilon 1 / 3 / 5, where staircase noise on the value
/// itself has 1.92 / .153 / .030 and Laplace noise 2 / .222 / .080.
///
/// # References
/// Duchi, Jordan and Wainwright 2018; Wang et al. 2019, *Collecting and analyzing multidimensional data with local differential privacy*.
/// Proof: `docs/proofs/bounded-values.md`.
///
/// ```
/// use dp_core::{Adjacency, Budget, NoiseRng, Probability, Shift};
/// use sketch::RowsView;
/// use sketch::bounded::{BoundedConfig, BoundedLaw, BoundedPairs, BoundedQueries, PrivateBounded};
/// use sketch::distances::ValueRange;
///
/// let rows = RowsView::f64(2, 4, &[0.9, 0.1, 0.0, 0.8, 0.2, 0.1, 0.0, 0.7])?;
/// let config = BoundedConfig { d: 4, range: ValueRange::new(0.0, 1.0)?, beta: Shift::new(1.0)?, law: BoundedLaw::LeastError, clip: false };
/// let mechanism = PrivateBounded::new(config, Budget::new(3.0, 0.0)?)?;
/// let release = mechanism.release(rows, &mut NoiseRng::from_os()?)?;
/// // A query of your own carries no noise.
/// let query = BoundedQueries::exact(release.payload(), RowsView::f64(1, 4, &[1.0, 0.0, 0.0, 1.0])?)?;
/// let pairs = BoundedPairs::exact(&release, &query)?;
/// let interval = pairs.inner_product_interval(0, 0, Probability::new(0.95)?)?;
/// assert!(pairs.inner_product(0, 0)?.standard_error < 0.5 && interval.low <= interval.high);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PrivateBounded {
    config: BoundedConfig,
    law: CellLaw,
    calibrated: Calibrated<Cells>,
}

/// The response on the letters, as noise whose law certificates state.
#[derive(Debug, Clone)]
struct Cells(NoiseLaw);

impl author::Law for Cells {
    fn noise_law(&self) -> NoiseLaw {
        self.0.clone()
    }
}

/// What a [`PrivateBounded`] is calibrated for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundedConfig {
    /// Values of a row.
    pub d: usize,
    /// The range of every value, whatever the data.
    pub range: ValueRange,
    /// How far one value may change: at least the width of the range.
    pub beta: Shift,
    /// How values are cut into cells.
    pub law: BoundedLaw,
    /// Takes values outside of the range for its nearest end, instead of refusing them.
    pub clip: bool,
}

impl PrivateBounded {
    /// As [`PrivateBounded::of_user`], of one row.
    ///
    /// # Errors
    /// As there.
    pub fn new(config: BoundedConfig, budget: Budget) -> Result<Self> {
        Self::of_user(config, 1, budget)
    }

    /// The law of least variance for the budget, where the unit is a user with up to so many rows: one value of each may become any
    /// other of the range.
    ///
    /// # Errors
    /// No values; an epsilon outside `[2^-10, 32]`; a range wider than beta, beyond 1e60 or narrower than 1e-60; categories
    /// that are not 2 to 256, have another range than `[0, categories - 1]`, or are clipped.
    pub fn of_user(config: BoundedConfig, rows: u64, budget: Budget) -> Result<Self> {
        let adjacency = Adjacency::Attribute { beta: config.beta }.of_user(rows)?;
        let BoundedConfig { d, range, beta, law, clip } = config;
        let shape = law.shape(range)?;
        if clip && law.is_of_categories() {
            return Err(Error::invalid("clip", true, "false for categories: none is near another"));
        }
        if !(1..1 << 32).contains(&(d as u64)) {
            return Err(Error::invalid("d", d, "[1, 2^32)"));
        }
        let width = in_range(range)?.width();
        if width > beta.get() {
            let allowed = format!(
                "(0, {beta}], which is beta: the law hides every change within the range, so state a beta of {width}, or a \
                 narrower range"
            );
            return Err(Error::invalid("width of the range", width, allowed));
        }
        let law = CellLaw::calibrate(budget, rows, shape)?;
        let noise = law.noise();
        let NoiseLaw::KaryResponse { alphabet, keep } = noise else {
            return Err(Error::invalid("noise law", "another", "a response"));
        };
        let profile = Profile::KaryResponse { responses: rows, alphabet, keep };
        let basis = AUTHOR.theorem(Theorem::BoundedValues);
        let calibrated = AUTHOR.calibrated(adjacency, budget, basis, profile, Cells(noise))?;
        Ok(Self { config, law, calibrated })
    }

    /// What it was calibrated for.
    #[must_use]
    pub fn config(&self) -> BoundedConfig {
        self.config
    }

    /// The largest variance that a released value has.
    #[must_use]
    pub fn variance(&self) -> f64 {
        let width = self.config.range.width();
        self.law.variance() * width * width
    }

    /// Standard error of the share of a category, times the root of the rows: the largest, whatever the column.
    #[must_use]
    pub fn share_error(&self) -> f64 {
        let (keep, others) = (self.law.keep(), self.law.values().len() as f64 - 1.0);
        let other = (1.0 - keep) / others;
        (keep * (1.0 - keep)).max(other * (1.0 - other)).sqrt() / (keep - other)
    }

    /// Releases n rows.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows of another d, [`Error::OutOfInterval`] for a value outside of the range that is not clipped
    /// (zeros that sparse rows and bits do not store included), [`Error::NotWhole`] for one that is no category.
    pub fn release(
        &self,
        rows: RowsView<'_>,
        rng: &mut NoiseRng,
    ) -> Result<Release<BoundedValues>> {
        Mechanism::release(self, rows, rng)
    }

    /// The guarantee every release of this mechanism carries.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    pub(super) fn law(&self) -> &CellLaw {
        &self.law
    }

    /// Checks rows and releases them, one stream a row.
    pub(super) fn release_into(
        &self,
        rows: RowsView<'_>,
        out: &mut Vec<u8>,
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<()> {
        let BoundedConfig { d, range, clip, law, .. } = self.config;
        let whole = law.is_of_categories();
        if rows.d() != d {
            return Err(Error::Shape { what: "d of the rows", expected: d, found: rows.d() });
        }
        // All rows before the first stream: nothing is drawn for what is refused.
        if !clip {
            range.check(rows)?;
        }
        if whole {
            check_whole(rows)?;
        }
        let ((low, _), width) = (range.ends(), range.width());
        let step = pass_rows(d);
        let total = rows.n().div_ceil(step) as u64;
        let start = out.len();
        out.resize(start + rows.n() * d, 0);
        for (part, out) in out[start..].chunks_mut(step * d).enumerate() {
            Progress::new(part as u64, total).ask(hook)?;
            let streams = rng.reserve((out.len() / d) as u64);
            out.par_chunks_mut(d).zip(streams).enumerate().for_each(|(i, (out, mut stream))| {
                let mut x = vec![0.0; d];
                rows.copy_row(part * step + i, &mut x);
                for (cell, x) in out.iter_mut().zip(&x) {
                    *cell = match whole {
                        true => self.law.draw_step(&mut stream, *x as u64),
                        false => self.law.draw(&mut stream, ((x - low) / width).clamp(0.0, 1.0)),
                    };
                }
            });
        }
        Ok(())
    }

    /// The certificate of a release of n rows.
    pub(super) fn certificate(&self, n: usize, generator: GeneratorKind) -> Certificate {
        let BoundedConfig { d, range, law, .. } = self.config;
        let public = BoundedValues::public(range, &self.law, law.is_of_categories(), (n, d));
        self.calibrated.certificate(BOUNDED, public, generator)
    }
}

/// Refuses values that are no categories.
fn check_whole(rows: RowsView<'_>) -> Result<()> {
    let mut x = vec![0.0; rows.d()];
    for i in 0..rows.n() {
        rows.copy_row(i, &mut x);
        if let Some(j) = x.iter().position(|x| x.fract() != 0.0) {
            return Err(Error::NotWhole { row: i, column: j });
        }
    }
    Ok(())
}

impl author::Sealed for PrivateBounded {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for PrivateBounded {
    type Config = BoundedConfig;
    type Input<'a> = RowsView<'a>;
    type Output = Release<BoundedValues>;
    /// The norm of a query that is not released.
    type Facts = f64;
    type Error = Error;

    fn calibrate(config: BoundedConfig, budget: Budget) -> Result<Self> {
        Self::new(config, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    /// Of values where the law errs most.
    fn predict(&self, norm: f64) -> Result<Prediction> {
        if !(norm > 0.0 && norm <= MOST) {
            return Err(Error::invalid("norm", norm, "(0, 1e60]"));
        }
        let error = norm * self.variance().sqrt();
        Ok(Prediction::new("an inner product with an exact query", error))
    }

    fn release_watched(
        &self,
        rows: RowsView<'_>,
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<BoundedValues>> {
        let (generator, mut cells) = (rng.kind(), Vec::new());
        self.release_into(rows, &mut cells, rng, hook)?;
        let BoundedConfig { d, range, law, .. } = self.config;
        let values = BoundedValues::new(d, range, self.law.clone(), law.is_of_categories(), cells)?;
        Ok(Release::certified(values, self.certificate(rows.n(), generator)))
    }
}
