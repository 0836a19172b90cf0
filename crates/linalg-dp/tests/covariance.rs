//! Covariance mechanisms: calibration against reference values, the privacy loss of the real
//! samplers against the exact profiles, sensitivity by brute force, advertised errors.

use dp_core::authority;
use dp_core::noise::{AdditiveNoise, Grid};
use dp_core::profile::{RowChange, covariance_sensitivity};
use dp_core::{
    Adjacency, Budget, Epsilon, NoiseRng, NoiseScale, PrivacyProfile, Probability, Profile,
};
use linalg_dp::Error;
use linalg_dp::analysis::{pca, subspace_distance};
use linalg_dp::covariance::{
    CovarianceMechanism, GaussianCovariance, JlCovariance, QuantileConfig, QuantileCovariance,
    WishartCovariance, WishartShape,
};

/// What rounding a clipped row may add to the square of its norm, d up to 500: paid in the noise.
const CLIP: f64 = 4e-5;

fn bound<B: TryFrom<f64, Error = dp_core::Error>>(b: f64) -> B {
    B::try_from(b).unwrap()
}

fn add_remove() -> Adjacency {
    Adjacency::AddRemoveRow { bound: bound(1.0) }
}

fn budget() -> Budget {
    Budget::new(1.0, 1e-6).unwrap()
}

/// Rows of norm at most one with `strong` directions.
fn rows(n: usize, d: usize, strong: usize) -> Vec<f64> {
    let mut rng = NoiseRng::deterministic_not_private(5);
    let unit =
        authority!().gaussian(NoiseScale::new(1.0).unwrap(), Grid::new(-30).unwrap()).unwrap();
    let mut data = vec![0.0; n * d];
    unit.fill(&mut rng, &mut data);
    for row in data.chunks_mut(d) {
        for (j, x) in row.iter_mut().enumerate() {
            *x *= if j < strong { 1.0 - 0.05 * j as f64 } else { 0.05 };
        }
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt().max(4.0);
        row.iter_mut().for_each(|x| *x /= norm);
    }
    data
}

fn gram(rows: &[f64], d: usize) -> Vec<f64> {
    let mut out = vec![0.0; d * d];
    for row in rows.chunks(d) {
        for i in 0..d {
            for j in 0..d {
                out[i * d + j] += row[i] * row[j];
            }
        }
    }
    out
}

fn mechanisms(d: usize, adjacency: Adjacency) -> Vec<Box<dyn CovarianceMechanism>> {
    let b = budget();
    vec![
        Box::new(GaussianCovariance::calibrate(d, adjacency, b).unwrap()),
        Box::new(JlCovariance::calibrate(d, 60, adjacency, b).unwrap()),
    ]
}

#[test]
fn calibrations_meet_the_reference_values() {
    // Reference: Wishart and JL calibration at 40 digits (mpmath), epsilon 1, delta 1e-6.
    let published_scale =
        WishartCovariance::calibrate(10, add_remove(), budget(), WishartShape::LeastDof).unwrap();
    assert_eq!(published_scale.dof() - 10, 42, "published: 425 over d");
    for (d, nu, scale) in
        [(10, 331, 0.211_980_578_691_342_97), (500, 1141, 0.139_300_935_804_142_4)]
    {
        let m = WishartCovariance::calibrate(d, add_remove(), budget(), WishartShape::Dof(nu));
        let s = m.unwrap().scale().get();
        assert!(s >= scale && s < scale * (1.0 + CLIP), "{d} {nu}: {s}");
    }
    for (r, w2, replace) in [
        (20, 19.224_122_150_712_073, 21.500_945_162_276_893),
        (100, 35.540_172_106_975_252, 43.411_286_087_968_35),
    ] {
        let m = JlCovariance::calibrate(4, r, add_remove(), budget()).unwrap();
        assert!((1.0..1.0 + CLIP).contains(&(m.lift().get().powi(2) / w2)));
        let adjacency = Adjacency::ReplaceRow { bound: bound(1.0) };
        let m = JlCovariance::calibrate(4, r, adjacency, budget()).unwrap();
        assert!((1.0..1.0 + CLIP).contains(&(m.lift().get().powi(2) / replace)));
    }
    let sigma = GaussianCovariance::calibrate(10, add_remove(), budget()).unwrap().sigma().get();
    assert!((4.224_678_889..4.224_678_889 * (1.0 + CLIP)).contains(&sigma), "{sigma}");
}

#[test]
fn the_default_wishart_shape_has_the_least_norm() {
    for d in [3, 20, 100] {
        let make = |shape| WishartCovariance::calibrate(d, add_remove(), budget(), shape).unwrap();
        let best = make(WishartShape::LeastSpectralNorm);
        for factor in [0.5, 0.8, 1.25, 2.0] {
            let extra = (best.dof() - d as u64) as f64 * factor;
            let other = make(WishartShape::Dof(d as u64 + (extra as u64).max(2)));
            assert!(best.typical_norm() <= other.typical_norm() * 1.001, "{d} {factor}");
        }
        assert!(best.typical_norm() < make(WishartShape::LeastDof).typical_norm());
    }
}

/// delta at `epsilon` from draws of the privacy loss, with its standard error.
fn simulated(losses: impl Iterator<Item = f64>, epsilon: f64) -> (f64, f64) {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for loss in losses {
        let x = if loss > epsilon { 1.0 - (epsilon - loss).exp() } else { 0.0 };
        n += 1.0;
        sum += x;
        squares += x * x;
    }
    let mean: f64 = sum / n;
    (mean, ((squares / n - mean * mean) / n).sqrt())
}

/// The larger direction must agree within 5 standard errors (false alarms below 1e-6 a
/// direction), and reject scales off by x0.7 and x1.3.
fn check_loss(directions: [(f64, f64); 2], epsilon: f64, profile: impl Fn(f64) -> Profile) {
    let (delta, error) = directions.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    let exact = |scale| profile(scale).log_delta(Epsilon::new(epsilon).unwrap()).delta();
    assert!((exact(1.0) - delta).abs() < 5.0 * error, "{} against {delta} +- {error}", exact(1.0));
    for (other, off) in [(0.7, exact(0.7)), (1.3, exact(1.3))] {
        assert!((off - delta).abs() > 5.0 * error, "no power against x{other}");
    }
}

#[test]
fn wishart_privacy_loss_of_a_million_draws_matches_its_profile() {
    let (d, nu, epsilon) = (3usize, 14u64, 1.0);
    let scale = NoiseScale::new(1.0).unwrap();
    let law = authority!().wishart(d, nu, scale).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(101);
    let a = (nu as f64 - d as f64 - 1.0) / 2.0;
    // v = e_1, t = 1: v' M^-1 v, and the loss in both directions, from one draw of N.
    // One thread: waking workers would cost more than a 3 x 3 matrix.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let mut draw = |_| {
        let m = law.draw(&mut rng).unwrap();
        let minor = m[4] * m[8] - m[5] * m[7];
        let det =
            m[0] * minor - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
        minor / det
    };
    let draws: Vec<f64> = pool.install(|| (0..1_000_000).map(&mut draw).collect());
    // Row absent: density of M over that of M - v v' (infinite loss where that is not positive).
    let absent =
        draws.iter().map(|q| if *q < 1.0 { -a * (1.0 - q).ln() - 0.5 } else { f64::INFINITY });
    // Row present: M = N + v v', and v' (N + v v')^-1 v = q / (1 + q).
    let present = draws.iter().map(|q| -a * (1.0 + q).ln() + 0.5);
    check_loss([simulated(absent, epsilon), simulated(present, epsilon)], epsilon, |x| {
        Profile::Wishart {
            dim: d as u64,
            dof: nu,
            bound: bound(1.0),
            scale: NoiseScale::new(x).unwrap(),
            change: RowChange::AddRemove,
        }
    });
}

#[test]
fn jl_privacy_loss_of_a_million_draws_matches_its_profile() {
    let (r, epsilon, w) = (6usize, 1.0, 1.5f64);
    let lambda = 1.0 / (w * w);
    let mut rng = NoiseRng::deterministic_not_private(102);
    let law =
        authority!().gaussian(NoiseScale::new(1.0).unwrap(), Grid::new(-40).unwrap()).unwrap();
    let mut z = vec![0.0; r * 1_000_000];
    law.fill(&mut rng, &mut z);
    // Only the direction of the added row matters (d = 3 or any other): r draws of variance 1 or 1 + lambda.
    let chi: Vec<f64> = z.chunks(r).map(|z| z.iter().map(|x| x * x).sum()).collect();
    let half = 0.5 * r as f64 * lambda.ln_1p();
    let absent = chi.iter().map(|q| half - 0.5 * q * lambda / (1.0 + lambda));
    let present = chi.iter().map(|q| -half + 0.5 * q * lambda);
    check_loss([simulated(absent, epsilon), simulated(present, epsilon)], epsilon, |x| {
        Profile::JlMechanism {
            rows: r as u64,
            bound: bound(1.0),
            lift: NoiseScale::new(w * x).unwrap(),
            change: RowChange::AddRemove,
        }
    });
}

#[test]
fn released_sketches_have_the_law_their_profile_speaks_of() {
    // d = 3, one row e_1 (B = 1) or none: column 1 of the sketch has variance w^2 + 1 or w^2. Chi-square
    // over 4000 releases of 6 rows: 24000 squares, 5 sigma = 4.6 per cent; the row moves it by
    // 1 / w^2 = 5.2 per cent or more, and scales x0.7 and x1.3 by half.
    let m = JlCovariance::calibrate(3, 6, add_remove(), Budget::new(2.0, 1e-3).unwrap()).unwrap();
    let w2 = m.lift().get().powi(2);
    let mut rng = NoiseRng::deterministic_not_private(103);
    for (data, expected) in [(vec![], w2), (vec![1.0, 0.0, 0.0], w2 + 1.0)] {
        let mut sum = [0.0; 3];
        for _ in 0..4000 {
            let release = m.release(&data, &mut rng).unwrap();
            let y = release.payload().sketch().unwrap();
            for (j, s) in sum.iter_mut().enumerate() {
                *s += y.matrix().col(j).squared_norm_l2();
            }
        }
        let tolerance = 5.0 * (2.0 / 24_000f64).sqrt();
        for (j, s) in sum.into_iter().enumerate() {
            let variance = if j == 0 { expected } else { w2 };
            let ratio = s / 24_000.0 / variance;
            assert!((ratio - 1.0).abs() < tolerance, "column {j}: {ratio}");
            assert!(
                (ratio / 0.49 - 1.0).abs() > tolerance && (ratio / 1.69 - 1.0).abs() > tolerance
            );
        }
    }
}

#[test]
fn brute_force_sensitivity_of_the_released_sums() {
    // Noise cancels between two releases with equal noise streams: what is left is the
    // change of the clipped, rounded sum.
    let d = 4;
    let base = rows(50, d, 2);
    let mut worst = [0.0f64; 2];
    for (which, adjacency) in
        [add_remove(), Adjacency::ReplaceRow { bound: bound(1.0) }].into_iter().enumerate()
    {
        let m = GaussianCovariance::calibrate(d, adjacency, budget()).unwrap();
        let declared = if which == 0 { 1.0 } else { core::f64::consts::SQRT_2 };
        let Some(Profile::SymmetricGaussian { bound: certified, change, .. }) =
            m.guarantee().profile()
        else {
            panic!("a symmetric Gaussian profile")
        };
        let paid = covariance_sensitivity(*certified, *change);
        assert!(paid < declared * (1.0 + 1e-5), "{paid}");
        let release = |data: &[f64]| {
            let mut rng = NoiseRng::deterministic_not_private(7);
            m.release(data, &mut rng).unwrap().payload().raw().to_owned()
        };
        let unit = |i: usize, size: f64| -> Vec<f64> {
            (0..d).map(|j| if j == i { size } else { 0.0 }).collect()
        };
        let odd = rows(20, d, 4);
        let mut candidates: Vec<Vec<f64>> = odd.chunks(d).map(<[f64]>::to_vec).collect();
        candidates.extend([unit(0, 1.0), unit(1, 1.0), unit(2, 5.0), unit(3, 1e9), vec![0.9; d]]);
        for x in &candidates {
            for y in &candidates {
                let with = |row: &[f64]| release(&[&base[..], row].concat());
                let other = if which == 0 { release(&base) } else { with(y) };
                let distance = (with(x) - other).norm_l2();
                // The roundings of rows and to the noise grid are paid in the calibration.
                assert!(distance <= paid, "{distance} above {paid}");
                worst[which] = worst[which].max(distance / declared);
            }
        }
    }
    assert!(worst.iter().all(|w| *w > 0.999), "{worst:?}");
}

#[test]
fn errors_are_as_advertised() {
    let (n, d, repetitions) = (500, 6, 400);
    let data = rows(n, d, 2);
    let truth = gram(&data, d);
    let trace = bound((0..d).map(|i| truth[i * d + i]).sum());
    for m in mechanisms(d, add_remove()) {
        let mut rng = NoiseRng::deterministic_not_private(11);
        let (mut mean, mut square, mut outside) = (vec![0.0; d * d], 0.0, 0);
        for _ in 0..repetitions {
            let release = m.release(&data, &mut rng).unwrap();
            release.certificate().verify_consistency().unwrap();
            let mut error = release.payload().unbiased();
            for i in 0..d * d {
                mean[i] += error[(i / d, i % d)] / f64::from(repetitions);
                error[(i / d, i % d)] -= truth[i];
            }
            square += error.norm_l2().powi(2) / f64::from(repetitions);
            let z = release.payload().spectral_error(Probability::new(0.05).unwrap()).unwrap();
            let spectral = linalg_dp::dense::thin_svd(error.as_ref()).unwrap().s[0];
            outside += i32::from(spectral > z);
        }
        let advertised = m.expected_frobenius_error(trace);
        let name = &m.guarantee().provenance();
        // Mean of d^2 entries: 6 standard errors. Frobenius: an upper bound, tight within 2 (JL) or 1.15.
        let entry = advertised / d as f64 * 2.0 / f64::from(repetitions).sqrt();
        assert!(mean.iter().zip(&truth).all(|(a, b)| (a - b).abs() < 6.0 * entry), "{name:?}");
        let ratio = square.sqrt() / advertised;
        assert!(ratio < 1.1 && ratio > 0.45, "{name:?}: {ratio}");
        // Coverage: at most 5 per cent, plus 5 standard errors.
        assert!(f64::from(outside) / f64::from(repetitions) < 0.05 + 0.055, "{name:?} {outside}");
    }
}

#[test]
fn same_bits_at_any_thread_count_and_in_any_portions() {
    let (n, d) = (2600, 7);
    let data = rows(n, d, 3);
    for m in mechanisms(d, Adjacency::ReplaceRow { bound: bound(1.0) }) {
        let run = |threads: usize, portion: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut rng = NoiseRng::deterministic_not_private(3);
                let mut stream = m.stream(&mut rng);
                for rows in data.chunks(portion * d) {
                    stream.push(rows).unwrap();
                }
                stream.finish().unwrap().payload().clone()
            })
        };
        let first = run(1, n);
        for (threads, portion) in [(2, n), (8, n), (2, 1), (3, 37)] {
            assert_eq!(first, run(threads, portion));
        }
    }
}

#[test]
fn pca_finds_strong_directions_and_knows_its_error() {
    let (n, d, k) = (20_000, 12, 3);
    let data = rows(n, d, k);
    let truth = gram(&data, d);
    let exact = faer::MatRef::from_row_major_slice(&truth, d, d);
    let exact = linalg_dp::dense::symmetric_eigen(exact).unwrap();
    let top = exact.vectors.get(.., ..k);
    for m in mechanisms(d, add_remove()) {
        let mut rng = NoiseRng::deterministic_not_private(13);
        let release = m.release(&data, &mut rng).unwrap();
        let found = pca(&release, k).unwrap();
        let found = found.payload();
        let failure = Probability::new(1e-6).unwrap();
        let distance = subspace_distance(top, found.directions()).unwrap();
        assert!(distance <= (k as f64).sqrt() * found.subspace_error(failure).unwrap() + 1e-12);
        let ranges = found.explained_ranges(failure).unwrap();
        for ((low, high), l) in ranges.iter().zip(&exact.values) {
            assert!(low <= l && l <= high);
        }
        assert!(found.typical_subspace_error() <= found.subspace_error(failure).unwrap());
        if !matches!(m.guarantee().profile(), Some(Profile::JlMechanism { .. })) {
            assert!(distance < 0.2 && found.subspace_error(failure).unwrap() < 0.7, "{distance}");
        }
    }
}

/// Rows of another bound may be longer than what is paid, also where their unit is the same; those with a constant have as many
/// sums as rows of one number more.
#[test]
fn sums_of_another_mechanism_are_refused() {
    let of = |b: f64| Adjacency::AddRemoveRow { bound: bound(b) };
    let own = GaussianCovariance::calibrate(4, of(1.0), budget()).unwrap();
    let sums = |mechanism: &GaussianCovariance| {
        let mut rng = NoiseRng::deterministic_not_private(1);
        let mut stream = mechanism.stream(&mut rng);
        let d = mechanism.dim();
        stream.push(&vec![1.0; 2 * d]).unwrap();
        stream.sums()
    };
    let mut rng = NoiseRng::deterministic_not_private(2);
    let mut stream = own.stream(&mut rng);
    for other in [
        GaussianCovariance::calibrate(4, of(1.99), budget()),
        GaussianCovariance::calibrate(4, of(1f64.next_up()), budget()),
        GaussianCovariance::calibrate(5, of(1.0), budget()),
        GaussianCovariance::calibrate_moments(3, of(1.0), budget()),
        GaussianCovariance::calibrate_moments(4, of(1.0), budget()),
    ] {
        let refused = stream.add_sums(&sums(&other.unwrap())).unwrap_err();
        assert!(matches!(refused, Error::Unusable { .. }), "{refused}");
    }
    let good = sums(&own);
    for (what, bytes) in
        [("empty", &good[..0]), ("cut", &good[1..]), ("short", &good[..good.len() - 1])]
    {
        assert!(stream.add_sums(bytes).is_err(), "{what}");
    }
    let older = stream.add_sums(&good[24..]).unwrap_err().to_string();
    assert!(older.contains("earlier versions"), "{older}");
    // What was refused left nothing behind.
    stream.add_sums(&good).unwrap();
    let whole = own.release(&[1.0; 8], &mut NoiseRng::deterministic_not_private(2)).unwrap();
    assert_eq!(stream.finish().unwrap().payload(), whole.payload());
}

#[test]
fn refusals_name_what_is_wrong() {
    let shift = Adjacency::RowShift { l2: bound(1.0) };
    let refused = GaussianCovariance::calibrate(3, shift, budget());
    assert!(matches!(refused, Err(Error::NotProven { .. })));
    let pure = Budget::pure(Epsilon::new(1.0).unwrap());
    assert!(GaussianCovariance::calibrate(3, add_remove(), pure).is_err());
    assert!(WishartCovariance::calibrate(3, add_remove(), budget(), WishartShape::Dof(4)).is_err());
    assert!(JlCovariance::calibrate(3, 0, add_remove(), budget()).is_err());
    assert!(GaussianCovariance::calibrate(0, add_remove(), budget()).is_err());
    // Broken twins: 0.7 of the noise that is needed.
    let less = NoiseScale::new(0.7 * 4.2247).unwrap();
    assert!(GaussianCovariance::with_sigma(3, add_remove(), budget(), less).is_err());
    let unit = NoiseScale::new(1.0).unwrap();
    assert!(WishartCovariance::with_noise(10, add_remove(), budget(), 40, unit).is_err());
    assert!(JlCovariance::with_lift(3, 20, add_remove(), budget(), less).is_err());
    // Sums of 2^20 columns are 16 TiB: refused before anything is paid, whichever way the noise is given.
    let (wide, scale) = (1 << 20, NoiseScale::new(1e6).unwrap());
    let within = Probability::new(0.9).unwrap();
    let chosen = QuantileConfig { dim: wide, adjacency: add_remove(), within, means: false };
    for refused in [
        GaussianCovariance::with_sigma(wide, add_remove(), budget(), scale).map(drop),
        WishartCovariance::with_noise(wide, add_remove(), budget(), 1 << 21, scale).map(drop),
        JlCovariance::with_lift(wide, 20, add_remove(), budget(), scale).map(drop),
        QuantileCovariance::calibrate(chosen, budget()).map(drop),
    ] {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("fit in memory"), "{refused}");
    }
    let m = GaussianCovariance::calibrate(3, add_remove(), budget()).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(1);
    assert!(matches!(m.release(&[1.0; 4], &mut rng), Err(Error::Shape { .. })));
    assert!(matches!(m.release(&[f64::NAN; 3], &mut rng), Err(Error::NotFinite { .. })));
}
