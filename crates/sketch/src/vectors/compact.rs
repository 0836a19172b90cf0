//! Released numbers on a coarser grid, packed: a few bits a number.
//!
//! Layout and limits: `docs/FORMAT.md`, section 7. Why nothing is lost but a little precision: `docs/proofs/grid.md`,
//! "A coarser grid afterwards".

use crate::error::{Error, Result};
use crate::memory::zeros;
use crate::rows::block_rows;
use dp_core::noise::{Grid, NoiseLaw};
use dp_core::release_file::InParts;
use rayon::prelude::*;
use std::ops::RangeInclusive;

/// Bits of a packed number. Fewer than the least never pay beside noise of eight steps or more.
const WIDTHS: RangeInclusive<u32> = 6..=32;
/// Bytes before the numbers of a block: rows, width, escapes, 32 bits each.
const HEADER: usize = 12;
/// Blocks that are packed beside each other.
const BESIDE: usize = 16;
/// Bits of a number that is stored whole.
const WHOLE: usize = 64;

/// The grid of spacing at most an eighth of the noise's scale, sigma or b: a function of the stated law alone.
///
/// # Errors
/// Another law than Gaussian or Laplace (the steps of a staircase may be far narrower than its standard deviation),
/// or a scale that no grid follows.
pub(super) fn coarse(law: &NoiseLaw) -> Result<Grid> {
    let scale = match law {
        NoiseLaw::RoundedGaussian { sigma, .. } => sigma.get(),
        NoiseLaw::RoundedLaplace { scale, .. } => scale.get(),
        _ => {
            let allowed =
                "f64 or f32 for this noise: compact files hold Gaussian and Laplace noise";
            return Err(Error::invalid("element", "compact", allowed));
        }
    };
    // The exponent of the largest power of two that is not above the scale: a scale is at least 2^9 times a grid's
    // spacing, and so far from the subnormal range.
    Ok(Grid::new((scale.to_bits() >> 52) as i32 - 1023 - 3)?)
}

/// The number of steps, for what can be packed; beyond any width for what cannot.
fn steps(value: f64, scale: f64) -> i64 {
    // Values lie on the grid: the product is exact, or too large for every width. `as` saturates.
    (value * scale) as i64
}

/// Bits that a number of steps takes: those of its absolute value, and one.
fn bits(steps: i64) -> u32 {
    u64::BITS - steps.unsigned_abs().leading_zeros() + 1
}

/// Rounds rows of k numbers to the grid and hands them on in blocks, in order.
///
/// # Errors
/// Of `put`.
pub(super) fn pack(
    values: &[f64],
    k: usize,
    grid: Grid,
    mut put: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let step = block_rows(k) * k;
    // Several blocks at a time, one a thread: memory stays that of a few.
    for part in values.chunks(step * BESIDE) {
        let blocks: Vec<Vec<u8>> = part.par_chunks(step).map(|b| packed(b, k, grid)).collect();
        blocks.iter().try_for_each(|block| put(block))?;
    }
    Ok(())
}

/// One block. The width is that of the fewest bytes, the least where several are.
fn packed(values: &[f64], k: usize, grid: Grid) -> Vec<u8> {
    let values: Vec<f64> = values.iter().map(|&v| grid.round(v)).collect();
    let scale = grid.spacing().recip();
    let mut counts = [0usize; WHOLE + 2];
    values.iter().for_each(|&v| counts[bits(steps(v, scale)) as usize] += 1);
    let beyond = |width: u32| counts[width as usize + 1..].iter().sum::<usize>();
    let cost = |width: u32| values.len() * width as usize + WHOLE * beyond(width);
    let width = WIDTHS.min_by_key(|&width| cost(width)).expect("widths");
    let mut out = Vec::with_capacity(HEADER + cost(width) / 8 + 1);
    for word in [values.len() / k, width as usize, beyond(width)] {
        out.extend_from_slice(&(word as u32).to_le_bytes());
    }
    let half = 1i64 << (width - 1);
    let (mut held, mut filled) = (0u64, 0);
    for &value in &values {
        let steps = steps(value, scale);
        // Zero says that the number stands behind.
        let symbol = if bits(steps) <= width { steps + half } else { 0 };
        held |= (symbol as u64) << filled;
        filled += width;
        if filled >= 32 {
            out.extend_from_slice(&(held as u32).to_le_bytes());
            held >>= 32;
            filled -= 32;
        }
    }
    out.extend_from_slice(&held.to_le_bytes()[..filled.div_ceil(8) as usize]);
    let whole = values.iter().filter(|&&v| bits(steps(v, scale)) > width);
    whole.for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
    out
}

/// A block of a payload.
struct Block<'a> {
    count: usize,
    width: u32,
    packed: &'a [u8],
    whole: &'a [[u8; 8]],
}

fn refused(reason: impl Into<String>) -> Error {
    dp_core::Error::file("payload", reason).into()
}

fn wrong() -> Error {
    refused("a block's escapes are not those of its numbers, or a bit is set beyond the last")
}

/// What a block says of itself.
struct Lengths {
    rows: usize,
    count: usize,
    width: u32,
    /// Bytes of its packed numbers.
    packed: usize,
    escapes: usize,
}

/// None for what no block says.
fn lengths(header: &[u8; HEADER], k: usize) -> Option<Lengths> {
    let (words, _) = header.as_chunks::<4>();
    let [rows, width, escapes] = [0, 1, 2].map(|i| u32::from_le_bytes(words[i]));
    let rows = usize::try_from(rows).ok()?;
    if !(1..=block_rows(k)).contains(&rows) || !WIDTHS.contains(&width) {
        return None;
    }
    let count = rows.checked_mul(k)?;
    let packed = count.checked_mul(width as usize)?.div_ceil(8);
    let escapes = usize::try_from(escapes).ok().filter(|escapes| *escapes <= count)?;
    Some(Lengths { rows, count, width, packed, escapes })
}

/// The first block of a payload, its rows, and what follows it. Nothing is believed beyond the bytes that are there.
fn split(payload: &[u8], k: usize) -> Option<(Block<'_>, usize, &[u8])> {
    let (header, rest) = payload.split_first_chunk()?;
    let Lengths { rows, count, width, packed, escapes } = lengths(header, k)?;
    let (packed, rest) = rest.split_at_checked(packed)?;
    let (whole, rest) = rest.split_at_checked(8 * escapes)?;
    Some((Block { count, width, packed, whole: whole.as_chunks().0 }, rows, rest))
}

impl Block<'_> {
    /// The numbers. None for an escape too many or too few, one that is not on the grid or fits the width, or a bit beyond the last.
    fn unpack(&self, grid: Grid, out: &mut [f64]) -> Option<()> {
        let (spacing, scale) = (grid.spacing(), grid.spacing().recip());
        let (width, half) = (self.width as usize, 1i64 << (self.width - 1));
        let mask = (1u64 << width) - 1;
        let mut escapes = 0;
        // Eight numbers take as many bytes as one takes bits.
        for (group, out) in self.packed.chunks(width).zip(out.chunks_mut(8)) {
            let mut bytes = [0u8; 40];
            bytes[..group.len()].copy_from_slice(group);
            for (j, place) in out.iter_mut().enumerate() {
                let at = j * width;
                let window: [u8; 8] = bytes[at / 8..at / 8 + 8].try_into().expect("eight bytes");
                let symbol = u64::from_le_bytes(window) >> (at % 8) & mask;
                escapes += usize::from(symbol == 0);
                // Filled in below.
                *place =
                    if symbol == 0 { f64::NAN } else { (symbol as i64 - half) as f64 * spacing };
            }
        }
        let spare = 8 * self.packed.len() - self.count * width;
        let last = self.packed.last().copied().unwrap_or(0);
        if escapes != self.whole.len() || u32::from(last) >> (8 - spare) != 0 {
            return None;
        }
        if escapes > 0 {
            let places = out.iter_mut().filter(|v| v.is_nan());
            for (place, bytes) in places.zip(self.whole) {
                let value = f64::from_le_bytes(*bytes);
                let fits = bits(steps(value, scale)) <= self.width;
                if fits || !value.is_finite() || grid.round(value) != value {
                    return None;
                }
                *place = value;
            }
        }
        Some(())
    }
}

/// Adds the numbers of the next block of a payload.
///
/// # Errors
/// [`dp_core::Error::File`] for what is no block, [`dp_core::Error::Io`].
pub(super) fn unpack_next(
    file: &mut InParts,
    k: usize,
    grid: Grid,
    values: &mut Vec<f64>,
) -> Result<()> {
    let none = || refused("no block of numbers stands where one should");
    let mut bytes = vec![0; HEADER];
    file.read(&mut bytes)?;
    let behind = lengths(bytes.as_slice().try_into().expect("a header"), k).ok_or_else(none)?;
    let length = HEADER + behind.packed + 8 * behind.escapes;
    if length as u64 > file.left() + HEADER as u64 {
        return Err(none());
    }
    bytes.resize(length, 0);
    file.read(&mut bytes[HEADER..])?;
    let (block, _, _) = split(&bytes, k).ok_or_else(none)?;
    let from = values.len();
    values.resize(from + block.count, 0.0);
    block.unpack(grid, &mut values[from..]).ok_or_else(wrong)
}

/// Numbers of `rows` rows of k. Memory is at most that of eleven times the bytes.
///
/// # Errors
/// [`dp_core::Error::File`] for blocks that are not those of so many rows.
pub(super) fn unpack(payload: &[u8], (rows, k): (usize, usize), grid: Grid) -> Result<Vec<f64>> {
    let (mut blocks, mut rest, mut found) = (Vec::new(), payload, 0usize);
    while !rest.is_empty() {
        let place = payload.len() - rest.len();
        let Some((block, rows, behind)) = split(rest, k) else {
            return Err(refused(format!("no block of numbers stands at byte {place}")));
        };
        blocks.push(block);
        // Each block has twelve bytes, and rows within a limit.
        found += rows;
        rest = behind;
    }
    if found != rows {
        return Err(dp_core::Error::file("shape", "the blocks hold another number of rows").into());
    }
    let mut values = zeros(blocks.iter().map(|block| block.count).sum());
    let (mut places, mut left) = (Vec::with_capacity(blocks.len()), &mut values[..]);
    for block in &blocks {
        let (place, behind) = left.split_at_mut(block.count);
        places.push(place);
        left = behind;
    }
    let fine = blocks.par_iter().zip(places).all(|(block, out)| block.unpack(grid, out).is_some());
    if fine { Ok(values) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::author::AUTHOR;
    use crate::estimate::sum_of_squared_differences;
    use crate::projection::{Family, ProjectionSpec};
    use crate::vectors::{Pairs, PrivateSketch};
    use dp_core::noise::AdditiveNoise;
    use dp_core::{NoiseRng, PublicSeed};
    use proptest::prelude::*;

    fn there_and_back(values: &[f64], k: usize, grid: Grid) -> Vec<u8> {
        let mut bytes = Vec::new();
        let keep = |block: &[u8]| {
            bytes.extend_from_slice(block);
            Ok(())
        };
        pack(values, k, grid, keep).unwrap();
        let back = unpack(&bytes, (values.len() / k, k), grid).unwrap();
        assert_eq!(back.len(), values.len());
        for (found, value) in back.iter().zip(values) {
            assert_eq!(found.to_bits(), grid.round(*value).to_bits());
        }
        bytes
    }

    #[test]
    fn a_block_by_hand() {
        let grid = Grid::new(-1).unwrap();
        // 1, -2 and 7 steps: ties go to the even step, and so many steps that they stand behind.
        let bytes = there_and_back(&[0.5, -0.75, 3.5, 5e8], 2, grid);
        let head = [2u32, 6, 1].map(u32::to_le_bytes).concat();
        let symbols = [33u32, 30, 39, 0].iter().rev().fold(0, |all, s| all << 6 | s);
        let packed = &symbols.to_le_bytes()[..3];
        assert_eq!(bytes, [&head[..], packed, &5e8f64.to_le_bytes()].concat());
    }

    #[test]
    fn the_ends_of_every_width_come_back() {
        for exponent in [-960, -3, 0, 930] {
            let grid = Grid::new(exponent).unwrap();
            let ends = (4..60).flat_map(|b| [-1i64, 0, 1].map(|d| (1i64 << b) + d));
            let values: Vec<f64> =
                ends.flat_map(|s| [s as f64, -s as f64]).map(|s| s * grid.spacing()).collect();
            for k in [1, values.len()] {
                there_and_back(&values, k, grid);
            }
            // Each alone chooses its own width.
            values.iter().for_each(|&value| drop(there_and_back(&[value; 9], 3, grid)));
        }
        let huge = [f64::MAX, -f64::MAX, 1e300, 0.0, -0.0, f64::MIN_POSITIVE, -5e-324];
        for exponent in [-960, 0, 960] {
            there_and_back(&huge, 7, Grid::new(exponent).unwrap());
        }
        assert!(there_and_back(&[], 3, Grid::new(0).unwrap()).is_empty());
    }

    #[test]
    fn the_grid_is_at_most_an_eighth_of_the_scale() {
        let below = |x: f64| f64::from_bits(x.to_bits() - 1);
        for (scale, exponent) in [
            (1.0, -3),
            (below(1.0), -4),
            (1.999, -3),
            (2.0, -2),
            (1e-9, -33),
            (2f64.powi(-951), -954),
        ] {
            let sigma = dp_core::NoiseScale::new(scale).unwrap();
            let fine = Grid::new((exponent - 20).max(-960)).unwrap();
            let law = NoiseLaw::RoundedGaussian { sigma, grid: fine };
            assert_eq!(coarse(&law).unwrap().exponent(), exponent, "{scale}");
        }
        assert!(coarse(&NoiseLaw::None).is_err());
    }

    #[test]
    fn altered_blocks_are_refused() {
        let grid = Grid::new(0).unwrap();
        let good = there_and_back(&[1.0, -2.0, 1e9, 4.0, 5.0, 6.0], 3, grid);
        assert_eq!(good.len(), HEADER + 5 + 8);
        let read = |bytes: &[u8], rows| unpack(bytes, (rows, 3), grid);
        let altered = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            read(&bytes, 2)
        };
        read(&good, 2).unwrap();
        assert!(read(&good, 1).is_err() && read(&good, 3).is_err(), "rows");
        for length in 0..good.len() {
            assert!(read(&good[..length], 2).is_err(), "{length} bytes");
        }
        assert!(altered(0, 0).is_err() && altered(0, 1).is_err(), "rows of a block");
        for width in [0, 5, 7, 33, 255] {
            assert!(altered(4, width).is_err(), "width {width}");
        }
        for escapes in [0, 2, 255] {
            assert!(altered(8, escapes).is_err(), "{escapes} escapes");
        }
        assert!(altered(HEADER + 4, good[HEADER + 4] | 16).is_err(), "a bit beyond the last");
        let escape = |value: f64| {
            let mut bytes = good.clone();
            bytes[HEADER + 5..].copy_from_slice(&value.to_le_bytes());
            read(&bytes, 2)
        };
        escape(-1e300).unwrap();
        for value in [31.0, -31.0, 0.0, -0.0, 300.5, f64::NAN, f64::INFINITY, -f64::INFINITY] {
            assert!(escape(value).is_err(), "{value} is no escape");
        }
        // A block of more rows than a writer makes, though its bytes are there.
        let mut long = [4097u32, 6, 0].map(u32::to_le_bytes).concat();
        long.resize(HEADER + 4097 * 6 / 8 + 1, 255);
        assert!(unpack(&long, (4097, 1), grid).is_err());
    }

    /// On a grid so coarse that a wrong variance, or none, is seen: two standard deviations a step. Squared distances of
    /// 2,000 pairs of rows whose places between the steps differ; six standard errors, so a false alarm is rarer than 1e-8.
    #[test]
    fn estimates_count_the_rounding() {
        let (n, k) = (4000, 64);
        let spec = ProjectionSpec::new(Family::Identity, k, k, PublicSeed::new(0)).unwrap();
        let exact: Vec<f64> = (0..n * k).map(|i| (i as f64 * 0.618_034).fract() * 6.0).collect();
        let sigma = dp_core::NoiseScale::new(1.0).unwrap();
        let noise = AUTHOR.gaussian(sigma, Grid::new(-30).unwrap()).unwrap();
        let mut values = exact.clone();
        noise.add_to(&mut NoiseRng::deterministic_not_private(30), &mut values).unwrap();
        let grid = Grid::new(1).unwrap();
        values.iter_mut().for_each(|v| *v = grid.round(*v));
        let rounded = PrivateSketch::new(spec, noise.law(), values).unwrap();
        // Mean of the errors, and of their squares, over what is stated.
        let judged = |sketch: &PrivateSketch| {
            let (pairs, mut sums) = (Pairs::of_sketch(sketch, f64::INFINITY), [0.0; 2]);
            for i in (0..n).step_by(2) {
                let found = pairs.squared_distance(i, i + 1).unwrap();
                let (x, y) = (&exact[i * k..(i + 1) * k], &exact[(i + 1) * k..(i + 2) * k]);
                let error = found.value - sum_of_squared_differences(x, y);
                sums[0] += error / found.standard_error;
                sums[1] += (error / found.standard_error).powi(2);
            }
            let draws = (n / 2) as f64;
            [sums[0] / draws * draws.sqrt(), (sums[1] / draws - 1.0) * (draws / 2.0).sqrt()]
        };
        let [bias, spread] = judged(&rounded.clone().rounded_to(grid));
        assert!(bias.abs() < 6.0 && spread.abs() < 6.0, "{bias} {spread}");
        let finer = Grid::new(0).unwrap();
        for wrong in [rounded.clone(), rounded.rounded_to(finer)] {
            let bias = judged(&wrong)[0];
            assert!(bias > 12.0, "a term left out is not seen: {bias}");
        }
    }

    proptest! {
        #[test]
        fn numbers_come_back(
            values in prop::collection::vec(any::<f64>().prop_filter("finite", |v| v.is_finite()), 0..70),
            small in prop::collection::vec(-5000i32..5000, 0..200),
            exponent in -40i32..40, k in 1usize..5,
        ) {
            let grid = Grid::new(exponent).unwrap();
            let mut all = values;
            all.extend(small.iter().map(|s| f64::from(*s) * 0.25 * grid.spacing()));
            all.truncate(all.len() / k * k);
            there_and_back(&all, k, grid);
        }

        #[test]
        fn random_blocks_never_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200), width in 0u32..40, rows in 0u32..40,
        ) {
            let mut block = [rows, width, 1].map(u32::to_le_bytes).concat();
            block.extend(bytes);
            let grid = Grid::new(-4).unwrap();
            let _ = unpack(&block, (rows as usize, 3), grid);
        }
    }
}
