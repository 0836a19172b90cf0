//! Certificates of every kind.
#![allow(dead_code, missing_docs)]

use dp_core::authority;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::noise::{GeneratorKind, Grid, NoiseLaw};
use dp_core::*;

pub(crate) fn scale(x: f64) -> NoiseScale {
    NoiseScale::new(x).unwrap()
}

pub(crate) fn statement(noise: NoiseLaw) -> Statement {
    let mut public = PublicParameters::new();
    public.insert("k".into(), 64usize.into());
    public.insert("bound".into(), 3.0.into());
    public.insert("projection".into(), "rademacher".into());
    Statement { mechanism: "test".into(), noise, generator: GeneratorKind::OsChacha12, public }
}

/// By the first theorem that speaks of it, else declared.
pub(crate) fn proven(
    adjacency: Adjacency,
    epsilon: f64,
    profile: Profile,
    noise: NoiseLaw,
) -> Certificate {
    // A delta just above what the profile gives, as calibration leaves it.
    let ln = profile.log_delta(Epsilon::new(epsilon).unwrap());
    let delta = (ln.delta() * (1.0 + 1e-12)).min(0.999);
    let budget = Budget::new(epsilon, delta).unwrap();
    // Those of caps and of counts speak of their noise alone.
    let caps = matches!(noise, NoiseLaw::UnitCap { .. });
    let counts = matches!(noise, NoiseLaw::DiscreteLaplace { .. });
    // Those of one law.
    let several = matches!(noise, NoiseLaw::Several { .. });
    let theorems = Theorem::ALL.into_iter().filter(|t| match t {
        Theorem::UnitVectors => caps,
        Theorem::GroupCounts => counts,
        Theorem::ProjectionFresh | Theorem::RangeFinder => !several,
        _ => true,
    });
    let proven = |theorem| authority!().proven(adjacency, budget, profile.clone(), theorem).ok();
    let guarantee = theorems.filter_map(proven).next().unwrap_or_else(|| {
        Guarantee::declared(adjacency, budget, profile.clone(), "a test", "its reason").unwrap()
    });
    authority!().certificate(statement(noise), guarantee)
}

pub(crate) fn b_of(b: f64) -> LaplaceScale {
    LaplaceScale::new(b).unwrap()
}

pub(crate) fn row() -> Adjacency {
    Adjacency::RowShift { l2: Shift::new(1.0).unwrap() }
}

pub(crate) fn gaussian(sigma: f64) -> (Profile, NoiseLaw) {
    let profile =
        Profile::Gaussian { sensitivity: L2Sensitivity::new(1.0).unwrap(), sigma: scale(sigma) };
    let grid = Grid::new(-30).unwrap();
    (profile, NoiseLaw::RoundedGaussian { sigma: scale(sigma), grid })
}

pub(crate) fn laplace(b: f64) -> (Profile, NoiseLaw) {
    let profile =
        Profile::Laplace { sensitivity: L1Sensitivity::new(1.0).unwrap(), scale: b_of(b) };
    let grid = Grid::new(-30).unwrap();
    (profile, NoiseLaw::RoundedLaplace { scale: b_of(b), grid })
}

/// One certificate of every kind the rule book knows.
pub(crate) fn all() -> Vec<Certificate> {
    let (g, gn) = gaussian(4.0);
    let (l, ln) = laplace(2.0);
    let missing = authority!()
        .published_accepting_true_delta(
            row(),
            Budget::new(0.5, 1e-9).unwrap(),
            g.clone(),
            "paper",
            "lacks a factor",
        )
        .unwrap();
    let unknown = authority!()
        .published(
            row(),
            Budget::new(0.5, 1e-9).unwrap(),
            None,
            "rule",
            "paper",
            "proof covers one release",
        )
        .unwrap();
    let mut list = known_pairs();
    list.extend([
        proven(row(), 1.0, g, gn.clone()),
        proven(row(), 0.3, l.clone(), ln.clone()),
        proven(row(), 0.5 + 1e-13, l, ln),
        authority!().certificate(statement(gn.clone()), missing),
        authority!().certificate(statement(gn), unknown),
    ]);
    list
}

pub(crate) fn probability(x: f64) -> Probability {
    Probability::new(x).unwrap()
}

/// A certificate for each rule whose profile is not a plain Gaussian or Laplace.
pub(crate) fn known_pairs() -> Vec<Certificate> {
    use dp_core::profile::{CoordinateProfile as C, GaussianStep, RowChange};
    let grid = Grid::new(-30).unwrap();
    let bound = NormBound::new(1.0).unwrap();
    let l2 = |x: f64| L2Sensitivity::new(x).unwrap();
    let rounded = |sigma: f64| NoiseLaw::RoundedGaussian { sigma: scale(sigma), grid };
    let add = Adjacency::AddRemoveRow { bound };
    let any = Adjacency::AnyInput;
    let keep = probability(0.6);
    let mixture = |coordinate| Profile::BinomialMixture {
        trials: 20,
        probability: probability(0.2),
        coordinate,
    };
    let chi = |later_mu| Profile::ChiMixtureGaussian {
        k: 6,
        entry_shift: l2(1.3),
        sigma: scale(9.0),
        later_mu,
    };
    let change = RowChange::AddRemove;
    let jl = Profile::JlMechanism { rows: 12, bound, lift: scale(9.0), change };
    let wishart = Profile::Wishart { dim: 4, dof: 40, bound, scale: scale(1.0), change };
    let sketch = NoiseLaw::JlSketch { rows: 4, lift: scale(9.0), grid: Grid::new(-24).unwrap() };
    let repeated = Profile::Repeated { profile: Box::new(wishart.clone()), times: 3 };
    let draw = NoiseLaw::Wishart { dof: 40, scale: scale(1.0), grid: Grid::new(-24).unwrap() };
    let symmetric = Profile::SymmetricGaussian { bound, sigma: scale(5.0), change };
    let step = GaussianStep { sensitivity: l2(1.1), sigma: scale(6.0), times: 3 };
    vec![
        proven(row(), 0.7, chi(0.0), rounded(9.0)),
        proven(row(), 0.7, chi(0.1), NoiseLaw::Several { laws: vec![rounded(9.0), rounded(7.0)] }),
        proven(row(), 0.9, Profile::GaussianComposition { steps: vec![step] }, rounded(6.0)),
        proven(add, 0.5, symmetric, NoiseLaw::SymmetricGaussian { sigma: scale(5.0), grid }),
        proven(
            add,
            0.2,
            jl.clone(),
            NoiseLaw::JlSketch { rows: 12, lift: scale(9.0), grid: Grid::new(-24).unwrap() },
        ),
        proven(add, 0.2, jl, NoiseLaw::Several { laws: vec![sketch; 3] }),
        proven(add, 0.6, wishart, draw.clone()),
        proven(add, 1.2, repeated, NoiseLaw::Several { laws: vec![draw; 3] }),
        {
            let (epsilon, inner) = (Epsilon::new(1.0).unwrap(), 410);
            let sensitivity = L1Sensitivity::new(1000.5 * grid.spacing()).unwrap();
            let profile = Profile::Staircase { sensitivity, epsilon, inner, grid };
            let noise = NoiseLaw::Staircase { epsilon, width: 1000, inner, grid };
            proven(Adjacency::Attribute { beta: Shift::new(1e-9).unwrap() }, 0.7, profile, noise)
        },
        proven(
            any,
            0.4,
            Profile::DiscreteLaplace { moves: 3, scale: b_of(4.0) },
            NoiseLaw::DiscreteLaplace { scale: b_of(4.0) },
        ),
        proven(
            any,
            0.4,
            Profile::DiscreteGaussian { moves: 3, sigma: scale(4.0) },
            NoiseLaw::DiscreteGaussian { sigma: scale(4.0) },
        ),
        proven(
            any,
            0.4,
            Profile::Zcdp { rho: 0.2 },
            NoiseLaw::DiscreteGaussian { sigma: scale(4.0) },
        ),
        proven(any, 1.0, Profile::RandomizedResponse { bits: 9, keep }, NoiseLaw::BitFlip { keep }),
        proven(
            any,
            0.5,
            Profile::KaryResponse { responses: 3, alphabet: 4, keep },
            NoiseLaw::KaryResponse { alphabet: 4, keep },
        ),
        proven(any, 0.5, mixture(C::RandomizedResponse { keep }), NoiseLaw::BitFlip { keep }),
        proven(
            any,
            0.5,
            mixture(C::KaryResponse { alphabet: 4, keep }),
            NoiseLaw::KaryResponse { alphabet: 4, keep },
        ),
        proven(
            any,
            0.5,
            mixture(C::Laplace { shift: L1Sensitivity::new(1.0).unwrap(), scale: b_of(8.0) }),
            NoiseLaw::RoundedLaplace { scale: b_of(8.0), grid },
        ),
    ]
}
