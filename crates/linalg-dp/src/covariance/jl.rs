//! The Johnson-Lindenstrauss mechanism.

use super::clip::{RowClip, longer_rows, row_change};
use super::mechanism::{Accumulates, Accumulator, CovarianceMechanism};
use super::release::{CovarianceNoise, JlSketch, PrivateCovariance};
use crate::dense;
use crate::error::{Error, Result};
use dp_core::certificate::Statement;
use dp_core::noise::{AdditiveNoise, GaussianNoise, GeneratorKind, Grid, NoiseLaw, NoiseStream};
use dp_core::{
    Adjacency, Bound, Budget, Certificate, Guarantee, NoiseRng, NoiseScale, Profile, PublicValue,
    Release, calibrate,
};
use faer::{Accum, Mat, MatRef};

const NAME: &str = "JL covariance";
/// Why no theorem about the sketch of real arithmetic is one about the released numbers.
pub(crate) const JL_GAP: &str = "the entries of R are Gaussians rounded to 2^-40 and the product is in floating point: the \
     profile is that of real arithmetic";

/// Rows of the data multiplied at a time.
const BLOCK: usize = 256;

/// Releases `Y = R [A; w I]` with secret R of N(0, 1) entries, r x (n + d), and from it
/// `Y^T Y / r`, of mean `A^T A + w^2 I`.
///
/// # Privacy
/// Exact profile for `AddRemoveRow` and `ReplaceRow` of rows of norm at most B; the
/// release is Y itself, everything else is post-processing.
///
/// # References
/// Blocki, Blum, Datta, Sheffet 2012; Sheffet 2019, whose `w^2` is several times larger (by how much depends on
/// rows and budget: the experiments measure it).
/// Proof: `docs/proofs/covariance.md`.
///
/// # Deviations
/// The entries of R are Gaussians rounded to `2^-40` and Y is floating point rounded to a
/// public grid: the profile speaks of real arithmetic, and the certificate says so.
#[derive(Debug, Clone)]
pub struct JlCovariance {
    clip: RowClip,
    rows: usize,
    lift: NoiseScale,
    grid: Grid,
    guarantee: Guarantee,
}

impl JlCovariance {
    /// The least lift w for a sketch of `rows` rows.
    ///
    /// # Errors
    /// `rows = 0`, a budget with delta = 0, an adjacency that does not protect rows, or
    /// a dimension or bound outside its range.
    pub fn calibrate(
        dim: usize,
        rows: usize,
        adjacency: Adjacency,
        budget: Budget,
    ) -> Result<Self> {
        let (bound, change) = row_change(adjacency, NAME)?;
        let bound = RowClip::new(dim, bound)?.certified_bound();
        let lift = calibrate::jl_lift(budget, rows as u64, bound, change)?;
        Self::with_lift(dim, rows, adjacency, budget, lift)
    }

    /// A given lift, checked against the budget.
    ///
    /// # Errors
    /// As [`JlCovariance::calibrate`]; also when the lift misses the budget.
    pub fn with_lift(
        dim: usize,
        rows: usize,
        adjacency: Adjacency,
        budget: Budget,
        lift: NoiseScale,
    ) -> Result<Self> {
        let (bound, change) = row_change(adjacency, NAME)?;
        if rows == 0 {
            return Err(Error::invalid("sketch rows", rows, "[1, inf)"));
        }
        let clip = RowClip::new(dim, bound)?;
        let bound = clip.certified_bound();
        let profile = Profile::JlMechanism { rows: rows as u64, bound, lift, change };
        let guarantee = Guarantee::idealised(
            adjacency,
            budget,
            profile,
            dp_core::Theorem::CovarianceJl,
            JL_GAP,
        )?;
        let grid = Grid::new(lift.get().log2().floor() as i32 - 24)?;
        Ok(Self { clip, rows, lift, grid, guarantee })
    }

    /// Rows of the sketch that make `Y^T Y / r` a `(1 +- distortion)` approximation of
    /// `A^T A + w^2 I` except with probability `failure`: `(sqrt d + t)^2 / (sqrt(1 + distortion) - 1)^2`.
    ///
    /// # Errors
    /// `distortion` outside `(0, 1]`, or `failure` 0 or 1.
    pub fn rows_for(dim: usize, distortion: f64, failure: dp_core::Probability) -> Result<usize> {
        if !(distortion > 0.0 && distortion <= 1.0) {
            return Err(Error::invalid("distortion", distortion, "(0, 1]"));
        }
        let p = failure.get();
        if !(p > 0.0 && p < 1.0) {
            return Err(Error::invalid("failure probability", p, "(0, 1)"));
        }
        let t = (2.0 * (2.0 / p).ln()).sqrt();
        let side = (1.0 + distortion).sqrt() - 1.0;
        Ok((((dim as f64).sqrt() + t) / side).powi(2).ceil() as usize)
    }

    /// An empty sketch.
    pub(crate) fn open_sketch(&self, rng: &mut NoiseRng) -> OpenSketch {
        let unit = NoiseScale::new(1.0).expect("one is a scale");
        let fine = Grid::new(-40).expect("in range");
        OpenSketch {
            mechanism: self.clone(),
            normal: GaussianNoise::new(unit, fine).expect("the grid is fine enough"),
            generator: rng.kind(),
            stream: rng.stream(),
            sketch: Mat::zeros(self.rows, self.clip.dim()),
            waiting: Vec::new(),
        }
    }

    /// Rows r of the sketch.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The lift w.
    #[must_use]
    pub fn lift(&self) -> NoiseScale {
        self.lift
    }
}

impl CovarianceMechanism for JlCovariance {
    fn dim(&self) -> usize {
        self.clip.dim()
    }

    fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    fn expected_frobenius_error(&self, trace: Bound) -> f64 {
        // E ||Y^T Y / r - M||_F^2 = (||M||_F^2 + tr(M)^2) / r with M = A^T A + w^2 I;
        // ||M||_F <= tr(M) for M >= 0.
        let d = self.clip.dim() as f64;
        let square = self.lift.get() * self.lift.get();
        let (t, r) = (trace.get(), self.rows as f64);
        let frobenius = t * t + 2.0 * square * t + d * square * square;
        ((frobenius + (t + d * square).powi(2)) / r).sqrt()
    }
}

impl Accumulates for JlCovariance {
    fn accumulator(&self, rng: &mut NoiseRng) -> Box<dyn Accumulator> {
        Box::new(self.open_sketch(rng))
    }
}

/// A sketch being filled. Private: neither printable nor serialisable.
pub(crate) struct OpenSketch {
    mechanism: JlCovariance,
    normal: GaussianNoise,
    stream: NoiseStream,
    /// The weakest generator that has drawn for it.
    generator: GeneratorKind,
    sketch: Mat<f64>,
    waiting: Vec<f64>,
}

impl OpenSketch {
    /// Multiplies the waiting rows by fresh columns of R. Blocks are cut at fixed
    /// places, so how the rows came in changes nothing.
    pub(crate) fn flush(&mut self) {
        let (d, r) = (self.mechanism.dim(), self.mechanism.rows);
        let count = self.waiting.len() / d;
        let mut columns = vec![0.0; count * r];
        self.normal.fill_block(&mut self.stream, &mut columns);
        let secret = MatRef::from_column_major_slice(&columns, r, count);
        let rows = MatRef::from_row_major_slice(&self.waiting, count, d);
        dense::product_into(self.sketch.as_mut(), Accum::Add, secret, rows);
        self.waiting.clear();
    }

    /// Adds the lift: the sketch Y, and `Y^T Y / r`. The guarantee is spent once.
    pub(crate) fn publish(&mut self, rng: &mut NoiseRng) -> Result<(Vec<f64>, Vec<f64>)> {
        self.flush();
        let m = &self.mechanism;
        let (d, r) = (m.dim(), m.rows);
        let mut values = self.values();
        self.generator = self.generator.weaker(rng.kind());
        GaussianNoise::new(m.lift, m.grid)?.add_to(rng, &mut values)?;
        let y = MatRef::from_row_major_slice(&values, r, d);
        let gram = dense::product(y.transpose(), y);
        let mut covariance = vec![0.0; d * d];
        for i in 0..d {
            for j in 0..=i {
                covariance[i * d + j] = gram[(i, j)] / r as f64;
                covariance[j * d + i] = covariance[i * d + j];
            }
        }
        Ok((values, covariance))
    }

    /// The sketch so far, row-major, without the rows still waiting. Private.
    pub(crate) fn values(&self) -> Vec<f64> {
        let (r, d) = (self.sketch.nrows(), self.sketch.ncols());
        (0..r * d).map(|i| self.sketch[(i / d, i % d)]).collect()
    }

    /// Puts back what [`OpenSketch::values`] gave.
    pub(crate) fn set_values(&mut self, values: &[f64]) -> Result<()> {
        let (r, d) = (self.sketch.nrows(), self.sketch.ncols());
        if values.len() != r * d {
            return Err(Error::corrupt("a sketch has another size"));
        }
        self.sketch = Mat::from_fn(r, d, |i, j| values[i * d + j]);
        Ok(())
    }
}

impl Accumulator for OpenSketch {
    fn push(&mut self, rows: &[f64]) -> Result<()> {
        let clip = self.mechanism.clip;
        let d = clip.dim();
        clip.rows_in(rows)?;
        if rows.iter().any(|x| !x.is_finite()) {
            return Err(Error::NotFinite { what: "a row" });
        }
        let unit = 2f64.powi(clip.exponent());
        let mut row = vec![0.0; d];
        for given in rows.chunks(d) {
            clip.quantise(given, &mut row)?;
            self.waiting.extend(row.iter().map(|q| q * unit));
            if self.waiting.len() == BLOCK * d {
                self.flush();
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, rng: &mut NoiseRng) -> Result<Release<PrivateCovariance>> {
        let (sketch, covariance) = self.publish(rng)?;
        let m = &self.mechanism;
        let (d, r) = (m.dim(), m.rows);
        let statement = Statement {
            mechanism: NAME.into(),
            noise: NoiseLaw::JlSketch { rows: r as u64, lift: m.lift },
            generator: self.generator,
            public: [
                longer_rows(),
                ("d".to_owned(), PublicValue::from(d)),
                ("grid".to_owned(), PublicValue::from(format!("2^{}", m.grid.exponent()))),
                ("sampling".to_owned(), PublicValue::from("idealised real arithmetic")),
            ]
            .into(),
        };
        let law = CovarianceNoise::JlSketch { rows: r as u64, lift: m.lift };
        let sketch = JlSketch::new(r, d, sketch);
        let payload = PrivateCovariance::new(d, covariance, Some(sketch), law);
        Ok(Release::certified(payload, Certificate::new(statement, m.guarantee.clone())))
    }
}
