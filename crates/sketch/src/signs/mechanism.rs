//! Private signs: project, take signs, flip.

use super::bits::PackedBits;
use super::codes::{BLOCK, SignCodes, SignSketch, pack_signs};
use super::flip::{FlipRule, FlipTable};
use super::level::{LevelStep, LevelSteps};
use super::pairs::predict_share;
use super::stream::{OpenSigns, ROWS_PER_STREAM, SignSource, release_all};
use crate::author::AUTHOR;
use crate::error::{Error, Result};
use crate::projection::{Rooms, few_together, project_checked};
use crate::rows::{Incoming, RowsView, block_rows};
use core::ops::ControlFlow;
use dp_core::mechanism::{Mechanism, Prediction, Progress, author};
use dp_core::noise::{
    Bernoulli, BernoulliTable, GeneratorKind, NoiseLaw, NoiseStream, NoiseStreams,
};
use dp_core::{
    Adjacency, Budget, EntryBound, Guarantee, NoiseRng, Profile, Release, Shift, Theorem, calibrate,
};
use rand_core::Rng;
use rayon::prelude::*;

/// Signs of a known public projection, each flipped with a probability that depends on the
/// rule (Li & Li 2023, algorithms 6 to 8, and our optimal rule). Which system of the paper
/// this is depends on the projection: a dense one gives DP-SignRP-RR and -smooth, OPORP
/// gives DP-SignOPORP-RR and -smooth, repeated or not.
///
/// # Privacy
/// `Attribute { beta }`, for these very projections (they may be known in advance and used
/// again). One attribute touches c bits, each of which is a mechanism of pure per-bit budget
/// e; c of them are dominated by c randomised responses (Kairouz, Oh, Viswanath 2015), and
/// e is the largest for which that exact profile meets the budget: epsilon / c for delta = 0
/// and small c, more for delta > 0. No bound on the norm of a row is needed. The steps of
/// the levels include a rigorous bound on floating-point error. Proof page
/// `docs/proofs/sign-flips.md`.
///
/// # References
/// Li and Li 2023, *Differential privacy with random projections and sign random projections*,
/// algorithms 6 to 8; Kairouz, Oh, Viswanath 2015, *The composition theorem for differential privacy*.
///
/// ```
/// use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, PublicSeed, Shift};
/// use sketch::RowsView;
/// use sketch::projection::Family;
/// use sketch::signs::{FlipRule, PrivateSigns, SignPairs, SignSketch};
///
/// let rows = RowsView::f64(2, 4, &[0.9, 0.1, 0.0, 0.8, 0.2, 0.1, 0.0, 0.7])?;
/// let (one, any_value) = (EntryBound::new(1.0)?, Adjacency::Attribute { beta: Shift::new(2.0)? });
/// let sketch = SignSketch::repeated(Family::Oporp, 4, 8, 4, PublicSeed::new(7))?;
/// let (rule, budget) = (FlipRule::RandomizedResponse, Budget::new(4.0, 0.0)?);
/// let signs = PrivateSigns::new(sketch, rule, any_value, one, budget)?;
/// let release = signs.release(rows, &mut NoiseRng::from_os()?)?;
/// let differing = SignPairs::between(&release, &release)?.hamming(0, 1)?;
/// assert!(differing.standard_error > 0.0);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PrivateSigns {
    sketch: SignSketch,
    bound: EntryBound,
    flips: Flips,
    guarantee: Guarantee,
}

impl PrivateSigns {
    /// Calibrates the flips to a budget. `bound` is the largest absolute value of an
    /// attribute; it only serves the bound on floating-point error.
    ///
    /// # Errors
    /// An adjacency other than `Attribute`, of one row or of each of a user's; a calibration that fails.
    pub fn new(
        sketch: SignSketch,
        rule: FlipRule,
        adjacency: Adjacency,
        bound: EntryBound,
        budget: Budget,
    ) -> Result<Self> {
        let beta = attribute(adjacency.each())?;
        let of_one = sketch.touched_by_one_attribute() as u64;
        // Rows have signs of their own.
        let touched = of_one.saturating_mul(adjacency.rows());
        let keep = calibrate::randomized_response(budget, touched)?;
        let flips = Flips::new(FlipTable::new(rule, keep)?, &sketch.largest_changes(beta, bound))?;
        let profile = Profile::RandomizedResponse { bits: touched, keep };
        let guarantee = AUTHOR.proven(adjacency, budget, profile, Theorem::SignsTouched)?;
        Ok(Self { sketch, bound, flips, guarantee })
    }

    /// The projections.
    #[must_use]
    pub fn sketch(&self) -> &SignSketch {
        &self.sketch
    }

    /// The flip probabilities.
    #[must_use]
    pub fn flips(&self) -> &FlipTable {
        &self.flips.table
    }

    /// The guarantee every release of this mechanism carries.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Releases the signs of n rows.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows of another d, [`Error::OutOfRange`] for an attribute
    /// outside the declared bound (which the refusal reveals).
    pub fn release(&self, rows: RowsView<'_>, rng: &mut NoiseRng) -> Result<Release<SignCodes>> {
        Mechanism::release(self, rows, rng)
    }

    /// Starts a release of rows that come in portions.
    #[must_use]
    pub fn open<'m, 'r>(&'m self, rng: &'r mut NoiseRng) -> OpenSigns<'m, 'r> {
        OpenSigns::of(Box::new(self), rng)
    }
}

impl author::Sealed for PrivateSigns {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

/// The name under which releases of smooth flips state the bound of their entries: the likelihood of a row needs it.
pub(super) const LARGEST: &str = "largest entry";

impl Mechanism for PrivateSigns {
    /// The projections, how the flips depend on the distance from zero, what may change (an attribute, of one row or of each of
    /// a user's), and the largest absolute value of an attribute.
    type Config = (SignSketch, FlipRule, Adjacency, EntryBound);
    type Input<'a> = RowsView<'a>;
    type Output = Release<SignCodes>;
    type Facts = ();
    type Error = Error;

    fn calibrate(config: Self::Config, budget: Budget) -> Result<Self> {
        let (sketch, rule, adjacency, bound) = config;
        Self::new(sketch, rule, adjacency, bound, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Of randomised response: smooth flips depend on the values.
    fn predict(&self, (): ()) -> Result<Prediction> {
        predict_share(&self.flips.law()?, self.sketch.bits())
    }

    fn release_watched(
        &self,
        rows: RowsView<'_>,
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<SignCodes>> {
        release_all(&self, rows, rng, hook)
    }
}

impl SignSource for &PrivateSigns {
    fn d(&self) -> usize {
        self.sketch.d()
    }

    fn sketch(&self) -> &SignSketch {
        &self.sketch
    }

    fn check<'a>(&self, rows: Incoming<'a>) -> Result<RowsView<'a>> {
        rows.check_bound(self.bound)
    }

    fn flip(&self, rows: Incoming<'_>, rng: &mut NoiseRng) -> Result<PackedBits> {
        let rows = rows.within(self.bound);
        self.flips.release(&self.sketch, rows, rng, |rows| self.check(rows))
    }

    fn certify(&self, bits: PackedBits, generator: GeneratorKind) -> Result<Release<SignCodes>> {
        let noise = self.flips.law()?;
        let mut statement =
            self.sketch.statement("private signs", bits.n(), noise.clone(), generator);
        if self.flips.table.rule() != FlipRule::RandomizedResponse {
            statement.public.insert(LARGEST.into(), self.bound.get().into());
        }
        let certificate = AUTHOR.certificate(statement, self.guarantee.clone());
        Ok(Release::certified(SignCodes::new(self.sketch.specs(), noise, bits), certificate))
    }
}

pub(crate) fn attribute(adjacency: Adjacency) -> Result<Shift> {
    match adjacency {
        Adjacency::Attribute { beta } => Ok(beta),
        other => Err(Error::invalid("adjacency", other, "attribute, for private signs")),
    }
}

/// A flip table and the step of every output.
#[derive(Debug, Clone)]
pub(crate) struct Flips {
    pub(crate) table: FlipTable,
    steps: LevelSteps,
    response: Bernoulli,
    by_level: BernoulliTable,
}

/// The change assumed of an output that no input reaches; it is always zero, a fair coin.
const NO_CHANGE: f64 = 1e-150;

/// The step of every output, from the largest change that one attribute makes to it.
pub(super) fn steps(changes: &[f64]) -> Result<Vec<LevelStep>> {
    changes.iter().map(|&c| LevelStep::new(c.max(NO_CHANGE))).collect()
}

impl Flips {
    pub(crate) fn new(table: FlipTable, changes: &[f64]) -> Result<Self> {
        let steps = LevelSteps::new(steps(changes)?);
        let response = Bernoulli::new(table.flip(1));
        let all: Vec<_> = (0..=table.highest_level()).map(|level| table.flip(level)).collect();
        Ok(Self { table, steps, response, by_level: BernoulliTable::new(&all) })
    }

    /// The law of the noise, for certificates.
    pub(crate) fn law(&self) -> Result<NoiseLaw> {
        let keep = self.table.keep();
        Ok(match self.table.rule() {
            FlipRule::RandomizedResponse => NoiseLaw::BitFlip { keep },
            rule => NoiseLaw::SmoothBitFlip {
                epsilon: calibrate::response_epsilon(2, keep)?,
                rule: rule.name().into(),
            },
        })
    }

    /// Checks, projects and flips all rows, a block at a time while it is in the cache.
    /// Parallel; the bits do not depend on the number of threads.
    pub(crate) fn release(
        &self,
        sketch: &SignSketch,
        rows: Incoming<'_>,
        rng: &mut NoiseRng,
        check: impl Fn(Incoming<'_>) -> Result<RowsView<'_>> + Sync,
    ) -> Result<PackedBits> {
        let bits = sketch.bits();
        let width = bits.div_ceil(64);
        let mut words = vec![0u64; rows.n() * width];
        let mut streams = rng.reserve(rows.n().div_ceil(ROWS_PER_STREAM) as u64);
        let few = few_together(sketch.parts());
        let block_rows =
            if few { block_rows(bits).next_multiple_of(ROWS_PER_STREAM) } else { BLOCK };
        let of_block = (block_rows / ROWS_PER_STREAM) as u64;
        let streams: Vec<_> =
            (0..rows.n().div_ceil(block_rows)).map(|_| streams.split_front(of_block)).collect();
        type Task<'a> = (usize, (&'a mut [u64], NoiseStreams<'a>));
        let rooms = Rooms::default();
        let project = |rows: RowsView<'_>, out: &mut [f64]| sketch.project_block(rows, out);
        let block = |(i, (words, streams)): Task<'_>| {
            let first = i * block_rows;
            let rows = rows.slice(first..first + words.len() / width);
            rooms.with(rows.n() * bits, |values| {
                let together = few.then_some(&rooms);
                project_checked(rows, values, together, &check, project)
                    .map_err(|e| e.offset_row(first))?;
                words
                    .par_chunks_mut(ROWS_PER_STREAM * width)
                    .zip(values.par_chunks(ROWS_PER_STREAM * bits))
                    .zip(streams)
                    .for_each(|((words, values), stream)| {
                        self.flip_rows(bits, values, words, stream);
                    });
                Ok(())
            })
        };
        let done: Vec<Result<()>> = if few {
            words.par_chunks_mut(block_rows * width).zip(streams).enumerate().map(block).collect()
        } else {
            words.chunks_mut(block_rows * width).zip(streams).enumerate().map(block).collect()
        };
        done.into_iter().collect::<Result<()>>()?;
        PackedBits::new(rows.n(), bits, words)
    }

    fn flip_rows(&self, bits: usize, values: &[f64], words: &mut [u64], mut stream: NoiseStream) {
        let mut levels = vec![0u16; bits];
        for (row, out) in values.chunks_exact(bits).zip(words.chunks_exact_mut(bits.div_ceil(64))) {
            self.flip_row(row, out, &mut stream, &mut levels);
        }
    }

    fn flip_row(&self, row: &[f64], out: &mut [u64], stream: &mut NoiseStream, levels: &mut [u16]) {
        pack_signs(row, out);
        if self.table.rule() == FlipRule::RandomizedResponse {
            self.response.flip_packed(stream, out, row.len());
            // A zero becomes a fair coin, whatever was there before.
            for (word, chunk) in out.iter_mut().zip(row.chunks(64)) {
                if chunk.iter().fold(false, |any, &x| any | (x == 0.0)) {
                    let zero = |(i, &x): (usize, &f64)| u64::from(x == 0.0) << i;
                    let zeros = chunk.iter().enumerate().map(zero).fold(0, |a, b| a | b);
                    *word ^= stream.next_u64() & zeros;
                }
            }
        } else {
            let highest = self.table.highest_level() as u16;
            pulp::Arch::new().dispatch(|| self.steps.levels(row, highest, levels));
            self.by_level.flip_each(stream, out, levels);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::{Family, Sampling};
    use dp_core::{Epsilon, PublicSeed};

    fn bound<B: TryFrom<f64, Error = dp_core::Error>>(x: f64) -> B {
        B::try_from(x).expect("positive")
    }

    /// The largest |ln ratio| of one published bit between two values.
    fn loss(flips: &Flips, j: usize, x: f64, y: f64) -> f64 {
        // Probabilities of a one and of a zero, neither by subtraction from the other.
        let both = |x: f64| {
            let mut levels = vec![0; j + 1];
            let row = [vec![0.0; j], vec![x]].concat();
            flips.steps.levels(&row, u16::MAX, &mut levels);
            let q = flips.table.flip(levels[j].into()).get();
            if x > 0.0 { (1.0 - q, q) } else { (q, 1.0 - q) }
        };
        let (p, q) = (both(x), both(y));
        (p.0 / q.0).ln().abs().max((p.1 / q.1).ln().abs())
    }

    /// Exact losses of whole releases over adjacent rows made of ordinary decimals, where
    /// computed values are off by ulps and sit on thresholds.
    fn worst(family: Family, rule: FlipRule, beta: f64, repetitions: usize) -> (f64, f64) {
        let (d, k) = (24, 8);
        let seed = PublicSeed::new(repetitions as u64);
        let sketch = SignSketch::repeated(family, d, k, repetitions, seed).expect("valid");
        let touched = sketch.touched_by_one_attribute() as f64;
        let budget = Budget::pure(Epsilon::new(0.7 * touched).expect("valid"));
        let adjacency = Adjacency::Attribute { beta: bound(beta) };
        let signs = PrivateSigns::new(sketch, rule, adjacency, bound(1.0), budget).expect("valid");
        let mut worst: f64 = 0.0;
        for case in 0..400usize {
            let decimal = |i: usize| ((case * 7 + i * i * 3 + i * case) % 11) as f64 / 10.0;
            let u: Vec<f64> =
                (0..d).map(|i| if i % 3 == case % 3 { decimal(i) } else { 0.0 }).collect();
            let mut v = u.clone();
            let i = case % d;
            v[i] = if u[i] + beta <= 1.0 { u[i] + beta } else { u[i] - beta };
            if (v[i] - u[i]).abs() > beta {
                v[i] = if v[i] > u[i] { v[i].next_down() } else { v[i].next_up() };
            }
            let both = [u, v].concat();
            let rows = RowsView::f64(2, d, &both).expect("finite");
            signs
                .sketch
                .for_each_block(rows, |_, x| {
                    let losses = (0..k).map(|j| loss(&signs.flips, j, x[j], x[k + j]));
                    worst = worst.max(losses.sum());
                    Ok(())
                })
                .expect("projects");
        }
        (worst, budget.epsilon.get())
    }

    #[test]
    fn the_loss_of_a_release_stays_within_epsilon() {
        let sampling = Sampling::WithoutReplacement;
        for family in
            [Family::Oporp, Family::Rademacher, Family::Gaussian, Family::Srht { sampling }]
        {
            for rule in
                [FlipRule::RandomizedResponse, FlipRule::PublishedSmooth, FlipRule::OptimalSmooth]
            {
                for (beta, repetitions) in [(0.1, 1), (0.3, 1), (0.1, 2), (1.0, 4)] {
                    let (worst, epsilon) = worst(family, rule, beta, repetitions);
                    assert!(worst <= epsilon * (1.0 + 1e-12), "{family:?} {rule:?} {worst}");
                    // Decimals step over levels, seldom across zero, where the others are tight.
                    let tight = rule == FlipRule::OptimalSmooth && repetitions == 1;
                    if family == Family::Oporp && tight {
                        assert!(worst > 0.99 * epsilon, "{rule:?} {beta}: {worst} of {epsilon}");
                    }
                }
            }
        }
    }
}
