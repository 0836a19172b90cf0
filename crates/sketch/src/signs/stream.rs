//! Signs of rows that come in portions.

use super::bits::PackedBits;
use super::codes::{SignCodes, SignSketch};
use crate::error::Result;
use crate::projection::few_together;
use crate::rows::{Incoming, RowsView};
use crate::written::Health;
use core::ops::ControlFlow;
use dp_core::mechanism::Progress;
use dp_core::noise::GeneratorKind;
use dp_core::{NoiseRng, Release};
use rayon::prelude::*;

/// Rows that share a noise stream.
pub(super) const ROWS_PER_STREAM: usize = 32;

/// Rows that wait to be taken together: a whole number of noise streams.
const BLOCK: usize = 64 * ROWS_PER_STREAM;

/// Rows that are copied at once.
const STRIP: usize = 64;

/// A mechanism of signs with its projections drawn.
pub(super) trait SignSource: Sync {
    /// Features of a row that goes in.
    fn d(&self) -> usize;

    /// The projections of the rows, which may have more features.
    fn sketch(&self) -> &SignSketch;

    /// Rows that are as they were declared.
    fn check<'a>(&self, rows: Incoming<'a>) -> Result<RowsView<'a>>;

    /// The flipped bits of rows, once they are checked.
    fn flip(&self, rows: Incoming<'_>, rng: &mut NoiseRng) -> Result<PackedBits>;

    /// Binds bits to their certificate.
    fn certify(&self, bits: PackedBits, generator: GeneratorKind) -> Result<Release<SignCodes>>;
}

/// Rows flipped between two questions to the hook.
const PART: usize = 16 * BLOCK;

/// The signs of all rows at once.
pub(super) fn release_all(
    source: &dyn SignSource,
    rows: RowsView<'_>,
    rng: &mut NoiseRng,
    hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Release<SignCodes>> {
    let rows = Incoming::from(rows);
    rows.check_features(source.d())?;
    let (generator, total) = (rng.kind(), rows.n().div_ceil(PART));
    let mut words = Vec::new();
    for part in 0..total {
        Progress::new(part as u64, total as u64).ask(hook)?;
        let first = part * PART;
        let rows = rows.slice(first..rows.n().min(first + PART));
        let bits = source.flip(rows, rng).map_err(|e| e.offset_row(first))?;
        words.extend_from_slice(bits.words());
    }
    source.certify(PackedBits::new(rows.n(), source.sketch().bits(), words)?, generator)
}

/// A release of signs on its way: memory holds the bits so far and one block of rows.
///
/// The bits are those of one release of all rows, however the rows are cut
/// into portions. Private until it is closed; dropping it discards everything.
pub struct OpenSigns<'m, 'r> {
    source: Box<dyn SignSource + 'm>,
    rng: &'r mut NoiseRng,
    /// Dense rows of a block that is not full.
    waiting: Vec<f64>,
    words: Vec<u64>,
    n: usize,
    health: Health,
}

impl<'m, 'r> OpenSigns<'m, 'r> {
    pub(super) fn of(source: Box<dyn SignSource + 'm>, rng: &'r mut NoiseRng) -> Self {
        Self { source, rng, waiting: Vec::new(), words: Vec::new(), n: 0, health: Health::Good }
    }

    /// Adds rows. Errors name rows by their place in this portion.
    ///
    /// # Errors
    /// As the release of all rows at once; afterwards this can only be dropped, unless it was
    /// [`crate::Error::Shape`], which takes nothing.
    pub fn push<'a>(&mut self, rows: impl Into<Incoming<'a>>) -> Result<()> {
        let (rows, d) = (rows.into(), self.source.d());
        rows.check_features(d)?;
        self.health.begin()?;
        let few = few_together(self.source.sketch().parts());
        self.cut(rows, if few { ROWS_PER_STREAM } else { BLOCK })?;
        self.health = Health::Good;
        Ok(())
    }

    /// Takes many rows as they are, without a copy, by multiples of `step` from the start of the release on; few wait.
    fn cut(&mut self, rows: Incoming<'_>, step: usize) -> Result<()> {
        let (d, mut done) = (self.source.d(), 0);
        while done < rows.n() {
            let (left, held) = (rows.n() - done, self.waiting.len() / d);
            let (size, wait) = match held % step {
                0 if left >= BLOCK => (left / step * step, false),
                rest if left >= BLOCK => (step - rest, true),
                _ => (left.min(BLOCK - held), true),
            };
            let part = rows.slice(done..done + size);
            let taken =
                if wait { self.wait(part) } else { self.flush().and_then(|()| self.take(part)) };
            taken.map_err(|e| e.offset_row(done))?;
            done += size;
        }
        Ok(())
    }

    /// Keeps rows until their block is full.
    fn wait(&mut self, rows: Incoming<'_>) -> Result<()> {
        let (d, from) = (self.source.d(), self.waiting.len());
        self.waiting.resize(from + rows.n() * d, 0.0);
        let (source, strips) = (&self.source, self.waiting[from..].par_chunks_mut(STRIP * d));
        let copy = |(strip, out): (usize, &mut [f64])| {
            let first = strip * STRIP;
            let laid = rows.slice(first..first + out.len() / d).lay(out);
            let checked = laid.and_then(|laid| source.check(laid));
            checked.map(drop).map_err(|e| e.offset_row(first))
        };
        let done: Vec<Result<()>> = strips.enumerate().map(copy).collect();
        done.into_iter().collect::<Result<()>>()?;
        if self.waiting.len() == BLOCK * d { self.flush() } else { Ok(()) }
    }

    fn take(&mut self, rows: Incoming<'_>) -> Result<()> {
        let bits = self.source.flip(rows, self.rng)?;
        self.words.extend_from_slice(bits.words());
        self.n += rows.n();
        Ok(())
    }

    /// Takes those that wait.
    fn flush(&mut self) -> Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let d = self.source.d();
        let waiting = core::mem::take(&mut self.waiting);
        self.take(RowsView::f64(waiting.len() / d, d, &waiting)?.into())?;
        self.waiting = waiting;
        self.waiting.clear();
        Ok(())
    }

    /// Flips the last rows and publishes.
    ///
    /// # Errors
    /// As [`OpenSigns::push`].
    pub fn close(mut self) -> Result<Release<SignCodes>> {
        self.health.begin()?;
        self.flush()?;
        let bits = PackedBits::new(self.n, self.source.sketch().bits(), self.words)?;
        self.source.certify(bits, self.rng.kind())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::projection::Family;
    use crate::signs::{FlipRule, FreshConfig, FreshSigns, NormFloor, PrivateSigns, SignSketch};
    use dp_core::{Adjacency, Budget, EntryBound, FreshSeed, NormBound, PublicSeed, Shift};

    #[test]
    fn portions_give_the_bits_of_one_release() {
        let (n, d) = (3 * BLOCK + 77, 9);
        let values: Vec<f64> = (0..n * d).map(|i| ((i * 31) % 199) as f64 / 99.0 - 1.0).collect();
        let one = EntryBound::new(1.0).expect("positive");
        let adjacency = Adjacency::Attribute { beta: Shift::new(1.0).expect("positive") };
        let budget = Budget::new(1.0, 0.0).expect("valid");
        for rule in [FlipRule::OptimalSmooth, FlipRule::RandomizedResponse] {
            let sketch = SignSketch::single(Family::Rademacher, d, 5, PublicSeed::new(2));
            let signs = PrivateSigns::new(sketch.expect("valid"), rule, adjacency, one, budget);
            let signs = signs.expect("calibrated");
            let rows = RowsView::f64(n, d, &values).expect("finite");
            let mut rng = NoiseRng::deterministic_not_private(4);
            let whole = signs.release(rows, &mut rng).expect("released");
            for (portion, step) in [1, 100, BLOCK, BLOCK + 5, BLOCK + 32, n - 7, n]
                .into_iter()
                .flat_map(|portion| [(portion, ROWS_PER_STREAM), (portion, BLOCK)])
            {
                let mut rng = NoiseRng::deterministic_not_private(4);
                let mut open = signs.open(&mut rng);
                for first in (0..n).step_by(portion) {
                    let rows = rows.slice(first..n.min(first + portion));
                    open.cut(rows.into(), step).expect("taken");
                }
                assert!(open.waiting.len() < BLOCK * d);
                assert_eq!(open.close().expect("released"), whole, "{portion} {step}");
            }
            let mut rng = NoiseRng::deterministic_not_private(4);
            let mut open = signs.open(&mut rng);
            open.push(rows).expect("taken");
            assert!(open.waiting.len() < ROWS_PER_STREAM * d, "nothing but the rest is copied");
            assert_eq!(open.close().expect("released"), whole);
            let mut rng = NoiseRng::deterministic_not_private(4);
            assert_eq!(signs.open(&mut rng).close().expect("released").payload().bits().n(), 0);
        }
    }

    #[test]
    fn rows_of_another_length_are_refused_and_take_nothing() {
        let one = EntryBound::new(1.0).expect("positive");
        let adjacency = Adjacency::Attribute { beta: Shift::new(1.0).expect("positive") };
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

    #[test]
    fn portions_of_fresh_signs_give_the_bits_of_one_release() {
        let (n, d) = (BLOCK + 77, 9);
        let values: Vec<f64> = (0..n * d).map(|i| ((i * 31) % 199) as f64 / 99.0 - 1.0).collect();
        let rows = RowsView::f64(n, d, &values).expect("finite");
        let (least, lift) = (NormBound::new(1e-3), NormBound::new(2.0));
        let bound = EntryBound::new(1.0).expect("positive");
        for floor in [
            NormFloor::Promised(least.expect("positive")),
            NormFloor::Lifted(lift.expect("positive")),
        ] {
            let adjacency = Adjacency::Attribute { beta: Shift::new(0.1).expect("positive") };
            let config = FreshConfig { d, bits: 7, floor, bound, adjacency };
            let signs = FreshSigns::exact(config, Budget::new(4.0, 1e-6).expect("valid"));
            let signs = signs.expect("calibrated");
            let seed = || FreshSeed::reproducible_not_private(5);
            let mut rng = NoiseRng::deterministic_not_private(4);
            let whole = signs.release(rows, seed(), &mut rng).expect("released");
            for portion in [100, n] {
                let mut rng = NoiseRng::deterministic_not_private(4);
                let mut open = signs.open(seed(), &mut rng).expect("drawn");
                for first in (0..n).step_by(portion) {
                    open.push(rows.slice(first..n.min(first + portion))).expect("taken");
                }
                assert_eq!(open.close().expect("released"), whole, "{portion}");
            }
            let mut rng = NoiseRng::deterministic_not_private(4);
            let mut open = signs.open(seed(), &mut rng).expect("drawn");
            let narrow = RowsView::f64(1, d - 1, &values[..d - 1]).expect("finite");
            assert!(matches!(open.push(narrow), Err(Error::Shape { .. })));
        }
    }
}
