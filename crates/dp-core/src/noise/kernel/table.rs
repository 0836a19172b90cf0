//! The tables of the tail quantiles, written and certified by
//! `tools/reference/quantile_tables.py`.

use super::tail::Tail;

/// Polynomials of degree 7: row `32 (e + 32) + j` covers V in
/// `2^e [1 + j/32, 1 + (j+1)/32)`, e in -32..0, in the variable
/// `V / 2^e - (1 + (2j+1)/64)`. A row is one line of the cache.
#[repr(align(64))]
pub(in crate::noise) struct Table {
    pub(in crate::noise) rows: [[f64; 8]; 1024],
    /// Bound on the error of the computed `F(V)`, in units of s, product with s
    /// included, when 63 bits of V are known and V >= 2^-9.
    pub(in crate::noise) first_error: f64,
    /// The same when 127 bits are known and V >= 2^-32.
    pub(in crate::noise) second_error: f64,
}

impl Table {
    pub(in crate::noise) fn of(tail: Tail) -> &'static Self {
        match tail {
            Tail::Gaussian => &GAUSSIAN,
            Tail::Laplace => &LAPLACE,
        }
    }
}

static GAUSSIAN: Table = Table {
    rows: parse(include_bytes!("gaussian.bin")),
    first_error: power(-49),
    second_error: power(-48),
};

static LAPLACE: Table = Table {
    rows: parse(include_bytes!("laplace.bin")),
    first_error: power(-48),
    second_error: 3.0 * power(-48),
};

const fn power(exponent: i64) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

const fn parse(bytes: &[u8; 65536]) -> [[f64; 8]; 1024] {
    let mut rows = [[0.0; 8]; 1024];
    let mut i = 0;
    while i < 8192 {
        let (words, _) = bytes.as_chunks::<8>();
        rows[i / 8][i % 8] = f64::from_bits(u64::from_le_bytes(words[i]));
        i += 1;
    }
    rows
}
