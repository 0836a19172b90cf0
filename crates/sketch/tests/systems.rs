//! Calibrations compared, named systems, bounds, planner.

use dp_core::calibrate::PublishedRule;
use dp_core::mechanism::Mechanism;
use dp_core::{
    Adjacency, Budget, Epsilon, FreshSeed, NoiseRng, NoiseScale, Probability, PublicSeed,
};
use sketch::distances::{
    NoiseAddition, RandomizedResponse, ValueRange, noisy_bit_distance, noisy_distance,
};
use sketch::plan::{
    DistanceMethod, DistanceTask, epsilon_for_error, optimal_k, optimal_k_tail, plan_distances,
    projection_tail_bound, projection_variance, response_tail_bound,
};
use sketch::projection::{Family, ProjectionSpec, min_dimension};
use sketch::rows::RowsView;
use sketch::signs::FlipRule;
use sketch::vectors::{
    AveragedProjection, MultiScale, NoiseKind, Pairs, PrivateProjection, ProjectionConfig,
    SketchNoise, System, multi_scale_squared_distance,
};

fn bound<B: TryFrom<f64, Error = dp_core::Error>>(x: f64) -> B {
    B::try_from(x).unwrap()
}

fn sigma(noise: SketchNoise) -> f64 {
    match noise {
        SketchNoise::Gaussian(n) => n.sigma().get(),
        SketchNoise::Laplace(n) => n.scale().get(),
        SketchNoise::Staircase(n) => n.variance().sqrt(),
    }
}

#[test]
fn averaged_calibration_needs_less_noise_than_the_published_rules() {
    let (d, k) = (784, 256);
    let (beta, one) = (bound(1.0), bound(1.0));
    let adjacency = Adjacency::Attribute { beta };
    for epsilon in [0.1, 1.0, 10.0] {
        let budget = Budget::new(epsilon, 1e-6).unwrap();
        let averaged = AveragedProjection::gaussian(d, k, adjacency, one, budget).unwrap();
        let projection =
            || ProjectionSpec::new(Family::Gaussian, d, k, PublicSeed::new(7)).unwrap().build();
        let realised = PrivateProjection::gaussian(projection(), adjacency, one, budget).unwrap();
        let rule = |rule| {
            sigma(
                PrivateProjection::published(projection(), rule, beta, one, budget)
                    .unwrap()
                    .noise(),
            )
        };
        let ours = sigma(averaged.noise());
        let theorem1 = rule(PublishedRule::KenthapadiTheorem1);
        let lemma1 = rule(PublishedRule::KenthapadiLemma1);
        let lemma2 = rule(PublishedRule::KenthapadiLemma2);
        let analytic = rule(PublishedRule::AnalyticDpRpG);
        eprintln!(
            "epsilon {epsilon}: averaged {ours:.5}, realised {:.3}, theorem 1 {:.3}, lemma 1 {:.3}, \
             lemma 2 {:.3}, analytic {:.3} times as much noise",
            sigma(realised.noise()) / ours,
            theorem1 / ours,
            lemma1 / ours,
            lemma2 / ours,
            analytic / ours,
        );
        assert!(ours < sigma(realised.noise()));
        assert!(sigma(realised.noise()) < analytic.min(lemma1));
        assert!(lemma1 < theorem1 && lemma2 > 2.5 * ours);
        let x = vec![0.5; 2 * d];
        let mut rng = NoiseRng::deterministic_not_private(1);
        let fresh = || FreshSeed::reproducible_not_private(5);
        let release =
            averaged.release(fresh(), RowsView::f64(2, d, &x).unwrap(), &mut rng).unwrap();
        release.certificate().verify_consistency().unwrap();
        assert_eq!(release.payload().projection().seed(), fresh().publish());
    }
}

#[test]
fn every_system_releases_and_searches() {
    let (n, d, k) = (12, 300, 64);
    let x: Vec<f64> = (0..n * d).map(|i| ((i * 7919) % 1013) as f64 / 506.5 - 1.0).collect();
    let rows = RowsView::f64(n, d, &x).unwrap();
    let budget = Budget::new(20.0, 1e-6).unwrap();
    for system in System::ALL {
        let m = system.mechanism(d, k, PublicSeed::new(4), bound(1.0), bound(1.0), budget).unwrap();
        let mut rng = NoiseRng::deterministic_not_private(6);
        let release = m.release(rows, &mut rng).unwrap();
        release.certificate().verify_consistency().unwrap();
        assert_eq!(release.certificate().statement().mechanism, system.name());
        assert_eq!(system.is_pure(), m.guarantee().budget().delta.get() == 0.0);
        let exact: f64 = (0..d).map(|i| (x[i] - x[d + i]).powi(2)).sum();
        let estimate = Pairs::within(&release).squared_distance(0, 1).unwrap();
        let off = (estimate.value - exact).abs() / estimate.standard_error;
        assert!(off < 5.0, "{}: {estimate:?}, exact {exact}", system.name());
    }
}

#[test]
fn tail_bounds_hold_and_best_sizes_are_best() {
    let s = NoiseScale::new(0.8).unwrap();
    for r2 in [0.5, 30.0, 400.0] {
        let k = optimal_k(r2, s, 4096).unwrap();
        let variance = |k| projection_variance(r2, k, s);
        assert!((1..=4096).all(|other| variance(k) <= variance(other)), "{r2} {k}");
        let failure = Probability::new(0.05).unwrap();
        let best = optimal_k_tail(r2, s, 4096, failure).unwrap();
        let bound = |k| projection_tail_bound(r2, k, s, failure);
        assert!(
            (120..=4096).step_by(7).all(|k| bound(k).map_or(true, |b| bound(best).unwrap() <= b))
        );
    }
    assert_eq!(optimal_k(1e9, s, 100).unwrap(), 100);
    let failure = Probability::new(0.05).unwrap();
    assert!(projection_tail_bound(1.0, 50, s, failure).unwrap_err().to_string().contains("k = 50"));
    // sqrt(d ln(2/f)/2)/(1-2p)^2 by hand at d = 8, f = 2/e^4, p = 1/4: sqrt(16) * 4 = 16.
    let f = Probability::new(2.0 * (-4.0f64).exp()).unwrap();
    let by_hand = response_tail_bound(8, Probability::new(0.25).unwrap(), f).unwrap();
    assert!((by_hand - 16.0).abs() < 1e-12);
}

#[test]
fn least_dimension_keeps_its_promise() {
    let failure = Probability::new(0.05).unwrap();
    // 2 ln(2/f) / (l^2/2 - l^3/3) = 2 * 3.688879 / (0.02 - 0.002667) at l = 0.2.
    assert_eq!(min_dimension(Family::Rademacher, 10_000, 0.2, failure).unwrap(), 426);
    // Chebyshev: 2/(l^2 f) = 1000, times (D-k)/(D-1) for OPORP.
    assert_eq!(min_dimension(Family::CountSketch, 10_000, 0.2, failure).unwrap(), 1000);
    assert!(min_dimension(Family::Oporp, 10_000, 0.2, failure).unwrap() < 1000);
    assert!(min_dimension(Family::CountSketch, 500, 0.2, failure).is_err());
    assert!(min_dimension(Family::Gaussian, 500, 1.5, failure).is_err());
    // More columns than a row has attributes, and a failure that is certain.
    assert!(min_dimension(Family::Gaussian, 300, 0.2, failure).is_err());
    assert!(min_dimension(Family::Gaussian, 500, 0.2, Probability::new(1.0).unwrap()).is_err());
    // Never fewer columns than a row has nonzeros.
    let most = Probability::new(0.9).unwrap();
    for family in [Family::SparseJl { nonzeros: 8 }, Family::HashedCopies { copies: 8 }] {
        assert_eq!(min_dimension(family, 10_000, 0.9, most).unwrap(), 8, "{family:?}");
    }
}

/// Mean square error of a method's distance estimates over repetitions.
fn simulate(task: &DistanceTask, method: &DistanceMethod, x: &[f64], r2: f64) -> f64 {
    const REPETITIONS: u64 = 1500;
    let rows = RowsView::f64(task.n, task.d, x).unwrap();
    let adjacency = task.adjacency;
    let one = bound(1.0);
    let mut rng = NoiseRng::deterministic_not_private(17);
    let mut sum = 0.0;
    let spec =
        |family, k, seed| ProjectionSpec::new(family, task.d, k, PublicSeed::new(seed)).unwrap();
    let projected = |spec: ProjectionSpec, noise, rng: &mut NoiseRng| {
        let config = ProjectionConfig { projection: spec.build(), adjacency, bound: one, noise };
        let m = PrivateProjection::calibrate(config, task.budget).unwrap();
        Pairs::within(&m.release(rows, rng).unwrap()).squared_distance(0, 1).unwrap().value
    };
    for seed in 0..REPETITIONS {
        let value = match method {
            DistanceMethod::Projection { k, noise } => {
                projected(spec(Family::Oporp, *k, seed), *noise, &mut rng)
            }
            DistanceMethod::RawData { noise } => {
                projected(spec(Family::Identity, task.d, 0), *noise, &mut rng)
            }
            DistanceMethod::FreshProjection { k } => {
                let m = AveragedProjection::gaussian(task.d, *k, adjacency, one, task.budget);
                let fresh = FreshSeed::reproducible_not_private(seed);
                let release = m.unwrap().release(fresh, rows, &mut rng);
                Pairs::within(&release.unwrap()).squared_distance(0, 1).unwrap().value
            }
            DistanceMethod::MultiScale { sizes } => {
                let p: Vec<_> = (0u64..)
                    .zip(sizes)
                    .map(|(i, &k)| spec(Family::Rademacher, k, 3 * seed + i).build())
                    .collect();
                let shares = vec![1.0; sizes.len()];
                let m = MultiScale::gaussian(p, &shares, adjacency, one, task.budget).unwrap();
                let release = m.release(rows, &mut rng).unwrap();
                multi_scale_squared_distance(&release, 0, 1, bound(r2)).unwrap().value
            }
            DistanceMethod::NoiseAddition => {
                let m =
                    NoiseAddition::new(task.n, task.d, task.range, adjacency, task.budget).unwrap();
                noisy_distance(&m.release(rows, &mut rng).unwrap(), 0, 1).unwrap().value
            }
            DistanceMethod::RandomizedResponse => {
                let m = RandomizedResponse::new(task.d, task.budget.epsilon).unwrap();
                noisy_bit_distance(&m.release(rows, &mut rng).unwrap(), 0, 1).unwrap().value
            }
            other => panic!("{other:?}"),
        };
        sum += (value - r2).powi(2) / REPETITIONS as f64;
    }
    sum.sqrt()
}

#[test]
fn predictions_of_the_planner_agree_with_simulation() {
    let (n, d, r2) = (6, 256, 60.0);
    let mut x = vec![0.0; n * d];
    x[..60].fill(1.0);
    let mut best = Vec::new();
    for epsilon in [0.5, 4.0] {
        let budget = Budget::new(epsilon, 1e-6).unwrap();
        let task = DistanceTask {
            n,
            d,
            adjacency: Adjacency::Attribute { beta: bound(1.0) },
            range: ValueRange::BITS,
            squared_distance: r2,
            budget,
        };
        let predictions = plan_distances(&task).unwrap();
        assert_eq!(predictions.len(), 9);
        assert!(predictions.windows(2).all(|w| w[0].standard_error <= w[1].standard_error));
        for p in &predictions {
            let got = simulate(&task, &p.method, &x, r2);
            let ratio = got / p.standard_error;
            // Standard errors of 1500 heavy-tailed squares: 5 % each way, and Rademacher's
            // negative coordinate-wise part lowers the truth by up to 2/(2 r^2).
            assert!((0.85..1.15).contains(&ratio), "{epsilon} {:?}: {got} {p:?}", p.method);
        }
        best.push(predictions[0].method.clone());
    }
    // Many rows make noise on the distances expensive; many features, flipped bits.
    let budget = Budget::new(4.0, 1e-6).unwrap();
    let large = DistanceTask {
        n: 100_000,
        d: 50_000,
        adjacency: Adjacency::Attribute { beta: bound(1.0) },
        range: ValueRange::BITS,
        squared_distance: r2,
        budget,
    };
    assert!(matches!(plan_distances(&large).unwrap()[0].method, DistanceMethod::Projection { .. }));
    assert_eq!(best[1], DistanceMethod::NoiseAddition);
}

/// Whole rows, pure budgets, and the budget for an error: each plan is what a release does.
#[test]
fn plans_of_whole_rows_and_pure_budgets_agree_with_simulation() {
    let (n, d, r2) = (6, 64, 24.0);
    let mut x = vec![0.0; n * d];
    x[..24].fill(1.0);
    let task = |adjacency, delta| DistanceTask {
        n,
        d,
        adjacency,
        range: ValueRange::BITS,
        squared_distance: r2,
        budget: Budget::new(6.0, delta).unwrap(),
    };
    let rows = [
        task(Adjacency::RowShift { l2: bound(1.0) }, 1e-6),
        task(Adjacency::ReplaceRow { bound: bound(8.0) }, 1e-6),
    ];
    let pure = task(Adjacency::Attribute { beta: bound(1.0) }, 0.0);
    for task in rows.into_iter().chain([pure]) {
        let plans = plan_distances(&task).unwrap();
        for p in &plans {
            let ratio = simulate(&task, &p.method, &x, r2) / p.standard_error;
            // Another seed of the projection has another sensitivity under a row's change.
            assert!((0.75..1.25).contains(&ratio), "{task:?} {p:?}: {ratio}");
        }
        let fresh =
            plans.iter().any(|p| matches!(p.method, DistanceMethod::FreshProjection { .. }));
        assert_eq!(fresh, task.budget.delta.get() > 0.0, "{task:?}");
        // The epsilon for that error is the task's own.
        let needed = epsilon_for_error(&task, plans[0].standard_error * 1.001).unwrap().unwrap();
        assert!((5.8..6.1).contains(&needed.get()), "{task:?}: {needed}");
    }
    // Staircase noise is the least of the three at this epsilon, and nothing Gaussian is pure.
    let best = &plan_distances(&pure).unwrap()[0].method;
    assert!(!matches!(best, DistanceMethod::Projection { noise: NoiseKind::Gaussian, .. }));
    assert!(epsilon_for_error(&pure, 1e-9).unwrap().is_none());
    let sets = Adjacency::SetItems { alpha: 1, min_size: 3 };
    assert!(plan_distances(&task(sets, 1e-6)).is_err());
}

#[test]
fn the_least_error_is_chosen_by_what_each_noise_predicts() {
    let p = ProjectionSpec::new(Family::Oporp, 64, 16, PublicSeed::new(1)).unwrap().build();
    let attribute = Adjacency::Attribute { beta: bound(1.0) };
    let shift = Adjacency::RowShift { l2: bound(1.0) };
    for (adjacency, epsilon, delta, kind) in [
        (attribute, 0.5, 1e-6, NoiseKind::Staircase),
        (attribute, 4.0, 1e-6, NoiseKind::Staircase),
        (attribute, 0.5, 0.1, NoiseKind::Gaussian),
        (shift, 1.0, 1e-6, NoiseKind::Gaussian),
        (shift, 1.0, 0.0, NoiseKind::Laplace),
    ] {
        let budget = Budget::new(epsilon, delta).unwrap();
        let made = |noise| {
            let config =
                ProjectionConfig { projection: p.clone(), adjacency, bound: bound(1.0), noise };
            PrivateProjection::calibrate(config, budget)
        };
        let best =
            PrivateProjection::of_least_error(p.clone(), adjacency, bound(1.0), budget).unwrap();
        println!("{adjacency} {budget}: {:?}", best.noise().kind());
        for other in NoiseKind::ALL.map(made).into_iter().flatten() {
            assert!(
                best.predict(0.0).unwrap().root_mean_square
                    <= other.predict(0.0).unwrap().root_mean_square
            );
        }
        assert!(best.noise().kind() == kind, "{adjacency} {budget}: {:?}", best.noise().kind());
    }
}

#[test]
fn flipped_bits_estimate_distances() {
    let d = 200;
    let mut x = vec![0.0; 2 * d];
    x[..50].fill(1.0);
    let m = RandomizedResponse::new(d, Epsilon::new(1.5).unwrap()).unwrap();
    let p = m.flip().get();
    assert!(p >= 1.0 / (1.0 + 1.5f64.exp()) && p < 1.0 / (1.0 + 1.5f64.exp()) + 1e-12);
    let rows = RowsView::f64(2, d, &x).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(3);
    let samples: Vec<_> = (0..10_000)
        .map(|_| noisy_bit_distance(&m.release(rows, &mut rng).unwrap(), 0, 1).unwrap())
        .collect();
    let n = samples.len() as f64;
    let mean = samples.iter().map(|e| e.value).sum::<f64>() / n;
    let variance = samples.iter().map(|e| (e.value - 50.0).powi(2)).sum::<f64>() / n;
    let stated = samples[0].standard_error;
    // Six standard errors of mean and variance (binomial: close to normal).
    assert!((mean - 50.0).abs() < 6.0 * stated / n.sqrt(), "{mean}");
    let tolerance = 6.0 * (2.0 / n).sqrt();
    assert!((variance / stated.powi(2) - 1.0).abs() < tolerance, "{variance}");
    assert!((variance / stated.powi(2) - 0.7).abs() > tolerance);
    let half = [0.5; 200];
    assert!(m.release(RowsView::f64(1, d, &half).unwrap(), &mut rng).is_err());
    let certificate = m.release(rows, &mut rng).unwrap().into_parts().1;
    certificate.verify_consistency().unwrap();
    assert_eq!(certificate.ln_true_delta(), Some(f64::NEG_INFINITY));
}

#[test]
fn names_are_read_as_they_are_written() {
    for system in System::ALL {
        assert_eq!(system.to_string().parse::<System>().unwrap(), system);
    }
    for rule in FlipRule::ALL {
        assert_eq!(rule.to_string().parse::<FlipRule>().unwrap(), rule);
    }
    let error = "warner".parse::<FlipRule>().unwrap_err().to_string();
    assert!(error.contains("warner") && error.contains("optimal-smooth"), "{error}");
}
