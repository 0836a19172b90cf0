//! Attacks on released vectors.

use super::linear::{Prior, nearest};
use super::measured::{Attack, Measured, Secret};
use crate::data::Points;
use crate::error::{Error, Result};
use dp_core::noise::NoiseLaw;
use dp_core::{Adjacency, Guarantee, Release};
use faer::{Mat, MatRef};
use linalg_dp::dense::product;
use sketch::projection::project;
use sketch::rows::RowsView;
use sketch::vectors::PrivateSketch;

/// Public rows that vote on a label.
const VOTERS: usize = 5;
/// Directions in which they are compared.
const DIRECTIONS: usize = 40;

/// Reconstruction of rows, guesses of their labels where both parts have labels, and the best test of the change that
/// the adjacency names. Row i of `truth` is the one that row i of the release was made of.
///
/// # Errors
/// [`Error::InvalidParameter`] where truth and release do not go together, for fewer than two public rows, and for rows
/// of more than 4096 columns.
pub fn on_vectors(
    release: &Release<PrivateSketch>,
    truth: &Points,
    public: &Points,
) -> Result<Vec<Attack>> {
    let (sketch, guarantee) = (release.payload(), release.certificate().guarantee());
    let d = sketch.projection().d();
    for (name, rows) in [("columns of the truth", truth), ("columns of the public rows", public)] {
        if rows.d() != d {
            return Err(Error::invalid(name, rows.d(), format!("{d}, as in the release")));
        }
    }
    if truth.n() != sketch.n() || truth.n() < 2 {
        let allowed = format!("{}, as in the release, and at least 2", sketch.n());
        return Err(Error::invalid("rows of the truth", truth.n(), allowed));
    }
    let seen = Seen::new(sketch, truth, public)?;
    let mut attacks = seen.reconstructions(guarantee)?;
    if let (Some(labels), Some(known)) = (truth.labels(), public.labels()) {
        attacks.extend(seen.labels(guarantee, labels, known)?);
    }
    attacks.extend(seen.inside(guarantee, truth));
    Ok(attacks)
}

/// How far the neighbour of a row moves the release.
type Moved<'a> = Box<dyn Fn(usize) -> Vec<f64> + 'a>;

/// The release beside what is known.
struct Seen<'a> {
    prior: Prior,
    /// Rows less the public mean.
    truth: Mat<f64>,
    /// d x k.
    projection: Mat<f64>,
    /// Sketches less the sketch of the public mean.
    sketches: Mat<f64>,
    variance: f64,
    noise: &'a NoiseLaw,
}

impl<'a> Seen<'a> {
    fn new(sketch: &'a PrivateSketch, truth: &Points, public: &Points) -> Result<Self> {
        let prior = Prior::new(public)?;
        let (d, k) = (sketch.projection().d(), sketch.k());
        let mut unit = vec![0.0; d * d];
        (0..d).for_each(|i| unit[i * d + i] = 1.0);
        let built = sketch.projection().build();
        let images = project(built.as_ref(), RowsView::f64(d, d, &unit)?)?;
        let projection = MatRef::from_row_major_slice(&images, d, k).to_owned();
        let mean = Mat::from_fn(1, d, |_, j| prior.mean[j]);
        let mean = product(mean.as_ref(), projection.as_ref());
        let values = sketch.values();
        let sketches = Mat::from_fn(sketch.n(), k, |i, j| values[i * k + j] - mean[(0, j)]);
        let (truth, variance) = (prior.centre(truth), sketch.noise_variance());
        Ok(Self { prior, truth, projection, sketches, variance, noise: sketch.noise() })
    }

    /// By the posterior mean, by a learnt inversion, and as the nearest public row.
    fn guesses(&self) -> Result<[(&'static str, Mat<f64>); 3]> {
        let w = self.projection.as_ref();
        let mean = self.prior.posterior(w, self.variance)?;
        let learnt = self.prior.learnt(w, self.variance)?;
        let rows = self.prior.rows();
        let near = nearest(self.sketches.as_ref(), product(rows, w).as_ref(), 1);
        let near = Mat::from_fn(near.len(), rows.ncols(), |i, j| rows[(near[i][0], j)]);
        Ok([
            ("rows: posterior mean", product(self.sketches.as_ref(), mean.as_ref())),
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

    fn reconstructions(&self, guarantee: &Guarantee) -> Result<Vec<Attack>> {
        let clean = nearest(self.truth.as_ref(), self.prior.rows(), 1);
        let rows = self.prior.rows();
        let clean = Mat::from_fn(clean.len(), rows.ncols(), |i, j| rows[(clean[i][0], j)]);
        let clean_nearest = self.explained(clean.as_ref()).value;
        let says = match Self::replaced(guarantee) {
            true => {
                "inside the adjacency, but no guess between values: the bound stands beside those"
                    .to_owned()
            }
            false => self.whole().bound(guarantee).1,
        };
        let attacks = self.guesses()?.into_iter().enumerate().map(|(i, (name, guess))| Attack {
            name,
            knows: "public rows",
            measure: "share of variance recovered",
            release: self.explained(guess.as_ref()),
            without: 0.0,
            clean: if i == 2 { clean_nearest } else { 1.0 },
            bound: None,
            says: says.clone(),
        });
        Ok(attacks.collect())
    }

    /// Whether a row may become any other.
    fn replaced(guarantee: &Guarantee) -> bool {
        let adjacency = guarantee.adjacency().each();
        matches!(adjacency, Adjacency::ReplaceRow { .. } | Adjacency::AnyInput)
    }

    /// The change of a whole row, in changes of single values.
    fn whole(&self) -> Secret {
        Secret::Beyond(self.truth.ncols() as u64)
    }

    fn labels(&self, guarantee: &Guarantee, labels: &[u8], known: &[u8]) -> Result<Vec<Attack>> {
        let directions = self.prior.directions(DIRECTIONS)?;
        let among = product(self.prior.rows(), directions.as_ref());
        let vote = |guess: MatRef<'_, f64>| -> Vec<u8> {
            let lists =
                nearest(product(guess, directions.as_ref()).as_ref(), among.as_ref(), VOTERS);
            lists.iter().map(|list| most_frequent(list.iter().map(|&i| known[i]))).collect()
        };
        let right = |guess: &[u8]| guess.iter().zip(labels).filter(|(a, b)| a == b).count() as f64;
        let n = labels.len() as f64;
        let usual = most_frequent(known.iter().copied());
        let without = labels.iter().filter(|&&label| label == usual).count() as f64 / n;
        let clean = right(&vote(self.truth.as_ref())) / n;
        let secret = if Self::replaced(guarantee) {
            let likeliest = most_frequent(labels.iter().copied());
            Secret::AnyOf(labels.iter().filter(|&&l| l == likeliest).count() as f64 / n)
        } else {
            self.whole()
        };
        let (bound, says) = secret.bound(guarantee);
        let names = [
            "label: posterior mean, then 5 nearest public rows",
            "label: learned inversion, then 5 nearest public rows",
            "label: nearest public row, then 5 nearest public rows",
        ];
        let guesses = self.guesses()?;
        let attacks = names.into_iter().zip(&guesses).map(|(name, (_, guess))| Attack {
            name,
            knows: "public rows with labels",
            measure: "right guesses",
            release: Measured::share(right(&vote(guess.as_ref())), n),
            without,
            clean,
            bound,
            says: says.clone(),
        });
        Ok(attacks.collect())
    }

    /// The likelihood ratio test between the true row and the neighbour that moves the release most, all else known.
    fn inside(&self, guarantee: &Guarantee, truth: &Points) -> Option<Attack> {
        let w = self.projection.as_ref();
        let (name, shift): (&'static str, Moved<'_>) = match guarantee.adjacency().each() {
            Adjacency::Attribute { beta } => {
                let size = |j: usize| (0..w.ncols()).map(|c| self.cost(w[(j, c)])).sum::<f64>();
                let most = (0..w.nrows()).max_by(|&a, &b| size(a).total_cmp(&size(b)))?;
                let beta = beta.get();
                let sign = move |i: usize| if i.is_multiple_of(2) { beta } else { -beta };
                let moved = move |i: usize| {
                    (0..w.ncols()).map(|c| sign(i) * w[(most, c)]).collect::<Vec<f64>>()
                };
                ("one value: likelihood ratio", Box::new(moved))
            }
            Adjacency::RowShift { l2 } => {
                let image = farthest(w);
                let moved = move |_: usize| image.1.iter().map(|x| l2.get() * x).collect();
                (
                    "one row against one as far as the adjacency says: likelihood ratio",
                    Box::new(moved),
                )
            }
            Adjacency::ReplaceRow { bound } => {
                let (direction, image) = farthest(w);
                let moved = move |i: usize| {
                    // The row becomes the longest one opposite to it.
                    let row = truth.row(i);
                    let along: f64 = row.iter().zip(&direction).map(|(a, b)| a * b).sum();
                    let sign = if along > 0.0 { -bound.get() } else { bound.get() };
                    let own = |c: usize| (0..w.nrows()).map(|j| row[j] * w[(j, c)]).sum::<f64>();
                    (0..w.ncols()).map(|c| sign * image[c] - own(c)).collect()
                };
                ("one row against the farthest one: likelihood ratio", Box::new(moved))
            }
            _ => return None,
        };
        let clean = product(self.truth.as_ref(), w);
        let noise = &self.sketches - &clean;
        let right = |i: usize| {
            let shift = shift(i);
            // The released noise against what it would be, were the neighbour the truth.
            let (own, other) = shift.iter().enumerate().fold((0.0, 0.0), |sums, (c, s)| {
                let z = noise[(i, c)];
                (sums.0 + self.cost(z), sums.1 + self.cost(z - s))
            });
            match own.total_cmp(&other) {
                core::cmp::Ordering::Less => 1.0,
                core::cmp::Ordering::Equal => 0.5,
                core::cmp::Ordering::Greater => 0.0,
            }
        };
        let n = self.truth.nrows();
        let hits: f64 = (0..n).map(right).sum();
        let (bound, says) = Secret::Inside.bound(guarantee);
        let release = Measured::share(hits, n as f64);
        let (knows, measure) = ("everything else", "right guesses");
        Some(Attack { name, knows, measure, release, without: 0.5, clean: 1.0, bound, says })
    }

    /// Less the logarithm of the noise's density, but for what all have.
    fn cost(&self, z: f64) -> f64 {
        match self.noise {
            NoiseLaw::RoundedLaplace { .. } => z.abs(),
            _ => z * z,
        }
    }
}

/// The unit direction whose image is longest, and that image: by the power method.
fn farthest(w: MatRef<'_, f64>) -> (Vec<f64>, Vec<f64>) {
    let image = |v: &[f64]| -> Vec<f64> {
        (0..w.ncols()).map(|c| (0..w.nrows()).map(|j| v[j] * w[(j, c)]).sum()).collect()
    };
    let unit = |mut v: Vec<f64>| {
        let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-300);
        v.iter_mut().for_each(|x| *x /= norm);
        v
    };
    let mut v = unit((0..w.nrows()).map(|i| 1.0 + (i % 7) as f64).collect());
    for _ in 0..60 {
        let y = image(&v);
        v = unit((0..w.nrows()).map(|j| (0..w.ncols()).map(|c| y[c] * w[(j, c)]).sum()).collect());
    }
    let y = image(&v);
    (v, y)
}

/// The most frequent of some labels, the least of several.
fn most_frequent(labels: impl Iterator<Item = u8>) -> u8 {
    let mut counts = [0usize; 256];
    labels.for_each(|label| counts[usize::from(label)] += 1);
    (0..=u8::MAX)
        .max_by_key(|&label| (counts[usize::from(label)], core::cmp::Reverse(label)))
        .unwrap_or(0)
}
