//! The mixing law of a Gaussian loss after a random projection, as finitely many nodes.
//!
//! Soundness: `docs/proofs/composition-pld.md`, section 2.4.

use super::cut::Cut;
use crate::numeric::gamma::ln_poisson_kernel;
use crate::numeric::{ln_chi_square_cdf, ln_chi_square_sf};

/// `mu^2 = scale^2 q + square`, q ~ chi2_k, as weights and mu.
#[derive(Debug, Clone, Default)]
pub(super) struct Nodes {
    pub(super) list: Vec<(f64, f64)>,
    /// The mass beyond the last node.
    pub(super) lost: f64,
    /// How far the law of the loss with these nodes is from the true one, at most, in total variation
    /// (the integral of the densities' difference).
    pub(super) error: f64,
}

/// Mass below the least node, moved up to it: one of many roundings of relative size 1e-14.
const LOW: f64 = 1e-14;

/// Weight at which the nodes end: what is beyond counts as lost.
const LEAST: f64 = 1e-305;

/// The step in ln q with which the trapezoidal rule is off by at most `e^-digits` in total variation:
/// `2 N(y) / (e^(2 pi y / step) - 1)`, N the integral of the integrand's modulus at `u + i y`; the best of 63 y.
fn step(k: f64, square_of_scale: f64, digits: f64) -> f64 {
    let farthest = (2.0 / square_of_scale.sqrt()).atan();
    let at = |y: f64| {
        let (sin, cos) = y.sin_cos();
        let base = cos - square_of_scale * sin * sin / (4.0 * cos);
        let ln = 2f64.ln() - 0.5 * cos.ln() - 0.5 * k * base.ln();
        // ln(1 + e^x) <= x + ln 2 for x >= 0, and ln >= 0.
        0.999 * core::f64::consts::TAU * y / (ln + digits + 1.0)
    };
    (1..64).map(|i| at(farthest * f64::from(i) / 64.0)).fold(0.0, f64::max)
}

/// How closely a mixture must be known where these masses are cut off: `2^20` cells, each off by
/// all of the error, together are off by less than a hundred thousandth of that.
pub(super) fn digits(cut: Cut) -> f64 {
    26.0 - cut.low.min(cut.high).max(1e-320).ln()
}

impl Nodes {
    /// The trapezoidal rule in ln q, off by at most `e^-digits`.
    pub(super) fn new(k: f64, scale: f64, square: f64, digits: f64) -> Self {
        let a = 0.5 * k;
        let step = step(k, scale * scale, digits);
        // Density of u = ln q: a e^(ln_poisson_kernel(a, q/2)); its peak is at q = k.
        let weight = |q: f64| step * a * ln_poisson_kernel(a, 0.5 * q).exp();
        let mu = |q: f64| (scale * scale * q + square).sqrt();
        let node = |i: f64| k * (step * i).exp();
        let (mut list, mut last, mut i) = (Vec::new(), k, 0.0);
        loop {
            let q = node(i);
            let w = weight(q);
            if w < LEAST {
                break;
            }
            list.push((w, mu(q)));
            (last, i) = (q, i + 1.0);
        }
        // Beyond the peak the density falls: the weights to come are below the integral.
        let lost = ln_chi_square_sf(k, last).exp();
        let mut i = -1.0;
        loop {
            let q = node(i);
            let w = weight(q);
            list.push((w, mu(q)));
            let rest = if w < 1e-9 { ln_chi_square_cdf(k, q).exp() } else { 1.0 };
            if rest < LOW {
                // Here it rises: the same, and a larger mu loses more.
                list.push((rest, mu(q)));
                break;
            }
            i -= 1.0;
        }
        Self { list, lost, error: (-digits).exp() }
    }

    /// The nodes but for the largest, as many as weigh at most `mass` together.
    pub(super) fn bulk(&self, mass: f64) -> impl Iterator<Item = (f64, f64)> {
        let mut sorted = self.list.clone();
        sorted.sort_by(|x, y| y.1.total_cmp(&x.1));
        let mut above = self.lost;
        sorted.into_iter().skip_while(move |&(w, _)| {
            above += w;
            above <= mass
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `E e^(-c mu^2)` by the nodes and in closed form: functions of the loss that are between 0 and 1 have such means.
    #[test]
    fn the_nodes_are_as_close_as_they_say() {
        for (k, scale) in
            [(1.0, 0.1), (1.0, 2.0), (5.0, 0.125), (64.0, 1.0), (3000.0, 0.02), (2.0, 40.0)]
        {
            for digits in [7.0, 14.0, 30.0] {
                let nodes = Nodes::new(k, scale, 0.3, digits);
                let finest = Nodes::new(k, scale, 0.3, 60.0).list.len();
                assert!(nodes.list.len() < finest, "{k} {scale} {digits}");
                for c in [0.0, 0.01, 1.0, 20.0] {
                    let mean: f64 = nodes.list.iter().map(|(w, mu)| w * (-c * mu * mu).exp()).sum();
                    let exact = -0.5 * k * (2.0 * c * scale * scale).ln_1p() - 0.3 * c;
                    let off = (mean - exact.exp()).abs();
                    assert!(off <= nodes.error + 1e-13, "{k} {scale} {digits} {c}: {off:e}");
                }
            }
            // And no closer by far: three times the step is off by more.
            let wide = 3.0 * step(k, scale * scale, 14.0);
            let ln = |u: f64| 0.5 * k * ln_poisson_kernel(0.5 * k, 0.5 * k * u.exp()).exp();
            let nodes = (-4000..4000).map(|i| wide * (f64::from(i) + 0.5));
            let sum: f64 = nodes.filter(|u| u.abs() < 40.0).map(|u| wide * ln(u)).sum();
            assert!((sum - 1.0).abs() > (-14f64).exp() || scale > 1.0, "{k} {scale}: {sum}");
        }
    }

    /// With `N(y)` as on the page: some y bounds the error for this step by `e^-digits`, and none does for a step a tenth longer.
    #[test]
    fn the_step_is_about_the_longest_that_the_bound_allows() {
        for (k, scale) in [(1.0, 0.1), (5.0, 0.125), (64.0, 1.0), (3000.0, 0.02)] {
            let square: f64 = scale * scale;
            let least = |step: f64, digits: f64| {
                let ln_error = |i: u32| {
                    let y = (2.0 / scale).atan() * f64::from(i) / 4000.0;
                    let base = y.cos() - square * y.sin().powi(2) / (4.0 * y.cos());
                    let ln = 2f64.ln() - 0.5 * y.cos().ln() - 0.5 * k * base.ln();
                    let x = core::f64::consts::TAU * y / step;
                    ln - x - (-(-x).exp()).ln_1p() + digits
                };
                (1..4000).map(ln_error).fold(f64::INFINITY, f64::min)
            };
            for digits in [40.0, 90.0] {
                let step = step(k, square, digits);
                assert!(least(step, digits) <= 0.0, "{k} {scale} {digits}");
                assert!(least(1.1 * step, digits) > 0.0, "{k} {scale} {digits}");
            }
        }
    }
}
