//! Symbols packed into as few bits as their alphabet needs.

/// Bits of a symbol of an alphabet of at least two.
pub(crate) fn width(alphabet: u64) -> u32 {
    u64::BITS - (alphabet - 1).leading_zeros()
}

/// Bytes of a row; none when that overflows.
pub(crate) fn row_bytes(slots: usize, width: u32) -> Option<usize> {
    Some(slots.checked_mul(width as usize)?.div_ceil(8))
}

/// Appends a row: symbol i takes bits `width i .. width (i + 1)`, lowest first; bits beyond
/// the last are zero.
pub(crate) fn pack_row(symbols: &[u16], width: u32, out: &mut Vec<u8>) {
    let (mut held, mut bits) = (0u32, 0);
    for &symbol in symbols {
        held |= u32::from(symbol) << bits;
        bits += width;
        while bits >= 8 {
            out.push(held as u8);
            held >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        out.push(held as u8);
    }
}

/// Appends the symbols of a packed row. None when a symbol is outside the alphabet or a bit is
/// set beyond the last.
pub(crate) fn unpack_row(
    bytes: &[u8],
    (slots, width): (usize, u32),
    alphabet: u64,
    out: &mut Vec<u16>,
) -> Option<()> {
    let mut bytes = bytes.iter();
    let (mut held, mut bits) = (0u32, 0);
    for _ in 0..slots {
        while bits < width {
            held |= u32::from(*bytes.next()?) << bits;
            bits += 8;
        }
        let symbol = held & ((1 << width) - 1);
        if u64::from(symbol) >= alphabet {
            return None;
        }
        out.push(symbol as u16);
        held >>= width;
        bits -= width;
    }
    (held == 0 && bytes.next().is_none()).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_row_by_hand() {
        let mut out = Vec::new();
        pack_row(&[5, 2, 7], 3, &mut out);
        assert_eq!(out, [0b1101_0101, 0b1]);
        assert_eq!([width(2), width(3), width(4), width(5), width(65_536)], [1, 2, 2, 3, 16]);
        let mut back = Vec::new();
        assert!(unpack_row(&[0b1101_0101, 0b11], (3, 3), 8, &mut back).is_none(), "stray bit");
        assert!(unpack_row(&out, (3, 3), 7, &mut back).is_none(), "outside the alphabet");
    }

    proptest! {
        #[test]
        fn rows_come_back(
            alphabet in 2u64..=65_536, values in prop::collection::vec(any::<u16>(), 1..40),
        ) {
            let symbols: Vec<u16> =
                values.iter().map(|v| (u64::from(*v) % alphabet) as u16).collect();
            let width = width(alphabet);
            let (mut bytes, mut back) = (Vec::new(), Vec::new());
            pack_row(&symbols, width, &mut bytes);
            prop_assert_eq!(Some(bytes.len()), row_bytes(symbols.len(), width));
            unpack_row(&bytes, (symbols.len(), width), alphabet, &mut back).unwrap();
            prop_assert_eq!(back, symbols);
        }
    }
}
