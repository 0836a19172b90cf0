//! Sums of private groups: what is refused before anything is paid, files, certificates, forgeries.

use dp_core::certificate::{Statement, Trust};
use dp_core::mechanism::Mechanism as _;
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{AnyCertificate, Summary, Trailer, Writer, decode, encode, open};
use dp_core::{
    Adjacency, Budget, Certificate, EntryBound, Epsilon, Guarantee, L2Sensitivity, NoiseRng,
    NoiseScale, NormBound, PrivacyProfile, Probability, Profile, PublicGenerator, PublicSeed,
    PublicValue, Release, Shift, Theorem, authority,
};
use linalg_dp::any::AnyRelease;
use linalg_dp::groups::{GroupSums, GroupsConfig, PrivateGroups};
use linalg_dp::verify::{Finding, verify, verify_certificate};
use rand_core::Rng;
use sketch::RowsView;
use sketch::search::{Queries, Score, SketchIndex};
use sketch::vectors::{Pairs, Posterior};

fn uniform(bits: &mut PublicGenerator) -> f64 {
    (bits.next_u64() >> 11) as f64 * 2f64.powi(-53)
}

fn config(d: usize, beta: f64, norm: f64) -> GroupsConfig {
    GroupsConfig {
        d,
        adjacency: Adjacency::Attribute { beta: Shift::new(beta).unwrap() },
        bound: EntryBound::new(1.0).unwrap(),
        norm: NormBound::new(norm).unwrap(),
        share: Probability::new(0.25).unwrap(),
    }
}

fn budget(epsilon: f64, delta: f64) -> Budget {
    Budget::new(epsilon, delta).unwrap()
}

/// Six columns each of two factors, in turn; every sixth against the others.
fn rows(n: usize, d: usize) -> Vec<f64> {
    let mut bits = PublicSeed::new(4).generator(0);
    let mut all = Vec::new();
    for _ in 0..n {
        let factors = [uniform(&mut bits), uniform(&mut bits)];
        all.extend((0..d).map(|i| {
            let x = 0.8 * factors[i % 2] + 0.2 * uniform(&mut bits);
            if i % 6 == 4 { 1.0 - x } else { x }
        }));
    }
    all
}

fn released(n: usize, d: usize, seed: Option<u64>) -> Release<GroupSums> {
    let mechanism = PrivateGroups::calibrate(config(d, 1.0, 2.2), budget(2.0, 1e-6)).unwrap();
    let values = rows(n, d);
    let view = RowsView::f64(n, d, &values).unwrap();
    let mut rng =
        seed.map_or_else(|| NoiseRng::from_os().unwrap(), NoiseRng::deterministic_not_private);
    mechanism.release(view, &mut rng).unwrap()
}

/// The guarantee is the composition of what a Gaussian of the stated sensitivity and a staircase of the rest lose: above
/// each of them, and at most that of adding up.
#[test]
fn one_guarantee_covers_both_steps() {
    for (epsilon, delta) in [(0.5, 1e-6), (1.0, 1e-9), (4.0, 1e-5)] {
        let mechanism =
            PrivateGroups::calibrate(config(20, 1.0, 2.0), budget(epsilon, delta)).unwrap();
        let guarantee = mechanism.guarantee();
        let Some(Profile::GaussianAndPure { sensitivity, sigma, epsilon: pure }) =
            guarantee.profile()
        else {
            panic!("{guarantee:?}")
        };
        assert_eq!(pure.get(), 0.75 * epsilon);
        let at = |p: &Profile, e: f64| p.log_delta(Epsilon::new(e).unwrap()).delta();
        let whole = at(guarantee.profile().unwrap(), epsilon);
        assert!(whole <= delta * (1.0 + 1e-9) && whole >= 0.999 * delta, "{whole}");
        let moments = Profile::Gaussian { sensitivity: *sensitivity, sigma: *sigma };
        assert!(at(&moments, epsilon) < whole && whole < at(&moments, 0.25 * epsilon));
    }
}

#[test]
fn nonsense_is_refused_before_rows_are_asked() {
    let made = |config, budget| PrivateGroups::calibrate(config, budget).map(drop);
    made(config(9, 1.0, 2.0), budget(1.0, 1e-6)).unwrap();
    for (case, allowed) in [
        (made(config(9, 1.0, 2.0), budget(1.0, 0.0)), "delta"),
        (made(config(9, 1.0, 2.0), budget(0.03, 1e-6)), "32"),
        (made(config(9, 1.0, 2.0), budget(30.0, 1e-6)), "20"),
        (made(config(0, 1.0, 2.0), budget(1.0, 1e-6)), "2^13"),
        (made(config(8193, 1.0, 2.0), budget(1.0, 1e-6)), "2^13"),
        (
            made(
                GroupsConfig { share: Probability::new(0.0).unwrap(), ..config(9, 1.0, 2.0) },
                budget(1.0, 1e-6),
            ),
            "(0, 1)",
        ),
        (
            made(
                GroupsConfig { share: Probability::new(1.0).unwrap(), ..config(9, 1.0, 2.0) },
                budget(1.0, 1e-6),
            ),
            "(0, 1)",
        ),
        (
            made(
                GroupsConfig {
                    adjacency: Adjacency::RowShift { l2: Shift::new(1.0).unwrap() },
                    ..config(9, 1.0, 2.0)
                },
                budget(1.0, 1e-6),
            ),
            "attribute",
        ),
        (
            made(
                GroupsConfig {
                    adjacency: config(9, 1.0, 2.0).adjacency.of_user(2).unwrap(),
                    ..config(9, 1.0, 2.0)
                },
                budget(1.0, 1e-6),
            ),
            "attribute",
        ),
    ] {
        let error = case.unwrap_err().to_string();
        assert!(error.contains(allowed), "{error} names {allowed}");
    }
    // A bound beyond all rows is that of the longest.
    let long = PrivateGroups::calibrate(config(9, 1.0, 1e9), budget(1.0, 1e-6)).unwrap();
    let whole = PrivateGroups::calibrate(config(9, 1.0, 3.0), budget(1.0, 1e-6)).unwrap();
    assert_eq!(long.sigma(), whole.sigma());
    // A larger norm, or a larger change, has more noise; beyond what entries can change none.
    let sigma = |beta: f64, norm: f64| {
        PrivateGroups::calibrate(config(9, beta, norm), budget(1.0, 1e-6)).unwrap().sigma().get()
    };
    assert!(sigma(1.0, 2.0) < sigma(1.0, 3.0) && sigma(0.5, 2.0) < sigma(1.0, 2.0));
    assert_eq!(sigma(2.0, 2.0), sigma(1e6, 2.0));
}

#[test]
fn rows_beyond_the_bound_and_other_rows_are_refused() {
    let mechanism = PrivateGroups::calibrate(config(3, 1.0, 2.0), budget(1.0, 1e-6)).unwrap();
    let good = [0.5; 12];
    let view = RowsView::f64(4, 3, &good).unwrap();
    let mut stream = mechanism.moments(NoiseRng::deterministic_not_private(1));
    assert!(stream.push(RowsView::f64(1, 3, &[0.5, 1.5, 0.0]).unwrap()).is_err());
    assert!(stream.push(RowsView::f64(1, 2, &[0.5, 0.5]).unwrap()).is_err());
    stream.push(view).unwrap();
    let mut sums = stream.choose().unwrap();
    sums.push(RowsView::f64(2, 3, &good[..6]).unwrap()).unwrap();
    assert!(sums.push(view).is_err());
    assert!(sums.finish().unwrap_err().to_string().contains("4 rows"));
    let none = mechanism.moments(NoiseRng::deterministic_not_private(1));
    assert!(none.choose().is_err());
}

/// Groups are those of the data's factors, with their signs, and what is guessed of rows is nearer to them than what chance
/// would find.
#[test]
fn groups_and_guesses_follow_from_the_moments() {
    let (n, d) = (6000, 12);
    let release = released(n, d, Some(7));
    let sums = release.payload().sums();
    let groups = sums.projection().groups().unwrap();
    let sign = |i: usize| if i % 6 == 4 { -1 } else { 1 };
    let expected: Vec<i32> = (0..d).map(|i| sign(i) * (i as i32 % 2 + 1)).collect();
    assert_eq!(groups.signed(), expected);
    let moments = release.payload().moments().unwrap();
    let posterior = Posterior::new(groups, &moments).unwrap();
    let guessed = posterior.rows(sums).unwrap();
    let values = rows(n, d);
    let off = |of: &dyn Fn(usize) -> f64| -> f64 {
        (0..n * d).map(|e| (values[e] - of(e)).powi(2)).sum::<f64>() / (n * d) as f64
    };
    let means: Vec<f64> =
        (0..d).map(|j| (0..n).map(|i| values[i * d + j]).sum::<f64>() / n as f64).collect();
    assert!(
        off(&|e| guessed[e]) < 0.6 * off(&|e| means[e % d]),
        "guesses are no better than means"
    );
    // Distances of rows cannot be told from them.
    let (sketch, certificate) = (sums.clone(), release.certificate().clone());
    assert!(
        Pairs::within(&Release::certified(sketch, certificate)).squared_distance(0, 1).is_err()
    );
    let index = SketchIndex::posterior(sums, &posterior, Score::Cosine).unwrap();
    assert_eq!(index.top_k(&Queries::rows(sums, &[3]).unwrap(), 1).unwrap().indices(0), [3]);
}

#[test]
fn equal_keys_give_equal_releases_and_others_do_not() {
    let (a, b, c) =
        (released(500, 6, Some(1)), released(500, 6, Some(1)), released(500, 6, Some(2)));
    assert_eq!(encode(&a).unwrap(), encode(&b).unwrap());
    assert_ne!(a.payload(), c.payload());
}

#[test]
fn files_hold_everything_that_a_reader_needs() {
    let release = released(300, 8, None);
    let report = verify(&release).unwrap();
    assert_eq!((report.sensitivity, report.payload), (Finding::Agrees, Finding::Agrees));
    let bytes = encode(&release).unwrap();
    let again = decode::<GroupSums, Certificate>(&bytes).unwrap();
    assert!(again.payload() == release.payload());
    let (summary, any) = AnyRelease::decode(&bytes).unwrap();
    any.verify(&Trust::none()).unwrap();
    assert_eq!((summary.kind.name(), summary.rows), ("sums of private groups", 300));
    assert!(linalg_dp::verify::verify_sensitivity(&summary, &Trust::none()).unwrap().is_some());
    // The certificate alone cannot know the groups.
    let alone = verify_certificate(release.certificate(), &Trust::none()).unwrap();
    assert!(matches!(alone, Some(Finding::NotChecked(_))), "{alone:?}");
    // The same seed once more is another noise, another release.
    assert!(released(300, 8, None).payload() != release.payload());
}

/// One column, rows that are all equal, rows of zeros, a single row, rows at the norm, a change that moves everything: each is released, and
/// verified.
#[test]
fn degenerate_rows_are_released() {
    let one = |n: usize, d: usize, value: f64, (beta, norm): (f64, f64)| {
        let mechanism = PrivateGroups::calibrate(config(d, beta, norm), budget(1.0, 1e-6)).unwrap();
        let values = vec![value; n * d];
        let view = RowsView::f64(n, d, &values).unwrap();
        let release = mechanism.release(view, &mut NoiseRng::from_os().unwrap()).unwrap();
        verify(&release).unwrap();
        let read = decode::<GroupSums, Certificate>(&encode(&release).unwrap()).unwrap();
        let groups = read.payload().sums().projection().groups().unwrap();
        let moments = read.payload().moments().unwrap();
        assert!(Posterior::new(groups, &moments).unwrap().rows(read.payload().sums()).is_ok());
    };
    for at in [(0.5, 1.0), (1e9, 1.0), (1e-6, 1e-3), (1.0, 1e9)] {
        for (n, d, value) in [(50, 1, 0.5), (50, 7, 1.0), (50, 7, 0.0), (1, 3, -1.0), (1, 1, 0.0)] {
            one(n, d, value, at);
        }
    }
}

/// The file of a release with another payload, statement or guarantee, and every hash and digest right again, as a forger would
/// seal it; whether it is read and verified, and why not.
fn forged(
    release: &Release<GroupSums>,
    payload: impl FnOnce(&mut [u8]),
    statement: impl FnOnce(&mut Statement),
    guarantee: Guarantee,
) -> Result<(), String> {
    let bytes = encode(release).unwrap();
    let opened = open(&bytes).unwrap();
    let mut changed = opened.payload.to_vec();
    payload(&mut changed);
    let mut stated = release.certificate().statement().clone();
    statement(&mut stated);
    let certificate: AnyCertificate = authority!().certificate(stated, guarantee).into();
    let Summary { kind, rows, columns, fingerprint, parameters, .. } = opened.summary;
    let shape = (rows as usize, columns as usize);
    let trailer = Trailer::new(shape, fingerprint, &parameters, certificate).unwrap();
    let mut out = Writer::begin(Vec::new(), kind).unwrap();
    out.payload(&changed).unwrap();
    let (bytes, _) = out.end(trailer).map_err(|e| e.to_string())?;
    let read = decode::<GroupSums, Certificate>(&bytes).map_err(|e| e.to_string())?;
    verify(&read).map(drop).map_err(|e| e.to_string())
}

/// Moments of other rows under the same groups, smaller bounds, less noise, other groups: each is found out although every
/// hash is right.
#[test]
fn forgeries_are_refused() {
    let release = released(6000, 9, None);
    let own = release.certificate().guarantee().clone();
    forged(&release, |_| (), |_| (), own.clone()).unwrap();
    let refused = |found: Result<(), String>, why: &str| {
        let error = found.unwrap_err();
        assert!(error.contains(why), "{error} says {why}");
    };
    // The moments are the last 55 numbers: those of columns that move together in another way.
    let from = |bytes: &[u8]| bytes.len() - 8 * 55;
    let other = |bytes: &mut [u8]| {
        let at = from(bytes);
        let numbers: Vec<[u8; 8]> = bytes[at..].as_chunks::<8>().0.to_vec();
        // Columns in another order: the first and the second change places.
        let index = |i: usize, j: usize| i.max(j) * (i.max(j) + 1) / 2 + i.min(j);
        let turned = |i: usize| [1, 0, 2, 3, 4, 5, 6, 7, 8, 9][i];
        for i in 0..10 {
            for j in 0..=i {
                let place = at + 8 * index(i, j);
                bytes[place..place + 8].copy_from_slice(&numbers[index(turned(i), turned(j))]);
            }
        }
    };
    refused(forged(&release, other, |_| (), own.clone()), "moments");
    let off = |bytes: &mut [u8]| {
        let at = from(bytes);
        bytes[at..at + 8].copy_from_slice(&0.1f64.to_le_bytes());
    };
    refused(forged(&release, off, |_| (), own.clone()), "grid");
    let quiet = |bytes: &mut [u8]| {
        let at = from(bytes);
        bytes[at..].fill(0);
    };
    assert!(forged(&release, quiet, |_| (), own.clone()).is_err());
    for (name, value, why) in [
        ("row_bound", PublicValue::from(2.6), "sensitivity"),
        ("row_bound", PublicValue::from(2u64), "row_bound"),
        ("largest entry", 1.7.into(), "sensitivity"),
        ("constant", 0.5.into(), "constant"),
        ("n", PublicValue::from(401u64), "n"),
        ("d", PublicValue::from(8u64), "d"),
        ("groups", "0000000000000000".into(), "groups"),
    ] {
        let change = |s: &mut Statement| drop(s.public.insert(name.into(), value));
        refused(forged(&release, |_| (), change, own.clone()), why);
    }
    for name in ["row_bound", "largest entry", "constant", "groups", "n"] {
        let change = |s: &mut Statement| drop(s.public.remove(name));
        assert!(forged(&release, |_| (), change, own.clone()).is_err(), "{name}");
    }
    // A sensitivity without the length of the row: what one entry alone would move.
    let Some(&Profile::GaussianAndPure { sensitivity, sigma, epsilon }) = own.profile() else {
        panic!("{own:?}")
    };
    let with = |sensitivity: f64, sigma, epsilon| {
        let sensitivity = L2Sensitivity::new(sensitivity).unwrap();
        let profile = Profile::GaussianAndPure { sensitivity, sigma, epsilon };
        authority!().proven(own.adjacency(), own.budget(), profile, Theorem::PrivateGroups)
    };
    let short = with(1.0, sigma, epsilon).unwrap();
    refused(forged(&release, |_| (), |_| (), short), "sensitivity");
    // Less noise than is stated, and an epsilon of the sums below that of their noise.
    let half = NoiseScale::new(0.5 * sigma.get()).unwrap();
    assert!(with(sensitivity.get(), half, epsilon).is_err());
    let loud = |s: &mut Statement| {
        let NoiseLaw::Several { laws } = &mut s.noise else { panic!() };
        let NoiseLaw::SymmetricGaussian { sigma, .. } = &mut laws[0] else { panic!() };
        *sigma = half;
    };
    assert!(forged(&release, |_| (), loud, own.clone()).is_err());
    let less = with(sensitivity.get(), sigma, Epsilon::new(1.0).unwrap()).unwrap();
    assert!(forged(&release, |_| (), |_| (), less).is_err());
    let narrow = |s: &mut Statement| {
        let NoiseLaw::Several { laws } = &mut s.noise else { panic!() };
        let NoiseLaw::Staircase { width, inner, .. } = &mut laws[1] else { panic!() };
        (*width, *inner) = (*width / 2, *inner / 2);
    };
    assert!(forged(&release, |_| (), narrow, own.clone()).is_err());
    let one = |s: &mut Statement| {
        let NoiseLaw::Several { laws } = &s.noise else { panic!() };
        s.noise = laws[1].clone();
    };
    assert!(forged(&release, |_| (), one, own.clone()).is_err());
}

/// Over many releases: moments and sums differ from the exact ones by noise of the stated deviations.
#[test]
fn noise_is_that_which_is_stated() {
    let (n, d) = (40, 4);
    let mechanism = PrivateGroups::calibrate(config(d, 1.0, 1.5), budget(2.0, 1e-6)).unwrap();
    let values = rows(n, d);
    let view = RowsView::f64(n, d, &values).unwrap();
    // Each row scaled to the norm, then the constant.
    let constant = 0.4375 * 1.5;
    let scaled: Vec<Vec<f64>> = values
        .chunks(d)
        .map(|row| {
            let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            row.iter().map(|x| x * (1.5 / length).min(1.0)).chain([constant]).collect()
        })
        .collect();
    let exact = |i: usize, j: usize| scaled.iter().map(|r| r[i] * r[j]).sum::<f64>();
    let (mut of_moments, mut of_sums) = (Vec::new(), Vec::new());
    for seed in 0..400 {
        let release =
            mechanism.release(view, &mut NoiseRng::deterministic_not_private(seed)).unwrap();
        let moments = release.payload().noisy_moments();
        for i in 0..=d {
            for j in 0..=i {
                let half = if i == j { 1.0 } else { 2.0 };
                of_moments.push(half * (moments[i * (d + 1) + j] - exact(i, j)).powi(2));
            }
        }
        let sums = release.payload().sums();
        let groups = sums.projection().groups().unwrap();
        for (row, released) in values.chunks(d).zip(sums.values().chunks(sums.k())) {
            let mut own = vec![0.0; sums.k()];
            for (x, g) in row.iter().zip(groups.signed()) {
                own[g.unsigned_abs() as usize - 1] += f64::from(g.signum()) * x;
            }
            of_sums.extend(released.iter().zip(own).map(|(y, x)| (y - x).powi(2)));
        }
    }
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    let stated = mechanism.predict(()).unwrap().root_mean_square;
    // 6000 squares of normal numbers, 16,000 and more of staircase ones: a tenth is six standard errors and more.
    assert!((mean(&of_moments) / mechanism.sigma().get().powi(2) - 1.0).abs() < 0.12);
    assert!((mean(&of_sums) / stated.powi(2) - 1.0).abs() < 0.12);
}
