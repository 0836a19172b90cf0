//! Chosen groups: sensitivities by brute force, files and certificates, posterior means, what is refused.

use dp_core::certificate::Trust;
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{decode, encode};
use dp_core::{
    Adjacency, Budget, NoiseRng, Probability, Profile, PublicGenerator, PublicSeed, Release,
};
use rand_core::Rng;
use sketch::RowsView;
use sketch::projection::{Family, Groups, ProjectionSpec, PublicMoments, project};
use sketch::search::{Queries, Score, SketchIndex};
use sketch::signs::SignSketch;
use sketch::vectors::{
    NoiseKind, Pairs, Posterior, PrivateProjection, PrivateSketch, ProjectionConfig,
};
use sketch::verify::Finding;

fn bound<B: TryFrom<f64, Error = dp_core::Error>>(x: f64) -> B {
    B::try_from(x).unwrap()
}

fn rng(seed: u64) -> NoiseRng {
    NoiseRng::deterministic_not_private(seed)
}

fn uniform(bits: &mut PublicGenerator) -> f64 {
    (bits.next_u64() >> 11) as f64 * 2f64.powi(-53)
}

/// Any assignment: sizes from one group to one an attribute.
fn random(d: usize, k: usize, seed: u64) -> Groups {
    let mut bits = PublicSeed::new(seed).generator(0);
    let group = |i: usize, bits: &mut PublicGenerator| {
        let g = if i < k { i } else { (bits.next_u64() % k as u64) as usize };
        let sign = if bits.next_u64() & 1 == 0 { 1 } else { -1 };
        sign * (g as i32 + 1)
    };
    Groups::new(&(0..d).map(|i| group(i, &mut bits)).collect::<Vec<_>>()).unwrap()
}

fn made(groups: Groups, noise: NoiseKind, delta: f64) -> PrivateProjection {
    use dp_core::mechanism::Mechanism;
    let config = ProjectionConfig {
        projection: groups.spec().build(),
        adjacency: Adjacency::Attribute { beta: bound(0.7) },
        bound: bound(1.0),
        noise,
    };
    PrivateProjection::calibrate(config, Budget::new(1.0, delta).unwrap()).unwrap()
}

/// Of twenty assignments, every attribute of random rows moved by beta either way: one number moves, by beta, and that
/// is what is paid for. A row of two nonzeros, the mistake to fear, would be seen.
#[test]
fn one_attribute_moves_one_sum_by_beta() {
    for seed in 0..20 {
        let (d, k) = (23, 1 + seed as usize % 23);
        let groups = random(d, k, seed);
        let p = groups.spec().build();
        assert_eq!((p.spec().k(), p.touched_by_one_attribute()), (k, 1));
        let mut bits = PublicSeed::new(seed).generator(1);
        let x: Vec<f64> = (0..d).map(|_| uniform(&mut bits)).collect();
        let image = |x: &[f64]| project(&*p, RowsView::f64(1, d, x).unwrap()).unwrap();
        let before = image(&x);
        let mut worst = 0f64;
        for i in 0..d {
            for step in [0.7, -0.7] {
                let mut y = x.clone();
                y[i] += step;
                let moved: Vec<f64> =
                    image(&y).iter().zip(&before).map(|(a, b)| (a - b).abs()).collect();
                assert_eq!(moved.iter().filter(|m| **m > 0.0).count(), 1);
                worst = worst.max(moved.iter().fold(0.0, |m, x| m.max(*x)));
            }
        }
        for (noise, delta) in
            [(NoiseKind::Gaussian, 1e-6), (NoiseKind::Laplace, 0.0), (NoiseKind::Staircase, 0.0)]
        {
            let mechanism = made(groups, noise, delta);
            let paid = match *mechanism.guarantee().profile().unwrap() {
                Profile::Gaussian { sensitivity, .. } => sensitivity.get(),
                Profile::Laplace { sensitivity, .. } | Profile::Staircase { sensitivity, .. } => {
                    sensitivity.get()
                }
                ref other => panic!("{other:?}"),
            };
            assert!(worst <= paid && paid < 0.7 * (1.0 + 1e-6), "{noise:?}: {worst} {paid}");
        }
        // Whole rows: the spectral norm is the root of the largest group, reached by equal entries in it.
        let norm = p.spectral_norm_bound().unwrap();
        let sizes =
            |g: usize| groups.signed().iter().filter(|s| s.unsigned_abs() as usize == g).count();
        let largest = (1..=k).map(sizes).max().unwrap() as f64;
        assert!(norm >= largest.sqrt() && norm < largest.sqrt() * (1.0 + 1e-12));
    }
}

#[test]
fn images_are_signed_sums_for_every_storage() {
    let groups = Groups::new(&[2, -1, 1, -2, 3]).unwrap();
    let p = groups.spec().build();
    let x = [1.0, 2.0, 4.0, 8.0, 16.0, 0.0, 0.0, 1.0, 0.0, -1.0];
    let rows = RowsView::f64(2, 5, &x).unwrap();
    assert_eq!(project(&*p, rows).unwrap(), [2.0, -7.0, 16.0, 1.0, 0.0, -1.0]);
    let bytes: Vec<u8> = [1u8, 2, 4, 8, 16].to_vec();
    let rows = RowsView::u8(1, 5, &bytes).unwrap();
    assert_eq!(project(&*p, rows).unwrap().len(), 3);
    let mut row = [9.0; 3];
    p.row(3, &mut row);
    assert_eq!(row, [0.0, -1.0, 0.0]);
}

fn released(groups: Groups, n: usize) -> Release<PrivateSketch> {
    let mut bits = PublicSeed::new(5).generator(0);
    let x: Vec<f64> = (0..n * groups.d()).map(|_| uniform(&mut bits)).collect();
    let rows = RowsView::f64(n, groups.d(), &x).unwrap();
    let mut os = NoiseRng::from_os().unwrap();
    made(groups, NoiseKind::Staircase, 0.0).release(rows, &mut os).unwrap()
}

#[test]
fn files_hold_the_groups_and_certificates_their_digest() {
    let release = released(random(30, 7, 3), 20);
    let report = sketch::verify(&release).unwrap();
    assert_eq!((report.sensitivity, report.payload), (Finding::Agrees, Finding::Agrees));
    let bytes = encode(&release).unwrap();
    let read: Release<PrivateSketch> = decode(&bytes).unwrap();
    assert!(read.payload() == release.payload());
    assert_eq!(read.payload().projection().groups(), Some(random(30, 7, 3)));
    let public = &release.certificate().statement().public;
    assert!(public.contains_key("groups") && public["projection"] == "grouped".into());
    // The certificate alone says that it cannot know.
    let alone = sketch::verify::verify_certificate(release.certificate(), &Trust::none());
    assert!(matches!(alone.unwrap(), Some(Finding::NotChecked(why)) if why.contains("groups")));
    assert!(ProjectionSpec::from_public_parameters(public).is_err());
    // Other groups under the same certificate.
    let (sketch, certificate) = release.into_parts();
    let other = PrivateSketch::new(
        random(30, 7, 4).spec(),
        sketch.noise().clone(),
        sketch.values().to_vec(),
    );
    let forged = Release::certified(other.unwrap(), certificate);
    let refused = sketch::verify(&forged).unwrap_err().to_string();
    assert!(refused.contains("groups"), "{refused}");
    assert!(encode(&forged).is_err());
}

#[test]
fn specs_that_disagree_with_their_groups_are_refused() {
    let groups = random(9, 3, 1);
    let family = Family::Grouped { groups };
    let seed = PublicSeed::new(0);
    assert_eq!(ProjectionSpec::new(family, 9, 3, seed).unwrap(), groups.spec());
    for (d, k, seed) in [(8, 3, 0), (9, 2, 0), (9, 9, 0), (9, 3, 1)] {
        assert!(
            ProjectionSpec::new(family, d, k, PublicSeed::new(seed)).is_err(),
            "{d} {k} {seed}"
        );
    }
    let text = serde_json::to_string(&groups.spec()).unwrap();
    assert_eq!(serde_json::from_str::<ProjectionSpec>(&text).unwrap(), groups.spec());
    let other = text.replace("\"k\":3", "\"k\":2");
    assert!(text != other && serde_json::from_str::<ProjectionSpec>(&other).is_err());
    assert_ne!(groups.spec().fingerprint(), random(9, 3, 2).spec().fingerprint());
    // Signs of sums are a sketch like others.
    assert_eq!(SignSketch::new(vec![groups.spec().build()]).unwrap().touched_by_one_attribute(), 1);
}

/// Group sums tell nothing unbiased of rows.
#[test]
fn estimates_of_rows_are_refused() {
    let release = released(random(12, 4, 2), 5);
    let pairs = Pairs::within(&release);
    let level = Probability::new(0.95).unwrap();
    assert!(pairs.squared_distance(0, 1).is_err());
    assert!(pairs.squared_norm(0).is_err());
    assert!(pairs.inner_product(0, 1).is_err());
    assert!(pairs.cosine(0, 1).is_err());
    assert!(pairs.squared_distance_interval(0, 1, level).is_err());
    assert!(pairs.squared_norm_interval(0, level).is_err());
    assert!(pairs.inner_product_interval(0, 1, level).is_err());
    assert!(pairs.cosine_interval(0, 1, level).is_err());
    use dp_core::mechanism::Mechanism;
    let prediction = made(random(12, 4, 2), NoiseKind::Laplace, 0.0).predict(0.0).unwrap();
    assert!(prediction.of.contains("projected rows"), "{prediction:?}");
}

/// Rows of a known law (two factors): the posterior mean of their noisy sums is nearer to them, by the share that
/// theory says, than the mean; and what it is by a direct solution of two attributes.
#[test]
fn posterior_means_are_the_best_linear_guess() {
    // One group of both attributes: gain S w / (w^T S w + v).
    let groups = Groups::new(&[1, 1]).unwrap();
    let moments = PublicMoments::new(vec![1.0, 2.0], &[2.0, 0.5, 0.5, 1.0]).unwrap();
    let law = NoiseLaw::RoundedGaussian {
        sigma: bound(1.5),
        grid: dp_core::noise::Grid::new(-20).unwrap(),
    };
    let sketch = PrivateSketch::new(groups.spec(), law, vec![5.0, 3.0]).unwrap();
    let posterior = Posterior::new(groups, &moments).unwrap();
    let found = posterior.rows(&sketch).unwrap();
    // The floor: 1/64 of the mean variance 1.5 on each.
    let f = 1.5 / 64.0;
    let (a, b) = (2.5 + f, 1.5 + f);
    let gain = 1.0 / (a + b + 2.25);
    let expected = [1.0 + a * gain * 2.0, 2.0 + b * gain * 2.0, 1.0, 2.0];
    assert!(found.iter().zip(expected).all(|(x, e)| (x - e).abs() < 1e-12), "{found:?}");
    // Exact queries have no noise; other groups are refused.
    let exact =
        PrivateSketch::exact(&*groups.spec().build(), RowsView::f64(1, 2, &[3.0, 2.0]).unwrap());
    let found = posterior.rows(&exact.unwrap()).unwrap();
    assert!((found[0] - (1.0 + a / (a + b) * 2.0)).abs() < 1e-12);
    let other = Groups::new(&[1, -1]).unwrap();
    assert!(Posterior::new(other, &moments).unwrap().rows(&sketch).is_err());
    assert!(Posterior::new(random(3, 2, 1), &moments).is_err());
}

/// Rows of eight independent factors of five attributes each; noise as large as the signal. Groups from a public
/// sample find the factors, and search by them is far ahead of random bins with equal noise.
#[test]
fn groups_of_a_public_sample_beat_random_bins() {
    let (d, n) = (40, 300);
    let mut bits = PublicSeed::new(8).generator(0);
    let mut draw = |n: usize| -> Vec<f64> {
        let mut all = Vec::new();
        for _ in 0..n {
            let factors: Vec<f64> = (0..8).map(|_| uniform(&mut bits)).collect();
            all.extend((0..d).map(|i| 0.9 * factors[i % 8] + 0.1 * uniform(&mut bits)));
        }
        all
    };
    let (sample, x) = (draw(400), draw(n));
    let rows = RowsView::f64(n, d, &x).unwrap();
    let moments = PublicMoments::of_sample(RowsView::f64(400, d, &sample).unwrap()).unwrap();
    let adjacency = Adjacency::Attribute { beta: bound(1.0) };
    let budget = Budget::new(3.0, 0.0).unwrap();
    let release = |spec: ProjectionSpec| {
        let made = PrivateProjection::staircase(spec.build(), adjacency, bound(1.0), budget);
        made.unwrap().release(rows, &mut rng(9)).unwrap()
    };
    let oporp = release(ProjectionSpec::new(Family::Oporp, d, 8, PublicSeed::new(1)).unwrap());
    let variance = oporp.payload().noise_variance();
    let groups = Groups::of(&moments, variance).unwrap();
    assert_eq!(groups.k(), 8);
    assert!((0..d).all(|i| groups.signed()[i] == groups.signed()[i % 8]));
    let grouped = release(groups.spec());
    let posterior = Posterior::new(groups, &moments).unwrap();
    let centred: Vec<f64> =
        x.chunks(d).flat_map(|r| r.iter().map(|v| v - 0.5).collect::<Vec<_>>()).collect();
    let first = |index: &SketchIndex<'_>, sketch: &PrivateSketch| -> usize {
        let found = index.top_k(&Queries::all(sketch), 6).unwrap();
        let near = |i: usize, j: usize| -> f64 {
            centred[i * d..][..d].iter().zip(&centred[j * d..][..d]).map(|(a, b)| a * b).sum()
        };
        // How many of the answers are among the sixty rows of the largest product.
        (0..n)
            .map(|i| {
                let mut all: Vec<usize> = (0..n).collect();
                all.sort_by(|a, b| near(i, *b).total_cmp(&near(i, *a)));
                found.indices(i).iter().filter(|f| all[..60].contains(&(**f as usize))).count()
            })
            .sum()
    };
    let index = SketchIndex::posterior(grouped.payload(), &posterior, Score::InnerProduct).unwrap();
    let plain = SketchIndex::new(oporp.payload(), Score::InnerProduct).unwrap();
    let (ours, theirs) = (first(&index, grouped.payload()), first(&plain, oporp.payload()));
    // A fifth is right by chance.
    let beyond = |found: usize| found as f64 - 6.0 * n as f64 / 5.0;
    assert!(beyond(ours) > 1.3 * beyond(theirs) && beyond(theirs) > 100.0, "{ours} {theirs}");
    // Rows that are asked for by number are those of all.
    let some = index.top_k(&Queries::rows(grouped.payload(), &[7, 3]).unwrap(), 4).unwrap();
    let all = index.top_k(&Queries::all(grouped.payload()), 4).unwrap();
    assert_eq!((some.indices(0), some.indices(1)), (all.indices(7), all.indices(3)));
}
