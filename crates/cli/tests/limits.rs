//! Limits of the system end in an error that says what happened, and cost nothing.
#![cfg(unix)]

mod support;

use std::process::{Command, Output, Stdio};
use support::{Room, csv, numbers, text};

const OPTIONS: &str = "--adjacency attribute --beta 1 --bound 1 --epsilon 0.5 --delta 1e-6";

fn room() -> Room {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(3_000, 16), 16));
    room.json(
        "ledger init l.json --data x --epsilon 9 --delta 1e-4 --adjacency attribute --beta 1",
    );
    room
}

/// Runs in a shell that sets limits first.
fn limited(room: &Room, limit: &str, arguments: &str) -> Output {
    let run = format!("{limit} exec {} {arguments}", env!("CARGO_BIN_EXE_dps"));
    let mut command = Command::new("sh");
    command.args(["-c", &run]).current_dir(room.folder()).stdin(Stdio::null());
    command.output().expect("sh runs")
}

fn spent(room: &Room) -> u64 {
    room.json("ledger show l.json")["releases"].as_u64().expect("a number")
}

/// Files may not grow past some size: the release first, then the ledger.
#[test]
fn a_full_disk_costs_nothing() {
    let room = room();
    let release = |name: &str, k: usize| {
        format!("release sketch users.csv --out {name} -k {k} {OPTIONS} --ledger l.json")
    };
    // 512-byte blocks: 96 KB of release against 8 KB.
    let ended = limited(&room, "ulimit -f 16;", &release("a.dps", 4));
    assert_eq!(ended.status.code(), Some(3), "{}", text(&ended));
    assert!(text(&ended).contains("File too large"), "{}", text(&ended));
    assert_eq!(spent(&room), 0);
    // A ledger that may not grow any more, in the middle of a line or after one.
    room.write("users.csv", csv(&numbers(20, 16), 16));
    let size = |name: &str| std::fs::metadata(room.path(name)).expect("exists").len();
    let mut done = 0;
    for i in 0..12 {
        let before = size("l.json");
        let ended = limited(&room, "ulimit -f 12;", &release(&format!("r{i}.dps"), 4));
        let released = room.path(&format!("r{i}.dps")).exists();
        assert_eq!(ended.status.success(), released, "{}", text(&ended));
        done += u64::from(released);
        assert!(released || ended.status.code() == Some(3), "{}", text(&ended));
        assert_eq!(spent(&room), done, "{} bytes", before);
    }
    assert!((2..12).contains(&done), "{done}");
    let files = std::fs::read_dir(room.folder()).expect("a folder").count() as u64;
    assert_eq!(files, 2 + done, "nothing is left over");
    room.json(&release("last.dps", 4));
    assert_eq!(spent(&room), done + 1);
}

/// A matrix that does not fit in memory ends the process before anything is paid.
#[test]
fn what_memory_cannot_hold_costs_nothing() {
    let room = room();
    let d = 40_000;
    room.write("wide.csv", csv(&vec![0.001; d], d));
    room.json(
        "ledger init w.json --data x --epsilon 9 --delta 1e-4 --adjacency add-remove-row --norm-bound 1",
    );
    let run = "release covariance wide.csv --out w.dps --adjacency add-remove-row --norm-bound 1 \
               --epsilon 1 --delta 1e-6 --ledger w.json";
    let ended = limited(&room, "ulimit -v 3000000;", run);
    assert!(!ended.status.success() && !room.path("w.dps").exists(), "{}", text(&ended));
    assert_eq!(room.json("ledger show w.json")["releases"], 0);
}

#[test]
fn full_streams_end_in_a_status() {
    let room = room();
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("opened");
    let status = |mut command: Command| command.status().expect("runs").code();
    let mut refused = room.command("verify nowhere.dps");
    refused.stderr(full()).stdout(Stdio::null());
    assert_eq!(status(refused), Some(3));
    let mut warned = room.command(&format!(
        "release sketch users.csv --out a.dps -k 4 --insecure-test-noise 1 {OPTIONS}"
    ));
    warned.stderr(full()).stdout(Stdio::null());
    assert_eq!(status(warned), Some(0));
    let mut shown = room.command("ledger show l.json");
    shown.stdout(full()).stderr(Stdio::null());
    assert_eq!(status(shown), Some(3));
    // What standard output did not take may have been read all the same: it is paid for.
    let mut handed_on =
        room.command(&format!("release sketch users.csv --out - -k 4 --ledger l.json {OPTIONS}"));
    handed_on.stdout(full()).stderr(Stdio::piped());
    let ended = handed_on.output().expect("runs");
    assert_eq!(ended.status.code(), Some(3));
    assert!(text(&ended).contains("standard output"), "{}", text(&ended));
    assert_eq!(spent(&room), 1);
}

/// A pipe where a ledger should be would be waited for.
#[test]
fn a_pipe_is_no_ledger() {
    let room = room();
    let made = Command::new("mkfifo").arg(room.path("fifo")).status().expect("mkfifo runs");
    assert!(made.success());
    room.refuses("ledger show fifo", 3, &["it is not a file"]);
    room.refuses(
        &format!("release sketch users.csv --out refused.dps -k 4 --ledger fifo {OPTIONS}"),
        3,
        &["it is not a file"],
    );
    // Nor is a file of data, of which nothing is told.
    let told = text(&room.run(&format!(
        "release sketch users.csv --out refused.dps -k 4 --ledger users.csv {OPTIONS}"
    )));
    assert!(told.contains("not a valid ledger") && !told.contains("a0"), "{told}");
}

/// While data is in memory a crash writes none of it to the disk.
#[cfg(target_os = "linux")]
#[test]
fn a_crash_writes_no_memory() {
    let room = room();
    let run = format!("release sketch - --out a.dps -k 4 {OPTIONS}");
    let mut command = room.command(&run);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("runs");
    use std::io::Write;
    let rows = csv(&numbers(40_000, 8), 8);
    child.stdin.as_mut().expect("piped").write_all(rows.as_bytes()).expect("written");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id()));
    child.kill().expect("killed");
    child.wait().expect("ends");
    let limits = limits.expect("readable");
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).expect("a line");
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
}
