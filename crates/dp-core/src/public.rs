//! Public parameters: what certificates state beside their guarantee.

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
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

/// Reads parameters of which none is named twice: one reader would take the first, another the last.
pub(crate) fn each_once<'d, D: Deserializer<'d>>(d: D) -> Result<PublicParameters, D::Error> {
    struct Named;
    impl<'d> Visitor<'d> for Named {
        type Value = PublicParameters;
        fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            f.write_str("parameters, each named once")
        }
        fn visit_map<A: MapAccess<'d>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = PublicParameters::new();
            while let Some((name, value)) = map.next_entry::<String, PublicValue>()? {
                if found.insert(name, value).is_some() {
                    return Err(A::Error::custom("a parameter is named twice"));
                }
            }
            Ok(found)
        }
    }
    d.deserialize_map(Named)
}
