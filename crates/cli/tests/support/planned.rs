//! The rows and the budget of plans that are held against releases.

pub(crate) const SPENDS: &str = "--epsilon 2 --delta 1e-6";

pub(crate) fn rows(n: usize, d: usize) -> String {
    let value = |i: usize, j: usize| {
        ((i * 7 + j * 13) % 19) as f64 / 19.0 * if j == 0 { 0.3 } else { 0.02 }
    };
    let row = |i| (0..d).map(|j| value(i, j).to_string()).collect::<Vec<_>>().join(",");
    let names: String = (0..d).map(|j| format!("{}c{j}", if j > 0 { "," } else { "" })).collect();
    core::iter::once(names).chain((0..n).map(row)).map(|line| line + "\n").collect()
}
