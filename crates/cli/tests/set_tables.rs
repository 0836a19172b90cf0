//! Sets in JSON lines and in tables: the release of the same sets in lines of words, or a refusal.

use crate::support::{Room, text};
use arrow_array::builder::{
    FixedSizeListBuilder, LargeListBuilder, ListBuilder, StringBuilder, UInt32Builder,
};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use std::sync::Arc;

const FIXED: &str = "--seed 3 --insecure-test-noise 7 --force";
const SETS: &str = "-k 16 --adjacency set-items --alpha 1 --min-size 1 --epsilon 2 --delta 0";

/// Sets of two to six words, some beyond ASCII.
fn sets() -> Vec<Vec<String>> {
    let set = |i: usize| (0..2 + i % 5).map(|j| format!("ü{}é", (i * 5 + j * j) % 23)).collect();
    (0..300).map(set).collect()
}

fn name(i: usize) -> String {
    format!("Zoë {i}")
}

fn made(room: &Room, input: &str) -> Vec<u8> {
    let run = format!("release minhash {input} --out x.dps {FIXED} {SETS}");
    let output = room.run(&run);
    assert!(output.status.success(), "{run}: {}", text(&output));
    room.read("x.dps")
}

fn refused(room: &Room, file: &str, content: impl AsRef<[u8]>, options: &str, words: &[&str]) {
    room.write(file, content);
    let run = format!("release minhash {file} {options} --out refused.dps {SETS}");
    let output = room.run(&run);
    let all = text(&output);
    assert!(matches!(output.status.code(), Some(2 | 4)), "{run}: {all}");
    for word in words {
        assert!(all.contains(word), "{run}: no {word:?} in: {all}");
    }
    assert!(!room.path("refused.dps").exists(), "{run}");
}

fn parquet(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).expect("a writer");
    writer.write(batch).expect("written");
    writer.close().expect("closed");
    bytes
}

fn arrow(batch: &RecordBatch) -> Vec<u8> {
    let mut out =
        arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).expect("a writer");
    out.write(&batch.slice(0, batch.num_rows() / 2)).expect("written");
    out.write(&batch.slice(batch.num_rows() / 2, batch.num_rows().div_ceil(2))).expect("written");
    out.into_inner().expect("closed")
}

/// A column of lists of texts.
fn lists(sets: &[Vec<String>]) -> ArrayRef {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for set in sets {
        set.iter().for_each(|word| lists.values().append_value(word));
        lists.append(true);
    }
    Arc::new(lists.finish())
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)))
        .expect("a batch")
}

#[test]
fn every_form_of_the_same_sets_gives_the_same_release() {
    let room = Room::new();
    let sets = sets();
    room.write("plain.txt", sets.iter().map(|set| set.join(" ") + "\n").collect::<String>());
    let expected = made(&room, "plain.txt");

    // JSON lines: lists, and objects in which the list is the only one or is named.
    let json = |set: &Vec<String>| serde_json::to_string(set).expect("JSON");
    room.write("l.jsonl", sets.iter().map(|set| json(set) + "\n").collect::<String>());
    assert_eq!(made(&room, "l.jsonl"), expected);
    let padded =
        |set: &Vec<String>| format!("[\" {}\\t\"]", set.join(" \", \"")).replace('é', "\\u00e9");
    room.write("p.ndjson", sets.iter().map(|set| padded(set) + "\r\n").collect::<String>());
    assert_eq!(made(&room, "p.ndjson"), expected, "white space and escapes");
    let object = |(i, set): (usize, &Vec<String>)| {
        format!("{{\"who\": \"{}\", \"tags\": {}, \"age\": 3}}\n", name(i), json(set))
    };
    room.write("o.jsonl", sets.iter().enumerate().map(object).collect::<String>());
    assert_eq!(made(&room, "o.jsonl"), expected);
    let two = |set: &Vec<String>| format!("{{\"tags\": {}, \"friends\": [1, 2]}}\n", json(set));
    room.write("two.jsonl", sets.iter().map(two).collect::<String>());
    assert_eq!(made(&room, "two.jsonl --items tags"), expected);

    // CSV: a cell cut at a separator, several columns, an item a row.
    let cell = |(i, set): (usize, &Vec<String>)| format!("{},\"{}\",7\n", name(i), set.join("; "));
    let cells = sets.iter().enumerate().map(cell).collect::<String>();
    room.write("c.csv", format!("who,tags,age\n{cells}"));
    assert_eq!(made(&room, "c.csv --items tags --separator ;"), expected);
    assert_eq!(made(&room, "c.csv --items 2 --separator ;"), expected);
    room.write("bare.csv", &cells);
    assert_eq!(made(&room, "bare.csv --items 2 --separator ; --no-header"), expected);
    room.write("c.tsv", format!("who\ttags\n{}", cells.replace(',', "\t")).replace("\t7\n", "\n"));
    assert_eq!(made(&room, "c.tsv --items tags --separator ;"), expected);
    let wide = |set: &Vec<String>| {
        let cells = (0..6).map(|j| set.get(j).map_or("", String::as_str));
        cells.collect::<Vec<_>>().join(",") + ",x\n"
    };
    let wide: String = sets.iter().map(wide).collect();
    room.write("w.csv", format!("i0,i1,i2,i3,i4,i5,other\n{wide}"));
    assert_eq!(made(&room, "w.csv --items i0,i1,i2,i3,i4,i5"), expected);
    let mut long = String::from("item,who\n");
    for (i, set) in sets.iter().enumerate() {
        // The last item twice: a pair that is repeated says nothing new.
        let words = set.iter().chain(set.last());
        words.for_each(|word| long += &format!("{word},{}\n", name(i)));
    }
    room.write("long.csv", &long);
    assert_eq!(made(&room, "long.csv --items item --set-id who"), expected);
    room.write("long.csv.zst", zstd::encode_all(long.as_bytes(), 3).expect("compressed"));
    assert_eq!(made(&room, "long.csv.zst --items item --set-id who"), expected);

    // Parquet and Arrow: lists of three types, and the tables of CSV.
    let whole = |i: usize| i as i64;
    let ids: ArrayRef = Arc::new((0..sets.len()).map(whole).collect::<Int64Array>());
    let mut large = LargeListBuilder::new(StringBuilder::new());
    for set in &sets {
        set.iter().for_each(|word| large.values().append_value(word));
        large.append(true);
    }
    let pairs = long.lines().skip(1).map(|line| line.split_once(',').expect("a pair"));
    let (items, who): (Vec<&str>, Vec<&str>) = pairs.unzip();
    let rows = batch(vec![
        ("who", Arc::new(StringArray::from(who)) as ArrayRef),
        ("item", Arc::new(StringArray::from(items))),
    ]);
    let (small, large) = (lists(&sets), Arc::new(large.finish()) as ArrayRef);
    for (i, (batch, options)) in [
        (batch(vec![("id", ids.clone()), ("tags", small.clone())]), ""),
        (batch(vec![("tags", large), ("id", ids.clone())]), "--items tags"),
        (batch(vec![("other", small.clone()), ("tags", small)]), "--items tags"),
        (rows, "--items item --set-id who"),
    ]
    .into_iter()
    .enumerate()
    {
        room.write(&format!("{i}.parquet"), parquet(&batch));
        assert_eq!(made(&room, &format!("{i}.parquet {options}")), expected, "{i} {options}");
        room.write(&format!("{i}.arrow"), arrow(&batch));
        assert_eq!(made(&room, &format!("{i}.arrow {options}")), expected, "{i} {options}");
    }
}

#[test]
fn whole_numbers_are_the_text_of_their_digits() {
    let room = Room::new();
    let numbers = |i: u32| [i % 7, 7 + i % 5, 20 + i % 3];
    let line = |i: u32| numbers(i).map(|x| x.to_string()).join(" ") + "\n";
    room.write("plain.txt", (0..50).map(line).collect::<String>());
    let expected = made(&room, "plain.txt");
    let mixed = |i: u32| {
        let [a, b, c] = numbers(i);
        format!("[{a}, \"{b}\", {c}, {a}]\n")
    };
    room.write("m.jsonl", (0..50).map(mixed).collect::<String>());
    assert_eq!(made(&room, "m.jsonl"), expected);
    let mut fixed = FixedSizeListBuilder::new(UInt32Builder::new(), 3);
    for i in 0..50 {
        numbers(i).into_iter().for_each(|x| fixed.values().append_value(x));
        fixed.append(true);
    }
    room.write("f.parquet", parquet(&batch(vec![("tags", Arc::new(fixed.finish()) as ArrayRef)])));
    assert_eq!(made(&room, "f.parquet"), expected);
}

#[test]
fn names_come_from_every_form() {
    let room = Room::new();
    room.write(
        "o.jsonl",
        "{\"who\": \"Zoë\", \"tags\": [\"a\"]}\n{\"who\": 7, \"tags\": [\"b\"]}\n",
    );
    room.write("c.csv", "who,tags\nZoë,a\n7,b\n");
    room.write("long.csv", "who,item\nZoë,a\n7,b\n");
    let column: ArrayRef = Arc::new(StringArray::from(vec!["Zoë", "7"]));
    let tags = lists(&[vec!["a".into()], vec!["b".into()]]);
    room.write("p.parquet", parquet(&batch(vec![("tags", tags), ("who", column)])));
    for input in [
        "o.jsonl",
        "c.csv --items tags --separator ;",
        "long.csv --items item --set-id who",
        "p.parquet",
    ] {
        made(&room, &format!("{input} --keep-id who"));
        let asked = room.json("distance x.dps 7 Zoë --accept test-noise");
        assert_eq!((&asked["i"], &asked["j"]), (&1.into(), &0.into()), "{input}");
    }
    for (file, options) in [
        ("o.jsonl", "--keep-id nobody"),
        ("c.csv", "--items tags --separator ; --keep-id nobody"),
        ("long.csv", "--items item --set-id who --keep-id item"),
        ("p.parquet", "--keep-id nobody"),
    ] {
        refused(&room, file, room.read(file), options, &[]);
    }
    let twice = "{\"who\": \"a\", \"tags\": [\"a\"]}\n{\"who\": \"a\", \"tags\": [\"b\"]}\n";
    refused(&room, "twice.jsonl", twice, "--keep-id who", &["two rows have one id"]);
    refused(&room, "none.jsonl", "{\"tags\": [\"a\"]}\n", "--keep-id who", &["named field once"]);
    let half = "{\"who\": 1.5, \"tags\": [\"a\"]}\n";
    refused(&room, "half.jsonl", half, "--keep-id who", &["neither a text nor a whole number"]);
}

#[test]
fn malformed_and_unclear_sets_are_refused() {
    let room = Room::new();
    let no = |file: &str, content: &str, options: &str, words: &[&str]| {
        refused(&room, file, content, options, words);
    };
    // JSON lines.
    for bad in [
        "[1.5]",
        "[null]",
        "[true]",
        "[[\"a\"]]",
        "{\"a\": 1}",
        "7",
        "\"a\"",
        "[\"a\"",
        "[\"a\"] [\"b\"]",
        "{\"tags\": \"a\"}",
        "{\"tags\": null}",
    ] {
        no("bad.jsonl", &format!("[\"a\"]\n{bad}\n"), "", &["record 2"]);
    }
    no("e.jsonl", "[\"a\"]\n[]\n", "", &["must not be empty"]);
    no("e.jsonl", "[\"a\", \" \"]\n", "", &["empty text"]);
    no("e.jsonl", "\n\n", "", &["no set"]);
    no("e.jsonl", "[\"a\"]\n\n[\"b\"]\n", "", &["an empty line", "record 2"]);
    no("e.jsonl", "{\"a\": [\"x\"], \"b\": [\"y\"]}\n", "", &["--items FIELD"]);
    no("e.jsonl", "{\"a\": [\"x\"], \"a\": [\"y\"]}\n", "--items a", &["once"]);
    let moved = "{\"a\": [\"x\"], \"b\": null}\n{\"a\": null, \"b\": [\"y\"]}\n";
    no("e.jsonl", moved, "", &["stands elsewhere", "record 2"]);
    no("e.jsonl", "[\"a\"]\n{\"a\": [\"x\"]}\n", "", &["stands elsewhere"]);
    no("e.jsonl", "[\"a\"]\n", "--items a", &["is a list"]);
    no("e.jsonl", "[\"a\"]\n", "--separator ,", &["no effect"]);
    refused(&room, "u.jsonl", b"[\"\xff\"]\n", "", &["UTF-8"]);
    // Text that no option explains.
    no("t.csv", "who,tags\nann,a\n", "", &["--items COLUMN"]);
    no("t.csv", "who,tags\nann,a\n", "--items tags", &["--separator", "--set-id"]);
    no("t.csv", "who,tags\nann,a\n", "--items nothing --separator ;", &["no column"]);
    // A first line may be a person's, unless it is said to hold names.
    let asked = |header: &str| {
        room.write("t.csv", "Alice,HIV\nBob,flu\n");
        let run = format!(
            "release minhash t.csv --items nothing --separator ; {header} --out refused.dps {SETS}"
        );
        text(&room.run(&run))
    };
    assert!(!asked("").contains("HIV") && asked("--header").contains("HIV"));
    no("t.csv", "who,tags\nann,a\n", "--items who,tags --separator ;", &["a cell holds one"]);
    no(
        "t.csv",
        "who,tags\nann,a\n",
        "--items tags --set-id who --separator ;",
        &["leave --separator out"],
    );
    no(
        "t.csv",
        "who,tags\nann,a\nbob,\n",
        "--items tags --separator ;",
        &["must not be empty", "record 2"],
    );
    no("t.csv", "who,tags\nann,a\nbob\n", "--items tags --separator ;", &["1 fields", "record 2"]);
    no("t.csv", "who,tags,tags\nann,a,b\n", "--items tags --separator ;", &[]);
    no("t.csv", "who,tags\n", "--items tags --separator ;", &["no set"]);
    no("t.csv", "who,tags\nann,abc\n", "--items tags --separator=", &["--separator is empty"]);
    // Quotes that hide what follows, or that a cell goes on behind.
    for (text, words) in [
        ("who,tags\nann,a\nbob,\"b\ncy,c\n", ["never closed", "record 2"]),
        ("who,tags\nann,\"a\"b\n", ["text follows the quote", "record 1"]),
        ("who,\"tags\nann,a\n", ["never closed", "the first line"]),
    ] {
        no("t.csv", text, "--items tags --separator ;", &words);
    }
    // Of one column an empty line is a set without items.
    for text in ["tags\na\n\nb\n", "tags\r\na\r\n\r\nb\r\n", "tags\n\"a\nc\"\n\nb\n"] {
        no("o.csv", text, "--items tags --separator ;", &["must not be empty", "record 2"]);
    }
    no("o.csv", "\na\n", "--items 1 --separator ; --no-header", &["record 1"]);
    // Rows of one set that stand apart, and rows that lack something.
    let apart = "who,item\nann,a\nbob,b\nann,c\n";
    no("t.csv", apart, "--items item --set-id who", &["do not stand together", "sort"]);
    for hole in ["who,item\nann,a\n,b\n", "who,item\nann,a\nbob,\n"] {
        no("t.csv", hole, "--items item --set-id who", &["lacks its item", "record 2"]);
    }
    // Columns of lists.
    let words = |set: &[&str]| set.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let columns = |sets: &[Vec<String>]| vec![("tags", lists(sets))];
    let empty = batch(columns(&[words(&["a"]), words(&[])]));
    let blank = batch(columns(&[words(&["a", ""])]));
    let mut holes = ListBuilder::new(StringBuilder::new());
    holes.values().append_value("a");
    holes.append(true);
    holes.append(false);
    let null = batch(vec![("tags", Arc::new(holes.finish()) as ArrayRef)]);
    holes.values().append_null();
    holes.append(true);
    let inner = batch(vec![("tags", Arc::new(holes.finish()) as ArrayRef)]);
    let one = lists(&[words(&["a"])]);
    let two = batch(vec![("a", one.clone()), ("b", one.clone())]);
    let none = batch(vec![("a", Arc::new(StringArray::from(vec!["a"])) as ArrayRef)]);
    let floats: ArrayRef = Arc::new(arrow_array::Float64Array::from(vec![1.0]));
    let other = batch(vec![("tags", one), ("x", floats)]);
    for (batch, options, what) in [
        (&empty, "", "must not be empty"),
        (&blank, "", "empty text"),
        (&null, "", "a whole list is missing"),
        (&inner, "", "an item is missing"),
        (&two, "", "--items COLUMN"),
        (&none, "", "--items COLUMN"),
        (&none, "--items a", "--separator"),
        (&other, "--items x --separator ;", "neither text nor whole numbers"),
        (&other, "--separator ;", "holds lists"),
        (&other, "--header", "no effect"),
    ] {
        refused(&room, "bad.parquet", parquet(batch), options, &[what]);
        refused(&room, "bad.arrow", arrow(batch), options, &[what]);
    }
}
