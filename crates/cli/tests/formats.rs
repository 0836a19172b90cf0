//! One matrix in every format gives one release, bit for bit.

use crate::support::{Room, csv, numbers};
use arrow_array::types::Float64Type;
use arrow_array::{
    ArrayRef, FixedSizeListArray, Float64Array, ListArray, RecordBatch, StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::io::Write;
use std::sync::Arc;

const N: usize = 300;
const D: usize = 6;
const RELEASE: &str = "--seed 3 --insecure-test-noise 7 -k 4 --adjacency attribute --beta 1 \
    --bound 1 --epsilon 1 --delta 1e-6";

/// The bytes of a release made with these input options.
fn release(room: &Room, input: &str) -> Vec<u8> {
    let found = room.json(&format!("release sketch {input} --out x.dps --force {RELEASE}"));
    assert_eq!(found["n"], N, "{input}");
    assert_eq!(found["noise_generator"], "deterministic-not-private");
    room.read("x.dps")
}

/// A batch with an identifier and one column a feature.
fn wide(values: &[f64]) -> RecordBatch {
    let ids: Vec<String> = (0..N).map(|i| format!("user {i}")).collect();
    let mut columns: Vec<(String, ArrayRef)> =
        vec![("user".into(), Arc::new(StringArray::from(ids)))];
    for j in 0..D {
        let column: Vec<f64> = values.iter().skip(j).step_by(D).copied().collect();
        columns.push((format!("a{j}"), Arc::new(Float64Array::from(column))));
    }
    RecordBatch::try_from_iter(columns).expect("a batch")
}

/// A batch with one column of lists.
fn lists(values: &[f64], fixed: bool) -> RecordBatch {
    let item = Arc::new(Field::new("item", DataType::Float64, true));
    let column: ArrayRef = if fixed {
        let elements: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
        Arc::new(FixedSizeListArray::new(item, D as i32, elements, None))
    } else {
        let rows = values.chunks(D).map(|row| Some(row.iter().map(|&v| Some(v))));
        Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(rows))
    };
    let schema = Schema::new(vec![Field::new("vector", column.data_type().clone(), true)]);
    RecordBatch::try_new(Arc::new(schema), vec![column]).expect("a batch")
}

fn parquet(batch: &RecordBatch, compression: Compression) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(128));
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build()))
        .expect("a writer");
    writer.write(batch).expect("written");
    writer.close().expect("closed");
    bytes
}

#[test]
fn every_format_gives_the_same_release() {
    let room = Room::new();
    let values = numbers(N, D);
    let text = csv(&values, D);
    room.write("plain.csv", &text);
    let expected = release(&room, "plain.csv");

    let header_free = text.split_once('\n').expect("a header").1;
    room.write("bare.csv", header_free);
    assert_eq!(release(&room, "bare.csv --no-header"), expected);
    room.write("tabs.tsv", text.replace(',', "\t"));
    assert_eq!(release(&room, "tabs.tsv --delimiter tab"), expected);
    room.write("semicolon.csv", text.replace(',', ";").replace('\n', "\r\n"));
    assert_eq!(release(&room, "semicolon.csv --delimiter ;"), expected);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).expect("compressed");
    room.write("plain.csv.gz", gz.finish().expect("compressed"));
    assert_eq!(release(&room, "plain.csv.gz"), expected);
    // An identifier with a comma, a line end and quotes: no cut at a line end is safe any more.
    let mut quoted = String::from("user,a0,a1,a2,a3,a4,a5,label\n");
    for (i, line) in header_free.lines().enumerate() {
        quoted += &format!("\"user, {i}\n\"\"x\"\"\",{line},yes\n");
    }
    room.write("quoted.csv", &quoted);
    assert_eq!(release(&room, "quoted.csv --id user --id label"), expected);
    assert_eq!(release(&room, "quoted.csv --columns 2-5,a4,7"), expected);

    for (name, dtype) in [("f8.npy", "<f8"), ("big.npy", ">f8")] {
        let mut bytes = npy_header(dtype, &format!("({N}, {D})"));
        for v in &values {
            bytes.extend(if dtype == "<f8" { v.to_le_bytes() } else { v.to_be_bytes() });
        }
        room.write(name, bytes);
        assert_eq!(release(&room, name), expected);
    }

    let zstd = Compression::ZSTD(ZstdLevel::default());
    for (i, compression) in
        [Compression::UNCOMPRESSED, Compression::SNAPPY, zstd].into_iter().enumerate()
    {
        room.write(&format!("{i}.parquet"), parquet(&wide(&values), compression));
        assert_eq!(release(&room, &format!("{i}.parquet --id user")), expected);
    }
    room.write("lists.parquet", parquet(&lists(&values, false), Compression::SNAPPY));
    assert_eq!(release(&room, "lists.parquet"), expected);
    room.write("fixed.parquet", parquet(&lists(&values, true), Compression::SNAPPY));
    assert_eq!(release(&room, "fixed.parquet --columns vector"), expected);

    let batch = wide(&values);
    let mut file =
        arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).expect("arrow");
    file.write(&batch.slice(0, 100)).expect("written");
    file.write(&batch.slice(100, N - 100)).expect("written");
    room.write("x.feather", file.into_inner().expect("closed"));
    assert_eq!(release(&room, "x.feather --id user"), expected);
    let mut stream =
        arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).expect("arrow");
    stream.write(&batch).expect("written");
    room.write("x.arrows", stream.into_inner().expect("closed"));
    assert_eq!(release(&room, "x.arrows --columns a0,a1,a2,a3,a4,a5"), expected);

    let mut sparse = String::from("# a comment\n");
    for row in values.chunks(D) {
        sparse += "1";
        for (j, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            sparse += &format!(" {}:{v}", j + 1);
        }
        sparse += " # end\n";
    }
    room.write("x.svm", sparse);
    assert_eq!(release(&room, &format!("x.svm --features {D}")), expected);
}

fn npy_header(dtype: &str, shape: &str) -> Vec<u8> {
    let mut dict = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}");
    while (dict.len() + 11) % 64 != 0 {
        dict.push(' ');
    }
    dict.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((dict.len() as u16).to_le_bytes());
    bytes.extend(dict.as_bytes());
    bytes
}

/// Bytes of images: IDX, NPY of bytes, and CSV agree after division by 255.
#[test]
fn bytes_are_divided() {
    let room = Room::new();
    let pixels: Vec<u8> = (0..N * D).map(|i| (i * 37 % 256) as u8).collect();
    let mut idx = vec![0, 0, 8, 3];
    for size in [N as u32, 2, 3] {
        idx.extend(size.to_be_bytes());
    }
    idx.extend(&pixels);
    room.write("t10k-images-idx3-ubyte", &idx);
    let expected = release(&room, "t10k-images-idx3-ubyte --divide 255");
    let mut npy = npy_header("|u1", &format!("({N}, {D})"));
    npy.extend(&pixels);
    room.write("x.npy", npy);
    assert_eq!(release(&room, "x.npy --divide 255"), expected);
    let values: Vec<f64> = pixels.iter().map(|&p| f64::from(p)).collect();
    room.write("x.csv", csv(&values, D));
    assert_eq!(release(&room, "x.csv --divide 255"), expected);
}

/// Blocks, chunks and batches are larger than this file's rows in other tests: here a file
/// of several chunks, against the same file read by the parser of quoted text.
#[test]
fn the_cuts_of_a_long_file_change_nothing() {
    let room = Room::new();
    let (n, d) = (60_000, 24);
    let values = numbers(n, d);
    let text = csv(&values, d);
    assert!(text.len() > 5 << 20, "{} bytes", text.len());
    room.write("long.csv", &text);
    let options = "-k 8 --seed 3 --insecure-test-noise 7 --adjacency attribute --beta 1 --bound 1 \
        --epsilon 1 --delta 1e-6";
    let run = |input: &str| {
        let found = room.json(&format!("release sketch {input} --out x.dps --force {options}"));
        assert_eq!(found["n"], n);
        room.read("x.dps")
    };
    let expected = run("long.csv");
    // A quote in the middle of the file sends the rest to the serial parser.
    let at = text.len() / 2 + text[text.len() / 2..].find(",0.5,").expect("a cell");
    room.write("quote.csv", format!("{},\"0.5\",{}", &text[..at], &text[at + 5..]));
    assert_eq!(run("quote.csv"), expected);
}
