//! The parts of an `f64`.

/// An `f64` that is positive and finite, as `mantissa * 2^exponent` with an odd mantissa.
pub(crate) fn decompose(x: f64) -> (u64, i32) {
    let bits = x.to_bits();
    let (field, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    let (mantissa, exponent) =
        if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
    let twos = mantissa.trailing_zeros();
    (mantissa >> twos, exponent + twos as i32)
}

/// The largest e with `2^e <= x`, for positive finite x.
pub(crate) fn floor_log2(x: f64) -> i32 {
    let (mantissa, exponent) = decompose(x);
    exponent + 63 - mantissa.leading_zeros() as i32
}
