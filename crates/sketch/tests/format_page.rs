//! The entries of every family's projection are those that `docs/FORMAT.md` says: its table was
//! computed by a program that was written from the page alone.

use dp_core::PublicSeed;
use sketch::projection::{Family, ProjectionSpec, Sampling};

#[test]
fn projections_expand_as_the_page_says() {
    let page = include_str!("../../../docs/FORMAT.md");
    let families = [
        ("gaussian", Family::Gaussian),
        ("rademacher", Family::Rademacher),
        ("achlioptas", Family::Achlioptas),
        ("very-sparse", Family::VerySparse),
        ("sparse-jl, nonzeros 2", Family::SparseJl { nonzeros: 2 }),
        ("hashed-copies, copies 3", Family::HashedCopies { copies: 3 }),
        ("count-sketch", Family::CountSketch),
        ("oporp", Family::Oporp),
        ("srht, without-replacement", Family::Srht { sampling: Sampling::WithoutReplacement }),
        ("srht, with-replacement", Family::Srht { sampling: Sampling::WithReplacement }),
    ];
    for (name, family) in families {
        let line = page.lines().find_map(|line| line.strip_prefix(&format!("| {name} | ")));
        let numbers = line.and_then(|line| line.strip_suffix(" |")).expect(name);
        let stated: Vec<f64> = numbers.split(' ').map(|v| v.parse().expect("a number")).collect();
        let mut row = [0.0; 5];
        let spec = ProjectionSpec::new(family, 11, 5, PublicSeed::new(7)).unwrap();
        spec.build().row(9, &mut row);
        assert_eq!(stated.len(), row.len(), "{name}");
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-11;
        assert!(stated.iter().zip(&row).all(near), "{name}: {stated:?} and {row:?}");
    }
}
