//! Two shops compare what their customers buy: nobody can tell one item of one basket.

use dp_core::{Budget, NoiseRng, Probability, PublicSeed};
use sketch::sets::{BinResponse, ItemSet, SetPairs};

/// The baskets of a shop, as sets of words.
fn baskets(lines: &[&str]) -> sketch::Result<Vec<ItemSet>> {
    lines.iter().map(|line| ItemSet::from_words(line.split(' '))).collect()
}

pub(crate) fn main() -> sketch::Result<()> {
    let ours = baskets(&["bread butter jam tea milk", "nails hammer wood glue paint"])?;
    let theirs = baskets(&["bread butter jam tea coffee", "wood glue saw paint varnish"])?;

    // One item of a basket may be added or removed; pure differential privacy. Both shops agree on a
    // public seed, so that their signatures can be compared.
    let mechanism = BinResponse::calibrate(512, 8, 1, Budget::new(4.0, 0.0)?)?;
    let (seed, mut rng) = (PublicSeed::new(2024), NoiseRng::from_os()?);
    let ours = mechanism.release(&ours, seed, &mut rng)?;
    let theirs = mechanism.release(&theirs, seed, &mut rng)?;

    // Either side answers from the two releases.
    sketch::verify(&theirs)?;
    let pairs = SetPairs::between(&ours, &theirs)?;
    for (i, j) in [(0, 0), (0, 1), (1, 1)] {
        let similarity = pairs.jaccard(i, j)?;
        let inside = pairs.jaccard_interval(i, j, Probability::new(0.95)?)?;
        println!("{i} and {j}: {:.2} +- {:.2}", similarity.value, similarity.standard_error);
        println!("    with 95 % confidence in {inside:?}");
    }
    Ok(())
}
