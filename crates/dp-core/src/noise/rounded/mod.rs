//! A real-valued symmetric sample rounded to a grid, exactly, and fast.
//!
//! The sample is defined by an infinite string of random bits: a sign, and a uniform
//! V in (0, 1) whose tail quantile `F(V)` is the magnitude. The output is the integer
//! nearest to `s F(V)`, s = scale / spacing. The fast path evaluates F from 63 bits of V
//! by a table with a proven error bound and accepts when no further bit and no
//! rounding error can move the nearest integer; else `resolve` draws more bits
//! and compares V with a rigorous enclosure of the tail probability at the boundary.
//! Proof: `docs/proofs/rounded-noise.md`.

mod enclosure;
#[cfg(test)]
mod oracle;
mod resolve;
#[cfg(test)]
pub(super) mod tests;

use super::grid::Grid;
pub(crate) use super::kernel::Tail;
use super::kernel::{Kernel, Lattice};
use super::law::CHUNK;
use super::rng::NoiseStream;
use super::simd::rounded as simd;
pub(super) use enclosure::{Enclosure, FIRST_PRECISION, survival};
use resolve::{Boundaries, Rounded};
pub(super) use resolve::{Magnitude, TABLE_MIN, quantile_guess, settle};
use zeroize::Zeroize;

/// Adds `grid round(scale Z / grid)` to every value rounded to the grid.
///
/// Word i of the stream belongs to value i of a chunk of 512; the words of the rare
/// ambiguous values follow the chunk's, in the order of the values.
pub(crate) fn add_block(
    tail: Tail,
    scale: f64,
    grid: Grid,
    stream: &mut NoiseStream,
    values: &mut [f64],
) {
    add_block_by(&mut Words::new(), tail, scale, grid, stream, values);
}

/// [`add_block`] with a buffer that serves several.
pub(super) fn add_block_by(
    words: &mut Words,
    tail: Tail,
    scale: f64,
    grid: Grid,
    stream: &mut NoiseStream,
    values: &mut [f64],
) {
    let kernel = Kernel::new(tail, scale, grid);
    let boundaries = Boundaries::new(tail, scale, grid);
    let mut pending = [0u8; CHUNK / 8];
    for chunk in values.chunks_mut(CHUNK) {
        let words = words.refill(stream, chunk.len());
        let pending = &mut pending[..chunk.len().div_ceil(8)];
        simd::run(&kernel, words, chunk, pending);
        let law = Rounded { kernel: &kernel, boundaries: &boundaries };
        finish(&law, &kernel.on, words, chunk, pending, stream);
    }
}

/// Settles the values to which the fast path added nothing.
pub(super) fn finish(
    law: &impl Magnitude,
    on: &Lattice,
    words: &[u64],
    values: &mut [f64],
    pending: &[u8],
    stream: &mut NoiseStream,
) {
    for (byte, &mask) in pending.iter().enumerate() {
        let mut mask = mask;
        while mask != 0 {
            let i = 8 * byte + mask.trailing_zeros() as usize;
            mask &= mask - 1;
            values[i] = on.sum(values[i], settle(law, words[i], stream));
        }
    }
}

/// A buffer of random words that is wiped when dropped.
pub(super) struct Words {
    buffer: [u64; CHUNK],
    used: usize,
}

impl Words {
    pub(super) fn new() -> Self {
        Self { buffer: [0; CHUNK], used: 0 }
    }

    pub(super) fn refill(&mut self, stream: &mut NoiseStream, count: usize) -> &[u64] {
        self.used = self.used.max(count);
        stream.fill_words(&mut self.buffer[..count]);
        &self.buffer[..count]
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        self.buffer[..self.used].zeroize();
    }
}
