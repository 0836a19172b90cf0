//! How often each category was given, from responses. Formulas: `docs/proofs/bounded-values.md`, categories.

use super::release::BoundedValues;
use crate::error::{Error, Result};
use crate::estimate::{Estimate, Interval};
use dp_core::Probability;

/// How many rows have each category of a column, told from a release of categories or bits.
///
/// Counts are unbiased. Where values between two steps were rounded at random (one bit a value of a range), a count is
/// that of the rounded values, and its mean their sum.
///
/// ```
/// use dp_core::{Budget, NoiseRng, Probability, Shift};
/// use sketch::RowsView;
/// use sketch::bounded::{BoundedConfig, BoundedLaw, CategoryCounts, PrivateBounded};
/// use sketch::distances::ValueRange;
///
/// // Which of three answers 1200 people gave.
/// let answers = [0.0, 0.0, 1.0, 2.0].repeat(300);
/// let law = BoundedLaw::Categories(3);
/// let config = BoundedConfig { d: 1, range: ValueRange::new(0.0, 2.0)?, beta: Shift::new(2.0)?, law, clip: false };
/// let mechanism = PrivateBounded::new(config, Budget::new(2.0, 0.0)?)?;
/// let release = mechanism.release(RowsView::f64(1200, 1, &answers)?, &mut NoiseRng::from_os()?)?;
/// let counts = CategoryCounts::of(release.payload(), 0)?;
/// let interval = counts.share_interval(0, Probability::new(0.999_999_9)?)?;
/// assert!(interval.contains(0.5) && counts.share(0)?.standard_error < 0.03);
/// # Ok::<(), sketch::Error>(())
/// ```
///
/// # Intervals
/// Of each category by itself: the counts that an exact test of the number of answers does not refute. They cover at least as
/// often as asked, whatever the column.
#[derive(Debug, Clone)]
pub struct CategoryCounts {
    rows: u64,
    keep: f64,
    /// Probability of each other answer.
    other: f64,
    /// Answers of each category.
    seen: Vec<u64>,
}

impl CategoryCounts {
    /// Of one column of a release.
    ///
    /// # Errors
    /// [`Error::Index`] for no such column; [`dp_core::Error::InvalidParameter`] for a release whose cells are not letters.
    pub fn of(release: &BoundedValues, column: usize) -> Result<Self> {
        let (law, d) = (release.law(), release.d());
        if column >= d {
            return Err(Error::Index { what: "column", index: column, len: d });
        }
        if law.offsets() != 1 {
            let allowed =
                "a release of categories or bits: these values are cut at several offsets";
            return Err(Error::invalid("offsets", law.offsets(), allowed));
        }
        let (letters, keep) = (law.values().len(), law.keep());
        let mut seen = vec![0; letters];
        for row in release.cells().chunks_exact(d) {
            seen[usize::from(row[column])] += 1;
        }
        let other = (1.0 - keep) / (letters - 1) as f64;
        Ok(Self { rows: release.n() as u64, keep, other, seen })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Number of categories.
    #[must_use]
    pub fn categories(&self) -> usize {
        self.seen.len()
    }

    fn answers(&self, category: usize) -> Result<u64> {
        let len = self.seen.len();
        self.seen.get(category).copied().ok_or(Error::Index {
            what: "category",
            index: category,
            len,
        })
    }

    /// How many rows have a category; unbiased, below zero too. The variance is an unbiased estimate where the count lies between
    /// zero and the rows.
    ///
    /// # Errors
    /// [`Error::Index`] for no such category.
    pub fn count(&self, category: usize) -> Result<Estimate> {
        let Self { rows, keep, other, .. } = *self;
        let (n, gain) = (rows as f64, keep - other);
        let value = (self.answers(category)? as f64 - n * other) / gain;
        let count = value.clamp(0.0, n);
        let variance = count * keep * (1.0 - keep) + (n - count) * other * (1.0 - other);
        Ok(Estimate { value, standard_error: variance.sqrt() / gain })
    }

    /// Its confidence interval, whole numbers from zero to the rows.
    ///
    /// # Errors
    /// As [`CategoryCounts::count`]; a confidence outside `(0, 1)`.
    pub fn count_interval(&self, category: usize, confidence: Probability) -> Result<Interval> {
        let answers = self.answers(category)?;
        let miss = 1.0 - confidence.get();
        if !(miss > 0.0 && miss < 1.0) {
            return Err(Error::invalid("confidence", confidence, "(0, 1)"));
        }
        // Down, for the rounding of sums and what windows leave out.
        let refuted = 0.5 * miss * (1.0 - 1e-9) - 1e-15;
        // Both tails are monotone in the count.
        let least = |holds: &dyn Fn(u64) -> bool| {
            let (mut low, mut high) = (0, self.rows);
            while low < high {
                let middle = low + (high - low) / 2;
                if holds(middle) { high = middle } else { low = middle + 1 }
            }
            low
        };
        let low = least(&|count| self.tail(count, answers) > refuted);
        // At least n - a answers are of the other categories.
        let high = self.rows - least(&|none| self.tail_below(self.rows - none, answers) > refuted);
        Ok(Interval { low: low as f64, high: high as f64 })
    }

    /// [`CategoryCounts::count`] over the rows.
    ///
    /// # Errors
    /// As [`CategoryCounts::count`]; no rows.
    pub fn share(&self, category: usize) -> Result<Estimate> {
        let (Estimate { value, standard_error }, n) = (self.count(category)?, self.some_rows()?);
        Ok(Estimate { value: value / n, standard_error: standard_error / n })
    }

    /// [`CategoryCounts::count_interval`] over the rows.
    ///
    /// # Errors
    /// As [`CategoryCounts::count_interval`]; no rows.
    pub fn share_interval(&self, category: usize, confidence: Probability) -> Result<Interval> {
        let (Interval { low, high }, n) =
            (self.count_interval(category, confidence)?, self.some_rows()?);
        Ok(Interval { low: low / n, high: high / n })
    }

    fn some_rows(&self) -> Result<f64> {
        match self.rows {
            0 => Err(Error::invalid("rows", 0, "[1, inf) for a share")),
            rows => Ok(rows as f64),
        }
    }

    /// Probability of so many answers or more, when so many rows have the category.
    fn tail(&self, count: u64, answers: u64) -> f64 {
        let (own, rest) = self.parts(count);
        own.masses().map(|(k, p)| p * rest.at_least(answers.saturating_sub(k))).sum()
    }

    /// Of so many or fewer.
    fn tail_below(&self, count: u64, answers: u64) -> f64 {
        let (own, rest) = self.parts(count);
        let within = own.masses().filter(|&(k, _)| k <= answers);
        within.map(|(k, p)| p * rest.at_most(answers - k)).sum()
    }

    fn parts(&self, count: u64) -> (Binomial, Binomial) {
        (Binomial::new(count, self.keep), Binomial::new(self.rows - count, self.other))
    }
}

/// The masses of a binomial law that are not below 1e-20 of the largest.
struct Binomial {
    first: u64,
    masses: Vec<f64>,
    /// From each place on.
    above: Vec<f64>,
    /// Up to each place.
    below: Vec<f64>,
}

impl Binomial {
    fn new(n: u64, p: f64) -> Self {
        const LEAST: f64 = 1e-20;
        let (size, odds) = (n as f64, p / (1.0 - p));
        let mode = (((n + 1) as f64 * p) as u64).min(n);
        let (mut below, mut at, mut mass) = (Vec::new(), mode, 1.0);
        while at > 0 && mass > LEAST {
            mass *= at as f64 / (size - at as f64 + 1.0) / odds;
            at -= 1;
            below.push(mass);
        }
        let first = at;
        let mut masses: Vec<f64> = below.into_iter().rev().collect();
        (at, mass) = (mode, 1.0);
        masses.push(1.0);
        while at < n && mass > LEAST {
            mass *= (size - at as f64) / (at as f64 + 1.0) * odds;
            at += 1;
            masses.push(mass);
        }
        let all: f64 = masses.iter().sum();
        masses.iter_mut().for_each(|mass| *mass /= all);
        let mut above = masses.clone();
        for i in (1..above.len()).rev() {
            above[i - 1] += above[i];
        }
        let mut below = masses.clone();
        for i in 1..below.len() {
            below[i] += below[i - 1];
        }
        Self { first, masses, above, below }
    }

    fn masses(&self) -> impl Iterator<Item = (u64, f64)> {
        (self.first..).zip(self.masses.iter().copied())
    }

    fn at_most(&self, k: u64) -> f64 {
        match k.checked_sub(self.first) {
            None => 0.0,
            Some(i) => {
                usize::try_from(i).ok().and_then(|i| self.below.get(i)).map_or(1.0, |p| p.min(1.0))
            }
        }
    }

    fn at_least(&self, k: u64) -> f64 {
        match k.checked_sub(self.first) {
            None => 1.0,
            Some(i) => {
                usize::try_from(i).ok().and_then(|i| self.above.get(i)).map_or(0.0, |p| p.min(1.0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(rows: u64, letters: usize, epsilon: f64, seen: u64) -> CategoryCounts {
        let keep = 1.0 / (1.0 + (letters - 1) as f64 * (-epsilon).exp());
        let other = (1.0 - keep) / (letters - 1) as f64;
        CategoryCounts { rows, keep, other, seen: vec![seen] }
    }

    /// The probability of every number of answers, written out.
    fn law(of: &CategoryCounts, count: u64) -> Vec<f64> {
        let mut law = vec![1.0];
        for row in 0..of.rows {
            let p = if row < count { of.keep } else { of.other };
            let mut next = vec![0.0; law.len() + 1];
            for (k, mass) in law.iter().enumerate() {
                next[k] += mass * (1.0 - p);
                next[k + 1] += mass * p;
            }
            law = next;
        }
        law
    }

    /// Coverage of every count, summed over every number of answers: never below what is asked, and not all of it given away.
    #[test]
    fn intervals_cover_every_count() {
        for (letters, epsilon) in [(2, 0.3), (2, 5.0), (3, 1.0), (40, 4.0), (256, 9.0)] {
            for rows in [1u64, 2, 17, 60] {
                let mut least = 1.0f64;
                for confidence in [0.5, 0.9, 0.999] {
                    let confidence = Probability::new(confidence).unwrap();
                    let intervals: Vec<_> = (0..=rows)
                        .map(|seen| {
                            let of = counts(rows, letters, epsilon, seen);
                            of.count_interval(0, confidence).unwrap()
                        })
                        .collect();
                    for count in 0..=rows {
                        let of = counts(rows, letters, epsilon, 0);
                        let law = law(&of, count);
                        let held = |(i, p): (&Interval, &f64)| {
                            if i.contains(count as f64) { *p } else { 0.0 }
                        };
                        let covered: f64 = intervals.iter().zip(&law).map(held).sum();
                        assert!(
                            covered >= confidence.get() - 1e-9,
                            "{letters} {epsilon} {rows} {count}: {covered}"
                        );
                        least = least.min(covered);
                        // Means and variances of the estimate.
                        let told = |seen: u64| {
                            counts(rows, letters, epsilon, seen).count(0).unwrap().value
                        };
                        let mean: f64 = law.iter().zip(0..).map(|(p, k)| p * told(k)).sum();
                        assert!(
                            (mean - count as f64).abs() < 1e-9 * (1.0 + told(rows).abs()),
                            "{mean} {count}"
                        );
                    }
                }
                assert!(rows < 60 || least < 0.7, "{letters} {epsilon}: {least} of one half");
            }
        }
    }

    /// Tails of many rows against the law of the sum written out, and at the ends.
    #[test]
    fn tails_are_those_of_the_sum() {
        let of = counts(300, 5, 1.2, 0);
        for count in [0, 1, 120, 299, 300] {
            let law = law(&of, count);
            for answers in [0, 1, 50, 130, 250, 300] {
                let above: f64 = law[answers as usize..].iter().sum();
                let below: f64 = law[..=answers as usize].iter().sum();
                assert!((of.tail(count, answers) - above).abs() < 1e-12, "{count} {answers}");
                assert!((of.tail_below(count, answers) - below).abs() < 1e-12, "{count} {answers}");
            }
        }
        // A million rows at once, with counts that no test of a million could tell apart from a normal law.
        let many = counts(1_000_000, 10, 1.0, 150_000);
        let Estimate { value, standard_error } = many.count(0).unwrap();
        let interval = many.count_interval(0, Probability::new(0.95).unwrap()).unwrap();
        for (end, z) in [(interval.low, -1.959_964), (interval.high, 1.959_964)] {
            assert!(((end - value) / standard_error - z).abs() < 0.01, "{interval:?} {value}");
        }
        // Impossible numbers end at the ends.
        let all = counts(1000, 2, 8.0, 1000);
        let interval = all.count_interval(0, Probability::new(0.95).unwrap()).unwrap();
        assert!(interval.high == 1000.0 && interval.low > 990.0);
        let none = counts(0, 2, 1.0, 0);
        assert_eq!(
            none.count_interval(0, Probability::new(0.95).unwrap()).unwrap(),
            Interval { low: 0.0, high: 0.0 }
        );
        assert!(none.share(0).is_err());
        for bad in [0.0, 1.0] {
            assert!(all.count_interval(0, Probability::new(bad).unwrap()).is_err());
        }
    }
}
