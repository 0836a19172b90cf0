//! Signs under *individual* differential privacy, which is not differential privacy.

use super::bits::PackedBits;
use super::codes::{SignCodes, SignSketch, pack_signs};
use super::level::LevelStep;
use super::mechanism::attribute;
use crate::author::AUTHOR;
use crate::error::Result;
use crate::rows::RowsView;
use dp_core::mechanism::Statistic;
use dp_core::noise::{AdditiveNoise, Bernoulli, NoiseLaw, NoiseStream};
use dp_core::{
    Adjacency, Budget, EntryBound, IndividualCertificate, L2Sensitivity, NoiseRng, NoiseScale,
    Release, Shift, calibrate,
};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// What is done to the signs that a neighbour of the row could have otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndividualNoise {
    /// Gaussian noise before taking signs (iDP-SignRP-G, algorithm 9).
    Gaussian,
    /// Randomised response (iDP-SignRP-RR, algorithm 11).
    RandomizedResponse,
}

/// Signs of which only those within one attribute's reach of zero are randomised
/// (Li & Li 2023, algorithms 9 to 11; with OPORP: iDP-SignOPORP).
///
/// # Privacy
/// **Individual** differential privacy only, and that with the set S of signs in reach frozen: the
/// paper compares the released row with a neighbour as if both had the S of the row. A neighbour has
/// another S, and what is published of it shows that: for d = k = 1 and beta 1, rows .9 and 1.8
/// publish a minus with probability .27 and 0 under a claimed (1, 0). So this does not compose with
/// differential privacy, and no ledger takes its certificate. Per row the noise is calibrated to `beta max_i |w_(i,S)|`, or to |S|
/// responses. |S| and everything computed from it (noise scale, flip probability) are
/// secret: the certificate does not state them, and the caller must not either.
///
/// # References
/// Li and Li 2023, section 6, algorithms 9 to 11; `docs/proofs/sign-flips.md`, section 6.
///
/// ```
/// use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, PublicSeed, Shift};
/// use sketch::RowsView;
/// use sketch::projection::Family;
/// use sketch::signs::{IndividualNoise, IndividualSigns, SignSketch};
///
/// let rows = RowsView::f64(1, 4, &[0.9, 0.1, 0.0, 0.8])?;
/// let (one, any_value) = (EntryBound::new(1.0)?, Adjacency::Attribute { beta: Shift::new(2.0)? });
/// let sketch = SignSketch::single(Family::Gaussian, 4, 3, PublicSeed::new(7))?;
/// let noise = IndividualNoise::RandomizedResponse;
/// let signs = IndividualSigns::new(sketch, noise, any_value, one, Budget::new(2.0, 0.0)?)?;
/// let release = signs.release(rows, &mut NoiseRng::from_os()?)?;
/// // Its certificate is of another type: no ledger takes it.
/// assert!(release.certificate().verify().is_ok());
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug)]
pub struct IndividualSigns {
    sketch: SignSketch,
    adjacency: Adjacency,
    beta: Shift,
    bound: EntryBound,
    budget: Budget,
    steps: Vec<LevelStep>,
    /// Largest floating-point error of a projected value.
    error: f64,
    method: Method,
}

#[derive(Debug)]
enum Method {
    /// Distinct rows of squared entries of P (k numbers each), and sigma for sensitivity 1.
    Gaussian { squares: Vec<f64>, sigma: NoiseScale },
    /// The response for every size of S from 1 on.
    Response(Vec<Bernoulli>),
}

/// Rows that share a noise stream and a matrix product.
const ROWS: usize = 32;
/// Covers the rounding of a sum of squares and of a square root.
const ROUNDING: f64 = 1.0 + 1e-11;

impl IndividualSigns {
    /// Prepares the randomisation. Holds d x k numbers for Gaussian noise, k where all entries of P
    /// are alike in magnitude.
    ///
    /// # Errors
    /// An adjacency other than `Attribute`; delta of zero with Gaussian noise.
    pub fn new(
        sketch: SignSketch,
        noise: IndividualNoise,
        adjacency: Adjacency,
        bound: EntryBound,
        budget: Budget,
    ) -> Result<Self> {
        let beta = attribute(adjacency)?;
        let changes = sketch.largest_changes(beta, bound);
        let steps = changes.into_iter().map(|c| LevelStep::new(c.max(1e-150)));
        let errors = sketch.parts().iter().map(|p| p.output_range(bound).error);
        let method = match noise {
            IndividualNoise::Gaussian => Method::Gaussian {
                squares: squares(&sketch),
                sigma: calibrate::gaussian(budget, L2Sensitivity::new(1.0)?)?,
            },
            IndividualNoise::RandomizedResponse => {
                let response = |size| {
                    let keep = calibrate::randomized_response(budget, size)?;
                    let flip = dp_core::Probability::new(1.0 - keep.get())?;
                    Ok(Bernoulli::new(flip))
                };
                let sizes = 1..=sketch.bits() as u64;
                Method::Response(sizes.map(response).collect::<Result<_>>()?)
            }
        };
        Ok(Self {
            steps: steps.collect::<Result<_>>()?,
            error: errors.fold(0.0, f64::max),
            sketch,
            adjacency,
            beta,
            bound,
            budget,
            method,
        })
    }

    /// The projections.
    #[must_use]
    pub fn sketch(&self) -> &SignSketch {
        &self.sketch
    }

    /// Releases the signs of n rows under individual differential privacy.
    ///
    /// # Errors
    /// [`crate::Error::Shape`] for rows of another d, [`crate::Error::OutOfRange`] for an
    /// attribute outside the declared bound.
    pub fn release(
        &self,
        rows: RowsView<'_>,
        rng: &mut NoiseRng,
    ) -> Result<Release<SignCodes, IndividualCertificate>> {
        rows.check_bound(self.bound)?;
        let generator = rng.kind();
        let bits = self.sketch.bits();
        let width = bits.div_ceil(64);
        let mut words = vec![0u64; rows.n() * width];
        let mut streams = rng.reserve(rows.n().div_ceil(ROWS) as u64);
        self.sketch.for_each_block(rows, |first, values| {
            let count = values.len() / bits;
            words[first * width..(first + count) * width]
                .par_chunks_mut(ROWS * width)
                .zip(values.par_chunks_mut(ROWS * bits))
                .zip(streams.split_front(count.div_ceil(ROWS) as u64))
                .try_for_each(|((words, values), mut stream)| {
                    self.randomise(values, words, &mut stream)
                })
        })?;
        let law = NoiseLaw::DataDependent {
            rule: match self.method {
                Method::Gaussian { .. } => "gaussian noise on the signs in reach".into(),
                Method::Response(_) => "randomised response on the signs in reach".into(),
            },
        };
        let name = match self.method {
            Method::Gaussian { .. } => "iDP-SignRP-G",
            Method::Response(_) => "iDP-SignRP-RR",
        };
        let statement = self.sketch.statement(name, rows.n(), law.clone(), generator);
        let source = "Li & Li 2023, theorems 6.1 and 6.2";
        let certificate =
            IndividualCertificate::new(statement, self.adjacency, self.budget, source);
        let codes =
            SignCodes::new(self.sketch.specs(), law, PackedBits::new(rows.n(), bits, words)?);
        Ok(Release::certified(codes, certificate))
    }

    /// The signs of a row that one attribute could change.
    fn in_reach(&self, row: &[f64]) -> impl Iterator<Item = usize> {
        let pairs = row.iter().zip(&self.steps).enumerate();
        pairs.filter(|(_, (x, step))| x.abs() <= step.get()).map(|(j, _)| j)
    }

    fn randomise(
        &self,
        values: &mut [f64],
        words: &mut [u64],
        stream: &mut NoiseStream,
    ) -> Result<()> {
        let bits = self.sketch.bits();
        let width = bits.div_ceil(64);
        if let Method::Gaussian { squares, sigma } = &self.method {
            let sensitivities = self.sensitivities(values, squares);
            for (row, sensitivity) in values.chunks_exact_mut(bits).zip(sensitivities) {
                self.add_noise(row, sensitivity, *sigma, stream)?;
            }
        }
        for (row, out) in values.chunks_exact(bits).zip(words.chunks_exact_mut(width)) {
            pack_signs(row, out);
            if let Method::Response(responses) = &self.method {
                let reach: Vec<usize> = self.in_reach(row).collect();
                if let Some(response) = reach.len().checked_sub(1).map(|i| &responses[i]) {
                    for j in reach {
                        out[j / 64] ^= u64::from(response.sample(stream)) << (j % 64);
                    }
                }
            }
        }
        Ok(())
    }

    /// `max_i |w_(i,S)|` for the S of every row.
    fn sensitivities(&self, values: &[f64], squares: &[f64]) -> Vec<f64> {
        let bits = self.sketch.bits();
        let (count, d) = (values.len() / bits, squares.len() / bits);
        let mut inside = vec![0.0; values.len()];
        for (row, inside) in values.chunks_exact(bits).zip(inside.chunks_exact_mut(bits)) {
            self.in_reach(row).for_each(|j| inside[j] = 1.0);
        }
        let mut sums = vec![0.0; d * count];
        matmul(
            MatMut::from_column_major_slice_mut(&mut sums, d, count),
            Accum::Replace,
            MatRef::from_row_major_slice(squares, d, bits),
            MatRef::from_column_major_slice(&inside, bits, count),
            1.0,
            Par::Seq,
        );
        let norm = |c: &[f64]| c.iter().copied().fold(0.0, f64::max).sqrt() * ROUNDING;
        sums.chunks_exact(d).map(norm).collect()
    }

    fn add_noise(
        &self,
        row: &mut [f64],
        norm: f64,
        unit: NoiseScale,
        stream: &mut NoiseStream,
    ) -> Result<()> {
        let reach: Vec<usize> = self.in_reach(row).collect();
        if reach.is_empty() {
            return Ok(());
        }
        // An output that no attribute reaches has no sensitivity; it is zero for every row.
        let exact = L2Sensitivity::new((self.beta.get() * norm).max(1e-150))?;
        let scale = |s: L2Sensitivity| NoiseScale::new(s.get() * unit.get() * ROUNDING);
        let largest = reach.iter().map(|&j| self.steps[j].get()).fold(0.0, f64::max);
        let statistic =
            Statistic::new(self.adjacency, exact, reach.len(), EntryBound::new(largest)?)
                .computed_within(self.error)?;
        let (grid, sensitivity) = statistic.on_grid(scale(exact)?)?;
        let noise = AUTHOR.gaussian(scale(sensitivity)?, grid)?;
        let mut near: Vec<f64> = reach.iter().map(|&j| row[j]).collect();
        noise.add_block(stream, &mut near)?;
        reach.iter().zip(near).for_each(|(&j, x)| row[j] = x);
        Ok(())
    }
}

/// The squared entries of the projections, side by side: d rows, or one where all are equal
/// (dense random signs, Hadamard).
fn squares(sketch: &SignSketch) -> Vec<f64> {
    let (d, bits) = (sketch.d(), sketch.bits());
    let fill = |i: usize, row: &mut [f64]| {
        let mut column = 0;
        for part in sketch.parts() {
            let k = part.spec().k();
            part.row(i, &mut row[column..column + k]);
            column += k;
        }
        row.iter_mut().for_each(|w| *w *= *w);
    };
    let mut first = vec![0.0; bits];
    fill(0, &mut first);
    let alike = |row: &mut Vec<f64>, i: usize| {
        fill(i, row);
        *row == first
    };
    if (1..d).into_par_iter().map_init(|| vec![0.0; bits], alike).all(|equal| equal) {
        return first;
    }
    let mut squares = vec![0.0; d * bits];
    squares.par_chunks_mut(bits).enumerate().for_each(|(i, row)| fill(i, row));
    squares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::{Family, Sampling};
    use dp_core::PublicSeed;

    #[test]
    fn sensitivities_are_the_largest_norms_over_the_attributes() {
        let (d, k, one) = (12, 8, EntryBound::new(1.0).expect("positive"));
        let srht = Family::Srht { sampling: Sampling::WithoutReplacement };
        for (family, d_squares) in [
            (Family::Rademacher, 1),
            (srht, 1),
            (Family::Gaussian, d),
            (Family::Oporp, d),
            (Family::VerySparse, d),
        ] {
            let sketch = SignSketch::single(family, d, k, PublicSeed::new(3)).expect("valid");
            let signs = IndividualSigns::new(
                sketch.clone(),
                IndividualNoise::Gaussian,
                Adjacency::Attribute { beta: Shift::new(1.0).expect("positive") },
                one,
                Budget::new(1.0, 1e-6).expect("valid"),
            )
            .expect("calibrates");
            let Method::Gaussian { squares, .. } = &signs.method else { unreachable!("Gaussian") };
            assert_eq!(squares.len(), d_squares * k, "{family:?}");
            // Every third output is far beyond reach of any attribute.
            let values: Vec<f64> =
                (0..4 * k).map(|i| if i % 3 == 0 { 1e9 } else { i as f64 * 1e-9 }).collect();
            let found = signs.sensitivities(&values, squares);
            let mut p = vec![0.0; d * k];
            for (i, row) in p.chunks_exact_mut(k).enumerate() {
                sketch.parts()[0].row(i, row);
            }
            for (row, found) in values.chunks_exact(k).zip(found) {
                let reach: Vec<usize> = signs.in_reach(row).collect();
                let square = |w: &[f64]| reach.iter().map(|&j| w[j] * w[j]).sum::<f64>();
                let most = p.chunks_exact(k).map(square).fold(0.0, f64::max).sqrt();
                assert!(found >= most && found <= most * (1.0 + 1e-9), "{family:?}");
                assert!(!reach.is_empty() && most > 0.0, "{family:?}");
            }
        }
    }

    /// The deviation of what is added is that of a sensitivity of one, times beta, times the norm: over 8,000 values in reach within
    /// 5 %, six standard errors.
    #[test]
    fn noise_grows_with_the_shift_and_with_the_norm() {
        let one = EntryBound::new(1.0).expect("positive");
        let sketch = SignSketch::single(Family::Rademacher, 12, 8, PublicSeed::new(3));
        let signs = IndividualSigns::new(
            sketch.expect("valid"),
            IndividualNoise::Gaussian,
            Adjacency::Attribute { beta: Shift::new(0.25).expect("positive") },
            one,
            Budget::new(1.0, 1e-6).expect("valid"),
        );
        let (signs, unit) = (signs.expect("calibrates"), NoiseScale::new(3.0).expect("positive"));
        let mut rng = dp_core::NoiseRng::deterministic_not_private(5);
        let mut stream = rng.reserve(1).split_front(1).next().expect("one");
        for norm in [0.5, 2.0] {
            let mut squares = 0.0;
            for _ in 0..1000 {
                let mut row = [0.0; 8];
                signs.add_noise(&mut row, norm, unit, &mut stream).expect("a scale");
                squares += row.iter().map(|x| x * x).sum::<f64>();
            }
            let found = (squares / 8000.0).sqrt() / (0.25 * norm * 3.0);
            assert!((found - 1.0).abs() < 0.05, "{norm}: {found}");
        }
    }
}
