//! Groups of attributes, and of items.

use crate::error::Result;
use crate::rows::sets;
use crate::run::work;
use dp_core::Budget;
use pyo3::prelude::*;
use sketch::projection::Groups;
use sketch::sets::ItemGroups;

/// How many groups a list has: the group of every attribute, from one, negative for a minus sign.
#[pyfunction]
pub(crate) fn groups_of(signed: Vec<i32>) -> Result<usize> {
    Ok(Groups::new(&signed)?.k())
}

/// The list of squares of pixels.
#[pyfunction]
pub(crate) fn groups_of_grid(height: usize, width: usize, cell: usize) -> Result<Vec<i32>> {
    Ok(Groups::grid((height, width), cell)?.signed().to_vec())
}

/// Groups of items: sets as they are, or those of a public sample for this many items and epsilon.
#[pyfunction]
pub(crate) fn groups_of_items(
    py: Python<'_>,
    given: &Bound<'_, PyAny>,
    sample: Option<(u64, f64)>,
) -> Result<Vec<Vec<u64>>> {
    let given = sets(given)?;
    let groups = work(py, || -> Result<_> {
        Ok(match sample {
            None => ItemGroups::new(&given)?,
            Some((alpha, epsilon)) => {
                ItemGroups::of_sample(&given, alpha, Budget::new(epsilon, 0.0)?)?
            }
        })
    })?;
    Ok(groups.into())
}
