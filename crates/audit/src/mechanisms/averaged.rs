//! Private projections calibrated on average over a fresh public matrix.

use super::common::{bound, gaussian_budget, scale};
use crate::subject::{Draw, Side, Subject, gaussian_ratio};
use dp_core::{Adjacency, Budget, PublicSeed};
use eval::Result;
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec};
use sketch::vectors::AveragedProjection;

/// Family name in the table.
pub(crate) const FAMILY: &str = "averaged projection";

/// What [`subject`] and its twin share.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    /// Features.
    pub(crate) d: usize,
    /// Columns.
    pub(crate) k: usize,
    /// The adjacency.
    pub(crate) adjacency: Adjacency,
    /// The two rows.
    pub(crate) rows: [Vec<f64>; 2],
}

impl Setup {
    /// One attribute among many features.
    ///
    /// # Errors
    /// Never: the bound is positive.
    pub(crate) fn attribute() -> Result<Self> {
        let d = 48;
        let unit = |x: f64| {
            let mut row = vec![0.0; d];
            row[0] = x;
            row
        };
        let adjacency = Adjacency::Attribute { beta: bound(1.0)? };
        Ok(Self { d, k: 2, adjacency, rows: [unit(-0.5), unit(0.5)] })
    }

    fn shift() -> Result<Self> {
        let adjacency = Adjacency::RowShift { l2: bound(1.0)? };
        Ok(Self { d: 4, k: 3, adjacency, rows: [vec![-0.25; 4], vec![0.25; 4]] })
    }

    /// A mechanism, which one release uses up.
    ///
    /// # Errors
    /// A calibration that fails.
    pub(crate) fn mechanism(&self, budget: Budget) -> Result<AveragedProjection> {
        Ok(AveragedProjection::gaussian(self.d, self.k, self.adjacency, bound(1.0)?, budget)?)
    }

    /// An observation: the released row, then the images of both rows under the published seed.
    ///
    /// # Errors
    /// A projection that refuses rows.
    pub(crate) fn observe(
        &self,
        released: &[f64],
        seed: PublicSeed,
        rows: &[Vec<f64>; 2],
        out: &mut Vec<f64>,
    ) -> Result<()> {
        let projection = ProjectionSpec::new(Family::Gaussian, self.d, self.k, seed)?.build();
        out.extend_from_slice(released);
        for row in rows {
            out.extend(super::projection::image(&projection, row)?);
        }
        Ok(())
    }
}

/// The audit of a setup: a fresh matrix in every run, known to the tester.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subject(name: &str, pair: &str, setup: Setup, budget: Budget) -> Result<Subject> {
    let made = setup.mechanism(budget)?;
    let (k, d) = (setup.k, setup.d);
    let sigma = scale(made.noise());
    let guarantee = made.guarantee().clone();
    let claim = guarantee.budget();
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = RowsView::f64(1, d, side.of(&setup.rows[0], &setup.rows[1]))?;
        let release = made.clone().release(draw.fresh(), rows, &mut draw.noise())?;
        let payload = release.payload();
        setup.observe(payload.values(), payload.projection().seed(), &setup.rows, out)
    };
    Ok(Subject::new(name, FAMILY, claim, pair, 3 * k, sample)
        .under(&guarantee)?
        .seeing(k)
        .with_runs(10_000)
        .likelihood(move |x| gaussian_ratio(&x[..k], &x[k..2 * k], &x[2 * k..], sigma)))
}

/// The family's audits.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subjects() -> Result<Vec<Subject>> {
    let any = "any coordinate: all are alike before the matrix is drawn";
    let invariant = "any direction: the law is rotation invariant";
    let mut all = Vec::new();
    for (name, pair, setup) in [
        ("DP-RP-G-OPT, averaged", any, Setup::attribute()?),
        ("averaged, row shift", invariant, Setup::shift()?),
    ] {
        let of = setup.clone();
        let noise = move |budget| Ok(scale(of.mechanism(budget)?.noise()));
        let build = move |budget| subject(name, pair, setup.clone(), budget);
        all.push(Subject::built(gaussian_budget()?, noise, build)?.twin_with_runs(100_000));
    }
    Ok(all)
}
