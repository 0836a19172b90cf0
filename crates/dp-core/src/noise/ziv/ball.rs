//! Rigorous real arithmetic: fixed point on exact integers, with a bound on the error.

use crate::noise::exact::decompose;
use dashu_base::{SquareRoot, UnsignedAbs};
use dashu_int::{IBig, UBig};

/// The reals x with `|x 2^bits - mid| <= rad`.
///
/// Every operation gives a ball that holds the result for all reals of its arguments, which
/// must have the same number of bits.
#[derive(Debug, Clone)]
pub(in crate::noise) struct Ball {
    mid: IBig,
    rad: UBig,
    bits: usize,
}

impl Ball {
    pub(in crate::noise) fn new(mid: IBig, rad: UBig, bits: usize) -> Self {
        Self { mid, rad, bits }
    }

    /// The integer n.
    pub(in crate::noise) fn integer(n: impl Into<IBig>, bits: usize) -> Self {
        Self::new(n.into() << bits, UBig::ZERO, bits)
    }

    /// `n 2^exponent`.
    pub(in crate::noise) fn dyadic(n: IBig, exponent: i64, bits: usize) -> Self {
        Self::new(n, UBig::ZERO, bits).shift(exponent + bits as i64)
    }

    /// An `f64`, which must be finite.
    pub(in crate::noise) fn float(x: f64, bits: usize) -> Self {
        if x == 0.0 {
            return Self::integer(0, bits);
        }
        let (mantissa, exponent) = decompose(x.abs());
        let n = IBig::from(mantissa);
        Self::dyadic(if x < 0.0 { -n } else { n }, i64::from(exponent), bits)
    }

    pub(in crate::noise) fn bits(&self) -> usize {
        self.bits
    }

    pub(in crate::noise) fn add(&self, other: &Self) -> Self {
        Self::new(&self.mid + &other.mid, &self.rad + &other.rad, self.bits)
    }

    pub(in crate::noise) fn sub(&self, other: &Self) -> Self {
        Self::new(&self.mid - &other.mid, &self.rad + &other.rad, self.bits)
    }

    pub(in crate::noise) fn negate(self) -> Self {
        Self { mid: -self.mid, ..self }
    }

    pub(in crate::noise) fn mul(&self, other: &Self) -> Self {
        // |xy - mn| <= |m| s + |n| r + r s; one more for each of the two roundings.
        let cross = (&self.mid).unsigned_abs() * &other.rad
            + (&other.mid).unsigned_abs() * &self.rad
            + &self.rad * &other.rad;
        let mid = (&self.mid * &other.mid) >> self.bits;
        Self::new(mid, (cross >> self.bits) + 2u8, self.bits)
    }

    /// Times the integer n.
    pub(in crate::noise) fn times(&self, n: &IBig) -> Self {
        Self::new(&self.mid * n, &self.rad * n.unsigned_abs(), self.bits)
    }

    /// Over the positive integer n.
    pub(in crate::noise) fn over(&self, n: &UBig) -> Self {
        // Integer division and the radius lose less than one each.
        Self::new(&self.mid / n, &self.rad / n + 2u8, self.bits)
    }

    /// Times `2^power`.
    pub(in crate::noise) fn shift(self, power: i64) -> Self {
        let by = power.unsigned_abs() as usize;
        if power >= 0 {
            Self::new(self.mid << by, self.rad << by, self.bits)
        } else {
            let exact = self.rad == UBig::ZERO && {
                let back = &self.mid >> by;
                (back << by) == self.mid
            };
            let lost = if exact { UBig::ZERO } else { (self.rad >> by) + 2u8 };
            Self::new(self.mid >> by, lost, self.bits)
        }
    }

    /// The square root; none unless every real of the ball is positive.
    pub(in crate::noise) fn sqrt(&self) -> Option<Self> {
        if !self.is_positive() {
            return None;
        }
        // |sqrt x - sqrt m| <= r / sqrt m.
        let root = ((&self.mid).unsigned_abs() << self.bits).sqrt();
        let rad = (&self.rad << self.bits) / &root + 2u8;
        Some(Self::new(IBig::from(root), rad, self.bits))
    }

    /// `1/x`; none unless every real of the ball is positive.
    pub(in crate::noise) fn reciprocal(&self) -> Option<Self> {
        if !self.is_positive() {
            return None;
        }
        // |1/x - 1/m| <= r / (m (m - r)).
        let mid = (&self.mid).unsigned_abs();
        let one = UBig::ONE << (2 * self.bits);
        let rad = (&self.rad * &one) / (&mid * (&mid - &self.rad)) + 2u8;
        Some(Self::new(IBig::from(one / mid), rad, self.bits))
    }

    pub(in crate::noise) fn is_positive(&self) -> bool {
        self.mid > IBig::from(self.rad.clone())
    }

    /// Whether no real of the ball is positive.
    pub(in crate::noise) fn is_at_most_zero(&self) -> bool {
        -&self.mid >= IBig::from(self.rad.clone())
    }

    /// The ends, in units of `2^-bits`.
    pub(in crate::noise) fn ends(&self) -> (IBig, IBig) {
        let rad = IBig::from(self.rad.clone());
        (&self.mid - &rad, &self.mid + rad)
    }

    /// The largest absolute value, in units of `2^-bits`.
    pub(in crate::noise) fn magnitude(&self) -> UBig {
        (&self.mid).unsigned_abs() + &self.rad
    }

    /// The integer n with `n - 1/2 <= x < n + 1/2` for every x of the ball, if there is one that fits.
    pub(in crate::noise) fn nearest(&self) -> Option<i128> {
        let half = IBig::ONE << (self.bits - 1);
        let (low, high) = self.ends();
        let (low, high) = ((low + &half) >> self.bits, (high + half) >> self.bits);
        (low == high).then(|| i128::try_from(low).expect("samples lie far within 128 bits"))
    }

    /// The middle, rounded.
    pub(in crate::noise) fn to_f64(&self) -> f64 {
        scaled(&self.mid, -(self.bits as i64))
    }
}

/// `n 2^power` as an `f64`, within one part in `2^53` where that is a normal number.
pub(super) fn scaled(n: &IBig, power: i64) -> f64 {
    let (top, power) = if let Ok(n) = i64::try_from(n) {
        (n as f64, power)
    } else if let Ok(n) = i128::try_from(n) {
        (n as f64, power)
    } else {
        // So that the integer neither overflows nor loses bits twice.
        let cut = dashu_base::BitTest::bit_len(&n.unsigned_abs()) - 127;
        ((n >> cut).to_f64().value(), power + cut as i64)
    };
    let [half, rest] = halves(power);
    top * half * rest
}

/// `2^power` in two factors, neither of which overflows.
pub(super) fn halves(power: i64) -> [f64; 2] {
    let half = (power / 2).clamp(-1000, 1000);
    [half, (power - half).clamp(-1000, 1000)].map(|e| f64::from_bits(((e + 1023) as u64) << 52))
}
