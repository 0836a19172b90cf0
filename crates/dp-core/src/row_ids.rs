//! Names of rows: public, and not protected.

use crate::error::{Error, Result};
use std::collections::{HashMap, HashSet};

/// Longest id, in bytes.
const LONGEST: usize = 256;
/// Longest block of ids.
const LIMIT: usize = 1 << 30;

/// What the rows of a release are called, in their order: published with the release, covered by the hash in its
/// certificate, and **not protected**.
///
/// ```
/// use dp_core::release_file::RowIds;
///
/// let mut ids = RowIds::default();
/// ids.push("u000123")?;
/// assert_eq!((ids.get(0), ids.row("u000123")), (Some("u000123"), Some(0)));
/// assert!(ids.push("two\nlines").is_err());
/// # Ok::<(), dp_core::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowIds {
    /// A line end behind each.
    text: String,
    /// Where each ends, without its line end.
    ends: Vec<usize>,
}

impl RowIds {
    /// Names the next row.
    ///
    /// # Errors
    /// [`Error::File`] for an id that is empty, longer than 256 bytes or holds a control character, and for ids that take
    /// more than 2^30 bytes together. The text never repeats an id.
    pub fn push(&mut self, id: &str) -> Result<()> {
        if id.is_empty() || id.len() > LONGEST || id.chars().any(char::is_control) {
            let rule = "an id takes 1 to 256 bytes of text without control characters";
            return Err(Error::file("ids", rule));
        }
        if self.text.len() + id.len() >= LIMIT {
            return Err(Error::file("ids", "all of them take more than 2^30 bytes"));
        }
        self.text.push_str(id);
        self.ends.push(self.text.len());
        self.text.push('\n');
        Ok(())
    }

    /// How many rows are named.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// What a row is called.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&str> {
        let end = *self.ends.get(row)?;
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before] + 1);
        Some(&self.text[start..end])
    }

    /// The row that is called so.
    #[must_use]
    pub fn row(&self, id: &str) -> Option<usize> {
        (0..self.rows()).find(|&row| self.get(row) == Some(id))
    }

    /// Every name with its row, for many questions.
    #[must_use]
    pub fn places(&self) -> HashMap<&str, usize> {
        (0..self.rows()).filter_map(|row| Some((self.get(row)?, row))).collect()
    }

    /// The second of two rows of one name.
    #[must_use]
    pub fn repeated(&self) -> Option<usize> {
        let mut seen = HashSet::new();
        (0..self.rows()).find(|&row| !seen.insert(self.get(row)))
    }

    /// As they stand in a file.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// Reads what stands in a file.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let text = core::str::from_utf8(bytes).map_err(|_| Error::file("ids", "not UTF-8"))?;
        let Some(text) = text.strip_suffix('\n') else {
            return Err(Error::file("ids", "the last one does not end"));
        };
        let mut ids = Self::default();
        text.split('\n').try_for_each(|id| ids.push(id))?;
        Ok(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_back_and_other_bytes_are_refused() {
        let mut ids = RowIds::default();
        let names = ["u1", " ", "ü\u{2028}x", "a,b\"", &"x".repeat(256)];
        names.iter().for_each(|id| ids.push(id).unwrap());
        let read = RowIds::from_bytes(ids.bytes()).unwrap();
        assert_eq!(read, ids);
        assert!(names.iter().enumerate().all(|(i, id)| read.get(i) == Some(id)));
        assert!(names.iter().enumerate().all(|(i, id)| read.row(id) == Some(i)));
        assert_eq!((read.get(5), read.row("u2"), read.repeated()), (None, None, None));
        let long = "x".repeat(257) + "\n";
        for bad in ["", "a", "\n", "a\n\nb\n", "a\nb", "a\r\n", "\u{85}\n", &long] {
            assert!(RowIds::from_bytes(bad.as_bytes()).is_err(), "{bad:?}");
        }
        assert!(RowIds::from_bytes(b"\xff\n").is_err());
        ids.push("u1").unwrap();
        assert_eq!(ids.repeated(), Some(5));
        let before = ids.clone();
        assert!(ids.push("tab\t").is_err() && ids.push("").is_err() && ids == before);
    }
}
