//! The budget file of a data set.

use crate::error::Result;
use crate::payer::Payer;
use crate::run::work;
use crate::values;
use dp_core::accounting::{Filter, FilterRule, Foreign, Method, Standing};
use dp_core::certificate::Certificate;
use dp_core::ledger_file::{BudgetFile, Repeat};
use dp_core::{Budget, Delta};
use pyo3::prelude::*;
use serde_json::json;
use std::path::PathBuf;

/// Starts the ledger of a data set; rule is `basic`, `zcdp`, `gdp` or `renyi`.
#[pyfunction]
pub(crate) fn ledger_create(
    py: Python<'_>,
    path: PathBuf,
    data: &str,
    adjacency: &str,
    epsilon: f64,
    delta: f64,
    rule: &str,
) -> Result<()> {
    let (adjacency, limit) = (values::adjacency(adjacency)?, Budget::new(epsilon, delta)?);
    let rule: FilterRule = values::parsed("rule", &json!(rule).to_string())?;
    work(py, || BudgetFile::create(&path, data, adjacency, limit, rule))?;
    Ok(())
}

/// What a ledger holds, as JSON; what was found interrupted in it is finished or taken back first.
#[pyfunction]
#[pyo3(signature = (path, delta=None))]
pub(crate) fn ledger_show(py: Python<'_>, path: PathBuf, delta: Option<f64>) -> Result<String> {
    let file = work(py, || BudgetFile::open(&path))?;
    let ledger = file.ledger();
    let limit = ledger.filter().map(|Filter { limit, rule }| {
        let (epsilon, delta) = (limit.epsilon.get(), limit.delta.get());
        json!({"epsilon": epsilon, "delta": delta, "rule": rule})
    });
    let delta = match (delta, ledger.filter()) {
        (Some(delta), _) => Some(Delta::new(delta)?),
        (None, filter) => filter.map(|filter| filter.limit.delta),
    };
    let charges = file.charges().iter().map(Some).chain(std::iter::repeat(None));
    let entries = ledger.entries().iter().zip(charges).map(|(entry, charge)| {
        json!({
            "release": entry.label(),
            "runs": entry.event().count(),
            "epsilon": entry.budget().epsilon.get(),
            "delta": entry.budget().delta.get(),
            "part": entry.part(),
            "id": charge.map(|c| c.id()),
            "time": charge.and_then(|c| c.time()),
            "certificate": charge.and_then(|c| c.certificate()),
        })
    });
    let entries: Vec<_> = entries.collect();
    let spent = |method: &Method| {
        let name = serde_json::to_value(method).ok()?.as_str()?.to_owned();
        let epsilon = ledger.epsilon(delta?, *method).ok()?.upper.get();
        Some((name, json!(epsilon)))
    };
    let spent: serde_json::Map<_, _> = match entries.is_empty() {
        true => serde_json::Map::new(),
        false => work(py, || Method::ALL.iter().filter_map(spent).collect()),
    };
    Ok(json!({
        "data": file.data(),
        "adjacency": ledger.adjacency(),
        "limit": limit,
        "delta": delta.map(Delta::get),
        "entries": entries,
        "spent": spent,
        "passed": matches!(ledger.standing(), Standing::Passed(_)),
        "answers_hold": file.answers_hold(),
        "declared": ledger.at_their_word(),
        "parts": ledger.declared_parts(),
        "head": file.head(),
        "recovered": file.recovered(),
    })
    .to_string())
}

/// Whether the ledger would pay for a guarantee now.
#[pyfunction]
pub(crate) fn ledger_check(
    py: Python<'_>,
    payer: &Bound<'_, Payer>,
    guarantee: &str,
) -> Result<()> {
    let (payer, guarantee) = (payer.get(), values::guarantee(guarantee)?);
    work(py, || payer.check(&guarantee).map(drop))
}

/// Enters runs of a mechanism at somebody's word.
#[pyfunction]
pub(crate) fn ledger_declare(
    py: Python<'_>,
    payer: &Bound<'_, Payer>,
    guarantee: &str,
    runs: u64,
    label: &str,
) -> Result<()> {
    let (payer, guarantee) = (payer.get(), values::guarantee(guarantee)?);
    let named = payer.named(&guarantee, label)?;
    work(py, || BudgetFile::declare(payer.ledger(), &guarantee, runs, named))?;
    Ok(())
}

/// Pays for a release that was made without a ledger and that nobody has seen yet, by its certificate.
#[pyfunction]
pub(crate) fn ledger_add(
    py: Python<'_>,
    payer: &Bound<'_, Payer>,
    certificate: &str,
    label: &str,
) -> Result<()> {
    let (payer, certificate) = (payer.get(), Certificate::from_json(certificate)?);
    let named = payer.named(certificate.guarantee(), label)?;
    work(py, || BudgetFile::add(payer.ledger(), &certificate, named))?;
    Ok(())
}

/// Enters a release that has happened, even past the limit: what was passed, where it was.
#[pyfunction]
pub(crate) fn ledger_record(
    py: Python<'_>,
    payer: &Bound<'_, Payer>,
    certificate: &str,
    label: &str,
) -> Result<Option<String>> {
    let (payer, certificate) = (payer.get(), Certificate::from_json(certificate)?);
    let named = payer.named(certificate.guarantee(), label)?;
    let (_, standing) =
        work(py, || BudgetFile::record(payer.ledger(), &certificate, named, Repeat::Refuse))?;
    Ok(match standing {
        Standing::Kept => None,
        Standing::Passed(by) => Some(by.to_string()),
    })
}

/// The composition of all entries, in the form that other accountants read.
#[pyfunction]
pub(crate) fn ledger_export(py: Python<'_>, path: PathBuf) -> Result<String> {
    Ok(work(py, || Foreign::of_ledger(BudgetFile::read(&path)?.ledger()))?.to_json())
}
