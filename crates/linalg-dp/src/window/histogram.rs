//! The approximate spectral histogram (paper 5, definition 3 and algorithm 1).

use super::loewner::Loewner;
use crate::error::{Error, Result};
use faer::{Mat, MatRef};

/// One checkpoint: the matrix of everything that arrived from `start` on.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Checkpoint {
    /// Time stamp of the first arrival it covers.
    pub start: u64,
    /// Positive semidefinite summary of the arrivals `start, ..., now`.
    pub matrix: Mat<f64>,
}

/// How the published pruning rules differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PruneRule {
    /// Algorithm 1, `Update-Approx`: from each checkpoint jump to the **last** one
    /// that still dominates `(1 - rho)` of it.
    UpdateApprox,
    /// Appendix C, `Update`: delete a checkpoint whenever its two neighbours are
    /// within the factor `1 - rho` of each other, scanning once from the oldest.
    Update,
}

/// Whether the matrices are known to fall in Loewner order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Loewner,
    Unknown,
}

/// Checkpoints `t_1 < ... < t_l` with matrices `S(1) >= S(2) >= ... >= S(l)`.
///
/// **Property** (definition 3, on the matrices held): with `rho` in `(0, 1)`,
/// 1. `t_1` is at or before the window's first arrival and `t_2` after it
///    (once the stream is longer than the window);
/// 2. `S(i) >= S(i+1)`, and either `t_(i+1) = t_i + 1` and `(1-rho) S(i)` is not
///    `<= S(i+1)`, or `(1-rho) S(i) <= S(i+1)` while `(1-rho) S(i)` is not `<= S(i+2)`.
///
/// The last checkpoint and, when `t_2 = t_1 + 1`, pairs of arrivals that change
/// nothing (zero rows) satisfy the second form. [`SpectralHistogram::check`] is the
/// validator. Size: measured to grow like the logarithm of the window (paper 5 claims
/// `O((d / rho) log(spectrum ratio))`; unproven here). Cost of an arrival:
/// `O(l log l)` Cholesky factorisations.
///
/// The structure knows nothing of privacy: what is pushed must already be private,
/// or nothing that depends on the checkpoints may be published.
#[derive(Debug)]
pub struct SpectralHistogram {
    dim: usize,
    rho: f64,
    rule: PruneRule,
    checkpoints: Vec<Checkpoint>,
    now: Option<u64>,
    loewner: Loewner,
}

impl SpectralHistogram {
    /// An empty histogram of `dim` by `dim` matrices with distortion `rho`.
    ///
    /// # Errors
    /// [`Error::Core`] unless `dim >= 1` and `rho` is in `(0, 1)`.
    pub fn new(dim: usize, rho: f64, rule: PruneRule) -> Result<Self> {
        if dim == 0 {
            return Err(Error::invalid("dim", dim, "[1, inf)"));
        }
        if !(rho > 0.0 && rho < 1.0) {
            return Err(Error::invalid("rho", rho, "(0, 1)"));
        }
        Ok(Self { dim, rho, rule, checkpoints: Vec::new(), now: None, loewner: Loewner::new(dim) })
    }

    /// The checkpoints, oldest first.
    #[must_use]
    pub fn checkpoints(&self) -> &[Checkpoint] {
        &self.checkpoints
    }

    /// The distortion.
    #[must_use]
    pub fn rho(&self) -> f64 {
        self.rho
    }

    /// The pruning rule.
    #[must_use]
    pub fn rule(&self) -> PruneRule {
        self.rule
    }

    /// Time stamp of the last arrival.
    #[must_use]
    pub fn now(&self) -> Option<u64> {
        self.now
    }

    /// Adds an arrival to every checkpoint, opens a new one, and prunes.
    ///
    /// `window_start` is the time stamp of the window's first arrival, never before the
    /// stream's first.
    ///
    /// # Errors
    /// [`Error::Core`] when `time` does not follow the last arrival, the
    /// window starts after it, or the increment is not finite; [`Error::Shape`] for
    /// another size.
    pub fn push(&mut self, time: u64, increment: MatRef<'_, f64>, window_start: u64) -> Result<()> {
        self.admit(time, window_start)?;
        self.check_matrix(increment)?;
        for checkpoint in &mut self.checkpoints {
            checkpoint.matrix += increment;
        }
        self.checkpoints.push(Checkpoint { start: time, matrix: increment.to_owned() });
        self.now = Some(time);
        self.prune(window_start, Order::Loewner);
        Ok(())
    }

    /// Replaces the matrices by ones computed outside (the published algorithm keeps
    /// sketches of its own), opens the checkpoint `time`, and prunes; returns the
    /// time stamps that survived. No Loewner order is assumed.
    ///
    /// # Errors
    /// As [`SpectralHistogram::push`].
    pub fn replace_with(
        &mut self,
        time: u64,
        matrices: Vec<Mat<f64>>,
        window_start: u64,
    ) -> Result<Vec<u64>> {
        self.admit(time, window_start)?;
        if matrices.len() != self.checkpoints.len() + 1 {
            return Err(Error::shape("checkpoints", matrices.len(), self.checkpoints.len() + 1));
        }
        for matrix in &matrices {
            self.check_matrix(matrix.as_ref())?;
        }
        let starts: Vec<u64> =
            self.checkpoints.iter().map(|c| c.start).chain(std::iter::once(time)).collect();
        self.checkpoints = starts
            .into_iter()
            .zip(matrices)
            .map(|(start, matrix)| Checkpoint { start, matrix })
            .collect();
        self.now = Some(time);
        self.prune(window_start, Order::Unknown);
        Ok(self.checkpoints.iter().map(|c| c.start).collect())
    }

    fn admit(&self, time: u64, window_start: u64) -> Result<()> {
        if self.now.is_some_and(|now| time != now + 1) {
            let next = self.now.unwrap_or(0) + 1;
            return Err(Error::invalid("time", time, format!("exactly {next}")));
        }
        if window_start > time {
            return Err(Error::invalid("window start", window_start, format!("[0, {time}]")));
        }
        Ok(())
    }

    /// Puts checkpoints back that a journal kept.
    pub(super) fn restore(&mut self, checkpoints: Vec<Checkpoint>, now: Option<u64>) {
        self.checkpoints = checkpoints;
        self.now = now;
    }

    fn check_matrix(&self, matrix: MatRef<'_, f64>) -> Result<()> {
        if (matrix.nrows(), matrix.ncols()) != (self.dim, self.dim) {
            return Err(Error::shape(
                "matrix",
                format!("{} x {}", matrix.nrows(), matrix.ncols()),
                format!("{0} x {0}", self.dim),
            ));
        }
        let finite = (0..self.dim).all(|j| (0..self.dim).all(|i| matrix[(i, j)].is_finite()));
        if finite { Ok(()) } else { Err(Error::NotFinite { what: "the increment" }) }
    }

    fn prune(&mut self, window_start: u64, order: Order) {
        let stale = self.checkpoints.iter().skip(1).take_while(|c| c.start <= window_start).count();
        self.checkpoints.drain(..stale);
        match self.rule {
            PruneRule::UpdateApprox => self.prune_greedy(order),
            PruneRule::Update => self.prune_pairs(),
        }
    }

    /// From each checkpoint, keeps the last one within the factor and drops those between.
    fn prune_greedy(&mut self, order: Order) {
        let mut i = 0;
        while i + 2 < self.checkpoints.len() {
            let keep = self.last_within(i, order);
            if keep > i + 1 {
                self.checkpoints.drain(i + 1..keep);
            }
            i += 1;
        }
    }

    /// The largest `j > i` with `(1 - rho) S(i) <= S(j)`, or `i`. In Loewner order the
    /// answers are a run of yes followed by a run of no; otherwise all are asked.
    fn last_within(&mut self, i: usize, order: Order) -> usize {
        if order == Order::Unknown {
            return (i + 1..self.checkpoints.len()).rev().find(|j| self.within(i, *j)).unwrap_or(i);
        }
        let (mut yes, mut no) = (i, self.checkpoints.len());
        while no - yes > 1 {
            let mid = usize::midpoint(yes, no);
            if self.within(i, mid) { yes = mid } else { no = mid }
        }
        yes
    }

    /// Drops `S(i+1)` while `(1 - rho) S(i) <= S(i+2)`.
    fn prune_pairs(&mut self) {
        let mut i = 0;
        while i + 2 < self.checkpoints.len() {
            if self.within(i, i + 2) {
                self.checkpoints.remove(i + 1);
            } else {
                i += 1;
            }
        }
    }

    fn within(&mut self, i: usize, j: usize) -> bool {
        let (a, b) = (&self.checkpoints[i].matrix, &self.checkpoints[j].matrix);
        self.loewner.precedes(1.0 - self.rho, a.as_ref(), b.as_ref())
    }

    /// Checks the property of the type, with ten times the tolerance of the pruning.
    ///
    /// # Errors
    /// [`Error::Property`] naming the checkpoint and the part that fails.
    pub fn check(&self, window_start: u64) -> Result<()> {
        let l = self.checkpoints.len();
        let fails = |i: usize, what: &'static str| Error::Property { index: i, what };
        if self.checkpoints.first().is_some_and(|c| c.start > window_start) {
            return Err(fails(0, "the first checkpoint starts after the window"));
        }
        if self.checkpoints.get(1).is_some_and(|c| c.start <= window_start) {
            return Err(fails(1, "the second checkpoint is not after the window's start"));
        }
        let mut loose = Loewner::with_tolerance(self.dim, 10.0 * super::loewner::DEFAULT_TOLERANCE);
        let mut strict = Loewner::with_tolerance(self.dim, 0.0);
        for i in 0..l.saturating_sub(1) {
            let (s, next) =
                (self.checkpoints[i].matrix.as_ref(), self.checkpoints[i + 1].matrix.as_ref());
            if !loose.precedes(1.0, next, s) {
                return Err(fails(i, "S(i) >= S(i+1) does not hold"));
            }
            let adjacent = self.checkpoints[i + 1].start == self.checkpoints[i].start + 1;
            if !loose.precedes(1.0 - self.rho, s, next) && !adjacent {
                return Err(fails(i, "a gap in time without (1-rho) S(i) <= S(i+1)"));
            }
            if let Some(after) = self.checkpoints.get(i + 2)
                && strict.precedes(1.0 - self.rho, s, after.matrix.as_ref())
            {
                return Err(fails(i, "(1-rho) S(i) <= S(i+2): one checkpoint too many"));
            }
        }
        Ok(())
    }
}
