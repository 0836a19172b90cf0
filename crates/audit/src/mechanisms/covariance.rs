//! Private covariance.

use super::common::{bound, gaussian_budget, search_rng};
use crate::search::{below, uniform, worst};
use crate::subject::{Draw, Side, Subject, lowest_bit};
use dp_core::{Adjacency, Budget, NormBound};
use eval::Result;
use faer::MatRef;
use linalg_dp::covariance::{
    CovarianceMechanism, CovarianceNoise, GaussianCovariance, JlCovariance, PrivateCovariance,
    WishartCovariance, WishartShape,
};
use std::sync::Arc;

/// Family name in the table.
pub(crate) const FAMILY: &str = "covariance";

/// A symmetric 2 x 2 matrix: two diagonal entries and the one off the diagonal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Symmetric {
    /// First diagonal entry.
    pub(crate) a: f64,
    /// Second diagonal entry.
    pub(crate) b: f64,
    /// Off the diagonal.
    pub(crate) c: f64,
}

impl Symmetric {
    /// `A^T A` of rows of two numbers.
    #[must_use]
    pub(crate) fn gram(rows: &[f64]) -> Self {
        let sum = |i: usize, j: usize| rows.chunks_exact(2).map(|r| r[i] * r[j]).sum();
        Self { a: sum(0, 0), b: sum(1, 1), c: sum(0, 1) }
    }

    /// From the three numbers of an observation.
    #[must_use]
    pub(crate) fn observed(x: &[f64]) -> Self {
        Self { a: x[0], b: x[1], c: x[2] }
    }

    /// The difference.
    #[must_use]
    pub(crate) fn minus(self, other: Self) -> Self {
        Self { a: self.a - other.a, b: self.b - other.b, c: self.c - other.c }
    }

    fn lifted(self, square: f64) -> Self {
        Self { a: self.a + square, b: self.b + square, ..self }
    }

    fn determinant(self) -> f64 {
        self.a * self.b - self.c * self.c
    }

    fn inverse(self) -> Self {
        let det = self.determinant();
        Self { a: self.b / det, b: self.a / det, c: -self.c / det }
    }

    /// Frobenius inner product.
    fn inner(self, other: Self) -> f64 {
        self.a * other.a + self.b * other.b + 2.0 * self.c * other.c
    }

    /// ln of the determinant; minus infinity unless positive definite.
    #[must_use]
    pub(crate) fn ln_determinant(self) -> f64 {
        let det = self.determinant();
        if self.a > 0.0 && self.b > 0.0 && det > 0.0 { det.ln() } else { f64::NEG_INFINITY }
    }
}

/// `ln density(right) - ln density(left)` of a release, given both exact matrices.
fn ratio(noise: CovarianceNoise, x: &[f64], left: Symmetric, right: Symmetric) -> f64 {
    let seen = Symmetric::observed(x);
    match noise {
        CovarianceNoise::SymmetricGaussian { sigma } => {
            let square = |m: Symmetric| {
                let gap = seen.minus(m);
                gap.inner(gap)
            };
            (square(left) - square(right)) / (2.0 * sigma.get().powi(2))
        }
        CovarianceNoise::JlSketch { rows, lift } => {
            let (r, w) = (rows as f64, lift.get() * lift.get());
            let (s, t) = (left.lifted(w), right.lifted(w));
            let quadratic = seen.inner(t.inverse().minus(s.inverse()));
            -0.5 * r * (quadratic + t.ln_determinant() - s.ln_determinant())
        }
        CovarianceNoise::Wishart { dof, scale } => {
            wishart_ratio(seen, left, right, (dof as f64, scale.get()))
        }
        _ => 0.0,
    }
}

/// The ratio of Wishart densities of `seen - right` and `seen - left`.
#[must_use]
pub(crate) fn wishart_ratio(
    seen: Symmetric,
    left: Symmetric,
    right: Symmetric,
    (dof, scale): (f64, f64),
) -> f64 {
    let density = |m: Symmetric| {
        let n = seen.minus(m);
        let ln = n.ln_determinant();
        if ln.is_finite() { 0.5 * (dof - 3.0) * ln - 0.5 * (n.a + n.b) / scale } else { ln }
    };
    let (l, r) = (density(left), density(right));
    if l == r { 0.0 } else { r - l }
}

/// Rows of the matrix on either side.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    /// Base rows.
    pub(crate) left: Vec<f64>,
    /// Base rows, one more (or another one).
    pub(crate) right: Vec<f64>,
}

/// Pairs one row apart, by search on `separation`: some base rows, the row, and what replaces it.
#[must_use]
pub(crate) fn worst_rows(
    adjacency: Adjacency,
    separation: impl Fn(Symmetric, Symmetric) -> f64,
) -> Rows {
    let replace = matches!(adjacency, Adjacency::ReplaceRow { .. });
    let build = |(base, v, w): &(Vec<f64>, [f64; 2], [f64; 2])| {
        let left = if replace { [base.as_slice(), w].concat() } else { base.clone() };
        Rows { left, right: [base.as_slice(), v].concat() }
    };
    let jump = |x: [f64; 2], rng: &mut _| {
        let moved = [x[0] + 0.5 * (uniform(rng) - 0.5), x[1] + 0.5 * (uniform(rng) - 0.5)];
        let norm = moved[0].hypot(moved[1]).max(1.0);
        [moved[0] / norm, moved[1] / norm]
    };
    let change = |(base, v, w): &(Vec<f64>, [f64; 2], [f64; 2]), rng: &mut _| {
        let (mut base, mut v, mut w) = (base.clone(), *v, *w);
        match below(rng, 4) {
            0 => v = jump(v, rng),
            1 => w = jump(w, rng),
            2 => base.extend(jump([0.0, 0.0], rng)),
            _ => base.truncate(base.len().saturating_sub(2)),
        }
        base.truncate(6);
        (base, v, w)
    };
    let start = [
        (vec![], [1.0, 0.0], [1.0, 0.0]),
        (vec![], [0.6, 0.8], [-0.8, 0.6]),
        (vec![0.5, 0.5], [0.0, 1.0], [1.0, 0.0]),
    ];
    let value = |t: &_| {
        let Rows { left, right } = build(t);
        separation(Symmetric::gram(&left), Symmetric::gram(&right))
    };
    let (best, _) = worst(start, 4000, &mut search_rng(21), change, value);
    build(&best)
}

/// The three numbers of a released matrix.
pub(crate) fn observe(covariance: &PrivateCovariance, out: &mut Vec<f64>) {
    let raw = covariance.raw();
    out.extend([raw[(0, 0)], raw[(1, 1)], raw[(1, 0)]]);
}

/// The laws of noise under audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Law {
    /// Symmetric Gaussian noise.
    Symmetric,
    /// A Johnson-Lindenstrauss sketch of this many rows.
    Jl(u64),
    /// Wishart noise of this many degrees of freedom.
    Wishart(u64),
}

impl Law {
    /// Those whose ratio is known on every pair along (1, ..., 1).
    const ALL: [Self; 2] = [Self::Symmetric, Self::Jl(4)];
    const SEARCHED: [Self; 3] = [Self::Symmetric, Self::Jl(4), Self::Wishart(16)];

    fn name(self) -> &'static str {
        match self {
            Self::Symmetric => "symmetric Gaussian",
            Self::Jl(_) => "Johnson-Lindenstrauss",
            Self::Wishart(_) => "Wishart",
        }
    }

    /// The mechanism and the law of its noise.
    ///
    /// # Errors
    /// A calibration that fails.
    pub(crate) fn made(
        self,
        dim: usize,
        adjacency: Adjacency,
        budget: Budget,
    ) -> Result<(Arc<dyn CovarianceMechanism>, CovarianceNoise)> {
        Ok(match self {
            Self::Symmetric => {
                let made = GaussianCovariance::calibrate(dim, adjacency, budget)?;
                let noise = CovarianceNoise::SymmetricGaussian { sigma: made.sigma() };
                (Arc::new(made), noise)
            }
            Self::Jl(rows) => {
                let made = JlCovariance::calibrate(dim, rows as usize, adjacency, budget)?;
                let noise = CovarianceNoise::JlSketch { rows, lift: made.lift() };
                (Arc::new(made), noise)
            }
            Self::Wishart(dof) => {
                let shape = WishartShape::Dof(dof);
                let made = WishartCovariance::calibrate(dim, adjacency, budget, shape)?;
                let noise = CovarianceNoise::Wishart { dof, scale: made.scale() };
                (Arc::new(made), noise)
            }
        })
    }

    /// A standard deviation, the lift, or the scale.
    fn noise(self, dim: usize, adjacency: Adjacency, budget: Budget) -> Result<f64> {
        Ok(match self.made(dim, adjacency, budget)?.1 {
            CovarianceNoise::SymmetricGaussian { sigma } => sigma.get(),
            CovarianceNoise::JlSketch { lift, .. } => lift.get(),
            CovarianceNoise::Wishart { scale, .. } => scale.get(),
            _ => 0.0,
        })
    }
}

fn searched(law: Law, adjacency: Adjacency, budget: Budget) -> Result<Subject> {
    let (made, noise) = law.made(2, adjacency, budget)?;
    let guarantee = made.guarantee().clone();
    let separation = move |left: Symmetric, right: Symmetric| match noise {
        CovarianceNoise::JlSketch { lift, .. } => {
            // Both generalised eigenvalues' distances from one.
            let w = lift.get() * lift.get();
            let gap = right.minus(left);
            let whitened = |m: Symmetric| {
                let inverse = m.lifted(w).inverse();
                (inverse.a * gap.a + 2.0 * inverse.c * gap.c + inverse.b * gap.b).abs()
                    + 0.1 * gap.inner(gap).sqrt() / w
            };
            whitened(left)
        }
        _ => {
            let gap = right.minus(left);
            gap.inner(gap)
        }
    };
    let Rows { left, right } = worst_rows(adjacency, separation);
    let (a, b) = (Symmetric::gram(&left), Symmetric::gram(&right));
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = side.of(left.as_slice(), right.as_slice());
        observe(made.release(rows, &mut draw.noise())?.payload(), out);
        Ok(())
    };
    let replaced = matches!(adjacency, Adjacency::ReplaceRow { .. });
    let word = if replaced { ", replaced row" } else { "" };
    let name = format!("{}{word}", law.name());
    let pair = "one row: base rows and row by search on the separation of the matrices";
    let subject = Subject::new(name, FAMILY, budget, pair, 3, sample)
        .under(&guarantee)?
        .with_runs(20_000)
        .likelihood(move |x| ratio(noise, x, a, b));
    Ok(match noise {
        // The profile of a replaced row is an upper bound: the pair's own epsilon tells how far.
        CovarianceNoise::Wishart { dof, scale } if replaced => {
            subject.giving(wishart_epsilon([a, b], (dof, scale.get()), budget.delta.get()))
        }
        _ => subject,
    })
}

/// The epsilon at `delta` of Wishart noise on a pair of matrices, the worse way round, from 200,000 draws:
/// a few percent off where delta is 0.01.
fn wishart_epsilon(pair: [Symmetric; 2], law: (u64, f64), delta: f64) -> f64 {
    let mut rng = search_rng(22);
    let mut normal = || {
        let radius = (-2.0 * (1.0 - uniform(&mut rng)).ln()).sqrt();
        radius * (core::f64::consts::TAU * uniform(&mut rng)).cos()
    };
    let (dof, scale) = law;
    let draws: Vec<Symmetric> = (0..200_000)
        .map(|_| Symmetric::gram(&(0..2 * dof).map(|_| normal()).collect::<Vec<_>>()))
        .map(|m| Symmetric { a: scale * m.a, b: scale * m.b, c: scale * m.c })
        .collect();
    let way = |left: Symmetric, right: Symmetric| {
        let seen = |n: &Symmetric| [n.a + left.a, n.b + left.b, n.c + left.c];
        let loss = |n: &Symmetric| {
            -wishart_ratio(Symmetric::observed(&seen(n)), left, right, (dof as f64, scale))
        };
        let losses: Vec<f64> = draws.iter().map(loss).collect();
        let given = |epsilon: f64| {
            let beyond = losses.iter().filter(|l| **l > epsilon);
            beyond.map(|l| -(epsilon - l).exp_m1()).sum::<f64>() / losses.len() as f64
        };
        let (mut low, mut high) = (0.0, 64.0);
        for _ in 0..40 {
            let mid = 0.5 * (low + high);
            if given(mid) > delta { low = mid } else { high = mid }
        }
        high
    };
    way(pair[0], pair[1]).max(way(pair[1], pair[0]))
}

/// A pair of rows whose change lies along (1, ..., 1), so that entries off the diagonal carry it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Along {
    /// Name in the table.
    pub(crate) name: &'static str,
    /// Columns.
    pub(crate) dim: usize,
    /// Bound on a row's norm.
    pub(crate) bound: f64,
    /// Rows that both sides have: this many zero rows, then this many like the one that is added.
    pub(crate) base: (usize, usize),
    /// Whether the row is replaced, by one orthogonal to it, instead of added.
    pub(crate) replaced: bool,
}

impl Along {
    /// Two columns, one row on top of nothing.
    pub(crate) const PLAIN: Self =
        Self { name: "along (1, 1)", dim: 2, bound: 1.0, base: (0, 0), replaced: false };

    /// The adjacency.
    ///
    /// # Errors
    /// A bound that is not positive.
    pub(crate) fn adjacency(&self) -> Result<Adjacency> {
        let bound = NormBound::new(self.bound)?;
        Ok(match self.replaced {
            true => Adjacency::ReplaceRow { bound },
            false => Adjacency::AddRemoveRow { bound },
        })
    }

    /// The row, and the one in its place, in units of the bound.
    fn pair(&self) -> [Vec<f64>; 2] {
        let entry = 1.0 / (self.dim as f64).sqrt();
        let other = (0..self.dim).map(|i| if i % 2 == 0 { entry } else { -entry });
        [vec![entry; self.dim], other.collect()]
    }

    /// Rows of both sides.
    #[must_use]
    pub(crate) fn sides(&self) -> [Vec<f64>; 2] {
        let [row, other] =
            self.pair().map(|v| v.iter().map(|x| self.bound * x).collect::<Vec<_>>());
        let base = [vec![0.0; self.base.0 * self.dim], row.repeat(self.base.1)].concat();
        let left = if self.replaced { [base.clone(), other].concat() } else { base.clone() };
        [left, [base, row].concat()]
    }

    /// `ln density(right) - ln density(left)` of a release under a law's noise; a sketch only where
    /// there are no other rows.
    #[must_use]
    pub(crate) fn ratio(&self, noise: CovarianceNoise, seen: MatRef<'_, f64>) -> f64 {
        let square = self.bound * self.bound;
        let form = |v: &[f64]| {
            let sum = |i: usize| (0..v.len()).map(|j| seen[(i, j)] / square * v[j]).sum::<f64>();
            (0..v.len()).map(|i| v[i] * sum(i)).sum::<f64>()
        };
        let [row, other] = self.pair().map(|v| form(&v));
        match noise {
            CovarianceNoise::SymmetricGaussian { sigma } => {
                // <X - (L + R) / 2, R - L>, R = (equal + 1) v v^T.
                let equal = self.base.1 as f64;
                let [gap, middle] =
                    if self.replaced { [row - other, equal] } else { [row, equal + 0.5] };
                (gap - middle) / (sigma.get() / square).powi(2)
            }
            CovarianceNoise::JlSketch { rows, lift } => {
                let (w, r) = ((lift.get() / self.bound).powi(2), rows as f64);
                let gap = if self.replaced { row - other } else { row };
                let volume = if self.replaced { 0.0 } else { (1.0 / w).ln_1p() };
                0.5 * r * (gap / (w * (w + 1.0)) - volume)
            }
            _ => 0.0,
        }
    }

    /// The audit of a law on this pair.
    ///
    /// # Errors
    /// A calibration that fails.
    pub(crate) fn subject(self, law: Law, budget: Budget) -> Result<Subject> {
        let (made, noise) = law.made(self.dim, self.adjacency()?, budget)?;
        let guarantee = made.guarantee().clone();
        let sides = self.sides();
        let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
            let rows = side.of(sides[0].as_slice(), sides[1].as_slice());
            self.observe(made.release(rows, &mut draw.noise())?.payload().raw(), noise, out);
            Ok(())
        };
        let name = format!("{}, {}", law.name(), self.name);
        self.tested(Subject::new(name, FAMILY, budget, Self::PAIR, 6, sample)).under(&guarantee)
    }

    const PAIR: &str = "a row along (1, ..., 1), added or in place of one orthogonal to it";

    /// The testers of this pair.
    fn tested(self, subject: Subject) -> Subject {
        subject
            .seeing(4)
            .with_runs(if self.dim > 10 { 4_000 } else { 20_000 })
            .in_full(if self.dim > 10 { 16 } else { 8 })
            .likelihood(|x| x[4])
            .score("low bits", |x| x[5])
    }

    /// Three entries and the sum of all, in units of the bound; the ratio; the lowest bit of any entry.
    pub(crate) fn observe(
        &self,
        seen: MatRef<'_, f64>,
        noise: CovarianceNoise,
        out: &mut Vec<f64>,
    ) {
        let last = self.dim - 1;
        let square = self.bound * self.bound;
        let all = (0..=last).flat_map(|i| (0..=last).map(move |j| (i, j)));
        let sum: f64 = all.map(|t| seen[t] / square).sum();
        out.extend([(0, 0), (last, last), (last, 0)].map(|t| seen[t] / square));
        out.push(sum);
        out.push(self.ratio(noise, seen));
        let bits = (0..=last).flat_map(|i| (0..=i).map(move |j| (i, j)));
        out.push(bits.map(|t| lowest_bit(seen[t])).min().map_or(0.0, f64::from));
    }
}

/// The largest bound on a row that these mechanisms accept, 2^400.
const LARGEST: f64 = 2.582_249_878_086_908_6e120;

/// The pairs along (1, ..., 1): every law, added and replaced; one column and a hundred; zero rows,
/// equal rows, and a bound far from one.
const PAIRS: [(Along, &[Law]); 8] = {
    let plain = Along::PLAIN;
    [
        (plain, &Law::ALL),
        (Along { name: "replaced along (1, 1)", replaced: true, ..plain }, &Law::ALL),
        (Along { name: "one column", dim: 1, ..plain }, &Law::ALL),
        (Along { name: "a hundred columns", dim: 100, ..plain }, &Law::ALL),
        (
            Along { name: "replaced, a hundred columns", dim: 100, replaced: true, ..plain },
            &Law::ALL,
        ),
        (Along { name: "beside zero rows", base: (3, 0), ..plain }, &Law::ALL),
        (Along { name: "beside equal rows", base: (0, 3), ..plain }, &[Law::Symmetric]),
        (Along { name: "the largest bound", bound: LARGEST, ..plain }, &Law::ALL),
    ]
};

/// The family's audits.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subjects() -> Result<Vec<Subject>> {
    let claim = gaussian_budget()?;
    let add = Adjacency::AddRemoveRow { bound: bound(1.0)? };
    let replace = Adjacency::ReplaceRow { bound: bound(1.0)? };
    let mut all = Vec::new();
    for adjacency in [add, replace] {
        for law in Law::SEARCHED {
            let noise = move |budget| law.noise(2, adjacency, budget);
            let built = Subject::built(claim, noise, move |b| searched(law, adjacency, b))?;
            // A Wishart twin breaks its claim by a little only.
            let close = matches!((law, adjacency), (Law::Wishart(_), Adjacency::ReplaceRow { .. }));
            all.push(built.twin_with_runs(if close { 200_000 } else { 60_000 }));
        }
    }
    for (along, laws) in PAIRS {
        for &law in laws {
            let adjacency = along.adjacency()?;
            let noise = move |budget| law.noise(along.dim, adjacency, budget);
            let built = Subject::built(claim, noise, move |b| along.subject(law, b))?;
            all.push(match along.dim {
                100 => built.twin_only_in_full(),
                _ => built.twin_with_runs(60_000),
            });
        }
    }
    Ok(all)
}
