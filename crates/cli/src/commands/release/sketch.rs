//! `dps release sketch`.

use super::common::{Promise, RowsOptions, SeedOptions, check_input, progress};
use super::privacy::AdjacencyKind;
use crate::error::{Error, Result};
use crate::input::{Input, Prefetch};
use crate::output::Record;
use clap::{Args, ValueEnum};
use dp_core::Budget;
use sketch::private::PrivateProjection;
use sketch::projection::{Family, ProjectionSpec, Sampling};
use sketch::release_file::{Element, ReleaseWriter};

/// Options of `dps release sketch`.
#[derive(Args)]
pub(crate) struct SketchOptions {
    #[command(flatten)]
    rows: RowsOptions,
    #[command(flatten)]
    projection: ProjectionOptions,
    #[command(flatten)]
    seed: SeedOptions,
    /// The noise: Gaussian, or Laplace for pure differential privacy.
    #[arg(long, value_enum, default_value_t = Noise::Gaussian, help_heading = "Mechanism")]
    noise: Noise,
    /// Store 32 bits a number: half the size, the same privacy.
    #[arg(long, help_heading = "Output")]
    f32: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Noise {
    Gaussian,
    Laplace,
}

/// The law of the projection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FamilyName {
    Gaussian,
    Rademacher,
    Achlioptas,
    VerySparse,
    SparseJl,
    HashedCopies,
    Srht,
    Oporp,
    CountSketch,
    Identity,
}

/// Family and size of the projection.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Mechanism")]
pub(crate) struct ProjectionOptions {
    /// The family of the projection: oporp is fast and has the least noise.
    #[arg(long, value_enum, default_value_t = FamilyName::Oporp)]
    family: FamilyName,
    /// Size k of a row of the release; `dps plan` names the best one.
    #[arg(short, long)]
    k: usize,
    /// sparse-jl, hashed-copies: nonzero entries a row of the projection.
    #[arg(long, default_value_t = 4)]
    nonzeros: u32,
}

impl ProjectionOptions {
    pub(crate) fn k(&self) -> usize {
        self.k
    }

    pub(crate) fn family(&self) -> Family {
        match self.family {
            FamilyName::Gaussian => Family::Gaussian,
            FamilyName::Rademacher => Family::Rademacher,
            FamilyName::Achlioptas => Family::Achlioptas,
            FamilyName::VerySparse => Family::VerySparse,
            FamilyName::SparseJl => Family::SparseJl { nonzeros: self.nonzeros },
            FamilyName::HashedCopies => Family::HashedCopies { copies: self.nonzeros },
            FamilyName::Srht => Family::Srht { sampling: Sampling::WithoutReplacement },
            FamilyName::Oporp => Family::Oporp,
            FamilyName::CountSketch => Family::CountSketch,
            FamilyName::Identity => Family::Identity,
        }
    }
}

impl SketchOptions {
    pub(crate) fn run(&self) -> Result<Record> {
        let known = [AdjacencyKind::Attribute, AdjacencyKind::RowShift, AdjacencyKind::ReplaceRow];
        let Promise { adjacency, budget, limits } = self.rows.promise("a sketch", &known)?;
        self.check_noise(budget)?;
        let bound = self.rows.bounds.largest(adjacency)?;
        let input = self.rows.input.open()?;
        let d = input.rows.d();
        let spec = ProjectionSpec::new(
            self.projection.family(),
            d,
            self.projection.k(),
            self.seed.get()?,
        )?;
        let mechanism = match self.noise {
            Noise::Gaussian => PrivateProjection::gaussian(spec.build(), adjacency, bound, budget),
            Noise::Laplace => PrivateProjection::laplace(spec.build(), adjacency, bound, budget),
        }?;
        let label = format!("sketch, {} to k = {}", spec.name(), spec.k());
        let check = || check_input(&self.rows.input, &limits);
        let Some(mut rng) = self.rows.output.pay(mechanism.guarantee(), &label, check)? else {
            return Ok(self.rows.output.planned(&label, mechanism.guarantee()));
        };
        let element = if self.f32 { Element::F32 } else { Element::F64 };
        let mut writer =
            ReleaseWriter::create(&self.rows.output.out, &mechanism, element, &mut rng)?;
        let Input { rows, meter } = input;
        let progress = progress(&meter);
        for block in Prefetch::start(rows, limits)? {
            writer.push(block?.view(d)?)?;
            progress.show();
        }
        self.rows.output.written(&writer.finish()?.certificate)
    }

    fn check_noise(&self, budget: Budget) -> Result<()> {
        if budget.delta.get() > 0.0 || matches!(self.noise, Noise::Laplace) {
            return Ok(());
        }
        Err(Error::usage(
            "delta 0 asks for pure differential privacy, which Gaussian noise never gives: use \
             --noise laplace, or a positive delta such as 1e-6",
        ))
    }
}
