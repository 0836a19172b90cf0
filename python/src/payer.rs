//! What pays for a release: a ledger, and the part of the rows that it counts.

use crate::error::{Fault, Result};
use dp_core::Guarantee;
use dp_core::accounting::{Named, Part};
use dp_core::adjacency::Partition;
use dp_core::ledger_file::BudgetFile;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// A ledger, and the part of the rows that a release is of, where one is declared.
#[pyclass(frozen, module = "dps._dps")]
pub(crate) struct Payer {
    ledger: PathBuf,
    /// With what decides.
    part: Option<(Part, Partition)>,
}

#[pymethods]
impl Payer {
    /// `part` is the name of the partition, that of the part, and what decides: `unit`, `row` or `content`.
    #[new]
    #[pyo3(signature = (ledger, part=None))]
    fn new(ledger: PathBuf, part: Option<(String, String, String)>) -> Result<Self> {
        let part = part.map(|(partition, name, by)| {
            let by = match by.as_str() {
                "unit" => Partition::ByUnit,
                "row" => Partition::ByRow,
                "content" => Partition::ByContent,
                _ => return Err(Fault::invalid("by", by, "unit, row or content")),
            };
            Ok((Part::new(&partition, &name, by)?, by))
        });
        Ok(Self { ledger, part: part.transpose()? })
    }
}

impl Payer {
    pub(crate) fn ledger(&self) -> &Path {
        &self.ledger
    }

    /// What the ledger calls a release of this guarantee. Refuses one of users with several rows of a part among which a user's rows may
    /// be spread: rows are bounded release by release, and users who have more are in more parts than the ledger counts.
    pub(crate) fn named<'a>(&'a self, guarantee: &Guarantee, label: &'a str) -> Result<Named<'a>> {
        let Some((part, by)) = &self.part else { return Ok(label.into()) };
        if *by != Partition::ByUnit && guarantee.adjacency().rows() > 1 {
            let allowed = "unit: the guarantee bounds the rows of a user in one release, and row or content lets the same user have as \
                           many in every other part, more than the ledger counts. Make the parts so that all rows of a user are in one, \
                           and say unit, or pay from the whole ledger";
            return Err(Fault::invalid("by", "row or content", allowed));
        }
        Ok(part.labelled(label))
    }

    /// The ledger, which would pay for a guarantee now.
    pub(crate) fn check(&self, guarantee: &Guarantee) -> Result<BudgetFile> {
        let named = self.named(guarantee, "a release that is planned")?;
        Ok(BudgetFile::check(&self.ledger, guarantee, 1, named)?)
    }

    /// Pays for one run of a guarantee.
    pub(crate) fn spend(&self, guarantee: &Guarantee, label: &str) -> Result<BudgetFile> {
        Ok(BudgetFile::spend(&self.ledger, guarantee, 1, self.named(guarantee, label)?)?)
    }
}
