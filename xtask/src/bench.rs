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
    /// Say that nothing was counted, and succeed, where there is no valgrind.
    #[arg(long, requires = "instructions")]
    optional: bool,
    /// Store the counts instead.
    #[arg(long, requires = "instructions")]
    store: bool,
    /// Times that both sides take turns.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Where each comparison is added as a line of JSON when it is measured, every turn with it. What stands there of this code and
    /// processor is not measured again.
    #[arg(long, value_name = "FILE", default_value = STORED)]
    to: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn std::error::Error>> {
    if arguments.instructions {
        return crate::instructions::run(arguments.store, arguments.optional);
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
        let keep = |row: Measured| {
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&to)?;
            writeln!(file, "{}", serde_json::to_string(&row)?)?;
            if to == root.join(STORED) {
                std::fs::write(root.join(PAGE), page(&measured(&to)?))?;
            }
            Ok(())
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

/// Every comparison that was measured, and the page that is made of them.
const STORED: &str = "docs/speed.jsonl";
const PAGE: &str = "docs/PEERS.md";

/// The last measurement of each comparison on each processor.
fn page(rows: &[Measured]) -> String {
    let split = |m: &Measured| {
        let (code, processor) = m.of.split_once("; ").unwrap_or(("", &m.of));
        (processor.to_owned(), code.to_owned())
    };
    let same = |a: &Measured, b: &Measured| {
        (split(a).0, &a.what, a.threads) == (split(b).0, &b.what, b.threads)
    };
    let last: Vec<&Measured> = (rows.iter().enumerate())
        .filter(|(i, m)| !rows[i + 1..].iter().any(|later| same(m, later)))
        .map(|(_, m)| m)
        .collect();
    let mut processors: Vec<String> = last.iter().map(|m| split(m).0).collect();
    processors.sort();
    processors.dedup();
    let mut page = format!(
        "# Beside other libraries\n\n`cargo xtask bench --peers` made this page from `{STORED}`, which has every turn: ours and theirs one after the other, medians over \
         the turns. A turn during which other programs used more than a tenth of a core does not count. Ratio: our rate over theirs, above 1 we are faster. Over the limit: our time over that of what could not be \
         done without (the bare product, reading, random bits), measured in the same turn; where a row has several limits, over their sum. \
         Below 1 that measure is no limit there: a plain loop need not use all that the processor has. A release of ours includes exact noise from a cryptographic generator.\n\n"
    );
    for processor in processors {
        let here: Vec<&&Measured> = last.iter().filter(|m| split(m).0 == processor).collect();
        let below = here.iter().filter(|m| m.ratio < 1.0).count();
        page +=
            &format!("## {processor}\n\n{} rows, {below} below the other library.\n\n", here.len());
        let heads = [
            "what",
            "other library",
            "threads",
            "unit",
            "ours",
            "theirs",
            "ratio",
            "over the limit",
            "code",
        ];
        let cells = here.iter().map(|m| {
            let over = m.over_limit.map_or_else(String::new, |over| format!("{over:.2}"));
            let (what, peer, unit) = (m.what.clone(), m.peer.clone(), m.unit.clone());
            let [ours, theirs] = [m.ours, m.theirs].map(|rate| format!("{rate:.2e}"));
            let ratio =
                if m.ratio < 100.0 { format!("{:.2}", m.ratio) } else { format!("{:.0}", m.ratio) };
            vec![what, peer, m.threads.to_string(), unit, ours, theirs, ratio, over, split(m).1]
        });
        eval::markdown_table(&mut page, &heads, cells);
    }
    page
}

/// What was measured before; nothing where there is no file.
fn measured(file: &Path) -> std::io::Result<Vec<Measured>> {
    let text = match std::fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text?,
    };
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_what_the_file_says_and_shows_the_last_of_each() {
        let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let rows = measured(&root.join(STORED)).expect("lines of JSON");
        let stored = std::fs::read_to_string(root.join(PAGE)).expect("a page");
        assert_eq!(stored, page(&rows), "{PAGE}: cargo xtask bench --peers makes it");
        let row = |code: &str, processor: &str, ratio| {
            let mut row = rows[0].clone();
            (row.of, row.ratio) = (format!("{code}; {processor}"), ratio);
            row
        };
        let again = page(&[row("a", "one", 2.0), row("b", "one", 0.5)]);
        assert!(again.contains("## one\n\n1 rows, 1 below") && again.contains("| b |"), "{again}");
        let mended = page(&[row("a", "one", 0.5), row("b", "one", 2.0)]);
        assert!(mended.contains("## one\n\n1 rows, 0 below"), "{mended}");
        let elsewhere = page(&[row("a", "one", 2.0), row("a", "two", 0.5)]);
        assert!(elsewhere.contains("## one\n\n1 rows, 0 below"), "{elsewhere}");
        assert!(elsewhere.contains("## two\n\n1 rows, 1 below"), "{elsewhere}");
        let mut threads = row("a", "one", 2.0);
        threads.threads += 1;
        assert!(page(&[row("a", "one", 2.0), threads]).contains("2 rows, 0 below"));
    }
}
