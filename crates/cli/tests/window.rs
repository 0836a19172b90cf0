//! `dps window`: a release a tick, one payment, and what is refused when a stream goes on.

use crate::support::{Room, csv, numbers, text};
use dp_core::ledger_file::BudgetFile;
use dp_core::release_file;
use linalg_dp::window::WindowCovariance;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::process::Stdio;

const ROWS: usize = 40;
const D: usize = 3;
const OUT: &str = "window rows.csv --out out --journal j";
const PRIVACY: &str = "--adjacency zero-row --norm-bound 2 --epsilon 2 --delta 1e-6";
const SIZES: &str = "--window 16 --block 4";

fn room() -> Room {
    let room = Room::new();
    room.write("rows.csv", csv(&numbers(ROWS, D), D));
    room.json(
        "ledger init l --data rows --epsilon 3 --delta 1e-5 --adjacency zero-row --norm-bound 2",
    );
    room
}

/// The first so many rows.
fn begin(room: &Room, rows: usize) {
    room.write("rows.csv", csv(&numbers(ROWS, D)[..rows * D], D));
}

fn files(room: &Room, folder: &str) -> Vec<(String, Vec<u8>)> {
    let Ok(files) = std::fs::read_dir(room.path(folder)) else { return Vec::new() };
    let mut files: Vec<_> = files
        .map(|file| file.expect("a file"))
        .map(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            (name, std::fs::read(file.path()).expect("read"))
        })
        .collect();
    files.sort();
    files
}

fn payments(room: &Room, ledger: &str) -> usize {
    BudgetFile::read(&room.path(ledger)).expect("a ledger").ledger().entries().len()
}

#[test]
fn every_schedule_gives_a_release_a_tick_for_one_payment() {
    for schedule in [
        "tree",
        "tree --noise jl --sketch-rows 5",
        "block",
        "block --histogram 0.3",
        "factorised --horizon 20",
        "decayed --decay 0.8 --horizon 20",
    ] {
        let room = room();
        let sizes = if schedule.starts_with("decayed") { "--block 4" } else { SIZES };
        let run = format!("{OUT} {sizes} {PRIVACY} --schedule {schedule} --ledger l");
        begin(&room, 22);
        assert_eq!(room.json(&format!("{run} --dry-run"))["next_tick"], 0, "{schedule}");
        assert!(!room.path("out").exists() && !room.path("j").exists());
        let first = room.json(&run);
        assert_eq!(first["published_now"], 5, "{schedule}");
        assert_eq!(first["rows_that_wait_for_a_full_block"], 2);
        assert_eq!(room.json(&format!("{run} --dry-run"))["next_tick"], 5, "{schedule}");
        let before = files(&room, "out");
        begin(&room, ROWS);
        let second = room.json(&run);
        assert_eq!(second["published_now"], 5);
        assert_eq!(second["next_tick"], 10);
        let after = files(&room, "out");
        assert_eq!(after[..5], before, "{schedule}: what was published stays");
        assert_eq!((after.len(), payments(&room, "l")), (10, 1), "{schedule}");
        for (name, _) in &after {
            assert_eq!(room.json(&format!("verify out/{name}"))["rows"], 3, "{schedule}");
        }
        // Nothing new: nothing is done, and nothing paid.
        assert_eq!(room.json(&run)["published_now"], 0);
        assert_eq!((files(&room, "out"), payments(&room, "l")), (after, 1), "{schedule}");
    }
}

#[test]
fn other_rows_for_a_published_tick_are_refused() {
    let room = room();
    let run = format!("{OUT} {SIZES} {PRIVACY}");
    room.json(&run);
    let before = (files(&room, "out"), room.read("j"));
    let mut values = numbers(ROWS, D);
    values[5 * D] += 0.01;
    room.write("rows.csv", csv(&values, D));
    room.refuses(&run, 1, &["not the rows of tick 1", "--first-tick"]);
    // The rows before them, left out.
    room.write("rows.csv", csv(&numbers(ROWS, D)[4 * D..], D));
    room.refuses(&run, 1, &["not the rows of tick 0"]);
    assert_eq!(room.json(&format!("{run} --first-tick 1"))["published_now"], 0);
    room.refuses(&format!("{run} --first-tick 11"), 2, &["leaves ticks out", "next one is 10"]);
    assert_eq!((files(&room, "out"), room.read("j")), before);
}

/// Else the first run would publish tick 0, and the same command again count every row once more.
#[test]
fn a_new_stream_begins_with_tick_0() {
    let room = room();
    begin(&room, 8);
    let run = format!("{OUT} {SIZES} {PRIVACY} --ledger l");
    let untouched = room.read("l");
    for more in ["--first-tick 1", "--first-tick 1 --clock", "--first-tick 1 --dry-run"] {
        room.refuses(&format!("{run} {more}"), 2, &["leaves ticks out", "next one is 0"]);
    }
    assert!(files(&room, "out").is_empty() && !room.path("j").exists());
    assert_eq!(room.read("l"), untouched);
    assert_eq!(room.json(&format!("{run} --first-tick 0"))["published_now"], 2);
    room.refuses(&format!("{run} --first-tick 5 --dry-run"), 2, &["next one is 2"]);
}

#[test]
fn what_stream_it_is_cannot_change() {
    let room = room();
    begin(&room, 8);
    let run = format!("{OUT} {SIZES} {PRIVACY} --ledger l");
    room.json(&run);
    let held = format!("{OUT} {PRIVACY} --ledger l");
    room.refuses(&format!("{held} --window 16 --block 8"), 1, &["another stream", "block"]);
    room.refuses(&format!("{held} {SIZES} --schedule tree"), 1, &["another stream", "schedule"]);
    room.refuses(&run.replace("--epsilon 2", "--epsilon 1"), 1, &["another stream", "budget"]);
    room.refuses(&run.replace("norm-bound 2", "norm-bound 3"), 1, &["adjacency"]);
    let renamed = csv(&numbers(8, D), D).replace('a', "b");
    room.write("b.csv", renamed);
    room.refuses(&run.replace("rows.csv", "b.csv"), 1, &["columns"]);
    // Another ledger, none, or an older copy.
    room.json(
        "ledger init m --data rows --epsilon 3 --delta 1e-5 --adjacency zero-row --norm-bound 2",
    );
    room.refuses(&run.replace("--ledger l", "--ledger m"), 1, &["another ledger"]);
    room.refuses(&run.replace("--ledger l", ""), 1, &["--ledger"]);
    assert_eq!((payments(&room, "l"), payments(&room, "m")), (1, 0));
    // The folder of another stream, and a stream whose journal is gone or old.
    let newest = room.read("j");
    std::fs::remove_file(room.path("j")).expect("removed");
    room.refuses(&run, 1, &["tick", "is not there"]);
    room.write("j", &newest);
    begin(&room, 16);
    room.json(&run);
    room.write("j", &newest);
    room.refuses(&run, 1, &["older copy of the journal"]);
    // One that is not its own file in the newest place.
    std::fs::remove_dir_all(room.path("out")).expect("removed");
    std::fs::create_dir(room.path("out")).expect("made");
    room.write("out/tick-00000001.dps", "not a release");
    room.refuses(&run, 1, &["exists and is not"]);
}

#[test]
fn an_older_copy_of_the_ledger_is_noticed() {
    let room = room();
    let old = room.read("l");
    begin(&room, 8);
    let run = format!("{OUT} {SIZES} {PRIVACY} --ledger l");
    room.json(&run);
    room.write("l", old);
    room.refuses(&run, 1, &["does not hold the payment", "older copy"]);
    assert_eq!(payments(&room, "l"), 0);
}

#[test]
fn the_newest_release_is_made_again_where_it_is_gone() {
    let room = room();
    let run = format!("{OUT} {SIZES} {PRIVACY} --ledger l");
    for rows in [4, 8, 12] {
        begin(&room, rows);
        room.json(&run);
        let newest = files(&room, "out").pop().expect("a release");
        std::fs::remove_dir_all(room.path("out")).expect("removed");
        assert_eq!(room.json(&run)["published_now"], 1);
        assert_eq!((files(&room, "out"), payments(&room, "l")), (vec![newest], 1));
    }
}

#[test]
fn a_refused_payment_publishes_nothing_and_can_be_made_later() {
    let room = room();
    room.json(
        "ledger init poor --data rows --epsilon 1 --delta 1e-5 --adjacency zero-row --norm-bound 2",
    );
    let run = format!("{OUT} {SIZES} {PRIVACY}");
    room.refuses(&format!("{run} --ledger poor"), 1, &["limit"]);
    assert!(files(&room, "out").is_empty() && !room.path("j").exists());
    // Spent by others between the journal of the first tick and its payment.
    begin(&room, 0);
    let paid = format!("{run} --ledger l");
    room.run(&paid);
    assert!(room.path("j").exists());
    let full = room.read("l");
    room.write("other.csv", csv(&numbers(20, D), D));
    room.json(&format!("release covariance other.csv --out o.dps {PRIVACY} --ledger l"));
    begin(&room, ROWS);
    room.refuses(&paid, 1, &["limit"]);
    assert!(files(&room, "out").is_empty());
    room.write("l", full);
    assert_eq!(room.json(&paid)["published_now"], 10);
    assert_eq!(payments(&room, "l"), 1);
}

#[test]
fn a_clock_ends_ticks_that_hold_anything() {
    let room = room();
    let privacy = PRIVACY.replace("zero-row", "add-remove-row");
    let run = |file: &str, tick: u32| {
        format!(
            "window {file} --out out --journal j --window 40 --block 10 --clock --first-tick {tick} {privacy}"
        )
    };
    for (tick, rows) in [7, 0, 10].into_iter().enumerate() {
        room.write("t.csv", csv(&numbers(rows, D), D));
        assert_eq!(room.json(&run("t.csv", tick as u32))["published_now"], 1, "{rows} rows");
        assert_eq!(room.json(&run("t.csv", tick as u32))["published_now"], 0);
    }
    let before = files(&room, "out");
    // A row more, a row less, for a tick that is published.
    for rows in [9, 1] {
        room.write("t.csv", csv(&numbers(rows, D), D));
        room.refuses(&run("t.csv", 2), 1, &["not the rows of tick 2"]);
        room.refuses(&run("t.csv", 1), 1, &["not the rows of tick 1"]);
    }
    // As many as a tick can hold, and others than it had.
    for tick in [0, 1, 2] {
        let mut rows = numbers(10, D);
        rows[0] += 0.125;
        room.write("t.csv", csv(&rows, D));
        let named = format!("not the rows of tick {tick}:");
        room.refuses(&run("t.csv", tick), 1, &[&named]);
    }
    room.write("t.csv", csv(&numbers(11, D), D));
    room.refuses(&run("t.csv", 3), 2, &["rows between ticks", "--block", "[0, 10]"]);
    room.refuses(&run("t.csv", 4), 2, &["leaves ticks out"]);
    let without = run("t.csv", 3).replace("--first-tick 3", "");
    room.refuses(&without, 2, &["--clock needs --first-tick"]);
    // Counted rows cannot hide that one came.
    let counted = format!("window t.csv --out x --journal x.j {SIZES} {privacy}");
    room.refuses(&counted, 2, &["every later row", "--clock"]);
    assert_eq!(files(&room, "out"), before);
}

/// Rows of a pipe are released as they come, and a clock that strikes needs no rows. The test waits for files and never
/// for a time.
#[test]
fn a_pipe_is_released_as_it_is_filled() {
    let room = room();
    let rows = numbers(ROWS, D);
    for (name, pace) in [("rows", String::new()), ("time", "--every 0.02".into())] {
        let run = format!(
            "window - --out {name} --journal {name}.j --window 4000 --block 1000 {pace} {PRIVACY}"
        );
        let run =
            if name == "rows" { run.replace("--window 4000 --block 1000", SIZES) } else { run };
        let mut child = room.command(&run);
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("starts");
        let mut pipe = child.stdin.take().expect("piped");
        pipe.write_all(csv(&rows[..D], D).as_bytes()).expect("written");
        for (tick, part) in rows[D..17 * D].chunks(4 * D).enumerate() {
            let lines = csv(part, D);
            let lines = lines.split_once('\n').expect("a header").1;
            pipe.write_all(lines.as_bytes()).expect("written");
            let file = room.path(&format!("{name}/tick-{tick:08}.dps"));
            while !file.exists() {
                assert!(child.try_wait().expect("known").is_none(), "{name} has ended");
                std::thread::yield_now();
            }
        }
        drop(pipe);
        assert!(child.wait().expect("ends").success());
        let last = files(&room, name).pop().expect("a release");
        let release = release_file::decode::<WindowCovariance, dp_core::Certificate>(&last.1);
        assert!(release.expect("a window").payload().blocks() > 0);
    }
    room.refuses(
        &format!("{OUT} {SIZES} --every 5 {PRIVACY}"),
        2,
        &["--every waits", "standard input"],
    );
}

#[test]
fn a_journal_is_one_process_s_and_no_forger_s() {
    let room = room();
    begin(&room, 12);
    let run = format!("{OUT} {SIZES} {PRIVACY}");
    room.json(&run);
    let before = files(&room, "out");
    // A process that waits for rows holds the journal.
    let waiting = run.replace("rows.csv", "-");
    let mut child = room.command(&waiting);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("starts");
    let mut pipe = child.stdin.take().expect("piped");
    let all = csv(&numbers(16, D), D);
    pipe.write_all(all.as_bytes()).expect("written");
    while !room.path("out/tick-00000003.dps").exists() {
        assert!(child.try_wait().expect("known").is_none(), "it has ended");
    }
    room.refuses(&run, 1, &["another stream holds it"]);
    child.kill().expect("killed");
    child.wait().expect("ends");
    assert_eq!(files(&room, "out")[..3], before);
    let good = room.read("j");
    let sealed = |edit: &dyn Fn(&str) -> String| {
        let text = edit(std::str::from_utf8(&good[40..]).expect("JSON"));
        [&good[..8], Sha256::digest(&text).as_slice(), text.as_bytes()].concat()
    };
    for (what, bytes) in [
        ("cut", good[..good.len() - 1].to_vec()),
        ("empty", Vec::new()),
        ("another version", [b"DPWINDW4".as_slice(), &good[8..]].concat()),
        ("a block less", sealed(&|t| t.replace("\"blocks_closed\":4", "\"blocks_closed\":3"))),
        ("a block more", sealed(&|t| t.replace("\"blocks_closed\":4", "\"blocks_closed\":5"))),
        (
            "many blocks",
            sealed(&|t| t.replace("\"blocks_closed\":4", "\"blocks_closed\":99999999999")),
        ),
        (
            "no digests",
            sealed(&|t| {
                let (start, rest) = t.split_once("\"closed\":\"").expect("digests");
                format!("{start}\"closed\":\"{}", &rest[rest.find('"').expect("an end")..])
            }),
        ),
        ("a huge row", sealed(&|t| t.replace("\"dim\":3", "\"dim\":1000000"))),
        ("less noise", sealed(&|t| t.replacen("\"epsilon\":2.0", "\"epsilon\":9.0", 1))),
        ("another note", sealed(&|t| t.replace("\"note\":\"", "\"note\":\"x"))),
    ] {
        room.write("j", bytes);
        let said = room.run(&run);
        assert_eq!(said.status.code(), Some(1), "{what}: {}", text(&said));
        assert!(text(&said).contains("journal") || text(&said).contains("j is"), "{what}");
    }
    room.write("j", good);
    begin(&room, 16);
    assert_eq!(room.json(&run)["next_tick"], 4);
}

#[test]
fn a_journal_among_the_releases_is_refused() {
    let room = room();
    let run = format!("window rows.csv --out out --journal out/j {SIZES} {PRIVACY}");
    room.refuses(&run, 2, &["--journal lies in the folder of the releases"]);
    assert!(!room.path("out/j").exists());
    let free = format!("{OUT} {SIZES} {PRIVACY} --insecure-test-noise 3 --ledger l");
    room.refuses(&free, 2, &["not private"]);
    room.refuses(&format!("{OUT} --window 15 --block 4 {PRIVACY}"), 2, &["block", "15"]);
    room.refuses(&format!("{OUT} {SIZES} --decay 0.5 {PRIVACY}"), 2, &["--decay", "no effect"]);
    room.refuses(&format!("{OUT} {PRIVACY}"), 2, &["--window is required"]);
}

/// The last release stays readable, and can be made again.
#[test]
fn a_stream_whose_horizon_is_reached_still_answers() {
    let room = room();
    let run = format!("{OUT} {SIZES} {PRIVACY} --schedule factorised --horizon 6");
    room.refuses(&run, 2, &["blocks", "[0, 6], the horizon"]);
    assert_eq!(files(&room, "out").len(), 6);
    begin(&room, 24);
    let newest = files(&room, "out").pop().expect("a release");
    std::fs::remove_dir_all(room.path("out")).expect("removed");
    assert_eq!(room.json(&run)["published_now"], 1);
    assert_eq!(files(&room, "out"), [newest]);
}
