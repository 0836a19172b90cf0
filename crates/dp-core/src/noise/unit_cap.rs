//! Normal vectors that lean towards a private direction, exactly rounded.

use super::exact::bernoulli;
use super::grid::Grid;
use super::half_space::{Along, Lean, check_direction};
use super::law::NoiseLaw;
use super::rng::NoiseStream;
use super::truncated::TruncatedNormal;
use super::ziv::{Bits, Source};
use crate::budget::Epsilon;
use crate::error::{Error, Result};
use crate::numeric::root::{Middle, bisect};
use crate::quantity::Probability;
use core::f64::consts::FRAC_1_SQRT_2;
use rand_core::TryRng;

/// The law of PrivUnitG: a vector of independent standard normals that lies in the cap `<V, u> >= threshold` around a private
/// direction u with a given probability, and is normal in the cap and outside of it; each number rounded to the
/// grid point nearest to the real one, exactly.
///
/// Purely differentially private for any two directions: `docs/proofs/unit-vectors.md`. A mechanism makes it
/// ([`crate::mechanism`]).
#[derive(Debug, Clone, PartialEq)]
pub struct UnitCap {
    above: TruncatedNormal,
    /// The other side, mirrored.
    below: TruncatedNormal,
    inside: Probability,
    grid: Grid,
}

/// Every number is a multiple of `2^-20`, so that single precision holds it exactly up to 16.
const GRID: i32 = -20;

/// Epsilons for which there are parameters.
const EPSILONS: (f64, f64) = (1.0 / (1 << 20) as f64, 64.0);

/// More than floating point can be wrong by in [`cap_epsilon`].
const ROOM: f64 = 2e-13;

impl UnitCap {
    /// The law of least variance for a pure epsilon.
    pub(crate) fn of_epsilon(epsilon: Epsilon) -> Result<Self> {
        let e = epsilon.get();
        if !(EPSILONS.0..=EPSILONS.1).contains(&e) {
            return Err(Error::invalid("epsilon of unit vectors", e, "[2^-20, 64]"));
        }
        // The mean along the direction is largest where it is the threshold.
        let mean = |y: f64| {
            let (q, density) = (upper_tail(y), density(y));
            density * e.exp_m1() / (1.0 + e.exp_m1() * q)
        };
        let (threshold, _) = bisect((0.0, 12.0), Middle::Arithmetic, (100, 0.0), |y| mean(y) <= y);
        let (q, rest) = (upper_tail(threshold), upper_tail(-threshold));
        let odds = e.exp() * (q / rest);
        let best = odds / (1.0 + odds);
        // The last digits: until the bound on what it loses is within the budget.
        let mut less = f64::EPSILON;
        for _ in 0..40 {
            let inside = Probability::new(best * (1.0 - less))?;
            if cap_epsilon(threshold, inside)? <= e {
                return Self::new(threshold, inside, Grid::new(GRID)?);
            }
            less *= 2.0;
        }
        Err(Error::invalid("epsilon of unit vectors", e, "[2^-20, 64]"))
    }

    pub(super) fn new(threshold: f64, inside: Probability, grid: Grid) -> Result<Self> {
        cap_epsilon(threshold, inside)?;
        let above = TruncatedNormal::new(threshold, grid)?;
        Ok(Self { above, below: TruncatedNormal::new(-threshold, grid)?, inside, grid })
    }

    /// The law, for certificates.
    #[must_use]
    pub fn law(&self) -> NoiseLaw {
        let Self { inside, grid, .. } = *self;
        NoiseLaw::UnitCap { threshold: self.above.threshold(), inside, grid }
    }

    /// One vector around a direction of integers; it uses a stream up.
    ///
    /// # Errors
    /// As [`super::HalfSpaceNormal::draw`].
    ///
    /// # Panics
    /// When the stream was drawn from before: the draw would repeat those words.
    pub fn draw(&self, stream: NoiseStream, direction: &[i64]) -> Result<Vec<f64>> {
        check_direction(direction)?;
        Ok(self.lean(&Source::new(stream, direction.len() + 2), direction).draw())
    }

    /// The vector that a source defines: the bits of sample d + 1 decide the side.
    pub(super) fn lean<'a>(&'a self, source: &'a Source, direction: &'a [i64]) -> Lean<'a> {
        let mut words = Words { source, sample: direction.len() as u64 + 1, next: 0 };
        let along = match bernoulli(&mut words, self.inside.get()) {
            true => Along { law: &self.above, mirrored: false },
            false => Along { law: &self.below, mirrored: true },
        };
        Lean { source, direction, along, grid: self.grid }
    }
}

/// The words of one sample, one after the other.
struct Words<'a, B> {
    source: &'a B,
    sample: u64,
    next: u64,
}

impl<B: Bits> TryRng for Words<'_, B> {
    type Error = core::convert::Infallible;

    fn try_next_u32(&mut self) -> core::result::Result<u32, Self::Error> {
        Ok((self.try_next_u64()? >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> core::result::Result<u64, Self::Error> {
        let word = self.source.word(self.sample, self.next);
        self.next += 1;
        Ok(word)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> core::result::Result<(), Self::Error> {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.try_next_u64()?.to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

/// `Pr[N(0, 1) >= y]`.
fn upper_tail(y: f64) -> f64 {
    0.5 * libm::erfc(y * FRAC_1_SQRT_2)
}

fn density(y: f64) -> f64 {
    (-0.5 * y * y).exp() / (2.0 * core::f64::consts::PI).sqrt()
}

/// The pure epsilon of a cap that holds the vector with probability `inside`, rounded up.
pub(crate) fn cap_epsilon(threshold: f64, inside: Probability) -> Result<f64> {
    if !(0.0..=12.0).contains(&threshold) {
        return Err(Error::invalid("threshold of a cap", threshold, "[0, 12]"));
    }
    let (p, q) = (inside.get(), upper_tail(threshold));
    if !(p >= q && p < 1.0) {
        return Err(Error::invalid("probability of a cap", p, "its normal probability up to one"));
    }
    Ok((p / (1.0 - p)).ln() + (upper_tail(-threshold) / q).ln() + ROOM)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::NoiseRng;

    #[test]
    fn the_side_is_decided_by_the_words_of_one_sample() {
        let stream = NoiseRng::deterministic_not_private(102).stream();
        let source = Source::new(stream, 3);
        let mut words = Words { source: &source, sample: 2, next: 0 };
        for index in 0..4 {
            assert_eq!(words.try_next_u64().unwrap(), source.word(2, index));
        }
        assert_eq!(words.try_next_u32().unwrap(), (source.word(2, 4) >> 32) as u32);
    }

    /// What is drawn is the vector that the source defines.
    #[test]
    fn a_vector_is_drawn_around_its_direction() {
        let law = UnitCap::of_epsilon(Epsilon::new(16.0).unwrap()).unwrap();
        let stream = || NoiseRng::deterministic_not_private(103).stream();
        for direction in [vec![1], vec![-3], vec![3, -4, 12, 0, 5]] {
            let drawn = law.draw(stream(), &direction).unwrap();
            let source = Source::new(stream(), direction.len() + 2);
            assert_eq!(drawn, law.lean(&source, &direction).draw());
            assert_eq!(drawn.len(), direction.len());
            let along: f64 = drawn.iter().zip(&direction).map(|(v, x)| v * *x as f64).sum();
            assert!(along > 0.0, "{drawn:?}");
        }
        assert!(law.draw(stream(), &[0, 0]).is_err());
    }

    /// Best thresholds: the published table.
    #[test]
    fn parameters_are_the_best_and_their_epsilon_is_met() {
        for (epsilon, best) in
            [(0.5, 0.199), (1.0, 0.397), (2.0, 0.786), (4.0, 1.516), (8.0, 2.743), (16.0, 4.561)]
        {
            let NoiseLaw::UnitCap { threshold, inside, .. } =
                UnitCap::of_epsilon(Epsilon::new(epsilon).unwrap()).unwrap().law()
            else {
                unreachable!()
            };
            assert!((threshold - best).abs() < 1e-3, "{epsilon}: {threshold}");
            let met = cap_epsilon(threshold, inside).unwrap();
            assert!(met <= epsilon && met > epsilon - 1e-11, "{epsilon}: {met}");
        }
        for epsilon in [1e-6, 3e-4, 0.03, 40.0, 64.0] {
            let law = UnitCap::of_epsilon(Epsilon::new(epsilon).unwrap()).unwrap();
            let met = cap_epsilon(law.above.threshold(), law.inside).unwrap();
            assert!(met <= epsilon && met > epsilon * (1.0 - 1e-6), "{epsilon}: {met}");
        }
        for epsilon in [1e-7, 64.1, 1e6] {
            assert!(UnitCap::of_epsilon(Epsilon::new(epsilon).unwrap()).is_err());
        }
    }

    /// mpmath at 50 digits, from the exact values of the `f64`: never below, and above by the room alone.
    #[test]
    fn the_epsilon_of_a_cap_is_that_of_mpmath_rounded_up() {
        for (threshold, inside, exact) in [
            (0.397, 0.59, 1.0020319218042393),
            (2.743, 0.877, 7.755845539656898),
            (1e-06, 0.5000001, 1.9957691213952664e-6),
            (4.561, 0.954, 15.913191779976025),
            (11.5, 0.99, 74.08882897922993),
            (0.0, 0.75, 1.0986122886681098),
            (10.9, 0.999999, 76.53645751660153),
        ] {
            let found = cap_epsilon(threshold, Probability::new(inside).unwrap()).unwrap();
            assert!(found >= exact && found <= exact + 2.0 * ROOM, "{threshold}: {found} {exact}");
        }
    }

    #[test]
    fn caps_that_hide_nothing_are_refused() {
        let p = |p| Probability::new(p).unwrap();
        for (threshold, inside) in
            [(-0.1, 0.9), (12.5, 0.9), (f64::NAN, 0.9), (1.0, 1.0), (1.0, 0.1)]
        {
            assert!(cap_epsilon(threshold, p(inside)).is_err(), "{threshold} {inside}");
        }
        assert!(cap_epsilon(0.0, p(0.5)).unwrap() <= 2.0 * ROOM);
    }
}
