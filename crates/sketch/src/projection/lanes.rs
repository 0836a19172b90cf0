//! Several dense rows side by side, so that one instruction works on all of them.

use crate::rows::{RowsView, Storage};

/// A number of a dense row.
pub(super) trait Entry: Copy + Default + Into<f64> {}
impl<T: Copy + Default + Into<f64>> Entry for T {}

/// What is done to L rows at once. Each row must come out as it would alone.
pub(super) trait LaneKernel {
    /// What the scratch space holds for rows of T.
    type Tile<T: Entry>: Copy + Default;

    /// Length of the scratch space, in groups of L.
    fn tile_len(&self) -> usize;

    /// Projects the rows (d numbers each) into the outputs (k numbers each).
    fn project<T: Entry, const L: usize>(
        &self,
        rows: [&[T]; L],
        tile: &mut [[Self::Tile<T>; L]],
        out: [&mut [f64]; L],
    );
}

/// Projects dense rows L at a time, and those left over one at a time.
fn project_all<T: Entry, K: LaneKernel, const L: usize>(
    kernel: &K,
    d: usize,
    x: &[T],
    k: usize,
    out: &mut [f64],
) {
    let arch = pulp::Arch::new();
    let mut tile = vec![K::Tile::<T>::default(); L * kernel.tile_len()];
    let mut groups = x.chunks_exact(L * d);
    let mut outs = out.chunks_exact_mut(L * k);
    for (x, out) in (&mut groups).zip(&mut outs) {
        let (mut x, mut out) = (x.chunks_exact(d), out.chunks_exact_mut(k));
        let rows: [&[T]; L] = core::array::from_fn(|_| x.next().expect("a whole group"));
        let out: [&mut [f64]; L] = core::array::from_fn(|_| out.next().expect("a whole group"));
        arch.dispatch(|| kernel.project(rows, tile.as_chunks_mut().0, out));
    }
    let rest = groups.remainder().chunks_exact(d);
    for (x, out) in rest.zip(outs.into_remainder().chunks_exact_mut(k)) {
        let tile = &mut tile[..kernel.tile_len()];
        arch.dispatch(|| kernel.project([x], tile.as_chunks_mut().0, [&mut *out]));
    }
}

/// Projects all rows of a view L at a time; bits, columns and sparse rows are made dense first.
pub(super) fn project_rows<const L: usize>(
    kernel: &impl LaneKernel,
    rows: RowsView<'_>,
    out: &mut [f64],
) {
    let d = rows.d();
    let k = out.len() / rows.n().max(1);
    match rows.storage() {
        Storage::F64(x) => project_all::<_, _, L>(kernel, d, x, k, out),
        Storage::F32(x) => project_all::<_, _, L>(kernel, d, x, k, out),
        Storage::U8(x) => project_all::<_, _, L>(kernel, d, x, k, out),
        Storage::Bits(_) | Storage::Csr(_) | Storage::Columns(_) => {
            let mut dense = vec![0.0f64; L.min(rows.n()) * d];
            for (g, out) in out.chunks_mut(L * k).enumerate() {
                let x = &mut dense[..out.len() / k * d];
                rows.copy_block(g * L, 0, d, x);
                project_all::<_, _, L>(kernel, d, x, k, out);
            }
        }
    }
}

/// The rows as d groups of L numbers, column after column, each passed through `f`.
#[inline(always)]
pub(super) fn transpose<T: Entry, U: Copy + Default, const L: usize>(
    rows: [&[T]; L],
    tile: &mut [[U; L]],
    f: impl Fn(usize, T) -> U,
) {
    let d = tile.len();
    let rows = rows.map(|row| &row[..d]);
    for (c, lanes) in tile.iter_mut().enumerate() {
        *lanes = core::array::from_fn(|r| f(c, rows[r][c]));
    }
}

/// Sums lane by lane.
#[inline(always)]
pub(super) fn add<const L: usize>(a: [f64; L], b: [f64; L]) -> [f64; L] {
    core::array::from_fn(|i| a[i] + b[i])
}

/// Differences lane by lane.
#[inline(always)]
pub(super) fn subtract<const L: usize>(a: [f64; L], b: [f64; L]) -> [f64; L] {
    core::array::from_fn(|i| a[i] - b[i])
}
