//! Similarities from noisy symbols.

use super::bins::BinLaw;
use super::estimate::CollisionLaw;
use super::symbols::{Coding, PrivateSymbols};
use crate::error::Result;
use crate::estimate::{Estimate, Interval};
use dp_core::Probability;

impl PrivateSymbols {
    /// Estimated Jaccard similarity of two sets: [`BinLaw::jaccard`] or [`CollisionLaw::jaccard`]. A set
    /// has similarity one with itself.
    ///
    /// # Errors
    /// As [`PrivateSymbols::row`].
    pub fn jaccard(&self, i: usize, j: usize) -> Result<Estimate> {
        if i == j {
            self.row(i)?;
            return Ok(Estimate { value: 1.0, standard_error: 0.0 });
        }
        Ok(match self.coding() {
            Coding::Bins => BinLaw::of(self)?.jaccard(BinLaw::observe(self, i, j)?),
            Coding::Hashed { concatenation } => {
                self.collisions(concatenation)?.jaccard(self.agreeing(i, j)?)
            }
        })
    }

    /// Confidence interval of the Jaccard similarity, in `[0, 1]`: [`BinLaw::interval`] or [`CollisionLaw::interval`].
    ///
    /// # Errors
    /// As [`PrivateSymbols::row`].
    pub fn jaccard_interval(&self, i: usize, j: usize, level: Probability) -> Result<Interval> {
        if i == j {
            self.row(i)?;
            return Ok(Interval { low: 1.0, high: 1.0 });
        }
        Ok(match self.coding() {
            Coding::Bins => BinLaw::of(self)?.interval(BinLaw::observe(self, i, j)?, level),
            Coding::Hashed { concatenation } => {
                self.collisions(concatenation)?.interval(self.agreeing(i, j)?, level)
            }
        })
    }

    fn collisions(&self, concatenation: usize) -> Result<CollisionLaw> {
        CollisionLaw::new(self.scheme().slots, concatenation, self.alphabet(), self.keep())
    }
}
