//! The ChaCha12 key stream, 16 blocks at a time (AVX-512): the very words of the `chacha20` crate,
//! which is slower for long runs.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// Words of 16 blocks.
const WORDS: usize = 128;

/// A key and a nonce on a machine that has the instructions.
#[derive(ZeroizeOnDrop)]
pub(in crate::noise) struct Keystream {
    key: [u32; 8],
    nonce: u64,
}

impl Keystream {
    /// None where the instructions are missing. Wipes the key that was handed in.
    pub(in crate::noise) fn new(mut key: [u8; 32], nonce: u64) -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") {
            let words = key.as_chunks::<4>().0;
            let words = core::array::from_fn(|i| u32::from_le_bytes(words[i]));
            key.zeroize();
            return Some(Self { key: words, nonce });
        }
        key.zeroize();
        let _ = nonce;
        None
    }

    /// The words from word number `first` of 64 bits on.
    pub(in crate::noise) fn fill(&self, first: u128, out: &mut [u64]) {
        let mut block = (first / 8) as u64;
        let mut skip = (first % 8) as usize;
        let mut rest = out;
        while let Some(words) = rest.first_chunk_mut::<WORDS>() {
            self.blocks(block, words);
            if skip > 0 {
                // The run begins within a block; what is left behind is written over.
                words.copy_within(skip.., 0);
            }
            (rest, block, skip) = (&mut rest[WORDS - skip..], block.wrapping_add(16), 0);
        }
        if rest.is_empty() {
            return;
        }
        let mut words = [0u64; WORDS];
        while !rest.is_empty() {
            self.blocks(block, &mut words);
            let (now, later) = rest.split_at_mut((WORDS - skip).min(rest.len()));
            now.copy_from_slice(&words[skip..skip + now.len()]);
            (rest, block, skip) = (later, block.wrapping_add(16), 0);
        }
        words.zeroize();
    }

    fn blocks(&self, first: u64, out: &mut [u64; WORDS]) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a value of this type exists only where the feature was detected.
        unsafe {
            x86::blocks(&self.key, self.nonce, first, out);
        }
        #[cfg(not(target_arch = "x86_64"))]
        unreachable!("no value of this type, asked for block {first} into {} words", out.len());
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::*;

    /// "expand 32-byte k".
    const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

    /// One row of the state of four blocks.
    type Row = __m512i;

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn quarter_rounds([a, b, c, d]: [Row; 4]) -> [Row; 4] {
        let a = _mm512_add_epi32(a, b);
        let d = _mm512_rol_epi32::<16>(_mm512_xor_si512(d, a));
        let c = _mm512_add_epi32(c, d);
        let b = _mm512_rol_epi32::<12>(_mm512_xor_si512(b, c));
        let a = _mm512_add_epi32(a, b);
        let d = _mm512_rol_epi32::<8>(_mm512_xor_si512(d, a));
        let c = _mm512_add_epi32(c, d);
        let b = _mm512_rol_epi32::<7>(_mm512_xor_si512(b, c));
        [a, b, c, d]
    }

    /// A round on columns and one on diagonals, which two rotations of the rows make columns.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn double_round([a, b, c, d]: [Row; 4]) -> [Row; 4] {
        const BY_1: i32 = 0b00_11_10_01;
        const BY_2: i32 = 0b01_00_11_10;
        const BY_3: i32 = 0b10_01_00_11;
        let [a, b, c, d] = quarter_rounds([a, b, c, d]);
        let b = _mm512_shuffle_epi32::<BY_1>(b);
        let c = _mm512_shuffle_epi32::<BY_2>(c);
        let d = _mm512_shuffle_epi32::<BY_3>(d);
        let [a, b, c, d] = quarter_rounds([a, b, c, d]);
        let b = _mm512_shuffle_epi32::<BY_3>(b);
        let c = _mm512_shuffle_epi32::<BY_2>(c);
        let d = _mm512_shuffle_epi32::<BY_1>(d);
        [a, b, c, d]
    }

    /// Blocks `first .. first + 16`. Safe to call from code that has detected AVX-512 F.
    #[target_feature(enable = "avx512f")]
    pub(super) fn blocks(key: &[u32; 8], nonce: u64, first: u64, out: &mut [u64; 128]) {
        let row = |words: [u32; 4]| {
            let [a, b, c, d] = words.map(u32::cast_signed);
            _mm512_broadcast_i32x4(_mm_setr_epi32(a, b, c, d))
        };
        let [k0, k1, k2, k3, k4, k5, k6, k7] = *key;
        let fixed = [row(CONSTANTS), row([k0, k1, k2, k3]), row([k4, k5, k6, k7])];
        let start: [[Row; 4]; 4] = core::array::from_fn(|group| {
            let [a, b, c] = fixed;
            let block = |i: u64| first.wrapping_add(4 * group as u64 + i).cast_signed();
            let n = nonce.cast_signed();
            let d = _mm512_setr_epi64(block(0), n, block(1), n, block(2), n, block(3), n);
            [a, b, c, d]
        });
        // The four groups of four blocks take turns: each step of one hides behind the others.
        let mut state = start;
        for _ in 0..6 {
            for group in &mut state {
                *group = double_round(*group);
            }
        }
        for ((group, start), out) in state.iter().zip(&start).zip(out.as_chunks_mut::<32>().0) {
            let [a, b, c, d]: [Row; 4] =
                core::array::from_fn(|i| _mm512_add_epi32(group[i], start[i]));
            // Rows of four blocks to four blocks of rows.
            let ab = [_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0xee>(a, b)];
            let cd = [_mm512_shuffle_i32x4::<0x44>(c, d), _mm512_shuffle_i32x4::<0xee>(c, d)];
            let blocks = [
                _mm512_shuffle_i32x4::<0x88>(ab[0], cd[0]),
                _mm512_shuffle_i32x4::<0xdd>(ab[0], cd[0]),
                _mm512_shuffle_i32x4::<0x88>(ab[1], cd[1]),
                _mm512_shuffle_i32x4::<0xdd>(ab[1], cd[1]),
            ];
            for (block, out) in blocks.into_iter().zip(out.as_chunks_mut::<8>().0) {
                // SAFETY: the reference covers 64 bytes; the store is unaligned.
                unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), block) };
            }
        }
    }
}
