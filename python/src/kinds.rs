//! Mechanisms by their public parameters: built, calibrated, and what they promise.

use crate::config::{Config, Finding, Flips, NumberNoise, Scale};
use crate::error::{Fault, Result};
use dp_core::mechanism::{Basis, Mechanism as _, PrivateVector, Statistic};
use dp_core::noise::{DiscreteGaussian, DiscreteLaplace, GaussianNoise, LaplaceNoise};
use dp_core::{
    Adjacency, Budget, EntryBound, L1Sensitivity, L2Sensitivity, NormBound, Probability,
    PublicSeed, Shift,
};
use faer::Mat;
use linalg_dp::covariance::{
    GaussianCovariance, JlCovariance, NoisyPower, QuantileConfig, QuantileCovariance,
    WishartCovariance, WishartShape,
};
use linalg_dp::groups::{GroupsConfig, PrivateGroups};
use linalg_dp::low_rank::{
    BasisProjection, InputPerturbation, Pfp, PfpOptions, Pruning, PublicBasis, PublishedPfp,
    RangeFinder, Setting, Spread,
};
use linalg_dp::newton::{NewtonConfig, PrivateNewton};
use linalg_dp::window::{BlockNoise, Pace, Schedule, StreamConfig, WindowMechanism};
use sketch::bounded::{BoundedConfig, BoundedLaw, PrivateBounded};
use sketch::distances::{NoiseAddition, RandomizedResponse, ValueRange};
use sketch::projection::ProjectionSpec;
use sketch::sets::{
    BinResponse, BucketPrivMin, FreshBinResponse, GroupCounts, MixtureResponse, NoisySecureMinHash,
    SetNeighbours, SymbolShape,
};
use sketch::signs::{
    FlipRule, FreshConfig, FreshSigns, IndividualNoise, IndividualSigns, NormFloor, PrivateSigns,
    SignSketch,
};
use sketch::units::{PrivateUnits, UnitsConfig};
use sketch::vectors::{AveragedProjection, MultiScale, PrivateProjection, ProjectionConfig};

/// A calibrated mechanism.
pub(crate) enum Kind {
    Projection(PrivateProjection),
    Averaged(AveragedProjection),
    MultiScale(MultiScale),
    Signs(PrivateSigns),
    FreshSigns(FreshSigns),
    IndividualSigns(IndividualSigns),
    Units(PrivateUnits),
    Bounded(PrivateBounded),
    PrivateGroups(PrivateGroups),
    Bins(BinResponse, PublicSeed),
    FreshBins(FreshBinResponse),
    Mixture(MixtureResponse),
    Buckets(BucketPrivMin, PublicSeed),
    NoisyMinHash(NoisySecureMinHash),
    Counts(GroupCounts),
    Gaussian(GaussianCovariance),
    Quantile(Box<QuantileCovariance>, usize),
    Wishart(WishartCovariance),
    Jl(JlCovariance),
    Newton(PrivateNewton, usize),
    Directions(NoisyPower, usize, PublicSeed),
    FindAndProject(Pfp),
    Range(RangeFinder),
    InputPerturbation(InputPerturbation),
    PublishedPfp(PublishedPfp),
    Basis(BasisProjection, PublicBasis),
    Window(WindowMechanism),
    GaussianNumbers(PrivateVector<GaussianNoise>),
    LaplaceNumbers(PrivateVector<LaplaceNoise>),
    DiscreteGaussianNumbers(PrivateVector<DiscreteGaussian>),
    DiscreteLaplaceNumbers(PrivateVector<DiscreteLaplace>),
    Distances(NoiseAddition),
    Bits(RandomizedResponse),
}

fn seed(number: Option<u64>) -> Result<PublicSeed> {
    Ok(match number {
        Some(number) => PublicSeed::new(number),
        None => PublicSeed::draw()?,
    })
}

fn floor(least: Option<f64>, lift: Option<f64>) -> Result<NormFloor> {
    match (least, lift) {
        (Some(m), None) => Ok(NormFloor::Promised(NormBound::new(m)?)),
        (None, Some(m)) => Ok(NormFloor::Lifted(NormBound::new(m)?)),
        _ => Err(Fault::invalid(
            "least_norm, lift",
            "both or neither",
            "one of them: a change turns the signs of a short row more easily",
        )),
    }
}

fn shift(adjacency: Adjacency) -> Result<Shift> {
    match adjacency {
        Adjacency::RowShift { l2 } => Ok(l2),
        other => Err(Fault::invalid("adjacency", other, "a shift of a row")),
    }
}

fn neighbours(adjacency: Adjacency) -> Result<SetNeighbours> {
    match adjacency {
        Adjacency::SetItems { alpha, min_size } => Ok(SetNeighbours::new(alpha, min_size)?),
        other => Err(Fault::invalid("adjacency", other, "a change of items of a set")),
    }
}

/// Calibrates.
pub(crate) fn build(config: Config, adjacency: Adjacency, budget: Budget) -> Result<Kind> {
    Ok(match config {
        Config::Projection { d, k, family, bound, noise, seed: number } => {
            let projection = ProjectionSpec::new(family, d, k, seed(number)?)?.build();
            let (bound, noise) = (EntryBound::new(bound)?, noise.kind());
            let config = ProjectionConfig { projection, adjacency, bound, noise };
            Kind::Projection(PrivateProjection::calibrate(config, budget)?)
        }
        Config::AveragedProjection { d, k, bound } => Kind::Averaged(AveragedProjection::gaussian(
            d,
            k,
            adjacency,
            EntryBound::new(bound)?,
            budget,
        )?),
        Config::MultiScale { d, scales, bound } => {
            let shares: Vec<f64> = scales.iter().map(|scale| scale.share).collect();
            let projection = |scale: Scale| -> Result<_> {
                Ok(ProjectionSpec::new(scale.family, d, scale.k, seed(scale.seed)?)?.build())
            };
            let projections = scales.into_iter().map(projection).collect::<Result<_>>()?;
            let bound = EntryBound::new(bound)?;
            let mechanism = MultiScale::gaussian(projections, &shares, adjacency, bound, budget)?;
            Kind::MultiScale(mechanism)
        }
        Config::Signs { d, bits, family, bound, repetitions, flips, seed: number } => {
            let rule = match flips {
                Flips::Optimal => FlipRule::OptimalSmooth,
                Flips::Smooth => FlipRule::PublishedSmooth,
                Flips::Response => FlipRule::RandomizedResponse,
            };
            let sketch = SignSketch::repeated(family, d, bits, repetitions, seed(number)?)?;
            Kind::Signs(PrivateSigns::new(
                sketch,
                rule,
                adjacency,
                EntryBound::new(bound)?,
                budget,
            )?)
        }
        Config::FreshSigns { d, bits, bound, least_norm, lift } => {
            let (floor, bound) = (floor(least_norm, lift)?, EntryBound::new(bound)?);
            let config = FreshConfig { d, bits, floor, bound, adjacency };
            Kind::FreshSigns(FreshSigns::exact(config, budget)?)
        }
        Config::IndividualSigns { d, bits, family, bound, repetitions, gaussian, seed: number } => {
            let noise = if gaussian {
                IndividualNoise::Gaussian
            } else {
                IndividualNoise::RandomizedResponse
            };
            let sketch = SignSketch::repeated(family, d, bits, repetitions, seed(number)?)?;
            let bound = EntryBound::new(bound)?;
            Kind::IndividualSigns(IndividualSigns::new(sketch, noise, adjacency, bound, budget)?)
        }
        Config::PrivateGroups { d, bound, row_norm, moments_share } => {
            // No row is longer than this.
            let norm = NormBound::new(row_norm.unwrap_or(bound * (d as f64).sqrt()))?;
            let (bound, share) = (EntryBound::new(bound)?, Probability::new(moments_share)?);
            let config = GroupsConfig { d, adjacency, bound, norm, share };
            Kind::PrivateGroups(PrivateGroups::calibrate(config, budget)?)
        }
        Config::Units { d, k, family, lengths, seed: number } => {
            let projection = ProjectionSpec::new(family, d, k, seed(number)?)?.build();
            let lengths = lengths.map(NormBound::new).transpose()?;
            Kind::Units(PrivateUnits::new(UnitsConfig { projection, adjacency, lengths }, budget)?)
        }
        Config::Bounded { d, low, high, one_bit, categories } => {
            let Adjacency::Attribute { beta } = adjacency.each() else {
                let allowed = "one attribute of one row, or of each of a user's";
                return Err(Fault::invalid("adjacency", adjacency, allowed));
            };
            let range = ValueRange::new(low, high)?;
            let law = match (categories, one_bit) {
                (Some(categories), _) => BoundedLaw::Categories(categories),
                (None, true) => BoundedLaw::OneBit,
                (None, false) => BoundedLaw::LeastError,
            };
            let config = BoundedConfig { d, range, beta, law, clip: false };
            Kind::Bounded(PrivateBounded::of_user(config, adjacency.rows(), budget)?)
        }
        Config::Bins { bins, symbols, fresh: true, .. } => {
            let neighbours = neighbours(adjacency)?;
            Kind::FreshBins(FreshBinResponse::calibrate(bins, symbols, neighbours, budget)?)
        }
        Config::Bins { bins, symbols, seed: number, .. } => {
            let (alpha, sets) = (neighbours(adjacency.each())?.alpha(), adjacency.rows());
            let mechanism = BinResponse::of_user(bins, symbols, alpha, sets, budget)?;
            Kind::Bins(mechanism, seed(number)?)
        }
        Config::Mixture { positions, concatenation, symbols } => {
            let shape = SymbolShape::new(positions, concatenation, symbols)?;
            Kind::Mixture(MixtureResponse::calibrate(shape, neighbours(adjacency)?, budget)?)
        }
        Config::Buckets { positions, concatenation, symbols, seed: number } => {
            if adjacency.each() != Adjacency::AnyInput {
                return Err(Fault::invalid("adjacency", adjacency, "any set becomes any other"));
            }
            if budget.delta.get() > 0.0 {
                return Err(Fault::invalid("delta", budget.delta, "0: buckets are pure"));
            }
            let shape = SymbolShape::new(positions, concatenation, symbols)?;
            let mechanism = BucketPrivMin::of_user(shape, adjacency.rows(), budget.epsilon)?;
            Kind::Buckets(mechanism, seed(number)?)
        }
        Config::NoisyMinHash { positions, concatenation, accept_true_delta } => {
            use dp_core::calibrate::published::Acceptance;
            let accept = if accept_true_delta {
                Acceptance::AcceptTrueDelta
            } else {
                Acceptance::RequireTarget
            };
            let neighbours = neighbours(adjacency)?;
            Kind::NoisyMinHash(NoisySecureMinHash::published(
                positions,
                concatenation,
                neighbours,
                budget,
                accept,
            )?)
        }
        Config::Counts { groups } => {
            let alpha = neighbours(adjacency)?.alpha();
            Kind::Counts(GroupCounts::calibrate(groups, alpha, budget)?)
        }
        Config::GaussianCovariance { d, means, within: Some(share) } => {
            let within = Probability::new(share)?;
            let config = QuantileConfig { dim: d, adjacency, within, means };
            Kind::Quantile(Box::new(QuantileCovariance::calibrate(config, budget)?), d)
        }
        Config::GaussianCovariance { d, means: false, within: None } => {
            Kind::Gaussian(GaussianCovariance::calibrate(d, adjacency, budget)?)
        }
        Config::GaussianCovariance { d, means: true, within: None } => {
            Kind::Gaussian(GaussianCovariance::calibrate_moments(d, adjacency, budget)?)
        }
        Config::WishartCovariance { d, dof } => {
            let shape = dof.map_or(WishartShape::LeastSpectralNorm, WishartShape::Dof);
            Kind::Wishart(WishartCovariance::calibrate(d, adjacency, budget, shape)?)
        }
        Config::JlCovariance { d, sketch_rows } => {
            Kind::Jl(JlCovariance::calibrate(d, sketch_rows, adjacency, budget)?)
        }
        Config::Newton { d, label_bound, intercept } => {
            let label_bound = NormBound::new(label_bound)?;
            let config =
                NewtonConfig { features: d.saturating_sub(1), adjacency, label_bound, intercept };
            Kind::Newton(PrivateNewton::calibrate(config, budget)?, d)
        }
        Config::Directions { d, k, iterations, seed: number } => {
            let mechanism = NoisyPower::calibrate(d, k, iterations, adjacency, budget)?;
            Kind::Directions(mechanism, d, seed(number)?)
        }
        Config::LowRank { n, d, rank, oversampling, row_bound, method } => {
            let (shift, bound) = (shift(adjacency)?, NormBound::new(row_bound)?);
            let setting = match (oversampling, &method) {
                (Some(p), _) => Setting::new((n, d), rank, p, shift, bound)?,
                // The noise of the paper's algorithm grows with the sketch.
                (None, Finding::Published) => Setting::new((n, d), rank, 10, shift, bound)?,
                (None, _) => Setting::recommended((n, d), rank, shift, bound)?,
            };
            match method {
                Finding::FindAndProject => {
                    Kind::FindAndProject(Pfp::calibrate(setting, budget, PfpOptions::default())?)
                }
                Finding::RangeFinder => Kind::Range(RangeFinder::calibrate(setting, budget)?),
                Finding::Published => {
                    Kind::PublishedPfp(PublishedPfp::new(setting, budget, Pruning::None)?)
                }
                Finding::InputPerturbation => {
                    Kind::InputPerturbation(InputPerturbation::calibrate(setting, budget)?)
                }
            }
        }
        Config::Basis { n, d, k, basis, reason, row_bound, isotropic } => {
            if k.checked_mul(n) != Some(basis.len()) {
                return Err(Fault::invalid("basis", basis.len(), "n times k numbers"));
            }
            if !(1..=n).contains(&k) {
                return Err(Fault::invalid(
                    "columns of the basis",
                    k,
                    &format!("[1, {n}], its rows"),
                ));
            }
            if n < 3 {
                return Err(Fault::invalid("rows of the basis", n, "[3, 2^32)"));
            }
            if d < 3 {
                return Err(Fault::invalid("d", d, "[3, 2^32)"));
            }
            // The setting asks for a sketch, which a public basis does not need: any that fits.
            let (shift, bound) = (shift(adjacency)?, NormBound::new(row_bound)?);
            let setting = Setting::new((n, d), 1, 2, shift, bound)?;
            let spread = if isotropic { Spread::Isotropic } else { Spread::LeastTrace };
            let matrix = Mat::from_fn(n, k, |i, j| basis[i * k + j]);
            let mechanism = BasisProjection::calibrate(setting, budget, spread)?;
            Kind::Basis(mechanism, PublicBasis::declared(matrix, &reason)?)
        }
        Config::Window { d, window, block, clock, schedule } => {
            let plain = StreamConfig::new(d, window, adjacency, budget);
            let config = StreamConfig {
                block: block.unwrap_or(plain.block),
                pace: if clock { Pace::Clock } else { Pace::Rows },
                schedule: schedule.unwrap_or(Schedule::Tree { noise: BlockNoise::default() }),
                ..plain
            };
            Kind::Window(WindowMechanism::calibrate(config)?)
        }
        Config::Numbers { length, sensitivity, largest, touched, noise, by, reason } => {
            let (basis, largest) = (Basis::declared(by, reason), EntryBound::new(largest)?);
            let l1 = |basis| -> Result<_> {
                let change = L1Sensitivity::new(sensitivity)?;
                let statistic = Statistic::new(adjacency, change, length, largest);
                Ok((statistic.touching(touched), basis))
            };
            let l2 = |basis| -> Result<_> {
                let change = L2Sensitivity::new(sensitivity)?;
                let statistic = Statistic::new(adjacency, change, length, largest);
                Ok((statistic.touching(touched), basis))
            };
            match noise {
                NumberNoise::Gaussian => {
                    Kind::GaussianNumbers(PrivateVector::calibrate(l2(basis)?, budget)?)
                }
                NumberNoise::Laplace => {
                    Kind::LaplaceNumbers(PrivateVector::calibrate(l1(basis)?, budget)?)
                }
                NumberNoise::DiscreteGaussian => {
                    Kind::DiscreteGaussianNumbers(PrivateVector::calibrate(l2(basis)?, budget)?)
                }
                NumberNoise::DiscreteLaplace => {
                    Kind::DiscreteLaplaceNumbers(PrivateVector::calibrate(l1(basis)?, budget)?)
                }
            }
        }
        Config::Distances { n, d, low, high } => Kind::Distances(NoiseAddition::new(
            n,
            d,
            ValueRange::new(low, high)?,
            adjacency,
            budget,
        )?),
        Config::Bits { d } => {
            let mechanism = RandomizedResponse::calibrate(d, budget)?;
            let protected = mechanism.guarantee().adjacency();
            if adjacency != protected {
                return Err(Fault::invalid("adjacency", adjacency, &protected.to_string()));
            }
            Kind::Bits(mechanism)
        }
    })
}
