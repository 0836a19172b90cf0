//! Declared bounds: refused or clipped, never looked at again.

use crate::block::{Block, Values, first_outside};
use crate::error::{DataError, Result};
use dp_core::{EntryBound, NormBound};
use std::path::PathBuf;

/// What happens to rows outside the declared bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutsideBounds {
    /// The whole file is refused.
    Refuse,
    /// Values move to the bound and long rows are scaled down to it. How many is not counted.
    Clip,
}

/// The declared bounds of a file.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Largest absolute value.
    pub entry: Option<EntryBound>,
    /// Largest l2 norm of a row.
    pub norm: Option<NormBound>,
    /// Least l2 norm of a row; shorter rows are always refused.
    pub least: Option<NormBound>,
    /// What happens outside.
    pub outside: OutsideBounds,
    /// The file, for messages.
    pub file: PathBuf,
}

/// A norm is computed with a relative error far below this.
const ROUNDING: f64 = 1e-12;

/// How far a row that was normalised in 32 bits may be from its norm, generously. The advice is the same whatever
/// the row, so that it tells nothing of it.
const F32_ROUNDING: f64 = 1e-6;

impl Limits {
    /// Checks or clips a block of rows of `d` columns; `first` rows came before it.
    ///
    /// # Errors
    /// A row outside the bounds, when it is not clipped.
    pub fn apply(
        &self,
        block: &mut Block,
        d: usize,
        first: u64,
        column: impl Fn(usize) -> String,
    ) -> Result<()> {
        if self.outside == OutsideBounds::Clip {
            block.widen();
        }
        if let Some(bound) = self.entry {
            self.entries(block, d, first, bound.get(), column)?;
        }
        if let Some(bound) = self.norm {
            self.norms(block, d, first, bound.get())?;
        }
        match self.least {
            Some(least) => self.shortest(block, d, first, least.get()),
            None => Ok(()),
        }
    }

    fn shortest(&self, block: &Block, d: usize, first: u64, least: f64) -> Result<()> {
        let short = |row: &[f64]| norm(row) < least;
        let found = match &block.values {
            Values::Dense(values) => values.chunks_exact(d).position(short),
            Values::Single(values) => values.chunks_exact(d).position(|row| norm(row) < least),
            Values::Sparse { offsets, values, .. } => {
                offsets.windows(2).position(|w| short(&values[w[0]..w[1]]))
            }
        };
        let Some(row) = found else { return Ok(()) };
        Err(DataError {
            file: self.file.clone(),
            column: None,
            rule: format!(
                "a row is shorter than the promised least norm {least}; promise one that holds for \
                 every possible row, or lift the rows instead"
            ),
            record: Some(first + row as u64 + 1),
        }
        .into())
    }

    fn entries(
        &self,
        block: &mut Block,
        d: usize,
        first: u64,
        bound: f64,
        column: impl Fn(usize) -> String,
    ) -> Result<()> {
        let outside = match &mut block.values {
            Values::Single(values) => first_outside(values, bound),
            Values::Dense(values) | Values::Sparse { values, .. } => {
                if self.outside == OutsideBounds::Clip {
                    values.iter_mut().for_each(|v| *v = v.clamp(-bound, bound));
                    return Ok(());
                }
                first_outside(values, bound)
            }
        };
        let Some(at) = outside else { return Ok(()) };
        let (row, place) = match &block.values {
            Values::Dense(_) | Values::Single(_) => (at / d, at % d),
            Values::Sparse { offsets, columns, .. } => {
                (offsets.partition_point(|&o| o <= at) - 1, columns[at] as usize)
            }
        };
        Err(DataError {
            file: self.file.clone(),
            column: Some(column(place)),
            rule: format!(
                "a value is outside the declared bound [-{bound}, {bound}]; declare a bound that \
                 holds for every possible file, or move such values to the bound with `clip`"
            ),
            record: Some(first + row as u64 + 1),
        }
        .into())
    }

    fn norms(&self, block: &mut Block, d: usize, first: u64, bound: f64) -> Result<()> {
        let within = |norm: f64| norm <= bound * (1.0 + ROUNDING);
        let refused = |row: usize| {
            Err(DataError {
                file: self.file.clone(),
                column: None,
                rule: format!(
                    "a row is longer than the declared norm bound {bound}; declare a bound that \
                     holds for every possible row (rows that were normalised in 32 bits are off by their \
                     rounding, so that 1 becomes 1.00000001: declare `norm` {} for them), or scale \
                     such rows to the bound with `clip`",
                    bound * (1.0 + F32_ROUNDING)
                ),
                record: Some(first + row as u64 + 1),
            })
        };
        let row_of = |row: usize, values: &mut [f64]| {
            if within(norm(values)) {
                return Ok(());
            }
            if self.outside != OutsideBounds::Clip {
                return refused(row);
            }
            let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
            // Two steps: a sum of squares may have overflowed.
            let unit = values.iter().map(|v| (v / largest).powi(2)).sum::<f64>().sqrt();
            values.iter_mut().for_each(|v| *v = *v / largest * (bound / unit));
            Ok(())
        };
        match &mut block.values {
            Values::Single(values) => {
                let long = values.chunks_exact(d).position(|row| !within(norm(row)));
                long.map_or(Ok(()), refused)?;
            }
            Values::Dense(values) => {
                for (row, values) in values.chunks_exact_mut(d).enumerate() {
                    row_of(row, values)?;
                }
            }
            Values::Sparse { offsets, values, .. } => {
                for (row, window) in offsets.windows(2).enumerate() {
                    row_of(row, &mut values[window[0]..window[1]])?;
                }
            }
        }
        Ok(())
    }
}

fn norm<T: Copy + Into<f64>>(row: &[T]) -> f64 {
    row.iter().map(|&v| v.into().powi(2)).sum::<f64>().sqrt()
}
