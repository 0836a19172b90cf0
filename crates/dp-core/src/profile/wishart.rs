//! The Wishart mechanism. Proof: `docs/proofs/wishart.md`.

use super::kind::{Kind, MANY, ROW, count, ratio};
use super::kinds::{PrivacyProfile, Profile, RowChange};
use super::pld::{ChiKind, ChiLoss, FREEDOM, LEAST, LossLaw, Merged};
use super::rule::{scale, whole};
use super::solve::{least_scale_from, positive, refuse_pure};
use crate::adjacency::Adjacency;
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::noise::NoiseLaw;
use crate::numeric::ln_sum_exp;
use crate::numeric::quadrature::{Side, ln_chi_expectation};
use crate::numeric::root;
use crate::quantity::{NoiseScale, NormBound};

/// `W_d(nu, s I)` noise against one row of squared norm `t s`.
#[derive(Debug, Clone, Copy)]
struct OneRow {
    /// `nu - d + 1`: degrees of freedom of the chi-square the loss depends on.
    k: f64,
    /// `(nu - d - 1) / 2`: exponent of the determinant.
    a: f64,
    /// Squared norm of the row over the scale.
    t: f64,
}

impl OneRow {
    /// `None` unless `dof > dim + 1`, where the density is log-concave and unbounded losses are rare.
    fn new(dim: u64, dof: u64, t: f64) -> Option<Self> {
        (dim >= 1 && dof > dim.saturating_add(1)).then(|| Self {
            k: (dof - dim + 1) as f64,
            a: 0.5 * (dof - dim - 1) as f64,
            t,
        })
    }

    /// Without the row against with it: `E[(1 - e^(eps - L))_+]`,
    /// `L = -a ln(1 - t/c) - t/2`, infinite for `c <= t`.
    fn ln_delta_removed(self, epsilon: f64) -> f64 {
        let Self { k, a, t } = self;
        let level = epsilon + 0.5 * t;
        let threshold = t / -(-level / a).exp_m1();
        let rate = 2.0 * a * t / (threshold.sqrt() * (threshold - t).max(1e-300));
        ln_chi_expectation(k, threshold.sqrt(), Side::Below, rate, Some(t.sqrt()), |z| {
            let rest = t / (z * z);
            if rest >= 1.0 { f64::INFINITY } else { -a * (-rest).ln_1p() - level }
        })
    }

    /// With the row against without it: `L = t/2 - a ln(1 + t/c)`, at most `t/2`.
    fn ln_delta_added(self, epsilon: f64) -> f64 {
        let Self { k, a, t } = self;
        let level = 0.5 * t - epsilon;
        if level <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let threshold = t / (level / a).exp_m1();
        let rate = 2.0 * a * t / (threshold.sqrt() * (threshold + t));
        ln_chi_expectation(k, threshold.sqrt(), Side::Above, rate, None, |z| {
            level - a * (t / (z * z)).ln_1p()
        })
    }

    /// One row added or removed: an upper bound on ln delta.
    fn ln_delta_add_remove(self, epsilon: f64) -> f64 {
        self.ln_delta_removed(epsilon).max(self.ln_delta_added(epsilon)) + 1e-11
    }

    /// One row replaced: the best of the two-step bounds
    /// `delta_1(e) + e^e delta_2(epsilon - e)` over the order of the steps and the split.
    fn ln_delta_replace(self, epsilon: f64) -> f64 {
        let removed_first =
            |e: f64| ln_sum_exp(self.ln_delta_removed(e), e + self.ln_delta_added(epsilon - e));
        let added_first =
            |e: f64| ln_sum_exp(self.ln_delta_added(e), e + self.ln_delta_removed(epsilon - e));
        least_split(epsilon, removed_first).min(least_split(epsilon, added_first)) + 1e-11
    }
}

/// About the least value over `[0, epsilon]`: any split is a bound, so a grid and then a
/// golden section about its best point.
fn least_split(epsilon: f64, bound: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let values: [f64; 7] = core::array::from_fn(|i| bound(epsilon * i as f64 / 6.0));
    let (at, mut best) =
        values.iter().copied().enumerate().fold((0, 0.0), |m, v| if v.1 < m.1 { v } else { m });
    let point = |i: usize| epsilon * i as f64 / 6.0;
    let (mut low, mut high) = (point(at.saturating_sub(1)), point((at + 1).min(6)));
    let (mut a, mut b) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut fa, mut fb) = (bound(a), bound(b));
    for _ in 0..18 {
        if fa <= fb {
            (high, b, fb) = (b, a, fa);
            a = high - GOLDEN * (high - low);
            fa = bound(a);
        } else {
            (low, a, fa) = (a, b, fb);
            b = low + GOLDEN * (high - low);
            fb = bound(b);
        }
        best = best.min(fa).min(fb);
    }
    best
}

/// [`Profile::Wishart`].
pub(super) struct Wishart {
    pub(super) dim: u64,
    pub(super) dof: u64,
    pub(super) bound: NormBound,
    pub(super) scale: NoiseScale,
    pub(super) change: RowChange,
}

impl Wishart {
    fn t(&self) -> f64 {
        self.bound.get() * self.bound.get() / self.scale.get()
    }
}

impl Kind for Wishart {
    fn ln_delta(&self, epsilon: f64) -> f64 {
        OneRow::new(self.dim, self.dof, self.t()).map_or(0.0, |w| match self.change {
            RowChange::AddRemove => w.ln_delta_add_remove(epsilon),
            RowChange::Replace => w.ln_delta_replace(epsilon),
        })
    }

    fn check_limits(&self) -> Result<()> {
        count("dim", self.dim, MANY)?;
        count("dof", self.dof, MANY)?;
        if self.dof <= self.dim + 1 {
            return Err(Error::invalid("dof", self.dof, format!("[{}, 2^40]", self.dim + 2)));
        }
        ratio(ROW, self.bound.get() / self.scale.get().sqrt())
    }

    fn compose(&self, runs: u64, all: &mut Merged) {
        let Self { dim, dof, bound, scale, change } = *self;
        if dim == 0 || dof <= dim.saturating_add(1) {
            return all.unknown();
        }
        if change == RowChange::Replace {
            return all.envelope(Profile::Wishart { dim, dof, bound, scale, change }, runs);
        }
        let t = self.t().max(LEAST);
        let (a, k) = (0.5 * (dof - dim - 1) as f64, (dof - dim + 1) as f64);
        if k > FREEDOM {
            return all.unknown();
        }
        let kind = ChiKind::WishartRemoved { a, t };
        all.law(LossLaw::Chi(ChiLoss { k, kind }), runs.into(), t);
    }

    fn given_by(&self, noise: &NoiseLaw, _: Adjacency) -> Result<bool> {
        let NoiseLaw::Wishart { dof, scale: stated, .. } = noise else { return Ok(false) };
        whole("noise.dof", *dof, self.dof)?;
        scale("noise.scale", *stated, self.scale)?;
        Ok(true)
    }
}

/// The least scale s of the Wishart mechanism `W_dim(dof, s I)`.
///
/// # Errors
/// [`Error::InvalidParameter`] unless `dof > dim + 1`; [`Error::Calibration`] when delta is zero.
pub fn wishart_scale(
    budget: Budget,
    dim: u64,
    dof: u64,
    bound: NormBound,
    change: RowChange,
) -> Result<NoiseScale> {
    refuse_pure("wishart", budget)?;
    positive("dim", dim)?;
    if dof <= dim.saturating_add(1) {
        return Err(Error::invalid("dof", dof, format!("({}, inf)", dim.saturating_add(1))));
    }
    let guess = bound.get() * bound.get() / budget.epsilon.get().sqrt();
    least_scale_from("wishart", budget, guess, |scale| Profile::Wishart {
        dim,
        dof,
        bound,
        scale,
        change,
    })
}

/// The least degrees of freedom of the Wishart mechanism at a given scale; above `dim + 1`.
///
/// # Errors
/// [`Error::Calibration`] when delta is zero or 2^40 degrees above `dim` do not suffice.
pub fn wishart_dof(
    budget: Budget,
    dim: u64,
    scale: NoiseScale,
    bound: NormBound,
    change: RowChange,
) -> Result<u64> {
    refuse_pure("wishart", budget)?;
    positive("dim", dim)?;
    let least = dim.saturating_add(2);
    root::least_integer(least, least.saturating_add(1 << 40), |dof| {
        Profile::Wishart { dim, dof, bound, scale, change }.log_delta(budget.epsilon)
            <= budget.delta.ln()
    })
    .ok_or_else(|| Error::Calibration {
        family: "wishart",
        budget,
        reason: "no degrees of freedom up to 2^40 above the dimension meet it at this scale".into(),
    })
}
