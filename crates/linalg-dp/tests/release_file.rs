//! Release files of covariances, low-rank approximations, range sketches and windows.

use dp_core::release_file::{Kind, decode, encode, load, open, read_summary, write};
use dp_core::{
    Adjacency, Budget, Certificate, FreshSeed, NoiseRng, NoiseScale, Probability, Release,
};
use linalg_dp::analysis::pca;
use linalg_dp::covariance::{
    CovarianceMechanism, GaussianCovariance, JlCovariance, PrivateCovariance,
};
use linalg_dp::low_rank::{
    BasisProjection, Pfp, PfpOptions, PrivateLowRank, Pruning, PublicBasis, PublishedPfp, Range,
    RangeFinder, Setting, Spread,
};
use linalg_dp::window::{
    BlockNoise, Keep, Pace, PruneRule, Schedule, StreamConfig, WindowCovariance, WindowMechanism,
};
use sketch::rows::RowsView;

fn bound<B: TryFrom<f64, Error = dp_core::Error>>(b: f64) -> B {
    B::try_from(b).unwrap()
}

fn rng() -> NoiseRng {
    NoiseRng::deterministic_not_private(21)
}

fn rows(n: usize, d: usize) -> Vec<f64> {
    (0..n * d).map(|i| ((i * 7919 + 13) % 101) as f64 / 101.0 / d as f64).collect()
}

fn add_remove() -> Adjacency {
    Adjacency::AddRemoveRow { bound: bound(1.0) }
}

fn budget() -> Budget {
    Budget::new(1.0, 1e-6).unwrap()
}

#[test]
fn covariances_come_back_and_answer_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("covariance.dps");
    let (d, data) = (5, rows(40, 5));
    let mechanisms: [Box<dyn CovarianceMechanism>; 2] = [
        Box::new(GaussianCovariance::calibrate(d, add_remove(), budget()).unwrap()),
        Box::new(JlCovariance::calibrate(d, 30, add_remove(), budget()).unwrap()),
    ];
    for mechanism in mechanisms {
        let release = mechanism.release(&data, &mut rng()).unwrap();
        write(&path, &release).unwrap();
        let back: Release<PrivateCovariance> = load::<_, Certificate>(&path).unwrap();
        assert_eq!(back.clone().map(|p| p), release);
        assert_eq!(read_summary(&path).unwrap().kind, Kind::Covariance);
        let p = Probability::new(0.01).unwrap();
        let bounds = |r: &Release<PrivateCovariance>| r.payload().spectral_error(p).unwrap();
        assert_eq!(bounds(&back).to_bits(), bounds(&release).to_bits());
        let top = |r| pca(r, 2).unwrap();
        assert_eq!(top(&back).payload().directions(), top(&release).payload().directions());
        let along = |r: &Release<PrivateCovariance>| {
            r.payload()
                .sketch()
                .map(|s| s.directional(&[1.0; 5], NoiseScale::new(1.0).unwrap()).unwrap())
        };
        assert_eq!(along(&back), along(&release));
    }
}

#[test]
fn low_rank_releases_come_back_and_answer_the_same() {
    let (m, n) = (30, 45);
    let data = rows(m, n);
    let view = RowsView::f64(m, n, &data).unwrap();
    let setting = Setting::new((m, n), 2, 3, bound(0.1), bound(1.0)).unwrap();
    let seed = || FreshSeed::reproducible_not_private(4);
    let range =
        RangeFinder::calibrate(setting, budget()).unwrap().release(&view, seed(), &mut rng());
    let range = range.unwrap();
    let back = decode::<Range, Certificate>(&encode(&range).unwrap()).unwrap();
    assert_eq!(back.clone().map(|p| p), range);
    assert_eq!(back.payload().basis().unwrap(), range.payload().basis().unwrap());

    let basis = PublicBasis::from_range(&range).unwrap();
    let projection = BasisProjection::calibrate(setting, budget(), Spread::LeastTrace).unwrap();
    let pfp = Pfp::calibrate(setting, budget(), PfpOptions::default()).unwrap();
    let unit = Setting::new((m, n), 2, 3, bound(1.0), bound(1.0)).unwrap();
    let published = PublishedPfp::new(unit, budget(), Pruning::None).unwrap();
    let releases = [
        projection.release(&view, &basis, &mut rng()).unwrap(),
        pfp.release(&view, seed(), &mut rng()).unwrap(),
        published.release(&view, seed(), &mut rng()).unwrap(),
    ];
    for release in releases {
        let bytes = encode(&release).unwrap();
        assert_eq!(open(&bytes).unwrap().summary.kind, Kind::LowRank);
        let back = decode::<PrivateLowRank, Certificate>(&bytes).unwrap();
        assert_eq!(back.clone().map(|p| p), release);
        assert_eq!(back.payload().shrunk().unwrap(), release.payload().shrunk().unwrap());
        assert_eq!(back.payload().noise_frobenius(), release.payload().noise_frobenius());
    }
}

fn config(schedule: Schedule) -> StreamConfig {
    StreamConfig {
        dim: 3,
        window: 12,
        block: 4,
        pace: Pace::Rows,
        adjacency: Adjacency::ZeroRow { bound: bound(1.0) },
        budget: budget(),
        schedule,
    }
}

#[test]
fn windows_come_back_and_answer_the_same() {
    let histogram = Keep::Histogram { rho: 0.3, rule: PruneRule::Update };
    let schedules = [
        Schedule::Block { noise: BlockNoise::SymmetricGaussian, keep: Keep::Blocks },
        Schedule::Block { noise: BlockNoise::SymmetricGaussian, keep: histogram },
        Schedule::Block {
            noise: BlockNoise::JohnsonLindenstrauss { rows: 20 },
            keep: Keep::Blocks,
        },
        Schedule::Tree { noise: BlockNoise::SymmetricGaussian },
        Schedule::Tree { noise: BlockNoise::JohnsonLindenstrauss { rows: 20 } },
        Schedule::Factorised { horizon: 16 },
        Schedule::Decayed { decay: 0.5, horizon: 16 },
    ];
    let mut releases = Vec::new();
    for schedule in schedules {
        let mut stream = WindowMechanism::calibrate(config(schedule)).unwrap().stream(rng());
        stream.push(&rows(21, 3)).unwrap();
        releases.push(stream.release().unwrap());
    }
    for release in releases {
        let bytes = encode(&release).unwrap();
        assert_eq!(open(&bytes).unwrap().summary.kind, Kind::Window);
        let back = decode::<WindowCovariance, Certificate>(&bytes).unwrap();
        assert_eq!(back.clone().map(|p| p), release);
        let p = Probability::new(0.01).unwrap();
        let (a, b) = (back.payload(), release.payload());
        assert_eq!(a.spectral_error(p).unwrap(), b.spectral_error(p).unwrap());
        assert_eq!(a.covariance().positive().unwrap(), b.covariance().positive().unwrap());
        assert_eq!(a.directional_sd().unwrap(), b.directional_sd().unwrap());
        assert_eq!(a.span(), b.span());
    }
}
