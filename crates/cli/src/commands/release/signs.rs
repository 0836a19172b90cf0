//! `dps release signs`.

use super::common::{Calibration, FRESH, SeedOptions, check_input, read_all};
use super::feed::{Feed, Source};
use super::parts::{Asked, Made, Making};
use super::privacy::{AdjacencyKind, IdOptions, UserOptions};
use super::projection::ProjectionOptions;
use super::rows::{Promise, RowsOptions};
use super::said::predicted;
use crate::error::{Error, Result, no_effect, positive};
use crate::output::Record;
use clap::{Args, ValueEnum};
use dp_core::mechanism::{Mechanism as _, Prediction};
use dp_core::output::Output;
use dp_core::{Certificate, EntryBound, release_file};
use readers::{Input, Limits};
use sketch::RowsView;
use sketch::signs::{
    FlipRule, FreshConfig, FreshSigns, IndividualNoise, IndividualSigns, NormFloor, OpenSigns,
    PrivateSigns, SignSketch,
};

/// Options of `dps release signs`.
#[derive(Args)]
pub(crate) struct SignOptions {
    #[command(flatten)]
    pub(super) rows: RowsOptions,
    #[command(flatten)]
    users: UserOptions,
    #[command(flatten)]
    ids: IdOptions,
    #[command(flatten)]
    pub(super) projection: ProjectionOptions,
    #[command(flatten)]
    seed: SeedOptions,
    /// What the guarantee rests on. `averaged` (a Gaussian projection, drawn now, used once) counts how
    /// many signs a change is likely to turn, which a least norm of the rows bounds; without it, the
    /// default family needs no norm and usually flips less.
    #[arg(long, value_enum, default_value_t = Calibration::Realised, help_heading = "Mechanism")]
    calibration: Calibration,
    /// averaged: the least l2 norm of any possible row; a file with a shorter row is refused, which
    /// reveals that it has one.
    #[arg(long, value_name = "M", conflicts_with = "lift", help_heading = "Mechanism")]
    least_norm: Option<f64>,
    /// averaged: append the constant M to every row, so that no row is shorter; angles are then
    /// those of the longer rows.
    #[arg(long, value_name = "M", help_heading = "Mechanism")]
    lift: Option<f64>,
    /// Independent projections side by side, each of k / repetitions signs [default: 1].
    #[arg(long, help_heading = "Mechanism")]
    repetitions: Option<usize>,
    /// How signs are flipped [default: optimal; with --calibration averaged, response].
    #[arg(long, value_enum, help_heading = "Mechanism")]
    flips: Option<Flips>,
    /// NOT differential privacy: only signs that one attribute could turn are randomised, in this way.
    /// Hides the neighbours of this one file and nothing else; no ledger counts it. Holds all rows
    /// in memory.
    #[arg(long, value_enum, value_name = "NOISE", help_heading = "Not differential privacy")]
    individual_not_differential_privacy: Option<Individual>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Flips {
    /// Seldom flips signs of large values (ours): best for search.
    Optimal,
    /// The published smooth rule.
    Smooth,
    /// One flip probability for all: cosines can be estimated.
    Response,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Individual {
    /// Gaussian noise before signs are taken.
    Gaussian,
    /// Randomised response.
    Response,
}

fn write(to: Output, mut open: OpenSigns<'_, '_>, feed: &Feed<'_>) -> Result<Certificate> {
    feed.rows(|rows| Ok(open.push(rows)?))?;
    let release = open.close()?;
    release_file::write(to, &release)?;
    Ok(release.into_parts().1)
}

impl SignOptions {
    pub(crate) fn run(&self) -> Result<Record> {
        use AdjacencyKind as A;
        self.ids.of(&self.rows.input);
        let fresh = self.calibration == Calibration::Averaged
            && self.individual_not_differential_privacy.is_none();
        let known: &[A] =
            if fresh { &[A::Attribute, A::RowShift, A::ReplaceRow] } else { &[A::Attribute] };
        let promise = self.rows.promise_of(&self.users, "a sign sketch", known)?;
        let bound = self.rows.bounds.largest(promise.adjacency)?;
        self.check_options()?;
        let input = self.rows.open()?;
        if let Some(noise) = self.individual_not_differential_privacy {
            return self.individual(noise, promise, bound, input);
        }
        match self.calibration {
            Calibration::Realised => self.realised(promise, bound, input),
            Calibration::Averaged => self.averaged(promise, bound, input),
        }
    }

    /// Refuses what means nothing beside the rest.
    fn check_options(&self) -> Result<()> {
        let individual = self.individual_not_differential_privacy.is_some();
        if self.calibration == Calibration::Realised || individual {
            let why = "only --calibration averaged counts on the norms of rows";
            no_effect("--least-norm", self.least_norm.as_ref(), why)?;
            no_effect("--lift", self.lift.as_ref(), why)?;
        }
        if individual {
            let why = "only releases with differential privacy state one: map the file before";
            self.rows.input.refuse_map(why)?;
            let averaged = (self.calibration == Calibration::Averaged).then_some(());
            let why = "individual differential privacy is about the very projection";
            no_effect("--calibration averaged", averaged.as_ref(), why)?;
            let why = "--individual-not-differential-privacy says how signs are randomised";
            no_effect("--flips", self.flips.as_ref(), why)?;
        } else if self.calibration == Calibration::Averaged {
            self.projection.fresh()?;
            if self.lift.is_some() {
                let why = "--lift appends a column that no preprocessing states: use --least-norm, or map the file before";
                self.rows.input.refuse_map(why)?;
            }
            let why = "--calibration averaged draws one projection";
            no_effect("--repetitions", self.repetitions.as_ref(), why)?;
            if self.flips.is_some_and(|flips| flips != Flips::Response) {
                return Err(Error::usage(
                    "--calibration averaged flips all signs alike: --flips response",
                ));
            }
        }
        Ok(())
    }

    fn sketch(&self, d: usize) -> Result<SignSketch> {
        if let Some(given) = self.projection.given(d, &self.seed)? {
            let why = "the projections are those of the release that rows are appended to";
            no_effect("--repetitions", self.repetitions.as_ref(), why)?;
            return Ok(SignSketch::new(given.iter().map(|spec| spec.build()).collect())?);
        }
        if !self.projection.is_drawn() {
            no_effect("--repetitions", self.repetitions.as_ref(), "this projection is not drawn")?;
            let spec = self.projection.spec(&self.rows.input, d, &self.seed)?;
            return Ok(SignSketch::new(vec![spec.build()])?);
        }
        let (family, k) = (self.projection.family()?, self.projection.k()?);
        let repetitions = self.repetitions.unwrap_or(1);
        Ok(SignSketch::repeated(family, d, k, repetitions, self.seed.get()?)?)
    }

    fn realised(&self, promise: Promise, bound: EntryBound, input: Input) -> Result<Record> {
        let Promise { adjacency, budget, limits } = promise;
        let rule = match self.flips.unwrap_or(Flips::Optimal) {
            Flips::Optimal => FlipRule::OptimalSmooth,
            Flips::Smooth => FlipRule::PublishedSmooth,
            Flips::Response => FlipRule::RandomizedResponse,
        };
        let sketch = self.sketch(input.rows.d())?;
        let label = format!("signs, {} bits", sketch.bits());
        let mechanism = PrivateSigns::new(sketch, rule, adjacency, bound, budget)?;
        let guarantee = mechanism.guarantee();
        let source = Source::rows(&self.rows.input, input, limits);
        let asked = Asked::new(guarantee, &label, source).drawn(&self.seed);
        let made = self.rows.output.make(&asked, &mut |making: Making<'_>| {
            let Making { to, rng, feed, .. } = making;
            write(to, mechanism.open(rng), &feed)
        })?;
        self.said(made, &asked, mechanism.predict(()))
    }

    fn averaged(&self, promise: Promise, bound: EntryBound, input: Input) -> Result<Record> {
        let Promise { adjacency, budget, limits } = promise;
        self.seed.later(FRESH)?;
        let floor = match (self.least_norm, self.lift) {
            (Some(m), _) => NormFloor::Promised(positive("--least-norm", m)?),
            (None, Some(m)) => NormFloor::Lifted(positive("--lift", m)?),
            (None, None) => {
                return Err(Error::usage(
                    "--calibration averaged needs --least-norm M (no possible row is shorter) or \
                     --lift M (a constant M is appended to every row): a change turns the signs of \
                     a short row more easily",
                ));
            }
        };
        let (d, bits) = (input.rows.d(), self.projection.fresh()?);
        let config = FreshConfig { d, bits, floor, bound, adjacency };
        let mechanism = FreshSigns::exact(config, budget)?;
        let guarantee = mechanism.guarantee();
        let label = format!("signs, fresh gaussian, {bits} bits");
        let least = match floor {
            NormFloor::Promised(least) => Some(least),
            NormFloor::Lifted(_) => None,
        };
        let limits = Limits { least, ..limits };
        let source = Source::rows(&self.rows.input, input, limits);
        let asked = Asked::new(guarantee, &label, source);
        let made = self.rows.output.make(&asked, &mut |making: Making<'_>| {
            let seed = making.fresh()?;
            let Making { to, rng, feed, .. } = making;
            write(to, mechanism.open(seed, rng)?, &feed)
        })?;
        self.said(made, &asked, mechanism.predict(()))
    }

    /// What smooth rules err by depends on the sizes of values, which no prediction knows.
    fn said(
        &self,
        made: Made,
        asked: &Asked<'_>,
        prediction: sketch::Result<Prediction>,
    ) -> Result<Record> {
        let record = match made {
            Made::Released(certificate) => self.rows.written(&certificate)?,
            Made::Planned => self.rows.planned(asked.label, asked.guarantee),
            Made::Parts(record) => return Ok(record),
        };
        Ok(match prediction {
            Ok(prediction) => predicted(record, prediction),
            Err(_) => record,
        })
    }

    fn individual(
        &self,
        noise: Individual,
        promise: Promise,
        bound: EntryBound,
        input: Input,
    ) -> Result<Record> {
        let Promise { adjacency, budget, limits } = promise;
        let d = input.rows.d();
        let noise = match noise {
            Individual::Gaussian => IndividualNoise::Gaussian,
            Individual::Response => IndividualNoise::RandomizedResponse,
        };
        let sketch = self.sketch(d)?;
        let label = format!("individual signs, {} bits", sketch.bits());
        let mechanism = IndividualSigns::new(sketch, noise, adjacency, bound, budget)?;
        let output = &self.rows.output;
        let Some(mut rng) = output.without_ledger()? else {
            check_input(&self.rows.input, &limits)?;
            return Ok(self.rows.planned_individual(&label, adjacency, budget));
        };
        crate::output::complain("warning: this release is NOT differentially private");
        let (n, values) = read_all(input, limits)?;
        self.rows.input.check_ids()?;
        let released = mechanism.release(RowsView::f64(n, d, &values)?, &mut rng);
        let release = released.map_err(|e| Error::from(e).in_file(&self.rows.input.input))?;
        let mut to = output.take()?;
        self.rows.input.ids().into_iter().for_each(|ids| to.name_rows(ids));
        release_file::write(to, &release)?;
        self.rows.written_individual(release.certificate())
    }
}
