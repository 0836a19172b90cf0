//! The law of the privacy loss of one mechanism against its worst adjacent input.

use super::chi::{ChiKind, ChiLoss, chi_quantile};
use super::cut::Cut;
use super::mixing::{Nodes, digits};
use super::panels::{Cell, Shape, Smooth, share};
use crate::numeric::quadrature::Chi;
use crate::numeric::{ln_binomial_cdf, ln_binomial_pmf, ln_binomial_sf, ln_normal_pdf};

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

impl Law {
    /// Relative error of every mass below: quadrature, special functions, arguments. Proof: `docs/proofs/composition-pld.md`, section 2.
    pub(super) fn error(&self) -> f64 {
        match self {
            Self::Chi(ChiLoss { k, .. }) | Self::GaussianMixture { k, .. } => {
                3e-12 + 1.5e-14 * k.sqrt()
            }
            Self::Bits { .. } => 4e-12,
            _ => 1e-12,
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    /// The tails of bits beyond both ends, by the binomial law.
    #[test]
    fn what_lies_outside_of_the_range_of_bits_is_rare() {
        for (n, loss) in [(1000, 3.0), (1000, 0.01), (60, 0.7), (65_536, 1.5)] {
            let low = 1.0 / (1.0 + f64::exp(loss));
            let law = Law::Bits { bits: n, low, loss };
            for mass in [1e-3, 1e-9, 1e-15] {
                let (a, b) = law.range(mass, mass);
                // Of f bits that are not kept the loss is (n - 2 f) loss.
                let flips = |x: f64| (0.5 * (n as f64 - x / loss)).clamp(0.0, n as f64);
                let (most, least) = (flips(a).floor() as u64, flips(b).ceil() as u64);
                let below = if most >= n { 0.0 } else { ln_binomial_sf(n, low, most).exp() };
                let above = if least == 0 { 0.0 } else { ln_binomial_cdf(n, low, least - 1).exp() };
                assert!(below <= mass && above <= mass, "{n} {loss} {mass}: {below:e} {above:e}");
            }
        }
    }
}
