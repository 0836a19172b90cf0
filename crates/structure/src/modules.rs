//! Sources, parsed into modules with the names they define and the paths they use.

use crate::Result;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// A path as it is written, without arguments.
pub(crate) type Segments = Vec<String>;

/// What a name stands for in a module.
#[derive(Debug, Clone)]
pub(crate) enum Name {
    /// An item that the module defines.
    Item {
        /// Whether it is `pub`.
        public: bool,
        /// Whether it is a type or a trait (and not a function, a constant or a macro).
        kind: Kind,
    },
    /// An item that it imports.
    Import {
        /// From where.
        path: Segments,
        /// Whether it is `pub`.
        public: bool,
    },
}

/// Kinds of items that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Type,
    Function,
    Other,
}

/// One module: a file, or a `mod` block within one.
#[derive(Debug)]
pub(crate) struct Module {
    /// Its path from the root of the crate; empty for the root.
    pub(crate) path: Segments,
    /// Modules below it, by name.
    pub(crate) children: BTreeMap<String, usize>,
    pub(crate) parent: Option<usize>,
    pub(crate) public: bool,
    pub(crate) names: BTreeMap<String, Name>,
    /// `use path::*`, and whether it is `pub`.
    pub(crate) globs: Vec<(Segments, bool)>,
    /// Paths of two and more segments, and private imports.
    pub(crate) paths: BTreeSet<Segments>,
    /// Every identifier, to see which re-exports the module uses itself.
    pub(crate) words: BTreeSet<String>,
    /// Public functions in `impl` blocks, with the type.
    pub(crate) methods: Vec<Segments>,
}

/// A crate: its modules, the root first.
#[derive(Debug)]
pub(crate) struct Crate {
    /// Name of the package.
    pub(crate) name: String,
    /// The modules.
    pub(crate) modules: Vec<Module>,
    /// Lines of its files below `src/`, tests among them included.
    pub(crate) lines: usize,
}

impl Crate {
    /// Reads a crate from the file of its root.
    ///
    /// # Errors
    /// A file that is missing or is not Rust.
    pub(crate) fn read(name: &str, root: &Path) -> Result<Self> {
        let mut all = Self { name: name.to_owned(), modules: Vec::new(), lines: 0 };
        let folder = root.parent().unwrap_or(Path::new("."));
        all.file(root, folder, Vec::new(), None, true)?;
        Ok(all)
    }

    /// Adds the module of a file, whose child modules lie in `folder`.
    fn file(
        &mut self,
        file: &Path,
        folder: &Path,
        path: Segments,
        parent: Option<usize>,
        public: bool,
    ) -> Result<usize> {
        let named = |e: &dyn std::fmt::Display| format!("{}: {e}", file.display());
        let text = std::fs::read_to_string(file).map_err(|e| named(&e))?;
        self.lines += text.lines().count();
        let parsed = syn::parse_file(&text).map_err(|e| named(&e))?;
        self.module(&parsed.items, folder, path, parent, public)
    }

    fn module(
        &mut self,
        items: &[Item],
        folder: &Path,
        path: Segments,
        parent: Option<usize>,
        public: bool,
    ) -> Result<usize> {
        let at = self.modules.len();
        let mut reader = Reader::default();
        items.iter().for_each(|item| reader.visit_item(item));
        let Reader { names, globs, paths, words, methods } = reader;
        let children = BTreeMap::new();
        self.modules.push(Module {
            path: path.clone(),
            children,
            parent,
            public,
            names,
            globs,
            paths,
            words,
            methods,
        });
        for item in items {
            let Item::Mod(child) = item else { continue };
            let name = child.ident.to_string();
            let is_test = only_tests(&child.attrs);
            let child_path = [&path[..], std::slice::from_ref(&name)].concat();
            let below = folder.join(&name);
            let public = matches!(child.vis, Visibility::Public(_));
            let index = match &child.content {
                _ if is_test => {
                    self.lines += lines_of_tests(folder, &name);
                    continue;
                }
                Some((_, items)) => self.module(items, &below, child_path, Some(at), public)?,
                None => {
                    let stated = stated_path(&child.attrs).map(|path| folder.join(path));
                    let file = stated.unwrap_or_else(|| file_of(folder, &name));
                    self.file(&file, &below, child_path, Some(at), public)?
                }
            };
            self.modules[at].children.insert(name, index);
        }
        Ok(at)
    }
}

/// The file that `#[path = "..."]` names, beside the `mod.rs` that says so.
fn stated_path(attributes: &[Attribute]) -> Option<String> {
    let named = attributes.iter().find(|attribute| attribute.path().is_ident("path"))?;
    let syn::Meta::NameValue(pair) = &named.meta else { return None };
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) = &pair.value else {
        return None;
    };
    Some(path.value())
}

/// The file of a module of that name in a folder.
fn file_of(folder: &Path, name: &str) -> PathBuf {
    let beside = folder.join(format!("{name}.rs"));
    if beside.exists() { beside } else { folder.join(name).join("mod.rs") }
}

/// Lines of the file of a test module, where it has one.
fn lines_of_tests(folder: &Path, name: &str) -> usize {
    std::fs::read_to_string(file_of(folder, name)).map_or(0, |text| text.lines().count())
}

/// Whether an item is compiled for tests only.
fn only_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        if attribute.path().is_ident("test") {
            return true;
        }
        let syn::Meta::List(list) = &attribute.meta else { return false };
        let mut words = BTreeSet::new();
        identifiers(list.tokens.clone(), &mut words);
        let tests = words.contains("test") || words.contains("doctest");
        attribute.path().is_ident("cfg") && tests && !words.contains("not")
    })
}

fn identifiers(tokens: TokenStream, out: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => drop(out.insert(ident.to_string())),
            TokenTree::Group(group) => identifiers(group.stream(), out),
            _ => {}
        }
    }
}

/// Gathers what a module defines and uses.
#[derive(Default)]
struct Reader {
    names: BTreeMap<String, Name>,
    globs: Vec<(Segments, bool)>,
    paths: BTreeSet<Segments>,
    words: BTreeSet<String>,
    methods: Vec<Segments>,
}

impl Reader {
    fn define(&mut self, name: &syn::Ident, vis: &Visibility, kind: Kind) {
        let public = matches!(vis, Visibility::Public(_));
        self.names.insert(name.to_string(), Name::Item { public, kind });
    }

    /// Paths in tokens that nobody has parsed: names with `::` between them.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path = Segments::new();
        // Colons since the last name of the path.
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.path(std::mem::take(&mut path));
                    }
                    self.words.insert(ident.to_string());
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.path(std::mem::take(&mut path));
                    self.tokens(group.stream());
                }
                _ => self.path(std::mem::take(&mut path)),
            }
        }
        self.path(path);
    }

    fn path(&mut self, path: Segments) {
        if path.len() > 1 {
            self.paths.insert(path);
        }
    }

    fn import(&mut self, tree: &UseTree, before: &[String], public: bool, reexport: bool) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        let (name, path) = match tree {
            UseTree::Path(path) => {
                return self.import(&path.tree, &with(&path.ident), public, reexport);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|t| self.import(t, before, public, reexport));
            }
            UseTree::Glob(_) => return self.globs.push((before.to_vec(), public || reexport)),
            UseTree::Name(name) if name.ident == "self" => {
                let Some(last) = before.last() else { return };
                (last.clone(), before.to_vec())
            }
            UseTree::Name(name) => (name.ident.to_string(), with(&name.ident)),
            UseTree::Rename(rename) => (rename.rename.to_string(), with(&rename.ident)),
        };
        if !reexport {
            self.paths.insert(path.clone());
        }
        self.names.insert(name, Name::Import { path, public });
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Const(i) => &i.attrs,
            Item::Enum(i) => &i.attrs,
            Item::Fn(i) => &i.attrs,
            Item::Impl(i) => &i.attrs,
            Item::Macro(i) => &i.attrs,
            Item::Static(i) => &i.attrs,
            Item::Struct(i) => &i.attrs,
            Item::Trait(i) => &i.attrs,
            Item::Type(i) => &i.attrs,
            Item::Union(i) => &i.attrs,
            Item::Use(i) => &i.attrs,
            // A module of its own.
            _ => return,
        };
        if only_tests(attributes) {
            return;
        }
        match item {
            Item::Const(i) => self.define(&i.ident, &i.vis, Kind::Other),
            Item::Enum(i) => self.define(&i.ident, &i.vis, Kind::Type),
            Item::Fn(i) => self.define(&i.sig.ident, &i.vis, Kind::Function),
            Item::Static(i) => self.define(&i.ident, &i.vis, Kind::Other),
            Item::Struct(i) => self.define(&i.ident, &i.vis, Kind::Type),
            Item::Trait(i) => self.define(&i.ident, &i.vis, Kind::Type),
            Item::Type(i) => self.define(&i.ident, &i.vis, Kind::Type),
            Item::Union(i) => self.define(&i.ident, &i.vis, Kind::Type),
            Item::Macro(i) => {
                if let Some(name) = &i.ident {
                    self.define(name, &Visibility::Inherited, Kind::Other);
                }
            }
            Item::Use(i) => {
                let public = matches!(i.vis, Visibility::Public(_));
                let reexport = !matches!(i.vis, Visibility::Inherited);
                return self.import(&i.tree, &[], public, reexport);
            }
            Item::Impl(i) => self.inherent(i),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        // Within a function: names of it only, but the module uses what it names.
        let mut inner = Self::default();
        inner.import(&item.tree, &[], false, false);
        self.paths.append(&mut inner.paths);
        self.paths.extend(inner.globs.into_iter().map(|(path, _)| path));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !only_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Segments = path.segments.iter().map(|s| s.ident.to_string()).collect();
        self.words.extend(segments.first().cloned());
        self.path(segments);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.visit_path(&called.path);
        self.tokens(called.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone());
        }
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

impl Reader {
    /// Public functions of a type.
    fn inherent(&mut self, block: &syn::ItemImpl) {
        let (None, syn::Type::Path(of)) = (&block.trait_, &*block.self_ty) else { return };
        let of: Segments = of.path.segments.iter().map(|s| s.ident.to_string()).collect();
        let public = block.items.iter().filter(|item| {
            matches!(item, syn::ImplItem::Fn(f)
                if matches!(f.vis, Visibility::Public(_)) && !only_tests(&f.attrs))
        });
        self.methods.extend(public.map(|_| of.clone()));
    }
}
