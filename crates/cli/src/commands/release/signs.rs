//! `dps release signs`.

use super::common::{Promise, RowsOptions, SeedOptions, check_input, progress};
use super::privacy::AdjacencyKind;
use super::sketch::ProjectionOptions;
use crate::error::Result;
use crate::input::Prefetch;
use crate::output::Record;
use clap::{Args, ValueEnum};
use dp_core::release_file;
use sketch::sign::{FlipRule, PrivateSigns, SignSketch};

/// Options of `dps release signs`.
#[derive(Args)]
pub(crate) struct SignOptions {
    #[command(flatten)]
    rows: RowsOptions,
    #[command(flatten)]
    projection: ProjectionOptions,
    #[command(flatten)]
    seed: SeedOptions,
    /// Independent projections side by side, each of k / repetitions signs.
    #[arg(long, default_value_t = 1, help_heading = "Mechanism")]
    repetitions: usize,
    /// How signs are flipped: optimal keeps most in search, response lets angles be estimated.
    #[arg(long, value_enum, default_value_t = Flips::Optimal, help_heading = "Mechanism")]
    flips: Flips,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Flips {
    /// Seldom flips signs of large values (ours): best for search.
    Optimal,
    /// The published smooth rule.
    Smooth,
    /// One flip probability for all: cosines can be estimated.
    Response,
}

impl SignOptions {
    pub(crate) fn run(&self) -> Result<Record> {
        let Promise { adjacency, budget, limits } =
            self.rows.promise("a sign sketch", &[AdjacencyKind::Attribute])?;
        let bound = self.rows.bounds.largest(adjacency)?;
        let input = self.rows.input.open()?;
        let d = input.rows.d();
        let (family, k, seed) = (self.projection.family(), self.projection.k(), self.seed.get()?);
        let sketch = SignSketch::repeated(family, d, k, self.repetitions, seed)?;
        let rule = match self.flips {
            Flips::Optimal => FlipRule::OptimalSmooth,
            Flips::Smooth => FlipRule::PublishedSmooth,
            Flips::Response => FlipRule::RandomizedResponse,
        };
        let mechanism = PrivateSigns::new(sketch, rule, adjacency, bound, budget)?;
        let guarantee = mechanism.guarantee();
        let label = format!("signs, {} bits", k);
        let check = || check_input(&self.rows.input, &limits);
        let Some(mut rng) = self.rows.output.pay(guarantee, &label, check)? else {
            return Ok(self.rows.output.planned(&label, guarantee));
        };
        let progress = progress(&input.meter);
        let mut open = mechanism.open(&mut rng);
        for block in Prefetch::start(input.rows, limits)? {
            open.push(block?.view(d)?)?;
            progress.show();
        }
        let release = open.close()?;
        release_file::write(&self.rows.output.out, &release)?;
        self.rows.output.written(release.certificate())
    }
}
