//! `dps release minhash`.

use super::common::{OutputOptions, SeedOptions};
use super::feed::Source;
use super::parts::{Asked, Made, Making};
use super::privacy::{AdjacencyKind, AdjacencyOptions, BudgetOptions};
use crate::error::{Error, Result, no_effect};
use crate::input::ItemOptions;
use crate::output::Record;
use clap::{Args, ValueEnum};
use dp_core::{Adjacency, Budget, PublicSeed};
use sketch::sets::{BinResponse, BucketPrivMin, MixtureResponse, SetNeighbours, SymbolShape};

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
    budget: BudgetOptions,
    #[command(flatten)]
    seed: SeedOptions,
    /// The mechanism.
    #[arg(long, value_enum, default_value_t = Mechanism::Bins, help_heading = "Mechanism")]
    mechanism: Mechanism,
    /// Positions (or bins) of a signature.
    #[arg(short, long, default_value_t = 100, help_heading = "Mechanism")]
    k: usize,
    /// Symbols a position can show; `dps plan sets` names the best number [default: 4].
    #[arg(long, help_heading = "Mechanism")]
    symbols: Option<u32>,
    /// mixture, buckets: minima hashed together [default: 1].
    #[arg(long, help_heading = "Mechanism")]
    concatenation: Option<usize>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Mechanism {
    /// One-permutation bins: best for few changed items; seeds may be shared. The guarantee holds for
    /// sets of any size: a ledger that pays for it says --min-size 1.
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
    Mixture(MixtureResponse),
    Buckets(BucketPrivMin, PublicSeed),
}

impl MinhashOptions {
    pub(crate) fn run(&self) -> Result<Record> {
        let known = match self.mechanism {
            Mechanism::Buckets => [AdjacencyKind::AnyInput],
            _ => [AdjacencyKind::SetItems],
        };
        let adjacency = self.adjacency.get("this set signature", &known)?;
        let budget = self.budget.get()?;
        let mechanism = self.calibrate(adjacency, budget)?;
        let label = format!("set signatures, {:?}", self.mechanism).to_lowercase();
        let guarantee = match &mechanism {
            Calibrated::Bins(m, _) => m.guarantee(),
            Calibrated::Mixture(m) => m.guarantee(),
            Calibrated::Buckets(m, _) => m.guarantee(),
        };
        let neighbours = match adjacency {
            Adjacency::SetItems { alpha, min_size } => Some(SetNeighbours::new(alpha, min_size)?),
            _ => None,
        };
        let source = Source::Sets { options: &self.input, neighbours };
        let asked = Asked::new(guarantee, &label, source).drawn(&self.seed);
        let made = self.output.make(&asked, &mut |making: Making<'_>| {
            let fresh = making.fresh()?;
            let Making { to, rng, feed, .. } = making;
            let mut writer = match &mechanism {
                Calibrated::Bins(m, seed) => m.writer(to, *seed, rng)?,
                Calibrated::Mixture(m) => m.writer(to, fresh, rng)?,
                Calibrated::Buckets(m, seed) => m.writer(to, *seed, rng)?,
            };
            feed.sets(|sets| Ok(writer.push(sets)?))?;
            Ok(writer.finish()?.certificate)
        })?;
        match made {
            Made::Released(certificate) => self.output.written(&certificate),
            Made::Planned => Ok(self.output.planned(&label, guarantee)),
            Made::Parts(record) => Ok(record),
        }
    }

    fn calibrate(&self, adjacency: Adjacency, budget: Budget) -> Result<Calibrated> {
        let symbols = self.symbols.unwrap_or(4);
        let shape = || SymbolShape::new(self.k, self.concatenation.unwrap_or(1), symbols);
        Ok(match (self.mechanism, adjacency) {
            (Mechanism::Mixture, Adjacency::SetItems { alpha, min_size }) => {
                let why = "the guarantee of --mechanism mixture averages over hash functions that \
                           nobody knew before, so they are drawn at release";
                self.seed.later(why)?;
                let neighbours = SetNeighbours::new(alpha, min_size)?;
                let mechanism = MixtureResponse::calibrate(shape()?, neighbours, budget)?;
                Calibrated::Mixture(mechanism)
            }
            (Mechanism::Bins | Mechanism::Occupancy, Adjacency::SetItems { alpha, .. }) => {
                let why = "--mechanism bins and occupancy keep at most one minimum a bin";
                no_effect("--concatenation", self.concatenation.as_ref(), why)?;
                let symbols = if matches!(self.mechanism, Mechanism::Occupancy) {
                    let why = "--mechanism occupancy shows one symbol or none";
                    no_effect("--symbols", self.symbols.as_ref(), why)?;
                    1
                } else {
                    symbols
                };
                let mechanism = BinResponse::calibrate(self.k, symbols, alpha, budget)?;
                Calibrated::Bins(mechanism, self.seed.get()?)
            }
            _ => {
                if budget.delta.get() > 0.0 {
                    return Err(Error::usage("--mechanism buckets is pure: --delta 0"));
                }
                let mechanism = BucketPrivMin::new(shape()?, budget.epsilon)?;
                Calibrated::Buckets(mechanism, self.seed.get()?)
            }
        })
    }
}
