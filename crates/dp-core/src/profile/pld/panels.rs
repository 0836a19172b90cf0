//! Masses of cells of a loss law: a density is integrated by panels of six points.

use crate::numeric::quadrature::panel_6;

/// The part of P whose loss L lies in `(x, x + h]`: its mass `p`, and
/// `excess = E_P[(1 - e^(x - L)); cell]`, which is `p - e^x q`, both without a part of which only
/// a bound on its mass is known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    pub(super) p: f64,
    pub(super) excess: f64,
    pub(super) unknown: f64,
}

impl Cell {
    pub(super) fn times(self, factor: f64) -> Self {
        let Self { p, excess, unknown } = self;
        Self { p: factor * p, excess: factor * excess, unknown: factor * unknown }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            p: self.p + other.p,
            excess: self.excess + other.excess,
            unknown: self.unknown + other.unknown,
        }
    }
}

/// Most by which the logarithms of P's and Q's densities may rise from a panel's centre to its end if they were straight,
/// and most that their curvature may add to that (twice), wherever in the complex plane ([`Shape`]).
const RISE: f64 = 0.5;
const BEND: f64 = 0.04;

/// What limits the panels around a point: the steeper of the two log-densities' slopes, and the larger of the sums
/// `beta + sum max(alpha_j, 6) / abs(z - s_j)^2` of the densities `prod (z - s_j)^alpha_j e^(-beta z^2/2)`.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) slope: f64,
    pub(super) bend: f64,
}

impl Shape {
    /// Whether six points integrate both densities over `[c - half, c + half]` with a relative error of 4.1e-13.
    fn fits(self, half: f64) -> bool {
        half * self.slope <= RISE && half * half * self.bend <= BEND
    }
}

/// A density that rises up to its mode and falls beyond.
pub(super) struct Smooth<D, S> {
    pub(super) mode: f64,
    pub(super) density: D,
    pub(super) shape: S,
}

/// Most halvings of the panels of a law's cells together (but [`LEAST`] in each): what is left counts as unknown.
const HALVINGS: u32 = 1 << 18;
const LEAST: u32 = 32;
/// A panel of at most this mass is not halved.
const NOTHING: f64 = 1e-306;

/// Halvings in each of so many cells.
pub(super) fn share(cells: i64, nodes: usize) -> u32 {
    let panels = (cells.max(1) as u64).saturating_mul(nodes.max(1) as u64);
    (u64::from(HALVINGS) / panels).max(u64::from(LEAST)) as u32
}

impl<D: Fn(f64) -> f64, S: Fn(f64) -> Shape> Smooth<D, S> {
    /// Mass and excess over `[from, to]`; `above(z)` is the loss less x.
    pub(super) fn integrate(
        &self,
        (from, to): (f64, f64),
        above: impl Fn(f64) -> f64,
        mut halvings: u32,
    ) -> Cell {
        let mut cell = Cell::default();
        let mut panels = vec![(from, to)];
        while let Some((a, b)) = panels.pop() {
            let (centre, half) = (0.5 * (a + b), 0.5 * (b - a));
            // Two neighbouring numbers are not halved.
            if (self.shape)(centre).fits(half) || centre <= a || centre >= b {
                let [p, excess] = panel_6(centre, half, |z| {
                    let d = (self.density)(z);
                    // Rounding at the cell's ends must not make the excess negative.
                    [d, if d == 0.0 { 0.0 } else { d * -(-above(z).max(0.0)).exp_m1() }]
                });
                (cell.p, cell.excess) = (cell.p + p, cell.excess + excess);
                continue;
            }
            let most = (self.density)(self.mode.clamp(a, b)) * (b - a);
            if halvings == 0 || most < NOTHING {
                cell.unknown += most.min(1.0);
                continue;
            }
            halvings -= 1;
            // The half nearer to the mode comes next: what is left unknown has the least mass.
            let (left, right) = ((a, centre), (centre, b));
            panels.extend(if self.mode > centre { [left, right] } else { [right, left] });
        }
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::ln_normal_pdf;

    /// A mirrored interval of a mirrored density has the same masses, however few panels are halved: those next to the mode come
    /// first from either side, and what is left is rare.
    #[test]
    fn what_is_nearest_to_the_mode_comes_first_on_either_side() {
        let smooth = Smooth {
            mode: 0.0,
            density: |z| ln_normal_pdf(z).exp(),
            shape: |z: f64| Shape { slope: z.abs(), bend: 1.0 },
        };
        for halvings in [12, 20, 30] {
            let right = smooth.integrate((1.0, 33.0), |_| 1.0, halvings);
            let left = smooth.integrate((-33.0, -1.0), |_| 1.0, halvings);
            let off = (right.p - left.p).abs() + (right.unknown - left.unknown).abs();
            assert!(right.p > 0.01 && off < 1e-13, "{halvings}: {right:?} {left:?}");
        }
    }
}
