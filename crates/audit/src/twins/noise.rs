//! Defects of additive noise.

use crate::mechanisms::averaged::{self, Setup};
use crate::mechanisms::common::{gaussian_budget, pure_budget, scale};
use crate::mechanisms::projection::{
    BATCH, Rowwise, at_epsilon_four, epsilon_four, image, near_zero, system, two_rows,
};
use crate::mechanisms::vector::whole_counts;
use crate::search::uniform;
use crate::subject::{Draw, Side, Subject};
use dp_core::authority;
use dp_core::calibrate::{Acceptance, PublishedRule, PublishedSetting};
use dp_core::noise::{AdditiveNoise, DiscreteLaplace, GaussianNoise, NoiseStream};
use dp_core::{FreshSeed, L1Sensitivity, L2Sensitivity, NoiseScale, calibrate};
use eval::Result;
use rand_core::Rng;
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec};
use sketch::vectors::{SketchNoise, System};

/// Adds noise to exact images, row by row, in some defective way.
type AddNoise = Box<dyn Fn(&mut NoiseStream, &mut [f64]) -> dp_core::Result<()> + Send + Sync>;

/// A release of equal rows whose noise comes from `add`: one stream for all rows, as in the original.
fn noisy_images(
    rowwise: &Rowwise,
    add: AddNoise,
) -> Result<impl Fn(Side, &Draw, &mut Vec<f64>) -> Result<()> + Send + Sync + use<>> {
    let projection = rowwise.mechanism.projection();
    let (a, b) = (image(projection, &rowwise.rows.left)?, image(projection, &rowwise.rows.right)?);
    Ok(move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let mut values = side.of(&a, &b).repeat(BATCH);
        add(&mut draw.noise().stream(), &mut values)?;
        out.extend(values);
        Ok(())
    })
}

fn gaussian_of(rowwise: &Rowwise) -> Option<GaussianNoise> {
    match rowwise.mechanism.noise() {
        SketchNoise::Gaussian(g) => Some(g),
        SketchNoise::Laplace(_) | SketchNoise::Staircase(_) => None,
    }
}

/// The same projection, pair and testers with Gaussian noise of another scale.
fn rescaled(
    rowwise: &Rowwise,
    original: &Subject,
    defect: &'static str,
    sigma: NoiseScale,
) -> Result<Subject> {
    let noise = authority!().gaussian(sigma, rowwise.mechanism.noise().grid())?;
    let add: AddNoise = Box::new(move |stream, values| noise.add_block(stream, values));
    Ok(original.twin(defect, noisy_images(rowwise, add)?))
}

fn half_the_noise() -> Result<Subject> {
    let rowwise = system(System::DpOporp)?;
    let sigma = scale(rowwise.mechanism.noise());
    let original = rowwise.subject(System::DpOporp.name(), "")?;
    rescaled(&rowwise, &original, "half the noise", NoiseScale::new(0.5 * sigma)?)
}

fn sensitivity_forgotten() -> Result<Subject> {
    let rowwise = system(System::DpRpGOpt)?;
    let original = rowwise.subject(System::DpRpGOpt.name(), "")?;
    // As if every row of P had norm one.
    let sigma = calibrate::gaussian(original.claim, L2Sensitivity::new(1.0)?)?;
    rescaled(&rowwise, &original, "sensitivity forgotten", sigma)
}

fn l1_for_l2() -> Result<Subject> {
    let rowwise = system(System::DpRpL)?;
    let original = rowwise.subject(System::DpRpL.name(), "")?.with_runs(60_000);
    // Laplace noise is calibrated to the l1 norm; this one was given the l2 norm.
    let norm = rowwise.mechanism.projection().max_row_l2();
    let scale = calibrate::laplace(original.claim, L1Sensitivity::new(norm)?)?;
    let noise = authority!().laplace(scale, rowwise.mechanism.noise().grid())?;
    let add: AddNoise = Box::new(move |stream, values| noise.add_block(stream, values));
    Ok(original.twin("l2 sensitivity where l1 is due", noisy_images(&rowwise, add)?))
}

fn stream_reused() -> Result<Subject> {
    let rowwise = system(System::DpOporp)?;
    let original = two_rows(&rowwise)?;
    let projection = rowwise.mechanism.projection();
    let other = image(projection, &vec![0.25; rowwise.rows.left.len()])?;
    let (a, b) = (image(projection, &rowwise.rows.left)?, image(projection, &rowwise.rows.right)?);
    let noise = rowwise.mechanism.noise();
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let mut rng = draw.noise();
        for _ in 0..BATCH / 2 {
            // A stream is handed out once: both rows take the same noise, drawn into zeros.
            let mut shared = vec![0.0; other.len()];
            noise.fill_block(&mut rng.stream(), &mut shared);
            for clean in [side.of(&a, &b), &other] {
                let grid = noise.grid();
                let values = clean.iter().zip(&shared).map(|(&x, z)| grid.round(x) + z);
                out.extend(values);
            }
        }
        Ok(())
    };
    Ok(original.twin("noise stream reused across rows", sample))
}

fn last_coordinate_bare() -> Result<Subject> {
    let rowwise = system(System::DpRpGOptB)?;
    let original = rowwise.subject(System::DpRpGOptB.name(), "")?;
    let (noise, k) = (rowwise.mechanism.noise(), original.width);
    let add: AddNoise = Box::new(move |stream, values| {
        for row in values.chunks_exact_mut(k) {
            noise.add_block(stream, &mut row[..k - 1])?;
        }
        Ok(())
    });
    Ok(original.twin("last coordinate without noise", noisy_images(&rowwise, add)?))
}

fn hardt_roth() -> Result<Subject> {
    let (rowwise, original) = at_epsilon_four(epsilon_four()?)?;
    let sensitivity = L2Sensitivity::new(1.0)?;
    let setting = PublishedSetting::Shift { sensitivity };
    let rule = PublishedRule::HardtRothTheorem26;
    let made = rule.calibrate(original.claim, setting, Acceptance::AcceptTrueDelta)?;
    rescaled(&rowwise, &original, "Hardt-Roth constant without sqrt 2", made.scale())
}

fn textbook() -> Result<Subject> {
    let (rowwise, original) = near_zero(gaussian_budget()?)?;
    let sigma = gaussian_of(&rowwise).map_or(1.0, |g| g.sigma().get());
    let add: AddNoise = Box::new(move |stream, values| {
        let mut unit = || ((stream.next_u64() >> 11) as f64 + 0.5) * 2f64.powi(-53);
        for value in values {
            let (u, v) = (unit(), unit());
            *value += sigma * (-2.0 * u.ln()).sqrt() * (core::f64::consts::TAU * v).cos();
        }
        Ok(())
    });
    Ok(original.twin("textbook floating-point Gaussian", noisy_images(&rowwise, add)?))
}

fn averaged_seed_reused() -> Result<Subject> {
    let setup = Setup::attribute()?;
    let original = averaged::subject("", "", setup.clone(), gaussian_budget()?)?;
    // The seed was published with an earlier release; the data is chosen against it.
    let seed = || FreshSeed::reproducible_not_private(17);
    let known = seed().publish();
    let projection = ProjectionSpec::new(Family::Gaussian, setup.d, setup.k, known)?.build();
    let norm = |i: usize| {
        let mut row = vec![0.0; setup.k];
        projection.row(i, &mut row);
        row.iter().map(|x| x * x).sum::<f64>()
    };
    let worst = (0..setup.d).max_by(|&a, &b| norm(a).total_cmp(&norm(b))).unwrap_or(0);
    let rows = [-0.5, 0.5].map(|x| {
        let mut row = vec![0.0; setup.d];
        row[worst] = x;
        row
    });
    let made = setup.mechanism(gaussian_budget()?)?;
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let view = RowsView::f64(1, setup.d, side.of(&rows[0], &rows[1]))?;
        let release = made.clone().release(seed(), view, &mut draw.noise())?;
        setup.observe(release.payload().values(), known, &rows, out)
    };
    Ok(original.twin("averaged calibration with a reused seed", sample))
}

/// Noise that follows the data: its scale shrinks with the value, as a "relative" noise would.
fn noise_by_value() -> Result<Subject> {
    let (rowwise, original) = near_zero(gaussian_budget()?)?;
    let noise = rowwise.mechanism.noise();
    let sigma = scale(noise);
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let value = *side.of(&1.0, &0.0);
        // The data decides between two scales, the smaller of which is the calibrated one.
        let scale = NoiseScale::new(sigma * (1.0 + 2.0 * value))?;
        let mut values = vec![value; BATCH];
        let law = authority!().gaussian(scale, noise.grid())?;
        law.add_block(&mut draw.noise().stream(), &mut values)?;
        out.extend(values);
        Ok(())
    };
    Ok(original.twin("noise scale chosen by the data", sample))
}

/// Each run draws noise or none by a public coin of probability one in eight.
fn sometimes_bare() -> Result<Subject> {
    let rowwise = system(System::DpOporpLaplace)?;
    let original = rowwise.subject(System::DpOporpLaplace.name(), "")?;
    let projection = rowwise.mechanism.projection();
    let (a, b) = (image(projection, &rowwise.rows.left)?, image(projection, &rowwise.rows.right)?);
    let noise = rowwise.mechanism.noise();
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let mut values = side.of(&a, &b).repeat(BATCH);
        let mut coin = draw.public();
        let mut rng = draw.noise();
        let mut stream = rng.stream();
        for row in values.chunks_exact_mut(a.len()) {
            if uniform(&mut coin) > 0.125 {
                noise.add_block(&mut stream, row)?;
            }
        }
        out.extend(values);
        Ok(())
    };
    Ok(original.twin("no noise in one run of eight", sample))
}

/// Numbers that are no whole ones, rounded before integer noise: neighbours 0.49 and 0.51 become a whole step apart, which nobody
/// paid for.
fn rounded_for_nothing() -> Result<Subject> {
    let original = whole_counts(pure_budget()?)?;
    let noise =
        DiscreteLaplace::new(calibrate::laplace(original.claim, L1Sensitivity::new(0.02)?)?)?;
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let mut values = [3.0, *side.of(&0.49, &0.51), 7.0].map(f64::round);
        noise.add_to(&mut draw.noise(), &mut values)?;
        out.extend(values);
        Ok(())
    };
    Ok(original.twin("integer noise, fractions rounded for nothing", sample))
}

/// Twins whose noise is added.
pub(super) fn twins() -> Result<Vec<Subject>> {
    Ok(vec![
        half_the_noise()?,
        sensitivity_forgotten()?,
        l1_for_l2()?,
        stream_reused()?,
        last_coordinate_bare()?,
        hardt_roth()?,
        textbook()?,
        averaged_seed_reused()?,
        noise_by_value()?,
        sometimes_bare()?,
        rounded_for_nothing()?,
    ])
}
