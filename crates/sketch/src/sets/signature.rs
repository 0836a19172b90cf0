//! Signatures: one row of 32-bit slots a set, and how rows are compared.

use super::hash::HashFamily;
use super::items::ItemSet;
use crate::error::{Error, Result};
use dp_core::PublicSeed;
use dp_core::certificate::PublicParameters;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// How the slots of a signature were made. Signatures compare only under equal schemes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawScheme")]
pub struct Scheme {
    /// Which sketch.
    pub sketch: String,
    /// Slots in a row.
    pub slots: usize,
    /// Public seed of the hash functions.
    pub seed: PublicSeed,
    /// Name and version of the hash family.
    pub hash: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScheme {
    sketch: String,
    slots: usize,
    seed: PublicSeed,
    hash: String,
}

impl TryFrom<RawScheme> for Scheme {
    type Error = Error;
    fn try_from(raw: RawScheme) -> Result<Self> {
        let RawScheme { sketch, slots, seed, hash } = raw;
        if !(1..=1 << 20).contains(&slots) {
            return Err(Error::invalid("slots", slots, "[1, 1048576]"));
        }
        if hash != HashFamily::ID {
            let known = format!(
                "{}, the family of this version: release the sets again (fold64/v1 leaves structure \
                 in identifiers that differ in high bits only)",
                HashFamily::ID
            );
            return Err(Error::invalid("hash family", hash, known));
        }
        Ok(Self { sketch, slots, seed, hash })
    }
}

impl Scheme {
    pub(super) fn new(sketch: impl Into<String>, slots: usize, seed: PublicSeed) -> Self {
        Self { sketch: sketch.into(), slots, seed, hash: HashFamily::ID.to_owned() }
    }

    /// What every certificate of `sets` signatures states.
    pub(crate) fn public_parameters(&self, sets: usize) -> PublicParameters {
        PublicParameters::from([
            ("bins-or-positions".to_owned(), self.slots.into()),
            ("sets".to_owned(), sets.into()),
            ("sketch".to_owned(), self.sketch.clone().into()),
            ("hash".to_owned(), self.hash.clone().into()),
            ("seed".to_owned(), self.seed.into()),
        ])
    }

    /// Checks that two things were made the same way.
    ///
    /// # Errors
    /// [`Error::Incompatible`] when they were not.
    pub fn check(&self, other: &Self) -> Result<()> {
        if self == other {
            Ok(())
        } else {
            let show = |s: &Self| format!("{} x{} seed {} ({})", s.sketch, s.slots, s.seed, s.hash);
            Err(Error::Incompatible {
                what: "signature schemes",
                left: show(self),
                right: show(other),
            })
        }
    }
}

/// A sketch of sets into rows of `u32` slots whose agreement estimates Jaccard similarity.
pub trait SetSketch: Fill + Sync {
    /// What the rows are made of.
    fn scheme(&self) -> Scheme;

    /// Slots in a row.
    fn slots(&self) -> usize;

    /// Sketches many sets, in parallel by rows.
    fn sketch(&self, sets: &[ItemSet]) -> SignatureMatrix
    where
        Self: Sized,
    {
        let slots = self.slots();
        let mut data = vec![0u32; sets.len() * slots];
        data.par_chunks_mut(slots * ROWS).zip(sets.par_chunks(ROWS)).for_each(|(rows, sets)| {
            let mut scratch = Scratch::default();
            for (row, set) in rows.chunks_mut(slots).zip(sets) {
                self.sketch_into(set, row, &mut scratch);
            }
        });
        SignatureMatrix { scheme: self.scheme(), data }
    }
}

mod sealed {
    use super::ItemSet;

    /// How a sketch fills a row: implemented in this crate only.
    pub trait Fill {
        /// Writes one row; `scratch` is working memory that later calls use again.
        ///
        /// # Panics
        /// When `row` does not have one entry a slot.
        fn sketch_into(&self, set: &ItemSet, row: &mut [u32], scratch: &mut Scratch);
    }

    /// Working memory of a sketch.
    #[derive(Debug, Clone, Default)]
    pub struct Scratch {
        pub(in crate::sets) words: Vec<u64>,
        pub(in crate::sets) slots: Vec<u32>,
    }
}

pub(crate) use sealed::{Fill, Scratch};

/// Rows that one task works on.
const ROWS: usize = 64;

/// Signatures of many sets, row by row.
///
/// # Privacy
/// None: signatures without noise reveal items to whoever knows the hash functions.
#[derive(Debug, Clone, PartialEq)]
pub struct SignatureMatrix {
    scheme: Scheme,
    data: Vec<u32>,
}

impl SignatureMatrix {
    /// Whole rows of the scheme's slots.
    pub(crate) fn new(scheme: Scheme, data: Vec<u32>) -> Self {
        Self { scheme, data }
    }

    /// How the rows were made.
    #[must_use]
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.data.len() / self.scheme.slots
    }

    /// One row.
    #[must_use]
    pub fn row(&self, i: usize) -> &[u32] {
        &self.data[i * self.scheme.slots..][..self.scheme.slots]
    }

    /// All slots, row after row.
    #[must_use]
    pub fn slots(&self) -> &[u32] {
        &self.data
    }

    /// As [`SignatureMatrix::slots`], of a matrix that nobody needs.
    pub(super) fn into_slots(self) -> Vec<u32> {
        self.data
    }

    /// Share of slots in which two rows agree: an unbiased estimate of their Jaccard similarity.
    #[must_use]
    pub fn agreement(&self, i: usize, j: usize) -> f64 {
        f64::from(matches(self.row(i), self.row(j))) / self.scheme.slots as f64
    }

    /// Maps every slot; the scheme gets a new name.
    pub(super) fn map(&self, sketch: String, f: impl Fn(u32) -> u32) -> Self {
        let scheme = Scheme { sketch, ..self.scheme.clone() };
        Self { scheme, data: self.data.iter().map(|&v| f(v)).collect() }
    }

    /// Number of agreeing slots of every row of `self` with every row of `other`, row-major.
    ///
    /// # Errors
    /// [`Error::Incompatible`] when the schemes differ.
    pub fn all_matches(&self, other: &Self) -> Result<Vec<u32>> {
        self.scheme.check(&other.scheme)?;
        let (n, slots) = (other.rows(), self.scheme.slots);
        let mut out = vec![0u32; self.rows() * n];
        out.par_chunks_mut(n.max(1)).zip(self.data.par_chunks(slots)).for_each(|(counts, row)| {
            for (count, other) in counts.iter_mut().zip(other.data.chunks_exact(slots)) {
                *count = matches(row, other);
            }
        });
        Ok(out)
    }
}

/// Entries that are counted in 16 bits: as wide as a symbol, so that the compiler's wide compares need not be widened.
pub(super) const COUNTED: usize = 1 << 14;

/// Number of equal entries.
#[must_use]
pub(crate) fn matches<T: Copy + PartialEq>(a: &[T], b: &[T]) -> u32 {
    // Compiled again for wider registers.
    pulp::Arch::new().dispatch(|| equal(a, b))
}

#[inline(always)]
fn equal<T: Copy + PartialEq>(a: &[T], b: &[T]) -> u32 {
    let equal = |(a, b): (&[T], &[T])| a.iter().zip(b).map(|(x, y)| u16::from(x == y)).sum::<u16>();
    a.chunks(COUNTED).zip(b.chunks(COUNTED)).map(|parts| u32::from(equal(parts))).sum()
}
