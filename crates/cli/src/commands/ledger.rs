//! `dps ledger`: the budget file of a data set.

use super::attest::SignerOptions;
use super::content::Content;
use super::disjoint::{DisjointOptions, named};
use super::release::{AdjacencyKind, AdjacencyOptions};
use super::trust::TrustOptions;
use super::{loaded, recheck};
use crate::error::{Error, Result};
use crate::output::{Record, complain, date, print};
use clap::{Args, Subcommand, ValueEnum};
use dp_core::accounting::{Filter, FilterRule, Foreign, Ledger as Book, Method, Standing};
use dp_core::ledger_file::{BudgetFile, Repeat};
use dp_core::release_file::AnyCertificate;
use dp_core::text::printable_json;
use dp_core::{Budget, Certificate, Delta};
use linalg_dp::verify::Report;
use rayon::prelude::*;
use readers::is_stream;
use std::path::{Path, PathBuf};

/// Options of `dps ledger`.
#[derive(Args)]
pub(crate) struct Ledger {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Start the ledger of a data set.
    Init(Init),
    /// Pay for a release that was made elsewhere and that nobody has seen yet; refused past the limit.
    /// `dps release --ledger` pays for its own.
    Spend(Spend),
    /// Enter a release that has happened, even past the limit: a ledger that forgot it would allow more.
    Record(Happened),
    /// Enter a guarantee that somebody declares of a release made by another program.
    Declare(Declare),
    /// The composition of all entries, in the JSON form that other accountants read.
    Export(Export),
    /// What was spent, by every method of accounting, and what may be.
    Show(Show),
}

/// Entries that are listed where not all are asked for.
const LISTED: usize = 100;

/// How the limit is kept.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Rule {
    /// Epsilons and deltas add up: any mechanism.
    Basic,
    /// Zero-concentrated: Gaussian, Laplace and randomised response.
    Zcdp,
    /// Gaussian differential privacy: tight for Gaussian noise.
    Gdp,
    /// Renyi at fixed orders: every mechanism whose loss law is known, mixed.
    Renyi,
}

impl Rule {
    pub(crate) fn filter(self) -> FilterRule {
        match self {
            Self::Basic => FilterRule::Basic,
            Self::Zcdp => FilterRule::Zcdp,
            Self::Gdp => FilterRule::Gdp,
            Self::Renyi => FilterRule::Renyi,
        }
    }
}

#[derive(Args)]
struct Init {
    /// The file to make.
    file: PathBuf,
    /// Public name of the data set.
    #[arg(long)]
    data: String,
    /// The most that may be spent: epsilon.
    #[arg(long)]
    epsilon: f64,
    /// The most that may be spent: delta.
    #[arg(long)]
    delta: f64,
    /// How expenses are added up.
    #[arg(long, value_enum, default_value_t = Rule::Basic)]
    rule: Rule,
    #[command(flatten)]
    adjacency: AdjacencyOptions,
    /// The unit is a user with up to this many rows (or sets), each of which may change so: 1 is one row.
    #[arg(long, value_name = "M", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    rows_a_user: u64,
}

#[derive(Args)]
struct Spend {
    /// The ledger.
    file: PathBuf,
    /// A release file, or a certificate (JSON).
    release: PathBuf,
    #[command(flatten)]
    disjoint: DisjointOptions,
    #[command(flatten)]
    trust: TrustOptions,
}

#[derive(Args)]
struct Declare {
    /// The ledger.
    file: PathBuf,
    /// The guarantee (JSON; `docs/FORMAT.md` describes the form): (epsilon, delta), zCDP, Gaussian or a
    /// privacy loss distribution. It is entered at the word of whoever declares it.
    guarantee: PathBuf,
    /// The delta at which the epsilon of a curve is stated.
    #[arg(long)]
    delta: Option<f64>,
    /// How often the mechanism ran.
    #[arg(long, default_value_t = 1)]
    runs: u64,
    #[command(flatten)]
    disjoint: DisjointOptions,
}

#[derive(Args)]
struct Export {
    /// The ledger.
    file: PathBuf,
}

#[derive(Args)]
struct Happened {
    #[command(flatten)]
    release: Spend,
    /// It is another release than the equal one that is in the ledger: small ones can come out the same.
    #[arg(long)]
    again: bool,
}

#[derive(Args)]
struct Show {
    /// The ledger.
    file: PathBuf,
    /// The delta at which epsilon is stated; the limit's by default.
    #[arg(long)]
    delta: Option<f64>,
    /// List every entry, and not the latest hundred alone.
    #[arg(long)]
    all: bool,
    /// How many more releases fit under the limit, each like the last entry, or like this release or certificate; by the
    /// ledger's rule, and what other rules would allow.
    #[arg(long, value_name = "RELEASE", num_args = 0..=1)]
    more: Option<Option<PathBuf>>,
    #[command(flatten)]
    signer: SignerOptions,
}

impl Ledger {
    pub(crate) fn run(&self) -> Result<Record> {
        match &self.action {
            Action::Init(action) => action.run(),
            Action::Spend(action) => action.run(),
            Action::Record(action) => action.run(),
            Action::Declare(action) => action.run(),
            Action::Export(action) => action.run(),
            Action::Show(action) => action.run(),
        }
    }
}

impl Init {
    fn run(&self) -> Result<Record> {
        let every = [
            AdjacencyKind::Attribute,
            AdjacencyKind::RowShift,
            AdjacencyKind::ReplaceRow,
            AdjacencyKind::AddRemoveRow,
            AdjacencyKind::ZeroRow,
            AdjacencyKind::SetItems,
            AdjacencyKind::AnyInput,
        ];
        let adjacency = self.adjacency.get("a ledger", &every)?.of_user(self.rows_a_user)?;
        let limit = Budget::new(self.epsilon, self.delta)?;
        let rule = self.rule.filter();
        if limit.delta.get() == 0.0 && rule != FilterRule::Basic {
            let name = format!("{:?}", self.rule).to_lowercase();
            return Err(Error::usage(format!(
                "--rule {name} says what was spent at a delta above zero: with --delta 0 it would take no release, not even a \
                 pure one; give a delta such as 1e-6, or leave --rule out, and epsilons add up"
            )));
        }
        if is_stream(&self.file) {
            return Err(Error::usage("a ledger is a file: it is changed in its place"));
        }
        let file = BudgetFile::create(&self.file, &self.data, adjacency, limit, rule)?;
        Ok(summary(&self.file, &file))
    }
}

impl Spend {
    fn run(&self) -> Result<Record> {
        let ((certificate, label), part) = (self.certificate()?, self.disjoint.get()?);
        let file = BudgetFile::add(&self.file, &certificate, named(part.as_ref(), &label))?;
        Ok(summary(&self.file, &file))
    }

    /// The certificate of what is entered, checked, and what it is called.
    fn certificate(&self) -> Result<(Certificate, String)> {
        let (content, trust) = (Content::open(&self.release)?, self.trust.get());
        let certificate = if content.is_release()? {
            loaded::checked(&content, &trust)?.1.certificate
        } else {
            let certificate = content.certificate()?;
            let again = recheck::certificate(&certificate, &trust)?;
            Report::new(again, again).require(&certificate, &trust)?;
            certificate
        };
        let AnyCertificate::Private(certificate) = certificate else {
            return Err(Error::Refused(format!(
                "{}: only certificates of differential privacy enter a ledger; individual \
                 differential privacy does not compose with it",
                self.release.display()
            )));
        };
        if certificate.guarantee().adjacency().rows() > 1 {
            self.disjoint.check_users()?;
        }
        let name = self.release.file_name().unwrap_or_default().to_string_lossy();
        let label = format!("{} ({name})", certificate.statement().mechanism);
        Ok((certificate, label))
    }
}

impl Happened {
    fn run(&self) -> Result<Record> {
        let (certificate, label) = self.release.certificate()?;
        let part = self.release.disjoint.get()?;
        let repeat = if self.again { Repeat::Enter } else { Repeat::Refuse };
        let path = &self.release.file;
        let (file, standing) =
            BudgetFile::record(path, &certificate, named(part.as_ref(), &label), repeat)?;
        let record = summary(path, &file);
        Ok(match standing {
            Standing::Kept => record.text("limit", "kept"),
            Standing::Passed(by) => {
                complain(&format!("warning: {}: the limit is {}", path.display(), passed(&by)));
                record.text("limit", "PASSED")
            }
        })
    }
}

impl Declare {
    fn run(&self) -> Result<Record> {
        let foreign = Foreign::from_json(&Content::open(&self.guarantee)?.text()?)?;
        let guarantee = foreign.guarantee(self.delta.map(Delta::new).transpose()?)?;
        let label = format!("declared by {}: {}", foreign.by, foreign.reason);
        if guarantee.adjacency().rows() > 1 {
            self.disjoint.check_users()?;
        }
        let part = self.disjoint.get()?;
        let named = named(part.as_ref(), &label);
        let file = BudgetFile::declare(&self.file, &guarantee, self.runs, named)?;
        let budget = guarantee.budget();
        let record = summary(&self.file, &file).text("declared by", &foreign.by);
        Ok(record
            .number("declared epsilon", budget.epsilon.get())
            .number("declared delta", budget.delta.get()))
    }
}

impl Export {
    fn run(&self) -> Result<Record> {
        let file = BudgetFile::read(&self.file)?;
        let composition = Foreign::of_ledger(file.ledger())?;
        print(&printable_json(&(composition.to_json() + "\n")));
        Ok(Record::silent())
    }
}

impl Show {
    fn run(&self) -> Result<Record> {
        let file = BudgetFile::open(&self.file)?;
        let ledger = file.ledger();
        let delta = match (self.delta, ledger.filter()) {
            (Some(delta), _) => Delta::new(delta)?,
            (None, Some(Filter { limit, .. })) => limit.delta,
            (None, None) => return Err(Error::usage("--delta is required: there is no limit")),
        };
        let before = if self.all { 0 } else { ledger.entries().len().saturating_sub(LISTED) };
        let parts = ledger.declared_parts().is_some();
        let charges = file.charges().iter().map(Some).chain(std::iter::repeat(None));
        let entries = ledger.entries().iter().zip(charges).skip(before).map(|(entry, charge)| {
            let record = Record::new()
                .text("release", entry.label())
                .integer("runs", entry.event().count())
                .number("epsilon", entry.budget().epsilon.get())
                .number("delta", entry.budget().delta.get());
            let record = match entry.part() {
                Some(part) => record.text("part", part.to_string()),
                None if parts => record.text("part", "all rows"),
                None => record,
            };
            let Some(charge) = charge else { return record };
            let time = charge.time().map_or("not known".into(), date);
            let state = if charge.is_open() { "interrupted" } else { "paid" };
            let record = record.text("entered", time).text("state", state).text("id", charge.id());
            record.text("certificate", charge.certificate().unwrap_or("not named"))
        });
        // The first of them ask each release the same, and one after the other is told what the one before found.
        let answers =
            Method::ALL.par_chunks(4).flat_map_iter(|some| some.iter()).filter_map(|&method| {
                let name = serde_json::to_value(method).ok()?.as_str()?.to_owned();
                let epsilon = ledger.epsilon(delta, method).ok()?.upper;
                Some(Record::new().text("spent by", name).number("epsilon", epsilon.get()))
            });
        let answers: Vec<Record> = answers.collect();
        let record = summary(&self.file, &file).number("at delta", delta.get());
        let record = self.signer.check_ledger(record, &self.file, &file)?;
        let record = match &self.more {
            Some(like) => more(record, ledger, like.as_deref())?,
            None => record,
        };
        if ledger.entries().is_empty() {
            return Ok(record.table("entries", Vec::new()));
        }
        let record = match ledger.standing() {
            Standing::Kept => record,
            Standing::Passed(by) => record.text("limit", passed(&by)),
        };
        let record = record.text("answers hold", file.answers_hold());
        let record = match ledger.at_their_word() {
            Some(said) => record.text("declared entries", said),
            None => record,
        };
        let record = match before {
            0 => record,
            _ => record.integer("earlier entries, which --all lists", before as u64),
        };
        Ok(record.table("entries", entries.collect()).table("answers", answers))
    }
}

/// How a limit was passed.
fn passed(by: &dyn std::fmt::Display) -> String {
    format!("PASSED: {}", by.to_string().trim_start_matches("refused: "))
}

/// How many more releases the limit has room for.
fn more(record: Record, ledger: &Book, like: Option<&Path>) -> Result<Record> {
    let of = |path: &Path| match Content::open(path)?.certificate()? {
        AnyCertificate::Private(certificate) => Ok(certificate),
        _ => Err(Error::Refused(format!(
            "--more {}: no ledger counts what is not differential privacy",
            path.display()
        ))),
    };
    let certificate = like.map(of).transpose()?;
    let like = match (like, ledger.entries().last()) {
        (Some(path), _) => path.display().to_string(),
        (None, Some(last)) => last.label().to_owned(),
        (None, None) => {
            return Err(Error::usage(
                "--more: the ledger has no entry yet: --more RELEASE names one, `dps plan repeated` plans without",
            ));
        }
    };
    let mut record = record.text("more like", like);
    let mut rules = Vec::new();
    for rule in Rule::value_variants() {
        let (own, name) = (rule.filter(), format!("{rule:?}").to_lowercase());
        let row = Record::new().text("rule", &name);
        let kept = ledger.filter().is_some_and(|filter| filter.rule == own);
        match (ledger.more(certificate.as_ref(), own), kept) {
            (Ok(count), kept) => {
                if kept {
                    record = record.integer("more that fit", count);
                }
                rules.push(row.integer("more", count));
            }
            (Err(error), true) => return Err(error.into()),
            // Another rule may not count what is in this ledger.
            (Err(_), false) => {
                rules.push(row.text("more", "none: it does not count all of these mechanisms"))
            }
        }
    }
    Ok(record.table("more by rule, in a ledger begun with it", rules))
}

/// What a ledger is, and how much of its limit the stated budgets add up to.
pub(crate) fn summary(path: &Path, file: &BudgetFile) -> Record {
    file.recovered().iter().for_each(|said| complain(said));
    let ledger = file.ledger();
    let mut record = Record::new()
        .text("ledger", path.display().to_string())
        .text("data", file.data())
        .text("adjacency", ledger.adjacency().to_string())
        .integer("releases", ledger.entries().iter().map(|e| e.event().count()).sum())
        .text("ledger head", file.head());
    if let Some(said) = ledger.declared_parts() {
        record = record.text("parts", said);
    }
    if let Some(Filter { limit, rule }) = ledger.filter() {
        record = record
            .number("limit epsilon", limit.epsilon.get())
            .number("limit delta", limit.delta.get())
            .text("rule", format!("{rule:?}").to_lowercase());
        if *rule == FilterRule::Basic {
            record = sums(record, ledger, *limit);
        }
    }
    record
}

/// What the rule `basic` counts, and what it leaves.
fn sums(record: Record, ledger: &Book, limit: Budget) -> Record {
    let (epsilon, delta) = ledger.stated();
    record
        .number("spent epsilon", epsilon)
        .number("spent delta", delta)
        .number("left epsilon", (limit.epsilon.get() - epsilon).max(0.0))
        .number("left delta", (limit.delta.get() - delta).max(0.0))
}
