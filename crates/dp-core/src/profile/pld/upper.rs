//! Upper ends alone, quickly, also for laws with heavy tails.
//!
//! Soundness: `docs/proofs/composition-pld.md`, section 5.

use super::composition::{Plan, Pld, Width, least_step, padding};
use super::convolve::{Cumulant, TiltedSum};
use super::cut::Cut;
use super::discretise::Measure;
use super::parts::{Parts, Source, ceiling};
use crate::budget::Epsilon;
use crate::numeric::root::{Middle, bisect};
use std::sync::OnceLock;

/// Largest tilt: near the largest loss the saddle point runs away while delta vanishes.
const STEEPEST: f64 = 1e3;
/// Losses this far above epsilon count as infinite: that costs `e^-16` of their mass.
const FAR: f64 = 16.0;
/// Losses whose mass is `e^-35` of Chernoff's bound on delta count as infinite: that bound is seldom
/// above `e^14` times delta.
const RARE: f64 = 35.0;
/// Mass left out on either side of the bulk.
const NEAR: f64 = 1e-9;
/// Most cells, each node of a mixture counting as one.
const CELLS: f64 = 262_144.0;
/// Beyond this width coarse copies are coarser.
const COARSE: f64 = 1e-3;
/// Most steps of a window: a certificate of a composition is read in half of 64 MiB.
const WINDOW: usize = 1 << 19;

/// Upper bounds on one direction's profile.
pub(crate) enum Upper {
    /// No loss exceeds this.
    Bounded(f64),
    /// A composed law.
    Sum(UpperSum),
}

/// A composed law, and what its grid points may be off by.
pub(crate) struct UpperSum {
    sum: TiltedSum,
    pad: f64,
}

impl Upper {
    /// ln delta at epsilon, from above; closest near the epsilon it was made for.
    pub(crate) fn ln_delta(&self, epsilon: f64) -> f64 {
        match self {
            Self::Bounded(most) if epsilon >= *most => f64::NEG_INFINITY,
            Self::Bounded(_) => 0.0,
            Self::Sum(UpperSum { sum, pad }) => sum.ln_delta_above((epsilon - pad).max(0.0)),
        }
    }
}

impl Pld {
    /// Upper bounds on the profile near `epsilon`, one for each direction (one in all when both
    /// are the same).
    pub(crate) fn upper_each_way(&self, epsilon: Epsilon) -> Vec<Upper> {
        let way = |(parts, bulk): (&Parts, &OnceLock<Cumulant>)| {
            upper_way(parts, epsilon.get(), self.width, bulk)
        };
        self.directions().iter().zip(&*self.bulks).map(way).collect()
    }

    /// The same for one direction: the change as named by the profile, or undone.
    pub(crate) fn upper_one_way(&self, way: Way, epsilon: f64) -> Upper {
        let directions = self.directions();
        let at = way.of(directions.len());
        upper_way(&directions[at], epsilon, self.width, &self.bulks[at])
    }

    /// About the epsilon at which ln delta is this, in a direction: from coarse copies, for a first guess.
    pub(crate) fn about(&self, way: Way, ln_delta: f64) -> f64 {
        let directions = self.directions();
        let parts = &directions[way.of(directions.len())];
        let (coarse, t) = guess(parts, self.width, ln_delta, |_| STEEPEST);
        coarse.mean(t)
    }

    /// The same, and upper bounds near it that are chosen from the same copies: quicker than
    /// [`Self::upper_one_way`] and wider.
    pub(crate) fn upper_about(&self, way: Way, ln_delta: f64) -> (f64, Upper) {
        let directions = self.directions();
        let at = way.of(directions.len());
        let parts = &directions[at];
        // Of small losses the saddle point is farther out.
        let far = |deviation: f64| STEEPEST / deviation.clamp(1e-9, 1.0);
        let (coarse, t) = guess(parts, self.width, ln_delta, far);
        let e = coarse.mean(t);
        let near = || coarse.without(NEAR).cumulant(0.0);
        let bulk = *self.bulks[at].get_or_init(near);
        let upper = match ceiling(parts) {
            Some(most) if e >= most => Upper::Bounded(most),
            _ => {
                let runs = runs(parts);
                let high = ((ln_delta - RARE).exp() / runs).max(1e-300);
                let cut = Cut { low: 1e-14 / runs, high, most: e + FAR + back(bulk) };
                summed(parts, e, self.width, bulk, (t.min(STEEPEST), cut))
            }
        };
        (e, upper)
    }
}

fn runs(parts: &Parts) -> f64 {
    parts.iter().map(|(_, n)| *n as f64).sum()
}

/// Coarse copies, and the tilt that brings ln delta about there: at most what `steepest` says of the sum's standard
/// deviation.
fn guess(
    parts: &Parts,
    width: Width,
    ln_delta: f64,
    steepest: impl Fn(f64) -> f64,
) -> (Coarse, f64) {
    let high = (ln_delta - 12.0).exp().max(1e-300) / runs(parts);
    let coarse = Coarse::new(parts, Cut { low: 1e-12, high, most: f64::INFINITY }, width);
    // The saddle point: delta is about e^(K - t K') / ((1 + t) (1 + t sqrt(2 pi K''))).
    let beyond = |t: f64| {
        let c = coarse.cumulant(t);
        let spread = 1.0 + t * (core::f64::consts::TAU * c.variance).sqrt();
        c.value - t * c.mean - (t.ln_1p() + spread.ln()) < ln_delta
    };
    let most = steepest(coarse.cumulant(0.0).variance.sqrt());
    let (_, t) = bisect((1e-3, most), Middle::Geometric, (24, 0.0), beyond);
    (coarse, t)
}

/// A direction of a change.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    Forwards,
    Backwards,
}

impl Way {
    /// Its place among as many directions.
    fn of(self, directions: usize) -> usize {
        match self {
            Self::Forwards => 0,
            Self::Backwards => directions - 1,
        }
    }
}

fn upper_way(parts: &Parts, e: f64, width: Width, bulk: &OnceLock<Cumulant>) -> Upper {
    match ceiling(parts) {
        Some(most) if e >= most => Upper::Bounded(most),
        _ => upper(parts, e, width, bulk),
    }
}

fn upper(parts: &Parts, e: f64, width: Width, bulk: &OnceLock<Cumulant>) -> Upper {
    let runs = runs(parts);
    // Moments of the bulk: where the sum lies without its far tail.
    let near = Cut { low: NEAR, high: NEAR, most: f64::INFINITY };
    let bulk = *bulk.get_or_init(|| Coarse::new(parts, near, width).cumulant(0.0));
    let whole = Cut { low: 1e-14 / runs, high: 1e-300, most: e + FAR + back(bulk) };
    let coarse = Coarse::new(parts, whole, width);
    let t = coarse.tilt(e);
    // Losses as rare as this change nothing in delta, which is about what Chernoff says, and count
    // as infinite too: a heavy tail would want a window of its own.
    let rare = (coarse.cumulant(t).value - t * e - RARE).min(0.0).exp() / runs;
    let cut = Cut { high: rare.max(whole.high), ..whole };
    let t = match width.get() > COARSE {
        // Where the copies are coarse anyway, the same ones without what is rare.
        true => coarse.without(rare).tilt(e),
        false => Coarse::new(parts, cut, width).tilt(e),
    };
    summed(parts, e, width, bulk, (t, cut))
}

/// What the other runs may take back from one large loss.
fn back(bulk: Cumulant) -> f64 {
    8.0 * bulk.variance.sqrt() + (-bulk.mean).max(0.0)
}

fn summed(parts: &Parts, e: f64, width: Width, bulk: Cumulant, (t, cut): (f64, Cut)) -> Upper {
    // The slope of ln delta: the tilt, or what a Gaussian of these moments would have.
    let slope = ((e - bulk.mean) / bulk.variance.max(1e-300)).clamp(t, STEEPEST);
    let extent = parts.iter().map(|(s, _)| s.extent(cut)).fold(0.0, f64::max);
    let h = (1.6 * (width.get() * e.max(0.01) / (slope * runs(parts))).sqrt())
        .min(extent / 64.0)
        .max(least_step(parts, cut, CELLS));
    let list: Vec<(Measure, u64)> = parts.iter().map(|(s, n)| (s.above(h, cut), *n)).collect();
    let list: Vec<(&Measure, u64)> = list.iter().map(|(m, n)| (m, *n)).collect();
    let plan = Plan { h, t, cut };
    Upper::Sum(UpperSum { sum: TiltedSum::new(&list, h, t, WINDOW), pad: padding(parts, plan) })
}

/// Coarse copies of the laws: step, runs.
struct Coarse(Vec<(Measure, f64, f64)>);

impl Coarse {
    fn new(parts: &Parts, cut: Cut, width: Width) -> Self {
        let pieces = if width.get() > COARSE { 64.0 } else { 512.0 };
        let copy = |(source, n): &(Source, u64)| {
            let h = source.coarse_step(cut, pieces);
            (source.above(h, cut), h, *n as f64)
        };
        Self(parts.iter().map(copy).collect())
    }

    /// Without the losses that are rarer than this.
    fn without(&self, rare: f64) -> Self {
        let mut list = self.0.clone();
        for (measure, _, _) in &mut list {
            let mut above = 0.0;
            while let Some(&p) = measure.p.last().filter(|p| above + **p <= rare) {
                above += p;
                measure.p.pop();
            }
        }
        Self(list)
    }

    /// The mean at tilt `t`.
    fn mean(&self, t: f64) -> f64 {
        self.cumulant(t).mean.max(1e-12)
    }

    /// The tilt that brings the mean to `e`.
    fn tilt(&self, e: f64) -> f64 {
        let beyond = |t: f64| self.cumulant(t).mean > e;
        bisect((1e-3, STEEPEST), Middle::Geometric, (24, 0.0), beyond).1
    }

    /// Cumulant of the sum at tilt `t`.
    fn cumulant(&self, t: f64) -> Cumulant {
        self.0.iter().fold(Cumulant::default(), |sum, (measure, h, n)| {
            let c = measure.cumulant(*h, t);
            Cumulant {
                value: sum.value + n * c.value,
                mean: sum.mean + n * c.mean,
                variance: sum.variance + n * c.variance,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Event, Profile, gaussian};
    use crate::quantity::{L2Sensitivity, NoiseScale};

    /// Eight deviations of the bulk, and its mean where that is negative.
    #[test]
    fn the_bulk_takes_back_eight_deviations() {
        let back = |mean, variance| back(Cumulant { value: 0.0, mean, variance });
        assert_eq!((back(3.0, 4.0), back(-5.0, 4.0), back(0.0, 0.0)), (16.0, 21.0, 0.0));
    }

    /// The losses that count as infinite are about `e^-16` of their mass, or `e^-21` of delta: one Gaussian's bound is close to
    /// it, far out as well.
    #[test]
    fn what_counts_as_infinite_hardly_shows() {
        for (mu, e) in [(0.1, 0.5), (1.0, 5.0), (1.0, 20.0), (5.0, 40.0)] {
            let profile = Profile::Gaussian {
                sensitivity: L2Sensitivity::new(mu).unwrap(),
                sigma: NoiseScale::new(1.0).unwrap(),
            };
            let pld = Pld::new([&Event::new(profile, 1).unwrap()]);
            let ways = pld.upper_each_way(Epsilon::new(e).unwrap());
            let above = ways[0].ln_delta(e) - gaussian::ln_delta(mu, e).0;
            assert!(ways.len() == 1 && (-1e-9..5e-3).contains(&above), "{mu} {e}: {above:e}");
        }
    }
}
