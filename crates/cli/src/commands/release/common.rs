//! What every kind of release shares: where it goes, which ledger is charged, what is said of it.

use super::like::Like;
use super::part_options::PartOptions;
use super::said::promise;
use crate::commands::content::Content;
use crate::commands::disjoint::{DisjointOptions, named};
use crate::error::{Error, Result, no_effect, shown};
use crate::input::InputOptions;
use crate::interrupt;
use crate::output::{self, Record};
use clap::{Args, ValueEnum};
use dp_core::accounting::{FilterRule, Part};
use dp_core::certificate::Statement;
use dp_core::certificate::preprocessing::Preprocessing;
use dp_core::ledger_file::BudgetFile;
use dp_core::output::{Existing, Output, Receipt};
use dp_core::{Certificate, Guarantee, NoiseRng, PublicSeed};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use readers::{Block, DataError, Input, Limits, Meter, Prefetch, is_stream};
use std::cell::{Cell, OnceCell, RefCell};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the release goes and which ledger is charged.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputOptions {
    /// The release file to write; it appears only when it is complete. `-` writes to standard output,
    /// when the release is complete, and all messages to standard error.
    #[arg(long)]
    out: PathBuf,
    /// The output once it is open, and what its ledger says.
    #[arg(skip)]
    opened: RefCell<Option<Output>>,
    #[arg(skip)]
    receipt: RefCell<Receipt>,
    /// The release that it is to be like.
    #[arg(skip)]
    pub(super) like: OnceCell<Like>,
    /// What becomes of the values of its rows before anything else.
    #[arg(skip)]
    pub(super) mapped: OnceCell<Arc<Preprocessing>>,
    /// Write over an existing release. Other files are never written over.
    #[arg(long)]
    force: bool,
    /// Pay from this ledger when the release is complete, before anybody can read it; nothing is released
    /// when it refuses.
    #[arg(long)]
    ledger: Option<PathBuf>,
    /// Read and check the file, calibrate, ask the ledger, say what would be released; release and
    /// spend nothing.
    #[arg(long)]
    dry_run: bool,
    /// Noise that anyone can subtract, for tests. The certificate says so.
    #[arg(long, hide = true, value_name = "SEED")]
    insecure_test_noise: Option<u64>,
    #[command(flatten)]
    pub(super) parts: PartOptions,
    #[command(flatten)]
    disjoint: DisjointOptions,
}

impl OutputOptions {
    /// Everything that must hold before noise is drawn: the file can be written, the ledger would agree; for a dry run,
    /// the data is what was declared. `None` for a dry run.
    pub(crate) fn charge(
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
        self.whole()?;
        self.begin()?;
        if self.dry_run {
            check()?;
        }
        let part = self.part_of_data()?;
        if let Some(ledger) = &self.ledger {
            if self.dry_run {
                let named = named(part.as_ref(), "a release that is planned");
                let named = named.mapped(self.mapped.get().map(AsRef::as_ref));
                let file = BudgetFile::check(ledger, guarantee, 1, named)?;
                file.recovered().iter().for_each(|s| noted(s));
            } else {
                let name = self.out.file_name().unwrap_or_default().to_string_lossy();
                let label = format!("{label} ({name})");
                let mut output = self.take()?;
                let agreed = output.pay_from(ledger, guarantee, named(part.as_ref(), &label));
                self.say_recovered();
                agreed?;
                self.opened.replace(Some(output));
            }
        }
        if self.dry_run { Ok(None) } else { noise(self.insecure_test_noise).map(Some) }
    }

    /// As [`OutputOptions::charge`] for what is not differential privacy: no ledger takes it.
    pub(crate) fn without_ledger(&self) -> Result<Option<NoiseRng>> {
        if self.ledger.is_some() {
            return Err(Error::usage(
                "--ledger counts differential privacy, and this release gives none: it cannot be \
                 paid for; leave --ledger out",
            ));
        }
        self.whole()?;
        self.begin()?;
        if self.dry_run { Ok(None) } else { noise(self.insecure_test_noise).map(Some) }
    }

    /// Refuses options of parts for what is not made in parts.
    pub(super) fn whole(&self) -> Result<()> {
        if !self.parts.any() {
            return no_effect("--key", self.parts.key.as_ref(), "only a release in parts has one");
        }
        Err(Error::usage(
            "this release is not made in parts: sketch, units, bounded, signs, minhash, counts, and covariance with --noise \
             gaussian and without --within are",
        ))
    }

    /// The part of the data set that the ledger counts, where one is declared.
    pub(super) fn part_of_data(&self) -> Result<Option<Part>> {
        let part = self.disjoint.get()?;
        if self.ledger.is_none() {
            no_effect("--disjoint-part", part.as_ref(), "only a ledger counts parts")?;
        }
        Ok(part)
    }

    /// Refuses parts among which the rows of a user may be spread.
    pub(super) fn check_users(&self) -> Result<()> {
        self.disjoint.check_users()
    }

    pub(super) fn out(&self) -> &Path {
        &self.out
    }

    pub(super) fn ledger(&self) -> Option<&Path> {
        self.ledger.as_deref()
    }

    /// Whether nothing private is to be written to a file.
    pub(super) fn for_tests_or_stdout(&self) -> bool {
        self.insecure_test_noise.is_some() || self.dry_run || self.to_stdout()
    }

    /// Whether the ledger, if there is one, adds up stated epsilons and deltas, and not what a law of noise
    /// loses over many releases.
    pub(crate) fn adds_budgets(&self) -> Result<bool> {
        let Some(ledger) = &self.ledger else { return Ok(true) };
        let file = BudgetFile::read(ledger)?;
        Ok(file.ledger().filter().is_none_or(|f| f.rule == FilterRule::Basic))
    }

    fn to_stdout(&self) -> bool {
        self.out.as_os_str() == "-"
    }

    /// Opens the output, where that is not done; from here on signals are watched for.
    pub(crate) fn begin(&self) -> Result<()> {
        if self.opened.borrow().is_some() {
            return Ok(());
        }
        if self.to_stdout() {
            output::set_aside();
        }
        self.check_free()?;
        let output = if self.to_stdout() {
            Output::stream("standard output", std::io::stdout())
        } else {
            let replace = self.force || self.dry_run;
            Output::create(&self.out, if replace { Existing::Replace } else { Existing::Keep })
        }?;
        if self.dry_run {
            return Ok(());
        }
        self.receipt.replace(output.receipt());
        self.opened.replace(Some(output));
        let failed = |e| Error::io("signals", e);
        interrupt::watch(&self.out, self.ledger.as_deref()).map_err(failed)
    }

    /// Where the release is written: to be asked for once.
    pub(crate) fn take(&self) -> Result<Output> {
        let output = self.opened.borrow_mut().take();
        let mut output = output.ok_or_else(|| Error::usage("the output is open once only"))?;
        self.mapped.get().into_iter().for_each(|mapped| output.mapped(mapped.clone()));
        Ok(output)
    }

    fn say_recovered(&self) {
        self.receipt.borrow().recovered().iter().for_each(|said| noted(said));
    }

    /// Refuses to write over a file without being told, and to what is no file.
    fn check_free(&self) -> Result<()> {
        let out = self.out.display();
        if self.to_stdout() {
            if std::io::stdout().is_terminal() && !self.dry_run {
                return Err(Error::usage(
                    "--out -: standard output is a terminal; send it to a file or a pipe",
                ));
            }
            return Ok(());
        }
        let of_process = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];
        if is_stream(&self.out) || of_process.iter().any(|p| self.out.starts_with(p)) {
            return Err(Error::usage(format!(
                "{out} is not a file that a release can take the place of: use --out - for \
                 standard output, or name a file"
            )));
        }
        if self.out.is_dir() {
            return Err(Error::usage(format!("{out} is a folder: --out names a file in it")));
        }
        if !self.out.exists() {
            return Ok(());
        }
        if !Content::open(&self.out)?.is_release()? {
            return Err(Error::usage(format!(
                "{out} exists and is not a release; it might be the data or a ledger, and is never \
                 written over"
            )));
        }
        let said =
            format!("{out} exists; --force writes over it (a new release spends the budget again)");
        match (self.force, self.dry_run) {
            (true, _) => Ok(()),
            (false, true) => {
                output::complain(&format!("warning: {said}"));
                Ok(())
            }
            (false, false) => Err(Error::usage(said)),
        }
    }

    /// What a dry run found.
    pub(crate) fn planned(&self, label: &str, guarantee: &Guarantee) -> Record {
        let record = Record::new().text("dry run", "nothing was released or spent");
        promise(record.text("mechanism", label), guarantee)
    }

    /// What was written.
    pub(crate) fn written(&self, certificate: &Certificate) -> Result<Record> {
        certificate.verify_consistency()?;
        let record = self.described(certificate.statement())?;
        let mut record = promise(record, certificate.guarantee());
        if let (Some(ledger), Some(paid)) = (&self.ledger, self.receipt.borrow().paid()) {
            let name = ledger.display().to_string();
            record = record.text("paid from", name).text("release id", paid.id);
            record = record.text("ledger head", paid.head);
        }
        Ok(record.text("verification", "holds together"))
    }

    pub(super) fn described(&self, statement: &Statement) -> Result<Record> {
        self.say_recovered();
        let mut record = Record::new()
            .text("release", self.out.display().to_string())
            .text("mechanism", &statement.mechanism);
        // The map is said in words.
        let public = statement.public.iter();
        for (name, value) in public.filter(|(name, _)| *name != Preprocessing::KEY) {
            let value = serde_json::to_value(value).unwrap_or_default();
            record = record.json(name, &value);
        }
        let kind = serde_json::to_value(statement.generator).unwrap_or_default();
        Ok(record.json("noise generator", &kind))
    }
}

/// The generator of noise: the system's, or for tests one that anybody can repeat.
pub(crate) fn noise(insecure_test_seed: Option<u64>) -> Result<NoiseRng> {
    Ok(match insecure_test_seed {
        None => NoiseRng::from_os()?,
        Some(seed) => {
            output::complain("warning: --insecure-test-noise: this release is NOT private");
            NoiseRng::deterministic_not_private(seed)
        }
    })
}

/// What the guarantee rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Calibration {
    /// For the very projection of a public seed, which may be known before and used again.
    Realised,
    /// For a Gaussian projection that is drawn at release and used once: an average over it.
    Averaged,
}

/// What was found interrupted in a ledger, and what became of it.
pub(crate) fn noted(said: &str) {
    output::complain(said);
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
    /// Whether a seed was drawn that nobody said.
    #[arg(skip)]
    drawn: Cell<bool>,
}

impl SeedOptions {
    pub(super) fn drawn(&self) -> bool {
        self.drawn.get()
    }

    /// Whether somebody said one.
    pub(super) fn is_given(&self) -> bool {
        self.seed.is_some()
    }

    /// For mechanisms whose guarantee needs a seed that nobody knew: it is drawn when the rows are fixed.
    pub(crate) fn later(&self, why: &str) -> Result<()> {
        no_effect("--seed", self.seed.as_ref(), why)
    }

    /// Of what is not drawn.
    pub(crate) fn none(&self, why: &str) -> Result<PublicSeed> {
        no_effect("--seed", self.seed.as_ref(), why)?;
        Ok(PublicSeed::new(0))
    }

    pub(crate) fn get(&self) -> Result<PublicSeed> {
        match self.seed {
            Some(seed) => Ok(PublicSeed::new(seed)),
            None => {
                self.drawn.set(true);
                Ok(PublicSeed::draw()?)
            }
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
pub(crate) fn check_rereadable(input: &Path, what: &str) -> Result<()> {
    if !is_stream(input) {
        return Ok(());
    }
    let name = shown(input);
    Err(Error::usage(format!("{name} can be read once only: {what} needs a file")))
}

/// Reads an input and hands every block within the limits to `take`; how many rows there were.
pub(crate) fn each_block(
    input: Input,
    limits: Limits,
    mut take: impl FnMut(&Block) -> Result<()>,
) -> Result<usize> {
    let progress = progress(&input.meter);
    let file = limits.file.clone();
    let mut rows = 0;
    Prefetch::start(input.rows, limits)?.each::<Error>(|block, first| {
        take(block).map_err(|e| e.after(first).in_file(&file))?;
        rows += block.n;
        progress.show();
        Ok(())
    })?;
    // No budget is spent on a file without data, and nothing is published of it.
    if rows == 0 { Err(DataError::of(&file, "the file holds no row").into()) } else { Ok(rows) }
}

/// Reads a whole input against its limits without keeping it; how many rows there were.
pub(crate) fn check_input(options: &InputOptions, limits: &Limits) -> Result<usize> {
    check_rereadable(&options.input, "a dry run")?;
    let rows = each_block(options.open()?, limits.clone(), |_| Ok(()))?;
    options.check_ids()?;
    Ok(rows)
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
