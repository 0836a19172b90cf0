//! Rows that are given again to a journalled stream are compared with what its blocks were made of.

use dp_core::{Adjacency, Budget, NoiseRng, NormBound};
use linalg_dp::Error;
use linalg_dp::window::{Pace, PrivateStream, StreamConfig, WindowCovariance, WindowMechanism};
use std::path::Path;

const D: usize = 3;

fn mechanism(pace: Pace) -> WindowMechanism {
    let adjacency = Adjacency::ZeroRow { bound: NormBound::new(2.0).expect("positive") };
    let budget = Budget::new(1.0, 1e-6).expect("valid");
    let config = StreamConfig::new(D, 8, adjacency, budget);
    WindowMechanism::calibrate(StreamConfig { block: 4, pace, ..config }).expect("calibrates")
}

fn rng(seed: u64) -> NoiseRng {
    NoiseRng::deterministic_not_private(seed)
}

fn rows(n: usize) -> Vec<f64> {
    (0..n * D).map(|i| ((i * 37) % 19) as f64 / 19.0 - 0.5).collect()
}

fn refused<T: core::fmt::Debug>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::Unusable { what: "rows", .. }))
}

/// A stream of four closed blocks, resumed.
fn resumed(path: &Path) -> PrivateStream {
    let mut stream = mechanism(Pace::Rows).stream_with_journal(path, "words", rng(1)).expect("new");
    stream.push(&rows(16)).expect("accepted");
    drop(stream);
    WindowMechanism::resume(path, rng(2)).expect("sound")
}

#[test]
fn the_same_rows_change_nothing_and_later_ones_go_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    let mut stream = resumed(&path);
    assert_eq!((stream.note(), stream.next_row()), ("words", 16));
    let (before, journal) =
        (stream.release().expect("closed"), std::fs::read(&path).expect("read"));
    for first in [0usize, 1, 3, 4] {
        stream.rewind(first as u64).expect("a block before");
        // In pieces of any size.
        for piece in rows(16)[first * 4 * D..].chunks(5 * D) {
            assert_eq!(stream.push(piece).expect("the same"), 0);
        }
        assert_eq!(stream.next_row(), 16, "from {first}");
        assert_eq!(stream.release().expect("closed"), before);
        assert!(std::fs::read(&path).expect("read") == journal, "nothing is written");
    }
    // Across the end of what closed: as the same stream without a stop.
    stream.rewind(2).expect("a block before");
    assert_eq!(stream.push(&rows(20)[2 * 4 * D..]).expect("accepted"), 1);
    let found = stream.release().expect("closed").into_parts().0;
    let mut whole = mechanism(Pace::Rows).stream(rng(3));
    whole.push(&rows(20)).expect("accepted");
    let other = whole.release().expect("closed").into_parts().0;
    assert_eq!((found.span(), found.blocks()), (other.span(), other.blocks()));
    let sd = found.directional_sd().expect("known") + other.directional_sd().expect("known");
    let first = |window: &WindowCovariance| window.covariance().unbiased()[(0, 0)];
    let apart = (first(&found) - first(&other)).abs();
    assert!(apart < 8.0 * sd, "{apart} at {sd}");
}

#[test]
fn other_rows_are_refused_at_the_end_of_their_block() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut stream = resumed(&folder.path().join("journal"));
    let before = stream.release().expect("closed");
    for at in [0, 11, 12, 40, 47] {
        let mut other = rows(16);
        // The smallest change there is.
        other[at] = f64::from_bits(other[at].to_bits() ^ 1);
        stream.rewind(0).expect("the first block");
        assert!(refused(stream.push(&other)), "{at}");
        assert_eq!(stream.next_row(), (at / (4 * D) * 4) as u64, "the block is given again");
    }
    // Rows of one block for another, and two blocks exchanged.
    stream.rewind(1).expect("a block");
    assert!(refused(stream.push(&rows(4))));
    assert_eq!(stream.push(&rows(8)[4 * D..]).expect("its own"), 0);
    assert_eq!(stream.release().expect("closed"), before);
    assert!(matches!(stream.rewind(5), Err(Error::Core(_))));
}

#[test]
fn a_tick_is_known_by_its_rows_and_their_number() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    let mut stream = mechanism(Pace::Clock).stream_with_journal(&path, "", rng(1)).expect("new");
    let all = rows(3);
    for n in [2, 0, 3] {
        stream.push(&all[..n * D]).expect("room");
        stream.tick().expect("sound");
    }
    for (tick, had) in [2, 0, 3].into_iter().enumerate() {
        for n in 0..=3 {
            stream.rewind(tick as u64).expect("closed");
            stream.push(&all[..n * D]).expect("room");
            assert_eq!(refused(stream.tick()), n != had, "tick {tick}: {n} rows for {had}");
        }
    }
    assert_eq!(stream.blocks_closed(), 3);
}

#[test]
fn rows_that_wait_cannot_be_given_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut stream = resumed(&folder.path().join("journal"));
    stream.push(&rows(1)).expect("accepted");
    assert!(matches!(stream.rewind(4), Err(Error::Unusable { what: "stream", .. })));
    let mut without = mechanism(Pace::Rows).stream(rng(1));
    assert!(matches!(without.rewind(0), Err(Error::Unusable { what: "stream", .. })));
}
