//! Declared sensitivities by brute force over adjacent pairs: never exceeded, and reached.

use dp_core::noise::AdditiveNoise;
use dp_core::{Adjacency, Budget, NoiseRng, Profile, PublicSeed};
use sketch::distances::{NoiseAddition, ValueRange};
use sketch::projection::{Family, ProjectionSpec, Sampling, SharedProjection, project};
use sketch::rows::RowsView;
use sketch::vectors::{AveragedProjection, MultiScale, PrivateProjection};

const FAMILIES: [Family; 11] = [
    Family::Gaussian,
    Family::Rademacher,
    Family::Achlioptas,
    Family::VerySparse,
    Family::SparseJl { nonzeros: 2 },
    Family::HashedCopies { copies: 2 },
    Family::Srht { sampling: Sampling::WithoutReplacement },
    Family::Srht { sampling: Sampling::WithReplacement },
    Family::Oporp,
    Family::CountSketch,
    Family::Identity,
];

fn bound<B: TryFrom<f64, Error = dp_core::Error>>(x: f64) -> B {
    B::try_from(x).unwrap()
}

fn budget() -> Budget {
    Budget::new(1.0, 1e-6).unwrap()
}

fn build(family: Family, d: usize, k: usize) -> SharedProjection {
    let k = if family == Family::Identity { d } else { k };
    ProjectionSpec::new(family, d, k, PublicSeed::new(21)).unwrap().build()
}

/// l1 and l2 distance of the projections of two rows.
fn distance(p: &SharedProjection, x: &[f64], y: &[f64]) -> [f64; 2] {
    let d = x.len();
    let a = project(&**p, RowsView::f64(1, d, x).unwrap()).unwrap();
    let b = project(&**p, RowsView::f64(1, d, y).unwrap()).unwrap();
    let differences = a.iter().zip(&b).map(|(a, b)| (a - b).abs());
    [differences.clone().sum(), differences.map(|v| v * v).sum::<f64>().sqrt()]
}

fn declared(m: &PrivateProjection) -> f64 {
    match m.guarantee().profile().unwrap() {
        Profile::Gaussian { sensitivity, .. } => sensitivity.get(),
        Profile::Laplace { sensitivity, .. } => sensitivity.get(),
        other => panic!("{other:?}"),
    }
}

fn data(d: usize) -> Vec<f64> {
    (0..d).map(|i| 0.4 * ((i * 37 % 11) as f64 / 5.5 - 1.0)).collect()
}

#[test]
fn one_attribute() {
    let (d, k, beta) = (40, 9, 0.6);
    for family in FAMILIES {
        let p = build(family, d, k);
        let adjacency = Adjacency::Attribute { beta: bound(beta) };
        let l2 = declared(
            &PrivateProjection::gaussian(p.clone(), adjacency, bound(1.0), budget()).unwrap(),
        );
        let pure = Budget::pure(budget().epsilon);
        let l1 =
            declared(&PrivateProjection::laplace(p.clone(), adjacency, bound(1.0), pure).unwrap());
        let x = data(d);
        let mut worst = [0.0f64; 2];
        for i in 0..d {
            for step in [beta, -beta, 0.5 * beta] {
                let mut y = x.clone();
                y[i] += step;
                let got = distance(&p, &x, &y);
                worst = [worst[0].max(got[0]), worst[1].max(got[1])];
            }
        }
        assert!(worst[0] <= l1 && worst[0] > l1 * (1.0 - 1e-6), "{family:?} l1 {} {l1}", worst[0]);
        assert!(worst[1] <= l2 && worst[1] > l2 * (1.0 - 1e-6), "{family:?} l2 {} {l2}", worst[1]);
        // The broken twin: calibrating Gaussian P as if every row had norm one.
        if family == Family::Gaussian {
            assert!(worst[1] > 1.2 * beta, "the unit-norm twin would not be caught: {}", worst[1]);
        }
    }
}

/// The direction that a matrix stretches most, by the power method.
fn top_direction(p: &SharedProjection, d: usize) -> Vec<f64> {
    let k = p.spec().k();
    let rows: Vec<Vec<f64>> = (0..d)
        .map(|i| {
            let mut row = vec![0.0; k];
            p.row(i, &mut row);
            row
        })
        .collect();
    let mut v: Vec<f64> = (0..d).map(|i| 1.0 + (i % 3) as f64 * 0.1).collect();
    for _ in 0..5000 {
        let mut y = vec![0.0; k];
        for (x, row) in v.iter().zip(&rows) {
            y.iter_mut().zip(row).for_each(|(y, p)| *y += x * p);
        }
        for (x, row) in v.iter_mut().zip(&rows) {
            *x = row.iter().zip(&y).map(|(a, b)| a * b).sum();
        }
        let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        v.iter_mut().for_each(|x| *x /= norm);
    }
    v
}

#[test]
fn whole_rows() {
    let (d, k, size) = (32, 8, 0.7);
    for family in FAMILIES {
        let p = build(family, d, k);
        let top = top_direction(&p, d);
        let shifted = |adjacency, x: &[f64], y: &[f64]| {
            let m =
                PrivateProjection::gaussian(p.clone(), adjacency, bound(1.0), budget()).unwrap();
            let (declared, got) = (declared(&m), distance(&p, x, y)[1]);
            assert!(got <= declared, "{family:?} {adjacency}: {got} {declared}");
            // OPORP and count-sketch use the fullest bin, SRHT the order: exact here or close.
            assert!(got > 0.97 * declared, "{family:?} {adjacency}: {got} {declared}");
        };
        let x = data(d);
        let y: Vec<f64> = x.iter().zip(&top).map(|(x, t)| x + size * t).collect();
        shifted(Adjacency::RowShift { l2: bound(size) }, &x, &y);
        let u: Vec<f64> = top.iter().map(|t| size * t).collect();
        let v: Vec<f64> = top.iter().map(|t| -size * t).collect();
        shifted(Adjacency::ReplaceRow { bound: bound(size) }, &u, &v);
    }
}

#[test]
fn long_rows_are_refused_by_number() {
    let m = PrivateProjection::gaussian(
        build(Family::Oporp, 4, 2),
        Adjacency::ReplaceRow { bound: bound(1.0) },
        bound(1.0),
        budget(),
    )
    .unwrap();
    let mut rng = NoiseRng::deterministic_not_private(1);
    let x = [0.6, 0.8, 0.0, 0.0, 0.9, 0.9, 0.0, 0.0];
    let error = m.release(RowsView::f64(2, 4, &x).unwrap(), &mut rng).unwrap_err();
    assert_eq!(error.to_string(), "the l2 norm of row 1 is outside the declared range [0, 1]");
    let other = Adjacency::AddRemoveRow { bound: bound(1.0) };
    let refused =
        PrivateProjection::gaussian(build(Family::Oporp, 4, 2), other, bound(1.0), budget());
    assert!(refused.unwrap_err().to_string().starts_with("adjacency"));
}

#[test]
fn scales_pay_for_one_attribute_once() {
    // The joint change of each attribute by brute force: never above what is certified, and reached.
    // The largest rows of the scales belong to different attributes, so paying for all is too much.
    let (d, beta) = (300, 2.0);
    let adjacency = Adjacency::Attribute { beta: bound(beta) };
    let shares = [1.0, 3.0, 2.0];
    for family in [Family::Gaussian, Family::VerySparse, Family::HashedCopies { copies: 2 }] {
        let projections: Vec<_> = [(4, 1), (16, 2), (48, 3)]
            .map(|(k, seed)| {
                ProjectionSpec::new(family, d, k, PublicSeed::new(seed)).unwrap().build()
            })
            .into();
        let made = |p| MultiScale::gaussian(p, &shares, adjacency, bound(1.0), budget()).unwrap();
        let m = made(projections.clone());
        let Profile::Gaussian { sensitivity, sigma } = *m.guarantee().profile().unwrap() else {
            panic!("Gaussian")
        };
        let certified = sensitivity.get() / sigma.get();
        let sigmas: Vec<f64> = m.noises().iter().map(|noise| noise.variance().sqrt()).collect();
        let change = |norm: &dyn Fn(&SharedProjection) -> f64| -> f64 {
            let scales = projections.iter().zip(&sigmas);
            scales.map(|(p, s)| (beta * norm(p) / s).powi(2)).sum::<f64>().sqrt()
        };
        let norm = |p: &SharedProjection, j| {
            let mut row = vec![0.0; p.spec().k()];
            p.row(j, &mut row);
            row.iter().map(|v| v * v).sum::<f64>().sqrt()
        };
        let joint = (0..d).map(|j| change(&|p| norm(p, j))).fold(0.0, f64::max);
        assert!(joint <= certified && joint > certified * (1.0 - 1e-6), "{joint} {certified}");
        // What was paid before: the largest row of every scale.
        let before = change(&|p| p.max_row_l2());
        if family == Family::Gaussian {
            assert!(before > 1.05 * certified, "{before} {certified}");
        }
        let mut rng = NoiseRng::deterministic_not_private(1);
        let x = data(2 * d);
        let release = m.release(RowsView::f64(2, d, &x).unwrap(), &mut rng).unwrap();
        release.certificate().verify_consistency().unwrap();
    }
}

#[test]
fn scales_of_any_size_of_change_are_calibrated() {
    // The grid follows the noise, not the noise of a change by one.
    for beta in [1e-12, 1.0, 1e12] {
        let adjacency = Adjacency::Attribute { beta: bound(beta) };
        let projections = vec![build(Family::Oporp, 16, 4), {
            ProjectionSpec::new(Family::Oporp, 16, 8, PublicSeed::new(5)).unwrap().build()
        }];
        let m = MultiScale::gaussian(projections, &[1.0, 1.0], adjacency, bound(beta), budget())
            .unwrap();
        let one = PrivateProjection::gaussian(
            build(Family::Oporp, 16, 4),
            adjacency,
            bound(beta),
            budget(),
        );
        let ratio = (m.noises()[0].variance() / one.unwrap().noise().variance()).sqrt();
        assert!((ratio - 2f64.sqrt()).abs() < 1e-6, "{beta}: {ratio}");
    }
    let other = ProjectionSpec::new(Family::Oporp, 17, 4, PublicSeed::new(5)).unwrap().build();
    let adjacency = Adjacency::Attribute { beta: bound(1.0) };
    let mixed = vec![build(Family::Oporp, 16, 4), other];
    assert!(MultiScale::gaussian(mixed, &[1.0, 1.0], adjacency, bound(1.0), budget()).is_err());
}

#[test]
fn scales_share_one_exact_budget() {
    let (d, beta) = (64, 1.0);
    let adjacency = Adjacency::Attribute { beta: bound(beta) };
    let scale = |k: usize| {
        ProjectionSpec::new(Family::Rademacher, d, k, PublicSeed::new(k as u64)).unwrap().build()
    };
    let projections: Vec<_> = [4, 16, 64].map(scale).into();
    let shares = [1.0, 2.0, 1.0];
    let m = MultiScale::gaussian(projections, &shares, adjacency, bound(1.0), budget()).unwrap();
    let one = PrivateProjection::gaussian(
        build(Family::Rademacher, d, 16),
        adjacency,
        bound(1.0),
        budget(),
    )
    .unwrap();
    let sigma = |n: sketch::vectors::SketchNoise| match n {
        sketch::vectors::SketchNoise::Gaussian(g) => g.sigma().get(),
        _ => unreachable!(),
    };
    let whole: f64 = m.noises().iter().map(|&n| sigma(n).powi(-2)).sum();
    let single = sigma(one.noise()).powi(-2);
    assert!(whole <= single * (1.0 + 1e-7) && whole > single * (1.0 - 1e-6), "{whole} {single}");
    assert!((sigma(m.noises()[1]) / sigma(one.noise()) - 2f64.sqrt()).abs() < 1e-6);
    let mut rng = NoiseRng::deterministic_not_private(1);
    let x = data(3 * d);
    let release = m.release(RowsView::f64(3, d, &x).unwrap(), &mut rng).unwrap();
    release.certificate().verify_consistency().unwrap();
    assert_eq!(release.payload().len(), 3);
    let twins = vec![scale(4), scale(4)];
    let refused = MultiScale::gaussian(twins, &[1.0, 1.0], adjacency, bound(1.0), budget());
    assert!(refused.unwrap_err().to_string().starts_with("projection seed"));
    assert!(MultiScale::gaussian(vec![], &[], adjacency, bound(1.0), budget()).is_err());
}

#[test]
fn distances_of_all_pairs() {
    // Bits: every one of the n - 1 distances moves by exactly one.
    let bits = NoiseAddition::new(
        9,
        5,
        ValueRange::BITS,
        Adjacency::Attribute { beta: bound(1.0) },
        budget(),
    )
    .unwrap();
    let of = |m: &NoiseAddition| match m.guarantee().profile().unwrap() {
        Profile::Gaussian { sensitivity, .. } => sensitivity.get(),
        other => panic!("{other:?}"),
    };
    assert!((of(&bits) - 8f64.sqrt()).abs() < 1e-6, "{}", of(&bits));
    // Reals in [-1, 2], one coordinate moved by up to 1.4 beside the worst other rows.
    let range = ValueRange::new(-1.0, 2.0).unwrap();
    for (beta, adjacent) in [(1.4, 1.4f64), (9.0, 3.0)] {
        let m =
            NoiseAddition::new(4, 1, range, Adjacency::Attribute { beta: bound(beta) }, budget())
                .unwrap();
        let mut worst = 0.0f64;
        for a in 0..=30 {
            for b in 0..=30 {
                for y in 0..=30 {
                    let at = |i: i32| -1.0 + 0.1 * f64::from(i);
                    let (a, b, y) = (at(a), at(b), at(y));
                    if (a - b).abs() <= adjacent + 1e-9 {
                        worst = worst.max(((a - y).powi(2) - (b - y).powi(2)).abs());
                    }
                }
            }
        }
        let whole = worst * 3f64.sqrt();
        assert!(whole <= of(&m) && whole > of(&m) * (1.0 - 1e-5), "{whole} {}", of(&m));
    }
    // Replaced rows of norm one: from u to -u beside copies of u.
    let m = NoiseAddition::new(5, 2, range, Adjacency::ReplaceRow { bound: bound(1.0) }, budget())
        .unwrap();
    assert!((of(&m) - 8.0).abs() < 1e-6, "{}", of(&m));
    let mut values = vec![0.0; 4];
    let mut rng = NoiseRng::deterministic_not_private(3);
    m.noise().add_to(&mut rng, &mut values).unwrap();
    let x = [0.0, 3.0];
    let error =
        NoiseAddition::new(2, 1, range, Adjacency::Attribute { beta: bound(1.0) }, budget())
            .unwrap()
            .release(RowsView::f64(2, 1, &x).unwrap(), &mut rng);
    assert!(error.unwrap_err().to_string().contains("row 1, column 0"));
}

/// Rows of one user move output rows of their own: brute force over users of one to four rows whose changes are the worst of one
/// row, never above what is declared, and it is reached.
#[test]
fn several_rows_of_a_user() {
    let (d, k) = (24, 6);
    let l1_of = |m: &PrivateProjection| declared(m);
    for family in [Family::Oporp, Family::Gaussian, Family::Identity] {
        let p = build(family, d, k);
        for each in [
            Adjacency::Attribute { beta: bound(0.6) },
            Adjacency::RowShift { l2: bound(0.5) },
            Adjacency::ReplaceRow { bound: bound(0.7) },
        ] {
            let one = |adjacency| {
                let gauss = PrivateProjection::gaussian(p.clone(), adjacency, bound(1.0), budget());
                let pure = Budget::pure(budget().epsilon);
                let laplace = PrivateProjection::laplace(p.clone(), adjacency, bound(1.0), pure);
                [declared(&gauss.unwrap()), l1_of(&laplace.unwrap())]
            };
            let [l2, l1] = one(each);
            for m in [2u64, 3, 4] {
                let [of_user, l1_of_user] = one(each.of_user(m).unwrap());
                // The worst change of one row that a scan finds, made in m rows at once.
                let mut worst = [0.0f64; 2];
                for i in 0..d {
                    let (x, y): (Vec<f64>, Vec<f64>) = match each {
                        Adjacency::Attribute { beta } => unit_pair(d, i, beta.get()),
                        Adjacency::RowShift { l2 } => unit_pair(d, i, l2.get()),
                        _ => unit_pair(d, i, 1.4),
                    };
                    let one = distance(&p, &x, &y);
                    let rows = vec![one; m as usize];
                    let all = [
                        rows.iter().map(|r| r[0]).sum::<f64>(),
                        rows.iter().map(|r| r[1] * r[1]).sum::<f64>().sqrt(),
                    ];
                    worst = [worst[0].max(all[0]), worst[1].max(all[1])];
                }
                assert!(worst[1] <= of_user && worst[0] <= l1_of_user, "{family:?} {each} {m}");
                let root = (m as f64).sqrt();
                assert!((of_user / l2 / root - 1.0).abs() < 1e-6, "{family:?} {each} {m}");
                assert!((l1_of_user / l1 / m as f64 - 1.0).abs() < 1e-6, "{family:?} {each} {m}");
                if matches!(each, Adjacency::Attribute { .. }) {
                    assert!(worst[1] > of_user * (1.0 - 1e-6), "{family:?} {m}: not reached");
                }
            }
        }
    }
    // Averaged noise shares its matrix among rows, staircase noise has no such theorem: refused.
    let user = Adjacency::Attribute { beta: bound(0.6) }.of_user(3).unwrap();
    assert!(AveragedProjection::gaussian(d, k, user, bound(1.0), budget()).is_err());
    let pure = Budget::pure(budget().epsilon);
    assert!(
        PrivateProjection::staircase(build(Family::Oporp, d, k), user, bound(1.0), pure).is_err()
    );
    assert!(
        MultiScale::gaussian(vec![build(Family::Oporp, d, k)], &[1.0], user, bound(1.0), budget())
            .is_err()
    );
}

/// Two rows that differ in one coordinate, by this much around zero.
fn unit_pair(d: usize, i: usize, change: f64) -> (Vec<f64>, Vec<f64>) {
    let row = |x: f64| (0..d).map(|j| if j == i { x } else { 0.0 }).collect();
    (row(0.5 * change), row(-0.5 * change))
}
