//! What a crate shows to its users.

use crate::modules::{Crate, Kind, Name};
use crate::names::Found;
use std::collections::BTreeSet;

/// Counts of what can be named from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Surface {
    /// Structures, enumerations, traits and aliases.
    pub(crate) types: usize,
    /// Functions, and public functions of those types.
    pub(crate) functions: usize,
}

/// Counts the public types and functions of a crate.
#[must_use]
pub(crate) fn surface(of: &Crate) -> Surface {
    let mut seen = BTreeSet::new();
    show(of, 0, &mut seen);
    let mut counts = Surface::default();
    for found in &seen {
        let Found::Item(module, name) = found else { continue };
        match of.modules[*module].names.get(name) {
            Some(Name::Item { kind: Kind::Type, .. }) => counts.types += 1,
            Some(Name::Item { kind: Kind::Function, .. }) => counts.functions += 1,
            _ => {}
        }
    }
    for (at, module) in of.modules.iter().enumerate() {
        let shown = |path: &&Vec<String>| of.resolve(at, path).is_some_and(|t| seen.contains(&t));
        counts.functions += module.methods.iter().filter(shown).count();
    }
    counts
}

/// Adds what module `at` shows, and the modules it shows.
fn show(of: &Crate, at: usize, seen: &mut BTreeSet<Found>) {
    if !seen.insert(Found::Module(at)) {
        return;
    }
    let module = &of.modules[at];
    let children = module.children.values().filter(|&&child| of.modules[child].public);
    children.for_each(|&child| show(of, child, seen));
    for (name, what) in &module.names {
        let found = match what {
            Name::Item { public: true, .. } => Some(Found::Item(at, name.clone())),
            Name::Import { path, public: true } => of.resolve(at, path),
            _ => None,
        };
        match found {
            Some(Found::Module(target)) => show(of, target, seen),
            Some(item) => drop(seen.insert(item)),
            None => {}
        }
    }
    for (path, public) in &module.globs {
        if let (true, Some(Found::Module(target))) = (public, of.resolve(at, path)) {
            show(of, target, seen);
        }
    }
}
