//! The matrices: synthetic, Netflix-like, package tags, MovieLens.

use crate::data;
use crate::error::{Error, Result};
use crate::framework::Context;
use dp_core::PublicSeed;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec};
use sketch::rows::CsrView;
use std::borrow::Cow;
use std::collections::HashMap;

/// Where the matrices of the repetitions come from.
pub(super) enum Source<'a> {
    /// Data, the same for all.
    Given(&'a Matrix),
    /// Synthetic ones, a fresh one for each.
    Drawn(&'a dyn Fn(u64) -> Result<Matrix>),
}

impl Source<'_> {
    /// That of a repetition.
    pub(super) fn matrix(&self, repetition: u64) -> Result<Cow<'_, Matrix>> {
        Ok(match self {
            Self::Given(matrix) => Cow::Borrowed(matrix),
            Self::Drawn(draw) => Cow::Owned(draw(repetition)?),
        })
    }
}

/// An m x n matrix, dense or sparse.
#[derive(Clone)]
pub(super) struct Matrix {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) name: String,
    storage: Stored,
}

#[derive(Clone)]
enum Stored {
    Dense(Vec<f64>),
    Sparse { offsets: Vec<usize>, columns: Vec<u32>, values: Vec<f64> },
}

impl Matrix {
    pub(super) fn view(&self) -> Result<RowsView<'_>> {
        Ok(match &self.storage {
            Stored::Dense(values) => RowsView::f64(self.m, self.n, values)?,
            Stored::Sparse { offsets, columns, values } => {
                RowsView::csr(self.m, self.n, CsrView { offsets, columns, values })?
            }
        })
    }

    fn sparse(name: String, m: usize, n: usize, mut entries: Vec<(u32, u32, f64)>) -> Self {
        entries.sort_unstable_by_key(|e| (e.0, e.1));
        entries.dedup_by_key(|e| (e.0, e.1));
        let mut offsets = vec![0; m + 1];
        for (row, _, _) in &entries {
            offsets[*row as usize + 1] += 1;
        }
        for i in 0..m {
            offsets[i + 1] += offsets[i];
        }
        let columns = entries.iter().map(|e| e.1).collect();
        let values = entries.iter().map(|e| e.2).collect();
        Self { m, n, name, storage: Stored::Sparse { offsets, columns, values } }
    }

    /// Share of nonzero entries and largest share of the nonzeros in one row.
    pub(super) fn density(&self) -> Result<(f64, f64)> {
        let view = self.view()?;
        let counts: Vec<usize> = (0..self.m)
            .map(|i| {
                let mut count = 0;
                view.for_each_entry(i, |_, x| count += usize::from(x != 0.0));
                count
            })
            .collect();
        let total = counts.iter().sum::<usize>() as f64;
        let largest = counts.iter().copied().max().unwrap_or(0) as f64;
        Ok((total / (self.m * self.n) as f64, largest / total))
    }
}

/// Standard normal numbers from a public seed.
fn normals(seed: u64, count: usize) -> Result<Vec<f64>> {
    let columns = 64;
    let rows = count.div_ceil(columns);
    let law =
        ProjectionSpec::new(Family::Gaussian, rows.max(columns), columns, PublicSeed::new(seed))?
            .build();
    let mut out = vec![0.0; rows * columns];
    for (i, row) in out.chunks_mut(columns).enumerate() {
        law.row(i, row);
        row.iter_mut().for_each(|x| *x *= (columns as f64).sqrt());
    }
    out.truncate(count);
    Ok(out)
}

/// Rank r with entries of root mean square `strength`, plus white noise of deviation `white`; a
/// share `concentration` of the squared signal sits in the first r rows.
pub(super) fn synthetic(
    seed: u64,
    (m, n, r): (usize, usize, usize),
    (strength, white, concentration): (f64, f64, f64),
) -> Result<Matrix> {
    let mut u = normals(seed, m * r)?;
    let v = normals(seed ^ 1, n * r)?;
    let mut a = if white > 0.0 { normals(seed ^ 2, m * n)? } else { vec![0.0; m * n] };
    a.iter_mut().for_each(|x| *x *= white);
    let spread = strength / (r as f64).sqrt();
    let heavy = (concentration * m as f64 / r as f64).sqrt();
    let light = ((1.0 - concentration) * m as f64 / (m - r) as f64).sqrt();
    for (i, row) in u.chunks_mut(r).enumerate() {
        let scale = spread * if i < r { heavy } else { light };
        row.iter_mut().for_each(|x| *x *= scale);
    }
    let left = MatRef::from_row_major_slice(&u, m, r);
    let right = MatRef::from_row_major_slice(&v, n, r);
    let sum = MatMut::from_row_major_slice_mut(&mut a, m, n);
    matmul(sum, Accum::Add, left, right.transpose(), 1.0, Par::Seq);
    let name = format!("synthetic {m} x {n}, rank {r} of entries {strength}, noise {white}");
    Ok(Matrix { m, n, name, storage: Stored::Dense(a) })
}

/// A small Netflix: m movies by n users; each user rates movies drawn by a Zipf law flattened so that
/// the most rated one has about half of the users, as in appendix C; the density is the published 1.1 per
/// cent; ratings 1 to 5 follow a movie mean and three tastes.
pub(super) fn netflix_like(seed: u64, m: usize, n: usize) -> Result<Matrix> {
    let ratings = (0.0118 * (m * n) as f64) as usize;
    // Popularity of rank i: 1 / (i + shift), the shift such that the top movie gets 0.0022 17770/m of them.
    let top = (0.0022 * 17_770.0 / m as f64).min(0.47 * n as f64 / ratings as f64);
    let share = |shift: f64| 1.0 / shift / (0..m).map(|i| 1.0 / (i as f64 + shift)).sum::<f64>();
    let (mut low, mut high) = (0.01, 10.0 * m as f64);
    for _ in 0..100 {
        let mid = 0.5 * (low + high);
        if share(mid) > top { low = mid } else { high = mid }
    }
    let total: f64 = (0..m).map(|i| 1.0 / (i as f64 + high)).sum();
    let (taste, liking) = (normals(seed, 3 * m)?, normals(seed ^ 1, 3 * n)?);
    let mood = normals(seed ^ 2, m)?;
    let uniform = normals(seed ^ 3, 2 * ratings + 2 * m)?;
    let mut entries = Vec::with_capacity(ratings);
    let mut at = 0;
    for i in 0..m {
        let count = (ratings as f64 / (i as f64 + high) / total).round() as usize;
        for _ in 0..count.min(n / 2) {
            // Any fixed function of normals will do: their bits pick a user.
            let user = (uniform[at].to_bits() % n as u64) as usize;
            let noise = uniform[at + 1];
            at = (at + 2) % (2 * ratings);
            let affinity: f64 = (0..3).map(|l| taste[3 * i + l] * liking[3 * user + l]).sum();
            let rating = (3.6 + 0.4 * mood[i] + 0.5 * affinity + 0.6 * noise).round();
            entries.push((i as u32, user as u32, rating.clamp(1.0, 5.0)));
        }
    }
    Ok(Matrix::sparse(format!("Netflix-like {m} x {n}"), m, n, entries))
}

/// The 300 most common tags by the packages that have any tag.
pub(super) fn package_tags() -> Matrix {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let tagged: Vec<_> = data::packages().iter().filter(|p| !p.tags.is_empty()).collect();
    for tag in tagged.iter().flat_map(|p| &p.tags) {
        *counts.entry(tag).or_default() += 1;
    }
    let mut common: Vec<(&str, usize)> = counts.into_iter().collect();
    common.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    common.truncate(300);
    let rows: HashMap<&str, u32> =
        common.iter().enumerate().map(|(i, (tag, _))| (*tag, i as u32)).collect();
    let mut entries = Vec::new();
    for (j, package) in tagged.iter().enumerate() {
        for tag in &package.tags {
            if let Some(i) = rows.get(tag.as_str()) {
                entries.push((*i, j as u32, 1.0));
            }
        }
    }
    let name = format!("package tags {} x {}", common.len(), tagged.len());
    Matrix::sparse(name, common.len(), tagged.len(), entries)
}

/// MovieLens 100k (`u.data` in the user's folder), the smaller side as rows; `None` when absent.
pub(super) fn movie_lens(context: &Context<'_>) -> Result<Option<Matrix>> {
    let Some(folder) = &context.sources.data else { return Ok(None) };
    let found = ["u.data", "ml-100k/u.data"].iter().map(|f| folder.join(f)).find(|p| p.exists());
    let Some(path) = found else { return Ok(None) };
    let text = std::fs::read_to_string(&path).map_err(|e| Error::io(&path, e))?;
    let mut entries = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let fields: Vec<u32> = line.split_whitespace().filter_map(|f| f.parse().ok()).collect();
        let [user @ 1..=u32::MAX, movie @ 1..=u32::MAX, rating @ 1..=5, ..] = fields[..] else {
            return Err(Error::malformed("u.data", format!("line {}: not a rating", i + 1)));
        };
        entries.push((user - 1, movie - 1, f64::from(rating)));
    }
    let m = entries.iter().map(|e| e.0 + 1).max().unwrap_or(0) as usize;
    let n = entries.iter().map(|e| e.1 + 1).max().unwrap_or(0) as usize;
    Ok(Some(Matrix::sparse(format!("MovieLens {m} x {n}"), m, n, entries)))
}
