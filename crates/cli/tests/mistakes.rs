//! The mistakes people make, and what they are told.

use crate::support::{Room, csv, number, numbers, text};
use serde_json::Value;

const PRIVACY: &str = "--adjacency attribute --beta 1 --bound 1 --epsilon 1 --delta 1e-6";

fn room() -> Room {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(80, 12), 12));
    room
}

#[test]
fn a_forgotten_adjacency_is_explained() {
    let room = room();
    room.refuses(
        "release sketch users.csv --out refused.dps -k 4 --bound 1 --epsilon 1 --delta 1e-6",
        2,
        &[
            "--adjacency is required",
            "attribute --beta B",
            "replace-row --norm-bound R",
            "row-shift",
        ],
    );
    // A choice a line, and in JSON too.
    let run = "release sketch users.csv --out refused.dps -k 4 --bound 1 --epsilon 1 --delta 1e-6";
    let lines = text(&room.run(run));
    assert!(lines.lines().any(|line| line == "  --adjacency attribute --beta B"), "{lines}");
    assert!(!lines.contains("u{a}"), "{lines}");
    let json: Value =
        serde_json::from_slice(&room.run(&format!("{run} --json")).stdout).expect("JSON");
    assert!(
        json["error"].as_str().expect("text").contains("\n--adjacency attribute --beta B\n"),
        "{json}"
    );
    room.refuses(
        "release sketch users.csv --out refused.dps -k 4 --adjacency attribute --bound 1 --epsilon 1 \
         --delta 1e-6",
        2,
        &["--beta B"],
    );
    room.refuses(
        "release sketch users.csv --out refused.dps -k 4 --adjacency attribute --beta 1 --epsilon 1 \
         --delta 1e-6",
        2,
        &["--bound is required"],
    );
    room.refuses(
        "release covariance users.csv --out refused.dps --adjacency attribute --beta 1 --epsilon 1 \
         --delta 1e-6",
        2,
        &["add-remove-row"],
    );
}

#[test]
fn mistakes_in_files_are_named_without_a_value() {
    let room = room();
    let release = format!("--out refused.dps -k 2 {PRIVACY}");
    for (content, options, status, words) in [
        ("a;b;c\n0.1;0.2;0.3\n", "", 2, &["one field", "--delimiter ';'"][..]),
        ("a\tb\n0.1\t0.2\n", "", 2, &["--delimiter 'tab'"]),
        ("0.1,0.2\n0.3,0.4\n", "", 2, &["--no-header", "--header"]),
        ("ann,0.2\nbob,0.4\n", "", 2, &["--no-header", "--header"]),
        ("a,b\n0.3,0.4\n", "--no-header", 2, &["is it a header?"]),
        ("a,b\n0.3,\n", "", 4, &["column 2:", "missing", "--missing zero", "record 1"]),
        ("a,b\n0.3,NaN\n", "", 4, &["column 2:", "missing", "--missing zero"]),
        ("a,b\n0.3,inf\n", "", 4, &["not finite"]),
        ("a,b\n0.3,0.4\n0.3\n", "", 4, &["1 fields", "first line has 2", "record 2"]),
        ("a,b\n0.3,secret\n", "--header", 4, &["column \"b\"", "not a number", "--id"]),
        ("a,b\n0.3,7.125\n", "", 4, &["column 2:", "[-1, 1]", "--clip", "private"]),
        ("a,b\n0.3,0.4\n", "--columns c --header", 2, &["no column \"c\"", "a, b"]),
        ("a,b\n0.3,0.4\n", "--id a --id b", 4, &["no column is left"]),
        ("", "", 4, &["no row"]),
    ] {
        room.write("bad.csv", content);
        let run = format!("release sketch bad.csv {release} {options}");
        room.refuses(&run, status, words);
        for secret in ["7.125", "secret"] {
            assert!(!text(&room.run(&run)).contains(secret), "a value was printed");
        }
        // In JSON the message names no record either.
        let json = room.run(&format!("{run} --json"));
        let json: Value = serde_json::from_slice(&json.stdout).expect("JSON");
        assert!(!json["error"].as_str().expect("text").contains("record"), "{json}");
    }
    room.refuses(&format!("release sketch nowhere.csv {release}"), 3, &["nowhere.csv"]);
    room.refuses(&format!("release sketch users.dat {release}"), 2, &["--format"]);
    room.write("wide.svm", "1 3:0.5\n");
    room.refuses(&format!("release sketch wide.svm {release}"), 2, &["--features", "private"]);
    room.refuses(
        &format!("release sketch wide.svm --features 2 {release}"),
        4,
        &["above --features"],
    );
    for (name, bytes) in [
        ("bad.npy", &b"\x93NUMPY\x01\x00\x01"[..]),
        ("bad.parquet", b"PAR1"),
        ("bad.arrow", b"ARROW1"),
        ("bad-ubyte", &[0, 0, 8, 2, 0, 0, 0, 9, 0, 0, 0, 2, 1, 1]),
    ] {
        room.write(name, bytes);
        room.refuses(&format!("release sketch {name} {release}"), 4, &[name]);
    }
    let zero = room.write("zero.csv", "a,b\n0.3,\n");
    assert!(zero.exists());
    let found =
        room.json(&format!("release sketch zero.csv --missing zero --out z.dps -k 2 {PRIVACY}"));
    assert_eq!(found["n"], 1);
    room.write("out.csv", "a,b\n0.3,7\n");
    let found =
        room.run(&format!("release sketch out.csv --clip --out z.dps --force -k 2 {PRIVACY}"));
    assert!(found.status.success() && text(&found).contains("not counted"), "{}", text(&found));
}

#[test]
fn units_and_files_are_watched() {
    let room = room();
    let common = "release sketch users.csv -k 4 --adjacency attribute --beta 1 --bound 1";
    let run = room.run(&format!("{common} --out a.dps --epsilon 50 --delta 1e-6"));
    assert!(text(&run).contains("nats"), "{}", text(&run));
    let run = room.run(&format!("{common} --out b.dps --epsilon 1 --delta 0.01"));
    assert!(text(&run).contains("far below"), "{}", text(&run));
    room.refuses(&format!("{common} --out refused.dps --epsilon 1 --delta 1e6"), 2, &["1e-6"]);
    for (numbers, words) in [
        ("--epsilon -1 --delta 1e-6", "epsilon = -1"),
        ("--epsilon 1 --delta -0.5", "delta = -0.5"),
        ("--epsilon 1 --delta 1e-6 --seed -4", "--seed"),
    ] {
        room.refuses(&format!("{common} --out refused.dps {numbers}"), 2, &[words]);
    }
    let bound = common.replace("--bound 1", "--bound=-1e-170");
    let words = &["--bound -1e-170 is not allowed"];
    room.refuses(&format!("{bound} --out refused.dps --epsilon 1 --delta 1e-6"), 2, words);
    room.refuses(
        &format!("{common} --out refused.dps --noise gaussian --epsilon 1 --delta 0"),
        2,
        &["laplace"],
    );
    room.refuses(
        &format!("{common} --out a.dps --epsilon 1 --delta 1e-6"),
        2,
        &["exists", "--force"],
    );
    room.refuses(&format!("{common} --out no/refused.dps --epsilon 1 --delta 1e-6"), 3, &["no/"]);
    let before = room.read("a.dps");
    let dry = room.json(&format!("{common} --out a.dps --dry-run --epsilon 1 --delta 1e-6"));
    assert!(dry["dry_run"].as_str().expect("text").contains("nothing"));
    assert!(dry["warnings"][0].as_str().expect("text").contains("a.dps exists; --force"), "{dry}");
    let forced =
        room.json(&format!("{common} --out a.dps --force --dry-run --epsilon 1 --delta 1e-6"));
    assert!(forced.get("warnings").is_none(), "{forced}");
    room.refuses(
        &format!("{common} --out users.csv --dry-run --epsilon 1 --delta 1e-6"),
        2,
        &["users.csv exists and is not a release"],
    );
    assert_eq!(room.read("a.dps"), before);
    room.write("notes.txt", "hello");
    room.refuses("verify notes.txt", 1, &[]);
    room.refuses("verify nowhere.dps", 3, &["nowhere.dps"]);
    let mut damaged = before;
    damaged[40] ^= 1;
    room.write("damaged.dps", damaged);
    room.refuses("verify damaged.dps", 1, &["checksum"]);
}

#[test]
fn options_without_effect_are_refused() {
    let room = room();
    room.write("x.svm", "1 1:0.5\n");
    room.write("sets.txt", "a b c\nb c d\n");
    let sketch = format!("release sketch users.csv --out refused.dps -k 4 {PRIVACY}");
    let set = "--adjacency set-items --alpha 1 --min-size 2 --epsilon 1";
    let sets = format!("release minhash sets.txt --out refused.dps -k 4 {set}");
    let rows = "--adjacency replace-row --norm-bound 4 --epsilon 1 --delta 1e-6";
    let covariance = format!("release covariance users.csv --out refused.dps {rows}");
    room.json(&format!("release signs users.csv --out s.dps -k 4 {PRIVACY}"));
    room.json(
        "release low-rank users.csv --out l.dps --rank 1 --row-bound 4 --adjacency row-shift --shift 1 \
         --epsilon 200 --delta 1e-6",
    );
    for (run, words) in [
        (
            format!("{sets} --delta 1e-6 --mechanism mixture --seed 3"),
            ["--seed", "drawn at release"],
        ),
        (format!("{sets} --delta 0 --concatenation 2"), ["--concatenation", "one minimum a bin"]),
        (format!("{sketch} --nonzeros 3"), ["--nonzeros", "sparse-jl"]),
        (format!("{sketch} --norm-bound 5"), ["--norm-bound", "--adjacency attribute"]),
        (format!("{sketch} --shift 5"), ["--shift", "--adjacency attribute"]),
        (format!("{sketch} --min-size 5"), ["--min-size", "--adjacency attribute"]),
        (format!("{sketch} --features 12"), ["--features", "csv files"]),
        (format!("{covariance} --beta 1"), ["--beta", "--adjacency replace-row"]),
        (format!("{covariance} --sketch-rows 40"), ["--sketch-rows", "--noise jl"]),
        (
            "release low-rank users.csv --out refused.dps --rank 1 --row-bound 4 --clip \
             --adjacency row-shift --shift 1 --epsilon 1 --delta 1e-6"
                .into(),
            ["--clip", "--bound"],
        ),
        ("search s.dps --score inner".into(), ["--score", "one way"]),
        ("pca l.dps --components 1 --failure 0.1".into(), ["--failure", "error bounds"]),
        ("pca l.dps --components 1 --matrix m.csv".into(), ["--matrix", "no covariance"]),
        (
            "calibrate gaussian-projection --k 4 --features 9 --epsilon 1 --delta 1e-6".into(),
            ["--features", "only --k"],
        ),
    ] {
        room.refuses(&run, 2, &words);
        room.refuses(&run, 2, &["has no effect"]);
    }
    for option in
        ["--delimiter ;", "--header", "--no-header", "--columns 1", "--id 1", "--missing zero"]
    {
        let run =
            format!("release sketch x.svm --features 2 --out refused.dps -k 1 {PRIVACY} {option}");
        room.refuses(&run, 2, &["has no effect", "svmlight files", &option[..4]]);
    }
}

/// Where a parameter has another name than the option that gives it, the option is named.
#[test]
fn options_of_parameters_are_named() {
    let room = room();
    room.write("sets.txt", "a b c\nb c d\n");
    let items = "--adjacency set-items --alpha 1 --min-size 2 --epsilon 1";
    let any = "--adjacency any-input --epsilon 1 --delta 0";
    let row = "--norm-bound 4 --epsilon 1 --delta 1e-6";
    for (run, words) in [
        (format!("minhash sets.txt {items} --delta 0 -k 0"), "-k = 0"),
        (format!("minhash sets.txt {items} --delta 0 --symbols 0"), "--symbols = 0"),
        (
            format!("minhash sets.txt {items} --delta 1e-6 --mechanism mixture --symbols 0"),
            "--symbols = 0",
        ),
        (
            format!("minhash sets.txt {any} --mechanism buckets -k 0 --symbols 2"),
            "-k times --concatenation = 0",
        ),
        (
            format!(
                "covariance users.csv --adjacency add-remove-row {row} --noise jl --sketch-rows 0"
            ),
            "--sketch-rows = 0",
        ),
        (format!("units users.csv {any} -k 4 --user a0 --rows-a-user 0"), "1..=1048576"),
    ] {
        room.refuses(&format!("release {run} --out refused.dps"), 2, &[words]);
    }
    room.refuses(
        &format!(
            "window users.csv --out w --journal j --window 16 --block 4 --noise jl --sketch-rows 0 --adjacency zero-row {row}"
        ),
        2,
        &["--sketch-rows = 0"],
    );
    // A file that is no certificate is named.
    for command in ["explain users.csv", "ledger show --more users.csv l.json"] {
        room.json("ledger init l.json --data x --epsilon 1 --delta 0 --adjacency any-input");
        room.refuses(command, 1, &["users.csv: certificate rejected"]);
        std::fs::remove_file(room.path("l.json")).expect("removed");
    }
    // A rule that states epsilon at some delta takes nothing where there is none.
    for rule in ["gdp", "zcdp", "renyi"] {
        let run =
            format!("ledger init l.json --data x --epsilon 1 --rule {rule} --adjacency any-input");
        room.refuses(&format!("{run} --delta 0"), 2, &[rule, "--delta 0", "1e-6"]);
        assert!(!room.path("l.json").exists());
    }
}

#[test]
fn only_releases_are_written_over() {
    let room = room();
    room.json("ledger init spent.json --data users --epsilon 5 --delta 1e-5 --adjacency attribute --beta 1");
    for name in ["users.csv", "spent.json"] {
        let before = room.read(name);
        let run = format!("release sketch users.csv --out {name} --force -k 4 {PRIVACY}");
        room.refuses(&run, 2, &["not a release", "never written over"]);
        let paid = format!("{run} --ledger spent.json");
        room.refuses(&paid, 2, &["not a release"]);
        assert_eq!(room.read(name), before);
    }
    assert_eq!(room.json("ledger show spent.json")["releases"], 0);
}

#[test]
fn a_dry_run_asks_the_ledger_and_spends_nothing() {
    let room = room();
    room.json("ledger init spent.json --data users --epsilon 1.5 --delta 1e-5 --adjacency attribute --beta 1");
    let run = format!("release sketch users.csv -k 4 {PRIVACY} --ledger spent.json");
    room.json(&format!("{run} --out a.dps --dry-run"));
    assert_eq!(room.json("ledger show spent.json")["releases"], 0);
    room.json(&format!("{run} --out a.dps"));
    let shown = room.json("ledger show spent.json");
    assert_eq!((number(&shown, "spent_epsilon"), number(&shown, "left_epsilon")), (1.0, 0.5));
    room.refuses(&format!("{run} --out refused.dps --dry-run"), 1, &["limit"]);
    assert_eq!(room.json("ledger show spent.json")["releases"], 1);
}

#[test]
fn mistakes_about_releases_are_named() {
    let room = room();
    room.json(&format!("release sketch users.csv --out a.dps -k 4 {PRIVACY}"));
    room.json(&format!("release signs users.csv --out s.dps -k 4 {PRIVACY}"));
    let kinds = &["two releases of one kind", "a real-valued sketch and signs"];
    room.refuses("distance a.dps 0 1 --other s.dps", 2, kinds);
    room.refuses("search a.dps --queries s.dps", 2, kinds);
    room.refuses("pca a.dps --components 2 --out parts.txt", 2, &[".csv or .npy"]);
    room.refuses("distance a.dps 0 1 --confidence 95", 2, &["--confidence 95", "0.95"]);
    room.refuses("moments a.dps --failure 0", 2, &["--failure 0", "as 0.05"]);
    room.refuses("explain a.dps --prior 0", 2, &["--prior 0", "as 0.5"]);
    room.refuses("ledger show a.dps", 1, &["a.dps", "not a valid ledger"]);
    let sets =
        "plan sets --epsilon 4 --delta 0 --alpha 1 --min-size 10 --size 5 --near 0.5 --far 0.1";
    room.refuses(sets, 2, &["--size 5", "--min-size 10"]);
    let vectors = "plan vectors --rows 9 --features 9 --epsilon 1 --adjacency attribute --beta 1 --squared-distance 1";
    room.refuses(&format!("{vectors} --delta 1e-6 --target 0"), 2, &["--target", "standard error"]);
    let pure = &room.json(&format!("{vectors} --delta 0"));
    assert!(!pure["methods"].to_string().contains("Gaussian"), "{pure}");
    let note = &room.json(&format!("{vectors} --delta 1e-6"))["note"];
    assert!(note.as_str().expect("a note").contains("above the distance"), "{note}");
    // Options that do not exist, and those that are missing, are JSON too.
    for run in ["distance a.dps 0 --json", "release sketch users.csv --json", "plan --jsno --json"]
    {
        let output = room.run(run);
        assert_eq!(output.status.code(), Some(2), "{run}");
        let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(!value["error"].as_str().expect("a text").starts_with("error"), "{value}");
    }
    assert!(room.run("--help --json").stdout.starts_with(b"Publish"));
    // A certificate by itself is printed as a certificate.
    let certificate = room.run("inspect a.dps --certificate").stdout;
    room.write("a.json", &certificate);
    assert_eq!(room.run("inspect a.json --certificate").stdout, certificate);
}
