//! `cargo xtask audit`.

use audit::{Finding, Settings, everything, run as run_all};
use eval::Effort;
use eval::render::write_atomic;
use std::path::Path;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run only audits whose family or name contains one of these texts.
    filters: Vec<String>,
    /// Print families and names, run nothing.
    #[arg(long)]
    list: bool,
    /// A few minutes; names the twins that it leaves to the full form (the default).
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Eight times the runs, or more where a subject says so, and all twins: half an hour.
    #[arg(long)]
    full: bool,
    /// Every random number follows from it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Also write docs/audit.md and docs/audit.csv.
    #[arg(long, conflicts_with = "filters")]
    publish: bool,
}

fn line(finding: &Finding) -> String {
    let s = &finding.subject;
    let stated = |value: Option<f64>| value.map_or("not stated".to_owned(), |x| format!("{x:.3}"));
    let (exact, truth) =
        (stated(s.exact), s.truth.map_or(String::new(), |t| format!(", truly {t:.3}")));
    format!(
        "{:<20} {:<46} claim ({}, {}), exact {exact}{truth}: epsilon at least {:.3}, tightness {:.2}, by {}: {}",
        s.family,
        s.name,
        s.claim.epsilon,
        s.claim.delta,
        finding.epsilon,
        finding.tightness(),
        finding.tester,
        finding.verdict
    )
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn std::error::Error>> {
    if arguments.list {
        for subject in everything()? {
            let full = if subject.form == Effort::Full { " (full only)" } else { "" };
            println!("{:<20} {}{full}", subject.family, subject.name);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let effort = if arguments.full { Effort::Full } else { Effort::Quick };
    let settings = Settings { effort, seed: arguments.seed };
    let summary = run_all(settings, &arguments.filters, |finding| println!("{}", line(finding)))?;
    summary.edits_lines().for_each(|line| println!("{line}"));
    if arguments.publish {
        write_atomic(Path::new("docs/audit.md"), summary.markdown().as_bytes())?;
        write_atomic(Path::new("docs/audit.csv"), &summary.csv())?;
        println!("published docs/audit.md and docs/audit.csv");
    }
    println!("{}", summary.claims_line());
    if let Some(line) = summary.full_only_line() {
        println!("{line}");
    }
    println!("{}", summary.last_line());
    Ok(if summary.good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
