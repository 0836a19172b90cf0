//! What is audited: a mechanism on an adjacent pair of inputs, and what it claims.

use crate::error::Result;
use dp_core::{
    Budget, Claim, FreshSeed, Guarantee, NoiseRng, PrivacyProfile, PublicGenerator, PublicSeed,
};
use std::sync::Arc;

/// Which of the two adjacent inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The first.
    Left,
    /// The second.
    Right,
}

impl Side {
    /// Picks one of two values.
    pub fn of<'a, T: ?Sized>(self, left: &'a T, right: &'a T) -> &'a T {
        match self {
            Self::Left => left,
            Self::Right => right,
        }
    }
}

/// The randomness of one run: a noise generator and fresh seeds of its own.
#[derive(Debug, Clone, Copy)]
pub struct Draw(pub(super) u64);

impl Draw {
    /// The run's noise generator; every call starts it anew.
    #[must_use]
    pub fn noise(&self) -> NoiseRng {
        NoiseRng::deterministic_not_private(self.number(1))
    }

    /// The run's fresh public seed.
    #[must_use]
    pub fn fresh(&self) -> FreshSeed {
        FreshSeed::reproducible_not_private(self.number(2))
    }

    /// Public randomness of the run.
    #[must_use]
    pub fn public(&self) -> PublicGenerator {
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
pub type Sampler = Arc<dyn Fn(Side, &Draw, &mut Vec<f64>) -> Result<()> + Send + Sync>;

/// A number computed from one observation; large where the right input is the likelier.
pub type Score = Arc<dyn Fn(&[f64]) -> f64 + Send + Sync>;

/// What a finding above the claim means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// Proven: a finding above the claim accuses it, and the audit fails.
    Mechanism,
    /// Deliberately broken: no finding above the claim means that the tester is blind, and
    /// the audit fails.
    Twin {
        /// Its one defect.
        defect: &'static str,
    },
    /// A claim that is not ours to defend: the table says whether it is refuted.
    ClaimOnly {
        /// Whose claim.
        whose: &'static str,
    },
}

/// One audit: a mechanism, an adjacent pair, a claim, and the testers that try to refute it.
#[derive(Clone)]
pub struct Subject {
    /// Mechanism and setting.
    pub name: String,
    /// Family (one file of `audit::mechanisms`).
    pub family: &'static str,
    /// What a finding means.
    pub role: Role,
    /// What is claimed for the pair.
    pub claim: Budget,
    /// The epsilon that the certificate's own profile gives at the claimed delta; none where it
    /// states no profile. Below the claim where the noise is more than the claim needs.
    pub exact: Option<f64>,
    /// The pair, in words, and how it was found.
    pub pair: String,
    /// Why the bound stays far below the exact epsilon, where it does.
    pub slack: Option<&'static str>,
    /// Observations of one call of the sampler; independent unless the mechanism is broken.
    pub batch: usize,
    /// Numbers in an observation.
    pub width: usize,
    /// The learned testers see these first numbers of an observation; the rest is public
    /// side information for the likelihood ratio.
    pub view: usize,
    /// Whether the numbers seen are letters: the histogram then counts exact values.
    pub letters: bool,
    /// Test runs of each input in the quick form.
    pub runs: usize,
    /// How many times that many in the full form.
    pub full: usize,
    /// Scores that need no training: likelihood ratios, and traces of known attacks.
    pub scores: Vec<(&'static str, Score)>,
    /// Runs the mechanism through its public interface.
    pub sample: Sampler,
}

impl core::fmt::Debug for Subject {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Subject").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Subject {
    /// A proven mechanism that gives one observation of `width` real numbers a call.
    pub fn new(
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
        }
    }

    /// One call gives this many independent observations.
    #[must_use]
    pub fn batched(self, batch: usize) -> Self {
        Self { batch, ..self }
    }

    /// Learned testers see the first `view` numbers only.
    #[must_use]
    pub fn seeing(self, view: usize) -> Self {
        Self { view, ..self }
    }

    /// The numbers seen are letters of a small alphabet.
    #[must_use]
    pub fn of_letters(self) -> Self {
        Self { letters: true, ..self }
    }

    /// Test runs of each input in the quick form.
    #[must_use]
    pub fn with_runs(self, runs: usize) -> Self {
        Self { runs, ..self }
    }

    /// How many times the runs of the quick form the full one has.
    #[must_use]
    pub fn in_full(self, full: usize) -> Self {
        Self { full, ..self }
    }

    /// Why no tester comes near the exact epsilon.
    #[must_use]
    pub fn with_slack(self, reason: &'static str) -> Self {
        Self { slack: Some(reason), ..self }
    }

    /// What a certificate says: its budget is the claim, its profile the exact epsilon. One whose
    /// profile meets the budget is ours to defend; any other is the claim of whoever published it.
    ///
    /// # Errors
    /// A profile that reaches the delta at no epsilon.
    pub fn under(self, guarantee: &Guarantee) -> Result<Self> {
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
    pub fn likelihood(self, score: impl Fn(&[f64]) -> f64 + Send + Sync + 'static) -> Self {
        self.score("likelihood ratio", score)
    }

    /// Another score that needs no training.
    #[must_use]
    pub fn score(
        mut self,
        name: &'static str,
        score: impl Fn(&[f64]) -> f64 + Send + Sync + 'static,
    ) -> Self {
        self.scores.push((name, Arc::new(score)));
        self
    }

    /// Not a proven mechanism: somebody's claim.
    #[must_use]
    pub fn claimed_by(self, whose: &'static str) -> Self {
        Self { role: Role::ClaimOnly { whose }, ..self }
    }

    /// The same pair, claim and testers with a sampler that has exactly one defect.
    #[must_use]
    pub fn twin(
        &self,
        defect: &'static str,
        sample: impl Fn(Side, &Draw, &mut Vec<f64>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let role = Role::Twin { defect };
        Self { name: defect.to_owned(), role, sample: Arc::new(sample), ..self.clone() }
    }
}

/// `ln N(z; b, sigma^2 I) - ln N(z; a, sigma^2 I)`.
#[must_use]
pub fn gaussian_ratio(z: &[f64], a: &[f64], b: &[f64], sigma: f64) -> f64 {
    let sum: f64 =
        z.iter().zip(a).zip(b).map(|((z, a), b)| (z - a).powi(2) - (z - b).powi(2)).sum();
    sum / (2.0 * sigma * sigma)
}

/// The same for Laplace noise of scale `scale`.
#[must_use]
pub fn laplace_ratio(z: &[f64], a: &[f64], b: &[f64], scale: f64) -> f64 {
    z.iter().zip(a).zip(b).map(|((z, a), b)| (z - a).abs() - (z - b).abs()).sum::<f64>() / scale
}
