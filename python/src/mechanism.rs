//! Mechanisms: released in memory or to a file, paid last.

use crate::error::{Fault, Result};
use crate::held::{Held, output};
use crate::kinds::{Kind, build};
use crate::payer::Payer;
use crate::release::Release;
use crate::rows::{Rows, Source, append, check_width, each_slice, nothing, sets};
use crate::run::{Run, Watch, work};
use crate::values;
use dp_core::mechanism::{Mechanism as _, Prediction};
use dp_core::output::Output;
use dp_core::{Adjacency, Budget, Guarantee};
use linalg_dp::any::AnyRelease;
use linalg_dp::covariance::{CovarianceMechanism, GaussianCovariance};
use linalg_dp::window::{Pace, WindowMechanism};
use pyo3::prelude::*;
use sketch::RowsView;
use sketch::sets::{ItemSet, SetNeighbours};
use sketch::vectors::{Element, OpenSketch, ReleaseWriter};
use std::path::PathBuf;

/// Rows or sets in memory.
pub(crate) enum Portion<'a> {
    Rows(RowsView<'a>),
    Sets(Vec<ItemSet>),
}

/// A calibrated mechanism.
#[pyclass(frozen, module = "dps._dps")]
pub(crate) struct Mechanism {
    kind: Kind,
    /// Of sets: what their guarantee counts on.
    neighbours: Option<SetNeighbours>,
}

impl Mechanism {
    /// What one release promises; nothing where it is no differential privacy.
    pub(crate) fn promise(&self) -> Option<&Guarantee> {
        self.kind.promise()
    }

    pub(crate) fn window(&self) -> Option<&WindowMechanism> {
        match &self.kind {
            Kind::Window(mechanism) => Some(mechanism),
            _ => None,
        }
    }

    /// Whether rows may come one batch after the other.
    fn reads_batches(&self) -> bool {
        matches!(
            self.kind,
            Kind::Projection(_)
                | Kind::Averaged(_)
                | Kind::Signs(_)
                | Kind::FreshSigns(_)
                | Kind::Gaussian(_)
                | Kind::Wishart(_)
                | Kind::Jl(_)
                | Kind::Window(_)
        )
    }

    fn of_rows(&self, source: Source<'_>, run: &mut Run) -> Result<Held> {
        let view = match source {
            Source::View(view) => view,
            batches if self.reads_batches() => return self.of_batches(batches, run),
            batches => {
                return batches
                    .whole(&mut |_, _| Ok(()), |view| self.of_rows(Source::View(view), run));
            }
        };
        let fresh = run.fresh()?;
        let (watch, rng) = (&mut run.watch, &mut run.rng);
        macro_rules! watched {
            ($mechanism:expr, $input:expr) => {{
                let released = $mechanism.release_watched($input, rng, &mut |p| watch.ask(p));
                watch.after(released)?
            }};
        }
        Ok(match &self.kind {
            Kind::Projection(m) => AnyRelease::Sketch(watched!(m, view)).into(),
            Kind::Averaged(m) => AnyRelease::Sketch(watched!(m, (fresh, view))).into(),
            Kind::MultiScale(m) => Held::Scales(watched!(m, view)),
            Kind::Signs(m) => AnyRelease::Signs(watched!(m, view)).into(),
            Kind::FreshSigns(m) => AnyRelease::Signs(watched!(m, (view, fresh))).into(),
            Kind::IndividualSigns(m) => AnyRelease::IndividualSigns(m.release(view, rng)?).into(),
            Kind::Units(m) => AnyRelease::Units(watched!(m, view)).into(),
            Kind::Bounded(m) => AnyRelease::Bounded(watched!(m, view)).into(),
            Kind::PrivateGroups(m) => AnyRelease::Groups(watched!(m, view)).into(),
            Kind::Quantile(m, d) => {
                check_width(&view.into(), *d)?;
                let mut values = Vec::new();
                append(&view, &mut values);
                AnyRelease::Covariance(watched!(m, values.as_slice())).into()
            }
            Kind::Newton(m, d) => {
                check_width(&view.into(), *d)?;
                let mut values = Vec::new();
                append(&view, &mut values);
                AnyRelease::Regression(watched!(m, values.as_slice())).into()
            }
            Kind::Directions(m, d, start) => {
                check_width(&view.into(), *d)?;
                let mut values = Vec::new();
                append(&view, &mut values);
                Held::Directions(watched!(m, (values.as_slice(), *start)))
            }
            Kind::FindAndProject(m) => AnyRelease::LowRank(watched!(m, (view, fresh))).into(),
            Kind::Range(m) => AnyRelease::Range(watched!(m, (view, fresh))).into(),
            Kind::InputPerturbation(m) => Held::Factors(watched!(m, view)),
            Kind::PublishedPfp(m) => AnyRelease::LowRank(m.release(&view, fresh, rng)?).into(),
            Kind::Basis(m, basis) => AnyRelease::LowRank(watched!(m, (view, basis))).into(),
            Kind::Distances(m) => Held::Distances(watched!(m, view)),
            Kind::Bits(m) => Held::Bits(watched!(m, view)),
            _ => return self.of_batches(Source::View(view), run),
        })
    }

    /// Rows part by part.
    fn of_batches(&self, source: Source<'_>, run: &mut Run) -> Result<Held> {
        let fresh = run.fresh()?;
        let (watch, rng) = (&mut run.watch, &mut run.rng);
        match &self.kind {
            Kind::Projection(m) => sketch(OpenSketch::new(m, rng), source, watch),
            Kind::Averaged(m) => sketch(m.clone().open(fresh, rng)?, source, watch),
            Kind::Signs(m) => {
                let mut open = m.open(rng);
                source.each(&mut |done, all| watch.tick(done, all), &mut |rows| {
                    Ok(open.push(rows)?)
                })?;
                Ok(AnyRelease::Signs(open.close()?).into())
            }
            Kind::FreshSigns(m) => {
                let mut open = m.open(fresh, rng)?;
                source.each(&mut |done, all| watch.tick(done, all), &mut |rows| {
                    Ok(open.push(rows)?)
                })?;
                Ok(AnyRelease::Signs(open.close()?).into())
            }
            Kind::Gaussian(m) => covariance(m, source, run),
            Kind::Wishart(m) => covariance(m, source, run),
            Kind::Jl(m) => covariance(m, source, run),
            Kind::Window(m) => {
                let mut stream = m.stream(rng);
                let d = m.config().dim;
                let mut values = Vec::new();
                source.each(&mut |done, all| watch.tick(done, all), &mut |rows| {
                    check_width(&rows, d)?;
                    each_slice(&rows.check()?, &mut values, &mut |values| {
                        stream.push(values)?;
                        Ok(())
                    })
                })?;
                if m.config().pace == Pace::Clock {
                    stream.tick()?;
                }
                Ok(AnyRelease::Window(stream.release()?).into())
            }
            _ => Err(Fault::Data("this mechanism reads no rows".into())),
        }
    }

    /// Projected rows to an output as they come.
    fn stream_to(
        &self,
        output: Output,
        element: Element,
        source: Source<'_>,
        run: &mut Run,
    ) -> Result<()> {
        let fresh = run.fresh()?;
        let (watch, rng) = (&mut run.watch, &mut run.rng);
        let mut writer = match &self.kind {
            Kind::Projection(m) => ReleaseWriter::create(output, m, element, rng)?,
            Kind::Averaged(m) => m.clone().writer(output, element, fresh, rng)?,
            _ => return Err(Fault::Data("this mechanism is no projection".into())),
        };
        source.each(&mut |done, all| watch.tick(done, all), &mut |rows| Ok(writer.push(rows)?))?;
        // It pays: what was interrupted before costs nothing.
        Python::attach(|py| py.check_signals())?;
        writer.finish()?;
        Ok(())
    }

    fn of_sets(&self, sets: &[ItemSet], run: &mut Run) -> Result<Held> {
        if let Some(neighbours) = &self.neighbours {
            neighbours.check(sets)?;
        }
        let fresh = run.fresh()?;
        let (watch, rng) = (&mut run.watch, &mut run.rng);
        macro_rules! watched {
            ($mechanism:expr, $input:expr) => {{
                let released = $mechanism.release_watched($input, rng, &mut |p| watch.ask(p));
                watch.after(released)?
            }};
        }
        Ok(match &self.kind {
            Kind::Bins(m, seed) => AnyRelease::Symbols(watched!(m, (sets, *seed))).into(),
            Kind::FreshBins(m) => AnyRelease::Symbols(watched!(m, (sets, fresh))).into(),
            Kind::Mixture(m) => AnyRelease::Symbols(watched!(m, (sets, fresh))).into(),
            Kind::Buckets(m, seed) => AnyRelease::Symbols(watched!(m, (sets, *seed))).into(),
            Kind::Counts(m) => AnyRelease::Counts(watched!(m, sets)).into(),
            Kind::NoisyMinHash(m) => AnyRelease::NoisyBits(watched!(m, (sets, fresh))).into(),
            _ => return Err(Fault::Data("this mechanism reads no sets".into())),
        })
    }

    /// The release of a block, which is in memory.
    pub(crate) fn block(&self, block: &Portion<'_>, run: &mut Run) -> Result<Held> {
        match block {
            Portion::Rows(view) => self.of_rows(Source::View(*view), run),
            Portion::Sets(sets) => self.of_sets(sets, run),
        }
    }

    /// The mechanism of sums that can be made in parts.
    pub(crate) fn sums(&self) -> Option<&GaussianCovariance> {
        match &self.kind {
            Kind::Gaussian(mechanism) => Some(mechanism),
            _ => None,
        }
    }

    fn of_numbers(&self, values: &[f64], run: &mut Run) -> Result<Held> {
        let (watch, rng) = (&mut run.watch, &mut run.rng);
        let mut hook = |p| watch.ask(p);
        let released = match &self.kind {
            Kind::GaussianNumbers(m) => m.release_watched(values, rng, &mut hook),
            Kind::LaplaceNumbers(m) => m.release_watched(values, rng, &mut hook),
            Kind::DiscreteGaussianNumbers(m) => m.release_watched(values, rng, &mut hook),
            Kind::DiscreteLaplaceNumbers(m) => m.release_watched(values, rng, &mut hook),
            _ => return Err(Fault::Data("this mechanism reads no vector of numbers".into())),
        };
        Ok(Held::Numbers(watch.after(released)?))
    }
}

fn sketch(mut open: OpenSketch<'_, '_>, source: Source<'_>, watch: &mut Watch) -> Result<Held> {
    open.reserve(source.expected());
    source.each(&mut |done, all| watch.tick(done, all), &mut |rows| Ok(open.push(rows)?))?;
    Ok(AnyRelease::Sketch(open.close()?).into())
}

fn covariance(m: &dyn CovarianceMechanism, source: Source<'_>, run: &mut Run) -> Result<Held> {
    let (watch, rng) = (&mut run.watch, &mut run.rng);
    let (mut stream, d) = (m.stream(rng), m.dim());
    source.each(&mut |done, all| watch.tick(done, all), &mut |rows| {
        check_width(&rows, d)?;
        stream.push_view(rows).or_else(|error| {
            rows.check()?;
            Err(error.into())
        })
    })?;
    Ok(AnyRelease::Covariance(stream.finish()?).into())
}

#[pymethods]
impl Mechanism {
    /// Builds and calibrates; parameters and adjacency are JSON.
    #[new]
    fn new(
        py: Python<'_>,
        config: &str,
        adjacency: &str,
        epsilon: f64,
        delta: f64,
    ) -> Result<Self> {
        let (config, adjacency) =
            (values::parsed("parameters", config)?, values::adjacency(adjacency)?);
        let budget = Budget::new(epsilon, delta)?;
        let neighbours = match adjacency.each() {
            Adjacency::SetItems { alpha, min_size } => Some(SetNeighbours::new(alpha, min_size)?),
            _ => None,
        };
        let kind = work(py, || build(config, adjacency, budget))?;
        Ok(Self { kind, neighbours })
    }

    /// The guarantee, as JSON; `None` where there is no differential privacy.
    fn guarantee(&self) -> Result<Option<String>> {
        self.promise().map(values::guarantee_text).transpose()
    }

    /// The expected error from public facts: what it is of, and its root mean square.
    #[pyo3(signature = (facts=Vec::new()))]
    fn predict(&self, facts: Vec<f64>) -> Result<(String, f64)> {
        let Prediction { of, root_mean_square, .. } = self.kind.predict(&facts)?;
        Ok((of.to_owned(), root_mean_square))
    }

    /// Releases in memory; `kind` says what `data` is: rows, sets or numbers.
    #[pyo3(signature = (kind, data, *, ledger=None, label=None, progress=None, test_noise=None))]
    #[allow(clippy::too_many_arguments)] // named where they are given
    fn release(
        &self,
        py: Python<'_>,
        kind: &str,
        data: &Bound<'_, PyAny>,
        ledger: Option<&Bound<'_, Payer>>,
        label: Option<&str>,
        progress: Option<Py<PyAny>>,
        test_noise: Option<u64>,
    ) -> Result<Release> {
        let ledger = ledger.map(Bound::get);
        let mut run = Run::new(ledger, progress, test_noise)?;
        let promise = self.promise();
        run.ask_ledger(py, ledger, promise)?;
        let held = match kind {
            "sets" => {
                let sets = sets(data)?;
                if sets.is_empty() {
                    return Err(nothing());
                }
                work(py, || self.of_sets(&sets, &mut run))?
            }
            "numbers" => {
                let values: Vec<f64> = data.extract()?;
                work(py, || self.of_numbers(&values, &mut run))?
            }
            _ => {
                let mut kept = None;
                let source = Rows::of(data)?.source(&mut kept)?;
                work(py, || self.of_rows(source, &mut run))?
            }
        };
        run.pay(py, ledger, promise, label.unwrap_or("a release from Python"))?;
        Ok(Release::new(held))
    }

    /// Releases projected rows to a file in bounded memory; the ledger pays when the file is complete.
    #[pyo3(signature = (data, path, *, store="f64", replace=false, ledger=None, label=None, progress=None, test_noise=None))]
    #[allow(clippy::too_many_arguments)] // named where they are given
    fn write(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        path: PathBuf,
        store: &str,
        replace: bool,
        ledger: Option<&Bound<'_, Payer>>,
        label: Option<&str>,
        progress: Option<Py<PyAny>>,
        test_noise: Option<u64>,
    ) -> Result<()> {
        let ledger = ledger.map(Bound::get);
        let mut run = Run::new(ledger, progress, test_noise)?;
        let element = match store {
            "f64" => Element::F64,
            "f32" => Element::F32,
            "compact" => Element::Compact,
            _ => return Err(Fault::invalid("store", store, "f64, f32 or compact")),
        };
        let mut output = output(&path, replace)?;
        if let (Some(ledger), Some(promise)) = (ledger, self.promise()) {
            let label = label.unwrap_or("a release from Python");
            let named = ledger.named(promise, label)?;
            work(py, || output.pay_from(ledger.ledger(), promise, named))?;
        }
        let mut kept = None;
        let source = Rows::of(data)?.source(&mut kept)?;
        work(py, || self.stream_to(output, element, source, &mut run))
    }
}
