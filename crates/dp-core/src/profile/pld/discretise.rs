//! A loss distribution on a grid, once from above and once from below.
//!
//! Soundness: `docs/proofs/composition-pld.md`, sections 2 and 3.

use super::cut::Cut;
use super::law::Law;
use super::panels::Cell;

/// Unit roundoff.
const U: f64 = 0.5 * f64::EPSILON;

/// Masses of P on the losses `(first + i) h`; the mass of Q at loss x is `e^-x` times it.
///
/// Its profile is `p_infinite + sum p_i (1 - e^(eps - x_i))_+`. It need not be a
/// probability: only the profile's order matters.
#[derive(Debug, Clone)]
pub(super) struct Measure {
    /// Index of the first grid point.
    pub(super) first: i64,
    /// Masses.
    pub(super) p: Vec<f64>,
    /// Mass of P at infinite loss.
    pub(super) p_infinite: f64,
}

/// The profile of `above` is nowhere below the law's, that of `below` nowhere above it.
#[derive(Debug, Clone)]
pub(super) struct Sandwich {
    pub(super) above: Measure,
    pub(super) below: Measure,
}

/// The grid's ends, as indices: P is at most `cut` outside.
pub(super) fn ends(law: &Law, h: f64, cut: Cut) -> (i64, i64) {
    let (low, high) = law.range(cut.low, cut.high);
    let high = high.min(cut.most).max(low);
    // Two steps more, so that rounding cannot leave an atom outside.
    ((low / h).floor() as i64 - 1, (high / h).ceil() as i64 + 1)
}

/// A law's masses on the multiples of `h`, before they are rounded either way.
struct Cells {
    lo: i64,
    cells: Vec<Cell>,
    on_grid: Vec<f64>,
    below_grid: f64,
    above_grid: f64,
    p_infinite: f64,
    /// Mass of unknown loss: infinite from above, missing from below.
    lost: f64,
    /// How far all masses together are off: as much more from above, each less from below.
    error: f64,
    /// How far each is off, relatively.
    each: f64,
}

fn collect(law: &Law, h: f64, cut: Cut) -> Cells {
    let (lo, hi) = ends(law, h, cut);
    let at = |i: i64| i as f64 * h;
    let nodes = law.nodes(cut);
    let mut cells = law.cells(lo, hi, h, &nodes);
    let (mut below_grid, _) = law.sides(at(lo), &nodes);
    let (_, mut above_grid) = law.sides(at(hi), &nodes);
    let atoms = law.atoms(at(lo), at(hi));
    below_grid += atoms.below;
    above_grid += atoms.above;
    // Atoms on the grid (up to rounding, which the answer's padding pays for) stay there.
    let mut on_grid = vec![0.0; cells.len() + 1];
    for (loss, p) in atoms.list {
        let nearest = (loss / h).round() as i64;
        let left = (loss / h).floor() as i64;
        let index = |i: i64| usize::try_from(i - lo).ok();
        if (loss - at(nearest)).abs() <= 1e-14 * (loss.abs() + h)
            && let Some(mass) = index(nearest).and_then(|i| on_grid.get_mut(i))
        {
            *mass += p;
        } else if left < lo {
            below_grid += p;
        } else if let Some(cell) = index(left).and_then(|i| cells.get_mut(i)) {
            cell.p += p;
            cell.excess += p * -(at(left) - loss).exp_m1();
        } else {
            above_grid += p;
        }
    }
    let (p_infinite, lost, error) = (law.p_infinite(), nodes.lost, nodes.error);
    let each = law.error();
    Cells { lo, cells, on_grid, below_grid, above_grid, p_infinite, lost, error, each }
}

impl Cells {
    fn above(&self, h: f64) -> Measure {
        Measure {
            first: self.lo,
            p: self.spread(h),
            p_infinite: (self.p_infinite + self.above_grid + self.lost + self.error)
                * (1.0 + self.each),
        }
    }

    fn below(&self, h: f64) -> Measure {
        let less = |x: f64| (x - self.error).max(0.0);
        let cell = |c: &Cell| Cell { p: less(c.p), excess: less(c.excess), ..*c };
        let cells: Vec<Cell> = self.cells.iter().map(cell).collect();
        let above_grid = less(self.above_grid) * (1.0 - self.each);
        Measure {
            first: self.lo,
            p: contract(&cells, &self.on_grid, h, above_grid, self.each),
            p_infinite: self.p_infinite * (1.0 - self.each),
        }
    }

    /// From above: each cell's mass moves to the cell's ends, keeping its P and Q mass
    /// (connect the dots); what is uncertain moves right.
    fn spread(&self, h: f64) -> Vec<f64> {
        let (step, each) = (-(-h).exp_m1(), self.each);
        let mut p: Vec<f64> = self.on_grid.iter().map(|p| p * (1.0 + each)).collect();
        p[0] += self.below_grid * (1.0 + each);
        for (i, cell) in self.cells.iter().enumerate() {
            let m = cell.p * (1.0 + each);
            let excess = cell.excess * (1.0 + 2.0 * each) + 2.0 * each * m;
            let right = (excess / step).clamp(0.0, m);
            p[i] += m - right;
            // All that is not known moves to the cell's end.
            p[i + 1] += right + cell.unknown * (1.0 + each);
        }
        p
    }
}

/// Discretises `law` on the multiples of `h`, both ways.
pub(super) fn sandwich(law: &Law, h: f64, cut: Cut) -> Sandwich {
    let cells = collect(law, h, cut);
    Sandwich { above: cells.above(h), below: cells.below(h) }
}

/// The upper side of [`sandwich`] alone.
pub(super) fn upper(law: &Law, h: f64, cut: Cut) -> Measure {
    collect(law, h, cut).above(h)
}

/// From below: connect the dots, lowered by the largest gap between the chord and
/// the two tangents of each cell, then made convex again.
fn contract(cells: &[Cell], on_grid: &[f64], h: f64, high_mass: f64, each: f64) -> Vec<f64> {
    // The last cells are rounded down whole instead; their number grows until the
    // lowered function is convex at its last kink. All of them is the classical rounding.
    let used = cells.iter().rposition(|c| c.p > 0.0).map_or(0, |i| i + 1);
    let mut p: Vec<f64> = on_grid.iter().map(|p| p * (1.0 - each)).collect();
    if let Some(last) = p.last_mut() {
        *last += high_mass.max(0.0);
    }
    let mut zone = 1;
    loop {
        if let Some(p) = contract_below(&cells[..used], p.clone(), h, zone, each) {
            return p;
        }
        zone *= 2;
    }
}

fn contract_below(
    cells: &[Cell],
    mut p: Vec<f64>,
    h: f64,
    zone: usize,
    each: f64,
) -> Option<Vec<f64>> {
    let (step, growth) = (-(-h).exp_m1(), h.exp_m1());
    let count = cells.len();
    let mut gap = vec![0.0; count];
    for (i, cell) in cells.iter().enumerate() {
        let m = cell.p * (1.0 - each);
        if i + zone >= count {
            p[i] += m;
            continue;
        }
        let excess = cell.excess * (1.0 - 2.0 * each) - 2.0 * each * m;
        let excess = excess.clamp(0.0, m * step);
        let right = (excess / step).min(m);
        p[i] += m - right;
        p[i + 1] += right;
        if excess > 0.0 {
            // The kink of the tangents lies at loss x - ln(1 - excess/m).
            let y = m - excess;
            // No product of two masses, which would underflow far below delta = 1e-150.
            let share = (1.0 - excess / (y * growth)).max(0.0) + 4.0 * U;
            gap[i] = excess * share * (1.0 + 1e-12);
        }
    }
    let gap_of = |i: usize| gap.get(i).copied().unwrap_or(0.0);
    let drop = |i: usize| if i == 0 { gap_of(0) } else { gap_of(i - 1).max(gap_of(i)) };
    for (i, p) in p.iter_mut().enumerate() {
        let right = (drop(i + 1) - drop(i)) / growth;
        let left = if i == 0 { 0.0 } else { (drop(i) - drop(i - 1)) / step };
        *p -= right - left;
    }
    convex_minorant(p, h)
}

/// Removes negative kinks: each is replaced by the chord between its neighbours.
/// `None` when the last kink is negative (there is no chord to its right).
fn convex_minorant(p: Vec<f64>, h: f64) -> Option<Vec<f64>> {
    let mut kept: Vec<(usize, f64)> = Vec::with_capacity(p.len());
    for (i, &mass) in p.iter().enumerate() {
        let mut mass = mass;
        while let Some(&(j, kink)) = kept.last() {
            if kink >= 0.0 {
                break;
            }
            kept.pop();
            match kept.last_mut() {
                None => mass += kink,
                Some((k, left)) => {
                    let (dl, dr) = ((j - *k) as f64 * h, (i - j) as f64 * h);
                    let span = dr.exp_m1() - (-dl).exp_m1();
                    // kink < 0: both neighbours lose.
                    *left += kink * (-dl).exp() * dr.exp_m1() / span;
                    mass += kink * dr.exp() * -(-dl).exp_m1() / span;
                }
            }
        }
        kept.push((i, mass));
    }
    if kept.last().is_some_and(|&(_, kink)| kink < 0.0) {
        return None;
    }
    let mut out = vec![0.0; p.len()];
    kept.into_iter().for_each(|(i, mass)| out[i] = mass);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::super::chi::{ChiKind, ChiLoss};
    use super::*;
    use crate::numeric::quadrature::{Chi, LogConcave};

    const CUT: Cut = Cut { low: 1e-15, high: 1e-15, most: f64::INFINITY };

    fn profile(measure: &Measure, h: f64, eps: f64) -> f64 {
        let finite = measure.p.iter().enumerate().map(|(i, &p)| {
            let x = (measure.first + i as i64) as f64 * h;
            p * (-(eps - x).exp_m1()).max(0.0)
        });
        measure.p_infinite + finite.sum::<f64>()
    }

    /// The law's own profile by its tails.
    fn exact(law: &Law, eps: f64) -> f64 {
        let side = |law: &Law, x: f64| {
            let (mut below, mut above) = law.sides(x, &law.nodes(CUT));
            let atoms = law.atoms(f64::NEG_INFINITY, f64::INFINITY);
            for (loss, p) in atoms.list {
                if loss <= x { below += p } else { above += p }
            }
            (below, above)
        };
        let (_, p) = side(law, eps);
        let (q, _) = side(&law.reversed(), -eps);
        law.p_infinite() + p - eps.exp() * q
    }

    #[test]
    fn the_sandwich_holds_the_profile_and_is_thin() {
        for law in Law::samples() {
            for law in [law.clone(), law.reversed()] {
                for h in [0.3, 0.05, 0.011] {
                    let s = sandwich(&law, h, CUT);
                    for i in -400..400 {
                        // Off the atoms: `exact` splits a tie two ways.
                        let eps = f64::from(i) * 0.0173 + 1e-4;
                        let truth = exact(&law, eps);
                        let (up, down) = (profile(&s.above, h, eps), profile(&s.below, h, eps));
                        let room = 1e-11 * (1.0 + eps.exp());
                        assert!(up >= truth - room, "{law:?} h={h} eps={eps}: {up} < {truth}");
                        assert!(down <= truth + room, "{law:?} h={h} eps={eps}: {down} > {truth}");
                        // A cell holds at most all the mass: the gap is at most about h/2.
                        assert!(up - down <= 0.6 * h * (1.0 + eps.exp()), "{law:?} {h} {eps}");
                    }
                }
            }
        }
    }

    /// Densities of a chi variable against 300 bits, six to thirty deviations from the mode: within what is left of the error beside
    /// the rule's, and not within the 1e-12 that was once taken for all.
    #[test]
    fn many_degrees_of_freedom_need_their_error() {
        let mut worst = 0.0f64;
        for (k, z, truth) in [
            (1e3, 10.409_573_201_683_793, -664.792_743_555_899),
            (1e3, 17.480_641_001_683_793, -245.549_752_284_236_55),
            (1e3, 25.258_815_581_683_795, -44.054_124_245_774_24),
            (1e3, 35.865_417_281_683_79, -17.966_621_081_043_34),
            (1e3, 37.986_737_621_683_794, -38.892_559_266_775_51),
            (1e3, 45.764_912_201_683_79, -178.515_717_188_407_85),
            (1e3, 52.835_980_001_683_794, -383.591_479_164_751_66),
            (1e7, 3_141.064_456_768_379_4, -451.576_953_050_062),
            (1e7, 3_148.135_524_568_379_4, -200.867_028_109_099_83),
            (1e7, 3_155.913_699_148_379_2, -41.097_559_632_944),
            (1e7, 3_166.520_300_848_379_5, -18.565_663_887_409_6),
            (1e7, 3_168.641_621_188_379_3, -41.047_247_977_111_17),
            (1e7, 3_176.419_795_768_379, -200.279_680_494_102_68),
            (1e7, 3_183.490_863_568_379, -449.577_854_151_333_95),
        ] {
            let law = Law::Chi(ChiLoss { k, kind: ChiKind::JlDown { lambda: 1.0 } });
            let off = (Chi::new(k).ln_pdf(z) - truth).abs();
            assert!(off <= law.error() - 4.1e-13, "{k} {z}: {off:e}");
            worst = worst.max(off);
        }
        assert!(worst > 1e-12, "{worst:e}");
    }

    /// As if each cell held so much less, of its mass and of its excess, and nothing where that is more than it holds.
    #[test]
    fn what_all_masses_may_be_off_is_missing_from_below() {
        let below = |error: f64, cells: [[f64; 2]; 3]| {
            let cells = cells.map(|[p, excess]| Cell { p, excess, unknown: 0.0 }).to_vec();
            let on_grid = vec![0.0625; 4];
            let sides = [0.0, 0.125 + error];
            let [below_grid, above_grid] = sides;
            let (lo, p_infinite, lost, each) = (-1, 0.0, 0.0, 0.0);
            Cells { lo, cells, on_grid, below_grid, above_grid, p_infinite, lost, error, each }
                .below(0.5)
                .p
        };
        let off = below(0.03125, [[0.25, 0.0625], [0.25, 0.09375], [0.015625, 0.0078125]]);
        assert_eq!(off, below(0.0, [[0.21875, 0.03125], [0.21875, 0.0625], [0.0, 0.0]]));
        assert_ne!(off, below(0.0, [[0.25, 0.03125], [0.25, 0.0625], [0.0, 0.0]]));
    }

    #[test]
    fn what_lies_beyond_the_grid_counts_once_and_on_the_safe_side() {
        // Cuts deep within the law, so that much lies outside.
        let many = Law::Bits { bits: 400, low: 0.4, loss: 1.5f64.ln() };
        for law in Law::samples().into_iter().chain([many]) {
            for law in [law.clone(), law.reversed()] {
                for h in [0.3, 0.05, 0.011] {
                    let cut = Cut { low: 0.05, high: 0.05, most: 0.3 };
                    let s = sandwich(&law, h, cut);
                    let mass = s.above.p_infinite + s.above.p.iter().sum::<f64>();
                    assert!((mass - 1.0).abs() < 1e-10, "{law:?} {h}: {mass}");
                    for i in -900..900 {
                        let eps = f64::from(i) * 0.0373 + 1e-4;
                        let truth = exact(&law, eps);
                        let (up, down) = (profile(&s.above, h, eps), profile(&s.below, h, eps));
                        let room = 1e-11 * (1.0 + eps.exp());
                        assert!(up >= truth - room, "{law:?} {h} {eps}: {up} < {truth}");
                        assert!(down <= truth + room, "{law:?} {h} {eps}: {down} > {truth}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_smooth_law_is_approximated_to_second_order() {
        let law = Law::Gaussian { mu: 1.0 };
        let width = |h: f64| {
            let s = sandwich(&law, h, CUT);
            profile(&s.above, h, 1.234) - profile(&s.below, h, 1.234)
        };
        let ratio = width(0.02) / width(0.01);
        assert!((3.0..5.5).contains(&ratio), "{ratio}");
    }

    #[test]
    fn rounding_down_alone_is_caught_as_unsound_from_above() {
        // The broken twin: connect the dots with the masses of P alone, rounded down.
        let law = Law::Gaussian { mu: 1.0 };
        let h = 0.05;
        let mut s = sandwich(&law, h, CUT);
        s.above.p.remove(0); // every mass one step lower
        assert!(profile(&s.above, h, 1.0) < exact(&law, 1.0));
    }

    /// However small losses and steps are, an atom between two grid points counts at the upper one, too.
    #[test]
    fn an_atom_beside_a_tiny_grid_is_not_moved_down() {
        let h = 1e-6;
        for by in [3.001, 3.4, 3.999] {
            let (high, loss) = (0.3, by * h);
            let law = Law::Response { high, low: high * f64::exp(-loss), loss };
            let above = upper(&law, h, CUT);
            for share in [0.1, 0.5, 0.9] {
                let eps = (3.0 + share * (by - 3.0)) * h;
                let truth = high * -(eps - loss).exp_m1();
                assert!(profile(&above, h, eps) >= truth * (1.0 - 1e-9), "{by} {share}");
            }
        }
    }
}
