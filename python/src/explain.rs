//! What an attacker learns at most.

use crate::error::{Fault, Result};
use crate::run::work;
use dp_core::certificate::Certificate;
use dp_core::certificate::preprocessing::Preprocessing;
use dp_core::explain::{Explanation, Questions};
use dp_core::ledger_file::BudgetFile;
use pyo3::prelude::*;
use serde_json::json;
use std::path::PathBuf;

/// What became of values before anything else, column by column, and what numbers are about: as the command line says it.
#[pyfunction]
pub(crate) fn preprocessing(certificate: &str) -> Result<(Vec<String>, String)> {
    let said = said(&Certificate::from_json(certificate)?)?;
    said.ok_or_else(|| Fault::Data("no values were mapped".into()))
}

fn said(certificate: &Certificate) -> Result<Option<(Vec<String>, String)>> {
    let stated = Preprocessing::stated(&certificate.statement().public)?;
    Ok(stated.map(|stated| ((&stated).into(), Preprocessing::UNITS.into())))
}

/// What a certificate alone says of an attacker, and with a ledger all that it holds, as JSON.
#[pyfunction]
#[pyo3(signature = (certificate, priors, failing, ledger=None))]
pub(crate) fn explain(
    py: Python<'_>,
    certificate: &str,
    priors: Vec<f64>,
    failing: f64,
    ledger: Option<PathBuf>,
) -> Result<String> {
    let certificate = Certificate::from_json(certificate)?;
    let asked = Questions::new(&priors, failing)?;
    let (preprocessing, units) = said(&certificate)?.unzip();
    work(py, || {
        let mut found = Explanation::of(certificate.guarantee(), &asked)?;
        let mut entered = None;
        if let Some(path) = ledger {
            let file = BudgetFile::read(&path)?;
            let holds = file.holds(&certificate);
            entered = Some(holds);
            found = found.with_ledger(file.ledger(), (!holds).then_some(&certificate), &asked)?;
        }
        let mut found = json!(found);
        found["in_ledger"] = json!(entered);
        found["preprocessing"] = json!(preprocessing);
        found["units"] = json!(units);
        Ok(found.to_string())
    })
}
