//! Sentence embeddings of package synopses.

use super::points::{Points, numbers};
use crate::error::Result;
use readers::{FileFormat, RowsFile};

static EMBEDDED: &[u8] = include_bytes!("../../data/package-embeddings.npy.gz");

/// 10,000 sentence embeddings of 384 numbers, of the synopses of packages, each of norm one.
///
/// # Errors
/// Never, unless the embedded file was damaged.
pub(crate) fn package_embeddings() -> Result<Points> {
    let name = "embedded sentences".as_ref();
    let file = RowsFile { format: Some(FileFormat::Npy), ..RowsFile::new(name) };
    let input = file.open_from(EMBEDDED)?;
    let d = input.rows.d();
    let mut values = numbers(input)?;
    for row in values.chunks_exact_mut(d) {
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        row.iter_mut().for_each(|x| *x /= norm);
    }
    Points::new("sentence embeddings of 10,000 package synopses", d, values, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_sentences_are_whole() {
        let points = package_embeddings().unwrap();
        assert_eq!((points.n(), points.d()), (10_000, 384));
        let norms = points.values().chunks(384).map(|row| row.iter().map(|x| x * x).sum::<f64>());
        assert!(norms.into_iter().all(|norm| (norm - 1.0).abs() < 1e-12));
    }
}
