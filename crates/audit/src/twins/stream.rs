//! Defects of private streams.

use crate::mechanisms::common::gaussian_budget;
use crate::mechanisms::window::{BLOCK, config, gaussian_blocks, subject};
use crate::subject::{Draw, Side, Subject};
use eval::Result;
use linalg_dp::window::{Pace, StreamConfig, WindowMechanism};

/// Blocks end when two rows have come that are not zero, and each end is published.
fn private_checkpoints() -> Result<Subject> {
    let claim = gaussian_budget()?;
    let original = subject("blocks, symmetric Gaussian", gaussian_blocks(), BLOCK, claim)?;
    let config = config(gaussian_blocks(), BLOCK, claim)?;
    // Every other row is one, so that blocks end.
    let whole = vec![1.0; 6 * BLOCK];
    let mut missing = whole.clone();
    missing[0] = 0.0;
    let sides = [missing, whole];
    let calibrated = WindowMechanism::calibrate(StreamConfig { pace: Pace::Clock, ..config })?;
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let mut stream = calibrated.stream(draw.noise());
        let (mut waiting, mut last) = (0.0, 0.0);
        for slot in side.of(&sides[0], &sides[1]).chunks(2) {
            for &row in slot.iter().filter(|x| **x != 0.0) {
                stream.push(&[row])?;
                waiting += row * row;
                if waiting >= 2.0 {
                    stream.tick()?;
                    waiting = 0.0;
                    last = stream.release()?.payload().covariance().raw()[(0, 0)];
                }
            }
            out.push(last);
        }
        Ok(())
    };
    Ok(original.twin("checkpoint times chosen by private data", sample))
}

/// Twins of streams.
pub(super) fn twins() -> Result<Vec<Subject>> {
    Ok(vec![private_checkpoints()?])
}
