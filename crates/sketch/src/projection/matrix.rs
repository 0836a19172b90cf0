//! A given matrix in the place of a drawn one.

use super::groups::kept;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// A public d x k matrix: rows x become `x P`, whatever P is. Its entries are whole multiples of 2^-14 in `[-1, 1]`.
///
/// Guarantees count the norms of this very P, so that they hold for **every** matrix that was fixed without a look at the
/// rows that are released: one that is known to everybody, or directions of a public sample ([`PublicMatrix::principal`]). It is
/// published with the release. A matrix that was learned from the rows themselves is covered by no guarantee.
///
/// Equal matrices are kept once, for as long as the program runs, so that a projection stays a small value that is copied.
///
/// # References
/// `docs/proofs/private-projection.md`, "Given matrices".
///
/// ```
/// use dp_core::{Adjacency, Budget, NoiseRng};
/// use sketch::RowsView;
/// use sketch::projection::{PublicMatrix, PublicMoments};
/// use sketch::units::{PrivateUnits, UnitsConfig};
///
/// // Public rows vary along one direction; the rows that are released are projected to it.
/// let public = [1.0, 0.9, -1.0, -1.1, 2.0, 2.1, -2.0, -1.9];
/// let moments = PublicMoments::of_sample(RowsView::f64(4, 2, &public)?)?;
/// let matrix = PublicMatrix::principal(&moments, 1)?;
/// let projection = matrix.spec().build();
/// let config = UnitsConfig { projection, adjacency: Adjacency::AnyInput, lengths: None };
/// let mechanism = PrivateUnits::new(config, Budget::new(4.0, 0.0)?)?;
/// let rows = RowsView::f64(1, 2, &[0.3, 0.4])?;
/// assert_eq!(mechanism.release(rows, &mut NoiseRng::from_os()?)?.payload().width(), 1);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct PublicMatrix {
    /// Row after row, in steps.
    entries: &'static [i32],
    k: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    k: usize,
    entries: Vec<i32>,
}

/// Most entries: their list stands in the release's parameters, which hold a million bytes.
const MOST: usize = 1 << 17;
/// Steps of one.
const ONE: i32 = 1 << 14;

impl PublicMatrix {
    /// What an entry is a multiple of.
    pub(super) const STEP: f64 = 1.0 / ONE as f64;

    /// A matrix of d rows of k numbers each, row after row; every number is rounded to the nearest multiple of 2^-14.
    ///
    /// # Errors
    /// Unless `1 <= k <= d`, there are d k numbers and at most 2^17 of them, all are in `[-1, 1]`, and one is not rounded to zero.
    pub fn new(d: usize, k: usize, entries: &[f64]) -> Result<Self> {
        let expected = d.checked_mul(k).filter(|&n| n == entries.len());
        if expected.is_none() {
            let (what, expected) = ("entries of a given matrix", d.saturating_mul(k));
            return Err(Error::Length { what, expected, found: entries.len() });
        }
        if let Some(at) = entries.iter().position(|x| !(-1.0..=1.0).contains(x)) {
            let allowed = "[-1, 1]: divide the matrix by its largest entry";
            let place = format!("{} in row {}, column {}", entries[at], at / k, at % k);
            return Err(Error::invalid("entry of a given matrix", place, allowed));
        }
        let steps = |x: &f64| (x * f64::from(ONE)).round_ties_even() as i32;
        Self::of_steps(k, &entries.iter().map(steps).collect::<Vec<_>>())
    }

    fn of_steps(k: usize, entries: &[i32]) -> Result<Self> {
        let invalid =
            |value: String, allowed: &str| Err(Error::invalid("given matrix", value, allowed));
        if !(1..=MOST).contains(&entries.len()) {
            return invalid(format!("{} entries", entries.len()), "of 1 to 2^17 entries");
        }
        if k == 0 || !entries.len().is_multiple_of(k) || entries.len() / k < k {
            let shape = format!("{} entries for k = {k}", entries.len());
            return invalid(shape, "d x k with 1 <= k <= d");
        }
        if !entries.iter().all(|x| x.unsigned_abs() <= ONE.unsigned_abs()) {
            return invalid("an entry beyond one".into(), "of entries in [-1, 1]");
        }
        if entries.iter().all(|x| *x == 0) {
            return invalid("zero".into(), "with an entry that is not zero");
        }
        Ok(Self { entries: kept(entries), k })
    }

    /// Features.
    #[must_use]
    pub fn d(self) -> usize {
        self.entries.len() / self.k
    }

    /// Numbers of a projected row.
    #[must_use]
    pub fn k(self) -> usize {
        self.k
    }

    /// Row `coordinate`, in steps.
    pub(super) fn row(self, coordinate: usize) -> &'static [i32] {
        &self.entries[coordinate * self.k..][..self.k]
    }

    /// What certificates state of it.
    pub(super) fn digest(self) -> String {
        dp_core::release_file::fingerprint(&self)
    }
}

/// Equal lists are one.
impl PartialEq for PublicMatrix {
    fn eq(&self, other: &Self) -> bool {
        self.k == other.k && core::ptr::eq(self.entries, other.entries)
    }
}

impl Eq for PublicMatrix {}

impl core::fmt::Debug for PublicMatrix {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "PublicMatrix({} x {}, {})", self.d(), self.k, self.digest())
    }
}

impl TryFrom<Written> for PublicMatrix {
    type Error = Error;
    fn try_from(written: Written) -> Result<Self> {
        Self::of_steps(written.k, &written.entries)
    }
}

impl From<PublicMatrix> for Written {
    fn from(matrix: PublicMatrix) -> Self {
        Self { k: matrix.k, entries: matrix.entries.to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_matrices_are_one_and_read_as_written() {
        let a = PublicMatrix::new(3, 2, &[1.0, -1.0, 0.5, 0.0, 1e-9, 2f64.powi(-14)]).unwrap();
        assert_eq!((a.d(), a.k(), a.row(1), a.row(2)), (3, 2, &[8192, 0][..], &[0, 1][..]));
        let text = serde_json::to_string(&a).unwrap();
        assert_eq!(text, r#"{"k":2,"entries":[16384,-16384,8192,0,0,1]}"#);
        assert_eq!(serde_json::from_str::<PublicMatrix>(&text).unwrap(), a);
        let longer = PublicMatrix::new(6, 1, &[1.0, -1.0, 0.5, 0.0, 0.0, 2f64.powi(-14)]).unwrap();
        assert_ne!(a, longer);
        assert_ne!(a.digest(), longer.digest());
    }

    #[test]
    fn matrices_that_are_none_are_refused() {
        for (d, k, entries) in [
            (2, 1, &[1.0][..]),
            (1, 2, &[1.0, 1.0]),
            (0, 0, &[]),
            (2, 1, &[0.0, 1e-9]),
            (2, 1, &[1.0, f64::NAN]),
            (2, 1, &[1.0, f64::INFINITY]),
            (2, 1, &[1.0, -1.0 - 1e-9]),
            (usize::MAX, 2, &[1.0, 1.0]),
        ] {
            assert!(PublicMatrix::new(d, k, entries).is_err(), "{d} {k} {entries:?}");
        }
        assert!(PublicMatrix::new(MOST, 1, &vec![1.0; MOST]).is_ok());
        assert!(PublicMatrix::new(MOST + 1, 1, &vec![1.0; MOST + 1]).is_err());
        for text in [
            r#"{"k":0,"entries":[1]}"#,
            r#"{"k":2,"entries":[1,2,3]}"#,
            r#"{"k":2,"entries":[1,2]}"#,
            r#"{"k":1,"entries":[16385]}"#,
            r#"{"k":1,"entries":[-2147483648]}"#,
            r#"{"k":1,"entries":[0]}"#,
            r#"{"k":1,"entries":[]}"#,
            r#"{"k":1,"entries":[1],"d":1}"#,
        ] {
            assert!(serde_json::from_str::<PublicMatrix>(text).is_err(), "{text}");
        }
    }
}
