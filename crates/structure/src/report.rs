//! What is said of a workspace.

use crate::Result;
use crate::crates::{Package, Page, packages};
use crate::knots::{Knot, knots};
use crate::modules::Crate;
use crate::surface::{Surface, surface};
use std::path::{Path, PathBuf};

/// Where the page lies.
const PAGE: &str = "docs/ARCHITECTURE.md";

/// One crate.
struct Row {
    name: String,
    surface: Surface,
    lines: usize,
    knots: Vec<Knot>,
}

/// A workspace, read.
pub struct Report {
    root: PathBuf,
    packages: Vec<Package>,
    rows: Vec<Row>,
}

impl Report {
    /// Reads every crate of the workspace in a folder.
    ///
    /// # Errors
    /// A workspace that Cargo refuses; a file that is missing or is not Rust.
    pub fn of(root: &Path) -> Result<Self> {
        let packages = packages(root)?;
        let row = |package: &Package| {
            let read = Crate::read(&package.name, &package.root)?;
            let (name, lines) = (package.name.clone(), read.lines);
            Ok(Row { name, surface: surface(&read), lines, knots: knots(&read) })
        };
        let rows = packages.iter().map(row).collect::<Result<_>>()?;
        Ok(Self { root: root.to_owned(), packages, rows })
    }

    /// Public types and functions of all crates.
    #[must_use]
    pub fn public(&self) -> (usize, usize) {
        self.rows.iter().fold((0, 0), |(types, functions), row| {
            (types + row.surface.types, functions + row.surface.functions)
        })
    }

    /// Public types and functions, lines and knots, by crate.
    #[must_use]
    pub fn counts(&self) -> String {
        let line = |name: &str, [types, functions, lines, knots]: [usize; 4]| {
            format!("{name:<12} {types:>7} {functions:>10} {lines:>7} {knots:>7}\n")
        };
        let mut text = format!(
            "{:<12} {:>7} {:>10} {:>7} {:>7}\n",
            "crate", "types", "functions", "lines", "knots"
        );
        let mut totals = [0; 4];
        for row in &self.rows {
            let Surface { types, functions } = row.surface;
            let counts = [types, functions, row.lines, row.knots.len()];
            totals.iter_mut().zip(counts).for_each(|(total, n)| *total += n);
            text += &line(&row.name, counts);
        }
        text + &line("all", totals)
    }

    /// Knots, and edges between crates that the page does not draw; empty when the rules hold.
    ///
    /// # Errors
    /// A page that is missing or has no table of crates.
    pub fn complaints(&self) -> Result<Vec<String>> {
        let path = self.root.join(PAGE);
        let text =
            std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let knots = self.rows.iter().flat_map(|row| &row.knots);
        let knots = knots.map(|knot| format!("KNOT: {knot}"));
        let edges = Page::parse(&text)?.complaints(&self.packages).into_iter();
        Ok(knots.chain(edges.map(|edge| format!("CRATES: {edge}"))).collect())
    }
}
