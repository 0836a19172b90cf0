//! `dps window`, killed at any moment and started again: what was published stays as it is, every node of the tree has one
//! noise, every row is in one block, the ledger pays once.
//!
//! `DPS_WINDOW_KILLS` (10) says how often.
#![cfg(unix)]

use crate::support::{Room, text};
use dp_core::Certificate;
use dp_core::ledger_file::BudgetFile;
use dp_core::release_file;
use linalg_dp::window::WindowCovariance;
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Instant;

const TICKS: usize = 60;
const BLOCK: usize = 2;
const WINDOW: usize = 8;

/// Tiny noise, so that the sums show which rows are in them: the budget is no budget.
const RUN: &str = "window rows.csv --out out --journal j --ledger l --window 16 --block 2 --schedule tree \
    --adjacency zero-row --norm-bound 1 --epsilon 100000 --delta 1e-3";

/// A number different every time, between 0 and 1.
fn coin(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1u64 << 53) as f64
}

/// Of row t: no two blocks have the same sum, nor have sums of eight of them that follow each other.
fn value(t: usize) -> f64 {
    0.6 + 0.35 * ((t * 7919) % 1009) as f64 / 1009.0
}

fn room() -> Room {
    let room = Room::new();
    let rows: String = (0..TICKS * BLOCK).map(|t| format!("{},0.25\n", value(t))).collect();
    room.write("rows.csv", format!("x,y\n{rows}"));
    room.json(
        "ledger init l --data rows --epsilon 100001 --delta 1e-2 --adjacency zero-row --norm-bound 1",
    );
    room
}

type Files = BTreeMap<String, Vec<u8>>;

/// Releases that others can read. Of a payment that was interrupted there may be a hidden file of its owner's.
fn published(room: &Room) -> Files {
    let Ok(files) = std::fs::read_dir(room.path("out")) else { return Files::new() };
    let mut found = Files::new();
    for file in files.map(|file| file.expect("a file")) {
        let name = file.file_name().to_string_lossy().into_owned();
        let mode = file.metadata().expect("known").permissions().mode();
        if name.starts_with("tick-") {
            found.insert(name, std::fs::read(file.path()).expect("read"));
        } else {
            assert!(name.starts_with(".dps-") && mode & 0o077 == 0, "{name} can be read");
        }
    }
    found
}

/// The private nodes in the journal, by level and index, and how many blocks closed.
fn nodes(room: &Room) -> (BTreeMap<(u64, u64), Vec<u64>>, u64) {
    let Ok(journal) = std::fs::read(room.path("j")) else { return (BTreeMap::new(), 0) };
    let journal: Value = serde_json::from_slice(&journal[40..]).expect("JSON");
    let list = journal["state"]["tree"]["nodes"].as_array().expect("nodes").clone();
    let nodes = list.iter().map(|node| {
        let at = |name: &str| node[name].as_u64().expect("a number");
        let values = node["values"].as_array().expect("numbers");
        let bits = values.iter().map(|v| v.as_f64().expect("a number").to_bits()).collect();
        ((at("level"), at("index")), bits)
    });
    (nodes.collect(), journal["blocks_closed"].as_u64().expect("a number"))
}

#[test]
fn kills_at_random_moments_draw_no_noise_twice() {
    let kills = std::env::var("DPS_WINDOW_KILLS").ok().and_then(|text| text.parse().ok());
    let kills: usize = kills.unwrap_or(10);
    let whole = {
        let room = room();
        let start = Instant::now();
        let ended = room.run(RUN);
        assert!(ended.status.success(), "{}", text(&ended));
        start.elapsed()
    };
    let (mut state, mut killed, mut rounds) = (11, 0, 0);
    while killed < kills {
        rounds += 1;
        let room = room();
        let (mut seen, mut drawn) = (Files::new(), BTreeMap::new());
        loop {
            let mut child = room.command(RUN);
            let mut child =
                child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("starts");
            if killed < kills {
                // Some at the very beginning, where the ledger pays.
                let share = if killed % 3 == 0 { 0.1 } else { 0.6 };
                std::thread::sleep(whole.mul_f64(share * coin(&mut state)));
                child.kill().expect("killed");
            }
            let ended = child.wait_with_output().expect("ends");
            // A kill, or success: never a refusal.
            assert!(ended.status.code().is_none_or(|code| code == 0), "{}", text(&ended));
            killed += usize::from(ended.status.code().is_none());
            let now = published(&room);
            for (name, bytes) in &seen {
                assert!(now.get(name) == Some(bytes), "{name} changed");
            }
            let (found, closed) = nodes(&room);
            assert!(now.len() as u64 <= closed, "a tick is published before its noise is kept");
            assert!(
                now.len() as u64 + 1 >= closed,
                "a tick closed before the one before was published"
            );
            for (node, values) in found {
                let first = drawn.entry(node).or_insert_with(|| values.clone());
                assert!(*first == values, "node {node:?} was drawn twice");
            }
            let ledger = BudgetFile::read(&room.path("l")).expect("a valid ledger");
            let paid = ledger.ledger().entries().len();
            assert!(paid <= 1 && (now.is_empty() || paid == 1), "{paid} payments");
            seen = now;
            if ended.status.success() {
                break;
            }
        }
        check(&room, &seen);
    }
    assert!(killed >= kills && rounds > 0, "{killed} of {kills} killed");
}

/// All ticks are there, each with the rows of its window, once; nothing else is left.
fn check(room: &Room, files: &Files) {
    let names: Vec<String> = (0..TICKS).map(|tick| format!("tick-{tick:08}.dps")).collect();
    assert!(files.keys().eq(names.iter()), "{:?}", files.keys());
    let all = std::fs::read_dir(room.path("out")).expect("a folder").count();
    assert_eq!(all, TICKS, "an orphan");
    for (tick, bytes) in files.values().enumerate() {
        let release = release_file::decode::<WindowCovariance, Certificate>(bytes).expect("whole");
        let window = release.payload();
        let (first, end) = ((tick + 1).saturating_sub(WINDOW) * BLOCK, (tick + 1) * BLOCK);
        assert_eq!((window.span().first_row, window.span().end_row), (first as u64, end as u64));
        let exact: f64 = (first..end).map(|t| value(t).powi(2)).sum();
        let found = window.covariance().unbiased()[(0, 0)];
        let sd = window.directional_sd().expect("known");
        // Eight standard deviations: 1e-15 a tick. A block more or less moves the sum by 0.7 and more.
        assert!(8.0 * sd < 0.25, "{sd}");
        assert!((found - exact).abs() < 8.0 * sd, "tick {tick}: {found} for {exact}");
    }
    let beside: Vec<String> = std::fs::read_dir(room.folder())
        .expect("a folder")
        .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains("partial"))
        .collect();
    assert!(beside.is_empty(), "{beside:?}");
    assert_eq!(room.json("ledger show l")["releases"], 1);
}
