//! A signal leaves no partial file, and says whether the budget was spent.
#![cfg(unix)]

use crate::support::{Room, csv, numbers, text};
use std::io::Write;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const SKETCH: &str = "--seed 3 --adjacency attribute --beta 2 --bound 1 --epsilon 1 --delta 1e-6";

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
}

fn start(mut command: Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the binary runs")
}

/// Starts a release that waits for more rows, after it has read some.
fn waiting(room: &Room, run: &str) -> Child {
    let mut child = start(room.command(run));
    // More than a pipe holds: what is written was read, and the output is open.
    let stdin = child.stdin.as_mut().expect("piped");
    stdin.write_all(csv(&numbers(40_000, 8), 8).as_bytes()).expect("written");
    child
}

/// Everything in the folder but the ledger.
fn names(room: &Room) -> Vec<String> {
    let files = std::fs::read_dir(room.folder()).expect("a folder").flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    names.filter(|name| name != "l.json").collect()
}

#[test]
fn nothing_is_left_by_a_signal() {
    let room = Room::new();
    for (name, status) in [("INT", 130), ("TERM", 143)] {
        for json in ["", " --json"] {
            let child =
                waiting(&room, &format!("release sketch - --out a.dps -k 4 {SKETCH}{json}"));
            signal(&child, name);
            let ended: Output = child.wait_with_output().expect("ends");
            let said = text(&ended);
            assert_eq!(ended.status.code(), Some(status), "{said}");
            assert!(names(&room).is_empty());
            for words in ["interrupted", "nothing was released", "no ledger was named"] {
                assert!(said.contains(words), "{said}");
            }
        }
    }
}

const LEDGER: &str =
    "ledger init l.json --data x --epsilon 90 --delta 1e-3 --adjacency attribute --beta 2";

/// Before a release is complete nothing is spent; after it is paid for, for a stream, nothing comes back.
#[test]
fn what_was_spent_is_said() {
    let room = Room::new();
    room.json(LEDGER);
    let spent = || room.json("ledger show l.json")["releases"].as_u64().expect("a number");
    let child =
        waiting(&room, &format!("release sketch - --out a.dps -k 4 --ledger l.json {SKETCH}"));
    signal(&child, "INT");
    let said = text(&child.wait_with_output().expect("ends"));
    assert!(said.contains("nothing was released") && said.contains("was not charged"), "{said}");
    assert!(names(&room).is_empty() && spent() == 0);

    // A release of 256 KiB, which nobody takes out of the pipe.
    room.write("users.csv", csv(&numbers(4_000, 8), 8));
    let run = format!("release sketch users.csv --out - -k 8 --ledger l.json {SKETCH}");
    let mut child = start(room.command(&run));
    while spent() == 0 {
        assert!(child.try_wait().expect("a process").is_none(), "it waits for a reader");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(50));
    signal(&child, "INT");
    // Whoever took it out now could take all of it before the signal is seen.
    while child.try_wait().expect("a process").is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let said = text(&child.wait_with_output().expect("ends"));
    assert!(said.contains("SPENT") && said.contains("handed on"), "{said}");
    assert_eq!(spent(), 1);
}
