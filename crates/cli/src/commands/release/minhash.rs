//! `dps release minhash`.

use super::common::{OutputOptions, SeedOptions, progress};
use super::privacy::{AdjacencyKind, AdjacencyOptions, BudgetOptions};
use crate::error::{Error, Result};
use crate::input::{ItemOptions, read_sets};
use crate::output::Record;
use clap::{Args, ValueEnum};
use dp_core::{Adjacency, Budget, FreshSeed, NoiseRng, release_file};
use sketch::minhash::{
    BinResponse, BucketPrivMin, ItemSet, MixtureResponse, SetNeighbours, SymbolRelease, SymbolShape,
};

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
        let mut bar = None;
        let sets =
            read_sets(&self.input, |meter| bar.get_or_insert_with(|| progress(meter)).show())?;
        drop(bar);
        let guarantee = match &mechanism {
            Calibrated::Bins(m) => m.guarantee(),
            Calibrated::Mixture(m) => m.guarantee(),
            Calibrated::Buckets(m) => m.guarantee(),
        };
        if let Adjacency::SetItems { alpha, min_size } = adjacency {
            SetNeighbours::new(alpha, min_size)?.check(&sets)?;
        }
        let Some(mut rng) = self.output.pay(guarantee, &label, || Ok(()))? else {
            return Ok(self.output.planned(&label, guarantee));
        };
        let release = self.release(&mechanism, &sets, &mut rng)?;
        release_file::write(&self.output.out, &release)?;
        self.output.written(release.certificate())
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

    fn release(
        &self,
        mechanism: &Calibrated,
        sets: &[ItemSet],
        rng: &mut NoiseRng,
    ) -> Result<SymbolRelease> {
        Ok(match mechanism {
            Calibrated::Bins(m) => m.release(sets, self.seed.get()?, rng)?,
            Calibrated::Mixture(m) => m.release(sets, FreshSeed::draw()?, rng)?,
            Calibrated::Buckets(m) => m.release(sets, self.seed.get()?, rng)?,
        })
    }
}
