//! A linear support vector machine by dual coordinate descent.
//!
//! No crate is used: `liblinear` 1.0.0 (C++) has seen no release since 2019; `linfa-svm` 0.8.1
//! takes any kernel and needs 3.8 s for 2,000 rows of 512 features, against 0.1 s here, and 91
//! crates; `smartcore` 0.7.0 looks at no more features than there are rows; `ffsvm` only predicts.

use crate::error::{Error, Result};
use dp_core::PublicSeed;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use sketch::RowsView;
use sketch::rows::Storage;

/// How a [`LinearSvm`] is trained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SvmOptions {
    /// Weight C of the losses, in units of one over the mean squared norm of the rows: the
    /// machine does not change when all rows are multiplied by a number.
    pub(crate) cost: f64,
    /// Training ends when the duality gap is at most this share of the primal objective.
    pub(crate) tolerance: f64,
    /// Training ends after so many passes over the rows, whatever the gap.
    pub(crate) passes: usize,
}

impl Default for SvmOptions {
    /// Cost 1, a gap of 1 %, 1,000 passes.
    fn default() -> Self {
        Self { cost: 1.0, tolerance: 1e-2, passes: 1000 }
    }
}

/// A trained linear classifier: the sign of `w . x + b`.
///
/// Minimises `|w|^2 / 2 + (b / s)^2 / 2 + C / s^2 sum_i max(0, 1 - y_i (w . x_i + b))`, where
/// `s^2` is the mean squared norm of the rows (the bias is the weight of a constant feature of
/// value s), by coordinate descent on the dual in random order.
///
/// Reference: Hsieh, Chang, Lin, Keerthi and Sundararajan, *A dual coordinate descent method for
/// large-scale linear SVM*, ICML 2008. Deviation: with more features than rows the descent keeps
/// the inner products of the rows in place of w, so that a step costs one row of that table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinearSvm {
    weights: Vec<f64>,
    bias: f64,
}

impl LinearSvm {
    /// Trains on rows with labels +1 and -1.
    ///
    /// # Errors
    /// When there is not one label a row, a label is neither +1 nor -1, a label is missing, or
    /// an option is not positive.
    pub(crate) fn fit(rows: RowsView<'_>, labels: &[i32], options: SvmOptions) -> Result<Self> {
        check(rows, labels, options)?;
        // Sums are most of the work: compiled again for wider registers.
        Ok(pulp::Arch::new().dispatch(|| Self::descend(rows, labels, options)))
    }

    #[inline(always)]
    fn descend(rows: RowsView<'_>, labels: &[i32], options: SvmOptions) -> Self {
        let n = rows.n();
        let norms: Vec<f64> = (0..n).map(|i| squared_norm(rows, i)).collect();
        let mean = norms.iter().sum::<f64>() / n as f64;
        let square = if mean > 0.0 { mean } else { 1.0 };
        let most = options.cost / square;
        let signs: Vec<f64> = labels.iter().map(|&y| f64::from(y)).collect();
        let mut machine = Descent::new(rows, square);
        let mut alpha = vec![0.0; n];
        let mut order: Vec<usize> = (0..n).collect();
        let mut rng = PublicSeed::new(1).generator(0);
        for pass in 1..=options.passes {
            crate::data::shuffle(&mut order, &mut rng);
            for &i in &order {
                let slope = signs[i] * machine.score(i) - 1.0;
                let to = (alpha[i] - slope / (norms[i] + square)).clamp(0.0, most);
                if to != alpha[i] {
                    machine.add(i, signs[i] * (to - alpha[i]));
                    alpha[i] = to;
                }
            }
            let tested = pass % 5 == 0;
            if tested && relative_gap(&machine, &signs, &alpha, most) <= options.tolerance {
                break;
            }
        }
        let (mut weights, mut bias) = (vec![0.0; rows.d()], 0.0);
        for (i, (a, y)) in alpha.iter().zip(&signs).enumerate().filter(|(_, (a, _))| **a > 0.0) {
            add_row(rows, i, a * y, &mut weights);
            bias += a * y * square;
        }
        Self { weights, bias }
    }

    /// `w . x + b` for one row.
    ///
    /// # Panics
    /// When the row does not exist, or has another number of features.
    #[must_use]
    pub(crate) fn score(&self, rows: RowsView<'_>, row: usize) -> f64 {
        assert_eq!(rows.d(), self.weights.len(), "rows as wide as those of the training");
        score(rows, row, &self.weights) + self.bias
    }

    /// Share of rows whose label is the sign of their score (+1 for zero).
    ///
    /// # Panics
    /// When there is not one label a row, or rows have another number of features.
    #[must_use]
    pub(crate) fn accuracy(&self, rows: RowsView<'_>, labels: &[i32]) -> f64 {
        assert_eq!(rows.n(), labels.len(), "one label a row");
        let right = (0..rows.n()).filter(|&i| (self.score(rows, i) >= 0.0) == (labels[i] > 0));
        right.count() as f64 / rows.n() as f64
    }
}

fn check(rows: RowsView<'_>, labels: &[i32], options: SvmOptions) -> Result<()> {
    if labels.len() != rows.n() {
        return Err(Error::invalid("labels", labels.len(), format!("one a row: {}", rows.n())));
    }
    if let Some(y) = labels.iter().find(|y| y.abs() != 1) {
        return Err(Error::invalid("label", y, "+1 or -1"));
    }
    if !(labels.contains(&1) && labels.contains(&-1)) {
        return Err(Error::invalid("labels", "all equal", "both +1 and -1"));
    }
    for (name, value) in [("cost", options.cost), ("tolerance", options.tolerance)] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(Error::invalid(name, value, "(0, inf)"));
        }
    }
    if options.passes == 0 { Err(Error::invalid("passes", 0, "[1, inf)")) } else { Ok(()) }
}

/// (primal - dual) / primal: both objectives with `|w|^2 = sum_i alpha_i y_i w . x_i`.
#[inline(always)]
fn relative_gap(machine: &Descent<'_>, signs: &[f64], alpha: &[f64], most: f64) -> f64 {
    let (mut square, mut loss, mut sum) = (0.0, 0.0, 0.0);
    for (i, (y, a)) in signs.iter().zip(alpha).enumerate() {
        let margin = y * machine.score(i);
        square += a * margin;
        loss += (1.0 - margin).max(0.0);
        sum += a;
    }
    let primal = 0.5 * square + most * loss;
    (primal - (sum - 0.5 * square)) / primal.max(f64::MIN_POSITIVE)
}

/// The scores `w . x_i + b` under steps `w += t x_i`, `b += t s^2`.
enum Descent<'a> {
    /// Keeps w and b.
    Weights { rows: RowsView<'a>, weights: Vec<f64>, bias: f64, square: f64 },
    /// Keeps all scores, and the n x n inner products.
    Scores { products: Vec<f64>, scores: Vec<f64> },
}

impl<'a> Descent<'a> {
    fn new(rows: RowsView<'a>, square: f64) -> Self {
        match rows.storage() {
            Storage::F64(values) if rows.d() > rows.n() => {
                let (n, d) = (rows.n(), rows.d());
                let x = faer::MatRef::from_row_major_slice(values, n, d);
                let mut products = vec![0.0; n * n];
                let out = faer::MatMut::from_row_major_slice_mut(&mut products, n, n);
                let (lower, whole) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
                let (accum, par) = (faer::Accum::Replace, faer::Par::Seq);
                triangular::matmul(out, lower, accum, x, whole, x.transpose(), whole, 1.0, par);
                for i in 0..n {
                    for j in 0..=i {
                        products[i * n + j] += square;
                        products[j * n + i] = products[i * n + j];
                    }
                }
                Self::Scores { products, scores: vec![0.0; n] }
            }
            _ => Self::Weights { rows, weights: vec![0.0; rows.d()], bias: 0.0, square },
        }
    }

    #[inline(always)]
    fn score(&self, i: usize) -> f64 {
        match self {
            Self::Weights { rows, weights, bias, .. } => score(*rows, i, weights) + bias,
            Self::Scores { scores, .. } => scores[i],
        }
    }

    #[inline(always)]
    fn add(&mut self, i: usize, t: f64) {
        match self {
            Self::Weights { rows, weights, bias, square } => {
                add_row(*rows, i, t, weights);
                *bias += t * *square;
            }
            Self::Scores { products, scores } => {
                let n = scores.len();
                add_scaled(scores, &products[i * n..(i + 1) * n], t);
            }
        }
    }
}

/// A dense row.
enum Row<'a> {
    F64(&'a [f64]),
    F32(&'a [f32]),
}

/// A row, where the rows are stored so.
#[inline(always)]
fn dense<'a>(rows: RowsView<'a>, i: usize) -> Option<Row<'a>> {
    let place = i * rows.d()..(i + 1) * rows.d();
    match rows.storage() {
        Storage::F64(values) => Some(Row::F64(&values[place])),
        Storage::F32(values) => Some(Row::F32(&values[place])),
        _ => None,
    }
}

#[inline(always)]
fn score(rows: RowsView<'_>, i: usize, weights: &[f64]) -> f64 {
    match dense(rows, i) {
        Some(Row::F64(row)) => dot(row, weights),
        Some(Row::F32(row)) => dot(row, weights),
        None => {
            let mut sum = 0.0;
            rows.for_each_entry(i, |c, x| sum += weights[c] * x);
            sum
        }
    }
}

#[inline(always)]
fn squared_norm(rows: RowsView<'_>, i: usize) -> f64 {
    match dense(rows, i) {
        Some(Row::F64(row)) => dot(row, row),
        Some(Row::F32(row)) => dot(row, row),
        None => {
            let mut sum = 0.0;
            rows.for_each_entry(i, |_, x| sum += x * x);
            sum
        }
    }
}

#[inline(always)]
fn add_row(rows: RowsView<'_>, i: usize, t: f64, weights: &mut [f64]) {
    match dense(rows, i) {
        Some(Row::F64(row)) => add_scaled(weights, row, t),
        Some(Row::F32(row)) => add_scaled(weights, row, t),
        None => rows.for_each_entry(i, |c, x| weights[c] += t * x),
    }
}

#[inline(always)]
fn add_scaled<T: Copy + Into<f64>>(to: &mut [f64], from: &[T], t: f64) {
    to.iter_mut().zip(from).for_each(|(a, b)| *a += t * (*b).into());
}

/// Inner product in four times eight running sums, which the compiler keeps in wide registers: one alone would wait for
/// itself.
#[inline(always)]
fn dot<A: Copy + Into<f64>, B: Copy + Into<f64>>(a: &[A], b: &[B]) -> f64 {
    let (a_all, a_rest) = a.as_chunks::<32>();
    let (b_all, b_rest) = b.as_chunks::<32>();
    let mut sums = [[0.0; 8]; 4];
    for (x, y) in a_all.iter().zip(b_all) {
        for (part, sums) in sums.iter_mut().enumerate() {
            for (lane, sum) in sums.iter_mut().enumerate() {
                *sum += x[8 * part + lane].into() * y[8 * part + lane].into();
            }
        }
    }
    let [first, second, third, fourth] = sums;
    let lanes: [f64; 8] = core::array::from_fn(|i| (first[i] + second[i]) + (third[i] + fourth[i]));
    let [a, b, c, d, e, f, g, h] = lanes;
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| (*x).into() * (*y).into()).sum();
    ((a + b) + (c + d)) + ((e + f) + (g + h)) + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::Rng;

    const EXACT: SvmOptions = SvmOptions { cost: 1.0, tolerance: 1e-9, passes: 20_000 };

    fn uniform(n: usize, seed: u64) -> Vec<f64> {
        let mut rng = PublicSeed::new(seed).generator(0);
        (0..n).map(|_| (rng.next_u64() >> 11) as f64 * 2f64.powi(-52) - 1.0).collect()
    }

    /// Noisy classes: the first feature is shifted by the label.
    fn classes(n: usize, d: usize, shift: f64) -> (Vec<f64>, Vec<i32>) {
        let mut values = uniform(n * d, (n + d) as u64);
        let labels: Vec<i32> = (0..n).map(|i| if i % 3 == 0 { 1 } else { -1 }).collect();
        for (row, &y) in values.chunks_exact_mut(d).zip(&labels) {
            row[0] += shift * f64::from(y);
        }
        (values, labels)
    }

    fn fit(values: &[f64], d: usize, labels: &[i32], options: SvmOptions) -> LinearSvm {
        LinearSvm::fit(RowsView::f64(labels.len(), d, values).unwrap(), labels, options).unwrap()
    }

    /// Objective of the class documentation at any machine.
    fn objective(values: &[f64], d: usize, labels: &[i32], cost: f64, w: &[f64], b: f64) -> f64 {
        let square = values.iter().map(|x| x * x).sum::<f64>() / labels.len() as f64;
        let loss = |(row, &y): (&[f64], &i32)| (1.0 - f64::from(y) * (dot(row, w) + b)).max(0.0);
        let losses: f64 = values.chunks_exact(d).zip(labels).map(loss).sum();
        0.5 * (dot(w, w) + b * b / square) + cost / square * losses
    }

    #[test]
    fn two_rows_by_hand() {
        // Rows (1) and (-1), s^2 = 1: by symmetry b = 0; minimise w^2/2 + 2 C max(0, 1 - w).
        for (cost, w) in [(0.25, 0.5), (0.5, 1.0), (100.0, 1.0)] {
            let machine = fit(&[1.0, -1.0], 1, &[1, -1], SvmOptions { cost, ..EXACT });
            assert!((machine.weights[0] - w).abs() < 1e-6 && machine.bias.abs() < 1e-6, "{w}");
        }
        // Rows (0, 0) and (2, 0), C large: s^2 = 2; margins -1 and 1: b = -1, w = (1, 0).
        let machine = fit(&[0.0, 0.0, 2.0, 0.0], 2, &[-1, 1], SvmOptions { cost: 1e3, ..EXACT });
        let [w, zero] = machine.weights[..] else { panic!("two weights") };
        assert!((w - 1.0).abs() < 1e-4 && zero == 0.0 && (machine.bias + 1.0).abs() < 1e-4);
    }

    #[test]
    fn agrees_with_liblinear() {
        // scikit-learn's LinearSVC (LIBLINEAR), hinge loss, C = 0.5 / s^2, intercept scaling s,
        // tolerance 1e-12, on rows sin(1 + 7 i + 3 j^2).
        let (n, d) = (24, 3);
        let at = |i: usize, j: usize| ((1 + 7 * i + 3 * j * j) as f64).sin();
        let values: Vec<f64> = (0..n * d).map(|t| at(t / d, t % d)).collect();
        let side = |i: usize| at(i, 0) + 0.4 * at(i, 2) > 0.1;
        let labels: Vec<i32> =
            (0..n).map(|i| if side(i) != (i % 6 == 0) { 1 } else { -1 }).collect();
        let machine = fit(&values, d, &labels, SvmOptions { cost: 0.5, ..EXACT });
        let expected =
            [0.372_594_659_520_353_64, -0.452_653_733_490_378_9, 0.632_997_307_271_116_1];
        for (found, expected) in machine.weights.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-4, "{found} {expected}");
        }
        assert!((machine.bias + 0.042_524_278_782_832_416).abs() < 1e-4, "{}", machine.bias);
        let found = objective(&values, d, &labels, 0.5, &machine.weights, machine.bias);
        assert!((found / 4.095_189_020_727_062 - 1.0).abs() < 1e-8, "{found}");
    }

    #[test]
    fn no_other_machine_is_better() {
        // Overlapping classes with fewer and with more features than rows, and separable ones.
        for (n, d, shift, cost) in [(60, 3, 0.3, 1.0), (40, 90, 0.3, 1.0), (60, 3, 3.0, 30.0)] {
            let (values, labels) = classes(n, d, shift);
            let machine = fit(&values, d, &labels, SvmOptions { cost, ..EXACT });
            let at = |w: &[f64], b| objective(&values, d, &labels, cost, w, b);
            let least = at(&machine.weights, machine.bias);
            assert!(least < at(&vec![0.0; d], 0.0));
            for step in [1e-3, 0.1] {
                for try_seed in 0..50 {
                    let by = uniform(d + 1, 1000 + try_seed);
                    let w: Vec<f64> =
                        machine.weights.iter().zip(&by).map(|(w, e)| w + step * e).collect();
                    let b = machine.bias + step * by[d];
                    assert!(at(&w, b) >= least * (1.0 - 1e-8), "n = {n}, d = {d}");
                }
            }
            let right = machine.accuracy(RowsView::f64(n, d, &values).unwrap(), &labels);
            assert!(right > 0.68 && (shift < 1.0 || right == 1.0), "{right}");
        }
    }

    #[test]
    fn support_vectors_meet_the_optimality_conditions() {
        // The gradient of the objective: w = C/s^2 sum of y x over the rows inside the margin,
        // plus multiples in [0, C/s^2] of those on it.
        let (n, d) = (50, 2);
        let (values, labels) = classes(n, d, 0.4);
        let machine = fit(&values, d, &labels, EXACT);
        let rows = RowsView::f64(n, d, &values).unwrap();
        let square = values.iter().map(|x| x * x).sum::<f64>() / n as f64;
        let mut rest = [machine.weights[0], machine.weights[1], machine.bias / square];
        let mut on = Vec::new();
        for (i, &y) in labels.iter().enumerate() {
            let margin = f64::from(y) * machine.score(rows, i);
            let part = [values[2 * i], values[2 * i + 1], 1.0].map(|x| x * f64::from(y) / square);
            if (margin - 1.0).abs() < 1e-4 {
                on.push(part);
            } else if margin < 1.0 {
                rest.iter_mut().zip(part).for_each(|(r, p)| *r -= p);
            }
        }
        // At most three rows lie on the margin; they explain what is left, each at most once.
        assert!((1..=3).contains(&on.len()), "{}", on.len());
        let bound = |j: usize| on.iter().map(|p| p[j].abs()).sum::<f64>() + 1e-3;
        assert!((0..3).all(|j| rest[j].abs() <= bound(j)), "{rest:?}");
    }

    #[test]
    fn both_forms_of_the_descent_agree_and_sparse_rows_too() {
        let (n, d) = (30, 45);
        let (values, labels) = classes(n, d, 0.5);
        let table = fit(&values, d, &labels, EXACT);
        let columns: Vec<u32> = (0..n).flat_map(|_| 0..d as u32).collect();
        let offsets: Vec<usize> = (0..=n).map(|i| i * d).collect();
        let csr = sketch::rows::CsrView { offsets: &offsets, columns: &columns, values: &values };
        let sparse = RowsView::csr(n, d, csr).unwrap();
        let weights = LinearSvm::fit(sparse, &labels, EXACT).unwrap();
        for (a, b) in table.weights.iter().zip(&weights.weights) {
            assert!((a - b).abs() < 1e-3, "{a} {b}");
        }
        // Invariance: the machine of rows times ten is the machine over ten.
        let tenfold: Vec<f64> = values.iter().map(|x| 10.0 * x).collect();
        let scaled = fit(&tenfold, d, &labels, EXACT);
        for (a, b) in table.weights.iter().zip(&scaled.weights) {
            assert!((a - 10.0 * b).abs() < 1e-3, "{a} {b}");
        }
    }

    #[test]
    fn numbers_of_either_width_train_one_machine() {
        let (n, d) = (40, 37);
        let (values, labels) = classes(n, d, 0.5);
        let narrow: Vec<f32> = values.iter().map(|x| *x as f32).collect();
        let wide: Vec<f64> = narrow.iter().map(|x| f64::from(*x)).collect();
        let usual = SvmOptions::default();
        let of_narrow = LinearSvm::fit(RowsView::f32(n, d, &narrow).unwrap(), &labels, usual);
        assert_eq!(of_narrow.unwrap(), fit(&wide, d, &labels, usual));
    }

    #[test]
    fn wrong_labels_and_options_are_named() {
        let rows = RowsView::f64(2, 1, &[1.0, 2.0]).unwrap();
        let text = |labels: &[i32], options| {
            LinearSvm::fit(rows, labels, options).unwrap_err().to_string()
        };
        let usual = SvmOptions::default();
        assert!(text(&[1], usual).starts_with("labels = 1"));
        assert!(text(&[1, 0], usual).starts_with("label = 0"));
        assert!(text(&[1, 1], usual).contains("both"));
        assert!(text(&[1, -1], SvmOptions { cost: f64::NAN, ..usual }).starts_with("cost"));
        assert!(text(&[1, -1], SvmOptions { passes: 0, ..usual }).starts_with("passes"));
    }
}
