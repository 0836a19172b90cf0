//! PrivMin (Yan et al. 2018), for comparison only.

use super::classic::MinHash;
use super::items::ItemSet;
use super::signature::{Scheme, SignatureMatrix};
use crate::error::{Error, Result};
use dp_core::certificate::{NoGuarantee, Statement};
use dp_core::noise::{NoiseLaw, NoiseRng};
use dp_core::{Epsilon, PublicSeed, Release};
use rand_core::Rng;

/// The exponential mechanism over a user's own sorted hash values, with the published shrinkage of its range.
///
/// Value number r of n (from zero) is chosen with probability proportional to `exp(e (n - r)/2)`, `e = epsilon / K`,
/// among the first `ceil(n (n_avg/1.995)^-epsilon)` values.
///
/// # Privacy
/// **None** ([`NoGuarantee`]): the candidates are the user's own hash values, so two sets have
/// different supports and one output can tell them apart for certain; and the shrinkage is not
/// paid for (from epsilon about 1.2 on only the true minimum is left).
#[derive(Debug, Clone)]
pub struct PrivMin {
    positions: usize,
    epsilon: Epsilon,
    mean_size: f64,
}

impl PrivMin {
    /// As published, for `positions` hash functions and sets of `mean_size` items on average.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] unless `positions` is in `[1, 2^20]` and `mean_size` in `[2, inf)`.
    pub fn published(positions: usize, mean_size: f64, epsilon: Epsilon) -> Result<Self> {
        MinHash::new(positions, PublicSeed::new(0))?;
        if !(mean_size >= 2.0 && mean_size.is_finite()) {
            return Err(Error::invalid("mean set size", mean_size, "[2, inf)"));
        }
        Ok(Self { positions, epsilon, mean_size })
    }

    /// Number of candidates left of `values`: `values (n_avg/1.995)^-epsilon`, before rounding up.
    #[must_use]
    pub fn range(&self, values: usize) -> f64 {
        values as f64 * (self.mean_size / 1.995).powf(-self.epsilon.get())
    }

    /// Probabilities of the candidates, smallest hash value first.
    #[must_use]
    pub fn probabilities(&self, values: usize) -> Vec<f64> {
        let candidates = (self.range(values).ceil() as usize).clamp(1, values.max(1));
        let step = 0.5 * self.epsilon.get() / self.positions as f64;
        let weights: Vec<f64> = (0..candidates).map(|r| (-step * r as f64).exp()).collect();
        let total: f64 = weights.iter().sum();
        weights.into_iter().map(|w| w / total).collect()
    }

    /// One hash value a position for every set.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] never after construction.
    pub fn release(
        &self,
        sets: &[ItemSet],
        seed: PublicSeed,
        rng: &mut NoiseRng,
    ) -> Result<Release<SignatureMatrix, NoGuarantee>> {
        let sketch = MinHash::new(self.positions, seed)?;
        let generator = rng.kind();
        let streams = rng.reserve(sets.len() as u64);
        let rows = sets
            .iter()
            .zip(streams)
            .flat_map(|(set, mut stream)| {
                let probabilities = self.probabilities(set.len());
                (0..self.positions)
                    .map(|position| {
                        let mut hashes = sketch.hashes(position, set);
                        hashes.sort_unstable();
                        let mut u = (stream.next_u64() >> 11) as f64 * 2f64.powi(-53);
                        let chosen = probabilities.iter().position(|p| {
                            u -= p;
                            u < 0.0
                        });
                        hashes[chosen.unwrap_or(0)] as u32
                    })
                    .collect::<Vec<u32>>()
            })
            .collect();
        let scheme = Scheme::new("privmin", self.positions, seed);
        let mut public = scheme.public_parameters(sets.len());
        public.insert("mean-size".to_owned(), self.mean_size.into());
        public.insert("published-epsilon".to_owned(), self.epsilon.get().into());
        let statement =
            Statement { mechanism: "privmin".to_owned(), noise: NoiseLaw::None, generator, public };
        let reason =
            "the candidates are the user's own hash values and the shrunk range is not paid for";
        let signatures = SignatureMatrix::new(scheme, rows);
        Ok(Release::certified(signatures, NoGuarantee::new(statement, reason)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::signature::SetSketch;
    use super::*;

    fn privmin(epsilon: f64, mean: f64) -> PrivMin {
        PrivMin::published(1, mean, Epsilon::new(epsilon).expect("epsilon")).expect("privmin")
    }

    /// Table 5.1 of Bourgeat & Schmurr 2019.
    #[test]
    fn ranges_are_those_of_the_table() {
        for (size, epsilon, range) in
            [(10, 0.1, 8.51), (20, 0.5, 6.32), (50, 0.1, 36.23), (100, 1.0, 2.0), (20, 2.0, 0.2)]
        {
            let got = privmin(epsilon, size as f64).range(size);
            assert!((got - range).abs() < 0.006, "{size} {epsilon}: {got}");
        }
    }

    /// One item more makes outputs possible that were impossible: no epsilon at all.
    #[test]
    fn supports_of_neighbours_differ() {
        let a = ItemSet::new((0..20).collect()).expect("set");
        let b = ItemSet::new((0..21).collect()).expect("set");
        let mechanism = privmin(0.5, 20.0);
        let mut rng = NoiseRng::deterministic_not_private(1);
        let mut seen = [std::collections::HashSet::new(), std::collections::HashSet::new()];
        // Under this seed the added item has the least hash of all.
        let seed = (0..)
            .map(PublicSeed::new)
            .find(|&s| {
                let m = MinHash::new(1, s).expect("one").sketch(&[a.clone(), b.clone()]);
                m.row(0) != m.row(1)
            })
            .expect("some seed");
        for _ in 0..2_000 {
            let release =
                mechanism.release(&[a.clone(), b.clone()], seed, &mut rng).expect("release");
            seen[0].insert(release.payload().row(0)[0]);
            seen[1].insert(release.payload().row(1)[0]);
        }
        assert!(seen[1].difference(&seen[0]).count() > 0, "an output only one of them can give");
        let certificate = mechanism.release(&[a], seed, &mut rng).expect("release").into_parts().1;
        assert!(certificate.reason.contains("own hash values"));
    }
}
