//! Choosing experiments and running them.

use super::{Context, Experiment, Report, Verdict};
use crate::Effort;
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The experiments whose id contains one of the filters; all of them without filters.
///
/// # Errors
/// [`Error::NoSuchExperiment`] for a filter that matches nothing.
pub fn select<'e>(
    all: &'e [Box<dyn Experiment>],
    filters: &[String],
) -> Result<Vec<&'e dyn Experiment>> {
    for filter in filters {
        if !all.iter().any(|e| e.id().contains(filter.as_str())) {
            return Err(Error::NoSuchExperiment { filter: filter.clone() });
        }
    }
    let wanted = |id: &str| filters.is_empty() || filters.iter().any(|f| id.contains(f.as_str()));
    Ok(all.iter().map(AsRef::as_ref).filter(|e| wanted(e.id())).collect())
}

/// One line an experiment: id and title, in columns.
#[must_use]
pub fn list(experiments: &[&dyn Experiment]) -> String {
    let width = experiments.iter().map(|e| e.id().len()).max().unwrap_or(0);
    experiments.iter().map(|e| format!("{:width$}  {}\n", e.id(), e.title())).collect()
}

/// How one experiment ended.
pub struct Outcome {
    /// See [`Experiment::id`].
    pub id: &'static str,
    /// See [`Experiment::title`].
    pub title: &'static str,
    /// See [`Experiment::reference`].
    pub reference: &'static str,
    /// The report, or why there is none.
    pub report: Result<Report>,
    /// Wall time, beside another experiment.
    pub time: Duration,
}

impl Outcome {
    /// Ran to its end, and every claim passed.
    #[must_use]
    pub(crate) fn succeeded(&self) -> bool {
        self.report.as_ref().is_ok_and(|r| r.claims.iter().all(|c| c.verdict == Verdict::Pass))
    }

    /// Ran to its end, and no claim failed but those that are known to.
    #[must_use]
    pub(crate) fn as_expected(&self) -> bool {
        self.report.as_ref().is_ok_and(|r| !r.claims.iter().any(super::Claim::is_news))
    }

    /// One line a claim, or the error.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        match &self.report {
            Ok(report) => report.claims.iter().map(ToString::to_string).collect(),
            Err(error) => vec![format!("FAIL  did not finish: {error}")],
        }
    }
}

/// Told when an experiment begins and ends.
pub enum Event<'a> {
    /// Experiment number `index` of `count` begins.
    Begin {
        /// Position, from zero.
        index: usize,
        /// How many there are.
        count: usize,
        /// Its id.
        id: &'static str,
    },
    /// An experiment ended.
    End(&'a Outcome),
}

/// How a set of experiments ended.
pub struct Summary {
    /// One outcome an experiment, in order.
    pub outcomes: Vec<Outcome>,
    /// How much work they did.
    pub effort: Effort,
    /// The seed that all of them started from.
    pub seed: u64,
}

impl Summary {
    /// Claims that passed and claims that failed; an experiment that did not finish
    /// counts as one failed claim.
    #[must_use]
    pub fn totals(&self) -> (usize, usize) {
        let lines = || self.outcomes.iter().flat_map(Outcome::lines);
        let passed = lines().filter(|l| l.starts_with("pass")).count();
        (passed, lines().count() - passed)
    }

    /// Claims that failed and are known to.
    #[must_use]
    pub fn known_failures(&self) -> usize {
        let reports = self.outcomes.iter().filter_map(|o| o.report.as_ref().ok());
        let known = |c: &&super::Claim| c.verdict == Verdict::Fail && c.reason.is_some();
        reports.flat_map(|r| &r.claims).filter(known).count()
    }

    /// Process exit status: 0 when every experiment ran and every claim passed or is known to fail, else 1.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        u8::from(!self.outcomes.iter().all(Outcome::as_expected))
    }

    /// `quick` or `full`, and the seed.
    #[must_use]
    pub fn describe(&self) -> String {
        let effort = match self.effort {
            Effort::Quick => "Quick run (small sizes)",
            Effort::Full => "Full run (the largest sizes that the shipped data allow)",
        };
        format!("{effort}, seed {}", self.seed)
    }
}

/// Experiments that run at once: while one does what only one core can do, the other has work for the rest.
const AT_ONCE: usize = 3;

/// What workers share: who watches, what has ended, and how much of it was told.
struct Board<W> {
    watch: W,
    ended: Vec<Option<Outcome>>,
    told: usize,
}

/// Runs the experiments, several at once, and tells of their ends in order; a failure does not stop the others. Nothing that they find
/// depends on what runs beside them: all randomness follows from the seed.
pub fn run(
    experiments: &[&dyn Experiment],
    context: &Context<'_>,
    watch: impl FnMut(Event<'_>) + Send,
) -> Summary {
    let count = experiments.len();
    let ended = experiments.iter().map(|_| None).collect();
    let (next, board) = (AtomicUsize::new(0), Mutex::new(Board { watch, ended, told: 0 }));
    let lock = || board.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(experiment) = experiments.get(index) else { return };
            (lock().watch)(Event::Begin { index, count, id: experiment.id() });
            let start = Instant::now();
            let report = experiment.run(context);
            let outcome = Outcome {
                id: experiment.id(),
                title: experiment.title(),
                reference: experiment.reference(),
                report,
                time: start.elapsed(),
            };
            let mut board = lock();
            let Board { watch, ended, told } = &mut *board;
            ended[index] = Some(outcome);
            while let Some(Some(outcome)) = ended.get(*told) {
                watch(Event::End(outcome));
                *told += 1;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    let ended = board.into_inner().unwrap_or_else(PoisonError::into_inner).ended;
    Summary {
        outcomes: ended.into_iter().flatten().collect(),
        effort: context.effort,
        seed: context.seed,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Study;
    use super::*;

    fn good(_: &Context<'_>) -> Result<Report> {
        let mut report = Report::default();
        report.claim("a < b", true, "1 < 2");
        Ok(report)
    }
    fn bad(context: &Context<'_>) -> Result<Report> {
        let mut report = good(context)?;
        report.claim("b < a", false, "2 < 1");
        Ok(report)
    }
    fn known(_: &Context<'_>) -> Result<Report> {
        let mut report = Report::default();
        report.claim("b < a", false, "2 < 1").fails_because("it never did", true);
        Ok(report)
    }
    fn worse(_: &Context<'_>) -> Result<Report> {
        let mut report = Report::default();
        report.claim("b < a", false, "9 < 1").fails_because("it never did", false);
        Ok(report)
    }
    fn broken(_: &Context<'_>) -> Result<Report> {
        Err(Error::invalid("k", 0, "positive"))
    }

    fn all() -> Vec<Box<dyn Experiment>> {
        let study = |id, run| Box::new(Study { id, title: "t", reference: "r", run }) as Box<_>;
        vec![study("p/good", good), study("p/bad", bad), study("q/broken", broken)]
    }

    #[test]
    fn a_failure_that_is_known_is_counted_and_shown_but_is_no_news() {
        let study = Study { id: "p/known", title: "t", reference: "r", run: known };
        let all: Vec<Box<dyn Experiment>> = vec![Box::new(study)];
        let summary = run(&select(&all, &[]).unwrap(), &Context::quick(), |_| ());
        assert_eq!((summary.totals(), summary.known_failures()), ((0, 1), 1));
        assert_eq!(summary.exit_status(), 0);
        assert_eq!(summary.outcomes[0].lines(), ["FAIL  b < a (2 < 1. Known: it never did)"]);
        let study = Study { id: "p/worse", title: "t", reference: "r", run: worse };
        let all: Vec<Box<dyn Experiment>> = vec![Box::new(study)];
        let summary = run(&select(&all, &[]).unwrap(), &Context::quick(), |_| ());
        assert_eq!((summary.known_failures(), summary.exit_status()), (0, 1));
        assert_eq!(summary.outcomes[0].lines(), ["FAIL  b < a (9 < 1)"]);
    }

    fn status(filters: &[&str]) -> (u8, (usize, usize)) {
        let all = all();
        let filters: Vec<String> = filters.iter().map(ToString::to_string).collect();
        let summary = run(&select(&all, &filters).unwrap(), &Context::quick(), |_| ());
        (summary.exit_status(), summary.totals())
    }

    #[test]
    fn one_failed_claim_or_one_error_fails_the_run() {
        assert_eq!(status(&["good"]), (0, (1, 0)));
        assert_eq!(status(&["bad"]), (1, (1, 1)));
        assert_eq!(status(&["broken"]), (1, (0, 1)));
        assert_eq!(status(&[]), (1, (2, 2)));
    }

    #[test]
    fn ends_are_told_in_order_and_once() {
        let all = all();
        let mut told = Vec::new();
        let summary = run(&select(&all, &[]).unwrap(), &Context::quick(), |event| {
            if let Event::End(outcome) = event {
                told.push(outcome.id);
            }
        });
        assert_eq!(told, ["p/good", "p/bad", "q/broken"]);
        assert!(summary.outcomes.iter().map(|o| o.id).eq(told));
    }

    #[test]
    fn lines_begin_with_the_verdict() {
        let all = all();
        let summary = run(&select(&all, &[]).unwrap(), &Context::quick(), |_| ());
        let lines: Vec<_> = summary.outcomes.iter().flat_map(Outcome::lines).collect();
        assert_eq!(lines[1], "pass  a < b (1 < 2)");
        assert_eq!(lines[2], "FAIL  b < a (2 < 1)");
        assert_eq!(lines[3], "FAIL  did not finish: k = 0 is not allowed: must be positive");
    }

    #[test]
    fn filters_are_substrings_and_must_match() {
        let all = all();
        let ids = |f: &[&str]| -> Vec<&str> {
            let f: Vec<String> = f.iter().map(ToString::to_string).collect();
            select(&all, &f).unwrap().iter().map(|e| e.id()).collect()
        };
        assert_eq!(ids(&["p/"]), ["p/good", "p/bad"]);
        assert_eq!(ids(&["broken", "good"]), ["p/good", "q/broken"]);
        let error = select(&all, &["zzz".into()]).err().unwrap().to_string();
        assert!(error.contains("\"zzz\"") && error.contains("--list"), "{error}");
    }

    #[test]
    fn list_is_aligned() {
        let all = all();
        assert_eq!(list(&select(&all, &[]).unwrap()), "p/good    t\np/bad     t\nq/broken  t\n");
    }
}
