//! `cargo xtask spark`: the Python package in a Spark cluster of two worker processes on this machine.

use crate::environment::{Skipped, folders, fresh, python};
use crate::python::{Result, install};
use std::process::{Command, ExitCode, Stdio};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Say that it was skipped, and succeed, where Java, Python or its packages cannot be had.
    #[arg(long)]
    optional: bool,
    /// Measure rows a second and the growth with the rows, in the place of the tests.
    #[arg(long)]
    speed: bool,
    /// Handed to pytest, or to the measurement.
    #[arg(last = true)]
    rest: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (root, target) = folders();
    let packages = root.join("python/spark/requirements.txt");
    let environment = java().and_then(|()| fresh(&target.join("spark"), &packages));
    let environment = match environment {
        Ok(environment) => environment,
        Err(Skipped(why)) => {
            println!("SKIPPED: nothing ran on Spark: {why}");
            return Ok(if arguments.optional { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
    };
    install(&root, &target, &environment)?;
    let mut command = python(&environment, &target)?;
    if arguments.speed {
        command.arg("speed.py");
    } else {
        command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    }
    let ran = command
        .args(&arguments.rest)
        // Where no folder hides the package that was installed.
        .current_dir(root.join("python/spark"))
        .env("PYSPARK_PYTHON", &environment)
        .status()?;
    Ok(if ran.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn java() -> core::result::Result<(), Skipped> {
    let tried = Command::new("java").arg("-version").stderr(Stdio::null()).status();
    match tried {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Skipped("there is no `java`: Spark 4 needs 17 or later".into())),
    }
}
