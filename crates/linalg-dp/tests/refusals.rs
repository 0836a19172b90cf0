//! What is refused, and that a refusal loses and hides nothing.

use dp_core::authority;
use dp_core::release_file::{decode, encode};
use dp_core::{
    Adjacency, Budget, Certificate, FreshSeed, L2Sensitivity, NoiseRng, Profile, PublicSeed,
    PublicValue, Release, calibrate,
};
use faer::Mat;
use linalg_dp::Error;
use linalg_dp::covariance::NoisyPower;
use linalg_dp::covariance::{GaussianCovariance, JlCovariance};
use linalg_dp::low_rank::{
    BasisProjection, Pfp, PfpOptions, PublicBasis, RangeFinder, Setting, Spread, randomized_svd,
};
use linalg_dp::window::{
    BlockNoise, Keep, Pace, PrivateStream, Schedule, StreamConfig, WindowCovariance,
    WindowMechanism,
};
use sketch::rows::RowsView;

fn bound<B: TryFrom<f64, Error = dp_core::Error>>(b: f64) -> B {
    B::try_from(b).unwrap()
}

fn add() -> Adjacency {
    Adjacency::AddRemoveRow { bound: bound(1.0) }
}

fn rng() -> NoiseRng {
    NoiseRng::deterministic_not_private(3)
}

fn config(schedule: Schedule) -> StreamConfig {
    StreamConfig {
        dim: 2,
        window: 6,
        block: 2,
        pace: Pace::Rows,
        adjacency: Adjacency::ZeroRow { bound: bound(1.0) },
        budget: Budget::new(1.0, 1e-6).unwrap(),
        schedule,
    }
}

#[test]
fn the_last_window_before_the_horizon_can_be_released() {
    for schedule in
        [Schedule::Factorised { horizon: 4 }, Schedule::Decayed { decay: 0.5, horizon: 4 }]
    {
        for pace in [Pace::Rows, Pace::Clock] {
            let config = StreamConfig { pace, ..config(schedule) };
            let mut stream = WindowMechanism::calibrate(config).unwrap().stream(rng());
            let push = |stream: &mut PrivateStream, rows: usize| {
                let pushed = stream.push(&vec![0.3; 2 * rows]);
                match pace {
                    Pace::Clock => pushed.and_then(|_| stream.tick()),
                    Pace::Rows => pushed.map(|_| ()),
                }
            };
            for _ in 0..4 {
                push(&mut stream, 2).unwrap();
            }
            let last = stream.release().unwrap();
            for rows in [1, 2, 2] {
                let refused = push(&mut stream, rows).unwrap_err().to_string();
                assert!(refused.contains("horizon"), "{refused}");
                assert_eq!(stream.release().unwrap(), last, "{schedule:?} {pace:?}");
            }
            assert_eq!((stream.blocks_closed(), stream.next_row()), (4, 8));
        }
        // A call that would pass the horizon adds no row.
        let mut stream = WindowMechanism::calibrate(config(schedule)).unwrap().stream(rng());
        assert!(stream.push(&[0.3; 2 * 9]).is_err());
        assert_eq!(stream.next_row(), 0);
        assert_eq!(stream.push(&[0.3; 2 * 8]).unwrap(), 4);
        stream.release().unwrap();
    }
}

#[test]
fn a_clock_of_enormous_blocks_is_counted_and_then_refused() {
    let gaussian = BlockNoise::SymmetricGaussian;
    for schedule in [
        Schedule::Block { noise: gaussian, keep: Keep::Blocks },
        Schedule::Block { noise: BlockNoise::JohnsonLindenstrauss { rows: 2 }, keep: Keep::Blocks },
    ] {
        let size = 1u64 << 63;
        let config =
            StreamConfig { window: size, block: size, pace: Pace::Clock, ..config(schedule) };
        let mut stream = WindowMechanism::calibrate(config).unwrap().stream(rng());
        stream.push(&[0.5, 0.5]).unwrap();
        stream.tick().unwrap();
        assert_eq!(stream.next_row(), size);
        assert_eq!(stream.release().unwrap().payload().span().end_row, size);
        assert!(matches!(stream.tick(), Err(Error::Core(_))));
        assert!(matches!(stream.push(&[0.5, 0.5]), Err(Error::Core(_))));
        stream.release().unwrap();
    }
}

#[test]
fn noise_that_the_sums_cannot_hold_is_refused() {
    let tiny = Budget::new(1e-37, 1e-38).unwrap();
    let named = |refused: Error| {
        let text = refused.to_string();
        assert!(text.contains("sigma") && text.contains("raise epsilon or delta"), "{text}");
    };
    named(GaussianCovariance::calibrate(3, add(), tiny).unwrap_err());
    named(NoisyPower::calibrate(3, 2, 2, add(), tiny).unwrap_err());
    let keep = Keep::Blocks;
    let schedule = Schedule::Block { noise: BlockNoise::SymmetricGaussian, keep };
    named(
        WindowMechanism::calibrate(StreamConfig { budget: tiny, ..config(schedule) }).unwrap_err(),
    );
    // What is accepted has the size that it states; with a grid far too fine samples would be clamped.
    let (mut accepted, mut refused) = (0, 0);
    for epsilon in [1e-27, 1e-25, 1e-20, 1e-10, 1e-3] {
        for delta in [1e-30, 1e-27, 1e-24, 1e-20, 1e-12] {
            let budget = Budget::new(epsilon, delta).unwrap();
            let m = match GaussianCovariance::calibrate(2, add(), budget) {
                Ok(m) => m,
                Err(_) => {
                    refused += 1;
                    continue;
                }
            };
            accepted += 1;
            let mut rng = rng();
            let mut square = 0.0;
            for _ in 0..400 {
                let release = m.release(&[0.6, 0.8], &mut rng).unwrap();
                square += (release.payload().raw()[(0, 0)] / m.sigma().get()).powi(2) / 400.0;
            }
            // Seven standard errors of 400 squares.
            assert!((square - 1.0).abs() < 7.0 * (2.0f64 / 400.0).sqrt(), "{budget}: {square}");
        }
    }
    assert!(accepted >= 5 && refused >= 5, "{accepted} {refused}");
}

/// The budget at which the search for noise lands just below a power of two.
fn just_below(power: f64, sigma: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.05f64, 20.0f64);
    for _ in 0..200 {
        let mid = (low * high).sqrt();
        if sigma(mid) < power { high = mid } else { low = mid }
    }
    high
}

#[test]
fn calibrations_meet_budgets_just_below_a_power_of_two() {
    let budget = |epsilon| Budget::new(epsilon, 1e-6).unwrap();
    for d in [2, 100, 300] {
        GaussianCovariance::calibrate(d, add(), budget(1.060_701_862_435_501_6)).unwrap();
        // The bound of rounded rows is in the profile.
        let made = JlCovariance::calibrate(d, 8, add(), budget(1.0)).unwrap();
        let Some(&Profile::JlMechanism { bound: clip, .. }) = made.guarantee().profile() else {
            panic!("{:?}", made.guarantee())
        };
        let change = dp_core::profile::RowChange::AddRemove;
        let rough =
            |bound| move |e| calibrate::symmetric_gaussian(budget(e), bound, change).unwrap().get();
        for power in [2.0, 4.0, 16.0] {
            for near in [just_below(power, rough(clip)), just_below(power, rough(bound(1.0)))] {
                GaussianCovariance::calibrate(d, add(), budget(near)).unwrap();
                let m = NoisyPower::calibrate(d, 2, 1, add(), budget(near)).unwrap();
                assert!(m.sigma().get() >= 0.99 * power);
            }
        }
    }
    for (m, n, k) in [(400, 4000, 20), (40, 60, 5)] {
        let setting = Setting::new((m, n), k - 4, 4, bound(1.0), bound(1.0)).unwrap();
        RangeFinder::calibrate(setting, budget(1.379_841_569_143_386_5)).unwrap();
        let entry = L2Sensitivity::new((1.0 / (k as f64).sqrt()).next_up()).unwrap();
        let rough =
            |e| calibrate::chi_mixture_gaussian(budget(e), k as u64, entry, 0.0).unwrap().get();
        for power in [2.0, 4.0, 8.0] {
            let near = budget(just_below(power, rough));
            RangeFinder::calibrate(setting, near).unwrap();
            Pfp::calibrate(setting, near, PfpOptions::default()).unwrap();
        }
    }
}

#[test]
fn extreme_shapes_are_refused_and_do_not_wrap() {
    let setting = |rank, oversampling, shift, row| {
        Setting::new((50, 400), rank, oversampling, bound(shift), bound(row))
    };
    for (rank, oversampling) in [(2, usize::MAX), (2, usize::MAX - 1), (49, usize::MAX - 48)] {
        assert!(setting(rank, oversampling, 1.0, 1.0).is_err(), "{oversampling}");
    }
    for (shift, row) in [(1e-200, 1e-200), (1e200, 1e200), (1.0, 1e-310), (f64::MIN_POSITIVE, 1.0)]
    {
        assert!(setting(2, 3, shift, row).is_err(), "{shift} {row}");
    }
    let data = [0.5; 12];
    let a = RowsView::f64(3, 4, &data).unwrap();
    for (rank, oversampling) in [(1, usize::MAX), (usize::MAX, 1), (usize::MAX, usize::MAX), (0, 3)]
    {
        assert!(randomized_svd(&a, rank, oversampling, 1, PublicSeed::new(1)).is_err());
    }
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let m = JlCovariance::calibrate(3, 4, add(), budget).unwrap();
    let release = m.release(&[0.1; 3], &mut rng()).unwrap();
    let sketch = release.payload().sketch().unwrap();
    for x in [&[][..], &[1.0; 2], &[1.0; 4]] {
        assert!(matches!(sketch.directional(x, m.lift()), Err(Error::Shape { .. })));
    }
    let nan = sketch.directional(&[f64::NAN; 3], m.lift());
    assert!(matches!(nan, Err(Error::NotFinite { .. })));
}

#[test]
fn a_projection_names_why_its_basis_is_public() {
    let (m, n) = (12, 15);
    let data: Vec<f64> = (0..m * n).map(|i| ((i * 31) % 17) as f64 / 40.0).collect();
    let a = RowsView::f64(m, n, &data).unwrap();
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let setting = Setting::new((m, n), 2, 2, bound(1.0), bound(2.0)).unwrap();
    let range = RangeFinder::calibrate(setting, budget).unwrap();
    let seed = FreshSeed::reproducible_not_private(5);
    let range = range.release(&a, seed, &mut rng()).unwrap();
    let law = range.certificate().statement().public.get("law of Omega").cloned();
    assert_eq!(law, Some(PublicValue::from("real Gaussian, drawn from 53-bit uniforms")));
    let projection = BasisProjection::calibrate(setting, budget, Spread::Isotropic).unwrap();
    let axes = Mat::from_fn(m, 2, |i, j| f64::from(u8::from(i == j)));
    let source = |basis: &PublicBasis| {
        let release = projection.release(&a, basis, &mut rng()).unwrap();
        let statement = release.certificate().statement();
        match &statement.public["basis_source"] {
            PublicValue::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        }
    };
    let stated = source(&PublicBasis::from_range(&range).unwrap());
    assert!(stated.contains("range finder") && stated.contains("epsilon"), "{stated}");
    let stated = source(&PublicBasis::declared(axes.clone(), "the first two axes").unwrap());
    assert_eq!(stated, "declared public by the caller: the first two axes");
    for reason in ["", "   ", "12", &"x".repeat(201)] {
        assert!(PublicBasis::declared(axes.clone(), reason).is_err(), "{reason:?}");
    }
    let nan = Mat::from_fn(m, 1, |_, _| f64::NAN);
    assert!(matches!(PublicBasis::declared(nan, "a reason"), Err(Error::NotFinite { .. })));
    // What is known about the noise behind the basis is known about the projection.
    let basis = PublicBasis::from_range(&range).unwrap();
    let release = projection.release(&a, &basis, &mut NoiseRng::from_os().unwrap()).unwrap();
    assert!(release.certificate().require_secret_randomness().is_err());
}

#[test]
fn certificates_say_what_became_of_longer_rows() {
    let said = |certificate: &Certificate| {
        let text = certificate.statement().public.get("rows over the bound").cloned();
        assert_eq!(text, Some(PublicValue::from("scaled to it, uncounted")));
    };
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let m = GaussianCovariance::calibrate(2, add(), budget).unwrap();
    said(m.release(&[9.0, 9.0], &mut rng()).unwrap().certificate());
    let m = JlCovariance::calibrate(2, 3, add(), budget).unwrap();
    said(m.release(&[9.0, 9.0], &mut rng()).unwrap().certificate());
    let m = NoisyPower::calibrate(2, 1, 2, add(), budget).unwrap();
    said(m.release(&[9.0, 9.0], PublicSeed::new(1), &mut rng()).unwrap().certificate());
    let mut stream = WindowMechanism::calibrate(config(Schedule::Factorised { horizon: 3 }))
        .unwrap()
        .stream(rng());
    stream.push(&[9.0; 4]).unwrap();
    said(stream.release().unwrap().certificate());
    let setting = Setting::new((8, 9), 1, 2, bound(1.0), bound(1.0)).unwrap();
    let data = [3.0; 72];
    let pfp = Pfp::calibrate(setting, budget, PfpOptions::default()).unwrap();
    let seed = FreshSeed::reproducible_not_private(5);
    let release = pfp.release(&RowsView::f64(8, 9, &data).unwrap(), seed, &mut rng());
    said(release.unwrap().certificate());
}

#[test]
fn a_window_s_noise_must_be_that_of_its_certificate() {
    let schedule = Schedule::Block { noise: BlockNoise::SymmetricGaussian, keep: Keep::Blocks };
    let mut stream = WindowMechanism::calibrate(config(schedule)).unwrap().stream(rng());
    stream.push(&[0.3; 8]).unwrap();
    let release = stream.release().unwrap();
    assert!(decode::<WindowCovariance, Certificate>(&encode(&release).unwrap()).is_ok());
    // The same matrix under the certificate of a stream with a tenth of the noise.
    let low = Budget::new(20.0, 1e-6).unwrap();
    let mut other = WindowMechanism::calibrate(StreamConfig { budget: low, ..config(schedule) })
        .unwrap()
        .stream(rng());
    other.push(&[0.3; 8]).unwrap();
    let certificate = other.release().unwrap().into_parts().1;
    let (statement, guarantee) = (certificate.statement().clone(), certificate.guarantee().clone());
    let mut statement = statement;
    let noise = &release.certificate().statement().public["release noise"];
    statement.public.insert("release noise".to_owned(), noise.clone());
    let mixed: Release<WindowCovariance> =
        Release::certified(release.into_parts().0, authority!().certificate(statement, guarantee));
    let refused = decode::<WindowCovariance, Certificate>(&encode(&mixed).unwrap());
    assert!(refused.unwrap_err().to_string().contains("noise law"));
}
