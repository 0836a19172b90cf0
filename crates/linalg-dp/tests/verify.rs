//! What a release rests on is computed again, and a smaller count is refused.

use dp_core::authority;
use dp_core::certificate::Statement;
use dp_core::noise::{Grid, NoiseLaw};
use dp_core::release_file::{encode, open};
use dp_core::{
    Adjacency, Budget, FreshSeed, Guarantee, L2Sensitivity, NoiseRng, Profile, PublicValue,
    Release, Theorem,
};
use faer::Mat;
use linalg_dp::covariance::{
    CovarianceMechanism, GaussianCovariance, JlCovariance, WishartCovariance, WishartShape,
};
use linalg_dp::low_rank::{
    BasisProjection, Pfp, PfpOptions, PublicBasis, RangeFinder, Setting, Spread,
};
use linalg_dp::verify::{
    Finding, Trust, Verifiable, verify, verify_consistency, verify_sensitivity,
};
use linalg_dp::window::{BlockNoise, Keep, Schedule, StreamConfig, WindowMechanism};
use sketch::rows::RowsView;

fn bound<B: TryFrom<f64, Error = dp_core::Error>>(b: f64) -> B {
    B::try_from(b).unwrap()
}

fn budget(epsilon: f64) -> Budget {
    Budget::new(epsilon, 1e-6).unwrap()
}

fn secret() -> NoiseRng {
    NoiseRng::from_os().unwrap()
}

fn add() -> Adjacency {
    Adjacency::AddRemoveRow { bound: bound(1.0) }
}

fn agrees<T: Verifiable>(release: &Release<T>) {
    assert_eq!(verify(release).unwrap().sensitivity, Finding::Agrees);
    let summary = open(&encode(release).unwrap()).unwrap().summary;
    assert!(verify_sensitivity(&summary, &Trust::none()).unwrap().is_some());
}

fn refused<T: Verifiable>(release: Release<T>, statement: Statement, guarantee: Guarantee) {
    let forged =
        Release::certified(release.into_parts().0, authority!().certificate(statement, guarantee));
    forged.certificate().verify_consistency().expect("the certificate alone holds together");
    let error = verify_consistency(&forged).unwrap_err().to_string();
    assert!(error.contains("sensitivity"), "{error}");
}

#[test]
fn covariances_count_what_clipping_and_rounding_add() {
    let budget = budget(1.0);
    let shape = WishartShape::LeastSpectralNorm;
    let mechanisms: [Box<dyn CovarianceMechanism>; 3] = [
        Box::new(GaussianCovariance::calibrate(3, add(), budget).unwrap()),
        Box::new(JlCovariance::calibrate(3, 20, add(), budget).unwrap()),
        Box::new(WishartCovariance::calibrate(3, add(), budget, shape).unwrap()),
    ];
    for m in mechanisms {
        let release = m.release(&[0.5; 30], &mut secret()).unwrap();
        agrees(&release);
        // The bound of the adjacency alone: a rounded row may be longer.
        let certificate = release.certificate().clone();
        let (profile, theorem) = match certificate.guarantee().profile().unwrap().clone() {
            Profile::SymmetricGaussian { sigma, change, .. } => (
                Profile::SymmetricGaussian { bound: bound(1.0), sigma, change },
                Theorem::CovarianceGaussian,
            ),
            Profile::JlMechanism { rows, lift, change, .. } => (
                Profile::JlMechanism { rows, bound: bound(1.0), lift, change },
                Theorem::CovarianceJl,
            ),
            Profile::Wishart { dim, dof, scale, change, .. } => (
                Profile::Wishart { dim, dof, bound: bound(1.0), scale, change },
                Theorem::CovarianceWishart,
            ),
            other => panic!("{other:?}"),
        };
        let short = authority!().proven(add(), budget, profile, theorem).unwrap();
        refused(release, certificate.statement().clone(), short);
    }
}

/// The same release under a certificate whose noise lies on a coarser grid.
fn coarser(law: &NoiseLaw) -> NoiseLaw {
    let up = |grid: Grid| Grid::new(grid.exponent() + 20).unwrap();
    match *law {
        NoiseLaw::Wishart { dof, scale, grid } => NoiseLaw::Wishart { dof, scale, grid: up(grid) },
        NoiseLaw::JlSketch { rows, lift, grid } => {
            NoiseLaw::JlSketch { rows, lift, grid: up(grid) }
        }
        NoiseLaw::SymmetricGaussian { sigma, grid } => {
            NoiseLaw::SymmetricGaussian { sigma, grid: up(grid) }
        }
        NoiseLaw::Several { ref laws } => {
            NoiseLaw::Several { laws: laws.iter().map(coarser).collect() }
        }
        ref other => panic!("{other:?}"),
    }
}

fn off_the_grid<T: Verifiable>(release: Release<T>) {
    verify_consistency(&release).unwrap();
    let certificate = release.certificate().clone();
    let mut statement = certificate.statement().clone();
    statement.noise = coarser(&statement.noise);
    let forged = authority!().certificate(statement, certificate.guarantee().clone());
    forged.verify_consistency().expect("the certificate alone holds together");
    let forged = Release::certified(release.into_parts().0, forged);
    let error = verify_consistency(&forged).unwrap_err().to_string();
    // Or what rounding to it moves is not paid for.
    assert!(error.contains("grid") || error.contains("sensitivity"), "{error}");
}

#[test]
fn numbers_lie_on_the_grid_that_is_stated() {
    let shape = WishartShape::LeastSpectralNorm;
    let wishart = WishartCovariance::calibrate(3, add(), budget(1.0), shape).unwrap();
    off_the_grid(wishart.release(&[0.5; 30], &mut secret()).unwrap());
    let sketch = JlCovariance::calibrate(3, 20, add(), budget(1.0)).unwrap();
    off_the_grid(sketch.release(&[0.5; 30], &mut secret()).unwrap());
    let zero = Adjacency::ZeroRow { bound: bound(1.0) };
    for (noise, tree) in [
        (BlockNoise::SymmetricGaussian, false),
        (BlockNoise::SymmetricGaussian, true),
        (BlockNoise::Wishart, false),
        (BlockNoise::Wishart, true),
    ] {
        let schedule = match tree {
            false => Schedule::Block { noise, keep: Keep::Blocks },
            true => Schedule::Tree { noise },
        };
        let mut config = StreamConfig::new(3, 8, zero, budget(1.0));
        (config.block, config.schedule) = (2, schedule);
        let mut stream = WindowMechanism::calibrate(config).unwrap().stream(secret());
        stream.push(&[0.3; 3 * 19]).unwrap();
        off_the_grid(stream.release().unwrap());
    }
}

#[test]
fn wishart_noise_has_more_freedom_than_dimensions() {
    let shape = WishartShape::LeastSpectralNorm;
    let mechanism = WishartCovariance::calibrate(3, add(), budget(1.0), shape).unwrap();
    let release = mechanism.release(&[0.5; 30], &mut secret()).unwrap();
    let certificate = release.certificate().clone();
    let Some(&Profile::Wishart { dof, bound, scale, change, .. }) =
        certificate.guarantee().profile()
    else {
        panic!()
    };
    let of = |dim, dof| {
        let profile = Profile::Wishart { dim, dof, bound, scale, change };
        authority!().proven(add(), budget(1.0), profile, Theorem::CovarianceWishart)
    };
    // The profile of a smaller matrix.
    refused(release, certificate.statement().clone(), of(2, dof).unwrap());
    for dof in [1, 3, 4] {
        let error = of(3, dof).unwrap_err().to_string();
        assert!(error.contains("dof"), "{error}");
    }
}

#[test]
fn windows_count_every_matrix_that_a_row_is_in() {
    let zero = Adjacency::ZeroRow { bound: bound(1.0) };
    let gaussian = BlockNoise::SymmetricGaussian;
    let sketches = BlockNoise::JohnsonLindenstrauss { rows: 5 };
    for (schedule, grows) in [
        (Schedule::Block { noise: gaussian, keep: Keep::Blocks }, false),
        (Schedule::Block { noise: sketches, keep: Keep::Blocks }, false),
        (Schedule::Tree { noise: gaussian }, true),
        (Schedule::Tree { noise: sketches }, true),
        (Schedule::Tree { noise: BlockNoise::Wishart }, true),
        (Schedule::Factorised { horizon: 40 }, true),
        (Schedule::Decayed { decay: 0.5, horizon: 40 }, false),
    ] {
        let mut config = StreamConfig::new(2, 8, zero, budget(1.0));
        (config.block, config.schedule) = (2, schedule);
        let mut stream = WindowMechanism::calibrate(config).unwrap().stream(secret());
        stream.push(&[0.3; 2 * 20]).unwrap();
        let release = stream.release().unwrap();
        agrees(&release);
        if grows {
            // A window of as many blocks needs more.
            let certificate = release.certificate().clone();
            let mut statement = certificate.statement().clone();
            statement.public.insert("window".to_owned(), PublicValue::from(64u64));
            refused(release, statement, certificate.guarantee().clone());
        }
    }
}

fn data(m: usize, n: usize) -> Vec<f64> {
    (0..m * n).map(|i| ((i * 37) % 19) as f64 / 10.0).collect()
}

#[test]
fn ranges_count_the_shift_of_a_row() {
    let (m, n) = (12, 15);
    let (data, shift) = (data(m, n), bound(1.0));
    let a = RowsView::f64(m, n, &data).unwrap();
    let setting = Setting::new((m, n), 2, 3, shift, bound(10.0)).unwrap();
    let mechanism = RangeFinder::calibrate(setting, budget(1.0)).unwrap();
    let release = mechanism.release(&a, FreshSeed::draw().unwrap(), &mut secret()).unwrap();
    agrees(&release);
    let certificate = release.certificate().clone();
    let Some(&Profile::ChiMixtureGaussian { k, entry_shift, sigma, later_mu }) =
        certificate.guarantee().profile()
    else {
        panic!("a mixture")
    };
    let entry_shift = L2Sensitivity::new(0.9 * entry_shift.get()).unwrap();
    let profile = Profile::ChiMixtureGaussian { k, entry_shift, sigma, later_mu };
    let adjacency = Adjacency::RowShift { l2: shift };
    // Nobody gets as far as a certificate.
    let short = authority!().proven(adjacency, budget(1.0), profile, Theorem::RangeFinder);
    assert!(short.unwrap_err().to_string().contains("entry_shift"));
}

#[test]
fn projections_carry_the_noise_that_their_basis_needs() {
    let (m, n) = (12, 15);
    let data = data(m, n);
    let a = RowsView::f64(m, n, &data).unwrap();
    let setting = Setting::new((m, n), 2, 3, bound(1.0), bound(10.0)).unwrap();
    let low_rank = |epsilon: f64| {
        let options = PfpOptions::default();
        let mechanism = Pfp::calibrate(setting, budget(epsilon), options).unwrap();
        mechanism.release(&a, FreshSeed::draw().unwrap(), &mut secret()).unwrap()
    };
    let basis = Mat::from_fn(m, 1, |i, _| if i == 0 { 1.0 } else { 0.1 });
    let basis = PublicBasis::declared(basis, "an axis").unwrap();
    let projected = |epsilon: f64| {
        let spread = Spread::Isotropic;
        let mechanism = BasisProjection::calibrate(setting, budget(epsilon), spread).unwrap();
        mechanism.release(&a, &basis, &mut secret()).unwrap()
    };
    for (strong, weak) in [(low_rank(0.5), low_rank(50.0)), (projected(0.5), projected(50.0))] {
        agrees(&strong);
        agrees(&weak);
        // The little noise of the one under the certificate of the other.
        let certificate = strong.certificate().clone();
        refused(weak, certificate.statement().clone(), certificate.guarantee().clone());
    }
}
