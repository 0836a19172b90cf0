//! Several files in one release: what one file with all their rows would give, and nothing where one of them is bad.

use crate::support::{Room, csv, numbers, text};
use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use std::sync::Arc;

const N: usize = 5_000;
const D: usize = 4;
/// Where the rows are cut: the files are longer and shorter than a block.
const CUTS: [usize; 3] = [1, 3_001, 3_007];
const FIXED: &str = "--insecure-test-noise 7";
const PRIVACY: &str = "--adjacency attribute --beta 1 --bound 1 --epsilon 1 --delta 1e-6";
const SKETCH: &str =
    "--seed 3 -k 4 --adjacency attribute --beta 1 --bound 1 --epsilon 1 --delta 1e-6";

/// The rows in one file and in four.
fn room() -> Room {
    let room = Room::new();
    let values = numbers(N, D);
    room.write("one.csv", csv(&values, D));
    let mut start = 0;
    for (i, end) in CUTS.into_iter().chain([N]).enumerate() {
        room.write(&format!("part{i}.csv"), csv(&values[start * D..end * D], D));
        start = end;
    }
    room
}

fn made(room: &Room, kind: &str, input: &str, options: &str) -> Vec<u8> {
    let run = format!("release {kind} {input} --out x.dps --force {FIXED} {options}");
    let output = room.run(&run);
    assert!(output.status.success(), "{run}: {}", text(&output));
    room.read("x.dps")
}

const PARTS: &str = "part0.csv part1.csv part2.csv part3.csv";

#[test]
fn several_files_give_the_release_of_one_with_their_rows() {
    let room = room();
    let signs = "--seed 3 -k 4 --adjacency attribute --beta 1 --bound 1 --epsilon 1 --delta 0";
    let covariance = "--adjacency add-remove-row --norm-bound 4 --epsilon 1 --delta 1e-6";
    for (kind, options) in [("sketch", SKETCH), ("signs", signs), ("covariance", covariance)] {
        let expected = made(&room, kind, "one.csv", options);
        assert_eq!(made(&room, kind, PARTS, options), expected, "{kind}");
        // The order is that of the command line, and it matters where rows are published.
        let turned = made(&room, kind, "part3.csv part2.csv part1.csv part0.csv", options);
        assert_eq!(turned == expected, kind == "covariance", "{kind}");
    }
    assert_eq!(
        room.json(&format!("release sketch {PARTS} --out y.dps {SKETCH}"))["n"],
        N,
        "rows of all files"
    );
    let values = numbers(N, D);
    let column = |j: usize| -> ArrayRef {
        let cells = values.chunks(D).skip(CUTS[2]).map(|row| row[j]);
        Arc::new(cells.collect::<Float64Array>())
    };
    let batch = RecordBatch::try_from_iter((0..D).map(|j| (format!("a{j}"), column(j))));
    let batch = batch.expect("a batch");
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("closed");
    room.write("last.parquet", bytes);
    let mixed = made(&room, "sketch", "part0.csv part1.csv part2.csv last.parquet", SKETCH);
    assert_eq!(mixed, made(&room, "sketch", "one.csv", SKETCH), "another format");
}

#[test]
fn several_files_of_sets_are_one() {
    let room = Room::new();
    let lines: Vec<String> =
        (0..5_000).map(|i| format!("x{} x{} y{}\n", i % 7, i % 11, i % 13)).collect();
    room.write("one.txt", lines.concat());
    room.write("a.txt", lines[..4_500].concat());
    room.write("b.jsonl", {
        let list = |line: &String| {
            let words: Vec<String> =
                line.split_whitespace().map(|word| format!("\"{word}\"")).collect();
            format!("[{}]\n", words.join(","))
        };
        lines[4_500..].iter().map(list).collect::<String>()
    });
    let options =
        "--seed 3 -k 8 --adjacency set-items --alpha 1 --min-size 1 --epsilon 2 --delta 0";
    let expected = made(&room, "minhash", "one.txt", options);
    assert_eq!(made(&room, "minhash", "a.txt b.jsonl", options), expected);
    let refused = |input: &str, code: i32, words: &[&str]| {
        room.refuses(&format!("release minhash {input} --out refused.dps {options}"), code, words);
    };
    room.write("empty.txt", "");
    refused("a.txt empty.txt", 4, &["empty.txt", "no set"]);
    refused("a.txt ./a.txt", 2, &["named twice"]);
    // One set in two files would be two sets, each hidden for itself.
    room.write("l1.csv", "who,item\nann,a\nbob,b\n");
    room.write("l2.csv", "who,item\nann,c\n");
    refused("l1.csv l2.csv --items item --set-id who", 4, &["l2.csv", "stand together"]);
    // The only list of the second file is another list.
    room.write("j1.jsonl", "{\"tags\": [\"a\"], \"n\": 1}\n");
    room.write("j2.jsonl", "{\"friends\": [\"ann\"], \"n\": 1}\n");
    refused("j1.jsonl j2.jsonl", 4, &["j2.jsonl", "named field"]);
}

#[test]
fn a_bad_file_among_several_refuses_all_and_nothing_is_paid() {
    let room = room();
    room.json(
        "ledger init l.json --data x --epsilon 99 --delta 1e-5 --adjacency attribute --beta 1",
    );
    let refused = |second: &str, code: i32, words: &[&str]| {
        for options in ["--ledger l.json", "--ledger l.json --dry-run"] {
            let run =
                format!("release sketch part1.csv {second} --out refused.dps {options} {SKETCH}");
            room.refuses(&run, code, words);
        }
        let ledger = room.json("ledger show l.json");
        assert_eq!(ledger["releases"], 0, "{second}");
        let left: Vec<_> = std::fs::read_dir(room.folder()).expect("a folder").flatten().collect();
        assert!(left.iter().all(|file| !file.file_name().to_string_lossy().contains("refused")));
    };
    room.write("bound.csv", "a0,a1,a2,a3\n0.1,0.2,0.3,0.4\n0.1,0.2,7.25,0.4\n");
    refused("part0.csv bound.csv", 4, &["bound.csv", "[-1, 1]", "record 2"]);
    room.write("text.csv", "a0,a1,a2,a3\n0.1,0.2,secret,0.4\n");
    refused("text.csv", 4, &["text.csv", "not a number"]);
    room.write("cut.csv", "a0,a1,a2,a3\n0.1,0.2,0.3,0.4\n0.1,0.2\n");
    refused("part0.csv cut.csv", 4, &["cut.csv", "2 fields"]);
    refused("nowhere.csv", 3, &["nowhere.csv"]);
    room.write("names.csv", "a0,a1,b2,a3\n0.1,0.2,0.3,0.4\n");
    refused("names.csv", 2, &["names.csv", "column 3 has another name", "part1.csv"]);
    room.write("order.csv", "a1,a0,a2,a3\n0.1,0.2,0.3,0.4\n");
    refused("order.csv", 2, &["order.csv", "column 1 has another name"]);
    room.write("wide.csv", "a0,a1,a2,a3,a4\n0.1,0.2,0.3,0.4,0.5\n");
    refused("wide.csv", 2, &["wide.csv", "5 numbers"]);
    refused("part1.csv", 2, &["named twice", "part1.csv"]);
    std::fs::hard_link(room.path("part1.csv"), room.path("another-name.csv")).expect("linked");
    refused("another-name.csv", 2, &["named twice", "another-name.csv"]);
    refused("-", 2, &["once only"]);
    for secret in ["7.25", "secret"] {
        for second in ["bound.csv", "text.csv"] {
            let run = format!("release sketch part1.csv {second} --out refused.dps {SKETCH}");
            assert!(!text(&room.run(&run)).contains(secret), "a value was printed");
        }
    }
    // Commands that read one file say so.
    room.refuses(
        &format!("release sketch {PARTS} --plan-parts --key k --out refused.dps {SKETCH}"),
        2,
        &["one file"],
    );
}

#[test]
fn ids_and_users_count_over_all_files() {
    let room = Room::new();
    room.write("a.csv", "who,a,b\nann,0.1,0.2\nbob,0.3,0.4\n");
    room.write("b.csv", "who,a,b\ncid,0.5,0.6\nann,0.7,0.8\n");
    let run = |options: &str, out: &str| {
        format!("release sketch a.csv b.csv {options} --out {out} -k 2 --family identity {PRIVACY}")
    };
    room.json(
        "ledger init l.json --data x --epsilon 99 --delta 1e-5 --adjacency attribute --beta 1",
    );
    let twice = run("--keep-id who --ledger l.json", "refused.dps");
    room.refuses(&twice, 4, &["two rows have one id"]);
    assert_eq!(room.json("ledger show l.json")["releases"], 0);
    assert_eq!(room.json(&run("--user who --rows-a-user 1", "x.dps"))["n"], 3);
    room.write("b.csv", "who,a,b\ncid,0.5,0.6\ndan,0.7,0.8\n");
    room.json(&run("--keep-id who --ledger l.json", "named.dps"));
    let asked = room.json("distance named.dps bob dan");
    assert_eq!((&asked["i"], &asked["j"]), (&1.into(), &3.into()));
}

#[test]
fn users_count_over_all_files_of_sets() {
    let room = Room::new();
    room.write("one.txt", "ann a b\nbob c d\ncid h i\n");
    room.write("a.txt", "ann a b\nbob c d\nann e f\n");
    // Its sets are all left out: that is no empty file.
    room.write("b.txt", "bob g h\nann i j\n");
    room.write("c.txt", "bob k l\ncid h i\n");
    let options = "--seed 3 -k 8 --adjacency set-items --alpha 1 --min-size 1 --epsilon 2 --delta 0 \
                   --user 1 --rows-a-user 1";
    let expected = made(&room, "minhash", "one.txt", options);
    assert_eq!(made(&room, "minhash", "a.txt b.txt c.txt", options), expected);
    assert_eq!(made(&room, "minhash", "a.txt c.txt b.txt", options), expected, "the last file");
    room.write("empty.txt", "");
    for input in ["a.txt empty.txt", "a.txt b.txt empty.txt"] {
        let run = format!("release minhash {input} --out refused.dps {options}");
        room.refuses(&run, 4, &["empty.txt", "no set"]);
    }
    // A set that names nobody is told by its place in its own file.
    room.write("d.csv", "who,items\nann,a b\nann,c d\nbob,e f\n");
    room.write("e.csv", "who,items\nann,g h\ncid,i j\n,k l\n");
    let of = options.replace("--user 1", "--user who --items items --separator space");
    room.refuses(
        &format!("release minhash d.csv e.csv --out refused.dps {of}"),
        4,
        &["e.csv", "whose it is", "record 3"],
    );
}
