//! The least noise for a budget.
//!
//! Every function returns a parameter whose profile meets the budget when evaluated
//! again, and which misses it when moved by one part in 1e9 towards less noise
//! (probabilities: or by one unit in their last place, where that is coarser).

pub mod published;

pub use crate::profile::chi_mixture::chi_mixture_gaussian;
pub use crate::profile::gaussian::{gaussian, gaussian_steps};
pub use crate::profile::gaussian_and_pure::gaussian_and_pure;
pub use crate::profile::integer::{discrete_gaussian, discrete_laplace};
pub use crate::profile::jl::jl_lift;
pub use crate::profile::laplace::laplace;
pub use crate::profile::mixture::binomial_mixture_rr;
pub use crate::profile::repeated::wishart_scale_repeated;
pub use crate::profile::response::{kary_response, randomized_response, response_epsilon};
pub use crate::profile::solve::least_scale;
pub use crate::profile::staircase::staircase;
pub use crate::profile::symmetric::symmetric_gaussian;
pub use crate::profile::wishart::{wishart_dof, wishart_scale};
pub use published::{Acceptance, PublishedCalibration, PublishedRule, PublishedSetting};
