//! The Johnson-Lindenstrauss mechanism. Proof: `docs/proofs/jl-mechanism.md`.

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
use crate::numeric::root::{Middle, bisect};
use crate::quantity::{NoiseScale, NormBound};
use core::f64::consts::PI;
use realfft::num_complex::Complex64;

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

/// One row replaced: the sum of two independent losses, one each way,
/// `lambda/2 (x' - x/(1 + lambda))` with x, x' ~ chi2_r. Its moment generating function is
/// `M(z) = (1 - kappa z (1 + z))^(-r/2)`, `kappa = lambda^2 / (1 + lambda)`, and
///
/// `delta = 1/(2 pi i) int M(z) e^(-z eps) / (z (1 + z)) dz`
///
/// over any contour that crosses the real axis once, between 0 and the root of
/// `kappa z (1 + z) = 1`. The trapezoidal rule on a parabola through the saddle
/// converges geometrically; the sum of its halves is the check.
fn ln_delta_replace(rows: u64, lambda: f64, epsilon: f64) -> f64 {
    if lambda > 1e280 {
        return 0.0;
    }
    let half = 0.5 * rows as f64;
    // A larger lambda is on the safe side.
    let kappa = (lambda * (lambda / (1.0 + lambda))).max(1e-250);
    let end = 2.0 / (kappa * (1.0 + (1.0 + 4.0 / kappa).sqrt()));
    // 1 - kappa z (1 + z), by its roots: exact differences near the end.
    let room = |z: f64| (kappa * (end - z) * (end + 1.0 + z)).max(1e-300);
    let slope =
        |z: f64| half * kappa * (2.0 * z + 1.0) / room(z) - epsilon - 1.0 / z - 1.0 / (1.0 + z);
    // The saddle, where the slope of the exponent changes sign.
    let falls = |ln: f64| slope(ln.exp()) < 0.0;
    let range = (end.ln() - 200.0, end.ln());
    let (low, _) = bisect(range, Middle::Arithmetic, (50, 0.0), |ln| !falls(ln));
    // Any c inside is right; one that rounds to the end is not.
    let c = low.exp().min(end * (1.0 - 1e-10));
    let (d, g) = (room(c), kappa * (2.0 * c + 1.0) / room(c));
    let second = half * (2.0 * kappa / d + g * g) + 1.0 / (c * c) + 1.0 / ((1.0 + c) * (1.0 + c));
    let third = half * (6.0 * kappa * g / d + 2.0 * g * g * g)
        - 2.0 / (c * c * c)
        - 2.0 / ((1.0 + c) * (1.0 + c) * (1.0 + c));
    let width = 1.0 / second.sqrt();
    // Steepest descent to second order, and never to the left, where e^(-z eps) grows.
    let bend = (third / (6.0 * second)).max(0.0);
    let exponent = |z: Complex64| {
        let w = -kappa * z * (z + 1.0);
        let ln = if w.norm_sqr() < 0.25 {
            Complex64::new(0.5 * (2.0 * w.re + w.norm_sqr()).ln_1p(), w.im.atan2(1.0 + w.re))
        } else {
            (kappa * (end - z) * (z + (end + 1.0))).ln()
        };
        -half * ln - epsilon * z - z.ln() - (z + 1.0).ln()
    };
    let top = exponent(Complex64::new(c, 0.0)).re;
    // Chernoff's bound, (1 - e^-y) being at most e^(c y): enough where no digit of delta is left.
    let chernoff = top + c.ln() + c.ln_1p() + 1e-14 * (c * epsilon + half);
    if top < -1e8 {
        return chernoff;
    }
    let term = |v: f64| {
        let (y, dy) = (width * v.sinh(), width * v.cosh());
        let z = Complex64::new(c + bend * y * y, y);
        let value = (exponent(z) - top).exp() * Complex64::new(2.0 * bend * y, 1.0) * dy;
        (value.im, value.norm())
    };
    let sum = |first: f64, step: f64| {
        let (mut total, mut scale, mut v) = (0.0, 0.0f64, first);
        loop {
            let (value, size) = term(v);
            total += if v == 0.0 { 0.5 * value } else { value };
            scale = scale.max(size);
            if size.is_nan() || size <= 1e-19 * scale || v > 300.0 {
                return total;
            }
            v += step;
        }
    };
    let mut step = 0.25;
    for _ in 0..6 {
        let (even, odd) = (sum(0.0, step), sum(0.5 * step, step));
        if (even - odd).abs() < (1e-8 + 1e-14 * c * epsilon).min(1e-3) * even.abs() {
            let value = 0.5 * step * (even + odd) / PI;
            let error = 1e-11 + 1e-15 * (c * epsilon + half * kappa * c * (1.0 + c));
            return top + value.ln() + error;
        }
        step *= 0.5;
    }
    chernoff
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
