//! What a row that the analyst may read says of a published row's signs.

use super::accepted::{Accepted, Verdict, joined};
use super::codes::{SignCodes, SignSketch};
use super::flip::{FlipRule, FlipTable};
use super::mechanism::{LARGEST, attribute, steps};
use super::pairs::{bisect, require_gaussian, signal};
use super::weighted::WeightedSum;
use crate::error::{Error, Result};
use crate::estimate::{Estimate, Interval, ln_tail, upper_tail};
use crate::rows::RowsView;
use core::f64::consts::PI;
use core::ops::RangeInclusive;
use dp_core::certificate::{PublicParameters, PublicValue};
use dp_core::noise::NoiseLaw;
use dp_core::{EntryBound, Probability, Release};

/// The cosine between a row the analyst may read (a public query) and a published row, by
/// maximum likelihood, and its interval.
///
/// The projected query is used whole, not only its signs: with y its coordinates in units
/// of |u|/sqrt k, bit j is one with probability `f + (1 - 2f) Phi(t y_j)`,
/// `t = rho / sqrt(1 - rho^2)`, f the flip probability. The standard error comes from the
/// Fisher information at the estimate; the interval inverts exact tests of a weighted count of the
/// bits that agree with the query, so it covers with at least the stated confidence. It beats the collision estimator,
/// most for similar rows, because a sign says more where |y| is large. For Gaussian projections; signs that a smooth rule
/// flipped have [`smooth_to_public_row`].
///
/// # Errors
/// [`Error::Incompatible`] when the sketch did not make the release, [`Error::Undefined`]
/// for another projection, smooth flips or a query of norm zero, [`Error::Index`] for a missing row,
/// or a confidence outside `(0, 1)`.
pub fn cosine_to_public_row<C>(
    sketch: &SignSketch,
    query: &[f64],
    release: &Release<SignCodes, C>,
    row: usize,
    confidence: Probability,
) -> Result<(Estimate, Interval)> {
    let votes = votes(sketch, query, release.payload(), row)?;
    let jumps = vec![signal(release.payload().noise())?];
    let tail = ln_tail(confidence)?;
    let bits = votes.into_iter().map(|vote| Bit { vote, step: 0.0, spread: 1.0 }).collect();
    let likelihood = Likelihood::new(bits, jumps);
    let theta = likelihood.refined(likelihood.coarse(1.0).0, 1.0);
    // At the ends of the range the information vanishes with the slope of the cosine.
    let inside = theta.clamp(0.1, PI - 0.1);
    let [information, ..] = likelihood.information(inside, 1.0);
    let estimate =
        Estimate { value: theta.cos(), standard_error: inside.sin() / information.sqrt() };
    let (low, high) = likelihood.not_rejected(tail);
    Ok((estimate, Interval { low: high.cos(), high: low.cos() }))
}

/// What [`smooth_to_public_row`] finds.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SmoothCosine {
    /// The cosine; its error is at most half the width of the interval.
    pub cosine: Estimate,
    /// The cosines between the least and the largest that, with some norm of the range, are not rejected. Where every norm rejects
    /// every cosine it is all of them, and both errors are half the width of what is possible.
    pub interval: Interval,
    /// The norm of the published row; its error is at most half the width of the range.
    pub norm: Estimate,
}

/// The cosine between a row the analyst may read and a published row whose signs were flipped by a smooth rule, and the norm of
/// the latter, by maximum likelihood.
///
/// `norms` is what is known beforehand of the norm of the published row: `1.0..=1.0` for unit vectors, `0.0..=bound * sqrt(d)`
/// where nothing is. The interval is that of exact tests of a weighted count of agreeing bits, for every norm of a grid of that range;
/// where they reject every angle at every norm it is `[-1, 1]`.
///
/// A model stands behind both: given the steps of the levels, which follow from the largest entry of every column of the projection,
/// projected row and query are normal. Their mean and covariance are exact for every row; their law is not, and differs most where one
/// attribute outweighs all others and d is small (`docs/proofs/sign-flips.md`, section 7; below 16 attributes nothing is stated).
/// More bits narrow the interval, not that difference: of thousands of bits and few attributes intervals cover less than is stated.
///
/// # Errors
/// As [`cosine_to_public_row`], and [`Error::Undefined`] for flips that are not smooth, for d below 16, and for a release that does not state the
/// bound of its entries (older ones do not); norms that are no range of finite numbers above zero.
pub fn smooth_to_public_row(
    sketch: &SignSketch,
    query: &[f64],
    release: &Release<SignCodes>,
    row: usize,
    norms: RangeInclusive<f64>,
    confidence: Probability,
) -> Result<SmoothCosine> {
    let (low, high) = (*norms.start(), *norms.end());
    if !(0.0 <= low && low <= high && high > 0.0 && high < f64::INFINITY) {
        let found = format!("{low:?} to {high:?}");
        return Err(Error::invalid("norms", found, "0 <= low <= high, high finite and above 0"));
    }
    let tail = ln_tail(confidence)?;
    Ok(smooth_likelihood(sketch, query, release, row)?.smooth((low, high), tail))
}

/// The likelihood of angle and norm of a row of smooth flips.
fn smooth_likelihood(
    sketch: &SignSketch,
    query: &[f64],
    release: &Release<SignCodes>,
    row: usize,
) -> Result<Likelihood> {
    let votes = votes(sketch, query, release.payload(), row)?;
    let NoiseLaw::SmoothBitFlip { epsilon, rule } = release.payload().noise() else {
        return Err(undefined("the flips are not smooth; cosine_to_public_row reads others"));
    };
    if sketch.d() < 16 {
        return Err(undefined("its law is known for 16 attributes and more"));
    }
    let certificate = release.certificate();
    let bound = stated_bound(&certificate.statement().public)?;
    let beta = attribute(certificate.guarantee().adjacency().each())?;
    let table = FlipTable::for_epsilon(rule.parse::<FlipRule>()?, *epsilon)?;
    let flip = |level| table.flip(level).get();
    let later = (1..table.highest_level()).map(|level| 2.0 * (flip(level) - flip(level + 1)));
    let jumps = core::iter::once(1.0 - 2.0 * flip(1)).chain(later).collect();

    let largest = sketch.largest_entries();
    let steps = steps(&sketch.largest_changes(beta, bound))?;
    let mut units = sketch.parts().iter().flat_map(|part| {
        let k = part.spec().k();
        core::iter::repeat_n((k as f64).sqrt(), k)
    });
    let bits = votes.into_iter().zip(steps).zip(largest).map(|((vote, step), largest)| {
        let unit = units.next().unwrap_or(1.0);
        Bit { vote, step: unit * step.get(), spread: spread(unit * largest, sketch.d()) }
    });
    Ok(Likelihood::new(bits.collect(), jumps))
}

/// The bound of entries that a release states.
fn stated_bound(public: &PublicParameters) -> Result<EntryBound> {
    match public.get(LARGEST) {
        Some(&PublicValue::Real(bound)) => Ok(EntryBound::new(bound)?),
        _ => Err(undefined("the release does not state the bound of its entries; release again")),
    }
}

fn undefined(reason: &'static str) -> Error {
    Error::Undefined { what: "a cosine from smooth flips", reason }
}

/// The coordinates of the projected query in units of |query| / sqrt k, signed so that a positive one votes for a positive cosine.
fn votes(sketch: &SignSketch, query: &[f64], codes: &SignCodes, row: usize) -> Result<Vec<f64>> {
    if sketch.specs() != codes.projections() {
        return Err(Error::Incompatible {
            what: "projections of the sketch and of the release",
            left: format!("{} bits", sketch.bits()),
            right: format!("{} bits", codes.bits().bits()),
        });
    }
    require_gaussian(codes.projections())?;
    if row >= codes.bits().n() {
        return Err(Error::Index { what: "row", index: row, len: codes.bits().n() });
    }
    let norm = query.iter().map(|x| x * x).sum::<f64>().sqrt();
    if norm == 0.0 {
        return Err(Error::Undefined { what: "a cosine", reason: "the query has norm zero" });
    }
    let mut votes = Vec::with_capacity(sketch.bits());
    sketch.for_each_block(RowsView::f64(1, query.len(), query)?, |_, y| {
        votes.extend_from_slice(y);
        Ok(())
    })?;
    let mut column = 0;
    for part in sketch.parts() {
        let unit = (part.spec().k() as f64).sqrt() / norm;
        for _ in 0..part.spec().k() {
            let sign = if codes.bits().get(row, column) { 1.0 } else { -1.0 };
            votes[column] *= unit * sign;
            column += 1;
        }
    }
    Ok(votes)
}

/// Standard deviation of an entry of a column of d normal ones of which the largest is `largest`, over which of them that is and
/// over the others, `sqrt((m^2 + (d - 1) v(m))/d)`: v the variance of a normal variable cut to [-m, m]. Signs are free, so entries are
/// uncorrelated, and this is that of the projection of any unit vector.
fn spread(largest: f64, d: usize) -> f64 {
    let (m, d) = (largest, d as f64);
    let density = (-0.5 * m * m).exp() / (2.0 * PI).sqrt();
    let cut = 1.0 - 2.0 * m * density / (1.0 - 2.0 * upper_tail(m));
    ((m * m + (d - 1.0) * cut) / d).sqrt()
}

/// One published bit beside the query.
struct Bit {
    /// The query's coordinate, negative where the bit differs from its sign.
    vote: f64,
    /// Width of a level.
    step: f64,
    /// Standard deviation of the projection of a unit vector.
    spread: f64,
}

/// Angles tried before the best is refined.
const GRID: u32 = 64;

/// The likelihood of an angle and a norm R: the published row's coordinate is `R (cos v + sin z)`, v the query's and z normal, and its
/// sign is published with `E[s|x]` = a sum of jumps c_L at the multiples L of the step on either side of zero.
struct Likelihood {
    bits: Vec<Bit>,
    jumps: Vec<f64>,
    /// Sums of all jumps from one on.
    later: Vec<f64>,
}

impl Likelihood {
    fn new(bits: Vec<Bit>, jumps: Vec<f64>) -> Self {
        let mut later = jumps.clone();
        for i in (1..later.len()).rev() {
            later[i - 1] += later[i];
        }
        Self { bits, jumps, later }
    }

    /// Probability that this bit is what the query's coordinate `vote` votes for: `(1 - c)/2 + sum of c_L/2 (Phi((m - L b)/r) +
    /// Phi((m + L b)/r))`, c the sum of all jumps, m and r mean and deviation of the coordinate.
    fn probability(&self, bit: &Bit, vote: f64, theta: f64, norm: f64) -> f64 {
        let (mean, deviation) = (norm * theta.cos() * vote, norm * theta.sin() * bit.spread);
        let below = |x: f64| upper_tail((x - mean) / deviation);
        let mut sum = 0.0;
        for (level, &jump) in self.jumps.iter().enumerate() {
            let at = level as f64 * bit.step;
            if at > mean.abs() + 8.0 * deviation {
                // Beyond all values, but for 1e-15 of them: one of the two is 1, the other 0.
                sum += 0.5 * self.later[level];
                break;
            }
            // At zero both are one number.
            let both = if level == 0 { 2.0 * below(0.0) } else { below(at) + below(-at) };
            sum += 0.5 * jump * both;
        }
        0.5 * (1.0 - self.later[0]) + sum
    }

    fn log(&self, theta: f64, norm: f64) -> f64 {
        let p = |bit| self.probability(bit, bit.vote, theta, norm);
        self.bits.iter().map(|bit| p(bit).max(f64::MIN_POSITIVE).ln()).sum()
    }

    /// The most likely angle of a grid, with its logarithm.
    fn coarse(&self, norm: f64) -> (f64, f64) {
        let angles = (0..GRID).map(|i| (f64::from(i) + 0.5) * PI / f64::from(GRID));
        let scored = angles.map(|theta| (theta, self.log(theta, norm)));
        scored.max_by(|a, b| a.1.total_cmp(&b.1)).expect("a grid")
    }

    /// The most likely angle near one of the grid.
    fn refined(&self, theta: f64, norm: f64) -> f64 {
        let step = PI / f64::from(GRID);
        let (low, high) = ((theta - step).max(1e-6), (theta + step).min(PI - 1e-6));
        golden(low, high, |theta| self.log(theta, norm))
    }

    /// Estimates and interval where norms are in a range.
    fn smooth(&self, (low, high): (f64, f64), ln_tail: f64) -> SmoothCosine {
        let norms = self.norms(low, high);
        let likeliest = |&norm: &f64| {
            let (theta, log) = self.coarse(norm);
            (norm, self.refined(theta, norm), log)
        };
        let tried: Vec<_> = norms.iter().map(likeliest).collect();
        let best = tried.iter().max_by(|a, b| a.2.total_cmp(&b.2)).expect("a norm");
        let (mut norm, mut theta, _) = *best;
        let near = [norm / RATIO, norm * RATIO].map(|x| x.clamp(norms[0], high).ln());
        for _ in 0..if norms.len() == 1 { 0 } else { 4 } {
            norm = golden(near[0], near[1], |x| self.log(theta, x.exp())).exp();
            theta = self.refined(theta, norm);
        }
        let inside = theta.clamp(0.1, PI - 0.1);
        let [angle, both, scale] = self.information(inside, norm);
        // The inverse of the information of angle and logarithm of the norm; the angle's alone where the signs say nothing of the norm
        // beyond the rounding of probabilities.
        let determinant = angle * scale - both * both;
        let known = norms.len() == 1 || scale <= 1e-12 || determinant <= 1e-9 * angle * scale;
        let variance = if known { angle.recip() } else { scale / determinant };
        let accepted = tried.iter().map(|one| self.accepted(one.0, one.1, ln_tail));
        let ends = joined(&accepted.collect::<Vec<_>>());
        // Where all is rejected, the model, the range of norms or an unlikely draw is to blame: nothing is excluded.
        let (first, last) = ends.unwrap_or((0.0, PI));
        let interval = Interval { low: last.cos(), high: first.cos() };
        // Information is a curvature: where that is flat, half of what is not rejected says more.
        let capped = |value, error: f64, range: Interval| {
            let most = 0.5 * (range.high - range.low);
            let told = ends.is_some() && error < most;
            Estimate { value, standard_error: if told { error } else { most } }
        };
        SmoothCosine {
            cosine: capped(theta.cos(), inside.sin() * variance.sqrt(), interval),
            interval,
            norm: capped(norm, norm * (angle / determinant).sqrt(), Interval { low, high }),
        }
    }

    /// Norms from low to high, by a ratio; below an eighth of the least step all are alike.
    fn norms(&self, low: f64, high: f64) -> Vec<f64> {
        let least = self.bits.iter().map(|bit| bit.step).fold(f64::INFINITY, f64::min) / 8.0;
        let low = low.max(least).min(high);
        let count = ((high / low).ln() / RATIO.ln()).ceil() as i32;
        let at = |i: i32| low * (high / low).powf(f64::from(i) / f64::from(count.max(1)));
        if low == high { vec![high] } else { (0..=count).map(at).collect() }
    }

    /// The weight of every bit, with the probability that it agrees.
    fn terms(&self, theta: f64, norm: f64) -> Vec<(usize, f64)> {
        let p = |bit: &Bit| self.probability(bit, bit.vote.abs(), theta, norm);
        self.bits.iter().map(|bit| (weight(bit.vote), p(bit))).collect()
    }

    /// The weighted count of the bits that agree.
    fn seen(&self) -> usize {
        let agreed = self.bits.iter().filter(|bit| bit.vote > 0.0);
        agreed.map(|bit| weight(bit.vote)).sum()
    }

    /// Probabilities of a weighted count of agreeing bits of at most, and of at least, the one seen.
    fn tails(&self, theta: f64, norm: f64) -> (f64, f64) {
        WeightedSum::of(&self.terms(theta, norm)).tails(self.seen())
    }

    /// The angles that two exact one-sided tests do not reject, where every bit agrees less often the larger the angle.
    fn not_rejected(&self, ln_tail: f64) -> (f64, f64) {
        let tail = ln_tail.exp();
        let low = bisect(|x| self.tails(PI * x, 1.0).0 > tail).0;
        let high = bisect(|x| self.tails(PI * x, 1.0).1 <= tail).1;
        (PI * low, PI * high)
    }

    /// What the tests say of an angle at a norm.
    fn verdict(&self, theta: f64, norm: f64, ln_tail: f64) -> Verdict {
        let (terms, seen) = (self.terms(theta, norm), self.seen());
        let expected: f64 = terms.iter().map(|&(weight, p)| weight as f64 * p).sum();
        let squares: usize = terms.iter().map(|&(weight, _)| weight * weight).sum();
        let over = seen as f64 - expected;
        // Hoeffding's bound on the tail: where it rejects, the law need not be known.
        if 2.0 * over * over >= -ln_tail * squares as f64 {
            return if over < 0.0 { Verdict::TooFew } else { Verdict::TooMany };
        }
        Verdict::of(WeightedSum::of(&terms).tails(seen), ln_tail.exp())
    }

    /// The angles that the tests accept at a norm. About the likeliest one they are sought in steps of a third of a standard error, or
    /// so, and farther than a normal count would be accepted.
    fn accepted(&self, norm: f64, likeliest: f64, ln_tail: f64) -> Accepted {
        const EACH_SIDE: i32 = 12;
        let [information, ..] = self.information(likeliest.clamp(1e-3, PI - 1e-3), norm);
        let reach = (1.0 + (-2.0 * ln_tail).sqrt()) / information.max(f64::MIN_POSITIVE).sqrt();
        let near = |i: i32| likeliest + reach * f64::from(i) / f64::from(EACH_SIDE);
        let verdict = |theta| self.verdict(theta, norm, ln_tail);
        Accepted::search((-EACH_SIDE..=EACH_SIDE).map(near), verdict)
    }

    /// Fisher information of the angle, of both, and of the logarithm of the norm.
    fn information(&self, theta: f64, norm: f64) -> [f64; 3] {
        const STEP: f64 = 1e-4;
        let mut sums = [0.0; 3];
        for bit in &self.bits {
            let of = |t: f64, n: f64| self.probability(bit, bit.vote, t, n);
            let p = of(theta, norm);
            let angle = (of(theta + STEP, norm) - of(theta - STEP, norm)) / (2.0 * STEP);
            let (up, down) = (norm * (1.0 + STEP), norm * (1.0 - STEP));
            let scale = (of(theta, up) - of(theta, down)) / (2.0 * STEP);
            let variance = (p * (1.0 - p)).max(1e-300);
            for (sum, x) in sums.iter_mut().zip([angle * angle, angle * scale, scale * scale]) {
                *sum += x / variance;
            }
        }
        sums
    }
}

/// Weights are whole, one to four, and grow with |vote|, so that the law of a weighted count is a convolution.
fn weight(vote: f64) -> usize {
    1 + (2.0 * vote.abs()).min(3.0) as usize
}

/// Neighbouring norms of the grid.
const RATIO: f64 = 1.189_207_115_002_721;

/// Where a function with one peak between two points is largest, by golden sections.
fn golden(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    for _ in 0..30 {
        let (a, b) = (high - golden * (high - low), low + golden * (high - low));
        if f(a) > f(b) { high = b } else { low = a }
    }
    0.5 * (low + high)
}

#[cfg(test)]
#[path = "likelihood_tests.rs"]
mod likelihood_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::Family;
    use crate::signs::PrivateSigns;
    use dp_core::{Adjacency, Budget, NoiseRng, PublicSeed, Shift};

    /// The share of agreeing bits over 2^16 columns, beside what the model says of these very steps and queries: for rows of one
    /// attribute, where a projected value is least like a normal one, and for even rows.
    #[test]
    fn the_model_predicts_agreement() {
        let bits = 1 << 16;
        for (d, within) in [(16, 0.05), (64, 0.02)] {
            for spread_out in [false, true] {
                for (bit, length) in [(0.05, 8.0), (0.5, 2.0), (0.5, 8.0)] {
                    let sketch = SignSketch::repeated(
                        Family::Gaussian,
                        d,
                        bits,
                        bits / d,
                        PublicSeed::new(5),
                    );
                    let sketch = sketch.expect("valid");
                    let budget = Budget::new(bit * bits as f64, 0.0).expect("valid");
                    let beta = Shift::new(1.0).expect("positive");
                    let (adjacency, bound) = (Adjacency::Attribute { beta }, 16.0);
                    let entries = EntryBound::new(bound).expect("positive");
                    let rule = FlipRule::OptimalSmooth;
                    let signs = PrivateSigns::new(sketch, rule, adjacency, entries, budget);
                    let signs = signs.expect("valid");
                    let unit = if spread_out { length / (d as f64).sqrt() } else { length };
                    let row: Vec<f64> =
                        (0..d).map(|i| if spread_out || i == 0 { unit } else { 0.0 }).collect();
                    // At a right angle to the row, so that the query is at 60 degrees.
                    let across = |i: usize| match (spread_out, i % 2) {
                        (true, 0) => unit,
                        (true, _) => -unit,
                        (false, _) if i == 1 => unit,
                        _ => 0.0,
                    };
                    let query: Vec<f64> =
                        (0..d).map(|i| 0.5 * row[i] + 0.75f64.sqrt() * across(i)).collect();
                    let view = RowsView::f64(1, d, &row).expect("finite");
                    let mut rng = NoiseRng::deterministic_not_private(3);
                    let release = signs.release(view, &mut rng).expect("valid");
                    let likelihood = smooth_likelihood(signs.sketch(), &query, &release, 0);
                    let likelihood = likelihood.expect("valid");
                    let theta = 1.0f64.atan2(0.0) * 2.0 / 3.0;
                    let of = |bit: &Bit| {
                        likelihood.probability(bit, bit.vote.abs(), theta, length) - 0.5
                    };
                    let expected = likelihood.bits.iter().map(of).sum::<f64>() / bits as f64;
                    let seen = likelihood.bits.iter().filter(|bit| bit.vote > 0.0).count();
                    let seen = seen as f64 / bits as f64 - 0.5;
                    // Four standard errors of the count, besides.
                    let error = 2.0 / (bits as f64).sqrt();
                    let what = format!("{d} {spread_out} {bit} {length}: {seen} {expected}");
                    assert!((seen - expected).abs() <= within * expected + error, "{what}");
                }
            }
        }
    }

    /// What a file says is not believed: older ones say nothing, and others may say anything.
    #[test]
    fn a_stated_bound_is_a_bound() {
        let of = |value: PublicValue| stated_bound(&[(LARGEST.to_owned(), value)].into());
        assert_eq!(of(2.5.into()).expect("a bound").get(), 2.5);
        for bad in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(of(bad.into()).is_err(), "{bad}");
        }
        let none = stated_bound(&PublicParameters::new());
        for silent in [none, of("2.5".into()), of(2u64.into())] {
            let error = silent.expect_err("no bound").to_string();
            assert!(error.contains("release again"), "{error}");
        }
    }

    #[test]
    fn of_one_jump_it_is_the_plain_response() {
        let bit = |step| Bit { vote: 0.7, step, spread: 1.0 };
        let plain = Likelihood::new(vec![bit(0.0)], vec![0.6]);
        for theta in [0.1, 1.0, 2.5f64] {
            let exact = 0.2 + 0.6 * (1.0 - upper_tail(0.7 / theta.tan()));
            let found = plain.probability(&plain.bits[0], 0.7, theta, 1.0);
            assert!((found - exact).abs() < 1e-15, "{theta}");
            // Jumps beyond all values change nothing but the share that is left to chance.
            let far = Likelihood::new(vec![bit(50.0)], vec![0.6, 0.3]);
            let found = far.probability(&far.bits[0], 0.7, theta, 1.0);
            assert!((found - exact).abs() < 1e-15, "{theta}");
            // The sum of both sides is one.
            let other = plain.probability(&plain.bits[0], -0.7, theta, 1.0);
            assert!((found + other - 1.0).abs() < 1e-15);
        }
    }
}
