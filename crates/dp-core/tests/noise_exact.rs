//! Laws of the exactly rounded samplers; that they round exactly is tested beside them, against another program.

use crate::support::{chi_square_excess, ks_excess, normal_cdf};
use dp_core::authority;
use dp_core::noise::{AdditiveNoise, ChiSquare, Grid, HalfSpaceNormal, TruncatedNormal};
use dp_core::{NoiseRng, NoiseScale};

fn rng(seed: u64) -> NoiseRng {
    NoiseRng::deterministic_not_private(seed)
}

fn grid(exponent: i32) -> Grid {
    Grid::new(exponent).unwrap()
}

fn scale(s: f64) -> NoiseScale {
    NoiseScale::new(s).unwrap()
}

#[test]
fn chi_square_follows_its_law() {
    // Even degrees of freedom have an elementary cdf: 1 - exp(-x/2) sum (x/2)^i / i!.
    for dof in [2u64, 8, 32, 34, 40, 300] {
        let law = ChiSquare::new(dof, grid(-30)).unwrap();
        let mut rng = rng(16);
        let mut draws: Vec<f64> = (0..40_000).map(|_| law.sample(rng.stream())).collect();
        for (factor, rejected) in [(1.0, false), (0.7, true), (1.3, true)] {
            let excess = ks_excess(&mut draws, |x| {
                let y = x / factor / 2.0;
                let sum: f64 = (0..dof / 2)
                    .scan(-y, |ln, i| {
                        let term = ln.exp();
                        *ln += (y / (i + 1) as f64).ln();
                        Some(term)
                    })
                    .sum();
                1.0 - sum
            });
            assert_eq!(excess > 0.0, rejected, "dof {dof} factor {factor}");
        }
    }
    // Odd ones, and very many: near the cube of a normal (Wilson and Hilferty), within 1/(27 m).
    for dof in [33u64, 10_001, (1 << 40) - 1] {
        let law = ChiSquare::new(dof, grid(0)).unwrap();
        let (mut rng, m) = (rng(17), dof as f64);
        let law = if dof < 100 { ChiSquare::new(dof, grid(-30)).unwrap() } else { law };
        let mut draws: Vec<f64> = (0..20_000).map(|_| law.sample(rng.stream())).collect();
        let spread = (2.0 / (9.0 * m)).sqrt();
        for (factor, rejected) in [(1.0, false), (0.7, true), (1.3, true)] {
            let cdf =
                |x: f64| normal_cdf(((x / m).cbrt() - (1.0 - 2.0 / (9.0 * m))) / spread / factor);
            assert_eq!(ks_excess(&mut draws, cdf) > 0.0, rejected, "dof {dof} factor {factor}");
        }
    }
    assert!(ChiSquare::new(0, grid(0)).is_err() && ChiSquare::new(1 << 41, grid(0)).is_err());
    assert!(ChiSquare::new(3, grid(-61)).is_err());
}

#[test]
fn truncated_normals_follow_their_law() {
    for threshold in [-12.0, -2.0, -0.1, 0.0, 0.7, 3.0, 5.5, 9.0] {
        let law = TruncatedNormal::new(threshold, grid(-40)).unwrap();
        let mut rng = rng(18);
        let count = if threshold > 5.0 { 2_000 } else { 20_000 };
        let mut draws: Vec<f64> = (0..count).map(|_| law.sample(rng.stream())).collect();
        assert!(draws.iter().all(|x| *x >= threshold - grid(-40).spacing()));
        let upper = |x: f64| 0.5 * libm::erfc(x * core::f64::consts::FRAC_1_SQRT_2);
        // The same law with its distances from the threshold stretched is rejected.
        for (factor, rejected) in [(1.0, false), (0.7, true), (1.3, true)] {
            let cdf = |x: f64| {
                (1.0 - upper(threshold + (x - threshold) / factor) / upper(threshold)).max(0.0)
            };
            assert_eq!(ks_excess(&mut draws, cdf) > 0.0, rejected, "{threshold} {factor}");
        }
    }
    for bad in [f64::NAN, f64::INFINITY, 12.5, -13.0] {
        assert!(TruncatedNormal::new(bad, grid(-20)).is_err());
    }
    assert!(TruncatedNormal::new(1.0, grid(3)).is_err());
}

#[test]
fn normals_in_a_half_space_follow_their_law() {
    let upper = |x: f64| 0.5 * libm::erfc(x * core::f64::consts::FRAC_1_SQRT_2);
    for (threshold, x) in [(1.5, [3i64, 0, -4]), (-0.5, [1, 1 << 40, 0])] {
        let law = HalfSpaceNormal::new(threshold, grid(-30)).unwrap();
        let mut rng = rng(19);
        let draws: Vec<Vec<f64>> =
            (0..20_000).map(|_| law.draw(rng.stream(), &x).unwrap()).collect();
        let norm = x.iter().map(|x| (*x as f64).powi(2)).sum::<f64>().sqrt();
        let along = |v: &Vec<f64>| v.iter().zip(&x).map(|(v, x)| v * *x as f64 / norm).sum::<f64>();
        let mut component: Vec<f64> = draws.iter().map(along).collect();
        assert!(component.iter().all(|c| *c >= threshold - 1e-8));
        for (shift, rejected) in [(0.0, false), (0.1, true)] {
            let cdf = |x: f64| (1.0 - upper(x) / upper(threshold - shift)).max(0.0);
            assert_eq!(ks_excess(&mut component, cdf) > 0.0, rejected);
        }
        // Across the direction it is a normal of deviation one.
        let mut across: Vec<f64> = if x[1] == 0 {
            draws.iter().map(|v| 0.8 * v[0] + 0.6 * v[2]).collect()
        } else {
            draws.iter().map(|v| v[2]).collect()
        };
        for (factor, rejected) in [(1.0, false), (0.7, true), (1.3, true)] {
            assert_eq!(ks_excess(&mut across, |x| normal_cdf(x / factor)) > 0.0, rejected);
        }
    }
    let law = HalfSpaceNormal::new(0.0, grid(-30)).unwrap();
    for bad in [vec![], vec![0, 0], vec![1, i64::MIN], vec![(1 << 52) + 1]] {
        assert!(law.draw(rng(1).stream(), &bad).is_err(), "{bad:?}");
    }
}

#[test]
fn wishart_moments_and_symmetry() {
    let (d, dof, s2, n) = (5usize, 12u64, 0.37, 4000);
    let law = authority!().wishart(d, dof, scale(s2)).unwrap();
    let mut rng = rng(17);
    let (mut mean, mut square) = (vec![0.0; d * d], vec![0.0; d * d]);
    for _ in 0..n {
        let out = law.draw(&mut rng).unwrap();
        for i in 0..d {
            for j in 0..d {
                assert_eq!(out[i * d + j].to_bits(), out[j * d + i].to_bits());
                mean[i * d + j] += out[i * d + j] / f64::from(n);
                square[i * d + j] += out[i * d + j].powi(2) / f64::from(n);
            }
        }
    }
    let nu = dof as f64;
    for i in 0..d {
        for j in 0..d {
            let (m, v) = if i == j { (nu * s2, 2.0 * nu * s2 * s2) } else { (0.0, nu * s2 * s2) };
            let k = i * d + j;
            // Six standard errors; a scale off by 0.7 or 1.3 is 30 away on the diagonal.
            assert!((mean[k] - m).abs() < 6.0 * (v / f64::from(n)).sqrt(), "mean {i},{j}");
            let variance = square[k] - mean[k] * mean[k];
            assert!((variance / v - 1.0).abs() < 0.25, "variance {i},{j}");
        }
    }
    assert!(
        authority!().wishart(5, 4, scale(1.0)).is_err()
            && authority!().wishart(0, 4, scale(1.0)).is_err()
    );
}

#[test]
fn wishart_noise_is_added_to_exact_totals() {
    let d = 6;
    let law = authority!().wishart(d, 60, scale(3.0)).unwrap();
    let g = law.grid();
    let totals: Vec<i128> =
        (0..d * d).map(|e| (((e % d) * (e / d)) as i128 * 12_345) << 20).collect();
    // On a grid multiple the totals are just added, whatever their size.
    let noise = law.draw(&mut rng(3)).unwrap();
    let shifted: Vec<i128> = totals.iter().map(|t| t + (1 << 90)).collect();
    let exact = g.exponent() - 20;
    let sum = law.add_to(&mut rng(3), &totals, exact).unwrap();
    for (e, (sum, noise)) in sum.iter().zip(&noise).enumerate() {
        assert_eq!(*sum, noise + totals[e] as f64 * 2f64.powi(exact), "{e}");
    }
    assert!(law.add_to(&mut rng(3), &shifted, exact).unwrap().iter().all(|x| x.is_finite()));
    // A grid finer than the unit, or far from the noise, is refused.
    for (own, on) in [(0, -1), (-200, 0), (-30, 69)] {
        assert!(law.on(grid(on)).add_to(&mut rng(3), &totals, own).is_err(), "{own} {on}");
    }
}

#[test]
fn rows_over_a_gram_matrix_have_its_covariance() {
    let (d, w) = (3, 2.0);
    // Rank one, far above the lift; and nothing.
    for factor in [0i128, 1 << 30] {
        let q = [3i128, -5, 4];
        let totals: Vec<i128> = (0..9).map(|e| q[e / 3] * q[e % 3] * factor).collect();
        let law = authority!().gram_rows(20_000, scale(w)).unwrap();
        let rows = law.draw(&mut rng(9), d, &totals, -16).unwrap();
        // Along (4, 0, -3) and (5, 3, 0), where the data has nothing, and along itself.
        for direction in [[4.0, 0.0, -3.0], [5.0, 3.0, 0.0], [3.0, -5.0, 4.0]] {
            let along = |v: &[f64]| v.iter().zip(&direction).map(|(a, b)| a * b).sum::<f64>();
            let mut draws: Vec<f64> = rows.chunks(d).map(along).collect();
            let q = [3.0, -5.0, 4.0];
            let norm = along(&direction);
            let sd = (along(&q).powi(2) * factor as f64 * 2f64.powi(-16) + w * w * norm).sqrt();
            for (other, rejected) in [(1.0, false), (0.7, true), (1.3, true)] {
                let excess = ks_excess(&mut draws, |x| normal_cdf(x / (sd * other)));
                assert_eq!(excess > 0.0, rejected, "{factor} {direction:?} {other}");
            }
        }
    }
    assert!(authority!().gram_rows(0, scale(1.0)).is_err());
}

/// Low bits of every law are uniform: no lattice of how a number was computed is left. Sixteen cells, 50,000 draws, false
/// alarms at 1e-7; a sampler on a lattice of twice the grid is rejected.
#[test]
fn low_bits_are_uniform() {
    let count = 50_000u64;
    let test = |name: &str, steps: &[i64]| {
        let excess = |shift: u32| {
            let mut counts = [0u64; 16];
            steps.iter().for_each(|n| counts[((n >> shift << shift) & 15) as usize] += 1);
            chi_square_excess(&counts, &[1.0 / 16.0; 16])
        };
        assert!(excess(0) < 0.0 && excess(1) > 0.0, "{name}");
    };
    let mut rng = rng(33);
    for (dof, exponent) in [(1, -40), (9, -30), (500, -42)] {
        let law = ChiSquare::new(dof, grid(exponent)).unwrap();
        let draw = |_| (law.sample(rng.stream()) * 2f64.powi(-exponent)) as i64;
        test("chi-square", &(0..count).map(draw).collect::<Vec<_>>());
    }
    let law = TruncatedNormal::new(1.5, grid(-42)).unwrap();
    let draw = |_| (law.sample(rng.stream()) * 2f64.powi(42)) as i64;
    test("truncated", &(0..count).map(draw).collect::<Vec<_>>());
    let law = authority!().wishart(10, 25, scale(0.7)).unwrap();
    let per_step = 1.0 / law.grid().spacing();
    let matrices = (0..count / 55 + 1).flat_map(|_| {
        let m = law.draw(&mut rng).unwrap();
        (0..100)
            .filter(|e| e % 10 <= e / 10)
            .map(move |e| (m[e] * per_step) as i64)
            .collect::<Vec<_>>()
    });
    test("Wishart", &matrices.collect::<Vec<_>>());
    let law = authority!().gram_rows(5000, scale(1.7)).unwrap();
    let totals: Vec<i128> = (0..100).map(|e| if e % 11 == 0 { 1 << 30 } else { 1 << 20 }).collect();
    let rows = law.draw(&mut rng, 10, &totals, -24).unwrap();
    let per_step = 1.0 / law.grid().spacing();
    test("rows", &rows.iter().map(|x| (x * per_step) as i64).collect::<Vec<_>>());
}

#[test]
fn threads_change_nothing() {
    let d = 30;
    let totals: Vec<i128> =
        (0..d * d).map(|e| if e % (d + 1) == 0 { 1 << 40 } else { 0 }).collect();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let wishart =
                authority!().wishart(d, 90, scale(1.0)).unwrap().draw(&mut rng(1)).unwrap();
            let rows = authority!()
                .gram_rows(25, scale(1.0))
                .unwrap()
                .draw(&mut rng(2), d, &totals, -40)
                .unwrap();
            (wishart, rows)
        })
    };
    let one = run(1);
    assert!(run(2) == one && run(8) == one);
    // More rows than share a stream begin with the rows that fewer would be.
    let rows = |r| {
        authority!().gram_rows(r, scale(1.0)).unwrap().draw(&mut rng(2), d, &totals, -40).unwrap()
    };
    let (few, many) = (rows(68), rows(150));
    assert!(many[..68 * d] == few && many[68 * d..136 * d] != few);
}

/// Gaussian noise and then a chi-square draw from one stream would both come from its first word.
#[test]
#[should_panic(expected = "drawn from")]
fn a_stream_that_was_drawn_from_is_refused() {
    let mut stream = rng(5).stream();
    let noise = authority!().gaussian(scale(1.0), grid(-30)).unwrap();
    noise.add_block(&mut stream, &mut [0.0]).unwrap();
    let _ = ChiSquare::new(1, grid(-30)).unwrap().sample(stream);
}
