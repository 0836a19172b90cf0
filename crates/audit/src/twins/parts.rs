//! Defects of releases in parts: what a distributed engine does to noise that is not a function of the rows it hides.

use crate::mechanisms::common::{bound, gaussian_budget, gaussian_noise};
use crate::subject::{Draw, Side, Subject, budget_of, gaussian_ratio};
use dp_core::parts::{Block, ContentHash, Inputs, Manifest, PinnedFile, ReleaseKey, Terms};
use dp_core::release_file::encode;
use dp_core::{Adjacency, Budget, NoiseRng, PublicSeed};
use eval::{Error, Result};
use linalg_dp::covariance::{CovarianceMechanism, GaussianCovariance};
use rand_core::Rng;
use sha2::{Digest, Sha256};
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec};
use sketch::vectors::PrivateProjection;

const FAMILY: &str = "parts";

/// Two blocks of one row each: the row that is attacked, and one that the attacker knows.
struct Two {
    made: PrivateProjection,
    inputs: Inputs,
    terms: Terms,
}

const KNOWN: f64 = 0.0;

impl Two {
    fn new(budget: Budget) -> Result<Self> {
        let projection = ProjectionSpec::new(Family::Identity, 1, 1, PublicSeed::new(1))?.build();
        let adjacency = Adjacency::Attribute { beta: bound(1.0)? };
        let made = PrivateProjection::gaussian(projection, adjacency, bound(1.0)?, budget)?;
        let program = std::env::current_exe().map_err(|e| Error::Malformed {
            what: "the program's own file".into(),
            reason: e.to_string(),
        })?;
        let blocks = vec![Block::new(0, None, 0, 1), Block::new(0, None, 1, 1)];
        let inputs = Inputs { files: vec![PinnedFile::of(&program)?], blocks };
        let mut rng = ReleaseKey::draw()?.noise_of_terms();
        let empty = made.release(RowsView::f64(0, 1, &[])?, &mut rng)?;
        let terms = Terms::of(&encode(&empty)?)?;
        Ok(Self { made, inputs, terms })
    }

    /// The key of a run, and its manifest, whose rows are pinned.
    fn planned(&self, draw: &Draw, row: f64) -> Result<(ReleaseKey, Manifest)> {
        let mut stream = draw.noise().stream();
        let digits: String = (0..4).map(|_| format!("{:016x}", stream.next_u64())).collect();
        let key = ReleaseKey::parse(&digits)?;
        let mut inputs = self.inputs.clone();
        for (index, (block, row)) in inputs.blocks.iter_mut().zip([row, KNOWN]).enumerate() {
            let content = ContentHash::new(&key, index).rows(1, 1, &[row]);
            *block = block.clone().pinned(content);
        }
        let manifest = Manifest::new(&key, inputs, self.terms.clone(), None)?;
        Ok((key, manifest))
    }

    /// What is released of one row under this generator.
    fn released(&self, row: f64, rng: &mut NoiseRng) -> Result<f64> {
        Ok(self.made.release(RowsView::f64(1, 1, &[row])?, rng)?.payload().values()[0])
    }

    /// What is released of a block, by the manifest.
    fn block(&self, of: &(ReleaseKey, Manifest), index: usize, row: f64) -> Result<f64> {
        let (key, manifest) = of;
        let content = ContentHash::new(key, index).rows(1, 1, &[row]);
        self.released(row, &mut manifest.noise(key, index, &content)?)
    }

    fn subject(
        budget: Budget,
        what: &str,
        width: usize,
        sample: impl Fn(&Self, f64, &Draw, &mut Vec<f64>) -> Result<()> + Send + Sync + 'static,
    ) -> Result<Subject> {
        let two = Self::new(budget)?;
        let (guarantee, sigma) = (two.made.guarantee().clone(), two.made.noise().variance().sqrt());
        let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
            sample(&two, *side.of(&0.0, &1.0), draw, out)
        };
        let pair = "rows (0) and (1), beside a block that is known";
        Ok(Subject::new(format!("released in parts, {what}"), FAMILY, budget, pair, width, sample)
            .under(&guarantee)?
            .with_runs(10_000)
            .likelihood(move |z| gaussian_ratio(&z[..1], &[0.0], &[1.0], sigma)))
    }
}

/// What an attacker sees of a task that was moved to another partition: the first row of partition 0, under two splits.
fn moved(budget: Budget) -> Result<Subject> {
    let seen = Two::subject(budget, "two splits seen", 2, |two, row, draw, out| {
        let planned = two.planned(draw, row)?;
        out.extend([two.block(&planned, 0, row)?, two.block(&planned, 1, KNOWN)?]);
        Ok(())
    })?;
    Ok(seen.score("difference", |z| z[0] - z[1]))
}

/// Noise that belongs to partition 0, whatever rows it holds.
fn keyed_by_partition() -> Result<Subject> {
    let two = Two::new(gaussian_budget()?)?;
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let row = *side.of(&0.0, &1.0);
        let (key, manifest) = two.planned(draw, row)?;
        let first = ContentHash::new(&key, 0).rows(1, 1, &[row]);
        for row in [row, KNOWN] {
            out.push(two.released(row, &mut manifest.noise(&key, 0, &first)?)?);
        }
        Ok(())
    };
    Ok(moved(gaussian_budget()?)?.twin("noise keyed by the number of the partition", sample))
}

/// What an attacker sees of a task that was done four times: the mean of what it left.
fn again(budget: Budget) -> Result<Subject> {
    Two::subject(budget, "retries seen", 1, |two, row, draw, out| {
        let planned = two.planned(draw, row)?;
        let all = (0..TIMES).map(|_| two.block(&planned, 0, row)).collect::<Result<Vec<_>>>()?;
        out.push(all.iter().sum::<f64>() / TIMES as f64);
        Ok(())
    })
}

const TIMES: usize = 4;

/// Noise that is drawn anew whenever the task is.
fn fresh_on_retry() -> Result<Subject> {
    let two = Two::new(gaussian_budget()?)?;
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let (row, mut rng) = (*side.of(&0.0, &1.0), draw.noise());
        let all = (0..TIMES).map(|_| two.released(row, &mut rng)).collect::<Result<Vec<_>>>()?;
        out.push(all.iter().sum::<f64>() / TIMES as f64);
        Ok(())
    };
    Ok(again(gaussian_budget()?)?.twin("fresh noise on every retry", sample))
}

/// What an attacker sees who reads the manifest too: whether it names the digest that row (1) has without a key.
fn listed(budget: Budget) -> Result<Subject> {
    Two::subject(budget, "manifest seen", 1, |two, row, draw, out| {
        let planned = two.planned(draw, row)?;
        let listed = planned.1.text().contains(&plain_digest(1.0));
        out.push(two.block(&planned, 0, row)? + f64::from(listed) * FAR);
        Ok(())
    })
}

/// Where what was listed shows.
const FAR: f64 = 1000.0;

fn plain_digest(row: f64) -> String {
    Sha256::digest(row.to_le_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Content pinned by a digest that anybody can compute.
fn unkeyed_digest() -> Result<Subject> {
    let two = Two::new(gaussian_budget()?)?;
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let row = *side.of(&0.0, &1.0);
        let planned = two.planned(draw, row)?;
        let text = planned.1.text() + &plain_digest(row);
        let listed = text.contains(&plain_digest(1.0));
        out.push(two.block(&planned, 0, row)? + f64::from(listed) * FAR);
        Ok(())
    };
    Ok(listed(gaussian_budget()?)?.twin("unkeyed digest of the content", sample))
}

/// A sum of two parts, each taken so often.
fn sums(budget: Budget, taken: [usize; 2]) -> Result<Subject> {
    let adjacency = Adjacency::AddRemoveRow { bound: bound(1.0)? };
    let made = GaussianCovariance::calibrate(1, adjacency, budget)?;
    let (guarantee, sigma) = (made.guarantee().clone(), made.sigma().get());
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let attacked: &[f64] = side.of(&[0.0], &[1.0]);
        let mut rng = draw.noise();
        let mut whole = made.stream(&mut rng);
        for (rows, times) in [attacked, &[0.5]].into_iter().zip(taken) {
            let mut unused = draw.noise();
            let mut part = made.stream(&mut unused);
            part.push(rows)?;
            for _ in 0..times {
                whole.add_sums(&part.sums())?;
            }
        }
        out.push(whole.finish()?.payload().raw()[(0, 0)] - 0.25);
        Ok(())
    };
    let pair = "a part without the row, and with it, beside a part that is known";
    Ok(Subject::new("sums of parts", FAMILY, budget, pair, 1, sample)
        .under(&guarantee)?
        .with_runs(20_000)
        .likelihood(move |z| gaussian_ratio(z, &[0.0], &[1.0], sigma)))
}

fn merged_twice() -> Result<Subject> {
    let twice = sums(gaussian_budget()?, [2, 1])?.sample;
    let original = sums(gaussian_budget()?, [1, 1])?;
    Ok(original.twin("a part merged twice", move |side, draw, out| twice(side, draw, out)))
}

/// What each of the twins is a twin of: never accused.
///
/// # Errors
/// A calibration that fails.
pub(super) fn healthy() -> Result<Vec<Subject>> {
    let builds: [fn(Budget) -> Result<Subject>; 4] =
        [moved, again, listed, |budget| sums(budget, [1, 1])];
    let built = builds.map(|build| {
        let claim = gaussian_budget()?;
        let own = gaussian_noise(claim)?;
        let weaker = move |share: f64| build(budget_of(claim, share * own, gaussian_noise)?);
        Ok(build(claim)?.weaker_by(weaker).twin_only_in_full())
    });
    built.into_iter().collect()
}

/// Twins of releases in parts.
pub(super) fn twins() -> Result<Vec<Subject>> {
    Ok(vec![keyed_by_partition()?, fresh_on_retry()?, unkeyed_digest()?, merged_twice()?])
}
