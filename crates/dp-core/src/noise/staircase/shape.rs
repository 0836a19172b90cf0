//! The staircase law on the integers as numbers: mass, moments, the best inner width.

use crate::error::{Error, Result};
use crate::quantity::Epsilon;

/// `Pr[x]` is proportional to `e^(-epsilon q)`, q the steps of the stair between zero and x: zero for
/// `|x| < inner`, then one more every `width` integers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shape {
    pub(crate) epsilon: Epsilon,
    pub(crate) width: u64,
    pub(crate) inner: u64,
}

/// Epsilons for which there is a sampler: below, Laplace noise has the same variance to 1e-4.
const EPSILONS: (f64, f64) = (1.0 / 32.0, 20.0);
const NAMED: &str =
    "[1/32, 20]: below, Laplace noise is as good; above, no noise is needed to speak of";

/// Most integers of a step.
const WIDEST: u64 = 1 << 45;

/// Sums over the stairs: `sum of e^(-epsilon (k + 1)) k^i` over k from zero, for i = 0 to 4.
type Stairs = [f64; 5];

impl Shape {
    /// Refuses parameters outside of their ranges.
    pub(crate) fn new(epsilon: Epsilon, width: u64, inner: u64) -> Result<Self> {
        check_epsilon(epsilon)?;
        if !(1..=WIDEST).contains(&width) {
            return Err(Error::invalid("width of staircase noise", width, "[1, 2^45] steps"));
        }
        if !(1..=width).contains(&inner) {
            let allowed = format!("[1, {width}], the width");
            return Err(Error::invalid("inner width of staircase noise", inner, allowed));
        }
        Ok(Self { epsilon, width, inner })
    }

    /// The inner width of least variance.
    pub(crate) fn best(epsilon: Epsilon, width: u64) -> Result<Self> {
        let shape = |inner| Self { epsilon, width, inner };
        Self::new(epsilon, width, 1)?;
        // The second moment is a convex function over a linear one: it falls, then rises.
        let (mut low, mut high) = (1, width);
        while low < high {
            let middle = low + (high - low) / 2;
            if shape(middle).slope() < 0.0 { low = middle + 1 } else { high = middle }
        }
        let near = [low.saturating_sub(1).max(1), low, (low + 1).min(width)];
        let least = |a: &u64, b: &u64| shape(*a).variance().total_cmp(&shape(*b).variance());
        Ok(shape(near.into_iter().min_by(least).expect("three of them")))
    }

    /// `1 - e^(-epsilon)`.
    fn rest(self) -> f64 {
        -(-self.epsilon.get()).exp_m1()
    }

    fn stairs(self) -> Stairs {
        let (b, c) = ((-self.epsilon.get()).exp(), self.rest());
        let first = b / c;
        [
            first,
            first * b / c,
            first * b * (1.0 + b) / (c * c),
            first * b * (1.0 + b * (4.0 + b)) / c.powi(3),
            first * b * (1.0 + b * (11.0 + b * (11.0 + b))) / c.powi(4),
        ]
    }

    /// The same sums of `(inner + k width)^i`.
    fn edges(self) -> Stairs {
        let (t, m, w) = (self.stairs(), self.inner as f64, self.width as f64);
        [
            t[0],
            m * t[0] + w * t[1],
            m * m * t[0] + w * (2.0 * m * t[1] + w * t[2]),
            m.powi(3) * t[0] + w * (3.0 * m * m * t[1] + w * (3.0 * m * t[2] + w * t[3])),
            m.powi(4) * t[0]
                + w * (4.0 * m.powi(3) * t[1]
                    + w * (6.0 * m * m * t[2] + w * (4.0 * m * t[3] + w * t[4]))),
        ]
    }

    /// Twice the half-way point of level zero, in levels of one: the sum of all weights.
    fn total(self) -> f64 {
        2.0 * self.inner as f64 - 1.0 + 2.0 * self.width as f64 * self.stairs()[0]
    }

    /// `C_0` of the proof page: half the sum of all weights.
    pub(super) fn half(self) -> f64 {
        self.inner as f64 - 0.5 + self.width as f64 / self.epsilon.get().exp_m1()
    }

    /// Weighted sum of squares.
    fn squares(self) -> f64 {
        let (m, w, e) = (self.inner as f64, self.width as f64, self.edges());
        let [_, one, two, ..] = powers(w);
        (m - 1.0) * m * (2.0 * m - 1.0) / 3.0 + 2.0 * (w * e[2] + 2.0 * one * e[1] + two * e[0])
    }

    /// The sign of the derivative of the variance by the inner width.
    fn slope(self) -> f64 {
        let (m, w, t) = (self.inner as f64, self.width as f64, self.stairs());
        let inner = (6.0 * m * (m - 1.0) + 1.0) / 3.0;
        let outer = w * (2.0 * m * t[0] + 2.0 * w * t[1]) + w * (w - 1.0) * t[0];
        (inner + 2.0 * outer) * self.total() - 2.0 * self.squares()
    }

    /// Variance, in squares of steps.
    pub(crate) fn variance(self) -> f64 {
        self.squares() / self.total()
    }

    /// Mean absolute value, in steps.
    pub(crate) fn mean_absolute(self) -> f64 {
        let (m, w, e) = (self.inner as f64, self.width as f64, self.edges());
        let [_, one, ..] = powers(w);
        (m * (m - 1.0) + 2.0 * (w * e[1] + one * e[0])) / self.total()
    }

    /// Fourth cumulant, in steps to the fourth.
    pub(crate) fn fourth_cumulant(self) -> f64 {
        let (w, e) = (self.width as f64, self.edges());
        let [_, one, two, three, four] = powers(w);
        let outer =
            w * e[4] + 4.0 * one * e[3] + 6.0 * two * e[2] + 4.0 * three * e[1] + four * e[0];
        let fourth = 2.0 * (powers(self.inner as f64)[4] + outer) / self.total();
        fourth - 3.0 * self.variance().powi(2)
    }

    /// Probability that the noise tells the larger of two numbers a width apart: the loss is epsilon there.
    pub(crate) fn telling(self) -> f64 {
        let c = (self.inner - 1).min(self.width - self.inner) as f64;
        0.5 * (1.0 + (2.0 * c + 1.0) / self.total())
    }
}

/// `sum of r^i` over r from 0 to n - 1, for i = 0 to 4.
fn powers(n: f64) -> [f64; 5] {
    let one = n * (n - 1.0) / 2.0;
    let two = one * (2.0 * n - 1.0) / 3.0;
    let four = two * (3.0 * n * (n - 1.0) - 1.0) / 5.0;
    // Of one term, which is 0^4.
    [n, one, two, one * one, four.max(0.0)]
}

/// Refuses an epsilon for which there is no sampler.
pub(crate) fn check_epsilon(epsilon: Epsilon) -> Result<()> {
    if (EPSILONS.0..=EPSILONS.1).contains(&epsilon.get()) {
        Ok(())
    } else {
        Err(Error::invalid("epsilon of staircase noise", epsilon, NAMED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights by the definition, as far as they count.
    fn weights(s: Shape) -> Vec<(f64, f64)> {
        let reach = s.inner + s.width * (1 + (45.0 / s.epsilon.get()) as u64);
        let level = |x: u64| if x < s.inner { 0 } else { (x - s.inner) / s.width + 1 };
        let weight = |x: u64| (-s.epsilon.get() * level(x) as f64).exp();
        let all = (0..reach).flat_map(|x| {
            let both = if x == 0 { 1 } else { 2 };
            (0..both).map(move |sign| (if sign == 1 { -(x as f64) } else { x as f64 }, weight(x)))
        });
        let all: Vec<_> = all.collect();
        let total: f64 = all.iter().map(|(_, w)| w).sum();
        all.into_iter().map(|(x, w)| (x, w / total)).collect()
    }

    fn close(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-10
    }

    #[test]
    fn moments_are_sums_over_the_law() {
        for epsilon in [1.0 / 32.0, 0.3, 1.0, 4.0, 20.0] {
            for (width, inner) in [(1, 1), (2, 1), (2, 2), (7, 3), (50, 1), (50, 24), (50, 50)] {
                let s = Shape::new(Epsilon::new(epsilon).unwrap(), width, inner).unwrap();
                let law = weights(s);
                let moment = |p| law.iter().map(|(x, w)| w * x.powi(p)).sum::<f64>();
                let (second, fourth) = (moment(2), moment(4));
                let absolute: f64 = law.iter().map(|(x, w)| w * x.abs()).sum();
                assert!((s.mean_absolute() - absolute).abs() < 1e-10 * absolute + 1e-300, "{s:?}");
                assert!(close(s.variance(), second), "{s:?}: {} {second}", s.variance());
                let found = s.fourth_cumulant() + 3.0 * s.variance().powi(2);
                assert!(close(found, fourth), "{s:?}: {found} {fourth}");
            }
        }
    }

    #[test]
    fn the_best_inner_width_has_the_least_variance() {
        for epsilon in [1.0 / 32.0, 0.1, 0.5, 1.0, 2.0, 5.0, 9.0, 20.0] {
            let epsilon = Epsilon::new(epsilon).unwrap();
            for width in [1, 2, 3, 10, 101, 1000] {
                let least = (1..=width)
                    .map(|inner| Shape::new(epsilon, width, inner).unwrap().variance())
                    .fold(f64::INFINITY, f64::min);
                let found = Shape::best(epsilon, width).unwrap().variance();
                assert!(found <= least * (1.0 + 1e-12), "{epsilon} {width}: {found} {least}");
            }
        }
    }

    /// Geng and Viswanath's law on the line, the second moment at the best gamma, from sums in mpmath at 30 digits.
    #[test]
    fn fine_grids_have_the_variance_of_the_line() {
        for (epsilon, variance) in [
            (0.5, 7.917_017_215_366_336),
            (1.0, 1.918_103_531_225_525),
            (3.0, 0.152_673_645_209_287_93),
            (5.0, 0.029_711_024_136_372_864),
        ] {
            let width = 1u64 << 30;
            let s = Shape::best(Epsilon::new(epsilon).unwrap(), width).unwrap();
            let found = s.variance() / (width as f64).powi(2);
            assert!((found / variance - 1.0).abs() < 1e-8, "{epsilon}: {found}");
        }
    }

    /// The distribution function of the loss for every shift, by summation: no shift up to the width gives
    /// away more, at any epsilon, than the width itself, and that is the stated mass.
    #[test]
    fn the_whole_width_is_the_worst_shift() {
        for epsilon in [0.1, 1.0, 3.0] {
            for width in [1u64, 2, 5, 12] {
                for inner in 1..=width {
                    let s = Shape::new(Epsilon::new(epsilon).unwrap(), width, inner).unwrap();
                    let law: std::collections::BTreeMap<i64, f64> =
                        weights(s).into_iter().map(|(x, w)| (x as i64, w)).collect();
                    let delta = |shift: i64, at: f64| {
                        let each = law.iter().filter_map(|(x, w)| {
                            let other = law.get(&(x - shift))?;
                            Some((w - at.exp() * other).max(0.0))
                        });
                        each.sum::<f64>()
                    };
                    for at in [0.0, 0.4 * epsilon, 0.9 * epsilon] {
                        let stated = s.telling() * -(at - epsilon).exp_m1();
                        let found = |shift| delta(shift, at).max(delta(-shift, at));
                        let worst = (1..=width as i64).map(found).fold(0.0, f64::max);
                        assert!(close(worst, found(width as i64)), "{s:?} {at}");
                        assert!((worst - stated).abs() < 1e-12, "{s:?} {at}: {worst} {stated}");
                    }
                    // One integer farther, and the mechanism is not epsilon-private.
                    assert!(delta(width as i64 + 1, epsilon) > 1e-12, "{s:?}");
                }
            }
        }
    }

    #[test]
    fn shapes_out_of_range_are_refused() {
        let e = |x| Epsilon::new(x).unwrap();
        for (epsilon, width, inner) in [
            (0.03, 9, 3),
            (20.1, 9, 3),
            (1.0, 0, 1),
            (1.0, 9, 0),
            (1.0, 9, 10),
            (1.0, (1 << 45) + 1, 1),
        ] {
            assert!(Shape::new(e(epsilon), width, inner).is_err(), "{epsilon} {width} {inner}");
        }
        assert!(Shape::best(e(1.0), 0).is_err());
    }
}
