//! `dps explain`: what an attacker learns at most, from the certificate alone.

use super::content::Content;
use super::mapped::with_map_of;
use super::recheck;
use super::worth::{class_name, doubts};
use crate::error::{Error, Result, probability};
use crate::output::Record;
use clap::Args;
use dp_core::certificate::Trust;
use dp_core::explain::{Explanation, Learned, Questions};
use dp_core::ledger_file::BudgetFile;
use dp_core::release_file::AnyCertificate;
use linalg_dp::verify::Finding;
use std::path::PathBuf;

/// Options of `dps explain`.
#[derive(Args)]
pub(crate) struct Explain {
    /// A release file, or a certificate (JSON); `-` reads standard input.
    file: PathBuf,
    /// What is learnt from all that this ledger holds, too; the release is counted once, entered or not.
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// How probable a guess is before the release is seen, in (0, 1); may be given more than once.
    #[arg(long, value_delimiter = ',', default_values_t = PRIORS)]
    prior: Vec<f64>,
    /// With what probability what is said of the guesses afterwards may fail, in (0, 1).
    #[arg(long, default_value_t = FAILING)]
    failing: f64,
}

/// Guesses that are shown where nobody says which.
const PRIORS: [f64; 3] = [0.01, 0.1, 0.5];
/// How often what is said of them may fail.
const FAILING: f64 = 0.001;

/// What is asked where nobody says what.
pub(super) fn usual() -> Result<Questions> {
    Ok(Questions::new(&PRIORS, FAILING)?)
}

impl Explain {
    pub(crate) fn run(&self) -> Result<Record> {
        for &prior in &self.prior {
            probability("--prior", prior)?;
        }
        probability("--failing", self.failing)?;
        let asked = Questions::new(&self.prior, self.failing)?;
        let content = Content::open(&self.file)?;
        let (certificate, checked) = if content.is_release()? {
            let summary = content.summary()?;
            let checked = recheck::summary(&summary, &Trust::none())?;
            (summary.certificate, checked)
        } else {
            let certificate = content.certificate()?;
            let checked = recheck::certificate(&certificate, &Trust::none())?;
            (certificate, checked)
        };
        let (worth, doubts) = (class_name(&certificate), doubts(&certificate));
        let AnyCertificate::Private(certificate) = certificate else {
            return Err(Error::Refused(format!(
                "{}: {worth}; nothing bounds what an attacker learns from it",
                content.name()
            )));
        };
        let mut explanation = Explanation::of(certificate.guarantee(), &asked)?;
        let mut record = Record::new().text("file", content.name()).text("guarantee", worth);
        if !doubts.is_empty() {
            record = record.names("warning", &doubts);
        }
        if let Some(path) = &self.ledger {
            let file = BudgetFile::read(path)?;
            let entered = file.holds(&certificate);
            let besides = (!entered).then_some(&certificate);
            explanation = explanation.with_ledger(file.ledger(), besides, &asked)?;
            let said =
                if entered { "is among its entries" } else { "is counted besides its entries" };
            record = record.text("in the ledger", said);
        }
        record = record
            .text("basis", &explanation.basis)
            .text("protected", &explanation.protected)
            .names("not_protected", &points(&explanation.not_protected));
        record = with_map_of(record, certificate.statement())?;
        if let Finding::NotChecked(why) = checked {
            record = record.text("sensitivity", format!("NOT computed again: {why}"));
        }
        let several = explanation.several.iter().map(|&(changes, advantage)| {
            let row = Record::new().integer("changes_at_once", changes);
            row.number("advantage_at_most", advantage)
        });
        let several = several.collect();
        record = learned(record, "", &explanation.alone).table("several_changes", several);
        Ok(match &explanation.with_ledger {
            Some(all) => learned(record, "ledger_", all),
            None => record,
        })
    }
}

fn points(list: &[&str]) -> Vec<String> {
    list.iter().map(|&point| point.to_owned()).collect()
}

/// What the best attacker learns, under names that begin with `of`.
fn learned(record: Record, of: &str, learned: &Learned) -> Record {
    let name = |field: &str| format!("{of}{field}");
    let alarms = learned.alarms.iter().map(|at| {
        let row = Record::new().number("false_alarms", at.false_alarms);
        row.number("missed_at_least", at.missed_at_least).number("found_at_most", at.found_at_most)
    });
    let guesses = learned.guesses.iter().map(|guess| {
        Record::new()
            .number("prior", guess.prior)
            .number("right_at_most", guess.right_at_most)
            .number("belief_at_most", guess.belief_at_most)
            .number("belief_at_least", guess.belief_at_least)
            .number("passed_with", guess.passed_with)
    });
    let reached = if learned.reached { "reached by some test" } else { "not known to be reached" };
    let record =
        record.number(&name("advantage_at_most"), learned.advantage).text(&name("bounds"), reached);
    let words = learned.words.iter().enumerate();
    let record =
        words.fold(record, |r, (i, words)| r.text(&name(&format!("words_{}", i + 1)), words));
    record.table(&name("alarms"), alarms.collect()).table(&name("guesses"), guesses.collect())
}
