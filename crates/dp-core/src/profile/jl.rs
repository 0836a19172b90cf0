//! The Johnson-Lindenstrauss mechanism. Proof: `docs/proofs/jl-mechanism.md`.

use super::chi_mixture;
use super::kind::{Kind, MANY, ROW, count, ratio};
use super::kinds::{Profile, RowChange};
use super::pld::{LEAST, Merged};
use super::rule::{scale, whole};
use super::solve::{least_scale_from, positive, refuse_pure, rough_mu};
use crate::adjacency::Adjacency;
use crate::budget::Budget;
use crate::error::Result;
use crate::noise::NoiseLaw;
use crate::numeric::quadrature::{Side, ln_chi_expectation};
use crate::quantity::{NoiseScale, NormBound};

/// One row added or removed, `lambda = B^2/w^2`: an upper bound on ln delta.
fn ln_delta_add_remove(rows: u64, lambda: f64, epsilon: f64) -> f64 {
    let r = rows as f64;
    // Four units above a lambda that was rounded: delta rises with it.
    let lambda = lambda * (1.0 + 4.0 * f64::EPSILON);
    let shift = 0.5 * r * lambda.ln_1p();
    ln_one_way_down(r, lambda, shift, epsilon).max(ln_one_way_up(r, lambda, shift, epsilon)) + 1e-11
}

/// Loss under N(0, 1) against N(0, 1 + lambda): `shift - x lambda / (2 (1 + lambda))`, x ~ chi2_r.
fn ln_one_way_down(r: f64, lambda: f64, shift: f64, epsilon: f64) -> f64 {
    let c = 0.5 * lambda / (1.0 + lambda);
    let t = (shift * (1.0 + 4.0 * f64::EPSILON) - epsilon) / c;
    if t <= 0.0 {
        return f64::NEG_INFINITY;
    }
    // The safe side: not below the root of the threshold.
    let z = t.sqrt() * (1.0 + 4.0 * f64::EPSILON);
    let w = |s: f64, _: f64| c * s * (2.0 * z - s);
    ln_chi_expectation(r, z, Side::Below, 2.0 * c * z, None, w)
}

/// Loss under N(0, 1 + lambda) against N(0, 1): `x lambda / 2 - shift`, x ~ chi2_r.
fn ln_one_way_up(r: f64, lambda: f64, shift: f64, epsilon: f64) -> f64 {
    let c = 0.5 * lambda;
    // The safe side: not above the root of the threshold.
    let z = ((shift + epsilon) / c).sqrt() * (1.0 - 4.0 * f64::EPSILON);
    let w = |s: f64, _: f64| c * s * (2.0 * z + s);
    ln_chi_expectation(r, z, Side::Above, 2.0 * c * z, None, w)
}

/// One row replaced: the sum of two independent losses, one each way, `lambda/2 (x' - x/(1 + lambda))` with x, x' ~ chi2_r.
/// Its moment generating function is `(1 - kappa z (1 + z))^(-r/2)`, `kappa = lambda^2 / (1 + lambda)`, and so is that of
/// a Gaussian step of `mu^2 = kappa q`, q ~ chi2_r: the same law.
fn ln_delta_replace(rows: u64, lambda: f64, epsilon: f64) -> f64 {
    // Up: lambda is three roundings off, and each step here is one.
    let scale = lambda / (1.0 + lambda).sqrt() * (1.0 + 8.0 * f64::EPSILON);
    chi_mixture::ln_delta(rows, scale, 0.0, epsilon)
}

/// [`Profile::JlMechanism`].
pub(super) struct Jl {
    pub(super) rows: u64,
    pub(super) bound: NormBound,
    pub(super) lift: NoiseScale,
    pub(super) change: RowChange,
}

impl Jl {
    fn lambda(&self) -> f64 {
        (self.bound.get() / self.lift.get()).powi(2)
    }
}

impl Kind for Jl {
    fn ln_delta(&self, epsilon: f64) -> f64 {
        match self.change {
            _ if self.rows == 0 => f64::NEG_INFINITY,
            RowChange::AddRemove => ln_delta_add_remove(self.rows, self.lambda(), epsilon),
            RowChange::Replace => ln_delta_replace(self.rows, self.lambda(), epsilon),
        }
    }

    fn check_limits(&self) -> Result<()> {
        count("rows", self.rows, MANY)?;
        ratio(ROW, self.bound.get() / self.lift.get())
    }

    fn compose(&self, runs: u64, all: &mut Merged) {
        let (lambda, rows) = (self.lambda().max(LEAST), runs as f64 * self.rows as f64);
        if rows > 0.0 {
            all.sketch(lambda, rows, self.change == RowChange::Replace);
        }
    }

    fn given_by(&self, noise: &NoiseLaw, _: Adjacency) -> Result<bool> {
        match noise {
            NoiseLaw::JlSketch { rows, lift, .. } => {
                whole("noise.rows", *rows, self.rows)?;
                scale("noise.lift", *lift, self.lift)?;
            }
            // Independent sketches of one lift: their rows add up, exactly.
            NoiseLaw::Several { laws } => {
                let mut drawn = 0u64;
                for law in laws {
                    let NoiseLaw::JlSketch { rows, lift, .. } = law else { return Ok(false) };
                    drawn = drawn.saturating_add(*rows);
                    scale("noise.laws.lift", *lift, self.lift)?;
                }
                whole("noise.laws.rows", drawn, self.rows)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The least lift w of the Johnson-Lindenstrauss mechanism.
///
/// # Errors
/// [`crate::Error::InvalidParameter`] when `rows` is zero; [`crate::Error::Calibration`] when delta is.
pub fn jl_lift(
    budget: Budget,
    rows: u64,
    bound: NormBound,
    change: RowChange,
) -> Result<NoiseScale> {
    refuse_pure("jl mechanism", budget)?;
    positive("rows", rows)?;
    let guess = bound.get() * ((rows as f64).sqrt() / rough_mu(budget)).sqrt();
    least_scale_from("jl mechanism", budget, guess, |lift| Profile::JlMechanism {
        rows,
        bound,
        lift,
        change,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ratio comes rounded, and delta rises with it: what is said is not below that of a ratio four units larger.
    #[test]
    fn a_ratio_counts_as_four_units_larger() {
        let (rows, lambda, epsilon) = (10, 0.01, 1e4);
        let larger = lambda * (1.0 + 4.0 * f64::EPSILON);
        let shift = 0.5 * rows as f64 * larger.ln_1p();
        let least = ln_one_way_up(rows as f64, larger, shift, epsilon);
        let said = ln_delta_add_remove(rows, lambda, epsilon);
        assert!(said >= least && said < least + 1e-6, "{said} {least}");
    }
}
