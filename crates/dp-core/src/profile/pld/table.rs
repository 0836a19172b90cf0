//! A composition as one loss distribution, for other programs.

use super::composition::Pld;
use super::envelope::from_above;
use super::upper::Upper;
use crate::budget::{Budget, Delta, Epsilon};
use crate::error::{Error, Result};
use crate::profile::LossWay;

/// Epsilons for which sums are made; between them the closer ones bound too.
const SUMS: u32 = 24;
/// Delta beyond the last cell, which counts as infinite.
const LAST: f64 = 1e-14;
/// Largest loss that has a cell of its own.
const FARTHEST: f64 = 100.0;

impl Pld {
    /// The composition as a loss distribution from above, in `2 half + 1` cells about zero: the width
    /// of a cell, and what stands in them. It serves for both ways of the change.
    ///
    /// # Errors
    /// [`Error::Calibration`] when everything may be lost at epsilon 100.
    pub(crate) fn distribution(&self, half: u32) -> Result<(f64, LossWay)> {
        let end = self.end()?;
        let h = end / f64::from(half);
        let made = |j: u32| end * f64::from(j) / f64::from(SUMS);
        let sums: Vec<Vec<Upper>> = (0..=SUMS)
            .map(|j| {
                // Zero is no epsilon.
                let at = Epsilon::new(made(j).max(1e-6 * end)).unwrap_or(Epsilon::ZERO);
                self.upper_each_way(at)
            })
            .collect();
        let worst = |ways: &[Upper], e: f64| {
            ways.iter().map(|way| way.ln_delta(e)).fold(f64::NEG_INFINITY, f64::max)
        };
        let delta = |i: u32| {
            let e = h * f64::from(i);
            let near = (f64::from(i) / f64::from(half) * f64::from(SUMS)) as usize;
            let sums = &sums[near.min(SUMS as usize - 1)..];
            sums.iter().take(2).map(|ways| worst(ways, e)).fold(0.0, f64::min).exp()
        };
        let up: Vec<f64> = (0..=half).map(delta).collect();
        let down = (1..=half).rev().map(|i| (-h * f64::from(i)).exp() * up[i as usize]);
        let values: Vec<f64> = down.chain(up.iter().copied()).collect();
        let measure = from_above(-i64::from(half), h, &values);
        // Room for rounding on the way.
        let infinite = (measure.p_infinite + 1e-15).min(1.0);
        Ok((h, LossWay { first: measure.first, masses: measure.p, infinite }))
    }

    /// An epsilon beyond which the profile hardly falls.
    fn end(&self) -> Result<f64> {
        let left = |e: f64| -> Result<f64> {
            let ways = self.upper_each_way(Epsilon::new(e)?);
            Ok(ways.iter().map(|way| way.ln_delta(e)).fold(f64::NEG_INFINITY, f64::max).exp())
        };
        let floor = left(FARTHEST)?;
        if floor >= 1.0 {
            return Err(Error::Calibration {
                family: "loss distribution",
                budget: Budget { epsilon: Epsilon::new(FARTHEST)?, delta: Delta::ZERO },
                reason: "everything may be lost at this epsilon".into(),
            });
        }
        let enough = floor * (1.0 + 1e-6) + LAST;
        let mut end = 1e-3;
        while end < FARTHEST && left(end)? > enough {
            end *= 1.3;
        }
        Ok(end.min(FARTHEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Event, PrivacyProfile, Profile};
    use crate::quantity::{L2Sensitivity, NoiseScale};

    /// Where some probability of losing all is left at every epsilon, cells end where a millionth of it and less is
    /// left of all else, long before the largest epsilon.
    #[test]
    fn cells_end_where_only_the_certain_loss_is_left() {
        let normal = Profile::Gaussian {
            sensitivity: L2Sensitivity::new(1.0).unwrap(),
            sigma: NoiseScale::new(1.0).unwrap(),
        };
        let epsilon = Epsilon::new(0.1).unwrap();
        let failing = Profile::ApproximateDp { epsilon, delta: Delta::new(1e-3).unwrap() };
        let events = [normal.clone(), failing].map(|p| Event::new(p, 1).unwrap());
        let end = Pld::new(&events).end().unwrap();
        assert!((6.0..16.0).contains(&end), "{end}");
        assert!(normal.log_delta(Epsilon::new(end).unwrap()).delta() < 2e-9);
    }
}
