//! What becomes of values before anything else, in words.

use crate::error::Result;
use crate::output::Record;
use dp_core::certificate::Statement;
use dp_core::certificate::preprocessing::Preprocessing;

/// Says what became of values, and that everything else is about what came of them.
pub(crate) fn with_map(record: Record, stated: Option<&Preprocessing>) -> Record {
    match stated {
        Some(stated) => record
            .names(Preprocessing::KEY, &Vec::<String>::from(stated))
            .text("units", Preprocessing::UNITS),
        None => record,
    }
}

/// As [`with_map`], of what a certificate states.
pub(crate) fn with_map_of(record: Record, statement: &Statement) -> Result<Record> {
    Ok(with_map(record, Preprocessing::stated(&statement.public)?.as_ref()))
}
