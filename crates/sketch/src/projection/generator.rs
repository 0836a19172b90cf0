//! Projections with dense entries, independent ones of the seed or given ones, row by row.

use super::apply::{OutputRange, Projection, check_apply};
use super::dense::{self, Cache, RowSource};
use super::matrix::PublicMatrix;
use super::normals;
use super::norms::{self, RowNorms};
use super::spec::{Family, ProjectionSpec};
use crate::author::AUTHOR;
use crate::error::Result;
use crate::rows::RowsView;
use dp_core::mechanism::author;
use dp_core::{EntryBound, PublicSeed};
use rand_core::Rng;
use std::sync::OnceLock;

/// Entries before they are scaled: independent ones of variance one, or given ones.
pub(crate) trait EntryLaw: Send + Sync + core::fmt::Debug + 'static {
    /// Largest absolute value an entry can have.
    const LARGEST: f64;
    /// Whether all entries have absolute value one.
    const SIGNS: bool;
    /// What all entries are multiplied with.
    fn scale(spec: &ProjectionSpec) -> f64 {
        1.0 / (spec.k() as f64).sqrt()
    }
    /// Writes row `coordinate` of the matrix.
    fn fill(spec: &ProjectionSpec, coordinate: usize, out: &mut [f64]);
}

/// Entries N(0, 1).
///
/// Marsaglia's polar method on 53-bit uniforms with portable arithmetic, so that a seed
/// gives the same matrix on every machine. An entry is at most
/// sqrt(-2 ln 2^-104) < 12.01 in absolute value.
#[derive(Debug)]
pub(crate) enum NormalEntries {}

impl EntryLaw for NormalEntries {
    const LARGEST: f64 = 12.01;
    const SIGNS: bool = false;

    fn fill(spec: &ProjectionSpec, coordinate: usize, out: &mut [f64]) {
        normals::fill(&mut spec.seed().generator(coordinate as u64), out);
    }
}

/// Entries +1 and -1 with probability 1/2 each.
#[derive(Debug)]
pub(super) enum SignEntries {}

impl EntryLaw for SignEntries {
    const LARGEST: f64 = 1.0;
    const SIGNS: bool = true;

    fn fill(spec: &ProjectionSpec, coordinate: usize, out: &mut [f64]) {
        let mut bits = spec.seed().generator(coordinate as u64);
        for chunk in out.chunks_mut(64) {
            let word = bits.next_u64();
            for (j, o) in chunk.iter_mut().enumerate() {
                *o = f64::from_bits(1f64.to_bits() | (word >> j) << 63);
            }
        }
    }
}

/// Entries +1, 0, -1 with probability 1/6, 2/3, 1/6, over their deviation 1/sqrt 3.
#[derive(Debug)]
pub(super) enum ThirdEntries {}

impl EntryLaw for ThirdEntries {
    const LARGEST: f64 = 1.733;
    const SIGNS: bool = false;

    fn fill(spec: &ProjectionSpec, coordinate: usize, out: &mut [f64]) {
        let mut bits = spec.seed().generator(coordinate as u64);
        let root = 3f64.sqrt();
        // One in three is kept (to 1 part in 2^63), its sign is the last bit.
        const KEEP: u64 = (1 << 63) / 3;
        for o in out {
            let word = bits.next_u64();
            let sign = f64::from_bits(root.to_bits() | (word & 1) << 63);
            *o = if word >> 1 < KEEP { sign } else { 0.0 };
        }
    }
}

/// Entries of a given matrix, whole numbers of its steps.
#[derive(Debug)]
pub(super) enum GivenEntries {}

impl EntryLaw for GivenEntries {
    const LARGEST: f64 = 1.0 / PublicMatrix::STEP;
    const SIGNS: bool = false;

    fn scale(_: &ProjectionSpec) -> f64 {
        PublicMatrix::STEP
    }

    fn fill(spec: &ProjectionSpec, coordinate: usize, out: &mut [f64]) {
        let Family::Given { matrix } = spec.family() else {
            unreachable!("{} is no given matrix", spec.name())
        };
        out.iter_mut().zip(matrix.row(coordinate)).for_each(|(o, &e)| *o = f64::from(e));
    }
}

/// A projection with independent entries of one law, over sqrt k, or with given ones.
#[derive(Debug)]
pub(crate) struct Independent<L> {
    spec: ProjectionSpec,
    scale: f64,
    cache: Cache,
    norms: OnceLock<RowNorms>,
    law: core::marker::PhantomData<fn() -> L>,
}

/// Independent N(0, 1/k) entries.
pub(crate) type Gaussian = Independent<NormalEntries>;
/// Independent entries +-1/sqrt k: every row has l2 norm one.
pub(super) type Rademacher = Independent<SignEntries>;
/// Independent entries sqrt(3/k) {+1: 1/6, 0: 2/3, -1: 1/6}.
pub(super) type Achlioptas = Independent<ThirdEntries>;
/// A given matrix.
pub(super) type Given = Independent<GivenEntries>;

impl Gaussian {
    /// Draws the projection from its seed.
    ///
    /// # Errors
    /// As [`ProjectionSpec::new`].
    pub(crate) fn new(d: usize, k: usize, seed: PublicSeed) -> Result<Self> {
        ProjectionSpec::new(Family::Gaussian, d, k, seed).map(Self::from_spec)
    }
}

impl<L: EntryLaw> Independent<L> {
    pub(crate) fn from_spec(spec: ProjectionSpec) -> Self {
        Self {
            spec,
            scale: L::scale(&spec),
            cache: Cache::new(),
            norms: OnceLock::new(),
            law: core::marker::PhantomData,
        }
    }

    fn norms(&self) -> RowNorms {
        // Not computed inside the lock: see the panels' cache.
        if let Some(norms) = self.norms.get() {
            return *norms;
        }
        let norms = RowNorms::scan(self, self.scale);
        let _ = self.norms.set(norms);
        norms
    }
}

impl<L: EntryLaw> RowSource for Independent<L> {
    fn d(&self) -> usize {
        self.spec.d()
    }
    fn k(&self) -> usize {
        self.spec.k()
    }
    fn fill(&self, coordinate: usize, out: &mut [f64]) {
        L::fill(&self.spec, coordinate, out);
    }
}

impl<L: EntryLaw> author::Sealed for Independent<L> {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl<L: EntryLaw> Projection for Independent<L> {
    fn spec(&self) -> ProjectionSpec {
        self.spec
    }

    fn apply(&self, rows: RowsView<'_>, out: &mut [f64]) -> Result<()> {
        check_apply(self.spec, rows, out)?;
        dense::apply(self, &self.cache, self.scale, rows, out);
        Ok(())
    }

    fn row(&self, coordinate: usize, out: &mut [f64]) {
        assert!(coordinate < self.spec.d() && out.len() == self.spec.k(), "a row of P");
        L::fill(&self.spec, coordinate, out);
        out.iter_mut().for_each(|v| *v *= self.scale);
    }

    fn max_row_l2(&self) -> f64 {
        if L::SIGNS {
            norms::up((self.spec.k() as f64).sqrt() * self.scale)
        } else {
            self.norms().l2
        }
    }

    fn row_l2(&self, coordinate: usize) -> Option<f64> {
        let k = self.spec.k();
        (!L::SIGNS).then(|| RowNorms::of_row(self, coordinate, self.scale, &mut vec![0.0; k]).l2)
    }

    fn max_row_l1(&self) -> f64 {
        if L::SIGNS { norms::up(self.spec.k() as f64 * self.scale) } else { self.norms().l1 }
    }

    fn spectral_norm_bound(&self) -> Result<f64> {
        norms::spectral_norm_bound(self, &self.cache, self.scale)
    }

    fn is_cheap_for_few_rows(&self) -> bool {
        dense::fits_one_panel(self.spec.d(), self.spec.k())
    }

    fn output_range(&self, bound: EntryBound) -> OutputRange {
        let sum = self.spec.d() as f64 * bound.get() * L::LARGEST * self.scale;
        // Extra roundings: the scale factor itself, its product, the entry's product with x.
        OutputRange::of_sum(self.spec.d(), 4, norms::up(sum))
    }
}
