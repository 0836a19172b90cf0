//! What every kind of release shares: where it goes, what pays for it, what is said of it.

use super::privacy::{AdjacencyKind, AdjacencyOptions, BoundOptions, BudgetOptions};
use crate::commands::inspect::is_release;
use crate::error::{Error, Result, no_effect};
use crate::input::{Block, Input, InputOptions, Limits, Meter, Prefetch};
use crate::ledger_file::BudgetFile;
use crate::output::Record;
use clap::{Args, ValueEnum};
use dp_core::certificate::Statement;
use dp_core::{
    Adjacency, Budget, Certificate, FreshSeed, Guarantee, IndividualCertificate, NoiseRng,
    PublicSeed,
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::{Path, PathBuf};

/// What every release of rows of numbers asks for.
#[derive(Args, Debug)]
pub(crate) struct RowsOptions {
    #[command(flatten)]
    pub(crate) input: InputOptions,
    #[command(flatten)]
    pub(crate) output: OutputOptions,
    #[command(flatten)]
    adjacency: AdjacencyOptions,
    #[command(flatten)]
    budget: BudgetOptions,
    #[command(flatten)]
    pub(crate) bounds: BoundOptions,
}

/// What is protected, for how much, and within which bounds.
pub(crate) struct Promise {
    pub(crate) adjacency: Adjacency,
    pub(crate) budget: Budget,
    pub(crate) limits: Limits,
}

impl RowsOptions {
    /// What `what` is asked to promise, among the adjacencies it knows.
    pub(crate) fn promise(&self, what: &str, known: &[AdjacencyKind]) -> Result<Promise> {
        let adjacency = self.adjacency.get(what, known)?;
        let budget = self.budget.get()?;
        let limits = self.bounds.limits(adjacency, &self.input.input)?;
        Ok(Promise { adjacency, budget, limits })
    }
}

/// Where the release goes and what pays for it.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputOptions {
    /// The release file to write; it appears only when it is complete.
    #[arg(long)]
    pub(crate) out: PathBuf,
    /// Write over an existing release. Other files are never written over.
    #[arg(long)]
    force: bool,
    /// Enter the expense in this ledger first; nothing is released when it refuses.
    #[arg(long)]
    ledger: Option<PathBuf>,
    /// Read and check the file, calibrate, ask the ledger, say what would be released; release and
    /// spend nothing.
    #[arg(long)]
    dry_run: bool,
    /// Noise that anyone can subtract, for tests. The certificate says so.
    #[arg(long, hide = true, value_name = "SEED")]
    insecure_test_noise: Option<u64>,
}

impl OutputOptions {
    /// Everything that must hold before noise is drawn: the file may be written, the data is
    /// what was declared (when a ledger pays, so that nothing is paid in vain), the ledger agrees.
    /// `None` for a dry run.
    pub(crate) fn pay(
        &self,
        guarantee: &Guarantee,
        label: &str,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<Option<NoiseRng>> {
        if self.insecure_test_noise.is_some() && self.ledger.is_some() {
            return Err(Error::usage(
                "--insecure-test-noise is not private: no ledger pays for it; leave --ledger out",
            ));
        }
        self.check_free()?;
        if self.dry_run || self.ledger.is_some() {
            check()?;
        }
        if let Some(ledger) = &self.ledger {
            if self.dry_run {
                BudgetFile::check(ledger, guarantee, 1)?;
            } else {
                let name = self.out.file_name().unwrap_or_default().to_string_lossy();
                BudgetFile::spend(ledger, guarantee, 1, &format!("{label} ({name})"))?;
            }
        }
        if self.dry_run { Ok(None) } else { self.noise().map(Some) }
    }

    /// As [`OutputOptions::pay`] for what is not differential privacy: no ledger takes it.
    pub(crate) fn without_ledger(&self) -> Result<Option<NoiseRng>> {
        if self.ledger.is_some() {
            return Err(Error::usage(
                "--ledger counts differential privacy, and this release gives none: it cannot be \
                 paid for; leave --ledger out",
            ));
        }
        self.check_free()?;
        if self.dry_run { Ok(None) } else { self.noise().map(Some) }
    }

    /// Refuses to write over a file without being told.
    fn check_free(&self) -> Result<()> {
        if !self.out.exists() || self.dry_run {
            return Ok(());
        }
        let out = self.out.display();
        if !is_release(&self.out)? {
            return Err(Error::usage(format!(
                "{out} exists and is not a release; it might be the data or a ledger, and is never \
                 written over"
            )));
        }
        if self.force {
            return Ok(());
        }
        Err(Error::usage(format!(
            "{out} exists; --force writes over it (a new release spends the budget again)"
        )))
    }

    fn noise(&self) -> Result<NoiseRng> {
        Ok(match self.insecure_test_noise {
            None => NoiseRng::from_os()?,
            Some(seed) => {
                eprintln!("dps: warning: --insecure-test-noise: this release is NOT private");
                NoiseRng::deterministic_not_private(seed)
            }
        })
    }

    /// What a dry run found out about a release under individual differential privacy.
    pub(crate) fn planned_individual(
        &self,
        label: &str,
        adjacency: Adjacency,
        budget: Budget,
    ) -> Record {
        let record = Record::new().text("dry run", "nothing was released or spent");
        individual(record.text("mechanism", label), adjacency, budget)
    }

    /// What a dry run found.
    pub(crate) fn planned(&self, label: &str, guarantee: &Guarantee) -> Record {
        let record = Record::new().text("dry run", "nothing was released or spent");
        promise(record.text("mechanism", label), guarantee)
    }

    /// What was written.
    pub(crate) fn written(&self, certificate: &Certificate) -> Result<Record> {
        certificate.verify_consistency()?;
        let mut record = promise(self.described(certificate.statement()), certificate.guarantee());
        if let Some(ledger) = &self.ledger {
            record = record.text("paid from", ledger.display().to_string());
        }
        Ok(record.text("verification", "holds together"))
    }

    /// What was written under individual differential privacy.
    pub(crate) fn written_individual(&self, certificate: &IndividualCertificate) -> Result<Record> {
        certificate.verify()?;
        let record = self.described(&certificate.statement);
        Ok(individual(record, certificate.adjacency, certificate.budget)
            .text("verification", "holds together"))
    }

    fn described(&self, statement: &Statement) -> Record {
        let mut record = Record::new()
            .text("release", self.out.display().to_string())
            .text("mechanism", &statement.mechanism);
        for (name, value) in &statement.public {
            let value = serde_json::to_value(value).unwrap_or_default();
            record = record.json(name, &value);
        }
        let kind = serde_json::to_value(statement.generator).unwrap_or_default();
        record.json("noise generator", &kind)
    }
}

/// A guarantee that is not differential privacy, in words that cannot be taken for it.
pub(crate) fn individual(record: Record, adjacency: Adjacency, budget: Budget) -> Record {
    record
        .text("guarantee", IndividualCertificate::WARNING)
        .text("adjacency", adjacency.to_string())
        .number("individual epsilon", budget.epsilon.get())
        .number("individual delta", budget.delta.get())
}

/// The guarantee, and what its epsilon is about.
fn promise(record: Record, guarantee: &Guarantee) -> Record {
    let budget = guarantee.budget();
    let mut record = record
        .text("adjacency", guarantee.adjacency().to_string())
        .number("epsilon", budget.epsilon.get())
        .number("delta", budget.delta.get());
    if let Some(delta) = guarantee.true_delta() {
        record = record.number("true_delta", delta.delta());
    }
    record.text("epsilon is about", about(guarantee.adjacency()))
}

/// What one epsilon covers, in words.
fn about(adjacency: Adjacency) -> &'static str {
    match adjacency {
        Adjacency::Attribute { .. } => {
            "one attribute of one row, for this whole file; a change of m attributes, or of several \
             rows of one person, costs m times as much; every further release of the file adds up"
        }
        Adjacency::RowShift { .. } | Adjacency::ReplaceRow { .. } => {
            "one row, for this whole file; a person with m rows spends m times as much; every \
             further release of the file adds up"
        }
        Adjacency::AddRemoveRow { .. } => {
            "the presence of one row, for this whole file (the number of rows is private too); a \
             person with m rows spends m times as much; every further release of the file adds up"
        }
        Adjacency::ZeroRow { .. } => {
            "the content of one row, for this whole file or stream (the number and order of rows are \
             public); a person with m rows spends m times as much; every further release adds up"
        }
        Adjacency::SetItems { .. } => {
            "the named number of items of one set, for this whole file; every further release of \
             the file adds up"
        }
        _ => {
            "any change of one row, for this whole file; every further release of the file adds up"
        }
    }
}

/// What the guarantee rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Calibration {
    /// For the very projection of a public seed, which may be known before and used again.
    Realised,
    /// For a Gaussian projection that is drawn at release and used once: an average over it.
    Averaged,
}

/// Why averaged calibration takes no seed.
pub(crate) const FRESH: &str = "--calibration averaged holds for a projection that nobody knew \
    before, so it is drawn at release; such releases cannot be compared with others";

/// The public seed of a projection or hash family.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Mechanism")]
pub(crate) struct SeedOptions {
    /// Public seed of the projection; releases to be compared need the same one. By default it is
    /// drawn, and recorded in the release.
    #[arg(long)]
    seed: Option<u64>,
}

impl SeedOptions {
    /// For mechanisms whose guarantee needs a seed that nobody knew.
    pub(crate) fn fresh(&self, why: &str) -> Result<FreshSeed> {
        no_effect("--seed", self.seed.as_ref(), why)?;
        Ok(FreshSeed::draw()?)
    }

    pub(crate) fn get(&self) -> Result<PublicSeed> {
        match self.seed {
            Some(seed) => Ok(PublicSeed::new(seed)),
            None => Ok(FreshSeed::draw()?.publish()),
        }
    }
}

/// A progress bar on standard error, when that is a terminal.
pub(crate) fn progress(meter: &Meter) -> Progress {
    let bar = match meter.total {
        Some(total) => ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()),
        None => ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()),
    };
    if let Ok(style) = ProgressStyle::with_template("reading [{bar:30}] {percent}% {elapsed}") {
        bar.set_style(style);
    }
    Progress { bar, meter: meter.clone() }
}

/// A bar that follows a meter; gone when dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    meter: Meter,
}

impl Progress {
    pub(crate) fn show(&self) {
        self.bar.set_position(self.meter.done());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A check before the release reads the file once more than standard input can be read.
pub(crate) fn check_rereadable(input: &Path) -> Result<()> {
    if input.as_os_str() != "-" {
        return Ok(());
    }
    Err(Error::usage("standard input can be read once only: a dry run or a ledger needs a file"))
}

/// Reads an input and hands every block within the limits to `take`.
pub(crate) fn each_block(
    input: Input,
    limits: Limits,
    mut take: impl FnMut(&Block) -> Result<()>,
) -> Result<()> {
    let progress = progress(&input.meter);
    Prefetch::start(input.rows, limits)?.each(|block| {
        take(block)?;
        progress.show();
        Ok(())
    })
}

/// Reads a whole input against its limits without keeping it.
pub(crate) fn check_input(options: &InputOptions, limits: &Limits) -> Result<()> {
    check_rereadable(&options.input)?;
    each_block(options.open()?, limits.clone(), |_| Ok(()))
}

/// Reads a whole input into memory: rows and their number.
pub(crate) fn read_all(input: Input, limits: Limits) -> Result<(usize, Vec<f64>)> {
    let d = input.rows.d();
    let (mut n, mut values) = (0, Vec::new());
    each_block(input, limits, |block| {
        n += block.n;
        values.extend_from_slice(&block.dense(d));
        Ok(())
    })?;
    Ok((n, values))
}
