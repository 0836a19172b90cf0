//! `dps release covariance`.

use super::common::{check_rereadable, each_block};
use super::feed::{Feed, Source};
use super::parts::{Asked, Made, Maker, Making};
use super::privacy::{AdjacencyKind, UserOptions};
use super::rows::{Promise, RowsOptions};
use super::said::predicted;
use crate::commands::choice::{ERROR, Way, covariance_name, say_chosen, warn_of_worse};
use crate::error::{Error, Result, no_effect, probability};
use crate::output::Record;
use clap::{Args, ValueEnum};
use dp_core::mechanism::Prediction;
use dp_core::{
    Adjacency, Budget, Certificate, Guarantee, NoiseRng, Probability, SquaredNorm, release_file,
};
use linalg_dp::covariance::{
    CovarianceMechanism, CovarianceNoise, CovarianceStream, GaussianCovariance, JlCovariance,
    QuantileConfig, QuantileCovariance,
};
use linalg_dp::plan::{CovarianceTask, plan_covariance};
use readers::{Input, Limits};
use sketch::rows::{RowsView, Storage};
use std::borrow::Cow;

/// Options of `dps release covariance`.
#[derive(Args)]
pub(crate) struct CovarianceOptions {
    #[command(flatten)]
    rows: RowsOptions,
    #[command(flatten)]
    users: UserOptions,
    /// The noise: gaussian has the least error, jl releases a sketch of relative error [default: the plan's choice, gaussian].
    #[arg(long, value_enum, help_heading = "Mechanism")]
    noise: Option<Noise>,
    /// gaussian: release the sums of the columns and the number of rows too, at 1.19 times the noise: `dps moments`,
    /// `dps pca --center`, and an intercept in `dps regress`.
    #[arg(long, help_heading = "Mechanism")]
    means: bool,
    /// gaussian: the bound becomes about the norm that this share of the rows is within, as in .9: chosen with a tenth of
    /// the budget and stated in the certificate. --norm-bound is then the largest that it may be, and may lie far above
    /// the rows. Needs a file that can be read twice.
    #[arg(long, value_name = "SHARE", help_heading = "Mechanism")]
    within: Option<f64>,
    /// Store the names of the columns in the release: they become public.
    #[arg(long, help_heading = "Output")]
    keep_names: bool,
    /// jl: rows of the sketch.
    #[arg(long, help_heading = "Mechanism")]
    sketch_rows: Option<usize>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Noise {
    Gaussian,
    Jl,
}

impl CovarianceOptions {
    pub(crate) fn run(&self) -> Result<Record> {
        let known =
            [AdjacencyKind::AddRemoveRow, AdjacencyKind::ReplaceRow, AdjacencyKind::ZeroRow];
        let Promise { adjacency, budget, limits } =
            self.rows.promise_of(&self.users, "a covariance", &known)?;
        let input = self.rows.open()?;
        let d = input.rows.d();
        let noise = self.noise.unwrap_or(Noise::Gaussian);
        let made = self.made(noise, d, adjacency, budget);
        let made = made.map_err(|error| error.with_options(&[("rows", "--sketch-rows")]))?;
        self.say_choice(&made, (d, adjacency), budget)?;
        let guarantee = made.guarantee();
        let what = if self.means { "moments" } else { "covariance" };
        let label = format!("{what}, {noise:?} noise").to_lowercase();
        let names = self.names()?;
        if matches!(noise, Noise::Jl) || self.within.is_some() {
            self.rows.output.whole()?;
        }
        let source = Source::rows(&self.rows.input, input, limits.clone());
        let asked = Asked::new(guarantee, &label, source);
        let norms = || self.rows.input.open().map(|input| (input, limits.clone()));
        let mut sums = Sums { calibrated: &made, names, norms: &norms, stream: None, error: None };
        let record = match self.rows.output.make(&asked, &mut sums)? {
            Made::Released(certificate) => self.rows.written(&certificate)?,
            Made::Planned => self.rows.planned(&label, guarantee),
            Made::Parts(record) => return Ok(record),
        };
        let record = match &made {
            Calibrated::One(mechanism) => {
                let of = match noise {
                    Noise::Gaussian => "the covariance in Frobenius norm",
                    Noise::Jl => {
                        "the covariance in Frobenius norm, at least: of rows of hardly any length"
                    }
                };
                predicted(record, Prediction::new(of, least_error(&**mechanism)?))
            }
            // What bound is chosen is private until it is.
            Calibrated::Chosen(_) => record,
        };
        Ok(match sums.error {
            Some(error) => record.number("spectral error, with probability 0.95 at most", error),
            None => record,
        })
    }

    /// The names that are to be kept.
    fn names(&self) -> Result<Option<Vec<String>>> {
        if !self.keep_names {
            return Ok(None);
        }
        let without = || Error::usage("--keep-names needs a file whose columns have names");
        self.rows.input.entered().map(<[String]>::to_vec).map(Some).ok_or_else(without)
    }

    /// What the plan takes, where no noise is named. The error of a sketch grows with the rows: what it is without any is compared.
    fn say_choice(
        &self,
        made: &Calibrated,
        (d, adjacency): (usize, Adjacency),
        budget: Budget,
    ) -> Result<()> {
        let named = match (self.noise, made) {
            (Some(Noise::Jl), Calibrated::One(sketch)) => Some(least_error(&**sketch)?),
            _ => None,
        };
        if named.is_none() && (self.noise.is_some() || self.means || self.within.is_some()) {
            return Ok(());
        }
        // Nobody asked for the plan: what it cannot do refuses nothing.
        let Ok(plans) = plan_covariance(&CovarianceTask { dim: d, adjacency, budget }) else {
            return Ok(());
        };
        let ways: Vec<Way> =
            plans.iter().map(|p| (covariance_name(p.method).to_owned(), p.error)).collect();
        match (named, ways.first()) {
            (Some(least), Some(best)) => {
                warn_of_worse(ERROR, ("a sketch, whatever the rows,", least), best);
            }
            _ => say_chosen(ERROR, &ways),
        }
        Ok(())
    }

    fn made(
        &self,
        noise: Noise,
        d: usize,
        adjacency: Adjacency,
        budget: Budget,
    ) -> Result<Calibrated> {
        if !matches!(noise, Noise::Jl) {
            no_effect(
                "--sketch-rows",
                self.sketch_rows.as_ref(),
                "only --noise jl makes a sketch",
            )?;
        }
        if self.means && !matches!(noise, Noise::Gaussian) {
            return Err(Error::usage("--means needs --noise gaussian: only it releases sums"));
        }
        if let Some(share) = self.within {
            if !matches!(noise, Noise::Gaussian) {
                return Err(Error::usage(
                    "--within needs --noise gaussian: only it chooses the bound",
                ));
            }
            check_rereadable(&self.rows.input.input, "--within")?;
            let within = probability("--within", share)?;
            let config = QuantileConfig { dim: d, adjacency, within, means: self.means };
            return Ok(Calibrated::Chosen(QuantileCovariance::calibrate(config, budget)?));
        }
        Ok(Calibrated::One(match noise {
            Noise::Gaussian if self.means => {
                Box::new(GaussianCovariance::calibrate_moments(d, adjacency, budget)?)
            }
            Noise::Gaussian => Box::new(GaussianCovariance::calibrate(d, adjacency, budget)?),
            Noise::Jl => {
                let rows = self
                    .sketch_rows
                    .ok_or_else(|| Error::usage("--noise jl needs --sketch-rows"))?;
                Box::new(JlCovariance::calibrate(d, rows, adjacency, budget)?)
            }
        }))
    }
}

/// The error of rows of hardly any length; Gaussian noise does not ask for them.
fn least_error(mechanism: &dyn CovarianceMechanism) -> Result<f64> {
    Ok(mechanism.expected_frobenius_error(SquaredNorm::new(f64::MIN_POSITIVE)?))
}

/// A mechanism whose bound is given, or chosen.
enum Calibrated {
    One(Box<dyn CovarianceMechanism>),
    Chosen(QuantileCovariance),
}

impl Calibrated {
    fn guarantee(&self) -> &Guarantee {
        match self {
            Self::One(mechanism) => mechanism.guarantee(),
            Self::Chosen(mechanism) => mechanism.guarantee(),
        }
    }
}

/// Exact sums, and one noise for all of them.
struct Sums<'m> {
    calibrated: &'m Calibrated,
    names: Option<Vec<String>>,
    /// The rows once more, for their norms.
    norms: &'m dyn Fn() -> Result<(Input, Limits)>,
    /// Of a part.
    stream: Option<CovarianceStream<'m>>,
    error: Option<f64>,
}

fn dense<'r>(rows: &RowsView<'r>) -> Cow<'r, [f64]> {
    if let Storage::F64(values) = rows.storage() {
        return Cow::Borrowed(values);
    }
    let mut values = vec![0.0; rows.n() * rows.d()];
    rows.copy_block(0, 0, rows.d(), &mut values);
    Cow::Owned(values)
}

impl Maker for Sums<'_> {
    fn release(&mut self, making: Making<'_>) -> Result<Certificate> {
        let Making { to, rng, feed, .. } = making;
        let mut stream = match self.calibrated {
            Calibrated::One(mechanism) => mechanism.stream(rng),
            Calibrated::Chosen(mechanism) => {
                let mut norms = mechanism.norms(rng);
                let (input, limits) = (self.norms)()?;
                let d = input.rows.d();
                each_block(input, limits, |block| Ok(norms.push(&block.dense(d))?))?;
                norms.choose()
            }
        };
        if let Some(names) = &self.names {
            stream.name_columns(names)?;
        }
        feed.rows(|rows| Ok(stream.push(&dense(&rows))?))?;
        let release = stream.finish()?;
        release_file::write(to, &release)?;
        if matches!(release.payload().noise(), CovarianceNoise::SymmetricGaussian { .. }) {
            self.error = Some(release.payload().spectral_error(Probability::new(0.05)?)?);
        }
        Ok(release.into_parts().1)
    }

    fn add(&mut self, rows: &Feed<'_>) -> Result<bool> {
        let Calibrated::One(mechanism) = self.calibrated else { return Ok(false) };
        let stream = match &mut self.stream {
            Some(stream) => stream,
            // Its generator draws nothing: the noise comes when parts are put together.
            None => self.stream.insert(CovarianceStream::new(&**mechanism, NoiseRng::from_os()?)),
        };
        rows.rows(|rows| Ok(stream.push(&dense(&rows))?))?;
        Ok(true)
    }

    fn sums(&mut self) -> Vec<u8> {
        self.stream.as_mut().map(CovarianceStream::sums).unwrap_or_default()
    }
}
