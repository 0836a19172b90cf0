//! `cargo xtask experiments`.

use eval::Effort;
use eval::framework::{
    Context, Event, Experiment, Progress, Sources, Summary, list, run as run_all, select,
};
use eval::{experiments, render};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run only experiments whose id contains one of these texts.
    filters: Vec<String>,
    /// Print ids and titles, run nothing.
    #[arg(long)]
    list: bool,
    /// Seconds each: fewer repetitions and points (the default).
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The largest sizes that the shipped data allow, at least ten repetitions.
    #[arg(long)]
    full: bool,
    /// Every random number follows from it, synthetic data too.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Your own images instead of the embedded digits: an IDX file, plain or gzip.
    #[arg(long, value_name = "PATH")]
    images: Option<PathBuf>,
    /// Their labels, IDX.
    #[arg(long, value_name = "PATH", requires = "images")]
    labels: Option<PathBuf>,
    /// A folder with further data sets, under their published file names.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Where the report goes.
    #[arg(long, value_name = "DIR", default_value = "target/experiments")]
    out: PathBuf,
    /// Also write the pages under docs/experiments.
    #[arg(long)]
    publish: bool,
    /// Compare the figures with published ones, within their error bars (--compare=DIR for others); with
    /// --publish, before they are replaced.
    #[arg(
        long,
        value_name = "DIR",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = DOCS
    )]
    compare: Option<PathBuf>,
    /// Break the experiments in every way that reaches them instead, and tell which claims notice (needs the feature: `cargo
    /// run --release -p xtask --features sabotage -- experiments --sabotage`); =NAME for those whose name contains it.
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    sabotage: Option<String>,
}

/// Where published reports are.
const DOCS: &str = "docs/experiments";

struct Bar(ProgressBar);

impl Progress for Bar {
    fn begin(&self, steps: u64) {
        // Several run at once: the bar is about all of them.
        self.0.inc_length(steps);
    }
    fn step(&self) {
        self.0.inc(1);
    }
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let all = experiments::all();
    let chosen = select(&all, &arguments.filters)?;
    if arguments.list {
        print!("{}", list(&chosen));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(name) = &arguments.sabotage {
        let publish = arguments.publish.then_some(&all[..]);
        return sabotage(name, &chosen, arguments.seed, publish);
    }
    let bars = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{prefix} {msg} [{bar:30}] {pos}/{len} {elapsed}")?;
    let bar = bars.add(ProgressBar::no_length().with_style(style));
    let progress = Bar(bar.clone());
    let context = Context {
        effort: if arguments.full { Effort::Full } else { Effort::Quick },
        seed: arguments.seed,
        sources: Sources {
            images: arguments.images,
            labels: arguments.labels,
            data: arguments.data,
        },
        progress: &progress,
    };
    let summary = run_all(&chosen, &context, |event| match event {
        Event::Begin { index, count, id } => {
            bar.set_prefix(format!("{}/{count}", index + 1));
            bar.set_message(id);
        }
        Event::End(outcome) => bars.suspend(|| {
            println!("{} ({:.1} s)", outcome.id, outcome.time.as_secs_f64());
            for line in outcome.lines() {
                println!("  {line}");
            }
        }),
    });
    bar.finish_and_clear();
    let index = render::write(&summary, &arguments.out)?;
    let agree = arguments.compare.map_or(Ok(true), |docs| compare(&summary, &docs))?;
    if arguments.publish {
        for page in render::publish(&summary, DOCS.as_ref(), &all)? {
            println!("published {}", page.display());
        }
    }
    let (passed, failed) = summary.totals();
    let known = summary.known_failures();
    println!(
        "{passed} claims passed, {failed} failed ({known} of them known to); {}; report: {}",
        summary.describe(),
        index.display()
    );
    Ok(if agree { ExitCode::from(summary.exit_status()) } else { ExitCode::FAILURE })
}

/// Prints how the run agrees with published reports; whether nothing lies beyond the error bars.
fn compare(summary: &Summary, docs: &Path) -> Result<bool, eval::Error> {
    let all = render::compare(summary, docs)?;
    for one in all.iter().filter(|one| !one.beyond.is_empty()) {
        println!("{}: differs from {}", one.id, docs.display());
        one.beyond.iter().for_each(|line| println!("  {line}"));
    }
    let sum = |count: fn(&render::Agreement) -> usize| all.iter().map(count).sum::<usize>();
    println!(
        "compared with {}: {} points equal, {} within {} standard errors, {} beyond, {} without an error bar",
        docs.display(),
        sum(|a| a.equal),
        sum(|a| a.within),
        render::BARS,
        sum(|a| a.beyond.len()),
        sum(|a| a.without_bar)
    );
    Ok(all.iter().all(|one| one.beyond.is_empty()))
}

#[cfg(not(feature = "sabotage"))]
fn sabotage(
    _: &str,
    _: &[&dyn Experiment],
    _: u64,
    _: Option<&[Box<dyn Experiment>]>,
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    Err("--sabotage needs the feature: cargo run --release -p xtask --features sabotage -- experiments --sabotage".into())
}

/// Prints which claims notice which sabotage, and publishes the table given the list of all experiments; fails when
/// some experiment notices one that reaches it with no claim.
#[cfg(feature = "sabotage")]
fn sabotage(
    name: &str,
    chosen: &[&dyn Experiment],
    seed: u64,
    publish: Option<&[Box<dyn Experiment>]>,
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    use eval::framework::{Quiet, Sabotage, trial};
    let wanted: Vec<Sabotage> =
        Sabotage::ALL.into_iter().filter(|s| s.name().contains(name)).collect();
    let context =
        Context { effort: Effort::Quick, seed, sources: Sources::default(), progress: &Quiet };
    let mut trials = Vec::new();
    for experiment in chosen {
        let found = trial::trial(*experiment, &context, &wanted)?;
        println!("{} ({} of {} claims pass)", found.id, found.passing.0, found.passing.1);
        for (text, reason) in &found.failing {
            println!(
                "  fails unbroken: {text}{}",
                reason.map_or(String::new(), |r| format!(" ({r})"))
            );
        }
        for (sabotage, text) in &found.missed {
            println!("  does not notice {}: {text}", sabotage.name());
        }
        for text in &found.deaf {
            println!("  passes whatever is broken: {text}");
        }
        for (sabotage, noticed) in &found.noticed {
            match noticed {
                Ok(n) => println!("  {}: {n} claims notice", sabotage.name()),
                Err(error) => println!("  {}: did not finish: {error}", sabotage.name()),
            }
        }
        trials.push(found);
        if let Some(all) = publish {
            render::publish_trials(&trials, &wanted, seed, DOCS.as_ref(), all)?;
        }
    }
    let table = trial::table(&trials, &wanted);
    let heads: Vec<&str> = table.columns.iter().map(String::as_str).collect();
    let mut out = String::new();
    eval::markdown_table(&mut out, &heads, table.rows.into_iter());
    println!("{out}");
    let silent = trials.iter().flat_map(|t| &t.noticed).filter(|(_, n)| matches!(n, Ok(0))).count();
    let missed: usize = trials.iter().map(|t| t.missed.len()).sum();
    println!("{silent} sabotages unnoticed, {missed} promises not kept");
    Ok(if silent + missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
