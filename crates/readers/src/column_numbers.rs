//! Numbers of a column of Parquet or Arrow.

use crate::block::first_outside;
use crate::options::{EXACT, INEXACT, Numbers};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use std::borrow::Cow;

/// What is said of a column of anything else.
pub(crate) const NOT_A_NUMBER: &str =
    "the column does not hold numbers; leave it out with `leave_out`, or choose with `columns`";

/// Refuses whole numbers that are rounded as `f64`; what lies where a value is missing does not count.
fn exact<T: ArrowPrimitiveType>(
    column: &ArrayRef,
    size: impl Fn(T::Native) -> u64,
) -> Result<(), (usize, &'static str)> {
    let numbers = column.as_primitive::<T>();
    let beyond = |v: T::Native| size(v) > EXACT;
    if !numbers.values().iter().fold(false, |any, &v| any | beyond(v)) {
        return Ok(());
    }
    let there = |&at: &usize| numbers.is_valid(at) && beyond(numbers.value(at));
    (0..numbers.len()).find(there).map_or(Ok(()), |at| Err((at, INEXACT)))
}

impl Numbers {
    /// The numbers of a column, or the place of one that is refused.
    pub(crate) fn column(self, column: &ArrayRef) -> Result<Cow<'_, [f64]>, (usize, &'static str)> {
        macro_rules! primitive {
            ($type:ty) => {
                column.as_primitive::<$type>().values().iter().map(|&v| v as f64).collect()
            };
        }
        if let DataType::Float64 = column.data_type()
            && column.null_count() == 0
            && self.divide == 1.0
        {
            let values = &column.as_primitive::<Float64Type>().values()[..];
            if first_outside(values, f64::MAX).is_none() {
                return Ok(Cow::Borrowed(values));
            }
        }
        let mut values: Vec<f64> = match column.data_type() {
            DataType::Float64 => primitive!(Float64Type),
            DataType::Float32 => primitive!(Float32Type),
            DataType::Int8 => primitive!(Int8Type),
            DataType::Int16 => primitive!(Int16Type),
            DataType::Int32 => primitive!(Int32Type),
            DataType::Int64 => {
                exact::<Int64Type>(column, i64::unsigned_abs)?;
                primitive!(Int64Type)
            }
            DataType::UInt8 => primitive!(UInt8Type),
            DataType::UInt16 => primitive!(UInt16Type),
            DataType::UInt32 => primitive!(UInt32Type),
            DataType::UInt64 => {
                exact::<UInt64Type>(column, |v| v)?;
                primitive!(UInt64Type)
            }
            DataType::Boolean => {
                let bits = column.as_boolean();
                (0..bits.len()).map(|i| f64::from(u8::from(bits.value(i)))).collect()
            }
            _ => return Err((0, NOT_A_NUMBER)),
        };
        if let Some(nulls) = column.nulls().filter(|nulls| nulls.null_count() > 0) {
            for (i, value) in values.iter_mut().enumerate().filter(|&(i, _)| nulls.is_null(i)) {
                *value = self.missing().map_err(|rule| (i, rule))?;
            }
        }
        self.all_finite(&mut values)?;
        Ok(Cow::Owned(values))
    }
}
