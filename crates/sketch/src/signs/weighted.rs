//! The law of a weighted count.

/// The law of a sum of independent terms, each `weight` with some probability and else zero. Mass below
/// 1e-18 at either end is dropped.
pub(super) struct WeightedSum {
    from: usize,
    mass: Vec<f64>,
    /// Room for the next law.
    moved: Vec<f64>,
}

impl Default for WeightedSum {
    fn default() -> Self {
        Self { from: 0, mass: vec![1.0], moved: Vec::new() }
    }
}

impl WeightedSum {
    /// Of terms with their weights and probabilities.
    pub(super) fn of(terms: &[(usize, f64)]) -> Self {
        let mut law = Self::default();
        terms.iter().for_each(|&(weight, p)| law.add(weight, p));
        law
    }

    fn add(&mut self, weight: usize, p: f64) {
        let n = self.mass.len();
        self.moved.clear();
        self.moved.resize(n + weight, 0.0);
        self.moved[..n].iter_mut().zip(&self.mass).for_each(|(new, m)| *new = (1.0 - p) * m);
        self.moved[weight..].iter_mut().zip(&self.mass).for_each(|(new, m)| *new += p * m);
        let kept = |m: &f64| *m >= 1e-18;
        let last = self.moved.iter().rposition(kept).unwrap_or(0);
        let first = self.moved.iter().position(kept).unwrap_or(0).min(last);
        self.mass.clear();
        self.mass.extend_from_slice(&self.moved[first..=last]);
        self.from += first;
    }

    /// Probabilities of at most, and of at least, this sum.
    pub(super) fn tails(&self, sum: usize) -> (f64, f64) {
        let at = |s: &usize| (self.from + s).cmp(&sum);
        let over = |keep: fn(core::cmp::Ordering) -> bool| -> f64 {
            (0..self.mass.len()).filter(|s| keep(at(s))).map(|s| self.mass[s]).sum()
        };
        (over(|o| o.is_le()), over(|o| o.is_ge()))
    }
}
