//! One step, as it is published.

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct NewtonStep {
    /// What residuals were clipped to.
    pub clip: f64,
    /// The noisy `sum clip(theta . x - y) x` over the clip; last the constant's entry, where there is one.
    pub gradient: Vec<f64>,
    /// The coefficients after it; last the constant's, where there is one.
    pub coefficients: Vec<f64>,
}

/// Whether two lists of coefficients are equal but for `room` of their length.
pub(super) fn near(a: &[f64], b: &[f64], room: f64) -> bool {
    let largest = a.iter().chain(b).fold(0.0f64, |m, x| m.max(x.abs()));
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= room * largest)
}
