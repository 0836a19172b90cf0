//! PFP with the paper's own constants.

use super::pfp::Pruning;
use super::project::{PrivateLowRank, ProjectionStep};
use super::range::RangeNoise;
use super::setting::Setting;
use crate::author::AUTHOR;
use crate::error::{Error, Result};
use dp_core::calibrate::{Acceptance, PublishedRule, PublishedSetting};
use dp_core::certificate::Statement;
use dp_core::noise::{AdditiveNoise, NoiseLaw};
use dp_core::{Budget, FreshSeed, Guarantee, L2Sensitivity, NoiseRng, NoiseScale, Release};
use sketch::rows::RowsView;

/// Private find and project exactly as published: half the budget to each step, tail
/// bounds for both.
///
/// # Privacy
/// `Published` provenance. The certificate states the delta really given, from the exact
/// composed profile; it is far below the claim, since both steps are generous by factors.
/// (Its Gaussian lemma, Theorem 2.6, misses a factor sqrt 2, which the slack elsewhere covers.)
///
/// # References
/// Hardt & Roth 2012, Figures 2 to 4.
///
/// ```
/// use dp_core::{Budget, FreshSeed, NoiseRng, NormBound, Shift};
/// use linalg_dp::low_rank::{Pruning, PublishedPfp, Setting};
/// use sketch::rows::RowsView;
///
/// let data: Vec<f64> = (0..20 * 50).map(|i| (i % 50) as f64 * 4.0).collect();
/// let a = RowsView::f64(20, 50, &data)?;
/// let setting = Setting::new((20, 50), 1, 3, Shift::new(1.0)?, NormBound::new(1000.0)?)?;
/// let mechanism = PublishedPfp::new(setting, Budget::new(1.0, 1e-6)?, Pruning::None)?;
/// let release = mechanism.release(&a, FreshSeed::draw()?, &mut NoiseRng::from_os()?)?;
/// // The claim holds with much to spare: the noise is several times what the exact profile needs.
/// assert!(mechanism.guarantee().true_delta().expect("it has a profile").delta() < 1e-12);
/// assert!(release.certificate().verify().is_ok());
/// # Ok::<(), linalg_dp::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PublishedPfp {
    setting: Setting,
    range: RangeNoise,
    projection: NoiseScale,
    pruning: Pruning,
    guarantee: Guarantee,
}

impl PublishedPfp {
    /// The published noise at this budget.
    ///
    /// # Errors
    /// A shift other than 1, or a budget outside `(0, 1) x (0, 1)`, where the paper states nothing.
    pub fn new(setting: Setting, budget: Budget, pruning: Pruning) -> Result<Self> {
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        if setting.shift() != 1.0 {
            return Err(Error::invalid("shift", setting.shift(), "1 in the published rule"));
        }
        if epsilon > 1.0 || delta == 0.0 {
            return Err(Error::invalid("budget", budget, "epsilon in (0, 1], delta in (0, 1)"));
        }
        pruning.apply(faer::Mat::zeros(0, 0))?;
        let half = Budget::new(0.5 * epsilon, 0.5 * delta)?;
        let columns = setting.k() as u64;
        let root = (columns as f64).sqrt();
        let rho = |rule: PublishedRule, of| -> Result<f64> {
            Ok(rule.calibrate(half, of, Acceptance::AcceptTrueDelta)?.scale().get())
        };
        let of = PublishedSetting::RangeFinder { columns, shift: L2Sensitivity::new(1.0)? };
        let sigma = NoiseScale::new(rho(PublishedRule::HardtRothRangeFinder, of)? / root)?;
        let range = RangeNoise::with_sigma(&setting, sigma)?;
        let sensitivity = L2Sensitivity::new(root)?;
        let of = PublishedSetting::LowRankProjection { columns, sensitivity };
        let projection = NoiseScale::new(rho(PublishedRule::HardtRothProjection, of)?)?;
        // Whatever W comes out, its rows over the columns' largest entries have norm at most sqrt k.
        let mu = ProjectionStep::worst_mu(&setting, projection)?;
        let guarantee = AUTHOR.published(
            setting.adjacency(),
            budget,
            Some(range.profile(&setting, mu)?),
            "Hardt-Roth PFP",
            "Hardt & Roth 2012, Lemma 6.1",
            "constants from tail bounds and advanced composition; the delta stated is the exact one",
        )?;
        Ok(Self { setting, range, projection, pruning, guarantee })
    }

    /// What one release claims and gives.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The two noise parameters, `rho` of Figure 2 and `rho` of Figure 3.
    #[must_use]
    pub fn rho(&self) -> (f64, f64) {
        (self.range.sigma.get() * (self.setting.k() as f64).sqrt(), self.projection.get())
    }

    /// Releases the approximation.
    ///
    /// # Errors
    /// [`Error::Shape`] unless A is m x n; [`Error::NotFinite`]; [`Error::Numerical`].
    pub fn release(
        &self,
        a: &RowsView<'_>,
        seed: FreshSeed,
        rng: &mut NoiseRng,
    ) -> Result<Release<PrivateLowRank>> {
        let setting = &self.setting;
        let range = self.range.release(setting, a, seed, rng)?;
        let basis = self.pruning.apply(range.basis()?)?;
        let step = ProjectionStep::by_largest_entries(setting, &basis, self.projection)?;
        let laws = vec![self.range.law()?.law(), step.law()];
        let statement = Statement {
            mechanism: "private find and project (published)".into(),
            noise: NoiseLaw::Several { laws },
            generator: rng.kind(),
            public: range.public(setting),
        };
        let payload = step.release(setting, a, Some(range), rng)?;
        Ok(Release::certified(payload, AUTHOR.certificate(statement, self.guarantee.clone())))
    }
}
