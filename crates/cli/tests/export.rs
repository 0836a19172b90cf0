//! Releases as tables of other programs.

use crate::support::{Room, csv, number, numbers};
use ::csv as csv_reader;
use ::parquet::arrow::ArrowWriter;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int8Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

const N: usize = 5_000;

fn room() -> Room {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(N, 6), 6));
    room.json(
        "release sketch users.csv --out users.dps -k 4 --adjacency attribute --beta 1 --bound 1 --epsilon 1 \
         --delta 1e-6",
    );
    room
}

/// Row numbers and values, with what is said about them.
fn arrow(path: &Path) -> (Vec<RecordBatch>, HashMap<String, String>) {
    let file = File::open(path).expect("a file");
    let reader = arrow_ipc::reader::FileReader::try_new(file, None).expect("an Arrow file");
    let about = reader.schema().metadata().clone();
    (reader.map(|batch| batch.expect("a batch")).collect(), about.into())
}

fn parquet(path: &Path) -> (Vec<RecordBatch>, HashMap<String, String>) {
    use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let file = File::open(path).expect("a file");
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).expect("a Parquet file");
    let about = builder.metadata().file_metadata().key_value_metadata().expect("something").iter();
    let about = about.map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default()));
    let about = about.collect();
    (builder.build().expect("a reader").map(|batch| batch.expect("a batch")).collect(), about)
}

/// The values in order; row numbers must count up from zero.
fn values(batches: &[RecordBatch]) -> Vec<f64> {
    let (mut out, mut next) = (Vec::new(), 0);
    for batch in batches {
        for row in batch["row"].as_primitive::<UInt64Type>().values() {
            assert_eq!(*row, next);
            next += 1;
        }
        let lists = batch["values"].as_fixed_size_list();
        assert_eq!(lists.null_count(), 0);
        out.extend_from_slice(lists.values().as_primitive::<Float64Type>().values());
    }
    out
}

#[test]
fn every_format_holds_the_same_numbers_and_the_certificate() {
    let room = room();
    let made = ["csv", "npy", "arrow", "parquet"]
        .map(|end| room.json(&format!("export users.dps --out table.{end}")));
    assert!(made.iter().all(|m| m["rows"] == N && m["columns"] == 4), "{made:?}");

    let (batches, about) = arrow(&room.path("table.arrow"));
    let (others, others_about) = parquet(&room.path("table.parquet"));
    let exported = values(&batches);
    assert_eq!(exported.len(), 4 * N);
    assert_eq!(values(&others), exported);
    let hash = Sha256::digest(room.read("users.dps"));
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    for about in [&about, &others_about] {
        assert_eq!(about["dps.release.sha256"], hash);
        assert_eq!(about["dps.kind"], "sketch (f64)");
        // A certificate that verifies by itself.
        room.write("certificate.json", &about["dps.certificate"]);
        let said = room.json("verify certificate.json --accept sensitivity");
        assert_eq!(said["epsilon"], 1.0);
    }
    assert_eq!(made[0]["release_sha256"].as_str(), Some(&*hash));

    // The constant turns a plain squared distance into the unbiased one.
    let subtract = number(&made[0], "subtract_from_squared_distances");
    assert_eq!(about["dps.subtract from squared distances"].parse(), Ok(subtract));
    for (i, j) in [(0, 1), (7, 4_999)] {
        let row = |i: usize| &exported[4 * i..4 * i + 4];
        let plain: f64 = row(i).iter().zip(row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
        let asked = room.json(&format!("distance users.dps {i} {j}"));
        assert_eq!(asked["estimates"][0]["measure"], "squared distance");
        let unbiased = number(&asked["estimates"][0], "estimate");
        let difference = (plain - subtract - unbiased).abs();
        assert!(difference < 1e-9 * plain, "{plain} {subtract} {unbiased}");
    }
}

#[test]
fn text_and_npy_read_back_unchanged() {
    let room = room();
    room.json("export users.dps --out t.csv");
    room.json("export users.dps --out t.npy");
    room.json("export users.dps --out t.parquet");
    let expected = values(&parquet(&room.path("t.parquet")).0);
    let text = String::from_utf8(room.read("t.csv")).expect("text");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("row,v0,v1,v2,v3"));
    let read = lines.enumerate().flat_map(|(i, line)| {
        let mut cells = line.split(',');
        assert_eq!(cells.next(), Some(&*i.to_string()));
        cells.map(|cell| cell.parse::<f64>().expect("a number")).collect::<Vec<_>>()
    });
    assert_eq!(read.collect::<Vec<_>>(), expected);
    let bytes = room.read("t.npy");
    assert!(bytes.starts_with(b"\x93NUMPY"));
    let body = bytes[bytes.len() - 8 * expected.len()..].as_chunks::<8>().0;
    assert_eq!(body.iter().map(|b| f64::from_le_bytes(*b)).collect::<Vec<_>>(), expected);
}

#[test]
fn signs_and_matrices_are_exported() {
    let room = room();
    room.json(
        "release signs users.csv --out signs.dps -k 12 --repetitions 2 --adjacency attribute --beta 1 --bound 1 --epsilon 1 \
         --delta 1e-6",
    );
    room.json("export signs.dps --out signs.arrow");
    room.json("export signs.dps --out signs.npy");
    let batches = arrow(&room.path("signs.arrow")).0;
    let lists = batches[0]["values"].as_fixed_size_list();
    let signs = lists.values().as_primitive::<Int8Type>().values();
    assert!(signs.iter().all(|s| s.abs() == 1) && signs.contains(&-1) && signs.contains(&1));
    // Packed: two bytes a row, bit j of byte j / 8.
    let bytes = room.read("signs.npy");
    let packed = &bytes[bytes.len() - 2 * N..];
    for (i, row) in signs.chunks(12).enumerate() {
        for (j, sign) in row.iter().enumerate() {
            assert_eq!(packed[2 * i + j / 8] >> (j % 8) & 1 == 1, *sign == 1, "row {i}, bit {j}");
        }
    }

    // Sums of groups have no constant that makes distances of rows of them.
    room.json(
        "release sketch users.csv --out groups.dps --grid 2x3/2 --noise laplace --adjacency attribute --beta 1 \
         --bound 1 --epsilon 1 --delta 0",
    );
    let made = room.json("export groups.dps --out groups.csv");
    assert!(made.get("subtract_from_squared_distances").is_none(), "{made}");

    room.json(
        "release covariance users.csv --out c.dps --adjacency add-remove-row --norm-bound 4 --epsilon 1 \
         --delta 1e-6",
    );
    let made = room.json("export c.dps --out c.csv");
    assert_eq!((&made["rows"], &made["columns"]), (&6.into(), &6.into()));
}

#[test]
fn mistakes_are_refused_before_anything_is_written() {
    let room = room();
    room.refuses("export users.dps --out users.xlsx", 2, &[".csv", ".parquet"]);
    room.refuses("export users.dps --out table", 2, &[".csv"]);
    room.write("there.csv", "precious");
    room.refuses("export users.dps --out there.csv", 2, &["exists"]);
    assert_eq!(room.read("there.csv"), b"precious");
    let mut damaged = room.read("users.dps");
    let at = damaged.len() / 2;
    damaged[at] ^= 1;
    room.write("damaged.dps", damaged);
    room.refuses("export damaged.dps --out new.csv", 1, &["checksum"]);
    assert!(!room.path("new.csv").exists());
}

/// Names that need quotes in CSV, from a file that may hold any.
const NAMES: [&str; 4] = ["größe, cm", "say \"x\"", "y;\u{2028}'z", " padded "];

/// A covariance whose columns have these names.
fn named() -> Room {
    let room = Room::new();
    let values = numbers(50, 4);
    let columns = NAMES.into_iter().enumerate().map(|(j, name)| {
        let column = values.iter().skip(j).step_by(4).copied();
        (name, Arc::new(column.collect::<Float64Array>()) as ArrayRef)
    });
    let batch = RecordBatch::try_from_iter(columns).expect("a batch");
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("closed");
    room.write("named.parquet", bytes);
    room.json(
        "release covariance named.parquet --keep-names --out c.dps --adjacency add-remove-row --norm-bound 4 --epsilon 1 --delta 1e-6",
    );
    room
}

#[test]
fn names_of_columns_stand_in_headers_and_metadata() {
    let room = named();
    for end in ["csv", "arrow", "parquet"] {
        room.json(&format!("export c.dps --out c.{end}"));
    }
    let text = room.read("c.csv");
    let mut reader = csv_reader::Reader::from_reader(&text[..]);
    let header: Vec<String> =
        reader.headers().expect("a header").iter().map(str::to_owned).collect();
    assert_eq!(header[0], "row");
    assert_eq!(header[1..], NAMES);
    let records: Vec<_> = reader.records().map(|record| record.expect("a record")).collect();
    assert!(records.len() == 4 && records.iter().all(|record| record.len() == 5));
    for about in [arrow(&room.path("c.arrow")).1, parquet(&room.path("c.parquet")).1] {
        let names: Vec<String> = serde_json::from_str(&about["dps.columns"]).expect("a list");
        assert_eq!(names, NAMES);
    }
}
