//! What a reader demands of a guarantee.

use super::preprocessing::Preprocessing;
use super::{AnyCertificate, Certificate};
use crate::adjacency::Adjacency;
use crate::budget::{Budget, Delta, Epsilon};
use crate::error::{Error, Result};
use crate::guarantee::{Claim, Provenance};
use crate::profile::PrivacyProfile;
use crate::quantity::Shift;
use crate::seed::FreshSeed;
use core::str::FromStr;
use serde_json::Value;

/// What a guarantee must promise at least.
///
/// Written as clauses with commas between them:
///
/// | clause | met by |
/// | --- | --- |
/// | `epsilon<=1`, `delta<=1e-6` | a guarantee within both; where its profile is known, at any split of the two |
/// | `adjacency=attribute` | this kind of neighbours; of rows that were mapped first, before the map |
/// | `beta>=2`, `l2>=1`, `bound>=1`, `alpha>=2`, `rows>=10`, `min_size<=5` | neighbours at least so far apart; `beta` and `l2` before the map |
/// | `provenance=proven` | `proven`, `published` or `declared` |
/// | `generator=os` | randomness of the operating system |
///
/// Only differential privacy meets any: a certificate of another class is refused.
///
/// ```
/// use dp_core::certificate::Requirements;
///
/// let wanted: Requirements = "epsilon<=1,delta<=1e-6,adjacency=attribute,provenance=proven".parse()?;
/// assert!("epsilon<1".parse::<Requirements>().is_err() && "colour=red".parse::<Requirements>().is_err());
/// # let _ = wanted;
/// # Ok::<(), dp_core::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Requirements {
    clauses: Vec<Clause>,
}

#[derive(Debug, Clone, PartialEq)]
enum Clause {
    Epsilon(Epsilon),
    Delta(Delta),
    Adjacency(String),
    /// A parameter of the adjacency, and whether the stated one must be at least, or at most, this.
    Reach(&'static str, bool, f64),
    Provenance(&'static str),
    Generator,
}

/// Parameters of adjacencies; whether more of it is a wider promise.
const REACH: [(&str, bool); 6] = [
    ("beta", true),
    ("l2", true),
    ("bound", true),
    ("alpha", true),
    ("rows", true),
    ("min_size", false),
];

/// Kinds of adjacencies.
const KINDS: [&str; 8] = [
    "attribute",
    "row-shift",
    "add-remove-row",
    "zero-row",
    "replace-row",
    "set-items",
    "any-input",
    "user",
];

const PROVENANCES: [&str; 3] = ["proven", "published", "declared"];

/// What clauses there are, for errors.
const ALLOWED: &str = "epsilon<=, delta<=, adjacency=KIND, beta>=, l2>=, bound>=, alpha>=, rows>=, min_size<=, \
     provenance=proven|published|declared, generator=os, with commas between them";

impl FromStr for Requirements {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let clauses = text.split(',').map(|c| clause(c.trim())).collect::<Result<_>>()?;
        Ok(Self { clauses })
    }
}

fn clause(text: &str) -> Result<Clause> {
    let wrong = || Error::invalid("requirement", text, ALLOWED);
    let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
    if let Some((name, value)) = text.split_once("<=") {
        return match name.trim() {
            "epsilon" => Ok(Clause::Epsilon(Epsilon::new(number(value)?)?)),
            "delta" => Ok(Clause::Delta(Delta::new(number(value)?)?)),
            name => reach(name, false, number(value)?).ok_or_else(wrong),
        };
    }
    if let Some((name, value)) = text.split_once(">=") {
        return reach(name.trim(), true, number(value)?).ok_or_else(wrong);
    }
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    let (name, value) = (name.trim(), value.trim());
    match name {
        "adjacency" if KINDS.contains(&value) => Ok(Clause::Adjacency(value.to_owned())),
        "provenance" => {
            let known = PROVENANCES.into_iter().find(|p| *p == value);
            known.map(Clause::Provenance).ok_or_else(wrong)
        }
        "generator" if value == "os" => Ok(Clause::Generator),
        _ => Err(wrong()),
    }
}

fn reach(name: &str, at_least: bool, value: f64) -> Option<Clause> {
    let &(name, _) = REACH.iter().find(|(n, more)| *n == name && *more == at_least)?;
    value.is_finite().then_some(Clause::Reach(name, at_least, value))
}

impl core::fmt::Display for Clause {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Epsilon(e) => write!(f, "epsilon<={}", e.get()),
            Self::Delta(d) => write!(f, "delta<={:e}", d.get()),
            Self::Adjacency(kind) => write!(f, "adjacency={kind}"),
            Self::Reach(name, true, value) => write!(f, "{name}>={value}"),
            Self::Reach(name, false, value) => write!(f, "{name}<={value}"),
            Self::Provenance(name) => write!(f, "provenance={name}"),
            Self::Generator => f.write_str("generator=os"),
        }
    }
}

impl core::fmt::Display for Requirements {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let clauses: Vec<String> = self.clauses.iter().map(Clause::to_string).collect();
        f.write_str(&clauses.join(","))
    }
}

impl Requirements {
    /// Refuses a certificate that does not promise all of this. What the certificate states is taken as
    /// it stands: verify it first.
    ///
    /// # Errors
    /// [`Error::Unmet`] naming the first clause that is not met, and what is promised instead.
    pub fn check(&self, certificate: &AnyCertificate) -> Result<()> {
        let AnyCertificate::Private(certificate) = certificate else {
            let found = match certificate {
                AnyCertificate::Individual(_) => "individual differential privacy",
                _ => "no guarantee of any kind",
            };
            let found = format!("{found}, which meets no requirement of differential privacy");
            return Err(Error::Unmet { requirement: self.to_string(), found });
        };
        self.clauses.iter().try_for_each(|clause| match self.found(clause, certificate) {
            None => Ok(()),
            Some(found) => Err(Error::Unmet { requirement: clause.to_string(), found }),
        })
    }

    /// What is promised where a clause is not met.
    fn found(&self, clause: &Clause, certificate: &Certificate) -> Option<String> {
        let guarantee = certificate.guarantee();
        let unless = |met: bool, found: String| (!met).then_some(found);
        match clause {
            Clause::Epsilon(_) | Clause::Delta(_) => {
                let found = promised(certificate);
                let within = |b: Budget| {
                    self.clauses.iter().all(|clause| match clause {
                        Clause::Epsilon(most) => b.epsilon <= *most,
                        Clause::Delta(most) => b.delta <= *most,
                        _ => true,
                    })
                };
                unless(within(found) || self.by_profile(certificate), found.to_string())
            }
            Clause::Adjacency(kind) => {
                let stated = guarantee.adjacency();
                // A row that becomes zero is replaced by another behind a map that moves zero.
                let kind_of = |of: Adjacency| core::mem::discriminant(&of.each());
                let behind = behind_map(certificate, stated);
                let kept = behind.is_ok_and(|unit| kind_of(unit) == kind_of(stated));
                unless(kept && fields(stated)["kind"] == kind.as_str(), said(certificate))
            }
            Clause::Reach(name, at_least, wanted) => {
                let met = match reaches(&fields(guarantee.adjacency()), name) {
                    Some(stated) if *at_least => stated >= moved(certificate, name, *wanted),
                    Some(stated) => stated <= *wanted,
                    None => false,
                };
                unless(met, said(certificate))
            }
            Clause::Provenance(wanted) => {
                let found = match guarantee.provenance() {
                    Provenance::Proven { .. } => "proven",
                    Provenance::Published { .. } => "published",
                    Provenance::Declared { .. } => "declared",
                };
                unless(found == *wanted, format!("provenance {found}"))
            }
            Clause::Generator => unless(
                certificate.require_secret_randomness().is_ok(),
                "randomness that anyone can draw again".into(),
            ),
        }
    }

    /// Whether the profile is below the delta that is asked for at the epsilon that is asked for.
    fn by_profile(&self, certificate: &Certificate) -> bool {
        let (mut epsilon, mut delta) = (None, None);
        for clause in &self.clauses {
            match clause {
                // The least of several: one policy may repeat what another says.
                Clause::Epsilon(e) if epsilon.is_none_or(|least| *e < least) => epsilon = Some(*e),
                Clause::Delta(d) if delta.is_none_or(|least| *d < least) => delta = Some(*d),
                _ => {}
            }
        }
        match (epsilon, delta, certificate.guarantee().profile()) {
            // An average over seeds promises nothing below the share of seeds that it leaves out.
            (Some(_), Some(delta), Some(profile))
                if profile.needs_fresh_seed() && delta.get() < FreshSeed::LEAST_DELTA =>
            {
                false
            }
            (Some(epsilon), Some(delta), Some(profile)) => profile.log_delta(epsilon) <= delta.ln(),
            _ => false,
        }
    }
}

/// Epsilon with the delta that is really given: a claim that its profile misses is not what is promised.
fn promised(certificate: &Certificate) -> Budget {
    let guarantee = certificate.guarantee();
    let Budget { epsilon, delta } = guarantee.budget();
    match (guarantee.claim(), guarantee.true_delta()) {
        (Claim::MissedAcceptedByName, Some(given)) => {
            let given = Delta::new(given.delta().min(1.0 - f64::EPSILON)).unwrap_or(delta);
            Budget { epsilon, delta: given }
        }
        _ => Budget { epsilon, delta },
    }
}

/// What a change of rows as they stand becomes behind the map that a certificate states.
fn behind_map(certificate: &Certificate, unit: Adjacency) -> Result<Adjacency> {
    let map = Preprocessing::stated(&certificate.statement().public)?;
    map.map_or(Ok(unit), |map| map.of_unit(unit))
}

/// How far a change of rows as they stand moves mapped ones.
fn moved(certificate: &Certificate, name: &str, wanted: f64) -> f64 {
    let unit = match (name, Shift::new(wanted)) {
        ("beta", Ok(beta)) => Adjacency::Attribute { beta },
        ("l2", Ok(l2)) => Adjacency::RowShift { l2 },
        _ => return wanted,
    };
    let mapped = behind_map(certificate, unit).ok();
    mapped.and_then(|unit| reaches(&fields(unit), name)).unwrap_or(f64::INFINITY)
}

/// What is promised of which neighbours, in words.
fn said(certificate: &Certificate) -> String {
    let promised = certificate.guarantee().adjacency();
    match certificate.statement().public.contains_key(Preprocessing::KEY) {
        true => format!("{promised}, of rows that were mapped first (dps inspect shows how)"),
        false => promised.to_string(),
    }
}

fn fields(adjacency: Adjacency) -> Value {
    serde_json::to_value(adjacency).unwrap_or_default()
}

/// A parameter of an adjacency, or of the change of each row of a user.
fn reaches(adjacency: &Value, name: &str) -> Option<f64> {
    let each = || adjacency.get("each").and_then(|each| reaches(each, name));
    adjacency.get(name).and_then(Value::as_f64).or_else(each)
}
