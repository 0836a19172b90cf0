//! Whole rows: what can be found is said, and users with several rows.

use crate::support::{Room, csv, number, numbers};
use serde_json::Value;

fn room() -> Room {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(80, 12), 12));
    room
}

/// Whole rows at a small epsilon: the plan and both kinds of releases say that nothing can be found, and at which epsilon
/// something would be; at that epsilon none of them says so of exact queries.
#[test]
fn releases_in_which_nothing_can_be_found_say_so() {
    let room = room();
    let note = |value: &Value| value["note"].as_str().map(str::to_owned);
    let whole = "--adjacency replace-row --norm-bound 1000";
    let makes = |name: &str, epsilon: &str, more: &str| {
        room.json(&format!(
            "release {name} users.csv --out x.dps --force -k 4 {whole} --epsilon {epsilon} {more}"
        ))
    };
    for dry in ["", "--dry-run"] {
        for (name, more) in [("units", "--delta 0"), ("sketch", "--bound 100 --delta 1e-6")] {
            let said = note(&makes(name, "3", &format!("{more} {dry}"))).expect("a note");
            assert!(said.contains("nothing can be found in a search of 80 rows"), "{said}");
        }
    }
    let needed = |said: &str| -> f64 {
        let (_, rest) = said.split_once("; epsilon ").expect("an epsilon");
        rest.split(' ').next().expect("a word").parse().expect("a number")
    };
    let said = note(&makes("units", "3", "--delta 0")).expect("a note");
    let epsilon = needed(&said) + 0.1;
    let better = note(&makes("units", &epsilon.to_string(), "--delta 0"));
    assert!(!better.unwrap_or_default().contains("nothing can be found"), "{said}");
    // Before anything is spent, for files that cannot be read twice too.
    let run = room.run(&format!(
        "release units users.csv --out x.dps --force -k 4 {whole} --epsilon 3 --delta 0"
    ));
    assert!(String::from_utf8_lossy(&run.stderr).contains("warning: nothing can be found"));
    let plan = |epsilon: f64| {
        room.json(&format!("plan search --rows 8000 --features 384 --epsilon {epsilon}"))
    };
    let poor = plan(4.0);
    let said = note(&poor).expect("a note");
    let epsilon = needed(&said) + 0.1;
    assert!(epsilon > 4.0 && note(&plan(epsilon)).is_none_or(|n| !n.contains("exact")), "{said}");
    let rich = plan(50.0);
    assert!(note(&rich).is_none(), "{rich}");
    room.refuses("plan search --rows 5 --features 9 --epsilon 4", 2, &["returned"]);
    room.refuses("plan search --rows 50 --features 9 --epsilon 65", 2, &["epsilon"]);
}

/// A unit of several rows from the file to the ledger: rows beyond the number are left out, their count is said on standard error
/// and nowhere in the release, noise grows as it must, and nothing passes that does not hold.
#[test]
fn users_with_several_rows_are_the_unit() {
    let room = room();
    let values = numbers(90, 3);
    let line = |i: usize| {
        let x = &values[3 * i..3 * i + 3];
        format!("{},u{},{},{}\n", x[0], i % 25, x[1], x[2])
    };
    let all: String = (0..90).map(line).collect();
    room.write("visits.csv", format!("a,who,b,c\n{all}"));
    let of = "--user who --rows-a-user 3";
    let whole = "--adjacency replace-row --norm-bound 10";
    room.json(&format!(
        "ledger init users.ledger --data visits --epsilon 100 --delta 1e-5 {whole} --rows-a-user 3"
    ));
    let state = room.json("ledger show users.ledger");
    assert!(
        state["adjacency"].as_str().expect("text").contains("up to 3 times for one user"),
        "{state}"
    );
    let released = |kind: &str, more: &str| {
        room.json(&format!("release {kind} visits.csv --force -k 2 --seed 1 {whole} {more}"))
    };
    let gauss = "--noise gaussian --epsilon 8 --delta 1e-6 --bound 10";
    let one = released("sketch", &format!("--out one.dps --id who {gauss}"));
    let made = released("sketch", &format!("--out s.dps {of} {gauss} --ledger users.ledger"));
    // 25 users, of whom 15 have four rows and ten have three.
    assert_eq!((one["n"].as_u64(), made["n"].as_u64()), (Some(90), Some(75)));
    let ratio = number(&made, "sigma") / number(&one, "sigma");
    assert!((ratio - 3f64.sqrt()).abs() < 1e-4, "{ratio}");
    assert!(made["adjacency"].as_str().expect("text").contains("up to 3 times for one user"));
    assert!(!made.to_string().contains("left out"), "{made}");
    let units = released(
        "units",
        &format!("--out u.dps {of} --epsilon 30 --delta 0 --ledger users.ledger"),
    );
    assert_eq!(units["n"].as_u64(), Some(75));
    let ten = released("units", "--out t.dps --id who --epsilon 10 --delta 0");
    let error = |made: &Value| number(made, "standard_error_of_a_cosine");
    assert!((error(&units) / error(&ten) - 1.0).abs() < 1e-6, "three times the price");
    for file in ["s.dps", "u.dps"] {
        let verified = room.json(&format!("verify {file}"));
        assert_eq!(verified["verdict"], "holds together", "{verified}");
        room.json(&format!("verify {file} --require adjacency=user,rows>=3"));
        room.refuses(&format!("verify {file} --require rows>=4"), 1, &["rows"]);
        room.json(&format!("search {file} --row 0 --top 3"));
    }
    let run = room.run(&format!(
        "release units visits.csv --out v.dps -k 2 {whole} {of} --epsilon 30 --delta 0"
    ));
    assert!(String::from_utf8_lossy(&run.stderr).contains("15 rows of users"), "{run:?}");
    assert!(!String::from_utf8_lossy(&run.stdout).contains("15 rows"));
    // One row of a user costs a user's ledger as much as all of them may: three times epsilon.
    room.json("ledger record users.ledger t.dps");
    for (command, code, what) in [
        (
            "release units visits.csv --out refused.dps -k 2 --adjacency any-input --epsilon 9 --delta 0 --user who",
            2,
            "rows-a-user",
        ),
        (
            "release units visits.csv --out refused.dps -k 2 --adjacency any-input --epsilon 9 --delta 0 --user nobody --rows-a-user 2",
            2,
            "no column",
        ),
        (
            "release units visits.csv --out refused.dps -k 2 --adjacency any-input --epsilon 9 --delta 0 --user who --rows-a-user 0",
            2,
            "rows",
        ),
        (
            "release sketch visits.csv --out refused.dps -k 2 --adjacency attribute --beta 1 --bound 10 --noise staircase --epsilon 2 --delta 0 --user who --rows-a-user 2",
            2,
            "adjacency",
        ),
        (
            "release sketch visits.csv --out refused.dps -k 2 --calibration averaged --adjacency row-shift --shift 1 --bound 10 --epsilon 2 --delta 1e-6 --user who --rows-a-user 2",
            2,
            "adjacency",
        ),
        (
            "release units visits.csv --out refused.dps -k 2 --adjacency any-input --epsilon 9 --delta 0 --user who --rows-a-user 2 --ledger users.json --disjoint-part regions/a --disjoint-by row",
            2,
            "--disjoint-by unit",
        ),
        (
            "release sketch visits.csv --out refused.dps -k 2 --adjacency attribute --beta 1 --bound 10 --epsilon 2 --delta 1e-6 --user who --rows-a-user 2 --ledger users.json --disjoint-part regions/a --disjoint-by content",
            2,
            "--disjoint-by unit",
        ),
        (
            "release covariance visits.csv --out refused.dps --adjacency zero-row --norm-bound 9 --epsilon 2 --delta 1e-6 --user who --rows-a-user 2",
            2,
            "--user",
        ),
    ] {
        room.refuses(command, code, &[what]);
    }
}
