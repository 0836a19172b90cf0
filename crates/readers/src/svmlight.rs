//! Sparse rows as text: `label index:value ...`, indices from one and increasing.

use crate::block::{BLOCK_VALUES, Block, Input, RowReader, Values};
use crate::error::{DataError, Error, Result};
use crate::options::{NOT_FINITE, Numbers, RowsFile};
use crate::source::{self, Bytes, Meter};
use std::path::PathBuf;

struct SvmlightRows {
    bytes: Bytes,
    d: usize,
    numbers: Numbers,
    path: PathBuf,
    line: String,
    lines: u64,
}

pub(crate) fn open(options: &RowsFile, (bytes, meter): (Bytes, Meter)) -> Result<Input> {
    let d = options.features.ok_or_else(|| {
        Error::options(
            "`features` is required for svmlight files: the number of features is published, \
             and the largest index in the data is private",
        )
    })?;
    if d == 0 || d > u32::MAX as usize {
        return Err(Error::options("`features` takes a number in [1, 2^32)"));
    }
    let rows = SvmlightRows {
        bytes,
        d,
        numbers: Numbers::of(options),
        path: options.path.clone(),
        line: String::new(),
        lines: 0,
    };
    Ok(Input { rows: Box::new(rows), meter, columns: None, preprocessing: None })
}

/// Reads a line of sparse rows: adds its columns (from zero, increasing) and its numbers, and returns its
/// label as it stands there; `None` for a line that holds no row.
///
/// ```
/// let (mut columns, mut values) = (Vec::new(), Vec::new());
/// let label = readers::svmlight_row("-1 2:0.5 7:3 # a comment", &mut columns, &mut values);
/// assert_eq!(label, Ok(Some("-1")));
/// assert_eq!((columns, values), (vec![1, 6], vec![0.5, 3.0]));
/// ```
///
/// # Errors
/// The rule that the line breaks.
pub fn svmlight_row<'a>(
    line: &'a str,
    columns: &mut Vec<u32>,
    values: &mut Vec<f64>,
) -> Result<Option<&'a str>, &'static str> {
    let line = line.split('#').next().unwrap_or_default();
    let mut words = line.split_ascii_whitespace();
    let Some(label) = words.next() else { return Ok(None) };
    if label.contains(':') {
        return Err("a line does not begin with a label");
    }
    let first = columns.len();
    for word in words {
        let Some((index, value)) = word.split_once(':') else {
            return Err("an entry is not index:value");
        };
        if index == "qid" {
            continue;
        }
        let index: u32 = index.parse().map_err(|_| "an index is not a whole number")?;
        let value: f64 = fast_float2::parse(value).map_err(|_| "a value is not a number")?;
        let column = index.checked_sub(1).ok_or("indices count from one; one is zero")?;
        if columns[first..].last().is_some_and(|&last| last >= column) {
            return Err("the indices of a row must increase");
        }
        columns.push(column);
        values.push(value);
    }
    Ok(Some(label))
}

impl SvmlightRows {
    /// Adds the entries of a line; `None` for a line that holds no row.
    fn parse(
        &self,
        line: &str,
        columns: &mut Vec<u32>,
        values: &mut Vec<f64>,
    ) -> Result<Option<()>, &'static str> {
        let first = columns.len();
        let row = svmlight_row(line, columns, values)?;
        // They increase.
        if columns[first..].last().is_some_and(|&last| last as usize >= self.d) {
            return Err("an index is above `features`");
        }
        for value in &mut values[first..] {
            *value = self.numbers.finite(*value).map_err(|_| NOT_FINITE)?;
        }
        Ok(row.map(drop))
    }
}

impl RowReader for SvmlightRows {
    fn d(&self) -> usize {
        self.d
    }

    fn next(&mut self, used: Block) -> Result<Option<Block>> {
        let (mut offsets, mut columns, mut values) = match used.values {
            Values::Sparse { offsets, columns, values } => (offsets, columns, values),
            Values::Dense(values) => (Vec::new(), Vec::new(), values),
            Values::Single(_) => Default::default(),
        };
        offsets.clear();
        offsets.push(0);
        columns.clear();
        values.clear();
        let mut line = std::mem::take(&mut self.line);
        while columns.len() < BLOCK_VALUES / 2 && offsets.len() <= 1 << 14 {
            line.clear();
            let read = source::read_line(&mut self.bytes, &mut line, source::LONGEST_LINE)
                .map_err(|e| Error::io(&self.path, e))?;
            if read == 0 {
                break;
            }
            self.lines += 1;
            let parsed =
                self.parse(&line, &mut columns, &mut values).map_err(|rule| DataError {
                    file: self.path.clone(),
                    column: None,
                    rule: rule.into(),
                    record: Some(self.lines),
                })?;
            if parsed.is_some() {
                offsets.push(columns.len());
            }
        }
        self.line = line;
        let n = offsets.len() - 1;
        let block = Block { n, values: Values::Sparse { offsets, columns, values } };
        Ok((n > 0).then_some(block))
    }
}
