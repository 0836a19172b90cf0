//! Quantiles of the normal law, for confidence intervals.

use core::f64::consts::FRAC_1_SQRT_2;

/// z with Pr[|N(0,1)| > z] = `miss`, for `miss` in `(0, 1]`; by bisection to full precision.
pub(crate) fn two_sided_quantile(miss: f64) -> f64 {
    let (mut low, mut high) = (0.0, 39.0);
    for _ in 0..80 {
        let mid = 0.5 * (low + high);
        if libm::erfc(mid * FRAC_1_SQRT_2) > miss { low = mid } else { high = mid }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::two_sided_quantile;

    #[test]
    fn quantiles_match_tables() {
        // mpmath: sqrt(2) erfinv(1 - miss).
        for (miss, z) in
            [(0.05, 1.959963984540054), (0.01, 2.575829303548901), (0.5, 0.674489750196082)]
        {
            assert!((two_sided_quantile(miss) - z).abs() < 1e-12, "{miss}");
        }
    }
}
