//! `dps plan repeated`: what each of many releases may spend under one limit.

use super::curve::CurveOptions;
use crate::commands::choice::{Measure, Way};
use crate::commands::ledger::Rule;
use crate::error::{Error, Result};
use crate::output::Record;
use clap::Args;
use dp_core::accounting::Ledger;
use dp_core::mechanism::Mechanism;
use dp_core::{Adjacency, Budget, EntryBound, Guarantee, PublicSeed};
use sketch::projection::{Family, ProjectionSpec};
use sketch::vectors::{NoiseKind, PrivateProjection, ProjectionConfig};

#[derive(Args)]
pub(super) struct Repeated {
    /// How many releases the limit is to last for: days, say.
    #[arg(long)]
    times: u64,
    /// Epsilon of the limit: of all releases together.
    #[arg(long)]
    epsilon: f64,
    /// Delta of the limit.
    #[arg(long)]
    delta: f64,
    /// Delta that each release with Gaussian noise is to be calibrated for [default: that of the limit over the number of
    /// releases].
    #[arg(long)]
    each_delta: Option<f64>,
    /// How the ledger counts (`dps ledger init --rule`).
    #[arg(long, value_enum, default_value_t = Rule::Renyi)]
    rule: Rule,
    #[command(flatten)]
    curve: CurveOptions,
}

const EACH: Measure = Measure::Amount("epsilon of a release");

impl Repeated {
    pub(super) fn run(&self) -> Result<Record> {
        let limit = Budget::new(self.epsilon, self.delta)?;
        if !(1..=1_000_000).contains(&self.times) {
            return Err(Error::usage(format!(
                "--times {} is not allowed: it takes a number in [1, 1000000]",
                self.times
            )));
        }
        let curve = self.curve.answer(limit, EACH, |limit| {
            let mut ways: Vec<Way> = Vec::new();
            for (noise, delta) in self.noises() {
                let each = self.most(limit, noise, delta)?;
                ways.extend(each.map(|epsilon| (noise.to_string(), epsilon)));
            }
            ways.sort_by(|a, b| b.1.total_cmp(&a.1));
            Ok(ways)
        })?;
        let mut rows = Vec::new();
        for (noise, delta) in self.noises() {
            let row = Record::new().text("noise", noise.to_string());
            rows.push(match self.most(limit, noise, delta)? {
                Some(epsilon) => row.number("epsilon", epsilon).number("delta", delta),
                None => row.text("epsilon", "none that this noise and this rule allow"),
            });
        }
        Ok(Record::new()
            .text("limit", limit.to_string())
            .text("rule", format!("{:?}", self.rule).to_lowercase())
            .integer("releases", self.times)
            .and(curve)
            .table("each", rows))
    }

    /// What a release may have, and its delta.
    fn noises(&self) -> impl Iterator<Item = (NoiseKind, f64)> {
        let each = self.each_delta.unwrap_or(self.delta / self.times as f64);
        let delta = move |noise| if noise == NoiseKind::Gaussian { each } else { 0.0 };
        let all = NoiseKind::ALL.into_iter().map(move |noise| (noise, delta(noise)));
        all.filter(|(noise, delta)| *noise != NoiseKind::Gaussian || *delta > 0.0)
    }

    /// The largest epsilon, in steps of a millionth of the limit's and rounded down, that each may have.
    fn most(&self, limit: Budget, noise: NoiseKind, delta: f64) -> Result<Option<f64>> {
        let fits = |epsilon: f64| -> Result<bool> {
            let Ok(guarantee) = one(noise, Budget::new(epsilon, delta)?) else { return Ok(false) };
            let adjacency = guarantee.adjacency();
            let mut ledger = Ledger::with_limit(adjacency, limit, self.rule.filter());
            Ok(ledger.spend(&guarantee, self.times, "planned").is_ok())
        };
        let at = |part: u32| f64::from(part) * 1e-6 * limit.epsilon.get();
        let (mut low, mut high) = (0, 1_000_001);
        while high - low > 1 {
            let middle = u32::midpoint(low, high);
            *(if fits(at(middle))? { &mut low } else { &mut high }) = middle;
        }
        // Six decimals, downwards: what is printed is what fits.
        let printed = (at(low) * 1e6).floor() * 1e-6;
        Ok(Some(printed).filter(|e| *e > 0.0))
    }
}

/// One release under which one value moves by at most one: what it costs does not depend on its size or its unit, but for what
/// rounding to a grid adds, some 1e-12 of the epsilon.
fn one(noise: NoiseKind, budget: Budget) -> Result<Guarantee> {
    let projection = ProjectionSpec::new(Family::Identity, 1, 1, PublicSeed::new(0))?.build();
    let adjacency = Adjacency::Attribute { beta: 1.0.try_into()? };
    let config = ProjectionConfig { projection, adjacency, bound: EntryBound::new(1.0)?, noise };
    Ok(PrivateProjection::calibrate(config, budget)?.guarantee().clone())
}
