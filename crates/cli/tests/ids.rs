//! Names of rows: published with a release on purpose, asked for and answered by, covered by its certificate.

use crate::named::{D, KINDS, N, SKETCH, ids, room, table};
use crate::support::{Room, forged, numbers, text};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use dp_core::certificate::canonical;
use parquet::arrow::ArrowWriter;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::sync::Arc;

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
    // A file is searched a piece at a time, what comes through a pipe as a whole.
    for (name, accept) in [("sketch", ""), ("signs", ""), ("individual", "--accept individual")] {
        let ask = format!("--query users.csv --id user_id --row 3,9 --top 4 {accept} --json");
        let piped = room.pipe(&format!("search - {ask}"), &room.read(&format!("{name}.dps")));
        assert!(piped.status.success(), "{name}: {}", text(&piped));
        let whole: serde_json::Value = serde_json::from_slice(&piped.stdout).expect("JSON");
        assert_eq!(
            room.json(&format!("search {name}.dps {}", ask.trim_end_matches(" --json"))),
            whole
        );
        assert!(whole["hits"][0]["id"].is_string(), "{whole}");
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

#[test]
fn ids_that_hold_commas_are_asked_for() {
    let room = Room::new();
    room.write("t.csv", "who,a,b\n\"x,1\",0.1,0.2\ny,0.3,0.4\nz,0.5,0.6\n");
    room.json(&format!(
        "release sketch t.csv --keep-id who --out t.dps {}",
        SKETCH.replace("-k 4", "-k 2")
    ));
    for (asked, expected) in
        [("--row x,1", vec![0]), ("--row y,z", vec![1, 2]), ("--row x,1 --row z,y", vec![0, 2, 1])]
    {
        let found = room.json(&format!("search t.dps {asked} --top 1"));
        let hits = found["hits"].as_array().expect("hits").iter();
        let queries: Vec<u64> = hits.filter_map(|hit| hit["query"].as_u64()).collect();
        assert_eq!(queries, expected, "{asked}");
    }
    for asked in ["x,2", "y,x,1"] {
        room.refuses(&format!("search t.dps --row {asked}"), 2, &["--row \"x\"", "as in x,1"]);
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
