//! What the library checks of a release by itself: honest ones pass, edited ones are refused.

use dp_core::authority;
use dp_core::calibrate::Acceptance;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{decode, encode};
use dp_core::{Adjacency, Budget, Epsilon, FreshSeed, NoiseRng, PublicSeed, Release};
use sketch::projection::{Family, ProjectionSpec, Sampling};
use sketch::sets::{
    BinResponse, BucketPrivMin, FreshBinResponse, ItemSet, MixtureResponse, NoisySecureMinHash,
    PrivMin, SetNeighbours, SymbolShape,
};
use sketch::signs::{
    FlipRule, FreshConfig, FreshSigns, IndividualNoise, IndividualSigns, NormFloor, PrivateSigns,
    SignSketch,
};
use sketch::vectors::{AveragedProjection, PrivateProjection, PrivateSketch};
use sketch::verify::{Finding, Report};
use sketch::{RowsView, verify, verify_consistency};

const N: usize = 40;
const D: usize = 16;

fn bound<B: TryFrom<f64, Error = dp_core::Error>>(x: f64) -> B {
    B::try_from(x).unwrap()
}

fn budget(epsilon: f64, delta: f64) -> Budget {
    Budget::new(epsilon, delta).unwrap()
}

fn values() -> Vec<f64> {
    (0..N * D).map(|i| ((i * 31) % 199) as f64 / 99.0 - 1.0).collect()
}

fn os() -> NoiseRng {
    NoiseRng::from_os().unwrap()
}

const ATTRIBUTE: fn() -> Adjacency = || Adjacency::Attribute { beta: bound(2.0) };

fn spec(family: Family, seed: u64) -> ProjectionSpec {
    ProjectionSpec::new(family, D, 8, PublicSeed::new(seed)).unwrap()
}

fn projected(seed: u64, rng: &mut NoiseRng) -> Release<PrivateSketch> {
    let projection = spec(Family::Gaussian, seed).build();
    let budget = budget(1.0, 1e-6);
    let mechanism = PrivateProjection::gaussian(projection, ATTRIBUTE(), bound(1.0), budget);
    mechanism.unwrap().release(RowsView::f64(N, D, &values()).unwrap(), rng).unwrap()
}

fn sets() -> Vec<ItemSet> {
    (0..30u64).map(|i| ItemSet::new((i..i + 30).collect()).unwrap()).collect()
}

fn agrees(report: Report, payload: bool) {
    assert_eq!(report.sensitivity, Finding::Agrees);
    assert_eq!(report.payload == Finding::Agrees, payload, "{report:?}");
}

#[test]
fn honest_vectors_pass_the_strict_check() {
    let values = values();
    let rows = RowsView::f64(N, D, &values).unwrap();
    agrees(verify(&projected(3, &mut os())).unwrap(), true);
    let pure = budget(1.0, 0.0);
    for family in [Family::Oporp, Family::Srht { sampling: Sampling::WithoutReplacement }] {
        let p = spec(family, 4).build();
        let laplace = PrivateProjection::laplace(p, ATTRIBUTE(), bound(1.0), pure).unwrap();
        agrees(verify(&laplace.release(rows, &mut os()).unwrap()).unwrap(), true);
    }
    let averaged =
        AveragedProjection::gaussian(D, 8, ATTRIBUTE(), bound(1.0), budget(1.0, 1e-6)).unwrap();
    let release = averaged.release(FreshSeed::draw().unwrap(), rows, &mut os()).unwrap();
    agrees(verify(&release).unwrap(), true);
    // What comes back from a file is checked the same way.
    let back: Release<PrivateSketch> = decode(&encode(&release).unwrap()).unwrap();
    agrees(verify(&back).unwrap(), true);
}

#[test]
fn honest_signs_pass_the_strict_check() {
    let values = values();
    let rows = RowsView::f64(N, D, &values).unwrap();
    let sketch = SignSketch::repeated(Family::Oporp, D, 8, 2, PublicSeed::new(5)).unwrap();
    for rule in [FlipRule::RandomizedResponse, FlipRule::OptimalSmooth] {
        let pure = budget(4.0, 0.0);
        let signs = PrivateSigns::new(sketch.clone(), rule, ATTRIBUTE(), bound(1.0), pure).unwrap();
        agrees(verify(&signs.release(rows, &mut os()).unwrap()).unwrap(), false);
    }
    for floor in [NormFloor::Promised(bound(0.1)), NormFloor::Lifted(bound(2.0))] {
        let config =
            FreshConfig { d: D, bits: 12, floor, bound: bound(1.0), adjacency: ATTRIBUTE() };
        let signs = FreshSigns::exact(config, budget(4.0, 1e-6)).unwrap();
        let release = signs.release(rows, FreshSeed::draw().unwrap(), &mut os()).unwrap();
        agrees(verify(&release).unwrap(), false);
    }
    let noise = IndividualNoise::RandomizedResponse;
    let signs =
        IndividualSigns::new(sketch.clone(), noise, ATTRIBUTE(), bound(1.0), budget(2.0, 0.0));
    let report = verify_consistency(&signs.unwrap().release(rows, &mut os()).unwrap()).unwrap();
    assert!(matches!(report.sensitivity, Finding::NothingStated(why) if why.contains("no diff")));
    let report = verify_consistency(&sketch.simhash(rows).unwrap()).unwrap();
    assert!(matches!(report.sensitivity, Finding::NothingStated(why) if why.contains("no diff")));
}

#[test]
fn honest_sets_pass_the_strict_check() {
    let sets = sets();
    let shape = SymbolShape::new(20, 1, 4).unwrap();
    let neighbours = SetNeighbours::new(1, 20).unwrap();
    let bins = BinResponse::calibrate(20, 4, 2, budget(2.0, 0.0)).unwrap();
    let release = bins.release(&sets, PublicSeed::new(1), &mut os()).unwrap();
    agrees(verify(&release).unwrap(), false);
    let buckets = BucketPrivMin::new(shape, Epsilon::new(8.0).unwrap()).unwrap();
    let release = buckets.release(&sets, PublicSeed::new(1), &mut os()).unwrap();
    agrees(verify(&release).unwrap(), false);
    // Hash functions are ideal in the proof only: consistent, and not proven.
    let mixture = MixtureResponse::calibrate(shape, neighbours, budget(4.0, 1e-4)).unwrap();
    let release = mixture.release(&sets, FreshSeed::draw().unwrap(), &mut os()).unwrap();
    agrees(verify_consistency(&release).unwrap(), false);
    let fresh =
        FreshBinResponse::calibrate(16, 4, SetNeighbours::new(6, 20).unwrap(), budget(4.0, 1e-4));
    let release = fresh.unwrap().release(&sets, FreshSeed::draw().unwrap(), &mut os()).unwrap();
    agrees(verify_consistency(&release).unwrap(), false);
    let noisy = NoisySecureMinHash::published(
        50,
        1,
        neighbours,
        budget(2.0, 1e-2),
        Acceptance::AcceptTrueDelta,
    );
    let release = noisy.unwrap().release(&sets, FreshSeed::draw().unwrap(), &mut os()).unwrap();
    agrees(verify_consistency(&release).unwrap(), true);
    let broken = PrivMin::published(4, 20.0, Epsilon::new(1.0).unwrap()).unwrap();
    let release = broken.release(&sets, PublicSeed::new(1), &mut os()).unwrap();
    let report = verify_consistency(&release).unwrap();
    assert!(matches!(report.sensitivity, Finding::NothingStated(_)));
}

/// The release with another statement under the same guarantee.
fn restated(
    release: &Release<PrivateSketch>,
    edit: impl FnOnce(&mut Statement),
) -> Release<PrivateSketch> {
    let mut statement = release.certificate().statement().clone();
    edit(&mut statement);
    let certificate =
        authority!().certificate(statement, release.certificate().guarantee().clone());
    Release::certified(release.payload().clone(), certificate)
}

#[test]
fn noise_that_anyone_can_draw_again_passes_the_weak_check_only() {
    let release = projected(3, &mut NoiseRng::deterministic_not_private(1));
    agrees(verify_consistency(&release).unwrap(), true);
    let error = verify(&release).unwrap_err().to_string();
    assert!(error.contains("a generator that anyone can run again"), "{error}");
}

#[test]
fn a_seed_with_longer_rows_than_were_paid_for_is_refused() {
    let longest = |seed: u64| spec(Family::Gaussian, seed).build().max_row_l2();
    let [short, long] = {
        let mut seeds: Vec<u64> = (0..20).collect();
        seeds.sort_by(|a, b| longest(*a).total_cmp(&longest(*b)));
        [seeds[0], seeds[19]]
    };
    let release = projected(short, &mut os());
    let other = spec(Family::Gaussian, long);
    let (payload, noise) = (release.payload().values().to_vec(), release.payload().noise().clone());
    let payload = PrivateSketch::new(other, noise, payload).unwrap();
    let stated = restated(&release, |s| s.public.extend(other.public_parameters()));
    let forged = Release::certified(payload, stated.certificate().clone());
    let error = verify(&forged).unwrap_err().to_string();
    assert!(error.contains("states sensitivity"), "{error}");
    // The other way round more was paid for than is needed.
    let release = projected(long, &mut os());
    let other = spec(Family::Gaussian, short);
    let (payload, noise) = (release.payload().values().to_vec(), release.payload().noise().clone());
    let payload = PrivateSketch::new(other, noise, payload).unwrap();
    let stated = restated(&release, |s| s.public.extend(other.public_parameters()));
    agrees(verify(&Release::certified(payload, stated.certificate().clone())).unwrap(), true);
}

#[test]
fn a_certificate_of_another_payload_is_refused() {
    let (a, b) = (projected(3, &mut os()), projected(4, &mut os()));
    let mixed = Release::certified(a.payload().clone(), b.certificate().clone());
    let error = verify(&mixed).unwrap_err().to_string();
    assert!(error.contains("noise law: differs from the certificate's"), "{error}");
    let sets = sets();
    let bins = BinResponse::calibrate(20, 4, 2, budget(2.0, 0.0)).unwrap();
    let [a, b] = [1, 2].map(|s| bins.release(&sets, PublicSeed::new(s), &mut os()).unwrap());
    let mixed = Release::certified(a.payload().clone(), b.certificate().clone());
    let error = verify(&mixed).unwrap_err().to_string();
    assert!(error.contains("states another seed"), "{error}");
    let (values, pure) = (values(), budget(4.0, 0.0));
    let rows = RowsView::f64(N, D, &values).unwrap();
    let signs = |seed| {
        let sketch = SignSketch::single(Family::Gaussian, D, 8, PublicSeed::new(seed)).unwrap();
        let rule = FlipRule::OptimalSmooth;
        let signs = PrivateSigns::new(sketch, rule, ATTRIBUTE(), bound(1.0), pure).unwrap();
        signs.release(rows, &mut os()).unwrap()
    };
    let (a, b) = (signs(1), signs(2));
    let mixed = Release::certified(a.payload().clone(), b.certificate().clone());
    let error = verify(&mixed).unwrap_err().to_string();
    assert!(error.contains("states another projection seed"), "{error}");
}

#[test]
fn payloads_without_the_stated_noise_are_refused() {
    let release = projected(3, &mut os());
    let NoiseLaw::RoundedGaussian { grid, .. } = *release.payload().noise() else { panic!() };
    let again = |values: Vec<f64>| {
        let (spec, noise) = (release.payload().projection(), release.payload().noise().clone());
        let payload = PrivateSketch::new(spec, noise, values).unwrap();
        verify(&Release::certified(payload, release.certificate().clone()))
    };
    let len = release.payload().values().len();
    let error = again(vec![grid.spacing() * 7.0; len]).unwrap_err().to_string();
    assert!(error.contains("vary less"), "{error}");
    let mut shifted = release.payload().values().to_vec();
    shifted[3] += grid.spacing() / 2.0;
    let error = again(shifted).unwrap_err().to_string();
    assert!(error.contains("not on the stated grid"), "{error}");
}

#[test]
fn projections_come_back_from_their_public_parameters() {
    for family in [
        Family::Gaussian,
        Family::Rademacher,
        Family::Achlioptas,
        Family::VerySparse,
        Family::SparseJl { nonzeros: 3 },
        Family::HashedCopies { copies: 2 },
        Family::Srht { sampling: Sampling::WithoutReplacement },
        Family::Srht { sampling: Sampling::WithReplacement },
        Family::Oporp,
        Family::CountSketch,
    ] {
        let spec = spec(family, 9);
        let public = spec.public_parameters();
        assert_eq!(ProjectionSpec::from_public_parameters(&public).unwrap(), spec);
        for name in public.keys() {
            let mut less: PublicParameters = public.clone();
            less.remove(name);
            let error = ProjectionSpec::from_public_parameters(&less).unwrap_err().to_string();
            assert!(error.contains(name.as_str()), "{family:?} without {name}: {error}");
        }
    }
    let identity = ProjectionSpec::new(Family::Identity, D, D, PublicSeed::new(0)).unwrap();
    let back = ProjectionSpec::from_public_parameters(&identity.public_parameters());
    assert_eq!(back.unwrap(), identity);
    // The names in certificates are those of earlier versions.
    for (sampling, name) in [
        (Sampling::WithReplacement, "with-replacement"),
        (Sampling::WithoutReplacement, "without-replacement"),
    ] {
        assert_eq!(sampling.to_string(), name);
        assert_eq!(name.parse::<Sampling>().unwrap(), sampling);
    }
    assert!("with".parse::<Sampling>().unwrap_err().to_string().contains("with-replacement"));
}
