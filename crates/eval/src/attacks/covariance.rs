//! Attacks on released covariances.

use super::measured::{Attack, Measured, SHARE, Secret};
use crate::data::Points;
use crate::error::{Error, Result};
use dp_core::{Adjacency, Release};
use faer::{Mat, MatRef};
use linalg_dp::covariance::{CovarianceNoise, PrivateCovariance};
use linalg_dp::dense::{product, symmetric_eigen};

/// Whether rows are in the data: as many rows of the truth, which are, as public rows, which are not.
///
/// Rows longer than the bound of the adjacency are shortened to it, as the release did. All guesses share the noise of
/// the one release; the interval counts as many independent guesses as their directions are worth.
///
/// # Errors
/// [`Error::InvalidParameter`] where the columns do not go together, or there are no rows.
pub fn on_covariance(
    release: &Release<PrivateCovariance>,
    truth: &Points,
    public: &Points,
) -> Result<Vec<Attack>> {
    let tested = Tested::new(release, truth, public)?;
    let (bound, says) = Secret::Inside.bound(release.certificate().guarantee());
    let informed = Attack {
        name: "presence of a row: likelihood ratio",
        knows: "all other rows",
        measure: SHARE,
        release: tested.informed()?,
        without: 0.5,
        clean: 1.0,
        bound,
        says: says.clone(),
    };
    // Who knows public rows alone looks for rows that the release favours over the public ones.
    let outsider = Attack {
        name: "presence of a row: favoured over public rows",
        knows: "public rows",
        release: tested.measured(tested.favoured(&release.payload().unbiased())),
        clean: tested.favoured(&tested.clean),
        says,
        ..informed.clone()
    };
    Ok(vec![informed, outsider])
}

/// Of [`on_covariance`], what who knows all other rows finds out alone.
///
/// # Errors
/// As [`on_covariance`].
#[cfg(feature = "experiments")]
pub(crate) fn on_presence(
    release: &Release<PrivateCovariance>,
    truth: &Points,
    public: &Points,
) -> Result<Measured> {
    Tested::new(release, truth, public)?.informed()
}

/// The release beside rows that are in it, and as many that are not.
struct Tested<'a> {
    released: &'a PrivateCovariance,
    /// What would have been released without noise.
    clean: Mat<f64>,
    /// The public rows' matrix, as of as many rows as the truth has.
    usual: Mat<f64>,
    /// The rows, those that are in it first, of length one.
    units: Mat<f64>,
    /// Their squared lengths.
    squared: Vec<f64>,
    inside: usize,
}

impl<'a> Tested<'a> {
    fn new(
        release: &'a Release<PrivateCovariance>,
        truth: &Points,
        public: &Points,
    ) -> Result<Self> {
        let (released, guarantee) = (release.payload(), release.certificate().guarantee());
        let d = released.dim();
        for (name, rows) in
            [("columns of the truth", truth), ("columns of the public rows", public)]
        {
            if rows.d() != d || rows.n() == 0 {
                let allowed = format!("some rows of {d} columns, as in the release");
                return Err(Error::invalid(name, format!("{} x {}", rows.n(), rows.d()), allowed));
            }
        }
        if guarantee.adjacency().rows() > 1 {
            let allowed =
                "one row a unit: which rows of a user entered, a file of rows does not say";
            return Err(Error::invalid("adjacency of the release", guarantee.adjacency(), allowed));
        }
        let bound = match guarantee.adjacency() {
            Adjacency::AddRemoveRow { bound }
            | Adjacency::ZeroRow { bound }
            | Adjacency::ReplaceRow { bound } => bound.get(),
            _ => f64::INFINITY,
        };
        let (members, others) = (clipped(truth, bound), clipped(public, bound));
        let clean = product(members.transpose(), members.as_ref());
        let scale = members.nrows() as f64 / others.nrows() as f64;
        let usual = product(others.transpose(), others.as_ref()) * faer::Scale(scale);
        // As many of either; zero rows are nowhere.
        let count = members.nrows().min(others.nrows());
        let there = |rows: &Mat<f64>| -> Vec<usize> {
            (0..count).filter(|&i| rows.row(i).squared_norm_l2() > 0.0).collect()
        };
        let (inside, outside) = (there(&members), there(&others));
        let tests = inside.len() + outside.len();
        if tests == 0 {
            return Err(Error::invalid("rows", "all zero", "some that are not zero"));
        }
        let row = |t: usize| match inside.get(t) {
            Some(&i) => members.row(i),
            None => others.row(outside[t - inside.len()]),
        };
        let units = Mat::from_fn(tests, d, |t, j| row(t)[j] / row(t).norm_l2());
        let squared = (0..tests).map(|t| row(t).squared_norm_l2()).collect();
        Ok(Self { released, clean, usual, units, squared, inside: inside.len() })
    }

    /// The form of a matrix in the direction of every row.
    fn forms(&self, matrix: MatRef<'_, f64>) -> Vec<f64> {
        let (units, seen) = (&self.units, product(self.units.as_ref(), matrix));
        let form = |t: usize| (0..units.ncols()).map(|j| seen[(t, j)] * units[(t, j)]).sum();
        (0..units.nrows()).map(form).collect()
    }

    /// A share of all guesses, which are as dependent as their statistics, at most: they are worth their number squared over the
    /// sum of all correlations.
    fn measured(&self, share: f64) -> Measured {
        let tests = self.units.nrows() as f64;
        let together = product(self.units.transpose(), self.units.as_ref()).squared_norm_l2();
        let worth = (tests * tests / together.max(1.0)).min(tests);
        Measured::share(share * worth, worth)
    }

    /// By who knows all other rows and compares the likelihoods of the release with the row and without.
    fn informed(&self) -> Result<Measured> {
        let evidence =
            evidence(self.released, &self.clean, &|m| self.forms(m), (&self.squared, self.inside))?;
        let right = |(t, found): (usize, &f64)| (*found > 0.0) == (t < self.inside);
        let hits = evidence.iter().enumerate().filter(|&at| right(at)).count();
        Ok(self.measured(hits as f64 / evidence.len() as f64))
    }

    /// The share of right guesses where the rows that a matrix favours over the public one are taken for those in it.
    fn favoured(&self, matrix: &Mat<f64>) -> f64 {
        let scores = self.forms((matrix - &self.usual).as_ref());
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        let right = |&(place, &t): &(usize, &usize)| (place < self.inside) == (t < self.inside);
        order.iter().enumerate().filter(right).count() as f64 / scores.len() as f64
    }
}

/// By how much a row is likelier to be in the data than not, all other rows known: the logarithm of the likelihood ratio. The first
/// `inside` of the rows are in `clean`; `forms` gives the form of a matrix at their directions.
fn evidence(
    released: &PrivateCovariance,
    clean: &Mat<f64>,
    forms: &dyn Fn(MatRef<'_, f64>) -> Vec<f64>,
    (squared, inside): (&[f64], usize),
) -> Result<Vec<f64>> {
    let each = |of: &dyn Fn(usize, bool) -> f64| -> Vec<f64> {
        (0..squared.len()).map(|t| of(t, t < inside)).collect()
    };
    Ok(match released.noise() {
        // log f(W) = (dof - d - 1)/2 log det W - tr W/(2 scale), W being what is left without the row, or with it.
        CovarianceNoise::Wishart { dof, scale } => {
            let left = forms(inverse((released.raw() - clean).as_ref())?.as_ref());
            let power = 0.5 * (dof as f64 - released.dim() as f64 - 1.0);
            each(&|t, inside| {
                let a = squared[t] * left[t];
                let rest = if inside { -a.ln_1p() } else { (-a.min(1.0)).ln_1p() };
                power * rest + 0.5 * squared[t] / scale.get()
            })
        }
        // rows x release is W_d(rows, A^T A + lift^2 I); with the row, that matrix plus its square.
        CovarianceNoise::JlSketch { rows, lift } => {
            let mut all = clean.clone();
            (0..all.nrows()).for_each(|i| all[(i, i)] += lift.get().powi(2));
            let inverse = inverse(all.as_ref())?;
            let seen =
                product(product(inverse.as_ref(), released.raw()).as_ref(), inverse.as_ref());
            let (own, seen) = (forms(inverse.as_ref()), forms(seen.as_ref()));
            each(&|t, inside| {
                let (c, e) = (squared[t] * own[t], squared[t] * seen[t]);
                let ratio =
                    if inside { (-c).ln_1p() + e / (1.0 - c) } else { e / (1.0 + c) - c.ln_1p() };
                0.5 * rows as f64 * ratio
            })
        }
        // log f(E) = -||E||_F^2 / (2 sigma^2), by the convention of sigma.
        CovarianceNoise::SymmetricGaussian { sigma } => {
            let left = forms((released.raw() - clean).as_ref());
            each(&|t, inside| {
                let middle = left[t] + squared[t] * if inside { 0.5 } else { -0.5 };
                squared[t] * middle / sigma.get().powi(2)
            })
        }
        _ => {
            return Err(Error::invalid(
                "noise of the covariance",
                "another",
                "Gaussian, Wishart or JL",
            ));
        }
    })
}

/// The inverse of a symmetric matrix.
fn inverse(matrix: MatRef<'_, f64>) -> Result<Mat<f64>> {
    let eigen = symmetric_eigen(matrix)?;
    let v = &eigen.vectors;
    let scaled = Mat::from_fn(v.nrows(), v.ncols(), |i, j| v[(i, j)] / eigen.values[j]);
    Ok(product(scaled.as_ref(), v.transpose()))
}

/// Rows no longer than the bound.
fn clipped(rows: &Points, bound: f64) -> Mat<f64> {
    let factor = |i: usize| {
        let norm = rows.row(i).iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm > bound { bound / norm } else { 1.0 }
    };
    let factors: Vec<f64> = (0..rows.n()).map(factor).collect();
    Mat::from_fn(rows.n(), rows.d(), |i, j| rows.row(i)[j] * factors[i])
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_core::{Budget, NoiseRng, NormBound};
    use linalg_dp::covariance::{
        CovarianceMechanism, GaussianCovariance, JlCovariance, WishartCovariance, WishartShape,
    };

    /// Without the row the likelihood ratio is one on average, with it its inverse is: of no other number is that so.
    #[test]
    fn evidence_is_the_logarithm_of_the_likelihood_ratio() {
        let (adjacency, budget) = (
            Adjacency::AddRemoveRow { bound: NormBound::new(1.0).unwrap() },
            Budget::new(0.8, 1e-3).unwrap(),
        );
        let shape = WishartShape::LeastSpectralNorm;
        let mechanisms: [(&str, Box<dyn CovarianceMechanism>); 3] = [
            ("Gaussian", Box::new(GaussianCovariance::calibrate(3, adjacency, budget).unwrap())),
            (
                "Wishart",
                Box::new(WishartCovariance::calibrate(3, adjacency, budget, shape).unwrap()),
            ),
            ("JL", Box::new(JlCovariance::calibrate(3, 12, adjacency, budget).unwrap())),
        ];
        let (row, rest) = ([0.6, -0.64, 0.48], [0.5, 0.5, 0.0, 0.0, -0.25, 0.75]);
        for (name, mechanism) in mechanisms {
            for inside in [0, 1] {
                let data: Vec<f64> = row[..3 * inside].iter().chain(&rest).copied().collect();
                let rows = Mat::from_fn(data.len() / 3, 3, |i, j| data[3 * i + j]);
                let clean = product(rows.transpose(), rows.as_ref());
                let forms = |m: MatRef<'_, f64>| {
                    let form = |(i, j): (usize, usize)| row[i] * m[(i, j)] * row[j];
                    vec![(0..9).map(|p| form((p / 3, p % 3))).sum::<f64>()]
                };
                let ratio = |seed| {
                    let mut rng = NoiseRng::deterministic_not_private(seed);
                    let release = mechanism.release(&data, &mut rng).unwrap();
                    let found =
                        evidence(release.payload(), &clean, &forms, (&[1.0], inside)).unwrap();
                    if inside == 1 { (-found[0]).exp() } else { found[0].exp() }
                };
                let all: Vec<f64> = (0..4000).map(ratio).collect();
                let mean = all.iter().sum::<f64>() / 4000.0;
                let spread = all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 4000.0;
                assert!(
                    (mean - 1.0).abs() < 5.0 * (spread / 4000.0).sqrt(),
                    "{name} {inside}: {mean}"
                );
                assert!((1e-3..1.0).contains(&spread), "{name} {inside}: {spread}");
            }
        }
    }
}
