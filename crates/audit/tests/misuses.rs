//! Programs that once compiled and gave no privacy, or a false certificate: each is refused now. Those that
//! do not even compile are in `src/misuses.md`, whose snippets are tests.

use dp_core::accounting::{FilterRule, Ledger, Standing};
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::mechanism::{Basis, Mechanism, PrivateVector, Statistic};
use dp_core::noise::{GaussianNoise, Grid, NoiseLaw};
use dp_core::release_file::{decode, encode};
use dp_core::{
    Adjacency, Budget, Certificate, EntryBound, FreshSeed, Guarantee, L2Sensitivity, NoiseRng,
    NoiseScale, Profile, PublicSeed, Release, Shift, authority, calibrate,
};
use faer::Mat;
use linalg_dp::covariance::{CovarianceMechanism, GaussianCovariance, JlCovariance};
use linalg_dp::low_rank::PublicBasis;
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec};
use sketch::search::{HammingIndex, Queries};
use sketch::sets::{BinResponse, ItemSet, SetPairs};
use sketch::signs::{SignCodes, SignSketch};
use sketch::vectors::{Pairs, PrivateProjection, PrivateSketch};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn one<B: TryFrom<f64, Error = dp_core::Error>>() -> B {
    B::try_from(1.0).expect("positive")
}

fn row() -> Adjacency {
    Adjacency::AddRemoveRow { bound: one() }
}

fn os() -> NoiseRng {
    NoiseRng::from_os().expect("an operating system")
}

/// Two rows of four values in [-1, 1] under the projection of a seed.
fn released(epsilon: f64, seed: u64, rng: &mut NoiseRng) -> sketch::Result<Release<PrivateSketch>> {
    let projection = ProjectionSpec::new(Family::Oporp, 4, 2, PublicSeed::new(seed))?.build();
    let (adjacency, budget) = (Adjacency::any_value_within(one())?, Budget::new(epsilon, 1e-6)?);
    let mechanism = PrivateProjection::gaussian(projection, adjacency, one(), budget)?;
    mechanism.release(RowsView::f64(2, 4, &[0.9, 0.1, 0.0, 0.8, 0.2, 0.1, 0.0, 0.7])?, rng)
}

/// Opened with a known generator, closed with a secret one: the certificate named the latter.
#[test]
fn the_generator_that_drew_is_the_one_certified() -> Outcome {
    let budget = Budget::new(1.0, 1e-6)?;
    let mechanisms: [Box<dyn CovarianceMechanism>; 2] = [
        Box::new(GaussianCovariance::calibrate(2, row(), budget)?),
        Box::new(JlCovariance::calibrate(2, 20, row(), budget)?),
    ];
    for mechanism in mechanisms {
        let mut known = NoiseRng::deterministic_not_private(1);
        let mut stream = mechanism.stream(&mut known);
        stream.push(&[0.6, 0.8])?;
        let release = stream.finish()?;
        assert!(release.certificate().verify().is_err());
        assert!(Ledger::new(row()).add(release.certificate(), "a stream").is_err());
    }
    Ok(())
}

/// A grid coarser than the noise maps neighbours to different points that the noise never joins.
#[test]
fn a_grid_coarser_than_its_noise_is_refused() -> Outcome {
    assert!(authority!().gaussian(NoiseScale::new(4.2)?, Grid::new(20)?).is_err());
    let far = EntryBound::new(1e18)?;
    let statistic = Statistic::new(row(), L2Sensitivity::new(1.0)?, 1, far);
    let basis = Basis::declared("a test", "one sum");
    let budget = Budget::new(1.0, 1e-6)?;
    assert!(PrivateVector::<GaussianNoise>::calibrate((statistic, basis), budget).is_err());
    Ok(())
}

/// The guarantee of a mechanism of the library beside noise that it did not draw, and a law of one's own.
#[test]
fn own_noise_is_declared_and_verifies_as_such() -> Outcome {
    let budget = Budget::new(1.0, 1e-6)?;
    let proven = GaussianCovariance::calibrate(2, row(), budget)?;
    let release = proven.release(&[0.6, 0.8], &mut os())?;
    let theirs = release.certificate().clone();
    let own = Statement { mechanism: "mine".into(), ..theirs.statement().clone() };
    assert!(Certificate::declared(own, theirs.guarantee().clone()).is_err());

    let sensitivity = L2Sensitivity::new(1.0)?;
    let profile = |sigma| Profile::Gaussian { sensitivity, sigma };
    let sigma = calibrate::gaussian(budget, sensitivity)?;
    let (by, reason) = ("my analysis", "sums of rows of norm 1");
    let guarantee = Guarantee::declared(row(), budget, profile(sigma), by, reason)?;
    let law = |sigma| NoiseLaw::RoundedGaussian { sigma, grid: Grid::new(-30).expect("fine") };
    let statement = |sigma| Statement {
        mechanism: "mine".into(),
        noise: law(sigma),
        generator: os().kind(),
        public: PublicParameters::new(),
    };
    let certificate = Certificate::declared(statement(sigma), guarantee.clone())?;
    certificate.verify_consistency()?;
    assert!(certificate.verify().is_err());
    assert!(Ledger::new(row()).add(&certificate, "a release").is_err());
    // Less noise than the profile speaks of.
    let half = NoiseScale::new(0.5 * sigma.get())?;
    assert!(Certificate::declared(statement(half), guarantee).is_err());
    Ok(())
}

/// Three releases at epsilon 1 happened, under a limit of 1.5.
#[test]
fn a_ledger_forgets_nothing_that_happened() -> Outcome {
    let adjacency = Adjacency::any_value_within(one())?;
    let limit = Budget::new(1.5, 1e-5)?;
    let mut ledger = Ledger::with_limit(adjacency, limit, FilterRule::Basic);
    for expected in [true, false, false] {
        let release = released(1.0, 7, &mut os())?;
        let standing = ledger.record(release.certificate(), "happened")?;
        assert_eq!(matches!(standing, Standing::Kept), expected);
    }
    assert_eq!(ledger.entries().len(), 3);
    // What has not happened is refused from now on.
    assert!(ledger.add(released(1.0, 7, &mut os())?.certificate(), "a fourth").is_err());
    // Entries cannot be cleared in its text.
    let mut text: serde_json::Value = serde_json::to_value(&ledger)?;
    text["entries"] = serde_json::json!([]);
    assert!(serde_json::from_value::<Ledger>(text).is_err());
    Ok(())
}

/// The data's own singular vectors as the "public" basis.
#[test]
fn a_basis_says_why_it_is_public() {
    let own = Mat::<f64>::identity(4, 2);
    for silent in ["", "  ", "1"] {
        assert!(PublicBasis::declared(own.clone(), silent).is_err(), "{silent:?}");
    }
    let basis = PublicBasis::declared(own, "the census of 2011").expect("said");
    assert!(basis.source().contains("the census of 2011"));
}

/// A payload of epsilon 100 under a certificate of epsilon 0.1.
#[test]
fn a_certificate_speaks_of_its_own_payload() -> Outcome {
    let (loud, quiet) = (released(100.0, 7, &mut os())?, released(0.1, 7, &mut os())?);
    let (payload, _) = loud.clone().into_parts();
    let swapped = Release::certified(payload, quiet.certificate().clone());
    let refused = match encode(&swapped) {
        Ok(bytes) => decode::<_, dp_core::Certificate>(&bytes)
            .map(|r: Release<PrivateSketch>| sketch::verify_consistency(&r).is_ok())
            .map_or(true, |fits| !fits),
        Err(_) => true,
    };
    assert!(refused, "a payload of another noise");
    // Nor do bytes of one file fit into another.
    let (loud, quiet) = (encode(&loud)?, encode(&quiet)?);
    let payload = 60;
    let mixed = [&quiet[..quiet.len() - payload], &loud[loud.len() - payload..]].concat();
    assert!(decode::<sketch::vectors::PrivateSketch, dp_core::Certificate>(&mixed).is_err());
    Ok(())
}

/// Two releases with known noise differ by exactly the data.
#[test]
fn the_short_name_is_the_strict_check() -> Outcome {
    let known = released(1.0, 7, &mut NoiseRng::deterministic_not_private(3))?;
    assert!(known.certificate().verify().is_err());
    assert!(sketch::verify(&known).is_err());
    assert!(known.certificate().verify_consistency().is_ok());
    assert!(released(1.0, 7, &mut os())?.certificate().verify().is_ok());
    Ok(())
}

/// Answers across seeds are noise that looks like answers.
#[test]
fn releases_of_other_seeds_do_not_compare() -> Outcome {
    let (a, b) = (released(4.0, 7, &mut os())?, released(4.0, 8, &mut os())?);
    assert!(Pairs::between(&a, &b).is_err());

    let rows = RowsView::f64(1, 4, &[0.9, 0.1, 0.0, 0.8])?;
    let signs = |seed| -> sketch::Result<SignCodes> {
        let sketch = SignSketch::single(Family::Gaussian, 4, 4, PublicSeed::new(seed))?;
        Ok(sketch.simhash(rows)?.payload().clone())
    };
    let (ours, theirs) = (signs(1)?, signs(2)?);
    let index = HammingIndex::new(&ours)?;
    assert!(index.top_k(&Queries::all(&theirs), 1).is_err());
    assert!(index.top_k(&Queries::all(&ours), 1).is_ok());
    assert!(ours.hamming(0, &theirs, 0).is_err());

    let sets = [ItemSet::from_words(["a", "b", "c"])?];
    let bins = BinResponse::calibrate(64, 4, 1, Budget::new(2.0, 0.0)?)?;
    let release = |seed| bins.release(&sets, PublicSeed::new(seed), &mut os());
    let (ours, other, theirs) = (release(1)?, release(2)?, release(1)?);
    assert!(SetPairs::between(&ours, &other).is_err());
    assert!(SetPairs::between(&ours, &theirs)?.jaccard(0, 0).is_ok());
    Ok(())
}

/// A log line must not show a row or a seed that is not published yet.
#[test]
fn debug_text_shows_no_row_and_no_seed() -> Outcome {
    let values = [0.123_456_7, 0.765_432_1];
    let shown = format!("{:?}", RowsView::f64(1, 2, &values)?);
    assert!(!shown.contains("123") && !shown.contains("765"), "{shown}");
    let seed = FreshSeed::reproducible_not_private(987_654_321);
    assert!(!format!("{seed:?}").contains("987"), "{seed:?}");
    assert!(!format!("{:?}", os()).contains("key"));
    Ok(())
}

/// On [-1, 1] a value that becomes any other moves by 2, not by 1.
#[test]
fn a_value_may_move_by_its_whole_range() -> Outcome {
    let two = Shift::new(2.0)?;
    assert_eq!(Adjacency::any_value_within(one())?, Adjacency::Attribute { beta: two });
    Ok(())
}
