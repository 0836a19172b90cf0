//! The experiments: one module a paper, one file an experiment.

mod bourgeat_schmurr_2019;
mod hardt_roth_2012;
mod kenthapadi_2013;
mod li_li_2023;
mod own;
mod papers;
mod private_ann;
mod upadhyay_2021;

pub(crate) use papers::PAPERS;

use crate::framework::Experiment;

/// Every experiment, in the order of `--list`.
#[must_use]
pub fn all() -> Vec<Box<dyn Experiment>> {
    [
        kenthapadi_2013::all(),
        li_li_2023::all(),
        bourgeat_schmurr_2019::all(),
        hardt_roth_2012::all(),
        upadhyay_2021::all(),
        own::all(),
        private_ann::all(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_well_formed() {
        let papers = [
            "kenthapadi-2013",
            "li-li-2023",
            "bourgeat-schmurr-2019",
            "hardt-roth-2012",
            "upadhyay-2021",
            "own",
            "private-ann",
        ];
        let mut seen = std::collections::HashSet::new();
        for experiment in all() {
            let id = experiment.id();
            let (paper, name) = id.split_once('/').expect("paper/name");
            assert!(papers.contains(&paper), "{id}");
            let ok = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(!name.is_empty() && name.chars().all(ok), "{id}");
            assert!(seen.insert(id), "{id} twice");
            assert!(!experiment.title().is_empty() && !experiment.reference().is_empty(), "{id}");
        }
    }
}
