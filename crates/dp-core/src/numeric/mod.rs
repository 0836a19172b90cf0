//! Special functions in the log domain, without cancellation; the one root finder.
//!
//! Every function states its range and error; `tests/reference.rs` compares them with values
//! of 40 digits and more, the worst of a random search among them.

pub(crate) mod binomial;
#[cfg(test)]
mod bounds;
pub(crate) mod float;
pub(crate) mod gamma;
mod log;
mod normal;
pub(crate) mod quadrature;
pub(crate) mod root;

pub use binomial::{ln_binomial_cdf, ln_binomial_pmf, ln_binomial_sf};
pub use gamma::{ln_chi_square_cdf, ln_chi_square_pdf, ln_chi_square_sf};
pub(crate) use log::{above, ln_one_minus_exp, ln_sum_exp};
pub(crate) use normal::{LN_SQRT_2PI, ln_normal_pdf};
pub use normal::{erfcx, ln_normal_cdf, mills_ratio, mills_slope};
