//! The published bits, with the public facts estimators need.

use super::bits::PackedBits;
use crate::error::{Error, Result};
use crate::joined::{alike, joinable};
use crate::projection::{Family, ProjectionSpec, SharedProjection};
use crate::rows::RowsView;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::noise::{GeneratorKind, NoiseLaw};
use dp_core::{EntryBound, NoGuarantee, PublicSeed, Release, Shift};
use rand_core::Rng;

/// Signs of projected rows: bit j is one for a positive coordinate j.
#[derive(Debug, Clone, PartialEq)]
pub struct SignCodes {
    projections: Vec<ProjectionSpec>,
    noise: NoiseLaw,
    bits: PackedBits,
}

impl SignCodes {
    pub(crate) fn new(projections: Vec<ProjectionSpec>, noise: NoiseLaw, bits: PackedBits) -> Self {
        Self { projections, noise, bits }
    }

    /// The rows of several releases that were made alike, one after the other: what is asked of them all is asked of these.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for other projections or flips, and for one release given twice; [`dp_core::Error::InvalidParameter`] for none.
    pub fn joined(parts: &[&Self]) -> Result<Self> {
        let first = joinable(parts, Self::eq)?;
        for part in parts {
            first.check_comparable(part)?;
            alike("flips", &first.noise, &part.noise)?;
        }
        let rows = parts.iter().map(|part| part.bits.n()).sum();
        let words = parts.iter().flat_map(|part| part.bits.words()).copied().collect();
        let bits = PackedBits::new(rows, first.bits.bits(), words)?;
        Ok(Self::new(first.projections.clone(), first.noise.clone(), bits))
    }

    /// The projections, in the order of their bits.
    #[must_use]
    pub fn projections(&self) -> &[ProjectionSpec] {
        &self.projections
    }

    /// How the bits were flipped.
    #[must_use]
    pub fn noise(&self) -> &NoiseLaw {
        &self.noise
    }

    /// The bits.
    #[must_use]
    pub fn bits(&self) -> &PackedBits {
        &self.bits
    }

    /// Number of bits in which a row differs from a row of other signs of the same projections.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for other projections, [`Error::Index`] for a missing row.
    pub fn hamming(&self, row: usize, other: &Self, other_row: usize) -> Result<u32> {
        self.check_comparable(other)?;
        self.bits.hamming(row, &other.bits, other_row)
    }

    /// These rows alone, in this order: queries for a search.
    pub(crate) fn select(&self, rows: &[usize]) -> Result<Self> {
        let words = rows.iter().flat_map(|&row| self.bits.row(row).iter().copied()).collect();
        let bits = PackedBits::new(rows.len(), self.bits.bits(), words)?;
        Ok(Self { projections: self.projections.clone(), noise: self.noise.clone(), bits })
    }

    /// Whether two sets of signs came from the same projections and may be compared.
    ///
    /// # Errors
    /// [`Error::Incompatible`] when they did not.
    pub(crate) fn check_comparable(&self, other: &Self) -> Result<()> {
        same_projections(&other.projections, &self.projections)
    }
}

/// Whether signs of these projections may be compared with those of the other ones.
pub(crate) fn same_projections(these: &[ProjectionSpec], others: &[ProjectionSpec]) -> Result<()> {
    if these == others {
        return Ok(());
    }
    let print = |specs: &[ProjectionSpec]| {
        specs.iter().map(ProjectionSpec::fingerprint).collect::<Vec<_>>().join("+")
    };
    Err(Error::Incompatible {
        what: "projections (fingerprints)",
        left: print(others),
        right: print(these),
    })
}

/// A sign sketch without privacy: one or more public projections of the same rows, side by
/// side, of which only signs are kept (SimHash; Charikar 2002).
#[derive(Debug, Clone)]
pub struct SignSketch {
    parts: Vec<SharedProjection>,
}

/// Rows projected at once.
pub(super) const BLOCK: usize = 4096;

impl SignSketch {
    /// Puts projections side by side.
    ///
    /// # Errors
    /// [`Error::Shape`] when their numbers of features differ; none at all, or more than
    /// 2^24 bits.
    pub fn new(parts: Vec<SharedProjection>) -> Result<Self> {
        let Some(first) = parts.first() else {
            return Err(Error::invalid("projections", 0, "[1, inf)"));
        };
        let d = first.spec().d();
        for part in &parts {
            if part.spec().d() != d {
                let found = part.spec().d();
                return Err(Error::Shape { what: "d of a projection", expected: d, found });
            }
        }
        let sketch = Self { parts };
        if sketch.bits() > 1 << 24 {
            return Err(Error::invalid("bits", sketch.bits(), "[1, 2^24]"));
        }
        Ok(sketch)
    }

    /// One projection of a family to `bits` signs.
    ///
    /// # Errors
    /// As [`ProjectionSpec::new`].
    pub fn single(family: Family, d: usize, bits: usize, seed: PublicSeed) -> Result<Self> {
        Self::new(vec![ProjectionSpec::new(family, d, bits, seed)?.build()])
    }

    /// `repetitions` independent projections of a family to `bits / repetitions` signs each,
    /// all from one seed (Li & Li 2023, section 4.4: fewer empty bins for OPORP).
    ///
    /// # Errors
    /// When `repetitions` does not divide `bits`, or as [`ProjectionSpec::new`].
    pub fn repeated(
        family: Family,
        d: usize,
        bits: usize,
        repetitions: usize,
        seed: PublicSeed,
    ) -> Result<Self> {
        if repetitions == 0 || !bits.is_multiple_of(repetitions) {
            let allowed = format!("a divisor of the {bits} bits");
            return Err(Error::invalid("repetitions", repetitions, allowed));
        }
        if repetitions == 1 {
            return Self::single(family, d, bits, seed);
        }
        let mut seeds = seed.generator(0);
        let part = |_| {
            let seed = PublicSeed::new(seeds.next_u64());
            Ok(ProjectionSpec::new(family, d, bits / repetitions, seed)?.build())
        };
        Self::new((0..repetitions).map(part).collect::<Result<_>>()?)
    }

    /// Number of features.
    #[must_use]
    pub fn d(&self) -> usize {
        self.parts[0].spec().d()
    }

    /// Number of bits of a row.
    #[must_use]
    pub fn bits(&self) -> usize {
        self.parts.iter().map(|p| p.spec().k()).sum()
    }

    /// The projections.
    #[must_use]
    pub fn parts(&self) -> &[SharedProjection] {
        &self.parts
    }

    /// How many bits one attribute can touch.
    #[must_use]
    pub fn touched_by_one_attribute(&self) -> usize {
        self.parts.iter().map(|p| p.touched_by_one_attribute()).sum()
    }

    /// The specifications of the projections.
    #[must_use]
    pub(crate) fn specs(&self) -> Vec<ProjectionSpec> {
        self.parts.iter().map(|p| p.spec()).collect()
    }

    /// Calls `f(first row, values)` for blocks of rows in order; `values` holds rows of
    /// [`SignSketch::bits`] projected values.
    pub(crate) fn for_each_block(
        &self,
        rows: RowsView<'_>,
        mut f: impl FnMut(usize, &mut [f64]) -> Result<()>,
    ) -> Result<()> {
        let bits = self.bits();
        let mut values = vec![0.0; bits * BLOCK.min(rows.n())];
        for from in (0..rows.n()).step_by(BLOCK) {
            let block = rows.slice(from..(from + BLOCK).min(rows.n()));
            let values = &mut values[..block.n() * bits];
            self.project_block(block, values)?;
            f(from, values)?;
        }
        Ok(())
    }

    /// Projects rows into `values`, rows of [`SignSketch::bits`] numbers.
    pub(super) fn project_block(&self, rows: RowsView<'_>, values: &mut [f64]) -> Result<()> {
        if let [only] = self.parts.as_slice() {
            return only.apply(rows, values);
        }
        let (bits, mut column) = (self.bits(), 0);
        let mut part_values = Vec::new();
        for part in &self.parts {
            let k = part.spec().k();
            part_values.resize(rows.n() * k, 0.0);
            part.apply(rows, &mut part_values)?;
            for (row, part_row) in values.chunks_exact_mut(bits).zip(part_values.chunks_exact(k)) {
                row[column..column + k].copy_from_slice(part_row);
            }
            column += k;
        }
        Ok(())
    }

    /// The largest change of each projected value, as computed, when one attribute of
    /// magnitude at most `bound` moves by at most `beta`.
    pub(crate) fn largest_changes(&self, beta: Shift, bound: EntryBound) -> Vec<f64> {
        let errors = self
            .parts
            .iter()
            .flat_map(|part| core::iter::repeat_n(part.output_range(bound).error, part.spec().k()));
        // Four ulps cover the rounding of the entries and of these operations.
        let change = |w: f64, error| (beta.get() * w + 2.0 * error) * (1.0 + 4.0 * f64::EPSILON);
        self.largest_entries().into_iter().zip(errors).map(|(w, error)| change(w, error)).collect()
    }

    /// The largest absolute entry of every column of the projections.
    pub(super) fn largest_entries(&self) -> Vec<f64> {
        let mut entries = Vec::with_capacity(self.bits());
        for part in &self.parts {
            let mut row = vec![0.0; part.spec().k()];
            let mut largest = row.clone();
            // No entry is larger than its row is long: where all columns have met such a one, no row changes them.
            let most = part.max_row_l2();
            for i in 0..part.spec().d() {
                part.row(i, &mut row);
                largest.iter_mut().zip(&row).for_each(|(l, w)| *l = l.max(w.abs()));
                if i % 64 == 63 && largest.iter().all(|l| *l >= most) {
                    break;
                }
            }
            entries.extend(largest);
        }
        entries
    }

    /// The signs of rows, without any privacy: for comparison, or for data that is public.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows of another d.
    pub fn simhash(&self, rows: RowsView<'_>) -> Result<Release<SignCodes, NoGuarantee>> {
        let bits = self.bits();
        let width = bits.div_ceil(64);
        let mut words = vec![0u64; rows.n() * width];
        self.for_each_block(rows, |first, values| {
            let out = words[first * width..].chunks_exact_mut(width);
            out.zip(values.chunks_exact(bits)).for_each(|(w, v)| pack_signs(v, w));
            Ok(())
        })?;
        let bits = PackedBits::new(rows.n(), bits, words)?;
        // No noise was drawn; the kind says so in the only way there is.
        let generator = GeneratorKind::DeterministicNotPrivate;
        let statement =
            self.statement("sign random projection", rows.n(), NoiseLaw::None, generator);
        let certificate = NoGuarantee::new(statement, "the signs are exact");
        let codes = SignCodes::new(self.specs(), NoiseLaw::None, bits);
        Ok(Release::certified(codes, certificate))
    }

    /// What every certificate of these signs states.
    pub(crate) fn statement(
        &self,
        mechanism: &str,
        n: usize,
        noise: NoiseLaw,
        generator: GeneratorKind,
    ) -> Statement {
        let public = sign_parameters(&self.specs(), n);
        Statement { mechanism: mechanism.into(), noise, generator, public }
    }
}

/// What every certificate of n rows of signs of these projections states.
pub(crate) fn sign_parameters(specs: &[ProjectionSpec], n: usize) -> PublicParameters {
    let mut public = specs.first().map(ProjectionSpec::public_parameters).unwrap_or_default();
    for (i, spec) in specs.iter().enumerate().skip(1) {
        public.insert(format!("projection seed {}", i + 1), spec.seed().into());
    }
    public.insert("n".into(), n.into());
    public.insert("bits".into(), specs.iter().map(ProjectionSpec::k).sum::<usize>().into());
    public.insert("repetitions".into(), specs.len().into());
    public
}

/// Packs the signs of a row; zero counts as negative.
pub(crate) fn pack_signs(values: &[f64], words: &mut [u64]) {
    pulp::Arch::new().dispatch(|| {
        for (word, chunk) in words.iter_mut().zip(values.chunks(64)) {
            *word = chunk.iter().enumerate().fold(0, |w, (i, &x)| w | u64::from(x > 0.0) << i);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::pack_signs;

    /// Bit i is set where number i is positive: zero has no sign, whichever it carries.
    #[test]
    fn zero_counts_as_negative() {
        for n in [1, 63, 64, 65, 130] {
            let values: Vec<f64> = (0..n).map(|i| [0.0, 1e-320, -0.0, -2.0, 3.0][i % 5]).collect();
            let mut words = vec![u64::MAX; n.div_ceil(64)];
            pack_signs(&values, &mut words);
            for (i, x) in values.iter().enumerate() {
                assert_eq!(words[i / 64] >> (i % 64) & 1 == 1, *x > 0.0, "{n} {i}");
            }
        }
    }
}
