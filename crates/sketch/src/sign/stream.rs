//! Signs of rows that come in portions.

use super::PackedBits;
use super::codes::SignRelease;
use super::mechanism::{PrivateSigns, ROWS_PER_STREAM};
use crate::error::{Error, Result};
use crate::rows::RowsView;
use dp_core::NoiseRng;

/// Rows taken together: a whole number of noise streams.
const BLOCK: usize = 64 * ROWS_PER_STREAM;

/// A release of signs on its way: memory holds the bits so far and one block of rows.
///
/// The bits are those of [`PrivateSigns::release`] on all rows at once, however the rows are cut
/// into portions. Private until it is closed; dropping it discards everything.
pub struct OpenSigns<'m, 'r> {
    mechanism: &'m PrivateSigns,
    rng: &'r mut NoiseRng,
    /// Dense rows of a block that is not full.
    waiting: Vec<f64>,
    words: Vec<u64>,
    n: usize,
}

impl PrivateSigns {
    /// Starts a release of rows that come in portions.
    #[must_use]
    pub fn open<'m, 'r>(&'m self, rng: &'r mut NoiseRng) -> OpenSigns<'m, 'r> {
        OpenSigns { mechanism: self, rng, waiting: Vec::new(), words: Vec::new(), n: 0 }
    }
}

impl OpenSigns<'_, '_> {
    /// Adds rows. Errors name rows by their place in the block they fell into.
    ///
    /// # Errors
    /// As [`PrivateSigns::release`]; afterwards the release can only be dropped, unless it was
    /// [`Error::Shape`], which takes nothing.
    pub fn push(&mut self, rows: RowsView<'_>) -> Result<()> {
        let d = self.mechanism.sketch().d();
        if rows.d() != d {
            return Err(Error::Shape { what: "d of the rows", expected: d, found: rows.d() });
        }
        for row in 0..rows.n() {
            let from = self.waiting.len();
            self.waiting.resize(from + d, 0.0);
            rows.copy_row(row, &mut self.waiting[from..]);
            if self.waiting.len() == BLOCK * d {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let d = self.mechanism.sketch().d();
        let rows = self.waiting.len() / d;
        let bits = self.mechanism.flip(RowsView::f64(rows, d, &self.waiting)?, self.rng)?;
        self.words.extend_from_slice(bits.words());
        self.n += rows;
        self.waiting.clear();
        Ok(())
    }

    /// Flips the last rows and publishes.
    ///
    /// # Errors
    /// As [`PrivateSigns::release`].
    pub fn close(mut self) -> Result<SignRelease> {
        if !self.waiting.is_empty() {
            self.flush()?;
        }
        let bits = PackedBits::new(self.n, self.mechanism.sketch().bits(), self.words)?;
        self.mechanism.certify(bits, self.rng.kind())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::Family;
    use crate::sign::{FlipRule, SignSketch};
    use dp_core::{Adjacency, Bound, Budget, PublicSeed};

    #[test]
    fn portions_give_the_bits_of_one_release() {
        let (n, d) = (2 * BLOCK + 77, 9);
        let values: Vec<f64> = (0..n * d).map(|i| ((i * 31) % 199) as f64 / 99.0 - 1.0).collect();
        let one = Bound::new(1.0).expect("positive");
        let adjacency = Adjacency::Attribute { beta: one };
        let budget = Budget::new(1.0, 0.0).expect("valid");
        for rule in [FlipRule::OptimalSmooth, FlipRule::RandomizedResponse] {
            let sketch = SignSketch::single(Family::Rademacher, d, 5, PublicSeed::new(2));
            let signs = PrivateSigns::new(sketch.expect("valid"), rule, adjacency, one, budget);
            let signs = signs.expect("calibrated");
            let rows = RowsView::f64(n, d, &values).expect("finite");
            let mut rng = NoiseRng::deterministic_not_private(4);
            let whole = signs.release(rows, &mut rng).expect("released");
            for portion in [1, 100, BLOCK, n] {
                let mut rng = NoiseRng::deterministic_not_private(4);
                let mut open = signs.open(&mut rng);
                for first in (0..n).step_by(portion) {
                    open.push(rows.slice(first..n.min(first + portion))).expect("taken");
                }
                assert_eq!(open.close().expect("released"), whole, "{portion}");
            }
            let mut rng = NoiseRng::deterministic_not_private(4);
            assert_eq!(signs.open(&mut rng).close().expect("released").payload().bits().n(), 0);
        }
    }

    #[test]
    fn rows_of_another_length_are_refused_and_take_nothing() {
        let one = Bound::new(1.0).expect("positive");
        let adjacency = Adjacency::Attribute { beta: one };
        let budget = Budget::new(1.0, 0.0).expect("valid");
        let sketch = SignSketch::single(Family::Oporp, 6, 4, PublicSeed::new(2)).expect("valid");
        let rule = FlipRule::RandomizedResponse;
        let signs = PrivateSigns::new(sketch, rule, adjacency, one, budget).expect("calibrated");
        let values = [0.5; 24];
        let rows = |d| RowsView::f64(24 / d, d, &values).expect("finite");
        let mut rng = NoiseRng::deterministic_not_private(4);
        let mut open = signs.open(&mut rng);
        for d in [1, 3, 12] {
            let error = open.push(rows(d)).expect_err("refused");
            assert!(matches!(error, Error::Shape { expected: 6, found, .. } if found == d));
        }
        open.push(rows(6)).expect("taken");
        assert_eq!(open.close().expect("released").payload().bits().n(), 4);
    }
}
