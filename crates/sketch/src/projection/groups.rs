//! Chosen groups of attributes in the place of random bins.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// A public assignment of d attributes to k groups, with a sign each: P has one entry, +1 or -1, in every row.
///
/// One value of a row moves one group's sum, by as much as itself, **whatever the groups are**: they may follow from
/// the picture's grid, from a file, or from a public sample, and never from the rows that are released. They
/// are published with the release.
///
/// Equal assignments are kept once, for as long as the program runs, so that a projection stays a small value that is copied.
///
/// # References
/// `docs/proofs/signed-groups.md`.
///
/// ```
/// use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, Shift};
/// use sketch::RowsView;
/// use sketch::projection::Groups;
/// use sketch::vectors::PrivateProjection;
///
/// // Pictures of 4 x 4 pixels as the sums of 2 x 2.
/// let groups = Groups::grid((4, 4), 2)?;
/// assert_eq!((groups.d(), groups.k()), (16, 4));
/// let any_pixel = Adjacency::Attribute { beta: Shift::new(1.0)? };
/// let (one, budget) = (EntryBound::new(1.0)?, Budget::new(1.0, 0.0)?);
/// let mechanism = PrivateProjection::staircase(groups.spec().build(), any_pixel, one, budget)?;
/// let pictures = vec![0.5; 3 * 16];
/// let release = mechanism.release(RowsView::f64(3, 16, &pictures)?, &mut NoiseRng::from_os()?)?;
/// assert_eq!(release.payload().k(), 4);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "Vec<i32>", into = "Vec<i32>")]
pub struct Groups {
    /// Attribute i has the sign of `signed[i]` in the group `|signed[i]|`, counted from one.
    signed: &'static [i32],
    k: usize,
}

/// Most attributes: their list stands in the release's parameters, which hold a million bytes.
const MOST: usize = 1 << 16;

impl Groups {
    /// The group of every attribute, counted from one, and negative where its sign is.
    ///
    /// # Errors
    /// [`Error::Core`] unless there are 1 to 2^16 attributes and every group from one to the last has one.
    pub fn new(signed: &[i32]) -> Result<Self> {
        let invalid = |value: String, allowed: &str| Err(Error::invalid("groups", value, allowed));
        if !(1..=MOST).contains(&signed.len()) {
            return invalid(format!("{} attributes", signed.len()), "of 1 to 2^16 attributes");
        }
        let most = signed.len();
        let mut seen = vec![false; most];
        for (i, g) in signed.iter().enumerate() {
            match (g.unsigned_abs() as usize).checked_sub(1).and_then(|g| seen.get_mut(g)) {
                Some(seen) => *seen = true,
                None => {
                    let allowed = format!("from 1 to {most} or from -1 to -{most}");
                    return invalid(format!("{g} of attribute {i}"), &allowed);
                }
            }
        }
        let k = seen.iter().rposition(|s| *s).map_or(0, |last| last + 1);
        match seen[..k].iter().position(|s| !s) {
            Some(empty) => invalid(format!("none in group {}", empty + 1), "without an empty one"),
            None => Ok(Self { signed: kept(signed), k }),
        }
    }

    /// Pictures of `(height, width)` pixels, row after row, as the sums of squares of `cell x cell` of them; what is left at
    /// the right and at the bottom are smaller ones.
    ///
    /// # Errors
    /// As [`Groups::new`]; a cell of no pixels.
    pub fn grid((height, width): (usize, usize), cell: usize) -> Result<Self> {
        let pixels = height.checked_mul(width).filter(|n| (1..=MOST).contains(n));
        let Some(pixels) = pixels.filter(|_| cell > 0) else {
            let allowed = "1 to 2^16 pixels in cells of at least one";
            return Err(Error::invalid("grid", format!("{height}x{width}/{cell}"), allowed));
        };
        let across = width.div_ceil(cell);
        let group = |i: usize| (i / width / cell) * across + (i % width) / cell + 1;
        Self::new(&(0..pixels).map(|i| group(i) as i32).collect::<Vec<_>>())
    }

    /// Attributes.
    #[must_use]
    pub fn d(self) -> usize {
        self.signed.len()
    }

    /// Groups.
    #[must_use]
    pub fn k(self) -> usize {
        self.k
    }

    /// As [`Groups::new`] took it.
    #[must_use]
    pub fn signed(self) -> &'static [i32] {
        self.signed
    }

    /// What certificates state of it.
    pub(super) fn digest(self) -> String {
        dp_core::release_file::fingerprint(&self)
    }
}

/// The one copy of this list.
pub(super) fn kept(signed: &[i32]) -> &'static [i32] {
    static ALL: Mutex<Option<HashSet<&'static [i32]>>> = Mutex::new(None);
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let all = all.get_or_insert_default();
    match all.get(signed) {
        Some(kept) => kept,
        None => {
            let kept: &'static [i32] = Box::leak(signed.into());
            all.insert(kept);
            kept
        }
    }
}

/// Equal lists are one.
impl PartialEq for Groups {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.signed, other.signed)
    }
}

impl Eq for Groups {}

impl core::fmt::Debug for Groups {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Groups({} of {} attributes, {})", self.k, self.d(), self.digest())
    }
}

impl TryFrom<Vec<i32>> for Groups {
    type Error = Error;
    fn try_from(signed: Vec<i32>) -> Result<Self> {
        Self::new(&signed)
    }
}

impl From<Groups> for Vec<i32> {
    fn from(groups: Groups) -> Self {
        groups.signed.to_vec()
    }
}

/// Whole numbers, separated by commas or white space.
impl core::str::FromStr for Groups {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|p| !p.is_empty());
        let number = |part: &str| {
            let allowed = "whole numbers, one an attribute: its group from 1, negative for a minus";
            part.parse::<i32>().map_err(|_| Error::invalid("groups", "another word", allowed))
        };
        // One more than the most: refused as too many.
        Self::new(&parts.take(MOST + 1).map(number).collect::<Result<Vec<_>>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_assignments_are_one() {
        let a = Groups::new(&[1, -2, 2, 1]).unwrap();
        let b: Groups = "1, -2\n2 1\n".parse().unwrap();
        assert_eq!(a, b);
        assert_eq!((a.d(), a.k(), a.signed()), (4, 2, [1, -2, 2, 1].as_slice()));
        assert_ne!(a, Groups::new(&[1, 2, 2, 1]).unwrap());
        let read: Groups = serde_json::from_str("[1,-2,2,1]").unwrap();
        assert_eq!((read, serde_json::to_string(&a).unwrap().as_str()), (a, "[1,-2,2,1]"));
        assert_ne!(a.digest(), Groups::new(&[1, 2, 2, 1]).unwrap().digest());
    }

    #[test]
    fn assignments_that_are_none_are_refused() {
        for signed in [&[][..], &[0], &[2], &[1, 3, 3], &[i32::MIN], &[1, i32::MAX]] {
            assert!(Groups::new(signed).is_err(), "{signed:?}");
        }
        assert!(Groups::new(&vec![1; MOST]).is_ok());
        assert!(Groups::new(&vec![1; MOST + 1]).is_err());
        for text in ["", "1.0", "x", "1 2 3 99999999999"] {
            assert!(text.parse::<Groups>().is_err(), "{text}");
        }
        for (size, cell) in
            [((0, 4), 2), ((4, 0), 2), ((4, 4), 0), ((usize::MAX, 2), 2), ((257, 256), 4)]
        {
            assert!(Groups::grid(size, cell).is_err(), "{size:?} {cell}");
        }
    }

    #[test]
    fn cells_of_a_grid_are_squares_and_what_is_left() {
        let groups = Groups::grid((3, 5), 2).unwrap();
        assert_eq!(groups.signed(), [1, 1, 2, 2, 3, 1, 1, 2, 2, 3, 4, 4, 5, 5, 6]);
        assert_eq!(Groups::grid((28, 28), 4).unwrap().k(), 49);
        assert_eq!(Groups::grid((2, 2), 9).unwrap().k(), 1);
    }
}
