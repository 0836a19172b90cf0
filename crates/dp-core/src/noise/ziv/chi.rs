//! The root of a chi-square variable.

use super::normal::{ETA, Normals, enclose};
use super::{Ball, Bits, Path, U, first_decided, uniform};
use crate::noise::rounded::{Enclosure, Tail, survival};
use dashu_int::{IBig, UBig};

/// A draw of the chi law: which samples it is made of.
///
/// Up to [`Chi::SQUARES`] degrees of freedom m: the root of the sum of the squares of samples `first..first + m`.
/// Above: Marsaglia and Tsang's `2 d (1 + c Z)^3`, `d = (3m - 2)/6`, `c^2 = 1/(9d)`; attempt k takes normal
/// `first + 2k` and uniform `first + 2k + 1`, and is accepted if `U < exp(h(Z))`, decided exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::noise) struct Chi {
    dof: u64,
    /// The first sample, or the accepted normal.
    pub(super) at: u64,
}

impl Chi {
    /// Most degrees of freedom that are drawn as a sum of squares.
    pub(in crate::noise) const SQUARES: u64 = 32;
    /// Samples that nearly always suffice.
    pub(in crate::noise) const USUAL: usize = Self::SQUARES as usize;

    /// The draw that samples `first..` define. `dof` is in `[1, 2^40]`.
    pub(in crate::noise) fn draw(
        path: Path,
        normals: &Normals,
        bits: &impl Bits,
        dof: u64,
        first: u64,
    ) -> Self {
        let mut chi = Self { dof, at: first };
        if dof > Self::SQUARES {
            while !chi.is_accepted(path, normals, bits) {
                chi.at += 2;
            }
        }
        chi
    }

    /// 3m - 2, six times d.
    fn six_d(self) -> u64 {
        3 * self.dof - 2
    }

    /// c = sqrt(2 / (3 (3m - 2))), within two parts in `2^53`.
    fn c(self) -> f64 {
        (2.0 / (3.0 * self.six_d() as f64)).sqrt()
    }

    fn is_accepted(self, path: Path, normals: &Normals, bits: &impl Bits) -> bool {
        // -h(z) <= z^4 / (108 d (1 - |c z|)) and exp(h) >= 1 + h: nearly always enough.
        let z = normals.approximate(bits, self.at).abs() + ETA;
        let x = self.c() * z;
        if path == Path::Fast && x <= 0.5 {
            let least = 1.0 - 1.001 * z.powi(4) / (18.0 * self.six_d() as f64 * (1.0 - x));
            let u = ((bits.word(self.at + 1, 0) >> 11) + 1) as f64 * 2f64.powi(-53);
            if u < least - f64::EPSILON {
                return true;
            }
        }
        first_decided(|precision| self.accepts(bits, precision))
    }

    /// 1 + c Z.
    fn base(self, bits: &impl Bits, precision: usize) -> Option<Ball> {
        let z = enclose(bits, self.at, precision);
        // c = sqrt(6 s) / (3 s), s = 3m - 2: the root of a large number, which loses no bits.
        let root = Ball::integer(6 * self.six_d(), precision).sqrt()?;
        let c = root.over(&UBig::from(3 * self.six_d()));
        Some(c.mul(&z).add(&Ball::integer(1, precision)))
    }

    /// Whether `U < exp(h)`, `-h = 3d (x^3/3 - x^2/2 + x - ln(1 + x))`; none when that is not decided yet.
    fn accepts(self, bits: &impl Bits, precision: usize) -> Option<bool> {
        let one = Ball::integer(1, precision);
        let t = self.base(bits, precision)?;
        if t.is_at_most_zero() {
            return Some(false);
        }
        let x = t.sub(&one);
        // ln(1 + x) = 2 artanh(y), y = x / (2 + x).
        let y = x.mul(&t.add(&one).reciprocal()?);
        let ln = artanh(&y)?.shift(1);
        let square = x.mul(&x);
        let cube = square.mul(&x).over(&UBig::from(3u8));
        let sum = cube.sub(&square.shift(-1)).add(&x).sub(&ln);
        let (low, high) = sum.times(&IBig::from(self.six_d())).shift(-1).ends();
        let floor = |n: IBig| UBig::try_from(n).unwrap_or(UBig::ZERO);
        let loss = Enclosure { low: floor(low), high: floor(high) };
        let least = survival(Tail::Laplace, &loss, precision);
        let u = uniform(bits, self.at + 1, 0, precision);
        if u.high <= least.low {
            Some(true)
        } else if u.low >= least.high {
            Some(false)
        } else {
            None
        }
    }

    /// The root in floating point, and a bound on its distance from the real one.
    pub(in crate::noise) fn approximate(self, normals: &Normals, bits: &impl Bits) -> (f64, f64) {
        if self.dof <= Self::SQUARES {
            let z = (self.at..self.at + self.dof).map(|i| normals.approximate(bits, i).abs());
            let (sum, of_squares) =
                z.fold((0.0, 0.0), |(sum, squares), z| (sum + z, squares + z * z));
            let root = of_squares.sqrt();
            let m = self.dof as f64;
            let error = 2.0 * ETA * sum + m * ETA * ETA + (m + 1.0) * U * of_squares;
            return (root, error / root + 2.0 * U * root);
        }
        let x = self.c() * normals.approximate(bits, self.at);
        let t = 1.0 + x;
        let root = (self.six_d() as f64 / 3.0 * t).sqrt() * t;
        let error = self.c() * ETA + 8.0 * U;
        if x.abs() <= 0.5 {
            (root, root * (1.6 * error / t + 8.0 * U))
        } else {
            (f64::NAN, f64::NAN)
        }
    }

    /// The root; none when more precision is needed.
    pub(in crate::noise) fn enclose(self, bits: &impl Bits, precision: usize) -> Option<Ball> {
        if self.dof <= Self::SQUARES {
            let squares = (self.at..self.at + self.dof).map(|i| {
                let z = enclose(bits, i, precision);
                z.mul(&z)
            });
            return squares.reduce(|a, b| a.add(&b))?.sqrt();
        }
        let t = self.base(bits, precision)?;
        let square = t.times(&IBig::from(self.six_d())).over(&UBig::from(3u8));
        Some(square.sqrt()?.mul(&t))
    }
}

/// `sum y^(2k+1) / (2k+1)`; none unless `|y| < 1` for all of the ball.
fn artanh(y: &Ball) -> Option<Ball> {
    let square = y.mul(y);
    let bits = y.bits();
    let one = UBig::ONE << bits;
    let ratio = square.magnitude();
    if ratio >= one {
        return None;
    }
    let (mut power, mut sum) = (y.clone(), y.clone());
    for k in 1u64.. {
        power = power.mul(&square);
        let rest = power.magnitude();
        if rest <= UBig::from(4u8) || k > 1 << 20 {
            // What is left is at most a geometric series of that ratio.
            let left = (rest << bits) / (&one - &ratio) + 1u8;
            return Some(sum.add(&Ball::new(IBig::ZERO, left, bits)));
        }
        sum = sum.add(&power.over(&UBig::from(2 * k + 1)));
    }
    None
}
