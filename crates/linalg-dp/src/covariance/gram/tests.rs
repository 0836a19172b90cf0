use super::*;
use dp_core::NormBound;

fn rows(n: usize, d: usize, scale: f64) -> Vec<f64> {
    (0..n * d).map(|i| scale * (((i * 7919) % 1009) as f64 / 504.5 - 1.0)).collect()
}

#[test]
fn rows_of_the_bound_s_norm_are_not_shrunk() {
    // Eighths lie on the grid: what enters is the row itself.
    for (d, value) in [(64, 0.125), (4, 0.5), (1, 1.0), (16, -0.25)] {
        let clip = RowClip::new(d, NormBound::new(1.0).unwrap()).unwrap();
        let mut gram = OpenGram::new(clip);
        gram.push(&vec![value; 3 * d]).unwrap();
        let values = gram.sum().lower_values();
        let below = |(e, x): (usize, &f64)| e % d > e / d || *x == 3.0 * value * value;
        assert!(values.iter().enumerate().all(below), "{d}");
    }
}

#[test]
fn noise_beyond_the_range_of_the_sums_is_refused() {
    let clip = RowClip::new(2, NormBound::new(1.0).unwrap()).unwrap();
    let own = 2 * clip.exponent();
    for (power, fits) in [(own + 130, true), (own + 131, false), (1000, false)] {
        let sigma = NoiseScale::new(2f64.powi(power)).unwrap();
        match noise_grid(&clip, sigma) {
            Ok(grid) => assert!(fits && grid.exponent() - own <= MAX_SHIFT),
            Err(error) => assert!(!fits && error.to_string().contains("sigma"), "{error}"),
        }
    }
    let largest = i128::MAX >> 2;
    assert_eq!(rescale(largest, MAX_SHIFT), (largest >> MAX_SHIFT) + 1);
}

/// Row by row in 128-bit integers.
fn plain(clip: RowClip, data: &[f64]) -> Vec<i128> {
    let d = clip.columns();
    let (mut sum, mut q) = (vec![0; d * d], vec![0.0; d]);
    for row in data.chunks(clip.dim()) {
        clip.quantise(row, &mut q).unwrap();
        for e in (0..d * d).filter(|e| e % d <= e / d) {
            sum[e] += q[e / d] as i128 * q[e % d] as i128;
        }
    }
    sum
}

/// However the rows are cut, on one thread or several, with a constant behind each or without: and rows at the
/// bound, whose sums use all 53 bits.
#[test]
fn gram_is_exact_and_independent_of_how_rows_come() {
    for (n, d, scale) in [(5000, 5, 1.0), (2300, 70, 1.0), (4200, 3, 1e200), (1, 9, 0.1)] {
        let data = rows(n, d, scale);
        let clip = RowClip::new(d, NormBound::new(1.0).unwrap()).unwrap();
        for clip in [clip, clip.followed_by(clip.constant_for_means()).unwrap()] {
            let expected = plain(clip, &data);
            let beside: Vec<f64> = (0..n * d).map(|at| data[at % n * d + at / n]).collect();
            let beside: Vec<&[f64]> = beside.chunks_exact(n).collect();
            let view = RowsView::columns(n, &beside).unwrap();
            let unread = Incoming::columns(n, &beside).unwrap();
            for (step, threads) in [(n, 1), (n, 2), (n, 3), (1, 2), (127, 1), (1500, 2)] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                pool.unwrap().install(|| {
                    let mut gram = OpenGram::new(clip);
                    // What was there before leaves nothing behind.
                    gram.push(&data).unwrap();
                    gram.clear();
                    for part in data.chunks(step * d) {
                        gram.push(part).unwrap();
                    }
                    assert!(gram.sum().total == expected, "{n} x {d} by {step}, {threads}");
                    gram.clear();
                    for first in (0..n).step_by(step) {
                        gram.push_view(view.slice(first..n.min(first + step)).into()).unwrap();
                    }
                    assert!(gram.sum().total == expected, "columns, {n} x {d} by {step}");
                    gram.clear();
                    for first in (0..n).step_by(step) {
                        gram.push_view(unread.slice(first..n.min(first + step))).unwrap();
                    }
                    assert!(gram.sum().total == expected, "unread, {n} x {d} by {step}");
                    // A sum that was looked at goes on.
                    gram.push(&data[..d]).unwrap();
                    let one = plain(clip, &data[..d]);
                    let more: Vec<i128> = expected.iter().zip(one).map(|(a, b)| a + b).collect();
                    assert!(gram.sum().total == more);
                    let taken = gram.take(None);
                    assert!(taken.total == more && gram.sum().total.iter().all(|t| *t == 0));
                    gram.take(Some(taken));
                    assert!(gram.sum().total.iter().all(|t| *t == 0));
                });
            }
        }
    }
}

#[test]
fn totals_are_rounded_to_the_grid_and_mirrored() {
    let d = 37;
    let clip = RowClip::new(d, NormBound::new(1.0).unwrap()).unwrap();
    let mut gram = OpenGram::new(clip);
    gram.push(&rows(300, d, 1.0)).unwrap();
    let gram = gram.sum();
    let nothing = vec![0.0; d * d];
    let exact = gram.release(gram.exponent(), &nothing);
    let step = 2f64.powi(gram.exponent() + 20);
    let coarse = gram.release(gram.exponent() + 20, &nothing);
    assert!(exact.iter().zip(&coarse).all(|(a, b)| (a - b).abs() <= 0.5 * step));
    assert!((0..d * d).all(|e| exact[e] == exact[e % d * d + e / d]));
    // Of the noise the lower triangle is read.
    let noise: Vec<f64> =
        (0..d * d).map(|e| if e % d > e / d { f64::NAN } else { e as f64 * step }).collect();
    let noisy = gram.release(gram.exponent() + 20, &noise);
    let below = (0..d * d).filter(|e| e % d <= e / d);
    assert!(below.into_iter().all(|e| noisy[e] == coarse[e] + noise[e]));
}

#[test]
fn refuses_bad_rows() {
    let clip = RowClip::new(2, NormBound::new(1.0).unwrap()).unwrap();
    let mut gram = OpenGram::new(clip);
    assert!(matches!(gram.push(&[1.0, f64::NAN]), Err(Error::NotFinite { .. })));
    assert!(matches!(gram.push(&[f64::INFINITY, 0.0]), Err(Error::NotFinite { .. })));
    assert!(matches!(gram.push(&[1.0, 0.0, 0.5]), Err(Error::Shape { .. })));
    // None of the rows of a call that is refused is in the sum, however many came before the bad one.
    let mut many = rows(5000, 2, 1.0);
    many[9999] = f64::NAN;
    assert!(gram.push(&many).is_err() && gram.sum().total.iter().all(|t| *t == 0));
    assert!(RowClip::new(0, NormBound::new(1.0).unwrap()).is_err());
}

/// Columns that nobody looked at, a bad number anywhere: what was summed before stays, nothing of the call joins it, and
/// the first place is named, however many threads met others.
#[test]
fn unread_columns_with_a_bad_number_leave_the_sum_alone() {
    let (n, d) = (5000, 3);
    let good = rows(n, d, 1.0);
    let clip = RowClip::new(d, NormBound::new(1.0).unwrap()).unwrap();
    // Some rows wait for their product when the bad ones come.
    let expected = plain(clip, &good[..d * 1300]);
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for (row, column) in
            [(0, 0), (255, 2), (256, 1), (1023, 0), (1024, 2), (4321, 1), (4999, 2)]
        {
            for (value, from) in
                [(f64::NAN, 0), (f64::NEG_INFINITY, 0), (f64::NAN, row / 900 * 900)]
            {
                let mut beside: Vec<f64> = (0..n * d).map(|at| good[at % n * d + at / n]).collect();
                // Neither a later row nor a later column is the first.
                beside[d * n - 1] = f64::INFINITY;
                beside[(d - 1) * n + row] = f64::NAN;
                beside[column * n + row] = value;
                let beside: Vec<&[f64]> = beside.chunks_exact(n).collect();
                let all = Incoming::columns(n, &beside).unwrap();
                pool.install(|| {
                    let mut gram = OpenGram::new(clip);
                    gram.push(&good[..d * 1300]).unwrap();
                    let error = gram.push_view(all.slice(from..n)).unwrap_err().to_string();
                    let place = format!("row {}, column {column}", row - from);
                    assert!(error.contains(&place), "{error}: {place}");
                    assert!(gram.sum().total == expected, "{place}");
                    // And it goes on.
                    gram.push(&good[d * 1300..]).unwrap();
                    assert!(gram.sum().total == plain(clip, &good), "{place}");
                });
            }
        }
    }
}
