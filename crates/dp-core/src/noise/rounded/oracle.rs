//! A second, slow but bearable way to tail probabilities, for tests: fixed point with 112
//! fractional bits, Taylor series around anchors at distance 1/128 that come from the
//! enclosures at 256 bits.

use super::Tail;
use super::enclosure::{Enclosure, survival};
use dashu_base::SquareRoot;
use dashu_int::UBig;

/// Fractional bits.
pub(super) const BITS: usize = 112;
/// Distance of the returned tail probability from the true one, in units of 2^-112: one
/// for each truncated product and coefficient, and the remainder of the series.
pub(super) const ERROR: i128 = 1 << 8;
const TERMS: usize = 18;
const STEP: usize = 7;
const FINE: usize = 256;

pub(super) struct Oracle {
    anchors: Vec<[i128; TERMS]>,
}

impl Oracle {
    /// Covers `y < reach`.
    pub(super) fn new(tail: Tail, reach: u64) -> Self {
        let anchors = (0..=reach << STEP).map(|j| coefficients(tail, j)).collect();
        Self { anchors }
    }

    /// The tail probability at `y` (112 fractional bits), within [`ERROR`].
    pub(super) fn survival(&self, y: u128) -> i128 {
        let anchor = (y >> (BITS - STEP)) as usize;
        let h = y & ((1 << (BITS - STEP)) - 1);
        let coefficients = &self.anchors[anchor];
        let mut sum = coefficients[TERMS - 1];
        for c in coefficients[..TERMS - 1].iter().rev() {
            sum = c + times(sum, h);
        }
        sum
    }
}

/// a h / 2^112, towards zero.
fn times(a: i128, h: u128) -> i128 {
    let (x, sign) = (a.unsigned_abs(), a.signum());
    let split = |x: u128| (x >> 64, x & u128::from(u64::MAX));
    let ((x1, x0), (h1, h0)) = (split(x), split(h));
    let ((a1, a0), (b1, b0)) = (split(x1 * h0), split(x0 * h1));
    let (carry, middle) = split(split(x0 * h0).0 + a0 + b0);
    let high = x1 * h1 + a1 + b1 + carry;
    let product = (high << (128 - BITS)) | (middle >> (BITS - 64));
    sign * product as i128
}

/// Taylor coefficients of the tail probability at j / 128.
fn coefficients(tail: Tail, j: u64) -> [i128; TERMS] {
    let fixed = |e: &Enclosure| i128::try_from(&e.low >> (FINE - BITS)).unwrap();
    let point = |numerator: u64, log2: usize| {
        let exact = UBig::from(numerator) << (FINE - log2);
        Enclosure { low: exact.clone(), high: exact }
    };
    let s = survival(tail, &point(j, STEP), FINE);
    assert!(&s.high - &s.low < UBig::ONE << (FINE - BITS));
    let mut out = [0; TERMS];
    out[0] = fixed(&s);
    match tail {
        Tail::Laplace => {
            let mut last = out[0];
            for (n, c) in (1i128..).zip(&mut out[1..]) {
                last = -last / n;
                *c = last;
            }
        }
        Tail::Gaussian => {
            let e = survival(Tail::Laplace, &point(j * j, 2 * STEP + 1), FINE);
            let density = e.low * root_two_over_pi();
            let psi = i128::try_from(density >> (2 * FINE - BITS)).unwrap();
            // exp(-yu - u^2/2) = sum a_n u^n, a_(n+1) = -(y a_n + a_(n-1)) / (n + 1).
            let y = u128::from(j) << (BITS - STEP);
            let (mut before, mut a) = (0i128, psi);
            for (n, c) in (1i128..).zip(&mut out[1..]) {
                *c = -a / n;
                let next = -(times(a, y) + before) / n;
                (before, a) = (a, next);
            }
        }
    }
    out
}

/// sqrt(2/pi) with 256 fractional bits, pi by the arithmetic-geometric mean: another
/// route than the enclosures take.
fn root_two_over_pi() -> UBig {
    static ROOT: std::sync::OnceLock<UBig> = std::sync::OnceLock::new();
    ROOT.get_or_init(|| {
        let bits = FINE + 32;
        let one = UBig::ONE << bits;
        let mut a = one.clone();
        let mut b = (UBig::ONE << (2 * bits - 1)).sqrt();
        let (mut t, mut p) = (&one >> 2, 0usize);
        for _ in 0..9 {
            let next = (&a + &b) >> 1;
            b = (&a * &b).sqrt();
            let d = &a - &next;
            t -= ((&d * &d) >> bits) << p;
            a = next;
            p += 1;
        }
        let sum = &a + &b;
        let pi = (&sum * &sum) / (t << 2);
        (((UBig::from(2u8) << (2 * bits)) / pi) << bits).sqrt() >> (bits - FINE)
    })
    .clone()
}
