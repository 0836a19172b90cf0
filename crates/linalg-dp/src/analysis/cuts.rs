//! Cut queries on a stream of weighted edges.

use super::square::form;
use crate::error::{Error, Result};
use faer::MatRef;

/// The sparse row of an edge: `sqrt(weight) (e_u - e_v)`, of l2 norm `sqrt(2 weight)`.
/// The Gram matrix of such rows is the graph's Laplacian.
///
/// # Errors
/// [`Error::Core`] when the ends are equal or out of range, or the weight is not positive.
pub fn edge_row(vertices: usize, u: usize, v: usize, weight: f64) -> Result<[(usize, f64); 2]> {
    for (name, end) in [("first end", u), ("second end", v)] {
        if end >= vertices {
            return Err(Error::invalid(name, end, format!("[0, {vertices})")));
        }
    }
    if u == v {
        return Err(Error::invalid("second end", v, "another vertex than the first"));
    }
    if !(weight.is_finite() && weight > 0.0) {
        return Err(Error::invalid("weight", weight, "(0, inf)"));
    }
    let root = weight.sqrt();
    Ok([(u, root), (v, -root)])
}

/// A cut: the vertices on one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    side: Vec<bool>,
}

impl Cut {
    /// The cut that separates `members` from the other vertices.
    ///
    /// # Errors
    /// [`Error::Core`] for a member out of range.
    pub fn new(vertices: usize, members: &[usize]) -> Result<Self> {
        let mut side = vec![false; vertices];
        for member in members {
            *side
                .get_mut(*member)
                .ok_or_else(|| Error::invalid("vertex", member, format!("[0, {vertices})")))? =
                true;
        }
        Ok(Self { side })
    }

    /// The weight of the cut in a (released) Laplacian, `x^T L x` for the indicator `x`.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of vertices.
    pub fn weight(&self, laplacian: MatRef<'_, f64>) -> Result<f64> {
        if laplacian.nrows() != self.side.len() || laplacian.ncols() != self.side.len() {
            return Err(Error::shape(
                "laplacian",
                format!("{} x {}", laplacian.nrows(), laplacian.ncols()),
                self.side.len(),
            ));
        }
        Ok(form(laplacian, &self.indicator()))
    }

    /// The indicator vector, centred so that it is orthogonal to the all-ones vector: on a
    /// Laplacian it gives the same weight, and it collects less of the noise.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of vertices.
    pub fn centred_weight(&self, laplacian: MatRef<'_, f64>) -> Result<f64> {
        self.weight(laplacian)?;
        let mut x = self.indicator();
        let mean = x.iter().sum::<f64>() / x.len().max(1) as f64;
        x.iter_mut().for_each(|v| *v -= mean);
        Ok(form(laplacian, &x))
    }

    /// The indicator vector of the side.
    fn indicator(&self) -> Vec<f64> {
        self.side.iter().map(|s| f64::from(u8::from(*s))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;

    #[test]
    fn a_cut_of_the_laplacian_is_the_weight_of_its_edges() {
        let edges = [(0, 1, 2.0), (1, 2, 0.5), (2, 3, 4.0), (3, 0, 1.0)];
        let mut laplacian = Mat::<f64>::zeros(4, 4);
        for (u, v, w) in edges {
            for (i, a) in edge_row(4, u, v, w).expect("valid") {
                for (j, b) in edge_row(4, u, v, w).expect("valid") {
                    laplacian[(i, j)] += a * b;
                }
            }
        }
        for members in [vec![0], vec![0, 1], vec![0, 2], vec![1, 2, 3]] {
            let cut = Cut::new(4, &members).expect("valid");
            let crossing = |u: &usize, v: &usize| members.contains(u) != members.contains(v);
            let exact: f64 =
                edges.iter().filter(|(u, v, _)| crossing(u, v)).map(|(_, _, w)| w).sum();
            assert!((cut.weight(laplacian.as_ref()).expect("size") - exact).abs() < 1e-12);
            assert!((cut.centred_weight(laplacian.as_ref()).expect("size") - exact).abs() < 1e-12);
        }
    }

    #[test]
    fn bad_edges_are_named() {
        for (u, v, w) in [(0, 0, 1.0), (0, 9, 1.0), (9, 0, 1.0), (0, 1, -1.0), (0, 1, f64::NAN)] {
            assert!(matches!(edge_row(4, u, v, w), Err(Error::Core(_))));
        }
        assert!(matches!(Cut::new(3, &[3]), Err(Error::Core(_))));
    }
}
