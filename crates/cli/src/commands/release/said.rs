//! What is said of a release: its guarantee, what its epsilon is about, its noise.

use crate::commands::worth::basis;
use crate::error::{Error, Result};
use crate::output::{Record, complain};
use dp_core::mechanism::Prediction;
use dp_core::profile::CoordinateProfile;
use dp_core::{
    Adjacency, Budget, Epsilon, Guarantee, IndividualCertificate, L1Sensitivity, L2Sensitivity,
    NormBound, PrivacyProfile, Profile,
};
use sketch::plan::{Asked, RowSearch};

/// A guarantee that is not differential privacy, in words that cannot be taken for it.
pub(super) fn individual(record: Record, adjacency: Adjacency, budget: Budget) -> Record {
    record
        .text("guarantee", IndividualCertificate::WARNING)
        .text("adjacency", adjacency.to_string())
        .number("individual epsilon", budget.epsilon.get())
        .number("individual delta", budget.delta.get())
}

/// The guarantee, and what its epsilon is about.
pub(crate) fn promise(record: Record, guarantee: &Guarantee) -> Record {
    let budget = guarantee.budget();
    let mut record = record
        .text("guarantee", basis(guarantee.provenance()))
        .text("adjacency", guarantee.adjacency().to_string())
        .number("epsilon", budget.epsilon.get())
        .number("delta", budget.delta.get());
    if let Some(delta) = guarantee.true_delta() {
        record = record.number("true_delta", delta.delta());
    }
    if let Some(profile) = guarantee.profile() {
        record = scales(record, profile);
    }
    record.text("epsilon is about", about(guarantee))
}

/// How much noise there is, by the names of its law.
fn scales(record: Record, profile: &Profile) -> Record {
    use CoordinateProfile as C;
    match profile {
        Profile::Gaussian { sigma, .. }
        | Profile::SymmetricGaussian { sigma, .. }
        | Profile::ChiMixtureGaussian { sigma, .. }
        | Profile::BinomialMixture { coordinate: C::Gaussian { sigma, .. }, .. } => {
            record.number("sigma", sigma.get())
        }
        Profile::GaussianComposition { steps } => steps
            .iter()
            .enumerate()
            .fold(record, |r, (i, step)| r.number(&format!("sigma {}", i + 1), step.sigma.get())),
        Profile::Laplace { scale, .. }
        | Profile::BinomialMixture { coordinate: C::Laplace { scale, .. }, .. } => {
            record.number("scale", scale.get())
        }
        // The root of its variance is the noise law's to tell.
        Profile::Staircase { epsilon, .. } => record.number("staircase epsilon", epsilon.get()),
        Profile::RandomizedResponse { keep, .. }
        | Profile::KaryResponse { keep, .. }
        | Profile::BinomialMixture {
            coordinate: C::RandomizedResponse { keep } | C::KaryResponse { keep, .. },
            ..
        } => record.number("least keep probability", keep.get()),
        Profile::JlMechanism { lift, .. } => record.number("lift", lift.get()),
        Profile::GaussianAndPure { sigma, epsilon, .. } => {
            record.number("sigma 1", sigma.get()).number("staircase epsilon", epsilon.get())
        }
        _ => record,
    }
}

/// What one epsilon covers, in words.
fn about(guarantee: &Guarantee) -> String {
    let rows = guarantee.adjacency().rows();
    if let (2.., Adjacency::AddRemoveRow { .. }) = (rows, guarantee.adjacency().each()) {
        return format!(
            "up to {rows} rows of one user that come or go together, for this whole file (the number of rows is private too); a \
             row that passes to another user is a change of both; every further release of the file adds up"
        );
    }
    if rows > 1 {
        return "all rows of one user together, up to the number that is named, for this whole file; whose the rows are is \
                not protected; every further release of the file adds up"
            .into();
    }
    let (one, several, unit) = match guarantee.adjacency() {
        Adjacency::Attribute { .. } => (
            "one attribute of one row, for this whole file",
            "attributes of one person, in one row or several,",
            "attributes",
        ),
        Adjacency::RowShift { .. } | Adjacency::ReplaceRow { .. } => {
            ("one row, for this whole file", "rows of one person", "rows")
        }
        Adjacency::AddRemoveRow { .. } => (
            "the presence of one row, for this whole file (the number of rows is private too)",
            "rows of one person",
            "rows",
        ),
        Adjacency::ZeroRow { .. } => (
            "the content of one row, for this whole file or stream (the number and order of rows \
             are public)",
            "rows of one person",
            "rows",
        ),
        Adjacency::SetItems { .. } => {
            return "the named number of items of one set, for this whole file; every further \
                    release of the file adds up"
                .into();
        }
        _ => {
            return "any change of one row, for this whole file; every further release of the file \
                    adds up"
                .into();
        }
    };
    let groups: Vec<String> = [2, 5]
        .into_iter()
        .filter_map(|m| Some(format!("{m} {unit} have epsilon {:.2}", up(group(guarantee, m)?))))
        .collect();
    let groups = match groups.as_slice() {
        [] => "are protected far less".into(),
        groups => format!("are protected less: {} at the same delta", groups.join(" and ")),
    };
    format!("{one}; {several} {groups}; every further release of the file adds up")
}

/// Two decimals, rounded up.
fn up(epsilon: f64) -> f64 {
    (epsilon * 100.0).ceil() / 100.0
}

/// Epsilon, at the delta of the guarantee, of a change of `m` units, one after the other.
///
/// Where the profile is that of a shift, m changes shift by m times as much (triangle inequality). For others, m steps
/// of (e, d) are (m e, d (1 + exp e + ... + exp((m - 1) e))), at the first e tried that keeps the delta.
pub(super) fn group(guarantee: &Guarantee, m: u32) -> Option<f64> {
    let (budget, times) = (guarantee.budget(), f64::from(m));
    let profile = guarantee.profile()?;
    let shifted = match *profile {
        Profile::Gaussian { sensitivity, sigma } => Some(Profile::Gaussian {
            sensitivity: L2Sensitivity::new(sensitivity.get() * times).ok()?,
            sigma,
        }),
        Profile::Laplace { sensitivity, scale } => Some(Profile::Laplace {
            sensitivity: L1Sensitivity::new(sensitivity.get() * times).ok()?,
            scale,
        }),
        // The distance of two Gram matrices goes with the square of the bound.
        Profile::SymmetricGaussian { bound, sigma, change } => Some(Profile::SymmetricGaussian {
            bound: NormBound::new((bound.get() * times.sqrt()).next_up()).ok()?,
            sigma,
            change,
        }),
        // Under a fresh matrix several rows are not one that is shifted as far.
        _ => None,
    };
    if let Some(profile) = shifted {
        return profile.epsilon(budget.delta).ok().map(Epsilon::get);
    }
    // ln(exp x - 1)
    let ln_rest = |x: f64| x + (-(-x).exp()).ln_1p();
    let mut epsilon = budget.epsilon.get();
    for _ in 0..250 {
        let one = profile.log_delta(Epsilon::new(epsilon).ok()?).get();
        if one + ln_rest(times * epsilon) - ln_rest(epsilon) <= budget.delta.ln().get() {
            return Some(times * epsilon);
        }
        epsilon *= 1.02;
    }
    None
}

/// What is predicted of a release, the same before and after it is made.
pub(crate) fn predicted(
    record: Record,
    Prediction { of, root_mean_square, .. }: Prediction,
) -> Record {
    record.number("predicted error", root_mean_square).text("predicted error is of", of)
}

/// What a search by cosine finds among whole rows that were released as k numbers, with noise of this variance a number when
/// rows have length one; d features, k where no other size is to be named.
pub(super) fn found(
    record: Record,
    rows: usize,
    (d, k): (usize, usize),
    variance: f64,
) -> Result<Record> {
    let search = RowSearch::generous(rows)?;
    let [exact, private] = [Asked::Exact, Asked::Private].map(|a| search.recall(k, variance, a));
    let record = record
        .number("rows found that are half a cosine nearer than all others, exact queries", exact?)
        .number("the same, released queries", private?);
    Ok(match nothing(search, (d, k), variance)? {
        Some(said) => record.text("note", said),
        None => record,
    })
}

/// Says so before anything is spent where not even a thousand rows can be searched.
pub(super) fn warn_of_nothing(shape: (usize, usize), variance: f64) -> Result<()> {
    if let Some(said) = nothing(RowSearch::generous(1000)?, shape, variance)? {
        complain(&format!("warning: {said}"));
    }
    Ok(())
}

/// That nothing can be found, and the epsilon that would be needed.
fn nothing(search: RowSearch, (d, k): (usize, usize), variance: f64) -> Result<Option<String>> {
    let poor = |asked| Ok::<_, Error>(search.recall(k, variance, asked)? < RowSearch::FOUND);
    if !poor(Asked::Private)? {
        return Ok(None);
    }
    let needed = |asked| {
        let size = (d == k).then_some(k);
        Ok::<_, Error>(match search.epsilon_needed(d, size, asked)? {
            Some(epsilon) => format!("epsilon {:.1}", epsilon.get()),
            None => "more than epsilon 64".into(),
        })
    };
    let at = if d == k { "at this k" } else { "for `dps release units` at its best k" };
    let private = needed(Asked::Private)?;
    let (of, rows) = (search.returned, search.rows);
    Ok(Some(if poor(Asked::Exact)? {
        format!(
            "nothing can be found in a search of {rows} rows: of those that are half a cosine nearer than all others \
             not one in ten is among the first {of}; {} would be needed with exact queries, {private} with released ones \
             ({at}; `dps plan search` compares sizes)",
            needed(Asked::Exact)?
        )
    } else {
        format!(
            "in a search of {rows} rows released queries find nothing, exact ones (`dps search --query`) find something; \
             {private} would be needed with released ones ({at}; `dps plan search` compares sizes)"
        )
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_core::{Probability, calibrate};

    fn guarantee(epsilon: f64, delta: f64, profile: impl Fn(Budget) -> Profile) -> Guarantee {
        let budget = Budget::new(epsilon, delta).expect("valid");
        let adjacency = Adjacency::Attribute { beta: dp_core::Shift::new(1.0).expect("positive") };
        Guarantee::declared(adjacency, budget, profile(budget), "a test", "its noise")
            .expect("meets")
    }

    /// At a fixed delta m changes cost more than m times epsilon: by 60-digit arithmetic 2.12, 5.93 and
    /// 33.0 for two, five and twenty.
    #[test]
    fn several_attributes_cost_more_than_their_number() {
        let sensitivity = L2Sensitivity::new(1.0).expect("positive");
        let gaussian = guarantee(1.0, 1e-6, |budget| {
            let sigma = calibrate::gaussian(budget, sensitivity).expect("calibrated");
            Profile::Gaussian { sensitivity, sigma }
        });
        for (m, expected) in [(2, 2.12), (5, 5.93), (20, 33.0)] {
            let found = group(&gaussian, m).expect("a number");
            assert!((found / expected - 1.0).abs() < 2e-3, "{m}: {found}");
        }
        let text = about(&gaussian);
        assert!(
            text.contains("2 attributes have epsilon 2.1") && !text.contains("m times"),
            "{text}"
        );
    }

    /// Pure: exactly m times. Otherwise the bound for any mechanism: twice the bits, which two changes may
    /// touch, have at most delta at the epsilon that is told.
    #[test]
    fn groups_of_responses_are_bounded() {
        let keep = Probability::new(0.75).expect("a probability");
        let pure = guarantee(3f64.ln() * 1.000_001, 0.0, |_| Profile::RandomizedResponse {
            bits: 1,
            keep,
        });
        assert!((group(&pure, 5).expect("a number") / (5.0 * 3f64.ln()) - 1.0).abs() < 1e-5);
        let many = |bits| Profile::RandomizedResponse { bits, keep };
        let approximate = guarantee(28.0, 1e-2, |_| many(30));
        let told = group(&approximate, 2).expect("a number");
        let truth = many(60).log_delta(Epsilon::new(told).expect("positive"));
        assert!(truth.delta() <= 1e-2 && (56.0..70.0).contains(&told), "{told} {}", truth.delta());
    }
}
