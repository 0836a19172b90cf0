//! Releases of streams against their schedule.

use super::checks::{ROOM, at_least, rejected, whole};
use super::covariance::{clip, covariance, same_dim};
use crate::covariance::{CovarianceNoise, row_change};
use crate::error::Result;
use crate::window::{BlockNoise, Factorisation, Keep, Pace, Schedule, StreamConfig, nodes};
use dp_core::certificate::{PublicParameters, canonical};
use dp_core::noise::NoiseLaw;
use dp_core::profile::covariance_sensitivity;
use dp_core::{Certificate, NormBound, Profile, PublicValue, Theorem};
use sketch::verify::{Finding, Trust};

/// Most coefficient products spent on the norm of a factorised stream, and its longest horizon, unless
/// more is allowed: under a second, and 16 MiB.
const MOST_WORK: u64 = 1 << 26;
const MOST_BLOCKS: u64 = 1 << 20;

const LONG: Finding = Finding::NotChecked(
    "factorising a stream of its horizon again takes long, which must be allowed",
);

pub(super) fn schedule(public: &PublicParameters) -> Result<Schedule> {
    let Some(PublicValue::Text(schedule)) = public.get("schedule") else {
        return rejected("its schedule is missing or of another type");
    };
    match serde_json::from_str::<Schedule>(schedule) {
        Ok(found) if canonical(&found) == *schedule => Ok(found),
        _ => rejected("its schedule is none that this version knows, or not its canonical text"),
    }
}

/// All releases of a stream, from its schedule; and this one's place among them.
pub(super) fn window(certificate: &Certificate, trust: &Trust) -> Result<Finding> {
    let (guarantee, public) = (certificate.guarantee(), &certificate.statement().public);
    let schedule = schedule(public)?;
    let of_sums = guarantee.provenance().theorem().map(|t| t == Theorem::SlidingWindow);
    if of_sums.is_some_and(|of_sums| of_sums == matches!(schedule, Schedule::Block { .. })) {
        return rejected("its theorem is about another schedule");
    }
    let clip = clip(certificate)?;
    let (_, change) = row_change(guarantee.adjacency(), "window")?;
    let longest = clip.certified_bound();
    let mut config = StreamConfig::new(
        clip.dim(),
        whole(public, "window")?,
        guarantee.adjacency(),
        guarantee.budget(),
    );
    (config.block, config.schedule) = (whole(public, "block")?, schedule);
    let blocks = config.window_blocks()?;
    let place = Place::of(&config, public)?;
    let levels = u64::from(blocks.ilog2()) + 1;
    let bound =
        |stated: NormBound| at_least("a bound of rows of", stated.get(), longest.get(), ROOM);
    let step = match &certificate.statement().noise {
        NoiseLaw::SymmetricGaussian { grid, .. } => grid.spacing(),
        _ => 0.0,
    };
    // So many matrices, each rounded to the grid.
    let joint = |stated: f64, factor: f64, matrices: u64| {
        let rounding = (matrices as f64).sqrt() * clip.dim() as f64 * step;
        let needed = factor * covariance_sensitivity(longest, change) + rounding;
        at_least("sensitivity", stated, needed, ROOM)
    };
    match schedule {
        Schedule::Block { .. } => place.check_noise(certificate, &schedule, place.blocks as f64)?,
        Schedule::Tree { .. } => {
            let nodes = nodes(levels as u32, place.closed - place.blocks, place.closed);
            place.check_noise(certificate, &schedule, nodes as f64)?;
        }
        Schedule::Factorised { .. } | Schedule::Decayed { .. } => {}
    }
    match (schedule, guarantee.profile()) {
        (Schedule::Block { .. }, _) => covariance(certificate),
        (Schedule::Tree { .. }, Some(Profile::Gaussian { sensitivity, .. })) => {
            joint(sensitivity.get(), (levels as f64).sqrt(), levels)
        }
        (
            Schedule::Tree { noise: BlockNoise::JohnsonLindenstrauss { rows: each } },
            Some(Profile::JlMechanism { rows, bound: b, .. }),
        ) => {
            at_least("sketch rows of", *rows as f64, each as f64 * levels as f64, 0.0)?;
            bound(*b)
        }
        (Schedule::Tree { .. }, Some(Profile::Repeated { profile, times })) => {
            at_least("levels", *times as f64, levels as f64, 0.0)?;
            match **profile {
                Profile::Wishart { dim, bound: b, .. } => {
                    same_dim(dim, clip.dim())?;
                    bound(b)
                }
                _ => rejected("its profile is not one of a tree"),
            }
        }
        (_, Some(Profile::Gaussian { sensitivity, .. })) => {
            let Some((workload, horizon)) = config.workload()? else {
                return rejected("its profile is not one of its schedule");
            };
            let long = horizon.saturating_mul(workload.taps()) > MOST_WORK || horizon > MOST_BLOCKS;
            if long && !trust.is_patient() {
                return Ok(LONG);
            }
            let factorisation = Factorisation::new(workload, horizon)?;
            let taps = factorisation.noise_taps().iter().take(place.closed as usize);
            place.check_noise(certificate, &schedule, taps.map(|tap| tap * tap).sum())?;
            joint(sensitivity.get(), factorisation.column_norm(), horizon)
        }
        _ => rejected("its profile is not one of its schedule"),
    }
}

/// Where in its stream a release stands.
struct Place {
    /// Blocks that had closed.
    closed: u64,
    /// Blocks in it.
    blocks: u64,
}

impl Place {
    fn of(config: &StreamConfig, public: &PublicParameters) -> Result<Self> {
        let paces = [Pace::Rows, Pace::Clock].map(|pace| PublicValue::from(pace.name()));
        if !public.get("pace").is_some_and(|pace| paces.contains(pace)) {
            return rejected("its parameter pace is neither rows nor clock");
        }
        let (first, end) = (whole(public, "first_row")?, whole(public, "end_row")?);
        let (blocks, block) = (whole(public, "blocks")?, config.block);
        let closed = end / block;
        let most = match config.schedule {
            Schedule::Decayed { .. } => closed,
            _ => closed.min(config.window_blocks()?),
        };
        // A histogram forgets earlier blocks than the window's, or none.
        let pruned =
            matches!(config.schedule, Schedule::Block { keep: Keep::Histogram { .. }, .. });
        let whole_blocks = end.is_multiple_of(block)
            && end.checked_sub(first).is_some_and(|rows| blocks.checked_mul(block) == Some(rows));
        if !whole_blocks || (blocks != most && !pruned) {
            return rejected(
                "its rows are not those of its blocks, or these not those of its window",
            );
        }
        if closed > config.most_blocks() {
            return rejected("it lies behind the horizon of its stream");
        }
        Ok(Self { closed, blocks })
    }

    /// Refuses noise of the release that is not so many times (in variance) that of the law: of one block, node or term.
    fn check_noise(
        &self,
        certificate: &Certificate,
        schedule: &Schedule,
        times: f64,
    ) -> Result<()> {
        let stated = &certificate.statement().noise;
        let one = match stated {
            NoiseLaw::Several { laws } => laws.first().unwrap_or(stated),
            _ => stated,
        };
        let of_release = match certificate.statement().public.get("release noise") {
            Some(PublicValue::Text(noise)) => serde_json::from_str(noise).ok(),
            _ => None,
        };
        let near = |found: f64| (found / times - 1.0).abs() <= ROOM;
        let holds = match (of_release, CovarianceNoise::of(one)) {
            (
                Some(CovarianceNoise::SymmetricGaussian { sigma }),
                Some(CovarianceNoise::SymmetricGaussian { sigma: one }),
            ) => near((sigma.get() / one.get()).powi(2)),
            (
                Some(CovarianceNoise::JlSketch { rows, lift }),
                Some(CovarianceNoise::JlSketch { rows: each, lift: one }),
            ) => {
                let (Schedule::Tree { noise } | Schedule::Block { noise, .. }) = *schedule else {
                    return rejected("correlated noise is no sketch");
                };
                let rows_agree = rows == each && noise == BlockNoise::JohnsonLindenstrauss { rows };
                rows_agree && near((lift.get() / one.get()).powi(2))
            }
            (
                Some(CovarianceNoise::Wishart { dof, scale }),
                Some(CovarianceNoise::Wishart { dof: one, scale: each }),
            ) => scale == each && near(dof as f64 / one as f64),
            _ => false,
        };
        if holds { Ok(()) } else { rejected("the noise of the release is not that of its blocks") }
    }
}
