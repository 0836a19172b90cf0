//! Defects of matrix mechanisms and streams.

use crate::audit::mechanisms::covariance::wishart;
use crate::audit::mechanisms::window::{BLOCK, config, gaussian_blocks, subject};
use crate::audit::subject::{Draw, Side, Subject};
use crate::error::Result;
use dp_core::noise::WishartNoise;
use dp_core::{Adjacency, Bound, Budget, NoiseScale};
use linalg_dp::window::{Pace, PrivateStream, StreamConfig};

/// The Wishart mechanism of 2016, `W_d(d + 1, 3/(2 epsilon) I)`, claimed to be purely private: outputs
/// that are not above `A^T A` in Loewner order are impossible, so its delta is not zero.
fn pure_wishart() -> Result<Subject> {
    let adjacency = Adjacency::AddRemoveRow { bound: Bound::new(1.0)? };
    let original = wishart(adjacency)?;
    let claim = Budget::new(1.0, 0.0)?;
    let noise = WishartNoise::new(2, 3, NoiseScale::new(1.5 / claim.epsilon.get())?)?;
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let mut n = vec![0.0; 4];
        noise.sample(&mut draw.noise(), &mut n);
        // The exact matrices: nothing, or one row (1, 0).
        out.extend([n[0] + side.of(&0.0, &1.0), n[3], n[2]]);
        Ok(())
    };
    let exact = [(0.0, 0.0), (1.0, 0.0)]
        .map(|(a, c)| crate::audit::mechanisms::covariance::Symmetric { a, b: 0.0, c });
    let law = (3.0, 1.5);
    let twin =
        original.twin("refuted pure-DP Wishart", sample).score("2016 likelihood ratio", move |x| {
            let seen = crate::audit::mechanisms::covariance::Symmetric::observed(x);
            crate::audit::mechanisms::covariance::wishart_ratio(seen, exact[0], exact[1], law)
        });
    Ok(Subject { claim, exact: None, ..twin })
}

/// Blocks end when two rows have come that are not zero, and each end is published.
fn private_checkpoints() -> Result<Subject> {
    let original = subject("blocks, symmetric Gaussian", gaussian_blocks(), BLOCK)?;
    let config = config(gaussian_blocks(), BLOCK)?;
    // Every other row is one, so that blocks end.
    let whole = vec![1.0; 6 * BLOCK];
    let mut missing = whole.clone();
    missing[0] = 0.0;
    let sides = [missing, whole];
    let calibrated = PrivateStream::new(StreamConfig { pace: Pace::Clock, ..config })?;
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let mut rng = draw.noise();
        let mut stream = calibrated.restarted()?;
        let (mut waiting, mut last) = (0.0, 0.0);
        for slot in side.of(&sides[0], &sides[1]).chunks(2) {
            for &row in slot.iter().filter(|x| **x != 0.0) {
                stream.push(&[row], &mut rng)?;
                waiting += row * row;
                if waiting >= 2.0 {
                    stream.tick(&mut rng)?;
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

/// Twins on matrices.
pub(super) fn twins() -> Result<Vec<Subject>> {
    Ok(vec![pure_wishart()?, private_checkpoints()?])
}
