//! Flipped signs.

use super::common::{
    bound, gaussian_budget, pure_budget, pure_noise, repeated, response_noise, search_rng,
};
use super::projection::image;
use crate::search::{RowPair, uniform, worst, worst_attribute};
use crate::subject::{Draw, Side, Subject};
use dp_core::{Adjacency, Budget, PublicSeed};
use eval::Result;
use sketch::RowsView;
use sketch::projection::Family;
use sketch::signs::changes::Tail;
use sketch::signs::{
    FlipRule, FlipTable, FreshConfig, FreshSigns, NormFloor, PrivateSigns, SignSketch,
};
use std::sync::Arc;

/// Family name in the table.
pub(crate) const FAMILY: &str = "private signs";
/// Rows of one release, each an independent run on the same row.
pub(crate) const BATCH: usize = 64;

/// Bits, and features, of fresh signs.
const BITS: usize = 8;

/// Signs of a known projection, on a pair of rows.
#[derive(Debug, Clone)]
pub(crate) struct Signs {
    /// The mechanism.
    pub(crate) mechanism: Arc<PrivateSigns>,
    /// The pair.
    pub(crate) rows: RowPair,
    steps: Vec<f64>,
}

/// Probability of a one for every value: what the flips make of the levels `|x| / step`.
#[must_use]
pub(crate) fn ones(values: &[f64], steps: &[f64], table: &FlipTable) -> Vec<f64> {
    let one = |(x, step): (&f64, &f64)| {
        // A value on a threshold belongs to the level below it.
        let level = (x.abs() / step * (1.0 - 1e-9)).ceil() as u32;
        let flip = table.flip(if *x == 0.0 { 0 } else { level.max(1) }).get();
        if *x > 0.0 { 1.0 - flip } else { flip }
    };
    values.iter().zip(steps).map(one).collect()
}

/// The projected values of a row, all parts side by side.
///
/// # Errors
/// Another number of features.
pub(crate) fn values(sketch: &SignSketch, row: &[f64]) -> Result<Vec<f64>> {
    let parts = sketch.parts().iter().map(|p| image(p, row));
    Ok(parts.collect::<Result<Vec<_>>>()?.concat())
}

/// The largest change one attribute makes to each value.
fn reach(sketch: &SignSketch, beta: f64) -> Vec<f64> {
    let mut all = Vec::new();
    for part in sketch.parts() {
        let k = part.spec().k();
        let (mut row, mut most) = (vec![0.0; k], vec![1e-150f64; k]);
        for i in 0..sketch.d() {
            part.row(i, &mut row);
            most.iter_mut().zip(&row).for_each(|(m, w)| *m = m.max(beta * w.abs()));
        }
        all.extend(most);
    }
    all
}

/// As [`ones`] for a row, with levels from another rule of the quotient `|x| / step`.
///
/// # Errors
/// Another number of features.
pub(crate) fn ones_at(
    signs: &Signs,
    row: &[f64],
    table: &FlipTable,
    level: fn(f64) -> u32,
) -> Result<Vec<f64>> {
    let values = values(signs.mechanism.sketch(), row)?;
    let one = |(x, step): (&f64, &f64)| {
        let flip = table.flip(level(x.abs() / step)).get();
        if *x > 0.0 { 1.0 - flip } else { flip }
    };
    Ok(values.iter().zip(&signs.steps).map(one).collect())
}

/// The optimal rule on two given rows.
fn given(sketch: SignSketch, beta: f64, rows: RowPair, budget: Budget) -> Result<Signs> {
    let steps = reach(&sketch, beta);
    let adjacency = Adjacency::Attribute { beta: bound(beta)? };
    let rule = FlipRule::OptimalSmooth;
    let made = PrivateSigns::new(sketch, rule, adjacency, bound(3.0)?, budget)?;
    Ok(Signs { mechanism: Arc::new(made), rows, steps })
}

/// Zero against exactly one step: where a level off by one shows.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn thresholds(budget: Budget) -> Result<Signs> {
    let sketch = SignSketch::single(Family::Oporp, 4, 2, PublicSeed::new(81))?;
    let rows = RowPair { left: vec![0.0; 4], right: vec![1.0, 0.0, 0.0, 0.0] };
    given(sketch, 1.0, rows, budget)
}

/// (0.1, 0.2) against (0, 0.2), whose computed sums differ by more than 0.1.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn decimals(budget: Budget) -> Result<Signs> {
    let rows = RowPair { left: vec![0.1, 0.2], right: vec![0.0, 0.2] };
    let mut seed = 0;
    loop {
        // Equal signs for both features.
        let sketch = SignSketch::single(Family::Oporp, 2, 1, PublicSeed::new(seed))?;
        if values(&sketch, &rows.left)?[0].abs() > 0.25 {
            return given(sketch, 0.1, rows, budget);
        }
        seed += 1;
    }
}

impl Signs {
    /// The pair, one attribute apart, of the largest loss summed over the bits.
    ///
    /// # Errors
    /// A calibration that fails.
    pub(crate) fn new(sketch: SignSketch, rule: FlipRule, budget: Budget) -> Result<Self> {
        let (beta, largest) = (1.0, 3.0);
        let adjacency = Adjacency::Attribute { beta: bound(beta)? };
        let steps = reach(&sketch, beta);
        let made = PrivateSigns::new(sketch.clone(), rule, adjacency, bound(largest)?, budget)?;
        let loss = |pair: &RowPair| {
            let (Ok(x), Ok(y)) = (values(&sketch, &pair.left), values(&sketch, &pair.right)) else {
                return 0.0;
            };
            let (p, q) = (ones(&x, &steps, made.flips()), ones(&y, &steps, made.flips()));
            let worst =
                |(p, q): (&f64, &f64)| (p / q).ln().abs().max(((1.0 - p) / (1.0 - q)).ln().abs());
            // Among equal losses, the event that reaches them should not be rare.
            let apart = |(p, q): (&f64, &f64)| 0.1 * (p - q).abs();
            p.iter().zip(&q).map(|t| worst(t) + apart(t)).sum::<f64>()
        };
        let d = sketch.d();
        let (rows, _) = worst_attribute(d, (beta, largest), &mut search_rng(d as u64), loss);
        Ok(Self { mechanism: Arc::new(made), rows, steps })
    }

    /// The audit.
    ///
    /// # Errors
    /// A projection that refuses rows.
    pub(crate) fn subject(&self, name: &str) -> Result<Subject> {
        let sketch = self.mechanism.sketch();
        let (bits, d) = (sketch.bits(), sketch.d());
        let table = self.mechanism.flips();
        let p = ones(&values(sketch, &self.rows.left)?, &self.steps, table);
        let q = ones(&values(sketch, &self.rows.right)?, &self.steps, table);
        let (left, right) = (repeated(&self.rows.left, BATCH), repeated(&self.rows.right, BATCH));
        let mechanism = self.mechanism.clone();
        let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
            let rows = RowsView::f64(BATCH, d, side.of(&left, &right))?;
            let release = mechanism.release(rows, &mut draw.noise())?;
            let packed = release.payload().bits();
            for row in 0..BATCH {
                out.extend((0..bits).map(|j| f64::from(u8::from(packed.get(row, j)))));
            }
            Ok(())
        };
        let claim = self.mechanism.guarantee().budget();
        let truth = epsilon_of_bits(&p, &q, claim.delta.get());
        let pair = "attribute: row and coordinate by search on the loss summed over bits";
        Ok(Subject::new(name, FAMILY, claim, pair, bits, sample)
            .under(self.mechanism.guarantee())?
            .batched(BATCH)
            .of_letters()
            .giving(truth)
            .with_runs(40_000)
            .likelihood(move |x| ratio_of_bits(x, &p, &q)))
    }
}

/// The least epsilon at which two products of independent bits are indistinguishable up to
/// `delta`, in both directions, by all outcomes.
#[must_use]
pub(crate) fn epsilon_of_bits(p: &[f64], q: &[f64], delta: f64) -> f64 {
    let of = |ones: &[f64], outcome: u32| -> f64 {
        let bit = |(j, p): (usize, &f64)| if outcome >> j & 1 == 1 { *p } else { 1.0 - p };
        ones.iter().enumerate().map(bit).product()
    };
    let pairs = (0..1u32 << p.len()).map(|o| (of(p, o), of(q, o)));
    epsilon_of(&pairs.collect::<Vec<_>>(), delta)
}

/// The same for any two laws on finitely many outcomes.
#[must_use]
pub(crate) fn epsilon_of(outcomes: &[(f64, f64)], delta: f64) -> f64 {
    let beyond = |epsilon: f64| {
        let over = |a: f64, b: f64| (a - epsilon.exp() * b).max(0.0);
        let sum = |f: &dyn Fn(&(f64, f64)) -> f64| outcomes.iter().map(f).sum::<f64>();
        sum(&|&(a, b)| over(a, b)).max(sum(&|&(a, b)| over(b, a)))
    };
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..60 {
        let mid = 0.5 * (low + high);
        // A pure loss is met up to rounding.
        if beyond(mid) > delta.max(1e-13) { low = mid } else { high = mid }
    }
    high
}

/// `ln Pr[x | q] - ln Pr[x | p]` for independent bits.
#[must_use]
pub(crate) fn ratio_of_bits(x: &[f64], p: &[f64], q: &[f64]) -> f64 {
    let one = |((x, p), q): ((&f64, &f64), &f64)| {
        if *x == 1.0 { (q / p).ln() } else { ((1.0 - q) / (1.0 - p)).ln() }
    };
    x.iter().zip(p).zip(q).map(one).sum()
}

fn config(beta: f64) -> Result<FreshConfig> {
    Ok(FreshConfig {
        d: BITS,
        bits: BITS,
        floor: NormFloor::Promised(bound(1.0)?),
        bound: bound(2.0)?,
        adjacency: Adjacency::Attribute { beta: bound(beta)? },
    })
}

/// Rows of norm at least one, `beta` apart in one attribute, at the largest angle.
fn widest(beta: f64) -> RowPair {
    let angle = |&(a, b): &(f64, f64)| {
        let (u, v) = ([a, b], [a + beta, b]);
        if u[0].hypot(u[1]) < 1.0 || v[0].hypot(v[1]) < 1.0 {
            return -1.0;
        }
        (u[0] * v[1] - u[1] * v[0]).atan2(u[0] * v[0] + u[1] * v[1]).abs()
    };
    let change = |&(a, b): &(f64, f64), rng: &mut _| {
        (a + 0.1 * (uniform(rng) - 0.5), b + 0.1 * (uniform(rng) - 0.5))
    };
    let start = [(1.0, 0.0), (0.0, 1.0), (-0.5, 1.5)];
    let ((a, b), _) = worst(start, 20_000, &mut search_rng(2), change, angle);
    let padded = |x: f64| (0..BITS).map(|i| [x, b].get(i).copied().unwrap_or(0.0)).collect();
    RowPair { left: padded(a), right: padded(a + beta) }
}

fn fresh(name: &str, made: &FreshSigns, family: Family, pair: RowPair) -> Result<Subject> {
    let bits = BITS;
    let claim = made.guarantee().budget();
    let guarantee = made.guarantee().clone();
    let both = [pair.left.as_slice(), pair.right.as_slice()].concat();
    let made = made.clone();
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = RowsView::f64(1, BITS, side.of(&pair.left, &pair.right))?;
        let release = made.release(rows, draw.fresh(), &mut draw.noise())?;
        let codes = release.payload();
        let bit =
            |packed: &sketch::signs::PackedBits, row, j| f64::from(u8::from(packed.get(row, j)));
        out.extend((0..bits).map(|j| bit(codes.bits(), 0, j)));
        let clean = SignSketch::single(family, BITS, bits, codes.projections()[0].seed())?;
        let clean = clean.simhash(RowsView::f64(2, BITS, &both)?)?;
        for row in 0..2 {
            out.extend((0..bits).map(|j| bit(clean.payload().bits(), row, j)));
        }
        Ok(())
    };
    let words = "rows at the largest angle, by search; the projection is known to the tester";
    Ok(Subject::new(name, FAMILY, claim, words, 3 * bits, sample)
        .under(&guarantee)?
        .seeing(bits)
        .of_letters()
        .with_runs(16_000)
        .likelihood(move |x| {
            (0..bits).map(|j| agree(x[j], x[2 * bits + j]) - agree(x[j], x[bits + j])).sum()
        }))
}

/// One when two letters agree.
#[must_use]
pub(crate) fn agree(x: f64, y: f64) -> f64 {
    f64::from(u8::from(x == y))
}

/// The family's audits.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subjects() -> Result<Vec<Subject>> {
    let seed = PublicSeed::new(82);
    let pure = pure_budget()?;
    let mut all = Vec::new();
    let mut keep = |name: String, sketch: SignSketch, rule, claim| -> Result<()> {
        let at = sketch.clone();
        let noise = move |budget| {
            let adjacency = Adjacency::Attribute { beta: bound(1.0)? };
            let made = PrivateSigns::new(at.clone(), rule, adjacency, bound(3.0)?, budget)?;
            Ok(response_noise(made.flips().keep(), 2))
        };
        let build = move |budget| Signs::new(sketch.clone(), rule, budget)?.subject(&name);
        all.push(Subject::built(claim, noise, build)?);
        Ok(())
    };
    for rule in [FlipRule::RandomizedResponse, FlipRule::PublishedSmooth, FlipRule::OptimalSmooth] {
        let dense = SignSketch::single(Family::Rademacher, 5, 3, seed)?;
        keep(format!("DP-SignRP, {}", rule.name()), dense, rule, pure)?;
        for repetitions in [1, 2] {
            let sketch = SignSketch::repeated(Family::Oporp, 6, 4, repetitions, seed)?;
            keep(format!("DP-SignOPORP t = {repetitions}, {}", rule.name()), sketch, rule, pure)?;
        }
    }
    let many = SignSketch::single(Family::Gaussian, 5, 4, seed)?;
    let (name, rule) = ("DP-SignRP, 4 Gaussian bits at delta 0.01", FlipRule::RandomizedResponse);
    keep(name.into(), many, rule, gaussian_budget()?)?;
    let at = |budget| thresholds(budget)?.subject("DP-SignOPORP at thresholds");
    all.push(Subject::built(pure, pure_noise, at)?.twin_with_runs(80_000));
    let at = |budget| decimals(budget)?.subject("DP-SignOPORP on decimals");
    all.push(Subject::built(pure, pure_noise, at)?.twin_with_runs(80_000));
    let claim = gaussian_budget()?;
    let noise =
        |budget| Ok(response_noise(FreshSigns::exact(config(0.5)?, budget)?.flips().keep(), 2));
    let build = |budget| {
        let made = FreshSigns::exact(config(0.5)?, budget)?;
        fresh("fresh signs, exact mixture", &made, Family::Gaussian, widest(0.5))
    };
    all.push(Subject::built(claim, noise, build)?.twin_with_runs(40_000));
    for (name, family) in [("Gaussian", Family::Gaussian), ("Rademacher", Family::Rademacher)] {
        let published = move |budget| -> Result<FreshSigns> {
            Ok(FreshSigns::published(config(0.5)?, family, Tail::Quantile, budget)?)
        };
        let noise = move |budget| Ok(response_noise(published(budget)?.flips().keep(), 2));
        let name = format!("DP-SignRP-RR with N+, {name}");
        let build = move |budget| fresh(&name, &published(budget)?, family, widest(0.5));
        all.push(Subject::built(claim, noise, build)?.in_full(16).twin_only_in_full());
    }
    Ok(all)
}
