//! Labelled sparse rows: the LIBSVM text format, and character n-grams of package synopses.

#[cfg(feature = "experiments")]
use super::packages::Package;
use crate::error::{Error, Result};
use readers::svmlight_row;
use sketch::RowsView;
use sketch::rows::CsrView;
use std::io::BufRead;
#[cfg(feature = "experiments")]
use std::path::Path;

/// Sparse rows with a label each.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SparseRows {
    /// What the report calls the data set.
    pub name: String,
    /// Features.
    pub d: usize,
    /// n + 1 offsets.
    pub offsets: Vec<usize>,
    /// Columns, increasing in each row.
    pub columns: Vec<u32>,
    /// Values.
    pub values: Vec<f64>,
    /// Labels, one a row.
    pub labels: Vec<i32>,
}

impl SparseRows {
    /// Number of rows.
    #[must_use]
    pub fn n(&self) -> usize {
        self.labels.len()
    }

    /// The rows as a view.
    ///
    /// # Errors
    /// [`sketch::Error`] when offsets and columns do not hold together.
    pub fn view(&self) -> Result<RowsView<'_>> {
        let csr = CsrView { offsets: &self.offsets, columns: &self.columns, values: &self.values };
        Ok(RowsView::csr(self.n(), self.d, csr)?)
    }

    /// The rows with these indices, in this order.
    ///
    /// # Panics
    /// When an index does not exist.
    #[must_use]
    pub fn pick(&self, rows: &[usize]) -> Self {
        let mut out =
            Self { name: self.name.clone(), d: self.d, offsets: vec![0], ..Self::default() };
        for &row in rows {
            let range = self.offsets[row]..self.offsets[row + 1];
            out.columns.extend_from_slice(&self.columns[range.clone()]);
            out.values.extend_from_slice(&self.values[range]);
            out.offsets.push(out.columns.len());
            out.labels.push(self.labels[row]);
        }
        out
    }

    /// Which columns have an entry in some row.
    #[must_use]
    pub fn columns_in_use(&self) -> Vec<bool> {
        let mut used = vec![false; self.d];
        self.columns.iter().for_each(|&c| used[c as usize] = true);
        used
    }

    /// Keeps the columns that are marked, in order, and drops the entries of all others.
    ///
    /// # Panics
    /// When there is not one mark a column.
    #[must_use]
    pub fn keep_columns(&self, keep: &[bool]) -> Self {
        assert_eq!(keep.len(), self.d, "one mark a column");
        let mut d = 0u32;
        let new: Vec<u32> = keep.iter().map(|&k| (d += u32::from(k), d).1).collect();
        let (name, labels) = (self.name.clone(), self.labels.clone());
        let mut out = Self { name, d: d as usize, labels, offsets: vec![0], ..Self::default() };
        for row in self.offsets.windows(2) {
            for at in row[0]..row[1] {
                let column = self.columns[at] as usize;
                if keep[column] {
                    out.columns.push(new[column] - 1);
                    out.values.push(self.values[at]);
                }
            }
            out.offsets.push(out.columns.len());
        }
        out
    }

    /// Divides every column by its largest absolute value ("max normalisation").
    pub fn normalise_columns(&mut self) {
        let mut largest = vec![0.0f64; self.d];
        for (&c, &v) in self.columns.iter().zip(&self.values) {
            largest[c as usize] = largest[c as usize].max(v.abs());
        }
        for (&c, v) in self.columns.iter().zip(&mut self.values) {
            *v /= largest[c as usize].max(f64::MIN_POSITIVE);
        }
    }
}

/// Reads LIBSVM text: a line `label index:value ...` for each row, indices from one, increasing.
/// At most `limit` rows are read.
///
/// # Errors
/// [`Error::Malformed`] naming the line.
pub fn read_libsvm(name: &str, text: impl BufRead, limit: usize) -> Result<SparseRows> {
    let mut rows = SparseRows { name: name.into(), offsets: vec![0], ..SparseRows::default() };
    for (i, line) in text.lines().take(limit).enumerate() {
        let line = line.map_err(|e| Error::io(name, e))?;
        let bad = |what: &str| Error::malformed(name, format!("line {}: {what}", i + 1));
        let first = rows.columns.len();
        let label = svmlight_row(&line, &mut rows.columns, &mut rows.values).map_err(bad)?;
        let label: f64 = label.and_then(|l| l.parse().ok()).ok_or_else(|| bad("no label"))?;
        if rows.values[first..].iter().any(|value| !value.is_finite()) {
            return Err(bad("a value is not finite"));
        }
        let last = rows.columns[first..].last();
        rows.d = rows.d.max(last.map_or(0, |&column| column as usize + 1));
        rows.offsets.push(rows.columns.len());
        rows.labels.push(label as i32);
    }
    if rows.labels.is_empty() || rows.d == 0 {
        return Err(Error::malformed(name, "no rows"));
    }
    Ok(rows)
}

/// As [`read_libsvm`] from a file.
///
/// # Errors
/// [`Error::Io`] or [`Error::Malformed`].
#[cfg(feature = "experiments")]
pub(crate) fn read_libsvm_file(path: &Path, limit: usize) -> Result<SparseRows> {
    let file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
    read_libsvm(&path.display().to_string(), std::io::BufReader::new(file), limit)
}

/// Letters and the gap between words: the public alphabet of the n-grams.
#[cfg(feature = "experiments")]
const ALPHABET: usize = 27;

/// Which character n-grams of a length occur in each text (0 or 1), over the fixed public vocabulary of all
/// `27^length`: letters without case, everything else a gap.
///
/// # Panics
/// When there are more than `2^32` n-grams.
#[must_use]
#[cfg(feature = "experiments")]
pub(crate) fn grams(packages: &[(&Package, i32)], length: u32) -> SparseRows {
    let d = ALPHABET.pow(length);
    assert!(u32::try_from(d).is_ok(), "columns are 32-bit numbers");
    let mut rows = SparseRows {
        name: format!("character {length}-grams of package synopses"),
        d,
        offsets: vec![0],
        ..SparseRows::default()
    };
    for (package, label) in packages {
        let code = |b: u8| match b.to_ascii_lowercase() {
            c @ b'a'..=b'z' => (c - b'a') as usize + 1,
            _ => 0,
        };
        let text: Vec<usize> = package.synopsis.bytes().map(code).collect();
        let number = |w: &[usize]| w.iter().fold(0, |n, c| n * ALPHABET + c) as u32;
        let mut grams: Vec<u32> = text.windows(length as usize).map(number).collect();
        grams.sort_unstable();
        grams.dedup();
        rows.values.extend(std::iter::repeat_n(1.0, grams.len()));
        rows.columns.extend(grams);
        rows.offsets.push(rows.columns.len());
        rows.labels.push(*label);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libsvm_text_by_hand() {
        let rows = read_libsvm("t", "+1 1:0.5 3:2\n-1\n-1 2:1e-3\n".as_bytes(), 9).unwrap();
        assert_eq!((rows.n(), rows.d), (3, 3));
        assert_eq!(rows.offsets, [0, 2, 2, 3]);
        assert_eq!(rows.columns, [0, 2, 1]);
        assert_eq!(rows.labels, [1, -1, -1]);
        rows.view().unwrap();
        assert_eq!(rows.pick(&[2, 0]).columns, [1, 0, 2]);
        assert_eq!(rows.columns_in_use(), [true, true, true]);
        let kept = rows.keep_columns(&[false, true, true]);
        assert_eq!((kept.d, &kept.offsets[..]), (2, &[0, 1, 1, 2][..]));
        assert_eq!((&kept.columns[..], &kept.values[..]), (&[1, 0][..], &[2.0, 1e-3][..]));
        assert_eq!(kept.keep_columns(&[false, true]).columns_in_use(), [true]);
        kept.view().unwrap();
        let mut scaled = rows.clone();
        scaled.normalise_columns();
        assert_eq!(scaled.values, [1.0, 1.0, 1.0]);
        for (text, what) in [
            ("1 0:1", "count from one"),
            ("1 2:1 2:1", "increase"),
            ("x", "label"),
            ("1 a", "index:value"),
            ("1 1:nan", "finite"),
            ("", "no rows"),
        ] {
            assert!(
                read_libsvm("t", text.as_bytes(), 9).unwrap_err().to_string().contains(what),
                "{text}"
            );
        }
    }

    #[cfg(feature = "experiments")]
    #[test]
    fn grams_by_hand() {
        let package = Package {
            name: "x".into(),
            section: "y".into(),
            synopsis: "Aab aab".into(),
            tags: vec![],
            depends: vec![],
        };
        let rows = grams(&[(&package, 1)], 3);
        // "aab", "ab ", "b a", " aa": aab = (1*27+1)*27+2.
        assert_eq!(rows.columns.len(), 4);
        assert!(rows.columns.contains(&758));
        rows.view().unwrap();
        // "aab a", "ab aa", "b aab": the first is 758 * 27^2 + 1.
        let rows = grams(&[(&package, 1)], 5);
        assert_eq!((rows.d, rows.columns.len()), (14_348_907, 3));
        assert!(rows.columns.contains(&(758 * 27 * 27 + 1)));
        rows.view().unwrap();
    }
}
