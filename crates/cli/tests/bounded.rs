//! Bounded values from the release to the search.

use crate::support::{Room, text};

const ATTRIBUTE: &str = "--adjacency attribute --beta 1 --delta 0";

/// Forty rows of sixteen values; two of each kind are alike.
fn room() -> Room {
    let room = Room::new();
    let value = |i: usize, j: usize| if (i / 2 + j).is_multiple_of(5) { "0.9" } else { "0.1" };
    let line = |i: usize| (0..16).map(|j| value(i, j)).collect::<Vec<_>>().join(",") + "\n";
    let header = (0..16).map(|j| format!("c{j}")).collect::<Vec<_>>().join(",");
    room.write("rows.csv", header + "\n" + &(0..40).map(line).collect::<String>());
    room
}

#[test]
fn bounded_values_are_released_asked_and_verified() {
    let room = room();
    let release = format!("release bounded rows.csv --low 0 --high 1 {ATTRIBUTE}");
    let dry = room.json(&format!("{release} --epsilon 12 --out dry.dps --dry-run"));
    let made = room.json(&format!("{release} --epsilon 12 --out a.dps"));
    assert_eq!(made["mechanism"], "bounded-values");
    assert!(made["predicted_error"].as_f64().is_some_and(|error| error < 0.02));
    assert_eq!(made["predicted_error"], dry["predicted_error"]);
    for run in ["verify a.dps", "inspect a.dps", "explain a.dps", "export a.dps --out a.csv"] {
        room.json(run);
    }
    let told = room.json("distance a.dps 0 1");
    let estimates = told["estimates"].as_array().expect("estimates");
    assert_eq!(estimates.len(), 2);
    // Rows 0 and 1 are equal.
    assert_eq!(estimates[0]["measure"], "squared distance");
    assert!(estimates[0]["low"].as_f64().is_some_and(|low| low <= 0.0), "{told}");
    room.json(&format!("{release} --epsilon 12 --out b.dps"));
    for ask in ["--row 0,7", "--row 0,7 --queries b.dps", "--row 0,7 --query rows.csv"] {
        for how in ["", "--denoise", "--score inner"] {
            let hits = room.json(&format!("search a.dps {ask} --top 9 {how}"));
            let hits = hits["hits"].as_array().expect("rows").clone();
            for (query, twin) in [(0, 1), (7, 6)] {
                let of = hits.iter().filter(|hit| hit["query"] == query);
                // Every tenth kind is the same.
                assert!(of.clone().any(|hit| hit["row"] == twin), "{ask} {how}: {hits:?}");
            }
        }
    }
    let added = room.json("append a.dps rows.csv --out more.dps");
    assert_eq!(added["mechanism"], "bounded-values");
    room.json("search a.dps more.dps --row 3 --top 2");
    room.json(&format!("{release} --epsilon 12 --one-bit --out bits.dps"));
    room.json("append bits.dps rows.csv --out bits2.dps");
    room.json("search bits.dps bits2.dps --row 3 --top 2");
    room.refuses("search a.dps --queries bits.dps", 1, &["offsets"]);
    room.refuses("search a.dps --score squared-distance", 1, &["squared distance"]);
    room.refuses("distance a.dps 0 1 --measure cosine", 2, &["cosine"]);
}

#[test]
fn what_no_range_covers_is_refused_and_leaves_no_file() {
    let room = room();
    let refused = |options: &str, code: i32, words: &[&str]| {
        let run = format!("release bounded rows.csv --out refused.dps {options}");
        room.refuses(&run, code, words);
        assert!(!room.path("refused.dps").exists());
    };
    let range = "--low 0 --high 1";
    refused(&format!("{range} {ATTRIBUTE} --epsilon 100"), 2, &["2^-10"]);
    refused(&format!("--low 0 --high 2 {ATTRIBUTE} --epsilon 1"), 2, &["beta"]);
    refused(&format!("--low 1 --high 0 {ATTRIBUTE} --epsilon 1"), 2, &["range"]);
    refused(&format!("--low 0 --high nan {ATTRIBUTE} --epsilon 1"), 2, &["range"]);
    refused(&format!("{ATTRIBUTE} --epsilon 1"), 2, &["--low"]);
    refused(
        &format!("{range} --adjacency any-input --delta 0 --epsilon 1"),
        2,
        &["bounded values"],
    );
    // Values of .9 lie outside: nothing of them is said, and which row it is to the terminal alone.
    let outside = format!("--low 0 --high 0.5 {ATTRIBUTE} --epsilon 1");
    refused(&outside, 4, &["column 1:", "[0, 0.5]", "--clip-range", "record 1 of"]);
    silent(&room, &format!("release bounded rows.csv --out refused.dps {outside}"));
    room.json(&format!(
        "release bounded rows.csv --low 0.2 --high 0.5 --clip-range {ATTRIBUTE} --epsilon 1 --out clipped.dps"
    ));
}

/// JSON says neither the row nor a value.
fn silent(room: &Room, run: &str) {
    let output = room.run(&format!("{run} --json"));
    let all = text(&output);
    assert_eq!(output.status.code(), Some(4), "{all}");
    assert!(!["record", "row 0", "row 1"].iter().any(|word| all.contains(word)), "{all}");
}

#[test]
fn shares_of_categories_are_released_and_told() {
    let room = Room::new();
    let line = |i: usize| format!("{},{}\n", i % 4, usize::from(i.is_multiple_of(3)));
    room.write("rows.csv", "a,b\n".to_owned() + &(0..1200).map(line).collect::<String>());
    let release = "release bounded rows.csv --categories 4 --adjacency attribute --beta 3 --delta 0 --epsilon 4";
    let made = room.json(&format!("{release} --out a.dps"));
    assert_eq!(made["mechanism"], "bounded-values");
    for run in ["verify a.dps", "inspect a.dps", "explain a.dps"] {
        room.json(run);
    }
    let told = room.json("moments a.dps --failure 1e-6");
    let shares = told["shares"].as_array().expect("shares");
    assert_eq!((shares.len(), told["rows"].as_u64()), (8, Some(1200)));
    for share in shares {
        let (column, category) =
            (&share["column"], share["category"].as_u64().expect("a category"));
        let truth = match (column.as_u64(), category) {
            (Some(1), _) => 0.25,
            (_, 0) => 2.0 / 3.0,
            (_, 1) => 1.0 / 3.0,
            _ => 0.0,
        };
        let [low, high] =
            ["share_at_least", "share_at_most"].map(|end| share[end].as_f64().expect("an end"));
        assert!(low <= truth && truth <= high && high - low < 0.2, "{share}");
    }
    assert!(told["intervals_are_for"].as_str().expect("said").starts_with("the rows that entered"));
    // Two categories have the shape of one bit: what is no category is appended to bits alone.
    room.write("bits.csv", "a,b\n1,0\n0,1\n");
    room.write("coins.csv", "a,b\n1,0\n0.5,1\n");
    let two = "release bounded bits.csv --adjacency attribute --beta 1 --delta 0 --epsilon 1";
    room.json(&format!("{two} --categories 2 --out two.dps"));
    room.json(&format!("{two} --low 0 --high 1 --one-bit --out one.dps"));
    room.refuses("append two.dps coins.csv --out coins.dps", 4, &["whole number"]);
    room.json("append one.dps coins.csv --out coins.dps");
    let bits = room.json("moments one.dps");
    assert!(bits["intervals_are_for"].as_str().expect("said").contains("rounded"));
    let added = room.json("append a.dps rows.csv --out more.dps");
    assert_eq!(added["mechanism"], "bounded-values");
    assert_eq!(room.json("moments more.dps")["shares"].as_array().map(Vec::len), Some(8));
    // Nothing that is no category, and no shares of other cells.
    room.refuses("release bounded rows.csv --categories 3 --adjacency attribute --beta 3 --delta 0 --epsilon 4 --out b.dps", 4, &["outside"]);
    room.write("halves.csv", "a,b\n1,0\n2,0.5\n");
    let halves = release.replace("rows.csv", "halves.csv") + " --out b.dps";
    room.refuses(&halves, 4, &["halves.csv: column 2:", "whole number", "record 2 of"]);
    silent(&room, &halves);
    room.refuses(&format!("{release} --low 0 --out b.dps"), 2, &["--low"]);
    room.refuses("release bounded rows.csv --categories 1 --adjacency attribute --beta 3 --delta 0 --epsilon 4 --out b.dps", 2, &["categories"]);
    room.refuses("moments a.dps --correlations c.csv", 2, &["means"]);
    room.json("release bounded rows.csv --low 0 --high 3 --adjacency attribute --beta 3 --delta 0 --epsilon 4 --out cells.dps");
    room.refuses("moments cells.dps", 2, &["offsets"]);
    assert!(!room.path("b.dps").exists());
}
