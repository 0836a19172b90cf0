//! `dps release covariance`.

use super::common::{Promise, RowsOptions, check_input, check_rereadable, each_block};
use super::privacy::AdjacencyKind;
use crate::error::{Error, Result, no_effect, probability};
use crate::output::Record;
use clap::{Args, ValueEnum};
use dp_core::{Adjacency, Budget, Guarantee, Probability, release_file};
use linalg_dp::covariance::{
    CovarianceMechanism, GaussianCovariance, JlCovariance, QuantileConfig, QuantileCovariance,
};

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
        let Promise { adjacency, budget, limits } = self.rows.promise("a covariance", &known)?;
        let input = self.rows.input.open()?;
        let d = input.rows.d();
        let made = self.made(d, adjacency, budget)?;
        let guarantee = made.guarantee();
        let what = if self.means { "moments" } else { "covariance" };
        let label = format!("{what}, {:?} noise", self.noise).to_lowercase();
        let names = self.names()?;
        let check = || check_input(&self.rows.input, &limits).map(drop);
        let Some(mut rng) = self.rows.output.charge(guarantee, &label, check)? else {
            return Ok(self.rows.planned(&label, guarantee));
        };
        let mut stream = match &made {
            Made::One(mechanism) => mechanism.stream(&mut rng),
            Made::Chosen(mechanism) => {
                let mut norms = mechanism.norms(&mut rng);
                let first = self.rows.input.open()?;
                each_block(first, limits.clone(), |block| Ok(norms.push(&block.dense(d))?))?;
                norms.choose()
            }
        };
        if let Some(names) = names {
            stream.name_columns(&names)?;
        }
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

    /// The names that are to be kept.
    fn names(&self) -> Result<Option<Vec<String>>> {
        if !self.keep_names {
            return Ok(None);
        }
        let without = || Error::usage("--keep-names needs a file whose columns have names");
        self.rows.input.entered().map(<[String]>::to_vec).map(Some).ok_or_else(without)
    }

    fn made(&self, d: usize, adjacency: Adjacency, budget: Budget) -> Result<Made> {
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
        if let Some(share) = self.within {
            if !matches!(self.noise, Noise::Gaussian) {
                return Err(Error::usage(
                    "--within needs --noise gaussian: only it chooses the bound",
                ));
            }
            check_rereadable(&self.rows.input.input, "--within")?;
            let within = probability("--within", share)?;
            let config = QuantileConfig { dim: d, adjacency, within, means: self.means };
            return Ok(Made::Chosen(QuantileCovariance::calibrate(config, budget)?));
        }
        Ok(Made::One(match self.noise {
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

/// A mechanism whose bound is given, or chosen.
enum Made {
    One(Box<dyn CovarianceMechanism>),
    Chosen(QuantileCovariance),
}

impl Made {
    fn guarantee(&self) -> &Guarantee {
        match self {
            Self::One(mechanism) => mechanism.guarantee(),
            Self::Chosen(mechanism) => mechanism.guarantee(),
        }
    }
}
