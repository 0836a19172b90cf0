use super::*;

/// `v(1) = 1 - 2 phi(1)/(1 - 2 Q(1))`, `v(2)` alike, computed in Python from its error function.
#[test]
fn a_cut_entry_spreads_less() {
    let (one, two) = (0.291_125_094_772_8, 0.773_741_303_549_9);
    for (m, d, cut) in [(1.0, 4, one), (2.0, 16, two), (2.0, 3, two)] {
        let d_f = d as f64;
        let expected = ((m * m + (d_f - 1.0) * cut) / d_f).sqrt();
        assert!((spread(m, d) - expected).abs() < 1e-8, "{m} {d}: {}", spread(m, d));
    }
}

#[test]
fn golden_sections_find_the_peak() {
    for peak in [0.1, 0.5, 0.83] {
        let found = golden(0.0, 1.0, |x| -(x - peak) * (x - peak));
        assert!((found - peak).abs() < 1e-5, "{found}");
    }
}

/// Of one bit the information is `p_a p_b/(p (1 - p))`; derivatives here by Richardson's rule from wider steps.
#[test]
fn information_is_that_of_the_probability() {
    let bits =
        [(0.7, 0.3, 0.5), (-1.2, 0.5, 0.6)].map(|(vote, step, spread)| Bit { vote, step, spread });
    let likelihood = Likelihood::new(bits.into(), vec![0.1, 0.2, 0.05]);
    let (theta, norm) = (0.9, 1.3);
    let slope = |f: &dyn Fn(f64) -> f64| {
        let of = |h: f64| (f(h) - f(-h)) / (2.0 * h);
        (4.0 * of(1e-3) - of(2e-3)) / 3.0
    };
    let mut expected = [0.0; 3];
    for bit in &likelihood.bits {
        let of = |t: f64, n: f64| likelihood.probability(bit, bit.vote, t, n);
        let p = of(theta, norm);
        let angle = slope(&|h| of(theta + h, norm));
        let scale = slope(&|h| of(theta, norm * h.exp()));
        for (sum, x) in expected.iter_mut().zip([angle * angle, angle * scale, scale * scale]) {
            *sum += x / (p * (1.0 - p));
        }
    }
    let found = likelihood.information(theta, norm);
    for (found, expected) in found.iter().zip(expected) {
        assert!(expected.abs() > 1e-3, "{expected}");
        assert!((found / expected - 1.0).abs() < 1e-5, "{found} {expected}");
    }
}
