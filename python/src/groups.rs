//! Groups of attributes.

use crate::error::Result;
use pyo3::prelude::*;
use sketch::projection::Groups;

/// How many groups a list has: the group of every attribute, from one, negative for a minus sign.
#[pyfunction]
fn groups_of(signed: Vec<i32>) -> Result<usize> {
    Ok(Groups::new(&signed)?.k())
}

/// The list of squares of pixels.
#[pyfunction]
fn groups_of_grid(height: usize, width: usize, cell: usize) -> Result<Vec<i32>> {
    Ok(Groups::grid((height, width), cell)?.signed().to_vec())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(groups_of, module)?)?;
    module.add_function(wrap_pyfunction!(groups_of_grid, module)?)
}
