//! The kernel with 8 (AVX-512) or 4 (AVX2) lanes.
//!
//! # Safety argument
//! Beyond that of the parent module: (c) loads of whole and of quarter rows of the table, by references.
//!
//! Each intrinsic is the single IEEE operation of the scalar code in `noise::kernel`, in the same
//! order, so results agree bit for bit; a test compares them on the same words.

use crate::noise::kernel::Kernel;

/// Adds noise to every value that the fast path can settle; rounds the others to the grid and sets their bits. (All are
/// stored: some processors take long over stores of some lanes.)
pub(in crate::noise) fn run(
    kernel: &Kernel,
    words: &[u64],
    values: &mut [f64],
    pending: &mut [u8],
) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            // SAFETY: both features were just detected.
            return unsafe { x86::run_avx512(kernel, words, values, pending) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the feature was just detected.
            return unsafe { x86::run_avx2(kernel, words, values, pending) };
        }
    }
    kernel.run(words, values, pending);
}

/// The signed sample of every word, in steps and not rounded; NaN for those that the fast path cannot give.
pub(in crate::noise) fn samples(kernel: &Kernel, words: &[u64], out: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    let (words, out) = {
        let (eights, last) = words.as_chunks();
        let whole = words.len() - last.len();
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            // SAFETY: both features were just detected.
            unsafe { x86::samples_avx512(kernel, eights, out.as_chunks_mut().0) };
            (last, &mut out[whole..])
        } else if is_x86_feature_detected!("avx2") {
            // SAFETY: the feature was just detected.
            unsafe { x86::samples_avx2(kernel, eights, out.as_chunks_mut().0) };
            (last, &mut out[whole..])
        } else {
            (words, out)
        }
    };
    for (word, out) in words.iter().zip(out) {
        *out = kernel.sample(*word);
    }
}

#[cfg(target_arch = "x86_64")]
pub(in crate::noise) mod x86 {
    use crate::noise::kernel::{
        CENTRE, FAST_MIN, FIRST_ROW, INPUT_LIMIT, Kernel, LOCAL, MAGIC, MAGNITUDE, ONE, V_MAX,
    };
    use core::arch::x86_64::*;

    /// Splits off whole groups of eight, runs `body` on them, leaves the rest to the
    /// scalar code.
    #[inline(always)]
    fn by_eights(
        kernel: &Kernel,
        words: &[u64],
        values: &mut [f64],
        pending: &mut [u8],
        mut body: impl FnMut(&[u64; 8], &mut [f64; 8]) -> u8,
    ) {
        let (words, last_words) = words.as_chunks::<8>();
        let (values, last_values) = values.as_chunks_mut::<8>();
        let (masks, last_mask) = pending.split_at_mut(words.len());
        for ((word, value), mask) in words.iter().zip(values).zip(masks) {
            *mask = body(word, value);
        }
        kernel.run(last_words, last_values, last_mask);
    }

    /// Safe to call from code that has detected AVX-512 F and DQ.
    #[target_feature(enable = "avx512f,avx512dq")]
    pub(crate) fn run_avx512(
        kernel: &Kernel,
        words: &[u64],
        values: &mut [f64],
        pending: &mut [u8],
    ) {
        by_eights(kernel, words, values, pending, |w, v| eight(kernel, w, v));
    }

    /// Safe to call from code that has detected AVX-512 F and DQ.
    #[target_feature(enable = "avx512f,avx512dq")]
    pub(crate) fn samples_avx512(kernel: &Kernel, words: &[[u64; 8]], out: &mut [[f64; 8]]) {
        for (words, out) in words.iter().zip(out) {
            let (known, signed) = signed_eight(kernel, words);
            let nan = _mm512_set1_pd(f64::NAN);
            // SAFETY: the reference covers 64 bytes; the store is unaligned.
            unsafe { _mm512_storeu_pd(out.as_mut_ptr(), _mm512_mask_mov_pd(nan, known, signed)) };
        }
    }

    /// The signed samples of eight words in steps, and which the fast path can give.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn signed_eight(kernel: &Kernel, words: &[u64; 8]) -> (u8, __m512d) {
        let set = |x: f64| _mm512_set1_pd(x);
        // SAFETY: the reference covers 64 bytes; the load is unaligned.
        let word = unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
        let v = _mm512_cvtepu64_pd(_mm512_srli_epi64::<1>(word));
        let inside = _mm512_min_pd(_mm512_max_pd(v, set(FAST_MIN)), set(V_MAX));
        let bits = _mm512_castpd_si512(inside);
        let row =
            _mm512_sub_epi64(_mm512_srli_epi64::<47>(bits), _mm512_set1_epi64(FIRST_ROW as i64));
        let row = _mm512_and_si512(row, _mm512_set1_epi64(1023));
        let local = _mm512_or_si512(
            _mm512_and_si512(bits, _mm512_set1_epi64(LOCAL as i64)),
            _mm512_set1_epi64(ONE as i64),
        );
        let t = _mm512_sub_pd(_mm512_castsi512_pd(local), set(CENTRE));
        let coefficients = columns(&kernel.table.rows, row);
        let mut sum = coefficients[7];
        for k in (0..7).rev() {
            sum = _mm512_add_pd(coefficients[k], _mm512_mul_pd(t, sum));
        }
        let magnitude = _mm512_castpd_si512(_mm512_mul_pd(sum, set(kernel.steps)));
        let signed =
            _mm512_castsi512_pd(_mm512_xor_si512(magnitude, _mm512_slli_epi64::<63>(word)));
        (_mm512_cmp_pd_mask::<_CMP_GE_OQ>(v, set(FAST_MIN)), signed)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn eight(kernel: &Kernel, words: &[u64; 8], values: &mut [f64; 8]) -> u8 {
        let set = |x: f64| _mm512_set1_pd(x);
        let magic = set(MAGIC);
        let (known, signed) = signed_eight(kernel, words);
        // SAFETY: the reference covers 64 bytes; the load is unaligned.
        let value = unsafe { _mm512_loadu_pd(values.as_ptr()) };
        let nearest = _mm512_sub_pd(_mm512_add_pd(signed, magic), magic);
        let gap = _mm512_abs_pd(_mm512_sub_pd(signed, nearest));
        let safe = _mm512_cmp_pd_mask::<_CMP_LE_OQ>(gap, set(kernel.limit)) & known;
        // maxpd and minpd return their second operand for NaN, like the scalar code.
        let size =
            _mm512_and_si512(_mm512_castpd_si512(value), _mm512_set1_epi64(MAGNITUDE as i64));
        let counts = _mm512_cmpge_epi64_mask(size, _mm512_set1_epi64(kernel.on.least as i64));
        let x = _mm512_maskz_mul_pd(counts, value, set(kernel.on.per_spacing));
        let x = _mm512_min_pd(_mm512_max_pd(x, set(-INPUT_LIMIT)), set(INPUT_LIMIT));
        let input = _mm512_sub_pd(_mm512_add_pd(x, magic), magic);
        let noise = _mm512_maskz_mov_pd(safe, nearest);
        let out = _mm512_mul_pd(_mm512_add_pd(input, noise), set(kernel.on.spacing));
        // SAFETY: the reference covers 64 bytes; the store is unaligned.
        unsafe { _mm512_storeu_pd(values.as_mut_ptr(), out) };
        !safe
    }

    /// Entry k of eight rows of the table, for every k: the rows are loaded whole and
    /// transposed by pairs of rows, then by pairs of numbers.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn columns(table: &[[f64; 8]; 1024], rows: __m512i) -> [__m512d; 8] {
        let mut numbers = [0u64; 8];
        // SAFETY: the array is 64 writable bytes; the store is unaligned.
        unsafe { _mm512_storeu_si512(numbers.as_mut_ptr().cast(), rows) };
        let row = |i: usize| {
            let row: &[f64; 8] = &table[numbers[i] as usize & 1023];
            // SAFETY: the reference covers 64 bytes; the load is unaligned.
            unsafe { _mm512_loadu_pd(row.as_ptr()) }
        };
        // The entries h, h + 2, h + 4, h + 6 of all rows, as pairs of 128 bits of two rows.
        let every_other = |pairs: [__m512d; 4]| {
            let [a, b, c, d] = pairs;
            let even = [_mm512_shuffle_f64x2::<0x88>(a, b), _mm512_shuffle_f64x2::<0x88>(c, d)];
            let odd = [_mm512_shuffle_f64x2::<0xdd>(a, b), _mm512_shuffle_f64x2::<0xdd>(c, d)];
            [
                _mm512_shuffle_f64x2::<0x88>(even[0], even[1]),
                _mm512_shuffle_f64x2::<0x88>(odd[0], odd[1]),
                _mm512_shuffle_f64x2::<0xdd>(even[0], even[1]),
                _mm512_shuffle_f64x2::<0xdd>(odd[0], odd[1]),
            ]
        };
        let [a, b, c, d, e, f, g, h] = core::array::from_fn(row);
        let low = every_other([
            _mm512_unpacklo_pd(a, b),
            _mm512_unpacklo_pd(c, d),
            _mm512_unpacklo_pd(e, f),
            _mm512_unpacklo_pd(g, h),
        ]);
        let high = every_other([
            _mm512_unpackhi_pd(a, b),
            _mm512_unpackhi_pd(c, d),
            _mm512_unpackhi_pd(e, f),
            _mm512_unpackhi_pd(g, h),
        ]);
        [low[0], high[0], low[1], high[1], low[2], high[2], low[3], high[3]]
    }

    /// Safe to call from code that has detected AVX2.
    #[target_feature(enable = "avx2")]
    pub(crate) fn run_avx2(kernel: &Kernel, words: &[u64], values: &mut [f64], pending: &mut [u8]) {
        by_eights(kernel, words, values, pending, |w, v| {
            let (low_words, high_words) = w.split_at(4);
            let (low, high) = v.split_at_mut(4);
            let quad = |w: &[u64], v: &mut [f64]| {
                let w: &[u64; 4] = w.try_into().expect("half of eight");
                let v: &mut [f64; 4] = v.try_into().expect("half of eight");
                four(kernel, w, v)
            };
            quad(low_words, low) | quad(high_words, high) << 4
        });
    }

    /// Safe to call from code that has detected AVX2.
    #[target_feature(enable = "avx2")]
    pub(crate) fn samples_avx2(kernel: &Kernel, words: &[[u64; 8]], out: &mut [[f64; 8]]) {
        let (words, out) = (words.as_flattened().as_chunks().0, out.as_flattened_mut());
        for (words, out) in words.iter().zip(out.as_chunks_mut::<4>().0) {
            let (known, signed) = signed_four(kernel, words);
            let signed = _mm256_blendv_pd(_mm256_set1_pd(f64::NAN), signed, known);
            // SAFETY: the reference covers 32 bytes; the store is unaligned.
            unsafe { _mm256_storeu_pd(out.as_mut_ptr(), signed) };
        }
    }

    /// The signed samples of four words in steps, and which the fast path can give.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn signed_four(kernel: &Kernel, words: &[u64; 4]) -> (__m256d, __m256d) {
        let set = |x: f64| _mm256_set1_pd(x);
        // SAFETY: the reference covers 32 bytes; the load is unaligned.
        let word = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
        let v = to_f64(_mm256_srli_epi64::<1>(word));
        let inside = _mm256_min_pd(_mm256_max_pd(v, set(FAST_MIN)), set(V_MAX));
        let bits = _mm256_castpd_si256(inside);
        let row =
            _mm256_sub_epi64(_mm256_srli_epi64::<47>(bits), _mm256_set1_epi64x(FIRST_ROW as i64));
        let row = _mm256_and_si256(row, _mm256_set1_epi64x(1023));
        let local = _mm256_or_si256(
            _mm256_and_si256(bits, _mm256_set1_epi64x(LOCAL as i64)),
            _mm256_set1_epi64x(ONE as i64),
        );
        let t = _mm256_sub_pd(_mm256_castsi256_pd(local), set(CENTRE));
        let coefficients = quarters(&kernel.table.rows, row);
        let mut sum = coefficients[7];
        for k in (0..7).rev() {
            sum = _mm256_add_pd(coefficients[k], _mm256_mul_pd(t, sum));
        }
        let magnitude = _mm256_castpd_si256(_mm256_mul_pd(sum, set(kernel.steps)));
        let signed =
            _mm256_castsi256_pd(_mm256_xor_si256(magnitude, _mm256_slli_epi64::<63>(word)));
        (_mm256_cmp_pd::<_CMP_GE_OQ>(v, set(FAST_MIN)), signed)
    }

    /// Entry k of four rows of the table, for every k: pairs of entries of two rows are loaded beside each other, two of these are
    /// interleaved. (Gathers take longer, and so do closures, which are compiled apart.)
    #[inline]
    #[target_feature(enable = "avx2")]
    fn quarters(table: &[[f64; 8]; 1024], rows: __m256i) -> [__m256d; 8] {
        let mut numbers = [0u64; 4];
        // SAFETY: the array is 32 writable bytes; the store is unaligned.
        unsafe { _mm256_storeu_si256(numbers.as_mut_ptr().cast(), rows) };
        let a = table[numbers[0] as usize & 1023].as_chunks().0;
        let b = table[numbers[1] as usize & 1023].as_chunks().0;
        let c = table[numbers[2] as usize & 1023].as_chunks().0;
        let d = table[numbers[3] as usize & 1023].as_chunks().0;
        let mut columns = [_mm256_setzero_pd(); 8];
        for i in 0..4 {
            let (even, odd) = (beside(&a[i], &c[i]), beside(&b[i], &d[i]));
            columns[2 * i] = _mm256_unpacklo_pd(even, odd);
            columns[2 * i + 1] = _mm256_unpackhi_pd(even, odd);
        }
        columns
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn beside(low: &[f64; 2], high: &[f64; 2]) -> __m256d {
        // SAFETY: each reference covers 16 bytes; the loads are unaligned.
        unsafe { _mm256_set_m128d(_mm_loadu_pd(high.as_ptr()), _mm_loadu_pd(low.as_ptr())) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn four(kernel: &Kernel, words: &[u64; 4], values: &mut [f64; 4]) -> u8 {
        let set = |x: f64| _mm256_set1_pd(x);
        let magic = set(MAGIC);
        let (known, signed) = signed_four(kernel, words);
        // SAFETY: the reference covers 32 bytes; the load is unaligned.
        let value = unsafe { _mm256_loadu_pd(values.as_ptr()) };
        let nearest = _mm256_sub_pd(_mm256_add_pd(signed, magic), magic);
        let gap = _mm256_andnot_pd(set(-0.0), _mm256_sub_pd(signed, nearest));
        let safe = _mm256_and_pd(_mm256_cmp_pd::<_CMP_LE_OQ>(gap, set(kernel.limit)), known);
        // maxpd and minpd return their second operand for NaN, like the scalar code.
        let size =
            _mm256_and_si256(_mm256_castpd_si256(value), _mm256_set1_epi64x(MAGNITUDE as i64));
        let counts = _mm256_cmpgt_epi64(size, _mm256_set1_epi64x(kernel.on.least as i64 - 1));
        let x = _mm256_and_pd(value, _mm256_castsi256_pd(counts));
        let x = _mm256_mul_pd(x, set(kernel.on.per_spacing));
        let x = _mm256_min_pd(_mm256_max_pd(x, set(-INPUT_LIMIT)), set(INPUT_LIMIT));
        let input = _mm256_sub_pd(_mm256_add_pd(x, magic), magic);
        let noise = _mm256_and_pd(nearest, safe);
        let out = _mm256_mul_pd(_mm256_add_pd(input, noise), set(kernel.on.spacing));
        // SAFETY: the reference covers 32 bytes; the store is unaligned.
        unsafe { _mm256_storeu_pd(values.as_mut_ptr(), out) };
        !(_mm256_movemask_pd(safe) as u8) & 15
    }

    /// The nearest `f64` of integers below 2^63: the halves are placed in the mantissas
    /// of 2^84 and 2^52, and only the last addition rounds.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn to_f64(x: __m256i) -> __m256d {
        let high_bias = _mm256_set1_pd(19_342_813_113_834_066_795_298_816.0); // 2^84
        let low_bias = _mm256_set1_pd(4_503_599_627_370_496.0); // 2^52
        let both = _mm256_set1_pd(19_342_813_118_337_666_422_669_312.0); // 2^84 + 2^52
        let high = _mm256_or_si256(_mm256_srli_epi64::<32>(x), _mm256_castpd_si256(high_bias));
        let low = _mm256_blend_epi32::<0b1010_1010>(x, _mm256_castpd_si256(low_bias));
        let high = _mm256_sub_pd(_mm256_castsi256_pd(high), both);
        _mm256_add_pd(high, _mm256_castsi256_pd(low))
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
pub(in crate::noise) mod tests {
    use super::{run, samples, x86};
    use crate::noise::NoiseRng;
    use crate::noise::grid::Grid;
    use crate::noise::kernel::{Kernel, Tail};
    use core::arch::asm;
    use core::hint::black_box;

    /// Whether a floating-point operation of `work` had a subnormal operand: bit 1 of MXCSR.
    pub(in crate::noise) fn meets_subnormals(work: impl FnOnce()) -> bool {
        let mut status = 0u32;
        // SAFETY: stores the register's 32 bits; loads them with the flags of the past cleared.
        unsafe {
            asm!("stmxcsr [{}]", in(reg) &mut status, options(nostack));
            let clear = status & !0x3f;
            asm!("ldmxcsr [{}]", in(reg) &clear, options(nostack));
        }
        work();
        // SAFETY: stores the register's 32 bits.
        unsafe { asm!("stmxcsr [{}]", in(reg) &mut status, options(nostack)) };
        status & 2 != 0
    }

    /// The processor needs more time for subnormal numbers: the kernel must not touch the data's.
    #[test]
    fn no_operation_of_the_kernel_meets_a_subnormal_number() {
        let control = || {
            black_box(black_box(1e-310) * black_box(3.0));
        };
        assert!(meets_subnormals(control), "the flag shows what it should");
        assert!(!meets_subnormals(|| {
            black_box(black_box(1e-300) * black_box(3.0));
        }));
        let mut rng = NoiseRng::deterministic_not_private(103);
        let mut words = vec![0; 64];
        rng.stream().fill_words(&mut words);
        // On the second grid normal numbers would become subnormal in steps.
        for (tail, exponent) in [(Tail::Gaussian, -30), (Tail::Laplace, 900)] {
            let grid = Grid::new(exponent).unwrap();
            let spacing = grid.spacing();
            let kernel = Kernel::new(tail, spacing * 2f64.powi(30), grid);
            let data = [
                5e-324,
                -1e-310,
                f64::MIN_POSITIVE,
                -1e-200,
                0.0,
                -0.0,
                0.3 * spacing,
                -2.5 * spacing,
            ];
            let data: Vec<f64> = data.repeat(8);
            let check = |path: &str, work: &dyn Fn(&mut [f64], &mut [u8])| {
                let (mut values, mut pending) = (black_box(data.clone()), vec![0; 8]);
                assert!(
                    !meets_subnormals(|| work(&mut values, &mut pending)),
                    "{path}, 2^{exponent}"
                );
                assert!(values != data, "{path} did nothing");
            };
            check("scalar", &|values, pending| kernel.run(&words, values, pending));
            check("widest", &|values, pending| run(&kernel, &words, values, pending));
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the feature was just detected.
                check("avx2", &|values, pending| unsafe {
                    x86::run_avx2(&kernel, &words, values, pending);
                });
            }
        }
    }

    #[test]
    fn samples_are_the_same_bits_however_wide() {
        let kernel = Kernel::new(Tail::Gaussian, 1.0, Grid::new(0).unwrap());
        let mut words = vec![0; 4099];
        NoiseRng::deterministic_not_private(104).stream().fill_words(&mut words);
        let edges = [0, 1, u64::MAX, u64::MAX - 1, 1 << 55, (1 << 55) - 1, (1 << 55) + 1, 3 << 60];
        words[..8].copy_from_slice(&edges);
        let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let expected: Vec<f64> = words.iter().map(|w| kernel.sample(*w)).collect();
        assert_eq!(expected.iter().filter(|x| x.is_nan()).count(), 3 + 7);
        let mut widest = vec![0.0; words.len()];
        samples(&kernel, &words, &mut widest);
        assert!(bits(&widest) == bits(&expected));
        let (eights, count) = (words.as_chunks().0, words.len() / 8 * 8);
        if is_x86_feature_detected!("avx2") {
            let mut out = vec![0.0; count];
            // SAFETY: the feature was just detected.
            unsafe { x86::samples_avx2(&kernel, eights, out.as_chunks_mut().0) };
            assert!(bits(&out) == bits(&expected[..count]));
        }
    }

    #[test]
    fn masked_inputs_round_as_the_grid_does() {
        let grid = Grid::new(-7).unwrap();
        let kernel = Kernel::new(Tail::Gaussian, 2f64.powi(23), grid);
        let half = 0.5 * grid.spacing();
        let edges =
            [0.0, 5e-324, f64::MIN_POSITIVE, half.next_down(), half, half.next_up(), 3.0 * half];
        for x in edges.into_iter().chain((0..2000).map(|i| f64::from(i) * 0.37 * half)) {
            for x in [x, -x] {
                let (got, expected) = (kernel.on.sum(x, 0), grid.round(x));
                assert_eq!(got.to_bits(), expected.to_bits(), "{x:e}: {got:e}, {expected:e}");
            }
        }
    }

    /// What the fast path leaves is rounded once more by the exact one.
    #[test]
    fn rounding_again_changes_nothing() {
        for exponent in [-960, -30, 0, 300, 960] {
            let grid = Grid::new(exponent).unwrap();
            // Scales beyond the fast path: nothing is added.
            let kernel = Kernel::new(Tail::Gaussian, 2f64.powi(exponent.max(-1000) + 50), grid);
            assert!(kernel.limit < 0.0);
            let steps = (0..400).map(|i| f64::from(i) * 0.37 * 2f64.powi(i % 60));
            let ends = [f64::NAN, f64::INFINITY, f64::MAX, f64::MIN_POSITIVE, 5e-324];
            for x in steps.map(|x| x * grid.spacing()).chain(ends) {
                for x in [x, -x] {
                    let mut left = [x; 8];
                    let mut pending = [0];
                    run(&kernel, &[1 << 62; 8], &mut left, &mut pending);
                    let once = kernel.on.sum(x, 0);
                    assert!(pending == [255] && left.iter().all(|l| l.to_bits() == once.to_bits()));
                    for noise in [0, 1, -77, 1 << 40] {
                        let (again, one) = (kernel.on.sum(left[0], noise), kernel.on.sum(x, noise));
                        assert_eq!(again.to_bits(), one.to_bits(), "{x:e}, 2^{exponent}");
                    }
                }
            }
        }
    }
}
