//! Payloads whose rows can be read a few at a time.

use crate::error::{Error, Result};
use dp_core::release_file::{InParts, Payload, Summary};

/// Rows that a search multiplies together: whole tiles (96 rows) of the widest kernels. Pieces are made of so many.
pub(crate) const BLOCK: usize = 480;

/// A payload of rows that can be read a few rows at a time.
pub trait Pieced: Payload<Error = Error> + Sync + Send {
    /// What a file says of its payload.
    type Form: Send;

    /// Reads and checks that.
    ///
    /// # Errors
    /// As [`Payload::read`].
    fn form(summary: &Summary) -> Result<Self::Form>;

    /// Numbers of a row.
    fn numbers(form: &Self::Form) -> usize;

    /// The next rows, as many as are asked for: no more than are left.
    ///
    /// # Errors
    /// As [`Payload::read`].
    fn piece(form: &mut Self::Form, file: &mut InParts, rows: usize) -> Result<Self>;
}
