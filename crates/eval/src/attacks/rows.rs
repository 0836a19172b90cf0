//! Attacks on released vectors.

use super::linear::{COLUMNS, Prior, nearest};
use super::measured::{Attack, Labels, Measured, Secret, between_two, replaced};
use super::neighbour::{Neighbours, lesser};
use super::probes::{LOW_BITS, finest, low_bits, times};
use crate::data::Points;
use crate::error::{Error, Result};
use dp_core::noise::NoiseLaw;
use dp_core::{Guarantee, Release};
use faer::{Mat, MatRef};
use linalg_dp::dense::product;
use sketch::projection::{ProjectionSpec, SharedProjection, project};
use sketch::rows::RowsView;
use sketch::vectors::PrivateSketch;
use std::sync::Arc;

/// Public rows that vote on a label.
pub(super) const VOTERS: usize = 5;

/// Reconstruction of rows, guesses of their labels where both parts have labels, the best test of the change that
/// the adjacency names, and the same change by the low bits of the release and by the time that its computation takes. Row
/// i of `truth` is the one that row i of the release was made of.
///
/// # Errors
/// [`Error::InvalidParameter`] where truth and release do not go together, for fewer than two public rows, and for rows
/// of more than 4096 columns.
pub fn on_vectors(
    release: &Release<PrivateSketch>,
    truth: &Points,
    public: &Points,
) -> Result<Vec<Attack>> {
    let guarantee = release.certificate().guarantee();
    let seen = Seen::new(release.payload(), truth, public)?;
    let guesses = seen.guesses()?;
    let mut attacks = seen.reconstructions(guarantee, &guesses);
    if let (Some(truth), Some(known)) = (truth.labels(), public.labels()) {
        attacks.extend(seen.labels(guarantee, &Labels { truth, known }, &guesses)?);
    }
    attacks.extend(seen.inside(guarantee, truth));
    attacks.extend(seen.timed(guarantee, truth)?);
    Ok(attacks)
}

/// Of [`on_vectors`], the change that the adjacency names alone: by the likelihood ratio, and by the low bits.
#[cfg(feature = "experiments")]
pub(crate) fn on_changes(release: &Release<PrivateSketch>, truth: &Points) -> Result<Vec<Attack>> {
    let seen = Seen::new(release.payload(), truth, &truth.select(&[0, 1]))?;
    Ok(seen.inside(release.certificate().guarantee(), truth))
}

/// Of [`on_vectors`], the label alone, by the posterior mean. What public rows tell may serve many releases.
///
/// # Errors
/// As [`on_vectors`]; also where either part has no labels.
#[cfg(feature = "experiments")]
pub(crate) fn on_labels(
    release: &Release<PrivateSketch>,
    rows: &Points,
    (public, prior): (&Points, &Arc<Prior>),
) -> Result<Attack> {
    check(release.payload().projection().d(), release.payload().n(), rows, public)?;
    let seen = Seen::over(Arc::clone(prior), release.payload(), rows)?;
    let (Some(truth), Some(known)) = (rows.labels(), public.labels()) else {
        return Err(Error::invalid("labels", "none", "those of the rows and of the public rows"));
    };
    let (guarantee, labels) = (release.certificate().guarantee(), Labels { truth, known });
    let mut found = seen.labels(guarantee, &labels, &[("", seen.posterior_mean()?)])?;
    Ok(found.remove(0))
}

/// Two releases of the same rows, the second in an order that the attacker does not know: which of its rows belongs to
/// which of the first. Rows i of both were made of row i of `truth`.
///
/// # Errors
/// As [`on_vectors`].
pub fn on_links(
    first: &Release<PrivateSketch>,
    second: &Release<PrivateSketch>,
    truth: &Points,
    public: &Points,
) -> Result<Vec<Attack>> {
    let guess = |release: &Release<PrivateSketch>| -> Result<Mat<f64>> {
        Seen::new(release.payload(), truth, public)?.posterior_mean()
    };
    let (left, right) = (guess(first)?, guess(second)?);
    // What noise is left makes guesses shorter or longer: directions alone are compared.
    let linked = nearest(unit(left).as_ref(), unit(right).as_ref(), 1);
    let n = truth.n() as f64;
    let right = linked.iter().enumerate().filter(|(i, list)| list.first() == Some(i)).count();
    let rows = Mat::from_fn(truth.n(), truth.d(), |i, j| truth.row(i)[j]);
    let clean = nearest(rows.as_ref(), rows.as_ref(), 1);
    let clean = clean.iter().enumerate().filter(|(i, list)| list.first() == Some(i)).count();
    let (_, says) = Secret::Beyond(truth.d() as u64).bound(first.certificate().guarantee());
    Ok(vec![Attack {
        name: "the same row in another release: nearest posterior means",
        knows: "public rows; the order of one release alone",
        measure: "right links",
        release: Measured::share(right as f64, n),
        without: 1.0 / n,
        clean: clean as f64 / n,
        bound: None,
        says: if replaced(first.certificate().guarantee()) {
            "inside the adjacency, but no guess between two values; two releases add up".to_owned()
        } else {
            says
        },
    }])
}

/// The public matrix of a projection, d x k.
pub(super) fn matrix(spec: ProjectionSpec) -> Result<(SharedProjection, Mat<f64>)> {
    let (d, k) = (spec.d(), spec.k());
    let mut unit = vec![0.0; d * d];
    (0..d).for_each(|i| unit[i * d + i] = 1.0);
    let built = spec.build();
    let images = project(built.as_ref(), RowsView::f64(d, d, &unit)?)?;
    Ok((built, MatRef::from_row_major_slice(&images, d, k).to_owned()))
}

/// Refuses rows that the release was not made of, and public rows of other columns.
pub(super) fn check(d: usize, n: usize, truth: &Points, public: &Points) -> Result<()> {
    for (name, rows) in [("columns of the truth", truth), ("columns of the public rows", public)] {
        if rows.d() != d {
            return Err(Error::invalid(name, rows.d(), format!("{d}, as in the release")));
        }
    }
    if d > COLUMNS {
        return Err(Error::invalid("columns", d, format!("at most {COLUMNS}")));
    }
    if truth.n() != n || n < 2 {
        let allowed = format!("{n}, as in the release, and at least 2");
        return Err(Error::invalid("rows of the truth", truth.n(), allowed));
    }
    Ok(())
}

/// Rows over their length.
pub(super) fn unit(mut rows: Mat<f64>) -> Mat<f64> {
    for i in 0..rows.nrows() {
        let norm = rows.row(i).norm_l2().max(1e-300);
        (0..rows.ncols()).for_each(|j| rows[(i, j)] /= norm);
    }
    rows
}

/// Guesses of all rows, each with the attack's name.
type Guesses = [(&'static str, Mat<f64>); 3];

/// The release beside what is known.
struct Seen<'a> {
    prior: Arc<Prior>,
    /// Rows less the public mean.
    truth: Mat<f64>,
    built: SharedProjection,
    /// d x k.
    projection: Mat<f64>,
    released: &'a PrivateSketch,
    /// Sketches less the sketch of the public mean.
    sketches: Mat<f64>,
    variance: f64,
}

impl<'a> Seen<'a> {
    fn new(sketch: &'a PrivateSketch, truth: &Points, public: &Points) -> Result<Self> {
        check(sketch.projection().d(), sketch.n(), truth, public)?;
        Self::over(Arc::new(Prior::new(public)?), sketch, truth)
    }

    fn over(prior: Arc<Prior>, sketch: &'a PrivateSketch, truth: &Points) -> Result<Self> {
        let (d, k) = (sketch.projection().d(), sketch.k());
        let (built, projection) = matrix(sketch.projection())?;
        let mean = Mat::from_fn(1, d, |_, j| prior.mean[j]);
        let mean = product(mean.as_ref(), projection.as_ref());
        let values = sketch.values();
        let sketches = Mat::from_fn(sketch.n(), k, |i, j| values[i * k + j] - mean[(0, j)]);
        let (truth, variance) = (prior.centre(truth), sketch.noise_variance());
        Ok(Self { prior, truth, built, projection, released: sketch, sketches, variance })
    }

    fn posterior_mean(&self) -> Result<Mat<f64>> {
        let mean = self.prior.posterior(self.projection.as_ref(), self.variance)?;
        Ok(product(self.sketches.as_ref(), mean.as_ref()))
    }

    /// By the posterior mean, by a learnt inversion, and as the nearest public row.
    fn guesses(&self) -> Result<Guesses> {
        let w = self.projection.as_ref();
        let learnt = self.prior.learnt(w, self.variance)?;
        let rows = self.prior.rows();
        let near = nearest(self.sketches.as_ref(), product(rows, w).as_ref(), 1);
        let near = Mat::from_fn(near.len(), rows.ncols(), |i, j| rows[(near[i][0], j)]);
        Ok([
            ("rows: posterior mean", self.posterior_mean()?),
            ("rows: learned linear inversion", product(self.sketches.as_ref(), learnt.as_ref())),
            ("rows: nearest public row", near),
        ])
    }

    /// The share of the variance about the public mean that a guess explains.
    fn explained(&self, guess: MatRef<'_, f64>) -> Measured {
        let row = |i: usize| {
            let (truth, guess) = (self.truth.row(i), guess.row(i));
            let error: f64 = (0..truth.ncols()).map(|j| (truth[j] - guess[j]).powi(2)).sum();
            (error, truth.squared_norm_l2())
        };
        let rows: Vec<(f64, f64)> = (0..self.truth.nrows()).map(row).collect();
        Measured::one_less_ratio(&rows)
    }

    fn reconstructions(&self, guarantee: &Guarantee, guesses: &Guesses) -> Vec<Attack> {
        let clean = nearest(self.truth.as_ref(), self.prior.rows(), 1);
        let rows = self.prior.rows();
        let clean = Mat::from_fn(clean.len(), rows.ncols(), |i, j| rows[(clean[i][0], j)]);
        let clean_nearest = self.explained(clean.as_ref()).value;
        let says = match replaced(guarantee) {
            true => {
                "inside the adjacency, but no guess between values: the bound stands beside those"
                    .to_owned()
            }
            false => Secret::Beyond(self.truth.ncols() as u64).bound(guarantee).1,
        };
        let attacks = guesses.iter().enumerate().map(|(i, (name, guess))| Attack {
            name,
            knows: "public rows",
            measure: "share of variance recovered",
            release: self.explained(guess.as_ref()),
            without: 0.0,
            clean: if i == 2 { clean_nearest } else { 1.0 },
            bound: None,
            says: says.clone(),
        });
        attacks.collect()
    }

    fn labels(
        &self,
        guarantee: &Guarantee,
        labels: &Labels<'_>,
        guesses: &[(&'static str, Mat<f64>)],
    ) -> Result<Vec<Attack>> {
        let directions = self.prior.directions()?;
        let among = product(self.prior.rows(), directions);
        let vote = |guess: MatRef<'_, f64>| -> Vec<u8> {
            let guess = product(guess, directions);
            labels.vote(&nearest(guess.as_ref(), among.as_ref(), VOTERS))
        };
        let clean = vote(self.truth.as_ref());
        let names = [
            "label: posterior mean, then 5 nearest public rows",
            "label: learned inversion, then 5 nearest public rows",
            "label: nearest public row, then 5 nearest public rows",
        ];
        let about = (guarantee, self.truth.ncols() as u64);
        let attacks = names
            .into_iter()
            .zip(guesses)
            .map(|(name, (_, guess))| labels.attack(name, &vote(guess.as_ref()), &clean, about));
        Ok(attacks.collect())
    }

    /// The true row against the neighbour that moves the release most, all else known: the likelihood ratio, and what the
    /// low bits alone say.
    fn inside(&self, guarantee: &Guarantee, truth: &Points) -> Vec<Attack> {
        let w = self.projection.as_ref();
        let adjacency = guarantee.adjacency().each();
        let cost = |z: f64| self.cost(z);
        let Some(other) = Neighbours::of(adjacency, w, truth, cost) else { return Vec::new() };
        let rows = Mat::from_fn(truth.n(), truth.d(), |i, j| truth.row(i)[j]);
        let (own, images) = (product(rows.as_ref(), w), other.images(w));
        let (n, k) = (truth.n(), w.ncols());
        let values = self.released.values();
        let lowest = finest(values);
        let by_ratio = |i: usize| {
            let costs = (0..k).fold((0.0, 0.0), |sums, c| {
                let z = values[i * k + c];
                (sums.0 + self.cost(z - own[(i, c)]), sums.1 + self.cost(z - images[(i, c)]))
            });
            lesser(costs.0, costs.1)
        };
        let by_bits = |i: usize| {
            let row = |m: &Mat<f64>| m.row(i).iter().copied().collect::<Vec<f64>>();
            low_bits(&values[i * k..(i + 1) * k], &row(&own), &row(&images), lowest)
        };
        let known = "everything else";
        vec![
            between_two(other.name, known, guarantee, &(0..n).map(by_ratio).collect::<Vec<_>>()),
            between_two(LOW_BITS, known, guarantee, &(0..n).map(by_bits).collect::<Vec<_>>()),
        ]
    }

    /// The same change, by how long the projection takes.
    fn timed(&self, guarantee: &Guarantee, truth: &Points) -> Result<Option<Attack>> {
        let (w, adjacency) = (self.projection.as_ref(), guarantee.adjacency().each());
        let Some(other) = Neighbours::of(adjacency, w, truth, |z| self.cost(z)) else {
            return Ok(None);
        };
        let (row, neighbour) = (truth.row(0), other.row(0));
        let mut image = vec![0.0; w.ncols()];
        let mut run = |row: &[f64]| -> Result<()> {
            self.built.apply(RowsView::f64(1, row.len(), row)?, &mut image)?;
            core::hint::black_box(&mut image);
            Ok(())
        };
        run(row)?;
        run(&neighbour)?;
        // Both went through.
        Ok(Some(times(|first| drop(run(if first { row } else { &neighbour })))))
    }

    /// Less the logarithm of the noise's density, but for what all have.
    fn cost(&self, z: f64) -> f64 {
        match *self.released.noise() {
            NoiseLaw::RoundedLaplace { .. } => z.abs(),
            NoiseLaw::Staircase { width, inner, grid, .. } => {
                ((z.abs() / grid.spacing() - inner as f64).max(0.0) / width as f64).ceil()
            }
            _ => z * z,
        }
    }
}
