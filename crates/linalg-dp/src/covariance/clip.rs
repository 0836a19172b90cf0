//! Rows clipped to a public norm bound, as integers times a public power of two.

use crate::error::{Error, Result};
use dp_core::profile::RowChange;
use dp_core::{Adjacency, NormBound, PublicValue};

/// The bound is at most `2^STEPS` units; a rounded row is longer by at most one part in 1000,
/// and `1024 * 2^42 * 1.001^2 < 2^53`.
const STEPS: i32 = 21;
/// Largest dimension: the rounding margin of the clip stays below 1/1000.
const MAX_DIM: usize = 1 << 20;

/// Clips rows to norm `bound` and rounds them to integers times a unit.
///
/// A row longer than the bound is scaled to it. The rounded row `q` has
/// `unit ||q||_2 <= certified_bound` in exact arithmetic: the bound and what rounding adds, about one
/// part in `10^6` at moderate dimension. How many rows were longer is never reported: that number is
/// private.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowClip {
    dim: usize,
    bound: f64,
    exponent: i32,
    certified: NormBound,
    /// A number that every row is followed by, in units; none where it is zero.
    constant: u32,
}

/// The least bound of [`answerable`], 2^-100.
pub(super) const LEAST_ANSWERABLE: f64 = 7.888_609_052_210_118e-31;

/// A bound whose eighth power is a number, and one over it.
pub(crate) fn answerable(name: &'static str, bound: f64) -> Result<f64> {
    if (LEAST_ANSWERABLE..=1.0 / LEAST_ANSWERABLE).contains(&bound) {
        return Ok(bound);
    }
    let allowed = "[2^-100, 2^100] where means or coefficients are to be told: scale the data";
    Err(Error::invalid(name, bound, allowed))
}

impl RowClip {
    /// Clips rows of length `dim` to norm `bound`.
    ///
    /// # Errors
    /// `dim` outside `[1, 2^20]`, or a bound outside `[2^-400, 2^400]`.
    pub fn new(dim: usize, bound: NormBound) -> Result<Self> {
        if dim == 0 || dim > MAX_DIM {
            return Err(Error::invalid("dimension", dim, "[1, 2^20]"));
        }
        let b = bound.get();
        if !(2f64.powi(-400)..=2f64.powi(400)).contains(&b) {
            return Err(Error::invalid("bound", b, "[2^-400, 2^400]"));
        }
        // b < 2^(exponent + STEPS).
        let exponent = b.log2().floor() as i32 + 1 - STEPS;
        let exponent = if b >= 2f64.powi(exponent + STEPS) { exponent + 1 } else { exponent };
        let unit = 2f64.powi(exponent);
        let rounding = 0.5 * (dim as f64).sqrt() * unit / b;
        let arithmetic = (dim as f64 + 16.0) * f64::EPSILON;
        let certified = NormBound::new(b * (1.0 + 1.0001 * rounding + arithmetic))?;
        Ok(Self { dim, bound: b, exponent, certified, constant: 0 })
    }

    /// Lets every clipped row be followed by `constant`: the certified bound becomes that of both.
    ///
    /// # Errors
    /// A constant that is no whole number of units from 1 to `2^21`.
    pub(crate) fn followed_by(self, constant: f64) -> Result<Self> {
        let units = constant / 2f64.powi(self.exponent);
        if !(1.0..=2f64.powi(STEPS)).contains(&units) || units.fract() != 0.0 {
            let allowed = "a multiple of the unit of the rows, in (0, the bound]";
            return Err(Error::invalid("constant", constant, allowed));
        }
        let row = self.certified.get();
        let both = (row * row + constant * constant).sqrt() * (1.0 + 4.0 * f64::EPSILON);
        Ok(Self { constant: units as u32, certified: NormBound::new(both)?, ..self })
    }

    /// Refuses rows so long that this machine has no memory for their sums, before anything is paid: 16 bytes for each pair of columns.
    pub(crate) fn check_room(self) -> Result<Self> {
        let pairs = self.columns().checked_mul(self.columns());
        if pairs.is_some_and(|pairs| Vec::<i128>::new().try_reserve_exact(pairs).is_ok()) {
            return Ok(self);
        }
        let allowed = "so many that 16 d^2 bytes fit in memory: longer rows are for low-rank releases, or for directions";
        Err(Error::invalid("dimension", self.columns(), allowed))
    }

    /// Refuses rows so long or short that quantities of their eighth power, which intervals of means, deviations and coefficients
    /// are made of, leave the range of a number.
    pub(crate) fn check_powers(self) -> Result<Self> {
        Ok(Self { bound: answerable("bound", self.bound)?, ..self })
    }

    /// For rows that were clipped and rounded before: each stays what it is, also where rounding made it longer than the bound.
    pub(crate) fn of_clipped(self) -> Self {
        Self { bound: f64::MAX, ..self }
    }

    /// The constant that means are measured with: 7/16 of the bound, down to a whole number of units. It
    /// raises the noise of second moments by `1 + (7/16)^2 = 1.19`.
    pub(crate) fn constant_for_means(&self) -> f64 {
        let unit = 2f64.powi(self.exponent);
        (0.4375 * self.bound / unit).floor() * unit
    }

    /// What fixes the meaning of sums of clipped rows: length, bound and constant, little-endian.
    pub(crate) fn meaning(&self) -> [u8; 24] {
        let parts = [self.dim as u64, self.bound.to_bits(), u64::from(self.constant)];
        let bytes = parts.map(u64::to_le_bytes);
        core::array::from_fn(|i| bytes[i / 8][i % 8])
    }

    /// The constant, in units; zero for none.
    pub(crate) fn constant_units(&self) -> u32 {
        self.constant
    }

    /// Numbers of a clipped row: [`RowClip::dim`], and one more with a constant.
    pub(crate) fn columns(&self) -> usize {
        self.dim + usize::from(self.constant > 0)
    }

    /// The length of a row.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The norm to which longer rows are scaled.
    pub(crate) fn bound(&self) -> f64 {
        self.bound
    }

    /// What no clipped and rounded row is longer than: the bound of the certificate's profile.
    #[must_use]
    pub(crate) fn certified_bound(&self) -> NormBound {
        self.certified
    }

    /// log2 of the unit.
    #[must_use]
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// Writes the clipped row, in units, and the constant where there is one.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for NaN or infinity.
    pub fn quantise(&self, row: &[f64], out: &mut [f64]) -> Result<()> {
        self.quantise_with(row, row.iter().map(|x| x * x).sum(), out)
    }

    /// As [`RowClip::quantise`], of several rows one after the other: the same numbers. The sums of squares of eight
    /// rows are taken side by side, since each of them has to wait for its own additions.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for NaN or infinity.
    pub(crate) fn quantise_rows(&self, rows: &[f64], out: &mut [f64]) -> Result<()> {
        const SIDE: usize = 8;
        let (d, columns) = (self.dim, self.columns());
        for (rows, out) in rows.chunks(SIDE * d).zip(out.chunks_mut(SIDE * columns)) {
            if rows.len() < SIDE * d {
                let mut few = rows.chunks(d).zip(out.chunks_mut(columns));
                few.try_for_each(|(row, out)| self.quantise(row, out))?;
                continue;
            }
            let side: [&[f64]; SIDE] = core::array::from_fn(|i| &rows[i * d..][..d]);
            let mut squares = [0.0; SIDE];
            for k in 0..d {
                for (square, row) in squares.iter_mut().zip(side) {
                    *square += row[k] * row[k];
                }
            }
            for ((row, square), out) in side.into_iter().zip(squares).zip(out.chunks_mut(columns)) {
                self.quantise_with(row, square, out)?;
            }
        }
        Ok(())
    }

    /// The row whose numbers have this sum of squares.
    fn quantise_with(&self, row: &[f64], square: f64, out: &mut [f64]) -> Result<()> {
        if let Some(last) = out.get_mut(self.dim) {
            *last = f64::from(self.constant);
        }
        if !square.is_finite() {
            return self.quantise_large(row, out);
        }
        let norm = square.sqrt();
        let unit = 2f64.powi(-self.exponent);
        let factor = if norm > self.bound { self.bound / norm * unit } else { unit };
        for (q, x) in out.iter_mut().zip(row) {
            *q = whole(x * factor);
        }
        Ok(())
    }

    /// Rows whose squared norm overflows: scaled down first.
    #[cold]
    fn quantise_large(&self, row: &[f64], out: &mut [f64]) -> Result<()> {
        let largest = row.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        if row.iter().any(|x| !x.is_finite()) {
            return Err(Error::NotFinite { what: "a row" });
        }
        let scaled: Vec<f64> = row.iter().map(|x| x / largest).collect();
        let norm = scaled.iter().map(|x| x * x).sum::<f64>().sqrt();
        let factor = self.bound / norm * 2f64.powi(-self.exponent);
        for (q, x) in out.iter_mut().zip(&scaled) {
            *q = whole(x * factor);
        }
        Ok(())
    }

    /// Checks that a slice holds whole rows and returns how many.
    pub(crate) fn rows_in(&self, rows: &[f64]) -> Result<usize> {
        if rows.len().is_multiple_of(self.dim) {
            Ok(rows.len() / self.dim)
        } else {
            let expected = format!("a multiple of d = {}", self.dim);
            Err(Error::shape("row block", format!("{} values", rows.len()), expected))
        }
    }
}

/// The nearest whole number, ties to even, of a number below `2^51`: the sum has no room for a fraction. (It is what
/// `round_ties_even` gives, without a call where the processor has no instruction for it.)
fn whole(x: f64) -> f64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
    (x + SHIFT) - SHIFT
}

/// The norm of a row, whatever its size.
pub(super) fn norm_of(row: &[f64]) -> f64 {
    let square: f64 = row.iter().map(|x| x * x).sum();
    if square.is_finite() && square >= f64::MIN_POSITIVE {
        return square.sqrt();
    }
    let largest = row.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    largest * row.iter().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt()
}

/// The row bound and the kind of change of the adjacencies a covariance mechanism knows. A row of
/// zeros adds nothing to `A^T A`: `ZeroRow` changes it as `AddRemoveRow` does.
pub(crate) fn row_change(
    adjacency: Adjacency,
    mechanism: &'static str,
) -> Result<(NormBound, RowChange)> {
    match adjacency {
        Adjacency::AddRemoveRow { bound } | Adjacency::ZeroRow { bound } => {
            Ok((bound, RowChange::AddRemove))
        }
        Adjacency::ReplaceRow { bound } => Ok((bound, RowChange::Replace)),
        other => Err(Error::NotProven {
            mechanism,
            adjacency: other.to_string(),
            instead: "covariance mechanisms protect a whole row, which is added or removed, becomes zero, or is replaced; of a user with \
                      several rows those with symmetric Gaussian noise do",
        }),
    }
}

/// As [`row_change`], of each row of the unit, and how many rows a unit has.
pub(crate) fn unit_change(
    adjacency: Adjacency,
    mechanism: &'static str,
) -> Result<(NormBound, RowChange, u64)> {
    let (bound, change) = row_change(adjacency.each(), mechanism)?;
    Ok((bound, change, adjacency.rows()))
}

/// The bound of one row that moves `A^T A` as far as so many rows of this bound do at most, rounded up: longer by their root.
pub(crate) fn as_one_row(bound: NormBound, rows: u64) -> Result<NormBound> {
    match rows {
        1 => Ok(bound),
        _ => Ok(NormBound::new(bound.get() * (rows as f64).sqrt() * (1.0 + 4.0 * f64::EPSILON))?),
    }
}

/// Whether the number of rows is public: a row that is replaced, or becomes zero, leaves it.
pub(crate) fn leaves_rows_public(adjacency: Adjacency) -> bool {
    matches!(adjacency.each(), Adjacency::ReplaceRow { .. } | Adjacency::ZeroRow { .. })
}

/// What certificates say of rows over the bound, here and where rows of a matrix may shift: nothing is
/// refused, and how many were longer stays private.
pub(crate) fn longer_rows() -> (String, PublicValue) {
    ("rows over the bound".to_owned(), "scaled to it, uncounted".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(n: usize, d: usize, scale: f64) -> Vec<f64> {
        (0..n * d).map(|i| scale * (((i * 7919) % 1009) as f64 / 504.5 - 1.0)).collect()
    }

    /// Rows at the bound, over it, far over it and of zeros; numbers halfway between two.
    #[test]
    fn rows_side_by_side_are_rounded_as_one_by_one_and_to_the_nearest() {
        for d in [1, 2, 31, 100] {
            let clip = RowClip::new(d, NormBound::new(1.0).unwrap()).unwrap();
            let half = 2f64.powi(clip.exponent() - 1);
            let mut data = rows(29, d, 1.0);
            for (i, row) in data.chunks_mut(d).enumerate() {
                let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
                let scale = [1.0 / norm, 3.0, 1e-3, 1e200, 0.0, 1e-200, -0.5][i % 7];
                row.iter_mut().for_each(|x| *x *= scale);
                if i % 5 == 0 {
                    row.iter_mut()
                        .enumerate()
                        .for_each(|(k, x)| *x = half * (k as f64 % 9.0 - 4.0));
                }
            }
            for clip in [clip, clip.followed_by(clip.constant_for_means()).unwrap()] {
                let columns = clip.columns();
                let mut together = vec![0.0; 29 * columns];
                clip.quantise_rows(&data, &mut together).unwrap();
                for (row, q) in data.chunks(d).zip(together.chunks(columns)) {
                    let mut alone = vec![0.0; columns];
                    clip.quantise(row, &mut alone).unwrap();
                    assert_eq!(q, alone);
                    let square: f64 = row.iter().map(|x| x * x).sum();
                    if square.is_finite() {
                        let norm = square.sqrt();
                        let shrunk = if norm > 1.0 { 1.0 / norm } else { 1.0 };
                        let unit = 2f64.powi(-clip.exponent());
                        assert!(
                            row.iter()
                                .zip(q)
                                .all(|(x, q)| *q == (x * (shrunk * unit)).round_ties_even())
                        );
                    }
                }
                data[28 * d] = f64::NAN;
                assert!(clip.quantise_rows(&data, &mut together).is_err());
                data[28 * d] = 0.0;
            }
        }
    }

    #[test]
    fn clipped_rows_never_exceed_the_bound() {
        for bound in [1.0, 0.3, 2.0, 1.9999999, 1e-30, 7e20] {
            for d in [1, 2, 17, 300] {
                let clip = RowClip::new(d, NormBound::new(bound).unwrap()).unwrap();
                let unit = 2f64.powi(clip.exponent());
                for scale in [1e-9, 0.4, 1.0, 3.0, 1e6, 1e200] {
                    let row = rows(1, d, scale * bound);
                    let mut q = vec![0.0; d];
                    clip.quantise(&row, &mut q).unwrap();
                    let square: i128 = q.iter().map(|x| (*x as i128).pow(2)).sum();
                    let certified = clip.certified_bound().get();
                    assert!(unit * unit * square as f64 <= certified * certified);
                    assert!(certified > bound && certified < bound * (1.0 + 2e-5));
                    let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
                    if norm > bound {
                        assert!(unit * (square as f64).sqrt() > 0.99999 * bound, "{d} {scale}");
                    }
                }
            }
        }
    }
}
