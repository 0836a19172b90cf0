//! Choosing a mechanism and its size from public facts: predicted errors, the papers' tail bounds.
//!
//! Nothing here looks at private data: a plan costs no privacy.

mod bounds;
mod distances;
mod groups;
mod needed;
mod public_search;
mod row_search;
mod sets;

pub use bounds::{
    optimal_k, optimal_k_tail, projection_tail_bound, projection_variance, response_tail_bound,
};
pub use distances::{
    DistanceMethod, DistancePlan, DistanceTask, epsilon_for_error, plan_distances,
};
pub use groups::GroupPlan;
pub use needed::least_epsilon;
pub use public_search::{PublicSearch, Recall};
pub use row_search::{Asked, RowSearch};
pub use sets::{Aim, SearchGoal, SetMethod, SetPlan, plan_sets};
