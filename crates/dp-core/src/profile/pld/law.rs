//! The law of the privacy loss of one mechanism against its worst adjacent input.

use super::cut::Cut;
use super::mixing::{Nodes, digits};
use crate::numeric::quadrature::{Chi, LogConcave, panel_6};
use crate::numeric::root::{Middle, bisect};
use crate::numeric::{
    ln_binomial_cdf, ln_binomial_pmf, ln_binomial_sf, ln_chi_square_cdf, ln_chi_square_sf,
    ln_normal_pdf,
};

/// Relative error of every mass below: quadrature, special functions, arguments.
pub(super) const ERROR: f64 = 1e-12;

/// Most by which the logarithms of P's and Q's densities may rise from a panel's centre to its end if they were straight,
/// and most that their curvature may add to that (twice), wherever in the complex plane ([`Shape`]).
const RISE: f64 = 0.5;
const BEND: f64 = 0.04;

/// What limits the panels around a point: the steeper of the two log-densities' slopes, and the larger of the sums
/// `beta + sum max(alpha_j, 6) / abs(z - s_j)^2` of the densities `prod (z - s_j)^alpha_j e^(-beta z^2/2)`.
#[derive(Clone, Copy)]
struct Shape {
    slope: f64,
    bend: f64,
}

impl Shape {
    /// Whether six points integrate both densities over `[c - half, c + half]` with a relative error of 4.1e-13.
    fn fits(self, half: f64) -> bool {
        half * self.slope <= RISE && half * half * self.bend <= BEND
    }
}

/// The part of P whose loss L lies in `(x, x + h]`: its mass `p`, and
/// `excess = E_P[(1 - e^(x - L)); cell]`, which is `p - e^x q`, both without a part of which only
/// a bound on its mass is known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    pub(super) p: f64,
    pub(super) excess: f64,
    pub(super) unknown: f64,
}

/// Atoms, and the mass of those on either side that are not listed.
#[derive(Debug, Default)]
pub(super) struct Atoms {
    pub(super) list: Vec<(f64, f64)>,
    pub(super) below: f64,
    pub(super) above: f64,
}

impl Atoms {
    fn all(list: Vec<(f64, f64)>) -> Self {
        Self { list, below: 0.0, above: 0.0 }
    }
}

/// A loss law. P is the input named first; losses are `ln dP/dQ` under P.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::profile) enum Law {
    /// N(mu^2/2, mu^2).
    Gaussian { mu: f64 },
    /// A mixture of the above: `mu^2 = scale^2 q + square` with public q ~ chi2_k.
    GaussianMixture { k: f64, scale: f64, square: f64 },
    /// With probability `p` a Gaussian loss, else zero.
    SparseGaussian { p: f64, mu: f64 },
    /// Laplace noise, shift over scale `mu`.
    Laplace { mu: f64 },
    /// A response: `+loss` and `-loss` with probabilities `high` and `low`, else zero. The loss
    /// is `ln(high / low)`, which tiny ones cannot be recovered from.
    Response { high: f64, low: f64, loss: f64 },
    /// The sum of `bits` responses that are never zero; `-loss` has probability `low`.
    Bits { bits: u64, low: f64, loss: f64 },
    /// A loss that is a function of a chi variable.
    Chi(ChiLoss),
    /// Everything is lost.
    Certain,
}

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

impl Law {
    /// The largest loss under P, when it is finite, whatever it is under Q.
    pub(super) fn ceiling(&self) -> Option<f64> {
        match self {
            Self::Chi(ChiLoss { k, kind: ChiKind::JlDown { lambda } }) => {
                Some(0.5 * k * lambda.ln_1p())
            }
            Self::Chi(ChiLoss { kind: ChiKind::WishartAdded { t, .. }, .. }) => Some(0.5 * t),
            _ => self.largest(),
        }
    }
}

impl ChiLoss {
    fn falls(self) -> bool {
        matches!(self.kind, ChiKind::JlDown { .. } | ChiKind::WishartRemoved { .. })
    }

    fn loss(self, z: f64) -> f64 {
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
    fn sides(self, loss: f64) -> (f64, f64) {
        let z = self.z(loss);
        let square = z * z;
        if square.is_infinite() {
            return (1.0, 0.0);
        }
        (ln_chi_square_cdf(self.k, square).exp(), ln_chi_square_sf(self.k, square).exp())
    }

    fn infinite(self) -> f64 {
        match self.kind {
            ChiKind::WishartRemoved { t, .. } => ln_chi_square_cdf(self.k, t).exp(),
            _ => 0.0,
        }
    }

    fn cell(self, density: Chi, x: f64, h: f64, halvings: u32) -> Cell {
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

/// A density that rises up to its mode and falls beyond.
struct Smooth<D, S> {
    mode: f64,
    density: D,
    shape: S,
}

/// Most halvings of the panels of a law's cells together (but [`LEAST`] in each): what is left counts as unknown.
const HALVINGS: u32 = 1 << 18;
const LEAST: u32 = 32;
/// A panel of at most this mass is not halved.
const NOTHING: f64 = 1e-306;

/// Halvings in each of so many cells.
fn share(cells: i64, nodes: usize) -> u32 {
    let panels = (cells.max(1) as u64).saturating_mul(nodes.max(1) as u64);
    (u64::from(HALVINGS) / panels).max(u64::from(LEAST)) as u32
}

impl<D: Fn(f64) -> f64, S: Fn(f64) -> Shape> Smooth<D, S> {
    /// Mass and excess over `[from, to]`; `above(z)` is the loss less x.
    fn integrate(
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
                cell.p += panel_6(centre, half, &self.density);
                cell.excess += panel_6(centre, half, |z| {
                    let d = (self.density)(z);
                    // Rounding at the cell's ends must not make the excess negative.
                    if d == 0.0 { 0.0 } else { d * -(-above(z).max(0.0)).exp_m1() }
                });
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

/// Beyond this many deviations the normal density underflows.
const FAR: f64 = 38.5;

fn gaussian_cell(mu: f64, x: f64, h: f64, halvings: u32) -> Cell {
    let z = |loss: f64| (loss / mu - 0.5 * mu).clamp(-FAR, FAR);
    let (from, to) = (z(x), z(x + h));
    if from >= to {
        return Cell::default();
    }
    let smooth = Smooth {
        mode: 0.0,
        density: |z| ln_normal_pdf(z).exp(),
        shape: |z: f64| Shape { slope: z.abs().max((z + mu).abs()), bend: 1.0 },
    };
    smooth.integrate((from, to), |z| mu * (z + 0.5 * mu) - x, halvings)
}

/// Pr[N(0, 1) > z].
fn normal_above(z: f64) -> f64 {
    0.5 * libm::erfc(z * core::f64::consts::FRAC_1_SQRT_2)
}

/// A z with Pr[N(0, 1) > z] at most `mass`.
fn normal_reach(mass: f64) -> f64 {
    (-2.0 * mass.clamp(1e-320, 0.5).ln()).sqrt()
}

impl Law {
    /// A step whose multiples carry all atoms, where there are atoms off zero. An atom
    /// off the grid costs the lower end an error of first order in the grid.
    pub(super) fn anchor(&self) -> Option<f64> {
        match *self {
            Self::Response { loss, .. } | Self::Bits { loss, .. } => {
                loss.is_finite().then_some(loss)
            }
            Self::Laplace { mu } => Some(mu),
            _ => None,
        }
    }

    /// Whether there is nothing between the atoms.
    pub(super) fn is_discrete(&self) -> bool {
        matches!(self, Self::Response { .. } | Self::Bits { .. } | Self::Certain)
    }

    /// P and Q exchanged.
    pub(super) fn reversed(&self) -> Self {
        let Self::Chi(ChiLoss { k, kind }) = *self else { return self.clone() };
        let kind = match kind {
            ChiKind::JlDown { lambda } => ChiKind::JlUp { lambda },
            ChiKind::JlUp { lambda } => ChiKind::JlDown { lambda },
            ChiKind::WishartRemoved { a, t } => ChiKind::WishartAdded { a, t },
            ChiKind::WishartAdded { a, t } => ChiKind::WishartRemoved { a, t },
        };
        Self::Chi(ChiLoss { k, kind })
    }

    /// Mass of P at infinite loss.
    pub(super) fn p_infinite(&self) -> f64 {
        match *self {
            Self::Certain => 1.0,
            Self::Chi(chi) => chi.infinite(),
            Self::Response { high, loss: f64::INFINITY, .. } => high,
            _ => 0.0,
        }
    }

    /// The atoms of finite loss, (loss, mass of P). Of many, those within `[low_end, high_end]`
    /// and a neighbour on either side.
    pub(super) fn atoms(&self, low_end: f64, high_end: f64) -> Atoms {
        match *self {
            Self::SparseGaussian { p, .. } => Atoms::all(vec![(0.0, 1.0 - p)]),
            Self::Laplace { mu } => Atoms::all(vec![(-mu, 0.5 * (-mu).exp()), (mu, 0.5)]),
            Self::Response { high, low, loss } => {
                if loss.is_infinite() {
                    return Atoms::all(vec![(0.0, 1.0 - high)]);
                }
                let rest = (1.0 - high - low).max(0.0);
                Atoms::all(vec![(-loss, low), (0.0, rest), (loss, high)])
            }
            Self::Bits { bits, low, loss } => {
                let n = bits as f64;
                let index = |x: f64| (0.5 * (n + x / loss)).clamp(0.0, n);
                let (first, last) = (index(low_end).floor() as u64, index(high_end).ceil() as u64);
                let (first, last) = (first.min(bits), last.min(bits));
                let list = (first..=last).map(|j| {
                    // From the smaller probability: exact where its complement is rounded.
                    let p = ln_binomial_pmf(bits, low, bits - j).exp();
                    ((2.0 * j as f64 - n) * loss, p)
                });
                // Kept fewer than `first`: flipped more than `bits - first`.
                Atoms {
                    list: list.collect(),
                    below: ln_binomial_sf(bits, low, bits - first).exp(),
                    above: match bits - last {
                        0 => 0.0,
                        flipped => ln_binomial_cdf(bits, low, flipped - 1).exp(),
                    },
                }
            }
            _ => Atoms::default(),
        }
    }

    /// Losses outside which P's finite mass is at most `low` below and `high` above.
    pub(super) fn range(&self, low: f64, high: f64) -> (f64, f64) {
        let gaussian = |mu: f64, low: f64, high: f64| {
            let at = |z: f64| mu * (z + 0.5 * mu);
            (at(-normal_reach(low)), at(normal_reach(high)))
        };
        match *self {
            Self::Certain => (0.0, 0.0),
            Self::Gaussian { mu } => gaussian(mu, low, high),
            Self::SparseGaussian { p, mu } => {
                let (a, b) = gaussian(mu, low / p, high / p);
                (a.min(0.0), b.max(0.0))
            }
            Self::GaussianMixture { k, scale, square } => {
                let nodes = Nodes::new(k, scale, square, 40.0);
                let share = 2.0 * nodes.list.len() as f64;
                nodes.bulk(0.5 * high).fold((0.0_f64, 0.0_f64), |(a, b), (w, mu)| {
                    let (c, d) = gaussian(mu, low / (share * w), high / (share * w));
                    (c.min(a), d.max(b))
                })
            }
            Self::Laplace { mu } => (-mu, mu),
            Self::Response { loss, .. } if loss.is_infinite() => (0.0, 0.0),
            Self::Response { loss, .. } => (-loss, loss),
            Self::Bits { bits, loss, .. } => {
                // Hoeffding, within the support.
                let n = bits as f64;
                let reach = |mass: f64| (2.0 * n * -mass.max(1e-320).ln()).sqrt() * loss;
                let mean = n * (0.5 * loss).tanh() * loss;
                ((mean - reach(low)).max(-n * loss), (mean + reach(high)).min(n * loss))
            }
            Self::Chi(chi) => {
                let (below, above) = if chi.falls() { (high, low) } else { (low, high) };
                let (from, to) =
                    (chi_quantile(chi.k, below, true), chi_quantile(chi.k, above, false));
                let (a, b) = (chi.loss(from.max(1e-150)), chi.loss(to));
                let (a, b) = (a.min(b), a.max(b));
                // An unbounded loss: far up, moving it to infinity costs e^-60 of its mass.
                let b = if b.is_finite() { b } else { a + 60.0 };
                (a.clamp(-1e4, 1e4), b.clamp(-1e4, 1e4))
            }
        }
    }

    /// The largest loss of either direction, when it is finite; not rounded up.
    pub(super) fn largest(&self) -> Option<f64> {
        self.pure_runs().map(|(loss, runs)| runs * loss)
    }

    /// The largest loss of one of the independent runs that this law is the sum of, when it is
    /// finite, and how many they are.
    pub(super) fn pure_runs(&self) -> Option<(f64, f64)> {
        match *self {
            Self::Laplace { mu } => Some((mu, 1.0)),
            Self::Response { loss, .. } if loss.is_finite() => Some((loss, 1.0)),
            Self::Bits { bits, loss, .. } => Some((loss, bits as f64)),
            _ => None,
        }
    }

    /// The nodes of a mixture, close enough for these masses; none for other laws.
    pub(super) fn nodes(&self, cut: Cut) -> Nodes {
        match *self {
            Self::GaussianMixture { k, scale, square } => Nodes::new(k, scale, square, digits(cut)),
            _ => Nodes::default(),
        }
    }

    /// P's mass without the atoms, at losses at most `x` and above; of a mixture, by its nodes.
    pub(super) fn sides(&self, x: f64, nodes: &Nodes) -> (f64, f64) {
        match *self {
            Self::Gaussian { mu } => gaussian_sides(mu, x),
            Self::SparseGaussian { p, mu } => {
                let (b, a) = gaussian_sides(mu, x);
                (p * b, p * a)
            }
            Self::GaussianMixture { .. } => nodes.list.iter().fold((0.0, 0.0), |s, &(w, mu)| {
                let (b, a) = gaussian_sides(mu, x);
                (s.0 + w * b, s.1 + w * a)
            }),
            Self::Laplace { mu } => {
                let y = x.clamp(-mu, mu);
                let below = 0.5 * (-mu).exp() * (0.5 * (mu + y)).exp_m1();
                (below, -0.5 * (0.5 * (y - mu)).exp_m1())
            }
            Self::Chi(chi) => {
                let (under, over) = chi.sides(x);
                if chi.falls() { (over, (under - chi.infinite()).max(0.0)) } else { (under, over) }
            }
            _ => (0.0, 0.0),
        }
    }

    /// The cells `(i h, (i + 1) h]` for `i` in `lo..hi`, without the atoms.
    pub(super) fn cells(&self, lo: i64, hi: i64, h: f64, nodes: &Nodes) -> Vec<Cell> {
        let at = |i: i64| i as f64 * h;
        let smooth = |cell: &dyn Fn(f64) -> Cell| (lo..hi).map(|i| cell(at(i))).collect();
        let halvings = share(hi.saturating_sub(lo), nodes.list.len());
        let normal = |mu: f64, x: f64| gaussian_cell(mu, x, h, halvings);
        match *self {
            Self::Gaussian { mu } => smooth(&|x| normal(mu, x)),
            Self::SparseGaussian { p, mu } => smooth(&|x| normal(mu, x).times(p)),
            Self::GaussianMixture { .. } => smooth(&|x| {
                let parts = nodes.list.iter().map(|&(w, mu)| normal(mu, x).times(w));
                parts.fold(Cell::default(), Cell::and)
            }),
            Self::Laplace { mu } => smooth(&|x| laplace_cell(mu, x, h)),
            Self::Chi(chi) => {
                let density = Chi::new(chi.k);
                smooth(&|x| chi.cell(density, x, h, halvings))
            }
            _ => vec![Cell::default(); (hi - lo).max(0) as usize],
        }
    }
}

impl Cell {
    fn times(self, factor: f64) -> Self {
        let Self { p, excess, unknown } = self;
        Self { p: factor * p, excess: factor * excess, unknown: factor * unknown }
    }

    fn and(self, other: Self) -> Self {
        Self {
            p: self.p + other.p,
            excess: self.excess + other.excess,
            unknown: self.unknown + other.unknown,
        }
    }
}

fn gaussian_sides(mu: f64, x: f64) -> (f64, f64) {
    let z = x / mu - 0.5 * mu;
    (normal_above(-z), normal_above(z))
}

/// The losses strictly between the two atoms: density `e^((x - mu)/2) / 4` under P.
fn laplace_cell(mu: f64, x: f64, h: f64) -> Cell {
    let (from, to) = (x.clamp(-mu, mu), (x + h).clamp(-mu, mu));
    let p = -0.5 * (0.5 * (to - mu)).exp() * (0.5 * (from - to)).exp_m1();
    let (u, v) = (from - x, to - x);
    let excess = 2.0 * (0.5 * (x - mu)).exp() * (0.25 * (v + u)).sinh() * (0.25 * (v - u)).sinh();
    Cell { p, excess, unknown: 0.0 }
}

/// A z beyond which (below or above) chi_k has mass at most `mass`.
fn chi_quantile(k: f64, mass: f64, below: bool) -> f64 {
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
impl Law {
    /// One of every kind.
    pub(super) fn samples() -> Vec<Self> {
        let chi = |k, kind| Self::Chi(ChiLoss { k, kind });
        vec![
            Self::Gaussian { mu: 1.0 },
            Self::GaussianMixture { k: 3.0, scale: 0.4, square: 0.1 },
            Self::SparseGaussian { p: 0.1, mu: 1.2 },
            Self::Laplace { mu: 0.83 },
            Self::Response { high: 0.3, low: 0.1, loss: 3f64.ln() },
            Self::Bits { bits: 9, low: 0.4, loss: 1.5f64.ln() },
            chi(1.0, ChiKind::JlDown { lambda: 0.7 }),
            chi(20.0, ChiKind::JlDown { lambda: 0.2 }),
            chi(42.0, ChiKind::WishartRemoved { a: 20.0, t: 1.0 }),
        ]
    }
}
