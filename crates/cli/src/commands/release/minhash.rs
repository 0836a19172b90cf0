//! `dps release minhash`.

use super::common::{OutputOptions, SeedOptions, check_rereadable, progress};
use super::privacy::{AdjacencyKind, AdjacencyOptions, BudgetOptions};
use crate::error::{Error, Result};
use crate::input::ItemOptions;
use crate::output::Record;
use clap::{Args, ValueEnum};
use dp_core::{Adjacency, Budget, FreshSeed, NoiseRng};
use sketch::minhash::{
    BinResponse, BucketPrivMin, ItemSet, MixtureResponse, SetNeighbours, SymbolShape,
};
use sketch::release_file::SetWriter;

/// Options of `dps release minhash`.
#[derive(Args)]
pub(crate) struct MinhashOptions {
    #[command(flatten)]
    input: ItemOptions,
    #[command(flatten)]
    output: OutputOptions,
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
    /// Symbols a position can show; `dps plan sets` names the best number.
    #[arg(long, default_value_t = 4, help_heading = "Mechanism")]
    symbols: u32,
    /// mixture, buckets: minima hashed together.
    #[arg(long, default_value_t = 1, help_heading = "Mechanism")]
    concatenation: usize,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Mechanism {
    /// One-permutation bins: best for few changed items; seeds may be shared.
    Bins,
    /// Hashed minima under fresh hash functions, exact mixture calibration.
    Mixture,
    /// Buckets, pure, any two sets (--adjacency any-input).
    Buckets,
}

enum Calibrated {
    Bins(BinResponse),
    Mixture(MixtureResponse),
    Buckets(BucketPrivMin),
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
            Calibrated::Bins(m) => m.guarantee(),
            Calibrated::Mixture(m) => m.guarantee(),
            Calibrated::Buckets(m) => m.guarantee(),
        };
        let neighbours = match adjacency {
            Adjacency::SetItems { alpha, min_size } => Some(SetNeighbours::new(alpha, min_size)?),
            _ => None,
        };
        let check = || {
            check_rereadable(&self.input.input)?;
            self.each_batch(neighbours, |_| Ok(()))
        };
        let Some(mut rng) = self.output.pay(guarantee, &label, check)? else {
            return Ok(self.output.planned(&label, guarantee));
        };
        let mut writer = self.writer(&mechanism, &mut rng)?;
        self.each_batch(neighbours, |sets| Ok(writer.push(sets)?))?;
        self.output.written(&writer.finish()?.certificate)
    }

    /// Reads the file in batches; sets below the declared size are refused.
    fn each_batch(
        &self,
        neighbours: Option<SetNeighbours>,
        mut take: impl FnMut(&[ItemSet]) -> Result<()>,
    ) -> Result<()> {
        let mut reader = self.input.open()?;
        let progress = progress(&reader.meter);
        loop {
            let before = reader.done();
            let sets = reader.next()?;
            if sets.is_empty() {
                return Ok(());
            }
            if let Some(neighbours) = neighbours {
                neighbours.check(&sets).map_err(|e| Error::from(e).after(before))?;
            }
            take(&sets)?;
            progress.show();
        }
    }

    fn calibrate(&self, adjacency: Adjacency, budget: Budget) -> Result<Calibrated> {
        let shape = || SymbolShape::new(self.k, self.concatenation, self.symbols);
        Ok(match (self.mechanism, adjacency) {
            (Mechanism::Mixture, Adjacency::SetItems { alpha, min_size }) => {
                let neighbours = SetNeighbours::new(alpha, min_size)?;
                Calibrated::Mixture(MixtureResponse::calibrate(shape()?, neighbours, budget)?)
            }
            (Mechanism::Bins, Adjacency::SetItems { alpha, .. }) => {
                Calibrated::Bins(BinResponse::calibrate(self.k, self.symbols, alpha, budget)?)
            }
            _ => {
                if budget.delta.get() > 0.0 {
                    return Err(Error::usage("--mechanism buckets is pure: --delta 0"));
                }
                Calibrated::Buckets(BucketPrivMin::new(shape()?, budget.epsilon)?)
            }
        })
    }

    /// A writer of the release: `mixture` draws fresh hash functions.
    fn writer<'a>(
        &self,
        mechanism: &'a Calibrated,
        rng: &'a mut NoiseRng,
    ) -> Result<SetWriter<'a>> {
        let path = &self.output.out;
        Ok(match mechanism {
            Calibrated::Bins(m) => m.writer(path, self.seed.get()?, rng)?,
            Calibrated::Mixture(m) => m.writer(path, FreshSeed::draw()?, rng)?,
            Calibrated::Buckets(m) => m.writer(path, self.seed.get()?, rng)?,
        })
    }
}
