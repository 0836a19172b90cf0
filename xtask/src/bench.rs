//! `cargo xtask bench`.

use benches::comparison::{Places, matching, run as compare, table, topics};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run only benches (or comparisons) whose name contains one of these texts.
    filters: Vec<String>,
    /// Run other libraries' scripts in turn with ours, and print the ratios.
    #[arg(long)]
    peers: bool,
    /// One JSON line a comparison instead of the table.
    #[arg(long, requires = "peers")]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn std::error::Error>> {
    if !arguments.peers {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["bench", "--package", "benches", "--benches", "--"]);
        if !arguments.filters.is_empty() {
            // Criterion takes one filter, a regular expression.
            command.arg(arguments.filters.join("|"));
        }
        return Ok(if command.status()?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let or =
        |name: &str, other: &str| std::env::var_os(name).map_or(root.join(other), PathBuf::from);
    let places = Places {
        target: or("CARGO_TARGET_DIR", "target"),
        environments: or("PEERS_ENVS", "benches/peers/envs"),
        root: root.clone(),
    };
    let chosen = matching(topics(&root.join("benches/comparisons"))?, &arguments.filters);
    if chosen.is_empty() {
        return Err(format!("no comparison matches {:?}", arguments.filters).into());
    }
    if places.python().is_none() {
        eprintln!(
            "SKIPPED: no other library was measured, because {} does not exist.\n\
             Build the environments once with `bash benches/peers/setup.sh`, or set PEERS_ENVS to \
             where they are.",
            places.environments.join("main/bin/python").display()
        );
        return Ok(ExitCode::FAILURE);
    }
    let (mut all, mut missing) = (Vec::new(), 0);
    for topic in &chosen {
        eprintln!("{}: ours and theirs in turn", topic.topic);
        let measured = compare(topic, &places, |complaint| {
            missing += 1;
            eprintln!("  not measured: {complaint}");
        })?;
        if arguments.json {
            for row in &measured {
                println!("{}", serde_json::to_string(row)?);
            }
        }
        all.extend(measured);
    }
    if !arguments.json {
        print!("{}", table(&all));
    }
    Ok(if missing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
