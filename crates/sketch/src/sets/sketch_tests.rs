//! Bias, variance and determinism of the sketches without noise.

use super::signature::Scratch;
use super::*;
use dp_core::PublicSeed;

/// Two sets of consecutive items with `common` of them shared.
fn pair(common: u64, only_a: u64, only_b: u64) -> (ItemSet, ItemSet) {
    let a = (0..common + only_a).collect();
    let b = (0..common).chain(1_000_000..1_000_000 + only_b).collect();
    (ItemSet::new(a).expect("set"), ItemSet::new(b).expect("set"))
}

/// Mean and variance of the agreement over `repetitions` seeds.
fn moments<S: SetSketch>(
    make: impl Fn(PublicSeed) -> S,
    (a, b): &(ItemSet, ItemSet),
    repetitions: u64,
) -> (f64, f64) {
    let values: Vec<f64> = (0..repetitions)
        .map(|r| {
            let sketch = make(PublicSeed::new(r));
            let (mut x, mut y) = (vec![0; sketch.slots()], vec![0; sketch.slots()]);
            sketch.sketch_into(a, &mut x, &mut Scratch::default());
            sketch.sketch_into(b, &mut y, &mut Scratch::default());
            if sketch.scheme().sketch == "one-permutation" {
                bin_similarity(&x, &y)
            } else {
                f64::from(matches(&x, &y)) / sketch.slots() as f64
            }
        })
        .collect();
    let n = repetitions as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

/// (common, only A, only B): small, medium, large against 64 slots.
const SHAPES: [(u64, u64, u64); 5] =
    [(1, 0, 1), (3, 4, 2), (20, 10, 30), (100, 100, 100), (400, 100, 300)];

/// Every sketch is unbiased: 5.5 standard errors of 4,000 seeds (false alarms below 4e-8 each),
/// and the same test rejects an estimate off by 0.02.
#[test]
fn agreement_is_unbiased_and_no_wider_than_independent_slots() {
    const R: u64 = 4_000;
    const SLOTS: usize = 64;
    for shape in SHAPES {
        let sets = pair(shape.0, shape.1, shape.2);
        let j = sets.0.jaccard(&sets.1);
        let binomial = j * (1.0 - j) / SLOTS as f64;
        let check = |name: &str, (mean, variance): (f64, f64), widest: f64| {
            let se = (variance / R as f64).sqrt();
            assert!((mean - j).abs() < 5.5 * se, "{name} {shape:?}: {mean} against {j}, se {se}");
            assert!((mean + 0.02 - j).abs() > 5.5 * se, "{name}: no power");
            // The sample variance is off by about 1.5/sqrt(R) relative per sigma at these kurtoses.
            assert!(
                variance < widest * binomial * 1.15,
                "{name} {shape:?}: variance {variance}, {binomial}"
            );
        };
        let classic = moments(|s| MinHash::new(SLOTS, s).expect("slots"), &sets, R);
        check("minhash", classic, 1.0);
        assert!(classic.1 > 0.85 * binomial, "minhash slots are independent: {}", classic.1);
        check("fast", moments(|s| FastSimilarity::new(SLOTS, s).expect("slots"), &sets, R), 1.0);
        // Densification repeats bins of small sets: variance up to that of the set's own size.
        let dense = moments(|s| DenseOnePermutation::new(SLOTS, s).expect("bins"), &sets, R);
        check("dense one-permutation", dense, f64::INFINITY);
        let bare = moments(|s| OnePermutation::new(SLOTS, s).expect("bins"), &sets, R);
        check("bare bins", bare, f64::INFINITY);
    }
}

/// On sets larger than the sketch, fast similarity sketching has a lower variance than MinHash.
#[test]
fn fast_sketch_beats_independent_slots_on_middle_sets() {
    let sets = pair(60, 20, 20);
    let j = sets.0.jaccard(&sets.1);
    let (_, variance) = moments(|s| FastSimilarity::new(64, s).expect("slots"), &sets, 4_000);
    assert!(variance < 0.8 * j * (1.0 - j) / 64.0, "{variance}");
}

/// Bins of the bare sketch: an added item changes at most one bin.
#[test]
fn an_item_changes_at_most_one_bin() {
    for seed in 0..200 {
        let sketch = OnePermutation::new(16, PublicSeed::new(seed)).expect("bins");
        let small = ItemSet::new((0..30).collect()).expect("set");
        let large = ItemSet::new((0..31).collect()).expect("set");
        let m = sketch.sketch(&[small, large]);
        assert!(16 - matches(m.row(0), m.row(1)) <= 1);
    }
}

#[test]
fn rows_do_not_depend_on_threads_and_all_matches_agrees_with_pairs() {
    let sets: Vec<ItemSet> =
        (1..300u64).map(|i| ItemSet::new((0..i).map(|x| x * x).collect()).expect("set")).collect();
    let sketch = FastSimilarity::new(32, PublicSeed::new(5)).expect("slots");
    let with = |threads| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("pool")
            .install(|| sketch.sketch(&sets))
    };
    let one = with(1);
    assert_eq!(one, with(2));
    assert_eq!(one, with(8));
    let all = one.all_matches(&one).expect("same scheme");
    for (i, j) in [(0, 0), (3, 200), (298, 1)] {
        assert_eq!(all[i * 299 + j], matches(one.row(i), one.row(j)));
    }
    let none = sketch.sketch(&[]);
    assert!(one.all_matches(&none).expect("no rows").is_empty());
    assert!(none.all_matches(&one).expect("no rows").is_empty());
    let other = FastSimilarity::new(32, PublicSeed::new(6)).expect("slots").sketch(&sets);
    let error = one.all_matches(&other).expect_err("other seed").to_string();
    assert!(error.contains("seed 5") && error.contains("seed 6"), "{error}");
}
