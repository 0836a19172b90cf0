//! Similarities from noisy symbols.

use super::bins::{BinLaw, outcomes};
use super::estimate::CollisionLaw;
use super::occupancy::OccupancyLaw;
use super::signature::matches;
use super::symbols::{Coding, PrivateSymbols};
use crate::error::{Error, Result};
use crate::estimate::{Estimate, Interval};
use dp_core::{Probability, Release};

/// Estimates between a set of one release and a set of another, or of the same one.
///
/// Two releases compare when the same hash functions made their signatures and the same response gave
/// their noise: then every position agrees by the law that [`BinLaw`] and [`CollisionLaw`] invert,
/// because the noise of two releases is as independent as that of two rows of one. Hash functions that
/// were drawn for one release have no other; those of a public seed serve many.
///
/// Releases of equal content are one release, however they were loaded: a set of it has similarity one
/// with itself.
///
/// ```
/// use dp_core::{Budget, NoiseRng, PublicSeed};
/// use sketch::sets::{BinResponse, ItemSet, SetPairs};
///
/// let words = |text: &str| ItemSet::from_words(text.split(' '));
/// let (ours, theirs) = ([words("a b c d")?], [words("b c d e")?]);
/// // One item of a set may be added or removed. Both sides use one public seed.
/// let bins = BinResponse::calibrate(256, 16, 1, Budget::new(3.0, 0.0)?)?;
/// let rng = &mut NoiseRng::from_os()?;
/// let ours = bins.release(&ours, PublicSeed::new(9), rng)?;
/// let theirs = bins.release(&theirs, PublicSeed::new(9), rng)?;
///
/// let similarity = SetPairs::between(&ours, &theirs)?.jaccard(0, 0)?;
/// assert!(similarity.standard_error > 0.0);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct SetPairs<'a> {
    left: &'a PrivateSymbols,
    right: &'a PrivateSymbols,
    /// Whether both sides are one release.
    same: bool,
}

impl<'a> SetPairs<'a> {
    /// Pairs of sets of one release.
    #[must_use]
    pub fn within(release: &'a Release<PrivateSymbols>) -> Self {
        Self { left: release.payload(), right: release.payload(), same: true }
    }

    /// Pairs of a set of `left` and a set of `right`.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for other hash functions, another coding or another response.
    pub fn between(
        left: &'a Release<PrivateSymbols>,
        right: &'a Release<PrivateSymbols>,
    ) -> Result<Self> {
        let (left, right) = (left.payload(), right.payload());
        left.scheme().check(right.scheme())?;
        if left.facts() != right.facts() {
            let show = |s: &PrivateSymbols| {
                format!("{} symbols kept with probability {}", s.alphabet(), s.keep())
            };
            let what = "responses of the two releases";
            return Err(Error::Incompatible { what, left: show(left), right: show(right) });
        }
        Ok(Self { left, right, same: core::ptr::eq(left, right) || left == right })
    }

    /// Left and right.
    pub(crate) fn sides(&self) -> [&'a PrivateSymbols; 2] {
        [self.left, self.right]
    }

    /// Whether both sides are one release.
    pub(crate) fn is_one_release(&self) -> bool {
        self.same
    }

    /// A set of each side; none for one set twice.
    fn rows(&self, i: usize, j: usize) -> Result<Option<(&'a [u16], &'a [u16])>> {
        let rows = (self.left.row(i)?, self.right.row(j)?);
        Ok((!self.same || i != j).then_some(rows))
    }

    fn two_rows(&self, i: usize, j: usize) -> Result<(&'a [u16], &'a [u16])> {
        self.rows(i, j)?.ok_or(Error::Undefined {
            what: "the similarity of a row to itself from its noisy symbols",
            reason: "a row shares its noise with itself; the similarity is one",
        })
    }

    /// Agreeing positions of two sets.
    ///
    /// # Errors
    /// For a row that does not exist, and [`Error::Undefined`] for one row twice: it shares its noise
    /// with itself, and the laws of agreement are about independent noise.
    pub fn agreeing(&self, i: usize, j: usize) -> Result<u32> {
        let (x, y) = self.two_rows(i, j)?;
        Ok(matches(x, y))
    }

    /// What the bins of two sets show, for [`BinLaw`]: both empty, the same value, different values, one
    /// empty.
    ///
    /// # Errors
    /// As [`SetPairs::agreeing`].
    pub fn outcomes(&self, i: usize, j: usize) -> Result<[u32; 4]> {
        let (x, y) = self.two_rows(i, j)?;
        Ok(outcomes(x, y))
    }

    /// Estimated Jaccard similarity of two sets: [`BinLaw::jaccard`] or [`CollisionLaw::jaccard`], and for occupancy
    /// bits the inversion of the law of empty bins (`docs/proofs/one-permutation.md`). A set has similarity one with itself.
    ///
    /// # Errors
    /// For a row that does not exist.
    pub fn jaccard(&self, i: usize, j: usize) -> Result<Estimate> {
        let Some((x, y)) = self.rows(i, j)? else { return Ok(Estimate::known(1.0)) };
        Ok(match self.left.coding() {
            Coding::Bins if self.left.is_occupancy() => {
                self.occupancy()?.jaccard(&OccupancyLaw::shares(x, y))
            }
            Coding::Bins => BinLaw::of(self.left)?.jaccard(outcomes(x, y)),
            Coding::Hashed { concatenation } => {
                self.collisions(concatenation)?.jaccard(matches(x, y))
            }
        })
    }

    /// Confidence interval of the Jaccard similarity, in `[0, 1]`: [`BinLaw::interval`], [`CollisionLaw::interval`], or
    /// for occupancy bits the similarities that a test does not reject.
    ///
    /// # Errors
    /// As [`SetPairs::jaccard`].
    pub fn jaccard_interval(&self, i: usize, j: usize, level: Probability) -> Result<Interval> {
        let Some((x, y)) = self.rows(i, j)? else { return Ok(Interval { low: 1.0, high: 1.0 }) };
        Ok(match self.left.coding() {
            Coding::Bins if self.left.is_occupancy() => {
                self.occupancy()?.interval(&OccupancyLaw::shares(x, y), level)
            }
            Coding::Bins => BinLaw::of(self.left)?.interval(outcomes(x, y), level),
            Coding::Hashed { concatenation } => {
                self.collisions(concatenation)?.interval(matches(x, y), level)
            }
        })
    }

    fn occupancy(&self) -> Result<OccupancyLaw> {
        OccupancyLaw::new(self.left.scheme().slots, self.left.keep())
    }

    fn collisions(&self, concatenation: usize) -> Result<CollisionLaw> {
        let facts = self.left.facts();
        CollisionLaw::new(facts.scheme.slots, concatenation, facts.alphabet, facts.keep)
    }
}
