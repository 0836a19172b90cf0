//! The subsampled randomised Hadamard transform.

use super::dense::{Cache, RowSource};
use super::norms::{self, up};
use super::{Family, OutputRange, Projection, ProjectionSpec, Sampling, check_apply};
use crate::error::Result;
use crate::rows::RowsView;
use dp_core::{Bound, PublicSeed};
use rand_core::Rng;
use rayon::prelude::*;

/// Rows of X that one task projects.
const ROWS_PER_TASK: usize = 64;

/// x -> (D H x)_sampled / sqrt k: random signs D, Walsh-Hadamard H of order D = 2^m >= d
/// (zeros appended), k of its outputs.
///
/// Every entry of P is +-1/sqrt k, whichever way the outputs are sampled: the rows of P
/// have l2 norm one and l1 norm sqrt k.
///
/// # Cost
/// O(D log D) a row.
#[derive(Debug)]
pub struct Srht {
    spec: ProjectionSpec,
    order: usize,
    signs: Vec<u64>,
    chosen: Vec<u32>,
    scale: f64,
}

impl Srht {
    /// Draws the projection from its seed.
    ///
    /// # Errors
    /// As [`ProjectionSpec::new`].
    pub fn new(d: usize, k: usize, sampling: Sampling, seed: PublicSeed) -> Result<Self> {
        let spec = ProjectionSpec::new(Family::Srht { sampling }, d, k, seed)?;
        Ok(Self::from_spec(spec, sampling))
    }

    pub(crate) fn from_spec(spec: ProjectionSpec, sampling: Sampling) -> Self {
        let (d, k) = (spec.d(), spec.k());
        let order = d.next_power_of_two();
        let mut bits = spec.seed().generator(0);
        let signs = (0..d.div_ceil(64)).map(|_| bits.next_u64()).collect();
        let mut picks = spec.seed().generator(1);
        // The order is a power of two: the low bits are uniform below it.
        let mut draw = || (picks.next_u64() as usize & (order - 1)) as u32;
        let mut chosen: Vec<u32> = Vec::with_capacity(k);
        match sampling {
            Sampling::WithReplacement => chosen.extend((0..k).map(|_| draw())),
            Sampling::WithoutReplacement => {
                let mut taken = vec![false; order];
                while chosen.len() < k {
                    let j = draw();
                    if !core::mem::replace(&mut taken[j as usize], true) {
                        chosen.push(j);
                    }
                }
            }
        }
        chosen.sort_unstable();
        Self { spec, order, signs, chosen, scale: 1.0 / (k as f64).sqrt() }
    }

    fn sign(&self, i: usize) -> u64 {
        (self.signs[i / 64] >> (i % 64) & 1) << 63
    }
}

/// In-place Walsh-Hadamard transform, without normalisation.
///
/// # Panics
/// When the length is not a power of two.
#[inline(always)]
fn walsh_hadamard(x: &mut [f64]) {
    assert!(x.len().is_power_of_two(), "length is a power of two");
    let mut half = 1;
    if x.len() >= 8 {
        for c in x.chunks_exact_mut(8) {
            let s = [
                c[0] + c[1],
                c[0] - c[1],
                c[2] + c[3],
                c[2] - c[3],
                c[4] + c[5],
                c[4] - c[5],
                c[6] + c[7],
                c[6] - c[7],
            ];
            let t = [
                s[0] + s[2],
                s[1] + s[3],
                s[0] - s[2],
                s[1] - s[3],
                s[4] + s[6],
                s[5] + s[7],
                s[4] - s[6],
                s[5] - s[7],
            ];
            for j in 0..4 {
                c[j] = t[j] + t[j + 4];
                c[j + 4] = t[j] - t[j + 4];
            }
        }
        half = 8;
    }
    // Two levels a pass halve the traffic.
    while half * 4 <= x.len() {
        for c in x.chunks_exact_mut(half * 4) {
            let (low, high) = c.split_at_mut(half * 2);
            let (a, b) = low.split_at_mut(half);
            let (c, d) = high.split_at_mut(half);
            for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
                let (p, q, r, s) = (*a + *b, *a - *b, *c + *d, *c - *d);
                (*a, *b, *c, *d) = (p + r, q + s, p - r, q - s);
            }
        }
        half *= 4;
    }
    while half < x.len() {
        for c in x.chunks_exact_mut(half * 2) {
            let (a, b) = c.split_at_mut(half);
            for (a, b) in a.iter_mut().zip(b) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
}

impl RowSource for Srht {
    fn d(&self) -> usize {
        self.spec.d()
    }
    fn k(&self) -> usize {
        self.spec.k()
    }
    fn fill(&self, coordinate: usize, out: &mut [f64]) {
        for (o, &j) in out.iter_mut().zip(&self.chosen) {
            let parity = u64::from((coordinate as u32 & j).count_ones() & 1) << 63;
            *o = f64::from_bits(self.scale.to_bits() ^ parity ^ self.sign(coordinate));
        }
    }
}

impl Projection for Srht {
    fn spec(&self) -> ProjectionSpec {
        self.spec
    }

    fn apply(&self, rows: RowsView<'_>, out: &mut [f64]) -> Result<()> {
        check_apply(self.spec, rows, out)?;
        let (d, k) = (self.spec.d(), self.spec.k());
        let arch = pulp::Arch::new();
        out.par_chunks_mut(ROWS_PER_TASK * k).enumerate().for_each_init(
            || vec![0.0; self.order],
            |x, (task, block)| {
                for (i, out) in block.chunks_exact_mut(k).enumerate() {
                    rows.copy_row(task * ROWS_PER_TASK + i, &mut x[..d]);
                    for (chunk, &signs) in x[..d].chunks_mut(64).zip(&self.signs) {
                        for (b, v) in chunk.iter_mut().enumerate() {
                            *v = f64::from_bits(v.to_bits() ^ (signs >> b & 1) << 63);
                        }
                    }
                    x[d..].fill(0.0);
                    arch.dispatch(|| walsh_hadamard(x));
                    for (o, &j) in out.iter_mut().zip(&self.chosen) {
                        *o = x[j as usize] * self.scale;
                    }
                }
            },
        );
        Ok(())
    }

    fn row(&self, coordinate: usize, out: &mut [f64]) {
        assert!(coordinate < self.spec.d() && out.len() == self.spec.k(), "a row of P");
        self.fill(coordinate, out);
    }

    fn max_row_l2(&self) -> f64 {
        up((self.spec.k() as f64).sqrt() * self.scale)
    }

    fn max_row_l1(&self) -> f64 {
        up(self.spec.k() as f64 * self.scale)
    }

    fn spectral_norm_bound(&self) -> Result<f64> {
        // The columns of the full transform are orthogonal with norm sqrt(order): a column
        // drawn m times counts m times. With d < order this is an upper bound.
        let repeats = self.chosen.chunk_by(|a, b| a == b).map(<[u32]>::len).max().unwrap_or(1);
        let structural = up((self.order as f64 * repeats as f64).sqrt() * self.scale);
        if self.order == self.spec.d() || self.spec.k() > 2048 {
            return Ok(structural);
        }
        Ok(structural.min(norms::spectral_norm_bound(self, &Cache::new(), 1.0)?))
    }

    fn output_range(&self, bound: Bound) -> OutputRange {
        let sum = self.spec.d() as f64 * bound.get() * self.scale;
        // Each output is a balanced tree of additions: log2(order) roundings a term.
        OutputRange::of_sum(self.order.ilog2() as usize, 4, up(sum))
    }
}
