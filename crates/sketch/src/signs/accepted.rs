//! The angles that two one-sided tests accept.

use core::f64::consts::PI;

/// What two one-sided tests of a count of agreeing bits say of an angle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Fewer agree than the angle allows.
    TooFew,
    /// Neither test rejects.
    Accepted,
    /// More agree than the angle allows.
    TooMany,
}

impl Verdict {
    /// From the probabilities of a count of at most, and of at least, the one seen. They add up to one or more, so that a tail
    /// below a half rejects on one ground.
    pub(super) fn of((at_most, at_least): (f64, f64), tail: f64) -> Self {
        if at_most <= tail {
            Self::TooFew
        } else if at_least <= tail {
            Self::TooMany
        } else {
            Self::Accepted
        }
    }
}

/// The least and the largest angle that are tested; at the ends of the half turn the model's deviation is zero.
const ENDS: (f64, f64) = (1e-6 * PI, (1.0 - 1e-6) * PI);

/// What the tests say at one norm.
#[derive(Debug)]
pub(super) struct Accepted {
    /// At the least and at the largest angle.
    ends: [Verdict; 2],
    /// Angles between which all accepted ones are; none where all are rejected alike.
    range: Option<(f64, f64)>,
}

impl Accepted {
    /// Tests a grid of the half turn and the angles `near`, and bisects where the verdict first and last changes. Both tests
    /// are continuous in the angle and never reject together, so between two angles that are rejected on different grounds
    /// there are accepted ones, however few: no tested angle need be among them. The ends are rejected angles, so that they
    /// are outside, and never equal.
    pub(super) fn search(
        near: impl Iterator<Item = f64>,
        verdict: impl Fn(f64) -> Verdict,
    ) -> Self {
        const STEPS: u32 = 32;
        let grid = (0..=STEPS).map(|i| PI * f64::from(i) / f64::from(STEPS));
        let grid = grid.map(|theta| theta.clamp(ENDS.0, ENDS.1));
        let near = near.filter(|theta| (ENDS.0..=ENDS.1).contains(theta));
        let mut tested: Vec<f64> = grid.chain(near).collect();
        tested.sort_by(f64::total_cmp);
        tested.dedup_by(|next, one| *next - *one < 1e-6);
        let told: Vec<_> = tested.into_iter().map(|theta| (theta, verdict(theta))).collect();
        // From a rejected angle towards one with another verdict: the last that is rejected on the same ground.
        let edge = |(mut outside, ground): (f64, Verdict), mut inside: f64| {
            for _ in 0..12 {
                let middle = 0.5 * (outside + inside);
                if verdict(middle) == ground { outside = middle } else { inside = middle }
            }
            outside
        };
        let ends = [told[0].1, told[told.len() - 1].1];
        let changes = |two: &&[(f64, Verdict)]| two[0].1 != two[1].1;
        let range = match (told.windows(2).find(changes), told.windows(2).rfind(changes)) {
            (Some(first), Some(last)) => Some((
                if ends[0] == Verdict::Accepted { 0.0 } else { edge(first[0], first[1].0) },
                if ends[1] == Verdict::Accepted { PI } else { edge(last[1], last[0].0) },
            )),
            _ => (ends[0] == Verdict::Accepted).then_some((0.0, PI)),
        };
        Self { ends, range }
    }
}

/// Angles between which all are that some norm accepts; none where every norm rejects all. An end of the half turn that norms
/// reject on different grounds is accepted by a norm between them.
pub(super) fn joined(norms: &[Accepted]) -> Option<(f64, f64)> {
    let ranges = norms.iter().filter_map(|one| one.range);
    let (low, high) = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    let differ = |end: usize| norms.iter().any(|one| one.ends[end] != norms[0].ends[end]);
    Some((if differ(0) { 0.0 } else { low }, if differ(1) { PI } else { high }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::iter::{empty, once};

    /// Accepted from `low` to `high`, too few agree below and too many above.
    fn between(low: f64, high: f64) -> impl Fn(f64) -> Verdict {
        move |theta| {
            if theta < low {
                Verdict::TooFew
            } else if theta > high {
                Verdict::TooMany
            } else {
                Verdict::Accepted
            }
        }
    }

    fn range(low: f64, high: f64) -> Option<(f64, f64)> {
        Accepted::search(empty(), between(low, high)).range
    }

    /// However narrow they are and wherever they lie, no tested angle among them: nothing is lost, and little is added.
    #[test]
    fn a_few_accepted_angles_are_found() {
        for i in 0..200 {
            let middle = 0.01 + 0.0156 * f64::from(i);
            for half in [0.3, 0.03, 1e-3, 1e-5, 0.0] {
                let (from, to) = (middle - half, middle + half);
                let (low, high) = range(from, to).expect("some angle");
                // Steps end at pi / 32 / 4096.
                let near = |found: f64, edge: f64| (found - edge).abs() < 2.5e-5;
                assert!(low < high && (low < from || low == 0.0) && (high > to || high == PI));
                assert!(near(low, from) || from < ENDS.0 && low == 0.0, "{low} {from}");
                assert!(near(high, to) || to > ENDS.1 && high == PI, "{high} {to}");
            }
        }
    }

    #[test]
    fn ends_that_are_accepted_are_ends() {
        assert_eq!(range(-1.0, 4.0), Some((0.0, PI)));
        let (low, high) = range(-1.0, 1.0).expect("some angle");
        assert!(low == 0.0 && high > 1.0 && high < 1.001, "{high}");
        let (low, high) = range(1.0, 4.0).expect("some angle");
        assert!(high == PI && low < 1.0 && low > 0.999, "{low}");
        // At the very first and the very last angle only.
        let (low, high) = range(-1.0, ENDS.0).expect("some angle");
        assert!(low == 0.0 && high > ENDS.0, "{high}");
        let (low, high) = range(ENDS.1, 4.0).expect("some angle");
        assert!(high == PI && low < ENDS.1, "{low}");
        assert_eq!(range(4.0, 5.0), None);
        assert_eq!(range(-2.0, -1.0), None);
    }

    /// Angles that are accepted among ones that are rejected on the same ground on either side are found where one is near.
    #[test]
    fn what_is_near_is_tested() {
        let verdict = |theta: f64| {
            if (0.999..=1.001).contains(&theta) { Verdict::Accepted } else { Verdict::TooMany }
        };
        assert_eq!(Accepted::search(empty(), verdict).range, None);
        for beside in [1.0, f64::NAN, f64::INFINITY, -1.0, 4.0] {
            let near = [beside, 1.0].into_iter();
            let (low, high) = Accepted::search(near, verdict).range.expect("some angle");
            assert!((0.9989..0.999).contains(&low), "{low}");
            assert!((1.001..1.0011).contains(&high) && high > 1.001, "{high}");
        }
        let all = Accepted::search(once(2.0), |_| Verdict::TooFew);
        assert_eq!((all.range, all.ends), (None, [Verdict::TooFew; 2]));
    }

    #[test]
    fn norms_are_joined() {
        let of = |low, high| Accepted::search(empty(), between(low, high));
        let (low, high) = joined(&[of(0.5, 0.6), of(0.9, 1.0)]).expect("some angle");
        assert!((0.49..0.5).contains(&low) && high > 1.0 && high < 1.01, "{low} {high}");
        // Too many agree for the first norm at every angle, too few for the second near zero.
        let (low, high) = joined(&[of(-2.0, -1.0), of(0.9, 1.0)]).expect("some angle");
        assert!(low == 0.0 && high > 1.0 && high < 1.01, "{low} {high}");
        let (low, high) = joined(&[of(0.9, 1.0), of(4.0, 5.0)]).expect("some angle");
        assert!((0.89..0.9).contains(&low) && high == PI, "{low} {high}");
        assert_eq!(joined(&[of(-2.0, -1.0), of(-2.0, -1.0)]), None);
    }

    #[test]
    fn a_tail_is_rejected_up_to_its_level() {
        for (tails, verdict) in [
            ((0.1, 0.95), Verdict::TooFew),
            ((0.11, 0.95), Verdict::Accepted),
            ((0.95, 0.11), Verdict::Accepted),
            ((0.95, 0.1), Verdict::TooMany),
        ] {
            assert_eq!(Verdict::of(tails, 0.1), verdict, "{tails:?}");
        }
    }
}
