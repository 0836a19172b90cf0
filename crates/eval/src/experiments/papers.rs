//! The five papers, statement by statement.

use crate::framework::coverage::{Paper, row};

/// Why statements about privacy have no experiment.
const PRIVACY: &str = "a statement of privacy: proved or refuted in docs/proofs and attacked by the audit (docs/audit.md), not measured here";
/// Why steps of a proof have no experiment.
const STEP: &str = "a step inside a proof: what follows from it is measured";
/// Why background has none.
const BACKGROUND: &str = "quoted from other papers";

/// All of them, in the order of the experiments.
pub(crate) const PAPERS: [Paper; 5] = [
    Paper {
        key: "kenthapadi-2013",
        name: "Kenthapadi, Korolova, Mironov, Mishra 2013: Privacy via the Johnson-Lindenstrauss transform",
        wrong: &[
            "Nothing that breaks a theorem. The rules of theorem 1 and lemma 2 ask for up to several times the noise that the exact \
             profile needs, and the bound (4) of theorem 2 is far from tight.",
        ],
        rows: &[
            row(
                "Figure 1",
                "kenthapadi-2013/fig1",
                "the two sigmas that the paper does not name are ours",
            ),
            row("Theorem 1", "own/exact-vs-published", "the rule against the exact profile"),
            row("Lemma 1", "own/exact-vs-published", "the rule against the exact profile"),
            row("Lemma 2", "own/averaged-calibration", "also against averaged calibration"),
            row(
                "Theorem 2, part 1",
                "kenthapadi-2013/variance-and-best-k",
                "simulated at d = 1024",
            ),
            row(
                "Theorem 2, part 2",
                "kenthapadi-2013/variance-and-best-k",
                "simulated at d = 1024",
            ),
            row(
                "Theorem 2, part 3",
                "kenthapadi-2013/variance-and-best-k",
                "bound (4) against the tails seen",
            ),
            row(
                "Section 3.2.2",
                "kenthapadi-2013/variance-and-best-k",
                "best k on sizes a factor 2 apart",
            ),
            row(
                "Section 4.2",
                "kenthapadi-2013/comparison-by-distance",
                "predicted errors of the planner",
            ),
            row(
                "Lemma 3",
                "kenthapadi-2013/comparison-by-distance",
                "error of randomised response",
            ),
            row(
                "Theorem 3, part 1",
                "kenthapadi-2013/comparison-by-distance",
                "errors about the true distance",
            ),
            row(
                "Theorem 3, part 2",
                "kenthapadi-2013/comparison-by-distance",
                "the bound against the tails seen",
            ),
            row(
                "Section 4.3.3",
                "kenthapadi-2013/comparison-by-distance",
                "simulated at d = 4096 and 2^22",
            ),
            row("Lemmas 4 to 6, claims 1 to 3", "", STEP),
        ],
    },
    Paper {
        key: "li-li-2023",
        name: "Li and Li 2023: Differential privacy with random projections and sign random projections",
        wrong: &[
            "The Rademacher formula (31) for signs in reach is no bound on sparse rows (figures 7 and 8), so N+ is too small there.",
            "Individual privacy with the set of reachable signs taken from the data does not compose and is not differential privacy.",
            "The published smooth flips are not the best of their kind: the optimal rule flips less at every level.",
        ],
        rows: &[
            row("Theorems 2.1 to 2.3", "", BACKGROUND),
            row("Theorem 3.1", "li-li-2023/fig1-sigma", ""),
            row(
                "Lemmas 3.2 and 3.3",
                "li-li-2023/fig2-sensitivity",
                "the tail bound is a curve of figure 2",
            ),
            row("Theorem 3.4", "own/exact-vs-published", "rule \"Analytic DP-RP-G\""),
            row("Theorem 3.5", "li-li-2023/fig1-sigma", ""),
            row(
                "Lemmas 3.6 and 3.7",
                "",
                "bounds for Laplace noise on Gaussian projections; DP-RP-L, which uses the drawn matrix instead, is in figure 11",
            ),
            row("Figure 1", "li-li-2023/fig1-sigma", ""),
            row(
                "Figure 2",
                "li-li-2023/fig2-sensitivity",
                "uniform entries drawn for the figure, the library does not offer them; SRHT and OPORP added",
            ),
            row("Theorem 3.8", "li-li-2023/theorems-3-8-to-3-10", "simulated, p = 256"),
            row("Theorem 3.9", "li-li-2023/theorems-3-8-to-3-10", "simulated, p = 256"),
            row("Theorem 3.10", "li-li-2023/theorems-3-8-to-3-10", "simulated, p = 256"),
            row(
                "Figure 3",
                "li-li-2023/fig3-variance-ratio",
                "one place measured in theorems-3-8-to-3-10",
            ),
            row("Theorem 4.1", "", PRIVACY),
            row(
                "Lemmas 4.2 to 4.4",
                "li-li-2023/fig4-change-probability",
                "the probability that they bound",
            ),
            row("Proposition 4.5", "li-li-2023/fig5-changes", "the exact quantile added"),
            row(
                "Figure 4",
                "li-li-2023/fig4-change-probability",
                "the probability for one pair added",
            ),
            row("Figure 5", "li-li-2023/fig5-changes", "the exact quantile added"),
            row(
                "Theorem 4.6",
                "li-li-2023/theorem-4-6",
                "per-bit budgets given; simulated, p = k = 256",
            ),
            row("Figure 6", "li-li-2023/fig6-flip-probability", "the optimal rule added"),
            row("Theorem 4.7", "", PRIVACY),
            row(
                "Figures 7 and 8",
                "li-li-2023/fig7-8-reach",
                "uniform entries drawn for the figure, the library does not offer them",
            ),
            row(
                "Figure 9",
                "li-li-2023/fig9-levels",
                "uniform entries drawn for the figure, the library does not offer them",
            ),
            row("Theorem 4.8", "", PRIVACY),
            row(
                "Figure 10",
                "li-li-2023/fig10-retrieval",
                "4,000 digits in the database instead of 60,000 unless --images; the other methods are in figure 11",
            ),
            row(
                "Figure 11",
                "li-li-2023/fig11-photographs",
                "patches of eight photographs instead of CIFAR, which may not be shipped",
            ),
            row(
                "Figure 11, every method",
                "li-li-2023/fig11-all-methods",
                "digits or --images; averaged calibration added",
            ),
            row(
                "Figure 12",
                "li-li-2023/fig12-svm",
                "3-grams of package synopses, some thousand columns, unless WEBSPAM is under --data",
            ),
            row(
                "Figures 12, 14 and 16, more than 10^5 columns",
                "li-li-2023/fig12-14-16-wide-text",
                "5-grams of package synopses, 122,038 columns, instead of WEBSPAM; noisy raw data on fewer rows",
            ),
            row("Figure 13", "li-li-2023/fig13-sign-retrieval", "digits; optimal flips added"),
            row("Figure 14", "li-li-2023/fig14-sign-svm", "package synopses; optimal flips added"),
            row("Theorem 6.1", "", PRIVACY),
            row("Theorem 6.2", "", PRIVACY),
            row(
                "Figure 15",
                "li-li-2023/fig15-individual-retrieval",
                "digits; optimal flips added",
            ),
            row(
                "Figure 16",
                "li-li-2023/fig16-individual-svm",
                "package synopses; optimal flips added",
            ),
        ],
    },
    Paper {
        key: "bourgeat-schmurr-2019",
        name: "Bourgeat and Schmurr 2019: Locally differentially private similarity search (thesis)",
        wrong: &[
            "MinHash alone protects nothing at any epsilon where a slot differs (theorem 4.1).",
            "The estimator of equation 5.8 is biased: at epsilon 200 the corrected one has a fifth of its error or less.",
            "Theorem 6.1 takes the probability of a collision for a ratio of likelihoods: its epsilon is negative.",
            "The Chernoff form of equation 6.12 is used far outside its range; the claim of the rule fails at large epsilon.",
        ],
        rows: &[
            row(
                "Theorem 4.1",
                "bourgeat-schmurr-2019/fig4-1-minhash-budget",
                "beside what is true",
            ),
            row("Figure 4.1", "bourgeat-schmurr-2019/fig4-1-minhash-budget", "beside what is true"),
            row("Figure 5.1", "bourgeat-schmurr-2019/fig5-output-probabilities", ""),
            row(
                "Table 5.1",
                "bourgeat-schmurr-2019/fig5-output-probabilities",
                "compared with the printed numbers",
            ),
            row("Figure 5.2", "bourgeat-schmurr-2019/fig5-output-probabilities", ""),
            row(
                "Equation 5.8",
                "bourgeat-schmurr-2019/fig7-1-to-7-4-error",
                "beside the corrected estimator",
            ),
            row("Figure 6.1", "bourgeat-schmurr-2019/fig6-1-sensitivity", "beside the true tail"),
            row(
                "Theorem 6.1",
                "",
                "a statement of privacy that says nothing: its epsilon is the logarithm of a probability, never positive",
            ),
            row(
                "Equation 6.12",
                "bourgeat-schmurr-2019/fig7-1-to-7-4-error",
                "measured error against it",
            ),
            row(
                "Theorems 6.2 and A.1",
                "bourgeat-schmurr-2019/fig7-1-to-7-4-error",
                "the estimator as printed, and corrected",
            ),
            row(
                "Figure 7.1",
                "bourgeat-schmurr-2019/fig7-1-to-7-4-error",
                "package sets; MovieLens and Last.FM from a user's copy, or sets drawn with their shape",
            ),
            row(
                "Figures 7.2 and 7.3",
                "bourgeat-schmurr-2019/fig7-1-to-7-4-error",
                "as 7.1; four of the deltas",
            ),
            row("Figure 7.4", "bourgeat-schmurr-2019/fig7-1-to-7-4-error", "as 7.1"),
            row("Figure 7.5", "bourgeat-schmurr-2019/fig7-5-to-7-7-recall", "as 7.1"),
            row("Figure 7.6", "bourgeat-schmurr-2019/fig7-5-to-7-7-recall", "as 7.1"),
            row(
                "Figure 7.7",
                "bourgeat-schmurr-2019/fig7-5-to-7-7-recall",
                "as 7.1; split by what is protected",
            ),
        ],
    },
    Paper {
        key: "hardt-roth-2012",
        name: "Hardt and Roth 2012: Beating randomized response on incoherent matrices",
        wrong: &[
            "Theorem 2.6 misses a factor sqrt 2: at epsilon 1 it gives delta 9.3e-6 for 1e-6. The slack of the other steps covers it.",
            "With the constants as printed the algorithm errs by more than the zero matrix at every size that we can run.",
            "On a matrix with the statistics of appendix C input perturbation is ahead of the algorithm from epsilon 1 on, on tags from 8 on, once both are post-processed alike.",
        ],
        rows: &[
            row(
                "Theorems 1.1 and 1.2",
                "hardt-roth-2012/size",
                "informal forms of theorems 6.2 and 6.3",
            ),
            row("Proposition 1.3", "", "a lower bound for all algorithms; nothing to run"),
            row("Theorems 2.4 and 2.9, facts 2.3 to 2.8, theorem B.1", "", BACKGROUND),
            row(
                "Theorems 2.6 and A.1",
                "own/exact-vs-published",
                "one statement, twice; refuted: the true delta is above the claim",
            ),
            row(
                "Figure 1",
                "hardt-roth-2012/sketch-size",
                "the algorithm of theorem 3.1, without privacy",
            ),
            row("Theorem 3.1", "hardt-roth-2012/sketch-size", "as it is stated, constants and all"),
            row("Figure 2", "hardt-roth-2012/steps", "with lemma 4.1: see docs/proofs"),
            row("Theorem 4.2", "hardt-roth-2012/sketch-size", "as it is stated, constants and all"),
            row("Claims 4.3 and 4.4, corollary 4.5", "", STEP),
            row("Figure 3", "hardt-roth-2012/steps", "measured error against its rho"),
            row("Lemmas 4.1, 4.6 and 6.1", "", PRIVACY),
            row(
                "Theorem 4.7",
                "hardt-roth-2012/sketch-size",
                "its O() with constant 1: slopes, not levels",
            ),
            row("Lemmas 5.2 to 5.13, fact 5.6, claims 5.9 and 5.10", "", STEP),
            row("Figure 4", "hardt-roth-2012/steps", "the whole algorithm"),
            row(
                "Theorem 6.2",
                "hardt-roth-2012/sketch-size",
                "its O() with constant 1: slopes, not levels",
            ),
            row(
                "Theorem 6.3",
                "hardt-roth-2012/sketch-size",
                "as 6.2; by rows and columns in size, by coherence in coherence",
            ),
            row(
                "Appendix C",
                "hardt-roth-2012/ratings",
                "a matrix with Netflix's statistics; MovieLens from a user's copy",
            ),
        ],
    },
    Paper {
        key: "upadhyay-2021",
        name: "Upadhyay and Upadhyay 2021: A framework for private matrix analysis in the sliding window model",
        wrong: &[
            "The proofs of privacy of algorithms 2 to 8 have gaps: checkpoints depend on the data and are shown; two looks at the state \
             reveal the row between them.",
            "Lemma 4's count of checkpoints holds for exact rows, not for private Gaussian blocks.",
        ],
        rows: &[
            row(
                "Table 1 (errors)",
                "upadhyay-2021/table1-errors",
                "measured errors instead of orders",
            ),
            row("Table 1 (space)", "upadhyay-2021/table1-space", "matrices held"),
            row(
                "Table 2",
                "upadhyay-2021/table1-errors",
                "PCA with static data (Dwork et al. 2014) as a schedule of one block; Upadhyay 2018 has no code",
            ),
            row(
                "Theorems 1 and 2",
                "upadhyay-2021/table1-errors",
                "informal forms of theorems 4 and 7",
            ),
            row("Lemmas 1 and 2", "", STEP),
            row(
                "Theorem 3, corollary 1",
                "upadhyay-2021/published-algorithms",
                "algorithm 2 as published",
            ),
            row("Lemma 3", "", PRIVACY),
            row("Lemma 4", "upadhyay-2021/table1-space", ""),
            row("Definition 3", "upadhyay-2021/table1-space", "checked in every direction"),
            row(
                "Theorem 4",
                "upadhyay-2021/table1-space",
                "(1 - rho) S <= A'A <= S on exact rows; private blocks in table1-errors",
            ),
            row("Theorem 5", "upadhyay-2021/table1-errors", "as theorem 15"),
            row(
                "Lemma 5",
                "upadhyay-2021/published-algorithms",
                "algorithm Sliding-Priv-PCP as published",
            ),
            row(
                "Theorem 6",
                "upadhyay-2021/table1-errors",
                "on a drifting stream also in drift-digits",
            ),
            row("Theorem 7", "upadhyay-2021/table1-errors", "sparse and non-negative PCA"),
            row(
                "Theorem 8",
                "upadhyay-2021/table1-errors",
                "targets with signal; a zero predictor in the plot",
            ),
            row("Theorems 9 to 13, proposition 10, lemmas 6 to 9", "", BACKGROUND),
            row(
                "Theorem 14, lemma 10",
                "upadhyay-2021/published-algorithms",
                "algorithm 8 as published",
            ),
            row("Theorem 15", "upadhyay-2021/table1-errors", "directional variance"),
            row("Corollary 2", "upadhyay-2021/edge-cuts", ""),
            row(
                "Theorem 16",
                "upadhyay-2021/published-algorithms",
                "Wishart form of PCA: errors of its covariance",
            ),
            row(
                "Theorems 17 and 18",
                "upadhyay-2021/published-algorithms",
                "variants of algorithm 8",
            ),
            row("Appendix D", "upadhyay-2021/noise-by-schedule", "the tree"),
            row(
                "Conjectures 1 and 2",
                "",
                "lower bounds on space for all algorithms; nothing to run",
            ),
            row("Lemmas 11 and 12", "", STEP),
            row(
                "Theorem 19 (appendix E)",
                "",
                "a lower bound on space for all algorithms; nothing here contradicts it",
            ),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::coverage::items;

    /// The figures, tables and numbered statements of each paper, as its text counts them.
    const ITEMS: [&str; 5] = [
        "Figure 1, theorems 1 to 3, lemmas 1 to 6, claims 1 to 3",
        "Figures 1 to 16, theorems 2.1 to 2.3, 3.1, 3.4 and 3.5, 3.8 to 3.10, 4.1, 4.6 to 4.8, 6.1 and 6.2, \
         lemmas 3.2 and 3.3, 3.6 and 3.7, 4.2 to 4.4, proposition 4.5",
        "Figures 4.1, 5.1 and 5.2, 6.1, 7.1 to 7.7, table 5.1, theorems 4.1, 6.1 and 6.2, A.1",
        "Figures 1 to 4, theorems 1.1 and 1.2, 2.4, 2.6, 2.9, 3.1, 4.2, 4.7, 6.2 and 6.3, A.1, B.1, \
         proposition 1.3, facts 2.3, 2.5, 2.7 and 2.8, 5.6, lemmas 4.1, 4.6, 5.2 to 5.4, 5.7 and 5.8, 5.11, 5.13, 6.1, \
         claims 4.3 and 4.4, 5.9 and 5.10, corollary 4.5",
        "Tables 1 and 2, theorems 1 to 9, 11 to 19, lemmas 1 to 12, corollaries 1 and 2, proposition 10, \
         conjectures 1 and 2",
    ];

    #[test]
    fn every_figure_table_and_numbered_statement_has_a_row() {
        for (paper, listed) in PAPERS.iter().zip(ITEMS) {
            let shown: std::collections::BTreeSet<String> =
                paper.rows.iter().flat_map(|row| items(row.item)).collect();
            let missing: Vec<_> = items(listed).difference(&shown).cloned().collect();
            assert!(missing.is_empty(), "{}: no row for {missing:?}", paper.key);
        }
    }

    #[test]
    fn every_row_has_an_experiment_or_a_reason() {
        let all = super::super::all();
        let mut shown = std::collections::HashSet::new();
        for paper in &PAPERS {
            for row in paper.rows {
                if row.experiment.is_empty() {
                    assert!(!row.differs.is_empty(), "{}: no reason", row.item);
                } else {
                    assert!(all.iter().any(|e| e.id() == row.experiment), "{}", row.experiment);
                    shown.insert(row.experiment);
                }
            }
        }
        // Experiments on a paper that no row names are ours on its problem.
        let extra: Vec<_> = all
            .iter()
            .map(|e| e.id())
            .filter(|id| !id.starts_with("own/") && !id.starts_with("private-ann/"))
            .filter(|id| !shown.contains(id))
            .collect();
        let ours = [
            "kenthapadi-2013/segmentation",
            "hardt-roth-2012/coherence",
            "hardt-roth-2012/epsilon",
            "upadhyay-2021/noise-of-trees",
            "upadhyay-2021/drift-digits",
            "upadhyay-2021/denoised-window",
        ];
        assert_eq!(extra, ours);
    }
}
