//! `dps release sketch`.

use super::common::{
    Calibration, FRESH, Promise, RowsOptions, SeedOptions, check_input, each_block,
};
use super::privacy::AdjacencyKind;
use crate::error::{Error, Result, no_effect};
use crate::output::Record;
use clap::{Args, ValueEnum};
use dp_core::Budget;
use readers::{Input, Limits};
use sketch::projection::{Family, ProjectionSpec, Sampling};
use sketch::vectors::{AveragedProjection, PrivateProjection};
use sketch::vectors::{Element, ReleaseWriter};

/// Options of `dps release sketch`.
#[derive(Args)]
pub(crate) struct SketchOptions {
    #[command(flatten)]
    rows: RowsOptions,
    #[command(flatten)]
    projection: ProjectionOptions,
    #[command(flatten)]
    seed: SeedOptions,
    /// What the guarantee rests on. `averaged` (a Gaussian projection, drawn now, used once) needs less
    /// noise for whole rows: --adjacency row-shift and replace-row.
    #[arg(long, value_enum, default_value_t = Calibration::Realised, help_heading = "Mechanism")]
    calibration: Calibration,
    /// The noise: Gaussian; Laplace for pure differential privacy; or staircase, pure as well and less than
    /// Laplace, where one value moves one number: --family oporp, count-sketch or identity.
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
    Staircase,
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
    /// The family of the projection; by default oporp, which is fast and has the least noise for
    /// single values.
    #[arg(long, value_enum)]
    family: Option<FamilyName>,
    /// Size k of a row of the release; `dps plan` names the best one.
    #[arg(short, long)]
    k: usize,
    /// sparse-jl, hashed-copies: nonzero entries a row of the projection [default: 4].
    #[arg(long)]
    nonzeros: Option<u32>,
}

impl ProjectionOptions {
    pub(crate) fn k(&self) -> usize {
        self.k
    }

    /// The only family of averaged calibration.
    pub(crate) fn fresh(&self) -> Result<()> {
        match self.family {
            None | Some(FamilyName::Gaussian) => {}
            Some(_) => {
                return Err(Error::usage(
                    "--calibration averaged is proven for --family gaussian only",
                ));
            }
        }
        no_effect("--nonzeros", self.nonzeros.as_ref(), "a Gaussian projection has no zeros")
    }

    pub(crate) fn family(&self) -> Result<Family> {
        let family = self.family.unwrap_or(FamilyName::Oporp);
        if !matches!(family, FamilyName::SparseJl | FamilyName::HashedCopies) {
            let why = "only --family sparse-jl and hashed-copies leave a choice";
            no_effect("--nonzeros", self.nonzeros.as_ref(), why)?;
        }
        let nonzeros = self.nonzeros.unwrap_or(4);
        Ok(match family {
            FamilyName::Gaussian => Family::Gaussian,
            FamilyName::Rademacher => Family::Rademacher,
            FamilyName::Achlioptas => Family::Achlioptas,
            FamilyName::VerySparse => Family::VerySparse,
            FamilyName::SparseJl => Family::SparseJl { nonzeros },
            FamilyName::HashedCopies => Family::HashedCopies { copies: nonzeros },
            FamilyName::Srht => Family::Srht { sampling: Sampling::WithoutReplacement },
            FamilyName::Oporp => Family::Oporp,
            FamilyName::CountSketch => Family::CountSketch,
            FamilyName::Identity => Family::Identity,
        })
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
        let element = if self.f32 { Element::F32 } else { Element::F64 };
        let output = &self.rows.output;
        let check = || check_input(&self.rows.input, &limits);
        let k = self.projection.k();
        if self.calibration == Calibration::Averaged {
            self.projection.fresh()?;
            let seed = self.seed.fresh(FRESH)?;
            let mechanism = AveragedProjection::gaussian(d, k, adjacency, bound, budget)?;
            mechanism.check_element(element)?;
            let label = format!("sketch, fresh gaussian to k = {k}");
            let Some(mut rng) = output.charge(mechanism.guarantee(), &label, check)? else {
                return Ok(self.rows.planned(&label, mechanism.guarantee()));
            };
            return self.write(
                mechanism.writer(output.take()?, element, seed, &mut rng)?,
                input,
                limits,
            );
        }
        let spec = ProjectionSpec::new(self.projection.family()?, d, k, self.seed.get()?)?;
        let mechanism = match self.noise {
            Noise::Gaussian => PrivateProjection::gaussian(spec.build(), adjacency, bound, budget),
            Noise::Laplace => PrivateProjection::laplace(spec.build(), adjacency, bound, budget),
            Noise::Staircase => {
                PrivateProjection::staircase(spec.build(), adjacency, bound, budget)
            }
        }?;
        mechanism.check_element(element)?;
        let label = format!("sketch, {} to k = {k}", spec.name());
        let Some(mut rng) = output.charge(mechanism.guarantee(), &label, check)? else {
            return Ok(self.rows.planned(&label, mechanism.guarantee()));
        };
        let writer = ReleaseWriter::create(output.take()?, &mechanism, element, &mut rng)?;
        self.write(writer, input, limits)
    }

    fn write(
        &self,
        mut out: ReleaseWriter<'_, '_>,
        input: Input,
        limits: Limits,
    ) -> Result<Record> {
        let d = input.rows.d();
        each_block(input, limits, |block| Ok(out.push(block.view(d)?)?))?;
        let certificate = out.finish()?.certificate;
        let record = self.rows.written(&certificate)?;
        // Both rows carry noise: the variance of a squared distance of zero is k (2 v^2 + c) for differences
        // of variance v and fourth cumulant c.
        let Some([variance, cumulant]) = certificate.statement().noise.moments() else {
            return Ok(record);
        };
        let (v, c) = (2.0 * variance, 2.0 * cumulant);
        let error = (self.projection.k as f64 * (2.0 * v * v + c)).sqrt();
        Ok(record.number("standard error of a squared distance of zero", error))
    }

    fn check_noise(&self, budget: Budget) -> Result<()> {
        let gaussian = matches!(self.noise, Noise::Gaussian);
        if self.calibration == Calibration::Averaged && !gaussian {
            return Err(Error::usage(
                "--calibration averaged has Gaussian noise only: no profile of a fresh projection with \
                 another noise is known",
            ));
        }
        if budget.delta.get() > 0.0 || !gaussian {
            return Ok(());
        }
        Err(Error::usage(
            "delta 0 asks for pure differential privacy, which Gaussian noise never gives: use \
             --noise laplace or staircase, or a positive delta such as 1e-6",
        ))
    }
}
