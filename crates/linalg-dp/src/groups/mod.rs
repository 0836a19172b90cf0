//! Sums of groups of columns, where the groups follow from second moments that are paid from the same budget.
//!
//! [`PrivateGroups`] is for a search among rows of which one value is protected, where nobody has public rows. Groups from
//! public structure or from public rows cost nothing: [`sketch::projection::Groups`].

mod codec;
mod mechanism;
mod moved;
mod release;

pub(crate) use codec::Facts;
pub use mechanism::{GroupsConfig, MomentStream, PrivateGroups, SumStream};
pub(crate) use mechanism::{moved_under, planned_variance};
pub use release::GroupSums;
