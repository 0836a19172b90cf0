//! The covariance that a release says most of: its eigenvalues with the noise taken out.

use crate::covariance::{CovarianceNoise, PrivateCovariance};
use crate::dense;
use crate::error::Result;
use dp_core::Probability;
use faer::{Mat, MatRef};

/// Below this dimension eigenvalues are clipped: the estimate of what else would gain is too rough there.
const LEAST_DIM: usize = 5;
/// Gaps below this share of the eigenvalues are rounding.
const EQUAL: f64 = 1e-9;

/// How the noise was taken out of the eigenvalues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Denoising {
    /// By the rotation-invariant estimator for symmetric Gaussian noise.
    RotationInvariant,
    /// Negative eigenvalues set to zero, nothing else.
    Clipped,
}

impl Denoising {
    /// Its name in print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RotationInvariant => "rotation-invariant",
            Self::Clipped => "clipped at zero",
        }
    }
}

/// A private `A^T A` with its noise taken out as far as that can be done without another look at the data:
/// positive semi-definite, in the eigenvectors of the release.
#[derive(Debug, Clone)]
pub struct DenoisedCovariance {
    covariance: PrivateCovariance,
    vectors: Mat<f64>,
    released: Vec<f64>,
    values: Vec<f64>,
    method: Denoising,
    typical: f64,
}

/// Takes the noise out of a released covariance, as post-processing: it costs no budget.
///
/// Symmetric Gaussian noise of scale sigma: each eigenvalue `l_i` becomes `l_i - sigma^2 sum_j g(l_i - l_j)`,
/// `g(x) = x / (x^2 + sigma^2 / 2)`, then falling (isotonic regression) and at least zero. This is done where it
/// lowers the unbiased estimate of the squared error below that of clipping at zero by more than that
/// estimate's own standard error, and from five columns on; elsewhere, and under Wishart and
/// Johnson-Lindenstrauss noise, for which no such estimate is known to us, eigenvalues are clipped at zero.
/// [`DenoisedCovariance::method`] says which.
///
/// # References
/// Bun, Allez, Bouchaud, Potters 2016 ("Rotational invariant estimator for general noisy matrices"), additive
/// Gaussian noise; the rule of choice is ours. What it guarantees: `docs/proofs/denoised-covariance.md`.
///
/// # Errors
/// [`crate::Error::Numerical`] when the eigendecomposition fails.
///
/// ```
/// use dp_core::{Adjacency, Budget, NoiseRng, NormBound, Probability};
/// use linalg_dp::analysis::denoised;
/// use linalg_dp::covariance::GaussianCovariance;
///
/// let adjacency = Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? };
/// let mechanism = GaussianCovariance::calibrate(20, adjacency, Budget::new(1.0, 1e-6)?)?;
/// let release = mechanism.release(&[0.2; 20 * 500], &mut NoiseRng::from_os()?)?;
/// let found = denoised(release.payload())?;
/// // What is typical, and what is guaranteed except with probability .05.
/// assert!(found.typical_error() < found.error(Probability::new(0.05)?)?);
/// # Ok::<(), linalg_dp::Error>(())
/// ```
pub fn denoised(covariance: &PrivateCovariance) -> Result<DenoisedCovariance> {
    let eigen = dense::symmetric_eigen(covariance.unbiased().as_ref())?;
    let released = eigen.values;
    let (values, method, square) = match covariance.noise() {
        CovarianceNoise::SymmetricGaussian { sigma } => shrunk(&released, sigma.get()),
        noise => (clip(&released), Denoising::Clipped, mean_square(noise, &released)),
    };
    Ok(DenoisedCovariance {
        covariance: covariance.clone(),
        vectors: eigen.vectors,
        released,
        values,
        method,
        typical: square.sqrt(),
    })
}

impl DenoisedCovariance {
    /// The estimate of `A^T A`, d x d.
    #[must_use]
    pub fn matrix(&self) -> Mat<f64> {
        let (v, d) = (&self.vectors, self.values.len());
        let scaled = Mat::from_fn(d, d, |i, j| v[(i, j)] * self.values[j]);
        let product = dense::product(scaled.as_ref(), v.transpose());
        Mat::from_fn(d, d, |i, j| 0.5 * (product[(i, j)] + product[(j, i)]))
    }

    /// Its eigenvalues, falling and at least zero: the i-th estimates `||A v_i||^2` of [`DenoisedCovariance::vectors`].
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The eigenvalues of the release, the public mean of the noise subtracted; falling, some negative.
    #[must_use]
    pub fn released_values(&self) -> &[f64] {
        &self.released
    }

    /// The eigenvectors of the release, as columns.
    #[must_use]
    pub fn vectors(&self) -> MatRef<'_, f64> {
        self.vectors.as_ref()
    }

    /// What was done.
    #[must_use]
    pub fn method(&self) -> Denoising {
        self.method
    }

    /// What was released.
    pub(super) fn covariance(&self) -> &PrivateCovariance {
        &self.covariance
    }

    /// The typical Frobenius norm of the error, estimated from the release; no bound.
    ///
    /// Symmetric Gaussian: the root of an unbiased estimate of the squared error (Stein), at least `sigma / sqrt 2`.
    /// Others: the root mean square of the noise, which clipping only lowers.
    #[must_use]
    pub fn typical_error(&self) -> f64 {
        self.typical
    }

    /// z such that `||matrix - A^T A||_F <= z` except with probability at most `failure`: proven, and far
    /// above [`DenoisedCovariance::typical_error`]. Infinite where the noise's law gives no bound.
    ///
    /// # Errors
    /// As [`PrivateCovariance::spectral_error`].
    pub fn error(&self, failure: Probability) -> Result<f64> {
        let spectral = spectral_bound(&self.covariance, failure)?;
        let d = self.values.len() as f64;
        let noise = match self.covariance.noise() {
            // The mean of a chi variable of d (d + 1) / 2 degrees, which is 1-Lipschitz in the noise.
            CovarianceNoise::SymmetricGaussian { sigma } if !self.covariance.is_centred() => {
                let above = (2.0 * (1.0 / failure.get()).ln()).sqrt();
                sigma.get() * ((0.5 * d * (d + 1.0)).sqrt() + above)
            }
            _ => d.sqrt() * spectral,
        };
        // Clipping comes no further from any positive semi-definite matrix; what is done beyond it is added.
        let beyond = self.values.iter().zip(clip(&self.released)).map(|(f, p)| (f - p).powi(2));
        Ok(noise + beyond.sum::<f64>().sqrt())
    }
}

/// [`PrivateCovariance::spectral_error`] for what may come from a window: a sum of sketches of several blocks has
/// another bound, which only the window knows.
pub(super) fn spectral_bound(covariance: &PrivateCovariance, failure: Probability) -> Result<f64> {
    let z = covariance.spectral_error(failure)?;
    let summed = matches!(covariance.noise(), CovarianceNoise::JlSketch { .. });
    Ok(if summed && covariance.sketch().is_none() { f64::INFINITY } else { z })
}

fn clip(released: &[f64]) -> Vec<f64> {
    released.iter().map(|l| l.max(0.0)).collect()
}

/// The mean square of the noise in Frobenius norm, at the released eigenvalues where it depends on the data.
fn mean_square(noise: CovarianceNoise, released: &[f64]) -> f64 {
    let d = released.len() as f64;
    match noise {
        CovarianceNoise::SymmetricGaussian { sigma } => sigma.get().powi(2) * 0.5 * d * (d + 1.0),
        CovarianceNoise::Wishart { dof, scale } => scale.get().powi(2) * dof as f64 * d * (d + 1.0),
        CovarianceNoise::JlSketch { rows, .. } => {
            let lifted = || released.iter().map(|l| l + noise.mean());
            (lifted().map(|m| m * m).sum::<f64>() + lifted().sum::<f64>().powi(2)) / rows as f64
        }
    }
}

/// Falling eigenvalues under symmetric Gaussian noise of scale sigma: what they become, how, and the unbiased
/// estimate of the squared Frobenius error.
fn shrunk(released: &[f64], sigma: f64) -> (Vec<f64>, Denoising, f64) {
    let w: Vec<f64> = released.iter().map(|l| l / sigma).collect();
    let clipped = ClipRisk::of(&w);
    let least = 0.5;
    if w.len() >= LEAST_DIM && w.iter().all(|x| x.is_finite()) {
        let flow = Flow::of(&w);
        let gain = Gain::of(&w, &flow);
        if gain.excess < -2.0 * gain.deviation {
            let values = flow.values.iter().map(|f| f * sigma).collect();
            let square = (clipped.0 + gain.excess).max(least) * sigma * sigma;
            return (values, Denoising::RotationInvariant, square);
        }
    }
    (clip(released), Denoising::Clipped, clipped.0.max(least) * sigma * sigma)
}

/// `(h_i - h_j) / (w_i - w_j)`, and `limit` for equal eigenvalues.
fn slope(w: (f64, f64), h: (f64, f64), limit: f64) -> f64 {
    let gap = w.0 - w.1;
    let equal = gap <= EQUAL * (1.0 + w.0.abs().max(w.1.abs()));
    if equal { limit } else { (h.0 - h.1) / gap }
}

/// The unbiased estimate of the squared error of clipping, in units of sigma squared.
struct ClipRisk(f64);

impl ClipRisk {
    fn of(w: &[f64]) -> Self {
        let d = w.len() as f64;
        let positive = |x: f64| f64::from(u8::from(x > 0.0));
        let mut divergence: f64 = w.iter().map(|x| positive(*x)).sum();
        for (i, a) in w.iter().enumerate() {
            let pairs = w[i + 1..].iter();
            divergence +=
                pairs.map(|b| slope((*a, *b), (a.max(0.0), b.max(0.0)), positive(*a))).sum::<f64>();
        }
        let cut: f64 = w.iter().map(|x| x.min(0.0).powi(2)).sum();
        Self(cut + 2.0 * divergence - 0.5 * d * (d + 1.0))
    }
}

/// The rotation-invariant eigenvalues and their derivatives, in units of sigma.
struct Flow {
    values: Vec<f64>,
    /// `d values_i / d w_j`.
    jacobian: Mat<f64>,
}

impl Flow {
    fn of(w: &[f64]) -> Self {
        let d = w.len();
        // eta^2 = tau^2 / d with tau^2 = d sigma^2 / 2.
        let width = 0.5;
        let pull = |x: f64| x / (x * x + width);
        let bend = |x: f64| (2.0 * width / (x * x + width) - 1.0) / (x * x + width);
        let x: Vec<f64> =
            w.iter().map(|a| a - w.iter().map(|b| pull(a - b)).sum::<f64>()).collect();
        let mut jacobian = Mat::from_fn(d, d, |i, j| if i == j { 0.0 } else { bend(w[i] - w[j]) });
        for i in 0..d {
            jacobian[(i, i)] = 1.0 - (0..d).map(|j| jacobian[(i, j)]).sum::<f64>();
        }
        // Pools of equal values, each the mean of its members.
        let mut pools: Vec<(f64, usize)> = Vec::with_capacity(d);
        for value in x {
            pools.push((value, 1));
            while let [.., (a, m), (b, n)] = pools[..]
                && a < b
            {
                pools.pop();
                let joined = (m + n) as f64;
                *pools.last_mut().expect("two were there") =
                    ((a * m as f64 + b * n as f64) / joined, m + n);
            }
        }
        let (mut values, mut first) = (Vec::with_capacity(d), 0);
        for (value, size) in pools {
            for j in 0..d {
                let mean =
                    (first..first + size).map(|i| jacobian[(i, j)]).sum::<f64>() / size as f64;
                let mean = if value > 0.0 { mean } else { 0.0 };
                (first..first + size).for_each(|i| jacobian[(i, j)] = mean);
            }
            values.extend(core::iter::repeat_n(value.max(0.0), size));
            first += size;
        }
        Self { values, jacobian }
    }
}

/// What another spectrum changes in the squared error of clipping, in units of sigma squared.
struct Gain {
    /// Unbiased estimate of the change; negative is better.
    excess: f64,
    /// Half of the standard error of that estimate, estimated.
    deviation: f64,
}

impl Gain {
    fn of(w: &[f64], flow: &Flow) -> Self {
        let d = w.len();
        let positive = |i: usize| f64::from(u8::from(w[i] > 0.0));
        let h: Vec<f64> = flow.values.iter().zip(w).map(|(f, x)| f - x.max(0.0)).collect();
        let change =
            |i: usize, j: usize| flow.jacobian[(i, j)] - if i == j { positive(i) } else { 0.0 };
        let square: f64 = h.iter().map(|x| x * x).sum();
        let cross: f64 = h.iter().zip(w).map(|(h, x)| h * (x.max(0.0) - x)).sum();
        let (mut divergence, mut trace) = (0.0, 0.0);
        for i in 0..d {
            divergence += change(i, i);
            trace += change(i, i).powi(2);
            for j in i + 1..d {
                let slope = slope((w[i], w[j]), (h[i], h[j]), change(i, i) - change(i, j));
                divergence += slope;
                trace += slope * slope + 2.0 * change(i, j) * change(j, i);
            }
        }
        let variance = (square + trace).max(0.0);
        Self { excess: square + 2.0 * (cross + divergence), deviation: variance.sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From `tools/reference/denoise.py` (mpmath: derivatives by differences of the matrix function).
    #[test]
    fn values_and_estimates_are_those_of_the_reference() {
        let w = [9.0, 4.5, 1.2, 0.7, -0.3, -1.1, -2.6];
        let flow = Flow::of(&w);
        let expected: [f64; 7] = REFERENCE_VALUES;
        for (found, expected) in flow.values.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        let gain = Gain::of(&w, &flow);
        let found = [ClipRisk::of(&w).0, gain.excess, gain.deviation.powi(2)];
        for (found, expected) in found.iter().zip(REFERENCE_RISKS) {
            assert!((found - expected).abs() < 1e-8, "{found} {expected}");
        }
    }

    const POOLED: f64 = 0.097_298_937_970_637_2;
    const REFERENCE_VALUES: [f64; 7] =
        [8.245_035_094_958_926, 3.653_649_876_225_177_4, POOLED, POOLED, POOLED, POOLED, 0.0];
    const REFERENCE_RISKS: [f64; 3] =
        [15.956_212_127_924_4, -6.569_000_360_006_61, 8.063_652_862_767_82];

    #[test]
    fn any_spectrum_gives_falling_values_that_are_not_negative() {
        let spectra: [&[f64]; 8] = [
            &[0.0],
            &[-3.0],
            &[0.0; 12],
            &[7.0; 12],
            &[1e300, 1e300, 1.0, 0.0, -1e-300, -1e300],
            &[5e-324; 6],
            &[f64::MAX, 1.0, 1.0, 1.0, 1.0, -f64::MAX],
            &[1e9, 1e9 - 1e-7, 1e9 - 2e-7, 1e9 - 3e-7, 1e9 - 4e-7],
        ];
        for released in spectra {
            for sigma in [1e-300, 1e-9, 1.0, 1e9, 1e150] {
                let (values, _, square) = shrunk(released, sigma);
                assert!(values.windows(2).all(|v| v[0] >= v[1]), "{released:?} {sigma}");
                assert!(values.iter().all(|v| *v >= 0.0 && !v.is_nan()), "{released:?} {sigma}");
                assert!(!square.is_nan(), "{released:?} {sigma}");
                if released.len() == 1 {
                    assert_eq!(values, clip(released));
                }
            }
        }
    }
}
