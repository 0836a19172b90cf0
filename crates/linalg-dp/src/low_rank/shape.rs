//! The noise covariance of least trace that hides a unit shift of any one row.

use super::coherence::largest_row_norm;
use crate::dense;
use crate::error::{Error, Result};
use faer::{Mat, MatRef};
use std::collections::HashSet;

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
    Ok(search(w, target)?.0)
}

/// [`optimal_shape`], and how often it went through all rows.
fn search(w: MatRef<'_, f64>, target: ShapeTarget) -> Result<(NoiseShape, usize)> {
    let (m, k) = w.shape();
    let margin = margin(w).powi(2);
    let whole = m <= FEW;
    let mut design = if whole { Design::of(w, (0..m).collect()) } else { Design::first(w)? };
    let mut best = isotropic_shape(w)?;
    let (mut lower_bound, mut passes) = (0.0f64, usize::from(!whole));
    let mut iterations = 0;
    while iterations < target.iterations {
        iterations += 1;
        let root = root_of_design(&design.rows, &design.weights, k)?;
        let trace_root: f64 = root.values.iter().sum();
        let need = leverages(&design.rows, &root.inverse);
        // Dual: (tr G^(1/2))^2, without the floor, whatever rows have no weight.
        lower_bound = lower_bound.max(root.dual);
        let most = largest(&need);
        let settled = trace_root * most <= root.dual * (1.0 + SHARE * target.gap);
        if whole || settled || iterations % STEPS == 0 || iterations == target.iterations {
            passes += 1;
            let all = if whole { None } else { Some(leverages_of_all(w, &root.inverse)) };
            // Primal: S = G^(1/2) max_i w_i G^(-1/2) w_i^T.
            let largest = largest(all.as_ref().unwrap_or(&need));
            let candidate = trace_root * largest * margin;
            if candidate < best.trace {
                best = root.shape(largest * margin, candidate);
            }
            if best.trace <= lower_bound * (1.0 + target.gap) {
                break;
            }
            if all.is_some_and(|all| design.take_in(w, &all, most)) {
                continue;
            }
        }
        design.step(&need);
    }
    best.lower_bound = lower_bound;
    best.iterations = iterations;
    best.check(w)?;
    Ok((best, passes))
}

/// Of more rows than these the weights are sought among some only: the optimum rests on at most k (k + 1) / 2 of them.
const FEW: usize = 1 << 12;
/// So many at most come in at a time, and one of each of as many stretches of W.
const MORE: usize = 1 << 9;
/// The part of the gap that is left to those some, and the steps after which all rows are asked at the latest.
const SHARE: f64 = 0.25;
const STEPS: usize = 100;
/// A weight below this, of all weights together, goes out.
const LIGHT: f64 = 1e-7;

/// Rows, side by side, and their weights.
struct Design {
    rows: Vec<f64>,
    weights: Vec<f64>,
    /// Which rows of W they are.
    places: Vec<usize>,
}

impl Design {
    /// Rows of one weight.
    fn of(w: MatRef<'_, f64>, places: Vec<usize>) -> Self {
        let k = w.ncols();
        let rows = places.iter().flat_map(|&i| (0..k).map(move |j| w[(i, j)])).collect();
        let weights = vec![1.0 / places.len() as f64; places.len()];
        Self { rows, weights, places }
    }

    /// The rows that are hardest to hide where all have one weight, and some from everywhere.
    fn first(w: MatRef<'_, f64>) -> Result<Self> {
        let (m, k) = w.shape();
        let gram = dense::product(w.transpose(), w);
        let uniform = root_of(Mat::from_fn(k, k, |i, j| gram[(i, j)] / m as f64).as_ref())?;
        let mut places = hardest(&leverages_of_all(w, &uniform.inverse), 0.0);
        places.extend((0..MORE).map(|i| i * (m / MORE)));
        places.sort_unstable();
        places.dedup();
        Ok(Self::of(w, places))
    }

    /// A step of the multiplicative algorithm.
    fn step(&mut self, need: &[f64]) {
        let weights = &mut self.weights;
        let mean: f64 = weights.iter().zip(need).map(|(p, d)| p * d).sum();
        weights.iter_mut().zip(need).for_each(|(p, d)| *p *= d / mean);
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|p| *p /= total);
    }

    /// Takes in rows that are harder to hide than all that are here, with half of the weight, and lets those go that
    /// hardly count; whether there are such rows.
    fn take_in(&mut self, w: MatRef<'_, f64>, need: &[f64], most: f64) -> bool {
        let known: HashSet<usize> = self.places.iter().copied().collect();
        let new = hardest(need, most).into_iter().filter(|i| !known.contains(i));
        let new: Vec<usize> = new.collect();
        if new.is_empty() {
            return false;
        }
        let each = 1.0 / new.len() as f64;
        let old = self.places.iter().copied().zip(self.weights.iter().copied());
        let old = old.filter(|(_, p)| *p > LIGHT);
        let (places, weights): (_, Vec<f64>) = old.chain(new.iter().map(|&i| (i, each))).unzip();
        let total: f64 = weights.iter().sum();
        *self =
            Self { weights: weights.iter().map(|p| p / total).collect(), ..Self::of(w, places) };
        true
    }
}

fn largest(need: &[f64]) -> f64 {
    need.iter().fold(0.0f64, |a, &b| a.max(b))
}

/// Rows that need more than `least`: those that need the most, and of each stretch of W the one that does; in their
/// order.
fn hardest(need: &[f64], least: f64) -> Vec<usize> {
    let stretch = need.len().div_ceil(MORE).max(1);
    let mut sorted: Vec<f64> = need.to_vec();
    let rank = MORE.min(need.len()) - 1;
    let (_, among_most, _) = sorted.select_nth_unstable_by(rank, |a, b| b.total_cmp(a));
    let bound = among_most.max(least);
    let of_all = (0..need.len()).filter(|&i| need[i] > bound);
    let of_each = need.chunks(stretch).enumerate().filter_map(|(part, needs)| {
        let top = largest(needs);
        let place = needs.iter().position(|&x| x == top)?;
        (top > least).then_some(part * stretch + place)
    });
    let mut places: Vec<usize> = of_all.chain(of_each).collect();
    places.sort_unstable();
    places.dedup();
    places
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
    root_of(dense::product(scaled.transpose(), scaled).as_ref())
}

/// The same of G itself.
fn root_of(gram: MatRef<'_, f64>) -> Result<DesignRoot> {
    let k = gram.nrows();
    let eigen = dense::symmetric_eigen(gram)?;
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

/// The same for all rows of W, some of them at a time.
fn leverages_of_all(w: MatRef<'_, f64>, matrix: &Mat<f64>) -> Vec<f64> {
    let (m, k) = w.shape();
    let mut all = Vec::with_capacity(m);
    for from in (0..m).step_by(FEW) {
        let part = w.subrows(from, FEW.min(m - from));
        let image = dense::product(part, matrix.as_ref());
        let one = |i: usize| (0..k).map(|j| part[(i, j)] * image[(i, j)]).sum::<f64>();
        all.extend((0..part.nrows()).map(one));
    }
    all
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

    /// Of many rows few are weighted, and all are gone through a few times: the same least trace as that of weights
    /// on all rows, within the gap that is stated, and every row hidden.
    #[test]
    fn many_rows_take_few_passes() {
        let directions = |i: usize, k: usize, w: &Mat<f64>| {
            let norm = w.row(i).norm_l2().max(1e-300);
            Mat::from_fn(1, k, |_, j| w[(i, j)] / norm)
        };
        for (m, k, spread) in [(20_000, 1, 1.0), (30_000, 5, 1.0), (30_000, 16, 0.8)] {
            let plain = rows(m, k, spread);
            let equal = Mat::from_fn(m, k, |i, j| directions(i, k, &plain)[(0, j)]);
            let same = Mat::from_fn(m, k, |i, j| plain[(i % 50, j)]);
            for w in [plain, equal, same] {
                let (shape, passes) = search(w.as_ref(), ShapeTarget::default()).unwrap();
                assert!(shape.gap() <= 1e-3, "gap {} at {m} x {k}", shape.gap());
                assert!(passes <= 20, "{passes} passes at {m} x {k}");
                let white = shape.largest_whitened_row(w.as_ref());
                assert!(white <= 1.0 && white > 0.999, "{white}");
                // Weights on all rows: their dual is a bound that knows nothing of the choice.
                let mut design = Design::of(w.as_ref(), (0..m).collect());
                for _ in 0..20 {
                    let root = root_of_design(&design.rows, &design.weights, k).unwrap();
                    assert!(root.dual <= shape.trace(), "{} above {}", root.dual, shape.trace());
                    let need = leverages(&design.rows, &root.inverse);
                    design.step(&need);
                }
            }
        }
    }

    #[test]
    fn the_hardest_rows_are_found() {
        assert_eq!(hardest(&[1.0, 5.0, 3.0, 5.0, 4.0], 3.5), [1, 3, 4]);
        assert!(hardest(&[2.0; 5], 2.0).is_empty());
        // One of each stretch of ten, and those that need the most, wherever they are.
        let mut need = vec![1.0; 10 * MORE];
        need[20..24].fill(7.0);
        let found = hardest(&need, 0.0);
        assert_eq!(found.len(), MORE + 3);
        assert!((20..24).all(|i| found.contains(&i)));
        assert_eq!(hardest(&need, 2.0), [20, 21, 22, 23]);
    }

    #[test]
    fn degenerate_bases() {
        let rank_one = Mat::from_fn(20, 3, |i, _| i as f64);
        let shape = optimal_shape(rank_one.as_ref(), ShapeTarget::default()).unwrap();
        assert!(shape.largest_whitened_row(rank_one.as_ref()) <= 1.0);
        assert!(optimal_shape(Mat::zeros(4, 2).as_ref(), ShapeTarget::default()).is_err());
    }
}
