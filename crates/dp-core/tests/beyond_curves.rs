//! Several changes of a profile whose theorem is not known, and of inputs that no path joins: what a curve says of one change is
//! not what its mechanism says of two.

use dp_core::explain::TradeOff;
use dp_core::profile::{CoordinateProfile, RowChange};
use dp_core::{
    Adjacency, Budget, Epsilon, Guarantee, L2Sensitivity, NoiseScale, NormBound, PrivacyProfile,
    Probability, Profile, Shift, Theorem, authority,
};

fn declared(adjacency: Adjacency, profile: &Profile) -> Guarantee {
    let delta = profile.log_delta(Epsilon::new(1.0).unwrap()).delta() * (1.0 + 1e-9);
    let budget = Budget::new(1.0, delta).unwrap();
    Guarantee::declared(adjacency, budget, profile.clone(), "a test", "a curve").unwrap()
}

fn delta(profile: &Profile, epsilon: f64) -> f64 {
    profile.log_delta(Epsilon::new(epsilon).unwrap()).delta()
}

/// Two rows at right angles move second moments by the root of two; of a mechanism that is not known two rows move twice what one
/// does: a sum of signs times one matrix has the same curve for one row.
#[test]
fn a_replaced_row_is_two_changes_of_what_is_declared() {
    let bound = NormBound::new(1.0).unwrap();
    let one = Profile::SymmetricGaussian {
        bound,
        sigma: NoiseScale::new(4.0).unwrap(),
        change: RowChange::AddRemove,
    };
    let unit = Adjacency::ReplaceRow { bound };
    let row = Adjacency::AddRemoveRow { bound };
    let found = declared(row, &one).profile_under(unit).unwrap().unwrap();
    let Profile::Gaussian { sensitivity, sigma } = found else { panic!("{found:?}") };
    assert!((sensitivity.get() / sigma.get() / 0.5 - 1.0).abs() < 1e-9);
    let budget = declared(row, &one).budget();
    let known = authority!().proven(row, budget, one, Theorem::CovarianceGaussian).unwrap();
    assert!(matches!(
        known.profile_under(unit).unwrap().unwrap(),
        Profile::SymmetricGaussian { change: RowChange::Replace, .. }
    ));
}

/// Of a curve alone nothing is known of two changes but group privacy, which is far above twice as large a change of both parts.
#[test]
fn both_parts_grow_only_where_a_theorem_says_so() {
    let one = Profile::GaussianAndPure {
        sensitivity: L2Sensitivity::new(0.3).unwrap(),
        sigma: NoiseScale::new(1.0).unwrap(),
        epsilon: Epsilon::new(2.0).unwrap(),
    };
    let beta = |by: f64| Adjacency::Attribute { beta: Shift::new(by).unwrap() };
    let two = declared(beta(1.0), &one).profile_under(beta(2.0)).unwrap().unwrap();
    assert!(matches!(two, Profile::Group { size: 2, .. }), "{two:?}");
    let budget = declared(beta(1.0), &one).budget();
    let known = authority!().proven(beta(1.0), budget, one, Theorem::PrivateGroups).unwrap();
    let known = known.profile_under(beta(2.0)).unwrap().unwrap();
    assert!(matches!(known, Profile::GaussianAndPure { .. }), "{known:?}");
    for epsilon in [3.0, 4.0, 5.0] {
        assert!(delta(&two, epsilon) > 1.5 * delta(&known, epsilon), "{epsilon}");
    }
}

/// Between two opposite rows of the least norm there is no row in the middle: two shifts do not join them, though both together
/// are as long. All signs may differ.
#[test]
fn rows_around_a_gap_may_differ_in_every_sign() {
    let keep = Probability::new(0.73).unwrap();
    let one = Profile::BinomialMixture {
        trials: 3,
        probability: Probability::new(1.0 / 3.0).unwrap(),
        coordinate: CoordinateProfile::RandomizedResponse { keep },
    };
    let shift = |l2: f64| Adjacency::RowShift { l2: Shift::new(l2).unwrap() };
    let budget = declared(shift(1.0), &one).budget();
    let signs = authority!().proven(shift(1.0), budget, one.clone(), Theorem::SignsFresh).unwrap();
    let all = |bits| Profile::RandomizedResponse { bits, keep };
    let bound = NormBound::new(1.0).unwrap();
    for (unit, expected) in [
        (shift(0.5), one.clone()),
        (shift(1.0), one.clone()),
        (shift(1.5), all(3)),
        (Adjacency::ReplaceRow { bound }, all(3)),
        (shift(2.0).of_user(2).unwrap(), all(6)),
    ] {
        assert_eq!(signs.profile_under(unit).unwrap().unwrap(), expected, "{unit}");
    }
    // Several changes at once may be of as many rows.
    for changes in [2, 10] {
        let told = TradeOff::of(&signs, changes).unwrap().advantage();
        let rows = TradeOff::new(&all(3 * changes)).unwrap().advantage();
        assert!((told - rows).abs() < 1e-12, "{changes}: {told} {rows}");
    }
    // Two rows of a user, each of which changes once.
    let rows = signs.profile_under(shift(1.0).of_user(2).unwrap()).unwrap().unwrap();
    assert!(matches!(rows, Profile::Group { size: 2, .. }), "{rows:?}");
}
