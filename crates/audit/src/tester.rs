//! Testers: how an observation becomes a score, and which event of the score is tried.

use super::confidence::{Count, epsilon_bound};
use super::subject::{Score, Side, Subject};
use dp_core::Delta;
use faer::linalg::solvers::Solve;
use faer::{Mat, Side as Triangle};
use std::collections::HashMap;

/// Most numbers of an observation that learned testers use.
const MOST_SEEN: usize = 24;
/// Bins of a real coordinate in the histogram.
const BINS: usize = 12;

/// Observations of both inputs, row after row.
pub(super) struct Training {
    pub(super) width: usize,
    pub(super) left: Vec<f64>,
    pub(super) right: Vec<f64>,
}

impl Training {
    fn rows(&self, side: Side) -> impl Iterator<Item = &[f64]> {
        side.of(self.left.as_slice(), self.right.as_slice()).chunks_exact(self.width)
    }
}

/// All scores for a subject: those it brings, and two learned from training runs.
pub(super) fn scores(subject: &Subject, training: &Training) -> Vec<(&'static str, Score)> {
    let mut all = subject.scores.clone();
    let seen = subject.view.min(MOST_SEEN);
    if seen == 0 {
        return all;
    }
    let moments = Moments::of(training, seen);
    if let Some(direction) = moments.direction() {
        all.push(("nearest centroid", std::sync::Arc::new(move |x| dot(&direction, x))));
    }
    let cells = if subject.letters {
        Cells::Letters(seen)
    } else {
        Cells::quantiles(training, &moments.most_moved(2))
    };
    let counts = Histogram::count(cells, training);
    all.push(("histogram", std::sync::Arc::new(move |x| counts.score(x))));
    all
}

/// Squared distance of the centroids in whitened coordinates, of the numbers seen.
pub(super) fn separation(training: &Training) -> f64 {
    let moments = Moments::of(training, training.width.min(MOST_SEEN));
    moments.direction().map_or(0.0, |w| dot(&w, &moments.difference))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Means of both inputs and the pooled covariance of the numbers seen.
struct Moments {
    difference: Vec<f64>,
    covariance: Mat<f64>,
}

impl Moments {
    fn of(training: &Training, seen: usize) -> Self {
        let mut covariance = Mat::zeros(seen, seen);
        let mut means = Vec::new();
        for side in [Side::Left, Side::Right] {
            let count = training.rows(side).count().max(1) as f64;
            let mut mean = vec![0.0; seen];
            for row in training.rows(side) {
                mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / count);
            }
            for row in training.rows(side) {
                for i in 0..seen {
                    for j in 0..=i {
                        covariance[(i, j)] +=
                            (row[i] - mean[i]) * (row[j] - mean[j]) / (2.0 * count);
                    }
                }
            }
            means.push(mean);
        }
        for i in 0..seen {
            for j in 0..i {
                covariance[(j, i)] = covariance[(i, j)];
            }
        }
        let difference = means[1].iter().zip(&means[0]).map(|(r, l)| r - l).collect();
        Self { difference, covariance }
    }

    /// Fisher's direction: the difference of the centroids, whitened. Coordinates without
    /// noise get a tiny variance, so that a difference in them decides.
    fn direction(&self) -> Option<Vec<f64>> {
        let seen = self.difference.len();
        let top = (0..seen).map(|i| self.covariance[(i, i)]).fold(0.0, f64::max);
        let mut ridged = self.covariance.clone();
        for i in 0..seen {
            ridged[(i, i)] += 1e-9 * ridged[(i, i)] + 1e-12 * top.max(1e-100);
        }
        let right = Mat::from_fn(seen, 1, |i, _| self.difference[i]);
        let solved = ridged.llt(Triangle::Lower).ok()?.solve(&right);
        let direction: Vec<f64> = (0..seen).map(|i| solved[(i, 0)]).collect();
        direction.iter().all(|x| x.is_finite()).then_some(direction)
    }

    /// The coordinates whose means moved most, in units of their deviation.
    fn most_moved(&self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.difference.len()).collect();
        let moved = |i: usize| self.difference[i].abs() / (self.covariance[(i, i)].sqrt() + 1e-100);
        order.sort_by(|&a, &b| moved(b).total_cmp(&moved(a)));
        order.truncate(count);
        order
    }
}

/// How observations fall into cells.
enum Cells {
    /// Exact values of this many letters.
    Letters(usize),
    /// Bins of some coordinates, by quantiles of both inputs together.
    Quantiles(Vec<(usize, Vec<f64>)>),
}

impl Cells {
    fn quantiles(training: &Training, coordinates: &[usize]) -> Self {
        let cut = |&coordinate: &usize| {
            let sides = [Side::Left, Side::Right];
            let mut values: Vec<f64> =
                sides.iter().flat_map(|&s| training.rows(s).map(|row| row[coordinate])).collect();
            values.sort_unstable_by(f64::total_cmp);
            // Finer towards both ends, where ratios of probabilities are extreme.
            let at = |i: usize| {
                let t = i as f64 / BINS as f64;
                let share = t * t * (3.0 - 2.0 * t);
                values[((values.len() - 1) as f64 * share) as usize]
            };
            (coordinate, (1..BINS).map(at).collect())
        };
        Self::Quantiles(coordinates.iter().map(cut).collect())
    }

    fn cell(&self, x: &[f64]) -> Vec<u64> {
        match self {
            Self::Letters(count) => x[..*count].iter().map(|v| v.to_bits()).collect(),
            Self::Quantiles(axes) => {
                axes.iter().map(|(i, cuts)| cuts.partition_point(|c| *c <= x[*i]) as u64).collect()
            }
        }
    }
}

/// Counts of both inputs in every cell.
struct Histogram {
    cells: Cells,
    counts: HashMap<Vec<u64>, [u32; 2]>,
}

impl Histogram {
    fn count(cells: Cells, training: &Training) -> Self {
        let mut counts: HashMap<Vec<u64>, [u32; 2]> = HashMap::new();
        for (index, side) in [Side::Left, Side::Right].into_iter().enumerate() {
            for row in training.rows(side) {
                counts.entry(cells.cell(row)).or_default()[index] += 1;
            }
        }
        Self { cells, counts }
    }

    /// ln of the ratio of counts, each shrunk by a few pseudo-counts: cells seen seldom say little.
    fn score(&self, x: &[f64]) -> f64 {
        let [left, right] = self.counts.get(&self.cells.cell(x)).copied().unwrap_or_default();
        ((f64::from(right) + 2.0) / (f64::from(left) + 2.0)).ln()
    }
}

/// An event of a score, and the input under which it should be frequent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Event {
    /// The cut.
    pub(crate) threshold: f64,
    /// Whether the event is a score of at least the threshold (else: below it).
    pub(crate) above: bool,
    /// The input under which it should be frequent.
    pub(crate) often: Side,
}

impl Event {
    pub(super) fn happens(self, score: f64) -> bool {
        (score >= self.threshold) == self.above
    }

    #[cfg(test)]
    fn count(self, scores: &[f64]) -> Count {
        let hits = scores.iter().filter(|s| self.happens(**s)).count() as u64;
        Count { hits, runs: scores.len() as u64 }
    }
}

/// The event of a score that promises the largest epsilon, judged at `z` deviations of the
/// selection sample; and that epsilon.
pub(super) fn best_event(left: &[f64], right: &[f64], delta: Delta, z: f64) -> (Event, f64) {
    let label = |scores: &[f64], side| scores.iter().map(|s| (*s, side)).collect::<Vec<_>>();
    let mut all = label(left, Side::Left);
    all.extend(label(right, Side::Right));
    all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let runs = [left.len() as u64, right.len() as u64];
    let mut hits = [0u64; 2];
    let never = Event { threshold: f64::INFINITY, above: true, often: Side::Right };
    let mut best = (never, 0.0);
    let mut i = 0;
    while i < all.len() {
        let threshold = all[i].0;
        while i < all.len() && all[i].0 == threshold {
            hits[usize::from(all[i].1 == Side::Right)] += 1;
            i += 1;
        }
        for above in [true, false] {
            let inside = |side: usize| {
                let hits = if above { hits[side] } else { runs[side] - hits[side] };
                Count { hits, runs: runs[side] }
            };
            for (often, seldom, side) in [(1, 0, Side::Right), (0, 1, Side::Left)] {
                let (often, seldom) = (inside(often), inside(seldom));
                if often.rate() <= seldom.rate() {
                    continue;
                }
                let bound = epsilon_bound(often.rough_lower(z), seldom.rough_upper(z), delta);
                if bound > best.1 {
                    best = (Event { threshold, above, often: side }, bound);
                }
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_event_of_separated_scores_separates_them() {
        let left: Vec<f64> = (0..2000).map(|i| f64::from(i % 100)).collect();
        let right: Vec<f64> = left.iter().map(|x| x + 60.0).collect();
        let (event, bound) = best_event(&left, &right, Delta::ZERO, 4.0);
        assert!(bound > 3.0, "{bound}");
        let often = event.count(event.often.of(&left, &right)).rate();
        let other = if event.often == Side::Left { &right } else { &left };
        assert!(often > 0.5 && event.count(other).rate() < 0.01);
    }

    #[test]
    fn equal_scores_promise_nothing() {
        let scores: Vec<f64> = (0..5000).map(|i| f64::from(i % 7)).collect();
        let (event, bound) = best_event(&scores, &scores, Delta::ZERO, 3.0);
        assert_eq!(bound, 0.0);
        assert_eq!(event.count(&scores).hits, 0);
    }

    #[test]
    fn a_constant_coordinate_decides() {
        let mut training = Training { width: 2, left: vec![], right: vec![] };
        for i in 0..500u32 {
            let noise = f64::from((i * 7919) % 101) - 50.0;
            training.left.extend([noise, 0.0]);
            training.right.extend([noise, 1.0]);
        }
        let w = Moments::of(&training, 2).direction().expect("positive definite");
        // The least score on the right is above the largest on the left.
        assert!(dot(&w, &[-50.0, 1.0]) > dot(&w, &[50.0, 0.0]), "{w:?}");
    }
}
