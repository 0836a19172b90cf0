//! Every command of the guides is run as it is written.

#[path = "support/guide.rs"]
mod guide;
mod support;

use guide::{blocks, root};
use std::path::Path;
use support::Room;

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
fn five_minutes_of_the_readme() {
    assert_eq!(run("README.md", &samples()), 1);
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
