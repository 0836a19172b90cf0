//! What a release must agree with, where rows are appended to another one.

use crate::error::{Error, Result};
use dp_core::certificate::preprocessing::Preprocessing;
use dp_core::ledger_file::BudgetFile;
use dp_core::{Certificate, Guarantee};
use std::path::{Path, PathBuf};

/// A release that another one is to be like.
#[derive(Debug)]
pub(crate) struct Like {
    path: PathBuf,
    certificate: Certificate,
}

impl Like {
    pub(crate) fn new(path: PathBuf, certificate: Certificate) -> Self {
        Self { path, certificate }
    }

    /// Refuses a release that promises anything else, and one that the ledger knows nothing of: all that is asked for
    /// comes from its file.
    pub(super) fn check(
        &self,
        guarantee: &Guarantee,
        mapped: Option<&Preprocessing>,
        ledger: Option<&Path>,
    ) -> Result<()> {
        let name = self.path.display();
        if Preprocessing::stated(&self.certificate.statement().public)?.as_ref() != mapped {
            return Err(Error::Refused(format!(
                "{name}: its values were mapped in another way (dps inspect shows its preprocessing): give --preprocess with the file \
                 that it was made with, for the same columns, or leave it out where it states none"
            )));
        }
        if guarantee != self.certificate.guarantee() {
            return Err(Error::Refused(format!(
                "{name}: what it states of itself does not give its noise in this version; both could not be searched together: \
                 release all rows anew"
            )));
        }
        let Some(ledger) = ledger else { return Ok(()) };
        if BudgetFile::read(ledger)?.holds(&self.certificate) {
            return Ok(());
        }
        Err(Error::Refused(format!(
            "{name} is not among the releases that {} has paid for: it was changed, or paid for elsewhere. What would be spent \
             stands in that file alone: enter it (dps ledger record), or say all of it yourself (dps release with its seed)",
            ledger.display()
        )))
    }
}
