//! A signal leaves no partial file, and says whether the budget was spent.
#![cfg(unix)]

mod support;

use std::io::Write;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use support::{Room, csv, numbers, text};

const SKETCH: &str = "--seed 3 --adjacency attribute --beta 2 --bound 1 --epsilon 1 --delta 1e-6";

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
}

fn partial(room: &Room) -> bool {
    let files = std::fs::read_dir(room.folder()).expect("a folder").flatten();
    files.into_iter().any(|file| file.file_name().to_string_lossy().ends_with(".partial"))
}

fn start(mut command: Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the binary runs")
}

/// Waits until something has happened; whether it did while the process ran.
fn until(child: &mut Child, mut done: impl FnMut() -> bool) -> bool {
    while child.try_wait().expect("a process").is_none() {
        if done() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

#[test]
fn a_partial_file_goes_with_the_signal() {
    let room = Room::new();
    for (name, status) in [("INT", 130), ("TERM", 143)] {
        for json in ["", " --json"] {
            let run = format!("release sketch - --out a.dps -k 4 {SKETCH}{json}");
            let mut child = start(room.command(&run));
            // Standard input stays open: the release waits for more rows after its first chunks.
            let stdin = child.stdin.as_mut().expect("piped");
            stdin.write_all(csv(&numbers(40_000, 8), 8).as_bytes()).expect("written");
            assert!(until(&mut child, || partial(&room)), "it waits with a partial file");
            signal(&child, name);
            let ended: Output = child.wait_with_output().expect("ends");
            let said = text(&ended);
            assert_eq!(ended.status.code(), Some(status), "{said}");
            assert!(!partial(&room) && !room.path("a.dps").exists());
            for words in ["interrupted", "nothing was released", "no ledger was named"] {
                assert!(said.contains(words), "{said}");
            }
        }
    }
}

#[test]
fn what_was_spent_is_said() {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(6_000, 600), 600));
    let ledger =
        "ledger init l.json --data x --epsilon 90 --delta 1e-3 --adjacency attribute --beta 2";
    room.json(ledger);
    let spent = || room.json("ledger show l.json")["releases"].as_u64().expect("a number");
    // 6,000 rows of 600 columns take a while; a run that ends before it is caught is made again.
    let interrupted = (0..20).find_map(|attempt| {
        let before = room.read("l.json");
        let out = format!("r{attempt}.dps");
        let run = format!(
            "release sketch users.csv --out {out} --family gaussian -k 600 --ledger l.json {SKETCH}"
        );
        let mut child = start(room.command(&run));
        let paid = until(&mut child, || room.read("l.json") != before && partial(&room));
        if !paid {
            child.wait().expect("ends");
            return None;
        }
        signal(&child, "INT");
        let ended = child.wait_with_output().expect("ends");
        (ended.status.code() == Some(130)).then(|| (text(&ended), out, attempt + 1))
    });
    let (said, out, attempts) = interrupted.expect("one of twenty is caught");
    assert!(said.contains("nothing was released") && said.contains("SPENT"), "{said}");
    assert!(!partial(&room) && !room.path(&out).exists());
    assert_eq!(spent(), attempts, "the ledger agrees");
}
