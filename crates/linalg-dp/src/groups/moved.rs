//! How far one value moves second moments. Proof: `docs/proofs/signed-groups.md`, theorem 2.

use crate::covariance::RowClip;
use crate::error::Result;
use dp_core::L2Sensitivity;

/// The largest Frobenius distance of the second moments of two rows, each scaled to norm `norm` where it is longer and
/// followed by the constant, of which one value of at most `entry` changes by at most `beta`.
pub(super) fn moved(beta: f64, entry: f64, norm: f64, constant: f64) -> f64 {
    let square = norm * norm + constant * constant;
    let most = beta.min(2.0 * entry.min(norm));
    // Where this does not hold, what a long row loses may be more than the entry's: then only the lengths count.
    let a = if entry <= norm && most * entry <= square { entry } else { norm };
    let kept = |t: f64| t * t * (2.0 * square - 0.5 * t * t);
    let shrunk = |t: f64| t * t * (2.0 * square + 2.0 * a * a - 4.0 * a * t + t * t);
    // Where their slopes are zero.
    let top = (2.0 * square).sqrt();
    let under = 5.0 * a * a - 4.0 * square;
    let bend = if under > 0.0 { 0.5 * (3.0 * a - under.sqrt()) } else { f64::INFINITY };
    let largest = kept(most.min(top)).max(shrunk(most)).max(shrunk(most.min(bend)));
    largest.sqrt() * (1.0 + 1e-12)
}

/// The same for rows that `clip` rounds to whole units: each is then at most `rounding` from what it was, and longer by
/// no more.
pub(super) fn paid(beta: f64, entry: f64, norm: f64, clip: &RowClip) -> Result<L2Sensitivity> {
    let unit = 2f64.powi(clip.exponent());
    let constant = f64::from(clip.constant_units()) * unit;
    let exact = moved(beta, entry, norm, constant);
    let rounding = (clip.dim() as f64).sqrt() * 0.5001 * unit
        + norm * (clip.dim() as f64 + 16.0) * f64::EPSILON;
    let length = (norm * norm + constant * constant).sqrt();
    let more = 2.0 * rounding * (2.0 * length + rounding);
    Ok(L2Sensitivity::new((exact + more) * (1.0 + 4.0 * f64::EPSILON))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_core::{NormBound, PublicGenerator, PublicSeed};
    use rand_core::Rng;

    fn uniform(bits: &mut PublicGenerator) -> f64 {
        (bits.next_u64() >> 11) as f64 * 2f64.powi(-53)
    }

    fn clipped(row: &[f64], norm: f64, constant: f64) -> Vec<f64> {
        let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        let scale = if length > norm { norm / length } else { 1.0 };
        row.iter().map(|x| x * scale).chain([constant]).collect()
    }

    /// Entry by entry.
    fn distance(x: &[f64], y: &[f64]) -> f64 {
        let pairs = (0..x.len()).flat_map(|i| (0..x.len()).map(move |j| (i, j)));
        pairs.map(|(i, j)| (x[i] * x[j] - y[i] * y[j]).powi(2)).sum::<f64>().sqrt()
    }

    /// Entries within E, one of which moves by at most beta: at random, and at the edges where the largest moves are: the
    /// changed entry at a bound, the others as long as the norm allows, a little longer, or as long as their bound allows.
    fn worst((beta, entry, norm, constant): (f64, f64, f64, f64), d: usize, seed: u64) -> f64 {
        let mut bits = PublicSeed::new(seed).generator(0);
        let mut most = 0f64;
        for trial in 0..20_000 {
            let edge = trial % 2 == 0;
            let from = if edge && trial % 4 == 0 {
                if bits.next_u64() & 1 == 0 { entry } else { entry.min(norm) }
            } else {
                entry * (2.0 * uniform(&mut bits) - 1.0)
            };
            let step = beta * if edge { 1.0 } else { uniform(&mut bits).sqrt() };
            let to = if trial % 8 == 6 { -from } else { from - step };
            if to.abs() > entry || (to - from).abs() > beta {
                continue;
            }
            let mut row: Vec<f64> = (0..d).map(|_| 2.0 * uniform(&mut bits) - 1.0).collect();
            row[0] = 0.0;
            let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            // So long that the row before, or the row behind, is at the norm; or any other length.
            let at = |value: f64| (norm * norm - value * value).max(0.0).sqrt();
            let wish = match trial % 5 {
                0 => at(from),
                1 => at(to),
                2 => at(from) * (1.0 + 0.2 * uniform(&mut bits)),
                3 => norm * 2.0 * uniform(&mut bits),
                _ => 0.0,
            };
            let scale = if length > 0.0 { wish / length } else { 0.0 };
            let mut long: Vec<f64> = row.iter().map(|x| x * scale).collect();
            // Values beyond their bound are others' data.
            long.iter_mut().for_each(|x| *x = x.clamp(-entry, entry));
            long[0] = from;
            let before = clipped(&long, norm, constant);
            long[0] = to;
            most = most.max(distance(&before, &clipped(&long, norm, constant)));
        }
        most
    }

    /// Brute force stays below the formula and comes near to it where rows may be as long as they like, with steps below and
    /// above the bound of entries, entries up to the norm and beyond, with a constant and without, and one value alone.
    #[test]
    fn nothing_moves_further_and_the_formula_is_reached() {
        let settings = [
            (0.3, 1.0, 3.0, 0.0, 30, 0.99),
            (1.0, 1.0, 3.0, 0.0, 30, 0.99),
            (2.0, 1.0, 3.0, 1.3, 30, 0.99),
            (9.0, 1.0, 3.0, 0.0, 30, 0.95),
            (1.0, 1.0, 1.2, 0.0, 6, 0.95),
            (1.4, 1.0, 1.05, 0.0, 6, 0.8),
            (1.9, 1.0, 1.05, 0.5, 6, 0.8),
            // Entries that are as long as a row, or longer: no bound on them counts.
            (0.5, 2.0, 2.0, 0.0, 5, 0.95),
            (0.5, 7.0, 2.0, 0.9, 5, 0.95),
            (3.0, 7.0, 2.0, 0.0, 5, 0.8),
            (40.0, 7.0, 2.0, 0.0, 3, 0.8),
            // One value alone.
            (0.5, 1.0, 1.0, 0.4375, 1, 0.7),
            (3.0, 1.0, 1.0, 0.0, 1, 0.5),
        ];
        for (i, (beta, entry, norm, constant, d, near)) in settings.into_iter().enumerate() {
            let bound = moved(beta, entry, norm, constant);
            let found = worst((beta, entry, norm, constant), d, i as u64);
            assert!(found <= bound, "{i}: {found} above {bound}");
            assert!(found >= near * bound, "{i}: {found} far below {bound}");
            println!("{i}: {found} of {bound}");
        }
    }

    /// The maximum over the step is where the formula says: against a fine search.
    #[test]
    fn the_largest_step_is_found() {
        for (beta, entry, norm, constant) in [
            (0.1, 1.0, 1.0, 0.0),
            (5.0, 1.0, 1.0, 0.0),
            (5.0, 1.0, 1.0, 0.2),
            (1.2, 3.0, 1.0, 0.0),
            (1.9, 0.9, 1.0, 0.0),
            (5.0, 1.0, 30.0, 4.0),
        ] {
            let square: f64 = norm * norm + constant * constant;
            let most = f64::min(beta, 2.0 * f64::min(entry, norm));
            let a = if entry <= norm && most * entry <= square { entry } else { norm };
            let largest = (0..=100_000).map(|i| most * f64::from(i) / 1e5).fold(0f64, |m, t| {
                let (kept, shrunk) =
                    (2.0 * square - 0.5 * t * t, 2.0 * square + 2.0 * a * a - 4.0 * a * t + t * t);
                m.max(t * t * f64::max(kept, shrunk))
            });
            let found = moved(beta, entry, norm, constant);
            let ratio = found / largest.sqrt();
            assert!((1.0..1.0 + 1e-8).contains(&ratio), "{beta} {entry} {norm}: {ratio}");
        }
        // Without a bound on entries: above root 2 c beta, as the page says.
        let found = moved(0.1, 100.0, 1.0, 0.0);
        assert!((found - 0.19).abs() < 1e-9, "{found}");
    }

    /// Rows as the clip rounds them, at the norm and beyond: the units are paid.
    #[test]
    fn rounding_to_units_is_paid() {
        let (d, norm, entry) = (50, 1.0, 0.5);
        for beta in [1e-5, 1e-3, 0.3] {
            let clip = RowClip::new(d, NormBound::new(norm).unwrap()).unwrap();
            let clip = clip.followed_by(clip.constant_for_means()).unwrap();
            let bound = paid(beta, entry, norm, &clip).unwrap().get();
            let unit = 2f64.powi(clip.exponent());
            let mut bits = PublicSeed::new(7).generator(0);
            let mut most = 0f64;
            for trial in 0..500 {
                let length = 0.3 + 0.05 * f64::from(trial % 40);
                let mut row: Vec<f64> = (0..d).map(|_| 2.0 * uniform(&mut bits) - 1.0).collect();
                let own = row.iter().map(|x| x * x).sum::<f64>().sqrt();
                row.iter_mut().for_each(|x| *x = (*x * length / own).clamp(-entry, entry));
                let mut rounded = |first: f64| {
                    row[0] = first;
                    let mut q = vec![0.0; d + 1];
                    clip.quantise(&row, &mut q).unwrap();
                    q.iter().map(|x| x * unit).collect::<Vec<_>>()
                };
                most = most.max(distance(&rounded(entry), &rounded(entry - beta)));
            }
            assert!(most <= bound && most > 0.3 * bound, "{beta}: {most} {bound}");
        }
    }
}
