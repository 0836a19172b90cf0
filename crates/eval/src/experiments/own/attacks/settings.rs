//! Releases that are attacked inside their adjacency, each beside the bound of the guarantee that was asked for.

use crate::attacks::{Attack, Measured, on_changes, on_presence, on_sets, on_signs, on_units};
use crate::data::{Points, digits, package_embeddings, package_sets};
use crate::error::Result;
use crate::framework::{Context, sabotage};
use dp_core::explain::TradeOff;
use dp_core::mechanism::Mechanism;
use dp_core::{
    Adjacency, Budget, EntryBound, Guarantee, NormBound, Probability, PublicSeed, Release, Shift,
};
use linalg_dp::covariance::{
    CovarianceMechanism, GaussianCovariance, JlCovariance, WishartCovariance, WishartShape,
};
use rayon::prelude::*;
use sketch::projection::{Family, ProjectionSpec, SharedProjection, project};
use sketch::rows::RowsView;
use sketch::sets::{BinResponse, ItemSet, MixtureResponse, SetNeighbours, SymbolShape};
use sketch::signs::{FlipRule, PrivateSigns, SignSketch};
use sketch::units::{PrivateUnits, UnitsConfig};
use sketch::vectors::{NoiseKind, PrivateProjection, PrivateSketch, ProjectionConfig};

/// Families of releases, as [`crate::attacks`] knows them.
pub(super) const FAMILIES: [&str; 5] =
    ["vectors", "directions", "signs", "item sets", "covariances"];
/// delta, where there is one.
pub(super) const DELTA: f64 = 1e-6;

/// One release, attacked.
pub(super) struct Setting {
    pub(super) family: &'static str,
    /// Mechanism, adjacency and data.
    pub(super) what: String,
    pub(super) epsilon: f64,
    /// Of the guarantee that was asked for, on guesses between two values.
    pub(super) bound: f64,
    /// The likelihood ratio.
    pub(super) ratio: Measured,
    /// The low bits, where they are looked at.
    pub(super) bits: Option<Measured>,
}

impl Setting {
    /// The share of the bound's advantage that the attack reaches, and the same at the lower end of its interval.
    pub(super) fn reached(&self) -> (f64, f64) {
        let of = |value: f64| (value - 0.5) / (self.bound - 0.5);
        (of(self.ratio.value), of(self.ratio.low))
    }
}

/// How much of everything there is.
pub(super) struct Size {
    pub(super) rows: usize,
    pub(super) releases: u64,
}

/// The bound of a guarantee on guesses between two values.
fn bound(guarantee: &Guarantee) -> Result<f64> {
    Ok(TradeOff::of(guarantee, 1)?.right_guesses(Probability::new(0.5)?))
}

/// Every setting.
pub(super) fn all(context: &Context<'_>, size: &Size) -> Result<Vec<Setting>> {
    let digits = &part(&digits(), size.rows);
    let texts = &part(&package_embeddings(), size.rows);
    let one =
        |beta: f64| -> Result<Adjacency> { Ok(Adjacency::Attribute { beta: Shift::new(beta)? }) };
    let (pixel, number) = (one(1.0)?, one(0.1)?);
    let shift = Adjacency::RowShift { l2: Shift::new(2.0)? };
    let replaced = Adjacency::ReplaceRow { bound: NormBound::new(1.0)? };
    let mut work: Vec<Box<dyn Fn() -> Result<Setting> + Sync + '_>> = Vec::new();
    let noises =
        [(NoiseKind::Laplace, 0.0), (NoiseKind::Staircase, 0.0), (NoiseKind::Gaussian, DELTA)];
    for (kind, delta) in noises {
        for epsilon in [0.5, 1.0, 2.0, 4.0] {
            let budget = Budget::new(epsilon, delta)?;
            work.push(Box::new(move || vectors(context, (digits, pixel), kind, budget)));
        }
        for epsilon in [1.0, 4.0] {
            let budget = Budget::new(epsilon, delta)?;
            work.push(Box::new(move || vectors(context, (texts, number), kind, budget)));
        }
    }
    for epsilon in [1.0, 4.0] {
        let (budget, kind) = (Budget::new(epsilon, DELTA)?, NoiseKind::Gaussian);
        work.push(Box::new(move || vectors(context, (digits, shift), kind, budget)));
        work.push(Box::new(move || vectors(context, (texts, replaced), kind, budget)));
    }
    for data in [digits, texts] {
        for epsilon in [1.0, 4.0, 8.0] {
            let budget = Budget::new(epsilon, 0.0)?;
            work.push(Box::new(move || units(context, data, budget)));
        }
    }
    for rule in [FlipRule::RandomizedResponse, FlipRule::OptimalSmooth] {
        for epsilon in [0.5, 1.0, 2.0, 4.0] {
            let budget = Budget::new(epsilon, 0.0)?;
            work.push(Box::new(move || signs(context, (digits, pixel), rule, budget)));
        }
    }
    for epsilon in [0.5, 1.0, 2.0, 4.0] {
        let budget = Budget::new(epsilon, 0.0)?;
        work.push(Box::new(move || sets(context, size.rows, budget)));
    }
    for alpha in [1, 4] {
        for epsilon in [2.0, 6.0] {
            let budget = Budget::new(epsilon, DELTA)?;
            work.push(Box::new(move || mixture(context, size.rows, alpha, budget)));
        }
    }
    for name in ["symmetric Gaussian", "Wishart", "Johnson-Lindenstrauss"] {
        for epsilon in [1.0, 4.0] {
            let budget = Budget::new(epsilon, DELTA)?;
            work.push(Box::new(move || covariance(context, name, size.releases, budget)));
        }
    }
    work.par_iter().map(|one| one()).collect()
}

/// Some rows of a data set.
fn part(of: &Points, rows: usize) -> Points {
    of.select(&(0..rows).map(|i| i * of.n() / rows).collect::<Vec<_>>())
}

/// Rows as a mechanism takes them.
fn view(rows: &Points) -> Result<RowsView<'_>> {
    Ok(RowsView::f64(rows.n(), rows.d(), rows.values())?)
}

/// One projection for all settings: it is public.
fn projection(d: usize, k: usize) -> Result<SharedProjection> {
    Ok(ProjectionSpec::new(Family::Oporp, d, k, PublicSeed::new(28))?.build())
}

fn setting(
    (family, what): (&'static str, String),
    budget: Budget,
    guarantee: &Guarantee,
    attacks: &[Attack],
) -> Result<Setting> {
    let named = |name: &str| attacks.iter().find(|a| a.name.contains(name)).map(|a| a.release);
    let ratio = named("likelihood ratio").expect("every family has one");
    let (epsilon, bound, bits) = (budget.epsilon.get(), bound(guarantee)?, named("low bits"));
    Ok(Setting { family, what, epsilon, bound, ratio, bits })
}

fn vectors(
    context: &Context<'_>,
    (rows, adjacency): (&Points, Adjacency),
    noise: NoiseKind,
    budget: Budget,
) -> Result<Setting> {
    let k = if rows.d() > 500 { 256 } else { 128 };
    let made = |budget| -> Result<PrivateProjection> {
        let (projection, bound) = (projection(rows.d(), k)?, EntryBound::new(1.0)?);
        Ok(PrivateProjection::calibrate(
            ProjectionConfig { projection, adjacency, bound, noise },
            budget,
        )?)
    };
    let what = format!("{noise} noise, {adjacency}, {}", rows.name());
    let mut rng = context.noise(&what, budget.epsilon.get().to_bits());
    let most = if noise == NoiseKind::Staircase { 20.0 } else { f64::MAX };
    let mechanism = made(sabotage::spent_within(budget, most)?)?;
    let release = sabotage::with_rows(view(rows)?, |rows| Ok(mechanism.release(rows, &mut rng)?))?;
    let release = if sabotage::coarsens() { coarse(release, rows)? } else { release };
    let attacks = on_changes(&release, rows)?;
    setting(("vectors", what), budget, made(budget)?.guarantee(), &attacks)
}

/// The release as noise on a coarse grid would have made it: below that the bits are the image's own.
fn coarse(release: Release<PrivateSketch>, rows: &Points) -> Result<Release<PrivateSketch>> {
    const STEP: f64 = 1.0 / 1024.0;
    let (sketch, certificate) = release.into_parts();
    let images = project(&*sketch.projection().build(), view(rows)?)?;
    let near = |(z, image): (&f64, &f64)| image + ((z - image) / STEP).round() * STEP;
    let values = sketch.values().iter().zip(&images).map(near).collect();
    let sketch = PrivateSketch::new(sketch.projection(), sketch.noise().clone(), values)?;
    Ok(Release::certified(sketch, certificate))
}

fn units(context: &Context<'_>, rows: &Points, budget: Budget) -> Result<Setting> {
    let made = |budget| -> Result<PrivateUnits> {
        let (projection, adjacency) = (projection(rows.d(), 64)?, Adjacency::AnyInput);
        Ok(PrivateUnits::new(UnitsConfig { projection, adjacency, lengths: None }, budget)?)
    };
    let what = format!("unit vectors, any input, {}", rows.name());
    let mut rng = context.noise(&what, budget.epsilon.get().to_bits());
    let mechanism = made(sabotage::spent_within(budget, 20.0)?)?;
    let release = sabotage::with_rows(view(rows)?, |rows| Ok(mechanism.release(rows, &mut rng)?))?;
    let attacks = on_units(&release, rows, &rows.select(&[0, 1]))?;
    setting(("directions", what), budget, made(budget)?.guarantee(), &attacks)
}

fn signs(
    context: &Context<'_>,
    (rows, adjacency): (&Points, Adjacency),
    rule: FlipRule,
    budget: Budget,
) -> Result<Setting> {
    let made = |budget| -> Result<PrivateSigns> {
        let sketch = SignSketch::single(Family::Oporp, rows.d(), 256, PublicSeed::new(28))?;
        Ok(PrivateSigns::new(sketch, rule, adjacency, EntryBound::new(1.0)?, budget)?)
    };
    let what = format!("{rule} of signs, {adjacency}, {}", rows.name());
    let mut rng = context.noise(&what, budget.epsilon.get().to_bits());
    let mechanism = made(sabotage::spent(budget)?)?;
    let release = sabotage::with_rows(view(rows)?, |rows| Ok(mechanism.release(rows, &mut rng)?))?;
    let attacks = on_signs(&release, rows, &rows.select(&[0, 1]))?;
    setting(("signs", what), budget, made(budget)?.guarantee(), &attacks)
}

/// Package sets, and others whose items are strangers to them.
fn package_parts(rows: usize) -> (Vec<ItemSet>, Vec<ItemSet>) {
    let mut sets = package_sets().at_least(12).sets;
    let others = sets.split_off(rows.min(sets.len() / 2));
    (sets, others.into_iter().take(500).collect())
}

/// What a mechanism sees of sets.
fn seen(sets: &[ItemSet]) -> Vec<ItemSet> {
    if sabotage::ignores_data() { vec![sets[0].clone(); sets.len()] } else { sets.to_vec() }
}

fn sets(context: &Context<'_>, rows: usize, budget: Budget) -> Result<Setting> {
    let (truth, others) = package_parts(rows);
    let made = |budget| -> Result<BinResponse> { Ok(BinResponse::calibrate(256, 1, 1, budget)?) };
    let what = "occupancy bits, one item, package sets".to_owned();
    let mut rng = context.noise(&what, budget.epsilon.get().to_bits());
    let mechanism = made(sabotage::spent(budget)?)?;
    let release = mechanism.release(&seen(&truth), context.public_seed(&what, 0), &mut rng)?;
    let attacks = on_sets(&release, &truth, &others)?;
    setting(("item sets", what), budget, made(budget)?.guarantee(), &attacks)
}

fn mixture(context: &Context<'_>, rows: usize, alpha: u64, budget: Budget) -> Result<Setting> {
    let (truth, others) = package_parts(rows);
    let made = |budget| -> Result<MixtureResponse> {
        let neighbours = SetNeighbours::new(alpha, 12 - alpha)?;
        Ok(MixtureResponse::calibrate(SymbolShape::new(64, 1, 2)?, neighbours, budget)?)
    };
    let what = format!("secure MinHash, {alpha} items, package sets");
    let mut rng = context.noise(&what, budget.epsilon.get().to_bits());
    let mechanism = made(sabotage::spent(budget)?)?;
    let release = mechanism.release(&seen(&truth), context.fresh_seed(&what, 0), &mut rng)?;
    let attacks = on_sets(&release, &truth, &others)?;
    setting(("item sets", what), budget, made(budget)?.guarantee(), &attacks)
}

/// Side of the squares of pixels that a covariance is of.
const BLOCK: usize = 7;
/// Squares of a digit.
const BLOCKS: usize = 16;
/// Rows of a covariance.
const MEMBERS: usize = 50;

/// Many covariances, each with a row to be found and one that is not there.
fn covariance(
    context: &Context<'_>,
    name: &'static str,
    releases: u64,
    budget: Budget,
) -> Result<Setting> {
    let adjacency = Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? };
    let made = |budget| -> Result<Box<dyn CovarianceMechanism>> {
        Ok(match name {
            "Wishart" => {
                let shape = WishartShape::LeastSpectralNorm;
                Box::new(WishartCovariance::calibrate(BLOCKS, adjacency, budget, shape)?)
            }
            "Johnson-Lindenstrauss" => {
                Box::new(JlCovariance::calibrate(BLOCKS, 2 * BLOCKS, adjacency, budget)?)
            }
            _ => Box::new(GaussianCovariance::calibrate(BLOCKS, adjacency, budget)?),
        })
    };
    let all = blocks(&digits());
    let what = format!("{name}, {adjacency}, {MEMBERS} digits");
    let mechanism = made(sabotage::spent(budget)?)?;
    let mut rng = context.noise(&what, budget.epsilon.get().to_bits());
    let (mut hits, mut of) = (0.0, 0.0);
    for r in 0..releases as usize {
        let pick = |from: usize, count: usize| -> Vec<usize> {
            (0..count).map(|i| (r * (MEMBERS + 1) + from + i) * 97 % all.n()).collect()
        };
        let (truth, other) = (all.select(&pick(0, MEMBERS)), all.select(&pick(MEMBERS, 1)));
        let release = mechanism.release(&sabotage::data(truth.values().to_vec()), &mut rng)?;
        let found = on_presence(&release, &truth, &other)?;
        hits += found.value * found.of;
        of += found.of;
    }
    let ratio = Measured::share(hits, of);
    let (epsilon, bound) = (budget.epsilon.get(), bound(made(budget)?.guarantee())?);
    Ok(Setting { family: "covariances", what, epsilon, bound, ratio, bits: None })
}

/// Sums of squares of pixels, of norm one.
fn blocks(images: &Points) -> Points {
    let side = 28 / BLOCK;
    let mut all = Vec::with_capacity(images.n() * BLOCKS);
    for i in 0..images.n() {
        let row = images.row(i);
        let at = |b: usize, p: usize| {
            row[(b / side * BLOCK + p / BLOCK) * 28 + b % side * BLOCK + p % BLOCK]
        };
        let sum = |b: usize| (0..BLOCK * BLOCK).map(|p| at(b, p)).sum::<f64>();
        let sums: Vec<f64> = (0..BLOCKS).map(sum).collect();
        let norm = sums.iter().map(|x| x * x).sum::<f64>().sqrt();
        all.extend(sums.into_iter().map(|x| x / norm));
    }
    Points::new("blocks of digits", BLOCKS, all, None).expect("rows of one width")
}
