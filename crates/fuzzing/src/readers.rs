//! Readers of data sets.

use eval::data::{SetRule, parse_packages, parse_user_items, read_libsvm};
use readers::{Block, FileFormat, RowsFile};

/// IDX, plain or gzip, from memory: all rows that are handed out have the stated length.
pub(crate) fn idx(data: &[u8]) {
    let file = RowsFile { format: Some(FileFormat::Idx), ..RowsFile::new("fuzz") };
    let Ok(mut input) = file.open_from(std::io::Cursor::new(data.to_vec())) else { return };
    while let Ok(Some(block)) = input.rows.next(Block::default()) {
        assert_eq!(block.dense(input.rows.d()).len(), block.n * input.rows.d());
    }
}

/// LIBSVM text: the rows that are accepted hold together.
pub(crate) fn libsvm(data: &[u8]) {
    if let Ok(mut rows) = read_libsvm("fuzz", data, 1000) {
        let view = rows.view().expect("accepted rows hold together");
        assert_eq!((view.n(), view.d()), (rows.n(), rows.d));
        let picked = rows.pick(&[rows.n() - 1, 0]);
        assert_eq!(picked.n(), 2);
        // One number a column: not for the widest rows.
        if rows.d <= 1 << 16 {
            rows.normalise_columns();
            assert!(rows.values.iter().all(|v| v.abs() <= 1.0));
        }
    }
}

/// Lines of user, item and value.
pub(crate) fn item_sets(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for rule in [SetRule::AtLeast(4.0), SetRule::Largest(3)] {
        if let Ok(sets) = parse_user_items("fuzz", text, rule) {
            let _ = sets.describe();
            let sets = sets.at_least(2);
            assert!(sets.sets.iter().all(|s| s.items().is_sorted() && s.len() >= 2));
        }
    }
}

/// The table of packages.
pub(crate) fn packages(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(packages) = parse_packages("fuzz", text) {
        assert_eq!(packages.len(), text.lines().count() - 1);
    }
}
