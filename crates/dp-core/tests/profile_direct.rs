//! Profiles against sums and integrals written down directly from their definitions, with
//! parameters at which no factor is one.

use dp_core::numeric::{ln_binomial_pmf, ln_chi_square_pdf};
use dp_core::profile::{CoordinateProfile, RowChange};
use dp_core::{
    Epsilon, L1Sensitivity, L2Sensitivity, LaplaceScale, NoiseScale, PrivacyProfile, Probability,
    Profile,
};

fn scale(x: f64) -> NoiseScale {
    NoiseScale::new(x).unwrap()
}

fn bound<B: TryFrom<f64, Error = dp_core::Error>>(x: f64) -> B {
    B::try_from(x).unwrap()
}

fn delta(profile: &Profile, epsilon: f64) -> f64 {
    profile.log_delta(Epsilon::new(epsilon).unwrap()).delta()
}

fn near(got: f64, expected: f64, room: f64, what: &str) {
    assert!((got / expected - 1.0).abs() < room, "{what}: {got:e} against {expected:e}");
}

fn gaussian(shift: f64, sigma: f64) -> Profile {
    Profile::Gaussian { sensitivity: L2Sensitivity::new(shift).unwrap(), sigma: scale(sigma) }
}

/// `D = B^2`, or `sqrt 2 B^2` for a replaced row.
#[test]
fn a_covariance_is_a_gaussian_of_the_squared_bound() {
    for (b, sigma) in [(3.0, 20.0), (0.5, 0.2), (1.0, 1.3)] {
        for (change, factor) in [(RowChange::AddRemove, 1.0), (RowChange::Replace, 2f64.sqrt())] {
            let profile =
                Profile::SymmetricGaussian { bound: bound(b), sigma: scale(sigma), change };
            let expected = delta(&gaussian(factor * b * b, sigma), 0.7);
            near(delta(&profile, 0.7), expected, 1e-11, &format!("bound {b}, {change:?}"));
        }
    }
}

/// `E[(1 - e^(eps - L))_+]` over `c ~ chi2_k`, `k = dof - dim + 1`, for a loss in c.
fn over_chi_square(k: f64, epsilon: f64, loss: impl Fn(f64) -> f64) -> f64 {
    let step = 1e-5;
    let mut sum = 0.0;
    for i in 0..1_700_000 {
        let c = (-12.0 + step * f64::from(i)).exp();
        let gap = loss(c) - epsilon;
        if gap > 0.0 {
            sum += -(-gap).exp_m1() * ln_chi_square_pdf(k, c).exp() * c;
        }
    }
    sum * step
}

/// Both directions of one row; the densities are `det^a` and the trace, `a = (dof - dim - 1)/2`.
fn wishart(dim: u64, dof: u64, t: f64, epsilon: f64) -> [f64; 2] {
    let (k, a) = ((dof - dim + 1) as f64, 0.5 * (dof - dim - 1) as f64);
    let removed = |c: f64| {
        if c <= t { f64::INFINITY } else { -a * (-t / c).ln_1p() - 0.5 * t }
    };
    let added = |c: f64| 0.5 * t - a * (t / c).ln_1p();
    [over_chi_square(k, epsilon, removed), over_chi_square(k, epsilon, added)]
}

#[test]
fn wishart_profiles_are_their_integrals() {
    for (dim, dof, b, s) in [(3u64, 9u64, 1.3, 0.9), (2, 40, 0.8, 0.4)] {
        let profile =
            |change| Profile::Wishart { dim, dof, bound: bound(b), scale: scale(s), change };
        let (t, epsilon) = (b * b / s, 0.45);
        let [removed, added] = wishart(dim, dof, t, epsilon);
        let what = format!("dim {dim}, dof {dof}");
        near(delta(&profile(RowChange::AddRemove), epsilon), removed.max(added), 1e-6, &what);
        // Replaced: these, or a row against an orthogonal one; and never above what two steps lose together.
        let replaced = delta(&profile(RowChange::Replace), epsilon);
        let orthogonal = wishart_orthogonal(dim, dof, t, epsilon);
        near(replaced, removed.max(added).max(orthogonal), 3e-4, &what);
        let half = wishart(dim, dof, t, 0.5 * epsilon);
        assert!(replaced < half[0] + (0.5 * epsilon).exp() * half[1], "{what}: {replaced}");
    }
}

/// A row of squared norm t against an orthogonal one, by midpoints over the planar Wishart matrix in its own
/// coordinates: `(r + y, z; z, r - y)` of density in proportion to `det^a e^-r`.
fn wishart_orthogonal(dim: u64, dof: u64, t: f64, epsilon: f64) -> f64 {
    let a = 0.5 * (dof - dim - 1) as f64;
    let (mean, n) = (2.0 * a + 3.0, 160);
    let far = mean + 9.0 * (2.0 * mean).sqrt() + 30.0;
    let (mut all, mut lost) = (0.0, 0.0);
    let middle =
        |i: i32, low: f64, high: f64| low + (high - low) * (f64::from(i) + 0.5) / f64::from(n);
    for i in 0..n {
        // Finer where the trace is small.
        let root = middle(i, 0.0, far.sqrt());
        let r = root * root;
        for j in 0..n {
            // y = r sin, z = r cos sin: det = (r cos cos)^2.
            let first = middle(j, -0.5, 0.5) * core::f64::consts::PI;
            for k in 0..n {
                let second = middle(k, 0.0, 0.5) * core::f64::consts::PI;
                let (y, det) = (r * first.sin(), (r * first.cos() * second.cos()).powi(2));
                let volume = 2.0 * root * (r * first.cos()) * (r * first.cos() * second.cos());
                let weight = (a * det.ln() - r).exp() * volume;
                let kept = (1.0 - t * (2.0 * y + t) / det).max(0.0).powf(a);
                all += weight;
                lost += weight * (1.0 - epsilon.exp() * kept).max(0.0);
            }
        }
    }
    lost / all
}

/// Sum over outcomes of `(p - e^eps q)_+`: `keep` and `other` for each of `n` letters that differ.
fn letters(n: u64, alphabet: u64, keep: f64, epsilon: f64) -> f64 {
    let other = (1.0 - keep) / (alphabet - 1) as f64;
    let rest = 1.0 - keep - other;
    let ways = |n: u64, k: u64| ln_binomial_pmf(n, 0.5, k).exp() * 2f64.powi(n as i32);
    let mut sum = 0.0;
    for up in 0..=n {
        for down in 0..=n - up {
            let still = (n - up - down) as i32;
            let count = ways(n, up) * ways(n - up, down) * rest.powi(still);
            let (up, down) = (up as i32, down as i32);
            let p = keep.powi(up) * other.powi(down);
            let q = keep.powi(down) * other.powi(up);
            sum += count * (p - epsilon.exp() * q).max(0.0);
        }
    }
    sum
}

/// Bits that all differ: the same with no third outcome.
fn bits(n: u64, keep: f64, epsilon: f64) -> f64 {
    let ways = |k: u64| ln_binomial_pmf(n, 0.5, k).exp() * 2f64.powi(n as i32);
    let side = |k: u64| keep.powi(k as i32) * (1.0 - keep).powi((n - k) as i32);
    (0..=n).map(|k| ways(k) * (side(k) - epsilon.exp() * side(n - k)).max(0.0)).sum()
}

#[test]
fn responses_are_their_sums() {
    let chance = |p: f64| Probability::new(p).unwrap();
    for (n, keep, epsilon) in [(1, 0.8, 0.9), (2, 0.7, 0.6), (7, 0.62, 1.1), (12, 0.57, 0.3)] {
        let profile = Profile::RandomizedResponse { bits: n, keep: chance(keep) };
        near(delta(&profile, epsilon), bits(n, keep, epsilon), 1e-9, &format!("{n} bits"));
        // A probability below one half tells as much.
        let profile = Profile::RandomizedResponse { bits: n, keep: chance(1.0 - keep) };
        near(delta(&profile, epsilon), bits(n, keep, epsilon), 1e-9, &format!("{n} bits"));
    }
    for (n, alphabet, keep, epsilon) in [(1, 3, 0.7, 0.8), (3, 5, 0.5, 0.9), (6, 4, 0.4, 0.7)] {
        let profile = Profile::KaryResponse { responses: n, alphabet, keep: chance(keep) };
        let expected = letters(n, alphabet, keep, epsilon);
        near(delta(&profile, epsilon), expected, 1e-9, &format!("{n} letters of {alphabet}"));
    }
}

#[test]
fn mixtures_are_their_sums() {
    let chance = |p: f64| Probability::new(p).unwrap();
    let (trials, p, epsilon) = (9u64, 0.3, 0.5);
    let check = |coordinate, of: &dyn Fn(u64) -> f64| {
        let expected: f64 = (1..=trials).map(|m| ln_binomial_pmf(trials, p, m).exp() * of(m)).sum();
        let profile = Profile::BinomialMixture { trials, probability: chance(p), coordinate };
        near(delta(&profile, epsilon), expected, 1e-9, &format!("{coordinate:?}"));
    };
    let keep = chance(0.65);
    check(CoordinateProfile::RandomizedResponse { keep }, &|m| bits(m, 0.65, epsilon));
    check(CoordinateProfile::KaryResponse { alphabet: 4, keep }, &|m| letters(m, 4, 0.65, epsilon));
    let shift = L2Sensitivity::new(0.7).unwrap();
    check(CoordinateProfile::Gaussian { shift, sigma: scale(1.4) }, &|m| {
        delta(&gaussian(0.7 * (m as f64).sqrt(), 1.4), epsilon)
    });
    let shift = L1Sensitivity::new(0.7).unwrap();
    check(CoordinateProfile::Laplace { shift, scale: LaplaceScale::new(1.4).unwrap() }, &|m| {
        (1.0 - (0.5 * (epsilon - 0.5 * m as f64)).exp()).max(0.0)
    });
}
