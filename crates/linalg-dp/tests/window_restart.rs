//! Streams of one calibration: nothing of one goes into another.

use dp_core::{Adjacency, Budget, NoiseRng, NormBound};
use linalg_dp::window::{
    BlockNoise, Keep, Pace, PrivateStream, PruneRule, Schedule, StreamConfig, WindowCovariance,
    WindowMechanism,
};

fn schedules() -> Vec<Schedule> {
    let histogram = Keep::Histogram { rho: 0.3, rule: PruneRule::Update };
    let noises = [BlockNoise::SymmetricGaussian, BlockNoise::JohnsonLindenstrauss { rows: 6 }];
    let blocks = |keep| noises.map(|noise| Schedule::Block { noise, keep });
    [blocks(Keep::Blocks), blocks(histogram), noises.map(|noise| Schedule::Tree { noise })]
        .concat()
        .into_iter()
        .chain([Schedule::Factorised { horizon: 8 }, Schedule::Decayed { decay: 0.5, horizon: 8 }])
        .collect()
}

/// Everything that a stream of 14 rows publishes; the last two wait in an open block.
fn run(stream: &mut PrivateStream) -> Vec<WindowCovariance> {
    let mut seen = Vec::new();
    for t in 0..14 {
        if stream.push(&[0.1 * f64::from(t % 7), -0.4]).expect("accepted") == 1 {
            seen.push(stream.release().expect("a block has closed").into_parts().0);
        }
    }
    assert_eq!(seen.len(), 4);
    seen
}

#[test]
fn the_second_stream_publishes_what_a_first_one_does() {
    for schedule in schedules() {
        let config = StreamConfig {
            dim: 2,
            window: 9,
            block: 3,
            pace: Pace::Rows,
            adjacency: Adjacency::ZeroRow { bound: NormBound::new(1.0).expect("positive") },
            budget: Budget::new(1.0, 1e-2).expect("valid"),
            schedule,
        };
        let rng = |seed| NoiseRng::deterministic_not_private(seed);
        let mechanism = WindowMechanism::calibrate(config).expect("calibrates");
        run(&mut mechanism.stream(rng(1)));
        let mut again = mechanism.stream(rng(2));
        assert_eq!((again.blocks_closed(), again.next_row()), (0, 0), "{schedule:?}");
        assert!(again.release().is_err(), "{schedule:?}: nothing to release yet");
        assert_eq!(again.guarantee(), mechanism.guarantee(), "{schedule:?}");
        let fresh = WindowMechanism::calibrate(config).expect("calibrates");
        assert_eq!(run(&mut again), run(&mut fresh.stream(rng(2))), "{schedule:?}");
    }
}
