//! Integer noise on whole numbers: profiles against sums over the laws, what is refused, what is promised.

use crate::certificates::{b_of, proven, row, scale};
use crate::support::chi_square_excess;
use dp_core::accounting::{Ledger, Method};
use dp_core::mechanism::{Basis, Mechanism, PrivateVector, Statistic};
use dp_core::noise::{AdditiveNoise, DiscreteGaussian, DiscreteLaplace, NoiseLaw};
use dp_core::profile::Event;
use dp_core::profile::pld::Pld;
use dp_core::{
    Adjacency, Budget, Certificate, EntryBound, Epsilon, L1Sensitivity, L2Sensitivity, NoiseRng,
    NormBound, PrivacyProfile, Profile, calibrate,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Probabilities of the integers from `-n` to n.
fn law(profile: &Profile, n: i64) -> Vec<f64> {
    let weight = |x: i64| match *profile {
        Profile::DiscreteLaplace { scale, .. } => (-(x.abs() as f64) / scale.get()).exp(),
        Profile::DiscreteGaussian { sigma, .. } => (-0.5 * (x as f64 / sigma.get()).powi(2)).exp(),
        _ => unreachable!("integer noise"),
    };
    let weights: Vec<f64> = (-n..=n).map(weight).collect();
    let all: f64 = weights.iter().sum();
    weights.iter().map(|w| w / all).collect()
}

/// The hockey-stick divergence of the law and the law moved by some steps, by its definition.
fn divergence(law: &[f64], moves: i64, epsilon: f64) -> f64 {
    let at = |x: i64| usize::try_from(x).ok().and_then(|x| law.get(x)).copied().unwrap_or(0.0);
    let n = law.len() as i64;
    let more = |x: i64| (at(x) - epsilon.exp() * at(x - moves)).max(0.0);
    (-moves.abs()..n + moves.abs()).map(more).sum()
}

fn laplace(moves: u64, b: f64) -> Profile {
    Profile::DiscreteLaplace { moves, scale: b_of(b) }
}

fn gaussian(moves: u64, sigma: f64) -> Profile {
    Profile::DiscreteGaussian { moves, sigma: scale(sigma) }
}

fn delta(profile: &Profile, epsilon: f64) -> f64 {
    profile.log_delta(Epsilon::new(epsilon).unwrap()).delta()
}

/// Both laws at many scales, small and large moves, both directions.
#[test]
fn delta_is_the_sum_over_the_law() {
    let mut seen = 0;
    for made in [laplace as fn(u64, f64) -> Profile, gaussian] {
        for spread in [0.15, 0.4, 0.8, 1.0, 1.7, 3.0, 8.5, 40.0] {
            for moves in [1, 2, 3, 7, 50] {
                let p = made(moves, spread);
                let q = law(&p, 2200);
                for epsilon in [1e-9, 0.01, 0.1, 0.3, 0.7, 1.0, 2.5, 6.0, 20.0, 60.0] {
                    let (one, other) = (
                        divergence(&q, moves as i64, epsilon),
                        divergence(&q, -(moves as i64), epsilon),
                    );
                    let (found, truth) = (delta(&p, epsilon), one.max(other));
                    assert!(
                        found >= truth * (1.0 - 1e-11) - 1e-15,
                        "{p:?} {epsilon}: {found} {truth}"
                    );
                    if truth > 1e-12 {
                        // Differences of the reference cancel near a tie; losses are taken up by 8 ulps.
                        assert!(
                            found <= truth * (1.0 + 1e-8) + 1e-15 + 1e-14 * epsilon,
                            "{p:?} {epsilon}: {found} {truth}"
                        );
                        seen += 1;
                    }
                }
            }
        }
    }
    assert!(seen > 300, "{seen}");
}

/// An epsilon within rounding of a loss decides which step is the last that counts: true values of ball arithmetic.
#[test]
fn the_last_step_that_counts_is_not_undersold() {
    for (moves, b, epsilon, truth) in [
        (126_206, 0.239_766_751_222_115_33, 526_361.554_955_913_1, -0.015_561_593_470_341_743),
        (126_584, 0.239_164_718_417_911_8, 529_267.029_172_811_7, -0.015_397_814_414_527_717),
        (130_404, 0.248_135_567_443_908_77, 525_527.240_384_342_3, -0.017_933_194_066_067_314),
    ] {
        let found = laplace(moves, b).log_delta(Epsilon::new(epsilon).unwrap()).get();
        assert!(found >= truth && found <= truth + 1e-11, "{moves} {b} {epsilon}: {found}");
    }
}

/// The tail of the Gaussian sum far out, where probabilities are below the least double: sums of logarithms.
#[test]
fn far_tails_are_those_of_logarithms() {
    for (moves, sigma, epsilon) in [
        (1u64, 0.9, 30.0),
        (3, 2.0, 60.0),
        (1, 100.0, 0.9),
        (700, 9000.0, 3.0),
        (1, 16384.0, 0.002),
    ] {
        let (d, s2) = (moves as f64, sigma * sigma);
        let from = (epsilon * s2 / d - 0.5 * d).floor();
        let term = |x: f64| {
            let loss = d * (2.0 * x + d) / (2.0 * s2);
            let lost = -(epsilon - loss).exp_m1();
            if lost > 0.0 { -x * x / (2.0 * s2) + lost.ln() } else { f64::NEG_INFINITY }
        };
        let terms: Vec<f64> = (0..400_000).map(|i| term(from + f64::from(i))).collect();
        let most = terms.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
        let sum: f64 = terms.iter().rev().map(|t| (t - most).exp()).sum();
        let all: f64 =
            (-400_000..=400_000).map(|x| (-f64::from(x).powi(2) / (2.0 * s2)).exp()).sum();
        let truth = most + sum.ln() - all.ln();
        let found = gaussian(moves, sigma).log_delta(Epsilon::new(epsilon).unwrap()).get();
        assert!(truth < -200.0 || epsilon < 0.01 || moves > 1, "{truth}");
        let room = 1e-9f64.max(1e-11 * truth.abs());
        assert!(
            found >= truth - room && found <= truth + room,
            "{moves} {sigma} {epsilon}: {found} {truth}"
        );
    }
}

/// Theorems 2 and 3: two numbers that move at once, by brute force over both.
#[test]
fn several_numbers_lose_no_more_than_is_promised() {
    let mut tight = f64::INFINITY;
    for spread in [0.5, 1.2, 3.0] {
        for (u, v) in [(1i64, 1i64), (1, 2), (2, 2), (3, 1)] {
            let both = (u + v) as u64;
            for made in [laplace as fn(u64, f64) -> Profile, gaussian] {
                let one = made(both, spread);
                let n = 140;
                let q = law(&one, n);
                let at = |x: i64| {
                    usize::try_from(x + n).ok().and_then(|x| q.get(x)).copied().unwrap_or(0.0)
                };
                for epsilon in [0.05, 0.4, 1.0, 2.0, 4.0] {
                    let mut truth = 0.0;
                    for x in -n..=n + u {
                        for y in -n..=n + v {
                            let (here, there) = (at(x) * at(y), at(x - u) * at(y - v));
                            truth += (here - f64::exp(epsilon) * there).max(0.0);
                        }
                    }
                    let bound = delta(&one, epsilon);
                    assert!(
                        truth <= bound * (1.0 + 1e-9) + 1e-14,
                        "{one:?} {u} {v} {epsilon}: {truth}"
                    );
                    if matches!(one, Profile::DiscreteGaussian { .. }) {
                        let rho = 0.5 * (u * u + v * v) as f64 / (spread * spread);
                        let bound = delta(&Profile::Zcdp { rho }, epsilon);
                        assert!(
                            truth <= bound * (1.0 + 1e-9),
                            "{u} {v} {epsilon}: {truth} {bound}"
                        );
                        tight = tight.min(bound / truth.max(1e-300));
                    }
                }
            }
        }
    }
    assert!(tight < 4.0, "{tight}");
}

/// What one number gives away does not fall with its moves: theorem 1.
#[test]
fn more_steps_tell_more() {
    for made in [laplace as fn(u64, f64) -> Profile, gaussian] {
        for spread in [0.2, 0.7, 2.0, 11.0] {
            for epsilon in [1e-9, 0.2, 1.0, 5.0] {
                let deltas: Vec<f64> = (1..60).map(|m| delta(&made(m, spread), epsilon)).collect();
                assert!(
                    deltas.windows(2).all(|w| w[0] <= w[1] * (1.0 + 1e-10)),
                    "{spread} {epsilon}"
                );
            }
        }
    }
}

#[test]
fn budgets_are_met_and_nothing_is_wasted() -> Outcome {
    for (epsilon, target, moves) in [
        (1.0, 1e-6, 1),
        (0.1, 1e-9, 3),
        (5.0, 1e-3, 1),
        (0.5, 0.1, 20),
        (20.0, 1e-12, 2),
        (0.002, 1e-5, 1),
    ] {
        let budget = Budget::new(epsilon, target)?;
        let sigma = calibrate::discrete_gaussian(budget, moves)?.get();
        assert!(delta(&gaussian(moves, sigma), epsilon) <= target);
        assert!(delta(&gaussian(moves, sigma * (1.0 - 1e-7)), epsilon) > target, "{budget}");
        // Rounded Gaussian noise needs about as much.
        let line = calibrate::gaussian(budget, L2Sensitivity::new(moves as f64)?)?.get();
        assert!(sigma < 2.0 || (sigma / line - 1.0).abs() < 0.02, "{budget}: {sigma} {line}");
        let b = calibrate::discrete_laplace(budget, moves)?.get();
        assert!(delta(&laplace(moves, b), epsilon) <= target);
        assert!(delta(&laplace(moves, b * (1.0 - 1e-7)), epsilon) > target, "{budget}");
        let pure = Budget::new(epsilon, 0.0)?;
        let b = calibrate::discrete_laplace(pure, moves)?.get();
        assert!((b * epsilon / moves as f64 - 1.0).abs() < 1e-11);
        assert_eq!(delta(&laplace(moves, b), epsilon), 0.0);
        assert!(calibrate::discrete_gaussian(pure, moves).is_err());
    }
    Ok(())
}

/// Answers at the ends: an error with a reason, or a promise that is kept.
#[test]
fn hostile_parameters_end_in_words() {
    for epsilon in [5e-324, 1e-300, 1e-9, 700.0, 1e6, 1e300] {
        for target in [0.0, 5e-324, 1e-300, 0.5, 1.0 - 1e-16] {
            for moves in [0, 1, 1 << 51, u64::MAX] {
                let Ok(budget) = Budget::new(epsilon, target) else { continue };
                if let Ok(scale) = calibrate::discrete_laplace(budget, moves) {
                    let p = Profile::DiscreteLaplace { moves, scale };
                    assert!(p.log_delta(budget.epsilon) <= budget.delta.ln(), "{p:?} {budget}");
                }
                if let Ok(sigma) = calibrate::discrete_gaussian(budget, moves) {
                    let p = Profile::DiscreteGaussian { moves, sigma };
                    assert!(p.check_limits().is_ok());
                    assert!(p.log_delta(budget.epsilon) <= budget.delta.ln(), "{p:?} {budget}");
                }
            }
        }
    }
    let refused = |p: Profile| {
        assert!(p.check_limits().is_err(), "{p:?}");
        p.log_delta(Epsilon::new(0.5).unwrap()).get()
    };
    for (moves, s) in [(0, 1.0), (u64::MAX, 1.0), (1, 1e-300), (1, 1e300), (1, 16385.0)] {
        assert_eq!(refused(gaussian(moves, s)), 0.0);
    }
    for (moves, b) in [(0, 1.0), (u64::MAX, 1.0), (1, 1e-300), (1, 5e-324), (1, 1e150)] {
        refused(laplace(moves, b));
    }
    let far = gaussian(1, 16384.0).log_delta(Epsilon::new(1e308).unwrap());
    assert!(far.get() < -1e290 && far.get() > f64::NEG_INFINITY);
    let near = gaussian(1 << 51, 16384.0);
    assert!(near.check_limits().is_err());
    let all = gaussian(16384 * 1_000_000, 16384.0);
    assert!(all.check_limits().is_ok() && delta(&all, 1.0) > 0.999_999);
}

/// Two runs against the convolution by hand; steps of Laplace noise as a response.
#[test]
fn runs_add_up() -> Outcome {
    for (p, room) in
        [(gaussian(1, 1.4), 1.03), (laplace(1, 1.1), 1.000_001), (laplace(3, 2.0), 1.03)]
    {
        let moves = match p {
            Profile::DiscreteLaplace { moves, .. } | Profile::DiscreteGaussian { moves, .. } => {
                moves
            }
            _ => unreachable!(),
        } as i64;
        let n = 60;
        let q = law(&p, n);
        let at =
            |x: i64| usize::try_from(x + n).ok().and_then(|x| q.get(x)).copied().unwrap_or(0.0);
        let pld = Pld::new([&Event::new(p.clone(), 2)?]);
        for epsilon in [0.3, 0.9, 1.5] {
            let mut truth = 0.0;
            for x in -n..=n + moves {
                for y in -n..=n + moves {
                    let (here, there) = (at(x) * at(y), at(x - moves) * at(y - moves));
                    truth += (here - f64::exp(epsilon) * there).max(0.0);
                }
            }
            let upper = pld.log_delta(Epsilon::new(epsilon)?).upper.delta();
            assert!(
                truth <= upper * (1.0 + 1e-9) && upper <= truth * room,
                "{p:?} {epsilon}: {truth} {upper}"
            );
        }
    }
    Ok(())
}

fn person() -> Adjacency {
    Adjacency::AddRemoveRow { bound: NormBound::new(1.0).unwrap() }
}

fn basis() -> Basis {
    Basis::declared("the tests", "a person is in one category")
}

fn l1(d: f64, length: usize, most: f64) -> Statistic<L1Sensitivity> {
    Statistic::new(person(), L1Sensitivity::new(d).unwrap(), length, EntryBound::new(most).unwrap())
}

fn l2(d: f64, length: usize, most: f64) -> Statistic<L2Sensitivity> {
    Statistic::new(person(), L2Sensitivity::new(d).unwrap(), length, EntryBound::new(most).unwrap())
}

/// The profile that a statistic is promised with.
#[test]
fn sensitivities_are_those_of_whole_numbers() -> Outcome {
    let budget = Budget::new(1.0, 1e-6)?;
    let of = |d, length, touched| {
        let config = (l2(d, length, 1e6).touching(touched), basis());
        PrivateVector::<DiscreteGaussian>::calibrate(config, budget)
    };
    let moves = |m: &PrivateVector<DiscreteGaussian>| match m.guarantee().profile() {
        Some(Profile::DiscreteGaussian { moves, .. }) => *moves as f64,
        Some(Profile::Zcdp { rho }) => 2.0 * rho * m.calibrated().noise().sigma().get().powi(2),
        other => panic!("{other:?}"),
    };
    for (d, touched, expected) in [
        (1.0, 1, 1.0),
        (2.999, 1, 2.0),
        (3.0f64.next_down(), 1, 3.0),
        (17.0, 1, 17.0),
        (2f64.sqrt(), 2, 2.0),
        (3f64.sqrt().next_down(), 3, 3.0),
        (1.9, 3, 3.0),
    ] {
        let made = of(d, 3, touched)?;
        assert!((moves(&made) / expected - 1.0).abs() < 1e-12, "{d} {touched}: {}", moves(&made));
    }
    // A histogram of which one person moves two counts: brute force over all replacements.
    for histogram in [[4, 0, 1], [2, 2, 2]] {
        for from in 0..3 {
            for to in 0..3 {
                let mut other: [i32; 3] = histogram;
                if other[from] > 0 {
                    other[from] -= 1;
                    other[to] += 1;
                }
                let gaps = histogram.iter().zip(other).map(|(a, b)| f64::from((a - b).pow(2)));
                assert!(gaps.sum::<f64>() <= moves(&of(2f64.sqrt(), 3, 2)?).round());
            }
        }
    }
    // Of several numbers the promise is a bound: so much more noise than on the line.
    let two = of(2f64.sqrt(), 3, 2)?.calibrated().noise().sigma().get();
    let line = calibrate::gaussian(budget, L2Sensitivity::new(2f64.sqrt())?)?.get();
    assert!((1.06..1.08).contains(&(two / line)), "{two} {line}");
    let counts = PrivateVector::<DiscreteLaplace>::calibrate((l1(2.5, 3, 1e6), basis()), budget)?;
    let Some(Profile::DiscreteLaplace { moves: 2, .. }) = counts.guarantee().profile() else {
        panic!("{:?}", counts.guarantee())
    };
    Ok(())
}

#[test]
fn what_is_not_whole_is_refused() -> Outcome {
    let budget = Budget::new(1.0, 1e-6)?;
    type Laplace = PrivateVector<DiscreteLaplace>;
    type Gaussian = PrivateVector<DiscreteGaussian>;
    for (d, most) in [(0.999, 10.0), (1e-300, 10.0), (1.0, 2f64.powi(52)), (1.0, 1e300)] {
        assert!(Laplace::calibrate((l1(d, 2, most), basis()), budget).is_err());
        assert!(Gaussian::calibrate((l2(d, 2, most), basis()), budget).is_err());
    }
    let inexact = l1(1.0, 2, 10.0).computed_within(1e-9)?;
    let text = Laplace::calibrate((inexact, basis()), budget).unwrap_err().to_string();
    assert!(text.contains("computation error"), "{text}");
    let much = Budget::new(1e-4, 1e-9)?;
    let text = Gaussian::calibrate((l2(40.0, 1, 1e6), basis()), much).unwrap_err().to_string();
    assert!(text.contains("on a grid"), "{text}");
    let made = Laplace::calibrate((l1(1.0, 2, 2f64.powi(51)), basis()), budget)?;
    let mut rng = NoiseRng::deterministic_not_private(5);
    for bad in
        [[0.5, 1.0], [1.0, -3.25], [f64::NAN, 0.0], [f64::INFINITY, 0.0], [2f64.powi(52), 0.0]]
    {
        let text = made.release(&bad, &mut rng).unwrap_err().to_string();
        assert!(!text.contains("0.5") && !text.contains("3.25"), "{text}");
        let mut values = bad;
        assert!(made.calibrated().add_to(&mut rng, &mut values).is_err());
        assert!(made.calibrated().noise().add_block_f32(&mut rng.stream(), &mut [0.5f32]).is_err());
    }
    // At the end of the range sums are whole and cut off.
    let end = made.release(&[2f64.powi(51), -(2f64.powi(51))], &mut rng)?;
    assert!(end.payload().iter().all(|v| v.fract() == 0.0 && v.abs() < 2f64.powi(52)));
    Ok(())
}

/// What leaves has the law that the certificate states; two releases of one generator have noise of their own.
#[test]
fn releases_follow_the_stated_law() -> Outcome {
    let budget = Budget::new(0.8, 1e-5)?;
    let n = 60_000;
    let truth: Vec<f64> = (0..n).map(|i| f64::from(i % 7)).collect();
    let laplace =
        PrivateVector::<DiscreteLaplace>::calibrate((l1(2.0, n as usize, 10.0), basis()), budget)?;
    let statistic = l2(2.0, n as usize, 10.0).touching(1);
    let gaussian = PrivateVector::<DiscreteGaussian>::calibrate((statistic, basis()), budget)?;
    let mut rng = NoiseRng::deterministic_not_private(81);
    let one = laplace.release(&truth, &mut rng)?;
    let other = gaussian.release(&truth, &mut rng)?;
    assert_ne!(one.payload(), laplace.release(&truth, &mut rng)?.payload());
    for (release, predicted) in [(&one, laplace.predict(())?), (&other, gaussian.predict(())?)] {
        let certificate = release.certificate();
        certificate.verify_consistency()?;
        let profile = certificate.guarantee().profile().expect("one");
        let (most, q) = (200, law(profile, 200));
        let mut seen = vec![0u64; q.len()];
        let mut squares = 0.0;
        for (z, x) in release.payload().iter().zip(&truth) {
            squares += (z - x).powi(2);
            seen[((z - x) as i64 + most) as usize] += 1;
        }
        assert!(chi_square_excess(&seen, &q) < 0.0);
        // Noise of 0.7 of the scale is found out.
        let less = match *profile {
            Profile::DiscreteLaplace { moves, scale } => self::laplace(moves, 0.7 * scale.get()),
            Profile::DiscreteGaussian { moves, sigma } => self::gaussian(moves, 0.7 * sigma.get()),
            _ => unreachable!(),
        };
        assert!(chi_square_excess(&seen, &law(&less, most)) > 0.0);
        let found = (squares / f64::from(n)).sqrt();
        assert!((found / predicted.root_mean_square - 1.0).abs() < 0.03, "{found} {predicted:?}");
        let [variance, fourth] = certificate.statement().noise.moments().expect("known");
        let moment =
            |k: i32| (-most..=most).zip(&q).map(|(x, p)| (x as f64).powi(k) * p).sum::<f64>();
        assert!((variance / moment(2) - 1.0).abs() < 1e-9);
        assert!((fourth + 3.0 * variance * variance - moment(4)).abs() < 1e-9 * moment(4));
    }
    // Little noise, whose moments are no longer those of the line.
    for sigma in [0.2, 0.5, 1.0, 2.9, 3.1] {
        let q = law(&self::gaussian(1, sigma), 100);
        let [variance, _] = NoiseLaw::DiscreteGaussian { sigma: scale(sigma) }.moments().unwrap();
        let sum: f64 = (-100..=100).zip(&q).map(|(x, p)| f64::from(x * x) * p).sum();
        assert!((variance / sum - 1.0).abs() < 1e-12, "{sigma}");
    }
    Ok(())
}

/// A certificate that was written again is held against its own noise.
#[test]
fn forged_certificates_are_refused() -> Outcome {
    let budget = Budget::new(1.0, 1e-6)?;
    let mut rng = NoiseRng::from_os()?;
    let statistic = |touched| (l2(2f64.sqrt(), 3, 1e6).touching(touched), basis());
    let one = PrivateVector::<DiscreteGaussian>::calibrate(statistic(1), budget)?;
    let two = PrivateVector::<DiscreteGaussian>::calibrate(statistic(2), budget)?;
    let counts = PrivateVector::<DiscreteLaplace>::calibrate((l1(2.0, 3, 1e6), basis()), budget)?;
    let text = |c: &Certificate| serde_json::to_value(c).unwrap();
    let read = |v: serde_json::Value| -> Result<(), String> {
        let c: Certificate = serde_json::from_value(v).map_err(|e| e.to_string())?;
        c.verify_consistency().map_err(|e| e.to_string())
    };
    let data = [5.0, 0.0, 2.0];
    for (release, field, other) in [
        (one.release(&data, &mut rng)?, "moves", serde_json::json!(2)),
        (one.release(&data, &mut rng)?, "sigma", serde_json::json!(9.0)),
        (one.release(&data, &mut rng)?, "moves", serde_json::json!(0)),
        (two.release(&data, &mut rng)?, "rho", serde_json::json!(0.001)),
        (counts.release(&data, &mut rng)?, "moves", serde_json::json!(3)),
        (counts.release(&data, &mut rng)?, "scale", serde_json::json!(20.0)),
    ] {
        let honest = text(release.certificate());
        read(honest.clone())?;
        let mut forged = honest.clone();
        forged["guarantee"]["profile"][field] = other;
        assert!(read(forged).is_err(), "{field}");
    }
    // Other noise beside a profile of integers, and the reverse.
    for (profile, noise) in [
        (laplace(1, 2.0), NoiseLaw::DiscreteGaussian { sigma: scale(2.0) }),
        (gaussian(1, 2.0), NoiseLaw::DiscreteLaplace { scale: b_of(2.0) }),
        (gaussian(1, 2.0), NoiseLaw::DiscreteGaussian { sigma: scale(1.9) }),
        (laplace(1, 2.0), NoiseLaw::DiscreteLaplace { scale: b_of(1.9) }),
        (Profile::Zcdp { rho: 0.124 }, NoiseLaw::DiscreteGaussian { sigma: scale(2.0) }),
    ] {
        assert!(proven(row(), 0.3, profile, noise).verify_consistency().is_err());
    }
    let rho = Profile::Zcdp { rho: 0.125 };
    proven(row(), 0.3, rho, NoiseLaw::DiscreteGaussian { sigma: scale(2.0) })
        .verify_consistency()?;
    Ok(())
}

/// Ledgers take them by name, compose them, and know their rho.
#[test]
fn ledgers_compose_integer_noise() -> Outcome {
    let budget = Budget::new(0.5, 1e-7)?;
    let made = PrivateVector::<DiscreteGaussian>::calibrate((l2(1.0, 1, 1e6), basis()), budget)?;
    let mut ledger = Ledger::new(person());
    assert!(ledger.spend_accepting_claim(made.guarantee(), 4, "counts").is_ok());
    let target = dp_core::Delta::new(1e-6)?;
    let [tight, loose] = [Method::Pld, Method::Zcdp].map(|m| ledger.epsilon(target, m));
    let (tight, loose) = (tight?.upper.get(), loose?.upper.get());
    let line = calibrate::gaussian(budget, L2Sensitivity::new(1.0)?)?.get();
    let four = Profile::Gaussian { sensitivity: L2Sensitivity::new(2.0)?, sigma: scale(line) };
    let expected = four.epsilon(target)?.get();
    assert!((tight / expected - 1.0).abs() < 0.05, "{tight} {expected}");
    assert!(loose > tight && loose < 1.4 * tight, "{loose} {tight}");
    Ok(())
}
