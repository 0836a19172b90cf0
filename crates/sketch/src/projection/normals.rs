//! Many N(0, 1) numbers of a public generator at once: the bits that one after the other would have.

use rand_core::Rng;

/// Pairs that are made at once.
const BLOCK: usize = 64;

/// Marsaglia's polar method on 53-bit uniforms.
pub(super) fn fill(bits: &mut impl Rng, out: &mut [f64]) {
    let arch = pulp::Arch::new();
    let mut symmetric = || (bits.next_u64() >> 11) as f64 * 2f64.powi(-52) - 1.0;
    let (mut points, mut factors) = ([[0.0; 2]; BLOCK], [0.0; BLOCK]);
    for out in out.chunks_mut(2 * BLOCK) {
        let wanted = out.len().div_ceil(2);
        let mut kept = 0;
        while kept < wanted {
            let point = [symmetric(), symmetric()];
            let square = point[0] * point[0] + point[1] * point[1];
            (points[kept], factors[kept]) = (point, square);
            // No branch: it would go either way by chance.
            kept += usize::from((square > 0.0) & (square < 1.0));
        }
        let factors = &mut factors[..wanted];
        arch.dispatch(|| factors.iter_mut().for_each(|s| *s = (-2.0 * ln(*s) / *s).sqrt()));
        for ((pair, point), factor) in out.chunks_mut(2).zip(&points).zip(factors) {
            pair.iter_mut().zip(point).for_each(|(o, x)| *o = x * *factor);
        }
    }
}

/// `libm::log` of a number in `[2^-1022, 1)`, to the bit: its operations in its order, without its branches, so that several
/// are made side by side.
///
/// `x = 2^e m`, m from `sqrt(1/2)` to `sqrt 2`; with `f = m - 1` and `s = f / (2 + f)` it is `ln m = 2 s + s R(s^2)`, R of degree 7.
#[inline(always)]
fn ln(x: f64) -> f64 {
    const HALF: u64 = 0x3fe6_a09e << 32;
    const ONE: u64 = 0x3ff0_0000 << 32;
    const EVEN: [f64; 3] =
        [0.399_999_999_994_094_2, 0.222_221_984_321_497_84, 0.153_138_376_992_093_73];
    const ODD: [f64; 4] = [
        0.666_666_666_666_673_5,
        0.285_714_287_436_623_9,
        0.181_835_721_616_180_5,
        0.147_981_986_051_165_86,
    ];
    const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
    let shifted = x.to_bits() + (ONE - HALF);
    // A whole number behind 2^52.
    let exponent = f64::from_bits(0x433 << 52 | shifted >> 52) - (2f64.powi(52) + 1023.0);
    let m = f64::from_bits((shifted & ((1 << 52) - 1)) + HALF);
    let f = m - 1.0;
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (EVEN[0] + w * (EVEN[1] + w * EVEN[2]));
    let odd = z * (ODD[0] + w * (ODD[1] + w * (ODD[2] + w * ODD[3])));
    let rest = odd + even;
    s * (half_square + rest) + exponent * LN_2[1] - half_square + f + exponent * LN_2[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_core::PublicSeed;

    #[test]
    fn logarithms_are_those_of_the_library() {
        let mut bits = PublicSeed::new(5).generator(0);
        let uniform = (0..200_000).map(|_| (bits.next_u64() >> 11) as f64 * 2f64.powi(-53));
        let powers = (1..=1022).flat_map(|e| {
            let x = 2f64.powi(-e);
            let root = core::f64::consts::SQRT_2 * x;
            [x, x.next_up(), (1.999 * x).min(0.999), 0.999_999 * root, 1.000_001 * root]
        });
        let ends = [1f64.next_down(), 0.5f64.sqrt(), 0.5f64.sqrt().next_down(), f64::MIN_POSITIVE];
        for x in uniform.chain(powers).chain(ends).filter(|x| *x > 0.0 && *x < 1.0) {
            assert_eq!(ln(x).to_bits(), libm::log(x).to_bits(), "{x:e}");
        }
    }

    #[test]
    fn numbers_at_once_are_those_one_after_the_other() {
        for (seed, length) in [(1, 1), (2, 2), (3, 7), (4, 127), (5, 128), (6, 129), (7, 5001)] {
            let mut bits = PublicSeed::new(seed).generator(seed);
            let mut uniform = || (bits.next_u64() >> 11) as f64 * 2f64.powi(-52) - 1.0;
            let mut expected = Vec::new();
            while expected.len() < length {
                let (u, v) = (uniform(), uniform());
                let s = u * u + v * v;
                if s > 0.0 && s < 1.0 {
                    let factor = (-2.0 * libm::log(s) / s).sqrt();
                    expected.extend([u * factor, v * factor]);
                }
            }
            expected.truncate(length);
            let mut found = vec![0.0; length];
            fill(&mut PublicSeed::new(seed).generator(seed), &mut found);
            assert_eq!(found, expected, "{length}");
        }
    }
}
