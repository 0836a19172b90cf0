//! `cargo xtask structure`.

use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder of the workspace; the current one by default.
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Print the counts only; fail on nothing.
    #[arg(long)]
    count: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let report = structure::Report::of(&arguments.root)?;
    print!("{}", report.counts());
    if arguments.count {
        return Ok(ExitCode::SUCCESS);
    }
    let complaints = report.complaints()?;
    complaints.iter().for_each(|complaint| println!("{complaint}"));
    Ok(if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
