//! Staircase noise against its law: counts of integers, moments, grids, streams.

use dp_core::authority;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::mechanism::{Basis, Mechanism, PrivateVector, Statistic};
use dp_core::noise::{
    AdditiveNoise, GeneratorKind, Grid, NoiseLaw, StaircaseNoise, StaircaseScale,
};
use dp_core::{
    Adjacency, Budget, EntryBound, Epsilon, L1Sensitivity, LaplaceScale, NoiseRng, NormBound,
    PrivacyProfile, Profile, Shift, Theorem, calibrate,
};

fn noise(epsilon: f64, sensitivity: f64, grid: i32) -> StaircaseNoise {
    let epsilon = Epsilon::new(epsilon).unwrap();
    let scale = StaircaseScale::new(epsilon, L1Sensitivity::new(sensitivity).unwrap()).unwrap();
    authority!().staircase(scale, Grid::new(grid).unwrap()).unwrap()
}

fn drawn(noise: &StaircaseNoise, seed: u64, count: usize) -> Vec<f64> {
    let mut out = vec![0.0; count];
    noise.fill(&mut NoiseRng::deterministic_not_private(seed), &mut out);
    out
}

/// 2^20 draws in 40 cells of about equal probability, by the definition of the law: Pearson's sum is below
/// 39 + 6 sqrt(2 39), which chi-square of 39 degrees passes with probability below 1e-6. A stair whose
/// steps are 2 % less steep, or 2 % wider, does not pass.
#[test]
fn draws_have_the_law() {
    for (epsilon, sensitivity, grid) in
        [(1.0 / 32.0, 0.4, 0), (0.5, 300.0, 0), (1.0, 1.0, -30), (2.0, 77.7, -4), (5.0, 1.0, -40)]
    {
        let sensitivity = f64::max(sensitivity, 2f64.powi(grid) * 20.0);
        let law = noise(epsilon, sensitivity, grid);
        let count = 1 << 20;
        let draws = drawn(&law, 70, count);
        let honest = pearson(&law, &draws, (epsilon, 1.0));
        assert!(honest < 39.0 + 6.0 * 78f64.sqrt(), "{epsilon} {grid}: {honest}");
        let flat = pearson(&law, &draws, (0.98 * epsilon, 1.0));
        let wide = pearson(&law, &draws, (epsilon, 1.02));
        assert!(epsilon > 3.0 || wide > 150.0 && flat > 150.0, "{epsilon}: {flat} {wide}");
    }
}

/// Pearson's sum of the magnitudes and signs against a stair.
fn pearson(law: &StaircaseNoise, draws: &[f64], (epsilon, wider): (f64, f64)) -> f64 {
    let g = law.grid().spacing();
    let NoiseLaw::Staircase { width, inner, .. } = law.law() else { panic!("{:?}", law.law()) };
    let (width, inner) = (width as f64 * wider, inner as f64);
    let first = (-epsilon).exp() / -(-epsilon).exp_m1();
    let total = 2.0 * inner - 1.0 + 2.0 * width * first;
    // Pr[|x| >= n], n at least one.
    let tail = |n: f64| {
        let q = ((n - inner) / width).ceil().max(0.0);
        let edge = inner + q * width;
        2.0 * ((edge - n) + width * first) * (-q * epsilon).exp() / total
    };
    // Magnitudes in twenty cells whose edges are quantiles of the data's own law.
    let edge = |p: f64| {
        let (mut low, mut high) = (1.0, 1e15);
        while high - low > 0.5 {
            let middle: f64 = 0.5 * (low + high);
            if tail(middle) > p { low = middle } else { high = middle }
        }
        high.floor()
    };
    let mut edges: Vec<f64> = (1..20).map(|i| edge(f64::from(i) / 20.0)).collect();
    edges.push(1.0);
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    let mut counts = vec![[0.0f64; 2]; edges.len() + 1];
    for x in draws {
        let n = (x / g).abs();
        counts[edges.partition_point(|e| *e <= n)][usize::from(*x < 0.0)] += 1.0;
    }
    let all = draws.len() as f64;
    let mut sum = 0.0;
    for (i, [positive, negative]) in counts.into_iter().enumerate() {
        let above = if i == 0 { 1.0 } else { tail(edges[i - 1]) };
        let p = above - edges.get(i).map_or(0.0, |e| tail(*e));
        let parts = if i == 0 {
            vec![(positive + negative, p)]
        } else {
            vec![(positive, p / 2.0), (negative, p / 2.0)]
        };
        sum += parts.iter().map(|(c, p)| (c - all * p).powi(2) / (all * p)).sum::<f64>();
    }
    sum
}

/// Within six standard errors of the sample variance, with a million draws.
#[test]
fn draws_have_the_stated_variance() {
    for epsilon in [0.1, 1.0, 3.0, 8.0] {
        let law = noise(epsilon, 1.7, -30);
        let [v, c] = law.law().moments().unwrap();
        let n = 1 << 20;
        let found = drawn(&law, 71, n).iter().map(|x| x * x).sum::<f64>() / n as f64;
        let error = ((c + 2.0 * v * v) / n as f64).sqrt();
        assert!((found - v).abs() < 6.0 * error, "{epsilon}: {found} {v}");
        assert_eq!(law.variance(), v);
    }
}

#[test]
fn sums_lie_on_the_grid_and_blocks_agree() {
    let law = noise(1.0, 1.0, -20);
    let values: Vec<f64> = (0..2000).map(|i| f64::from(i) * 0.37 - 300.0).collect();
    let add = |pieces: usize| {
        let mut stream = NoiseRng::deterministic_not_private(72).stream();
        let mut out = values.clone();
        out.chunks_mut(pieces).for_each(|part| law.add_block(&mut stream, part).unwrap());
        out
    };
    let whole = add(2000);
    assert_eq!(whole, add(512));
    assert_eq!(whole, add(1024));
    assert!(whole.iter().all(|&x| law.grid().round(x) == x));
    assert!(
        law.add_block(&mut NoiseRng::deterministic_not_private(1).stream(), &mut [1e300]).is_err()
    );
    // What is near a tie is rounded as the grid rounds.
    let mut near = [0.5f64.next_down() * 2f64.powi(-20), 0.0, -5e-324];
    law.add_block(&mut NoiseRng::deterministic_not_private(73).stream(), &mut near).unwrap();
    let mut zeros = [0.0; 3];
    law.add_block(&mut NoiseRng::deterministic_not_private(73).stream(), &mut zeros).unwrap();
    assert_eq!(near, zeros);
}

/// Where the exact path does all the work: stairs of 2^44 steps.
#[test]
fn the_slow_path_has_the_law_too() {
    let law = noise(1.0 / 32.0, 1.0, -44);
    let draws = drawn(&law, 74, 4000);
    let found = draws.iter().map(|x| x * x).sum::<f64>() / 4000.0;
    let [variance, cumulant] = law.law().moments().unwrap();
    let error = ((cumulant + 2.0 * variance.powi(2)) / 4000.0).sqrt();
    assert!((found - variance).abs() < 6.0 * error, "{found} {variance}");
}

fn statistic(coordinates: usize, magnitude: f64) -> Statistic<L1Sensitivity> {
    let row = Adjacency::AddRemoveRow { bound: NormBound::new(1.0).unwrap() };
    let magnitude = EntryBound::new(magnitude).unwrap();
    Statistic::new(row, L1Sensitivity::new(1.0).unwrap(), 3, magnitude).touching(coordinates)
}

#[test]
fn one_number_may_move_and_no_more() {
    let basis = || Basis::declared("a test", "one count moves by one");
    let budget = Budget::new(2.0, 0.0).unwrap();
    let made = |c| PrivateVector::<StaircaseNoise>::calibrate((statistic(c, 1e6), basis()), budget);
    for coordinates in [2, 3] {
        let refused = made(coordinates).unwrap_err().to_string();
        assert!(refused.contains("one change moves") && refused.contains("Laplace"), "{refused}");
    }
    let mechanism = made(1).unwrap();
    let Some(Profile::Staircase { sensitivity, epsilon, inner, grid }) =
        mechanism.guarantee().profile().cloned()
    else {
        panic!("{:?}", mechanism.guarantee());
    };
    let NoiseLaw::Staircase { width, .. } = mechanism.calibrated().law() else {
        panic!("a staircase")
    };
    assert_eq!(epsilon, budget.epsilon);
    assert!(inner <= width && inner > width / 5);
    // The width holds the sensitivity with its rounding: a step more than one.
    assert_eq!(width as f64, (sensitivity.get() / grid.spacing()).floor());
    assert!(sensitivity.get() >= 1.0 + grid.spacing());
    let laplace = calibrate::laplace(budget, L1Sensitivity::new(1.0).unwrap()).unwrap().get();
    assert!(mechanism.calibrated().noise().variance() < 0.88 * 2.0 * laplace * laplace);
    let release = mechanism.release(&[3.0, 4.0, 5.0], &mut NoiseRng::from_os().unwrap()).unwrap();
    release.certificate().verify_consistency().unwrap();
    let delta = mechanism.guarantee().profile().unwrap().log_delta(budget.epsilon);
    assert_eq!(delta.delta(), 0.0);
}

/// Coarse grids, where the magnitude leaves no other: the width is a few steps, and pays for the rounding.
#[test]
fn coarse_grids_are_paid_for() {
    let basis = Basis::declared("a test", "one number moves by one");
    let budget = Budget::new(0.05, 0.0).unwrap();
    let made = PrivateVector::<StaircaseNoise>::calibrate((statistic(1, 2e13), basis), budget);
    let made = made.unwrap();
    let NoiseLaw::Staircase { width, grid, .. } = made.calibrated().law() else {
        panic!("a staircase")
    };
    let spacing = grid.spacing();
    assert!(
        spacing > 1e-3 && (width as f64) * spacing + spacing > 1.0 + spacing,
        "{width} {spacing}"
    );
    let delta = made.guarantee().profile().unwrap().log_delta(budget.epsilon);
    assert_eq!(delta.delta(), 0.0);
}

#[test]
fn certificates_that_disagree_are_refused() {
    let attribute = Adjacency::Attribute { beta: Shift::new(1.0).unwrap() };
    let (budget, grid) = (Budget::new(1.0, 0.0).unwrap(), Grid::new(-10).unwrap());
    let epsilon = budget.epsilon;
    let sensitivity = L1Sensitivity::new(1.0001).unwrap();
    let profile = |epsilon, inner, grid| Profile::Staircase { sensitivity, epsilon, inner, grid };
    let guarantee = |profile, adjacency| {
        authority!().proven(adjacency, budget, profile, Theorem::ProjectionStaircase)
    };
    let stated = guarantee(profile(epsilon, 400, grid), attribute).unwrap();
    let certificate = |epsilon, width, inner, exponent| {
        let noise =
            NoiseLaw::Staircase { epsilon, width, inner, grid: Grid::new(exponent).unwrap() };
        let (mechanism, public) = ("a test".to_owned(), PublicParameters::new());
        let generator = GeneratorKind::OsChacha12;
        let statement = Statement { mechanism, noise, generator, public };
        authority!().certificate(statement, stated.clone()).verify()
    };
    let other = Epsilon::new(1.0f64.next_down()).unwrap();
    certificate(epsilon, 1024, 400, -10).unwrap();
    for (epsilon, width, inner, exponent) in [
        (epsilon, 1023, 400, -10),
        (epsilon, 1025, 400, -10),
        (epsilon, 1024, 401, -10),
        (epsilon, 1024, 400, -11),
        (epsilon, 1024, 0, -10),
        (epsilon, u64::MAX, 400, -10),
        (other, 1024, 400, -10),
    ] {
        assert!(
            certificate(epsilon, width, inner, exponent).is_err(),
            "{width} {inner} {exponent}"
        );
    }
    // The theorem is about one attribute; the profile misses a smaller budget.
    let row = Adjacency::RowShift { l2: Shift::new(1.0).unwrap() };
    assert!(guarantee(profile(epsilon, 400, grid), row).is_err());
    assert!(guarantee(profile(Epsilon::new(1.1).unwrap(), 400, grid), attribute).is_err());
    // No law of Laplace noise gives it, nor the other way round.
    let laplace = NoiseLaw::RoundedLaplace { scale: LaplaceScale::new(5.0).unwrap(), grid };
    let statement = Statement {
        mechanism: "a test".into(),
        noise: laplace,
        generator: GeneratorKind::OsChacha12,
        public: PublicParameters::new(),
    };
    assert!(authority!().certificate(statement, stated).verify().is_err());
}
