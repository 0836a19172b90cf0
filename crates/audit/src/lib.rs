//! The guarantee attacked by our own hand: every mechanism, on the worst adjacent pair that a
//! search finds, against testers that try to tell the two inputs apart; and deliberately
//! broken twins, each of which must be caught.
//!
//! For an event S of the release, `Pr[S | x] > e^epsilon Pr[S | x'] + delta` contradicts
//! (epsilon, delta)-differential privacy. Each audit chooses S on training runs (likelihood
//! ratio, histogram or nearest centroid; either tail; either input as the frequent one), counts
//! it on fresh runs, and bounds both probabilities by Clopper and Pearson: the epsilon so
//! proven is compared with the claim. All limits together are wrong with probability at most
//! [`TOTAL_ALARM`] (Bonferroni). An audit can refute a claim; it can never prove one.
//!
//! Mechanisms run through their public interfaces, with a deterministic noise generator seeded
//! for each run. `mechanisms` has one file a family, and `mechanisms::structure` pairs that no
//! search would find; `twins` holds the broken ones, and makes one for every mechanism.

#[cfg(test)]
mod audit_tests;
mod confidence;
mod mechanisms;
mod report;
mod run;
mod search;
mod subject;
mod tester;
mod twins;

pub use report::{Summary, everything, run};
pub use run::{Finding, Settings, TOTAL_ALARM};
pub use subject::Role;

/// The snippets are tests, those that must not compile too.
#[cfg(doctest)]
#[doc = include_str!("misuses.md")]
struct Misuses;
