//! Writes the samples that are not in the corpus yet; what is there is never changed, so that
//! old bytes stay readable.
//!
//! `cargo run --release -p fuzzing --example write_corpus`

use std::path::Path;

fn main() -> Result<(), fuzzing::Failure> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for sample in fuzzing::samples()? {
        let folder = corpus.join(sample.target);
        std::fs::create_dir_all(&folder)?;
        let path = folder.join(&sample.name);
        if !path.exists() {
            std::fs::write(&path, &sample.bytes)?;
            println!("{}: {} bytes", path.display(), sample.bytes.len());
        }
    }
    Ok(())
}
