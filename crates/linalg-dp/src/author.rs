//! That this package is an author of mechanisms: what its proof pages say is what its code does.

use dp_core::mechanism::author::Authority;

pub(crate) const AUTHOR: Authority = dp_core::authority!();
