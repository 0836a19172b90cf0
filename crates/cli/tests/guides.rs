//! Every command of the guides is run as it is written.

use crate::guide;
use crate::guide::{blocks, root};
use crate::support::Room;
use dp_core::explain::TradeOff;
use dp_core::{Epsilon, Probability, Profile};
use std::path::Path;

fn run(guide: &str, room: &Room) -> usize {
    let dps = Path::new(env!("CARGO_BIN_EXE_dps"));
    // The README has commands for cargo too, which the tests of `xtask` are about.
    guide::run(guide, room.folder(), dps, "", |block| !block.contains("cargo"))
}

/// A folder with the samples, where the guides and where the README expect them.
fn samples() -> Room {
    let room = Room::new();
    let data = room.path("crates/cli/data");
    std::fs::create_dir_all(&data).expect("a folder");
    for name in ["digits.csv", "packages.tsv"] {
        let from = root().join("crates/cli/data").join(name);
        std::fs::copy(&from, room.path(name)).expect("copied");
        std::fs::copy(&from, data.join(name)).expect("copied");
    }
    room
}

#[test]
fn from_a_csv_to_a_published_sketch() {
    let room = samples();
    assert!(run("docs/guides/csv-to-sketch.md", &room) >= 7);
    assert_eq!(room.json("verify digits.dps")["rows"], 200);
    assert!(room.read("components.csv").len() > 100);
}

#[test]
fn choosing_a_mechanism() {
    assert!(run("docs/guides/choose-a-mechanism.md", &samples()) >= 4);
}

#[test]
fn rows_that_keep_coming() {
    let room = samples();
    assert_eq!(run("docs/guides/window.md", &room), 4);
    let count = |folder: &str| std::fs::read_dir(room.path(folder)).expect("a folder").count();
    assert_eq!((count("moments"), count("days")), (25, 2));
    assert_eq!(room.json("ledger show stream.ledger")["releases"], 1);
    assert!(room.read("components.csv").len() > 100);
}

#[test]
fn a_file_a_day() {
    let room = samples();
    assert_eq!(run("docs/guides/daily-job.md", &room), 7);
    assert_eq!(room.json("ledger show days.ledger")["releases"], 3);
}

#[test]
fn a_release_of_several_processes() {
    let room = samples();
    assert_eq!(run("docs/guides/spark.md", &room), 1);
    assert_eq!(room.json("verify digits.dps")["rows"], 200);
    assert_eq!(room.json("ledger show parts.ledger")["releases"], 1);
}

#[test]
fn what_epsilon_means() {
    let room = samples();
    assert_eq!(run("docs/what-epsilon-means.md", &room), 2);
    let drawn = String::from_utf8(room.read("attack.svg")).expect("text");
    assert!(drawn.contains("NOT private") && room.read("mine.html").len() > 5000);
    // Its table: the best guess at even odds, and what becomes of a guess of 1 %.
    let page =
        std::fs::read_to_string(root().join("docs/what-epsilon-means.md")).expect("the page");
    let mut rows = 0;
    for line in page.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let Some(epsilon) = cells.get(1).and_then(|cell| cell.parse::<f64>().ok()) else {
            continue;
        };
        let profile = Profile::PureDp { epsilon: Epsilon::new(epsilon).expect("epsilon") };
        let best = TradeOff::new(&profile).expect("a trade-off");
        let share = |p: f64| Probability::new(p).expect("a probability");
        let right = best.right_guesses(share(0.5));
        let belief = best.belief(share(0.01), share(1e-9)).at_most;
        let said = [right, belief].map(|p| format!("{:.1} %", 100.0 * p));
        assert_eq!(cells[2..4], said, "epsilon {epsilon}");
        rows += 1;
    }
    assert_eq!(rows, 7);
    // Its measured numbers are those of the published experiment.
    let path = root().join("docs/experiments/own/attacks-outside.csv");
    let mut measured = csv::Reader::from_path(path).expect("the numbers");
    let records: Vec<csv::StringRecord> = measured.records().map(|r| r.expect("a line")).collect();
    let curves = [
        "digit of digits, Laplace noise",
        "digit of digits, Gaussian noise",
        "digits, Laplace noise",
        "embeddings, Laplace noise",
    ];
    for epsilon in ["0.5", "1", "2", "3", "5", "8"] {
        let said = curves.map(|curve| {
            let of = records.iter().find(|r| &r[1] == curve && &r[2] == epsilon).expect("a point");
            format!("{:.0} %", 100.0 * of[3].parse::<f64>().expect("a share"))
        });
        let line = format!("| one value at {epsilon} | {} |", said.join(" | "));
        assert!(page.contains(&line), "{line}");
    }
    assert!(page.contains("In 50 settings"));
}

#[test]
fn five_minutes_of_the_readme() {
    assert_eq!(run("README.md", &samples()), 2);
}

#[test]
fn blocks_are_found_and_failures_are_seen() {
    let text = "a\n```sh\nx\ny\n```\n```rust\nz\n```\n```sh\nw\n```";
    assert_eq!(blocks(text, "sh"), ["x\ny\n", "w\n"]);
    let failing = std::panic::catch_unwind(|| {
        let room = Room::new();
        // Without the samples the commands of the guide fail.
        run("docs/guides/choose-a-mechanism.md", &room)
    });
    assert!(failing.is_err());
}
