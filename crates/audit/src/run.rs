//! Runs audits: train, choose an event, count it on fresh runs, bound epsilon.

use super::confidence::{Count, delta_bound, epsilon_bound};
use super::subject::{Draw, Role, Side, Subject, mix};
use super::tester::{Event, Training, best_event, scores};
use dp_core::numeric::ln_normal_cdf;
use eval::Effort;
use eval::Result;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

/// The probability that anything healthy is accused, all audits together.
pub const TOTAL_ALARM: f64 = 1e-6;

/// How the audits run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Quick: a step of the tests. Full: eight times the runs, or as many as a subject says; twice for broken
    /// twins that the quick form runs too, which are caught there.
    pub effort: Effort,
    /// Every random number follows from it.
    pub seed: u64,
}

/// What an audit says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// No event contradicts the claim.
    Consistent,
    /// A proven mechanism's claim, or the profile in a certificate, is contradicted.
    Accused,
    /// A broken twin was found out.
    Caught,
    /// A broken twin was not found out.
    Missed,
    /// A claim that nobody here defends is contradicted.
    Refuted,
    /// What is seen leaks more than a claim about less says.
    Outside,
}

impl core::fmt::Display for Verdict {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Consistent => "consistent",
            Self::Accused => "ACCUSED",
            Self::Caught => "caught",
            Self::Missed => "MISSED",
            Self::Refuted => "refuted",
            Self::Outside => "outside its claim",
        })
    }
}

/// The result of one audit.
#[derive(Debug, Clone)]
pub struct Finding {
    /// What was audited.
    pub subject: Subject,
    /// The tester that was chosen on training runs.
    pub tester: &'static str,
    /// The event of its score.
    pub(crate) event: Event,
    /// How often it happened under the input where it should be frequent.
    pub(crate) often: Count,
    /// How often under the other.
    pub(crate) seldom: Count,
    /// Lower confidence bound on epsilon at the claimed delta.
    pub epsilon: f64,
    /// Lower confidence bound on delta at the claimed epsilon.
    pub delta: f64,
    /// The conclusion.
    pub verdict: Verdict,
}

impl Finding {
    /// Lower bound over the exact epsilon; over the claim, where no profile is stated.
    #[must_use]
    pub fn tightness(&self) -> f64 {
        let claim = self.subject.claim.epsilon.get();
        self.epsilon / self.subject.exact.unwrap_or(claim)
    }

    /// Whether the exact epsilon is zero up to the search for it: at this delta there is nothing to find.
    #[must_use]
    pub(crate) fn nothing_to_find(&self) -> bool {
        self.subject.exact.is_some_and(|exact| exact < 1e-9)
    }
}

/// Seeds of the runs of one part of one audit.
struct Runs {
    base: u64,
}

impl Runs {
    fn new(seed: u64, subject: &Subject, part: &str, side: Side) -> Self {
        let mut hash = Sha256::new();
        hash.update(seed.to_le_bytes());
        hash.update(format!("{}/{}/{part}/{side:?}", subject.family, subject.name));
        Self { base: u64::from_le_bytes(hash.finalize()[..8].try_into().expect("eight bytes")) }
    }

    fn draw(&self, call: usize) -> Draw {
        Draw(mix(self.base.wrapping_add((call as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))))
    }
}

/// Maps `count` observations of one input, in parallel; the order and the values do not
/// depend on the number of threads.
fn observe<T: Send>(
    subject: &Subject,
    side: Side,
    runs: &Runs,
    count: usize,
    map: impl Fn(&[f64]) -> T + Sync,
) -> Result<Vec<T>> {
    let calls: Vec<Vec<T>> = (0..count.div_ceil(subject.batch))
        .into_par_iter()
        .map_init(Vec::new, |buffer, call| {
            buffer.clear();
            (subject.sample)(side, &runs.draw(call), buffer)?;
            assert_eq!(buffer.len(), subject.batch * subject.width, "{}", subject.name);
            Ok(buffer.chunks_exact(subject.width).map(&map).collect())
        })
        .collect::<Result<_>>()?;
    let mut all: Vec<T> = calls.into_iter().flatten().collect();
    all.truncate(count);
    Ok(all)
}

fn both<T: Send>(
    subject: &Subject,
    seed: u64,
    part: &str,
    count: usize,
    map: impl Fn(&[f64]) -> T + Sync,
) -> Result<[Vec<T>; 2]> {
    let one = |side| observe(subject, side, &Runs::new(seed, subject, part, side), count, &map);
    Ok([one(Side::Left)?, one(Side::Right)?])
}

/// Audits one subject. `audits` is how many share the total false-alarm rate.
///
/// A quarter of the test runs serves to train, another to choose tester and event; the event is then
/// counted on runs that nothing was chosen by.
///
/// # Errors
/// Whatever the mechanism refused.
pub(crate) fn audit(subject: &Subject, settings: Settings, audits: usize) -> Result<Finding> {
    let factor = match (settings.effort, subject.form, &subject.role) {
        (Effort::Quick, ..) => 1,
        (Effort::Full, Effort::Quick, Role::Twin { .. }) => 2,
        (Effort::Full, ..) => subject.full,
    };
    let tested = subject.runs * factor;
    let trained = tested.div_ceil(4);
    let delta = subject.claim.delta;
    // Two one-sided limits an audit.
    let ln_alarm = (TOTAL_ALARM / (2.0 * audits.max(1) as f64)).ln();
    let seed = settings.seed;

    let [left, right] = both(subject, seed, "train", trained, <[f64]>::to_vec)?;
    let training = Training { width: subject.width, left: left.concat(), right: right.concat() };
    let scores = scores(subject, &training);
    drop(training);

    let every = |x: &[f64]| scores.iter().map(|(_, s)| finite(s(x))).collect::<Vec<f64>>();
    let chosen = both(subject, seed, "choose", trained, every)?;
    // As wide as the limits will be, and room for having chosen the best of many.
    let z = deviations(ln_alarm) * (trained as f64 / tested as f64).sqrt() + 1.5;
    let (mut tester, mut best) = (0, None);
    for index in 0..scores.len() {
        let column = |rows: &Vec<Vec<f64>>| rows.iter().map(|r| r[index]).collect::<Vec<f64>>();
        let (event, bound) = best_event(&column(&chosen[0]), &column(&chosen[1]), delta, z);
        if best.is_none_or(|(_, top)| bound > top) {
            (tester, best) = (index, Some((event, bound)));
        }
    }
    let event = best.expect("every subject has a score").0;

    let (name, score) = &scores[tester];
    let fresh = both(subject, seed, "test", tested, |x| event.happens(finite(score(x))))?;
    let [left, right] = fresh.map(|happened| Count {
        hits: happened.iter().filter(|h| **h).count() as u64,
        runs: happened.len() as u64,
    });
    let (often, seldom) = if event.often == Side::Right { (right, left) } else { (left, right) };
    let (high, low) = (often.lower(ln_alarm), seldom.upper(ln_alarm));
    let epsilon = epsilon_bound(high, low, delta);
    let verdict = verdict(subject, epsilon);
    Ok(Finding {
        subject: subject.clone(),
        tester: name,
        event,
        often,
        seldom,
        epsilon,
        delta: delta_bound(high, low, subject.claim.epsilon),
        verdict,
    })
}

fn verdict(subject: &Subject, epsilon: f64) -> Verdict {
    let above = epsilon > subject.claim.epsilon.get();
    let beyond = subject.exact.is_some_and(|exact| epsilon > exact);
    match subject.role {
        // What would accuse its original catches a twin.
        Role::Twin { .. } if above || beyond => Verdict::Caught,
        Role::Twin { .. } => Verdict::Missed,
        // A certificate is ours whoever made the claim.
        _ if beyond => Verdict::Accused,
        Role::Mechanism if above => Verdict::Accused,
        Role::ClaimOnly { .. } if above => Verdict::Refuted,
        Role::OutsideClaim { .. } if above => Verdict::Outside,
        _ => Verdict::Consistent,
    }
}

/// A score that is no number says nothing.
fn finite(score: f64) -> f64 {
    if score.is_nan() { 0.0 } else { score }
}

/// The z with `Phi(-z) = e^ln_alarm`.
fn deviations(ln_alarm: f64) -> f64 {
    let (mut low, mut high) = (0.0f64, 40.0f64);
    for _ in 0..60 {
        let mid = 0.5 * (low + high);
        if ln_normal_cdf(-mid) > ln_alarm { low = mid } else { high = mid }
    }
    low
}
