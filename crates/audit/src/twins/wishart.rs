//! The Wishart mechanism as it was once released, **not private**: the factor of its noise lies on a
//! lattice, and the low bits of a release tell what it was added to. Kept here so that the tester
//! that sees it is itself tested; the library releases no such matrix.

use crate::mechanisms::common::{bound, gaussian_budget, pure_budget};
use crate::mechanisms::covariance::{FAMILY, Symmetric, wishart_ratio};
use crate::search::uniform;
use crate::subject::{Draw, Side, Subject};
use dp_core::authority;
use dp_core::noise::{AdditiveNoise, GaussianNoise, Grid};
use dp_core::profile::RowChange;
use dp_core::{Budget, NoiseRng, NoiseScale, PublicGenerator, calibrate};
use eval::Result;

/// log2 of the lattice of the factor's entries, and of the grid of the release at bound one.
const LATTICE: i32 = -40;

/// `scale L L^T` by Bartlett's decomposition, L with entries on `2^-40`. **Not private.**
#[derive(Debug, Clone, Copy)]
struct LatticeWishart {
    dim: usize,
    dof: u64,
    scale: f64,
}

impl LatticeWishart {
    /// A matrix, row-major, rounded to the grid of a release.
    fn sample(&self, draw: &Draw) -> Result<Vec<f64>> {
        let d = self.dim;
        let normal = authority!().gaussian(NoiseScale::new(1.0)?, Grid::new(LATTICE)?)?;
        let (mut rng, mut coins) = (draw.noise(), draw.public());
        let mut factor = vec![0.0; d * d];
        for i in 0..d {
            normal.fill(&mut rng, &mut factor[i * d..i * d + i]);
            let dof = self.dof - i as u64;
            factor[i * d + i] = chi_square(dof, normal, &mut rng, &mut coins).sqrt();
        }
        let entry = |i: usize, j: usize| {
            let sum: f64 = (0..=i.min(j)).map(|l| factor[i * d + l] * factor[j * d + l]).sum();
            (self.scale * sum * 2f64.powi(-LATTICE)).round_ties_even() * 2f64.powi(LATTICE)
        };
        Ok((0..d * d).map(|t| entry(t / d, t % d)).collect())
    }

    /// The first column alone, which needs one column of L.
    fn first_column(&self, draw: &Draw) -> Result<Vec<f64>> {
        let normal = authority!().gaussian(NoiseScale::new(1.0)?, Grid::new(LATTICE)?)?;
        let (mut rng, mut coins) = (draw.noise(), draw.public());
        let mut factor = vec![0.0; self.dim];
        normal.fill(&mut rng, &mut factor);
        factor[0] = chi_square(self.dof, normal, &mut rng, &mut coins).sqrt();
        let step = 2f64.powi(LATTICE);
        let entry = |l: &f64| (self.scale * (l * factor[0]) / step).round_ties_even() * step;
        Ok(factor.iter().map(entry).collect())
    }
}

/// Sums of squares, or twice a gamma variable by rejection (Marsaglia and Tsang 2000).
fn chi_square(
    dof: u64,
    normal: GaussianNoise,
    rng: &mut NoiseRng,
    coins: &mut PublicGenerator,
) -> f64 {
    if dof <= 8 {
        let mut z = vec![0.0; dof as usize];
        normal.fill(rng, &mut z);
        return z.iter().map(|z| z * z).sum();
    }
    let shape = dof as f64 / 2.0 - 1.0 / 3.0;
    let c = 1.0 / (9.0 * shape).sqrt();
    loop {
        let mut z = [0.0];
        normal.fill(rng, &mut z);
        let v = (1.0 + c * z[0]).powi(3);
        let u = 1.0 - uniform(coins);
        if v > 0.0 && u.ln() < 0.5 * z[0] * z[0] + shape - shape * v + shape * v.ln() {
            return 2.0 * shape * v;
        }
    }
}

/// How far the first column of a release, less that of a row, is from the lattice: 0 on it, 1/4 on
/// average elsewhere.
fn off_lattice(column: &[f64], row: &[f64], scale: f64) -> f64 {
    let rest = |i: usize| column[i] - row[0] * row[i];
    if rest(0) <= 0.0 {
        return 1.0;
    }
    let unit = scale * (rest(0) / scale).sqrt() * 2f64.powi(LATTICE);
    let off = |i: usize| {
        let steps = rest(i) / unit;
        (steps - steps.round()).abs()
    };
    (1..column.len()).map(off).sum::<f64>() / (column.len() - 1) as f64
}

/// A row of norm at most one with entries on the grid of clipped rows.
fn row(dim: usize) -> Vec<f64> {
    let unit = 2f64.powi(20);
    let entry = |i: usize| (1.3 * (i as f64 + 0.7)).sin() / (dim as f64).sqrt();
    (0..dim).map(|i| (entry(i) * unit).round() / unit).collect()
}

/// The release as it was, at the shape `(d, degrees of freedom)`, one row added to nothing: the
/// claim is that of the real law.
fn low_bits(dim: usize, dof: u64, claim: Budget) -> Result<Subject> {
    let scale =
        calibrate::wishart_scale(claim, dim as u64, dof, bound(1.0)?, RowChange::AddRemove)?.get();
    let law = LatticeWishart { dim, dof, scale };
    let added = row(dim);
    let of = added.clone();
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let present = *side.of(&0.0, &1.0);
        let column = law.first_column(draw)?;
        out.extend(column.iter().zip(&of).map(|(n, x)| n + present * of[0] * x));
        Ok(())
    };
    let pair = "one row added to nothing; the first column is seen";
    let nothing = vec![0.0; dim];
    let name = format!("Wishart noise on a lattice, d = {dim}, epsilon {}", claim.epsilon);
    Ok(Subject::new("", FAMILY, claim, pair, dim, |_, _, _| Ok(()))
        .with_runs(5_000)
        .in_full(2)
        .score("lattice", move |x| off_lattice(x, &nothing, scale) - off_lattice(x, &added, scale))
        .twin(name, sample))
}

/// Two by two matrices plus noise of a law, on one row and nothing, or on one row and another.
fn two_by_two(defect: &str, law: LatticeWishart, claim: Budget, exact: [Symmetric; 2]) -> Subject {
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let (n, m) = (law.sample(draw)?, side.of(&exact[0], &exact[1]));
        out.extend([n[0] + m.a, n[3] + m.b, n[2] + m.c]);
        Ok(())
    };
    let pair = "rows along the axes";
    let (dof, scale) = (law.dof as f64, law.scale);
    Subject::new("", FAMILY, claim, pair, 3, |_, _, _| Ok(()))
        .with_runs(100_000)
        .likelihood(move |x| {
            wishart_ratio(Symmetric::observed(x), exact[0], exact[1], (dof, scale))
        })
        .twin(defect, sample)
}

const NOTHING: Symmetric = Symmetric { a: 0.0, b: 0.0, c: 0.0 };
const FIRST: Symmetric = Symmetric { a: 1.0, b: 0.0, c: 0.0 };
const SECOND: Symmetric = Symmetric { a: 0.0, b: 1.0, c: 0.0 };

/// The Wishart mechanism of 2016, `W_d(d + 1, 3/(2 epsilon) I)`, claimed to be purely private: outputs
/// that are not above `A^T A` in Loewner order are impossible, so its delta is not zero.
fn pure() -> Result<Subject> {
    let claim = pure_budget()?;
    let law = LatticeWishart { dim: 2, dof: 3, scale: 1.5 / claim.epsilon.get() };
    Ok(two_by_two("refuted pure-DP Wishart", law, claim, [NOTHING, FIRST]))
}

/// Wishart noise that hides an added row, where a row is replaced.
fn replaced() -> Result<Subject> {
    let (claim, dof) = (gaussian_budget()?, 402);
    let scale = calibrate::wishart_scale(claim, 2, dof, bound(1.0)?, RowChange::AddRemove)?.get();
    let law = LatticeWishart { dim: 2, dof, scale };
    let defect = "replaced row under Wishart noise for an added one";
    Ok(two_by_two(defect, law, claim, [FIRST, SECOND]))
}

/// Twins of Wishart noise.
pub(super) fn twins() -> Result<Vec<Subject>> {
    let mut all = vec![pure()?, replaced()?];
    // An epsilon of 10 is beyond what these runs can count.
    for (dim, dof, epsilon) in [(5, 205, 1.0), (20, 220, 1.0), (100, 620, 1.0), (20, 220, 0.1)] {
        all.push(low_bits(dim, dof, Budget::new(epsilon, 1e-2)?)?);
    }
    Ok(all)
}
