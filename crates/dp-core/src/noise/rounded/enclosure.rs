//! Rigorous enclosures of tail probabilities, in fixed point on exact integers.
//!
//! A real x is enclosed by integers `low <= x 2^P <= high`; every operation rounds
//! `low` down and `high` up.

use super::Tail;
use dashu_base::SquareRoot;
use dashu_int::UBig;
use std::sync::OnceLock;

/// `low <= x 2^P <= high`.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::noise) struct Enclosure {
    pub(in crate::noise) low: UBig,
    pub(in crate::noise) high: UBig,
}

/// The tail probability `Pr[|Z| > y]` at `y` (enclosed at precision `bits`).
pub(in crate::noise) fn survival(tail: Tail, y: &Enclosure, bits: usize) -> Enclosure {
    let one = UBig::ONE << bits;
    match tail {
        // exp(-y) = sum (-y)^i / i!
        Tail::Laplace => {
            let first = Enclosure { low: one.clone(), high: one };
            alternating(first, y, |_| 1, bits)
        }
        // 1 - sqrt(2/pi) sum (-1)^i y (y^2/2)^i / (i! (2i+1))
        Tail::Gaussian => {
            let half_square = Enclosure {
                low: (&y.low * &y.low) >> (bits + 1),
                high: ((&y.high * &y.high) >> (bits + 1)) + 1u8,
            };
            let sum = alternating(y.clone(), &half_square, |i| 2 * i + 1, bits);
            let c = root_two_over_pi(bits);
            let low = (&sum.low * &c.low) >> bits;
            let high = ((&sum.high * &c.high) >> bits) + 1u8;
            Enclosure { low: below(&one, &high), high: below(&one, &low) }
        }
    }
}

/// `sum (-1)^i first x^i / (i! divisor(i))` for nonnegative `first`, `x` and increasing divisors.
fn alternating(
    first: Enclosure,
    x: &Enclosure,
    divisor: impl Fn(u64) -> u64,
    bits: usize,
) -> Enclosure {
    let turn = u64::try_from(&x.high >> bits).expect("arguments below 2^64") + 1;
    let (mut low, mut high) = (first.low, first.high);
    // Sums of the even terms and of the odd terms.
    let mut sums = [(UBig::ZERO, UBig::ZERO), (UBig::ZERO, UBig::ZERO)];
    for i in 0u64.. {
        let d = divisor(i);
        let sum = &mut sums[(i % 2) as usize];
        sum.0 += &low / d;
        sum.1 += &high / d + 1u8;
        low = ((&low * &x.low) >> bits) / (i + 1);
        high = (((&high * &x.high) >> bits) + 1u8) / (i + 1) + 1u8;
        // From here on the terms shrink: what is left is at most the next one.
        if i >= turn && high <= UBig::from(4u8) {
            sums[0].1 += &high;
            sums[1].1 += &high;
            break;
        }
    }
    let [even, odd] = sums;
    Enclosure { low: below(&even.0, &odd.1), high: below(&even.1, &odd.0) }
}

/// a - b, or zero when that is negative.
fn below(a: &UBig, b: &UBig) -> UBig {
    if a > b { a - b } else { UBig::ZERO }
}

/// sqrt(2/pi), remembered at the precisions that are nearly always enough.
fn root_two_over_pi(bits: usize) -> Enclosure {
    static KEPT: [OnceLock<Enclosure>; 16] = [const { OnceLock::new() }; 16];
    let compute = || {
        let pi = pi(bits);
        let numerator = UBig::from(2u8) << (3 * bits);
        Enclosure {
            low: (&numerator / &pi.high).sqrt(),
            high: (&numerator / &pi.low + 1u8).sqrt() + 1u8,
        }
    };
    match KEPT.get(bits / 32).filter(|_| bits.is_multiple_of(32)) {
        Some(kept) => kept.get_or_init(compute).clone(),
        None => compute(),
    }
}

/// The precision a comparison starts with.
pub(in crate::noise) const FIRST_PRECISION: usize = 128;

/// pi = 16 arctan(1/5) - 4 arctan(1/239) (Machin), with 32 guard bits.
fn pi(bits: usize) -> Enclosure {
    let guard = 32;
    let one = UBig::ONE << (bits + guard);
    let arctan = |k: u64| {
        let mut power = &one / k;
        let mut sums = [UBig::ZERO, UBig::ZERO];
        let mut terms = 0u64;
        while power != UBig::ZERO {
            sums[(terms % 2) as usize] += &power / (2 * terms + 1);
            power /= k * k;
            terms += 1;
        }
        // Each term lost less than 2 units, and so did the rest of the series.
        (&sums[0] - &sums[1], 2 * terms + 2)
    };
    let ((five, error_five), (other, error_other)) = (arctan(5), arctan(239));
    let value = five * 16u8 - other * 4u8;
    let error = UBig::from(16 * error_five + 4 * error_other);
    Enclosure { low: (&value - &error) >> guard, high: ((value + error) >> guard) + 1u8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `floor(pi 2^256)` by another language; at fewer bits its first digits, and one more.
    #[test]
    fn pi_and_its_root_lie_within() {
        let digits = "3243f6a8885a308d313198a2e03707344a4093822299f31d0082efa98ec4e6c89";
        let known = UBig::from_str_radix(digits, 16).unwrap();
        for bits in 1..=224 {
            let (found, below) = (pi(bits), &known >> (256 - bits));
            assert!(found.low <= below && below < found.high, "{bits}");
            assert!(&found.high - &found.low <= UBig::from(2u8), "{bits}");
            // c^2 pi = 2 lies between what the ends give.
            let c = root_two_over_pi(bits);
            let two = UBig::from(2u8) << (3 * bits);
            assert!(&c.low * &c.low * &below <= two, "{bits}");
            assert!(&c.high * &c.high * (&below + 1u8) >= two, "{bits}");
        }
    }

    /// At every precision, the coarse ones too, in which each unit counts: what is finer lies within.
    #[test]
    fn coarse_enclosures_hold_the_fine_ones() {
        const FINE: usize = 192;
        let at = |y: u64, bits: usize| {
            let y = UBig::from(y) << (FINE - bits);
            Enclosure { low: y.clone(), high: y }
        };
        for tail in [Tail::Laplace, Tail::Gaussian] {
            for bits in 2..=9 {
                for y in 0..6 << bits {
                    let coarse =
                        |y: &Enclosure| (&y.low >> (FINE - bits), &y.high >> (FINE - bits));
                    let (low, high) = coarse(&at(y, bits));
                    let found = survival(tail, &Enclosure { low, high }, bits);
                    let exact = survival(tail, &at(y, bits), FINE);
                    let [low, high] = [found.low, found.high].map(|end| end << (FINE - bits));
                    assert!(low <= exact.low && exact.high <= high, "{tail:?} at {y} / 2^{bits}");
                }
            }
        }
    }
}
