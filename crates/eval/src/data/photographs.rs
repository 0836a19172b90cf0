//! Patches of photographs: natural images whose licence allows to ship them.

use super::points::{Points, numbers, pixels};

static PHOTOGRAPHS: &[u8] = include_bytes!("../../data/photographs-idx3-ubyte.gz");

/// Side of a photograph.
const SIDE: usize = 256;
/// Side of a patch: that of CIFAR's images.
const PATCH: usize = 32;
/// From one patch to the next, down and to the right.
const STEP: usize = 8;

/// 6,728 grey patches of 32 x 32 from eight photographs, pixels in `[0, 1]`, labelled by their photograph.
///
/// Neighbouring patches overlap by three quarters.
///
/// # Panics
/// Never, unless the embedded file was damaged: its contents are tested.
#[must_use]
pub(crate) fn photograph_patches() -> Points {
    let input = pixels("embedded photographs".as_ref()).open_from(PHOTOGRAPHS);
    let photographs = input
        .map_err(crate::Error::from)
        .and_then(numbers)
        .expect("embedded photographs are well formed");
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for (label, photograph) in photographs.chunks_exact(SIDE * SIDE).enumerate() {
        for top in (0..=SIDE - PATCH).step_by(STEP) {
            for left in (0..=SIDE - PATCH).step_by(STEP) {
                for y in top..top + PATCH {
                    values.extend_from_slice(&photograph[y * SIDE + left..][..PATCH]);
                }
                labels.push(label as u8);
            }
        }
    }
    Points::new("patches of photographs", PATCH * PATCH, values, Some(labels))
        .expect("patches and labels belong together")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_photographs_are_whole() {
        let points = photograph_patches();
        assert_eq!((points.n(), points.d()), (8 * 29 * 29, 1024));
        assert!(points.values().iter().all(|v| (0.0..=1.0).contains(v)));
        // The next patch to the right holds the same pixels, eight columns to the left.
        let (a, b) = (points.row(0), points.row(1));
        for y in 0..PATCH {
            assert_eq!(a[y * PATCH + STEP..][..PATCH - STEP], b[y * PATCH..][..PATCH - STEP]);
        }
        // The first row of the first photograph (grey background behind an astronaut) is no other photograph's.
        let labels = points.labels().expect("labelled");
        assert!((0..8).all(|l| labels.iter().filter(|&&x| x == l).count() == 29 * 29));
        let means: Vec<f64> = (0..8)
            .map(|l| {
                let rows = (l * 841..(l + 1) * 841).flat_map(|i| points.row(i));
                rows.sum::<f64>() / (841.0 * 1024.0)
            })
            .collect();
        assert!(means.iter().all(|m| (0.2..0.8).contains(m)), "{means:?}");
        assert!(means.iter().enumerate().all(|(i, m)| !means[..i].contains(m)), "{means:?}");
    }
}
