//! `dps release sketch`.

use super::common::{
    Calibration, FRESH, Promise, RowsOptions, SeedOptions, check_input, each_block,
};
use super::privacy::AdjacencyKind;
use crate::error::{Error, Result, no_effect};
use crate::output::{Record, complain};
use clap::{Args, ValueEnum};
use dp_core::Budget;
use dp_core::mechanism::Mechanism;
use readers::{Input, Limits};
use sketch::projection::{Family, Groups, ProjectionSpec, Sampling};
use sketch::vectors::{AveragedProjection, NoiseKind, PrivateProjection, ProjectionConfig};
use sketch::vectors::{Element, ReleaseWriter};
use std::fs::File;
use std::io::Read;

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
    /// Laplace, where one value moves one number: --family oporp, count-sketch or identity. By default the
    /// one that predicts the least error; with a delta and a ledger whose rule is not `basic`, Gaussian, which such
    /// a ledger counts at far less.
    #[arg(long, value_enum, help_heading = "Mechanism")]
    noise: Option<Noise>,
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

impl From<Noise> for NoiseKind {
    fn from(noise: Noise) -> Self {
        match noise {
            Noise::Gaussian => Self::Gaussian,
            Noise::Laplace => Self::Laplace,
            Noise::Staircase => Self::Staircase,
        }
    }
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

/// The groups of `HEIGHTxWIDTH/CELL`.
#[derive(Debug, Clone)]
struct PixelGrid(Groups);

impl core::str::FromStr for PixelGrid {
    type Err = String;

    fn from_str(text: &str) -> core::result::Result<Self, String> {
        let parts = text.split_once('/').and_then(|(size, cell)| {
            let (height, width) = size.split_once('x')?;
            Some((height.parse().ok()?, width.parse().ok()?, cell.parse().ok()?))
        });
        let Some((height, width, cell)) = parts else {
            return Err("expected HEIGHTxWIDTH/CELL in pixels, such as 28x28/4".into());
        };
        Groups::grid((height, width), cell).map(Self).map_err(|e| e.to_string())
    }
}

/// The groups that a file names.
#[derive(Debug, Clone)]
struct GroupsFile(Groups);

impl core::str::FromStr for GroupsFile {
    type Err = String;

    fn from_str(path: &str) -> core::result::Result<Self, String> {
        // 2^16 numbers of seven characters.
        const MOST: u64 = 1 << 20;
        let mut text = String::new();
        let read = File::open(path).and_then(|f| f.take(MOST).read_to_string(&mut text));
        read.map_err(|e| e.to_string())?;
        text.parse().map(Self).map_err(|e: sketch::Error| e.to_string())
    }
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
    #[arg(short, long, required_unless_present_any = ["grid", "groups_from"])]
    k: Option<usize>,
    /// Pictures of HEIGHTxWIDTH pixels, summed in squares of CELL x CELL of them, in the place of random bins: 28x28/4.
    #[arg(long, value_name = "HEIGHTxWIDTH/CELL", conflicts_with_all = ["family", "k", "groups_from"])]
    grid: Option<PixelGrid>,
    /// A file of whole numbers, one a column: its group, from 1, and negative for a minus sign. Sums of these
    /// groups, in the place of random bins. They are published, so that they must not follow from the rows.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["family", "k"])]
    groups_from: Option<GroupsFile>,
    /// sparse-jl, hashed-copies: nonzero entries a row of the projection [default: 4].
    #[arg(long)]
    nonzeros: Option<u32>,
}

impl ProjectionOptions {
    /// Its size: of groups, their number.
    pub(crate) fn k(&self) -> Result<usize> {
        match (self.k, self.family()?) {
            (_, Family::Grouped { groups }) => Ok(groups.k()),
            (Some(k), _) => Ok(k),
            (None, _) => Err(Error::usage("-k is missing")),
        }
    }

    /// The projection of d columns.
    pub(crate) fn spec(&self, d: usize, seed: &SeedOptions) -> Result<ProjectionSpec> {
        Ok(match self.family()? {
            family @ Family::Grouped { groups } => {
                ProjectionSpec::new(family, d, groups.k(), seed.none("groups are not drawn")?)?
            }
            family => ProjectionSpec::new(family, d, self.k()?, seed.get()?)?,
        })
    }

    fn groups(&self) -> Option<Groups> {
        match (&self.grid, &self.groups_from) {
            (Some(grid), _) => Some(grid.0),
            (None, Some(file)) => Some(file.0),
            (None, None) => None,
        }
    }

    /// The only family of averaged calibration.
    pub(crate) fn fresh(&self) -> Result<()> {
        match self.family {
            None | Some(FamilyName::Gaussian) if self.groups().is_none() => {}
            _ => {
                return Err(Error::usage(
                    "--calibration averaged is proven for --family gaussian only",
                ));
            }
        }
        no_effect("--nonzeros", self.nonzeros.as_ref(), "a Gaussian projection has no zeros")
    }

    pub(crate) fn family(&self) -> Result<Family> {
        if let Some(groups) = self.groups() {
            no_effect("--nonzeros", self.nonzeros.as_ref(), "groups have one a column")?;
            return Ok(Family::Grouped { groups });
        }
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

/// Says when the noise that was asked for costs more than twice the least error.
fn warn_of_cost(asked: &PrivateProjection, best: &PrivateProjection) -> Result<()> {
    let error = |m: &PrivateProjection| Ok::<_, Error>(m.predict(0.0)?.root_mean_square);
    let (named, least) = (error(asked)?, error(best)?);
    if named > 2.0 * least {
        complain(&format!(
            "warning: {} noise has {:.1} times the standard error of {} noise for this budget (of a squared \
             distance of zero: {named:.4} against {least:.4}); without --noise the least is taken",
            asked.noise().kind(),
            named / least,
            best.noise().kind(),
        ));
    }
    Ok(())
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
        let k = self.projection.k()?;
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
        let spec = self.projection.spec(d, &self.seed)?;
        let projection = spec.build();
        let best = PrivateProjection::of_least_error(projection.clone(), adjacency, bound, budget);
        let mechanism = match self.noise {
            None if budget.delta.get() > 0.0 && !output.adds_budgets()? => {
                PrivateProjection::gaussian(projection, adjacency, bound, budget)?
            }
            None => best?,
            Some(noise) => {
                let noise = noise.into();
                let config = ProjectionConfig { projection, adjacency, bound, noise };
                let mechanism = PrivateProjection::calibrate(config, budget)?;
                if let Ok(best) = best {
                    warn_of_cost(&mechanism, &best)?;
                }
                mechanism
            }
        };
        mechanism.check_element(element)?;
        let noise = mechanism.noise().kind();
        let label = format!("sketch, {} to k = {k}, {noise} noise", spec.name());
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
        let error = (self.projection.k()? as f64 * (2.0 * v * v + c)).sqrt();
        let what = match self.projection.groups() {
            None => "standard error of a squared distance of zero",
            Some(_) => "standard error of a squared distance of zero of group sums",
        };
        Ok(record.number(what, error))
    }

    fn check_noise(&self, budget: Budget) -> Result<()> {
        let gaussian = matches!(self.noise, None | Some(Noise::Gaussian));
        if self.calibration == Calibration::Averaged && !gaussian {
            return Err(Error::usage(
                "--calibration averaged has Gaussian noise only: no profile of a fresh projection with \
                 another noise is known",
            ));
        }
        let asked = self.calibration == Calibration::Averaged || self.noise.is_some();
        if budget.delta.get() > 0.0 || !(gaussian && asked) {
            return Ok(());
        }
        Err(Error::usage(
            "delta 0 asks for pure differential privacy, which Gaussian noise never gives: use \
             --noise laplace or staircase, or a positive delta such as 1e-6",
        ))
    }
}
