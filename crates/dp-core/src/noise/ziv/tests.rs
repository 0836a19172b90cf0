use super::normal::Normals;
use super::*;
use crate::noise::gram_rows::rows_per_stream;
use crate::noise::kernel::Tail;
use crate::noise::rng::{NoiseRng, NoiseStream};
use crate::noise::rounded::tests::recorded;
use crate::noise::{
    ChiSquare, GramRows, Grid, HalfSpaceNormal, TruncatedNormal, UnitCap, WishartNoise,
};
use crate::quantity::{NoiseScale, Probability};
use crate::reference::ask;
use dashu_int::IBig;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) fn streams(seed: u64, from: u64, count: u64) -> Vec<NoiseStream> {
    let mut rng = NoiseRng::deterministic_not_private(seed);
    rng.reserve(from);
    rng.reserve(count).collect()
}

pub(super) fn source(seed: u64, nonce: u64) -> Source {
    Source::new(streams(seed, nonce, 1).pop().unwrap(), 40)
}

pub(super) fn grid(exponent: i32) -> Grid {
    Grid::new(exponent).unwrap()
}

pub(super) fn scale(s: f64) -> NoiseScale {
    NoiseScale::new(s).unwrap()
}

/// A Gram matrix of `rows` rows of small integers, times `2^shift`.
pub(super) fn gram(d: usize, rows: usize, shift: u32) -> Vec<i128> {
    let entry = |r: usize, j: usize| ((r * 7919 + j * 104_729) % 2017) as i128 - 1008;
    let sum = |e: usize| (0..rows).map(|r| entry(r, e / d) * entry(r, e % d)).sum::<i128>();
    (0..d * d).map(|e| sum(e) << shift).collect()
}

/// What the reference is asked: laws at several sizes, on grids that leave little, much or all to the slow path.
fn requests(seed: u64, draws: u64) -> Vec<Value> {
    let (half, few) = (draws.div_ceil(2), draws.div_ceil(4));
    let mut out = Vec::new();
    for (i, (dof, grid)) in [
        (1, -30),
        (2, -45),
        (7, -52),
        (32, -20),
        (33, -40),
        (100, -48),
        (70_001, -24),
        (1u64 << 40, 0),
    ]
    .into_iter()
    .enumerate()
    {
        let seed = seed + i as u64;
        let draws = if dof == 32 { few } else { draws };
        out.push(
            json!({"law": "chi-square", "dof": dof, "grid": grid, "seed": seed, "draws": draws}),
        );
    }
    for (i, (threshold, grid)) in
        [(0.0, -30), (1.25, -44), (4.5, -50), (7.0, -30), (-0.3, -44), (-5.0, -30), (-11.0, -46)]
            .into_iter()
            .enumerate()
    {
        let seed = seed + 20 + i as u64;
        out.push(json!({"law": "truncated-normal", "threshold": threshold, "grid": grid, "seed": seed, "draws": draws}));
    }
    for (i, (dim, dof, s, exponent, grid)) in [
        (1, 1, 1.0, -40, -30),
        (2, 2, 0.3, -40, -40),
        (3, 45, 7.25, -50, -38),
        (6, 40, 1e-3, -30, -20),
    ]
    .into_iter()
    .enumerate()
    {
        let totals: Vec<String> = gram(dim, 9, i as u32 * 3).iter().map(i128::to_string).collect();
        out.push(
            json!({"law": "wishart", "dim": dim, "dof": dof, "scale": s, "exponent": exponent,
            "grid": grid, "totals": totals, "seed": seed + 40 + i as u64, "draws": few}),
        );
    }
    // Well conditioned; of rank 1 of 3; far beyond what floating point can factor.
    for (i, (dim, rows, lift, exponent, shift, of)) in [
        (1, 3, 0.7, -20, 0, 9),
        (3, 2, 10.0, -16, 0, 1),
        (4, 3, 1e-3, -40, 60, 6),
        (5, 2, 3.3, -22, 4, 30),
    ]
    .into_iter()
    .enumerate()
    {
        let totals = gram(dim, of, shift);
        let law = GramRows::new(rows, scale(lift)).unwrap();
        let factor = Factor::new(Target { dim, totals: &totals, exponent, lift }).unwrap();
        let (lower, unit) = factor.parts();
        let text = |n: &[IBig]| n.iter().map(IBig::to_string).collect::<Vec<_>>();
        let totals: Vec<String> = totals.iter().map(i128::to_string).collect();
        out.push(
            json!({"law": "gram-rows", "dim": dim, "rows": rows, "lift": lift, "exponent": exponent,
            "totals": totals, "lower": text(&lower), "unit": unit, "grid": law.grid().exponent(),
            "seed": seed + 60 + i as u64, "draws": few}),
        );
    }
    for (i, (threshold, grid, direction)) in [
        (0.5, -30, vec![1i64]),
        (-1.0, -44, vec![3, -4, 12]),
        (2.5, -46, vec![0, 1 << 50, 7, -(1 << 52), 123_456_789]),
        (6.0, -24, vec![1, 1, 1, 1]),
    ]
    .into_iter()
    .enumerate()
    {
        out.push(json!({"law": "half-space", "threshold": threshold, "grid": grid,
            "direction": direction, "seed": seed + 80 + i as u64, "draws": half}));
    }
    // As Grid::choose gives, coarse, where floating point is often undecided, and where it always is.
    for (i, (scale, grid, draws)) in
        [(1.7, -30, 5 * draws), (0.3, 0, draws), (1.1, -42, draws), (1.3, -50, few)]
            .into_iter()
            .enumerate()
    {
        for (tail, law) in [(Tail::Gaussian, "gaussian"), (Tail::Laplace, "laplace")] {
            let seed = seed + 90 + 2 * i as u64 + tail as u64;
            let samples = recorded(0, tail, scale, grid, seed, draws);
            let more: Vec<_> = samples.iter().enumerate().filter(|(_, s)| s.1 > 0).collect();
            let more: Vec<_> = more.iter().map(|(i, s)| [*i as u64, s.1]).collect();
            out.push(
                json!({"law": law, "scale": scale, "grid": grid, "seed": seed, "draws": draws,
                "more": more}),
            );
        }
    }
    for (i, (threshold, inside, grid, direction)) in [
        (0.397, 0.59, -20, vec![-1i64]),
        (2.743, 0.877, -44, vec![5, -12, 1 << 40]),
        (0.0, 0.5, -46, vec![0, 0, 7]),
        (4.561, 0.5, -20, vec![-3, 1, 4, -1, 5]),
    ]
    .into_iter()
    .enumerate()
    {
        out.push(json!({"law": "unit-cap", "threshold": threshold, "inside": inside, "grid": grid,
            "direction": direction, "seed": seed + 100 + i as u64, "draws": draws}));
    }
    out
}

/// Our own answer: by floating point where that decides, and in one draw of `forced` by exact integers as well.
fn answer(request: &Value, forced: usize) -> Vec<String> {
    let integer = |name: &str| request[name].as_i64().unwrap();
    let (seed, exponent) = (integer("seed") as u64, integer("grid") as i32);
    let totals = || {
        let text = request["totals"].as_array().unwrap().iter();
        text.map(|t| t.as_str().unwrap().parse().unwrap()).collect::<Vec<i128>>()
    };
    let law = request["law"].as_str().unwrap();
    if let "gaussian" | "laplace" = law {
        let tail = if law == "gaussian" { Tail::Gaussian } else { Tail::Laplace };
        let (scale, draws) = (request["scale"].as_f64().unwrap(), integer("draws") as u64);
        let steps = recorded(forced, tail, scale, exponent, seed, draws);
        return steps.iter().map(|s| s.0.to_string()).collect();
    }
    let draw = |draw: u64, path| match law {
        "chi-square" => {
            let law = ChiSquare::new(integer("dof") as u64, grid(exponent)).unwrap();
            vec![law.steps(path, &source(seed, draw))]
        }
        "truncated-normal" => {
            let threshold = request["threshold"].as_f64().unwrap();
            let law = TruncatedNormal::new(threshold, grid(exponent)).unwrap();
            vec![law.steps(path, &source(seed, draw))]
        }
        "half-space" | "unit-cap" => {
            let threshold = request["threshold"].as_f64().unwrap();
            let x = request["direction"].as_array().unwrap().iter();
            let x: Vec<i64> = x.map(|x| x.as_i64().unwrap()).collect();
            let source = source(seed, draw);
            if law == "unit-cap" {
                let inside = Probability::new(request["inside"].as_f64().unwrap()).unwrap();
                let law = UnitCap::new(threshold, inside, grid(exponent)).unwrap();
                law.lean(&source, &x).steps(path)
            } else {
                let law = HalfSpaceNormal::new(threshold, grid(exponent)).unwrap();
                law.lean(&source, &x).steps(path)
            }
        }
        "wishart" => {
            let (d, s) = (integer("dim") as usize, request["scale"].as_f64().unwrap());
            let law = WishartNoise::new(d, integer("dof") as u64, scale(s)).unwrap();
            let streams = streams(seed, draw * d as u64, d as u64);
            let own = integer("exponent") as i32;
            let all = law.on(grid(exponent)).steps(path, streams, &totals(), own);
            (0..d * d).filter(|e| e % d <= e / d).map(|e| all[e]).collect()
        }
        _ => {
            let (dim, rows) = (integer("dim") as usize, integer("rows") as usize);
            let lift = request["lift"].as_f64().unwrap();
            let law = GramRows::new(rows, scale(lift)).unwrap();
            let (totals, own) = (totals(), integer("exponent") as i32);
            let target = Target { dim, totals: &totals, exponent: own, lift };
            let count = rows.div_ceil(rows_per_stream(dim)) as u64;
            let streams = streams(seed, draw * count, count);
            law.steps(path, streams, target).unwrap()
        }
    };
    let mut out = Vec::new();
    for i in 0..integer("draws") as u64 {
        let ours = draw(i, Path::Fast);
        if forced > 0 && i.is_multiple_of(forced as u64) {
            assert_eq!(ours, draw(i, Path::Exact), "{law}, seed {seed}, draw {i}");
        }
        out.extend(ours.iter().map(i128::to_string));
    }
    out
}

/// Holds ours against the answers, exact integers being forced in one draw of `forced` as well. Returns how many
/// samples there are of each law.
fn check(cases: &[Value], forced: usize) -> BTreeMap<String, usize> {
    let mut samples = BTreeMap::new();
    for case in cases {
        let expected: Vec<&str> =
            case["steps"].as_array().unwrap().iter().map(|s| s.as_str().unwrap()).collect();
        let ours = answer(case, forced);
        let wrong = ours.iter().zip(&expected).position(|(a, b)| a != b);
        let of = (&case["law"], &case["seed"]);
        assert_eq!((wrong, ours.len()), (None, expected.len()), "{of:?}");
        *samples.entry(case["law"].to_string()).or_default() += expected.len();
    }
    samples
}

#[test]
fn samples_are_the_stored_ones_of_the_reference() {
    let text = include_str!("../../../tests/data/exact_rounding.json");
    let mut cases: Vec<Value> = serde_json::from_str(text).unwrap();
    assert!(check(&cases, 1).values().all(|n| *n >= 50));
    // And the file speaks of today's requests: the same factors of the same matrices.
    let asked = requests(1, 8);
    cases.iter_mut().for_each(|c| drop(c.as_object_mut().unwrap().remove("steps")));
    assert!(cases == asked);
    // A sample that is off by one is noticed.
    let text: Value = serde_json::from_str(text).unwrap();
    let mut wrong = text[0].clone();
    let first: i64 = wrong["steps"][0].as_str().unwrap().parse().unwrap();
    wrong["steps"][0] = json!((first + 1).to_string());
    assert!(std::panic::catch_unwind(|| check(&[wrong], 1)).is_err());
}

/// Asks the reference itself, where Python with python-flint and numpy is there. `EXACT_ROUNDING_DRAWS` sets how many
/// draws of each setting (24 unless told), `EXACT_ROUNDING_SEED` which, `EXACT_ROUNDING_LAW` one law of all, and
/// `EXACT_ROUNDING_REQUESTS` keeps what was asked in a file.
#[test]
fn fresh_samples_are_those_of_the_reference() {
    let number = |name, default| {
        std::env::var(name).ok().map_or(default, |n| n.parse::<u64>().expect("a number"))
    };
    let (seed, draws) = (number("EXACT_ROUNDING_SEED", 1000), number("EXACT_ROUNDING_DRAWS", 24));
    let mut asked = requests(seed, draws);
    let law = std::env::var("EXACT_ROUNDING_LAW").ok();
    asked.retain(|r| law.as_deref().is_none_or(|law| r["law"] == law));
    let asked = serde_json::to_string(&asked).unwrap();
    if let Ok(path) = std::env::var("EXACT_ROUNDING_REQUESTS") {
        std::fs::write(path, &asked).unwrap();
    }
    let Some(cases) = ask("exact_rounding.py", "flint, numpy", &asked) else { return };
    let cases: Vec<Value> = serde_json::from_value(cases).unwrap();
    // Exact integers take a hundred times as long.
    let forced = if draws > 100 { 16 } else { 1 };
    let samples = check(&cases, forced);
    println!("agree with the reference, exact integers forced in one of {forced}: {samples:?}");
    assert_eq!(samples.len(), if law.is_some() { 1 } else { 8 });
    assert!(samples.values().all(|n| *n as u64 >= 6 * draws));
}

/// Both ways on more draws than the reference can be asked for, on grids where floating point is
/// often left undecided; and without its error bounds it is often wrong.
#[test]
fn floating_point_decides_as_exact_integers_do() {
    let (mut undecided, mut wrong, draws) = (0, 0, 1500);
    let mut compare = |x: f64, error: f64, exact: i128| {
        match nearest(Path::Fast, x, error) {
            Some(n) => assert_eq!(n, exact),
            None => undecided += 1,
        }
        wrong += u32::from(nearest(Path::Fast, x, 0.0).is_some_and(|n| n != exact));
    };
    let normals = Normals::new();
    let per_step = 2f64.powi(46);
    for i in 0..draws {
        let bits = source(77, i);
        for sample in 0..2 {
            let z = normals.approximate(&bits, sample);
            let exact = settle(|b| Some(enclose(&bits, sample, b).shift(46)));
            compare(z * per_step, ETA * per_step, exact);
        }
        let dof = [2, 20, 33, 500][i as usize % 4];
        let chi = Chi::draw(Path::Fast, &normals, &bits, dof, 0);
        let same = Chi::draw(Path::Exact, &normals, &bits, dof, 0);
        assert_eq!(chi, same);
        let (root, error) = chi.approximate(&normals, &bits);
        let exact = settle(|b| Some(chi.enclose(&bits, b)?.shift(46)));
        compare(root * per_step, error * per_step, exact);
    }
    assert!(undecided > 300 && wrong > 10, "{undecided} undecided, {wrong} wrong without bounds");
}

/// More columns than the reference is asked for: lanes of every width and their remainders. The data is far
/// larger than the lift, so that many entries are left to exact integers.
#[test]
fn long_rows_are_decided_as_by_exact_integers() {
    for (dim, lift) in [(37, 3e-4), (29, 1e-8), (21, 3e-9)] {
        let totals = gram(dim, dim - 3, 0);
        let target = Target { dim, totals: &totals, exponent: -40, lift };
        let law = GramRows::new(2, scale(lift)).unwrap();
        let all = |path| law.steps(path, streams(81, 0, 1), target).unwrap();
        assert_eq!(all(Path::Fast), all(Path::Exact), "{dim}, {lift}");
    }
    for (dim, dof, grid_exponent) in [(19, 19, -36), (13, 1 << 40, -16), (11, 60, -40)] {
        let law = WishartNoise::new(dim, dof, scale(1.0)).unwrap().on(grid(grid_exponent));
        let zero = vec![0; dim * dim];
        let all = |path| law.steps(path, streams(82, 0, dim as u64), &zero, grid_exponent);
        assert_eq!(all(Path::Fast), all(Path::Exact), "{dim}, {dof}");
    }
    // What was drawn at once is what is drawn one by one.
    let normals = Normals::new();
    let (whole, lazy) = (source(83, 0), Source::new(streams(83, 0, 1).pop().unwrap(), 0));
    for first in [0u64, 3] {
        let mut filled = [[0.0; 37]; 2];
        normals.fill(&whole, first, &mut filled[0]);
        normals.fill(&lazy, first, &mut filled[1]);
        assert_eq!(filled[0].map(f64::to_bits), filled[1].map(f64::to_bits));
    }
}

#[test]
fn rejections_are_decided_alike_where_they_are_close() {
    // Few degrees of freedom beyond the threshold: the most rejections there are, one in some 1800 attempts.
    let normals = Normals::new();
    let mut rejected = 0;
    for i in 0..20_000 {
        let bits = source(78, i);
        let chi = Chi::draw(Path::Fast, &normals, &bits, 33, 0);
        if chi.at > 0 {
            rejected += 1;
            assert_eq!(chi, Chi::draw(Path::Exact, &normals, &bits, 33, 0));
        }
    }
    // E[z^4] / (108 d) = 1/(36 d), d = 16.2: 34 expected, six deviations are 35.
    assert!((1..=69).contains(&rejected), "{rejected}");
}

#[test]
fn samples_far_in_the_tail_are_enclosed() {
    /// All zeros for a while.
    struct Zeros(u64);
    impl Bits for Zeros {
        fn word(&self, _: u64, index: u64) -> u64 {
            if index < self.0 { 0 } else { 0x9E37_79B9_7F4A_7C15 ^ index }
        }
    }
    let normals = Normals::new();
    for words in 0..5 {
        let bits = Zeros(words);
        let (coarse, fine) = (enclose(&bits, 0, 128), enclose(&bits, 0, 320));
        let (a, b) = (coarse.to_f64(), fine.to_f64());
        assert!((a - b).abs() < 1e-14 * a.abs().max(1.0));
        let z = normals.approximate(&bits, 0);
        assert!(z.is_nan() == (b.abs() >= 16.0) && (z.is_nan() || (z - b).abs() <= ETA), "{z} {b}");
    }
}

/// Without that, each number of a vector far out would be settled by itself, from all others.
#[test]
fn truncated_draws_are_known_in_floating_point_however_far_out() {
    let normals = Normals::new();
    for threshold in [-12.0, -7.0, 0.0, 6.0, 6.5, 9.0, 12.0] {
        let law = TruncatedNormal::new(threshold, grid(-20)).unwrap();
        for i in 0..60 {
            let bits = source(79, i);
            let (x, error) = law.approximate(&normals, &bits, 0);
            let exact = [192, 384].iter().find_map(|b| law.enclose(&bits, 0, *b)).unwrap().to_f64();
            assert!((x - exact).abs() <= error && error < 1e-9, "{threshold}: {x}, {exact}");
        }
        // The vector is the same as by exact integers alone.
        let law = HalfSpaceNormal::new(threshold, grid(-20)).unwrap();
        for i in 0..4 {
            let (bits, x) = (source(80, i), [3, 0, -(1 << 40)]);
            let lean = law.lean(&bits, &x);
            assert_eq!(lean.steps(Path::Fast), lean.steps(Path::Exact));
        }
    }
}

/// What leaves is the step and nothing else: no sign of zero, which tells on which side of it the real number was.
#[test]
fn bits_that_leave_are_those_of_the_steps() {
    let mut zeros = 0;
    for exponent in [0, -2, -20] {
        let grid = grid(exponent);
        let half = HalfSpaceNormal::new(0.3, grid).unwrap();
        let cap = UnitCap::new(1.1, Probability::new(0.7).unwrap(), grid).unwrap();
        for i in 0..80 {
            let (bits, x) = (source(84, i), [3, -4, 0, 12, 0, 0, 1 << 20, -5, 7]);
            for lean in [half.lean(&bits, &x), cap.lean(&bits, &x)] {
                let exact = lean.steps(Path::Exact);
                let expected = exact.iter().map(|&n| (n as f64 * grid.spacing()).to_bits());
                assert!(lean.draw().iter().map(|v| v.to_bits()).eq(expected), "{exponent}, {i}");
                zeros += exact.iter().filter(|n| **n == 0).count();
            }
        }
    }
    assert!(zeros > 250, "{zeros}");
}

#[test]
fn what_one_sample_needs_changes_no_other() {
    let stream = || streams(5, 3, 1).pop().unwrap();
    let (whole, lazy) = (Source::new(stream(), 300), Source::new(stream(), 0));
    let mut run = vec![0; 300];
    stream().fill_words(&mut run);
    for sample in 0..300 {
        assert_eq!(whole.word(sample, 0), run[sample as usize]);
        assert!((0..3).all(|i| whole.word(sample, i) == lazy.word(sample, i)));
    }
    let mut seen: Vec<u64> =
        (0..100).flat_map(|s| (0..10).map(move |i| (s, i))).map(|(s, i)| lazy.word(s, i)).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 1000);
}

#[test]
fn balls_hold_what_they_should() {
    let x = |n: i32, over: u32, bits| Ball::integer(n, bits).over(&dashu_int::UBig::from(over));
    for bits in [8, 40, 200] {
        // (7/3)^2 = 49/9, sqrt(49/9) = 7/3, 1/(7/3) = 3/7, (7/3 - 10/3) = -1.
        let seven = x(7, 3, bits);
        let square = seven.mul(&seven);
        let holds = |ball: &Ball, n: i32, over: u32| {
            let (low, high) = ball.ends();
            let exact = IBig::from(n) << bits;
            low * over <= exact
                && exact <= high * over
                && (bits < 40 || ball.magnitude() > 0u8.into())
        };
        assert!(holds(&square, 49, 9) && holds(&square.sqrt().unwrap(), 7, 3));
        assert!(holds(&seven.reciprocal().unwrap(), 3, 7));
        assert!(holds(&seven.sub(&x(10, 3, bits)), -1, 1));
        assert!(holds(&x(-7, 3, bits).mul(&seven), -49, 9));
        assert!(holds(&seven.clone().shift(-3), 7, 24) && holds(&seven.shift(2), 28, 3));
        assert!(x(-1, 3, bits).sqrt().is_none() && x(0, 3, bits).reciprocal().is_none());
        assert_eq!(x(-7, 2, bits).nearest(), None);
        assert_eq!(Ball::float(-3.4, bits).nearest(), Some(-3));
    }
}

#[test]
fn factors_of_every_condition_are_near_the_identity() {
    for (dim, of, shift, exponent, lift) in
        [(1, 0, 0, 0, 1e-30), (6, 3, 0, -40, 0.1), (6, 40, 90, -40, 1e-9), (9, 2, 100, 0, 3e5)]
    {
        let totals = gram(dim, of, shift);
        let factor = Factor::new(Target { dim, totals: &totals, exponent, lift }).unwrap();
        let again = Factor::new(Target { dim, totals: &totals, exponent, lift }).unwrap();
        assert!(factor.spread() <= 2f64.powi(-24));
        assert_eq!(factor.parts(), again.parts());
    }
    // What is no sum of squares has no factor.
    for totals in [[1i128 << 60, 0, 0, -(1 << 60)], [1, 1 << 90, 1 << 90, 1]] {
        assert!(
            Factor::new(Target { dim: 2, totals: &totals, exponent: -40, lift: 1.0 }).is_none()
        );
    }
}
