//! Real processes, killed at any moment: a payment for every file, a file for every payment.
//!
//! `DPS_KILLS` (300) says how many releases are killed, `DPS_ROUNDS` (10) how many rounds of twenty processes run.
#![cfg(unix)]

mod support;

use dp_core::ledger_file::BudgetFile;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::{Room, csv, numbers, text};

fn count(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn room(limit: f64) -> Room {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(1_500, 16), 16));
    room.json(&format!(
        "ledger init l.json --data users --epsilon {limit} --delta 1e-1 --adjacency attribute --beta 1"
    ));
    std::fs::create_dir(room.path("out")).expect("made");
    room
}

fn release(room: &Room, name: &str) -> Command {
    let mut command = room.command(&format!(
        "release sketch users.csv --out out/{name}.dps -k 8 --bound 1 --epsilon 0.4 --delta 1e-6 \
         --adjacency attribute --beta 1 --ledger l.json"
    ));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn names(room: &Room) -> Vec<String> {
    let files = std::fs::read_dir(room.path("out")).expect("a folder");
    files.map(|file| file.expect("a name").file_name().to_string_lossy().into_owned()).collect()
}

fn paid(room: &Room) -> usize {
    let file = BudgetFile::read(&room.path("l.json")).expect("a valid ledger");
    file.ledger().entries().len()
}

/// Files that others can read.
fn readable(room: &Room) -> usize {
    let mode = |name: &String| {
        let path = room.path("out").join(name);
        std::fs::metadata(path).map_or(0, |file| file.permissions().mode())
    };
    names(room).iter().filter(|name| mode(name) & 0o077 != 0).count()
}

/// After the next command there are as many releases as payments, whole, and nothing else.
fn check_after(room: &Room) -> usize {
    let shown = room.json("ledger show l.json");
    let names = names(room);
    assert!(names.iter().all(|name| name.ends_with(".dps") && !name.starts_with('.')), "{names:?}");
    assert_eq!(shown["releases"], names.len());
    assert_eq!(paid(room), names.len());
    let limit = shown["limit epsilon"].as_f64().expect("a number");
    assert!(0.4 * names.len() as f64 <= limit * (1.0 + 1e-9));
    names.len()
}

fn wait(mut child: Child) {
    child.wait().expect("ends");
}

/// A different number every time, between 0 and 1.
fn coin(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1u64 << 53) as f64
}

#[test]
fn kills_at_random_moments_lose_nothing() {
    let room = room(4000.0);
    let start = Instant::now();
    let ended = release(&room, "whole").output().expect("runs");
    assert!(ended.status.success(), "{}", text(&ended));
    let whole = start.elapsed();
    let (mut state, mut killed, mut open) = (7, 0, 0);
    for i in 0..count("DPS_KILLS", 300) {
        let before = paid(&room);
        let mut child = release(&room, &format!("r{i}")).spawn().expect("starts");
        // Half of them near the end, where the ledger is written.
        let moment = if i % 2 == 0 { coin(&mut state) } else { 0.6 + 0.5 * coin(&mut state) };
        std::thread::sleep(whole.mul_f64(moment));
        child.kill().expect("killed");
        killed += usize::from(!child.wait().expect("ends").success());
        assert!(readable(&room) <= paid(&room), "run {i}");
        open += usize::from(paid(&room) > before);
        check_after(&room);
    }
    assert!(killed > 0, "{killed} killed, {open} after they had paid");
    let names = names(&room);
    for name in names.iter().take(20) {
        room.json(&format!("verify out/{name}"));
    }
}

#[test]
fn twenty_at_once_keep_the_limit() {
    for round in 0..count("DPS_ROUNDS", 10) {
        // Room for twelve of twenty.
        let room = room(4.8);
        let mut state = round as u64 + 1;
        let mut children: Vec<Child> =
            (0..20).map(|i| release(&room, &format!("r{i}")).spawn().expect("starts")).collect();
        for child in children.iter_mut().step_by(3) {
            std::thread::sleep(Duration::from_secs_f64(0.12 * coin(&mut state)));
            child.kill().expect("killed");
            assert!(readable(&room) <= paid(&room), "round {round}");
        }
        children.into_iter().for_each(wait);
        let released = check_after(&room);
        assert!(released <= 12, "{released}");
        // What is left can be spent by those that come after.
        (0..13).for_each(|i| wait(release(&room, &format!("s{i}")).spawn().expect("starts")));
        assert_eq!(check_after(&room), 12);
    }
}
