//! Distances of a few queries to a block of codes, filtered by a threshold.
//!
//! The only unsafe code of this crate. Two facts carry it: a function with a target
//! feature is called only from [`Kernel::scan`], whose `Kernel` value exists only if
//! detection found that feature; and every load reads from a [`Lane`], which has
//! exactly the size of the load.
#![allow(unsafe_code)]

mod block;

use block::width_of;
pub(super) use block::{BLOCK, Hits, LANES, Lane};

/// Which instructions compute the distances; all give the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kernel(Instructions);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instructions {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Kernel {
    /// Every kernel this machine can run, the fastest last.
    pub(super) fn available() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut kernels = vec![Self(Instructions::Scalar)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                kernels.push(Self(Instructions::Avx2));
            }
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq") {
                kernels.push(Self(Instructions::Avx512));
            }
        }
        kernels
    }

    /// The fastest kernel this machine can run.
    pub(super) fn best() -> Self {
        *Self::available().last().expect("the scalar kernel is always there")
    }

    /// Appends to `hits[q]` every code whose distance to `queries[q]` is below
    /// `thresholds[q]`, indices increasing from `first`.
    ///
    /// `codes` holds groups of `width` lanes; each query has `width` words.
    pub(super) fn scan<const Q: usize>(
        self,
        width: usize,
        codes: &[Lane],
        queries: [&[u64]; Q],
        thresholds: [u32; Q],
        first: u32,
        hits: &mut [Hits],
    ) {
        assert!(width > 0 && codes.len().is_multiple_of(width));
        assert!(codes.len() / width * LANES <= BLOCK && hits.len() >= Q);
        assert!(queries.iter().all(|q| q.len() == width));
        match width {
            1 => self.run::<Q, 1>(codes, queries, thresholds, first, hits),
            2 => self.run::<Q, 2>(codes, queries, thresholds, first, hits),
            4 => self.run::<Q, 4>(codes, queries, thresholds, first, hits),
            8 => self.run::<Q, 8>(codes, queries, thresholds, first, hits),
            _ => self.run::<Q, 0>(codes, queries, thresholds, first, hits),
        }
    }

    /// `W` is the width, or 0 when it is only known at run time.
    fn run<const Q: usize, const W: usize>(
        self,
        codes: &[Lane],
        queries: [&[u64]; Q],
        thresholds: [u32; Q],
        first: u32,
        hits: &mut [Hits],
    ) {
        match self.0 {
            Instructions::Scalar => scalar::<Q, W>(codes, queries, thresholds, first, hits),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this value exists only if the features were detected.
            Instructions::Avx2 => unsafe {
                x86::avx2::<Q, W>(codes, queries, thresholds, first, hits);
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Instructions::Avx512 => unsafe {
                x86::avx512::<Q, W>(codes, queries, thresholds, first, hits);
            },
        }
    }
}

fn scalar<const Q: usize, const W: usize>(
    codes: &[Lane],
    queries: [&[u64]; Q],
    thresholds: [u32; Q],
    first: u32,
    hits: &mut [Hits],
) {
    let width = width_of::<W>(queries[0]);
    for (g, group) in codes.chunks_exact(width).enumerate() {
        let base = first + (g * LANES) as u32;
        for (q, query) in queries.iter().enumerate() {
            let mut distances = [0u64; LANES];
            for (lane, &word) in group.iter().zip(*query) {
                for (d, &code) in distances.iter_mut().zip(&lane.0) {
                    *d += u64::from((code ^ word).count_ones());
                }
            }
            let below = |m, (i, &d): (usize, &u64)| m | u32::from(d < thresholds[q].into()) << i;
            let mask = distances.iter().enumerate().fold(0, below);
            if mask != 0 {
                hits[q].push_masked(base, mask, &distances);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::block::{Hits, LANES, Lane, width_of};
    use core::arch::x86_64::*;

    #[target_feature(enable = "avx512f,avx512vpopcntdq")]
    pub(super) fn avx512<const Q: usize, const W: usize>(
        codes: &[Lane],
        queries: [&[u64]; Q],
        thresholds: [u32; Q],
        first: u32,
        hits: &mut [Hits],
    ) {
        let width = width_of::<W>(queries[0]);
        let limits = thresholds.map(|t| _mm512_set1_epi64(i64::from(t)));
        for (g, group) in codes.chunks_exact(width).enumerate() {
            let mut distances = [_mm512_setzero_si512(); Q];
            for (w, lane) in group.iter().enumerate() {
                // SAFETY: a lane is 64 readable bytes, aligned to 64.
                let code = unsafe { _mm512_load_si512(lane.0.as_ptr().cast()) };
                for q in 0..Q {
                    let word = _mm512_set1_epi64(queries[q][w] as i64);
                    let ones = _mm512_popcnt_epi64(_mm512_xor_si512(code, word));
                    distances[q] = _mm512_add_epi64(distances[q], ones);
                }
            }
            let mut masks = [0; Q];
            let mut any = 0;
            for q in 0..Q {
                masks[q] = _mm512_cmplt_epu64_mask(distances[q], limits[q]);
                any |= masks[q];
            }
            if any != 0 {
                let base = first + (g * LANES) as u32;
                for q in 0..Q {
                    if masks[q] != 0 {
                        let mut out = Lane([0; LANES]);
                        // SAFETY: a lane is 64 writable bytes, aligned to 64.
                        unsafe { _mm512_store_si512(out.0.as_mut_ptr().cast(), distances[q]) };
                        hits[q].push_masked(base, masks[q].into(), &out.0);
                    }
                }
            }
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn avx2<const Q: usize, const W: usize>(
        codes: &[Lane],
        queries: [&[u64]; Q],
        thresholds: [u32; Q],
        first: u32,
        hits: &mut [Hits],
    ) {
        let width = width_of::<W>(queries[0]);
        let limits = thresholds.map(|t| _mm256_set1_epi64x(i64::from(t)));
        let nibble = _mm256_set1_epi8(0x0f);
        let ones = _mm256_broadcastsi128_si256(_mm_setr_epi8(
            0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
        ));
        for (g, group) in codes.chunks_exact(width).enumerate() {
            let mut distances = [[_mm256_setzero_si256(); Q]; 2];
            for (w, lane) in group.iter().enumerate() {
                for (half, sums) in distances.iter_mut().enumerate() {
                    // SAFETY: each half of a lane is 32 readable bytes, aligned to 32.
                    let code = unsafe { _mm256_load_si256(lane.0.as_ptr().add(4 * half).cast()) };
                    for q in 0..Q {
                        let x = _mm256_xor_si256(code, _mm256_set1_epi64x(queries[q][w] as i64));
                        let low = _mm256_and_si256(x, nibble);
                        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(x), nibble);
                        let bytes = _mm256_add_epi8(
                            _mm256_shuffle_epi8(ones, low),
                            _mm256_shuffle_epi8(ones, high),
                        );
                        let sum = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
                        sums[q] = _mm256_add_epi64(sums[q], sum);
                    }
                }
            }
            for q in 0..Q {
                let below = |d| _mm256_castsi256_pd(_mm256_cmpgt_epi64(limits[q], d));
                let low = _mm256_movemask_pd(below(distances[0][q])) as u32;
                let mask = low | (_mm256_movemask_pd(below(distances[1][q])) as u32) << 4;
                if mask != 0 {
                    let mut out = Lane([0; LANES]);
                    for (half, sums) in distances.iter().enumerate() {
                        // SAFETY: each half of a lane is 32 writable bytes, aligned to 32.
                        unsafe {
                            let to = out.0.as_mut_ptr().add(4 * half).cast();
                            _mm256_store_si256(to, sums[q]);
                        }
                    }
                    hits[q].push_masked(first + (g * LANES) as u32, mask, &out.0);
                }
            }
        }
    }
}
