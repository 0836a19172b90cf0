//! Second moments of rows, and their principal components: nobody can tell whether a row is there.

use dp_core::{Adjacency, Budget, NoiseRng, NormBound, Probability};
use linalg_dp::analysis::pca;
use linalg_dp::covariance::{CovarianceMechanism, GaussianCovariance};

pub(crate) fn main() -> linalg_dp::Result<()> {
    // A row of norm at most 1 may come or go; longer rows are scaled to that bound.
    let adjacency = Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? };
    let budget = Budget::new(1.0, 1e-6)?;
    let mechanism = GaussianCovariance::calibrate(3, adjacency, budget)?;

    // Rows come in batches. The stream keeps the generator that draws the noise.
    let mut rng = NoiseRng::from_os()?;
    let mut stream = mechanism.stream(&mut rng);
    for batch in 0..100 {
        let angle = f64::from(batch) * 0.01;
        stream.push(&[0.9 * angle.cos(), 0.9 * angle.sin(), 0.1].repeat(20))?;
    }
    let release = stream.finish()?;
    release.certificate().verify()?;

    // The error of the whole matrix, and of what is computed from it, is known without the data.
    let failure = Probability::new(0.05)?;
    let error = release.payload().spectral_error(failure)?;
    let components = pca(&release, 1)?;
    let angle = components.payload().subspace_error(failure)?;
    let components = components.payload();
    println!("moments {:?}", components.denoised().matrix());
    println!("typical error {}", components.denoised().typical_error());
    println!("spectral error of what was released at most {error} with probability 0.95");
    let typical = components.typical_subspace_error();
    println!("explained {:?}", components.explained());
    println!("sine of the angle: typically {typical}, guaranteed <= {angle}");
    Ok(())
}
