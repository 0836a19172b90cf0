//! The parts of an `f64`; sums and squares on the safe side.

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

/// mu^2, which must not vanish by underflow: no sensitivity is zero.
pub(crate) fn square_of(mu: f64) -> f64 {
    (mu * mu).max(f64::MIN_POSITIVE)
}

/// A sum of `terms` positive numbers, rounded up: each was off by a few ulps, each addition by one.
pub(crate) fn added(sum: f64, terms: usize) -> f64 {
    sum * (1.0 + (terms as f64 + 8.0) * f64::EPSILON)
}

/// A sum of positive numbers within two roundings, however many they are (Kahan 1965).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Compensated {
    sum: f64,
    carry: f64,
}

impl Compensated {
    pub(crate) fn of(first: f64) -> Self {
        Self { sum: first, carry: 0.0 }
    }

    /// The sum with one number more.
    pub(crate) fn add(&mut self, part: f64) -> f64 {
        let corrected = part - self.carry;
        let next = self.sum + corrected;
        self.carry = (next - self.sum) - corrected;
        self.sum = next;
        next
    }

    pub(crate) fn value(self) -> f64 {
        self.sum
    }

    pub(crate) fn times(self, factor: f64) -> Self {
        Self { sum: self.sum * factor, carry: self.carry * factor }
    }
}
