//! The fast path of rounded noise: a table, one polynomial, one test. The wide versions in `noise::simd`
//! and the exact arithmetic in `noise::rounded` use it.

mod fast;
mod table;
mod tail;

pub(in crate::noise) use fast::*;
#[cfg(test)]
pub(in crate::noise) use table::Table;
pub(crate) use tail::Tail;
