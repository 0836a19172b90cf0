//! Inner products and distances from bounded values. Formulas: `docs/proofs/bounded-values.md`.

use super::law::ends;
use super::queries::BoundedQueries;
use super::release::BoundedValues;
use crate::error::{Error, Result};
use crate::estimate::{Estimate, Interval};
use dp_core::{Probability, Release};

/// Estimates between rows of two comparable releases, of one with itself, or of a release and queries that were never released.
///
/// Inner products are unbiased. Squared distances, and the product of a row with itself, are too at values on the grid of the
/// law, and else too large by at most `width^2/(4 steps^2)` a value that is released, `steps` = (letters - 1) offsets; standard errors
/// and intervals count that. The default law has few steps where epsilon is small: between two released rows the bias is up to half of the
/// squared width a value at epsilon 1 and below, an eighth at 2. For one bit a value, which says nothing of squares, it is half at every epsilon.
///
/// # Intervals
/// The shorter of Chebyshev's and Bernstein's, from the largest variance that values of the range have: they cover in every dimension, for every
/// row and confidence. Standard errors are upper estimates.
#[derive(Debug, Clone, Copy)]
pub struct BoundedPairs<'a> {
    left: &'a BoundedValues,
    right: Right<'a>,
    same: bool,
}

#[derive(Debug, Clone, Copy)]
enum Right<'a> {
    Released(&'a BoundedValues),
    Exact(&'a BoundedQueries),
}

/// A sum of independent terms.
struct Sum {
    value: f64,
    /// The largest variance that it has for any rows, and the largest difference of a term from its mean.
    variance: f64,
    largest: f64,
    /// How much larger than the truth its mean is at most; never smaller.
    bias: f64,
    /// Where the truth lies.
    within: (f64, f64),
}

impl Sum {
    fn reach(&self, miss: f64) -> f64 {
        let l = (2.0 / miss).ln();
        let step = self.largest * l / 3.0;
        let bernstein = step + (step * step + 2.0 * self.variance * l).sqrt();
        // Up, for the rounding of sums.
        bernstein.min((self.variance / miss).sqrt()) * (1.0 + 1e-6)
    }

    fn interval(&self, confidence: Probability) -> Result<Interval> {
        let miss = 1.0 - confidence.get();
        if !(miss > 0.0 && miss < 1.0) {
            return Err(Error::invalid("confidence", confidence, "(0, 1)"));
        }
        let reach = self.reach(miss);
        let (low, high) = (self.value - reach - self.bias, self.value + reach);
        Ok(Interval { low, high }.within(self.within.0, self.within.1))
    }

    fn estimate(&self) -> Estimate {
        let standard_error = (self.variance + self.bias * self.bias).sqrt();
        Estimate { value: self.value, standard_error }
    }
}

impl<'a> BoundedPairs<'a> {
    /// Pairs of rows of one release.
    #[must_use]
    pub fn within(release: &'a Release<BoundedValues>) -> Self {
        let left = release.payload();
        Self { left, right: Right::Released(left), same: true }
    }

    /// Pairs of a row of `left` and a row of `right`.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for another d, range or law; [`dp_core::Error::Mismatch`] when their values were mapped in
    /// different ways before.
    pub fn between(
        left: &'a Release<BoundedValues>,
        right: &'a Release<BoundedValues>,
    ) -> Result<Self> {
        left.mapped_alike(right)?;
        let (left, right) = (left.payload(), right.payload());
        left.check_comparable(right)?;
        Ok(Self { left, right: Right::Released(right), same: left == right })
    }

    /// Pairs of a row of a release and a query.
    ///
    /// # Errors
    /// [`Error::Shape`] for queries of another d.
    pub fn exact(release: &'a Release<BoundedValues>, queries: &'a BoundedQueries) -> Result<Self> {
        let left = release.payload();
        queries.check(left)?;
        Ok(Self { left, right: Right::Exact(queries), same: false })
    }

    /// Inner product of two rows.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub fn inner_product(&self, i: usize, j: usize) -> Result<Estimate> {
        Ok(self.product(i, j)?.estimate())
    }

    /// Its confidence interval.
    ///
    /// # Errors
    /// As [`BoundedPairs::inner_product`], or a confidence outside `(0, 1)`.
    pub fn inner_product_interval(
        &self,
        i: usize,
        j: usize,
        confidence: Probability,
    ) -> Result<Interval> {
        self.product(i, j)?.interval(confidence)
    }

    /// Squared distance of two rows.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub fn squared_distance(&self, i: usize, j: usize) -> Result<Estimate> {
        Ok(self.distance(i, j)?.estimate())
    }

    /// Its confidence interval.
    ///
    /// # Errors
    /// As [`BoundedPairs::inner_product_interval`].
    pub fn squared_distance_interval(
        &self,
        i: usize,
        j: usize,
        confidence: Probability,
    ) -> Result<Interval> {
        self.distance(i, j)?.interval(confidence)
    }

    fn product(&self, i: usize, j: usize) -> Result<Sum> {
        let release = self.left;
        let (law, range, d) = (release.law(), release.range(), release.d() as f64);
        let ((low, high), width) = (range.ends(), range.width());
        let (row, values) = (release.row(i)?, law.values());
        let variance = law.variance() * width * width;
        let right = match self.right {
            Right::Exact(queries) => {
                let y = queries.row(j)?;
                let terms = row.iter().zip(y).map(|(&cell, y)| release.value(cell) * y);
                let (least, most) = ends(values);
                let off = width * most.max(1.0 - least);
                let bounds = y.iter().map(|y| ends(&[y * low, y * high]));
                return Ok(Sum {
                    value: terms.sum(),
                    variance: variance * y.iter().map(|y| y * y).sum::<f64>(),
                    largest: off * y.iter().fold(0.0, |most: f64, y| most.max(y.abs())),
                    bias: 0.0,
                    within: bounds.fold((0.0, 0.0), |sum, (a, b)| (sum.0 + a, sum.1 + b)),
                });
            }
            Right::Released(right) => right.row(j)?,
        };
        if self.same && i == j {
            let square =
                |(v, q): (&f64, &f64)| low * low + 2.0 * low * width * v + width * width * q;
            let squares: Vec<f64> = values.iter().zip(law.squares()).map(square).collect();
            let (least, most) = ends(&squares);
            let nearest = if low <= 0.0 && high >= 0.0 { 0.0 } else { low.abs().min(high.abs()) };
            return Ok(Sum {
                value: row.iter().map(|&cell| squares[usize::from(cell)]).sum(),
                variance: d * law.largest_variance(&squares),
                largest: most - least,
                bias: d * width * width * law.bend(),
                within: (d * nearest * nearest, d * range.largest() * range.largest()),
            });
        }
        let terms = row.iter().zip(right).map(|(&a, &b)| release.value(a) * release.value(b));
        let (least, most) = ends(values);
        let far = (width * least + low).abs().max((width * most + low).abs());
        let largest = range.largest();
        let (a, b) = ends(&[low * low, low * high, high * high]);
        Ok(Sum {
            value: terms.sum(),
            variance: d * variance * (2.0 * largest * largest + variance),
            largest: far * far + largest * largest,
            bias: 0.0,
            within: (d * a, d * b),
        })
    }

    fn distance(&self, i: usize, j: usize) -> Result<Sum> {
        let release = self.left;
        let (law, range, d) = (release.law(), release.range(), release.d() as f64);
        let ((low, high), width) = (range.ends(), range.width());
        // All in units of the width, about the middle of the range.
        let values: Vec<f64> = law.values().iter().map(|v| v - 0.5).collect();
        let square = |(v, q): (&f64, &f64)| q - v + 0.25;
        let squares: Vec<f64> = law.values().iter().zip(law.squares()).map(square).collect();
        let (row, unit, bend) = (release.row(i)?, width * width, law.bend());
        let [of_value, of_square] = [&values, &squares].map(|of| law.largest_variance(of).sqrt());
        let [(v_low, v_high), (q_low, q_high)] = [&values, &squares].map(|of| ends(of));
        let right = match self.right {
            Right::Exact(queries) => {
                let middle = low + 0.5 * width;
                let y: Vec<f64> = queries.row(j)?.iter().map(|y| (y - middle) / width).collect();
                let term = |(&cell, y): (&u8, &f64)| {
                    squares[usize::from(cell)] - 2.0 * values[usize::from(cell)] * y + y * y
                };
                let most = |y: &f64| (q_high - q_low) + 2.0 * y.abs() * (v_high - v_low);
                let farthest = |y: &f64| (y.abs() + 0.5).powi(2);
                return Ok(Sum {
                    value: unit * row.iter().zip(&y).map(term).sum::<f64>(),
                    variance: unit
                        * unit
                        * y.iter()
                            .map(|y| (of_square + 2.0 * y.abs() * of_value).powi(2))
                            .sum::<f64>(),
                    largest: unit * y.iter().map(most).fold(0.0, f64::max),
                    bias: unit * d * bend,
                    within: (0.0, unit * y.iter().map(farthest).sum::<f64>()),
                });
            }
            Right::Released(right) => right.row(j)?,
        };
        let within = (0.0, d * (high - low) * (high - low));
        if self.same && i == j {
            return Ok(Sum { value: 0.0, variance: 0.0, largest: 0.0, bias: 0.0, within });
        }
        let term = |(&a, &b): (&u8, &u8)| {
            let (a, b) = (usize::from(a), usize::from(b));
            squares[a] + squares[b] - 2.0 * values[a] * values[b]
        };
        // Centred values are at most 1/2, of which two have the variance v/4 + v/4 + v^2.
        let v = of_value * of_value;
        let error = 2.0 * of_square + 2.0 * (0.5 * v + v * v).sqrt();
        let far = v_high.max(-v_low);
        Ok(Sum {
            value: unit * row.iter().zip(right).map(term).sum::<f64>(),
            variance: unit * unit * d * error * error,
            largest: unit * (2.0 * (q_high - q_low) + 4.0 * far * far),
            bias: unit * 2.0 * d * bend,
            within,
        })
    }
}
