//! Draws the nonzeros of the sparse projections: lists of signed columns of P.

use super::spec::{Family, ProjectionSpec};
use rand_core::Rng;

/// One nonzero: column of P in the low 31 bits, sign in the top bit.
pub(crate) type Signed = u32;

/// A sign bit in the top bit of a [`Signed`].
pub(crate) const SIGN: u32 = 1 << 31;

/// A uniform whole number below `n` (Lemire 2019: multiply, reject the short residues).
fn below(bits: &mut impl Rng, n: u64) -> u64 {
    loop {
        let wide = u128::from(bits.next_u64()) * u128::from(n);
        let low = wide as u64;
        if low >= n || low >= n.wrapping_neg() % n {
            return (wide >> 64) as u64;
        }
    }
}

fn signed(column: u64, word: u64) -> Signed {
    column as u32 | (word as u32) << 31
}

/// Calls `push(coordinate, nonzero)` for the nonzeros of P, coordinates increasing.
pub(crate) fn for_each_nonzero(spec: ProjectionSpec, mut push: impl FnMut(usize, Signed)) {
    let (d, k) = (spec.d(), spec.k() as u64);
    match spec.family() {
        Family::Oporp => {
            let length = (d as u64).div_ceil(k);
            let mut places: Vec<u32> = (0..(length * k) as u32).collect();
            let mut bits = spec.seed().generator(0);
            let mut signs = spec.seed().generator(1);
            for i in 0..d {
                let other = i + below(&mut bits, (places.len() - i) as u64) as usize;
                places.swap(i, other);
                push(i, signed(u64::from(places[i]) / length, signs.next_u64()));
            }
        }
        Family::CountSketch => each_row(
            spec,
            |bits, row| {
                row.push(signed(below(bits, k), bits.next_u64()));
            },
            push,
        ),
        Family::HashedCopies { copies } => each_row(
            spec,
            |bits, row| {
                row.extend((0..copies).map(|_| signed(below(bits, k), bits.next_u64())));
            },
            push,
        ),
        Family::SparseJl { nonzeros } => each_row(
            spec,
            |bits, row| {
                // Floyd's sample of distinct columns.
                for top in k - u64::from(nonzeros)..k {
                    let drawn = below(bits, top + 1) as u32;
                    let taken = row.iter().any(|&s| s & !SIGN == drawn);
                    row.push(signed(if taken { top } else { u64::from(drawn) }, bits.next_u64()));
                }
            },
            push,
        ),
        Family::VerySparse => {
            let keep = ((1u64 << 63) as f64 / (d as f64).sqrt()) as u64;
            each_row(
                spec,
                |bits, row| {
                    row.extend((0..k).filter_map(|j| {
                        let word = bits.next_u64();
                        (word >> 1 < keep).then(|| signed(j, word))
                    }));
                },
                push,
            );
        }
        Family::Grouped { groups } => {
            for (i, g) in groups.signed().iter().enumerate() {
                let sign = if *g < 0 { SIGN } else { 0 };
                push(i, (g.unsigned_abs() - 1) | sign);
            }
        }
        family => unreachable!("{family:?} is not made of sparse signs"),
    }
}

fn each_row(
    spec: ProjectionSpec,
    mut fill: impl FnMut(&mut dp_core::PublicGenerator, &mut Vec<Signed>),
    mut push: impl FnMut(usize, Signed),
) {
    let mut row = Vec::new();
    for i in 0..spec.d() {
        row.clear();
        fill(&mut spec.seed().generator(i as u64), &mut row);
        row.iter().for_each(|&s| push(i, s));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::convert::Infallible;
    use rand_core::TryRng;

    /// Words that were written down.
    struct Words(Vec<u64>);

    impl TryRng for Words {
        type Error = Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            self.try_next_u64().map(|word| word as u32)
        }

        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            Ok(self.0.pop().expect("a word"))
        }

        fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
            unreachable!("words only")
        }
    }

    /// Of 2^64 words one is too many for three columns: that word is drawn again.
    #[test]
    fn a_word_too_many_is_drawn_again() {
        assert_eq!(below(&mut Words(vec![1 << 63, 0]), 3), 1);
        assert_eq!(below(&mut Words(vec![1]), 3), 0);
        // For four columns there is none.
        assert_eq!(below(&mut Words(vec![0]), 4), 0);
    }
}
