//! `dps`: calibrate, inspect and verify differentially private sketches from the command line.

mod calibrate;
mod certificate;
mod error;
mod output;

use clap::{Parser, Subcommand};
use error::Result;
use output::Format;
use std::process::ExitCode;

/// Publish differentially private sketches, and check what others published.
#[derive(Parser)]
#[command(name = "dps", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print one JSON object instead of text.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// The least noise for a budget: exact, or by a published rule with the delta it truly gives.
    Calibrate(calibrate::Calibrate),
    /// Show what a certificate states.
    Inspect(certificate::Inspect),
    /// Recompute everything a certificate states; exit status 1 when it does not hold together.
    Verify(certificate::Verify),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let format = if arguments.json { Format::Json } else { Format::Text };
    match run(&arguments.command) {
        Ok(record) => {
            print!("{}", record.render(format));
            ExitCode::SUCCESS
        }
        Err(error) => {
            match format {
                Format::Json => print!("{}", error.record().render(format)),
                Format::Text => eprintln!("dps: {error}"),
            }
            ExitCode::from(error.status())
        }
    }
}

fn run(command: &Command) -> Result<output::Record> {
    match command {
        Command::Calibrate(calibrate) => calibrate.run(),
        Command::Inspect(inspect) => inspect.run(),
        Command::Verify(verify) => verify.run(),
    }
}
