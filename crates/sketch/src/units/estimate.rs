//! Cosines, inner products and distances from unit vectors. Formulas: `docs/proofs/unit-vectors.md`.

use super::queries::UnitQueries;
use super::release::UnitVectors;
use crate::error::{Error, Result};
use crate::estimate::{Estimate, Interval};
use dp_core::{Probability, Release};

/// Estimates between rows of two comparable releases, of one with itself, or of a release and queries that were never released.
///
/// Without lengths a row stands for its unit vector (after the projection, where there is one: what is estimated is
/// the cosine of the projected rows). With lengths kept, inner products and distances are those of the rows.
///
/// # Intervals
/// Chebyshev's, from the largest variance that any rows have: they cover in every dimension and for every confidence, and are
/// 2.3 times as wide at 95 % as the standard error suggests.
#[derive(Debug, Clone, Copy)]
pub struct UnitPairs<'a> {
    left: &'a UnitVectors,
    right: Right<'a>,
    same: bool,
}

#[derive(Debug, Clone, Copy)]
enum Right<'a> {
    Released(&'a UnitVectors),
    Exact(&'a UnitQueries<'a>),
}

/// An unbiased value, its standard error at these rows, and the largest of any rows.
struct Known {
    value: f64,
    error: f64,
    most: f64,
}

impl<'a> UnitPairs<'a> {
    /// Pairs of rows of one release.
    #[must_use]
    pub fn within(release: &'a Release<UnitVectors>) -> Self {
        let left = release.payload();
        Self { left, right: Right::Released(left), same: true }
    }

    /// Pairs of a row of `left` and a row of `right`.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for other projections or lengths; [`dp_core::Error::Mismatch`] when their values were mapped in
    /// different ways before.
    pub fn between(
        left: &'a Release<UnitVectors>,
        right: &'a Release<UnitVectors>,
    ) -> Result<Self> {
        left.mapped_alike(right)?;
        let (left, right) = (left.payload(), right.payload());
        left.check_comparable(right)?;
        Ok(Self { left, right: Right::Released(right), same: left == right })
    }

    /// Pairs of a row of a release and a query made by [`UnitQueries::exact`].
    ///
    /// # Errors
    /// [`Error::Incompatible`] for queries of another projection.
    pub fn exact(release: &'a Release<UnitVectors>, queries: &'a UnitQueries<'a>) -> Result<Self> {
        let left = release.payload();
        queries.check(left)?;
        Ok(Self { left, right: Right::Exact(queries), same: false })
    }

    /// Cosine of two rows, unbiased: it may lie outside of `[-1, 1]`.
    ///
    /// # Errors
    /// [`Error::Index`]; [`Error::Undefined`] for a release that keeps lengths, whose inner products and distances are unbiased.
    pub fn cosine(&self, i: usize, j: usize) -> Result<Estimate> {
        self.directions()?;
        self.inner_product(i, j)
    }

    /// Confidence interval of a cosine, in `[-1, 1]`.
    ///
    /// # Errors
    /// As [`UnitPairs::cosine`], or a confidence outside `(0, 1)`.
    pub fn cosine_interval(&self, i: usize, j: usize, confidence: Probability) -> Result<Interval> {
        self.directions()?;
        self.inner_product_interval(i, j, confidence)
    }

    /// Inner product of two rows, of their unit vectors without lengths.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub fn inner_product(&self, i: usize, j: usize) -> Result<Estimate> {
        let Known { value, error, .. } = self.product(i, j)?;
        Ok(self.scaled(value, error))
    }

    /// Its confidence interval.
    ///
    /// # Errors
    /// As [`UnitPairs::cosine_interval`].
    pub fn inner_product_interval(
        &self,
        i: usize,
        j: usize,
        confidence: Probability,
    ) -> Result<Interval> {
        let (known, most) = (self.product(i, j)?, self.largest(j)?);
        self.interval(&known, (-most, most), confidence)
    }

    /// Squared distance of two rows, of their unit vectors without lengths.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub fn squared_distance(&self, i: usize, j: usize) -> Result<Estimate> {
        let Known { value, error, .. } = self.distance(i, j)?;
        Ok(self.scaled(value, error))
    }

    /// Its confidence interval.
    ///
    /// # Errors
    /// As [`UnitPairs::cosine_interval`].
    pub fn squared_distance_interval(
        &self,
        i: usize,
        j: usize,
        confidence: Probability,
    ) -> Result<Interval> {
        let (known, most) = (self.distance(i, j)?, self.largest(j)?);
        self.interval(&known, (0.0, (1.0 + most).powi(2)), confidence)
    }

    fn directions(&self) -> Result<()> {
        match self.left.lengths() {
            None => Ok(()),
            Some(_) => Err(Error::Undefined {
                what: "an unbiased cosine",
                reason: "the release keeps lengths: ask for inner products and distances",
            }),
        }
    }

    /// The square of what lengths are measured in.
    fn unit(&self) -> f64 {
        self.left.lengths().map_or(1.0, |bound| bound.get() * bound.get())
    }

    fn scaled(&self, value: f64, error: f64) -> Estimate {
        Estimate { value: value * self.unit(), standard_error: error * self.unit() }
    }

    /// The largest norm of what is on the right.
    fn largest(&self, j: usize) -> Result<f64> {
        Ok(match self.right {
            Right::Released(_) => 1.0,
            Right::Exact(queries) => dot(queries.row(j)?, queries.row(j)?).sqrt(),
        })
    }

    fn interval(
        &self,
        known: &Known,
        (low, high): (f64, f64),
        confidence: Probability,
    ) -> Result<Interval> {
        let miss = 1.0 - confidence.get();
        if !(miss > 0.0 && miss < 1.0) {
            return Err(Error::invalid("confidence", confidence, "(0, 1)"));
        }
        // Rounding to the grid moves a sum by far less than the last factor.
        let reach = known.most / miss.sqrt() * (1.0 + 1e-4);
        let cut =
            Interval { low: known.value - reach, high: known.value + reach }.within(low, high);
        Ok(Interval { low: cut.low * self.unit(), high: cut.high * self.unit() })
    }

    /// The two rows.
    fn rows(&self, i: usize, j: usize) -> Result<(&'a [f64], &'a [f64])> {
        let left = self.left.row(i)?;
        Ok(match self.right {
            Right::Released(right) => (left, right.row(j)?),
            Right::Exact(queries) => (left, queries.row(j)?),
        })
    }

    /// Inner product over the bound's square, of the numbers that are not about lengths.
    fn product(&self, i: usize, j: usize) -> Result<Known> {
        let (v, w) = self.rows(i, j)?;
        let (k, m) = (self.left.projection().k(), self.left.moments());
        if self.same && i == j {
            let value = if self.left.lengths().is_some() {
                1.0 - self.hidden(self.left, i)?.0
            } else {
                1.0
            };
            let [error, most] = match self.left.lengths() {
                None => [0.0; 2],
                Some(_) => [m.square((1.0 - value).clamp(0.0, 1.0)), m.largest_square()]
                    .map(|v| v.sqrt() / m.excess),
            };
            return Ok(Known { value, error, most });
        }
        let sum = dot(&v[..k], &w[..k]);
        let length = |of, row| Ok::<_, Error>((1.0 - self.hidden(of, row)?.0).clamp(0.0, 1.0));
        let worst =
            |variance: &dyn Fn(f64) -> f64| variance(0.0).max(variance(1.0)).max(0.0).sqrt();
        Ok(match self.right {
            Right::Released(right) => {
                let (n, scale) = (right.moments(), m.mean * right.moments().mean);
                let value = sum / scale;
                let sizes = (length(self.left, i)?, length(right, j)?);
                let variance = |sizes, c: f64| m.product(&n, k as f64, sizes, c.clamp(-1.0, 1.0));
                let error = variance(sizes, value).max(0.0).sqrt() / scale;
                let most = worst(&|c| variance((1.0, 1.0), c)) / scale;
                Known { value, error, most }
            }
            Right::Exact(_) => {
                let (value, square) = (sum / m.mean, dot(&w[..k], &w[..k]));
                let limit = square.sqrt();
                let error = m.against(square, value.clamp(-limit, limit)).max(0.0).sqrt() / m.mean;
                let most = worst(&|c| m.against(square, c * limit)) / m.mean;
                Known { value, error, most }
            }
        })
    }

    /// The square of the last number of a row's unit vector, unbiased, which is one minus that of its length; zero where lengths are not kept.
    fn hidden(&self, of: &UnitVectors, row: usize) -> Result<(f64, f64)> {
        let m = of.moments();
        let Some(last) = of.row(row)?.get(of.projection().k()) else { return Ok((0.0, 0.0)) };
        let value = (last * last - 1.0) / m.excess;
        Ok((value, m.square(value.clamp(0.0, 1.0)) / (m.excess * m.excess)))
    }

    /// Squared distance over the bound's square.
    fn distance(&self, i: usize, j: usize) -> Result<Known> {
        if self.same && i == j {
            self.rows(i, j)?;
            return Ok(Known { value: 0.0, error: 0.0, most: 0.0 });
        }
        let product = self.product(i, j)?;
        let m = self.left.moments();
        let hides = |of: &UnitVectors| match of.lengths() {
            None => 0.0,
            Some(_) => of.moments().largest_square().sqrt() / of.moments().excess,
        };
        let c = product.value.clamp(-1.0, 1.0);
        let (q, q_variance) = self.hidden(self.left, i)?;
        let (right, right_variance, with_right, most_right) = match self.right {
            Right::Released(right) => {
                let (r, variance) = self.hidden(right, j)?;
                let n = right.moments();
                let together = match right.lengths() {
                    None => 0.0,
                    Some(_) => n.square_and_product(r.clamp(0.0, 1.0), c) / (n.excess * n.mean),
                };
                (1.0 - r, variance, together, hides(right))
            }
            Right::Exact(_) => (self.largest(j)?.powi(2), 0.0, 0.0, 0.0),
        };
        let with_left = match self.left.lengths() {
            None => 0.0,
            Some(_) => m.square_and_product(q.clamp(0.0, 1.0), c) / (m.excess * m.mean),
        };
        let variance = q_variance
            + right_variance
            + 4.0 * product.error * product.error
            + 4.0 * (with_left + with_right);
        Ok(Known {
            value: 1.0 - q + right - 2.0 * product.value,
            error: variance.max(0.0).sqrt(),
            most: hides(self.left) + most_right + 2.0 * product.most,
        })
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}
