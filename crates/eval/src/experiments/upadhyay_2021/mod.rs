//! Upadhyay and Upadhyay (2021): private matrix analysis in the sliding window model.

mod cuts;
mod denoised;
mod drift;
mod lower_bound;
mod noise;
mod published;
mod space;
mod streams;
mod table1;
mod trees;

use crate::framework::{Experiment, Study};

/// The experiments of this module.
#[must_use]
pub(crate) fn all() -> Vec<Box<dyn Experiment>> {
    let study = |id, title, reference, run| {
        Box::new(Study { id, title, reference, run }) as Box<dyn Experiment>
    };
    vec![
        study(
            "upadhyay-2021/table1-errors",
            "Error of spectral approximation, PCA, sparse and non-negative PCA, regression and directional variance against epsilon, for every schedule",
            "paper 5, table 1 and theorems 4, 6, 7, 8, 15",
            table1::run,
        ),
        study(
            "upadhyay-2021/table1-space",
            "Matrices kept and checkpoints of the histogram against the window",
            "paper 5, table 1 (space) and lemma 4",
            space::run,
        ),
        study(
            "upadhyay-2021/noise-by-schedule",
            "Noise of a window's covariance against the number of blocks: naive, Block, Tree, Factorised",
            "ours; paper 5, appendix D for the tree",
            noise::run,
        ),
        study(
            "upadhyay-2021/noise-of-trees",
            "Trees of Gaussian, Wishart and JL nodes against private blocks, over epsilon",
            "ours; paper 5, appendix D for the tree",
            trees::run,
        ),
        study(
            "upadhyay-2021/drift-digits",
            "Subspace error over time on a drifting stream: the embedded digits ordered by class",
            "ours, on paper 5's problem (theorem 6)",
            drift::run,
        ),
        study(
            "upadhyay-2021/edge-cuts",
            "Cut queries on a stream of edges",
            "paper 5, directional variance (theorem 15), for graph Laplacians",
            cuts::run,
        ),
        study(
            "upadhyay-2021/denoised-window",
            "PCA, regression, low rank and cuts on the denoised window beside the window as released",
            "ours, beside paper 5, theorems 4, 5, 6, 8 and corollary 2",
            denoised::run,
        ),
        study(
            "upadhyay-2021/published-algorithms",
            "The published algorithms beside the proven variant, and what their state reveals",
            "paper 5, algorithms 1 to 8",
            published::run,
        ),
    ]
}
