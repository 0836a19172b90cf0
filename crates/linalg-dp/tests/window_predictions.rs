//! Windows as mechanisms: what they predict, and that a release in one call is that of a stream.

use dp_core::mechanism::Mechanism;
use dp_core::{Adjacency, Budget, NoiseRng, NormBound, SquaredNorm};
use linalg_dp::window::{BlockNoise, Keep, Pace, Schedule, StreamConfig, WindowMechanism};

fn config(schedule: Schedule) -> StreamConfig {
    let zero = Adjacency::ZeroRow { bound: NormBound::new(1.0).unwrap() };
    let mut config = StreamConfig::new(2, 14, zero, Budget::new(1.0, 1e-6).unwrap());
    (config.block, config.schedule) = (2, schedule);
    config
}

fn schedules() -> Vec<Schedule> {
    let sketches = BlockNoise::JohnsonLindenstrauss { rows: 30 };
    let noises = [BlockNoise::SymmetricGaussian, BlockNoise::Wishart, sketches];
    let blocks = noises.map(|noise| Schedule::Block { noise, keep: Keep::Blocks });
    let trees = noises.map(|noise| Schedule::Tree { noise });
    let horizon = 40;
    let sums = [Schedule::Factorised { horizon }, Schedule::Decayed { decay: 0.5, horizon }];
    [blocks.as_slice(), &trees, &sums].concat()
}

/// Over 300 streams without data, and over every end of a window in a period of the tree: mean squares of 1,200
/// dependent errors of at least three degrees each are within a tenth of what is expected (six standard errors);
/// a window of half as many blocks is not.
#[test]
fn windows_err_as_much_as_they_predict() {
    for schedule in schedules() {
        let mechanism = WindowMechanism::calibrate(config(schedule)).unwrap();
        let nothing = SquaredNorm::new(1e-300).unwrap();
        let expected = mechanism.predict(nothing).unwrap().root_mean_square;
        let (mut sum, mut count) = (0.0, 0.0);
        for seed in 0..300 {
            let rng = NoiseRng::deterministic_not_private(seed);
            let mut stream = mechanism.stream(rng);
            stream.push(&[0.0; 2 * 2 * 7]).unwrap();
            for _ in 0..4 {
                stream.push(&[0.0; 2 * 2]).unwrap();
                let error = stream.release().unwrap().payload().covariance().unbiased();
                sum += error.norm_l2().powi(2);
                count += 1.0;
            }
        }
        let found = f64::sqrt(sum / count);
        assert!((found / expected - 1.0).abs() < 0.1, "{schedule:?}: {found} for {expected}");
    }
}

#[test]
fn a_release_in_one_call_is_that_of_a_stream() {
    let rows: Vec<f64> = (0..2 * 33).map(|i| f64::from(i % 7) / 10.0).collect();
    for schedule in schedules() {
        for pace in [Pace::Rows, Pace::Clock] {
            let mut config = config(schedule);
            (config.pace, config.block) = (pace, if pace == Pace::Clock { 40 } else { 2 });
            config.window = config.window.max(config.block);
            let Ok(mechanism) = WindowMechanism::calibrate(config) else {
                panic!("{schedule:?} {pace:?}")
            };
            let mut stream = mechanism.stream(NoiseRng::deterministic_not_private(4));
            stream.push(&rows).unwrap();
            if pace == Pace::Clock {
                stream.tick().unwrap();
            }
            let mut rng = NoiseRng::deterministic_not_private(4);
            assert_eq!(mechanism.release(&rows, &mut rng).unwrap(), stream.release().unwrap());
            // A budget given beside a configuration takes the place of its own.
            let other = Budget::new(2.0, 1e-6).unwrap();
            let again: WindowMechanism = Mechanism::calibrate(config, other).unwrap();
            assert_eq!(again.guarantee().budget(), other);
        }
    }
}
