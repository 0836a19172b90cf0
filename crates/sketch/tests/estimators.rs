//! Estimators against simulation: unbiased and of the stated variance; copies and extreme numbers.
//! Intervals: `coverage.rs`.

use dp_core::authority;
use dp_core::noise::{AdditiveNoise, Grid};
use dp_core::release_file::{Kind, decode, encode_as};
use dp_core::{
    Adjacency, Budget, EntryBound, LaplaceScale, NoiseRng, NoiseScale, Probability, PublicSeed,
    Release, Shift,
};
use sketch::projection::{Family, ProjectionSpec, Sampling, project};
use sketch::rows::RowsView;
use sketch::search::{Queries, Score, SketchIndex};
use sketch::vectors::{Pairs, PrivateProjection, PrivateSketch, SketchNoise};

const REPETITIONS: u64 = 10_000;

struct Simulation {
    u: Vec<f64>,
    v: Vec<f64>,
    k: usize,
    family: Family,
    noise: SketchNoise,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Sums of values, squares and fourth powers of deviations from a known centre.
#[derive(Default)]
struct Deviations {
    n: f64,
    sums: [f64; 3],
}

impl Deviations {
    fn add(&mut self, x: f64) {
        self.n += 1.0;
        self.sums[0] += x;
        self.sums[1] += x * x;
        self.sums[2] += x.powi(4);
    }

    /// Mean zero and this variance, within 6 standard errors (a false alarm is rarer than 1e-8),
    /// and the same test sees 0.7 and 1.3 times the variance.
    fn check(&self, variance: f64, what: &str) {
        let [mean, second, fourth] = self.sums.map(|s| s / self.n);
        let sigma = (variance / self.n).sqrt();
        assert!(mean.abs() < 6.0 * sigma, "{what}: bias {mean}, error {sigma}");
        let tolerance = 6.0 * ((fourth - second * second) / self.n).sqrt();
        assert!((second - variance).abs() < tolerance, "{what}: {second}, stated {variance}");
        for wrong in [0.7, 1.3] {
            assert!((second - wrong * variance).abs() > tolerance, "{what}: no power");
        }
    }
}

impl Simulation {
    fn new(family: Family, k: usize, noise: SketchNoise) -> Self {
        let d = 2 * k;
        let u = (0..d).map(|i| (i % 5) as f64 * 0.3 - 0.2).collect();
        let v = (0..d).map(|i| (i % 3) as f64 * 0.4 - 0.3).collect();
        Self { u, v, k, family, noise }
    }

    fn spec(&self, seed: u64) -> ProjectionSpec {
        ProjectionSpec::new(self.family, self.u.len(), self.k, PublicSeed::new(seed)).unwrap()
    }

    /// Fresh projection and noise every time; the certificate is not looked at by estimators.
    fn run(&self, each: impl FnMut(&Release<PrivateSketch>)) {
        self.run_some(REPETITIONS, each);
    }

    fn run_some(&self, repetitions: u64, mut each: impl FnMut(&Release<PrivateSketch>)) {
        let adjacency = Adjacency::Attribute { beta: Shift::new(1.0).unwrap() };
        let budget = Budget::new(1.0, 1e-6).unwrap();
        let bound = EntryBound::new(2.0).unwrap();
        let any =
            PrivateProjection::gaussian(self.spec(0).build(), adjacency, bound, budget).unwrap();
        let mut rng = NoiseRng::deterministic_not_private(77);
        let empty = RowsView::f64(0, self.u.len(), &[]).unwrap();
        let (_, certificate) = any.release(empty, &mut rng).unwrap().into_parts();
        let both: Vec<f64> = self.u.iter().chain(&self.v).copied().collect();
        for seed in 0..repetitions {
            let spec = self.spec(seed);
            let rows = RowsView::f64(2, self.u.len(), &both).unwrap();
            let mut values = project(&*spec.build(), rows).unwrap();
            self.noise.add_to(&mut rng, &mut values).unwrap();
            let sketch = PrivateSketch::new(spec, self.noise.law(), values).unwrap();
            each(&Release::certified(sketch, certificate.clone()));
        }
    }

    fn noise_moments(&self) -> (f64, f64) {
        match self.noise {
            SketchNoise::Gaussian(n) => (n.sigma().get().powi(2), 0.0),
            SketchNoise::Staircase(n) => n.law().moments().unwrap().into(),
            SketchNoise::Laplace(n) => {
                let b = n.scale().get();
                (2.0 * b * b, 12.0 * b.powi(4))
            }
        }
    }
}

fn gaussian(sigma: f64) -> SketchNoise {
    let grid = Grid::new(-34).unwrap();
    SketchNoise::Gaussian(authority!().gaussian(NoiseScale::new(sigma).unwrap(), grid).unwrap())
}

fn laplace(scale: f64) -> SketchNoise {
    let grid = Grid::new(-34).unwrap();
    SketchNoise::Laplace(authority!().laplace(LaplaceScale::new(scale).unwrap(), grid).unwrap())
}

fn staircase(epsilon: f64, sensitivity: f64) -> SketchNoise {
    let epsilon = dp_core::Epsilon::new(epsilon).unwrap();
    let sensitivity = dp_core::L1Sensitivity::new(sensitivity).unwrap();
    let scale = dp_core::noise::StaircaseScale::new(epsilon, sensitivity).unwrap();
    SketchNoise::Staircase(authority!().staircase(scale, Grid::new(-34).unwrap()).unwrap())
}

#[test]
fn distances_products_and_norms_have_the_stated_moments() {
    let without = Family::Srht { sampling: Sampling::WithoutReplacement };
    for (family, noise) in [
        (Family::Gaussian, gaussian(0.3)),
        (Family::Rademacher, gaussian(0.3)),
        (Family::Oporp, gaussian(0.25)),
        (Family::Oporp, laplace(0.2)),
        (Family::Oporp, staircase(3.0, 0.6)),
        (without, gaussian(0.1)),
        (Family::VerySparse, gaussian(0.3)),
        (Family::Identity, gaussian(0.3)),
    ] {
        let mut s = Simulation::new(family, 16, noise);
        if family == Family::Identity {
            s.k = s.u.len();
        }
        let k = s.k as f64;
        let (t, c) = s.noise_moments();
        let m = s.spec(0).moments();
        let w: Vec<f64> = s.u.iter().zip(&s.v).map(|(a, b)| a - b).collect();
        let quartic =
            |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * a * b * b).sum::<f64>();
        let (uu, vv, uv, ww) = (dot(&s.u, &s.u), dot(&s.v, &s.v), dot(&s.u, &s.v), dot(&w, &w));
        let square = |r2: f64, s4: f64, t: f64, c: f64| {
            (2.0 * m.pair * r2 * r2 + m.quartic * s4) / k + 4.0 * t * r2 + k * (2.0 * t * t + c)
        };
        let distance = square(ww, quartic(&w, &w), 2.0 * t, 2.0 * c);
        let norm = square(uu, quartic(&s.u, &s.u), t, c);
        let product = (m.pair * (uu * vv + uv * uv) + m.quartic * quartic(&s.u, &s.v)) / k
            + t * (uu + vv)
            + k * t * t;
        let mut got = [Deviations::default(), Deviations::default(), Deviations::default()];
        let mut stated = [0.0; 3];
        s.run(|release| {
            let pairs = Pairs::within(release);
            let estimates = [
                pairs.squared_distance(0, 1).unwrap(),
                pairs.inner_product(0, 1).unwrap(),
                pairs.squared_norm(0).unwrap(),
            ];
            for (i, (e, exact)) in estimates.iter().zip([ww, uv, uu]).enumerate() {
                got[i].add(e.value - exact);
                stated[i] += e.standard_error.powi(2) / REPETITIONS as f64;
            }
        });
        for (i, variance) in [distance, product, norm].into_iter().enumerate() {
            let what = format!("{family:?} {noise:?} estimate {i}");
            got[i].check(variance, &what);
            // The release hides the coordinate-wise part: errors err upwards, never below.
            assert!(stated[i] > 0.93 * variance, "{what}: stated {}, true {variance}", stated[i]);
            let loosest = if family == Family::VerySparse { 4.0 } else { 1.3 };
            assert!(
                stated[i] < loosest * variance,
                "{what}: stated {}, true {variance}",
                stated[i]
            );
        }
    }
}

#[test]
fn no_estimate_is_surer_than_that_of_distance_zero() {
    let k = 2.0;
    let s = Simulation::new(Family::Oporp, 2, gaussian(3.0));
    let t = 2.0 * s.noise_moments().0;
    let least = (k * 2.0 * t * t).sqrt() * (1.0 - 1e-9);
    let mut far_below = 0;
    s.run(|release| {
        let estimate = Pairs::within(release).squared_distance(0, 1).unwrap();
        assert!(estimate.standard_error >= least, "{estimate:?} {least}");
        // Where the unbiased estimate of the variance falls to nothing.
        far_below += u64::from(estimate.value < -0.9 * k * t);
    });
    assert!(far_below > REPETITIONS / 100, "{far_below}");
}

#[test]
fn cosines_of_close_rows_have_the_stated_error() {
    // Noise a thousandth of the rows: what is left is the projection's error, whose kurtosis must
    // enter norms and product alike, so that it cancels between close rows.
    let (d, k) = (400, 200);
    let noise = gaussian(0.001 / (k as f64).sqrt());
    for (v, loosest) in [([1.0, 0.9], 6.0), ([0.0, 1.0], 3.0), ([0.6, -0.8], 3.0)] {
        let mut s =
            Simulation { u: vec![0.0; d], v: vec![0.0; d], k, family: Family::VerySparse, noise };
        s.u[0] = 1.0;
        s.u[1] = if v[1] == 0.9 { 1.0 } else { 0.25 };
        s.v[..2].copy_from_slice(&v);
        let exact = dot(&s.u, &s.v) / (dot(&s.u, &s.u) * dot(&s.v, &s.v)).sqrt();
        let (mut real, mut stated, mut n) = (0.0, 0.0, 0.0_f64);
        s.run_some(2000, |release| {
            let cosine = Pairs::within(release).cosine(0, 1).unwrap();
            real += (cosine.value - exact).powi(2);
            stated += cosine.standard_error.powi(2);
            n += 1.0;
        });
        let (real, stated) = ((real / n).sqrt(), (stated / n).sqrt());
        assert!(stated > 0.9 * real && stated < loosest * real, "{v:?}: {stated} for {real}");
    }
}

#[test]
fn one_name_means_one_cosine() {
    let s = Simulation::new(Family::Gaussian, 16, gaussian(0.5));
    let mut smaller = 0;
    s.run_some(500, |release| {
        let pairs = Pairs::within(release);
        let (x, y) = (release.payload().row(0).unwrap(), release.payload().row(1).unwrap());
        let noisy = pairs.noisy_cosine(0, 1).unwrap();
        assert!((noisy - dot(x, y) / (dot(x, x) * dot(y, y)).sqrt()).abs() < 1e-12);
        let index = SketchIndex::new(release.payload(), Score::Cosine).unwrap();
        let hit = index.top_k(&Queries::rows(release.payload(), &[0]).unwrap(), 2).unwrap();
        let place = hit.indices(0).iter().position(|&row| row == 1).unwrap();
        assert!((hit.scores(0)[place] - noisy).abs() < 1e-12);
        let debiased = pairs.cosine(0, 1).map_or(1.0, |c| c.value.abs());
        smaller += u32::from(noisy.abs() <= debiased);
    });
    assert_eq!(smaller, 500, "noise pulls the noisy cosine to zero");
}

#[test]
fn a_release_beside_its_copy_is_one_release() {
    let one = EntryBound::new(1.0).unwrap();
    let p = ProjectionSpec::new(Family::Oporp, 16, 8, PublicSeed::new(3)).unwrap().build();
    let (adjacency, budget) =
        (Adjacency::RowShift { l2: Shift::new(1.0).unwrap() }, Budget::new(1.0, 1e-6).unwrap());
    let m = PrivateProjection::gaussian(p, adjacency, one, budget).unwrap();
    let x: Vec<f64> = (0..48).map(|i| (i % 7) as f64 / 7.0).collect();
    let mut rng = NoiseRng::deterministic_not_private(6);
    let mut draw = || m.release(RowsView::f64(3, 16, &x).unwrap(), &mut rng).unwrap();
    let (release, other) = (&draw(), &draw());
    let load =
        |kind| -> Release<PrivateSketch> { decode(&encode_as(release, kind).unwrap()).unwrap() };
    let (loaded, narrow) = (load(Kind::Sketch64), load(Kind::Sketch32));
    let compact = load(Kind::SketchCompact);
    for copy in [release, &release.clone(), &loaded, &narrow, &compact, &compact.clone()] {
        for (x, y) in [(release, copy), (copy, release), (&compact, copy), (copy, &compact)] {
            let pairs = Pairs::between(x, y).unwrap();
            assert_eq!(pairs.squared_distance(1, 1).unwrap().value, 0.0);
            assert_eq!(pairs.squared_distance(1, 1).unwrap().standard_error, 0.0);
            assert_eq!(pairs.cosine_interval(0, 0, half()).unwrap().low, 1.0);
            assert_eq!(pairs.inner_product(1, 1).unwrap(), pairs.squared_norm(1).unwrap());
            assert!(pairs.squared_distance(0, 1).unwrap().standard_error > 0.0);
        }
    }
    // Another release of the same rows is another, though its certificate is the same.
    assert_eq!(release.certificate(), other.certificate());
    for (x, y) in [(release, other), (&compact, other), (other, &compact)] {
        let pairs = Pairs::between(x, y).unwrap();
        assert!(pairs.squared_distance(1, 1).unwrap().standard_error > 0.0);
    }
}

fn half() -> Probability {
    Probability::new(0.5).unwrap()
}

#[test]
fn numbers_whose_squares_overflow_are_refused() {
    let spec = ProjectionSpec::new(Family::Oporp, 4, 2, PublicSeed::new(1)).unwrap();
    let s = Simulation::new(Family::Oporp, 2, gaussian(1.0));
    let mut certificate = None;
    s.run_some(1, |release| certificate = Some(release.certificate().clone()));
    let noise = |sigma: f64, exponent: i32| {
        let grid = Grid::new(exponent).unwrap();
        authority!().gaussian(NoiseScale::new(sigma).unwrap(), grid).unwrap().law()
    };
    for (law, value) in [
        (noise(1e-160, -560), 1e-160),
        (noise(1e160, 500), 1e160),
        (noise(1.0, -30), 1e200),
        (noise(1.0, -30), -1e308),
    ] {
        let sketch = PrivateSketch::new(spec, law, vec![value, 0.0, 0.0, value]).unwrap();
        let release = Release::certified(sketch, certificate.clone().unwrap());
        let pairs = Pairs::within(&release);
        for error in [
            pairs.squared_distance(0, 1).unwrap_err(),
            pairs.inner_product(0, 1).unwrap_err(),
            pairs.cosine(0, 1).unwrap_err(),
            pairs.cosine_interval(0, 1, half()).unwrap_err(),
            pairs.squared_norm_interval(0, half()).unwrap_err(),
        ] {
            assert!(error.to_string().contains("range of double precision"), "{error}");
        }
    }
    // Zero rows, one column, any confidence.
    let spec = ProjectionSpec::new(Family::Identity, 1, 1, PublicSeed::new(1)).unwrap();
    let sketch = PrivateSketch::new(spec, noise(1.0, -30), vec![0.0, 0.0]).unwrap();
    let release = Release::certified(sketch, certificate.unwrap());
    let pairs = Pairs::within(&release);
    for confidence in [1e-9, 0.5, 1.0 - 1e-12] {
        let confidence = Probability::new(confidence).unwrap();
        let whole = pairs.cosine_interval(0, 1, confidence).unwrap();
        assert_eq!((whole.low, whole.high), (-1.0, 1.0));
        let product = pairs.inner_product_interval(0, 1, confidence).unwrap();
        assert!(product.low <= 0.0 && product.high >= 0.0, "{product:?}");
        let length = pairs.squared_distance_interval(0, 1, confidence).unwrap();
        assert!(length.low == 0.0 && length.high.is_finite(), "{length:?}");
    }
    assert!(pairs.cosine(0, 1).is_err());
    let sketch = PrivateSketch::new(spec, noise(1.0, -30), vec![f64::NAN]);
    assert!(sketch.unwrap_err().to_string().contains("row 0, column 0 is not finite"));
}

#[test]
fn a_row_against_itself_is_known() {
    let s = Simulation::new(Family::Oporp, 8, gaussian(1.0));
    let mut first = None;
    s.run(|release| {
        first.get_or_insert_with(|| release.clone());
    });
    let release = first.unwrap();
    let pairs = Pairs::within(&release);
    assert_eq!(pairs.squared_distance(1, 1).unwrap().standard_error, 0.0);
    assert_eq!(pairs.inner_product(1, 1).unwrap(), pairs.squared_norm(1).unwrap());
    assert!(pairs.squared_distance(0, 2).unwrap_err().to_string().contains("row 2"));
}
