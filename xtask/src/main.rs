//! Runs the experiments, the benches and everything CI checks.

mod audit;
mod bench;
mod data;
mod environment;
mod experiments;
mod instructions;
mod mutants;
mod pages;
mod python;
mod scale;
mod spark;
mod structure;
mod test;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Runs the experiments, the benches and everything CI checks.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Regenerates figures and checks their claims; the report is target/experiments/index.html.
    Experiments(experiments::Arguments),
    /// Attacks every mechanism and its broken twins; writes docs/audit.md with --publish.
    Audit(audit::Arguments),
    /// Everything CI checks: format, structure, clippy, tests, doc tests, docs without warnings, the quick
    /// audit.
    Test(test::Arguments),
    /// Which module uses which: fails on a cycle, and on an edge between crates that is not drawn.
    Structure(structure::Arguments),
    /// Obtains data sets that may not be shipped, and checks them.
    Data(data::Arguments),
    /// Builds the Python wheel, installs it in a fresh environment and runs its tests.
    Python(python::Arguments),
    /// Runs releases on a Spark cluster of two worker processes on this machine.
    Spark(spark::Arguments),
    /// Looks at the pages that people see in a browser without a window, at 390 and 1280 pixels.
    Pages(pages::Arguments),
    /// Breaks the code, one expression at a time, and asks whether a test notices: hours; goes on where it stopped.
    Mutants(mutants::Arguments),
    /// Criterion benches; with --peers, beside other libraries.
    Bench(bench::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Experiments(arguments) => experiments::run(arguments),
        Command::Audit(arguments) => audit::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Structure(arguments) => structure::run(&arguments),
        Command::Data(arguments) => data::run(arguments),
        Command::Python(arguments) => python::run(&arguments),
        Command::Spark(arguments) => spark::run(&arguments),
        Command::Pages(arguments) => pages::run(&arguments),
        Command::Mutants(arguments) => mutants::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}
