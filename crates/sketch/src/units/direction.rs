//! From a row to its direction, a vector of integers.
//!
//! Nothing here is about privacy: the theorem holds for any two directions, whatever rule makes one of a row.

use crate::error::Result;
use crate::projection::SharedProjection;
use crate::rows::RowsView;
use dp_core::NormBound;
use rayon::prelude::*;

/// Bits of the largest number of a direction.
const BITS: i32 = 40;

/// `2^BITS`.
const ONE: f64 = (1u64 << BITS) as f64;

/// The rule: a projection, and the length that is kept, if one is.
#[derive(Debug, Clone)]
pub(super) struct Directions {
    pub(super) projection: SharedProjection,
    pub(super) lengths: Option<NormBound>,
}

impl Directions {
    /// Numbers of a direction.
    pub(super) fn width(&self) -> usize {
        self.projection.spec().k() + usize::from(self.lengths.is_some())
    }

    /// The directions of some rows, one after the other.
    pub(super) fn of(&self, rows: RowsView<'_>) -> Result<Vec<i64>> {
        let (n, d, k) = (rows.n(), rows.d(), self.projection.spec().k());
        let mut dense = vec![0.0; n * d];
        dense.par_chunks_exact_mut(d).enumerate().for_each(|(i, x)| {
            rows.copy_row(i, x);
            match self.lengths {
                Some(bound) => x.iter_mut().for_each(|x| *x /= bound.get()),
                // The direction is that of any multiple; this one neither over- nor underflows.
                None => drop(scale(x, 0)),
            }
        });
        let mut image = vec![0.0; n * k];
        self.projection.apply(RowsView::f64(n, d, &dense)?, &mut image)?;
        let mut all = vec![0; n * self.width()];
        let rows = all.par_chunks_exact_mut(self.width()).zip(image.par_chunks_exact_mut(k));
        rows.for_each(|(out, y)| {
            if self.lengths.is_some() {
                let rest = (1.0 - y.iter().map(|y| y * y).sum::<f64>()).max(0.0).sqrt();
                y.iter_mut().for_each(|y| *y *= ONE);
                out[k] = whole(rest * ONE);
            } else if !scale(y, BITS) {
                // No direction: a public one.
                y[0] = ONE;
            }
            out.iter_mut().zip(y).for_each(|(out, y)| *out = whole(*y));
        });
        Ok(all)
    }
}

/// Multiplies by the power of two that brings the largest absolute value into `[2^bits, 2^(bits + 1))`; false for zeros.
fn scale(x: &mut [f64], bits: i32) -> bool {
    let largest = x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if largest == 0.0 {
        return false;
    }
    // In two steps, so that neither factor is beyond the range of exponents.
    let power = bits - libm::ilogb(largest);
    let [half, rest] = [power / 2, power - power / 2].map(|power| 2f64.powi(power));
    x.iter_mut().for_each(|x| *x = *x * half * rest);
    true
}

/// The nearest integer (ties to even) of a number up to `2^51`: floats from `2^52` to `2^53` are the integers there.
fn whole(x: f64) -> i64 {
    const MIDDLE: f64 = (3u64 << 51) as f64;
    (x + MIDDLE).to_bits() as i64 - MIDDLE.to_bits() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::{Family, ProjectionSpec};
    use dp_core::PublicSeed;

    fn identity(d: usize, lengths: Option<f64>) -> Directions {
        let spec = ProjectionSpec::new(Family::Identity, d, d, PublicSeed::new(1)).unwrap();
        let lengths = lengths.map(|b| NormBound::new(b).unwrap());
        Directions { projection: spec.build(), lengths }
    }

    #[test]
    fn directions_do_not_depend_on_the_length_of_a_row() {
        let rule = identity(3, None);
        let of = |x: &[f64]| rule.of(RowsView::f64(1, 3, x).unwrap()).unwrap();
        let one = 1i64 << BITS;
        for s in [1.0, 2f64.powi(1000), 2f64.powi(-1060), -1.0] {
            let sign = if s < 0.0 { -1 } else { 1 };
            assert_eq!(of(&[s, -0.5 * s, 0.0]), [sign * one, -sign * one / 2, 0], "{s}");
        }
        assert_eq!(of(&[5e-324, 0.0, -5e-324]), [one, 0, -one]);
        assert_eq!(of(&[f64::MAX, 1.0, 0.0])[1], 0);
        assert_eq!(of(&[0.0, -0.0, 0.0]), [one, 0, 0], "the public direction");
    }

    #[test]
    fn lengths_are_kept_in_one_more_number() {
        let rule = identity(2, Some(10.0));
        let of = |x: &[f64]| rule.of(RowsView::f64(1, 2, x).unwrap()).unwrap();
        let part = |x: f64| whole(x * 2f64.powi(BITS));
        assert_eq!(of(&[6.0, 0.0]), [part(0.6), 0, part(0.8)]);
        assert_eq!(of(&[0.0, 0.0]), [0, 0, 1 << BITS]);
        assert_eq!(of(&[6.0, 8.0])[2], 0);
        assert_eq!(
            identity(2, Some(1e308)).of(RowsView::f64(1, 2, &[5e-324, 0.0]).unwrap()).unwrap()[0],
            0
        );
    }
}
