//! Projections with many nonzeros: panels of P are generated and multiplied block by block.

use crate::rows::{CsrView, RowsView, Storage};
use core::ops::Range;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;
use std::sync::OnceLock;

/// Rows of X that share the panels of P generated for them.
const ROWS_PER_PASS: usize = 4096;
/// Rows of X that one task multiplies.
const ROWS_PER_TASK: usize = 256;
/// Bytes of P held at once.
const PANEL_BYTES: usize = 8 << 20;

/// Generates rows of a d x k matrix, unscaled: the projection is `scale` times this.
pub(crate) trait RowSource: Sync {
    fn d(&self) -> usize;
    fn k(&self) -> usize;
    /// Writes row `coordinate`.
    fn fill(&self, coordinate: usize, out: &mut [f64]);
}

/// All of P, kept only when it fits one panel.
pub(crate) type Cache = OnceLock<Vec<f64>>;

fn panel_rows(d: usize, k: usize) -> usize {
    (PANEL_BYTES / (8 * k)).clamp(1, d)
}

/// Whether all of P is kept after its first use.
pub(crate) fn fits_one_panel(d: usize, k: usize) -> bool {
    panel_rows(d, k) == d
}

fn generate(source: &dyn RowSource, range: Range<usize>, panel: &mut Vec<f64>) {
    let k = source.k();
    panel.resize(range.len() * k, 0.0);
    panel.par_chunks_mut(k).zip(range).with_min_len(16).for_each(|(row, i)| source.fill(i, row));
}

/// Calls `f(first row, panel)` for the panels of P in order.
pub(crate) fn for_each_panel(
    source: &dyn RowSource,
    cache: &Cache,
    mut f: impl FnMut(usize, &[f64]),
) {
    let (d, k) = (source.d(), source.k());
    let step = panel_rows(d, k);
    if step == d {
        // Generated outside the lock: a task that waits inside it might be given another
        // task that wants the same lock. Two tasks may both do the work; they agree.
        if cache.get().is_none() {
            let mut panel = Vec::new();
            generate(source, 0..d, &mut panel);
            let _ = cache.set(panel);
        }
        let all = cache.get().expect("set above, by this task or another");
        return f(0, all);
    }
    let mut panel = Vec::new();
    for from in (0..d).step_by(step) {
        generate(source, from..(from + step).min(d), &mut panel);
        f(from, &panel);
    }
}

/// out = scale X P.
pub(crate) fn apply(
    source: &dyn RowSource,
    cache: &Cache,
    scale: f64,
    rows: RowsView<'_>,
    out: &mut [f64],
) {
    let k = source.k();
    for (pass, block) in out.chunks_mut(ROWS_PER_PASS * k).enumerate() {
        let first = pass * ROWS_PER_PASS;
        let rows = rows.slice(first..first + block.len() / k);
        match rows.storage() {
            Storage::Csr(csr) => apply_csr(source, cache, csr, block),
            _ => for_each_panel(source, cache, |from, panel| {
                multiply(rows, from, panel, k, block);
            }),
        }
        if scale != 1.0 {
            block
                .par_chunks_mut(ROWS_PER_TASK * k)
                .for_each(|b| b.iter_mut().for_each(|v| *v *= scale));
        }
    }
}

/// block (+)= X[:, from..] panel; the first panel overwrites.
fn multiply(rows: RowsView<'_>, from: usize, panel: &[f64], k: usize, block: &mut [f64]) {
    let depth = panel.len() / k;
    let p = MatRef::from_row_major_slice(panel, depth, k);
    let accum = if from == 0 { Accum::Replace } else { Accum::Add };
    block.par_chunks_mut(ROWS_PER_TASK * k).enumerate().for_each_init(
        Vec::new,
        |copy, (task, out)| {
            let m = out.len() / k;
            let first = task * ROWS_PER_TASK;
            let x = match rows.storage() {
                Storage::F64(values) => {
                    let d = rows.d();
                    let cut = &values[first * d..(first + m) * d];
                    MatRef::from_row_major_slice(cut, m, d).subcols(from, depth)
                }
                _ => {
                    copy.resize(m * depth, 0.0);
                    rows.copy_block(first, from, depth, copy);
                    MatRef::from_row_major_slice(&copy[..], m, depth)
                }
            };
            let y = MatMut::from_row_major_slice_mut(out, m, k);
            matmul(y, accum, x, p, 1.0, Par::Seq);
        },
    );
}

/// As [`multiply`] over all panels for sparse rows: generated row by row when the block
/// has fewer entries than P has rows, else panel by panel. Either way each output adds
/// its terms with columns increasing, so both give the same bits.
fn apply_csr(source: &dyn RowSource, cache: &Cache, csr: CsrView<'_>, block: &mut [f64]) {
    let (d, k) = (source.d(), source.k());
    let n = block.len() / k;
    block.fill(0.0);
    let entries = csr.offsets[n] - csr.offsets[0];
    if entries < d && panel_rows(d, k) < d {
        block.par_chunks_mut(k).enumerate().for_each_init(
            || vec![0.0; k],
            |p, (i, out)| {
                let (columns, values) = csr.row(i);
                for (&c, &x) in columns.iter().zip(values) {
                    source.fill(c as usize, p);
                    axpy(x, p, out);
                }
            },
        );
        return;
    }
    let mut cursors: Vec<usize> = csr.offsets[..n].to_vec();
    for_each_panel(source, cache, |from, panel| {
        let end = from + panel.len() / k;
        block.par_chunks_mut(k).zip(&mut cursors).enumerate().for_each(|(i, (out, cursor))| {
            while *cursor < csr.offsets[i + 1] && (csr.columns[*cursor] as usize) < end {
                let at = (csr.columns[*cursor] as usize - from) * k;
                axpy(csr.values[*cursor], &panel[at..at + k], out);
                *cursor += 1;
            }
        });
    });
}

fn axpy(x: f64, p: &[f64], out: &mut [f64]) {
    pulp::Arch::new().dispatch(|| {
        for (o, &p) in out.iter_mut().zip(p) {
            *o += x * p;
        }
    });
}
