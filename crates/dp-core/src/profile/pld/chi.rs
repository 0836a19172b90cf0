//! Losses that are functions of a chi variable: Johnson-Lindenstrauss and Wishart releases.

use super::panels::{Cell, Shape, Smooth};
use crate::numeric::quadrature::{Chi, LogConcave};
use crate::numeric::root::{Middle, bisect};
use crate::numeric::{ln_chi_square_cdf, ln_chi_square_sf};

/// A loss driven by z = sqrt(chi2_k), monotone in z.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::profile) struct ChiLoss {
    pub(in crate::profile) k: f64,
    pub(in crate::profile) kind: ChiKind,
}

/// The mechanisms with such a loss, and the direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::profile) enum ChiKind {
    /// JL, without the row against with it: `(k/2) ln(1 + lambda) - z^2 lambda/(2 (1 + lambda))`.
    JlDown { lambda: f64 },
    /// JL, with the row against without it: `z^2 lambda/2 - (k/2) ln(1 + lambda)`.
    JlUp { lambda: f64 },
    /// Wishart, without against with: `-a ln(1 - t/z^2) - t/2`; infinite for `z^2 <= t`.
    WishartRemoved { a: f64, t: f64 },
    /// Wishart, with against without: `t/2 - a ln(1 + t/z^2)`.
    WishartAdded { a: f64, t: f64 },
}

impl ChiLoss {
    pub(super) fn falls(self) -> bool {
        matches!(self.kind, ChiKind::JlDown { .. } | ChiKind::WishartRemoved { .. })
    }

    pub(super) fn loss(self, z: f64) -> f64 {
        let square = z * z;
        match self.kind {
            ChiKind::JlDown { lambda } => {
                0.5 * (self.k * lambda.ln_1p() - square * lambda / (1.0 + lambda))
            }
            ChiKind::JlUp { lambda } => 0.5 * (square * lambda - self.k * lambda.ln_1p()),
            ChiKind::WishartRemoved { a, t } => {
                if square <= t {
                    f64::INFINITY
                } else {
                    -a * (-t / square).ln_1p() - 0.5 * t
                }
            }
            ChiKind::WishartAdded { a, t } => 0.5 * t - a * (t / square).ln_1p(),
        }
    }

    /// The z with this loss, clamped to z's range.
    fn z(self, loss: f64) -> f64 {
        let square = match self.kind {
            ChiKind::JlDown { lambda } => {
                (self.k * lambda.ln_1p() - 2.0 * loss) * (1.0 + lambda) / lambda
            }
            ChiKind::JlUp { lambda } => (2.0 * loss + self.k * lambda.ln_1p()) / lambda,
            ChiKind::WishartRemoved { a, t } => {
                let level = (loss + 0.5 * t) / a;
                if level <= 0.0 { f64::INFINITY } else { t / -(-level).exp_m1() }
            }
            ChiKind::WishartAdded { a, t } => {
                let level = (0.5 * t - loss) / a;
                if level <= 0.0 { f64::INFINITY } else { t / level.exp_m1() }
            }
        };
        square.max(0.0).sqrt()
    }

    /// Mass of z below, and above, the z of this loss.
    pub(super) fn sides(self, loss: f64) -> (f64, f64) {
        let z = self.z(loss);
        let square = z * z;
        if square.is_infinite() {
            return (1.0, 0.0);
        }
        (ln_chi_square_cdf(self.k, square).exp(), ln_chi_square_sf(self.k, square).exp())
    }

    pub(super) fn infinite(self) -> f64 {
        match self.kind {
            ChiKind::WishartRemoved { t, .. } => ln_chi_square_cdf(self.k, t).exp(),
            _ => 0.0,
        }
    }

    pub(super) fn cell(self, density: Chi, x: f64, h: f64, halvings: u32) -> Cell {
        let (a, b) = (self.z(x), self.z(x + h));
        // Above the mode by sixty the density underflows.
        let (from, to) = (a.min(b), a.max(b).min(self.k.sqrt() + 60.0));
        if from >= to {
            return Cell::default();
        }
        // Below this P has less than 1e-17 of the cell's mass, where its density rises from zero.
        let least = if self.k > 1.0 { 1e-9 * to.min(density.mode()) } else { 0.0 };
        let smooth = Smooth {
            mode: density.mode(),
            density: |z| density.ln_pdf(z).exp(),
            shape: |z| self.shape(z),
        };
        smooth.integrate((from.max(least), to), |z| self.loss(z) - x, halvings)
    }

    fn shape(self, z: f64) -> Shape {
        let (alpha, square) = (self.k - 1.0, z * z);
        let weight = |alpha: f64| if alpha > 0.0 { alpha.max(6.0) } else { 0.0 };
        let own = if alpha > 0.0 { alpha / z - z } else { -z };
        let at_zero = weight(alpha) / square;
        // Of Q: its slope and its bend.
        let (other, bend) = match self.kind {
            ChiKind::JlDown { lambda } => (own + z * lambda / (1.0 + lambda), at_zero + 1.0),
            ChiKind::JlUp { lambda } => (own - z * lambda, at_zero + 1.0 + lambda),
            ChiKind::WishartRemoved { a, t } => {
                let gap = (square - t).max(f64::MIN_POSITIVE);
                let ends = 2.0 * (square + t) / (gap * gap);
                (own + 2.0 * a * t / (z * gap), weight(a) * ends + at_zero + 1.0)
            }
            ChiKind::WishartAdded { a, t } => {
                let sum = square + t;
                (own - 2.0 * a * t / (z * sum), 2.0 * weight(a) / sum + at_zero + 1.0)
            }
        };
        Shape { slope: own.abs().max(other.abs()), bend }
    }
}

/// A z beyond which (below or above) chi_k has mass at most `mass`.
pub(super) fn chi_quantile(k: f64, mass: f64, below: bool) -> f64 {
    let target = mass.max(1e-320).ln();
    let holds = |z: f64| {
        let ln = if below { ln_chi_square_cdf(k, z * z) } else { ln_chi_square_sf(k, z * z) };
        ln <= target
    };
    let range = (0.0, k.sqrt() + (-2.0 * target).sqrt() + 1.0);
    let (low, high) = bisect(range, Middle::Arithmetic, (50, 0.0), |z| holds(z) != below);
    if below { low } else { high }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slopes against differences, bends against the factors `(z - s)^alpha e^(-beta z^2/2)` of both densities.
    #[test]
    fn panels_know_how_steep_and_how_bent_both_densities_are() {
        let (lambda, t) = (0.7, 2.3_f64);
        for k in [3.0, 9.0, 40.0] {
            let a = 0.5 * (k - 2.0);
            // Of Q: beta.
            let kinds = [
                (ChiKind::JlDown { lambda }, 1.0 / (1.0 + lambda)),
                (ChiKind::JlUp { lambda }, 1.0 + lambda),
                (ChiKind::WishartRemoved { a, t }, 1.0),
                (ChiKind::WishartAdded { a, t }, 1.0),
            ];
            for (kind, beta) in kinds {
                let this = ChiLoss { k, kind };
                let p = |z: f64| Chi::new(k).ln_pdf(z);
                for z in [1.6, 1.9, 3.0, 8.0, 30.0] {
                    let shape = this.shape(z);
                    let step = 1e-5;
                    let slope = |f: &dyn Fn(f64) -> f64| (f(z + step) - f(z - step)) / (2.0 * step);
                    let steepest = slope(&p).abs().max(slope(&|z| p(z) - this.loss(z)).abs());
                    let off = (shape.slope - steepest).abs();
                    assert!(off <= 1e-6 * (1.0 + steepest), "{kind:?} {k} {z}: {off:e}");
                    let at_zero = (k - 1.0).max(6.0) / (z * z);
                    // And its factors beside that at zero.
                    let others = match kind {
                        ChiKind::WishartRemoved { .. } => {
                            let root = t.sqrt();
                            a.max(6.0) * ((z - root).powi(-2) + (z + root).powi(-2))
                        }
                        ChiKind::WishartAdded { .. } => 2.0 * a.max(6.0) / (z * z + t),
                        _ => 0.0,
                    };
                    let most = (1.0 + at_zero).max(beta + at_zero + others);
                    assert!(shape.bend >= most * (1.0 - 1e-12), "{kind:?} {k} {z}: {most}");
                }
            }
        }
    }

    /// Beyond the place there is at most the mass, and a thousandth nearer to the middle there is more.
    #[test]
    fn quantiles_leave_as_much_as_they_say() {
        for k in [1.0, 4.0, 300.0, 1e6] {
            for mass in [1e-3, 1e-15, 1e-200] {
                let (low, high) = (chi_quantile(k, mass, true), chi_quantile(k, mass, false));
                let below = |z: f64| ln_chi_square_cdf(k, z * z);
                let above = |z: f64| ln_chi_square_sf(k, z * z);
                let ln = mass.ln() + 1e-9;
                assert!(below(low) <= ln && above(high) <= ln, "{k} {mass}: {low} {high}");
                assert!(above(0.999 * high) > ln, "{k} {mass}: {high}");
                assert!(below(1.001 * low + 1e-12) > ln, "{k} {mass}: {low}");
            }
        }
    }
}
