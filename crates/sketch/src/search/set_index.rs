//! Search over occupancy bits of sets.

use super::denoise::denoised;
use super::dense::DenseIndex;
use super::hits::{Neighbours, Score};
use super::queries::Queries;
use crate::error::Result;
use crate::sets::PrivateSymbols;
use std::borrow::Cow;

/// A release of occupancy bits laid out for searching, by rows of a release or by exact queries.
///
/// The score is the cosine of the bits made unbiased (`(bit - q)/(p - q)`) less their means over the release: what most sets
/// have says little of likeness. It ranks; [`SetPairs`](crate::sets::SetPairs) estimates.
///
/// ```
/// use dp_core::{Budget, NoiseRng, PublicSeed};
/// use sketch::search::{Queries, SetIndex};
/// use sketch::sets::{BinResponse, ItemSet, PrivateSymbols};
///
/// let set = |first: u64| ItemSet::new((first..first + 50).collect());
/// let sets = [set(0)?, set(1000)?, set(2000)?, set(3000)?];
/// // Occupancy bits: bins of one value. One item of one set may be added or removed.
/// let mechanism = BinResponse::calibrate(256, 1, 1, Budget::new(8.0, 0.0)?)?;
/// let release = mechanism.release(&sets, PublicSeed::new(3), &mut NoiseRng::from_os()?)?;
/// // The query is not released: it carries no noise.
/// let query = PrivateSymbols::exact(release.payload(), &[set(1002)?])?;
/// let found = SetIndex::denoised(release.payload())?.top_k(&Queries::all(&query), 1)?;
/// assert_eq!(found.indices(0), [1]);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SetIndex<'a> {
    items: &'a PrivateSymbols,
    index: DenseIndex<'a, f64>,
    means: Vec<f64>,
}

impl<'a> SetIndex<'a> {
    /// Takes the rows of a release.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] for a release of other symbols; more than 2^32 - 1 rows.
    pub fn new(items: &'a PrivateSymbols) -> Result<Self> {
        Self::built(items, |_, values| Ok(values))
    }

    /// As [`SetIndex::new`], with the rows denoised by their own second moments about the means and the known noise
    /// (`docs/proofs/one-permutation.md`), from the release alone. Queries stay as they are.
    ///
    /// # Errors
    /// As [`SetIndex::new`].
    pub fn denoised(items: &'a PrivateSymbols) -> Result<Self> {
        Self::built(items, |variance, values| denoised(&values, items.scheme().slots, variance))
    }

    fn built(
        items: &'a PrivateSymbols,
        prepare: impl FnOnce(f64, Vec<f64>) -> Result<Vec<f64>>,
    ) -> Result<Self> {
        items.check_occupancy()?;
        let (bins, rows, says) = (items.scheme().slots, items.rows(), items.unbiased_bits());
        let mut occupied = vec![0u64; bins];
        for row in items.symbols().chunks_exact(bins) {
            occupied.iter_mut().zip(row).for_each(|(sum, &bit)| *sum += u64::from(bit));
        }
        let share = |count: u64| count as f64 / rows.max(1) as f64;
        let means: Vec<f64> =
            occupied.into_iter().map(|c| says[0] + share(c) * (says[1] - says[0])).collect();
        let values = centred(items.symbols(), says, &means);
        // Of one bit, whatever the true one is: p (1 - p)/(2 p - 1)^2.
        let variance = -says[0] * says[1];
        let values = Cow::Owned(prepare(variance, values)?);
        Ok(Self { items, index: DenseIndex::new(bins, values, Score::Cosine)?, means })
    }

    /// The `count` best rows for each query, in the order (score falling, row rising).
    ///
    /// # Errors
    /// [`crate::Error::Incompatible`] for queries of other hash functions, an invalid `count` (zero).
    pub fn top_k(
        &self,
        queries: &Queries<'_, PrivateSymbols>,
        count: usize,
    ) -> Result<Neighbours<f64>> {
        let (symbols, bits) = queries.symbols();
        self.items.scheme().check(symbols.scheme())?;
        symbols.check_occupancy()?;
        self.index.top_k(&centred(&bits, symbols.unbiased_bits(), &self.means), count)
    }
}

/// Unbiased bits of rows, less the means.
fn centred(bits: &[u16], says: [f64; 2], means: &[f64]) -> Vec<f64> {
    let all = bits.iter().zip(means.iter().cycle());
    all.map(|(&bit, mean)| says[usize::from(bit)] - mean).collect()
}
