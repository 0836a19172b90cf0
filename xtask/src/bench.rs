//! `cargo xtask bench`.

use benches::comparison::{
    Measured, Places, Plan, matching, measured_of, run as compare, table, topics,
};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run only benches (or comparisons) whose name contains one of these texts.
    filters: Vec<String>,
    /// Run other libraries' scripts in turn with ours, and print the ratios.
    #[arg(long)]
    peers: bool,
    /// Count the instructions of small kernels under valgrind, and fail where one takes more than is stored.
    #[arg(long, conflicts_with = "peers")]
    instructions: bool,
    /// Measure how time and memory grow with the sizes of a release, and publish docs/scale.
    #[arg(long, conflicts_with_all = ["peers", "instructions", "filters"])]
    scale: bool,
    /// Store the counts instead.
    #[arg(long, requires = "instructions")]
    store: bool,
    /// Times that both sides take turns.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Where each comparison is added as a line of JSON when it is measured, every turn with it. What stands there of this code and
    /// processor is not measured again.
    #[arg(long, value_name = "FILE", default_value = "docs/speed.jsonl")]
    to: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn std::error::Error>> {
    if arguments.instructions {
        return crate::instructions::run(arguments.store);
    }
    if arguments.scale {
        return crate::scale::run();
    }
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
    let to = root.join(&arguments.to);
    let known = measured(&to)?;
    let of = measured_of(&places)?;
    let plan = Plan { places: &places, of: &of, rounds: arguments.rounds.max(1), known: &known };
    let mut missing = 0;
    for topic in &chosen {
        let keep = |measured: Measured| {
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&to)?;
            writeln!(file, "{}", serde_json::to_string(&measured)?)
        };
        compare(topic, &plan, keep, |complaint| {
            missing += 1;
            eprintln!("  not measured: {complaint}");
        })?;
    }
    let of_now: Vec<Measured> = measured(&to)?.into_iter().filter(|m| m.of == of).collect();
    print!("{}", table(&of_now));
    Ok(if missing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What was measured before; nothing where there is no file.
fn measured(file: &Path) -> Result<Vec<Measured>, Box<dyn std::error::Error>> {
    let text = match std::fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text?,
    };
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}
