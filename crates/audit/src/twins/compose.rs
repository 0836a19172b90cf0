//! Matrix mechanisms that account for less than they show: steps left out, means in place of laws, one
//! norm in place of another, the lift of another adjacency.

use crate::mechanisms::common::{bound, gaussian_budget, gaussian_noise};
use crate::mechanisms::covariance::{Along, Law};
use crate::mechanisms::low_rank::{
    K, M, N, STRONG, basis_projection, halves, pfp_strong, projection_ratio, range_finder,
    range_ratio, setting, strong_row, uneven_basis, view,
};
use crate::mechanisms::power::{DIM, PASSES, all_products, products};
use crate::subject::{Draw, Role, Side, Subject, budget_of};
use dp_core::authority;
use dp_core::noise::{AdditiveNoise, GaussianNoise, Grid};
use dp_core::profile::{GaussianStep, RowChange};
use dp_core::{
    Adjacency, Budget, L2Sensitivity, NoiseRng, NoiseScale, PrivacyProfile, Profile, PublicSeed,
};
use eval::Result;
use faer::{Mat, MatRef};
use linalg_dp::covariance::CovarianceNoise;
use linalg_dp::covariance::NoisyPower;
use linalg_dp::low_rank::{BasisProjection, Pfp, PfpOptions, PublicBasis, RangeFinder, Spread};
use rand_core::Rng;
use sketch::projection::{Family, ProjectionSpec, project};

/// The epsilon of a profile at the claim's delta.
fn at(claim: Budget, profile: &Profile) -> Result<f64> {
    Ok(profile.epsilon(claim.delta)?.get())
}

/// A range finder of deviation `sigma` for a shift of one, then a Gaussian step.
fn mixture(sigma: NoiseScale, later_mu: f64) -> Result<Profile> {
    let entry_shift = L2Sensitivity::new(1.0 / (K as f64).sqrt())?;
    Ok(Profile::ChiMixtureGaussian { k: K as u64, entry_shift, sigma, later_mu })
}

/// Find and project whose first step takes the whole budget, and the second that of `second`.
fn unpaid(defect: &str, second: Budget) -> Result<Subject> {
    let claim = gaussian_budget()?;
    let setting = setting(STRONG + 1.0)?;
    let finder = RangeFinder::calibrate(setting, claim)?;
    let projection = BasisProjection::calibrate(setting, second, Spread::LeastTrace)?;
    let sigma = NoiseScale::new(finder.rho() / (K as f64).sqrt())?;
    let truth = at(claim, &mixture(sigma, 1.0 / gaussian_noise(second)?)?)?;
    let sides = strong_row();
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let a = side.of(&sides[0], &sides[1]);
        let mut rng = draw.noise();
        let range = finder.release(&view(a)?, draw.fresh(), &mut rng)?.into_parts().0;
        let leading = range.spectrum()?.0;
        let basis = PublicBasis::declared(leading.get(.., ..1).to_owned(), "of the first step")?;
        let low = projection.release(&view(a)?, &basis, &mut rng)?.into_parts().0;
        let y = range.sketch();
        out.extend((0..M * K).map(|i| y[(i / K, i % K)]));
        let ratio = range_ratio(y, range.seed(), range.sigma().get(), &sides)?;
        out.push(ratio + projection_ratio(&low, &sides));
        Ok(())
    };
    Ok(pfp_strong(claim)?.twin(defect, sample).giving(truth).with_runs(160_000).in_full(4))
}

fn second_step_unpaid() -> Result<Subject> {
    let claim = gaussian_budget()?;
    let mu = Pfp::calibrate(setting(STRONG + 1.0)?, claim, PfpOptions::default())?.projection_mu();
    let second = budget_of(claim, 1.0 / mu, gaussian_noise)?;
    Ok(unpaid("find and project, second step unpaid", second)?.only_in_full())
}

fn both_steps_in_full() -> Result<Subject> {
    unpaid("find and project, both steps at the full budget", gaussian_budget()?)
}

/// The image of a shift has norm `chi_k`; this noise accounts for the mean of its square.
fn mean_of_chi_square() -> Result<Subject> {
    let claim = gaussian_budget()?;
    let sigma = NoiseScale::new(gaussian_noise(claim)?)?;
    let truth = at(claim, &mixture(sigma, 0.0)?)?;
    let noise = authority!().gaussian(sigma, Grid::new(-40)?)?;
    let sides = halves(2, &[0.6, 0.0, 0.8]);
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let seed = PublicSeed::new(draw.public().next_u64());
        let a = side.of(&sides[0], &sides[1]);
        let mut y: Vec<f64> =
            project(&*ProjectionSpec::new(Family::Gaussian, N, K, seed)?.build(), view(a)?)?;
        noise.add_to(&mut draw.noise(), &mut y)?;
        let ratio = range_ratio(MatRef::from_row_major_slice(&y, M, K), seed, sigma.get(), &sides)?;
        out.extend(y);
        out.push(ratio);
        Ok(())
    };
    let original = range_finder(claim)?;
    let twin = original.twin("range finder at the mean of its chi-square", sample);
    Ok(twin.giving(truth).with_runs(64_000).in_full(16).only_in_full())
}

/// The noise of the least-trace shape, scaled to the root mean square of the whitened rows' norms
/// instead of the largest.
fn mean_row_norm() -> Result<Subject> {
    let claim = gaussian_budget()?;
    let made = BasisProjection::calibrate(setting(1.0)?, claim, Spread::LeastTrace)?;
    let mut rng = NoiseRng::deterministic_not_private(1);
    let basis = PublicBasis::declared(uneven_basis(), "fixed in this audit")?;
    let probe = made.release(&view(&[0.0; M * N])?, &basis, &mut rng)?.into_parts().0;
    let white = probe.encoder();
    let squares: Vec<f64> = (0..M).map(|i| white.col(i).squared_norm_l2()).collect();
    let mean = squares.iter().sum::<f64>() / M as f64;
    let share = (mean / squares.iter().fold(0.0, |a: f64, &b| a.max(b))).sqrt();
    let own = gaussian_noise(claim)?;
    let weak =
        basis_projection(Spread::LeastTrace, budget_of(claim, share * own, gaussian_noise)?)?;
    let original = basis_projection(Spread::LeastTrace, claim)?;
    let defect = "least-trace shape at the mean row norm".to_owned();
    let role = Role::Twin { defect: defect.clone() };
    let truth = weak.exact;
    let twin = Subject { name: defect, role, claim, exact: original.exact, truth, ..weak };
    Ok(twin.with_runs(40_000).in_full(16).only_in_full())
}

/// Two passes over the data, with the noise that one needs.
fn passes_paid_once() -> Result<Subject> {
    let claim = gaussian_budget()?;
    let adjacency = Adjacency::AddRemoveRow { bound: bound(1.0)? };
    let sigma = NoisyPower::calibrate(DIM, 1, 1, adjacency, claim)?.sigma();
    let times = PASSES as u64;
    let step = GaussianStep { sensitivity: L2Sensitivity::new(1.0)?, sigma, times };
    let truth = at(claim, &Profile::GaussianComposition { steps: vec![step] })?;
    let original = all_products(claim)?.with_runs(100_000);
    Ok(original.twin("power method, two passes paid once", products(sigma)?).giving(truth))
}

/// The lift that hides a row added or removed, where a row is replaced. Many rows of the sketch: with
/// few, the rare large ones decide, which come in either case.
fn lift_of_another_adjacency() -> Result<Subject> {
    let claim = gaussian_budget()?;
    let (along, law) = (Along { replaced: true, ..Along::PLAIN }, Law::Jl(100));
    let added = Along::PLAIN.adjacency()?;
    let (made, noise) = law.made(along.dim, added, claim)?;
    let mut truth = 0.0;
    if let CovarianceNoise::JlSketch { rows, lift } = noise {
        let change = RowChange::Replace;
        truth = at(claim, &Profile::JlMechanism { rows, bound: bound(1.0)?, lift, change })?;
    }
    let sides = along.sides();
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = side.of(sides[0].as_slice(), sides[1].as_slice());
        along.observe(made.release(rows, &mut draw.noise())?.payload().raw(), noise, out);
        Ok(())
    };
    let original = along.subject(law, claim)?.with_runs(80_000);
    let defect = "replaced row under the lift for an added one";
    Ok(original.twin(defect, sample).giving(truth))
}

/// Symmetric Gaussian noise whose entries off the diagonal have 0.6 of their deviation: a row on an
/// axis does not show it.
fn weak_off_the_diagonal() -> Result<Subject> {
    const SHARE: f64 = 0.6;
    let (along, claim) = (Along::PLAIN, gaussian_budget()?);
    let (_, noise) = Law::Symmetric.made(along.dim, along.adjacency()?, claim)?;
    let sigma =
        if let CovarianceNoise::SymmetricGaussian { sigma } = noise { sigma.get() } else { 1.0 };
    let deviations = [sigma, sigma, SHARE * sigma * core::f64::consts::FRAC_1_SQRT_2];
    // The row (1, 1) / sqrt 2 moves every entry by one half.
    let mu = deviations.map(|s| (0.5 / s).powi(2)).iter().sum::<f64>().sqrt();
    let unit = NoiseScale::new(1.0)?;
    let gaussian = Profile::Gaussian { sensitivity: L2Sensitivity::new(mu)?, sigma: unit };
    let truth = at(claim, &gaussian)?;
    let laws = deviations.map(|s| Ok(authority!().gaussian(NoiseScale::new(s)?, Grid::new(-40)?)?));
    let laws: Vec<GaussianNoise> = laws.into_iter().collect::<Result<_>>()?;
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let mut rng = draw.noise();
        let mut entries = [*side.of(&0.0, &0.5); 3];
        for (law, x) in laws.iter().zip(&mut entries) {
            law.add_to(&mut rng, std::slice::from_mut(x))?;
        }
        let [a, b, c] = entries;
        let seen = Mat::from_fn(2, 2, |i, j| [[a, c], [c, b]][i][j]);
        let first = out.len();
        along.observe(seen.as_ref(), noise, out);
        // The tester knows this noise, too.
        let one = |(x, s): (&f64, &f64)| (0.5 * x - 0.125) / (s * s);
        out[first + 4] = entries.iter().zip(&deviations).map(one).sum();
        Ok(())
    };
    let original = along.subject(Law::Symmetric, claim)?.with_runs(80_000);
    let defect = "symmetric Gaussian, 0.6 of the noise off the diagonal";
    Ok(original.twin(defect, sample).giving(truth))
}

/// Twins of matrix mechanisms in several steps or shapes.
pub(super) fn twins() -> Result<Vec<Subject>> {
    Ok(vec![
        second_step_unpaid()?,
        both_steps_in_full()?,
        mean_of_chi_square()?,
        mean_row_norm()?,
        passes_paid_once()?,
        lift_of_another_adjacency()?,
        weak_off_the_diagonal()?,
    ])
}
