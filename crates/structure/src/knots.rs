//! Cycles between modules that lie beside each other.

use crate::modules::{Crate, Segments};
use std::collections::{BTreeMap, BTreeSet};

/// One module's use of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Use {
    /// The file's module that uses.
    pub(crate) from: String,
    /// The one that is used.
    pub(crate) to: String,
    /// The path that shows it.
    pub(crate) path: String,
}

/// Modules beside each other of which each uses each, by way of others perhaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Knot {
    /// The module that holds them.
    pub(crate) folder: String,
    /// Their names; the folder's own file is `self`.
    pub(crate) modules: Vec<String>,
    /// One example for every pair of which one uses the other.
    pub(crate) uses: Vec<Use>,
}

impl core::fmt::Display for Knot {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} in {}", self.modules.join(" <-> "), self.folder)?;
        self.uses.iter().try_for_each(|u| write!(f, "\n    {} uses {}: {}", u.from, u.to, u.path))
    }
}

/// A module beside others: a child of the folder, or (`None`) what the folder's own file defines.
type Beside = Option<String>;
/// Who uses whom in a folder, with an example.
type Edges = BTreeMap<(Beside, Beside), Use>;

/// All knots of a crate.
#[must_use]
pub(crate) fn knots(of: &Crate) -> Vec<Knot> {
    let name = |path: &[String]| {
        format!("{}{}", of.name, path.iter().fold(String::new(), |s, p| s + "::" + p))
    };
    let mut folders: BTreeMap<Segments, Edges> = BTreeMap::new();
    for (at, module) in of.modules.iter().enumerate() {
        for (target, path) in of.uses(at) {
            let other = &of.modules[target].path;
            let shared = module.path.iter().zip(other).take_while(|(a, b)| a == b).count();
            let pair = (module.path.get(shared).cloned(), other.get(shared).cloned());
            let shown = Use { from: name(&module.path), to: name(other), path: path.join("::") };
            let folder = folders.entry(module.path[..shared].to_vec()).or_default();
            folder.entry(pair).or_insert(shown);
        }
    }
    let mut found = Vec::new();
    for (folder, edges) in folders {
        for members in circles(&edges) {
            let inside = |(a, b): &&(Beside, Beside)| members.contains(a) && members.contains(b);
            let uses = edges.keys().filter(inside).map(|pair| edges[pair].clone()).collect();
            let shown = |m: &Beside| m.clone().unwrap_or_else(|| "self".into());
            let modules = members.iter().map(shown).collect();
            found.push(Knot { folder: name(&folder), modules, uses });
        }
    }
    found
}

/// Sets of two and more modules that reach each other.
fn circles(edges: &Edges) -> Vec<BTreeSet<Beside>> {
    let nodes: BTreeSet<&Beside> = edges.keys().flat_map(|(a, b)| [a, b]).collect();
    let reach = |start: &Beside| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![start.clone()]);
        while let Some(at) = open.pop() {
            for (_, next) in edges.keys().filter(|(from, _)| *from == at) {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&Beside, BTreeSet<Beside>> =
        nodes.iter().map(|&node| (node, reach(node))).collect();
    let mut found: Vec<BTreeSet<Beside>> = Vec::new();
    for &node in &nodes {
        if reached[node].contains(node) && !found.iter().any(|circle| circle.contains(node)) {
            let both = |other: &&&Beside| {
                reached[node].contains(**other) && reached[**other].contains(node)
            };
            found.push(nodes.iter().filter(both).map(|&n| n.clone()).collect());
        }
    }
    found
}
