//! What is audited: a mechanism on an adjacent pair of inputs, and what it claims.

use dp_core::{
    Budget, Claim, FreshSeed, Guarantee, NoiseRng, PrivacyProfile, PublicGenerator, PublicSeed,
};
use eval::Effort;
use eval::{Error, Result};
use std::sync::Arc;

/// Which of the two adjacent inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The first.
    Left,
    /// The second.
    Right,
}

impl Side {
    /// Picks one of two values.
    pub(crate) fn of<'a, T: ?Sized>(self, left: &'a T, right: &'a T) -> &'a T {
        match self {
            Self::Left => left,
            Self::Right => right,
        }
    }
}

/// The randomness of one run: a noise generator and fresh seeds of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Draw(pub(super) u64);

impl Draw {
    /// The run's noise generator; every call starts it anew.
    #[must_use]
    pub(crate) fn noise(&self) -> NoiseRng {
        NoiseRng::deterministic_not_private(self.number(1))
    }

    /// The run's fresh public seed.
    #[must_use]
    pub(crate) fn fresh(&self) -> FreshSeed {
        FreshSeed::reproducible_not_private(self.number(2))
    }

    /// Public randomness of the run.
    #[must_use]
    pub(crate) fn public(&self) -> PublicGenerator {
        PublicSeed::new(self.number(3)).generator(0)
    }

    fn number(&self, purpose: u64) -> u64 {
        mix(self.0 ^ purpose.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }
}

/// SplitMix64's finaliser.
pub(super) const fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Appends [`Subject::batch`] observations of [`Subject::width`] numbers.
pub(crate) type Sampler = Arc<dyn Fn(Side, &Draw, &mut Vec<f64>) -> Result<()> + Send + Sync>;

/// A number computed from one observation; large where the right input is the likelier.
pub(crate) type Score = Arc<dyn Fn(&[f64]) -> f64 + Send + Sync>;

/// Builds the same mechanism, pair and testers with this share of the noise.
pub(crate) type Weaker = Arc<dyn Fn(f64) -> Result<Subject> + Send + Sync>;

/// By how much a twin with less noise must break what its original is held to.
pub(super) const MARGIN: f64 = 1.25;

/// Shares of a mechanism's noise at which its twin is tried: the first that breaks what it is held
/// to by [`MARGIN`] is taken.
const SHARES: [f64; 13] = [0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1];

/// What a finding above the claim means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// Proven: a finding above the claim accuses it, and the audit fails.
    Mechanism,
    /// Deliberately broken: no finding above the claim means that the tester is blind, and
    /// the audit fails.
    Twin {
        /// Its one defect.
        defect: String,
    },
    /// A claim that is not ours to defend: the table says whether it is refuted.
    ClaimOnly {
        /// Whose claim.
        whose: &'static str,
    },
    /// A claim of others that speaks of less than what is seen here: a finding above it says what
    /// the claim does not cover.
    OutsideClaim {
        /// What the claim speaks of.
        claim: &'static str,
    },
}

/// One audit: a mechanism, an adjacent pair, a claim, and the testers that try to refute it.
#[derive(Clone)]
pub struct Subject {
    /// Mechanism and setting.
    pub name: String,
    /// Family: one file of the module `mechanisms`.
    pub family: &'static str,
    /// What a finding means.
    pub role: Role,
    /// What is claimed for the pair.
    pub claim: Budget,
    /// The epsilon that the certificate's own profile gives at the claimed delta; none where it
    /// states no profile. Below the claim where the noise is more than the claim needs.
    pub exact: Option<f64>,
    /// The epsilon that this very pair has at the claimed delta, where it is known and is not the
    /// exact one; a twin's is what it truly gives.
    pub truth: Option<f64>,
    /// The pair, in words, and how it was found.
    pub pair: String,
    /// Why the bound stays far below the exact epsilon, where it does.
    pub(crate) slack: Option<&'static str>,
    /// Observations of one call of the sampler; independent unless the mechanism is broken.
    pub(crate) batch: usize,
    /// Numbers in an observation.
    pub(crate) width: usize,
    /// The learned testers see these first numbers of an observation; the rest is public
    /// side information for the likelihood ratio.
    pub(crate) view: usize,
    /// Whether the numbers seen are letters: the histogram then counts exact values.
    pub(crate) letters: bool,
    /// Test runs of each input in the quick form.
    pub(crate) runs: usize,
    /// How many times that many in the full form.
    pub(crate) full: usize,
    /// Scores that need no training: likelihood ratios, and traces of known attacks.
    pub(crate) scores: Vec<(&'static str, Score)>,
    /// Runs the mechanism through its public interface.
    pub(crate) sample: Sampler,
    /// The cheapest form of the audit that runs it.
    pub form: Effort,
    /// The same with less noise, for its twin; its runs and form, where they are not the original's.
    pub(crate) weaker: Option<Weaker>,
    /// Runs of the twin with less noise.
    pub(crate) twin_runs: Option<usize>,
    /// The cheapest form of the audit that runs that twin.
    pub(crate) twin_form: Effort,
}

impl core::fmt::Debug for Subject {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Subject").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Subject {
    /// A proven mechanism that gives one observation of `width` real numbers a call.
    pub(crate) fn new(
        name: impl Into<String>,
        family: &'static str,
        claim: Budget,
        pair: impl Into<String>,
        width: usize,
        sample: impl Fn(Side, &Draw, &mut Vec<f64>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            family,
            role: Role::Mechanism,
            claim,
            exact: None,
            truth: None,
            pair: pair.into(),
            slack: None,
            batch: 1,
            width,
            view: width,
            letters: false,
            runs: 20_000,
            full: 8,
            scores: Vec::new(),
            sample: Arc::new(sample),
            form: Effort::Quick,
            weaker: None,
            twin_runs: None,
            twin_form: Effort::Quick,
        }
    }

    /// A mechanism built at its claim, which [`Subject::weakened`] builds again at the budget
    /// where `noise` is a share of what it is at the claim.
    ///
    /// # Errors
    /// A calibration that fails.
    pub(crate) fn built(
        claim: Budget,
        noise: impl Fn(Budget) -> Result<f64> + Send + Sync + 'static,
        build: impl Fn(Budget) -> Result<Self> + Send + Sync + 'static,
    ) -> Result<Self> {
        let own = noise(claim)?;
        let subject = build(claim)?;
        Ok(subject.weaker_by(move |share| build(budget_of(claim, share * own, &noise)?)))
    }

    /// How the same is built with a share of its noise.
    #[must_use]
    pub(crate) fn weaker_by(
        self,
        weaker: impl Fn(f64) -> Result<Self> + Send + Sync + 'static,
    ) -> Self {
        Self { weaker: Some(Arc::new(weaker)), ..self }
    }

    /// The epsilon of this very pair at the claimed delta.
    #[must_use]
    pub(crate) fn giving(self, truth: f64) -> Self {
        Self { truth: Some(truth), ..self }
    }

    /// Only the full audit runs it.
    #[must_use]
    pub(crate) fn only_in_full(self) -> Self {
        Self { form: Effort::Full, ..self }
    }

    /// Runs of the twin with less noise, quick form.
    #[must_use]
    pub(crate) fn twin_with_runs(self, runs: usize) -> Self {
        Self { twin_runs: Some(runs), ..self }
    }

    /// Only the full audit runs the twin with less noise.
    #[must_use]
    pub(crate) fn twin_only_in_full(self) -> Self {
        Self { twin_form: Effort::Full, ..self }
    }

    /// The least epsilon whose refutation accuses: of the claim and of the certificate's profile.
    #[must_use]
    pub(crate) fn held_to(&self) -> f64 {
        let claim = self.claim.epsilon.get();
        self.exact.map_or(claim, |exact| exact.min(claim))
    }

    /// The twin with less noise: 0.7 of it, or the first lesser share that breaks what the
    /// mechanism is held to by a quarter, as computed from the exact law.
    ///
    /// # Errors
    /// A mechanism that states no weaker form, or that no share breaks.
    pub(crate) fn weakened(&self) -> Result<Self> {
        let refused = |reason: &str| Error::Malformed {
            what: format!("the twin of {}", self.name),
            reason: reason.into(),
        };
        let weaker = self.weaker.as_ref().ok_or_else(|| refused("no weaker form is stated"))?;
        for share in SHARES {
            let weak = weaker(share)?;
            let truth = weak.truth.or(weak.exact);
            let truth = truth.ok_or_else(|| refused("what it gives is not computed"))?;
            if truth < MARGIN * self.held_to() {
                continue;
            }
            let name = format!("{}: {share} of its noise", self.name);
            return Ok(Self {
                role: Role::Twin { defect: name.clone() },
                name,
                claim: self.claim,
                exact: self.exact,
                truth: Some(truth),
                form: self.twin_form,
                runs: self.twin_runs.unwrap_or(self.runs),
                full: self.full,
                slack: None,
                weaker: None,
                ..weak
            });
        }
        Err(refused("a tenth of its noise breaks nothing"))
    }

    /// One call gives this many independent observations.
    #[must_use]
    pub(crate) fn batched(self, batch: usize) -> Self {
        Self { batch, ..self }
    }

    /// Learned testers see the first `view` numbers only.
    #[must_use]
    pub(crate) fn seeing(self, view: usize) -> Self {
        Self { view, ..self }
    }

    /// The numbers seen are letters of a small alphabet.
    #[must_use]
    pub(crate) fn of_letters(self) -> Self {
        Self { letters: true, ..self }
    }

    /// Test runs of each input in the quick form.
    #[must_use]
    pub(crate) fn with_runs(self, runs: usize) -> Self {
        Self { runs, ..self }
    }

    /// How many times the runs of the quick form the full one has.
    #[must_use]
    pub(crate) fn in_full(self, full: usize) -> Self {
        Self { full, ..self }
    }

    /// Why no tester comes near the exact epsilon.
    #[must_use]
    pub(crate) fn with_slack(self, reason: &'static str) -> Self {
        Self { slack: Some(reason), ..self }
    }

    /// What a certificate says: its budget is the claim, its profile the exact epsilon. One whose
    /// profile meets the budget is ours to defend; any other is the claim of whoever published it.
    ///
    /// # Errors
    /// A profile that reaches the delta at no epsilon.
    pub(crate) fn under(self, guarantee: &Guarantee) -> Result<Self> {
        let claim = guarantee.budget();
        let exact = guarantee.profile().map(|profile| -> Result<f64> {
            let target = claim.delta.ln().get();
            let given = profile.log_delta(claim.epsilon).get();
            // Calibrated to the claim itself: the profile would be inverted for nothing.
            let tight = given <= target && given > target - 1e-4;
            Ok(if tight { claim.epsilon.get() } else { profile.epsilon(claim.delta)?.get() })
        });
        let role = match guarantee.claim() {
            Claim::Met => Role::Mechanism,
            Claim::MissedAcceptedByName => {
                Role::ClaimOnly { whose: "published, true delta above it" }
            }
            Claim::Unchecked => Role::ClaimOnly { whose: "published, no profile known" },
        };
        Ok(Self { claim, exact: exact.transpose()?, role, ..self })
    }

    /// A log likelihood ratio (right over left) known in closed form.
    #[must_use]
    pub(crate) fn likelihood(self, score: impl Fn(&[f64]) -> f64 + Send + Sync + 'static) -> Self {
        self.score("likelihood ratio", score)
    }

    /// Another score that needs no training.
    #[must_use]
    pub(crate) fn score(
        mut self,
        name: &'static str,
        score: impl Fn(&[f64]) -> f64 + Send + Sync + 'static,
    ) -> Self {
        self.scores.push((name, Arc::new(score)));
        self
    }

    /// Not a proven mechanism: somebody's claim.
    #[must_use]
    pub(crate) fn claimed_by(self, whose: &'static str) -> Self {
        Self { role: Role::ClaimOnly { whose }, ..self }
    }

    /// Others claim less than what is seen here.
    #[must_use]
    pub(crate) fn outside(self, claim: &'static str) -> Self {
        Self { role: Role::OutsideClaim { claim }, ..self }
    }

    /// The same pair, claim and testers with a sampler that has exactly one defect.
    #[must_use]
    pub(crate) fn twin(
        &self,
        defect: impl Into<String>,
        sample: impl Fn(Side, &Draw, &mut Vec<f64>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let name = defect.into();
        Self {
            role: Role::Twin { defect: name.clone() },
            name,
            sample: Arc::new(sample),
            truth: None,
            slack: None,
            weaker: None,
            ..self.clone()
        }
    }
}

/// The budget of the claim's delta at which `noise`, which falls with epsilon, is `target`.
///
/// # Errors
/// A calibration that fails, or a noise that no epsilon gives.
pub(crate) fn budget_of(
    claim: Budget,
    target: f64,
    noise: impl Fn(Budget) -> Result<f64>,
) -> Result<Budget> {
    let budget = |ln: f64| Ok::<_, Error>(Budget::new(ln.exp(), claim.delta.get())?);
    let gap = |ln: f64| -> Result<f64> { Ok((noise(budget(ln)?)? / target).ln()) };
    let mut a = claim.epsilon.get().ln();
    let mut gap_a = gap(a)?;
    let mut b = a + gap_a;
    let mut gap_b = gap(b)?;
    // Noise is nearly a power of epsilon: a few secants in logarithms.
    for _ in 0..30 {
        if gap_b.abs() < 1e-4 || gap_b == gap_a {
            break;
        }
        let c = b - (gap_b * (b - a) / (gap_b - gap_a)).clamp(-1.0, 1.0);
        (a, gap_a, b) = (b, gap_b, c);
        gap_b = gap(b)?;
    }
    if gap_b.abs() > 1e-2 {
        let reason = format!("no epsilon gives noise {target}");
        return Err(Error::Malformed { what: "noise of a twin".into(), reason });
    }
    budget(b)
}

/// `ln N(z; b, sigma^2 I) - ln N(z; a, sigma^2 I)`.
#[must_use]
pub(crate) fn gaussian_ratio(z: &[f64], a: &[f64], b: &[f64], sigma: f64) -> f64 {
    let sum: f64 =
        z.iter().zip(a).zip(b).map(|((z, a), b)| (z - a).powi(2) - (z - b).powi(2)).sum();
    sum / (2.0 * sigma * sigma)
}

/// The same for Laplace noise of scale `scale`.
#[must_use]
pub(crate) fn laplace_ratio(z: &[f64], a: &[f64], b: &[f64], scale: f64) -> f64 {
    z.iter().zip(a).zip(b).map(|((z, a), b)| (z - a).abs() - (z - b).abs()).sum::<f64>() / scale
}

/// Place of the lowest bit of a number, as a power of two: a lattice that the number lies on shows there.
#[must_use]
pub(crate) fn lowest_bit(x: f64) -> i32 {
    if x == 0.0 || !x.is_finite() {
        return 1024;
    }
    let bits = x.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (place, significand) =
        if exponent == 0 { (-1074, fraction) } else { (exponent - 1075, fraction | 1 << 52) };
    place + significand.trailing_zeros() as i32
}
