//! Exact moments of the loss laws: what Renyi accounting needs.

use super::chi::{ChiKind, ChiLoss};
use super::composition::Pld;
use super::cut::Cut;
use super::law::Law;
use super::parts::{Parts, Source};
use crate::numeric::ln_sum_exp;

impl Law {
    /// `ln E_P e^(s L)` for s > 0, which is s times the Renyi divergence of order
    /// 1 + s; infinite where that is.
    fn ln_moment(&self, s: f64) -> f64 {
        let gaussian = |square: f64| 0.5 * s * (s + 1.0) * square;
        let responses = |high: f64, low: f64, loss: f64| {
            let size = s * loss;
            if loss.is_infinite() {
                f64::INFINITY
            } else if size < 1.0 {
                // Without subtraction, which would leave nothing of a tiny loss.
                let apart = low * loss.exp_m1();
                (apart * size.sinh() + 2.0 * (high + low) * (0.5 * size).sinh().powi(2)).ln_1p()
            } else {
                let rest = (1.0 - high - low).max(0.0);
                let atoms = ln_sum_exp(high.ln() + size, low.ln() - size);
                ln_sum_exp(atoms, rest.ln())
            }
        };
        match *self {
            Self::Gaussian { mu } => gaussian(mu * mu),
            Self::SparseGaussian { p, mu } => match gaussian(mu * mu) {
                g if g < 1.0 => (p * g.exp_m1()).ln_1p(),
                g => ln_sum_exp((-p).ln_1p(), p.ln() + g),
            },
            Self::GaussianMixture { k, scale, square } => {
                gaussian(square) + ln_chi_moment(k, s * (s + 1.0) * scale * scale)
            }
            Self::Laplace { mu } => {
                let order = 1.0 + s;
                let whole = 2.0 * order - 1.0;
                if order * mu < 1.0 {
                    let rests = order * exp_rest(s * mu) + s * exp_rest(-order * mu);
                    return (rests / whole).ln_1p();
                }
                ln_sum_exp((order / whole).ln() + s * mu, (s / whole).ln() - order * mu)
            }
            Self::Response { high, low, loss } => responses(high, low, loss),
            Self::Bits { bits, low, loss } => bits as f64 * responses(1.0 - low, low, loss),
            Self::Chi(ChiLoss { k, kind }) => match kind {
                ChiKind::JlUp { lambda } if s * lambda < 1.0 => {
                    0.5 * k * (ln_rest(-s * lambda) + s * ln_rest(lambda))
                }
                ChiKind::JlUp { .. } => f64::INFINITY,
                ChiKind::JlDown { lambda } => {
                    let v = lambda / (1.0 + lambda);
                    0.5 * k * (ln_rest(s * v) + s * ln_rest(-v))
                }
                // Without the row against with it, losses are infinite with positive mass.
                ChiKind::WishartRemoved { .. } | ChiKind::WishartAdded { .. } => f64::INFINITY,
            },
            Self::Certain => f64::INFINITY,
        }
    }
}

/// `e^x - 1 - x`, which is positive.
fn exp_rest(x: f64) -> f64 {
    if x.abs() > 0.3 {
        return x.exp_m1() - x;
    }
    (2..16).rev().fold(0.0, |sum, i| (sum + 1.0) * x / f64::from(i)) * x
}

/// `y - ln(1 + y)`, which is positive.
fn ln_rest(y: f64) -> f64 {
    if y.abs() > 0.1 {
        return y - y.ln_1p();
    }
    (2..20).rev().fold(0.0, |sum, i| 1.0 / f64::from(i) - y * sum) * y * y
}

/// `ln E e^(c q / 2)` for q ~ chi2_k.
fn ln_chi_moment(k: f64, c: f64) -> f64 {
    if c < 1.0 { -0.5 * k * (-c).ln_1p() } else { f64::INFINITY }
}

impl Pld {
    /// Renyi divergence of order `1 + s`, both directions; infinite where it is or
    /// where it is not known.
    pub(crate) fn renyi(&self, s: f64) -> f64 {
        let of = |source: &Source, reverse: bool| match source {
            Source::Law(law) if reverse => law.reversed().ln_moment(s),
            Source::Law(law) => law.ln_moment(s),
            Source::Envelope(envelope) => envelope.ln_moment(s),
        };
        let sum = |reverse| -> f64 {
            self.parts.iter().map(|(source, n)| *n as f64 * of(source, reverse)).sum()
        };
        sum(false).max(sum(true)) / s * (1.0 + 1e-12)
    }

    /// What a filter at fixed orders `1 + s` counts, for each direction of the change; `None` where a
    /// profile is known from above only, or some run fails outright.
    ///
    /// Where a divergence is infinite the largest losses, of mass about `aside` in all, are set
    /// aside. Soundness: `docs/proofs/filters.md`.
    pub(crate) fn set_aside<const N: usize>(
        &self,
        s: [f64; N],
        aside: f64,
    ) -> Option<[Aside<N>; 2]> {
        let ways = self.directions();
        let (first, last) = (ways.first()?, ways.last()?);
        Some([Aside::of(first, s, aside)?, Aside::of(last, s, aside)?])
    }

    /// mu^2 where everything is Gaussian: the composition is exactly one Gaussian.
    pub(crate) fn gaussian_square(&self) -> Option<f64> {
        match self.parts.as_slice() {
            [] => Some(0.0),
            [(Source::Law(Law::Gaussian { mu }), 1)] => Some(mu * mu),
            _ => None,
        }
    }
}

/// Renyi divergences of one direction, but for outcomes of probability `mass`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Aside<const N: usize> {
    pub(crate) mass: f64,
    pub(crate) divergence: [f64; N],
}

impl<const N: usize> Aside<N> {
    pub(crate) const NOTHING: Self = Self { mass: 0.0, divergence: [0.0; N] };

    /// `runs` more of another.
    pub(crate) fn plus(self, other: Self, runs: f64) -> Self {
        let sum = |i: usize| self.divergence[i] + runs * other.divergence[i];
        Self { mass: self.mass + runs * other.mass, divergence: core::array::from_fn(sum) }
    }

    fn of(parts: &Parts, s: [f64; N], aside: f64) -> Option<Self> {
        let runs: f64 = parts.iter().map(|(_, n)| *n as f64).sum();
        parts.iter().try_fold(Self::NOTHING, |sum, (source, n)| {
            let Source::Law(law) = source else { return None };
            Some(sum.plus(Self::of_law(law, s, aside / runs)?, *n as f64))
        })
    }

    fn of_law(law: &Law, s: [f64; N], aside: f64) -> Option<Self> {
        let exact = s.map(|s| law.ln_moment(s) / s * (1.0 + 1e-12));
        if exact.iter().all(|x| x.is_finite()) {
            return Some(Self { mass: 0.0, divergence: exact });
        }
        Self::cut_off(law, s, aside)
    }

    /// Without the largest losses, of mass about `aside`.
    fn cut_off(law: &Law, s: [f64; N], aside: f64) -> Option<Self> {
        let cut = Cut { low: 1e-12, high: aside, most: f64::INFINITY };
        let source = Source::Law(law.clone());
        let h = source.coarse_step(cut, 4096.0);
        let kept = source.above(h, cut);
        let mass = kept.p_infinite;
        // Of the outcomes that are kept: their law is divided by their mass.
        let given = (-mass).ln_1p();
        let divergence = s.map(|s| (kept.ln_moment_above(h, s) - (1.0 + s) * given) / s);
        (mass < 1.0).then_some(Self { mass, divergence: divergence.map(|d| d.max(0.0)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::root::{Middle, bisect};

    /// Laws whose moments are known, cut off where it costs them nothing: the same divergences, from above and
    /// closely; cut off at a hundredth, what is left divided by its mass.
    #[test]
    fn a_law_that_is_cut_off_keeps_its_divergences() {
        let s = [0.5, 4.0, 12.0];
        let down = Law::Chi(ChiLoss { k: 20.0, kind: ChiKind::JlDown { lambda: 0.05 } });
        for law in [Law::Gaussian { mu: 0.2 }, Law::Laplace { mu: 0.3 }, down] {
            let cut = Aside::cut_off(&law, s, 1e-15).unwrap();
            assert!((0.0..2e-15).contains(&cut.mass), "{law:?}: {}", cut.mass);
            for (i, s) in s.into_iter().enumerate() {
                let (exact, found) = (law.ln_moment(s) / s, cut.divergence[i]);
                assert!(
                    found >= exact * (1.0 - 1e-9) && found < exact * 1.001 + 1e-9,
                    "{law:?} {s}"
                );
            }
        }
        // N(mu^2/2, mu^2) up to z standard deviations: E e^(s L) of it is e^(s (s + 1) mu^2 / 2) Phi(z - s mu).
        let mu = 0.5_f64;
        let cut = Aside::cut_off(&Law::Gaussian { mu }, s, 0.01).unwrap();
        assert!((1e-4..=0.01).contains(&cut.mass), "{}", cut.mass);
        let beyond = |z: f64| crate::numeric::ln_normal_cdf(-z) < cut.mass.ln();
        let (_, z) = bisect((0.0, 9.0), Middle::Arithmetic, (50, 0.0), beyond);
        for (i, s) in s.into_iter().enumerate() {
            let kept = 0.5 * s * (s + 1.0) * mu * mu + crate::numeric::ln_normal_cdf(z - s * mu);
            let exact = (kept - (1.0 + s) * (-cut.mass).ln_1p()) / s;
            assert!((cut.divergence[i] / exact - 1.0).abs() < 1e-3, "{s}: {exact}");
        }
    }

    /// `ln(1 - high - low + high e^(s loss) + low e^(-s loss))`, also where both probabilities are small.
    #[test]
    fn moments_of_responses_are_sums_over_their_losses() {
        for (high, loss) in [(0.3, 3f64.ln()), (0.01, 0.5), (0.6, 0.5), (0.02, 4.0)] {
            let low = high * f64::exp(-loss);
            let law = Law::Response { high, low, loss };
            for s in [0.1, 0.5, 0.9, 3.0, 11.0] {
                let more = high * (s * loss).exp_m1() + low * (-s * loss).exp_m1();
                let (exact, found) = (more.ln_1p(), law.ln_moment(s));
                assert!((found / exact - 1.0).abs() < 1e-12, "{high} {loss} {s}: {found} {exact}");
            }
        }
    }

    /// `(1 + lambda)^(-s k/2) (1 - s lambda)^(-k/2)`, infinite from `s lambda = 1` on.
    #[test]
    fn moments_of_a_row_added_to_a_sketch_end_at_one_over_lambda() {
        for (lambda, s) in [(0.1, 2.0), (0.1, 9.9), (4.0, 0.2), (0.7, 1.0)] {
            let law =
                |s: f64| Law::Chi(ChiLoss { k: 6.0, kind: ChiKind::JlUp { lambda } }).ln_moment(s);
            let exact = -3.0 * (s * f64::ln_1p(lambda) + f64::ln_1p(-s * lambda));
            assert!((law(s) / exact - 1.0).abs() < 1e-12, "{lambda} {s}: {} {exact}", law(s));
            assert_eq!(law(1.0001 / lambda), f64::INFINITY);
            assert_eq!(law(5.0 / lambda), f64::INFINITY);
        }
    }
}
