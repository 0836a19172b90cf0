//! `--disjoint-part`: releases of disjoint parts of the rows cost what the worst part costs.

use crate::support::{Room, csv, number, numbers, text};

const LEDGER: &str =
    "ledger init l --data rows --epsilon 2 --delta 1e-6 --adjacency attribute --beta 1";
const PRIVACY: &str =
    "--adjacency attribute --beta 1 --bound 1 --epsilon 1 --delta 0 --noise laplace --seed 3 -k 2";

fn room(init: &str) -> Room {
    let room = Room::new();
    for (i, region) in ["north", "south", "west"].iter().enumerate() {
        let values = numbers(8 * (i + 1), 3);
        room.write(&format!("{region}.csv"), csv(&values, 3));
    }
    room.json(init);
    room
}

fn release(region: &str, out: &str, rest: &str) -> String {
    format!("release sketch {region}.csv {PRIVACY} --out {out} --ledger l {rest}")
}

fn of(region: &str) -> String {
    format!("--disjoint-part regions/{region} --disjoint-by row")
}

#[test]
fn a_file_a_region_costs_one_region() {
    let room = room(LEDGER);
    for region in ["north", "south", "west"] {
        room.json(&release(region, &format!("{region}.dps"), &format!("{} --dry-run", of(region))));
        room.json(&release(region, &format!("{region}.dps"), &of(region)));
    }
    let shown = room.json("ledger show l --more");
    assert_eq!((number(&shown, "spent_epsilon"), number(&shown, "left_epsilon")), (1.0, 1.0));
    assert!(
        shown["parts"].as_str().is_some_and(|said| said.contains("declared, and nobody checked"))
    );
    let part = shown["entries"][1]["part"].as_str().expect("a part");
    assert!(part.contains("\"south\" of \"regions\"") && part.contains("as declared"), "{part}");
    // Like the last: one more of west.
    assert_eq!(number(&shown, "more_that_fit"), 1.0);
    // The same part again adds up; then nothing of it, and nothing of all rows, has room.
    room.json(&release("south", "again.dps", &of("south")));
    assert_eq!(number(&room.json("ledger show l"), "spent_epsilon"), 2.0);
    room.refuses(&release("south", "refused.dps", &of("south")), 1, &["limit"]);
    room.refuses(&release("south", "refused.dps", ""), 1, &["limit"]);
    // Another partition is no part of this one, and the other regions have room yet.
    let years = "--disjoint-part years/2025 --disjoint-by row";
    room.refuses(&release("north", "refused.dps", years), 1, &["limit"]);
    room.json(&release("north", "north-again.dps", &of("north")));
    assert_eq!(number(&room.json("ledger show l"), "spent_epsilon"), 2.0);
    assert!(room.run("verify south.dps").status.success());
}

#[test]
fn releases_made_elsewhere_enter_with_their_part() {
    let room = room(LEDGER);
    for region in ["north", "south"] {
        let made = room.run(&format!("release sketch {region}.csv {PRIVACY} --out {region}.dps"));
        assert!(made.status.success(), "{}", text(&made));
    }
    room.json(&format!("ledger spend l north.dps {}", of("north")));
    room.json(&format!("ledger record l south.dps {}", of("south")));
    assert_eq!(number(&room.json("ledger show l"), "spent_epsilon"), 1.0);
    // What is appended to it is of the same part, and says so.
    room.json(&format!("append north.dps south.csv --out more.dps --ledger l {}", of("north")));
    assert_eq!(number(&room.json("ledger show l"), "spent_epsilon"), 2.0);
    let composed = room.json("ledger export l");
    assert!(
        composed["reason"].as_str().is_some_and(|reason| reason.contains("2 runs")),
        "{composed}"
    );
}

#[test]
fn parts_that_a_unit_may_straddle_count_as_often() {
    let of =
        |region: &str, by: &str| format!("--disjoint-part regions/{region} --disjoint-by {by}");
    // What a row says may move it, and how many rows a part has is told.
    let first = room(LEDGER);
    let refused = release("north", "refused.dps", &of("north", "content"));
    first.refuses(&refused, 2, &["by content", "no noise hides", "added or removed"]);
    assert!(!first.path("refused.dps").exists());
    // A user's two rows may be in two regions; by the user they are in one.
    for (by, spent) in [("row", 4.0), ("unit", 2.0)] {
        let users =
            room(&format!("{LEDGER} --rows-a-user 2").replace("--epsilon 2", "--epsilon 9"));
        for region in ["north", "south", "west"] {
            users.json(&release(region, &format!("{region}.dps"), &of(region, by)));
        }
        let found = number(&users.json("ledger show l"), "spent_epsilon");
        assert!((found - spent).abs() < 1e-9, "{by}: {found}");
    }
}

#[test]
fn what_is_no_part_is_refused_and_costs_nothing() {
    let room = room(LEDGER);
    for (rest, words) in [
        ("--disjoint-part north --disjoint-by row", ["--disjoint-part", "regions/north"]),
        ("--disjoint-part regions/North --disjoint-by row", ["\"North\"", "a-z"]),
        ("--disjoint-part regions/north/1 --disjoint-by row", ["north/1", "a-z"]),
        ("--disjoint-part regions/north", ["--disjoint-by", "required"]),
        ("--disjoint-by row", ["--disjoint-part", "required"]),
    ] {
        room.refuses(&release("north", "refused.dps", rest), 2, &words);
    }
    let without = format!("release sketch north.csv {PRIVACY} --out refused.dps {}", of("north"));
    room.refuses(&without, 2, &["--disjoint-part", "ledger"]);
    assert_eq!(number(&room.json("ledger show l"), "spent_epsilon"), 0.0);
}
