//! The factor's bounds are those of `docs/proofs/exact-rounding.md`.

use super::super::tests::{gram, source};
use super::super::watched::stated;
use super::*;

fn factor(dim: usize, of: usize, exponent: i32, lift: f64) -> Factor {
    Factor::new(Target { dim, totals: &gram(dim, of, 0), exponent, lift }).unwrap()
}

#[test]
fn no_row_of_the_rest_is_wider_than_its_spread() {
    for (dim, of, lift) in [(9, 6, 1e-6), (9, 6, 3e-7), (6, 3, 1e-3), (13, 5, 3e-6)] {
        let factor = factor(dim, of, -40, lift);
        let sums = factor.rest.rounded.chunks(dim).map(|row| row.iter().map(|x| x.abs()).sum());
        let sums: Vec<f64> = sums.collect();
        let most = sums.iter().fold(0.0, |a: f64, b| a.max(*b));
        assert!(most > 0.0 && factor.spread() >= 1.0005 * most && factor.spread() <= 1.002 * most);
    }
    // Three rows of ones; and what is no number shows in the spread, wherever it stands: 0/0 beside 1/0.
    let spread = |denominator, zero: Option<usize>| {
        let number = |e| IBig::from(i32::from(zero != Some(e)));
        let scale = Scale { corner: 0, by: [0; 3], exponent: 0, denominator };
        scale.rest(3, Integers::Wide((0..6).map(number).collect())).spread
    };
    assert!((spread(1, None) / 3.003 - 1.0).abs() < 1e-12 && spread(0, None) == f64::INFINITY);
    assert!((0..6).all(|zero| spread(0, Some(zero)).is_nan()));
}

/// `(T, w)` and `(4^k T, 2^k w)` have the same F, since L grows by `2^k`.
#[test]
fn the_rest_does_not_depend_on_the_unit() {
    let totals = gram(6, 4, 0);
    let at = |k: i32| {
        let lift = 1e-5 * 2f64.powi(k);
        Factor::new(Target { dim: 6, totals: &totals, exponent: -40 + 2 * k, lift }).unwrap()
    };
    let unit = at(0);
    assert!(unit.spread() > 0.0);
    for k in [-30, -3, 1, 2, 20] {
        let scaled = at(k);
        assert_eq!(scaled.spread(), unit.spread(), "{k}");
        assert_eq!(scaled.rest.rounded.to_vec(), unit.rest.rounded.to_vec(), "{k}");
    }
}

#[test]
fn numbers_of_a_row_state_their_errors() {
    let normals = Normals::new();
    for (dim, of, lift) in [(9, 6, 1e-6), (9, 6, 3e-7), (9, 6, 3e-9), (13, 10, 3e-4), (4, 6, 1e3)] {
        let factor = factor(dim, of, -40, lift);
        let (phi, half) = (factor.spread(), 0.5 * lift);
        for i in 0..6 {
            let (bits, grid) = (source(97, i), -20);
            stated();
            factor.row(Path::Watched, &normals, &bits, 0, grid, &mut Vec::new());
            let said = stated();
            assert_eq!(said.len(), 2 * dim, "without F and with it");
            let z: Vec<f64> = (0..2 * dim).map(|j| normals.approximate(&bits, j as u64)).collect();
            let (g, h) = z.split_at(dim);
            let norm = g.iter().map(|x| x * x).sum::<f64>().sqrt();
            let most = h.iter().fold(0.0, |a: f64, x| a.max(x.abs())) + ETA;
            let (lower, unit) = factor.parts();
            for (j, said) in said.chunks(2).enumerate() {
                let row: Vec<f64> = (0..=j)
                    .map(|k| Ball::dyadic(lower[j * dim + k].clone(), unit, 200).to_f64())
                    .collect();
                let sum: f64 = row.iter().map(|x| x.abs()).sum();
                let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
                let without_rest = 0.5 * phi * most;
                let tail = ETA * (1.0 + phi)
                    + 0.13 * phi * phi * most
                    + (dot_error(dim) * phi + 8.0 * U) * most;
                for ([x, found], more) in said.iter().zip([without_rest, 0.0]) {
                    let x = x.abs() * 2f64.powi(grid);
                    let least = ETA * sum
                        + (dot_error(j + 1) + 2.0 * U) * length * norm
                        + half * (tail + more)
                        + 2.0 * U * x;
                    let found = found * 2f64.powi(grid);
                    assert!((found / least - 1.0).abs() < 1e-13, "{j}: {found:e}, {least:e}");
                }
            }
        }
    }
}
