//! Which projection: family, shape, seed; and the moments each family has.

use super::groups::Groups;
use super::matrix::PublicMatrix;
use crate::error::{Error, Result};
use dp_core::certificate::PublicParameters;
use dp_core::{PublicSeed, PublicValue};
use serde::{Deserialize, Serialize};

/// The law of P.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Family {
    /// Independent N(0, 1/k) entries.
    Gaussian,
    /// Independent entries +-1/sqrt k.
    Rademacher,
    /// Independent entries sqrt(3/k) {+1: 1/6, 0: 2/3, -1: 1/6} (Achlioptas 2003).
    Achlioptas,
    /// Independent entries sqrt(s/k) {+-1: 1/(2s) each, else 0}, s = sqrt d (Li, Hastie, Church 2006).
    VerySparse,
    /// Exactly `nonzeros` entries +-1/sqrt(nonzeros) a row, in distinct columns (Kane, Nelson 2014).
    SparseJl {
        /// Nonzero entries in each row of P.
        nonzeros: u32,
    },
    /// `copies` entries +-1/sqrt(copies) a row, in independent columns that may coincide
    /// (Dasgupta, Kumar, Sarlos 2010).
    HashedCopies {
        /// Copies of each coordinate.
        copies: u32,
    },
    /// Random signs, Walsh-Hadamard transform, k of its outputs (SRHT); all entries +-1/sqrt k.
    Srht {
        /// How the k outputs are chosen.
        sampling: Sampling,
    },
    /// One permutation, k bins of equal length, random signs (OPORP; Li & Li 2023).
    Oporp,
    /// Every coordinate in an independent bin with a random sign (count-sketch).
    CountSketch,
    /// Sums of chosen groups of attributes, with signs: nothing is drawn. The seed is zero.
    Grouped {
        /// The group of every attribute.
        groups: Groups,
    },
    /// A given matrix: nothing is drawn. The seed is zero.
    Given {
        /// All of P.
        matrix: PublicMatrix,
    },
    /// No projection: k = d.
    Identity,
}

/// How a structured projection samples its outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Sampling {
    /// k distinct outputs: smaller variance.
    WithoutReplacement,
    /// k independent outputs.
    WithReplacement,
}

/// The name in certificates.
impl core::fmt::Display for Sampling {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::WithoutReplacement => "without-replacement",
            Self::WithReplacement => "with-replacement",
        })
    }
}

impl core::str::FromStr for Sampling {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let all = [Self::WithoutReplacement, Self::WithReplacement];
        all.into_iter().find(|s| s.to_string() == name).ok_or_else(|| {
            Error::invalid("sampling", name, "without-replacement or with-replacement")
        })
    }
}

impl Groups {
    /// The projection to the sums of the groups.
    #[must_use]
    pub fn spec(self) -> ProjectionSpec {
        let (d, k, seed) = (self.d(), self.k(), PublicSeed::new(0));
        ProjectionSpec { family: Family::Grouped { groups: self }, d, k, seed }
    }
}

impl PublicMatrix {
    /// The projection by this matrix.
    #[must_use]
    pub fn spec(self) -> ProjectionSpec {
        let (d, k, seed) = (self.d(), self.k(), PublicSeed::new(0));
        ProjectionSpec { family: Family::Given { matrix: self }, d, k, seed }
    }
}

/// The second moments of a family's estimates, without noise:
/// `k Var <uP, vP> = pair (|u|^2 |v|^2 + <u, v>^2) + quartic sum_i u_i^2 v_i^2`.
///
/// With u = v = w this is `k Var |wP|^2 = 2 pair |w|^4 + quartic sum_i w_i^4`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Moments {
    /// Coefficient of the rotation-invariant part.
    pub pair: f64,
    /// Coefficient of the coordinate-wise part.
    pub quartic: f64,
}

/// Everything needed to rebuild a projection. Published with every release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedSpec", into = "UncheckedSpec")]
pub struct ProjectionSpec {
    family: Family,
    d: usize,
    k: usize,
    seed: PublicSeed,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UncheckedSpec {
    family: Family,
    d: usize,
    k: usize,
    seed: PublicSeed,
}

impl TryFrom<UncheckedSpec> for ProjectionSpec {
    type Error = Error;
    fn try_from(s: UncheckedSpec) -> Result<Self> {
        Self::new(s.family, s.d, s.k, s.seed)
    }
}

impl From<ProjectionSpec> for UncheckedSpec {
    fn from(s: ProjectionSpec) -> Self {
        Self { family: s.family, d: s.d, k: s.k, seed: s.seed }
    }
}

impl ProjectionSpec {
    /// A projection of `d` features to `k` numbers.
    ///
    /// # Errors
    /// When d is not in `[1, 2^32)` (`[1, 2^31]` for the sparse families, whose tables hold 31 bits of a
    /// coordinate beside a sign), k not in `[1, d]`, k is above 2^24, or a family's parameter is out of range.
    pub fn new(family: Family, d: usize, k: usize, seed: PublicSeed) -> Result<Self> {
        if !(1..=u32::MAX as usize).contains(&d) {
            return Err(Error::invalid("d", d, "[1, 2^32)"));
        }
        let dense = matches!(
            family,
            Family::Gaussian
                | Family::Rademacher
                | Family::Achlioptas
                | Family::Srht { .. }
                | Family::Given { .. }
                | Family::Identity
        );
        if !dense && d > 1 << 31 {
            return Err(Error::invalid("d", d, "[1, 2^31] for a sparse projection"));
        }
        if k == 0 || k > d || k > 1 << 24 {
            return Err(Error::invalid("k", k, format!("[1, {}]", d.min(1 << 24))));
        }
        match family {
            Family::SparseJl { nonzeros: s } | Family::HashedCopies { copies: s }
                if s == 0 || s as usize > k =>
            {
                Err(Error::invalid("nonzeros of a row", s, format!("[1, {k}]")))
            }
            Family::Identity if k != d => Err(Error::invalid("k", k, format!("{{{d}}}"))),
            Family::Grouped { groups } if d != groups.d() => {
                Err(Error::invalid("d", d, format!("{{{}}}, as the groups say", groups.d())))
            }
            Family::Grouped { groups } if k != groups.k() => {
                Err(Error::invalid("k", k, format!("{{{}}}, as the groups say", groups.k())))
            }
            Family::Given { matrix } if d != matrix.d() => {
                Err(Error::invalid("d", d, format!("{{{}}}, as the matrix says", matrix.d())))
            }
            Family::Given { matrix } if k != matrix.k() => {
                Err(Error::invalid("k", k, format!("{{{}}}, as the matrix says", matrix.k())))
            }
            Family::Grouped { .. } | Family::Given { .. } if seed != PublicSeed::new(0) => {
                let what = "seed of groups or of a given matrix";
                Err(Error::invalid(what, "another one", "{0}: nothing is drawn"))
            }
            _ => Ok(Self { family, d, k, seed }),
        }
    }

    /// The law of P.
    #[must_use]
    pub fn family(&self) -> Family {
        self.family
    }

    /// Input features.
    #[must_use]
    pub fn d(&self) -> usize {
        self.d
    }

    /// Output numbers.
    #[must_use]
    pub fn k(&self) -> usize {
        self.k
    }

    /// The published seed.
    #[must_use]
    pub fn seed(&self) -> PublicSeed {
        self.seed
    }

    /// The family's moments at this shape.
    #[must_use]
    pub fn moments(&self) -> Moments {
        let k = self.k as f64;
        let drawn = |population: f64| (population - k) / (population - 1.0).max(1.0);
        let (pair, quartic) = match self.family {
            Family::Identity | Family::Grouped { .. } | Family::Given { .. } => (0.0, 0.0),
            Family::Gaussian | Family::Achlioptas => (1.0, 0.0),
            Family::Rademacher | Family::SparseJl { .. } | Family::CountSketch => (1.0, -2.0),
            Family::VerySparse => (1.0, (self.d as f64).sqrt() - 3.0),
            Family::HashedCopies { copies } => (1.0, -2.0 / f64::from(copies)),
            Family::Oporp => {
                let f = drawn((self.d.div_ceil(self.k) * self.k) as f64);
                (f, -2.0 * f)
            }
            Family::Srht { sampling: Sampling::WithReplacement } => (1.0, -2.0),
            Family::Srht { sampling: Sampling::WithoutReplacement } => {
                let f = drawn(self.d.next_power_of_two() as f64);
                (f, -2.0 * f)
            }
        };
        Moments { pair, quartic }
    }

    /// Name of the family.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.family {
            Family::Gaussian => "gaussian",
            Family::Rademacher => "rademacher",
            Family::Achlioptas => "achlioptas",
            Family::VerySparse => "very-sparse",
            Family::SparseJl { .. } => "sparse-jl",
            Family::HashedCopies { .. } => "hashed-copies",
            Family::Srht { .. } => "srht",
            Family::Oporp => "oporp",
            Family::CountSketch => "count-sketch",
            Family::Grouped { .. } => "grouped",
            Family::Given { .. } => "given",
            Family::Identity => "identity",
        }
    }

    /// The groups, where attributes are grouped.
    #[must_use]
    pub fn groups(&self) -> Option<Groups> {
        match self.family {
            Family::Grouped { groups } => Some(groups),
            _ => None,
        }
    }

    /// Whether E[P P^T] = I, so that norms, products and distances of rows have unbiased estimates: not of chosen groups, and not
    /// of a given matrix.
    #[must_use]
    pub fn keeps_products(&self) -> bool {
        !matches!(self.family, Family::Grouped { .. } | Family::Given { .. })
    }

    /// The spec as public parameters of a certificate.
    #[must_use]
    pub fn public_parameters(&self) -> PublicParameters {
        let mut public = PublicParameters::new();
        public.insert("projection".into(), self.name().into());
        match self.family {
            Family::SparseJl { nonzeros: s } | Family::HashedCopies { copies: s } => {
                public.insert("nonzeros".into(), u64::from(s).into());
            }
            Family::Srht { sampling } => {
                public.insert("sampling".into(), sampling.to_string().into());
            }
            Family::Grouped { groups } => {
                public.insert("groups".into(), groups.digest().into());
            }
            Family::Given { matrix } => {
                public.insert("matrix".into(), matrix.digest().into());
            }
            _ => {}
        }
        public.insert("d".into(), self.d.into());
        public.insert("k".into(), self.k.into());
        public.insert("projection seed".into(), self.seed.into());
        public
    }

    /// The projection that the public parameters of a certificate name: the inverse of
    /// [`ProjectionSpec::public_parameters`]. All of it must be there; other parameters may be. Groups and given
    /// matrices are known by a digest only, and refused.
    ///
    /// # Errors
    /// [`dp_core::Error::CertificateRejected`] for a parameter that is missing or of another type; as
    /// [`ProjectionSpec::new`].
    pub fn from_public_parameters(public: &PublicParameters) -> Result<Self> {
        let missing = |field| {
            let reason = "the projection's parameter is missing, or of another type".to_owned();
            Error::Core(dp_core::Error::CertificateRejected { field, reason })
        };
        let whole = |name: &'static str| match public.get(name) {
            Some(PublicValue::Integer(value)) => Ok(*value),
            _ => Err(missing(name)),
        };
        let text = |name: &'static str| match public.get(name) {
            Some(PublicValue::Text(value)) => Ok(value.as_str()),
            _ => Err(missing(name)),
        };
        let nonzeros = || u32::try_from(whole("nonzeros")?).map_err(|_| missing("nonzeros"));
        let family = match text("projection")? {
            "gaussian" => Family::Gaussian,
            "rademacher" => Family::Rademacher,
            "achlioptas" => Family::Achlioptas,
            "very-sparse" => Family::VerySparse,
            "sparse-jl" => Family::SparseJl { nonzeros: nonzeros()? },
            "hashed-copies" => Family::HashedCopies { copies: nonzeros()? },
            "srht" => Family::Srht { sampling: text("sampling")?.parse()? },
            "oporp" => Family::Oporp,
            "count-sketch" => Family::CountSketch,
            "identity" => Family::Identity,
            name @ ("grouped" | "given") => {
                let field = if name == "given" { "matrix" } else { "groups" };
                let reason = format!(
                    "a certificate holds a digest of its {field}; the rest is in the release"
                );
                return Err(Error::Core(dp_core::Error::CertificateRejected { field, reason }));
            }
            _ => return Err(missing("projection")),
        };
        let seed = public.get("projection seed").ok_or_else(|| missing("projection seed"))?;
        let seed = PublicSeed::try_from(seed.clone())?;
        let size = |name| usize::try_from(whole(name)?).map_err(|_| missing(name));
        Self::new(family, size("d")?, size("k")?, seed)
    }

    /// A short digest of family, shape and seed: equal exactly when two sketches were
    /// made by the same projection and may be compared.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        dp_core::release_file::fingerprint(self)
    }
}
