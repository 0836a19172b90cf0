//! Worst adjacent pairs, by search.

use dp_core::PublicGenerator;
use rand_core::Rng;

/// A uniform number in `[0, 1)`.
pub(crate) fn uniform(rng: &mut PublicGenerator) -> f64 {
    (rng.next_u64() >> 11) as f64 * 2f64.powi(-53)
}

/// A uniform index below `n`.
pub(crate) fn below(rng: &mut PublicGenerator, n: usize) -> usize {
    ((u128::from(rng.next_u64()) * n as u128) >> 64) as usize
}

/// The candidate of the largest value, improved by `steps` random changes that are kept
/// when they do not make it smaller; the value comes with it.
///
/// # Panics
/// Without candidates.
pub(crate) fn worst<T: Clone>(
    candidates: impl IntoIterator<Item = T>,
    steps: usize,
    rng: &mut PublicGenerator,
    change: impl Fn(&T, &mut PublicGenerator) -> T,
    value: impl Fn(&T) -> f64,
) -> (T, f64) {
    let mut best: Option<(T, f64)> = None;
    for candidate in candidates {
        let v = value(&candidate);
        if best.as_ref().is_none_or(|(_, top)| v > *top) {
            best = Some((candidate, v));
        }
    }
    let mut best = best.expect("at least one candidate");
    for _ in 0..steps {
        let next = change(&best.0, rng);
        let v = value(&next);
        if v >= best.1 {
            best = (next, v);
        }
    }
    best
}

/// Two rows that differ in one coordinate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RowPair {
    /// The first row.
    pub(crate) left: Vec<f64>,
    /// The second row.
    pub(crate) right: Vec<f64>,
}

impl RowPair {
    /// Both rows' entries lie in `[-bound, bound]` and one moved by at most `beta`.
    fn attribute(base: &[f64], coordinate: usize, beta: f64, bound: f64, up: bool) -> Self {
        let left = base.to_vec();
        let mut right = left.clone();
        let target = if up { left[coordinate] + beta } else { left[coordinate] - beta };
        right[coordinate] = target.clamp(-bound, bound);
        Self { left, right }
    }
}

/// The pair of rows, one attribute apart, of the largest `value`: every coordinate of some
/// base rows in both directions, then hill climbing on coordinate, direction and base.
pub(crate) fn worst_attribute(
    d: usize,
    (beta, bound): (f64, f64),
    rng: &mut PublicGenerator,
    value: impl Fn(&RowPair) -> f64,
) -> (RowPair, f64) {
    let mut bases = vec![vec![0.0; d], vec![-bound; d], vec![0.5 * bound; d]];
    bases.extend((0..4).map(|_| (0..d).map(|_| bound * (2.0 * uniform(rng) - 1.0)).collect()));
    let mut candidates = Vec::new();
    // Half a step on either side of zero: every sign that the coordinate reaches turns over.
    for i in 0..d {
        let mut base = vec![0.0; d];
        base[i] = -0.5 * beta;
        candidates.push((base, i, true));
    }
    for base in &bases {
        for i in 0..d {
            for up in [false, true] {
                candidates.push((base.clone(), i, up));
            }
        }
    }
    let build =
        |(base, i, up): &(Vec<f64>, usize, bool)| RowPair::attribute(base, *i, beta, bound, *up);
    let change = |(base, i, up): &(Vec<f64>, usize, bool), rng: &mut PublicGenerator| {
        let (mut base, mut i, mut up) = (base.clone(), *i, *up);
        match below(rng, 4) {
            0 => i = below(rng, d),
            1 => up = !up,
            _ => base[below(rng, d)] = bound * (2.0 * uniform(rng) - 1.0),
        }
        (base, i, up)
    };
    let (best, found) = worst(candidates, 400, rng, change, |c| value(&build(c)));
    (build(&best), found)
}

/// The vector of this norm with the largest `value`: unit vectors, then hill climbing by
/// shrinking random steps.
pub(crate) fn worst_direction(
    d: usize,
    norm: f64,
    rng: &mut PublicGenerator,
    value: impl Fn(&[f64]) -> f64,
) -> (Vec<f64>, f64) {
    let units = (0..d).map(|i| (0..d).map(|j| if i == j { norm } else { 0.0 }).collect());
    let scale = |mut v: Vec<f64>| {
        let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        v.iter_mut().for_each(|x| *x *= norm / length.max(1e-300));
        v
    };
    let step = core::cell::Cell::new(norm);
    let change = |v: &Vec<f64>, rng: &mut PublicGenerator| {
        step.set((step.get() * 0.99).max(1e-4 * norm));
        scale(v.iter().map(|x| x + step.get() * (uniform(rng) - 0.5)).collect())
    };
    let candidates: Vec<Vec<f64>> = units.collect();
    worst(candidates, 1200, rng, change, |v| value(v))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_core::PublicSeed;

    fn rng() -> PublicGenerator {
        PublicSeed::new(5).generator(0)
    }

    #[test]
    fn the_worst_attribute_of_a_linear_map_is_its_largest_row() {
        let rows = [[0.3, -0.4], [0.1, 0.9], [0.6, 0.6]];
        let image = |x: &[f64], j: usize| (0..3).map(|i| x[i] * rows[i][j]).sum::<f64>();
        let value = |p: &RowPair| {
            (0..2).map(|j| (image(&p.left, j) - image(&p.right, j)).powi(2)).sum::<f64>().sqrt()
        };
        let (pair, found) = worst_attribute(3, (0.5, 1.0), &mut rng(), value);
        assert!((found - 0.5 * 0.82f64.sqrt()).abs() < 1e-12, "{found}");
        let changed: Vec<usize> = (0..3).filter(|&i| pair.left[i] != pair.right[i]).collect();
        assert_eq!(changed, [1]);
        assert!(pair.left.iter().chain(&pair.right).all(|x| x.abs() <= 1.0));
    }

    #[test]
    fn the_worst_direction_of_a_matrix_is_its_top_singular_vector() {
        // [[3, 0], [4, 5]] has singular values sqrt 45 and sqrt 5.
        let value = |v: &[f64]| (3.0 * v[0]).hypot(4.0 * v[0] + 5.0 * v[1]);
        let (v, found) = worst_direction(2, 2.0, &mut rng(), value);
        assert!((found - 2.0 * 45f64.sqrt()).abs() < 1e-3, "{found}");
        assert!((v[0].hypot(v[1]) - 2.0).abs() < 1e-12);
    }
}
