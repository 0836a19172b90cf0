//! Guarantees made elsewhere, and ours for others: one JSON form.

use super::{Entry, Ledger};
use crate::adjacency::Adjacency;
use crate::budget::{Budget, Delta, Epsilon};
use crate::certificate::preprocessing::Preprocessing;
use crate::certificate::{Certificate, canonical};
use crate::error::{Error, Result, rejected};
use crate::guarantee::{Guarantee, Provenance};
use crate::profile::pld::Pld;
use crate::profile::{Event, LossWay, PrivacyProfile, Profile};
use crate::quantity::{L2Sensitivity, NoiseScale};
use crate::text::json_fault;
use serde::{Deserialize, Serialize};

/// The name of the form.
const FORM: &str = "dp-guarantee/1";
/// Longest text.
const LONGEST: usize = 1 << 20;
/// Cells on either side of zero that are written.
const CELLS: u32 = 1 << 12;

/// A guarantee as programs hand it to each other: what somebody declares, in a form that other accountants
/// have too.
///
/// ```
/// use dp_core::accounting::Foreign;
/// use dp_core::Delta;
///
/// let theirs = Foreign::from_json(
///     r#"{"form": "dp-guarantee/1", "adjacency": {"kind": "add-remove-row", "bound": 1.0},
///         "declared by": "the census", "reason": "OpenDP measurement 7",
///         "guarantee": {"kind": "zcdp", "rho": 0.125}}"#,
/// )?;
/// let guarantee = theirs.guarantee(Some(Delta::new(1e-6)?))?;
/// assert!((guarantee.budget().epsilon.get() - 2.4191).abs() < 1e-3);
/// # Ok::<(), dp_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Foreign {
    form: String,
    /// Which inputs are protected against each other.
    pub adjacency: Adjacency,
    /// Who declares it.
    #[serde(rename = "declared by")]
    pub by: String,
    /// Why it holds.
    pub reason: String,
    /// What is declared.
    #[serde(rename = "guarantee")]
    pub stated: Stated,
}

/// What a guarantee made elsewhere states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Stated {
    /// (epsilon, delta)-differential privacy; delta 0 is pure.
    ApproximateDp {
        /// Epsilon.
        epsilon: Epsilon,
        /// Delta.
        delta: Delta,
    },
    /// rho-zero-concentrated differential privacy.
    Zcdp {
        /// Rho.
        rho: f64,
    },
    /// mu-Gaussian differential privacy.
    GaussianDp {
        /// Mu.
        mu: f64,
    },
    /// A privacy loss distribution in cells, from above (pessimistic).
    LossDistribution {
        /// Width of a cell.
        step: f64,
        /// One way of the change, or both.
        ways: Vec<LossWay>,
    },
}

impl Stated {
    fn profile(&self) -> Result<Profile> {
        Ok(match self {
            Self::ApproximateDp { epsilon, delta } if *delta == Delta::ZERO => {
                Profile::PureDp { epsilon: *epsilon }
            }
            Self::ApproximateDp { epsilon, delta } => {
                Profile::ApproximateDp { epsilon: *epsilon, delta: *delta }
            }
            Self::Zcdp { rho } => Profile::Zcdp { rho: *rho },
            Self::GaussianDp { mu } => gaussian(*mu)?,
            Self::LossDistribution { step, ways } => {
                ways.iter().try_for_each(|way| way.check_likely(*step))?;
                Profile::LossDistribution { step: *step, ways: ways.clone() }
            }
        })
    }

    /// Of events that ran one after the other; what `beyond` adds is lost altogether.
    fn of_events(events: &[Event], beyond: f64) -> Result<Self> {
        let pld = Pld::new(events);
        match pld.gaussian_square() {
            Some(square) if square > 0.0 && beyond == 0.0 => {
                // Up: a sum of squares and its root.
                return Ok(Self::GaussianDp { mu: square.sqrt() * (1.0 + 1e-14) });
            }
            _ => {}
        }
        let (step, mut way) = pld.distribution(CELLS)?;
        way.infinite = (way.infinite + beyond * (1.0 - way.infinite) * (1.0 + 1e-12)).min(1.0);
        let left = (1.0 - beyond).max(0.0);
        way.masses.iter_mut().for_each(|p| *p *= left);
        Ok(Self::LossDistribution { step, ways: vec![way] })
    }
}

fn gaussian(mu: f64) -> Result<Profile> {
    Ok(Profile::Gaussian { sensitivity: L2Sensitivity::new(mu)?, sigma: NoiseScale::new(1.0)? })
}

impl Foreign {
    /// Somebody's declaration.
    #[must_use]
    pub fn new(
        adjacency: Adjacency,
        stated: Stated,
        by: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        let (by, reason) = (by.into(), reason.into());
        Self { form: FORM.to_owned(), adjacency, by, reason, stated }
    }

    /// Reads one.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] for another form, and for parameters outside their limits.
    pub fn from_json(text: &str) -> Result<Self> {
        if text.len() > LONGEST {
            return Err(rejected("guarantee", format!("longer than {LONGEST} bytes")));
        }
        let read: Self =
            serde_json::from_str(text).map_err(|e| rejected("guarantee", json_fault(&e)))?;
        if read.form != FORM {
            return Err(rejected("form", format!("another than {FORM}")));
        }
        read.stated.profile()?.check_limits()?;
        Ok(read)
    }

    /// The profile of what is stated.
    pub(crate) fn profile(&self) -> Result<Profile> {
        self.stated.profile()
    }

    /// Canonical text.
    #[must_use]
    pub fn to_json(&self) -> String {
        canonical(self)
    }

    /// As a ledger takes it: declared, never proven. All but an (epsilon, delta) need the `delta` at which
    /// their epsilon is stated.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] without that delta, or for one beside an (epsilon, delta);
    /// [`Error::Calibration`] when no epsilon reaches it.
    pub fn guarantee(&self, delta: Option<Delta>) -> Result<Guarantee> {
        let profile = self.stated.profile()?;
        profile.check_limits()?;
        let budget = match (&self.stated, delta) {
            (Stated::ApproximateDp { epsilon, delta }, None) => {
                Budget { epsilon: *epsilon, delta: *delta }
            }
            (Stated::ApproximateDp { .. }, Some(delta)) => {
                let allowed = "left out: the guarantee states its own";
                return Err(Error::invalid("delta", delta, allowed));
            }
            (_, Some(delta)) => Budget { epsilon: profile.epsilon(delta)?, delta },
            (_, None) => {
                let allowed = "stated, in (0, 1): the guarantee is a curve, and a ledger states a point of it";
                return Err(Error::invalid("delta", "none", allowed));
            }
        };
        Guarantee::declared(self.adjacency, budget, profile, &self.by, &self.reason)
    }

    /// One of our guarantees: (epsilon, delta) where nothing else is known, Gaussian where it is exactly that,
    /// else its loss distribution.
    ///
    /// # Errors
    /// [`Error::Calibration`] when everything may be lost at epsilon 100.
    pub fn of(guarantee: &Guarantee) -> Result<Self> {
        let Budget { epsilon, delta } = guarantee.budget();
        let stated = match guarantee.profile() {
            None => Stated::ApproximateDp { epsilon, delta },
            Some(&Profile::PureDp { epsilon }) => {
                Stated::ApproximateDp { epsilon, delta: Delta::ZERO }
            }
            Some(&Profile::ApproximateDp { epsilon, delta }) => {
                Stated::ApproximateDp { epsilon, delta }
            }
            Some(&Profile::Zcdp { rho }) => Stated::Zcdp { rho },
            // As it was stated.
            Some(&Profile::Gaussian { sensitivity, sigma }) if sigma.get() == 1.0 => {
                Stated::GaussianDp { mu: sensitivity.get() }
            }
            Some(Profile::LossDistribution { step, ways }) => {
                Stated::LossDistribution { step: *step, ways: ways.clone() }
            }
            Some(profile) => Stated::of_events(&[Event::once(profile.clone())], 0.0)?,
        };
        let (by, reason) = match guarantee.provenance() {
            Provenance::Proven { theorem } => (LIBRARY.to_owned(), theorem.to_string()),
            Provenance::Published { source, caveat } => {
                (LIBRARY.to_owned(), format!("published, not proven: {source}; {caveat}"))
            }
            Provenance::Declared { by, reason } => (by.clone(), reason.clone()),
        };
        Ok(Self::new(guarantee.adjacency(), stated, by, reason))
    }

    /// All that a ledger holds, as one guarantee: the composition. It holds where every release's
    /// parameters were fixed before any answer was seen.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for an empty ledger; [`Error::Calibration`] when everything may be lost at epsilon 100.
    pub fn of_ledger(ledger: &Ledger) -> Result<Self> {
        Self::of_ledger_and(ledger, None)
    }

    /// As [`Foreign::of_ledger`], with one run of another guarantee.
    pub(crate) fn of_ledger_and(ledger: &Ledger, besides: Option<&Certificate>) -> Result<Self> {
        // A claim without a profile stands as its pure part, and its delta beside it.
        let (mut events, mut beyond) = ledger.composed();
        if let Some(certificate) = besides {
            let entry = Entry::of_release(certificate, "".into(), ledger.adjacency())?;
            beyond += entry.cost().beyond().get();
            events.push(entry.event().clone());
        }
        if events.is_empty() {
            return Err(Error::invalid("entries of the ledger", 0, "[1, inf)"));
        }
        let stated = Stated::of_events(&events, beyond)?;
        let runs: u64 = events.iter().map(Event::count).sum();
        let parts = ledger.declared_parts().map_or(String::new(), |said| format!("; {said}"));
        let reason = format!(
            "composition of {runs} runs whose parameters were fixed in advance{parts}{}",
            ledger.at_their_word().map_or(String::new(), |said| format!("; {said}"))
        );
        Ok(Self::new(ledger.adjacency(), stated, LIBRARY, reason))
    }
}

/// The guarantee of a release for whoever counts guarantees and knows no release, for [`Foreign::of`] as well: of one whose randomness
/// nobody could know, and whose rows were not mapped in a way by which the change that its guarantee is about is another one before the
/// map. Other programs know neither.
///
/// Refused: [`Error::CertificateRejected`], also as [`Certificate::require_secret_randomness`]; as [`Preprocessing::of_unit`].
impl TryFrom<&Certificate> for Guarantee {
    type Error = Error;
    fn try_from(certificate: &Certificate) -> Result<Self> {
        certificate.require_secret_randomness()?;
        let guarantee = certificate.guarantee();
        let unit = guarantee.adjacency();
        if let Some(map) = Preprocessing::stated(&certificate.statement().public)? {
            // A guarantee about rows that come and go may stand for zeroed ones as well.
            let zeroed = match unit.each() {
                Adjacency::AddRemoveRow { bound } => Adjacency::ZeroRow { bound },
                each => each,
            };
            let (each, behind) = (zeroed.of_user(unit.rows())?, map.of_unit(unit)?);
            let mapped = if behind == unit { map.of_unit(each)? } else { behind };
            if mapped != unit && mapped != each {
                let text = format!(
                    "its rows were mapped first: what is said of them ({unit}) becomes {mapped} behind the map, which a guarantee by itself \
                     has no place for. Enter the release itself in a ledger (dps ledger record), which counts the map"
                );
                return Err(rejected("guarantee.adjacency", text));
            }
        }
        Ok(guarantee.clone())
    }
}

/// Who declares what this library computed.
const LIBRARY: &str = concat!("dp-core ", env!("CARGO_PKG_VERSION"));
