//! What an attacker learns at most, from a guarantee alone.
//!
//! [`TradeOff`] turns a profile into what people ask: how many false alarms buy how many true ones, how often
//! the best guess is right, how sure anybody becomes. [`Explanation`] says it in words and numbers, with what the
//! adjacency protects and what it does not, for a release by itself and with all that a ledger holds.
//! Proof: `docs/proofs/trade-off.md`.
//!
//! ```
//! use dp_core::explain::TradeOff;
//! use dp_core::{L2Sensitivity, NoiseScale, Probability, Profile};
//!
//! // Gaussian noise of the size of what it hides.
//! let (sensitivity, sigma) = (L2Sensitivity::new(1.0)?, NoiseScale::new(1.0)?);
//! let best = TradeOff::new(&Profile::Gaussian { sensitivity, sigma })?;
//! // Five false alarms in a hundred: 74 of a hundred are missed, whoever looks.
//! let missed = best.missed_alarms(Probability::new(0.05)?);
//! assert!((missed - 0.7405).abs() < 1e-4);
//! // The best guess between two equally likely values is right 69 times in a hundred.
//! assert!((best.right_guesses(Probability::new(0.5)?) - 0.6915).abs() < 1e-4);
//! # Ok::<(), dp_core::Error>(())
//! ```

mod report;
mod tradeoff;
mod words;

pub use report::{Alarms, Explanation, Guess, Learned, Questions};
pub use tradeoff::{Belief, TradeOff};
