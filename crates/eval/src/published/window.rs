//! The sliding-window algorithms as published, by name.

use crate::error::{Error, Result};
use dp_core::authority;
use dp_core::certificate::Statement;
use dp_core::noise::{AdditiveNoise, GeneratorKind, Grid};
use dp_core::{
    Adjacency, Budget, Guarantee, NoiseRng, NoiseScale, NormBound, PublicValue, Release,
};
use faer::Mat;
use linalg_dp::covariance::RowClip;
use linalg_dp::dense::product;
use linalg_dp::window::{PruneRule, SpectralHistogram, WindowSpan};
use serde::{Deserialize, Serialize};

/// What the published proof leaves open.
pub const CAVEAT: &str = "the paper claims one release, at the end of the stream; its proof (paper 5, lemma 3) is for one \
    sketch that starts at a time fixed beforehand, where the surviving checkpoints depend on unprotected increments and \
    a row sits in several sketches; two releases are outside the claim, and show rows \
    (docs/proofs/sliding-window.md)";

/// Which published algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum PublishedAlgorithm {
    /// Algorithm 2, `Sliding-Priv-Approx`: JL sketches of this many rows, pruned by `Update-Approx`.
    SlidingPrivApprox {
        /// Rows r of a sketch.
        sketch_rows: usize,
    },
    /// `Sliding-Priv-PCP` (the base of [`super::SlidingPrivPca`] and
    /// [`super::SlidingPrivConstrainedPcp`]): the same with
    /// `r = ceil(4 (rank + ln(1/failure)) / rho^2)` rows, enough for rank-`rank` projection costs.
    SlidingPrivPcp {
        /// Rank k of the projections.
        rank: usize,
    },
    /// Appendix C, `Sliding-Priv`: exact suffix covariances, each with Wishart noise of its own,
    /// pruned by `Update`.
    SlidingPriv,
}

/// Most degrees of freedom over d of the published Wishart noise.
const MOST_DOF: f64 = 1e15;
/// Failure probability in the row count of [`PublishedAlgorithm::SlidingPrivPcp`].
const PCP_FAILURE: f64 = 0.01;

/// A published algorithm's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedConfig {
    /// Length d of a row.
    pub dim: usize,
    /// Rows in the window.
    pub window: u64,
    /// Distortion of the histogram, in `(0, 1)`.
    pub rho: f64,
    /// Norm bound of a row.
    pub bound: NormBound,
    /// The budget the paper claims for one release, at the end of the stream.
    pub claimed: Budget,
    /// Which algorithm.
    pub algorithm: PublishedAlgorithm,
}

/// One of the published algorithms at work. For comparison: see [`CAVEAT`].
#[derive(Debug)]
pub struct PublishedStream {
    config: PublishedConfig,
    clip: RowClip,
    histogram: SpectralHistogram,
    state: State,
    rows: u64,
    /// The weakest generator that drew.
    generator: Option<GeneratorKind>,
    guarantee: Guarantee,
}

#[derive(Debug)]
enum State {
    /// Sketches `Y_i` (r x d), one a checkpoint; `lift` is w.
    Sketches { rows: usize, lift: NoiseScale, sketches: Vec<(u64, Mat<f64>)> },
    /// Wishart noise of this many degrees of freedom and this scale.
    Wishart { dof: u64, scale: NoiseScale },
}

impl PublishedStream {
    /// Sets the algorithm up with the paper's constants (Sheffet 2019, as paper 5 cites it).
    ///
    /// # Errors
    /// Sizes or a distortion out of range, or a claim with delta = 0.
    pub fn new(config: PublishedConfig) -> Result<Self> {
        let PublishedConfig { dim, rho, bound, claimed, .. } = config;
        if config.window == 0 {
            return Err(Error::invalid("window", config.window, "[1, inf)"));
        }
        if claimed.delta.get() <= 0.0 {
            return Err(Error::invalid("delta", claimed.delta, "(0, 1)"));
        }
        let log = (4.0 / claimed.delta.get()).ln();
        let epsilon = claimed.epsilon.get();
        let (state, rule, source) = match config.algorithm {
            PublishedAlgorithm::SlidingPriv => {
                // Sheffet 2019, Wishart mechanism: d + 28 ln(4/delta) / eps^2 degrees of freedom.
                let extra = (28.0 * log / (epsilon * epsilon)).ceil();
                if extra > MOST_DOF {
                    let allowed =
                        format!("epsilons whose degrees of freedom stay below {MOST_DOF:e}");
                    return Err(Error::invalid("epsilon", epsilon, allowed));
                }
                let dof = dim as u64 + extra as u64;
                let scale = NoiseScale::new(bound.get() * bound.get())?;
                (
                    State::Wishart { dof, scale },
                    PruneRule::Update,
                    "paper 5, algorithm 8 (Sliding-Priv)",
                )
            }
            PublishedAlgorithm::SlidingPrivApprox { sketch_rows } => (
                sketch_state(sketch_rows, bound, epsilon, log)?,
                PruneRule::UpdateApprox,
                "paper 5, algorithm 2 (Sliding-Priv-Approx)",
            ),
            PublishedAlgorithm::SlidingPrivPcp { rank } => {
                if rank == 0 || rank > dim {
                    return Err(Error::invalid("rank", rank, format!("[1, {dim}]")));
                }
                let rows = (4.0 * (rank as f64 - PCP_FAILURE.ln()) / (rho * rho)).ceil() as usize;
                (
                    sketch_state(rows, bound, epsilon, log)?,
                    PruneRule::UpdateApprox,
                    "paper 5, algorithm 4 (Sliding-Priv-PCP)",
                )
            }
        };
        let guarantee = authority!().published(
            Adjacency::ZeroRow { bound },
            claimed,
            None,
            "sliding-window algorithms of paper 5",
            source,
            CAVEAT,
        )?;
        Ok(Self {
            config,
            clip: RowClip::new(dim, bound)?,
            histogram: SpectralHistogram::new(dim, rho, rule)?,
            state,
            rows: 0,
            generator: None,
            guarantee,
        })
    }

    /// Rows pushed so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Checkpoints held.
    #[must_use]
    pub fn checkpoints(&self) -> usize {
        self.histogram.checkpoints().len()
    }

    /// One arrival: `Priv-Initialize(-Approx)`, then `Update(-Approx)`.
    ///
    /// # Errors
    /// Another length, NaN or infinity.
    pub fn push(&mut self, row: &[f64], rng: &mut NoiseRng) -> Result<()> {
        let d = self.config.dim;
        if row.len() != d {
            return Err(Error::invalid("row length", row.len(), format!("d = {d}")));
        }
        let mut clipped = vec![0.0; d];
        self.clip.quantise(row, &mut clipped)?;
        let unit = 2f64.powi(self.clip.exponent());
        clipped.iter_mut().for_each(|q| *q *= unit);
        let time = self.rows;
        let kind = rng.kind();
        self.generator = Some(self.generator.map_or(kind, |seen| seen.weaker(kind)));
        let start = (time + 1).saturating_sub(self.config.window);
        match &mut self.state {
            State::Sketches { rows, lift, sketches } => {
                let direction = standard_normals(*rows, rng)?;
                let root = 1.0 / (*rows as f64).sqrt();
                let mut fresh = Mat::zeros(*rows, d);
                let lifted = standard_normals(*rows * d, rng)?;
                for j in 0..d {
                    for i in 0..*rows {
                        fresh[(i, j)] = lift.get() * root * lifted[j * *rows + i];
                    }
                }
                sketches.push((time, fresh));
                for (_, y) in sketches.iter_mut() {
                    for j in 0..d {
                        for i in 0..*rows {
                            y[(i, j)] += root * direction[i] * clipped[j];
                        }
                    }
                }
                let grams =
                    sketches.iter().map(|(_, y)| product(y.transpose(), y.as_ref())).collect();
                let kept = self.histogram.replace_with(time, grams, start)?;
                sketches.retain(|(t, _)| kept.contains(t));
            }
            State::Wishart { dof, scale } => {
                let outer = Mat::from_fn(d, d, |i, j| clipped[i] * clipped[j]);
                let mut matrices: Vec<Mat<f64>> =
                    self.histogram.checkpoints().iter().map(|c| &c.matrix + &outer).collect();
                let noise = authority!().wishart(d, *dof, *scale)?.draw(rng)?;
                matrices.push(Mat::from_fn(d, d, |i, j| noise[i * d + j]) + outer);
                self.histogram.replace_with(time, matrices, start)?;
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// The published output: the oldest checkpoint's matrix, with the public mean of its
    /// lift or noise subtracted (theorem 4).
    ///
    /// # Errors
    /// Before the first row.
    pub fn release(&self) -> Result<Release<(WindowSpan, Mat<f64>)>> {
        self.release_named("published sliding-window algorithm")
    }

    /// [`PublishedStream::release`] under the name of the algorithm that asks for it.
    pub(super) fn release_named(&self, mechanism: &str) -> Result<Release<(WindowSpan, Mat<f64>)>> {
        let (Some(first), Some(generator)) = (self.histogram.checkpoints().first(), self.generator)
        else {
            return Err(Error::invalid("rows pushed", 0, "[1, inf)"));
        };
        let (offset, noise) = match &self.state {
            State::Sketches { rows, lift, .. } => {
                (lift.get() * lift.get(), authority!().gram_rows(*rows, *lift)?.law())
            }
            State::Wishart { dof, scale } => (
                *dof as f64 * scale.get(),
                authority!().wishart(self.config.dim, *dof, *scale)?.law(),
            ),
        };
        let mut matrix = first.matrix.clone();
        (0..self.config.dim).for_each(|i| matrix[(i, i)] -= offset);
        let statement = Statement {
            mechanism: mechanism.to_owned(),
            noise,
            generator,
            public: [
                ("d".to_owned(), PublicValue::from(self.config.dim)),
                ("window".to_owned(), self.config.window.into()),
                ("rho".to_owned(), self.config.rho.into()),
            ]
            .into(),
        };
        let span = WindowSpan { first_row: first.start, end_row: self.rows };
        Ok(Release::certified(
            (span, matrix),
            authority!().certificate(statement, self.guarantee.clone()),
        ))
    }

    /// The sketches held: what an observer of the state would see. For the
    /// demonstration that the state is not private.
    #[must_use]
    pub fn exposed_sketches(&self) -> Vec<(u64, Mat<f64>)> {
        match &self.state {
            State::Sketches { sketches, .. } => sketches.clone(),
            State::Wishart { .. } => Vec::new(),
        }
    }
}

/// Sheffet 2019 as paper 5 uses it: `w^2 = 4 B^2 (sqrt(2 r ln(4/delta)) + ln(4/delta)) / eps`.
fn sketch_state(rows: usize, bound: NormBound, epsilon: f64, log: f64) -> Result<State> {
    if rows == 0 {
        return Err(Error::invalid("sketch rows", rows, "[1, inf)"));
    }
    let squared =
        4.0 * bound.get() * bound.get() * ((2.0 * rows as f64 * log).sqrt() + log) / epsilon;
    // The sketch divides by r, so a lift of w on R' / sqrt(r) is w on the unit-variance sketch.
    Ok(State::Sketches { rows, lift: NoiseScale::new(squared.sqrt())?, sketches: Vec::new() })
}

/// Standard normals on a grid of spacing `2^-30`.
fn standard_normals(count: usize, rng: &mut NoiseRng) -> Result<Vec<f64>> {
    let mut values = vec![0.0; count];
    authority!().gaussian(NoiseScale::new(1.0)?, Grid::new(-30)?)?.fill(rng, &mut values);
    Ok(values)
}
