//! Private set signatures.

use super::common::{gaussian_budget, pure_budget, pure_noise, response_noise, search_rng};
use super::signs::agree;
use crate::search::{below, worst};
use crate::subject::{Draw, Side, Subject, laplace_ratio};
use dp_core::calibrate::Acceptance;
use dp_core::{Budget, PublicSeed};
use eval::Result;
use sketch::sets::{
    BinResponse, BucketPrivMin, FreshBinResponse, GroupCounts, ItemGroups, ItemSet, MinHash,
    MixtureResponse, NoisySecureMinHash, PrivMin, SecureMinHash, SetNeighbours, SetSketch,
    SymbolShape,
};

/// Family name in the table.
pub(crate) const FAMILY: &str = "set signatures";
/// Sets of one release, each an independent run on the same set (public seeds only).
pub(crate) const BATCH: usize = 64;

fn set(bits: u32) -> Result<ItemSet> {
    Ok(ItemSet::new((0..32).filter(|i| bits >> i & 1 == 1).collect())?)
}

/// Letters of the noisy rows of a release.
pub(crate) fn letters(rows: &sketch::sets::PrivateSymbols, out: &mut Vec<f64>) -> Result<()> {
    for i in 0..rows.rows() {
        out.extend(rows.row(i)?.iter().map(|&x| f64::from(x)));
    }
    Ok(())
}

/// Bucket PrivMin on two sets whose letters differ in every position.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    /// Positions and alphabet.
    pub(crate) shape: SymbolShape,
    /// Seed of the hash functions.
    pub(crate) seed: PublicSeed,
    /// The two sets.
    pub(crate) sets: [ItemSet; 2],
}

impl Bucket {
    /// Sets by search: the most positions in which the clean letters differ.
    ///
    /// # Errors
    /// Never: the shape is valid.
    pub(crate) fn new() -> Result<Self> {
        let (shape, seed) = (SymbolShape::new(2, 1, 4)?, PublicSeed::new(91));
        let sketch = SecureMinHash::new(shape, seed);
        let differing = |&(a, b): &(u32, u32)| match (set(a), set(b)) {
            (Ok(a), Ok(b)) => {
                let clean = sketch.sketch(&[a, b]);
                clean.row(0).iter().zip(clean.row(1)).filter(|(x, y)| x != y).count() as f64
            }
            _ => -1.0,
        };
        let change =
            |&(a, b): &(u32, u32), rng: &mut _| (a ^ 1 << below(rng, 32), b ^ 1 << below(rng, 32));
        let ((a, b), _) = worst([(1, 2), (3, 5)], 300, &mut search_rng(91), change, differing);
        Ok(Self { shape, seed, sets: [set(a)?, set(b)?] })
    }

    /// The clean letters of both sets.
    #[must_use]
    pub(crate) fn clean(&self) -> [Vec<f64>; 2] {
        let clean = SecureMinHash::new(self.shape, self.seed).sketch(&self.sets);
        [0, 1].map(|i| clean.row(i).iter().map(|&x| f64::from(x)).collect())
    }

    /// The audit.
    ///
    /// # Errors
    /// A calibration that fails.
    pub(crate) fn subject(&self, claim: Budget) -> Result<Subject> {
        let made = BucketPrivMin::new(self.shape, claim.epsilon)?;
        let guarantee = made.guarantee().clone();
        let [a, b] = self.clean();
        let tiled = self.sets.clone().map(|s| vec![s; BATCH]);
        let seed = self.seed;
        let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
            let release = made.release(side.of(&tiled[0], &tiled[1]), seed, &mut draw.noise())?;
            letters(release.payload(), out)
        };
        let pair = "two sets by search: every position's letter differs";
        Ok(Subject::new("Bucket PrivMin", FAMILY, claim, pair, self.shape.positions(), sample)
            .under(&guarantee)?
            .batched(BATCH)
            .of_letters()
            .with_runs(40_000)
            .likelihood(move |x| toward(x, &a, &b)))
    }
}

/// Positions that agree with the right letters, minus those that agree with the left ones.
#[must_use]
pub(crate) fn toward(x: &[f64], left: &[f64], right: &[f64]) -> f64 {
    x.iter().zip(left).zip(right).map(|((x, l), r)| agree(*x, *r) - agree(*x, *l)).sum()
}

/// The least similar neighbours among all subsets of seven items.
fn neighbours(allowed: SetNeighbours) -> Result<[ItemSet; 2]> {
    let (mut best, mut least) = ((1, 1), 2.0);
    for a in 1u32..128 {
        for b in 1u32..128 {
            let sizes = u64::from(a.count_ones().min(b.count_ones()));
            if sizes < allowed.min_size() || u64::from((a ^ b).count_ones()) > allowed.alpha() {
                continue;
            }
            let similarity = f64::from((a & b).count_ones()) / f64::from((a | b).count_ones());
            if similarity < least {
                (best, least) = ((a, b), similarity);
            }
        }
    }
    Ok([set(best.0)?, set(best.1)?])
}

const LEAST_SIMILAR: &str = "least similar neighbours, over all sets of seven items; fresh hash functions, known to the tester";

fn mixture(claim: Budget) -> Result<Subject> {
    let shape = SymbolShape::new(4, 1, 4)?;
    let allowed = SetNeighbours::new(2, 3)?;
    let made = MixtureResponse::calibrate(shape, allowed, claim)?;
    let guarantee = made.guarantee().clone();
    let sets = neighbours(allowed)?;
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let one = std::slice::from_ref(side.of(&sets[0], &sets[1]));
        let release = made.release(one, draw.fresh(), &mut draw.noise())?;
        letters(release.payload(), out)?;
        let clean = SecureMinHash::new(shape, release.payload().scheme().seed).sketch(&sets);
        (0..2).for_each(|i| out.extend(clean.row(i).iter().map(|&x| f64::from(x))));
        Ok(())
    };
    Ok(Subject::new("MinHash with mixture response", FAMILY, claim, LEAST_SIMILAR, 12, sample)
        .under(&guarantee)?
        .seeing(4)
        .of_letters()
        .with_runs(16_000)
        .likelihood(|x| toward(&x[..4], &x[4..8], &x[8..])))
}

fn bins(claim: Budget) -> Result<Subject> {
    bins_of("one-permutation bins, k-ary response", 3, claim)
}

fn occupancy(claim: Budget) -> Result<Subject> {
    bins_of("occupancy bits", 1, claim)
}

fn bins_of(name: &str, values: u32, claim: Budget) -> Result<Subject> {
    let made = BinResponse::calibrate(4, values, 1, claim)?;
    let guarantee = made.guarantee().clone();
    let seed = PublicSeed::new(92);
    // An exact reader of bins: a response that keeps nearly always, read many times.
    let reader = BinResponse::calibrate(4, values, 1, Budget::new(20.0, 0.0)?)?;
    let read = |bits: u32| -> Result<Vec<u16>> {
        let mut rng = dp_core::NoiseRng::deterministic_not_private(1);
        let release = reader.release(&[set(bits)?], seed, &mut rng)?;
        Ok(release.payload().row(0)?.to_vec())
    };
    let moved = |&(bits, i): &(u32, usize)| match (read(bits), read(bits ^ 1 << i)) {
        (Ok(a), Ok(b)) => a.iter().zip(&b).filter(|(x, y)| x != y).count() as f64,
        _ => -1.0,
    };
    let change =
        |&(bits, _): &(u32, usize), rng: &mut _| (bits ^ 1 << below(rng, 32), below(rng, 32));
    let ((bits, i), _) = worst([(3, 0), (7, 1)], 300, &mut search_rng(92), change, moved);
    let (a, b) = (read(bits)?, read(bits ^ 1 << i)?);
    let real = |x: Vec<u16>| x.into_iter().map(f64::from).collect::<Vec<f64>>();
    let (a, b) = (real(a), real(b));
    let tiled = [vec![set(bits)?; BATCH], vec![set(bits ^ 1 << i)?; BATCH]];
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let release = made.release(side.of(&tiled[0], &tiled[1]), seed, &mut draw.noise())?;
        letters(release.payload(), out)
    };
    let pair = "one item added: set and item by search on the bins that change";
    Ok(Subject::new(name, FAMILY, claim, pair, 4, sample)
        .under(&guarantee)?
        .batched(BATCH)
        .of_letters()
        .with_runs(40_000)
        .likelihood(move |x| toward(x, &a, &b)))
}

/// Bins under fresh hash functions: sets of six items, of which one is replaced.
pub(crate) struct FreshBins {
    pub(crate) made: FreshBinResponse,
    /// An exact reader of bins: a response that keeps nearly always.
    reader: BinResponse,
    sets: [ItemSet; 2],
}

impl FreshBins {
    const BINS: usize = 2;
    const VALUES: u32 = 8;

    /// Where the event that shows most is frequent: at a smaller delta counting sees less of what both bins tell together.
    ///
    /// # Errors
    /// Never: the budget is valid.
    pub(crate) fn budget() -> Result<Budget> {
        Ok(Budget::new(2.0, 0.05)?)
    }

    pub(crate) fn new(budget: Budget) -> Result<Self> {
        let allowed = SetNeighbours::new(2, 6)?;
        let made = FreshBinResponse::calibrate(Self::BINS, Self::VALUES, allowed, budget)?;
        let reader = BinResponse::calibrate(Self::BINS, Self::VALUES, 1, Budget::new(20.0, 0.0)?)?;
        Ok(Self { made, reader, sets: [set(0b0011_1111)?, set(0b0101_1111)?] })
    }

    /// The noisy letters of one side, then those of both sides without noise.
    pub(crate) fn observe(
        &self,
        side: Side,
        (fresh, draw): (dp_core::FreshSeed, &Draw),
        out: &mut Vec<f64>,
    ) -> Result<()> {
        let one = std::slice::from_ref(side.of(&self.sets[0], &self.sets[1]));
        let release = self.made.release(one, fresh, &mut draw.noise())?;
        letters(release.payload(), out)?;
        self.clean(release.payload().scheme().seed, out)
    }

    /// Letters of both sides without noise.
    pub(crate) fn clean(&self, seed: PublicSeed, out: &mut Vec<f64>) -> Result<()> {
        let mut rng = dp_core::NoiseRng::deterministic_not_private(1);
        letters(self.reader.release(&self.sets, seed, &mut rng)?.payload(), out)
    }
}

pub(crate) fn fresh_bins(claim: Budget) -> Result<Subject> {
    let bins = FreshBins::new(claim)?;
    let guarantee = bins.made.guarantee().clone();
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        bins.observe(side, (draw.fresh(), draw), out)
    };
    let (name, pair) = (
        "one-permutation bins, fresh hash functions",
        "one of six items replaced; fresh hash functions, known to the tester",
    );
    Ok(Subject::new(name, FAMILY, claim, pair, 3 * FreshBins::BINS, sample)
        .under(&guarantee)?
        .seeing(FreshBins::BINS)
        .of_letters()
        .with_runs(60_000)
        .likelihood(|x| toward(&x[..2], &x[2..4], &x[4..])))
}

/// Counts of two groups: `items` items more in one group.
fn counts(items: u64, claim: Budget) -> Result<Subject> {
    let groups = ItemGroups::new(&[set(0b1111)?, set(0b11_0000)?])?;
    let made = GroupCounts::calibrate(groups, items, claim)?;
    let guarantee = made.guarantee().clone();
    let scale = items as f64 / claim.epsilon.get();
    // All items that are there are in a list.
    let sides = [0, (1 << items) - 1].map(|more| set(0b11_0000 | more));
    let [left, right] = sides;
    let tiled = [vec![left?; BATCH], vec![right?; BATCH]];
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let release = made.release(side.of(&tiled[0], &tiled[1]), &mut draw.noise())?;
        out.extend_from_slice(release.payload().values());
        Ok(())
    };
    let (name, pair) = match items {
        1 => ("counts of groups", "one item added"),
        _ => ("counts of groups, two items", "two items added to one group"),
    };
    let (a, b) = ([0.0, 2.0], [items as f64, 2.0]);
    Ok(Subject::new(name, FAMILY, claim, pair, 2, sample)
        .under(&guarantee)?
        .batched(BATCH)
        .with_runs(40_000)
        .likelihood(move |x| laplace_ratio(x, &a, &b, scale)))
}

/// The published noise of noisy secure MinHash, whatever it really gives.
fn published_noise(claim: Budget) -> Result<NoisySecureMinHash> {
    let allowed = SetNeighbours::new(2, 4)?;
    Ok(NoisySecureMinHash::published(4, 1, allowed, claim, Acceptance::AcceptTrueDelta)?)
}

/// The epsilon of Laplace noise on `positions` bits, each of which differs with probability `differ`,
/// as the tester knows: losses of one bit in equal steps, added up over those that differ.
fn epsilon_of_laplace(scale: f64, positions: usize, differ: f64, delta: f64) -> f64 {
    const STEPS: usize = 200;
    let step = 2.0 / (scale * STEPS as f64);
    // Loss (i - STEPS / 2) step: the values beyond either bit at the ends, those between them inside.
    let mut one = vec![0.0; STEPS + 1];
    for slice in 0..STEPS {
        // Loss falls from 1/b to -1/b while the value goes from one bit to the other.
        let (from, to) = (slice as f64 / STEPS as f64, (slice + 1) as f64 / STEPS as f64);
        let mass = 0.5 * ((-from / scale).exp() - (-to / scale).exp());
        one[STEPS - slice] += 0.5 * mass;
        one[STEPS - slice - 1] += 0.5 * mass;
    }
    one[STEPS] += 0.5;
    one[0] += 0.5 * (-1.0 / scale).exp();
    let (mut sum, mut choose, mut laws) = (vec![1.0], 1.0, Vec::new());
    for m in 0..=positions {
        let (left, m) = ((positions - m) as i32, m as i32);
        laws.push((choose * differ.powi(m) * (1.0 - differ).powi(left), sum.clone()));
        choose *= f64::from(left) / f64::from(m + 1);
        let mut next = vec![0.0; sum.len() + STEPS];
        for (i, a) in sum.iter().enumerate() {
            one.iter().enumerate().for_each(|(j, b)| next[i + j] += a * b);
        }
        sum = next;
    }
    let beyond = |epsilon: f64| -> f64 {
        let of = |law: &[f64]| -> f64 {
            let loss = |i: usize| (i as f64 - 0.5 * (law.len() - 1) as f64) * step;
            let over = |(i, p): (usize, &f64)| p * (1.0 - (epsilon - loss(i)).exp()).max(0.0);
            law.iter().enumerate().map(over).sum()
        };
        laws.iter().map(|(weight, law)| weight * of(law)).sum()
    };
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..60 {
        let mid = 0.5 * (low + high);
        if beyond(mid) > delta { low = mid } else { high = mid }
    }
    high
}

fn noisy(claim: Budget) -> Result<Subject> {
    let allowed = SetNeighbours::new(2, 4)?;
    let made = published_noise(claim)?;
    let shape = SymbolShape::new(4, 1, 2)?;
    let scale = made.noise().scale().get();
    let sets = neighbours(allowed)?;
    let probe = made.release(
        &sets[..1],
        dp_core::FreshSeed::reproducible_not_private(1),
        &mut dp_core::NoiseRng::deterministic_not_private(1),
    )?;
    let guarantee = probe.certificate().guarantee().clone();
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let one = std::slice::from_ref(side.of(&sets[0], &sets[1]));
        let release = made.release(one, draw.fresh(), &mut draw.noise())?;
        out.extend_from_slice(release.payload().row(0)?);
        let clean = SecureMinHash::new(shape, release.payload().scheme().seed).sketch(&sets);
        (0..2).for_each(|i| out.extend(clean.row(i).iter().map(|&x| f64::from(x))));
        Ok(())
    };
    // The certificate's profile takes one coordinate for several: this pair leaks less.
    let differ = allowed.differ_probability(1, 2)?.get();
    let truth = epsilon_of_laplace(scale, 4, differ, claim.delta.get());
    Ok(Subject::new("noisy secure MinHash, published", FAMILY, claim, LEAST_SIMILAR, 12, sample)
        .under(&guarantee)?
        .giving(truth)
        .seeing(4)
        .with_runs(16_000)
        .in_full(128)
        .likelihood(move |x| laplace_ratio(&x[..4], &x[4..8], &x[8..], scale)))
}

fn privmin() -> Result<Subject> {
    let claim = pure_budget()?;
    let made = PrivMin::published(1, 20.0, claim.epsilon)?;
    let sets = [ItemSet::new((0..20).collect())?, ItemSet::new((0..21).collect())?];
    // A seed under which the added item has the least hash.
    let moved = |&seed: &u64| match MinHash::new(1, PublicSeed::new(seed)) {
        Ok(m) => {
            let minima = m.sketch(&sets);
            f64::from(u8::from(minima.row(0) != minima.row(1)))
        }
        Err(_) => -1.0,
    };
    let (seed, _) = worst(0..200, 0, &mut search_rng(93), |s, _| *s, moved);
    let seed = PublicSeed::new(seed);
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let one = std::slice::from_ref(side.of(&sets[0], &sets[1]));
        let release = made.release(one, seed, &mut draw.noise())?;
        out.push(f64::from(release.payload().row(0)[0]));
        Ok(())
    };
    let pair = "one item added, under a seed that gives it the least hash";
    Ok(Subject::new("PrivMin", FAMILY, claim, pair, 1, sample)
        .of_letters()
        .with_runs(8_000)
        .claimed_by("published; released here with NoGuarantee"))
}

/// The family's audits.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subjects() -> Result<Vec<Subject>> {
    let (gaussian, pure) = (gaussian_budget()?, pure_budget()?);
    let kept = |budget| {
        let (shape, allowed) = (SymbolShape::new(4, 1, 4)?, SetNeighbours::new(2, 3)?);
        let made = MixtureResponse::calibrate(shape, allowed, budget)?;
        Ok(response_noise(made.response().keep(), shape.alphabet()))
    };
    let published = |budget| Ok(published_noise(budget)?.noise().scale().get());
    Ok(vec![
        Subject::built(gaussian, kept, mixture)?,
        Subject::built(pure, pure_noise, |budget| Bucket::new()?.subject(budget))?,
        Subject::built(pure, pure_noise, bins)?,
        Subject::built(pure, pure_noise, occupancy)?,
        Subject::built(
            FreshBins::budget()?,
            |budget| {
                let keep = FreshBins::new(budget)?.made.response().keep();
                Ok(response_noise(keep, FreshBins::VALUES + 1))
            },
            fresh_bins,
        )?,
        Subject::built(pure, pure_noise, |budget| counts(1, budget))?,
        Subject::built(pure, pure_noise, |budget| counts(2, budget))?,
        Subject::built(gaussian, published, noisy)?.twin_only_in_full(),
        privmin()?,
    ])
}
