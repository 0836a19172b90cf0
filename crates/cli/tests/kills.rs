//! Real processes, killed at any moment: a payment for every file, a file for every payment.
//!
//! `DPS_KILLS` (300) says how many releases are killed, `DPS_ROUNDS` (10) how many rounds of twenty processes run,
//! `DPS_DAY_KILLS` (20) how often a daily job is killed.
#![cfg(unix)]

use crate::guide;
use crate::support::{Room, csv, number, numbers, text};
use dp_core::ledger_file::BudgetFile;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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
    let limit = shown["limit_epsilon"].as_f64().expect("a number");
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

/// The script of the guide, ready to be run for a day.
fn job(room: &Room, day: &str) -> Command {
    let tools = Path::new(env!("CARGO_BIN_EXE_dps")).parent().expect("a folder").display();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("sh");
    command.args(["daily.sh", day]).current_dir(room.folder());
    command.env("PATH", format!("{tools}:{path}")).stdout(Stdio::null()).stderr(Stdio::null());
    // A group of its own: whatever the shell has started dies with it.
    command.process_group(0);
    command
}

/// Kills a job and all that it started.
fn kill_group(child: &Child) {
    let group = format!("-{}", child.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
}

/// Thirty files under one ledger, by the script of the guide, killed anywhere and started again.
#[test]
fn a_daily_job_pays_once_a_day_wherever_it_is_killed() {
    let guide = std::fs::read_to_string(guide::root().join("docs/guides/daily-job.md"));
    let blocks = guide::blocks(&guide.expect("a guide"), "sh");
    let script = blocks.iter().find(|b| b.starts_with("cat > daily.sh")).expect("a script");
    let body: Vec<&str> = script.lines().skip(1).take_while(|line| *line != "END").collect();

    let room = Room::new();
    room.write("daily.sh", body.join("\n") + "\n");
    room.json("ledger init days.ledger --data days --epsilon 40 --delta 1e-2 --adjacency attribute --beta 1");
    for folder in ["in", "out"] {
        std::fs::create_dir(room.path(folder)).expect("made");
    }
    let days: Vec<String> = (1..=30).map(|day| format!("2026-03-{day:02}")).collect();
    for (i, day) in days.iter().enumerate() {
        let rows = csv(&numbers(400 + 10 * i, 16), 16);
        let names = "id,label,".to_owned();
        let mut lines = rows.lines().enumerate();
        let head = names + lines.next().expect("a header").1 + "\n";
        let body: String = lines.map(|(at, line)| format!("{at},0,{line}\n")).collect();
        room.write(&format!("in/{day}.csv"), head + &body);
    }
    let published = |day: &String| room.path(&format!("out/{day}.dps")).exists();

    let length = || std::fs::metadata(room.path("days.ledger")).expect("a ledger").len();

    let start = Instant::now();
    assert!(job(&room, &days[0]).status().expect("runs").success());
    let whole = start.elapsed();
    let kills = count("DPS_DAY_KILLS", 20);
    let (mut state, mut killed, mut early, mut late, mut hidden) = (11, 0, 0, 0, 0);
    for (i, day) in days.iter().enumerate() {
        // A day has its share of what is left, also when it is published already: then the job is run once more.
        let share = (kills - killed).div_ceil(days.len() - i);
        let mut of_day = 0;
        while of_day < share {
            let (before, written) = (published(day), length());
            let mut child = job(&room, day).spawn().expect("starts");
            if !before && of_day % 2 == 0 {
                // As soon as the ledger is written: between payment and publication, or in the middle of a recovery.
                while length() == written && child.try_wait().expect("a process").is_none() {
                    std::thread::yield_now();
                }
            } else {
                std::thread::sleep(whole.mul_f64(coin(&mut state)));
            }
            kill_group(&child);
            if child.wait().expect("ends").success() {
                continue;
            }
            of_day += 1;
            *(if before { &mut late } else { &mut early }) += 1;
            hidden += usize::from(names(&room).iter().any(|name| name.starts_with('.')));
            let file = BudgetFile::read(&room.path("days.ledger")).expect("a valid ledger");
            assert!(readable(&room) <= file.ledger().entries().len(), "{day}");
        }
        killed += of_day;
        // Cron comes back: one run that nobody kills is enough.
        let ended = job(&room, day).status().expect("runs");
        assert!(ended.success() && published(day), "{day}: {ended}");
    }
    assert_eq!(killed, kills);
    eprintln!(
        "{killed} kills: {early} before the day was published, {late} after; {hidden} left a hidden file"
    );

    let mut names = names(&room);
    names.sort();
    let expected: Vec<String> = days.iter().map(|day| format!("{day}.dps")).collect();
    assert_eq!(names, expected);
    let shown = room.json("ledger show days.ledger");
    let entries = shown["entries"].as_array().expect("entries");
    assert_eq!(entries.len(), days.len());
    let [mut epsilon, mut delta] = [0.0, 0.0];
    for day in &days {
        let file = format!("out/{day}.dps");
        let verified = room.json(&format!("verify {file}"));
        epsilon += number(&verified, "epsilon");
        delta += number(&verified, "delta");
        let digest = room.json(&format!("inspect {file}"))["digest"].clone();
        let paid = entries.iter().filter(|entry| entry["certificate"] == digest);
        let paid: Vec<&str> = paid.map(|entry| entry["state"].as_str().expect("text")).collect();
        assert_eq!(paid, ["paid"], "{day}");
    }
    let spent = |what: &str, sum: f64| (number(&shown, what) / sum - 1.0).abs() < 1e-12;
    assert!(spent("spent_epsilon", epsilon) && spent("spent_delta", delta), "{shown}");
}
