//! Made-up crates: what the rules refuse, and what they allow.

use crate::crates::{Package, Page};
use crate::knots::{Knot, knots};
use crate::modules::Crate;
use crate::surface::surface;
use std::collections::BTreeSet;
use std::path::Path;

/// A crate of these files, and its knots.
fn made(files: &[(&str, &str)]) -> (Crate, Vec<Knot>) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("written");
    }
    let made = Crate::read("made", &folder.path().join("lib.rs")).expect("parses");
    let found = knots(&made);
    (made, found)
}

/// The members of each knot.
fn members(files: &[(&str, &str)]) -> Vec<String> {
    made(files).1.iter().map(|k| format!("{} in {}", k.modules.join(" "), k.folder)).collect()
}

#[test]
fn a_cycle_between_siblings_is_a_knot() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b::B; pub struct A(B);"),
        ("b.rs", "use crate::c::C; pub struct B(C);"),
        ("c.rs", "pub struct C; pub fn f() { super::a::g() }"),
    ];
    assert_eq!(members(&files), ["a b c in made"]);
    let (_, found) = made(&files);
    let uses: Vec<String> = found[0].uses.iter().map(|u| u.path.clone()).collect();
    assert_eq!(uses, ["crate::b::B", "crate::c::C", "super::a::g"]);
    // Without the last use it is none.
    let open = [files[0], files[1], files[2], ("c.rs", "pub struct C;")];
    assert!(members(&open).is_empty());
}

#[test]
fn a_module_stands_for_all_below_it() {
    // No cycle of files, but rooms that use each other.
    let files = [
        ("lib.rs", "pub mod a; pub mod b;"),
        ("a/mod.rs", "pub mod top; pub mod bottom;"),
        ("a/top.rs", "use crate::b::B; pub struct Top(B);"),
        ("a/bottom.rs", "pub struct Bottom;"),
        ("b.rs", "use crate::a::bottom::Bottom; pub struct B(Bottom);"),
    ];
    assert_eq!(members(&files), ["a b in made"]);
}

#[test]
fn parent_and_child_use_each_other_one_way_only() {
    let down = [
        ("lib.rs", "pub mod a;"),
        ("a/mod.rs", "mod child; pub use child::Child; pub fn f() -> Child { child::make() }"),
        ("a/child.rs", "pub struct Child; pub fn make() -> Child { Child }"),
    ];
    assert!(members(&down).is_empty());
    let up = [
        ("lib.rs", "pub mod a;"),
        ("a/mod.rs", "mod child; pub use child::Child; pub struct Shared;"),
        ("a/child.rs", "pub struct Child(super::Shared);"),
    ];
    assert!(members(&up).is_empty(), "a re-export is no use");
    let both = [
        down[0],
        ("a/mod.rs", "mod child; pub use child::Child; pub struct Shared(Child);"),
        up[2],
    ];
    assert_eq!(members(&both), ["self child in made::a"]);
}

#[test]
fn signposts_are_followed() {
    // Both modules name the root only.
    let files = [
        ("lib.rs", "mod a; mod b; pub use a::A; pub use b::*;"),
        ("a.rs", "pub struct A(crate::B);"),
        ("b.rs", "pub struct B; impl B { pub fn f() -> Box<crate::A> { todo!() } }"),
    ];
    assert_eq!(members(&files), ["a b in made"]);
}

#[test]
fn macros_attributes_and_functions_are_read() {
    for body in [
        "pub fn f() { println!(\"{}\", crate::a::G); }",
        "#[derive(X)] #[error(\"{}\", super::a::shown(0))] pub struct E;",
        "pub fn f() { use crate::a::G; let _ = G; }",
        "pub fn f() -> Vec<Option<crate::a::A>> { Vec::new() }",
        "use super::*; pub fn f() -> a::A { todo!() }",
        "impl From<crate::a::A> for u8 { fn from(_: crate::a::A) -> Self { 0 } }",
    ] {
        let files = [
            ("lib.rs", "pub mod a; pub mod b;"),
            ("a.rs", "pub use crate::b as other; pub struct A; pub fn g() { other::f() }"),
            ("b.rs", body),
        ];
        assert_eq!(members(&files), ["a b in made"], "{body}");
    }
}

#[test]
fn tests_and_other_crates_do_not_count() {
    let files = [
        (
            "lib.rs",
            "mod csv; mod b; #[cfg(test)] mod tests; #[cfg(test)] mod more { use crate::b; }",
        ),
        ("csv.rs", "use csv::Reader; use crate::b::B; pub struct Rows(B, Reader);"),
        (
            "b.rs",
            "pub struct B; impl B { #[cfg(test)] fn x() { crate::csv::f() } }\n\
             #[cfg(all(test, unix))] mod tests { use crate::csv::Rows; }\n\
             #[test] fn t() { crate::csv::f() }",
        ),
        ("tests.rs", "use crate::csv::Rows;"),
    ];
    assert!(members(&files).is_empty());
}

#[test]
fn what_can_be_named_from_outside_is_counted() {
    let (made, _) = made(&[
        ("lib.rs", "mod a; pub mod b; pub use a::{A, f as g}; pub use a::deep; struct Hidden;"),
        (
            "a.rs",
            "pub struct A; pub struct Unseen; pub fn f() {}\n\
             impl A { pub fn m(&self) {} fn n(&self) {} }\n\
             impl Unseen { pub fn m(&self) {} }\n\
             pub mod deep { pub enum D { One } pub(crate) struct E; }",
        ),
        (
            "b.rs",
            "pub trait T { fn required(&self); } pub use crate::a::A as Again; pub const C: u8 = 0;",
        ),
    ]);
    let counted = surface(&made);
    assert_eq!((counted.types, counted.functions), (3, 2), "A, D, T; f, A::m");
    assert_eq!(made.lines, 1 + 4 + 1);
}

#[test]
fn a_module_may_lie_in_a_file_of_another_name() {
    let (made, _) = made(&[
        ("lib.rs", "pub mod a;"),
        ("a/mod.rs", "#[cfg(unix)] #[path = \"unix.rs\"] mod system; pub use system::A;"),
        ("a/unix.rs", "pub struct A;"),
    ]);
    assert_eq!(surface(&made).types, 1);
}

fn package(name: &str, uses: &[&str]) -> Package {
    let uses = uses.iter().map(|&s| s.to_owned()).collect::<BTreeSet<_>>();
    Package { name: name.into(), root: Path::new("lib.rs").into(), uses }
}

const PAGE: &str = "# Page\n\n| crate | uses | holds |\n| --- | --- | --- |\n\
                    | `top` | `middle`, `bottom` | x |\n| `middle` | `bottom` | y |\n\
                    | `bottom` | nothing | z |\n\n| `other` | table |\n";

#[test]
fn an_edge_that_is_not_drawn_is_named() {
    let page = Page::parse(PAGE).expect("a table");
    let mut all = vec![
        package("top", &["middle", "bottom"]),
        package("middle", &["bottom"]),
        package("bottom", &[]),
    ];
    assert!(page.complaints(&all).is_empty());
    all[2] = package("bottom", &["middle"]);
    let complaints = page.complaints(&all);
    assert!(complaints.contains(&"bottom uses middle: not drawn".into()), "{complaints:?}");
    assert!(complaints.iter().any(|c| c.starts_with("middle is in a circle")), "{complaints:?}");
    all[2] = package("bottom", &[]);
    all[0] = package("top", &["middle"]);
    assert_eq!(page.complaints(&all), ["top uses bottom: drawn, but not so"]);
    all.remove(0);
    all.push(package("new", &[]));
    assert_eq!(
        page.complaints(&all),
        ["crate new is not in the table of the page", "there is no crate top"]
    );
}

#[test]
fn a_page_without_the_table_is_refused() {
    assert!(Page::parse("# Page\n").is_err());
    assert!(Page::parse(&PAGE.replace("`middle` | `bottom`", "`top` | `bottom`")).is_err());
}
