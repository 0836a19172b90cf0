//! Every bit flipped with one probability (RandomizedResponse).

use super::noise_addition::within;
use crate::author::AUTHOR;
use crate::error::{Error, Result};
use crate::estimate::{Estimate, FlippedCount, Interval, ln_tail};
use crate::rows::{RowsView, Storage};
use core::ops::ControlFlow;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::mechanism::{Mechanism, Prediction, Progress, author};
use dp_core::noise::{Bernoulli, NoiseLaw};
use dp_core::{
    Adjacency, Budget, Epsilon, Guarantee, NoiseRng, Probability, Profile, Release, Shift, Theorem,
    calibrate,
};
use rayon::prelude::*;

/// Rows that share one noise stream.
const ROWS_PER_STREAM: usize = 64;
/// Rows flipped between two questions to the hook.
const PART: usize = 1024 * ROWS_PER_STREAM;

/// Each bit of each row is flipped with probability p (Kenthapadi et al. 2013, algorithms 5, 6).
///
/// # Privacy
/// Pure: `p >= 1/(1 + e^eps)`, rounded up to the very `f64` the sampler uses, adjacency
/// `Attribute{1}` (one bit of one row).
///
/// # References
/// Warner 1965, *Randomized response*; Kenthapadi et al. 2013, algorithms 5 and 6, theorem 3.
///
/// ```
/// use dp_core::{Epsilon, NoiseRng, Probability};
/// use sketch::distances::{RandomizedResponse, noisy_bit_count, noisy_bit_count_interval};
///
/// // One yes or no of each of 200 people.
/// let answers: Vec<bool> = (0..200).map(|person| person % 4 == 0).collect();
/// let response = RandomizedResponse::new(1, Epsilon::new(1.0)?)?;
/// let release = response.release_bools(&answers, &mut NoiseRng::from_os()?)?;
/// let yes = noisy_bit_count(&release, 0)?;
/// let interval = noisy_bit_count_interval(&release, 0, Probability::new(0.999_999)?)?;
/// assert!(yes.standard_error > 10.0 && interval.contains(50.0));
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RandomizedResponse {
    d: usize,
    flip: Bernoulli,
    guarantee: Guarantee,
}

/// n flipped rows of d bits.
#[derive(Debug, Clone, PartialEq)]
pub struct FlippedBits {
    n: usize,
    d: usize,
    flip: Probability,
    words: Vec<u64>,
}

impl RandomizedResponse {
    /// The least flip probability for a pure budget.
    ///
    /// # Errors
    /// When d is zero, or no response that tells anything meets the budget.
    pub fn new(d: usize, epsilon: Epsilon) -> Result<Self> {
        Self::calibrate(d, Budget::pure(epsilon))
    }

    /// The flip probability p.
    #[must_use]
    pub fn flip(&self) -> Probability {
        self.flip.p()
    }

    /// The guarantee.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Releases rows of bits.
    ///
    /// # Errors
    /// [`Error::Shape`] for another d, [`Error::NotBit`] for a value other than 0 and 1.
    pub fn release(&self, rows: RowsView<'_>, rng: &mut NoiseRng) -> Result<Release<FlippedBits>> {
        Mechanism::release(self, rows, rng)
    }

    /// Releases answers: d of them a row, row after row.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are d answers for every row.
    pub fn release_bools(
        &self,
        answers: &[bool],
        rng: &mut NoiseRng,
    ) -> Result<Release<FlippedBits>> {
        let (d, found) = (self.d, answers.len());
        if !found.is_multiple_of(d) {
            let expected = found.next_multiple_of(d);
            return Err(Error::Length { what: "answers", expected, found });
        }
        let mut words = Vec::with_capacity(found / d * d.div_ceil(64));
        for row in answers.chunks_exact(d) {
            words.extend(row.chunks(64).map(|bits| {
                bits.iter().enumerate().fold(0u64, |word, (i, &bit)| word | u64::from(bit) << i)
            }));
        }
        self.release(RowsView::bits(found / d, d, &words)?, rng)
    }
}

impl author::Sealed for RandomizedResponse {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for RandomizedResponse {
    /// Bits of a row.
    type Config = usize;
    type Input<'a> = RowsView<'a>;
    type Output = Release<FlippedBits>;
    type Facts = ();
    type Error = Error;

    fn calibrate(d: usize, budget: Budget) -> Result<Self> {
        if d == 0 {
            return Err(Error::invalid("d", d, "[1, 2^32)"));
        }
        // The flip probability is the exact complement: 1 - keep is exact for keep in [1/2, 1].
        let keep = calibrate::randomized_response(budget, 1)?;
        if keep.get() <= 0.5 {
            return Err(Error::Core(dp_core::Error::Calibration {
                family: "randomised response",
                budget,
                reason: "no response that tells anything meets it".into(),
            }));
        }
        let flip = Probability::new(1.0 - keep.get())?;
        let adjacency = Adjacency::Attribute { beta: Shift::new(1.0)? };
        let profile = Profile::RandomizedResponse { bits: 1, keep };
        let guarantee = AUTHOR.proven(adjacency, budget, profile, Theorem::BitResponse)?;
        Ok(Self { d, flip: Bernoulli::new(flip), guarantee })
    }

    fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    fn predict(&self, (): ()) -> Result<Prediction> {
        let error = error_of_distance(self.d, self.flip());
        Ok(Prediction::new("a squared distance", error))
    }

    fn release_watched(
        &self,
        rows: RowsView<'_>,
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<FlippedBits>> {
        if rows.d() != self.d {
            return Err(Error::Shape { what: "d", expected: self.d, found: rows.d() });
        }
        let (n, width) = (rows.n(), self.d.div_ceil(64));
        let generator = rng.kind();
        let mut words = pack(rows)?;
        let total = n.div_ceil(PART) as u64;
        for (part, words) in words.chunks_mut(PART * width).enumerate() {
            Progress::new(part as u64, total).ask(hook)?;
            let streams = rng.reserve((words.len() / width).div_ceil(ROWS_PER_STREAM) as u64);
            let blocks = words.par_chunks_mut(ROWS_PER_STREAM * width).zip(streams);
            blocks.for_each(|(words, mut stream)| {
                for row in words.chunks_exact_mut(width) {
                    self.flip.flip_packed(&mut stream, row, self.d);
                }
            });
        }
        let mut public = PublicParameters::new();
        public.insert("n".into(), n.into());
        public.insert("d".into(), self.d.into());
        let keep = Probability::new(1.0 - self.flip().get())?;
        let statement = Statement {
            mechanism: "randomised response on bits".into(),
            noise: NoiseLaw::BitFlip { keep },
            generator,
            public,
        };
        let certificate = AUTHOR.certificate(statement, self.guarantee.clone());
        let bits = FlippedBits { n, d: self.d, flip: self.flip(), words };
        Ok(Release::certified(bits, certificate))
    }
}

fn pack(rows: RowsView<'_>) -> Result<Vec<u64>> {
    if let Storage::Bits(words) = rows.storage() {
        return Ok(words.to_vec());
    }
    let width = rows.d().div_ceil(64);
    let mut words = vec![0u64; rows.n() * width];
    let mut wrong = None;
    for row in 0..rows.n() {
        rows.for_each_entry(row, |column, x| {
            if x == 1.0 {
                words[row * width + column / 64] |= 1 << (column % 64);
            } else if x != 0.0 && wrong.is_none() {
                wrong = Some((row, column));
            }
        });
    }
    match wrong {
        Some((row, column)) => Err(Error::NotBit { row, column }),
        None => Ok(words),
    }
}

impl FlippedBits {
    /// Number of rows.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// Bits in a row.
    #[must_use]
    pub fn d(&self) -> usize {
        self.d
    }

    /// Rows whose flipped bit `column` is one.
    fn ones(&self, column: usize) -> Result<u64> {
        if column >= self.d {
            return Err(Error::Index { what: "column", index: column, len: self.d });
        }
        let words = self.words.chunks_exact(self.d.div_ceil(64)).map(|row| row[column / 64]);
        Ok(words.map(|word| word >> (column % 64) & 1).sum())
    }

    /// One flipped row, packed.
    ///
    /// # Errors
    /// [`Error::Index`] when it does not exist.
    pub fn row(&self, row: usize) -> Result<&[u64]> {
        let width = self.d.div_ceil(64);
        self.words.get(row * width..(row + 1) * width).ok_or(Error::Index {
            what: "row",
            index: row,
            len: self.n,
        })
    }
}

/// Unbiased squared distance `(h - 2 d p (1-p))/(1-2p)^2` of two rows, h their Hamming distance.
///
/// Its variance is known exactly: `d t (1 - t)/(1-2p)^4`, `t = 2p(1-p)`, whatever the distance.
///
/// # Errors
/// [`Error::Index`] for a row that does not exist.
pub fn noisy_bit_distance(release: &Release<FlippedBits>, i: usize, j: usize) -> Result<Estimate> {
    let bits = release.payload();
    let (x, y) = (bits.row(i)?, bits.row(j)?);
    if i == j {
        return Ok(Estimate { value: 0.0, standard_error: 0.0 });
    }
    let hamming: u32 = x.iter().zip(y).map(|(a, b)| (a ^ b).count_ones()).sum();
    let (d, p) = (bits.d as f64, bits.flip.get());
    let both = 2.0 * p * (1.0 - p);
    let signal = (1.0 - 2.0 * p).powi(2);
    let value = (f64::from(hamming) - d * both) / signal;
    Ok(Estimate { value, standard_error: error_of_distance(bits.d, bits.flip) })
}

/// The standard error of a squared distance of d flipped bits.
fn error_of_distance(d: usize, flip: Probability) -> f64 {
    let p = flip.get();
    let both = 2.0 * p * (1.0 - p);
    (d as f64 * both * (1.0 - both)).sqrt() / (1.0 - 2.0 * p).powi(2)
}

/// Unbiased number of rows whose bit `column` was one, `(c - n p)/(1 - 2p)` with c the ones seen; the
/// standard error `sqrt(n p (1-p))/(1 - 2p)` is that of the flips, whatever the truth.
///
/// # Errors
/// [`Error::Index`] for a column that does not exist.
pub fn noisy_bit_count(release: &Release<FlippedBits>, column: usize) -> Result<Estimate> {
    let bits = release.payload();
    let (n, p) = (bits.n as f64, bits.flip.get());
    let signal = 1.0 - 2.0 * p;
    let value = (bits.ones(column)? as f64 - n * p) / signal;
    Ok(Estimate { value, standard_error: (n * p * (1.0 - p)).sqrt() / signal })
}

/// The numbers of ones before flipping, in `[0, n]`, that an exact two-sided test does not reject: covers
/// with at least the stated confidence.
///
/// # Errors
/// As [`noisy_bit_count`], or a confidence outside `(0, 1)`.
pub fn noisy_bit_count_interval(
    release: &Release<FlippedBits>,
    column: usize,
    confidence: Probability,
) -> Result<Interval> {
    let (bits, tail) = (release.payload(), ln_tail(confidence)?);
    let signal = 1.0 - 2.0 * bits.flip.get();
    Ok(FlippedCount::interval(bits.ones(column)?, bits.n as u64, signal, tail))
}

/// Confidence interval of a squared distance, within `[0, d]`: the normal law of [`noisy_bit_distance`] with half a
/// step of the Hamming distance added, which counts whole bits. A row has distance zero from itself.
///
/// # Errors
/// As [`noisy_bit_distance`], or a confidence outside `(0, 1)`.
pub fn noisy_bit_distance_interval(
    release: &Release<FlippedBits>,
    i: usize,
    j: usize,
    confidence: Probability,
) -> Result<Interval> {
    let Estimate { value, standard_error } = noisy_bit_distance(release, i, j)?;
    let bits = release.payload();
    let signal = (1.0 - 2.0 * bits.flip.get()).powi(2);
    let step = if i == j { 0.0 } else { 0.5 / signal };
    within(value, standard_error, step, bits.d as f64, confidence)
}
