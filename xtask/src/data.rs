//! `cargo xtask data`.

use eval::data::Obtainable;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Which data set; without it, their names.
    name: Option<String>,
    /// Where it goes; the experiments look there.
    #[arg(long, value_name = "DIR", default_value = "target/data")]
    folder: PathBuf,
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let Some(name) = arguments.name else {
        for data in Obtainable::ALL {
            println!("{}", data.name());
        }
        return Ok(ExitCode::SUCCESS);
    };
    let data = Obtainable::ALL
        .into_iter()
        .find(|d| d.name() == name)
        .ok_or_else(|| format!("no data set is called {name:?}; `cargo xtask data` lists them"))?;
    match data.fetch(&arguments.folder) {
        Ok(path) => {
            println!("{}: SHA-256 checked", path.display());
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            eprintln!("error: {error}\n{}", data.by_hand());
            Ok(ExitCode::FAILURE)
        }
    }
}
