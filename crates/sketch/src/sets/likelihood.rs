//! The shares of a mixture that make what was seen most likely.

/// Probabilities of the four outcomes of a bin.
pub(super) type Law = [f64; 4];

/// Steps before a fit is taken as it is; five to twenty are usual.
const STEPS: usize = 100;
/// The fit ends where no share could gain more than this part of the count.
const GAP: f64 = 1e-10;

/// The shares w of the parts at the largest value of `sum_o counts_o ln (sum_i w_i parts_io)` over w >= 0 of sum one.
///
/// The function is concave: sequential quadratic steps, each the best over the faces of the simplex (15 at most), with
/// backtracking. At the end every part has a derivative of at most N (1 + 1e-10), N the sum of the counts, which bounds what is missing.
pub(super) fn fit<const M: usize>(counts: [f64; 4], parts: &[Law; M]) -> [f64; M] {
    let total: f64 = counts.iter().sum();
    let law = |w: &[f64; M]| -> Law {
        core::array::from_fn(|o| (0..M).map(|i| w[i] * parts[i][o]).sum::<f64>().max(1e-300))
    };
    let value = |law: &Law| -> f64 {
        (0..4).filter(|&o| counts[o] > 0.0).map(|o| counts[o] * law[o].ln()).sum()
    };
    let mut w = [1.0 / M as f64; M];
    let mut seen = law(&w);
    let mut best = value(&seen);
    for _ in 0..STEPS {
        let gradient: [f64; M] =
            core::array::from_fn(|i| (0..4).map(|o| parts[i][o] * counts[o] / seen[o]).sum());
        if gradient.iter().all(|g| *g <= total * (1.0 + GAP)) {
            break;
        }
        let to = step(&w, &gradient, &curvature(counts, parts, &seen));
        let rise: f64 = (0..M).map(|i| gradient[i] * (to[i] - w[i])).sum();
        let mut share = 1.0;
        let moved = loop {
            let next = core::array::from_fn(|i| w[i] + share * (to[i] - w[i]));
            let at = law(&next);
            let found = value(&at);
            if found >= best + 1e-4 * share * rise {
                break Some((next, at, found));
            }
            share *= 0.5;
            if share < 1e-9 {
                break None;
            }
        };
        let Some((next, at, found)) = moved.filter(|(_, _, found)| *found > best) else { break };
        (w, seen, best) = (next, at, found);
    }
    w
}

/// Less the second derivatives, with a little added to the diagonal.
fn curvature<const M: usize>(counts: [f64; 4], parts: &[Law; M], seen: &Law) -> [[f64; M]; M] {
    let mut all: [[f64; M]; M] = core::array::from_fn(|i| {
        core::array::from_fn(|j| {
            (0..4).map(|o| parts[i][o] * parts[j][o] * counts[o] / (seen[o] * seen[o])).sum()
        })
    });
    let trace: f64 = (0..M).map(|i| all[i][i]).sum();
    (0..M).for_each(|i| all[i][i] += 1e-10 * trace);
    all
}

/// Where the quadratic model is largest on the simplex: the best of its maxima on all faces.
fn step<const M: usize>(w: &[f64; M], gradient: &[f64; M], curvature: &[[f64; M]; M]) -> [f64; M] {
    let mut best = (f64::NEG_INFINITY, *w);
    // The whole simplex first: a maximum of the plane that lies on it is the model's.
    for face in (1..1usize << M).rev() {
        let mut room = [0; M];
        let mut n = 0;
        for i in (0..M).filter(|i| face >> i & 1 == 1) {
            room[n] = i;
            n += 1;
        }
        let Some(x) = on_face(&room[..n], w, gradient, curvature) else { continue };
        if n == M {
            return x;
        }
        let d: [f64; M] = core::array::from_fn(|i| x[i] - w[i]);
        let bent: f64 =
            (0..M).map(|i| d[i] * (0..M).map(|j| curvature[i][j] * d[j]).sum::<f64>()).sum();
        let model = (0..M).map(|i| gradient[i] * d[i]).sum::<f64>() - 0.5 * bent;
        if model > best.0 {
            best = (model, x);
        }
    }
    best.1
}

/// The maximum of the quadratic model on the plane of a face, where it lies on the face.
fn on_face<const M: usize>(
    members: &[usize],
    w: &[f64; M],
    gradient: &[f64; M],
    curvature: &[[f64; M]; M],
) -> Option<[f64; M]> {
    // H x + m 1 = gradient + H w on the members, sum x = 1; the last column is the right side.
    let n = members.len();
    let mut rows = [[0.0f64; 6]; 5];
    for (a, &i) in members.iter().enumerate() {
        for (b, &j) in members.iter().enumerate() {
            rows[a][b] = curvature[i][j];
        }
        rows[a][n] = 1.0;
        rows[n][a] = 1.0;
        rows[a][n + 1] = gradient[i] + (0..M).map(|j| curvature[i][j] * w[j]).sum::<f64>();
    }
    rows[n][n + 1] = 1.0;
    for c in 0..=n {
        let pivot = (c..=n).max_by(|&a, &b| rows[a][c].abs().total_cmp(&rows[b][c].abs()))?;
        rows.swap(c, pivot);
        if rows[c][c] == 0.0 || !rows[c][c].is_finite() {
            return None;
        }
        for r in 0..=n {
            if r != c {
                let by = rows[r][c] / rows[c][c];
                (c..n + 2).for_each(|k| rows[r][k] -= by * rows[c][k]);
            }
        }
    }
    let mut x = [0.0; M];
    for (a, &i) in members.iter().enumerate() {
        x[i] = rows[a][n + 1] / rows[a][a];
        if x[i].is_nan() || x[i] < -1e-12 {
            return None;
        }
        x[i] = x[i].max(0.0);
    }
    let sum: f64 = x.iter().sum();
    Some(x.map(|share| share / sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTS: [Law; 4] =
        [[0.7, 0.1, 0.1, 0.1], [0.2, 0.4, 0.2, 0.2], [0.1, 0.2, 0.5, 0.2], [0.2, 0.1, 0.2, 0.5]];

    fn value(counts: [f64; 4], w: [f64; 4]) -> f64 {
        let seen = |o: usize| (0..4).map(|i| w[i] * PARTS[i][o]).sum::<f64>();
        (0..4).filter(|&o| counts[o] > 0.0).map(|o| counts[o] * seen(o).ln()).sum()
    }

    /// Against the best of a grid of shares in steps of a hundredth; and shares whose law is what was seen are found.
    #[test]
    fn a_fit_is_the_most_likely_one() {
        for counts in [
            [40.0, 10.0, 20.0, 30.0],
            [1.0, 90.0, 5.0, 4.0],
            [0.0, 0.0, 100.0, 0.0],
            [50.0, 0.0, 0.0, 50.0],
            [3.0, 0.0, 1.0, 0.0],
            [1e6, 2e6, 1.0, 3e5],
        ] {
            let w = fit(counts, &PARTS);
            let best = value(counts, w);
            assert!((w.iter().sum::<f64>() - 1.0).abs() < 1e-12 && w.iter().all(|x| *x >= 0.0));
            let mut grid = f64::NEG_INFINITY;
            for a in 0..=100 {
                for b in 0..=100 - a {
                    for c in 0..=100 - a - b {
                        let rest = f64::from(100 - a - b - c);
                        let w = [f64::from(a), f64::from(b), f64::from(c), rest];
                        grid = grid.max(value(counts, w.map(|x| x / 100.0)));
                    }
                }
            }
            let total: f64 = counts.iter().sum();
            assert!(best >= grid - 1e-9 * total, "{counts:?}: {best} below {grid}");
            assert!(best <= grid + 0.02 * total, "{counts:?}: {best} far above {grid}");
        }
        let truth = [0.1, 0.2, 0.3, 0.4];
        let counts =
            core::array::from_fn(|o| 1e4 * (0..4).map(|i| truth[i] * PARTS[i][o]).sum::<f64>());
        let w = fit(counts, &PARTS);
        assert!(w.iter().zip(truth).all(|(a, b)| (a - b).abs() < 1e-6), "{w:?}");
    }
}
