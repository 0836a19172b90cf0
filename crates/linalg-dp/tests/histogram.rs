//! The spectral histogram keeps its property at every step, on friendly and hostile streams.

use faer::Mat;
use linalg_dp::dense::symmetric_eigen;
use linalg_dp::window::{PruneRule, SpectralHistogram};
use proptest::prelude::*;

/// Which stream.
#[derive(Debug, Clone, Copy)]
enum Stream {
    Random,
    Drifting,
    /// Rows in one direction, then suddenly in another, with geometric scales.
    Adversarial,
    /// Rank two, with zero rows in between.
    RankDeficient,
}

fn row(stream: Stream, t: u64, d: usize, seed: u64) -> Vec<f64> {
    let hash = |a: u64, b: u64| {
        let mut z =
            seed ^ a.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ b.wrapping_mul(0xD1B5_4A32_D192_ED03);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let random = || (0..d).map(|j| hash(t, j as u64)).collect::<Vec<f64>>();
    match stream {
        Stream::Random => random(),
        Stream::Drifting => {
            let angle = t as f64 / 40.0;
            let mut r: Vec<f64> = random().into_iter().map(|x| 0.05 * x).collect();
            r[0] += angle.cos();
            r[1] += angle.sin();
            r
        }
        Stream::Adversarial => {
            let mut r = vec![0.0; d];
            r[(t / 17) as usize % d] = 2f64.powi(((t * 7) % 23) as i32 - 20);
            r
        }
        Stream::RankDeficient => {
            let mut r = vec![0.0; d];
            if !t.is_multiple_of(3) {
                r[0] = hash(t, 0);
                r[1] = if t.is_multiple_of(2) { 2.0 * r[0] } else { -0.5 * r[0] };
            }
            r
        }
    }
}

fn outer(row: &[f64]) -> Mat<f64> {
    Mat::from_fn(row.len(), row.len(), |i, j| row[i] * row[j])
}

fn run(stream: Stream, d: usize, rho: f64, window: u64, length: u64, seed: u64) -> Vec<usize> {
    let mut histogram = SpectralHistogram::new(d, rho, PruneRule::UpdateApprox).expect("valid");
    let mut sizes = Vec::new();
    let mut exact: Vec<Mat<f64>> = Vec::new();
    for t in 0..length {
        let increment = outer(&row(stream, t, d, seed));
        let start = (t + 1).saturating_sub(window);
        histogram.push(t, increment.as_ref(), start).expect("accepted");
        exact.push(increment);
        if let Err(broken) = histogram.check(start) {
            panic!("{stream:?}, d = {d}, rho = {rho}, time {t}: {broken}");
        }
        sizes.push(histogram.checkpoints().len());
    }
    // The checkpoints are what they say: suffix sums.
    for checkpoint in histogram.checkpoints() {
        let mut sum = Mat::<f64>::zeros(d, d);
        exact[checkpoint.start as usize..].iter().for_each(|x| sum += x);
        let gap = (&sum - &checkpoint.matrix).norm_l2();
        assert!(gap <= 1e-9 * sum.norm_l2().max(1e-300), "suffix sum off by {gap}");
    }
    sizes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_property_holds_at_every_step(
        kind in 0usize..4, d in 2usize..7, rho in 0.05f64..0.7, window in 1u64..80, seed in any::<u64>(),
    ) {
        let stream = [Stream::Random, Stream::Drifting, Stream::Adversarial, Stream::RankDeficient][kind];
        run(stream, d, rho, window, 120, seed);
    }
}

#[test]
fn the_window_is_sandwiched_by_the_first_two_checkpoints() {
    let (d, rho, window) = (4, 0.3, 50u64);
    let mut histogram = SpectralHistogram::new(d, rho, PruneRule::UpdateApprox).expect("valid");
    let rows: Vec<Vec<f64>> = (0..400).map(|t| row(Stream::Random, t, d, 5)).collect();
    for (t, r) in rows.iter().enumerate() {
        let t = t as u64;
        let start = (t + 1).saturating_sub(window);
        histogram.push(t, outer(r).as_ref(), start).expect("accepted");
        let first = &histogram.checkpoints()[0];
        let mut exact = Mat::<f64>::zeros(d, d);
        rows[start as usize..=t as usize].iter().for_each(|r| exact += outer(r));
        // exact <= S(1), and (1 - rho) S(1) <= S(2) <= exact unless the two are adjacent in time.
        // `scale A <= B` in Loewner order: no eigenvalue of the difference is below zero, to rounding.
        let precedes = |scale: f64, a: &Mat<f64>, b: &Mat<f64>| {
            let difference = Mat::from_fn(d, d, |i, j| b[(i, j)] - scale * a[(i, j)]);
            let values = symmetric_eigen(difference.as_ref()).expect("symmetric").values;
            let largest = (0..d).map(|i| b[(i, i)]).fold(0.0, f64::max);
            values.iter().all(|&v| v >= -1e-11 * largest)
        };
        assert!(precedes(1.0, &exact, &first.matrix));
        if let Some(second) = histogram.checkpoints().get(1)
            && second.start > first.start + 1
        {
            assert!(precedes(1.0 - rho, &first.matrix, &exact));
        }
    }
}

#[test]
fn the_number_of_checkpoints_grows_like_the_logarithm_of_the_window() {
    let (d, rho) = (3, 0.4);
    let sizes: Vec<usize> = [64u64, 512, 4096]
        .into_iter()
        .map(|window| *run(Stream::Random, d, rho, window, window + 64, 9).last().expect("rows"))
        .collect();
    println!("checkpoints at W = 64, 512, 4096: {sizes:?}");
    // From W to 8 W: about 2 d log(8) / log(1/(1-rho)) more, never in proportion.
    let step = 2.0 * d as f64 * 8f64.ln() / (1.0 / (1.0 - rho)).ln();
    assert!(sizes.windows(2).all(|w| (w[1] as f64) < w[0] as f64 + step), "{sizes:?}");
    assert!(sizes[2] < 120, "{sizes:?}");
}

#[test]
fn a_broken_pruning_is_caught() {
    // A histogram whose matrices were tampered with fails the validator.
    let mut histogram = SpectralHistogram::new(2, 0.3, PruneRule::UpdateApprox).expect("valid");
    for t in 0..30u64 {
        histogram.push(t, outer(&row(Stream::Random, t, 2, 3)).as_ref(), 0).expect("accepted");
    }
    histogram.check(0).expect("sound");
    let count = histogram.checkpoints().len();
    let mut matrices: Vec<Mat<f64>> =
        histogram.checkpoints().iter().map(|c| c.matrix.clone()).collect();
    matrices.swap(0, 1);
    matrices.push(outer(&[0.1, 0.1]));
    histogram.replace_with(30, matrices, 0).expect("accepted");
    assert!(histogram.check(0).is_err(), "{count} checkpoints");
}

#[test]
fn bad_input_is_named() {
    for (dim, rho) in [(0, 0.5), (2, 0.0), (2, 1.0), (2, f64::NAN)] {
        let refused = SpectralHistogram::new(dim, rho, PruneRule::Update);
        let text = refused.expect_err("refused").to_string();
        assert!(text.contains(if dim == 0 { "dim" } else { "rho" }), "{text}");
    }
    let mut histogram = SpectralHistogram::new(2, 0.5, PruneRule::Update).expect("valid");
    let one = Mat::<f64>::identity(2, 2);
    histogram.push(4, one.as_ref(), 4).expect("first time is free");
    for (time, start) in [(4, 4), (6, 4), (5, 6)] {
        assert!(histogram.push(time, one.as_ref(), start).is_err(), "{time} {start}");
    }
    let wrong = Mat::<f64>::identity(3, 3);
    assert!(histogram.push(5, wrong.as_ref(), 4).is_err());
    let nan = Mat::from_fn(2, 2, |_, _| f64::NAN);
    assert!(histogram.push(5, nan.as_ref(), 4).is_err());
}
