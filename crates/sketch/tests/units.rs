//! Unit vectors: variances against the published table, coverage of every interval, files, refusals, search.

use dp_core::mechanism::Mechanism;
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{decode, encode};
use dp_core::{
    Adjacency, Budget, Certificate, Epsilon, L2Sensitivity, NoiseRng, NormBound, Probability,
    PublicSeed, Release, calibrate,
};
use sketch::plan::{Asked, PublicSearch, RowSearch};
use sketch::projection::{Family, ProjectionSpec, Sampling};
use sketch::search::{Score, UnitIndex};
use sketch::units::{PrivateUnits, UnitPairs, UnitQueries, UnitVectors, UnitsConfig};
use sketch::{Error, RowWriter, RowsView};

fn rng(seed: u64) -> NoiseRng {
    NoiseRng::deterministic_not_private(seed)
}

fn any(family: Family, d: usize, k: usize) -> UnitsConfig {
    let projection = ProjectionSpec::new(family, d, k, PublicSeed::new(3)).unwrap().build();
    UnitsConfig { projection, adjacency: Adjacency::AnyInput, lengths: None }
}

fn lengths(d: usize, bound: f64) -> UnitsConfig {
    let bound = NormBound::new(bound).unwrap();
    let config = any(Family::Identity, d, d);
    UnitsConfig { adjacency: Adjacency::ReplaceRow { bound }, lengths: Some(bound), ..config }
}

fn unit(config: UnitsConfig, epsilon: f64) -> PrivateUnits {
    PrivateUnits::new(config, Budget::new(epsilon, 0.0).unwrap()).unwrap()
}

fn released(
    config: UnitsConfig,
    epsilon: f64,
    rows: &[f64],
    n: usize,
    seed: u64,
) -> Release<UnitVectors> {
    let d = rows.len() / n;
    unit(config, epsilon).release(RowsView::f64(n, d, rows).unwrap(), &mut rng(seed)).unwrap()
}

/// The table of the published mechanism's variance a coordinate, measured on files: 64,000 numbers each, whose mean
/// square scatters by 0.6 %; 2 % are three of these deviations, at fixed seeds.
#[test]
fn variances_measured_on_files_are_those_of_the_table() {
    let (n, d) = (500, 128);
    let row: Vec<f64> = (0..d).map(|i| ((i * 37 % 19) as f64 - 9.0) * 1e-3).collect();
    let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
    for (epsilon, table, best) in
        [(1.0, 6.330, 0.397), (4.0, 0.4353, 1.516), (8.0, 0.1329, 2.743), (16.0, 0.0481, 4.561)]
    {
        let bytes =
            encode(&released(any(Family::Identity, d, d), epsilon, &row.repeat(n), n, 5)).unwrap();
        let release: Release<UnitVectors> = decode(&bytes).unwrap();
        let vectors = release.payload();
        let m = vectors.mean();
        assert!((m - best).abs() < 6e-4, "{epsilon}: {m}");
        let error = |(j, v): (usize, &f64)| (v / m - row[j % d] / norm).powi(2);
        let sum: f64 = vectors.values().iter().enumerate().map(error).sum();
        let variance = sum / (n * d) as f64;
        assert!((variance / table - 1.0).abs() < 0.02, "{epsilon}: {variance}, not {table}");
        // Exact Gaussian noise for unit rows of which one may become any other.
        let budget = Budget::new(epsilon, 1e-6).unwrap();
        let sigma = calibrate::gaussian(budget, L2Sensitivity::new(2.0).unwrap()).unwrap().get();
        assert!(sigma * sigma / variance >= 10.0, "{epsilon}: {}", sigma * sigma / variance);
        let guarantee = release.certificate().guarantee();
        assert_eq!(guarantee.budget(), Budget::new(epsilon, 0.0).unwrap());
        sketch::verify::verify_consistency(&release).unwrap();
    }
}

/// The cap holds the vector with its probability, on either side of its threshold, whatever the direction: six deviations.
#[test]
fn caps_are_hit_as_often_as_they_should_be() {
    let n = 40_000;
    for (row, epsilon) in [([-3.0, 0.0], 1.0), ([1e-300, 2e-300], 3.0), ([1e200, -1e-200], 0.2)] {
        let release = released(any(Family::Identity, 2, 2), epsilon, &row.repeat(n), n, 8);
        let NoiseLaw::UnitCap { threshold, inside, .. } = *release.payload().noise() else {
            panic!()
        };
        let largest = f64::max(row[0].abs(), row[1].abs());
        let u: Vec<f64> = row.iter().map(|x| x / largest).collect();
        let norm = u[0].hypot(u[1]);
        let along: Vec<f64> = release
            .payload()
            .values()
            .chunks(2)
            .map(|v| (v[0] * u[0] + v[1] * u[1]) / norm)
            .collect();
        for (count, p) in [
            (along.iter().filter(|a| **a >= threshold).count(), inside.get()),
            // The opposite cap: as improbable as epsilon says.
            (along.iter().filter(|a| **a <= -threshold).count(), inside.get() * (-epsilon).exp()),
        ] {
            let deviation = (n as f64 * p * (1.0 - p)).sqrt();
            let off = (count as f64 - n as f64 * p) / deviation;
            assert!(off.abs() < 6.0, "{row:?} {epsilon}: {off}");
        }
    }
}

/// Errors of estimates against what they state, and coverage of 90 % intervals. 2,000 pairs of independent draws a setting: of
/// an interval that covers exactly 90 % less than 87 % is four and a half deviations away. Chebyshev's cover more, and half of one does not.
#[test]
fn estimates_err_as_stated_and_intervals_cover() {
    let (n, confidence) = (2000, Probability::new(0.9).unwrap());
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(a, b)| a * b).sum::<f64>();
    for (k, epsilon) in [(1, 2.0), (2, 16.0), (3, 4.0), (8, 16.0), (40, 1.0), (40, 12.0)] {
        let x: Vec<f64> = (0..k).map(|i| 1.0 + (i % 3) as f64).collect();
        let close: Vec<f64> = x.iter().enumerate().map(|(i, x)| x + 0.3 * (i % 2) as f64).collect();
        let apart: Vec<f64> = x.iter().map(|x| -x).collect();
        let bound = 1.5 * norm(&x);
        for y in [&close, &apart] {
            let truth = dot(&x, y) / (norm(&x) * norm(y));
            for keep in [false, true] {
                let config = || if keep { lengths(k, bound) } else { any(Family::Identity, k, k) };
                let left = released(config(), epsilon, &x.repeat(n), n, 21);
                let right = released(config(), epsilon, &y.repeat(n), n, 22);
                let queries =
                    UnitQueries::exact(right.payload(), RowsView::f64(1, k, y).unwrap()).unwrap();
                for exact in [false, true] {
                    let pairs = match exact {
                        true => UnitPairs::exact(&left, &queries).unwrap(),
                        false => UnitPairs::between(&left, &right).unwrap(),
                    };
                    let product = if keep { dot(&x, y) } else { truth };
                    let distance = match keep {
                        true => x.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum(),
                        false => 2.0 - 2.0 * truth,
                    };
                    for (what, truth) in [("product", product), ("distance", distance)] {
                        let place = format!(
                            "{what}, k {k}, epsilon {epsilon}, lengths {keep}, exact {exact}"
                        );
                        let (mut inside, mut sum, mut square, mut stated) = (0, 0.0, 0.0, 0.0);
                        for i in 0..n {
                            let j = if exact { 0 } else { i };
                            let (estimate, interval) = match what {
                                "product" => (
                                    pairs.inner_product(i, j).unwrap(),
                                    pairs.inner_product_interval(i, j, confidence).unwrap(),
                                ),
                                _ => (
                                    pairs.squared_distance(i, j).unwrap(),
                                    pairs.squared_distance_interval(i, j, confidence).unwrap(),
                                ),
                            };
                            let room = 1e-9 * (1.0 + truth.abs());
                            inside += u32::from(
                                interval.low <= truth + room && truth - room <= interval.high,
                            );
                            sum += estimate.value - truth;
                            square += (estimate.value - truth).powi(2);
                            stated += estimate.standard_error.powi(2);
                        }
                        assert!(f64::from(inside) >= 0.87 * n as f64, "{place}: {inside} covered");
                        // Heavy tails: the deviation of a mean square is below 8 % for a kurtosis of 13.
                        let (mean, root) = (sum / n as f64, (square / n as f64).sqrt());
                        assert!(
                            mean.abs() < 6.0 * root / (n as f64).sqrt(),
                            "{place}: bias {mean}"
                        );
                        // The stated one is taken at estimates, which are cut to the range: never far below.
                        let ratio = root / (stated / n as f64).sqrt();
                        assert!((0.5..1.3).contains(&ratio), "{place}: {ratio} of what is stated");
                    }
                }
            }
        }
    }
}

#[test]
fn predictions_are_the_errors() {
    let (n, k) = (3000, 24);
    let x: Vec<f64> = (0..k).map(|i| f64::from(i % 5) - 2.0).collect();
    for epsilon in [2.0, 10.0] {
        let mechanism = unit(any(Family::Identity, k as usize, k as usize), epsilon);
        let predicted = mechanism.predict(1.0).unwrap().root_mean_square;
        let config = || any(Family::Identity, k as usize, k as usize);
        let left = released(config(), epsilon, &x.repeat(n), n, 31);
        let right = released(config(), epsilon, &x.repeat(n), n, 32);
        let pairs = UnitPairs::between(&left, &right).unwrap();
        let square = (0..n).map(|i| (pairs.cosine(i, i).unwrap().value - 1.0).powi(2)).sum::<f64>();
        let ratio = (square / n as f64).sqrt() / predicted;
        assert!((0.84..1.16).contains(&ratio), "{epsilon}: {ratio}");
    }
}

/// Shares found among 2,000 rows by 400 queries that have one row worth finding each, against what is predicted from public facts
/// alone: a share scatters by at most .025, and the normal law is off by up to .12, on the safe side, where epsilon is
/// large: the part of a vector along its direction is then nearly constant.
#[test]
fn searches_find_what_is_predicted() {
    let (n, d, queries, contrast) = (2000, 48, 400, 0.7);
    let mut rows = vec![0.0; (n + queries) * d];
    let entry = |i: u64| {
        (i.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29) ^ i)
            .wrapping_mul(0xD6E8_FEB8_6659_FD93)
            >> 11
    };
    rows.iter_mut()
        .enumerate()
        .for_each(|(i, x)| *x = entry(i as u64 + 7) as f64 / (1u64 << 53) as f64 - 0.5);
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    // Query q is at the stated cosine from row q, up to chance.
    for q in 0..queries {
        let (database, asked) = rows.split_at_mut(n * d);
        let (near, query) = (&database[q * d..(q + 1) * d], &mut asked[q * d..(q + 1) * d]);
        let (length, other) = (norm(near), norm(query));
        let across = (1.0f64 - contrast * contrast).sqrt() / other;
        near.iter().zip(query).for_each(|(a, b)| *b = contrast * a / length + across * *b);
    }
    let search = RowSearch {
        rows: n,
        returned: 20,
        contrast,
        // Of random directions, and of the part of a query that is one.
        contrast_deviation: (1.0f64 - contrast * contrast).powf(1.5) / (d as f64).sqrt(),
        spread: 1.0 / (d as f64).sqrt(),
    };
    let (database, asked) = rows.split_at(n * d);
    for epsilon in [3.0, 8.0, 16.0] {
        let release = released(any(Family::Identity, d, d), epsilon, database, n, 51);
        let other = released(any(Family::Identity, d, d), epsilon, asked, queries, 52);
        let variance = unit(any(Family::Identity, d, d), epsilon).variance();
        let index = UnitIndex::new(release.payload(), Score::InnerProduct).unwrap();
        let all: Vec<usize> = (0..queries).collect();
        for (kind, sought) in [
            (
                Asked::Exact,
                UnitQueries::exact(release.payload(), RowsView::f64(queries, d, asked).unwrap()),
            ),
            (Asked::Private, UnitQueries::released(other.payload(), &all)),
        ] {
            let found = index.top_k(&sought.unwrap(), 20).unwrap();
            let hits = (0..queries).filter(|&q| found.indices(q).contains(&(q as u32))).count();
            let (share, predicted) =
                (hits as f64 / queries as f64, search.recall(d, variance, kind).unwrap());
            assert!(
                (share - predicted).abs() < 0.15,
                "{epsilon} {kind:?}: {share}, not {predicted}"
            );
            let same = search.units(d, d, Epsilon::new(epsilon).unwrap(), kind).unwrap();
            assert!((same - predicted).abs() < 1e-6);
        }
    }
}

/// The facts of a public sample are those of its pairs, and the epsilon that is named is the least that will do.
#[test]
fn public_facts_and_needed_epsilons_hold_together() {
    // Two crowds of 30 rows each, at a right angle: near ones have cosine 1, of the others half.
    let rows: Vec<f64> =
        (0..60).flat_map(|i| if i % 2 == 0 { [2.0, 0.0] } else { [0.0, 0.5] }).collect();
    let projection = any(Family::Identity, 2, 2).projection;
    let view = RowsView::f64(60, 2, &rows).unwrap();
    let found = RowSearch::of_sample(view, projection.as_ref(), 10, (60, 10)).unwrap();
    // Of the 49 others 19 have cosine 1 and 30 have 0.
    let far = 19.0 / 49.0;
    assert!((found.contrast - (1.0 - far)).abs() < 1e-12 && found.contrast_deviation < 1e-6);
    assert!((found.spread - (far * (1.0 - far)).sqrt()).abs() < 1e-12, "{found:?}");
    let search = RowSearch::generous(5000).unwrap();
    assert_eq!((search.returned, RowSearch::generous(70).unwrap().returned), (10, 1));
    for (k, asked) in [(None, Asked::Exact), (Some(64), Asked::Private), (Some(300), Asked::Exact)]
    {
        let needed = search.epsilon_needed(300, k, asked).unwrap().unwrap();
        let recall = |epsilon: f64| {
            let epsilon = Epsilon::new(epsilon).unwrap();
            match k {
                Some(k) => search.units(300, k, epsilon, asked).unwrap(),
                None => search.best_units(300, epsilon, asked).unwrap().1,
            }
        };
        let needed = needed.get();
        assert!(recall(needed) >= RowSearch::FOUND && recall(needed / 1.011) < RowSearch::FOUND);
    }
    // Whole rows at epsilon 4: nothing, however the queries come and whatever the size.
    for rows in [1000, 10_000, 100_000] {
        let search = RowSearch::generous(rows).unwrap();
        for asked in [Asked::Exact, Asked::Private] {
            let (_, recall) = search.best_units(384, Epsilon::new(4.0).unwrap(), asked).unwrap();
            assert!(recall < RowSearch::FOUND, "{rows} {asked:?}: {recall}");
        }
    }
    // All rows are returned; as many as a search of one row can have.
    let all = RowSearch { returned: 9, ..RowSearch::generous(9).unwrap() };
    assert_eq!(all.recall(3, 1e300, Asked::Private).unwrap(), 1.0);
    for bad in [
        RowSearch { rows: 0, ..search },
        RowSearch { returned: 0, ..search },
        RowSearch { returned: 5001, ..search },
        RowSearch { contrast: f64::NAN, ..search },
        RowSearch { contrast_deviation: -0.1, ..search },
        RowSearch { spread: f64::INFINITY, ..search },
    ] {
        assert!(bad.recall(3, 1.0, Asked::Exact).is_err(), "{bad:?}");
    }
    assert!(RowSearch::generous(0).is_err());
    assert!(search.units(4, 5, Epsilon::new(1.0).unwrap(), Asked::Exact).is_err());
    let none = search.epsilon_needed(1 << 19, Some(1 << 19), Asked::Private).unwrap();
    assert!(none.is_none_or(|e| e.get() > 20.0));
    assert!(RowSearch::of_sample(view.slice(0..1), projection.as_ref(), 1, (60, 10)).is_err());
    // Pair by pair: without noise all near rows are found, under too much of it ten of sixty.
    let pairs = PublicSearch::of_sample(view, projection.as_ref(), 10, (60, 20)).unwrap();
    let [sharp, blind] = [1e-12, 1e9].map(|noise| pairs.recall(noise, Asked::Exact));
    assert!(sharp.share > 0.6 && (blind.share - 1.0 / 3.0).abs() < 0.01, "{sharp:?} {blind:?}");
    assert!(sharp.low <= sharp.share && sharp.share <= sharp.high && sharp.high <= 1.0);
    assert!(pairs.recall(0.1, Asked::Private).share < pairs.recall(0.1, Asked::Exact).share);
    for (sample, returned) in [(view.slice(0..2), 10), (view, 0), (view, 61)] {
        assert!(PublicSearch::of_sample(sample, projection.as_ref(), 1, (60, returned)).is_err());
    }
}

#[test]
fn every_projection_gives_directions_and_files_read_back() {
    let (n, d, k) = (5, 16, 4);
    let mut rows: Vec<f64> = (0..n * d).map(|i| (i * 7 % 13) as f64 - 6.0).collect();
    rows[2 * d..3 * d].fill(0.0);
    let srht = Family::Srht { sampling: Sampling::WithoutReplacement };
    for family in [Family::Oporp, srht, Family::Gaussian] {
        let release = released(any(family, d, k), 6.0, &rows, n, 4);
        let bytes = encode(&release).unwrap();
        let again: Release<UnitVectors, Certificate> = decode(&bytes).unwrap();
        assert_eq!(again.payload(), release.payload());
        // As rows come, however they are cut.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("units.dps");
        let mechanism = unit(any(family, d, k), 6.0);
        let mut noise = rng(4);
        let mut writer = RowWriter::create(&path, &mechanism, &mut noise).unwrap();
        for part in [0..1, 1..4, 4..5] {
            let rows = RowsView::f64(n, d, &rows).unwrap();
            writer.push(rows.slice(part)).unwrap();
        }
        writer.finish().unwrap();
        assert!(std::fs::read(&path).unwrap() == bytes, "{family:?}");
        // A row twice: nothing can be learned of it that another row does not share.
        let same = released(
            any(family, d, k),
            6.0,
            &rows.iter().map(|x| x * 1e150).collect::<Vec<_>>(),
            n,
            4,
        );
        assert_eq!(same.payload().values(), release.payload().values());
        let other = released(any(family, d, k), 6.0, &rows, n, 40);
        assert_ne!(other.payload().values(), release.payload().values());
    }
}

#[test]
fn exact_queries_find_what_is_near_and_other_projections_are_refused() {
    let (n, d) = (300, 32);
    let entry = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let rows: Vec<f64> = (0..(n * d) as u64).map(|i| entry(i * i + 3) as f64 - 8e6).collect();
    let release = released(any(Family::Identity, d, d), 50.0, &rows, n, 6);
    let view = RowsView::f64(n, d, &rows).unwrap();
    let queries = UnitQueries::exact(release.payload(), view).unwrap();
    for score in [Score::Cosine, Score::InnerProduct] {
        let found = UnitIndex::new(release.payload(), score).unwrap().top_k(&queries, 1).unwrap();
        let right = (0..n).filter(|&i| found.indices(i) == [i as u32]).count();
        assert!(right > 270, "{right}");
    }
    let other = released(any(Family::Oporp, d, 8), 50.0, &rows, n, 6);
    assert!(matches!(UnitPairs::between(&release, &other), Err(Error::Incompatible { .. })));
    assert!(UnitIndex::new(other.payload(), Score::Cosine).unwrap().top_k(&queries, 1).is_err());
    assert!(
        UnitQueries::exact(other.payload(), RowsView::f64(1, 2, &[1.0, 2.0]).unwrap()).is_err()
    );
    assert!(UnitQueries::released(release.payload(), &[n]).is_err());
}

#[test]
fn what_no_theorem_covers_is_refused() {
    let refused = |config: UnitsConfig, epsilon| {
        PrivateUnits::new(config, Budget::new(epsilon, 0.0).unwrap()).is_err()
    };
    let config = || any(Family::Identity, 3, 3);
    let bound = NormBound::new(1.0).unwrap();
    let add = Adjacency::AddRemoveRow { bound };
    assert!(refused(UnitsConfig { adjacency: add, ..config() }, 1.0));
    assert!(refused(UnitsConfig { lengths: Some(bound), ..any(Family::Oporp, 4, 2) }, 1.0));
    assert!(refused(config(), 64.5) && refused(config(), 1e-8));
    // A row beyond the bound: nothing is drawn.
    let mechanism = unit(lengths(2, 1.0), 1.0);
    let mut noise = rng(1);
    let rows = RowsView::f64(2, 2, &[0.1, 0.1, 1.0, 1.0]).unwrap();
    assert!(matches!(
        mechanism.release(rows, &mut noise),
        Err(Error::NormOutOfRange { row: 1, .. })
    ));
    let fine = RowsView::f64(1, 2, &[0.1, 0.1]).unwrap();
    let after = mechanism.release(fine, &mut noise).unwrap();
    assert_eq!(after.payload(), mechanism.release(fine, &mut rng(1)).unwrap().payload());
    // A delta is not spent.
    let with_delta = PrivateUnits::new(config(), Budget::new(1.0, 1e-6).unwrap()).unwrap();
    assert_eq!(with_delta.guarantee().budget().delta.get(), 0.0);
}
