//! The Wishart mechanism. Proof: `docs/proofs/wishart.md`.

use super::curve::{Curve, Near};
use super::kind::{Kind, MANY, ROW, count, ratio};
use super::kinds::{PrivacyProfile, Profile, RowChange};
use super::pld::{ChiKind, ChiLoss, FREEDOM, LEAST, LossLaw, Merged};
use super::rule::{scale, whole};
use super::solve::{least_scale_from, positive, refuse_pure};
use crate::adjacency::Adjacency;
use crate::budget::{Budget, Epsilon};
use crate::error::{Error, Result};
use crate::noise::NoiseLaw;
use crate::numeric::gamma::{ln_poisson_kernel, stirling_error};
use crate::numeric::ln_sum_exp;
use crate::numeric::quadrature::{Cosine, Side, even_panels, ln_chi_expectation, ln_expectation};
use crate::numeric::root::{self, Middle, bisect};
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
            // Four units above a ratio that was rounded: delta rises with it.
            t: t * (1.0 + 4.0 * f64::EPSILON),
        })
    }

    /// Without the row against with it: `E[(1 - e^(eps - L))_+]`,
    /// `L = -a ln(1 - t/c) - t/2`, infinite for `c <= t`.
    fn ln_delta_removed(self, epsilon: f64) -> f64 {
        let Self { k, a, t } = self;
        let x = (epsilon + 0.5 * t) / a;
        // By how much the least certain c is below the largest that counts, and the same of their roots, from above.
        let gap = t / x.exp_m1() * (1.0 + (12.0 + 4.0 * x.min(1e3)) * f64::EPSILON);
        let root = t.sqrt();
        let certain = gap / (root + (t + gap).sqrt());
        let z = root + certain;
        let width = certain * (root + z);
        let rate = 2.0 * a * t / (z * width);
        ln_chi_expectation(k, z, Side::Below, rate, Some(certain), |s, left| {
            if left <= 0.0 {
                return f64::INFINITY;
            }
            // `e^(-w/a)` is one less `rest`.
            let at = root + left;
            let rest = root / at * (root / at) * s * (z + at) / width;
            if rest < 0.5 {
                -a * (-rest).ln_1p()
            } else {
                -a * (z / at * (z / at) * left * (root + at) / width).ln()
            }
        })
    }

    /// With the row against without it: `L = t/2 - a ln(1 + t/c)`, at most `t/2`.
    fn ln_delta_added(self, epsilon: f64) -> f64 {
        let Self { k, a, t } = self;
        let level = 0.5 * t - epsilon;
        if level <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let x = level / a;
        // The safe side: not above the root of the threshold.
        let z = (t / x.exp_m1()).sqrt() * (1.0 - (4.0 + x) * f64::EPSILON).max(0.0);
        let share = t / (z * z + t);
        let rate = 2.0 * a * share / z;
        ln_chi_expectation(k, z, Side::Above, rate, None, |s, _| {
            // `e^(-w/a)` is one less `rest`.
            let at = z + s;
            let rest = share * (s / at) * ((z + at) / at);
            if rest < 0.5 {
                -a * (-rest).ln_1p()
            } else {
                -a * (z / at * (z / at) * ((at * at + t) / (z * z + t))).ln()
            }
        })
    }

    /// One row added or removed: an upper bound on ln delta.
    fn ln_delta_add_remove(self, epsilon: f64) -> f64 {
        self.ln_delta_removed(epsilon).max(self.ln_delta_added(epsilon)) + 1e-11
    }

    /// One row replaced: the worst of a row added, a row removed, and a row replaced by an orthogonal one, which
    /// takes two dimensions. An upper bound on ln delta.
    fn ln_delta_replace(self, epsilon: f64, dim: u64) -> f64 {
        let one = self.ln_delta_removed(epsilon).max(self.ln_delta_added(epsilon));
        let two = if dim > 1 { self.ln_delta_orthogonal(epsilon) } else { f64::NEG_INFINITY };
        one.max(two) + 1e-11
    }

    /// One row replaced in two steps, a share of epsilon for the one that removes a row: the better order of the two.
    /// An upper bound on ln delta, wider than [`Self::ln_delta_replace`] and a hundred times as quick.
    fn ln_delta_in_two_steps(self, epsilon: f64, share: f64) -> f64 {
        let removing = share * epsilon;
        // The safe side: both together not above epsilon.
        let adding = (epsilon - removing) * (1.0 - 4.0 * f64::EPSILON);
        let (removed, added) = (self.ln_delta_removed(removing), self.ln_delta_added(adding));
        let first = ln_sum_exp(removed, removing + added);
        first.min(ln_sum_exp(added, adding + removed)) + 2e-11
    }

    /// The same at many epsilons, with the share that is best near one delta.
    fn in_two_steps(self, near: Near) -> Curve {
        let with = |share: f64, near: f64| {
            let bound = move |epsilon| self.ln_delta_in_two_steps(epsilon, share);
            Curve { near, bound: Box::new(bound) }
        };
        let halves = with(0.5, self.t.max(1e-3));
        let at = halves.epsilon(near.delta).map_or(halves.near, Epsilon::get);
        let shares = (1..16).map(|i| f64::from(i) / 16.0);
        let found = shares.map(|share| (self.ln_delta_in_two_steps(at, share), share));
        let best = found.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(0.5, |(_, share)| share);
        with(best, at)
    }

    /// A row against an orthogonal one of the same norm: `E[(1 - e^(eps - L))_+]`,
    /// `L = -a ln(1 - t (2y + t)/(w^2 - y^2))`, infinite where the logarithm's argument is not positive;
    /// w has a density in proportion to `w^(2a + 2) K_0(w)`, and `y = w sin phi`, phi's in proportion to `cos^(2a + 1)`.
    fn ln_delta_orthogonal(self, epsilon: f64) -> f64 {
        let Self { a, t, .. } = self;
        let t = t.max(1e-300);
        let law = Cosine::new(2.0 * a + 1.0);
        let size = GeometricMean::new(a);
        // The y from which on the loss is above epsilon.
        let centre = 0.5 * t / (0.5 * epsilon / a).tanh();
        let inner = |w: f64| {
            if w <= 0.5 * t {
                return 0.0;
            }
            let span = (w - 0.5 * t) * (w + 0.5 * t);
            let least = span / (centre + (centre * centre + span).sqrt()) - 0.5 * t;
            let z = |y: f64| law.angle(1.0).recip() * (y / w).clamp(-1.0, 1.0).asin();
            let loss = |z: f64| {
                let (sin, cos) = law.angle(z).sin_cos();
                let rest = t * (2.0 * w * sin + t) / (w * cos * w * cos);
                if rest >= 1.0 { f64::INFINITY } else { -a * (-rest).ln_1p() }
            };
            let (from, certain) = (z(least), z(w - t));
            let rate = 2.0 * a * t * law.angle(1.0) / w;
            ln_expectation(&law, from, Side::Above, rate, Some(certain - from), |s, _| {
                loss(from + s) - epsilon
            })
        };
        let ln = |w: f64| size.ln_pdf(w) + inner(w);
        // The loss falls with w: the peak is below the mode of w, and not where every loss is infinite.
        let mode = size.shape + 1.0;
        let (mut low, mut high) = ((0.5 * t).min(mode), mode);
        for _ in 0..50 {
            let (x, y) = (low + 0.381_966 * (high - low), low + 0.618_034 * (high - low));
            if ln(x) < ln(y) {
                low = x
            } else {
                high = y
            }
            if high - low < 1e-3 * high.sqrt().min(high) {
                break;
            }
        }
        let peak = 0.5 * (low + high);
        let top = ln(peak);
        let gone = |w: f64| ln(w) < top - 42.0;
        let first = bisect((0.0, peak), Middle::Arithmetic, (40, 0.01), |w| !gone(w)).0;
        let farthest = mode + 60.0 * mode.sqrt() + 2000.0;
        let last = bisect((peak, farthest), Middle::Arithmetic, (40, 0.01), gone).1;
        let f = |w: f64| (ln(w) - top).exp();
        let kink = (0.5 * t).clamp(first, last);
        let parts = [first, kink.min(peak), peak.max(kink), last];
        let some = parts.windows(2).filter(|p| p[0] < p[1]);
        let sum: f64 = some.map(|p| even_panels(p[0], p[1], 10, f)).sum();
        // Where w lies is rounded, and the densities of many degrees are steep there.
        top + sum.ln() + 64.0 * f64::EPSILON * mode.sqrt()
    }
}

/// The law of `sqrt(c_1 c_2)`, independent chi-squares of `2a + 3` degrees: its density is in proportion to
/// `w^(2a + 2) K_0(w)`.
struct GeometricMean {
    /// `2a + 3/2`: the density is close to that of a gamma law of one more.
    shape: f64,
    constant: f64,
}

impl GeometricMean {
    fn new(a: f64) -> Self {
        // sqrt(pi/2) Gamma(shape + 1) / (2^(2n) Gamma(n + 1)^2), n = a + 1/2, by Stirling's formula.
        let (shape, n, tau) = (2.0 * a + 1.5, a + 0.5, core::f64::consts::TAU);
        let constant = 0.5 * (0.25 * tau).ln() + shape * (0.25 / n).ln_1p() + 0.5 * (2.0 * n).ln()
            - 0.5
            + 0.5 * (tau * shape).ln()
            - (tau * n).ln()
            + stirling_error(shape)
            - 2.0 * stirling_error(n);
        Self { shape, constant }
    }

    fn ln_pdf(&self, w: f64) -> f64 {
        // sqrt(2 w / pi) e^w K_0(w) = (2 / sqrt pi) int_0^inf e^(-u^2) (1 + u^2/(2w))^(-1/2) du.
        let step = 0.25_f64.min(0.17 * (2.0 * w).sqrt());
        let count = (6.5 / step).min(1e5) as u32;
        let term = |i: u32| {
            let u = step * f64::from(i);
            (-u * u).exp() / (1.0 + 0.5 * u * u / w).sqrt()
        };
        let sum = 0.5 + (1..=count).map(term).sum::<f64>();
        let correction = (sum * step * core::f64::consts::FRAC_2_SQRT_PI).ln();
        self.constant + ln_poisson_kernel(self.shape, w) + correction
    }
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
        // Neither the square of a bound nor a scale need be of a size that an `f64` holds in full.
        (self.bound.get() / self.scale.get().sqrt()).powi(2)
    }
}

impl Kind for Wishart {
    fn ln_delta(&self, epsilon: f64) -> f64 {
        OneRow::new(self.dim, self.dof, self.t()).map_or(0.0, |w| match self.change {
            RowChange::AddRemove => w.ln_delta_add_remove(epsilon),
            RowChange::Replace => w.ln_delta_replace(epsilon, self.dim),
        })
    }

    /// A row replaced takes milliseconds at every epsilon.
    fn curve(&self, near: Near) -> Option<Curve> {
        if !near.many || self.change != RowChange::Replace {
            return None;
        }
        Some(OneRow::new(self.dim, self.dof, self.t())?.in_two_steps(near))
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
