//! The private projection: bits, bounds, estimates.

use dp_core::release_file::{Kind, decode, encode, encode_as, write};
use dp_core::{Adjacency, Budget, Certificate, FreshSeed, NoiseRng, PublicSeed, Release};
use sketch::projection::{Family, ProjectionSpec};
use sketch::rows::RowsView;
use sketch::search::{Queries, Score, SketchIndex};
use sketch::vectors::{AveragedProjection, Pairs, PrivateProjection, PrivateSketch};
use sketch::vectors::{Element, ReleaseWriter};

fn bound<B: TryFrom<f64, Error = dp_core::Error>>(x: f64) -> B {
    B::try_from(x).unwrap()
}

fn mechanism(family: Family, d: usize, k: usize, epsilon: f64) -> PrivateProjection {
    let p = ProjectionSpec::new(family, d, k, PublicSeed::new(3)).unwrap().build();
    let adjacency = Adjacency::Attribute { beta: bound(1.0) };
    let budget = Budget::new(epsilon, 1e-6).unwrap();
    PrivateProjection::gaussian(p, adjacency, bound(1.0), budget).unwrap()
}

fn data(n: usize, d: usize) -> Vec<f64> {
    (0..n * d).map(|i| ((i * 2_654_435_761) % 1009) as f64 / 504.5 - 1.0).collect()
}

#[test]
fn threads_do_not_change_a_bit() {
    let (n, d, k) = (5000, 60, 24);
    let x = data(n, d);
    for family in [Family::Gaussian, Family::Rademacher, Family::Oporp] {
        let m = mechanism(family, d, k, 1.0);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut rng = NoiseRng::deterministic_not_private(9);
                m.release(RowsView::f64(n, d, &x).unwrap(), &mut rng).unwrap()
            })
        };
        let one = run(1);
        assert_eq!(one, run(2), "{family:?}");
        assert_eq!(one, run(8), "{family:?}");
    }
}

#[test]
fn values_outside_the_bound_are_refused_without_being_named() {
    let m = mechanism(Family::Oporp, 4, 2, 1.0);
    let mut rng = NoiseRng::deterministic_not_private(1);
    let x = [0.0, 0.5, 0.25, 0.125, 0.0, 0.0, 1.5, 0.0];
    let error = m.release(RowsView::f64(2, 4, &x).unwrap(), &mut rng).unwrap_err().to_string();
    assert!(error.contains("row 1, column 2") && !error.contains("1.5"), "{error}");
}

#[test]
fn near_rows_are_found_and_estimated() {
    let (n, d, k) = (60, 2000, 256);
    let mut x = data(n, d);
    let (head, tail) = x.split_at_mut(d);
    tail[..d].iter_mut().zip(&*head).for_each(|(t, h)| *t = 0.98 * h);
    let m = mechanism(Family::Oporp, d, k, 8.0);
    let mut rng = NoiseRng::deterministic_not_private(2);
    let release = m.release(RowsView::f64(n, d, &x).unwrap(), &mut rng).unwrap();
    let index = SketchIndex::new(release.payload(), Score::Cosine).unwrap();
    let queries = Queries::rows(release.payload(), &[0]).unwrap();
    assert_eq!(index.top_k(&queries, 2).unwrap().indices(0), [0, 1]);
    assert!(Queries::rows(release.payload(), &[n]).is_err());
    let narrow = SketchIndex::rounded(release.payload(), Score::Cosine).unwrap();
    assert_eq!(narrow.top_k(&queries, 2).unwrap().indices(0), [0, 1]);
    let other = PrivateProjection::gaussian(
        ProjectionSpec::new(Family::Oporp, d, k, PublicSeed::new(77)).unwrap().build(),
        m.guarantee().adjacency(),
        bound(1.0),
        m.guarantee().budget(),
    )
    .unwrap()
    .release(RowsView::f64(n, d, &x).unwrap(), &mut rng)
    .unwrap();
    assert!(index.top_k(&Queries::all(other.payload()), 2).is_err(), "another seed was searched");
    let pairs = Pairs::within(&release);
    let exact: f64 = (0..d).map(|i| (x[i] - x[3 * d + i]).powi(2)).sum();
    let got = pairs.squared_distance(0, 3).unwrap();
    assert!((got.value - exact).abs() < 5.0 * got.standard_error, "{got:?} {exact}");
    let cosine = pairs.cosine(0, 1).unwrap();
    assert!((cosine.value - 1.0).abs() < 5.0 * cosine.standard_error + 1e-3, "{cosine:?}");
    release.certificate().verify_consistency().unwrap();
}

/// Bounds so large that `f32` would round by more than the noise, or overflow.
#[test]
fn f32_files_that_would_round_too_much_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.release");
    let mut rng = NoiseRng::deterministic_not_private(2);
    for (largest, fine) in [(1.0, true), (1e8, false), (1e39, false)] {
        let p = ProjectionSpec::new(Family::Oporp, 8, 4, PublicSeed::new(3)).unwrap().build();
        let shift = bound(if largest > 1e30 { 1e30 } else { 1.0 });
        let (adjacency, budget) =
            (Adjacency::RowShift { l2: shift }, Budget::new(1.0, 1e-6).unwrap());
        let m = PrivateProjection::gaussian(p, adjacency, bound(largest), budget).unwrap();
        assert_eq!(m.check_element(Element::F32).is_ok(), fine, "{largest}");
        m.check_element(Element::F64).unwrap();
        let opened = ReleaseWriter::create(&path, &m, Element::F32, &mut rng);
        assert_eq!(opened.is_ok(), fine, "{largest}");
        drop(opened);
        // A finished release of such numbers is not written that way either.
        let x = vec![largest; 16];
        let release = m.release(RowsView::f64(2, 8, &x).unwrap(), &mut rng).unwrap();
        assert_eq!(encode_as(&release, Kind::Sketch32).is_ok(), fine, "{largest}");
        let whole = encode_as(&release, Kind::Sketch64).unwrap();
        assert_eq!(decode::<PrivateSketch, Certificate>(&whole).unwrap().map(|p| p), release);
        let averaged =
            AveragedProjection::gaussian(8, 4, adjacency, bound(largest), budget).unwrap();
        assert_eq!(averaged.check_element(Element::F32).is_ok(), fine, "{largest}");
        let fresh = FreshSeed::reproducible_not_private(1);
        assert_eq!(averaged.writer(&path, Element::F32, fresh, &mut rng).is_ok(), fine);
    }
}

#[test]
fn a_release_that_contradicts_its_certificate_is_not_written() {
    let m = mechanism(Family::Oporp, 4, 2, 1.0);
    let mut rng = NoiseRng::deterministic_not_private(1);
    let x = [0.5; 8];
    let release = m.release(RowsView::f64(2, 4, &x).unwrap(), &mut rng).unwrap();
    encode(&release).unwrap();
    let (payload, certificate) = release.into_parts();
    let refused = |payload: PrivateSketch, what: &str| {
        let mixed = Release::certified(payload, certificate.clone());
        let folder = tempfile::tempdir().unwrap();
        for error in [
            encode(&mixed).unwrap_err(),
            encode_as(&mixed, Kind::Sketch32).unwrap_err(),
            write(&folder.path().join("a.release"), &mixed).unwrap_err(),
        ] {
            assert!(error.to_string().contains(what), "{what}: {error}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    };
    // A payload of epsilon 100 under a certificate of epsilon 1.
    let little = mechanism(Family::Oporp, 4, 2, 100.0);
    let other = little.release(RowsView::f64(2, 4, &x).unwrap(), &mut rng).unwrap();
    refused(other.into_parts().0, "noise law");
    let (spec, noise) = (payload.projection(), payload.noise().clone());
    let of =
        |spec, values: &[f64]| PrivateSketch::new(spec, noise.clone(), values.to_vec()).unwrap();
    let seed = ProjectionSpec::new(Family::Oporp, 4, 2, PublicSeed::new(4)).unwrap();
    refused(of(seed, payload.values()), "projection seed");
    let family = ProjectionSpec::new(Family::CountSketch, 4, 2, PublicSeed::new(3)).unwrap();
    refused(of(family, payload.values()), "projection");
    refused(of(spec, &payload.values()[..2]), "another n");
}
