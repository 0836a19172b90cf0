//! `dps release minhash`.

use super::common::{OutputOptions, SeedOptions};
use super::feed::Source;
use super::parts::{Asked, Made, Making};
use super::privacy::{AdjacencyKind, AdjacencyOptions, BudgetOptions, UserOptions, say_left_out};
use super::said::predicted;
use crate::commands::choice::{RECALL, SetFacts, Way, say_chosen, signature, warn_of_worse};
use crate::error::{Error, Result, no_effect};
use crate::input::ItemOptions;
use crate::output::Record;
use clap::{Args, ValueEnum};
use dp_core::ledger_file::BudgetFile;
use dp_core::mechanism::{Mechanism as _, Prediction};
use dp_core::{Adjacency, Budget, PublicSeed};
use sketch::plan::{SetMethod, SetPlan, plan_sets};
use sketch::sets::{
    BinResponse, BucketPrivMin, FreshBinResponse, MixtureResponse, SetNeighbours, SetWriter,
    SymbolShape,
};

/// The options that parameters of signatures come from.
const OPTIONS: [(&str, &str); 4] = [
    ("bins", "-k"),
    ("values of a bin", "--symbols"),
    ("alphabet", "--symbols"),
    ("positions times concatenation", "-k times --concatenation"),
];
/// Symbols where none are named.
const SYMBOLS: u32 = 4;

/// Options of `dps release minhash`.
#[derive(Args)]
pub(crate) struct MinhashOptions {
    #[command(flatten)]
    input: ItemOptions,
    #[command(flatten)]
    pub(super) output: OutputOptions,
    #[command(flatten)]
    adjacency: AdjacencyOptions,
    #[command(flatten)]
    users: UserOptions,
    #[command(flatten)]
    budget: BudgetOptions,
    #[command(flatten)]
    seed: SeedOptions,
    /// The mechanism. Where neither this nor symbols or minima are named, and --size, --near and --far are, the plan (`dps plan
    /// similar-sets`) chooses all of them, of at most k positions; where they are named, they are compared with it [default:
    /// bins].
    #[arg(long, value_enum, help_heading = "Mechanism")]
    mechanism: Option<Mechanism>,
    /// Positions (or bins) of a signature.
    #[arg(short, long, default_value_t = 100, help_heading = "Mechanism")]
    k: usize,
    /// Symbols a position can show; `dps plan sets` names the best number [default: 4].
    #[arg(long, help_heading = "Mechanism")]
    symbols: Option<u32>,
    /// mixture, buckets: minima hashed together [default: 1].
    #[arg(long, help_heading = "Mechanism")]
    concatenation: Option<usize>,
    /// bins, occupancy: hash functions drawn at release, and noise for the bins that changed items are then seen in. Less of it
    /// where several items may change (--alpha) in sets of many more items (--min-size) than bins; it spends delta.
    #[arg(long, requires = "mechanism", help_heading = "Mechanism")]
    fresh: bool,
    #[command(flatten)]
    facts: SetFacts,
}

/// What is made of the sets.
#[derive(Clone, Copy)]
struct Shape {
    mechanism: Mechanism,
    k: usize,
    symbols: Option<u32>,
    concatenation: Option<usize>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Mechanism {
    /// One-permutation bins: best for few changed items; seeds may be shared. The guarantee holds for
    /// sets of any size: any ledger of this --alpha pays for it.
    Bins,
    /// One bit a bin, whether it holds any item: best for search up to epsilon 6 or so, with `dps search --denoise`.
    /// Otherwise as bins.
    Occupancy,
    /// Hashed minima under fresh hash functions, exact mixture calibration.
    Mixture,
    /// Buckets, pure, one set becomes any other (--adjacency any-input).
    Buckets,
}

/// A mechanism, and where its hash functions come from.
enum Calibrated {
    Bins(BinResponse, PublicSeed),
    /// Drawn at release.
    FreshBins(FreshBinResponse),
    /// The same.
    Mixture(MixtureResponse),
    Buckets(BucketPrivMin, PublicSeed),
}

impl Calibrated {
    fn predict(&self, facts: sketch::sets::SetFacts) -> sketch::Result<Prediction> {
        match self {
            Self::Bins(m, _) => m.predict(facts),
            Self::FreshBins(m) => m.predict(facts),
            Self::Mixture(m) => m.predict(facts),
            Self::Buckets(m, _) => m.predict(facts),
        }
    }
}

impl MinhashOptions {
    pub(crate) fn run(&self) -> Result<Record> {
        let known = match self.mechanism {
            Some(Mechanism::Buckets) => [AdjacencyKind::AnyInput],
            _ => [AdjacencyKind::SetItems],
        };
        if self.users.any() {
            self.output.check_users()?;
        }
        let each = self.adjacency.get("this set signature", &known)?;
        let adjacency = self.users.of(each, |users| self.input.bound_users(users))?;
        let budget = self.budget.get()?;
        let shape = self.shape(adjacency, budget)?;
        let mechanism = self
            .calibrate(shape, adjacency, budget)
            .map_err(|error| error.with_options(&OPTIONS))?;
        let label = format!("set signatures, {:?}", shape.mechanism).to_lowercase();
        let guarantee = match &mechanism {
            Calibrated::Bins(m, _) => m.guarantee(),
            Calibrated::FreshBins(m) => m.guarantee(),
            Calibrated::Mixture(m) => m.guarantee(),
            Calibrated::Buckets(m, _) => m.guarantee(),
        };
        let neighbours = match each {
            Adjacency::SetItems { alpha, min_size } => Some(SetNeighbours::new(alpha, min_size)?),
            _ => None,
        };
        let source = Source::Sets { options: &self.input, neighbours };
        let asked = Asked::new(guarantee, &label, source).drawn(&self.seed);
        let made = self.output.make(&asked, &mut |making: Making<'_>| {
            let fresh = making.fresh()?;
            let Making { to, rng, feed, .. } = making;
            let mut writer = match &mechanism {
                Calibrated::Bins(m, seed) => SetWriter::create(to, m, *seed, rng)?,
                Calibrated::FreshBins(m) => SetWriter::create(to, m, fresh, rng)?,
                Calibrated::Mixture(m) => SetWriter::create(to, m, fresh, rng)?,
                Calibrated::Buckets(m, seed) => SetWriter::create(to, m, *seed, rng)?,
            };
            feed.sets(|sets| Ok(writer.push(sets)?))?;
            Ok(writer.finish()?.certificate)
        })?;
        let record = match made {
            Made::Released(certificate) => self.output.written(&certificate)?,
            Made::Planned => self.output.planned(&label, guarantee),
            Made::Parts(record) => return Ok(record),
        };
        say_left_out(self.input.left_out(), "sets");
        Ok(match self.facts.near()? {
            Some(facts) => predicted(record, mechanism.predict(facts)?),
            None => record,
        })
    }

    /// What is named, or the plan's choice.
    fn shape(&self, adjacency: Adjacency, budget: Budget) -> Result<Shape> {
        let Self { k, symbols, concatenation, .. } = *self;
        let mechanism = self.mechanism.unwrap_or(Mechanism::Bins);
        if adjacency.rows() > 1 && self.facts.near()?.is_some() {
            return Err(Error::usage(
                "--size, --near and --far are for the plan, which knows one set a user: beside --user name --mechanism, -k and \
                 --symbols",
            ));
        }
        let named = Shape { mechanism, k, symbols, concatenation };
        let Adjacency::SetItems { alpha, min_size } = adjacency else { return Ok(named) };
        let Some(goal) = self.facts.goal(k, min_size)? else { return Ok(named) };
        let neighbours = SetNeighbours::new(alpha, min_size)?;
        let mut plans = plan_sets(goal, neighbours, budget)?;
        self.retain_possible(&mut plans)?;
        let way = |plan: &SetPlan| {
            let (name, k, symbols, minima) = signature(plan)?;
            let minima = if minima > 1 { format!(", {minima} minima") } else { String::new() };
            Ok((format!("{name}, k = {k}, {symbols} symbols{minima}"), plan.recall))
        };
        let Some(best) = plans.first() else { return Ok(named) };
        if self.mechanism.is_none() && symbols.is_none() && concatenation.is_none() {
            // One of the other kind is what else there was.
            let kind = signature(best)?.0;
            let other = plans.iter().find(|plan| signature(plan).is_ok_and(|s| s.0 != kind));
            let ways: Vec<Way> = [Some(best), other, plans.get(1)]
                .into_iter()
                .flatten()
                .map(way)
                .collect::<Result<_>>()?;
            say_chosen(RECALL, &ways);
            let (kind, k, symbols, minima) = signature(best)?;
            let hashed = kind == "mixture";
            return Ok(Shape {
                mechanism: if hashed { Mechanism::Mixture } else { Mechanism::Bins },
                k,
                symbols: Some(symbols),
                concatenation: hashed.then_some(minima),
            });
        }
        let symbols = symbols.unwrap_or(SYMBOLS);
        let asked = match mechanism {
            // The plan knows no bins under fresh hash functions.
            Mechanism::Bins if self.fresh => return Ok(named),
            Mechanism::Bins => SetPlan::bins(&goal, neighbours, budget, (k, symbols))?,
            Mechanism::Mixture => {
                let shape = SymbolShape::new(k, concatenation.unwrap_or(1), symbols)?;
                SetPlan::mixture(&goal, neighbours, budget, shape)?
            }
            // Found by another ranking, and for another unit.
            Mechanism::Occupancy | Mechanism::Buckets => return Ok(named),
        };
        let (name, recall) = way(&asked)?;
        warn_of_worse(RECALL, (&name, recall), &way(best)?);
        Ok(named)
    }

    /// Bins alone can take a seed; and a ledger pays for what protects its unit.
    fn retain_possible(&self, plans: &mut Vec<SetPlan>) -> Result<()> {
        if self.seed.is_given() {
            plans.retain(|plan| matches!(plan.choice, SetMethod::Bins { .. }));
        }
        if let Some(ledger) = self.output.ledger() {
            let unit = BudgetFile::read(ledger)?.ledger().adjacency();
            plans.retain(|plan| match &plan.choice {
                SetMethod::Bins { mechanism, .. } => {
                    mechanism.guarantee().adjacency().implies(&unit)
                }
                SetMethod::Mixture { mechanism, .. } => {
                    mechanism.guarantee().adjacency().implies(&unit)
                }
                _ => false,
            });
        }
        Ok(())
    }

    fn calibrate(&self, asked: Shape, adjacency: Adjacency, budget: Budget) -> Result<Calibrated> {
        if !matches!(asked.mechanism, Mechanism::Bins | Mechanism::Occupancy) {
            let why = "--mechanism bins and occupancy alone may keep their hash functions";
            no_effect("--fresh", self.fresh.then_some(&self.fresh), why)?;
        }
        let averaged = self.fresh || matches!(asked.mechanism, Mechanism::Mixture);
        if averaged && adjacency.rows() > 1 {
            return Err(Error::usage(
                "--user needs hash functions that may be known, in which every set is answered apart: --mechanism bins, occupancy \
                 or buckets, without --fresh",
            ));
        }
        let symbols = asked.symbols.unwrap_or(SYMBOLS);
        let shape = || SymbolShape::new(asked.k, asked.concatenation.unwrap_or(1), symbols);
        Ok(match (asked.mechanism, adjacency.each()) {
            (Mechanism::Mixture, Adjacency::SetItems { alpha, min_size }) => {
                let why = "the guarantee of --mechanism mixture averages over hash functions that \
                           nobody knew before, so they are drawn at release";
                self.seed.later(why)?;
                let neighbours = SetNeighbours::new(alpha, min_size)?;
                let mechanism = MixtureResponse::calibrate(shape()?, neighbours, budget)?;
                Calibrated::Mixture(mechanism)
            }
            (Mechanism::Bins | Mechanism::Occupancy, Adjacency::SetItems { alpha, min_size }) => {
                let why = "--mechanism bins and occupancy keep at most one minimum a bin";
                no_effect("--concatenation", asked.concatenation.as_ref(), why)?;
                let symbols = if matches!(asked.mechanism, Mechanism::Occupancy) {
                    let why = "--mechanism occupancy shows one symbol or none";
                    no_effect("--symbols", asked.symbols.as_ref(), why)?;
                    1
                } else {
                    symbols
                };
                if self.fresh {
                    let why = "the guarantee of --fresh averages over hash functions that nobody \
                               knew before, so they are drawn at release";
                    self.seed.later(why)?;
                    let (k, neighbours) = (asked.k, SetNeighbours::new(alpha, min_size)?);
                    let mechanism = FreshBinResponse::calibrate(k, symbols, neighbours, budget)?;
                    return Ok(Calibrated::FreshBins(mechanism));
                }
                let mechanism =
                    BinResponse::of_user(asked.k, symbols, alpha, adjacency.rows(), budget)?;
                Calibrated::Bins(mechanism, self.seed.get()?)
            }
            _ => {
                if budget.delta.get() > 0.0 {
                    return Err(Error::usage("--mechanism buckets is pure: --delta 0"));
                }
                let mechanism = BucketPrivMin::of_user(shape()?, adjacency.rows(), budget.epsilon)?;
                Calibrated::Buckets(mechanism, self.seed.get()?)
            }
        })
    }
}
