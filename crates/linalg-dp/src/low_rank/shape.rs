//! The noise covariance of least trace that hides a unit shift of any one row.

use super::coherence::largest_row_norm;
use crate::dense;
use crate::error::{Error, Result};
use faer::{Mat, MatRef};

/// A noise shape: releasing `W^T A + T Z` with Z of N(0, 1) entries hides a shift of one row
/// of A by an l2 norm D as well as Gaussian noise hides a shift of norm at most D.
#[derive(Debug, Clone)]
pub struct NoiseShape {
    root: Mat<f64>,
    inverse_root: Mat<f64>,
    trace: f64,
    lower_bound: f64,
    iterations: usize,
}

/// When [`optimal_shape`] stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShapeTarget {
    /// Relative duality gap that is good enough, in (0, 1).
    pub gap: f64,
    /// Most iterations; the best shape so far is returned with its gap.
    pub iterations: usize,
}

impl Default for ShapeTarget {
    fn default() -> Self {
        Self { gap: 1e-3, iterations: 2000 }
    }
}

/// Directions weaker than this share of the strongest are hidden by a floor instead of
/// the optimum, so that the inverse stays accurate.
const FLOOR: f64 = 1e-6;

/// Isotropic noise at the largest row norm: `S = h^2 I`.
///
/// # Errors
/// [`Error::Core`] when W is zero or empty.
pub(crate) fn isotropic_shape(w: MatRef<'_, f64>) -> Result<NoiseShape> {
    check_basis(w)?;
    let k = w.ncols();
    let h = largest_row_norm(w) * margin(w);
    let scaled = |x: f64| Mat::from_fn(k, k, |i, j| if i == j { x } else { 0.0 });
    let trace = k as f64 * h * h;
    let (root, inverse_root) = (scaled(h), scaled(1.0 / h));
    Ok(NoiseShape { root, inverse_root, trace, lower_bound: 0.0, iterations: 0 })
}

/// The S of least trace with `w_i S^-1 w_i^T <= 1` for every row of W, by multiplicative
/// weights on the dual `max over weights p of (tr (sum_i p_i w_i^T w_i)^(1/2))^2`.
///
/// The shape returned is feasible with a margin above rounding whatever the gap; the
/// gap says how far its trace can be from the least one.
///
/// # Errors
/// [`Error::Core`] when W is zero or empty or the target is out of range;
/// [`Error::Numerical`] when an eigendecomposition fails.
///
/// # References
/// A design of greatest `tr G^(1/2)` (Kiefer's class; not the A-optimal one); multiplicative algorithm of Silvey, Titterington & Torsney 1978,
/// convergence by Yu 2010. Proof: `docs/proofs/optimal-shape.md`.
pub fn optimal_shape(w: MatRef<'_, f64>, target: ShapeTarget) -> Result<NoiseShape> {
    check_basis(w)?;
    if !(target.gap > 0.0 && target.gap < 1.0) {
        return Err(Error::invalid("duality gap", target.gap, "(0, 1)"));
    }
    let (m, k) = w.shape();
    let rows: Vec<f64> = (0..m * k).map(|i| w[(i / k, i % k)]).collect();
    let mut weights = vec![1.0 / m as f64; m];
    let mut best = isotropic_shape(w)?;
    let mut lower_bound = 0.0f64;
    let mut iterations = 0;
    while iterations < target.iterations {
        iterations += 1;
        let root = root_of_design(&rows, &weights, k)?;
        let trace_root: f64 = root.values.iter().sum();
        let need = leverages(&rows, &root.inverse);
        let largest = need.iter().fold(0.0f64, |a, &b| a.max(b));
        // Primal: S = G^(1/2) max_i w_i G^(-1/2) w_i^T. Dual: (tr G^(1/2))^2, without the floor.
        lower_bound = lower_bound.max(root.dual);
        let candidate = trace_root * largest * margin(w).powi(2);
        if candidate < best.trace {
            best = root.shape(largest * margin(w).powi(2), candidate);
        }
        if best.trace <= lower_bound * (1.0 + target.gap) {
            break;
        }
        let mean: f64 = weights.iter().zip(&need).map(|(p, d)| p * d).sum();
        weights.iter_mut().zip(&need).for_each(|(p, d)| *p *= d / mean);
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|p| *p /= total);
    }
    best.lower_bound = lower_bound;
    best.iterations = iterations;
    best.check(w)?;
    Ok(best)
}

impl NoiseShape {
    /// T = S^(1/2), symmetric positive definite, k x k.
    #[must_use]
    pub fn root(&self) -> MatRef<'_, f64> {
        self.root.as_ref()
    }

    /// S^(-1/2).
    #[must_use]
    pub(crate) fn inverse_root(&self) -> MatRef<'_, f64> {
        self.inverse_root.as_ref()
    }

    /// tr S: n times this is the expected squared Frobenius norm of the noise.
    #[must_use]
    pub fn trace(&self) -> f64 {
        self.trace
    }

    /// A proven lower bound on the trace of every feasible shape (0 when not computed).
    #[must_use]
    pub fn lower_bound(&self) -> f64 {
        self.lower_bound
    }

    /// Relative duality gap, `trace / lower bound - 1`.
    #[must_use]
    pub fn gap(&self) -> f64 {
        self.trace / self.lower_bound - 1.0
    }

    /// Iterations used.
    #[must_use]
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// Largest `||T^-1 w_i||` over the rows of W: at most 1.
    #[must_use]
    pub(crate) fn largest_whitened_row(&self, w: MatRef<'_, f64>) -> f64 {
        let white = dense::product(w, self.inverse_root.as_ref());
        largest_row_norm(white.as_ref())
    }

    fn check(&self, w: MatRef<'_, f64>) -> Result<()> {
        let k = w.ncols();
        let mut identity = dense::product(self.root.as_ref(), self.inverse_root.as_ref());
        identity -= Mat::<f64>::identity(k, k);
        if identity.norm_max() > 1e-7 || self.largest_whitened_row(w) > 1.0 {
            let reason = "the shape is not feasible after rounding".into();
            return Err(Error::Numerical { what: "optimal noise shape", reason });
        }
        Ok(())
    }
}

/// One plus more than the rounding of a whitened row's norm (condition at most 1 / FLOOR).
fn margin(w: MatRef<'_, f64>) -> f64 {
    1.0 + 1e-9 * (w.ncols() as f64).sqrt()
}

struct DesignRoot {
    values: Vec<f64>,
    vectors: Mat<f64>,
    inverse: Mat<f64>,
    dual: f64,
}

impl DesignRoot {
    /// The shape `scale G^(1/2)`.
    fn shape(&self, scale: f64, trace: f64) -> NoiseShape {
        let power = |f: &dyn Fn(f64) -> f64| {
            let k = self.values.len();
            let left = Mat::from_fn(k, k, |i, j| self.vectors[(i, j)] * f(self.values[j]));
            dense::product(left.as_ref(), self.vectors.transpose())
        };
        NoiseShape {
            root: power(&|x| (scale * x).sqrt()),
            inverse_root: power(&|x| 1.0 / (scale * x).sqrt()),
            trace,
            lower_bound: 0.0,
            iterations: 0,
        }
    }
}

/// Eigenvalues (floored) and inverse of `G^(1/2)`, `G = sum_i p_i w_i^T w_i`.
fn root_of_design(rows: &[f64], weights: &[f64], k: usize) -> Result<DesignRoot> {
    let scaled: Vec<f64> = rows
        .chunks(k)
        .zip(weights)
        .flat_map(|(w, p)| w.iter().map(move |x| x * p.sqrt()))
        .collect();
    let scaled = MatRef::from_row_major_slice(&scaled, weights.len(), k);
    let gram = dense::product(scaled.transpose(), scaled);
    let eigen = dense::symmetric_eigen(gram.as_ref())?;
    let roots: Vec<f64> = eigen.values.iter().map(|x| x.max(0.0).sqrt()).collect();
    // A lower bound must not gain from rounding: one part in 1e9 off.
    let dual = (roots.iter().sum::<f64>() * (1.0 - 1e-9)).powi(2);
    let floor = FLOOR * roots[0];
    let values: Vec<f64> = roots.iter().map(|x| x.max(floor)).collect();
    let v = &eigen.vectors;
    let left = Mat::from_fn(k, k, |i, j| v[(i, j)] / values[j]);
    let inverse = dense::product(left.as_ref(), v.transpose());
    Ok(DesignRoot { values, vectors: eigen.vectors, inverse, dual })
}

/// `w_i M w_i^T` for every row.
fn leverages(rows: &[f64], matrix: &Mat<f64>) -> Vec<f64> {
    let k = matrix.nrows();
    let w = MatRef::from_row_major_slice(rows, rows.len() / k, k);
    let image = dense::product(w, matrix.as_ref());
    rows.chunks(k)
        .enumerate()
        .map(|(i, w)| w.iter().enumerate().map(|(j, x)| x * image[(i, j)]).sum())
        .collect()
}

fn check_basis(w: MatRef<'_, f64>) -> Result<()> {
    dense::all_finite(w, "basis W")?;
    if w.nrows() == 0 || w.ncols() == 0 || w.norm_max() == 0.0 {
        return Err(Error::invalid("basis W", "empty or zero", "matrices with a nonzero entry"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(m: usize, k: usize, spread: f64) -> Mat<f64> {
        let noise = |i: usize| ((i * 48271 + 11) % 65537) as f64 / 32768.5 - 1.0;
        Mat::from_fn(m, k, |i, j| noise(i * k + j) * spread.powi(j as i32))
    }

    #[test]
    fn certified_optimum_on_many_shapes() {
        for (m, k, spread) in [(3, 1, 1.0), (50, 2, 0.3), (200, 7, 0.7), (400, 11, 1.0)] {
            let w = rows(m, k, spread);
            let target = ShapeTarget { gap: 1e-4, iterations: 20_000 };
            let shape = optimal_shape(w.as_ref(), target).unwrap();
            let isotropic = isotropic_shape(w.as_ref()).unwrap();
            assert!(shape.gap() <= 1e-4, "gap {} at {m} x {k}", shape.gap());
            assert!(shape.trace() <= isotropic.trace());
            assert!(shape.largest_whitened_row(w.as_ref()) <= 1.0);
            // Never feasible with less: shrinking T breaks a constraint.
            assert!(shape.largest_whitened_row(w.as_ref()) > 0.999);
            let square = dense::product(shape.root(), shape.root());
            let trace: f64 = (0..k).map(|i| square[(i, i)]).sum();
            assert!((trace / shape.trace() - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn known_optima() {
        // Orthogonal rows of norms a_j: S = diag(a_j^2).
        let w = Mat::from_fn(3, 3, |i, j| if i == j { [1.0, 2.0, 5.0][i] } else { 0.0 });
        let shape = optimal_shape(w.as_ref(), ShapeTarget { gap: 1e-6, iterations: 5000 }).unwrap();
        assert!((shape.trace() - 30.0).abs() < 1e-3, "{}", shape.trace());
        // One heavy row: isotropic pays its norm in every direction, the optimum in one.
        let mut w = rows(300, 6, 1.0) * faer::Scale(0.05);
        w[(0, 0)] = 1.0;
        let best = optimal_shape(w.as_ref(), ShapeTarget::default()).unwrap();
        assert!(best.trace() < 0.35 * isotropic_shape(w.as_ref()).unwrap().trace());
    }

    #[test]
    fn degenerate_bases() {
        let rank_one = Mat::from_fn(20, 3, |i, _| i as f64);
        let shape = optimal_shape(rank_one.as_ref(), ShapeTarget::default()).unwrap();
        assert!(shape.largest_whitened_row(rank_one.as_ref()) <= 1.0);
        assert!(optimal_shape(Mat::zeros(4, 2).as_ref(), ShapeTarget::default()).is_err());
    }
}
