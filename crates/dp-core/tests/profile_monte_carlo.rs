//! Profiles against the simulated privacy loss of the mechanism itself.
//!
//! Fixed seed, 40,000 draws a case. `E[(1 - e^(eps - L))_+]` is a mean of values in
//! [0, 1]: it must lie within 5 standard errors (false alarm below 1e-6 a case), and the
//! same draws must reject the profile of 0.7 and of 1.3 times the noise.

use dp_core::profile::RowChange;
use dp_core::{Epsilon, L2Sensitivity, NoiseScale, NormBound, PrivacyProfile, Profile};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const DRAWS: usize = 40_000;

struct Draw(Xoshiro256PlusPlus);

impl Draw {
    fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    fn normal(&mut self) -> f64 {
        let unit = |bits: u64| ((bits >> 11) as f64 + 0.5) * 2f64.powi(-53);
        let (u, v) = (unit(self.0.next_u64()), unit(self.0.next_u64()));
        (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
    }

    fn normals(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.normal()).collect()
    }
}

/// Mean and standard error of `(1 - e^(eps - loss))_+`.
fn simulated(epsilon: f64, mut loss: impl FnMut() -> f64) -> (f64, f64) {
    let (mut sum, mut square) = (0.0, 0.0);
    for _ in 0..DRAWS {
        let x = 1.0 - (epsilon - loss()).min(0.0).exp();
        sum += x;
        square += x * x;
    }
    let n = DRAWS as f64;
    let mean = sum / n;
    (mean, ((square / n - mean * mean) / n).sqrt())
}

/// The simulated delta (the larger direction) agrees with `family(1)`, not with 0.7 or 1.3.
fn check(what: &str, epsilon: f64, worst: (f64, f64), family: impl Fn(f64) -> Profile) {
    let exact = |factor: f64| family(factor).log_delta(Epsilon::new(epsilon).unwrap()).delta();
    let (mean, error) = worst;
    println!("{what}: simulated {mean:.5} +- {error:.5}, profile {:.5}", exact(1.0));
    assert!((mean - exact(1.0)).abs() < 5.0 * error, "{what}: {mean} +- {error}, {}", exact(1.0));
    assert!(mean < exact(0.7) - 5.0 * error, "{what}: no power against 0.7");
    assert!(mean > exact(1.3) + 5.0 * error, "{what}: no power against 1.3");
}

fn larger(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    if a.0 >= b.0 { a } else { b }
}

fn scale(x: f64) -> NoiseScale {
    NoiseScale::new(x).unwrap()
}

/// X P + noise with P drawn afresh: the loss given P and the noise, from the densities.
#[test]
fn chi_mixture() {
    let (k, sigma, epsilon, later) = (5, 3.0, 0.5, 0.3);
    let mut draw = Draw::new(1);
    let losses = simulated(epsilon, || {
        // The row of P the adjacent inputs differ by, then noise, then a later Gaussian step.
        let (shift, noise) = (draw.normals(k), draw.normals(k));
        let ln_ratio: f64 = shift
            .iter()
            .zip(&noise)
            .map(|(d, z)| {
                let y = sigma * z + d;
                (y * y - (y - d) * (y - d)) / (2.0 * sigma * sigma)
            })
            .sum();
        let z = draw.normal() + later;
        ln_ratio + (z * z - (z - later) * (z - later)) / 2.0
    });
    check("chi mixture", epsilon, losses, |factor| Profile::ChiMixtureGaussian {
        k: k as u64,
        entry_shift: L2Sensitivity::new(1.0).unwrap(),
        sigma: scale(factor * sigma),
        later_mu: later / factor,
    });
}

/// ln density of one row N(0, diag(a) + sum of rank-one terms) in the plane.
fn ln_normal_2(y: [f64; 2], c: [[f64; 2]; 2]) -> f64 {
    let det = c[0][0] * c[1][1] - c[0][1] * c[1][0];
    let form = (c[1][1] * y[0] * y[0] - 2.0 * c[0][1] * y[0] * y[1] + c[0][0] * y[1] * y[1]) / det;
    -0.5 * (form + det.ln())
}

fn sketch_row(draw: &mut Draw, c: [[f64; 2]; 2]) -> [f64; 2] {
    let l = c[0][0].sqrt();
    let m = c[0][1] / l;
    let (x, z) = (draw.normal(), draw.normal());
    [l * x, m * x + (c[1][1] - m * m).sqrt() * z]
}

/// R [A; w I] in the plane: rows of the sketch drawn under one covariance, their
/// likelihood ratio against the other. The rows are unit vectors, not axis-parallel.
#[test]
fn johnson_lindenstrauss() {
    let (r, w, epsilon) = (6, 2.0, 0.4);
    let (s, t) = (0.6, 0.8);
    let lift = [[w * w, 0.0], [0.0, w * w]];
    let u = [[w * w + s * s, s * t], [s * t, w * w + t * t]];
    let v = [[w * w + t * t, -s * t], [-s * t, w * w + s * s]];
    let mut draw = Draw::new(2);
    let mut delta = |p: [[f64; 2]; 2], q: [[f64; 2]; 2]| {
        simulated(epsilon, || {
            (0..r)
                .map(|_| {
                    let y = sketch_row(&mut draw, p);
                    ln_normal_2(y, p) - ln_normal_2(y, q)
                })
                .sum()
        })
    };
    let add_remove = larger(delta(lift, u), delta(u, lift));
    let replace = larger(delta(u, v), delta(v, u));
    for (what, change, worst) in
        [("jl add", RowChange::AddRemove, add_remove), ("jl replace", RowChange::Replace, replace)]
    {
        check(what, epsilon, worst, |factor| Profile::JlMechanism {
            rows: r,
            bound: NormBound::new(1.0).unwrap(),
            lift: scale(factor * w),
            change,
        });
    }
}

/// ln det and the trace of the inverse direction of a 2 x 2 matrix M against M - v v^T:
/// the Wishart log-likelihood ratio of M, infinite where M - v v^T is not positive.
fn wishart_ln_density(m: [[f64; 2]; 2], nu: f64, s: f64) -> f64 {
    let det = m[0][0] * m[1][1] - m[0][1] * m[0][1];
    if det <= 0.0 || m[0][0] <= 0.0 {
        return f64::NEG_INFINITY;
    }
    0.5 * (nu - 3.0) * det.ln() - 0.5 * (m[0][0] + m[1][1]) / s
}

/// A^T A + N in the plane, N the Gram matrix of nu Gaussian rows; both directions, and
/// a row replaced by an orthogonal one.
#[test]
fn wishart() {
    let (nu, s, epsilon) = (9usize, 0.6f64, 0.5);
    let row = [0.6, 0.8];
    let other = [0.8, -0.6];
    let plus = |m: [[f64; 2]; 2], v: [f64; 2], sign: f64| {
        [
            [m[0][0] + sign * v[0] * v[0], m[0][1] + sign * v[0] * v[1]],
            [m[1][0] + sign * v[0] * v[1], m[1][1] + sign * v[1] * v[1]],
        ]
    };
    let mut draw = Draw::new(3);
    let mut noise = || {
        let mut m = [[0.0; 2]; 2];
        for _ in 0..nu {
            let x = [s.sqrt() * draw.normal(), s.sqrt() * draw.normal()];
            m = plus(m, x, 1.0);
        }
        m
    };
    let ln = |m| wishart_ln_density(m, nu as f64, s);
    let removed = simulated(epsilon, || {
        let m = noise();
        ln(m) - ln(plus(m, row, -1.0))
    });
    let added = simulated(epsilon, || {
        let m = noise();
        ln(m) - ln(plus(m, row, 1.0))
    });
    let profile = |factor: f64, change| Profile::Wishart {
        dim: 2,
        dof: nu as u64,
        bound: NormBound::new(1.0).unwrap(),
        scale: scale(factor * s),
        change,
    };
    check("wishart", epsilon, larger(removed, added), |f| profile(f, RowChange::AddRemove));
    // Replaced: M = N under P; under Q it is M + row - other.
    let replaced = simulated(epsilon, || {
        let m = noise();
        ln(m) - ln(plus(plus(m, row, 1.0), other, -1.0))
    });
    check("wishart replace", epsilon, replaced, |f| profile(f, RowChange::Replace));
    let one_row = profile(1.0, RowChange::AddRemove);
    assert!(replaced.0 > one_row.log_delta(Epsilon::new(epsilon).unwrap()).delta());
}
