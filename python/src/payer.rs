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
    part: Option<Part>,
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
            Ok(Part::new(&partition, &name, by)?)
        });
        Ok(Self { ledger, part: part.transpose()? })
    }
}

impl Payer {
    pub(crate) fn ledger(&self) -> &Path {
        &self.ledger
    }

    /// What the ledger calls a release.
    pub(crate) fn named<'a>(&'a self, label: &'a str) -> Named<'a> {
        self.part.as_ref().map_or(label.into(), |part| part.labelled(label))
    }

    /// The ledger, which would pay for a guarantee now.
    pub(crate) fn check(&self, guarantee: &Guarantee) -> Result<BudgetFile> {
        Ok(BudgetFile::check(&self.ledger, guarantee, 1, self.named("a release that is planned"))?)
    }

    /// Pays for one run of a guarantee.
    pub(crate) fn spend(&self, guarantee: &Guarantee, label: &str) -> Result<BudgetFile> {
        Ok(BudgetFile::spend(&self.ledger, guarantee, 1, self.named(label))?)
    }
}
