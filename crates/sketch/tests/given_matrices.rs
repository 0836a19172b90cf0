//! Given matrices: sensitivities by brute force, files and certificates, directions of public rows, what is refused.

use dp_core::certificate::Trust;
use dp_core::release_file::{decode, encode};
use dp_core::{Adjacency, Budget, NoiseRng, Profile, PublicGenerator, PublicSeed, Release};
use rand_core::Rng;
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec, PublicMatrix, PublicMoments, project};
use sketch::search::{Queries, Score, SketchIndex};
use sketch::units::{PrivateUnits, UnitPairs, UnitQueries, UnitVectors, UnitsConfig};
use sketch::vectors::{Pairs, PrivateProjection, PrivateSketch};
use sketch::verify::Finding;

fn bound<B: TryFrom<f64, Error = dp_core::Error>>(x: f64) -> B {
    B::try_from(x).unwrap()
}

fn uniform(bits: &mut PublicGenerator) -> f64 {
    (bits.next_u64() >> 11) as f64 * 2f64.powi(-52) - 1.0
}

/// Entries in [-1, 1], in every scale down to the step.
fn random(d: usize, k: usize, seed: u64) -> PublicMatrix {
    let mut bits = PublicSeed::new(seed).generator(0);
    let entries: Vec<f64> = (0..d * k)
        .map(|_| uniform(&mut bits) * 2f64.powi(-((bits.next_u64() % 15) as i32)))
        .collect();
    PublicMatrix::new(d, k, &entries).unwrap()
}

fn paid(mechanism: &PrivateProjection) -> f64 {
    match *mechanism.guarantee().profile().unwrap() {
        Profile::Gaussian { sensitivity, .. } => sensitivity.get(),
        Profile::Laplace { sensitivity, .. } => sensitivity.get(),
        ref other => panic!("{other:?}"),
    }
}

/// Every attribute moved by beta either way, and rows moved along the most stretched direction (by power iteration): what
/// moves is at most what is paid for, and the worst move is nearly that.
#[test]
fn what_moves_is_paid_for() {
    for seed in 0..12 {
        let (d, k) = (5 + seed as usize, 1 + seed as usize % 5);
        let p = random(d, k, seed).spec().build();
        let image = |x: &[f64]| project(&*p, RowsView::f64(1, d, x).unwrap()).unwrap();
        let (mut l1, mut l2) = (0f64, 0f64);
        for i in 0..d {
            let mut e = vec![0.0; d];
            e[i] = 0.7;
            let moved = image(&e);
            l1 = l1.max(moved.iter().map(|x| x.abs()).sum());
            l2 = l2.max(moved.iter().map(|x| x * x).sum::<f64>().sqrt());
        }
        let mut x = vec![1.0; d];
        let mut stretch = 0.0;
        for _ in 0..2000 {
            let y = image(&x);
            let mut row = vec![0.0; k];
            for (i, x) in x.iter_mut().enumerate() {
                p.row(i, &mut row);
                *x = row.iter().zip(&y).map(|(a, b)| a * b).sum();
            }
            let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
            x.iter_mut().for_each(|x| *x /= norm);
            stretch = image(&x).iter().map(|y| y * y).sum::<f64>().sqrt();
        }
        let (attribute, shift) =
            (Adjacency::Attribute { beta: bound(0.7) }, Adjacency::RowShift { l2: bound(0.7) });
        let one = bound(1.0);
        let (delta, pure) = (Budget::new(1.0, 1e-6).unwrap(), Budget::new(1.0, 0.0).unwrap());
        let gaussian = |a| PrivateProjection::gaussian(p.clone(), a, one, delta).unwrap();
        let laplace = PrivateProjection::laplace(p.clone(), attribute, one, pure).unwrap();
        for (moved, mechanism) in
            [(l2, gaussian(attribute)), (0.7 * stretch, gaussian(shift)), (l1, laplace)]
        {
            let paid = paid(&mechanism);
            assert!(moved <= paid && paid < moved * (1.0 + 1e-4), "{seed}: {moved} {paid}");
        }
    }
}

fn released(matrix: PublicMatrix, n: usize) -> Release<PrivateSketch> {
    let mut bits = PublicSeed::new(5).generator(0);
    let x: Vec<f64> = (0..n * matrix.d()).map(|_| uniform(&mut bits)).collect();
    let rows = RowsView::f64(n, matrix.d(), &x).unwrap();
    let adjacency = Adjacency::Attribute { beta: bound(0.7) };
    let (one, budget) = (bound(1.0), Budget::new(1.0, 0.0).unwrap());
    let made = PrivateProjection::laplace(matrix.spec().build(), adjacency, one, budget).unwrap();
    made.release(rows, &mut NoiseRng::from_os().unwrap()).unwrap()
}

#[test]
fn files_hold_the_matrix_and_certificates_its_digest() {
    let release = released(random(30, 7, 3), 20);
    let report = sketch::verify(&release).unwrap();
    assert_eq!((report.sensitivity, report.payload), (Finding::Agrees, Finding::Agrees));
    let read: Release<PrivateSketch> = decode(&encode(&release).unwrap()).unwrap();
    assert!(read.payload() == release.payload());
    assert_eq!(read.payload().projection(), random(30, 7, 3).spec());
    let public = &release.certificate().statement().public;
    assert!(public.contains_key("matrix") && public["projection"] == "given".into());
    // The certificate alone says that it cannot know.
    let alone = sketch::verify::verify_certificate(release.certificate(), &Trust::none());
    assert!(matches!(alone.unwrap(), Some(Finding::NotChecked(why)) if why.contains("matrix")));
    assert!(ProjectionSpec::from_public_parameters(public).is_err());
    // Another matrix under the same certificate, one that would have needed more noise.
    let (sketch, certificate) = release.into_parts();
    let other = PublicMatrix::new(30, 7, &[1.0; 210]).unwrap().spec();
    let other = PrivateSketch::new(other, sketch.noise().clone(), sketch.values().to_vec());
    let forged = Release::certified(other.unwrap(), certificate);
    let refused = sketch::verify(&forged).unwrap_err().to_string();
    assert!(refused.contains("matrix"), "{refused}");
    assert!(encode(&forged).is_err());
}

#[test]
fn specs_that_disagree_with_their_matrix_are_refused() {
    let matrix = random(9, 3, 1);
    let family = Family::Given { matrix };
    let made = |d, k, seed| ProjectionSpec::new(family, d, k, PublicSeed::new(seed));
    assert_eq!(made(9, 3, 0).unwrap(), matrix.spec());
    for (d, k, seed) in [(8, 3, 0), (9, 2, 0), (9, 9, 0), (9, 3, 1)] {
        assert!(made(d, k, seed).is_err(), "{d} {k} {seed}");
    }
    let text = serde_json::to_string(&matrix.spec()).unwrap();
    assert_eq!(serde_json::from_str::<ProjectionSpec>(&text).unwrap(), matrix.spec());
    // The matrix has its own k, before the one of the projection.
    let at = text.rfind("\"k\":3").unwrap();
    let other = format!("{}\"k\":2{}", &text[..at], &text[at + 5..]);
    assert!(serde_json::from_str::<ProjectionSpec>(&other).is_err());
    assert_ne!(matrix.spec().fingerprint(), random(9, 3, 2).spec().fingerprint());
}

/// Images under a matrix tell nothing unbiased of rows, and a search ranks by them all the same.
#[test]
fn estimates_of_rows_are_refused_and_rows_are_ranked() {
    let release = released(random(12, 4, 2), 5);
    let pairs = Pairs::within(&release);
    assert!(pairs.squared_distance(0, 1).is_err() && pairs.squared_norm(0).is_err());
    assert!(pairs.inner_product(0, 1).is_err() && pairs.cosine(0, 1).is_err());
    let index = SketchIndex::new(release.payload(), Score::Cosine).unwrap();
    let found = index.top_k(&Queries::all(release.payload()), 3).unwrap();
    assert_eq!((found.indices(4).len(), found.scores(0).len()), (3, 3));
}

/// Public rows around a long mean vary along two known directions: those are found, orthogonal to the mean, of length one.
#[test]
fn principal_directions_lie_beside_the_mean() {
    let d = 6;
    let mut bits = PublicSeed::new(8).generator(0);
    let (a, b) = ([0.0, 0.0, 0.6, 0.8, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.8, -0.6]);
    let sample: Vec<f64> = (0..500)
        .flat_map(|_| {
            let (s, t) = (2.0 * uniform(&mut bits), uniform(&mut bits));
            let tiny: Vec<f64> = (0..d).map(|_| 0.01 * uniform(&mut bits)).collect();
            (0..d)
                .map(|i| if i == 0 { 50.0 } else { 0.0 } + s * a[i] + t * b[i] + tiny[i])
                .collect::<Vec<_>>()
        })
        .collect();
    let moments = PublicMoments::of_sample(RowsView::f64(500, d, &sample).unwrap()).unwrap();
    let matrix = PublicMatrix::principal(&moments, 2).unwrap();
    let p = matrix.spec().build();
    let image = |x: &[f64]| project(&*p, RowsView::f64(1, d, x).unwrap()).unwrap();
    let (first, second) = (image(&a), image(&b));
    assert!((first[0].abs() - 1.0).abs() < 1e-2 && first[1].abs() < 0.1, "{first:?}");
    assert!((second[1].abs() - 1.0).abs() < 1e-2 && second[0].abs() < 0.1, "{second:?}");
    let mean = image(&[50.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert!(mean.iter().all(|m| m.abs() < 0.5), "{mean:?}");
    assert!(p.spectral_norm_bound().unwrap() < 1.0 + 1e-3);
    assert!(PublicMatrix::principal(&moments, 5).is_ok());
    for k in [0, 6, usize::MAX] {
        assert!(PublicMatrix::principal(&moments, k).is_err(), "{k}");
    }
    // Around zero all d directions are there.
    let centred = PublicMoments::new(vec![0.0; 2], &[1.0, 0.0, 0.0, 2.0]).unwrap();
    assert!(PublicMatrix::principal(&centred, 2).is_ok());
    // One attribute, with a mean and without.
    let one = PublicMoments::new(vec![0.0], &[1.0]).unwrap();
    assert_eq!(PublicMatrix::principal(&one, 1).unwrap().d(), 1);
    assert!(PublicMatrix::principal(&PublicMoments::new(vec![1.0], &[1.0]).unwrap(), 1).is_err());
    // Moments of any size.
    for size in [1e-300, 1e300] {
        let m =
            PublicMoments::new(vec![size; 3], &[size, 0.0, 0.0, 0.0, size, 0.0, 0.0, 0.0, size]);
        let found = m.and_then(|m| PublicMatrix::principal(&m, 2));
        assert!(found.is_ok_and(|m| (m.d(), m.k()) == (3, 2)), "{size}");
    }
}

/// Rows that vary in 4 of 200 dimensions: exact queries find their twins after the public directions, where a random projection
/// to as many numbers loses most of them.
#[test]
fn public_directions_keep_what_random_ones_lose() {
    let (d, n, signal) = (200, 400, 4);
    let mut bits = PublicSeed::new(3).generator(0);
    let mut draw = |n: usize| -> Vec<f64> {
        (0..n * d).map(|at| uniform(&mut bits) * if at % d < signal { 1.0 } else { 0.15 }).collect()
    };
    let (public, x) = (draw(300), draw(n));
    let moments = PublicMoments::of_sample(RowsView::f64(300, d, &public).unwrap()).unwrap();
    let learned = PublicMatrix::principal(&moments, signal).unwrap().spec();
    let drawn = ProjectionSpec::new(Family::Gaussian, d, signal, PublicSeed::new(1)).unwrap();
    let rows = RowsView::f64(n, d, &x).unwrap();
    let near = |i: usize, j: usize| -> f64 {
        let dot = |a: usize, b: usize| -> f64 {
            x[a * d..][..d].iter().zip(&x[b * d..][..d]).map(|(u, v)| u * v).sum()
        };
        dot(i, j) / (dot(i, i) * dot(j, j)).sqrt()
    };
    let first = |spec: ProjectionSpec| -> f64 {
        let config =
            UnitsConfig { projection: spec.build(), adjacency: Adjacency::AnyInput, lengths: None };
        let mechanism = PrivateUnits::new(config, Budget::new(10.0, 0.0).unwrap()).unwrap();
        let mut rng = NoiseRng::deterministic_not_private(4);
        let release: Release<UnitVectors> = mechanism.release(rows, &mut rng).unwrap();
        let queries = UnitQueries::exact(release.payload(), rows).unwrap();
        let pairs = UnitPairs::exact(&release, &queries).unwrap();
        // The mean true cosine of the row that is found for each of sixty queries.
        let found = (0..60).map(|q| {
            let score = |i: &usize| pairs.inner_product(*i, q).unwrap().value;
            let others = (60..n).max_by(|i, j| score(i).total_cmp(&score(j)));
            near(others.unwrap(), q)
        });
        found.sum::<f64>() / 60.0
    };
    let (learned, drawn) = (first(learned), first(drawn));
    // Chance finds a cosine of zero.
    assert!(learned > 0.2 && learned > drawn + 0.1, "{learned} {drawn}");
}
