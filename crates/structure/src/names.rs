//! From a path to the module that defines what it names.

use crate::modules::{Crate, Name, Segments};
use std::collections::BTreeSet;

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Found {
    /// A module.
    Module(usize),
    /// An item of a module.
    Item(usize, String),
}

impl Found {
    /// The module, or the one that defines the item.
    pub(crate) fn module(&self) -> usize {
        let (Self::Module(at) | Self::Item(at, _)) = self;
        *at
    }
}

/// More steps than any chain of re-exports has.
const DEPTH: usize = 12;

impl Crate {
    /// Where a path that stands in module `from` leads, when that is in this crate.
    pub(crate) fn resolve(&self, from: usize, path: &[String]) -> Option<Found> {
        self.resolve_within(from, path, true, DEPTH)
    }

    fn resolve_within(
        &self,
        from: usize,
        path: &[String],
        globs: bool,
        depth: usize,
    ) -> Option<Found> {
        let depth = depth.checked_sub(1)?;
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => Found::Module(0),
            "self" => Found::Module(from),
            "super" => Found::Module(self.modules[from].parent?),
            name => self.lookup(from, name, globs, depth)?,
        };
        while let (Found::Module(module), Some((name, more))) = (&at, rest.split_first()) {
            at = match name.as_str() {
                "super" => Found::Module(self.modules[*module].parent?),
                // What a macro defines is not seen: it belongs to the module all the same.
                name => self
                    .lookup(*module, name, true, depth)
                    .unwrap_or_else(|| Found::Item(*module, name.to_owned())),
            };
            rest = more;
        }
        Some(at)
    }

    /// What a name stands for in a module.
    pub(crate) fn lookup(
        &self,
        module: usize,
        name: &str,
        globs: bool,
        depth: usize,
    ) -> Option<Found> {
        let depth = depth.checked_sub(1)?;
        let here = &self.modules[module];
        if let Some(&child) = here.children.get(name) {
            return Some(Found::Module(child));
        }
        match here.names.get(name) {
            Some(Name::Item { .. }) => return Some(Found::Item(module, name.to_owned())),
            // A name that imports itself is that of another crate.
            Some(Name::Import { path, .. }) if path.first().is_some_and(|p| p == name) => {
                return None;
            }
            Some(Name::Import { path, .. }) => {
                return self.resolve_within(module, path, false, depth);
            }
            None if globs => {}
            None => return None,
        }
        here.globs.iter().find_map(|(path, _)| {
            let Found::Module(target) = self.resolve_within(module, path, false, depth)? else {
                return None;
            };
            (target != module).then(|| self.lookup(target, name, true, depth)).flatten()
        })
    }

    /// The modules that a module uses, with a path that shows it.
    pub(crate) fn uses(&self, module: usize) -> Vec<(usize, Segments)> {
        let here = &self.modules[module];
        let globs = here.globs.iter().filter(|(_, reexport)| !reexport).map(|(path, _)| path);
        // A re-export is a use when the module names what it re-exports.
        let reexports = here.names.iter().filter_map(|(name, what)| match what {
            Name::Import { path, .. } if here.words.contains(name) => Some(path),
            _ => None,
        });
        let paths: BTreeSet<&Segments> = here.paths.iter().chain(globs).chain(reexports).collect();
        let found = paths.into_iter().filter_map(|path| {
            let target = self.resolve(module, path)?.module();
            (target != module).then(|| (target, path.clone()))
        });
        found.collect()
    }
}
