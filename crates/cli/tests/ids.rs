//! Names of rows: published with a release on purpose, asked for and answered by, covered by its certificate.

mod support;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use dp_core::certificate::canonical;
use parquet::arrow::ArrowWriter;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use support::{Room, forged, numbers, text};

const N: usize = 40;
const D: usize = 4;
const SKETCH: &str =
    "-k 4 --family identity --adjacency attribute --beta 1 --bound 1 --epsilon 64 --delta 1e-6";

fn ids() -> Vec<String> {
    (0..N).map(|i| format!("u{:06}", i * 37 % 1000)).collect()
}

fn table(names: &[String]) -> String {
    let mut out = "user_id,a0,a1,a2,a3\n".to_owned();
    for (name, row) in names.iter().zip(numbers(N, D).chunks(D)) {
        let row: Vec<String> = row.iter().map(f64::to_string).collect();
        out += &format!("{name},{}\n", row.join(","));
    }
    out
}

fn room() -> Room {
    let room = Room::new();
    room.write("users.csv", table(&ids()));
    let sets: Vec<String> = ids()
        .iter()
        .enumerate()
        .map(|(i, id)| {
            let items: Vec<String> = (0..6).map(|j| format!("x{}", (i * 5 + j * j) % 23)).collect();
            format!("{id} {}", items.join(" "))
        })
        .collect();
    room.write("sets.txt", sets.join("\n") + "\n");
    room
}

const KINDS: [(&str, &str); 6] = [
    (
        "sketch",
        "sketch users.csv --keep-id user_id -k 4 --family identity --adjacency attribute --beta 1 --bound 1 --epsilon 64 --delta 1e-6",
    ),
    (
        "units",
        "units users.csv --keep-id 1 -k 4 --family identity --adjacency any-input --epsilon 60 --delta 0",
    ),
    (
        "signs",
        "signs users.csv --keep-id user_id -k 4 --adjacency attribute --beta 1 --bound 1 --epsilon 20 --delta 0",
    ),
    (
        "individual",
        "signs users.csv --keep-id user_id -k 4 --adjacency attribute --beta 1 --bound 1 --epsilon 20 --delta 0 --individual-not-differential-privacy response",
    ),
    (
        "minhash",
        "minhash sets.txt --keep-id 1 -k 64 --adjacency set-items --alpha 1 --min-size 1 --epsilon 20 --delta 0",
    ),
    (
        "counts",
        "counts sets.txt --keep-id 1 --groups groups.txt --adjacency set-items --alpha 1 --min-size 1 --epsilon 20 --delta 0",
    ),
];

#[test]
fn every_kind_of_rows_keeps_ids_and_answers_with_them() {
    let room = room();
    for (name, options) in KINDS {
        room.write("groups.txt", "x1 x2 x3\nx4 x5\nx6 x7 x8 x9\n");
        room.json(&format!("release {options} --out {name}.dps"));
        let accept = if name == "individual" { "--accept individual" } else { "" };
        let said = room.json(&format!("inspect {name}.dps"));
        assert!(said["ids_of_rows"].as_str().expect("said").contains("public"), "{said}");
        assert_eq!(room.json(&format!("verify {name}.dps {accept}"))["rows"], N);
        let asked = ids()[7].clone();
        let found = room.json(&format!("search {name}.dps --row {asked} --top 3 {accept}"));
        for hit in found["hits"].as_array().expect("hits") {
            assert_eq!((hit["query"].as_u64(), hit["query_id"].as_str()), (Some(7), Some(&*asked)));
            let row = hit["row"].as_u64().expect("a row") as usize;
            assert_eq!(hit["id"].as_str(), Some(&*ids()[row]), "{name}");
        }
        room.refuses(
            &format!("search {name}.dps --row 7 {accept}"),
            2,
            &["--row \"7\"", "no row is called so"],
        );
    }
    let by_name = room.json(&format!("distance sketch.dps {} {}", ids()[3], ids()[9]));
    assert_eq!((&by_name["i"], &by_name["j"]), (&3.into(), &9.into()));
    assert_eq!(by_name["id_j"].as_str(), Some(&*ids()[9]));
    let shown = text(&room.run(&format!("search sketch.dps --row {} --top 2", ids()[0])));
    assert!(shown.contains("query_id") && shown.contains("u00"), "{shown}");
    // Without ids a row is a number, as ever.
    room.json(&format!("release sketch users.csv --id 1 --out bare.dps {SKETCH}"));
    assert_eq!(room.json("distance bare.dps 3 9")["i"], 3);
    room.refuses("distance bare.dps u000000 9", 2, &["no ids", "counted from zero"]);
    assert!(room.json("search bare.dps --row 3")["hits"][0].get("id").is_none());
}

#[test]
fn ids_do_not_move_the_numbers_and_a_release_without_them_has_its_bytes() {
    let room = room();
    let noise = "--seed 3 --insecure-test-noise 5";
    room.json(&format!("release sketch users.csv --id user_id --out bare.dps {SKETCH} {noise}"));
    room.json(&format!(
        "release sketch users.csv --keep-id user_id --out named.dps {SKETCH} {noise}"
    ));
    let (bare, named) = (room.read("bare.dps"), room.read("named.dps"));
    let numbers = 8 * N * D;
    assert_eq!(bare[..16 + numbers], named[..16 + numbers]);
    let block = ids().join("\n") + "\n";
    assert_eq!(&named[16 + numbers..16 + numbers + block.len()], block.as_bytes());
    let trailer = |file: &[u8]| parts(file).1;
    assert_eq!(trailer(&named)["ids"], block.len());
    assert!(trailer(&bare).get("ids").is_none());
    let mut other = trailer(&named);
    other.as_object_mut().expect("an object").remove("ids");
    other["certificate"] = trailer(&bare)["certificate"].clone();
    assert_eq!(other, trailer(&bare));
}

/// Payload (with ids) and trailer.
fn parts(file: &[u8]) -> (Vec<u8>, Value) {
    let end = file.len() - 40;
    let length = u64::from_le_bytes(file[end..end + 8].try_into().expect("eight bytes")) as usize;
    let trailer = serde_json::from_slice(&file[end - length..end]).expect("JSON");
    (file[16..end - length].to_vec(), trailer)
}

/// A file with its checksum set right, and nothing else.
fn sealed(file: &[u8], body: &[u8], trailer: &Value) -> Vec<u8> {
    let mut rest = canonical(trailer).into_bytes();
    rest.extend((rest.len() as u64).to_le_bytes());
    let sum = Sha256::new()
        .chain_update(&file[..16])
        .chain_update(Sha256::digest(body))
        .chain_update(&rest);
    [&file[..16], body, &rest, &sum.finalize()].concat()
}

#[test]
fn exchanged_ids_are_refused() {
    let room = room();
    room.json(&format!("release sketch users.csv --keep-id user_id --out named.dps {SKETCH}"));
    let file = room.read("named.dps");
    let (body, trailer) = parts(&file);
    assert_eq!(sealed(&file, &body, &trailer), file);
    let at = 8 * N * D;
    let refused = |bytes: Vec<u8>, words: &[&str]| {
        room.write("bad.dps", bytes);
        for command in [
            "verify bad.dps",
            "inspect bad.dps",
            "search bad.dps --top 1",
            "export bad.dps --out never.csv",
        ] {
            room.refuses(command, 1, words);
        }
    };
    // Two people change places; the checksum is set right. The certificate's hash is not.
    let mut swapped = body.clone();
    let (a, b) = swapped[at..].split_at_mut(8);
    a.swap_with_slice(&mut b[..8]);
    refused(
        sealed(&file, &swapped, &trailer),
        &["not the payload that the certificate was written for"],
    );
    let mut damaged = file.clone();
    damaged[16 + at + 3] ^= 1;
    refused(damaged, &["checksum"]);
    // As many bytes, called numbers, or the reverse.
    let mut shorter = trailer.clone();
    shorter.as_object_mut().expect("an object").remove("ids");
    room.write("bad.dps", sealed(&file, &body, &shorter));
    room.refuses("verify bad.dps", 1, &["rejected"]);
    for ids in [0u64, 1, 8, 320 + 8, body.len() as u64, u64::MAX] {
        let mut other = trailer.clone();
        other["ids"] = ids.into();
        room.write("bad.dps", sealed(&file, &body, &other));
        room.refuses("verify bad.dps", 1, &["rejected"]);
    }
    // Who sets every hash right makes another release; its ids must still be ids.
    let edit = |change: &dyn Fn(&mut Vec<u8>)| forged(&file, |body| change(body));
    room.write("other.dps", edit(&|body| body[at..at + 2].copy_from_slice(b"v9")));
    room.json("verify other.dps");
    for bad in [b"\n".as_slice(), b"\x01", b"\xff", b"\x7f"] {
        room.write("bad.dps", edit(&|body| body[at] = bad[0]));
        room.refuses("verify bad.dps", 1, &["ids"]);
    }
    let twice = edit(&|body| body.copy_within(at..at + 8, at + 8));
    room.write("bad.dps", twice);
    room.refuses("verify bad.dps", 1, &["ids", "two rows have one id"]);
}

#[test]
fn what_is_no_id_is_refused_before_anything_is_paid() {
    let room = room();
    room.json(
        "ledger init l.json --data x --epsilon 99 --delta 1e-5 --adjacency attribute --beta 1",
    );
    let refused = |content: &str, column: &str, code: i32, words: &[&str]| {
        room.write("t.csv", content);
        for options in ["--ledger l.json", "--dry-run"] {
            let run = format!(
                "release sketch t.csv --keep-id {column} --out refused.dps {options} {SKETCH}"
            );
            room.refuses(&run, code, words);
        }
        assert_eq!(room.json("ledger show l.json")["releases"], 0);
    };
    let mut twice = ids();
    twice[20] = twice[3].clone();
    refused(&table(&twice), "user_id", 4, &["t.csv", "two rows have one id"]);
    let mut empty = ids();
    empty[5] = String::new();
    refused(&table(&empty), "user_id", 4, &["an id"]);
    let mut long = ids();
    long[5] = "x".repeat(257);
    refused(&table(&long), "user_id", 4, &["1 to 256 bytes"]);
    let mut control = ids();
    control[5] = "a\u{7}".into();
    refused(&table(&control), "user_id", 4, &["control characters"]);
    refused(&table(&ids()), "nobody", 2, &["no column \"nobody\""]);
    refused(&table(&ids()), "1-2", 2, &["several columns"]);
    // Where presence is protected, or there are no rows in the release, nothing takes ids.
    let row = "--adjacency add-remove-row --norm-bound 9 --epsilon 1 --delta 1e-6";
    room.refuses(
        &format!("release covariance users.csv --keep-id user_id --out refused.dps {row}"),
        2,
        &["--keep-id"],
    );
    room.write("n.npy", b"\x93NUMPY\x01\x00");
    room.refuses(
        &format!("release sketch n.npy --keep-id 1 --out refused.dps {SKETCH}"),
        2,
        &["--keep-id", "CSV, Parquet or Arrow"],
    );
    let parts = "--plan-parts --key k --seed 3";
    room.refuses(
        &format!("release sketch users.csv --keep-id 1 --out refused.dps {parts} {SKETCH}"),
        2,
        &["--keep-id"],
    );
}

#[test]
fn ids_come_from_parquet_and_arrow_and_go_into_exports() {
    let room = room();
    let values = numbers(N, D);
    let column = |j: usize| -> ArrayRef {
        Arc::new(values.iter().skip(j).step_by(D).copied().collect::<Float64Array>())
    };
    let texts: ArrayRef = Arc::new(StringArray::from(ids()));
    let whole: ArrayRef = Arc::new((0..N as i64).map(|i| 900 - i).collect::<Int64Array>());
    for (kind, named) in [("texts", texts), ("whole", whole)] {
        // The column of ids stands between others.
        let batch = RecordBatch::try_from_iter([
            ("a0", column(0)),
            ("a1", column(1)),
            ("who", named),
            ("a2", column(2)),
            ("a3", column(3)),
        ])
        .expect("a batch");
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).expect("a writer");
        writer.write(&batch).expect("written");
        writer.close().expect("closed");
        room.write("t.parquet", bytes);
        let mut bytes = Vec::new();
        let mut writer =
            arrow_ipc::writer::FileWriter::try_new(&mut bytes, &batch.schema()).expect("a writer");
        writer.write(&batch).expect("written");
        writer.finish().expect("finished");
        room.write("t.arrow", bytes);
        let called =
            |i: usize| if kind == "texts" { ids()[i].clone() } else { (900 - i).to_string() };
        for file in ["t.parquet", "t.arrow"] {
            let made = room
                .json(&format!("release sketch {file} --keep-id who --out t.dps --force {SKETCH}"));
            assert_eq!(made["columns_that_entered"].as_array().expect("names").len(), D);
            let asked = room.json(&format!("distance t.dps {} {}", called(0), called(39)));
            assert_eq!((&asked["i"], &asked["j"]), (&0.into(), &39.into()), "{kind} {file}");
        }
    }
    room.json(&format!("release sketch users.csv --keep-id user_id --out t.dps --force {SKETCH}"));
    for end in ["csv", "arrow", "parquet"] {
        room.json(&format!("export t.dps --out t.out.{end}"));
    }
    let csv = String::from_utf8(room.read("t.out.csv")).expect("text");
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("row,id,v0,v1,v2,v3"));
    assert!(
        lines.zip(ids()).enumerate().all(|(i, (line, id))| line.starts_with(&format!("{i},{id},")))
    );
    let file = std::fs::File::open(room.path("t.out.arrow")).expect("a file");
    let batch = arrow_ipc::reader::FileReader::try_new(file, None)
        .expect("Arrow")
        .next()
        .expect("one")
        .expect("a batch");
    let named: Vec<&str> = batch["id"].as_string::<i32>().iter().flatten().collect();
    assert_eq!(named, ids());
    let npy = room.run("export t.dps --out t.npy");
    assert!(npy.status.success() && text(&npy).contains("no place for ids"), "{}", text(&npy));
}

/// Rows of a user beyond the first leave with their names.
#[test]
fn ids_of_rows_that_are_left_out_are_left_out() {
    let room = Room::new();
    room.write("t.csv", "row,who,a,b\nr1,ann,0.1,0.2\nr2,ann,0.3,0.4\nr3,bob,0.5,0.6\nr4,ann,0.7,0.8\nr5,bob,0.9,1\n");
    let run = "release sketch t.csv --keep-id row --user who --rows-a-user 2 --out t.dps -k 2 --family identity \
               --adjacency attribute --beta 1 --bound 1 --epsilon 2 --delta 1e-6";
    room.json(run);
    assert_eq!(room.json("distance t.dps r3 r5")["j"], 3);
    room.refuses("distance t.dps r4 r5", 2, &["no row is called so"]);
}

/// Pairs of a file by position and by name, against the same questions one by one.
#[test]
fn pairs_of_a_file_are_answered_as_single_ones() {
    let room = room();
    for (name, options) in KINDS {
        // Of the others `distance` knows nothing.
        if !["sketch", "signs", "minhash"].contains(&name) {
            continue;
        }
        let flips = if name == "signs" { "--flips response" } else { "" };
        room.json(&format!("release {options} {flips} --out {name}.dps"));
        room.json(&format!("release {} {flips} --out bare.dps --force", unnamed(options)));
        let asked = [(0, 1), (7, 39), (39, 7), (5, 5)];
        let numbers: String = asked.iter().map(|(i, j)| format!("{i} {j}\n")).collect();
        room.write("numbers.txt", format!("\u{feff}{numbers}\n"));
        let named: String =
            asked.iter().map(|&(i, j)| format!("{},  {}\r\n", ids()[i], ids()[j])).collect();
        room.write("names.csv", named);
        for (release, pairs) in [("bare", "numbers.txt"), (name, "names.csv")] {
            let many = room.json(&format!("distance {release}.dps --pairs {pairs}"));
            assert_eq!(many["pairs"], asked.len(), "{name}");
            let many = many["estimates"].as_array().expect("rows");
            let mut rest = many.iter();
            for (i, j) in asked {
                let of = |row: usize| {
                    if release == "bare" { row.to_string() } else { ids()[row].clone() }
                };
                let one = room.json(&format!("distance {release}.dps {} {}", of(i), of(j)));
                for row in one["estimates"].as_array().expect("rows") {
                    let mut found = rest.next().expect("as many").clone();
                    let found = found.as_object_mut().expect("an object");
                    let said = ["i", "j", "id_i", "id_j"].map(|key| found.remove(key));
                    assert_eq!(said[..2], [Some(i.into()), Some(j.into())], "{name}");
                    let kept =
                        [i, j].map(|row| (release != "bare").then(|| ids()[row].clone().into()));
                    assert_eq!(said[2..], kept, "{name}");
                    assert_eq!(Value::from(found.clone()), *row, "{name} {i} {j}");
                }
            }
            assert!(rest.next().is_none(), "{name}");
        }
    }
}

/// The same release without names.
fn unnamed(options: &str) -> String {
    options.replace("--keep-id user_id", "--id 1").replace("--keep-id 1", "--id-first")
}

#[test]
fn pairs_that_cannot_be_asked_are_refused_with_their_line() {
    let room = room();
    room.json(&format!("release sketch users.csv --keep-id user_id --out named.dps {SKETCH}"));
    room.json(&format!("release sketch users.csv --id user_id --out bare.dps {SKETCH}"));
    let refused = |release: &str, pairs: &str, code: i32, words: &[&str]| {
        room.write("p.txt", pairs);
        room.refuses(&format!("distance {release}.dps --pairs p.txt"), code, words);
    };
    let known = format!("{} {}\n", ids()[0], ids()[1]);
    refused(
        "named",
        &format!("{known}\n{} nobody\n", ids()[2]),
        2,
        &["p.txt, line 3", "\"nobody\"", "no row is called so"],
    );
    refused("named", "0 1\n", 2, &["line 1", "no row is called so"]);
    refused("bare", "0 1\n3 40\n", 2, &["p.txt, line 2", "\"40\"", "40 rows"]);
    refused("bare", "0 1\n-1 4\n", 2, &["line 2", "\"-1\""]);
    refused("bare", "i,j\n0,1\n", 2, &["line 1", "\"i\""]);
    for bad in ["0 1 2\n", "0\n", "0,\n", ",1\n", "0,1,\n", "0\t1\t2\n"] {
        refused("bare", &format!("0 1\n{bad}"), 4, &["two rows", "record 2"]);
    }
    refused("bare", "\n \n", 4, &["no pair"]);
    room.refuses("distance bare.dps 0 1 --pairs p.txt", 2, &["--pairs"]);
    room.refuses("distance bare.dps --pairs nowhere.txt", 3, &["nowhere.txt"]);
    room.refuses("distance bare.dps", 2, &["--pairs FILE"]);
    // Names with commas and white space: tabs stand between.
    room.write("t.csv", "who,a,b\n\"Lee, Ann\",0.1,0.2\nBob Ray,0.3,0.4\n");
    let run = "release sketch t.csv --keep-id who --out t.dps -k 2 --family identity --adjacency attribute --beta 1 --bound 1 \
               --epsilon 64 --delta 1e-6";
    room.json(run);
    room.write("p.txt", "Lee, Ann\tBob Ray\n");
    let found = room.json("distance t.dps --pairs p.txt");
    assert_eq!(found["estimates"][0]["id_i"].as_str(), Some("Lee, Ann"));
}

/// The nearest rows by squared distance, against all distances, one by one.
#[test]
fn search_by_squared_distance_is_the_least_of_all_distances() {
    let room = room();
    room.json(&format!("release sketch users.csv --keep-id user_id --out a.dps --seed 3 {SKETCH}"));
    room.json(&format!("release sketch users.csv --id user_id --out b.dps --seed 3 {SKETCH}"));
    let asked = [0, 7, 39];
    for other in ["", "b.dps"] {
        let name = |row: usize| if other.is_empty() { ids()[row].clone() } else { row.to_string() };
        let all = asked.iter().flat_map(|&query| (0..N).map(move |row| (row, query)));
        // The row of the database first, that of the queries second.
        let pairs: String =
            all.map(|(row, query)| format!("{}\t{}\n", ids()[row], name(query))).collect();
        room.write("pairs.txt", pairs);
        let option = if other.is_empty() { "".into() } else { format!("--other {other}") };
        let distances = room
            .json(&format!("distance a.dps --pairs pairs.txt {option} --measure squared-distance"));
        let distances = distances["estimates"].as_array().expect("rows");
        let rows: Vec<String> = asked.iter().map(|&row| name(row)).collect();
        let option = if other.is_empty() { "".into() } else { format!("--queries {other}") };
        let found = room.json(&format!(
            "search a.dps {option} --row {} --top 6 --score squared-distance",
            rows.join(",")
        ));
        let hits = found["hits"].as_array().expect("hits");
        assert_eq!(hits.len(), 6 * asked.len());
        for (at, query) in asked.into_iter().enumerate() {
            let mut expected: Vec<(f64, u64)> = distances[at * N..(at + 1) * N]
                .iter()
                .map(|row| {
                    (row["estimate"].as_f64().expect("a number"), row["i"].as_u64().expect("a row"))
                })
                .filter(|&(_, row)| !other.is_empty() || row != query as u64)
                .collect();
            expected.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (hit, (distance, row)) in hits[at * 6..].iter().zip(expected).take(6) {
                assert_eq!(hit["query"], query, "{found}");
                assert_eq!(
                    (hit["row"].as_u64(), hit["squared_distance"].as_f64()),
                    (Some(row), Some(distance))
                );
            }
        }
    }
    // Exact queries carry no noise: half of the correction.
    let made = room.json("export a.dps --out a.csv");
    let noise = made["subtract_from_squared_norms"].as_f64().expect("a number");
    let table = String::from_utf8(room.read("a.csv")).expect("text");
    let released: Vec<Vec<f64>> = table
        .lines()
        .skip(1)
        .map(|line| line.split(',').skip(2).map(|cell| cell.parse().expect("a number")).collect())
        .collect();
    let found = room.json(
        "search a.dps --query users.csv --id user_id --row 5 --top 3 --score squared-distance",
    );
    let query = &numbers(N, D)[5 * D..6 * D];
    let mut expected: Vec<(f64, usize)> = released
        .iter()
        .enumerate()
        .map(|(i, row)| {
            (row.iter().zip(query).map(|(y, x)| (y - x) * (y - x)).sum::<f64>() - noise, i)
        })
        .collect();
    expected.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (hit, (distance, row)) in found["hits"].as_array().expect("hits").iter().zip(expected) {
        assert_eq!(hit["row"], row);
        let said = hit["squared_distance"].as_f64().expect("a number");
        assert!((said - distance).abs() < 1e-9, "{said} {distance}");
    }
    // Where rows are not as they were released there is no distance.
    for (options, words) in [("--denoise", "neither denoised nor guessed"), ("--top 0", "--top")] {
        let run = format!("search a.dps --score squared-distance {options}");
        let output = room.run(&run);
        assert!(!output.status.success() && text(&output).contains(words), "{}", text(&output));
    }
    for (name, options) in
        KINDS.into_iter().filter(|(name, _)| ["units", "signs", "minhash"].contains(name))
    {
        room.json(&format!("release {options} --out {name}.dps"));
        let output = room.run(&format!("search {name}.dps --score squared-distance --top 1"));
        assert!(!output.status.success(), "{name}: {}", text(&output));
    }
}

#[test]
fn rows_whose_presence_is_protected_are_never_named() {
    let room = room();
    for (command, presence) in [
        ("sketch users.csv --keep-id user_id -k 4", "add-remove-row"),
        ("signs users.csv --keep-id user_id -k 4", "add-remove-row"),
        ("units users.csv --keep-id user_id -k 4", "add-remove-row"),
        ("covariance users.csv --keep-id user_id", "add-remove-row"),
        ("low-rank users.csv --keep-id user_id --rank 2", "add-remove-row"),
        ("covariance users.csv --keep-id user_id", "zero-row"),
    ] {
        let run = format!(
            "release {command} --adjacency {presence} --norm-bound 9 --epsilon 1 --delta 1e-6 --out refused.dps"
        );
        let output = room.run(&run);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{run}: {}", text(&output));
        assert!(!room.path("refused.dps").exists(), "{run}");
    }
}
