//! `--preprocess`: what becomes of values before anything else, and who has to know.

use crate::support::{Room, signed_again, text};
use serde_json::Value;

const RAW: &str =
    "id,age,income,score\nu1,30,1000,0.5\nu2,,2500,NaN\nu3,150,-0.0,-0.25\nu4,60,500,1\n";
/// What the map below makes of it, by hand: (x - 60) / 64 of ages within [0, 124], 44 where missing; incomes within [0, 2000] over
/// 4096; scores as they stand, 0.125 where missing.
const MAPPED: &str = "id,age,income,score\nu1,-0.46875,0.244140625,0.5\nu2,-0.25,0.48828125,0.125\nu3,1,0,-0.25\nu4,0,0.1220703125,1\n";
const MAP: &str = "[default]\nmissing = 0.125\n[columns.income]\nlow = 0\nhigh = 2000\nscale = 0.000244140625\n\
    [columns.age]\nmissing = 44\nlow = 0\nhigh = 124\nshift = 60\nscale = 0.015625\n";
const ATTRIBUTE: &str = "--adjacency attribute --beta 1 --bound 1 --epsilon 1 --delta 1e-6";
const ROWS: &str = "--adjacency replace-row --norm-bound 3 --epsilon 1 --delta 1e-6";

fn room() -> Room {
    let room = Room::new();
    room.write("raw.csv", RAW);
    room.write("mapped.csv", MAPPED);
    room.write("map.toml", MAP);
    room
}

fn kinds() -> Vec<String> {
    vec![
        format!("sketch -k 2 --seed 3 {ATTRIBUTE}"),
        format!("sketch -k 2 --seed 3 --store compact --noise gaussian {ATTRIBUTE}"),
        format!("signs -k 2 --seed 3 {ATTRIBUTE}"),
        "units -k 2 --seed 3 --adjacency any-input --epsilon 4 --delta 0".to_owned(),
        format!("covariance {ROWS}"),
        format!("covariance --means --keep-names {ROWS}"),
        format!("regression --target score --label-bound 1 {ROWS}"),
    ]
}

fn public(room: &Room, file: &str) -> Value {
    room.json(&format!("inspect {file}"))["public"].clone()
}

#[test]
fn a_release_of_mapped_values_is_that_of_a_file_of_them() {
    let room = room();
    for kind in kinds() {
        for columns in ["--id id", "--columns 3-,2", "--columns age,score", "--columns 4,2"] {
            if columns.contains("age,score") || columns.contains("4,2") {
                // A table for a column that does not enter maps nothing.
                let words = ["columns.\"income\"", "no column that enters"];
                let made = format!(
                    "release {kind} raw.csv {columns} --preprocess map.toml --out refused.dps"
                );
                room.refuses(&made, 2, &words);
                continue;
            }
            let made = |from: &str, out: &str| {
                let noise = "--insecure-test-noise 7 --force";
                let output =
                    room.run(&format!("release {kind} {from} {columns} --out {out} {noise}"));
                assert!(output.status.success(), "{kind}: {}", text(&output));
            };
            made("raw.csv --preprocess map.toml", "a.dps");
            made("mapped.csv", "b.dps");
            let payload = |file: &str| room.json(&format!("inspect {file}"))["payload"].clone();
            assert!(payload("a.dps").is_string());
            assert_eq!(payload("a.dps"), payload("b.dps"), "{kind} {columns}");
            let stated =
                public(&room, "a.dps")["preprocessing"].as_str().expect("a text").to_owned();
            let stated: Value = serde_json::from_str(&stated).expect("JSON");
            assert_eq!((&stated["d"], &stated["columns"][0]["name"]), (&3.into(), &"age".into()));
            assert_eq!(
                (&stated["columns"][1]["at"], &stated["columns"][1]["name"]),
                (&2.into(), &"income".into())
            );
            assert!(public(&room, "b.dps").get("preprocessing").is_none());
            let verified = room.run("verify a.dps --accept test-noise");
            assert!(
                text(&verified).contains("(column 1): missing is 44.0, moved to [0.0, 124.0]"),
                "{}",
                text(&verified)
            );
        }
    }
}

#[test]
fn a_dry_run_says_which_columns_enter_and_how() {
    let room = room();
    let made = format!(
        "release sketch raw.csv --id id -k 2 {ATTRIBUTE} --preprocess map.toml --out x.dps --dry-run"
    );
    let said = room.json(&made);
    let said = said["preprocessing"].as_array().expect("a list");
    assert_eq!(said.len(), 3);
    assert!(said[0].as_str().is_some_and(|s| s.starts_with("age (column 1)")
        && s.contains("so within [-0.9375, 1.0], and a change is at most 1.9375")));
    assert_eq!(said[2], "1 others: missing is 0.125");
}

#[test]
fn files_that_say_something_else_are_refused() {
    let room = room();
    for (map, words) in [
        ("[columns.age]\nlow = 2\nhigh = 1\n", ["columns.\"age\"", "below `high`"]),
        ("[columns.age]\nlow = 1\nhigh = 1\n", ["columns.\"age\"", "below `high`"]),
        ("[columns.age]\nscale = 0\n", ["scale", "neither zero"]),
        ("[columns.age]\nscale = 5e-324\n", ["scale", "neither zero"]),
        ("[columns.age]\nshift = nan\n", ["shift", "finite"]),
        ("[default]\nmissing = inf\n", ["missing", "finite"]),
        ("[columns.age]\nlow = 0\nhigh = 1\nmissing = 2\n", ["missing", "from `low` to `high`"]),
        ("[columns.age]\nhigh = 1e300\nscale = 1e300\n", ["high", "stays finite"]),
        ("[columns.age]\nlower = 0\n", ["columns.\"age\".\"lower\"", "low, high, shift"]),
        ("[column.age]\nlow = 0\n", ["\"column\"", "[columns.NAME]"]),
        ("[columns.age]\nlow = \"0\"\n", ["columns.\"age\".low", "without quotes"]),
        ("[columns.age]\nlow = 9007199254740993\n", ["low", "2^53"]),
        ("[columns.aeg]\nlow = 0\n", ["columns.\"aeg\"", "dry run"]),
        ("[columns.1]\nlow = 0\n", ["columns.\"1\"", "no column that enters is called so"]),
        ("", ["maps nothing", "--preprocess"]),
        ("secret,1\n7,8\n", ["not TOML", "line 1"]),
    ] {
        room.write("bad.toml", map);
        let made = format!(
            "release sketch raw.csv --id id -k 2 {ATTRIBUTE} --preprocess bad.toml --out refused.dps"
        );
        room.refuses(&made, 2, &words);
        assert!(!text(&room.run(&made)).contains("secret"));
    }
    // No constant for what is missing; a constant beyond the bound; another way to say the same.
    room.write("less.toml", "[columns.age]\nlow = 0\nhigh = 1\n");
    let made = |rest: &str| {
        format!("release sketch raw.csv --id id -k 2 --out refused.dps {ATTRIBUTE} {rest}")
    };
    room.refuses(&made("--preprocess less.toml"), 4, &["missing", "--preprocess"]);
    room.write("far.toml", "[default]\nlow = -1\nhigh = 1\nmissing = 1\nscale = 3\n");
    room.refuses(&made("--preprocess far.toml"), 4, &["outside the declared bound"]);
    room.refuses(&made("--preprocess map.toml --missing zero"), 2, &["--missing"]);
    room.refuses(&made("--preprocess map.toml --divide 2"), 2, &["--divide"]);
    let lifted =
        "release signs raw.csv --id id -k 3 --calibration averaged --lift 1 --out refused.dps";
    room.refuses(
        &format!("{lifted} {ATTRIBUTE} --preprocess map.toml"),
        2,
        &["--preprocess", "--lift"],
    );
    // Zero that becomes something else is not sparse.
    room.write("rows.svm", "1 1:0.5\n");
    room.write("moved.toml", "[columns.2]\nshift = 1\n");
    let sparse = format!(
        "release sketch rows.svm --features 3 -k 2 --out refused.dps {ATTRIBUTE} --preprocess moved.toml"
    );
    room.refuses(&sparse, 2, &["--preprocess", "zero"]);
}

#[test]
fn queries_are_mapped_as_the_rows_were() {
    let room = room();
    let made = |from: &str, out: &str| {
        let noise = "--insecure-test-noise 7";
        let done = room.run(&format!("release sketch {from} --id id -k 2 --seed 3 {ATTRIBUTE} --noise gaussian --out {out} {noise}"));
        assert!(done.status.success(), "{}", text(&done));
    };
    made("raw.csv --preprocess map.toml", "a.dps");
    made("mapped.csv", "b.dps");
    let found = |release: &str, query: &str| {
        room.json(&format!("search {release} --query {query} --id id --accept test-noise"))["hits"]
            .clone()
    };
    assert_eq!(found("a.dps", "raw.csv"), found("b.dps", "mapped.csv"));
    assert_ne!(found("a.dps", "raw.csv"), found("a.dps", "mapped.csv"));
    room.write("swapped.csv", "income,age,score\n1000,30,0.5\n");
    room.refuses(
        "search a.dps --query swapped.csv --accept test-noise",
        2,
        &["not those that the preprocessing"],
    );
    room.write("other.csv", "age,wage,score\n30,1000,0.5\n");
    room.refuses("search a.dps --query other.csv --accept test-noise", 2, &["columns.\"income\""]);
    // Mapped beside unmapped rows.
    let words = ["mapped in another way"];
    room.refuses("distance a.dps 0 0 --other b.dps --accept test-noise", 1, &words);
    room.refuses("distance b.dps 0 0 --other a.dps --accept test-noise", 1, &words);
    room.refuses("search a.dps b.dps --row 0 --accept test-noise", 1, &words);
    room.refuses("search a.dps --queries b.dps --accept test-noise", 1, &words);
    let attack = "attack a.dps --truth raw.csv --public mapped.csv --accept test-noise";
    assert!(!room.run(attack).status.success());
}

#[test]
fn what_is_appended_is_mapped_as_the_release_was() {
    let room = room();
    room.write("other.toml", MAP.replace("missing = 44", "missing = 45"));
    let noise = "--insecure-test-noise 7";
    for from in ["raw.csv --preprocess map.toml --out a.dps", "mapped.csv --out b.dps"] {
        let made = room.run(&format!(
            "release sketch {from} --id id -k 2 --seed 3 {ATTRIBUTE} --noise gaussian {noise}"
        ));
        assert!(made.status.success(), "{}", text(&made));
    }
    let words = ["mapped in another way"];
    for (release, map) in [("a.dps", "other.toml"), ("b.dps", "map.toml")] {
        let made = format!(
            "append {release} raw.csv --id id --preprocess {map} --out refused.dps {noise}"
        );
        room.refuses(&made, 1, &words);
    }
    // Its own map, from its certificate, or from the same file.
    for (out, map) in [("c.dps", ""), ("d.dps", "--preprocess map.toml")] {
        let made = format!("append a.dps raw.csv --id id {map} --out {out} {noise}");
        let appended = room.run(&made);
        assert!(appended.status.success(), "{made}: {}", text(&appended));
        assert_eq!(public(&room, out)["preprocessing"], public(&room, "a.dps")["preprocessing"]);
        assert_eq!(
            room.json(&format!("inspect {out}"))["payload"],
            room.json("inspect a.dps")["payload"]
        );
    }
    // Columns that are not those of the map.
    room.write("swapped.csv", "id,income,age,score\nu1,1000,30,0.5\n");
    room.refuses(
        &format!("append a.dps swapped.csv --id id --out refused.dps {noise}"),
        2,
        &["not those that the preprocessing"],
    );
}

#[test]
fn a_release_in_parts_is_mapped_once_and_in_one_way() {
    let room = room();
    room.write("other.toml", MAP.replace("missing = 44", "missing = 45"));
    for kind in [
        format!("sketch -k 2 --seed 3 --noise gaussian {ATTRIBUTE}"),
        format!("signs -k 2 --seed 3 {ATTRIBUTE}"),
        format!("covariance --means --keep-names {ROWS}"),
    ] {
        let room_of = |from: &str, name: &str| {
            room.json(&format!("release {kind} {from} --id id --plan-parts --block-rows 2 --key {name}.key --out {name}.json"));
        };
        let name = kind.split(' ').next().expect("a kind").to_owned();
        room_of("raw.csv --preprocess map.toml", &name);
        let part = |map: &str, i: usize| {
            room.run(&format!("release {kind} raw.csv --id id {map} --manifest {name}.json --key {name}.key --part {i}/2 --out {name}-{i}.part"))
        };
        for map in ["", "--preprocess other.toml"] {
            let refused = part(map, 1);
            assert!(
                !refused.status.success() && !room.path(&format!("{name}-1.part")).exists(),
                "{map}: {}",
                text(&refused)
            );
        }
        for i in [1, 2] {
            let made = part("--preprocess map.toml", i);
            assert!(made.status.success(), "{kind}: {}", text(&made));
        }
        room.json(&format!("merge --manifest {name}.json --key {name}.key --out {name}.dps {name}-1.part {name}-2.part"));
        assert!(public(&room, &format!("{name}.dps"))["preprocessing"].is_string(), "{kind}");
        assert!(room.run(&format!("verify {name}.dps")).status.success());
    }
}

#[test]
fn every_tick_of_a_stream_states_the_map_that_it_began_with() {
    let room = room();
    room.write("other.toml", MAP.replace("missing = 44", "missing = 45"));
    let window = |from: &str, rest: &str| {
        room.run(&format!("window {from} --id id --window 2 --block 1 --adjacency zero-row --norm-bound 3 --epsilon 2 --delta 1e-6 \
            --schedule tree --insecure-test-noise 5 {rest}"))
    };
    let planned = window("raw.csv --preprocess map.toml", "--out x --journal y --dry-run");
    assert!(text(&planned).contains("moved to [0.0, 124.0]"), "{}", text(&planned));
    for (from, rest) in [
        ("raw.csv --preprocess map.toml", "--out a --journal ja"),
        ("mapped.csv", "--out b --journal jb"),
    ] {
        let made = window(from, rest);
        assert!(made.status.success(), "{}", text(&made));
    }
    for tick in 0..4 {
        let of = |folder: &str| room.json(&format!("inspect {folder}/tick-{tick:08}.dps"));
        assert_eq!(of("a")["payload"], of("b")["payload"]);
        assert!(
            of("a")["public"]["preprocessing"].is_string()
                && of("b")["public"].get("preprocessing").is_none()
        );
        assert!(
            room.run(&format!("verify a/tick-{tick:08}.dps --accept test-noise")).status.success()
        );
    }
    // The stream goes on with its own map alone; a tick that was lost comes again, bit for bit.
    let newest = room.read("a/tick-00000003.dps");
    std::fs::remove_file(room.path("a/tick-00000003.dps")).expect("removed");
    for from in ["raw.csv --preprocess other.toml", "mapped.csv"] {
        let refused = window(from, "--out a --journal ja");
        assert!(
            !refused.status.success() && text(&refused).contains("mapped in another way"),
            "{}",
            text(&refused)
        );
    }
    assert!(!room.path("a/tick-00000003.dps").exists());
    assert!(window("raw.csv --preprocess map.toml", "--out a --journal ja").status.success());
    assert_eq!(room.read("a/tick-00000003.dps"), newest);
}

#[test]
fn answers_name_their_units() {
    let room = room();
    let noise = "--insecure-test-noise 7";
    for (kind, out) in [
        (format!("covariance --means {ROWS}"), "c.dps"),
        (format!("regression --target score --label-bound 1 {ROWS}"), "r.dps"),
        (format!("sketch -k 2 --seed 3 --noise gaussian {ATTRIBUTE}"), "s.dps"),
        (format!("signs -k 2 --seed 3 --flips response {ATTRIBUTE}"), "b.dps"),
    ] {
        let made = room.run(&format!(
            "release {kind} raw.csv --id id --preprocess map.toml --out {out} {noise}"
        ));
        assert!(made.status.success(), "{}", text(&made));
    }
    for asked in [
        "pca c.dps --components 1",
        "moments c.dps",
        "regress c.dps --target 1",
        "regress r.dps",
        "search s.dps --row 0",
        "search b.dps --row 0",
        "search s.dps --query raw.csv --id id",
        "distance s.dps 0 1",
        "distance b.dps 0 1",
        "export s.dps --out s.csv",
        "inspect s.dps",
        "explain s.dps",
        "verify s.dps",
    ] {
        let asked = match asked.starts_with("inspect") || asked.starts_with("explain") {
            true => asked.to_owned(),
            false => format!("{asked} --accept test-noise"),
        };
        let said = room.json(&asked);
        assert!(
            said["units"].as_str().is_some_and(|units| units.contains("after the preprocessing")),
            "{asked}: {said}"
        );
        assert_eq!(said["preprocessing"].as_array().map(Vec::len), Some(3), "{asked}: {said}");
    }
}

/// Whoever reads what one change is reads that values were mapped first, and how.
#[test]
fn whatever_states_the_guarantee_states_the_map() {
    let room = room();
    let made = format!(
        "release sketch raw.csv --id id --preprocess map.toml -k 2 --seed 3 {ATTRIBUTE} --noise gaussian"
    );
    let planned = room.json(&format!("{made} --plan-parts --key k --out m.json"));
    let part = room.run(&format!("{made} --part 1/1 --key k --manifest m.json --out a.part"));
    assert!(part.status.success(), "{}", text(&part));
    let merge = "merge a.part --manifest m.json --key k --out a.dps";
    let mut said = vec![planned, room.json(merge), room.json(merge)];
    room.write("a.json", room.run("inspect a.dps --certificate").stdout);
    said.extend(
        ["verify a.json", "inspect a.json", "explain a.json"].map(|asked| room.json(asked)),
    );
    for said in said {
        assert_eq!(said["preprocessing"].as_array().map(Vec::len), Some(3), "{said}");
        assert!(said["units"].as_str().is_some_and(|s| s.contains("after the preprocessing")));
    }
    for (i, file) in ["a.dps", "a.json"].into_iter().enumerate() {
        room.json(&format!("inspect {file} --html {i}.html"));
        let html = String::from_utf8(room.read(&format!("{i}.html"))).expect("text");
        let (people, _) = html.split_once("<details>").expect("the certificate, for machines");
        for words in [
            "age (column 1): missing is 44.0, moved to [0.0, 124.0]",
            "after the preprocessing that",
        ] {
            assert!(people.contains(words), "{file}: {words}");
        }
        assert!(!people.contains("&quot;columns"), "{file}");
    }
    // Said once.
    let written = text(&room.run(&format!("{made} --out b.dps --json")));
    assert_eq!(written.matches("\"preprocessing\"").count(), 1, "{written}");
}

#[test]
fn what_cannot_be_mapped_is_refused_by_name() {
    let room = room();
    room.write("twice.csv", "id,age,age,score\nu1,1,2,3\n");
    room.write("age.toml", "[columns.age]\nlow = 0\nhigh = 1\n");
    let made = |from: &str| format!("release sketch {from} -k 2 --out refused.dps {ATTRIBUTE}");
    room.refuses(&made("twice.csv --id id --preprocess age.toml"), 2, &["have the same name"]);
    // The column of ids or of users is none that enters.
    room.write("id.toml", "[columns.id]\nlow = 0\n");
    room.refuses(
        &made("raw.csv --id id --preprocess id.toml"),
        2,
        &["columns.\"id\"", "no column that enters"],
    );
    room.refuses(
        &made("raw.csv --user id --rows-a-user 1 --preprocess id.toml"),
        2,
        &["no column that enters"],
    );
    // A column that stands twice in the file of rules, names that are no text, a file of any length.
    room.write("again.toml", "[columns.age]\nlow = 0\n[columns.age]\nhigh = 1\n");
    room.refuses(&made("raw.csv --id id --preprocess again.toml"), 2, &["not TOML"]);
    room.write("bytes.toml", b"[columns.age]\nlow = \xff\n");
    room.refuses(&made("raw.csv --id id --preprocess bytes.toml"), 3, &["bytes.toml", "UTF-8"]);
    room.write("long.toml", "# a comment\n".repeat(100_000));
    room.refuses(&made("raw.csv --id id --preprocess long.toml"), 2, &["longer than 1 MiB"]);
    room.write(
        "deep.toml",
        format!("[columns.age]\nlow = {}{}", "[".repeat(50_000), "]".repeat(50_000)),
    );
    room.refuses(&made("raw.csv --id id --preprocess deep.toml"), 2, &["deep.toml"]);
    // No value of a row stands in a message, mapped or not.
    for (map, row) in [
        ("[columns.age]\nscale = 1e300\n", "7.0123e200"),
        ("[columns.age]\nscale = 1000\n", "7.0123"),
        ("[columns.age]\nlow = 0\nhigh = 1\n", "7.0123x"),
        ("[columns.age]\nlow = 0\nhigh = 1\n", "inf"),
    ] {
        room.write("rows.csv", format!("age,score\n0.5,1\n{row},1\n"));
        room.write("scale.toml", map);
        let made = made("rows.csv --preprocess scale.toml");
        room.refuses(&made, 4, &["rows.csv", "column 1"]);
        assert!(
            !text(&room.run(&made)).contains("7.0123") && !text(&room.run(&made)).contains("7012")
        );
    }
    // A row that the rounding of a map pushes over the bound is over it: bounds are checked after the map.
    room.write("rows.csv", "a,b\n0.3,0.4\n0.1,0.1\n");
    room.write("up.toml", "[default]\nscale = 2.0000000001\n");
    let bound = "--adjacency replace-row --norm-bound 1 --epsilon 1 --delta 1e-6 --preprocess up.toml --out refused.dps";
    room.refuses(
        &format!("release covariance rows.csv {bound}"),
        4,
        &["longer than the declared norm bound"],
    );
    // Sets hold no numbers.
    room.write("sets.txt", "a b\nc d\n");
    for kind in ["minhash -k 4", "counts --groups sets.txt"] {
        let made = format!(
            "release {kind} sets.txt --preprocess age.toml --adjacency any-input --epsilon 1 --delta 0 --out refused.dps"
        );
        room.refuses(&made, 2, &["--preprocess", "sets hold words"]);
    }
}

#[test]
fn certificates_state_one_preprocessing_of_their_columns() {
    let room = room();
    let made =
        format!("release covariance raw.csv --id id {ROWS} --preprocess map.toml --out a.dps");
    let done = room.run(&made);
    assert!(done.status.success(), "{}", text(&done));
    let certificate =
        String::from_utf8(room.run("inspect a.dps --certificate").stdout).expect("text");
    assert!(room.run("explain a.dps").status.success());
    for (from, to) in [
        ("\\\"d\\\":3", "\\\"d\\\":4"),
        ("\\\"low\\\":0.0", "\\\"low\\\":200.0"),
        ("\\\"at\\\":2", "\\\"at\\\":1"),
        ("\\\"missing\\\":44.0", "\\\"missing\\\":44"),
        ("\\\"missing\\\":44.0", "\\\"missing\\\":440.0"),
        ("\\\"name\\\"", "\\\"title\\\""),
    ] {
        assert!(certificate.contains(from), "{from}: {certificate}");
        room.write("edited.json", signed_again(&certificate.replacen(from, to, 1)));
        let output = room.run("verify edited.json");
        assert!(
            !output.status.success() && text(&output).contains("preprocessing")
                || !output.status.success() && text(&output).contains("public"),
            "{to}: {}",
            text(&output)
        );
    }
}
