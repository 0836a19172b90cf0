//! Ids of rows in a column of Parquet or Arrow.

use crate::options::{IdColumn, NOT_AN_ID, Users};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, Schema};
use std::sync::Arc;

/// What is wrong with a column of another type.
pub(crate) const NO_IDS: &str = "the column of ids holds neither text nor whole numbers";

/// What is wrong with a row without a user.
const NO_USER: &str = "a row does not say whose it is, or in more than 1024 bytes";

/// Whether ids are read from a column of this type.
pub(crate) fn is_text_or_whole(ty: &DataType) -> bool {
    ty.is_integer() || matches!(ty, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// A schema under which the texts of these columns are not copied, where they hold any: a few bytes of a file may say a long one many times.
#[cfg(feature = "parquet")]
pub(crate) fn uncopied(schema: &Schema, columns: &[usize]) -> Option<Schema> {
    let viewed = |of: &Arc<Field>, ty| Some(Arc::new(of.as_ref().clone().with_data_type(ty)));
    let text = |of: &Arc<Field>| match of.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => viewed(of, DataType::Utf8View),
        _ => None,
    };
    let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
    let mut any = false;
    for &column in columns {
        let field = &fields[column];
        let other = match field.data_type() {
            DataType::List(of) => text(of).and_then(|of| viewed(field, DataType::List(of))),
            DataType::LargeList(of) => {
                text(of).and_then(|of| viewed(field, DataType::LargeList(of)))
            }
            _ => text(field),
        };
        if let Some(other) = other {
            (fields[column], any) = (other, true);
        }
    }
    any.then(|| Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The text of one value; none where it is missing, or longer than 1024 bytes.
pub(crate) fn text(column: &ArrayRef, row: usize) -> Option<String> {
    macro_rules! whole {
        ($type:ty) => {
            column.as_primitive::<$type>().value(row).to_string()
        };
    }
    // Long texts are refused before they are copied.
    let short = |text: &str| (text.len() <= 1 << 10).then(|| text.trim().to_owned());
    if column.is_null(row) {
        return None;
    }
    match column.data_type() {
        DataType::Utf8 => short(column.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => short(column.as_string::<i64>().value(row)),
        DataType::Utf8View => short(column.as_string_view().value(row)),
        DataType::Int8 => Some(whole!(Int8Type)),
        DataType::Int16 => Some(whole!(Int16Type)),
        DataType::Int32 => Some(whole!(Int32Type)),
        DataType::Int64 => Some(whole!(Int64Type)),
        DataType::UInt8 => Some(whole!(UInt8Type)),
        DataType::UInt16 => Some(whole!(UInt16Type)),
        DataType::UInt32 => Some(whole!(UInt32Type)),
        DataType::UInt64 => Some(whole!(UInt64Type)),
        _ => None,
    }
}

/// Which rows enter: the first of every user. Every row says whose it is.
pub(crate) fn taken(
    users: &Users,
    column: &ArrayRef,
    rows: std::ops::Range<usize>,
) -> Result<Vec<bool>, (usize, &'static str)> {
    let first = rows.start;
    let said = |user: &String| !Users::spelled(user).is_empty();
    let takes = |row: usize| match text(column, row).filter(said) {
        Some(user) => Ok(users.takes(&user)),
        None => Err((row - first, NO_USER)),
    };
    rows.map(takes).collect()
}

/// Names the rows that enter by a column; which of them cannot be.
pub(crate) fn name(
    of: &IdColumn,
    column: &ArrayRef,
    rows: std::ops::Range<usize>,
    takes: Option<&[bool]>,
) -> Result<(), (usize, &'static str)> {
    let mut ids = of.ids();
    let first = rows.start;
    for row in rows.filter(|row| takes.is_none_or(|takes| takes[row - first])) {
        let named = text(column, row).is_some_and(|id| ids.push(&id).is_ok());
        if !named {
            return Err((row - first, NOT_AN_ID));
        }
    }
    Ok(())
}
