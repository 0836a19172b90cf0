//! Noisy Secure MinHash (Bourgeat & Schmurr 2019, algorithms 4 to 6).

use super::estimate::{Signal, Z95};
use super::items::ItemSet;
use super::neighbours::SetNeighbours;
use super::response::{HASH_MODEL, SIMILARITY, SetFacts, hash_model};
use super::secure::{SecureMinHash, SymbolShape};
use super::signature::{Scheme, SetSketch, SignatureMatrix};
use super::writer::{SetMechanism, SetSource};
use crate::author::AUTHOR;
use crate::error::{Error, Result};
use crate::estimate::{Estimate, Interval, sum_of_squared_differences, upper_quantile};
use core::ops::ControlFlow;
use dp_core::calibrate::Acceptance;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::mechanism::{Mechanism, Prediction, Progress, Statistic};
use dp_core::noise::{AdditiveNoise, GeneratorKind, LaplaceNoise, NoiseRng, VALUES_PER_STREAM};
use dp_core::profile::CoordinateProfile;
use dp_core::release_file::{Kind, Payload, Trailer, Writer};
use dp_core::{
    Budget, Certificate, Delta, EntryBound, FreshSeed, Guarantee, L1Sensitivity, LaplaceScale,
    Probability, Profile, Release, SeedOrigin,
};
use serde::{Deserialize, Serialize};

/// Bits of Secure MinHash with Laplace noise of scale `Dq / epsilon`, where `Dq` is the published
/// Chernoff bound on the number of differing bits:
/// `E = L (1 - J'^K)/2`, `J' = 1 - alpha/tau`, `Dq = E (1 + sqrt(3 ln(1/delta)/E))`.
///
/// # Privacy
/// `Published`: the bound's form needs `beta <= 1`, but `beta` is often above 7, and then the
/// number of differing bits passes `Dq` with a probability above delta
/// ([`NoisySecureMinHash::tail`]). The certificate states the delta that is really given: the
/// mixture, over fresh hash functions, of the profile of Laplace noise on that many bits. One set of the
/// release changes (`SetItems`); random function model for the hashes.
///
/// # References
/// Bourgeat and Schmurr 2019, section 6.2, algorithms 4 to 6; `docs/proofs/noisy-secure-minhash.md`.
///
/// ```
/// use dp_core::calibrate::Acceptance;
/// use dp_core::{Budget, FreshSeed, NoiseRng};
/// use sketch::sets::{ItemSet, NoisySecureMinHash, SetNeighbours};
///
/// let sets = [ItemSet::new((0..40).collect())?, ItemSet::new((10..50).collect())?];
/// let (neighbours, claim) = (SetNeighbours::new(1, 40)?, Budget::new(1.0, 1e-3)?);
/// // The paper's rule misses its claim here: it must be accepted explicitly.
/// let accept = Acceptance::AcceptTrueDelta;
/// let mechanism = NoisySecureMinHash::published(100, 1, neighbours, claim, accept)?;
/// let release = mechanism.release(&sets, FreshSeed::draw()?, &mut NoiseRng::from_os()?)?;
/// assert!(release.payload().jaccard(0, 1)?.standard_error > 0.0);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NoisySecureMinHash {
    shape: SymbolShape,
    neighbours: SetNeighbours,
    sensitivity: f64,
    noise: LaplaceNoise,
    guarantee: Guarantee,
}

impl NoisySecureMinHash {
    /// The published noise for a claimed budget, on `positions` bits of `concatenation` minima.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] unless the claimed delta is in `(0, 1)` and `alpha > 0`
    /// leaves something to protect; [`Error::Core`] when the rule misses its claim and that was not accepted.
    pub fn published(
        positions: usize,
        concatenation: usize,
        neighbours: SetNeighbours,
        claimed: Budget,
        accept: Acceptance,
    ) -> Result<Self> {
        let shape = SymbolShape::new(positions, concatenation, 2)?;
        let sensitivity =
            published_sensitivity(positions, concatenation, neighbours, claimed.delta)?;
        let scale = LaplaceScale::new(sensitivity / claimed.epsilon.get())?;
        // Bits are whole numbers: exact on every grid.
        let (bits, one) = (L1Sensitivity::new(sensitivity)?, EntryBound::new(1.0)?);
        let statistic = Statistic::new(neighbours.adjacency(), bits, positions, one);
        let noise = AUTHOR.laplace(scale, statistic.on_grid(scale)?.0)?;
        let profile = noisy_profile(positions, concatenation, neighbours, scale)?;
        let adjacency = neighbours.adjacency();
        if accept == Acceptance::RequireTarget {
            const NAME: &str = "noisy secure MinHash";
            AUTHOR.published(adjacency, claimed, Some(profile.clone()), NAME, SOURCE, CAVEAT)?;
        }
        let guarantee =
            AUTHOR.published_accepting_true_delta(adjacency, claimed, profile, SOURCE, CAVEAT)?;
        Ok(Self { shape, neighbours, sensitivity, noise, guarantee })
    }

    /// The published bound on the number of differing bits.
    #[must_use]
    pub fn sensitivity(&self) -> f64 {
        self.sensitivity
    }

    /// The Laplace noise.
    #[must_use]
    pub fn noise(&self) -> &LaplaceNoise {
        &self.noise
    }

    /// Probability that more bits differ than the published sensitivity allows, at the least similar
    /// neighbours: what the paper bounds by delta.
    ///
    /// # Errors
    /// [`Error::Core`] never after construction.
    pub fn tail(&self) -> Result<f64> {
        let p = self.differ()?.get();
        let n = self.shape.positions() as u32;
        // Summed from above: no cancellation.
        let first = self.sensitivity.floor() as u32 + 1;
        Ok((first..=n).map(|m| super::estimate::binomial_pmf(m, n, p)).sum())
    }

    fn differ(&self) -> Result<Probability> {
        self.neighbours.differ_probability(self.shape.concatenation(), 2)
    }

    /// Sketches and releases; the fresh seed is published with the release.
    ///
    /// # Errors
    /// [`Error::SetTooSmall`] when a set is below the minimum size.
    pub fn release(
        &self,
        sets: &[ItemSet],
        fresh: FreshSeed,
        rng: &mut NoiseRng,
    ) -> Result<Release<NoisyBits, Certificate>> {
        let source = self.source(fresh);
        let signatures = source.signatures(sets)?;
        let mut data: Vec<f64> = signatures.slots().iter().copied().map(f64::from).collect();
        let generator = rng.kind();
        self.noise.add_to(rng, &mut data)?;
        Ok(Release::certified(source.bits(data), source.certificate(sets.len(), generator)?))
    }

    fn source(&self, fresh: FreshSeed) -> NoisySource<'_> {
        let origin = fresh.origin();
        let sketch = SecureMinHash::new(self.shape, fresh.publish());
        NoisySource { mechanism: self, sketch, origin }
    }
}

impl dp_core::mechanism::author::Sealed for NoisySecureMinHash {
    const SEAL: dp_core::mechanism::author::Seal<Self> = AUTHOR.seal();
}

impl SetMechanism for NoisySecureMinHash {
    type Seed = FreshSeed;
    const KIND: Kind = Kind::NoisyMinHash;

    fn drawn(&self, fresh: FreshSeed) -> Result<Box<dyn SetSource + '_>> {
        Ok(Box::new(self.source(fresh)))
    }
}

impl Mechanism for NoisySecureMinHash {
    /// Shape of a signature of bits, what may change in a set, and whether a claim that is missed is accepted.
    type Config = (SymbolShape, SetNeighbours, Acceptance);
    type Input<'a> = (&'a [ItemSet], FreshSeed);
    type Output = Release<NoisyBits>;
    type Facts = SetFacts;
    type Error = Error;

    /// The paper's noise for the budget as its claim.
    fn calibrate((shape, neighbours, accept): Self::Config, budget: Budget) -> Result<Self> {
        if shape.alphabet() != 2 {
            return Err(Error::invalid("alphabet", shape.alphabet(), "2: bits"));
        }
        Self::published(shape.positions(), shape.concatenation(), neighbours, budget, accept)
    }

    fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    fn predict(&self, facts: SetFacts) -> Result<Prediction> {
        let SetFacts { similarity, .. } = facts.check()?;
        let k = self.shape.concatenation() as f64;
        let rate = 0.5 * (1.0 - similarity.powf(k));
        let variance = variance(rate, self.noise.scale()) / self.shape.positions() as f64;
        // The slope of the K-th root.
        let error = 2.0 * variance.sqrt() * similarity.powf(1.0 - k) / k;
        Ok(Prediction::new(SIMILARITY, error))
    }

    fn release_watched(
        &self,
        (sets, seed): (&[ItemSet], FreshSeed),
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<NoisyBits>> {
        Progress::new(0, 1).ask(hook)?;
        self.release(sets, seed, rng)
    }
}

/// Variance of a position's squared difference, less its mean noise, at a difference rate.
fn variance(rate: f64, scale: LaplaceScale) -> f64 {
    let b2 = scale.get().powi(2);
    rate * (1.0 - rate) + 16.0 * rate * b2 + 56.0 * b2 * b2
}

const SOURCE: &str = "Bourgeat & Schmurr 2019, section 6.2";
const CAVEAT: &str = "the Chernoff bound holds for beta <= 1 only; the true delta is that of the binomial \
                      mixture over fresh hash functions";

/// Name in certificates.
pub(super) const NOISY: &str = "noisy-secure-minhash";

/// The profile of Laplace noise on the bits of neighbours, over fresh hash functions.
pub(super) fn noisy_profile(
    positions: usize,
    concatenation: usize,
    neighbours: SetNeighbours,
    scale: LaplaceScale,
) -> Result<Profile> {
    let probability = neighbours.differ_probability(concatenation, 2)?;
    // Bits are 0 or 1 and lie on the grid: no rounding, a differing bit moves by one exactly.
    let coordinate = CoordinateProfile::Laplace { shift: L1Sensitivity::new(1.0)?, scale };
    Ok(Profile::BinomialMixture { trials: positions as u64, probability, coordinate })
}

/// Public parameters of every certificate of noisy bits.
pub(super) fn noisy_parameters(
    scheme: &Scheme,
    concatenation: usize,
    sets: usize,
) -> PublicParameters {
    PublicParameters::from([
        ("positions".to_owned(), scheme.slots.into()),
        ("concatenation".to_owned(), concatenation.into()),
        ("sets".to_owned(), sets.into()),
        ("hash".to_owned(), scheme.hash.clone().into()),
        ("seed".to_owned(), scheme.seed.into()),
    ])
}

/// The mechanism with its hash functions drawn.
struct NoisySource<'a> {
    mechanism: &'a NoisySecureMinHash,
    sketch: SecureMinHash,
    origin: SeedOrigin,
}

impl NoisySource<'_> {
    fn signatures(&self, sets: &[ItemSet]) -> Result<SignatureMatrix> {
        self.mechanism.neighbours.check(sets)?;
        Ok(self.sketch.sketch(sets))
    }

    fn bits(&self, data: Vec<f64>) -> NoisyBits {
        let concatenation = self.mechanism.shape.concatenation();
        NoisyBits::new(self.sketch.scheme(), concatenation, self.mechanism.noise.scale(), data)
    }

    fn certificate(&self, sets: usize, generator: GeneratorKind) -> Result<Certificate> {
        let m = self.mechanism;
        let mut public = noisy_parameters(&self.sketch.scheme(), m.shape.concatenation(), sets);
        public.insert("published-sensitivity".to_owned(), m.sensitivity.into());
        public.insert(SeedOrigin::KEY.to_owned(), self.origin.name().into());
        public.insert(HASH_MODEL.to_owned(), hash_model(&m.guarantee).into());
        let mechanism = NOISY.to_owned();
        let statement = Statement { mechanism, noise: m.noise.law(), generator, public };
        Ok(AUTHOR.certificate(statement, m.guarantee.clone()))
    }
}

impl SetSource for NoisySource<'_> {
    fn slots(&self, sets: &[ItemSet]) -> Result<Vec<u32>> {
        Ok(self.signatures(sets)?.into_slots())
    }

    fn whole(&self, held: usize) -> usize {
        held / VALUES_PER_STREAM * VALUES_PER_STREAM
    }

    fn put(&self, held: Vec<u32>, rng: &mut NoiseRng, out: &mut Writer) -> Result<()> {
        let mut values: Vec<f64> = held.into_iter().map(f64::from).collect();
        self.mechanism.noise.add_to(rng, &mut values)?;
        Ok(out.payload_f64(&values)?)
    }

    fn trailer(&self, sets: usize, generator: GeneratorKind) -> Result<Trailer> {
        let (none, certificate) = (self.bits(Vec::new()), self.certificate(sets, generator)?);
        let shape = (sets, self.sketch.slots());
        Ok(Trailer::new(shape, none.fingerprint(), &none.parameters()?, certificate)?)
    }
}

/// The published sensitivity `E (1 + sqrt(3 ln(1/delta)/E))` (eq. 6.12).
///
/// # Errors
/// [`dp_core::Error::InvalidParameter`] for delta zero, or when no bit is expected to differ.
pub fn published_sensitivity(
    positions: usize,
    concatenation: usize,
    neighbours: SetNeighbours,
    delta: Delta,
) -> Result<f64> {
    if delta.get() <= 0.0 {
        return Err(Error::invalid("delta", delta, "(0, 1)"));
    }
    let j = neighbours.published_similarity();
    let expected = positions as f64 * 0.5 * (1.0 - j.powi(concatenation as i32));
    if expected <= 0.0 {
        return Err(Error::invalid("expected differing bits", expected, "(0, inf)"));
    }
    Ok(expected * (1.0 + (3.0 * -delta.ln().get() / expected).sqrt()))
}

/// Noisy bits of many sets: what is published.
#[derive(Debug, Clone, PartialEq)]
pub struct NoisyBits {
    scheme: Scheme,
    concatenation: usize,
    scale: LaplaceScale,
    data: Vec<f64>,
}

/// What is public about noisy bits, as release files store it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoisyFacts {
    pub(crate) scheme: Scheme,
    pub(crate) concatenation: usize,
    pub(crate) scale: LaplaceScale,
}

impl NoisyBits {
    /// What is public about them.
    pub(crate) fn facts(&self) -> NoisyFacts {
        let Self { scheme, concatenation, scale, .. } = self;
        NoisyFacts { scheme: scheme.clone(), concatenation: *concatenation, scale: *scale }
    }

    /// Whole rows of noisy bits.
    pub(crate) fn new(
        scheme: Scheme,
        concatenation: usize,
        scale: LaplaceScale,
        data: Vec<f64>,
    ) -> Self {
        Self { scheme, concatenation, scale, data }
    }

    /// Minima hashed together, K.
    #[must_use]
    pub fn concatenation(&self) -> usize {
        self.concatenation
    }

    /// Scale of the Laplace noise.
    #[must_use]
    pub fn scale(&self) -> LaplaceScale {
        self.scale
    }

    /// All noisy bits, row after row.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.data
    }

    /// How the bits were made.
    #[must_use]
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// Number of sets.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.data.len() / self.scheme.slots
    }

    /// One row of noisy bits.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] when there is no such row.
    pub fn row(&self, i: usize) -> Result<&[f64]> {
        if i >= self.rows() {
            return Err(Error::invalid("row", i, format!("[0, {})", self.rows())));
        }
        Ok(&self.data[i * self.scheme.slots..][..self.scheme.slots])
    }

    /// Squared distance of two rows.
    ///
    /// # Errors
    /// As [`NoisyBits::row`].
    pub fn squared_distance(&self, i: usize, j: usize) -> Result<f64> {
        Ok(sum_of_squared_differences(self.row(i)?, self.row(j)?))
    }

    /// Published estimate of `J^K` (theorem 6.2): `2 (L - (dist - 4 L b^2))/L - 1`. Unbiased, not clamped.
    ///
    /// The variance of a position is `P(1-P) + 16 P b^2 + 56 b^4` at the difference rate P. The standard error is the
    /// longer arm of the 95 % interval of the test with that variance, over 1.96.
    ///
    /// # Errors
    /// As [`NoisyBits::row`], and [`Error::Undefined`] for one row twice: it shares its noise with itself.
    pub fn power(&self, i: usize, j: usize) -> Result<Estimate> {
        Ok(self.signal(i, j)?.estimate())
    }

    fn signal(&self, i: usize, j: usize) -> Result<Signal> {
        let differing = self.differing(i, j)?;
        let (low, high) = self.rates(differing, Z95);
        let p = differing.clamp(0.0, 0.5);
        let variance = 4.0 * variance(p, self.scale) / self.scheme.slots as f64;
        let of = |rate: f64| 1.0 - 2.0 * rate;
        Ok(Signal { value: of(differing), variance, low: of(high), high: of(low) })
    }

    /// Unbiased share of the differing bits.
    fn differing(&self, i: usize, j: usize) -> Result<f64> {
        if i == j {
            self.row(i)?;
            return Err(Error::Undefined {
                what: "the similarity of a row to itself from its noisy bits",
                reason: "a row shares its noise with itself; the similarity is one",
            });
        }
        let b = self.scale.get();
        Ok(self.squared_distance(i, j)? / self.scheme.slots as f64 - 4.0 * b * b)
    }

    /// The rates P for which `seen`, less half a position, is within z standard deviations at P: the roots of
    /// `(1 + a) P^2 - (2 y + a (1 + 16 b^2)) P + y^2 - 56 a b^4`, `a = z^2/L`, `y = seen +- 1/2L`.
    fn rates(&self, seen: f64, z: f64) -> (f64, f64) {
        let (l, b2) = (self.scheme.slots as f64, self.scale.get().powi(2));
        let a = z * z / l;
        let end = |sign: f64| {
            let y = seen + sign * 0.5 / l;
            let half = y + 0.5 * a * (1.0 + 16.0 * b2);
            let square = half * half - (1.0 + a) * (y * y - 56.0 * a * b2 * b2);
            (y, (half + sign * square.max(0.0).sqrt()) / (1.0 + a))
        };
        // Below zero the variance formula has no meaning and both roots may lie on one side of y.
        let ((below, low), (above, high)) = (end(-1.0), end(1.0));
        (low.min(below), high.max(above))
    }

    /// Published estimate of J: the plain K-th root, clamped to `[0, 1]`. A set has similarity one with itself.
    ///
    /// # Errors
    /// As [`NoisyBits::row`].
    pub fn published(&self, i: usize, j: usize) -> Result<Estimate> {
        self.estimate(i, j, Signal::root)
    }

    /// The K-th root with its second-order bias removed; unbiased and not clamped for K = 1. A set has similarity one
    /// with itself.
    ///
    /// # Errors
    /// As [`NoisyBits::row`].
    pub fn jaccard(&self, i: usize, j: usize) -> Result<Estimate> {
        self.estimate(i, j, Signal::corrected_root)
    }

    fn estimate(&self, i: usize, j: usize, of: fn(Signal, usize) -> Estimate) -> Result<Estimate> {
        if i == j {
            self.row(i)?;
            return Ok(Estimate { value: 1.0, standard_error: 0.0 });
        }
        Ok(of(self.signal(i, j)?, self.concatenation))
    }

    /// Confidence interval of J, in `[0, 1]`: the similarities that the test with the variance of
    /// [`NoisyBits::power`] does not reject.
    ///
    /// # Errors
    /// As [`NoisyBits::row`].
    pub fn jaccard_interval(&self, i: usize, j: usize, level: Probability) -> Result<Interval> {
        if i == j {
            self.row(i)?;
            return Ok(Interval { low: 1.0, high: 1.0 });
        }
        // Rates that no similarity gives count as the nearest that one does: the interval only grows.
        let differing = self.differing(i, j)?.clamp(0.0, 0.5);
        let (low, high) = self.rates(differing, upper_quantile(0.5 * (1.0 - level.get())));
        let map =
            |rate: f64| (1.0 - 2.0 * rate).clamp(0.0, 1.0).powf(1.0 / self.concatenation as f64);
        Ok(Interval { low: map(high), high: map(low) })
    }
}
