//! Sums and second moments released together: the sensitivity by brute force, the noise of every number, coverage of
//! every interval (2,500 releases a setting), what is refused.

use crate::rows::adjacencies;
use crate::support::Draws;
use dp_core::certificate::Statement;
use dp_core::noise::NoiseLaw;
use dp_core::profile::covariance_sensitivity;
use dp_core::release_file::{decode, encode};
use dp_core::{
    Adjacency, Budget, Certificate, NoiseRng, NormBound, Probability, Profile, PublicValue,
    Release, authority,
};
use faer::Mat;
use linalg_dp::Error;
use linalg_dp::analysis::{Moments, Regression, pca, pca_centred, subspace_distance};
use linalg_dp::covariance::{CovarianceMechanism, GaussianCovariance, PrivateCovariance};
use linalg_dp::dense::{symmetric_eigen, thin_svd};
use linalg_dp::verify::{Trust, verify, verify_certificate, verify_consistency};

const DRAWS: u64 = 2500;

fn bound(b: f64) -> NormBound {
    NormBound::new(b).unwrap()
}

fn calibrated(d: usize, adjacency: Adjacency, epsilon: f64) -> GaussianCovariance {
    let budget = Budget::new(epsilon, 1e-6).unwrap();
    GaussianCovariance::calibrate_moments(d, adjacency, budget).unwrap()
}

/// The public constant and the bound that a release counts.
fn stated(release: &Release<PrivateCovariance>) -> (f64, NormBound) {
    let certificate = release.certificate();
    let Some(PublicValue::Real(c)) = certificate.statement().public.get("constant") else {
        panic!("no constant")
    };
    let Some(Profile::SymmetricGaussian { bound, .. }) = certificate.guarantee().profile() else {
        panic!("another profile")
    };
    (*c, *bound)
}

fn public_rows(release: &Release<PrivateCovariance>) -> Option<u64> {
    match release.certificate().statement().public.get("rows") {
        Some(PublicValue::Integer(rows)) => Some(*rows),
        _ => None,
    }
}

/// What one change moves all moments by, in Frobenius norm: second ones, twice the sums, the count.
fn moved(before: Option<&[f64]>, after: Option<&[f64]>, zeroed: bool, c: f64) -> f64 {
    let d = before.or(after).unwrap().len();
    let whole = |row: Option<&[f64]>, last: f64| -> Vec<f64> {
        row.map_or(vec![0.0; d + 1], |r| r.iter().copied().chain([last]).collect())
    };
    let zeros = vec![0.0; d];
    let x = whole(before, c);
    let y = if zeroed { whole(Some(&zeros), c) } else { whole(after, c) };
    let entry = |i: usize, j: usize| x[i] * x[j] - y[i] * y[j];
    (0..=d)
        .flat_map(|i| (0..=d).map(move |j| (i, j)))
        .map(|(i, j)| entry(i, j).powi(2))
        .sum::<f64>()
        .sqrt()
}

#[test]
fn no_change_of_one_row_moves_the_moments_by_more_than_is_counted() {
    let mut draws = Draws::new(1);
    for d in [1, 2, 6] {
        for b in [0.3, 1.0, 7.0] {
            let mut worst = [0.0f64; 3];
            let releases = adjacencies(b).map(|adjacency| {
                let rows = vec![0.01; 4 * d];
                calibrated(d, adjacency, 1.0)
                    .release(&rows, &mut NoiseRng::from_os().unwrap())
                    .unwrap()
            });
            let (c, _) = stated(&releases[0]);
            assert!(c > 0.437 * b && c <= 0.4375 * b);
            for trial in 0..4000 {
                let mut row = |scale: f64| -> Vec<f64> {
                    let raw: Vec<f64> = (0..d).map(|_| draws.normal()).collect();
                    let norm = raw.iter().map(|v| v * v).sum::<f64>().sqrt();
                    raw.iter().map(|v| v / norm * scale * b).collect()
                };
                // On the sphere, inside, and at the angle where the bound is met: x.y = -c^2.
                let x = row(if trial % 2 == 0 { 1.0 } else { 0.5 });
                let y = match trial % 4 {
                    0 if d > 1 => {
                        let other = row(1.0);
                        let along: f64 =
                            other.iter().zip(&x).map(|(a, b)| a * b).sum::<f64>() / (b * b);
                        let side: Vec<f64> =
                            other.iter().zip(&x).map(|(a, x)| a - along * x).collect();
                        let norm = side.iter().map(|v| v * v).sum::<f64>().sqrt();
                        let cos = -c * c / (b * b);
                        let sin = (1.0 - cos * cos).sqrt();
                        x.iter().zip(&side).map(|(x, s)| cos * x + sin * s / norm * b).collect()
                    }
                    1 => x.iter().map(|v| -v).collect(),
                    _ => row(1.0),
                };
                worst[0] = worst[0].max(moved(Some(&x), None, false, c));
                worst[1] = worst[1].max(moved(Some(&x), Some(&y), false, c));
                worst[2] = worst[2].max(moved(Some(&x), None, true, c));
            }
            for ((adjacency, release), worst) in adjacencies(b).iter().zip(&releases).zip(worst) {
                let (_, counted) = stated(release);
                let change = match adjacency {
                    Adjacency::ReplaceRow { .. } => dp_core::profile::RowChange::Replace,
                    _ => dp_core::profile::RowChange::AddRemove,
                };
                let counted = covariance_sensitivity(counted, change);
                assert!(worst <= counted, "{adjacency}: {worst} over {counted}");
                // In one dimension rows are never at the worst angle; a zeroed row keeps its constant.
                let met = !matches!(adjacency, Adjacency::ZeroRow { .. })
                    && (d > 1 || matches!(adjacency, Adjacency::AddRemoveRow { .. }));
                assert!(!met || worst > 0.9999 * counted, "{adjacency} {d}: {worst} of {counted}");
            }
        }
    }
}

#[test]
fn both_together_have_a_fifth_more_noise_than_second_moments_alone() {
    for adjacency in adjacencies(1.0) {
        for d in [1, 20, 300] {
            let budget = Budget::new(1.0, 1e-6).unwrap();
            let alone = GaussianCovariance::calibrate(d, adjacency, budget).unwrap().sigma().get();
            let both = calibrated(d, adjacency, 1.0).sigma().get();
            assert!((1.19..1.192).contains(&(both / alone)), "{}", both / alone);
        }
    }
}

/// Rows of three columns with different means and deviations on the grid, the last two correlated.
fn rows(n: usize, d: usize) -> Vec<f64> {
    let mut draws = Draws::new(n as u64 + d as u64);
    let round = |x: f64| (x * 1024.0).round() / 1024.0;
    let mut rows = Vec::new();
    for _ in 0..n {
        let common = draws.uniform() - 0.5;
        for j in 0..d {
            let own = draws.uniform() - 0.5;
            let mean = [0.4, -0.2, 0.0][j % 3];
            let x = mean + 0.4 * if j % 3 == 0 { own } else { 0.8 * common + 0.3 * own };
            rows.push(round(x / (d as f64).sqrt()));
        }
    }
    rows
}

struct Truth {
    means: Vec<f64>,
    scatter: Mat<f64>,
    n: f64,
}

fn truth(rows: &[f64], d: usize) -> Truth {
    let n = (rows.len() / d) as f64;
    let mean = |j: usize| rows.chunks(d).map(|r| r[j]).sum::<f64>() / n;
    let means: Vec<f64> = (0..d).map(mean).collect();
    let scatter = Mat::from_fn(d, d, |i, j| {
        rows.chunks(d).map(|r| (r[i] - means[i]) * (r[j] - means[j])).sum()
    });
    Truth { means, scatter, n }
}

/// Every interval of every quantity, low and high noise, number of rows public and not; means and numbers of rows, which
/// are exact, within 94 to 96 % where the range does not cut them off; no interval leaves its range.
#[test]
fn every_interval_covers() {
    let failure = Probability::new(0.05).unwrap();
    for (d, n, epsilon) in [(1, 2000, 1.0), (3, 4000, 1.0), (3, 40_000, 5.0), (12, 12_000, 5.0)] {
        let rows = rows(n, d);
        let truth = truth(&rows, d);
        for adjacency in adjacencies(1.0) {
            let mechanism = calibrated(d, adjacency, epsilon);
            let (mut hit, mut asked, mut whole) = ([0u64; 4], [0u64; 4], 0u64);
            let mut note = |kind: usize, (low, high): (f64, f64), truth: f64, range: (f64, f64)| {
                assert!(low >= range.0 && high <= range.1 && low <= high, "{low} {high}");
                asked[kind] += 1;
                hit[kind] += u64::from(low <= truth && truth <= high);
                whole += u64::from((low, high) == range);
            };
            let sum =
                mechanism.release(&rows, &mut NoiseRng::deterministic_not_private(0)).unwrap();
            assert_eq!(
                public_rows(&sum).is_none(),
                matches!(adjacency, Adjacency::AddRemoveRow { .. })
            );
            for draw in 0..DRAWS {
                let rng = &mut NoiseRng::deterministic_not_private(draw);
                let release = mechanism.release(&rows, rng).unwrap();
                let Ok(moments) = Moments::of(&release) else { continue };
                let i = draw as usize % d;
                let j = (i + 1) % d;
                note(0, moments.mean_ranges(failure).unwrap()[i], truth.means[i], (-1.0, 1.0));
                let deviation = (truth.scatter[(i, i)] / truth.n).sqrt();
                note(1, moments.deviation_ranges(failure).unwrap()[i], deviation, (0.0, 1.0));
                if i != j {
                    let scale = truth.scatter[(i, i)] * truth.scatter[(j, j)];
                    let rho = truth.scatter[(i, j)] / scale.sqrt();
                    note(2, moments.correlation_range(i, j, failure).unwrap(), rho, (-1.0, 1.0));
                }
                if public_rows(&release).is_some() {
                    assert_eq!(moments.rows_range(failure).unwrap(), (truth.n, truth.n));
                } else {
                    note(3, moments.rows_range(failure).unwrap(), truth.n, (0.0, f64::INFINITY));
                }
            }
            let share = |kind: usize| hit[kind] as f64 / asked[kind] as f64;
            println!(
                "{adjacency} d {d} n {n} eps {epsilon}: {:?} whole {whole}",
                [0, 1, 2, 3].map(share)
            );
            for kind in (0..4).filter(|k| asked[*k] > 0) {
                let least = if kind == 0 || kind == 3 { 0.936 } else { 0.93 };
                assert!(
                    share(kind) >= least,
                    "{adjacency} {d} {n} {epsilon}: {kind} {}",
                    share(kind)
                );
                assert!(
                    whole > 0 || share(kind) <= 0.98,
                    "{adjacency} {d} {n}: {kind} {}",
                    share(kind)
                );
            }
        }
    }
}

/// The noise of sums and count has the stated scale: 0.9 of it would fail.
#[test]
fn sums_carry_the_noise_that_intervals_count() {
    let (d, n) = (2, 500);
    let rows = rows(n, d);
    let truth = truth(&rows, d);
    let mechanism = calibrated(d, adjacencies(1.0)[0], 1.0);
    let sigma = mechanism.sigma().get();
    let mut squares = [0.0; 2];
    for draw in 0..4000 {
        let release =
            mechanism.release(&rows, &mut NoiseRng::deterministic_not_private(draw)).unwrap();
        let (c, _) = stated(&release);
        let sums = release.payload().sums().unwrap();
        assert_eq!((sums.constant(), sums.values().len()), (c, d + 1));
        for (value, mean) in sums.values().iter().zip(&truth.means) {
            squares[0] += ((value - c * mean * truth.n) / sigma).powi(2) / (d as f64 * 4000.0);
        }
        squares[1] += ((sums.values()[d] - c * c * truth.n) / sigma).powi(2) / 4000.0;
    }
    // Standard errors .011 and .022.
    assert!((squares[0] - 0.5).abs() < 0.045 && (squares[1] - 1.0).abs() < 0.09, "{squares:?}");
}

/// Around the mean the directions are those of the data; around zero the mean is the first of them. What is
/// guaranteed holds, and the bound follows from the release.
#[test]
fn centred_components_are_those_of_the_data() {
    let (n, d) = (50_000, 4);
    let rows = rows(n, d);
    let truth = truth(&rows, d);
    let exact = symmetric_eigen(truth.scatter.as_ref()).unwrap();
    let failure = Probability::new(0.05).unwrap();
    for adjacency in adjacencies(1.0) {
        let mechanism = calibrated(d, adjacency, 1.0);
        let (mut near, mut far, mut within, mut bounds) = (0.0, 0.0, 0, 0.0);
        for draw in 0..200 {
            let release =
                mechanism.release(&rows, &mut NoiseRng::deterministic_not_private(draw)).unwrap();
            let centred = pca_centred(&release, 1).unwrap();
            let first = exact.vectors.get(.., ..1);
            near += subspace_distance(first, centred.payload().directions()).unwrap() / 200.0;
            let raw = pca(&release, 1).unwrap();
            far += subspace_distance(first, raw.payload().directions()).unwrap() / 200.0;
            let ranges = centred.payload().explained_ranges(failure).unwrap();
            let (low, high) = ranges[0];
            within += u32::from(low <= exact.values[0] && exact.values[0] <= high);
            bounds += (high - low) / 400.0;
            let found = Moments::of(&release).unwrap().denoised().unwrap();
            let error = found.matrix() - &truth.scatter;
            assert!(thin_svd(error.as_ref()).unwrap().s[0] <= found.error(failure).unwrap());
        }
        println!(
            "{adjacency}: sine {near} centred, {far} around zero; {within} of 200 within {bounds}"
        );
        assert!(near < 0.13 && far > 0.5, "{near} {far}");
        assert!(within >= 196, "{within}");
    }
}

/// Of few rows and many columns the noise of the sums takes more away than all that is there.
#[test]
fn the_total_around_the_mean_is_unbiased() {
    let (n, d, releases) = (100, 30, 4000);
    let rows = rows(n, d);
    let truth = truth(&rows, d);
    let trace: f64 = (0..d).map(|i| truth.scatter[(i, i)]).sum();
    let mechanism = calibrated(d, adjacencies(1.0)[2], 1.0);
    let totals = (0..releases).map(|draw| {
        let mut rng = NoiseRng::deterministic_not_private(draw);
        let release = mechanism.release(&rows, &mut rng).unwrap();
        assert!(public_rows(&release).is_some());
        pca_centred(&release, 1).unwrap().payload().total()
    });
    let totals: Vec<f64> = totals.collect();
    let mean = totals.iter().sum::<f64>() / releases as f64;
    let variance = totals.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / (releases - 1) as f64;
    let error = (variance / releases as f64).sqrt();
    let lost = d as f64 * mechanism.sigma().get().powi(2)
        / (2.0
            * n as f64
            * stated(&mechanism.release(&rows, &mut NoiseRng::from_os().unwrap()).unwrap())
                .0
                .powi(2));
    println!("{mean} +- {error}, truth {trace}; {lost} would be lost");
    assert!((mean - trace).abs() < 4.0 * error && lost > 10.0 * error, "{mean} {error} {lost}");
}

#[test]
fn regression_around_the_means_has_an_intercept_and_intervals_that_cover() {
    let (n, failure) = (60_000, Probability::new(0.05).unwrap());
    let mut draws = Draws::new(5);
    let mut rows = Vec::new();
    for _ in 0..n {
        let (a, b) = (0.3 + 0.3 * draws.normal(), 0.2 * draws.normal() - 0.2);
        let y = 0.25 + 0.4 * a - 0.3 * b + 0.05 * draws.normal();
        let clipped = [a, b, y].map(|x: f64| (x.clamp(-0.55, 0.55) * 4096.0).round() / 4096.0);
        rows.extend(clipped);
    }
    let truth = truth(&rows, 3);
    for adjacency in adjacencies(1.0) {
        let mechanism = calibrated(3, adjacency, 1.0);
        let (mut hit, mut total) = ([0; 2], 0);
        for draw in 0..2000 {
            let release =
                mechanism.release(&rows, &mut NoiseRng::deterministic_not_private(draw)).unwrap();
            let found = Regression::centred(&Moments::of(&release).unwrap(), 2).unwrap();
            // The estimand: the ridge solution on the centred rows.
            let q = found.ridge();
            let s = &truth.scatter;
            let (g, b) = (|i: usize, j: usize| s[(i, j)] + q[(i, j)], [s[(0, 2)], s[(1, 2)]]);
            let det = g(0, 0) * g(1, 1) - g(0, 1) * g(1, 0);
            let w =
                [(g(1, 1) * b[0] - g(0, 1) * b[1]) / det, (g(0, 0) * b[1] - g(1, 0) * b[0]) / det];
            if found.directions() < 2 {
                continue;
            }
            total += 1;
            let (low, high) = found.ranges(failure).unwrap()[0];
            hit[0] += i32::from(low <= w[0] && w[0] <= high);
            let intercept = truth.means[2] - w[0] * truth.means[0] - w[1] * truth.means[1];
            let (low, high) = found.intercept_range(failure).unwrap().unwrap();
            hit[1] += i32::from(low <= intercept && intercept <= high);
            if draw == 0 {
                let found = found.intercept().unwrap();
                assert!((found - intercept).abs() < 0.05, "{found} {intercept}");
            }
        }
        println!("{adjacency}: {hit:?} of {total}");
        assert!(
            total > 1900 && hit.iter().all(|h| f64::from(*h) >= 0.93 * f64::from(total)),
            "{hit:?} {total}"
        );
    }
    let plain =
        GaussianCovariance::calibrate(3, adjacencies(1.0)[0], Budget::new(1.0, 1e-6).unwrap());
    let release = plain.unwrap().release(&rows, &mut NoiseRng::from_os().unwrap()).unwrap();
    assert_eq!(Regression::of(release.payload(), 2).unwrap().intercept(), None);
    let refused = Moments::of(&release).unwrap_err().to_string();
    assert!(refused.contains("release moments"), "{refused}");
}

#[test]
fn files_hold_the_sums_and_forged_ones_are_refused() {
    let mechanism = calibrated(2, adjacencies(1.0)[1], 1.0);
    let mut rng = NoiseRng::from_os().unwrap();
    let mut stream = mechanism.stream(&mut rng);
    stream.push(&[0.5, 0.25, 0.125, 0.5]).unwrap();
    stream.push(&[0.5, 0.25]).unwrap();
    let release = stream.finish().unwrap();
    assert_eq!(public_rows(&release), Some(3));
    verify(&release).unwrap();
    let bytes = encode(&release).unwrap();
    let again = decode::<PrivateCovariance, Certificate>(&bytes).unwrap();
    assert_eq!(again.payload(), release.payload());
    assert_eq!(again.certificate().statement(), release.certificate().statement());
    // Another constant than the payload's, and a profile that does not count it.
    let forge = |change: &dyn Fn(&mut Statement)| {
        let mut statement = release.certificate().statement().clone();
        change(&mut statement);
        let certificate =
            authority!().certificate(statement, release.certificate().guarantee().clone());
        Release::certified(release.payload().clone(), certificate)
    };
    let larger = forge(&|s| drop(s.public.insert("constant".into(), PublicValue::Real(0.875))));
    assert!(verify_consistency(&larger).unwrap_err().to_string().contains("constant"));
    let alone = verify_certificate(larger.certificate(), &Trust::none()).unwrap_err();
    assert!(alone.to_string().contains("sensitivity"), "{alone}");
    assert!(encode(&larger).and_then(|b| decode::<PrivateCovariance, Certificate>(&b)).is_err());
    for bad in
        [PublicValue::Real(0.0), PublicValue::Real(1e300), PublicValue::Real(0.3), "0.4".into()]
    {
        let forged = forge(&|s| drop(s.public.insert("constant".into(), bad.clone())));
        assert!(verify_consistency(&forged).is_err(), "{bad:?}");
    }
    let without = forge(&|s| drop(s.public.remove("constant")));
    assert!(encode(&without).and_then(|b| decode::<PrivateCovariance, Certificate>(&b)).is_err());
    // Numbers off the grid.
    let NoiseLaw::SymmetricGaussian { grid, .. } = release.certificate().statement().noise else {
        panic!()
    };
    let at = bytes
        .windows(8)
        .position(|w| w == release.payload().sums().unwrap().values()[2].to_le_bytes());
    assert!(at.is_some() && grid.spacing() > 0.0);
}

#[test]
fn what_cannot_be_read_is_refused() {
    let one = Adjacency::AddRemoveRow { bound: bound(1.0) };
    let mechanism = calibrated(2, one, 0.1);
    let release =
        mechanism.release(&[0.5, 0.5], &mut NoiseRng::deterministic_not_private(3)).unwrap();
    let error = Moments::of(&release).unwrap_err();
    assert!(matches!(error, Error::Unusable { .. }) && error.to_string().contains("how many rows"));
    // Where their number is public every answer is a whole range.
    let none = calibrated(2, adjacencies(1.0)[1], 0.1);
    let empty = none.release(&[], &mut NoiseRng::deterministic_not_private(3)).unwrap();
    assert!(Moments::of(&empty).is_err());
    let few = none.release(&[0.5, 0.5], &mut NoiseRng::deterministic_not_private(3)).unwrap();
    let moments = Moments::of(&few).unwrap();
    let failure = Probability::new(0.05).unwrap();
    assert_eq!(moments.rows(), 1.0);
    assert_eq!(moments.correlation_range(0, 1, failure).unwrap(), (-1.0, 1.0));
    assert!(moments.correlation_range(0, 2, failure).is_err());
    assert!(moments.means().iter().chain(&moments.deviations()).all(|m| m.abs() <= 1.0));
    assert!(moments.rows_range(Probability::new(0.0).unwrap()).is_err());
    // Long rows are scaled to the bound before the constant is put beside them.
    let budget = Budget::new(500.0, 0.5).unwrap();
    let mechanism = GaussianCovariance::calibrate_moments(1, adjacencies(1.0)[1], budget).unwrap();
    let release =
        mechanism.release(&[1e200; 1000], &mut NoiseRng::deterministic_not_private(3)).unwrap();
    assert!((Moments::of(&release).unwrap().means()[0] - 1.0).abs() < 1e-3);
}

/// Of so many rows that what an interval is made of differs by less than rounding: its width is that of the noise.
#[test]
fn intervals_of_very_many_rows_have_a_width() {
    let budget = Budget::new(500.0, 0.5).unwrap();
    let mechanism = GaussianCovariance::calibrate_moments(1, adjacencies(1.0)[1], budget).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(3);
    let mut stream = mechanism.stream(&mut rng);
    stream.push(&[0.5]).unwrap();
    for _ in 0..36 {
        let sums = stream.sums();
        stream.add_sums(&sums).unwrap();
    }
    let release = stream.finish().unwrap();
    let moments = Moments::of(&release).unwrap();
    assert_eq!(moments.rows(), 2f64.powi(36));
    let (low, high) = moments.mean_ranges(Probability::new(0.05).unwrap()).unwrap()[0];
    let width = 2f64.sqrt() * 1.96 * mechanism.sigma().get() / stated(&release).0 / moments.rows();
    assert!(((high - low) / width - 1.0).abs() < 0.01, "{low} {high} {width}");
}
