//! The Wishart mechanism. Proof: `docs/proofs/wishart.md`.

use super::curve::{Curve, Near};
use super::kind::{Kind, MANY, ROW, count, ratio};
use super::kinds::{PrivacyProfile, Profile, RowChange};
use super::pld::{ChiKind, ChiLoss, FREEDOM, LEAST, LossLaw, Merged};
use super::rule::{scale, whole};
use super::solve::{least_scale_from, positive, refuse_pure};
use super::wishart_replaced::ln_delta_replace;
use super::wishart_row::OneRow;
use crate::adjacency::Adjacency;
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::noise::NoiseLaw;
use crate::numeric::root;
use crate::quantity::{NoiseScale, NormBound};

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
            RowChange::Replace => ln_delta_replace(w, epsilon, self.dim),
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
