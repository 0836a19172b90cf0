//! All pairwise squared distances with Gaussian noise on each (NoiseAddition).

use crate::author::AUTHOR;
use crate::error::{Error, Result};
use crate::estimate::{Estimate, Interval};
use crate::projection::OutputRange;
use crate::rows::RowsView;
use core::ops::ControlFlow;
use dp_core::certificate::PublicParameters;
use dp_core::mechanism::{Calibrated, Mechanism, Prediction, Progress, Statistic, author};
use dp_core::noise::{AdditiveNoise, GaussianNoise};
use dp_core::{
    Adjacency, Budget, EntryBound, Guarantee, L2Sensitivity, NoiseRng, NoiseScale, Probability,
    Release, Theorem,
};
use rayon::prelude::*;

/// The interval that every entry of the data lies in, whatever the data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueRange {
    low: f64,
    high: f64,
}

impl ValueRange {
    /// Bits.
    pub const BITS: Self = Self { low: 0.0, high: 1.0 };

    /// The interval `[low, high]`.
    ///
    /// # Errors
    /// Unless both are finite and `low < high`.
    pub fn new(low: f64, high: f64) -> Result<Self> {
        if low.is_finite() && high.is_finite() && low < high {
            Ok(Self { low, high })
        } else {
            Err(Error::invalid("range", format!("[{low}, {high}]"), "finite with low < high"))
        }
    }

    /// Both ends.
    #[must_use]
    pub fn ends(self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Largest absolute value.
    pub(crate) fn largest(self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// high - low.
    #[must_use]
    pub fn width(self) -> f64 {
        self.high - self.low
    }

    /// Looks at the dense rows that the distances are made of: entries that sparse rows and bits do
    /// not store are zeros, and count.
    pub(crate) fn check(self, rows: RowsView<'_>) -> Result<()> {
        let Self { low, high } = self;
        let mut x = vec![0.0; rows.d()];
        for row in 0..rows.n() {
            rows.copy_row(row, &mut x);
            if let Some(column) = x.iter().position(|x| !(low..=high).contains(x)) {
                return Err(Error::OutOfInterval { row, column, low, high });
            }
        }
        Ok(())
    }
}

/// The strictly upper triangle of the matrix of squared distances, plus N(0, sigma^2)
/// (Kenthapadi et al. 2013, algorithms 3 and 4).
///
/// # Privacy
/// A change of one row moves the n - 1 distances to the others. `Attribute{beta}` on entries
/// in an interval of width R: each by at most `t (2R - t)`, `t = min(beta, R)`.
/// `ReplaceRow{B}`: each by at most `4 B^2`. The l2 sensitivity is sqrt(n-1) times that; for
/// bits it is exactly sqrt(n-1) (the paper says sqrt n). The number of rows is public.
///
/// # References
/// Kenthapadi et al. 2013, algorithms 3 and 4; proof: `docs/proofs/noise-addition.md`.
///
/// ```
/// use dp_core::{Adjacency, Budget, NoiseRng, Probability, Shift};
/// use sketch::RowsView;
/// use sketch::distances::{NoiseAddition, ValueRange, noisy_distance, noisy_distance_interval};
///
/// let rows = RowsView::f64(3, 2, &[0.0, 1.0, 1.0, 1.0, 0.2, 0.9])?;
/// // One entry of one row may become any other in [0, 1].
/// let any_value = Adjacency::Attribute { beta: Shift::new(1.0)? };
/// let budget = Budget::new(1.0, 1e-6)?;
/// let mechanism = NoiseAddition::new(3, 2, ValueRange::new(0.0, 1.0)?, any_value, budget)?;
/// let release = mechanism.release(rows, &mut NoiseRng::from_os()?)?;
/// let estimate = noisy_distance(&release, 0, 1)?;
/// let interval = noisy_distance_interval(&release, 0, 1, Probability::new(0.95)?)?;
/// assert!(estimate.standard_error > 5.0 && interval.high <= 2.0);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NoiseAddition {
    n: usize,
    d: usize,
    range: ValueRange,
    calibrated: Calibrated<GaussianNoise>,
}

/// Noisy squared distances of all pairs of n rows.
#[derive(Debug, Clone, PartialEq)]
pub struct DistanceTable {
    n: usize,
    largest: f64,
    sigma: NoiseScale,
    values: Vec<f64>,
}

impl NoiseAddition {
    /// The least noise for n rows of d features with entries in `range`.
    ///
    /// # Errors
    /// Fewer than two rows, an adjacency other than `Attribute` and `ReplaceRow`, or a
    /// calibration that fails.
    pub fn new(
        n: usize,
        d: usize,
        range: ValueRange,
        adjacency: Adjacency,
        budget: Budget,
    ) -> Result<Self> {
        if n < 2 {
            return Err(Error::invalid("n", n, "[2, inf)"));
        }
        let up = 1.0 + 8.0 * f64::EPSILON;
        let width = range.width();
        let largest = d as f64 * width * width * up;
        let (change, magnitude) = match adjacency {
            Adjacency::Attribute { beta } => {
                let t = beta.get().min(width);
                (t * (2.0 * width - t) * up, largest)
            }
            Adjacency::ReplaceRow { bound } => {
                let most = 4.0 * (bound.get() * (1.0 + 2.0 * crate::rows::NORM_SLACK)).powi(2) * up;
                (most, most.min(largest))
            }
            other => {
                return Err(Error::invalid("adjacency", other, "attribute or replaced row"));
            }
        };
        let exact = L2Sensitivity::new(change * ((n - 1) as f64).sqrt() * up)?;
        // Each term rounds three times (difference, square, sum).
        let output = OutputRange::of_sum(d, 4, magnitude);
        // A change of one row touches its distances to the n - 1 others.
        let statistic =
            Statistic::new(adjacency, exact, n * (n - 1) / 2, EntryBound::new(output.magnitude)?)
                .touching(n - 1)
                .computed_within(output.error)?;
        let basis = AUTHOR.theorem(Theorem::NoisyDistances);
        let calibrated = Calibrated::calibrate(statistic, budget, basis)?;
        Ok(Self { n, d, range, calibrated })
    }

    /// The noise.
    #[must_use]
    pub fn noise(&self) -> GaussianNoise {
        *self.calibrated.noise()
    }

    /// The guarantee.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    /// Releases the distances of all pairs.
    ///
    /// # Cost
    /// O(n^2 d) time, n (n - 1)/2 numbers.
    ///
    /// # Errors
    /// [`Error::Shape`] for another n or d, [`Error::OutOfInterval`] for an entry outside the declared range
    /// (zeros that sparse rows and bits do not store included).
    pub fn release(
        &self,
        rows: RowsView<'_>,
        rng: &mut NoiseRng,
    ) -> Result<Release<DistanceTable>> {
        Mechanism::release(self, rows, rng)
    }

    fn check(&self, rows: RowsView<'_>) -> Result<()> {
        for (what, expected, found) in [("n", self.n, rows.n()), ("d", self.d, rows.d())] {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        self.range.check(rows)?;
        match self.guarantee().adjacency() {
            Adjacency::ReplaceRow { bound } => rows.check_norms(bound),
            _ => Ok(()),
        }
    }
}

/// Rows whose distances are computed between two questions to the hook.
const PART: usize = 256;

impl author::Sealed for NoiseAddition {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for NoiseAddition {
    /// Rows, features, the interval of the entries, and what may change: an attribute, or a whole row.
    type Config = (usize, usize, ValueRange, Adjacency);
    type Input<'a> = RowsView<'a>;
    type Output = Release<DistanceTable>;
    type Facts = ();
    type Error = Error;

    fn calibrate((n, d, range, adjacency): Self::Config, budget: Budget) -> Result<Self> {
        Self::new(n, d, range, adjacency, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    fn predict(&self, (): ()) -> Result<Prediction> {
        Ok(Prediction::new("a squared distance", self.noise().sigma().get()))
    }

    fn release_watched(
        &self,
        rows: RowsView<'_>,
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<DistanceTable>> {
        self.check(rows)?;
        let generator = rng.kind();
        let (mut values, total) = (Vec::new(), self.n.div_ceil(PART));
        for part in 0..total {
            Progress::new(part as u64, total as u64).ask(hook)?;
            let part = part * PART..self.n.min((part + 1) * PART);
            values.par_extend(part.into_par_iter().flat_map_iter(|i| {
                let mut x = vec![0.0; self.d];
                rows.copy_row(i, &mut x);
                let mut y = vec![0.0; self.d];
                (i + 1..self.n)
                    .map(|j| {
                        rows.copy_row(j, &mut y);
                        x.iter().zip(&y).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
                    })
                    .collect::<Vec<f64>>()
            }));
        }
        self.calibrated.add_to(rng, &mut values)?;
        let mut public = PublicParameters::new();
        public.insert("n".into(), self.n.into());
        public.insert("d".into(), self.d.into());
        public.insert("lowest entry".into(), self.range.low.into());
        public.insert("highest entry".into(), self.range.high.into());
        let name = "noise addition on pairwise squared distances";
        let certificate = self.calibrated.certificate(name, public, generator);
        let largest = self.d as f64 * self.range.width().powi(2);
        let table = DistanceTable { n: self.n, largest, sigma: self.noise().sigma(), values };
        Ok(Release::certified(table, certificate))
    }
}

impl DistanceTable {
    /// Number of rows.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// The noisy distances: pairs (0,1), (0,2), ..., (1,2), ...
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

/// The squared distance of a pair from a released table, with its standard error sigma.
///
/// # Errors
/// [`Error::Index`] for a row that does not exist.
pub fn noisy_distance(release: &Release<DistanceTable>, i: usize, j: usize) -> Result<Estimate> {
    let table = release.payload();
    let (low, high) = (i.min(j), i.max(j));
    if high >= table.n {
        return Err(Error::Index { what: "row", index: high, len: table.n });
    }
    if low == high {
        return Ok(Estimate { value: 0.0, standard_error: 0.0 });
    }
    let at = low * (2 * table.n - low - 1) / 2 + (high - low - 1);
    Ok(Estimate { value: table.values[at], standard_error: table.sigma.get() })
}

/// Confidence interval of a squared distance, within `[0, d R^2]`; a row has distance zero from itself.
///
/// # Errors
/// As [`noisy_distance`], or a confidence outside `(0, 1)`.
pub fn noisy_distance_interval(
    release: &Release<DistanceTable>,
    i: usize,
    j: usize,
    confidence: Probability,
) -> Result<Interval> {
    let Estimate { value, standard_error } = noisy_distance(release, i, j)?;
    within(value, standard_error, 0.0, release.payload().largest, confidence)
}

/// `value +- (z standard_error + step)`, cut to a range. A value outside the range counts as its
/// nearest end: the interval only grows, and is never a point beside the truth.
pub(super) fn within(
    value: f64,
    standard_error: f64,
    step: f64,
    largest: f64,
    confidence: Probability,
) -> Result<Interval> {
    let value = value.clamp(0.0, largest);
    let whole = Estimate { value, standard_error }.interval(confidence)?;
    let (low, high) = ((whole.low - step).max(0.0), (whole.high + step).min(largest));
    Ok(Interval { low, high })
}
