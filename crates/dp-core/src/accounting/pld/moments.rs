//! Exact moments of the loss laws: what Renyi accounting needs.

use super::Pld;
use super::law::{ChiKind, ChiLoss, Law};
use super::parts::Source;
use crate::special::ln_sum_exp;

impl Law {
    /// `ln E_P e^(s L)` for s > 0, which is s times the Renyi divergence of order
    /// 1 + s; infinite where that is.
    fn ln_moment(&self, s: f64) -> f64 {
        let gaussian = |square: f64| 0.5 * s * (s + 1.0) * square;
        let responses = |high: f64, low: f64| {
            if low == 0.0 {
                return f64::INFINITY;
            }
            let loss = ((high - low) / low).ln_1p();
            let rest = (1.0 - high - low).max(0.0);
            let atoms = ln_sum_exp(high.ln() + s * loss, low.ln() - s * loss);
            ln_sum_exp(atoms, rest.ln())
        };
        match *self {
            Self::Gaussian { mu } => gaussian(mu * mu),
            Self::SparseGaussian { p, mu } => ln_sum_exp((-p).ln_1p(), p.ln() + gaussian(mu * mu)),
            Self::GaussianMixture { k, scale, square } => {
                gaussian(square) + ln_chi_moment(k, s * (s + 1.0) * scale * scale)
            }
            Self::Laplace { mu } => {
                let order = 1.0 + s;
                let whole = 2.0 * order - 1.0;
                ln_sum_exp((order / whole).ln() + s * mu, (s / whole).ln() - order * mu)
            }
            Self::Response { high, low } => responses(high, low),
            Self::Bits { bits, high, low } => bits as f64 * responses(high, low),
            Self::Chi(ChiLoss { k, kind }) => match kind {
                ChiKind::JlUp { lambda } => {
                    ln_chi_moment(k, s * lambda) - 0.5 * s * k * lambda.ln_1p()
                }
                ChiKind::JlDown { lambda } => {
                    ln_chi_moment(k, -s * lambda / (1.0 + lambda)) + 0.5 * s * k * lambda.ln_1p()
                }
                // Without the row against with it, losses are infinite with positive mass.
                ChiKind::WishartRemoved { .. } | ChiKind::WishartAdded { .. } => f64::INFINITY,
            },
            Self::Certain => f64::INFINITY,
        }
    }
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
            Source::Envelope(_) => f64::INFINITY,
        };
        let sum = |reverse| -> f64 {
            self.parts.iter().map(|(source, n)| *n as f64 * of(source, reverse)).sum()
        };
        sum(false).max(sum(true)) / s * (1.0 + 1e-12)
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
