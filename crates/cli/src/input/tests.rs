//! Arbitrary bytes give an error or rows of the stated length, never a panic.

use super::{Block, Input, InputOptions};
use clap::Parser;
use proptest::prelude::*;
use std::io::Write;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    input: InputOptions,
}

/// Reads a file of these bytes; the number of rows, or `None` when it was refused.
fn read(bytes: &[u8], options: &[&str]) -> Option<usize> {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("written");
    let path = file.path().to_str().expect("UTF-8");
    let arguments = Arguments::parse_from([&["dps", path], options].concat());
    let Input { mut rows, .. } = arguments.input.open().ok()?;
    let mut n = 0;
    while let Some(block) = rows.next(Block::default()).ok()? {
        assert!(block.n > 0, "blocks hold rows");
        let view = block.view(rows.d()).expect("readers hand out whole, finite rows");
        n += view.n();
    }
    Some(n)
}

const STARTS: [(&str, &[u8]); 8] = [
    ("csv", b"a,b\n1,2\n"),
    ("csv", b"\"a,b\n"),
    ("npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"),
    ("parquet", b"PAR1"),
    ("arrow", b"ARROW1\0\0"),
    ("arrow", b"\xff\xff\xff\xff"),
    ("svmlight", b"1 1:2 3:"),
    ("idx", &[0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3]),
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
        let features: &[&str] = if format == "svmlight" { &["--features", "5"] } else { &[] };
        read(&all, &[&["--format", format], features].concat());
    }
}

#[test]
fn rows_are_counted() {
    assert_eq!(read(b"a,b\n1,2\n\n3,4", &["--format", "csv"]), Some(2), "blank lines are no rows");
    assert_eq!(
        read(b"\xef\xbb\xbfa,b\r\n1,2\r\n", &["--format", "csv", "--columns", "a"]),
        Some(1)
    );
    assert_eq!(read(b"1,2\n3,4\n", &["--format", "csv", "--no-header"]), Some(2));
    assert_eq!(read(b"a,b\n", &["--format", "csv"]), Some(0));
    assert_eq!(read(b"\"a\",b\n\"1\",2\n", &["--format", "csv"]), Some(1));
    assert_eq!(
        read(b" 1 , 2\n", &["--format", "csv", "--no-header"]),
        Some(1),
        "spaces are trimmed"
    );
    assert_eq!(read(b"1 1:0.5 5:2\n0\n", &["--format", "svmlight", "--features", "5"]), Some(2));
    assert_eq!(read(b"1 5:2 1:1\n", &["--format", "svmlight", "--features", "5"]), None);
    assert_eq!(read(b"1 6:2\n", &["--format", "svmlight", "--features", "5"]), None);
}
