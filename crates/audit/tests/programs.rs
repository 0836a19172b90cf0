//! Ordinary programs that the examples and the documentation do not hold already.
//!
//! | task | where |
//! | --- | --- |
//! | a histogram, many releases, a limit | `dp-core/examples/ledger.rs` |
//! | a yes/no survey with its interval | documentation of `sketch::distances::RandomizedResponse` |
//! | distances and search of rows | `sketch/examples/vectors.rs` |
//! | signs, a file, a second process | here |
//! | sets of words | `sketch/examples/sets.rs` |
//! | low rank | here |
//! | a sliding window | documentation of `linalg_dp::window::WindowMechanism` |
//! | own sums with Laplace noise, certificate, ledger | documentation of `dp_core::mechanism` |
//! | bad inputs | `eval/tests/bad_input.rs` |
//! | metrics, threads, seeds | here |

use dp_core::{
    Adjacency, Budget, EntryBound, FreshSeed, NoiseRng, NormBound, PublicSeed, Release, Shift,
    release_file,
};
use eval::metrics::precision_recall;
use linalg_dp::low_rank::{Pfp, PfpOptions, Setting};
use rayon::prelude::*;
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec};
use sketch::search::{HammingIndex, Queries, Score, SketchIndex};
use sketch::signs::{FlipRule, PrivateSigns, SignCodes, SignSketch};
use sketch::vectors::PrivateProjection;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Rows in groups: every row of a group is near the others.
fn rows(n: usize, d: usize) -> Vec<f64> {
    (0..n * d).map(|i| if i / d % 4 == i % d % 4 { 0.9 } else { 0.1 }).collect()
}

#[test]
fn signs_go_to_a_file_and_are_searched_elsewhere() -> Outcome {
    let (n, d) = (40, 16);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("signs.dps");
    {
        // Signs tell rows apart around zero.
        let values: Vec<f64> = rows(n, d).iter().map(|x| x - 0.5).collect();
        let sketch = SignSketch::single(Family::Oporp, d, 16, PublicSeed::new(5))?;
        let adjacency = Adjacency::Attribute { beta: Shift::new(1.0)? };
        let budget = Budget::new(6.0, 0.0)?;
        let rule = FlipRule::RandomizedResponse;
        let mechanism = PrivateSigns::new(sketch, rule, adjacency, EntryBound::new(1.0)?, budget)?;
        let release =
            mechanism.release(RowsView::f64(n, d, &values)?, &mut NoiseRng::from_os()?)?;
        release_file::write(&path, &release)?;
    }
    // Another process has the file alone.
    let read: Release<SignCodes> = release_file::load(&path)?;
    sketch::verify(&read)?;
    let index = HammingIndex::new(read.payload())?;
    let nearest = index.top_k(&Queries::rows(read.payload(), &[3])?, 5)?;
    assert_eq!(nearest.scores(0)[0], 0, "a row is nearest to itself");
    Ok(())
}

#[test]
fn a_low_rank_release_knows_its_error() -> Outcome {
    let (m, n) = (30, 20);
    let ratings: Vec<f64> = (0..m * n).map(|i| ((i / n) % 3 * (i % n % 2)) as f64).collect();
    let one = Shift::new(1.0)?;
    // One rating moves by at most 1; no row is longer than 10.
    let setting = Setting::new((m, n), 2, 2, one, NormBound::new(10.0)?)?;
    let mechanism = Pfp::calibrate(setting, Budget::new(4.0, 1e-6)?, PfpOptions::default())?;
    let expected = mechanism.predicted_error();
    let view = RowsView::f64(m, n, &ratings)?;
    let release = mechanism.release(&view, FreshSeed::draw()?, &mut NoiseRng::from_os()?)?;
    release.certificate().verify()?;
    let shrunk = release.payload().shrunk()?;
    assert_eq!(shrunk.shape(), (m, n));
    assert!(expected.is_finite() && expected > 0.0);
    Ok(())
}

/// Every thread draws from its own generator; equal numbers give equal releases, whoever computes them.
#[test]
fn releases_in_parallel_are_measured_together() -> Outcome {
    let (n, d) = (40, 16);
    let values = rows(n, d);
    let budget = Budget::new(12.0, 1e-6)?;
    let adjacency = Adjacency::Attribute { beta: Shift::new(1.0)? };
    let measured = |number: u64| -> sketch::Result<f64> {
        let projection = ProjectionSpec::new(Family::Gaussian, d, 8, PublicSeed::new(number))?;
        let bound = EntryBound::new(1.0)?;
        let mechanism = PrivateProjection::gaussian(projection.build(), adjacency, bound, budget)?;
        let mut rng = NoiseRng::deterministic_not_private(number);
        let release = mechanism.release(RowsView::f64(n, d, &values)?, &mut rng)?;
        let index = SketchIndex::new(release.payload(), Score::Cosine)?;
        let found = index.top_k(&Queries::rows(release.payload(), &[0])?, 10)?;
        let answer: Vec<usize> = found.indices(0).iter().map(|&i| i as usize).collect();
        let group: Vec<usize> = (0..n).step_by(4).collect();
        Ok(precision_recall(&answer, &group, 10).0)
    };
    let together: Vec<f64> = (0..8).into_par_iter().map(measured).collect::<sketch::Result<_>>()?;
    let alone: Vec<f64> = (0..8).map(measured).collect::<sketch::Result<_>>()?;
    assert_eq!(together, alone);
    // Ten guesses find 2.5 of the group on average.
    assert!(together.iter().sum::<f64>() / 8.0 > 0.4, "{together:?}");
    Ok(())
}
