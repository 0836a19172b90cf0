//! The ways to release rows that are compared, by name.

use sketch::signs::FlipRule;
use sketch::vectors::{NoiseKind, System};

/// What comes before the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Onto {
    /// Nothing: the rows themselves.
    Raw,
    /// Random bins.
    Oporp,
    /// The directions of public rows.
    Public,
}

/// A way to release rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Way {
    /// Projected rows as they are: no privacy.
    Open(Onto),
    /// Noise on numbers, calibrated for the very projection.
    Noise(Onto, NoiseKind),
    /// Gaussian noise averaged over a Gaussian projection that is used once.
    Fresh,
    /// Unit vectors.
    Units(Onto),
    /// PrivUnit on the sphere, for comparison: nothing of it is proven.
    Sphere(Onto),
    /// Signs of random bins.
    Signs(FlipRule),
    /// Signs of a Gaussian projection that is used once.
    FreshSigns,
    /// Staircase noise on signed groups that public rows suggest, ranked by posterior means.
    Groups,
    /// A system of Li and Li.
    Published(System),
}

impl Way {
    pub(super) fn label(self) -> String {
        let onto = |onto| match onto {
            Onto::Raw => "raw rows",
            Onto::Oporp => "random bins",
            Onto::Public => "public directions",
        };
        match self {
            Self::Open(at) => format!("no privacy, {}", onto(at)),
            Self::Noise(at, noise) => format!("{noise}, {}", onto(at)),
            Self::Fresh => "Gaussian, fresh projection".into(),
            Self::Units(at) => format!("unit vectors, {}", onto(at)),
            Self::Sphere(at) => format!("PrivUnit on the sphere (not proven), {}", onto(at)),
            Self::Signs(rule) => format!("signs, {}", rule.name()),
            Self::FreshSigns => "signs, fresh projection".into(),
            Self::Groups => "staircase, public groups, posterior".into(),
            Self::Published(system) => format!("{} (published)", system.name()),
        }
    }

    /// Whether a size is to be chosen.
    pub(super) fn sized(self) -> bool {
        !matches!(
            self,
            Self::Open(Onto::Raw)
                | Self::Noise(Onto::Raw, _)
                | Self::Units(Onto::Raw)
                | Self::Sphere(Onto::Raw)
                | Self::Groups
        )
    }

    /// Whether there is a projection of d features to this size: a given matrix has at most 2^17 entries.
    pub(super) fn takes(self, d: usize, k: usize) -> bool {
        let public = matches!(
            self,
            Self::Open(Onto::Public)
                | Self::Noise(Onto::Public, _)
                | Self::Units(Onto::Public)
                | Self::Sphere(Onto::Public)
        );
        k <= d && !(public && (d * k > 1 << 17 || k == d))
    }

    /// What is projected before the noise, where it is nothing drawn for one release.
    pub(super) fn onto(self) -> Option<Onto> {
        match self {
            Self::Open(onto) | Self::Noise(onto, _) => Some(onto),
            Self::Units(onto) | Self::Sphere(onto) => Some(onto),
            Self::Signs(_) => Some(Onto::Oporp),
            Self::Fresh | Self::FreshSigns | Self::Published(_) | Self::Groups => None,
        }
    }

    /// Whether delta is zero.
    pub(super) fn is_pure(self) -> bool {
        match self {
            Self::Noise(_, noise) => noise != NoiseKind::Gaussian,
            Self::Units(_) | Self::Sphere(_) | Self::Signs(_) => true,
            Self::Groups | Self::Open(_) => true,
            Self::Fresh | Self::FreshSigns => false,
            Self::Published(system) => system.is_pure(),
        }
    }
}
