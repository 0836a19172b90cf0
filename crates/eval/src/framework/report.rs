//! What an experiment returns.

use super::Sabotage;
use crate::Table;
use serde::Serialize;

/// Everything one run of an experiment found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// Figures, in order.
    pub(crate) figures: Vec<Figure>,
    /// Tables, in order.
    pub(crate) tables: Vec<Table>,
    /// Claims, checked.
    pub(crate) claims: Vec<Claim>,
    /// Remarks: deviations from the paper, limits of the data.
    pub(crate) notes: Vec<String>,
}

impl Report {
    /// Adds a claim and its verdict; `measured` states the numbers it was judged by. The text names the
    /// margin, which is fixed here and not by the numbers.
    pub(crate) fn claim(
        &mut self,
        text: impl Into<String>,
        holds: bool,
        measured: impl Into<String>,
    ) -> &mut Claim {
        self.claims.push(Claim {
            text: text.into(),
            verdict: if holds { Verdict::Pass } else { Verdict::Fail },
            measured: measured.into(),
            statement: "",
            kind: Kind::Measured,
            catches: Vec::new(),
            reason: None,
        });
        self.claims.last_mut().expect("pushed")
    }

    /// Adds a remark.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}

/// Whether a claim was reproduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// It was.
    Pass,
    /// It was not: the run fails.
    Fail,
}

impl core::fmt::Display for Verdict {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Pass => "pass",
            Self::Fail => "FAIL",
        })
    }
}

/// What a claim was checked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Releases or samples.
    Measured,
    /// Formulas alone; compared with numbers typed in from the paper or worked out apart from the library.
    Formula,
}

/// A statement that the run checked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Claim {
    /// The statement, with the bound it was checked against.
    pub(crate) text: String,
    /// Whether it held.
    pub(crate) verdict: Verdict,
    /// What was measured.
    pub(crate) measured: String,
    /// The paper's statement that it tests; empty for the study's own reference.
    pub(crate) statement: &'static str,
    /// What it was checked on.
    pub(crate) kind: Kind,
    /// The sabotages that it must notice.
    pub(crate) catches: Vec<Sabotage>,
    /// Why it does not hold, where that is known: the claim stays as it was made, and its failure does not
    /// fail the run.
    pub(crate) reason: Option<&'static str>,
}

impl Claim {
    /// Names the paper's statement.
    pub(crate) fn of(&mut self, statement: &'static str) -> &mut Self {
        self.statement = statement;
        self
    }

    /// Says that only formulas were looked at.
    pub(crate) fn formula(&mut self) -> &mut Self {
        self.kind = Kind::Formula;
        self
    }

    /// Adds sabotages that the claim must notice.
    pub(crate) fn catches(&mut self, sabotages: &[Sabotage]) -> &mut Self {
        self.catches.extend(sabotages);
        self
    }

    /// Marks a claim that is known not to hold, as long as the failure is of the `known` extent: a bound on the
    /// measured numbers, fixed beforehand. Any other failure is news.
    pub(crate) fn fails_because(&mut self, reason: &'static str, known: bool) -> &mut Self {
        self.reason = known.then_some(reason);
        self
    }

    /// Failed, and nobody had said so before.
    #[must_use]
    pub(crate) fn is_news(&self) -> bool {
        self.verdict == Verdict::Fail && self.reason.is_none()
    }

    /// The measured numbers, with the reason of a failure where it is known.
    #[must_use]
    pub(crate) fn evidence(&self) -> String {
        match (self.verdict, self.reason) {
            (Verdict::Fail, Some(reason)) => format!("{}. Known: {reason}", self.measured),
            _ => self.measured.clone(),
        }
    }

    /// What it tests, on what, and what it must notice.
    #[must_use]
    pub(crate) fn test(&self) -> String {
        let kind = if self.kind == Kind::Formula { "formula" } else { "" };
        let catches: Vec<_> = self.catches.iter().map(|s| s.name()).collect();
        let catches = if catches.is_empty() {
            String::new()
        } else {
            format!("notices {}", catches.join(", "))
        };
        let parts = [self.statement, kind, &catches];
        parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

impl core::fmt::Display for Claim {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}  {} ({})", self.verdict, self.text, self.evidence())
    }
}

/// One picture of one or more panels that share a legend.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Figure {
    /// File name without extension, unique in the report.
    pub(crate) name: String,
    /// A sentence or two: what is shown, on what data.
    pub(crate) caption: String,
    /// Panels, filled row by row.
    pub(crate) panels: Vec<Panel>,
    /// Panels in a row.
    pub(crate) columns: usize,
}

/// One pair of axes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Panel {
    /// Title above the axes.
    pub(crate) title: String,
    /// Horizontal axis.
    pub(crate) x: Axis,
    /// Vertical axis.
    pub(crate) y: Axis,
    /// Curves; equal labels have equal colours in all panels of a figure.
    pub(crate) curves: Vec<Curve>,
}

/// How numbers are laid out on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scale {
    /// Evenly.
    Linear,
    /// By their logarithm; values that are not positive are not drawn.
    Log,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Axis {
    /// Label, with the unit.
    pub(crate) label: String,
    /// Linear or logarithmic.
    pub(crate) scale: Scale,
    /// Smallest and largest value; fitted to the curves when absent.
    pub(crate) range: Option<(f64, f64)>,
}

impl Axis {
    /// A linear axis fitted to the curves.
    #[must_use]
    pub(crate) fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear, range: None }
    }

    /// A logarithmic axis fitted to the curves.
    #[must_use]
    pub(crate) fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log, range: None }
    }

    /// Fixes the range.
    #[must_use]
    pub(crate) fn between(self, low: f64, high: f64) -> Self {
        Self { range: Some((low, high)), ..self }
    }
}

/// A series of points, and how it was made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Curve {
    /// Name in the legend.
    pub(crate) label: String,
    /// Points, in drawing order.
    pub(crate) points: Vec<Point>,
    /// How it was made.
    pub(crate) origin: Origin,
}

/// A point with its error bar.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Point {
    /// Horizontal.
    pub(crate) x: f64,
    /// Vertical; not drawn when not finite.
    pub(crate) y: f64,
    /// Half length of the error bar: one standard error of the mean.
    pub(crate) error: Option<f64>,
}

impl Point {
    /// An exact point.
    #[must_use]
    pub(crate) const fn exact(x: f64, y: f64) -> Self {
        Self { x, y, error: None }
    }

    /// The mean of independent repetitions with its standard error (none for fewer than two).
    #[must_use]
    pub(crate) fn mean(x: f64, samples: &[f64]) -> Self {
        let (y, error) = crate::metrics::mean_and_error(samples);
        Self { x, y, error }
    }
}

/// A parameter of a curve.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Setting {
    /// The parameter does not exist for this curve.
    None,
    /// One number for all points.
    Fixed(f64),
    /// The horizontal axis.
    AxisX,
    /// The vertical axis.
    AxisY,
    /// One number a point, in the order of the points.
    PerPoint(Vec<f64>),
}

/// Where a curve's randomness came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Seeds {
    /// No randomness: a formula.
    None,
    /// Derived from this seed of the run by part name and repetition number.
    Derived(u64),
}

/// How a curve was made: enough to make it again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Origin {
    /// The mechanism, in full.
    pub(crate) mechanism: String,
    /// Sketch size.
    pub(crate) k: Setting,
    /// Epsilon.
    pub(crate) epsilon: Setting,
    /// Delta.
    pub(crate) delta: Setting,
    /// Noise scale really used (sigma of a Gaussian, b of a Laplace, keep probability of a flip).
    pub(crate) sigma: Setting,
    /// Seeds.
    pub(crate) seeds: Seeds,
    /// Data set, with its size.
    pub(crate) data: String,
    /// Independent repetitions behind a point; 1 for a formula.
    pub(crate) repetitions: usize,
}

impl Origin {
    /// A formula without data or randomness.
    #[must_use]
    pub(crate) fn formula(mechanism: impl Into<String>) -> Self {
        Self {
            mechanism: mechanism.into(),
            k: Setting::None,
            epsilon: Setting::None,
            delta: Setting::None,
            sigma: Setting::None,
            seeds: Seeds::None,
            data: "none (formula)".into(),
            repetitions: 1,
        }
    }
}
