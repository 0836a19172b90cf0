//! Crates of the workspace, and the edges that the architecture page draws.

use crate::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A member of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// The file of its library, or of its binary where it has no library.
    pub(crate) root: PathBuf,
    /// Members that it needs, for its tests too.
    pub(crate) uses: BTreeSet<String>,
}

/// The members of the workspace in a folder, as Cargo knows them.
///
/// # Errors
/// A workspace that Cargo refuses.
pub(crate) fn packages(folder: &Path) -> Result<Vec<Package>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(folder).args(["metadata", "--no-deps", "--format-version", "1"]);
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let data: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let all = list(&data["packages"]);
    let members: BTreeSet<String> = all.iter().map(|p| text(&p["name"])).collect();
    let package = |p: &serde_json::Value| {
        let name = text(&p["name"]);
        let targets = list(&p["targets"]);
        let of_kind = |kind| targets.iter().find(|t| list(&t["kind"]).iter().any(|k| k == kind));
        let root = of_kind("lib").or_else(|| of_kind("bin"))?;
        let uses = list(&p["dependencies"]).iter().map(|d| text(&d["name"])).collect();
        let uses = members.intersection(&uses).filter(|n| **n != name).cloned().collect();
        Some(Package { name, root: text(&root["src_path"]).into(), uses })
    };
    Ok(all.iter().filter_map(package).collect())
}

/// The edges that the architecture page draws: its table with the columns `crate` and `uses`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    edges: BTreeMap<String, BTreeSet<String>>,
}

impl Page {
    /// Finds the table in the text of the page.
    ///
    /// # Errors
    /// No such table, or a crate twice.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let cells = |line: &str| -> Vec<String> {
            line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        let names = |cell: &str| -> BTreeSet<String> {
            cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
        };
        let mut lines = text.lines().skip_while(|line| !line.starts_with("| crate | uses |"));
        lines.next().ok_or("the page has no table `| crate | uses | ...`")?;
        let mut edges = BTreeMap::new();
        for line in lines.skip(1).take_while(|line| line.starts_with('|')) {
            let row = cells(line);
            let name = row[0].trim_matches('`').to_owned();
            if edges.insert(name.clone(), names(row.get(1).map_or("", |c| c))).is_some() {
                return Err(format!("the page lists {name} twice").into());
            }
        }
        Ok(Self { edges })
    }

    /// How the page and the workspace differ; empty when they agree. Crates that use each other in a
    /// circle are among it.
    #[must_use]
    pub(crate) fn complaints(&self, packages: &[Package]) -> Vec<String> {
        let mut complaints = Vec::new();
        for package in packages {
            let name = &package.name;
            let Some(drawn) = self.edges.get(name) else {
                complaints.push(format!("crate {name} is not in the table of the page"));
                continue;
            };
            complaints.extend(
                package.uses.difference(drawn).map(|to| format!("{name} uses {to}: not drawn")),
            );
            complaints.extend(
                drawn
                    .difference(&package.uses)
                    .map(|to| format!("{name} uses {to}: drawn, but not so")),
            );
        }
        let known = |name: &&String| !packages.iter().any(|p| p.name == **name);
        complaints
            .extend(self.edges.keys().filter(known).map(|n| format!("there is no crate {n}")));
        complaints.extend(
            packages
                .iter()
                .filter(|p| reaches_itself(p, packages))
                .map(|p| format!("{} is in a circle of crates that need each other", p.name)),
        );
        complaints
    }
}

fn reaches_itself(start: &Package, packages: &[Package]) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
    while let Some(at) = open.pop() {
        for next in packages.iter().filter(|p| at.uses.contains(&p.name)) {
            if next.name == start.name {
                return true;
            }
            if seen.insert(&next.name) {
                open.push(next);
            }
        }
    }
    false
}
