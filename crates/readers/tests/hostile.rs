//! Files of data that ask for much in few bytes: each ends in an error, or in an answer, in a bounded time and in bounded
//! memory. One test in one process, because the allocator and the clock are the process's.

#[path = "../../fuzzing/tests/support/bounded.rs"]
mod bounded;
#[path = "support/thrift.rs"]
mod thrift;

use arrow_array::builder::{BooleanBuilder, FixedSizeListBuilder, Float64Builder, ListBuilder};
use arrow_array::{
    ArrayRef, DictionaryArray, Float32Array, Float64Array, Int32Array, RecordBatch, StringArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use bounded::{bounded, processor_time};
use flate2::{Compression, write::GzEncoder};
use lz4_flex::frame::FrameEncoder;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression as ParquetCompression;
use parquet::file::properties::WriterProperties;
use readers::RowsFile;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thrift::{File, Page};

/// Reads all rows of a file.
fn rows_of(path: &Path) -> Result<u64, String> {
    let mut input = RowsFile::new(path).open().map_err(|e| e.to_string())?;
    let (mut used, mut rows) = (readers::Block::default(), 0);
    while let Some(block) = input.rows.next(used).map_err(|e| e.to_string())? {
        rows += block.n as u64;
        used = block;
    }
    Ok(rows)
}

/// Files of data that declare far more than they hold, or say much in few bytes.
fn data_files(folder: &Path) {
    let file = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let idx = [&[0, 0, 8, 2][..], &[255; 8]].concat();
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1073741824), }";
    let mut npy = b"\x93NUMPY\x02\x00".to_vec();
    npy.extend((header.len() as u32).to_le_bytes());
    npy.extend(header.as_bytes());
    let long = [&b"\x93NUMPY\x02\x00"[..], &[255, 255, 255, 255], header.as_bytes()].concat();
    for (name, bytes) in [("a.idx", idx), ("a.npy", npy), ("long.npy", long)] {
        let path = file(name, &bytes);
        // Whoever asks how long a row is makes what he needs for it: the first answer is an error.
        assert!(bounded(name, || RowsFile::new(&path).open().is_err()), "{name}");
    }
    // One list of 2^23 equal numbers, in a few hundred bytes.
    let path = folder.join("list.parquet");
    one_list(&path, 1 << 23);
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes < 1 << 16, "{bytes}");
    assert!(bounded("list.parquet", || rows_of(&path)).unwrap_err().contains("declares more"));
    // As many equal values as a few bytes can say.
    let path = folder.join("rows.parquet");
    equal_rows(&path, 80);
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes < 1 << 12, "{bytes}");
    assert!(bounded("rows.parquet", || rows_of(&path)).unwrap_err().contains("declares more"));
    // A line without end, many lines, and the longest line that is read, of items of one letter.
    let item = b"a ".repeat(1 << 20);
    for (name, lines, whole) in [("endless", 40, false), ("many", 40, true), ("longest", 2, false)]
    {
        let path = folder.join(format!("{name}.txt.gz"));
        let mut out = GzEncoder::new(std::fs::File::create(&path).unwrap(), Compression::fast());
        for i in 0..lines {
            // Just below the limit.
            let part =
                if name == "longest" && i == 1 { &item[..item.len() - 2] } else { &item[..] };
            out.write_all(part).unwrap();
            if whole {
                out.write_all(b"\n").unwrap();
            }
        }
        out.finish().unwrap();
        let read = bounded(name, || {
            let mut sets = readers::SetsFile::new(&path).open().map_err(|e| e.to_string())?;
            let mut count = 0;
            loop {
                let batch = sets.next().map_err(|e| e.to_string())?;
                if batch.is_empty() {
                    return Ok::<_, String>(count);
                }
                count += batch.len();
            }
        });
        match name {
            "endless" => assert!(read.unwrap_err().contains("longer than 4 MiB")),
            "many" => assert_eq!(read.unwrap(), 40),
            _ => assert_eq!(read.unwrap(), 1),
        }
    }
}

/// Frames of zstd that say much in few bytes: what is unpacked is streamed, and windows are bounded, whatever a frame declares.
fn zstd_bombs(folder: &Path) {
    let packed = |name: &str, log: u32, text: &mut dyn Iterator<Item = &[u8]>| {
        let path = folder.join(name);
        let mut out = zstd::Encoder::new(std::fs::File::create(&path).unwrap(), 1).unwrap();
        out.window_log(log).unwrap();
        text.for_each(|part| out.write_all(part).unwrap());
        out.finish().unwrap();
        path
    };
    let rows = b"0\n".repeat(1 << 19);
    let head = std::iter::once(&b"a\n"[..]);
    let path =
        packed("many.csv.zst", 20, &mut head.clone().chain(std::iter::repeat_n(&rows[..], 8)));
    assert!(std::fs::metadata(&path).unwrap().len() < 1 << 12);
    assert_eq!(bounded("many.csv.zst", || rows_of(&path)), Ok(8 << 19));
    let line = [b'1'; 1 << 20];
    let path =
        packed("line.csv.zst", 20, &mut head.clone().chain(std::iter::repeat_n(&line[..], 256)));
    assert!(std::fs::metadata(&path).unwrap().len() < 1 << 16);
    let error = bounded("line.csv.zst", || rows_of(&path)).unwrap_err();
    assert!(error.contains("line is longer than"), "{error}");
    // The unpacker's own memory is not the allocator's: its window is refused by its size.
    let path = packed("window.csv.zst", 26, &mut head.chain(std::iter::repeat_n(&rows[..], 130)));
    let error = bounded("window.csv.zst", || rows_of(&path)).unwrap_err();
    assert!(error.contains("at most 32 MiB"), "{error}");
}

/// A Parquet file of `times` times 2^20 rows, all equal, in one group of one page.
fn equal_rows(path: &Path, times: usize) {
    let column = Int32Array::from(vec![0; 1 << 20]);
    let batch = RecordBatch::try_from_iter([("a", Arc::new(column) as _)]).unwrap();
    let all = times << 20;
    let properties = WriterProperties::builder()
        .set_compression(ParquetCompression::SNAPPY)
        .set_max_row_group_row_count(Some(all))
        .set_data_page_row_count_limit(all)
        .set_write_batch_size(1 << 20)
        .build();
    let file = std::fs::File::create(path).unwrap();
    let mut out = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    (0..times).for_each(|_| out.write(&batch).unwrap());
    out.close().unwrap();
}

/// A Parquet file of one row, which is a list of equal numbers.
fn one_list(path: &Path, values: usize) {
    let mut lists = ListBuilder::new(Float64Builder::new());
    lists.values().append_slice(&vec![1.0; values]);
    lists.append(true);
    let column: Arc<dyn arrow_array::Array> = Arc::new(lists.finish());
    let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
    let properties =
        WriterProperties::builder().set_compression(ParquetCompression::SNAPPY).build();
    let file = std::fs::File::create(path).unwrap();
    let mut out = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    out.write(&batch).unwrap();
    out.close().unwrap();
}

/// Lists of truth values, lists of fixed size, and a long text that is said many times.
fn nested_columns(folder: &Path) {
    let write = |name: &str, column: ArrayRef, properties: WriterProperties| {
        let path = folder.join(name);
        let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
        let options = ArrowWriterOptions::new()
            .with_properties(properties)
            .with_skip_arrow_metadata(name.starts_with("text"));
        let file = std::fs::File::create(&path).unwrap();
        let mut out = ArrowWriter::try_new_with_options(file, batch.schema(), options).unwrap();
        out.write(&batch).unwrap();
        out.close().unwrap();
        path
    };
    let refused = |path: &Path, why: &str| {
        let error = bounded(&path.display().to_string(), || rows_of(path)).unwrap_err();
        assert!(error.contains(why), "{}: {error}", path.display());
    };
    // A bit each, in one list: a file of a MiB.
    const BITS: usize = 1 << 23;
    let bits = |i: usize| (i * 2_654_435_761) >> 13 & 1 == 1;
    let mut lists = ListBuilder::new(BooleanBuilder::new());
    (0..BITS).for_each(|i| lists.values().append_value(bits(i)));
    lists.append(true);
    let plain = || WriterProperties::builder().set_dictionary_enabled(false).build();
    let path = write("bits.parquet", Arc::new(lists.finish()), plain());
    assert!(std::fs::metadata(&path).unwrap().len() < 1 << 21);
    refused(&path, "smaller row groups");
    let mut lists = FixedSizeListBuilder::new(Float64Builder::new(), BITS as i32);
    lists.values().append_slice(&vec![1.0; BITS]);
    lists.append(true);
    refused(
        &write("fixed.parquet", Arc::new(lists.finish()), WriterProperties::default()),
        "smaller row groups",
    );
    // As many honest truth values in lists of 64, in row groups that are not too large.
    let mut lists = ListBuilder::new(BooleanBuilder::new());
    for i in 0..1 << 14 {
        (0..64).for_each(|j| lists.values().append_value(bits(64 * i + j)));
        lists.append(true);
    }
    let path = write("honest.parquet", Arc::new(lists.finish()), plain());
    assert_eq!(bounded("honest lists", || rows_of(&path)).unwrap(), 1 << 14);
    // Four GiB of text.
    let text = StringArray::from(vec!["x".repeat(1 << 20)]);
    let keys = Int32Array::from(vec![0; 1 << 12]);
    let column = DictionaryArray::new(keys, Arc::new(text));
    let properties = WriterProperties::builder().set_dictionary_page_size_limit(1 << 24).build();
    let path = write("text.parquet", Arc::new(column), properties);
    assert!(std::fs::metadata(&path).unwrap().len() < 4 << 20);
    refused(&path, "does not hold numbers");
}

/// A Parquet file of columns that are all equal.
fn wide(path: &Path, columns: usize, rows: usize, compression: ParquetCompression) {
    let column: ArrayRef = Arc::new(Float32Array::from_iter_values((0..rows).map(|i| i as f32)));
    let columns = (0..columns).map(|i| (format!("c{i}"), column.clone()));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_compression(compression).build();
    let file = std::fs::File::create(path).unwrap();
    let mut out = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    out.write(&batch).unwrap();
    out.close().unwrap();
}

/// Tables of very many columns: as many as are read, and more.
fn wide_tables(folder: &Path) {
    for compression in [ParquetCompression::ZSTD(Default::default()), ParquetCompression::SNAPPY] {
        let path = folder.join("wide.parquet");
        wide(&path, 3_000, 20, compression);
        assert_eq!(bounded("3,000 columns of Parquet", || rows_of(&path)).unwrap(), 20);
    }
    for (columns, rows, name) in
        [(1 << 20, 1, "refused"), (1 << 17, 8, "read"), (1 << 17, 40, "many")]
    {
        let path = folder.join(format!("{name}.csv.gz"));
        let mut out = GzEncoder::new(std::fs::File::create(&path).unwrap(), Compression::fast());
        let names: Vec<String> = (0..columns).map(|i| format!("c{i}")).collect();
        writeln!(out, "{}", names.join(",")).unwrap();
        (0..rows).for_each(|_| writeln!(out, "{}", vec!["0"; columns].join(",")).unwrap());
        out.finish().unwrap();
        let read = bounded(&format!("{columns} columns of CSV"), || rows_of(&path));
        match name {
            "refused" => assert!(read.unwrap_err().contains("at most 131072")),
            _ => assert_eq!(read.unwrap(), rows),
        }
    }
}

/// Parquet files by hand, which say of themselves what no writer says.
fn forged_parquet(folder: &Path) {
    let path = folder.join("forged.parquet");
    let refused = |what: &str, file: &File, why: &str| {
        std::fs::write(&path, file.bytes()).unwrap();
        let read = bounded(what, || rows_of(&path));
        let error = read.expect_err(what);
        assert!(error.contains(why), "{what}: {error}");
    };
    // An honest one is read.
    let honest = File { pages: vec![Page::data(&[0; 16])], ..File::new() };
    std::fs::write(&path, honest.bytes()).unwrap();
    assert_eq!(rows_of(&path).unwrap(), 4);
    let page = |unpacked: u64, values: u64| Page { unpacked, values, ..Page::data(&[0; 16]) };
    for codec in [1, 6, 7] {
        let pages = vec![page(1 << 30, 4)];
        refused("a huge page", &File { codec, pages, ..File::new() }, "far longer than the file");
    }
    let pages = vec![page(16, 1 << 31)];
    refused("many values", &File { pages, ..File::new() }, "more values than it declares");
    let dictionary = Page { dictionary: true, ..page(16, (1 << 31) - 1) };
    let pages = vec![dictionary, page(16, 4)];
    refused("a huge dictionary", &File { pages, ..File::new() }, "than it has bytes");
    // A page of gzip that becomes longer than it says.
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    out.write_all(&vec![0; 100 << 20]).unwrap();
    let bomb = out.finish().unwrap();
    let pages = vec![Page { unpacked: 16, ..Page::data(&bomb) }];
    refused("a bomb of gzip", &File { codec: 2, pages, ..File::new() }, "longer than it declares");
    // Old LZ4: frames, which its decoder follows to their end whatever the page says.
    let frame = |values: &[u8]| {
        let mut out = FrameEncoder::new(Vec::new());
        out.write_all(values).unwrap();
        out.finish().unwrap()
    };
    let lz4 = |unpacked: &[u8]| File {
        codec: 5,
        pages: vec![Page { unpacked: 16, ..Page::data(&frame(unpacked)) }],
        ..File::new()
    };
    refused("a bomb of LZ4", &lz4(&vec![0; 100 << 20]), "longer than it declares");
    std::fs::write(&path, lz4(&[0; 16]).bytes()).unwrap();
    assert_eq!(rows_of(&path).unwrap(), 4);
    // Columns that are few bytes of the footer alone.
    for (columns, why) in [(20_000, "one column of lists"), (40_000, "the most for a file of")] {
        let file = File { columns, pages: vec![Page::data(&[0; 16])], ..File::new() };
        refused(&format!("{columns} columns of Parquet"), &file, why);
    }
    // A footer: groups within groups, a million row groups, a list that declares what is not there.
    let pages = || vec![Page::data(&[0; 16])];
    refused("nested", &File { nested: 100_000, pages: pages(), ..File::new() }, "damaged");
    let groups = File { empty_groups: 1_000_000, pages: pages(), ..File::new() };
    refused("row groups", &groups, "row groups");
    for rest in [
        // A field 9 that is a list of 2^31 - 1 truth values, of structs.
        &[0x59, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00][..],
        &[0x59, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00],
        // Rows once more, under a number that has been.
        &[0x06, 0x06, 0x08, 0x00],
    ] {
        refused("a list", &File { pages: pages(), rest: rest.to_vec(), ..File::new() }, "damaged");
    }
}

/// Arrow files and streams of equal numbers, compressed.
fn arrow_bombs(folder: &Path) {
    let column: ArrayRef = Arc::new(Float64Array::from(vec![0.0; 1 << 24]));
    let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
    for (name, compression) in
        [("zstd", CompressionType::ZSTD), ("lz4", CompressionType::LZ4_FRAME)]
    {
        let options =
            || IpcWriteOptions::default().try_with_compression(Some(compression)).unwrap();
        let file = folder.join(format!("{name}.arrow"));
        let out = std::fs::File::create(&file).unwrap();
        let mut out = FileWriter::try_new_with_options(out, &batch.schema(), options()).unwrap();
        out.write(&batch).unwrap();
        out.finish().unwrap();
        let stream = folder.join(format!("{name}.arrows"));
        let out = std::fs::File::create(&stream).unwrap();
        let mut out = StreamWriter::try_new_with_options(out, &batch.schema(), options()).unwrap();
        out.write(&batch).unwrap();
        out.finish().unwrap();
        for path in [file, stream] {
            let error = bounded(name, || rows_of(&path)).unwrap_err();
            assert!(error.contains("far longer than the file"), "{name}: {error}");
        }
    }
}

#[test]
fn small_files_of_data_ask_for_little() {
    if processor_time().is_none() {
        eprintln!("SKIPPED: the time that hostile files take: this system does not tell it");
    }
    let folder = tempfile::tempdir().unwrap();
    data_files(folder.path());
    zstd_bombs(folder.path());
    wide_tables(folder.path());
    nested_columns(folder.path());
    forged_parquet(folder.path());
    arrow_bombs(folder.path());
}
