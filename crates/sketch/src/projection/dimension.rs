//! How many dimensions a projection needs.

use super::spec::{Family, ProjectionSpec};
use crate::error::{Error, Result};
use dp_core::{Probability, PublicSeed};

/// The least k for which one squared distance is kept within a factor 1 +- `distortion` except
/// with probability `failure`, by the rule that is proven for the family:
/// - Gaussian, Rademacher, Achlioptas: `2 exp(-(k/2)(l^2/2 - l^3/3)) <= failure` (Achlioptas 2003);
/// - the others: Chebyshev on the family's own variance, `Var/(l^2 |w|^4) <= failure`, the
///   coordinate-wise part at the worst of its range.
///
/// For all pairs of n rows, pass `failure / (n (n-1)/2)`.
///
/// # Errors
/// Unless distortion is in `(0, 1)` and failure in `(0, 1)`; [`Error::Undefined`] when no k up to d does.
pub fn min_dimension(
    family: Family,
    d: usize,
    distortion: f64,
    failure: Probability,
) -> Result<usize> {
    if !(distortion > 0.0 && distortion < 1.0) {
        return Err(Error::invalid("distortion", distortion, "(0, 1)"));
    }
    let miss = failure.get();
    if !(miss > 0.0 && miss < 1.0) {
        return Err(Error::invalid("failure", miss, "(0, 1)"));
    }
    if d == 0 {
        return Err(Error::invalid("d", d, "[1, 2^32)"));
    }
    // No projection has more columns.
    let most = d.min(1 << 24);
    let squared = distortion * distortion;
    let k = match family {
        Family::Identity => d,
        Family::Gaussian | Family::Rademacher | Family::Achlioptas => {
            let rate = squared / 2.0 - squared * distortion / 3.0;
            (2.0 * (2.0 / miss).ln() / rate).ceil() as usize
        }
        _ => {
            let enough = |k: usize| -> Result<bool> {
                let fits = match family {
                    Family::SparseJl { nonzeros: s } | Family::HashedCopies { copies: s } => {
                        s as usize <= k
                    }
                    _ => true,
                };
                let size = if fits { k } else { most };
                let spec = ProjectionSpec::new(family, d, size, PublicSeed::new(0))?;
                let m = spec.moments();
                let relative = (2.0 * m.pair + m.quartic.max(0.0)).max(0.0) / k as f64;
                Ok(fits && relative <= squared * miss)
            };
            let (mut low, mut high) = (0, most);
            if !enough(most)? {
                return Err(undefined());
            }
            while high - low > 1 {
                let mid = low + (high - low) / 2;
                if enough(mid)? { high = mid } else { low = mid }
            }
            high
        }
    };
    if k > most { Err(undefined()) } else { Ok(k.max(1)) }
}

fn undefined() -> Error {
    Error::Undefined {
        what: "least dimension",
        reason: "no k up to d reaches this distortion with this failure probability",
    }
}
