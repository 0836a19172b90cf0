//! The noisy power method: top directions of `A^T A` without releasing the matrix.

use super::clip::{RowClip, longer_rows, row_change};
use super::gram::{BLOCK, noise_grid, rescale};
use crate::author::AUTHOR;
use crate::dense;
use crate::error::{Error, Result};
use crate::products::check_grid;
use core::ops::ControlFlow;
use dp_core::mechanism::{Calibrated, Mechanism, Prediction, Progress, author};
use dp_core::noise::{AdditiveNoise, GaussianNoise};
use dp_core::profile::{GaussianStep, RowChange};
use dp_core::{
    Adjacency, Budget, Guarantee, L2Sensitivity, NoiseRng, NoiseScale, Probability, Profile,
    PublicSeed, PublicValue, Release, Theorem, calibrate,
};
use faer::{Accum, Mat, MatRef};
use rayon::prelude::*;
use sketch::projection::{Family, ProjectionSpec};

const NAME: &str = "noisy power method";
/// log2 of the steps to which the public iterate is rounded.
const ITERATE: i32 = 26;

/// Repeats `X <- orth(A^T A X + N(0, sigma^2))`, X d x k, from a public start.
///
/// # Privacy
/// X is public when each step begins and has orthonormal columns, so one row of norm at
/// most B moves `A^T A X` by at most `B^2` (added or removed) or `sqrt 2 B^2` (replaced), in
/// Frobenius norm. The steps are Gaussian mechanisms chosen adaptively: exact composition.
///
/// # References
/// Hardt & Price 2014, "The noisy power method", Algorithm 1; the sensitivity there is by largest
/// entries. Proof: `docs/proofs/noisy-power-method.md`.
///
/// ```
/// use dp_core::{Adjacency, Budget, NoiseRng, NormBound, PublicSeed};
/// use linalg_dp::covariance::NoisyPower;
///
/// let adjacency = Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? };
/// // One direction of rows of three numbers, in four iterations.
/// let mechanism = NoisyPower::calibrate(3, 1, 4, adjacency, Budget::new(1.0, 1e-6)?)?;
/// let rows = [0.8, 0.6, 0.0].repeat(2000);
/// let release = mechanism.release(&rows, PublicSeed::new(7), &mut NoiseRng::from_os()?)?;
/// assert!(release.payload().directions()[(0, 0)].abs() > 0.7);
/// # Ok::<(), linalg_dp::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NoisyPower {
    clip: RowClip,
    k: usize,
    iterations: usize,
    calibrated: Calibrated<GaussianNoise>,
}

/// What the noisy power method publishes.
#[derive(Debug, Clone)]
pub struct PowerDirections {
    directions: Mat<f64>,
    strengths: Vec<f64>,
    sigma: NoiseScale,
}

impl PowerDirections {
    /// Orthonormal directions, d x k, the strongest first.
    #[must_use]
    pub fn directions(&self) -> MatRef<'_, f64> {
        self.directions.as_ref()
    }

    /// Singular values of the last noisy product: estimates of the leading eigenvalues of
    /// `A^T A` once the iteration has converged.
    #[must_use]
    pub fn strengths(&self) -> &[f64] {
        &self.strengths
    }

    /// z such that the noise of the last product has spectral norm at most z, except with
    /// probability `failure`: every strength is that near the exact product's (Weyl).
    ///
    /// # Errors
    /// `failure` outside (0, 1).
    pub fn noise_norm(&self, failure: Probability) -> Result<f64> {
        let p = failure.get();
        if !(p > 0.0 && p < 1.0) {
            return Err(Error::invalid("failure probability", p, "(0, 1)"));
        }
        let (d, k) = self.directions.shape();
        let t = (2.0 * (1.0 / p).ln()).sqrt();
        Ok(self.sigma.get() * ((d as f64).sqrt() + (k as f64).sqrt() + t))
    }
}

impl NoisyPower {
    /// The least noise for `iterations` steps within the budget.
    ///
    /// # Errors
    /// `k` outside `[1, d]`, `iterations = 0`, a budget with delta = 0, an adjacency that
    /// does not protect rows, or a dimension or bound outside its range.
    pub fn calibrate(
        dim: usize,
        k: usize,
        iterations: usize,
        adjacency: Adjacency,
        budget: Budget,
    ) -> Result<Self> {
        let (bound, change) = row_change(adjacency, NAME)?;
        let clip = RowClip::new(dim, bound)?;
        if k == 0 || k > dim {
            return Err(Error::invalid("directions k", k, format!("[1, {dim}]")));
        }
        if iterations == 0 {
            return Err(Error::invalid("iterations", iterations, "[1, inf)"));
        }
        // Beside the iterate's norm the rounding of a row's k coefficients to its own unit, 2^-20 B at most.
        let (iterate, columns) = (iterate_norm(dim as f64, k as f64), k as f64);
        let b = clip.certified_bound().get();
        let one = b * b * (iterate + columns.sqrt() * 2f64.powi(-21)) * (1.0 + 1e-14);
        let exact = match change {
            RowChange::AddRemove => one,
            RowChange::Replace => {
                let rounding = b * b * columns.sqrt() * 2f64.powi(-20);
                core::f64::consts::SQRT_2 * b * b * iterate * (1.0 + 1e-14) + rounding
            }
        };
        let times = iterations as u64;
        let steps = |sensitivity: f64| -> Result<(L2Sensitivity, NoiseScale)> {
            let sensitivity = L2Sensitivity::new(sensitivity)?;
            Ok((sensitivity, calibrate::gaussian_steps(budget, sensitivity, times)?))
        };
        let rough = steps(exact)?.1;
        let grid = noise_grid(&clip, rough)?;
        let paid = grid.inflate_l2(L2Sensitivity::new(exact)?, dim * k, 0.0)?;
        let (sensitivity, sigma) = steps(paid.get())?;
        check_grid(sigma, grid)?;
        let profile = Profile::GaussianComposition {
            steps: vec![GaussianStep { sensitivity, sigma, times }],
        };
        let calibrated = AUTHOR.calibrated(
            adjacency,
            budget,
            AUTHOR.theorem(Theorem::NoisyPowerMethod),
            profile,
            AUTHOR.gaussian(sigma, grid)?,
        )?;
        Ok(Self { clip, k, iterations, calibrated })
    }

    /// What one release promises.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    /// Standard deviation of the noise in each entry of each product.
    #[must_use]
    pub fn sigma(&self) -> NoiseScale {
        self.calibrated.noise().sigma()
    }

    /// Runs the iteration on rows (row-major, n x d); longer rows are scaled to the bound.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::NotFinite`], [`Error::Numerical`].
    pub fn release(
        &self,
        rows: &[f64],
        start: PublicSeed,
        rng: &mut NoiseRng,
    ) -> Result<Release<PowerDirections>> {
        let (d, k) = (self.clip.dim(), self.k);
        self.clip.rows_in(rows)?;
        let mut quantised = vec![0.0; rows.len()];
        for (row, out) in rows.chunks(d).zip(quantised.chunks_mut(d)) {
            self.clip.quantise(row, out)?;
        }
        let mut x = self.start(start)?;
        let mut last = Mat::zeros(d, k);
        for _ in 0..self.iterations {
            let mut noise = vec![0.0; d * k];
            self.calibrated.noise().fill(rng, &mut noise);
            last = self.noisy_product(&quantised, &x, &noise);
            x = dense::orthonormal_basis(last.as_ref())?;
        }
        let svd = dense::thin_svd(last.as_ref())?;
        let public = [
            longer_rows(),
            ("d".to_owned(), PublicValue::from(d)),
            ("k".to_owned(), PublicValue::from(k)),
            ("iterations".to_owned(), PublicValue::from(self.iterations)),
            ("start".to_owned(), PublicValue::from(start)),
        ]
        .into();
        let certificate = self.calibrated.certificate(NAME, public, rng.kind());
        let payload = PowerDirections { directions: svd.u, strengths: svd.s, sigma: self.sigma() };
        Ok(Release::certified(payload, certificate))
    }

    fn start(&self, seed: PublicSeed) -> Result<Mat<f64>> {
        let (d, k) = (self.clip.dim(), self.k);
        let law = ProjectionSpec::new(Family::Gaussian, d, k, seed)?.build();
        let mut x = vec![0.0; d * k];
        x.chunks_mut(k).enumerate().for_each(|(i, row)| law.row(i, row));
        dense::orthonormal_basis(MatRef::from_row_major_slice(&x, d, k))
    }

    /// `A^T A X` in exact integers (each row's part is a fixed function of that row and X),
    /// plus noise on the grid.
    fn noisy_product(&self, rows: &[f64], x: &Mat<f64>, noise: &[f64]) -> Mat<f64> {
        let (d, k) = (self.clip.dim(), self.k);
        let scale = 2f64.powi(ITERATE);
        let x = Mat::from_fn(d, k, |i, j| (x[(i, j)] * scale).round_ties_even());
        let sums: Vec<Vec<i128>> = rows
            .par_chunks(BLOCK * d)
            .map(|block| {
                let q = MatRef::from_row_major_slice(block, block.len() / d, d);
                let mut y = dense::product(q, x.as_ref());
                for column in y.col_iter_mut() {
                    column.iter_mut().for_each(|v| *v = (*v / scale).round_ties_even());
                }
                let mut z = Mat::<f64>::zeros(d, k);
                dense::product_into(z.as_mut(), Accum::Replace, q.transpose(), y.as_ref());
                (0..d * k).map(|i| i128::from(z[(i / k, i % k)] as i64)).collect()
            })
            .collect();
        let mut total = vec![0i128; d * k];
        for sum in sums {
            total.iter_mut().zip(sum).for_each(|(t, s)| *t += s);
        }
        let grid = self.calibrated.noise().grid();
        let shift = grid.exponent() - 2 * self.clip.exponent();
        let step = grid.spacing();
        Mat::from_fn(d, k, |i, j| {
            let exact = rescale(total[i * k + j], shift);
            (exact + (noise[i * k + j] / step) as i128) as f64 * step
        })
    }
}

/// What the spectral norm of an iterate is below: orthonormal up to the residual that is checked and, above 400 columns, the
/// rounding of the check itself; and its own rounding.
fn iterate_norm(d: f64, k: f64) -> f64 {
    1.0 + dense::ORTHONORMAL * d * (k / 400.0).max(1.0) + (d * k).sqrt() * 2f64.powi(-ITERATE - 1)
}

impl author::Sealed for NoisyPower {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for NoisyPower {
    /// Length d of a row, directions k, iterations, adjacency.
    type Config = (usize, usize, usize, Adjacency);
    type Input<'a> = (&'a [f64], PublicSeed);
    type Output = Release<PowerDirections>;
    type Facts = ();
    type Error = Error;

    fn calibrate(config: Self::Config, budget: Budget) -> Result<Self> {
        let (dim, k, iterations, adjacency) = config;
        Self::calibrate(dim, k, iterations, adjacency, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        Self::guarantee(self)
    }

    fn predict(&self, (): ()) -> Result<Prediction> {
        let numbers = (self.clip.dim() * self.k) as f64;
        let of = "one noisy product in Frobenius norm";
        Ok(Prediction::new(of, self.sigma().get() * numbers.sqrt()))
    }

    fn release_watched(
        &self,
        input: Self::Input<'_>,
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Self::Output> {
        Progress::new(0, 1).ask(hook)?;
        let (rows, start) = input;
        self.release(rows, start, rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_core::NormBound;

    fn rows(n: usize, d: usize) -> Vec<f64> {
        (0..n * d).map(|i| ((i * 7919 + 13) % 1009) as f64 / 504.5 - 1.0).collect()
    }

    fn mechanism(d: usize, k: usize, adjacency: Adjacency) -> NoisyPower {
        NoisyPower::calibrate(d, k, 3, adjacency, Budget::new(1.0, 1e-6).unwrap()).unwrap()
    }

    fn quantised(m: &NoisyPower, rows: &[f64]) -> Vec<f64> {
        let d = m.clip.dim();
        let mut out = vec![0.0; rows.len()];
        for (row, out) in rows.chunks(d).zip(out.chunks_mut(d)) {
            m.clip.quantise(row, out).unwrap();
        }
        out
    }

    #[test]
    fn brute_force_sensitivity_of_a_product() {
        let (d, k) = (5, 3);
        let bound = NormBound::new(1.0).unwrap();
        let base = rows(40, d);
        let mut odd = rows(12, d);
        odd.extend([9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 7.0, 0.0, 0.0, 0.0]);
        let x = Mat::from_fn(d, k, |i, j| f64::from(u8::from(i == j)));
        let zero = vec![0.0; d * k];
        for (adjacency, declared) in [
            (Adjacency::AddRemoveRow { bound }, 1.0),
            (Adjacency::ReplaceRow { bound }, core::f64::consts::SQRT_2),
        ] {
            let m = mechanism(d, k, adjacency);
            let product = |data: &[f64]| m.noisy_product(&quantised(&m, data), &x, &zero);
            let with = |row: &[f64]| product(&[&base[..], row].concat());
            let mut worst = 0.0f64;
            for a in odd.chunks(d) {
                for b in odd.chunks(d) {
                    let replace = matches!(adjacency, Adjacency::ReplaceRow { .. });
                    let other = if replace { with(b) } else { product(&base) };
                    worst = worst.max((with(a) - other).norm_l2());
                }
            }
            assert!(worst <= declared * (1.0 + 1e-5) && worst > 0.999 * declared, "{worst}");
        }
    }

    /// A residual of r gives a norm of at most 1 + r/2; the check sees it up to rounding, d k eps/2.
    #[test]
    fn the_rounding_of_the_check_is_in_the_norm() {
        for (d, k) in [(5.0f64, 3.0f64), (400.0, 400.0), (4000.0, 401.0), (1e6, 3000.0)] {
            let rounding = (d * k).sqrt() * 2f64.powi(-27);
            let residual = dense::ORTHONORMAL * d + d * k * f64::EPSILON / 2.0;
            assert!(iterate_norm(d, k) >= 1.0 + residual / 2.0 + rounding, "{d} {k}");
            if k <= 400.0 {
                assert_eq!(iterate_norm(d, k), 1.0 + dense::ORTHONORMAL * d + rounding);
            }
        }
    }

    #[test]
    fn converges_and_is_the_same_at_any_thread_count() {
        let (n, d, k) = (6000, 20, 2);
        let mut data = rows(n, d);
        for row in data.chunks_mut(d) {
            row.iter_mut().enumerate().for_each(|(j, x)| *x *= [0.7, 0.5, 0.02][j.min(2)]);
        }
        let m = mechanism(d, k, Adjacency::AddRemoveRow { bound: NormBound::new(1.0).unwrap() });
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut rng = NoiseRng::deterministic_not_private(5);
                m.release(&data, PublicSeed::new(6), &mut rng).unwrap().into_parts().0
            })
        };
        let first = run(1);
        assert_eq!(first.directions(), run(8).directions());
        let a = MatRef::from_row_major_slice(&data, n, d);
        let eigen = dense::symmetric_eigen(dense::product(a.transpose(), a).as_ref()).unwrap();
        let top = eigen.vectors.get(.., ..k);
        let far = crate::analysis::subspace_distance(top, first.directions()).unwrap();
        assert!(far < 0.15, "{far}");
        let z = first.noise_norm(Probability::new(1e-6).unwrap()).unwrap();
        for (s, l) in first.strengths().iter().zip(&eigen.values) {
            assert!((s - l).abs() < z + 0.02 * l, "{s} {l} {z}");
        }
    }

    #[test]
    fn refusals() {
        let adjacency = Adjacency::AddRemoveRow { bound: NormBound::new(1.0).unwrap() };
        let budget = Budget::new(1.0, 1e-6).unwrap();
        assert!(NoisyPower::calibrate(4, 5, 3, adjacency, budget).is_err());
        assert!(NoisyPower::calibrate(4, 2, 0, adjacency, budget).is_err());
        let m = mechanism(4, 2, adjacency);
        let mut rng = NoiseRng::deterministic_not_private(1);
        let short = m.release(&[0.5; 6], PublicSeed::new(1), &mut rng);
        assert!(matches!(short, Err(Error::Shape { .. })));
        assert!(m.release(&[f64::NAN; 4], PublicSeed::new(1), &mut rng).is_err());
    }
}
