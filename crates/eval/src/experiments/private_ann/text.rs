//! Text as rows of numbers: latent semantic analysis, learned from texts that are public.

use crate::data::{Package, Points, SparseRows, packages, shuffle};
use crate::error::Result;
use dp_core::PublicSeed;
use faer::{Mat, MatRef, Side};
use sketch::projection::{Family, ProjectionSpec, project};
use std::collections::{BTreeMap, BTreeSet};

/// Texts of fewer words are left out.
const LEAST: usize = 12;
/// Words in fewer public texts are left out.
const SEEN: usize = 5;

/// The words of a synopsis, the tags and the dependencies of a package.
fn words(package: &Package) -> Vec<String> {
    let synopsis = package.synopsis.to_lowercase();
    let plain = synopsis.split(|c: char| !c.is_ascii_lowercase()).filter(|w| w.len() >= 3);
    let tags = package.tags.iter().map(|t| format!("tag {t}"));
    let depends = package.depends.iter().map(|d| format!("on {d}"));
    plain.map(str::to_owned).chain(tags).chain(depends).collect()
}

/// Texts as `rank` numbers of norm one: of the `wanted` that follow the first `learned` in a random order, whose
/// words, weights and directions these are. No text is on both sides.
pub(super) fn embedded(
    learned: usize,
    wanted: usize,
    rank: usize,
    seed: PublicSeed,
) -> Result<Points> {
    let mut texts: Vec<Vec<String>> =
        packages().iter().map(words).filter(|w| w.len() >= LEAST).collect();
    shuffle(&mut texts, &mut seed.generator(0));
    texts.truncate(learned + wanted);
    let (public, rest) = texts.split_at(learned);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for text in public {
        let once: BTreeSet<&str> = text.iter().map(String::as_str).collect();
        once.into_iter().for_each(|word| *counts.entry(word).or_default() += 1);
    }
    counts.retain(|_, n| *n >= SEEN);
    let known: BTreeMap<&str, (u32, f64)> = counts
        .iter()
        .enumerate()
        .map(|(i, (word, n))| (*word, (i as u32, (learned as f64 / *n as f64).ln())))
        .collect();
    let public = weighted(public, &known);
    let directions = leading(&public, rank, seed)?;
    let mut values = Vec::new();
    for row in times(&weighted(rest, &known), &directions).chunks_exact(rank) {
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        // A text without a known word has no direction.
        if norm > 0.0 {
            values.extend(row.iter().map(|x| x / norm));
        }
    }
    Points::new("package texts, latent semantic analysis", rank, values, None)
}

/// One entry a word: the logarithm of the share of texts without it, rows of norm one.
fn weighted(texts: &[Vec<String>], known: &BTreeMap<&str, (u32, f64)>) -> SparseRows {
    let mut rows = SparseRows { d: known.len(), offsets: vec![0], ..SparseRows::default() };
    for text in texts {
        let entries: BTreeMap<u32, f64> =
            text.iter().filter_map(|word| known.get(word.as_str()).copied()).collect();
        let norm = entries.values().map(|x| x * x).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
        rows.columns.extend(entries.keys());
        rows.values.extend(entries.values().map(|x| x / norm));
        rows.offsets.push(rows.columns.len());
        rows.labels.push(0);
    }
    rows
}

/// Entries of a row, by column.
fn entries(rows: &SparseRows, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
    let at = rows.offsets[i]..rows.offsets[i + 1];
    let columns = rows.columns[at.clone()].iter().map(|c| *c as usize);
    columns.zip(rows.values[at].iter().copied())
}

/// Rows times a matrix of some columns (d x l, row after row).
fn times(rows: &SparseRows, matrix: &[f64]) -> Vec<f64> {
    let l = matrix.len() / rows.d;
    let mut out = vec![0.0; rows.n() * l];
    for (i, out) in out.chunks_exact_mut(l).enumerate() {
        for (c, x) in entries(rows, i) {
            out.iter_mut().zip(&matrix[c * l..]).for_each(|(o, m)| *o += x * m);
        }
    }
    out
}

/// An orthonormal basis (d x rank, row after row) of about the leading right singular directions: three steps of subspace
/// iteration from a random start.
fn leading(rows: &SparseRows, rank: usize, seed: PublicSeed) -> Result<Vec<f64>> {
    let (n, d, l) = (rows.n(), rows.d, rank + 8);
    let start = ProjectionSpec::new(Family::Gaussian, d, l, seed)?.build();
    let mut left = project(start.as_ref(), rows.view()?)?;
    let mut right = vec![0.0; d * l];
    for _ in 0..3 {
        let basis = orthonormal(&left, n, l);
        right.fill(0.0);
        for i in 0..n {
            for (c, x) in entries(rows, i) {
                let (out, from) = (&mut right[c * l..(c + 1) * l], &basis[i * l..]);
                out.iter_mut().zip(from).for_each(|(o, b)| *o += x * b);
            }
        }
        right = orthonormal(&right, d, l);
        left = times(rows, &right);
    }
    // Within the basis, the directions of most variation.
    let left = MatRef::from_row_major_slice(&left, n, l);
    let gram: Mat<f64> = left.transpose() * left;
    let eigen = gram.self_adjoint_eigen(Side::Lower).map_err(|_| no_directions())?;
    let right = MatRef::from_row_major_slice(&right, d, l);
    let turned: Mat<f64> = right * eigen.U();
    Ok((0..d * rank).map(|at| turned[(at / rank, l - 1 - at % rank)]).collect())
}

fn orthonormal(columns: &[f64], n: usize, l: usize) -> Vec<f64> {
    let q = MatRef::from_row_major_slice(columns, n, l).to_owned().qr().compute_thin_Q();
    (0..n * l).map(|at| q[(at / l, at % l)]).collect()
}

fn no_directions() -> crate::Error {
    crate::Error::malformed("texts", "no directions".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_directions_are_those_of_the_matrix() {
        // Two words that always come together, one that is alone.
        let text = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let texts: Vec<Vec<String>> =
            (0..40).map(|i| if i % 4 == 0 { text(&["c"]) } else { text(&["a", "b"]) }).collect();
        let known: BTreeMap<&str, (u32, f64)> =
            [("a", (0, 1.0)), ("b", (1, 1.0)), ("c", (2, 1.0))].into();
        let rows = weighted(&texts, &known);
        assert_eq!((rows.n(), rows.d, entries(&rows, 1).count()), (40, 3, 2));
        let mut padded = rows.clone();
        padded.d = 12;
        let found = leading(&padded, 2, PublicSeed::new(3)).unwrap();
        let first: Vec<f64> = (0..3).map(|i| found[2 * i].abs()).collect();
        let root = 0.5f64.sqrt();
        for (a, b) in first.iter().zip([root, root, 0.0]) {
            assert!((a - b).abs() < 1e-9, "{found:?}");
        }
        assert!((found[5].abs() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn texts_are_directions() {
        let points = embedded(1500, 300, 24, PublicSeed::new(1)).unwrap();
        assert!(points.n() > 290 && points.d() == 24);
        assert!(
            (0..points.n())
                .all(|i| { (points.row(i).iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-9 })
        );
    }
}
