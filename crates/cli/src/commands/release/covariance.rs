//! `dps release covariance`.

use super::common::{Promise, RowsOptions, check_input, each_block};
use super::privacy::AdjacencyKind;
use crate::error::{Error, Result, no_effect};
use crate::output::Record;
use clap::{Args, ValueEnum};
use dp_core::{Adjacency, Budget, Probability, release_file};
use linalg_dp::covariance::{CovarianceMechanism, GaussianCovariance, JlCovariance};

/// Options of `dps release covariance`.
#[derive(Args)]
pub(crate) struct CovarianceOptions {
    #[command(flatten)]
    rows: RowsOptions,
    /// The noise: gaussian has the least error, jl releases a sketch of relative error.
    #[arg(long, value_enum, default_value_t = Noise::Gaussian, help_heading = "Mechanism")]
    noise: Noise,
    /// gaussian: release the sums of the columns and the number of rows too, at 1.19 times the noise: `dps moments`,
    /// `dps pca --center`, and an intercept in `dps regress`.
    #[arg(long, help_heading = "Mechanism")]
    means: bool,
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
        let Promise { adjacency, budget, limits } = self.rows.promise("a covariance", &known)?;
        let input = self.rows.input.open()?;
        let d = input.rows.d();
        let mechanism = self.mechanism(d, adjacency, budget)?;
        let guarantee = mechanism.guarantee();
        let what = if self.means { "moments" } else { "covariance" };
        let label = format!("{what}, {:?} noise", self.noise).to_lowercase();
        let check = || check_input(&self.rows.input, &limits);
        let Some(mut rng) = self.rows.output.charge(guarantee, &label, check)? else {
            return Ok(self.rows.planned(&label, guarantee));
        };
        let mut stream = mechanism.stream(&mut rng);
        each_block(input, limits, |block| Ok(stream.push(&block.dense(d))?))?;
        let release = stream.finish()?;
        release_file::write(self.rows.output.take()?, &release)?;
        let record = self.rows.written(release.certificate())?;
        Ok(match self.noise {
            Noise::Gaussian => {
                let failure = Probability::new(0.05)?;
                let error = release.payload().spectral_error(failure)?;
                record.number("spectral error, with probability 0.95 at most", error)
            }
            Noise::Jl => record,
        })
    }

    fn mechanism(
        &self,
        d: usize,
        adjacency: Adjacency,
        budget: Budget,
    ) -> Result<Box<dyn CovarianceMechanism>> {
        if !matches!(self.noise, Noise::Jl) {
            no_effect(
                "--sketch-rows",
                self.sketch_rows.as_ref(),
                "only --noise jl makes a sketch",
            )?;
        }
        if self.means && !matches!(self.noise, Noise::Gaussian) {
            return Err(Error::usage("--means needs --noise gaussian: only it releases sums"));
        }
        Ok(match self.noise {
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
        })
    }
}
