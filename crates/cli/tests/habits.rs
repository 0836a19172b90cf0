//! What people type and what their tools write: ranges of columns, tables with tabs, zstd, what pandas leaves behind.

use crate::support::{Room, csv, numbers, text};
use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use std::sync::Arc;

const SKETCH: &str = "--seed 3 --insecure-test-noise 7 --force -k 1 --adjacency attribute --beta 1 --bound 1 --epsilon 1 \
    --delta 1e-6";

fn entered(room: &Room, input: &str) -> Vec<String> {
    let made = room.json(&format!("release sketch {input} --out x.dps {SKETCH}"));
    let names = made["columns_that_entered"].as_array().expect("names");
    names.iter().map(|name| name.as_str().expect("a text").to_owned()).collect()
}

fn refused(room: &Room, input: &str, words: &[&str]) {
    room.refuses(&format!("release sketch {input} --out refused.dps {SKETCH}"), 2, words);
}

#[test]
fn ranges_of_columns_are_open_or_named() {
    let room = Room::new();
    room.write("t.csv", csv(&numbers(5, 9), 9));
    let names = |range: std::ops::RangeInclusive<usize>| -> Vec<String> {
        range.map(|i| format!("a{i}")).collect()
    };
    for (columns, expected) in [
        ("6-", names(5..=8)),
        ("-3", names(0..=2)),
        ("9-", names(8..=8)),
        ("2-4", names(1..=3)),
        ("a1-a3", names(1..=3)),
        ("a0-a8", names(0..=8)),
        ("-2,8-", [names(0..=1), names(7..=8)].concat()),
        ("a2-a2", names(2..=2)),
    ] {
        assert_eq!(entered(&room, &format!("t.csv --columns={columns}")), expected, "{columns}");
    }
    assert_eq!(entered(&room, "t.csv --id=3-"), names(0..=1));
    for bad in ["10-", "-10", "-0", "0-3", "a3-a1", "a1-", "-a1", "a1-a9", "5-2", "-"] {
        refused(&room, &format!("t.csv --columns={bad}"), &["no column"]);
    }
    // A name that holds the mark is that column; a range that could be cut twice is none.
    room.write("m.csv", "x,x-y,y,y-x,z\n0.1,0.2,0.3,0.4,0.5\n");
    assert_eq!(entered(&room, "m.csv --columns x-y"), ["x-y"]);
    assert_eq!(entered(&room, "m.csv --columns x-z"), ["x", "x-y", "y", "y-x", "z"]);
    assert_eq!(entered(&room, "m.csv --columns x-y-z"), ["x-y", "y", "y-x", "z"]);
    room.write("m.csv", "a,b-a,a-b,b\n0.1,0.2,0.3,0.4\n");
    assert_eq!(entered(&room, "m.csv --columns a-b-a"), ["a", "b-a"]);
    room.write("m.csv", "a-b,a,x,b-a\n0.1,0.2,0.3,0.4\n");
    refused(&room, "m.csv --columns a-b-a", &["two ways", "positions"]);
}

#[test]
fn tables_named_tsv_hold_tabs() {
    let room = Room::new();
    let table = csv(&numbers(50, 4), 4);
    room.write("t.csv", &table);
    entered(&room, "t.csv");
    let expected = room.read("x.dps");
    room.write("t.tsv", table.replace(',', "\t"));
    room.write("T.TSV", table.replace(',', "\t"));
    room.write(
        "t.tsv.zst",
        zstd::encode_all(table.replace(',', "\t").as_bytes(), 3).expect("packed"),
    );
    for input in ["t.tsv", "T.TSV", "t.tsv.zst", "t.tsv --delimiter tab"] {
        entered(&room, input);
        assert_eq!(room.read("x.dps"), expected, "{input}");
    }
    // A table with commas under that name is not read as one column.
    room.write("wrong.tsv", &table);
    refused(&room, "wrong.tsv", &["one field", "--delimiter ','"]);
    entered(&room, "wrong.tsv --delimiter ,");
    assert_eq!(room.read("x.dps"), expected);
}

#[test]
fn zstd_is_read_in_whole_frames_only() {
    let room = Room::new();
    let table = csv(&numbers(3_000, 4), 4);
    room.write("t.csv", &table);
    entered(&room, "t.csv");
    let expected = room.read("x.dps");
    let packed = zstd::encode_all(table.as_bytes(), 3).expect("packed");
    // Several frames are one file, and the name may say nothing.
    let (a, b) = table.as_bytes().split_at(table.len() / 2);
    let frames = [a, b].map(|part| zstd::encode_all(part, 19).expect("packed")).concat();
    for (file, bytes) in [("t.csv.zst", &packed), ("two.csv.zstd", &frames), ("named.csv", &packed)]
    {
        room.write(file, bytes);
        entered(&room, file);
        assert_eq!(room.read("x.dps"), expected, "{file}");
    }
    let piped = room.pipe(&format!("release sketch - --out p.dps {SKETCH}"), &packed);
    assert!(piped.status.success(), "{}", text(&piped));
    assert_eq!(room.read("p.dps"), expected);
    // What is cut or damaged is refused, and nothing is paid.
    room.json(
        "ledger init l.json --data x --epsilon 99 --delta 1e-5 --adjacency attribute --beta 1",
    );
    let mut damaged = packed.clone();
    let at = damaged.len() / 2;
    damaged[at] ^= 0x55;
    for bytes in [&packed[..packed.len() - 5], &packed[..packed.len() / 2], &damaged] {
        room.write("bad.csv.zst", bytes);
        let run = "release sketch bad.csv.zst --out refused.dps --ledger l.json -k 2 --adjacency attribute --beta 1 --bound 1 \
                   --epsilon 1 --delta 1e-6";
        let output = room.run(run);
        assert!(
            !output.status.success() && text(&output).contains("bad.csv.zst"),
            "{}",
            text(&output)
        );
        assert!(!room.path("refused.dps").exists());
        assert_eq!(room.json("ledger show l.json")["releases"], 0);
    }
}

#[test]
fn what_pandas_writes_is_understood_or_said() {
    let room = Room::new();
    // `to_csv` with its index, which has no name; `read_csv` and `to_csv` once more.
    for index in ["", "Unnamed: 0"] {
        room.write("i.csv", format!("{index},age,height\n0,0.1,0.2\n1,0.3,0.4\n"));
        refused(&room, "i.csv", &["column 1", "index", "--id 1", "--keep 1"]);
        assert_eq!(entered(&room, "i.csv --id 1"), ["age", "height"]);
    }
    // `to_parquet` with an index of another name, which the file states.
    for (index, known) in [(r#"["z"]"#, true), (r#"[{"kind": "range", "stop": 2}]"#, false)] {
        let column = |a, b| Arc::new(Float64Array::from(vec![a, b])) as ArrayRef;
        let batch =
            RecordBatch::try_from_iter([("age", column(0.1, 0.3)), ("z", column(0.0, 1.0))]);
        let batch = batch.expect("a batch");
        let stated = [("pandas".to_owned(), format!("{{\"index_columns\": {index}}}"))];
        let fields = batch.schema().fields().clone();
        let schema = Arc::new(Schema::new_with_metadata(fields, stated));
        let batch = batch.with_schema(schema.clone()).expect("the same columns");
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, schema, None).expect("a writer");
        writer.write(&batch).expect("written");
        writer.close().expect("closed");
        room.write("z.parquet", bytes);
        if known {
            let words =
                &["column 2 (\"z\") is the index", "as the file says", "--id 2", "--keep 2"];
            refused(&room, "z.parquet", words);
        } else {
            assert_eq!(entered(&room, "z.parquet"), ["age", "z"]);
        }
        assert_eq!(entered(&room, "z.parquet --keep z"), ["age", "z"]);
        assert_eq!(entered(&room, "z.parquet --id z"), ["age"]);
    }
    // A column of whole numbers with a hole is one of floats, and the hole is NaN.
    let zeros = "age,height\n0,0.2\n0.5,0\n";
    room.write("zeros.csv", zeros);
    entered(&room, "zeros.csv");
    let expected = room.read("x.dps");
    for hole in ["", "NaN", "nan", "NA", "null", "None", "-nan"] {
        room.write("h.csv", format!("age,height\n{hole},0.2\n0.5,{hole}\n"));
        room.refuses(
            &format!("release sketch h.csv --out refused.dps {SKETCH}"),
            4,
            &["column 1", "missing", "NaN", "--missing zero", "record 1"],
        );
        entered(&room, "h.csv --missing zero");
        assert_eq!(room.read("x.dps"), expected, "{hole:?}");
    }
    room.write("inf.csv", "age,height\ninf,0.2\n");
    for options in ["", "--missing zero"] {
        let run = format!("release sketch inf.csv {options} --out refused.dps {SKETCH}");
        room.refuses(&run, 4, &["not finite"]);
    }
    let column = |values: Vec<Option<f64>>| Arc::new(Float64Array::from(values)) as ArrayRef;
    for hole in [None, Some(f64::NAN)] {
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("age", column(vec![hole, Some(0.5)]), true),
            ("height", column(vec![Some(0.2), hole]), true),
        ]);
        let batch = batch.expect("a batch");
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).expect("a writer");
        writer.write(&batch).expect("written");
        writer.close().expect("closed");
        room.write("h.parquet", bytes);
        room.refuses(
            &format!("release sketch h.parquet --out refused.dps {SKETCH}"),
            4,
            &["missing", "--missing zero"],
        );
        entered(&room, "h.parquet --missing zero");
        assert_eq!(room.read("x.dps"), expected, "{hole:?}");
    }
}

#[test]
fn programs_read_names_seeds_and_warnings() {
    fn check(value: &serde_json::Value, depth: usize) {
        match value {
            serde_json::Value::Number(n) => assert!(n.as_u64().is_none_or(|n| n < 1 << 53), "{n}"),
            serde_json::Value::Array(list) => list.iter().for_each(|value| check(value, depth)),
            serde_json::Value::Object(fields) => {
                for (name, value) in fields {
                    // Names inside a certificate are its own.
                    let own = depth > 0 || name.chars().all(|c| c == '_' || c.is_alphanumeric());
                    assert!(own, "{name}");
                    check(value, depth + usize::from(value.is_object()));
                }
            }
            _ => {}
        }
    }
    let room = Room::new();
    room.write("t.csv", csv(&numbers(50, 4), 4));
    let seed = u64::MAX - 4;
    let options = SKETCH.replace("--seed 3", &format!("--seed {seed}")).replace("beta 1", "beta 3");
    let made = room.json(&format!("release sketch t.csv --out a.dps {options}"));
    assert_eq!(made["projection_seed"], seed.to_string());
    let warned: Vec<&str> =
        made["warnings"].as_array().expect("some").iter().filter_map(|w| w.as_str()).collect();
    assert!(warned.iter().any(|said| said.contains("only adds noise")), "{warned:?}");
    assert!(warned.iter().any(|said| said.contains("NOT private")), "{warned:?}");
    let told = room.json("inspect a.dps");
    assert_eq!(told["public"]["projection seed"], seed.to_string());
    assert!(told.get("warnings").is_none(), "{told}");
    let accept = "--accept test-noise";
    for said in [
        &made,
        &told,
        &room.json(&format!("verify a.dps {accept}")),
        &room.json(&format!("distance a.dps 0 1 {accept}")),
        &room.json(&format!("search a.dps --row 0 {accept}")),
        &room.json("plan distance --rows 9 --features 64 --squared-distance 4 --epsilon 1 --delta 1e-6 --adjacency attribute --beta 1"),
    ] {
        check(said, 0);
    }
}
