//! `dps release sketch`.

use super::common::{
    Calibration, FRESH, Promise, RowsOptions, SeedOptions, check_input, each_block,
};
use super::privacy::{AdjacencyKind, UserOptions};
use super::projection::ProjectionOptions;
use super::said::{found, warn_of_nothing};
use crate::error::{Error, Result};
use crate::output::{Record, complain};
use clap::{Args, ValueEnum};
use dp_core::mechanism::Mechanism;
use dp_core::{Adjacency, Budget};
use readers::{Input, Limits};
use sketch::vectors::{AveragedProjection, NoiseKind, PrivateProjection, ProjectionConfig};
use sketch::vectors::{Element, ReleaseWriter};
use std::cell::Cell;

/// Options of `dps release sketch`.
#[derive(Args)]
pub(crate) struct SketchOptions {
    #[command(flatten)]
    rows: RowsOptions,
    #[command(flatten)]
    users: UserOptions,
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

/// What decides what can be found where whole rows are protected.
struct Whole {
    shape: (usize, usize),
    /// Variance of the noise of rows whose length is the bound, over its square; none where less is protected.
    variance: Option<f64>,
}

impl Whole {
    /// Warns where nothing can be.
    fn of(adjacency: Adjacency, shape: (usize, usize), variance: f64) -> Result<Self> {
        let Adjacency::ReplaceRow { bound } = adjacency.each() else {
            return Ok(Self { shape, variance: None });
        };
        let variance = variance / bound.get() / bound.get();
        warn_of_nothing(shape, variance)?;
        Ok(Self { shape, variance: Some(variance) })
    }

    fn found(&self, record: Record, rows: usize) -> Result<Record> {
        match self.variance {
            Some(variance) => found(record, rows, self.shape, variance),
            None => Ok(record),
        }
    }
}

impl SketchOptions {
    pub(crate) fn run(&self) -> Result<Record> {
        let known = [AdjacencyKind::Attribute, AdjacencyKind::RowShift, AdjacencyKind::ReplaceRow];
        let Promise { adjacency, budget, limits } =
            self.rows.promise_of(&self.users, "a sketch", &known)?;
        self.check_noise(budget)?;
        let bound = self.rows.bounds.largest(adjacency)?;
        let input = self.rows.input.open()?;
        let d = input.rows.d();
        let element = if self.f32 { Element::F32 } else { Element::F64 };
        let output = &self.rows.output;
        let rows = Cell::new(0);
        let check = || check_input(&self.rows.input, &limits).map(|n| rows.set(n));
        if self.calibration == Calibration::Averaged {
            let k = self.projection.fresh()?;
            let seed = self.seed.fresh(FRESH)?;
            let mechanism = AveragedProjection::gaussian(d, k, adjacency, bound, budget)?;
            mechanism.check_element(element)?;
            let label = format!("sketch, fresh gaussian to k = {k}");
            let whole = Whole::of(adjacency, (d, k), mechanism.noise().variance())?;
            let Some(mut rng) = output.charge(mechanism.guarantee(), &label, check)? else {
                let record = self.rows.planned(&label, mechanism.guarantee());
                return whole.found(record, rows.get());
            };
            let writer = mechanism.writer(output.take()?, element, seed, &mut rng)?;
            return self.write(writer, whole, input, limits);
        }
        let spec = self.projection.spec(&self.rows.input, d, &self.seed)?;
        let k = spec.k();
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
        let whole = Whole::of(adjacency, (d, k), mechanism.noise().variance())?;
        let Some(mut rng) = output.charge(mechanism.guarantee(), &label, check)? else {
            return whole.found(self.rows.planned(&label, mechanism.guarantee()), rows.get());
        };
        let writer = ReleaseWriter::create(output.take()?, &mechanism, element, &mut rng)?;
        self.write(writer, whole, input, limits)
    }

    fn write(
        &self,
        mut out: ReleaseWriter<'_, '_>,
        whole: Whole,
        input: Input,
        limits: Limits,
    ) -> Result<Record> {
        let (d, k) = whole.shape;
        let n = each_block(input, limits, |block| Ok(out.push(block.view(d)?)?))?;
        let certificate = out.finish()?.certificate;
        let record = whole.found(self.rows.written(&certificate)?, n)?;
        // Both rows carry noise: the variance of a squared distance of zero is k (2 v^2 + c) for differences
        // of variance v and fourth cumulant c.
        let Some([variance, cumulant]) = certificate.statement().noise.moments() else {
            return Ok(record);
        };
        let (v, c) = (2.0 * variance, 2.0 * cumulant);
        let error = (k as f64 * (2.0 * v * v + c)).sqrt();
        let what = match self.projection.is_drawn() {
            true => "standard error of a squared distance of zero",
            false => "standard error of a squared distance of zero of projected rows",
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
