//! Golden values of the generators, against independent implementations.

use dp_core::authority;
use dp_core::noise::{AdditiveNoise, Grid, NoiseStream, NoiseStreams};
use dp_core::{LaplaceScale, NoiseRng, NoiseScale, PublicSeed};
use rand_core::Rng;
use std::collections::HashSet;

/// One block of ChaCha12 with a 64-bit counter and a 64-bit nonce (Bernstein 2008).
fn chacha12(key: &[u8; 32], counter: u64, nonce: u64) -> [u8; 64] {
    let mut state = [0u32; 16];
    state[..4].copy_from_slice(&[0x6170_7865, 0x3320_646E, 0x7962_2D32, 0x6B20_6574]);
    for (word, bytes) in state[4..12].iter_mut().zip(key.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    state[12..].copy_from_slice(&[
        counter as u32,
        (counter >> 32) as u32,
        nonce as u32,
        (nonce >> 32) as u32,
    ]);
    let mut x = state;
    let mut quarter = |a: usize, b: usize, c: usize, d: usize| {
        for (r1, r2) in [(16, 12), (8, 7)] {
            x[a] = x[a].wrapping_add(x[b]);
            x[d] = (x[d] ^ x[a]).rotate_left(r1);
            x[c] = x[c].wrapping_add(x[d]);
            x[b] = (x[b] ^ x[c]).rotate_left(r2);
        }
    };
    for _ in 0..6 {
        (0..4).for_each(|i| quarter(i, i + 4, i + 8, i + 12));
        (0..4).for_each(|i| quarter(i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12));
    }
    let mut out = [0; 64];
    for (bytes, (a, b)) in out.as_chunks_mut::<4>().0.iter_mut().zip(x.iter().zip(&state)) {
        *bytes = a.wrapping_add(*b).to_le_bytes();
    }
    out
}

#[test]
fn the_reference_cipher_meets_the_published_vector() {
    // draft-strombergson-chacha-test-vectors-01, TC1: zero key and nonce, 12 rounds.
    let start =
        [0x9B, 0xF4, 0x9A, 0x6A, 0x07, 0x55, 0xF9, 0x53, 0x81, 0x1F, 0xCE, 0x12, 0x5F, 0x26];
    assert_eq!(chacha12(&[0; 32], 0, 0)[..14], start);
}

#[test]
fn streams_are_chacha12_under_their_own_nonce() {
    let seed = 0x0123_4567_89AB_CDEF;
    let mut key = [0; 32];
    key[..8].copy_from_slice(&u64::to_le_bytes(seed));
    let mut rng = NoiseRng::deterministic_not_private(seed);
    let skipped = (1 << 33) + 5;
    let _ = rng.reserve(skipped);
    for (i, mut stream) in (0..).zip(rng.reserve(3)) {
        let mut bytes = [0u8; 64 * 9];
        stream.fill_bytes(&mut bytes);
        for (block, bytes) in bytes.as_chunks::<64>().0.iter().enumerate() {
            assert_eq!(*bytes, chacha12(&key, block as u64, skipped + i));
        }
    }
}

#[test]
fn operations_never_share_bits() {
    let mut rng = NoiseRng::from_os().unwrap();
    let mut seen = HashSet::new();
    for count in [1, 4, 2, 9] {
        for mut stream in rng.reserve(count) {
            for _ in 0..100 {
                assert!(seen.insert(stream.next_u64()));
            }
        }
    }
    let mut other = NoiseRng::from_os().unwrap();
    assert!(seen.insert(other.stream().next_u64()));
}

/// However streams are taken out, each comes once, in the order of its number.
#[test]
fn streams_come_once_and_in_order_however_they_are_taken() {
    use rayon::prelude::*;
    let words = |take: &dyn Fn(NoiseStreams<'_>) -> Vec<u64>| {
        take(NoiseRng::deterministic_not_private(3).reserve(7))
    };
    let first = |mut s: NoiseStream| s.next_u64();
    let expected = words(&|streams| streams.map(first).collect());
    assert_eq!(expected.iter().collect::<HashSet<_>>().len(), 7);
    assert_eq!(words(&|streams| streams.into_par_iter().map(first).collect()), expected);
    let split = words(&|mut streams| {
        assert_eq!(streams.len(), 7);
        let mut out: Vec<u64> = streams.by_ref().take(2).map(first).collect();
        assert_eq!(streams.len(), 5);
        let front = streams.split_front(3);
        assert_eq!((front.len(), streams.len()), (3, 2));
        out.extend(front.into_par_iter().map(first).collect::<Vec<_>>());
        let rest = streams.split_front(9);
        assert_eq!((rest.len(), streams.next().is_none()), (2, true));
        out.extend(rest.map(first));
        out
    });
    assert_eq!(split, expected);
    let mut rng = NoiseRng::deterministic_not_private(3);
    let one_by_one: Vec<u64> = (0..7).map(|_| rng.stream().next_u64()).collect();
    assert_eq!(one_by_one, expected);
}

#[test]
fn keys_and_buffers_are_wiped_on_drop() {
    fn wiped<T: zeroize::ZeroizeOnDrop>() {}
    wiped::<NoiseRng>();
    wiped::<dp_core::noise::NoiseStream>();
    wiped::<chacha20::ChaCha12Rng>();
}

#[test]
fn debug_output_tells_no_key() {
    let text = format!("{:?}", NoiseRng::deterministic_not_private(987_654_321));
    assert_eq!(text, "NoiseRng { kind: DeterministicNotPrivate, .. }");
}

#[test]
fn public_seeds_have_golden_values() {
    // From an independent implementation of SplitMix64 and xoshiro256++ in Python; these
    // bytes are a promise across machines and versions.
    let golden: [(u64, u64, [u64; 3]); 4] = [
        (0, 0, [0x84F0_9BF3_07C1_073A, 0xC82F_FB59_7CEE_E51B, 0xADF9_6905_C5DF_4417]),
        (1, 0, [0xEA1B_99AF_53E9_35B0, 0xD74B_0912_6963_624D, 0x9856_6B2A_3FAF_7B1A]),
        (1, 1, [0xD51E_3B51_456D_6AEA, 0xEB69_4D05_C0F3_ABD7, 0xB381_7786_4A73_3FAB]),
        (u64::MAX, 7, [0xCD0C_52F5_82DF_5904, 0x0DFC_52F1_B6D0_0E96, 0xB839_7D3A_C3E0_EA18]),
    ];
    for (seed, stream, words) in golden {
        let mut generator = PublicSeed::new(seed).generator(stream);
        assert_eq!(words.map(|_| generator.next_u64()), words, "seed {seed} stream {stream}");
    }
}

#[test]
fn noise_has_golden_values() {
    // From an independent ChaCha12 in Python and the quantiles of mpmath. Any change here
    // changes every noisy byte of the library: name it in the changelog.
    let scale = NoiseScale::new(1.0).unwrap();
    let grid = Grid::new(-30).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(7);
    let (mut gaussian, mut laplace) = ([0.0; 4], [0.0; 4]);
    authority!().gaussian(scale, grid).unwrap().fill(&mut rng, &mut gaussian);
    authority!()
        .laplace(LaplaceScale::new(scale.get()).unwrap(), grid)
        .unwrap()
        .fill(&mut rng, &mut laplace);
    let steps = |x: [f64; 4]| x.map(|x| (x * 2f64.powi(30)) as i64);
    assert_eq!(steps(gaussian), [-233185575, -107341874, -2054381911, 668589344]);
    assert_eq!(steps(laplace), [956712136, 1007664840, -3015457191, 131929418]);
}
