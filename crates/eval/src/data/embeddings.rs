//! Sentence embeddings of what packages are for.

use super::points::{Points, numbers};
use readers::{FileFormat, RowsFile};

static EMBEDDINGS: &[u8] = include_bytes!("../../data/package-embeddings.npy.gz");

/// Numbers of an embedding.
const WIDTH: usize = 384;

/// 10,000 embeddings of one-line synopses of packages, 384 numbers each, of norm one.
///
/// Stored as bytes; no cosine between a row and what the model gave is below 0.999.
///
/// # Panics
/// Never, unless the embedded file was damaged: its contents are tested.
#[must_use]
pub(crate) fn package_embeddings() -> Points {
    let file = RowsFile { format: Some(FileFormat::Npy), ..RowsFile::new("embedded embeddings") };
    let input = file.open_from(EMBEDDINGS).map_err(crate::Error::from);
    let mut values = input.and_then(numbers).expect("embedded embeddings are well formed");
    for row in values.chunks_exact_mut(WIDTH) {
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        row.iter_mut().for_each(|x| *x /= norm);
    }
    Points::new("package embeddings", WIDTH, values, None).expect("rows of one width")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_embeddings_are_whole() {
        let points = package_embeddings();
        assert_eq!((points.n(), points.d()), (10_000, WIDTH));
        let cosine = |i: usize, j: usize| -> f64 {
            points.row(i).iter().zip(points.row(j)).map(|(a, b)| a * b).sum()
        };
        assert!((0..points.n()).all(|i| (cosine(i, i) - 1.0).abs() < 1e-12));
        // Synopses are about different things, and never about opposite ones.
        let far: Vec<f64> = (0..1000).map(|i| cosine(i, 5000 + i)).collect();
        let mean = far.iter().sum::<f64>() / 1000.0;
        assert!(mean > 0.0 && mean < 0.3 && far.iter().all(|&c| c > -0.5), "{mean}");
    }
}
