//! Search over occupancy bits.

use dp_core::release_file::{decode, encode};
use dp_core::{Budget, Certificate, NoiseRng, PublicSeed, Release};
use sketch::Error;
use sketch::search::{Queries, Ranking, SetIndex, nearest};
use sketch::sets::{BinResponse, BucketPrivMin, ItemSet, PrivateSymbols, SetPairs, SymbolShape};

/// Eight groups of fifty sets that share three of four items.
fn sets() -> Vec<ItemSet> {
    let set = |i: u64| {
        let (group, own) = (i / 50, i % 50);
        let items =
            (0..24).map(|k| if k % 4 == own % 4 { 1_000_000 + i * 32 + k } else { group * 64 + k });
        ItemSet::new(items.collect()).unwrap()
    };
    (0..400).map(set).collect()
}

fn release(epsilon: f64, bins: usize, seed: u64) -> Release<PrivateSymbols> {
    let mechanism = BinResponse::calibrate(bins, 1, 1, Budget::new(epsilon, 0.0).unwrap()).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(17);
    mechanism.release(&sets(), PublicSeed::new(seed), &mut rng).unwrap()
}

/// The cosine of centred unbiased bits, by its definition.
fn cosine(x: &[u16], y: &[u16], (keep, keep_y): (f64, f64), means: &[f64]) -> f64 {
    let unbiased = |bit: u16, keep: f64| (f64::from(bit) - (1.0 - keep)) / (2.0 * keep - 1.0);
    let row = |x: &[u16], keep| {
        x.iter().zip(means).map(|(&b, m)| unbiased(b, keep) - m).collect::<Vec<f64>>()
    };
    let (x, y) = (row(x, keep), row(y, keep_y));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(&x, &y) / (dot(&x, &x) * dot(&y, &y)).sqrt()
}

#[test]
fn scores_are_cosines_of_centred_unbiased_bits() {
    let release = release(3.0, 64, 1);
    let bits = release.payload();
    let (keep, n) = (bits.keep().get(), bits.rows());
    let mean = |bin: usize| {
        let sum: f64 = (0..n).map(|i| f64::from(bits.row(i).unwrap()[bin])).sum();
        (sum / n as f64 - (1.0 - keep)) / (2.0 * keep - 1.0)
    };
    let means: Vec<f64> = (0..64).map(mean).collect();
    let index = SetIndex::new(bits).unwrap();
    let query = PrivateSymbols::exact(bits, &sets()[7..8]).unwrap();
    let exact = index.top_k(&Queries::all(&query), n).unwrap();
    let noisy = index.top_k(&Queries::rows(bits, &[7]).unwrap(), n).unwrap();
    assert_eq!(noisy.indices(0)[0], 7, "a row is nearest to itself");
    for (found, row, keep_row) in
        [(&exact, query.row(0).unwrap(), 1.0), (&noisy, bits.row(7).unwrap(), keep)]
    {
        assert_eq!(found.k(), n);
        for (&i, &score) in found.indices(0).iter().zip(found.scores(0)) {
            let other = bits.row(i as usize).unwrap();
            let expected = cosine(row, other, (keep_row, keep), &means);
            assert!((score - expected).abs() < 1e-12, "{i}: {score} {expected}");
        }
    }
    let within = nearest(SetPairs::within(&release), &[7, 7], 5, Ranking::Similarity).unwrap();
    let rows: Vec<u32> = within[1].iter().map(|hit| hit.row as u32).collect();
    assert_eq!(rows, noisy.indices(0)[1..6]);
    let likelihood = Ranking::Likelihood { size: 24.0, near: 0.5, far: 0.1 };
    let error = nearest(SetPairs::within(&release), &[7], 5, likelihood).unwrap_err().to_string();
    assert!(error.contains("by likelihood"), "{error}");
}

/// Share of sets of its own group among the first nine, over all sets.
fn recall(index: &SetIndex<'_>, queries: &PrivateSymbols) -> f64 {
    let found = index.top_k(&Queries::all(queries), 10).unwrap();
    let hits = |q: usize| {
        let others = found.indices(q).iter().filter(|&&i| i as usize != q).take(9);
        others.filter(|&&i| i as usize / 50 == q / 50).count()
    };
    (0..queries.rows()).map(hits).sum::<usize>() as f64 / (9 * queries.rows()) as f64
}

/// Denoising finds more, and so do queries without noise; chance is one in eight.
#[test]
fn denoised_rows_and_exact_queries_find_more() {
    let release = release(1.0, 256, 2);
    let bits = release.payload();
    let exact = PrivateSymbols::exact(bits, &sets()).unwrap();
    let (plain, denoised) = (SetIndex::new(bits).unwrap(), SetIndex::denoised(bits).unwrap());
    let found = [
        recall(&plain, bits),
        recall(&denoised, bits),
        recall(&plain, &exact),
        recall(&denoised, &exact),
    ];
    assert!(found[0] > 0.25 && found[1] > found[0] + 0.04, "{found:?}");
    assert!(found[2] > found[0] + 0.3 && found[3] > found[2] - 0.01, "{found:?}");
}

#[test]
fn other_releases_are_no_queries() {
    let (a, b) = (release(3.0, 64, 1), release(3.0, 64, 2));
    let index = SetIndex::new(a.payload()).unwrap();
    let other = index.top_k(&Queries::all(b.payload()), 3);
    assert!(matches!(other, Err(Error::Incompatible { .. })));
    let bins = BinResponse::calibrate(64, 2, 1, Budget::new(3.0, 0.0).unwrap()).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(1);
    let bins = bins.release(&sets(), PublicSeed::new(1), &mut rng).unwrap();
    for error in [SetIndex::new(bins.payload()), SetIndex::denoised(bins.payload())] {
        assert!(error.unwrap_err().to_string().contains("occupancy bits"));
    }
    assert!(index.top_k(&Queries::all(bins.payload()), 3).is_err());
    assert!(Queries::rows(a.payload(), &[400]).is_err());
    // Another budget under one seed: unbiased bits of either compare.
    let finer = release(5.0, 64, 1);
    assert_eq!(index.top_k(&Queries::all(finer.payload()), 3).unwrap().n(), 400);
}

/// Two releases of the same sets under one public seed: each set finds its own other release, by bins, buckets and occupancy
/// bits. Under another seed they do not compare.
#[test]
fn sets_of_two_releases_find_each_other() {
    let mut rng = NoiseRng::deterministic_not_private(29);
    let mut pair = |one: &dyn Fn(PublicSeed, &mut NoiseRng) -> Release<PrivateSymbols>| {
        let [a, b] = [1, 1].map(|seed| one(PublicSeed::new(seed), &mut rng));
        let (other, queries) = (one(PublicSeed::new(2), &mut rng), [3, 77, 399]);
        let found =
            nearest(SetPairs::between(&a, &b).unwrap(), &queries, 1, Ranking::Similarity).unwrap();
        let rows: Vec<usize> = found.iter().map(|hits| hits[0].row).collect();
        assert_eq!(rows, queries);
        // A release beside itself: its rows share their noise with themselves.
        let own = SetPairs::between(&a, &a).unwrap();
        let found = nearest(own, &queries, 399, Ranking::Similarity).unwrap();
        assert!(found.iter().zip(queries).all(|(hits, q)| hits.iter().all(|hit| hit.row != q)));
        assert!(matches!(SetPairs::between(&a, &other), Err(Error::Incompatible { .. })));
        assert!(nearest(own, &[400], 1, Ranking::Similarity).is_err());
    };
    let budget = Budget::new(8.0, 0.0).unwrap();
    for values in [1, 8] {
        let bins = BinResponse::calibrate(256, values, 1, budget).unwrap();
        pair(&|seed, rng| bins.release(&sets(), seed, rng).unwrap());
    }
    let shape = SymbolShape::new(64, 1, 4).unwrap();
    let buckets = BucketPrivMin::new(shape, dp_core::Epsilon::new(200.0).unwrap()).unwrap();
    pair(&|seed, rng| buckets.release(&sets(), seed, rng).unwrap());
}

#[test]
fn files_hold_one_bit_a_bin() {
    let release = release(3.0, 64, 1);
    let bytes = encode(&release).unwrap();
    let read = decode::<PrivateSymbols, Certificate>(&bytes).unwrap();
    assert!(read.payload() == release.payload());
    let more = encode(&self::release(3.0, 128, 1)).unwrap();
    // 64 bits more in each of 400 rows: eight bytes each, and a digit or two of text.
    assert!((3_200..3_300).contains(&(more.len() - bytes.len())), "{}", more.len() - bytes.len());
}

/// No rows, one row, equal rows, one bin.
#[test]
fn degenerate_releases_are_searched() {
    let mechanism = BinResponse::calibrate(1, 1, 1, Budget::new(1.0, 0.0).unwrap()).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(3);
    let same = vec![ItemSet::new(vec![5]).unwrap(); 4];
    for n in [0, 1, 4] {
        let release = mechanism.release(&same[..n], PublicSeed::new(1), &mut rng).unwrap();
        for index in [SetIndex::new(release.payload()), SetIndex::denoised(release.payload())] {
            let found = index.unwrap().top_k(&Queries::all(release.payload()), 9).unwrap();
            assert_eq!((found.n(), found.k()), (n, n));
        }
    }
}
