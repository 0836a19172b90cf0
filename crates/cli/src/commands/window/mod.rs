//! `dps window`.

mod rows;
mod ticks;

use super::choice::{ERROR, Way, say_chosen, schedule_name, warn_of_worse};
use super::mapped::with_map;
use super::release::{
    AdjacencyKind, AdjacencyOptions, BoundOptions, BudgetOptions, noise, predicted, promise,
};
use crate::error::{Error, Result, no_effect, shown};
use crate::input::InputOptions;
use crate::interrupt;
use crate::output::Record;
use clap::{Args, ValueEnum};
use dp_core::mechanism::Mechanism as _;
use dp_core::{Adjacency, Budget, SquaredNorm};
use linalg_dp::plan::plan_window;
use linalg_dp::window::{
    BlockNoise, Keep, Pace, PrivateStream, PruneRule, Schedule, StreamConfig, WindowMechanism,
};
use readers::is_stream;
use rows::Strikes;
use std::path::PathBuf;
use std::time::Duration;
use ticks::{Note, Ticks};

/// Options of `dps window`.
#[derive(Args)]
pub(crate) struct Window {
    #[command(flatten)]
    input: InputOptions,
    /// The folder of the releases, `tick-00000000.dps` and so on; it is made where it is not there.
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    out: PathBuf,
    /// What the stream knows between two runs, and after a crash: a file that is begun where it is not there, and gone
    /// on from where it is. It is as secret as the rows; keep it out of the folder of the releases. Run no copy of it: with
    /// another folder an older one releases again what was released since, with new noise.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    journal: PathBuf,
    /// Pay from this ledger, once for the whole stream, before the first release can be read.
    #[arg(long, help_heading = "Output")]
    ledger: Option<PathBuf>,
    /// Calibrate, ask the ledger, say where the stream would go on; read no rows, release and spend nothing.
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
    /// Noise that anyone can subtract, for tests. The certificates say so.
    #[arg(long, hide = true, value_name = "SEED")]
    insecure_test_noise: Option<u64>,
    /// Rows in the window. With --clock or --every, places for rows: --block of them a tick.
    #[arg(long, help_heading = "Window")]
    window: Option<u64>,
    /// Rows in a block, which divides the window; a release after each. With --clock or --every: most rows a tick
    /// [default: the largest divisor of the window that gives 16 blocks or more].
    #[arg(long, help_heading = "Window")]
    block: Option<u64>,
    /// The input holds the rows of one tick, which ends with it, however many they are.
    #[arg(long, conflicts_with = "every", help_heading = "Window")]
    clock: bool,
    /// A tick ends after so many seconds, however many rows came, and the last with the input: for a pipe that stays open.
    #[arg(long, value_name = "SECONDS", help_heading = "Window")]
    every: Option<f64>,
    /// Number of the tick that the input begins with, from zero: rows of ticks that are published already are compared
    /// with what those were made of, and refused where they are others [default: 0; --clock has none].
    #[arg(long, value_name = "TICK", help_heading = "Window")]
    first_tick: Option<u64>,
    /// How blocks become windows: tree for windows of many blocks, block for few of them (and for any set of blocks),
    /// factorised for the least noise in the sliding sum, decayed for a sum of all blocks that forgets
    /// [default: that of the journal; for a new stream the least predicted error among block, tree and, with --horizon, factorised;
    /// tree with --noise jl].
    #[arg(long, value_enum, help_heading = "Mechanism")]
    schedule: Option<Kind>,
    /// block, tree: gaussian has the least error, jl keeps a sketch of relative error.
    #[arg(long, value_enum, default_value_t = Noise::Gaussian, help_heading = "Mechanism")]
    noise: Noise,
    /// jl: rows of the sketch.
    #[arg(long, help_heading = "Mechanism")]
    sketch_rows: Option<u64>,
    /// block: keep fewer matrices, of which the oldest may begin before the window; RHO in (0, 1) is how far they may
    /// differ.
    #[arg(long, value_name = "RHO", help_heading = "Mechanism")]
    histogram: Option<f64>,
    /// factorised, decayed: most ticks of the stream.
    #[arg(long, value_name = "TICKS", help_heading = "Mechanism")]
    horizon: Option<u64>,
    /// decayed: weight of the block before, in (0, 1).
    #[arg(long, value_name = "WEIGHT", help_heading = "Mechanism")]
    decay: Option<f64>,
    #[command(flatten)]
    adjacency: AdjacencyOptions,
    #[command(flatten)]
    budget: BudgetOptions,
    #[command(flatten)]
    bounds: BoundOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Tree,
    Block,
    Factorised,
    Decayed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Noise {
    Gaussian,
    Jl,
}

impl Window {
    pub(crate) fn run(&self) -> Result<Record> {
        let known =
            [AdjacencyKind::ZeroRow, AdjacencyKind::ReplaceRow, AdjacencyKind::AddRemoveRow];
        let adjacency = self.adjacency.get("a sliding window", &known)?;
        let budget = self.budget.get()?;
        let limits = self.bounds.limits(adjacency, &self.input.input)?;
        let strikes = self.strikes()?;
        if let (Strikes::ByRows, Adjacency::AddRemoveRow { .. }) = (strikes, adjacency) {
            return Err(Error::usage(
                "--adjacency add-remove-row needs --clock or --every: where rows are counted, one row fewer moves every later \
                 row into other blocks; zero-row protects what a row holds",
            ));
        }
        if self.insecure_test_noise.is_some() && self.ledger.is_some() {
            return Err(Error::usage(
                "--insecure-test-noise is not private: no ledger pays for it; leave --ledger out",
            ));
        }
        self.input.one("a window")?;
        let input = self.input.open_live()?;
        let calibrated =
            WindowMechanism::calibrate(self.config(input.rows.d(), adjacency, budget)?);
        let mechanism = calibrated
            .map_err(|error| Error::from(error).with_options(&[("rows", "--sketch-rows")]))?;
        let mut ticks = Ticks::new(&self.out, &self.journal, self.ledger.as_deref());
        ticks.mapped = input.preprocessing.clone();
        if self.dry_run {
            return self.planned(&mechanism, &mut ticks);
        }
        ticks.prepare()?;
        let failed = |e| dp_core::Error::io("signals", &e);
        interrupt::watch_stream(&self.journal, self.ledger.as_deref()).map_err(failed)?;
        let mut stream = self.stream(&mechanism, &mut ticks)?;
        strikes.feed(input, limits, &mut stream, &mut ticks)?;
        let record = ticks.written(&stream, self.input.entered());
        let record = with_map(record, ticks.mapped.as_deref());
        predicted_of(promise(record, mechanism.guarantee()), &mechanism)
    }

    /// When ticks end.
    fn strikes(&self) -> Result<Strikes> {
        match (self.clock, self.every) {
            (true, _) if self.first_tick.is_none() => Err(Error::usage(
                "--clock needs --first-tick: the number of this tick, from zero, so that a file that is given twice \
                 does not count twice",
            )),
            (true, _) => Ok(Strikes::AtTheEnd),
            (false, None) => Ok(Strikes::ByRows),
            (false, Some(seconds)) if (0.001..=1e9).contains(&seconds) => {
                if !is_stream(&self.input.input) {
                    let name = shown(&self.input.input);
                    return Err(Error::usage(format!(
                        "--every waits for rows that come over time, and {name} is a file: read standard input, or give \
                         the rows of a tick at a time with --clock"
                    )));
                }
                let why = "what came through a pipe does not come again, and the stream goes on with its next tick";
                no_effect("--first-tick", self.first_tick.as_ref(), why)?;
                Ok(Strikes::Every(Duration::from_secs_f64(seconds)))
            }
            (false, Some(seconds)) => Err(Error::usage(format!(
                "--every {seconds} is not allowed: it takes seconds in [0.001, 1e9]"
            ))),
        }
    }

    fn config(&self, dim: usize, adjacency: Adjacency, budget: Budget) -> Result<StreamConfig> {
        let window = match (self.schedule, self.window, self.block) {
            (Some(Kind::Decayed), given, block) => {
                let why =
                    "a decayed sum has all blocks in it; --block alone says how long a tick is";
                no_effect("--window", given.as_ref(), why)?;
                block.ok_or_else(|| Error::usage("--schedule decayed needs --block"))?
            }
            (_, Some(window), _) => window,
            (_, None, _) => return Err(Error::usage("--window is required: rows in the window")),
        };
        let config = StreamConfig::new(dim, window, adjacency, budget);
        let pace = if self.clock || self.every.is_some() { Pace::Clock } else { Pace::Rows };
        let block = self.block.unwrap_or(config.block);
        let config = StreamConfig { block, pace, ..config };
        let schedule = match self.schedule.or((self.noise == Noise::Jl).then_some(Kind::Tree)) {
            Some(kind) => self.named(kind, &config)?,
            None => self.open(&config)?,
        };
        Ok(StreamConfig { schedule, ..config })
    }

    /// The schedule where none is named: the one that the stream has, or the plan's choice, which is said.
    fn open(&self, config: &StreamConfig) -> Result<Schedule> {
        no_effect("--decay", self.decay.as_ref(), "only --schedule decayed forgets")?;
        no_effect("--histogram", self.histogram.as_ref(), "only --schedule block keeps blocks")?;
        no_effect("--sketch-rows", self.sketch_rows.as_ref(), "only --noise jl makes a sketch")?;
        if self.journal.exists() {
            return Ok(match self.kept()?.config().schedule {
                Schedule::Factorised { horizon } => {
                    Schedule::Factorised { horizon: self.horizon.unwrap_or(horizon) }
                }
                other => other,
            });
        }
        let plans = plan_window(config, self.horizon)?;
        let ways: Vec<Way> =
            plans.iter().map(|p| (schedule_name(p.method).to_owned(), p.error)).collect();
        say_chosen(ERROR, &ways);
        Ok(plans.first().map_or(config.schedule, |best| best.method))
    }

    /// The stream of the journal, to look at only: it draws nothing.
    fn kept(&self) -> Result<PrivateStream> {
        let bytes = std::fs::read(&self.journal).map_err(|e| Error::io(&self.journal, e))?;
        let rng = dp_core::NoiseRng::deterministic_not_private(0);
        Ok(WindowMechanism::from_journal(&bytes, rng)?)
    }

    /// A schedule that was named; a new stream whose schedule is far worse than another is warned of.
    fn named(&self, kind: Kind, config: &StreamConfig) -> Result<Schedule> {
        let schedule = self.schedule(kind)?;
        if self.journal.exists() {
            return Ok(schedule);
        }
        // Sketches, histograms and decayed sums answer something else: no plan has them.
        let plans = plan_window(config, self.horizon).unwrap_or_default();
        let asked = plans.iter().find(|plan| plan.method == schedule);
        if let (Some(best), Some(asked)) = (plans.first(), asked) {
            let best = (schedule_name(best.method).to_owned(), best.error);
            warn_of_worse(ERROR, (schedule_name(asked.method), asked.error), &best);
        }
        Ok(schedule)
    }

    fn schedule(&self, kind: Kind) -> Result<Schedule> {
        let with = |of: &[Kind]| !of.contains(&kind);
        let only = |option, given, of: &[Kind], why| {
            no_effect(option, Some(&()).filter(|()| given && with(of)), why)
        };
        let sums = [Kind::Factorised, Kind::Decayed];
        only("--horizon", self.horizon.is_some(), &sums, "such streams have no end")?;
        only("--decay", self.decay.is_some(), &[Kind::Decayed], "only --schedule decayed forgets")?;
        let why = "only --schedule block keeps blocks";
        only("--histogram", self.histogram.is_some(), &[Kind::Block], why)?;
        let jl = self.noise == Noise::Jl;
        only("--noise jl", jl, &[Kind::Tree, Kind::Block], "correlated noise is gaussian")?;
        if !jl {
            let why = "only --noise jl makes a sketch";
            no_effect("--sketch-rows", self.sketch_rows.as_ref(), why)?;
        }
        let missing = |option: &str| Error::usage(format!("{option} is required here"));
        let noise = match self.noise {
            Noise::Gaussian => BlockNoise::SymmetricGaussian,
            Noise::Jl => {
                let rows = self.sketch_rows.ok_or_else(|| missing("--sketch-rows"))?;
                BlockNoise::JohnsonLindenstrauss { rows }
            }
        };
        let horizon = || self.horizon.ok_or_else(|| missing("--horizon, the most ticks,"));
        Ok(match kind {
            Kind::Tree => Schedule::Tree { noise },
            Kind::Block => {
                let rule = PruneRule::UpdateApprox;
                let keep = self.histogram.map_or(Keep::Blocks, |rho| Keep::Histogram { rho, rule });
                Schedule::Block { noise, keep }
            }
            Kind::Factorised => Schedule::Factorised { horizon: horizon()? },
            Kind::Decayed => {
                let decay = self.decay.ok_or_else(|| missing("--decay"))?;
                Schedule::Decayed { decay, horizon: horizon()? }
            }
        })
    }

    /// The stream, begun or gone on with; its newest release has its file.
    fn stream(&self, mechanism: &WindowMechanism, ticks: &mut Ticks) -> Result<PrivateStream> {
        let columns = self.input.entered();
        let rng = noise(self.insecure_test_noise)?;
        if !self.journal.exists() {
            self.check_first(0)?;
            let note = ticks.begin(mechanism, columns)?;
            return Ok(mechanism.stream_with_journal(&self.journal, &note.text(), rng)?);
        }
        let mut stream = WindowMechanism::resume(&self.journal, rng)?;
        self.check(mechanism, &stream, ticks)?;
        ticks.go_on(&stream)?;
        if stream.blocks_closed() > 0 {
            ticks.publish(&stream)?;
        }
        self.check_first(stream.blocks_closed())?;
        if self.every.is_none() {
            stream.rewind(self.first_tick.unwrap_or(0))?;
        }
        Ok(stream)
    }

    /// Refuses rows that leave ticks out: of a new stream too, whose rows would else be of an earlier tick than is said, and
    /// enter again with the next command.
    fn check_first(&self, next: u64) -> Result<()> {
        match self.first_tick {
            Some(first) if first > next => Err(Error::usage(format!(
                "--first-tick {first} leaves ticks out: the next one is {next} (a stream begins with 0)"
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses a journal of a stream that the options do not describe.
    fn check(
        &self,
        mechanism: &WindowMechanism,
        stream: &PrivateStream,
        ticks: &Ticks,
    ) -> Result<()> {
        let fields = |config: &StreamConfig| {
            serde_json::to_value(config).ok().and_then(|v| v.as_object().cloned())
        };
        let [told, kept] = [mechanism.config(), stream.config()].map(fields);
        let (told, kept) = (told.unwrap_or_default(), kept.unwrap_or_default());
        let name = shown(&self.journal);
        if let Some((field, was)) = kept.iter().find(|(field, was)| told.get(*field) != Some(*was))
        {
            let now = told.get(field).map(ToString::to_string).unwrap_or_default();
            return Err(Error::Refused(format!(
                "{name} is of another stream: its {field} is {was}, and the options say {now}; what a stream promises is \
                 fixed when it begins: give its own options, or begin a new journal in a new folder"
            )));
        }
        let Note { columns, preprocessing, .. } = Note::of(stream, &self.journal)?;
        if columns.as_deref() != self.input.entered() {
            return Err(Error::Refused(format!(
                "{name} is of a stream of other columns: --dry-run lists those of this input"
            )));
        }
        if preprocessing.as_ref() != ticks.mapped.as_deref() {
            return Err(Error::Refused(format!(
                "{name} is of a stream whose values were mapped in another way: give --preprocess with the file that it began \
                 with, or leave it out where it began with none (dps inspect shows the preprocessing of its ticks)"
            )));
        }
        Ok(())
    }

    /// What a dry run found.
    fn planned(&self, mechanism: &WindowMechanism, ticks: &mut Ticks) -> Result<Record> {
        let mut record = Record::new().text("dry run", "nothing was released or spent");
        if self.journal.exists() {
            let stream = self.kept()?;
            self.check(mechanism, &stream, ticks)?;
            self.check_first(stream.blocks_closed())?;
            ticks.go_on(&stream)?;
            record = record.integer("next tick", stream.blocks_closed());
        } else {
            self.check_first(0)?;
            ticks.begin(mechanism, None)?;
            record = record.integer("next tick", 0);
        }
        let config = mechanism.config();
        record = record.integer("window", config.window).integer("block", config.block);
        if let Some(names) = self.input.entered() {
            record = record.names("columns that entered", names);
        }
        let record = with_map(record, ticks.mapped.as_deref());
        predicted_of(promise(record, mechanism.guarantee()), mechanism)
    }
}

/// With what is predicted of a window; the errors of sketches and histograms depend on the rows.
fn predicted_of(record: Record, mechanism: &WindowMechanism) -> Result<Record> {
    let gaussian = |noise| noise == BlockNoise::SymmetricGaussian;
    let known = match mechanism.config().schedule {
        Schedule::Tree { noise } => gaussian(noise),
        Schedule::Block { noise, keep } => gaussian(noise) && keep == Keep::Blocks,
        _ => true,
    };
    // No Gaussian noise asks for the rows.
    let prediction = mechanism.predict(SquaredNorm::new(1.0)?)?;
    Ok(if known { predicted(record, prediction) } else { record })
}
