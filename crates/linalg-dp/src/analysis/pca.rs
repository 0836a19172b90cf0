//! Principal components of a private covariance.

use super::denoise::{DenoisedCovariance, denoised, spectral_bound};
use crate::covariance::{CovarianceNoise, PrivateCovariance};
use crate::dense;
use crate::error::{Error, Result};
use dp_core::{Probability, Release};
use faer::{Mat, MatRef};

/// Principal directions read from a private covariance: of `A^T A` ([`pca`]), or around the mean
/// ([`super::pca_centred`]), where A below stands for the rows less their mean.
#[derive(Debug, Clone)]
pub struct PrivatePca {
    denoised: DenoisedCovariance,
    components: usize,
}

/// The top k principal directions of a released covariance, as post-processing.
///
/// # Errors
/// `k` outside `[1, d]`; [`Error::Numerical`] when the eigendecomposition fails.
pub fn pca(release: &Release<PrivateCovariance>, k: usize) -> Result<Release<PrivatePca>> {
    let payload = of_denoised(denoised(release.payload())?, k)?;
    Ok(Release::certified(payload, release.certificate().clone()))
}

pub(super) fn of_denoised(denoised: DenoisedCovariance, k: usize) -> Result<PrivatePca> {
    let d = denoised.values().len();
    if k == 0 || k > d {
        return Err(Error::invalid("components k", k, format!("[1, {d}]")));
    }
    Ok(PrivatePca { denoised, components: k })
}

impl PrivatePca {
    /// Orthonormal directions, d x k, the strongest first.
    #[must_use]
    pub fn directions(&self) -> MatRef<'_, f64> {
        self.denoised.vectors().subcols(0, self.components)
    }

    /// The projection `V V^T` on the directions, d x d.
    #[must_use]
    pub fn projector(&self) -> Mat<f64> {
        dense::product(self.directions(), self.directions().transpose())
    }

    /// Estimated `||A v||^2` of each direction: the denoised eigenvalues.
    #[must_use]
    pub fn explained(&self) -> &[f64] {
        &self.denoised.values()[..self.components]
    }

    /// Estimated `||A||_F^2`: the trace of the release, which is unbiased (and not the sum of the denoised eigenvalues). Around
    /// the mean, what the noise of the sums takes away is added: unbiased where the number of rows is public, and nearly so
    /// where its noise is small beside it.
    #[must_use]
    pub fn total(&self) -> f64 {
        let trace: f64 = self.denoised.released_values().iter().sum();
        trace + self.denoised.covariance().lost_trace()
    }

    /// The covariance that the directions are of.
    #[must_use]
    pub fn denoised(&self) -> &DenoisedCovariance {
        &self.denoised
    }

    /// Intervals around the released eigenvalues that all hold `||A v||^2` of their direction, and also the
    /// matching eigenvalue of `A^T A`, except with probability `failure` (Weyl's inequality): proven.
    ///
    /// # Errors
    /// As [`PrivateCovariance::spectral_error`].
    pub fn explained_ranges(&self, failure: Probability) -> Result<Vec<(f64, f64)>> {
        let z = spectral_bound(self.denoised.covariance(), failure)?;
        let released = &self.denoised.released_values()[..self.components];
        Ok(released.iter().map(|l| ((l - z).max(0.0), (l + z).max(0.0))).collect())
    }

    /// The typical error of each explained value: the noise's standard deviation in a direction that
    /// stands out. No bound. Infinite beyond the rows of a Johnson-Lindenstrauss sketch, which says nothing there.
    #[must_use]
    pub fn typical_explained_errors(&self) -> Vec<f64> {
        let noise = self.denoised.covariance().noise();
        let released = &self.denoised.released_values()[..self.components];
        // What a sketch does not see is rounding.
        let least = 1e-12 * (released[0] + noise.mean());
        let unseen =
            |l: f64| matches!(noise, CovarianceNoise::JlSketch { .. }) && l + noise.mean() <= least;
        let error = |l: &f64| match unseen(*l) {
            true => f64::INFINITY,
            false => (2.0 * pair_variance(noise, *l, *l)).sqrt(),
        };
        released.iter().map(error).collect()
    }

    /// A bound on the sine of the largest angle to the true top-k space, from the release
    /// alone, except with probability `failure`; 1 when the release shows no gap.
    ///
    /// Davis and Kahan's sine theorem: `||E|| / (lambda'_k - lambda_(k+1))`, where the unknown
    /// `lambda_(k+1)` is at most `lambda'_(k+1) + ||E||`. Proven, and far above
    /// [`PrivatePca::typical_subspace_error`].
    ///
    /// # Errors
    /// As [`PrivateCovariance::spectral_error`].
    pub fn subspace_error(&self, failure: Probability) -> Result<f64> {
        let released = self.denoised.released_values();
        let Some(next) = released.get(self.components) else { return Ok(0.0) };
        let z = spectral_bound(self.denoised.covariance(), failure)?;
        let gap = released[self.components - 1] - next - z;
        Ok(if gap > z { z / gap } else { 1.0 })
    }

    /// The typical sine of the largest angle to the true top-k space; no bound. 1 when the estimate shows no gap.
    ///
    /// To first order the sines are the singular values of `E_ij / (c_i - c_j)`, i inside and j outside of the space, whose
    /// mean norm is about its largest root mean square row plus its largest such column (Bandeira & van Handel 2016);
    /// c halfway between released and denoised eigenvalues, where noise has moved the true ones from.
    ///
    /// A Johnson-Lindenstrauss sketch of r rows shows `(r - k)/r` of what lies outside of the space, so the squares are raised by
    /// `r/(r - k)`, and it is 1 where k is r or more and below d. Of the sum of sketches in a window r is that of one of them: the
    /// sine is overstated.
    #[must_use]
    pub fn typical_subspace_error(&self) -> f64 {
        let (k, d) = (self.components, self.denoised.values().len());
        let released = self.denoised.released_values();
        let middle: Vec<f64> =
            released.iter().zip(self.denoised.values()).map(|(l, f)| 0.5 * (l + f)).collect();
        let noise = self.denoised.covariance().noise();
        let unseen = match noise {
            CovarianceNoise::JlSketch { rows, .. } => {
                rows as f64 / rows.saturating_sub(k as u64) as f64
            }
            _ => 1.0,
        };
        let share = |i: usize, j: usize| {
            let gap = (middle[i] - middle[j]).max(0.0);
            let share = unseen * pair_variance(noise, released[i], released[j]) / (gap * gap);
            // Where neither noise nor gap is seen nothing is known.
            if share.is_nan() { f64::INFINITY } else { share }
        };
        let largest = |sums: &mut dyn Iterator<Item = f64>| sums.fold(0.0, f64::max).sqrt();
        let rows = largest(&mut (0..k).map(|i| (k..d).map(|j| share(i, j)).sum()));
        let columns = largest(&mut (k..d).map(|j| (0..k).map(|i| share(i, j)).sum()));
        (rows + columns).min(1.0)
    }
}

/// The variance of the noise between two directions, where the release has these values along them.
fn pair_variance(noise: CovarianceNoise, a: f64, b: f64) -> f64 {
    match noise {
        CovarianceNoise::SymmetricGaussian { sigma } => 0.5 * sigma.get() * sigma.get(),
        CovarianceNoise::Wishart { dof, scale } => scale.get() * scale.get() * dof as f64,
        CovarianceNoise::JlSketch { rows, .. } => {
            let lifted = |l: f64| (l + noise.mean()).max(0.0);
            lifted(a) * lifted(b) / rows as f64
        }
    }
}

/// `||U U^T - V V^T||_F / sqrt 2` of two orthonormal bases of equal size: the root of
/// the sum of the squared sines of the principal angles.
///
/// # Errors
/// [`Error::Shape`] when the shapes differ.
pub fn subspace_distance(u: MatRef<'_, f64>, v: MatRef<'_, f64>) -> Result<f64> {
    if u.shape() != v.shape() {
        let show = |m: MatRef<'_, f64>| format!("{} x {}", m.nrows(), m.ncols());
        return Err(Error::shape("basis", show(v), show(u)));
    }
    // ||(I - U U^T) V||_F, without the cancellation of k - ||U^T V||_F^2.
    let mut rest = v.to_owned();
    rest -= dense::product(u, dense::product(u.transpose(), v).as_ref());
    Ok(rest.norm_l2())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::covariance::{ExactGram, JlCovariance, RowClip};
    use dp_core::{Adjacency, Budget, NoiseRng, NormBound};

    /// Mean sines of sketches of k eigenvalues of `strength` times the lift squared, and what is stated of them.
    fn sines(d: usize, k: usize, rows: usize, strength: f64) -> (f64, f64) {
        let bound = NormBound::new(1.0).unwrap();
        let (adjacency, budget) =
            (Adjacency::AddRemoveRow { bound }, Budget::new(1.0, 1e-6).unwrap());
        let made = JlCovariance::calibrate(d, rows, adjacency, budget).unwrap();
        let clip = RowClip::new(d, bound).unwrap();
        let noise = CovarianceNoise::JlSketch { rows: rows as u64, lift: made.lift() };
        let mut totals = vec![0; d * d];
        let strong = strength * noise.mean() / 2f64.powi(2 * clip.exponent());
        (0..k).for_each(|i| totals[i * d + i] = strong as i128);
        let mut gram = ExactGram::new(clip);
        gram.set_totals(totals).unwrap();
        let mut rng = NoiseRng::deterministic_not_private(9);
        let (mut sine, mut stated, draws) = (0.0, 0.0, 32.0);
        for _ in 0..32 {
            let values = made.draw(&gram, &mut rng).unwrap().1;
            let covariance = PrivateCovariance::new(d, values, None, noise);
            let found = of_denoised(denoised(&covariance).unwrap(), k).unwrap();
            let inside = found.directions().subrows(0, k).to_owned();
            let cosine = dense::thin_svd(inside.as_ref()).unwrap().s[k - 1].min(1.0);
            sine += (1.0 - cosine * cosine).sqrt() / draws;
            stated += found.typical_subspace_error() / draws;
        }
        (sine, stated)
    }

    /// Without what a sketch does not show the sine is stated as 0 for as many components as rows, and at .7 of the truth for
    /// ten of eleven.
    #[test]
    fn sketches_of_few_rows_claim_no_precision() {
        let settings = [
            (20, 1, 1, 0.0),
            (20, 3, 3, 1e4),
            (20, 1, 2, 100.0),
            (60, 10, 11, 3e4),
            (20, 3, 40, 100.0),
        ];
        for (d, k, rows, strength) in settings {
            let (sine, stated) = sines(d, k, rows, strength);
            println!("d {d}, k {k}, r {rows}, {strength}: {sine}, stated {stated}");
            assert!(stated >= sine, "d {d}, k {k}, r {rows}: {sine}, stated {stated}");
            assert!(k < rows && stated < 3.0 * sine || stated == 1.0, "{d} {k} {rows}: {stated}");
        }
        // Of all directions the space is known.
        assert_eq!(sines(4, 4, 2, 1.0).1, 0.0);
    }

    #[test]
    fn what_a_sketch_does_not_see_has_no_error() {
        let (d, rows) = (6, 2);
        let y = [3.0, 0.5, 0.0, 1.0, 0.0, 0.2, 0.1, 2.0, 1.0, 0.0, 0.3, 0.0];
        let y = MatRef::from_row_major_slice(&y, rows, d);
        let square = dense::product(y.transpose(), y);
        let values = (0..d * d).map(|e| square[(e / d, e % d)] / rows as f64).collect();
        let lift = dp_core::NoiseScale::new(0.5).unwrap();
        let noise = CovarianceNoise::JlSketch { rows: rows as u64, lift };
        let covariance = PrivateCovariance::new(d, values, None, noise);
        let found = of_denoised(denoised(&covariance).unwrap(), d).unwrap();
        let errors = found.typical_explained_errors();
        assert!(errors[..rows].iter().all(|e| e.is_finite() && *e > 0.0), "{errors:?}");
        assert!(errors[rows..].iter().all(|e| *e == f64::INFINITY), "{errors:?}");
    }
}
