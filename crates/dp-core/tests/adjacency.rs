//! Which adjacency implies which, by enumeration of small worlds; and what ledgers make of it.

use dp_core::accounting::{Ledger, Method, Part};
use dp_core::adjacency::Partition;
use dp_core::authority;
use dp_core::profile::{CoordinateProfile, RowChange};
use dp_core::{
    Adjacency, Budget, Delta, Epsilon, Error, Guarantee, L1Sensitivity, L2Sensitivity,
    LaplaceScale, NoiseScale, PrivacyProfile, Probability, Profile, Theorem,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;
type Row = [f64; 2];

fn bound<B: TryFrom<f64, Error = dp_core::Error>>(x: f64) -> B {
    B::try_from(x).unwrap()
}

fn attribute(x: f64) -> Adjacency {
    Adjacency::Attribute { beta: bound(x) }
}

fn shift(x: f64) -> Adjacency {
    Adjacency::RowShift { l2: bound(x) }
}

fn add_remove(x: f64) -> Adjacency {
    Adjacency::AddRemoveRow { bound: bound(x) }
}

fn zero(x: f64) -> Adjacency {
    Adjacency::ZeroRow { bound: bound(x) }
}

fn replace(x: f64) -> Adjacency {
    Adjacency::ReplaceRow { bound: bound(x) }
}

fn norm(row: Row) -> f64 {
    row[0].hypot(row[1])
}

/// Whether one row may become another.
fn changes(adjacency: Adjacency, a: Row, b: Row) -> bool {
    let moved = [a[0] - b[0], a[1] - b[1]];
    match adjacency {
        Adjacency::Attribute { beta } => {
            moved.contains(&0.0) && moved.iter().all(|m| m.abs() <= beta.get())
        }
        Adjacency::RowShift { l2 } => norm(moved) <= l2.get(),
        Adjacency::ZeroRow { bound } => {
            (norm(a) == 0.0 && norm(b) <= bound.get()) || (norm(b) == 0.0 && norm(a) <= bound.get())
        }
        Adjacency::ReplaceRow { bound } => norm(a) <= bound.get() && norm(b) <= bound.get(),
        _ => false,
    }
}

/// Whether two data sets are neighbours, by the words of the adjacency alone.
fn neighbours(adjacency: Adjacency, a: &[Row], b: &[Row]) -> bool {
    if a == b {
        return true;
    }
    let (each, most) = (adjacency.each(), adjacency.rows() as usize);
    if let Adjacency::AddRemoveRow { bound } = each {
        // Removing rows of this norm anywhere, then adding some: at most so many in all.
        let fits = |rows: &[Row]| rows.iter().all(|&r| norm(r) <= bound.get());
        let keep = |rows: &[Row], mask: u32, kept: bool| -> Vec<Row> {
            let at = |i: usize| ((mask >> i) & 1 == 1) == kept;
            rows.iter().enumerate().filter(|(i, _)| at(*i)).map(|(_, &r)| r).collect()
        };
        return (0..1u32 << a.len()).any(|m| {
            (0..1u32 << b.len()).any(|n| {
                let (gone, come) = (keep(a, m, true), keep(b, n, true));
                keep(a, m, false) == keep(b, n, false)
                    && fits(&gone)
                    && fits(&come)
                    && gone.len() + come.len() <= most
            })
        });
    }
    let differ = || a.iter().zip(b).filter(|(x, y)| x != y);
    a.len() == b.len() && differ().count() <= most && differ().all(|(&x, &y)| changes(each, x, y))
}

/// Every data set of at most two rows with entries in steps of a half.
fn world() -> Vec<Vec<Row>> {
    let entries = [-1.0, -0.5, 0.0, 0.5, 1.0];
    let rows: Vec<Row> = entries.iter().flat_map(|&x| entries.map(|y| [x, y])).collect();
    let mut sets = vec![vec![]];
    sets.extend(rows.iter().map(|&r| vec![r]));
    sets.extend(rows.iter().flat_map(|&r| rows.iter().map(move |&s| vec![r, s])));
    sets
}

/// Neighbours of every data set, as sorted lists.
fn graph(adjacency: Adjacency, sets: &[Vec<Row>]) -> Vec<Vec<usize>> {
    let near =
        |a: &Vec<Row>| (0..sets.len()).filter(|&j| neighbours(adjacency, a, &sets[j])).collect();
    sets.iter().map(near).collect()
}

/// The fewest steps from one data set to every other.
fn distances(graph: &[Vec<usize>], from: usize) -> Vec<u64> {
    let mut steps = vec![u64::MAX; graph.len()];
    let (mut front, mut n) = (vec![from], 0);
    while !front.is_empty() {
        front.iter().for_each(|&i| steps[i] = n);
        let mut next: Vec<usize> = front.iter().flat_map(|&i| graph[i].iter().copied()).collect();
        next.sort_unstable();
        next.dedup();
        next.retain(|&i| steps[i] == u64::MAX);
        (front, n) = (next, n + 1);
    }
    steps
}

/// Shifts leave the lattice: the steps along the segments, where rows stay.
fn shifts(by: Adjacency, a: &[Row], b: &[Row]) -> Option<u64> {
    let Adjacency::RowShift { l2 } = by.each() else { return None };
    let moved = || a.iter().zip(b).filter(|(x, y)| x != y);
    let each = moved().map(|(x, y)| norm([x[0] - y[0], x[1] - y[1]]) / l2.get());
    let each = each.fold(0.0, f64::max).ceil() as u64;
    (a.len() == b.len()).then(|| each * (moved().count() as u64).div_ceil(by.rows()))
}

/// Noise of this profile is charged to a ledger with the factor that its steps have.
fn steps(by: Adjacency, to: Adjacency) -> Option<u64> {
    let profile = Profile::PureDp { epsilon: Epsilon::new(1.0).unwrap() };
    let budget = Budget::new(1.0, 0.0).unwrap();
    let guarantee =
        Guarantee::declared(by, budget, profile, "the tests", "to count steps").unwrap();
    match guarantee.profile_under(to) {
        Ok(Some(Profile::PureDp { epsilon })) => Some(epsilon.get().round() as u64),
        Ok(other) => panic!("{other:?}"),
        Err(_) => None,
    }
}

/// Every pair of neighbours is joined by as many steps as are charged, and what costs nothing is a
/// subset; what is said to take more than one step is not a subset.
#[test]
fn steps_that_are_charged_join_all_neighbours() {
    let sets = world();
    let user = |a: Adjacency, m| a.of_user(m).unwrap();
    let all = [
        attribute(0.5),
        attribute(1.0),
        shift(0.8),
        shift(1.0),
        shift(3.0),
        add_remove(0.8),
        add_remove(2.0),
        zero(0.8),
        zero(2.0),
        replace(0.8),
        replace(2.0),
        user(attribute(0.5), 2),
        user(shift(1.0), 2),
        user(add_remove(2.0), 2),
        user(zero(0.8), 2),
        user(replace(2.0), 2),
    ];
    let graphs: Vec<_> = all.iter().map(|&a| graph(a, &sets)).collect();
    let mut checked = 0;
    for (by, near_by) in all.iter().zip(&graphs) {
        // A data set of two rows, of one, and of none meet every kind of neighbour.
        for start in (0..sets.len()).step_by(13) {
            let steps_by = distances(near_by, start);
            for (to, near_to) in all.iter().zip(&graphs) {
                let Some(charged) = steps(*by, *to) else { continue };
                for &end in &near_to[start] {
                    let needed = shifts(*by, &sets[start], &sets[end]).unwrap_or(steps_by[end]);
                    assert!(
                        needed <= charged,
                        "{by} to {to}: {charged}, but {needed} from {start}"
                    );
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 100_000, "{checked}");
    for (by, near_by) in all.iter().zip(&graphs) {
        for (to, near_to) in all.iter().zip(&graphs) {
            let subset = near_to
                .iter()
                .zip(near_by)
                .all(|(few, many)| few.iter().all(|i| many.binary_search(i).is_ok()));
            assert!(subset || !by.implies(to), "{by} does not imply {to}");
            assert_eq!(by.implies(to), steps(*by, *to) == Some(1));
            // Nothing is charged twice that is a subset here, but for what the world is too small to show.
            let larger_bound = matches!(
                (by.each(), to.each()),
                (Adjacency::RowShift { .. }, _) | (_, Adjacency::RowShift { .. })
            );
            if !larger_bound && by.rows() == to.rows() && steps(*by, *to).is_some_and(|n| n > 1) {
                assert!(!subset, "{by} implies {to} at no cost");
            }
        }
    }
}

#[test]
fn sets_are_joined_by_the_steps_that_are_charged() {
    let items = |alpha, min_size| Adjacency::SetItems { alpha, min_size };
    for (alpha, changed, least) in [(1, 3, 2), (2, 3, 1), (2, 4, 2), (3, 3, 2)] {
        let charged = steps(items(alpha, least), items(changed, least)).unwrap();
        let fits = |s: u32| u64::from(s.count_ones()) >= least;
        let all: Vec<u32> = (0..1 << 5).filter(|&s| fits(s)).collect();
        let near = |a: u32| {
            let close = |b: u32| u64::from((a ^ b).count_ones()) <= alpha;
            (0..all.len()).filter(|&j| close(all[j])).collect()
        };
        let graph: Vec<Vec<usize>> = all.iter().map(|&a| near(a)).collect();
        for (i, &a) in all.iter().enumerate() {
            let needed = distances(&graph, i);
            for (j, &b) in all.iter().enumerate() {
                assert!(u64::from((a ^ b).count_ones()) > changed || needed[j] <= charged);
            }
        }
    }
    assert!(Adjacency::AnyInput.implies(&items(7, 1)));
    assert!(items(4, 2).implies(&items(3, 5)) && !items(4, 2).implies(&items(4, 1)));
    assert_eq!(steps(items(4, 2), Adjacency::AnyInput), None);
}

/// Quotients that round to a whole number from above still get their last step.
#[test]
fn a_rounded_quotient_is_not_a_step_short() {
    for (by, to) in [(0.1, 0.3), (0.7, 2.1), (1.0 / 3.0, 1.0), (0.1, 0.1f64.next_up())] {
        let n = steps(attribute(by), attribute(to)).unwrap();
        assert!((n as f64).mul_add(by, -to) >= 0.0, "{n} of {by} for {to}");
        assert!(((n - 1) as f64).mul_add(by, -to) < 0.0, "{n} of {by} for {to}");
    }
    assert_eq!(steps(attribute(1e-9), attribute(1.0)), None);
    assert_eq!(steps(attribute(1e-300), attribute(1e300)), None);
}

#[test]
fn several_attributes_are_a_shift() -> Outcome {
    assert_eq!(Adjacency::attributes(bound(0.5), 1)?, attribute(0.5));
    for count in [2u64, 3, 10, 784] {
        let Adjacency::RowShift { l2 } = Adjacency::attributes(bound(0.5), count)? else {
            panic!()
        };
        let norm = 0.5 * (count as f64).sqrt();
        assert!(l2.get() >= norm && l2.get() < norm * (1.0 + 1e-14));
    }
    assert!(Adjacency::attributes(bound(0.5), 0).is_err());
    Ok(())
}

/// Today's adjacencies are written as they were; a user's unit has a form of its own.
#[test]
fn wire_form_of_units() -> Outcome {
    let plain = serde_json::to_string(&add_remove(2.0))?;
    assert_eq!(plain, r#"{"kind":"add-remove-row","bound":2.0}"#);
    assert_eq!(serde_json::to_string(&Adjacency::AnyInput)?, r#"{"kind":"any-input"}"#);
    let user = attribute(1.0).of_user(3)?;
    let text = serde_json::to_string(&user)?;
    assert_eq!(text, r#"{"kind":"user","rows":3,"each":{"kind":"attribute","beta":1.0}}"#);
    assert_eq!(serde_json::from_str::<Adjacency>(&text)?, user);
    for rows in ["0", "1", "1048577", "-3", "2.5"] {
        let bad = text.replace(":3,", &format!(":{rows},"));
        assert!(serde_json::from_str::<Adjacency>(&bad).is_err(), "{rows}");
    }
    let nested = text.replace(r#"{"kind":"attribute","beta":1.0}"#, &text);
    assert!(serde_json::from_str::<Adjacency>(&nested).is_err());
    assert_eq!(attribute(1.0).of_user(1)?, attribute(1.0));
    assert!(user.of_user(2).is_err() && attribute(1.0).of_user(0).is_err());
    Ok(())
}

fn laplace(mu: f64) -> Profile {
    let scale = LaplaceScale::new(1.0 / mu).unwrap();
    Profile::Laplace { sensitivity: L1Sensitivity::new(1.0).unwrap(), scale }
}

fn gaussian(mu: f64) -> Profile {
    let sigma = NoiseScale::new(1.0 / mu).unwrap();
    Profile::Gaussian { sensitivity: L2Sensitivity::new(1.0).unwrap(), sigma }
}

fn bits(bits: u64) -> Profile {
    Profile::RandomizedResponse { bits, keep: Probability::new(0.7).unwrap() }
}

/// Group privacy lies above the exact profile of every law whose exact one is known.
#[test]
fn group_privacy_is_never_below_the_exact_profile() {
    let group = |profile: Profile, size| Profile::Group { profile: Box::new(profile), size };
    for size in [2u64, 3, 10] {
        let n = size as f64;
        let mixed = |n| Profile::ChiMixtureGaussian {
            k: 16,
            entry_shift: L2Sensitivity::new(0.02 * n).unwrap(),
            sigma: NoiseScale::new(1.0).unwrap(),
            later_mu: 0.0,
        };
        for (once, all) in [
            (laplace(0.3), laplace(0.3 * n)),
            (gaussian(0.2), gaussian(0.2 * n)),
            (bits(1), bits(size)),
            (bits(4), bits(4 * size)),
            (mixed(1.0), mixed(n)),
        ] {
            let group = group(once, size);
            for epsilon in [1e-12, 1e-6, 0.01, 0.3, 1.0, 2.0, 5.0, 20.0, 300.0] {
                let at = Epsilon::new(epsilon).unwrap();
                let (upper, exact) = (group.log_delta(at), all.log_delta(at));
                assert!(upper >= exact, "{all:?} at {epsilon}: {upper} below {exact}");
            }
            let zero = (group.log_delta(Epsilon::ZERO), all.log_delta(Epsilon::ZERO));
            assert!(zero.0 >= zero.1);
        }
        // A pure mechanism: nothing is left beyond size times its epsilon.
        let pure = group(Profile::PureDp { epsilon: Epsilon::new(0.5).unwrap() }, size);
        assert_eq!(pure.log_delta(Epsilon::new(0.5 * n * 1.0001).unwrap()).delta(), 0.0);
        assert!(pure.log_delta(Epsilon::new(0.5 * n * 0.99).unwrap()).delta() > 0.0);
    }
}

fn proven(adjacency: Adjacency, profile: Profile, theorem: Theorem) -> Guarantee {
    let epsilon = Epsilon::new(1.0).unwrap();
    let delta = profile.log_delta(epsilon).delta() * (1.0 + 1e-9);
    let budget = Budget::new(1.0, delta).unwrap();
    authority!().proven(adjacency, budget, profile, theorem).unwrap()
}

fn mu(profile: Option<Profile>) -> f64 {
    match profile {
        Some(Profile::Gaussian { sensitivity, sigma }) => sensitivity.get() / sigma.get(),
        Some(Profile::Laplace { sensitivity, scale }) => sensitivity.get() / scale.get(),
        Some(Profile::SymmetricGaussian { bound, sigma, change: RowChange::Replace }) => {
            2f64.sqrt() * bound.get().powi(2) / sigma.get()
        }
        other => panic!("{other:?}"),
    }
}

/// Rows of a user with noise of their own count as the root of their number, exactly: the shift of m
/// rows of one projection has sqrt m times the norm.
#[test]
fn rows_of_a_user_cost_what_each_mechanism_makes_of_them() -> Outcome {
    let close = |a: f64, b: f64| (a - b).abs() < 1e-12 * b;
    for m in [2u64, 5, 50] {
        let n = m as f64;
        let of = |adjacency: Adjacency, profile, theorem| -> Result<f64, Error> {
            let guarantee = proven(adjacency, profile, theorem);
            Ok(mu(guarantee.profile_under(adjacency.of_user(m)?)?))
        };
        let apart = of(attribute(1.0), gaussian(0.2), Theorem::ProjectionGaussian)?;
        assert!(close(apart, 0.2 * n.sqrt()), "{apart}");
        let l1 = of(attribute(1.0), laplace(0.2), Theorem::ProjectionLaplace)?;
        assert!(close(l1, 0.2 * n), "{l1}");
        let pairs = of(attribute(1.0), gaussian(0.2), Theorem::NoisyDistances)?;
        assert!(close(pairs, 0.2 * n), "{pairs}");
        let moments = Profile::SymmetricGaussian {
            bound: bound(1.0),
            sigma: NoiseScale::new(5.0)?,
            change: RowChange::AddRemove,
        };
        let second = of(add_remove(1.0), moments.clone(), Theorem::CovarianceGaussian)?;
        assert!(close(second, 0.2 * n), "{second}");
        // A row replaced: the mechanism's own factor, not two steps; zeroed: one step.
        let covariance = proven(add_remove(1.0), moments, Theorem::CovarianceGaussian);
        assert!(close(mu(covariance.profile_under(replace(1.0))?), 0.2 * 2f64.sqrt()));
        let same = covariance.profile_under(zero(1.0))?;
        assert_eq!(same.as_ref(), covariance.profile());
    }
    // One row that shifts three times as far under one fresh matrix: the law of its norm.
    let fresh = |shift| Profile::ChiMixtureGaussian {
        k: 4,
        entry_shift: L2Sensitivity::new(shift).unwrap(),
        sigma: NoiseScale::new(10.0).unwrap(),
        later_mu: 0.0,
    };
    let guarantee = proven(shift(1.0), fresh(0.5), Theorem::ProjectionFresh);
    let Some(Profile::ChiMixtureGaussian { entry_shift, .. }) =
        guarantee.profile_under(shift(3.0))?
    else {
        panic!()
    };
    assert!(close(entry_shift.get(), 1.5));
    // Several rows share the matrix: group privacy.
    let rows = guarantee.profile_under(shift(1.0).of_user(3)?)?;
    assert!(matches!(rows, Some(Profile::Group { size: 3, .. })));
    Ok(())
}

/// A declared response may differ in other bits at each step: only group privacy holds.
#[test]
fn declared_responses_are_not_added_up() -> Outcome {
    let (by, budget) = (attribute(1.0), Budget::new(9.0, 0.0)?);
    let declared = Guarantee::declared(by, budget, bits(3), "the tests", "three bits")?;
    let group = declared.profile_under(attribute(2.0))?;
    assert!(matches!(group, Some(Profile::Group { size: 2, .. })));
    let proven = proven(attribute(1.0), bits(3), Theorem::BitResponse);
    assert_eq!(proven.profile_under(attribute(2.0))?, Some(bits(6)));
    Ok(())
}

#[test]
fn ledgers_count_in_their_own_unit() -> Outcome {
    let epsilon = |ledger: &Ledger, delta: f64| -> Result<f64, Error> {
        Ok(ledger.epsilon(Delta::new(delta)?, Method::Pld)?.upper.get())
    };
    let release = proven(attribute(1.0), gaussian(0.2), Theorem::ProjectionGaussian);
    // A smaller change: as it is. Two attributes' worth: twice the shift. Five rows: sqrt 5.
    for (unit, factor) in
        [(attribute(0.25), 1.0), (attribute(2.0), 2.0), (attribute(1.0).of_user(5)?, 5f64.sqrt())]
    {
        let mut ledger = Ledger::new(unit);
        ledger.spend(&release, 3, "sketch")?;
        let exact = gaussian(0.2 * factor * 3f64.sqrt()).epsilon(Delta::new(1e-6)?)?.get();
        let found = epsilon(&ledger, 1e-6)?;
        assert!((found / exact - 1.0).abs() < 1e-3, "{unit}: {found}, exactly {exact}");
        let back: Ledger = serde_json::from_str(&serde_json::to_string(&ledger)?)?;
        assert_eq!(back, ledger);
    }
    for other in [shift(1.0), add_remove(1.0), Adjacency::AnyInput] {
        let mut ledger = Ledger::new(other);
        assert!(matches!(ledger.spend(&release, 1, "x"), Err(Error::Mismatch { .. })), "{other}");
        assert!(ledger.entries().is_empty());
    }
    // Group privacy of a mixture composes too, and costs more than one row.
    let letters = Profile::BinomialMixture {
        trials: 64,
        probability: Probability::new(0.2)?,
        coordinate: CoordinateProfile::RandomizedResponse { keep: Probability::new(0.55)? },
    };
    let items = Adjacency::SetItems { alpha: 4, min_size: 20 };
    let minhash = proven(items, letters, Theorem::MinHashMixture);
    let mut one = Ledger::new(items);
    one.spend(&minhash, 1, "sets")?;
    let mut two = Ledger::new(items.of_user(2)?);
    two.spend(&minhash, 1, "sets")?;
    let (one, two) = (epsilon(&one, 1e-5)?, epsilon(&two, 1e-5)?);
    assert!(two > 1.9 * one && two < 4.0 * one, "{one}, {two}");
    Ok(())
}

/// Claims without a profile grow as group privacy says.
#[test]
fn claims_grow_with_the_group() -> Outcome {
    let claimed = Budget::new(0.5, 1e-7)?;
    let claim =
        authority!().published(attribute(1.0), claimed, None, "a rule", "a paper", "none")?;
    let mut ledger = Ledger::new(attribute(1.0).of_user(3)?);
    ledger.spend_accepting_claim(&claim, 1, "claim")?;
    let budget = ledger.entries()[0].budget();
    let sum: f64 = (0..3).map(|i| (0.5 * f64::from(i)).exp()).sum();
    assert!((budget.epsilon.get() - 1.5).abs() < 1e-9);
    assert!((budget.delta.get() / (1e-7 * sum) - 1.0).abs() < 1e-9);
    Ok(())
}

/// Four parts, each with one randomised response of every row's bit, summed over all outcomes: what
/// two neighbouring data sets lose is what is charged.
#[test]
fn parts_cost_what_the_worst_pair_loses() -> Outcome {
    let keep: f64 = 0.7;
    let one = proven(attribute(1.0), bits(1), Theorem::BitResponse);
    // Log-likelihood ratio of outcomes when `touched` parts each see one bit differ.
    let loss = |touched: u64| touched as f64 * (keep / (1.0 - keep)).ln();
    let spent = |unit: Adjacency, partition| -> Result<f64, Error> {
        let mut ledger = Ledger::new(unit);
        for name in ["a", "b", "c", "d"] {
            ledger.spend(&one, 1, Part::new("parts", name, partition)?.labelled("a release"))?;
        }
        Ok(ledger.epsilon(Delta::ZERO, Method::Pld)?.upper.get())
    };
    for (unit, partition, touched) in [
        (attribute(1.0), Partition::ByUnit, 1),
        (attribute(1.0), Partition::ByRow, 1),
        // A user's three rows in one part: one part loses three bits.
        (attribute(1.0).of_user(3)?, Partition::ByUnit, 3),
    ] {
        let found = spent(unit, partition)?;
        assert!((found - loss(touched)).abs() < 1e-9, "{unit} {partition:?}: {found}");
    }
    // A user in several parts pays in each of them: three bits in each of three parts, at most.
    let spread = spent(attribute(1.0).of_user(3)?, Partition::ByRow)?;
    assert!((spread - loss(9)).abs() < 1e-9, "{spread}");
    // Where the attribute decides the part, each tells how many rows it has.
    assert!(spent(attribute(1.0), Partition::ByContent).is_err());
    assert_eq!(Partition::ByContent.parts_touched(add_remove(1.0).of_user(3)?), 3);
    // Never more parts than there are.
    assert!((spent(attribute(1.0).of_user(50)?, Partition::ByRow)? - loss(200)).abs() < 1e-6);
    Ok(())
}
