//! Regressions by private Newton steps.

use super::checks::{Checks, ROOM, at_least, rejected, size};
use crate::covariance::{CONSTANT, GaussianCovariance, RowClip, unit_change};
use crate::error::Result;
use crate::newton::{NewtonRegression, TIMES, moves, paid_gradient};
use dp_core::noise::NoiseLaw;
use dp_core::profile::covariance_sensitivity;
use dp_core::{Certificate, Profile, PublicValue};
use sketch::verify::{Finding, NoisyValues, Trust, on_grid};

impl Checks for NewtonRegression {
    fn sensitivity(&self, certificate: &Certificate, _: &Trust) -> Result<Finding> {
        sensitivities(certificate)
    }

    fn noise(&self, certificate: &Certificate, _: &Trust) -> Result<Finding> {
        let NoiseLaw::Several { laws } = &certificate.statement().noise else {
            return rejected("its noise is not that of a matrix, gradients and counts");
        };
        let (Some(matrix), Some(NoiseLaw::RoundedGaussian { grid, .. })) =
            (laws.first(), laws.get(1))
        else {
            return rejected("its noise is not that of a matrix, gradients and counts");
        };
        for step in self.steps() {
            on_grid(&step.gradient, *grid)?;
        }
        let gram = self.gram();
        Ok(NoisyValues::symmetric(gram.values(), gram.dim(), matrix).check()?)
    }
}

/// All steps: the matrix, gradients over their clips, counts.
pub(super) fn sensitivities(certificate: &Certificate) -> Result<Finding> {
    let (guarantee, statement) = (certificate.guarantee(), certificate.statement());
    let adjacency = guarantee.adjacency();
    let (bound, change, rows) = unit_change(adjacency, "regression")?;
    let clip = RowClip::new(size(&statement.public, "d")?, bound)?;
    let clip = match statement.public.get(CONSTANT) {
        None => clip,
        Some(PublicValue::Real(constant)) => clip.followed_by(*constant)?,
        Some(_) => return rejected("its constant is of another type"),
    };
    let (Some(Profile::GaussianComposition { steps }), NoiseLaw::Several { laws }) =
        (guarantee.profile(), &statement.noise)
    else {
        return rejected("its profile is not one of a regression");
    };
    let (
        [gram, gradient, counts],
        [
            NoiseLaw::SymmetricGaussian { grid: of_gram, .. },
            NoiseLaw::RoundedGaussian { grid, .. },
            NoiseLaw::RoundedGaussian { .. },
        ],
    ) = (&steps[..], &laws[..])
    else {
        return rejected("its noise is not that of a matrix, gradients and counts");
    };
    let paid = GaussianCovariance::paid_bound(&clip, rows, *of_gram)?;
    let of_matrix = covariance_sensitivity(paid, change);
    let needed = [
        (gram, of_matrix, 1),
        (gradient, paid_gradient(&clip, adjacency, *grid)?, TIMES),
        (counts, moves(&clip, adjacency).1, TIMES - 1),
    ];
    for (stated, sensitivity, times) in needed {
        at_least("sensitivity", stated.sensitivity.get(), sensitivity, ROOM)?;
        at_least("a number of times of", stated.times as f64, times as f64, 0.0)?;
    }
    Ok(Finding::Agrees)
}
