//! The mixing law of a Gaussian loss after a random projection, as finitely many nodes.
//!
//! Soundness: `docs/proofs/composition-pld.md`, section 2.4.

use super::cut::Cut;
use crate::numeric::gamma::ln_poisson_kernel;
use crate::numeric::{ln_chi_square_cdf, ln_chi_square_sf};

/// `mu^2 = scale^2 q + square`, q ~ chi2_k, as weights and mu; and the mass beyond the last node.
#[derive(Debug, Clone, Default)]
pub(super) struct Nodes {
    pub(super) list: Vec<(f64, f64)>,
    pub(super) lost: f64,
}

/// Mass below the least node, moved up to it: one of many roundings of relative size 1e-14.
const LOW: f64 = 1e-14;

/// Weight at which the nodes end: what is beyond counts as lost.
const LEAST: f64 = 1e-305;

/// How finely a mixture must be cut for losses within `[low, high]` and masses within `cut`.
pub(super) fn steepness(low: f64, high: f64, cut: Cut) -> f64 {
    let masses = -cut.low.min(cut.high).max(1e-320).ln();
    1.2 * (masses + 30.0) + 0.5 * low.abs().max(high.abs())
}

impl Nodes {
    /// The trapezoidal rule in ln q, which converges geometrically.
    pub(super) fn new(k: f64, scale: f64, square: f64, steep: f64) -> Self {
        let a = 0.5 * k;
        let step = 0.8 / (3.0 * a + steep).sqrt();
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
        Self { list, lost }
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
