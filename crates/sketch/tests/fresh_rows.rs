//! Fresh signs where more than one attribute may change: angles by brute force, shares by counting, files, refusals.

use dp_core::{
    Adjacency, Budget, EntryBound, FreshSeed, NoiseRng, NormBound, Profile, PublicSeed, Shift,
};
use rand_core::Rng;
use sketch::projection::Family;
use sketch::signs::{FreshConfig, FreshSigns, NormFloor, SignSketch};
use sketch::{RowsView, verify_consistency};

const D: usize = 40;
const ENTRY: f64 = 4.0;

fn shift(l2: f64) -> Adjacency {
    Adjacency::RowShift { l2: Shift::new(l2).unwrap() }
}

fn replace(bound: f64) -> Adjacency {
    Adjacency::ReplaceRow { bound: NormBound::new(bound).unwrap() }
}

fn promised(m: f64) -> NormFloor {
    NormFloor::Promised(NormBound::new(m).unwrap())
}

fn lifted(m: f64) -> NormFloor {
    NormFloor::Lifted(NormBound::new(m).unwrap())
}

fn signs(adjacency: Adjacency, floor: NormFloor, bits: usize) -> sketch::Result<FreshSigns> {
    let bound = EntryBound::new(ENTRY).unwrap();
    let config = FreshConfig { d: D, bits, floor, bound, adjacency };
    FreshSigns::exact(config, Budget::new(4.0, 1e-6).unwrap())
}

/// The probability that a sign differs, as the guarantee has it.
fn stated(adjacency: Adjacency, floor: NormFloor) -> f64 {
    match signs(adjacency, floor, 8).unwrap().guarantee().profile().unwrap() {
        Profile::BinomialMixture { probability, trials: 8, .. } => probability.get(),
        other => panic!("{other:?}"),
    }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The angle of two rows over pi, with the constant of a lift.
fn angle(x: &[f64], y: &[f64], lift: f64) -> f64 {
    let dot = x.iter().zip(y).map(|(a, b)| a * b).sum::<f64>() + lift * lift;
    let norms = norm(x).hypot(lift) * norm(y).hypot(lift);
    (dot / norms).clamp(-1.0, 1.0).acos() / std::f64::consts::PI
}

/// A random direction of this length.
fn random(rng: &mut impl Rng, length: f64) -> Vec<f64> {
    // Near a normal law: the sum of four uniforms.
    let one = |rng: &mut dyn FnMut() -> f64| (0..4).map(|_| rng() - 0.5).sum::<f64>();
    let mut uniform = || (rng.next_u64() >> 11) as f64 * 2f64.powi(-53);
    let x: Vec<f64> = (0..D).map(|_| one(&mut uniform)).collect();
    let scale = length / norm(&x);
    x.into_iter().map(|x| x * scale).collect()
}

/// 20,000 random adjacent pairs and the worst one: no angle is above what is stated, and the worst one reaches it.
#[test]
fn no_adjacent_pair_is_seen_under_a_larger_angle() {
    let mut rng = PublicSeed::new(31).generator(0);
    for (adjacency, floor) in [
        (shift(0.8), promised(1.0)),
        (shift(0.8), lifted(0.7)),
        (shift(3.0), promised(1.0)),
        (shift(1e-3), lifted(5.0)),
        (replace(1.5), lifted(0.7)),
        (replace(0.2), lifted(3.0)),
        (replace(1.5), promised(1.0)),
    ] {
        let most = stated(adjacency, floor);
        let (m, lift) = match floor {
            NormFloor::Promised(m) => (m.get(), 0.0),
            NormFloor::Lifted(m) => (0.0, m.get()),
        };
        let mut uniform = || (rng.next_u64() >> 11) as f64 * 2f64.powi(-53);
        let sizes: Vec<[f64; 2]> = (0..20_000).map(|_| [uniform(), uniform()]).collect();
        for [a, b] in sizes {
            let (x, y) = match adjacency {
                Adjacency::RowShift { l2 } => {
                    let x = random(&mut rng, m + 2.0 * a);
                    let by = random(&mut rng, l2.get() * b);
                    let y: Vec<f64> = x.iter().zip(by).map(|(x, c)| x + c).collect();
                    (x, y)
                }
                Adjacency::ReplaceRow { bound } => {
                    let length = |share: f64| m + (bound.get() - m) * share;
                    (random(&mut rng, length(a)), random(&mut rng, length(b)))
                }
                other => panic!("{other}"),
            };
            if norm(&y) >= m {
                assert!(angle(&x, &y, lift) <= most, "{adjacency} {floor:?}");
            }
        }
        let worst = match (adjacency, floor) {
            (Adjacency::RowShift { l2 }, NormFloor::Promised(m)) => {
                let half = (0.5 * l2.get()).min(m.get());
                let rest = (m.get().powi(2) - half * half).max(0.0).sqrt();
                let row = |x: f64| [&[x, rest][..], &[0.0; D - 2]].concat();
                angle(&row(half), &row(-half), 0.0)
            }
            (Adjacency::RowShift { l2 }, NormFloor::Lifted(_)) => {
                let row = |x: f64| [&[x][..], &[0.0; D - 1]].concat();
                angle(&row(0.5 * l2.get()), &row(-0.5 * l2.get()), lift)
            }
            (Adjacency::ReplaceRow { bound }, _) => {
                let row = |x: f64| [&[x][..], &[0.0; D - 1]].concat();
                angle(&row(bound.get()), &row(-bound.get()), lift)
            }
            (other, _) => panic!("{other}"),
        };
        // A millionth is for floating point.
        assert!(worst <= most && worst > most - 1.1e-6, "{adjacency} {floor:?}: {worst} {most}");
    }
    // A promised norm says nothing of the angle of any two rows.
    assert_eq!(stated(replace(1.5), promised(1.0)), 1.0);
}

/// Signs of the worst pair that really differ, over fresh projections: 16,000 bits a setting, six deviations; the twin that
/// leaves the lift out is outside.
#[test]
fn as_many_signs_differ_as_is_stated() {
    let (bits, draws) = (40, 400);
    for (adjacency, m, x) in [(shift(0.8), 0.7, 0.4), (replace(1.5), 1.5, 1.5)] {
        let share = |lift: f64| {
            let row = |x: f64| [&[x][..], &[0.0; D - 1], &[lift]].concat();
            let pair = [row(x), row(-x)].concat();
            let differ = (0..draws).map(|seed| {
                let seed = PublicSeed::new(seed);
                let sketch = SignSketch::single(Family::Gaussian, D + 1, bits, seed).unwrap();
                let view = RowsView::f64(2, D + 1, &pair).unwrap();
                let found = sketch.simhash(view).unwrap();
                u64::from(found.payload().hamming(0, found.payload(), 1).unwrap())
            });
            differ.sum::<u64>() as f64 / (bits as u64 * draws) as f64
        };
        let most = stated(adjacency, lifted(m));
        let room = 6.0 * (most * (1.0 - most) / (bits as u64 * draws) as f64).sqrt();
        let found = share(m);
        assert!((found - most).abs() < room, "{adjacency}: {found}, not {most}");
        assert!(share(0.3 * m) > most + room, "{adjacency}: a third of the lift does not show");
    }
}

#[test]
fn releases_agree_with_their_certificates_and_others_are_refused() {
    let rows: Vec<f64> = (0..3 * D).map(|i| ((i * 31 % 17) as f64 - 8.0) / 60.0).collect();
    let view = RowsView::f64(3, D, &rows).unwrap();
    for (adjacency, floor) in
        [(shift(0.8), promised(0.1)), (shift(0.8), lifted(1.0)), (replace(1.5), lifted(0.7))]
    {
        let signs = signs(adjacency, floor, 24).unwrap();
        let seed = FreshSeed::reproducible_not_private(3);
        let mut noise = NoiseRng::deterministic_not_private(4);
        let release = signs.release(view, seed, &mut noise).unwrap();
        release.certificate().verify_consistency().unwrap();
        verify_consistency(&release).unwrap();
    }
    // Beyond the norm that is declared: nothing is released.
    let strict = signs(replace(0.3), lifted(1.0), 8).unwrap();
    let seed = FreshSeed::reproducible_not_private(3);
    assert!(strict.release(view, seed, &mut NoiseRng::deterministic_not_private(4)).is_err());
    let bound = NormBound::new(1.0).unwrap();
    for other in [
        Adjacency::AnyInput,
        Adjacency::AddRemoveRow { bound },
        Adjacency::ZeroRow { bound },
        shift(0.5).of_user(3).unwrap(),
    ] {
        assert!(signs(other, lifted(1.0), 8).is_err(), "{other}");
    }
    // Response alone has its proof for them.
    assert!(
        signs(shift(f64::MAX), lifted(1e-300), 8).is_err()
            || stated(shift(f64::MAX), lifted(1e-300)) <= 1.0
    );
}

/// Rows so long beside their floor that rounding may turn a sign as often as is added for it are refused before anything leaves: a
/// value within its error of zero, of a normal law of deviation m/sqrt k, for each of two rows.
#[test]
fn rows_far_longer_than_their_floor_are_refused() {
    let made = |d: usize, floor: NormFloor, entry: f64| {
        let bound = EntryBound::new(entry).unwrap();
        let config = FreshConfig { d, bits: 16, floor, bound, adjacency: shift(0.01) };
        let signs = FreshSigns::exact(config, Budget::new(4.0, 1e-6).unwrap()).unwrap();
        let mut rng = NoiseRng::deterministic_not_private(3);
        signs.open(FreshSeed::reproducible_not_private(7), &mut rng).map(|_| ())
    };
    assert!(made(D, promised(1.0), 100.0).is_ok());
    // Errors are some 1e-15 of the entries: beyond 1e-6 of the floor for these.
    let refused = made(D, promised(1.0), 1e10).expect_err("rounding turns signs there").to_string();
    let sketch = SignSketch::single(Family::Gaussian, D, 16, PublicSeed::new(7)).unwrap();
    let error = sketch.parts()[0].output_range(EntryBound::new(1e10).unwrap()).error;
    let least = 2.0 * error * (32.0 / std::f64::consts::PI).sqrt() / 1e-6;
    let text = refused.split("at least ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert!(refused.contains("least norm") && refused.contains("for this data bound"), "{refused}");
    assert!((text.parse::<f64>().unwrap() / least - 1.0).abs() < 1e-12, "{text} {least}");
    // The constant that is appended may be the largest attribute, and errors grow with d twice.
    let d = 60_000;
    assert!(made(d, promised(1.0), 1e-3).is_ok());
    assert!(made(d, lifted(1.0), 1e-3).is_err());
}

/// What is paid for covers rows whose norms rounding hides: a replaced row a little above its norm, a promised floor a little below.
#[test]
fn angles_cover_what_the_checks_let_pass() {
    use sketch::signs::changes::one_pair_gaussian;
    let added = 1e-6;
    let of = |shift: f64, m: f64| {
        one_pair_gaussian(Shift::new(shift).unwrap(), NormBound::new(m).unwrap()).get() + added
    };
    // A sum of D squares is off by D roundings at most, its root by half of that and one more.
    let hidden = (D as f64 / 2.0 + 1.0) * f64::EPSILON / 2.0;
    assert!(stated(shift(0.5), promised(1.0)) >= of(0.5, 1.0 - hidden));
    // Norms are checked to a share of 1e-9.
    assert!(stated(replace(0.3), promised(1.0)) >= of(0.6 * (1.0 + 1e-9), 1.0 - hidden));
    // Of one attribute too.
    let (bound, adjacency) = (EntryBound::new(ENTRY).unwrap(), shift(0.5));
    let config = FreshConfig { d: 1, bits: 1, floor: promised(1.0), bound, adjacency };
    let signs = FreshSigns::exact(config, Budget::new(4.0, 1e-6).unwrap()).unwrap();
    let Some(Profile::BinomialMixture { probability, .. }) = signs.guarantee().profile() else {
        panic!("another profile")
    };
    assert!(probability.get() >= of(0.5, 1.0 - f64::EPSILON));
}

/// A norm whose square leaves the range of double precision is not rounded up to the floor: such a row and its opposite
/// differ in every sign.
#[test]
fn floors_hold_where_squares_underflow() {
    let floor = 2f64.powi(-537);
    let entry = |x: f64| EntryBound::new(x).unwrap();
    let by = Adjacency::Attribute { beta: Shift::new(3.2e-162).unwrap() };
    let floor_of = promised(floor);
    let config =
        FreshConfig { d: 2, bits: 2, floor: floor_of, bound: entry(1e-161), adjacency: by };
    let signs = FreshSigns::exact(config, Budget::new(1.0, 1e-6).unwrap()).unwrap();
    let released = |x: &[f64]| {
        let rows = RowsView::f64(1, 2, x).unwrap();
        signs.release(rows, FreshSeed::draw().unwrap(), &mut NoiseRng::from_os().unwrap())
    };
    assert!(released(&[1.6e-162, 0.0]).is_err() && released(&[0.0, -1.6e-162]).is_err());
    assert!(released(&[0.0, 0.0]).is_err());
    for fits in [2.0 * floor, floor] {
        let done = released(&[fits, 0.0]);
        assert!(done.is_ok(), "{fits:e}: {:?}", done.err());
    }
}
