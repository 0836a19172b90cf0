//! The discrete laws against their probabilities. Every test rejects a sampler that is
//! right with probability at most 1e-7 and must reject the scales x0.7 and x1.3.

use crate::support::{chi_square_excess, ks_excess, normal_cdf, stream};
use dp_core::authority;
use dp_core::noise::{
    Bernoulli, BernoulliTable, Categorical, DiscreteGaussian, DiscreteLaplace, Geometric, Grid,
    KaryResponse, NoiseRng,
};
use dp_core::{LaplaceScale, NoiseScale, Probability};

fn probability(p: f64) -> Probability {
    Probability::new(p).unwrap()
}

fn b_of(b: f64) -> LaplaceScale {
    LaplaceScale::new(b).unwrap()
}

fn scale(s: f64) -> NoiseScale {
    NoiseScale::new(s).unwrap()
}

#[test]
fn bernoulli_words_have_the_right_rate_in_every_lane() {
    let words = 20_000;
    for p in [0.5, 0.25, 0.731_058_578_630_004_9, 0.01, 2f64.powi(-9) * 1.9, 1.0 - 1e-3] {
        let mut out = vec![0; words];
        Bernoulli::new(probability(p)).fill_words(&mut stream(1), &mut out);
        let per_lane: Vec<u64> =
            (0..64).map(|l| out.iter().map(|w| w >> l & 1).sum::<u64>()).collect();
        let ones: u64 = per_lane.iter().sum();
        let n = 64 * words as u64;
        let test = |q: f64| chi_square_excess(&[ones, n - ones], &[q, 1.0 - q]);
        assert!(test(p) < 0.0, "rate at {p}");
        assert!(test(0.7 * p) > 0.0, "no power at {p}");
        assert!(1.3 * p > 1.0 || test(1.3 * p) > 0.0, "no power at {p}");
        // Lanes are alike: 64 binomials of the same mean.
        let spread: f64 = per_lane
            .iter()
            .map(|&c| (c as f64 - words as f64 * p).powi(2) / (words as f64 * p * (1.0 - p)))
            .sum();
        assert!(spread < 64.0 + 2.0 * (64.0 * 16.2f64).sqrt() + 2.0 * 16.2, "lanes at {p}");
        // Neighbouring lanes and neighbouring words are independent.
        let lanes: u64 =
            out.iter().map(|w| u64::from((w & (w >> 1) & (u64::MAX >> 1)).count_ones())).sum();
        let m = 63 * words as u64;
        assert!((lanes as f64 - m as f64 * p * p).abs() < 6.0 * (3.0 * m as f64 * p * p).sqrt());
        let pairs: u64 = out.windows(2).map(|w| u64::from((w[0] & w[1]).count_ones())).sum();
        let m = 64 * (words as u64 - 1);
        assert!((pairs as f64 - m as f64 * p * p).abs() < 6.0 * (3.0 * m as f64 * p * p).sqrt());
    }
}

#[test]
fn bernoulli_certainties_and_tiny_probabilities() {
    let mut out = [7; 4];
    Bernoulli::new(probability(0.0)).fill_words(&mut stream(2), &mut out);
    assert_eq!(out, [0; 4]);
    Bernoulli::new(probability(1.0)).fill_words(&mut stream(2), &mut out);
    assert_eq!(out, [u64::MAX; 4]);
    for p in [f64::MIN_POSITIVE, 5e-324, 2f64.powi(-70) * 1.1] {
        let mut out = [0; 64];
        Bernoulli::new(probability(p)).fill_words(&mut stream(3), &mut out);
        assert_eq!(out, [0; 64]);
        assert!(!Bernoulli::new(probability(p)).sample(&mut stream(4)));
    }
    let nearly = Bernoulli::new(probability(1.0f64.next_down()));
    nearly.fill_words(&mut stream(2), &mut out);
    assert_eq!(out, [u64::MAX; 4]);
}

#[test]
fn single_bits_follow_the_probability_and_flips_touch_only_their_bits() {
    let n = 500_000;
    for p in [0.3, 0.5, 0.9, 1.0 / 256.0] {
        let law = Bernoulli::new(probability(p));
        let mut s = stream(5);
        let ones = (0..n).filter(|_| law.sample(&mut s)).count() as u64;
        let test = |q: f64| chi_square_excess(&[ones, n - ones], &[q, 1.0 - q]);
        assert!(test(p) < 0.0 && test(0.7 * p) > 0.0);
        assert!(1.3 * p > 1.0 || test(1.3 * p) > 0.0);
    }
    let original = vec![0xDEAD_BEEF_0123_4567u64; 10];
    let mut words = original.clone();
    Bernoulli::new(probability(1.0)).flip_packed(&mut stream(6), &mut words, 130);
    for (i, (w, o)) in words.iter().zip(&original).enumerate() {
        let mask = if i < 2 {
            u64::MAX
        } else if i == 2 {
            3
        } else {
            0
        };
        assert_eq!(w ^ o, mask);
    }
    let sure = BernoulliTable::new(&[probability(0.0), probability(1.0)]);
    let which: Vec<u16> = (0..130).map(|i| u16::from(i % 3 == 0)).collect();
    let mut words = original.clone();
    sure.flip_each(&mut stream(7), &mut words, &which);
    for i in 0..640 {
        let flipped = (words[i / 64] ^ original[i / 64]) >> (i % 64) & 1;
        assert_eq!(flipped, u64::from(i < 130 && i % 3 == 0));
    }
}

#[test]
fn a_table_uses_each_bits_own_probability() {
    let rounds = 40_000u64;
    let p: Vec<f64> = (0..100).map(|i| (f64::from(i) + 6.0) / 107.0).collect();
    let flips: Vec<Probability> = p.iter().map(|&p| probability(p)).collect();
    let (table, which) = (BernoulliTable::new(&flips), Vec::from_iter(0..100u16));
    let mut counts = vec![0u64; 100];
    let mut s = stream(8);
    for _ in 0..rounds {
        let mut words = [0u64; 2];
        table.flip_each(&mut s, &mut words, &which);
        for (i, c) in counts.iter_mut().enumerate() {
            *c += words[i / 64] >> (i % 64) & 1;
        }
    }
    for (c, p) in counts.iter().zip(&p) {
        let test = |q: f64| chi_square_excess(&[*c, rounds - c], &[q, 1.0 - q]);
        assert!(test(*p) < 0.0 && test(0.7 * p) > 0.0);
        assert!(1.3 * p >= 1.0 || test(1.3 * p) > 0.0);
    }
}

#[test]
fn kary_response_keeps_and_spreads() {
    let (alphabet, n) = (7u64, 300_000);
    let law = |keep: f64| -> Vec<f64> {
        (0..7).map(|v| if v == 3 { keep } else { (1.0 - keep) / 6.0 }).collect()
    };
    let response = KaryResponse::new(alphabet, probability(0.6)).unwrap();
    let mut values = vec![3u32; n];
    response.apply(&mut stream(9), &mut values).unwrap();
    let mut counts = [0u64; 7];
    values.iter().for_each(|&v| counts[v as usize] += 1);
    assert!(chi_square_excess(&counts, &law(0.6)) < 0.0);
    assert!(chi_square_excess(&counts, &law(0.42)) > 0.0);
    assert!(chi_square_excess(&counts, &law(0.78)) > 0.0);
    let mut never = vec![0u8; 1000];
    KaryResponse::new(256, probability(0.0)).unwrap().apply(&mut stream(9), &mut never).unwrap();
    assert!(never.iter().all(|&v| v != 0));
    assert!(
        KaryResponse::new(257, probability(0.5))
            .unwrap()
            .apply(&mut stream(9), &mut never)
            .is_err()
    );
    assert!(KaryResponse::new(1, probability(0.5)).is_err());
    let full = KaryResponse::new(u64::MAX, probability(0.0)).unwrap();
    assert_ne!(full.respond(&mut stream(10), 5), 5);
}

#[test]
fn categorical_follows_its_weights() {
    let weights = [5u64, 0, 1, 10, 4];
    let law = Categorical::new(&weights).unwrap();
    let mut counts = [0u64; 5];
    let mut s = stream(11);
    (0..200_000).for_each(|_| counts[law.sample(&mut s)] += 1);
    let p = |f: f64| -> Vec<f64> {
        let mut w: Vec<f64> = weights.iter().map(|&w| w as f64).collect();
        w[3] *= f;
        let total: f64 = w.iter().sum();
        w.iter().map(|w| w / total).collect()
    };
    assert_eq!(counts[1], 0);
    assert!(chi_square_excess(&counts, &p(1.0)) < 0.0);
    assert!(chi_square_excess(&counts, &p(0.7)) > 0.0 && chi_square_excess(&counts, &p(1.3)) > 0.0);
    assert!(Categorical::new(&[]).is_err() && Categorical::new(&[0, 0]).is_err());
    assert!(Categorical::new(&[u64::MAX, 1]).is_err());
}

#[test]
fn geometric_follows_its_law() {
    for p in [0.9, 0.5, 0.3, 0.25, 0.01, 1.0 / 512.0] {
        let law = Geometric::new(probability(p)).unwrap();
        let mut s = stream(12);
        let cells = (12.0 / p) as usize + 2;
        let mut counts = vec![0u64; cells];
        (0..60_000).for_each(|_| counts[(law.sample(&mut s) as usize).min(cells - 1)] += 1);
        let pmf = |p: f64| -> Vec<f64> {
            (0..cells)
                .map(|k| {
                    let tail = (1.0 - p).powi(k as i32);
                    if k + 1 == cells { tail } else { tail * p }
                })
                .collect()
        };
        assert!(chi_square_excess(&counts, &pmf(p)) < 0.0, "geometric at {p}");
        assert!(chi_square_excess(&counts, &pmf(0.7 * p)) > 0.0);
        assert!(1.3 * p > 1.0 || chi_square_excess(&counts, &pmf(1.3 * p)) > 0.0);
    }
    assert_eq!(Geometric::new(probability(1.0)).unwrap().sample(&mut stream(1)), 0);
    assert!(Geometric::new(probability(0.0)).is_err());
}

/// Probabilities proportional to `weight(x)` on `-m..=m`, the rest at the ends.
fn pmf(m: i64, weight: impl Fn(f64) -> f64) -> Vec<f64> {
    let far = 40 * m;
    let w: Vec<f64> = (-far..=far).map(|x| weight(x as f64)).collect();
    let total: f64 = w.iter().sum();
    let mut cells = vec![0.0; 2 * m as usize + 1];
    for (i, w) in w.iter().enumerate() {
        cells[((i as i64 - far).clamp(-m, m) + m) as usize] += w / total;
    }
    cells
}

fn histogram(m: i64, n: usize, mut sample: impl FnMut() -> i64) -> Vec<u64> {
    let mut counts = vec![0; 2 * m as usize + 1];
    (0..n).for_each(|_| counts[(sample().clamp(-m, m) + m) as usize] += 1);
    counts
}

#[test]
fn discrete_laplace_follows_its_law() {
    for b in [0.4, 1.0, 2.75, 19.3] {
        let law = DiscreteLaplace::new(b_of(b)).unwrap();
        let (mut s, m) = (stream(13), (8.0 * b) as i64 + 2);
        let counts = histogram(m, 100_000, || law.sample(&mut s));
        let test = |b: f64| chi_square_excess(&counts, &pmf(m, |x| (-x.abs() / b).exp()));
        assert!(test(b) < 0.0 && test(0.7 * b) > 0.0 && test(1.3 * b) > 0.0, "at {b}");
    }
}

#[test]
fn discrete_gaussian_follows_its_law() {
    for sigma in [0.5, 1.0, 3.7, 41.25] {
        let law = DiscreteGaussian::new(scale(sigma)).unwrap();
        let (mut s, m) = (stream(14), (5.0 * sigma) as i64 + 2);
        let counts = histogram(m, 100_000, || law.sample(&mut s));
        let test = |t: f64| chi_square_excess(&counts, &pmf(m, |x| (-x * x / (2.0 * t * t)).exp()));
        assert!(test(sigma) < 0.0 && test(0.7 * sigma) > 0.0 && test(1.3 * sigma) > 0.0);
    }
    let wide = DiscreteGaussian::new(scale(1e9)).unwrap();
    let mut s = stream(15);
    let mut draws: Vec<f64> = (0..20_000).map(|_| wide.sample(&mut s) as f64).collect();
    for (factor, rejected) in [(1.0, false), (0.7, true), (1.3, true)] {
        let excess = ks_excess(&mut draws, |x| normal_cdf(x / (factor * 1e9)));
        assert_eq!(excess > 0.0, rejected);
    }
    assert!(DiscreteGaussian::new(scale(1e-9)).is_err());
    assert!(DiscreteLaplace::new(b_of(1e300)).is_err());
}

#[test]
fn symmetric_gaussian_is_isotropic_in_frobenius_norm() {
    let (d, sigma, n) = (40usize, 2.5, 200);
    let law = authority!().symmetric(d, scale(sigma), Grid::new(-30).unwrap()).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(18);
    let (mut diagonal, mut off) = (vec![], vec![]);
    for _ in 0..n {
        let mut out = vec![1.0; d * d];
        law.fill(&mut rng, &mut out);
        for i in 0..d {
            diagonal.push(out[i * d + i]);
            for j in 0..i {
                assert_eq!(out[i * d + j].to_bits(), out[j * d + i].to_bits());
                off.push(out[i * d + j]);
            }
        }
    }
    for (factor, rejected) in [(1.0, false), (0.7, true), (1.3, true)] {
        let s = sigma * factor;
        assert_eq!(ks_excess(&mut diagonal, |x| normal_cdf(x / s)) > 0.0, rejected);
        assert_eq!(ks_excess(&mut off, |x| normal_cdf(x * 2f64.sqrt() / s)) > 0.0, rejected);
    }
}

/// The proposals' scale is one above the largest sigma. 20,000 draws: the mean square is off by
/// more than 6 in 100 with probability below 1e-8, and by 0.7^2 it would be by 51.
#[test]
fn the_largest_sigma_of_the_discrete_gaussian_works() {
    let most = 2f64.powi(40);
    for sigma in [most, most.next_down()] {
        let law = DiscreteGaussian::new(scale(sigma)).unwrap();
        let mut values = vec![0i64; 20_000];
        law.add_block(&mut stream(40), &mut values);
        let mean = values.iter().map(|&x| (x as f64 / sigma).powi(2)).sum::<f64>() / 20_000.0;
        assert!((mean - 1.0).abs() < 0.06, "{sigma}: {mean}");
    }
    assert!(DiscreteGaussian::new(scale(most.next_up())).is_err());
    assert!(DiscreteLaplace::new(b_of(most.next_up())).is_err());
}
