//! Taking the noise out of covariances: the errors of FRONTIER's data laws, the risk estimates, and spectra that
//! this test draws.
//!
//! Eigenvectors are left as they are and the noise has no preferred basis, so the truths are diagonal.

use crate::support::Draws;
use dp_core::{Adjacency, Budget, NoiseRng, NormBound, Probability, Release};
use faer::{Mat, MatRef};
use linalg_dp::analysis::{Denoising, denoised, pca, subspace_distance};
use linalg_dp::covariance::{
    CovarianceMechanism, GaussianCovariance, JlCovariance, PrivateCovariance, WishartCovariance,
    WishartShape,
};
use linalg_dp::dense::thin_svd;

fn add_remove() -> Adjacency {
    Adjacency::AddRemoveRow { bound: NormBound::new(1.0).unwrap() }
}

/// Gaussian rows of the given standard deviations, divided by the 90 % quantile of their norms, then clipped to norm 1.
fn rows(n: usize, deviations: &[f64], draws: &mut Draws) -> Vec<f64> {
    let d = deviations.len();
    let mut data: Vec<f64> = (0..n * d).map(|e| deviations[e % d] * draws.normal()).collect();
    let norm = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut norms: Vec<f64> = data.chunks(d).map(norm).collect();
    norms.sort_by(f64::total_cmp);
    let quantile = norms[n * 9 / 10];
    for row in data.chunks_mut(d) {
        let scale = 1.0 / norm(row).max(quantile);
        row.iter_mut().for_each(|x| *x *= scale);
    }
    data
}

fn gram(rows: &[f64], d: usize) -> Mat<f64> {
    let a = MatRef::from_row_major_slice(rows, rows.len() / d, d);
    linalg_dp::dense::product(a.transpose(), a)
}

fn spectral(error: &Mat<f64>) -> f64 {
    thin_svd(error.as_ref()).unwrap().s[0]
}

/// Mean errors of a release: (raw, clipped, denoised) in Frobenius norm, (raw, denoised) in spectral norm.
struct Errors {
    frobenius: [f64; 3],
    spectral: [f64; 2],
    typical: f64,
}

fn errors(deviations: &[f64], repetitions: u64) -> Errors {
    let d = deviations.len();
    let data = rows(10_000, deviations, &mut Draws::new(7));
    let truth = gram(&data, d);
    let mechanism =
        GaussianCovariance::calibrate(d, add_remove(), Budget::new(1.0, 1e-6).unwrap()).unwrap();
    let mut out = Errors { frobenius: [0.0; 3], spectral: [0.0; 2], typical: 0.0 };
    for seed in 0..repetitions {
        let mut rng = NoiseRng::deterministic_not_private(seed);
        let release = mechanism.release(&data, &mut rng).unwrap();
        let found = denoised(release.payload()).unwrap();
        assert_eq!(found.method(), Denoising::RotationInvariant);
        let raw = release.payload().unbiased() - &truth;
        let clipped = release.payload().positive().unwrap() - &truth;
        let better = found.matrix() - &truth;
        let share = 1.0 / repetitions as f64;
        for (sum, error) in out.frobenius.iter_mut().zip([&raw, &clipped, &better]) {
            *sum += share * error.norm_l2();
        }
        out.spectral[0] += share * spectral(&raw);
        out.spectral[1] += share * spectral(&better);
        out.typical += share * found.typical_error();
    }
    println!("{:?} {:?} typical {}", out.frobenius, out.spectral, out.typical);
    out
}

#[test]
fn errors_of_released_covariances_fall_as_far_as_they_should() {
    let d = 100;
    let power: Vec<f64> = (1..=d).map(|i| (i as f64).powf(-0.5)).collect();
    let strong = [1.0, 0.8, 0.6, 0.5, 0.4];
    let rank5: Vec<f64> =
        (0..d).map(|i| f64::hypot(strong.get(i).copied().unwrap_or(0.0), 0.03)).collect();
    for (name, deviations, most) in
        [("rank 5", rank5, 100.0), ("power law", power, 210.0), ("isotropic", vec![1.0; d], 95.0)]
    {
        let found = errors(&deviations, 6);
        let [raw, clipped, better] = found.frobenius;
        assert!(better <= most, "{name}: {better}");
        assert!(better < clipped && clipped <= raw * (1.0 + 1e-9), "{name}");
        assert!(found.spectral[1] <= found.spectral[0], "{name}: {:?}", found.spectral);
        assert!((found.typical / better - 1.0).abs() < 0.15, "{name}: {}", found.typical);
    }
}

#[test]
fn errors_of_a_large_covariance_fall_to_an_eighth() {
    let deviations: Vec<f64> = (1..=784).map(|i| 1.0 / f64::from(i)).collect();
    let found = errors(&deviations, 1);
    assert!(found.frobenius[2] <= 300.0 && found.frobenius[0] > 2000.0);
    assert!(found.spectral[1] <= found.spectral[0]);
}

/// A release of zero rows plus a known diagonal: as if rows had that Gram matrix.
fn released(
    mechanism: &GaussianCovariance,
    truth: &[f64],
    rng: &mut NoiseRng,
) -> Release<PrivateCovariance> {
    let d = truth.len();
    let unit = mechanism.sigma().get();
    // Rows along the axes: as many of norm at most one as the value needs.
    let mut rows = Vec::new();
    for (i, value) in truth.iter().enumerate() {
        let target = value * unit;
        let count = target.ceil().max(1.0);
        for _ in 0..count as usize {
            let mut row = vec![0.0; d];
            row[i] = (target / count).sqrt();
            rows.extend(row);
        }
    }
    mechanism.release(&rows, rng).unwrap()
}

fn mechanism(d: usize) -> GaussianCovariance {
    GaussianCovariance::calibrate(d, add_remove(), Budget::new(1.0, 1e-6).unwrap()).unwrap()
}

/// Mean squared errors (clipped, denoised) and the mean of the estimate, in units of sigma squared.
fn squares(truth: &[f64], repetitions: u64) -> ([f64; 2], f64, f64) {
    let made = mechanism(truth.len());
    let unit = made.sigma().get();
    let exact =
        Mat::from_fn(truth.len(), truth.len(), |i, j| if i == j { truth[i] * unit } else { 0.0 });
    let mut rng = NoiseRng::deterministic_not_private(11);
    let (mut sums, mut estimate, mut spread) = ([0.0; 2], 0.0, 0.0);
    for _ in 0..repetitions {
        let release = released(&made, truth, &mut rng);
        let found = denoised(release.payload()).unwrap();
        let square = |m: Mat<f64>| ((m - &exact).norm_l2() / unit).powi(2) / repetitions as f64;
        let denoised = square(found.matrix());
        sums[0] += square(release.payload().positive().unwrap());
        sums[1] += denoised;
        let gap = (found.typical_error() / unit).powi(2) - denoised * repetitions as f64;
        estimate += gap / repetitions as f64;
        spread += gap * gap / repetitions as f64;
    }
    (sums, estimate, ((spread - estimate * estimate) / repetitions as f64).sqrt())
}

#[test]
fn spectra_drawn_at_random_never_err_more_than_clipped_ones() {
    let mut draws = Draws::new(23);
    for _ in 0..5 {
        let d = 5 + (draws.uniform() * 36.0) as usize;
        // Heavy-tailed eigenvalues at a random level and with a random tail: some far apart, some in the noise.
        let (level, tail) = (2.0 * draws.normal(), 2.0 * draws.uniform());
        let truth: Vec<f64> =
            (0..d).map(|_| (level + tail * draws.normal()).exp().min(200.0)).collect();
        let ([clipped, better], ..) = squares(&truth, 150);
        println!("d = {d}: {better} against {clipped}");
        assert!(better <= clipped * (1.0 + 1e-9), "d = {d}: {better} against {clipped}");
    }
}

/// Eigenvalues so far apart that nothing is to be gained, where the estimator alone would lose a tenth.
#[test]
fn where_there_is_nothing_to_gain_nothing_is_lost() {
    for (d, gap) in [(1, 4.0), (2, 4.0), (3, 4.0), (5, 4.0), (10, 4.0), (10, 10.0)] {
        let truth: Vec<f64> = (0..d).map(|i| gap * f64::from(d - 1 - i)).collect();
        let ([clipped, better], ..) = squares(&truth, 600);
        println!("d = {d}, gap {gap}: {}", better / clipped);
        assert!(better <= clipped * 1.01, "d = {d}, gap {gap}: {better} against {clipped}");
        assert!(d >= 5 || better == clipped);
    }
}

#[test]
fn estimates_of_the_error_are_unbiased() {
    // In these settings one method is always chosen, and the floor is never reached.
    let strong = |i: u32| if i < 5 { 60.0 - 10.0 * f64::from(i) } else { 0.0 };
    let apart = |i: u32| 12.0 * f64::from(11 - i);
    for truth in [(0..40).map(strong).collect::<Vec<_>>(), (0..12).map(apart).collect()] {
        let ([_, better], gap, error) = squares(&truth, 400);
        println!("{gap} +- {error} of {better}");
        // Power: an estimate that is wrong by a tenth is seen.
        assert!(10.0 * 5.0 * error < better, "{better} {error}");
        assert!(gap.abs() < 5.0 * error, "{truth:?}: {gap} +- {error}");
    }
}

#[test]
fn typical_values_are_near_what_happens_and_below_what_is_guaranteed() {
    let (d, k) = (60, 3);
    let truth: Vec<f64> =
        (0..d).map(|i| if i < k { 120.0 - 20.0 * i as f64 } else { 0.0 }).collect();
    let made = mechanism(d);
    let exact = Mat::<f64>::identity(d, d);
    let mut rng = NoiseRng::deterministic_not_private(3);
    let (mut sine, mut stated, mut value) = (0.0, 0.0, 0.0);
    let draws = 60;
    for _ in 0..draws {
        let release = released(&made, &truth, &mut rng);
        let found = pca(&release, k).unwrap();
        let found = found.payload();
        let top = exact.subcols(0, k);
        let inside = linalg_dp::dense::product(top.transpose(), found.directions());
        let cosine = thin_svd(inside.as_ref()).unwrap().s[k - 1].min(1.0);
        sine += (1.0 - cosine * cosine).sqrt() / f64::from(draws);
        stated += found.typical_subspace_error() / f64::from(draws);
        let guaranteed = found.subspace_error(Probability::new(0.05).unwrap()).unwrap();
        assert!(found.typical_subspace_error() < guaranteed);
        assert!(subspace_distance(top, found.directions()).unwrap() <= guaranteed * 3f64.sqrt());
        for i in 0..k {
            let v = found.directions().col(i);
            let own: f64 = (0..d).map(|j| v[j] * v[j] * truth[j] * made.sigma().get()).sum();
            let off = (found.explained()[i] - own) / found.typical_explained_errors()[i];
            value += off * off / f64::from(draws) / k as f64;
        }
    }
    println!("sine {sine}, typical {stated}; explained {value}");
    assert!((0.8..1.6).contains(&(stated / sine)), "{stated} {sine}");
    assert!((0.6..1.5).contains(&value), "{value}");
}

#[test]
fn other_noises_are_clipped() {
    let shape = WishartShape::LeastSpectralNorm;
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let mechanisms: [Box<dyn CovarianceMechanism>; 2] = [
        Box::new(WishartCovariance::calibrate(8, add_remove(), budget, shape).unwrap()),
        Box::new(JlCovariance::calibrate(8, 40, add_remove(), budget).unwrap()),
    ];
    let data = rows(500, &[1.0; 8], &mut Draws::new(1));
    for m in mechanisms {
        let release = m.release(&data, &mut NoiseRng::deterministic_not_private(1)).unwrap();
        let found = denoised(release.payload()).unwrap();
        assert_eq!(found.method(), Denoising::Clipped);
        let clipped = release.payload().positive().unwrap();
        assert!((found.matrix() - &clipped).norm_l2() <= 1e-12 * clipped.norm_l2());
        let failure = Probability::new(0.05).unwrap();
        assert!(found.typical_error() < found.error(failure).unwrap());
        let error = (found.matrix() - gram(&data, 8)).norm_l2();
        assert!(error <= found.error(failure).unwrap() && error < 3.0 * found.typical_error());
    }
}

#[test]
fn huge_noise_no_rows_and_equal_rows_give_a_matrix() {
    for (d, epsilon) in [(1, 1e-9), (1, 50.0), (6, 1e-9), (6, 50.0), (30, 1.0)] {
        let budget = Budget::new(epsilon, 1e-6).unwrap();
        let made = GaussianCovariance::calibrate(d, add_remove(), budget).unwrap();
        for data in [vec![], vec![0.0; 3 * d], vec![0.1; 4 * d], vec![1e3; d]] {
            let mut rng = NoiseRng::deterministic_not_private(2);
            let release = made.release(&data, &mut rng).unwrap();
            let found = denoised(release.payload()).unwrap();
            assert!(found.values().iter().all(|v| *v >= 0.0 && v.is_finite()));
            assert!(found.typical_error() > 0.0 && found.matrix().is_all_finite());
            let components = pca(&release, d).unwrap();
            assert_eq!(
                components.payload().subspace_error(Probability::new(0.1).unwrap()),
                Ok(0.0)
            );
            assert_eq!(components.payload().typical_subspace_error(), 0.0);
        }
    }
}
