//! What one change of a row may be.

use dp_core::{Adjacency, NormBound};

/// A row of norm at most b added or removed, replaced, or set to zero.
pub(crate) fn adjacencies(b: f64) -> [Adjacency; 3] {
    let bound = NormBound::new(b).unwrap();
    [
        Adjacency::AddRemoveRow { bound },
        Adjacency::ReplaceRow { bound },
        Adjacency::ZeroRow { bound },
    ]
}
