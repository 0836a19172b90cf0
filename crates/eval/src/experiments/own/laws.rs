//! Rows of known laws for the comparisons of moments.

use crate::error::Result;
use dp_core::{PublicGenerator, PublicSeed};
use faer::{Mat, MatRef};
use linalg_dp::dense;
use rand_core::Rng;

/// Normal numbers of a public seed.
pub(super) struct Normals {
    generator: PublicGenerator,
}

impl Normals {
    pub(super) fn new(seed: u64) -> Self {
        Self { generator: PublicSeed::new(seed).generator(0) }
    }

    pub(super) fn next(&mut self) -> f64 {
        let mut uniform = || (self.generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let radius = (-2.0 * (1.0 - uniform()).ln()).sqrt();
        radius * (core::f64::consts::TAU * uniform()).cos()
    }
}

fn scale_to(row: &mut [f64], bound: f64) {
    let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
    row.iter_mut().for_each(|x| *x /= norm.max(bound));
}

/// Gaussian rows, n x d, with eigenvalues 1/i in a random basis, divided by the .9 quantile of their norms and clipped to
/// norm 1.
pub(super) fn power_law(n: usize, d: usize, seed: u64) -> Result<Vec<f64>> {
    let mut normals = Normals::new(seed);
    let raw = Mat::from_fn(d, d, |_, _| normals.next());
    let basis = dense::orthonormal_basis(raw.as_ref())?;
    let scaled = Mat::from_fn(n, d, |_, j| normals.next() / ((j + 1) as f64).sqrt());
    let turned = dense::product(scaled.as_ref(), basis.transpose());
    let mut rows: Vec<f64> =
        (0..n).flat_map(|i| (0..d).map(move |j| (i, j))).map(|at| turned[at]).collect();
    let norm = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut norms: Vec<f64> = rows.chunks(d).map(norm).collect();
    norms.sort_by(f64::total_cmp);
    rows.chunks_mut(d).for_each(|row| scale_to(row, norms[n * 9 / 10]));
    Ok(rows)
}

/// Rows `[x | y]`: x Gaussian of mean square norm one, eigenvalues i^-power, clipped to norm 1; y of signal variance .06
/// and noise of deviation .2, clipped to [-1, 1].
pub(super) fn with_target(n: usize, d: usize, power: f64, seed: u64) -> Vec<f64> {
    let mut normals = Normals::new(seed);
    let law: Vec<f64> = (1..=d).map(|i| (i as f64).powf(-power)).collect();
    let total: f64 = law.iter().sum();
    let theta: Vec<f64> = (0..d).map(|_| normals.next()).collect();
    let signal: f64 = law.iter().zip(&theta).map(|(l, t)| l / total * t * t).sum();
    let factor = (0.06 / signal).sqrt();
    let mut rows = Vec::with_capacity(n * (d + 1));
    for _ in 0..n {
        let mut x: Vec<f64> = law.iter().map(|l| (l / total).sqrt() * normals.next()).collect();
        scale_to(&mut x, 1.0);
        let y: f64 = x.iter().zip(&theta).map(|(x, t)| x * t * factor).sum();
        rows.extend(&x);
        rows.push((y + 0.2 * normals.next()).clamp(-1.0, 1.0));
    }
    rows
}

/// `A^T A` of rows.
pub(super) fn gram(rows: &[f64], columns: usize) -> Mat<f64> {
    let a = MatRef::from_row_major_slice(rows, rows.len() / columns, columns);
    dense::product(a.transpose(), a)
}
