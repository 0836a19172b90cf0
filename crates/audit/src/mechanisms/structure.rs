//! Pairs from structure instead of search: implicit zeros, powers of two, equal rows, zero rows,
//! subnormal numbers, the largest bound, one feature and a hundred, identifiers that are multiples of
//! a power of two. Each reaches the full sensitivity, so that its twin with less noise shows.

use super::common::{
    bound, gaussian_budget, gaussian_noise, pure_budget, pure_noise, response_noise,
};
use super::minhash::{letters, toward};
use super::projection::{ATTRIBUTE, Rowwise, audited};
use super::signs::Signs;
use super::{pairwise, projection};
use crate::search::RowPair;
use crate::subject::{Draw, Side, Subject, gaussian_ratio, lowest_bit};
use dp_core::{Adjacency, Budget, PublicSeed};
use eval::Result;
use sketch::RowsView;
use sketch::distances::{NoiseAddition, ValueRange};
use sketch::projection::{Family, ProjectionSpec};
use sketch::rows::CsrView;
use sketch::sets::{
    ItemSet, MixtureResponse, SecureMinHash, SetNeighbours, SetSketch, SymbolShape,
};
use sketch::signs::{FlipRule, SignSketch};
use sketch::vectors::{PrivateProjection, System};
use std::sync::Arc;

/// The largest attribute tried, near the largest that the projections accept.
const LARGEST: f64 = 1e100;

/// DP-OPORP on a row whose first entry crosses zero while the others are given.
fn crossing(others: &'static [f64], beta: f64, budget: Budget) -> Result<Rowwise> {
    let d = others.len() + 1;
    let projection = ProjectionSpec::new(Family::Oporp, d, 2, PublicSeed::new(77))?.build();
    let (adjacency, largest) = (Adjacency::Attribute { beta: bound(beta)? }, bound(beta)?);
    let made = PrivateProjection::gaussian(projection, adjacency, largest, budget)?;
    let row = |first: f64| [&[first], others].concat();
    let rows = RowPair { left: row(-0.5 * beta), right: row(0.5 * beta) };
    Ok(Rowwise { mechanism: Arc::new(made), rows })
}

const CROSSING: &str = "the first attribute crosses zero, beside the entries that the name tells";
const SUBNORMAL: &[f64] = &[5e-324, -1.1e-308, 2.2e-308, 0.0, -5e-324];
const POWERS: &[f64] = &[0.25, 9.5367431640625e-7, -1.0, 8.881784197001252e-16, 0.5];

/// Sparse rows: the row is empty or has one entry.
fn implicit_zeros(budget: Budget) -> Result<Subject> {
    let projection = ProjectionSpec::new(Family::Oporp, 6, 2, PublicSeed::new(78))?.build();
    let adjacency = Adjacency::Attribute { beta: bound(1.0)? };
    let made = PrivateProjection::gaussian(projection, adjacency, bound(1.0)?, budget)?;
    let rows = RowPair { left: vec![0.0; 6], right: [&[1.0][..], &[0.0; 5]].concat() };
    let rowwise = Rowwise { mechanism: Arc::new(made), rows };
    let mechanism = rowwise.mechanism.clone();
    let rows = projection::BATCH;
    let (columns, values) = (vec![0u32; rows], vec![1.0; rows]);
    let offsets = [vec![0; rows + 1], (0..=rows).collect()];
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let offsets: &Vec<usize> = side.of(&offsets[0], &offsets[1]);
        let stored = offsets[rows];
        let csr = CsrView { offsets, columns: &columns[..stored], values: &values[..stored] };
        let release = mechanism.release(RowsView::csr(rows, 6, csr)?, &mut draw.noise())?;
        out.extend_from_slice(release.payload().values());
        Ok(())
    };
    let pair = "a sparse row without entries, and with one";
    let subject = rowwise.subject("DP-OPORP, implicit zeros", pair)?;
    Ok(Subject { sample: Arc::new(sample), ..subject })
}

/// Distances of two sparse rows, one without entries.
fn sparse_distances(budget: Budget) -> Result<Subject> {
    let adjacency = Adjacency::Attribute { beta: bound(1.0)? };
    let made = NoiseAddition::new(2, 1, ValueRange::BITS, adjacency, budget)?;
    let (sigma, guarantee) = (made.noise().sigma().get(), made.guarantee().clone());
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let stored = *side.of(&0, &1);
        let offsets = [0, stored, stored];
        let csr = CsrView { offsets: &offsets, columns: &[0][..stored], values: &[1.0][..stored] };
        let release = made.release(RowsView::csr(2, 1, csr)?, &mut draw.noise())?;
        out.extend_from_slice(release.payload().values());
        Ok(())
    };
    let pair = "two sparse rows without entries, and one entry in the first";
    Ok(Subject::new("NoiseAddition, implicit zeros", pairwise::FAMILY, budget, pair, 1, sample)
        .under(&guarantee)?
        .with_runs(40_000)
        .likelihood(move |z| gaussian_ratio(z, &[0.0], &[1.0], sigma)))
}

/// Distances of equal rows, which are all zero until one bit turns.
fn equal_rows(budget: Budget) -> Result<Subject> {
    let adjacency = Adjacency::Attribute { beta: bound(1.0)? };
    let made = NoiseAddition::new(4, 100, ValueRange::BITS, adjacency, budget)?;
    let (sigma, guarantee) = (made.noise().sigma().get(), made.guarantee().clone());
    let left = vec![1.0; 400];
    let mut right = left.clone();
    right[0] = 0.0;
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = RowsView::f64(4, 100, side.of(&left, &right))?;
        out.extend_from_slice(made.release(rows, &mut draw.noise())?.payload().values());
        Ok(())
    };
    let (a, b) = ([0.0; 6], [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    let pair = "four equal rows of a hundred bits, one bit flipped";
    Ok(Subject::new("NoiseAddition, equal rows", pairwise::FAMILY, budget, pair, 6, sample)
        .under(&guarantee)?
        .with_runs(20_000)
        .likelihood(move |z| gaussian_ratio(z, &a, &b, sigma)))
}

/// Sets whose identifiers are multiples of a power of two, and one more item.
#[derive(Debug, Clone)]
pub(crate) struct Identifiers {
    /// Positions and alphabet.
    pub(crate) shape: SymbolShape,
    /// Neighbours.
    pub(crate) allowed: SetNeighbours,
    /// The two sets.
    pub(crate) sets: [Vec<u64>; 2],
}

impl Identifiers {
    /// Sixty-four items that differ in their six highest bits only, and a small one.
    ///
    /// # Errors
    /// Never: the shape is valid.
    pub(crate) fn new() -> Result<Self> {
        let items: Vec<u64> = (0..64).map(|i| i << 58).collect();
        let more = [items.as_slice(), &[1]].concat();
        Ok(Self {
            shape: SymbolShape::new(16, 1, 64)?,
            allowed: SetNeighbours::new(1, 64)?,
            sets: [items, more],
        })
    }

    /// A budget at which the law of the number of letters that differ can be counted.
    ///
    /// # Errors
    /// Never: the budget is valid.
    pub(crate) fn budget() -> Result<Budget> {
        Ok(Budget::new(4.0, 0.2)?)
    }

    /// The mechanism.
    ///
    /// # Errors
    /// A calibration that fails.
    pub(crate) fn mechanism(&self, budget: Budget) -> Result<MixtureResponse> {
        Ok(MixtureResponse::calibrate(self.shape, self.allowed, budget)?)
    }

    /// The audit.
    ///
    /// # Errors
    /// A calibration that fails.
    pub(crate) fn subject(&self, budget: Budget) -> Result<Subject> {
        let made = self.mechanism(budget)?;
        let guarantee = made.guarantee().clone();
        let (shape, positions) = (self.shape, self.shape.positions());
        let sets = [ItemSet::new(self.sets[0].clone())?, ItemSet::new(self.sets[1].clone())?];
        let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
            let one = std::slice::from_ref(side.of(&sets[0], &sets[1]));
            let release = made.release(one, draw.fresh(), &mut draw.noise())?;
            letters(release.payload(), out)?;
            let clean = SecureMinHash::new(shape, release.payload().scheme().seed).sketch(&sets);
            (0..2).for_each(|i| out.extend(clean.row(i).iter().map(|&x| f64::from(x))));
            Ok(())
        };
        let name = "MinHash with mixture response, structured identifiers";
        let pair = "64 items that differ in their high bits, and one small item more";
        Ok(Subject::new(name, super::minhash::FAMILY, budget, pair, 3 * positions, sample)
            .under(&guarantee)?
            .seeing(positions)
            .of_letters()
            .with_runs(200_000)
            .likelihood(move |x| {
                toward(&x[..positions], &x[positions..2 * positions], &x[2 * positions..])
            }))
    }
}

/// The audits.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subjects() -> Result<Vec<Subject>> {
    let (gaussian, pure) = (gaussian_budget()?, pure_budget()?);
    let mut all = Vec::new();
    for (name, others, beta) in [
        ("DP-OPORP, subnormal entries", SUBNORMAL, 1.0),
        ("DP-OPORP, powers of two", POWERS, 1.0),
        ("DP-OPORP, an attribute of 1e100", &[0.0, 1e-100, 1.0][..], LARGEST),
    ] {
        let build = move |budget| crossing(others, beta, budget);
        let of = audited(name, CROSSING, gaussian, build)?;
        all.push(of.score("low bits", |z| f64::from(lowest_bit(z[0]).min(lowest_bit(z[1])))));
    }
    for (name, system, (d, k), claim) in [
        ("DP-OPORP, a hundred features", System::DpOporp, (100, 16), gaussian),
        ("DP-OPORP-L, a hundred features", System::DpOporpLaplace, (100, 16), pure),
        ("DP-OPORP-L, one feature", System::DpOporpLaplace, (1, 1), pure),
        ("DP-RP-G-OPT, one feature", System::DpRpGOpt, (1, 1), gaussian),
    ] {
        let (beta, one) = (bound(1.0)?, bound(1.0)?);
        let build = move |budget| {
            let made = system.mechanism(d, k, PublicSeed::new(79), beta, one, budget)?;
            Rowwise::attribute(made, 1.0, 1.0)
        };
        all.push(audited(name, ATTRIBUTE, claim, build)?);
    }
    all.push(Subject::built(gaussian, gaussian_noise, implicit_zeros)?);
    all.push(Subject::built(gaussian, gaussian_noise, sparse_distances)?);
    all.push(Subject::built(gaussian, gaussian_noise, equal_rows)?.twin_with_runs(60_000));
    for (name, d, k) in
        [("DP-SignOPORP, one feature", 1, 1), ("DP-SignOPORP, a hundred features", 100, 4)]
    {
        let build = move |budget| {
            let sketch = SignSketch::single(Family::Oporp, d, k, PublicSeed::new(80))?;
            Signs::new(sketch, FlipRule::OptimalSmooth, budget)?.subject(name)
        };
        all.push(Subject::built(pure, pure_noise, build)?);
    }
    let ids = Identifiers::new()?;
    let of = ids.clone();
    let noise = move |budget| {
        Ok(response_noise(of.mechanism(budget)?.response().keep(), of.shape.alphabet()))
    };
    all.push(Subject::built(Identifiers::budget()?, noise, move |b| ids.subject(b))?);
    Ok(all)
}
