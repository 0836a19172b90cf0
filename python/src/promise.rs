//! What a calibrated mechanism promises, and what it expects.

use crate::error::{Fault, Result};
use crate::kinds::Kind;
use dp_core::mechanism::{Mechanism as _, Prediction};
use dp_core::{Guarantee, SquaredNorm};
use sketch::sets::SetFacts;

impl Kind {
    /// What one release promises; nothing where it is no differential privacy.
    pub(crate) fn promise(&self) -> Option<&Guarantee> {
        Some(match self {
            Kind::Projection(m) => m.guarantee(),
            Kind::Averaged(m) => m.guarantee(),
            Kind::MultiScale(m) => m.guarantee(),
            Kind::Signs(m) => m.guarantee(),
            Kind::FreshSigns(m) => m.guarantee(),
            Kind::IndividualSigns(_) => return None,
            Kind::Units(m) => m.guarantee(),
            Kind::Bounded(m) => m.guarantee(),
            Kind::PrivateGroups(m) => m.guarantee(),
            Kind::Bins(m, _) => m.guarantee(),
            Kind::FreshBins(m) => m.guarantee(),
            Kind::Mixture(m) => m.guarantee(),
            Kind::Buckets(m, _) => m.guarantee(),
            Kind::Counts(m) => m.guarantee(),
            Kind::NoisyMinHash(m) => m.guarantee(),
            Kind::Gaussian(m) => m.guarantee(),
            Kind::Quantile(m, _) => m.guarantee(),
            Kind::Wishart(m) => m.guarantee(),
            Kind::Jl(m) => m.guarantee(),
            Kind::Newton(m, _) => m.guarantee(),
            Kind::Directions(m, ..) => m.guarantee(),
            Kind::FindAndProject(m) => m.guarantee(),
            Kind::Range(m) => m.guarantee(),
            Kind::InputPerturbation(m) => m.guarantee(),
            Kind::PublishedPfp(m) => m.guarantee(),
            Kind::Basis(m, _) => m.guarantee(),
            Kind::Window(m) => m.guarantee(),
            Kind::GaussianNumbers(m) => m.guarantee(),
            Kind::LaplaceNumbers(m) => m.guarantee(),
            Kind::DiscreteGaussianNumbers(m) => m.guarantee(),
            Kind::DiscreteLaplaceNumbers(m) => m.guarantee(),
            Kind::Distances(m) => m.guarantee(),
            Kind::Bits(m) => m.guarantee(),
        })
    }

    /// The expected error from public facts.
    pub(crate) fn predict(&self, facts: &[f64]) -> Result<Prediction> {
        let fact = |at: usize| {
            facts
                .get(at)
                .copied()
                .ok_or_else(|| Fault::invalid("facts", facts.len(), "one more number"))
        };
        let set = || -> Result<SetFacts> { Ok(SetFacts { size: fact(0)?, similarity: fact(1)? }) };
        let trace = || -> Result<SquaredNorm> { Ok(SquaredNorm::new(fact(0)?)?) };
        Ok(match self {
            Kind::Projection(m) => m.predict(fact(0)?)?,
            Kind::Averaged(m) => m.predict(fact(0)?)?,
            Kind::MultiScale(m) => m.predict(fact(0)?)?,
            Kind::Signs(m) => m.predict(())?,
            Kind::FreshSigns(m) => m.predict(())?,
            Kind::IndividualSigns(_) => {
                return Err(Fault::invalid(
                    "prediction",
                    "individual signs",
                    "differential privacy",
                ));
            }
            Kind::Units(m) => m.predict(fact(0)?)?,
            Kind::Bounded(m) => m.predict(fact(0)?)?,
            Kind::PrivateGroups(m) => m.predict(())?,
            Kind::Bins(m, _) => m.predict(set()?)?,
            Kind::FreshBins(m) => m.predict(set()?)?,
            Kind::Mixture(m) => m.predict(set()?)?,
            Kind::Buckets(m, _) => m.predict(set()?)?,
            Kind::Counts(m) => m.predict(())?,
            Kind::NoisyMinHash(m) => m.predict(set()?)?,
            Kind::Gaussian(m) => m.predict(trace()?)?,
            Kind::Quantile(m, _) => m.predict(trace()?)?,
            Kind::Wishart(m) => m.predict(trace()?)?,
            Kind::Jl(m) => m.predict(trace()?)?,
            Kind::Newton(m, _) => m.predict(())?,
            Kind::Directions(m, ..) => m.predict(())?,
            Kind::FindAndProject(m) => m.predict(())?,
            Kind::Range(m) => m.predict(())?,
            Kind::InputPerturbation(m) => m.predict(())?,
            Kind::Basis(m, basis) => m.predict(basis.clone())?,
            Kind::PublishedPfp(_) => {
                return Err(Fault::invalid("prediction", "the published rule", "the exact one"));
            }
            Kind::Window(m) => m.predict(trace()?)?,
            Kind::GaussianNumbers(m) => m.predict(())?,
            Kind::LaplaceNumbers(m) => m.predict(())?,
            Kind::DiscreteGaussianNumbers(m) => m.predict(())?,
            Kind::DiscreteLaplaceNumbers(m) => m.predict(())?,
            Kind::Distances(m) => m.predict(())?,
            Kind::Bits(m) => m.predict(())?,
        })
    }
}
