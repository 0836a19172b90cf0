//! From a public sample: groups of what moves together, and the directions in which rows vary most.

use super::groups::Groups;
use super::matrix::PublicMatrix;
use crate::error::{Error, Result};
use crate::rows::RowsView;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par, Side};
use kodama::{Method, linkage};

/// Mean and covariance of rows that are public, or that somebody paid for: what [`Groups::of`] and
/// [`Posterior`](crate::vectors::Posterior) know of the rows that are released. Wrong ones cost utility and no privacy.
#[derive(Debug, Clone)]
pub struct PublicMoments {
    mean: Vec<f64>,
    covariance: Mat<f64>,
}

/// Most attributes: matrices of d x d numbers are held.
const MOST: usize = 1 << 13;
/// What is added to every variance, as a share of the mean one: no attribute is known exactly, and so is no
/// combination of them.
const FLOOR: f64 = 1.0 / 64.0;

impl PublicMoments {
    /// A mean (d numbers) and a covariance (d x d, row after row, symmetric).
    ///
    /// # Errors
    /// [`Error::Length`]; [`Error::NotFinite`]; more than 2^13 attributes, a negative variance or no variance at all, a matrix
    /// that is not symmetric.
    pub fn new(mean: Vec<f64>, covariance: &[f64]) -> Result<Self> {
        let d = mean.len();
        check_size(d)?;
        if covariance.len() != d * d {
            let (expected, found) = (d * d, covariance.len());
            return Err(Error::Length { what: "covariance", expected, found });
        }
        let all = mean.iter().chain(covariance);
        if let Some(at) = all.clone().position(|x| !x.is_finite()) {
            return Err(Error::NotFinite { row: at / d, column: at % d });
        }
        let covariance = Mat::from_fn(d, d, |i, j| covariance[i * d + j]);
        let largest = (0..d).fold(0f64, |m, i| m.max(covariance[(i, i)]));
        let apart = |i: usize, j: usize| (covariance[(i, j)] - covariance[(j, i)]).abs();
        let even = (0..d).all(|i| (0..i).all(|j| apart(i, j) <= 1e-9 * largest));
        if !(largest > 0.0 && even && (0..d).all(|i| covariance[(i, i)] >= 0.0)) {
            let allowed = "symmetric, with variances that are not negative and not all zero";
            return Err(Error::invalid("covariance", "another matrix", allowed));
        }
        let mut made = Self { mean, covariance };
        made.lift();
        Ok(made)
    }

    /// Those of public rows.
    ///
    /// # Errors
    /// Fewer than two rows; otherwise as [`PublicMoments::new`].
    pub fn of_sample(rows: RowsView<'_>) -> Result<Self> {
        Self::of_noisy(rows, 0.0)
    }

    /// As [`PublicMoments::of_sample`], of rows whose numbers carry independent noise of this variance each, which is taken off.
    pub(crate) fn of_noisy(rows: RowsView<'_>, variance: f64) -> Result<Self> {
        let (n, d) = (rows.n(), rows.d());
        check_size(d)?;
        if n < 2 {
            return Err(Error::invalid("rows of a public sample", n, "at least 2"));
        }
        let mut x = Mat::<f64>::zeros(n, d);
        let mut mean = vec![0.0; d];
        for i in 0..n {
            rows.for_each_entry(i, |c, v| {
                x[(i, c)] += v;
                mean[c] += v / n as f64;
            });
        }
        for i in 0..n {
            (0..d).for_each(|c| x[(i, c)] -= mean[c]);
        }
        let mut covariance = Mat::<f64>::zeros(d, d);
        let scale = 1.0 / (n - 1) as f64;
        matmul(
            covariance.as_mut(),
            Accum::Replace,
            x.transpose(),
            x.as_ref(),
            scale,
            Par::rayon(0),
        );
        if variance > 0.0 {
            covariance = less_noise(&covariance, variance)?;
        }
        // Exactly symmetric, however the product was summed.
        let even: Vec<f64> = (0..d * d)
            .map(|at| 0.5 * (covariance[(at / d, at % d)] + covariance[(at % d, at / d)]))
            .collect();
        Self::new(mean, &even)
    }

    fn lift(&mut self) {
        let d = self.d();
        let mean = (0..d).map(|i| self.covariance[(i, i)]).sum::<f64>() / d as f64;
        (0..d).for_each(|i| self.covariance[(i, i)] += FLOOR * mean);
    }

    /// Attributes.
    #[must_use]
    pub fn d(&self) -> usize {
        self.mean.len()
    }

    pub(crate) fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// `S W` (d x k).
    pub(crate) fn times(&self, groups: Groups) -> Mat<f64> {
        let mut product = Mat::<f64>::zeros(self.d(), groups.k());
        for (j, &g) in groups.signed().iter().enumerate() {
            let (c, sign) = (g.unsigned_abs() as usize - 1, f64::from(g.signum()));
            for i in 0..self.d() {
                product[(i, c)] += sign * self.covariance[(i, j)];
            }
        }
        product
    }

    /// `W^T S W + v I` (k x k), from `S W`.
    pub(crate) fn seen(groups: Groups, product: &Mat<f64>, variance: f64) -> Mat<f64> {
        let mut seen = Mat::<f64>::zeros(groups.k(), groups.k());
        for (i, &g) in groups.signed().iter().enumerate() {
            let (c, sign) = (g.unsigned_abs() as usize - 1, f64::from(g.signum()));
            (0..groups.k()).for_each(|j| seen[(c, j)] += sign * product[(i, j)]);
        }
        (0..groups.k()).for_each(|c| seen[(c, c)] += variance);
        seen
    }

    /// `log det(I + W^T S W / v)`: twice what normal rows tell of themselves, in nats.
    fn told(&self, groups: Groups, variance: f64) -> Result<f64> {
        let seen = Self::seen(groups, &self.times(groups), variance);
        let factor = seen.llt(Side::Lower).map_err(|_| not_positive())?;
        let diagonal = factor.L().diagonal();
        let ln: f64 = (0..groups.k()).map(|i| diagonal[i].ln()).sum();
        Ok(2.0 * ln - groups.k() as f64 * variance.ln())
    }

    fn correlation(&self, i: usize, j: usize) -> f64 {
        let root = (self.covariance[(i, i)] * self.covariance[(j, j)]).sqrt();
        (self.covariance[(i, j)] / root).abs().min(1.0)
    }
}

/// A covariance without noise of this variance a number: eigenvalues less it, none below zero.
fn less_noise(covariance: &Mat<f64>, variance: f64) -> Result<Mat<f64>> {
    let eigen = covariance.self_adjoint_eigen(Side::Lower).map_err(|_| not_positive())?;
    let (d, u, lambda) = (covariance.nrows(), eigen.U(), eigen.S().column_vector());
    let scaled = Mat::from_fn(d, d, |i, j| u[(i, j)] * (lambda[j] - variance).max(0.0));
    if (0..d).all(|j| lambda[j] <= variance) {
        let reason = "nothing but noise is left of its rows; release with less of it";
        return Err(Error::Undefined { what: "the covariance of a release", reason });
    }
    Ok(scaled.as_ref() * u.transpose())
}

pub(crate) fn not_positive() -> Error {
    let reason = "the covariance is not positive; it may be no covariance at all";
    Error::Undefined { what: "public moments", reason }
}

fn check_size(d: usize) -> Result<()> {
    if (1..=MOST).contains(&d) {
        Ok(())
    } else {
        Err(Error::invalid("attributes of public moments", d, "[1, 2^13]"))
    }
}

impl PublicMatrix {
    /// The k orthogonal directions of length one in which rows of these moments vary most, among those that are orthogonal to
    /// their mean: `x P = (x - mean) P`, so that what all rows have in common takes no part in their directions.
    ///
    /// # Errors
    /// A k outside `[1, d - 1]`, or `[1, d]` where the mean is zero; as [`PublicMatrix::new`] for over 2^17 entries;
    /// [`Error::Undefined`] for moments that have no eigenvalues.
    pub fn principal(moments: &PublicMoments, k: usize) -> Result<Self> {
        let d = moments.d();
        let square: f64 = moments.mean.iter().map(|m| m * m).sum();
        let most = if square > 0.0 { d - 1 } else { d };
        if !(1..=most).contains(&k) {
            return Err(Error::invalid("k", k, format!("[1, {most}], directions beside the mean")));
        }
        let mean =
            Mat::from_fn(d, 1, |i, _| moments.mean[i] / square.sqrt().max(f64::MIN_POSITIVE));
        // Q S Q for Q = I - m m^T: S - m s^T - s m^T + (m^T s) m m^T with s = S m.
        let s = &moments.covariance * &mean;
        let along = (0..d).map(|i| mean[(i, 0)] * s[(i, 0)]).sum::<f64>();
        let beside = Mat::from_fn(d, d, |i, j| {
            let (mi, mj) = (mean[(i, 0)], mean[(j, 0)]);
            moments.covariance[(i, j)] - mi * s[(j, 0)] - s[(i, 0)] * mj + along * mi * mj
        });
        let eigen = beside.self_adjoint_eigen(Side::Lower).map_err(|_| not_positive())?;
        let vectors = eigen.U();
        let entries: Vec<f64> =
            (0..d * k).map(|at| vectors[(at / k, d - 1 - at % k)].clamp(-1.0, 1.0)).collect();
        Self::new(d, k, &entries)
    }
}

impl Groups {
    /// Groups of attributes that move together, for noise of this variance: average linkage on one less the absolute
    /// correlation, cut at the number of groups that tells most about normal rows of this covariance
    /// (`log det(I + W^T S W / v)`), with the signs of the leading eigenvector in every group.
    ///
    /// # Errors
    /// A variance that is not positive; [`Error::Undefined`] for moments that are none.
    pub fn of(moments: &PublicMoments, noise_variance: f64) -> Result<Self> {
        if !(noise_variance.is_finite() && noise_variance > 0.0) {
            return Err(Error::invalid("noise variance", noise_variance, "(0, inf)"));
        }
        let mut best: Option<(f64, Self)> = None;
        for groups in Self::candidates(moments)? {
            let told = moments.told(groups, noise_variance)?;
            if best.is_none_or(|(most, _)| told > most) {
                best = Some((told, groups));
            }
        }
        best.map(|(_, groups)| groups).ok_or_else(not_positive)
    }

    /// Groups of attributes that move together, of every size that is tried.
    pub(crate) fn candidates(moments: &PublicMoments) -> Result<Vec<Self>> {
        let d = moments.d();
        let pairs = (0..d).flat_map(|i| (i + 1..d).map(move |j| (i, j)));
        let mut apart: Vec<f64> = pairs.map(|(i, j)| 1.0 - moments.correlation(i, j)).collect();
        let merges = linkage(&mut apart, d, Method::Average);
        let merges: Vec<[usize; 2]> =
            merges.steps().iter().map(|s| [s.cluster1, s.cluster2]).collect();
        sizes(d).map(|k| Self::new(&signed(moments, &cut(&merges, d, k))?)).collect()
    }
}

/// Numbers of groups that are tried: about three an octave.
pub(crate) fn sizes(d: usize) -> impl Iterator<Item = usize> {
    let mut all: Vec<usize> = (0..)
        .map(|i| 2f64.powf(f64::from(i) / 3.0).round() as usize)
        .take_while(|k| *k < d)
        .collect();
    all.push(d);
    all.dedup();
    all.into_iter()
}

/// The clusters after all merges but the last `k - 1`, numbered from zero in the order of their first attribute.
pub(crate) fn cut(merges: &[[usize; 2]], d: usize, k: usize) -> Vec<usize> {
    // Cluster d + i is what merge i made.
    let mut parent: Vec<usize> = (0..2 * d).collect();
    for (i, pair) in merges.iter().take(d - k).enumerate() {
        pair.iter().for_each(|c| parent[*c] = d + i);
    }
    // Parents have larger numbers: from the top down each is at its root when it is asked.
    for c in (0..2 * d).rev() {
        parent[c] = parent[parent[c]];
    }
    let mut names: Vec<Option<usize>> = vec![None; 2 * d];
    let mut next = 0;
    let name = |i: usize| {
        *names[parent[i]].get_or_insert_with(|| {
            next += 1;
            next - 1
        })
    };
    (0..d).map(name).collect()
}

/// The signs of the leading eigenvector of the covariance in each group.
fn signed(moments: &PublicMoments, groups: &[usize]) -> Result<Vec<i32>> {
    let k = groups.iter().max().map_or(0, |last| last + 1);
    let mut members = vec![Vec::new(); k];
    groups.iter().enumerate().for_each(|(i, g)| members[*g].push(i));
    let mut out = vec![0; groups.len()];
    for (g, members) in members.iter().enumerate() {
        let n = members.len();
        let part = Mat::from_fn(n, n, |i, j| moments.covariance[(members[i], members[j])]);
        let leading = leading(&part)?;
        let largest = leading.iter().fold(0f64, |m, x| m.max(x.abs()));
        // The first of the large entries is positive: equal ones, which rounding orders, have no say.
        let pivot = leading.iter().copied().find(|x| x.abs() >= 0.5 * largest).unwrap_or(1.0);
        for (i, x) in members.iter().zip(leading) {
            let sign = if x * pivot >= 0.0 { 1 } else { -1 };
            out[*i] = sign * (g as i32 + 1);
        }
    }
    Ok(out)
}

/// Steps of Lanczos' method, and the residual, as a share of the eigenvalue, up to which it is believed.
const STEPS: usize = 48;
const RESIDUAL: f64 = 1e-9;

/// The leading eigenvector, by Lanczos' method with every direction made orthogonal to all before; from the whole
/// decomposition where the matrix is small or its first eigenvalues are too close for that.
fn leading(matrix: &Mat<f64>) -> Result<Vec<f64>> {
    let n = matrix.nrows();
    if n > 2 * STEPS
        && let Some(vector) = lanczos(matrix)
    {
        return Ok(vector);
    }
    let eigen = matrix.self_adjoint_eigen(Side::Lower).map_err(|_| not_positive())?;
    Ok((0..n).map(|i| eigen.U()[(i, n - 1)]).collect())
}

fn lanczos(matrix: &Mat<f64>) -> Option<Vec<f64>> {
    let n = matrix.nrows();
    let mut basis = Mat::<f64>::zeros(n, STEPS);
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    // The attribute of the largest variance moves with the leading direction.
    let first = (0..n).max_by(|&i, &j| matrix[(i, i)].total_cmp(&matrix[(j, j)]))?;
    let mut next = matrix.col(first).to_owned();
    for step in 0..STEPS {
        let norm = next.norm_l2();
        if norm == 0.0 {
            break;
        }
        (0..n).for_each(|i| basis[(i, step)] = next[i] / norm);
        if step > 0 {
            beside.push(norm);
        }
        let image = matrix * basis.col(step);
        diagonal.push(basis.col(step).transpose() * &image);
        next = image;
        for _ in 0..2 {
            let known = basis.get(.., ..step + 1);
            next -= known * (known.transpose() * &next);
        }
    }
    let m = diagonal.len();
    let last = m.checked_sub(1)?;
    let small = Mat::from_fn(m, m, |i, j| match i.abs_diff(j) {
        0 => diagonal[i],
        1 => beside[i.min(j)],
        _ => 0.0,
    });
    let eigen = small.self_adjoint_eigen(Side::Lower).ok()?;
    let value = eigen.S().column_vector()[last];
    let vector = basis.get(.., ..m) * eigen.U().col(last);
    let off = (matrix * &vector - &vector * faer::Scale(value)).norm_l2();
    (off <= RESIDUAL * value).then(|| (0..n).map(|i| vector[i]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the whole decomposition, to a sign; equal leading eigenvalues are left to it.
    #[test]
    fn leading_directions_are_those_of_the_decomposition() {
        let n = 150;
        let wave = |k: usize, i: usize| ((i * (2 * k + 3) + k) as f64 * 0.37).sin();
        let of = |weights: [f64; 4]| {
            Mat::from_fn(n, n, |i, j| {
                let parts = (0..4).map(|k| weights[k] * wave(k, i) * wave(k, j));
                parts.sum::<f64>() + if i == j { 0.1 } else { 0.0 }
            })
        };
        let matrix = of([4.0, 2.0, 1.0, 0.5]);
        let found = lanczos(&matrix).expect("eigenvalues apart");
        let eigen = matrix.self_adjoint_eigen(Side::Lower).unwrap();
        let along: f64 = (0..n).map(|i| found[i] * eigen.U()[(i, n - 1)]).sum();
        assert!((along.abs() - 1.0).abs() < 1e-12, "{along}");
        let square: f64 = found.iter().map(|x| x * x).sum();
        assert!((square - 1.0).abs() < 1e-12);
        // A spread of eigenvalues that 48 steps do not resolve.
        let spread = Mat::from_fn(n, n, |i, j| if i == j { 1.0 + i as f64 * 1e-7 } else { 0.0 });
        let found = leading(&spread).unwrap();
        assert!((found[n - 1].abs() - 1.0).abs() < 1e-9, "{}", found[n - 1]);
        assert!(leading(&Mat::zeros(n, n)).is_ok());
    }

    fn moments(d: usize, covariance: impl Fn(usize, usize) -> f64) -> PublicMoments {
        let all: Vec<f64> = (0..d * d).map(|at| covariance(at / d, at % d)).collect();
        PublicMoments::new(vec![0.0; d], &all).unwrap()
    }

    /// The noise of public rows is taken off their covariance, and nothing where there is none.
    #[test]
    fn noise_is_taken_off_a_covariance() {
        let mut state = 7u64;
        let mut uniform = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        // Two values that are one, and noise of variance 1/12 in each.
        let rows: Vec<f64> = (0..20_000)
            .flat_map(|_| {
                let both = 4.0 * uniform();
                [both + uniform(), both + uniform()]
            })
            .collect();
        let view = RowsView::f64(20_000, 2, &rows).expect("finite");
        let raw = PublicMoments::of_noisy(view, 0.0).expect("rows");
        let less = PublicMoments::of_noisy(view, 1.0 / 12.0).expect("rows");
        let (raw, less) = (raw.covariance, less.covariance);
        // Both were lifted, by a 64th of the mean variance.
        let off = raw[(0, 0)] - less[(0, 0)] - (1.0 + FLOOR) / 12.0;
        assert!(off.abs() < 2e-4, "{off}");
        assert!((less[(0, 0)] - 16.0 / 12.0).abs() < 0.06, "{less:?}");
        assert!(
            PublicMoments::of_sample(RowsView::f64(1, 2, &[1.0, 2.0]).expect("finite")).is_err()
        );
        assert!(
            PublicMoments::of_sample(RowsView::f64(2, 1, &[1.0, 2.0]).expect("finite")).is_ok()
        );
    }

    /// A weak attribute against a strong one has its own sign.
    #[test]
    fn small_entries_have_their_own_sign() {
        let loads = [0.5, -0.2, 0.9, -0.1];
        let m = moments(4, |i, j| loads[i] * loads[j] + if i == j { 0.01 } else { 0.0 });
        assert_eq!(signed(&m, &[0; 4]).unwrap(), [1, -1, 1, -1]);
    }

    /// Four blocks of three, one attribute of each against the others: found whole, with their signs, when the noise
    /// is large; single attributes when it is small.
    #[test]
    fn blocks_are_found_with_their_signs() {
        let sign = |i: usize| if i % 3 == 2 { -1.0 } else { 1.0 };
        let m = moments(12, |i, j| match (i == j, i / 3 == j / 3) {
            (true, _) => 1.0,
            (_, true) => 0.9 * sign(i) * sign(j),
            _ => 0.05 * sign(i) * sign(j),
        });
        let groups = Groups::of(&m, 4.0).unwrap();
        assert_eq!(groups.signed(), [1, 1, -1, 2, 2, -2, 3, 3, -3, 4, 4, -4]);
        assert_eq!(Groups::of(&m, 1e-6).unwrap().k(), 12);
        assert_eq!(Groups::of(&moments(1, |_, _| 2.0), 1.0).unwrap().signed(), [1]);
    }

    /// Merges written down by hand.
    #[test]
    fn cuts_undo_the_last_merges() {
        // 0 and 1, then 3 and 4, then 2 to those, then all.
        let merges = [[0, 1], [3, 4], [2, 6], [5, 7]];
        assert_eq!(cut(&merges, 5, 5), [0, 1, 2, 3, 4]);
        assert_eq!(cut(&merges, 5, 3), [0, 0, 1, 2, 2]);
        assert_eq!(cut(&merges, 5, 2), [0, 0, 1, 1, 1]);
        assert_eq!(cut(&merges, 5, 1), [0; 5]);
    }

    #[test]
    fn moments_of_a_sample_are_its_moments() {
        let x = [1.0, 0.0, 3.0, 1.0, 2.0, 5.0];
        let m = PublicMoments::of_sample(RowsView::f64(3, 2, &x).unwrap()).unwrap();
        assert_eq!(m.mean(), [2.0, 2.0]);
        // Variances 1 and 7, covariance 1/2; the floor is 4/64.
        let found = [m.covariance[(0, 0)], m.covariance[(1, 1)], m.covariance[(0, 1)]];
        assert!(found.iter().zip([1.0625, 7.0625, 0.5]).all(|(a, b)| (a - b).abs() < 1e-12));
        for bad in
            [[1.0, 0.5, 0.4, 1.0], [0.0; 4], [-1.0, 0.0, 0.0, 1.0], [f64::NAN, 0.0, 0.0, 1.0]]
        {
            assert!(PublicMoments::new(vec![0.0; 2], &bad).is_err(), "{bad:?}");
        }
        assert!(PublicMoments::of_sample(RowsView::f64(1, 2, &x[..2]).unwrap()).is_err());
        assert!(Groups::of(&m, 0.0).is_err() && Groups::of(&m, f64::INFINITY).is_err());
    }
}
