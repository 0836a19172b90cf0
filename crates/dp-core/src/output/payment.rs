//! What pays for a release, and what it was told.

use crate::accounting::{Cost, Ledger, Named, Part};
use crate::adjacency::Adjacency;
use crate::certificate::{Certificate, canonical};
use crate::error::{Error, Result};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Clone)]
pub(super) struct Payment {
    pub(super) ledger: PathBuf,
    pub(super) label: String,
    pub(super) part: Option<Part>,
    /// What was paid already, as others can read the file while it is written: a cost, in a ledger of this unit.
    pub(super) paid: Option<(Adjacency, Arc<Cost>)>,
}

impl Payment {
    pub(super) fn named(&self) -> Named<'_> {
        Named { label: &self.label, part: self.part.as_ref(), map: None }
    }

    /// Whether the release was paid for already. What was paid before there was a certificate is what a ledger asks by the
    /// certificate, or the release is refused.
    pub(super) fn covers(&self, certificate: &Certificate) -> Result<bool> {
        let Some((unit, cost)) = &self.paid else { return Ok(false) };
        let entry = Ledger::new(*unit).planned(certificate, self.named());
        let same = entry.and_then(|entry| {
            let [left, right] = [cost, entry.cost()].map(|cost| canonical(cost.as_ref()));
            let what = "what was paid for and what the certificate promises";
            if left == right { Ok(true) } else { Err(Error::Mismatch { what, left, right }) }
        });
        same.map_err(|error| Error::Ledger {
            path: self.ledger.display().to_string(),
            reason: format!(
                "{error}; nothing is published, and what was paid before the first byte stays spent: pay for the \
                 guarantee that the certificate states"
            ),
        })
    }
}

/// What a ledger answered; filled when the release is paid for.
#[derive(Debug, Clone, Default)]
pub struct Receipt(Arc<Mutex<Slip>>);

#[derive(Debug, Default)]
pub(super) struct Slip {
    pub(super) paid: Option<Paid>,
    pub(super) recovered: Vec<String>,
}

/// A payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paid {
    /// The release's number in the ledger.
    pub id: String,
    /// Hash of the ledger's last line: kept elsewhere, it shows whether the ledger was written anew.
    pub head: String,
}

impl Receipt {
    pub(super) fn slip(&self) -> MutexGuard<'_, Slip> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The payment, once there is one.
    #[must_use]
    pub fn paid(&self) -> Option<Paid> {
        self.slip().paid.clone()
    }

    /// What was found interrupted in the ledger, and what became of it, since this was asked last.
    #[must_use]
    pub fn recovered(&self) -> Vec<String> {
        std::mem::take(&mut self.slip().recovered)
    }
}
