//! What a data set has paid so far.
//!
//! A [`Ledger`] holds, for one data set and one adjacency, what certified mechanisms
//! did to it, and answers "how much in all" by a [`Method`]. A ledger with a limit
//! ([`Ledger::with_limit`]) refuses what would pass it, before anything is released.
//!
//! | method | knows of each run | answer |
//! | --- | --- | --- |
//! | [`Method::Basic`] | epsilon at its share of delta | sum |
//! | [`Method::Advanced`] | the same | Dwork, Rothblum, Vadhan 2010 |
//! | [`Method::OptimalPure`] | the same | the best possible from that (Kairouz, Oh, Viswanath 2015) |
//! | [`Method::Zcdp`] | rho | Canonne, Kamath, Steinke 2020 |
//! | [`Method::Rdp`] | the Renyi divergence of every order | the same |
//! | [`Method::Gdp`] | mu | exact for Gaussians |
//! | [`Method::Pld`] | the whole profile | exact up to the width of its bracket |
//!
//! Individual-DP certificates cannot enter a ledger:
//!
//! ```compile_fail,E0308
//! fn add(ledger: &mut dp_core::accounting::Ledger, c: &dp_core::IndividualCertificate) {
//!     ledger.add(c, "a release").unwrap();
//! }
//! ```
//!
//! while a certificate of differential privacy can:
//!
//! ```
//! fn add(ledger: &mut dp_core::accounting::Ledger, c: &dp_core::Certificate) {
//!     ledger.add(c, "a release").unwrap();
//! }
//! ```

mod basic;
mod entry;
mod exchange;
mod filter;
mod gdp;
mod kov;
mod ledger;
mod part;
mod renyi;
#[cfg(test)]
mod tests;

pub use crate::profile::Event;
pub use crate::profile::pld::{self, Bracket, Pld, Width};
pub(crate) use entry::Cost;
pub use entry::Entry;
pub use exchange::{Foreign, Stated};
pub use filter::{Filter, FilterRule};
pub use ledger::{Ledger, Standing};
pub use part::{Named, Part};

use crate::budget::{Delta, Epsilon};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// How to compose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Method {
    /// Epsilons add up, deltas add up.
    Basic,
    /// Dwork, Rothblum, Vadhan 2010.
    Advanced,
    /// Optimal composition of pure (or approximate) guarantees: Kairouz, Oh,
    /// Viswanath 2015; exact for runs of one epsilon, numerical otherwise.
    OptimalPure,
    /// Zero-concentrated differential privacy (Bun, Steinke 2016).
    Zcdp,
    /// Renyi differential privacy (Mironov 2017), every order.
    Rdp,
    /// Gaussian differential privacy (Dong, Roth, Su 2022).
    Gdp,
    /// Privacy loss distributions: the numerical, tight answer.
    Pld,
}

impl Method {
    /// Every method, cheapest knowledge first.
    pub const ALL: [Self; 7] = [
        Self::Basic,
        Self::Advanced,
        Self::OptimalPure,
        Self::Zcdp,
        Self::Rdp,
        Self::Gdp,
        Self::Pld,
    ];
}

/// More events than these are composed at [`WIDE`]: each law has cells of its own.
const MANY: usize = 20;
const WIDE: f64 = 1e-4;

/// The epsilon of `events` together at `delta`. The lower end is present only where
/// the method is exact up to arithmetic.
///
/// # Errors
/// [`crate::Error::Calibration`] when the method cannot answer for some event.
pub fn epsilon(events: &[Event], delta: Delta, method: Method) -> Result<Bracket<Epsilon>> {
    let above = |upper: Epsilon| Bracket { lower: None, upper };
    match method {
        Method::Basic => basic::basic(events, delta).map(above),
        Method::Advanced => basic::advanced(events, delta).map(above),
        Method::OptimalPure => kov::optimal(events, delta).map(|b| above(b.upper)),
        Method::Zcdp => renyi::zcdp(events, delta).map(above),
        Method::Rdp => renyi::rdp(events, delta).map(above),
        Method::Gdp => gdp::gdp(events, delta),
        Method::Pld if events.len() > MANY => {
            Pld::new(events).with_width(Width::new(WIDE)?).epsilon(delta)
        }
        Method::Pld => Pld::new(events).epsilon(delta),
    }
}
