//! Private covariance and the noisy power method.

use super::{bound, gaussian_budget, search_rng};
use crate::audit::search::{below, uniform, worst};
use crate::audit::subject::{Draw, Side, Subject};
use crate::error::Result;
use dp_core::{Adjacency, PublicSeed};
use linalg_dp::covariance::{
    CovarianceMechanism, CovarianceNoise, GaussianCovariance, JlCovariance, PrivateCovariance,
    WishartCovariance, WishartShape,
};
use linalg_dp::noisy_power::NoisyPower;
use std::sync::Arc;

/// Family name in the table.
pub const FAMILY: &str = "covariance";

/// A symmetric 2 x 2 matrix: two diagonal entries and the one off the diagonal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Symmetric {
    /// First diagonal entry.
    pub a: f64,
    /// Second diagonal entry.
    pub b: f64,
    /// Off the diagonal.
    pub c: f64,
}

impl Symmetric {
    /// `A^T A` of rows of two numbers.
    #[must_use]
    pub fn gram(rows: &[f64]) -> Self {
        let sum = |i: usize, j: usize| rows.chunks_exact(2).map(|r| r[i] * r[j]).sum();
        Self { a: sum(0, 0), b: sum(1, 1), c: sum(0, 1) }
    }

    /// From the three numbers of an observation.
    #[must_use]
    pub fn observed(x: &[f64]) -> Self {
        Self { a: x[0], b: x[1], c: x[2] }
    }

    /// The difference.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self { a: self.a - other.a, b: self.b - other.b, c: self.c - other.c }
    }

    fn lifted(self, square: f64) -> Self {
        Self { a: self.a + square, b: self.b + square, ..self }
    }

    fn determinant(self) -> f64 {
        self.a * self.b - self.c * self.c
    }

    fn inverse(self) -> Self {
        let det = self.determinant();
        Self { a: self.b / det, b: self.a / det, c: -self.c / det }
    }

    /// Frobenius inner product.
    fn inner(self, other: Self) -> f64 {
        self.a * other.a + self.b * other.b + 2.0 * self.c * other.c
    }

    /// ln of the determinant; minus infinity unless positive definite.
    #[must_use]
    pub fn ln_determinant(self) -> f64 {
        let det = self.determinant();
        if self.a > 0.0 && self.b > 0.0 && det > 0.0 { det.ln() } else { f64::NEG_INFINITY }
    }
}

/// `ln density(right) - ln density(left)` of a release, given both exact matrices.
fn ratio(noise: CovarianceNoise, x: &[f64], left: Symmetric, right: Symmetric) -> f64 {
    let seen = Symmetric::observed(x);
    match noise {
        CovarianceNoise::SymmetricGaussian { sigma } => {
            let square = |m: Symmetric| {
                let gap = seen.minus(m);
                gap.inner(gap)
            };
            (square(left) - square(right)) / (2.0 * sigma.get().powi(2))
        }
        CovarianceNoise::Wishart { dof, scale } => {
            wishart_ratio(seen, left, right, (dof as f64, scale.get()))
        }
        CovarianceNoise::JlSketch { rows, lift } => {
            let (r, w) = (rows as f64, lift.get() * lift.get());
            let (s, t) = (left.lifted(w), right.lifted(w));
            let quadratic = seen.inner(t.inverse().minus(s.inverse()));
            -0.5 * r * (quadratic + t.ln_determinant() - s.ln_determinant())
        }
        _ => 0.0,
    }
}

/// The ratio of Wishart densities of `seen - right` and `seen - left`.
#[must_use]
pub fn wishart_ratio(
    seen: Symmetric,
    left: Symmetric,
    right: Symmetric,
    (dof, scale): (f64, f64),
) -> f64 {
    let density = |m: Symmetric| {
        let n = seen.minus(m);
        let ln = n.ln_determinant();
        if ln.is_finite() { 0.5 * (dof - 3.0) * ln - 0.5 * (n.a + n.b) / scale } else { ln }
    };
    let (l, r) = (density(left), density(right));
    if l == r { 0.0 } else { r - l }
}

/// Rows of the matrix on either side.
#[derive(Debug, Clone)]
pub struct Rows {
    /// Base rows.
    pub left: Vec<f64>,
    /// Base rows, one more (or another one).
    pub right: Vec<f64>,
}

/// Pairs one row apart, by search on `separation`: some base rows, the row, and what replaces it.
#[must_use]
pub fn worst_rows(adjacency: Adjacency, separation: impl Fn(Symmetric, Symmetric) -> f64) -> Rows {
    let replace = matches!(adjacency, Adjacency::ReplaceRow { .. });
    let build = |(base, v, w): &(Vec<f64>, [f64; 2], [f64; 2])| {
        let left = if replace { [base.as_slice(), w].concat() } else { base.clone() };
        Rows { left, right: [base.as_slice(), v].concat() }
    };
    let jump = |x: [f64; 2], rng: &mut _| {
        let moved = [x[0] + 0.5 * (uniform(rng) - 0.5), x[1] + 0.5 * (uniform(rng) - 0.5)];
        let norm = moved[0].hypot(moved[1]).max(1.0);
        [moved[0] / norm, moved[1] / norm]
    };
    let change = |(base, v, w): &(Vec<f64>, [f64; 2], [f64; 2]), rng: &mut _| {
        let (mut base, mut v, mut w) = (base.clone(), *v, *w);
        match below(rng, 4) {
            0 => v = jump(v, rng),
            1 => w = jump(w, rng),
            2 => base.extend(jump([0.0, 0.0], rng)),
            _ => base.truncate(base.len().saturating_sub(2)),
        }
        base.truncate(6);
        (base, v, w)
    };
    let start = [
        (vec![], [1.0, 0.0], [1.0, 0.0]),
        (vec![], [0.6, 0.8], [-0.8, 0.6]),
        (vec![0.5, 0.5], [0.0, 1.0], [1.0, 0.0]),
    ];
    let value = |t: &_| {
        let Rows { left, right } = build(t);
        separation(Symmetric::gram(&left), Symmetric::gram(&right))
    };
    let (best, _) = worst(start, 4000, &mut search_rng(21), change, value);
    build(&best)
}

/// The three numbers of a released matrix.
pub fn observe(covariance: &PrivateCovariance, out: &mut Vec<f64>) {
    let raw = covariance.raw();
    out.extend([raw[(0, 0)], raw[(1, 1)], raw[(1, 0)]]);
}

fn subject(
    name: &str,
    made: Arc<dyn CovarianceMechanism>,
    noise: CovarianceNoise,
) -> Result<Subject> {
    let guarantee = made.guarantee().clone();
    let adjacency = guarantee.adjacency();
    let separation = move |left: Symmetric, right: Symmetric| match noise {
        CovarianceNoise::JlSketch { lift, .. } => {
            // Both generalised eigenvalues' distances from one.
            let w = lift.get() * lift.get();
            let gap = right.minus(left);
            let whitened = |m: Symmetric| {
                let inverse = m.lifted(w).inverse();
                (inverse.a * gap.a + 2.0 * inverse.c * gap.c + inverse.b * gap.b).abs()
                    + 0.1 * gap.inner(gap).sqrt() / w
            };
            whitened(left)
        }
        _ => {
            let gap = right.minus(left);
            gap.inner(gap)
        }
    };
    let Rows { left, right } = worst_rows(adjacency, separation);
    let (a, b) = (Symmetric::gram(&left), Symmetric::gram(&right));
    let claim = guarantee.budget();
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = side.of(left.as_slice(), right.as_slice());
        observe(made.release(rows, &mut draw.noise())?.payload(), out);
        Ok(())
    };
    let pair = "one row: base rows and row by search on the separation of the matrices";
    // What is stated for a replaced row under Wishart noise is a bound that composes two steps.
    let full = if matches!(adjacency, Adjacency::ReplaceRow { .. }) { 16 } else { 8 };
    Ok(Subject::new(name, FAMILY, claim, pair, 3, sample)
        .under(&guarantee)?
        .with_runs(20_000)
        .in_full(full)
        .likelihood(move |x| ratio(noise, x, a, b)))
}

/// A Wishart mechanism and its audit: the healthy original of the refuted one.
///
/// # Errors
/// A calibration that fails.
pub fn wishart(adjacency: Adjacency) -> Result<Subject> {
    let made = WishartCovariance::calibrate(
        2,
        adjacency,
        gaussian_budget()?,
        WishartShape::LeastSpectralNorm,
    )?;
    let noise = CovarianceNoise::Wishart { dof: made.dof(), scale: made.scale() };
    let name = if matches!(adjacency, Adjacency::ReplaceRow { .. }) {
        "Wishart, replaced row"
    } else {
        "Wishart"
    };
    subject(name, Arc::new(made), noise)
}

/// The power method on rows along one direction: its strength is the matrix, plus noise.
fn power(name: &str, dim: usize, iterations: usize, base: usize) -> Result<Subject> {
    let adjacency = Adjacency::AddRemoveRow { bound: bound(1.0)? };
    let claim = gaussian_budget()?;
    let made = NoisyPower::calibrate(dim, 1, iterations, adjacency, claim)?;
    let guarantee = made.guarantee().clone();
    let mut row = vec![0.0; dim];
    row[0] = 1.0;
    let (left, right) = (row.repeat(base), row.repeat(base + 1));
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = side.of(left.as_slice(), right.as_slice());
        let release = made.release(rows, PublicSeed::new(5), &mut draw.noise())?;
        let payload = release.payload();
        let (s, u) = (payload.strengths()[0], payload.directions());
        out.extend((0..dim).map(|i| s * u[(i, 0)].abs()));
        Ok(())
    };
    let pair = "one more row along the top direction";
    Ok(Subject::new(name, FAMILY, claim, pair, dim, sample)
        .under(&guarantee)?
        .with_runs(20_000)
        .score("likelihood ratio", |x| x[0]))
}

/// The family's audits.
///
/// # Errors
/// A calibration that fails.
pub fn subjects() -> Result<Vec<Subject>> {
    let add = Adjacency::AddRemoveRow { bound: bound(1.0)? };
    let replace = Adjacency::ReplaceRow { bound: bound(1.0)? };
    let budget = gaussian_budget()?;
    let mut all = Vec::new();
    for (adjacency, word) in [(add, ""), (replace, ", replaced row")] {
        let made = GaussianCovariance::calibrate(2, adjacency, budget)?;
        let noise = CovarianceNoise::SymmetricGaussian { sigma: made.sigma() };
        all.push(subject(&format!("symmetric Gaussian{word}"), Arc::new(made), noise)?);
        all.push(wishart(adjacency)?);
        let made = JlCovariance::calibrate(2, 4, adjacency, budget)?;
        let noise = CovarianceNoise::JlSketch { rows: 4, lift: made.lift() };
        all.push(subject(&format!("Johnson-Lindenstrauss{word}"), Arc::new(made), noise)?);
    }
    all.push(power("noisy power method, d = 1", 1, 1, 30)?);
    // Many rows, so that the first pass turns the iterate but little.
    all.push(power("noisy power method, d = 2, two passes", 2, 2, 400)?.in_full(24).with_slack(
        "the budget pays for both products; only the last one is published, so the most that a tester \
         can see is one product's shift: 0.63 at this delta",
    ));
    Ok(all)
}
