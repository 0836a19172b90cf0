//! How many signs one attribute can change: published bounds, and the exact law for one pair.

use crate::error::{Error, Result};
use dp_core::numeric::{ln_binomial_sf, ln_normal_cdf};
use dp_core::{Delta, NormBound, Probability, Shift};

/// P+ of Li & Li (2023), Proposition 4.5, for Gaussian W: an upper bound on the probability
/// that *some* neighbour of a row of norm `m` has another sign in one projection,
/// `int_0^inf (2 Phi(beta t / m) - 1) 2 p phi(t) (2 Phi(t) - 1)^(p-1) dt`.
#[must_use]
pub fn any_neighbour_gaussian(beta: Shift, m: NormBound, d: usize) -> Probability {
    let (ratio, p) = (beta.get() / m.get(), d as f64);
    // Half-normal distribution function and the density of the largest of p half-normals.
    let within = |t: f64| -(2.0 * ln_normal_cdf(-t).exp() - 1.0);
    let density = |t: f64| {
        let ln_phi = -0.5 * t * t - 0.918_938_533_204_672_7;
        let tail = 2.0 * ln_normal_cdf(-t).exp();
        2.0 * p * (ln_phi + (p - 1.0) * (-tail).ln_1p()).exp()
    };
    // Simpson's rule; the integrand is smooth at the scale of 0.1 and gone beyond 40.
    const PANELS: u32 = 8000;
    let h = 40.0 / f64::from(PANELS);
    let sum: f64 = (1..PANELS)
        .map(|i| {
            let t = f64::from(i) * h;
            f64::from(2 + 2 * (i % 2)) * within(ratio * t) * density(t)
        })
        .sum();
    let edge = if d == 1 { 0.0 } else { within(0.0) };
    clamped((sum + edge) * h / 3.0)
}

/// P+ for Rademacher W by the paper's normal approximation (its equation 31),
/// `2 Phi(beta / m) - 1`. It is **no** bound: sparse rows exceed it.
#[must_use]
pub fn any_neighbour_rademacher(beta: Shift, m: NormBound) -> Probability {
    clamped(1.0 - 2.0 * ln_normal_cdf(-beta.get() / m.get()).exp())
}

fn clamped(p: f64) -> Probability {
    Probability::new(p.clamp(0.0, 1.0)).expect("clamped")
}

/// Which bound on the upper tail of `Bin(k, P+)` gives N+.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tail {
    /// The paper's: `(1 + h) k P+` with `exp(-h^2 k P+ / (h + 2)) = delta`.
    Chernoff,
    /// The smallest N with `Pr[Bin(k, P+) > N] <= delta`.
    Quantile,
}

/// N+ of Proposition 4.5: at most `k`, and at least one.
///
/// # Errors
/// An invalid delta (zero), or `k` of zero.
pub fn most_changes(k: usize, p: Probability, delta: Delta, tail: Tail) -> Result<u64> {
    if delta.get() == 0.0 {
        return Err(Error::invalid("delta", delta, "(0, 1)"));
    }
    if k == 0 {
        return Err(Error::invalid("k", k, "[1, inf)"));
    }
    let (n, p) = (k as u64, p.get());
    let mean = n as f64 * p;
    let most = match tail {
        Tail::Chernoff if mean == 0.0 => 1,
        Tail::Chernoff => {
            // h^2 mean = l (h + 2), l = ln(1/delta).
            let l = -delta.get().ln();
            let h = (l + (l * l + 8.0 * l * mean).sqrt()) / (2.0 * mean);
            ((1.0 + h) * mean).ceil() as u64
        }
        Tail::Quantile => {
            // Less than what the tail may be off by.
            let ln = delta.ln().get();
            let least = ln - (1e-12 + 3e-15 * (n as f64).sqrt() + 2e-15 * ln.abs());
            let exceeds = |m: u64| m < n && ln_binomial_sf(n, p, m) > least;
            let (mut low, mut high) = (0, n);
            while low < high {
                let mid = (low + high) / 2;
                if exceeds(mid) { low = mid + 1 } else { high = mid }
            }
            low
        }
    };
    Ok(most.clamp(1, n))
}

/// The largest probability, over pairs of rows of norm at least `m` that are `beta` apart,
/// that one fresh Gaussian projection gives them different signs, rounded up:
/// `(2/pi) asin(min(1, beta / (2 m)))`.
///
/// For rows at an angle theta it is theta / pi (Goemans & Williamson 1995), and
/// `|u - u'|^2 = (|u| - |u'|)^2 + 4 |u||u'| sin^2(theta/2) >= 4 m^2 sin^2(theta/2)`.
#[must_use]
pub fn one_pair_gaussian(beta: Shift, m: NormBound) -> Probability {
    let half = (beta.get() / (2.0 * m.get()) * (1.0 + f64::EPSILON)).min(1.0);
    clamped(half.asin() * (2.0 / core::f64::consts::PI) * (1.0 + 8.0 * f64::EPSILON))
}

/// As [`one_pair_gaussian`] for rows to which the constant `m` was appended, rounded up:
/// `(2/pi) atan(beta / (2 m))`.
///
/// Two such rows lie on a line that keeps the distance m from the origin, and a piece of length
/// beta of a line at distance h is seen under an angle of at most `2 atan(beta / (2 h))`.
#[must_use]
pub(crate) fn one_pair_lifted(beta: Shift, m: NormBound) -> Probability {
    let half = beta.get() / (2.0 * m.get()) * (1.0 + f64::EPSILON);
    clamped(half.atan() * (2.0 / core::f64::consts::PI) * (1.0 + 8.0 * f64::EPSILON))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::{Family, ProjectionSpec, project};
    use crate::rows::RowsView;
    use dp_core::PublicSeed;

    fn bound<B: TryFrom<f64, Error = dp_core::Error>>(x: f64) -> B {
        B::try_from(x).expect("positive")
    }

    /// Share of projections in which some neighbour of `u` has another sign.
    fn simulate(family: Family, u: &[f64], beta: f64, trials: usize) -> f64 {
        let d = u.len();
        let mut hits = 0;
        let k = d;
        let mut row = vec![0.0; k];
        for seed in 0..(trials / k) as u64 {
            let p =
                ProjectionSpec::new(family, d, k, PublicSeed::new(seed)).expect("valid").build();
            let x = project(p.as_ref(), RowsView::f64(1, d, u).expect("finite")).expect("shapes");
            let mut reach = vec![0.0f64; k];
            for i in 0..d {
                p.row(i, &mut row);
                reach.iter_mut().zip(&row).for_each(|(r, w)| *r = r.max(w.abs()));
            }
            hits += x.iter().zip(&reach).filter(|(x, r)| x.abs() < beta * **r).count();
        }
        hits as f64 / (trials / k * k) as f64
    }

    #[test]
    fn published_probability_matches_simulation_for_gaussian_rows() {
        // p = 784, u = 10 e1, beta = 1: 0.2636 published.
        let published = any_neighbour_gaussian(bound(1.0), bound(10.0), 784).get();
        assert!((published - 0.2636).abs() < 5e-5, "{published}");
        let mut u = vec![0.0; 784];
        u[0] = 10.0;
        let trials = 784 * 40;
        let found = simulate(Family::Gaussian, &u, 1.0, trials);
        // Six standard errors: false alarms below 2e-9.
        let error = 6.0 * (published * (1.0 - published) / trials as f64).sqrt();
        assert!((found - published).abs() < error, "{found} against {published}");
        assert!((found - 0.7 * published).abs() > error && (found - 1.3 * published).abs() > error);
    }

    #[test]
    fn the_rademacher_approximation_is_no_bound_on_sparse_rows() {
        let published = any_neighbour_rademacher(bound(0.5), bound(1.0)).get();
        assert!((published - 0.383).abs() < 5e-4, "{published}");
        // Five equal nonzeros, norm 1: |x| = |odd| / sqrt 5 < 0.5 exactly when the sum of
        // signs is +-1, with probability 20/32.
        let mut u = vec![0.0; 64];
        u[..5].fill(1.0 / 5f64.sqrt());
        let trials = 64 * 400;
        let found = simulate(Family::Rademacher, &u, 0.5, trials);
        let error = 6.0 * (0.625 * 0.375 / trials as f64).sqrt();
        assert!((found - 0.625).abs() < error, "{found}");
        assert!(found - error > published, "the published N+ would not be too small");
    }

    #[test]
    fn published_and_exact_tails() {
        let p = Probability::new(0.2).expect("valid");
        let delta = Delta::new(1e-6).expect("valid");
        let chernoff = most_changes(512, p, delta, Tail::Chernoff).expect("valid");
        let exact = most_changes(512, p, delta, Tail::Quantile).expect("valid");
        // Bin(512, 0.2): mean 102.4, deviation 9.05; the quantile is near mean + 4.75 deviations.
        assert!((145..=150).contains(&exact), "{exact}");
        assert!(chernoff > exact && chernoff <= 175, "{chernoff}");
        let tail = |m| ln_binomial_sf(512, 0.2, m).exp();
        assert!(tail(exact) <= 1e-6 && tail(exact - 1) > 1e-6);
        assert!(most_changes(512, p, Delta::ZERO, Tail::Quantile).is_err());
        let one = Probability::new(1.0).expect("valid");
        assert_eq!(most_changes(100, one, delta, Tail::Quantile).expect("valid"), 100);
    }

    #[test]
    fn no_lifted_pair_exceeds_its_angle_and_one_attains_it() {
        for (m, beta) in [(0.5, 1.0), (2.0, 1.5), (0.1, 3.0)] {
            let limit = one_pair_lifted(bound(beta), bound(m)).get();
            let mut largest: f64 = 0.0;
            // (a, b, m) and (a + step, b, m): the norm of the rest only brings them together.
            for i in -300..=300 {
                for b in [0.0, 0.3, 1.0, 4.0f64] {
                    for step in [beta, 0.7 * beta] {
                        let (a, h) = (f64::from(i) * beta / 200.0, b.hypot(m));
                        let angle = ((a + step) / h).atan() - (a / h).atan();
                        largest = largest.max(angle / core::f64::consts::PI);
                    }
                }
            }
            assert!(largest <= limit && largest > 0.9999 * limit, "{largest} of {limit}");
        }
        // Half of what the promise of a norm alone would have to pay for.
        assert!((one_pair_lifted(bound(1.0), bound(0.5)).get() - 0.5).abs() < 1e-14);
        assert_eq!(one_pair_gaussian(bound(1.0), bound(0.5)).get(), 1.0);
    }

    #[test]
    fn no_pair_exceeds_the_angle_bound_and_one_attains_it() {
        let (m, beta) = (2.0, 1.5);
        let limit = one_pair_gaussian(bound(beta), bound(m)).get();
        let angle = |u: [f64; 2], v: [f64; 2]| {
            (u[0] * v[1] - u[1] * v[0]).atan2(u[0] * v[0] + u[1] * v[1]).abs()
                / core::f64::consts::PI
        };
        let mut largest: f64 = 0.0;
        // All rows (a, b) and (a + beta, b) in the plane they span with the changed attribute.
        for i in -400..400 {
            for j in 0..400 {
                let (a, b) = (f64::from(i) / 100.0, f64::from(j) / 100.0);
                if a.hypot(b) >= m && (a + beta).hypot(b) >= m {
                    largest = largest.max(angle([a, b], [a + beta, b]));
                }
            }
        }
        assert!(largest <= limit && largest > 0.99 * limit, "{largest} of {limit}");
        let b = (m * m - beta * beta / 4.0).sqrt();
        assert!((angle([-beta / 2.0, b], [beta / 2.0, b]) - limit).abs() < 1e-12);
        assert_eq!(one_pair_gaussian(bound(5.0), bound(2.0)).get(), 1.0);
    }

    /// Where the tail is below delta by less than it may be off by, which is 3e-9 at 2^40 bits, N+ is the number above.
    #[test]
    fn the_quantile_allows_for_the_error_of_the_tail() {
        let (k, p, m) = (1usize << 40, 0.25, 1u64 << 38);
        let ln = ln_binomial_sf(k as u64, p, m);
        let at = |ln: f64| {
            let (p, delta) = (Probability::new(p), Delta::new(ln.exp()));
            most_changes(k, p.expect("valid"), delta.expect("valid"), Tail::Quantile)
        };
        assert_eq!(at(ln + 2e-9).expect("valid"), m + 1);
        assert!(at(ln + 1e-7).expect("valid") <= m);
    }

    /// The paper's equation 31 where beta is half of m, and where it is a sixth: `2 Phi(1/2) - 1` and `2 Phi(1/6) - 1`.
    #[test]
    fn the_rademacher_approximation_is_of_the_ratio() {
        for (m, expected) in [(2.0, 0.382_924_922_548_026), (6.0, 0.132_367_665_221_807)] {
            let found = any_neighbour_rademacher(bound(1.0), bound(m)).get();
            assert!((found - expected).abs() < 1e-9, "{found}");
        }
    }
}
