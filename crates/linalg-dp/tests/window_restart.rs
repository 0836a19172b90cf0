//! A restarted stream is a new one: nothing of the first goes into it.

use dp_core::{Adjacency, Bound, Budget, NoiseRng};
use linalg_dp::window::{
    BlockNoise, Keep, Pace, PrivateStream, PruneRule, Schedule, StreamConfig, WindowCovariance,
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
fn run(stream: &mut PrivateStream, seed: u64) -> Vec<WindowCovariance> {
    let mut rng = NoiseRng::deterministic_not_private(seed);
    let mut seen = Vec::new();
    for t in 0..14 {
        if stream.push(&[0.1 * f64::from(t % 7), -0.4], &mut rng).expect("accepted") == 1 {
            seen.push(stream.release().expect("a block has closed").into_parts().0);
        }
    }
    assert_eq!(seen.len(), 4);
    seen
}

#[test]
fn a_restarted_stream_publishes_what_a_new_one_does() {
    for schedule in schedules() {
        let config = StreamConfig {
            dim: 2,
            window: 9,
            block: 3,
            pace: Pace::Rows,
            adjacency: Adjacency::ZeroRow { bound: Bound::new(1.0).expect("positive") },
            budget: Budget::new(1.0, 1e-2).expect("valid"),
            schedule,
        };
        let mut first = PrivateStream::new(config).expect("calibrates");
        run(&mut first, 1);
        let mut again = first.restarted().expect("calibrated before");
        assert_eq!((again.blocks_closed(), again.next_row()), (0, 0), "{schedule:?}");
        assert!(again.release().is_err(), "{schedule:?}: nothing to release yet");
        assert_eq!(again.guarantee(), first.guarantee(), "{schedule:?}");
        let mut fresh = PrivateStream::new(config).expect("calibrates");
        assert_eq!(run(&mut again, 2), run(&mut fresh, 2), "{schedule:?}");
    }
}
