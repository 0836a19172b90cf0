//! The subsampled randomised Hadamard transform.

use super::apply::{OutputRange, Projection, check_apply};
use super::dense::{Cache, RowSource};
use super::lanes::{self, Entry, LaneKernel};
use super::norms::{self, up};
use super::spec::{ProjectionSpec, Sampling};
use crate::author::AUTHOR;
use crate::error::Result;
use crate::rows::RowsView;
use dp_core::EntryBound;
use dp_core::mechanism::author;
use rand_core::Rng;
use rayon::prelude::*;

/// Rows of X that one task projects.
const ROWS_PER_TASK: usize = 64;
/// Dense rows transformed together.
const LANES: usize = 4;

/// x -> (D H x)_sampled / sqrt k: random signs D, Walsh-Hadamard H of order D = 2^m >= d
/// (zeros appended), k of its outputs.
///
/// Every entry of P is +-1/sqrt k, whichever way the outputs are sampled: the rows of P
/// have l2 norm one and l1 norm sqrt k.
///
/// # Cost
/// O(D log D) a row.
#[derive(Debug)]
pub(super) struct Srht {
    spec: ProjectionSpec,
    order: usize,
    signs: Vec<u64>,
    chosen: Vec<u32>,
    scale: f64,
}

impl Srht {
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

    #[inline(always)]
    fn sign(&self, i: usize) -> u64 {
        (self.signs[i / 64] >> (i % 64) & 1) << 63
    }
}

/// Eight-point butterflies over levels `half`, `2 half`, `4 half`.
#[inline(always)]
fn three_levels<const L: usize>(x: &mut [[f64; L]], half: usize) {
    for c in x.chunks_exact_mut(half * 8) {
        for i in 0..half {
            let v: [[f64; L]; 8] = core::array::from_fn(|j| c[i + j * half]);
            let mut s = [[0.0; L]; 8];
            for j in [0, 2, 4, 6] {
                (s[j], s[j + 1]) = (lanes::add(v[j], v[j + 1]), lanes::subtract(v[j], v[j + 1]));
            }
            let mut t = s;
            for j in [0, 1, 4, 5] {
                (t[j], t[j + 2]) = (lanes::add(s[j], s[j + 2]), lanes::subtract(s[j], s[j + 2]));
            }
            for j in 0..4 {
                c[i + j * half] = lanes::add(t[j], t[j + 4]);
                c[i + (j + 4) * half] = lanes::subtract(t[j], t[j + 4]);
            }
        }
    }
}

/// Two-point butterflies over one level.
#[inline(always)]
fn one_level<const L: usize>(x: &mut [[f64; L]], half: usize) {
    for c in x.chunks_exact_mut(half * 2) {
        let (a, b) = c.split_at_mut(half);
        for (a, b) in a.iter_mut().zip(b) {
            (*a, *b) = (lanes::add(*a, *b), lanes::subtract(*a, *b));
        }
    }
}

/// All levels of the Walsh-Hadamard transform but the last, on L rows of which all but the
/// first `used` numbers are zero: whole blocks of zeros stay zeros.
#[inline(always)]
fn all_levels_but_one<const L: usize>(x: &mut [[f64; L]], used: usize) {
    let (end, mut half) = (x.len() / 2, 1);
    while half < end {
        let step = if half * 8 <= end { 8 } else { 2 };
        let block = half * step;
        let part = &mut x[..used.next_multiple_of(block)];
        if step == 8 {
            three_levels(part, half);
        } else {
            one_level(part, half);
        }
        half = block;
    }
}

/// The transform of L rows at a time.
struct Transform<'a>(&'a Srht);

impl LaneKernel for Transform<'_> {
    type Tile<T: Entry> = f64;

    fn tile_len(&self) -> usize {
        self.0.order
    }

    #[inline(always)]
    fn project<T: Entry, const L: usize>(
        &self,
        rows: [&[T]; L],
        x: &mut [[f64; L]],
        mut out: [&mut [f64]; L],
    ) {
        let (p, d) = (self.0, self.0.spec.d());
        lanes::transpose(rows, &mut x[..d], |c, v: T| {
            let value: f64 = v.into();
            f64::from_bits(value.to_bits() ^ p.sign(c))
        });
        x[d..].fill([0.0; L]);
        all_levels_but_one(x, d);
        // The last level only where an output is wanted.
        let half = p.order / 2;
        for (i, &j) in p.chosen.iter().enumerate() {
            let j = j as usize;
            let sums = match half {
                0 => x[0],
                _ if j < half => lanes::add(x[j], x[j + half]),
                _ => lanes::subtract(x[j - half], x[j]),
            };
            for (out, sum) in out.iter_mut().zip(sums) {
                out[i] = sum * p.scale;
            }
        }
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

impl author::Sealed for Srht {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Projection for Srht {
    fn spec(&self) -> ProjectionSpec {
        self.spec
    }

    fn apply(&self, rows: RowsView<'_>, out: &mut [f64]) -> Result<()> {
        check_apply(self.spec, rows, out)?;
        let k = self.spec.k();
        // A group of long rows would leave the cache.
        let alone = self.order > 1 << 16;
        out.par_chunks_mut(ROWS_PER_TASK * k).enumerate().for_each(|(task, out)| {
            let first = task * ROWS_PER_TASK;
            let rows = rows.slice(first..first + out.len() / k);
            if alone {
                lanes::project_rows::<1>(&Transform(self), rows, out);
            } else {
                lanes::project_rows::<LANES>(&Transform(self), rows, out);
            }
        });
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

    fn output_range(&self, bound: EntryBound) -> OutputRange {
        let sum = self.spec.d() as f64 * bound.get() * self.scale;
        // Each output is a balanced tree of additions: log2(order) roundings a term.
        OutputRange::of_sum(self.order.ilog2() as usize, 4, up(sum))
    }
}
