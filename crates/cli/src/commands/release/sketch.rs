//! `dps release sketch`.

use super::common::{Calibration, FRESH, SeedOptions};
use super::feed::{Feed, Source};
use super::groups::GroupOptions;
use super::parts::{Asked, Made, Making};
use super::privacy::{AdjacencyKind, IdOptions, UserOptions};
use super::projection::ProjectionOptions;
use super::rows::{Promise, RowsOptions};
use super::said::{found, warn_of_nothing};
use crate::commands::choice::{STANDARD_ERROR, Way, distance_name, say_chosen, warn_of_worse};
use crate::error::{Error, Result, no_effect};
use crate::output::{Record, complain};
use clap::{Args, ValueEnum};
use dp_core::mechanism::{Mechanism, Prediction};
use dp_core::noise::{AdditiveNoise, NoiseLaw};
use dp_core::{Adjacency, Budget, Certificate, EntryBound};
use sketch::distances::ValueRange;
use sketch::plan::{DistanceMethod, DistancePlan, DistanceTask, plan_distances};
use sketch::vectors::{AveragedProjection, NoiseKind, PrivateProjection, ProjectionConfig};
use sketch::vectors::{Element, ReleaseWriter, SketchNoise};

/// Options of `dps release sketch`.
#[derive(Args)]
pub(crate) struct SketchOptions {
    #[command(flatten)]
    pub(super) rows: RowsOptions,
    #[command(flatten)]
    users: UserOptions,
    #[command(flatten)]
    ids: IdOptions,
    #[command(flatten)]
    pub(super) projection: ProjectionOptions,
    #[command(flatten)]
    groups: GroupOptions,
    #[command(flatten)]
    seed: SeedOptions,
    /// What the guarantee rests on. `averaged` (a Gaussian projection, drawn now, used once) needs less
    /// noise for whole rows: --adjacency row-shift and replace-row [default: realised, or the plan's].
    #[arg(long, value_enum, help_heading = "Mechanism")]
    calibration: Option<Calibration>,
    /// The noise: Gaussian; Laplace for pure differential privacy; or staircase, pure as well and less than
    /// Laplace, where one value moves one number: --family oporp, count-sketch or identity. By default the
    /// one that predicts the least error; with a delta and a ledger whose rule is not `basic`, Gaussian, which such
    /// a ledger counts at far less.
    #[arg(long, value_enum, help_heading = "Mechanism")]
    noise: Option<Noise>,
    /// The squared distance whose estimate should be good, from public knowledge. Where neither -k nor a projection, a noise or a
    /// calibration is named, the plan (`dps plan distance`) chooses them; where they are, they are compared with it.
    #[arg(long, value_name = "R2", help_heading = "Mechanism")]
    squared_distance: Option<f64>,
    /// How numbers are stored; the privacy is the same. `f64`: all bits. `f32`: half the size. `compact`: 6 to 8 bits a
    /// number, rounded to at most an eighth of the noise's scale, which estimates count; Gaussian and Laplace noise.
    #[arg(long, value_enum, default_value_t = Store::F64, help_heading = "Output")]
    store: Store,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Store {
    F64,
    F32,
    Compact,
}

impl From<Store> for Element {
    fn from(store: Store) -> Self {
        match store {
            Store::F64 => Self::F64,
            Store::F32 => Self::F32,
            Store::Compact => Self::Compact,
        }
    }
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

/// What is to be estimated, and every way of the plan that a release can take, best first.
struct Goal {
    ways: Vec<Way>,
    best: DistanceMethod,
}

impl Goal {
    fn new(
        squared_distance: f64,
        d: usize,
        (adjacency, bound): (Adjacency, EntryBound),
        budget: Budget,
        possible: impl Fn(&DistanceMethod) -> bool,
    ) -> Result<Self> {
        let range = ValueRange::new(-bound.get(), bound.get())?;
        // How many rows there are is not known yet; it matters for noise on all pairwise distances alone.
        let task = DistanceTask { n: 2, d, adjacency, range, squared_distance, budget };
        let mut plans = plan_distances(&task)?;
        plans.retain(|plan| possible(&plan.method));
        let way = |plan: &DistancePlan| {
            let (name, k) = distance_name(&plan.method);
            let name = if k == "-" { name } else { format!("{name}, k = {k}") };
            (name, plan.standard_error)
        };
        let ways = plans.iter().map(way).collect();
        let none = || Error::usage("no release of rows that is known meets this budget: name -k");
        Ok(Self { ways, best: plans.into_iter().next().ok_or_else(none)?.method })
    }
}

/// What is made of the rows.
struct Chosen {
    projection: ProjectionOptions,
    noise: Option<NoiseKind>,
    calibration: Calibration,
}

impl Chosen {
    fn of(method: &DistanceMethod, d: usize) -> Self {
        let (k, noise, calibration) = match *method {
            DistanceMethod::Projection { k, noise } => (k, noise, Calibration::Realised),
            DistanceMethod::RawData { noise } => (d, noise, Calibration::Realised),
            DistanceMethod::FreshProjection { k } => {
                (k, NoiseKind::Gaussian, Calibration::Averaged)
            }
            _ => (d, NoiseKind::Gaussian, Calibration::Realised),
        };
        let projection = match method {
            DistanceMethod::RawData { .. } => ProjectionOptions::none(d),
            _ => ProjectionOptions::drawn(k),
        };
        Self { projection, noise: Some(noise), calibration }
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

fn write(mut out: ReleaseWriter<'_, '_>, feed: &Feed<'_>) -> Result<Certificate> {
    feed.rows(|rows| Ok(out.push(rows)?))?;
    Ok(out.finish()?.certificate)
}

/// What decides what can be found where whole rows are protected, and how far distances are told.
struct Whole {
    shape: (usize, usize),
    noise: NoiseLaw,
    /// Variance of the noise of rows whose length is the bound, over its square; none where less is protected.
    variance: Option<f64>,
}

impl Whole {
    /// Warns where nothing can be.
    fn of(adjacency: Adjacency, shape: (usize, usize), noise: SketchNoise) -> Result<Self> {
        let law = noise.law();
        let Adjacency::ReplaceRow { bound } = adjacency.each() else {
            return Ok(Self { shape, noise: law, variance: None });
        };
        let variance = noise.variance() / bound.get() / bound.get();
        warn_of_nothing(shape, variance)?;
        Ok(Self { shape, noise: law, variance: Some(variance) })
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
        self.ids.of(&self.rows.input);
        let known = [AdjacencyKind::Attribute, AdjacencyKind::RowShift, AdjacencyKind::ReplaceRow];
        if self.groups.private()? {
            return self.private_groups();
        }
        let Promise { adjacency, budget, limits } =
            self.rows.promise_of(&self.users, "a sketch", &known)?;
        self.check_noise(budget)?;
        let bound = self.rows.bounds.largest(adjacency)?;
        let input = self.rows.open()?;
        let d = input.rows.d();
        let element = Element::from(self.store);
        let output = &self.rows.output;
        let source = Source::rows(&self.rows.input, input, limits);
        // A ledger that counts what Gaussian noise loses over many releases has no use for another.
        let gaussian = budget.delta.get() > 0.0 && !output.adds_budgets()?;
        let goal = match self.squared_distance {
            Some(r2) => {
                let possible = |method: &DistanceMethod| match method {
                    DistanceMethod::Projection { noise, .. }
                    | DistanceMethod::RawData { noise } => {
                        let compact = matches!(self.store, Store::Compact);
                        *noise == NoiseKind::Gaussian
                            || !(gaussian || compact && *noise == NoiseKind::Staircase)
                    }
                    // Drawn at release.
                    DistanceMethod::FreshProjection { .. } => !self.seed.is_given(),
                    _ => false,
                };
                Some(Goal::new(r2, d, (adjacency, bound), budget, possible)?)
            }
            None => None,
        };
        let open = self.projection.is_open() && self.noise.is_none() && self.calibration.is_none();
        let chosen = match &goal {
            Some(goal) if open => {
                say_chosen(STANDARD_ERROR, &goal.ways);
                Chosen::of(&goal.best, d)
            }
            _ => Chosen {
                projection: self.projection.clone(),
                noise: self.noise.map(NoiseKind::from),
                calibration: self.calibration.unwrap_or(Calibration::Realised),
            },
        };
        // What the plan chose is not compared with itself.
        let goal = goal.filter(|_| !open);
        let compared = |asked: &str, error: sketch::Result<Prediction>| match &goal {
            Some(goal) => {
                let asked = (asked, error?.root_mean_square);
                warn_of_worse(STANDARD_ERROR, asked, &goal.ways[0]);
                Ok::<_, Error>(())
            }
            None => Ok(()),
        };
        let r2 = self.squared_distance.unwrap_or(0.0);
        if chosen.calibration == Calibration::Averaged {
            let k = chosen.projection.fresh()?;
            self.seed.later(FRESH)?;
            let mechanism = AveragedProjection::gaussian(d, k, adjacency, bound, budget)?;
            mechanism.check_element(element)?;
            let label = format!("sketch, fresh gaussian to k = {k}");
            compared(&label, mechanism.predict(r2))?;
            let whole = Whole::of(adjacency, (d, k), mechanism.noise())?;
            let asked = Asked::new(mechanism.guarantee(), &label, source);
            let made = output.make(&asked, &mut |making: Making<'_>| {
                let seed = making.fresh()?;
                let Making { to, rng, feed, .. } = making;
                write(mechanism.clone().writer(to, element, seed, rng)?, &feed)
            })?;
            return self.said(made, &asked, &whole);
        }
        let spec = chosen.projection.spec(&self.rows.input, d, &self.seed)?;
        let k = spec.k();
        let projection = spec.build();
        let best = PrivateProjection::of_least_error(projection.clone(), adjacency, bound, budget);
        let mechanism = match chosen.noise {
            None if gaussian => PrivateProjection::gaussian(projection, adjacency, bound, budget)?,
            None => best?,
            Some(noise) => {
                let config = ProjectionConfig { projection, adjacency, bound, noise };
                let mechanism = PrivateProjection::calibrate(config, budget)?;
                if let (Ok(best), None) = (best, self.squared_distance) {
                    warn_of_cost(&mechanism, &best)?;
                }
                mechanism
            }
        };
        mechanism.check_element(element)?;
        let noise = mechanism.noise().kind();
        let label = format!("sketch, {} to k = {k}, {noise} noise", spec.name());
        // Distances of rows cannot be told from groups or given directions.
        if chosen.projection.is_drawn() {
            compared(&label, mechanism.predict(r2))?;
        }
        let whole = Whole::of(adjacency, (d, k), mechanism.noise())?;
        let asked = Asked::new(mechanism.guarantee(), &label, source).drawn(&self.seed);
        let made = output.make(&asked, &mut |making: Making<'_>| {
            let Making { to, rng, feed, .. } = making;
            write(ReleaseWriter::create(to, &mechanism, element, rng)?, &feed)
        })?;
        self.said(made, &asked, &whole)
    }

    /// Whose projection is not known before the rows are.
    fn private_groups(&self) -> Result<Record> {
        if self.projection.is_appended() {
            return Err(Error::usage(
                "--groups private makes groups of its own: rows that are appended take those of the release",
            ));
        }
        if !matches!(self.noise, None | Some(Noise::Staircase)) {
            return Err(Error::usage(
                "--groups private has --noise staircase only: leave --noise out",
            ));
        }
        let why = "--groups private is stored in one way and draws nothing";
        let coarse = !matches!(self.store, Store::F64);
        no_effect("--store", coarse.then_some(&()), why)?;
        no_effect("--calibration", self.calibration.as_ref(), why)?;
        self.seed.none(why)?;
        let promise = self.rows.promise("private groups", &[AdjacencyKind::Attribute])?;
        let bound = self.rows.bounds.largest(promise.adjacency)?;
        self.groups.run(&self.rows, promise, bound)
    }

    fn said(&self, made: Made, asked: &Asked<'_>, whole: &Whole) -> Result<Record> {
        let (k, rows) = (whole.shape.1, asked.source.rows_read());
        let record = match made {
            Made::Released(certificate) => self.rows.written(&certificate)?,
            Made::Planned => self.rows.planned(asked.label, asked.guarantee),
            Made::Parts(record) => return Ok(record),
        };
        let record = whole.found(record, rows)?;
        // Both rows carry noise: the variance of a squared distance of zero is k (2 v^2 + c) for differences
        // of variance v and fourth cumulant c.
        let Some([variance, cumulant]) = whole.noise.moments() else {
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
        let averaged = self.calibration == Some(Calibration::Averaged);
        if averaged && !gaussian {
            return Err(Error::usage(
                "--calibration averaged has Gaussian noise only: no profile of a fresh projection with \
                 another noise is known",
            ));
        }
        let asked = averaged || self.noise.is_some();
        if budget.delta.get() > 0.0 || !(gaussian && asked) {
            return Ok(());
        }
        Err(Error::usage(
            "delta 0 asks for pure differential privacy, which Gaussian noise never gives: use \
             --noise laplace or staircase, or a positive delta such as 1e-6",
        ))
    }
}
