//! Arbitrary bytes give an error or rows of the stated length, never a panic.

use crate::FileFormat::{self, Arrow, Csv, Idx, Npy, Parquet, Svmlight};
use crate::{Block, DataError, Error, IdColumn, Missing, RowsFile, SetsFile, Users};
use proptest::prelude::*;
use sketch::sets::ItemSet;
use std::io::Write;

/// A format, and the features that svmlight needs.
fn of(format: FileFormat) -> RowsFile {
    let features = (format == Svmlight).then_some(5);
    RowsFile { format: Some(format), features, ..RowsFile::new("") }
}

/// Reads a file of these bytes; the number of rows, or what was wrong with it.
fn try_read(bytes: &[u8], options: RowsFile) -> Result<usize, String> {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("written");
    let options = RowsFile { path: file.path().to_owned(), ..options };
    let mut rows = options.open().map_err(|e| e.to_string())?.rows;
    let (mut n, mut used) = (0, Block::default());
    while let Some(block) = rows.next(used).map_err(|e| e.to_string())? {
        assert!(block.n > 0, "blocks hold rows");
        n += block.view(rows.d()).expect("readers hand out whole, finite rows").n();
        used = block;
    }
    Ok(n)
}

/// The number of rows, or `None` when the file was refused.
fn read(bytes: &[u8], options: RowsFile) -> Option<usize> {
    try_read(bytes, options).ok()
}

const STARTS: [(FileFormat, &[u8]); 8] = [
    (Csv, b"a,b\n1,2\n"),
    (Csv, b"\"a,b\n"),
    (Npy, b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"),
    (Parquet, b"PAR1"),
    (Arrow, b"ARROW1\0\0"),
    (Arrow, b"\xff\xff\xff\xff"),
    (Svmlight, b"1 1:2 3:"),
    (Idx, &[0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3]),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn arbitrary_bytes_never_panic(
        start in 0..STARTS.len(),
        cut in 0..200usize,
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"0123456789,.:\n\" -e".to_vec())], 0..200),
    ) {
        let (format, start) = STARTS[start];
        let all = [&start[..cut.min(start.len())], &bytes].concat();
        let _ = read(&all, of(format));
    }
}

#[test]
fn rows_are_counted() {
    assert_eq!(read(b"a,b\n1,2\n\n3,4", of(Csv)), Some(2), "blank lines are no rows");
    assert_eq!(
        read(b"\xef\xbb\xbfa,b\r\n1,2\r\n", RowsFile { columns: vec!["a".into()], ..of(Csv) }),
        Some(1)
    );
    assert_eq!(read(b"1,2\n3,4\n", RowsFile { header: Some(false), ..of(Csv) }), Some(2));
    assert_eq!(read(b"a,b\n", of(Csv)), Some(0));
    assert_eq!(read(b"a,b\n\n\r\n\n", of(Csv)), Some(0), "blank lines only");
    assert_eq!(read(b"\"a\",b\n\"1\",2\n", of(Csv)), Some(1));
    // Of one column an empty line is a row whose value is missing.
    for text in [
        "x\n1\n\n3",
        "x\r1\r\r3\r",
        "x\r\n1\r\n\r\n3\r\n",
        "\n\r\nx\n1\n\n3",
        "x\n\"1\"\n\n3\n",
        "x\n1\n3\n\n",
    ] {
        let error = try_read(text.as_bytes(), of(Csv)).expect_err(text);
        assert!(error.contains("column 1: a value is missing"), "{text:?}: {error}");
        let zero = RowsFile { missing: Missing::Zero, ..of(Csv) };
        assert_eq!(read(text.as_bytes(), zero), Some(3), "{text:?}");
    }
    // Across the chunks of a long file.
    let zero = RowsFile { missing: Missing::Zero, header: Some(false), ..of(Csv) };
    assert_eq!(read("1234567\r\n\r\n".repeat(200_000).as_bytes(), zero), Some(400_000));
    assert_eq!(
        read(b" 1 , 2\n", RowsFile { header: Some(false), ..of(Csv) }),
        Some(1),
        "spaces are trimmed"
    );
    assert_eq!(read(b"1 1:0.5 5:2\n0\n", of(Svmlight)), Some(2));
    assert_eq!(read(b"1 5:2 1:1\n", of(Svmlight)), None);
    assert_eq!(read(b"1 6:2\n", of(Svmlight)), None);
}

/// What a file declares is believed only as far as its bytes go.
#[test]
fn declared_sizes_take_no_memory() {
    let npy = |version: u8, header: &str| {
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([version, 0]);
        bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
        bytes.extend_from_slice(header.as_bytes());
        bytes
    };
    let refused =
        |bytes: &[u8], format| try_read(bytes, of(format)).expect_err("too large for its bytes");
    for shape in ["(2, 2305843009213693952)", "(1, 18446744073709551615)"] {
        let header =
            format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}          \n");
        let error = refused(&npy(1, &header), Npy);
        assert!(error.contains("rows are too long") || error.contains("not an NPY"), "{error}");
    }
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 4294967295), }   \n";
    let error = refused(&npy(1, header), Npy);
    assert!(error.contains("rows that are longer than all it holds"), "{error}");
    // Four gigabytes of header.
    let long = b"\x93NUMPY\x02\0\xff\xff\xff\xff{'descr'";
    assert!(refused(long, Npy).contains("longer than 1 MiB"));
    let idx = [&[0, 0, 8, 3][..], &[0xff; 4], &[0, 0, 0xff, 0xff], &[0, 0, 0xff, 0xff]].concat();
    assert!(refused(&idx, Idx).contains("longer than all it holds"));
    // A table whose footer gives a block more than the file; as it was, only its columns are wrong.
    let mut arrow = include_bytes!("../../../fuzz/corpus/cli_arrow/table.arrow").to_vec();
    let beyond = "more than the file holds";
    let before = try_read(&arrow, of(Arrow));
    assert!(before.as_ref().err().is_none_or(|e| !e.contains(beyond)), "{before:?}");
    arrow[1172] = 2;
    assert!(refused(&arrow, Arrow).contains(beyond));
}

#[test]
fn bytes_in_memory_are_read_as_files_are() {
    let idx = [0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6];
    let arrow = include_bytes!("../../../fuzz/corpus/cli_arrow/lists.arrows");
    let cases: [(RowsFile, &'static [u8], &[f64]); 4] = [
        (of(Csv), b"a,b\n1,2\n", &[1.0, 2.0]),
        (of(Svmlight), b"1 2:3\n", &[0.0, 3.0, 0.0, 0.0, 0.0]),
        (of(Idx), Box::leak(Box::new(idx)), &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        (of(Arrow), arrow, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    ];
    for (options, bytes, values) in cases {
        let mut rows = options.open_from(bytes).expect("opens").rows;
        let block = rows.next(Block::default()).expect("reads").expect("a block");
        assert_eq!(&*block.dense(rows.d()), values, "{:?}", options.format);
    }
    let text = of(Parquet).open_from(&b"PAR1"[..]).err().expect("refused").to_string();
    assert!(text.contains("save it to a file"), "{text}");
}

#[test]
fn every_truncation_of_an_image_file_is_refused() {
    const GOOD: [u8; 18] = [0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6];
    for cut in 0..GOOD.len() {
        assert!(read(&GOOD[..cut], of(Idx)).is_none(), "cut at {cut}");
    }
    let said = |bytes: &[u8]| try_read(bytes, of(Idx)).expect_err("refused");
    assert!(said(&[&GOOD[..], &[7]].concat()).contains("bytes follow the last row"));
    let changed = |at: usize, byte: u8| {
        let mut bytes = GOOD;
        bytes[at] = byte;
        said(&bytes)
    };
    assert!(changed(0, 0x89).contains("two zero bytes"));
    assert!(changed(2, 0x0d).contains("unsigned bytes"));
    assert!(changed(3, 0).contains("1 to 8 dimensions"));
}

#[test]
fn lines_without_end_are_refused() {
    use flate2::{Compression, write::GzEncoder};
    let bomb = |start: &[u8], byte: u8| {
        let mut file = GzEncoder::new(Vec::new(), Compression::fast());
        file.write_all(start).expect("written");
        (0..80).for_each(|_| file.write_all(&[byte; 1 << 20]).expect("written"));
        file.finish().expect("compressed")
    };
    for (start, byte, format) in
        [(&b"a,b\n1,2\n"[..], b'1', Csv), (b"a,b\n\"1", b'1', Csv), (b"1 1:", b'1', Svmlight)]
    {
        let error = try_read(&bomb(start, byte), of(format)).expect_err("a line without end");
        assert!(error.contains("longer than 8 MiB"), "{format}: {error}");
    }
}

fn of_users(text: &str, most: u64) -> (Vec<f64>, u64) {
    let users = Users::new("who", most);
    let options = RowsFile { users: Some(users.clone()), ..of(Csv) };
    let mut input = options.open_from(std::io::Cursor::new(text.to_owned().into_bytes())).unwrap();
    assert_eq!(input.columns.as_deref(), Some(&["a".to_owned(), "b".to_owned()][..]));
    let mut all = Vec::new();
    while let Some(block) = input.rows.next(Block::default()).unwrap() {
        assert!(block.n > 0);
        all.extend_from_slice(&block.dense(input.rows.d()));
    }
    (all, users.left_out.load(std::sync::atomic::Ordering::Relaxed))
}

#[test]
fn the_first_rows_of_every_user_are_used() {
    // White space around a user does not count, nor does a mark of byte order of a file that was put behind another.
    let text = "a,who,b\n1,x,2\n3,y,4\n5, x ,6\n7,\u{feff}x\u{a0},8\n9,y,10\n";
    assert_eq!(of_users(text, 2), (vec![1., 2., 3., 4., 5., 6., 9., 10.], 1));
    assert_eq!(of_users(text, 1), (vec![1., 2., 3., 4.], 3));
    assert_eq!(of_users(text, 9).1, 0);
    // With quotes one parser reads: the same rows.
    assert_eq!(of_users(&text.replace(",y,", ",\"y\","), 2), of_users(text, 2));
    // Long files, in both readers: every user has 3,000 rows.
    let many: String = (0..60_000).map(|i| format!("{i},u{},1\n", i % 20)).collect();
    for many in [format!("a,who,b\n{many}"), format!("a,who,b\n1,\"q\",1\n{many}")] {
        let (rows, left_out) = of_users(&many, 2);
        let quoted = usize::from(many.contains('"'));
        assert_eq!((rows.len(), left_out), (2 * (40 + quoted), 60_000 - 40));
    }
    let refused = |text: &str, options: RowsFile| try_read(text.as_bytes(), options).unwrap_err();
    let users = |column: &str| RowsFile { users: Some(Users::new(column, 2)), ..of(Csv) };
    assert!(refused("a,who,b\n1,,2\n", users("who")).contains("whose"), "no user");
    assert!(refused("a,who,b\n1,x,2\n", users("1-2")).contains("several"), "a range");
    assert!(refused("a,who,b\n1,x,2\n", users("nobody")).contains("no column"), "no column");
    assert!(
        refused("", RowsFile { users: Some(Users::new("1", 2)), ..of(Npy) }).contains("`users`")
    );
}

/// Whatever rows of one user come, go or change: of all others the same rows enter, in the same order, and of the user's as many
/// as may.
#[test]
fn the_rows_of_one_user_move_none_of_others() {
    let mut state = 5u64;
    let mut next = |n: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    for _ in 0..300 {
        let (n, most) = (1 + next(12), 1 + next(4));
        let others: Vec<String> = (0..n).map(|i| format!("{i},u{},1\n", next(3))).collect();
        let mut file = || {
            let (mut lines, own) = (others.clone(), next(9));
            for _ in 0..own {
                lines.insert(next(lines.len() as u64 + 1) as usize, format!("{},x,0\n", next(99)));
            }
            let all = of_users(&format!("a,who,b\n{}", lines.concat()), most).0;
            let entered = all.chunks(2).filter(|row| row[1] == 0.0).count() as u64;
            assert_eq!(entered, own.min(most));
            all.chunks(2).filter(|row| row[1] == 1.0).flatten().copied().collect::<Vec<_>>()
        };
        assert_eq!(file(), file());
    }
}

/// A file that is open twice, as where norms are counted first: each reading counts for itself.
#[test]
fn readings_of_one_file_count_apart() {
    let text = "a,who\n1,x\n2,x\n3,y\n4,x\n";
    let users = Users::new("who", 2);
    let options = RowsFile { users: Some(users.clone()), ..of(Csv) };
    let open = || options.open_from(std::io::Cursor::new(text.as_bytes().to_vec())).unwrap();
    let (mut first, mut second) = (open(), open());
    for input in [&mut second, &mut first] {
        let block = input.rows.next(Block::default()).unwrap().unwrap();
        assert_eq!(block.dense(1)[..], [1.0, 2.0, 3.0]);
        assert_eq!(users.left_out.load(std::sync::atomic::Ordering::Relaxed), 1);
    }
}

/// One user's values change, and nobody's name: at most that many rows that are used change, at the same places, whatever the file.
#[test]
fn what_one_user_says_moves_no_row_of_others() {
    let mut state = 9u64;
    let mut next = |n: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    for _ in 0..300 {
        let (n, most, changed) = (1 + next(12), 1 + next(4), next(4));
        let names: Vec<u64> = (0..n).map(|_| next(4)).collect();
        let mut file = |own: u64| -> String {
            let line = |(i, name): (usize, &u64)| {
                let value = if *name == changed { own + next(1000) } else { i as u64 };
                format!("{value},u{name},{value}\n")
            };
            format!("a,who,b\n{}", names.iter().enumerate().map(line).collect::<String>())
        };
        let (left, right) = (file(1000), file(5000));
        let ((left, a), (right, b)) = (of_users(&left, most), of_users(&right, most));
        assert_eq!((left.len(), a), (right.len(), b), "as many rows, whatever a user says");
        let rows = left.chunks(2).zip(right.chunks(2));
        let differ = rows.filter(|(x, y)| x != y).count() as u64;
        let own = names.iter().filter(|name| **name == changed).count() as u64;
        assert_eq!(differ, own.min(most));
    }
}

/// The sets that enter, and how many are left out.
fn sets_of_users(file: SetsFile, column: &str, most: u64) -> Result<(Vec<ItemSet>, u64), String> {
    let users = Users::new(column, most);
    let file = SetsFile { users: Some(users.clone()), ..file };
    let (mut reader, mut all) = (file.open().map_err(|e| e.to_string())?, Vec::new());
    loop {
        let sets = reader.next().map_err(|e| e.to_string())?;
        if sets.is_empty() {
            return Ok((all, users.left_out.load(std::sync::atomic::Ordering::Relaxed)));
        }
        all.extend(sets);
    }
}

#[test]
fn the_first_sets_of_every_user_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        SetsFile::new(path)
    };
    let expected = |kept: &[[&str; 2]]| -> Vec<ItemSet> {
        kept.iter().map(|words| ItemSet::from_words(words.iter().copied()).unwrap()).collect()
    };
    let two = expected(&[["a", "b"], ["c", "d"], ["b", "e"], ["k", "l"]]);
    let lines = write("s.txt", "x a b\ny c d\nx b e\nx f g\ny k l\nx m n\n");
    let table = write("s.csv", "what,who\na b,x\nc d,y\nb e, x \nf g,x\nk l,y\nm n,x\n");
    let cells = write("c.csv", "p,who,q\na,x,b\nc,y,d\nb,x,e\nf,x,g\nk,y,l\nm,x,n\n");
    let object =
        |who: &str, p: &str, q: &str| format!("{{\"who\":\"{who}\",\"s\":[\"{p}\",\"{q}\"]}}\n");
    let rows = [
        ("x", "a", "b"),
        ("y", "c", "d"),
        ("x", "b", "e"),
        ("x", "f", "g"),
        ("y", "k", "l"),
        ("x", "m", "n"),
    ];
    let json: String = rows.iter().map(|(who, p, q)| object(who, p, q)).collect();
    let json = write("s.jsonl", &json);
    let items = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let table = SetsFile { items: items(&["what"]), separator: Some("space".into()), ..table };
    let cells = SetsFile { items: items(&["p", "q"]), ..cells };
    for (file, column) in [(lines, "1"), (table.clone(), "who"), (cells, "who"), (json, "who")] {
        assert_eq!(sets_of_users(file.clone(), column, 2), Ok((two.clone(), 2)), "{file:?}");
        let (all, none) = sets_of_users(file.clone(), column, 9).unwrap();
        assert_eq!((all.len(), none), (6, 0));
        let (one, five) = sets_of_users(file, column, 1).unwrap();
        assert_eq!((one, five), (expected(&[["a", "b"], ["c", "d"]]), 4));
    }
    // Batches of which nothing enters do not end the file.
    let many: String = (0..10_000).map(|i| format!("x i{i}\n")).collect();
    let (found, left_out) = sets_of_users(write("m.txt", &format!("{many}y z\n")), "1", 1).unwrap();
    assert_eq!((found.len(), left_out), (2, 9_999));
    let refused = |file: SetsFile, column: &str| sets_of_users(file, column, 2).unwrap_err();
    let nobody = write("n.csv", "what,who\na b,x\nc d,\n");
    let nobody = SetsFile { items: items(&["what"]), separator: Some("space".into()), ..nobody };
    assert!(refused(nobody, "who").contains("does not say whose it is"));
    // A later file whose sets are all left out is no empty file, and a set is told by its place in its own file.
    let bounded = |name: &str, rows: &str| {
        let users = Some(Users::new("who", 1));
        SetsFile { users, path: write(name, &format!("what,who\n{rows}")).path, ..table.clone() }
    };
    let mut first = bounded("1.csv", "a,x\nb,x\nc,x\n").open().unwrap();
    assert_eq!((first.next().unwrap().len(), first.next().unwrap().len()), (1, 0));
    let mut second = bounded("2.csv", "d,x\ne,x\n").open_after(first).unwrap();
    assert_eq!(second.next().unwrap().len(), 0);
    let mut third = bounded("3.csv", "f,y\ng,x\nh,\n").open_after(second).unwrap();
    let error = third.next().unwrap_err();
    assert!(matches!(&error, Error::Data(DataError { record: Some(3), .. })), "{error:?}");
    assert!(refused(table.clone(), "nobody").contains("no column"));
    assert!(refused(write("o.txt", "x a\n"), "2").contains("first word"));
    let named = SetsFile { ids: Some(IdColumn::new("who")), ..table.clone() };
    assert!(refused(named, "who").contains("only column beside the items"));
    assert!(refused(table.clone(), "what").contains("a column of items"));
    let long = SetsFile { set_id: Some("who".into()), separator: None, ..table };
    assert!(refused(long, "who").contains("into one row"));
}

/// Parquet, a list a row.
#[cfg(feature = "parquet")]
#[test]
fn lists_of_users_are_bounded() {
    use arrow_array::builder::{ListBuilder, StringBuilder};
    use arrow_array::{ArrayRef, RecordBatch, StringArray};
    let mut lists = ListBuilder::new(StringBuilder::new());
    for words in [["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"]] {
        words.iter().for_each(|word| lists.values().append_value(word));
        lists.append(true);
    }
    let who = StringArray::from(vec!["x", "x", "y", "x"]);
    let columns: [(&str, ArrayRef); 2] =
        [("who", std::sync::Arc::new(who)), ("items", std::sync::Arc::new(lists.finish()))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.parquet");
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let (found, left_out) = sets_of_users(SetsFile::new(path), "who", 1).unwrap();
    let of = |words: [&str; 2]| ItemSet::from_words(words).unwrap();
    assert_eq!((found, left_out), (vec![of(["a", "b"]), of(["e", "f"])], 2));
}

/// Rows of Parquet and of Arrow, in columns and in lists: those that enter of the same CSV file, and their names.
#[cfg(all(feature = "parquet", feature = "arrow"))]
#[test]
fn rows_of_users_in_columns_are_bounded() {
    use arrow_array::types::Float64Type;
    use arrow_array::{ArrayRef, Float64Array, Int64Array, ListArray, RecordBatch, StringArray};
    let n = 30_000i64;
    let line = |i: i64| format!("{i},u{},{}\n", i % 7_000, i + 1);
    let text = format!("a,who,b\n{}", (0..n).map(line).collect::<String>());
    let (values, left_out) = of_users(&text, 3);
    assert_eq!((values.len(), left_out), (2 * 21_000, 9_000));
    let number = |more: i64| -> ArrayRef {
        std::sync::Arc::new(Float64Array::from_iter_values((0..n).map(|i| (i + more) as f64)))
    };
    let pair = |i: i64| Some([Some(i as f64), Some((i + 1) as f64)]);
    let lists = ListArray::from_iter_primitive::<Float64Type, _, _>((0..n).map(pair));
    let who = StringArray::from_iter_values((0..n).map(|i| format!(" u{} ", i % 7_000)));
    let row = Int64Array::from_iter_values(0..n);
    let (who, row): (ArrayRef, ArrayRef) = (std::sync::Arc::new(who), std::sync::Arc::new(row));
    let columns =
        vec![("a", number(0)), ("who", who.clone()), ("row", row.clone()), ("b", number(1))];
    let listed = vec![("row", row), ("x", std::sync::Arc::new(lists) as ArrayRef), ("who", who)];
    let folder = tempfile::tempdir().unwrap();
    for (name, columns) in [("columns", columns), ("lists", listed)] {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let path = |end: &str| folder.path().join(format!("{name}.{end}"));
        let file = std::fs::File::create(path("parquet")).unwrap();
        let mut parquet = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        parquet.write(&batch).unwrap();
        parquet.close().unwrap();
        let file = std::fs::File::create(path("arrow")).unwrap();
        let mut arrow = arrow_ipc::writer::FileWriter::try_new(file, &batch.schema()).unwrap();
        // In two batches, the second of which begins with users who have had theirs.
        arrow.write(&batch.slice(0, 21_500)).unwrap();
        arrow.write(&batch.slice(21_500, 8_500)).unwrap();
        arrow.finish().unwrap();
        for end in ["parquet", "arrow"] {
            let (users, ids) = (Users::new("who", 3), IdColumn::new("row"));
            let file = RowsFile {
                users: Some(users.clone()),
                ids: Some(ids.clone()),
                ..RowsFile::new(path(end))
            };
            let mut input = file.open().unwrap();
            assert_eq!(input.rows.d(), 2);
            let mut all = Vec::new();
            while let Some(block) = input.rows.next(Block::default()).unwrap() {
                assert!(block.n > 0);
                all.extend_from_slice(&block.dense(2));
            }
            assert!(all == values, "{name}.{end}");
            assert_eq!(users.left_out.load(std::sync::atomic::Ordering::Relaxed), left_out);
            let ids = ids.ids();
            assert_eq!((ids.rows(), ids.get(20_999)), (21_000, Some("20999")), "{name}.{end}");
            // One column may say both, where a user has one row.
            let (users, ids) = (Users::new("who", 1), IdColumn::new("who"));
            let drop = vec!["row".to_owned()];
            let file = RowsFile {
                users: Some(users),
                ids: Some(ids.clone()),
                leave_out: drop,
                ..RowsFile::new(path(end))
            };
            let mut input = file.open().unwrap();
            let mut rows = 0;
            while let Some(block) = input.rows.next(Block::default()).unwrap() {
                rows += block.n;
            }
            let ids = ids.ids();
            assert_eq!((rows, ids.rows(), ids.get(6_999)), (7_000, 7_000, Some("u6999")));
        }
    }
    // A row that names nobody, and a column that names nobody.
    let empty = StringArray::from(vec![Some("x"), None]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("who", std::sync::Arc::new(empty)),
        ("a", number(0).slice(0, 2)),
        ("b", number(1).slice(0, 2)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let path = folder.path().join("empty.arrow");
    let file = std::fs::File::create(&path).unwrap();
    let mut arrow = arrow_ipc::writer::FileWriter::try_new(file, &batch.schema()).unwrap();
    arrow.write(&batch).unwrap();
    arrow.finish().unwrap();
    let of = |column: &str| RowsFile { users: Some(Users::new(column, 2)), ..RowsFile::new(&path) };
    let mut input = of("who").open().unwrap();
    let error = input.rows.next(Block::default()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("does not say whose it is"), "{error}");
    let other = RowsFile { leave_out: vec!["who".to_owned()], ..of("a") };
    let error = other.open().map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("neither text nor whole numbers"), "{error}");
}
