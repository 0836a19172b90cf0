//! What it costs to draw a projection again and to know its norms, before anything is drawn.

use super::spec::{Family, ProjectionSpec, Sampling};

/// Steps of about ten nanoseconds on one core, and bytes of memory; upper estimates.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Cost {
    pub(crate) steps: f64,
    pub(crate) bytes: f64,
}

impl Cost {
    pub(crate) fn and(self, other: Self) -> Self {
        Self { steps: self.steps + other.steps, bytes: self.bytes + other.bytes }
    }
}

/// Steps to begin the stream of a row: a block of ChaCha.
const STREAM: f64 = 16.0;

impl ProjectionSpec {
    /// The cost of its tables, and of the largest norms of its rows.
    pub(crate) fn cost_of_rows(&self) -> Cost {
        let (d, k) = (self.d() as f64, self.k() as f64);
        // Nonzeros of a row; steps to draw and to measure one row; further bytes.
        let sparse = |nonzeros: f64, steps: f64, more: f64| Cost {
            steps: d * (STREAM + steps) + k,
            bytes: 24.0 * (d * nonzeros) + 8.0 * d + 16.0 * k + more,
        };
        match self.family() {
            Family::Identity | Family::Rademacher => Cost::default(),
            Family::Gaussian | Family::Achlioptas => {
                Cost { steps: d * (STREAM + k), bytes: 64.0 * k }
            }
            Family::Given { .. } => Cost { steps: d * k, bytes: 8.0 * k },
            Family::Srht { sampling } => {
                let order = match sampling {
                    Sampling::WithoutReplacement => d.log2().ceil().exp2(),
                    Sampling::WithReplacement => 0.0,
                };
                // Draws that were taken before are drawn again: at most all but a few of the outputs.
                Cost { steps: d / 64.0 + order / 16.0 + 20.0 * k, bytes: d / 8.0 + order + 8.0 * k }
            }
            Family::VerySparse => sparse((k / d.sqrt()).max(1.0), k, 0.0),
            Family::SparseJl { nonzeros: s } | Family::HashedCopies { copies: s } => {
                let s = f64::from(s);
                // Columns are compared with those before.
                sparse(s, s + s * s / 8.0, 0.0)
            }
            Family::Oporp => sparse(1.0, 8.0, 8.0 * (d + k)),
            Family::CountSketch | Family::Grouped { .. } => sparse(1.0, 4.0, 0.0),
        }
    }

    /// The same with a bound on the spectral norm.
    pub(crate) fn cost_of_spectrum(&self) -> Cost {
        let (d, k) = (self.d() as f64, self.k() as f64);
        let gram = match self.family() {
            Family::Identity | Family::Oporp | Family::CountSketch | Family::Grouped { .. } => {
                false
            }
            Family::Srht { .. } => self.k() <= 2048,
            _ => true,
        };
        let rows = self.cost_of_rows();
        if !gram {
            return rows;
        }
        // Entries, their products, eigenvalues and a factorisation; copies of a k x k matrix and a panel.
        let steps = d * (STREAM + k) + d * k * k / 32.0 + k * k * k / 16.0;
        let panel = (8.0 * d * k).min(8_388_608.0);
        rows.and(Cost { steps, bytes: 40.0 * k * k + 2048.0 * k + panel })
    }
}
