//! The Johnson-Lindenstrauss mechanism.

use super::clip::{RowClip, row_change};
use super::gram::ExactGram;
use super::mechanism::{CovarianceMechanism, Privatises, prediction, release_watched};
use super::release::{CovarianceNoise, JlSketch, PrivateCovariance};
use crate::author::AUTHOR;
use crate::dense;
use crate::error::{Error, Result};
use core::ops::ControlFlow;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::mechanism::{Mechanism, Prediction, Progress, author};
use dp_core::noise::{GramRows, NoiseLaw};
use dp_core::{
    Adjacency, Budget, Guarantee, NoiseRng, NoiseScale, Profile, Release, SquaredNorm, Theorem,
    calibrate,
};
use faer::MatRef;

const NAME: &str = "JL covariance";
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
/// R is never formed: the rows of Y are independent draws of `N(0, A^T A + w^2 I)`, and are drawn so, from the
/// exact Gram matrix of the clipped rows. Each number is the nearest point of a public grid to the real
/// one, exactly (`docs/proofs/exact-rounding.md`).
///
/// # Cost
/// `n d^2` for the Gram matrix, `d^3 / 3` for its factor, `3 r d^2 / 2` for the rows.
///
/// ```
/// use dp_core::{Adjacency, Budget, NoiseRng, NormBound};
/// use linalg_dp::covariance::{CovarianceMechanism, JlCovariance};
///
/// let adjacency = Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? };
/// let mechanism = JlCovariance::calibrate(2, 50, adjacency, Budget::new(1.0, 1e-6)?)?;
/// let release = mechanism.release(&[0.6, 0.8].repeat(1000), &mut NoiseRng::from_os()?)?;
/// let sketch = release.payload().sketch().expect("the mechanism publishes it");
/// assert_eq!(sketch.matrix().shape(), (50, 2));
/// # Ok::<(), linalg_dp::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct JlCovariance {
    clip: RowClip,
    rows: usize,
    lift: NoiseScale,
    law: GramRows,
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
        let bound = RowClip::new(dim, bound)?.check_room()?.certified_bound();
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
        let law = AUTHOR.gram_rows(rows, lift)?;
        let clip = RowClip::new(dim, bound)?.check_room()?;
        let bound = clip.certified_bound();
        let profile = Profile::JlMechanism { rows: rows as u64, bound, lift, change };
        let guarantee = AUTHOR.proven(adjacency, budget, profile, Theorem::CovarianceJl)?;
        Ok(Self { clip, rows, lift, law, guarantee })
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

    /// The law of the sketch, and its grid.
    pub(crate) fn law(&self) -> NoiseLaw {
        self.law.law()
    }

    /// The sketch Y of the rows whose Gram matrix this is, and `Y^T Y / r`. Spends the guarantee.
    pub(crate) fn draw(
        &self,
        gram: &ExactGram,
        rng: &mut NoiseRng,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let (d, r) = (self.clip.dim(), self.rows);
        let values = self.law.draw(rng, d, gram.totals(), gram.exponent())?;
        let y = MatRef::from_row_major_slice(&values, r, d);
        let square = dense::product(y.transpose(), y);
        let mut covariance = vec![0.0; d * d];
        for i in 0..d {
            for j in 0..=i {
                covariance[i * d + j] = square[(i, j)] / r as f64;
                covariance[j * d + i] = covariance[i * d + j];
            }
        }
        Ok((values, covariance))
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

impl JlCovariance {
    /// What one release promises.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Releases the covariance of `rows` (row-major, n x d).
    ///
    /// # Errors
    /// As [`super::CovarianceStream::push`] and [`super::CovarianceStream::finish`].
    pub fn release(&self, rows: &[f64], rng: &mut NoiseRng) -> Result<Release<PrivateCovariance>> {
        Mechanism::release(self, rows, rng)
    }
}

impl CovarianceMechanism for JlCovariance {
    fn dim(&self) -> usize {
        self.clip.dim()
    }

    fn expected_frobenius_error(&self, trace: SquaredNorm) -> f64 {
        // E ||Y^T Y / r - M||_F^2 = (||M||_F^2 + tr(M)^2) / r with M = A^T A + w^2 I;
        // ||M||_F <= tr(M) for M >= 0.
        let d = self.clip.dim() as f64;
        let square = self.lift.get() * self.lift.get();
        let (t, r) = (trace.get(), self.rows as f64);
        let frobenius = t * t + 2.0 * square * t + d * square * square;
        ((frobenius + (t + d * square).powi(2)) / r).sqrt()
    }
}

impl Privatises for JlCovariance {
    fn promise(&self) -> &Guarantee {
        self.guarantee()
    }

    fn row_clip(&self) -> RowClip {
        self.clip
    }

    fn as_dyn(&self) -> &dyn Privatises {
        self
    }

    fn privatise(
        &self,
        gram: &ExactGram,
        public: PublicParameters,
        rng: &mut NoiseRng,
    ) -> Result<Release<PrivateCovariance>> {
        let (d, r) = (self.dim(), self.rows);
        let (sketch, covariance) = self.draw(gram, rng)?;
        let statement = Statement {
            mechanism: NAME.into(),
            noise: self.law.law(),
            generator: rng.kind(),
            public,
        };
        let law = CovarianceNoise::JlSketch { rows: r as u64, lift: self.lift };
        let sketch = JlSketch::new(r, d, sketch);
        let payload = PrivateCovariance::new(d, covariance, Some(sketch), law);
        Ok(Release::certified(payload, AUTHOR.certificate(statement, self.guarantee.clone())))
    }
}

impl author::Sealed for JlCovariance {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for JlCovariance {
    /// Length d of a row, rows of the sketch, adjacency.
    type Config = (usize, usize, Adjacency);
    type Input<'a> = &'a [f64];
    type Output = Release<PrivateCovariance>;
    /// A bound on the total squared norm of the rows.
    type Facts = SquaredNorm;
    type Error = Error;

    fn calibrate(config: Self::Config, budget: Budget) -> Result<Self> {
        let (dim, rows, adjacency) = config;
        Self::calibrate(dim, rows, adjacency, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        self.guarantee()
    }

    fn predict(&self, trace: SquaredNorm) -> Result<Prediction> {
        Ok(prediction(self, trace))
    }

    fn release_watched(
        &self,
        rows: &[f64],
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<PrivateCovariance>> {
        release_watched(self, rows, rng, hook)
    }
}
