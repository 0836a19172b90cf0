//! Files of which a part would be lost, or rounded, without a word: each is refused, and honest files like it are read.

use arrow_array::builder::{FixedSizeListBuilder, Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    UInt64Array,
};
use arrow_ipc::MetadataVersion;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{BloomFilterPosition, EnabledStatistics, WriterProperties};
use readers::{Block, Error, FileFormat, Missing, RowsFile, SetsFile};
use std::io::{Cursor, Read};
use std::sync::Arc;

/// What is said of a file, and of which record.
type Refused = (String, Option<u64>);

fn refused(error: Error) -> Refused {
    let record = match &error {
        Error::Data(data) => data.record,
        _ => None,
    };
    (error.to_string(), record)
}

/// The numbers of a file, row after row.
fn rows(
    name: &str,
    bytes: impl AsRef<[u8]>,
    options: impl FnOnce(RowsFile) -> RowsFile,
) -> Result<Vec<f64>, Refused> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("written");
    let mut input = options(RowsFile::new(path)).open().map_err(refused)?;
    let mut all = Vec::new();
    while let Some(block) = input.rows.next(Block::default()).map_err(refused)? {
        all.extend_from_slice(&block.dense(input.rows.d()));
    }
    Ok(all)
}

/// How many sets a file holds.
fn sets(
    name: &str,
    bytes: impl AsRef<[u8]>,
    options: impl FnOnce(SetsFile) -> SetsFile,
) -> Result<usize, Refused> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("written");
    let (mut reader, mut count) = (options(SetsFile::new(path)).open().map_err(refused)?, 0);
    loop {
        match reader.next().map_err(refused)?.len() {
            0 => return Ok(count),
            more => count += more,
        }
    }
}

/// Refuses with these words and this record, and repeats no value.
#[track_caller]
fn says<T: std::fmt::Debug>(found: Result<T, Refused>, words: &str, record: Option<u64>) {
    let (said, at) = found.expect_err(words);
    assert!(said.contains(words), "no {words:?} in: {said}");
    assert_eq!(at, record, "{said}");
    assert!(!said.contains("secret"), "{said}");
}

fn no_note(file: RowsFile) -> RowsFile {
    RowsFile { leave_out: vec!["2".into()], ..file }
}

fn no_names(file: RowsFile) -> RowsFile {
    RowsFile { header: Some(false), ..file }
}

fn as_it_is<T>(file: T) -> T {
    file
}

#[test]
fn quotes_that_do_not_end_with_their_cells_are_refused() {
    let open = "a quote is opened and never closed";
    let said = |text: &str| rows("t.csv", text, no_note);
    says(said("x,note\n1,\"5 secret\n2,b\n3,c\n"), open, Some(1));
    says(said("x,note\n1,\"a\"\n2,b\n3,\"5 secret"), open, Some(3));
    says(said("x,note\n1,\"a\"\n2,b\n3,\"5 \"\"secret\"\"\n"), open, Some(3));
    says(rows("t.csv", "x\n\"1\n2\n", as_it_is), open, Some(1));
    says(rows("t.csv", "\"1,2\n3,4\n", no_names), open, None);
    says(rows("t.csv", "1,2\n3,4\n5,\"6\n7,8\n", no_names), open, Some(3));
    says(rows("t.tsv", "x\tnote\n1\t\"secret\n2\tb\n", no_note), open, Some(1));
    // Behind chunks that are parsed in parallel.
    let long = "1,a\n".repeat(600_000);
    says(said(&format!("x,note\n{long}2,\"secret\n{long}")), open, Some(600_001));
    // A header that would take the first chunk of rows, or all of them.
    says(said("x,\"note\n1,secret\n2,b\n"), open, None);
    says(rows("t.csv", format!("\"x\n{}", "1\n".repeat(1 << 20)), as_it_is), open, None);

    let behind = "text follows the quote that closes a cell";
    says(rows("t.csv", "x,y\n1,2\n\"1\"5,2\n", as_it_is), behind, Some(2));
    says(rows("t.csv", "x,y\n\"1\" ,2\n", as_it_is), behind, Some(1));
    says(rows("t.csv", "x\n\"1\"5\n", as_it_is), behind, Some(1));
    says(said("x,note\n1,\"a \"secret\" b\"\n"), behind, Some(1));
    says(rows("t.csv", "\"x\"y,z\n1,2\n", as_it_is), behind, None);
}

#[test]
fn quotes_that_end_with_their_cells_are_read() {
    for (name, text) in [
        ("t.csv", "\"x\",\"note\"\r\n1,\"a\r\nb \"\"c\"\", d\"\r\n\"2\",\"\"\r\n3,\"e\""),
        ("t.csv", "x,note\n1,5\" pipe\n2,a\"b\"c \"\n3, \"d\"\n"),
        ("t.csv", "x,note\r1,\"a\rb\"\r2,c\r3,\"d\"\r"),
        ("t.csv", "\u{feff}\"x\",\"no\nte\"\n\n1,\"a,\n\"\n2,b\n3,\"\"\"\"\n"),
        ("t.tsv", "x\tnote\n1\t\"a,\tb\"\n\"2\"\tc\n3\t5\"\n"),
    ] {
        assert_eq!(rows(name, text, no_note), Ok(vec![1.0, 2.0, 3.0]), "{text:?}");
    }
    let two = rows("t.csv", "\u{feff}\"1\",\"2\n\"\n3,4\n", no_names);
    assert_eq!(two, Ok(vec![1.0, 2.0, 3.0, 4.0]));
    // A header that is longer than a chunk.
    let long = format!("x,\"{}\"\n1,\"a\"\n2,b\n", "a long note\n".repeat(200_000));
    assert_eq!(rows("t.csv", long, no_note), Ok(vec![1.0, 2.0]));
    // A long file with a quoted line end in every tenth row.
    let row = |i: u32| match i % 10 {
        0 => format!("{i},\"a\n\"\"b\"\"\"\n"),
        _ => format!("{i},5\" pipe\n"),
    };
    let long: String = (0..200_000).map(row).collect();
    let all: Vec<f64> = (0..200_000).map(f64::from).collect();
    assert!(rows("t.csv", format!("x,note\n{long}"), no_note).expect("reads") == all);
}

/// Bytes that come one by one.
struct Slowly(Cursor<&'static [u8]>);

impl Read for Slowly {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let most = out.len().min(1);
        self.0.read(&mut out[..most])
    }
}

#[test]
fn quotes_of_rows_that_come_slowly() {
    let read = |text: &'static str| -> Result<Vec<f64>, Refused> {
        let file = RowsFile { format: Some(FileFormat::Csv), live: true, ..RowsFile::new("pipe") };
        let source = Slowly(Cursor::new(text.as_bytes()));
        let mut input = no_note(file).open_from(source).map_err(refused)?;
        let mut all = Vec::new();
        while let Some(block) = input.rows.next(Block::default()).map_err(refused)? {
            all.extend_from_slice(&block.dense(1));
        }
        Ok(all)
    };
    assert_eq!(read("x,\"no\nte\"\n1,\"a\n\nb\"\n2,c\n"), Ok(vec![1.0, 2.0]));
    says(read("x,note\n1,\"a\"\n2,\"secret\n3,c\n"), "never closed", Some(2));
    says(read("x,note\n1,\"a\"\n2,\"b\"secret\n3,c\n"), "text follows", Some(2));
}

#[test]
fn quotes_of_tables_of_sets() {
    let cells = |file: SetsFile| SetsFile {
        items: vec!["tags".into()],
        separator: Some(";".into()),
        header: Some(true),
        ..file
    };
    let open = "a quote is opened and never closed";
    let behind = "text follows the quote that closes a cell";
    says(sets("t.csv", "who,tags\nann,\"secret\nbob,b\n", cells), open, Some(1));
    says(sets("t.csv", "tags\na\n\"secret\nb\n", cells), open, Some(2));
    says(sets("t.csv", "who,\"tags\nann,secret\nbob,b\n", cells), open, None);
    says(sets("t.csv", "who,tags\nann,a\nbob,\"b\"secret\n", cells), behind, Some(2));
    let honest = "\u{feff}\"who\",tags\r\nann,\"a;\"\"b\"\";\r\nc\"\r\nbob,5\"\r\n\"cy\",\"d\"";
    assert_eq!(sets("t.csv", honest, cells), Ok(3));
    assert_eq!(sets("t.csv", "tags\n\"a\n\nb\"\n5\"\n", cells), Ok(2));
}

fn stream(numbers: &[f64]) -> Vec<u8> {
    let column: ArrayRef = Arc::new(Float64Array::from(numbers.to_vec()));
    let batch = RecordBatch::try_from_iter([("a", column)]).expect("a batch");
    let mut out = StreamWriter::try_new(Vec::new(), &batch.schema()).expect("a writer");
    out.write(&batch).expect("written");
    out.into_inner().expect("closed")
}

#[test]
fn what_comes_behind_an_arrow_stream_is_refused() {
    let (a, b) = (stream(&[1.0, 2.0]), stream(&[3.0]));
    let read = |bytes: &[u8]| rows("t.arrows", bytes, as_it_is);
    assert_eq!(read(&a), Ok(vec![1.0, 2.0]));
    let behind = "bytes follow the mark that ends the Arrow stream";
    says(read(&[&a[..], &b].concat()), behind, None);
    says(read(&[&a[..], &[0]].concat()), behind, None);
    // The mark of eight bytes may be missing as a whole, and a mark of four is read as well.
    let (batches, mark) = a.split_at(a.len() - 8);
    assert_eq!(mark, [255, 255, 255, 255, 0, 0, 0, 0]);
    assert_eq!(read(batches), Ok(vec![1.0, 2.0]));
    assert_eq!(read(&[batches, &[0; 4]].concat()), Ok(vec![1.0, 2.0]));
    says(read(&[batches, &[0; 8]].concat()), behind, None);
    for cut in 1..mark.len() {
        let found = read(&[batches, &mark[..cut]].concat());
        says(found, "ends within the length of a message", None);
    }
    // Of a batch that is cut nothing is read; behind the schema a stream without batches ends.
    for cut in 1..batches.len() {
        let found = read(&batches[..cut]);
        assert!(found.is_err() || found == Ok(Vec::new()), "cut at {cut}");
    }
}

fn files(column: ArrayRef) -> [(&'static str, Vec<u8>); 3] {
    let batch = RecordBatch::try_from_iter_with_nullable([("a", column, true)]).expect("a batch");
    let mut parquet = Vec::new();
    let mut out = ArrowWriter::try_new(&mut parquet, batch.schema(), None).expect("a writer");
    out.write(&batch).expect("written");
    out.close().expect("closed");
    let mut file = FileWriter::try_new(Vec::new(), &batch.schema()).expect("a writer");
    file.write(&batch).expect("written");
    let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema()).expect("a writer");
    stream.write(&batch).expect("written");
    [
        ("t.parquet", parquet),
        ("t.arrow", file.into_inner().expect("closed")),
        ("t.arrows", stream.into_inner().expect("closed")),
    ]
}

fn of_numbers(numbers: &[f64]) -> [(&'static str, Vec<u8>); 3] {
    files(Arc::new(Float64Array::from(numbers.to_vec())))
}

/// The file with bytes before its footer of which the footer does not tell, as of a bloom filter without a length.
fn untold((name, file): &(&'static str, Vec<u8>)) -> Vec<u8> {
    let mark = if *name == "t.parquet" { 4 } else { 6 };
    let end = file.len() - mark - 4;
    let length = u32::from_le_bytes(file[end..end + 4].try_into().expect("four bytes"));
    let (before, footer) = file.split_at(end - length as usize);
    [before, &[0; 99], footer].concat()
}

const JOINED: &str = "two files or more stand in it one behind the other";

#[test]
fn files_one_behind_the_other_are_refused() {
    let many: Vec<f64> = (0..5_000).map(f64::from).collect();
    let [a, b] = [[1.0, 2.0], [3.0, 4.0]].map(|numbers| of_numbers(&numbers));
    let (long, none) = (of_numbers(&many), of_numbers(&[]));
    for kind in 0..2 {
        let name = a[kind].0;
        let words = format!("{name}: {JOINED}");
        let [a, b, long, none] = [&a, &b, &long, &none].map(|files| &files[kind].1[..]);
        for joined in [
            [a, a].concat(),
            [a, b].concat(),
            [a, long].concat(),
            [long, a].concat(),
            [a, none].concat(),
            [none, a].concat(),
            [none, none].concat(),
            [a, b, long].concat(),
            [long, b, a].concat(),
            [a, a, a].concat(),
            // What stands in front is no whole file.
            [&long[..long.len() / 2], a].concat(),
            [a, b"\n", b].concat(),
        ] {
            says(rows(name, joined, as_it_is), &words, None);
        }
        assert_eq!(rows(name, a, as_it_is), Ok(vec![1.0, 2.0]));
        assert_eq!(rows(name, long, as_it_is).as_ref(), Ok(&many));
        assert_eq!(rows(name, none, as_it_is), Ok(Vec::new()));
    }
    // Footers that do not tell of all that is there.
    for file in a.iter().take(2) {
        let (name, whole, more) = (file.0, &file.1[..], untold(file));
        assert_eq!(rows(name, &more, as_it_is), Ok(vec![1.0, 2.0]));
        for joined in [[whole, &more].concat(), [&more[..], whole].concat(), more.repeat(2)] {
            says(rows(name, joined, as_it_is), JOINED, None);
        }
    }
    // Parquet's decoder looks at no beginning.
    let file = [&b"other bytes"[..], &a[0].1].concat();
    says(rows("t.parquet", file, as_it_is), JOINED, None);
    let mut lists = ListBuilder::new(StringBuilder::new());
    for words in [["a", "b"], ["b", "c"]] {
        lists.append_value(words.map(Some));
    }
    for (name, bytes) in files(Arc::new(lists.finish())).into_iter().take(2) {
        says(sets(name, [&bytes[..], &bytes].concat(), as_it_is), JOINED, None);
        assert_eq!(sets(name, bytes, as_it_is), Ok(2));
    }
}

/// Reads them, and refuses them once they stand twice in a file.
#[track_caller]
fn alone_only(name: &str, bytes: &[u8], numbers: &[f64]) {
    assert_eq!(rows(name, bytes, no_note), Ok(numbers.to_vec()));
    says(rows(name, [bytes, bytes].concat(), no_note), JOINED, None);
}

#[test]
fn files_of_many_parts_are_read() {
    let numbers: Vec<f64> = (0..3_000).map(|i| f64::from(i % 7)).collect();
    let column: ArrayRef = Arc::new(Float64Array::from(numbers.clone()));
    let keys = Int32Array::from_iter_values((0..3_000).map(|i| i % 2));
    let words = Arc::new(StringArray::from(vec!["a", "b"]));
    let note: ArrayRef = Arc::new(DictionaryArray::new(keys, words));
    let batch = RecordBatch::try_from_iter([("a", column), ("note", note)]).expect("a batch");
    let groups = || WriterProperties::builder().set_max_row_group_row_count(Some(1_000));
    let filters = || groups().set_bloom_filter_enabled(true);
    let bare = || groups().set_statistics_enabled(EnabledStatistics::None);
    for properties in [
        groups(),
        groups().set_dictionary_enabled(false),
        bare(),
        bare().set_offset_index_disabled(true),
        filters(),
        filters().set_bloom_filter_position(BloomFilterPosition::End),
        bare().set_offset_index_disabled(true).set_bloom_filter_enabled(true),
    ] {
        let mut parquet = Vec::new();
        let out = ArrowWriter::try_new(&mut parquet, batch.schema(), Some(properties.build()));
        let mut out = out.expect("a writer");
        out.write(&batch).expect("written");
        assert_eq!(out.close().expect("closed").row_groups().len(), 3);
        alone_only("t.parquet", &parquet, &numbers);
    }
    // Messages and marks of three kinds.
    let (v4, v5) = (MetadataVersion::V4, MetadataVersion::V5);
    for (aligned, old, version) in [(64, false, v5), (8, false, v4), (8, true, v4)] {
        for batches in [0, 1, 3] {
            let options = IpcWriteOptions::try_new(aligned, old, version).expect("options");
            let out = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options);
            let mut out = out.expect("a writer");
            for i in 0..batches {
                out.write(&batch.slice(1_000 * i, 1_000)).expect("written");
            }
            let arrow = out.into_inner().expect("closed");
            alone_only("t.arrow", &arrow, &numbers[..1_000 * batches]);
            if batches > 0 {
                let file = [&arrow[..arrow.len() - 9], &arrow].concat();
                says(rows("t.arrow", file, no_note), JOINED, None);
            }
        }
    }
}

const MOST: i64 = 1 << 53;
const ROUNDED: &str = "whole numbers beyond 2^53 are not exact as float64: scale them first";

#[test]
fn whole_numbers_that_would_be_rounded_are_refused() {
    let signed = |numbers: Vec<i64>| Arc::new(Int64Array::from(numbers)) as ArrayRef;
    let unsigned = |numbers: Vec<u64>| Arc::new(UInt64Array::from(numbers)) as ArrayRef;
    for column in [
        signed(vec![1, MOST + 1, 2]),
        signed(vec![1, -MOST - 1, 2]),
        signed(vec![1, i64::MIN]),
        unsigned(vec![1, MOST as u64 + 1]),
        unsigned(vec![1, u64::MAX]),
    ] {
        for (name, bytes) in files(column) {
            let found = rows(name, bytes, as_it_is);
            says(found, &format!("column \"a\": {ROUNDED}"), Some(2));
        }
    }
    let mut lists = FixedSizeListBuilder::new(Int64Builder::new(), 2);
    for row in [[1, 2], [3, MOST + 1]] {
        lists.values().append_slice(&row);
        lists.append(true);
    }
    for (name, bytes) in files(Arc::new(lists.finish())) {
        says(rows(name, bytes, as_it_is), &format!("feature 2: {ROUNDED}"), Some(2));
    }
    // Up to there, and where a value is missing.
    for (name, bytes) in files(signed(vec![MOST, -MOST])) {
        assert_eq!(rows(name, bytes, as_it_is), Ok(vec![MOST as f64, -MOST as f64]));
    }
    let hidden = Int64Array::new(vec![1, i64::MAX].into(), Some(vec![true, false].into()));
    for (name, bytes) in files(Arc::new(hidden)) {
        let zero = |file: RowsFile| RowsFile { missing: Missing::Zero, ..file };
        assert_eq!(rows(name, bytes, zero), Ok(vec![1.0, 0.0]));
    }
}

/// An NPY file of two columns, of elements of eight bytes.
fn npy(descr: &str, elements: &[[u8; 8]]) -> Vec<u8> {
    let n = elements.len() / 2;
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({n}, 2), }}");
    let header = format!("{header:117}\n");
    let length = (header.len() as u16).to_le_bytes();
    [&b"\x93NUMPY\x01\x00"[..], &length, header.as_bytes(), elements.as_flattened()].concat()
}

#[test]
fn whole_numbers_of_numpy_that_would_be_rounded_are_refused() {
    let little = |x: i64| x.to_le_bytes();
    let big = |x: i64| x.to_be_bytes();
    for x in [MOST + 1, -MOST - 1, i64::MIN, i64::MAX] {
        for (descr, elements) in [("<i8", [1, 2, 3, x].map(little)), (">i8", [1, 2, 3, x].map(big))]
        {
            let found = rows("t.npy", npy(descr, &elements), as_it_is);
            says(found, &format!("column 2: {ROUNDED}"), Some(2));
        }
    }
    for (descr, elements) in [("<u8", [1, -1].map(little)), (">u8", [1, -1].map(big))] {
        says(rows("t.npy", npy(descr, &elements), as_it_is), ROUNDED, Some(1));
    }
    // In a later piece of a block.
    let mut many = vec![little(7); 6_000];
    many[5_001] = little(MOST + 1);
    says(rows("t.npy", npy("<i8", &many), as_it_is), ROUNDED, Some(2_501));
    for (descr, elements) in [("<i8", [MOST, -MOST].map(little)), (">i8", [MOST, -MOST].map(big))] {
        let found = rows("t.npy", npy(descr, &elements), as_it_is);
        assert_eq!(found, Ok(vec![MOST as f64, -MOST as f64]));
    }
    // The same bits as numbers with a point are what they are.
    let found = rows("t.npy", npy("<f8", &[1e300, 1e18].map(f64::to_le_bytes)), as_it_is);
    assert_eq!(found, Ok(vec![1e300, 1e18]));
}

#[test]
fn carriage_returns_alone_end_no_line_of_words() {
    let words = "a carriage return that does not end it";
    says(sets("t.txt", "secret b\rc d\re f\r", as_it_is), words, Some(1));
    says(sets("t.txt", "a b\nc\rsecret\n", as_it_is), words, Some(2));
    let headed = |file: SetsFile| SetsFile { header: Some(true), ..file };
    says(sets("t.txt", "word\rsecret b\nc d\n", headed), words, Some(1));
    for text in ["a b\r\nc d\r\n", "a b\nc d\r", "a b\r\nc d", "\u{feff}a b\nc d\n"] {
        assert_eq!(sets("t.txt", text, as_it_is), Ok(2), "{text:?}");
    }
}

#[test]
fn an_empty_separator_is_refused() {
    let nothing = |file: SetsFile| SetsFile {
        items: vec!["tags".into()],
        separator: Some(String::new()),
        ..file
    };
    let empty = "`separator` is empty";
    says(sets("t.csv", "who,tags\nann,abc\n", nothing), empty, None);
    let of_a = |file: SetsFile| SetsFile { items: vec!["a".into()], ..nothing(file) };
    for (name, bytes) in files(Arc::new(StringArray::from(vec!["abc"]))) {
        says(sets(name, bytes, of_a), empty, None);
    }
    let lines = |file: SetsFile| SetsFile { separator: Some(String::new()), ..file };
    says(sets("t.txt", "abc\n", lines), empty, None);
}
