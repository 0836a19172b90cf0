//! Attacks on released directions and signs.

use super::linear::nearest;
use super::measured::{Attack, Labels, between_two};
use super::neighbour::{Neighbours, lesser, towards};
use super::rows::{VOTERS, check, matrix, unit};
use crate::data::Points;
use crate::error::{Error, Result};
use dp_core::noise::NoiseLaw;
use dp_core::{Adjacency, Guarantee, Release};
use faer::{Mat, MatRef};
use linalg_dp::dense::product;
use rayon::prelude::*;
use sketch::signs::{FlipRule, FlipTable, SignCodes};
use sketch::units::UnitVectors;

/// Every row against its opposite, or as far as the adjacency lets it go, by the likelihood ratio; and labels by the nearest
/// public rows, where both parts have labels. Row i of `truth` is the one that row i of the release was made of.
///
/// # Errors
/// [`Error::InvalidParameter`] where truth and release do not go together, and for rows of more than 4096 columns.
pub fn on_units(
    release: &Release<UnitVectors>,
    truth: &Points,
    public: &Points,
) -> Result<Vec<Attack>> {
    let (vectors, guarantee) = (release.payload(), release.certificate().guarantee());
    let spec = vectors.projection();
    check(spec.d(), vectors.n(), truth, public)?;
    let NoiseLaw::UnitCap { threshold, .. } = *vectors.noise() else {
        return Err(Error::invalid("noise", "of another law", "that of unit vectors"));
    };
    let (_, w) = matrix(spec)?;
    let direction = |rows: MatRef<'_, f64>| {
        let images = product(rows, w.as_ref());
        match vectors.lengths() {
            None => unit(images),
            // One more number keeps the length.
            Some(bound) => {
                let k = images.ncols();
                let at = |i: usize, j: usize| images[(i, j)] / bound.get();
                let rest = |i: usize| 1.0 - (0..k).map(|j| at(i, j).powi(2)).sum::<f64>();
                Mat::from_fn(images.nrows(), k + 1, |i, j| {
                    if j < k { at(i, j) } else { rest(i).max(0.0).sqrt() }
                })
            }
        }
    };
    let own = direction(rows_of(truth).as_ref());
    let seen = Mat::from_fn(vectors.n(), vectors.width(), |i, j| {
        vectors.values()[i * vectors.width() + j]
    });
    let mut attacks = Vec::new();
    if let Some(other) = Neighbours::of(guarantee.adjacency().each(), w.as_ref(), truth, f64::abs) {
        let images = direction(other.rows.as_ref());
        // All that the law knows of a direction is whether the release lies in its cap.
        let outside = |images: &Mat<f64>, i: usize| {
            let along: f64 = (0..seen.ncols()).map(|j| seen[(i, j)] * images[(i, j)]).sum();
            f64::from(u8::from(along < threshold))
        };
        let guess = |i: usize| lesser(outside(&own, i), outside(&images, i));
        let guesses: Vec<f64> = (0..vectors.n()).map(guess).collect();
        attacks.push(between_two(other.name, "everything else", guarantee, &guesses));
    }
    let among = direction(rows_of(public).as_ref());
    attacks.extend(labels((seen.as_ref(), own.as_ref(), among.as_ref()), truth, public, guarantee));
    Ok(attacks)
}

/// One value of every row, moved as far as the adjacency lets it go where that shows most, by the likelihood ratio; and labels
/// by the nearest public rows. Row i of `truth` is the one that row i of the release was made of.
///
/// # Errors
/// As [`on_units`].
pub fn on_signs(
    release: &Release<SignCodes>,
    truth: &Points,
    public: &Points,
) -> Result<Vec<Attack>> {
    let (codes, guarantee) = (release.payload(), release.certificate().guarantee());
    let d = codes.projections().first().map_or(0, |spec| spec.d());
    let (n, bits) = (codes.bits().n(), codes.bits().bits());
    check(d, n, truth, public)?;
    let mut w = Mat::zeros(d, bits);
    let mut from = 0;
    for spec in codes.projections() {
        let (_, part) = matrix(*spec)?;
        let to = from + part.ncols();
        w.subcols_mut(from, to - from).copy_from(&part);
        from = to;
    }
    let mut attacks = Vec::new();
    let (own, among) = (
        product(rows_of(truth).as_ref(), w.as_ref()),
        product(rows_of(public).as_ref(), w.as_ref()),
    );
    if let Adjacency::Attribute { beta } = guarantee.adjacency().each() {
        let law = Flips::new(codes.noise(), w.as_ref(), beta.get())?;
        let touched: Vec<Vec<usize>> =
            (0..d).map(|j| (0..bits).filter(|&b| w[(j, b)] != 0.0).collect()).collect();
        let guess = |i: usize| {
            let image = |bit: usize| own[(i, bit)];
            // The value whose move changes the law of the bits most.
            let moved = |j: usize| towards(truth.row(i)[j], beta.get()) - truth.row(i)[j];
            let shown = |j: usize| -> f64 {
                let by = moved(j);
                let change =
                    |&b: &usize| law.one(image(b), b) - law.one(image(b) + by * w[(j, b)], b);
                touched[j].iter().map(|b| change(b).abs()).sum()
            };
            let of = (0..d).map(|j| (j, shown(j))).max_by(|a, b| a.1.total_cmp(&b.1));
            let most = of.map_or(0, |(j, _)| j);
            let cost = |bit: usize, by: f64| {
                let one = law.one(image(bit) + by * w[(most, bit)], bit);
                -(if codes.bits().get(i, bit) { one } else { 1.0 - one }).ln()
            };
            let sum = |by: f64| touched[most].iter().map(|&bit| cost(bit, by)).sum::<f64>();
            lesser(sum(0.0), sum(moved(most)))
        };
        let guesses: Vec<f64> = (0..n).into_par_iter().map(guess).collect();
        attacks.push(between_two(
            "one value: likelihood ratio",
            "everything else",
            guarantee,
            &guesses,
        ));
    }
    let sign = |of: &Mat<f64>| {
        Mat::from_fn(of.nrows(), bits, |i, b| if of[(i, b)] > 0.0 { 1.0 } else { -1.0 })
    };
    let seen = Mat::from_fn(n, bits, |i, b| if codes.bits().get(i, b) { 1.0 } else { -1.0 });
    attacks.extend(labels(
        (seen.as_ref(), sign(&own).as_ref(), sign(&among).as_ref()),
        truth,
        public,
        guarantee,
    ));
    Ok(attacks)
}

/// Guesses of labels by the nearest public rows; all rows of a kind have one length.
fn labels(
    (seen, own, among): (MatRef<'_, f64>, MatRef<'_, f64>, MatRef<'_, f64>),
    truth: &Points,
    public: &Points,
    guarantee: &Guarantee,
) -> Option<Attack> {
    let labels = Labels { truth: truth.labels()?, known: public.labels()? };
    let guess = labels.vote(&nearest(seen, among, VOTERS));
    let clean = labels.vote(&nearest(own, among, VOTERS));
    Some(labels.attack(
        "label: 5 nearest public rows",
        &guess,
        &clean,
        (guarantee, truth.d() as u64),
    ))
}

fn rows_of(points: &Points) -> Mat<f64> {
    Mat::from_fn(points.n(), points.d(), |i, j| points.row(i)[j])
}

/// How likely a published bit is to be one.
struct Flips {
    table: FlipTable,
    /// The largest change of every projected value.
    steps: Vec<f64>,
}

impl Flips {
    fn new(law: &NoiseLaw, w: MatRef<'_, f64>, beta: f64) -> Result<Self> {
        let table = match law {
            NoiseLaw::BitFlip { keep } => FlipTable::new(FlipRule::RandomizedResponse, *keep)?,
            NoiseLaw::SmoothBitFlip { epsilon, rule } => {
                FlipTable::for_epsilon(rule.parse()?, *epsilon)?
            }
            _ => return Err(Error::invalid("noise", "of another law", "bits that are flipped")),
        };
        let most = |bit: usize| w.col(bit).iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let steps = (0..w.ncols()).map(|bit| (beta * most(bit)).max(1e-300)).collect();
        Ok(Self { table, steps })
    }

    fn one(&self, value: f64, bit: usize) -> f64 {
        let level = (value.abs() / self.steps[bit]).ceil().min(1e6);
        let flip = self.table.flip(level as u32).get();
        if value > 0.0 { 1.0 - flip } else { flip }
    }
}
