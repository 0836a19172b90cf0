//! Public parameters: what certificates state beside their guarantee.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A public parameter of a mechanism (shapes, seeds, bounds).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PublicValue {
    /// A whole number.
    Integer(u64),
    /// A real number.
    Real(f64),
    /// A word.
    Text(String),
}

impl From<u64> for PublicValue {
    fn from(value: u64) -> Self {
        Self::Integer(value)
    }
}
impl From<usize> for PublicValue {
    fn from(value: usize) -> Self {
        Self::Integer(value as u64)
    }
}
impl From<f64> for PublicValue {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}
impl From<&str> for PublicValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}
impl From<String> for PublicValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

/// Named public parameters, in a fixed order.
pub type PublicParameters = BTreeMap<String, PublicValue>;
