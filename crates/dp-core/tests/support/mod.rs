//! Statistical tests with a stated false-alarm rate.
#![allow(dead_code, missing_docs)]

use dp_core::noise::{NoiseRng, NoiseStream};

/// ln of the false-alarm rate of every test here: 1e-7.
pub(crate) const LN_ALARM: f64 = -16.2;

/// One stream of a fixed generator.
pub(crate) fn stream(seed: u64) -> NoiseStream {
    NoiseRng::deterministic_not_private(seed).stream()
}

/// Pearson's statistic against its threshold: positive means rejected.
///
/// The threshold is the Laurent-Massart tail bound of chi-square; cells expecting
/// fewer than 20 counts are merged into their neighbour.
pub(crate) fn chi_square_excess(observed: &[u64], probability: &[f64]) -> f64 {
    assert_eq!(observed.len(), probability.len());
    let n: u64 = observed.iter().sum();
    let (mut statistic, mut cells) = (0.0, 0usize);
    let (mut count, mut expect) = (0.0, 0.0);
    for (o, p) in observed.iter().zip(probability) {
        count += *o as f64;
        expect += p * n as f64;
        if expect >= 20.0 {
            statistic += (count - expect).powi(2) / expect;
            cells += 1;
            (count, expect) = (0.0, 0.0);
        }
    }
    if expect > 0.0 {
        statistic += (count - expect).powi(2) / expect.max(1.0);
        cells += 1;
    }
    let (k, x) = ((cells - 1) as f64, -LN_ALARM);
    statistic - (k + 2.0 * (k * x).sqrt() + 2.0 * x)
}

/// Kolmogorov-Smirnov distance against its threshold (Dvoretzky, Kiefer, Wolfowitz,
/// Massart): positive means rejected.
pub(crate) fn ks_excess(samples: &mut [f64], cdf: impl Fn(f64) -> f64) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    let n = samples.len() as f64;
    let mut distance = 0f64;
    for (i, &x) in samples.iter().enumerate() {
        let f = cdf(x);
        distance = distance.max((f - i as f64 / n).abs()).max(((i + 1) as f64 / n - f).abs());
    }
    distance - ((2f64.ln() - LN_ALARM) / (2.0 * n)).sqrt()
}

/// The standard normal cdf.
pub(crate) fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * core::f64::consts::FRAC_1_SQRT_2)
}
