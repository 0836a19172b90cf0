//! The released covariance and what may be read from it.

use crate::dense;
use crate::error::{Error, Result};
use dp_core::noise::NoiseLaw;
use dp_core::numeric::ln_chi_square_cdf;
use dp_core::{NoiseScale, Probability};
use faer::{Mat, MatRef};
use serde::{Deserialize, Serialize};

/// The law of the noise in a released covariance: what error estimates are made from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum CovarianceNoise {
    /// Symmetric Gaussian, sigma on the diagonal, `sigma / sqrt 2` off it.
    SymmetricGaussian {
        /// Standard deviation of a diagonal entry.
        sigma: NoiseScale,
    },
    /// `W_d(dof, scale I)`.
    Wishart {
        /// Degrees of freedom.
        dof: u64,
        /// Scale of the identity.
        scale: NoiseScale,
    },
    /// A Johnson-Lindenstrauss sketch of the rows stacked over `lift I`.
    JlSketch {
        /// Rows of the sketch.
        rows: u64,
        /// The lift w.
        lift: NoiseScale,
    },
}

impl CovarianceNoise {
    /// The law as certificates state it; none when it is not that of a covariance.
    pub(crate) fn of(law: &NoiseLaw) -> Option<Self> {
        match *Self::of_matrix(law) {
            NoiseLaw::SymmetricGaussian { sigma, .. } => Some(Self::SymmetricGaussian { sigma }),
            NoiseLaw::Wishart { dof, scale, .. } => Some(Self::Wishart { dof, scale }),
            NoiseLaw::JlSketch { rows, lift, .. } => Some(Self::JlSketch { rows, lift }),
            _ => None,
        }
    }

    /// The law of the matrix alone, where the bound was chosen before.
    pub(crate) fn of_matrix(law: &NoiseLaw) -> &NoiseLaw {
        match law {
            NoiseLaw::Several { laws } => match &laws[..] {
                [own @ NoiseLaw::SymmetricGaussian { .. }, NoiseLaw::RoundedGaussian { .. }] => own,
                _ => law,
            },
            _ => law,
        }
    }

    /// Whether this can be the noise of a window of `blocks` blocks whose one block, node or correlated
    /// term has the noise `one`: from one of it to `blocks` independent ones.
    pub(crate) fn is_a_sum_of(self, one: Self, blocks: u64) -> bool {
        let between = |sum: NoiseScale, one: NoiseScale| {
            let most = one.get() * (blocks as f64).sqrt() * (1.0 + 1e-9);
            sum.get() >= one.get() * (1.0 - 1e-9) && sum.get() <= most
        };
        match (self, one) {
            (Self::SymmetricGaussian { sigma }, Self::SymmetricGaussian { sigma: one }) => {
                between(sigma, one)
            }
            (Self::JlSketch { rows, lift }, Self::JlSketch { rows: each, lift: one }) => {
                rows == each && between(lift, one)
            }
            // The degrees of freedom add up.
            (Self::Wishart { dof, scale }, Self::Wishart { dof: one, scale: each }) => {
                let times = dof / one.max(1);
                scale == each && dof.is_multiple_of(one.max(1)) && (1..=blocks).contains(&times)
            }
            _ => false,
        }
    }

    /// The public c with `E[raw] = A^T A + c I`: 0, `dof scale`, or `w^2`.
    pub(crate) fn mean(self) -> f64 {
        match self {
            Self::SymmetricGaussian { .. } => 0.0,
            Self::Wishart { dof, scale } => dof as f64 * scale.get(),
            Self::JlSketch { lift, .. } => lift.get() * lift.get(),
        }
    }
}

/// The sketch form of the JL mechanism: `Y = R [A; w I]`, R of N(0, 1) entries.
#[derive(Debug, Clone, PartialEq)]
pub struct JlSketch {
    rows: usize,
    dim: usize,
    values: Vec<f64>,
}

impl JlSketch {
    pub(crate) fn new(rows: usize, dim: usize, values: Vec<f64>) -> Self {
        Self { rows, dim, values }
    }

    /// Y, row after row.
    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Whether `Y^T Y / r` is this matrix (row-major, d x d), up to rounding.
    pub(crate) fn agrees_with(&self, covariance: &[f64]) -> bool {
        let (d, r) = (self.dim, self.rows as f64);
        let gram = dense::product(self.matrix().transpose(), self.matrix());
        let trace: f64 = (0..d).map(|i| gram[(i, i)]).sum();
        let differs = |e: usize| (gram[(e / d, e % d)] - covariance[e] * r).abs() > 1e-9 * trace;
        !(0..d * d).any(differs)
    }

    /// Y, r x d.
    #[must_use]
    pub fn matrix(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.values, self.rows, self.dim)
    }

    /// An estimate of `||A x||^2`, `||Y x||^2 / r - w^2 ||x||^2`, and an error e such that
    /// `estimate +- 1.96 e` holds the truth in at least 95 of 100 cases at any number of rows: a standard
    /// error, widened for what is read from the release itself (the quantile that the covariance page states).
    ///
    /// # Errors
    /// [`Error::Shape`] when `x` has another length; [`Error::NotFinite`].
    pub fn directional(&self, x: &[f64], lift: NoiseScale) -> Result<(f64, f64)> {
        if x.len() != self.dim {
            return Err(Error::shape("direction", x.len(), self.dim));
        }
        if x.iter().any(|v| !v.is_finite()) {
            return Err(Error::NotFinite { what: "the direction" });
        }
        let square = |v: &mut dyn Iterator<Item = f64>| v.map(|t| t * t).sum::<f64>();
        let mut along =
            self.values.chunks(self.dim).map(|y| y.iter().zip(x).map(|(a, b)| a * b).sum::<f64>());
        let lifted = square(&mut along) / self.rows as f64;
        let offset = lift.get() * lift.get() * square(&mut x.iter().copied());
        Ok((lifted - offset, lifted * jl_error_share(self.rows as u64)))
    }
}

/// The share of what a sketch of `rows` rows reads, `m Q / r` with `Q ~ chi2_r`, that 1.96 times covers
/// its distance from m with probability at least .95: `(r / q - 1) / 1.96`, q the quantile of Q at .025.
/// It tends to `sqrt(2 / r)`; at 4 rows it is 3.7, at 100 rows .18.
pub(crate) fn jl_error_share(rows: u64) -> f64 {
    let r = rows.max(1) as f64;
    let (mut low, mut high) = (0.0f64, r);
    for _ in 0..200 {
        let mid = 0.5 * (low + high);
        if ln_chi_square_cdf(r, mid) < 0.025f64.ln() {
            low = mid;
        } else {
            high = mid;
        }
    }
    (r / low.max(f64::MIN_POSITIVE) - 1.0) / 1.96
}

/// Name of the public parameter that states the constant of [`Sums`].
pub(crate) const CONSTANT: &str = "constant";
/// Name of the public parameter that states the bound that was chosen from noisy counts of norms.
pub(crate) const CHOSEN: &str = "chosen bound";
/// Name of the public parameter that states how many rows there are, where that is public.
pub(crate) const ROWS: &str = "rows";

/// Standard deviations that Gaussian noise never reaches: its tail beyond 12 is below `4e-33`.
const FAR: f64 = 12.0;

/// What a release of moments holds beside the second ones, with the same noise: `c sum x_i` of every column,
/// each with standard deviation `sigma / sqrt 2`, and `c^2 n` with sigma; c is public.
#[derive(Debug, Clone, PartialEq)]
pub struct Sums {
    constant: f64,
    /// d numbers, and the last.
    values: Vec<f64>,
}

impl Sums {
    pub(crate) fn new(constant: f64, values: Vec<f64>) -> Self {
        Self { constant, values }
    }

    /// c.
    #[must_use]
    pub fn constant(&self) -> f64 {
        self.constant
    }

    /// `c sum x_i` of every column, and last `c^2 n`, each with its noise.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Whether the released `c^2 n` may be that of so many rows: within [`FAR`] standard deviations.
    pub(super) fn agree_with(&self, rows: u64, noise: CovarianceNoise) -> bool {
        let CovarianceNoise::SymmetricGaussian { sigma } = noise else { return false };
        let count = self.constant * self.constant * rows as f64;
        let off = self.values.last().map_or(f64::INFINITY, |released| (released - count).abs());
        off <= FAR * sigma.get() + 1e-9 * count
    }
}

/// A private `A^T A`: symmetric d x d, with the law of its noise.
///
/// It is stored as a release file ([`dp_core::release_file`]), whose reader holds the noise against the
/// certificate's; it has no other serial form, because none would be checked:
///
/// ```compile_fail,E0277
/// fn readable<T: serde::de::DeserializeOwned>() {}
/// readable::<linalg_dp::covariance::PrivateCovariance>();
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PrivateCovariance {
    dim: usize,
    values: Vec<f64>,
    sketch: Option<JlSketch>,
    sums: Option<Sums>,
    /// Of a matrix that was centred, which has no file.
    centre: Option<Centre>,
    noise: CovarianceNoise,
}

/// What a bound on the error of a centred matrix needs to know of the sums it was centred by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Centre {
    /// Norm of the released `c sum x`.
    pub(crate) sum: f64,
    /// The released `c^2 n`.
    pub(crate) count: f64,
    /// Largest norm of a mean, over c.
    pub(crate) longest: f64,
}

impl Centre {
    /// By how much more the centred matrix may be off where the noise of all moments has norm `z`.
    fn stretch(self, z: f64) -> f64 {
        let mean = if self.count > z { (self.sum + z) / (self.count - z) } else { f64::INFINITY };
        let (released, true_one) = (self.sum / self.count, mean.min(self.longest));
        1.0 + released.max(true_one).powi(2)
    }
}

impl PrivateCovariance {
    pub(crate) fn new(
        dim: usize,
        values: Vec<f64>,
        sketch: Option<JlSketch>,
        noise: CovarianceNoise,
    ) -> Self {
        Self { dim, values, sketch, sums: None, centre: None, noise }
    }

    pub(crate) fn with_sums(self, sums: Option<Sums>) -> Self {
        Self { sums, ..self }
    }

    pub(crate) fn centred(self, centre: Centre) -> Self {
        Self { centre: Some(centre), ..self }
    }

    pub(crate) fn is_centred(&self) -> bool {
        self.centre.is_some()
    }

    /// What the trace of a centred matrix lacks on average, `d sigma^2/(2 c^2 n)`: the noise of the sums enters by its square.
    pub(crate) fn lost_trace(&self) -> f64 {
        match (self.centre, self.noise) {
            (Some(centre), CovarianceNoise::SymmetricGaussian { sigma }) => {
                self.dim as f64 * sigma.get().powi(2) / (2.0 * centre.count)
            }
            _ => 0.0,
        }
    }

    /// What was released, row after row.
    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// As [`PrivateCovariance::values`], without a copy.
    pub(crate) fn into_values(self) -> Vec<f64> {
        self.values
    }

    /// d.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The law of the noise.
    #[must_use]
    pub fn noise(&self) -> CovarianceNoise {
        self.noise
    }

    /// The sketch behind it, for the JL mechanism.
    #[must_use]
    pub fn sketch(&self) -> Option<&JlSketch> {
        self.sketch.as_ref()
    }

    /// The sums beside it, where moments were released.
    #[must_use]
    pub fn sums(&self) -> Option<&Sums> {
        self.sums.as_ref()
    }

    /// What was released, with the noise's mean still in it.
    #[must_use]
    pub fn raw(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.values, self.dim, self.dim)
    }

    /// The public c with `E[raw] = A^T A + c I`: 0, `dof scale`, or `w^2`.
    #[must_use]
    pub fn offset(&self) -> f64 {
        self.noise.mean()
    }

    /// The unbiased estimate `raw - offset I`; may have negative eigenvalues.
    #[must_use]
    pub fn unbiased(&self) -> Mat<f64> {
        let mut c = self.raw().to_owned();
        for i in 0..self.dim {
            c[(i, i)] -= self.offset();
        }
        c
    }

    /// [`PrivateCovariance::unbiased`] with its negative eigenvalues set to zero: nearer
    /// to every positive semi-definite truth in Frobenius norm.
    ///
    /// # Errors
    /// [`Error::Numerical`] when the eigendecomposition fails.
    pub fn positive(&self) -> Result<Mat<f64>> {
        let eigen = dense::symmetric_eigen(self.unbiased().as_ref())?;
        let v = &eigen.vectors;
        let scaled = Mat::from_fn(self.dim, self.dim, |i, j| v[(i, j)] * eigen.values[j].max(0.0));
        Ok(dense::product(scaled.as_ref(), v.transpose()))
    }

    /// z such that `||unbiased - A^T A||_2 <= z` except with probability at most `failure`
    /// over the noise; computed from the release alone. Infinite when the noise's law
    /// gives no bound (a JL sketch of too few rows).
    ///
    /// A proven upper bound. A holds the rows that entered: clipped to the bound B and rounded to multiples of a unit u,
    /// `u <= 2^-20 B`. Rounding moves a row by at most `sqrt(d) u / 2`, so n rows as given, none longer
    /// than B, have an `A^T A` within `n sqrt(d) u B (1 + sqrt(d) u / B)` of that; n may be private and is not added.
    ///
    /// # Errors
    /// `failure` outside (0, 1).
    pub fn spectral_error(&self, failure: Probability) -> Result<f64> {
        let p = failure.get();
        if !(p > 0.0 && p < 1.0) {
            return Err(Error::invalid("failure probability", p, "(0, 1)"));
        }
        // The noise of a centred matrix is that of all moments.
        let d = self.dim as f64 + if self.is_centred() { 1.0 } else { 0.0 };
        let t = (2.0 * (2.0 / p).ln()).sqrt();
        match self.noise {
            // E lambda_max <= sigma sqrt(2 d), and it is sigma-Lipschitz in the noise.
            CovarianceNoise::SymmetricGaussian { sigma } => {
                let z = sigma.get() * ((2.0 * d).sqrt() + t);
                Ok(z * self.centre.map_or(1.0, |centre| centre.stretch(z)))
            }
            // Davidson & Szarek 2001 for the extreme singular values of a Gaussian matrix.
            CovarianceNoise::Wishart { dof, scale } => {
                let (low, high) = singular_range(dof as f64, d, t);
                let nu = dof as f64;
                Ok(scale.get() * (high * high - nu).max(nu - low * low))
            }
            CovarianceNoise::JlSketch { rows, .. } => {
                let r = rows as f64;
                let (low, high) = singular_range(r, d, t);
                if low <= 0.0 {
                    return Ok(f64::INFINITY);
                }
                let top = dense::symmetric_eigen(self.raw())?.values[0].max(0.0);
                let lifted = top * r / (low * low);
                Ok(lifted * (high * high / r - 1.0).max(1.0 - low * low / r))
            }
        }
    }
}

/// `(sqrt n - sqrt d - t)_+` and `sqrt n + sqrt d + t`.
fn singular_range(n: f64, d: f64, t: f64) -> (f64, f64) {
    ((n.sqrt() - d.sqrt() - t).max(0.0), n.sqrt() + d.sqrt() + t)
}
